"""Removal of empty blocks and of exec writes that nothing reads: see ``jump_threading.pyx``."""
from pyaco._core.ir.program cimport ProgramData

cdef int jump_threading_run(ProgramData *p) except -1 nogil
cdef int remove_exec_writes_run(ProgramData *p) except -1 nogil
