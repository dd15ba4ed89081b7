"""Loads of what is known to be in memory go, and stores of what is there already.

One walk in program order keeps a table of places (``memory_places``) whose components are known to hold values: those that were stored there, or
loaded from there. A store that may overlap a place makes it unknown, as atomics, barriers and writes of unknown extent do. Where an
if ends, what both lists know alike is known, or all that one knows where the other ends with a jump. A loop forgets at its start what is written
in it, and after it what was known at its start and is still known. A load all of whose components are known becomes these.

Private and workgroup variables, storage buffers and physical storage are followed; accesses that are volatile or atomic are not. What others
write through coherent memory has to be seen behind barriers only, but a loop may wait for it: what is known of such memory is forgotten at loops.
Barriers concern the modes that they name, private variables none. The table has a limit, so that the cost is linear in the size of the
shader; what was noted first goes first.

Needs: copies split. Guarantees: valid NIR. Mesa does this in ``nir_opt_copy_prop_vars``, whose rules about barriers and volatile accesses
these are; the places that are compared by number, and the meeting of what two lists know, are ours.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from nir_opcodes cimport (
    alu_mov, index_write_mask, intrinsic_barrier, intrinsic_flag_can_eliminate, intrinsic_flag_convergent, intrinsic_flags,
    intrinsic_load_deref,
)
from pyaco._core.common.bits cimport leading_zeros32, trailing_zeros32, trailing_zeros64
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, SourceRow, ValueId, alu_is_vector, intrinsic_index, nir_alu, nir_undef, nir_vector, source_swizzle, source_value,
    swizzle_component,
)
from pyaco._core.nir.memory_places cimport (
    Construct, Effect, Event, MemoryEvents, PlaceId, Places, Spot, access_is_coherent, access_is_ordered, access_is_restricted, effect_concerns,
    effect_of, event_if, event_jump, event_load, event_other, event_store, events_end_with_jump, events_gather, places_are_accessed, places_begin,
    remove_accesses,
)

cdef enum:
    most_components = 16
    most_known = 128              # places
    most_copies = 8               # of vectors and movs that a component is looked for through

cdef struct Part:                 # one component
    ValueId value
    uint32_t component

cdef struct Known:                # small: all that is known is copied at each if and loop with accesses
    PlaceId place
    uint32_t parts                # first row in `Walk.parts`
    uint16_t components           # mask of those that are known
    uint8_t bit_size
    uint8_t restricted
    uint8_t coherent              # by any access

cdef struct Rows:                 # a set of rows of `known`
    uint64_t low
    uint64_t high

cdef struct Saved:                # what was known, on the stack
    uint32_t first
    uint32_t end
    Rows changed

cdef struct Walk:
    ShaderData *s
    Places places
    vector[Known] known
    vector[Part] parts            # of places, by component; rows stay as they are, since copies of `known` name them too
    Zeroed[uint32_t] row_of       # by place: where it stands in `known` if it stands there
    Rows changed                  # which rows have been written since the if's list or the loop's body began
    vector[Known] saved           # a stack: what was known where the ifs and loops around begin
    uint32_t oldest               # row of `known` that goes next where there is no room
    Zeroed[ValueId] copied        # by value, loads: the value that is read instead; empty as long as there are none
    Zeroed[uint8_t] removed       # by value, stores; likewise
    MemoryEvents events
    bint any_coherent             # whether any access so far was
    bint progress


# ------------------------------------------------------------------------------------------------------------------- writes
cdef bint _is_write(const Places *p, ValueId i, Effect *write) noexcept nogil:
    """Whether an intrinsic may change what is in memory, and where."""
    cdef int opcode = p.s.instructions.opcode[i]
    if opcode == intrinsic_load_deref:
        return False
    effect_of(p, i, write)
    return write.modes != 0 and (write.place != 0 or opcode == intrinsic_barrier
                                 or intrinsic_flags[opcode] & (intrinsic_flag_can_eliminate | intrinsic_flag_convergent) == 0)


cdef inline void _note_change(Walk *w, uint32_t row) noexcept nogil:
    if row < 64:
        w.changed.low |= <uint64_t>1 << row
    else:
        w.changed.high |= <uint64_t>1 << (row - 64)


cdef inline void _add_rows(Rows *rows, const Rows *other) noexcept nogil:
    rows.low |= other.low
    rows.high |= other.high


cdef inline uint32_t _next_of(const Rows *rows, uint32_t row) noexcept nogil:
    """The first row of a set from a row on, or `most_known`."""
    cdef uint64_t left
    if row < 64:
        left = rows.low >> row
        if left:
            return row + trailing_zeros64(left)
        row = 64
    left = rows.high >> (row - 64) if row < most_known else 0
    return row + trailing_zeros64(left) if left else <uint32_t>most_known


cdef int _forget(Walk *w, uint32_t row) noexcept nogil:
    _note_change(w, row)
    _note_change(w, <uint32_t>w.known.size() - 1)
    w.known[row] = w.known.back()
    w.row_of[w.known[row].place] = row
    w.known.pop_back()
    return 0


cdef int _apply_write(Walk *w, const Effect *write, PlaceId but) noexcept nogil:
    """Forget what a write may change, save the place `but`."""
    cdef uint32_t row = 0
    while row < w.known.size():
        if w.known[row].place != but and effect_concerns(&w.places, write, w.known[row].place, w.known[row].restricted):
            _forget(w, row)
        else:
            row += 1
    return 0


# ------------------------------------------------------------------------------------------------------------ what is known
cdef Known *_known_at(Walk *w, PlaceId place) noexcept nogil:
    cdef uint32_t row = w.row_of[place]
    return &w.known[row] if row < w.known.size() and w.known[row].place == place else NULL


cdef Known *_note_place(Walk *w, PlaceId place, uint8_t bit_size) except NULL nogil:
    """The row of a place, which is made if there is none."""
    cdef Known *known = _known_at(w, place)
    if known == NULL:
        if w.known.size() == most_known:
            w.oldest = (w.oldest + 1) % most_known
            known = &w.known[w.oldest]
            w.row_of[place] = w.oldest
        else:
            w.row_of[place] = <uint32_t>w.known.size()
            w.known.resize(w.known.size() + 1)
            known = &w.known.back()
        known.bit_size = 0
        known.restricted = True
        known.coherent = False
    if known.bit_size != bit_size:
        known.components = 0
    known.place = place
    known.bit_size = bit_size
    _note_change(w, w.row_of[place])
    return known


cdef Part *_new_parts(Walk *w, Known *known, uint32_t width) except NULL nogil:
    """Rows of a place's own, for at least so many components, which have what was known."""
    cdef uint32_t row = <uint32_t>w.parts.size()
    cdef uint32_t left = known.components
    cdef uint32_t k
    w.parts.resize(row + max(width, <uint32_t>32 - leading_zeros32(left | 1)))
    while left:
        k = trailing_zeros32(left)
        left &= left - 1
        w.parts[row + k] = w.parts[known.parts + k]
    known.parts = row
    return &w.parts[row]


