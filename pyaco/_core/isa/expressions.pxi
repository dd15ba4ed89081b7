# Expressions of assembly text: numbers, symbols and the operators of C.
cdef inline Value _absolute(int64_t number) noexcept nogil:
    cdef Value v
    v.number = number
    v.section = -1
    v.symbol = NULL
    return v


cdef int64_t _integer_literal(Cursor *c) noexcept nogil:
    """Digits of base 2, 8, 10 or 16."""
    cdef const char *p = c.p
    cdef uint64_t value = 0
    cdef uint32_t base = 10
    cdef uint32_t digit
    cdef uint32_t digits = 0
    cdef bint overflow = False
    if p[0] == c'0' and (p[1] == c'x' or p[1] == c'X'):
        base = 16
        p += 2
    elif p[0] == c'0' and (p[1] == c'b' or p[1] == c'B'):
        base = 2
        p += 2
    elif p[0] == c'0' and (p[1] == c'o' or p[1] == c'O'):
        base = 8
        p += 2
    elif p[0] == c'0':
        base = 8
    while is_word(p[0]):
        digit = <uint32_t>(p[0] - c'0') if is_digit(p[0]) else <uint32_t>((p[0] | 0x20) - c'a') + 10
        if digit >= base:
            fail(c, c.p, b"% is not a number", c.p, word_end(p))
            break
        overflow = overflow or (value >> 60 and value > (0xffffffffffffffffULL - digit) / base)
        value = value * base + digit
        digits += 1
        p += 1
    if digits == 0 or overflow:
        fail(c, c.p, b"% is not a 64-bit number", c.p, word_end(p))
    c.p = word_end(p)
    return <int64_t>value


cdef bint is_float(const char *p) noexcept nogil:
    """Whether a token that starts with a digit or point is a floating-point number."""
    if p[0] == c'0' and (p[1] == c'x' or p[1] == c'X'):
        return False
    while is_digit(p[0]):
        p += 1
    if p[0] == c'.':
        return True
    return (p[0] == c'e' or p[0] == c'E') and (is_digit(p[1]) or ((p[1] == c'-' or p[1] == c'+') and is_digit(p[2])))


cdef Value _symbol_value(Cursor *c) noexcept nogil:
    cdef const char *begin = c.p
    cdef const char *end = symbol_end(begin)
    cdef const char *name_end = begin
    cdef Value v = _absolute(0)
    cdef int32_t constant
    cdef string name
    cdef unordered_map[string, Symbol].iterator found
    if end == begin:
        fail_plain(c, begin, b"an expression is missing")
        return v
    c.p = end
    if end - begin == 1 and begin[0] == c'.':
        v.number = c.here
        v.section = c.section
        return v
    v.symbol = begin
    while name_end != end and name_end[0] != c'@':
        name_end += 1
    name.assign(begin, <size_t>(name_end - begin))
    found = c.symbols.find(name)
    if name_end == end and found != c.symbols.end():
        if _symbol(found).defined:
            v.number = _symbol(found).value
            v.section = _symbol(found).section
            return v
        if _symbol(found).expression != NULL and not c.blocked:
            return set_value(c, &_symbol(found))
    constant = find_name(c.names, domain_constant, begin, <uint32_t>(name_end - begin))
    if found == c.symbols.end() and name_end == end and constant >= 0:
        v.number = constant
        return v
    v.section = -3
    return v


cdef Value set_value(Cursor *c, Symbol *symbol) noexcept nogil:
    """The value of a symbol that was set before its value was known, if it is known now."""
    cdef const char *start = c.p
    cdef int64_t here = c.here
    cdef int32_t section = c.section
    cdef Value v
    c.p = symbol.expression
    c.here = symbol.origin
    c.section = symbol.origin_section
    v = _binary(c, 0)
    c.p = start
    c.here = here
    c.section = section
    if v.section >= -1:
        symbol.value = v.number
        symbol.section = v.section
        symbol.defined = not c.failed
    else:
        # chains of such symbols are followed once an expression
        c.blocked = True
    return v


