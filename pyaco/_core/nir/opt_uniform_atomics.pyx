"""Atomics at one place for all lanes are done once a wave: the lanes' data is reduced, and one lane does the atomic.

Memory serves atomics at one address one after another, up to 64 for an instruction; one is enough. Where the old value is used, each lane gets that
of memory combined with what the lanes before it bring. Exchanges stay as they are, and so do atomics that no two lanes of a wave do: those behind a
comparison of the lane's or the invocation's number with what is the same for all. From GFX9 on, counting lanes in LDS is one instruction.

Needs: explicit addresses, divergence. Guarantees: valid NIR; LCSSA and divergence stay as they are, the new values have their flags.

Source: the rules are those of Mesa's ``nir_opt_uniform_atomics`` and ``ac_nir_opt_shared_append``, which RADV runs.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from nir_opcodes cimport (
    alu_fadd, alu_fmax, alu_fmin, alu_iadd, alu_iand, alu_ieq, alu_imax, alu_imin, alu_imul, alu_ior, alu_ishl, alu_ixor, alu_mov, alu_umax,
    alu_umin, index_atomic_op, index_base, index_reduction_op, intrinsic_bindless_image_atomic, intrinsic_elect,
    intrinsic_exclusive_scan, intrinsic_global_atomic, intrinsic_image_deref_atomic, intrinsic_last_invocation,
    intrinsic_load_global_invocation_id, intrinsic_load_local_invocation_id, intrinsic_load_local_invocation_index,
    intrinsic_load_subgroup_invocation, intrinsic_read_first_invocation, intrinsic_read_invocation, intrinsic_reduce, intrinsic_shared_append_amd,
    intrinsic_shared_atomic, intrinsic_shared_consume_amd, intrinsic_ssbo_atomic,
)
from pyaco._core.ir.emitter cimport alu2, intrinsic0, intrinsic1, intrinsic2, phi2, undefined
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport gfx9
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, ValueId, atomic_fadd, atomic_fmax, atomic_fmin, atomic_iadd, atomic_iand, atomic_imax, atomic_imin,
    atomic_ior, atomic_ixor, atomic_umax, atomic_umin, intrinsic_index, intrinsic_set_index, nir_alu, nir_divergent, nir_intrinsic, node_if,
    node_walk_next, source_swizzle, source_value, swizzle_component,
)
from pyaco._core.nir.lowering cimport (
    Lowering, constant_source, lower_if_begin, lower_if_else, lower_if_end, lower_intrinsics, lower_keep, lower_remove, lowering_run,
    with_sources,
)

cdef enum:
    no_operation = -1
    most_operations = 8            # of a number that is compared
    lane_of_wave = 8               # beside a bit for each dimension of the workgroup

cdef cppclass Context:
    vector[uint8_t] is_used        # by value; empty until the first atomic
    vector[uint8_t] compared       # by node: dimensions whose numbers are compared on the way there


cdef int[16] _operations       # by AtomicOperation: the ALU opcode that combines what two lanes bring
for _i in range(16):
    _operations[_i] = no_operation
for _atomic, _alu in {
    atomic_iadd: alu_iadd, atomic_imin: alu_imin, atomic_umin: alu_umin, atomic_imax: alu_imax, atomic_umax: alu_umax, atomic_iand: alu_iand,
    atomic_ior: alu_ior, atomic_ixor: alu_ixor, atomic_fadd: alu_fadd, atomic_fmin: alu_fmin, atomic_fmax: alu_fmax,
}.items():
    _operations[_atomic] = _alu


cdef inline bint _differs(const ShaderData *s, ValueId value) noexcept nogil:
    return s.instructions.flags[value] & nir_divergent != 0


cdef inline ValueId _differing(Lowering *b, ValueId value) noexcept nogil:
    b.s.instructions.flags[value] |= nir_divergent
    return value


# ------------------------------------------------------------------------------------------------------- who does an atomic
cdef uint32_t _dimensions(const ShaderData *s, ValueId value, uint32_t component, int *operations) noexcept nogil:
    """The dimensions of the invocation's number that a value is made of; 0 when there is anything else that differs between lanes."""
    cdef int opcode = s.instructions.opcode[value]
    cdef uint32_t found = 0
    cdef uint32_t of_source
    cdef uint32_t i
    operations[0] += 1
    if operations[0] > most_operations:
        return 0
    if s.instructions.kind[value] == nir_intrinsic:
        if opcode == intrinsic_load_subgroup_invocation:
            return lane_of_wave
        if opcode == intrinsic_load_local_invocation_index:
            return 7
        return 1 << component if opcode in (intrinsic_load_local_invocation_id, intrinsic_load_global_invocation_id) else 0
    if s.instructions.kind[value] != nir_alu or opcode not in (alu_iadd, alu_imul, alu_ishl, alu_mov):
        return 0
    for i in range(s.instructions.source_count[value]):
        if not _differs(s, source_value(s, value, i)):
            continue
        of_source = _dimensions(s, source_value(s, value, i), swizzle_component(source_swizzle(s, value, i), component), operations)
        if of_source == 0 or (opcode == alu_ishl and i == 1):
            return 0
        found |= of_source
    return found