cdef Part _part(const Walk *w, ValueId value, uint32_t index) noexcept nogil:
    """A component, looked for through loads that are copies, vectors and movs."""
    cdef const ShaderData *s = w.s
    cdef Part part
    cdef uint32_t _step
    part.value = value
    part.component = index
    for _step in range(<uint32_t>most_copies):
        value = part.value
        if not w.copied.empty() and w.copied[value]:
            part.value = w.copied[value]
        elif s.instructions.kind[value] != nir_alu:
            break
        elif alu_is_vector(s.instructions.opcode[value]):
            part.value = source_value(s, value, part.component)
            part.component = swizzle_component(source_swizzle(s, value, part.component), 0)
        elif s.instructions.opcode[value] == alu_mov:
            part.value = source_value(s, value, 0)
            part.component = swizzle_component(source_swizzle(s, value, 0), part.component)
        else:
            break
    return part


cdef inline bint _same(const Part *a, const Part *b) noexcept nogil:
    return a.value == b.value and a.component == b.component


# ---------------------------------------------------------------------------------------------------------------- accesses
cdef inline void _note_coherent(Walk *w, Known *known, ValueId access) noexcept nogil:
    if access_is_coherent(w.s, access):
        known.coherent = w.any_coherent = True


cdef void _become(ShaderData *s, ValueId load, int kind, int opcode, uint16_t sources) noexcept nogil:
    s.instructions.kind[load] = <uint8_t>kind
    s.instructions.opcode[load] = <uint16_t>opcode
    s.instructions.flags[load] = 0
    s.instructions.data[load] = 0
    s.instructions.source_count[load] = sources


cdef int _replace_load(Walk *w, ValueId load, const Part *parts) except -1 nogil:
    """Let a load be what is known: users of a scalar read that, and nothing is left of the load; vectors and their components are collected."""
    cdef ShaderData *s = w.s
    cdef uint32_t count = s.instructions.components[load]
    cdef SourceRow first = s.instructions.source_first[load]
    cdef ValueId[most_components] values
    cdef ValueId scratch
    cdef uint32_t k
    w.progress = True
    if count == 1 and s.instructions.components[parts[0].value] == 1:
        if w.copied.empty():
            w.copied.assign(w.places.of_deref.size())
        w.copied[load] = parts[0].value
        _become(s, load, nir_undef, 0, 0)
        return 0
    if count == 1:
        _become(s, load, nir_alu, alu_mov, 1)
    else:
        for k in range(count):
            values[k] = parts[k].value
        scratch = nir_vector(s, values, count)     # for its sources
        first = s.instructions.source_first[load] = s.instructions.source_first[scratch]
        _become(s, load, nir_alu, s.instructions.opcode[scratch], <uint16_t>count)
    for k in range(count):
        s.sources.value[first + k] = parts[k].value
        s.sources.swizzle[first + k] = parts[k].component
    return 0


