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

cdef struct Issue:                    # of an instruction, for schedulers
    int32_t latency                   # until its results can be read, from when it begins
    int32_t stored                    # until what it stores is written
    int32_t occupies                  # until the next one may begin
    int32_t delay                     # until its second half begins, where it is issued in two

cdef Issue issue_of(const ProgramData *p, InstructionId i, const MemoryCycles *memory) noexcept nogil
