"""The value of NIR ALU opcodes on constants: what constant folding and tests use.

Floats are computed in double and rounded once to the result's size, which is correct rounding for every basic operation
on 16 and 32 bits; 32-bit fused multiply-add goes through fmaf. Opcodes that lower_alu.txt
replaces by several operations are rounded after each of them. Integers wrap. Opcodes mean what Mesa's NIR documentation
(docs/nir/alu.rst) and the constant expressions of its opcodes say; conversions of floats to integers saturate, as AMD's
instructions do. Opcodes that the group [define] of lower_alu.txt has are computed by its rules, those with booleans of more than one bit
by the opcode with 1-bit booleans (``alu_one_bit``).
"""
from libc.math cimport (
    INFINITY, ceil, copysign, cos, exp2, fabs, floor, fma, fmax, fmin, frexp, isnan, ldexp, log2, nearbyint, pow, sin,
    sqrt, trunc,
)
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from nir_opcodes cimport *
from pyaco._core.common.bits cimport leading_zeros64, low_mask, lowest_bit, popcount, sign_extended
from pyaco._core.common.floats cimport (
    double_to_half, float_bits, float_from_bits, float_to_bits, half_to_double, quantized_to_half, round_nearest, round_zero,
)
from pyaco._core.ir.shader cimport ShaderData, ValueId, alu_is_vector, source_value
from pyaco._core.nir.opcode_functions cimport byte_permute, interleaved, masked_difference, permute_nv, unsigned_float
from pyaco._core.nir.rule_trees cimport defined_value, is_defined

cdef extern from "<math.h>" nogil:
    float fmaf(float a, float b, float c)

cdef enum:
    base_int = 1
    base_uint = 2
    base_float = 3
    base_bool = 4


cdef inline double _sign(double a) noexcept nogil:
    if isnan(a):
        return 0.0
    return a if a == 0 else copysign(1.0, a)


cdef bint _float_unary(int opcode, double a, double *r) noexcept nogil:
    cdef int exponent
    if opcode == alu_fneg:
        r[0] = -a
    elif opcode == alu_fabs:
        r[0] = fabs(a)
    elif opcode == alu_fsat:
        r[0] = 0.0 if isnan(a) or a <= 0 else (1.0 if a > 1 else a)
    elif opcode == alu_frcp:
        r[0] = 1.0 / a
    elif opcode == alu_frsq:
        r[0] = 1.0 / sqrt(a)
    elif opcode == alu_fsqrt:
        r[0] = sqrt(a)
    elif opcode == alu_fexp2:
        r[0] = exp2(a)
    elif opcode == alu_flog2:
        r[0] = log2(a)
    elif opcode == alu_ftrunc:
        r[0] = trunc(a)
    elif opcode == alu_fceil:
        r[0] = ceil(a)
    elif opcode == alu_ffloor:
        r[0] = floor(a)
    elif opcode == alu_ffract:
        r[0] = a - floor(a)
    elif opcode == alu_fround_even:
        r[0] = nearbyint(a)
    elif opcode == alu_fsign:
        r[0] = _sign(a)
    elif opcode == alu_fsin:
        r[0] = sin(a)
    elif opcode == alu_fcos:
        r[0] = cos(a)
    elif opcode == alu_fsin_amd:
        r[0] = sin(a * 6.283185307179586)
    elif opcode == alu_fcos_amd:
        r[0] = cos(a * 6.283185307179586)
    elif opcode == alu_fcanonicalize:
        r[0] = a
    elif opcode == alu_frexp_sig:
        r[0] = frexp(a, &exponent)
    elif opcode in (alu_fddx, alu_fddx_coarse, alu_fddx_fine, alu_fddx_must_abs_mali,
                    alu_fddy, alu_fddy_coarse, alu_fddy_fine, alu_fddy_must_abs_mali):
        r[0] = 0.0                # what is constant changes nowhere
    else:
        return False
    return True


cdef inline double _rounded(double value, int size) noexcept nogil:
    return float_from_bits(float_to_bits(value, size), size)


cdef inline double _minimum(double a, double b) noexcept nogil:
    """The lesser number; the C library's fmin keeps a signaling NaN."""
    return b if isnan(a) else (a if isnan(b) else fmin(a, b))


cdef inline double _maximum(double a, double b) noexcept nogil:
    return b if isnan(a) else (a if isnan(b) else fmax(a, b))


cdef bint _float_binary(int opcode, int bits, double a, double b, double *r) noexcept nogil:
    if opcode == alu_fadd:
        r[0] = a + b
    elif opcode == alu_fsub:
        r[0] = a - b
    elif opcode == alu_fmul:
        r[0] = a * b
    elif opcode == alu_fmulz:
        r[0] = 0.0 if a == 0 or b == 0 else a * b
    elif opcode == alu_fdiv:
        r[0] = a / b
    elif opcode == alu_fmod:
        r[0] = a - _rounded(b * floor(_rounded(a / b, bits)), bits)
    elif opcode == alu_frem:
        r[0] = a - _rounded(b * trunc(_rounded(a / b, bits)), bits)
    elif opcode == alu_fpow:
        r[0] = pow(a, b)
    elif opcode == alu_fmin:
        r[0] = _minimum(a, b)
    elif opcode == alu_fmax:
        r[0] = _maximum(a, b)
    else:
        return False
    return True


