"""SSA repair and the final order of the instructions."""
from pyaco._core.spirv.module cimport Reader

cdef int finish(Reader r) except -1
