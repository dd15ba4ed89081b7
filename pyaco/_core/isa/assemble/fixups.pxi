# What an `Assembler` does with expressions that the end of the source tells, and relocations.
cdef int _resolve_one(Assembler self, Fixup later) except -1 nogil:
    cdef Cursor *c = &self.j.c
    cdef Value v
    c.p = later.expression
    c.here = later.origin
    c.section = later.section
    v = expression(c)
    if c.failed:
        return 0
    if later.kind == fixup_branch:
        _resolve_branch(self, &later, &v)
    elif v.section != -1:
        _relocate(self, &later, &v)
    elif later.kind == fixup_literal and not fits_literal(v.number, later.bits):
        refuse_literal(c, later.bits, later.expression, c.p)
    else:
        if later.kind == fixup_data:
            _check_data(self, later.expression, v.number, later.size)
        _fill_bytes(self, &later, v.number & 0xffff if later.kind == fixup_literal and later.bits == 16 else v.number)


cdef void _fill_bytes(Assembler self, const Fixup *later, int64_t value) noexcept nogil:
    cdef uint8_t *at = self.sections[later.section].data() + later.offset
    cdef uint32_t i
    for i in range(later.size):
        at[i] = <uint8_t>(<uint64_t>value >> (8 * i))


cdef void _resolve_branch(Assembler self, const Fixup *later, const Value *v) noexcept nogil:
    cdef Cursor *c = &self.j.c
    cdef uint8_t *at = self.sections[later.section].data() + later.offset
    cdef int64_t distance
    cdef char text[96]
    if v.section == -3:
        _fail_symbol(self, later, v)
        return
    if v.section != later.section:
        fail(c, later.expression, b"% is not an address in this section", later.expression, c.p)
        return
    distance = (v.number - later.origin - 4) // 4
    if v.number & 3 != later.origin & 3:
        fail(c, later.expression, b"% is not a multiple of four bytes away", later.expression, c.p)
    elif not -0x8000 <= distance <= 0x7fff:
        snprintf(text, 96, b"label %% is %lld dwords away, beyond 16 bits", <long long>distance)
        fail(c, later.expression, text, later.expression, c.p)
    else:
        at[0] = <uint8_t>distance
        at[1] = <uint8_t>(distance >> 8)


cdef void _fail_symbol(Assembler self, const Fixup *later, const Value *v) noexcept nogil:
    """Says what of a symbol is missing: the label, or a linker."""
    cdef Cursor *c = &self.j.c
    cdef const char *end = symbol_end(v.symbol)
    cdef string name
    name.assign(v.symbol, <size_t>(end - v.symbol))
    if v.section == -3 and self.symbols.count(name) == 0 and specifier_of(v.symbol, end) == 0:
        fail(c, later.expression, b"no label %", v.symbol, end)
    else:
        fail(c, later.expression, b"% is an address, which only a linker knows", later.expression, c.p)


cdef int _relocate(Assembler self, const Fixup *later, const Value *v) except -1 nogil:
    """An address: a distance in this section is known, the rest is left to a linker, if there will be one."""
    cdef Cursor *c = &self.j.c
    cdef uint32_t kind = 0
    cdef int64_t value
    if v.symbol == NULL or v.section == -2:
        fail(c, later.expression, b"% is an address, which only a linker knows", later.expression, c.p)
        return 0
    if v.section == -3:
        kind = specifier_of(v.symbol, symbol_end(v.symbol))
    if kind == 0:
        # a literal is the distance to the symbol, as LLVM has it
        kind = relocation_rel32 if later.kind == fixup_literal else relocation_abs64 if later.size == 8 else relocation_abs32
    if self.linkable:
        if later.size == (8 if kind == relocation_rel64 or kind == relocation_abs64 else 4):
            with gil:
                _record(self, later, v, kind)
        else:
            fail(c, later.expression, b"% has another size", later.expression, c.p)
        return 0
    value = _symbol_here(self, v, later.section) - later.offset
    if c.failed or (kind != relocation_rel32_low and kind != relocation_rel32_high and kind != relocation_rel64):
        c.failed = False
        _fail_symbol(self, later, v)
        return 0
    _fill_bytes(self, later, value >> 32 if kind == relocation_rel32_high else value)


cdef int64_t _symbol_here(Assembler self, const Value *v, int32_t section) noexcept nogil:
    """Offset of a symbol of this section, with what is added to it; the cursor fails if it is none."""
    cdef const char *end = v.symbol
    cdef string name
    cdef unordered_map[string, Symbol].iterator found
    while end[0] != c'@' and symbol_end(end) != end:
        end += 1
    name.assign(v.symbol, <size_t>(end - v.symbol))
    found = self.symbols.find(name)
    if found == self.symbols.end() or not self.symbols[name].is_label or self.symbols[name].section != section:
        self.j.c.failed = True
        return 0
    return self.symbols[name].value + v.number


cdef int _record(Assembler self, const Fixup *later, const Value *v, uint32_t kind) except -1:
    cdef const char *end = symbol_end(v.symbol)
    name = (<bytes>v.symbol[:end - v.symbol]).decode(errors="replace").partition("@")[0]
    self.relocations.append((later.section, later.offset, kind, name, v.section if v.section >= 0 else -1, v.number))
