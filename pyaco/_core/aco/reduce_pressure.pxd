"""Blocks that need too many registers compute what they need late: see ``reduce_pressure.pyx``."""
from libc.stdint cimport int32_t

from pyaco._core.ir.program cimport ProgramData

# Lowers the demand of blocks above these limits where another order of their instructions does. Live variables stay current.
cdef int reduce_pressure_run(ProgramData *p, int32_t sgprs, int32_t vgprs) except -1 nogil
