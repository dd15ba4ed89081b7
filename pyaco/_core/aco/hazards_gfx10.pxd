"""Hazards of GFX10: see ``hazards_gfx10.pyx``."""
from pyaco._core.ir.program cimport ProgramData

cdef int hazards_gfx10_run(ProgramData *p) except -1 nogil
