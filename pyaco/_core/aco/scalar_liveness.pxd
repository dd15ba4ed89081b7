"""Which scalar registers are live, by register rather than by temp: see ``scalar_liveness.pyx``."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from pyaco._core.common.machine cimport register_exec, register_scc
from pyaco._core.ir.program cimport BlockId, InstructionId, ProgramData

cdef struct ScalarSet:                # a bit per dword: SGPRs with VCC, M0 and exec, then scc
    uint64_t[3] words

cdef enum:
    scalar_scc = 128                  # the place of scc

# Adds or removes the registers from byte address `reg` on; VGPRs and constants are not in the set.
cdef void scalar_add(ScalarSet *set, uint16_t reg, uint32_t size) noexcept nogil
cdef void scalar_remove(ScalarSet *set, uint16_t reg, uint32_t size) noexcept nogil
cdef bint scalar_any(const ScalarSet *set, uint16_t reg, uint32_t size) noexcept nogil
# From what is live behind an instruction to what is live in front of it.
cdef void scalar_step_back(const ProgramData *p, InstructionId i, ScalarSet *live) noexcept nogil
# What is live at the start of each block; and, from that, at the end of one.
cdef int scalar_liveness(const ProgramData *p, vector[ScalarSet] *live_in) except -1 nogil
cdef ScalarSet scalar_live_out(const ProgramData *p, const vector[ScalarSet] *live_in, BlockId block) noexcept nogil
