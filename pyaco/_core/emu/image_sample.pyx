"""Samples and gathers. The contract is in ``image_sample.pxd``.

What is fixed: coordinates of texels and levels of detail have 8 fraction bits, rounded to nearest; weights are those fractions. Sums are made in
double precision and rounded once. Anisotropic samples are up to 16 samples along the longer derivative, evenly spaced, in the level of the
shorter one (``EXT_texture_filter_anisotropic``); hardware's choice of places is not documented. Where PERF_MIP is set, the weight of the
smaller level is 1.25 f - 0.125, as measured on RDNA. Gathers of level zero heed neither limits nor bias of the sampler, as Vulkan ("Texel
Gathering": the base level), OpenGL and Direct3D demand of what drivers make of them. Texels beyond an edge of a cube are those of the
neighbouring face, at corners the mean of the three that exist.

Sources: the Vulkan specification, "Image Operations"; AMD "RDNA 2" ISA document 8.2.4 "Image Sampler"; WebGPU's conformance tests
(texture_utils.ts) for measured weights; the limits that RADV reports for the number of fraction bits.
"""
from libc.math cimport INFINITY, ceil, fabs, floor, log2, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from isa_opcodes cimport op_image_get_lod
from isa_tables cimport (image_flag_bias, image_flag_compare, image_flag_gather, image_flag_gradients, image_flag_offset)
from modifiers cimport modifier_unrm
from pyaco._core.common.floats cimport bits_float, float_bits, half_to_double
from pyaco._core.common.machine cimport gfx9
from pyaco._core.emu.access cimport level_clamped, level_given, level_zero, note, stray
from pyaco._core.emu.global_memory cimport memory_operation
from pyaco._core.emu.image_operands cimport ImageOperands, address_gradient, address_number, address_row
from pyaco._core.emu.image_texel cimport fetch_texel
from pyaco._core.emu.image_view cimport *
from pyaco._core.emu.memory cimport memory_at
from pyaco._core.emu.numbers cimport nearest_even
from pyaco._core.emu.texels cimport texel_unorm
from pyaco._core.emu.wave cimport Instruction, Machine, Wave, access_kind_load, space_global, stop_running

# What a lane samples.
cdef struct Sample:
    Machine *machine
    const ImageView *view
    const Sampler *sampler
    uint32_t lane
    uint32_t spatial
    bint cube
    bint unnormalized
    bint compares
    float reference
    double coordinate[3]              # normalised, unless `unnormalized`
    uint32_t layer                    # of the surface; of a cube without its face
    uint32_t face
    int32_t offset[3]
    double gradient[2][3]             # texels of the first level, for x and y
    bint integer

# One axis of a level: the two neighbours, and the weight of the second in 1/256.
cdef struct Axis:
    int64_t texel[2]
    uint32_t weight


# -------------------------------------------------------------------------------------------------------------- places
cdef inline int64_t _fixed(double value) noexcept nogil:
    """A coordinate with 8 fraction bits; what is far outside of any image is as good as nearer."""
    if value != value:
        return 0
    return <int64_t>floor(max(-4e9, min(4e9, value)) * one + 0.5)


cdef void _axis(const Sample *s, uint32_t number, uint32_t size, bint linear, Axis *axis) noexcept nogil:
    """Neighbours along one axis, before wrapping."""
    cdef double u = s.coordinate[number]
    cdef uint32_t mode = s.sampler.clamp[number] if not s.cube else <uint32_t>clamp_last_texel
    cdef int64_t place
    if not s.unnormalized:
        if mode == clamp_wrap:
            u -= floor(u)
        u *= size
    if mode == clamp_half_border or mode == clamp_mirror_once_half_border:
        u = min(max(u, 0.0 if mode == clamp_half_border else -<double>size), <double>size)
    place = _fixed(u)
    axis.weight = 0
    if linear:
        place -= half
        axis.weight = <uint32_t>(place & (one - 1))
        axis.texel[0] = (place >> fraction_bits) + s.offset[number]
    elif s.sampler.truncate and u == u:
        axis.texel[0] = <int64_t>floor(max(-4e9, min(4e9, u))) + s.offset[number]
    else:
        axis.texel[0] = (place >> fraction_bits) + s.offset[number]
    axis.texel[1] = axis.texel[0] + 1


