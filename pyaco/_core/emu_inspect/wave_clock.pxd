"""When a wave issues its instructions, by a simple model: in order, alone on its SIMD, with the figures of ``common/cycles.pxd``, on
GFX11 and GFX12 as ``measured_cycles.pxd`` corrects them.

An instruction is issued when the wave's turn has come, its units are free, its registers are ready (RDNA; on CDNA those of matrix operations) and,
where it is a wait, the counters have fallen. Memory operations of one counter end in the order of issue, each after its latency, or
a cycle later for each cache line and pass over LDS beyond the first. A wave64 goes twice through the 32 lanes of RDNA, unless the active lanes
are all in one half. A wave ends when all its operations have. Waves of a workgroup meet at barriers. Not in it: other waves that
take the units, caches that hit or miss, memory that is busy, the fetching of instructions.
"""
from libc.stdint cimport int32_t, uint32_t, uint64_t

from pyaco._core.common.cycles cimport resource_count
from pyaco._core.emu.wave cimport Instruction, Wave
from pyaco._core.isa.decode cimport Decoded

cdef enum:
    clock_registers = 1280            # SGPRs, VGPRs from 256 on, AGPRs from 512 on (GFX12.5: 1,024 VGPRs)
    clock_counters = 7                # as in ``waits.pxd``; translations of addresses take no time
    clock_depth = 64                  # operations of a counter in flight

cdef struct WaveClock:
    uint64_t now
    uint64_t free_at[8]               # by unit
    uint64_t ready[clock_registers]                 # for the vector ALU
    uint64_t ready_elsewhere[clock_registers]       # for all others
    uint64_t read_until[clock_registers]            # by the vector ALU: when memory may overwrite it
    uint64_t done[clock_counters][clock_depth]      # a ring for each counter: when its operations end
    uint32_t first[clock_counters]
    uint32_t count[clock_counters]
    uint32_t barriers                 # that it has reached
    uint32_t waits_in                 # row of the last of them

cdef struct Issue:
    uint64_t start
    uint32_t issue                    # cycles
    uint32_t stall                    # before `start`
    uint32_t busy0                    # of the instruction's units
    uint32_t busy1

cdef void clock_start(WaveClock *clock) noexcept nogil
# Issue an instruction that has executed with EXEC as in `active`, which reached so many cache lines and took so many passes over LDS.
cdef Issue clock_issue(WaveClock *clock, const Wave *wave, const Instruction *instruction, uint32_t gfx_level, uint64_t active, uint32_t lines,
                       uint32_t passes) noexcept nogil
# Whether a wave that executes it has reached the barrier of its workgroup.
cdef bint is_arrival(const Decoded *d) noexcept nogil
