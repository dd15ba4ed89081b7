"""What every part of instruction selection shares: the state, values as temps, and the functions that emit ACO IR.

A NIR value becomes a temp of the class chosen by ``isel_classes``; a bool is a lane mask. ``emit`` takes an opcode and operands in
ACO's order and fills in the rest from the ISA table: classes of results, the scc definition, the constant-bus limits of VALU
instructions, and the copy to SGPRs when a uniform value is computed by the VALU.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.program cimport (
    BlockId, InstructionId, Operand, ProgramData, TempId, operand_c32, operand_of, operand_of_fixed, register_scc,
)
from pyaco._core.ir.shader cimport ShaderData, ValueId, nir_divergent, source_value
from pyaco._core.ir.source_lines cimport CurrentLine
from pyaco._core.ir.range_analysis cimport Ranges

# An instruction and its block; blocks are put together after selection, so that code can be added to any of them at any time.
cdef struct SelectedInstruction:
    BlockId block
    InstructionId instruction

# A phi whose operands are filled when the whole CFG is known.
cdef struct PendingPhi:
    ValueId value                 # NIR value
    BlockId block                 # ACO block
    InstructionId instruction

# An edge to a block that may not be numbered yet.
cdef struct LabelEdge:
    uint8_t kind
    BlockId predecessor
    uint32_t label

cdef struct FlowState:
    uint32_t loop_header_label    # 0: not in a loop
    uint32_t loop_exit_label
    bint has_branch               # the current block has ended with a jump: nothing more may be emitted into it
    bint divergent_if             # inside a divergent if (of this loop)
    bint loop_divergent_continue
    bint loop_divergent_branch    # all lanes that entered the current logical region have left it by jumps
    bint exec_may_be_empty        # after a divergent break: the code may run without lanes
    uint16_t exec_empty_depth
    uint16_t loop_depth
    uint16_t uniform_if_depth
    uint16_t divergent_if_depth

cdef enum:                        # what reads a NIR value: bits
    used_otherwise = 1            # anything but an ALU instruction
    used_alu = 2
    used_packed = 4               # an ALU instruction on two halves
    used_scalar = 8               # what could read an SGPR, and leave the result in one
    used_scalar_alu = 16          # an ALU instruction of these, or a float that the SALU computes (for which nothing leaves VGPRs)
    used_movable = 32             # of a load: nothing in its block that may write what it loads comes before all of its readers have come

# Emits what takes the place of an opcode that a level does not have: see ``isel_older``.
ctypedef TempId (*OlderFunction)(Isel *c, uint32_t opcode, TempId dst, const Operand *given, uint32_t count) except 0 nogil

cdef cppclass Isel:
    ProgramData *p
    ShaderData *s
    uint32_t gfx
    bint wave64
    bint scalar_floats            # the SALU computes floats (GFX11.5 and later)
    bint slow_fma                 # fma of 32 bits takes four times as long as multiply-add, which there is
    uint8_t mask                  # class of a lane mask
    BlockId block                 # ACO block being written
    InstructionId last            # the instruction emitted last
    TempId scc                    # temp of its scc result
    TempId second                 # temp of its second explicit result
    bint precise                  # results must not be reassociated or contracted
    bint no_unsigned_wrap
    uint16_t fp_mode
    SmallVector[uint8_t] value_class   # by NIR value; 0: no result
    SmallVector[uint16_t] value_components     # by NIR value: bit per component that anything reads
    SmallVector[uint8_t] value_used    # by NIR value: used_*
    Ranges ranges                 # of NIR values
    Zeroed[uint64_t] demanded     # bits of NIR values that are asked for; empty until a product asks
    SmallVector[uint32_t] value_temp   # by NIR value; 0: none yet
    SmallVector[uint32_t] part_first   # by temp: index of the first one in parts, 0: not split
    SmallVector[uint8_t] part_count
    SmallVector[uint32_t] parts        # temps
    TempId halved                 # the temp of 64 bits that was split last, for one use, in block halved_in
    BlockId halved_in
    TempId[2] halves
    SmallVector[SelectedInstruction] selected
    SmallVector[SelectedInstruction] selected_front
    SmallVector[PendingPhi] phis
    SmallVector[uint32_t] label_block  # by label; 0xffffffff: not bound yet
    SmallVector[LabelEdge] edges
    SmallVector[uint32_t] node_block   # by NIR block node: the ACO block in which it ended, 0xffffffff: not reached
    SmallVector[uint8_t] node_ends     # by NIR node: control does not fall out of it
    SmallVector[uint8_t] node_copies   # by NIR block node: its phis have one predecessor left and are copies
    SmallVector[uint32_t] argument_temp
    OlderFunction emit_older      # GFX6 to GFX8
    TempId scratch                # GFX6 to GFX8: the descriptor of scratch, 0: none
    FlowState flow
    CurrentLine line              # of source, that the NIR instruction being selected comes from

# The function that selects an opcode of NIR, and the argument by which it distinguishes the opcodes that it serves. Tables of these are
# indexed by opcode; each file fills in its own opcodes, once. NULL: not supported.
ctypedef int (*AluFunction)(Isel *c, ValueId instruction, TempId dst, uint64_t argument) except -1 nogil
ctypedef int (*IntrinsicFunction)(Isel *c, ValueId i, uint64_t argument) except -1 nogil

cdef struct AluSelection:
    AluFunction select
    uint64_t argument

cdef struct IntrinsicSelection:
    IntrinsicFunction select
    uint64_t argument

cdef inline Operand T(Isel *c, TempId temp) noexcept nogil:
    return operand_of(c.p, temp)

cdef inline Operand K(uint32_t value) noexcept nogil:
    return operand_c32(value)

cdef inline Operand scc_operand(Isel *c, TempId temp) noexcept nogil:
    return operand_of_fixed(c.p, temp, register_scc)

cdef inline uint8_t class_of(Isel *c, TempId temp) noexcept nogil:
    return c.p.temps.register_class[temp]

cdef inline bint is_vgpr(Isel *c, TempId temp) noexcept nogil:
    return (c.p.temps.register_class[temp] & 0x20) != 0

cdef inline bint value_divergent(Isel *c, ValueId value) noexcept nogil:
    return (c.s.instructions.flags[value] & nir_divergent) != 0

cdef inline uint32_t source_bits(Isel *c, ValueId instruction, uint32_t index) noexcept nogil:
    return c.s.instructions.bit_size[source_value(c.s, instruction, index)]

# -------------------------------------------------------------------------------------------------------------- values
# The temp of a NIR value.
cdef TempId value_temp(Isel *c, uint32_t value) except 0 nogil
# A source of an ALU instruction: the component that its swizzle names, or the whole value if it has one component.
cdef TempId source(Isel *c, ValueId instruction, uint32_t index) except 0 nogil
cdef TempId source_component(Isel *c, ValueId instruction, uint32_t index, uint32_t component) except 0 nogil
# Source `index` of an instruction other than ALU ones: the whole value.
cdef TempId source_whole(Isel *c, ValueId instruction, uint32_t index) except 0 nogil
# One element of `bytes` bytes out of a vector (of bytes * elements), element sizes below 4 in SGPRs by shifting.
cdef TempId extract(Isel *c, TempId vector, uint32_t index, uint32_t bytes) except 0 nogil
# Bits of a dword: element `index` of `bits` bits, extended; `dst` 0: a new dword temp.
cdef TempId extract_bits(Isel *c, TempId dst, TempId temp, uint32_t index, uint32_t bits, bint is_signed) except 0 nogil
# Splits a vector once into equal parts; `part` then names one of them.
cdef int split(Isel *c, TempId vector, uint32_t bytes) except -1 nogil
cdef TempId part(Isel *c, TempId vector, uint32_t index, uint32_t bytes) except 0 nogil
# Remember the parts of a vector that is made from them.
cdef int remember_parts(Isel *c, uint32_t vector, const uint32_t *temps, uint32_t count) except -1 nogil
# A vector of operands in `dst` (0: a new temp of class `register_class`).
cdef TempId create_vector(Isel *c, TempId dst, uint8_t register_class, const Operand *operands, uint32_t count) except 0 nogil
cdef TempId pair(Isel *c, TempId dst, uint8_t register_class, Operand low, Operand high) except 0 nogil

# ------------------------------------------------------------------------------------------------------------ emission
cdef int unsupported(Isel *c, const char *what, const char *name) except -1 nogil
cdef int unsupported_alu(Isel *c, ValueId instruction) except -1 nogil
cdef TempId new_temp(Isel *c, uint8_t register_class) except 0 nogil
# A register file and a size as a class.
cdef uint8_t vgpr_class(uint32_t bytes) noexcept nogil
cdef uint8_t sgpr_class(uint32_t bytes) noexcept nogil
# Put an instruction at the end of the current block.
cdef int append_instruction(Isel *c, uint32_t instruction) except -1 nogil
# An instruction with the results and operands that the ISA table says; `dst` 0: a new temp. Returns the first result (the
# scc temp if that is the only one).
cdef TempId emit(Isel *c, uint32_t opcode, TempId dst, const Operand *operands, uint32_t count) except 0 nogil
cdef TempId emit1(Isel *c, uint32_t opcode, TempId dst, Operand a) except 0 nogil
cdef TempId emit2(Isel *c, uint32_t opcode, TempId dst, Operand a, Operand b) except 0 nogil
cdef TempId emit3(Isel *c, uint32_t opcode, TempId dst, Operand a, Operand b, Operand d) except 0 nogil
# An instruction whose results (temps, 0 for none) and operands are given as they are; returns the instruction.
cdef InstructionId emit_raw(Isel *c, uint32_t opcode, TempId dst, const Operand *operands, uint32_t count) except 0 nogil
cdef uint64_t *modifiers_of_last(Isel *c) noexcept nogil
# Give the last instruction VOP3 encoding (for modifiers that need it).
cdef void promote_last(Isel *c) noexcept nogil
# A copy into a new temp of the given class, or into `dst`.
cdef TempId copy(Isel *c, TempId dst, uint8_t register_class, Operand a) except 0 nogil
cdef TempId as_vgpr(Isel *c, TempId temp) except 0 nogil
# The value of a uniform VGPR in an SGPR.
cdef TempId as_uniform(Isel *c, TempId dst, TempId temp) except 0 nogil
# The same of a vector of dwords, dword by dword.
cdef TempId uniform_dwords(Isel *c, TempId dst, TempId vector) except 0 nogil
# 8, 16 or 32 bits of a scalar in a VGPR class of just that size.
cdef TempId as_vgpr_bytes(Isel *c, TempId temp, uint32_t bytes) except 0 nogil

# ------------------------------------------------------------------------------------------- booleans and integer widths
# A lane mask as scc, of the active lanes; a scc bit as a lane mask.
cdef TempId mask_to_scc(Isel *c, TempId mask) except 0 nogil
cdef TempId scc_to_mask(Isel *c, TempId dst, TempId scc) except 0 nogil
# Widen or narrow an integer; high bits beyond `to_bits` are undefined. `dst` 0: a new temp.
cdef TempId convert_integer(Isel *c, TempId dst, TempId temp, uint32_t from_bits, uint32_t to_bits, bint is_signed) except 0 nogil
# 32-bit VALU addition and subtraction (carry results: c.second); `carry` 0: none in.
cdef TempId vadd32(Isel *c, TempId dst, Operand a, Operand b, bint carry_out, TempId carry) except 0 nogil
cdef TempId vsub32(Isel *c, TempId dst, Operand a, Operand b, bint borrow_out, TempId borrow) except 0 nogil
# How many bits of `mask` (0: all ones) are set below the lane's own, plus `base`.
cdef TempId emit_mbcnt(Isel *c, TempId dst, TempId mask, Operand base) except 0 nogil
