"""The SPIR-V reader's side of ``ir/emitter.pxd``: where its NIR instructions go, and constants that it shares."""
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.ir.shader cimport NodeId, ShaderData, ValueId
from pyaco._core.spirv.module cimport BlockLists, Reader

cdef int lists_begin(BlockLists *lists, ShaderData *s) except -1 nogil
# The last instruction of a block, 0: it is empty.
cdef ValueId last_of_block(const BlockLists *lists, NodeId block) noexcept nogil
# Inserts a NIR instruction into a block after another one (0: at the start of the block).
cdef int emit_after(BlockLists *lists, NodeId block, ValueId after, ValueId instruction) except -1 nogil
# Raises UnsupportedError for a shader of more than maximum_instructions.
cdef int check_size(Reader r) except -1 nogil
# A constant integer; small ones of 32 bits are made once.
cdef ValueId integer(Reader r, uint64_t value, int bit_size) except 0 nogil
# A value converted to `bit_size` bits, as unsigned or signed.
cdef ValueId resize_integer(Reader r, ValueId value, int bit_size, bint is_signed) except 0 nogil
cdef uint32_t components_of(Reader r, ValueId value) noexcept nogil
cdef uint32_t bits_of(Reader r, ValueId value) noexcept nogil
