# Samples of whole rows and waves, whose lanes lie so that all their texels are found at once; part of images.pxi, after
# image_sample_steps.pxi.

cdef bint _is_at_once(const ImageWork *work) noexcept nogil:
    """Whether samples are of the usual kind: of one level of two axes whose extents are powers of two, with 8-bit channels or filtered halves."""
    cdef bint halves = work.plain_halves and work.filter == image_linear and not work.o.layered and _wants_all(work)
    return ((work.plain or halves) and work.keeps_level and work.o.spatial == 2 and not work.o.narrow
            and not work.o.flags & (image_flag_offset | image_flag_compare | image_flag_gather) and _is_exact(work))


cdef inline bint _is_exact(const ImageWork *work) noexcept nogil:
    """Whether the first two axes of the only level are exact."""
    return is_exact(work.level.axis[0]) and is_exact(work.level.axis[1])


cdef bint _has_any_control(const ImageWork *work) noexcept nogil:
    """Whether `_sample_whole` finds the same with any MXCSR that steps have.

    8-bit channels, halves, norms and what is made of them are no denormals (those of halves are converted whatever MXCSR says), and coordinates
    that are count as zeros: the texel below zero, which a negative one names, is not the first one's neighbour, or the first itself, only where a
    border lies beyond.
    """
    cdef uint32_t axis
    for axis in range(max(work.o.spatial, <uint32_t>2)):
        if work.level.axis[axis].entry[-1 - work.level.axis[axis].first] == image_outside:
            return False
    return (work.volume or work.fetches or (work.plain and (work.at_once or work.o.flags & image_flag_gather != 0))
            or (work.channels_at_once and work.image.fours != four_singles and work.image.fours != four_of_block))


# The slice of an image of layers or faces that all lanes sample, by its entry; those of other images are one.
cdef struct OnlySlice:
    bint known
    uint32_t entry


cdef inline OnlySlice _only_slice(const ImageWork *work) noexcept nogil:
    cdef OnlySlice only
    cdef const float *layer
    only.known, only.entry = True, 0
    if work.o.layered:
        layer = <const float *>address_row(work.core.wave, work.instruction, work.o.coordinates_at + 2)
        only.known = find_slice(work.level[0], _lanes_of(work.core.active) * work.core.end_half, layer, work.view.layers,
                                work.view.type == image_cube, only.entry)
    return only


cdef inline bint _place_at_once(const ImageWork *work, const OnlySlice *only, ImageRow *places) noexcept nogil:
    """Find the texels of a row of which all lanes, or the first sixteen, are active. False: some lane has to be looked at."""
    cdef const float *coordinate[2]
    cdef const int32_t *layers = NULL
    cdef int32_t layer[image_row]
    cdef uint32_t outside = 0
    coordinate[0] = <const float *>_coordinate(work, 0)
    coordinate[1] = <const float *>_coordinate(work, 1)
    if not only.known:
        if not _find_layers(work, layer):
            return False
        layers = &layer[0]
    places.patch.used = False
    places.lanes = _lanes_of(work.core.active)
    if not place_lanes(work.level[0], coordinate, layers, only.entry, work.filter, places[0], outside):
        return False
    if outside and work.level.beyond != NULL and work.filter == image_linear:
        if only.known and not _find_layers(work, layer):
            return False
        copy_row(<uint32_t *>places.texel[2], <const uint32_t *>layer)
        outside = cross_edges(work.level[0], outside, places[0])
    return not outside


cdef inline bint _find_layers(const ImageWork *work, int32_t *layer) noexcept nogil:
    """The layers, or cubes and faces, of a row. False: some active lane names none."""
    return not (find_layers(<const float *>_address(work, work.o.coordinates_at + 2), work.view.layers, work.view.type == image_cube, layer)
                & work.active)


cdef inline void _put_at_once(const ImageWork *work, const ImageRow *places) noexcept nogil:
    """What a row has there, straight to the registers."""
    cdef FloatRows rows
    _open_results(work, &rows)
    _fill_at_once(work, places, &rows)


cdef inline void _fill_at_once(const ImageWork *work, const ImageRow *places, const FloatRows *rows) noexcept nogil:
    if work.filter == image_linear:
        filter_lanes(work.level.host, places[0], work.view.format.bytes, 1, rows[0])
    else:
        pass_bytes(work.level.host, places[0], work.view.format.bytes, rows[0])


