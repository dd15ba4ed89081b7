# Text of names, values and registers.
# ------------------------------------------------------------------------------------------------------------------ names
cdef inline void put_name(Printer *t, uint32_t domain, uint32_t value) noexcept nogil:
    """A name that has to exist."""
    cdef Span span = name_of(t.names, domain, value)
    if span.text == NULL:
        t.has_no_syntax = True
    else:
        put_span(t, span)


cdef inline bint has_name(const Printer *t, uint32_t domain, uint32_t value) noexcept nogil:
    return name_of(t.names, domain, value).text != NULL


cdef void put_word(Printer *t, uint32_t word) noexcept nogil:
    """Eight digits."""
    put_text(t, b"0x")
    put_digits(t, word, 28)


cdef void put_bits(Printer *t, const char *name, uint32_t value, uint32_t count) noexcept nogil:
    """`` name:[0,1]``"""
    cdef uint32_t i
    put_text(t, name)
    put(t, c'[')
    for i in range(count):
        if i:
            put(t, c',')
        put(t, <char>(c'0' + (value >> i & 1)))
    put(t, c']')


cdef inline void put_comma(Printer *t) noexcept nogil:
    t.p[0] = c','
    t.p[1] = c' '
    t.p += 2


cdef inline void separate(Printer *t, uint32_t position) noexcept nogil:
    """What stands before the operand of a position: a blank behind the mnemonic, a comma later."""
    if position:
        put_comma(t)
    else:
        put(t, c' ')


# ----------------------------------------------------------------------------------------------------------------- values
cdef Value *note_value(Printer *t, uint32_t kind, const char *begin) noexcept nogil:
    """Note the value whose text goes from `begin` to here; NULL where there is no room for it."""
    cdef Value *value
    t.values.count += 1
    if t.values.count > value_limit:
        return NULL
    value = &t.values.items[t.values.count - 1]
    value.kind = kind
    value.begin = begin
    value.end = t.p
    return value


cdef void note_operand(Printer *t, uint32_t kind, const char *begin, const uint16_t *slot, uint32_t size) noexcept nogil:
    """Callers ask before whether anybody wants to know (``Printer.values``)."""
    cdef Value *value = note_value(t, kind, begin)
    if value != NULL:
        value.slot = slot
        value.size = size


cdef inline void note_immediate(Printer *t, uint32_t kind, const char *begin, uint32_t bits, uint32_t shift, const char *name) noexcept nogil:
    cdef Value *value = NULL
    if t.values != NULL:
        value = note_value(t, kind, begin)
    if value != NULL:
        value.bits = bits
        value.shift = shift
        value.name = name


cdef void put_immediate(Printer *t, const Decoded *d, uint32_t shift) noexcept nogil:
    """The immediate in hexadecimal digits, without its lowest bits."""
    cdef const char *begin = t.p
    put_signed_hex(t, <int32_t>d.immediate >> shift)
    note_immediate(t, value_hexadecimal, begin, 0xffffffffU, shift, NULL)


# -------------------------------------------------------------------------------------------------------------- registers
cdef void _put_range(Printer *t, const char *prefix, uint32_t first, uint32_t dwords) noexcept nogil:
    put_text(t, prefix)
    if dwords <= 1:
        put_number(t, first)
        return
    put(t, c'[')
    put_number(t, first)
    put(t, c':')
    put_number(t, first + dwords - 1)
    put(t, c']')


cdef void _named_pair(Printer *t, const char *name, uint32_t half, uint32_t dwords) noexcept nogil:
    if dwords > 2 or (dwords == 2 and half):
        t.has_no_syntax = True
    put_text(t, name)
    if dwords == 1:
        put_text(t, b"_hi" if half else b"_lo")


cdef inline bint _is_aligned(uint32_t number, uint32_t dwords) noexcept nogil:
    """SGPR tuples are aligned to their size, four at most."""
    if dwords <= 1:
        return True
    return number % 4 == 0 if dwords > 2 else number % 2 == 0


