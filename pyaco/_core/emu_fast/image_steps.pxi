# Steps of image instructions: a row of 32 lanes at a time, by the tables of `image_cache`; part of images.pxi.
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
        int lanes
    cdef struct FourRows:
        uint32_t of[4][image_row]
    cdef struct FourSums:
        double of[4][image_row]
    cdef struct WaveSingles:
        float of[2 * image_row]
    cdef struct WaveSums:
        double of[4][2 * image_row]
    cdef struct Elements:
        uint32_t words[4][image_row]
    uint32_t find_texels_by(const ImageAxis &axis, const float *coordinate, int filter, int32_t *texel, int32_t *weight)
    uint32_t find_texels_by(const ImageAxis &axis, const double *coordinate, int filter, int32_t *texel, int32_t *weight)
    void limit_texels(const ImageAxis &axis, int32_t *texel)
    uint32_t find_layers(const float *coordinate, uint32_t layers, bint cube, int32_t *layer)
    void fill_row(uint32_t *row, uint32_t value)
    void take_lanes(uint32_t mask, const uint32_t *source, uint32_t *row)
    void add_offsets(const uint32_t *packed, unsigned int axis, int32_t *texel)
    void decode_unorm8(const uint32_t *words, unsigned int shift, uint32_t *component)
    void decode_by_table(const uint32_t *words, unsigned int shift, uint32_t mask, const uint32_t *meaning, uint32_t *component)
    void decode_halves(const uint32_t *words, unsigned int shift, uint32_t *component)
    void widen_bytes(const uint32_t *words, unsigned int position, double *component)
    void mix_levels(double *sums, const double *following, const double *share)
    void round_sums(const double *sums, float *component)
    void round_mixed(const double *sums, const double *following, const double *share, float *component)
    void pass_singles(uint32_t *component)
    void limit_references(const float *reference, float *limited)
    void compare_row(unsigned int function, const float *reference, uint32_t *component)
    uint32_t nan_lanes(const float *values)
    void __builtin_prefetch(const void *place)
    StepFunction apart(StepFunction step)
    bint has_words(const uint32_t *kept, const uint32_t *eight, const uint32_t *four)

cdef extern from "image_patches.h" nogil:
    bint place_patch(const ImageTexels &level, const float **coordinate, int filter, ImageRow &row)

cdef extern from "image_chunks.h" nogil:
    cdef struct FloatRows:
        float *row[4]
    cdef struct DoubleRows:
        double *row[4]
    uint32_t place_nearest(const ImageTexels &level, bint several, ImageRow &row)
    uint32_t place_corners(const ImageTexels &level, unsigned int slices, unsigned int both, ImageRow &row)
    bint is_exact(const ImageAxis &axis)
    uint32_t place_texels(const ImageTexels &level, const uint32_t *x, const uint32_t *y, const uint32_t *z, uint32_t *offset)
    uint32_t cross_edges(const ImageTexels &level, uint32_t lanes, ImageRow &row)
    void load_words(const uint8_t *host, const ImageRow &row, unsigned int bytes, unsigned int dword, uint32_t *words)
    void pass_bytes(const uint8_t *host, const ImageRow &row, unsigned int bytes, const FloatRows &to)
    void filter_singles(const uint32_t **component, const ImageRow &row, unsigned int slices, float *to)
    void filter_singles(const uint32_t **component, const ImageRow &row, unsigned int slices, double *to)
    void filter_compared(const uint32_t **component, const ImageRow &row, unsigned int slices, unsigned int function, const float *reference,
                         float *to)

cdef extern from "image_corners.h" nogil:
    bint place_lanes(const ImageTexels &level, const float **coordinate, const int32_t *layer, uint32_t only, int filter, ImageRow &row,
                     uint32_t &outside)
    bint place_in_volume(const ImageTexels &level, const float **coordinate, ImageRow &row, uint32_t &outside)

