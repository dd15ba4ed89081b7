# Steps of samples and gathers; part of images.pxi, after image_steps.pxi.

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

cdef extern from "image_gradients.h" nogil:
    cdef struct ImageGradients:
        const float *of[2][3]
        double scale[3]
        const float *bias
        double limit
        uint32_t axes
        uint8_t by_quad
    cdef struct ImageProbes:
        int32_t count[image_row]
        int32_t most
        double place[3][image_row]
    void open_probes(const ImageGradients &given, const float **coordinate, const double *shift, ImageProbes &probes)
    void place_probes(unsigned int axes, int number, ImageProbes &probes)
    void add_probes(const ImageProbes &probes, int number, uint32_t lanes, const double *found, double *total)
    uint32_t round_nearly(const double *sums, float *component)
    uint32_t find_gradient_details(const ImageDetail &of, const ImageGradients &given, int32_t *detail, int32_t *probes, SameGradients &before)

# What the lanes of a row sample.
cdef struct SampleRow:
    const float *coordinate[3]
    ImageProbes *probes               # where lanes take several samples; else NULL
    const uint32_t *offset            # packed offsets in texels, or NULL
    const float *reference            # to compare with, or NULL
    int32_t layer[image_row]
    uint32_t narrow[3][image_row]     # what 16-bit coordinates are widened into
    float limited[image_row]          # the reference between 0 and 1
    uint32_t strange                  # lanes that are left to the reference engine
    bint uniform                      # every active lane has the first one's level
    bint mixes                        # some lane takes two levels
    ImageLevels levels

# Components of a row, by channel; `wanted` has a bit for each that is asked for.
cdef struct Channels:
    uint32_t wanted
    bint direct                       # they lie in the registers of the result
    uint32_t *value[4]
    FourRows own


cdef void _open_row(const ImageWork *work, SampleRow *row) noexcept nogil:
    """Coordinates, layers, offsets and comparison values of a row."""
    cdef uint32_t i
    row.strange = 0
    row.probes = NULL
    for i in range(work.o.spatial):
        row.coordinate[i] = _number_row(work, i, row.narrow[i])
    row.offset = _address(work, work.o.offset_at) if work.o.flags & image_flag_offset else NULL
    row.reference = <const float *>_address(work, work.o.compare_at) if work.o.flags & image_flag_compare else NULL
    if row.reference != NULL and (work.view.format.clamped or work.view.format.kind[0] == texel_unorm):
        limit_references(row.reference, row.limited)
        row.reference = row.limited
    if work.o.spatial == 3:
        return
    if work.o.layered:
        row.strange |= find_layers(_number_row(work, work.o.spatial, row.narrow[2]), work.view.layers, work.view.type == image_cube, row.layer)


cdef inline void _open_channels(Channels *channels) noexcept nogil:
    cdef uint32_t channel
    channels.direct = False
    for channel in range(4):
        channels.value[channel] = &channels.own.of[channel][0]


cdef inline void _choose_rows(const ImageWork *work, const SampleRow *row, Channels *channels) noexcept nogil:
    """Where channels are put."""
    cdef uint32_t *results
    cdef uint32_t channel
    _open_channels(channels)
    channels.wanted = work.wanted
    if not (work.plain and work.core.full and row.uniform):
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


