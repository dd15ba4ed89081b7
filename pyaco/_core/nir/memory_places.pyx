"""Which memory derefs name. The contract is in ``memory_places.pxd``.

Two places of one root are compared step by step, as their types agree at each depth: where two members, two constants, or one run-time index
with two addends stand at the same depth, they are apart. Elements of an array of buffers at different constants are different buffers, which
overlap where they are not restrict only, as Mesa has it. Mesa's ``nir_compare_derefs`` (``nir_deref.c``) answers the same question
by walking two paths of derefs.
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport (
    alu_iadd, alu_mov, index_memory_modes, intrinsic_barrier, intrinsic_bindless_image_atomic, intrinsic_bindless_image_atomic_swap,
    intrinsic_bindless_image_load, intrinsic_bindless_image_sparse_load, intrinsic_bindless_image_store, intrinsic_deref_atomic,
    intrinsic_deref_atomic_swap, intrinsic_image_deref_atomic, intrinsic_image_deref_atomic_swap, intrinsic_image_deref_load,
    intrinsic_image_deref_sparse_load, intrinsic_image_deref_store, intrinsic_load_deref, intrinsic_store_deref,
)

from pyaco._core.common.hashing cimport hash_mix
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, ShaderData, ShaderRewrite, TypeId, ValueId, block_walk_next, constant_bits, deref_array, deref_cast, deref_struct, deref_var,
    intrinsic_index, nir_alu, nir_deref, nir_intrinsic, nir_jump, node_block, node_first_block, node_if, shader_rewrite_begin, shader_rewrite_block,
    shader_rewrite_emit, shader_rewrite_end, source_swizzle, source_value, swizzle_component, type_array, type_matrix, value_is_constant,
)
from pyaco._core.nir.opt_access cimport binding_of_buffer, binding_unknown, resource_index_of_buffer

cdef enum:
    most_components = 16
    some_events = 32                         # of most shaders
    kin_variable = 0x4000000000000000        # the kin of a variable, which no binding is


cdef int places_begin(Places *p, const ShaderData *s) except -1 nogil:
    p.s = s
    p.rows.assign(1, Place(parent=0, root=0, step=step_root, depth=0, key=0, addend=0, kin=binding_unknown, element=element_unknown, mode=0))
    p.of_deref.assign(s.instructions.table.count)
    p.found.assign(64, 0)
    return 0


cdef bint places_are_accessed(const ShaderData *s) noexcept nogil:
    cdef uint32_t i
    cdef ValueId instruction
    for i in range(s.order.table.count):
        instruction = s.order.instruction[i]
        if s.instructions.kind[instruction] == nir_intrinsic and s.instructions.opcode[instruction] in (
                intrinsic_load_deref, intrinsic_store_deref) and s.instructions.mode[source_value(s, instruction, 0)] & mode_followed:
            return True
    return False


cdef bint _reaches_image(int opcode) noexcept nogil:
    return opcode in (
        intrinsic_image_deref_load, intrinsic_image_deref_sparse_load, intrinsic_image_deref_store, intrinsic_image_deref_atomic,
        intrinsic_image_deref_atomic_swap, intrinsic_bindless_image_load, intrinsic_bindless_image_sparse_load,
        intrinsic_bindless_image_store, intrinsic_bindless_image_atomic, intrinsic_bindless_image_atomic_swap,
    )


cdef bint _equal(const Place *a, const Place *b) noexcept nogil:
    return (a.parent == b.parent and a.step == b.step and a.key == b.key and a.addend == b.addend and a.kin == b.kin and a.element == b.element
            and (a.step != step_root or a.mode == b.mode))


cdef uint64_t _hash(const Place *place) noexcept nogil:
    cdef uint64_t hash = hash_mix(hash_mix(hash_mix(hash_mix(place.parent, place.step), place.key), place.addend), place.kin)
    return hash ^ hash >> 32


cdef int _grow(Places *p) except -1 nogil:
    """Twice as many slots."""
    cdef uint64_t mask = 2 * p.found.size() - 1
    cdef uint64_t slot
    cdef PlaceId row
    p.found.assign(mask + 1, 0)
    for row in range(1, <PlaceId>p.rows.size()):
        slot = _hash(&p.rows[row]) & mask
        while p.found[slot]:
            slot = (slot + 1) & mask
        p.found[slot] = row
    return 0


cdef PlaceId _find(Places *p, Place *place) except 0 nogil:
    """The row of a place, which is made if there is none."""
    cdef uint64_t mask
    cdef uint64_t slot
    cdef PlaceId row = <PlaceId>p.rows.size()
    if 2 * row >= p.found.size():
        _grow(p)
    mask = p.found.size() - 1
    slot = _hash(place) & mask
    while p.found[slot]:
        if _equal(&p.rows[p.found[slot]], place):
            return p.found[slot]
        slot = (slot + 1) & mask
    if place.step == step_root:
        place.root = row
    p.rows.push_back(place[0])
    p.found[slot] = row
    return row


cdef PlaceId _root(Places *p, ValueId deref) except 0 nogil:
    """The place of a deref that is no step inside of a variable, or of what a pointer points to."""
    cdef const ShaderData *s = p.s
    cdef Place place
    cdef ValueId source
    place.parent = place.root = place.addend = 0
    place.step = step_root
    place.depth = 0
    place.mode = s.instructions.mode[deref]
    place.kin = binding_unknown
    place.element = element_unknown
    if s.instructions.opcode[deref] == deref_var:
        place.key = s.instructions.data[deref]
        place.kin = <uint64_t>kin_variable | place.key
        return _find(p, &place)
    place.key = deref              # equal casts are one after cse
    source = source_value(s, deref, 0)
    if s.instructions.kind[source] == nir_deref:
        place.kin = p.rows[p.rows[place_of(p, source).place].root].kin
        place.element = p.rows[p.rows[place_of(p, source).place].root].element
    elif place.mode & mode_ssbo and s.instructions.opcode[deref] == deref_cast:
        place.kin = binding_of_buffer(s, source)
        source = resource_index_of_buffer(s, source)
        if source and value_is_constant(s, source_value(s, source, 0)):
            place.element = constant_bits(s, source_value(s, source, 0), 0)
    return _find(p, &place)


cdef inline uint32_t _component_read(const ShaderData *s, ValueId alu, uint32_t source) noexcept nogil:
    """The component of a source that the first of the result is made of. Swizzles, eight bytes each, are only read where there is a choice."""
    return 0 if s.instructions.components[source_value(s, alu, source)] == 1 else swizzle_component(source_swizzle(s, alu, source), 0)


cdef int _index(const ShaderData *s, ValueId index, Place *place) noexcept nogil:
    """Fill in the step of an index: a constant, or a value and what is added to it."""
    cdef uint32_t side
    cdef uint32_t component = 0
    cdef ValueId other
    cdef ValueId whole = index
    place.step = step_element if value_is_constant(s, index) else step_run_time
    place.addend = 0
    if place.step == step_element:
        place.key = constant_bits(s, index, 0)
        return 0
    if s.instructions.kind[index] == nir_alu and s.instructions.opcode[index] == alu_iadd:
        for side in range(2):
            other = source_value(s, index, side)
            if value_is_constant(s, other):
                place.addend = constant_bits(s, other, _component_read(s, index, side))
                component = _component_read(s, index, 1 - side)
                index = source_value(s, index, 1 - side)
                break
    elif s.instructions.kind[index] == nir_alu and s.instructions.opcode[index] == alu_mov:
        component = _component_read(s, index, 0)
        index = source_value(s, index, 0)
    if place.addend and s.instructions.bit_size[whole] < 64:
        place.addend &= (<uint64_t>1 << s.instructions.bit_size[whole]) - 1
    place.key = <uint64_t>index << 4 | component
    return 0


cdef int _step(Places *p, ValueId deref, PlaceId parent) except -1 nogil:
    """Note a member or an element of a place."""
    cdef const ShaderData *s = p.s
    cdef TypeId type = s.instructions.type[source_value(s, deref, 0)]
    cdef Place place
    place.parent = parent
    place.root = p.rows[parent].root
    place.depth = p.rows[parent].depth + 1
    place.kin = place.addend = 0
    place.element = element_unknown
    place.mode = 0
    if s.instructions.opcode[deref] == deref_struct:
        place.step = step_member
        place.key = s.instructions.data[deref]
    else:
        _index(s, source_value(s, deref, 1), &place)
        if s.types.base[type] != type_array and s.types.base[type] != type_matrix and place.step == step_element \
                and place.key < most_components:
            p.of_deref[deref] = parent << 4 | <uint32_t>place.key
            return 0
    p.of_deref[deref] = _find(p, &place) << 4
    return 0


cdef int places_note(Places *p, ValueId deref) except -1 nogil:
    cdef const ShaderData *s = p.s
    cdef int opcode = s.instructions.opcode[deref]
    cdef PlaceId parent
    if deref >= p.of_deref.size():
        return 0
    if opcode == deref_struct or opcode == deref_array:
        parent = place_of(p, source_value(s, deref, 0)).place
        if parent:                 # of a mode that is followed, as its steps are
            return _step(p, deref, parent)
    if s.instructions.mode[deref] & mode_followed:
        p.of_deref[deref] = _root(p, deref) << 4
    return 0


# ------------------------------------------------------------------------------------------------------------- comparison
cdef bint _roots_may_overlap(const Place *a, const Place *b, bint restricted) noexcept nogil:
    if not a.mode & b.mode and not (a.mode & mode_pointed and b.mode & mode_pointed):
        return False
    if a.kin == binding_unknown or b.kin == binding_unknown:
        return True
    if a.kin == b.kin:             # elements of an array of buffers are restrict by themselves
        return a.element == b.element or a.element == element_unknown or b.element == element_unknown or not restricted
    return not a.kin & kin_variable and not b.kin & kin_variable and not restricted


cdef bint _are_apart(const Place *a, const Place *b) noexcept nogil:
    """Whether two steps at the same depth lead to different members or elements."""
    if a.step != b.step:
        return False
    return a.key != b.key if a.step != step_run_time else a.key == b.key and a.addend != b.addend


cdef bint places_may_overlap(const Places *p, PlaceId a, PlaceId b, bint restricted) noexcept nogil:
    if p.rows[a].root != p.rows[b].root:
        return _roots_may_overlap(&p.rows[p.rows[a].root], &p.rows[p.rows[b].root], restricted)
    while p.rows[a].depth > p.rows[b].depth:
        a = p.rows[a].parent
    while p.rows[b].depth > p.rows[a].depth:
        b = p.rows[b].parent
    while a != b:
        if _are_apart(&p.rows[a], &p.rows[b]):
            return False
        a = p.rows[a].parent
        b = p.rows[b].parent
    return True


# ---------------------------------------------------------------------------------------------------------------- effects
cdef void effect_of(const Places *p, ValueId intrinsic, Effect *effect) noexcept nogil:
    cdef const ShaderData *s = p.s
    cdef int opcode = s.instructions.opcode[intrinsic]
    effect.place = 0
    effect.modes = mode_followed
    effect.restricted = False
    if opcode in (intrinsic_load_deref, intrinsic_store_deref, intrinsic_deref_atomic, intrinsic_deref_atomic_swap):
        effect.place = place_of(p, source_value(s, intrinsic, 0)).place
        effect.restricted = access_is_restricted(s, intrinsic)
        effect.modes = p.rows[p.rows[effect.place].root].mode
    elif opcode == intrinsic_barrier:
        effect.modes = intrinsic_index(s, intrinsic, index_memory_modes)
    elif _reaches_image(opcode):   # it may be the memory of a buffer, unless that one's access is restrict
        effect.modes = mode_pointed
        effect.restricted = True


cdef struct Gathering:
    MemoryEvents *events
    Places *places
    IsEffect is_effect
    uint32_t accesses             # and loops, so far


cdef int _gather_event(Gathering *g, uint32_t kind, uint32_t number) except -1 nogil:
    g.events.rows.push_back(Event(kind, number, Spot(0, 0), Effect(0, 0, False)))
    return 0


cdef int _gather_intrinsic(Gathering *g, ValueId i) except -1 nogil:
    cdef const ShaderData *s = g.places.s
    cdef int opcode = s.instructions.opcode[i]
    cdef Event event = Event(event_other, i, Spot(0, 0), Effect(0, 0, False))
    if not g.is_effect(g.places, i, &event.effect):
        event.effect.modes = 0
    if opcode == intrinsic_load_deref or opcode == intrinsic_store_deref:
        event.kind = event_load if opcode == intrinsic_load_deref else event_store
        event.spot = place_of(g.places, source_value(s, i, 0))
    if event.spot.place or event.effect.modes:
        g.events.rows.push_back(event)
        g.accesses += 1
    return 0


cdef int _gather_block(Gathering *g, NodeId block) except -1 nogil:
    cdef const ShaderData *s = g.places.s
    cdef OrderRow row
    cdef ValueId i
    for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
        i = s.order.instruction[row]
        if s.instructions.kind[i] == nir_deref:
            places_note(g.places, i)
        elif s.instructions.kind[i] == nir_intrinsic:
            _gather_intrinsic(g, i)
        elif s.instructions.kind[i] == nir_jump:
            _gather_event(g, event_jump, i)
    return 0


cdef int _gather_construct(Gathering *g, NodeId node) except -1 nogil:
    cdef const ShaderData *s = g.places.s
    cdef MemoryEvents *events = g.events
    cdef uint32_t before = g.accesses
    cdef uint32_t number = <uint32_t>events.constructs.size()
    cdef Construct construct
    construct.begin = construct.otherwise = <uint32_t>events.rows.size()
    events.constructs.push_back(construct)
    _gather_event(g, event_if if s.nodes.kind[node] == node_if else event_loop, number)
    _gather_list(g, s.nodes.first0[node])
    if s.nodes.kind[node] == node_if:
        construct.otherwise = <uint32_t>events.rows.size()
        _gather_list(g, s.nodes.first1[node])
        if events.rows.size() == construct.begin + 1:
            events.rows.pop_back()
            events.constructs.pop_back()
            return 0
    construct.end = <uint32_t>events.rows.size()
    construct.busy = g.accesses != before
    events.constructs[number] = construct
    g.accesses += s.nodes.kind[node] != node_if
    return _gather_event(g, event_end, number)


cdef int _gather_list(Gathering *g, NodeId node) except -1 nogil:
    cdef const ShaderData *s = g.places.s
    while node:
        if s.nodes.kind[node] == node_block:
            _gather_block(g, node)
        else:
            _gather_construct(g, node)
        node = s.nodes.next[node]
    return 0


cdef int events_gather(MemoryEvents *events, Places *p, IsEffect is_effect) except -1 nogil:
    cdef Gathering g = Gathering(events, p, is_effect, 0)
    events.rows.reserve(some_events)
    return _gather_list(&g, p.s.nodes.first0[1])


cdef bint effect_concerns(const Places *p, const Effect *effect, PlaceId place, bint restricted) noexcept nogil:
    cdef const Place *a
    cdef const Place *b
    if effect.place:
        a = &p.rows[p.rows[effect.place].root]
        b = &p.rows[p.rows[place].root]
        # A physical address does not lead to a buffer that is restrict.
        if (a.mode == mode_ssbo and b.mode == mode_global and effect.restricted
                or a.mode == mode_global and b.mode == mode_ssbo and restricted):
            return False
        return places_may_overlap(p, effect.place, place, effect.restricted and restricted)
    return effect.modes & p.rows[p.rows[place].root].mode != 0 and not (effect.restricted and restricted)


cdef int remove_accesses(ShaderData *s, const Zeroed[uint8_t] &removed) except -1 nogil:
    cdef ShaderRewrite rewrite
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    shader_rewrite_begin(&rewrite, s)
    while block:
        shader_rewrite_block(&rewrite, block)
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            if not removed[s.order.instruction[row]]:
                shader_rewrite_emit(&rewrite, s.order.instruction[row])
        block = block_walk_next(s, block)
    return shader_rewrite_end(&rewrite)
