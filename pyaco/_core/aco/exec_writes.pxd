"""Writes to exec that go, or that the instruction in front of them makes: see ``exec_writes.pyx``."""
from pyaco._core.ir.program cimport ProgramData

cdef int exec_writes_run(ProgramData *p) except -1 nogil
