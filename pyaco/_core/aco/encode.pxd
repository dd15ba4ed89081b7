"""Instructions of ACO IR to machine code."""
from libc.stdint cimport uint32_t

from pyaco._core.ir.program cimport ProgramData
from pyaco._core.isa.decode cimport Decoded

# Fills `out` from an instruction of ACO IR whose registers are assigned. Returns 0 or one of the codes of ``isa/encode.pxd``. Promotes
# 16-bit operations of GFX11+ to VOP3 where a register is beyond the short encoding.
cdef int from_ir(const ProgramData *program, uint32_t instruction, uint32_t gfx_level, Decoded *out) noexcept nogil

# One hardware instruction of ACO IR to words; raises RuntimeError (a defect of a pass) when it has no encoding. With
# `stray_bits`, fields that do not count hold what ACO's assembler leaves in them, else zero, as text has it.
cdef int encode_instruction(const ProgramData *program, uint32_t instruction, uint32_t gfx_level,
                            uint32_t *out, bint stray_bits=*) except -1 nogil
