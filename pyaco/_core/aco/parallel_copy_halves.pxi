# Halves and constant parts of registers from GFX8 on, for ``parallel_copy.pyx``. A constant part of a register is one instruction where the
# level has one that keeps the rest: v_mov_b16 (GFX11), v_add_u16 with op_sel (GFX10 and later), SDWA with inline constants (GFX9 to GFX10.3),
# v_cvt_pk_u8_f32 for a byte (GFX10 and later, whose VOP3 has literals); else it is cleared and set. Source: AMD ISA documents, "SDWA", "OPSEL".

cdef inline bint _is_inline(Operand o) noexcept nogil:
    return not operand_is_literal(o)


cdef int _sdwa_constant(CopySolver *s, uint32_t to, uint32_t size, uint16_t opcode, Operand a, Operand b) except -1 nogil:
    """A move, or an operation on two inline constants, into a half or a byte (a byte address)."""
    cdef Definition d = definition_register(<uint16_t>to, class_v2b if size == 2 else class_v1b)
    cdef InstructionId i = emit_1(s.out, opcode, d, a) if opcode == op_v_mov_b32 else emit_2(s.out, opcode, d, a, b)
    s.p.instructions.format[i] |= format_sdwa
    s.p.instructions.modifiers[i] = modifier_set_sdwa_dst_sel(
        modifier_set_sdwa_sel0(modifier_set_sdwa_sel1(0, 2), 2), (size - 1) | 0x10)
    return 0


cdef bint _half_constant(CopySolver *s, uint32_t to, uint32_t value) except -1 nogil:
    """A constant half, the other one kept."""
    cdef Operand o = operand_c16(value)
    cdef Operand number = operand_c32(<uint32_t><int16_t>value)
    cdef InstructionId i
    if gfx11 <= s.p.gfx_level < gfx12:
        i = emit_1(s.out, op_v_mov_b16, definition_register(<uint16_t>to, class_v2b), number if _is_inline(number) else operand_c32(value))
        s.p.instructions.modifiers[i] = modifier_set_opsel(0, 8 if to & 2 else 0)
        return True
    if gfx9 <= s.p.gfx_level < gfx11 and _is_inline(number):
        _sdwa_constant(s, to, 2, op_v_mov_b32, number, number)
        return True
    if gfx9 <= s.p.gfx_level < gfx11 and _is_inline(o):
        _sdwa_constant(s, to, 2, op_v_add_f16, o, operand_c16(0))
        return True
    if s.p.gfx_level < gfx10:
        return False
    i = emit_2(s.out, op_v_add_u16_e64, definition_register(<uint16_t>to, class_v2b), number if _is_inline(number) else operand_c32(value),
               operand_c32(0))
    s.p.instructions.modifiers[i] = modifier_set_opsel(0, 8 if to & 2 else 0)
    return True


cdef uint32_t _factor(uint32_t value) noexcept nogil:
    """A factor of a number of which both it and the other one are inline constants; 0 if there is none."""
    cdef uint32_t k
    for k in range(2, 65):
        if value % k == 0 and value // k <= 64:
            return k
    return 0


cdef bint _byte_constant(CopySolver *s, uint32_t to, uint32_t value) except -1 nogil:
    """A constant byte, the others kept."""
    cdef Operand number = operand_c32(<uint32_t><int32_t><signed char>value)
    cdef uint32_t factor = _factor(value)
    if gfx9 <= s.p.gfx_level < gfx11 and _is_inline(number):
        _sdwa_constant(s, to, 1, op_v_mov_b32, number, number)
        return True
    if gfx9 <= s.p.gfx_level < gfx11 and factor:
        _sdwa_constant(s, to, 1, op_v_mul_u32_u24, operand_c32(factor), operand_c32(value // factor))
        return True
    if s.p.gfx_level < gfx10:
        return False
    emit_3(s.out, op_v_cvt_pk_u8_f32, vgpr_definition(<uint16_t>(to & ~<uint32_t>3)), operand_c32(_bits_of(<float>value)), operand_c32(to & 3),
           vgpr_operand(<uint16_t>(to & ~<uint32_t>3)))
    return True


cdef inline uint32_t _bits_of(float number) noexcept nogil:
    cdef uint32_t bits
    memcpy(&bits, &number, 4)
    return bits


cdef int _write_constants(CopySolver *s, const Target *t, uint32_t mask) except -1 nogil:
    """Constant bytes of a register, the others kept."""
    cdef uint32_t bits = _byte_mask(mask)
    cdef uint32_t value = _constant_of(t) & bits
    cdef uint32_t b = _lowest(mask)
    cdef Definition d = vgpr_definition(t.reg * 4)
    cdef Operand o = vgpr_operand(t.reg * 4)
    if mask == 15:
        return emit_constant(s.out, t.reg, value)
    if value and value != bits:
        if (mask == 3 or mask == 12) and _half_constant(s, t.reg * 4 + b, value >> (8 * b)):
            return 0
        if mask & (mask - 1) == 0 and _byte_constant(s, t.reg * 4 + b, value >> (8 * b)):
            return 0
    if value != bits:
        emit_2(s.out, op_v_and_b32, d, operand_c32(~bits), o)
    if value:
        emit_2(s.out, op_v_or_b32, d, operand_c32(value), o)
    return 0


cdef bint _half(CopySolver *s, const Target *t, uint32_t b, Operand *o) noexcept nogil:
    """A half of a target as an operand of v_pack_b32_f16, if it is one."""
    cdef uint32_t constant = (t.constant >> b) & 3
    if constant == 3:
        o[0] = operand_c16(t.value[b] | <uint32_t>t.value[b + 1] << 8)
        return s.p.gfx_level >= gfx10 or _is_inline(o[0])
    if constant or _piece(t, b, 15) != 2 or not _is_vgpr(t.source[b] >> 2):
        return False
    o[0] = operand_register(t.source[b], class_v2b)
    return True


cdef bint _pack_halves(CopySolver *s, Target *t) except -1 nogil:
    """Two halves of two registers, or one and a constant, in one instruction where denormals survive it."""
    cdef InstructionId i
    cdef Operand low
    cdef Operand high
    if s.p.gfx_level < gfx9 or t.pending != 15 or not (s.fp_mode >> fp_denorm16_64_shift) & 1:
        return False
    if not _half(s, t, 0, &low) or not _half(s, t, 2, &high):
        return False
    i = emit_2(s.out, op_v_pack_b32_f16, vgpr_definition(t.reg * 4), low, high)
    s.p.instructions.modifiers[i] = modifier_set_opsel(0, (1 if not t.constant & 1 and t.source[0] & 2 else 0)
                                                       | (2 if not t.constant & 4 and t.source[2] & 2 else 0))
    return True