# Faces of a cube: the axis of the face's direction and its sign, and the axes and signs of s and t. (Vulkan, "Cube Map Face Selection".)
cdef void _cube_direction(uint32_t face, double s, double t, double *d) noexcept nogil:
    """The direction of a place on a face; s and t from -1 to 1 on it."""
    cdef uint32_t major = face >> 1
    cdef double sign = -1 if face & 1 else 1
    d[major] = sign
    if major == 0:
        d[2], d[1] = -sign * s, -t
    elif major == 1:
        d[0], d[2] = s, sign * t
    else:
        d[0], d[1] = sign * s, -t


cdef uint32_t _cube_face(const double *d, double *s, double *t) noexcept nogil:
    """The face that a direction meets, and the place there."""
    cdef uint32_t major = 0
    cdef uint32_t face
    cdef double sign, scale
    if fabs(d[1]) > fabs(d[major]):
        major = 1
    if fabs(d[2]) > fabs(d[major]):
        major = 2
    sign = -1 if d[major] < 0 else 1
    face = 2 * major + (sign < 0)
    scale = 1 / fabs(d[major])
    if major == 0:
        s[0], t[0] = -sign * d[2] * scale, -d[1] * scale
    elif major == 1:
        s[0], t[0] = d[0] * scale, sign * d[2] * scale
    else:
        s[0], t[0] = sign * d[0] * scale, -d[1] * scale
    return face


cdef void across_edge(uint32_t size, uint32_t *face, int64_t *x, int64_t *y) noexcept nogil:
    cdef double d[3]
    cdef double s, t
    _cube_direction(face[0], (2 * x[0] + 1) / <double>size - 1, (2 * y[0] + 1) / <double>size - 1, d)
    face[0] = _cube_face(d, &s, &t)
    x[0] = max(<int64_t>0, min(<int64_t>size - 1, <int64_t>floor((s + 1) * size / 2)))
    y[0] = max(<int64_t>0, min(<int64_t>size - 1, <int64_t>floor((t + 1) * size / 2)))


# -------------------------------------------------------------------------------------------------------------- texels
cdef inline bint _passes(uint32_t function, float reference, float texel) noexcept nogil:
    if function == 0 or function == 7:
        return function == 7
    if reference < texel:
        return function & 1
    if reference == texel:
        return (function >> 1) & 1
    return reference > texel and (function >> 2) & 1


cdef int _border(const Sample *s, uint32_t *texel) noexcept nogil:
    """The channels of the border: a colour's components in the order that the format has them."""
    cdef uint32_t unit = 1 if s.integer else 0x3f800000
    cdef uint32_t kind = s.sampler.border
    cdef uint32_t color[4]
    cdef uint32_t i
    cdef uint64_t address
    cdef const uint8_t *host
    if kind == border_register:
        address = s.machine.descriptors.border_colors + <uint32_t>border_color_bytes * s.sampler.border_number
        host = memory_at(s.machine.memory, address, border_color_bytes) if s.machine.descriptors.border_colors else NULL
        if host == NULL:
            return stray(s.machine, s.lane, address, border_color_bytes, False)
        note(s.machine.log, space_global, access_kind_load, s.lane, address, border_color_bytes)
        memcpy(color, host, border_color_bytes)
    else:
        for i in range(4):
            color[i] = unit if kind == border_opaque_white or (kind == border_opaque_black and i == 3) else 0
    for i in range(4):
        texel[i] = color[s.view.border[i]]
    return stop_running


cdef void _compare(const Sample *s, float texel, uint32_t *found) noexcept nogil:
    cdef float reference = s.reference
    cdef uint32_t i
    if s.view.format.clamped or s.view.format.kind[0] == texel_unorm:
        reference = min(max(reference, <float>0), <float>1)
    for i in range(4):
        if s.view.select[i] >= 4:
            found[i] = 0x3f800000 if _passes(s.sampler.compare, reference, texel) else 0


