"""Which bits of integers are asked for; see ``demanded_bits.pyx``."""
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.shader cimport ShaderData, ValueId

# By value: the bits that some reader asks for, of any of its components. All that stands in blocks is looked at.
cdef int demanded_bits_find(const ShaderData *s, Zeroed[uint64_t] &demanded) except -1 nogil
# Of the k-th operand of an ALU instruction of whose result so many bits are asked for.
cdef uint64_t demanded_of_operand(const ShaderData *s, ValueId instruction, uint32_t k, uint64_t bits) noexcept nogil
# The number that the k-th operand of an instruction with one component is; whether it is one.
cdef bint constant_operand(const ShaderData *s, ValueId instruction, uint32_t k, uint64_t *number) noexcept nogil