cdef double _median(double a, double b, double c) noexcept nogil:
    return _maximum(_minimum(a, b), _minimum(_maximum(a, b), c))


cdef bint _float_ternary(int opcode, int bits, double a, double b, double c, double *r) noexcept nogil:
    if opcode == alu_ffma or opcode == alu_ffmaz:
        if opcode == alu_ffmaz and (a == 0 or b == 0):
            r[0] = 0.0 + c        # NIR: -0 becomes +0. RDNA's v_fma_dx9_zero_f32 gives -0 for it.
        else:
            r[0] = fmaf(<float>a, <float>b, <float>c) if bits == 32 else fma(a, b, c)
    elif opcode == alu_flrp:
        r[0] = _rounded(a * _rounded(1.0 - c, bits), bits) + _rounded(b * c, bits)
    elif opcode == alu_fmin3:
        r[0] = _minimum(a, _minimum(b, c))
    elif opcode == alu_fmax3:
        r[0] = _maximum(a, _maximum(b, c))
    elif opcode == alu_fmed3:
        r[0] = _median(a, b, c)
    else:
        return False
    return True


cdef int _float_compare(int opcode, double a, double b) noexcept nogil:
    """The truth of a float comparison; -1 for another opcode."""
    cdef bint unordered = isnan(a) or isnan(b)
    if opcode == alu_flt:
        return a < b
    if opcode == alu_fge:
        return a >= b
    if opcode == alu_feq:
        return a == b
    if opcode == alu_fneu:
        return a != b
    if opcode == alu_fltu:
        return unordered or a < b
    if opcode == alu_fgeu:
        return unordered or a >= b
    if opcode == alu_fequ:
        return unordered or a == b
    if opcode == alu_fneo:
        return not unordered and a != b
    if opcode == alu_ford:
        return not unordered
    if opcode == alu_funord:
        return unordered
    return -1


cdef int _highest_bit(uint64_t a) noexcept nogil:
    """Position of the highest bit that is set; -1 if none is."""
    return 63 - <int>leading_zeros64(a) if a else -1


cdef uint64_t _reverse(uint64_t a, int bits) noexcept nogil:
    cdef uint64_t r = 0
    cdef int i
    for i in range(bits):
        r |= ((a >> i) & 1) << (bits - 1 - i)
    return r


cdef bint _integer_unary(int opcode, int bits, uint64_t a, uint64_t *r) noexcept nogil:
    cdef int64_t s = sign_extended(a, bits)
    cdef int high
    if opcode == alu_mov:
        r[0] = a
    elif opcode == alu_ineg:
        r[0] = 0 - a
    elif opcode == alu_inot:
        r[0] = ~a
    elif opcode == alu_isign:
        r[0] = <uint64_t>(<int64_t>(s > 0) - <int64_t>(s < 0))
    elif opcode == alu_iabs:
        r[0] = a if s >= 0 else 0 - a
    elif opcode == alu_bitfield_reverse:
        r[0] = _reverse(a, bits)
    elif opcode == alu_bit_count:
        r[0] = popcount(a)
    elif opcode == alu_ufind_msb:
        r[0] = <uint64_t><int64_t>_highest_bit(a)
    elif opcode == alu_ufind_msb_rev:
        high = _highest_bit(a)
        r[0] = <uint64_t><int64_t>(-1 if high < 0 else bits - 1 - high)
    elif opcode == alu_ifind_msb:
        r[0] = <uint64_t><int64_t>_highest_bit(~a & low_mask(bits) if s < 0 else a)
    elif opcode == alu_ifind_msb_rev:
        high = _highest_bit(~a & low_mask(bits) if s < 0 else a)
        r[0] = <uint64_t><int64_t>(-1 if high < 0 else bits - 1 - high)
    elif opcode == alu_find_lsb:
        r[0] = <uint64_t><int64_t>_highest_bit(lowest_bit(a))
    elif opcode == alu_uclz:
        r[0] = bits - 1 - _highest_bit(a)
    else:
        return False
    return True


cdef uint64_t _clamp_signed(int64_t value, int64_t overflow_sign, bint overflow, int bits) noexcept nogil:
    cdef int64_t high = <int64_t>(low_mask(bits) >> 1)
    if overflow:
        return <uint64_t>(-high - 1 if overflow_sign < 0 else high)
    if value > high:
        return <uint64_t>high
    if value < -high - 1:
        return <uint64_t>(-high - 1)
    return <uint64_t>value


cdef uint64_t _multiply_high(uint64_t a, uint64_t b) noexcept nogil:
    cdef uint64_t al = a & 0xffffffffU
    cdef uint64_t ah = a >> 32
    cdef uint64_t bl = b & 0xffffffffU
    cdef uint64_t bh = b >> 32
    cdef uint64_t middle = ah * bl + ((al * bl) >> 32)
    cdef uint64_t cross = al * bh + (middle & 0xffffffffU)
    return ah * bh + (middle >> 32) + (cross >> 32)


