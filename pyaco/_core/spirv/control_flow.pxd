"""Functions, blocks and structured control flow."""
from libc.stdint cimport uint32_t

from pyaco._core.spirv.module cimport FunctionId, Reader

# Reads the entry function into the shader's body; instructions stay in the reader's lists.
cdef int read_entry(Reader r, FunctionId function) except -1 nogil
