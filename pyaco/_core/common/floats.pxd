"""Halves, bfloats, singles and doubles: their bits, and the conversions between them.

A conversion rounds once and keeps denormals (IEEE 754-2019, 5.4.2); flushing them, as MODE of a wave or an opcode's own rule may ask, is a
step of whoever asks for it. Halves travel as doubles, which hold each exactly. A NaN keeps the top of its payload, and is quiet once it has
been rounded to a smaller format.
"""
from libc.math cimport copysign, fabs, isfinite
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from pyaco._core.common.bits cimport leading_zeros32

cdef enum:                            # rounding modes, numbered as in the fields of MODE
    round_nearest = 0                 # ties to even
    round_up = 1
    round_down = 2
    round_zero = 3
    round_saturate = 4                # added: a half that overflows is the largest finite one (FP16_OVFL)

# --------------------------------------------------------------------------------------------------------------- bits
cdef inline uint32_t float_bits(float value) noexcept nogil:
    cdef uint32_t bits
    memcpy(&bits, &value, 4)
    return bits

cdef inline float bits_float(uint32_t bits) noexcept nogil:
    cdef float value
    memcpy(&value, &bits, 4)
    return value

cdef inline uint64_t double_bits(double value) noexcept nogil:
    cdef uint64_t bits
    memcpy(&bits, &value, 8)
    return bits

cdef inline double bits_double(uint64_t bits) noexcept nogil:
    cdef double value
    memcpy(&value, &bits, 8)
    return value

# --------------------------------------------------------------------------------------------------------------- halves
cdef inline double half_to_double(uint32_t bits) noexcept nogil:
    """The value of a half; a NaN keeps its payload in the top of the double's."""
    cdef uint64_t sign = <uint64_t>(bits & 0x8000) << 48
    cdef uint32_t exponent = (bits >> 10) & 0x1f
    cdef uint64_t fraction = bits & 0x3ff
    cdef int shift
    if exponent == 31:
        return bits_double(sign | (<uint64_t>0x7ff << 52) | (fraction << 42))
    if exponent != 0:
        return bits_double(sign | (<uint64_t>(exponent + 1008) << 52) | (fraction << 42))
    if fraction == 0:
        return bits_double(sign)
    shift = <int>leading_zeros32(<uint32_t>fraction) - 21         # brings the leading one to bit 10
    return bits_double(sign | (<uint64_t>(1009 - shift) << 52) | (((fraction << shift) & 0x3ff) << 42))

cdef inline float half_to_single(uint32_t bits) noexcept nogil:
    """The same as a single, without branches, for loops over lanes; the host must keep denormals."""
    cdef float scaled = bits_float((bits & 0x7fff) << 13) * bits_float(0x77800000)      # 2 ** 112, between the biases
    cdef uint32_t special = 0x7f800000 if (bits & 0x7c00) == 0x7c00 else 0
    return bits_float(float_bits(scaled) | special | ((bits & 0x8000) << 16))

cdef inline uint32_t double_to_half(double value, uint32_t rounding) noexcept nogil:
    """Round to a half."""
    cdef uint64_t bits = double_bits(value)
    cdef uint32_t sign = <uint32_t>(bits >> 48) & 0x8000
    cdef int exponent = <int>((bits >> 52) & 0x7ff) - 1023
    cdef uint64_t fraction = bits & 0xfffffffffffffULL
    cdef uint64_t rest, half
    cdef uint32_t result
    cdef int shift = 42
    cdef bint away
    if exponent == 1024:
        return sign | 0x7c00 | ((0x200 | <uint32_t>(fraction >> 42)) if fraction else 0)
    if exponent == -1023:
        if fraction == 0:
            return sign
        exponent = -1022
    else:
        fraction |= <uint64_t>1 << 52
    if exponent < -14:
        shift += -14 - exponent
        exponent = -15
        if shift > 62:
            shift = 62
    result = <uint32_t>(fraction >> shift)
    rest = fraction & ((<uint64_t>1 << shift) - 1)
    half = <uint64_t>1 << (shift - 1)
    if rounding & 3 == round_nearest:
        away = rest > half or (rest == half and (result & 1))
    elif rounding & 3 == round_up:
        away = rest != 0 and sign == 0
    elif rounding & 3 == round_down:
        away = rest != 0 and sign != 0
    else:
        away = False
    if exponent == -15:
        result += away                                      # may carry into the smallest normal
    else:
        result = (<uint32_t>(exponent + 14) << 10) + result + away
    if result >= 0x7c00:                                    # overflow: infinity, or the largest finite towards zero and if saturated
        if rounding == round_nearest or (rounding == round_up and sign == 0) or (rounding == round_down and sign != 0):
            result = 0x7c00
        else:
            result = 0x7bff
    return sign | result

cdef inline bint half_overflows(double value) noexcept nogil:
    """Whether a finite number rounds to an infinite half."""
    return isfinite(value) and double_to_half(value, round_nearest) & 0x7fff == 0x7c00

cdef inline double round_half(double value) noexcept nogil:
    return half_to_double(double_to_half(value, round_nearest))

cdef inline double quantized_to_half(double value) noexcept nogil:
    """What NIR's ``fquantize2f16`` gives (SPIR-V's OpQuantizeToF16): numbers below the least normal half become zeros, the others halves."""
    return copysign(0.0, value) if fabs(value) < bits_double(<uint64_t>(1023 - 14) << 52) else round_half(value)

# ------------------------------------------------------------------------------------------------------ bfloats, singles
cdef inline float bits_bfloat(uint32_t bits) noexcept nogil:
    return bits_float(bits << 16)

cdef inline uint32_t to_bfloat(float value) noexcept nogil:
    """Round to the nearest bfloat, ties to even; NaNs become quiet."""
    cdef uint32_t bits = float_bits(value)
    if (bits & 0x7fffffff) > 0x7f800000:
        return (bits >> 16) | 0x40
    return (bits + 0x7fff + ((bits >> 16) & 1)) >> 16

cdef inline float double_to_single(double value, uint32_t rounding) noexcept nogil:
    """Round to a single, on a host that rounds to nearest; `rounding` without round_saturate."""
    cdef float nearest = <float>value
    cdef bint away = (rounding == round_up and value > 0) or (rounding == round_down and value < 0)
    if rounding == round_nearest:
        return nearest
    if away and fabs(nearest) < fabs(value):
        return bits_float(float_bits(nearest) + 1)
    if not away and fabs(nearest) > fabs(value):
        return bits_float(float_bits(nearest) - 1)
    return nearest

cdef inline bint single_overflows(double value) noexcept nogil:
    """Whether a finite number rounds to an infinite single."""
    return isfinite(value) and not isfinite(<float>value)

# ---------------------------------------------------------------------------------------------- floats of any of three sizes
cdef inline double float_from_bits(uint64_t bits, uint32_t size) noexcept nogil:
    """The value of a float of 16, 32 or 64 bits."""
    if size == 16:
        return half_to_double(<uint32_t>bits & 0xffff)
    return <double>bits_float(<uint32_t>bits) if size == 32 else bits_double(bits)

cdef inline uint64_t float_to_bits(double value, uint32_t size) noexcept nogil:
    """The bits of the nearest float of 16, 32 or 64 bits."""
    if size == 16:
        return double_to_half(value, round_nearest)
    return float_bits(<float>value) if size == 32 else double_bits(value)
