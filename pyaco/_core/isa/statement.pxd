"""One statement of assembly text: mnemonic, operands and modifiers, without knowledge of opcodes.

A cursor goes over the bytes of the source, which end with a zero byte; nothing is copied. A function that meets an error
says so once in the cursor and leaves a usable result, so that callers check at the end of a statement.
"""
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.string cimport string
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from pyaco._core.isa.text_tables cimport Names

cdef enum:
    operand_limit = 24
    section_limit = 64
    message_limit = 240

cdef enum OperandKind:
    operand_register
    operand_integer
    operand_float
    operand_symbol                    # an expression whose value is not known yet
    operand_call                      # name(...): hwreg, sendmsg, gpr_idx
    operand_off
    operand_word                      # a name that is none of these: export targets, attributes

# Modifiers, the single words first.
cdef enum:
    given_glc
    given_slc
    given_dlc
    given_sc0
    given_sc1
    given_nt
    given_scc
    given_offen
    given_idxen
    given_addr64
    given_lds
    given_tfe
    given_lwe
    given_gds
    given_clamp
    given_done
    given_vm
    given_compr
    given_row_en
    given_unorm
    given_da
    given_r128
    given_a16
    given_d16
    given_high
    given_offset
    given_offset0
    given_offset1
    given_row_mask
    given_bank_mask
    given_bound_ctrl
    given_fi
    given_dmask
    given_wait_exp
    given_wait_vdst
    given_wait_va_vdst
    given_wait_vm_vsrc
    given_cbsz
    given_abid
    given_blgp
    given_bitop3
    given_byte_sel
    given_dfmt
    given_nfmt
    given_index_key
    given_mul
    given_div
    given_op_sel
    given_op_sel_hi
    given_neg_lo
    given_neg                         # of 64-bit matrix operations
    given_neg_hi
    given_dpp8
    given_quad_perm
    given_dpp_ctrl                    # every other DPP16 control; the value is the control
    given_dst_sel
    given_src0_sel
    given_src1_sel
    given_dst_unused
    given_scope
    given_dim
    given_th                          # a name that depends on the opcode: only where it stands is kept
    given_format                      # the same
    modifier_count

# Modifiers of GFX12.5, in the places of others that it lacks.
cdef enum:
    given_nv = given_sc0
    given_scale_offset = given_sc1
    given_matrix_a_reuse = given_nt
    given_matrix_b_reuse = given_scc
    given_matrix_a_fmt = given_src0_sel
    given_matrix_b_fmt = given_src1_sel
    given_matrix_a_scale = given_dst_unused
    given_matrix_b_scale = given_dfmt
    given_matrix_a_scale_fmt = given_dim
    given_matrix_b_scale_fmt = given_nfmt
    given_scale_sel = given_abid

# Functions of expressions; the low two bits are the number of arguments, 0 for any.
cdef enum:
    function_max = 0
    function_or = 4
    function_align = 8 | 2
    function_extra_sgprs = 12 | 3
    function_total_vgprs = 16 | 2
    function_prefetch_size = 20 | 1

cdef struct Symbol:
    int64_t value
    int32_t section                   # -1: a number
    bint defined
    bint is_label
    const char *expression            # of a symbol that was set before its value was known, else NULL
    int64_t origin                    # where that was
    int32_t origin_section

cdef struct Operand:
    OperandKind kind
    uint16_t address                  # byte address of a register
    uint8_t dwords
    int8_t half                       # of a 16-bit register: 0 low, 1 high, -1 not said
    bint is_literal                   # lit(...)
    bint wide_literal                 # lit64(...)
    bint negative
    bint magnitude
    bint sign_extended
    int64_t integer
    double number
    const char *begin                 # of the text
    const char *end
    const char *inner                 # without wrappers and signs

cdef struct Statement:
    const char *mnemonic
    uint32_t mnemonic_length
    uint32_t count
    uint32_t list_first               # operands of a bracketed list of addresses
    uint32_t list_count
    uint64_t given                    # bit per given_*
    uint64_t taken
    bint has_signs                    # an operand is negative, a magnitude or sign-extended
    uint32_t negations_taken          # bit per operand whose sign the instruction's words hold
    uint32_t magnitudes_taken
    uint32_t extensions_taken
    Operand operands[operand_limit]
    int64_t values[modifier_count]
    const char *positions[modifier_count]
    const char *value_positions[modifier_count]

# Value of an expression: a number, plus the base of a section if `section` is one.
cdef struct Value:
    int64_t number
    int32_t section                   # -1: absolute, -2: no value, -3: to be added to `symbol`, which has none or a specifier
    const char *symbol                # what the number counts from, or a symbol without a value

cdef struct Cursor:
    const char *p
    const char *start
    const Names *names
    unordered_map[string, Symbol] *symbols
    unordered_map[uint64_t, vector[int64_t]] *local_labels    # offsets of the labels "1:", by number and section (local_key)
    uint32_t depth                    # of the expression
    bint blocked                      # a symbol that this expression needs has no value yet
    uint32_t level
    uint32_t wave_dwords
    int32_t section                   # where the next bytes go
    int64_t here
    int64_t next_vgpr                 # behind the highest register named so far
    int64_t next_sgpr
    bint failed
    const char *failed_at
    char message[message_limit]

# Records an error at `at`, unless there is one; the message is `text` with "%" replaced by the source from `begin` to `end`.
cdef void fail(Cursor *c, const char *at, const char *text, const char *begin, const char *end) noexcept nogil
cdef void fail_plain(Cursor *c, const char *at, const char *text) noexcept nogil
cdef void fail_range(Cursor *c, const char *at, const char *begin, const char *end, int64_t low, int64_t high) noexcept nogil
cdef void skip_blanks_and_comments(Cursor *c) noexcept nogil


cdef inline void skip_blanks(Cursor *c) noexcept nogil:
    """Skip blanks and comments of a line; the cursor then is at a token, a line break or the end."""
    if c.p[0] == c' ':
        c.p += 1
    # mostly there is one blank or none, and then a letter
    if c.p[0] <= c';' and (c.p[0] == c' ' or c.p[0] == c'\t' or c.p[0] == c'\r' or c.p[0] == c';' or c.p[0] == c'/'):
        skip_blanks_and_comments(c)


cdef bint at_line_end(const Cursor *c) noexcept nogil
cdef inline bint starts_with(const char *text, const char *prefix) noexcept nogil:
    """Whether text that ends in a zero byte begins with `prefix`; nothing behind the zero is read, as memcmp may."""
    while prefix[0]:
        if text[0] != prefix[0]:
            return False
        text += 1
        prefix += 1
    return True


cdef const char *word_end(const char *p) noexcept nogil
cdef const char *symbol_end(const char *p) noexcept nogil
cdef bint accept(Cursor *c, char character) noexcept nogil
cdef void expect(Cursor *c, char character) noexcept nogil
cdef Value expression(Cursor *c) noexcept nogil
# The value of a symbol that was set before its value was known, if it is known now.
cdef Value set_value(Cursor *c, Symbol *symbol) noexcept nogil
cdef const char *symbol_end(const char *p) noexcept nogil
cdef bint is_digit(char character) noexcept nogil
cdef int64_t label_number(const char *p, const char **end) noexcept nogil
cdef uint64_t local_key(int64_t number, int32_t section) noexcept nogil
# An expression whose value is known and absolute.
cdef int64_t number_expression(Cursor *c) noexcept nogil
cdef void parse_statement(Cursor *c, Statement *s) noexcept nogil
# Forgets operands and modifiers.
cdef void clear_statement(Statement *s) noexcept nogil
# Notes whether an operand has a sign.
cdef inline void note_signs(Statement *s, const Operand *o) noexcept nogil:
    s.has_signs = s.has_signs or o.negative or o.magnitude or o.sign_extended
# A name of `domain` or an expression.
cdef int64_t name_or_number(Cursor *c, uint32_t domain) noexcept nogil
cdef void parse_operand(Cursor *c, Operand *o) noexcept nogil
# A modifier at the cursor; False, and the cursor where it was, if there is none.
cdef bint parse_modifier(Cursor *c, Statement *s) noexcept nogil
# Says that modifier `number` is given; an error at `at` if it was before.
cdef void give(Cursor *c, Statement *s, int32_t number, int64_t value, const char *at) noexcept nogil
cdef void clear_operand(Operand *o, const char *begin) noexcept nogil
# Whether registers of an operand that is no text exist and are aligned.
cdef void check_register(Cursor *c, Operand *o) noexcept nogil

# How text writes a modifier's value.
cdef enum:
    value_flag
    value_number
    value_bits                        # [0,1,...]
    value_lanes                       # [7,6,...]
    value_name
    value_later
cdef uint8_t value_kind(uint32_t number) noexcept nogil