cdef void _scalar_register(Printer *t, uint32_t code, uint32_t dwords) noexcept nogil:
    cdef uint32_t sgprs = register_vcc >> 2 if t.level >= gfx10 else 102 if t.level >= gfx8 else 104
    if code + dwords <= sgprs:
        if not _is_aligned(code, dwords):
            t.has_no_syntax = True
        _put_range(t, b"s", code, dwords)
    elif code == 230 and dwords == 2 and t.level >= gfx12_5:
        put_text(t, b"src_flat_scratch_base_lo")
    elif code >= 128:
        _special(t, code)
    elif code == register_exec >> 2 and dwords == 2:
        put_text(t, b"exec")
    elif code == register_null >> 2 and t.level >= gfx10:
        put_text(t, b"null")
    elif code == register_vcc >> 2 and dwords == 2:
        put_text(t, b"vcc")
    elif t.level < gfx10 and code < register_vcc >> 2 and code >= sgprs:
        if t.level < gfx8 or code < 104:
            _named_pair(t, b"flat_scratch", code & 1, dwords)
        else:
            _named_pair(t, b"xnack_mask", code & 1, dwords)
    elif t.level < gfx9 and 108 <= code < 112:
        _named_pair(t, b"tba" if code < 110 else b"tma", code & 1, dwords)
    elif 108 <= code < register_m0 >> 2:
        _trap_register(t, code, dwords)
    elif dwords == 1 or (code == register_null >> 2 and dwords == 2 and t.wide_null):
        put_name(t, domain_register_text, code)
    else:
        t.has_no_syntax = True


cdef void _trap_register(Printer *t, uint32_t code, uint32_t dwords) noexcept nogil:
    cdef uint32_t first = 108 if t.level >= gfx9 else 112
    if code + dwords > register_m0 >> 2 or not _is_aligned(code, dwords) or dwords == 3:
        # there are no triples of them
        t.has_no_syntax = True
    _put_range(t, b"ttmp", code - first, dwords)


cdef void _special(Printer *t, uint32_t code) noexcept nogil:
    """Source codes that are neither SGPRs nor constants."""
    if (235 <= code <= 238 and t.level >= gfx9) or (230 <= code <= 231 and t.level >= gfx12_5) or (code == 239 and gfx9 <= t.level < gfx11) \
            or ((code == 251 or code == 252) and t.level < gfx11) or code == register_scc >> 2:
        put_name(t, domain_register_text, code)
    else:
        t.has_no_syntax = True


cdef void _register_text(Printer *t, uint16_t address, uint32_t size) noexcept nogil:
    cdef uint32_t dwords = (size + 3) >> 2 if size else t.mask_dwords
    cdef uint32_t code = address >> 2
    if code < 256:
        _scalar_register(t, code, dwords)
        return
    if address == register_none or ((code & 0xff) + dwords > 256 and t.level < gfx12_5):
        t.has_no_syntax = True
    elif dwords > 1 and code & 1 and aligns_vectors(t.level) and not t.any_register:
        # these generations align tuples of vector registers
        t.has_no_syntax = True
    elif code >= 512:
        _put_range(t, b"a", code & 0xff, dwords)
    elif dwords == 1:
        put_span(t, name_of(t.names, domain_register_text, code))
        if size == 2 and t.true16:
            put_text(t, b".h" if address & 2 else b".l")
    else:
        _put_range(t, b"v", code & 0xff, dwords)


cdef void put_register(Printer *t, const uint16_t *slot, uint32_t size) noexcept nogil:
    """A register, where it stands in the instruction."""
    if t.values != NULL or 128 * 4 <= slot[0] < register_vgpr0 or not put_kept_operand(t, slot[0], size):
        _put_register(t, slot, size)


