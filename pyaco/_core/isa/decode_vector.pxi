# Decoding of the vector ALU and of matrix operations.
# ------------------------------------------------------------------------------------------------------------ vector ALU
# The extra dword of DPP or SDWA named by the src0 code; returns the code of the real first source, or -1 when the words
# are not available. `short_form`: the 32-bit encoding, whose DPP dword also carries the source modifiers.
cdef int _take_lane_control(Reader *r, uint32_t code, bint short_form, bint compare) noexcept nogil:
    cdef uint32_t word
    cdef uint64_t m = r.out.modifiers
    cdef uint32_t source, second
    if r.length >= r.available:
        return -1
    word = r.words[r.length]
    r.length += 1
    if code == 250:
        r.out.format |= format_dpp16
        m = modifier_set_dpp_ctrl(m, bits(word, 8, 9))
        m = modifier_set_dpp_fetch_inactive(m, bits(word, 18, 1) if r.level >= gfx10 else 0)
        m = modifier_set_dpp_bound_ctrl(m, bits(word, 19, 1))
        m = modifier_set_dpp_bank_mask(m, bits(word, 24, 4))
        m = modifier_set_dpp_row_mask(m, bits(word, 28, 4))
        if short_form:
            m = modifier_set_neg(m, bits(word, 20, 1) | bits(word, 22, 1) << 1)
            m = modifier_set_abs(m, bits(word, 21, 1) | bits(word, 23, 1) << 1)
        source = 256 + bits(word, 0, 8)
    elif code == 249:
        r.out.format |= format_sdwa
        if compare:
            if r.level == gfx8:
                m = modifier_set_clamp(m, bits(word, 13, 1))
            elif bits(word, 15, 1) and not (_is_cmpx(r.out.opcode) and r.level >= gfx10):
                r.out.destination[0] = address_of(r, bits(word, 8, 7))
        else:
            m = modifier_set_sdwa_dst_sel(m, _sdwa_select(bits(word, 8, 3)) | (bits(word, 12, 1) << 4))
            m = modifier_set_sdwa_dst_sext(m, bits(word, 11, 1))
            m = modifier_set_omod(m, bits(word, 14, 2))
            m = modifier_set_clamp(m, bits(word, 13, 1))
        m = modifier_set_sdwa_sel0(m, _sdwa_select(bits(word, 16, 3)) | (bits(word, 19, 1) << 4))
        if not r.out.format & format_vop1:
            m = modifier_set_sdwa_sel1(m, _sdwa_select(bits(word, 24, 3)) | (bits(word, 27, 1) << 4))
        second = 0 if r.out.format & format_vop1 else 1
        m = modifier_set_neg(m, bits(word, 20, 1) | (bits(word, 28, 1) & second) << 1)
        m = modifier_set_abs(m, bits(word, 21, 1) | (bits(word, 29, 1) & second) << 1)
        source = bits(word, 0, 8) + (0 if bits(word, 23, 1) and r.level >= gfx9 else 256)
        if bits(word, 31, 1) and r.level >= gfx9 and r.out.source_count > 1:
            # the second source is an SGPR then: its VGPR number is the SGPR's code
            r.out.source[1] = address_of(r, (r.out.source[1] - register_vgpr0) >> 2)
    else:
        r.out.format |= format_dpp8
        m = modifier_set_dpp8_lane_sel(m, word >> 8)
        m = modifier_set_dpp8_fetch_inactive(m, code - 233)
        source = 256 + bits(word, 0, 8)
    r.out.modifiers = m
    return <int>source


cdef inline uint32_t _sdwa_select(uint32_t code) noexcept nogil:
    """Size in bits 0-1 (0 byte, 1 word, 2 dword), byte offset in bits 2-3, of a hardware selector."""
    if code < 4:
        return code << 2
    if code < 6:
        return 1 | (code - 4) << 3
    return 2


