# Steps of image instructions: a row of 32 lanes at a time, by the tables of `image_cache`; part of images256.pyx and images512.pyx.
#
# Lanes that these do not serve (borders, edges of a cube's faces, coordinates that are no numbers, NaNs in a filter) are sampled as the reference
# engine does, one by one; whole instructions that they do not serve are left to it before anything is changed.

cdef extern from "image_rows.h" nogil:
    cdef struct ImagePatch:
        bint used
    cdef struct ImageRow:
        ImagePatch patch
        int32_t texel[3][image_row]
        int32_t weight[3][image_row]
        uint32_t offset[image_corners][image_row]
    uint32_t find_texels_by(const ImageAxis &axis, const float *coordinate, int filter, int32_t *texel, int32_t *weight)
    uint32_t find_texels_by(const ImageAxis &axis, const double *coordinate, int filter, int32_t *texel, int32_t *weight)
    void limit_texels(const ImageAxis &axis, int32_t *texel)
    uint32_t find_layers(const float *coordinate, uint32_t layers, bint cube, int32_t *layer)
    void fill_row(uint32_t *row, uint32_t value)
    void take_lanes(uint32_t mask, const uint32_t *source, uint32_t *row)
    void add_offsets(const uint32_t *packed, unsigned int axis, int32_t *texel)
    void store_words(uint8_t *host, const uint32_t *offset, unsigned int bytes, uint32_t lanes, const uint32_t *words)
    void decode_unorm8(const uint32_t *words, unsigned int shift, uint32_t *component)
    void decode_by_table(const uint32_t *words, unsigned int shift, uint32_t mask, const uint32_t *meaning, uint32_t *component)
    void decode_halves(const uint32_t *words, unsigned int shift, uint32_t *component)
    void widen_bytes(const uint32_t *words, unsigned int position, double *component)
    void mix_levels(double *sums, const double *following, const double *share)
    void round_sums(const double *sums, float *component)
    void pass_singles(uint32_t *component)
    void limit_references(const float *reference, float *limited)
    void compare_row(unsigned int function, const float *reference, uint32_t *component)
    uint32_t nan_lanes(const float *values)
    void encode_unorm8(const uint32_t *component, unsigned int shift, uint32_t *words)
    void __builtin_prefetch(const void *place)

cdef extern from "image_patches.h" nogil:
    bint place_patch(const ImageTexels &level, const float **coordinate, int filter, ImageRow &row)
    bint place_texel_patch(const ImageTexels &level, const uint32_t *x, const uint32_t *y, ImagePatch &patch)

cdef extern from "image_chunks.h" nogil:
    cdef struct FloatRows:
        float *row[4]
    cdef struct DoubleRows:
        double *row[4]
    uint32_t place_nearest(const ImageTexels &level, bint several, ImageRow &row)
    uint32_t place_corners(const ImageTexels &level, unsigned int slices, unsigned int both, ImageRow &row)
    bint is_exact(const ImageAxis &axis)
    bint place_volume(const ImageTexels &level, const float **coordinate, ImageRow &row, uint32_t &outside)
    uint32_t place_texels(const ImageTexels &level, const uint32_t *x, const uint32_t *y, const uint32_t *z, uint32_t *offset)
    uint32_t cross_edges(const ImageTexels &level, uint32_t lanes, ImageRow &row)
    void load_words(const uint8_t *host, const ImageRow &row, unsigned int bytes, unsigned int dword, uint32_t *words)
    void load_bytes_of_lanes(const ImageTexels &level, uint32_t active, const uint32_t *x, const uint32_t *y, const FloatRows &to)
    void pass_bytes(const uint8_t *host, const ImageRow &row, unsigned int bytes, const FloatRows &to)
    void filter_singles(const uint32_t **component, const ImageRow &row, unsigned int slices, float *to)
    void filter_singles(const uint32_t **component, const ImageRow &row, unsigned int slices, double *to)
    void filter_compared(const uint32_t **component, const ImageRow &row, unsigned int slices, unsigned int function, const float *reference,
                         float *to)

