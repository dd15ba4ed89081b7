"""Zero initialization of workgroup memory; see ``workgroup_memory.pyx``."""
from pyaco._core.spirv.module cimport Reader

# At the end of the prologue: clear the variables that start as zero, and wait until all invocations have done so.
cdef int zero_workgroup_memory(Reader r) except -1 nogil
