"""Machine code of a whole program."""
from pyaco._core.ir.program cimport ProgramData

# Writes program.code and the blocks' offsets (in dwords). `stray_bits` as in encode.pxd.
cdef int assemble_run(ProgramData *program, bint stray_bits) except -1 nogil