cdef inline bint _is_lane_control(const Reader *r, uint32_t code, bint short_form) noexcept nogil:
    if r.level < gfx8:
        return False
    if code == 250:
        return short_form or r.level >= gfx11
    if code == 249:
        return short_form and r.level < gfx11
    return (code == 233 or code == 234) and (r.level >= gfx11 or (short_form and r.level >= gfx10))


cdef inline bint _is_cmpx(uint32_t opcode) noexcept nogil:
    """v_cmpx_*: the table counts exec among the definitions, which no other VOPC opcode has."""
    return (opcode_implicit_definitions[opcode] & implicit_exec) != 0


# A 16-bit VGPR operand of a short encoding on GFX11+: bit 7 chooses the half. `slot` is its opsel bit.
cdef inline uint16_t _short_vgpr(Reader *r, uint32_t number, bint half, uint32_t slot) noexcept nogil:
    if half and r.level >= gfx11 and number & 0x80:
        r.out.modifiers = modifier_set_opsel(r.out.modifiers, modifier_opsel(r.out.modifiers) | 1U << slot)
        return vgpr(number & 0x7f) + 2
    return vgpr(number)


cdef inline uint16_t _short_source(Reader *r, uint32_t code, bint half, uint32_t slot) noexcept nogil:
    return _short_vgpr(r, code - 256, half, slot) if code >= 256 else address_of(r, code)


cdef int _decode_idle_lane_control(Reader *r, uint32_t code) noexcept nogil:
    """Lane control of v_nop, which has no operands that it could change: up to GFX10, with zeros in the fields of the source."""
    cdef uint32_t fields = 0xffffffffU if code == 249 else 0xf000ffU if code == 250 else 0xffU
    if r.out.opcode != op_v_nop or r.level >= gfx11 or r.length >= r.available or r.words[1] & fields:
        return invalid(r)
    if code == 249:
        r.out.format |= format_sdwa
        r.length += 1
    else:
        _take_lane_control(r, code, True, False)
    return finish(r)


