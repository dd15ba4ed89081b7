"""Formats of compressed blocks by codec, and whole images of them."""
from libc.stdint cimport uint8_t, uint32_t

from pyaco._core.texels.block cimport BlockFormat

cdef bint block_format(BlockFormat *format, uint32_t codec, uint32_t width, uint32_t height, uint32_t depth, uint32_t interpolation) noexcept nogil