cdef inline bint _sample_at_once(const ImageWork *work) noexcept nogil:
    """Sample a row. False: some lane has to be looked at, and nothing was written."""
    cdef const float *coordinate[2]
    cdef ImageRow places
    cdef FloatRows rows
    cdef OnlySlice only
    if work.plain_halves:
        coordinate[0] = <const float *>_coordinate(work, 0)
        coordinate[1] = <const float *>_coordinate(work, 1)
        _open_results(work, &rows)
        return filter_halves_patch(work.level[0], coordinate, rows)
    only = _only_slice(work)
    if not _place_at_once(work, &only, &places):
        return False
    _put_at_once(work, &places)
    return True


cdef bint _sample_some(const ImageWork *work) noexcept nogil:
    """The same for a row of which some lanes are active: the others sample where the first of these does, and keep what they have."""
    cdef uint32_t places_of[2][image_row]
    cdef FourRows found
    cdef const float *coordinate[2]
    cdef const uint32_t *given
    cdef ImageRow places
    cdef FloatRows rows
    cdef uint32_t outside = 0
    cdef uint32_t axis, byte
    if not work.plain or work.o.layered:
        return False
    for axis in range(2):
        given = _coordinate(work, axis)
        fill_row(places_of[axis], given[trailing_zeros64(work.active)])
        take_lanes(work.active, given, places_of[axis])
        coordinate[axis] = <const float *>&places_of[axis][0]
    places.patch.used = False
    if not place_lanes(work.level[0], coordinate, NULL, 0, work.filter, places, outside) or outside:
        return False
    for byte in range(4):
        rows.row[byte] = <float *>&found.of[byte][0] if work.result_at[byte] != no_register else NULL
    _fill_at_once(work, &places, &rows)
    for byte in range(4):
        if rows.row[byte] != NULL:
            put_row_at(work.core, work.core.wave.vgpr + work.result_at[byte] + image_row * work.half, work.half, found.of[byte])
    return True


cdef inline void _open_sample(ImageWork *work, const float **coordinate, FloatRows *rows) noexcept nogil:
    """What a wave's coordinates and results are."""
    _open_half(work, 0)
    coordinate[0] = <const float *>_coordinate(work, 0)
    coordinate[1] = <const float *>_coordinate(work, 1)
    _open_results(work, rows)


cdef inline bint _sample_grid(ImageWork *work, uint32_t slice_) noexcept nogil:
    """The same for all rows of a wave whose lanes are lines of eight columns in one slice. False: they are not, and nothing was written."""
    cdef const float *coordinate[2]
    cdef FloatRows rows
    _open_sample(work, coordinate, &rows)
    return sample_by_grid(work.level[0], work.core.halves, coordinate, slice_, work.filter, rows)


cdef inline bint _filter_lines(ImageWork *work, uint32_t sixteens) noexcept nogil:
    """Filter for a wave whose lanes are columns of lines, sixteen by sixteen, in the first slice. False: they are not, and nothing was written."""
    cdef const float *coordinate[2]
    cdef FloatRows rows
    _open_sample(work, coordinate, &rows)
    return filter_by_lines(work.level[0], sixteens, coordinate, rows)


cdef inline bint _sample_slice(ImageWork *work, uint32_t slice_) noexcept nogil:
    """The same in one slice: as a grid, or filtered as lines, in a window, or wherever the lanes lie. False: nothing was written."""
    cdef const float *coordinate[2]
    cdef FloatRows rows
    cdef uint32_t halves = work.core.halves
    cdef bint apart
    _open_sample(work, coordinate, &rows)
    apart = work.filter == image_linear and is_far_apart(work.level[0], coordinate)
    if apart and filter_anyhow(work.level[0], halves, coordinate, slice_, rows):
        return True
    if sample_by_grid(work.level[0], halves, coordinate, slice_, work.filter, rows):
        return True
    return (work.filter == image_linear
            and ((slice_ == 0 and filter_by_lines(work.level[0], 2 * halves, coordinate, rows))
                 or filter_in_byte_window(work.level[0], halves, coordinate, slice_, rows)
                 or (not apart and filter_anyhow(work.level[0], halves, coordinate, slice_, rows))))


cdef inline bint _filter_layers(ImageWork *work) noexcept nogil:
    """Filter for a wave whose lanes name layers or faces, and lie anyhow. False: some lie otherwise, and nothing was written."""
    cdef const float *coordinate[3]
    cdef FloatRows rows
    _open_sample(work, coordinate, &rows)
    coordinate[2] = <const float *>_address(work, work.o.coordinates_at + 2)
    return filter_layers_anyhow(work.level[0], work.core.halves, coordinate, work.view.layers, work.view.type == image_cube, rows)


cdef inline bint _asks_for_window(ImageWork *work, const float **coordinate) noexcept nogil:
    """Whether the places of a wave are looked for in a window: of elements of four bytes that are filtered. False: they are not, or are few."""
    if work.filter != image_linear or work.view.format.bytes != 4 or not work.core.active >> 16:
        return False
    _open_half(work, 0)
    coordinate[0] = <const float *>_coordinate(work, 0)
    coordinate[1] = <const float *>_coordinate(work, 1)
    return True


cdef bint _sample_rows(ImageWork *work, const OnlySlice *only) noexcept nogil:
    """The same for the rows of a wave: all are placed before texels are read, which then do not wait for their offsets."""
    cdef ImageRow places[2]
    cdef uint32_t half
    for half in range(work.core.end_half):
        _open_half(work, half)
        if not _place_at_once(work, only, &places[half]):
            return False
    for half in range(work.core.end_half):
        _open_half(work, half)
        _put_at_once(work, &places[half])
    return True


cdef bint _sample_wave(ImageWork *work) noexcept nogil:
    """The same for a wave."""
    cdef OnlySlice only
    if not work.plain:
        return False
    only = _only_slice(work)
    if work.view.format.bytes == 4 and work.core.full:
        if only.known:
            if _sample_slice(work, only.entry):
                return True
        elif work.filter == image_linear and _filter_layers(work):
            return True
    return _sample_rows(work, &only)


cdef inline bint _may_be_windows(ImageWork *work, const float **coordinate) noexcept nogil:
    """Whether a wave of two rows may lie in windows of levels that its lanes choose, once each, of elements of 8-bit channels."""
    if (not byte_look_ups or work.keeps_level or work.sampler.anisotropy or not work.plain or work.view.format.bytes != 4
            or work.core.halves != 2 or not work.core.full or work.o.spatial != 2 or work.o.layered or work.o.narrow or work.o.halves
            or work.o.flags & (image_flag_offset | image_flag_compare | image_flag_gather)):
        return False
    _open_half(work, 0)
    coordinate[0] = <const float *>_coordinate(work, 0)
    coordinate[1] = <const float *>_coordinate(work, 1)
    return coordinate[0][8] != coordinate[0][0]             # else they may be lines, which are faster


cdef inline bint _is_like(const SampleRow *row, const SampleRow *first) noexcept nogil:
    """Whether all lanes of a row filter, in the same levels as those of another."""
    return (not row.strange and row.uniform and row.levels.linear[0] and row.mixes == first.mixes
            and row.levels.level[0] == first.levels.level[0])


cdef bint _sample_windows(ImageWork *work) noexcept nogil:
    """Sample the level, or both, that all lanes of a wave choose. False: they choose several, or lie otherwise, and nothing was written."""
    cdef SampleRow row[2]
    cdef ImageProbes probes
    cdef const float *coordinate[2]
    cdef const ImageTexels *level
    cdef FloatRows results
    cdef uint32_t half
    if not _may_be_windows(work, coordinate):
        return False
    for half in range(2):
        _open_half(work, half)
        _open_row(work, &row[half])
        _find_levels(work, &row[half], &probes)
        level = _level_of(work, row[0].levels.level[0])
        if not _is_like(&row[half], &row[0]) or level == NULL or not may_be_window(level[0], coordinate, 2 * image_row):
            return False
    if row[0].mixes:
        return _mix_windows(work, row, level, coordinate)
    _open_half(work, 0)
    _open_results(work, &results)
    return filter_in_byte_window(level[0], 2, coordinate, 0, results)


cdef bint _mix_windows(ImageWork *work, const SampleRow *row, const ImageTexels *level, const float **coordinate) noexcept nogil:
    """The same of a level and the one that follows it."""
    cdef const ImageTexels *following = _level_of(work, row.levels.level[0] + 1) if row.levels.level[0] < work.view.last_level else NULL
    cdef WaveSums sums, others
    cdef DoubleRows near, far
    cdef FloatRows results
    cdef uint32_t half, byte, lane
    if following == NULL:
        return False
    for byte in range(4):
        near.row[byte] = far.row[byte] = NULL
        if work.result_at[byte] != no_register:
            near.row[byte] = &sums.of[byte][0]
            far.row[byte] = &others.of[byte][0]
    if not filter_in_byte_window(level[0], 2, coordinate, 0, near) or not filter_in_byte_window(following[0], 2, coordinate, 0, far):
        return False
    for half in range(2):
        _open_half(work, half)
        _open_results(work, &results)
        lane = image_row * half
        for byte in range(4):
            if results.row[byte] != NULL:
                round_mixed(near.row[byte] + lane, far.row[byte] + lane, row[half].levels.share, results.row[byte])
    return True


cdef bint _is_one_float(const ImageWork *work) noexcept nogil:
    """Whether samples filter, or compare, elements of one float in a level of two axes."""
    return (work.patches and _is_exact(work) and work.image.decode == decode_bits and work.view.format.bits[0] == 32
            and work.view.format.kind[0] == texel_float and work.filter == image_linear and not work.o.halves
            and not work.o.flags & image_flag_gather)


cdef bint _place_wave(ImageWork *work, ImageRow *places) noexcept nogil:
    """Find the texels of a wave in a level of two axes, no layers. False: some lane has to be looked at."""
    cdef OnlySlice only
    cdef uint32_t half
    only.known, only.entry = True, 0
    for half in range(work.core.end_half):
        _open_half(work, half)
        if not _place_at_once(work, &only, &places[half]):
            return False
    return True


cdef bint _sample_scattered_singles(ImageWork *work, const float *reference, float *found) noexcept nogil:
    """Elements of one float that lie anyhow. False: some lane has to be looked at, or some sum is no number."""
    cdef ImageRow places[2]
    cdef const float *coordinate[2]
    cdef FourRows words
    cdef const uint32_t *component[4]
    cdef float *to
    cdef uint32_t half, corner
    if _asks_for_window(work, coordinate):
        if reference == NULL and filter_singles_in_window(work.level[0], work.core.halves, coordinate, found):
            return True
        if (reference != NULL
                and compare_in_window(work.level[0], work.core.halves, coordinate, work.sampler.compare, reference, found)):
            return True
    if not _place_wave(work, places):
        return False
    for corner in range(4):
        component[corner] = &words.of[corner][0]
    for half in range(work.core.end_half):
        _open_half(work, half)
        to = found + image_row * half
        load_lanes(work.level.host, places[half], 4, 0, 1, words.of[0], image_row)
        if reference != NULL:
            filter_compared(component, places[half], 1, work.sampler.compare, reference + image_row * half, to)
            continue
        filter_singles(component, places[half], 1, to)
        if nan_lanes(to) & work.active:
            return False
    _open_half(work, 0)
    return True


cdef bint _sample_singles(ImageWork *work) noexcept nogil:
    """The same where an element is one float."""
    cdef const float *coordinate[2]
    cdef const float *reference
    cdef WaveSingles limited, found
    cdef float *to
    cdef uint32_t half
    _open_half(work, 0)
    coordinate[0] = <const float *>_coordinate(work, 0)
    coordinate[1] = <const float *>_coordinate(work, 1)
    to = _row_of_singles(work, coordinate, found.of)
    if work.o.flags & image_flag_compare:
        reference = <const float *>_address(work, work.o.compare_at)
        if work.view.format.clamped:
            for half in range(work.core.halves):
                limit_references(reference + image_row * half, limited.of + image_row * half)
            reference = limited.of
        if (not (work.core.full and compare_singles_by_grid(work.level[0], work.core.halves, coordinate, work.sampler.compare, reference, to))
                and not _sample_scattered_singles(work, reference, to)):
            return False
    elif (not (work.core.full and filter_singles_by_grid(work.level[0], work.core.halves, coordinate, to))
          and not _sample_scattered_singles(work, NULL, to)):
        return False
    _put_singles(work, <const uint32_t *>to)
    return True


