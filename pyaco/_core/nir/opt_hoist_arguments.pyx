"""Loads of push constants and descriptors at fixed places move to the start of the function.

They read memory that is always there and never changes, so they may run early; from the start they serve every block, out
of loops, and ifs that only waited for them become selections. Push constants go first, then descriptors used in loops, then
the rest, as long as they take no more than ``register_budget`` scalar registers. Needs: ``lower_descriptors``, constants
folded. Guarantees: valid NIR. RADV gets the same effect from inline push constants and nir_opt_licm.
"""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from nir_opcodes cimport (
    alu_pack_64_2x32_split, index_align_mul, index_base, intrinsic_load_scalar_arg_amd,
    intrinsic_load_smem_amd,
)
from pyaco._core.ir.emitter cimport alu2, constant, intrinsic0, intrinsic2
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, argument_push_constants, block_walk_next, constant_bits, intrinsic_index, intrinsic_set_index,
    nir_alu, nir_intrinsic, node_first_block, source_value, value_is_constant,
)
from pyaco._core.nir.dominance cimport node_loop_around
from pyaco._core.nir.lowering cimport Lowering, lower_keep, lowering_run_from

cdef enum:
    register_budget = 48

cdef struct Place:
    uint64_t key                   # argument row << 40 | components << 32 | byte offset
    uint32_t align_mul
    uint32_t priority              # 0 push constant, 1 descriptor in a loop, 2 another one
    uint32_t order                 # of first use
    uint32_t value                 # once loaded

cdef struct Context:
    vector[Place] places
    unordered_map[uint64_t, uint32_t] row_of     # by key: row + 1


cdef bint _before(const Place &a, const Place &b) noexcept nogil:
    return a.priority < b.priority if a.priority != b.priority else a.order < b.order


cdef uint64_t _key(const ShaderData *s, uint32_t load) noexcept nogil:
    """Argument, size and offset of a load at a fixed place; 0 for others."""
    cdef uint32_t base, argument, offset
    if s.instructions.kind[load] != nir_intrinsic or s.instructions.opcode[load] != intrinsic_load_smem_amd:
        return 0
    base = source_value(s, load, 0)
    offset = source_value(s, load, 1)
    if s.instructions.kind[base] != nir_alu or s.instructions.opcode[base] != alu_pack_64_2x32_split or \
            not value_is_constant(s, offset) or s.instructions.bit_size[load] != 32:
        return 0
    argument = source_value(s, base, 0)
    if s.instructions.kind[argument] != nir_intrinsic or \
            s.instructions.opcode[argument] != intrinsic_load_scalar_arg_amd or \
            s.instructions.components[argument] != 1:
        return 0
    return (<uint64_t>intrinsic_index(s, argument, index_base) + 1) << 40 | \
        <uint64_t>s.instructions.components[load] << 32 | constant_bits(s, offset, 0)


cdef void _collect(const ShaderData *s, Context *c) noexcept nogil:
    cdef uint32_t block = node_first_block(s)
    cdef uint32_t i, load, argument
    cdef uint64_t key
    cdef Place place
    while block:
        for i in range(s.nodes.order_count[block]):
            load = s.order.instruction[s.nodes.order_first[block] + i]
            key = _key(s, load)
            if key == 0:
                continue
            argument = <uint32_t>(key >> 40) - 1
            place.priority = 1 if node_loop_around(s, block) else 2
            if s.arguments.kind[argument] == argument_push_constants:
                place.priority = 0
            if c.row_of.count(key):
                if place.priority < c.places[c.row_of[key] - 1].priority:
                    c.places[c.row_of[key] - 1].priority = place.priority
                continue
            place.key = key
            place.align_mul = intrinsic_index(s, load, index_align_mul)
            place.order = <uint32_t>c.places.size()
            place.value = 0
            c.places.push_back(place)
            c.row_of[key] = <uint32_t>c.places.size()
        block = block_walk_next(s, block)


cdef void _choose(Context *c) noexcept nogil:
    """Keep what fits the budget, in the order of priority."""
    cdef uint32_t used = 0
    cdef uint32_t size
    cdef size_t i
    cdef size_t kept = 0
    sort(c.places.begin(), c.places.end(), &_before)
    c.row_of.clear()
    for i in range(c.places.size()):
        size = (c.places[i].key >> 32) & 0xff
        if used + size > register_budget:
            continue
        used += size
        c.places[kept] = c.places[i]
        kept += 1
        c.row_of[c.places[kept - 1].key] = <uint32_t>kept
    c.places.resize(kept)


cdef int _load_all(Lowering *b) except -1 nogil:
    cdef ShaderData *s = b.s
    cdef Context *c = <Context *>b.context
    cdef uint32_t base, value
    cdef size_t i
    for i in range(c.places.size()):
        base = intrinsic0(b, intrinsic_load_scalar_arg_amd, 1, 32)
        intrinsic_set_index(s, base, index_base, <int>(c.places[i].key >> 40) - 1)
        base = alu2(b, alu_pack_64_2x32_split, base, constant(b, s.info.address32_hi, 32))
        value = intrinsic2(b, intrinsic_load_smem_amd, (c.places[i].key >> 32) & 0xff, 32, base,
                           constant(b, c.places[i].key & 0xffffffffU, 32))
        intrinsic_set_index(s, value, index_align_mul, <int>c.places[i].align_mul)
        c.places[i].value = value
    return 0


cdef uint32_t _lower(Lowering *b, uint32_t instruction) except? 0xffffffffU nogil:
    cdef Context *c = <Context *>b.context
    cdef uint64_t key = _key(b.s, instruction)
    if key == 0 or not c.row_of.count(key):
        return lower_keep
    return c.places[c.row_of[key] - 1].value


cdef bint opt_hoist_arguments_run(ShaderData *s) except -1 nogil:
    cdef Context c
    _collect(s, &c)
    _choose(&c)
    if c.places.empty():
        return False
    return lowering_run_from(s, _load_all, _lower, &c)


def run(Shader shader not None, options=None):
    """Hoist loads of push constants and descriptors."""
    cdef bint progress
    with nogil:
        progress = opt_hoist_arguments_run(&shader.data)
    return progress
