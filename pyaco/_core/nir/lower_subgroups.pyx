"""Lowers subgroup operations and derivatives to the subgroup operations that instruction selection has.

Needs: four lanes that follow each other are a quad of the shader's derivative group (``lower_system_values`` numbers invocations so).
Guarantees: the operations listed in docs/nir.md ("Subgroup operations") and ``shuffle_xor`` by a constant are left, on scalars; ballots
are one integer as wide as the wave; only votes, ballots and reductions take booleans. Lane indices of ``read_invocation`` are constants
or uniform by construction. Derivatives are differences between lanes of a quad: coarse ones, which OpDPdx is too, between the first
and its neighbours, fine ones of the lane's own row or column.

Sources: SPIR-V specification, 3.42.24 "Non-Uniform Instructions", 3.42.16 "Derivative Instructions"; Vulkan specification, "Group
Operations", "Derivative Operations".
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport (
    alu_b2i32, alu_bit_count, alu_fddx, alu_fddx_coarse, alu_fddx_fine, alu_fddy, alu_fddy_coarse, alu_fddy_fine, alu_feq,
    alu_find_lsb, alu_fsub, alu_iadd, alu_iand, alu_ieq, alu_ine, alu_ior, alu_isub, alu_ixor,
    alu_pack_64_2x32_split, alu_u2u32, alu_u2u64, alu_ufind_msb, alu_unpack_64_2x32_split_x, alu_ushr, index_cluster_size,
    index_reduction_op, intrinsic_ballot, intrinsic_ballot_bit_count_exclusive, intrinsic_ballot_bit_count_inclusive,
    intrinsic_ballot_bit_count_reduce, intrinsic_ballot_bitfield_extract, intrinsic_ballot_find_lsb, intrinsic_ballot_find_msb,
    intrinsic_exclusive_scan, intrinsic_inclusive_scan, intrinsic_inverse_ballot, intrinsic_masked_swizzle_amd, intrinsic_mbcnt_amd,
    intrinsic_quad_broadcast, intrinsic_quad_swap_diagonal, intrinsic_quad_swap_horizontal, intrinsic_quad_swap_vertical,
    intrinsic_quad_swizzle_amd, intrinsic_ballot_relaxed, index_swizzle_mask,
    intrinsic_read_first_invocation, intrinsic_read_invocation, intrinsic_reduce, intrinsic_rotate, intrinsic_shuffle,
    intrinsic_shuffle_down, intrinsic_shuffle_up, intrinsic_shuffle_xor, intrinsic_source_count, intrinsic_vote_all, intrinsic_vote_feq,
    intrinsic_vote_ieq,
)
from pyaco._core.ir.emitter cimport alu1, alu2, alu2_constant, component, constant, intrinsic1, intrinsic2, vector_of
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, ValueId, intrinsic_index, intrinsic_set_index, nir_alu, nir_intrinsic, source_swizzle, source_value,
    swizzle_component, value_is_constant,
)
from pyaco._core.nir.lowering cimport (
    Lowering, constant_source, lane_mask_words, lower_alu, lower_intrinsics, lower_keep, lowering_run, subgroup_invocation,
)


cdef ValueId _mask(Lowering *b, ValueId value) except? 0xffffffffU nogil:
    """A ballot of any shape as an integer of the wave's width."""
    cdef uint32_t wave = b.s.info.wave_size
    cdef uint32_t bits = b.s.instructions.bit_size[value]
    cdef ValueId first = component(b, value, 0)
    if bits == wave:
        return first
    if bits == 64:
        return alu1(b, alu_unpack_64_2x32_split_x, first)
    if b.s.instructions.components[value] == 1:
        return alu1(b, alu_u2u64, first)
    return alu2(b, alu_pack_64_2x32_split, first, component(b, value, 1))


