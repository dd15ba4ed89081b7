"""Reader of statements: lexing, expressions, registers, operands, modifiers.

Syntax: "Syntax of AMDGPU Instruction Operands" and "... Modifiers" of the LLVM manual; expressions have C's operators and
LLVM's precedence.
"""
from libc.stdio cimport snprintf
from libc.stdlib cimport strtod
from libc.string cimport memcmp

from pyaco._core.isa.text_tables cimport (domain_dimension, domain_function, domain_lane_control, domain_modifier, domain_register,
                                          domain_scope, domain_selection, domain_unused, find_name)

cdef uint8_t value_kinds[modifier_count]

#: Modifiers by name; numbers are those of ``given_*``.
MODIFIERS = {
    "glc": given_glc, "slc": given_slc, "dlc": given_dlc, "sc0": given_sc0, "sc1": given_sc1, "nt": given_nt,
    "scc": given_scc, "offen": given_offen, "idxen": given_idxen, "addr64": given_addr64, "lds": given_lds, "tfe": given_tfe,
    "lwe": given_lwe, "gds": given_gds, "clamp": given_clamp, "done": given_done, "vm": given_vm, "compr": given_compr,
    "row_en": given_row_en, "unorm": given_unorm, "da": given_da, "r128": given_r128, "a16": given_a16, "d16": given_d16,
    "high": given_high, "offset": given_offset, "offset0": given_offset0, "offset1": given_offset1,
    "row_mask": given_row_mask, "bank_mask": given_bank_mask, "bound_ctrl": given_bound_ctrl, "fi": given_fi,
    "dmask": given_dmask, "wait_exp": given_wait_exp, "wait_vdst": given_wait_vdst, "wait_va_vdst": given_wait_va_vdst,
    "wait_vm_vsrc": given_wait_vm_vsrc, "cbsz": given_cbsz, "abid": given_abid, "blgp": given_blgp,
    "bitop3": given_bitop3, "byte_sel": given_byte_sel, "dfmt": given_dfmt, "nfmt": given_nfmt, "inst_offset": given_offset,
    "index_key": given_index_key, "mul": given_mul, "div": given_div, "op_sel": given_op_sel,
    "op_sel_hi": given_op_sel_hi, "neg_lo": given_neg_lo, "neg": given_neg, "neg_hi": given_neg_hi, "dpp8": given_dpp8,
    "quad_perm": given_quad_perm, "dst_sel": given_dst_sel, "src0_sel": given_src0_sel, "src1_sel": given_src1_sel,
    "dst_unused": given_dst_unused, "scope": given_scope, "dim": given_dim, "th": given_th, "format": given_format,
}


#: Functions of expressions by name.
FUNCTIONS = {
    "max": function_max, "or": function_or, "alignto": function_align, "extrasgprs": function_extra_sgprs,
    "totalnumvgprs": function_total_vgprs, "instprefsize": function_prefetch_size,
}
cdef enum:
    nesting_limit = 512


cdef void fill_value_kinds():
    cdef int i
    for i in range(modifier_count):
        value_kinds[i] = value_flag if i <= given_high else value_number
    for i in (given_op_sel, given_op_sel_hi, given_neg_lo, given_neg, given_neg_hi):
        value_kinds[i] = value_bits
    for i in (given_dpp8, given_quad_perm):
        value_kinds[i] = value_lanes
    for i in (given_dst_sel, given_src0_sel, given_src1_sel, given_dst_unused, given_scope, given_dim):
        value_kinds[i] = value_name
    for i in (given_th, given_format):
        value_kinds[i] = value_later


fill_value_kinds()


cdef uint8_t value_kind(uint32_t number) noexcept nogil:
    return value_kinds[number]


# ---------------------------------------------------------------------------------------------------------------- errors
cdef void fail(Cursor *c, const char *at, const char *text, const char *begin, const char *end) noexcept nogil:
    cdef uint32_t length = 0
    cdef int amount
    if c.failed:
        return
    c.failed = True
    c.failed_at = at
    while text[0] and length < message_limit - 1:
        if text[0] == c'%':
            amount = <int>min(end - begin, <long>(message_limit - 1 - length))
            length += min(<uint32_t>snprintf(c.message + length, message_limit - length, "%.*s", amount, begin),
                          message_limit - 1 - length)
        else:
            c.message[length] = text[0]
            length += 1
        text += 1
    c.message[length] = 0


