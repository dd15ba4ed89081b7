"""Machine code of a whole program."""
from pyaco._core.ir.program cimport ProgramData

# Writes program.code and the blocks' offsets (in dwords).
cdef int assemble_run(ProgramData *program) except -1 nogil
