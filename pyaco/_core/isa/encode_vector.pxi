# Encoding of the vector ALU.
cdef inline uint32_t _short_vgpr_code(Writer *w, uint16_t address, uint8_t register_class, uint32_t slot) noexcept nogil:
    """An 8-bit VGPR field of a short encoding; 16-bit operands of GFX11+ keep the half in bit 7."""
    cdef uint32_t code = vgpr_code(w, address)
    if address & 3 and w.d.format & format_sdwa == 0 and (register_class != class_v2b or w.level < gfx11 or address & 1):
        # parts of registers need SDWA, VOP3 or the halves of GFX11
        fail(w, encode_bad_operand)
    if register_class != class_v2b:
        return code
    if w.level < gfx11:
        if w.d.format & (format_sdwa | format_dpp16) == 0 and modifier_opsel(w.d.modifiers) >> slot & 1:
            fail(w, encode_bad_modifier)
        return code
    if code & 0x80:
        fail(w, encode_bad_operand)
    if address & 2 or modifier_opsel(w.d.modifiers) >> slot & 1:
        code |= 0x80
    return code


cdef inline uint32_t _short_source_code(Writer *w, uint16_t address, uint8_t register_class, uint32_t slot) noexcept nogil:
    if address >= register_vgpr0:
        return 0x100 | _short_vgpr_code(w, address, register_class, slot)
    return code_of(w, address, 8)


cdef inline uint32_t _sdwa_code(uint32_t select, uint32_t byte) noexcept nogil:
    """The hardware selector of size and offset bits, with the byte offset of the register added."""
    cdef uint32_t offset = (select >> 2 & 3) + byte
    if select & 3 == 0:
        return offset & 3
    if select & 3 == 1:
        return 4 + (offset >> 1 & 1)
    return 6


cdef inline uint16_t _lane_source(Writer *w) noexcept nogil:
    """The source whose lanes are chosen; v_nop, which has none, has zeros in its place."""
    return source(w, 0) if opcode_operand_count[w.d.opcode] else <uint16_t>register_vgpr0


cdef uint32_t _sdwa_word(Writer *w) noexcept nogil:
    cdef const Decoded *d = w.d
    cdef uint64_t m = d.modifiers
    cdef uint32_t word, select
    cdef uint16_t first = _lane_source(w)
    cdef uint16_t second
    word = code_of(w, first, 9) & 0xff
    if first < register_vgpr0:
        word |= 1 << 23
        if w.level < gfx9 or first >= 255 * 4:
            fail(w, encode_bad_operand)
    select = modifier_sdwa_sel0(m)
    word |= _sdwa_code(select, first & 3) << 16 | (select >> 4) << 19
    word |= (modifier_neg(m) & 1) << 20 | (modifier_abs(m) & 1) << 21
    if d.format & (format_vop2 | format_vopc):
        second = source(w, 1)
        if second < register_vgpr0:
            word |= 0x80000000U
            if w.level < gfx9 or second >= 255 * 4:
                fail(w, encode_bad_operand)
        select = modifier_sdwa_sel1(m)
        word |= _sdwa_code(select, second & 3) << 24 | (select >> 4) << 27
        word |= (modifier_neg(m) >> 1 & 1) << 28 | (modifier_abs(m) >> 1 & 1) << 29
    if d.format & format_vopc:
        if d.destination_count and d.destination[0] != (register_exec if is_cmpx(d.opcode) and w.level >= gfx10
                                                        else register_vcc):
            word |= sgpr_code(w, d.destination[0]) << 8 | 1 << 15
        if w.level == gfx8:
            word |= modifier_clamp(m) << 13
        elif modifier_clamp(m):
            fail(w, encode_bad_modifier)
    else:
        select = modifier_sdwa_dst_sel(m)
        word |= _sdwa_code(select, d.destination[0] & 3 if d.destination_count else 0) << 8
        word |= modifier_sdwa_dst_sext(m) << 11 | (select >> 4) << 12
        word |= modifier_clamp(m) << 13 | modifier_omod(m) << 14
    return word


# The dword of DPP16 or DPP8 behind the instruction. The short encodings keep source modifiers in it.
cdef uint32_t _dpp_word(Writer *w, bint short_form) noexcept nogil:
    cdef const Decoded *d = w.d
    cdef uint64_t m = d.modifiers
    cdef uint32_t word
    cdef uint16_t first = _lane_source(w)
    if register_vgpr0 > first:
        fail(w, encode_bad_operand)
    word = _short_vgpr_code(w, first, operand_class(d.opcode, 0), 0) if short_form else vgpr_code(w, first)
    if d.format & format_dpp8:
        return word | modifier_dpp8_lane_sel(m) << 8
    word |= modifier_dpp_ctrl(m) << 8 | modifier_dpp_bound_ctrl(m) << 19
    if w.level >= gfx10:
        word |= modifier_dpp_fetch_inactive(m) << 18
    elif modifier_dpp_fetch_inactive(m):
        fail(w, encode_bad_modifier)
    word |= modifier_dpp_bank_mask(m) << 24 | modifier_dpp_row_mask(m) << 28
    if short_form or w.stray_bits:
        word |= (modifier_neg(m) & 1) << 20 | (modifier_abs(m) & 1) << 21
        word |= (modifier_neg(m) >> 1 & 1) << 22 | (modifier_abs(m) >> 1 & 1) << 23
    return word


# The one-dword encodings imply vcc for every lane mask.
cdef void _check_implied_masks(Writer *w, uint32_t format) noexcept nogil:
    cdef const Decoded *d = w.d
    if format == format_vopc:
        if d.format & format_sdwa == 0 and d.destination_count and d.destination[0] != register_vcc \
                and not (is_cmpx(d.opcode) and w.level >= gfx10 and d.destination[0] == register_exec):
            fail(w, encode_bad_operand)
    elif format == format_vop2:
        if opcode_definition_count[d.opcode] > 1 and destination(w, 1) != register_vcc:
            fail(w, encode_bad_operand)
        if opcode_operand_count[d.opcode] > 2 and operand_class(d.opcode, 2) == 0xff and source(w, 2) != register_vcc:
            fail(w, encode_bad_operand)


# The src0 code that announces the extra dword, or the source itself.
cdef uint32_t _first_source_code(Writer *w, bint short_form) noexcept nogil:
    cdef const Decoded *d = w.d
    if d.format & format_sdwa:
        if not short_form or not gfx8 <= w.level < gfx11:
            fail(w, encode_bad_format)
        return 249
    if d.format & format_dpp16:
        if w.level < gfx8 or (not short_form and w.level < gfx11):
            fail(w, encode_bad_format)
        return 250
    if d.format & format_dpp8:
        if w.level < gfx10 or (not short_form and w.level < gfx11):
            fail(w, encode_bad_format)
        return 233 + modifier_dpp8_fetch_inactive(d.modifiers)
    if short_form:
        return _short_source_code(w, source(w, 0), operand_class(d.opcode, 0), 0)
    return code_of(w, source(w, 0), 9)