cdef void fail_plain(Cursor *c, const char *at, const char *text) noexcept nogil:
    fail(c, at, text, NULL, NULL)


cdef void fail_range(Cursor *c, const char *at, const char *begin, const char *end, int64_t low, int64_t high) noexcept nogil:
    if c.failed:
        return
    c.failed = True
    c.failed_at = at
    snprintf(c.message, message_limit, "%.*s is not from %lld to %lld", <int>min(end - begin, <long>80), begin,
             <long long>low, <long long>high)


# ---------------------------------------------------------------------------------------------------------------- lexing
cdef bint is_digit(char character) noexcept nogil:
    return c'0' <= character <= c'9'


cdef enum:
    class_word = 1                    # letters, digits and the underscore
    class_symbol = 2                  # these and what else names of symbols have

cdef uint8_t character_classes[256]


cdef void fill_character_classes():
    cdef int character
    for character in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_":
        character_classes[character] = class_word | class_symbol
    for character in b".$@":
        character_classes[character] = class_symbol


fill_character_classes()


cdef inline bint is_word(char character) noexcept nogil:
    return (character_classes[<uint8_t>character] & class_word) != 0


cdef inline bint is_symbol(char character) noexcept nogil:
    return (character_classes[<uint8_t>character] & class_symbol) != 0


cdef const char *word_end(const char *p) noexcept nogil:
    while is_word(p[0]):
        p += 1
    return p


cdef const char *symbol_end(const char *p) noexcept nogil:
    while is_symbol(p[0]):
        p += 1
    return p


cdef void skip_blanks_and_comments(Cursor *c) noexcept nogil:
    cdef const char *p = c.p
    while True:
        if p[0] == c' ' or p[0] == c'\t' or p[0] == c'\r':
            p += 1
        elif p[0] == c';' or (p[0] == c'/' and p[1] == c'/'):
            while p[0] and p[0] != c'\n':
                p += 1
        elif p[0] == c'/' and p[1] == c'*':
            p += 2
            while p[0] and not (p[0] == c'*' and p[1] == c'/'):
                p += 1
            if p[0]:
                p += 2
        else:
            break
    c.p = p


cdef inline bint at_end(const Cursor *c) noexcept nogil:
    return c.p[0] == c'\n' or c.p[0] == 0


cdef bint at_line_end(const Cursor *c) noexcept nogil:
    return at_end(c)


cdef bint accept(Cursor *c, char character) noexcept nogil:
    """Whether the next token is `character`; takes it."""
    skip_blanks(c)
    if c.p[0] != character:
        return False
    c.p += 1
    skip_blanks(c)
    return True


cdef void expect(Cursor *c, char character) noexcept nogil:
    if accept(c, character):
        return
    if character == c']' or character == c')' or character == c'}':
        fail_plain(c, c.p, b"unbalanced bracket")
    elif not c.failed:
        fail(c, c.p, b"% expected", &character, &character + 1)


# ----------------------------------------------------------------------------------------------------------- expressions
cdef inline Value absolute(int64_t number) noexcept nogil:
    cdef Value v
    v.number = number
    v.section = -1
    v.symbol = NULL
    return v


cdef int64_t integer_literal(Cursor *c) noexcept nogil:
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


cdef Value symbol_value(Cursor *c) noexcept nogil:
    cdef const char *begin = c.p
    cdef const char *end = symbol_end(begin)
    cdef const char *name_end = begin
    cdef Value v = absolute(0)
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
    v.section = -3
    return v


cdef Value set_value(Cursor *c, Symbol *symbol) noexcept nogil:
    """The value of a symbol that was set before its value was known, if it is known now."""
    cdef const char *place = c.p
    cdef int64_t here = c.here
    cdef int32_t section = c.section
    cdef Value v
    c.p = symbol.expression
    c.here = symbol.origin
    c.section = symbol.origin_section
    v = binary(c, 0)
    c.p = place
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
    cdef Value v = absolute(0)
    cdef vector[int64_t] *offsets
    cdef size_t first = 0, middle, last
    v.section = -3
    v.symbol = c.p
    offsets = &c.local_labels[0][local_key(number, c.section)]
    c.p = symbol_end(c.p)
    # the first label behind this place
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
        return absolute(0)
    c.depth += 1
    v = unary(c)
    c.depth -= 1
    return v


cdef Value unary(Cursor *c) noexcept nogil:
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
        return absolute(integer_literal(c))
    if character == c'(':
        c.p += 1
        v = binary(c, 0)
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
        v = absolute(c.p[1])
        c.p += 3
        return v
    end = symbol_end(c.p)
    while end[0] == c' ':
        end += 1
    return call(c, end) if end[0] == c'(' else symbol_value(c)


cdef Value call(Cursor *c, const char *bracket) noexcept nogil:
    """``max(1, x)``: a function of known numbers, as compilers count registers with."""
    cdef const char *begin = c.p
    cdef const char *end = symbol_end(begin)
    cdef int32_t function = find_name(c.names, domain_function, begin, <uint32_t>(end - begin))
    cdef int64_t numbers[3]
    cdef uint32_t count = 0
    cdef Value v
    cdef Value result = absolute(0)
    if function < 0:
        fail(c, begin, b"% is no function of expressions", begin, end)
        return result
    c.p = bracket + 1
    while not c.failed:
        v = binary(c, 0)
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
        result.number = function_value(c, function, numbers)
    return result


cdef int64_t function_value(Cursor *c, int32_t function, const int64_t *numbers) noexcept nogil:
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


cdef uint32_t operator_at(const char *p, uint32_t *length) noexcept nogil:
    """Precedence of a binary operator, 0 if there is none."""
    cdef char first = p[0], second = p[1]
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


cdef int64_t combine(Cursor *c, const char *op, int64_t left, int64_t right) noexcept nogil:
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


cdef Value binary(Cursor *c, uint32_t above) noexcept nogil:
    """Operators that bind more tightly than `above`."""
    cdef Value left = primary(c)
    cdef Value right
    cdef uint32_t precedence, length
    cdef const char *op
    while not c.failed:
        skip_blanks(c)
        op = c.p
        precedence = operator_at(op, &length)
        if precedence <= above:
            return left
        c.p += length
        right = binary(c, precedence)
        if left.symbol == NULL or (left.section >= -1 and right.section < -1):
            left.symbol = right.symbol
        if left.section == -1 and right.section == -1:
            left.number = combine(c, op, left.number, right.number)
        elif op[0] == c'-' and left.section == right.section and left.section >= 0:
            left.number -= right.number
            left.section = -1
        elif (op[0] == c'+' or op[0] == c'-') and left.section != -2 and right.section == -1:
            left.number = combine(c, op, left.number, right.number)
        elif op[0] == c'+' and left.section == -1 and right.section != -2:
            left.number = combine(c, op, left.number, right.number)
            left.section = right.section
        else:
            left.section = -2
    return left


cdef Value expression(Cursor *c) noexcept nogil:
    c.blocked = False
    return binary(c, 0)


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


# ------------------------------------------------------------------------------------------------------------- registers
cdef enum:
    code_vgpr0 = 256
    agpr0 = 512

cdef inline uint32_t scalar_limit(const Cursor *c) noexcept nogil:
    """SGPRs that have a name of their own."""
    return 106 if c.level >= 100 else 102 if c.level >= 80 else 104


cdef void set_register(Cursor *c, Operand *o, char kind, uint32_t number, uint32_t count) noexcept nogil:
    cdef uint32_t first = code_vgpr0
    cdef uint32_t limit = 256
    if kind == c's':
        first, limit = 0, scalar_limit(c)
    elif kind == c't':
        first, limit = (108, 16) if c.level >= 90 else (112, 12)
    elif kind == c'a':
        first = agpr0
    o.kind = operand_register
    o.dwords = <uint8_t>count
    o.half = -1
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
    if code < scalar_limit(c):
        set_register(c, o, c's', code, o.dwords)
    elif code_vgpr0 <= code < agpr0:
        set_register(c, o, c'v', code - code_vgpr0, o.dwords)
    elif code >= agpr0:
        set_register(c, o, c'a', code - agpr0, o.dwords)
    o.half = half


cdef bint register_range(Cursor *c, Operand *o, char kind) noexcept nogil:
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
        set_register(c, o, kind, <uint32_t>first, <uint32_t>(last - first + 1))
    return True


