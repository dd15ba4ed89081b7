"""Facts about types: slots (scalar components, depth first) and natural layout."""
from libc.stdint cimport uint32_t

from pyaco._core.ir.shader cimport ShaderData, TypeId

# Scalar components of a type; 0xffffffff when there are more than 2**24 (or a runtime-sized array).
cdef uint32_t type_slots(const ShaderData *s, TypeId type) noexcept nogil
# Slots before member `member` of a struct.
cdef uint32_t member_slots(const ShaderData *s, TypeId type, uint32_t member) noexcept nogil
# Bytes of one component in memory: booleans take four.
cdef uint32_t component_bytes(const ShaderData *s, TypeId type) noexcept nogil
# Layout of types: explicit strides and offsets where the type has them, else natural alignment of scalars with vectors
# aligned to their components times 2 or 4 (as std430; those whose stride is that of their components as these), structs to their widest member.
cdef uint32_t type_align(const ShaderData *s, TypeId type) noexcept nogil
cdef uint32_t type_bytes(const ShaderData *s, TypeId type) noexcept nogil
cdef uint32_t type_stride(const ShaderData *s, TypeId type) noexcept nogil       # of an array or matrix
cdef uint32_t member_offset(const ShaderData *s, TypeId type, uint32_t member) noexcept nogil
