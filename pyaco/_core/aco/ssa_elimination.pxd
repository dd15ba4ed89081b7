"""Leaving SSA form: see ``ssa_elimination.pyx``."""
from pyaco._core.ir.program cimport ProgramData

cdef int ssa_elimination_run(ProgramData *p) except -1 nogil
