"""Data of GFX8, GFX9 and CDNA that arrives late without a counter: the program has to leave wait states (instructions, s_nop) in between.

The rules are a table of pairs of instructions (AMD "Vega" ISA document, "Manually inserted wait states"; "CDNA 3" ISA document 4.5; LLVM's
GCNHazardRecognizer where they differ by chip): the time of the last event of each kind is kept by wave, and an instruction that comes
too early after one is an error. GFX10 and later interlock these themselves. What matrix operations need is in ``matrix_states``.
"""
from libc.stdint cimport uint32_t

from pyaco._core.emu.wave cimport Instruction, Wave
from pyaco._core.emu_inspect.history cimport History
from pyaco._core.emu_inspect.waits cimport Finding

cdef bint has_wait_states(uint32_t gfx_level) noexcept nogil
# Whether an instruction that is about to execute comes too early.
cdef bint history_check(const History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                        Finding *finding) noexcept nogil
# Account for an instruction that has executed.
cdef void history_account(History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level) noexcept nogil
