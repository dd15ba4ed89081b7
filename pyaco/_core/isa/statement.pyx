"""Reader of statements: lexing, expressions, registers, operands, modifiers.

Syntax: "Syntax of AMDGPU Instruction Operands" and "... Modifiers" of the LLVM manual; expressions have C's operators and
LLVM's precedence.
"""
from libc.stdio cimport snprintf
from libc.stdlib cimport strtod
from libc.string cimport memcmp, strlen

from pyaco._core.common.machine cimport gfx12_5, gfx13, register_vcc
from pyaco._core.isa.text_tables cimport (domain_constant, domain_dimension, domain_function, domain_lane_control, domain_modifier, domain_register,
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


#: Those of GFX12.5 that others are not, in their places.
MODIFIERS_12_5 = {
    "nv": given_nv, "scale_offset": given_scale_offset, "matrix_a_reuse": given_matrix_a_reuse, "matrix_b_reuse": given_matrix_b_reuse,
    "matrix_a_fmt": given_matrix_a_fmt, "matrix_b_fmt": given_matrix_b_fmt, "matrix_a_scale": given_matrix_a_scale,
    "matrix_b_scale": given_matrix_b_scale, "matrix_a_scale_fmt": given_matrix_a_scale_fmt, "matrix_b_scale_fmt": given_matrix_b_scale_fmt,
    "scale_sel": given_scale_sel,
}


#: Those of them that GFX13 has.
MODIFIERS_13 = {name: MODIFIERS_12_5[name] for name in ("nv", "scale_offset", "scale_sel")}


#: Functions of expressions by name.
FUNCTIONS = {
    "max": function_max, "or": function_or, "alignto": function_align, "extrasgprs": function_extra_sgprs,
    "totalnumvgprs": function_total_vgprs, "instprefsize": function_prefetch_size,
}
cdef enum:
    nesting_limit = 512


cdef void _fill_value_kinds():
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


_fill_value_kinds()


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


cdef void _fill_character_classes():
    cdef int character
    for character in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_":
        character_classes[character] = class_word | class_symbol
    for character in b".$@":
        character_classes[character] = class_symbol


_fill_character_classes()


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


include "expressions.pxi"
include "operand_text.pxi"


# ------------------------------------------------------------------------------------------------------------- modifiers
cdef int64_t _list_value(Cursor *c, int32_t number, uint32_t kind) noexcept nogil:
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


cdef int64_t _swizzle(Cursor *c) noexcept nogil:
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


cdef void _skip_value(Cursor *c) noexcept nogil:
    """A name, a number (an expression, too) or a bracketed list whose meaning the opcode decides."""
    if c.p[0] == c'[':
        while c.p[0] and c.p[0] != c'\n' and c.p[0] != c']':
            c.p += 1
        expect(c, c']')
    elif is_digit(c.p[0]) or c.p[0] == c'(' or c.p[0] == c'-' or c.p[0] == c'+' or c.p[0] == c'~' or c.p[0] == c'!':
        number_expression(c)
    elif word_end(c.p) != c.p:
        c.p = word_end(c.p)
    else:
        fail_plain(c, c.p, b"a name or number is expected")


cdef int64_t _named_value(Cursor *c, int32_t number) noexcept nogil:
    cdef const char *end = word_end(c.p)
    cdef uint32_t domain = domain_selection
    cdef int32_t value
    if number == given_dst_unused or (gfx12_5 <= c.level < gfx13 and number == given_matrix_b_scale):
        domain = domain_unused
    elif number == given_scope:
        domain = domain_scope
    elif number == given_dim or (gfx12_5 <= c.level < gfx13 and number == given_matrix_b_scale_fmt):
        domain = domain_dimension
    value = find_name(c.names, domain, c.p, <uint32_t>(end - c.p))
    if value >= 0:
        c.p = end
        return value
    if end == c.p or not is_digit(c.p[0]):
        fail(c, c.p, b"no such name: %", c.p, end)
        return 0
    return number_expression(c)


cdef bint _lane_control(Cursor *c, Statement *s, const char *end) noexcept nogil:
    """``row_shl:4``, ``row_mirror``: the DPP16 controls, whose names a table has whole."""
    cdef const char *begin = c.p
    cdef char text[48]
    cdef int32_t value
    cdef int length = <int>min(end - begin, <long>24)
    if not (starts_with(begin, b"row_") or starts_with(begin, b"wave_")):
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
    s.value_positions[given_dpp_ctrl] = begin
    return True


cdef void give(Cursor *c, Statement *s, int32_t number, int64_t value, const char *at) noexcept nogil:
    if s.given >> number & 1:
        fail(c, at, b"% is given twice", at, word_end(at))
    s.given |= <uint64_t>1 << number
    s.values[number] = value
    s.positions[number] = at


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
        return begin[0] in (c'r', c'w') and _lane_control(c, s, end)
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
    s.value_positions[number] = c.p
    if kind == value_number:
        if number == given_offset and starts_with(c.p, b"swizzle"):
            value = _swizzle(c)
        elif gfx12_5 <= c.level < gfx13 and (number == given_matrix_b_scale or number == given_matrix_b_scale_fmt):
            value = _named_value(c, number)
        else:
            value = number_expression(c)
    elif kind == value_bits or kind == value_lanes:
        value = _list_value(c, number, kind)
    elif kind == value_name:
        value = _named_value(c, number)
    else:
        _skip_value(c)
    give(c, s, number, value, begin)
    return True


# ------------------------------------------------------------------------------------------------------------- statement
cdef void _address_list(Cursor *c, Statement *s) noexcept nogil:
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


cdef bint _starts_operand(Cursor *c) noexcept nogil:
    """Whether a register or number follows: commas may be left out before these."""
    cdef Cursor probe = c[0]
    cdef Operand o
    if is_digit(c.p[0]) or c.p[0] == c'-' or c.p[0] == c'|':
        return True
    clear_operand(&o, c.p)
    return parse_register(&probe, &o) and not probe.failed


cdef inline bint _is_accumulator_16(const Cursor *c) noexcept nogil:
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
    cdef bint image = starts_with(s.mnemonic, b"image_") or starts_with(s.mnemonic, b"bvh")
    # the target of exp is a word, without a comma behind it
    cdef bint exports = starts_with(s.mnemonic, b"exp")
    clear_statement(s)
    skip_blanks(c)
    while not at_end(c) and not c.failed:
        if separated and not exports and s.count < operand_limit and plain_register(c, &s.operands[s.count], &separated):
            s.count += 1
            continue
        if c.p[0] == c':' and c.p[1] == c':':
            return
        if is_word(c.p[0]) and not (c.p[0] in (c'v', c's') and (is_digit(c.p[1]) or c.p[1] == c'[')) \
                and not (separated and s.given == 0 and _is_accumulator_16(c)) and parse_modifier(c, s):
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
        if not separated and not _starts_operand(c):
            fail(c, c.p, b"this instruction has no modifier %", c.p, symbol_end(c.p) if is_symbol(c.p[0]) else c.p + 1)
            return
        if s.count >= operand_limit:
            fail_plain(c, c.p, b"too many operands")
            return
        if image and c.p[0] == c'[' and s.count == 1 and s.list_count == 0:
            _address_list(c, s)
        else:
            parse_operand(c, &s.operands[s.count])
            note_signs(s, &s.operands[s.count])
            s.count += 1
        separated = accept(c, c',')
