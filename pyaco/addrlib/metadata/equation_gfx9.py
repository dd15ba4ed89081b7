"""How GFX9 derives the address equation of a metadata surface (DCC, HTILE, CMASK).

Metadata lies in the memory channel and belongs to the render backend of the texels that it describes. So the equation is made of three
parts: the channel bits of the data surface, the render-backend bits that the channel bits do not already imply, and between and above
them the coordinates of compressed blocks in Morton order, without one coordinate bit for each channel and backend bit, since those
bits already tell it.

A term is a set of coordinate bits that are xored; a coordinate bit is a tuple that sorts as the hardware model does: samples first, then
x, y, z by significance, then the index of the meta block.

Source of the facts: AMD addrlib, ``gfx9addrlib.cpp`` (GetRbEquation, GetDataEquation, GetPipeEquation, GenMetaEquation).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import cache

from pyaco.addrlib.chips import GpuConfig
from pyaco.errors import UnsupportedError

__all__ = ["Axis", "DataKind", "EquationKey", "Term", "has_alias_fix", "metadata_terms"]

Coordinate = tuple[int, int, int]
Term = frozenset[Coordinate]

_EQUATION_BITS = 49
_DATA_BITS = 27
_NONE: Term = frozenset()


class Axis(IntEnum):
    """What a coordinate bit is a bit of."""

    X = 0
    Y = 1
    Z = 2
    SAMPLE = 3
    BLOCK = 4


class DataKind(IntEnum):
    """What the metadata describes: colour (DCC), depth and stencil (HTILE), FMASK (CMASK)."""

    COLOR = 0
    DEPTH = 1
    FMASK = 2


@dataclass(frozen=True)
class EquationKey:
    """All that a metadata equation depends on, for one chip. Sizes are log2; blocks are in elements.

    Attributes
    ----------
    block_log2 : int
        Bytes of a block of the data surface.
    family : str
        Order of texels of the data surface: Z, S, D or R.
    """

    kind: DataKind
    block_log2: int
    family: str
    xor: bool
    prt: bool
    thick: bool
    pipe_bits: int
    rb_aligned: bool
    bytes_log2: int
    samples_log2: int
    meta_block: tuple[int, int, int]
    compressed_block: tuple[int, int, int]


def bit(axis: Axis, order: int) -> Coordinate:
    """Return the coordinate bit `order` of `axis`."""
    return (0 if axis == Axis.SAMPLE else 2 if axis == Axis.BLOCK else 1, order, axis)


def has_alias_fix(config: GpuConfig) -> bool:
    """Whether the chip has the corrected backend equation (all of GFX9 but Vega 10 and the Ravens)."""
    return config.chip not in ("vega10", "raven", "raven2")


class _Counter:
    """The bits of one axis, lowest first."""

    def __init__(self, axis: Axis) -> None:
        self.axis, self.order = axis, 0

    def term(self) -> Term:
        self.order += 1
        return frozenset({bit(self.axis, self.order - 1)})


def _interleave(count: int, *axes: _Counter) -> Iterator[Term]:
    """Yield `count` one-bit terms that take turns over `axes` (Morton order)."""
    for i in range(count):
        yield axes[i % len(axes)].term()


def _thick_data(key: EquationKey) -> list[Term]:
    x, y, z = _Counter(Axis.X), _Counter(Axis.Y), _Counter(Axis.Z)
    terms = [_NONE] * key.bytes_log2
    if key.family == "S":
        terms += _interleave(4 - key.bytes_log2, x)
        terms += [y.term(), y.term(), z.term(), z.term()]
        terms += (axis.term() for axis in ((z, y), (z, y), (y, x), (x, x), (x, x))[key.bytes_log2])
    else:
        end = (3, 4, 4, 4, 5)[key.bytes_log2]
        terms += _interleave(end + 1 - key.bytes_log2, x, y)
        terms += _interleave((2, 3, 1, 1, 2)[key.bytes_log2], z)
        if key.bytes_log2 in (0, 3):
            terms += [x.term(), z.term()]
        elif key.bytes_log2 == 2:
            terms += [y.term(), z.term()]
        terms += [y.term(), x.term()]
    return terms + list(_interleave(_DATA_BITS - len(terms), z, y, x))


def _thin_color_data(key: EquationKey) -> list[Term]:
    x, y = _Counter(Axis.X), _Counter(Axis.Y)
    split = key.block_log2 - key.samples_log2
    micro_y = (8 - key.bytes_log2) // 2
    terms = [_NONE] * key.bytes_log2
    terms += _interleave(4 - key.bytes_log2, x)
    terms += _interleave(micro_y, y)
    terms += _interleave(4 - micro_y, x)
    terms += _interleave(split - 8, y, x)
    terms += _interleave(key.samples_log2, _Counter(Axis.SAMPLE))
    above = (x, y) if (key.samples_log2 ^ key.block_log2) & 1 else (y, x)
    return terms + list(_interleave(_DATA_BITS - len(terms), *above))


def _depth_data(key: EquationKey) -> list[Term]:
    x, y = _Counter(Axis.X), _Counter(Axis.Y)
    terms = [_NONE] * key.bytes_log2 + list(_interleave(key.samples_log2, _Counter(Axis.SAMPLE)))
    x_major = max(6 + key.samples_log2 - len(terms), 0)
    terms += _interleave(x_major, x, y)
    return terms + list(_interleave(_DATA_BITS - len(terms), y, x))


def _data_equation(key: EquationKey) -> list[Term]:
    if key.kind != DataKind.COLOR:
        return _depth_data(key)
    return _thick_data(key) if key.thick else _thin_color_data(key)


def _pipe_equation(key: EquationKey, interleave: int) -> list[Term]:
    """Return the terms of the channel bits of the data surface."""
    count = key.pipe_bits
    data = _data_equation(key)
    if key.kind == DataKind.COLOR:
        split = key.block_log2 - key.samples_log2
        data = data[:split] + data[split + key.samples_log2:]
    data += [_NONE] * (64 - len(data))
    start = interleave
    if key.kind != DataKind.COLOR:
        # Bits below a compressed block of 8 by 8 cannot choose a channel: move up to the first that lies above.
        while min(data[start]) < bit(Axis.X, 3):
            start += 1
    pipes = data[start:start + count]
    if key.prt:
        data[key.block_log2:] = [_NONE] * (64 - key.block_log2)
    if not key.xor:
        return pipes
    above = start + count
    if key.thick:
        above = interleave + count
        masks = [data[above + 2 * i] | data[above + 2 * i + 1] for i in range(count)]
    else:
        masks = data[above:above + count]
        if key.samples_log2 == 0 and not key.prt:
            pipes = [term | {bit(Axis.Z, count - 1 - i)} for i, term in enumerate(pipes)]
    return [term | mask for term, mask in zip(pipes, reversed(masks), strict=True)]


def _backend_equation(config: GpuConfig, key: EquationKey) -> list[Term]:
    """Return the terms that choose the render backend: tiles of 16 by 16, or 32 by 32 with one backend per engine."""
    if not key.rb_aligned:
        return []
    per_engine, engines = config.render_backends_per_se_log2, config.shader_engines_log2
    x = y = 5 if per_engine == 0 else 4
    total = per_engine + engines
    terms: list[set[Coordinate]] = [set() for _ in range(total)]
    start = 0
    if engines > 0 and per_engine == 1:
        terms[0] |= {bit(Axis.X, x), bit(Axis.Y, y), bit(Axis.Y, y + 1)}
        x, y, start = x + 1, y + 1, 1
    count = 2 * (total - start)
    for i in range(count):
        index = start + (count - i - 1 if start + i >= total else i)
        if i % 2:
            terms[index].add(bit(Axis.X, x))
            x += 1
        else:
            terms[index].add(bit(Axis.Y, y))
            y += 1
    return [frozenset(term) for term in terms]


def _within(terms: Iterable[Term], low: tuple[int, int, int], high: tuple[int, int, int], samples: bool) -> list[Term]:
    """Keep the coordinate bits with `low` <= order < `high` for x, y, z; drop terms that become empty."""
    def keep(coordinate: Coordinate) -> bool:
        _, order, axis = coordinate
        return samples if axis == Axis.SAMPLE else low[axis] <= order < high[axis]
    kept = (frozenset(c for c in term if keep(c)) for term in terms)
    return [term for term in kept if term]


def _without(terms: Iterable[Term], coordinate: Coordinate) -> list[Term]:
    return [term for term in (t - {coordinate} for t in terms) if term]


class _Backends:
    """The backend terms while what the channel bits imply is taken out of them."""

    def __init__(self, terms: list[Term], pipes: list[Term], alias_fix: bool) -> None:
        self.alias_fix = alias_fix
        known = {frozenset(c for c in p if c[2] != Axis.Z) for p in pipes} if alias_fix else set(pipes)
        self.terms = [_NONE if term in known else term for term in terms]
        # Terms that took in channel coordinates are implied once a single coordinate is left (with the fix only).
        self.joined = [False] * len(terms)

    def substitute(self, i: int, coordinate: Coordinate, rest: Term, joined: bool) -> None:
        """In term `i`, put `rest` in place of `coordinate`, which equals it xor something known."""
        if coordinate in self.terms[i]:
            self.terms[i] = (self.terms[i] - {coordinate}) | rest
            self.joined[i] |= joined

    def remains(self, i: int) -> bool:
        """Whether backend bit `i` adds information."""
        return len(self.terms[i]) > (1 if self.alias_fix and self.joined[i] else 0)


@cache
def metadata_terms(config: GpuConfig, key: EquationKey) -> tuple[Term, ...]:
    """Return the 49 terms of a nibble address: channel and backend bits above the interleave, block index on top."""
    interleave = config.pipe_interleave_log2
    compressed = min(config.max_compressed_fragments_log2, key.samples_log2) if key.kind == DataKind.COLOR else key.samples_log2
    x, y, z = _Counter(Axis.X), _Counter(Axis.Y), _Counter(Axis.Z)
    if key.thick:
        meta = list(_interleave(_DATA_BITS, x, y, z))
    else:
        meta = list(_interleave(compressed, _Counter(Axis.SAMPLE)))
        meta += _interleave(_DATA_BITS - compressed, x, y)
    meta = _within(meta, key.compressed_block, key.meta_block, samples=key.kind == DataKind.COLOR)

    original_pipes = _pipe_equation(key, interleave)
    pipes = _within(original_pipes, (0, 0, 0), key.meta_block, samples=True)
    if len(pipes) != len(original_pipes):
        raise UnsupportedError("metadata of this surface: the meta block does not span all memory channels")
    original_backends = _backend_equation(config, key)
    backends = _Backends(original_backends, pipes, has_alias_fix(config))

    for i in range(len(pipes)):
        smallest = min(pipes[i])
        rest = pipes[i] - {smallest}
        meta = _without(meta, smallest)
        pipes = [term - {smallest} for term in pipes]
        for j in range(len(backends.terms)):
            backends.substitute(j, smallest, rest, joined=bool(rest))
    left = []
    for i in range(len(backends.terms)):
        if backends.remains(i):
            left.append(original_backends[i])
            smallest = min(backends.terms[i])
            rest = backends.terms[i] - {smallest}
            meta = _without(meta, smallest)
            for j in range(i + 1, len(backends.terms)):
                backends.substitute(j, smallest, rest, joined=bool(rest) and backends.joined[i])

    above = [bit(Axis.SAMPLE, s) for s in range(compressed, key.samples_log2)]
    meta = [_NONE] * (3 if key.kind == DataKind.DEPTH else 1 if key.kind == DataKind.COLOR else 0) + meta
    meta += [frozenset({bit(Axis.BLOCK, i)}) for i in range(_EQUATION_BITS)]
    meta[interleave + 1:interleave + 1] = [*original_pipes, *left, *(frozenset({s}) for s in above)]
    return tuple(meta[:_EQUATION_BITS])
