"""64-bit integer operations without a hardware form, in 32-bit halves.

Needs: scalar ALU, divisions by constants lowered (``lower_idiv``). Guarantees: no 64-bit imul, *mul_high, division,
remainder, min/max, iabs, isign, saturating arithmetic, bit counting or searching, uadd_carry, usub_borrow, and no
conversion between 64-bit integers and floats is left. Addition, subtraction, shifts, logic, comparison and selection stay.

Division is a loop of shift and subtract over the bits of the dividend. Sources: Warren, "Hacker's Delight", chapters 8
(high products) and 9 (long division); conversion to 32-bit floating point keeps a sticky bit, so that it rounds once.
"""
from libc.stdint cimport uint32_t

from nir_opcodes cimport (
    alu_bcsel, alu_bit_count, alu_bitfield_reverse, alu_f2f16, alu_f2f32, alu_f2i64, alu_f2u32, alu_f2u64, alu_fabs, alu_ffloor,
    alu_ffma, alu_fmul, alu_flt, alu_ftrunc, alu_i2f16, alu_i2f32, alu_i2f64, alu_find_lsb, alu_iabs, alu_iadd, alu_iand, alu_idiv,
    alu_ieq, alu_ilt, alu_imax, alu_imin, alu_imod, alu_imul, alu_imul_high, alu_ine, alu_ineg, alu_ior, alu_irem,
    alu_ishl, alu_ishr, alu_isign, alu_isub, alu_ixor, alu_ldexp, alu_pack_64_2x32_split, alu_u2f16, alu_u2f32, alu_u2f64, alu_u2u64,
    alu_uadd_carry, alu_uadd_sat, alu_udiv, alu_ufind_msb, alu_uge, alu_ult, alu_umax, alu_umin, alu_umod, alu_umul_high,
    alu_unpack_64_2x32_split_x, alu_unpack_64_2x32_split_y, alu_ushr, alu_usub_borrow, alu_usub_sat, alu_b2i32, alu_b2i64,
    alu_iadd_sat, alu_isub_sat,
)
from pyaco._core.ir.emitter cimport alu1, alu2, alu2_constant, alu3, alu_source, constant, emit, jump
from pyaco._core.ir.shader cimport Shader, ShaderData, jump_break, nir_alu, nir_phi_new, phi_set, source_value
from pyaco._core.nir.lowering cimport (
    Lowering, constant_float, lower_if_begin, lower_if_else, lower_if_end, lower_keep, lower_loop_begin, lower_loop_end,
    lowering_run,
)


cdef uint32_t _low(Lowering *b, uint32_t x) except? 0xffffffffU nogil:
    return alu1(b, alu_unpack_64_2x32_split_x, x)


cdef uint32_t _high(Lowering *b, uint32_t x) except? 0xffffffffU nogil:
    return alu1(b, alu_unpack_64_2x32_split_y, x)


cdef uint32_t _pack(Lowering *b, uint32_t low, uint32_t high) except? 0xffffffffU nogil:
    return alu2(b, alu_pack_64_2x32_split, low, high)


cdef uint32_t _select(Lowering *b, uint32_t condition, uint32_t x, uint32_t y) except? 0xffffffffU nogil:
    return alu3(b, alu_bcsel, condition, x, y)


# -------------------------------------------------------------------------------------------------------- multiplication
cdef uint32_t _multiply(Lowering *b, uint32_t x, uint32_t y) except? 0xffffffffU nogil:
    cdef uint32_t xl = _low(b, x)
    cdef uint32_t yl = _low(b, y)
    cdef uint32_t cross = alu2(b, alu_iadd, alu2(b, alu_imul, xl, _high(b, y)), alu2(b, alu_imul, _high(b, x), yl))
    return _pack(b, alu2(b, alu_imul, xl, yl), alu2(b, alu_iadd, alu2(b, alu_umul_high, xl, yl), cross))


cdef uint32_t _wide(Lowering *b, uint32_t x, uint32_t y) except? 0xffffffffU nogil:
    """Product of two words as 64 bits."""
    return _pack(b, alu2(b, alu_imul, x, y), alu2(b, alu_umul_high, x, y))


