"""Lowers 64-bit integer operations that the hardware does not have to operations on 32-bit halves.

Needs: scalar ALU, divisions by constants lowered (``lower_idiv``). Guarantees: no 64-bit imul, *mul_high, division,
remainder, min/max, iabs, isign, saturating arithmetic, bit counting or searching, uadd_carry, usub_borrow, and no
conversion between 64-bit integers and floats is left. Addition, subtraction, shifts, logic, comparison and selection stay.

Division is a loop of shift and subtract over the bits of the dividend. Sources: Warren, "Hacker's Delight", chapters 8
(high products) and 9 (long division); conversion to 32-bit floating point keeps a sticky bit, so that it rounds once.
"""

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
from pyaco._core.ir.shader cimport NodeId, Shader, ShaderData, ValueId, jump_break, nir_alu, nir_phi_new, phi_set, source_value
from pyaco._core.nir.lowering cimport (
    Lowering, constant_float, lower_if_begin, lower_if_else, lower_if_end, lower_keep, lower_loop_begin, lower_loop_end,
    lowering_run, modulo_of_remainder,
)


cdef ValueId _low(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu1(b, alu_unpack_64_2x32_split_x, x)


cdef ValueId _high(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    return alu1(b, alu_unpack_64_2x32_split_y, x)


cdef ValueId _pack(Lowering *b, ValueId low, ValueId high) except? 0xffffffffU nogil:
    return alu2(b, alu_pack_64_2x32_split, low, high)


cdef ValueId _select(Lowering *b, ValueId condition, ValueId x, ValueId y) except? 0xffffffffU nogil:
    return alu3(b, alu_bcsel, condition, x, y)


# -------------------------------------------------------------------------------------------------------- multiplication
cdef ValueId _multiply(Lowering *b, ValueId x, ValueId y) except? 0xffffffffU nogil:
    cdef ValueId xl = _low(b, x)
    cdef ValueId yl = _low(b, y)
    cdef ValueId cross = alu2(b, alu_iadd, alu2(b, alu_imul, xl, _high(b, y)), alu2(b, alu_imul, _high(b, x), yl))
    return _pack(b, alu2(b, alu_imul, xl, yl), alu2(b, alu_iadd, alu2(b, alu_umul_high, xl, yl), cross))


cdef ValueId _wide(Lowering *b, ValueId x, ValueId y) except? 0xffffffffU nogil:
    """Product of two words as 64 bits."""
    return _pack(b, alu2(b, alu_imul, x, y), alu2(b, alu_umul_high, x, y))


cdef ValueId _multiply_high(Lowering *b, ValueId x, ValueId y, bint is_signed) except? 0xffffffffU nogil:
    """High 64 bits of the product: sum of the four partial products; for each negative operand the other one is subtracted."""
    cdef ValueId xl = _low(b, x)
    cdef ValueId xh = _high(b, x)
    cdef ValueId yl = _low(b, y)
    cdef ValueId yh = _high(b, y)
    cdef ValueId middle, other, result
    middle = alu2(b, alu_iadd, _wide(b, xl, yh), alu1(b, alu_u2u64, alu2(b, alu_umul_high, xl, yl)))
    other = alu2(b, alu_iadd, _wide(b, xh, yl), alu1(b, alu_u2u64, _low(b, middle)))
    result = alu2(b, alu_iadd, _wide(b, xh, yh), alu1(b, alu_u2u64, _high(b, middle)))
    result = alu2(b, alu_iadd, result, alu1(b, alu_u2u64, _high(b, other)))
    if is_signed:
        result = alu2(b, alu_isub, result, alu2(b, alu_iand, alu2_constant(b, alu_ishr, x, 63), y))
        result = alu2(b, alu_isub, result, alu2(b, alu_iand, alu2_constant(b, alu_ishr, y, 63), x))
    return result


# --------------------------------------------------------------------------------------------------------------- division
cdef ValueId _loop_phi(Lowering *b, ValueId initial, NodeId before) except? 0xffffffffU nogil:
    """A phi at the head of a loop; the operand of the back edge is set later."""
    cdef ValueId row = nir_phi_new(b.s, 1, b.s.instructions.bit_size[initial], 2)
    phi_set(b.s, row, 0, initial, before)
    return emit(b, row)


cdef ValueId _exit_phi(Lowering *b, ValueId value, NodeId block) except? 0xffffffffU nogil:
    cdef ValueId row = nir_phi_new(b.s, 1, b.s.instructions.bit_size[value], 1)
    phi_set(b.s, row, 0, value, block)
    return emit(b, row)


cdef int _divide_unsigned(Lowering *b, ValueId n, ValueId d, ValueId *quotient, ValueId *remainder) except -1 nogil:
    """Shift and subtract: each iteration appends one bit of the dividend to the remainder, from the highest bit down.

    Starts at the dividend's highest bit, so there are as many iterations as the widest dividend of the wave has bits.
    """
    cdef NodeId before, loop, branch
    cdef ValueId index, running, result, bits_left, bit, grown, enough, next_index, next_running, next_result
    cdef NodeId exit_block
    cdef ValueId zero
    zero = constant(b, 0, 64)
    bits_left = alu2_constant(b, alu_iadd, _find_msb(b, n), 1)
    before = b.block
    loop = lower_loop_begin(b)
    index = _loop_phi(b, bits_left, before)
    running = _loop_phi(b, zero, before)
    result = _loop_phi(b, zero, before)
    branch = lower_if_begin(b, alu2_constant(b, alu_ieq, index, 0))
    exit_block = b.block
    jump(b, jump_break)
    lower_if_else(b, branch)
    lower_if_end(b, branch)
    next_index = alu2_constant(b, alu_iadd, index, 0xffffffffU)
    bit = alu2_constant(b, alu_iand, alu2(b, alu_ushr, n, next_index), 1)
    grown = alu2(b, alu_ior, alu2_constant(b, alu_ishl, running, 1), bit)
    # A remainder whose top bit was shifted out is larger than any divisor.
    enough = alu2(b, alu_ior, alu2(b, alu_uge, grown, d), alu2_constant(b, alu_ilt, running, 0))
    next_running = _select(b, enough, alu2(b, alu_isub, grown, d), grown)
    next_result = alu2(b, alu_ior, alu2_constant(b, alu_ishl, result, 1), alu1(b, alu_b2i64, enough))
    phi_set(b.s, index, 1, next_index, b.block)
    phi_set(b.s, running, 1, next_running, b.block)
    phi_set(b.s, result, 1, next_result, b.block)
    lower_loop_end(b, loop)
    quotient[0] = _exit_phi(b, result, exit_block)
    remainder[0] = _exit_phi(b, running, exit_block)
    return 0


cdef ValueId _negate_if(Lowering *b, ValueId value, ValueId sign) except? 0xffffffffU nogil:
    """Negate where `sign` is -1; it is 0 elsewhere."""
    return alu2(b, alu_isub, alu2(b, alu_ixor, value, sign), sign)


cdef ValueId _divide(Lowering *b, int opcode, ValueId n, ValueId d) except? 0xffffffffU nogil:
    cdef ValueId quotient, remainder, n_sign, d_sign
    quotient = remainder = 0
    if opcode == alu_udiv or opcode == alu_umod:
        _divide_unsigned(b, n, d, &quotient, &remainder)
        return quotient if opcode == alu_udiv else remainder
    n_sign = alu2_constant(b, alu_ishr, n, 63)
    d_sign = alu2_constant(b, alu_ishr, d, 63)
    _divide_unsigned(b, _negate_if(b, n, n_sign), _negate_if(b, d, d_sign), &quotient, &remainder)
    if opcode == alu_idiv:
        return _negate_if(b, quotient, alu2(b, alu_ixor, n_sign, d_sign))
    remainder = _negate_if(b, remainder, n_sign)
    if opcode == alu_irem:
        return remainder
    return modulo_of_remainder(b, remainder, d)


# -------------------------------------------------------------------------------------------------------------- bit search
cdef ValueId _find_msb(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    cdef ValueId high = _high(b, x)
    cdef ValueId in_high = alu2_constant(b, alu_iadd, alu1(b, alu_ufind_msb, high), 32)
    return _select(b, alu2_constant(b, alu_ine, high, 0), in_high, alu1(b, alu_ufind_msb, _low(b, x)))


cdef ValueId _find_lsb(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    cdef ValueId low = _low(b, x)
    cdef ValueId high = _high(b, x)
    cdef ValueId in_high = alu2_constant(b, alu_iadd, alu1(b, alu_find_lsb, high), 32)
    in_high = _select(b, alu2_constant(b, alu_ine, high, 0), in_high, constant(b, 0xffffffffU, 32))
    return _select(b, alu2_constant(b, alu_ine, low, 0), alu1(b, alu_find_lsb, low), in_high)


# ------------------------------------------------------------------------------------------------------------- conversions
cdef ValueId _to_double(Lowering *b, ValueId x, bint is_signed) except? 0xffffffffU nogil:
    """high * 2**32 is exact in a double, so the one fused addition rounds once."""
    cdef ValueId high = alu1(b, alu_i2f64 if is_signed else alu_u2f64, _high(b, x))
    cdef ValueId low = alu1(b, alu_u2f64, _low(b, x))
    return alu3(b, alu_ffma, high, constant_float(b, 4294967296.0, 64), low)


cdef ValueId _to_single(Lowering *b, ValueId x, bint is_signed) except? 0xffffffffU nogil:
    """Normalise to 32 bits with a sticky lowest bit, convert (rounds once), scale back."""
    cdef ValueId sign = 0
    cdef ValueId top, shift, shifted, lost, word, value
    if is_signed:
        sign = alu2_constant(b, alu_ishr, x, 63)
        x = _negate_if(b, x, sign)
    top = _find_msb(b, x)
    shift = alu2_constant(b, alu_imax, alu2_constant(b, alu_iadd, top, 0xffffffffU - 30), 0)
    shifted = alu2(b, alu_ushr, x, shift)
    lost = alu2(b, alu_ine, alu2(b, alu_ishl, shifted, shift), x)
    word = alu2(b, alu_ior, _low(b, shifted), alu1(b, alu_b2i32, lost))
    value = alu2(b, alu_ldexp, alu1(b, alu_u2f32, word), shift)
    if is_signed:
        value = alu2(b, alu_ior, value, alu2_constant(b, alu_iand, _low(b, sign), 0x80000000U))
    return value


cdef ValueId _to_half(Lowering *b, ValueId x, bint is_signed) except? 0xffffffffU nogil:
    """What exceeds 2**17 overflows a half either way: clamp, and go through 32 bits, exact below 2**24."""
    cdef ValueId limit = constant(b, 0x20000, 64)
    if is_signed:
        x = _maximum(b, x, constant(b, 0xfffffffffffe0000ULL, 64), alu_ilt)
        x = _minimum(b, x, limit, alu_ilt)
        return alu1(b, alu_f2f16, alu1(b, alu_i2f32, _low(b, x)))
    return alu1(b, alu_f2f16, alu1(b, alu_u2f32, _low(b, _minimum(b, x, limit, alu_ult))))


cdef ValueId _from_float(Lowering *b, ValueId x, bint is_signed) except? 0xffffffffU nogil:
    """Truncate; split the magnitude into two words, which is exact in the float's own precision."""
    cdef ShaderData *s = b.s
    cdef int bits = s.instructions.bit_size[x]
    cdef ValueId magnitude, high, low, value, negative
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
cdef ValueId _minimum(Lowering *b, ValueId x, ValueId y, int less) except? 0xffffffffU nogil:
    return _select(b, alu2(b, less, x, y), x, y)


cdef ValueId _maximum(Lowering *b, ValueId x, ValueId y, int less) except? 0xffffffffU nogil:
    return _select(b, alu2(b, less, x, y), y, x)


cdef ValueId _sign(Lowering *b, ValueId x) except? 0xffffffffU nogil:
    """-1, 0 or 1."""
    return alu2(b, alu_ior, alu2_constant(b, alu_ishr, x, 63),
                alu1(b, alu_b2i64, alu2_constant(b, alu_ine, x, 0)))


cdef ValueId _saturated(Lowering *b, int opcode, ValueId x, ValueId y) except? 0xffffffffU nogil:
    cdef ValueId result, overflow, bound
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


cdef ValueId _lower_result(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """Opcodes with a 64-bit result."""
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef ValueId x = 0
    cdef ValueId y = 0
    if opcode in (alu_f2i64, alu_f2u64):
        return _from_float(b, alu_source(b, instruction, 0, 0), opcode == alu_f2i64)
    if opcode in (alu_iabs, alu_isign, alu_bitfield_reverse):
        x = alu_source(b, instruction, 0, 0)
        if opcode == alu_iabs:
            return _negate_if(b, x, alu2_constant(b, alu_ishr, x, 63))
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


cdef ValueId _lower_operand(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """Opcodes with a 64-bit operand and a narrower result."""
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef ValueId x
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


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ShaderData *s = b.s
    cdef ValueId result
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
