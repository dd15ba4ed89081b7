"""What the optimizer knows of a program, and how it changes an instruction: see ``optimize.pyx`` and ``optimize_edit.pyx``."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t
from libcpp.unordered_map cimport unordered_map

from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.program cimport (
    BlockId, InstructionId, Operand, ProgramData, TempId, class_is_vgpr, definition_precise, format_dpp16, format_dpp8, format_sdwa, operand_at,
    operand_constant, operand_constant_value, operand_fixed, operand_temp, operand_undef,
)

cdef enum:
    modified_encodings = format_sdwa | format_dpp16 | format_dpp8
    f32_one = 0x3f800000
    f32_minus_one = 0xbf800000

cdef enum:                        # a mask, by a condition that all lanes agree on
    condition_unknown = 0
    condition_whole = 1              # all ones if it holds, else zero
    condition_inverse = 2            # zero if it holds, else all ones
    condition_of_active = 3          # the active lanes at least if it holds, else zero

cdef cppclass Context:
    ProgramData *p
    BlockId block
    SmallVector[uint32_t] parent          # by temp: defining instruction, 0 unknown
    SmallVector[uint32_t] home            # by temp: its block
    SmallVector[uint32_t] place           # by temp: of its instruction in the block, as order stood
    uint32_t position                # of the instruction at hand
    SmallVector[uint32_t] uses            # by temp
    SmallVector[uint8_t] canonical        # by temp: bits of a float result that follows the denormal mode
    SmallVector[uint32_t] other_uses      # by temp: what read it, other than sums of floats, as the program stood
    unordered_map[uint32_t, uint32_t] literals          # the SGPR that was last given a literal
    unordered_map[uint32_t, uint32_t] shifted           # by sum with a scalar that it shifts itself: the shifted scalar
    TempId scc                       # what scc holds here, 0 unknown
    SmallVector[uint32_t] condition       # by temp that is a mask of all lanes or none: the scc that says which, 0 unknown
    SmallVector[uint8_t] condition_kind   # by temp: what is known of such a mask; of one in scc read from an earlier one: whether turned around
    InstructionId borrow             # the last subtraction with a borrow, 0 none
    SmallVector[uint32_t] same_condition  # by temp in scc: an earlier one that scc still holds, 0 none

cdef inline uint32_t operand_row(const ProgramData *p, InstructionId i, uint32_t k) noexcept nogil:
    return p.instructions.operand_first[i] + k

cdef inline Operand source_at(const ProgramData *p, InstructionId i, uint32_t k) noexcept nogil:
    return operand_at(p, p.instructions.operand_first[i] + k)

cdef inline bint is_plain_temp(Operand o) noexcept nogil:
    return (o.flags & operand_temp) != 0 and not o.flags & operand_fixed

cdef inline uint32_t producer_of(const Context *c, Operand o) noexcept nogil:
    return c.parent[o.data] if is_plain_temp(o) else 0

cdef inline uint32_t result_of(const ProgramData *p, InstructionId i) noexcept nogil:
    return p.definitions.temp[p.instructions.definition_first[i]] if p.instructions.definition_count[i] else 0

# Whether one of two instructions is exact.
cdef inline bint is_precise(const ProgramData *p, InstructionId i, InstructionId q) noexcept nogil:
    return ((p.definitions.flags[p.instructions.definition_first[q]] | p.definitions.flags[p.instructions.definition_first[i]])
            & definition_precise) != 0

cdef inline bint is_constant(Operand o, uint64_t value) noexcept nogil:
    return (o.flags & operand_constant) != 0 and operand_constant_value(o) == value

cdef inline bint is_scalar(Operand o) noexcept nogil:
    return not o.flags & (operand_constant | operand_undef) and not class_is_vgpr(o.register_class)

# Replace an operand; keeps use counts.
cdef void set_operand(Context *c, InstructionId i, uint32_t k, Operand o) noexcept nogil
# What nothing reads any more reads nothing itself: the uses of its operands are free for others before dead code is removed.
cdef void release(Context *c, InstructionId i) noexcept nogil
# Turn an instruction into another with the same definitions.
cdef int become(Context *c, InstructionId i, uint16_t opcode, uint16_t format, const Operand *operands, uint32_t count) except -1 nogil
# Give an instruction of one definition a second one, a lane mask that nothing reads.
cdef int add_unused_mask(Context *c, InstructionId i) except -1 nogil
# Whether scalar registers and the literal fit the constant bus.
cdef bint bus_allows(const ProgramData *p, uint16_t opcode, uint16_t format, const Operand *operands, uint32_t count) noexcept nogil
# Whether each source of an opcode must keep its position and kind; such instructions are left alone.
cdef bint has_fixed_sources(uint16_t opcode) noexcept nogil
# Give a VALU instruction new operands if some encoding takes them.
cdef bint encode_operands(Context *c, InstructionId i, Operand *operands, uint32_t count) except -1 nogil
cdef int load_operands(const ProgramData *p, InstructionId i, Operand *operands) noexcept nogil
# Whether nothing but sums of floats reads a value.
cdef inline bint is_summed(const Context *c, Operand o) noexcept nogil:
    return c.uses[o.data] == 1 or c.other_uses[o.data] == 0
# Whether a value is made outside of a loop that the block at hand is in.
cdef inline bint is_made_outside(const Context *c, Operand o) noexcept nogil:
    return c.p.blocks.loop_depth[c.home[o.data]] < c.p.blocks.loop_depth[c.block]
# Whether an operand is the first result of this opcode, without modifiers, and is used nowhere else.
cdef bint is_single(const Context *c, Operand o, uint16_t opcode, uint32_t *producer) noexcept nogil
# The scalar left shift that computes an operand; 0: none does.
cdef InstructionId scalar_shift(const Context *c, Operand o) noexcept nogil
# Whether the scc result is unused.
cdef bint scc_unused(const Context *c, InstructionId i) noexcept nogil
