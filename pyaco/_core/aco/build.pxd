"""Making instructions of ACO IR: one way for all kernels, inline here; ``build.pyx`` is its door for Python.

``make`` appends an instruction, with its definitions and operands, to the tables of a program; it stands in no block yet. ``emit`` also puts it
at the end of what a ``Rewrite`` is writing. Both take the opcode's own format; ``instruction_make`` of the data sheet takes another one. The
number in a name counts operands; ``d2`` says that there is a second definition.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from isa_opcodes cimport op_v_readlane_b32, op_v_readlane_b32_e64, op_v_writelane_b32, op_v_writelane_b32_e64
from isa_tables cimport opcode_format
from pyaco._core.common.table cimport table_append_many
from pyaco._core.ir.program cimport (
    Definition, InstructionId, Operand, ProgramData, Rewrite, TempId, class_s1, class_v1, definition_of_fixed,
    definition_register, gfx8, instruction_make, operand_c32, operand_c64, operand_put, operand_register, operand_undefined,
    register_exec, register_scc, rewrite_emit, temp_new,
)

# -------------------------------------------------------------------------------------------------- registers and lane masks
cdef inline Definition sgpr_definition(uint16_t reg) noexcept nogil:
    return definition_register(reg, class_s1)

cdef inline Definition vgpr_definition(uint16_t reg) noexcept nogil:
    return definition_register(reg, class_v1)

cdef inline Operand sgpr_operand(uint16_t reg) noexcept nogil:
    return operand_register(reg, class_s1)

cdef inline Operand vgpr_operand(uint16_t reg) noexcept nogil:
    return operand_register(reg, class_v1)

cdef inline Definition scc_definition() noexcept nogil:
    return definition_register(register_scc, class_s1)

cdef inline Operand scc_operand() noexcept nogil:
    return operand_register(register_scc, class_s1)

cdef inline Operand exec_operand(const ProgramData *p) noexcept nogil:
    return operand_register(register_exec, p.lane_mask)

cdef inline Definition exec_definition(const ProgramData *p) noexcept nogil:
    return definition_register(register_exec, p.lane_mask)

# The lane mask with every bit 0 or 1.
cdef inline Operand mask_constant(const ProgramData *p, bint ones) noexcept nogil:
    if p.wave_size == 32:
        return operand_c32(0xffffffffU if ones else 0)
    return operand_c64(0xffffffffffffffffULL if ones else 0)

# A new temp of the class of lane masks.
cdef inline TempId new_mask(ProgramData *p) except 0 nogil:
    return temp_new(p, p.lane_mask)

# The opcode for a lane mask of this program.
cdef inline uint16_t by_wave(const ProgramData *p, uint16_t opcode32, uint16_t opcode64) noexcept nogil:
    return opcode32 if p.wave_size == 32 else opcode64

# --------------------------------------------------------------------------------------------------------------------- make
cdef inline InstructionId make(ProgramData *p, uint16_t opcode, const Definition *definitions, uint32_t definition_count,
                               const Operand *operands, uint32_t operand_count) except 0 nogil:
    return instruction_make(p, opcode, opcode_format[opcode], definitions, definition_count, operands, operand_count)

cdef inline InstructionId make_0(ProgramData *p, uint16_t opcode, uint32_t immediate) except 0 nogil:
    cdef InstructionId i = make(p, opcode, NULL, 0, NULL, 0)
    p.instructions.immediate[i] = immediate
    return i

cdef inline InstructionId make_1(ProgramData *p, uint16_t opcode, Definition d, Operand a) except 0 nogil:
    return make(p, opcode, &d, 1, &a, 1)

cdef inline InstructionId make_2(ProgramData *p, uint16_t opcode, Definition d, Operand a, Operand b) except 0 nogil:
    cdef Operand[2] operands
    operands[0] = a
    operands[1] = b
    return make(p, opcode, &d, 1, operands, 2)

cdef inline InstructionId make_3(ProgramData *p, uint16_t opcode, Definition d, Operand a, Operand b, Operand c) except 0 nogil:
    cdef Operand[3] operands
    operands[0] = a
    operands[1] = b
    operands[2] = c
    return make(p, opcode, &d, 1, operands, 3)

cdef inline InstructionId make_1d2(ProgramData *p, uint16_t opcode, Definition d, Definition e, Operand a) except 0 nogil:
    cdef Definition[2] definitions
    definitions[0] = d
    definitions[1] = e
    return make(p, opcode, definitions, 2, &a, 1)

cdef inline InstructionId make_2d2(ProgramData *p, uint16_t opcode, Definition d, Definition e, Operand a, Operand b) except 0 nogil:
    cdef Definition[2] definitions
    cdef Operand[2] operands
    definitions[0] = d
    definitions[1] = e
    operands[0] = a
    operands[1] = b
    return make(p, opcode, definitions, 2, operands, 2)

cdef inline InstructionId make_3d2(ProgramData *p, uint16_t opcode, Definition d, Definition e, Operand a, Operand b,
                                   Operand c) except 0 nogil:
    cdef Definition[2] definitions
    cdef Operand[3] operands
    definitions[0] = d
    definitions[1] = e
    operands[0] = a
    operands[1] = b
    operands[2] = c
    return make(p, opcode, definitions, 2, operands, 3)

# A scalar instruction that also writes scc: to the temp `scc`, or to one that is never read.
cdef inline InstructionId make_scc_2(ProgramData *p, uint16_t opcode, Definition d, Operand a, Operand b, TempId scc) except 0 nogil:
    if scc == 0:
        scc = temp_new(p, class_s1)
    return make_2d2(p, opcode, d, definition_of_fixed(p, scc, register_scc), a, b)

# Replaces the operands of a phi by `count` undefined ones of the class of its definition.
cdef inline int phi_resize(ProgramData *p, InstructionId phi, uint32_t count) except -1 nogil:
    cdef uint32_t first = table_append_many(&p.operands.table, count)
    cdef uint32_t k
    cdef uint8_t register_class = p.definitions.register_class[p.instructions.definition_first[phi]]
    for k in range(count):
        operand_put(p, first + k, operand_undefined(register_class))
    p.instructions.operand_first[phi] = first
    p.instructions.operand_count[phi] = <uint16_t>count
    return 0

# --------------------------------------------------------------------------------------------------------------------- emit
cdef inline InstructionId emit_made(Rewrite *out, InstructionId i) except 0 nogil:
    rewrite_emit(out, i)
    return i

cdef inline InstructionId emit_any(Rewrite *out, uint16_t opcode, const Definition *definitions, uint32_t definition_count,
                                   const Operand *operands, uint32_t operand_count) except 0 nogil:
    return emit_made(out, make(out.program, opcode, definitions, definition_count, operands, operand_count))

cdef inline InstructionId emit_0(Rewrite *out, uint16_t opcode, uint32_t immediate) except 0 nogil:
    return emit_made(out, make_0(out.program, opcode, immediate))

cdef inline InstructionId emit_1(Rewrite *out, uint16_t opcode, Definition d, Operand a) except 0 nogil:
    return emit_made(out, make_1(out.program, opcode, d, a))

cdef inline InstructionId emit_2(Rewrite *out, uint16_t opcode, Definition d, Operand a, Operand b) except 0 nogil:
    return emit_made(out, make_2(out.program, opcode, d, a, b))

cdef inline InstructionId emit_3(Rewrite *out, uint16_t opcode, Definition d, Operand a, Operand b, Operand c) except 0 nogil:
    return emit_made(out, make_3(out.program, opcode, d, a, b, c))

cdef inline InstructionId emit_1d2(Rewrite *out, uint16_t opcode, Definition d, Definition e, Operand a) except 0 nogil:
    return emit_made(out, make_1d2(out.program, opcode, d, e, a))

cdef inline InstructionId emit_2d2(Rewrite *out, uint16_t opcode, Definition d, Definition e, Operand a, Operand b) except 0 nogil:
    return emit_made(out, make_2d2(out.program, opcode, d, e, a, b))

cdef inline InstructionId emit_3d2(Rewrite *out, uint16_t opcode, Definition d, Definition e, Operand a, Operand b,
                                   Operand c) except 0 nogil:
    return emit_made(out, make_3d2(out.program, opcode, d, e, a, b, c))

# ------------------------------------------------------------------------------------------------------------------- lanes
# Reading and writing one lane: another encoding before GFX8.
cdef inline uint16_t readlane_opcode(uint32_t gfx_level) noexcept nogil:
    return op_v_readlane_b32 if gfx_level < gfx8 else op_v_readlane_b32_e64

cdef inline uint16_t writelane_opcode(uint32_t gfx_level) noexcept nogil:
    return op_v_writelane_b32 if gfx_level < gfx8 else op_v_writelane_b32_e64