cdef void _find_details_of_gradients(const ImageWork *work, const ImageDetail *detail, SampleRow *row, ImageProbes *probes) noexcept nogil:
    """Levels of detail by derivatives, and how many samples lanes take."""
    cdef uint32_t narrow[7][image_row]
    cdef uint32_t one[image_row]
    cdef ImageGradients given
    cdef double shift[3]
    cdef uint32_t lane, axis, several
    cdef int32_t most = 1
    cdef uint32_t left = 0xffffffffU
    cdef int64_t lod
    _open_gradients(work, row, narrow, &given)
    if memory_operation(work.instruction.decoded.opcode).level != level_clamped:
        left = find_gradient_details(detail[0], given, row.levels.detail, probes.count, (<ImageWork *>work).gradients)
    else:
        fill_row(<uint32_t *>row.levels.detail, 0)
    left &= work.active
    while left:
        lane = trailing_zeros64(left)
        left &= left - 1
        lod = lod_of_lane(work.core.machine, work.core.wave, work.instruction, &work.o, work.view, work.sampler, lane + image_row * work.half,
                          &several)
        row.levels.detail[lane], probes.count[lane] = <int32_t>lod, <int32_t>several
    if given.limit == 0 or work.o.flags & image_flag_gather:
        return
    fill_row(one, 1)
    take_lanes(~work.active, one, <uint32_t *>probes.count)
    for lane in range(<uint32_t>image_row):
        most = max(most, probes.count[lane])
    if most == 1:
        return
    if work.view.format.integer:
        row.strange = 0xffffffffU
        return
    for axis in range(work.o.spatial):
        shift[axis] = 1.0 if work.view.type == image_cube else 0.0
    open_probes(given, row.coordinate, shift, probes[0])
    row.probes = probes


