# Registers and operands of assembly text.
# ------------------------------------------------------------------------------------------------------------- registers
cdef enum:
    code_vgpr0 = 256
    agpr0 = 512

cdef inline uint32_t _scalar_limit(const Cursor *c) noexcept nogil:
    """SGPRs that have a name of their own."""
    return register_vcc >> 2 if c.level >= 100 else 102 if c.level >= 80 else 104


cdef void _set_register(Cursor *c, Operand *o, char kind, uint32_t number, uint32_t count) noexcept nogil:
    cdef uint32_t first = code_vgpr0
    cdef uint32_t limit = 256
    if kind == c's':
        first, limit = 0, _scalar_limit(c)
    elif kind == c't':
        first, limit = (108, 16) if c.level >= 90 else (112, 12)
    elif kind == c'a':
        first = agpr0
    o.kind = operand_register
    o.dwords = <uint8_t>count
    o.half = -1
    if kind == c'v' and c.level >= gfx12_5:
        # tuples may reach beyond the last register that an instruction can name, whose upper bits the mode has
        limit += count - 1
    if number + count > limit:
        fail(c, o.begin, b"%: no such register on this target", o.begin, c.p)
        return
    if (kind == c's' or kind == c't') and count > 1 and number % min(count, 4) and count != 3:
        fail(c, o.begin, b"%: the registers are not aligned", o.begin, c.p)
        return
    o.address = <uint16_t>((first + number) * 4)
    if kind == c'v' or kind == c'a':
        c.next_vgpr = max(c.next_vgpr, <int64_t>(number + count))
    elif kind == c's':
        c.next_sgpr = max(c.next_sgpr, <int64_t>(number + count))


cdef void check_register(Cursor *c, Operand *o) noexcept nogil:
    cdef uint32_t code = o.address >> 2
    cdef int8_t half = o.half
    if code < _scalar_limit(c):
        _set_register(c, o, c's', code, o.dwords)
    elif code_vgpr0 <= code < agpr0:
        _set_register(c, o, c'v', code - code_vgpr0, o.dwords)
    elif code >= agpr0:
        _set_register(c, o, c'a', code - agpr0, o.dwords)
    o.half = half


cdef bint _register_range(Cursor *c, Operand *o, char kind) noexcept nogil:
    """``[first]`` or ``[first:last]`` behind a register's letter."""
    cdef int64_t first, last
    c.p += 1
    first = number_expression(c)
    last = first
    if accept(c, c':'):
        last = number_expression(c)
    if not accept(c, c']'):
        expect(c, c']')
        return True
    # the cursor stands behind blanks: errors show the name without them
    while (c.p - 1)[0] == c' ' or (c.p - 1)[0] == c'\t':
        c.p -= 1
    if last < first:
        fail(c, o.begin, b"%: registers in the wrong order", o.begin, c.p)
    elif first < 0 or last - first >= 32 or last > 1023:
        fail(c, o.begin, b"%: no such register on this target", o.begin, c.p)
    else:
        _set_register(c, o, kind, <uint32_t>first, <uint32_t>(last - first + 1))
    return True


cdef bint _numbered_register(Cursor *c, Operand *o, const char *digits, char kind) noexcept nogil:
    """``v7``, ``s[2:3]``, ``v7.h``, with `digits` behind the letters; False: not a register."""
    cdef uint32_t number = 0
    cdef const char *p = digits
    if p[0] == c'[':
        c.p = p
        return _register_range(c, o, kind)
    if not is_digit(p[0]):
        return False
    while is_digit(p[0]) and p - digits < 5:
        number = number * 10 + <uint32_t>(p[0] - c'0')
        p += 1
    if p[0] == c'.' and (p[1] == c'l' or p[1] == c'h') and not is_symbol(p[2]) and kind == c'v':
        c.p = p + 2
        _set_register(c, o, kind, number, 1)
        if c.level < 110:
            fail(c, o.begin, b"%: halves of registers have no name here", o.begin, c.p)
        o.half = p[1] == c'h'
        return True
    if is_symbol(p[0]):
        return False
    c.p = p
    _set_register(c, o, kind, number, 1)
    return True


cdef inline const char *_register_number(const char *p, uint32_t *number) noexcept nogil:
    """Up to three decimal digits without a zero before them; where they end, `p` if there are none such."""
    cdef const char *begin = p
    number[0] = 0
    while is_digit(p[0]) and p - begin < 4:
        number[0] = 10 * number[0] + <uint32_t>(p[0] - c'0')
        p += 1
    return begin if p - begin == 4 or (begin[0] == c'0' and p - begin > 1) else p


