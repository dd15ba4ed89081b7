# Steps of samples and gathers; part of images256.pyx and images512.pyx, after image_steps.pxi.

cdef extern from "image_levels.h" nogil:
    cdef struct ImageDetail:
        int32_t bias
        int32_t least
        int32_t most
        int32_t floor
        int32_t first
        int32_t last
        uint8_t magnified
        uint8_t minified
        uint8_t mixes
        uint8_t perf_mip
        int32_t nearest
    cdef struct ImageLevels:
        int32_t detail[image_row]
        int32_t level[image_row]
        int32_t linear[image_row]
        double share[image_row]
    void find_details(const ImageDetail &of, const float *given, int32_t *detail)
    bint find_levels(const ImageDetail &of, ImageLevels &row)
    uint32_t lanes_like(const ImageLevels &row, unsigned int which)

# What the lanes of a row sample.
cdef struct SampleRow:
    const float *coordinate[3]
    const uint32_t *offset            # packed offsets in texels, or NULL
    const float *reference            # to compare with, or NULL
    int32_t layer[image_row]
    uint32_t narrow[3][image_row]     # what 16-bit coordinates are widened into
    uint32_t strange                  # lanes that are left to the reference engine
    bint uniform                      # every lane has the first one's level
    bint mixes                        # some lane takes two levels
    ImageLevels levels

# Components of a row, by channel; `wanted` has a bit for each that is asked for.
cdef struct Channels:
    uint32_t wanted
    bint direct                       # they lie in the registers of the result
    uint32_t *value[4]
    uint32_t own[4][image_row]


cdef void _open_row(const ImageWork *work, SampleRow *row) noexcept nogil:
    """Coordinates, layers, offsets and comparison values of a row."""
    cdef uint32_t i
    row.strange = 0
    for i in range(work.o.spatial):
        row.coordinate[i] = _number_row(work, i, row.narrow[i])
    row.offset = _address(work, work.o.offset_at) if work.o.flags & image_flag_offset else NULL
    row.reference = <const float *>_address(work, work.o.compare_at) if work.o.flags & image_flag_compare else NULL
    if work.o.spatial == 3:
        return
    if work.o.layered:
        row.strange |= find_layers(_number_row(work, work.o.spatial, row.narrow[2]), work.view.layers, work.view.type == image_cube, row.layer)


cdef inline void _open_channels(Channels *channels) noexcept nogil:
    cdef uint32_t channel
    channels.direct = False
    for channel in range(4):
        channels.value[channel] = &channels.own[channel][0]


cdef void _open_plan(ImageWork *work) noexcept nogil:
    """Which channels the components of a sample need, and whether they can be put into the registers at once.

    They can where no lane turns out to be one for the reference engine, which needs the address, after its texels have been found.
    """
    cdef bint compares = work.o.flags & image_flag_compare != 0
    cdef uint32_t component, channel
    cdef uint8_t position = 0
    work.keeps_level = _ignores_detail(work)
    work.plain = work.image.decode == decode_bytes and not work.o.halves and not compares
    for component in range(4):
        if not work.o.mask >> component & 1:
            continue
        if work.view.select[component] >= 4:
            channel = 0 if compares else work.view.select[component] - 4
            work.plain = work.plain and work.view.format.bits[channel] and not work.wanted >> channel & 1
            work.position[channel] = position
            work.wanted |= <uint32_t>1 << channel
        else:
            work.plain = False
        position += 1


cdef inline void _choose_rows(const ImageWork *work, const SampleRow *row, Channels *channels) noexcept nogil:
    """Where channels are put."""
    cdef uint32_t *results
    cdef uint32_t channel
    _open_channels(channels)
    channels.wanted = work.wanted
    if not (work.plain and work.core.full and row.uniform and not row.mixes):
        return
    channels.direct = True
    results = _result_row(work, 0)
    for channel in range(4):
        channels.value[channel] = results + work.position[channel] * (row_bytes // 4)


# ------------------------------------------------------------------------------------------------------ level of detail
cdef inline bint _is_linear(uint32_t filter_) noexcept nogil:
    return filter_ == filter_linear or filter_ == filter_anisotropic_linear


cdef inline bint _ignores_detail(const ImageWork *work) noexcept nogil:
    """Whether every level of detail samples the only level in the same way."""
    cdef const Sampler *sampler = work.sampler
    if work.view.first_level != work.view.last_level:
        return False
    if work.o.flags & image_flag_gather:
        return True
    return (_is_linear(sampler.mag_filter) == _is_linear(sampler.min_filter)
            and not (sampler.anisotropy and max(sampler.mag_filter, sampler.min_filter) >= filter_anisotropic_point))


cdef inline void _open_detail(const ImageWork *work, ImageDetail *detail) noexcept nogil:
    """What becomes of levels of detail."""
    cdef const Sampler *sampler = work.sampler
    cdef const ImageView *view = work.view
    detail.bias = sampler.bias
    detail.least = sampler.min_lod
    detail.most = max(sampler.min_lod, sampler.max_lod)
    if work.o.flags & image_flag_gather and memory_operation(work.instruction.decoded.opcode).level == level_zero:
        detail.bias = detail.least = detail.most = 0
    detail.floor = <int32_t>view.min_lod - (<int32_t>view.first_level << fraction_bits)
    detail.first = view.first_level
    detail.last = view.first_level if sampler.mip_filter == mip_none else view.last_level
    detail.magnified = _is_linear(sampler.mag_filter)
    detail.minified = _is_linear(sampler.min_filter)
    detail.mixes = sampler.mip_filter == mip_linear and not view.format.integer and not work.o.flags & image_flag_gather
    detail.nearest = 0 if detail.mixes else <int>half
    detail.perf_mip = sampler.perf_mip


cdef void _find_details_of_gradients(const ImageWork *work, SampleRow *row) noexcept nogil:
    """Levels of detail by derivatives; lanes of a quad have the same differences of coordinates."""
    cdef bint by_quad = (not work.o.flags & (image_flag_gradients | image_flag_bias)
                         and memory_operation(work.instruction.decoded.opcode).level != level_clamped)
    cdef uint32_t lane, probes
    cdef uint32_t quad = 0xffffffffU
    cdef int64_t lod = 0
    for lane in range(<uint32_t>image_row):
        row.levels.detail[lane] = 0
        if not work.active >> lane & 1:
            continue
        if not by_quad or quad != lane >> 2:
            quad = lane >> 2
            lod = lod_of_lane(work.core.machine, work.core.wave, work.instruction, &work.o, work.view, work.sampler, lane + image_row * work.half,
                              &probes)
        row.levels.detail[lane] = <int32_t>lod
        if probes > 1:
            row.strange |= <uint32_t>1 << lane


cdef void _find_levels(const ImageWork *work, SampleRow *row) noexcept nogil:
    cdef uint8_t kind = memory_operation(work.instruction.decoded.opcode).level
    cdef uint32_t narrow[image_row]
    cdef ImageDetail detail
    row.mixes = False
    row.uniform = True
    if work.keeps_level:
        row.levels.level[0] = work.view.first_level
        row.levels.linear[0] = _is_linear(work.sampler.mag_filter)
        return
    _open_detail(work, &detail)
    if kind == level_zero:
        fill_row(narrow, 0)
        find_details(detail, <const float *>narrow, row.levels.detail)
    elif kind == level_given:
        find_details(detail, _number_row(work, work.o.coordinates, narrow), row.levels.detail)
    else:
        _find_details_of_gradients(work, row)
    row.mixes = find_levels(detail, row.levels)
    row.uniform = lanes_like(row.levels, 0) == 0xffffffffU


# -------------------------------------------------------------------------------------------------------------- places
cdef uint32_t _place_row(const ImageWork *work, SampleRow *row, const ImageTexels *level, bint linear, ImageRow *places) noexcept nogil:
    """Find the texels of a row in a level; returns for how many axes there are shares: 0 where each lane has the one at `offset`."""
    cdef bint filters[3]
    cdef bint any_filters = False
    cdef uint32_t axis
    cdef int kind
    for axis in range(work.o.spatial):
        filters[axis] = linear
        if axis == 2 and work.sampler.z_filter and not work.o.flags & image_flag_gather:
            filters[axis] = work.sampler.z_filter == 2 and not work.view.format.integer
        any_filters |= filters[axis]
        kind = image_linear if filters[axis] else (image_truncates if work.sampler.truncate else image_nearest)
        row.strange |= find_texels_by(level.axis[axis], row.coordinate[axis], kind, places.texel[axis], places.weight[axis])
        if row.offset != NULL:
            add_offsets(row.offset, axis, places.texel[axis])
        row.strange |= find_entries(level.axis[axis], places.texel[axis], filters[axis], places.first[axis], places.second[axis])
    if work.o.spatial == 1:
        fill_row(places.first[1], level.axis[1].entry[-level.axis[1].first])
    if work.o.spatial < 3 and not work.o.layered:
        fill_row(places.first[2], level.axis[2].entry[-level.axis[2].first])
    elif work.o.spatial < 3:
        look_up_layers(level.axis[2], row.layer, places.first[2])
    if any_filters:
        find_corners(level[0], work.o.spatial, places[0])
        return work.o.spatial
    join_entries(level[0], places.first[0], places.first[1], places.first[2], places.offset[0])
    return 0


# ------------------------------------------------------------------------------------------------------------- filters
cdef inline void _compare(const ImageWork *work, const SampleRow *row, uint32_t *component) noexcept nogil:
    if row.reference != NULL:
        compare_row(work.sampler.compare, work.view.format.clamped or work.view.format.kind[0] == texel_unorm, row.reference, component)


cdef void _filter_bytes(const ImageWork *work, const ImageTexels *level, const ImageRow *places, uint32_t axes, Channels *channels,
                        double (*sums)[image_row]) noexcept nogil:
    """Channels of 8-bit unorm, straight from the elements."""
    cdef uint32_t words[image_corners][image_row]
    cdef int32_t nothing[image_row]
    cdef double slices[2][image_row]
    cdef ByteSums rows[2]
    cdef const int32_t *weight = places.weight[1]
    cdef uint32_t channel, position
    load_corners(level.host, places.offset, work.view.format.bytes, 0, axes, words[0], image_row)
    if axes == 1:
        memset(nothing, 0, sizeof(nothing))
        weight = nothing
        copy_row(words[2], words[0])
        copy_row(words[3], words[1])
    filter_bytes_along_x(words, places.weight[0], 2, rows[0])
    if axes == 3:
        filter_bytes_along_x(words + 4, places.weight[0], 2, rows[1])
    for channel in range(4):
        position = work.view.format.position[channel]
        if not channels.wanted >> channel & 1:
            continue
        if axes < 3 and sums == NULL:
            round_byte_sums(rows[0], position, weight, <float *>channels.value[channel])
            continue
        scale_byte_sums(rows[0], position, weight, slices[0])
        if axes == 3:
            scale_byte_sums(rows[1], position, weight, slices[1])
            mix_slices(slices[0], slices[1], places.weight[2])
        if sums == NULL:
            round_sums(slices[0], <float *>channels.value[channel])
        else:
            memcpy(sums[channel], slices[0], sizeof(slices[0]))


cdef void _filter_row(const ImageWork *work, SampleRow *row, const ImageTexels *level, ImageRow *places, uint32_t axes, Channels *channels,
                      double (*sums)[image_row]) noexcept nogil:
    cdef Elements elements[image_corners]
    cdef uint32_t component[image_corners][image_row]
    cdef uint32_t corner, channel
    find_shares_of(axes, places[0])
    _load_corners(work, level.host, places, axes, elements)
    for channel in range(4):
        if not channels.wanted >> channel & 1:
            continue
        for corner in range(<uint32_t>1 << axes):
            _decode(work, &elements[corner], channel, component[corner])
            _compare(work, row, component[corner])
        if sums == NULL:
            filter_singles_of[float](component, places.share, axes, <float *>channels.value[channel])
        else:
            filter_singles_of[double](component, places.share, axes, sums[channel])


cdef void _pass_row(const ImageWork *work, SampleRow *row, const ImageTexels *level, const ImageRow *places, Channels *channels,
                    double (*sums)[image_row]) noexcept nogil:
    """The nearest texels."""
    cdef Elements elements
    cdef uint32_t channel, lane
    _load_elements(work, level.host, places.offset[0], &elements)
    for channel in range(4):
        if not channels.wanted >> channel & 1:
            continue
        _decode(work, &elements, channel, channels.value[channel])
        if work.view.format.integer:
            continue
        _compare(work, row, channels.value[channel])
        if work.image.decode != decode_bytes:
            pass_singles(channels.value[channel])
        if sums != NULL and work.image.decode == decode_bytes and row.reference == NULL:
            widen_bytes(elements.words[0], work.view.format.position[channel], sums[channel])
        elif sums != NULL:
            for lane in range(<uint32_t>image_row):
                sums[channel][lane] = (<const float *>channels.value[channel])[lane]


cdef void _sample_level(const ImageWork *work, SampleRow *row, uint32_t number, bint linear, Channels *channels,
                        double (*sums)[image_row]) noexcept nogil:
    """The channels that a row has in one level, as `sums` if that is not NULL."""
    cdef const ImageTexels *level = prepared_level(<ImageCache *>work.core.images, work.core.machine, work.image, number)
    cdef ImageRow places
    cdef uint32_t axes
    if level == NULL:
        row.strange = 0xffffffffU
        _open_channels(channels)
        return
    axes = _place_row(work, row, level, linear and not work.view.format.integer, &places)
    if channels.direct and row.strange:
        _open_channels(channels)
    if axes == 0:
        _pass_row(work, row, level, &places, channels, sums)
    elif work.image.decode == decode_bytes and row.reference == NULL:
        _filter_bytes(work, level, &places, axes, channels, sums)
    else:
        _filter_row(work, row, level, &places, axes, channels, sums)


cdef void _find_nans(const ImageWork *work, SampleRow *row, const Channels *channels) noexcept nogil:
    """Which of several NaNs a sum has is the reference engine's to say."""
    cdef uint32_t channel
    if work.view.format.integer or work.image.decode == decode_bytes:
        return
    for channel in range(4):
        if channels.wanted >> channel & 1:
            row.strange |= nan_lanes(<const float *>channels.value[channel])


cdef void _sample_levels(const ImageWork *work, SampleRow *row, uint32_t number, bint linear, Channels *channels) noexcept nogil:
    """The channels of lanes that begin in the same level."""
    cdef double sums[4][image_row]
    cdef double following[4][image_row]
    cdef uint32_t channel
    if not row.mixes:
        _sample_level(work, row, number, linear, channels, NULL)
        _find_nans(work, row, channels)
        return
    _sample_level(work, row, number, linear, channels, sums)
    if number < work.view.last_level:
        _sample_level(work, row, number + 1, linear, channels, following)
    for channel in range(4):
        if channels.wanted >> channel & 1 and row.strange != 0xffffffffU:
            if number < work.view.last_level:
                mix_levels(sums[channel], following[channel], row.levels.share)
            round_sums(sums[channel], <float *>channels.value[channel])
    _find_nans(work, row, channels)


cdef void _sample_row(const ImageWork *work, SampleRow *row, Channels *channels) noexcept nogil:
    """The channels of a row, a level after the other."""
    cdef Channels found
    cdef uint32_t left, first, same, channel
    if row.uniform:
        _sample_levels(work, row, row.levels.level[0], row.levels.linear[0], channels)
        return
    _open_channels(&found)
    found.wanted = channels.wanted
    left = work.active & ~row.strange
    while left:
        first = trailing_zeros64(left)
        same = lanes_like(row.levels, first)
        _sample_levels(work, row, row.levels.level[first], row.levels.linear[first], &found)
        for channel in range(4):
            if found.wanted >> channel & 1:
                take_lanes(same, found.value[channel], channels.value[channel])
        left &= ~same


# ------------------------------------------------------------------------------------------------------------- results
cdef bint _sample_strange(const ImageWork *work, uint32_t lanes, uint32_t **found, int *stop) noexcept nogil:
    """The components of some lanes, as the reference engine finds them; False: a lane stopped."""
    cdef uint32_t result[4]
    cdef uint32_t lane, component
    for lane in range(<uint32_t>image_row):
        if not lanes >> lane & 1:
            continue
        stop[0] = sample_lane(work.core.machine, work.core.wave, work.instruction, &work.o, work.view, work.sampler,
                              lane + image_row * work.half, result)
        if stop[0] != stop_running:
            return False
        for component in range(4):
            found[component][lane] = result[component]
    return True


cdef int _put_samples(const ImageWork *work, SampleRow *row, uint32_t **found) noexcept nogil:
    """Write the components of a row."""
    cdef uint32_t others[4][image_row]                      # components may share a row
    cdef uint32_t component
    cdef uint32_t position = 0
    cdef int stop = stop_running
    if row.strange & work.active:
        for component in range(4):
            copy_row(others[component], found[component])
            found[component] = &others[component][0]
        if not _sample_strange(work, row.strange & work.active, found, &stop):
            return stop
    for component in range(4):
        if work.o.flags & image_flag_gather or work.o.mask >> component & 1:
            _put_component(work, position, found[component])
            position += 1
    return stop


cdef int _sample_half(const ImageWork *work) noexcept nogil:
    cdef SampleRow row
    cdef Channels channels
    cdef uint32_t constant[4][image_row]
    cdef uint32_t *found[4]
    cdef uint32_t component, selector
    _open_row(work, &row)
    _find_levels(work, &row)
    _choose_rows(work, &row, &channels)
    _widen_wanted(work, &channels)
    _sample_row(work, &row, &channels)
    if channels.direct:
        return stop_running
    for component in range(4):
        selector = work.view.select[component]
        found[component] = &constant[component][0] if selector < 4 else channels.value[0 if row.reference != NULL else selector - 4]
        if selector < 4:
            fill_row(constant[component], _constant(work, selector))
    return _put_samples(work, &row, found)


cdef inline void _widen_wanted(const ImageWork *work, Channels *channels) noexcept nogil:
    """Channels that the format lacks are constants, which no filter changes."""
    cdef uint32_t channel
    if channels.direct or work.image.decode == decode_each:
        return
    for channel in range(4):
        if channels.wanted >> channel & 1 and work.view.format.bits[channel] == 0:
            channels.wanted &= ~(<uint32_t>1 << channel)
            fill_row(channels.value[channel], 0 if channel < 3 else (1 if work.view.format.integer else 0x3f800000))


cdef int _gather_half(const ImageWork *work) noexcept nogil:
    """One component of the four texels around each place: (0, 1), (1, 1), (1, 0), (0, 0)."""
    cdef SampleRow row
    cdef ImageRow places
    cdef Elements elements[4]
    cdef uint32_t value[4][image_row]
    cdef uint32_t *found[4]
    cdef uint32_t i, selector
    cdef uint32_t component = 0
    cdef bint direct
    cdef const ImageTexels *level
    cdef uint32_t *corners = [2, 3, 1, 0]
    while not work.o.mask >> component & 1:
        component += 1
    for i in range(4):
        found[i] = &value[i][0]
    _open_row(work, &row)
    _find_levels(work, &row)
    level = prepared_level(<ImageCache *>work.core.images, work.core.machine, work.image, row.levels.level[0])
    if level == NULL or not row.uniform:
        row.strange = 0xffffffffU
        return _put_samples(work, &row, found)
    _place_row(work, &row, level, True, &places)
    direct = work.plain and work.core.full and not row.strange
    if direct:
        for i in range(4):
            found[i] = _result_row(work, i)
    selector = work.view.select[component]
    if selector >= 4:
        _load_corners(work, level.host, &places, 2, elements)
    for i in range(4):
        if selector < 4:
            fill_row(found[i], _constant(work, selector))
            continue
        _decode(work, &elements[corners[i]], 0 if row.reference != NULL else selector - 4, found[i])
        _compare(work, &row, found[i])
    return stop_running if direct else _put_samples(work, &row, found)


cdef inline bint _has_own_samples(const Core *core, const ImageWork *work) noexcept nogil:
    if work.o.flags & image_flag_compare and work.view.format.integer:
        return False
    return not work.o.flags & image_flag_gather or (work.o.spatial == 2 and not (core.machine.gfx_level < gfx9 and work.view.format.integer))


cdef int step_image_sample(Core *core, const Step *step) noexcept nogil:
    cdef ImageWork *work = _work_of(core, step, True)
    cdef uint32_t half
    cdef int stop = stop_running
    if work == NULL or not _has_own_samples(core, work):
        return step_reference(core, step)
    if core.control != control_default:
        set_host_control(control_default)
    for half in range(core.halves):
        _open_half(work, half)
        if work.active and stop == stop_running:
            stop = _gather_half(work) if work.o.flags & image_flag_gather else _sample_half(work)
    if core.control != control_default:
        set_host_control(core.control)
    if stop != stop_running:
        core.stopped = step
        return stop
    return next_step(core, step)


cdef void fill_image_steps(ImageSteps *steps) noexcept:
    steps.load = step_image_load
    steps.store = step_image_store
    steps.sample = step_image_sample
