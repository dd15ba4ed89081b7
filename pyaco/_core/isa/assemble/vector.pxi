# Vector ALU (VOP1, VOP2, VOPC, VOP3, VOP3P), text to `Decoded`.
cdef uint32_t _lanes_format(Job *j) noexcept nogil:
    if j.suffix == suffix_e32 or j.suffix == suffix_e64:
        return 0
    if given(j, given_dpp8):
        return format_dpp8
    if given(j, given_quad_perm) or given(j, given_dpp_ctrl):
        return format_dpp16
    if j.suffix == suffix_dpp or j.suffix == suffix_e64_dpp:
        fail_plain(&j.c, j.s.mnemonic, b"this encoding needs dpp8, quad_perm or another lane control")
    return 0


cdef int encode_job(Job *j) noexcept nogil:
    """Words of the instruction; 0 and an error if there are none."""
    cdef int length = encode(&j.d, j.c.level, j.words)
    cdef const char *error
    if length > 0 and not scalar_reads_fit(&j.d, j.c.level):
        length = encode_bad_bus
    if length < 0:
        error = encode_error(length)
    else:
        error = form_error(&j.d, j.c.level, j.c.level >= gfx11)
    if error != NULL:
        fail_plain(&j.c, j.s.mnemonic, error)
        return 0
    return length


cdef void clear_instruction(Job *j, uint16_t opcode, uint32_t format) noexcept nogil:
    j.d.opcode = opcode
    j.d.format = <uint16_t>format
    j.d.source_count = 0
    j.d.destination_count = 0
    j.d.has_literal = 0
    j.d.literal = 0
    j.d.immediate = 0
    j.d.modifiers = 0
    j.literal_expression = NULL
    j.branch_expression = NULL


cdef bint _selects_parts(const Job *j) noexcept nogil:
    """Whether the modifiers are those of SDWA."""
    cdef uint32_t i
    if given(j, given_src0_sel) or given(j, given_src1_sel) or given(j, given_dst_sel) or given(j, given_dst_unused):
        return True
    for i in range(j.s.count):
        if j.s.operands[i].sign_extended:
            return True
    return False


cdef int vop(Job *j, uint16_t op) noexcept nogil:
    """Words of a vector instruction in the first form that can hold it."""
    cdef uint32_t short_format = j.short_formats[op]
    cdef uint32_t lanes = _lanes_format(j)
    cdef uint32_t forms[2]
    cdef uint32_t count = 0
    cdef uint32_t i
    cdef int length
    if j.c.failed:
        return 0
    if j.suffix == suffix_sdwa or (j.suffix == 0 and _selects_parts(j)):
        if short_format:
            forms[count] = short_format | format_sdwa
            count += 1
    else:
        if short_format and (j.suffix == 0 or j.suffix == suffix_e32 or j.suffix == suffix_dpp):
            forms[count] = short_format | lanes
            count += 1
        if (j.suffix == 0 or j.suffix == suffix_e64 or j.suffix == suffix_e64_dpp) and not opcode_flags[op] & opcode_flag_literal:
            forms[count] = (short_format | format_vop3 if short_format else opcode_format[op]) | lanes
            count += 1
    if count == 0:
        fail(&j.c, j.s.mnemonic, b"% has no such encoding", j.s.mnemonic, j.s.mnemonic + j.s.mnemonic_length)
        return 0
    for i in range(count):
        length = _vop_form(j, op, forms[i])
        if length:
            return length
    return _vop_of_numbers(j, op, short_format) if j.s.has_signs and forms[0] == short_format else 0


cdef int _vop_form(Job *j, uint16_t op, uint32_t format) noexcept nogil:
    """Words of a vector instruction in one form; 0 with an error."""
    j.c.failed = False
    clear_instruction(j, op, format)
    give_back(j)
    _vop_fields(j)
    if not j.c.failed:
        finish(j)
    return 0 if j.c.failed else encode_job(j)


