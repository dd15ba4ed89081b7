"""MFMA and SMFMAC of CDNA: D = A B + C of one to sixteen square blocks that lie spread over the 64 lanes; EXEC does not matter.

With S rows and columns, B blocks, and P consecutive elements along the inner dimension in a lane: element (i, k) of block b of A, and
(k, i) of B, is number k % P of lane i + S (b + B (k / P)). An element (i, j) of a result of 32 bits is in lane j + S (i / 4 % G)
of the G = 64 / S lane groups and register 4 (i / 4 / G) + i % 4, a block after the other; blocks of four rows have a lane group each. Doubles
of 16 rows are in lane j + 16 (i % 4), register pair i / 4; those of four rows in lane j + 4 (b + 4 i).

CBSZ and ABID give block ABID of A to all blocks of its group of 2 ** CBSZ; BLGP rearranges B's lanes, and negates doubles from CDNA 3
on. SMFMAC: A holds two of every four elements; two bits of the index, of the same lane, say which of the four each one is. ABID chooses one of the
sets of bits that a register holds, unless CBSZ is set.

F8F6F4: CBSZ and BLGP are the formats of A and B (0 to 4: FP8, BF8, FP6, BF6, FP4), of which a lane holds 32 elements. They are 32 in sequence of
FP6, BF6 and FP4; of eight bits they are 16 and then 16 more, after those of all lane groups. The scaled form multiplies 32 in sequence of
the inner dimension by a power of two: those of block b by the scale of lane i + S b, in one byte of a register that op_sel and op_sel_hi
choose for A (their bit 0) and B (bit 1).

Sums are made in double and rounded once, where hardware leaves the order of additions open; of doubles they are fused in order.
XF32 is rounded to 10 bits of mantissa, ties to even. Sources: AMD "CDNA 3" ISA document, chapter 7 "Matrix Arithmetic
Instructions"; AMD Matrix Instruction Calculator, whose layouts of every instruction of CDNA 1 to 3 these are; AMD's "Matrix Core Programming
on AMD CDNA 3 and CDNA 4 Architecture" (ROCm blogs) for F8F6F4; LLVM, VOP3PInstructions.td, for the choice of scales.
"""
from libc.math cimport fma
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from features cimport has_fnuz_floats, has_negated_double_matrices
from isa_opcodes cimport op_count
from modifiers cimport modifier_abid, modifier_blgp, modifier_cbsz, modifier_opsel, modifier_opsel_hi
from pyaco._core.common.floats cimport bits_bfloat, bits_double, bits_float, double_bits, float_bits, half_to_double
from pyaco._core.emu.matrix_shapes cimport *
from pyaco._core.emu.numbers cimport bf8_to_float, fp8_to_float, small_fnuz
from pyaco._core.emu.scaled cimport exponent_value, number_bf6, number_bf8, number_fp4, number_fp6, number_fp8, number_value, number_width
from pyaco._core.emu.vector cimport read_scalar
from pyaco._core.emu.wave cimport *

cdef uint32_t f8f6f4_numbers[5]             # by CBSZ or BLGP
f8f6f4_numbers[:] = [number_fp8, number_bf8, number_fp6, number_bf6, number_fp4]

cdef enum:
    most_elements = 2048              # of A, B or D in all blocks

cdef MatrixShape shapes[<int>op_count]


# ------------------------------------------------------------------------------------------------------------- elements
cdef double element(const Wave *wave, uint32_t first, uint8_t kind, uint32_t lane, uint32_t position, uint32_t small) noexcept nogil:
    """Element number `position` of a lane, whose registers begin at `first`."""
    cdef uint32_t width = kind_width(kind)
    cdef uint32_t bit = position * width
    cdef const uint32_t *row = wave_vgpr(wave, first + (bit >> 5))
    cdef uint32_t bits = row[lane] >> (bit & 31)
    if kind == kind_f64:
        return bits_double(bits | (<uint64_t>row[max_lanes + lane] << 32))
    if kind == kind_f32:
        return bits_float(bits)
    if kind == kind_xf32:
        if (bits & 0x7f800000) != 0x7f800000:
            bits += 0xfff + ((bits >> 13) & 1)
        return bits_float(bits & 0xffffe000U)
    if kind == kind_i8:
        return <signed char>bits
    if kind == kind_fp8:
        return fp8_to_float(bits, small)
    if kind == kind_bf8:
        return bf8_to_float(bits, small)
    return half_to_double(bits & 0xffff) if kind == kind_f16 else <double>bits_bfloat(bits & 0xffff)