cdef uint32_t _multiply_high(Lowering *b, uint32_t x, uint32_t y, bint is_signed) except? 0xffffffffU nogil:
    """High 64 bits of the product: sum of the four partial products; a negative operand takes away the other one."""
    cdef uint32_t xl = _low(b, x)
    cdef uint32_t xh = _high(b, x)
    cdef uint32_t yl = _low(b, y)
    cdef uint32_t yh = _high(b, y)
    cdef uint32_t middle, other, result
    middle = alu2(b, alu_iadd, _wide(b, xl, yh), alu1(b, alu_u2u64, alu2(b, alu_umul_high, xl, yl)))
    other = alu2(b, alu_iadd, _wide(b, xh, yl), alu1(b, alu_u2u64, _low(b, middle)))
    result = alu2(b, alu_iadd, _wide(b, xh, yh), alu1(b, alu_u2u64, _high(b, middle)))
    result = alu2(b, alu_iadd, result, alu1(b, alu_u2u64, _high(b, other)))
    if is_signed:
        result = alu2(b, alu_isub, result, alu2(b, alu_iand, alu2_constant(b, alu_ishr, x, 63), y))
        result = alu2(b, alu_isub, result, alu2(b, alu_iand, alu2_constant(b, alu_ishr, y, 63), x))
    return result


# --------------------------------------------------------------------------------------------------------------- division
cdef uint32_t _loop_phi(Lowering *b, uint32_t initial, uint32_t before) except? 0xffffffffU nogil:
    """A phi at the head of a loop; the operand of the back edge is set later."""
    cdef uint32_t row = nir_phi_new(b.s, 1, b.s.instructions.bit_size[initial], 2)
    phi_set(b.s, row, 0, initial, before)
    return emit(b, row)


cdef uint32_t _exit_phi(Lowering *b, uint32_t value, uint32_t block) except? 0xffffffffU nogil:
    cdef uint32_t row = nir_phi_new(b.s, 1, b.s.instructions.bit_size[value], 1)
    phi_set(b.s, row, 0, value, block)
    return emit(b, row)


cdef int _divide_unsigned(Lowering *b, uint32_t n, uint32_t d, uint32_t *quotient, uint32_t *remainder) except -1 nogil:
    """Shift and subtract: the remainder takes one bit of the dividend per turn, from the highest one down.

    Starts at the dividend's highest bit, so the turns are as many as the widest dividend of the wave has bits.
    """
    cdef uint32_t before, loop, branch, index, part, result, turn, bit, grown, enough, next_index, next_part, next_result
    cdef uint32_t leave, zero
    zero = constant(b, 0, 64)
    turn = alu2_constant(b, alu_iadd, _find_msb(b, n), 1)
    before = b.block
    loop = lower_loop_begin(b)
    index = _loop_phi(b, turn, before)
    part = _loop_phi(b, zero, before)
    result = _loop_phi(b, zero, before)
    branch = lower_if_begin(b, alu2_constant(b, alu_ieq, index, 0))
    leave = b.block
    jump(b, jump_break)
    lower_if_else(b, branch)
    lower_if_end(b, branch)
    next_index = alu2_constant(b, alu_iadd, index, 0xffffffffU)
    bit = alu2_constant(b, alu_iand, alu2(b, alu_ushr, n, next_index), 1)
    grown = alu2(b, alu_ior, alu2_constant(b, alu_ishl, part, 1), bit)
    # A remainder that has lost its top bit in the shift is larger than any divisor.
    enough = alu2(b, alu_ior, alu2(b, alu_uge, grown, d), alu2_constant(b, alu_ilt, part, 0))
    next_part = _select(b, enough, alu2(b, alu_isub, grown, d), grown)
    next_result = alu2(b, alu_ior, alu2_constant(b, alu_ishl, result, 1), alu1(b, alu_b2i64, enough))
    phi_set(b.s, index, 1, next_index, b.block)
    phi_set(b.s, part, 1, next_part, b.block)
    phi_set(b.s, result, 1, next_result, b.block)
    lower_loop_end(b, loop)
    quotient[0] = _exit_phi(b, result, leave)
    remainder[0] = _exit_phi(b, part, leave)
    return 0


