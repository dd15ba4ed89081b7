"""Hazards of GFX11 to GFX12: see ``hazards_gfx11.pyx``."""
from pyaco._core.ir.program cimport ProgramData

# `previous_part`: another part of the shader runs before; `force`: every instruction waits for all dependency counters.
cdef int hazards_gfx11_run(ProgramData *p, bint previous_part, bint force) except -1 nogil
