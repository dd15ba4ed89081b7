"""Metadata surfaces of GFX9.

Source of the facts: AMD addrlib, ``gfx9addrlib.cpp`` (HwlComputeHtileInfo, HwlComputeCmaskInfo, HwlComputeDccInfo, GetMetaMipInfo,
GetMetaMiptailInfo).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.enums import ResourceType, SwizzleMode
from pyaco.addrlib.integers import align, log2
from pyaco.addrlib.metadata.equation import MetadataEquation, MetadataLayout
from pyaco.addrlib.metadata.equation_gfx9 import DataKind, EquationKey, Term, has_alias_fix, metadata_terms
from pyaco.addrlib.metadata.records import CmaskRequest, DccRequest, HtileRequest, MetadataInfo, MetadataLevel, fmask_bits
from pyaco.errors import UnsupportedError

__all__ = ["cmask_info", "dcc_info", "htile_info"]

# log2 of the bytes of a block, by swizzle mode / 4
_BLOCK_LOG2 = (8, 12, 16, 0, 16, 12, 16, 0, 8)
# 256 bytes of a thin surface, and of a thick one in S order and in Z order, by log2 of the bytes per element
_THIN_256B = ((16, 16), (16, 8), (8, 8), (8, 4), (4, 4))
_THICK_S_256B = ((16, 4, 4), (8, 4, 4), (4, 4, 4), (2, 4, 4), (1, 4, 4))
_THICK_Z_256B = ((8, 4, 8), (4, 4, 8), (4, 4, 4), (4, 2, 4), (2, 2, 4))

Block = tuple[int, int, int]


def _block_log2(mode: int) -> int:
    return _BLOCK_LOG2[mode >> 2]


def _is_xor(mode: int) -> bool:
    return SwizzleMode.SW_64KB_Z_T <= mode <= SwizzleMode.SW_64KB_R_X


def _is_thick(resource: int, mode: int) -> bool:
    return resource == ResourceType.TEX_3D and "ZSDR"[mode & 3] in "ZS"


def _pipe_bits(config: GpuConfig, mode: int, aligned: bool) -> int:
    bits = min(config.pipes_log2 + config.shader_engines_log2, 5) if aligned else 0
    return min(bits, _block_log2(mode) - config.pipe_interleave_log2) if _is_xor(mode) else bits


def _backends_log2(config: GpuConfig) -> int:
    return config.shader_engines_log2 + config.render_backends_per_se_log2


def _minimum_block_log2(config: GpuConfig) -> int:
    return max(10, config.pipe_interleave_log2) if has_alias_fix(config) else 10


def htile_info(config: GpuConfig, request: HtileRequest) -> MetadataInfo:
    """See `pyaco.addrlib.metadata.htile_info`."""
    mode, pipes = request.mode, _pipe_bits(config, request.mode, request.pipe_aligned)
    backends = _backends_log2(config) if request.rb_aligned else 0
    count = 10 if pipes == backends == 0 else _backends_log2(config) + _minimum_block_log2(config)
    width_bits = count >> 1 if request.levels > 1 else (count + 1) >> 1
    block = (8 << width_bits, 8 << (count - width_bits), 1)
    block_size = 4 << count
    base_align = 1 << (pipes + backends + config.pipe_interleave_log2)
    if not _is_xor(mode) and pipes > 1:
        base_align <<= pipes - 1
    base_align = max(base_align, block_size, 1 << _block_log2(mode))
    if has_alias_fix(config):
        # HTILE's cache lines of 2 KB are padded so that a mask of channels and backends fits.
        base_align <<= max(0, 11 - (count + 2 - (1 + pipes + backends)))
    blocks, levels = _levels(request, block, thick=False)
    slice_size = blocks[0] * blocks[1] * block_size
    return Gfx9MetadataInfo(
        config, request, blocks[0] * block[0], blocks[1] * block[1], request.slices, base_align, align(slice_size * blocks[2], base_align),
        slice_size, block, block_size, blocks[0] * blocks[1], (8, 8, 1), levels, pipes)


def cmask_info(config: GpuConfig, request: CmaskRequest) -> MetadataInfo:
    """See `pyaco.addrlib.metadata.cmask_info`."""
    pipes = _pipe_bits(config, request.mode, request.pipe_aligned)
    backends = _backends_log2(config) if request.rb_aligned else 0
    count = 13 if pipes == backends == 0 else max(_backends_log2(config) + _minimum_block_log2(config), 13)
    block = (8 << ((count + 1) >> 1), 8 << (count >> 1), 1)
    across, down = -(-request.width // block[0]), -(-request.height // block[1])
    size_align = max(1 << (pipes + backends + config.pipe_interleave_log2), 1 << _block_log2(request.mode))
    block_size = 1 << (count - 1)
    slice_size = across * down * block_size
    return Gfx9MetadataInfo(
        config, request, across * block[0], down * block[1], request.slices, max(block_size, size_align),
        align(slice_size * request.slices, size_align), slice_size, block, block_size, across * down, (8, 8, 1),
        tuple(MetadataLevel(False) for _ in range(request.levels)), pipes)


def dcc_info(config: GpuConfig, request: DccRequest) -> MetadataInfo:
    """See `pyaco.addrlib.metadata.dcc_info`."""
    mode, fragments = request.mode, request.fragments
    if mode in (SwizzleMode.LINEAR, SwizzleMode.LINEAR_GENERAL):
        raise UnsupportedError("DCC of linear surfaces: GFX9 has no linear metadata")
    thick = _is_thick(request.resource, mode)
    pipes = _pipe_bits(config, mode, request.pipe_aligned)
    backends = _backends_log2(config) if request.rb_aligned else 0
    count = (65536 if thick else 4096) // fragments
    if pipes or backends:
        count = max(count, (262144 if thick else 1 << _minimum_block_log2(config)) << _backends_log2(config))
        count = min(count, 65536 * request.bits)
    compressed = _compressed_block(request)
    block = _grow(compressed, log2(count), thick, mips=request.levels > 1)
    blocks, levels = _levels(request, block, thick)
    size_align = 1 << (pipes + backends + config.pipe_interleave_log2)
    size_align *= max(1, fragments >> config.max_compressed_fragments_log2)
    size_align = max(size_align, 1 << _block_log2(mode))
    block_size, slice_blocks = count * fragments, blocks[0] * blocks[1]
    clear_size = slice_blocks * count * min(fragments, 1 << config.max_compressed_fragments_log2)
    return Gfx9MetadataInfo(
        config, request, blocks[0] * block[0], blocks[1] * block[1], blocks[2] * block[2], max(count, size_align),
        align(slice_blocks * blocks[2] * block_size, size_align), clear_size, block, block_size, slice_blocks, compressed, levels, pipes)


def _compressed_block(request: DccRequest) -> Block:
    index = log2(request.bits >> 3)
    if not _is_thick(request.resource, request.mode):
        return (*_THIN_256B[index], 1)
    return (_THICK_Z_256B if request.mode & 3 == 0 else _THICK_S_256B)[index]


def _grow(block: Block, doublings: int, thick: bool, mips: bool) -> Block:
    """Double the smallest side again and again; on a tie height with mips, else width."""
    w, h, d = block
    for _ in range(doublings):
        taller = h < w or (mips and h == w)
        if thick and (h if taller else w) > d:
            d *= 2
        elif taller:
            h *= 2
        else:
            w *= 2
    return w, h, d


def _levels(request: HtileRequest, block: Block, thick: bool) -> tuple[Block, tuple[MetadataLevel, ...]]:
    """Return how many meta blocks the mip chain takes in x, y, z, and where its levels lie."""
    size = [request.width, request.height, request.slices]
    blocks = [-(-extent // side) for extent, side in zip(size, block, strict=True)]
    if request.levels == 1:
        padded = [n * side for n, side in zip(blocks, block, strict=True)]
        return (blocks[0], blocks[1], blocks[2]), (MetadataLevel(False, 0, 0, 0, padded[0], padded[1], padded[2] if thick else 1),)
    if thick and blocks[2] > max(blocks[0], blocks[1]):
        major, minor, limit = 2, 1, 4
    elif blocks[0] >= blocks[1]:
        major, minor, limit = 0, 1, 4
    else:
        major, minor, limit = 1, 0, 2

    def in_tail() -> bool:
        return size[0] <= block[0] and size[1] <= block[1] >> 1 and (not thick or size[2] <= block[2])

    if not in_tail():
        wide = blocks[minor] < 3 and blocks[major] > limit and request.levels > 3
        blocks[minor] += 2 if wide else (blocks[minor] + 1) // 2
    start = [0, 0, 0]
    levels: list[MetadataLevel] = []
    while len(levels) < request.levels:
        if in_tail():
            levels += _tail(start, request.levels - len(levels), block)
            break
        # Each level is half of the padded size of the one before.
        size = [align(extent, side) for extent, side in zip(size, block, strict=True)]
        level = len(levels)
        levels.append(MetadataLevel(False, start[0], start[1], start[2], size[0], size[1], size[2] if thick else 1))
        step = major if level >= 3 or level & 1 else minor
        start[step] += size[step]
        size = [max(extent >> 1, 1) for extent in size]
    return (blocks[0], blocks[1], blocks[2]), tuple(levels)


# Where the level after the i-th level of at most 32 elements lies, from the start of the first of them: 16, 8, 4, 2, 1 elements, and
# levels below one element, which block-compressed formats have.
_SMALL_STEPS = ((32, 0), (0, 32), (16, 32), (32, 32), (48, 32), (0, 48), (16, 48), (32, 48), (48, 48))


def _tail(start: list[int], count: int, block: Block) -> list[MetadataLevel]:
    """Return the levels that share the last meta block."""
    thick = block[2] > 1
    height = block[1]
    smallest, largest = (32, 128) if thick else (64, 256)
    increment = min(max(height >> 2, smallest), largest)
    x, y, z = start
    w, h, d = block[0], height >> 1, block[2]
    levels: list[MetadataLevel] = []
    small = -1
    for level in range(count):
        levels.append(MetadataLevel(True, x, y, z, w, h, d))
        if w <= 32:
            small = level if small < 0 else small
            first = levels[small]
            step = _SMALL_STEPS[min(level - small, len(_SMALL_STEPS) - 1)]
            x, y, z = first.x + step[0], first.y + step[1], first.z
            w = h = 16 if level == small else 8
        else:
            if w > increment:
                if level & 1:
                    x += w
                else:
                    y += h
            elif thick:
                z += d
            elif w * 2 == increment:
                x, y = x - increment, y + increment
            else:
                x += increment
            w >>= 1
            h = w
        d = w if thick else d
    return levels


def _key(info: MetadataInfo, samples: int, element_bits: int | None) -> EquationKey:
    request = info.request
    if isinstance(request, DccRequest):
        kind, bits, samples = DataKind.COLOR, request.bits, request.fragments
    elif isinstance(request, CmaskRequest):
        kind, bits, samples = DataKind.FMASK, element_bits or fmask_bits(1, 1), 1
    else:
        kind, bits = DataKind.DEPTH, element_bits or 32
    mode = request.mode
    thick = isinstance(request, DccRequest) and _is_thick(request.resource, mode)
    return EquationKey(
        kind, _block_log2(mode), "ZSDR"[mode & 3], _is_xor(mode), SwizzleMode.SW_64KB_Z_T <= mode <= SwizzleMode.SW_64KB_R_T, thick,
        info.pipe_bits, request.rb_aligned, log2(bits >> 3), log2(samples), _logs(info.block), _logs(info.compressed_block))


def _logs(block: Block) -> Block:
    return log2(block[0]), log2(block[1]), log2(block[2])


@cache
def _equation(terms: tuple[Term, ...]) -> MetadataEquation:
    top = len(terms)
    # Above some bit the address is the block index itself.
    while top > 1 and _block_order(terms[top - 1]) >= 1 and _block_order(terms[top - 2]) == _block_order(terms[top - 1]) - 1:
        top -= 1
    masks = np.zeros((top - 1, 5), np.uint32)
    for row, term in zip(masks, terms, strict=False):
        for _, order, axis in term:
            row[axis] |= np.uint32(1 << order)
    return MetadataEquation(masks, _block_order(terms[top - 1]))


def _block_order(term: Term) -> int:
    """Return which bit of the block index `term` is, or -1 if it is something else."""
    if len(term) != 1:
        return -1
    ((rank, order, _),) = term
    return order if rank == 2 else -1


class Gfx9MetadataInfo(MetadataInfo):
    """Layout of a metadata surface of GFX9."""

    def _reported_equation(self) -> MetadataEquation | None:
        if not isinstance(self.request, DccRequest | CmaskRequest):
            return None
        return _equation(metadata_terms(self.config, _key(self, 1, None)))

    def _layout(self, samples: int, element_bits: int | None) -> MetadataLayout:
        request, config, block = self.request, self.config, self.block
        if request.levels > 1:
            raise UnsupportedError("addresses in metadata of mip levels")
        if isinstance(request, DccRequest) and request.fragments > 1 and _block_log2(request.mode) == 8:
            raise UnsupportedError("addresses in DCC of multisampled surfaces in blocks of 256 bytes: there are no such surfaces")
        equation = _equation(metadata_terms(config, _key(self, samples, element_bits)))
        pitch = self.pitch // block[0]
        return MetadataLayout(
            equation, _logs(block), pitch, self.height // block[1] * pitch, config.pipe_interleave_log2, (1 << self.pipe_bits) - 1)