cdef uint32_t _sign_apply(Lowering *b, uint32_t value, uint32_t sign) except? 0xffffffffU nogil:
    """Negate where `sign` (0 or -1) says so."""
    return alu2(b, alu_isub, alu2(b, alu_ixor, value, sign), sign)


cdef uint32_t _divide(Lowering *b, int opcode, uint32_t n, uint32_t d) except? 0xffffffffU nogil:
    cdef uint32_t quotient, remainder, n_sign, d_sign, differ, wanted
    quotient = remainder = 0
    if opcode == alu_udiv or opcode == alu_umod:
        _divide_unsigned(b, n, d, &quotient, &remainder)
        return quotient if opcode == alu_udiv else remainder
    n_sign = alu2_constant(b, alu_ishr, n, 63)
    d_sign = alu2_constant(b, alu_ishr, d, 63)
    _divide_unsigned(b, _sign_apply(b, n, n_sign), _sign_apply(b, d, d_sign), &quotient, &remainder)
    if opcode == alu_idiv:
        return _sign_apply(b, quotient, alu2(b, alu_ixor, n_sign, d_sign))
    remainder = _sign_apply(b, remainder, n_sign)
    if opcode == alu_irem:
        return remainder
    differ = alu2_constant(b, alu_ilt, alu2(b, alu_ixor, remainder, d), 0)
    wanted = alu2(b, alu_iand, differ, alu2_constant(b, alu_ine, remainder, 0))
    return _select(b, wanted, alu2(b, alu_iadd, remainder, d), remainder)


# -------------------------------------------------------------------------------------------------------------- bit search
cdef uint32_t _find_msb(Lowering *b, uint32_t x) except? 0xffffffffU nogil:
    cdef uint32_t high = _high(b, x)
    cdef uint32_t in_high = alu2_constant(b, alu_iadd, alu1(b, alu_ufind_msb, high), 32)
    return _select(b, alu2_constant(b, alu_ine, high, 0), in_high, alu1(b, alu_ufind_msb, _low(b, x)))


cdef uint32_t _find_lsb(Lowering *b, uint32_t x) except? 0xffffffffU nogil:
    cdef uint32_t low = _low(b, x)
    cdef uint32_t high = _high(b, x)
    cdef uint32_t in_high = alu2_constant(b, alu_iadd, alu1(b, alu_find_lsb, high), 32)
    in_high = _select(b, alu2_constant(b, alu_ine, high, 0), in_high, constant(b, 0xffffffffU, 32))
    return _select(b, alu2_constant(b, alu_ine, low, 0), alu1(b, alu_find_lsb, low), in_high)


# ------------------------------------------------------------------------------------------------------------- conversions
cdef uint32_t _to_double(Lowering *b, uint32_t x, bint is_signed) except? 0xffffffffU nogil:
    """high * 2**32 is exact in a double, so the one fused addition rounds once."""
    cdef uint32_t high = alu1(b, alu_i2f64 if is_signed else alu_u2f64, _high(b, x))
    cdef uint32_t low = alu1(b, alu_u2f64, _low(b, x))
    return alu3(b, alu_ffma, high, constant_float(b, 4294967296.0, 64), low)


cdef uint32_t _to_single(Lowering *b, uint32_t x, bint is_signed) except? 0xffffffffU nogil:
    """Normalise to 32 bits with a sticky lowest bit, convert (rounds once), scale back."""
    cdef uint32_t sign = 0
    cdef uint32_t top, shift, shifted, lost, word, value
    if is_signed:
        sign = alu2_constant(b, alu_ishr, x, 63)
        x = _sign_apply(b, x, sign)
    top = _find_msb(b, x)
    shift = alu2_constant(b, alu_imax, alu2_constant(b, alu_iadd, top, 0xffffffffU - 30), 0)
    shifted = alu2(b, alu_ushr, x, shift)
    lost = alu2(b, alu_ine, alu2(b, alu_ishl, shifted, shift), x)
    word = alu2(b, alu_ior, _low(b, shifted), alu1(b, alu_b2i32, lost))
    value = alu2(b, alu_ldexp, alu1(b, alu_u2f32, word), shift)
    if is_signed:
        value = alu2(b, alu_ior, value, alu2_constant(b, alu_iand, _low(b, sign), 0x80000000U))
    return value


