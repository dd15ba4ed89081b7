"""In which order a line of memory, 64 aligned bytes, has its texels, and how cells of such lines are transposed.

Side by side, as many lines as a line has rows make rows of 64 bytes: a cell. A byte of it has two places, of ten bits at most: in memory the number
of its line and its place there, in texels its row and its place in that. The bits of both are the same in another order, so that a cell is transposed
by exchanges, each of a bit of the number with a bit of the place. `_core/addrlib/line_cells512.h` makes one with two permutations of 4-byte words
for each pair of vectors. In vectors of half a line, bit 5 of both places is a bit of the vector's number too, and `line_cells256.h` exchanges bits 3
and 4 of the place in a vector with bits 0 and 1 of its number.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["LINE", "LineOrder", "line_order"]

LINE = 64
"""Bytes of a line."""

_BITS = 6
_SHUFFLED_BITS = 4
_WORD_BITS = 2
_HALF_BITS = 5


class LineOrder(NamedTuple):
    """The order of a line."""

    height_log2: int
    """Rows of texels that it has."""
    piece: int
    """Bytes that lie side by side in the line and in its rows, at most 16."""
    offsets: NDArray[np.uint8]
    """Where in the line the pieces are, row by row."""
    network: NDArray[np.int32]
    """How cells are transposed, to texels and to memory: what a shuffle of bytes takes, then what each of two permutations takes for each exchange.
    Empty where pieces of less than 4 bytes would be left."""
    shuffles_bytes: bool
    halves: NDArray[np.int32]
    """How cells are transposed in vectors of half a line, to texels and to memory: `HalfNetwork` of `line_cells256.h`. Empty where more would have to
    be exchanged."""


@lru_cache(maxsize=256)
def line_order(places: bytes, height_log2: int) -> LineOrder:
    """Return the order of a line from the places in it of its bytes, row by row."""
    found = np.frombuffer(places, np.uint8)
    steps = np.nonzero(np.diff(found.astype(np.int64)) != 1)[0] + 1
    piece = min(int(np.gcd.reduce([*steps.tolist(), 16])), LINE >> height_log2)
    memory = _bits_in_memory(found, height_log2)
    network, shuffles = _network(memory, height_log2)
    return LineOrder(height_log2, piece, found[::piece].copy(), network, shuffles, _half_networks(memory, height_log2))


def _bits_in_memory(places: NDArray[np.uint8], height_log2: int) -> list[int]:
    """Return the bit of the place in texels that each bit of the place in memory is; bits from 6 on count rows. Nothing where bits are not just
    in another order.
    """
    columns = _BITS - height_log2
    powers = [int(places[1 << bit]) for bit in range(_BITS)]
    is_permutation = sorted(powers) == [1 << bit for bit in range(_BITS)] and all(places[i] == _combined(powers, i) for i in range(LINE))
    if not is_permutation or not 1 <= height_log2 <= 3:
        return []
    bits = [powers.index(1 << bit) for bit in range(_BITS)]
    return [bit if bit < columns else bit - columns + _BITS for bit in bits]


def _network(memory: list[int], height_log2: int) -> tuple[NDArray[np.int32], bool]:
    """Return `LineOrder.network` and whether bytes are shuffled."""
    none = np.zeros((0, 0, 0), np.int32), False
    columns = _BITS - height_log2
    joined = sorted(memory[:_SHUFFLED_BITS]) + memory[_SHUFFLED_BITS:]
    if joined[:_WORD_BITS] != list(range(_WORD_BITS)):                  # also if there are no bits
        return none
    lines = list(range(columns, _BITS))
    rows = list(range(_BITS, _BITS + height_log2))
    plain = list(range(_BITS))
    tables = np.zeros((2, 1 + 2 * height_log2, LINE // 4), np.int32)
    for to_memory, (start, leaving, entering, end) in enumerate(((joined, rows, lines, plain), (plain, lines, rows, joined))):
        shuffled = (joined, memory) if to_memory else (memory, joined)
        tables[to_memory, 0] = _shuffled(*shuffled)
        tables[to_memory, 1:] = _exchanges(start, leaving, entering, end)
    return tables, joined != memory


def _combined(powers: list[int], index: int) -> int:
    return sum(power for bit, power in enumerate(powers) if index >> bit & 1)


def _taken(before: list[int], after: list[int]) -> NDArray[np.int64]:
    """Return the byte that comes to each place, from the meanings of the bits of a place before and after."""
    place = np.arange(1 << len(before))
    return sum(((place >> after.index(meaning) & 1) << bit for bit, meaning in enumerate(before)), np.zeros(len(place), np.int64))


def _shuffled(before: list[int], after: list[int]) -> NDArray[np.int32]:
    """Return which byte of its 16 a shuffle takes for each, as it is stored."""
    return (_taken(before, after) & (1 << _SHUFFLED_BITS) - 1).astype(np.uint8).view(np.int32)


def _exchanges(start: list[int], leaving: list[int], entering: list[int], end: list[int]) -> NDArray[np.int32]:
    """Return which words, of a pair of vectors, two permutations take for each exchange.

    `start` and `end` are what the bits of a place mean at first and at last; the bits `leaving` become those of a vector's number, whose bits were
    `entering`.
    """
    steps, now = [], start
    word = np.arange(LINE // 4) << _WORD_BITS
    for step, (out, into) in enumerate(zip(leaving, entering, strict=True)):
        at = now.index(out)
        after = [*now[:at], into, *now[at + 1 :]]
        result = end if step == len(leaving) - 1 else after
        taken = sum(((word >> result.index(after[bit]) & 1) << bit for bit in range(_BITS) if bit != at), np.zeros(len(word), np.int64))
        second = word >> result.index(into) & 1
        steps += [(taken | half << at) >> _WORD_BITS | second << _BITS - _WORD_BITS for half in range(2)]
        now = result
    return np.array(steps, np.int32)


def _half_networks(memory: list[int], height_log2: int) -> NDArray[np.int32]:
    """Return `LineOrder.halves`."""
    inside, whole = memory[:_HALF_BITS], list(range(_HALF_BITS))
    leaving = [bit for bit in inside if bit >= _BITS]
    staying = [bit for bit in whole if bit in inside]
    if not memory or staying[:3] != whole[:3]:
        return np.zeros((0, 0), np.int32)
    # What is exchanged is brought to bits 3 and 4: a permutation of words makes `joined` of `inside`, and a shuffle of bytes `arranged` of that.
    ways = []
    for rows, words in product(permutations(leaving), permutations(inside[_WORD_BITS:])):
        left, joined = list(rows), [*inside[:_WORD_BITS], *words]
        arranged = [bit if bit in inside else left.pop(0) for bit in whole]
        if joined[_SHUFFLED_BITS:] == arranged[_SHUFFLED_BITS:]:
            ways.append(((joined != inside) + (arranged != joined), joined, arranged))
    _, joined, arranged = min(ways)
    exchanged = [(bit, arranged[bit]) for bit in (3, 4)]
    return np.stack([
        np.concatenate([
            _taken(*words)[:: 1 << _WORD_BITS] >> _WORD_BITS, _shuffled(*bytes_), *_places_of_halves(memory, height_log2, exchanged, half),
            [joined != inside, arranged != joined, *(bit != row for bit, row in exchanged)]]).astype(np.int32)
        for words, bytes_, half in (((inside, joined), (joined, arranged), _HALF_BITS), ((joined, inside), (arranged, joined), memory[_HALF_BITS]))])


def _places_of_halves(memory: list[int], height_log2: int, exchanged: list[tuple[int, int]], half: int) -> NDArray[np.int64]:
    """Return which half of which line in memory, and of which row in texels, each vector is whose bits 0 and 1 of the number are exchanged so: twice
    the line or row, and the half.

    `half` is the bit that distinguishes the halves which are stored: these follow one another as closely as can be.
    """
    lines = range(_BITS - height_log2, _BITS)
    rows = range(_BITS, _BITS + height_log2)
    both = sorted({memory[_HALF_BITS], *lines} & {_HALF_BITS, *rows}, key=lambda bit: bit != half)
    # a bit that is not exchanged means the same on both sides
    pairs = [(column, row) if column != row else (both[0], both.pop(0)) for column, row in exchanged]
    number = np.arange(2 << height_log2)
    places = np.zeros((2, 16), np.int64)
    for side, order in enumerate(([memory[_HALF_BITS], *lines], [_HALF_BITS, *rows])):
        meanings = [pair[side] for pair in pairs] + both
        places[side, : len(number)] = sum((number >> meanings.index(meaning) & 1) << bit for bit, meaning in enumerate(order))
    return places