cdef int _vop_of_numbers(Job *j, uint16_t op, uint32_t format) noexcept nogil:
    """Words of the short form, whose constants have the signs that are written of them; 0, with the error that there was, if that cannot be."""
    cdef Cursor before = j.c
    cdef uint32_t definitions = 0 if j.facts[op] & fact_cmpx and j.c.level >= gfx10 else opcode_definition_count[op]
    cdef uint32_t i
    cdef int length = 0
    cdef bint good = definitions + opcode_operand_count[op] >= j.s.count and not opcode_flags[op] & opcode_flag_literal
    clear_instruction(j, op, format)
    for i in range(j.s.count):
        if good and (j.s.operands[i].negative or j.s.operands[i].magnitude):
            good = i >= definitions and _take_sign(j, &j.s.operands[i], i - definitions)
    if good:
        length = _vop_form(j, op, format)
    if length == 0:
        j.c = before
    return length


cdef bint _take_sign(Job *j, Operand *o, uint32_t position) noexcept nogil:
    """Make the sign and magnitude of a floating-point constant part of its value; returns whether that can be done."""
    cdef uint32_t bits = constant_bits(j, operand_class(j, position))
    cdef uint32_t modifiers = isa_variant(j.c.level, j.d.opcode, variant_e64)
    cdef int64_t sign = <int64_t>1 << (bits - 1)
    if (o.negative and not modifiers >> position & 1) or (o.magnitude and not modifiers >> (position + 3) & 1):
        return False
    if o.kind == operand_float:
        o.number = -fabs(o.number) if o.magnitude and o.negative else fabs(o.number) if o.magnitude else -o.number
    elif o.kind == operand_integer and bits < 64 and (0 if o.is_literal else 65) <= o.integer < 2 * sign:
        # the bits of a number, and not an inline constant
        o.integer = (o.integer & ~sign if o.magnitude else o.integer) ^ (sign if o.negative else 0)
    else:
        return False
    o.negative = o.magnitude = False
    return True


cdef uint32_t _implied_masks(const Job *j, uint32_t definitions, uint32_t operands) noexcept nogil:
    """How many lane masks text may leave out, all of them at once: those that are vcc because a short encoding has no field for them."""
    cdef uint32_t format = j.d.format
    cdef bint plain = format & (format_sdwa | format_dpp16 | format_dpp8) == 0
    if format & format_vop3:
        return 0
    if format & format_vopc:
        return definitions if plain or (j.c.level >= gfx11 and not format & format_sdwa) else 0
    if operands < 3 or operand_class(j, 2) != opcode_mask_class or (j.c.level < gfx10 and (definitions > 1 or not plain)):
        return 0
    return definitions


