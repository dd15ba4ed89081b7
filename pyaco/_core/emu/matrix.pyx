"""WMMA and SWMMAC: D = A B + C of 16 x 16 tiles that lie spread over the lanes of a wave.

A lane group is 16 lanes, one for each row of A and column of B. GFX11: every lane holds a whole row or column, all groups the
same. GFX12: each group holds its share of the inner dimension (in wave64, IU4 with 16 elements fills two groups only, and so
does a sparse A of IU4 with 32, whose B has the second eight elements of a group's sixteen two groups on). In which order the
inner dimension runs through groups and the elements of a lane is the same for A and B, and does not matter.

C and D: element e of lane l is in column l % 16 and in row (lanes / 16) e + l / 16 on GFX11, e + 8 (l / 16 % 2) + 4 (l / 32)
on GFX12. 16-bit elements lie in one half of a register each on GFX11 (op_sel says which), two to a register on GFX12.

SWMMAC: A holds two of every four elements; two bits of the index, of the same lane, say which of the four each one is.

Sums are made in double and rounded once, where hardware leaves the order of additions open. Sources: AMD "RDNA3" ISA
document 7.9, "RDNA4" 7.12 "Wave Matrix Multiply Accumulate" and 7.12.3 "Structured Sparse Matrices"; the lane tests of
rocjitsu (ROCm/rocm-systems) for wave64.
"""
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from features cimport has_spread_wave_matrices
from isa_opcodes cimport *
from modifiers cimport (modifier_clamp, modifier_neg, modifier_neg_hi, modifier_opsel)
from pyaco._core.common.floats cimport (bits_bfloat, bits_float, double_to_half, float_bits, half_to_double, round_saturate,
                                        to_bfloat)
from pyaco._core.emu.matrix_shapes cimport *
from pyaco._core.emu.numbers cimport bf8_to_float, fp8_to_float, saturate_i32
from pyaco._core.emu.wave cimport *

cdef MatrixShape shapes[<int>op_count]


cdef struct Tile:                     # one instruction on one wave
    const Wave *wave
    const Instruction *instruction
    const MatrixShape *shape
    bint spread                       # GFX12's layout
    uint32_t groups                   # lane groups that share the inner dimension
    uint32_t lane_elements            # elements of B in a lane


# ------------------------------------------------------------------------------------------------------------- elements
cdef double _element(const Tile *tile, uint32_t slot, uint8_t kind, uint32_t lane, uint32_t position) noexcept nogil:
    """An element of A (slot 0) or B (slot 1)."""
    cdef uint64_t modifiers = tile.instruction.decoded.modifiers
    cdef uint32_t width = kind_width(kind)
    cdef uint32_t bit = position * width
    cdef uint32_t word = wave_vgpr(tile.wave, tile.instruction.source[slot].index + (bit >> 5))[lane]
    cdef uint32_t bits = (word >> (bit & 31)) & ((<uint32_t>1 << width) - 1)
    if kind == kind_iu8 or kind == kind_iu4:                # neg says that the operand is signed
        if (modifier_neg(modifiers) >> slot) & 1 and bits >> (width - 1):
            return <double><int32_t>(bits - (<uint32_t>1 << width))
        return bits
    if kind == kind_fp8:
        return fp8_to_float(bits, 0)
    if kind == kind_bf8:
        return bf8_to_float(bits, 0)
    bits ^= (((modifier_neg_hi(modifiers) if position & 1 else modifier_neg(modifiers)) >> slot) & 1) << 15
    return half_to_double(bits) if kind == kind_f16 else <double>bits_bfloat(bits)


cdef inline void _locate_sum(const Tile *tile, uint32_t number, uint32_t *row, uint32_t *shift) noexcept nogil:
    """The register and the half of element `number` of a lane's C or D."""
    row[0] = number
    shift[0] = 0
    if kind_width(tile.shape.sum) == 16:
        if tile.spread:
            row[0] = number >> 1
            shift[0] = 16 * (number & 1)
        else:
            shift[0] = 16 * ((modifier_opsel(tile.instruction.decoded.modifiers) >> 2) & 1)


cdef double _accumulator(const Tile *tile, uint32_t number, uint32_t lane) noexcept nogil:
    """An element of C; of D's old value where C is the index of a sparse A."""
    cdef uint64_t modifiers = tile.instruction.decoded.modifiers
    cdef const Source *source = &tile.instruction.source[2]
    cdef uint8_t kind = tile.shape.sum
    cdef uint32_t row, shift, bits
    cdef double value
    _locate_sum(tile, number, &row, &shift)
    if tile.shape.sparse:
        bits = wave_vgpr(tile.wave, (tile.instruction.decoded.destination[0] >> 2) - 256 + row)[lane] >> shift
    elif source.kind == operand_vgpr:
        bits = wave_vgpr(tile.wave, source.index + row)[lane] >> shift
    else:
        bits = <uint32_t>source.value
    if kind == kind_i32:
        return <int32_t>bits
    if kind == kind_f32:
        value = bits_float(bits)
    else:
        value = half_to_double(bits & 0xffff) if kind == kind_f16 else <double>bits_bfloat(bits & 0xffff)
    if tile.shape.sparse:
        return value
    if (modifier_neg_hi(modifiers) >> 2) & 1:               # abs of C
        value = fabs(value)
    return -value if (modifier_neg(modifiers) >> 2) & 1 else value


