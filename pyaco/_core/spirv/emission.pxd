"""NIR instructions, appended to the block that is being read or to the prologue."""
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.spirv.module cimport Reader

# Makes room in the columns that the reader keeps by NIR instruction.
cdef int grow_columns(Reader r, uint32_t row) except -1 nogil
# Appends a NIR instruction to the block being written, or to the prologue that every block sees.
cdef uint32_t emit(Reader r, uint32_t row) except 0 nogil
cdef uint32_t emit_prologue(Reader r, uint32_t row) except 0 nogil
# Inserts a NIR instruction into a block after another one (0: at its start).
cdef int emit_after(Reader r, uint32_t block, uint32_t after, uint32_t row) except -1 nogil
cdef uint32_t alu1(Reader r, int opcode, uint32_t a) except 0 nogil
cdef uint32_t alu2(Reader r, int opcode, uint32_t a, uint32_t b) except 0 nogil
cdef uint32_t alu3(Reader r, int opcode, uint32_t a, uint32_t b, uint32_t c) except 0 nogil
cdef uint32_t alu_n(Reader r, int opcode, const uint32_t *values, uint32_t count) except 0 nogil
cdef uint32_t component(Reader r, uint32_t value, uint32_t index) except 0 nogil
cdef uint32_t vector_of(Reader r, const uint32_t *values, uint32_t count) except 0 nogil
cdef uint32_t intrinsic(Reader r, int opcode, int components, int bit_size, const uint32_t *values) except 0 nogil
cdef uint32_t integer(Reader r, uint64_t value, int bit_size) except 0 nogil
cdef uint32_t real(Reader r, double value, int bit_size) except 0 nogil
cdef uint32_t undefined(Reader r, int components, int bit_size) except 0 nogil
# `value` with another number of bits, unsigned or signed.
cdef uint32_t resize_integer(Reader r, uint32_t value, int bit_size, bint is_signed) except 0 nogil
cdef uint32_t components_of(Reader r, uint32_t value) noexcept nogil
cdef uint32_t bits_of(Reader r, uint32_t value) noexcept nogil
