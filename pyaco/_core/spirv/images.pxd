"""Images and samplers.

The value of an image or sampler is the deref of its variable; that of a sampled image is two of them in ``Reader.trees``, texture and sampler,
which are the same for combined ones. A texel pointer is a row of ``Reader.texels``.
"""
from libc.stdint cimport uint32_t

from pyaco._core.ir.shader cimport TypeId, ValueId
from pyaco._core.spirv.module cimport Reader, SpirvId, Texel

# Loads the value of an image, sampler or sampled image through a pointer.
cdef int load_handle(Reader r, uint32_t word, TypeId type, SpirvId pointer) except -1 nogil
# Reads one instruction and returns 1, or returns 0 when this file does not have it.
cdef int image_instruction(Reader r, uint32_t word, uint32_t end, uint32_t opcode) except -1 nogil
# The texel that an atomic accesses.
cdef ValueId texel_load(Reader r, const Texel *texel, uint32_t access) except 0 nogil
cdef int texel_store(Reader r, const Texel *texel, ValueId value, uint32_t access) except -1 nogil
# `compare` is what a compare-and-exchange expects in memory, 0 for other operations.
cdef ValueId texel_atomic(Reader r, const Texel *texel, int op, ValueId compare, ValueId data) except 0 nogil
