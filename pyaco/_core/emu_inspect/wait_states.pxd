"""Which data GFX8, GFX9 and CDNA do not have yet although no counter tells: the program leaves wait states (instructions, s_nop) between.

What it takes is a table of pairs (AMD "Vega" ISA document, "Manually inserted wait states"; "CDNA 3" ISA document 4.5; LLVM's
GCNHazardRecognizer where they differ by chip): the time of the last event of each kind is kept by wave, and an instruction that comes
too early after one is an error. GFX10 and later interlock these themselves. The wait states of MFMA are not checked.
"""
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint64_t

from pyaco._core.emu.wave cimport Instruction, Wave
from pyaco._core.emu_inspect.waits cimport Finding, register_limit

cdef enum:
    hardware_registers = 64

cdef struct Event:
    int32_t time                      # in wait states, behind the instruction
    uint16_t opcode
    uint64_t pc

cdef struct History:                  # of one wave
    int32_t now
    Event vector_write[register_limit]          # SGPRs and VGPRs, by the vector ALU
    Event late_read[register_limit]             # VGPRs: data of a store of more than two dwords
    Event m0_write                              # by the scalar ALU
    Event setreg[hardware_registers]
    Event skip_mode                             # S_SETREG of MODE.vskip

cdef void history_clear(History *history) noexcept nogil
cdef bint has_wait_states(uint32_t gfx_level) noexcept nogil
# Whether an instruction that is about to execute comes too early.
cdef bint history_check(const History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                        Finding *finding) noexcept nogil
# Account for an instruction that has executed.
cdef void history_account(History *history, const Wave *wave, const Instruction *instruction) noexcept nogil
