"""ASTC: a grid of weights that is stretched over the block, endpoints for up to four partitions, and both in integer sequences that share 128 bits.

Source: the Khronos Data Format Specification 1.4, "ASTC Compressed Texture Image Formats"; its procedures are exact. Operation modes sRGB and linear
LDR: colours of high dynamic range give the error colour, which is magenta. Decode modes unorm8 and float16. In sRGB mode alpha is widened to 16
bits as the colours are: the specification makes no difference, though Arm's encoder does.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memset

from pyaco._core.common.bits cimport leading_zeros32
from pyaco._core.texels.astc_endpoints cimport Endpoints, read_endpoints
from pyaco._core.texels.astc_sequences cimport (
    endpoint_values, least_endpoint_range, range_count, sequence_bits, take_sequence, weight_values,
)
from pyaco._core.texels.block cimport BlockBits, BlockFormat, block_bits, codec_astc_half, codec_astc_srgb, peek

cdef enum:
    most_weights = 64
    most_values = 18                  # of all endpoints
    no_channel = 4
    config_bits = 17                  # of a block with one partition
    partitioned_config_bits = 29

cdef struct Grid:                     # what a block mode says of the weights
    uint8_t width                     # 0: a reserved mode
    uint8_t height
    uint8_t depth
    uint8_t range
    uint8_t planes

cdef Grid[2][2048] _grids             # by block mode; 2D, 3D
cdef uint8_t[256] _reversed           # bits of a byte

cdef struct Plan:                     # where a block's parts lie, and of what kind they are
    Grid grid
    uint32_t partitions
    uint32_t partition_index
    uint8_t[4] modes                  # of the endpoints, by partition
    uint32_t values                   # of all endpoints
    uint32_t value_range
    uint32_t first_value_bit
    uint32_t second_plane             # its channel, or no_channel

cdef struct Seeds:                    # of the pattern of partitions
    uint8_t[4][3] factors             # of x, y, z, by partition
    uint32_t[4] offsets


cdef inline uint16_t _half(uint32_t value) noexcept nogil:
    """65536ths, rounded to zero; 65535 is one."""
    cdef uint32_t top
    if value == 65535:
        return 0x3c00
    if value < 4:
        return <uint16_t>(value << 8)
    top = 31 - leading_zeros32(value)
    return <uint16_t>((top - 1) << 10 | (value << 10 >> top & 0x3ff))


cdef inline void _put(const BlockFormat *format, void *texels, uint32_t texel, const uint32_t *color) noexcept nogil:
    """Write a colour of 16-bit channels."""
    cdef uint32_t channel
    for channel in range(4):
        if format.codec == codec_astc_half:
            (<uint16_t *>texels)[4 * texel + channel] = _half(color[channel])
        else:
            (<uint8_t *>texels)[4 * texel + channel] = <uint8_t>(color[channel] >> 8)


cdef void _fill(const BlockFormat *format, void *texels, const uint32_t *color) noexcept nogil:
    cdef uint32_t texel
    for texel in range(<uint32_t>format.width * format.height * format.depth):
        _put(format, texels, texel, color)


cdef inline void _set_error(uint32_t *color) noexcept nogil:
    color[0] = color[2] = color[3] = 0xffff
    color[1] = 0


cdef void _decode_void_extent(const BlockFormat *format, const BlockBits *bits, void *texels) noexcept nogil:
    """A block of one colour, with the box of texture coordinates where that is all there is: nothing but its being a box matters."""
    cdef uint32_t axes = 2 if format.depth == 1 else 3
    cdef uint32_t width = 13 if format.depth == 1 else 9
    cdef uint32_t first = 12 if format.depth == 1 else 10
    cdef bint is_valid = peek(bits, 9, 1) == 0 and (format.depth > 1 or peek(bits, 10, 2) == 3)
    cdef bint has_box = False
    cdef bint is_box = True
    cdef uint32_t axis, low, high
    cdef uint32_t[4] color
    for axis in range(axes):
        low = peek(bits, first + 2 * axis * width, width)
        high = peek(bits, first + (2 * axis + 1) * width, width)
        has_box = has_box or low & high != (<uint32_t>1 << width) - 1
        is_box = is_box and low < high
    for axis in range(4):
        color[axis] = peek(bits, 64 + 16 * axis, 16)
    if not is_valid or (has_box and not is_box):
        _set_error(color)
    _fill(format, texels, color)


cdef void _plan_modes(Plan *plan, const BlockBits *bits, uint32_t weight_start, uint32_t *extra) noexcept nogil:
    """Read the colour endpoint modes; `extra` is how many of their bits lie below the weights."""
    cdef uint32_t selector, classes, low, partition
    extra[0] = 0
    if plan.partitions == 1:
        plan.modes[0] = <uint8_t>peek(bits, 13, 4)
        return
    selector = peek(bits, 23, 2)
    if selector == 0:
        for partition in range(plan.partitions):
            plan.modes[partition] = <uint8_t>peek(bits, 25, 4)
        return
    extra[0] = 3 * plan.partitions - 4
    classes = peek(bits, 25, 4) | peek(bits, weight_start - extra[0], extra[0]) << 4
    low = classes >> plan.partitions
    for partition in range(plan.partitions):
        plan.modes[partition] = <uint8_t>((selector - 1 + (classes >> partition & 1)) << 2 | (low >> (2 * partition) & 3))


cdef bint _plan(Plan *plan, const BlockFormat *format, const BlockBits *bits) noexcept nogil:
    """Find a block's parts; say whether it is valid."""
    cdef uint32_t count, weight_bits, extra, start, end, partition
    plan.grid = _grids[format.depth > 1][peek(bits, 0, 11)]
    if plan.grid.width == 0 or plan.grid.width > format.width or plan.grid.height > format.height or plan.grid.depth > format.depth:
        return False
    count = <uint32_t>plan.grid.width * plan.grid.height * plan.grid.depth * plan.grid.planes
    weight_bits = sequence_bits(plan.grid.range, count)
    plan.partitions = peek(bits, 11, 2) + 1
    if count > most_weights or weight_bits < 24 or weight_bits > 96 or (plan.grid.planes == 2 and plan.partitions == 4):
        return False
    plan.partition_index = peek(bits, 13, 10)
    _plan_modes(plan, bits, 128 - weight_bits, &extra)
    start = config_bits if plan.partitions == 1 else partitioned_config_bits
    end = 128 - weight_bits - extra
    plan.second_plane = no_channel
    if plan.grid.planes == 2:
        end -= 2
        plan.second_plane = peek(bits, end, 2)
    plan.values = 0
    for partition in range(plan.partitions):
        plan.values += 2 * ((plan.modes[partition] >> 2) + 1)
    if plan.values > most_values or end < start or sequence_bits(least_endpoint_range, plan.values) > end - start:
        return False
    plan.first_value_bit = start
    plan.value_range = range_count - 1
    while sequence_bits(plan.value_range, plan.values) > end - start:
        plan.value_range -= 1
    return True


cdef void _read_colors(const Plan *plan, const BlockFormat *format, BlockBits bits, Endpoints *endpoints) noexcept nogil:
    """Read the endpoints of each partition and widen them to 16 bits."""
    cdef uint8_t[most_values] values
    cdef const uint8_t *next_value = values
    cdef uint32_t partition, end, channel
    cdef int low = 0x80
    bits.low = bits.low >> plan.first_value_bit | bits.high << (64 - plan.first_value_bit)
    bits.high >>= plan.first_value_bit
    take_sequence(bits, plan.value_range, plan.values, endpoint_values[plan.value_range], values)
    for partition in range(plan.partitions):
        read_endpoints(&endpoints[partition], plan.modes[partition], next_value)
        next_value += 2 * ((plan.modes[partition] >> 2) + 1)
        for end in range(2):
            for channel in range(4):
                if format.codec != codec_astc_srgb:
                    low = endpoints[partition].colors[end][channel]
                endpoints[partition].colors[end][channel] = endpoints[partition].colors[end][channel] << 8 | low


cdef void _read_weights(const Plan *plan, const uint8_t *block, uint8_t *weights) noexcept nogil:
    """Read the grid; its sequence begins at the block's last bit and runs backwards."""
    cdef uint8_t[16] backwards
    cdef uint32_t i
    for i in range(16):
        backwards[i] = _reversed[block[15 - i]]
    take_sequence(block_bits(backwards), plan.grid.range, <uint32_t>plan.grid.width * plan.grid.height * plan.grid.depth * plan.grid.planes,
                  weight_values[plan.grid.range], weights)


# ---------------------------------------------------------------------------------------------------------- partitions
cdef inline uint32_t _hash(uint32_t p) noexcept nogil:
    p ^= p >> 15
    p *= 0xeede0891U                   # as the specification's shifts and sums: (1 - 2 ** 17) * (1 + 2 ** 7) * (1 + 2 ** 4)
    p ^= p >> 5
    p += p << 16
    p ^= p >> 7
    p ^= p >> 3
    p ^= p << 6
    return p ^ p >> 17


cdef void _plan_pattern(Seeds *seeds, const Plan *plan) noexcept nogil:
    """What a texel's coordinates are multiplied by; the partition whose sum is largest has the texel."""
    cdef uint32_t index = plan.partition_index + (plan.partitions - 1) * 1024
    cdef uint32_t number = _hash(index)
    cdef uint32_t coarse = 4 if index & 2 else 5
    cdef uint32_t fine = 6 if plan.partitions == 3 else 5
    cdef uint32_t x_shift = coarse if index & 1 else fine
    cdef uint32_t y_shift = fine if index & 1 else coarse
    cdef uint32_t z_shift = x_shift if index & 0x10 else y_shift
    cdef uint32_t partition, seed
    cdef uint8_t[4] z_places = [26, 30, 18, 22]
    cdef uint8_t[4] offsets = [14, 10, 6, 2]
    for partition in range(4):
        seed = number >> (8 * partition) & 15
        seeds.factors[partition][0] = <uint8_t>(seed * seed >> x_shift)
        seed = number >> (8 * partition + 4) & 15
        seeds.factors[partition][1] = <uint8_t>(seed * seed >> y_shift)
        seed = (number >> z_places[partition] | (number << 2 if partition == 1 else 0)) & 15
        seeds.factors[partition][2] = <uint8_t>(seed * seed >> z_shift)
        seeds.offsets[partition] = number >> offsets[partition]


cdef inline uint32_t _partition_at(const Seeds *seeds, uint32_t partitions, uint32_t x, uint32_t y, uint32_t z) noexcept nogil:
    cdef uint32_t best = 0
    cdef uint32_t most = 0
    cdef uint32_t partition, sum_
    for partition in range(partitions):
        sum_ = (seeds.factors[partition][0] * x + seeds.factors[partition][1] * y + seeds.factors[partition][2] * z + seeds.offsets[partition]) & 0x3f
        if sum_ > most:
            best = partition
            most = sum_
    return best