cdef extern from "image_gathers.h" nogil:
    bint fast_gathers
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
    void load_blocks(const BlockSource &source, const uint8_t *host, const uint32_t *offset, int lanes, uint32_t (*words)[image_row])
    void decode_norm16_row "decode_norm16"(const uint32_t *words, unsigned int shift, bint is_signed, uint32_t *component)
    void filter_fours(int kind, const BlockSource &blocks, const uint8_t *host, const ImageRow &row, unsigned int slices, const FloatRows &to)
    uint32_t filter_flat_fours(int kind, const BlockSource &blocks, const uint8_t *host, const ImageRow &row, const FloatRows &to)
    void filter_fours(int kind, const BlockSource &blocks, const uint8_t *host, const ImageRow &row, unsigned int slices, const DoubleRows &to)

cdef extern from "image_volumes.h" nogil:
    bint filter_volume(const ImageTexels &level, unsigned int rows, const float **coordinate, const FloatRows &to)

cdef extern from "image_grids.h" nogil:
    bint sample_by_grid(const ImageTexels &level, unsigned int rows, const float **coordinate, uint32_t slice, int filter, const FloatRows &to)
    bint gather_by_grid(const ImageTexels &level, unsigned int rows, const float **coordinate, unsigned int byte, const FloatRows &to)
    bint find_slice(const ImageTexels &level, unsigned int lanes, const float *coordinate, uint32_t layers, bint cube, uint32_t &slice)

cdef extern from "image_fetches.h" nogil:
    cdef struct WaveTexels:
        const uint32_t *x
        const uint32_t *y
        const uint32_t *z
        uint64_t active
        unsigned int rows
    void fetch_four_bytes(const ImageTexels &level, const WaveTexels &texels, const FloatRows &to)
    void fetch_components(const ImageTexels &level, const WaveTexels &texels, unsigned int bytes, const FetchedComponent *component,
                          unsigned int count, uint32_t *registers)

cdef extern from "image_lines.h" nogil:
    void fetch_by_squares(const ImageTexels &level, const uint32_t *x, const uint32_t *y, uint64_t active, unsigned int rows, const FloatRows &to)

cdef extern from "image_stores.h" nogil:
    void store_wave(const ImageTexels &level, const WaveTexels &texels, unsigned int bytes, const StoredChannel *channel, unsigned int count,
                    const uint32_t *registers)

cdef extern from "image_nearest.h" nogil:
    cdef struct NearestPlaces:
        const float *coordinate[3]
        const uint32_t *layer
        uint64_t active
        unsigned int rows
        unsigned int axes
        uint8_t truncates
    bint sample_by_squares(const ImageTexels &level, unsigned int sixteens, const float **coordinate, int filter, const FloatRows &to)
    bint nearest_four_bytes(const ImageTexels &level, const NearestPlaces &places, const FloatRows &to)
    bint nearest_components(const ImageTexels &level, const NearestPlaces &places, unsigned int bytes, const FetchedComponent *component,
                            unsigned int count, bint floats, uint32_t *registers)

cdef extern from "image_windows.h" nogil:
    bint place_by_window(const ImageTexels &level, unsigned int rows, const float **coordinate, ImageRow *row)
    bint may_be_window(const ImageTexels &level, const float **coordinate, int lanes)

cdef extern from "image_planes.h" nogil:
    bint byte_look_ups
    cdef struct PlanesOf:
        const BytePlanes *byte[4]
    void filter_planes(const uint32_t *words, unsigned int stride, const ImageRow &row, unsigned int slices, const PlanesOf &planes,
                       const FloatRows &to)
    void filter_planes(const uint32_t *words, unsigned int stride, const ImageRow &row, unsigned int slices, const PlanesOf &planes,
                       const DoubleRows &to)