cdef void encode_vop_short(Writer *w, uint32_t number) noexcept nogil:
    cdef const Decoded *d = w.d
    cdef uint32_t word, fields, second
    cdef uint32_t format = d.format & valu_one_dword
    cdef uint8_t first_class = definition_class(d.opcode, 0)
    cdef uint64_t m = d.modifiers
    fields = 0
    _check_implied_masks(w, format)
    if d.format & (format_sdwa | format_dpp16) == 0 and (modifier_neg(m) | modifier_abs(m)) != 0:
        fail(w, encode_bad_modifier)
    if d.format & format_sdwa == 0 and modifier_clamp(m) | modifier_omod(m):
        fail(w, encode_bad_modifier)
    if format != format_vopc and opcode_definition_count[d.opcode]:
        if d.opcode == op_v_accvgpr_mov_b32:
            if d.format != format_vop1:
                fail(w, encode_bad_format)
            put(w, 0x7e000100U | number << 9 | agpr_code(w, destination(w, 0)) << 17 | agpr_code(w, source(w, 0)))
            return
        if class_is_vgpr(first_class):
            fields = _short_vgpr_code(w, destination(w, 0), first_class, 3) << 17
        else:
            fields = sgpr_code(w, destination(w, 0)) << 17
    if format == format_vop1:
        word = 0x7e000000U | number << 9 | fields
        if opcode_operand_count[d.opcode] or d.format != format_vop1:
            word |= _first_source_code(w, True)
    else:
        if d.format & format_sdwa and source(w, 1) < register_vgpr0:
            second = scalar_code(w, source(w, 1))
        elif d.opcode == op_v_illegal:
            put(w, 0)
            return
        elif not class_is_vgpr(operand_class(d.opcode, 1)) and w.level < gfx8:
            # the lane number of v_readlane_b32 and v_writelane_b32
            second = scalar_code(w, source(w, 1))
        else:
            second = _short_vgpr_code(w, source(w, 1), operand_class(d.opcode, 1), 1)
        word = (number << 25 | fields) if format == format_vop2 else (0x7c000000U | number << 17)
        word |= second << 9 | _first_source_code(w, True)
    put(w, word)
    if d.format & format_sdwa:
        put(w, _sdwa_word(w))
    elif d.format & (format_dpp16 | format_dpp8):
        put(w, _dpp_word(w, True))


cdef uint32_t _vop3_number(Writer *w, uint32_t number) noexcept nogil:
    """The VOP3 opcode of a one-dword opcode."""
    cdef uint32_t format = w.d.format | (opcode_format[w.d.opcode] & valu_one_dword)
    if format & format_vop2:
        return 0x100 + number
    if format & format_vop1:
        return (0x180 if plain_layout(w) else 0x140) + number
    return number


cdef void encode_vop3_interpolation(Writer *w, uint32_t number) noexcept nogil:
    """The attribute is in the field of the first source, so that the sources start at the second."""
    cdef const Decoded *d = w.d
    cdef uint64_t m = d.modifiers
    cdef uint32_t word = (0xd4000000U if w.level >= gfx10 else 0xd0000000U) | number << 16
    cdef uint32_t high, i
    word |= vgpr_code(w, destination(w, 0)) | (modifier_abs(m) & 3) << 9 | modifier_opsel(m) << 11 | modifier_clamp(m) << 15
    high = modifier_ldsdir_attr(m) | modifier_ldsdir_channel(m) << 6 | modifier_interp_high(m) << 8
    high |= modifier_omod(m) << 27 | (modifier_neg(m) & 3) << 30
    if (modifier_abs(m) | modifier_neg(m)) & 4:
        fail(w, encode_bad_modifier)
    if d.opcode == op_v_interp_mov_f32:
        high |= uimm(w, 9) << 9
    else:
        for i in range(opcode_operand_count[d.opcode]):
            high |= code_of(w, source(w, i), 9) << (9 * (i + 1))
    put(w, word)
    put(w, high)


cdef inline uint32_t _unused_sources(const Decoded *d, uint32_t level, uint32_t count) noexcept nogil:
    """The fields of a long form behind its `count` sources.

    Hardware may take a zero there for a read of s0, so LLVM 23 writes the constant 0; so do we where LLVM 22 writes nothing (GFX11.7, GFX13).
    """
    if count > 2 or (level != gfx11_7 and level < gfx13):
        return 0
    if d.format & (format_dpp16 | format_dpp8):
        # comparisons that write exec alone
        return 0x80U << 18 if is_cmpx(d.opcode) else 0U
    return (0x80U << 18) | (0x80U << 9 if count < 2 else 0U) | (0x80U if count < 1 else 0U)