cdef inline bint plain_register(Cursor *c, Operand *o, bint *separated) noexcept nogil:
    """``v7`` or ``s[2:3]``, and behind it a comma and one blank, one blank, or the end of the line, as with most operands.

    Takes blank and comma too, and says whether there was one; False, and the cursor where it was, for all else.
    """
    cdef const char *begin = c.p
    cdef bint bracket = begin[1] == c'['
    cdef const char *digits = begin + 2 if bracket else begin + 1
    cdef const char *p
    cdef const char *next
    cdef uint32_t first, last
    if begin[0] != c'v' and begin[0] != c's':
        return False
    p = _register_number(digits, &first)
    if p == digits:
        return False
    last = first
    if bracket:
        if p[0] == c':':
            digits = p + 1
            p = _register_number(digits, &last)
            if p == digits:
                return False
        if p[0] != c']' or last < first or last - first >= 32:
            return False
        p += 1
    separated[0] = p[0] == c','
    next = p + separated[0]
    if next[0] == c' ' and (is_symbol(next[1]) or next[1] == c'-' or next[1] == c'|' or next[1] == c':'):
        next += 1
    elif next[0] != c'\n':
        separated[0] = True
        return False
    clear_operand(o, begin)
    c.p = p
    _set_register(c, o, begin[0], first, last - first + 1)
    o.end = p
    c.p = next
    return True


cdef bint parse_register(Cursor *c, Operand *o) noexcept nogil:
    """A register at the cursor; False, and the cursor where it was, if there is none."""
    cdef const char *p = c.p
    cdef const char *end
    cdef int32_t value
    if p[0] == c'v' or p[0] == c's':
        if _numbered_register(c, o, p + 1, p[0]):
            return True
    elif p[0] == c'a':
        if starts_with(p, b"acc") and _numbered_register(c, o, p + 3, c'a'):
            return True
        if _numbered_register(c, o, p + 1, c'a'):
            return True
    elif p[0] == c't' and p[1] == c't' and p[2] == c'm' and p[3] == c'p':
        if _numbered_register(c, o, p + 4, c't'):
            return True
    end = symbol_end(p)
    if end == p:
        return False
    value = find_name(c.names, domain_register, p, <uint32_t>(end - p))
    if value < 0:
        return False
    c.p = end
    o.kind = operand_register
    o.half = -1
    if value >> 16 == 0:
        fail(c, p, b"% is no register on this target", p, end)
    o.address = <uint16_t>((value & 0xffff) * 4)
    o.dwords = <uint8_t>(value >> 16)
    return True


cdef void _register_list(Cursor *c, Operand *o) noexcept nogil:
    """``[s0,s1,s2,s3]``: consecutive registers as one operand."""
    cdef Operand part
    cdef bint first = True
    c.p += 1
    skip_blanks(c)
    while not c.failed:
        clear_operand(&part, c.p)
        if not parse_register(c, &part):
            if at_end(c):
                fail_plain(c, o.begin, b"unbalanced bracket")
            else:
                fail_plain(c, c.p, b"a register is expected in this list")
            return
        if first:
            o.kind = operand_register
            o.address = part.address
            o.dwords = part.dwords
            first = False
        elif part.address == o.address + 4 * o.dwords:
            o.dwords += part.dwords
        else:
            fail_plain(c, part.begin, b"the registers of a list follow one another")
        if not accept(c, c','):
            break
    expect(c, c']')


# -------------------------------------------------------------------------------------------------------------- operands
cdef void clear_operand(Operand *o, const char *begin) noexcept nogil:
    o.kind = operand_word
    o.address = 0
    o.dwords = 0
    o.half = -1
    o.is_literal = False
    o.wide_literal = False
    o.negative = False
    o.magnitude = False
    o.sign_extended = False
    o.integer = 0
    o.number = 0
    o.begin = begin
    o.end = begin
    o.inner = begin


cdef void _parse_number(Cursor *c, Operand *o, bint operators) noexcept nogil:
    """A constant or an expression at the cursor."""
    cdef const char *begin = c.p
    cdef const char *p = begin
    cdef char *end
    cdef Value v
    if plain_number(c, &o.integer):
        o.kind = operand_integer
        o.inner = begin
        return
    if p[0] == c'-' or p[0] == c'+':
        p += 1
    if (is_digit(p[0]) or (p[0] == c'.' and is_digit(p[1]))) and is_float(p):
        o.kind = operand_float
        o.number = strtod(begin, &end)
        c.p = end
        return
    o.inner = begin
    c.blocked = False
    v = expression(c) if operators else primary(c)
    if v.section == -1:
        o.kind = operand_integer
        o.integer = v.number
    else:
        o.kind = operand_symbol


cdef const char *_matching_bracket(Cursor *c, const char *p) noexcept nogil:
    """The position after the bracket that matches the one at `p`."""
    cdef uint32_t depth = 0
    while p[0] and p[0] != c'\n':
        if p[0] == c'(':
            depth += 1
        elif p[0] == c')':
            depth -= 1
            if depth == 0:
                return p + 1
        p += 1
    fail_plain(c, c.p, b"unbalanced bracket")
    return p