cdef uint64_t local_key(int64_t number, int32_t section) noexcept nogil:
    return <uint64_t>number * section_limit + <uint64_t>section


cdef int64_t label_number(const char *p, const char **end) noexcept nogil:
    """Number of a local label, of at most nine digits; `end` is behind them."""
    cdef const char *begin = p
    cdef int64_t number = 0
    while is_digit(p[0]) and p - begin < 9:
        number = number * 10 + (p[0] - c'0')
        p += 1
    end[0] = p
    return number


cdef Value local_label(Cursor *c, int64_t number, bint backwards) noexcept nogil:
    """``1b``: the last label ``1:`` up to here; ``1f``: the next one."""
    cdef Value v = _absolute(0)
    cdef vector[int64_t] *offsets
    cdef size_t first = 0, middle, last
    v.section = -3
    v.symbol = c.p
    offsets = &c.local_labels[0][local_key(number, c.section)]
    c.p = symbol_end(c.p)
    # the first label after this position
    last = offsets.size()
    while first < last:
        middle = (first + last) // 2
        if offsets[0][middle] > c.here:
            last = middle
        else:
            first = middle + 1
    if backwards:
        if first == 0:
            return v
        first -= 1
    elif first == offsets.size():
        return v
    v.section = c.section
    v.number = offsets[0][first]
    return v


cdef extern from *:
    """
    #include <string>
    #include <unordered_map>
    template <class I> static inline auto &pyaco_second(I i) { return i->second; }
    """
    Symbol &_symbol "pyaco_second"(unordered_map[string, Symbol].iterator) noexcept nogil


cdef Value primary(Cursor *c) noexcept nogil:
    cdef Value v
    if c.depth == nesting_limit:
        fail_plain(c, c.p, b"expressions or symbols are nested too deeply")
        return _absolute(0)
    c.depth += 1
    v = _unary(c)
    c.depth -= 1
    return v


cdef Value _unary(Cursor *c) noexcept nogil:
    cdef Value v
    cdef int64_t number
    cdef char character
    cdef const char *end
    skip_blanks(c)
    character = c.p[0]
    if is_digit(character):
        number = label_number(c.p, &end)
        if (end[0] == c'b' or end[0] == c'f') and not is_symbol(end[1]):
            return local_label(c, number, end[0] == c'b')
        return _absolute(_integer_literal(c))
    if character == c'(':
        c.p += 1
        v = _binary(c, 0)
        expect(c, c')')
        return v
    if character == c'-' or character == c'~' or character == c'!' or character == c'+':
        c.p += 1
        v = primary(c)
        if v.section == -1:
            if character == c'-':
                v.number = <int64_t>(0 - <uint64_t>v.number)
            elif character == c'~':
                v.number = ~v.number
            elif character == c'!':
                v.number = v.number == 0
        elif character != c'+':
            v.section = -2
        return v
    if character == c'\'' and c.p[1] and c.p[2] == c'\'':
        v = _absolute(c.p[1])
        c.p += 3
        return v
    end = symbol_end(c.p)
    while end[0] == c' ':
        end += 1
    return _call(c, end) if end[0] == c'(' else _symbol_value(c)


