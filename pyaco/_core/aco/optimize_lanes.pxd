"""See ``optimize_lanes.pyx``."""
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.aco.optimize_edit cimport Context
from pyaco._core.ir.program cimport InstructionId, ProgramData

# Whether an instruction is a move between lanes of which every lane takes part.
cdef bint is_lane_move(const ProgramData *p, InstructionId i) noexcept nogil
# Whether an instruction can read source `k` through a lane move; `chosen`: registers are, so masks have to stand where DPP wants them.
cdef bint takes_lane_move(const ProgramData *p, InstructionId i, uint32_t k, InstructionId move, bint chosen) noexcept nogil
# Let it: its first source is the move's then.
cdef void read_through_lane_move(ProgramData *p, InstructionId i, uint32_t k, InstructionId move) noexcept nogil
# An instruction that reads what a lane move without other users has moved in this block reads through DPP itself.
cdef bint fold_lane_moves(Context *c, InstructionId i) except -1 nogil
