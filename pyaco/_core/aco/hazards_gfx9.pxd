"""Hazards of GFX9: see ``hazards_gfx9.pyx``."""
from pyaco._core.ir.program cimport ProgramData

cdef int hazards_gfx9_run(ProgramData *p) except -1 nogil