cdef void encode_vop3(Writer *w, uint32_t number) noexcept nogil:
    cdef const Decoded *d = w.d
    cdef uint64_t m = d.modifiers
    cdef uint32_t word, high, i, count, opsel
    cdef bint compare = (opcode_format[d.opcode] & format_vopc) != 0
    cdef bint has_scalar_destination = opcode_definition_count[d.opcode] > 1 and not swaps(d.opcode)
    if opcode_flags[d.opcode] & opcode_flag_literal or d.opcode == op_v_accvgpr_mov_b32 or d.opcode == op_v_illegal:
        fail(w, encode_bad_format)
    opsel = modifier_opsel(m)
    count = opcode_operand_count[d.opcode]
    if opcode_flags[d.opcode] & opcode_flag_tied or swaps(d.opcode):
        count -= 1
    if w.level < gfx8:
        word = 0xd0000000U | _vop3_number(w, number) << 17 | modifier_clamp(m) << 11
    else:
        word = (0xd4000000U if w.level >= gfx10 else 0xd0000000U) | _vop3_number(w, number) << 16 | modifier_clamp(m) << 15
    high = modifier_omod(m) << 27 | modifier_neg(m) << 29 | _unused_sources(d, w.level, count)
    for i in range(count):
        if operand_class(d.opcode, i) == class_v2b and source(w, i) & 2:
            opsel |= 1U << i
        elif source(w, i) & 3:
            fail(w, encode_bad_operand)
        high |= (_first_source_code(w, False) if i == 0 else code_of(w, source(w, i), 9)) << (9 * i)
    if compare:
        word |= sgpr_code(w, <uint16_t>register_exec if is_cmpx(d.opcode) and w.level >= gfx10 else destination(w, 0))
    elif opcode_definition_count[d.opcode]:
        if class_is_vgpr(definition_class(d.opcode, 0)):
            word |= vgpr_code(w, destination(w, 0))
            if class_is_subdword(definition_class(d.opcode, 0)) and destination(w, 0) & 2:
                opsel |= 8
        else:
            word |= sgpr_code(w, destination(w, 0))
    if has_scalar_destination:
        word |= sgpr_code(w, destination(w, 1)) << 8
        if modifier_abs(m) or opsel or (w.level < gfx8 and modifier_clamp(m)):
            fail(w, encode_bad_modifier)
    elif w.level < gfx8:
        word |= modifier_abs(m) << 8
        if opsel:
            fail(w, encode_bad_modifier)
    else:
        word |= modifier_abs(m) << 8 | opsel << 11
    put(w, word)
    put(w, high)
    if d.format & (format_dpp16 | format_dpp8):
        put(w, _dpp_word(w, False))


cdef inline bint _scales_waves(uint32_t opcode) noexcept nogil:
    """Wave matrix operations of GFX12.5 with scales of A and B in front."""
    return (opcode == op_v_wmma_scale_f32_16x16x128_f8f6f4 or opcode == op_v_wmma_scale16_f32_16x16x128_f8f6f4
            or opcode == op_v_wmma_scale_f32_32x16x128_f4 or opcode == op_v_wmma_scale16_f32_32x16x128_f4)


cdef void _put_wave_scales(Writer *w, uint32_t number, uint32_t first) noexcept nogil:
    """The two dwords of an opcode that loads scales, the sources from `first` on."""
    cdef uint64_t m = w.d.modifiers
    put(w, 0xcc000000U | number << 16 | modifier_matrix_scale_b(m) << 8 | (modifier_matrix_scales(m) & 1) << 11
        | modifier_matrix_scale_reuse(m) << 13)
    # the third source is VGPR 0
    put(w, code_of(w, source(w, first), 9) | code_of(w, source(w, first + 1), 9) << 9 | 0x100 << 18 | (modifier_matrix_scales(m) >> 1) << 27
        | modifier_matrix_scale_a(m) << 29)


