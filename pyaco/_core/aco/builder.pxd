"""Making instructions in their opcode's own format."""
from libc.stdint cimport uint16_t, uint32_t, uint8_t

from pyaco._core.ir.program cimport Definition, Operand, ProgramData

cdef uint32_t build(ProgramData *p, uint16_t opcode, const Definition *definitions, uint32_t definition_count,
                    const Operand *operands, uint32_t operand_count) except 0 nogil
cdef uint32_t build_1_1(ProgramData *p, uint16_t opcode, Definition d, Operand a) except 0 nogil
cdef uint32_t build_1_2(ProgramData *p, uint16_t opcode, Definition d, Operand a, Operand b) except 0 nogil
# A scalar instruction that also writes scc (to a new temp, which is never read, unless `scc` names one).
cdef uint32_t build_scc_1(ProgramData *p, uint16_t opcode, Definition d, Operand a) except 0 nogil
cdef uint32_t build_scc_2(ProgramData *p, uint16_t opcode, Definition d, Operand a, Operand b,
                          uint32_t scc) except 0 nogil
# An opcode for lane masks: the 32-bit one in wave32.
cdef inline uint16_t by_wave(const ProgramData *p, uint16_t opcode32, uint16_t opcode64) noexcept nogil:
    return opcode32 if p.wave_size == 32 else opcode64
cdef Operand exec_operand(const ProgramData *p) noexcept nogil
cdef Definition exec_definition(const ProgramData *p) noexcept nogil
# A new temp of the class of lane masks.
# The lane mask with every bit 0 or 1.
cdef Operand mask_constant(const ProgramData *p, bint ones) noexcept nogil
cdef uint32_t new_mask(ProgramData *p) except 0 nogil
# The same meaning in the eyes of a pass that compares operands: kind, value, temp and register agree.
cdef bint operand_equal(Operand a, Operand b) noexcept nogil
# Replaces the operands of a phi by `count` undefined ones of the class of its definition.
cdef int phi_resize(ProgramData *p, uint32_t phi, uint32_t count) except -1 nogil