cdef void _put_sum(const Tile *tile, uint32_t number, uint32_t lane, double value) noexcept nogil:
    cdef uint32_t row, shift, bits
    cdef uint32_t *target
    _locate_sum(tile, number, &row, &shift)
    target = &wave_vgpr(tile.wave, (tile.instruction.decoded.destination[0] >> 2) - 256 + row)[lane]
    if tile.shape.sum == kind_i32:
        target[0] = <uint32_t><int64_t>value
        if modifier_clamp(tile.instruction.decoded.modifiers):
            target[0] = <uint32_t>saturate_i32(<int64_t>value)
    elif tile.shape.sum == kind_f32:
        target[0] = float_bits(<float>value)
    else:
        bits = double_to_half(value, round_saturate if tile.wave.mode & 0x800000 else 0) if tile.shape.sum == kind_f16 else to_bfloat(<float>value)
        target[0] = (target[0] & ~(<uint32_t>0xffff << shift)) | (bits << shift)


# ------------------------------------------------------------------------------------------------------------- products
cdef uint32_t _sparse_index(const Tile *tile, uint32_t lane) noexcept nogil:
    """The index bits of a lane: two for each of its elements of A; op_sel chooses one of the sets that a register holds."""
    cdef uint32_t width = tile.lane_elements                       # two bits for each element of A, half as many as of B
    cdef uint32_t word = wave_vgpr(tile.wave, tile.instruction.source[2].index)[lane]
    cdef uint32_t key = modifier_opsel(tile.instruction.decoded.modifiers) & 3
    if width == 32:
        return word
    return (word >> (width * (key & (32 // width - 1)))) & ((<uint32_t>1 << width) - 1)


cdef void _load_left(const Tile *tile, double left[16][64]) noexcept nogil:
    """Rows of A by group and position in the lane, a sparse row with its zeros."""
    cdef uint32_t row, group, position, lane, index
    cdef uint32_t lane_elements = tile.lane_elements
    for row in range(16):
        for group in range(tile.groups):
            lane = row + 16 * group
            if not tile.shape.sparse:
                for position in range(lane_elements):
                    left[row][group * lane_elements + position] = _element(tile, 0, tile.shape.left, lane, position)
                continue
            index = _sparse_index(tile, lane)
            for position in range(lane_elements):
                left[row][group * lane_elements + position] = 0
            for position in range(lane_elements // 2):
                left[row][group * lane_elements + 4 * (position // 2) + ((index >> (2 * position)) & 3)] += _element(
                    tile, 0, tile.shape.left, lane, position)


cdef void _load_right(const Tile *tile, double right[16][64]) noexcept nogil:
    """Columns of B by group and position in the lane."""
    cdef uint32_t column, group, position, lane
    cdef bint split = (tile.shape.sparse and tile.shape.left == kind_iu4 and tile.shape.depth == 32
                       and tile.wave.lanes == 64)
    for column in range(16):
        for group in range(tile.groups):
            for position in range(tile.lane_elements):
                lane = column + 16 * group
                right[column][group * tile.lane_elements + position] = (
                    _element(tile, 1, tile.shape.right, lane + (32 if position >= 8 else 0), position & 7) if split
                    else _element(tile, 1, tile.shape.right, lane, position))


cdef int _multiply_tiles(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef Tile tile
    cdef double result[8][max_lanes]
    cdef double left[16][64]
    cdef double right[16][64]
    cdef uint32_t count = 256 // wave.lanes
    cdef uint32_t number, lane, row, k
    tile.wave = wave
    tile.instruction = instruction
    tile.shape = &shapes[instruction.decoded.opcode]
    tile.spread = has_spread_wave_matrices(machine.gfx_level)
    if instruction.source[0].kind != operand_vgpr or instruction.source[1].kind != operand_vgpr:
        return stop_unsupported
    if tile.shape.sparse and instruction.source[2].kind != operand_vgpr:
        return stop_unsupported
    tile.groups = wave.lanes // 16 if tile.spread else 1
    if tile.shape.left == kind_iu4 and tile.shape.depth == (32 if tile.shape.sparse else 16):
        tile.groups = min(tile.groups, <uint32_t>2)
    tile.lane_elements = tile.shape.depth // tile.groups
    _load_left(&tile, left)
    _load_right(&tile, right)
    for number in range(count):
        for lane in range(wave.lanes):
            if tile.spread:
                row = number + 8 * ((lane >> 4) & 1) + 4 * (lane >> 5)
            else:
                row = (wave.lanes // 16) * number + (lane >> 4)
            result[number][lane] = _accumulator(&tile, number, lane)
            for k in range(tile.shape.depth):
                result[number][lane] += left[row][k] * right[lane & 15][k]
    for number in range(count):
        for lane in range(wave.lanes):
            _put_sum(&tile, number, lane, result[number][lane])
    return stop_running


# --------------------------------------------------------------------------------------------------------------- opcodes
cdef void _enter(Handler *table, uint32_t opcode, uint8_t sum_, uint8_t left, uint8_t right, uint8_t depth,
                 bint sparse) noexcept nogil:
    shapes[opcode] = MatrixShape(16, depth, 1, left, right, sum_, sparse)
    table[opcode] = _multiply_tiles


cdef const MatrixShape *wave_matrix_shape(uint32_t opcode) noexcept nogil:
    return &shapes[opcode] if shapes[opcode].size else NULL


cdef void fill_matrix(Handler *table) noexcept nogil:
    _enter(table, op_v_wmma_f32_16x16x16_f16, kind_f32, kind_f16, kind_f16, 16, False)
    _enter(table, op_v_wmma_f32_16x16x16_f16_gfx12, kind_f32, kind_f16, kind_f16, 16, False)
    _enter(table, op_v_wmma_f32_16x16x16_bf16, kind_f32, kind_bf16, kind_bf16, 16, False)
    _enter(table, op_v_wmma_f32_16x16x16_bf16_gfx12, kind_f32, kind_bf16, kind_bf16, 16, False)
    _enter(table, op_v_wmma_f16_16x16x16_f16, kind_f16, kind_f16, kind_f16, 16, False)
    _enter(table, op_v_wmma_f16_16x16x16_f16_gfx12, kind_f16, kind_f16, kind_f16, 16, False)
    _enter(table, op_v_wmma_bf16_16x16x16_bf16, kind_bf16, kind_bf16, kind_bf16, 16, False)
    _enter(table, op_v_wmma_bf16_16x16x16_bf16_gfx12, kind_bf16, kind_bf16, kind_bf16, 16, False)
    _enter(table, op_v_wmma_i32_16x16x16_iu8, kind_i32, kind_iu8, kind_iu8, 16, False)
    _enter(table, op_v_wmma_i32_16x16x16_iu8_gfx12, kind_i32, kind_iu8, kind_iu8, 16, False)
    _enter(table, op_v_wmma_i32_16x16x16_iu4, kind_i32, kind_iu4, kind_iu4, 16, False)
    _enter(table, op_v_wmma_i32_16x16x16_iu4_gfx12, kind_i32, kind_iu4, kind_iu4, 16, False)
    _enter(table, op_v_wmma_i32_16x16x32_iu4, kind_i32, kind_iu4, kind_iu4, 32, False)
    _enter(table, op_v_wmma_f32_16x16x16_fp8_fp8, kind_f32, kind_fp8, kind_fp8, 16, False)
    _enter(table, op_v_wmma_f32_16x16x16_fp8_bf8, kind_f32, kind_fp8, kind_bf8, 16, False)
    _enter(table, op_v_wmma_f32_16x16x16_bf8_fp8, kind_f32, kind_bf8, kind_fp8, 16, False)
    _enter(table, op_v_wmma_f32_16x16x16_bf8_bf8, kind_f32, kind_bf8, kind_bf8, 16, False)
    _enter(table, op_v_swmmac_f32_16x16x32_f16, kind_f32, kind_f16, kind_f16, 32, True)
    _enter(table, op_v_swmmac_f32_16x16x32_bf16, kind_f32, kind_bf16, kind_bf16, 32, True)
    _enter(table, op_v_swmmac_f16_16x16x32_f16, kind_f16, kind_f16, kind_f16, 32, True)
    _enter(table, op_v_swmmac_bf16_16x16x32_bf16, kind_bf16, kind_bf16, kind_bf16, 32, True)
    _enter(table, op_v_swmmac_i32_16x16x32_iu8, kind_i32, kind_iu8, kind_iu8, 32, True)
    _enter(table, op_v_swmmac_i32_16x16x32_iu4, kind_i32, kind_iu4, kind_iu4, 32, True)
    _enter(table, op_v_swmmac_i32_16x16x64_iu4, kind_i32, kind_iu4, kind_iu4, 64, True)
    _enter(table, op_v_swmmac_f32_16x16x32_fp8_fp8, kind_f32, kind_fp8, kind_fp8, 32, True)
    _enter(table, op_v_swmmac_f32_16x16x32_fp8_bf8, kind_f32, kind_fp8, kind_bf8, 32, True)
    _enter(table, op_v_swmmac_f32_16x16x32_bf8_fp8, kind_f32, kind_bf8, kind_fp8, 32, True)
    _enter(table, op_v_swmmac_f32_16x16x32_bf8_bf8, kind_f32, kind_bf8, kind_bf8, 32, True)