# ------------------------------------------------------------------------------------------------------------- weights
cdef inline uint32_t _place(uint32_t texel, uint32_t texels, uint32_t weights) noexcept nogil:
    """Where a texel lies in the grid along an axis, in sixteenths."""
    if texels == 1:
        return 0
    return ((1024 + texels // 2) // (texels - 1) * texel * (weights - 1) + 32) >> 6


cdef inline void _weights_2d(const Grid *grid, const uint8_t *weights, uint32_t x, uint32_t y, uint32_t *result) noexcept nogil:
    """Interpolate between four neighbours; `weights` has room for those beyond the grid, which do not count."""
    cdef uint32_t planes = grid.planes
    cdef uint32_t right = x & 15
    cdef uint32_t down = y & 15
    cdef uint32_t both = (right * down + 8) >> 4
    cdef const uint8_t *corner = weights + planes * ((x >> 4) + (y >> 4) * grid.width)
    cdef const uint8_t *below = corner + planes * grid.width
    cdef uint32_t plane
    for plane in range(planes):
        result[plane] = (corner[plane] * (16 - right - down + both) + corner[planes + plane] * (right - both)
                         + below[plane] * (down - both) + below[planes + plane] * both + 8) >> 4


cdef inline void _weights_3d(const Grid *grid, const uint8_t *weights, uint32_t x, uint32_t y, uint32_t z, uint32_t *result) noexcept nogil:
    """Interpolate in the simplex that the fractions choose: from corner to opposite corner along the axes, the largest fraction first."""
    cdef uint32_t planes = grid.planes
    cdef uint32_t[3] steps
    cdef uint32_t[3] fractions
    cdef uint32_t[3] order
    cdef const uint8_t *corner = weights + planes * ((x >> 4) + ((y >> 4) + (z >> 4) * grid.height) * grid.width)
    cdef uint32_t plane
    steps[0] = planes
    steps[1] = planes * grid.width
    steps[2] = steps[1] * grid.height
    fractions[0] = x & 15
    fractions[1] = y & 15
    fractions[2] = z & 15
    # of equal fractions the last axis comes first
    order[0] = 0 if fractions[0] > fractions[1] and fractions[0] > fractions[2] else 1 if fractions[1] > fractions[2] else 2
    order[2] = (2 if fractions[1] > fractions[2] else 1) if order[0] == 0 else (
        (2 if fractions[0] > fractions[2] else 0) if order[0] == 1 else (1 if fractions[0] > fractions[1] else 0))
    order[1] = 3 - order[0] - order[2]
    for plane in range(planes):
        result[plane] = (corner[plane] * (16 - fractions[order[0]])
                         + corner[steps[order[0]] + plane] * (fractions[order[0]] - fractions[order[1]])
                         + corner[steps[order[0]] + steps[order[1]] + plane] * (fractions[order[1]] - fractions[order[2]])
                         + corner[steps[0] + steps[1] + steps[2] + plane] * fractions[order[2]] + 8) >> 4


# -------------------------------------------------------------------------------------------------------------- texels
cdef void _decode_texels(const BlockFormat *format, const Plan *plan, const Endpoints *endpoints, const uint8_t *weights,
                         void *texels) noexcept nogil:
    cdef Seeds seeds
    cdef uint32_t scale = 2 if <uint32_t>format.width * format.height * format.depth < 31 else 1      # small blocks have coarser patterns
    cdef uint32_t texel = 0
    cdef uint32_t partition = 0
    cdef uint32_t x, y, z, row, slice_, weight, channel
    cdef uint32_t[2] weight_of
    cdef uint32_t[4] color
    cdef const Endpoints *ends
    _plan_pattern(&seeds, plan)
    for z in range(format.depth):
        slice_ = _place(z, format.depth, plan.grid.depth)
        for y in range(format.height):
            row = _place(y, format.height, plan.grid.height)
            for x in range(format.width):
                if plan.partitions > 1:
                    partition = _partition_at(&seeds, plan.partitions, scale * x, scale * y, scale * z)
                ends = &endpoints[partition]
                if ends.is_valid:
                    if format.depth == 1:
                        _weights_2d(&plan.grid, weights, _place(x, format.width, plan.grid.width), row, weight_of)
                    else:
                        _weights_3d(&plan.grid, weights, _place(x, format.width, plan.grid.width), row, slice_, weight_of)
                    for channel in range(4):
                        weight = weight_of[channel == plan.second_plane]
                        color[channel] = (<uint32_t>ends.colors[0][channel] * (64 - weight) + <uint32_t>ends.colors[1][channel] * weight + 32) >> 6
                else:
                    _set_error(color)
                _put(format, texels, texel, color)
                texel += 1


cdef void decode_astc(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil:
    cdef BlockBits bits = block_bits(block)
    cdef Plan plan
    cdef Endpoints[4] endpoints
    cdef uint8_t[2 * most_weights] weights
    cdef uint32_t[4] error
    if peek(&bits, 0, 9) == 0x1fc:
        _decode_void_extent(format, &bits, texels)
        return
    if not _plan(&plan, format, &bits):
        _set_error(error)
        _fill(format, texels, error)
        return
    memset(weights, 0, sizeof(weights))
    _read_colors(&plan, format, bits, endpoints)
    _read_weights(&plan, block, weights)
    _decode_texels(format, &plan, endpoints, weights, texels)


# --------------------------------------------------------------------------------------------------------- block modes
cdef Grid _grid_of(uint32_t mode, bint is_3d) noexcept nogil:
    """What a block mode says; width 0 where it is reserved or a void extent's."""
    cdef Grid grid = Grid(0, 0, 1, 0, 1)
    cdef uint32_t a = mode >> 5 & 3
    cdef uint32_t b = mode >> 7 & 3
    cdef uint32_t c = mode >> 9 & 3                           # planes - 1, and whether the weights are of the upper ranges
    cdef uint32_t form = mode >> 2 & 3
    cdef bint is_plain = False                                # has no such bits
    cdef uint32_t range_ = (mode & 3) << 1 | (mode >> 4 & 1)
    if mode & 3:
        if is_3d:
            grid.width, grid.height, grid.depth = a + 2, b + 2, form + 2
        elif form == 0:
            grid.width, grid.height = b + 4, a + 2
        elif form == 1:
            grid.width, grid.height = b + 8, a + 2
        elif form == 2:
            grid.width, grid.height = a + 2, b + 8
        elif b < 2:
            grid.width, grid.height = a + 2, b + 6
        else:
            grid.width, grid.height = b, a + 2
    else:
        range_ = form << 1 | (mode >> 4 & 1)
        is_plain = b != 3 if is_3d else b == 2
        if form == 0 or (b == 3 and a > (2 if is_3d else 1)):
            return grid
        if is_3d and b == 3:
            grid.width, grid.height, grid.depth = 6 if a == 0 else 2, 6 if a == 1 else 2, 6 if a == 2 else 2
        elif is_3d:
            grid.width, grid.height, grid.depth = 6 if b == 0 else a + 2, 6 if b == 1 else c + 2, 6 if b == 2 else (a if b == 0 else c) + 2
        elif b == 3:
            grid.width, grid.height = 10 if a else 6, 6 if a else 10
        else:
            grid.width, grid.height = 12 if b == 0 else a + (2 if b == 1 else 6), 12 if b == 1 else (a + 2 if b == 0 else c + 6)
    grid.range = <uint8_t>(range_ - 2 + (0 if is_plain else 6 * (c & 1)))
    grid.planes = 1 if is_plain else 1 + (c >> 1)
    return grid


cdef void _read_grids() noexcept:
    cdef uint32_t mode, bit
    for mode in range(2048):
        _grids[0][mode] = _grid_of(mode, False)
        _grids[1][mode] = _grid_of(mode, True)
    for mode in range(256):
        _reversed[mode] = 0
        for bit in range(8):
            _reversed[mode] |= (mode >> bit & 1) << (7 - bit)


_read_grids()
