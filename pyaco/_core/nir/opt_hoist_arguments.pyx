"""Loads of push constants and descriptors at constant offsets move to the start of the function.

They read memory that is always mapped and never changes, so they may run early. At the start they serve every block, are out
of loops, and ifs that held nothing else can become selections. Push constants go first, then descriptors used in loops, then
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
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, Shader, ShaderData, ValueId, argument_push_constants, block_walk_next, constant_bits, intrinsic_index, intrinsic_set_index,
    nir_alu, nir_intrinsic, node_first_block, source_value, value_is_constant,
)
from pyaco._core.nir.dominance cimport node_loop_around
from pyaco._core.nir.lowering cimport Lowering, lower_intrinsics, lower_keep, lowering_run_from

cdef enum:
    register_budget = 48

cdef struct HoistedLoad:
    uint64_t key                   # argument row << 40 | components << 32 | byte offset
    uint32_t align_mul
    uint32_t priority              # 0 push constant, 1 descriptor in a loop, 2 another one
    uint32_t order                 # of first use
    ValueId value                  # the load at the start of the function, once made

cdef struct Context:
    vector[HoistedLoad] loads
    unordered_map[uint64_t, uint32_t] row_of     # by key: row + 1


cdef bint _comes_before(const HoistedLoad &a, const HoistedLoad &b) noexcept nogil:
    return a.priority < b.priority if a.priority != b.priority else a.order < b.order


cdef uint64_t _key(const ShaderData *s, ValueId load) noexcept nogil:
    """Argument, size and offset of a load at a constant offset; 0 for other instructions."""
    cdef ValueId base, argument, offset
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


cdef void _collect_loads(const ShaderData *s, Context *c) noexcept nogil:
    cdef NodeId block = node_first_block(s)
    cdef uint32_t i, argument
    cdef ValueId load
    cdef uint64_t key
    cdef HoistedLoad found
    while block:
        for i in range(s.nodes.order_count[block]):
            load = s.order.instruction[s.nodes.order_first[block] + i]
            key = _key(s, load)
            if key == 0:
                continue
            argument = <uint32_t>(key >> 40) - 1
            found.priority = 1 if node_loop_around(s, block) else 2
            if s.arguments.kind[argument] == argument_push_constants:
                found.priority = 0
            if c.row_of.count(key):
                if found.priority < c.loads[c.row_of[key] - 1].priority:
                    c.loads[c.row_of[key] - 1].priority = found.priority
                continue
            found.key = key
            found.align_mul = intrinsic_index(s, load, index_align_mul)
            found.order = <uint32_t>c.loads.size()
            found.value = 0
            c.loads.push_back(found)
            c.row_of[key] = <uint32_t>c.loads.size()
        block = block_walk_next(s, block)


cdef void _choose_loads(Context *c) noexcept nogil:
    """Keep what fits the budget, in the order of priority."""
    cdef uint32_t used = 0
    cdef uint32_t size
    cdef size_t i
    cdef size_t kept = 0
    sort(c.loads.begin(), c.loads.end(), &_comes_before)
    c.row_of.clear()
    for i in range(c.loads.size()):
        size = (c.loads[i].key >> 32) & 0xff
        if used + size > register_budget:
            continue
        used += size
        c.loads[kept] = c.loads[i]
        kept += 1
        c.row_of[c.loads[kept - 1].key] = <uint32_t>kept
    c.loads.resize(kept)


cdef int _load_all(Lowering *b) except -1 nogil:
    cdef ShaderData *s = b.s
    cdef Context *c = <Context *>b.context
    cdef ValueId base, value
    cdef size_t i
    for i in range(c.loads.size()):
        base = intrinsic0(b, intrinsic_load_scalar_arg_amd, 1, 32)
        intrinsic_set_index(s, base, index_base, <int>(c.loads[i].key >> 40) - 1)
        base = alu2(b, alu_pack_64_2x32_split, base, constant(b, s.info.address32_hi, 32))
        value = intrinsic2(b, intrinsic_load_smem_amd, (c.loads[i].key >> 32) & 0xff, 32, base,
                           constant(b, c.loads[i].key & 0xffffffffU, 32))
        intrinsic_set_index(s, value, index_align_mul, <int>c.loads[i].align_mul)
        c.loads[i].value = value
    return 0


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef Context *c = <Context *>b.context
    cdef uint64_t key = _key(b.s, instruction)
    if key == 0 or not c.row_of.count(key):
        return lower_keep
    return c.loads[c.row_of[key] - 1].value


cdef bint opt_hoist_arguments_run(ShaderData *s) except -1 nogil:
    cdef Context c
    _collect_loads(s, &c)
    _choose_loads(&c)
    if c.loads.empty():
        return False
    return lowering_run_from(s, _load_all, lower_intrinsics, _lower, &c)


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_hoist_arguments_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Hoist loads of push constants and descriptors."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
