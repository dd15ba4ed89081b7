"""The assembler's state, for those who feed it statements: text (``assemble_text.pyx``) and objects (``assemble_objects.pyx``)."""
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from pyaco._core.isa.decode cimport Decoded
from pyaco._core.isa.encode cimport encode_limit
from pyaco._core.isa.text_tables cimport TextTables
from pyaco._core.isa.statement cimport Cursor, Statement, Symbol, Value, section_limit

# What a fixup writes.
cdef enum FixupKind:
    fixup_branch                      # 16-bit distance in dwords
    fixup_literal                     # 32 bits
    fixup_data                        # `size` bytes

cdef struct Fixup:
    FixupKind kind
    uint32_t size
    int32_t section
    int64_t offset                    # offset of the bytes
    int64_t origin                    # what a distance counts from; elsewhere the value of "."
    uint32_t bits                     # of a literal: 16 or 32
    const char *expression

# An assembly: the cursor, the statement at hand and the instruction it becomes.
cdef struct Job:
    Cursor c
    Statement s
    Statement second
    Decoded d
    const uint32_t *facts             # fact_* of text_facts.pxd by opcode
    const uint16_t *short_formats     # one-dword format of a vector opcode in this generation, 0 if none
    const int16_t *unified            # unified buffer format of a data and a number format, -1 if there is none
    uint32_t suffix
    bint signed_alias                 # the mnemonic names a signed dot product whose opcode leaves signs to neg_lo
    const char *literal_expression    # of a literal whose symbols are not known yet
    uint32_t literal_bits             # of that literal: 16 or 32
    const char *branch_expression
    uint32_t words[encode_limit + 2]

cdef class Assembler:
    cdef TextTables tables
    cdef Job j
    cdef unordered_map[string, Symbol] symbols
    cdef vector[uint8_t] sections[section_limit]
    cdef vector[Fixup] fixups
    cdef vector[string] section_names
    cdef unordered_map[uint64_t, vector[int64_t]] local_labels
    cdef bytes source
    cdef const char *end              # of the source
    cdef bint linkable                # what only a linker knows becomes a relocation
    # Kernel descriptors: (name, {directive: value}, section, offset of its 64 bytes), in order.
    cdef readonly list kernels
    # Values of their directives that are known at the end of the source: (values, directive, offset of the expression, section, offset in it).
    cdef list later_values
    # (index of the section, offset in it, relocation type, symbol or "", index of the section that it is in or -1, number).
    cdef readonly list relocations
    # What a directive said of each section beside its name.
    cdef readonly dict section_words
    # What is said of symbols and target: (directive, words, index of the section, offset in it), in order.
    cdef readonly list declarations
    # Text of the metadata, None if there is none.
    cdef readonly str metadata

    cdef int run(self) except -1 nogil
    cdef int64_t here(self) noexcept nogil
    cdef void emit(self, int length) noexcept nogil
    cdef void define(self, const char *begin, const char *end, int64_t value, int32_t section, bint is_label) noexcept nogil
    cdef void assign(self, const char *begin, const char *end) noexcept nogil
    cdef void skip_line(self) noexcept nogil
    cdef void put(self, int64_t value, uint32_t size) noexcept nogil
    cdef int resolve(self) except -1 nogil
    cdef void local_label(self, const char *begin) noexcept nogil

# Opcode of the mnemonic of the job's statement, with its suffix; negative and an error if there is none.
cdef int32_t find_opcode(Job *j) noexcept nogil
# Words of an instruction whose statement (of a dual instruction: both) the job holds; 0 with an error.
cdef int statement_words(Job *j, uint16_t op) noexcept nogil
cdef int vopd(Job *j, uint16_t first) noexcept nogil
cdef void parse_second(Job *j) noexcept nogil
# Operands that are a list of calls, such as the counters of s_waitcnt: whether the cursor is at one, and its immediate.
cdef bint is_call_list(Job *j, uint32_t op) noexcept nogil
cdef void call_list(Job *j) noexcept nogil
cdef void clear_instruction(Job *j, uint16_t opcode, uint32_t format) noexcept nogil
cdef int encode_job(Job *j) noexcept nogil
