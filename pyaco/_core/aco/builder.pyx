"""Making instructions in their opcode's own format: see ``builder.pxd``."""
from libc.stdint cimport uint16_t, uint32_t, uint8_t

from isa_tables cimport opcode_format
from pyaco._core.common.table cimport table_append_many
from pyaco._core.ir.program cimport (
    Definition, Operand, ProgramData, class_s1, definition_of_fixed, definition_register,
    instruction_make, operand_c32, operand_c64, operand_constant, operand_fixed, operand_put, operand_register,
    operand_size_mask, operand_temp, operand_undef, operand_undefined, register_exec, register_scc, temp_new,
)


cdef uint32_t build(ProgramData *p, uint16_t opcode, const Definition *definitions, uint32_t definition_count,
                    const Operand *operands, uint32_t operand_count) except 0 nogil:
    return instruction_make(p, opcode, opcode_format[opcode], definitions, definition_count, operands, operand_count)


cdef uint32_t build_1_1(ProgramData *p, uint16_t opcode, Definition d, Operand a) except 0 nogil:
    return build(p, opcode, &d, 1, &a, 1)


cdef uint32_t build_1_2(ProgramData *p, uint16_t opcode, Definition d, Operand a, Operand b) except 0 nogil:
    cdef Operand[2] operands
    operands[0] = a
    operands[1] = b
    return build(p, opcode, &d, 1, operands, 2)


cdef uint32_t _with_scc(ProgramData *p, uint16_t opcode, Definition d, const Operand *operands, uint32_t count,
                        uint32_t scc) except 0 nogil:
    cdef Definition[2] definitions
    if scc == 0:
        scc = temp_new(p, class_s1)
    definitions[0] = d
    definitions[1] = definition_of_fixed(p, scc, register_scc)
    return build(p, opcode, definitions, 2, operands, count)


cdef uint32_t build_scc_1(ProgramData *p, uint16_t opcode, Definition d, Operand a) except 0 nogil:
    return _with_scc(p, opcode, d, &a, 1, 0)


cdef uint32_t build_scc_2(ProgramData *p, uint16_t opcode, Definition d, Operand a, Operand b,
                          uint32_t scc) except 0 nogil:
    cdef Operand[2] operands
    operands[0] = a
    operands[1] = b
    return _with_scc(p, opcode, d, operands, 2, scc)


cdef Operand exec_operand(const ProgramData *p) noexcept nogil:
    return operand_register(register_exec, p.lane_mask)


cdef Definition exec_definition(const ProgramData *p) noexcept nogil:
    return definition_register(register_exec, p.lane_mask)


cdef Operand mask_constant(const ProgramData *p, bint ones) noexcept nogil:
    if p.wave_size == 32:
        return operand_c32(0xffffffffU if ones else 0)
    return operand_c64(0xffffffffffffffffULL if ones else 0)


cdef uint32_t new_mask(ProgramData *p) except 0 nogil:
    return temp_new(p, p.lane_mask)


cdef bint operand_equal(Operand a, Operand b) noexcept nogil:
    cdef uint16_t kinds = operand_temp | operand_constant | operand_undef | operand_fixed
    if (a.flags & kinds) != (b.flags & kinds) or a.register_class != b.register_class:
        return False
    if a.flags & operand_undef:
        return True
    if a.flags & operand_constant and (a.flags & operand_size_mask) != (b.flags & operand_size_mask):
        return False
    if a.flags & (operand_temp | operand_constant) and a.data != b.data:
        return False
    return not a.flags & operand_fixed or a.reg == b.reg


cdef int phi_resize(ProgramData *p, uint32_t phi, uint32_t count) except -1 nogil:
    cdef uint32_t first = table_append_many(&p.operands.table, count)
    cdef uint32_t k
    cdef uint8_t register_class = p.definitions.register_class[p.instructions.definition_first[phi]]
    for k in range(count):
        operand_put(p, first + k, operand_undefined(register_class))
    p.instructions.operand_first[phi] = first
    p.instructions.operand_count[phi] = <uint16_t>count
    return 0