cdef void _vop_fields(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef uint32_t facts = j.facts[op]
    cdef uint32_t flags = opcode_flags[op]
    cdef uint32_t format = j.d.format
    cdef uint32_t definitions = opcode_definition_count[op]
    cdef uint32_t operands = opcode_operand_count[op]
    cdef uint32_t neg = 0, magnitude = 0, opsel = 0
    cdef uint32_t i, position, masks
    cdef uint16_t where
    cdef uint8_t kind
    cdef Operand *o
    if facts & fact_cmpx and j.c.level >= gfx10:
        definitions = 0
        add_destination(j, register_exec)
    if flags & opcode_flag_tied or facts & fact_swaps:
        operands -= 1
    if facts & fact_swaps:
        definitions = 1
    masks = _implied_masks(j, definitions, operands)
    if j.s.count != definitions + operands - masks:
        masks = 0
    if not expect_count(j, definitions + operands - masks):
        return
    if masks and format & format_vopc:
        definitions = 0
        add_destination(j, register_vcc)
    elif masks:
        definitions = 1
        operands = 2
    opsel = _destination_fields(j, definitions)
    for i in range(operands):
        position = 3 - i if facts & fact_multiply_constant and i else i
        o = &j.s.operands[definitions + position]
        kind = operand_class(j, i)
        if o.kind != operand_register and (op == op_v_readfirstlane_b32 or (format & format_vop3 and class_is_vgpr(kind)
                                                                            and class_dwords_of(j, kind) > 2)):
            fail_plain(&j.c, o.begin, b"a vector register is expected")
        if flags & opcode_flag_literal and i == 2:
            add_source(j, literal_operand(j, o, constant_bits(j, kind)), class_dwords_of(j, kind))
            continue
        where = address(j, o, kind)
        if o.half == 1:
            where += 2
            opsel |= 1U << i
        _check_source(j, o, kind, i, where)
        neg |= negation(j, o) << i
        magnitude |= magnitude_of(j, o) << i
        if extension(j, o):
            if not format & format_sdwa or i > 1:
                fail_plain(&j.c, o.begin, b"sext is an SDWA modifier")
            if i == 0:
                j.d.modifiers = modifier_set_sdwa_sel0(j.d.modifiers, 0x10)
            else:
                j.d.modifiers = modifier_set_sdwa_sel1(j.d.modifiers, 0x10)
        add_class_source(j, where, kind)
    if masks and not format & format_vopc:
        add_class_source(j, register_vcc, opcode_mask_class)
        if masks > 1:
            add_destination(j, register_vcc)
    if (neg or magnitude) and not format & (format_vop3 | format_sdwa | format_dpp16):
        fail_plain(&j.c, j.s.mnemonic, b"source modifiers need VOP3, SDWA or DPP")
    if flags & opcode_flag_tied or facts & fact_swaps:
        add_source(j, j.d.destination[0], 1)
    if facts & fact_swaps:
        add_destination(j, j.d.source[0])
    j.d.modifiers = modifier_set_neg(j.d.modifiers, neg)
    j.d.modifiers = modifier_set_abs(j.d.modifiers, magnitude)
    vop_modifiers(j, opsel, operands)


cdef uint32_t _destination_fields(Job *j, uint32_t definitions) noexcept nogil:
    """Fill the destinations; returns the op_sel bit of a high half."""
    cdef uint32_t opsel = 0
    cdef uint32_t format = j.d.format
    cdef uint32_t i
    cdef uint16_t where
    cdef uint8_t kind
    cdef Operand *o
    for i in range(definitions):
        o = &j.s.operands[i]
        kind = definition_class(j, i)
        if o.kind != operand_register:
            fail(&j.c, o.begin, b"% is not a register", o.begin, o.end)
            return 0
        where = address(j, o, kind)
        if (where >= register_vgpr0) != (kind != opcode_mask_class and class_is_vgpr(kind)):
            fail(&j.c, o.begin, b"% is the wrong kind of register for a result", o.begin, o.end)
        if kind == opcode_mask_class and where != register_vcc and not format & format_vop3 \
                and not (format & format_sdwa and format & format_vopc and j.c.level >= gfx9):
            fail(&j.c, o.begin, b"%: this encoding writes vcc", o.begin, o.end)
        if o.half == 1 and i == 0:
            where += 2 if kind == class_v2b else 0
            opsel |= 8
        add_destination(j, where)
    return opsel


cdef void _check_source(Job *j, const Operand *o, uint8_t kind, uint32_t position, uint16_t where) noexcept nogil:
    """Rules of the one-dword encodings that the encoder cannot see."""
    if j.d.format & format_vop3 or not j.d.format & valu_one_dword:
        return
    if kind == opcode_mask_class:
        if where != register_vcc:
            fail_plain(&j.c, o.begin, b"this encoding reads vcc")
    elif position == 1 and where < register_vgpr0 and not j.d.format & format_sdwa and class_is_vgpr(kind):
        fail_plain(&j.c, o.begin, b"the second source of this encoding is a VGPR")


cdef uint64_t _output_modifiers(Job *j, uint64_t m) noexcept nogil:
    """The modifiers with clamp, mul and div."""
    cdef int64_t factor
    cdef uint32_t i
    if given(j, given_clamp) and not form_has_clamp(&j.d, j.c.level):
        fail_plain(&j.c, j.s.positions[given_clamp], b"this encoding has no clamp")
    if given(j, given_mul) or given(j, given_div):
        i = given_mul if given(j, given_mul) else given_div
        if not form_has_omod(&j.d, j.c.level):
            fail_plain(&j.c, j.s.positions[i], b"this encoding has no output modifier")
    if given(j, given_mul) and given(j, given_div):
        fail_plain(&j.c, j.s.positions[given_div], b"there is one output modifier, mul or div")
    if flag(j, given_clamp):
        m = modifier_set_clamp(m, 1)
    if given(j, given_mul):
        factor = taken(j, given_mul, 0)
        if factor != 2 and factor != 4 and factor != 1:
            fail_plain(&j.c, j.s.positions[given_mul], b"output modifiers are mul:2, mul:4 and div:2")
        m = modifier_set_omod(m, <uint64_t>(factor >> 1) & 3)
    if given(j, given_div):
        factor = taken(j, given_div, 0)
        if factor != 2 and factor != 1:
            fail_plain(&j.c, j.s.positions[given_div], b"output modifiers are mul:2, mul:4 and div:2")
        m = modifier_set_omod(m, 3 if factor == 2 else 0)
    return m


cdef inline uint32_t _halves_count(const Job *j, uint32_t operands) noexcept nogil:
    """Bits that op_sel may have."""
    if j.facts[j.d.opcode] & fact_writes_byte:
        return 4
    return operands + (opcode_definition_count[j.d.opcode] != 0 and definition_class(j, 0) != opcode_mask_class)


cdef void check_halves(Job *j, uint32_t opsel, uint32_t operands) noexcept nogil:
    """Whether `opsel`, as op_sel gives it, says of each half that has a name what the name says."""
    cdef uint32_t definitions = j.s.count - operands
    cdef uint32_t i, bit
    for i in range(j.s.count):
        bit = 3 if i < definitions else i - definitions
        if j.s.operands[i].half >= 0 and <int>(opsel >> bit & 1) != j.s.operands[i].half:
            fail(&j.c, j.s.positions[given_op_sel], b"op_sel and % name different halves", j.s.operands[i].begin, j.s.operands[i].end)


cdef uint32_t _given_halves(Job *j, uint32_t operands) noexcept nogil:
    """The op_sel bits that modifiers give."""
    cdef uint32_t opsel = 0
    cdef uint32_t bits, count
    if given(j, given_op_sel):
        bits = <uint32_t>taken(j, given_op_sel, 0)
        count = bits >> 8
        bits &= 0xff
        if not j.d.format & format_vop3:
            fail_plain(&j.c, j.s.positions[given_op_sel], b"op_sel needs VOP3")
        if j.facts[j.d.opcode] & fact_opsel_lanes and bits > 3:
            fail_plain(&j.c, j.s.positions[given_op_sel], b"op_sel has two bits here, fi and bound_ctrl")
        if opcode_flags[j.d.opcode] & opcode_flag_tied and count == operands + 2:
            # behind the bits of the sources, one for the source that is the result
            bits = bits & ((1U << operands) - 1) | bits >> (operands + 1) << operands
            count -= 1
        if bits >> _halves_count(j, operands) and not opcode_flags[j.d.opcode] & opcode_flag_interpolation:
            fail_plain(&j.c, j.s.positions[given_op_sel], b"op_sel has a bit for which there is no operand")
        # behind the bits of the sources comes that of the result
        if opcode_flags[j.d.opcode] & opcode_flag_interpolation or (j.c.level < gfx10 and j.facts[j.d.opcode] & fact_writes_byte):
            opsel |= bits
        elif count > operands and opcode_definition_count[j.d.opcode]:
            opsel |= bits & ((1U << operands) - 1) | (bits >> operands & 1) << 3
        else:
            opsel |= bits
        check_halves(j, opsel, operands)
    if given(j, given_byte_sel):
        opsel |= _byte_selection(j)
    if selects_scale(j.d.opcode) and given(j, given_scale_sel):
        opsel |= <uint32_t>ranged(j, given_scale_sel, 0, 15, 0)
    return opsel


cdef void vop_modifiers(Job *j, uint32_t opsel, uint32_t operands) noexcept nogil:
    cdef uint64_t m = j.d.modifiers
    cdef uint32_t bits
    if j.s.given:
        m = _output_modifiers(j, m)
        opsel |= _given_halves(j, operands)
    m = modifier_set_opsel(m, opsel)
    if j.d.opcode == op_v_bitop3_b32 or j.d.opcode == op_v_bitop3_b16 or j.d.opcode == op_v_bitop3_b16_true16:
        # the truth table lies where other instructions have neg, abs and omod
        if modifier_neg(m) or modifier_abs(m) or modifier_omod(m):
            fail_plain(&j.c, j.s.mnemonic, b"this instruction takes no sign and no output modifiers")
        bits = <uint32_t>ranged(j, given_bitop3, 0, 255, 0)
        m = modifier_set_omod(modifier_set_abs(modifier_set_neg(m, bits & 7), bits >> 3 & 7), bits >> 6)
    elif (j.d.opcode == op_v_permlane16_swap_b32 or j.d.opcode == op_v_permlane32_swap_b32) and j.d.format & format_vop3:
        bits = <uint32_t>ranged(j, given_fi, 0, 1, 0) | <uint32_t>ranged(j, given_bound_ctrl, 0, 1, 0) << 1
        # as in lane control, bound_ctrl:0 is an old spelling of 1
        bits |= 2 if given(j, given_bound_ctrl) and j.c.level < gfx11 else 0
        m = modifier_set_opsel(m, bits)
    j.d.modifiers = m
    if j.d.format & format_sdwa:
        _sdwa(j)
    _lanes(j)


cdef uint32_t _byte_selection(Job *j) noexcept nogil:
    """``byte_sel`` of conversions from and to 8-bit floats on GFX12: op_sel bits 1 and 0, or 2 and 3 where it is the result's."""
    cdef uint32_t byte = <uint32_t>ranged(j, given_byte_sel, 0, 3, 0)
    if not j.facts[j.d.opcode] & fact_opsel_other or not j.d.format & format_vop3 or j.c.level < gfx11_7:
        fail_plain(&j.c, j.s.positions[given_byte_sel], b"this instruction has no modifier byte_sel here")
    if opcode_operand_count[j.d.opcode] > 1:
        return byte << 2
    return byte >> 1 | (byte & 1) << 1


cdef inline bint _converts_byte(uint32_t opcode) noexcept nogil:
    """These have no selection of the result, which they write whole."""
    return (opcode == op_v_cvt_f32_fp8 or opcode == op_v_cvt_f32_bf8 or opcode == op_v_cvt_pk_f32_fp8
            or opcode == op_v_cvt_pk_f32_bf8)


cdef void _sdwa(Job *j) noexcept nogil:
    cdef uint64_t m = j.d.modifiers
    cdef uint32_t dst = <uint32_t>taken(j, given_dst_sel, 2)
    cdef int64_t unused
    m = modifier_set_sdwa_sel0(m, modifier_sdwa_sel0(m) & 0x10 | <uint64_t>taken(j, given_src0_sel, 2))
    if j.d.format & format_vop1 and given(j, given_src1_sel):
        fail_plain(&j.c, j.s.positions[given_src1_sel], b"there is no second source")
    if (j.d.format & format_vopc or j.d.destination_count == 0) and (given(j, given_dst_sel) or given(j, given_dst_unused)):
        fail_plain(&j.c, j.s.mnemonic, b"this instruction has no result whose part could be selected")
    m = modifier_set_sdwa_sel1(m, modifier_sdwa_sel1(m) & 0x10 | <uint64_t>taken(j, given_src1_sel, 2))
    # what is not written stays as it is unless text says otherwise
    unused = taken(j, given_dst_unused, 0 if _converts_byte(j.d.opcode) else 2)
    if unused == 2:
        dst |= 0x10
    m = modifier_set_sdwa_dst_sext(m, unused == 1)
    if j.d.format & format_vopc or j.d.destination_count == 0:
        dst = 0
    if j.d.format & format_vop1:
        m = modifier_set_sdwa_sel1(m, 0)
    if opcode_operand_count[j.d.opcode] == 0:
        # v_nop; LLVM takes a selection of what it does not have, and loses it
        if given(j, given_src0_sel):
            fail_plain(&j.c, j.s.positions[given_src0_sel], b"there is no source")
        m = 0
    j.d.modifiers = modifier_set_sdwa_dst_sel(m, dst)


cdef void _lanes(Job *j) noexcept nogil:
    cdef uint64_t m = j.d.modifiers
    if j.d.format & format_dpp8:
        m = modifier_set_dpp8_lane_sel(m, <uint64_t>taken(j, given_dpp8, 0))
        m = modifier_set_dpp8_fetch_inactive(m, <uint64_t>ranged(j, given_fi, 0, 1, 0))
    elif j.d.format & format_dpp16:
        # without a control all lanes stay where they are
        m = modifier_set_dpp_ctrl(m, <uint64_t>(taken(j, given_dpp_ctrl, 0) if given(j, given_dpp_ctrl)
                                                else taken(j, given_quad_perm, 0xe4)))
        m = modifier_set_dpp_row_mask(m, <uint64_t>ranged(j, given_row_mask, 0, 15, 15))
        m = modifier_set_dpp_bank_mask(m, <uint64_t>ranged(j, given_bank_mask, 0, 15, 15))
        # bound_ctrl:0 is an old spelling of 1
        if ranged(j, given_bound_ctrl, 0, 1, 0) or (given(j, given_bound_ctrl) and j.c.level < gfx11):
            m = modifier_set_dpp_bound_ctrl(m, 1)
        m = modifier_set_dpp_fetch_inactive(m, <uint64_t>ranged(j, given_fi, 0, 1, 0))
    j.d.modifiers = m


cdef void vop3p(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef bint tied = (opcode_flags[op] & opcode_flag_tied) != 0
    cdef uint32_t operands = opcode_operand_count[op] - tied
    cdef bint mixes = (j.facts[op] & fact_mixes) != 0
    cdef uint32_t neg = 0, high = 0, default, bits, i
    cdef uint64_t m
    cdef Operand *o
    cdef uint32_t definitions = opcode_definition_count[op]
    if opcode_flags[op] & opcode_flag_matrix:
        matrix(j)
        return
    if j.facts[op] & fact_wave_matrix and j.c.level >= gfx12_5:
        wave_matrix(j)
        return
    if not expect_count(j, definitions + operands):
        return
    j.d.format |= _lanes_format(j)
    if definitions:
        o = &j.s.operands[0]
        add_destination(j, register_of(j, o, wave_dwords(j.facts[op], j.c.level, j.c.wave_dwords, 3, class_dwords_of(j, definition_class(j, 0)))))
    for i in range(operands):
        o = &j.s.operands[definitions + i]
        if j.facts[op] & fact_wave_matrix and o.kind == operand_register:
            add_class_source(j, register_of(j, o, wave_dwords(j.facts[op], j.c.level, j.c.wave_dwords, i, class_dwords_of(j, operand_class(j, i)))),
                             operand_class(j, i))
        else:
            add_class_source(j, address(j, o, operand_class(j, i)), operand_class(j, i))
        if mixes:
            neg |= negation(j, o) << i
            high |= magnitude_of(j, o) << i
    if tied:
        add_class_source(j, j.d.destination[0], definition_class(j, 0))
    if not mixes:
        neg, high = bit_list(j, given_neg_lo, 3 if j.signed_alias else 0), bit_list(j, given_neg_hi, 0)
    m = modifier_set_neg(j.d.modifiers, neg)
    m = modifier_set_neg_hi(m, high)
    if j.facts[op] & fact_wave_matrix and j.c.level >= gfx11_7 and (given(j, given_op_sel) or given(j, given_op_sel_hi)):
        # bits of it are index_key
        fail_plain(&j.c, j.s.mnemonic, b"matrix operations take no op_sel on this target")
    if given(j, given_index_key) and j.facts[op] & fact_wave_matrix:
        m = modifier_set_opsel(m, <uint64_t>ranged(j, given_index_key, 0, index_limit(op, j.c.wave_dwords), 0))
    else:
        m = modifier_set_opsel(m, bit_list(j, given_op_sel, 0))
    default = 0 if mixes else (1U << operands) - 1
    bits = bit_list(j, given_op_sel_hi, default)
    if not mixes:
        bits |= 7 & ~((1U << operands) - 1)
    m = modifier_set_opsel_hi(m, bits)
    m = modifier_set_clamp(m, flag(j, given_clamp))
    j.d.modifiers = m
    _lanes(j)