cdef int decode_vop_short(Reader *r, uint16_t opcode, uint16_t format) noexcept nogil:
    """VOP1, VOP2 and VOPC in one dword, with an SDWA, DPP or literal dword where src0 says so."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t code = bits(word, 0, 9)
    cdef uint32_t flags, count
    cdef int source
    cdef bint control
    cdef uint8_t first_class
    if not begin(r, opcode, format, 1) or (opcode == op_v_illegal and word != 0):
        return invalid(r)
    flags = opcode_flags[opcode]
    count = opcode_operand_count[opcode]
    if format == format_vopc:
        if _is_cmpx(opcode) and r.level >= gfx10:
            add_destination(r, register_exec, 0)
        else:
            add_destination(r, register_vcc, 0)
    elif opcode_definition_count[opcode]:
        first_class = definition_class(r, 0)
        if class_is_vgpr(first_class):
            add_destination(r, _short_vgpr(r, bits(word, 17, 8), class_is_subdword(first_class), 3), bytes_of(first_class))
        else:
            add_destination(r, address_of(r, bits(word, 17, 7)), bytes_of(first_class))
    control = _is_lane_control(r, code, True)
    if control and count == 0:
        return _decode_idle_lane_control(r, code)
    if control and (flags & opcode_flag_literal or opcode == op_v_accvgpr_mov_b32):
        return invalid(r)
    if count:
        add_source(r, 0, operand_size(r, 0))
    if count and format != format_vop1:
        if format == format_vop2 and r.level < gfx8 and not class_is_vgpr(operand_class(r, 1)):
            # the lane number of v_readlane_b32 and v_writelane_b32
            add_source(r, address_of(r, bits(word, 9, 8)), operand_size(r, 1))
        else:
            add_source(r, _short_vgpr(r, bits(word, 9, 8), operand_size(r, 1) == 2, 1), operand_size(r, 1))
    if control:
        source = _take_lane_control(r, code, True, format == format_vopc)
        if source < 0:
            return invalid(r)
        code = <uint32_t>source
        if r.out.format & format_sdwa:
            r.out.source[0] = address_of(r, code)
        else:
            r.out.source[0] = _short_source(r, code, operand_size(r, 0) == 2, 0)
    elif count:
        r.out.source[0] = _short_source(r, code, operand_size(r, 0) == 2, 0)
    if format == format_vop2 and count:
        _complete_vop2(r, flags, register_vcc, register_vcc)
    elif _swaps(opcode):
        add_source(r, r.out.destination[0], r.out.destination_bytes[0])
        add_destination(r, r.out.source[0], r.out.source_bytes[0])
    elif opcode == op_v_accvgpr_mov_b32:
        if code < 256:
            return invalid(r)
        r.out.destination[0] = agpr(bits(word, 17, 8))
        r.out.source[0] = agpr(code - 256)
    return finish(r)


# The operands of a VOP2 opcode beyond the two sources: the tied destination, the literal, lane masks in and out.
cdef void _complete_vop2(Reader *r, uint32_t flags, uint16_t mask_in, uint16_t mask_out) noexcept nogil:
    if flags & opcode_flag_tied:
        add_source(r, r.out.destination[0], r.out.destination_bytes[0])
    elif flags & opcode_flag_literal:
        add_source(r, wide_literal_code * 4 if operand_size(r, 2) == 8 else literal_code * 4, operand_size(r, 2))
    elif opcode_operand_count[r.out.opcode] > 2:
        add_source(r, mask_in, operand_size(r, 2))
    if opcode_definition_count[r.out.opcode] > 1:
        add_destination(r, mask_out, definition_size(r, 1))


# The opcode and format of a VOP3 opcode number.
cdef uint16_t _vop3_opcode(const Reader *r, uint32_t number, uint16_t *format) noexcept nogil:
    cdef uint16_t opcode = decode_vop3[r.generation * decode_vop3_width + number]
    cdef uint32_t first_vop1 = 0x180 if plain_layout(r) else 0x140
    format[0] = format_vop3
    if opcode != op_invalid:
        return opcode
    if number < 0x100:
        format[0] |= format_vopc
        return decode_vopc[r.generation * decode_vopc_width + number]
    if number < 0x140:
        format[0] |= format_vop2
        opcode = decode_vop2[r.generation * decode_vop2_width + number - 0x100]
    elif first_vop1 <= number < first_vop1 + 0x80:
        format[0] |= format_vop1
        opcode = decode_vop1[r.generation * decode_vop1_width + number - first_vop1]
    if opcode != op_invalid and (opcode_flags[opcode] & opcode_flag_literal or opcode == op_v_illegal
                                 or opcode == op_v_accvgpr_mov_b32):
        return op_invalid
    return opcode


# Interpolation in VOP3: the attribute is in the field of the first source, so that the sources start at the second.
cdef int _decode_vop3_interpolation(Reader *r, uint16_t opcode) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t high, i
    cdef uint16_t format = format_vop3 | (opcode_format[opcode] & format_base_mask)
    cdef uint64_t m = 0
    if not begin(r, opcode, format, 2):
        return invalid(r)
    high = r.words[1]
    m = modifier_set_ldsdir_attr(m, bits(high, 0, 6))
    m = modifier_set_ldsdir_channel(m, bits(high, 6, 2))
    m = modifier_set_interp_high(m, bits(high, 8, 1))
    m = modifier_set_abs(m, bits(word, 9, 2))
    m = modifier_set_opsel(m, bits(word, 11, 4))
    m = modifier_set_clamp(m, bits(word, 15, 1))
    m = modifier_set_omod(m, bits(high, 27, 2))
    r.out.modifiers = modifier_set_neg(m, bits(high, 30, 2))
    add_destination(r, vgpr(bits(word, 0, 8)), definition_size(r, 0))
    if opcode == op_v_interp_mov_f32:
        r.out.immediate = bits(high, 9, 9)
        return finish(r)
    for i in range(opcode_operand_count[opcode]):
        add_source(r, address_of(r, bits(high, 9 * (i + 1), 9)), operand_size(r, i))
    return finish(r)


cdef uint64_t _vop3_modifiers(const Reader *r, bint has_scalar_destination) noexcept nogil:
    """A scalar destination lies where abs and opsel do."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t high = r.words[1]
    cdef uint64_t m = 0
    if word & 0xff00 == 0 and high & 0xf8000000U == 0:
        return 0
    if not has_scalar_destination:
        m = modifier_set_abs(m, bits(word, 8, 3))
        if r.level >= gfx8:
            m = modifier_set_opsel(m, bits(word, 11, 4))
        else:
            m = modifier_set_clamp(m, bits(word, 11, 1))
    if r.level >= gfx8:
        m = modifier_set_clamp(m, bits(word, 15, 1))
    m = modifier_set_omod(m, bits(high, 27, 2))
    return modifier_set_neg(m, bits(high, 29, 3))


