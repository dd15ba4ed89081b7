"""BC6H and BC7 (BPTC): blocks in one of several modes, each of which divides the bits otherwise between endpoints, subsets and indices.

Source: the Khronos Data Format Specification 1.4, "BPTC Compressed Texture Image Formats", which agrees with Direct3D's functional specification;
both ask for exact results. What it leaves open: a BC7 block with no mode bit decodes to zeros, alpha too.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memset

from pyaco._core.texels.block cimport (
    BlockBits, BlockFormat, block_bits, codec_bc6h_signed, replicated, take,
)

# Subset of each texel, by partition: bit i is texel i's (two subsets), bits 2i and 2i + 1 are (three).
cdef uint16_t[64] _two_subsets = [
    0xcccc, 0x8888, 0xeeee, 0xecc8, 0xc880, 0xfeec, 0xfec8, 0xec80, 0xc800, 0xffec, 0xfe80, 0xe800, 0xffe8, 0xff00, 0xfff0, 0xf000,
    0xf710, 0x008e, 0x7100, 0x08ce, 0x008c, 0x7310, 0x3100, 0x8cce, 0x088c, 0x3110, 0x6666, 0x366c, 0x17e8, 0x0ff0, 0x718e, 0x399c,
    0xaaaa, 0xf0f0, 0x5a5a, 0x33cc, 0x3c3c, 0x55aa, 0x9696, 0xa55a, 0x73ce, 0x13c8, 0x324c, 0x3bdc, 0x6996, 0xc33c, 0x9966, 0x0660,
    0x0272, 0x04e4, 0x4e40, 0x2720, 0xc936, 0x936c, 0x39c6, 0x639c, 0x9336, 0x9cc6, 0x817e, 0xe718, 0xccf0, 0x0fcc, 0x7744, 0xee22,
]
cdef uint32_t[64] _three_subsets = [
    0xaa685050, 0x6a5a5040, 0x5a5a4200, 0x5450a0a8, 0xa5a50000, 0xa0a05050, 0x5555a0a0, 0x5a5a5050,
    0xaa550000, 0xaa555500, 0xaaaa5500, 0x90909090, 0x94949494, 0xa4a4a4a4, 0xa9a59450, 0x2a0a4250,
    0xa5945040, 0x0a425054, 0xa5a5a500, 0x55a0a0a0, 0xa8a85454, 0x6a6a4040, 0xa4a45000, 0x1a1a0500,
    0x0050a4a4, 0xaaa59090, 0x14696914, 0x69691400, 0xa08585a0, 0xaa821414, 0x50a4a450, 0x6a5a0200,
    0xa9a58000, 0x5090a0a8, 0xa8a09050, 0x24242424, 0x00aa5500, 0x24924924, 0x24499224, 0x50a50a50,
    0x500aa550, 0xaaaa4444, 0x66660000, 0xa5a0a5a0, 0x50a050a0, 0x69286928, 0x44aaaa44, 0x66666600,
    0xaa444444, 0x54a854a8, 0x95809580, 0x96969600, 0xa85454a8, 0x80959580, 0xaa141414, 0x96960000,
    0xaaaa1414, 0xa05050a0, 0xa0a5a5a0, 0x96000000, 0x40804080, 0xa9a8a9a8, 0xaaaaaa44, 0x2a4a5254,
]
# The texel of the second and third subset whose index lacks its top bit, by partition; the first subset's is texel 0.
cdef uint8_t[64] _second_of_two = [
    15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 2, 8, 2, 2, 8, 8, 15, 2, 8, 2, 2, 8, 8, 2, 2,
    15, 15, 6, 8, 2, 8, 15, 15, 2, 8, 2, 2, 2, 15, 15, 6, 6, 2, 6, 8, 15, 15, 2, 2, 15, 15, 15, 15, 15, 2, 2, 15,
]
cdef uint8_t[64] _second_of_three = [
    3, 3, 15, 15, 8, 3, 15, 15, 8, 8, 6, 6, 6, 5, 3, 3, 3, 3, 8, 15, 3, 3, 6, 10, 5, 8, 8, 6, 8, 5, 15, 15,
    8, 15, 3, 5, 6, 10, 8, 15, 15, 3, 15, 5, 15, 15, 15, 15, 3, 15, 5, 5, 5, 8, 5, 10, 5, 10, 8, 13, 15, 12, 3, 3,
]
cdef uint8_t[64] _third_of_three = [
    15, 8, 8, 3, 15, 15, 3, 8, 15, 15, 15, 15, 15, 15, 15, 8, 15, 8, 15, 3, 15, 8, 15, 8, 3, 15, 6, 10, 15, 15, 10, 8,
    15, 3, 15, 10, 10, 8, 9, 10, 6, 15, 8, 15, 3, 6, 6, 8, 15, 3, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 3, 15, 15, 8,
]

cdef struct Partition:
    uint32_t subsets                  # two bits a texel
    uint32_t short_indices            # a bit for each texel whose index lacks its top bit

cdef Partition[3][64] _partitions     # by number of subsets - 1, and partition
cdef uint8_t[5][16] _weights          # of the second endpoint in sixty-fourths, by bits of an index


cdef struct Mode7:                    # a mode of BC7: how many there are of each thing
    uint8_t subsets
    uint8_t partition_bits
    uint8_t rotation_bits
    uint8_t selection_bits            # whether the two sets of indices may change roles
    uint8_t color_bits
    uint8_t alpha_bits
    uint8_t endpoint_p_bits           # a lowest bit for all channels of each endpoint, or of both endpoints of a subset
    uint8_t subset_p_bits
    uint8_t index_bits
    uint8_t second_index_bits

cdef Mode7[8] _modes7 = [
    [3, 4, 0, 0, 4, 0, 1, 0, 3, 0],
    [2, 6, 0, 0, 6, 0, 0, 1, 3, 0],
    [3, 6, 0, 0, 5, 0, 0, 0, 2, 0],
    [2, 6, 0, 0, 7, 0, 1, 0, 2, 0],
    [1, 0, 2, 1, 5, 6, 0, 0, 2, 3],
    [1, 0, 2, 0, 7, 8, 0, 0, 2, 2],
    [1, 0, 0, 0, 7, 7, 1, 0, 4, 0],
    [2, 6, 0, 0, 5, 5, 1, 0, 2, 0],
]


cdef inline uint32_t _mix(uint32_t first, uint32_t second, uint32_t weight) noexcept nogil:
    return ((64 - weight) * first + weight * second + 32) >> 6


cdef inline void _take_indices(BlockBits *bits, uint32_t width, uint32_t short_indices, uint8_t *weights) noexcept nogil:
    """Read an index for each texel and look up its weight."""
    cdef uint32_t texel
    for texel in range(16):
        weights[texel] = _weights[width][take(bits, width - (short_indices >> texel & 1))]


cdef inline void _take_endpoints(const Mode7 *mode, BlockBits *bits, uint8_t[4] *endpoints) noexcept nogil:
    """Read the endpoints, two for each subset, and widen them to eight bits."""
    cdef uint32_t count = 2 * mode.subsets
    cdef uint32_t[4] widths
    cdef uint32_t channel, endpoint, p_bit
    for channel in range(4):
        widths[channel] = mode.alpha_bits if channel == 3 else mode.color_bits
        for endpoint in range(count):
            endpoints[endpoint][channel] = <uint8_t>take(bits, widths[channel])
    if mode.endpoint_p_bits or mode.subset_p_bits:
        p_bit = 0
        for endpoint in range(count):
            if mode.endpoint_p_bits or endpoint % 2 == 0:
                p_bit = take(bits, 1)
            for channel in range(4):
                endpoints[endpoint][channel] = <uint8_t>(endpoints[endpoint][channel] << 1 | p_bit)
        for channel in range(4):
            widths[channel] += 1
    for endpoint in range(count):
        for channel in range(3):
            endpoints[endpoint][channel] = <uint8_t>replicated(endpoints[endpoint][channel], widths[channel])
        endpoints[endpoint][3] = <uint8_t>replicated(endpoints[endpoint][3], widths[3]) if mode.alpha_bits else 255


cdef void decode_bc7(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil:
    cdef uint8_t *out = <uint8_t *>texels
    cdef BlockBits bits = block_bits(block)
    cdef uint32_t number = 0
    cdef const Mode7 *mode
    cdef const Partition *partition
    cdef uint8_t[6][4] endpoints
    cdef uint8_t[2][16] weights
    cdef uint8_t *color_weights = weights[0]
    cdef uint8_t *alpha_weights = weights[0]
    cdef uint32_t rotation, selection, texel, channel, alpha
    cdef const uint8_t *first
    if block[0] == 0:
        memset(texels, 0, 64)
        return
    while take(&bits, 1) == 0:
        number += 1
    mode = &_modes7[number]
    partition = &_partitions[mode.subsets - 1][take(&bits, mode.partition_bits)]
    rotation = take(&bits, mode.rotation_bits)
    selection = take(&bits, mode.selection_bits)
    _take_endpoints(mode, &bits, endpoints)
    _take_indices(&bits, mode.index_bits, partition.short_indices, weights[0])
    if mode.second_index_bits:
        _take_indices(&bits, mode.second_index_bits, 1, weights[1])
        color_weights = weights[selection]
        alpha_weights = weights[1 - selection]
    for texel in range(16):
        first = endpoints[2 * (partition.subsets >> (2 * texel) & 3)]
        for channel in range(3):
            out[channel] = <uint8_t>_mix(first[channel], first[4 + channel], color_weights[texel])
        out[3] = <uint8_t>_mix(first[3], first[7], alpha_weights[texel])
        if rotation:
            alpha = out[3]
            out[3] = out[rotation - 1]
            out[rotation - 1] = <uint8_t>alpha
        out += 4


# ---------------------------------------------------------------------------------------------------------------- BC6H
# mode | whether endpoints but the first are differences from it | bits of an endpoint | of a difference, by channel
#     what the bits after the mode are, the lowest first: a channel's endpoint 0 to 3 and its bits; p is the partition (10-11: the higher bit first)
_MODES6 = """
0 | delta | 10 | 5 5 5
    g2:4 b2:4 b3:4 r0:9-0 g0:9-0 b0:9-0 r1:4-0 g3:4 g2:3-0 g1:4-0 b3:0 g3:3-0 b1:4-0 b3:1 b2:3-0 r2:4-0 b3:2 r3:4-0 b3:3 p:4-0
