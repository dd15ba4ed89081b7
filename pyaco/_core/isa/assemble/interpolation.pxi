# Exports and interpolation, text to `Decoded`.
cdef void export(Job *j) noexcept nogil:
    cdef uint64_t m = 0
    cdef uint32_t mask = 0
    cdef uint32_t i
    cdef int32_t target
    cdef uint16_t values[4]
    cdef bint compressed
    cdef Operand *o = &j.s.operands[0]
    if not expect_count(j, 5):
        return
    target = find_name(j.c.names, domain_export, o.begin, <uint32_t>(o.end - o.begin))
    if target < 0:
        fail(&j.c, o.begin, b"no export target %", o.begin, o.end)
        return
    compressed = j.c.level < gfx11 and flag(j, given_compr)
    for i in range(4):
        o = &j.s.operands[1 + i]
        mask |= <uint32_t>(o.kind != operand_off) << i
        values[i] = <uint16_t>register_vgpr0 if o.kind == operand_off else vector_register(j, o, 1)
    if compressed:
        # two registers of packed halves, named twice in text; the first of each pair counts
        mask = 3 * (mask & 1) | 12 * (mask >> 2 & 1)
        values[1] = values[2]
        values[2] = register_vgpr0
        values[3] = register_vgpr0
    for i in range(4):
        add_source(j, values[i], 1)
    m = modifier_set_exp_target(m, target)
    m = modifier_set_exp_enabled_mask(m, mask)
    m = modifier_set_exp_compressed(m, compressed)
    m = modifier_set_exp_done(m, flag(j, given_done))
    if j.c.level < gfx11:
        m = modifier_set_exp_valid_mask(m, flag(j, given_vm))
    else:
        m = modifier_set_exp_row(m, flag(j, given_row_en))
    j.d.modifiers = m


cdef void _attribute(Job *j, const Operand *o) noexcept nogil:
    """An input attribute such as ``attr3.y``."""
    cdef const char *p = o.begin
    cdef uint32_t number = 0
    cdef uint32_t digits = 0
    cdef uint32_t channel = 0
    cdef const char *names = b"xyzw"
    cdef bint good = o.end - p > 4 and memcmp(p, b"attr", 4) == 0
    if good:
        p += 4
        while c'0' <= p[0] <= c'9' and digits < 3:
            number = number * 10 + <uint32_t>(p[0] - c'0')
            digits += 1
            p += 1
        good = digits > 0 and number <= 32 and p[0] == c'.' and o.end - p == 2
    if good:
        while channel < 4 and names[channel] != p[1]:
            channel += 1
    if not good or channel == 4:
        fail(&j.c, o.begin, b"% is not an attribute from attr0 to attr32", o.begin, o.end)
        return
    j.d.modifiers = modifier_set_ldsdir_attr(j.d.modifiers, number)
    j.d.modifiers = modifier_set_ldsdir_channel(j.d.modifiers, channel)


cdef void ldsdir(Job *j) noexcept nogil:
    cdef bint parameter = j.d.opcode == op_lds_param_load
    if not expect_count(j, 1 + parameter):
        return
    add_destination(j, vector_register(j, &j.s.operands[0], 1))
    if parameter:
        _attribute(j, &j.s.operands[1])
    if j.c.level >= gfx12:
        j.d.modifiers = modifier_set_wait_vdst(j.d.modifiers, <uint64_t>ranged(j, given_wait_va_vdst, 0, 15, 0))
        j.d.modifiers = modifier_set_wait_vsrc(j.d.modifiers, <uint64_t>ranged(j, given_wait_vm_vsrc, 0, 1, 0))
    else:
        j.d.modifiers = modifier_set_wait_vdst(j.d.modifiers, <uint64_t>ranged(j, given_wait_vdst, 0, 15, 0))


