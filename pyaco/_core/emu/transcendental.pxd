"""exp2, log2, sine and cosine of what a single or a half holds, in doubles, for results that are rounded to a single or a half once.

They have no branches, so a loop over lanes becomes vectors, and call no library, so every host gets the same bits. Series as any book has
them, cut where the next term is below a double's last bit; `tests/emu/test_transcendental.py` compares them with exact arithmetic. The host
rounds to nearest here; `double_to_single` then rounds as MODE says.
"""
from libc.math cimport INFINITY, NAN, rint
from libc.stdint cimport uint64_t

from pyaco._core.common.floats cimport bits_double, double_bits

cdef enum:
    double_fraction = 52              # bits
    double_bias = 1023

cdef inline double integer_bits(double value) noexcept nogil:
    """An integer of less than 2 ** 51, as a double whose low bits are those of the integer in two's complement."""
    return value + 6755399441055744.0                       # 1.5 * 2 ** 52

cdef inline double cubic(double x, double square, double a, double b, double c, double d) noexcept nogil:
    """Four terms of a series; terms by fours do not wait for each other as those of Horner's scheme do."""
    return (a + b * x) + (c + d * x) * square

cdef inline double exp2_of(double value) noexcept nogil:
    """2 ** value; far out of a single's range it is a finite number that a single does not hold either."""
    cdef double above = value if value > -1000 else -1000
    cdef double limited = above if above < 1000 else 1000
    cdef double whole = rint(limited)
    cdef double rest = limited - whole
    cdef double square = rest * rest
    cdef double fourth = square * square
    # the series of e ** (rest ln 2): ln 2 ** n / n!
    cdef double low = (cubic(rest, square, 1.0, 0.6931471805599453, 0.24022650695910072, 0.05550410866482158)
                       + cubic(rest, square, 0.009618129107628477, 0.0013333558146428443, 0.0001540353039338161, 1.5252733804059841e-05) * fourth)
    cdef double high = (cubic(rest, square, 1.321548679014431e-06, 1.01780860092397e-07, 7.054911620801123e-09, 4.4455382718708116e-10)
                        + (2.5678435993488206e-11 + 1.3691488853904128e-12 * rest) * fourth)
    cdef double power = low + high * (fourth * fourth)
    power = bits_double(double_bits(power) + (double_bits(integer_bits(whole)) << double_fraction))
    power = power if value > -INFINITY else 0
    return power if value < INFINITY else value

cdef inline double tanh_of(double value) noexcept nogil:
    """The hyperbolic tangent; small numbers by the series of the powers of the tangent's argument, whose sum has no cancellation."""
    cdef double size = value if value > 0 else -value
    cdef double limited = size if size < 30 else 30.0
    cdef double square = value * value
    cdef double power = exp2_of(limited * 2.8853900817779268)    # 2 / ln 2
    cdef double large = 1 - 2 / (power + 1)
    # the series: 2 ** 2n (2 ** 2n - 1) B(2n) / (2n)!
    cdef double tail = 0.0088632355299021966 + square * (-0.0035921280365724810 + square * (0.0014558343870513183 + square * (
        -0.00059002744094558598 + square * 0.00023912911424355248)))
    cdef double series = value * (1 + square * (-0.33333333333333333 + square * (0.13333333333333333 + square * (
        -0.053968253968253968 + square * (0.021869488536155203 + square * (-tail))))))
    cdef double signed_large = large if value > 0 else -large
    cdef double result = series if size < 0.125 else signed_large
    return result if value == value else value

cdef inline double log2_of(double value) noexcept nogil:
    """The logarithm of a double that is no denormal: -infinity of 0, NaN of what is negative."""
    cdef uint64_t bits = double_bits(value)
    # an exponent and a mantissa between the roots of 1/2 and 2, whose bits are counted from those of the lower one
    cdef uint64_t exponent = (bits - 0x3fe6a09e667f3bcdULL + (<uint64_t>double_bias << double_fraction)) >> double_fraction
    cdef double mantissa = bits_double(bits - (exponent << double_fraction) + (<uint64_t>double_bias << double_fraction))
    cdef double whole = bits_double(exponent | 0x4330000000000000ULL) - (4503599627370496.0 + double_bias)
    cdef double ratio = (mantissa - 1) / (mantissa + 1)
    cdef double square = ratio * ratio
    cdef double fourth = square * square
    cdef double eighth = fourth * fourth
    # the series of the inverse hyperbolic tangent: 2 / (n ln 2) for odd n
    cdef double low = (cubic(square, fourth, 2.8853900817779268, 0.9617966939259756, 0.5770780163555853, 0.4121985831111324)
                       + cubic(square, fourth, 0.3205988979753252, 0.2623081892525388, 0.22195308321368667, 0.19235933878519512) * eighth)
    cdef double high = cubic(square, fourth, 0.16972882833987804, 0.15186263588304877, 0.1373995277037108, 0.12545174268599682)
    cdef double result = whole + ratio * (low + high * (eighth * eighth))
    result = result if value > 0 else (-INFINITY if value == 0 else NAN)
    return result if value < INFINITY else value

cdef inline double sine_of_quarters(double turns, uint64_t quarters) noexcept nogil:
    """The sine of turns and quarters of a turn: exact at the quarters."""
    cdef double fraction = turns - rint(turns)              # exact, as what is left of a quarter
    cdef double quarter = rint(4 * fraction)
    cdef double rest = fraction - 0.25 * quarter
    cdef double square = rest * rest
    cdef double fourth = square * square
    cdef double eighth = fourth * fourth
    # the series of sin(2 pi rest) and cos(2 pi rest)
    cdef double sine = rest * (cubic(square, fourth, 6.283185307179586, -41.34170224039976, 81.60524927607506, -76.70585975306139)
                               + cubic(square, fourth, 42.058693944897655, -15.09464257682299, 3.819952584848282, -0.7181223017785006) * eighth)
    cdef double cosine = (cubic(square, fourth, 1.0, -19.739208802178716, 64.9393940226683, -85.45681720669373)
                          + cubic(square, fourth, 60.24464137187666, -26.4262567833744, 7.903536371318469, -1.714390711088672) * eighth
                          + 0.28200596845579123 * (eighth * eighth))
    cdef uint64_t number = double_bits(integer_bits(quarter)) + quarters
    cdef double result = cosine if number & 1 else sine
    return bits_double(double_bits(result) ^ (number & 2) << 62)

cdef inline double sine_of_revolutions(double turns) noexcept nogil:
    """sin(2 pi turns), which keeps the sign of a zero; NaN of infinities."""
    cdef double sine = sine_of_quarters(turns, 0)
    return sine if turns != 0 else turns

cdef inline double cosine_of_revolutions(double turns) noexcept nogil:
    return sine_of_quarters(turns, 1)
