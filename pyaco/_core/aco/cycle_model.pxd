"""How long instructions take: see ``cycle_model.pyx``."""
from libc.stdint cimport int32_t

from pyaco._core.common.cycles cimport Cycles
from pyaco._core.ir.program cimport InstructionId, ProgramData

cdef Cycles cycles_of(const ProgramData *p, InstructionId i) noexcept nogil
# Whether the VALU takes both halves of a wave64 instruction at once (GFX11 and later).
cdef bint is_dual_issue_capable(const ProgramData *p, InstructionId i) noexcept nogil
# Cycles until a memory operation is counted down; zero for all else.
cdef struct MemoryCycles:
    int32_t vm
    int32_t export_
    int32_t lgkm
    int32_t vs

cdef MemoryCycles memory_cycles_of(const ProgramData *p, InstructionId i) noexcept nogil