cdef void vintrp(Job *j) noexcept nogil:
    cdef Operand *o = &j.s.operands[1]
    if not expect_count(j, 3):
        return
    add_destination(j, vector_register(j, &j.s.operands[0], 1))
    if j.d.opcode == op_v_interp_mov_f32:
        j.d.immediate = _parameter(j, o)
    else:
        add_source(j, vector_register(j, o, 1), 1)
    _attribute(j, &j.s.operands[2])


cdef void vop3_interpolation(Job *j) noexcept nogil:
    """``v_interp_p2_f16 v5, v2, attr0.x, v3 high``: VOP3 with an attribute behind the first source."""
    cdef uint32_t sources = opcode_operand_count[j.d.opcode]
    cdef uint32_t neg = 0, magnitude = 0
    cdef uint32_t i
    cdef uint64_t m
    cdef Operand *o
    if not expect_count(j, 3 if j.d.opcode == op_v_interp_mov_f32 else 2 + sources):
        return
    add_destination(j, vector_register(j, &j.s.operands[0], class_dwords_of(j, definition_class(j, 0))))
    _attribute(j, &j.s.operands[2])
    if j.d.opcode == op_v_interp_mov_f32:
        j.d.immediate = _parameter(j, &j.s.operands[1])
    else:
        for i in range(sources):
            o = &j.s.operands[3 if i else 1]
            add_class_source(j, address(j, o, operand_class(j, i)), operand_class(j, i))
            neg |= negation(j, o) << i
            magnitude |= magnitude_of(j, o) << i
    m = modifier_set_interp_high(j.d.modifiers, flag(j, given_high))
    m = modifier_set_neg(m, neg)
    m = modifier_set_abs(m, magnitude)
    j.d.modifiers = m
    vop_modifiers(j, 0, sources)


cdef bint needs_vop3(const Job *j) noexcept nogil:
    """Whether an interpolation has what its short encoding lacks."""
    cdef uint32_t i
    if j.suffix == suffix_e32:
        return False
    if j.suffix == suffix_e64 or given(j, given_high) or given(j, given_clamp) or given(j, given_mul) or given(j, given_div):
        return True
    for i in range(j.s.count):
        if j.s.operands[i].negative or j.s.operands[i].magnitude:
            return True
    return False


cdef uint32_t _parameter(Job *j, const Operand *o) noexcept nogil:
    cdef int32_t number = find_name(j.c.names, domain_parameter, o.begin, <uint32_t>(o.end - o.begin))
    if number < 0:
        fail(&j.c, o.begin, b"% is not p10, p20 or p0", o.begin, o.end)
        return 0
    return <uint32_t>number


cdef void vinterp(Job *j) noexcept nogil:
    cdef uint32_t operands = opcode_operand_count[j.d.opcode]
    cdef uint32_t opsel, neg = 0
    cdef uint32_t i
    cdef uint16_t where
    cdef Operand *o
    if not expect_count(j, 1 + operands):
        return
    opsel = bit_list(j, given_op_sel, 0)
    if given(j, given_op_sel):
        check_halves(j, opsel, operands)
    for i in range(1 + operands):
        o = &j.s.operands[i]
        where = address(j, o, operand_class(j, i - 1) if i else definition_class(j, 0))
        if where < register_vgpr0:
            fail(&j.c, o.begin, b"% is not a VGPR", o.begin, o.end)
        if o.half == 1:
            where += 2
            opsel |= 1U << (i - 1) if i else 8
        if i:
            add_source(j, where, 1)
            neg |= negation(j, o) << (i - 1)
        else:
            add_destination(j, where)
    j.d.modifiers = modifier_set_neg(j.d.modifiers, neg)
    j.d.modifiers = modifier_set_opsel(j.d.modifiers, opsel)
    j.d.modifiers = modifier_set_clamp(j.d.modifiers, flag(j, given_clamp))
    j.d.modifiers = modifier_set_wait_exp(j.d.modifiers, <uint64_t>ranged(j, given_wait_exp, 0, 7, 0))
