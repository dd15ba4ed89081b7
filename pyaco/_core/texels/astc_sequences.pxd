"""ASTC's integer sequences: numbers of a range that need not be a power of two, and what they stand for as weights and endpoints."""
from libc.stdint cimport uint8_t, uint32_t

from pyaco._core.texels.block cimport BlockBits

cdef enum:
    weight_ranges = 12                # ranges are numbered by size; weights have the first twelve
    least_endpoint_range = 4          # 0 to 5
    range_count = 21

cdef uint8_t[range_count][256] endpoint_values        # 0 to 255, by range and number
cdef uint8_t[weight_ranges][32] weight_values         # 0 to 64

cdef uint32_t sequence_bits(uint32_t range_, uint32_t count) noexcept nogil
cdef void take_sequence(BlockBits bits, uint32_t range_, uint32_t count, const uint8_t *values, uint8_t *out) noexcept nogil