cdef int _texel(const Sample *s, uint32_t level, uint32_t face, const int64_t *place, uint32_t *found) noexcept nogil:
    """One texel as x, y, z and w of the result, compared if that is asked for. Negative places are the border."""
    cdef uint32_t texel[4]
    cdef uint32_t i, z
    cdef int stop
    if place[0] < 0 or (s.spatial > 1 and place[1] < 0) or (s.spatial > 2 and place[2] < 0):
        stop = _border(s, texel)
    else:
        z = <uint32_t>place[2] + s.view.first_layer if s.spatial > 2 else s.layer
        if s.cube:
            z = s.view.first_layer + 6 * s.layer + face
        stop = fetch_texel(s.machine, s.lane, s.view, level, <uint32_t>place[0], <uint32_t>place[1] if s.spatial > 1 else 0, z, 0, texel)
    for i in range(4):
        found[i] = selected_component(s.view, texel, i)
    if s.compares:
        _compare(s, bits_float(texel[0]), found)
    return stop


cdef int _corner(const Sample *s, uint32_t level, uint32_t size, const int64_t *place, uint32_t *found) noexcept nogil:
    """Beyond two edges of a face there is no texel: the mean of its three neighbours."""
    cdef int64_t near[3]
    cdef int64_t other[3]
    cdef uint32_t texel[3][4]
    cdef uint32_t i, face
    cdef int stop
    near[0] = max(<int64_t>0, min(<int64_t>size - 1, place[0]))
    near[1] = max(<int64_t>0, min(<int64_t>size - 1, place[1]))
    near[2] = 0
    for i in range(3):
        face = s.face
        other[0] = place[0] if i == 1 else near[0]
        other[1] = place[1] if i == 2 else near[1]
        other[2] = 0
        if i:
            across_edge(size, &face, &other[0], &other[1])
        stop = _texel(s, level, face, other, texel[i])
        if stop != stop_running:
            return stop
    for i in range(4):
        if s.integer:
            found[i] = texel[0][i]
        else:
            found[i] = float_bits(<float>((<double>bits_float(texel[0][i]) + bits_float(texel[1][i]) + bits_float(texel[2][i])) / 3))
    return stop_running


cdef int _neighbour(const Sample *s, uint32_t level, const Axis *axes, uint32_t corner, uint32_t *found) noexcept nogil:
    """One of the texels around a place: a bit of `corner` for each axis chooses the second neighbour."""
    cdef const ImageLevel *extent = &s.view.level[level]
    cdef int64_t place[3]
    cdef uint32_t face = s.face
    cdef uint32_t i, outside
    place[1] = place[2] = 0
    for i in range(s.spatial):
        place[i] = axes[i].texel[corner >> i & 1]
    if s.cube and s.sampler.cube_wrap:
        outside = (place[0] < 0 or place[0] >= extent.width) + (place[1] < 0 or place[1] >= extent.width)
        if outside == 2:
            return _corner(s, level, extent.width, place, found)
        if outside:
            across_edge(extent.width, &face, &place[0], &place[1])
        return _texel(s, level, face, place, found)
    for i in range(s.spatial):
        place[i] = wrapped_texel(s.sampler.clamp[i] if not s.cube else <uint32_t>clamp_last_texel, place[i], _size(s, extent, i))
    return _texel(s, level, face, place, found)


cdef inline uint32_t _size(const Sample *s, const ImageLevel *extent, uint32_t axis) noexcept nogil:
    if axis == 0:
        return extent.width
    if axis == 1:
        return extent.height
    # a view of chosen slices of a 3D image ends before the image does
    return max(<uint32_t>1, min(extent.depth - min(extent.depth, s.view.first_layer), s.view.layers))


# -------------------------------------------------------------------------------------------------------------- filters
cdef inline double _of_bytes(float component) noexcept nogil:
    """A byte's quotient as it was before it was rounded to single precision."""
    cdef double exact = floor(component * 255.0 + 0.5) / 255.0
    return exact if <float>exact == component else component


