"""Lowers operations on 64-bit integers to operations on 32-bit halves, by Mesa's options (``pyaco.targets.lowering.Int64Lowering``).

Needs: scalar ALU, divisions by constants lowered (``lower_idiv``). Option ``lower``: the options as ``int64_lowering`` reads them. Guarantees: no
operation of the options is left. With ``all`` of them the only operations on 64-bit integers are those that put values together and
take them apart (``pack_64_2x32_split``, ``unpack_64_2x32_split_*``, ``mov``, ``vecN``), besides phis, loads, stores and atomics; `remaining` names
what else there is.

What an operation becomes may have 64-bit integers too, but only such as are nearer to the halves: sums, shifts, logic, comparison and
selection become 32-bit operations at once. So a few sweeps lower everything.

Division is a loop of shift and subtract over the bits of the dividend. Sources: Warren, "Hacker's Delight", chapters 2 (sums and shifts of several
words), 8 (high products) and 9 (long division); conversion to 32-bit floating point keeps a sticky bit, so that it rounds once. Scans of sums add
pieces of 24 bits, whose sums over a wave fit in 32: the scheme that the option has in Mesa.
"""
from libc.stdint cimport uint32_t, uint64_t

from nir_opcodes cimport (
    alu_b2i32, alu_b2i64, alu_bcsel, alu_bit_count, alu_bitfield_insert, alu_bitfield_reverse, alu_bitfield_select, alu_bitnz, alu_bitz,
    alu_count, alu_extract_i16, alu_extract_i8, alu_extract_u16, alu_extract_u8, alu_f2f16, alu_f2f32, alu_f2i64, alu_f2u32, alu_f2u64,
    alu_fabs, alu_ffloor, alu_ffma, alu_find_lsb, alu_flt, alu_fmul, alu_ftrunc, alu_i2f16, alu_i2f32, alu_i2f64, alu_i2i1, alu_i2i16,
    alu_i2i32, alu_i2i64, alu_i2i8, alu_iabs, alu_iadd, alu_iadd3, alu_iadd_sat, alu_iand, alu_ibitfield_extract, alu_idiv, alu_ieq,
    alu_ige, alu_ilt, alu_imax, alu_imax3, alu_imed3, alu_imin, alu_imin3, alu_imod, alu_imul, alu_imul_2x32_64, alu_imul_high,
    alu_ine, alu_ineg, alu_inot, alu_insert_u16, alu_insert_u8, alu_ior, alu_irem, alu_ishl, alu_ishr, alu_isign, alu_isub,
    alu_isub_sat, alu_ixor, alu_ldexp, alu_names, alu_pack_64_2x32_split, alu_u2f16, alu_u2f32, alu_u2f64, alu_u2u1, alu_u2u16,
    alu_u2u32, alu_u2u64, alu_u2u8, alu_uadd_carry, alu_uadd_sat, alu_ubitfield_extract, alu_udiv, alu_ufind_msb, alu_ufind_msb_rev,
    alu_uge, alu_ult, alu_umax, alu_umax3, alu_umed3, alu_umin, alu_umin3, alu_umod, alu_umul_2x32_64, alu_umul_high,
    alu_unpack_64_2x32_split_x, alu_unpack_64_2x32_split_y, alu_urol, alu_uror, alu_ushr, alu_usub_borrow, alu_usub_sat,
    index_reduction_op, intrinsic_as_uniform, intrinsic_count, intrinsic_exclusive_scan, intrinsic_inclusive_scan,
    intrinsic_masked_swizzle_amd, intrinsic_dpp16_shift_amd, intrinsic_names, intrinsic_quad_broadcast, intrinsic_quad_swap_diagonal,
    intrinsic_quad_swap_horizontal, intrinsic_quad_swap_vertical, intrinsic_quad_swizzle_amd, intrinsic_read_first_invocation,
    intrinsic_read_invocation, intrinsic_reduce, intrinsic_rotate, intrinsic_shuffle, intrinsic_shuffle_down, intrinsic_shuffle_up,
    intrinsic_shuffle_xor, intrinsic_source_count, intrinsic_vote_ieq, intrinsic_write_invocation_amd,
)
from pyaco._core.ir.emitter cimport alu1, alu2, alu2_constant, alu3, alu_source, constant, jump
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, Shader, ShaderData, ValueId, block_walk_next, intrinsic_index, jump_break, nir_alu,
    nir_intrinsic, node_first_block, phi_set, source_value,
)
from pyaco._core.nir.lowering cimport (
    Lowering, constant_float, lower_alu, lower_exit_phi, lower_if_begin, lower_if_else, lower_if_end, lower_intrinsics, lower_keep,
    lower_loop_begin, lower_loop_end, lower_loop_phi, lowering_run, modulo_of_remainder, with_sources,
)
from pyaco.targets.lowering import Int64Lowering, int64_lowering


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
    index = lower_loop_phi(b, bits_left, before)
    running = lower_loop_phi(b, zero, before)
    result = lower_loop_phi(b, zero, before)
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
    quotient[0] = lower_exit_phi(b, result, exit_block)
    remainder[0] = lower_exit_phi(b, running, exit_block)
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


