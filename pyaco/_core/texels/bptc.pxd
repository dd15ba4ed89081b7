"""Decoders of BC6H and BC7."""
from libc.stdint cimport uint8_t

from pyaco._core.texels.block cimport BlockFormat

cdef void decode_bc6h(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil
cdef void decode_bc7(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil
