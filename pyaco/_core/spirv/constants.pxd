"""Constants, specialization and module-scope declarations of a SPIR-V module."""
from libc.stdint cimport uint32_t

from pyaco._core.spirv.module cimport Reader

# Reads a declaration of a type, a constant or a module-scope variable; for module.scan_words.
cdef int declare(Reader r, uint32_t word, uint32_t end) except -1 nogil