# ------------------------------------------------------------------------------------------------------ sums, logic, selection
cdef ValueId _add(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId y = alu_source(b, instruction, 1, 0)
    cdef ValueId xl = _low(b, x)
    cdef ValueId yl = _low(b, y)
    cdef ValueId high = alu2(b, alu_iadd, _high(b, x), _high(b, y))
    return _pack(b, alu2(b, alu_iadd, xl, yl), alu2(b, alu_iadd, high, alu2(b, alu_uadd_carry, xl, yl)))


cdef ValueId _subtract(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId y = alu_source(b, instruction, 1, 0)
    cdef ValueId xl = _low(b, x)
    cdef ValueId yl = _low(b, y)
    cdef ValueId high = alu2(b, alu_isub, _high(b, x), _high(b, y))
    return _pack(b, alu2(b, alu_isub, xl, yl), alu2(b, alu_isub, high, alu2(b, alu_usub_borrow, xl, yl)))


cdef ValueId _add_three(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ValueId sum = alu2(b, alu_iadd, alu_source(b, instruction, 0, 0), alu_source(b, instruction, 1, 0))
    return alu2(b, alu_iadd, sum, alu_source(b, instruction, 2, 0))


cdef ValueId _negate(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId low = _low(b, x)
    cdef ValueId borrow = alu1(b, alu_b2i32, alu2_constant(b, alu_ine, low, 0))
    return _pack(b, alu1(b, alu_ineg, low), alu2(b, alu_isub, alu1(b, alu_ineg, _high(b, x)), borrow))


cdef ValueId _each_half(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """Logic: the same operation on both halves."""
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId y, z
    if opcode == alu_inot:
        return _pack(b, alu1(b, opcode, _low(b, x)), alu1(b, opcode, _high(b, x)))
    y = alu_source(b, instruction, 1, 0)
    if opcode != alu_bitfield_select:
        return _pack(b, alu2(b, opcode, _low(b, x), _low(b, y)), alu2(b, opcode, _high(b, x), _high(b, y)))
    z = alu_source(b, instruction, 2, 0)
    return _pack(b, alu3(b, opcode, _low(b, x), _low(b, y), _low(b, z)), alu3(b, opcode, _high(b, x), _high(b, y), _high(b, z)))


cdef ValueId _select_halves(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ValueId condition = alu_source(b, instruction, 0, 0)
    cdef ValueId x = alu_source(b, instruction, 1, 0)
    cdef ValueId y = alu_source(b, instruction, 2, 0)
    return _pack(b, _select(b, condition, _low(b, x), _low(b, y)), _select(b, condition, _high(b, x), _high(b, y)))


cdef ValueId _in_high(Lowering *b, ValueId index, uint64_t bit) except? 0xffffffffU nogil:
    """Whether an index is in the high half."""
    return alu2_constant(b, alu_ine, alu2_constant(b, alu_iand, index, bit), 0)


cdef ValueId _test_bit(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId index = alu_source(b, instruction, 1, 0)
    return alu2(b, b.s.instructions.opcode[instruction], _select(b, _in_high(b, index, 32), _high(b, x), _low(b, x)), index)


cdef ValueId _compare(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId y = alu_source(b, instruction, 1, 0)
    cdef ValueId xh = _high(b, x)
    cdef ValueId yh = _high(b, y)
    cdef ValueId low, less
    if opcode == alu_ieq or opcode == alu_ine:
        low = alu2(b, alu_ixor, _low(b, x), _low(b, y))
        return alu2_constant(b, opcode, alu2(b, alu_ior, low, alu2(b, alu_ixor, xh, yh)), 0)
    low = alu2(b, alu_iand, alu2(b, alu_ieq, xh, yh), alu2(b, alu_ult, _low(b, x), _low(b, y)))
    less = alu2(b, alu_ior, alu2(b, alu_ilt if opcode in (alu_ilt, alu_ige) else alu_ult, xh, yh), low)
    return less if opcode in (alu_ilt, alu_ult) else alu1(b, alu_inot, less)


# ------------------------------------------------------------------------------------------------------------- shifts, fields
cdef ValueId _moved_in(Lowering *b, ValueId shifted, int opcode, ValueId other, ValueId count) except? 0xffffffffU nogil:
    """A shifted half with the bits that the other half moves into it: 32 - count would be no shift count for 0, 31 - count is."""
    cdef int away = alu_ushr if opcode == alu_ishl else alu_ishl
    return alu2(b, alu_ior, shifted, alu2(b, away, alu2_constant(b, away, other, 1), alu1(b, alu_inot, count)))


cdef ValueId _shift(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """A shift by 32 or more is that of one half by the count's low five bits, which are all that a 32-bit shift looks at."""
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId count = alu_source(b, instruction, 1, 0)
    cdef ValueId far = _in_high(b, count, 32)
    cdef ValueId low = _low(b, x)
    cdef ValueId high = _high(b, x)
    cdef ValueId crossing, emptied
    if opcode == alu_ishl:
        crossing = alu2(b, alu_ishl, low, count)
        high = _moved_in(b, alu2(b, alu_ishl, high, count), opcode, low, count)
        return _pack(b, _select(b, far, constant(b, 0, 32), crossing), _select(b, far, crossing, high))
    crossing = alu2(b, opcode, high, count)
    emptied = constant(b, 0, 32) if opcode == alu_ushr else alu2_constant(b, alu_ishr, high, 31)
    low = _moved_in(b, alu2(b, alu_ushr, low, count), opcode, high, count)
    return _pack(b, _select(b, far, crossing, low), _select(b, far, emptied, crossing))


cdef ValueId _rotate(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId count = alu_source(b, instruction, 1, 0)
    cdef ValueId low = _low(b, x)
    cdef ValueId high = _high(b, x)
    cdef ValueId far, first, second
    if b.s.instructions.opcode[instruction] == alu_uror:
        count = alu1(b, alu_ineg, count)
    far = _in_high(b, count, 32)
    first = _select(b, far, high, low)
    second = _select(b, far, low, high)
    return _pack(b, _moved_in(b, alu2(b, alu_ishl, first, count), alu_ishl, second, count),
                 _moved_in(b, alu2(b, alu_ishl, second, count), alu_ishl, first, count))


cdef ValueId _extract(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """A byte or word, sign- or zero-extended."""
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef bint is_signed = opcode in (alu_extract_i8, alu_extract_i16)
    cdef int bits = 8 if opcode in (alu_extract_u8, alu_extract_i8) else 16
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId index = _low(b, alu_source(b, instruction, 1, 0))
    cdef ValueId word = _select(b, _in_high(b, index, 32 // bits), _high(b, x), _low(b, x))
    word = alu2(b, alu_ushr, word, alu2_constant(b, alu_imul, index, bits))
    if not is_signed:
        return _pack(b, alu2_constant(b, alu_iand, word, (1 << bits) - 1), constant(b, 0, 32))
    word = alu2_constant(b, alu_ishr, alu2_constant(b, alu_ishl, word, 32 - bits), 32 - bits)
    return _pack(b, word, alu2_constant(b, alu_ishr, word, 31))


cdef ValueId _insert(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """The low byte or word at another place, zeros elsewhere."""
    cdef int bits = 8 if b.s.instructions.opcode[instruction] == alu_insert_u8 else 16
    cdef ValueId piece = alu2_constant(b, alu_iand, _low(b, alu_source(b, instruction, 0, 0)), (1 << bits) - 1)
    cdef ValueId index = _low(b, alu_source(b, instruction, 1, 0))
    cdef ValueId far = _in_high(b, index, 32 // bits)
    cdef ValueId zero = constant(b, 0, 32)
    piece = alu2(b, alu_ishl, piece, alu2_constant(b, alu_imul, index, bits))
    return _pack(b, _select(b, far, zero, piece), _select(b, far, piece, zero))


cdef ValueId _field(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """Bits from an offset on: moved to the top and back, which copies their sign; a width of 64 and more is the whole value."""
    cdef int shift = alu_ishr if b.s.instructions.opcode[instruction] == alu_ibitfield_extract else alu_ushr
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId width = alu_source(b, instruction, 2, 0)
    cdef ValueId rest = alu1(b, alu_ineg, width)
    cdef ValueId field = alu2(b, shift, x, alu_source(b, instruction, 1, 0))
    field = alu2(b, shift, alu2(b, alu_ishl, field, rest), rest)
    field = _select(b, alu2_constant(b, alu_ieq, width, 0), constant(b, 0, 64), field)
    return _select(b, alu2_constant(b, alu_uge, width, 64), x, field)


cdef ValueId _insert_field(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ValueId offset = alu_source(b, instruction, 2, 0)
    cdef ValueId width = alu_source(b, instruction, 3, 0)
    cdef ValueId ones = constant(b, 0xffffffffffffffffULL, 64)
    cdef ValueId mask = alu2(b, alu_ushr, ones, alu1(b, alu_ineg, width))
    mask = _select(b, alu2_constant(b, alu_ieq, width, 0), constant(b, 0, 64), mask)
    mask = _select(b, alu2_constant(b, alu_uge, width, 64), ones, mask)
    mask = alu2(b, alu_ishl, mask, offset)
    return alu3(b, alu_bitfield_select, mask, alu2(b, alu_ishl, alu_source(b, instruction, 1, 0), offset), alu_source(b, instruction, 0, 0))


# ------------------------------------------------------------------------------------------------------------ other widths
cdef ValueId _widen(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """i2i64, u2u64 and b2i64."""
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef uint32_t bits = b.s.instructions.bit_size[x]
    if bits == 64:
        return x
    if opcode == alu_b2i64:
        x = alu1(b, alu_b2i32, x)
    elif bits != 32:
        x = alu1(b, alu_i2i32 if opcode == alu_i2i64 else alu_u2u32, x)
    return _pack(b, x, alu2_constant(b, alu_ishr, x, 31) if opcode == alu_i2i64 else constant(b, 0, 32))


cdef ValueId _narrow(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef ValueId low = _low(b, alu_source(b, instruction, 0, 0))
    return low if opcode == alu_i2i32 or opcode == alu_u2u32 else alu1(b, opcode, low)


# -------------------------------------------------------------------------------------------------------- rules of operations
cdef ValueId _binary_product(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    return _multiply(b, alu_source(b, instruction, 0, 0), alu_source(b, instruction, 1, 0))


cdef ValueId _full_product(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId y = alu_source(b, instruction, 1, 0)
    cdef int high = alu_imul_high if b.s.instructions.opcode[instruction] == alu_imul_2x32_64 else alu_umul_high
    return _pack(b, alu2(b, alu_imul, x, y), alu2(b, high, x, y))


cdef ValueId _high_product(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    return _multiply_high(b, alu_source(b, instruction, 0, 0), alu_source(b, instruction, 1, 0),
                          b.s.instructions.opcode[instruction] == alu_imul_high)


cdef ValueId _division(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    return _divide(b, b.s.instructions.opcode[instruction], alu_source(b, instruction, 0, 0), alu_source(b, instruction, 1, 0))


cdef ValueId _saturated_sum(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    return _saturated(b, b.s.instructions.opcode[instruction], alu_source(b, instruction, 0, 0), alu_source(b, instruction, 1, 0))


cdef ValueId _carry(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """uadd_carry and usub_borrow."""
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId y = alu_source(b, instruction, 1, 0)
    if b.s.instructions.opcode[instruction] == alu_usub_borrow:
        return alu1(b, alu_b2i64, alu2(b, alu_ult, x, y))
    return alu1(b, alu_b2i64, alu2(b, alu_ult, alu2(b, alu_iadd, x, y), x))


cdef ValueId _least_or_greatest(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """Minimum, maximum and median of two or three."""
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef int less = alu_ilt if opcode in (alu_imin, alu_imax, alu_imin3, alu_imax3, alu_imed3) else alu_ult
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId y = alu_source(b, instruction, 1, 0)
    cdef ValueId z
    if opcode == alu_imin or opcode == alu_umin:
        return _minimum(b, x, y, less)
    if opcode == alu_imax or opcode == alu_umax:
        return _maximum(b, x, y, less)
    z = alu_source(b, instruction, 2, 0)
    if opcode == alu_imin3 or opcode == alu_umin3:
        return _minimum(b, _minimum(b, x, y, less), z, less)
    if opcode == alu_imax3 or opcode == alu_umax3:
        return _maximum(b, _maximum(b, x, y, less), z, less)
    return _maximum(b, _minimum(b, x, y, less), _minimum(b, _maximum(b, x, y, less), z, less), less)


cdef ValueId _of_one(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """Signs and searches for bits."""
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    cdef ValueId found
    if opcode == alu_iabs:
        return _negate_if(b, x, alu2_constant(b, alu_ishr, x, 63))
    if opcode == alu_isign:
        return _sign(b, x)
    if opcode == alu_bitfield_reverse:
        return _pack(b, alu1(b, opcode, _high(b, x)), alu1(b, opcode, _low(b, x)))
    if opcode == alu_bit_count:
        return alu2(b, alu_iadd, alu1(b, opcode, _low(b, x)), alu1(b, opcode, _high(b, x)))
    if opcode == alu_find_lsb:
        return _find_lsb(b, x)
    found = _find_msb(b, x)
    if opcode == alu_ufind_msb:
        return found
    return _select(b, alu2_constant(b, alu_ilt, found, 0), found, alu2(b, alu_isub, constant(b, 63, 32), found))


cdef ValueId _to_float(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef int opcode = b.s.instructions.opcode[instruction]
    cdef bint is_signed = opcode in (alu_i2f16, alu_i2f32, alu_i2f64)
    cdef ValueId x = alu_source(b, instruction, 0, 0)
    if opcode == alu_i2f64 or opcode == alu_u2f64:
        return _to_double(b, x, is_signed)
    if opcode == alu_i2f32 or opcode == alu_u2f32:
        return _to_single(b, x, is_signed)
    return _to_half(b, x, is_signed)


cdef ValueId _of_float(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    return _from_float(b, alu_source(b, instruction, 0, 0), b.s.instructions.opcode[instruction] == alu_f2i64)


# ------------------------------------------------------------------------------------------------------------------ subgroups
cdef ValueId _on_half(Lowering *b, ValueId instruction, int half) except? 0xffffffffU nogil:
    """The same operation between lanes on one half of each 64-bit source."""
    cdef ShaderData *s = b.s
    cdef int opcode = s.instructions.opcode[instruction]
    cdef ValueId[8] sources
    cdef int i
    for i in range(intrinsic_source_count[opcode]):
        sources[i] = source_value(s, instruction, i)
        if s.instructions.bit_size[sources[i]] == 64:
            sources[i] = alu1(b, half, sources[i])
    return with_sources(b, instruction, sources, 1 if opcode == intrinsic_vote_ieq else 32)


cdef ValueId _shuffle(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    return _pack(b, _on_half(b, instruction, alu_unpack_64_2x32_split_x), _on_half(b, instruction, alu_unpack_64_2x32_split_y))


cdef ValueId _vote(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    return alu2(b, alu_iand, _on_half(b, instruction, alu_unpack_64_2x32_split_x), _on_half(b, instruction, alu_unpack_64_2x32_split_y))


cdef ValueId _scan_sum(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    """Sums of 24, 24 and 16 bits over up to 256 lanes do not overflow 32 bits."""
    cdef ValueId x = source_value(b.s, instruction, 0)
    cdef ValueId total = 0
    cdef ValueId piece
    cdef int i
    for i in range(3):
        piece = _low(b, alu2_constant(b, alu_ushr, x, 24 * i) if i else x)
        piece = alu2_constant(b, alu_iand, piece, 0xffffff)
        piece = alu1(b, alu_u2u64, with_sources(b, instruction, &piece, 32))
        total = alu2(b, alu_iadd, total, alu2_constant(b, alu_ishl, piece, 24 * i)) if i else piece
    return total


# -------------------------------------------------------------------------------------------------------------------- tables
ctypedef ValueId (*rule_function)(Lowering *b, ValueId instruction) except? 0xffffffffU nogil

cdef struct Rule:
    uint32_t option               # bit of Int64Lowering; 0: no rule
    bint by_operand               # what must have 64 bits: the first operand, or the result
    rule_function lower

cdef Rule[alu_count] _alu_rules
cdef uint32_t[intrinsic_count] _shuffles
cdef uint32_t _scan_bits, _scan_sums, _votes


cdef void _set(object option, bint by_operand, rule_function lower, opcodes):
    for opcode in opcodes:
        _alu_rules[<int>opcode].option = <uint32_t>int(option)
        _alu_rules[<int>opcode].by_operand = by_operand
        _alu_rules[<int>opcode].lower = lower


cdef _fill():
    """The tables of rules: which option an opcode is of, and what lowers it."""
    global _scan_bits, _scan_sums, _votes
    option = Int64Lowering
    _set(option.IMUL64, False, _binary_product, (alu_imul,))
    _set(option.IMUL_HIGH64, False, _high_product, (alu_imul_high, alu_umul_high))
    _set(option.IMUL_2X32_64, False, _full_product, (alu_imul_2x32_64, alu_umul_2x32_64))
    _set(option.DIVMOD64, False, _division, (alu_udiv, alu_idiv, alu_umod, alu_irem, alu_imod))
    _set(option.BCSEL64, False, _select_halves, (alu_bcsel,))
    _set(option.ICMP64, True, _compare, (alu_ieq, alu_ine, alu_ilt, alu_ige, alu_ult, alu_uge))
    _set(option.IADD64, False, _add, (alu_iadd,))
    _set(option.IADD64, False, _subtract, (alu_isub,))
    _set(option.IADD3_64, False, _add_three, (alu_iadd3,))
    _set(option.INEG64, False, _negate, (alu_ineg,))
    _set(option.LOGIC64, False, _each_half, (alu_iand, alu_ior, alu_ixor, alu_inot, alu_bitfield_select))
    _set(option.LOGIC64, True, _test_bit, (alu_bitz, alu_bitnz))
    _set(option.SHIFT64, False, _shift, (alu_ishl, alu_ishr, alu_ushr))
    _set(option.SHIFT64, False, _rotate, (alu_urol, alu_uror))
    _set(option.MINMAX64, False, _least_or_greatest, (alu_imin, alu_imax, alu_umin, alu_umax, alu_imin3, alu_imax3, alu_imed3,
                                                      alu_umin3, alu_umax3, alu_umed3))
    _set(option.EXTRACT64, False, _extract, (alu_extract_u8, alu_extract_i8, alu_extract_u16, alu_extract_i16))
    _set(option.EXTRACT64, False, _insert, (alu_insert_u8, alu_insert_u16))
    _set(option.BITFIELD_EXTRACT64, False, _field, (alu_ubitfield_extract, alu_ibitfield_extract))
    _set(option.BITFIELD_EXTRACT64, False, _insert_field, (alu_bitfield_insert,))
    _set(option.UADD_SAT64, False, _saturated_sum, (alu_uadd_sat,))
    _set(option.USUB_SAT64, False, _saturated_sum, (alu_usub_sat,))
    _set(option.IADD_SAT64, False, _saturated_sum, (alu_iadd_sat, alu_isub_sat))
    _set(option.UADD_SAT64, False, _carry, (alu_uadd_carry,))
    _set(option.USUB_SAT64, False, _carry, (alu_usub_borrow,))
    _set(option.IABS64, False, _of_one, (alu_iabs,))
    _set(option.ISIGN64, False, _of_one, (alu_isign,))
    _set(option.BITFIELD_REVERSE64, False, _of_one, (alu_bitfield_reverse,))
    _set(option.BIT_COUNT64, True, _of_one, (alu_bit_count,))
    _set(option.FIND_LSB64, True, _of_one, (alu_find_lsb,))
    _set(option.UFIND_MSB64, True, _of_one, (alu_ufind_msb, alu_ufind_msb_rev))
    _set(option.CONV64, True, _to_float, (alu_i2f16, alu_u2f16, alu_i2f32, alu_u2f32, alu_i2f64, alu_u2f64))
    _set(option.CONV64, False, _of_float, (alu_f2i64, alu_f2u64))
    _set(option.MOV64, False, _widen, (alu_i2i64, alu_u2u64, alu_b2i64))
    _set(option.MOV64, True, _narrow, (alu_i2i1, alu_i2i8, alu_i2i16, alu_i2i32, alu_u2u1, alu_u2u8, alu_u2u16, alu_u2u32))
    for opcode in (intrinsic_read_invocation, intrinsic_read_first_invocation, intrinsic_write_invocation_amd, intrinsic_shuffle,
                   intrinsic_shuffle_xor, intrinsic_shuffle_up, intrinsic_shuffle_down, intrinsic_rotate, intrinsic_quad_broadcast,
                   intrinsic_quad_swap_horizontal, intrinsic_quad_swap_vertical, intrinsic_quad_swap_diagonal,
                   intrinsic_quad_swizzle_amd, intrinsic_masked_swizzle_amd, intrinsic_dpp16_shift_amd, intrinsic_as_uniform):
        _shuffles[<int>opcode] = <uint32_t>int(option.SUBGROUP_SHUFFLE64)
    _scan_bits = <uint32_t>int(option.SCAN_REDUCE_BITWISE64)
    _scan_sums = <uint32_t>int(option.SCAN_REDUCE_IADD64)
    _votes = <uint32_t>int(option.VOTE_IEQ64)


_fill()


# ---------------------------------------------------------------------------------------------------------------------- walk
cdef rule_function _intrinsic_rule(const ShaderData *s, ValueId instruction, uint32_t options) noexcept nogil:
    cdef int opcode = s.instructions.opcode[instruction]
    cdef int operation
    if opcode == intrinsic_vote_ieq:
        if options & _votes and s.instructions.bit_size[source_value(s, instruction, 0)] == 64:
            return _vote
        return NULL
    if s.instructions.bit_size[instruction] != 64 or s.instructions.components[instruction] != 1:
        return NULL
    if options & _shuffles[opcode]:
        return _shuffle
    if opcode != intrinsic_reduce and opcode != intrinsic_inclusive_scan and opcode != intrinsic_exclusive_scan:
        return NULL
    operation = intrinsic_index(s, instruction, index_reduction_op)
    if options & _scan_bits and operation in (alu_iand, alu_ior, alu_ixor):
        return _shuffle
    if options & _scan_sums and operation == alu_iadd:
        return _scan_sum
    return NULL


cdef rule_function _rule(const ShaderData *s, ValueId instruction, uint32_t options) noexcept nogil:
    """What lowers an instruction under these options; NULL where it stays."""
    cdef const Rule *rule
    cdef ValueId wide = instruction
    if s.instructions.kind[instruction] == nir_intrinsic:
        return _intrinsic_rule(s, instruction, options)
    if s.instructions.kind[instruction] != nir_alu or s.instructions.components[instruction] != 1:
        return NULL
    rule = &_alu_rules[s.instructions.opcode[instruction]]
    if not rule.option & options:
        return NULL
    if rule.by_operand:
        wide = source_value(s, instruction, 0)
    if s.instructions.bit_size[wide] != 64:
        return NULL
    return rule.lower


cdef ValueId _lower(Lowering *b, ValueId instruction) except? 0xffffffffU nogil:
    cdef rule_function lower = _rule(b.s, instruction, (<uint32_t *>b.context)[0])
    return lower(b, instruction) if lower != NULL else <ValueId>lower_keep


cdef int _kernel(void *ir, int option) except -1 nogil:
    cdef uint32_t mask = <uint32_t>option
    cdef bint progress = False
    # What one sweep makes is lowered by the next.
    while lowering_run(<ShaderData *>ir, lower_alu | lower_intrinsics, _lower, &mask):
        progress = True
    return progress


kernel = native_kernel(_kernel, lambda options, level: int(int64_lowering(level, options["lower"])))


def run(Shader shader not None, options=None):
    """Lower 64-bit integers."""
    cdef uint32_t mask = <uint32_t>int(int64_lowering(shader.data.info.gfx_level, (options or {}).get("lower", "hardware")))
    cdef bint progress = False
    with nogil:
        progress = _kernel(&shader.data, <int>mask)
    return progress


def remaining(Shader shader not None, lower="all"):
    """Names of the operations in a shader that the pass with these options would lower.

    Parameters
    ----------
    shader : Shader
    lower : str or Int64Lowering
        As the option of the pass.

    Returns
    -------
    list of str
        In order, each once; empty where the pass has nothing to do.
    """
    cdef uint32_t mask = <uint32_t>int(int64_lowering(shader.data.info.gfx_level, lower))
    cdef const ShaderData *s = &shader.data
    cdef NodeId block = node_first_block(s)
    cdef uint32_t i
    cdef ValueId row
    found = {}
    while block:
        for i in range(s.nodes.order_count[block]):
            row = s.order.instruction[s.nodes.order_first[block] + i]
            if _rule(s, row, mask) != NULL:
                is_alu = s.instructions.kind[row] == nir_alu
                name = <const char *>(alu_names[s.instructions.opcode[row]] if is_alu else intrinsic_names[s.instructions.opcode[row]])
                found[name.decode()] = None
        block = block_walk_next(s, block)
    return list(found)
