# Constants of the text assembler: numbers to inline codes and literals.

cdef uint32_t _inline_code(uint64_t pattern, uint32_t bits, bint has_inverse_pi) noexcept nogil:
    """Operand code of an inline floating-point constant, 0 if the bit pattern is none."""
    cdef uint64_t magnitude
    cdef uint32_t sign = <uint32_t>(pattern >> (bits - 1)) & 1
    cdef uint32_t i
    magnitude = pattern & ((<uint64_t>1 << (bits - 1)) - 1)
    cdef uint64_t inverse_two_pi = 0x3fc45f306dc9c882ULL
    if bits == 16:
        inverse_two_pi = 0x3118
    elif bits == 32:
        inverse_two_pi = 0x3e22f983
    if has_inverse_pi and pattern == inverse_two_pi:
        return 248
    # 0.5, 1, 2, 4: exponents one apart, no mantissa
    for i in range(4):
        if bits == 16 and magnitude == 0x3800 + 0x400 * i:
            return 240 + 2 * i + sign
        if bits == 32 and magnitude == 0x3f000000U + 0x800000U * i:
            return 240 + 2 * i + sign
        if bits == 64 and magnitude == 0x3fe0000000000000ULL + 0x10000000000000ULL * i:
            return 240 + 2 * i + sign
    return 0


cdef uint64_t _float_pattern(Job *j, const Operand *o, uint32_t bits) noexcept nogil:
    """Bits of a floating-point number."""
    if bits == 16 and j.facts[j.d.opcode] & fact_bfloat:
        return to_bfloat(<float>o.number)
    if bits == 32 and single_overflows(o.number):
        fail(&j.c, o.begin, b"% is beyond 32-bit floating point", o.begin, o.end)
    elif bits == 16 and half_overflows(o.number):
        fail(&j.c, o.begin, b"% is beyond 16-bit floating point", o.begin, o.end)
    return float_to_bits(o.number, bits)


cdef uint16_t _put_literal(Job *j, const Operand *o, uint32_t value) noexcept nogil:
    if j.d.has_literal and (j.d.literal != value or j.literal_expression != NULL):
        fail_plain(&j.c, o.begin, b"two different literals")
    j.d.has_literal = 1
    j.d.literal = value
    return literal_address


cdef inline bint fits_literal(int64_t value, uint32_t bits) noexcept nogil:
    """Whether a literal of 16 or 32 bits can have a value, signed or not."""
    return -0x8000 <= value <= 0xffff if bits == 16 else -0x80000000LL <= value <= 0xffffffffLL


cdef void refuse_literal(Cursor *c, uint32_t bits, const char *begin, const char *end) noexcept nogil:
    fail(c, begin, b"% does not fit 16 bits" if bits == 16 else b"% does not fit 32 bits", begin, end)


cdef uint16_t _put_wide(Job *j, const Operand *o, uint64_t value) noexcept nogil:
    """A literal of two dwords (GFX12.5)."""
    if j.d.has_literal and (j.d.literal | <uint64_t>j.d.immediate << 32) != value:
        fail_plain(&j.c, o.begin, b"two different literals")
    j.d.has_literal = 1
    j.d.literal = <uint32_t>value
    j.d.immediate = <uint32_t>(value >> 32)
    return wide_literal_code * 4


cdef inline bint takes_wide_literal(const Job *j) noexcept nogil:
    """Whether the instruction's encoding has room for a literal of two dwords."""
    return j.c.level >= gfx12_5 and not j.d.format & (format_vop3 | format_vop3p | format_dpp16 | format_dpp8)


cdef uint16_t _put_later(Job *j, const Operand *o, uint32_t bits) noexcept nogil:
    """A literal whose value is known at the end of the source."""
    if j.d.has_literal:
        fail_plain(&j.c, o.begin, b"two different literals")
    j.d.has_literal = 1
    j.d.literal = 0
    j.literal_expression = o.inner
    j.literal_bits = 16 if bits == 16 else 32
    return literal_address


cdef inline uint32_t _width_of_pattern(const Job *j, uint32_t bits) noexcept nogil:
    return 32 if bits == 16 and j.facts[j.d.opcode] & fact_bfloat else bits


cdef inline uint64_t _widened(const Job *j, uint64_t pattern, uint32_t bits) noexcept nogil:
    """A bfloat16 as the binary32 that it abbreviates; 1/(2 pi) is 0x3e22 there."""
    if bits != 16 or not j.facts[j.d.opcode] & fact_bfloat:
        return pattern
    return 0x3e22f983 if pattern == 0x3e22 else pattern << 16