cdef uint32_t _to_half(Lowering *b, uint32_t x, bint is_signed) except? 0xffffffffU nogil:
    """What exceeds 2**17 overflows a half either way: clamp, and go through 32 bits, exact below 2**24."""
    cdef uint32_t limit = constant(b, 0x20000, 64)
    if is_signed:
        x = _maximum(b, x, constant(b, 0xfffffffffffe0000ULL, 64), alu_ilt)
        x = _minimum(b, x, limit, alu_ilt)
        return alu1(b, alu_f2f16, alu1(b, alu_i2f32, _low(b, x)))
    return alu1(b, alu_f2f16, alu1(b, alu_u2f32, _low(b, _minimum(b, x, limit, alu_ult))))


cdef uint32_t _from_float(Lowering *b, uint32_t x, bint is_signed) except? 0xffffffffU nogil:
    """Truncate; split the magnitude into two words, which is exact in the float's own precision."""
    cdef ShaderData *s = b.s
    cdef int bits = s.instructions.bit_size[x]
    cdef uint32_t magnitude, high, low, value, negative
    if bits == 16:
        x = alu1(b, alu_f2f32, x)
        bits = 32
    x = alu1(b, alu_ftrunc, x)
    magnitude = alu1(b, alu_fabs, x) if is_signed else x
    high = alu1(b, alu_ffloor, alu2(b, alu_fmul, magnitude, constant_float(b, 2.3283064365386963e-10, bits)))
    low = alu3(b, alu_ffma, high, constant_float(b, -4294967296.0, bits), magnitude)
    value = _pack(b, alu1(b, alu_f2u32, low), alu1(b, alu_f2u32, high))
    if not is_signed:
        return value
    negative = alu2(b, alu_flt, x, constant_float(b, 0.0, bits))
    return _select(b, negative, alu1(b, alu_ineg, value), value)


# -------------------------------------------------------------------------------------------------------------- arithmetic
cdef uint32_t _minimum(Lowering *b, uint32_t x, uint32_t y, int less) except? 0xffffffffU nogil:
    return _select(b, alu2(b, less, x, y), x, y)


cdef uint32_t _maximum(Lowering *b, uint32_t x, uint32_t y, int less) except? 0xffffffffU nogil:
    return _select(b, alu2(b, less, x, y), y, x)


cdef uint32_t _sign(Lowering *b, uint32_t x) except? 0xffffffffU nogil:
    """-1, 0 or 1."""
    return alu2(b, alu_ior, alu2_constant(b, alu_ishr, x, 63),
                alu1(b, alu_b2i64, alu2_constant(b, alu_ine, x, 0)))


cdef uint32_t _saturated(Lowering *b, int opcode, uint32_t x, uint32_t y) except? 0xffffffffU nogil:
    cdef uint32_t result, overflow, bound
    if opcode == alu_uadd_sat:
        result = alu2(b, alu_iadd, x, y)
        return _select(b, alu2(b, alu_ult, result, x), constant(b, 0xffffffffffffffffULL, 64), result)
    if opcode == alu_usub_sat:
        return _select(b, alu2(b, alu_ult, x, y), constant(b, 0, 64), alu2(b, alu_isub, x, y))
    if opcode == alu_iadd_sat:
        result = alu2(b, alu_iadd, x, y)
        overflow = alu2(b, alu_iand, alu2(b, alu_ixor, result, x), alu2(b, alu_ixor, result, y))
    else:
        result = alu2(b, alu_isub, x, y)
        overflow = alu2(b, alu_iand, alu2(b, alu_ixor, x, y), alu2(b, alu_ixor, result, x))
    bound = alu2_constant(b, alu_ixor, alu2_constant(b, alu_ishr, x, 63), 0x7fffffffffffffffULL)
    return _select(b, alu2_constant(b, alu_ilt, overflow, 0), bound, result)