cdef ValueId _ballot(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """A ballot as wide as the wave, then as the components of the result."""
    cdef ShaderData *s = b.s
    cdef uint32_t wave = s.info.wave_size
    cdef uint32_t bits = s.instructions.bit_size[instruction]
    cdef uint32_t count = s.instructions.components[instruction]
    if count == 1 and bits == wave:
        return lower_keep
    return lane_mask_words(b, intrinsic1(b, s.instructions.opcode[instruction], 1, wave, source_value(s, instruction, 0)), count, bits)


cdef ValueId _ballot_operation(Lowering *b, ValueId instruction, int opcode) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef ValueId value = source_value(s, instruction, 0)
    cdef ValueId mask, own
    if opcode == intrinsic_inverse_ballot and s.instructions.components[value] == 1 and \
            s.instructions.bit_size[value] == s.info.wave_size:
        return lower_keep
    mask = _mask(b, value)
    if opcode == intrinsic_inverse_ballot:
        return intrinsic1(b, intrinsic_inverse_ballot, 1, 1, mask)
    if opcode == intrinsic_ballot_bitfield_extract:
        mask = alu2_constant(b, alu_iand, alu2(b, alu_ushr, mask, source_value(s, instruction, 1)), 1)
        return alu2_constant(b, alu_ine, mask, 0)
    if opcode == intrinsic_ballot_bit_count_reduce:
        return alu1(b, alu_bit_count, mask)
    if opcode == intrinsic_ballot_find_lsb:
        return alu1(b, alu_find_lsb, mask)
    if opcode == intrinsic_ballot_find_msb:
        return alu1(b, alu_ufind_msb, mask)
    own = constant(b, 0, 32)
    if opcode == intrinsic_ballot_bit_count_inclusive:
        own = alu1(b, alu_b2i32, intrinsic1(b, intrinsic_inverse_ballot, 1, 1, mask))
    return intrinsic2(b, intrinsic_mbcnt_amd, 1, 32, mask, own)


cdef ValueId _vote_equal(Lowering *b, ValueId instruction, int compare) except? 0xffffffffU nogil:
    """Whether all lanes have the value of the first one."""
    cdef ShaderData *s = b.s
    cdef ValueId value = source_value(s, instruction, 0)
    cdef ValueId same = 0
    cdef ValueId part, first
    cdef int i
    for i in range(s.instructions.components[value]):
        part = component(b, value, i)
        if s.instructions.bit_size[part] == 1:
            part = alu1(b, alu_b2i32, part)
        first = intrinsic1(b, intrinsic_read_first_invocation, 1, s.instructions.bit_size[part], part)
        first = alu2(b, compare, part, first)
        same = alu2(b, alu_iand, same, first) if i else first
    return intrinsic1(b, intrinsic_vote_all, 1, 1, same)


# -------------------------------------------------------------------------------------------------------- moving between lanes
cdef bint _is_lane_move(int opcode) noexcept nogil:
    return opcode in (intrinsic_shuffle, intrinsic_shuffle_xor, intrinsic_shuffle_up, intrinsic_shuffle_down,
                      intrinsic_rotate, intrinsic_read_invocation, intrinsic_read_first_invocation,
                      intrinsic_quad_broadcast, intrinsic_quad_swap_horizontal, intrinsic_quad_swap_vertical,
                      intrinsic_quad_swap_diagonal, intrinsic_masked_swizzle_amd)


cdef ValueId _same_operation(Lowering *b, ValueId instruction, ValueId value) except? 0xffffffffU nogil:
    """The same operation on another scalar."""
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[instruction]
    cdef ValueId other = source_value(s, instruction, 1) if intrinsic_source_count[opcode] > 1 else 0
    cdef ValueId row = intrinsic2(b, opcode, 1, s.instructions.bit_size[value], value, other)
    intrinsic_set_index(s, row, index_cluster_size, intrinsic_index(s, instruction, index_cluster_size))
    intrinsic_set_index(s, row, index_reduction_op, intrinsic_index(s, instruction, index_reduction_op))
    return row


cdef ValueId _each_component(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef ValueId value = source_value(s, instruction, 0)
    cdef uint32_t count = s.instructions.components[value]
    cdef ValueId[16] parts
    cdef uint32_t i
    for i in range(count):
        parts[i] = _same_operation(b, instruction, component(b, value, i))
    return vector_of(b, parts, count)


cdef ValueId _shuffled(Lowering *b, ValueId instruction, ValueId lane) except? 0xffffffffU nogil:
    return intrinsic2(b, intrinsic_shuffle, 1, b.s.instructions.bit_size[instruction],
                      source_value(b.s, instruction, 0), lane)


cdef ValueId _index32(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ValueId index = source_value(b.s, instruction, 1)
    return index if b.s.instructions.bit_size[index] == 32 else alu1(b, alu_u2u32, index)


cdef ValueId _rotated(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef uint32_t cluster = intrinsic_index(b.s, instruction, index_cluster_size)
    cdef ValueId lane
    cdef ValueId moved
    cdef uint64_t delta = 0
    if cluster == 0 or cluster > b.s.info.wave_size:
        cluster = b.s.info.wave_size
    if constant_source(b.s, instruction, 1, &delta) and (delta & (cluster - 1)) * 2 == cluster:
        # Halves change places.
        return intrinsic2(b, intrinsic_shuffle_xor, 1, b.s.instructions.bit_size[instruction], source_value(b.s, instruction, 0),
                          constant(b, cluster // 2, 32))
    lane = subgroup_invocation(b)
    moved = alu2(b, alu_iadd, lane, _index32(b, instruction))
    moved = alu2_constant(b, alu_iand, moved, cluster - 1)
    if cluster < b.s.info.wave_size:
        moved = alu2(b, alu_ior, alu2_constant(b, alu_iand, lane, ~(cluster - 1)), moved)
    return _shuffled(b, instruction, moved)


cdef ValueId _move(Lowering *b, ValueId instruction, int opcode) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef ValueId index
    if opcode == intrinsic_shuffle_up:
        return _shuffled(b, instruction, alu2(b, alu_isub, subgroup_invocation(b), _index32(b, instruction)))
    if opcode == intrinsic_shuffle_down:
        return _shuffled(b, instruction, alu2(b, alu_iadd, subgroup_invocation(b), _index32(b, instruction)))
    if opcode == intrinsic_rotate:
        return _rotated(b, instruction)
    if opcode not in (intrinsic_shuffle_xor, intrinsic_quad_broadcast, intrinsic_read_invocation):
        return lower_keep
    index = source_value(s, instruction, 1)
    if value_is_constant(s, index):
        return lower_keep
    if opcode == intrinsic_shuffle_xor:
        return _shuffled(b, instruction, alu2(b, alu_ixor, subgroup_invocation(b), _index32(b, instruction)))
    if opcode == intrinsic_quad_broadcast:
        index = alu2_constant(b, alu_iand, _index32(b, instruction), 3)
        return _shuffled(b, instruction, alu2(b, alu_ior, alu2_constant(b, alu_iand, subgroup_invocation(b), 0xfffffffcU), index))
    if s.instructions.kind[index] == nir_intrinsic and \
            s.instructions.opcode[index] == intrinsic_read_first_invocation:
        return lower_keep
    index = intrinsic1(b, intrinsic_read_first_invocation, 1, 32, _index32(b, instruction))
    return intrinsic2(b, intrinsic_read_invocation, 1, s.instructions.bit_size[instruction],
                      source_value(s, instruction, 0), index)


cdef ValueId _reduction(Lowering *b, ValueId instruction, int opcode) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef uint32_t cluster
    if s.instructions.components[instruction] > 1:
        return _each_component(b, instruction)
    if opcode != intrinsic_reduce:
        return lower_keep
    cluster = intrinsic_index(s, instruction, index_cluster_size)
    if cluster == 1:
        return source_value(s, instruction, 0)
    if cluster >= s.info.wave_size:
        intrinsic_set_index(s, instruction, index_cluster_size, 0)
    return lower_keep


# ----------------------------------------------------------------------------------------------------------- derivatives
cdef enum:                        # a lane of the quad for each of its four, two bits each
    left_of_row = 0xa0
    right_of_row = 0xf5
    top_of_column = 0x44
    bottom_of_column = 0xee


cdef ValueId _of_quad(Lowering *b, ValueId value, int lanes) except? 0xffffffffU nogil:
    """What each lane of a quad gets from the lane that is given for it."""
    cdef ValueId row = intrinsic1(b, intrinsic_quad_swizzle_amd, 1, b.s.instructions.bit_size[value], value)
    intrinsic_set_index(b.s, row, index_swizzle_mask, lanes)
    return row


cdef ValueId _fine(Lowering *b, ValueId value, bint in_y) except? 0xffffffffU nogil:
    """The difference within the lane's own row or column."""
    cdef ValueId far = _of_quad(b, value, bottom_of_column if in_y else right_of_row)
    return alu2(b, alu_fsub, far, _of_quad(b, value, top_of_column if in_y else left_of_row))


cdef ValueId _coarse(Lowering *b, ValueId value, bint in_y) except? 0xffffffffU nogil:
    """The difference between a neighbour of the first lane and that one: of the differences from the first lane, which both directions share."""
    cdef uint32_t bits = b.s.instructions.bit_size[value]
    cdef ValueId difference = alu2(b, alu_fsub, value, intrinsic2(b, intrinsic_quad_broadcast, 1, bits, value, constant(b, 0, 32)))
    return intrinsic2(b, intrinsic_quad_broadcast, 1, bits, difference, constant(b, 2 if in_y else 1, 32))


cdef ValueId _derivative(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[instruction]
    cdef uint64_t swizzle = source_swizzle(s, instruction, 0)
    cdef bint in_y = opcode in (alu_fddy, alu_fddy_coarse, alu_fddy_fine)
    cdef ValueId[16] parts
    cdef ValueId value
    cdef uint32_t i
    if opcode not in (alu_fddx, alu_fddx_coarse, alu_fddx_fine) and not in_y:
        return lower_keep
    for i in range(s.instructions.components[instruction]):
        value = component(b, source_value(s, instruction, 0), swizzle_component(swizzle, i))
        if opcode == alu_fddx_fine or opcode == alu_fddy_fine:
            parts[i] = _fine(b, value, in_y)
        else:
            parts[i] = _coarse(b, value, in_y)
    return vector_of(b, parts, s.instructions.components[instruction])


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[instruction]
    cdef ValueId value
    if s.instructions.kind[instruction] == nir_alu:
        return _derivative(b, instruction)
    if s.instructions.kind[instruction] != nir_intrinsic:
        return lower_keep
    if opcode == intrinsic_ballot or opcode == intrinsic_ballot_relaxed:
        return _ballot(b, instruction)
    if opcode in (intrinsic_inverse_ballot, intrinsic_ballot_bitfield_extract, intrinsic_ballot_bit_count_reduce,
                  intrinsic_ballot_bit_count_inclusive, intrinsic_ballot_bit_count_exclusive,
                  intrinsic_ballot_find_lsb, intrinsic_ballot_find_msb):
        return _ballot_operation(b, instruction, opcode)
    if opcode == intrinsic_vote_ieq or opcode == intrinsic_vote_feq:
        return _vote_equal(b, instruction, alu_ieq if opcode == intrinsic_vote_ieq else alu_feq)
    if opcode in (intrinsic_reduce, intrinsic_inclusive_scan, intrinsic_exclusive_scan):
        return _reduction(b, instruction, opcode)
    if not _is_lane_move(opcode):
        return lower_keep
    if s.instructions.components[instruction] > 1:
        return _each_component(b, instruction)
    if s.instructions.bit_size[instruction] == 1:
        value = _same_operation(b, instruction, alu1(b, alu_b2i32, source_value(s, instruction, 0)))
        return alu2_constant(b, alu_ine, value, 0)
    return _move(b, instruction, opcode)


cdef bint lower_subgroups_run(ShaderData *s) except -1 nogil:
    cdef bint progress = False
    # What one sweep makes is lowered by the next: vectors become scalars, then booleans integers, then moves shuffles.
    while lowering_run(s, lower_alu | lower_intrinsics, _lower, NULL):
        progress = True
    return progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return lower_subgroups_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Lower subgroup operations."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