cdef uint32_t _compared(const ShaderData *s, ValueId condition, int *operations) noexcept nogil:
    """The dimensions that a condition holds for one number of alone."""
    cdef int opcode = s.instructions.opcode[condition]
    cdef uint32_t i
    operations[0] += 1
    if s.instructions.kind[condition] == nir_intrinsic:
        return lane_of_wave if opcode == intrinsic_elect else 0
    if s.instructions.kind[condition] != nir_alu or operations[0] > most_operations:
        return 0
    if opcode == alu_iand:
        return _compared(s, source_value(s, condition, 0), operations) | _compared(s, source_value(s, condition, 1), operations)
    if opcode == alu_ieq:
        for i in range(2):
            if not _differs(s, source_value(s, condition, 1 - i)):
                return _dimensions(s, source_value(s, condition, i), swizzle_component(source_swizzle(s, condition, i), 0), operations)
    return 0


cdef int _look(const ShaderData *s, Context *c) except -1 nogil:
    """Note which values are used, and what is compared on the way to each node."""
    cdef OrderRow row
    cdef ValueId i
    cdef uint32_t k
    cdef NodeId node = 1
    cdef NodeId child
    cdef uint8_t inside
    cdef int operations
    c.is_used.assign(s.instructions.table.count, 0)
    c.compared.assign(s.nodes.table.count, 0)
    for row in range(s.order.table.count):
        i = s.order.instruction[row]
        for k in range(s.instructions.source_count[i]):
            c.is_used[source_value(s, i, k)] = 1
    while node:
        inside = c.compared[node]
        child = s.nodes.first1[node]
        while child:
            c.compared[child] = inside
            child = s.nodes.next[child]
        if s.nodes.kind[node] == node_if:
            c.is_used[s.nodes.condition[node]] = 1
            operations = 0
            inside |= _compared(s, s.nodes.condition[node], &operations)
        child = s.nodes.first0[node]
        while child:
            c.compared[child] = inside
            child = s.nodes.next[child]
        node = node_walk_next(s, node)
    return 0


cdef bint _is_alone(const ShaderData *s, uint32_t compared) noexcept nogil:
    """Whether at most one lane of a wave comes to a place."""
    cdef uint32_t needed = 0
    cdef uint32_t k
    for k in range(3):
        needed |= (s.info.workgroup_size[k] != 1) << k
    return compared & lane_of_wave != 0 or compared & needed == needed


# ------------------------------------------------------------------------------------------------------------- rewriting
cdef ValueId _over_lanes(Lowering *b, int intrinsic, int operation, ValueId data) except 0 nogil:
    """A reduction or scan of what the lanes bring."""
    cdef ValueId value = intrinsic1(b, intrinsic, 1, b.s.instructions.bit_size[data], data)
    intrinsic_set_index(b.s, value, index_reduction_op, operation)
    return _differing(b, value) if intrinsic == intrinsic_exclusive_scan else value


cdef ValueId _with_data(Lowering *b, ValueId atomic, int place, ValueId data) except 0 nogil:
    """The atomic with other data."""
    cdef ShaderData *s = b.s
    cdef ValueId[8] sources
    cdef int k
    for k in range(s.instructions.source_count[atomic]):
        sources[k] = source_value(s, atomic, k)
    sources[place] = data
    return _differing(b, with_sources(b, atomic, sources, s.instructions.bit_size[atomic]))