1 | delta | 7 | 6 6 6
    g2:5 g3:4 g3:5 r0:6-0 b3:0 b3:1 b2:4 g0:6-0 b2:5 b3:2 g2:4 b0:6-0 b3:3 b3:5 b3:4 r1:5-0 g2:3-0 g1:5-0 g3:3-0 b1:5-0 b2:3-0 r2:5-0 r3:5-0 p:4-0
2 | delta | 11 | 5 4 4
    r0:9-0 g0:9-0 b0:9-0 r1:4-0 r0:10 g2:3-0 g1:3-0 g0:10 b3:0 g3:3-0 b1:3-0 b0:10 b3:1 b2:3-0 r2:4-0 b3:2 r3:4-0 b3:3 p:4-0
6 | delta | 11 | 4 5 4
    r0:9-0 g0:9-0 b0:9-0 r1:3-0 r0:10 g3:4 g2:3-0 g1:4-0 g0:10 g3:3-0 b1:3-0 b0:10 b3:1 b2:3-0 r2:3-0 b3:0 b3:2 r3:3-0 g2:4 b3:3 p:4-0
10 | delta | 11 | 4 4 5
    r0:9-0 g0:9-0 b0:9-0 r1:3-0 r0:10 b2:4 g2:3-0 g1:3-0 g0:10 b3:0 g3:3-0 b1:4-0 b0:10 b2:3-0 r2:3-0 b3:1 b3:2 r3:3-0 b3:4 b3:3 p:4-0
