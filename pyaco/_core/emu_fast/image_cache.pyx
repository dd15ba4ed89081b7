"""Makes the tables of images and samplers, and finds them by words. The contract is in ``image_cache.pxd``."""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcmp, memcpy, memset

from pyaco._core.emu.image_sample cimport across_edge, has_only_bytes, wrapped_texel
from pyaco._core.emu.image_view cimport *
from pyaco._core.emu.memory cimport Allocation, canonical_address, memory_find
from pyaco._core.emu.texels cimport (TexelFormat, load_channel, load_decoded_texel, most_texels, texel_float, texel_sint,
                                     texel_snorm, texel_uint, texel_unorm)
from pyaco._core.emu.wave cimport Machine

cdef extern from "stdlib.h" nogil:
    void *aligned_alloc(size_t alignment, size_t size)

cdef enum:
    key_pairs = 6                     # 64-bit words of a key
    cache_bytes = 1 << 26             # of tables; more are made anew
    repeat_margin = 40                # texels beyond an edge that repeats: offsets reach 32
    edge_margin = 2
    largest_level = 0x7fffffff
    largest_exact = 1 << 15           # texels, whose 512ths singles tell apart
    cube_edges = 24                   # of six faces
    line_bytes = 64                   # of the host's cache
    block_edge = 4                    # texels


cdef inline uint32_t _bucket(const uint32_t *words) noexcept nogil:
    cdef uint64_t pairs[key_pairs]
    cdef uint64_t mixed = 0
    cdef uint32_t i
    memcpy(pairs, words, sizeof(pairs))
    for i in range(<uint32_t>key_pairs):
        mixed = (mixed ^ pairs[i]) * 0x9e3779b97f4a7c15ULL
    return <uint32_t>(mixed >> 40) % <uint32_t>cache_buckets


cdef const PreparedImage *prepared_image(ImageCache *cache, Machine *machine, const uint32_t *words, bint samples) noexcept nogil:
    cdef uint32_t bucket = _bucket(words)
    cdef PreparedImage *image = cache.image[bucket]
    while image != NULL and memcmp(image.words, words, sizeof(image.words)):
        image = image.next
    if image == NULL:
        if cache.bytes > <uint64_t>cache_bytes:
            close_images(cache)
            cache.dispatch += 1                             # works point to what is gone
        image = <PreparedImage *>calloc(1, sizeof(PreparedImage))
        if image == NULL:
            return NULL
        memcpy(image.words, words, sizeof(image.words))
        image.next = cache.image[bucket]
        cache.image[bucket] = image
        cache.bytes += sizeof(PreparedImage)
    if image.dispatch != cache.dispatch:
        _renew(cache, machine, image, samples)
    return image if image.usable else NULL


cdef void _renew(ImageCache *cache, Machine *machine, PreparedImage *image, bint samples) noexcept nogil:
    """Find the descriptors in this dispatch's tables."""
    image.dispatch = cache.dispatch
    image.usable = False
    image.view = find_image(machine.descriptors, image.words)
    image.sampler = find_sampler(machine.descriptors, image.words + <int>image_words) if samples else NULL
    if image.view == NULL or image.view.problem or image.view.empty or image.view.samples > 1:
        return
    if samples and (image.sampler == NULL or image.sampler.problem or not _is_addressing_known(image.view, image.sampler)):
        return
    if image.view.type == image_cube and image.view.layers % 6:
        return
    image.usable = _find_decoder(cache, image)


cdef bint _is_addressing_known(const ImageView *view, const Sampler *sampler) noexcept nogil:
    cdef uint32_t axis
    for axis in range(3):
        if sampler.clamp[axis] == clamp_half_border or sampler.clamp[axis] == clamp_mirror_once_half_border:
            return False
    return sampler.reduction == reduction_average


cdef bint _find_decoder(ImageCache *cache, PreparedImage *image) noexcept nogil:
    """How elements of the format are decoded; False: by nothing that is known here."""
    cdef const TexelFormat *form = &image.view.format
    cdef uint32_t most = 0
    cdef uint32_t total = 0
    cdef uint32_t plain = 0
    cdef uint32_t halves = 0
    cdef uint32_t channels = 0
    cdef uint32_t i
    for i in range(4):
        total += form.bits[i]
        most = max(most, <uint32_t>form.bits[i])
        channels += form.bits[i] != 0
        plain += form.bits[i] == 32 and (form.kind[i] == texel_float or form.kind[i] == texel_uint or form.kind[i] == texel_sint)
        halves += form.bits[i] == 16 and form.kind[i] == texel_float
    image.decode = decode_each
    image.fours = no_fours
    image.four_halves = halves == 4 and form.bytes == 8
    if form.in_blocks:
        return _find_block_decoder(cache, image)
    if not channels and not form.shared_exponent:
        return False                                        # FMASK
    if form.bytes not in (1, 2, 4, 8, 16):
        return False
    if form.shared_exponent:
        return True
    image.fours = _fours_of(form)
    if _has_norms_of_16(form):
        image.decode = decode_norm16
        return True
    if plain == channels:
        image.decode = decode_bits
    elif halves == channels:
        image.decode = decode_half
    elif has_only_bytes(form):
        image.decode = decode_bytes
    elif most <= table_bits and form.bytes <= 4:
        image.decode = decode_table
        return _make_meanings(cache, image)
    return True


cdef uint8_t _fours_of(const TexelFormat *form) noexcept nogil:
    """Whether four channels of the same kind and of 16 or 32 bits are an element, and which."""
    cdef uint32_t i
    for i in range(4):
        if form.kind[i] != form.kind[0] or form.bits[i] != form.bits[0]:
            return no_fours
    if form.kind[0] == texel_float:
        return four_halves if form.bits[0] == 16 else (four_singles if form.bits[0] == 32 else no_fours)
    if form.bits[0] != 16:
        return no_fours
    return four_unorms if form.kind[0] == texel_unorm else (four_snorms if form.kind[0] == texel_snorm else no_fours)


cdef bint _has_norms_of_16(const TexelFormat *form) noexcept nogil:
    """Whether all channels are unorms, or all are snorms, of 16 bits."""
    cdef uint32_t i
    for i in range(4):
        if form.bits[i] and (form.bits[i] != 16 or form.kind[i] != form.kind[0]):
            return False
    return form.bits[0] == 16 and (form.kind[0] == texel_unorm or form.kind[0] == texel_snorm)


# ------------------------------------------------------------------------------------------------------ blocks of texels
cdef void _decode_block(const void *format_, const uint8_t *host, float *texels) noexcept nogil:
    """The components of all texels of a block."""
    cdef const TexelFormat *form = <const TexelFormat *>format_
    cdef uint8_t[most_texels * 16] decoded
    cdef uint32_t i
    form.block.decode(&form.block, host, decoded)
    for i in range(<uint32_t>block_texels):
        load_decoded_texel(form, decoded + i * form.block.texel_bytes, <uint32_t *>texels + 4 * i)


cdef bint _find_block_decoder(ImageCache *cache, PreparedImage *image) noexcept nogil:
    """Blocks of 4 x 4 texels in 8 or 16 bytes; False: others, or out of memory."""
    cdef const TexelFormat *form = &image.view.format
    if form.block.width != block_edge or form.block.height != block_edge or form.block.depth != 1:
        return False
    if form.bytes != form.block.bytes or (form.bytes != 8 and form.bytes != 16):
        return False
    if cache.decoded == NULL:
        cache.decoded = <DecodedBlocks *>calloc(1, sizeof(DecodedBlocks))
        if cache.decoded == NULL:
            return False
    image.decode = decode_block
    image.fours = four_of_block
    image.blocks.decoded = cache.decoded
    image.blocks.format = form
    image.blocks.decode = _decode_block
    image.blocks.form = (<uint64_t>form.block.codec << 16 | <uint64_t>form.block.interpolation << 8 | form.srgb_blocks) + 1
    image.blocks.bytes = form.bytes
    return True


cdef bint _make_meanings(ImageCache *cache, PreparedImage *image) noexcept nogil:
    """What each value of each channel means, as `load_channel` says. False: out of memory."""
    cdef const TexelFormat *form = &image.view.format
    cdef uint32_t channel, raw, word
    cdef uint8_t element[4]
    for channel in range(4):
        if form.bits[channel] == 0 or image.meaning[channel] != NULL:
            continue
        image.meaning[channel] = <uint32_t *>malloc(sizeof(uint32_t) << form.bits[channel])
        if image.meaning[channel] == NULL:
            return False
        cache.bytes += sizeof(uint32_t) << form.bits[channel]
        for raw in range(<uint32_t>1 << form.bits[channel]):
            word = raw << form.position[channel]
            memcpy(element, &word, 4)
            image.meaning[channel][raw] = load_channel(form, channel, element)
        if form.bits[channel] == 8 and form.position[channel] % 8 == 0 and not _make_planes(cache, image, channel):
            return False
    return True


cdef bint _make_planes(ImageCache *cache, PreparedImage *image, uint32_t channel) noexcept nogil:
    """The meanings of a channel of eight bits, byte by byte. False: out of memory."""
    cdef BytePlanes *planes = <BytePlanes *>aligned_alloc(line_bytes, sizeof(BytePlanes))
    if planes == NULL:
        return False
    cache.bytes += sizeof(BytePlanes)
    fill_planes(image.meaning[channel], planes[0])
    image.planes[channel] = planes
    return True


# -------------------------------------------------------------------------------------------------------------- levels
cdef uint32_t _extent(const ImageView *view, const ImageLevel *level, uint32_t axis) noexcept nogil:
    """Texels along an axis; of the third the slices or layers that the view has, 0 if they are not all there."""
    if axis == 0:
        return level.width
    if axis == 1:
        return level.height
    if view.type == image_3d:
        return min(level.depth - min(level.depth, view.first_layer), view.layers)
    return view.layers if view.first_layer + view.layers <= level.depth else 0


cdef uint32_t _mode(const PreparedImage *image, uint32_t axis) noexcept nogil:
    """The addressing mode of an axis; integers name texels inside only, and layers are clamped."""
    if image.sampler == NULL or (axis == 2 and image.view.type != image_3d):
        return clamp_last_texel
    if image.view.type == image_cube:
        return clamp_border if image.sampler.cube_wrap else clamp_last_texel       # beyond it lies another face
    return image.sampler.clamp[axis]


cdef void _open_axis(const PreparedImage *image, ImageAxis *axis, uint32_t number, uint32_t size) noexcept nogil:
    """Everything but the table."""
    cdef uint32_t mode = _mode(image, number)
    cdef bint unnormalized = image.sampler != NULL and image.sampler.unnormalized
    cdef int32_t margin = edge_margin
    cdef int32_t least = 0
    cdef int32_t end = <int32_t>size
    memset(axis, 0, sizeof(ImageAxis))
    axis.size = size
    axis.scale = 256.0 if unnormalized else 256.0 * size
    axis.shift = 1.0 if image.view.type == image_cube else 0.0
    axis.addressing = address_else
    if mode == clamp_wrap and not unnormalized:
        axis.repeats = True
        axis.addressing = address_repeat
        margin = repeat_margin
    elif mode == clamp_wrap or mode == clamp_mirror:
        axis.period = end if mode == clamp_wrap else 2 * end
        end = axis.period
        margin = 1
    elif mode == clamp_last_texel or mode == clamp_border:
        axis.addressing = address_clamp if mode == clamp_last_texel else address_border
    else:
        least = -end
    axis.exact_scale = <float>(2 * axis.scale)
    axis.exact_shift = <float>axis.shift
    axis.exact = unnormalized or (size & (size - 1) == 0 and size <= <uint32_t>largest_exact)
    axis.first = least - margin
    axis.last = end + margin - 2


cdef inline const int64_t *_bytes_by(const ImageView *view, const ImageLevel *level, uint32_t axis) noexcept nogil:
    if axis == 2:
        return level.z + view.first_layer
    return level.y if axis == 1 else level.x


cdef uint64_t _reach(const ImageView *view, const ImageLevel *level) noexcept nogil:
    """An offset from a level's origin that no byte of its texels reaches."""
    cdef uint64_t sum_ = 0
    cdef uint64_t most
    cdef uint32_t axis, i
    cdef uint32_t edge = block_edge if view.format.in_blocks else 1
    cdef const int64_t *bytes_
    for axis in range(3):
        most = 0
        bytes_ = _bytes_by(view, level, axis)
        for i in range((_extent(view, level, axis) + edge - 1) // edge if axis < 2 else _extent(view, level, axis)):
            most = max(most, <uint64_t>bytes_[i] & ~level.low)
        sum_ += most
    # elements lie within blocks, unless the bits that are xored are those of pipes and banks alone
    return sum_ + level.low + (1 if level.low and level.low & (level.low + 1) == 0 else view.format.bytes)


cdef inline uint32_t _parts(const ImageView *view, uint64_t bytes_) noexcept nogil:
    """Bytes as offsets count them: of images of blocks in parts, 16 of which are a block."""
    return <uint32_t>(bytes_ if not view.format.in_blocks else bytes_ // view.format.bytes << <int>block_part_bits)


cdef inline int64_t _bytes_of(const ImageView *view, const ImageLevel *level, uint32_t axis, int64_t texel) noexcept nogil:
    return _bytes_by(view, level, axis)[texel // <int>block_edge if view.format.in_blocks and axis < 2 else texel]


cdef inline uint32_t _low(const ImageView *view, const ImageLevel *level) noexcept nogil:
    """The bits that are xored: of images of blocks those that name a texel of one, too."""
    return <uint32_t>level.low if not view.format.in_blocks else _parts(view, level.low) | <uint32_t>(block_texels - 1)


cdef inline uint32_t _place_in_block(const ImageView *view, uint32_t axis, int64_t texel) noexcept nogil:
    if not view.format.in_blocks or axis == 2:
        return 0
    return <uint32_t>(texel % <int>block_edge) << (2 * axis)


cdef inline uint32_t _entry(const ImageView *view, const ImageLevel *level, uint32_t axis, int64_t texel) noexcept nogil:
    """What a texel adds to an offset; the second axis has what is the same for all texels of the level, of one slice at least."""
    cdef uint32_t low = _low(view, level)
    cdef uint32_t slice_ = _parts(view, _bytes_by(view, level, 2)[0])
    cdef uint32_t bytes_ = _parts(view, _bytes_of(view, level, axis, texel)) | _place_in_block(view, axis, texel)
    if axis == 0:
        return bytes_
    if axis == 1:
        return ((bytes_ & ~low) + (slice_ & ~low)) | ((bytes_ ^ slice_ ^ _parts(view, view.base & level.low)) & low)
    return ((bytes_ & ~low) - (slice_ & ~low)) | ((bytes_ ^ slice_) & low)


cdef bint _find_neighbours(ImageCache *cache, PreparedImage *image, uint32_t number) noexcept nogil:
    """The texels beyond the edges of a cube's faces, as `ImageTexels` has them. False: out of memory, or a face has too many texels."""
    cdef uint32_t size = image.view.level[number].width
    cdef CubeTexel *beyond
    cdef uint32_t face, edge, along, other
    cdef int64_t x, y
    if image.sampler == NULL or image.view.type != image_cube or not image.sampler.cube_wrap or image.beyond[number] != NULL:
        return True
    if size > 1 << 16:
        return False
    beyond = image.beyond[number] = <CubeTexel *>malloc(cube_edges * size * sizeof(CubeTexel))
    if beyond == NULL:
        return False
    cache.bytes += cube_edges * size * sizeof(CubeTexel)
    for face in range(6):
        for edge in range(4):
            for along in range(size):
                other = face
                x = along if edge >= 2 else (-1 if edge == 0 else <int64_t>size)
                y = along if edge < 2 else (-1 if edge == 2 else <int64_t>size)
                across_edge(size, &other, &x, &y)
                beyond.x, beyond.y, beyond.face = <uint16_t>x, <uint16_t>y, <uint16_t>other
                beyond += 1
    return True


cdef bint _make_digits(ImageCache *cache, PreparedImage *image, uint32_t number) noexcept nogil:
    """The tables of a level by digits of coordinates. False: out of memory."""
    cdef TexelDigits *digits
    digits = image.digits[number] = <TexelDigits *>aligned_alloc(line_bytes, sizeof(TexelDigits))
    if digits == NULL:
        return False
    cache.bytes += sizeof(TexelDigits)
    find_digits(image.level[number], digits[0])
    image.level[number].digits = digits
    return image.view.format.bytes != 4 or _make_squares(cache, image, number)


cdef bint _make_squares(ImageCache *cache, PreparedImage *image, uint32_t number) noexcept nogil:
    """The tables of a level whose texels lie in squares. False: out of memory."""
    cdef TexelSquares *squares = <TexelSquares *>aligned_alloc(line_bytes, sizeof(TexelSquares))
    if squares == NULL:
        return False
    if not find_squares(image.level[number], squares[0]):
        free(squares)
        return True
    cache.bytes += sizeof(TexelSquares)
    image.squares[number] = squares
    image.level[number].squares = squares
    return True


cdef bint _make_tables(ImageCache *cache, PreparedImage *image, uint32_t number) noexcept nogil:
    """The tables of a level's axes. False: out of memory, or the level has no texels or too many."""
    cdef const ImageLevel *level = &image.view.level[number]
    cdef ImageTexels *texels = &image.level[number]
    cdef uint32_t *entry
    cdef uint64_t count = 0
    cdef int64_t found
    cdef uint32_t axis, size, mode
    cdef int32_t i
    if image.sampler != NULL and image.view.type == image_cube and level.width != level.height:
        return False                                        # no surface is like that, but words may say so: the width counts for both
    for axis in range(3):
        size = _extent(image.view, level, axis)
        if size == 0 or size > 1 << 20:
            return False
        _open_axis(image, &texels.axis[axis], axis, size)
        count += texels.axis[axis].last - texels.axis[axis].first + 2
    count += <int>image_table_margin
    entry = <uint32_t *>calloc(count, sizeof(uint32_t))
    if entry == NULL:
        return False
    cache.bytes += count * sizeof(uint32_t)
    image.tables[number] = entry
    texels.low = _low(image.view, level)
    if not _find_neighbours(cache, image, number):
        return False
    for axis in range(3):
        mode = _mode(image, axis)
        size = texels.axis[axis].size
        texels.axis[axis].entry = entry
        for i in range(texels.axis[axis].first, texels.axis[axis].last + 2):
            found = wrapped_texel(mode, i, size)
            if found >= 0 and not 0 <= _bytes_of(image.view, level, axis, found) < largest_level:
                free(image.tables[number])
                image.tables[number] = NULL
                return False
            entry[0] = _entry(image.view, level, axis, found) if found >= 0 else image_outside
            entry += 1
    if image.view.format.bytes == 4:
        find_pairs(texels.axis[0], 4)
        find_pairs(texels.axis[1], 8)
    image.reach[number] = _reach(image.view, level)
    return image.digits[number] != NULL or _make_digits(cache, image, number)


cdef bint _place_level(Machine *machine, PreparedImage *image, uint32_t number) noexcept nogil:
    """Find the level on the host; False unless all of it is in one allocation."""
    cdef const ImageLevel *level = &image.view.level[number]
    cdef ImageTexels *texels = &image.level[number]
    cdef uint64_t address = canonical_address(image.view.base & ~level.low)
    cdef const Allocation *allocation
    if level.sample[0] or image.reach[number] > <uint64_t>largest_level // (2 if image.decode == decode_block else 1):
        return False
    allocation = memory_find(machine.memory, address, image.reach[number])
    if allocation == NULL:
        return False
    texels.beyond = image.beyond[number]
    texels.host = allocation.host + (address - allocation.address)
    return True


cdef const ImageTexels *prepared_level(ImageCache *cache, Machine *machine, const PreparedImage *prepared, uint32_t level) noexcept nogil:
    cdef PreparedImage *image = <PreparedImage *>prepared
    if image.level_dispatch[level] != cache.dispatch:
        image.level_dispatch[level] = cache.dispatch
        image.level_usable[level] = ((image.tables[level] != NULL or _make_tables(cache, image, level))
                                     and _place_level(machine, image, level))
    return &image.level[level] if image.level_usable[level] else NULL


# --------------------------------------------------------------------------------------------------------------- cache
cdef void open_images(ImageCache *cache) noexcept nogil:
    cache.dispatch += 1


cdef void close_images(ImageCache *cache) noexcept nogil:
    cdef PreparedImage *image
    cdef uint32_t i, part
    for i in range(<uint32_t>cache_buckets):
        while cache.image[i] != NULL:
            image = cache.image[i]
            cache.image[i] = image.next
            for part in range(4):
                free(image.meaning[part])
                free(image.planes[part])
            for part in range(<uint32_t>view_levels):
                free(image.tables[part])
                free(image.digits[part])
                free(image.squares[part])
                free(image.beyond[part])
            free(image)
    free(cache.decoded)
    cache.decoded = NULL
    cache.bytes = 0
