# What an `Assembler` does with directives, sections, data and kernel descriptors.
cdef int _directive(Assembler self, const char *begin, const char *end) except -1 nogil:
    cdef Cursor *c = &self.j.c
    cdef int32_t number = find_name(c.names, domain_directive, begin, <uint32_t>(end - begin))
    c.here = self.here()
    if number == directive_ignored or starts_with(begin, b".cfi_"):
        self.skip_line()
    elif number == directive_byte or number == directive_short or number == directive_long or number == directive_quad:
        _data(self, <uint32_t>number)
    elif number == directive_float or number == directive_double:
        _floats(self, number == directive_double)
    elif number == directive_uleb or number == directive_sleb:
        _variable_length(self, number == directive_sleb)
    elif number == directive_set:
        _set_symbol(self)
    elif number == directive_zero:
        _zeros(self)
    elif number == directive_fill:
        _fill(self)
    elif directive_p2align <= number <= directive_balign:
        _align(self, number != directive_balign, 4 if number == directive_p2alignl else 1)
    elif number == directive_ascii or number == directive_asciz:
        _characters(self, number == directive_asciz)
    elif number == directive_text or number == directive_data or number == directive_rodata:
        _enter_section(self, begin, end)
    elif number == directive_section:
        _section(self)
    elif number == directive_metadata:
        _skip_metadata(self)
    elif number == directive_kernel:
        with gil:
            _kernel(self)
    elif number == directive_declaration:
        with gil:
            _declare(self, begin, end)
    else:
        fail(c, begin, b"directive % is not supported", begin, end)


cdef int _section(Assembler self) except -1 nogil:
    """``.section name, "flags", @type``; the name may be quoted."""
    cdef Cursor *c = &self.j.c
    cdef bint quoted = c.p[0] == c'"'
    cdef const char *begin = c.p + quoted
    cdef const char *end
    c.p = begin
    while c.p[0] and c.p[0] != c'\n' and (c.p[0] != c'"' if quoted else c.p[0] not in (c' ', c',', c'\t', c';')):
        c.p += 1
    end = c.p
    self.skip_line()
    _enter_section(self, begin, end)
    with gil:
        self.section_words.setdefault((<bytes>begin[:end - begin]).decode(errors="replace"), (<bytes>end[:c.p - end]).decode(errors="replace"))


cdef int _skip_metadata(Assembler self) except -1 nogil:
    """Metadata is no part of the code: it ends at the line that begins with ``.end_``."""
    cdef Cursor *c = &self.j.c
    cdef const char *begin = c.p
    cdef const char *line
    while c.p[0]:
        self.skip_line()
        line = c.p
        skip_blanks(c)
        while c.p[0] == c'\n':
            c.p += 1
            line = c.p
            skip_blanks(c)
        if starts_with(c.p, b".end_amd"):
            with gil:
                self.metadata = (<bytes>begin[:line - begin]).decode(errors="replace")
            self.skip_line()
            return 0
    fail_plain(c, begin, b"the metadata has no end")


cdef void _data(Assembler self, uint32_t size) noexcept nogil:
    """``.long 1, 2``: expressions of `size` bytes."""
    cdef Cursor *c = &self.j.c
    cdef const char *begin
    cdef Value v
    cdef Fixup later
    while not c.failed:
        skip_blanks(c)
        begin = c.p
        c.here = self.here()
        v = expression(c)
        if c.failed:
            return
        if v.section == -1:
            _check_data(self, begin, v.number, size)
        else:
            later.kind = fixup_data
            later.size = size
            later.section = c.section
            later.offset = self.here()
            later.origin = later.offset
            later.expression = begin
            self.fixups.push_back(later)
        self.put(v.number if v.section == -1 else 0, size)
        if not accept(c, c','):
            return


cdef void _floats(Assembler self, bint is_double) noexcept nogil:
    """``.float 1.5, -2``: numbers of 32 or 64 bits."""
    cdef Cursor *c = &self.j.c
    cdef char *end
    cdef double value
    while not c.failed:
        skip_blanks(c)
        end = <char *>c.p
        value = 0 if at_line_end(c) else strtod(c.p, &end)
        if end == c.p:
            fail_plain(c, c.p, b"a floating-point number is expected")
            return
        c.p = end
        self.put(<int64_t>float_to_bits(value, 64 if is_double else 32), 8 if is_double else 4)
        if not accept(c, c','):
            return


cdef void _variable_length(Assembler self, bint is_signed) noexcept nogil:
    """Numbers in groups of seven bits, the lowest first (LEB128 of the DWARF standard); their sizes must be known at once."""
    cdef Cursor *c = &self.j.c
    cdef int64_t value
    cdef int64_t group
    cdef bint more
    while not c.failed:
        value = number_expression(c)
        while not c.failed:
            group = value & 0x7f
            value = value >> 7 if is_signed else <int64_t>(<uint64_t>value >> 7)
            more = value != (-1 if is_signed and group & 0x40 else 0)
            self.put(group | (0x80 if more else 0), 1)
            if not more:
                break
        if not accept(c, c','):
            return


cdef void _check_data(Assembler self, const char *begin, int64_t value, uint32_t size) noexcept nogil:
    if size < 8 and not -(<int64_t>1 << (8 * size - 1)) <= value < <int64_t>1 << (8 * size):
        fail_range(&self.j.c, begin, begin, self.j.c.p, -(<int64_t>1 << (8 * size - 1)), (<int64_t>1 << (8 * size)) - 1)


cdef void _set_symbol(Assembler self) noexcept nogil:
    cdef Cursor *c = &self.j.c
    cdef const char *begin = c.p
    cdef const char *end = begin
    while word_end(end) != end or end[0] == c'.' or end[0] == c'$':
        end += 1
    c.p = end
    if end == begin:
        fail_plain(c, begin, b"the name of a symbol is expected")
    expect(c, c',')
    if not c.failed:
        self.assign(begin, end)


cdef void _repeat(Assembler self, int64_t count, int64_t value, uint32_t size) noexcept nogil:
    if not 0 <= count * size <= 1 << 28:
        fail_plain(&self.j.c, self.j.c.p, b"too many bytes")
        return
    while count:
        self.put(value, size)
        count -= 1


cdef void _zeros(Assembler self) noexcept nogil:
    """``.zero count[, value]``"""
    cdef Cursor *c = &self.j.c
    cdef int64_t count = number_expression(c)
    cdef int64_t value = number_expression(c) if accept(c, c',') else 0
    if not c.failed:
        _repeat(self, min(max(count, <int64_t>-1), <int64_t>1 << 30), value, 1)


cdef void _fill(Assembler self) noexcept nogil:
    """``.fill count[, size[, value]]``"""
    cdef Cursor *c = &self.j.c
    cdef int64_t count = number_expression(c)
    cdef int64_t size = 1
    cdef int64_t value = 0
    if accept(c, c','):
        size = number_expression(c)
        if accept(c, c','):
            value = number_expression(c)
    if not 1 <= size <= 8:
        fail_plain(c, c.p, b"a size from 1 to 8 is expected")
    if not c.failed:
        _repeat(self, min(max(count, <int64_t>-1), <int64_t>1 << 30), value, <uint32_t>size)


cdef void _align(Assembler self, bint power, uint32_t unit) noexcept nogil:
    """Pad to a multiple with a value of `unit` bytes; code is filled with s_nop, as LLVM does, if no value is given."""
    cdef Cursor *c = &self.j.c
    cdef int64_t size = number_expression(c)
    cdef int64_t value = -1
    if accept(c, c',') and not at_line_end(c) and c.p[0] != c',':
        value = number_expression(c)
    self.skip_line()
    if power:
        size = <int64_t>1 << size if 0 <= size <= 16 else -1
    if size < 0 or size > 1 << 16 or size & (size - 1):
        fail_plain(c, c.p, b"an alignment is a power of two up to 65536")
    if c.failed or size < 2:
        return
    while self.here() & (size - 1):
        if value < 0 and c.section == 0 and self.here() & 3 == 0:
            self.put(0xbf800000U, 4)
        elif self.here() & (unit - 1):
            self.put(0, 1)
        else:
            self.put(max(value, <int64_t>0), unit)


cdef void _characters(Assembler self, bint terminated) noexcept nogil:
    """Quoted text; escapes are those of C."""
    cdef Cursor *c = &self.j.c
    cdef char character
    while not c.failed:
        if c.p[0] != c'"':
            fail_plain(c, c.p, b"quoted text is expected")
            return
        c.p += 1
        while c.p[0] != c'"':
            character = c.p[0]
            if character == 0 or character == c'\n':
                fail_plain(c, c.p, b"the text has no end")
                return
            c.p += 1
            self.put(escaped(c) if character == c'\\' else character, 1)
        c.p += 1
        if terminated:
            self.put(0, 1)
        if not accept(c, c','):
            return


cdef void _enter_section(Assembler self, const char *begin, const char *end) noexcept nogil:
    cdef string name
    cdef size_t i
    name.assign(begin, <size_t>(end - begin))
    for i in range(self.section_names.size()):
        if self.section_names[i] == name:
            self.j.c.section = <int32_t>i
            return
    if self.section_names.size() == section_limit:
        fail_plain(&self.j.c, begin, b"too many sections")
        return
    self.j.c.section = <int32_t>self.section_names.size()
    self.section_names.push_back(name)


cdef int _declare(Assembler self, const char *begin, const char *end) except -1:
    """Keep a declaration: its name, its words, and the address that ``.`` is in it."""
    cdef Cursor *c = &self.j.c
    cdef const char *text
    skip_blanks(c)
    text = c.p
    while c.p[0] and c.p[0] != c'\n' and c.p[0] != c';' and not (c.p[0] == c'/' and c.p[1] == c'/'):
        c.p += 1
    words = (<bytes>text[:c.p - text]).decode(errors="replace").strip()
    self.declarations.append(((<bytes>begin[:end - begin]).decode(), words, c.section, self.here()))


cdef int _count_registers(Assembler self) except -1:
    """Give the symbols that stand for the registers named so far their values."""
    cdef bytes name
    for name, count in ((b".amdgcn.next_free_vgpr", self.j.c.next_vgpr), (b".amdgcn.next_free_sgpr", self.j.c.next_sgpr)):
        self.symbols[name].value = count
        self.symbols[name].section = -1
        self.symbols[name].defined = True


cdef int _kernel(Assembler self) except -1:
    """``.amdhsa_kernel name`` to ``.end_amdhsa_kernel``: one value a line; the descriptor's bytes are left zero."""
    cdef Cursor *c = &self.j.c
    cdef const char *begin = c.p
    cdef const char *end = begin
    while word_end(end) != end or end[0] == c'.' or end[0] == c'$' or end[0] == c'@':
        end += 1
    name = (<bytes>begin[:end - begin]).decode(errors="replace")
    values = {}
    _count_registers(self)
    c.p = end
    while not c.failed:
        self.skip_line()
        while c.p[0] == c'\n':
            c.p += 1
            skip_blanks(c)
        begin = c.p
        end = begin
        while word_end(end) != end or end[0] == c'.':
            end += 1
        word = (<bytes>begin[:end - begin]).decode(errors="replace")
        c.p = end
        skip_blanks(c)
        if word == ".end_amdhsa_kernel":
            self.kernels.append((name, values, self.section_names[c.section].decode(), self.here()))
            _repeat(self, 64, 0, 1)
            return 0
        if not word.startswith(".amdhsa_"):
            fail_plain(c, begin, b"a directive that begins with .amdhsa_ is expected")
            return 0
        if word.removeprefix(".amdhsa_") in values:
            fail(c, begin, b"% is given twice", begin, end)
            return 0
        _kernel_value(self, values, word.removeprefix(".amdhsa_"))
        if not at_line_end(c):
            fail_plain(c, c.p, b"the end of the line is expected")


cdef int _kernel_value(Assembler self, dict values, str directive) except -1:
    cdef Cursor *c = &self.j.c
    cdef const char *begin = c.p
    cdef Value v
    c.here = self.here()
    v = expression(c)
    values[directive] = v.number
    if v.section < -1 and v.symbol != NULL:
        self.later_values.append((values, directive, begin - c.start, c.section, c.here))
    elif v.section != -1:
        fail(c, begin, b"% is no number", begin, c.p)


cdef int _resolve_values(Assembler self) except -1:
    """The values of symbols and of kernels' directives that were written before the symbols that they need."""
    cdef Cursor *c = &self.j.c
    for name in [entry.first for entry in self.symbols if entry.second.expression != NULL]:
        c.blocked = False
        set_value(c, &self.symbols[name])
    for values, directive, offset, section, here in self.later_values:
        if c.failed:
            return 0
        c.p = c.start + <int64_t>offset
        c.section = section
        c.here = here
        values[directive] = number_expression(c)