cdef void encode_vop3p(Writer *w, uint32_t number) noexcept nogil:
    cdef const Decoded *d = w.d
    cdef uint64_t m = d.modifiers
    cdef uint32_t word, high, i
    cdef uint32_t count = opcode_operand_count[d.opcode]
    if opcode_flags[d.opcode] & opcode_flag_matrix:
        _encode_matrix(w, number)
        return
    if d.opcode == op_v_wmma_ld_scale_paired_b32 or d.opcode == op_v_wmma_ld_scale16_paired_b64:
        _put_wave_scales(w, number, 0)
        return
    if _scales_waves(d.opcode):
        _put_wave_scales(w, 0x35 if d.opcode == op_v_wmma_scale_f32_16x16x128_f8f6f4 or d.opcode == op_v_wmma_scale_f32_32x16x128_f4 else 0x3a, 3)
        count = 3
    if opcode_flags[d.opcode] & opcode_flag_tied:
        count -= 1
    word = (0xcc000000U if w.level >= gfx10 else 0xd3800000U) | number << 16 | modifier_clamp(m) << 15
    if d.opcode == op_v_accvgpr_write_b32:
        word |= agpr_code(w, destination(w, 0))
    elif opcode_definition_count[d.opcode]:
        word |= vgpr_code(w, destination(w, 0))
    word |= modifier_neg_hi(m) << 8 | (modifier_opsel(m) & 7) << 11
    word |= (modifier_opsel_hi(m) >> 2) << 14
    high = (modifier_opsel_hi(m) & 3) << 27 | modifier_neg(m) << 29 | _unused_sources(d, w.level, count)
    for i in range(count):
        if d.opcode == op_v_accvgpr_read_b32:
            high |= 0x100 | agpr_code(w, source(w, 0))
            continue
        high |= (_first_source_code(w, False) if i == 0 else code_of(w, source(w, i), 9)) << (9 * i)
    put(w, word)
    put(w, high)
    if d.format & (format_dpp16 | format_dpp8):
        put(w, _dpp_word(w, False))


cdef inline bint _scales(uint32_t opcode) noexcept nogil:
    return opcode == op_v_mfma_scale_f32_16x16x128_f8f6f4 or opcode == op_v_mfma_scale_f32_32x32x64_f8f6f4


cdef void _encode_matrix(Writer *w, uint32_t number) noexcept nogil:
    """Matrix operations of CDNA: A and B in either register file, C and D in one; scales in two dwords in front."""
    cdef const Decoded *d = w.d
    cdef uint64_t m = d.modifiers
    cdef bint sparse = (opcode_flags[d.opcode] & opcode_flag_tied) != 0
    cdef bint accumulation = is_agpr(destination(w, 0))
    cdef uint16_t addend = source(w, 2)
    cdef uint32_t word, high
    if _scales(d.opcode):
        put(w, 0xd3ac0000U | (modifier_opsel(m) & 3) << 11)
        put(w, code_of(w, source(w, 3), 9) | code_of(w, source(w, 4), 9) << 9 | (modifier_opsel_hi(m) & 3) << 27)
    word = 0xd3800000U | number << 16 | modifier_cbsz(m) << 8 | vector_code(w, destination(w, 0))
    word |= (1 if _scales(d.opcode) else modifier_abid(m)) << 11
    if accumulation and w.level > gfx908:
        word |= 1 << 15
    if not accumulation and w.level == gfx908:
        fail(w, encode_bad_operand)
    high = 0x100 | vector_code(w, source(w, 0)) | (0x100 | vector_code(w, source(w, 1))) << 9 | modifier_blgp(m) << 29
    high |= <uint32_t>is_agpr(source(w, 0)) << 27 | <uint32_t>is_agpr(source(w, 1)) << 28
    if addend < register_vgpr0:
        high |= code_of(w, addend, 9) << 18
        if sparse:
            fail(w, encode_bad_operand)
    else:
        high |= (0x100 | vector_code(w, addend)) << 18
        if is_agpr(addend) != (accumulation and not sparse):
            fail(w, encode_bad_operand)
    put(w, word)
    put(w, high)