cdef Value _call(Cursor *c, const char *bracket) noexcept nogil:
    """``max(1, x)``: a function of known numbers, as compilers count registers with."""
    cdef const char *begin = c.p
    cdef const char *end = symbol_end(begin)
    cdef int32_t function = find_name(c.names, domain_function, begin, <uint32_t>(end - begin))
    cdef int64_t numbers[3]
    cdef uint32_t count = 0
    cdef Value v
    cdef Value result = _absolute(0)
    if function < 0:
        fail(c, begin, b"% is no function of expressions", begin, end)
        return result
    c.p = bracket + 1
    while not c.failed:
        v = _binary(c, 0)
        if v.section != -1 and result.section == -1:
            result.section = -2
            result.symbol = v.symbol
        if count and (function == function_max or function == function_or):
            numbers[0] = max(numbers[0], v.number) if function == function_max else numbers[0] | v.number
        elif count < 3:
            numbers[count] = v.number
        count += 1
        if not accept(c, c','):
            break
    expect(c, c')')
    if function != function_max and function != function_or and count != <uint32_t>function & 3:
        fail(c, begin, b"% has another number of arguments", begin, end)
    if result.section == -1 and not c.failed:
        result.number = _function_value(c, function, numbers)
    return result


cdef int64_t _function_value(Cursor *c, int32_t function, const int64_t *numbers) noexcept nogil:
    """Source: LLVM's "User Guide for AMDGPU Backend", expressions of code object directives."""
    cdef bint architected_scratch = c.level == 94 or c.level == 95 or c.level >= 110
    if function == function_align:
        if numbers[1] <= 0 or not 0 <= numbers[0] < <int64_t>1 << 62 or numbers[1] > <int64_t>1 << 61:
            fail_plain(c, c.p, b"an alignment is a positive number")
            return 0
        return (numbers[0] + numbers[1] - 1) // numbers[1] * numbers[1]
    if function == function_extra_sgprs:
        # of VCC, FLAT_SCRATCH and XNACK_MASK; they stand in this order, so each has room for those before it
        if c.level >= 100:
            return 2 if numbers[0] else 0
        if c.level < 80:
            return 4 if numbers[1] else 2 if numbers[0] else 0
        return 6 if numbers[1] or architected_scratch else 4 if numbers[2] else 2 if numbers[0] else 0
    if function == function_total_vgprs:
        if 92 <= c.level < 100 and numbers[0]:
            return ((numbers[1] + 3) & ~3) + numbers[0]
        return max(numbers[0], numbers[1])
    if function == function_prefetch_size:
        # lines of 128 bytes, as many as the field can say
        return min(max(numbers[0] + 127, <int64_t>0) // 128, 255 if c.level >= 120 else 63)
    return numbers[0]


cdef uint32_t _operator_at(const char *p, uint32_t *length) noexcept nogil:
    """Precedence of a binary operator, 0 if there is none."""
    cdef char first = p[0]
    cdef char second
    if first == 0:
        return 0
    second = p[1]
    length[0] = 2
    if first == c'|' and second == c'|':
        return 1
    if first == c'&' and second == c'&':
        return 2
    if (first == c'=' and second == c'=') or (first == c'!' and second == c'=') or (first == c'<' and (second == c'=' or second == c'>')) \
            or (first == c'>' and second == c'='):
        return 3
    if (first == c'<' and second == c'<') or (first == c'>' and second == c'>'):
        return 6
    length[0] = 1
    if first == c'<' or first == c'>':
        return 3
    if first == c'+' or first == c'-':
        return 4
    if first == c'|' or first == c'^' or first == c'&':
        return 5
    if first == c'*' or (first == c'/' and second != c'/' and second != c'*') or first == c'%':
        return 6
    return 0


cdef int64_t _combine(Cursor *c, const char *op, int64_t left, int64_t right) noexcept nogil:
    cdef char first = op[0], second = op[1]
    cdef uint64_t a = <uint64_t>left, b = <uint64_t>right
    if first == c'+':
        return <int64_t>(a + b)
    if first == c'-':
        return <int64_t>(a - b)
    if first == c'*':
        return <int64_t>(a * b)
    if first == c'/' or first == c'%':
        if right == 0 or right == -1:
            if right == 0:
                fail_plain(c, op, b"division by zero")
                return 0
            return <int64_t>(0 - a) if first == c'/' else 0
        # truncated, as in C
        return _quotient(left, right) if first == c'/' else left - right * _quotient(left, right)
    if first == c'<' and second == c'<':
        return <int64_t>(a << (b & 63))
    if first == c'>' and second == c'>':
        return left >> (b & 63)
    if first == c'|':
        return -<int64_t>(left != 0 or right != 0) if second == c'|' else left | right
    if first == c'&':
        return -<int64_t>(left != 0 and right != 0) if second == c'&' else left & right
    if first == c'^':
        return left ^ right
    if first == c'=':
        return -<int64_t>(left == right)
    if first == c'!' or (first == c'<' and second == c'>'):
        return -<int64_t>(left != right)
    if first == c'<':
        return -<int64_t>(left <= right if second == c'=' else left < right)
    return -<int64_t>(left >= right if second == c'=' else left > right)


cdef inline int64_t _quotient(int64_t left, int64_t right) noexcept nogil:
    cdef uint64_t a = <uint64_t>left if left >= 0 else 0 - <uint64_t>left
    cdef uint64_t b = <uint64_t>right if right >= 0 else 0 - <uint64_t>right
    cdef uint64_t q = a // b
    return <int64_t>q if (left < 0) == (right < 0) else <int64_t>(0 - q)


cdef Value _binary(Cursor *c, uint32_t above) noexcept nogil:
    """Operators that bind more tightly than `above`."""
    cdef Value left = primary(c)
    cdef Value right
    cdef uint32_t precedence, length
    cdef const char *op
    while not c.failed:
        skip_blanks(c)
        op = c.p
        precedence = _operator_at(op, &length)
        if precedence <= above:
            return left
        c.p += length
        right = _binary(c, precedence)
        if left.symbol == NULL or (left.section >= -1 and right.section < -1):
            left.symbol = right.symbol
        if left.section == -1 and right.section == -1:
            left.number = _combine(c, op, left.number, right.number)
        elif op[0] == c'-' and left.section == right.section and left.section >= 0:
            left.number -= right.number
            left.section = -1
        elif (op[0] == c'+' or op[0] == c'-') and left.section != -2 and right.section == -1:
            left.number = _combine(c, op, left.number, right.number)
        elif op[0] == c'+' and left.section == -1 and right.section != -2:
            left.number = _combine(c, op, left.number, right.number)
            left.section = right.section
        else:
            left.section = -2
    return left


cdef Value expression(Cursor *c) noexcept nogil:
    c.blocked = False
    return _binary(c, 0)


cdef inline bint plain_number(Cursor *c, int64_t *number) noexcept nogil:
    """Take a decimal number that is an expression by itself, as most are: what is behind it continues none."""
    cdef const char *p = c.p
    cdef int64_t value = 0
    if not is_digit(p[0]) or (p[0] == c'0' and is_digit(p[1])):
        return False
    while is_digit(p[0]) and p - c.p < 9:
        value = value * 10 + (p[0] - c'0')
        p += 1
    if p[0] != c',' and p[0] != c'\n' and p[0] != c']' and p[0] != c':':
        return False
    c.p = p
    number[0] = value
    return True


cdef int64_t number_expression(Cursor *c) noexcept nogil:
    cdef const char *begin
    cdef int64_t number = 0
    cdef Value v
    if plain_number(c, &number):
        return number
    skip_blanks(c)
    begin = c.p
    v = expression(c)
    if v.section != -1:
        fail(c, begin, b"% is not a number that is known here", begin, c.p)
        return 0
    return v.number


cdef int64_t name_or_number(Cursor *c, uint32_t domain) noexcept nogil:
    cdef const char *end
    cdef int32_t value
    skip_blanks(c)
    end = word_end(c.p)
    if end != c.p and not is_digit(c.p[0]):
        value = find_name(c.names, domain, c.p, <uint32_t>(end - c.p))
        if value >= 0:
            c.p = end
            skip_blanks(c)
            return value
    return number_expression(c)
