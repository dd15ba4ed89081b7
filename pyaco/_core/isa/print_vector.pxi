# Text of the vector ALU and of dual instructions.
# ------------------------------------------------------------------------------------------------------------- vector ALU
cdef void _suffix(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint32_t format = d.format
    cdef bint short_opcode = ((opcode_format[d.opcode] | format) & valu_one_dword) != 0
    cdef bint lanes = (format & (format_dpp16 | format_dpp8)) != 0
    if format & (format_vop3 | format_vop3p):
        if lanes or (format & format_vop3 and short_opcode):
            put_text(t, b"_e64")
    elif format & format_sdwa:
        put_text(t, b"_sdwa")
        return
    elif not lanes and not opcode_flags[d.opcode] & opcode_flag_one_form:
        put_text(t, b"_e32")
    if lanes:
        put_text(t, b"_dpp")


cdef inline bint _takes_sign(const Printer *t, uint32_t opcode) noexcept nogil:
    """Whether abs and neg of sources have a meaning."""
    return can_use_input_modifiers(opcode) or t.facts[opcode] & fact_signed != 0


cdef inline uint32_t _signed_sources(const Printer *t, uint32_t opcode) noexcept nogil:
    """Bit set of the sources whose abs and neg have a meaning."""
    cdef uint32_t flags = opcode_flags[opcode]
    if flags & (opcode_flag_neg0 | opcode_flag_neg1 | opcode_flag_neg2):
        return ((flags & opcode_flag_neg0 != 0) | <uint32_t>(flags & opcode_flag_neg1 != 0) << 1
                | <uint32_t>(flags & opcode_flag_neg2 != 0) << 2)
    return 7 if _takes_sign(t, opcode) else 0


cdef void _check_vop(Printer *t, const Decoded *d, uint32_t count, uint32_t changed) noexcept nogil:
    """Words that the syntax has no text for; `changed`: the sources that have neg or abs, of `count`."""
    if changed & ~(_signed_sources(t, d.opcode) & ((1U << count) - 1)):
        t.has_no_syntax = True
    if t.level >= gfx12 and not t.true16 and modifier_opsel(d.modifiers) and not d.format & format_vop3:
        # this generation's default syntax has no names for halves of registers
        t.has_no_syntax = True
    if t.level >= gfx12 and not t.true16 and (d.opcode == op_v_mov_b16 or d.opcode == op_v_swap_b16):
        t.has_no_syntax = True
    if d.opcode == op_v_readfirstlane_b32 and d.source[0] < register_vgpr0 and d.source[0] != 254 * 4:
        t.has_no_syntax = True


cdef void _doubled_constant(Printer *t, uint32_t code) noexcept nogil:
    """An inline constant that an operation has in both halves, as the number that it is: its name alone is the low half to assemblers."""
    cdef uint32_t half = 0x3118 if code == 248 else 0x3800 + 0x400 * ((code - 240) >> 1) | (code & 1) << 15
    put_hex(t, half | half << 16)


cdef void _vop_source(Printer *t, const Decoded *d, uint32_t i, uint32_t neg, uint32_t magnitude) noexcept nogil:
    cdef uint64_t m = d.modifiers
    if t.facts[d.opcode] & fact_multiply_constant and i:
        put_operand(t, d, 3 - i)
        return
    if d.opcode == op_v_pk_fmac_f16 and d.format == format_vop2 and 240 <= d.source[i] >> 2 < 249 and t.level >= gfx11:
        _doubled_constant(t, d.source[i] >> 2)
        return
    if d.source_bytes[i] >= 24 and d.source[i] < register_vgpr0:
        t.has_no_syntax = True
    if not (d.format & format_sdwa and i < 2 and (modifier_sdwa_sel1(m) if i else modifier_sdwa_sel0(m)) & 0x10):
        put_modified(t, d, i, neg, magnitude)
        return
    if (neg | magnitude) >> i & 1:
        t.has_no_syntax = True
    put_text(t, b"sext(")
    put_operand(t, d, i)
    put(t, c')')


cdef void vop(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint64_t m = d.modifiers
    cdef uint32_t format = d.format
    cdef uint32_t facts = t.facts[d.opcode]
    cdef uint32_t neg = 0, magnitude = 0, count = d.source_count
    cdef uint32_t position = 0
    cdef uint32_t i
    cdef bint compare = (opcode_format[d.opcode] & format_vopc) != 0
    cdef bint plain = m == 0 and not format & (format_sdwa | format_dpp16 | format_dpp8)
    if not plain and format & (format_vop3 | format_sdwa | format_dpp16) and not _is_bitop3(d.opcode):
        neg, magnitude = modifier_neg(m), modifier_abs(m)   # where the truth table of bitop3 lies
    if opcode_flags[d.opcode] & opcode_flag_tied or facts & fact_swaps:
        count -= 1
    _check_vop(t, d, count, neg | magnitude)
    put_opcode(t, d.opcode)
    _suffix(t, d)
    if not (compare and t.level >= gfx10 and opcode_implicit_definitions[d.opcode] & implicit_exec):
        for i in range(d.destination_count):
            if not (facts & fact_swaps and i):
                separate(t, position)
                position += 1
                put_destination(t, d, i)
    for i in range(count):
        separate(t, position)
        position += 1
        _vop_source(t, d, i, neg, magnitude)
    if plain:
        return
    if format & (format_vop3 | format_base_mask) == 0:
        t.tail = t.p
    if _is_bitop3(d.opcode):
        _truth_table(t, m)
    if format & format_vop3:
        _half_selection(t, d, d.source_count)
    if format & (format_vop3 | format_sdwa) and not _is_bitop3(d.opcode):
        if modifier_clamp(m):
            put_text(t, b" clamp")
        output_modifier(t, modifier_omod(m))
    if format & format_sdwa:
        _sdwa(t, d, compare)
    else:
        _lanes(t, d)
    if t.tail != NULL and t.values != NULL:
        note_value(t, value_tail, t.tail)


cdef inline bint _is_bitop3(uint32_t opcode) noexcept nogil:
    return opcode == op_v_bitop3_b32 or opcode == op_v_bitop3_b16 or opcode == op_v_bitop3_b16_true16


cdef void _truth_table(Printer *t, uint64_t m) noexcept nogil:
    cdef uint32_t table = modifier_neg(m) | modifier_abs(m) << 3 | modifier_omod(m) << 6
    if modifier_clamp(m):
        t.has_no_syntax = True
    if table:
        put_text(t, b" bitop3:")
        put_hex(t, table)


cdef void output_modifier(Printer *t, uint32_t value) noexcept nogil:
    if value == 1:
        put_text(t, b" mul:2")
    elif value == 2:
        put_text(t, b" mul:4")
    elif value == 3:
        put_text(t, b" div:2")


cdef inline bint _selects_byte(uint32_t opcode) noexcept nogil:
    """GFX12: op_sel is the number of a byte."""
    return (opcode == op_v_cvt_f32_fp8 or opcode == op_v_cvt_f32_bf8 or opcode == op_v_cvt_sr_fp8_f32 or opcode == op_v_cvt_sr_bf8_f32)


cdef void _byte_and_half(Printer *t, const Decoded *d, uint32_t opsel, uint32_t count) noexcept nogil:
    """A byte of one operand of a conversion, and a half of the other, which its name says where halves have names."""
    cdef uint32_t byte = opsel >> 2 if count > 1 else opsel >> 1 & 1 | (opsel & 1) << 1
    cdef bint high = (opsel & 1 if count > 1 else opsel >> 3) != 0
    if opsel & (2 if count > 1 else 4):
        t.has_no_syntax = t.has_no_syntax or count == 1 or t.true16
        put_text(t, b" op_sel:[1,1,0]" if high else b" op_sel:[0,1,0]")
    elif high and not t.true16:
        put_text(t, b" op_sel:[1]" if count > 1 else b" op_sel:[0,1]")
    if byte:
        put_text(t, b" byte_sel:")
        put_number(t, byte)


# op_sel of VOP3. GFX11's syntax says the half in the register's name instead.
cdef void _half_selection(Printer *t, const Decoded *d, uint32_t count) noexcept nogil:
    cdef uint32_t opsel = modifier_opsel(d.modifiers)
    cdef uint32_t facts = t.facts[d.opcode]
    cdef uint32_t i
    cdef bint halves = d.destination_count != 0 and d.destination_bytes[0] == 2
    if opsel == 0:
        return
    if t.level >= gfx12_5 and selects_byte_and_half(d.opcode):
        _byte_and_half(t, d, opsel, count)
        return
    if t.level >= gfx12_5 and selects_scale(d.opcode):
        put_text(t, b" scale_sel:")
        put_number(t, opsel)
        return
    if t.level >= gfx11_7 and _selects_byte(d.opcode):
        put_text(t, b" byte_sel:")
        put_number(t, opsel >> 2 if count > 1 else opsel >> 1 & 1 | (opsel & 1) << 1)
        return
    if d.opcode == op_v_permlane16_swap_b32 or d.opcode == op_v_permlane32_swap_b32:
        if opsel & 12:
            t.has_no_syntax = True
        put_text(t, b" bound_ctrl:1" if opsel & 2 else b"")
        put_text(t, b" fi:1" if opsel & 1 else b"")
        return
    if t.level < gfx10 and t.facts[d.opcode] & fact_writes_byte:
        put_bits(t, b" op_sel:", opsel, 4)
        return
    for i in range(count):
        halves = halves or d.source_bytes[i] == 2
    if not halves and not facts & (fact_opsel_lanes | fact_opsel_other) and not opcode_flags[d.opcode] & opcode_flag_opsel:
        t.has_no_syntax = True
    if not t.true16 and (not opcode_flags[d.opcode] & opcode_flag_opsel
                         or (t.level >= gfx12 and facts & fact_without_opsel_12)):
        t.has_no_syntax = True
    if t.true16 and opcode_flags[d.opcode] & opcode_flag_tied and count and opsel >> (count - 1) & 1:
        # the name of the result says its half, but not that of the sum which it is added to
        t.has_no_syntax = True
    if t.true16 and not facts & fact_opsel_lanes:
        for i in range(count):
            if opsel >> i & 1 and d.source_bytes[i] == 2 and d.source[i] >= register_vgpr0:
                opsel &= ~(1U << i)
        if opsel & 8 and d.destination_count and d.destination_bytes[0] == 2:
            opsel &= 7
    if opsel == 0:
        return
    if t.true16 and d.opcode == op_v_cndmask_b16:
        # takes no op_sel beside names of halves, and a scalar has none
        t.has_no_syntax = True
    opsel = modifier_opsel(d.modifiers)
    if opcode_format[d.opcode] & format_vopc:
        if opsel & 8:
            t.has_no_syntax = True
        put_bits(t, b" op_sel:", opsel, 2)
        return
    if opsel & ((7 << count) & 7):
        t.has_no_syntax = True
    if facts & fact_opsel_lanes:
        put_bits(t, b" op_sel:", opsel, count)
    else:
        put_bits(t, b" op_sel:", opsel & ((1U << count) - 1) | (opsel >> 3) << count, count + 1)


cdef void _selection(Printer *t, const char *name, uint32_t select) noexcept nogil:
    put_text(t, name)
    put_name(t, domain_selection, 2 if select & 3 == 2 else 1 | (select & 8) if select & 3 == 1 else select & 12)


cdef void _sdwa(Printer *t, const Decoded *d, bint compare) noexcept nogil:
    cdef uint64_t m = d.modifiers
    if _converts_byte(d.opcode):
        # these have the selection of their source only
        if modifier_sdwa_dst_sel(m) != 2 or modifier_sdwa_dst_sext(m):
            t.has_no_syntax = True
    elif not compare and opcode_definition_count[d.opcode]:
        _selection(t, b" dst_sel:", modifier_sdwa_dst_sel(m))
        put_text(t, b" dst_unused:")
        if modifier_sdwa_dst_sext(m):
            if modifier_sdwa_dst_sel(m) & 0x10:
                t.has_no_syntax = True
            put_text(t, b"UNUSED_SEXT")
        else:
            put_text(t, b"UNUSED_PRESERVE" if modifier_sdwa_dst_sel(m) & 0x10 else b"UNUSED_PAD")
    if opcode_operand_count[d.opcode]:
        _selection(t, b" src0_sel:", modifier_sdwa_sel0(m))
    if not opcode_format[d.opcode] & format_vop1:
        _selection(t, b" src1_sel:", modifier_sdwa_sel1(m))


cdef void _put_list(Printer *t, const char *name, uint32_t value, uint32_t width, uint32_t count) noexcept nogil:
    """`` name:[3,2,1,0]`` of fields of `width` bits."""
    cdef uint32_t i
    put_text(t, name)
    for i in range(count):
        put(t, c',' if i else c'[')
        put(t, <char>(c'0' + (value >> width * i & ((1U << width) - 1))))
    put(t, c']')


cdef inline bint _converts_byte(uint32_t opcode) noexcept nogil:
    return (opcode == op_v_cvt_f32_fp8 or opcode == op_v_cvt_f32_bf8 or opcode == op_v_cvt_pk_f32_fp8
            or opcode == op_v_cvt_pk_f32_bf8)


cdef void _lanes(Printer *t, const Decoded *d) noexcept nogil:
    """DPP control."""
    cdef uint64_t m = d.modifiers
    cdef uint32_t control
    if d.format & format_dpp8:
        _put_list(t, b" dpp8:", modifier_dpp8_lane_sel(m), 3, 8)
        if modifier_dpp8_fetch_inactive(m):
            put_text(t, b" fi:1")
        return
    if not d.format & format_dpp16:
        return
    control = modifier_dpp_ctrl(m)
    if control < 0x100:
        _put_list(t, b" quad_perm:", control, 2, 4)
    else:
        put(t, c' ')
        put_name(t, domain_lane_control, control)
    put_text(t, b" row_mask:")
    put_hex(t, modifier_dpp_row_mask(m))
    put_text(t, b" bank_mask:")
    put_hex(t, modifier_dpp_bank_mask(m))
    if modifier_dpp_bound_ctrl(m):
        put_text(t, b" bound_ctrl:1")
    if modifier_dpp_fetch_inactive(m):
        put_text(t, b" fi:1")


cdef void vop3p(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint64_t m = d.modifiers
    cdef uint32_t neg = modifier_neg(m), high = modifier_neg_hi(m), opsel_hi = modifier_opsel_hi(m)
    cdef uint32_t count = opcode_operand_count[d.opcode] - ((opcode_flags[d.opcode] & opcode_flag_tied) != 0)
    cdef uint32_t all_ones = (1U << count) - 1
    cdef bint mixes = (t.facts[d.opcode] & fact_mixes) != 0
    cdef uint32_t i
    put_opcode(t, d.opcode)
    _suffix(t, d)
    if d.destination_count:
        put(t, c' ')
        put_register(t, &d.destination[0], 4 * wave_dwords(t.facts[d.opcode], t.level, t.mask_dwords, 3, d.destination_bytes[0] >> 2))
    for i in range(count):
        separate(t, i + d.destination_count)
        if mixes:
            put_modified(t, d, i, neg, high)
        elif t.facts[d.opcode] & fact_wave_matrix and d.source[i] >= register_vgpr0:
            put_register(t, &d.source[i], 4 * wave_dwords(t.facts[d.opcode], t.level, t.mask_dwords, i, d.source_bytes[i] >> 2))
        else:
            put_operand(t, d, i)
    if opcode_flags[d.opcode] & opcode_flag_matrix:
        _matrix(t, d)
        return
    if t.facts[d.opcode] & fact_wave_matrix and t.level >= gfx12_5:
        _wave_matrix(t, d, count)
        return
    if (d.opcode == op_v_accvgpr_read_b32 or d.opcode == op_v_accvgpr_write_b32) \
            and (modifier_opsel(m) or opsel_hi != 7 or neg or high or modifier_clamp(m)):
        t.has_no_syntax = True
    if t.facts[d.opcode] & fact_plain_dot and (modifier_opsel(m) or modifier_clamp(m)):
        t.has_no_syntax = True
    if modifier_opsel(m) and t.facts[d.opcode] & fact_wave_matrix and opcode_flags[d.opcode] & opcode_flag_tied:
        put_text(t, b" index_key:")
        put_number(t, modifier_opsel(m))
        t.has_no_syntax = t.has_no_syntax or modifier_opsel(m) > index_limit(d.opcode, t.mask_dwords)
    elif modifier_opsel(m):
        put_bits(t, b" op_sel:", modifier_opsel(m), count)
    if mixes:
        if opsel_hi & all_ones:
            put_bits(t, b" op_sel_hi:", opsel_hi, count)
    else:
        if (modifier_opsel(m) | neg | high) >> count or (opsel_hi | all_ones) != 7:
            # text has no way to write bits of sources that the opcode does not have
            t.has_no_syntax = True
        if opsel_hi & all_ones != all_ones:
            put_bits(t, b" op_sel_hi:", opsel_hi, count)
        if neg & all_ones:
            put_bits(t, b" neg_lo:", neg, count)
        if high & all_ones:
            put_bits(t, b" neg_hi:", high, count)
    if modifier_clamp(m):
        put_text(t, b" clamp")
    _lanes(t, d)


cdef void _put_choice(Printer *t, const char *name, uint32_t domain, uint32_t value) noexcept nogil:
    """`` name:VALUE`` unless it is the first one."""
    if value:
        put_text(t, name)
        put_name(t, domain, value)


cdef void _wave_matrix(Printer *t, const Decoded *d, uint32_t count) noexcept nogil:
    """Modifiers of wave matrix operations of GFX12.5, which lie where op_sel and op_sel_hi are elsewhere."""
    cdef uint64_t m = d.modifiers
    cdef uint32_t low = modifier_opsel(m), high = modifier_opsel_hi(m)
    cdef bint typed = chooses_element_type(d.opcode), scaled = count == 5 or count == 2
    cdef bint sparse = (opcode_flags[d.opcode] & opcode_flag_tied) != 0
    cdef uint32_t reuse = modifier_matrix_scale_reuse(m) if scaled else low >> 2 | (high >> 2) << 1
    if sparse and low & 3:
        put_text(t, b" index_key:")
        put_number(t, low & 3)
        t.has_no_syntax = t.has_no_syntax or low & 3 > index_limit(d.opcode, 1)
    if typed:
        _put_choice(t, b" matrix_a_fmt:", domain_selection, low)
        _put_choice(t, b" matrix_b_fmt:", domain_selection, high)
        reuse = reuse if scaled else 0
    elif not scaled and not reads_again(d.opcode):
        t.has_no_syntax = t.has_no_syntax or low & (4 if sparse else 7) != 0 or high != 7
        reuse = 0
    elif not scaled and ((low & 3 and not sparse) or high & 3 != 3):
        t.has_no_syntax = True
    elif count == 5 and (low or high != 7):
        t.has_no_syntax = True
    if scaled:
        _put_choice(t, b" matrix_a_scale:", domain_unused, modifier_matrix_scales(m) & 1)
        _put_choice(t, b" matrix_b_scale:", domain_unused, modifier_matrix_scales(m) >> 1)
        _put_choice(t, b" matrix_a_scale_fmt:", domain_dimension, modifier_matrix_scale_a(m))
        _put_choice(t, b" matrix_b_scale_fmt:", domain_dimension, modifier_matrix_scale_b(m))
    if reuse & 1:
        put_text(t, b" matrix_a_reuse")
    if reuse & 2:
        put_text(t, b" matrix_b_reuse")
    if modifier_neg(m):
        put_bits(t, b" neg_lo:", modifier_neg(m), 3 if not sparse else 2)
    if modifier_neg_hi(m):
        put_bits(t, b" neg_hi:", modifier_neg_hi(m), 3 if not sparse else 2)
    if modifier_clamp(m):
        put_text(t, b" clamp")


cdef void _matrix(Printer *t, const Decoded *d) noexcept nogil:
    """Modifiers of CDNA's matrix operations; blgp of 64-bit ones negates the operands from CDNA 3 on."""
    cdef uint64_t m = d.modifiers
    cdef bint scaled = opcode_operand_count[d.opcode] == 5
    if opcode_flags[d.opcode] & opcode_flag_tied and modifier_blgp(m):
        t.has_no_syntax = True
    if scaled and (d.source[3] < register_vgpr0 or d.source[4] < register_vgpr0):
        t.has_no_syntax = True
    if t.facts[d.opcode] & fact_typed_matrix and (modifier_cbsz(m) > 4 or modifier_blgp(m) > 4 or modifier_abid(m)):
        t.has_no_syntax = True
    if scaled and modifier_opsel(m):
        put_bits(t, b" op_sel:", modifier_opsel(m), 3)
    if scaled and modifier_opsel_hi(m):
        put_bits(t, b" op_sel_hi:", modifier_opsel_hi(m), 3)
    if modifier_cbsz(m):
        put_text(t, b" cbsz:")
        put_number(t, modifier_cbsz(m))
    if modifier_abid(m):
        put_text(t, b" abid:")
        put_number(t, modifier_abid(m))
    if modifier_blgp(m):
        if t.facts[d.opcode] & fact_double_matrix and t.level >= gfx942:
            put_bits(t, b" neg:", modifier_blgp(m), 3)
        else:
            put_text(t, b" blgp:")
            put_number(t, modifier_blgp(m))


# ------------------------------------------------------------------------------------------------------------------- VOPD
cdef void vopd(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint32_t second = modifier_vopd_opcode_y(d.modifiers)
    if t.mask_dwords != 1 or (gfx12_5 <= t.level < gfx13 and d.opcode == op_v_dual_dot2acc_f32_bf16):
        # dual instructions are those of wave32; for this one assemblers take three dwords
        t.has_no_syntax = True
    _vopd_half(t, d, d.opcode, 0, 0)
    put_text(t, b" :: ")
    _vopd_half(t, d, second, 1, 2)


cdef void _vopd_half(Printer *t, const Decoded *d, uint32_t opcode, uint32_t destination, uint32_t source) noexcept nogil:
    put_opcode(t, opcode)
    put(t, c' ')
    put_destination(t, d, destination)
    put_comma(t)
    put_operand(t, d, source)
    if opcode == op_v_dual_fmamk_f32:
        _multiplier(t, d)
    if opcode != op_v_dual_mov_b32:
        put_comma(t)
        put_operand(t, d, source + 1)
    if opcode == op_v_dual_fmaak_f32:
        _multiplier(t, d)


cdef void _multiplier(Printer *t, const Decoded *d) noexcept nogil:
    """The literal that half of a dual instruction always has."""
    cdef const char *begin
    put_comma(t)
    begin = t.p
    put_hex(t, d.literal)
    if t.values != NULL:
        note_operand(t, value_plain_literal, begin, NULL, 4)


cdef bint _fits_two_dwords(const Decoded *d, uint32_t level) noexcept nogil:
    """Whether assemblers would take two dwords for what these three say."""
    cdef Decoded e = d[0]
    cdef uint32_t second = modifier_vopd_opcode_y(d.modifiers)
    cdef uint32_t words[8]
    if modifier_neg(d.modifiers) or modifier_neg_hi(d.modifiers) or d.source[2] != register_none or d.source[5] != register_none \
            or (level < gfx13 and d.opcode == op_v_dual_dot2acc_f32_bf16):
        return False
    e.format = format_vopd
    e.modifiers = modifier_set_vopd_opcode_y(0, second)
    e.source[2], e.source[3] = e.source[3], e.source[4]
    e.source_count = 4
    return encode(&e, level, words) > 0 and form_error(&e, level, False) == NULL


cdef void vopd3(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint32_t second = modifier_vopd_opcode_y(d.modifiers)
    if _fits_two_dwords(d, t.level):
        t.has_no_syntax = True
    _wide_half(t, d, d.opcode, 0, modifier_neg(d.modifiers))
    put_text(t, b" :: ")
    _wide_half(t, d, second, 1, modifier_neg_hi(d.modifiers))


cdef void _wide_half(Printer *t, const Decoded *d, uint32_t opcode, uint32_t half, uint32_t neg) noexcept nogil:
    """Half of a dual instruction of three dwords; `neg` has a bit for each of its sources."""
    cdef uint32_t i
    # a lane mask has no sign
    if (neg and not can_use_input_modifiers(opcode)) or (neg & 4 and opcode == op_v_dual_cndmask_b32):
        t.has_no_syntax = True
    put_opcode(t, opcode)
    put(t, c' ')
    put_destination(t, d, half)
    for i in range(3):
        if d.source[3 * half + i] != register_none:
            put_comma(t)
            put_modified(t, d, 3 * half + i, neg << (3 * half), 0)
        elif neg >> i & 1:
            t.has_no_syntax = True
    if opcode == op_v_dual_bitop2_b32 and d.immediate:
        put_text(t, b" bitop3:")
        put_hex(t, d.immediate)
