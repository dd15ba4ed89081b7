"""WMMA and SWMMAC: D = A B + C of 16 x 16 tiles that lie spread over the lanes of a wave.

A lane group is 16 lanes, one for each row of A and column of B. GFX11: every lane holds a whole row or column, all groups the
same. GFX12: each group holds its share of the inner dimension (in wave64, IU4 with 16 elements fills two groups only, and so
does a sparse A of IU4 with 32, whose B has the second eight elements of a group's sixteen two groups on). In which order the
inner dimension runs through groups and the elements of a lane is the same for A and B, and does not matter.

C and D: element e of lane l is in column l % 16 and in row (lanes / 16) e + l / 16 on GFX11, e + 8 (l / 16 % 2) + 4 (l / 32)
on GFX12. 16-bit elements lie in one half of a register each on GFX11 (op_sel says which), two to a register on GFX12.

GFX12.5: as GFX12 in wave32, with an inner dimension of up to 128. Elements of F8F6F4, which may be of different sizes in A and B, and those
of F4 run through lane groups by 16 (8 bits) or 32 (fewer bits); with 32 rows of A, the upper 16 are in its second eight registers, and so are
those of C and D. A scale is for 32 elements of a row, or 16 (scale16); those of a row are bytes of one lane, the row's own or that of the
other group. The index of its own SWMMAC is that of a row in the order of the inner dimension, its first half in the lane of group 0 and its
second in that of group 1, while A's elements change groups twice as often: AMD's TensileLite kernels are right on hardware, and in rocjitsu
with this layout alone (ROCm/rocm-systems #10522; ``mma/layout.h``: AMD's CDNA 5 ISA document, 7.12.3 and 7.12.5, has another). Not known well
enough, and refused: F8F6F4 of two sizes without scales, sets of index bits other than the first, and SWMMAC of bfloats with C in singles.

SWMMAC: A holds two of every four elements; two bits of the index, until GFX12 of the same lane, say which of the four each one is.

Sums are made in double and rounded once, where hardware leaves the order of additions open; those of doubles (gfx1251) by fused operations,
as the MFMA of doubles. Sources: AMD "RDNA3" ISA
document 7.9, "RDNA4" 7.12 "Wave Matrix Multiply Accumulate" and 7.12.3 "Structured Sparse Matrices"; the lane tests of
rocjitsu (ROCm/rocm-systems) for wave64 and GFX12.5.
"""
from libc.math cimport NAN, fabs, fma, ldexp
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from features cimport has_spread_wave_matrices
from isa_opcodes cimport *
from modifiers cimport (modifier_clamp, modifier_matrix_scale_a, modifier_matrix_scale_b, modifier_matrix_scales, modifier_neg, modifier_neg_hi,
                        modifier_opsel, modifier_opsel_hi)
from pyaco._core.common.floats cimport (bits_bfloat, bits_double, bits_float, double_bits, double_to_half, float_bits, half_to_double,
                                        round_saturate, to_bfloat)
from pyaco._core.emu.matrix_blocks cimport constant_sum
from pyaco._core.emu.matrix_shapes cimport *
from pyaco._core.emu.numbers cimport bf8_to_float, fp8_to_float, saturate_i32
from pyaco._core.emu.scaled cimport exponent_value, number_bf6, number_fp4, number_fp6, number_value
from pyaco._core.emu.wave cimport *

cdef MatrixShape shapes[<int>op_count]
cdef uint8_t element_kinds[5]         # of F8F6F4, by op_sel
element_kinds[:] = [kind_fp8, kind_bf8, kind_fp6, kind_bf6, kind_fp4]

cdef enum:
    most_rows = 32
    most_depth = 128

cdef enum:                            # formats of scales
    scale_e8 = 0
    scale_e5m3 = 1                    # without a sign, biased by 15; only 0xff is a NaN (DataTypes_E5M3.hpp of AMD's TensileLite)
    scale_e4m3 = 2


cdef struct Tile:                     # one instruction on one wave
    const Wave *wave
    const Instruction *instruction
    const MatrixShape *shape
    bint spread                       # GFX12's layout
    uint32_t groups                   # lane groups that share the inner dimension
    uint32_t lane_elements            # elements of B in a lane
    uint8_t left                      # kind_* of A and B
    uint8_t right
    bint wide_addend                  # C has singles, where D has 16 bits


