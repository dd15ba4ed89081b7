# Matrix operations of CDNA and dual instructions, text to `Decoded`.
# ------------------------------------------------------------------------------------------------ matrix operations of CDNA
cdef uint32_t _element_dwords(uint32_t type_code) noexcept nogil:
    """Registers of A or B of f8f6f4: elements of 8 (0, 1), 6 (2, 3) or 4 bits (4)."""
    if type_code == 2 or type_code == 3:
        return 6
    return 4 if type_code == 4 else 8


cdef void matrix(Job *j) noexcept nogil:
    """D, A, B, C (of sparse operations an index), and the scales of scaled ones."""
    cdef uint32_t op = j.d.opcode
    cdef uint32_t operands = opcode_operand_count[op]
    cdef bint sparse = (opcode_flags[op] & opcode_flag_tied) != 0
    cdef bint scaled = operands == 5
    cdef bint typed = (j.facts[op] & fact_typed_matrix) != 0
    cdef uint32_t i, dwords
    cdef uint32_t types[2]
    cdef uint64_t m = 0
    cdef Operand *o
    if sparse:
        operands -= 1
    if not expect_count(j, 1 + operands):
        return
    types[0] = <uint32_t>ranged(j, given_cbsz, 0, 7, 0)
    types[1] = <uint32_t>ranged(j, given_blgp, 0, 7, 0)
    m = modifier_set_blgp(modifier_set_cbsz(m, types[0]), types[1])
    if not typed:
        m = modifier_set_abid(m, <uint64_t>ranged(j, given_abid, 0, 15, 0))
    if given(j, given_neg) and j.facts[op] & fact_double_matrix:
        m = modifier_set_blgp(m, bit_list(j, given_neg, 0) & 7)
    if scaled:
        m = modifier_set_opsel(m, bit_list(j, given_op_sel, 0) & 3)
        m = modifier_set_opsel_hi(m, bit_list(j, given_op_sel_hi, 0) & 3)
    j.d.modifiers = m
    dwords = class_dwords_of(j, definition_class(j, 0))
    add_destination(j, register_of(j, &j.s.operands[0], dwords))
    for i in range(2):
        dwords = _element_dwords(types[i]) if typed else class_dwords_of(j, operand_class(j, i))
        add_source(j, register_of(j, &j.s.operands[1 + i], dwords), dwords)
    o = &j.s.operands[3]
    if not operand_integer <= o.kind <= operand_symbol:
        dwords = class_dwords_of(j, operand_class(j, 2))
        add_source(j, register_of(j, o, dwords), dwords)
    else:
        add_source(j, constant(j, o, 64 if j.facts[op] & fact_double_matrix else 32, True), 1)
        if j.d.has_literal:
            fail(&j.c, o.begin, b"% is no inline constant", o.begin, o.end)
    if sparse:
        add_source(j, j.d.destination[0], 1)
    for i in range(3, operands):
        add_source(j, vector_register(j, &j.s.operands[1 + i], 1), 1)


# --------------------------------------------------------------------------------------------- wave matrix operations of GFX12.5
cdef uint64_t _wave_scales(Job *j) noexcept nogil:
    """The modifiers of scales."""
    cdef int64_t rows = ranged(j, given_matrix_a_scale, 0, 1, 0) | ranged(j, given_matrix_b_scale, 0, 1, 0) << 1
    cdef uint64_t m = modifier_set_matrix_scales(0, <uint64_t>rows)
    m = modifier_set_matrix_scale_a(m, <uint64_t>ranged(j, given_matrix_a_scale_fmt, 0, 2, 0))
    m = modifier_set_matrix_scale_b(m, <uint64_t>ranged(j, given_matrix_b_scale_fmt, 0, 2, 0))
    return modifier_set_matrix_scale_reuse(m, flag(j, given_matrix_a_reuse) | <uint64_t>flag(j, given_matrix_b_reuse) << 1)


