"""Emission of NIR, values of ids, pointers and memory access.

A value is one number whose meaning follows its type: scalars, vectors and pointers are NIR instructions (pointers: derefs,
or plain bits that are cast where they are followed), composites are rows of ``Reader.trees``.
"""
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.spirv.module cimport Reader

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

# The value of an id, whatever its type; of an id that must be a scalar or vector.
cdef uint32_t value_of(Reader r, uint32_t id) except? 0xffffffffU nogil
cdef uint32_t ssa(Reader r, uint32_t id) except 0 nogil
cdef int set_value(Reader r, uint32_t id, uint32_t type, uint32_t value) except -1 nogil
# The type row of an id's value (the pointer type of a variable).
cdef uint32_t value_type(Reader r, uint32_t id) except 0xffffffffU nogil
cdef uint32_t constant_value(Reader r, uint32_t constant) except? 0xffffffffU nogil
# A composite value without elements yet: fill Reader.trees[row + i].
cdef uint32_t tree_new(Reader r, uint32_t count) except? 0xffffffffU nogil
cdef uint32_t undefined_value(Reader r, uint32_t type) except? 0xffffffffU nogil

# Pointers
cdef uint32_t mode_of_class(Reader r, uint32_t storage_class, uint32_t pointee) except 0 nogil
cdef int pointer_shape(uint32_t mode, int *components, int *bit_size) noexcept nogil
# The NIR type of a variable that holds values of `type` (pointers: the bits of their address).
cdef uint32_t stored_type(Reader r, uint32_t type) except 0xffffffffU nogil
cdef uint32_t local_variable(Reader r, uint32_t type) except 0 nogil   # a deref in the prologue
cdef uint32_t deref_cast_of(Reader r, uint32_t value, uint32_t mode, uint32_t type, uint32_t stride) except 0 nogil
cdef uint32_t deref_element(Reader r, uint32_t deref, uint32_t index) except 0 nogil
cdef uint32_t deref_indexed(Reader r, uint32_t deref, uint32_t index_value) except 0 nogil
cdef int module_variable(Reader r, uint32_t id) except -1 nogil
cdef uint32_t pointer_of(Reader r, uint32_t id) except 0 nogil
cdef uint32_t pointee_type(Reader r, uint32_t id) except 0xffffffffU nogil
cdef int access_chain(Reader r, uint32_t word, uint32_t end, bint pointer_chain) except -1 nogil
cdef uint32_t load_value(Reader r, uint32_t deref, uint32_t type, uint32_t access) except? 0xffffffffU nogil
cdef int store_value(Reader r, uint32_t deref, uint32_t type, uint32_t value, uint32_t access) except -1 nogil
cdef int load(Reader r, uint32_t word, uint32_t end) except -1 nogil
cdef int store(Reader r, uint32_t word, uint32_t end) except -1 nogil
cdef int copy_memory(Reader r, uint32_t word, uint32_t end) except -1 nogil
cdef int array_length(Reader r, uint32_t word) except -1 nogil
cdef int function_variable(Reader r, uint32_t word, uint32_t end) except -1 nogil
cdef uint32_t vector_extract_dynamic(Reader r, uint32_t vector, uint32_t index) except 0 nogil
cdef uint32_t vector_insert_dynamic(Reader r, uint32_t vector, uint32_t scalar, uint32_t index) except 0 nogil
