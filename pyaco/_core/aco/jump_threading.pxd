"""Removal of blocks that do nothing, and shorter ways to change exec: see ``jump_threading.pyx``."""
from pyaco._core.ir.program cimport ProgramData

cdef int jump_threading_run(ProgramData *p) except -1 nogil