cdef void wave_matrix(Job *j) noexcept nogil:
    """D, A, B, C or the index of a sparse operation, and the scales of A and B."""
    cdef uint32_t op = j.d.opcode
    cdef bint sparse = (opcode_flags[op] & opcode_flag_tied) != 0
    cdef bint typed = chooses_element_type(op)
    cdef uint32_t definitions = opcode_definition_count[op]
    cdef uint32_t operands = opcode_operand_count[op] - sparse
    cdef bint scaled = operands == 5 or operands == 2
    cdef uint32_t low = 0, high = 3, i, dwords
    cdef uint64_t m = 0
    cdef Operand *o
    if not expect_count(j, definitions + operands):
        return
    if definitions:
        add_destination(j, register_of(j, &j.s.operands[0], class_dwords_of(j, definition_class(j, 0))))
    if typed:
        low = <uint32_t>ranged(j, given_matrix_a_fmt, 0, 4, 0)
        high = <uint32_t>ranged(j, given_matrix_b_fmt, 0, 4, 0)
    elif operands == 5 or not reads_again(op):
        # these bits are set where nothing is read again
        high = 7
    if scaled:
        m = _wave_scales(j)
    elif not typed:
        low = <uint32_t>ranged(j, given_index_key, 0, index_limit(op, 1), 0) if sparse else 0
        if reads_again(op):
            low |= <uint32_t>flag(j, given_matrix_a_reuse) << 2
            high |= <uint32_t>flag(j, given_matrix_b_reuse) << 2
    m = modifier_set_opsel_hi(modifier_set_opsel(m, low), high)
    j.d.modifiers = m
    for i in range(operands):
        o = &j.s.operands[definitions + i]
        if o.kind == operand_register:
            dwords = class_dwords_of(j, operand_class(j, i))
            add_source(j, register_of(j, o, wave_matrix_bytes(&j.d, i, <uint8_t>(4 * dwords)) >> 2), dwords)
        else:
            add_class_source(j, address(j, o, operand_class(j, i)), operand_class(j, i))
    if sparse:
        add_class_source(j, j.d.destination[0], definition_class(j, 0))
    m = modifier_set_neg(m, bit_list(j, given_neg_lo, 0) & 7)
    m = modifier_set_neg_hi(m, bit_list(j, given_neg_hi, 0) & 7)
    j.d.modifiers = modifier_set_clamp(m, flag(j, given_clamp))


# ------------------------------------------------------------------------------------------------------------------- VOPD
cdef void _vopd_half(Job *j, uint16_t opcode, Statement *s) noexcept nogil:
    cdef bint multiply = opcode == op_v_dual_fmamk_f32
    cdef bint literal = multiply or opcode == op_v_dual_fmaak_f32
    cdef uint32_t sources = 1 if opcode == op_v_dual_mov_b32 else 3 if literal else 2
    cdef uint32_t count = s.count
    cdef char text[64]
    j.d.opcode = opcode
    if opcode == op_v_dual_cndmask_b32 and count == 4 and s.operands[3].address == register_vcc and j.c.level < gfx12_5:
        count = 3
    if count != 1 + sources:
        snprintf(text, 64, b"%% takes %u operands, not %u", 1 + sources, count)
        fail(&j.c, s.mnemonic, text, s.mnemonic, s.mnemonic + s.mnemonic_length)
        return
    add_destination(j, vector_register(j, &s.operands[0], 1))
    add_source(j, _dual_source(j, &s.operands[1]), 1)
    if literal:
        literal_operand(j, &s.operands[2 if multiply else 3], 32)
    add_source(j, _dual_source(j, &s.operands[3 if multiply else 2]) if sources > 1 else <uint16_t>register_none, 1)
    if s.given:
        fail_plain(&j.c, s.mnemonic, b"halves of dual instructions take no modifiers")
    check_signs(j, s)


cdef uint16_t _dual_source(Job *j, const Operand *o) noexcept nogil:
    if operand_integer <= o.kind <= operand_symbol:
        return constant(j, o, 16 if j.facts[j.d.opcode] & (fact_packed | fact_bfloat) else 32, True)
    return register_of(j, o, 1)


cdef void parse_second(Job *j) noexcept nogil:
    """The second half of a dual instruction, behind ``::``."""
    cdef Cursor *c = &j.c
    if c.wave_dwords != 1:
        fail_plain(c, j.s.mnemonic, b"dual instructions need wave32")
        return
    c.p += 2
    skip_blanks(c)
    if at_line_end(c):
        fail_plain(c, c.p, b"the second half is missing")
        return
    j.second.mnemonic = c.p
    c.p = word_end(c.p)
    j.second.mnemonic_length = <uint32_t>(c.p - j.second.mnemonic)
    parse_statement(c, &j.second)


cdef int vopd(Job *j, uint16_t first) noexcept nogil:
    """Words of a dual instruction; its halves are the job's statements."""
    cdef Cursor *c = &j.c
    cdef int32_t found = find_name(c.names, domain_mnemonic, j.second.mnemonic, j.second.mnemonic_length)
    cdef uint16_t second = <uint16_t>(found & 0xffff)
    cdef int length
    if found < 0 or opcode_format[first] != format_vopd or opcode_format[second] != format_vopd \
            or (opcode_number_y[second] < 0 and j.c.level < gfx12_5):
        fail_plain(c, j.second.mnemonic if found < 0 else j.s.mnemonic, b"only v_dual_* instructions go in pairs")
        return 0
    length = _short_dual(j, first, second)
    if c.failed and c.level >= gfx12_5 and opcode_number_wide[first] >= 0 and opcode_number_wide[second] >= 0:
        # what two dwords cannot say
        c.failed = False
        length = _wide_dual(j, first, second)
    return length


