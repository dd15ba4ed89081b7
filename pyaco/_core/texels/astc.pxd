"""Decoder of ASTC."""
from libc.stdint cimport uint8_t

from pyaco._core.texels.block cimport BlockFormat

cdef void decode_astc(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil
