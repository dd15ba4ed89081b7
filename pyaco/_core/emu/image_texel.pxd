"""One texel: where it lies, and what it holds. A texel outside of its level reads as zeros, and stores to it are dropped."""
from libc.stdint cimport uint8_t, uint32_t

from pyaco._core.emu.image_view cimport ImageView
from pyaco._core.emu.wave cimport Machine

# A place in an image: level, and coordinates that may lie outside of it.
cdef struct Place:
    uint32_t level
    uint32_t x
    uint32_t y
    uint32_t z
    uint32_t sample

# Where a texel lies on the host; NULL: outside of the image, or (counted in `missing_texels`) on a page of a sparse image that is not mapped.
# stop_memory_fault: no memory is there.
cdef int reach_texel(Machine *machine, uint32_t lane, const ImageView *view, const Place *p, uint8_t access_kind, uint32_t bytes,
                     uint8_t **host) noexcept nogil
# The components of a texel as its format has them.
cdef int fetch_texel(Machine *machine, uint32_t lane, const ImageView *view, uint32_t level, uint32_t x, uint32_t y, uint32_t z,
                     uint32_t sample, uint32_t *texel) noexcept nogil