cdef int _load(Walk *w, ValueId load, Spot spot) except -1 nogil:
    cdef ShaderData *s = w.s
    cdef uint32_t count = s.instructions.components[load]
    cdef uint32_t mask = ((1 << count) - 1) << spot.component
    cdef Known *known
    cdef Part *parts
    cdef uint32_t k
    if access_is_ordered(s, load) or spot.component + count > most_components:
        return 0
    known = _note_place(w, spot.place, s.instructions.bit_size[load])
    if known.components & mask == mask:
        return _replace_load(w, load, &w.parts[known.parts + spot.component])
    parts = _new_parts(w, known, spot.component + count)
    for k in range(count):
        if not known.components >> (spot.component + k) & 1:
            parts[spot.component + k] = Part(load, k)
    known.components |= mask
    known.restricted = known.restricted and access_is_restricted(s, load)
    _note_coherent(w, known, load)
    return 0


cdef int _store(Walk *w, ValueId store, Spot spot, const Effect *write) except -1 nogil:
    cdef ShaderData *s = w.s
    cdef ValueId value = source_value(s, store, 1)
    cdef uint32_t mask = intrinsic_index(s, store, index_write_mask)
    cdef uint32_t count = s.instructions.components[value]
    cdef uint8_t bit_size = s.instructions.bit_size[value]
    cdef Known *known
    cdef Part *parts
    cdef Part part
    cdef uint32_t k
    cdef bint same = True
    if access_is_ordered(s, store) or spot.component + count > most_components:
        return _apply_write(w, write, 0)
    known = _known_at(w, spot.place)
    same = known != NULL and known.bit_size == bit_size and known.components >> spot.component & mask == mask
    for k in range(count):
        if same and mask >> k & 1:
            part = _part(w, value, k)
            same = _same(&part, &w.parts[known.parts + spot.component + k])
    if same:
        if w.removed.empty():
            w.removed.assign(w.places.of_deref.size())
        w.removed[store] = 1
        w.progress = True
        return 0
    _apply_write(w, write, spot.place)
    known = _note_place(w, spot.place, bit_size)
    parts = _new_parts(w, known, spot.component + count)
    for k in range(count):
        if mask >> k & 1:
            parts[spot.component + k] = _part(w, value, k)
    known.components |= mask << spot.component
    known.restricted = known.restricted and write.restricted
    _note_coherent(w, known, store)
    return 0


cdef int _access(Walk *w, const Event *event) except -1 nogil:
    if event.kind == event_load:
        return _load(w, event.number, event.spot)
    if event.kind == event_store:
        return _store(w, event.number, event.spot, &event.effect)
    return _apply_write(w, &event.effect, 0)


# ----------------------------------------------------------------------------------------------------------- control flow
cdef int _save(Walk *w, Saved *saved) except -1 nogil:
    """Put what is known on the stack, with which of its rows have changed so far. None has changed since."""
    saved.first = <uint32_t>w.saved.size()
    saved.changed = w.changed
    w.saved.insert(w.saved.end(), w.known.begin(), w.known.end())
    saved.end = <uint32_t>w.saved.size()
    w.changed = Rows(0, 0)
    return 0


cdef int _restore(Walk *w, const Saved *saved, Rows differ) except -1 nogil:
    """Know what was known when it was saved, which may differ in some rows from what is known now. None has changed since."""
    cdef uint32_t row
    w.known.assign(w.saved.begin() + saved.first, w.saved.begin() + saved.end)
    row = _next_of(&differ, 0)
    while row < w.known.size():
        w.row_of[w.known[row].place] = row
        row = _next_of(&differ, row + 1)
    w.changed = Rows(0, 0)
    return 0


cdef uint32_t _row_there(const Walk *w, const Saved *there, uint32_t row) noexcept nogil:
    """Where the place of a row that is known stands in what was saved, or its end."""
    cdef PlaceId place = w.known[row].place
    if there.first + row < there.end and w.saved[there.first + row].place == place:     # most rows stand in the same order
        return there.first + row
    row = there.first
    while row < there.end and w.saved[row].place != place:
        row += 1
    return row