cdef int _filter_level(const Sample *s, uint32_t level, bint linear, double *color, uint32_t *raw) noexcept nogil:
    """The filtered components of a place in one level; `raw`: those of the nearest texel, for integers."""
    cdef const ImageLevel *extent = &s.view.level[level]
    cdef Axis axes[3]
    cdef uint32_t found[4]
    cdef uint32_t i, corner
    cdef double weight
    cdef bint first = True
    cdef bint bytes_ = has_only_bytes(&s.view.format)
    cdef bint along_z
    cdef int stop
    linear = linear and not s.integer
    for i in range(s.spatial):
        along_z = i == 2 and s.sampler.z_filter != 0
        _axis(s, i, _size(s, extent, i), linear if not along_z else s.sampler.z_filter == 2 and not s.integer, &axes[i])
    for i in range(4):
        color[i] = 0
    for corner in range(1 << s.spatial):
        weight = 1
        for i in range(s.spatial):
            weight *= (axes[i].weight if corner >> i & 1 else one - axes[i].weight) / <double>one
        if weight == 0:
            continue
        stop = _neighbour(s, level, axes, corner, found)
        if stop != stop_running:
            return stop
        for i in range(4):
            raw[i] = found[i]
            if s.integer:
                continue
            if s.sampler.reduction == reduction_minimum:
                color[i] = bits_float(found[i]) if first else min(color[i], <double>bits_float(found[i]))
            elif s.sampler.reduction == reduction_maximum:
                color[i] = bits_float(found[i]) if first else max(color[i], <double>bits_float(found[i]))
            else:
                color[i] += weight * (_of_bytes(bits_float(found[i])) if bytes_ else <double>bits_float(found[i]))
        first = False
    return stop_running


cdef int _gather(const Sample *s, int64_t lod, uint32_t component, uint32_t *result) noexcept nogil:
    """One component of the four texels that a linear filter would take: (0, 1), (1, 1), (1, 0), (0, 0).

    Until GFX8 the hardware filters nothing in integer formats, and begins at the nearest texel: half a texel further than filters do. Drivers
    subtract that (Mesa, ``lower_gather4_integer``).
    """
    cdef uint32_t level = nearest_level(s.view, s.sampler, lod)
    cdef const ImageLevel *extent = &s.view.level[level]
    cdef bint nearest = s.machine.gfx_level < gfx9 and s.integer
    cdef Sample moved = s[0]
    cdef uint32_t corners[4]
    cdef uint32_t found[4]
    cdef Axis axes[3]
    cdef uint32_t i
    cdef int stop
    corners[:] = [2, 3, 1, 0]
    for i in range(s.spatial):
        if nearest:
            moved.coordinate[i] += 0.5 if s.unnormalized else 0.5 / _size(s, extent, i)
        _axis(&moved, i, _size(s, extent, i), True, &axes[i])
    for i in range(4):
        stop = _neighbour(s, level, axes, corners[i], found)
        if stop != stop_running:
            return stop
        result[i] = found[component]
    return stop_running


cdef int _filter_levels(const Sample *s, int64_t lod, double *color, uint32_t *raw) noexcept nogil:
    """One or two levels at a level of detail with 8 fraction bits, counted from the view's first level."""
    cdef uint32_t filter_ = s.sampler.mag_filter if lod <= 0 else s.sampler.min_filter
    cdef bint linear = filter_ == filter_linear or filter_ == filter_anisotropic_linear
    cdef int64_t last = s.view.last_level - s.view.first_level
    cdef int64_t level
    cdef double other[4]
    cdef double weight
    cdef uint32_t i
    cdef int stop
    lod = max(<int64_t>0, min(lod, last << fraction_bits))
    if s.sampler.mip_filter != mip_linear or s.integer:
        return _filter_level(s, nearest_level(s.view, s.sampler, lod), linear, color, raw)
    level = lod >> fraction_bits
    weight = (lod & (one - 1)) / <double>one
    if s.sampler.perf_mip:
        weight = min(max(1.25 * weight - 0.125, 0.0), 1.0)
    stop = _filter_level(s, s.view.first_level + <uint32_t>level, linear, color, raw)
    if stop != stop_running or weight == 0:
        return stop
    stop = _filter_level(s, s.view.first_level + <uint32_t>level + 1, linear, other, raw)
    for i in range(4):
        if s.sampler.reduction == reduction_minimum:
            color[i] = min(color[i], other[i])
        elif s.sampler.reduction == reduction_maximum:
            color[i] = max(color[i], other[i])
        else:
            color[i] += weight * (other[i] - color[i])
    return stop


