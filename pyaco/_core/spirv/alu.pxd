"""Arithmetic, conversions, composites and selection."""
from libc.stdint cimport uint32_t

from pyaco._core.ir.shader cimport TypeId, ValueId
from pyaco._core.spirv.module cimport AnyValue, Reader, SpirvId

# Each reads one instruction and returns 1, or returns 0 when the file does not have it.
cdef int arithmetic(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil
cdef int composite(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil
# A NIR ALU instruction whose operands are checked against NIR's table.
cdef ValueId checked_alu(Reader r, int opcode, const ValueId *values, uint32_t count) except 0 nogil
# Makes a NIR value the value of the instruction's result id; raises an error unless it has the result type.
cdef int set_checked(Reader r, uint32_t word, ValueId value) except -1 nogil
# Makes a struct of two values the value of the instruction's result id; raises an error unless they are its members.
cdef int set_pair(Reader r, uint32_t word, ValueId first, ValueId second) except -1 nogil
# Whether a value has the shape of a scalar or vector type.
cdef bint has_shape(Reader r, ValueId value, TypeId type) noexcept nogil
cdef TypeId require_vector_type(Reader r, SpirvId id) except 0xffffffffU nogil
cdef ValueId dot(Reader r, ValueId a, ValueId b) except 0 nogil
cdef ValueId bitcast(Reader r, ValueId value, uint32_t components, uint32_t bit_size) except 0 nogil
cdef ValueId replicate(Reader r, ValueId scalar, uint32_t count) except 0 nogil
