"""The extended instruction set GLSL.std.450."""
from libc.stdint cimport uint32_t

from pyaco._core.spirv.module cimport Reader

# Reads an OpExtInst of any instruction set.
cdef int glsl_instruction(Reader r, uint32_t word, uint32_t end) except -1 nogil