cdef inline float *_row_of_singles(const ImageWork *work, const float **coordinate, float *aside) noexcept nogil:
    """Where singles are put: into their register, if all lanes are active and no coordinate lies there."""
    cdef uint32_t position = 0
    cdef uint32_t component
    cdef float *row
    if not work.core.full or work.o.flags & image_flag_compare:
        return aside
    for component in range(4):
        if not work.o.mask >> component & 1:
            continue
        if work.view.select[component] == 4:
            row = <float *>_result_row(work, position)
            return aside if row == coordinate[0] or row == coordinate[1] else row
        position += 1
    return aside


cdef inline void _put_singles(const ImageWork *work, const uint32_t *found) noexcept nogil:
    """Write the components of a wave: the first channel, if it is not there yet, and constants for those that the format lacks."""
    cdef uint32_t position = 0
    cdef uint32_t component, half, selector, value
    cdef uint32_t *row
    for component in range(4):
        if not work.o.mask >> component & 1:
            continue
        selector = work.view.select[component]
        row = _result_row(work, position)
        position += 1
        if selector == 4 or (selector > 4 and work.o.flags & image_flag_compare):
            for half in range(work.core.end_half if row != found else 0):
                put_row_at(work.core, row + image_row * half, half, found + image_row * half)
            continue
        value = _constant(work, selector) if selector < 4 else (0x3f800000 if selector == 7 else 0)
        for half in range(work.core.end_half):
            _put_constant(work.core, row + image_row * half, half, value)


cdef inline void _put_constant(Core *core, uint32_t *row, uint32_t half, uint32_t value) noexcept nogil:
    cdef uint32_t values[image_row]
    if core.full:
        fill_row(row, value)
        return
    fill_row(values, value)
    put_row_at(core, row, half, values)


cdef bint _has_channels_at_once(const ImageWork *work) noexcept nogil:
    """Whether samples filter elements of four components, or bytes that tables give the meaning of, in a level of two axes."""
    return (work.keeps_level and work.o.spatial == 2 and not (work.o.layered or work.o.narrow or work.o.halves) and work.filter == image_linear
            and not work.o.flags & (image_flag_offset | image_flag_compare | image_flag_gather) and _is_exact(work)
            and not (work.plain or work.view.format.integer)
            and (work.image.fours != no_fours or (work.view.format.bytes == 4 and _has_planes(work))))


cdef inline bint _is_in_lines(ImageWork *work) noexcept nogil:
    """Whether lanes may lie as in a workgroup, and are looked for so."""
    _open_half(work, 0)
    return work.patches and _coordinate(work, 0)[8] == _coordinate(work, 0)[0]


cdef bint _filter_wave_fours(ImageWork *work, const FloatRows *rows, uint32_t *strange) noexcept nogil:
    """Channels of elements of four components for a wave; `strange` gets the lanes that have a NaN. False: some lane has to be looked at."""
    cdef const uint8_t *host = work.level.host
    cdef uint8_t kind = work.image.fours
    cdef const float *coordinate[2]
    cdef ImageRow places[2]
    cdef uint32_t half
    coordinate[0] = <const float *>_coordinate(work, 0)
    coordinate[1] = <const float *>_coordinate(work, 1)
    if kind == four_of_block and work.core.active >> 16 and place_decoded(work.level[0], work.core.halves, work.image.blocks, coordinate, places):
        kind, host = four_singles, decoded_texels(work.image.blocks)
    elif (not (work.core.active >> 16 and place_by_window(work.level[0], work.core.halves, coordinate, places))
          and not _place_wave(work, places)):
        return False
    for half in range(work.core.end_half):
        _open_half(work, half)
        strange[0] |= filter_flat_fours(kind, work.image.blocks, host, places[half], rows[half]) & work.active
    return True