cdef void _put_register(Printer *t, const uint16_t *slot, uint32_t size) noexcept nogil:
    """A register whose text is not kept yet, or that is to be noted."""
    cdef const char *begin = t.p
    cdef bint constant = 128 * 4 <= slot[0] < register_vgpr0
    if not constant:
        keep_operand(t, slot[0], size)
    if constant or not put_kept_operand(t, slot[0], size):
        _register_text(t, slot[0], size)
    if t.values != NULL:
        note_operand(t, value_operand, begin, slot, size)


cdef void put_any_register(Printer *t, const uint16_t *slot, uint32_t size) noexcept nogil:
    """A register, or a tuple that may start anywhere: its text is not the one that is kept."""
    cdef OperandTable **kept = t.kept
    t.kept = NULL
    t.any_register = True
    put_register(t, slot, size)
    t.any_register = False
    t.kept = kept


cdef inline bint _selects_by_words(uint16_t opcode) noexcept nogil:
    """Whether the third source is two integers of 32 bits rather than one of 64."""
    return opcode == op_v_perm_pk16_b4_u4 or opcode == op_v_perm_pk16_b6_u4 or opcode == op_v_perm_pk16_b8_u4


cdef void operand_text(Printer *t, const Decoded *d, uint32_t position) noexcept nogil:
    cdef uint32_t code = d.source[position] >> 2
    cdef uint32_t size = d.source_bytes[position]
    if code >= 256 or code < 128:
        _register_text(t, d.source[position], size)
    elif code == 255:
        _put_literal(t, d)
        if t.level >= gfx12_5 and size == 8 and d.literal >> 31 and not t.facts[d.opcode] & fact_floating \
                and not d.format & (format_vop3 | format_vop3p):
            # assemblers take two dwords for such a number
            t.has_no_syntax = True
    elif code == wide_literal_code and t.level >= gfx12_5:
        _put_wide_literal(t, d)
    elif 128 <= code <= 208 or 240 <= code <= 248:
        if code == 248 and (size == 8 and not (position == 2 and _selects_by_words(d.opcode)) or takes_doubles(d.opcode)
                            or t.facts[d.opcode] & fact_double_matrix or (t.level < gfx12 and t.facts[d.opcode] & fact_wave_matrix)):
            put_text(t, b"0.15915494309189532")
        else:
            put_name(t, domain_register_text, code)
    elif code == 254 and t.level < gfx11 and not gfx90a <= t.level < gfx10:
        # form_error says where it can be
        put_text(t, b"src_lds_direct")
    else:
        _register_text(t, d.source[position], size)


cdef void put_operand(Printer *t, const Decoded *d, uint32_t position) noexcept nogil:
    """A source, where it stands in the instruction."""
    if t.values != NULL or not put_kept_operand(t, d.source[position], d.source_bytes[position]):
        _put_operand(t, d, position)


cdef void _put_operand(Printer *t, const Decoded *d, uint32_t position) noexcept nogil:
    """A source whose text is not kept yet, or that is to be noted."""
    cdef const char *begin = t.p
    keep_operand(t, d.source[position], d.source_bytes[position])
    if not put_kept_operand(t, d.source[position], d.source_bytes[position]):
        operand_text(t, d, position)
    if t.values != NULL:
        note_operand(t, _literal_kind(t, d, position) if d.source[position] == 255 * 4 else value_operand, begin, &d.source[position],
                     d.source_bytes[position])


cdef bint is_inline_value(uint32_t value) noexcept nogil:
    if value <= 64 or value >= 0xfffffff0U or 0xfff0 <= value <= 0xffff or value == 0x3e22f983 or value == 0x3118:
        return True
    # 0.5, 1, 2, 4 of 32 and 16 bits
    if value & 0x7fffff == 0 and 0x7e <= (value >> 23 & 0xff) <= 0x81:
        return True
    return value >> 16 == 0 and value & 0x3ff == 0 and 14 <= (value >> 10 & 31) <= 17


cdef inline bint _has_half_literals(const Printer *t, const Decoded *d, uint32_t position) noexcept nogil:
    """Whether assemblers take 16 bits alone for the literal of a source."""
    if d.opcode == op_v_cvt_pk_f32_fp8 or d.opcode == op_v_cvt_pk_f32_bf8:
        return t.level >= gfx11_7
    if t.facts[d.opcode] & (fact_mixes | fact_bfloat) == fact_mixes | fact_bfloat:
        return True
    return d.source_bytes[position] == 2 or t.facts[d.opcode] & fact_scalar_half != 0 or d.opcode == op_v_cvt_f32_bf16


cdef uint32_t _literal_kind(const Printer *t, const Decoded *d, uint32_t position) noexcept nogil:
    if _has_half_literals(t, d, position) or (d.source_bytes[position] == 8 and (t.level >= gfx12_5 or t.facts[d.opcode] & fact_floating)):
        return value_half_literal
    # there is nothing to tell it from where a literal has to be, or no constant can be
    return value_plain_literal if opcode_flags[d.opcode] & opcode_flag_literal or d.format == format_sopk else value_literal


cdef void _put_literal(Printer *t, const Decoded *d) noexcept nogil:
    """A literal; marked as one where assemblers would take an inline constant for its value."""
    cdef uint32_t i
    cdef bint marked = is_inline_value(d.literal)
    for i in range(d.source_count):
        if d.source[i] != 255 * 4:
            continue
        if d.literal > 0xffff and _has_half_literals(t, d, i):
            # text has 16 bits for a 16-bit operand
            t.has_no_syntax = True
        if d.source_bytes[i] == 8 and t.facts[d.opcode] & fact_floating and is_wide_inline(<uint64_t>d.literal << 32):
            # the high half of a number that has an inline constant
            marked = True
    if opcode_flags[d.opcode] & opcode_flag_literal or d.format == format_sopk or not marked:
        put_hex(t, d.literal)
        return
    put_text(t, b"lit(")
    put_hex(t, d.literal)
    put(t, c')')


cdef void _put_wide_literal(Printer *t, const Decoded *d) noexcept nogil:
    """A literal of two dwords, marked as one where assemblers would take a shorter form for its value."""
    cdef int64_t value = <int64_t>(d.literal | <uint64_t>d.immediate << 32)
    cdef bint floating = t.facts[d.opcode] & fact_floating != 0
    cdef bint plain = d.immediate != 0 if opcode_flags[d.opcode] & opcode_flag_literal else not shorter_literal(value, floating)
    put_text(t, b"0x" if plain else b"lit64(0x")
    if d.immediate:
        put_hex_digits(t, d.immediate)
        put_digits(t, d.literal, 28)
    else:
        put_hex_digits(t, d.literal)
    if not plain:
        put(t, c')')


cdef inline void put_destination(Printer *t, const Decoded *d, uint32_t position) noexcept nogil:
    if unaligned_result(d.opcode):
        put_any_register(t, &d.destination[position], d.destination_bytes[position])
    else:
        put_register(t, &d.destination[position], d.destination_bytes[position])


cdef void put_modified(Printer *t, const Decoded *d, uint32_t position, uint32_t neg, uint32_t magnitude) noexcept nogil:
    """A source with its sign and magnitude modifiers."""
    cdef bint negative = (neg >> position & 1) != 0
    if magnitude >> position & 1:
        if d.source[position] == 255 * 4 and d.source_bytes[position] == 8:
            # a literal of half the bits has no magnitude
            t.has_no_syntax = True
        if negative:
            put(t, c'-')
        put(t, c'|')
        put_operand(t, d, position)
        put(t, c'|')
    elif d.source[position] == 255 * 4 and d.source_bytes[position] == 8 and negative:
        t.has_no_syntax = True
    elif negative and 128 <= d.source[position] >> 2 < 256:
        # before a constant the minus sign would be part of its value
        put_text(t, b"neg(")
        put_operand(t, d, position)
        put(t, c')')
    else:
        if negative:
            put(t, c'-')
        put_operand(t, d, position)


cdef inline void put_opcode(Printer *t, uint32_t opcode) noexcept nogil:
    put_span(t, name_of(t.names, domain_spelling, opcode))
