"""Values of ids, pointers, and what is loaded from and stored to them.

A value is one number whose meaning follows its type: scalars, vectors and pointers are NIR instructions (pointers: derefs,
or plain bits that are cast where they are followed), composites are rows of ``Reader.trees``.
"""
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.spirv.module cimport Reader

cdef struct MemoryOperands:
    uint32_t access               # access_*
    uint32_t align_mul            # what the pointer is known to be a multiple of, 0: nothing is said

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
# The same with all that the operands of an instruction say, `position` bytes behind its pointer.
cdef uint32_t load_at(Reader r, uint32_t deref, uint32_t type, const MemoryOperands *operands, uint64_t position) except? \
    0xffffffffU nogil
cdef int store_at(Reader r, uint32_t deref, uint32_t type, uint32_t value, const MemoryOperands *operands,
                  uint64_t position) except -1 nogil
# A built-in, as ``Reader.payload`` of a pointer to it names it.
cdef uint32_t load_builtin(Reader r, uint32_t payload, uint32_t type) except 0 nogil
# Components and bits of a scalar, vector or pointer in memory.
cdef int leaf_shape(Reader r, uint32_t type, int *components, int *bit_size) except -1 nogil
cdef int function_variable(Reader r, uint32_t word, uint32_t end) except -1 nogil
cdef uint32_t vector_extract_dynamic(Reader r, uint32_t vector, uint32_t index) except 0 nogil
cdef uint32_t vector_insert_dynamic(Reader r, uint32_t vector, uint32_t scalar, uint32_t index) except 0 nogil