cdef extern from "image_byte_windows.h" nogil:
    bint filter_in_byte_window(const ImageTexels &level, unsigned int rows, const float **coordinate, uint32_t slice_, const FloatRows &to)
    bint filter_in_byte_window(const ImageTexels &level, unsigned int rows, const float **coordinate, uint32_t slice_, const DoubleRows &to)
    bint gather_in_byte_window(const ImageTexels &level, unsigned int rows, const float **coordinate, unsigned int byte, const FloatRows &to)
    bint filter_meanings_in_window(const ImageTexels &level, unsigned int rows, const float **coordinate, const PlanesOf &planes,
                                   const FloatRows &to)
    bint filter_singles_in_window(const ImageTexels &level, unsigned int rows, const float **coordinate, float *to)
    bint compare_in_window(const ImageTexels &level, unsigned int rows, const float **coordinate, unsigned int function, const float *reference,
                           float *to)

cdef extern from "image_line_filters.h" nogil:
    bint filter_by_lines(const ImageTexels &level, unsigned int sixteens, const float **coordinate, const FloatRows &to)

cdef extern from "image_anyhow.h" nogil:
    bint is_far_apart(const ImageTexels &level, const float **coordinate)
    bint filter_anyhow(const ImageTexels &level, unsigned int rows, const float **coordinate, uint32_t slice_, const FloatRows &to)
    bint filter_layers_anyhow(const ImageTexels &level, unsigned int rows, const float **coordinate, uint32_t layers, bint cube, const FloatRows &to)

cdef extern from "image_block_windows.h" nogil:
    bint place_decoded(const ImageTexels &level, unsigned int rows, const BlockSource &source, const float **coordinate, ImageRow *row)
    const uint8_t *decoded_texels(const BlockSource &source)

cdef extern from "image_halves.h" nogil:
    bint filter_halves_patch(const ImageTexels &level, const float **coordinate, const FloatRows &to)


cdef extern from "image_lending.h" nogil:
    cdef struct LentRow:
        pass
    void keep_row(LentRow &lent, uint32_t *row, uint64_t active, unsigned int rows)
    void lend_lanes(const LentRow &lent, uint64_t active, unsigned int rows)
    void give_back_lanes(const LentRow &lent, uint64_t active, unsigned int rows)


cdef extern from "image_singles.h" nogil:
    bint filter_singles_by_grid(const ImageTexels &level, unsigned int rows, const float **coordinate, float *to)
    bint compare_singles_by_grid(const ImageTexels &level, unsigned int rows, const float **coordinate, unsigned int function, const float *reference,
                                 float *to)


cdef inline ImageWork *_known_work(Core *core, const Step *step, bint samples) noexcept nogil:
    """The instruction, if its registers hold the descriptors that they held last; else NULL."""
    cdef ImageCache *cache = <ImageCache *>core.images
    cdef ImageWork *work = &cache.work[step.allocation]
    cdef const uint32_t *sampler = &core.wave.sgpr[step.mask_source] if samples else NULL
    cdef uint32_t i
    for i in range(3):                                      # the next one's, as far as the usual kinds read it
        __builtin_prefetch(<const uint8_t *>(work + 1) + 64 * i)
    if __builtin_expect(has_words(work.words, &core.wave.sgpr[step.sgpr], sampler) and work.instruction == step.instruction
                        and work.dispatch == cache.dispatch, True):
        return work
    return NULL


cdef inline ImageWork *_work_of(Core *core, const Step *step, bint samples) noexcept nogil:
    """The instruction with the descriptors that its registers hold; NULL: the reference engine has to execute it."""
    cdef ImageWork *work = _known_work(core, step, samples)
    if work == NULL:
        work = &(<ImageCache *>core.images).work[step.allocation]
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
    if work.view.type == image_cube and not work.o.layered:
        work.usable = False                                 # where its filters cross edges, a cube's lanes have faces
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
        work.channels_at_once = _has_channels_at_once(work)
        work.volume = _is_volume(work)
        if _is_nearest(work):
            _open_fetches(work)
        work.any_control = _has_any_control(work)
        work.squares = work.squares and work.at_once and work.any_control
    elif not samples:
        if work.o.flags & image_flag_store:
            _open_stores(work)
        else:
            _open_fetches(work)


