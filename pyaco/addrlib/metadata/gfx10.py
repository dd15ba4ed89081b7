"""Metadata surfaces of GFX10 to GFX11.5.

Source of the facts: AMD addrlib, ``gfx10addrlib.cpp`` and ``gfx11addrlib.cpp`` (HwlComputeHtileInfo, HwlComputeCmaskInfo,
HwlComputeDccInfo, GetMetaBlkSize and what it calls).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

import numpy as np

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.enums import ResourceType, SwizzleMode
from pyaco.addrlib.generations import Generation
from pyaco.addrlib.integers import align, log2
from pyaco.addrlib.metadata.equation import MetadataEquation, MetadataLayout
from pyaco.addrlib.metadata.records import CmaskRequest, DccRequest, HtileRequest, MetadataInfo, MetadataLevel
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.features import has_blocks_256kb, has_cmask, has_packers

__all__ = ["cmask_info", "dcc_info", "htile_info"]

Block = tuple[int, int, int]

# log2 of bytes of a metadata element (CMASK: half a byte), and of what the metadata cache holds
_ELEMENT_LOG2 = {"dcc": 0, "htile": 2, "cmask": -1}
_CACHE_LOG2 = {"dcc": 6, "htile": 8, "cmask": 8}


@dataclass(frozen=True)
class _Surface:
    """What the size of a meta block depends on: kind of metadata, order of texels, log2 of bytes per element and samples."""

    kind: str
    mode: int
    resource: int
    bytes_log2: int
    samples_log2: int
    pipe_aligned: bool

    @property
    def family(self) -> str:
        return "ZSDR"[self.mode & 3]

    @property
    def thick(self) -> bool:
        return self.resource == ResourceType.TEX_3D and self.family in "SD"


def _block_log2(config: GpuConfig, mode: int) -> int:
    if mode >= SwizzleMode.SW_256KB_Z_X:
        return 18 if has_blocks_256kb(config.level) else config.pipes_log2 + 14
    return (8, 12, 16, 0, 16, 12, 16)[mode >> 2]


def _rb_plus(config: GpuConfig) -> bool:
    return has_packers(config.level)


def _arrays_log2(config: GpuConfig) -> int:
    """log2 of shader arrays, which packers are counted by."""
    return max(config.packers_log2 - 1, 0)


def _effective_pipes_log2(config: GpuConfig) -> int:
    return min(config.pipes_log2, _arrays_log2(config) + 1) if _rb_plus(config) else config.pipes_log2


def _has_extra_pipe(config: GpuConfig) -> bool:
    return _rb_plus(config) and config.pipes_log2 == _arrays_log2(config) + 1 and config.pipes_log2 > 1


def _is_rb_aligned(surface: _Surface) -> bool:
    return (surface.resource == ResourceType.TEX_2D and surface.family in "ZR") or (surface.resource == ResourceType.TEX_3D and surface.family == "D")


def _pipe_rotation(config: GpuConfig, surface: _Surface) -> int:
    spare = config.pipes_log2 - (_arrays_log2(config) + 1)
    if not _rb_plus(config) or spare < 0 or config.pipes_log2 < 2:
        return 0
    return 1 if spare == 0 and _is_rb_aligned(surface) else spare


def _micro_block_log2(config: GpuConfig, surface: _Surface) -> Block:
    """Return the sides of 256 bytes of the data surface."""
    bits = 8 - surface.bytes_log2
    if surface.thick:
        return (bits + 1) // 3, bits // 3, (bits + 2) // 3
    if surface.family == "Z" or (config.generation == Generation.GFX11 and surface.family == "R"):
        bits -= surface.samples_log2
    return (bits + 1) >> 1, bits >> 1, 0


def _overlap(config: GpuConfig, surface: _Surface) -> int:
    """Return how many channel bits of a thin surface lie within what one metadata element describes."""
    micro = sum(_micro_block_log2(config, surface))
    compressed = micro if surface.kind == "dcc" else 6
    pipes = _effective_pipes_log2(config)
    overlap = pipes - max(compressed, micro) + (pipes > 1 and _rb_plus(config))
    # 16 bytes, 8 samples: the block is so small that one channel bit is not in it.
    return max(overlap - (surface.bytes_log2 == 4 and surface.samples_log2 == 3), 0)


def _thin_block_log2(config: GpuConfig, surface: _Surface) -> int:
    """Return log2 of the bytes of a meta block of a thin surface."""
    pipes, interleave = config.pipes_log2, config.pipe_interleave_log2
    if not surface.pipe_aligned or surface.family in "SD":
        wanted = max(interleave + pipes, 12) if surface.pipe_aligned else 12
        return min(wanted, _block_log2(config, surface.mode))
    pipes += _has_extra_pipe(config)
    rotation = _pipe_rotation(config, surface)
    gfx11 = config.generation == Generation.GFX11
    if pipes >= 4:
        overlap = _overlap(config, surface)
        small = surface.bytes_log2 == 4 and surface.samples_log2 == 3
        if rotation > 0 and small and (surface.family == "Z" or gfx11 or _effective_pipes_log2(config) > 3):
            overlap += 1
        size = max(_CACHE_LOG2[surface.kind] + overlap + pipes, interleave + pipes)
        if (config.supports_rbplus and surface.family == "R" and pipes == 6 and surface.samples_log2 == 3
                and config.max_compressed_fragments_log2 == 3):
            size = max(size, 15)
    else:
        size = max(interleave + pipes, 12)
    if surface.kind == "htile":
        size = max(size, 11 + pipes)
    fragments = surface.samples_log2 if gfx11 else min(config.max_compressed_fragments_log2, surface.samples_log2)
    if surface.family == "R" and fragments > 1 and rotation >= 1:
        size = max(size, 8 + config.pipes_log2 + max(rotation, fragments - 1))
    return size


def _thick_block_log2(config: GpuConfig, surface: _Surface) -> int:
    """Return log2 of the bytes of a meta block of a thick surface."""
    if not surface.pipe_aligned:
        return 12
    pipes = config.pipes_log2 + (_has_extra_pipe(config) and _is_rb_aligned(surface))
    overlap = _effective_pipes_log2(config) - _micro_block_log2(config, surface)[0] + _rb_plus(config)
    overlap = 0 if surface.family == "S" else max(overlap, 0)
    return max(_CACHE_LOG2[surface.kind] + overlap + pipes, config.pipe_interleave_log2 + pipes, 12)


@cache
def _meta_block(config: GpuConfig, surface: _Surface) -> tuple[int, Block]:
    """Return the bytes of a meta block and its sides in elements."""
    size = _thick_block_log2(config, surface) if surface.thick else _thin_block_log2(config, surface)
    described = 8 if surface.kind == "dcc" else 6 + surface.samples_log2 + surface.bytes_log2
    samples = surface.samples_log2
    if config.generation == Generation.GFX10 and surface.kind != "htile":
        samples = min(samples, config.max_compressed_fragments_log2)
    bits = size + described - surface.bytes_log2 - samples - _ELEMENT_LOG2[surface.kind]
    if surface.thick:
        return 1 << size, (1 << (bits + 2) // 3, 1 << (bits + 1) // 3, 1 << bits // 3)
    return 1 << size, (1 << (bits + 1 >> 1), 1 << (bits >> 1), 1)


def _levels(request: HtileRequest, block: Block, block_size: int) -> tuple[int, tuple[MetadataLevel, ...]]:
    """Return the bytes of one slice and where the levels lie in it: the mip tail first, then from the smallest level to level 0."""
    if request.levels == 1:
        size = align(request.width, block[0]) // block[0] * (align(request.height, block[1]) // block[1]) * block_size
        return size, (MetadataLevel(False, size=size),)
    tail = request.tail
    if not 0 <= tail <= request.levels:
        raise InputError(f"level {tail} cannot be the first of the mip tail of {request.levels} levels")
    offset = 0 if tail == request.levels else block_size
    # One meta block for the whole tail; it is counted to the first level in it.
    levels = [MetadataLevel(True, size=block_size if level == tail else 0) for level in range(tail, request.levels)]
    for level in reversed(range(tail)):
        width, height = (-(-extent >> level) for extent in (request.width, request.height))
        size = align(width, block[0]) // block[0] * (align(height, block[1]) // block[1]) * block_size
        levels.insert(0, MetadataLevel(False, offset=offset, size=size))
        offset += size
    return offset, tuple(levels)


def _info(config: GpuConfig, request: HtileRequest, surface: _Surface, compressed: Block) -> MetadataInfo:
    block_size, block = _meta_block(config, surface)
    slice_size, levels = _levels(request, block, block_size)
    depth = align(request.slices, block[2])
    return Gfx10MetadataInfo(
        config, request, align(request.width, block[0]), align(request.height, block[1]), depth, block_size,
        slice_size * (depth // block[2]), slice_size, block, block_size, slice_size // block_size, compressed, levels, config.pipes_log2)


def htile_info(config: GpuConfig, request: HtileRequest) -> MetadataInfo:
    """See `pyaco.addrlib.metadata.htile_info`."""
    z_mode = request.mode == SwizzleMode.SW_64KB_Z_X or (request.mode == SwizzleMode.SW_VAR_Z_X and _rb_plus(config))
    # GFX11 asserts one of both, GFX10 both.
    refused = not z_mode and not request.pipe_aligned if config.generation == Generation.GFX11 else not z_mode or not request.pipe_aligned
    if refused:
        raise InputError(f"no HTILE on {config.name} for swizzle mode {request.mode}: it needs a Z_X mode, and alignment to pipes")
    info = _info(config, request, _Surface("htile", request.mode, ResourceType.TEX_2D, 0, 0, True), (8, 8, 1))
    return replace(info, base_align=max(info.block_size, 1 << (config.pipes_log2 + 11)))


def cmask_info(config: GpuConfig, request: CmaskRequest) -> MetadataInfo:
    """See `pyaco.addrlib.metadata.cmask_info`."""
    if not has_cmask(config.level):
        raise UnsupportedError(f"CMASK on {config.name}: GFX11 has none")
    if not request.pipe_aligned or not (
            request.mode == SwizzleMode.SW_64KB_Z_X or (request.mode == SwizzleMode.SW_VAR_Z_X and config.supports_rbplus)):
        raise InputError(f"no CMASK on {config.name} for swizzle mode {request.mode}: it needs a Z_X mode, and alignment to pipes")
    return _info(config, request, _Surface("cmask", request.mode, ResourceType.TEX_2D, 0, 0, True), (8, 8, 1))


def dcc_info(config: GpuConfig, request: DccRequest) -> MetadataInfo:
    """See `pyaco.addrlib.metadata.dcc_info`."""
    mode = request.mode
    display_3d = not _rb_plus(config) and request.resource == ResourceType.TEX_3D and mode & 3 == 2
    if mode < SwizzleMode.SW_4KB_Z or mode == SwizzleMode.LINEAR_GENERAL or display_3d:
        raise InputError(f"no DCC on {config.name} for swizzle mode {mode}")
    surface = _Surface("dcc", mode, request.resource, log2(request.bits >> 3), log2(request.fragments), request.pipe_aligned)
    sides = _micro_block_log2(config, replace(surface, samples_log2=0) if config.generation == Generation.GFX10 else surface)
    return _info(config, request, surface, (1 << sides[0], 1 << sides[1], 1 << sides[2]))


@cache
def _equations() -> dict[tuple[str, int, str, int], list[tuple[range, range, MetadataEquation]]]:
    """Return the equations of the table: by kind, level, alignment and unit, those of each range of pipes and of packers."""
    text = resources.files("pyaco.addrlib").joinpath("data/metadata_gfx10.txt").read_text(encoding="utf-8")
    table: dict[tuple[str, int, str, int], list[tuple[range, range, MetadataEquation]]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            where, _, terms = line.partition(" : ")
            kind, level, pipes, packers, aligned, units = where.split()
            row = (_span(pipes), _span(packers), _equation(terms))
            for unit in _span(units):
                table.setdefault((kind, int(level), aligned, unit), []).append(row)
    return table


def _span(text: str) -> range:
    """Return the numbers that ``3``, ``1-3`` or ``-`` (any) stand for."""
    if text == "-":
        return range(8)
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _equation(terms: str) -> MetadataEquation:
    words = terms.split()
    masks = np.zeros((len(words), 5), np.uint32)
    for row, word in zip(masks, words, strict=True):
        for coordinate in word.split("^"):
            if coordinate != "0":
                row["xyz".index(coordinate[0])] |= np.uint32(1 << int(coordinate[1:]))
    return MetadataEquation(masks, 0)


@cache
def _find(kind: str, config: GpuConfig, aligned: bool, unit: int) -> MetadataEquation:
    level = min(config.level, 110)
    for pipes, packers, equation in _equations().get((kind, level, "pa" if aligned else "ua", unit), ()):
        if config.pipes_log2 in pipes and config.packers_log2 in packers:
            return equation
    raise UnsupportedError(f"{kind} addresses on {config.name}: {1 << config.pipes_log2} pipes, {1 << config.packers_log2} packers")


@cache
def _sized(equation: MetadataEquation, bits: int) -> MetadataEquation:
    """Return the equation with exactly `bits` rows: a meta block can be smaller than the table's, or have bits that are always 0."""
    masks = np.zeros((bits, 5), np.uint32)
    masks[:equation.bits] = equation.masks[:bits]
    return MetadataEquation(masks, 0)