cdef inline bint _takes_inline(const Job *j, uint32_t code) noexcept nogil:
    """Whether a floating-point number is an inline constant: in this opcode, GFX11 has those in both halves, where text has the low one."""
    return code < 240 or j.d.opcode != op_v_pk_fmac_f16 or j.c.level < gfx11


cdef uint32_t _doubled_code(const Job *j, int64_t value) noexcept nogil:
    """The inline constant that both halves of a number are, where a packed operation has it in both (``_takes_inline``); else 0."""
    if j.d.opcode != op_v_pk_fmac_f16 or j.c.level < gfx11 or value < 0 or value >> 16 != value & 0xffff:
        return 0
    return _inline_code(<uint64_t>value & 0xffff, 16, True)


cdef inline bint is_addend(const Job *j) noexcept nogil:
    """Whether the next source is the third one of a dot product of pairs."""
    return j.d.source_count == 2 and (j.d.opcode == op_v_dot2_f16_f16 or j.d.opcode == op_v_dot2_f32_f16 or j.d.opcode == op_v_dot2_bf16_bf16)


cdef inline bint _is_pair(const Job *j) noexcept nogil:
    """Whether the next source is two halves, of which a floating-point constant is the low one; an integer is both, 32 bits of it."""
    cdef uint32_t facts = j.facts[j.d.opcode]
    cdef bint single = opcode_format[j.d.opcode] == format_vop1 or facts & fact_mixes != 0
    return (facts & fact_packed or (facts & fact_bfloat and not single)) and not is_addend(j) and not takes_half_matrix(j)


cdef inline bint takes_literals_alone(uint32_t opcode) noexcept nogil:
    """Whether every constant is a literal."""
    return opcode == op_v_cvt_pk_fp8_f16 or opcode == op_v_cvt_pk_bf8_f16


cdef inline bint takes_half_matrix(const Job *j) noexcept nogil:
    """Whether what a matrix operation adds to has 16 bits, and constants of that size (GFX12; LLVM takes no integers on GFX11)."""
    return j.d.opcode == op_v_wmma_f16_16x16x16_f16_gfx12 or j.d.opcode == op_v_wmma_bf16_16x16x16_bf16_gfx12


cdef inline bint _is_pair_of_words(const Job *j) noexcept nogil:
    """Whether the source is two integers of 32 bits rather than one of 64: the selectors of v_perm_pk16."""
    return j.d.source_count == 2 and (
        j.d.opcode == op_v_perm_pk16_b4_u4 or j.d.opcode == op_v_perm_pk16_b6_u4 or j.d.opcode == op_v_perm_pk16_b8_u4)


cdef uint16_t constant(Job *j, const Operand *o, uint32_t bits, bint floating) noexcept nogil:
    """Address of a constant: an inline code, else the literal."""
    cdef uint64_t pattern, mask
    cdef int64_t value = o.integer
    cdef int64_t small
    cdef uint32_t code
    cdef uint32_t whole = 32 if bits == 16 and _is_pair(j) else bits                 # of an integer
    cdef bint has_inverse_pi = j.c.level >= gfx8
    if o.kind == operand_symbol:
        return _put_later(j, o, 32 if j.facts[j.d.opcode] & fact_mixes else whole)
    if o.kind == operand_float and bits == 16 and not floating and half_overflows(o.number):
        return _put_literal(j, o, <uint32_t>_float_pattern(j, o, 32))
    if o.kind == operand_float:
        pattern = _float_pattern(j, o, bits)
        if pattern == 0 and o.number != 0:
            fail(&j.c, o.begin, b"% is too small for a number of this size", o.begin, o.end)
        if _width_of_pattern(j, bits) != bits and float_bits(<float>o.number) == 0x3e22f983:
            # as a bfloat16 constant it is truncated, not rounded
            pattern = 0x3e22
        code = 128 if pattern == 0 else _inline_code(_widened(j, pattern, bits), _width_of_pattern(j, bits), has_inverse_pi)
        if bits == 64 and _is_pair_of_words(j) and float_bits(<float>o.number) == 0x3e22f983:
            code = 248
        if code and not (o.is_literal or takes_literals_alone(j.d.opcode)) and _takes_inline(j, code):
            return <uint16_t>(code * 4)
        if bits == 64 and j.c.level >= gfx12_5 and opcode_flags[j.d.opcode] & opcode_flag_literal:
            return _put_wide(j, o, pattern)
        if bits == 16 and not floating:
            # 16-bit integers take the literal for one of 32 bits
            pattern = _float_pattern(j, o, 32)
        if bits == 64 and floating and takes_wide_literal(j) and (o.wide_literal or pattern & 0xffffffffULL):
            return _put_wide(j, o, pattern)
        if bits == 64 and _is_pair_of_words(j):
            return _put_literal(j, o, <uint32_t>_float_pattern(j, o, 32))
        if bits == 64 and not floating:
            fail(&j.c, o.begin, b"% is no 64-bit integer, and no inline constant", o.begin, o.end)
        return _put_literal(j, o, <uint32_t>(pattern >> 32) if bits == 64 else <uint32_t>pattern)
    if not o.is_literal and not takes_literals_alone(j.d.opcode):
        small = value - (<int64_t>1 << whole) if whole < 64 and (<uint64_t>value >> (whole - 1)) == 1 else value
        if 0 <= small <= 64:
            return <uint16_t>((128 + small) * 4)
        if -16 <= small < 0:
            return <uint16_t>((192 - small) * 4)
        # 16-bit integer operands take no bit patterns of floating-point constants
        mask = 0xffffffffffffffffULL if bits == 64 else (<uint64_t>1 << bits) - 1
        if (bits != 16 or floating) and (value >= 0 or bits == 64) and <uint64_t>value & ~mask == 0:
            code = _inline_code(_widened(j, <uint64_t>value, bits), _width_of_pattern(j, bits), has_inverse_pi)
            if code and _takes_inline(j, code):
                return <uint16_t>(code * 4)
        code = _doubled_code(j, value)
        if code:
            return <uint16_t>(code * 4)
        if bits == 64 and floating and fits_literal(value, 32) and not (o.negative or o.magnitude or opcode_flags[j.d.opcode] & opcode_flag_matrix):
            # an integer of 32 bits is the high half of the number
            code = _inline_code(<uint64_t>value << 32, 64, has_inverse_pi)
            if code:
                return <uint16_t>(code * 4)
    if whole == 16 and -0x8000 <= value < 0:
        value &= 0xffff
    if bits == 64 and j.c.level >= gfx12_5 and opcode_flags[j.d.opcode] & opcode_flag_literal:
        # beside a literal that always has two dwords
        return literal_operand(j, o, 64)
    if bits == 64 and takes_wide_literal(j) and (o.wide_literal or not shorter_literal(value, floating)):
        return _put_wide(j, o, <uint64_t>value)
    if not fits_literal(value, 32):
        if bits == 64 and floating and value & 0xffffffffLL == 0:
            return _put_literal(j, o, <uint32_t>(<uint64_t>value >> 32))
        refuse_literal(&j.c, 32, o.begin, o.end)
    if whole == 16 and not fits_literal(value, 16) and j.facts[j.d.opcode] & (fact_mixes | fact_bfloat) != fact_mixes:
        # mixed operations have binary32 as well, which LLVM does not take (and we not beside bfloat16)
        refuse_literal(&j.c, 16, o.begin, o.end)
    return _put_literal(j, o, <uint32_t>value)


cdef uint16_t literal_operand(Job *j, const Operand *o, uint32_t bits) noexcept nogil:
    """A constant that is always a literal."""
    cdef uint64_t pattern
    if bits == 64:
        if o.kind != operand_float and o.kind != operand_integer:
            fail(&j.c, o.begin, b"% is not a constant", o.begin, o.end)
        # an integer of 32 bits is the high half of the number, unless it is marked as a literal of 64
        pattern = _float_pattern(j, o, 64) if o.kind == operand_float else <uint64_t>o.integer
        return _put_wide(j, o, pattern << 32 if o.kind == operand_integer and not o.wide_literal and fits_literal(o.integer, 32) else pattern)
    if o.kind == operand_symbol:
        return _put_later(j, o, bits)
    if o.kind == operand_float:
        return _put_literal(j, o, <uint32_t>_float_pattern(j, o, bits))
    if o.kind != operand_integer:
        fail(&j.c, o.begin, b"% is not a constant", o.begin, o.end)
    elif not fits_literal(o.integer, bits):
        refuse_literal(&j.c, bits, o.begin, o.end)
    return _put_literal(j, o, <uint32_t>o.integer & (0xffff if bits == 16 and o.integer < 0 else 0xffffffffU))