cdef uint32_t _rearranged(uint32_t lane, uint32_t pattern) noexcept nogil:
    """The lane of B that BLGP reads for `lane`."""
    if pattern == 1:
        return lane & 31
    if pattern == 2:
        return 32 | (lane & 31)
    if pattern == 3:
        return (lane + 16) & 63
    return 16 * (pattern - 4) + (lane & 15) if pattern else lane


cdef inline void _locate_sum(const MatrixShape *shape, uint32_t block, uint32_t i, uint32_t j, uint32_t *row, uint32_t *lane) noexcept nogil:
    cdef uint32_t groups = 64 // shape.size
    if shape.sum == kind_f64:
        row[0] = 2 * (i >> 2) if shape.size == 16 else 0
        lane[0] = j + 16 * (i & 3) if shape.size == 16 else j + 4 * (block + 4 * i)
    elif shape.size == 4:
        row[0] = i
        lane[0] = j + 4 * block
    else:
        row[0] = block * (shape.size // groups) + 4 * (i // 4 // groups) + (i & 3)
        lane[0] = j + shape.size * (i // 4 % groups)


cdef double constant_sum(const Source *source, uint8_t kind) noexcept nogil:
    """An inline constant as C."""
    cdef int64_t integer
    if kind == kind_i32:
        return <int32_t>source.value
    if kind == kind_f32:
        return bits_float(<uint32_t>source.value)
    if source.index == 248:
        return bits_double(0x3fc45f306dc9c882ULL)
    if source.index >= 240:
        return bits_float(<uint32_t>source.value)
    integer = <int32_t>source.value
    return bits_double(<uint64_t>integer)


cdef double _addend(const Wave *wave, const Instruction *instruction, const MatrixShape *shape, uint32_t row, uint32_t lane) noexcept nogil:
    """An element of C; of D's old value where C is the index of a sparse A."""
    cdef const Source *source = &instruction.source[2]
    cdef uint32_t first = (instruction.decoded.destination[0] >> 2) - 256 if shape.sparse else source.index
    cdef uint32_t bits
    if not shape.sparse and source.kind != operand_vgpr:
        return constant_sum(source, shape.sum)
    if shape.sum == kind_f64:
        return element(wave, first + row, kind_f64, lane, 0, 0)
    bits = wave_vgpr(wave, first + row)[lane]
    return <double><int32_t>bits if shape.sum == kind_i32 else <double>bits_float(bits)


# ------------------------------------------------------------------------------------------------------------- products
cdef void _load_left(const Wave *wave, const Instruction *instruction, const MatrixShape *shape, uint32_t small, double *left) noexcept nogil:
    """A by block, row and k, a sparse row with its zeros."""
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint32_t cbsz = modifier_cbsz(modifiers)
    cdef uint32_t abid = modifier_abid(modifiers)
    cdef uint32_t lane_elements = shape.size * shape.depth * shape.blocks // 64
    cdef uint32_t first = instruction.source[0].index
    # two bits for each element of A, of which there are half as many as of B
    cdef uint32_t shift = 0 if cbsz & 3 else lane_elements * (abid & (32 // lane_elements - 1))
    cdef uint32_t block, i, k, lane, from_block, index
    cdef double *row
    for block in range(shape.blocks):
        from_block = block
        if shape.blocks > 1 and shape.sum != kind_f64 and cbsz:
            from_block = ((block >> cbsz << cbsz) + abid) % shape.blocks
        for i in range(shape.size):
            row = left + (block * shape.size + i) * shape.depth
            if not shape.sparse:
                for k in range(shape.depth):
                    lane = i + shape.size * (from_block + shape.blocks * (k // lane_elements))
                    row[k] = element(wave, first, shape.left, lane, k % lane_elements, small)
                continue
            for k in range(shape.depth):
                row[k] = 0
            for k in range(<uint32_t>shape.depth // 2):
                lane = i + shape.size * (k // (lane_elements // 2))
                index = wave_vgpr(wave, instruction.source[2].index)[lane] >> (shift + 2 * (k % (lane_elements // 2)))
                row[4 * (k // 2) + (index & 3)] += element(wave, first, shape.left, lane, k % (lane_elements // 2), small)


cdef void _load_right(const Wave *wave, const Instruction *instruction, const MatrixShape *shape, uint32_t small, double *right) noexcept nogil:
    """B by block, column and k."""
    cdef uint32_t pattern = modifier_blgp(instruction.decoded.modifiers) if shape.sum != kind_f64 else 0
    cdef uint32_t lane_elements = shape.size * shape.depth * shape.blocks // 64
    cdef uint32_t block, j, k, lane
    for block in range(shape.blocks):
        for j in range(shape.size):
            for k in range(shape.depth):
                lane = _rearranged(j + shape.size * (block + shape.blocks * (k // lane_elements)), pattern)
                right[(block * shape.size + j) * shape.depth + k] = element(
                    wave, instruction.source[1].index, shape.right, lane, k % lane_elements, small)


cdef double _sum_of_products(const MatrixShape *shape, const double *a, const double *b, double c, uint32_t negate) noexcept nogil:
    cdef uint32_t k
    if shape.sum != kind_f64:
        for k in range(shape.depth):
            c += a[k] * b[k]
        return c
    c = -c if negate & 4 else c
    for k in range(shape.depth):
        c = fma(-a[k] if (negate ^ (negate >> 1)) & 1 else a[k], b[k], c)
    return c


cdef void _load_mixed(const Wave *wave, uint32_t first, uint32_t number, uint32_t size, uint32_t depth, double *elements) noexcept nogil:
    """A by row and k, or B by column and k, of F8F6F4."""
    cdef uint32_t groups = 64 // size
    cdef uint32_t width = number_width(number)
    cdef uint32_t i, k, lane, bit
    cdef uint64_t bits
    for i in range(size):
        for k in range(depth):
            if width == 8:
                lane = i + size * (k // 16 % groups)
                bit = width * (k % 16 + 16 * (k // (16 * groups)))
            else:
                lane = i + size * (k // 32)
                bit = width * (k % 32)
            bits = wave_vgpr(wave, first + (bit >> 5))[lane]
            if (bit & 31) + width > 32:
                bits |= <uint64_t>wave_vgpr(wave, first + (bit >> 5) + 1)[lane] << 32
            elements[i * depth + k] = number_value(number, <uint32_t>(bits >> (bit & 31)))


cdef void _scale_rows(const Wave *wave, const Instruction *instruction, uint32_t which, uint32_t size, uint32_t depth,
                      double *elements) noexcept nogil:
    """Every 32 in sequence of a row of A (`which` 0), or column of B (1), times their power of two."""
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint32_t byte = ((modifier_opsel(modifiers) >> which) & 1) | (((modifier_opsel_hi(modifiers) >> which) & 1) << 1)
    cdef const Source *source = &instruction.source[3 + which]
    cdef uint32_t i, k, word
    for i in range(size):
        for k in range(depth):
            if source.kind == operand_vgpr:
                word = wave_vgpr(wave, source.index)[i + size * (k // 32)]
            else:
                word = <uint32_t>source.value if source.kind == operand_value else read_scalar(wave, source.index)
            elements[i * depth + k] *= exponent_value((word >> (8 * byte)) & 0xff)


cdef int _multiply_mixed(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef const MatrixShape *shape = &shapes[instruction.decoded.opcode]
    cdef uint32_t left_format = modifier_cbsz(instruction.decoded.modifiers)
    cdef uint32_t right_format = modifier_blgp(instruction.decoded.modifiers)
    cdef double left[most_elements]
    cdef double right[most_elements]
    if instruction.source[0].kind != operand_vgpr or instruction.source[1].kind != operand_vgpr or left_format > 4 or right_format > 4:
        return stop_unsupported
    _load_mixed(wave, instruction.source[0].index, f8f6f4_numbers[left_format], shape.size, shape.depth, left)
    _load_mixed(wave, instruction.source[1].index, f8f6f4_numbers[right_format], shape.size, shape.depth, right)
    if instruction.decoded.source_count == 5:
        _scale_rows(wave, instruction, 0, shape.size, shape.depth, left)
        _scale_rows(wave, instruction, 1, shape.size, shape.depth, right)
    _add_products(wave, instruction, shape, left, right, 0)
    return stop_running


cdef int _multiply_blocks(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef const MatrixShape *shape = &shapes[instruction.decoded.opcode]
    cdef double left[most_elements]
    cdef double right[most_elements]
    cdef uint32_t small = small_fnuz if has_fnuz_floats(machine.gfx_level) else 0
    cdef uint32_t negate = 0
    if shape.sum == kind_f64 and has_negated_double_matrices(machine.gfx_level):
        negate = modifier_blgp(instruction.decoded.modifiers)
    if instruction.source[0].kind != operand_vgpr or instruction.source[1].kind != operand_vgpr:
        return stop_unsupported
    _load_left(wave, instruction, shape, small, left)
    _load_right(wave, instruction, shape, small, right)
    _add_products(wave, instruction, shape, left, right, negate)
    return stop_running


cdef void _add_products(Wave *wave, const Instruction *instruction, const MatrixShape *shape, const double *left, const double *right,
                        uint32_t negate) noexcept nogil:
    """D, once all of C has been read."""
    cdef double result[most_elements]
    cdef uint32_t block, i, j, row, lane
    cdef uint32_t number = 0
    for block in range(shape.blocks):
        for i in range(shape.size):
            for j in range(shape.size):
                _locate_sum(shape, block, i, j, &row, &lane)
                result[number] = _sum_of_products(
                    shape, left + (block * shape.size + i) * shape.depth, right + (block * shape.size + j) * shape.depth,
                    _addend(wave, instruction, shape, row, lane), negate)
                number += 1
    number = 0
    for block in range(shape.blocks):
        for i in range(shape.size):
            for j in range(shape.size):
                _locate_sum(shape, block, i, j, &row, &lane)
                _put_sum(shape, wave_vgpr(wave, (instruction.decoded.destination[0] >> 2) - 256 + row) + lane, result[number])
                number += 1


cdef inline void _put_sum(const MatrixShape *shape, uint32_t *target, double value) noexcept nogil:
    cdef uint64_t bits
    if shape.sum == kind_f64:
        bits = double_bits(value)
        target[0] = <uint32_t>bits
        target[max_lanes] = <uint32_t>(bits >> 32)
    else:
        target[0] = <uint32_t><int64_t>value if shape.sum == kind_i32 else float_bits(<float>value)


# --------------------------------------------------------------------------------------------------------------- opcodes
cdef void enter(Handler *table, uint32_t opcode, uint8_t size, uint8_t depth, uint8_t blocks, uint8_t left, uint8_t right, uint8_t sum_,
                bint sparse) noexcept nogil:
    shapes[opcode] = MatrixShape(size, depth, blocks, left, right, sum_, sparse)
    table[opcode] = _multiply_mixed if left == kind_f8f6f4 else _multiply_blocks


include "emulator_matrix.pxi"


cdef const MatrixShape *block_matrix_shape(uint32_t opcode) noexcept nogil:
    return &shapes[opcode] if shapes[opcode].size else NULL


cdef void fill_matrix_blocks(Handler *table) noexcept nogil:
    fill_shapes(table)
