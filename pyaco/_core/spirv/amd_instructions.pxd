"""Extended instruction sets of AMD."""
from libc.stdint cimport uint32_t

from pyaco._core.spirv.module cimport Reader

# An OpExtInst of the set, by its number there.
cdef int trinary_instruction(Reader r, uint32_t word, uint32_t end, uint32_t number) except -1 nogil
cdef int gcn_instruction(Reader r, uint32_t word, uint32_t end, uint32_t number) except -1 nogil
cdef int ballot_instruction(Reader r, uint32_t word, uint32_t end, uint32_t number) except -1 nogil