14 | delta | 9 | 5 5 5
    r0:8-0 b2:4 g0:8-0 g2:4 b0:8-0 b3:4 r1:4-0 g3:4 g2:3-0 g1:4-0 b3:0 g3:3-0 b1:4-0 b3:1 b2:3-0 r2:4-0 b3:2 r3:4-0 b3:3 p:4-0
18 | delta | 8 | 6 5 5
    r0:7-0 g3:4 b2:4 g0:7-0 b3:2 g2:4 b0:7-0 b3:3 b3:4 r1:5-0 g2:3-0 g1:4-0 b3:0 g3:3-0 b1:4-0 b3:1 b2:3-0 r2:5-0 r3:5-0 p:4-0
22 | delta | 8 | 5 6 5
    r0:7-0 b3:0 b2:4 g0:7-0 g2:5 g2:4 b0:7-0 g3:5 b3:4 r1:4-0 g3:4 g2:3-0 g1:5-0 g3:3-0 b1:4-0 b3:1 b2:3-0 r2:4-0 b3:2 r3:4-0 b3:3 p:4-0
26 | delta | 8 | 5 5 6
    r0:7-0 b3:1 b2:4 g0:7-0 b2:5 g2:4 b0:7-0 b3:5 b3:4 r1:4-0 g3:4 g2:3-0 g1:4-0 b3:0 g3:3-0 b1:5-0 b2:3-0 r2:4-0 b3:2 r3:4-0 b3:3 p:4-0
