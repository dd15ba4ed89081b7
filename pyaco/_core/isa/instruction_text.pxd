"""Text of one instruction in LLVM's assembly syntax, and how characters are put behind each other.

While it prints, a printer can note where in the line stand the values that other instructions of the same form have others of
(``Values``): what ``disassemble.pyx`` makes its templates of.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, strlen

from pyaco._core.isa.decode cimport Decoded
from pyaco._core.isa.text_tables cimport Names, Span, span_padding

cdef enum:
    value_limit = 16                  # most values that are noted of a line

# What kind of value it is, and so how it is printed.
cdef enum:
    value_operand                     # a register or constant
    value_literal                     # marked as one where an inline constant has the same value
    value_plain_literal
    value_half_literal                # of 16 or 64 bits: not every value is written in the same way
    value_offset                      # in decimals behind a name; zero has no text
    value_hexadecimal
    value_scalar                      # the operand of a SOPP instruction
    value_tail                        # lane control, behind the last operand

cdef struct Value:
    uint32_t kind
    const char *begin                 # its text
    const char *end
    const uint16_t *slot              # the operand, in the `Decoded`
    uint32_t size                     # of an operand, in bytes; 0: a lane mask
    uint32_t bits                     # of the immediate
    uint32_t shift                    # of these
    const char *name

cdef struct Values:
    uint32_t count                    # may exceed value_limit: then the last ones are missing
    Value items[value_limit]

# The text of a register or constant where its code and its size decide it.
cdef struct OperandText:
    char text[14]
    uint8_t length
    uint8_t kind                      # kind_*; kind_none: more decides it

cdef enum:
    operand_codes = 768               # SGPRs and constants, VGPRs, AGPRs
    table_limit = 16

# The texts of operands of one size by their code.
cdef struct OperandTable:
    uint32_t size
    bint wide_null
    OperandText *texts

# Tables of those sizes that occur; texts are made when they are first asked for.
cdef struct OperandTables:
    uint32_t count
    OperandTable items[table_limit]
    OperandTable *of_size[2][256]     # by wide_null and size in bytes

# The ends of lines with lane control, by the bits that decide them (``line_tails.pxi``).
cdef struct Tail:
    uint32_t key
    Span text

cdef enum:
    tail_limit = 512
    tail_slots = 1024

cdef struct Tails:
    uint32_t count
    uint16_t slots[tail_slots]        # numbers of items, one more than they are; 0: empty
    Tail items[tail_limit]

cdef struct Printer:
    char *p                           # where the next character goes
    char *gap                         # where the target of a branch belongs, if the line has one
    int64_t target                    # of that branch, in dwords from the branch itself
    bint has_no_syntax                    # the syntax has no way to write the instruction
    uint32_t level
    uint32_t mask_dwords              # of a lane mask
    bint wide_null                    # null may stand for two dwords
    bint any_register                 # tuples of VGPRs start anywhere
    bint true16                       # 16-bit VGPR operands are written v0.l and v0.h
    bint wants_halves                 # an instruction has text with, and none without these names
    bint exact                        # lines assemble to the same words
    const Names *names
    const uint32_t *facts
    uint16_t dependencies[16]         # the counters of s_waitcnt_depctr: first bit | width << 8, by width
    uint32_t dependency_count
    Values *values                    # NULL: nothing is noted
    OperandTables *operands           # NULL: no texts are kept
    OperandTable **kept               # those of the instruction at hand, by size in bytes; NULL: none are taken
    const char *tail                  # where lane control begins in a line of a short encoding; NULL: there is none
    const Tails *tails                # what templates print of it


cdef inline void put(Printer *t, char character) noexcept nogil:
    t.p[0] = character
    t.p += 1


cdef inline void put_text(Printer *t, const char *text) noexcept nogil:
    cdef size_t length = strlen(text)
    memcpy(t.p, text, length)
    t.p += length


cdef inline void put_span(Printer *t, Span span) noexcept nogil:
    """Copies of a fixed size take no call; what is behind the name is overwritten."""
    cdef uint32_t done = 0
    while done < span.length:
        memcpy(t.p + done, span.text + done, span_padding)
        done += span_padding
    t.p += span.length


cdef inline uint32_t digits(uint32_t value) noexcept nogil:
    """How many ``put_number`` writes."""
    cdef uint32_t count = 1
    while value >= 10:
        value //= 10
        count += 1
    return count


cdef inline void put_number(Printer *t, uint32_t value) noexcept nogil:
    cdef char *p
    t.p += digits(value)
    p = t.p - 1
    while value >= 10:
        p[0] = <char>(c'0' + value % 10)
        value //= 10
        p -= 1
    p[0] = <char>(c'0' + value)


cdef inline void put_signed(Printer *t, int32_t value) noexcept nogil:
    if value < 0:
        put(t, c'-')
        put_number(t, 0 - <uint32_t>value)
    else:
        put_number(t, <uint32_t>value)


cdef inline void put_digits(Printer *t, uint32_t value, int shift) noexcept nogil:
    """Hexadecimal digits, from the one at bit `shift` on."""
    cdef const char *names = b"0123456789abcdef"
    while shift >= 0:
        put(t, names[value >> shift & 15])
        shift -= 4


cdef inline void put_hex(Printer *t, uint32_t value) noexcept nogil:
    t.p[0] = c'0'
    t.p[1] = c'x'
    t.p += 2
    put_hex_digits(t, value)


cdef inline void put_hex_digits(Printer *t, uint32_t value) noexcept nogil:
    cdef int shift = 28
    while shift and not value >> shift:
        shift -= 4
    put_digits(t, value, shift)


cdef inline void put_signed_hex(Printer *t, int32_t value) noexcept nogil:
    if value < 0:
        put(t, c'-')
        put_hex(t, 0 - <uint32_t>value)
    else:
        put_hex(t, <uint32_t>value)
