# Texts of operands that are kept once they have been printed. In much code the same registers and constants stand again and again, and to copy
# a text takes a tenth of making it.

# Kinds of values that printing treats alike; a template has a bit set of those that it prints.
cdef enum:
    kind_unknown = 0                  # the operand's text has not been made yet
    kind_sgpr = 1                     # those that all generations have; every other scalar register is a kind of its own
    kind_zero = 28
    kind_integer
    kind_float
    kind_vgpr
    kind_agpr
    kind_aperture                     # limits of LDS and scratch, of which there are four
    kind_condition = kind_aperture + 4  # vccz, execz, scc
    kind_none = 63                    # left to the slow path
    # of immediates and literals
    kind_nothing = 1
    kind_positive
    kind_negative


cdef inline uint32_t _exchanged(uint32_t address, uint32_t level) noexcept nogil:
    """The address of an operand as the words number it, or the other way round: GFX11 exchanged the codes of m0 and null."""
    return address ^ 4 if address >> 3 == register_m0 >> 3 and address & 3 == 0 and level >= gfx11 else address


cdef inline uint32_t _kind_of_code(uint32_t code) noexcept nogil:
    """The kind of an operand; those that depend on more than their code have none."""
    if code >= 512:
        return kind_agpr
    if code >= 256:
        return kind_vgpr
    if code < 128:
        return kind_sgpr if code < 102 else kind_sgpr + code - 101
    if code <= 208:
        return kind_integer if code > 128 else kind_zero
    if 235 <= code <= 238:
        return kind_aperture + code - 235
    if 251 <= code <= 253:
        return kind_condition + code - 251
    return kind_float if 240 <= code <= 247 else kind_none


cdef void make_operand(const Printer *t, const OperandTable *table, uint32_t code) noexcept nogil:
    """The text of an operand, as the printer has it."""
    cdef OperandText *text = &table.texts[code]
    cdef char characters[64]
    cdef Printer printer = t[0]
    cdef Decoded d
    text.kind = <uint8_t>_kind_of_code(code)
    if text.kind == kind_none:
        return
    memset(&d, 0, sizeof(d))
    d.source_count = 1
    d.source[0] = <uint16_t>_exchanged(4 * code, t.level)
    d.source_bytes[0] = <uint8_t>table.size
    printer.p = characters
    printer.values = NULL
    printer.operands = NULL
    printer.kept = NULL
    printer.has_no_syntax = False
    printer.wide_null = table.wide_null
    operand_text(&printer, &d, 0)
    if printer.has_no_syntax or printer.p - characters > <int>sizeof(text.text):
        text.kind = kind_none
        return
    text.length = <uint8_t>(printer.p - characters)
    memcpy(text.text, characters, text.length)


cdef OperandTable *table_of(OperandTables *tables, uint8_t size, bint wide_null) noexcept nogil:
    """The texts of operands of a size; NULL if there is no room for them."""
    cdef OperandTable *table = tables.of_size[wide_null][size]
    if table != NULL or tables.count == table_limit:
        return table
    table = &tables.items[tables.count]
    table.size = size
    table.wide_null = wide_null
    table.texts = <OperandText *>calloc(operand_codes, sizeof(OperandText))
    if table.texts == NULL:
        return NULL
    tables.count += 1
    tables.of_size[wide_null][size] = table
    return table


cdef void keep_operand(Printer *t, uint32_t address, uint8_t size) noexcept nogil:
    """Make the text of an operand that has none yet, if its code and size decide it."""
    cdef uint32_t code = _exchanged(address, t.level) >> 2
    cdef OperandTable *table
    if t.kept == NULL or address & 3 or code >= operand_codes:
        return
    table = table_of(t.operands, size, t.wide_null)
    if table != NULL and table.texts[code].kind == kind_unknown:
        make_operand(t, table, code)


cdef inline bint put_kept_operand(Printer *t, uint32_t address, uint8_t size) noexcept nogil:
    """Put the text of an operand, if it is kept; returns whether."""
    cdef const OperandTable *table
    cdef const OperandText *text
    cdef uint32_t code = _exchanged(address, t.level) >> 2
    if t.kept == NULL or address & 3 or code >= operand_codes:
        return False
    table = t.kept[size]
    if table == NULL or table.texts[code].length == 0:
        return False
    text = &table.texts[code]
    memcpy(t.p, text, sizeof(OperandText))  # its characters come first
    t.p += text.length
    return True
