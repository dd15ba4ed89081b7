"""Typed buffer formats: from the number that a descriptor or instruction holds to layout and kind, and the conversions.

A format here is ``layout << 8 | kind << 4``: the layouts are GFX9's data formats (1: 8 ... 14: 32_32_32_32) and the kinds its
number formats (0 unorm, 1 snorm, 2 uscaled, 3 sscaled, 4 uint, 5 sint, 7 float). 0 is a number that the generation lacks.
Sources: AMD "Vega", "RDNA 2" and "RDNA3" ISA documents, tables of buffer formats.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from features cimport has_unified_buffer_formats
from pyaco._core.common.floats cimport bits_float, double_to_half, float_bits, half_to_double
from pyaco._core.emu.numbers cimport ldexp, nearest_even

cdef enum:
    layout_8 = 1
    layout_16 = 2
    layout_8_8 = 3
    layout_32 = 4
    layout_16_16 = 5
    layout_10_11_11 = 6
    layout_11_11_10 = 7
    layout_10_10_10_2 = 8
    layout_2_10_10_10 = 9
    layout_8_8_8_8 = 10
    layout_32_32 = 11
    layout_16_16_16_16 = 12
    layout_32_32_32 = 13
    layout_32_32_32_32 = 14
    kind_uint = 4
    kind_sint = 5
    kind_float = 7

# A run of consecutive format numbers: `count` kinds of one layout from `first` on. Runs of 7 are the six integer kinds and
# float, of 6 without float, of 3 uint, sint, float; of 4 unorm, snorm, uint, sint; of 1 float.
cdef inline uint32_t kind_in_run(uint32_t count, uint32_t index) noexcept nogil:
    if count == 1:
        return kind_float
    if count == 3:
        return kind_float if index == 2 else kind_uint + index
    if count == 4:
        return index if index < 2 else index + 2
    return kind_float if index == 6 else index

cdef inline uint32_t unified_format(uint32_t gfx_level, uint32_t number) noexcept nogil:
    """GFX10+: one number for layout and kind."""
    cdef uint32_t layouts[14]
    cdef uint32_t counts[14]
    cdef uint32_t run
    cdef bint late = gfx_level >= 110
    layouts[:] = [layout_8, layout_16, layout_8_8, layout_32, layout_16_16, layout_10_11_11, layout_11_11_10,
                  layout_10_10_10_2, layout_2_10_10_10, layout_8_8_8_8, layout_32_32, layout_16_16_16_16,
                  layout_32_32_32, layout_32_32_32_32]
    counts[:] = [6, 7, 6, 3, 7, 7, 7, 6, 6, 6, 3, 7, 3, 3]
    if late:
        counts[5] = counts[6] = 1
        counts[7] = 4
    if number == 0:
        return 0
    number -= 1
    for run in range(14):
        if number < counts[run]:
            return (layouts[run] << 8) | (kind_in_run(counts[run], number) << 4)
        number -= counts[run]
    return 0

cdef inline uint32_t format_of_descriptor(uint32_t gfx_level, uint32_t word3, int instruction_format) noexcept nogil:
    """The format of a typed access: the instruction's (MTBUF), or the descriptor's where it is negative."""
    cdef uint32_t layout, kind
    if has_unified_buffer_formats(gfx_level):
        if instruction_format >= 0:
            return unified_format(gfx_level, <uint32_t>instruction_format)
        return unified_format(gfx_level, (word3 >> 12) & (0x3f if gfx_level >= 110 else 0x7f))
    layout = (word3 >> 15) & 15
    kind = (word3 >> 12) & 7
    if instruction_format >= 0:
        layout = <uint32_t>instruction_format & 15
        kind = (<uint32_t>instruction_format >> 4) & 7
    if layout == 0 or layout > 14 or kind == 6:
        return 0
    return (layout << 8) | (kind << 4)

# Bits of component `index` in a layout, 0 when it has none; the first component lies lowest.
cdef inline uint32_t component_bits(uint32_t layout, uint32_t index) noexcept nogil:
    if layout == layout_8:
        return 8 if index == 0 else 0
    if layout == layout_16:
        return 16 if index == 0 else 0
    if layout == layout_8_8:
        return 8 if index < 2 else 0
    if layout == layout_32:
        return 32 if index == 0 else 0
    if layout == layout_16_16:
        return 16 if index < 2 else 0
    if layout == layout_10_11_11:
        return 11 if index < 2 else (10 if index == 2 else 0)
    if layout == layout_11_11_10:
        return 10 if index == 0 else (11 if index < 3 else 0)
    if layout == layout_10_10_10_2:
        return 2 if index == 0 else 10
    if layout == layout_2_10_10_10:
        return 2 if index == 3 else 10
    if layout == layout_8_8_8_8:
        return 8
    if layout == layout_32_32:
        return 32 if index < 2 else 0
    if layout == layout_16_16_16_16:
        return 16
    if layout == layout_32_32_32:
        return 32 if index < 3 else 0
    return 32

cdef inline uint32_t format_bytes(uint32_t format_) noexcept nogil:
    cdef uint32_t total = 0
    cdef uint32_t index
    for index in range(4):
        total += component_bits(format_ >> 8, index)
    return total // 8

cdef inline uint32_t small_float(uint32_t raw, uint32_t mantissa_bits) noexcept nogil:
    """An unsigned float with five exponent bits, as single."""
    cdef uint32_t exponent = raw >> mantissa_bits
    cdef uint32_t mantissa = raw & ((1 << mantissa_bits) - 1)
    if exponent == 31:
        return 0x7f800000 | (mantissa << (23 - mantissa_bits))
    if exponent == 0:
        return float_bits(<float>ldexp(<double>mantissa, -14 - <int>mantissa_bits))
    return ((exponent + 112) << 23) | (mantissa << (23 - mantissa_bits))

cdef inline uint32_t load_component(uint32_t raw, uint32_t bits, uint32_t kind) noexcept nogil:
    """A raw component as the register holds it."""
    cdef int64_t value = raw
    cdef uint64_t largest = (<uint64_t>1 << bits) - 1
    cdef double scaled
    if (kind & 1) and kind != kind_float and raw >> (bits - 1):
        value -= <int64_t>(largest + 1)
    if kind == 4 or kind == 5:
        return <uint32_t>value
    if kind == 2 or kind == 3:
        return float_bits(<float>value)
    if kind == 0:
        return float_bits(<float>(<double>value / <double>largest))
    if kind == 1:
        scaled = <double>value / <double>(largest >> 1)
        return float_bits(-1.0 if scaled < -1 else <float>scaled)
    if bits == 32:
        return raw
    if bits == 16:
        return float_bits(<float>half_to_double(raw))
    return small_float(raw, bits - 5)

cdef inline uint32_t store_component(uint32_t word, uint32_t bits, uint32_t kind) noexcept nogil:
    """A register's value as the raw component; values out of range saturate."""
    cdef uint64_t largest = (<uint64_t>1 << bits) - 1
    cdef int64_t limit
    cdef int64_t low = 0
    cdef int64_t value
    cdef double real
    if kind == kind_float:
        if bits == 32:
            return word
        if bits == 16:
            return double_to_half(bits_float(word), 0)
        real = bits_float(word)
        if not real > 0:
            return 0 if real == real else (31 << (bits - 5)) | 1
        return double_to_half(real, 3) >> (10 - (bits - 5))     # truncates
    limit = <int64_t>largest
    if kind & 1:
        limit = <int64_t>(largest >> 1)
        low = -limit - 1
    if kind == 4:
        value = word
    elif kind == 5:
        value = <int32_t>word
    else:
        real = bits_float(word)
        if real != real:
            real = 0
        if kind == 0 or kind == 1:
            real = (1.0 if real > 1 else (real if real > (-1.0 if kind else 0.0) else (-1.0 if kind else 0.0))) * limit
        value = <int64_t>nearest_even(1e15 if real > 1e15 else (-1e15 if real < -1e15 else real))
    return <uint32_t>((limit if value > limit else (low if value < low else value)) & <int64_t>largest)