cdef bint numbered_register(Cursor *c, Operand *o, const char *digits, char kind) noexcept nogil:
    """``v7``, ``s[2:3]``, ``v7.h``, with `digits` behind the letters; False: not a register."""
    cdef uint32_t number = 0
    cdef const char *p = digits
    if p[0] == c'[':
        c.p = p
        return register_range(c, o, kind)
    if not is_digit(p[0]):
        return False
    while is_digit(p[0]) and p - digits < 5:
        number = number * 10 + <uint32_t>(p[0] - c'0')
        p += 1
    if p[0] == c'.' and (p[1] == c'l' or p[1] == c'h') and not is_symbol(p[2]) and kind == c'v':
        c.p = p + 2
        set_register(c, o, kind, number, 1)
        if c.level < 110:
            fail(c, o.begin, b"%: halves of registers have no name here", o.begin, c.p)
        o.half = p[1] == c'h'
        return True
    if is_symbol(p[0]):
        return False
    c.p = p
    set_register(c, o, kind, number, 1)
    return True


cdef inline const char *register_number(const char *p, uint32_t *number) noexcept nogil:
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
    p = register_number(digits, &first)
    if p == digits:
        return False
    last = first
    if bracket:
        if p[0] == c':':
            digits = p + 1
            p = register_number(digits, &last)
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
    set_register(c, o, begin[0], first, last - first + 1)
    o.end = p
    c.p = next
    return True


cdef bint parse_register(Cursor *c, Operand *o) noexcept nogil:
    """A register at the cursor; False, and the cursor where it was, if there is none."""
    cdef const char *p = c.p
    cdef const char *end
    cdef int32_t value
    if p[0] == c'v' or p[0] == c's':
        if numbered_register(c, o, p + 1, p[0]):
            return True
    elif p[0] == c'a':
        if memcmp(p, b"acc", 3) == 0 and numbered_register(c, o, p + 3, c'a'):
            return True
        if numbered_register(c, o, p + 1, c'a'):
            return True
    elif p[0] == c't' and p[1] == c't' and p[2] == c'm' and p[3] == c'p':
        if numbered_register(c, o, p + 4, c't'):
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


cdef void register_list(Cursor *c, Operand *o) noexcept nogil:
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
    o.negative = False
    o.magnitude = False
    o.sign_extended = False
    o.integer = 0
    o.number = 0
    o.begin = begin
    o.end = begin
    o.inner = begin


cdef void parse_number(Cursor *c, Operand *o, bint operators) noexcept nogil:
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


cdef const char *matching_bracket(Cursor *c, const char *p) noexcept nogil:
    """Behind the bracket that closes the one at `p`."""
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


cdef inline bint wrapper(const char *p, const char *name, uint32_t length, const char **inner) noexcept nogil:
    """Whether ``name(`` stands at `p`; `inner` is then behind the bracket."""
    if memcmp(p, name, length) != 0:
        return False
    p += length
    while p[0] == c' ':
        p += 1
    if p[0] != c'(':
        return False
    inner[0] = p + 1
    return True


cdef void parse_value(Cursor *c, Operand *o, bint operators) noexcept nogil:
    """A register, constant, call or name."""
    cdef const char *end
    cdef const char *after
    cdef const char *inner
    skip_blanks(c)
    if c.p[0] == c'[':
        register_list(c, o)
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
        if wrapper(c.p, b"lit64", 5, &inner) or wrapper(c.p, b"lit", 3, &inner):
            c.p = inner
            skip_blanks(c)
            parse_number(c, o, True)
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
            c.p = matching_bracket(c, after)
            return
    parse_number(c, o, operators)


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
    if wrapper(c.p, b"sext", 4, &inner):
        o.sign_extended = True
        c.p = inner
        closing += 1
        skip_blanks(c)
    elif wrapper(c.p, b"neg", 3, &inner):
        o.negative = True
        c.p = inner
        closing += 1
        skip_blanks(c)
    if c.p[0] == c'-' and not is_digit(c.p[1]) and c.p[1] != c'.' and c.p[1] != c'(' and c.p[1] != c' ' \
            and negates_operand(c, c.p + 1):
        if o.negative:
            fail(c, o.begin, b"%: a sign before a sign", o.begin, c.p + 1)
        o.negative = True
        c.p += 1
        skip_blanks(c)
    if c.p[0] == c'|':
        o.magnitude = True
        c.p += 1
        parse_value(c, o, False)
        if not accept(c, c'|'):
            fail_plain(c, c.p, b"| expected")
    elif wrapper(c.p, b"abs", 3, &inner):
        o.magnitude = True
        c.p = inner
        parse_value(c, o, True)
        expect(c, c')')
    else:
        parse_value(c, o, True)
    while closing and not c.failed:
        expect(c, c')')
        closing -= 1
    o.end = c.p
    while o.end > o.begin and ((o.end - 1)[0] == c' ' or (o.end - 1)[0] == c'\t'):
        o.end -= 1


cdef bint negates_operand(Cursor *c, const char *p) noexcept nogil:
    """Whether a minus sign before `p` is a modifier, not part of an expression."""
    cdef Cursor probe
    cdef Operand o
    cdef const char *inner
    if p[0] == c'|' or wrapper(p, b"abs", 3, &inner) or p[0] == c'[':
        return True
    probe = c[0]
    probe.p = p
    clear_operand(&o, p)
    return parse_register(&probe, &o)


# ------------------------------------------------------------------------------------------------------------- modifiers
cdef int64_t list_value(Cursor *c, int32_t number, uint32_t kind) noexcept nogil:
    """``[a,b,...]``: bits with their count from bit 8, or lanes of two or three bits."""
    cdef int64_t value = 0
    cdef int64_t entry
    cdef uint32_t count = 0
    cdef uint32_t width = 1 if kind == value_bits else 3 if number == given_dpp8 else 2
    cdef const char *begin
    expect(c, c'[')
    while not c.failed:
        begin = c.p
        entry = number_expression(c)
        if not 0 <= entry < 1 << width:
            fail_range(c, begin, begin, c.p, 0, (1 << width) - 1)
        value |= entry << (width * count)
        count += 1
        if not accept(c, c','):
            break
        if count == 8:
            fail_plain(c, begin, b"a list of eight numbers at most")
    expect(c, c']')
    if kind == value_bits:
        if count > 4:
            fail_plain(c, c.p, b"a list of four bits at most")
        return value | count << 8
    if number == given_dpp8 and count != 8:
        fail_plain(c, c.p, b"dpp8 takes eight lanes from 0 to 7")
    if number == given_quad_perm and count != 4:
        fail_plain(c, c.p, b"quad_perm takes four lanes from 0 to 3")
    return value


cdef int64_t swizzle(Cursor *c) noexcept nogil:
    """The offset of ds_swizzle_b32 from ``swizzle(MODE, ...)``."""
    cdef const char *begin = c.p
    cdef const char *mode
    cdef const char *mode_end
    cdef int64_t numbers[4]
    cdef uint32_t count = 0
    cdef int64_t keep = 0, force = 0, flip = 0, group
    c.p = word_end(c.p)
    expect(c, c'(')
    mode = c.p
    mode_end = word_end(mode)
    c.p = mode_end
    while accept(c, c',') and not c.failed:
        if c.p[0] == c'"':
            c.p += 1
            for _ in range(5):
                keep, force, flip = keep << 1, force << 1, flip << 1
                if c.p[0] == c'p' or c.p[0] == c'i':
                    keep |= 1
                if c.p[0] == c'1':
                    force |= 1
                if c.p[0] == c'i':
                    flip |= 1
                if c.p[0] != c'p' and c.p[0] != c'i' and c.p[0] != c'0' and c.p[0] != c'1':
                    fail_plain(c, c.p, b"a mask has five letters of 0, 1, p and i")
                    return 0
                c.p += 1
            expect(c, c'"')
            count = 5
        elif count < 4:
            numbers[count] = number_expression(c)
            count += 1
        else:
            fail_plain(c, c.p, b"four numbers at most")
    expect(c, c')')
    if c.failed:
        return 0
    group = numbers[0] if 0 < count < 5 else 0
    if _is(mode, mode_end, b"BITMASK_PERM") and count == 5:
        return keep | force << 5 | flip << 10
    if _is(mode, mode_end, b"QUAD_PERM") and count == 4 and (numbers[0] | numbers[1] | numbers[2] | numbers[3]) & ~3 == 0:
        return 0x8000 | numbers[0] | numbers[1] << 2 | numbers[2] << 4 | numbers[3] << 6
    if _is(mode, mode_end, b"FFT") and count == 1 and c.level >= 90 and 0 <= group < 32:
        return 0xe000 | group
    if _is(mode, mode_end, b"ROTATE") and count == 2 and c.level >= 90 and 0 <= group < 2 and 0 <= numbers[1] < 32:
        return 0xc000 | group << 10 | numbers[1] << 5
    if 0 < group <= 32 and group & (group - 1) == 0:
        if _is(mode, mode_end, b"BROADCAST") and count == 2 and group > 1 and 0 <= numbers[1] < group:
            return 0x1f & ~(group - 1) | numbers[1] << 5
        if _is(mode, mode_end, b"SWAP") and count == 1 and group <= 16:
            return 0x1f | group << 10
        if _is(mode, mode_end, b"REVERSE") and count == 1 and group > 1:
            return 0x1f | (group - 1) << 10
    fail(c, begin, b"% is not a swizzle that this target knows", begin, c.p)
    return 0


