"""Constants that only some levels have among the sources of instructions.

Source: AMD ISA documents, "SSRC operands": 1/(2 pi) came with "Volcanic Islands".
"""
from pyaco._core.ir.program cimport Operand, gfx8, operand_constant

cdef enum:
    inverse_two_pi = 248 * 4          # its place among the sources

cdef inline bint is_missing_constant(unsigned int gfx_level, Operand o) noexcept nogil:
    """Whether an inline constant must be written out on a level."""
    return gfx_level < gfx8 and (o.flags & operand_constant) != 0 and o.reg == inverse_two_pi