cdef inline bint _wrapper(const char *p, const char *name, const char **inner) noexcept nogil:
    """Whether ``name(`` is at `p`; `inner` is then after the bracket."""
    if not starts_with(p, name):
        return False
    p += strlen(name)
    while p[0] == c' ':
        p += 1
    if p[0] != c'(':
        return False
    inner[0] = p + 1
    return True


cdef void _parse_value(Cursor *c, Operand *o, bint operators) noexcept nogil:
    """A register, constant, call or name."""
    cdef const char *end
    cdef const char *after
    cdef const char *inner
    skip_blanks(c)
    if c.p[0] == c'[':
        _register_list(c, o)
        return
    if c.p[0] == c'{':
        o.kind = operand_call
        o.inner = c.p
        while c.p[0] and c.p[0] != c'\n' and c.p[0] != c'}':
            c.p += 1
        expect(c, c'}')
        return
    if is_symbol(c.p[0]) and not is_digit(c.p[0]) and not (c.p[0] == c'.' and is_digit(c.p[1])):
        if parse_register(c, o):
            return
        end = symbol_end(c.p)
        if end - c.p == 3 and memcmp(c.p, b"off", 3) == 0:
            o.kind = operand_off
            c.p = end
            return
        if _wrapper(c.p, b"lit64", &inner) or _wrapper(c.p, b"lit", &inner):
            o.wide_literal = starts_with(c.p, b"lit64")
            c.p = inner
            skip_blanks(c)
            _parse_number(c, o, True)
            o.is_literal = True
            if o.kind != operand_integer and o.kind != operand_float and o.kind != operand_symbol:
                fail(c, o.begin, b"%: a literal is a number", o.begin, c.p)
            expect(c, c')')
            return
        after = end
        while after[0] == c' ':
            after += 1
        if after[0] == c'(':
            o.kind = operand_call
            o.inner = c.p
            c.p = _matching_bracket(c, after)
            return
    _parse_number(c, o, operators)


cdef const char *_end_of_text(const Cursor *c, const char *begin) noexcept nogil:
    """The end of what stands from `begin` to the cursor, without the blanks and comments behind it, which expressions take too."""
    cdef Cursor probe
    cdef const char *end = begin
    # what ends in a letter or digit in front of other text has no blank behind it; only a line's end may hide a comment
    if is_symbol((c.p - 1)[0]) and not at_line_end(c):
        return c.p
    if symbol_end(begin) == c.p:
        return c.p
    probe.p = begin
    while probe.p < c.p:
        end = probe.p + 1
        probe.p = end
        skip_blanks(&probe)
    return end


cdef void parse_operand(Cursor *c, Operand *o) noexcept nogil:
    """One operand with its sign, magnitude and extension wrappers."""
    cdef const char *inner
    cdef uint32_t closing = 0
    clear_operand(o, c.p)
    if parse_register(c, o):
        o.end = c.p
        return
    if c.p[0] == c',':
        fail_plain(c, c.p, b"an operand is missing")
        return
    if _wrapper(c.p, b"sext", &inner):
        o.sign_extended = True
        c.p = inner
        closing += 1
        skip_blanks(c)
    elif _wrapper(c.p, b"neg", &inner):
        o.negative = True
        c.p = inner
        closing += 1
        skip_blanks(c)
    if c.p[0] == c'-' and not is_digit(c.p[1]) and c.p[1] != c'.' and c.p[1] != c'(' and c.p[1] != c' ' \
            and _negates_operand(c, c.p + 1):
        if o.negative:
            fail(c, o.begin, b"%: a sign before a sign", o.begin, c.p + 1)
        o.negative = True
        c.p += 1
        skip_blanks(c)
    if c.p[0] == c'|':
        o.magnitude = True
        c.p += 1
        _parse_value(c, o, False)
        if not accept(c, c'|'):
            fail_plain(c, c.p, b"| expected")
    elif _wrapper(c.p, b"abs", &inner):
        o.magnitude = True
        c.p = inner
        _parse_value(c, o, True)
        expect(c, c')')
    else:
        _parse_value(c, o, True)
    while closing and not c.failed:
        expect(c, c')')
        closing -= 1
    o.end = _end_of_text(c, o.begin)


cdef bint _negates_operand(Cursor *c, const char *p) noexcept nogil:
    """Whether a minus sign before `p` is a modifier, not part of an expression."""
    cdef Cursor probe
    cdef Operand o
    cdef const char *inner
    if p[0] == c'|' or _wrapper(p, b"abs", &inner) or p[0] == c'[':
        return True
    probe = c[0]
    probe.p = p
    clear_operand(&o, p)
    return parse_register(&probe, &o)