cdef void encode_vinterp(Writer *w, uint32_t number) noexcept nogil:
    cdef const Decoded *d = w.d
    cdef uint64_t m = d.modifiers
    cdef uint32_t high = modifier_neg(m) << 29
    cdef uint32_t i
    put(w, 0xcd000000U | number << 16 | vgpr_code(w, destination(w, 0)) | modifier_wait_exp(m) << 8
        | modifier_opsel(m) << 11 | modifier_clamp(m) << 15)
    for i in range(opcode_operand_count[d.opcode]):
        high |= code_of(w, source(w, i), 9) << (9 * i)
    put(w, high)


cdef void encode_vintrp(Writer *w, uint32_t number) noexcept nogil:
    cdef const Decoded *d = w.d
    cdef uint32_t word = 0xc8000000U if plain_layout(w) else 0xd4000000U
    word |= vgpr_code(w, destination(w, 0)) << 18 | number << 16
    word |= modifier_ldsdir_attr(d.modifiers) << 10 | modifier_ldsdir_channel(d.modifiers) << 8
    word |= uimm(w, 8) if d.opcode == op_v_interp_mov_f32 else vgpr_code(w, source(w, 0))
    put(w, word)


cdef uint32_t _wide_third(Writer *w, uint32_t opcode, uint32_t half) noexcept nogil:
    """The field of the third source of a half of VOPD3: a register, a lane mask or a truth table."""
    if opcode == op_v_dual_bitop2_b32:
        return uimm(w, 8)
    if opcode == op_v_dual_cndmask_b32:
        return sgpr_code(w, source(w, 3 * half + 2))
    return vgpr_code(w, source(w, 3 * half + 2))


cdef void encode_vopd3(Writer *w) noexcept nogil:
    """Dual instructions of three dwords (GFX12.5)."""
    cdef const Decoded *d = w.d
    cdef uint32_t second = modifier_vopd_opcode_y(d.modifiers)
    cdef uint64_t m = d.modifiers
    if w.level < gfx12_5 or (w.level >= gfx13 and _is_double(d.opcode)) or second >= op_count \
            or opcode_number_wide[d.opcode] < 0 or opcode_number_wide[second] < 0:
        fail(w, encode_no_opcode)
        return
    if source(w, 0) >> 2 == literal_code or source(w, 3) >> 2 == literal_code:
        fail(w, encode_bad_literal)
    put(w, 0xcf000000U | <uint32_t>opcode_number_wide[d.opcode] << 18 | <uint32_t>opcode_number_wide[second] << 12 | code_of(w, source(w, 0), 9))
    put(w, code_of(w, source(w, 3), 9) | modifier_neg(m) << 9 | modifier_neg_hi(m) << 12 | vgpr_code(w, source(w, 1)) << 16
        | _wide_third(w, d.opcode, 0) << 24)
    put(w, vgpr_code(w, destination(w, 0)) | vgpr_code(w, source(w, 4)) << 8 | _wide_third(w, second, 1) << 16
        | vgpr_code(w, destination(w, 1)) << 24)


cdef void encode_vopd(Writer *w, uint32_t number) noexcept nogil:
    cdef const Decoded *d = w.d
    cdef uint32_t second = modifier_vopd_opcode_y(d.modifiers)
    cdef uint32_t first_destination, second_destination
    if w.level < gfx11 or second >= op_count or opcode_number_y[second] < 0:
        fail(w, encode_no_opcode)
        return
    first_destination = vgpr_code(w, destination(w, 0))
    second_destination = vgpr_code(w, destination(w, 1))
    if (first_destination ^ second_destination) & 1 == 0:
        fail(w, encode_bad_operand)
    put(w, 0xc8000000U | number << 22 | <uint32_t>opcode_number_y[second] << 17 | code_of(w, source(w, 0), 9)
        | vgpr_code(w, source(w, 1)) << 9)
    put(w, code_of(w, source(w, 2), 9) | vgpr_code(w, source(w, 3)) << 9 | (second_destination >> 1) << 17
        | first_destination << 24)
