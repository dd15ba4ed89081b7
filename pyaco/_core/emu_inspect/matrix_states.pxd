"""Wait states around the matrix operations of CDNA, and of CDNA 3 and 4 around what the vector ALU forwards to itself.

A matrix operation works on for its number of passes behind its issue, and the machine waits for it only where the whole result goes on as
the sum of the next one. What reads or writes its registers otherwise has to come late enough, by passes, by unit (XDL, singles, doubles)
and by who asks; so has what writes the registers of a sum that is still being read. On CDNA 1, where results are in AGPRs, the
instructions that move those have numbers of their own.

Sources: AMD "CDNA 1" to "CDNA 3" ISA documents, "Manually inserted wait states"; LLVM's GCNHazardRecognizer, with which the numbers of every pair
agree, and whose scheduling model has the passes.
"""
from libc.stdint cimport uint32_t

from pyaco._core.emu.wave cimport Instruction, Wave
from pyaco._core.emu_inspect.history cimport Event, History
from pyaco._core.emu_inspect.waits cimport Finding

# Whether an instruction that is about to execute comes too early behind a matrix operation, or that one behind it.
cdef bint matrix_early(const History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                       Finding *finding) noexcept nogil
# Account for an instruction that has executed: matrix operations and the units of the vector ALU.
cdef void matrix_account(History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                         const Event *event) noexcept nogil