# ------------------------------------------------------------------------------------------------------------- elements
cdef inline double _double_at(const Wave *wave, uint32_t row, uint32_t lane) noexcept nogil:
    return bits_double(wave_vgpr(wave, row)[lane] | (<uint64_t>wave_vgpr(wave, row + 1)[lane] << 32))


cdef inline double _changed_double(double value, bint negative, bint absolute) noexcept nogil:
    """With its modifiers, which change a NaN's sign too."""
    value = fabs(value) if absolute else value
    return -value if negative else value


cdef double _element(const Tile *tile, uint32_t slot, uint8_t kind, uint32_t lane, uint32_t position) noexcept nogil:
    """An element of A (slot 0) or B (slot 1)."""
    cdef uint64_t modifiers = tile.instruction.decoded.modifiers
    cdef uint32_t width = kind_width(kind)
    cdef uint32_t bit = position * width
    cdef uint32_t row = tile.instruction.source[slot].index + (bit >> 5)
    cdef uint32_t bits
    if kind == kind_f64:
        return _changed_double(_double_at(tile.wave, row, lane), (modifier_neg(modifiers) >> slot) & 1, False)
    bits = (wave_vgpr(tile.wave, row)[lane] >> (bit & 31)) & <uint32_t>((<uint64_t>1 << width) - 1)
    if kind == kind_f32:
        return bits_float(bits ^ (((modifier_neg(modifiers) >> slot) & 1) << 31))
    if kind == kind_fp6 or kind == kind_bf6 or kind == kind_fp4:
        if (bit & 31) + width > 32:
            bits = (bits | (wave_vgpr(tile.wave, row + 1)[lane] << (32 - (bit & 31)))) & 63
        return number_value(number_fp6 if kind == kind_fp6 else (number_bf6 if kind == kind_bf6 else number_fp4), bits)
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
    row[0] = 2 * number if tile.shape.sum == kind_f64 else number
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
    cdef uint8_t kind = kind_f32 if tile.wide_addend else tile.shape.sum
    cdef uint32_t row, shift, bits
    cdef double value
    _locate_sum(tile, number, &row, &shift)
    if tile.wide_addend:
        row = number
        shift = 0
    if kind == kind_f64:
        value = _double_at(tile.wave, source.index + row, lane) if source.kind == operand_vgpr else constant_sum(source, kind)
        return _changed_double(value, (modifier_neg(modifiers) >> 2) & 1, (modifier_neg_hi(modifiers) >> 2) & 1)
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
    if tile.shape.sum == kind_f64:
        target[0] = <uint32_t>double_bits(value)
        target[max_lanes] = <uint32_t>(double_bits(value) >> 32)
    elif tile.shape.sum == kind_i32:
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
    """The index bits of a lane until GFX12: two for each of its elements of A; op_sel chooses one of the sets that a register holds."""
    cdef uint32_t width = tile.lane_elements                       # two bits for each element of A, half as many as of B
    cdef uint32_t word = wave_vgpr(tile.wave, tile.instruction.source[2].index)[lane]
    cdef uint32_t key = modifier_opsel(tile.instruction.decoded.modifiers) & 3
    if width == 32:
        return word
    return (word >> (width * (key & (32 // width - 1)))) & ((<uint32_t>1 << width) - 1)


cdef inline uint32_t _depth_of(const Tile *tile, uint8_t kind, uint32_t group, uint32_t position) noexcept nogil:
    """Where in the inner dimension an element is."""
    cdef uint32_t block
    if tile.shape.left != kind_f8f6f4 and tile.shape.left != kind_fp4:
        return group * tile.lane_elements + position
    block = 16 if kind_width(kind) == 8 else 32
    return position // block * 2 * block + group * block + position % block


cdef double _scale_of(const Tile *tile, uint32_t slot, uint32_t lane, uint32_t number) noexcept nogil:
    """Scale `number` of a lane's row of A (slot 0) or column of B (slot 1)."""
    cdef uint64_t modifiers = tile.instruction.decoded.modifiers
    cdef const Source *source = &tile.instruction.source[3 + slot]
    cdef uint32_t bits = (wave_vgpr(tile.wave, source.index + (number >> 2))[lane] >> (8 * (number & 3))) & 0xff
    cdef uint32_t format_ = modifier_matrix_scale_b(modifiers) if slot else modifier_matrix_scale_a(modifiers)
    if format_ == scale_e5m3:
        return NAN if bits == 0xff else ldexp((bits & 7) | (8 if bits >> 3 else 0), <int>max(bits >> 3, <uint32_t>1) - 18)
    return fp8_to_float(bits, 0) if format_ == scale_e4m3 else exponent_value(bits)


cdef void _scale(const Tile *tile, uint32_t slot, uint32_t rows, double numbers[32][128]) noexcept nogil:
    """Apply the scales of a scaled operation."""
    cdef uint32_t block = 16 if tile.instruction.decoded.source_bytes[3 + slot] == 8 else 32
    cdef uint32_t half = 16 if (modifier_matrix_scales(tile.instruction.decoded.modifiers) >> slot) & 1 else 0
    cdef uint32_t row, k
    cdef double scale = 1
    for row in range(rows):
        for k in range(tile.shape.depth):
            if k % block == 0:
                scale = _scale_of(tile, slot, row if rows == 32 else row + half, k // block)
            numbers[row][k] *= scale


cdef bint _opens_scales(const Tile *tile) noexcept nogil:
    """Whether the scales are such as are known."""
    cdef uint64_t modifiers = tile.instruction.decoded.modifiers
    return (tile.instruction.source[3].kind == operand_vgpr and tile.instruction.source[4].kind == operand_vgpr
            and modifier_matrix_scale_a(modifiers) <= scale_e4m3 and modifier_matrix_scale_b(modifiers) <= scale_e4m3)


cdef void _load_left(const Tile *tile, double left[32][128]) noexcept nogil:
    """Rows of A by group and position in the lane, a sparse row with its zeros."""
    cdef uint32_t row, group, position, lane, kept
    cdef uint32_t lane_elements = tile.lane_elements
    for row in range(tile.shape.size):
        for group in range(tile.groups):
            lane = row % 16 + 16 * group
            if not tile.shape.sparse:
                for position in range(lane_elements):
                    # the second eight registers hold the upper rows
                    left[row][_depth_of(tile, tile.left, group, position)] = _element(tile, 0, tile.left, lane,
                                                                                      position + lane_elements * (row // 16))
                continue
            for position in range(lane_elements):
                left[row][group * lane_elements + position] = 0
            for position in range(lane_elements // 2):
                if has_crossed_index(tile.shape):
                    kept = crossed_index(wave_vgpr(tile.wave, tile.instruction.source[2].index), lane, position, lane_elements // 2)
                else:
                    kept = (_sparse_index(tile, lane) >> (2 * position)) & 3
                left[row][group * lane_elements + 4 * (position // 2) + kept] += _element(tile, 0, tile.shape.left, lane, position)


cdef void _load_right(const Tile *tile, double right[32][128]) noexcept nogil:
    """Columns of B by group and position in the lane."""
    cdef uint32_t column, group, position, lane
    cdef bint split = (tile.shape.sparse and tile.shape.left == kind_iu4 and tile.shape.depth == 32
                       and tile.wave.lanes == 64)
    for column in range(16):
        for group in range(tile.groups):
            for position in range(tile.lane_elements):
                lane = column + 16 * group
                right[column][_depth_of(tile, tile.right, group, position)] = (
                    _element(tile, 1, tile.right, lane + (32 if position >= 8 else 0), position & 7) if split
                    else _element(tile, 1, tile.right, lane, position))


cdef bint _choose_kinds(Tile *tile) noexcept nogil:
    """What elements A and B have; False: what is not known."""
    cdef uint64_t modifiers = tile.instruction.decoded.modifiers
    cdef bint scaled = tile.instruction.decoded.source_count == 5
    tile.left = tile.shape.left
    tile.right = tile.shape.right
    tile.wide_addend = has_wide_addend(tile.instruction.decoded.opcode)
    if scaled and not _opens_scales(tile):
        return False
    if tile.shape.left != kind_f8f6f4:
        return True
    if modifier_opsel(modifiers) & 7 > 4 or modifier_opsel_hi(modifiers) & 7 > 4:
        return False
    tile.left = element_kinds[modifier_opsel(modifiers) & 7]
    tile.right = element_kinds[modifier_opsel_hi(modifiers) & 7]
    return scaled or kind_width(tile.left) == kind_width(tile.right)


cdef bint has_wide_addend(uint32_t opcode) noexcept nogil:
    return opcode == <uint32_t>op_v_wmma_bf16f32_16x16x32_bf16


cdef int _multiply_tiles(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef Tile tile
    cdef double result[16][max_lanes]
    cdef double left[most_rows][most_depth]
    cdef double right[most_rows][most_depth]
    cdef uint32_t count
    cdef uint32_t number, lane, row, k
    tile.wave = wave
    tile.instruction = instruction
    tile.shape = &shapes[instruction.decoded.opcode]
    count = 16 * <uint32_t>tile.shape.size // wave.lanes
    tile.spread = has_spread_wave_matrices(machine.gfx_level)
    if instruction.source[0].kind != operand_vgpr or instruction.source[1].kind != operand_vgpr:
        return stop_unsupported
    if tile.shape.sparse and instruction.source[2].kind != operand_vgpr:
        return stop_unsupported
    if has_crossed_index(tile.shape) and modifier_opsel(instruction.decoded.modifiers) & 3:
        return stop_unsupported
    if not _choose_kinds(&tile):
        return stop_unsupported
    tile.groups = wave.lanes // 16 if tile.spread else 1
    if tile.shape.left == kind_iu4 and tile.shape.depth == (32 if tile.shape.sparse else 16):
        tile.groups = min(tile.groups, <uint32_t>2)
    tile.lane_elements = tile.shape.depth // tile.groups
    _load_left(&tile, left)
    _load_right(&tile, right)
    if instruction.decoded.source_count == 5:
        _scale(&tile, 0, tile.shape.size, left)
        _scale(&tile, 1, 16, right)
    for number in range(count):
        for lane in range(wave.lanes):
            if tile.spread:
                row = (number & 7) + 8 * ((lane >> 4) & 1) + 4 * (lane >> 5) + 16 * (number >> 3)
            else:
                row = (wave.lanes // 16) * number + (lane >> 4)
            result[number][lane] = _accumulator(&tile, number, lane)
            for k in range(tile.shape.depth):
                if tile.shape.sum == kind_f64:
                    result[number][lane] = fma(left[row][k], right[lane & 15][k], result[number][lane])
                else:
                    result[number][lane] += left[row][k] * right[lane & 15][k]
    for number in range(count):
        for lane in range(wave.lanes):
            _put_sum(&tile, number, lane, result[number][lane])
    return stop_running


# --------------------------------------------------------------------------------------------------------------- opcodes
cdef void _enter(Handler *table, uint32_t opcode, uint8_t sum_, uint8_t left, uint8_t right, uint8_t depth,
                 bint sparse) noexcept nogil:
    shapes[opcode] = MatrixShape(32 if left == kind_fp4 else 16, depth, 1, left, right, sum_, sparse)
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
    # GFX12.5
    _enter(table, op_v_wmma_f32_16x16x4_f32, kind_f32, kind_f32, kind_f32, 4, False)
    _enter(table, op_v_wmma_f32_16x16x32_f16, kind_f32, kind_f16, kind_f16, 32, False)
    _enter(table, op_v_wmma_f16_16x16x32_f16, kind_f16, kind_f16, kind_f16, 32, False)
    _enter(table, op_v_wmma_f32_16x16x32_bf16, kind_f32, kind_bf16, kind_bf16, 32, False)
    _enter(table, op_v_wmma_bf16_16x16x32_bf16, kind_bf16, kind_bf16, kind_bf16, 32, False)
    _enter(table, op_v_wmma_bf16f32_16x16x32_bf16, kind_bf16, kind_bf16, kind_bf16, 32, False)
    _enter(table, op_v_wmma_i32_16x16x64_iu8, kind_i32, kind_iu8, kind_iu8, 64, False)
    _enter(table, op_v_wmma_f32_16x16x64_fp8_fp8, kind_f32, kind_fp8, kind_fp8, 64, False)
    _enter(table, op_v_wmma_f32_16x16x64_fp8_bf8, kind_f32, kind_fp8, kind_bf8, 64, False)
    _enter(table, op_v_wmma_f32_16x16x64_bf8_fp8, kind_f32, kind_bf8, kind_fp8, 64, False)
    _enter(table, op_v_wmma_f32_16x16x64_bf8_bf8, kind_f32, kind_bf8, kind_bf8, 64, False)
    _enter(table, op_v_wmma_f16_16x16x64_fp8_fp8, kind_f16, kind_fp8, kind_fp8, 64, False)
    _enter(table, op_v_wmma_f16_16x16x64_fp8_bf8, kind_f16, kind_fp8, kind_bf8, 64, False)
    _enter(table, op_v_wmma_f16_16x16x64_bf8_fp8, kind_f16, kind_bf8, kind_fp8, 64, False)
    _enter(table, op_v_wmma_f16_16x16x64_bf8_bf8, kind_f16, kind_bf8, kind_bf8, 64, False)
    _enter(table, op_v_wmma_f32_16x16x128_fp8_fp8, kind_f32, kind_fp8, kind_fp8, 128, False)
    _enter(table, op_v_wmma_f32_16x16x128_fp8_bf8, kind_f32, kind_fp8, kind_bf8, 128, False)
    _enter(table, op_v_wmma_f32_16x16x128_bf8_fp8, kind_f32, kind_bf8, kind_fp8, 128, False)
    _enter(table, op_v_wmma_f32_16x16x128_bf8_bf8, kind_f32, kind_bf8, kind_bf8, 128, False)
    _enter(table, op_v_wmma_f16_16x16x128_fp8_fp8, kind_f16, kind_fp8, kind_fp8, 128, False)
    _enter(table, op_v_wmma_f16_16x16x128_fp8_bf8, kind_f16, kind_fp8, kind_bf8, 128, False)
    _enter(table, op_v_wmma_f16_16x16x128_bf8_fp8, kind_f16, kind_bf8, kind_fp8, 128, False)
    _enter(table, op_v_wmma_f16_16x16x128_bf8_bf8, kind_f16, kind_bf8, kind_bf8, 128, False)
    _enter(table, op_v_wmma_f32_16x16x128_f8f6f4, kind_f32, kind_f8f6f4, kind_f8f6f4, 128, False)
    _enter(table, op_v_wmma_f32_32x16x128_f4, kind_f32, kind_fp4, kind_fp4, 128, False)
    _enter(table, op_v_wmma_scale_f32_16x16x128_f8f6f4, kind_f32, kind_f8f6f4, kind_f8f6f4, 128, False)
    _enter(table, op_v_wmma_scale_f32_32x16x128_f4, kind_f32, kind_fp4, kind_fp4, 128, False)
    _enter(table, op_v_wmma_scale16_f32_16x16x128_f8f6f4, kind_f32, kind_f8f6f4, kind_f8f6f4, 128, False)
    _enter(table, op_v_wmma_scale16_f32_32x16x128_f4, kind_f32, kind_fp4, kind_fp4, 128, False)
    _enter(table, op_v_swmmac_f32_16x16x64_f16, kind_f32, kind_f16, kind_f16, 64, True)
    _enter(table, op_v_swmmac_f32_16x16x64_bf16, kind_f32, kind_bf16, kind_bf16, 64, True)
    _enter(table, op_v_swmmac_f16_16x16x64_f16, kind_f16, kind_f16, kind_f16, 64, True)
    _enter(table, op_v_swmmac_bf16_16x16x64_bf16, kind_bf16, kind_bf16, kind_bf16, 64, True)
    _enter(table, op_v_swmmac_f32_16x16x128_fp8_fp8, kind_f32, kind_fp8, kind_fp8, 128, True)
    _enter(table, op_v_swmmac_f32_16x16x128_fp8_bf8, kind_f32, kind_fp8, kind_bf8, 128, True)
    _enter(table, op_v_swmmac_f32_16x16x128_bf8_fp8, kind_f32, kind_bf8, kind_fp8, 128, True)
    _enter(table, op_v_swmmac_f32_16x16x128_bf8_bf8, kind_f32, kind_bf8, kind_bf8, 128, True)
    _enter(table, op_v_swmmac_f16_16x16x128_fp8_fp8, kind_f16, kind_fp8, kind_fp8, 128, True)
    _enter(table, op_v_swmmac_f16_16x16x128_fp8_bf8, kind_f16, kind_fp8, kind_bf8, 128, True)
    _enter(table, op_v_swmmac_f16_16x16x128_bf8_fp8, kind_f16, kind_bf8, kind_fp8, 128, True)
    _enter(table, op_v_swmmac_f16_16x16x128_bf8_bf8, kind_f16, kind_bf8, kind_bf8, 128, True)
    _enter(table, op_v_swmmac_i32_16x16x128_iu8, kind_i32, kind_iu8, kind_iu8, 128, True)
    # gfx1251
    _enter(table, op_v_wmma_f64_16x16x4_f64, kind_f64, kind_f64, kind_f64, 4, False)
