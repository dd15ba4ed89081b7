"""Cycles of one instruction on the units of a SIMD, from the model of ``common/cycles.pxd``; the contract of ``cycles.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.common.cycles cimport Cycles
from pyaco._core.emu.wave cimport Instruction

# Passes of a matrix operation of CDNA, of four cycles each; 0: it is none. Eight-bit elements of f8f6f4 take twice those of shorter ones.
cdef uint32_t matrix_passes(const Instruction *instruction, uint32_t gfx_level) noexcept nogil
# Cycles of a matrix operation of GFX12.5 in the pipeline of matrices; 0: it is none, or one of singles or doubles, which the vector ALU executes.
cdef uint32_t pipelined_matrix_cycles(const Instruction *instruction, uint32_t gfx_level) noexcept nogil
cdef Cycles instruction_cycles(const Instruction *instruction, uint32_t gfx_level) noexcept nogil
# How often an instruction goes through its units: twice where a wave64 is on RDNA's 32 lanes.
cdef uint32_t issue_passes(const Instruction *instruction, uint32_t gfx_level, uint32_t wave_size) noexcept nogil
