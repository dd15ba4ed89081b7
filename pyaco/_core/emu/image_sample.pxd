"""Sampling: coordinates and level of detail to filtered components."""
from libc.math cimport floor
from libc.stdint cimport int64_t, uint32_t

from pyaco._core.emu.image_operands cimport ImageOperands
from pyaco._core.emu.image_view cimport *
from pyaco._core.emu.texels cimport TexelFormat, texel_unorm
from pyaco._core.emu.wave cimport Instruction, Machine, Wave

cdef enum:
    fraction_bits = 8                 # of coordinates of texels and of levels of detail
    one = 1 << fraction_bits
    half = one // 2

# The four components that a lane's sample, gather or query of the level of detail gives; integers where the format is one of integers.
cdef int sample_lane(Machine *machine, Wave *wave, const Instruction *instruction, const ImageOperands *o, const ImageView *view,
                     const Sampler *sampler, uint32_t lane, uint32_t *result) noexcept nogil
# The level of detail that it has, within all limits, and how many samples an anisotropic filter takes.
cdef int64_t lod_of_lane(Machine *machine, Wave *wave, const Instruction *instruction, const ImageOperands *o, const ImageView *view,
                         const Sampler *sampler, uint32_t lane, uint32_t *probes) noexcept nogil

# The texel of the neighbouring face that continues a cube's face beyond one edge.
cdef void across_edge(uint32_t size, uint32_t *face, int64_t *x, int64_t *y) noexcept nogil


cdef inline int64_t wrapped_texel(uint32_t mode, int64_t i, int64_t size) noexcept nogil:
    """The texel that an index stands for; -1: the border."""
    cdef int64_t j
    if 0 <= i < size:
        return i
    if mode == clamp_wrap:
        return i % size if i >= 0 else size - 1 - (-1 - i) % size
    if mode == clamp_mirror:
        j = (i if i >= 0 else -1 - i) % (2 * size)
        return j if j < size else 2 * size - 1 - j
    if mode == clamp_mirror_once_last_texel or mode == clamp_mirror_once_half_border or mode == clamp_mirror_once_border:
        j = i if i >= 0 else -1 - i
        if j < size:
            return j
        return size - 1 if mode == clamp_mirror_once_last_texel else -1
    if mode == clamp_last_texel:
        return 0 if i < 0 else size - 1
    return -1


cdef inline bint has_only_bytes(const TexelFormat *form) noexcept nogil:
    """Whether all channels are 8-bit unorm: filters take them as integers, and divide the sum."""
    cdef uint32_t bits = 0
    cdef uint32_t i
    for i in range(4):
        if form.bits[i] and (form.bits[i] != 8 or form.kind[i] != texel_unorm):
            return False
        bits += form.bits[i]
    return bits != 0 and form.bytes <= 4


cdef inline int64_t fixed_lod(double lod) noexcept nogil:
    return 0 if lod != lod else <int64_t>floor(max(-64.0, min(64.0, lod)) * one + 0.5)


cdef inline int64_t clamped_lod(const ImageView *view, const Sampler *sampler, int64_t lod, double least) noexcept nogil:
    """Limits of the sampler, of the instruction, and of the view, which counts from the surface's first level."""
    lod = max(lod, max(<int64_t>sampler.min_lod, fixed_lod(least)))
    lod = min(lod, <int64_t>max(sampler.max_lod, sampler.min_lod))
    return view_lod(view, lod)


cdef inline int64_t view_lod(const ImageView *view, int64_t lod) noexcept nogil:
    return max(lod, <int64_t>view.min_lod - (<int64_t>view.first_level << fraction_bits))


cdef inline uint32_t nearest_level(const ImageView *view, const Sampler *sampler, int64_t lod) noexcept nogil:
    """The level of the surface that is nearest to a level of detail."""
    cdef int64_t last = view.last_level - view.first_level
    if sampler.mip_filter == mip_none:
        return view.first_level
    return view.first_level + <uint32_t>((max(<int64_t>0, min(lod, last << fraction_bits)) + half) >> fraction_bits)