cdef uint32_t _lower_result(Lowering *b, uint32_t instruction) except? 0xffffffffU nogil:
    """Opcodes with a 64-bit result."""
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef uint32_t x = 0
    cdef uint32_t y = 0
    if opcode in (alu_f2i64, alu_f2u64):
        return _from_float(b, alu_source(b, instruction, 0, 0), opcode == alu_f2i64)
    if opcode in (alu_iabs, alu_isign, alu_bitfield_reverse):
        x = alu_source(b, instruction, 0, 0)
        if opcode == alu_iabs:
            return _sign_apply(b, x, alu2_constant(b, alu_ishr, x, 63))
        if opcode == alu_isign:
            return _sign(b, x)
        return _pack(b, alu1(b, alu_bitfield_reverse, _high(b, x)), alu1(b, alu_bitfield_reverse, _low(b, x)))
    if opcode not in (alu_imul, alu_imul_high, alu_umul_high, alu_udiv, alu_idiv, alu_umod, alu_irem, alu_imod, alu_imin,
                      alu_imax, alu_umin, alu_umax, alu_uadd_carry, alu_usub_borrow, alu_uadd_sat, alu_usub_sat,
                      alu_iadd_sat, alu_isub_sat):
        return lower_keep
    x = alu_source(b, instruction, 0, 0)
    y = alu_source(b, instruction, 1, 0)
    if opcode == alu_imul:
        return _multiply(b, x, y)
    if opcode == alu_imul_high or opcode == alu_umul_high:
        return _multiply_high(b, x, y, opcode == alu_imul_high)
    if opcode == alu_imin or opcode == alu_umin:
        return _minimum(b, x, y, alu_ilt if opcode == alu_imin else alu_ult)
    if opcode == alu_imax or opcode == alu_umax:
        return _maximum(b, x, y, alu_ilt if opcode == alu_imax else alu_ult)
    if opcode == alu_uadd_carry:
        return alu1(b, alu_b2i64, alu2(b, alu_ult, alu2(b, alu_iadd, x, y), x))
    if opcode == alu_usub_borrow:
        return alu1(b, alu_b2i64, alu2(b, alu_ult, x, y))
    if opcode in (alu_uadd_sat, alu_usub_sat, alu_iadd_sat, alu_isub_sat):
        return _saturated(b, opcode, x, y)
    return _divide(b, opcode, x, y)


cdef uint32_t _lower_operand(Lowering *b, uint32_t instruction) except? 0xffffffffU nogil:
    """Opcodes with a 64-bit operand and a narrower result."""
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef uint32_t x
    if opcode not in (alu_i2f16, alu_u2f16, alu_i2f32, alu_u2f32, alu_i2f64, alu_u2f64, alu_bit_count, alu_find_lsb,
                      alu_ufind_msb):
        return lower_keep
    x = alu_source(b, instruction, 0, 0)
    if opcode == alu_i2f64 or opcode == alu_u2f64:
        return _to_double(b, x, opcode == alu_i2f64)
    if opcode == alu_i2f32 or opcode == alu_u2f32:
        return _to_single(b, x, opcode == alu_i2f32)
    if opcode == alu_i2f16 or opcode == alu_u2f16:
        return _to_half(b, x, opcode == alu_i2f16)
    if opcode == alu_bit_count:
        return alu2(b, alu_iadd, alu1(b, alu_bit_count, _low(b, x)), alu1(b, alu_bit_count, _high(b, x)))
    if opcode == alu_find_lsb:
        return _find_lsb(b, x)
    return _find_msb(b, x)


cdef uint32_t _lower(Lowering *b, uint32_t instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef uint32_t result
    if s.instructions.kind[instruction] != nir_alu or s.instructions.components[instruction] != 1:
        return lower_keep
    # Conversions to double have a 64-bit result and may have any operand.
    if s.instructions.bit_size[source_value(s, instruction, 0)] == 64:
        result = _lower_operand(b, instruction)
        if result != lower_keep:
            return result
    if s.instructions.bit_size[instruction] == 64:
        return _lower_result(b, instruction)
    return lower_keep


def run(Shader shader not None, options=None):
    """Lower 64-bit integers."""
    cdef bint progress
    with nogil:
        progress = lowering_run(&shader.data, _lower, NULL)
    return progress
