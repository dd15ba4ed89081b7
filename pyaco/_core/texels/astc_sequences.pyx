"""ASTC's integer sequences (`astc.pyx` names the specification): numbers are some bits below a trit or a quint; five trits, three quints are packed.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from pyaco._core.texels.block cimport BlockBits, take

cdef struct Range:
    uint8_t parts                     # 3: trits, 5: quints, 1: bits alone
    uint8_t bits

cdef Range[range_count] _ranges
cdef uint8_t[5] _trit_bits = [2, 2, 1, 2, 1]                  # of a group's packed trits, after the bits of each of its numbers
cdef uint8_t[3] _quint_bits = [3, 2, 2]
cdef uint8_t[256][5] _trits                                   # of a group, by its packed trits
cdef uint8_t[128][5] _quints

# What a number's lowest bit, its other bits and its trit or quint contribute: the specification's B, lowest bit last, and C.
_ENDPOINT_TERMS = {
    (3, 1): ("000000000", 204), (5, 1): ("000000000", 113), (3, 2): ("b000b0bb0", 93), (5, 2): ("b0000bb00", 54), (3, 3): ("cb000cbcb", 44),
    (5, 3): ("cb0000cbc", 26), (3, 4): ("dcb000dcb", 22), (5, 4): ("dcb0000dc", 13), (3, 5): ("edcb000ed", 11), (5, 5): ("edcb0000e", 6),
    (3, 6): ("fedcb000f", 5),
}
_WEIGHT_TERMS = {
    (3, 1): ("0000000", 50), (5, 1): ("0000000", 28), (3, 2): ("b000b0b", 23), (5, 2): ("b0000b0", 13), (3, 3): ("cb000cb", 11),
}
_WEIGHTS_WITHOUT_BITS = {3: (0, 32, 63), 5: (0, 16, 32, 47, 63)}


cdef uint32_t sequence_bits(uint32_t range_, uint32_t count) noexcept nogil:
    """Bits of a sequence of `count` numbers."""
    cdef uint32_t bits = _ranges[range_].bits * count
    if _ranges[range_].parts == 3:
        bits += (8 * count + 4) // 5
    elif _ranges[range_].parts == 5:
        bits += (7 * count + 2) // 3
    return bits


cdef void take_sequence(BlockBits bits, uint32_t range_, uint32_t count, const uint8_t *values, uint8_t *out) noexcept nogil:
    """Read `count` numbers from the lowest bits, and write what `values` has for each."""
    cdef uint32_t total = sequence_bits(range_, count)
    cdef uint32_t width = _ranges[range_].bits
    cdef uint32_t group = 5
    cdef const uint8_t *widths = _trit_bits
    cdef const uint8_t *digits
    cdef uint8_t[5] lows
    cdef uint32_t first = 0
    cdef uint32_t i, packed, shift
    if total < 64:                                            # what a last group lacks is zero
        bits.high = 0
        bits.low &= (<uint64_t>1 << total) - 1
    else:
        bits.high &= (<uint64_t>1 << (total - 64)) - 1
    if _ranges[range_].parts == 1:
        for i in range(count):
            out[i] = values[take(&bits, width)]
        return
    if _ranges[range_].parts == 5:
        group = 3
        widths = _quint_bits
    while first < count:
        packed = shift = 0
        for i in range(group):
            lows[i] = <uint8_t>take(&bits, width)
            packed |= take(&bits, widths[i]) << shift
            shift += widths[i]
        digits = &_trits[packed][0] if group == 5 else &_quints[packed][0]
        for i in range(min(group, count - first)):
            out[first + i] = values[digits[i] << width | lows[i]]
        first += group


def _trits_of(packed: int) -> list[int]:
    if packed >> 2 & 7 == 7:
        rest, high = packed >> 3 & 0x1c | packed & 3, [2, 2]
    else:
        rest, high = packed & 31, [packed >> 7, 2] if packed >> 5 & 3 == 3 else [packed >> 5 & 3, packed >> 7]
    if rest & 3 == 3:
        low = [(rest >> 2 & 2) | (rest >> 2 & 1 & ~(rest >> 3)), rest >> 4, 2]
    elif rest >> 2 & 3 == 3:
        low = [rest & 3, 2, 2]
    else:
        low = [(rest & 2) | (rest & 1 & ~(rest >> 1)), rest >> 2 & 3, rest >> 4]
    return low + high


def _quints_of(packed: int) -> list[int]:
    if packed >> 1 & 3 == 3 and packed >> 5 == 0:
        last = packed & 1
        return [4, 4, last << 2 | (packed >> 4 & ~last & 1) << 1 | (packed >> 3 & ~last & 1)]
    if packed >> 1 & 3 == 3:
        rest, high = packed & 0x18 | (~packed >> 5 & 3) << 1 | packed & 1, 4
    else:
        rest, high = packed & 31, packed >> 5
    return [rest >> 3, 4, high] if rest & 7 == 5 else [rest & 7, rest >> 3, high]


def _spread(number: int, parts: int, bits: int, terms: dict[tuple[int, int], tuple[str, int]], width: int) -> int:
    """What a number with trit or quint stands for: `width` bits, nearly its share of the range, in a shuffled order."""
    pattern, factor = terms[parts, bits]
    lowest = -(number & 1) & ((1 << (width + 1)) - 1)
    others = int("".join("0" if letter == "0" else str(number >> "abcdef".index(letter) & 1) for letter in pattern), 2)
    return lowest & (1 << (width - 1)) | (((number >> bits) * factor + others) ^ lowest) >> 2


def _replicated(number: int, bits: int, width: int) -> int:
    return int((f"{number:0{bits}b}" * width)[:width], 2)


def _read_ranges() -> None:
    ranges = sorted([(1, bits) for bits in range(1, 9)] + [(3, bits) for bits in range(7)] + [(5, bits) for bits in range(6)],
                    key=lambda form: form[0] << form[1])
    for index, (parts, bits) in enumerate(ranges):
        _ranges[<int>index] = Range(parts, bits)
        for number in range(parts << bits):
            if index >= least_endpoint_range:
                endpoint_values[<int>index][<int>number] = (
                    _replicated(number, bits, 8) if parts == 1 else _spread(number, parts, bits, _ENDPOINT_TERMS, 8))
            if index < weight_ranges:
                weight = (_replicated(number, bits, 6) if parts == 1 else _WEIGHTS_WITHOUT_BITS[parts][number] if bits == 0
                          else _spread(number, parts, bits, _WEIGHT_TERMS, 6))
                weight_values[<int>index][<int>number] = weight + (weight > 32)


def _read_digits() -> None:
    cdef int packed, i
    for packed in range(256):
        for i, digit in enumerate(_trits_of(packed)):
            _trits[packed][i] = digit
    for packed in range(128):
        for i, digit in enumerate(_quints_of(packed)):
            _quints[packed][i] = digit


_read_ranges()
_read_digits()
