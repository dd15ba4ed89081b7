"""See ``optimize_conditions.pyx``."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from pyaco._core.aco.optimize_edit cimport Context
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.program cimport InstructionId, OrderRow, ProgramData, TempId

# Read conditions from where they came; before the instruction is optimised otherwise.
cdef void use_conditions(Context *c, InstructionId i) noexcept nogil
# Remember what the instruction says of conditions.
cdef void note_conditions(Context *c, InstructionId i) noexcept nogil
# A comparison becomes the borrow of the subtraction in front of it; whether it did.
cdef bint use_borrow(Context *c, InstructionId i) except -1 nogil
# The temp that an instruction leaves in scc, and whether it writes scc at all.
cdef TempId scc_result(const ProgramData *p, InstructionId i, bint *writes) noexcept nogil
# Mark as dead, by instruction, the comparisons with zero whose answer scc has anyway; behind the removal of dead code.
cdef void drop_comparisons(Context *c, SmallVector[uint8_t] &dead) noexcept nogil
# Bits of the result that an instruction compares with zero, for scc; 0: scc has another meaning.
cdef uint32_t says_not_zero(uint16_t opcode) noexcept nogil
# Whether operand `k` may be the inverse condition where the instruction is turned around; turn it around.
cdef bint takes_inverse(const ProgramData *p, InstructionId i, uint32_t k) noexcept nogil
cdef void turn_around(ProgramData *p, InstructionId i) noexcept nogil
# Whether all that reads a condition stands between two rows, and takes the inverse if it has to; it reads another one then, unless that is 0.
cdef bint replace_condition(Context *c, const SmallVector[uint8_t] &dead, OrderRow row, OrderRow end, TempId old, TempId new,
                            bint inverse) noexcept nogil
