"""Types and constants of a SPIR-V module."""
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.spirv.module cimport Reader

# The hook of module.scan_words: types, constants, module-scope variables.
cdef int declare(Reader r, uint32_t word, uint32_t end) except -1 nogil
# A new row of the shader's Types with the facts the reader keeps beside it.
cdef uint32_t add_type(Reader r, int base, int bit_size, int components) except 0xffffffffU nogil
cdef uint32_t add_array_type(Reader r, uint32_t element, uint32_t length) except 0xffffffffU nogil
# Element type of a composite (vector: its scalar type; struct: of that member); `count` its elements.
cdef uint32_t element_type(Reader r, uint32_t type, uint32_t index) except 0xffffffffU nogil
cdef uint32_t element_count(Reader r, uint32_t type) noexcept nogil
cdef bint is_vector_or_scalar(Reader r, uint32_t type) noexcept nogil
cdef bint is_composite(Reader r, uint32_t type) noexcept nogil
# Whether two types hold the same values in the same order (layout aside).
cdef bint same_shape(Reader r, uint32_t a, uint32_t b) noexcept nogil
# A value that may be loaded, stored or built: neither void nor opaque nor endless.
cdef int check_value_type(Reader r, uint32_t type) except -1 nogil
cdef uint32_t scalar_type(Reader r, uint32_t vector) except 0xffffffffU nogil
# Bytes up to the end of the last member that a laid-out type has (runtime arrays: 0).
cdef uint64_t end_of_type(Reader r, uint32_t type) noexcept nogil
# Bytes from a laid-out composite to one of its elements (members without an offset: 0).
cdef uint64_t element_offset(Reader r, uint32_t type, uint32_t index) noexcept nogil
# Constants
cdef uint32_t constant_child(Reader r, uint32_t constant, uint32_t index) except 0xffffffffU nogil
cdef uint64_t constant_component(Reader r, uint32_t constant, uint32_t index) noexcept nogil
# The value of an integer constant by id; an error when the id is none.
cdef uint64_t integer_constant(Reader r, uint32_t id) except? 0xfffffffffffffffeULL nogil
