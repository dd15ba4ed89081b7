"""Which values to spill: see ``spill_choice.pyx``."""
from libc.stdint cimport int32_t, uint32_t

from pyaco._core.aco.spiller cimport Spiller
from pyaco._core.ir.program cimport BlockId, InstructionId, ProgramData

# What spilling each temp would cost: one store, and a reload at each use.
cdef void estimate_costs(Spiller *s) noexcept nogil
# Join phis and operands: once one of them has a slot, the others are cheaper to spill.
cdef void join_webs(Spiller *s) noexcept nogil
# Blocks of deeper loops choose first, so that what they keep is not reloaded there.
cdef int choose_spilled(Spiller *s, int which) except -1 nogil
# Sets `live` to what is alive at the end of a block, and `demand` to the registers of what is not spilled of that.
cdef void load_live_out(Spiller *s, BlockId block, int32_t *demand) noexcept nogil
cdef uint32_t edge_of(const ProgramData *p, BlockId block, uint32_t predecessor, bint logical) noexcept nogil
# From the live set after an instruction to the one in front of it: `after` becomes the demand there, `during` what the instruction needs;
# all of values that are not spilled, and of spilled ones that it names.
cdef int step_back(Spiller *s, InstructionId i, int32_t *after, int32_t *during) except -1 nogil