cdef extern from "image_gathers.h" nogil:
    bint fast_gathers
    bint place_lanes(const ImageTexels &level, const float **coordinate, const int32_t *layer, uint32_t only, int filter, ImageRow &row,
                     uint32_t &outside)
    void load_lanes(const uint8_t *host, const ImageRow &row, unsigned int bytes, unsigned int dword, unsigned int slices, uint32_t *words,
                    unsigned int stride)
    void gather_lanes(const uint8_t *host, const ImageRow &row, unsigned int bytes, unsigned int byte, const FloatRows &to)
    void filter_lanes(const uint8_t *host, const ImageRow &row, unsigned int bytes, unsigned int slices, const FloatRows &to)
    void filter_lanes(const uint8_t *host, const ImageRow &row, unsigned int bytes, unsigned int slices, const DoubleRows &to)

    cdef struct WideChannel:
        const uint32_t *meaning
        uint32_t shift
        uint32_t mask
        uint32_t dword
    bint filter_channels(const uint8_t *host, const ImageRow &row, unsigned int slices, const WideChannel *channels, unsigned int count, float **to)
    bint filter_channels(const uint8_t *host, const ImageRow &row, unsigned int slices, const WideChannel *channels, unsigned int count, double **to)

cdef extern from "image_fours.h" nogil:
    void load_blocks(const BlockSource &source, const uint8_t *host, const uint32_t *offset, uint32_t (*words)[image_row])
    void decode_norm16_row "decode_norm16"(const uint32_t *words, unsigned int shift, bint is_signed, uint32_t *component)
    void filter_fours(int kind, const BlockSource &blocks, const uint8_t *host, const ImageRow &row, unsigned int slices, const FloatRows &to)
    void filter_fours(int kind, const BlockSource &blocks, const uint8_t *host, const ImageRow &row, unsigned int slices, const DoubleRows &to)

cdef extern from "image_volumes.h" nogil:
    bint filter_volume(const ImageTexels &level, unsigned int rows, const float **coordinate, const FloatRows &to)

cdef extern from "image_grids.h" nogil:
    bint load_bytes_by_grid(const ImageTexels &level, unsigned int rows, const uint32_t *x, const uint32_t *y, const FloatRows &to)
    bint sample_by_grid(const ImageTexels &level, unsigned int rows, const float **coordinate, uint32_t slice, int filter, const FloatRows &to)
    bint gather_by_grid(const ImageTexels &level, unsigned int rows, const float **coordinate, unsigned int byte, const FloatRows &to)
    bint find_slice(const ImageTexels &level, unsigned int rows, const float *coordinate, uint32_t layers, bint cube, uint32_t &slice)

cdef extern from "image_halves.h" nogil:
    bint load_halves_by_grid(const ImageTexels &level, unsigned int rows, const uint32_t *x, const uint32_t *y, const FloatRows &to)
    bint filter_halves_patch(const ImageTexels &level, const float **coordinate, const FloatRows &to)


cdef extern from "image_singles.h" nogil:
    bint filter_singles_by_grid(const ImageTexels &level, unsigned int rows, const float **coordinate, float *to)
    bint compare_singles_by_grid(const ImageTexels &level, unsigned int rows, const float **coordinate, unsigned int function, const float *reference,
                                 float *to)


# The elements of a row: dwords, or components where each is decoded by itself.
cdef struct Elements:
    uint32_t words[4][image_row]


cdef inline ImageWork *_work_of(Core *core, const Step *step, bint samples) noexcept nogil:
    """The instruction with the descriptors that its registers hold; NULL: the reference engine has to execute it."""
    cdef ImageCache *cache = <ImageCache *>core.images
    cdef ImageWork *work = &cache.work[step.allocation]
    cdef const uint32_t *words = &core.wave.sgpr[step.sgpr]
    cdef uint32_t differs = 0
    cdef uint32_t i
    for i in range(3):                                      # the next one's, as far as the usual kinds read it
        __builtin_prefetch(<const uint8_t *>(work + 1) + 64 * i)
    for i in range(<uint32_t>image_words):
        differs |= work.words[i] ^ words[i]
    if samples:
        words = &core.wave.sgpr[step.mask_source]
        for i in range(<uint32_t>sampler_words):
            differs |= work.words[<uint32_t>image_words + i] ^ words[i]
    if __builtin_expect(differs != 0 or work.instruction != step.instruction or work.dispatch != cache.dispatch, False):
        _open_work(work, core, step.instruction, samples)
    return work if work.usable else NULL


cdef void _open_work(ImageWork *work, Core *core, const Instruction *instruction, bint samples) noexcept nogil:
    """Find the image and the sampler, and what the registers of the address hold."""
    cdef ImageCache *cache = <ImageCache *>core.images
    memset(work, 0, sizeof(ImageWork))
    memcpy(work.words, &core.wave.sgpr[instruction.decoded.source[0] >> 2], 4 * <int>image_words)
    if samples:
        memcpy(work.words + <int>image_words, &core.wave.sgpr[instruction.decoded.source[1] >> 2], 4 * <int>sampler_words)
    work.core, work.instruction = core, instruction
    work.image = prepared_image(cache, core.machine, work.words, samples)
    work.dispatch = cache.dispatch
    if work.image == NULL:
        return
    work.view, work.sampler = work.image.view, work.image.sampler
    open_operands(&work.o, instruction, work.view, core.machine.gfx_level)
    # the shape that the instruction names is the descriptor's
    work.usable = not work.o.sampled and (work.o.spatial == 3) == (work.view.type == image_3d) and work.o.spatial <= _axes_of(work.view.type)
    if samples and modifier_unrm(instruction.decoded.modifiers) and not work.sampler.unnormalized:
        work.usable = False                                 # tables are made for what samplers say
    work.names_level = work.o.flags & image_flag_lod != 0
    work.keeps_level = samples and _ignores_detail(work)
    if work.keeps_level or not (samples or work.names_level):
        work.level = prepared_level(cache, core.machine, work.image, work.view.first_level)
    _open_plan(work)
    work.patches = _has_patches(work, samples)
    if samples and work.level != NULL:
        work.filter = <uint8_t>_filter_of(work, _is_linear(work.sampler.mag_filter))
        work.at_once = _is_at_once(work)
        work.one_float = _is_one_float(work)
        work.volume = _is_volume(work)
        work.any_control = _has_any_control(work)
    elif not samples:
        work.at_once = _is_load_at_once(work)


cdef inline bint _has_patches(const ImageWork *work, bint samples) noexcept nogil:
    """Whether lanes that lie as in a workgroup are looked for."""
    if _has_components(work) or work.o.spatial != 2 or work.o.layered or work.o.narrow:
        return False
    if work.view.format.bytes != 4 and not work.plain_halves:
        return False
    if samples and work.image.decode == decode_table and fast_gathers:
        return False                                        # the table's entries take longer than the texels
    return not samples or not work.o.flags & image_flag_offset


cdef inline uint32_t _axes_of(uint8_t type_) noexcept nogil:
    return 1 if type_ == image_1d or type_ == image_1d_array else (3 if type_ == image_3d else 2)


cdef inline void _open_half(ImageWork *work, uint32_t half) noexcept nogil:
    work.half = half
    work.active = <uint32_t>(work.core.active >> (image_row * half))


cdef inline const uint32_t *_address(const ImageWork *work, uint32_t dword) noexcept nogil:
    return address_row(work.core.wave, work.instruction, dword) + image_row * work.half


cdef inline const uint32_t *_whole_row(const ImageWork *work, uint32_t position, uint32_t *narrow) noexcept nogil:
    """Coordinates as integers; those of 16 bits are widened into `narrow`."""
    cdef const uint32_t *row
    cdef uint32_t lane
    if not work.o.narrow:
        return _address(work, work.o.coordinates_at + position)
    row = _address(work, work.o.coordinates_at + position // 2)
    for lane in range(<uint32_t>image_row):
        narrow[lane] = (row[lane] >> (16 * (position & 1))) & 0xffff
    return narrow


cdef inline const float *_number_row(const ImageWork *work, uint32_t position, uint32_t *narrow) noexcept nogil:
    """Coordinates as numbers."""
    if not work.o.narrow:
        return <const float *>_address(work, work.o.coordinates_at + position)
    decode_halves(_address(work, work.o.coordinates_at + position // 2), 16 * (position & 1), narrow)
    return <const float *>narrow


# ------------------------------------------------------------------------------------------------------------- elements
cdef void _load_each(const ImageWork *work, const uint8_t *host, const uint32_t *offset, Elements *elements) noexcept nogil:
    cdef uint32_t lane, i
    cdef uint32_t texel[4]
    if work.image.decode == decode_block:
        load_blocks(work.image.blocks, host, offset, elements.words)
        return
    for lane in range(<uint32_t>image_row):
        load_texel(&work.view.format, host + offset[lane], texel)
        for i in range(4):
            elements.words[i][lane] = texel[i]


cdef inline bint _has_components(const ImageWork *work) noexcept nogil:
    """Whether elements are loaded as components."""
    return work.image.decode == decode_each or work.image.decode == decode_block


cdef inline void _load_elements(const ImageWork *work, const uint8_t *host, const ImageRow *places, Elements *elements) noexcept nogil:
    cdef uint32_t bytes_ = work.view.format.bytes
    cdef uint32_t dword
    if _has_components(work):
        _load_each(work, host, places.offset[0], elements)
        return
    for dword in range((bytes_ + 3) // 4):
        load_words(host, places[0], bytes_, dword, elements.words[dword])


cdef inline void _load_corners(const ImageWork *work, const uint8_t *host, const ImageRow *places, uint32_t slices,
                               Elements *elements) noexcept nogil:
    cdef uint32_t bytes_ = work.view.format.bytes
    cdef uint32_t corner, dword
    if _has_components(work):
        for corner in range(4 * slices):
            _load_each(work, host, places.offset[corner], &elements[corner])
        return
    for dword in range((bytes_ + 3) // 4):
        load_lanes(host, places[0], bytes_, dword, slices, elements[0].words[dword], sizeof(Elements) // sizeof(uint32_t))


cdef inline void _open_plan(ImageWork *work) noexcept nogil:
    """Which channels the components of a load or a sample need, and whether they can be put into the registers at once.

    They can where no lane turns out to be one for the reference engine, which needs the address, after its texels have been found.
    """
    cdef bint compares = work.o.flags & image_flag_compare != 0
    cdef bint plain = (work.image.decode == decode_bytes or work.image.four_halves) and not work.o.halves and not compares
    cdef uint32_t bits = 16 if work.image.four_halves else 8
    cdef uint32_t component, channel
    cdef uint8_t position = 0
    for component in range(4):
        if not work.o.mask >> component & 1:
            continue
        if work.view.select[component] >= 4:
            channel = 0 if compares else work.view.select[component] - 4
            plain = plain and work.view.format.bits[channel] and not work.wanted >> channel & 1
            work.position[channel] = position
            work.wanted |= <uint32_t>1 << channel
        else:
            plain = False
        position += 1
    work.plain = plain and work.image.decode == decode_bytes
    work.plain_halves = plain and work.image.four_halves
    for component in range(4):
        work.channel_of_byte[component] = no_channel
    for channel in range(4):
        if work.view.format.bits[channel]:
            work.channel_of_byte[(work.view.format.position[channel] // bits) & 3] = <uint8_t>channel
    for component in range(4):
        channel = work.channel_of_byte[component]
        work.result_at[component] = no_register
        if work.wanted >> channel & 1:
            work.result_at[component] = <uint32_t>(data_row(work.core.wave, work.instruction.decoded.destination[0], work.position[channel])
                                                   - work.core.wave.vgpr)
    for component in range(min(work.o.spatial, <uint32_t>2)):
        work.coordinate_at[component] = <uint32_t>(address_row(work.core.wave, work.instruction, work.o.coordinates_at + component)
                                                   - work.core.wave.vgpr)


cdef inline void _open_results(const ImageWork *work, FloatRows *rows) noexcept nogil:
    """The registers of the components, where `work.plain` or `work.plain_halves`."""
    cdef float *registers = <float *>work.core.wave.vgpr + image_row * work.half
    cdef uint32_t byte
    for byte in range(4):
        rows.row[byte] = registers + work.result_at[byte] if work.result_at[byte] != no_register else NULL


cdef inline void _open_bytes(const ImageWork *work, uint32_t wanted, uint32_t **value, FloatRows *rows) noexcept nogil:
    """The rows of the channels of 8-bit unorm that are wanted."""
    cdef uint32_t byte, channel
    for byte in range(4):
        channel = work.channel_of_byte[byte]
        rows.row[byte] = <float *>value[channel] if wanted >> channel & 1 else NULL


cdef inline const uint32_t *_decoded(const ImageWork *work, const Elements *elements, uint32_t channel, uint32_t *row) noexcept nogil:
    """A channel of every element: where it lies already, or in `row`."""
    if _has_components(work):
        return elements.words[channel]
    if work.image.decode == decode_bits and work.view.format.bits[channel]:
        return elements.words[work.view.format.position[channel] >> 5]
    _decode(work, elements, channel, row)
    return row


cdef inline void _decode(const ImageWork *work, const Elements *elements, uint32_t channel, uint32_t *component) noexcept nogil:
    """A channel of every element."""
    cdef const TexelFormat *form = &work.view.format
    cdef uint32_t position = form.position[channel]
    if _has_components(work):
        copy_row(component, elements.words[channel])
    elif form.bits[channel] == 0:
        fill_row(component, 0 if channel < 3 else (1 if form.integer else 0x3f800000))
    elif work.image.decode == decode_bytes:
        decode_unorm8(elements.words[0], position, component)
    elif work.image.decode == decode_half:
        decode_halves(elements.words[position >> 5], position & 31, component)
    elif work.image.decode == decode_norm16:
        decode_norm16_row(elements.words[position >> 5], position & 31, form.kind[channel] != texel_unorm, component)
    elif work.image.decode == decode_table:
        decode_by_table(elements.words[0], position, (<uint32_t>1 << form.bits[channel]) - 1, work.image.meaning[channel], component)
    else:
        copy_row(component, elements.words[position >> 5])


cdef inline uint32_t _constant(const ImageWork *work, uint32_t selector) noexcept nogil:
    return 0 if selector != 1 else (1 if work.view.format.integer else 0x3f800000)


cdef inline uint32_t *_result_row(const ImageWork *work, uint32_t position) noexcept nogil:
    return data_row(work.core.wave, work.instruction.decoded.destination[0], position) + image_row * work.half


cdef inline void _put_component(const ImageWork *work, uint32_t position, const uint32_t *values) noexcept nogil:
    """Write a row that is the `position`th of the result."""
    if work.o.halves:
        _put_halves(work, position, values)
    else:
        put_row_at(work.core, _result_row(work, position), work.half, values)


cdef void _put_halves(const ImageWork *work, uint32_t position, const uint32_t *values) noexcept nogil:
    cdef uint32_t lane
    for lane in range(<uint32_t>image_row):
        if work.active >> lane & 1:
            put_data(work.core.wave, work.instruction, &work.o, position, work.view.format.integer, values[lane], lane + image_row * work.half)


# ------------------------------------------------------------------------------------------------------ loads and stores
cdef const ImageTexels *_level_of_all(const ImageWork *work) noexcept nogil:
    """The level that all lanes name; NULL: there is no such level."""
    cdef uint32_t level = work.view.first_level
    cdef uint32_t lane, first, shift
    cdef uint32_t mask = 0xffffffffU
    cdef uint32_t differs = 0
    cdef uint32_t at = work.o.coordinates
    cdef const uint32_t *row
    if not work.names_level:
        return work.level
    if work.core.active == 0:
        return NULL
    row = address_row(work.core.wave, work.instruction, work.o.coordinates_at + (at // 2 if work.o.narrow else at))
    shift = 16 if work.o.narrow and at & 1 else 0
    if work.o.narrow:
        mask = 0xffff
    first = (row[trailing_zeros64(work.core.active)] >> shift) & mask
    for lane in range(image_row * work.core.halves):
        differs |= (((row[lane] >> shift) & mask) ^ first) & work.core.lane_mask[lane]
    if differs or first > <uint32_t>(work.view.last_level - work.view.first_level):
        return NULL
    return prepared_level(<ImageCache *>work.core.images, work.core.machine, work.image, level + first)


cdef inline const uint32_t *_coordinate(const ImageWork *work, uint32_t axis) noexcept nogil:
    return work.core.wave.vgpr + work.coordinate_at[axis] + image_row * work.half


cdef inline bint _find_texel_patch(const ImageWork *work, const ImageTexels *level, ImageRow *places) noexcept nogil:
    places.patch.used = work.patches and place_texel_patch(level[0], _coordinate(work, 0), _coordinate(work, 1), places.patch)
    return places.patch.used


cdef inline uint32_t _find_offsets(const ImageWork *work, const ImageTexels *level, uint32_t *offset) noexcept nogil:
    """Offsets of the texels that a row names by integers; returns the lanes whose texels are not in the level."""
    cdef uint32_t narrow[3][image_row]
    cdef const uint32_t *row[3]
    row[0] = _whole_row(work, 0, narrow[0])
    row[1] = narrow[1]
    row[2] = NULL
    if work.o.spatial > 1:
        row[1] = _whole_row(work, 1, narrow[1])
    else:
        fill_row(narrow[1], 0)
    if work.o.spatial > 2 or work.o.layered:
        row[2] = _whole_row(work, min(work.o.spatial, <uint32_t>2), narrow[2])
    return place_texels(level[0], row[0], row[1], row[2], offset)


cdef inline void _load_bytes(const ImageWork *work, const uint8_t *host, const ImageRow *places, uint32_t outside) noexcept nogil:
    """Components that are 8-bit unorm, to the registers of the result."""
    cdef uint32_t zeros[image_row]
    cdef FloatRows rows
    cdef uint32_t byte
    _open_results(work, &rows)
    pass_bytes(host, places[0], work.view.format.bytes, rows)
    if outside:
        fill_row(zeros, 0)
        for byte in range(4):
            if rows.row[byte] != NULL:
                take_lanes(outside, zeros, <uint32_t *>rows.row[byte])


cdef void _load_row(const ImageWork *work, const ImageTexels *level) noexcept nogil:
    cdef Elements elements
    cdef ImageRow places
    cdef uint32_t others[image_row]
    cdef uint32_t zeros[image_row]
    cdef uint32_t outside = 0 if _find_texel_patch(work, level, &places) else _find_offsets(work, level, places.offset[0])
    cdef bint direct = work.core.full and not work.o.halves           # the address has been read: components may replace it
    cdef uint32_t component, selector
    cdef uint32_t position = 0
    cdef uint32_t *found = others
    if direct and work.plain:
        _load_bytes(work, level.host, &places, outside)
        return
    _load_elements(work, level.host, &places, &elements)
    for component in range(4):
        if not work.o.mask >> component & 1:
            continue
        if direct:
            found = _result_row(work, position)
        selector = work.view.select[component]
        if selector < 4:
            fill_row(found, _constant(work, selector))
        else:
            _decode(work, &elements, selector - 4, found)
            if outside:
                fill_row(zeros, 0)
                take_lanes(outside, zeros, found)
        if not direct:
            _put_component(work, position, found)
        position += 1


cdef inline bint _wants_all(const ImageWork *work) noexcept nogil:
    """Whether the components are all four channels, which are 8-bit unorm or halves."""
    cdef uint32_t part
    for part in range(4):
        if work.result_at[part] == no_register:
            return False
    return work.plain or work.plain_halves


cdef inline bint _is_load_at_once(const ImageWork *work) noexcept nogil:
    """Whether loads are of the usual kind: of all four channels, from two axes of one level."""
    return _wants_all(work) and work.level != NULL and work.patches


cdef inline bint _load_at_once(ImageWork *work) noexcept nogil:
    """Load for a wave of which all lanes are active, straight to the registers. False: texels lie otherwise, and nothing was written.

    MXCSR does not count: there is no denormal in it but halves, which the host converts whatever MXCSR says.
    """
    cdef FloatRows rows
    _open_half(work, 0)
    _open_results(work, &rows)
    if work.plain_halves:
        return load_halves_by_grid(work.level[0], work.core.halves, _coordinate(work, 0), _coordinate(work, 1), rows)
    return load_bytes_by_grid(work.level[0], work.core.halves, _coordinate(work, 0), _coordinate(work, 1), rows)


cdef inline void _load_some(const ImageWork *work) noexcept nogil:
    """The same for a row of which some lanes are active."""
    cdef FloatRows rows
    _open_results(work, &rows)
    load_bytes_of_lanes(work.level[0], work.active, _coordinate(work, 0), _coordinate(work, 1), rows)


cdef int step_image_load(Core *core, const Step *step) noexcept nogil:
    cdef ImageWork *work = _work_of(core, step, False)
    cdef const ImageTexels *level = NULL
    cdef uint32_t half
    if work != NULL:
        if work.at_once and core.full and _load_at_once(work):
            return next_step(core, step)
        level = _level_of_all(work)
    if level == NULL:
        return step_reference(core, step)
    if core.control != control_default:
        set_host_control(control_default)
    for half in range(core.halves):
        _open_half(work, half)
        if work.active and work.at_once and work.plain and not core.full:
            _load_some(work)
        elif work.active:
            _load_row(work, level)
    if core.control != control_default:
        set_host_control(core.control)
    return next_step(core, step)


cdef void _store_row(const ImageWork *work, const ImageTexels *level) noexcept nogil:
    cdef uint32_t offset[image_row]
    cdef uint32_t words[image_row]
    cdef uint32_t texel[4]
    cdef int source[4]                                      # which of the data's registers a channel takes; -1: none
    cdef int missing = 0 if work.core.machine.gfx_level >= gfx12 else -1    # for components that are not stored
    cdef uint32_t component, lane
    cdef int position = 0
    cdef uint32_t lanes = work.active & ~_find_offsets(work, level, offset)
    for component in range(4):
        source[component] = -1
    for component in range(4):
        if work.view.select[component] >= 4:
            source[work.view.select[component] - 4] = position if work.o.mask >> component & 1 else missing
        position += work.o.mask >> component & 1
    if work.image.decode == decode_bytes and not work.o.halves:
        fill_row(words, 0)
        for component in range(4):
            if work.view.format.bits[component] and source[component] >= 0:
                encode_unorm8(data_row(work.core.wave, work.instruction.decoded.source[2], source[component]) + image_row * work.half,
                              work.view.format.position[component], words)
        store_words(level.host, offset, work.view.format.bytes, lanes, words)
        return
    for lane in range(<uint32_t>image_row):
        if lanes >> lane & 1:
            for component in range(4):
                texel[component] = 0
                if source[component] >= 0:
                    texel[component] = get_data(work.core.wave, work.instruction, &work.o, source[component], &work.view.format,
                                                lane + image_row * work.half)
            store_texel(&work.view.format, level.host + offset[lane], texel)


cdef int step_image_store(Core *core, const Step *step) noexcept nogil:
    cdef ImageWork *work = _work_of(core, step, False)
    cdef const ImageTexels *level = NULL
    cdef uint32_t half
    if work != NULL and work.view.format.kind[0] != texel_srgb and work.image.decode != decode_block:
        level = _level_of_all(work)
    if level == NULL:
        return step_reference(core, step)
    if core.control != control_default:
        set_host_control(control_default)
    for half in range(core.halves):
        _open_half(work, half)
        if work.active:
            _store_row(work, level)
    if core.control != control_default:
        set_host_control(core.control)
    return next_step(core, step)
