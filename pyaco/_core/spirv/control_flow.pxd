"""Functions, blocks and structured control flow."""
from libc.stdint cimport uint32_t

from pyaco._core.spirv.module cimport Reader

# Reads the entry function (a row of Reader.functions) into the shader's body; instructions stay in the reader's lists.
cdef int read_entry(Reader r, uint32_t function) except -1 nogil