cdef inline bint _is(const char *begin, const char *end, const char *name) noexcept nogil:
    while begin < end and name[0] == begin[0]:
        begin += 1
        name += 1
    return begin == end and name[0] == 0


cdef void skip_value(Cursor *c) noexcept nogil:
    """A name, a number or a bracketed list whose meaning the opcode decides."""
    if c.p[0] == c'[':
        while c.p[0] and c.p[0] != c'\n' and c.p[0] != c']':
            c.p += 1
        expect(c, c']')
    elif word_end(c.p) != c.p:
        c.p = word_end(c.p)
    else:
        fail_plain(c, c.p, b"a name or number is expected")


cdef int64_t named_value(Cursor *c, int32_t number) noexcept nogil:
    cdef const char *end = word_end(c.p)
    cdef uint32_t domain = domain_selection
    cdef int32_t value
    if number == given_dst_unused:
        domain = domain_unused
    elif number == given_scope:
        domain = domain_scope
    elif number == given_dim:
        domain = domain_dimension
    value = find_name(c.names, domain, c.p, <uint32_t>(end - c.p))
    if value >= 0:
        c.p = end
        return value
    if end == c.p or not is_digit(c.p[0]):
        fail(c, c.p, b"no such name: %", c.p, end)
        return 0
    return number_expression(c)


cdef bint lane_control(Cursor *c, Statement *s, const char *end) noexcept nogil:
    """``row_shl:4``, ``row_mirror``: the DPP16 controls, whose names a table has whole."""
    cdef const char *begin = c.p
    cdef char text[48]
    cdef int32_t value
    cdef int length = <int>min(end - begin, <long>24)
    if not (begin[0] == c'r' and memcmp(begin, b"row_", 4) == 0 or begin[0] == c'w' and memcmp(begin, b"wave_", 5) == 0):
        return False
    if end[0] == c':' and end[1] != c':':
        c.p = end + 1
        length = snprintf(text, 48, b"%.*s:%lld", length, begin, <long long>number_expression(c))
    else:
        c.p = end
        length = snprintf(text, 48, b"%.*s", length, begin)
    value = find_name(c.names, domain_lane_control, text, <uint32_t>length)
    if value < 0:
        fail(c, begin, b"no lane control % on this target", begin, c.p)
        return True
    give(c, s, given_dpp_ctrl, value, begin)
    s.value_places[given_dpp_ctrl] = begin
    return True


cdef void give(Cursor *c, Statement *s, int32_t number, int64_t value, const char *place) noexcept nogil:
    if s.given >> number & 1:
        fail(c, place, b"% is given twice", place, word_end(place))
    s.given |= <uint64_t>1 << number
    s.values[number] = value
    s.places[number] = place


cdef bint parse_modifier(Cursor *c, Statement *s) noexcept nogil:
    """A modifier at the cursor; False, and the cursor where it was, if there is none."""
    cdef const char *begin = c.p
    cdef const char *end = word_end(begin)
    cdef const char *after = end
    cdef int32_t number
    cdef uint32_t kind
    cdef int64_t value = 0
    if end == begin or is_digit(begin[0]):
        return False
    while after[0] == c' ':
        after += 1
    number = find_name(c.names, domain_modifier, begin, <uint32_t>(end - begin))
    if number < 0:
        return begin[0] in (c'r', c'w') and lane_control(c, s, end)
    kind = value_kinds[number & 0xff]
    if kind == value_flag:
        if after[0] == c':' and after[1] != c':':
            fail(c, begin, b"% takes no value", begin, end)
        c.p = end
        give(c, s, number & 0xff, number < 0x100, begin)
        return True
    if after[0] != c':' or after[1] == c':':
        return False
    c.p = after + 1
    skip_blanks(c)
    s.value_places[number] = c.p
    if kind == value_number:
        if number == given_offset and memcmp(c.p, b"swizzle", 7) == 0:
            value = swizzle(c)
        else:
            value = number_expression(c)
    elif kind == value_bits or kind == value_lanes:
        value = list_value(c, number, kind)
    elif kind == value_name:
        value = named_value(c, number)
    else:
        skip_value(c)
    give(c, s, number, value, begin)
    return True


