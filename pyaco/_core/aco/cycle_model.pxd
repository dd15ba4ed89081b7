"""How long instructions take: see ``cycle_model.pyx``."""
from libc.stdint cimport int32_t, uint32_t

from pyaco._core.ir.program cimport InstructionId, ProgramData

cdef enum:
    resource_scalar = 0
    resource_branch = 1
    resource_valu = 2
    resource_valu_complex = 3
    resource_lds = 4
    resource_export = 5
    resource_vmem = 6
    resource_count = 7

cdef struct Cycles:
    int32_t latency                  # until the result can be read
    uint32_t resource0               # resource_count: none
    int32_t cost0                    # cycles that the resource is busy
    uint32_t resource1
    int32_t cost1

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
