"""WMMA: D = A B + C of 16 x 16 tiles that lie spread over the lanes of a wave.

GFX11: every lane holds a whole row of A and column of B (lane % 16), element k in its k-th place; the lanes from 16 on repeat
them. Row and column of C and D: register v and lane l hold row 2 v + l / 16 (wave64: 4 v + l / 16), column l % 16.
GFX12, wave32: each half of the wave holds half of the elements of A and B; C and D have row v + 8 (l / 16).

Sums are made in double and rounded once, where hardware leaves the order of additions open. Sources: AMD "RDNA3" ISA
document 7.9, "RDNA4" 7.12 "Wave Matrix Multiply Accumulate".
"""
from libc.stdint cimport int8_t, int32_t, int64_t, uint32_t, uint64_t

from isa_opcodes cimport *
from modifiers cimport (modifier_clamp, modifier_neg, modifier_neg_hi, modifier_opsel)
from pyaco._core.emu.access cimport to_bfloat
from pyaco._core.emu.numbers cimport bits_float, double_to_half, float_bits, half_to_double, saturate_i32
from pyaco._core.emu.wave cimport *

cdef enum:
    kind_f16 = 0
    kind_bf16 = 1
    kind_integer = 2

cdef struct Shape:
    uint32_t kind                     # of A and B
    uint32_t bits                     # of an element of A and B
    uint32_t depth                    # the inner dimension
    uint32_t wide                     # C and D have 32 bits


cdef Shape shape_of(uint32_t opcode) noexcept nogil:
    cdef Shape s
    s.kind = kind_f16
    s.bits = 16
    s.depth = 16
    s.wide = 1
    if opcode == <uint32_t>op_v_wmma_f32_16x16x16_bf16 or opcode == <uint32_t>op_v_wmma_bf16_16x16x16_bf16:
        s.kind = kind_bf16
    if opcode == <uint32_t>op_v_wmma_f16_16x16x16_f16 or opcode == <uint32_t>op_v_wmma_bf16_16x16x16_bf16:
        s.wide = 0
    if opcode == <uint32_t>op_v_wmma_i32_16x16x16_iu8:
        s.kind = kind_integer
        s.bits = 8
    if opcode == <uint32_t>op_v_wmma_i32_16x16x16_iu4 or opcode == <uint32_t>op_v_wmma_i32_16x16x32_iu4:
        s.kind = kind_integer
        s.bits = 4
    if opcode == <uint32_t>op_v_wmma_i32_16x16x32_iu4:
        s.depth = 32
    return s


cdef uint32_t element_bits(const Wave *wave, const Source *source, const Shape *s, bint halved, uint32_t line,
                           uint32_t k) noexcept nogil:
    """Element k of row or column `line` of A or B."""
    cdef uint32_t lane = line
    cdef uint32_t position
    cdef uint32_t word
    if halved and k >= s.depth // 2:
        lane += 16
        k -= s.depth // 2
    position = k * s.bits
    word = wave_vgpr(wave, source.index + (position >> 5))[lane]
    return (word >> (position & 31)) & ((<uint32_t>1 << s.bits) - 1)


cdef double element(const Wave *wave, const Instruction *instruction, uint32_t slot, const Shape *s, bint halved,
                    uint32_t line, uint32_t k) noexcept nogil:
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint32_t bits = element_bits(wave, &instruction.source[slot], s, halved, line, k)
    cdef uint32_t negated
    if s.kind == kind_integer:
        if (modifier_neg(modifiers) >> slot) & 1 and bits >> (s.bits - 1):
            return <double><int32_t>(bits - (<uint32_t>1 << s.bits))
        return bits
    negated = ((modifier_neg_hi(modifiers) if k & 1 else modifier_neg(modifiers)) >> slot) & 1
    bits ^= negated << 15
    return half_to_double(bits) if s.kind == kind_f16 else <double>bits_float(bits << 16)


cdef double accumulator(const Wave *wave, const Instruction *instruction, const Shape *s, bint high, uint32_t row,
                        uint32_t lane) noexcept nogil:
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef const Source *source = &instruction.source[2]
    cdef uint32_t bits = <uint32_t>source.value
    cdef double value
    if source.kind == operand_vgpr:
        bits = wave_vgpr(wave, source.index + row)[lane]
    if s.kind == kind_integer:
        return <int32_t>bits
    if s.wide:
        value = bits_float(bits)
    else:
        bits = bits >> 16 if high and source.kind == operand_vgpr else bits & 0xffff
        value = half_to_double(bits) if s.kind == kind_f16 else <double>bits_float(bits << 16)
    if (modifier_neg_hi(modifiers) >> 2) & 1:               # abs of C
        value = value if value >= 0 else -value
    return -value if (modifier_neg(modifiers) >> 2) & 1 else value


cdef int multiply_tiles(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef Shape s = shape_of(instruction.decoded.opcode)
    cdef double result[8][max_lanes]
    cdef double left[16][32]
    cdef double right[16][32]
    cdef bint halved = machine.gfx_level >= 120
    cdef uint32_t rows = 8 if wave.lanes == 32 else 4
    cdef uint32_t register_, lane, row, k, bits
    cdef bint high = (modifier_opsel(instruction.decoded.modifiers) >> 2) & 1
    cdef bint clamp = modifier_clamp(instruction.decoded.modifiers)
    cdef uint32_t *place
    if halved and (wave.lanes == 64 or not s.wide):
        return stop_unsupported
    if instruction.source[0].kind != operand_vgpr or instruction.source[1].kind != operand_vgpr:
        return stop_unsupported
    for row in range(16):
        for k in range(s.depth):
            left[row][k] = element(wave, instruction, 0, &s, halved, row, k)
            right[row][k] = element(wave, instruction, 1, &s, halved, row, k)
    for register_ in range(rows):
        for lane in range(wave.lanes):
            row = register_ + 8 * (lane >> 4) if halved else (16 // rows) * register_ + (lane >> 4)
            result[register_][lane] = accumulator(wave, instruction, &s, high, register_, lane)
            for k in range(s.depth):
                result[register_][lane] += left[row][k] * right[lane & 15][k]
    for register_ in range(rows):
        place = wave_vgpr(wave, (instruction.decoded.destination[0] >> 2) - 256 + register_)
        for lane in range(wave.lanes):
            if s.kind == kind_integer:
                place[lane] = <uint32_t><int64_t>result[register_][lane]
                if clamp:
                    place[lane] = <uint32_t>saturate_i32(<int64_t>result[register_][lane])
            elif s.wide:
                place[lane] = float_bits(<float>result[register_][lane])
            else:
                if s.kind == kind_f16:
                    bits = double_to_half(result[register_][lane], 0)
                else:
                    bits = to_bfloat(<float>result[register_][lane])
                place[lane] = (place[lane] & 0xffff) | (bits << 16) if high else (place[lane] & 0xffff0000U) | bits
    return stop_running


cdef void fill_matrix(Handler *table) noexcept nogil:
    table[<int>op_v_wmma_f32_16x16x16_f16] = multiply_tiles
    table[<int>op_v_wmma_f32_16x16x16_bf16] = multiply_tiles
    table[<int>op_v_wmma_f16_16x16x16_f16] = multiply_tiles
    table[<int>op_v_wmma_bf16_16x16x16_bf16] = multiply_tiles
    table[<int>op_v_wmma_i32_16x16x16_iu8] = multiply_tiles
    table[<int>op_v_wmma_i32_16x16x16_iu4] = multiply_tiles
    table[<int>op_v_wmma_i32_16x16x32_iu4] = multiply_tiles
