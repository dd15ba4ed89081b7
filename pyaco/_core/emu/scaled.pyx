"""Conversions of CDNA 4 and GFX12.5 between floats and numbers of 8, 6 and 4 bits with a scale, and CDNA 4's stochastic rounding to 16 bits.

The scale is the exponent of a single. Numbers are divided by it on their way to a narrow format and multiplied on their way back, exact
up to the one rounding at the end; what does not fit becomes the largest number in formats that have nothing above it. Stochastic rounding
adds a random number below the last bit and truncates; all its 32 bits count, from the top, and a packed conversion goes
on with V_PRNG_B32's next one for each element (AMD's emulator, rocjitsu, does so on GFX12.5 too). How many of the bits hardware takes, and what a
NaN becomes where there is none (here the largest number), is not documented.

Source: AMD "CDNA 4" ISA document, V_CVT_SCALEF32_*, V_CVT_SR_*; OCP "Microscaling Formats (MX) Specification" 1.0.
"""
from libc.math cimport fabs
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t  # no-cython-lint: for what is included

from isa_opcodes cimport op_count
from modifiers cimport modifier_abs, modifier_neg, modifier_opsel
from pyaco._core.common.floats cimport bits_float, double_to_half, float_bits, round_nearest, to_bfloat
from pyaco._core.emu.numbers cimport narrow_magnitude, next_random
from pyaco._core.emu.vector cimport read_scalar
from pyaco._core.emu.wave cimport *

cdef enum:
    mode_fp16_overflow = 0x800000
    most_elements = 32

cdef struct Conversion:
    uint8_t source                    # number_*
    uint8_t target
    uint8_t count                     # of elements
    uint8_t scaled                    # the last operand is a scale
    uint8_t stochastic                # the one before it, or the last, is a random number
    uint8_t interleaved               # elements come from two operands in turn
    uint8_t by_byte                   # the scale is a byte of its operand, that op_sel chooses, not the exponent of a single

cdef struct Narrow:                   # a format that `rounded` rounds to
    uint32_t mantissa                 # bits
    int smallest                      # least normal exponent
    uint32_t largest                  # finite magnitude
    uint32_t infinite                 # what larger numbers become
    uint32_t nan

cdef Conversion conversions[<int>op_count]
cdef Narrow formats[8]
formats[<int>number_f16] = Narrow(10, -14, 0x7bff, 0x7c00, 0x7e00)
formats[<int>number_bf16] = Narrow(7, -126, 0x7f7f, 0x7f80, 0x7fc0)
formats[<int>number_fp8] = Narrow(3, -6, 0x7e, 0x7f, 0x7f)
formats[<int>number_bf8] = Narrow(2, -14, 0x7b, 0x7c, 0x7f)
formats[<int>number_fp6] = Narrow(3, 0, 0x1f, 0x1f, 0x1f)
formats[<int>number_bf6] = Narrow(2, -2, 0x1f, 0x1f, 0x1f)
formats[<int>number_fp4] = Narrow(1, 0, 7, 7, 7)


# ------------------------------------------------------------------------------------------------------------- rounding
cdef uint32_t rounded(float value, uint32_t number, bint stochastic, uint32_t random, bint saturates) noexcept nogil:
    """The bits of a single in a narrower format."""
    cdef const Narrow *narrow = &formats[number]
    cdef uint32_t bits = float_bits(value) & 0x7fffffff
    cdef uint32_t sign = (float_bits(value) >> 31) << (number_width(number) - 1)
    cdef uint64_t result
    if bits > 0x7f800000:
        return sign | narrow.nan
    if bits == 0x7f800000:
        return sign | narrow.infinite
    result = narrow_magnitude(value, narrow.mantissa, narrow.smallest, stochastic, random)
    if result > narrow.largest:
        return sign | (narrow.largest if saturates else narrow.infinite)
    return sign | <uint32_t>result


cdef inline float _scaled_down(double value, double scale) noexcept nogil:
    """The quotient, exact, or else beyond the range of every narrow format."""
    cdef double quotient = value / scale
    if fabs(value) <= 3.4028234663852886e38 and fabs(quotient) > 3.4028234663852886e38:
        return bits_float(0x7f7fffff if quotient > 0 else 0xff7fffffU)
    return <float>quotient


cdef inline uint32_t _widened(double value, uint32_t number) noexcept nogil:
    if number == number_f32:
        return float_bits(<float>value)
    return double_to_half(value, round_nearest) if number == number_f16 else to_bfloat(<float>value)


# -------------------------------------------------------------------------------------------------------------- registers
cdef inline uint32_t _word_of(const Wave *wave, const Source *source, uint32_t dword, uint32_t lane) noexcept nogil:
    if source.kind == operand_vgpr:
        return wave_vgpr(wave, source.index + dword)[lane]
    return <uint32_t>source.value if source.kind == operand_value else read_scalar(wave, source.index + dword)


