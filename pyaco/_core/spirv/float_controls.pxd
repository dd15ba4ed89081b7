"""What an entry point and decorations say of floats."""
from libc.stdint cimport uint32_t

from pyaco._core.spirv.module cimport Reader

# Reads an execution mode of SPV_KHR_float_controls or SPV_KHR_float_controls2 and returns True, or returns False for others.
cdef bint float_control_mode(Reader r, uint32_t word) except -1 nogil
# Whether no rewrite may change what the instruction at `word` gives.
cdef bint is_exact(Reader r, uint32_t word) noexcept nogil