cdef void _add_vop3_destinations(Reader *r, bint has_scalar_destination) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint8_t kind
    cdef uint16_t address
    if r.out.format & format_vopc:
        if _is_cmpx(r.out.opcode) and r.level >= gfx10:
            add_destination(r, register_exec, 0)
        else:
            add_destination(r, address_of(r, bits(word, 0, 8)), 0)
        return
    if not opcode_definition_count[r.out.opcode]:
        return
    kind = definition_class(r, 0)
    if class_is_vgpr(kind):
        address = vgpr(bits(word, 0, 8))
        if class_is_subdword(kind) and modifier_opsel(r.out.modifiers) & 8:
            address += 2
    else:
        address = address_of(r, bits(word, 0, 7))
    add_destination(r, address, bytes_of(kind))
    if has_scalar_destination:
        add_destination(r, address_of(r, bits(word, 8, 7)), definition_size(r, 1))


cdef void _add_vop3_sources(Reader *r, const uint32_t *codes) noexcept nogil:
    cdef uint32_t opcode = r.out.opcode
    cdef uint32_t count = opcode_operand_count[opcode]
    cdef uint32_t i
    cdef uint8_t size
    cdef uint16_t address
    for i in range(count):
        if i == count - 1 and (opcode_flags[opcode] & opcode_flag_tied or (_swaps(opcode) and i == 1)):
            add_source(r, r.out.destination[0], r.out.destination_bytes[0])
        elif i < 3:
            address = address_of(r, codes[i])
            size = operand_size(r, i)
            if size == 2 and (modifier_opsel(r.out.modifiers) >> i) & 1 and (codes[i] >= 256 or codes[i] < 128):
                address += 2
            add_source(r, address, size)
    if _swaps(opcode):
        add_destination(r, r.out.source[0], r.out.source_bytes[0])


cdef int decode_vop3_words(Reader *r) noexcept nogil:
    cdef uint16_t format
    cdef uint16_t opcode = _vop3_opcode(r, bits(r.words[0], 17, 9) if r.level < gfx8 else bits(r.words[0], 16, 10), &format)
    cdef uint32_t codes[3]
    cdef uint32_t i
    cdef bint has_scalar_destination
    cdef int source
    if opcode != op_invalid and (opcode_flags[opcode] & opcode_flag_interpolation
                                 or opcode_format[opcode] == format_vintrp):
        return _decode_vop3_interpolation(r, opcode)
    if not begin(r, opcode, format, 2):
        return invalid(r)
    for i in range(3):
        codes[i] = bits(r.words[1], 9 * i, 9)
        if codes[i] == 255 and i < opcode_operand_count[opcode] and r.level < gfx10:
            return invalid(r)
    has_scalar_destination = opcode_definition_count[opcode] > 1 and not _swaps(opcode)
    r.out.modifiers = _vop3_modifiers(r, has_scalar_destination)
    _add_vop3_destinations(r, has_scalar_destination)
    if opcode_operand_count[opcode] and _is_lane_control(r, codes[0], False):
        source = _take_lane_control(r, codes[0], False, False)
        if source < 0:
            return invalid(r)
        codes[0] = <uint32_t>source
    _add_vop3_sources(r, codes)
    return finish(r)


