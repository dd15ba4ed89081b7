"""Hazards of GFX11 to GFX12: see ``hazards_gfx11.pyx``."""
from pyaco._core.ir.program cimport ProgramData

cdef int hazards_gfx11_run(ProgramData *p, bint previous_part) except -1 nogil
