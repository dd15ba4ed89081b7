"""Integer operations of NIR that need more than one instruction, or a different one in SGPRs and VGPRs.

Sources: AMD ISA documents (Vega, RDNA 2, RDNA 3) for carries, saturation (clamp), bit scans that return -1 where no bit is set, and field
extraction; NIR's opcode semantics.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from modifiers cimport modifier_set_clamp, modifier_set_neg, modifier_set_opsel_hi
from nir_opcodes cimport *
from pyaco._core.aco.build cimport make
from pyaco._core.aco.isel_context cimport *
from pyaco._core.ir.program cimport (
    Definition, Operand, TempId, class_bytes, class_s1, class_s2, class_v1, class_v2, definition_of, definition_of_fixed, gfx10,
    gfx11, gfx12, gfx9, operand_c16, operand_c64, register_scc,
)
from pyaco._core.ir.shader cimport ValueId, constant_bits, source_swizzle, source_value, swizzle_component, value_is_constant


cdef enum:
    signed_piece = 0x100          # added to the size of a bit field in bits: extend its sign
    saturated = 0x100             # added to an index into _dots

# Dot products, in VOP3P. GFX11 has one opcode for all signs of bytes: the negation bits say which operands are signed.
cdef struct Dot:
    uint16_t opcode               # before GFX11
    uint16_t opcode_gfx11
    uint16_t signs_gfx11

cdef Dot[5] _dots
_dots[0] = Dot(op_v_dot4_u32_u8, op_v_dot4_u32_u8, 0)
_dots[1] = Dot(op_v_dot4_i32_i8, op_v_dot4_i32_iu8, 3)
_dots[2] = Dot(op_invalid, op_v_dot4_i32_iu8, 1)
_dots[3] = Dot(op_v_dot2_i32_i16, op_invalid, 0)
_dots[4] = Dot(op_v_dot2_u32_u16, op_invalid, 0)


cdef bint _constant(Isel *c, ValueId instruction, uint32_t index, uint64_t *bits) noexcept nogil:
    cdef ValueId value = source_value(c.s, instruction, index)
    if not value_is_constant(c.s, value):
        return False
    bits[0] = constant_bits(c.s, value, swizzle_component(source_swizzle(c.s, instruction, index), 0))
    return True


cdef void _clamp_last(Isel *c) noexcept nogil:
    promote_last(c)
    modifiers_of_last(c)[0] = modifier_set_clamp(modifiers_of_last(c)[0], 1)


cdef TempId _add_saturating(Isel *c, Operand a, Operand b) except 0 nogil:
    return _saturated(c, 0, a, b, False)


cdef TempId _saturated(Isel *c, TempId dst, Operand a, Operand b, bint subtract) except 0 nogil:
    """Unsigned saturating addition or subtraction of 32 bits in VGPRs; before GFX9 the carry chooses the bound."""
    cdef TempId result
    if c.gfx < gfx9:
        if subtract:
            result = vsub32(c, 0, a, b, True, 0)
        else:
            result = vadd32(c, 0, a, b, True, 0)
        return emit3(c, op_v_cndmask_b32, dst, T(c, result), K(0 if subtract else 0xffffffffU), T(c, c.second))
    result = emit2(c, op_v_sub_u32 if subtract else op_v_add_u32, dst, a, b)
    _clamp_last(c)
    return result


# ----------------------------------------------------------------------------------------------------- carries, saturation
cdef int add_sub_64(Isel *c, TempId dst, TempId a, TempId b, bint subtract) except -1 nogil:
    cdef Operand a0
    cdef Operand b0
    cdef Operand a1
    cdef Operand b1
    cdef TempId low
    cdef TempId high
    if not is_vgpr(c, dst) and c.gfx >= gfx12:
        emit2(c, op_s_sub_nc_u64 if subtract else op_s_add_nc_u64, dst, T(c, a), T(c, b))
        return 0
    a0 = T(c, part(c, a, 0, 4))
    a1 = T(c, part(c, a, 1, 4))
    b0 = T(c, part(c, b, 0, 4))
    b1 = T(c, part(c, b, 1, 4))
    if not is_vgpr(c, dst):
        low = emit2(c, op_s_sub_u32 if subtract else op_s_add_u32, 0, a0, b0)
        high = emit3(c, op_s_subb_u32 if subtract else op_s_addc_u32, 0, a1, b1, scc_operand(c, c.scc))
    elif subtract:
        low = vsub32(c, 0, a0, b0, True, 0)
        high = vsub32(c, 0, a1, b1, True, c.second)
    else:
        low = vadd32(c, 0, a0, b0, True, 0)
        high = vadd32(c, 0, a1, b1, True, c.second)
    pair(c, dst, 0, T(c, low), T(c, high))
    return 0


cdef int _carry(Isel *c, ValueId instruction, TempId dst, uint64_t subtract) except -1 nogil:
    """uadd_carry, usub_borrow: 1 where the operation wraps."""
    cdef TempId a = source(c, instruction, 0)
    cdef TempId b = source(c, instruction, 1)
    cdef bint wide = c.s.instructions.bit_size[instruction] == 64
    cdef TempId bit
    if c.s.instructions.bit_size[instruction] < 32:
        return unsupported(c, b"narrow", alu_names[c.s.instructions.opcode[instruction]])
    if is_vgpr(c, dst):
        if wide:
            add_sub_64(c, new_temp(c, class_v2), a, b, subtract)
        elif subtract:
            vsub32(c, 0, T(c, a), T(c, b), True, 0)
        else:
            vadd32(c, 0, T(c, a), T(c, b), True, 0)
        bit = emit3(c, op_v_cndmask_b32, 0 if wide else dst, K(0), K(1), T(c, c.second))
    else:
        if wide:
            emit2(c, op_s_sub_u32 if subtract else op_s_add_u32, 0, T(c, part(c, a, 0, 4)), T(c, part(c, b, 0, 4)))
            emit3(c, op_s_subb_u32 if subtract else op_s_addc_u32, 0, T(c, part(c, a, 1, 4)), T(c, part(c, b, 1, 4)),
                  scc_operand(c, c.scc))
        else:
            emit2(c, op_s_sub_u32 if subtract else op_s_add_u32, 0, T(c, a), T(c, b))
        bit = copy(c, 0 if wide else dst, class_s1, T(c, c.scc))
    if wide:
        pair(c, dst, 0, T(c, bit), K(0))
    return 0


cdef int _unsigned_saturating(Isel *c, ValueId instruction, TempId dst, uint64_t subtract) except -1 nogil:
    cdef TempId a = source(c, instruction, 0)
    cdef TempId b = source(c, instruction, 1)
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef uint32_t bound = 0 if subtract else 0xffffffffU
    cdef TempId sum
    cdef TempId mask
    cdef TempId low
    if bits < 32 and not is_vgpr(c, dst):
        # In 32 bits nothing wraps; the result is clamped by a minimum.
        a = extract_bits(c, 0, a, 0, bits, False)
        b = extract_bits(c, 0, b, 0, bits, False)
        if subtract:
            b = emit2(c, op_s_min_u32, 0, T(c, a), T(c, b))
            emit2(c, op_s_sub_u32, dst, T(c, a), T(c, b))
        else:
            sum = emit2(c, op_s_add_u32, 0, T(c, a), T(c, b))
            emit2(c, op_s_min_u32, dst, T(c, sum), K((1 << bits) - 1))
    elif bits == 16:
        if subtract:
            emit2(c, op_v_sub_u16_e64 if c.gfx >= gfx10 else op_v_sub_u16, dst, T(c, a), T(c, b))
        else:
            emit2(c, op_v_add_u16_e64 if c.gfx >= gfx10 else op_v_add_u16, dst, T(c, a), T(c, b))
        _clamp_last(c)
    elif bits == 32 and is_vgpr(c, dst):
        _saturated(c, dst, T(c, a), T(c, b), subtract)
    elif bits == 32:
        sum = emit2(c, op_s_sub_u32 if subtract else op_s_add_u32, 0, T(c, a), T(c, b))
        emit3(c, op_s_cselect_b32, dst, K(bound), T(c, sum), scc_operand(c, c.scc))
    elif bits == 64 and is_vgpr(c, dst):
        sum = new_temp(c, class_v2)
        add_sub_64(c, sum, a, b, subtract)
        mask = c.second
        low = emit3(c, op_v_cndmask_b32, 0, T(c, part(c, sum, 0, 4)), K(bound), T(c, mask))
        sum = emit3(c, op_v_cndmask_b32, 0, T(c, part(c, sum, 1, 4)), K(bound), T(c, mask))
        pair(c, dst, 0, T(c, low), T(c, sum))
    elif bits == 64:
        low = emit2(c, op_s_sub_u32 if subtract else op_s_add_u32, 0, T(c, part(c, a, 0, 4)), T(c, part(c, b, 0, 4)))
        sum = emit3(c, op_s_subb_u32 if subtract else op_s_addc_u32, 0, T(c, part(c, a, 1, 4)), T(c, part(c, b, 1, 4)),
                    scc_operand(c, c.scc))
        mask = c.scc
        low = pair(c, 0, class_s2, T(c, low), T(c, sum))
        emit3(c, op_s_cselect_b64, dst, operand_c64(0 if subtract else 0xffffffffffffffffULL), T(c, low), scc_operand(c, mask))
    else:
        return unsupported(c, b"8-bit", alu_names[c.s.instructions.opcode[instruction]])
    return 0


cdef int _signed_saturating_older(Isel *c, TempId dst, TempId a, TempId b, uint32_t bits, bint subtract) except -1 nogil:
    """Before GFX9 nothing clamps signed sums: narrow ones are clamped in 32 bits; of 32 bits, signs tell whether they wrapped."""
    cdef TempId sum
    cdef TempId bound
    cdef TempId wrapped
    if bits < 32:
        a = as_vgpr(c, extract_bits(c, 0, a, 0, bits, True))
        b = as_vgpr(c, extract_bits(c, 0, b, 0, bits, True))
        sum = vsub32(c, 0, T(c, a), T(c, b), False, 0) if subtract else vadd32(c, 0, T(c, a), T(c, b), False, 0)
        sum = emit3(c, op_v_med3_i32, 0, K(<uint32_t>-(1 << (bits - 1))), T(c, sum), K((1 << (bits - 1)) - 1))
        convert_integer(c, dst, sum, 32, bits, True)
        return 0
    sum = vsub32(c, 0, T(c, a), T(c, b), False, 0) if subtract else vadd32(c, 0, T(c, a), T(c, b), False, 0)
    bound = emit2(c, op_v_xor_b32, 0, K(0x7fffffff), T(c, as_vgpr(c, emit2(c, op_v_ashrrev_i32, 0, K(31), T(c, a)))))
    # A sum has wrapped where its sign is that of neither operand, a difference where the operands' signs differ and its own is not the first's.
    wrapped = emit2(c, op_v_xor_b32, 0, T(c, b), T(c, as_vgpr(c, a if subtract else sum)))
    wrapped = emit2(c, op_v_and_b32, 0, T(c, emit2(c, op_v_xor_b32, 0, T(c, a), T(c, sum))), T(c, wrapped))
    wrapped = emit2(c, op_v_cmp_gt_i32, 0, K(0), T(c, wrapped))
    emit3(c, op_v_cndmask_b32, dst, T(c, sum), T(c, bound), T(c, wrapped))
    return 0


cdef int _signed_saturating(Isel *c, ValueId instruction, TempId dst, uint64_t subtract) except -1 nogil:
    cdef TempId a = source(c, instruction, 0)
    cdef TempId b = source(c, instruction, 1)
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef TempId bound
    cdef TempId sum
    if c.gfx < gfx9 and bits <= 32 and is_vgpr(c, dst):
        return _signed_saturating_older(c, dst, a, b, bits, subtract)
    if bits == 16 and is_vgpr(c, dst):
        emit2(c, op_v_sub_i16 if subtract else op_v_add_i16, dst, T(c, a), T(c, b))
        _clamp_last(c)
    elif bits < 32 and not is_vgpr(c, dst):
        a = extract_bits(c, 0, a, 0, bits, True)
        b = extract_bits(c, 0, b, 0, bits, True)
        sum = emit2(c, op_s_sub_i32 if subtract else op_s_add_i32, 0, T(c, a), T(c, b))
        sum = emit2(c, op_s_min_i32, 0, T(c, sum), K((1 << (bits - 1)) - 1))
        emit2(c, op_s_max_i32, dst, T(c, sum), K(<uint32_t>-(1 << (bits - 1))))
    elif bits == 32 and is_vgpr(c, dst):
        emit2(c, op_v_sub_i32 if subtract else op_v_add_i32, dst, T(c, a), T(c, b))
        _clamp_last(c)
    elif bits == 32:
        # The bound has the sign of the first operand: 0x7fffffff, or one more.
        bound = emit2(c, op_s_cmp_lt_i32, 0, T(c, a), K(0))
        bound = emit3(c, op_s_cselect_b32, 0, K(0x80000000U), K(0x7fffffff), scc_operand(c, bound))
        sum = emit2(c, op_s_sub_i32 if subtract else op_s_add_i32, 0, T(c, a), T(c, b))
        emit3(c, op_s_cselect_b32, dst, T(c, bound), T(c, sum), scc_operand(c, c.scc))
    else:
        return unsupported(c, b"8- or 64-bit", alu_names[c.s.instructions.opcode[instruction]])
    return 0


# ---------------------------------------------------------------------------------------------------------------- signs
cdef int _negate(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef TempId a = source(c, instruction, 0)
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    if bits == 64:
        return add_sub_64(c, dst, pair(c, 0, class_v2 if is_vgpr(c, dst) else class_s2, K(0), K(0)), a, True)
    if not is_vgpr(c, dst):
        emit2(c, op_s_sub_i32, dst, K(0), T(c, a))
    elif bits == 32:
        emit2(c, op_v_sub_u32, dst, K(0), T(c, a))
    else:
        emit2(c, op_v_sub_u16_e64 if c.gfx >= gfx10 else op_v_sub_u16, dst, K(0), T(c, a))
    return 0


cdef int _absolute(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef TempId a = source(c, instruction, 0)
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef TempId negative
    if bits == 64 or (bits == 8 and is_vgpr(c, dst)):
        return unsupported(c, b"8- or 64-bit", b"iabs")
    if not is_vgpr(c, dst):
        if bits < 32:
            a = extract_bits(c, 0, a, 0, bits, True)
        emit1(c, op_s_abs_i32, dst, T(c, a))
    elif bits == 32:
        negative = emit2(c, op_v_sub_u32, 0, K(0), T(c, a))
        emit2(c, op_v_max_i32, dst, T(c, a), T(c, negative))
    else:
        negative = emit2(c, op_v_sub_u16_e64 if c.gfx >= gfx10 else op_v_sub_u16, 0, K(0), T(c, a))
        emit2(c, op_v_max_i16_e64 if c.gfx >= gfx10 else op_v_max_i16, dst, T(c, a), T(c, negative))
    return 0


cdef int _sign(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef TempId a = source(c, instruction, 0)
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    cdef TempId sign
    cdef TempId nonzero
    cdef TempId low
    if bits == 64 and is_vgpr(c, dst):
        sign = emit2(c, op_v_ashrrev_i32, 0, K(31), T(c, part(c, a, 1, 4)))
        nonzero = emit2(c, op_v_cmp_lg_u64, 0, operand_c64(0), T(c, a))
        low = emit2(c, op_v_or_b32, 0, K(1), T(c, sign))
        low = emit3(c, op_v_cndmask_b32, 0, K(0), T(c, low), T(c, nonzero))
        pair(c, dst, 0, T(c, low), T(c, sign))
    elif bits == 64:
        sign = emit2(c, op_s_ashr_i64, 0, T(c, a), K(63))
        nonzero = emit2(c, op_s_cmp_lg_u64, 0, T(c, a), operand_c64(0))
        low = copy(c, 0, class_s1, T(c, nonzero))
        low = emit2(c, op_s_or_b32, 0, T(c, part(c, sign, 0, 4)), T(c, low))
        pair(c, dst, 0, T(c, low), T(c, part(c, sign, 1, 4)))
    elif not is_vgpr(c, dst):
        if bits < 32:
            a = extract_bits(c, 0, a, 0, bits, True)
        a = emit2(c, op_s_max_i32, 0, T(c, a), K(0xffffffffU))
        emit2(c, op_s_min_i32, dst, T(c, a), K(1))
    elif bits == 32:
        emit3(c, op_v_med3_i32, dst, K(0xffffffffU), T(c, a), K(1))
    elif bits == 16:
        emit3(c, op_v_med3_i16, dst, operand_c16(0xffff), T(c, a), operand_c16(1))
    else:
        return unsupported(c, b"8-bit", b"isign")
    return 0


# ---------------------------------------------------------------------------------------------------------------- bits
cdef TempId _widened(Isel *c, ValueId instruction, bint is_signed) except 0 nogil:
    """The first source in at least 32 bits."""
    cdef uint32_t bits = source_bits(c, instruction, 0)
    cdef TempId a = source(c, instruction, 0)
    if bits >= 32:
        return a
    return convert_integer(c, 0, a, bits, 32, is_signed)


cdef int _count_bits(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef TempId a = _widened(c, instruction, False)
    cdef bint wide = class_bytes(class_of(c, a)) == 8
    cdef TempId low
    if not is_vgpr(c, a):
        low = emit1(c, op_s_bcnt1_i32_b64 if wide else op_s_bcnt1_i32_b32, 0 if is_vgpr(c, dst) else dst, T(c, a))
        if is_vgpr(c, dst):
            copy(c, dst, 0, T(c, low))
    elif wide:
        low = emit2(c, op_v_bcnt_u32_b32, 0, T(c, part(c, a, 0, 4)), K(0))
        emit2(c, op_v_bcnt_u32_b32, dst, T(c, part(c, a, 1, 4)), T(c, low))
    else:
        emit2(c, op_v_bcnt_u32_b32, dst, T(c, a), K(0))
    return 0


cdef int _lowest_bit(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef TempId a = _widened(c, instruction, False)
    cdef bint wide = class_bytes(class_of(c, a)) == 8
    cdef TempId low
    cdef TempId high
    if not is_vgpr(c, a):
        emit1(c, op_s_ff1_i32_b64 if wide else op_s_ff1_i32_b32, dst, T(c, a))
    elif wide:
        # -1, for no bit, is the largest unsigned number, and the saturating addition keeps it.
        low = emit1(c, op_v_ffbl_b32, 0, T(c, part(c, a, 0, 4)))
        high = emit1(c, op_v_ffbl_b32, 0, T(c, part(c, a, 1, 4)))
        high = _add_saturating(c, K(32), T(c, high))
        emit2(c, op_v_min_u32, dst, T(c, low), T(c, high))
    else:
        emit1(c, op_v_ffbl_b32, dst, T(c, a))
    return 0


cdef int _highest_bit(Isel *c, ValueId instruction, TempId dst, uint64_t is_signed) except -1 nogil:
    cdef TempId a = _widened(c, instruction, is_signed)
    cdef bint wide = class_bytes(class_of(c, a)) == 8
    cdef uint32_t last = 63 if wide else 31
    cdef TempId from_top
    cdef TempId result
    cdef TempId low
    cdef TempId high
    cdef TempId found
    if not is_vgpr(c, a):
        if wide:
            from_top = emit1(c, op_s_flbit_i32_i64 if is_signed else op_s_flbit_i32_b64, 0, T(c, a))
        else:
            from_top = emit1(c, op_s_flbit_i32 if is_signed else op_s_flbit_i32_b32, 0, T(c, a))
        result = emit2(c, op_s_sub_u32, 0, K(last), T(c, from_top))
        emit3(c, op_s_cselect_b32, dst, K(0xffffffffU), T(c, result), scc_operand(c, c.scc))
        return 0
    if wide:
        high = part(c, a, 1, 4)
        low = part(c, a, 0, 4)
        if is_signed:
            # If the high half is all sign bits, the answer is in the low half: its first bit that differs from the sign.
            low = emit2(c, op_v_xor_b32, 0, T(c, low), T(c, emit2(c, op_v_ashrrev_i32, 0, K(31), T(c, high))))
        low = emit1(c, op_v_ffbh_u32, 0, T(c, low))
        high = emit1(c, op_v_ffbh_i32 if is_signed else op_v_ffbh_u32, 0, T(c, high))
        low = _add_saturating(c, K(32), T(c, low))
        from_top = emit2(c, op_v_min_u32, 0, T(c, low), T(c, high))
    else:
        from_top = emit1(c, op_v_ffbh_i32 if is_signed else op_v_ffbh_u32, 0, T(c, a))
    result = vsub32(c, 0, K(last), T(c, from_top), True, 0)
    found = c.second
    emit3(c, op_v_cndmask_b32, dst, T(c, result), T(c, from_top), T(c, found))
    return 0


cdef int _leading_zeros(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef TempId a = source(c, instruction, 0)
    if is_vgpr(c, a):
        emit2(c, op_v_min_u32, dst, K(32), T(c, emit1(c, op_v_ffbh_u32, 0, T(c, a))))
    else:
        emit2(c, op_s_min_u32, dst, K(32), T(c, emit1(c, op_s_flbit_i32_b32, 0, T(c, a))))
    return 0


cdef int _field(Isel *c, ValueId instruction, TempId dst, uint64_t is_signed) except -1 nogil:
    cdef uint64_t offset = 0
    cdef uint64_t width = 0
    cdef Operand range_operand
    if is_vgpr(c, dst):
        emit3(c, op_v_bfe_i32 if is_signed else op_v_bfe_u32, dst, T(c, source(c, instruction, 0)),
              T(c, source(c, instruction, 1)), T(c, source(c, instruction, 2)))
        return 0
    if _constant(c, instruction, 1, &offset) and _constant(c, instruction, 2, &width):
        range_operand = K(<uint32_t>((offset & 31) | (width & 31) << 16))
    else:
        range_operand = T(c, emit2(c, op_s_and_b32, 0, T(c, source(c, instruction, 2)), K(31)))
        range_operand = T(c, emit2(c, op_s_pack_ll_b32_b16, 0, T(c, source(c, instruction, 1)), range_operand))
    emit2(c, op_s_bfe_i32 if is_signed else op_s_bfe_u32, dst, T(c, source(c, instruction, 0)), range_operand)
    return 0


cdef int _bit_select(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    """(base & ~mask) | (insert & mask)"""
    cdef TempId mask = source(c, instruction, 0)
    cdef TempId insert = source(c, instruction, 1)
    cdef TempId base = source(c, instruction, 2)
    cdef bint wide = c.s.instructions.bit_size[instruction] == 64
    if is_vgpr(c, dst):
        if wide:
            insert = emit3(c, op_v_bfi_b32, 0, T(c, part(c, mask, 0, 4)), T(c, part(c, insert, 0, 4)), T(c, part(c, base, 0, 4)))
            base = emit3(c, op_v_bfi_b32, 0, T(c, part(c, mask, 1, 4)), T(c, part(c, source(c, instruction, 1), 1, 4)),
                         T(c, part(c, base, 1, 4)))
            pair(c, dst, 0, T(c, insert), T(c, base))
        else:
            emit3(c, op_v_bfi_b32, dst, T(c, mask), T(c, insert), T(c, base))
        return 0
    insert = emit2(c, op_s_and_b64 if wide else op_s_and_b32, 0, T(c, mask), T(c, insert))
    base = emit2(c, op_s_andn2_b64 if wide else op_s_andn2_b32, 0, T(c, base), T(c, mask))
    emit2(c, op_s_or_b64 if wide else op_s_or_b32, dst, T(c, insert), T(c, base))
    return 0


cdef int _bit_test(Isel *c, ValueId instruction, TempId dst, uint64_t is_set) except -1 nogil:
    cdef TempId a = source(c, instruction, 0)
    cdef TempId index = source(c, instruction, 1)
    cdef uint32_t bits = source_bits(c, instruction, 0)
    if not is_vgpr(c, a) and not is_vgpr(c, index):
        if bits < 32:
            index = emit2(c, op_s_and_b32, 0, T(c, index), K(bits - 1))
        if bits == 64:
            a = emit2(c, op_s_bitcmp1_b64 if is_set else op_s_bitcmp0_b64, 0, T(c, a), T(c, index))
        else:
            a = emit2(c, op_s_bitcmp1_b32 if is_set else op_s_bitcmp0_b32, 0, T(c, a), T(c, index))
        scc_to_mask(c, dst, a)
        return 0
    if bits == 64:
        a = part(c, emit2(c, op_v_lshrrev_b64, 0, T(c, index), T(c, a)), 0, 4)
        a = emit2(c, op_v_and_b32, 0, K(1), T(c, a))
    else:
        if bits < 32:
            a = convert_integer(c, 0, a, bits, 32, False)
            index = emit2(c, op_v_and_b32, 0, K(bits - 1), T(c, index))
        a = emit3(c, op_v_bfe_u32, 0, T(c, a), T(c, index), K(1))
    emit2(c, op_v_cmp_lg_u32 if is_set else op_v_cmp_eq_u32, dst, K(0), T(c, a))
    return 0


cdef int _extract_piece(Isel *c, ValueId instruction, TempId dst, uint64_t kind) except -1 nogil:
    cdef uint32_t bits = kind & 0xff
    cdef bint is_signed = (kind & signed_piece) != 0
    cdef TempId a = source(c, instruction, 0)
    cdef uint32_t wide = c.s.instructions.bit_size[instruction]
    cdef uint64_t index = 0
    cdef TempId piece
    if not _constant(c, instruction, 1, &index):
        return unsupported(c, b"variable index of", alu_names[c.s.instructions.opcode[instruction]])
    if wide < 64:
        if is_vgpr(c, dst):
            a = as_vgpr(c, a)
        if bits == wide:
            copy(c, dst, 0, T(c, a))
        else:
            extract_bits(c, dst, a, <uint32_t>index, bits, is_signed)
        return 0
    piece = part(c, a, <uint32_t>(index * bits // 32), 4)
    piece = extract_bits(c, 0, piece, <uint32_t>(index % (32 // bits)), bits, is_signed)
    convert_integer(c, dst, piece, 32, 64, is_signed)
    return 0


cdef int _insert_piece(Isel *c, ValueId instruction, TempId dst, uint64_t piece_bits) except -1 nogil:
    """The low byte or word shifted left by a constant, zeros elsewhere."""
    cdef uint32_t bits = <uint32_t>piece_bits
    cdef TempId a = source(c, instruction, 0)
    cdef uint32_t wide = c.s.instructions.bit_size[instruction]
    cdef uint64_t index = 0
    cdef TempId piece = dst
    cdef Operand[3] o
    cdef Definition[2] d
    cdef uint32_t count = 1
    if not _constant(c, instruction, 1, &index):
        return unsupported(c, b"variable index of", alu_names[c.s.instructions.opcode[instruction]])
    if wide == 64:
        a = part(c, a, 0, 4)
        piece = new_temp(c, class_v1 if is_vgpr(c, dst) else class_s1)
    if is_vgpr(c, dst):
        a = as_vgpr(c, a)
    o[0] = T(c, a)
    o[1] = K(<uint32_t>(index % (32 // bits)))
    o[2] = K(bits)
    d[0] = definition_of(c.p, piece)
    if not is_vgpr(c, dst):
        c.scc = new_temp(c, class_s1)
        d[1] = definition_of_fixed(c.p, c.scc, register_scc)
        count = 2
    append_instruction(c, make(c.p, op_p_insert, d, count, o, 3))
    if wide == 64:
        if index * bits >= 32:
            pair(c, dst, 0, K(0), T(c, piece))
        else:
            pair(c, dst, 0, T(c, piece), K(0))
    return 0


cdef int _funnel_shift(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    """shfr: the low half of (high:low) >> count."""
    cdef TempId high = source(c, instruction, 0)
    cdef TempId low = source(c, instruction, 1)
    cdef TempId count = source(c, instruction, 2)
    if is_vgpr(c, dst):
        emit3(c, op_v_alignbit_b32, dst, T(c, high), T(c, low), T(c, count))
        return 0
    count = emit2(c, op_s_and_b32, 0, T(c, count), K(31))
    low = emit2(c, op_s_lshr_b64, 0, T(c, pair(c, 0, class_s2, T(c, low), T(c, high))), T(c, count))
    copy(c, dst, 0, T(c, part(c, low, 0, 4)))
    return 0


cdef TempId _vector_source(Isel *c, ValueId instruction, uint32_t index, uint32_t count) except 0 nogil:
    """Components of an operand, in VGPRs one behind the other."""
    cdef Operand[4] o
    cdef uint32_t k
    for k in range(count):
        o[k] = T(c, source_component(c, instruction, index, k))
    return create_vector(c, 0, vgpr_class(4 * count), o, count)


cdef int _sums_of_differences(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    """mqsad_4x8: the hardware takes the reference second."""
    cdef Operand[3] o
    o[0] = T(c, _vector_source(c, instruction, 1, 2))
    o[1] = T(c, as_vgpr(c, source_component(c, instruction, 0, 0)))
    o[2] = T(c, _vector_source(c, instruction, 2, 4))
    emit_raw(c, op_v_mqsad_u32_u8, dst, o, 3)
    return split(c, dst, 4)


cdef int _rotate(Isel *c, ValueId instruction, TempId dst, uint64_t left) except -1 nogil:
    cdef TempId a = source(c, instruction, 0)
    cdef TempId count = source(c, instruction, 1)
    if c.s.instructions.bit_size[instruction] != 32:
        return unsupported(c, b"rotation of other than 32 bits:", alu_names[c.s.instructions.opcode[instruction]])
    if is_vgpr(c, dst):
        if left:
            count = emit2(c, op_v_sub_u32, 0, K(0), T(c, count))
        emit3(c, op_v_alignbit_b32, dst, T(c, a), T(c, a), T(c, count))
        return 0
    if left:
        count = emit2(c, op_s_sub_i32, 0, K(0), T(c, count))
    count = emit2(c, op_s_and_b32, 0, T(c, count), K(31))
    a = emit2(c, op_s_lshr_b64, 0, T(c, pair(c, 0, class_s2, T(c, a), T(c, a))), T(c, count))
    copy(c, dst, 0, T(c, part(c, a, 0, 4)))
    return 0


# ------------------------------------------------------------------------------------------------- products, dot products
cdef int _full_product(Isel *c, ValueId instruction, TempId dst, uint64_t is_signed) except -1 nogil:
    cdef TempId a = source(c, instruction, 0)
    cdef TempId b = source(c, instruction, 1)
    cdef TempId low
    cdef TempId high
    if is_vgpr(c, dst):
        low = emit2(c, op_v_mul_lo_u32, 0, T(c, a), T(c, b))
        high = emit2(c, op_v_mul_hi_i32 if is_signed else op_v_mul_hi_u32, 0, T(c, a), T(c, b))
    else:
        low = emit2(c, op_s_mul_i32, 0, T(c, a), T(c, b))
        high = emit2(c, op_s_mul_hi_i32 if is_signed else op_s_mul_hi_u32, 0, T(c, a), T(c, b))
    pair(c, dst, 0, T(c, low), T(c, high))
    return 0


cdef int _product_16(Isel *c, ValueId instruction, TempId dst, uint64_t is_signed) except -1 nogil:
    cdef TempId a = extract_bits(c, 0, source(c, instruction, 0), 0, 16, is_signed)
    cdef TempId b = extract_bits(c, 0, source(c, instruction, 1), 0, 16, is_signed)
    if is_vgpr(c, dst):
        emit2(c, op_v_mul_i32_i24 if is_signed else op_v_mul_u32_u24, dst, T(c, a), T(c, b))
    else:
        emit2(c, op_s_mul_i32, dst, T(c, a), T(c, b))
    return 0


cdef int _dot(Isel *c, ValueId instruction, TempId dst, uint64_t kind) except -1 nogil:
    cdef const Dot *dot = &_dots[kind & 0xff]
    cdef uint32_t opcode = dot.opcode_gfx11 if c.gfx >= gfx11 else dot.opcode
    cdef uint32_t signs = dot.signs_gfx11 if c.gfx >= gfx11 else 0
    cdef uint64_t *word
    if opcode == op_invalid:
        return unsupported_alu(c, instruction)
    emit3(c, opcode, dst, T(c, source(c, instruction, 0)), T(c, source(c, instruction, 1)), T(c, source(c, instruction, 2)))
    word = modifiers_of_last(c)
    word[0] = modifier_set_opsel_hi(modifier_set_neg(word[0], signs), 7)
    if kind & saturated:
        word[0] = modifier_set_clamp(word[0], 1)
    return 0


cdef int _three_sum(Isel *c, ValueId instruction, TempId dst, uint64_t unused) except -1 nogil:
    cdef Operand a = T(c, source(c, instruction, 0))
    cdef Operand b = T(c, source(c, instruction, 1))
    cdef Operand d = T(c, source(c, instruction, 2))
    if c.s.instructions.bit_size[instruction] != 32:
        return unsupported(c, b"other than 32 bits of", b"iadd3")
    if is_vgpr(c, dst):
        emit3(c, op_v_add3_u32, dst, a, b, d)
    else:
        emit2(c, op_s_add_u32, dst, T(c, emit2(c, op_s_add_u32, 0, a, b)), d)
    return 0


cdef int _half(Isel *c, ValueId instruction, TempId dst, uint64_t index) except -1 nogil:
    """One half of a 32- or 64-bit value."""
    cdef TempId a = source(c, instruction, 0)
    cdef uint32_t bits = c.s.instructions.bit_size[instruction]
    if is_vgpr(c, a) and not is_vgpr(c, dst):
        a = as_uniform(c, 0, a)
    elif is_vgpr(c, dst):
        a = as_vgpr(c, a)
    copy(c, dst, 0, T(c, extract(c, a, <uint32_t>index, bits // 8)))
    return 0


cdef int _resize(Isel *c, ValueId instruction, TempId dst, uint64_t is_signed) except -1 nogil:
    convert_integer(c, dst, source(c, instruction, 0), source_bits(c, instruction, 0), c.s.instructions.bit_size[instruction], is_signed)
    return 0


cdef void fill_integer(AluSelection *table) noexcept nogil:
    table[<int>alu_i2i8] = AluSelection(_resize, True)
    table[<int>alu_i2i16] = AluSelection(_resize, True)
    table[<int>alu_i2i32] = AluSelection(_resize, True)
    table[<int>alu_i2i64] = AluSelection(_resize, True)
    table[<int>alu_u2u8] = AluSelection(_resize, False)
    table[<int>alu_u2u16] = AluSelection(_resize, False)
    table[<int>alu_u2u32] = AluSelection(_resize, False)
    table[<int>alu_u2u64] = AluSelection(_resize, False)
    table[<int>alu_unpack_64_2x32_split_x] = AluSelection(_half, 0)
    table[<int>alu_unpack_64_2x32_split_y] = AluSelection(_half, 1)
    table[<int>alu_unpack_32_2x16_split_x] = AluSelection(_half, 0)
    table[<int>alu_unpack_32_2x16_split_y] = AluSelection(_half, 1)
    table[<int>alu_uadd_carry] = AluSelection(_carry, False)
    table[<int>alu_usub_borrow] = AluSelection(_carry, True)
    table[<int>alu_uadd_sat] = AluSelection(_unsigned_saturating, False)
    table[<int>alu_usub_sat] = AluSelection(_unsigned_saturating, True)
    table[<int>alu_iadd_sat] = AluSelection(_signed_saturating, False)
    table[<int>alu_isub_sat] = AluSelection(_signed_saturating, True)
    table[<int>alu_ineg] = AluSelection(_negate, 0)
    table[<int>alu_iabs] = AluSelection(_absolute, 0)
    table[<int>alu_isign] = AluSelection(_sign, 0)
    table[<int>alu_bit_count] = AluSelection(_count_bits, 0)
    table[<int>alu_find_lsb] = AluSelection(_lowest_bit, 0)
    table[<int>alu_ufind_msb] = AluSelection(_highest_bit, False)
    table[<int>alu_ifind_msb] = AluSelection(_highest_bit, True)
    table[<int>alu_uclz] = AluSelection(_leading_zeros, 0)
    table[<int>alu_ubfe] = AluSelection(_field, False)
    table[<int>alu_ibfe] = AluSelection(_field, True)
    table[<int>alu_bitfield_select] = AluSelection(_bit_select, 0)
    table[<int>alu_bitnz] = AluSelection(_bit_test, True)
    table[<int>alu_bitz] = AluSelection(_bit_test, False)
    table[<int>alu_extract_u8] = AluSelection(_extract_piece, 8)
    table[<int>alu_extract_i8] = AluSelection(_extract_piece, 8 | signed_piece)
    table[<int>alu_extract_u16] = AluSelection(_extract_piece, 16)
    table[<int>alu_extract_i16] = AluSelection(_extract_piece, 16 | signed_piece)
    table[<int>alu_insert_u8] = AluSelection(_insert_piece, 8)
    table[<int>alu_insert_u16] = AluSelection(_insert_piece, 16)
    table[<int>alu_shfr] = AluSelection(_funnel_shift, 0)
    table[<int>alu_mqsad_4x8] = AluSelection(_sums_of_differences, 0)
    table[<int>alu_urol] = AluSelection(_rotate, True)
    table[<int>alu_uror] = AluSelection(_rotate, False)
    table[<int>alu_umul_2x32_64] = AluSelection(_full_product, False)
    table[<int>alu_imul_2x32_64] = AluSelection(_full_product, True)
    table[<int>alu_umul_16x16] = AluSelection(_product_16, False)
    table[<int>alu_imul_16x16] = AluSelection(_product_16, True)
    table[<int>alu_iadd3] = AluSelection(_three_sum, 0)
    table[<int>alu_udot_4x8_uadd] = AluSelection(_dot, 0)
    table[<int>alu_udot_4x8_uadd_sat] = AluSelection(_dot, 0 | saturated)
    table[<int>alu_sdot_4x8_iadd] = AluSelection(_dot, 1)
    table[<int>alu_sdot_4x8_iadd_sat] = AluSelection(_dot, 1 | saturated)
    table[<int>alu_sudot_4x8_iadd] = AluSelection(_dot, 2)
    table[<int>alu_sudot_4x8_iadd_sat] = AluSelection(_dot, 2 | saturated)
    table[<int>alu_sdot_2x16_iadd] = AluSelection(_dot, 3)
    table[<int>alu_sdot_2x16_iadd_sat] = AluSelection(_dot, 3 | saturated)
    table[<int>alu_udot_2x16_uadd] = AluSelection(_dot, 4)
    table[<int>alu_udot_2x16_uadd_sat] = AluSelection(_dot, 4 | saturated)