cdef bint _sample_fours(ImageWork *work, const FloatRows *rows) noexcept nogil:
    """Filtered channels of elements of four components for a wave. False: some lane has to be looked at, and its coordinates are what they were."""
    cdef uint32_t given[2][2 * image_row]
    cdef uint32_t strange = 0
    cdef bint overwrites = _writes_coordinates(work, &rows[0])
    if overwrites:
        _copy_coordinates(work, given, False)
    if not _filter_wave_fours(work, rows, &strange):
        return False
    if strange and overwrites:
        _copy_coordinates(work, given, True)
    return not strange


cdef inline bint _writes_coordinates(const ImageWork *work, const FloatRows *rows) noexcept nogil:
    """Whether results lie in the registers of the coordinates."""
    cdef uint32_t index, axis
    for index in range(4):
        for axis in range(2):
            if rows.row[index] == <float *>work.core.wave.vgpr + work.coordinate_at[axis]:
                return True
    return False


cdef bint _sample_planes(ImageWork *work, const FloatRows *rows) noexcept nogil:
    """The same of bytes that tables give the meaning of, which is never a NaN."""
    cdef ImageRow places[2]
    cdef const float *coordinate[2]
    cdef Elements elements[4]
    cdef PlanesOf planes
    cdef uint32_t half
    _open_planes(work, &planes)
    if (_asks_for_window(work, coordinate)
            and filter_meanings_in_window(work.level[0], work.core.halves, coordinate, planes, rows[0])):
        return True
    if not _place_wave(work, places):
        return False
    for half in range(work.core.end_half):
        _load_corners(work, work.level.host, &places[half], 1, elements)
        filter_planes(elements[0].words[0], sizeof(Elements) // sizeof(uint32_t), places[half], 1, planes, rows[half])
    return True


cdef bint _sample_channels(ImageWork *work) noexcept nogil:
    """Filtered channels for a wave. False: some lane has to be looked at, and its coordinates are what they were."""
    cdef FloatRows rows[2]
    cdef uint32_t half
    if _is_in_lines(work):
        return False
    for half in range(work.core.end_half):
        _open_half(work, half)
        if work.distinct:
            _open_results(work, &rows[half])
        else:
            _choose_results(work, &rows[half])
    _open_half(work, 0)
    if not (_sample_fours(work, rows) if work.image.fours != no_fours else _sample_planes(work, rows)):
        return False
    if not work.distinct:
        _finish_results(work)
    return True


cdef inline void _copy_coordinates(const ImageWork *work, uint32_t (*given)[2 * image_row], bint back) noexcept nogil:
    """Keep the coordinates of a wave in two axes, or put them back."""
    cdef uint32_t axis, half
    cdef uint32_t *row
    for axis in range(2):
        for half in range(work.core.end_half):
            row = work.core.wave.vgpr + work.coordinate_at[axis] + image_row * half
            if back:
                copy_row(row, &given[axis][image_row * half])
            else:
                copy_row(&given[axis][image_row * half], row)


cdef inline uint32_t _first_with(const ImageWork *work, uint32_t component) noexcept nogil:
    """The position of the first component of the result that is the same channel."""
    cdef uint32_t position = 0
    cdef uint32_t other
    for other in range(component):
        if work.o.mask >> other & 1:
            if work.view.select[other] == work.view.select[component]:
                return position
            position += 1
    return position


cdef inline bint _is_channel(const ImageWork *work, uint32_t component) noexcept nogil:
    """Whether a component is a channel that the format has."""
    return work.view.select[component] >= 4 and _has_channel(work, work.view.select[component] - 4)


cdef void _choose_results(const ImageWork *work, FloatRows *rows) noexcept nogil:
    """Put the channels of a row into the registers of the first components that they are."""
    cdef uint32_t component
    for component in range(4):
        rows.row[component] = NULL
    for component in range(4):
        if work.o.mask >> component & 1 and _is_channel(work, component):
            rows.row[_place_of_channel(work, work.view.select[component] - 4)] = <float *>_result_row(work, _first_with(work, component))


cdef void _finish_results(ImageWork *work) noexcept nogil:
    """Write the components of a wave that are constants, or a channel once more."""
    cdef uint32_t position = 0
    cdef uint32_t component, selector, half, first
    for component in range(4):
        if not work.o.mask >> component & 1:
            continue
        selector = work.view.select[component]
        first = _first_with(work, component)
        for half in range(work.core.end_half):
            _open_half(work, half)
            if not _is_channel(work, component):
                _put_constant(work.core, _result_row(work, position), half,
                              _constant(work, selector) if selector < 4 else 0 if selector < 7 else 0x3f800000)
            elif first != position:
                put_row_at(work.core, _result_row(work, position), half, _result_row(work, first))
        position += 1


cdef bint _is_volume(const ImageWork *work) noexcept nogil:
    """Whether samples filter elements of four bytes in a volume along all axes, which are exact."""
    return (work.plain and work.keeps_level and work.view.format.bytes == 4 and work.filter == image_linear and work.o.spatial == 3
            and not work.o.narrow and not work.o.flags & (image_flag_offset | image_flag_compare | image_flag_gather)
            and (work.sampler.z_filter == 0 or work.sampler.z_filter == 2)
            and _is_exact(work) and is_exact(work.level.axis[2]))


cdef bint _sample_volume(ImageWork *work) noexcept nogil:
    """The same where the image is a volume."""
    cdef const float *coordinate[3]
    cdef ImageRow places[2]
    cdef FloatRows rows
    cdef uint32_t half
    if not work.core.full:
        return False
    _open_half(work, 0)
    _open_volume(work, coordinate)
    _open_results(work, &rows)
    if filter_volume(work.level[0], work.core.halves, coordinate, rows):
        return True
    for half in range(work.core.halves):
        _open_half(work, half)
        if not _place_in_volume(work, &places[half]):
            return False
    for half in range(work.core.halves):
        _open_half(work, half)
        _open_results(work, &rows)
        filter_lanes(work.level.host, places[half], 4, 2, rows)
    return True


cdef inline void _open_volume(const ImageWork *work, const float **coordinate) noexcept nogil:
    """The coordinates of a row in a volume."""
    coordinate[0] = <const float *>_coordinate(work, 0)
    coordinate[1] = <const float *>_coordinate(work, 1)
    coordinate[2] = <const float *>_address(work, work.o.coordinates_at + 2)


cdef inline bint _place_in_volume(const ImageWork *work, ImageRow *places) noexcept nogil:
    """Find the texels of a row in a volume. False: some lane has to be looked at."""
    cdef const float *coordinate[3]
    cdef uint32_t outside = 0
    _open_volume(work, coordinate)
    places.patch.used = False
    return place_in_volume(work.level[0], coordinate, places[0], outside) and not outside


cdef bint _is_nearest(ImageWork *work) noexcept nogil:
    """Whether samples are nearest texels, whose axes repeat, or end at the last texel or a border."""
    cdef uint32_t axis
    if (not work.keeps_level or work.o.flags & (image_flag_offset | image_flag_compare | image_flag_gather)
            or not work.view.format.integer and (work.filter == image_linear or (work.o.spatial == 3 and work.sampler.z_filter == 2))):
        return False
    for axis in range(work.o.spatial):
        if work.level.axis[axis].addressing == address_else:
            return False
    return True


cdef bint _sample_nearest(const ImageWork *work) noexcept nogil:
    """Sample the nearest texels of a wave's active lanes. False: some lane has to be looked at, and nothing was written."""
    cdef int32_t layer[2 * image_row]
    cdef const float *given
    cdef NearestPlaces places
    cdef FloatRows rows
    cdef uint32_t axis, half
    for axis in range(work.o.spatial):
        places.coordinate[axis] = <const float *>_fetched_coordinate(work, axis)
    places.layer = NULL
    places.active = work.core.active
    places.rows = work.core.halves
    places.axes = work.o.spatial
    places.truncates = work.sampler.truncate
    if work.o.layered:
        given = <const float *>_fetched_coordinate(work, 2)
        for half in range(work.core.halves):
            if (find_layers(given + image_row * half, work.view.layers, work.view.type == image_cube, layer + image_row * half)
                    & <uint32_t>(work.core.active >> (image_row * half))):
                return False
        places.layer = <const uint32_t *>layer
    if work.fetches == fetches_four_bytes:
        _open_results(work, &rows)
        return nearest_four_bytes(work.level[0], places, rows)
    if <uint64_t>work.level.host & 3:
        return False
    return nearest_components(work.level[0], places, work.view.format.bytes, work.component, work.components,
                              not work.plain and not work.view.format.integer, work.core.wave.vgpr)