# ------------------------------------------------------------------------------------------------------ level of detail
cdef void _find_gradients(Sample *s, const Wave *wave, const Instruction *instruction, const ImageOperands *o) noexcept nogil:
    """Derivatives in texels of the first level: those that are given, or differences within the lane's quad."""
    cdef const ImageLevel *extent = &s.view.level[s.view.first_level]
    cdef uint32_t quad = s.lane & ~<uint32_t>3
    cdef uint32_t direction, i
    cdef double scale
    for direction in range(2):
        for i in range(s.spatial):
            scale = 1 if s.unnormalized else _size(s, extent, i)
            if o.flags & image_flag_gradients:
                s.gradient[direction][i] = address_gradient(wave, instruction, o, direction, i, s.lane) * scale
            else:
                s.gradient[direction][i] = scale * (address_number(wave, instruction, o, i, quad + (1 << direction))
                                                    - address_number(wave, instruction, o, i, quad))


cdef inline double _length(const Sample *s, uint32_t direction) noexcept nogil:
    cdef double sum_ = 0
    cdef uint32_t i
    for i in range(s.spatial):
        sum_ += s.gradient[direction][i] * s.gradient[direction][i]
    return sqrt(sum_)


cdef double _lod_of_gradients(const Sample *s, uint32_t *probes) noexcept nogil:
    """The logarithm of the longer derivative; with anisotropy of the longer one divided among its samples."""
    cdef double x = _length(s, 0)
    cdef double y = _length(s, 1)
    cdef double longer = max(x, y)
    cdef double shorter = min(x, y)
    cdef double limit = 1 << s.sampler.anisotropy
    probes[0] = 1
    if longer != longer or longer == 0:
        return -INFINITY
    if s.sampler.anisotropy and (s.sampler.min_filter >= filter_anisotropic_point or s.sampler.mag_filter >= filter_anisotropic_point):
        probes[0] = <uint32_t>max(1.0, ceil(min(limit, longer / shorter if shorter > 0 else limit)))
    return log2(longer / probes[0])


cdef int64_t _find_lod(Sample *s, const Wave *wave, const Instruction *instruction, const ImageOperands *o, uint32_t *probes,
                       int64_t *unclamped) noexcept nogil:
    """The level of detail with 8 fraction bits, and how many samples an anisotropic filter takes."""
    cdef uint8_t level = memory_operation(instruction.decoded.opcode).level
    cdef double least = 0
    cdef double lod = 0
    cdef int64_t fixed
    probes[0] = 1
    if level == level_given:
        lod = address_number(wave, instruction, o, o.coordinates, s.lane)
    elif level == level_clamped:
        least = address_number(wave, instruction, o, o.coordinates, s.lane)
    if level != level_given and level != level_zero:
        _find_gradients(s, wave, instruction, o)
        lod = _lod_of_gradients(s, probes)
        if o.flags & image_flag_bias:
            lod += _bias(wave, instruction, o, s.lane)
    if level == level_zero and o.flags & image_flag_gather:
        return view_lod(s.view, 0)
    fixed = fixed_lod(lod) + s.sampler.bias
    unclamped[0] = fixed
    return clamped_lod(s.view, s.sampler, fixed, least)


cdef inline double _bias(const Wave *wave, const Instruction *instruction, const ImageOperands *o, uint32_t lane) noexcept nogil:
    cdef uint32_t word = address_row(wave, instruction, o.bias_at)[lane]
    return half_to_double(word & 0xffff) if o.narrow else bits_float(word)