cdef inline bint _swaps(uint32_t opcode) noexcept nogil:
    return (opcode == op_v_swap_b32 or opcode == op_v_swap_b16 or opcode == op_v_swaprel_b32
            or opcode == op_v_permlane16_swap_b32 or opcode == op_v_permlane32_swap_b32)


cdef uint64_t _scale_modifiers(const Reader *r) noexcept nogil:
    """What the two dwords of the scales say."""
    cdef uint64_t m = modifier_set_matrix_scales(0, bits(r.words[0], 11, 1) | bits(r.words[1], 27, 1) << 1)
    m = modifier_set_matrix_scale_a(m, bits(r.words[1], 29, 2))
    m = modifier_set_matrix_scale_b(m, bits(r.words[0], 8, 2))
    return modifier_set_matrix_scale_reuse(m, bits(r.words[0], 13, 2))


cdef int decode_vop3p_words(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t high, i, code, count
    cdef uint64_t m = 0
    cdef int source
    if not begin(r, decode_vop3p[r.generation * decode_vop3p_width + bits(word, 16, 7 if r.level < gfx12_5 else 8)], format_vop3p, 2):
        return invalid(r)
    high = r.words[1]
    if (r.out.opcode == op_v_wmma_ld_scale_paired_b32 or r.out.opcode == op_v_wmma_ld_scale16_paired_b64) and r.available >= 4 \
            and _scaled_wave_opcode(r) != op_invalid:
        return _decode_scaled_wave_matrix(r)
    if r.out.opcode == op_v_mfma_ld_scale_b32 and r.available >= 4 and _scaled_opcode(r) != op_invalid:
        return _decode_scaled_matrix(r)
    if opcode_flags[r.out.opcode] & opcode_flag_matrix:
        return _decode_matrix(r, word, high)
    m = modifier_set_neg_hi(m, bits(word, 8, 3))
    m = modifier_set_opsel(m, bits(word, 11, 3))
    m = modifier_set_opsel_hi(m, bits(high, 27, 2) | bits(word, 14, 1) << 2)
    m = modifier_set_clamp(m, bits(word, 15, 1))
    m = modifier_set_neg(m, bits(high, 29, 3))
    if r.out.opcode == op_v_wmma_ld_scale_paired_b32 or r.out.opcode == op_v_wmma_ld_scale16_paired_b64:
        m = _scale_modifiers(r)
    r.out.modifiers = m
    if opcode_definition_count[r.out.opcode]:
        add_destination(r, vector_register(bits(word, 0, 8), r.out.opcode == op_v_accvgpr_write_b32), definition_size(r, 0))
    count = opcode_operand_count[r.out.opcode]
    if opcode_flags[r.out.opcode] & opcode_flag_tied:
        count -= 1
    for i in range(count):
        code = bits(high, 9 * i, 9)
        if code == 255 and r.level < gfx10:
            return invalid(r)
        if r.out.opcode == op_v_accvgpr_read_b32:
            if code < 256:
                return invalid(r)
            code += 256
        if i == 0 and _is_lane_control(r, code, False):
            source = _take_lane_control(r, code, False, False)
            if source < 0:
                return invalid(r)
            code = <uint32_t>source
        add_source(r, address_of(r, code), wave_matrix_bytes(r.out, i, operand_size(r, i)))
    if opcode_flags[r.out.opcode] & opcode_flag_tied:
        add_source(r, r.out.destination[0], r.out.destination_bytes[0])
    return finish(r)


# ------------------------------------------------------------------------------------------------ matrix operations of CDNA
cdef inline uint8_t _element_bytes(uint32_t type_code, uint8_t widest) noexcept nogil:
    """Size of an operand of f8f6f4, whose elements cbsz or blgp chooses: 8 bits (0, 1), 6 (2, 3) or 4 (4)."""
    if type_code == 2 or type_code == 3:
        return 24
    return 16 if type_code == 4 else widest


cdef int _decode_matrix(Reader *r, uint32_t word, uint32_t high) noexcept nogil:
    """A and B are VGPRs or AGPRs each; one bit says it for C and D together. CDNA 1 has C and D in AGPRs alone."""
    cdef uint32_t opcode = r.out.opcode
    cdef bint accumulation = bits(word, 15, 1) or r.level == gfx908
    cdef bint eight_to_four = _is_f8f6f4(opcode)
    cdef bint sparse = (opcode_flags[opcode] & opcode_flag_tied) != 0
    cdef uint32_t code = bits(high, 18, 9)
    cdef uint64_t m = modifier_set_cbsz(r.out.modifiers, bits(word, 8, 3))
    m = modifier_set_abid(m, bits(word, 11, 4))
    r.out.modifiers = modifier_set_blgp(m, bits(high, 29, 3))
    if bits(high, 0, 9) < 256 or bits(high, 9, 9) < 256 or (code < 256 and (sparse or not _is_inline_constant(code))):
        return invalid(r)
    add_destination(r, vector_register(bits(word, 0, 8), accumulation), definition_size(r, 0))
    add_source(r, vector_register(bits(high, 0, 8), bits(high, 27, 1)),
               _element_bytes(modifier_cbsz(m), 32) if eight_to_four else operand_size(r, 0))
    add_source(r, vector_register(bits(high, 9, 8), bits(high, 28, 1)),
               _element_bytes(bits(high, 29, 3), 32) if eight_to_four else operand_size(r, 1))
    if code < 256:
        add_source(r, address_of(r, code), operand_size(r, 2))
    else:
        add_source(r, vector_register(code - 256, accumulation and not sparse), operand_size(r, 2))
    if sparse:
        add_source(r, r.out.destination[0], r.out.destination_bytes[0])
    return finish(r)


cdef inline bint _is_f8f6f4(uint32_t opcode) noexcept nogil:
    return (opcode == op_v_mfma_f32_16x16x128_f8f6f4 or opcode == op_v_mfma_f32_32x32x64_f8f6f4
            or opcode == op_v_mfma_scale_f32_16x16x128_f8f6f4 or opcode == op_v_mfma_scale_f32_32x32x64_f8f6f4)


cdef inline bint _is_inline_constant(uint32_t code) noexcept nogil:
    return 128 <= code <= 208 or 240 <= code <= 248


cdef uint16_t _scaled_opcode(const Reader *r) noexcept nogil:
    """The scaled operation whose second half is at the third dword; bit 0 of its abid says that scales stand in front."""
    if r.words[2] >> 23 != 0x1a7 or bits(r.words[2], 11, 4) != 1:
        return op_invalid
    if bits(r.words[2], 16, 7) == 0x2d:
        return op_v_mfma_scale_f32_16x16x128_f8f6f4
    return op_v_mfma_scale_f32_32x32x64_f8f6f4 if bits(r.words[2], 16, 7) == 0x2e else op_invalid


cdef int _decode_scaled_matrix(Reader *r) noexcept nogil:
    """Two scales in front of a matrix operation, four dwords in all; op_sel and op_sel_hi choose the byte of each scale."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t high = r.words[1]
    begin(r, _scaled_opcode(r), format_vop3p, 4)
    r.out.modifiers = modifier_set_opsel_hi(modifier_set_opsel(0, bits(word, 11, 2)), bits(high, 27, 2))
    if bits(high, 0, 9) == 255 or bits(high, 9, 9) == 255 or _decode_matrix(r, r.words[2], r.words[3]) != 4:
        return invalid(r)
    r.out.modifiers = modifier_set_abid(r.out.modifiers, 0)
    add_source(r, address_of(r, bits(high, 0, 9)), 4)
    add_source(r, address_of(r, bits(high, 9, 9)), 4)
    return finish(r)


# ------------------------------------------------------------------------------------------- scaled matrix operations of GFX12.5
cdef uint16_t _scaled_wave_opcode(const Reader *r) noexcept nogil:
    """The scaled operation whose second half is at the third dword; the opcode in front says how wide its scales are."""
    cdef bint wide = r.out.opcode == op_v_wmma_ld_scale16_paired_b64
    cdef uint32_t top = r.words[2] >> 16
    if top == 0xcc33:
        return op_v_wmma_scale16_f32_16x16x128_f8f6f4 if wide else op_v_wmma_scale_f32_16x16x128_f8f6f4
    if top == 0xcc88:
        return op_v_wmma_scale16_f32_32x16x128_f4 if wide else op_v_wmma_scale_f32_32x16x128_f4
    return op_invalid


cdef int _decode_scaled_wave_matrix(Reader *r) noexcept nogil:
    """Two dwords of scales, then the matrix operation."""
    cdef uint32_t word = r.words[2]
    cdef uint32_t high = r.words[3]
    cdef uint32_t i
    cdef uint64_t m = _scale_modifiers(r)
    begin(r, _scaled_wave_opcode(r), format_vop3p, 4)
    m = modifier_set_neg_hi(m, bits(word, 8, 3))
    m = modifier_set_opsel(m, bits(word, 11, 3))
    m = modifier_set_opsel_hi(m, bits(high, 27, 2) | bits(word, 14, 1) << 2)
    r.out.modifiers = modifier_set_neg(m, bits(high, 29, 3))
    add_destination(r, vgpr(bits(word, 0, 8)), definition_size(r, 0))
    for i in range(3):
        add_source(r, address_of(r, bits(high, 9 * i, 9)), wave_matrix_bytes(r.out, i, operand_size(r, i)))
    for i in range(2):
        add_source(r, address_of(r, bits(r.words[1], 9 * i, 9)), operand_size(r, 3 + i))
    return finish(r)


cdef int decode_vinterp_words(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t high, i
    cdef uint16_t address
    cdef uint64_t m = 0
    if not begin(r, decode_vinterp_inreg[r.generation * decode_vinterp_inreg_width + bits(word, 16, 5)],
                 format_vinterp_inreg, 2):
        return invalid(r)
    high = r.words[1]
    m = modifier_set_wait_exp(m, bits(word, 8, 3))
    m = modifier_set_opsel(m, bits(word, 11, 4))
    m = modifier_set_clamp(m, bits(word, 15, 1))
    m = modifier_set_neg(m, bits(high, 29, 3))
    r.out.modifiers = m
    address = vgpr(bits(word, 0, 8))
    if definition_size(r, 0) == 2 and modifier_opsel(m) & 8:
        address += 2
    add_destination(r, address, definition_size(r, 0))
    for i in range(opcode_operand_count[r.out.opcode]):
        address = address_of(r, bits(high, 9 * i, 9))
        if operand_size(r, i) == 2 and modifier_opsel(m) >> i & 1:
            address += 2
        add_source(r, address, operand_size(r, i))
    return finish(r)


cdef int decode_vintrp_word(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint64_t m = 0
    if not begin(r, decode_vintrp[r.generation * decode_vintrp_width + bits(word, 16, 2)], format_vintrp, 1):
        return invalid(r)
    m = modifier_set_ldsdir_channel(m, bits(word, 8, 2))
    r.out.modifiers = modifier_set_ldsdir_attr(m, bits(word, 10, 6))
    add_destination(r, vgpr(bits(word, 18, 8)), 4)
    if r.out.opcode == op_v_interp_mov_f32:
        r.out.immediate = bits(word, 0, 8)
    else:
        add_source(r, vgpr(bits(word, 0, 8)), 4)
    return finish(r)


cdef bint synchronises_globally(uint32_t opcode) noexcept nogil:
    return opcode == op_ds_gws_init or opcode == op_ds_gws_sema_br or opcode == op_ds_gws_barrier


cdef int decode_vopd_words(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t high
    cdef uint16_t second
    cdef uint32_t x = bits(word, 22, 4)
    cdef uint32_t y = bits(word, 17, 5)
    cdef bint literal
    second = decode_vopd_y[r.generation * decode_vopd_y_width + y]
    if second == op_invalid or not begin(r, decode_vopd[r.generation * decode_vopd_width + x], format_vopd, 2):
        return invalid(r)
    high = r.words[1]
    add_source(r, address_of(r, bits(word, 0, 9)), 4)
    add_source(r, vgpr(bits(word, 9, 8)) if r.out.opcode != op_v_dual_mov_b32 else <uint16_t>register_none, 4)
    add_source(r, address_of(r, bits(high, 0, 9)), 4)
    add_source(r, vgpr(bits(high, 9, 8)) if second != op_v_dual_mov_b32 else <uint16_t>register_none, 4)
    add_destination(r, vgpr(bits(high, 24, 8)), 4)
    # the halves write registers of different parity; the encoding drops the low bit of the second
    add_destination(r, vgpr(bits(high, 17, 7) << 1 | (~bits(high, 24, 1) & 1)), 4)
    r.out.modifiers = modifier_set_vopd_opcode_y(0, second)
    literal = (r.out.opcode == op_v_dual_fmaak_f32 or r.out.opcode == op_v_dual_fmamk_f32
               or second == op_v_dual_fmaak_f32 or second == op_v_dual_fmamk_f32)
    if literal and not take_literal(r):
        return invalid(r)
    return finish(r)


# ------------------------------------------------------------------------------------------------------------------ VOPD3
cdef void _add_wide_half(Reader *r, uint16_t opcode, uint32_t first, uint32_t second, uint32_t third, uint32_t destination) noexcept nogil:
    """One half: its sources, those that it lacks being none."""
    cdef uint32_t base = opcode * opcode_max_operands
    cdef uint32_t count = opcode_operand_count[opcode]
    cdef bint accumulates = adds_to_result(opcode)
    cdef bint selects = opcode == op_v_dual_cndmask_b32
    add_source(r, address_of(r, first), bytes_of(opcode_operand_classes[base]))
    add_source(r, vgpr(second) if count > 1 else <uint16_t>register_none, bytes_of(opcode_operand_classes[base + 1]) if count > 1 else 4)
    if selects:
        add_source(r, address_of(r, third & 0x7f), 0)
    else:
        add_source(r, vgpr(third) if count > 2 and not accumulates else <uint16_t>register_none,
                   bytes_of(opcode_operand_classes[base + 2]) if count > 2 else 4)
    add_destination(r, vgpr(destination), bytes_of(opcode_definition_classes[opcode * opcode_max_definitions]))


cdef int decode_vopd3_words(Reader *r) noexcept nogil:
    """Dual instructions of three dwords: three sources a half, whose results may be any registers."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t high, third
    cdef uint16_t second = decode_vopd3_y[r.generation * decode_vopd3_y_width + bits(word, 12, 6)]
    cdef uint64_t m
    if second == op_invalid or not begin(r, decode_vopd3[r.generation * decode_vopd3_width + bits(word, 18, 6)], format_vopd | format_vop3, 3):
        return invalid(r)
    high, third = r.words[1], r.words[2]
    if bits(word, 0, 9) >= 254 and bits(word, 0, 9) < 256 or bits(high, 0, 9) >= 254 and bits(high, 0, 9) < 256:
        # there is no room for literals
        return invalid(r)
    m = modifier_set_neg(modifier_set_vopd_opcode_y(0, second), bits(high, 9, 3))
    r.out.modifiers = modifier_set_neg_hi(m, bits(high, 12, 3))
    _add_wide_half(r, r.out.opcode, bits(word, 0, 9), bits(high, 16, 8), bits(high, 24, 8), bits(third, 0, 8))
    _add_wide_half(r, second, bits(high, 0, 9), bits(third, 8, 8), bits(third, 16, 8), bits(third, 24, 8))
    if second == op_v_dual_bitop2_b32:
        r.out.immediate = bits(third, 16, 8)
    return finish(r)
