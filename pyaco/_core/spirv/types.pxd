"""Types of a SPIR-V module, and the rows of its constants."""
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.ir.shader cimport TypeId
from pyaco._core.spirv.module cimport ConstantId, Reader, SpirvId

# Reads a declaration of a type.
cdef int declare_type(Reader r, uint32_t word, uint32_t end) except -1 nogil
# A new type, with the facts that the reader keeps beside it.
cdef TypeId add_type(Reader r, int base, int bit_size, int components) except 0xffffffffU nogil
# The type of an element of a composite or vector, and the number of elements.
cdef TypeId element_type(Reader r, TypeId type, uint32_t index) except 0xffffffffU nogil
cdef uint32_t element_count(Reader r, TypeId type) noexcept nogil
cdef bint is_vector_or_scalar(Reader r, TypeId type) noexcept nogil
cdef bint is_composite(Reader r, TypeId type) noexcept nogil
# Images, samplers, and other types whose values are no numbers.
cdef bint is_opaque(Reader r, TypeId type) noexcept nogil
# The type of up to four 32-bit integers.
cdef TypeId word_vector(Reader r, uint32_t components) except 0xffffffffU nogil
# Whether two types hold the same values in the same order (layout aside).
cdef bint same_shape(Reader r, TypeId a, TypeId b) noexcept nogil
# Raises an error for types that no value may have: void, opaque types, runtime arrays, more than maximum_leaves.
cdef int check_value_type(Reader r, TypeId type) except -1 nogil
# Raises an UnsupportedError that has the name of an opaque type.
cdef int refuse_opaque(Reader r, TypeId type) except -1 nogil
# Bytes that a type with a memory layout takes; a runtime array at the end counts as 0.
cdef uint64_t end_of_type(Reader r, TypeId type) noexcept nogil
# Bytes from the start of a composite with a memory layout to one of its elements; 0 for members without an offset.
cdef uint64_t element_offset(Reader r, TypeId type, uint32_t index) noexcept nogil
# ----------------------------------------------------------------------------------------------------------- constants
# A new constant of a kind (constant_*), without elements.
cdef ConstantId add_constant(Reader r, TypeId type, int kind, uint64_t bits) except 0xffffffffU nogil
# An element of a composite constant, and the bits of a component of a scalar or vector constant.
cdef ConstantId constant_child(Reader r, ConstantId constant, uint32_t index) except 0xffffffffU nogil
cdef uint64_t constant_component(Reader r, ConstantId constant, uint32_t index) noexcept nogil
# The value of an integer constant; an error when the id is not one.
cdef uint64_t integer_constant(Reader r, SpirvId id) except? 0xfffffffffffffffeULL nogil