cdef ValueId _done_once(Lowering *b, ValueId atomic, int place, int operation, bint is_used) except? 0xffffffffU nogil:
    """if (elect) { atomic with the reduced data }, and what each lane would have had as the old value."""
    cdef ShaderData *s = b.s
    cdef ValueId data = source_value(s, atomic, place)
    cdef ValueId scan = 0
    cdef ValueId total
    cdef ValueId value
    cdef NodeId branch
    cdef NodeId one_lane
    cdef NodeId other_lanes
    if is_used and _differs(s, data):
        scan = _over_lanes(b, intrinsic_exclusive_scan, operation, data)
        total = _differing(b, alu2(b, operation, scan, data))
        total = intrinsic2(b, intrinsic_read_invocation, 1, s.instructions.bit_size[data], total, intrinsic0(b, intrinsic_last_invocation, 1, 32))
    else:
        total = _over_lanes(b, intrinsic_reduce, operation, data)
    branch = lower_if_begin(b, _differing(b, intrinsic0(b, intrinsic_elect, 1, 1)))
    s.nodes.divergent[branch] = True
    value = _with_data(b, atomic, place, total)
    one_lane = b.block
    lower_if_else(b, branch)
    if not is_used:
        lower_if_end(b, branch)
        return lower_remove
    total = undefined(b, 1, s.instructions.bit_size[value])
    other_lanes = b.block
    lower_if_end(b, branch)
    value = _differing(b, phi2(b, value, one_lane, total, other_lanes))
    value = intrinsic1(b, intrinsic_read_first_invocation, 1, s.instructions.bit_size[value], value)
    if scan == 0:
        scan = _over_lanes(b, intrinsic_exclusive_scan, operation, data)
    return _differing(b, alu2(b, operation, value, scan))


cdef ValueId _counted(Lowering *b, ValueId atomic, bint is_used) except? 0xffffffffU nogil:
    """Additions of 1 or -1 to one dword of LDS count the active lanes, which has an instruction of its own; for all else lower_keep."""
    cdef ShaderData *s = b.s
    cdef uint64_t address
    cdef uint64_t data
    cdef ValueId old
    cdef ValueId each = source_value(s, atomic, 1)
    if s.info.gfx_level < gfx9 or s.instructions.opcode[atomic] != intrinsic_shared_atomic or s.instructions.bit_size[atomic] != 32 \
            or intrinsic_index(s, atomic, index_atomic_op) != atomic_iadd or not constant_source(s, atomic, 0, &address) \
            or not constant_source(s, atomic, 1, &data) or (data != 1 and data != 0xffffffffU):
        return lower_keep
    address += <uint32_t>intrinsic_index(s, atomic, index_base)
    if address > 0xffff or address & 3:
        return lower_keep
    old = intrinsic0(b, intrinsic_shared_append_amd if data == 1 else intrinsic_shared_consume_amd, 1, 32)
    intrinsic_set_index(s, old, index_base, <int32_t>address)
    if not is_used:
        return lower_remove
    return _differing(b, alu2(b, alu_iadd, old, _over_lanes(b, intrinsic_exclusive_scan, alu_iadd, each)))


cdef int _place_of_data(int opcode) noexcept nogil:
    """Which source is the data of an atomic; 0 for all else."""
    if opcode in (intrinsic_shared_atomic, intrinsic_global_atomic):
        return 1
    if opcode == intrinsic_ssbo_atomic:
        return 2
    return 3 if opcode in (intrinsic_image_deref_atomic, intrinsic_bindless_image_atomic) else 0


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef Context *c = <Context *>b.context
    cdef int place = _place_of_data(s.instructions.opcode[instruction])
    cdef int operation
    cdef int k
    cdef ValueId counted
    if place == 0:
        return lower_keep
    operation = _operations[intrinsic_index(s, instruction, index_atomic_op)]
    if operation == no_operation:
        return lower_keep
    for k in range(s.instructions.source_count[instruction]):
        if k != place and _differs(s, source_value(s, instruction, k)):
            return lower_keep
    if c.is_used.size() == 0:
        _look(s, c)
    counted = _counted(b, instruction, c.is_used[instruction] != 0)
    if counted != lower_keep:
        return counted
    if _is_alone(s, c.compared[b.blocks[b.reached]]):
        return lower_keep
    return _done_once(b, instruction, place, operation, c.is_used[instruction] != 0)


cdef int _kernel(void *ir, int option) except -1 nogil:
    cdef Context context
    return lowering_run(<ShaderData *>ir, lower_intrinsics, _lower, &context)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Let one lane do the atomics that all lanes do at one place; True when there was one."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
