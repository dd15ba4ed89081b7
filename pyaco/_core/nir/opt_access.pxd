"""Where a buffer comes from: for the passes that ask which accesses may meet."""
from libc.stdint cimport uint64_t

from pyaco._core.ir.shader cimport ShaderData, ValueId

cdef enum:
    binding_unknown = 0xffffffffffffffff    # a pointer that was chosen at run time, a physical address, a descriptor from elsewhere

# The descriptor set << 32 | binding that a descriptor comes from; vectors that are made of its words begin with the first of them.
cdef uint64_t binding_of_buffer(const ShaderData *s, ValueId value) noexcept nogil

# The `vulkan_resource_index` that a descriptor comes from; 0 if that is not known.
cdef ValueId resource_index_of_buffer(const ShaderData *s, ValueId value) noexcept nogil