cdef inline void load_format(uint32_t format_, const uint8_t *host, uint32_t *texel) noexcept nogil:
    """Four components; those that the layout lacks are 0, 0, 0, 1."""
    cdef uint32_t layout = format_ >> 8
    cdef uint32_t kind = (format_ >> 4) & 15
    cdef uint32_t index, bits
    cdef uint32_t position = 0
    cdef uint64_t window
    cdef uint32_t total = format_bytes(format_)
    for index in range(4):
        bits = component_bits(layout, index)
        if bits == 0:
            texel[index] = 0
            if index == 3:
                texel[3] = 1 if kind == 4 or kind == 5 else 0x3f800000
            continue
        window = 0
        memcpy(&window, host + position // 32 * 4, 4 if total - position // 32 * 4 >= 4 else total - position // 32 * 4)
        texel[index] = load_component(<uint32_t>((window >> (position & 31)) & ((<uint64_t>1 << bits) - 1)), bits, kind)
        position += bits

cdef inline void store_format(uint32_t format_, uint8_t *host, const uint32_t *texel) noexcept nogil:
    cdef uint32_t layout = format_ >> 8
    cdef uint32_t kind = (format_ >> 4) & 15
    cdef uint32_t words[4]
    cdef uint32_t index, bits
    cdef uint32_t position = 0
    words[0] = words[1] = words[2] = words[3] = 0
    for index in range(4):
        bits = component_bits(layout, index)
        if bits:
            words[position >> 5] |= store_component(texel[index], bits, kind) << (position & 31)
            position += bits
    memcpy(host, words, format_bytes(format_))
