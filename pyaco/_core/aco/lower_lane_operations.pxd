"""Reductions, scans and shuffles across lanes: see ``lower_lane_operations.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.ir.program cimport InstructionId, ProgramData, Rewrite

# Whether the lowering of a reduction or scan uses a second linear VGPR, operand 2.
cdef bint reduction_needs_second(const ProgramData *p, InstructionId i) noexcept nogil
cdef int lower_reduction(Rewrite *out, InstructionId i) except -1 nogil
cdef int lower_bpermute(Rewrite *out, InstructionId i) except -1 nogil