cdef uint32_t _element_of(const Wave *wave, const Source *source, uint32_t position, uint32_t width, uint32_t lane) noexcept nogil:
    """An element that begins at bit `position` of an operand, and may extend into its next register."""
    cdef uint32_t dword = position >> 5
    cdef uint64_t bits = _word_of(wave, source, dword, lane)
    if (position & 31) + width > 32:
        bits |= <uint64_t>_word_of(wave, source, dword + 1, lane) << 32
    return <uint32_t>((bits >> (position & 31)) & ((<uint64_t>1 << width) - 1))


cdef void _put_bits(uint32_t *row, uint32_t position, uint32_t width, uint32_t bits) noexcept nogil:
    """Write bits of one lane's registers."""
    cdef uint32_t *word = row + (position >> 5) * max_lanes
    cdef uint32_t shift = position & 31
    cdef uint64_t mask = ((<uint64_t>1 << width) - 1) << shift
    cdef uint64_t moved = <uint64_t>bits << shift
    word[0] = (word[0] & ~<uint32_t>mask) | <uint32_t>moved
    if shift + width > 32:
        word[max_lanes] = (word[max_lanes] & ~<uint32_t>(mask >> 32)) | <uint32_t>(moved >> 32)


cdef void _first_bits(const Conversion *conversion, uint32_t opsel, uint32_t *source, uint32_t *target) noexcept nogil:
    """The first bits of source and target of a conversion of less than a register: OPSEL's low two choose the source's, its high two the target's."""
    cdef uint32_t read = conversion.count * number_width(conversion.source)
    cdef uint32_t written = conversion.count * number_width(conversion.target)
    source[0] = target[0] = 0
    if conversion.target >= number_fp8 or not conversion.scaled:
        if written == 8:
            target[0] = 8 * ((opsel >> 2) & 3)
        elif written == 16:
            target[0] = 16 * ((opsel >> 3) & 1)
        return
    if read == 8:
        source[0] = 8 * (opsel & 3)
    elif read == 16:
        source[0] = 16 * (opsel & 1)
    if written == 16:
        target[0] = 16 * ((opsel >> 3) & 1)


# ------------------------------------------------------------------------------------------------------------- execution
cdef void _convert_lane(Wave *wave, const Instruction *instruction, const Conversion *conversion, uint32_t lane) noexcept nogil:
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint32_t last = instruction.decoded.source_count - 1
    cdef uint32_t width = number_width(conversion.source)
    cdef uint32_t target_width = number_width(conversion.target)
    cdef bint separate = conversion.count == 2 and width == 32 and not conversion.stochastic   # an operand for each element
    cdef bint saturates = (wave.mode & mode_fp16_overflow) != 0
    cdef uint32_t scale_bit = 8 * (modifier_opsel(modifiers) & 3) if conversion.by_byte else 23
    cdef double scale = exponent_value((_word_of(wave, &instruction.source[last], 0, lane) >> scale_bit) & 0xff) if conversion.scaled else 1
    cdef uint32_t random = _word_of(wave, &instruction.source[1], 0, lane) if conversion.stochastic else 0
    cdef uint32_t results[most_elements]
    cdef uint32_t source_bit, target_bit, i, slot, position
    cdef double value
    _first_bits(conversion, 0 if conversion.by_byte else modifier_opsel(modifiers), &source_bit, &target_bit)
    for i in range(conversion.count):
        slot = i & 1 if separate or conversion.interleaved else 0
        position = 0 if separate else source_bit + (i >> 1 if conversion.interleaved else i) * width
        value = number_value(conversion.source, _element_of(wave, &instruction.source[slot], position, width, lane))
        if (modifier_abs(modifiers) >> slot) & 1:
            value = fabs(value)
        if (modifier_neg(modifiers) >> slot) & 1:
            value = -value
        if conversion.target <= number_bf16 and conversion.scaled:
            results[i] = _widened(value * scale, conversion.target)
        else:
            results[i] = rounded(_scaled_down(value, scale), conversion.target, conversion.stochastic, random, saturates)
            random = next_random(random)
    for i in range(conversion.count):
        _put_bits(wave_vgpr(wave, (instruction.decoded.destination[0] >> 2) - 256) + lane, target_bit + i * target_width, target_width,
                  results[i])


cdef int _execute_conversion(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    cdef const Conversion *conversion = &conversions[instruction.decoded.opcode]
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t lane
    if conversion.by_byte and modifier_opsel(instruction.decoded.modifiers) > 3:
        return stop_unsupported                             # scales of other lanes
    for lane in range(wave.lanes):
        if (exec_mask >> lane) & 1:
            _convert_lane(wave, instruction, conversion, lane)
    return stop_running


cdef void enter(Handler *table, uint32_t opcode, uint8_t source, uint8_t target, uint8_t count, bint scaled, bint stochastic,
                bint interleaved, bint by_byte) noexcept nogil:
    conversions[opcode] = Conversion(source, target, count, scaled, stochastic, interleaved, by_byte)
    table[opcode] = _execute_conversion


include "emulator_scaled.pxi"


cdef void fill_scaled(Handler *table) noexcept nogil:
    fill_conversions(table)
