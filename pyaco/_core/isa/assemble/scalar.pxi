# Scalar ALU, branches, messages and scalar memory, text to `Decoded`.
cdef void salu(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef uint32_t definitions = opcode_definition_count[op]
    cdef uint32_t operands = opcode_operand_count[op]
    cdef bint tied = (opcode_flags[op] & opcode_flag_tied) != 0
    cdef bint immediate = (j.facts[op] & fact_immediate) != 0
    cdef uint32_t i, position
    cdef Operand *o
    if tied:
        operands -= 1
    if not expect_count(j, definitions + operands + immediate):
        return
    for i in range(definitions):
        o = &j.s.operands[i]
        if o.kind != operand_register:
            fail(&j.c, o.begin, b"% is not a register", o.begin, o.end)
        add_destination(j, address(j, o, definition_class(j, i)))
    for i in range(operands):
        position = 3 - i if j.facts[op] & fact_multiply_constant and i else i
        o = &j.s.operands[definitions + position]
        if opcode_flags[op] & opcode_flag_literal and i == 2:
            add_source(j, literal_operand(j, o, 32), 1)
        else:
            add_class_source(j, address(j, o, operand_class(j, i)), operand_class(j, i))
    if tied:
        add_class_source(j, j.d.destination[0], definition_class(j, 0))
    if immediate:
        o = &j.s.operands[j.s.count - 1]
        j.d.immediate = _message(j, o) if j.facts[op] & fact_message else _index_mode(j, o)


cdef void sopk(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef uint32_t facts = j.facts[op]
    cdef Operand *first = &j.s.operands[0]
    cdef Operand *second = &j.s.operands[1]
    cdef uint16_t register
    if op == op_s_version:
        if expect_count(j, 1):
            j.d.immediate = <uint32_t>plain_number(j, first, 0, 0xffff)
        return
    if not expect_count(j, 2):
        return
    if facts & fact_setreg:
        first, second = second, first
    if op == op_s_setreg_imm32_b32:
        add_source(j, literal_operand(j, first, 32), 1)
    elif opcode_definition_count[op]:
        register = register_of(j, first, class_dwords_of(j, definition_class(j, 0)))
        add_destination(j, register)
        if opcode_flags[op] & opcode_flag_tied:
            add_source(j, register, first.dwords)
    else:
        add_source(j, register_of(j, first, class_dwords_of(j, operand_class(j, 0))), first.dwords)
    if facts & fact_waits_with_register and j.c.level >= gfx11 and first.address != register_null:
        fail(&j.c, first.begin, b"%: the register of a wait is null", first.begin, first.end)
    if facts & (fact_setreg | fact_getreg):
        j.d.immediate = _hardware_register(j, second)
    elif facts & fact_branch:
        _branch_target(j, second)
    else:
        j.d.immediate = <uint32_t>plain_number(j, second, 0 if _compares_unsigned(op) else -0x8000, 0xffff) & 0xffff


cdef inline bint _compares_unsigned(uint32_t op) noexcept nogil:
    return (op == op_s_cmpk_eq_u32 or op == op_s_cmpk_lg_u32 or op == op_s_cmpk_gt_u32 or op == op_s_cmpk_ge_u32
            or op == op_s_cmpk_lt_u32 or op == op_s_cmpk_le_u32)


cdef void sopp(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef Operand *o = &j.s.operands[0]
    if not j.facts[op] & fact_immediate or (j.s.count == 0 and j.facts[op] & fact_optional):
        expect_count(j, 0)
        return
    if not expect_count(j, 1):
        return
    if j.facts[op] & fact_branch:
        _branch_target(j, o)
    elif j.facts[op] & fact_message:
        j.d.immediate = _message(j, o)
    elif op == op_s_set_gpr_idx_mode:
        j.d.immediate = _index_mode(j, o)
    elif op == op_s_wait_event and _is_structure(o):
        j.d.immediate = _event(j, o)
    else:
        j.d.immediate = <uint32_t>plain_number(j, o, -0x8000, 0xffff) & 0xffff


cdef void _branch_target(Job *j, const Operand *o) noexcept nogil:
    """The 16-bit distance of a branch in dwords; that of a symbol is a fixup."""
    if (o.kind == operand_symbol and not o.is_literal) or (o.kind == operand_word and o.end > o.begin):
        j.branch_expression = o.begin
    else:
        j.d.immediate = <uint32_t>plain_number(j, o, -0x8000, 0xffff) & 0xffff


# Operands of SOPP that are lists of calls, such as ``vmcnt(0) & lgkmcnt(1)``: read from the cursor directly.
cdef bint is_call_list(Job *j, uint32_t op) noexcept nogil:
    cdef const char *p
    if op != op_s_waitcnt and op != op_s_delay_alu and op != op_s_waitcnt_depctr:
        return False
    p = word_end(j.c.p)
    while p[0] == c' ':
        p += 1
    return p[0] == c'('


cdef void call_list(Job *j) noexcept nogil:
    cdef Cursor *c = &j.c
    cdef const char *name
    cdef const char *end
    cdef uint32_t value = 0
    cdef uint32_t seen = 0
    cdef int32_t field
    cdef uint32_t op = j.d.opcode
    if op == op_s_waitcnt:
        value = waitcnt_none(c.level)
    elif op == op_s_waitcnt_depctr:
        value = depctr_none(c.level)
    while not at_line_end(c) and not c.failed:
        name = c.p
        end = word_end(name)
        if end == name:
            fail_plain(c, c.p, b"the name of a counter is expected")
            return
        c.p = end
        expect(c, c'(')
        if op == op_s_waitcnt:
            value = _wait_counter(j, name, end, value)
        elif op == op_s_delay_alu:
            value = _delay_part(j, name, end, value)
        else:
            field = find_name(c.names, domain_dependency, name, <uint32_t>(end - name))
            if field >= 0 and seen >> (field & 0x1f) & 1:
                fail(c, name, b"% is named twice", name, end)
            seen |= 1U << (field & 0x1f)
            value = _dependency(j, name, end, value)
        expect(c, c')')
        if c.p[0] == c'&' or c.p[0] == c'|' or c.p[0] == c',':
            c.p += 1
            skip_blanks(c)
            if at_line_end(c):
                fail_plain(c, c.p, b"the name of a counter is expected")
    j.d.immediate = value


cdef uint32_t _wait_counter(Job *j, const char *name, const char *end, uint32_t value) noexcept nogil:
    cdef bint saturates = end - name > 4 and memcmp(end - 4, b"_sat", 4) == 0
    cdef int32_t index = find_name(j.c.names, domain_wait, name, <uint32_t>(end - name) - (4 if saturates else 0))
    cdef const char *begin = j.c.p
    cdef int64_t count
    cdef uint32_t limit
    if index < 0:
        fail(&j.c, name, b"no counter %", name, end)
        return value
    count = number_expression(&j.c)
    limit = waitcnt_limit(j.c.level, <uint32_t>index)
    if saturates and count > limit:
        count = limit
    if not 0 <= count <= limit:
        fail_range(&j.c, begin, begin, j.c.p, 0, limit)
        return value
    return waitcnt_set(value, j.c.level, <uint32_t>index, <uint32_t>count)


cdef uint32_t _dependency(Job *j, const char *name, const char *end, uint32_t value) noexcept nogil:
    cdef int32_t counter = find_name(j.c.names, domain_dependency, name, <uint32_t>(end - name))
    cdef const char *begin = j.c.p
    cdef int64_t count
    cdef uint32_t limit
    if counter < 0:
        fail(&j.c, name, b"no counter %", name, end)
        return value
    count = number_expression(&j.c)
    limit = depctr_get(0xffffffffU, <uint32_t>counter)
    if not 0 <= count <= limit:
        fail_range(&j.c, begin, begin, j.c.p, 0, limit)
        return value
    return depctr_set(value, <uint32_t>counter, <uint32_t>count)


cdef uint32_t _delay_part(Job *j, const char *name, const char *end, uint32_t value) noexcept nogil:
    cdef uint32_t length = <uint32_t>(end - name)
    cdef uint32_t shift
    cdef int32_t number
    cdef const char *word = j.c.p
    if length == 7 and memcmp(name, b"instid0", 7) == 0:
        shift = 0
    elif length == 8 and memcmp(name, b"instskip", 8) == 0:
        shift = 4
    elif length == 7 and memcmp(name, b"instid1", 7) == 0:
        shift = 7
    else:
        fail(&j.c, name, b"% is not a part of s_delay_alu", name, end)
        return value
    j.c.p = word_end(word)
    number = find_name(j.c.names, domain_skip if shift == 4 else domain_delay, word, <uint32_t>(j.c.p - word))
    if number < 0:
        fail(&j.c, word, b"no such dependency: %", word, j.c.p)
        return value
    return value | <uint32_t>number << shift


cdef bint _enter_call(Job *j, const Operand *o, const char *name, Cursor *inside) noexcept nogil:
    """A cursor behind ``name(`` of an operand that has to be such a call."""
    cdef size_t length = strlen(name)
    inside[0] = j.c
    if o.kind != operand_call or not starts_with(o.inner, name) or word_end(o.inner) - o.inner != <long>length:
        fail(&j.c, o.begin, b"% is not what belongs here", o.begin, o.end)
        return False
    inside.p = o.inner + length
    return accept(inside, c'(')


cdef void _leave(Job *j, Cursor *inside, char bracket) noexcept nogil:
    """The end of an operand of several parts, in whose errors the job fails."""
    expect(inside, bracket)
    if inside.failed and not j.c.failed:
        j.c.failed = True
        j.c.failed_at = inside.failed_at
        memcpy(j.c.message, inside.message, message_limit)


cdef uint32_t _message(Job *j, const Operand *o) noexcept nogil:
    cdef Cursor inside
    cdef int64_t number, operation = 0, stream = 0
    cdef uint32_t parts = 1
    cdef bint named
    if o.kind != operand_call:
        return <uint32_t>plain_number(j, o, -0x8000, 0xffff) & 0xffff
    if not _enter_call(j, o, b"sendmsg", &inside):
        return 0
    named = inside.p[0] > c'9'
    number = name_or_number(&inside, domain_message)
    if accept(&inside, c','):
        parts = 2
        operation = name_or_number(&inside, domain_system_operation if number == 15 and j.c.level < gfx11 else domain_gs_operation)
        if accept(&inside, c','):
            parts = 3
            stream = number_expression(&inside)
    if not inside.failed:
        _check_message(j, o, number, operation, stream, parts if named else 0)
    _leave(j, &inside, c')')
    return <uint32_t>(number | operation << 4 | stream << 8) & 0xffff


cdef void _check_message(Job *j, const Operand *o, int64_t number, int64_t operation, int64_t stream, uint32_t parts) noexcept nogil:
    """Ranges, and of messages with a name (`parts` not 0) which operations and streams they have."""
    cdef bint geometry = j.c.level < gfx11 and (number == 2 or number == 3)
    cdef bint system = j.c.level < gfx11 and number == 15
    if not 0 <= number <= (255 if j.c.level >= gfx11 else 15):
        fail(&j.c, o.begin, b"%: no such message", o.begin, o.end)
    elif not 0 <= operation <= 7:
        fail(&j.c, o.begin, b"%: an operation is from 0 to 7", o.begin, o.end)
    elif not 0 <= stream <= 3:
        fail(&j.c, o.begin, b"%: a stream is from 0 to 3", o.begin, o.end)
    elif parts == 0:
        return
    elif not geometry and not system:
        if parts > 1:
            fail(&j.c, o.begin, b"%: this message has no operations", o.begin, o.end)
    elif parts == 1:
        fail(&j.c, o.begin, b"%: this message needs an operation", o.begin, o.end)
    elif system:
        if parts == 3:
            fail(&j.c, o.begin, b"%: this message has no streams", o.begin, o.end)
        elif not 1 <= operation <= 4 or (operation == 3 and j.c.level >= gfx9):
            fail(&j.c, o.begin, b"%: no such operation", o.begin, o.end)
    elif operation > 3 or (operation == 0 and number == 2):
        fail(&j.c, o.begin, b"%: no such operation", o.begin, o.end)
    elif operation == 0 and parts == 3:
        fail(&j.c, o.begin, b"%: this operation has no streams", o.begin, o.end)


cdef uint32_t _index_mode(Job *j, const Operand *o) noexcept nogil:
    cdef Cursor inside
    cdef uint32_t mode = 0, bit
    if o.kind != operand_call:
        return <uint32_t>plain_number(j, o, 0, 15)
    if not _enter_call(j, o, b"gpr_idx", &inside):
        return 0
    while inside.p[0] != c')' and not inside.failed:
        bit = 1U << (<uint32_t>name_or_number(&inside, domain_index_mode) & 15)
        if mode & bit:
            fail_plain(&inside, inside.p, b"a mode is named twice")
        mode |= bit
        if not accept(&inside, c','):
            break
    _leave(j, &inside, c')')
    return mode & 15


cdef inline bint _is_structure(const Operand *o) noexcept nogil:
    """Whether an operand is fields in braces."""
    return o.kind == operand_call and o.inner[0] == c'{'


cdef uint32_t _event(Job *j, const Operand *o) noexcept nogil:
    """``{ export_ready: 1 }``, or no field. GFX11 has a bit for the opposite, into which LLVM 23 reads GFX12's, but has its text for the next one."""
    cdef const char *expected = b"export_ready" if j.c.level >= gfx12 else b"dont_wait_export_ready"
    cdef Cursor inside = j.c
    cdef const char *name
    cdef int64_t value = 0
    inside.p = o.inner
    expect(&inside, c'{')
    if inside.p[0] != c'}':
        name = inside.p
        inside.p = word_end(name)
        if <size_t>(inside.p - name) != strlen(expected) or not starts_with(name, expected):
            fail(&inside, name, b"no event %", name, inside.p)
        expect(&inside, c':')
        name = inside.p
        value = number_expression(&inside)
        if not 0 <= value <= 1:
            fail_range(&inside, name, name, inside.p, 0, 1)
    _leave(j, &inside, c'}')
    return <uint32_t>value << (j.c.level >= gfx12)


cdef uint32_t _hardware_register(Job *j, const Operand *o) noexcept nogil:
    cdef Cursor inside
    cdef int64_t number, offset = 0, size = 32
    if o.kind != operand_call:
        return <uint32_t>plain_number(j, o, -0x8000, 0xffff) & 0xffff
    if _is_structure(o):
        return _register_structure(j, o)
    if not _enter_call(j, o, b"hwreg", &inside):
        return 0
    number = name_or_number(&inside, domain_hardware_register)
    if accept(&inside, c','):
        offset = number_expression(&inside)
        expect(&inside, c',')
        size = number_expression(&inside)
    if not inside.failed and not (0 <= number < 64 and 0 <= offset < 32 and 1 <= size <= 32):
        fail(&j.c, o.begin, b"%: a field of a hardware register is out of range", o.begin, o.end)
    _leave(j, &inside, c')')
    return <uint32_t>(number | offset << 6 | (size - 1) << 11)


cdef uint32_t _register_structure(Job *j, const Operand *o) noexcept nogil:
    """``{id: 1, offset: 0, size: 32}``, in any order."""
    cdef Cursor inside = j.c
    cdef int64_t number = 0, offset = 0, size = 32
    cdef uint32_t seen = 0
    cdef const char *name
    inside.p = o.inner
    expect(&inside, c'{')
    while not inside.failed and inside.p[0] != c'}':
        name = inside.p
        if seen >> (name[0] & 31) & 1:
            fail_plain(&inside, name, b"a field is named twice")
        seen |= 1U << (name[0] & 31)
        inside.p = word_end(name)
        expect(&inside, c':')
        if name[0] == c'i':
            number = name_or_number(&inside, domain_hardware_register)
        elif name[0] == c'o':
            offset = number_expression(&inside)
        elif name[0] == c's':
            size = number_expression(&inside)
        else:
            fail_plain(&inside, name, b"id, offset or size is expected")
        if not accept(&inside, c','):
            break
    _leave(j, &inside, c'}')
    if not inside.failed and not (0 <= number < 64 and 0 <= offset < 32 and 1 <= size <= 32):
        fail(&j.c, o.begin, b"%: a field of a hardware register is out of range", o.begin, o.end)
    return <uint32_t>(number | offset << 6 | (size - 1) << 11)
