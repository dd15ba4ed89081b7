"""SSA repair and the final order of the instructions."""
from pyaco._core.spirv.module cimport Reader

# To be called once, after read_entry.
cdef int finish(Reader r) except -1
