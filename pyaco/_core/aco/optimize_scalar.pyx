"""The optimizer's patterns of the scalar unit's floats (GFX11.5 and later): see ``optimize_combine.pyx``."""
from libc.stdint cimport uint32_t

from isa_opcodes cimport op_s_fmaak_f32, op_s_fmac_f32, op_s_mul_f32
from pyaco._core.aco.optimize_edit cimport *
from pyaco._core.ir.program cimport InstructionId, Operand, ProgramData, format_sop2, operand_is_literal


cdef bint combine_scalar_multiply_add(Context *c, InstructionId i) except -1 nogil:
    """A scalar addition one operand of which is a product that nothing else reads; the addend is in a register, or a literal."""
    cdef ProgramData *p = c.p
    cdef Operand[3] operands
    cdef Operand o
    cdef InstructionId q
    cdef uint32_t k
    for k in range(2):
        o = source_at(p, i, k)
        q = producer_of(c, o)
        if q == 0 or p.instructions.opcode[q] != op_s_mul_f32 or c.uses[o.data] != 1 or is_precise(p, i, q):
            continue
        operands[0] = source_at(p, q, 0)
        operands[1] = source_at(p, q, 1)
        operands[2] = source_at(p, i, 1 - k)
        if is_plain_temp(operands[2]):
            become(c, i, op_s_fmac_f32, format_sop2, operands, 3)
            return True
        if operand_is_literal(operands[2]) and not operand_is_literal(operands[0]) and not operand_is_literal(operands[1]):
            become(c, i, op_s_fmaak_f32, format_sop2, operands, 3)
            return True
    return False
