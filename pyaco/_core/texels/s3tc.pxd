"""Decoders of BC1, BC2 and BC3."""
from libc.stdint cimport uint8_t

from pyaco._core.texels.block cimport BlockFormat

cdef void decode_bc1(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil
cdef void decode_bc2(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil
cdef void decode_bc3(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil
