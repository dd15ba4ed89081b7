"""Shuffles whose lane is a function of the own lane's number and constants become moves that need no index.

A loop over ``subgroupShuffleXor(x, i)`` that was unrolled, ``subgroupShuffle(x, lane ^ 1)``, rotations in a cluster: the index is computed for
each lane of the wave, and what it comes to decides, by what is cheapest: the value itself, one lane for all (``read_invocation``), a pattern
of quads, and, or and xor of the lane's five low bits (``masked_swizzle_amd``), one permutation of each row of 16 lanes (GFX10 and later,
``lane_permute_16_amd``). A lane beyond the wave may give anything, so it fits every pattern.

Needs: scalar. Guarantees: valid NIR. Mesa does the first four in ``nir_opt_tid_function``.

Source: SPIR-V specification, OpGroupNonUniformShuffle.
"""
from libc.stdint cimport int32_t, uint32_t, uint64_t

from nir_opcodes cimport (
    alu_input_count, index_swizzle_mask, intrinsic_lane_permute_16_amd, intrinsic_load_subgroup_invocation,
    intrinsic_masked_swizzle_amd, intrinsic_mbcnt_amd, intrinsic_quad_swizzle_amd, intrinsic_read_invocation, intrinsic_shuffle,
)
from pyaco._core.common.bits cimport low_mask
from pyaco._core.ir.emitter cimport constant, intrinsic1, intrinsic2, intrinsic3
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport gfx10
from pyaco._core.ir.shader cimport (
    Shader, ShaderData, ValueId, constant_bits, intrinsic_set_index, nir_alu, nir_intrinsic, source_swizzle, source_value, swizzle_component,
    value_is_constant,
)
from pyaco._core.nir.evaluate cimport evaluate_alu, operand_bits
from pyaco._core.nir.lowering cimport Lowering, lower_intrinsics, lower_keep, lowering_run

cdef enum:
    most_lanes = 64
    most_operations = 16           # of an index
    any_lane = 0xffffffff          # what the lane reads is undefined


cdef bint _is_lane_number(const ShaderData *s, ValueId value, uint64_t *added) noexcept nogil:
    """Whether an intrinsic gives the own lane's number, plus a constant."""
    cdef int opcode = s.instructions.opcode[value]
    added[0] = 0
    if opcode == intrinsic_load_subgroup_invocation:
        return True
    if opcode != intrinsic_mbcnt_amd or not value_is_constant(s, source_value(s, value, 0)) or not value_is_constant(s, source_value(s, value, 1)):
        return False
    added[0] = constant_bits(s, source_value(s, value, 1), 0)
    return constant_bits(s, source_value(s, value, 0), 0) == low_mask(s.info.wave_size)


cdef bint _in_each_lane(const ShaderData *s, ValueId value, uint32_t component, uint64_t *lanes, uint32_t *operations) noexcept nogil:
    """What a component of a value is in each lane, if that is a function of the lane's number."""
    cdef uint32_t lane
    cdef uint64_t added
    if value_is_constant(s, value):
        for lane in range(s.info.wave_size):
            lanes[lane] = constant_bits(s, value, component)
        return True
    if s.instructions.kind[value] == nir_intrinsic and _is_lane_number(s, value, &added):
        for lane in range(s.info.wave_size):
            lanes[lane] = lane + added
        return True
    operations[0] += 1
    return s.instructions.kind[value] == nir_alu and operations[0] <= most_operations and _operation_in_each_lane(s, value, lanes, operations)


cdef bint _operation_in_each_lane(const ShaderData *s, ValueId value, uint64_t *lanes, uint32_t *operations) noexcept nogil:
    cdef int opcode = s.instructions.opcode[value]
    cdef int bit_size = operand_bits(s, value)
    cdef uint64_t[3][most_lanes] operands
    cdef (const uint64_t *)[3] places
    cdef int32_t i
    cdef uint32_t lane
    if s.instructions.components[value] != 1 or alu_input_count[opcode] > 3:
        return False
    for i in reversed(range(alu_input_count[opcode])):
        if not _in_each_lane(s, source_value(s, value, i), swizzle_component(source_swizzle(s, value, i), 0), operands[i], operations):
            return False
    for lane in range(s.info.wave_size):
        for i in range(alu_input_count[opcode]):
            places[i] = &operands[i][lane]
        if not evaluate_alu(opcode, bit_size, s.instructions.bit_size[value], 1, places, &lanes[lane]):
            return False
    return True


# --------------------------------------------------------------------------------------------------------------- patterns
cdef bint _repeats(const uint32_t *lanes, uint32_t wave, uint32_t row, uint32_t *permutation) noexcept nogil:
    """Whether lanes read from their row alone, and those of every row the same; from which of the row's."""
    cdef uint32_t lane
    cdef uint32_t i
    for i in range(row):
        permutation[i] = any_lane
    for lane in range(wave):
        i = lane % row
        if lanes[lane] == any_lane:
            continue
        if lanes[lane] // row != lane // row or (permutation[i] != any_lane and permutation[i] != lanes[lane] % row):
            return False
        permutation[i] = lanes[lane] % row
    for i in range(row):
        if permutation[i] == any_lane:
            permutation[i] = i
    return True


cdef bint _is_identity(const uint32_t *permutation, uint32_t count) noexcept nogil:
    cdef uint32_t i
    for i in range(count):
        if permutation[i] != i:
            return False
    return True


cdef bint _is_one_lane(const uint32_t *lanes, uint32_t wave, uint32_t *found) noexcept nogil:
    cdef uint32_t lane
    found[0] = any_lane
    for lane in range(wave):
        if lanes[lane] == any_lane or lanes[lane] == found[0]:
            continue
        if found[0] != any_lane:
            return False
        found[0] = lanes[lane]
    return found[0] != any_lane


cdef bint _is_masked(const uint32_t *permutation, uint32_t *mask) noexcept nogil:
    """Whether a permutation of 32 lanes is and, or and xor by constants: each bit of the lane is kept, inverted, or fixed."""
    cdef uint32_t bit
    cdef uint32_t lane
    cdef uint32_t low
    cdef uint32_t high
    mask[0] = 0
    for bit in range(5):
        low = permutation[0] >> bit & 1
        high = permutation[1 << bit] >> bit & 1
        for lane in range(32):
            if permutation[lane] >> bit & 1 != (high if lane >> bit & 1 else low):
                return False
        mask[0] |= (low ^ high) << bit | low << 10 + bit
    return True


cdef ValueId _swizzled(Lowering *b, ValueId instruction, int opcode, uint32_t mask) except? 0xffffffffU nogil:
    cdef ValueId row = intrinsic1(b, opcode, 1, b.s.instructions.bit_size[instruction], source_value(b.s, instruction, 0))
    intrinsic_set_index(b.s, row, index_swizzle_mask, <int32_t>mask)
    return row


cdef ValueId _permuted_row(Lowering *b, ValueId instruction, const uint32_t *permutation) except? 0xffffffffU nogil:
    """One permutation of the lanes of every row of 16."""
    cdef uint32_t[2] selectors
    cdef uint32_t i
    selectors[0] = selectors[1] = 0
    for i in range(16):
        selectors[i // 8] |= permutation[i] << 4 * (i % 8)
    return intrinsic3(b, intrinsic_lane_permute_16_amd, 1, 32, source_value(b.s, instruction, 0), constant(b, selectors[0], 32),
                      constant(b, selectors[1], 32))


cdef ValueId _by_pattern(Lowering *b, ValueId instruction, const uint32_t *lanes) except? 0xffffffffU nogil:
    """The cheapest move that gives each lane the value of the lane that it names."""
    cdef uint32_t wave = b.s.info.wave_size
    cdef uint32_t[most_lanes] permutation
    cdef uint32_t mask
    cdef uint32_t i
    if _repeats(lanes, wave, wave, permutation) and _is_identity(permutation, wave):
        return source_value(b.s, instruction, 0)
    if _is_one_lane(lanes, wave, &i):
        return intrinsic2(b, intrinsic_read_invocation, 1, b.s.instructions.bit_size[instruction], source_value(b.s, instruction, 0),
                          constant(b, i, 32))
    if _repeats(lanes, wave, 4, permutation):
        mask = 0
        for i in range(4):
            mask |= permutation[i] << 2 * i
        return _swizzled(b, instruction, intrinsic_quad_swizzle_amd, mask)
    if _repeats(lanes, wave, 32, permutation) and _is_masked(permutation, &mask):
        return _swizzled(b, instruction, intrinsic_masked_swizzle_amd, mask)
    if b.s.info.gfx_level >= gfx10 and b.s.instructions.bit_size[instruction] == 32 and _repeats(lanes, wave, 16, permutation):
        return _permuted_row(b, instruction, permutation)
    return lower_keep


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef uint64_t[most_lanes] indices
    cdef uint32_t[most_lanes] lanes
    cdef uint32_t operations = 0
    cdef uint32_t lane
    if s.instructions.opcode[instruction] != intrinsic_shuffle or s.instructions.components[instruction] != 1 or s.info.wave_size > most_lanes:
        return lower_keep
    if not _in_each_lane(s, source_value(s, instruction, 1), 0, indices, &operations):
        return lower_keep
    for lane in range(s.info.wave_size):
        lanes[lane] = any_lane if indices[lane] >= s.info.wave_size else <uint32_t>indices[lane]
    return _by_pattern(b, instruction, lanes)


cdef int _kernel(void *ir, int option) except -1 nogil:
    return lowering_run(<ShaderData *>ir, lower_intrinsics, _lower, NULL)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Replace shuffles by the moves that their lanes come to; True when one was replaced."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
