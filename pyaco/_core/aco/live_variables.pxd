"""Live variables and register demand: see ``live_variables.pyx``."""
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from pyaco._core.aco.live_set cimport LiveSet
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.program cimport BlockId, InstructionId, ProgramData

cdef struct Demand:
    int32_t sgpr
    int32_t vgpr

# Fills ProgramData.live_in, the kill flags, the demand columns, max_demand_*, num_waves and max_waves.
cdef int live_variables_run(ProgramData *p) except -1 nogil
# The same where only the order within the blocks has changed that `reordered` names, by block: live_in stays what it is.
cdef int live_variables_reordered(ProgramData *p, const uint8_t *reordered) except -1 nogil
# Whether an encoding can name VCC only: VOPC and the carries of VOP2.
cdef bint needs_vcc(const ProgramData *p, InstructionId i) noexcept nogil
# Sets `linear` to the bits of the temps that live through linear edges.
cdef int linear_temps(const ProgramData *p, SmallVector[uint64_t] *linear) except -1 nogil
# Sets `live` to what is alive at the end of `block`, of the temps that `live` was made for, and returns the registers of these. `of_lists`, unless
# NULL, has those of each block's list in `live_in`, as `demand_of_lists` finds them: then only what the lists of several successors differ in is
# counted.
cdef Demand live_at_end(const ProgramData *p, const uint64_t *linear, BlockId block, LiveSet *live,
                        const SmallVector[Demand] *of_lists) noexcept nogil
cdef int demand_of_lists(const ProgramData *p, SmallVector[Demand] *of_lists) except -1 nogil