cdef inline bint _has_planes(const ImageWork *work) noexcept nogil:
    """Whether filters look up the channels that are wanted by bytes of their meanings."""
    cdef uint32_t channel
    for channel in range(4):
        if work.wanted >> channel & 1 and work.view.format.bits[channel] and work.image.planes[channel] == NULL:
            return False
    return byte_look_ups and work.image.decode == decode_table


cdef inline bint _has_patches(const ImageWork *work, bint samples) noexcept nogil:
    """Whether lanes that lie as in a workgroup are looked for."""
    if _has_components(work) or work.o.spatial != 2 or work.o.layered or work.o.narrow:
        return False
    if work.view.format.bytes != 4 and not work.plain_halves:
        return False
    if samples and work.image.decode == decode_table and fast_gathers and not _has_planes(work):
        return False                                        # the table's entries take longer than the texels
    return not samples or not work.o.flags & image_flag_offset


cdef inline uint32_t _axes_of(uint8_t type_) noexcept nogil:
    return 1 if type_ == image_1d or type_ == image_1d_array else (3 if type_ == image_3d else 2)


cdef inline void _open_half(ImageWork *work, uint32_t half) noexcept nogil:
    work.half = half
    work.active = <uint32_t>(work.core.active >> (image_row * half))


cdef inline int _lanes_of(uint64_t active) noexcept nogil:
    """How many lanes of a row are filtered: the first sixteen, where no other is active."""
    return image_row if active >> 16 else 16


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
cdef void _load_each(const ImageWork *work, const uint8_t *host, const uint32_t *offset, int lanes, Elements *elements) noexcept nogil:
    cdef uint32_t lane, i
    cdef uint32_t texel[4]
    if work.image.decode == decode_block:
        load_blocks(work.image.blocks, host, offset, lanes, elements.words)
        return
    for lane in range(<uint32_t>lanes):
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
        _load_each(work, host, places.offset[0], image_row, elements)
        return
    for dword in range((bytes_ + 3) // 4):
        load_words(host, places[0], bytes_, dword, elements.words[dword])


cdef inline void _load_corners(const ImageWork *work, const uint8_t *host, const ImageRow *places, uint32_t slices,
                               Elements *elements) noexcept nogil:
    cdef uint32_t bytes_ = work.view.format.bytes
    cdef uint32_t corner, dword
    if _has_components(work):
        for corner in range(4 * slices):
            _load_each(work, host, places.offset[corner], places.lanes, &elements[corner])
        return
    for dword in range((bytes_ + 3) // 4):
        load_lanes(host, places[0], bytes_, dword, slices, elements[0].words[dword], sizeof(Elements) // sizeof(uint32_t))


cdef inline void _open_plan(ImageWork *work) noexcept nogil:
    """Which channels the components of a load or a sample need, and whether they can be put into the registers at once.

    They can where no lane turns out to be one for the reference engine, which needs the address, after its texels have been found.
    """
    cdef bint compares = work.o.flags & image_flag_compare != 0
    cdef bint distinct = not work.o.halves and not compares
    cdef uint32_t component, channel
    cdef uint8_t position = 0
    for component in range(4):
        if not work.o.mask >> component & 1:
            continue
        if work.view.select[component] >= 4:
            channel = 0 if compares else work.view.select[component] - 4
            distinct = distinct and _has_channel(work, channel) and not work.wanted >> channel & 1
            work.position[channel] = position
            work.wanted |= <uint32_t>1 << channel
        else:
            distinct = False
        position += 1
    work.distinct = distinct
    work.plain = distinct and work.image.decode == decode_bytes
    work.plain_halves = distinct and work.image.four_halves
    for component in range(4):
        work.channel_of_byte[component] = no_channel
    for channel in range(4):
        if _has_channel(work, channel):
            work.channel_of_byte[_place_of_channel(work, channel)] = <uint8_t>channel
    for component in range(4):
        channel = work.channel_of_byte[component]
        work.result_at[component] = no_register
        if work.wanted >> channel & 1:
            work.result_at[component] = <uint32_t>(data_row(work.core.wave, work.instruction.decoded.destination[0], work.position[channel])
                                                   - work.core.wave.vgpr)
    for component in range(3):
        work.coordinate_at[component] = no_register
    for component in range(work.o.spatial):
        work.coordinate_at[component] = _coordinate_register(work, component)
    if work.o.layered:
        work.coordinate_at[2] = _coordinate_register(work, work.o.spatial)


cdef inline uint32_t _coordinate_register(const ImageWork *work, uint32_t position) noexcept nogil:
    return <uint32_t>(address_row(work.core.wave, work.instruction, work.o.coordinates_at + position) - work.core.wave.vgpr)


cdef inline bint _has_channel(const ImageWork *work, uint32_t channel) noexcept nogil:
    return _has_components(work) or work.view.format.bits[channel] != 0


cdef inline uint32_t _place_of_channel(const ImageWork *work, uint32_t channel) noexcept nogil:
    """Which of an element's four components, or of the bytes of a dword, a channel is."""
    if work.image.fours == four_of_block:
        return channel
    return (work.view.format.position[channel] >> (5 if work.image.fours == four_singles else 3 if work.image.fours == no_fours else 4)) & 3


cdef inline void _open_results(const ImageWork *work, FloatRows *rows) noexcept nogil:
    """The registers of the components, where `work.distinct`."""
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
    """The level that all lanes name, if they name one; NULL: there is no such level."""
    cdef uint32_t level = work.view.first_level
    cdef uint32_t lane, first, shift
    cdef uint32_t mask = 0xffffffffU
    cdef uint32_t differs = 0
    cdef uint32_t at = work.o.coordinates
    cdef const uint32_t *row
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


cdef void _load_row(const ImageWork *work, const ImageTexels *level) noexcept nogil:
    cdef Elements elements
    cdef ImageRow places
    cdef uint32_t found[image_row]
    cdef uint32_t zeros[image_row]
    cdef uint32_t outside = _find_offsets(work, level, places.offset[0])
    cdef uint32_t component, selector
    cdef uint32_t position = 0
    places.patch.used = False
    _load_elements(work, level.host, &places, &elements)
    for component in range(4):
        if not work.o.mask >> component & 1:
            continue
        selector = work.view.select[component]
        if selector < 4:
            fill_row(found, _constant(work, selector))
        else:
            _decode(work, &elements, selector - 4, found)
            if outside:
                fill_row(zeros, 0)
                take_lanes(outside, zeros, found)
        _put_component(work, position, found)
        position += 1


cdef inline bint _wants_all(const ImageWork *work) noexcept nogil:
    """Whether the components are all four channels, which are 8-bit unorm or halves."""
    cdef uint32_t part
    for part in range(4):
        if work.result_at[part] == no_register:
            return False
    return work.plain or work.plain_halves


cdef void _open_fetches(ImageWork *work) noexcept nogil:
    """What the components of a load, or of a sample of nearest texels, are, where the fetches of a wave make them."""
    cdef uint32_t component
    if work.o.narrow or work.o.halves or work.view.format.in_blocks:
        return
    work.components = 0
    for component in range(4):
        if work.o.mask >> component & 1:
            _open_component(work, work.view.select[component], &work.component[work.components])
            if work.component[work.components].kind == fetch_unknown:
                return
            work.components += 1
    work.fetches = fetches_components
    if work.plain and work.view.format.bytes == 4 and _wants_all(work):
        work.fetches = fetches_four_bytes
        work.squares = (work.usable and work.level != NULL and work.level.squares != NULL and work.o.spatial == 2 and not work.o.layered)


cdef void _open_component(const ImageWork *work, uint32_t selector, FetchedComponent *component) noexcept nogil:
    cdef const TexelFormat *form = &work.view.format
    cdef uint32_t channel = selector - 4
    component.at = <uint32_t>(data_row(work.core.wave, work.instruction.decoded.destination[0], work.components) - work.core.wave.vgpr)
    component.kind = fetch_constant
    if selector < 4:
        component.everywhere = True
        component.value = _constant(work, selector)
    elif form.shared_exponent and channel < 3:
        component.kind = fetch_shared_exponent
        component.bits, component.shift = 9, <uint8_t>(9 * channel)
    elif form.bits[channel] == 0:
        component.value = 0 if channel < 3 else _constant(work, 1)
    else:
        component.kind = _kind_of_channel(work, channel)
        component.bits = form.bits[channel]
        component.dword = form.position[channel] >> 5
        component.shift = form.position[channel] & 31
        component.meaning = work.image.meaning[channel]


cdef inline uint8_t _kind_of_channel(const ImageWork *work, uint32_t channel) noexcept nogil:
    """How `image_fetches.h` decodes a channel; fetch_unknown: it does not."""
    cdef uint8_t kind = work.view.format.kind[channel]
    cdef uint8_t bits = work.view.format.bits[channel]
    cdef bint whole = kind == texel_uint or kind == texel_sint
    if bits == 32:
        return fetch_dword if whole or kind == texel_float else fetch_unknown
    if whole:
        return fetch_unsigned if kind == texel_uint else fetch_signed
    if kind == texel_unorm and bits == 8 and work.view.format.position[channel] & 7 == 0:
        return fetch_unorm8
    if kind == texel_float and bits == 16:
        return fetch_half
    if work.image.meaning[channel] != NULL:
        return fetch_table
    if bits <= 24 and (kind == texel_unorm or kind == texel_snorm):
        return fetch_unorm if kind == texel_unorm else fetch_snorm
    return fetch_unknown


cdef inline const uint32_t *_fetched_coordinate(const ImageWork *work, uint32_t axis) noexcept nogil:
    return work.core.wave.vgpr + work.coordinate_at[axis] if work.coordinate_at[axis] != no_register else NULL


cdef inline void _open_texels(const ImageWork *work, uint32_t *zeros, WaveTexels *texels) noexcept nogil:
    """The texels that a wave's registers name; `zeros`: for images of one line."""
    texels.x = _fetched_coordinate(work, 0)
    texels.y = _fetched_coordinate(work, 1)
    texels.z = _fetched_coordinate(work, 2)
    texels.active = work.core.active
    texels.rows = work.core.halves
    if texels.y == NULL:
        memset(zeros, 0, 2 * image_row * sizeof(uint32_t))
        texels.y = zeros


cdef bint _fetch_wave(const ImageWork *work, const ImageTexels *level) noexcept nogil:
    """Load for the active lanes of a wave. False: the level's origin does not lie as its elements, and nothing was written.

    MXCSR does not count: there is no denormal in it but halves, which the host converts whatever MXCSR says.
    """
    cdef uint32_t zeros[2 * image_row]
    cdef WaveTexels texels
    cdef FloatRows rows
    _open_texels(work, zeros, &texels)
    if work.fetches == fetches_four_bytes:
        _open_results(work, &rows)
        fetch_four_bytes(level[0], texels, rows)
        return True
    if <uint64_t>level.host & 3:
        return False
    fetch_components(level[0], texels, work.view.format.bytes, work.component, work.components, work.core.wave.vgpr)
    return True


cdef inline void _open_four_results(const ImageWork *work, Wave *wave, FloatRows *rows) noexcept nogil:
    """The same where all four are wanted, for a wave."""
    cdef uint32_t byte
    for byte in range(4):
        rows.row[byte] = <float *>wave.vgpr + work.result_at[byte]


cdef int step_image_load(Core *core, const Step *step) noexcept nogil:
    cdef const ImageWork *work = _known_work(core, step, False)
    cdef Wave *wave = core.wave
    cdef FloatRows rows
    if work != NULL and work.squares:
        _open_four_results(work, wave, &rows)
        fetch_by_squares(work.level[0], wave.vgpr + work.coordinate_at[0], wave.vgpr + work.coordinate_at[1], core.active, core.halves, rows)
        return next_step(core, step)
    return apart(_load_wave)(core, step)


cdef int _load_wave(Core *core, const Step *step) noexcept nogil:
    """A load of any kind."""
    cdef ImageWork *work = _work_of(core, step, False)
    cdef const ImageTexels *level = NULL
    cdef uint32_t half
    if work != NULL:
        level = _level_of_all(work) if work.names_level else work.level
    if level == NULL:
        return step_reference(core, step)
    _open_half(work, 0)
    if work.fetches and _fetch_wave(work, level):
        return next_step(core, step)
    if core.control != control_default:
        set_host_control(control_default)
    for half in range(core.halves):
        _open_half(work, half)
        if work.active:
            _load_row(work, level)
    if core.control != control_default:
        set_host_control(core.control)
    return next_step(core, step)


cdef inline void _find_sources(const ImageWork *work, int *source) noexcept nogil:
    """Which of the data's registers each channel takes; -1: none, zeros are stored."""
    cdef int missing = 0 if work.core.machine.gfx_level >= gfx12 else -1    # for components that are not stored
    cdef int position = 0
    cdef uint32_t component
    for component in range(4):
        source[component] = -1
    for component in range(4):
        if work.view.select[component] >= 4:
            source[work.view.select[component] - 4] = position if work.o.mask >> component & 1 else missing
        position += work.o.mask >> component & 1


cdef void _open_stores(ImageWork *work) noexcept nogil:
    """What the channels of a store are, where `_store_wave` makes them."""
    cdef const TexelFormat *form = &work.view.format
    cdef StoredChannel *stored
    cdef int source[4]
    cdef uint32_t channel
    if work.o.narrow or work.o.halves or form.shared_exponent or form.in_blocks:
        return
    _find_sources(work, source)
    work.channels = 0
    for channel in range(4):
        if not form.bits[channel] or source[channel] < 0:
            continue
        stored = &work.channel[work.channels]
        stored.at = <uint32_t>(data_row(work.core.wave, work.instruction.decoded.source[2], source[channel]) - work.core.wave.vgpr)
        stored.kind = _kind_to_store(form.kind[channel], form.bits[channel])
        stored.bits = form.bits[channel]
        stored.dword, stored.shift = form.position[channel] >> 5, form.position[channel] & 31
        if stored.kind == store_unknown:
            return
        work.channels += 1
    work.stores = True


cdef inline uint8_t _kind_to_store(uint8_t kind, uint8_t bits) noexcept nogil:
    """How `image_stores.h` encodes a channel; store_unknown: it does not."""
    if kind == texel_uint or kind == texel_sint or (kind == texel_float and bits == 32):
        return store_dword if bits == 32 else (store_unsigned if kind == texel_uint else store_signed)
    if (kind == texel_unorm or kind == texel_snorm) and bits <= 24:
        return store_unorm if kind == texel_unorm else store_snorm
    return store_half if kind == texel_float and bits == 16 else store_unknown


cdef void _store_wave(const ImageWork *work, const ImageTexels *level) noexcept nogil:
    """Store for the active lanes of a wave. MXCSR does not count: denormals are less than half of any fraction, and of any half."""
    cdef uint32_t zeros[2 * image_row]
    cdef WaveTexels texels
    _open_texels(work, zeros, &texels)
    store_wave(level[0], texels, work.view.format.bytes, work.channel, work.channels, work.core.wave.vgpr)


cdef void _store_row(const ImageWork *work, const ImageTexels *level) noexcept nogil:
    """Store for a row, a lane after the other."""
    cdef uint32_t offset[image_row]
    cdef uint32_t texel[4]
    cdef int source[4]
    cdef uint32_t component, lane
    cdef uint32_t lanes = work.active & ~_find_offsets(work, level, offset)
    _find_sources(work, source)
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
        level = _level_of_all(work) if work.names_level else work.level
    if level == NULL:
        return step_reference(core, step)
    if work.stores:
        _store_wave(work, level)
        return next_step(core, step)
    if core.control != control_default:
        set_host_control(control_default)
    for half in range(core.halves):
        _open_half(work, half)
        if work.active:
            _store_row(work, level)
    if core.control != control_default:
        set_host_control(core.control)
    return next_step(core, step)