# ------------------------------------------------------------------------------------------------------------- statement
cdef void address_list(Cursor *c, Statement *s) noexcept nogil:
    """The separate address registers of an image instruction."""
    s.list_first = s.count
    c.p += 1
    skip_blanks(c)
    while not c.failed:
        if s.count >= operand_limit:
            fail_plain(c, c.p, b"too many operands")
            return
        clear_operand(&s.operands[s.count], c.p)
        if not parse_register(c, &s.operands[s.count]):
            fail_plain(c, c.p, b"a register is expected in this list")
            return
        s.operands[s.count].end = c.p
        s.count += 1
        if not accept(c, c','):
            break
    s.list_count = s.count - s.list_first
    expect(c, c']')


cdef bint starts_operand(Cursor *c) noexcept nogil:
    """Whether a register or number follows: commas may be left out before these."""
    cdef Cursor probe = c[0]
    cdef Operand o
    if is_digit(c.p[0]) or c.p[0] == c'-' or c.p[0] == c'|':
        return True
    clear_operand(&o, c.p)
    return parse_register(&probe, &o) and not probe.failed


cdef inline bint is_accumulator_16(const Cursor *c) noexcept nogil:
    """Where there are accumulation registers, ``a16`` among the operands is one of them; behind modifiers it is a modifier."""
    return 90 < c.level < 100 and c.p[0] == c'a' and c.p[1] == c'1' and c.p[2] == c'6' and not is_symbol(c.p[3])


cdef void clear_statement(Statement *s) noexcept nogil:
    s.count = 0
    s.list_first = 0
    s.list_count = 0
    s.given = 0
    s.taken = 0
    s.has_signs = False
    s.negations_taken = 0
    s.magnitudes_taken = 0
    s.extensions_taken = 0


cdef void parse_statement(Cursor *c, Statement *s) noexcept nogil:
    """Mnemonic (already taken), operands and modifiers up to the end of the line or ``::``."""
    cdef bint separated = True
    cdef bint image = s.mnemonic[0] == c'i' and memcmp(s.mnemonic, b"image_", 6) == 0
    # the target of exp is a word, without a comma behind it
    cdef bint exports = s.mnemonic[0] == c'e' and memcmp(s.mnemonic, b"exp", 3) == 0
    clear_statement(s)
    skip_blanks(c)
    while not at_end(c) and not c.failed:
        if separated and not exports and s.count < operand_limit and plain_register(c, &s.operands[s.count], &separated):
            s.count += 1
            continue
        if c.p[0] == c':' and c.p[1] == c':':
            return
        if is_word(c.p[0]) and not (c.p[0] in (c'v', c's') and (is_digit(c.p[1]) or c.p[1] == c'[')) \
                and not (separated and s.given == 0 and is_accumulator_16(c)) and parse_modifier(c, s):
            separated = accept(c, c',')
            continue
        if exports and s.count == 0:
            clear_operand(&s.operands[0], c.p)
            c.p = symbol_end(c.p)
            s.operands[0].end = c.p
            s.count = 1
            accept(c, c',')
            separated = True
            continue
        if not separated and not starts_operand(c):
            fail(c, c.p, b"this instruction has no modifier %", c.p, symbol_end(c.p) if is_symbol(c.p[0]) else c.p + 1)
            return
        if s.count >= operand_limit:
            fail_plain(c, c.p, b"too many operands")
            return
        if image and c.p[0] == c'[' and s.count == 1 and s.list_count == 0:
            address_list(c, s)
        else:
            parse_operand(c, &s.operands[s.count])
            note_signs(s, &s.operands[s.count])
            s.count += 1
        separated = accept(c, c',')
