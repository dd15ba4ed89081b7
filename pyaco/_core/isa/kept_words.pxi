# Whether encoding an instruction gives the words that it was decoded from, told without encoding.
#
# The disassembler asks this of every line. Decoding takes fields apart that encoding puts together, so that nothing is lost where every bit of the
# words is in a field that the opcode has, or is as `encode` writes it. The formats below are those with few exceptions; of all others,
# and wherever a field is left out (the destination of what has none, the sources behind the last one), encoding has to tell.
cdef inline bint _keeps_lane_control(const Decoded *d, uint32_t gfx_level, uint32_t word) noexcept nogil:
    """The dword behind a short encoding: all of DPP8, DPP16 and SDWA but for bits without a field."""
    cdef uint32_t unused = 0x20000 if gfx_level >= gfx10 else 0x60000
    if d.format & format_sdwa:
        # VOP1 and VOPC lack fields; scalar registers are not all that their codes can say, and 7 selects nothing
        return d.format & format_vop2 and word & 0xc0c00000U == 0 and word & word >> 1 & word >> 2 & 0x1010100 == 0
    return d.format & format_dpp16 == 0 or word & unused == 0


cdef bint _keeps_short(const Decoded *d, uint32_t gfx_level, const uint32_t *words) noexcept nogil:
    """VOP1, VOP2 and VOPC."""
    cdef uint32_t op = d.opcode
    cdef uint32_t format = d.format & valu_one_dword
    if opcode_operand_count[op] < (1 if format == format_vop1 else 2) or op == op_v_accvgpr_mov_b32 or op == op_v_illegal:
        return False
    if format != format_vopc and (opcode_definition_count[op] == 0 or not class_is_vgpr(definition_class(op, 0))):
        return False
    return d.format == format or _keeps_lane_control(d, gfx_level, words[1])


cdef bint _keeps_long(const Decoded *d, uint32_t gfx_level, const uint32_t *words) noexcept nogil:
    """VOP3 without lane control."""
    cdef uint32_t op = d.opcode
    cdef uint32_t count = opcode_operand_count[op]
    if opcode_definition_count[op] == 0 or count > 3 \
            or opcode_flags[op] & (opcode_flag_literal | opcode_flag_interpolation) or opcode_format[op] == format_vintrp:
        return False
    if d.format & format_vopc:
        if d.destination[0] >= 128 * 4 or (is_cmpx(op) and gfx_level >= gfx10):
            return False
    elif not class_is_vgpr(definition_class(op, 0)):
        return False
    if gfx_level < gfx8 and words[0] & (0x18000 if opcode_definition_count[op] > 1 else 0x1f000):
        return False
    count -= opcode_flags[op] & opcode_flag_tied != 0 or swaps(op)
    return words[1] & (0x7ffffffU >> 9 * count << 9 * count) == _unused_sources(d, gfx_level, count)


cdef bint _keeps_scalar(const Decoded *d) noexcept nogil:
    """The scalar ALU."""
    cdef uint32_t op = d.opcode
    if d.format == format_sopp:
        return True
    if d.format == format_sopc:
        return op != op_s_set_gpr_idx_on
    if d.format == format_sopk:
        return opcode_definition_count[op] != 0
    return opcode_definition_count[op] != 0 and opcode_operand_count[op] != 0 and not sends_message(op)


cdef bint keeps_words(const Decoded *instruction, uint32_t gfx_level, const uint32_t *words) noexcept nogil:
    cdef uint32_t format = instruction.format
    if instruction.has_literal and gfx_level >= gfx12_5:
        # some have literals of two dwords
        return False
    if format & valu_one_dword and format & (format_base_mask | format_vop3 | format_vop3p) == 0:
        return _keeps_short(instruction, gfx_level, words)
    if format & ~<uint32_t>valu_one_dword == format_vop3:
        return _keeps_long(instruction, gfx_level, words)
    return format_sop1 <= format <= format_sopc and _keeps_scalar(instruction)