cdef int _short_dual(Job *j, uint16_t first, uint16_t second) noexcept nogil:
    """Words of two dwords, and a literal."""
    clear_instruction(j, first, format_vopd)
    if isa_opcode_number(j.c.level, first, format_vopd) < 0 or not second_halves(j, second) \
            or (gfx12_5 <= j.c.level < gfx13 and first == op_v_dual_dot2acc_f32_bf16):
        fail(&j.c, j.s.mnemonic, b"% does not go in this half", j.s.mnemonic, j.s.mnemonic + j.s.mnemonic_length)
        return 0
    j.d.modifiers = modifier_set_vopd_opcode_y(0, second)
    _vopd_half(j, first, &j.s)
    if not j.c.failed:
        _vopd_half(j, second, &j.second)
    j.d.opcode = first
    return 0 if j.c.failed else encode_job(j)


cdef inline bint second_halves(const Job *j, uint16_t opcode) noexcept nogil:
    """Whether an opcode goes in the second half of two dwords."""
    return opcode_number_y[opcode] >= 0 and (opcode != op_v_dual_and_b32 or j.c.level < gfx12_5)


# ------------------------------------------------------------------------------------------------------------------ VOPD3
cdef uint32_t _wide_half(Job *j, uint16_t opcode, Statement *s) noexcept nogil:
    """One half of a dual instruction of three dwords; returns the bits of its negated sources."""
    cdef uint32_t sources = opcode_operand_count[opcode] - adds_to_result(opcode)
    cdef uint32_t neg = 0, i, dwords
    cdef char text[64]
    cdef Operand *o
    j.d.opcode = opcode
    s.negations_taken = 0
    s.taken = 0
    if opcode == op_v_dual_cndmask_b32:
        sources = 3
    if s.count != 1 + sources:
        snprintf(text, 64, b"%% takes %u operands, not %u", 1 + sources, s.count)
        fail(&j.c, s.mnemonic, text, s.mnemonic, s.mnemonic + s.mnemonic_length)
        return 0
    add_destination(j, vector_register(j, &s.operands[0], class_dwords_of(j, definition_class(j, 0))))
    for i in range(3):
        o = &s.operands[1 + i]
        if i >= sources:
            add_source(j, register_none, 1)
            continue
        dwords = 1 if i == 2 and opcode == op_v_dual_cndmask_b32 else class_dwords_of(j, operand_class(j, i))
        if o.negative and can_use_input_modifiers(opcode) and not (i == 2 and opcode == op_v_dual_cndmask_b32):
            neg |= 1U << i
            s.negations_taken |= 2U << i
        if i == 0 and operand_integer <= o.kind <= operand_symbol:
            add_source(j, constant(j, o, 16 if j.facts[opcode] & (fact_packed | fact_bfloat) else 32 * dwords, True), dwords)
        elif i == 0 or dwords == 1 and i == 2 and opcode == op_v_dual_cndmask_b32:
            add_source(j, register_of(j, o, dwords), dwords)
        else:
            add_source(j, vector_register(j, o, dwords), dwords)
    if opcode == op_v_dual_bitop2_b32 and s.given >> given_bitop3 & 1:
        if not 0 <= s.values[given_bitop3] <= 255:
            fail_plain(&j.c, s.positions[given_bitop3], b"a truth table is from 0 to 255")
        j.d.immediate = <uint32_t>s.values[given_bitop3] & 0xff
        s.taken |= <uint64_t>1 << given_bitop3
    if s.given & ~s.taken:
        fail_plain(&j.c, s.mnemonic, b"this half of a dual instruction does not take such a modifier")
    check_signs(j, s)
    return neg


cdef int _wide_dual(Job *j, uint16_t first, uint16_t second) noexcept nogil:
    """Words of three dwords."""
    cdef uint64_t m = modifier_set_vopd_opcode_y(0, second)
    clear_instruction(j, first, format_vopd | format_vop3)
    m = modifier_set_neg(m, _wide_half(j, first, &j.s))
    if not j.c.failed:
        m = modifier_set_neg_hi(m, _wide_half(j, second, &j.second))
    j.d.opcode = first
    j.d.modifiers = m
    return 0 if j.c.failed else encode_job(j)
