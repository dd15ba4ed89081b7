"""Decoders of ETC2 and EAC."""
from libc.stdint cimport uint8_t

from pyaco._core.texels.block cimport BlockFormat

cdef void decode_etc2_rgb(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil
cdef void decode_etc2_rgba8(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil
cdef void decode_eac(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil
