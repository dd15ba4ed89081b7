"""Stores that nothing reads before they are overwritten, or before the end of the shader, go.

One walk backward keeps a table of places (``memory_places``) whose components are overwritten on every path from here on before anything reads
them. A store adds to it what it writes, and is not needed for what is there already: it goes, or loses the components in question. A load
takes away what it may overlap, and so do atomics, barriers and reads of unknown extent. At the end of the shader nothing reads
variables any more. Before an if both lists must overwrite a place. The end of a loop's body leads to its start, or behind it: there
a place is overwritten if it is behind the loop and nothing in the loop may read it; a break leads behind it only. Coherent stores are as
others: whoever is to see one needs a barrier behind it. Volatile and atomic stores stay.

Needs: copies split. Guarantees: valid NIR. Mesa's ``nir_opt_dead_write_vars`` does this within each block, and has the rules about barriers.
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.vector cimport vector

from nir_opcodes cimport (
    index_access, index_write_mask, intrinsic_barrier, intrinsic_deref_buffer_array_length, intrinsic_flag_can_reorder, intrinsic_flag_convergent,
    intrinsic_flags, intrinsic_store_deref,
)
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, ValueId, access_volatile, intrinsic_index, intrinsic_set_index, jump_break, jump_continue,
)
from pyaco._core.nir.memory_places cimport (
    Construct, Effect, Event, MemoryEvents, PlaceId, Places, Spot, access_is_ordered, access_is_restricted, effect_concerns, effect_of, event_if,
    event_jump, event_other, event_store, events_gather, mode_private, mode_shared, places_are_accessed, places_begin, remove_accesses, step_root,
    step_run_time,
)

cdef enum:
    most_components = 16
    most_dead = 128               # places beside the variables
    every_component = 0xffff

cdef struct Dead:
    PlaceId place
    bint restricted
    uint32_t components           # mask of those that are overwritten
    bint whole                    # all that is in the place, of whatever type it is

cdef struct Around:               # of a loop
    vector[Dead] behind
    vector[Dead] at_end           # of its body

cdef struct Walk:
    ShaderData *s
    Places places
    vector[Dead] dead
    vector[Dead] at_return        # what is dead where the shader ends
    vector[Around] loops          # those around, innermost last
    Zeroed[uint8_t] removed       # by value, stores; empty as long as there are none
    vector[uint8_t] is_read       # by root, of variables of the workgroup: whether any instruction may read of it
    MemoryEvents events
    bint progress


# -------------------------------------------------------------------------------------------------------------------- reads
cdef bint _is_read(const Places *p, ValueId i, Effect *read) noexcept nogil:
    """Whether an intrinsic may read memory, or let others read it, and where."""
    cdef int opcode = p.s.instructions.opcode[i]
    if opcode == intrinsic_deref_buffer_array_length or opcode == intrinsic_store_deref:
        return False
    effect_of(p, i, read)
    return read.modes != 0 and (read.place != 0 or opcode == intrinsic_barrier
                                or intrinsic_flags[opcode] & (intrinsic_flag_can_reorder | intrinsic_flag_convergent) == 0)


cdef int _apply_read(Walk *w, const Effect *read, vector[Dead] &dead) noexcept nogil:
    """Take away what is not dead before this read."""
    cdef uint32_t row = 0
    while row < dead.size():
        if effect_concerns(&w.places, read, dead[row].place, dead[row].restricted):
            dead[row] = dead.back()
            dead.pop_back()
        else:
            row += 1
    return 0


cdef int _note_variables(Walk *w) except -1 nogil:
    """Private memory is dead at the end of the shader, and so is that of the workgroup: to read it, others would need a barrier after the store."""
    cdef PlaceId place
    for place in range(1, <PlaceId>w.places.rows.size()):
        if w.places.rows[place].step == step_root and w.places.rows[place].mode & ~<uint32_t>(mode_private | mode_shared) == 0 \
                and w.at_return.size() < most_dead:
            w.at_return.push_back(Dead(place=place, restricted=False, components=every_component, whole=True))
    return 0


cdef int _note_reads(Walk *w) except -1 nogil:
    """Which variables of the workgroup have a reader: one that names them, or one of unknown extent. Barriers read nothing themselves."""
    cdef PlaceId root
    cdef uint32_t row
    cdef vector[PlaceId] shared
    w.is_read.assign(w.places.rows.size(), 0)
    for root in range(1, <PlaceId>w.places.rows.size()):
        if w.places.rows[root].step == step_root and w.places.rows[root].mode == mode_shared:
            shared.push_back(root)
    if shared.empty():
        return 0
    for row in range(<uint32_t>w.events.rows.size()):
        if w.events.rows[row].effect.modes and w.s.instructions.opcode[w.events.rows[row].number] != intrinsic_barrier:
            for root in shared:
                if effect_concerns(&w.places, &w.events.rows[row].effect, root, False):
                    w.is_read[root] = 1
    return 0


cdef bint _is_never_read(const Walk *w, PlaceId place) noexcept nogil:
    cdef PlaceId root = w.places.rows[place].root
    return w.places.rows[root].mode == mode_shared and not w.is_read[root]


# ------------------------------------------------------------------------------------------------------------------- stores
cdef uint32_t _dead_components(const Walk *w, PlaceId place) noexcept nogil:
    """Which components of a place are overwritten, by themselves or with all that they are in."""
    cdef PlaceId around
    cdef uint32_t row
    cdef uint32_t components = 0
    for row in range(<uint32_t>w.dead.size()):
        if w.dead[row].place == place:
            components |= w.dead[row].components
        elif w.dead[row].whole:
            around = place
            while w.places.rows[around].depth > w.places.rows[w.dead[row].place].depth:
                around = w.places.rows[around].parent
            if around == w.dead[row].place:
                return every_component
    return components


cdef bint _is_listed(const Walk *w, PlaceId place) noexcept nogil:
    cdef uint32_t row
    for row in range(<uint32_t>w.dead.size()):
        if w.dead[row].place == place:
            return True
    return False


cdef int _note_dead(Walk *w, Spot spot, uint32_t mask, bint restricted) except -1 nogil:
    cdef uint32_t components = mask << spot.component & <uint32_t>every_component
    cdef uint32_t row
    for row in range(<uint32_t>w.dead.size()):
        if w.dead[row].place == spot.place:
            w.dead[row].components |= components
            w.dead[row].restricted = w.dead[row].restricted and restricted
            return 0
    if w.dead.size() < 2 * most_dead:
        w.dead.push_back(Dead(place=spot.place, restricted=restricted, components=components, whole=False))
    return 0


cdef int _store(Walk *w, ValueId store, Spot spot) except -1 nogil:
    cdef ShaderData *s = w.s
    cdef uint32_t mask = intrinsic_index(s, store, index_write_mask)
    cdef uint32_t dead
    if access_is_ordered(s, store):                # an atomic store is one, and as needless as others where nothing reads the variable
        if intrinsic_index(s, store, index_access) & access_volatile or not _is_never_read(w, spot.place):
            return 0
    dead = every_component if _is_never_read(w, spot.place) else _dead_components(w, spot.place) >> spot.component
    if mask & dead:
        w.progress = True
        if mask & ~dead == 0:
            if w.removed.empty():
                w.removed.assign(w.places.of_deref.size())
            w.removed[store] = 1
            if not _is_never_read(w, spot.place) and not _is_listed(w, spot.place):
                _note_dead(w, spot, mask, False)   # whatever is read of what is around it
            return 0
        intrinsic_set_index(s, store, index_write_mask, <int>(mask & ~dead))
    return _note_dead(w, spot, mask, access_is_restricted(s, store))


cdef int _jump(Walk *w, ValueId jump) except -1 nogil:
    cdef int opcode = w.s.instructions.opcode[jump]
    if opcode == jump_break:
        w.dead = w.loops.back().behind
    elif opcode == jump_continue:
        w.dead = w.loops.back().at_end
    else:
        w.dead = w.at_return
    return 0


cdef int _access(Walk *w, const Event *event) except -1 nogil:
    if event.kind == event_store:
        return _store(w, event.number, event.spot)
    return _apply_read(w, &event.effect, w.dead) if event.effect.modes else 0


# ------------------------------------------------------------------------------------------------------------- control flow
cdef int _meet(Walk *w, const vector[Dead] &other) noexcept nogil:
    """What is dead here and there."""
    cdef uint32_t row = 0
    cdef uint32_t there = 0
    while row < w.dead.size():
        if there >= other.size() or other[there].place != w.dead[row].place:    # most rows stand in the same order
            there = 0
            while there < other.size() and other[there].place != w.dead[row].place:
                there += 1
        if there < other.size() and w.dead[row].components & other[there].components:
            w.dead[row].components &= other[there].components
            w.dead[row].restricted = w.dead[row].restricted and other[there].restricted
            w.dead[row].whole = w.dead[row].whole and other[there].whole
            row += 1
            there += 1
        else:
            w.dead[row] = w.dead.back()
            w.dead.pop_back()
    return 0


cdef bint _is_fixed(const Walk *w, PlaceId place) noexcept nogil:
    """Whether a place is the same in every trip of a loop: no index that is known at run time."""
    while w.places.rows[place].depth:
        if w.places.rows[place].step == step_run_time:
            return False
        place = w.places.rows[place].parent
    return True


cdef int _walk_loop(Walk *w, const Construct *node) except -1 nogil:
    cdef uint32_t row = 0
    cdef uint32_t i
    w.loops.resize(w.loops.size() + 1)
    w.loops.back().behind = w.dead
    while row < w.dead.size():
        if _is_fixed(w, w.dead[row].place):
            row += 1
        else:
            w.dead[row] = w.dead.back()
            w.dead.pop_back()
    for i in range(node.begin + 1, node.end):
        if w.dead.empty():
            break
        if w.events.rows[i].effect.modes:
            _apply_read(w, &w.events.rows[i].effect, w.dead)
    w.loops.back().at_end = w.dead
    _walk(w, node.begin + 1, node.end)
    w.loops.pop_back()
    return 0


cdef int _walk_if(Walk *w, const Construct *node) except -1 nogil:
    cdef vector[Dead] behind = w.dead
    cdef vector[Dead] at_then
    _walk(w, node.begin + 1, node.otherwise)
    at_then.swap(w.dead)
    w.dead.swap(behind)
    _walk(w, node.otherwise, node.end)
    return _meet(w, at_then)


cdef int _walk(Walk *w, uint32_t first, uint32_t row) except -1 nogil:
    """Walk backward through the events of a list."""
    cdef const Construct *construct
    cdef const Event *event
    while row > first:
        row -= 1
        event = &w.events.rows[row]
        if event.kind <= event_other:
            _access(w, event)
        elif event.kind == event_jump:
            _jump(w, event.number)
        else:
            construct = &w.events.constructs[event.number]
            row = construct.begin
            if w.events.rows[row].kind == event_if:
                _walk_if(w, construct)
            else:
                _walk_loop(w, construct)
    return 0


cdef bint dead_write_vars_run(ShaderData *s) except -1 nogil:
    cdef Walk w
    if not places_are_accessed(s):
        return False
    w.s = s
    w.progress = False
    places_begin(&w.places, s)
    events_gather(&w.events, &w.places, _is_read)
    _note_variables(&w)
    _note_reads(&w)
    w.dead = w.at_return
    _walk(&w, 0, <uint32_t>w.events.rows.size())
    if not w.removed.empty():
        remove_accesses(s, w.removed)
    return w.progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return dead_write_vars_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Remove stores that nothing reads; True when a store went, or wrote less."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
