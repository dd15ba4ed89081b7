"""Wait states around the matrix operations of CDNA, and of CDNA 3 and 4 around what the vector ALU forwards to itself.

A matrix operation runs for a number of passes after its issue, and the hardware waits for it only where its whole result is the sum (C) of
the next one. Other instructions that read or write its registers have to come late enough; how late depends on passes, on the unit (XDL,
singles, doubles) and on the kind of reader. The same goes for writes of a sum that is still being read. On CDNA 1, where results are in AGPRs, the
instructions that move those have wait states of their own.

Sources: AMD "CDNA 1" to "CDNA 3" ISA documents, "Manually inserted wait states"; LLVM's GCNHazardRecognizer, with which the numbers of every pair
agree, and whose scheduling model has the passes.
"""
from libc.stdint cimport uint32_t

from pyaco._core.emu.wave cimport Instruction, Wave
from pyaco._core.emu_inspect.history cimport Event, History
from pyaco._core.emu_inspect.waits cimport Finding

# Whether an instruction that is about to execute comes too early after a matrix operation, or is one that comes too early itself.
cdef bint matrix_early(const History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                       Finding *finding) noexcept nogil
# Account for an instruction that has executed: matrix operations and the units of the vector ALU.
cdef void matrix_account(History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                         const Event *event) noexcept nogil
