"""The lanes that vector instructions read instead of their own.

Sources: AMD "RDNA 2" and "RDNA3" ISA documents, chapter "Data Parallel Processing"; "Vega" ISA document for GFX9's DPP.
"""
from libc.stdint cimport int8_t, uint32_t, uint64_t

from pyaco._core.emu.wave cimport Instruction, Machine, Wave

# The lane that DPP16 reads for `lane`, or -1 when it lies outside the row or wave.
cdef int dpp_source_lane(uint32_t control, int lane, int lanes, uint32_t gfx_level) noexcept nogil
# Fill the lane that each lane reads by DPP (-1: zero); returns the lanes whose result is written.
cdef uint64_t dpp_select(const Machine *machine, const Wave *wave, const Instruction *instruction, int8_t *selected) noexcept nogil
# V_INTERP of registers: P10 takes its first source from lane 1 of each quad and its last from lane 0, P2 its first from lane 2.
cdef void quad_select(const Instruction *instruction, const Wave *wave, uint32_t slot, int8_t *selected) noexcept nogil
