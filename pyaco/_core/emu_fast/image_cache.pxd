"""Images and samplers as the steps of image instructions use them: a table for each axis of each level, with the sampler's addressing in it.

What is prepared belongs to the words of the descriptors and stays from dispatch to dispatch; where the texels lie on the host is looked up once
in each. Levels that are not in one allocation as a whole, and what the tables do not express (half-texel borders, 2 GiB and more), are left to
the reference engine, as is every lane that meets a border, the corner of a cube's face, or a coordinate that is no number.

Thread safety: a cache belongs to one thread.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from pyaco._core.emu.image_operands cimport ImageOperands
from pyaco._core.emu.image_view cimport ImageView, Sampler, view_levels
from pyaco._core.emu.wave cimport Instruction, Machine
from pyaco._core.emu_fast.step cimport Core, cached_works

cdef extern from "image_rows.h" nogil:
    enum:
        image_row, image_corners, image_table_margin
        image_truncates, image_nearest, image_linear
        address_repeat, address_clamp, address_border, address_else
    uint32_t image_outside

    cdef struct ImageAxis:
        const uint32_t *entry
        int32_t first
        int32_t last
        int32_t period
        uint32_t size
        double scale
        double shift
        float exact_scale
        float exact_shift
        uint8_t repeats
        uint8_t exact
        uint8_t addressing

    cdef struct CubeTexel:
        uint16_t x
        uint16_t y
        uint16_t face

    cdef struct ImageTexels:
        ImageAxis axis[3]
        uint32_t low
        const CubeTexel *beyond
        uint8_t *host
        const TexelDigits *digits
        const TexelSquares *squares

cdef extern from "image_patches.h" nogil:
    void find_pairs(ImageAxis &axis, uint32_t distance)

cdef extern from "image_digits.h" nogil:
    cdef struct TexelDigits:
        pass
    void find_digits(const ImageTexels &level, TexelDigits &digits)

cdef extern from "image_squares.h" nogil:
    cdef struct TexelSquares:
        pass
    bint find_squares(const ImageTexels &level, TexelSquares &squares)

cdef extern from "image_fetches.h" nogil:
    enum:
        fetch_constant, fetch_dword, fetch_unsigned, fetch_signed, fetch_unorm8, fetch_unorm, fetch_snorm, fetch_half, fetch_table
        fetch_shared_exponent, fetch_unknown
    cdef struct FetchedComponent:
        const uint32_t *meaning
        uint32_t at
        uint32_t value
        uint8_t kind
        uint8_t dword
        uint8_t shift
        uint8_t bits
        uint8_t everywhere

cdef extern from "image_planes.h" nogil:
    cdef struct BytePlanes:
        pass
    void fill_planes(const uint32_t *meaning, BytePlanes &planes)

cdef extern from "image_gradients.h" nogil:
    cdef struct SameGradients:
        pass

cdef extern from "image_stores.h" nogil:
    enum:
        store_dword, store_unsigned, store_signed, store_unorm, store_snorm, store_half, store_unknown
    cdef struct StoredChannel:
        uint32_t at
        uint8_t kind
        uint8_t dword
        uint8_t shift
        uint8_t bits

cdef extern from "image_fours.h" nogil:
    enum:
        no_fours, four_halves, four_singles, four_unorms, four_snorms, four_of_block
        block_part_bits, block_texels
    cdef struct DecodedBlocks:
        pass
    cdef struct BlockSource:
        DecodedBlocks *decoded
        const void *format
        void (*decode)(const void *format, const uint8_t *block, float *texels) noexcept nogil
        uint64_t form
        uint32_t bytes

cdef enum:                            # how elements become components
    decode_each = 0                   # lane by lane
    decode_bits = 1                   # dwords as they are
    decode_bytes = 2                  # 8-bit unorm, which filters sum as integers
    decode_half = 3
    decode_table = 4                  # channels of few bits, by a table
    decode_norm16 = 5
    decode_block = 6                  # texels of blocks, each of which is decoded as a whole

cdef enum:
    key_words = 12                    # of image and sampler
    cache_buckets = 64
    table_bits = 11                   # most that a channel with a table has

cdef struct PreparedImage:
    uint32_t words[key_words]
    PreparedImage *next
    uint64_t dispatch                 # for which the pointers to the descriptors hold
    const ImageView *view
    const Sampler *sampler            # NULL: texels are named by integers
    bint usable
    uint8_t decode                    # decode_*
    bint four_halves                  # an element is four halves
    uint8_t fours                     # elements have four components that filters take together: which (image_fours.h)
    BlockSource blocks
    uint32_t *meaning[4]              # decode_table: by channel
    BytePlanes *planes[4]             # the same of channels of eight bits (image_planes.h); NULL: others
    uint32_t *tables[view_levels]     # of all axes of a level; NULL: not made yet
    TexelDigits *digits[view_levels]  # image_digits.h
    TexelSquares *squares[view_levels]          # image_squares.h; NULL: of no use
    CubeTexel *beyond[view_levels]    # the edges of a cube's faces, for samplers that cross them
    uint64_t reach[view_levels]       # an offset from the level's origin that no byte of its texels has
    uint64_t level_dispatch[view_levels]
    bint level_usable[view_levels]
    ImageTexels level[view_levels]

cdef enum:
    fetches_nothing = 0
    fetches_four_bytes = 1            # all four components of elements of four 8-bit channels
    fetches_components = 2

cdef enum:
    no_channel = 4
    no_register = 0xffffffff

# One instruction, with the descriptors that it met last. What loads and samples of the usual kind read comes first: a program of many instructions
# that touch images has more of these than the first cache holds.
cdef struct ImageWork:
    const Instruction *instruction
    uint64_t dispatch
    uint32_t words[key_words]
    const ImageTexels *level          # where all executions have the same level: that one; else NULL
    Core *core
    uint32_t result_at[4]             # by byte, or component of four, its component's register, as dwords of all registers; `no_register`
    uint32_t coordinate_at[3]         # the registers of the coordinates, if they are not narrow; `no_register`
    uint32_t half                     # the row that is worked on
    uint32_t active                   # its lanes
    uint8_t usable                    # False: the reference engine has to execute it
    uint8_t at_once                   # a sample that `_sample_at_once` can do
    uint8_t fetches                   # how `_fetch_wave` loads, or `_sample_nearest` samples: fetches_*
    uint8_t squares                   # texels of `fetches_four_bytes` of a level of two axes are looked for by squares
    uint8_t stores                    # whether `_store_wave` stores
    uint8_t plain                     # 8-bit channels, each of them at most one component, and all components are such
    uint8_t plain_halves              # the same of elements of four halves
    uint8_t distinct                  # components are channels that the format has, each at most one of them
    uint8_t one_float                 # a sample of one float between texels, which `_sample_singles` can do
    uint8_t channels_at_once          # a sample between texels of several channels, which `_sample_channels` can do
    uint8_t volume                    # a sample between the texels of a volume, which `_sample_volume` can do
    uint8_t any_control               # `_sample_whole` does not depend on MXCSR
    uint8_t keeps_level               # every level of detail samples the only level in the same way
    uint8_t names_level               # lanes name a level
    uint8_t patches                   # lanes may lie as in a workgroup (image_patches.h)
    uint8_t filter                    # its filter: image_*
    const ImageView *view
    ImageOperands o
    const Sampler *sampler
    const PreparedImage *image
    uint32_t wanted                   # a bit for each channel that components need
    uint8_t position[4]               # by channel: the first component that it is
    uint8_t channel_of_byte[4]        # or by component, where elements are four; or `no_channel`
    uint32_t components               # of a load, or a sample of nearest texels
    FetchedComponent component[4]
    SameGradients gradients           # of a sample by derivatives
    uint32_t channels                 # of a store, those that the data has something for
    StoredChannel channel[4]

cdef struct ImageCache:
    PreparedImage *image[cache_buckets]
    ImageWork work[cached_works]      # by step: those of a program follow each other, in a ring
    DecodedBlocks *decoded            # NULL: no image of blocks has been met
    uint64_t dispatch                 # number of the dispatch that runs; another one where images have been forgotten in between
    uint64_t bytes

# The image, and sampler unless its words are zeros, that twelve words describe; NULL: the reference engine has to look at them.
cdef const PreparedImage *prepared_image(ImageCache *cache, Machine *machine, const uint32_t *words, bint samples) noexcept nogil
# A level of the surface; NULL: its texels are left to the reference engine.
cdef const ImageTexels *prepared_level(ImageCache *cache, Machine *machine, const PreparedImage *image, uint32_t level) noexcept nogil
# Before a dispatch: what the last one found on the host may be elsewhere.
cdef void open_images(ImageCache *cache) noexcept nogil
cdef void close_images(ImageCache *cache) noexcept nogil
