"""See ``optimize_mix.pyx``."""
from libc.stdint cimport uint8_t

from pyaco._core.aco.optimize_edit cimport Context
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.program cimport InstructionId

# By temp: whether all that read a widened half could read the half itself, or a literal in its place. `dead` by instruction.
cdef void find_mixable(const Context *c, const SmallVector[uint8_t] &dead, SmallVector[uint8_t] &mixable) noexcept nogil
# Mixed precision: conversions become part of multiply-adds, and two constants of half precision one literal.
cdef bint use_mixed_precision(Context *c, InstructionId i, const SmallVector[uint8_t] &mixable) except -1 nogil
