"""Facts about opcodes for the optimizer: see ``optimize_facts.pyx``."""
from libc.stdint cimport uint16_t, uint32_t

# The opcode with the first two sources exchanged, 0xffff none.
cdef uint16_t commuted_opcode(uint16_t opcode) noexcept nogil
# The compare that is true where this one is false, 0xffff none.
cdef uint16_t inverse_compare(uint16_t opcode) noexcept nogil
# 16, 32 or 64 for float arithmetic that flushes denormal sources and results as the mode says, else 0.
cdef uint32_t float_bits(uint16_t opcode) noexcept nogil
# The minimum or maximum of three that a minimum or maximum of two becomes, 0xffff none.
cdef uint16_t minmax_of_three(uint16_t opcode) noexcept nogil
# 64-bit shifts read one scalar register at most on every generation.
cdef bint has_one_scalar_source(uint16_t opcode) noexcept nogil