class Gfx10MetadataInfo(MetadataInfo):
    """Layout of a metadata surface of GFX10 to GFX11.5."""

    def _reported_equation(self) -> MetadataEquation:
        return self._equation_of(1, None)

    def _equation_of(self, samples: int, element_bits: int | None) -> MetadataEquation:
        """Return the equation that the table holds for such a surface, not cut to its meta block."""
        request, config = self.request, self.config
        if isinstance(request, DccRequest):
            kind = "dcc_256kb" if has_blocks_256kb(config.level) and request.mode != SwizzleMode.SW_64KB_R_X else "dcc_64kb"
            return _find(kind, config, request.pipe_aligned, log2(request.bits >> 3))
        if isinstance(request, CmaskRequest):
            kind = "cmask_var" if request.mode == SwizzleMode.SW_VAR_Z_X else "cmask_64kb"
            return _find(kind, config, True, log2((element_bits or 8) >> 3))
        return _find("htile", config, True, log2(samples))

    def _layout(self, samples: int, element_bits: int | None) -> MetadataLayout:
        request, config, block = self.request, self.config, self.block
        if request.levels > 1:
            raise UnsupportedError("addresses in metadata of mip levels")
        if isinstance(request, DccRequest):
            modes = (SwizzleMode.SW_64KB_R_X, SwizzleMode.SW_256KB_R_X) if has_blocks_256kb(config.level) else (SwizzleMode.SW_64KB_R_X,)
            if request.resource != ResourceType.TEX_2D or request.mode not in modes or request.fragments > 1:
                raise UnsupportedError("addresses in DCC of surfaces that are not 2D, single-sampled and R_X")
        block_log2 = log2(self.block_size)
        equation = _sized(self._equation_of(samples, element_bits), block_log2 + 1)
        pitch = self.pitch // block[0]
        logs = (log2(block[0]), log2(block[1]), log2(block[2]))
        channels = ((1 << config.pipes_log2) - 1) & ((1 << block_log2) - 1) >> config.pipe_interleave_log2
        return MetadataLayout(equation, logs, pitch, self.height // block[1] * pitch, config.pipe_interleave_log2, channels)
