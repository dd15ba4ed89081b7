"""ETC2 and EAC: a base colour for each half of a block, and steps of brightness from it; two palettes and a plane for what that does not fit.

Source: the Khronos Data Format Specification 1.4, "ETC2 Compressed Texture Image Formats". Blocks of ETC1 are blocks of ETC2. Its words are
big-endian, and texels go down the columns; channels of 11 bits (R11, RG11) become singles, nearest to value / 2047 or value / 1023.
"""
from libc.stdint cimport int8_t, int16_t, uint8_t, uint32_t, uint64_t

from pyaco._core.texels.block cimport (
    BlockFormat, clamped, codec_eac_r11_snorm, codec_eac_rg11_snorm, codec_eac_rg11_unorm, codec_etc2_rgba1, put_unorm8, replicated,
)

cdef int16_t[8][2] _steps = [[2, 8], [5, 17], [9, 29], [13, 42], [18, 60], [24, 80], [33, 106], [47, 183]]       # small, large; by table
cdef int16_t[8] _distances = [3, 6, 11, 16, 23, 32, 41, 64]                                                     # of palettes T and H
cdef int8_t[16][8] _alpha_steps = [
    [-3, -6, -9, -15, 2, 5, 8, 14], [-3, -7, -10, -13, 2, 6, 9, 12], [-2, -5, -8, -13, 1, 4, 7, 12], [-2, -4, -6, -13, 1, 3, 5, 12],
    [-3, -6, -8, -12, 2, 5, 7, 11], [-3, -7, -9, -11, 2, 6, 8, 10], [-4, -7, -8, -11, 3, 6, 7, 10], [-3, -5, -8, -11, 2, 4, 7, 10],
    [-2, -6, -8, -10, 1, 5, 7, 9], [-2, -5, -8, -10, 1, 4, 7, 9], [-2, -4, -8, -10, 1, 3, 7, 9], [-2, -5, -7, -10, 1, 4, 6, 9],
    [-3, -4, -7, -10, 2, 3, 6, 9], [-1, -2, -3, -10, 0, 1, 2, 9], [-4, -6, -8, -9, 3, 5, 7, 8], [-3, -5, -7, -9, 2, 4, 6, 8],
]


cdef inline uint64_t _big_endian(const uint8_t *bytes) noexcept nogil:
    cdef uint64_t word = 0
    cdef uint32_t i
    for i in range(8):
        word = word << 8 | bytes[i]
    return word


cdef inline uint32_t _field(uint64_t word, uint32_t first, uint32_t count) noexcept nogil:
    return <uint32_t>(word >> first) & (((<uint32_t>1) << count) - 1)


cdef inline uint32_t _index(uint64_t word, uint32_t texel) noexcept nogil:
    """The two bits of texel 4 * y + x."""
    cdef uint32_t place = 4 * (texel & 3) + (texel >> 2)
    return <uint32_t>(word >> place & 1) | <uint32_t>(word >> (place + 15) & 2)


cdef inline void _put_brighter(uint8_t *texel, const uint8_t *base, int step) noexcept nogil:
    put_unorm8(texel, clamped(base[0] + step), clamped(base[1] + step), clamped(base[2] + step), 255)


cdef void _fill_halves(uint64_t word, const uint8_t *bases, bint is_punched, uint8_t *out) noexcept nogil:
    """Modes individual and differential, from two bases: `is_punched` takes the small steps away, and texels with index 2."""
    cdef bint is_flipped = word >> 32 & 1
    cdef uint32_t texel, half, index
    cdef int step
    for texel in range(16):
        half = (texel >> 3 if is_flipped else texel >> 1) & 1
        index = _index(word, texel)
        step = _steps[_field(word, 34 if half else 37, 3)][index & 1]
        if is_punched and index & 1 == 0:
            step = 0
        if is_punched and index == 2:
            put_unorm8(out + 4 * texel, 0, 0, 0, 0)
        else:
            _put_brighter(out + 4 * texel, bases + 4 * half, -step if index & 2 else step)


cdef void _fill_from_palette(uint64_t word, const uint8_t *palette, bint is_punched, uint8_t *out) noexcept nogil:
    """Modes T and H, from four colours."""
    cdef uint32_t texel, index
    for texel in range(16):
        index = _index(word, texel)
        if is_punched and index == 2:
            put_unorm8(out + 4 * texel, 0, 0, 0, 0)
        else:
            put_unorm8(out + 4 * texel, palette[4 * index], palette[4 * index + 1], palette[4 * index + 2], 255)


cdef inline void _put_base4(uint8_t *base, uint32_t red, uint32_t green, uint32_t blue) noexcept nogil:
    put_unorm8(base, 17 * red, 17 * green, 17 * blue, 255)


cdef void _fill_t(uint64_t word, bint is_punched, uint8_t *out) noexcept nogil:
    cdef uint8_t[4][4] palette
    cdef int distance = _distances[_field(word, 34, 2) << 1 | _field(word, 32, 1)]
    _put_base4(palette[0], _field(word, 59, 2) << 2 | _field(word, 56, 2), _field(word, 52, 4), _field(word, 48, 4))
    _put_base4(palette[2], _field(word, 44, 4), _field(word, 40, 4), _field(word, 36, 4))
    _put_brighter(palette[1], palette[2], distance)
    _put_brighter(palette[3], palette[2], -distance)
    _fill_from_palette(word, palette[0], is_punched, out)


cdef void _fill_h(uint64_t word, bint is_punched, uint8_t *out) noexcept nogil:
    cdef uint8_t[4][4] palette
    cdef uint8_t[2][4] bases
    cdef uint32_t first = (_field(word, 59, 4) << 8 | _field(word, 56, 3) << 5 | _field(word, 52, 1) << 4
                           | _field(word, 51, 1) << 3 | _field(word, 47, 3))
    cdef uint32_t second = _field(word, 35, 12)
    cdef int distance = _distances[_field(word, 34, 1) << 2 | _field(word, 32, 1) << 1 | (first >= second)]
    _put_base4(bases[0], first >> 8, first >> 4 & 15, first & 15)
    _put_base4(bases[1], second >> 8, second >> 4 & 15, second & 15)
    _put_brighter(palette[0], bases[0], distance)
    _put_brighter(palette[1], bases[0], -distance)
    _put_brighter(palette[2], bases[1], distance)
    _put_brighter(palette[3], bases[1], -distance)
    _fill_from_palette(word, palette[0], is_punched, out)


cdef void _fill_plane(uint64_t word, uint8_t *out) noexcept nogil:
    """Mode planar: colours at the corner, and one block to the right and below."""
    cdef int[3] origin
    cdef int[3] right
    cdef int[3] below
    cdef uint32_t texel, channel, bits
    cdef int x, y
    origin[0] = _field(word, 57, 6)
    origin[1] = _field(word, 56, 1) << 6 | _field(word, 49, 6)
    origin[2] = _field(word, 48, 1) << 5 | _field(word, 43, 2) << 3 | _field(word, 39, 3)
    right[0] = _field(word, 34, 5) << 1 | _field(word, 32, 1)
    right[1] = _field(word, 25, 7)
    right[2] = _field(word, 19, 6)
    below[0] = _field(word, 13, 6)
    below[1] = _field(word, 6, 7)
    below[2] = _field(word, 0, 6)
    for channel in range(3):
        bits = 7 if channel == 1 else 6
        origin[channel] = replicated(origin[channel], bits)
        right[channel] = replicated(right[channel], bits)
        below[channel] = replicated(below[channel], bits)
    for texel in range(16):
        x = texel & 3
        y = texel >> 2
        for channel in range(3):
            out[4 * texel + channel] = clamped(
                (x * (right[channel] - origin[channel]) + y * (below[channel] - origin[channel]) + 4 * origin[channel] + 2) >> 2)
        out[4 * texel + 3] = 255


cdef void _fill_colors(uint64_t word, bint has_punch_through, uint8_t *out) noexcept nogil:
    cdef bint is_differential = has_punch_through or word >> 33 & 1
    cdef bint is_punched = has_punch_through and not word >> 33 & 1
    cdef uint8_t[2][4] bases
    cdef uint32_t channel, shift
    cdef int base, second
    for channel in range(3):
        shift = 56 - 8 * channel
        if not is_differential:
            bases[0][channel] = <uint8_t>(17 * _field(word, shift + 4, 4))
            bases[1][channel] = <uint8_t>(17 * _field(word, shift, 4))
            continue
        base = _field(word, shift + 3, 5)
        second = base + (<int>(_field(word, shift, 3) ^ 4) - 4)
        if second < 0 or second > 31:                 # no colour: red, green and blue each lead to another mode
            if channel == 0:
                _fill_t(word, is_punched, out)
            elif channel == 1:
                _fill_h(word, is_punched, out)
            else:
                _fill_plane(word, out)
            return
        bases[0][channel] = <uint8_t>replicated(base, 5)
        bases[1][channel] = <uint8_t>replicated(second, 5)
    _fill_halves(word, bases[0], is_punched, out)


cdef void decode_etc2_rgb(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil:
    _fill_colors(_big_endian(block), format.codec == codec_etc2_rgba1, <uint8_t *>texels)


cdef inline int _step_of(uint64_t word, uint32_t texel) noexcept nogil:
    """The step of texel 4 * y + x from a channel's base, before the multiplier."""
    return _alpha_steps[_field(word, 48, 4)][_field(word, 45 - 3 * (4 * (texel & 3) + (texel >> 2)), 3)]


cdef void decode_etc2_rgba8(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil:
    cdef uint8_t *out = <uint8_t *>texels
    cdef uint64_t word = _big_endian(block)
    cdef int multiplier = _field(word, 52, 4)
    cdef uint32_t texel
    _fill_colors(_big_endian(block + 8), False, out)
    for texel in range(16):
        out[4 * texel + 3] = clamped(block[0] + _step_of(word, texel) * multiplier)


cdef void _channel(const uint8_t *block, bint is_signed, float *out) noexcept nogil:
    """Write one channel of sixteen texels, which are four singles apart."""
    cdef uint64_t word = _big_endian(block)
    cdef int multiplier = 8 * _field(word, 52, 4)
    cdef int most = 1023 if is_signed else 2047
    cdef int least = -1023 if is_signed else 0
    cdef int base = 8 * max(<int8_t>block[0], -127) if is_signed else 8 * block[0] + 4
    cdef uint32_t texel
    cdef int value
    if multiplier == 0:
        multiplier = 1
    for texel in range(16):
        value = base + _step_of(word, texel) * multiplier
        value = least if value < least else most if value > most else value
        out[4 * texel] = <float>value / <float>most


cdef void decode_eac(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil:
    cdef float *out = <float *>texels
    cdef bint is_signed = format.codec in (codec_eac_r11_snorm, codec_eac_rg11_snorm)
    cdef bint has_green = format.codec in (codec_eac_rg11_unorm, codec_eac_rg11_snorm)
    cdef uint32_t texel
    for texel in range(16):
        out[4 * texel + 1] = 0.0
        out[4 * texel + 2] = 0.0
        out[4 * texel + 3] = 1.0
    _channel(block, is_signed, out)
    if has_green:
        _channel(block + 8, is_signed, out + 1)