cdef bint _division(int opcode, int bits, uint64_t a, uint64_t b, uint64_t *r) noexcept nogil:
    cdef int64_t x = sign_extended(a, bits)
    cdef int64_t y = sign_extended(b, bits)
    cdef int64_t remainder
    if opcode == alu_udiv:
        r[0] = a // b if b else 0
    elif opcode == alu_umod:
        r[0] = a % b if b else 0
    elif y == 0:
        r[0] = 0
    elif y == -1:
        r[0] = 0 - a if opcode == alu_idiv else 0
    elif opcode == alu_idiv:
        r[0] = <uint64_t>(x // y)
    else:
        remainder = x % y
        if opcode == alu_imod and remainder and (remainder < 0) != (y < 0):
            remainder += y
        r[0] = <uint64_t>remainder
    return True


cdef bint _saturating(int opcode, int bits, uint64_t a, uint64_t b, uint64_t *r) noexcept nogil:
    cdef int64_t x = sign_extended(a, bits)
    cdef int64_t y = sign_extended(b, bits)
    cdef uint64_t total
    cdef int64_t signed_total
    if opcode == alu_uadd_sat:
        total = (a + b) & low_mask(bits)
        r[0] = low_mask(bits) if total < a else total
    elif opcode == alu_usub_sat:
        r[0] = a - b if a > b else 0
    elif opcode == alu_iadd_sat:
        signed_total = <int64_t>(<uint64_t>x + <uint64_t>y)
        r[0] = _clamp_signed(signed_total, x, (x < 0) == (y < 0) and (signed_total < 0) != (x < 0), bits)
    else:
        signed_total = <int64_t>(<uint64_t>x - <uint64_t>y)
        r[0] = _clamp_signed(signed_total, x, (x < 0) != (y < 0) and (signed_total < 0) != (x < 0), bits)
    return True


cdef bint _arithmetic(int opcode, int bits, uint64_t a, uint64_t b, uint64_t *r) noexcept nogil:
    """Sums, minima and maxima, carries, absolute differences and averages."""
    cdef int64_t x = sign_extended(a, bits)
    cdef int64_t y = sign_extended(b, bits)
    if opcode == alu_iadd:
        r[0] = a + b
    elif opcode == alu_isub:
        r[0] = a - b
    elif opcode == alu_imul:
        r[0] = a * b
    elif opcode == alu_imin:
        r[0] = a if x < y else b
    elif opcode == alu_imax:
        r[0] = a if x > y else b
    elif opcode == alu_umin:
        r[0] = a if a < b else b
    elif opcode == alu_umax:
        r[0] = a if a > b else b
    elif opcode == alu_uadd_carry:
        r[0] = ((a + b) & low_mask(bits)) < a
    elif opcode == alu_usub_borrow:
        r[0] = a < b
    elif opcode == alu_uabs_usub:
        r[0] = a - b if a > b else b - a
    elif opcode == alu_uabs_isub:
        r[0] = a - b if x > y else b - a
    elif opcode == alu_uhadd:
        r[0] = (a & b) + ((a ^ b) >> 1)
    elif opcode == alu_urhadd:
        r[0] = (a | b) - ((a ^ b) >> 1)
    elif opcode == alu_ihadd:
        r[0] = <uint64_t>((x & y) + ((x ^ y) >> 1))
    elif opcode == alu_irhadd:
        r[0] = <uint64_t>((x | y) - ((x ^ y) >> 1))
    else:
        return False
    return True


cdef bint _bitwise(int opcode, int bits, uint64_t a, uint64_t b, uint64_t *r) noexcept nogil:
    """Logic, shifts, extraction and insertion of bytes and words."""
    cdef int shift = <int>(b & <uint64_t>(bits - 1))
    if opcode == alu_iand:
        r[0] = a & b
    elif opcode == alu_ior:
        r[0] = a | b
    elif opcode == alu_ixor:
        r[0] = a ^ b
    elif opcode == alu_ishl:
        r[0] = a << shift
    elif opcode == alu_ishr:
        r[0] = <uint64_t>(sign_extended(a, bits) >> shift)
    elif opcode == alu_ushr:
        r[0] = a >> shift
    elif opcode == alu_urol or opcode == alu_uror:
        if opcode == alu_uror:
            shift = (bits - shift) & (bits - 1)
        r[0] = (a << shift) | (a >> (bits - shift) if shift else 0)
    elif opcode == alu_bfm:
        r[0] = ((<uint64_t>1 << (a & 31)) - 1) << (b & 31)
    elif opcode == alu_extract_u8:
        r[0] = (a >> (8 * b)) & 0xff
    elif opcode == alu_extract_i8:
        r[0] = <uint64_t>sign_extended((a >> (8 * b)) & 0xff, 8)
    elif opcode == alu_extract_u16:
        r[0] = (a >> (16 * b)) & 0xffff
    elif opcode == alu_extract_i16:
        r[0] = <uint64_t>sign_extended((a >> (16 * b)) & 0xffff, 16)
    elif opcode == alu_insert_u8:
        r[0] = (a & 0xff) << (8 * b)
    elif opcode == alu_insert_u16:
        r[0] = (a & 0xffff) << (16 * b)
    elif opcode == alu_interleave_agx:
        r[0] = interleaved(a, b)
    elif opcode == alu_pack_32_to_r11g11b10_v3d:
        r[0] = unsigned_float(a & 0xffff, 4) | unsigned_float(a >> 16, 4) << 11 | unsigned_float(b & 0xffff, 5) << 22
    else:
        return False
    return True


cdef bint _product(int opcode, int bits, uint64_t a, uint64_t b, uint64_t *r) noexcept nogil:
    """Products wider or narrower than their operands, and high halves of products."""
    cdef int64_t x = sign_extended(a, bits)
    cdef int64_t y = sign_extended(b, bits)
    cdef uint64_t high
    if opcode == alu_umul_high:
        high = _multiply_high(a, b)
        r[0] = high if bits == 64 else (a * b) >> bits
    elif opcode == alu_imul_high:
        high = _multiply_high(<uint64_t>x, <uint64_t>y)
        if x < 0:
            high -= <uint64_t>y
        if y < 0:
            high -= <uint64_t>x
        r[0] = high if bits == 64 else <uint64_t>((x * y) >> bits)
    elif opcode == alu_umul24 or opcode == alu_umul24_relaxed:
        r[0] = (a & 0xffffff) * (b & 0xffffff)
    elif opcode == alu_imul24 or opcode == alu_imul24_relaxed:
        r[0] = <uint64_t>(sign_extended(a & 0xffffff, 24) * sign_extended(b & 0xffffff, 24))
    elif opcode == alu_umul_16x16:
        r[0] = (a & 0xffff) * (b & 0xffff)
    elif opcode == alu_imul_16x16:
        r[0] = <uint64_t>(sign_extended(a & 0xffff, 16) * sign_extended(b & 0xffff, 16))
    elif opcode == alu_imul_2x32_64:
        r[0] = <uint64_t>(x * y)
    elif opcode == alu_umul_2x32_64:
        r[0] = a * b
    else:
        return False
    return True


cdef bint _integer_binary(int opcode, int bits, uint64_t a, uint64_t b, uint64_t *r) noexcept nogil:
    if opcode == alu_udiv or opcode == alu_umod or opcode == alu_idiv or opcode == alu_irem or opcode == alu_imod:
        return _division(opcode, bits, a, b, r)
    if opcode == alu_uadd_sat or opcode == alu_usub_sat or opcode == alu_iadd_sat or opcode == alu_isub_sat:
        return _saturating(opcode, bits, a, b, r)
    return _arithmetic(opcode, bits, a, b, r) or _bitwise(opcode, bits, a, b, r) or _product(opcode, bits, a, b, r)


cdef int _integer_compare(int opcode, int bits, uint64_t a, uint64_t b) noexcept nogil:
    if opcode == alu_ieq:
        return a == b
    if opcode == alu_ine:
        return a != b
    if opcode == alu_ilt:
        return sign_extended(a, bits) < sign_extended(b, bits)
    if opcode == alu_ige:
        return sign_extended(a, bits) >= sign_extended(b, bits)
    if opcode == alu_ult:
        return a < b
    if opcode == alu_uge:
        return a >= b
    if opcode == alu_bitz:
        return (a >> (b & <uint64_t>(bits - 1))) & 1 == 0
    if opcode == alu_bitnz:
        return (a >> (b & <uint64_t>(bits - 1))) & 1 != 0
    return -1


cdef uint64_t _extract_field(uint64_t a, uint64_t offset, uint64_t width, bint is_signed, int bits) noexcept nogil:
    offset &= <uint64_t>(bits - 1)
    width &= <uint64_t>(bits - 1)
    if width == 0:
        return 0
    a >>= offset
    if offset + width >= <uint64_t>bits:
        # The hardware's bfe shifts the whole dword when the field reaches its end.
        return <uint64_t>sign_extended(a, <int>(bits - offset)) if is_signed else a
    a &= (<uint64_t>1 << width) - 1
    return <uint64_t>sign_extended(a, <int>width) if is_signed else a


cdef bint _integer_ternary(int opcode, int bits, uint64_t a, uint64_t b, uint64_t c, uint64_t *r) noexcept nogil:
    cdef int64_t x = sign_extended(a, bits)
    cdef int64_t y = sign_extended(b, bits)
    cdef int64_t z = sign_extended(c, bits)
    if opcode == alu_iadd3:
        r[0] = a + b + c
    elif opcode == alu_umad24:
        r[0] = (a & 0xffffff) * (b & 0xffffff) + c
    elif opcode == alu_imin3:
        r[0] = <uint64_t>min(x, min(y, z))
    elif opcode == alu_imax3:
        r[0] = <uint64_t>max(x, max(y, z))
    elif opcode == alu_imed3:
        r[0] = <uint64_t>max(min(x, y), min(max(x, y), z))
    elif opcode == alu_umin3:
        r[0] = min(a, min(b, c))
    elif opcode == alu_umax3:
        r[0] = max(a, max(b, c))
    elif opcode == alu_umed3:
        r[0] = max(min(a, b), min(max(a, b), c))
    elif opcode == alu_bitfield_select:
        r[0] = (a & b) | (~a & c)
    elif opcode == alu_bfi:
        r[0] = (((b << _highest_bit(lowest_bit(a))) & a) | (c & ~a)) if a else c
    elif opcode == alu_ubfe or opcode == alu_ibfe:
        r[0] = _extract_field(a, b, c, opcode == alu_ibfe, 32)
    elif opcode == alu_ubitfield_extract or opcode == alu_ibitfield_extract:
        r[0] = a if c >= <uint64_t>bits else _extract_field(a, b, c, opcode == alu_ibitfield_extract, bits)
    elif opcode == alu_shfr:
        r[0] = ((a << 32) | b) >> (c & 31)
    elif opcode == alu_alignbyte_amd:
        r[0] = ((a << 32) | b) >> (8 * (c & 3))
    elif opcode == alu_byte_perm_amd:
        r[0] = byte_permute(a, b, c)
    elif opcode == alu_prmt_nv:
        r[0] = permute_nv(a, b, c)
    elif opcode == alu_msad_4x8:
        r[0] = c + masked_difference(a, b)
    else:
        return False
    return True


cdef int64_t _dot(uint64_t a, uint64_t b, int lanes, bint signed_a, bint signed_b) noexcept nogil:
    cdef int64_t total = 0
    cdef int width = 32 // lanes
    cdef uint64_t x
    cdef uint64_t y
    cdef int i
    for i in range(lanes):
        x = (a >> (i * width)) & low_mask(width)
        y = (b >> (i * width)) & low_mask(width)
        total += (sign_extended(x, width) if signed_a else <int64_t>x) * (sign_extended(y, width) if signed_b else <int64_t>y)
    return total


cdef bint _dot_product(int opcode, uint64_t a, uint64_t b, uint64_t c, uint64_t *r) noexcept nogil:
    cdef int64_t accumulator = sign_extended(c, 32)
    cdef int64_t total
    if opcode == alu_sdot_4x8_iadd or opcode == alu_sdot_4x8_iadd_sat:
        total = _dot(a, b, 4, True, True) + accumulator
    elif opcode == alu_sudot_4x8_iadd or opcode == alu_sudot_4x8_iadd_sat:
        total = _dot(a, b, 4, True, False) + accumulator
    elif opcode == alu_sdot_2x16_iadd or opcode == alu_sdot_2x16_iadd_sat:
        total = _dot(a, b, 2, True, True) + accumulator
    elif opcode == alu_udot_4x8_uadd or opcode == alu_udot_4x8_uadd_sat:
        total = _dot(a, b, 4, False, False) + <int64_t>c
    elif opcode == alu_udot_2x16_uadd or opcode == alu_udot_2x16_uadd_sat:
        total = _dot(a, b, 2, False, False) + <int64_t>c
    else:
        return False
    if opcode == alu_udot_4x8_uadd_sat or opcode == alu_udot_2x16_uadd_sat:
        total = min(total, <int64_t>0xffffffffU)
    elif (opcode == alu_sdot_4x8_iadd_sat or opcode == alu_sudot_4x8_iadd_sat or opcode == alu_sdot_2x16_iadd_sat):
        total = max(min(total, <int64_t>0x7fffffff), -<int64_t>0x80000000ULL)
    r[0] = <uint64_t>total
    return True


cdef uint64_t _float_to_integer(double a, int bits, bint is_signed) noexcept nogil:
    cdef double limit = ldexp(1.0, bits - 1 if is_signed else bits)
    a = trunc(a)
    if isnan(a):
        return 0
    if a >= limit:
        return low_mask(bits) >> 1 if is_signed else low_mask(bits)
    if is_signed:
        return <uint64_t>1 << (bits - 1) if a < -limit else <uint64_t><int64_t>a
    return 0 if a <= 0 else <uint64_t>a


cdef uint64_t _integer_to_float(uint64_t a, int from_bits, bint is_signed, int bits) noexcept nogil:
    cdef int64_t s = sign_extended(a, from_bits)
    if bits == 32:
        # Straight to float: through double, 64-bit integers would round twice.
        return float_bits(<float>s if is_signed else <float>a)
    return float_to_bits(<double>s if is_signed else <double>a, bits)


cdef bint _conversion(int opcode, int from_bits, int to_bits, uint64_t a, uint64_t *r) noexcept nogil:
    cdef int from_base = alu_input_types_flat[opcode * alu_max_inputs] >> 8
    cdef int to_base = alu_output_type[opcode] >> 8
    if from_base == base_float and to_base == base_float:
        if opcode == alu_f2f16_rtz:
            r[0] = double_to_half(float_from_bits(a, from_bits), round_zero)
        else:
            r[0] = float_to_bits(float_from_bits(a, from_bits), to_bits)
    elif from_base == base_float and to_bits == 1:
        r[0] = trunc(float_from_bits(a, from_bits)) != 0
    elif from_base == base_float:
        r[0] = _float_to_integer(float_from_bits(a, from_bits), to_bits, to_base == base_int)
    elif from_base == base_bool and to_base == base_float:
        r[0] = float_to_bits(1.0 if a else 0.0, to_bits)
    elif to_base == base_float:
        r[0] = _integer_to_float(a, from_bits, from_base == base_int, to_bits)
    elif to_base == base_bool:
        r[0] = (a != 0) if to_bits == 1 else (low_mask(to_bits) if a else 0)
    elif from_base == base_bool:
        r[0] = a != 0
    else:
        r[0] = <uint64_t>sign_extended(a, from_bits) if from_base == base_int else a
    return True


cdef inline double _clamped(double a, double low, double high) noexcept nogil:
    return low if isnan(a) or a < low else (high if a > high else a)


cdef bint _normalized(int opcode, int bits, const uint64_t *a, uint64_t *r) noexcept nogil:
    """Floats to and from normalized integers of 8 or 16 bits: -1 to 1 if signed, 0 to 1 if unsigned."""
    cdef bint packs = opcode == alu_pack_snorm_2x16 or opcode == alu_pack_unorm_2x16 or opcode == alu_pack_snorm_4x8 \
        or opcode == alu_pack_unorm_4x8
    cdef bint is_signed = opcode == alu_pack_snorm_2x16 or opcode == alu_pack_snorm_4x8 or opcode == alu_unpack_snorm_2x16 \
        or opcode == alu_unpack_snorm_4x8
    cdef bint is_4x8 = opcode == alu_pack_snorm_4x8 or opcode == alu_pack_unorm_4x8 or opcode == alu_unpack_snorm_4x8 \
        or opcode == alu_unpack_unorm_4x8
    cdef int width = 8 if is_4x8 else 16
    cdef double one = <double>(low_mask(width) >> is_signed)
    cdef uint64_t field
    cdef uint64_t total = 0
    cdef int i
    if not packs and not is_signed and opcode != alu_unpack_unorm_2x16 and opcode != alu_unpack_unorm_4x8:
        return False
    for i in range(32 // width):
        if packs:
            total |= (<uint64_t><int64_t>nearbyint(_clamped(float_from_bits(a[i], bits), -1 if is_signed else 0, 1) * one)
                      & low_mask(width)) << (width * i)
        else:
            field = (a[0] >> (width * i)) & low_mask(width)
            r[i] = float_to_bits(_clamped((<double>sign_extended(field, width) if is_signed else <double>field) / one, -1, 1), 32)
    if packs:
        r[0] = total
    return True


cdef bint _pack(int opcode, const uint64_t *const *o, uint64_t *r) noexcept nogil:
    """Opcodes with fixed component counts that pack and unpack."""
    cdef int i
    cdef uint64_t total = 0
    cdef const uint64_t *a = o[0]
    if opcode == alu_pack_half_2x16:
        r[0] = double_to_half(float_from_bits(a[0], 32), round_nearest) | (double_to_half(float_from_bits(a[1], 32), round_nearest) << 16)
    elif opcode == alu_unpack_half_2x16:
        r[0] = float_to_bits(half_to_double(<uint32_t>a[0] & 0xffff), 32)
        r[1] = float_to_bits(half_to_double(<uint32_t>(a[0] >> 16)), 32)
    elif opcode == alu_pack_32_2x16:
        r[0] = a[0] | (a[1] << 16)
    elif opcode == alu_pack_32_4x8:
        r[0] = a[0] | (a[1] << 8) | (a[2] << 16) | (a[3] << 24)
    elif opcode == alu_mqsad_4x8:
        for i in range(4):
            r[i] = (o[2][i] + masked_difference(a[0], (o[1][0] | o[1][1] << 32) >> (8 * i))) & 0xffffffffU
    elif opcode == alu_pack_64_2x32:
        r[0] = a[0] | (a[1] << 32)
    elif opcode == alu_pack_64_4x16:
        r[0] = a[0] | (a[1] << 16) | (a[2] << 32) | (a[3] << 48)
    elif opcode == alu_unpack_32_2x16 or opcode == alu_unpack_64_4x16:
        for i in range(2 if opcode == alu_unpack_32_2x16 else 4):
            r[i] = (a[0] >> (16 * i)) & 0xffff
    elif opcode == alu_unpack_32_4x8:
        for i in range(4):
            r[i] = (a[0] >> (8 * i)) & 0xff
    elif opcode == alu_unpack_64_2x32 or opcode == alu_unpack_double_2x32_dxil:
        r[0] = a[0] & 0xffffffffU
        r[1] = a[0] >> 32
    elif opcode == alu_pack_uint_2x16:
        r[0] = min(a[0], <uint64_t>0xffff) | (min(a[1], <uint64_t>0xffff) << 16)
    elif opcode == alu_pack_sint_2x16:
        for i in range(2):
            total |= (<uint64_t>max(min(sign_extended(a[i], 32), <int64_t>32767), <int64_t>-32768) & 0xffff) << (16 * i)
        r[0] = total
    else:
        return False
    return True


cdef bint _pack_halves(int opcode, const uint64_t *const *o, uint64_t *r) noexcept nogil:
    """Two floats as halves, rounded to nearest even or toward zero."""
    cdef uint32_t rounding = round_nearest if opcode == alu_pack_half_2x16_split else <uint32_t>round_zero
    if opcode != alu_pack_half_2x16_split and opcode != alu_pack_half_2x16_rtz_split:
        return False
    r[0] = double_to_half(float_from_bits(o[0][0], 32), rounding) | double_to_half(float_from_bits(o[1][0], 32), rounding) << 16
    return True


cdef bint _cube(int opcode, const uint64_t *a, uint64_t *r) noexcept nogil:
    """Coordinates tc and sc in the face of a cube, twice the coordinate along its axis, its number (RDNA2 ISA, V_CUBE*_F32)."""
    cdef double x = float_from_bits(a[0], 32)
    cdef double y = float_from_bits(a[1], 32)
    cdef double z = float_from_bits(a[2], 32)
    cdef bint is_z = fabs(z) >= fabs(x) and fabs(z) >= fabs(y)
    cdef bint is_y = not is_z and fabs(y) >= fabs(x)
    cdef double axis = z if is_z else (y if is_y else x)
    cdef double sign = -1.0 if axis < 0 else 1.0
    if opcode != alu_cube_amd:
        return False
    r[0] = float_to_bits(sign * z if is_y else -y, 32)
    r[1] = float_to_bits(sign * x if is_z else (x if is_y else -sign * z), 32)
    r[2] = float_to_bits(2 * axis, 32)
    r[3] = float_to_bits((4 if is_z else (2 if is_y else 0)) + (1 if axis < 0 else 0), 32)
    return True


cdef bint _split_pack(int opcode, uint64_t a, uint64_t b, uint64_t *r) noexcept nogil:
    if opcode == alu_pack_32_2x16_split:
        r[0] = a | (b << 16)
    elif opcode == alu_pack_64_2x32_split:
        r[0] = a | (b << 32)
    elif opcode == alu_unpack_half_2x16_split_x:
        r[0] = float_to_bits(half_to_double(<uint32_t>a & 0xffff), 32)
    elif opcode == alu_unpack_half_2x16_split_y:
        r[0] = float_to_bits(half_to_double(<uint32_t>(a >> 16) & 0xffff), 32)
    elif opcode == alu_unpack_32_2x16_split_x:
        r[0] = a & 0xffff
    elif opcode == alu_unpack_32_2x16_split_y:
        r[0] = a >> 16
    elif opcode == alu_unpack_64_2x32_split_x:
        r[0] = a & 0xffffffffU
    elif opcode == alu_unpack_64_2x32_split_y:
        r[0] = a >> 32
    else:
        return False
    return True


cdef bint _float_mixed(int opcode, int bits, uint64_t a, uint64_t b, uint64_t *r) noexcept nogil:
    """Float opcodes with an operand or result that is not a float of the same size."""
    cdef double value = float_from_bits(a, bits)
    cdef int exponent
    if opcode == alu_ldexp:
        r[0] = float_to_bits(ldexp(value, <int><int32_t>b), bits)
    elif opcode == alu_frexp_exp:
        frexp(value, &exponent)
        r[0] = <uint64_t><int64_t>(exponent if value != 0 and fabs(value) != INFINITY and not isnan(value) else 0)
    elif opcode == alu_fquantize2f16:
        r[0] = float_to_bits(quantized_to_half(value), bits)
    else:
        return False
    return True


cdef bint _component(int opcode, int bits, int result_bits, const uint64_t *v, int count, uint64_t *r) noexcept nogil:
    """One component of a per-component opcode."""
    cdef int base = alu_input_types_flat[opcode * alu_max_inputs] >> 8
    cdef int truth
    cdef int shift
    cdef uint64_t field
    cdef double value
    if alu_properties[opcode] & alu_property_conversion:
        return _conversion(opcode, bits, result_bits, v[0], r)
    if opcode == alu_bcsel:
        r[0] = v[1] if v[0] else v[2]
        return True
    if opcode == alu_bitfield_insert:
        field = low_mask(<int>min(v[3], <uint64_t>bits))
        shift = <int>(v[2] & <uint64_t>(bits - 1))
        r[0] = (v[0] & ~(field << shift)) | ((v[1] & field) << shift)
        return True
    if opcode == alu_pack_32_4x8_split:
        r[0] = v[0] | (v[1] << 8) | (v[2] << 16) | (v[3] << 24)
        return True
    if _split_pack(opcode, v[0], v[1] if count > 1 else 0, r):
        return True
    if base == base_float:
        if _float_mixed(opcode, bits, v[0], v[1] if count > 1 else 0, r):
            return True
        if count == 1:
            if not _float_unary(opcode, float_from_bits(v[0], bits), &value):
                return False
        elif count == 2:
            truth = _float_compare(opcode, float_from_bits(v[0], bits), float_from_bits(v[1], bits))
            if truth >= 0:
                r[0] = truth
                return True
            if not _float_binary(opcode, bits, float_from_bits(v[0], bits), float_from_bits(v[1], bits), &value):
                return False
        elif not _float_ternary(opcode, bits, float_from_bits(v[0], bits), float_from_bits(v[1], bits), float_from_bits(v[2], bits),
                                &value):
            return False
        r[0] = float_to_bits(value, bits)
        return True
    if count == 1:
        return _integer_unary(opcode, bits, v[0], r)
    if count == 2:
        truth = _integer_compare(opcode, bits, v[0], v[1])
        if truth >= 0:
            r[0] = truth
            return True
        return _integer_binary(opcode, bits, v[0], v[1], r)
    if count == 3:
        return _integer_ternary(opcode, bits, v[0], v[1], v[2], r) or _dot_product(opcode, v[0], v[1], v[2], r)
    return False


cdef bint _float_reduction(int opcode, int bits, const uint64_t *const *o, uint64_t *r) noexcept nogil:
    """Sums and dot products: halves are multiplied and added as 32-bit floats, and the sum alone is rounded to a half."""
    cdef int last = alu_input_sizes_flat[opcode * alu_max_inputs] - 1
    cdef int wide = max(bits, 32)
    cdef double total = 0
    cdef double term
    cdef int i
    for i in range(last + 1):
        # NIR adds products from the last on.
        if alu_each[opcode] == alu_fmul:
            term = _rounded(float_from_bits(o[0][last - i], bits) * float_from_bits(o[1][last - i], bits), wide)
        else:
            term = float_from_bits(o[0][i], bits)
        total = _rounded(term + total, wide) if i else term
    r[0] = float_to_bits(total, bits)
    return True


cdef bint _reduction(int opcode, int bits, const uint64_t *const *o, uint64_t *r) noexcept nogil:
    """An opcode for each component and one that joins what it gives."""
    cdef (const uint64_t *)[2] term_operands
    cdef (const uint64_t *)[2] join_operands
    cdef uint64_t term, total
    cdef int i
    if alu_output_type[opcode] >> 8 == base_float:
        return _float_reduction(opcode, bits, o, r)
    join_operands[0] = &total
    join_operands[1] = &term
    for i in range(alu_input_sizes_flat[opcode * alu_max_inputs]):
        term_operands[0] = o[0] + i
        term_operands[1] = o[1] + i
        if not evaluate_alu(alu_each[opcode], bits, 1, 1, term_operands, &term if i else &total):
            return False
        if i and not evaluate_alu(alu_join[opcode], 1, 1, 1, join_operands, &total):
            return False
    r[0] = total
    return True


cdef bint _wide_boolean(int opcode, int bit_size, int result_bits, int components, const uint64_t *const *operands,
                        uint64_t *result) noexcept nogil:
    """An opcode whose booleans are wider than one bit, or 1.0 and 0.0, by the one with 1-bit booleans."""
    cdef int base = alu_output_type[opcode] >> 8
    cdef bint is_selection = alu_properties[opcode] & alu_property_selection
    cdef uint64_t true_bits = float_to_bits(1.0, result_bits) if base == base_float else low_mask(result_bits)
    cdef int i
    if not evaluate_alu(alu_one_bit[opcode], bit_size, result_bits if is_selection else 1, components, operands, result):
        return False
    for i in range(0 if is_selection else (alu_output_size[opcode] or components)):
        result[i] = true_bits if result[i] else 0
    return True


cdef int operand_bits(const ShaderData *s, ValueId instruction) noexcept nogil:
    cdef int opcode = s.instructions.opcode[instruction]
    cdef int i
    for i in range(alu_input_count[opcode]):
        if alu_input_types_flat[opcode * alu_max_inputs + i] & 0xff == 0:
            return s.instructions.bit_size[source_value(s, instruction, i)]
    return s.instructions.bit_size[source_value(s, instruction, 0)]


cdef bint evaluate_alu(int opcode, int bit_size, int result_bits, int components, const uint64_t *const *operands,
                       uint64_t *result) noexcept nogil:
    cdef int count = alu_input_count[opcode]
    cdef uint64_t[16] values
    cdef int i
    cdef int component
    if alu_is_vector(opcode):
        for i in range(count):
            result[i] = operands[i][0]
        return True
    if alu_one_bit[opcode] != opcode:
        return _wide_boolean(opcode, bit_size, result_bits, components, operands, result)
    if alu_join[opcode] != alu_mov:
        if not _reduction(opcode, bit_size, operands, result):
            return False
        for i in range(1, 1 if alu_output_size[opcode] else components):
            result[i] = result[0]
        return True
    if is_defined(opcode):
        for component in range(alu_output_size[opcode] or components):
            if not defined_value(evaluate_alu, opcode, bit_size, result_bits, operands, component, &result[component]):
                return False
        return True
    if alu_output_size[opcode]:
        return (_pack(opcode, operands, result) or _normalized(opcode, bit_size, operands[0], result)
                or _pack_halves(opcode, operands, result) or _cube(opcode, operands[0], result))
    for component in range(components):
        for i in range(count):
            values[i] = operands[i][component]
        if not _component(opcode, bit_size, result_bits, values, count, &result[component]):
            return False
        result[component] &= low_mask(result_bits)
    return True


def alu(int opcode, int bit_size, int result_bits, int components, list operands):
    """Value of an ALU opcode; `operands` are lists of zero-extended component bits. None when it cannot be evaluated."""
    cdef uint64_t[16][16] storage
    cdef (const uint64_t *)[16] pointers
    cdef uint64_t[16] result
    cdef int i
    cdef int j
    for i in range(len(operands)):
        for j in range(len(operands[i])):
            storage[i][j] = operands[i][j]
        pointers[i] = storage[i]
    if not evaluate_alu(opcode, bit_size, result_bits, components, pointers, result):
        return None
    return [result[i] for i in range(alu_output_size[opcode] or components)]
