"""Hazards of GFX10: see ``hazards_gfx10.pyx``."""
from pyaco._core.ir.program cimport ProgramData

# `force`: every instruction waits for all dependency counters.
cdef int hazards_gfx10_run(ProgramData *p, bint force) except -1 nogil