cdef bint _agree(const Walk *w, Known *known, const Known *other) noexcept nogil:
    """Reduce what is known of a place to what is known there alike; False where nothing is left."""
    cdef uint32_t k
    cdef uint32_t left
    if other.bit_size != known.bit_size:
        return False
    known.components &= other.components
    left = known.components if known.parts != other.parts else 0
    while left:
        k = trailing_zeros32(left)
        left &= left - 1
        if not _same(&w.parts[known.parts + k], &w.parts[other.parts + k]):
            known.components &= <uint16_t>~(1 << k)
    known.restricted = known.restricted and other.restricted
    known.coherent = known.coherent or other.coherent
    return known.components != 0


cdef int _meet(Walk *w, const Saved *there) noexcept nogil:
    """Know what is known here and there alike. Rows that have changed in neither are alike."""
    cdef uint32_t other
    cdef uint32_t row = _next_of(&w.changed, 0)
    while row < w.known.size():
        other = _row_there(w, there, row)
        if other < there.end and _agree(w, &w.known[row], &w.saved[other]):
            row += 1
        else:
            _forget(w, row)
        row = _next_of(&w.changed, row)
    return 0


cdef int _walk_if(Walk *w, const Construct *node) except -1 nogil:
    cdef Saved before, at_then
    if not node.busy:
        return 0
    _save(w, &before)
    _walk(w, node.begin + 1, node.otherwise)
    _save(w, &at_then)
    _restore(w, &before, at_then.changed)
    _walk(w, node.otherwise, node.end)
    _add_rows(&w.changed, &at_then.changed)
    if events_end_with_jump(&w.events, node.otherwise, node.end):
        _restore(w, &at_then, w.changed)
        w.changed = at_then.changed
    elif not events_end_with_jump(&w.events, node.begin + 1, node.otherwise):
        _meet(w, &at_then)
    _add_rows(&w.changed, &before.changed)
    w.saved.resize(before.first)
    return 0


cdef int _forget_coherent(Walk *w) noexcept nogil:
    cdef uint32_t row = 0
    while row < w.known.size():
        if w.known[row].coherent:
            _forget(w, row)
        else:
            row += 1
    return 0


cdef int _walk_loop(Walk *w, const Construct *node) except -1 nogil:
    cdef Saved before
    cdef uint32_t row
    if w.any_coherent:
        _forget_coherent(w)
    if not node.busy:
        return 0
    for row in range(node.begin + 1, node.end):
        if w.known.empty():
            break
        if w.events.rows[row].effect.modes:
            _apply_write(w, &w.events.rows[row].effect, 0)
    _save(w, &before)
    _walk(w, node.begin + 1, node.end)
    _restore(w, &before, w.changed)
    w.changed = before.changed
    w.saved.resize(before.first)
    return 0


cdef int _walk(Walk *w, uint32_t row, uint32_t end) except -1 nogil:
    cdef const Construct *construct
    cdef const Event *event
    while row < end:
        event = &w.events.rows[row]
        if event.kind <= event_other:
            _access(w, event)
        elif event.kind != event_jump:
            construct = &w.events.constructs[event.number]
            if event.kind == event_if:
                _walk_if(w, construct)
            else:
                _walk_loop(w, construct)
            row = construct.end
        row += 1
    return 0


# ----------------------------------------------------------------------------------------------------------------- rewriting
cdef void _rename_rows(ValueId *value, uint32_t count, const Zeroed[ValueId] &copied) noexcept nogil:
    cdef const ValueId *instead = copied.data()
    cdef size_t loads = copied.size()
    cdef ValueId *end = value + count
    while value < end:
        while value[0] < loads and instead[value[0]]:
            value[0] = instead[value[0]]
        value += 1


cdef void _rename(ShaderData *s, const Zeroed[ValueId] &copied) noexcept nogil:
    """Let all users of loads that are copies read the values: in a walk over all sources, which needs no look at the instructions."""
    _rename_rows(s.sources.value, s.sources.table.count, copied)
    _rename_rows(s.nodes.condition, s.nodes.table.count, copied)


cdef bint copy_prop_vars_run(ShaderData *s) except -1 nogil:
    cdef Walk w
    if not places_are_accessed(s):
        return False
    w.s = s
    w.oldest = 0
    w.changed = Rows(0, 0)
    w.any_coherent = w.progress = False
    places_begin(&w.places, s)
    events_gather(&w.events, &w.places, _is_write)
    w.row_of.assign(w.places.rows.size())
    _walk(&w, 0, <uint32_t>w.events.rows.size())
    if not w.copied.empty():
        _rename(s, w.copied)
    if not w.removed.empty():
        remove_accesses(s, w.removed)
    return w.progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return copy_prop_vars_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Let loads be what is known to be in memory; True when a load or a store went."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
