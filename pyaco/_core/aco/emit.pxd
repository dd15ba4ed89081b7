"""Writing machine instructions with physical registers, for passes after register allocation."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from isa_tables cimport opcode_format
from pyaco._core.ir.program cimport (
    Definition, Operand, ProgramData, Rewrite, class_s1, class_v1, definition_register, instruction_make, operand_c32,
    operand_register, register_scc, rewrite_emit,
)

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

# Each appends one instruction in its opcode's own format and returns its id.
cdef inline uint32_t emit_any(Rewrite *out, uint16_t opcode, const Definition *definitions, uint32_t definition_count,
                              const Operand *operands, uint32_t operand_count) except 0 nogil:
    cdef uint32_t i = instruction_make(out.program, opcode, opcode_format[opcode], definitions, definition_count, operands,
                                       operand_count)
    rewrite_emit(out, i)
    return i

cdef inline uint32_t emit_0(Rewrite *out, uint16_t opcode, uint32_t immediate) except 0 nogil:
    cdef uint32_t i = emit_any(out, opcode, NULL, 0, NULL, 0)
    out.program.instructions.immediate[i] = immediate
    return i

cdef inline uint32_t emit_1(Rewrite *out, uint16_t opcode, Definition d, Operand a) except 0 nogil:
    return emit_any(out, opcode, &d, 1, &a, 1)

cdef inline uint32_t emit_2(Rewrite *out, uint16_t opcode, Definition d, Operand a, Operand b) except 0 nogil:
    cdef Operand[2] operands
    operands[0] = a
    operands[1] = b
    return emit_any(out, opcode, &d, 1, operands, 2)

cdef inline uint32_t emit_3(Rewrite *out, uint16_t opcode, Definition d, Operand a, Operand b, Operand c) except 0 nogil:
    cdef Operand[3] operands
    operands[0] = a
    operands[1] = b
    operands[2] = c
    return emit_any(out, opcode, &d, 1, operands, 3)

# With a second definition (SCC, a carry).
cdef inline uint32_t emit_1d2(Rewrite *out, uint16_t opcode, Definition d, Definition e, Operand a) except 0 nogil:
    cdef Definition[2] definitions
    definitions[0] = d
    definitions[1] = e
    return emit_any(out, opcode, definitions, 2, &a, 1)

cdef inline uint32_t emit_2d2(Rewrite *out, uint16_t opcode, Definition d, Definition e, Operand a, Operand b) except 0 nogil:
    cdef Definition[2] definitions
    cdef Operand[2] operands
    definitions[0] = d
    definitions[1] = e
    operands[0] = a
    operands[1] = b
    return emit_any(out, opcode, definitions, 2, operands, 2)

cdef inline uint32_t emit_3d2(Rewrite *out, uint16_t opcode, Definition d, Definition e, Operand a, Operand b,
                              Operand c) except 0 nogil:
    cdef Definition[2] definitions
    cdef Operand[3] operands
    definitions[0] = d
    definitions[1] = e
    operands[0] = a
    operands[1] = b
    operands[2] = c
    return emit_any(out, opcode, definitions, 2, operands, 3)
