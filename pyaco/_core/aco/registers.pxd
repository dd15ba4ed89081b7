"""Registers that an instruction names after register allocation, as ranges of dwords: SGPRs 0 to 255, VGPRs 256 to 511."""
from libc.stdint cimport uint16_t, uint32_t, uint8_t

from pyaco._core.ir.program cimport (
    DefinitionRow, OperandRow, ProgramData, class_bytes, operand_constant, operand_undef, register_none,
)

cdef struct Range:
    uint32_t first
    uint32_t end                     # equal to first: no register

cdef inline Range range_of(uint16_t reg, uint8_t register_class) noexcept nogil:
    cdef Range r
    r.first = reg >> 2
    r.end = (reg + class_bytes(register_class) + 3) >> 2
    if reg == register_none:
        r.first = r.end = 0
    elif r.end > 512:
        r.end = 512
    return r

cdef inline Range operand_range(const ProgramData *p, OperandRow row) noexcept nogil:
    cdef Range r
    if p.operands.flags[row] & (operand_constant | operand_undef):
        r.first = r.end = 0
        return r
    return range_of(p.operands.reg[row], p.operands.register_class[row])

cdef inline Range definition_range(const ProgramData *p, DefinitionRow row) noexcept nogil:
    return range_of(p.definitions.reg[row], p.definitions.register_class[row])

cdef inline uint32_t vgprs_named(const ProgramData *p) noexcept nogil:
    """The end of the VGPRs that any instruction names."""
    cdef uint32_t end = 256
    cdef uint32_t row
    for row in range(p.operands.table.count):
        end = max(end, operand_range(p, row).end)
    for row in range(p.definitions.table.count):
        end = max(end, definition_range(p, row).end)
    return end - 256
