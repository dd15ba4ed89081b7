"""Pseudo instructions to machine instructions: see ``lower_to_hw_instr.pyx``."""
from pyaco._core.ir.program cimport ProgramData

cdef int lower_to_hw_instr_run(ProgramData *p) except -1 nogil