30 | - | 6 | 6 6 6
    r0:5-0 g3:4 b3:0 b3:1 b2:4 g0:5-0 g2:5 b2:5 b3:2 g2:4 b0:5-0 g3:5 b3:3 b3:5 b3:4 r1:5-0 g2:3-0 g1:5-0 g3:3-0 b1:5-0 b2:3-0 r2:5-0 r3:5-0 p:4-0
3 | - | 10 | 10 10 10
    r0:9-0 g0:9-0 b0:9-0 r1:9-0 g1:9-0 b1:9-0
7 | delta | 11 | 9 9 9
    r0:9-0 g0:9-0 b0:9-0 r1:8-0 r0:10 g1:8-0 g0:10 b1:8-0 b0:10
11 | delta | 12 | 8 8 8
    r0:9-0 g0:9-0 b0:9-0 r1:7-0 r0:10-11 g1:7-0 g0:10-11 b1:7-0 b0:10-11
15 | delta | 16 | 4 4 4
    r0:9-0 g0:9-0 b0:9-0 r1:3-0 r0:10-15 g1:3-0 g0:10-15 b1:3-0 b0:10-15
"""

cdef struct Run:                      # neighbouring bits of a block that are neighbours in a value too
    uint8_t value                     # 4 * channel + endpoint, or partition_value
    uint8_t shift
    uint8_t bits

cdef enum:
    partition_value = 12
    most_runs = 32

cdef struct Mode6:
    uint8_t run_count                 # 0: a reserved mode
    bint is_delta
    uint8_t endpoint_bits
    uint8_t[3] delta_bits
    bint has_partition
    Run[most_runs] runs

cdef Mode6[32] _modes6


cdef inline int32_t _sign_extended(int32_t value, uint32_t bits) noexcept nogil:
    return <int32_t>(<uint32_t>value << (32 - bits)) >> (32 - bits)


cdef inline int32_t _unquantized(int32_t value, uint32_t bits, bint is_signed) noexcept nogil:
    """Spread an endpoint over 16 bits."""
    cdef int32_t size = -value if value < 0 else value
    if is_signed:
        if bits >= 16:
            return value
        if size >= (1 << (bits - 1)) - 1:
            size = 0x7fff
        elif size != 0:
            size = ((size << 15) + 0x4000) >> (bits - 1)
        return -size if value < 0 else size
    if bits >= 15 or value == 0:
        return value
    if value == (1 << bits) - 1:
        return 0xffff
    return ((value << 15) + 0x4000) >> (bits - 1)


cdef inline uint16_t _half(int32_t value, bint is_signed) noexcept nogil:
    """Scale an interpolated value to the bits of a half: 0xffff or 0x7fff to the largest finite one."""
    if not is_signed:
        return <uint16_t>((value * 31) >> 6)
    if value < 0:
        return <uint16_t>(((-value * 31) >> 5) | 0x8000)
    return <uint16_t>((value * 31) >> 5)


cdef inline void _finish_endpoints(const Mode6 *mode, int32_t *values, bint is_signed) noexcept nogil:
    """Add differences to the first endpoint, extend signs, unquantize; values of a channel are neighbours."""
    cdef uint32_t bits = mode.endpoint_bits
    cdef uint32_t channel, endpoint
    cdef int32_t *endpoints
    for channel in range(3):
        endpoints = values + 4 * channel
        for endpoint in range(1, 4):
            if mode.is_delta:
                endpoints[endpoint] = (endpoints[0] + _sign_extended(endpoints[endpoint], mode.delta_bits[channel])) & ((1 << bits) - 1)
        for endpoint in range(4):
            if is_signed:
                endpoints[endpoint] = _sign_extended(endpoints[endpoint], bits)
            endpoints[endpoint] = _unquantized(endpoints[endpoint], bits, is_signed)


cdef void decode_bc6h(const BlockFormat *format, const uint8_t *block, void *texels) noexcept nogil:
    cdef uint16_t *out = <uint16_t *>texels
    cdef bint is_signed = format.codec == codec_bc6h_signed
    cdef BlockBits bits = block_bits(block)
    cdef uint32_t number = take(&bits, 2)
    cdef const Mode6 *mode
    cdef const Partition *partition
    cdef int32_t[13] values
    cdef uint8_t[16] weights
    cdef uint32_t run, texel, channel, first, weight
    if number >= 2:
        number |= take(&bits, 3) << 2
    mode = &_modes6[number]
    if mode.run_count == 0:
        for texel in range(16):
            out[4 * texel] = out[4 * texel + 1] = out[4 * texel + 2] = 0
            out[4 * texel + 3] = 0x3c00
        return
    memset(values, 0, sizeof(values))
    for run in range(mode.run_count):
        values[mode.runs[run].value] |= take(&bits, mode.runs[run].bits) << mode.runs[run].shift
    _finish_endpoints(mode, values, is_signed)
    partition = &_partitions[mode.has_partition][values[partition_value]]
    _take_indices(&bits, 3 if mode.has_partition else 4, partition.short_indices, weights)
    for texel in range(16):
        first = 2 * (partition.subsets >> (2 * texel) & 3)
        weight = weights[texel]
        for channel in range(3):
            out[4 * texel + channel] = _half(
                (values[4 * channel + first] * <int32_t>(64 - weight) + values[4 * channel + first + 1] * <int32_t>weight + 32) >> 6, is_signed)
        out[4 * texel + 3] = 0x3c00


def _read_modes6() -> None:
    lines = _MODES6.strip().split("\n")
    for head, fields in zip(lines[::2], lines[1::2]):
        number, delta, endpoint_bits, delta_bits = (cell.strip() for cell in head.split("|"))
        mode = &_modes6[<int>int(number)]
        mode.is_delta = delta == "delta"
        mode.endpoint_bits = int(endpoint_bits)
        for channel, bits in enumerate(delta_bits.split()):
            mode.delta_bits[<int>channel] = int(bits)
        for field in fields.split():
            name, _, ends = field.partition(":")
            high, low = (int(word) for word in (ends if "-" in ends else f"{ends}-{ends}").split("-"))
            value = partition_value if name == "p" else 4 * "rgb".index(name[0]) + int(name[1])
            runs = [(low, high - low + 1)] if high >= low else [(bit, 1) for bit in range(low, high - 1, -1)]
            for shift, bits in runs:
                mode.runs[mode.run_count] = Run(value, shift, bits)
                mode.run_count += 1
            mode.has_partition = mode.has_partition or name == "p"


def _read_partitions() -> None:
    cdef uint32_t number, texel
    for number in range(64):
        _partitions[0][number] = Partition(0, 1)
        _partitions[1][number] = Partition(0, 1 | 1 << _second_of_two[number])
        for texel in range(16):
            _partitions[1][number].subsets |= (_two_subsets[number] >> texel & 1) << (2 * texel)
        _partitions[2][number] = Partition(_three_subsets[number], 1 | 1 << _second_of_three[number] | 1 << _third_of_three[number])


def _read_weights() -> None:
    """An index of n bits is index / (2 ** n - 1), in sixty-fourths to the nearest."""
    cdef uint32_t bits, index, most
    for bits in range(2, 5):
        most = (1 << bits) - 1
        for index in range(most + 1):
            _weights[bits][index] = <uint8_t>((128 * index + most) // (2 * most))


_read_modes6()
_read_partitions()
_read_weights()
