"""Decoders of BC4 and BC5."""
from libc.stdint cimport uint8_t

from pyaco._core.texels.block cimport BlockFormat

cdef void decode_rgtc(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil
