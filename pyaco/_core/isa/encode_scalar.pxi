# Encoding of scalar ALU and scalar memory.
# ------------------------------------------------------------------------------------------------------------ scalar ALU
cdef void encode_salu(Writer *w, uint32_t format, uint32_t number) noexcept nogil:
    cdef const Decoded *d = w.d
    cdef uint32_t word, count
    count = opcode_operand_count[d.opcode]
    if format == format_sop2:
        word = 0x80000000U | number << 23
        if opcode_definition_count[d.opcode]:
            word |= sgpr_code(w, destination(w, 0)) << 16
        word |= scalar_code(w, source(w, 0)) | scalar_code(w, source(w, 1)) << 8
    elif format == format_sop1:
        word = 0xbe800000U | number << 8
        if opcode_definition_count[d.opcode]:
            word |= sgpr_code(w, destination(w, 0)) << 16
        if sends_message(d.opcode):
            word |= uimm(w, 8)
        elif count:
            word |= scalar_code(w, source(w, 0))
    elif format == format_sopc:
        word = 0xbf000000U | number << 16 | scalar_code(w, source(w, 0))
        word |= (uimm(w, 8) if d.opcode == op_s_set_gpr_idx_on else scalar_code(w, source(w, 1))) << 8
    elif format == format_sopk:
        word = 0xb0000000U | number << 23 | (d.immediate & 0xffff)
        if opcode_definition_count[d.opcode]:
            word |= sgpr_code(w, destination(w, 0)) << 16
        elif count and d.opcode != op_s_setreg_imm32_b32:
            word |= sgpr_code(w, source(w, 0)) << 16
    else:
        word = 0xbf800000U | number << 16 | (d.immediate & 0xffff)
    put(w, word)


# --------------------------------------------------------------------------------------------------------- scalar memory
cdef void encode_smem(Writer *w, uint32_t number) noexcept nogil:
    cdef const Decoded *d = w.d
    cdef uint64_t m = d.modifiers
    cdef uint32_t word, high
    cdef uint16_t offset = source_or_none(w, 1)
    cdef uint16_t data = 0
    cdef uint16_t base = source_or_none(w, 0)
    cdef uint32_t address_bits
    if d.destination_count:
        data = d.destination[0]
    elif d.source_count > 2:
        data = d.source[2]
    address_bits = sgpr_code(w, base) if base != register_none else 0
    if address_bits & 1:
        fail(w, encode_bad_operand)
    address_bits >>= 1
    word = address_bits | (sgpr_code(w, data) if data < 128 * 4 else _smem_constant(w, data)) << 6
    if w.level < gfx8:
        _encode_smrd(w, number, word, offset)
        return
    if w.level >= gfx12:
        word |= 0xf4000000U | number << 13 | modifier_cache_scope(m) << 21 | (modifier_cache_temporal_hint(m) & 3) << 23
        if w.level >= gfx12_5:
            word |= modifier_cache_nv(m) << 20
        high = <uint32_t>simm(w, 24)
        if w.level >= gfx12_5:
            high |= modifier_cache_scale_offset(m) << 24
        high |= sgpr_code(w, offset if offset != register_none else <uint16_t>register_null) << 25
    elif w.level >= gfx10:
        word |= 0xf4000000U | number << 18
        if w.level >= gfx11:
            word |= modifier_cache_glc(m) << 14 | modifier_cache_dlc(m) << 13
        else:
            word |= modifier_cache_glc(m) << 16 | modifier_cache_dlc(m) << 14
        high = <uint32_t>simm(w, 21)
        high |= sgpr_code(w, offset if offset != register_none else <uint16_t>register_null) << 25
    else:
        word |= 0xc0000000U | number << 18 | modifier_cache_glc(m) << 16
        high = 0
        if offset == register_none:
            # an opcode without an address takes no immediate either
            if base != register_none:
                word |= 1 << 17
            high = <uint32_t>simm(w, 21) if w.level >= gfx9 else uimm(w, 20)
        elif d.immediate == 0 and not modifier_offen(m):
            high = sgpr_code(w, offset)
        elif w.level >= gfx9:
            word |= 1 << 17 | 1 << 14
            high = <uint32_t>simm(w, 21) | sgpr_code(w, offset) << 25
        else:
            fail(w, encode_bad_operand)
    if opcode_operand_count[d.opcode] == 0 and w.level >= gfx10 and not w.stray_bits:
        high = 0
    put(w, word)
    put(w, high)


cdef void _encode_smrd(Writer *w, uint32_t number, uint32_t fields, uint16_t offset) noexcept nogil:
    """Scalar memory of GFX6 and GFX7: one dword, offsets in dwords, a literal for long ones on GFX7."""
    cdef const Decoded *d = w.d
    cdef uint32_t word = 0xc0000000U | number << 22 | (fields >> 6 & 0x7f) << 15 | (fields & 0x3f) << 9
    if offset != register_none:
        put(w, word | sgpr_code(w, offset))
        if d.immediate:
            fail(w, encode_bad_offset)
    elif source_or_none(w, 0) == register_none:
        put(w, word)
    elif d.has_literal or d.immediate >= 1024:
        if w.level < gfx7 or d.immediate & 3:
            fail(w, encode_bad_offset)
        put(w, word | 0xff)
        # the literal counts dwords, so that bytes cannot say its two highest bits
        put(w, d.literal if d.has_literal else d.immediate >> 2)
    else:
        if d.immediate & 3:
            fail(w, encode_bad_offset)
        put(w, word | 1 << 8 | d.immediate >> 2)


cdef inline uint32_t _smem_constant(Writer *w, uint16_t address) noexcept nogil:
    # prefetch lengths and probe modes are small numbers in the data field
    fail(w, encode_bad_operand)
    return 0
