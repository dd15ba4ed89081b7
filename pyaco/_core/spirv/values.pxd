"""Values of ids, pointers, and loads and stores through them.

A value is one number (``AnyValue``), which its type tells how to take: scalars, vectors and pointers are NIR values (pointers: derefs, or the
bits of an address, which are cast to a deref where it is used), composites are rows of ``Reader.trees``.
"""
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.ir.shader cimport TypeId, ValueId
from pyaco._core.spirv.module cimport AnyValue, ConstantId, Reader, SpirvId, TreeId

cdef struct MemoryOperands:
    uint32_t access               # access_*
    uint32_t align_mul            # the pointer is known to be a multiple of it; 0: not stated

# The value of an id, of any type; the value of an id that must be a scalar, vector or pointer.
cdef AnyValue value_of(Reader r, SpirvId id) except? 0xffffffffU nogil
cdef ValueId ssa(Reader r, SpirvId id) except 0 nogil
# The value of an id that must be a scalar integer.
cdef ValueId index_value(Reader r, SpirvId id) except 0 nogil
cdef int set_value(Reader r, SpirvId id, TypeId type, AnyValue value) except -1 nogil
# The type of an id's value (of a variable: the pointer type).
cdef TypeId value_type(Reader r, SpirvId id) except 0xffffffffU nogil
# A composite value of `count` elements, to be written to Reader.trees from the result on.
cdef TreeId tree_new(Reader r, uint32_t count) except? 0xffffffffU nogil
cdef AnyValue undefined_value(Reader r, TypeId type) except? 0xffffffffU nogil
cdef AnyValue null_value(Reader r, TypeId type) except? 0xffffffffU nogil

# ------------------------------------------------------------------------------------------------------------ pointers
# The type of a variable that holds values of `type`: integers for pointers other than physical ones, which variables of NIR cannot hold.
cdef TypeId stored_type(Reader r, TypeId type) except 0xffffffffU nogil
cdef ValueId local_variable(Reader r, TypeId type) except 0 nogil   # its deref, in the prologue
cdef ValueId deref_element(Reader r, ValueId deref, uint32_t index) except 0 nogil
cdef ValueId deref_indexed(Reader r, ValueId deref, ValueId position) except 0 nogil
# A deref of memory as another type, of which there is one every `stride` bytes; the one that is `index` strides further.
cdef ValueId deref_cast_to(Reader r, ValueId deref, TypeId type, uint32_t stride) except 0 nogil
cdef ValueId deref_step(Reader r, ValueId cast, ValueId index) except 0 nogil
cdef int module_variable(Reader r, SpirvId id) except -1 nogil
cdef ValueId pointer_of(Reader r, SpirvId id) except 0 nogil
# Whether a pointer does not say what it points to (SPV_KHR_untyped_pointers).
cdef bint is_untyped(Reader r, SpirvId id) noexcept nogil
# The deref of a pointer as one to `type`, which typed pointers point to already.
cdef ValueId pointer_to(Reader r, SpirvId id, TypeId type) except 0 nogil
cdef TypeId pointee_type(Reader r, SpirvId id) except 0xffffffffU nogil
cdef int access_chain(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil
cdef AnyValue load_value(Reader r, ValueId deref, TypeId type, uint32_t access) except? 0xffffffffU nogil
cdef int store_value(Reader r, ValueId deref, TypeId type, AnyValue value, uint32_t access) except -1 nogil
# The same with memory operands of an instruction, `position` bytes from the start of what its pointer points to.
cdef AnyValue load_at(Reader r, ValueId deref, TypeId type, const MemoryOperands *operands, uint64_t position) except? \
    0xffffffffU nogil
cdef int store_at(Reader r, ValueId deref, TypeId type, AnyValue value, const MemoryOperands *operands,
                  uint64_t position) except -1 nogil
# The value of a built-in, from ``Reader.payload`` of a pointer to it.
cdef ValueId load_builtin(Reader r, uint32_t payload, TypeId type) except 0 nogil
# Components and bits of a scalar, vector or pointer in memory.
cdef int leaf_shape(Reader r, TypeId type, int *components, int *bit_size) except -1 nogil
cdef int function_variable(Reader r, uint32_t word, uint32_t end) except -1 nogil
cdef ValueId vector_extract_dynamic(Reader r, ValueId vector, ValueId index) except 0 nogil
cdef ValueId vector_insert_dynamic(Reader r, ValueId vector, ValueId scalar, ValueId index) except 0 nogil
