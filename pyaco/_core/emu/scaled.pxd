from libc.stdint cimport uint32_t

from pyaco._core.common.floats cimport bits_bfloat, bits_float, half_to_double
from pyaco._core.emu.numbers cimport bf8_to_float, fp8_to_float, small_magnitude
from pyaco._core.emu.wave cimport Handler

cdef void fill_scaled(Handler *table) noexcept nogil

cdef enum:                            # of an element
    number_f32, number_f16, number_bf16, number_fp8, number_bf8, number_fp6, number_bf6, number_fp4


cdef inline uint32_t number_width(uint32_t number) noexcept nogil:
    if number == number_f32:
        return 32
    if number <= number_bf16:
        return 16
    return 8 if number <= number_bf8 else (6 if number <= number_bf6 else 4)


cdef inline double number_value(uint32_t number, uint32_t bits) noexcept nogil:
    """A float by its bits; formats of 8 bits and fewer are those of the OCP: FP6 is E2M3, BF6 E3M2, FP4 E2M1, without infinity or NaN."""
    cdef double magnitude
    if number == number_f32:
        return bits_float(bits)
    if number == number_f16:
        return half_to_double(bits & 0xffff)
    if number == number_bf16:
        return bits_bfloat(bits & 0xffff)
    if number == number_fp8:
        return fp8_to_float(bits, 0)
    if number == number_bf8:
        return bf8_to_float(bits & 0xff, 0)
    if number == number_fp6:
        magnitude = small_magnitude(bits & 0x1f, 3, 0)
        return -magnitude if bits & 0x20 else magnitude
    if number == number_bf6:
        magnitude = small_magnitude(bits & 0x1f, 2, -2)
        return -magnitude if bits & 0x20 else magnitude
    magnitude = small_magnitude(bits & 7, 1, 0)
    return -magnitude if bits & 8 else magnitude


cdef inline double exponent_value(uint32_t exponent) noexcept nogil:
    """A scale: a power of two by its 8 bits (E8M0), of which 255 is NaN; 0 is 2 ** -127."""
    if exponent == 255:
        return bits_float(0x7fc00000)
    return bits_float(exponent << 23) if exponent else bits_float(0x00400000)
