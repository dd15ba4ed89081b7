"""What the words of image and sampler descriptors say, decoded once: where each texel lies, how it is read, how it is sampled.

The texels of a level have a table for each coordinate (``pyaco.addrlib.tiling``): what the tables give is xored with the base in the bits
within a block, `low`, and added above. All swizzle modes are this one computation; linear levels have no bits within a block. Pipe and bank
xor are bits of the base within a block.

Descriptors are kept by their words. A lookup takes no lock: an entry is complete before it is linked, and is never changed. A miss asks
Python, under its lock.
"""
from libc.stdint cimport int16_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from pyaco._core.emu.texels cimport TexelFormat

cdef enum:
    view_levels = 17
    image_words = 8
    sampler_words = 4
    image_buckets = 4096
    sampler_buckets = 512

cdef enum:                            # SQ_RSRC_IMG_*
    image_1d = 8
    image_2d = 9
    image_3d = 10
    image_cube = 11
    image_1d_array = 12
    image_2d_array = 13
    image_2d_msaa = 14
    image_2d_msaa_array = 15

cdef struct ImageLevel:
    const int64_t *x                  # bytes by coordinate; of formats of blocks by column, row ... of blocks
    const int64_t *y
    const int64_t *z
    const int64_t *sample
    uint64_t low
    uint32_t width                    # texels; depth: slices, or layers of the surface up to the view's last
    uint32_t height
    uint32_t depth

cdef struct ImageView:
    uint32_t words[image_words]
    const ImageView *next
    uint32_t problem                  # 0, or the number of the error that says why nothing can be done with these words
    uint8_t empty                     # a null descriptor: loads give zero, stores are dropped
    uint8_t type                      # image_*
    uint8_t select[4]                 # for x, y, z, w: 0, 1, or 4 and more for a channel
    uint8_t border[4]                 # for each channel: the component of the border colour that stands for it
    uint8_t samples
    uint8_t first_level
    uint8_t last_level
    uint8_t levels                    # of the surface
    uint16_t min_lod                  # 8 fraction bits, from level 0 of the surface on
    uint32_t first_layer              # layer, or first slice of 3D images whose slices are chosen
    uint32_t layers                   # of the view; 1 for what has none; 3D: slices of level 0 that are seen
    uint64_t base
    TexelFormat format
    ImageLevel level[view_levels]     # by level of the surface; those outside of the view are empty

cdef enum:                            # SQ_TEX_*
    clamp_wrap = 0
    clamp_mirror = 1
    clamp_last_texel = 2
    clamp_mirror_once_last_texel = 3
    clamp_half_border = 4
    clamp_mirror_once_half_border = 5
    clamp_border = 6
    clamp_mirror_once_border = 7
    filter_point = 0
    filter_linear = 1
    filter_anisotropic_point = 2
    filter_anisotropic_linear = 3
    mip_none = 0
    mip_point = 1
    mip_linear = 2
    reduction_average = 0
    reduction_minimum = 1
    reduction_maximum = 2
    border_transparent_black = 0
    border_opaque_black = 1
    border_opaque_white = 2
    border_register = 3               # a colour of the table
    border_color_bytes = 16           # of a colour there: four floats, or four integers

cdef struct Sampler:
    uint32_t words[sampler_words]
    const Sampler *next
    uint32_t problem
    uint8_t clamp[3]
    uint8_t mag_filter
    uint8_t min_filter
    uint8_t z_filter                  # of 3D images: 0 as in x and y, 1 point, 2 linear
    uint8_t mip_filter
    uint8_t anisotropy                # logarithm of the greatest ratio
    uint8_t compare                   # never, <, ==, <=, >, !=, >=, always
    uint8_t unnormalized
    uint8_t truncate
    uint8_t cube_wrap                 # filters reach across the edges of a cube's faces
    uint8_t reduction
    uint8_t border
    uint16_t border_number            # of the colour in the table
    uint8_t perf_mip
    uint16_t min_lod                  # 8 fraction bits
    uint16_t max_lod
    int16_t bias                      # 8 fraction bits

cdef struct DescriptorTable:
    const ImageView *images[image_buckets]
    const Sampler *samplers[sampler_buckets]
    void *owner                       # the `Descriptors` that the table belongs to
    uint64_t border_colors            # device address of the table of border colours, 0: there is none (TA_BC_BASE_ADDR)

# The view that eight words describe, and the sampler that four do; their `problem` says whether they can be used. NULL: out of memory.
cdef const ImageView *find_image(DescriptorTable *table, const uint32_t *words) noexcept nogil
cdef const Sampler *find_sampler(DescriptorTable *table, const uint32_t *words) noexcept nogil


cdef class Descriptors:
    """The descriptors that an engine has met."""
    cdef DescriptorTable table
    cdef public object describe
    cdef readonly list problems
    cdef list kept
    cdef uint32_t count
    cdef int forget(self) except -1
    cdef const ImageView *add_image(self, const uint32_t *words) except NULL
    cdef const Sampler *add_sampler(self, const uint32_t *words) except NULL
    cdef uint32_t problem(self, error) except 0


cdef inline uint64_t texel_address(const ImageView *view, const ImageLevel *level, uint32_t x, uint32_t y, uint32_t z,
                                   uint32_t sample) noexcept nogil:
    """The address of a texel within the level's extent."""
    cdef uint64_t low = level.low
    cdef uint64_t a = <uint64_t>level.x[x]
    cdef uint64_t b = <uint64_t>level.y[y]
    cdef uint64_t c = <uint64_t>level.z[z]
    cdef uint64_t d = <uint64_t>level.sample[sample]
    return ((view.base & ~low) + (a & ~low) + (b & ~low) + (c & ~low) + (d & ~low)) | ((view.base ^ a ^ b ^ c ^ d) & low)


cdef inline uint32_t selected_component(const ImageView *view, const uint32_t *texel, uint32_t component) noexcept nogil:
    """A component as the descriptor chooses it from a texel's channels."""
    cdef uint32_t selector = view.select[component]
    if selector >= 4:
        return texel[selector - 4]
    return 0 if selector != 1 else (1 if view.format.integer else 0x3f800000)