cdef void _open_gradients(const ImageWork *work, const SampleRow *row, uint32_t (*narrow)[image_row], ImageGradients *given) noexcept nogil:
    """Derivatives of a row; those of 16 bits are widened into `narrow`."""
    cdef const Sampler *sampler = work.sampler
    cdef const ImageLevel *extent = &work.view.level[work.view.first_level]
    cdef uint32_t axis, direction, dword
    given.axes = work.o.spatial
    given.by_quad = not work.o.flags & image_flag_gradients
    given.bias = NULL
    given.limit = 0
    if sampler.anisotropy and max(sampler.mag_filter, sampler.min_filter) >= filter_anisotropic_point:
        given.limit = <uint32_t>1 << sampler.anisotropy
    if work.o.flags & image_flag_bias:
        given.bias = <const float *>_address(work, work.o.bias_at)
        if work.o.narrow:
            decode_halves(<const uint32_t *>given.bias, 0, narrow[6])
            given.bias = <const float *>&narrow[6][0]
    for axis in range(work.o.spatial):
        if sampler.unnormalized or modifier_unrm(work.instruction.decoded.modifiers):
            given.scale[axis] = 1
        else:
            given.scale[axis] = extent.width if axis == 0 else extent.height
            if axis == 2:
                given.scale[axis] = max(<uint32_t>1, min(extent.depth - min(extent.depth, work.view.first_layer), work.view.layers))
        for direction in range(2):
            if given.by_quad:
                given.of[direction][axis] = row.coordinate[axis]
            elif work.o.narrow_gradients:
                dword = work.o.gradients_at + direction * ((work.o.spatial + 1) // 2) + axis // 2
                decode_halves(_address(work, dword), 16 * (axis & 1), narrow[3 * direction + axis])
                given.of[direction][axis] = <const float *>&narrow[3 * direction + axis][0]
            else:
                given.of[direction][axis] = <const float *>_address(work, work.o.gradients_at + direction * work.o.spatial + axis)


cdef inline const ImageTexels *_level_of(const ImageWork *work, uint32_t number) noexcept nogil:
    return work.level if work.keeps_level else prepared_level(<ImageCache *>work.core.images, work.core.machine, work.image, number)


cdef void _find_levels(const ImageWork *work, SampleRow *row, ImageProbes *probes) noexcept nogil:
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
        _find_details_of_gradients(work, &detail, row, probes)
    row.mixes = find_levels(detail, row.levels)
    row.uniform = lanes_like(row.levels, 0) | ~work.active == 0xffffffffU


# -------------------------------------------------------------------------------------------------------------- places
cdef inline int _filter_of(const ImageWork *work, bint filters) noexcept nogil:
    return image_linear if filters else (image_truncates if work.sampler.truncate else image_nearest)


cdef uint32_t _place_row(const ImageWork *work, SampleRow *row, const ImageTexels *level, bint linear, ImageRow *places) noexcept nogil:
    """Find the texels of a row in a level; returns in how many slices lanes have four corners: 0 where each lane has the texel at `offset`."""
    cdef const int32_t *layer = NULL
    cdef uint32_t outside = 0
    places.lanes = _lanes_of(work.active)
    if row.probes != NULL:
        places.patch.used = False
        return _place_axes(work, row, level, linear, places)
    places.patch.used = (work.patches and is_exact(level.axis[0]) and is_exact(level.axis[1])
                         and place_patch(level[0], row.coordinate, _filter_of(work, linear), places[0]))
    if places.patch.used:
        places.lanes = image_row
        return 1 if linear else 0
    if linear and _filters_volume(work, row, level) and place_in_volume(level[0], row.coordinate, places[0], outside):
        row.strange |= outside
        return 2
    outside = 0
    if work.o.layered:
        layer = row.layer
    if (work.o.spatial != 2 or row.offset != NULL
            or not place_lanes(level[0], row.coordinate, layer, 0, _filter_of(work, linear), places[0], outside)):
        return _place_axes(work, row, level, linear, places)
    if layer != NULL:
        copy_row(<uint32_t *>places.texel[2], <const uint32_t *>row.layer)
    if outside and linear and level.beyond != NULL:
        outside = cross_edges(level[0], outside, places[0])
    row.strange |= outside
    return 1 if linear else 0


cdef inline bint _filters_volume(const ImageWork *work, const SampleRow *row, const ImageTexels *level) noexcept nogil:
    """Whether all three axes of a level are exact, and filtered."""
    return (work.o.spatial == 3 and row.offset == NULL and (work.sampler.z_filter == 0 or work.sampler.z_filter == 2)
            and is_exact(level.axis[0]) and is_exact(level.axis[1]) and is_exact(level.axis[2]))


cdef uint32_t _place_axes(const ImageWork *work, SampleRow *row, const ImageTexels *level, bint linear, ImageRow *places) noexcept nogil:
    """The same, an axis after the other."""
    cdef uint32_t both = 0                                  # axes that filter, as bits
    cdef uint32_t third = 0                                 # slices: 0 where there is one only
    cdef uint32_t axis, outside
    cdef bint filters
    for axis in range(work.o.spatial):
        filters = linear
        if axis == 2 and work.sampler.z_filter and not work.o.flags & image_flag_gather:
            filters = work.sampler.z_filter == 2 and not work.view.format.integer
        both |= <uint32_t>filters << axis
        if row.probes != NULL:
            row.strange |= find_texels_by(level.axis[axis], <const double *>row.probes.place[axis], _filter_of(work, filters), places.texel[axis],
                                          places.weight[axis])
        else:
            row.strange |= find_texels_by(level.axis[axis], row.coordinate[axis], _filter_of(work, filters), places.texel[axis], places.weight[axis])
        if row.offset != NULL:
            add_offsets(row.offset, axis, places.texel[axis])
        limit_texels(level.axis[axis], places.texel[axis])
    if work.o.spatial == 1:
        memset(places.texel[1], 0, sizeof(places.texel[1]))
        memset(places.weight[1], 0, sizeof(places.weight[1]))
    if work.o.spatial == 3:
        third = 2 if both else 1
    elif work.o.layered:
        third = 1
        copy_row(<uint32_t *>places.texel[2], <const uint32_t *>row.layer)
    if not both:
        row.strange |= place_nearest(level[0], third != 0, places[0])
        return 0
    outside = place_corners(level[0], third, both, places[0])
    if outside and level.beyond != NULL:
        outside = cross_edges(level[0], outside, places[0])
    row.strange |= outside
    return 2 if third == 2 else 1


# ------------------------------------------------------------------------------------------------------------- filters
cdef inline void _compare(const ImageWork *work, const SampleRow *row, uint32_t *component) noexcept nogil:
    if row.reference != NULL:
        compare_row(work.sampler.compare, row.reference, component)


cdef inline void _widen(const float *values, double *sums) noexcept nogil:
    cdef uint32_t lane
    for lane in range(<uint32_t>image_row):
        sums[lane] = values[lane]


cdef void _filter_bytes(const ImageWork *work, const ImageTexels *level, const ImageRow *places, uint32_t slices, Channels *channels,
                        double (*sums)[image_row]) noexcept nogil:
    """Channels of 8-bit unorm, straight from the elements."""
    cdef FloatRows rows
    cdef DoubleRows wide
    cdef uint32_t channel
    if sums == NULL:
        _open_bytes(work, channels.wanted, channels.value, &rows)
        filter_lanes(level.host, places[0], work.view.format.bytes, slices, rows)
        return
    for channel in range(4):
        wide.row[channel] = NULL
    for channel in range(4):
        if channels.wanted >> channel & 1:
            wide.row[work.view.format.position[channel] >> 3] = &sums[channel][0]
    filter_lanes(level.host, places[0], work.view.format.bytes, slices, wide)


cdef inline void _open_fours(const ImageWork *work, const Channels *channels, FloatRows *rows) noexcept nogil:
    """The rows of the four components of elements."""
    cdef uint32_t channel
    for channel in range(4):
        rows.row[_place_of_channel(work, channel)] = <float *>channels.value[channel] if channels.wanted >> channel & 1 else NULL


cdef void _filter_fours(const ImageWork *work, const ImageTexels *level, const ImageRow *places, uint32_t slices, Channels *channels,
                        double (*sums)[image_row]) noexcept nogil:
    """Channels of elements of four components."""
    cdef FloatRows rows
    cdef DoubleRows wide
    cdef uint32_t channel
    if sums == NULL:
        _open_fours(work, channels, &rows)
        filter_fours(work.image.fours, work.image.blocks, level.host, places[0], slices, rows)
        return
    for channel in range(4):
        wide.row[_place_of_channel(work, channel)] = &sums[channel][0] if channels.wanted >> channel & 1 else NULL
    filter_fours(work.image.fours, work.image.blocks, level.host, places[0], slices, wide)


cdef bint _filter_channels(const ImageWork *work, const ImageTexels *level, const ImageRow *places, uint32_t slices, Channels *channels,
                           double (*sums)[image_row]) noexcept nogil:
    """Channels that are dwords, or have tables, from the elements at once. False: they are others, and nothing was written."""
    cdef const TexelFormat *form = &work.view.format
    cdef bint by_table = work.image.decode == decode_table
    cdef WideChannel wide[4]
    cdef float *singles[4]
    cdef double *doubles[4]
    cdef uint32_t channel
    cdef uint32_t count = 0
    if form.bytes < 4 or not (by_table or work.image.decode == decode_bits):
        return False
    for channel in range(4):
        if not channels.wanted >> channel & 1:
            continue
        if form.bits[channel] == 0:
            return False
        wide[count].meaning = work.image.meaning[channel] if by_table else NULL
        wide[count].shift = form.position[channel] & 31
        wide[count].mask = (<uint32_t>1 << form.bits[channel]) - 1 if by_table else 0
        wide[count].dword = form.position[channel] >> 5
        singles[count] = <float *>channels.value[channel]
        doubles[count] = &sums[channel][0] if sums != NULL else NULL
        count += 1
    if sums == NULL:
        return filter_channels(level.host, places[0], slices, wide, count, singles)
    return filter_channels(level.host, places[0], slices, wide, count, doubles)


cdef inline void _open_planes(const ImageWork *work, PlanesOf *planes) noexcept nogil:
    """What bytes of elements mean."""
    cdef uint32_t byte
    for byte in range(4):
        planes.byte[byte] = work.image.planes[work.channel_of_byte[byte] & 3]


cdef void _filter_planes(const ImageWork *work, const Elements *elements, const ImageRow *places, uint32_t slices, Channels *channels,
                         double (*sums)[image_row]) noexcept nogil:
    """Channels of eight bits with tables, from the elements of all corners."""
    cdef uint32_t stride = sizeof(Elements) // sizeof(uint32_t)
    cdef PlanesOf planes
    cdef FloatRows rows
    cdef DoubleRows wide
    cdef uint32_t channel
    _open_planes(work, &planes)
    if sums == NULL:
        _open_bytes(work, channels.wanted, channels.value, &rows)
        filter_planes(elements.words[0], stride, places[0], slices, planes, rows)
        return
    for channel in range(4):
        wide.row[channel] = NULL
    for channel in range(4):
        if channels.wanted >> channel & 1:
            wide.row[work.view.format.position[channel] >> 3] = &sums[channel][0]
    filter_planes(elements.words[0], stride, places[0], slices, planes, wide)


cdef void _filter_row(const ImageWork *work, SampleRow *row, const ImageTexels *level, ImageRow *places, uint32_t slices, Channels *channels,
                      double (*sums)[image_row]) noexcept nogil:
    cdef Elements elements[image_corners]
    cdef uint32_t own[image_corners][image_row]
    cdef const uint32_t *component[image_corners]
    cdef uint32_t corner, channel
    if row.reference == NULL and _has_planes(work):
        _load_corners(work, level.host, places, slices, elements)
        _filter_planes(work, elements, places, slices, channels, sums)
        return
    if row.reference == NULL and _filter_channels(work, level, places, slices, channels, sums):
        return
    _load_corners(work, level.host, places, slices, elements)
    for channel in range(4):
        if not channels.wanted >> channel & 1:
            continue
        for corner in range(4 * slices):
            component[corner] = _decoded(work, &elements[corner], channel, own[corner])
        if row.reference != NULL:
            filter_compared(component, places[0], slices, work.sampler.compare, row.reference, <float *>channels.value[channel])
            if sums != NULL:
                _widen(<float *>channels.value[channel], sums[channel])
        elif sums == NULL:
            filter_singles(component, places[0], slices, <float *>channels.value[channel])
        else:
            filter_singles(component, places[0], slices, <double *>sums[channel])


cdef void _pass_row(const ImageWork *work, SampleRow *row, const ImageTexels *level, const ImageRow *places, Channels *channels,
                    double (*sums)[image_row]) noexcept nogil:
    """The nearest texels."""
    cdef Elements elements
    cdef FloatRows rows
    cdef uint32_t channel
    cdef bint bytes_ = work.image.decode == decode_bytes and row.reference == NULL
    if bytes_ and sums == NULL:
        _open_bytes(work, channels.wanted, channels.value, &rows)
        pass_bytes(level.host, places[0], work.view.format.bytes, rows)
        return
    _load_elements(work, level.host, places, &elements)
    for channel in range(4):
        if not channels.wanted >> channel & 1:
            continue
        if bytes_:
            widen_bytes(elements.words[0], work.view.format.position[channel], sums[channel])
            continue
        _decode(work, &elements, channel, channels.value[channel])
        if work.view.format.integer:
            continue
        _compare(work, row, channels.value[channel])
        pass_singles(channels.value[channel])
        if sums != NULL:
            _widen(<float *>channels.value[channel], sums[channel])


cdef void _sample_level(const ImageWork *work, SampleRow *row, uint32_t number, bint linear, Channels *channels,
                        double (*sums)[image_row]) noexcept nogil:
    """The channels that a row has in one level, as `sums` if that is not NULL."""
    cdef const ImageTexels *level = _level_of(work, number)
    cdef ImageRow places
    cdef uint32_t slices
    if level == NULL:
        row.strange = 0xffffffffU
        _open_channels(channels)
        return
    slices = _place_row(work, row, level, linear and not work.view.format.integer, &places)
    if channels.direct and row.strange:
        _open_channels(channels)
    if slices == 0:
        _pass_row(work, row, level, &places, channels, sums)
    elif work.image.decode == decode_bytes and row.reference == NULL:
        _filter_bytes(work, level, &places, slices, channels, sums)
    elif work.image.fours != no_fours and row.reference == NULL:
        _filter_fours(work, level, &places, slices, channels, sums)
    else:
        _filter_row(work, row, level, &places, slices, channels, sums)


cdef void _find_nans(const ImageWork *work, SampleRow *row, const Channels *channels) noexcept nogil:
    """Which of several NaNs a sum has is the reference engine's to say."""
    cdef uint32_t channel
    if work.view.format.integer or work.image.decode == decode_bytes or row.reference != NULL:
        return
    for channel in range(4):
        if channels.wanted >> channel & 1:
            row.strange |= nan_lanes(<const float *>channels.value[channel])


cdef void _sample_levels(const ImageWork *work, SampleRow *row, uint32_t number, bint linear, Channels *channels) noexcept nogil:
    """The channels of lanes that begin in the same level."""
    cdef FourSums sums, following
    cdef uint32_t channel
    if not row.mixes:
        _sample_level(work, row, number, linear, channels, NULL)
        _find_nans(work, row, channels)
        return
    _sample_level(work, row, number, linear, channels, sums.of)
    if number < work.view.last_level:
        _sample_level(work, row, number + 1, linear, channels, following.of)
    for channel in range(4):
        if channels.wanted >> channel & 1 and row.strange != 0xffffffffU:
            if number < work.view.last_level:
                round_mixed(sums.of[channel], following.of[channel], row.levels.share, <float *>channels.value[channel])
            else:
                round_sums(sums.of[channel], <float *>channels.value[channel])
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


cdef bint _sample_probe(const ImageWork *work, SampleRow *row, uint32_t first, Channels *channels, double (*sums)[image_row]) noexcept nogil:
    """What a sample of all lanes finds in the levels of one of them. False: nothing, as no lane can be done here."""
    cdef FourSums following
    cdef uint32_t number = row.levels.level[first]
    cdef uint32_t channel
    _sample_level(work, row, number, row.levels.linear[first], channels, sums)
    if row.mixes and number < work.view.last_level and row.strange != 0xffffffffU:
        _sample_level(work, row, number + 1, row.levels.linear[first], channels, following.of)
        for channel in range(4):
            if channels.wanted >> channel & 1 and row.strange != 0xffffffffU:
                mix_levels(sums[channel], following.of[channel], row.levels.share)
    return row.strange != 0xffffffffU


cdef void _sample_probes(const ImageWork *work, SampleRow *row, Channels *channels) noexcept nogil:
    """The channels of a row of which lanes take several samples: their mean."""
    cdef FourSums total, sums
    cdef Channels found
    cdef uint32_t left, first, same, channel
    cdef int number
    _open_channels(&found)
    found.wanted = channels.wanted
    memset(&total, 0, sizeof(total))
    for number in range(row.probes.most):
        place_probes(work.o.spatial, number, row.probes[0])
        left = work.active & ~row.strange
        while left:
            first = trailing_zeros64(left)
            same = lanes_like(row.levels, first)
            left &= ~same
            if not _sample_probe(work, row, first, &found, sums.of):
                return
            for channel in range(4):
                if found.wanted >> channel & 1:
                    add_probes(row.probes[0], number, same, sums.of[channel], total.of[channel])
    for channel in range(4):
        if not channels.wanted >> channel & 1:
            continue
        if work.image.decode == decode_bytes:               # sums of bytes are divided once, those of the reference engine are of quotients
            row.strange |= round_nearly(total.of[channel], <float *>channels.value[channel])
        else:
            round_sums(total.of[channel], <float *>channels.value[channel])
    _find_nans(work, row, channels)


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
    cdef ImageProbes probes
    cdef uint32_t constant[4][image_row]
    cdef uint32_t *found[4]
    cdef uint32_t component, selector, wanted
    if work.at_once and (_sample_at_once(work) if work.core.full else _sample_some(work)):
        return stop_running
    _open_row(work, &row)
    _find_levels(work, &row, &probes)
    _choose_rows(work, &row, &channels)
    if row.probes != NULL:
        wanted = channels.wanted
        _open_channels(&channels)
        channels.wanted = wanted
    _widen_wanted(work, &channels)
    if row.probes != NULL:
        _sample_probes(work, &row, &channels)
    else:
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
    if channels.direct or _has_components(work):
        return
    for channel in range(4):
        if channels.wanted >> channel & 1 and work.view.format.bits[channel] == 0:
            channels.wanted &= ~(<uint32_t>1 << channel)
            fill_row(channels.value[channel], 0 if channel < 3 else (1 if work.view.format.integer else 0x3f800000))


cdef bint _gather_wave(ImageWork *work) noexcept nogil:
    """A gather of 8-bit unorm for a wave. False: some lane has to be looked at, and nothing was written."""
    cdef const float *coordinate[2]
    cdef FloatRows rows
    cdef ImageRow places[2]
    cdef uint32_t component = trailing_zeros64(work.o.mask)
    cdef uint32_t i, half, byte
    if not (work.patches and work.plain and work.level != NULL and _is_exact(work) and work.view.select[component] >= 4):
        return False
    _open_half(work, 0)
    coordinate[0] = <const float *>_coordinate(work, 0)
    coordinate[1] = <const float *>_coordinate(work, 1)
    for i in range(4):
        rows.row[i] = <float *>_result_row(work, i)
    byte = work.view.format.position[work.view.select[component] - 4] >> 3
    if work.core.full and gather_by_grid(work.level[0], work.core.halves, coordinate, byte, rows):
        return True
    if _asks_for_window(work, coordinate) and gather_in_byte_window(work.level[0], work.core.halves, coordinate, byte, rows):
        return True
    if work.filter != image_linear or not _place_wave(work, places):
        return False
    for half in range(work.core.end_half):
        _open_half(work, half)
        for i in range(4):
            rows.row[i] = <float *>_result_row(work, i)
        gather_lanes(work.level.host, places[half], 4, byte, rows)
    return True


cdef int _gather_half(const ImageWork *work) noexcept nogil:
    """One component of the four texels around each place: (0, 1), (1, 1), (1, 0), (0, 0)."""
    cdef SampleRow row
    cdef ImageRow places
    cdef FloatRows rows
    cdef FourRows value
    cdef uint32_t *found[4]
    cdef uint32_t component = 0
    cdef uint32_t i, selector
    cdef bint direct
    cdef const ImageTexels *level
    cdef ImageProbes probes
    while not work.o.mask >> component & 1:
        component += 1
    for i in range(4):
        found[i] = &value.of[i][0]
    _open_row(work, &row)
    _find_levels(work, &row, &probes)
    level = _level_of(work, row.levels.level[0])
    if level == NULL or not row.uniform:
        row.strange = 0xffffffffU
        return _put_samples(work, &row, found)
    _place_row(work, &row, level, True, &places)
    direct = work.plain and work.core.full and not row.strange
    if direct:
        for i in range(4):
            found[i] = _result_row(work, i)
    selector = work.view.select[component]
    if work.plain and selector >= 4:
        for i in range(4):
            rows.row[i] = <float *>found[i]
        gather_lanes(level.host, places, work.view.format.bytes, work.view.format.position[selector - 4] >> 3, rows)
    else:
        _gather_row(work, &row, level, &places, selector, found)
    return stop_running if direct else _put_samples(work, &row, found)


cdef void _gather_row(const ImageWork *work, const SampleRow *row, const ImageTexels *level, const ImageRow *places, uint32_t selector,
                      uint32_t **found) noexcept nogil:
    """The texels of any format, or a constant."""
    cdef Elements elements[4]
    cdef uint32_t i
    cdef uint32_t *corners = [2, 3, 1, 0]
    if selector >= 4:
        _load_corners(work, level.host, places, 1, elements)
    for i in range(4):
        if selector < 4:
            fill_row(found[i], _constant(work, selector))
            continue
        _decode(work, &elements[corners[i]], 0 if row.reference != NULL else selector - 4, found[i])
        _compare(work, row, found[i])


cdef inline bint _has_own_samples(const Core *core, const ImageWork *work) noexcept nogil:
    if work.o.flags & image_flag_compare and work.view.format.integer:
        return False
    return not work.o.flags & image_flag_gather or (work.o.spatial == 2 and not (core.machine.gfx_level < gfx9 and work.view.format.integer))


cdef inline uint32_t _full_sixteens(const Core *core) noexcept nogil:
    """How many sixteens of lanes are active, where these are the first one, two or all of the wave, and no other lane is; else 0."""
    if core.full:
        return 2 * core.halves
    return 1 if core.active == 0xffff else (2 if core.active == 0xffffffffU else 0)


cdef inline bint _sample_full(ImageWork *work) noexcept nogil:
    """Filter, or gather, for a wave whose lanes are all active, or the first sixteen.

    False: its rows are to be looked at one by one, and nothing was written.
    """
    if work.o.flags & image_flag_gather:
        return _gather_wave(work)
    if work.one_float:
        return _sample_singles(work)
    if work.channels_at_once:
        return _sample_channels(work)
    if work.volume:
        return _sample_volume(work)
    return _sample_wave(work) if work.at_once else _sample_windows(work)


cdef inline bint _is_done_whole(const ImageWork *work) noexcept nogil:
    """Whether `_sample_full` may execute the instruction for a wave with idle lanes."""
    return (not (work.o.narrow or work.o.halves)
            and (work.plain and (work.at_once or work.o.flags & image_flag_gather) or work.one_float or work.channels_at_once or work.volume))


cdef bint _sample_lent(ImageWork *work) noexcept nogil:
    """The same for a wave with idle lanes, which get the coordinates of active ones meanwhile."""
    cdef LentRow lent[8]                                    # coordinates first: up to three and a reference
    cdef Core *core = work.core
    cdef uint64_t active = core.active
    cdef uint32_t coordinates = work.o.spatial + work.o.layered
    cdef uint32_t results = 4 if work.o.flags & image_flag_gather else popcount(work.o.mask)
    cdef uint32_t addresses = coordinates
    cdef uint32_t i
    cdef bint found
    if active == 0:
        return False
    if active == 0xffff and work.filter == image_linear and _sample_full(work):
        return True                                         # of these alone
    _open_half(work, 0)
    for i in range(coordinates):
        keep_row(lent[i], address_row(core.wave, work.instruction, work.o.coordinates_at + i), active, core.halves)
    if work.o.flags & image_flag_compare:
        keep_row(lent[addresses], address_row(core.wave, work.instruction, work.o.compare_at), active, core.halves)
        addresses += 1
    for i in range(results):
        keep_row(lent[addresses + i], _result_row(work, i), active, core.halves)
    for i in range(addresses):
        lend_lanes(lent[i], active, core.halves)
    core.full = True
    found = _sample_full(work)
    core.full = False
    for i in range(addresses + results):
        give_back_lanes(lent[i], active, core.halves)
    return found


cdef inline bint _sample_whole(ImageWork *work) noexcept nogil:
    """Execute the instruction for a wave. False: its rows are to be looked at one by one, and nothing was written."""
    cdef Core *core = work.core
    cdef uint32_t sixteens = _full_sixteens(core)
    if work.fetches:
        return (core.full and work.at_once and work.fetches == fetches_four_bytes and not work.o.layered
                and _sample_grid(work, 0)) or _sample_nearest(work)
    if core.full:
        return _sample_full(work)
    if sixteens and work.at_once and work.plain and not work.o.layered and work.view.format.bytes == 4 and _filter_lines(work, sixteens):
        return True
    return _is_done_whole(work) and _sample_lent(work)


cdef int step_image_sample(Core *core, const Step *step) noexcept nogil:
    cdef const ImageWork *work = _known_work(core, step, True)
    cdef Wave *wave = core.wave
    cdef uint32_t sixteens
    cdef const float *coordinate[2]
    cdef FloatRows rows
    if work != NULL and work.squares:
        sixteens = _full_sixteens(core)
        _open_four_results(work, wave, &rows)
        coordinate[0] = <const float *>wave.vgpr + work.coordinate_at[0]
        coordinate[1] = <const float *>wave.vgpr + work.coordinate_at[1]
        if sixteens and sample_by_squares(work.level[0], sixteens, coordinate, work.filter, rows):
            return next_step(core, step)
    return apart(_sample_any)(core, step)


cdef int _sample_any(Core *core, const Step *step) noexcept nogil:
    """A sample or gather of any kind."""
    cdef ImageWork *work = _work_of(core, step, True)
    cdef uint32_t half
    cdef int stop = stop_running
    if work == NULL or not _has_own_samples(core, work):
        return step_reference(core, step)
    if work.any_control and _sample_whole(work):
        return next_step(core, step)
    if core.control != control_default:
        set_host_control(control_default)
    if work.any_control or not _sample_whole(work):
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
