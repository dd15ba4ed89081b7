"""Arithmetic, conversions, composites and selection."""
from libc.stdint cimport uint32_t

from pyaco._core.spirv.module cimport Reader

# Reads one instruction; returns 0 when it is none of this file's.
cdef int arithmetic(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil
cdef int composite(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil
# A NIR ALU instruction over operands whose sizes are checked against its table.
cdef uint32_t checked_alu(Reader r, int opcode, const uint32_t *values, uint32_t count) except 0 nogil
# Binds a NIR value to a result id after comparing it with the result type.
cdef int set_checked(Reader r, uint32_t word, uint32_t value) except -1 nogil
cdef uint32_t require_vector_type(Reader r, uint32_t id) except 0xffffffffU nogil
cdef uint32_t select_value(Reader r, uint32_t type, uint32_t condition, uint32_t a, uint32_t b) except? 0xffffffffU nogil
cdef uint32_t dot(Reader r, uint32_t a, uint32_t b) except 0 nogil
cdef uint32_t bitcast(Reader r, uint32_t value, uint32_t components, uint32_t bit_size) except 0 nogil
cdef uint32_t replicate(Reader r, uint32_t scalar, uint32_t count) except 0 nogil
