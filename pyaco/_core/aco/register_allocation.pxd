"""Register allocation: see ``register_allocation.pyx``."""
from pyaco._core.ir.program cimport ProgramData

# Needs live_variables_run.
cdef int register_allocation_run(ProgramData *p) except -1 nogil