# ----------------------------------------------------------------------------------------------------------------- lanes
cdef void _open_sample(Sample *s, const Wave *wave, const Instruction *instruction, const ImageOperands *o) noexcept nogil:
    """Coordinates, layer, offsets and comparison value of a lane."""
    cdef uint32_t i, word
    cdef int64_t layer = 0
    s.unnormalized = s.sampler.unnormalized or modifier_unrm(instruction.decoded.modifiers)
    s.integer = s.view.format.integer
    s.compares = (o.flags & image_flag_compare) != 0
    s.cube = s.view.type == image_cube
    s.spatial = o.spatial
    s.layer = s.view.first_layer
    s.face = 0
    for i in range(3):
        s.offset[i] = 0
        s.coordinate[i] = address_number(wave, instruction, o, i, s.lane) if i < o.spatial else 0
    if o.layered:
        layer = <int64_t>nearest_even(min(max(address_number(wave, instruction, o, o.spatial, s.lane), -1e6), 1e6))
    if s.cube:
        # places on a face are given from 1 to 2, layer and face as 8 * layer + face
        s.coordinate[0] -= 1
        s.coordinate[1] -= 1
        s.face = min(<uint32_t>(layer & 7), <uint32_t>5)
        s.layer = <uint32_t>max(<int64_t>0, min(layer >> 3, <int64_t>max(s.view.layers // 6, <uint32_t>1) - 1))
    elif o.layered:
        s.layer += <uint32_t>max(<int64_t>0, min(layer, <int64_t>s.view.layers - 1))
    if o.flags & image_flag_offset:
        word = address_row(wave, instruction, o.offset_at)[s.lane]
        for i in range(3):
            s.offset[i] = <int32_t>(word << (26 - 8 * i)) >> 26
    if s.compares:
        s.reference = bits_float(address_row(wave, instruction, o.compare_at)[s.lane])


cdef int _probe(Sample *s, int64_t lod, uint32_t probes, double *color, uint32_t *raw) noexcept nogil:
    """The mean of `probes` samples along the longer derivative."""
    cdef const ImageLevel *extent = &s.view.level[s.view.first_level]
    cdef uint32_t direction = 0 if _length(s, 0) >= _length(s, 1) else 1
    cdef double centre[3]
    cdef double found[4]
    cdef uint32_t i, number
    cdef int stop = stop_running
    for i in range(4):
        color[i] = 0
    for i in range(s.spatial):
        centre[i] = s.coordinate[i]
    for number in range(probes):
        for i in range(s.spatial):
            s.coordinate[i] = centre[i] + s.gradient[direction][i] / (1 if s.unnormalized else _size(s, extent, i)) * (
                (number + 0.5) / probes - 0.5)
        stop = _filter_levels(s, lod, found, raw)
        if stop != stop_running:
            return stop
        for i in range(4):
            color[i] += found[i] / probes
    return stop


cdef int64_t lod_of_lane(Machine *machine, Wave *wave, const Instruction *instruction, const ImageOperands *o, const ImageView *view,
                         const Sampler *sampler, uint32_t lane, uint32_t *probes) noexcept nogil:
    cdef Sample s
    cdef int64_t unclamped
    s.machine, s.view, s.sampler, s.lane = machine, view, sampler, lane
    _open_sample(&s, wave, instruction, o)
    return _find_lod(&s, wave, instruction, o, probes, &unclamped)


cdef int sample_lane(Machine *machine, Wave *wave, const Instruction *instruction, const ImageOperands *o, const ImageView *view,
                     const Sampler *sampler, uint32_t lane, uint32_t *result) noexcept nogil:
    cdef Sample s
    cdef double color[4]
    cdef uint32_t i, probes
    cdef uint32_t component = 0
    cdef int64_t lod, unclamped
    cdef int stop
    for i in range(4):
        result[i] = 0
    if view.empty:
        return stop_running
    s.machine, s.view, s.sampler, s.lane = machine, view, sampler, lane
    _open_sample(&s, wave, instruction, o)
    if o.flags & image_flag_gather:
        while not o.mask >> component & 1:
            component += 1
        return _gather(&s, _find_lod(&s, wave, instruction, o, &probes, &unclamped), component, result)
    lod = _find_lod(&s, wave, instruction, o, &probes, &unclamped)
    if instruction.decoded.opcode == op_image_get_lod:
        lod = max(<int64_t>0, min(lod, <int64_t>(view.last_level - view.first_level) << fraction_bits))
        result[0] = float_bits(<float>(lod / <double>one))
        result[1] = float_bits(<float>(unclamped / <double>one))
        return stop_running
    if probes > 1:
        stop = _probe(&s, lod, probes, color, result)
    else:
        stop = _filter_levels(&s, lod, color, result)
    if not s.integer:
        for i in range(4):
            result[i] = float_bits(<float>color[i])
    return stop
