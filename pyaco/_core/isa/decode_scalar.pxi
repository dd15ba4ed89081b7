# Decoding of scalar ALU and scalar memory.
# ------------------------------------------------------------------------------------------------------------ scalar ALU
cdef int _decode_sop1_word(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    if not begin(r, decode_sop1[r.generation * decode_sop1_width + bits(word, 8, 8)], format_sop1, 1):
        return invalid(r)
    if opcode_definition_count[r.out.opcode]:
        add_destination(r, address_of(r, bits(word, 16, 7)), definition_size(r, 0))
    if r.out.opcode == op_s_sendmsg_rtn_b32 or r.out.opcode == op_s_sendmsg_rtn_b64:
        r.out.immediate = bits(word, 0, 8)
    elif opcode_operand_count[r.out.opcode]:
        add_source(r, address_of(r, bits(word, 0, 8)), operand_size(r, 0))
    return finish(r)


cdef int _decode_sop2_word(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    if not begin(r, decode_sop2[r.generation * decode_sop2_width + bits(word, 23, 7)], format_sop2, 1):
        return invalid(r)
    if opcode_definition_count[r.out.opcode]:
        add_destination(r, address_of(r, bits(word, 16, 7)), definition_size(r, 0))
    add_source(r, address_of(r, bits(word, 0, 8)), operand_size(r, 0))
    add_source(r, address_of(r, bits(word, 8, 8)), operand_size(r, 1))
    if opcode_flags[r.out.opcode] & opcode_flag_literal:
        add_source(r, 255 * 4, 4)
    elif opcode_flags[r.out.opcode] & opcode_flag_tied:
        add_source(r, r.out.destination[0], r.out.destination_bytes[0])
    return finish(r)


cdef int _decode_sopc_word(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    if not begin(r, decode_sopc[r.generation * decode_sopc_width + bits(word, 16, 7)], format_sopc, 1):
        return invalid(r)
    add_source(r, address_of(r, bits(word, 0, 8)), operand_size(r, 0))
    if r.out.opcode == op_s_set_gpr_idx_on:
        r.out.immediate = bits(word, 8, 8)
    else:
        add_source(r, address_of(r, bits(word, 8, 8)), operand_size(r, 1))
    return finish(r)


cdef int _decode_sopk_word(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    if not begin(r, decode_sopk[r.generation * decode_sopk_width + bits(word, 23, 5)], format_sopk, 1):
        return invalid(r)
    r.out.immediate = bits(word, 0, 16)
    if opcode_definition_count[r.out.opcode]:
        add_destination(r, address_of(r, bits(word, 16, 7)), definition_size(r, 0))
    if r.out.opcode == op_s_setreg_imm32_b32:
        add_source(r, 255 * 4, 4)
    elif opcode_operand_count[r.out.opcode]:
        add_source(r, address_of(r, bits(word, 16, 7)), operand_size(r, 0))
    return finish(r)


cdef int _decode_sopp_word(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    if not begin(r, decode_sopp[r.generation * decode_sopp_width + bits(word, 16, 7)], format_sopp, 1):
        return invalid(r)
    r.out.immediate = bits(word, 0, 16)
    return finish(r)


cdef int decode_scalar(Reader *r) noexcept nogil:
    """Words that start with the bits 10: SOP2, and SOPK, SOP1, SOPC, SOPP in its unused opcodes."""
    cdef uint32_t head = r.words[0] >> 23
    if head == 0x17d:
        return _decode_sop1_word(r)
    if head == 0x17e:
        return _decode_sopc_word(r)
    if head == 0x17f:
        return _decode_sopp_word(r)
    if head >> 5 == 0xb:
        return _decode_sopk_word(r)
    return _decode_sop2_word(r)


# --------------------------------------------------------------------------------------------------------- scalar memory
cdef int decode_smrd_word(Reader *r) noexcept nogil:
    """Scalar memory of GFX6 and GFX7: one dword; offsets count dwords, and GFX7 takes a literal for long ones."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t field = bits(word, 0, 8)
    cdef uint16_t offset = register_none
    if not begin(r, decode_smem[r.generation * decode_smem_width + bits(word, 22, 5)], format_smem, 1):
        return invalid(r)
    if opcode_definition_count[r.out.opcode]:
        add_destination(r, address_of(r, bits(word, 15, 7)), definition_size(r, 0))
    if opcode_operand_count[r.out.opcode] == 0:
        return finish(r)
    if bits(word, 8, 1):
        r.out.immediate = field * 4
    elif field == 255 and r.level >= gfx7:
        if not take_literal(r):
            return invalid(r)
        r.out.immediate = r.out.literal * 4
    else:
        offset = address_of(r, field)
    add_source(r, address_of(r, bits(word, 9, 6) * 2), operand_size(r, 0))
    add_source(r, offset, 4)
    return finish(r)


cdef uint64_t _smem_modifiers(const Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint64_t m = 0
    if r.level >= gfx12:
        if r.level >= gfx12_5:
            m = modifier_set_cache_nv(m, bits(word, 20, 1))
            m = modifier_set_cache_scale_offset(m, bits(r.words[1], 24, 1))
        m = modifier_set_cache_scope(m, bits(word, 21, 2))
        return modifier_set_cache_temporal_hint(m, bits(word, 23, 2))
    if r.level >= gfx11:
        m = modifier_set_cache_glc(m, bits(word, 14, 1))
        return modifier_set_cache_dlc(m, bits(word, 13, 1))
    m = modifier_set_cache_glc(m, bits(word, 16, 1))
    return modifier_set_cache_dlc(m, bits(word, 14, 1)) if r.level >= gfx10 else m


cdef uint16_t _smem_offset(Reader *r) noexcept nogil:
    """The register with the offset, or register_none; the immediate is left in the instruction."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t high = r.words[1]
    cdef uint16_t offset
    if r.level >= gfx10:
        r.out.immediate = sign_extended(bits(high, 0, 24), 24) if r.level >= gfx12 else sign_extended(bits(high, 0, 21), 21)
        offset = address_of(r, bits(high, 25, 7))
        return <uint16_t>register_none if offset == register_null else offset
    if r.level < gfx9:
        if not bits(word, 17, 1):
            return address_of(r, bits(high, 0, 7))
        r.out.immediate = bits(high, 0, 20)
        return register_none
    # imm says whether the offset field is an immediate, soe whether the register field counts
    if not bits(word, 17, 1):
        return address_of(r, bits(high, 25, 7) if bits(word, 14, 1) else bits(high, 0, 7))
    r.out.immediate = sign_extended(bits(high, 0, 21), 21)
    if not bits(word, 14, 1):
        return register_none
    # an immediate of zero is there all the same
    r.out.modifiers = modifier_set_offen(r.out.modifiers, r.out.immediate == 0)
    return address_of(r, bits(high, 25, 7))


cdef void _add_smem_data(Reader *r, uint16_t data) noexcept nogil:
    """The third operand of what has an address: it is loaded, stored, or both by an atomic that returns the old value."""
    cdef uint32_t opcode = r.out.opcode
    cdef uint8_t bytes
    if opcode_operand_count[opcode] <= 2:
        if opcode_definition_count[opcode]:
            add_destination(r, data, definition_size(r, 0))
        else:
            add_source(r, data, 4)
        return
    add_source(r, data, operand_size(r, 2))
    if (modifier_cache_glc(r.out.modifiers) and r.level < gfx12 and opcode_definition_count[opcode] == 0
            and opcode >= <uint32_t>op_s_buffer_atomic_swap and _smem_atomic(opcode)):
        bytes = r.out.source_bytes[2]
        add_destination(r, data, bytes >> 1 if _smem_compares(opcode) else bytes)


cdef int decode_smem_words(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t number = bits(word, 13, 6) if r.level >= gfx12 else bits(word, 18, 8)
    cdef uint16_t offset, base, data
    if not begin(r, decode_smem[r.generation * decode_smem_width + number], format_smem, 2):
        return invalid(r)
    base = address_of(r, bits(word, 0, 6) * 2)
    data = address_of(r, bits(word, 6, 7))
    r.out.modifiers = _smem_modifiers(r)
    offset = _smem_offset(r)
    number = opcode_operand_count[r.out.opcode]
    if r.out.opcode == op_s_prefetch_inst_pc_rel or r.out.opcode == op_s_prefetch_data_pc_rel:
        add_source(r, register_none, 0)
        add_source(r, offset, 4)
        add_source(r, data, 4)
        return finish(r)
    if number == 0 or number == 1:
        # time, cache control; s_atc_probe and s_dcache_discard name an address
        if opcode_definition_count[r.out.opcode]:
            add_destination(r, data, definition_size(r, 0))
        if number:
            add_source(r, base, operand_size(r, 0))
            add_source(r, offset, 4)
            add_source(r, data, 4)
        else:
            r.out.immediate = 0
            r.out.modifiers = modifier_set_cache_scale_offset(r.out.modifiers, 0)
        return finish(r)
    add_source(r, base, operand_size(r, 0))
    add_source(r, offset, 4)
    _add_smem_data(r, data)
    return finish(r)


cdef inline bint _smem_atomic(uint32_t opcode) noexcept nogil:
    return (opcode_flags[opcode] & 4) != 0


cdef inline bint _smem_compares(uint32_t opcode) noexcept nogil:
    return (opcode == op_s_buffer_atomic_cmpswap or opcode == op_s_buffer_atomic_cmpswap_x2
            or opcode == op_s_atomic_cmpswap or opcode == op_s_atomic_cmpswap_x2)
