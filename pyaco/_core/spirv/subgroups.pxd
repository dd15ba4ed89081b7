"""Group operations."""
from libc.stdint cimport uint32_t

from pyaco._core.ir.shader cimport ValueId
from pyaco._core.spirv.module cimport Reader, SpirvId

# An operand that is a number or a vector of them; an intrinsic on each component of a value.
cdef ValueId number_operand(Reader r, SpirvId id) except 0 nogil
cdef ValueId each_component(Reader r, int opcode, ValueId value, ValueId index, int op=*, int cluster=*) except 0 nogil

# Reads one instruction and returns 1, or returns 0 when the file does not have it.
cdef int subgroup_instruction(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil
