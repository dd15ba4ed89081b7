"""DRM format modifiers of AMD GPUs: what a 64-bit modifier says, and which ones a chip supports for a format, best first.

Sources: ``drm_fourcc.h`` of the Linux kernel (fields), Mesa's ``ac_surface.c`` (which modifiers drivers offer, and in which order).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from enum import IntEnum

from pyaco.addrlib.checks import check_integers
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.enums import SwizzleMode, SwizzleMode3
from pyaco.addrlib.generations import Generation
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.features import (
    has_dcc_blocks_256b,
    has_display_dcc_128b,
    has_display_dcc_of_small_images,
    has_drm_modifiers,
    has_gfx12_swizzle_modes,
    has_metadata_surfaces,
)

__all__ = [
    "INVALID", "LINEAR", "CompressedBlock", "Modifier", "TileVersion", "decode_modifier", "has_dcc", "has_dcc_retile", "is_amd",
    "is_modifier_supported", "maximum_extent", "modifier_swizzle_mode", "supported_modifiers", "supports_dcc_image_stores",
]

LINEAR = 0
"""DRM_FORMAT_MOD_LINEAR"""
INVALID = 0x00FF_FFFF_FFFF_FFFF
"""DRM_FORMAT_MOD_INVALID: no modifier, the driver chooses."""
_AMD = 2


class TileVersion(IntEnum):
    """Generation whose swizzle modes a modifier numbers."""

    GFX9 = 1
    GFX10 = 2
    GFX10_RBPLUS = 3
    GFX11 = 4
    GFX12 = 5


class CompressedBlock(IntEnum):
    """Largest block that DCC compresses to."""

    BLOCK_64B = 0
    BLOCK_128B = 1
    BLOCK_256B = 2


_FIELDS = {
    # name: lowest bit, number of bits
    "tile_version": (0, 8), "tile": (8, 5), "dcc": (13, 1), "dcc_retile": (14, 1), "dcc_pipe_align": (15, 1), "dcc_independent_64b": (16, 1),
    "dcc_independent_128b": (17, 1), "dcc_max_compressed_block": (18, 2), "dcc_constant_encode": (20, 1), "pipe_xor_bits": (21, 3),
    "bank_xor_bits": (24, 3), "packers": (27, 3), "rb": (30, 3), "pipe": (33, 3),
}


@dataclass(frozen=True)
class Modifier:
    """Fields of an AMD modifier. ``int(modifier)`` encodes it.

    Attributes
    ----------
    tile_version : int
        Value of `TileVersion`.
    tile : int
        Swizzle mode of that generation.
    dcc, dcc_retile : int
        1 if colour is compressed; 1 if there is a second, displayable copy of DCC.
    dcc_pipe_align : int
        1 if DCC lies in the memory channels of its texels.
    dcc_independent_64b, dcc_independent_128b : int
        1 if blocks of 64 (128) bytes can be decompressed independently.
    dcc_max_compressed_block : int
        Value of `CompressedBlock`.
    dcc_constant_encode : int
        1 if constant blocks can be encoded.
    pipe_xor_bits, bank_xor_bits : int
        Bits that X modes xor.
    packers, rb, pipe : int
        log2 of packers; of all render backends; of pipes (the last two only for aligned DCC of GFX9).
    """

    tile_version: int
    tile: int
    dcc: int = 0
    dcc_retile: int = 0
    dcc_pipe_align: int = 0
    dcc_independent_64b: int = 0
    dcc_independent_128b: int = 0
    dcc_max_compressed_block: int = 0
    dcc_constant_encode: int = 0
    pipe_xor_bits: int = 0
    bank_xor_bits: int = 0
    packers: int = 0
    rb: int = 0
    pipe: int = 0

    def __post_init__(self) -> None:
        for field in fields(self):
            value, bits = getattr(self, field.name), _FIELDS[field.name][1]
            if not 0 <= value < 1 << bits:
                raise InputError(f"{field.name} of a modifier has {bits} bits; {value} does not fit")

    def __int__(self) -> int:
        return _AMD << 56 | sum(getattr(self, name) << low for name, (low, _) in _FIELDS.items())

    def text(self) -> str:
        """Return the fields that are set, in words."""
        known = {v.value: v.name for v in TileVersion}
        version = known.get(self.tile_version, str(self.tile_version))
        modes: type[SwizzleMode] | type[SwizzleMode3] = SwizzleMode3 if self.tile_version == TileVersion.GFX12 else SwizzleMode
        tile = modes(self.tile).name.removeprefix("SW_") if self.tile in set(modes) else str(self.tile)
        others = (f"{name}={getattr(self, name)}" for name in list(_FIELDS)[2:] if getattr(self, name))
        return " ".join((f"AMD {version}", tile, *others))


@checked
def is_amd(modifier: int) -> bool:
    """Whether a modifier is one of AMD's; LINEAR and INVALID belong to no vendor."""
    return modifier >> 56 == _AMD


@checked
def decode_modifier(modifier: int) -> Modifier:
    """Return the fields of an AMD modifier.

    Parameters
    ----------
    modifier : int
        DRM_FORMAT_MOD_*, 64 bits.

    Returns
    -------
    Modifier

    Raises
    ------
    InputError
        A number that is not an AMD modifier, or has bits set outside of the fields.
    """
    check_integers("modifier", modifier=modifier)
    if not is_amd(modifier):
        raise InputError(f"{modifier:#x} is not an AMD modifier")
    found = Modifier(**{name: modifier >> low & ((1 << bits) - 1) for name, (low, bits) in _FIELDS.items()})
    if int(found) != modifier:
        raise InputError(f"modifier {modifier:#x} has bits set outside of its fields: {modifier ^ int(found):#x}")
    return found


def _field(modifier: int, name: str) -> int:
    low, bits = _FIELDS[name]
    return modifier >> low & ((1 << bits) - 1)


@checked
def has_dcc(modifier: int) -> bool:
    """Whether surfaces of this modifier are compressed."""
    return is_amd(modifier) and bool(_field(modifier, "dcc"))


@checked
def has_dcc_retile(modifier: int) -> bool:
    """Whether surfaces of this modifier have a second, displayable DCC."""
    return is_amd(modifier) and bool(_field(modifier, "dcc_retile"))


@checked
def modifier_swizzle_mode(config: GpuConfig, modifier: int) -> int:
    """Return the swizzle mode (`SwizzleMode`, on GFX12 `SwizzleMode3`) that a modifier means on a chip.

    Raises
    ------
    UnsupportedError
        A mode of GFX11 that GFX12 does not have.
    """
    if modifier == LINEAR:
        return SwizzleMode.LINEAR
    tile = _field(modifier, "tile")
    if has_gfx12_swizzle_modes(config.level) and _field(modifier, "tile_version") == TileVersion.GFX11:
        if tile != SwizzleMode.SW_64KB_D:
            raise UnsupportedError(f"swizzle mode {tile} of GFX11 on {config.name}")
        return SwizzleMode3.SW_64KB_2D
    return tile


@checked
def supports_dcc_image_stores(config: GpuConfig, modifier: int) -> bool:
    """Whether shaders can store to compressed surfaces of this modifier."""
    if not has_dcc(modifier):
        return False
    if not has_metadata_surfaces(config.level):
        return True
    version, block = _field(modifier, "tile_version"), _field(modifier, "dcc_max_compressed_block")
    independent = _field(modifier, "dcc_independent_64b"), _field(modifier, "dcc_independent_128b")
    return (
        (independent == (0, 1) and block == CompressedBlock.BLOCK_128B)
        or (version >= TileVersion.GFX10_RBPLUS and independent == (1, 1) and block == CompressedBlock.BLOCK_64B)
        or (has_dcc_blocks_256b(config.level) and version >= TileVersion.GFX11 and independent == (0, 1) and block == CompressedBlock.BLOCK_256B)
    )


@checked
def maximum_extent(config: GpuConfig, modifier: int) -> tuple[int, int]:
    """Return the largest width and height, in pixels, that can be displayed.

    The display engine of GFX10 to GFX11.5 reads larger compressed surfaces only if 64-byte blocks are independent.
    """
    small = has_display_dcc_of_small_images(config.level) and has_dcc(modifier) and not _field(modifier, "dcc_independent_64b")
    return (2560, 2560) if small else (16384, 16384)


# Swizzle modes that may be shared between devices: bit masks without and with DCC
_SHARED_MODES = {
    Generation.GFX9: (0x06660660, 0x06000000), Generation.GFX10: (0x0E660660, 0x08000000), Generation.GFX11: (0xCC440440, 0x88000000),
    Generation.GFX12: (0x1E, 0x1E),
}


@checked
def is_modifier_supported(config: GpuConfig, modifier: int, bits: int, *, planes: int = 1, dcc: bool = True, retile: bool = True) -> bool:
    """Whether a chip supports a modifier for plain colour formats.

    Parameters
    ----------
    bits : int
        Bits per pixel of the format, or of one of its planes.
    planes : int
        Planes of the format, such as 2 for NV12.
    dcc, retile : bool
        Whether the driver supports compressed surfaces; whether it supports those with displayable DCC.
    """
    if bits > 64 or not has_drm_modifiers(config.level):
        return False
    if modifier == LINEAR:
        return True
    if not is_amd(modifier):
        return False
    compressed = has_dcc(modifier)
    try:
        mode = modifier_swizzle_mode(config, modifier)
    except UnsupportedError:
        return False
    if not _SHARED_MODES[config.generation][compressed] >> mode & 1:
        return False
    if compressed and (planes > 1 or not config.has_graphics or not dcc):
        return False
    if compressed and has_dcc_retile(modifier):
        return bits == 32 and config.use_display_dcc_with_retile_blit and retile
    return True


@checked
def supported_modifiers(config: GpuConfig, bits: int, *, planes: int = 1, dcc: bool = True, retile: bool = True) -> list[int]:
    """Return the modifiers that a chip supports for a plain colour format, best first; parameters as in `is_modifier_supported`.

    Parameters
    ----------
    config : GpuConfig
        The chip; ``gpu_config`` gives it by name.
    bits : int
        Bits of an element.
    planes : int
        Planes of the format.
    dcc, retile : bool
        Whether compressed layouts are wanted; whether those with displayable DCC are.

    Returns
    -------
    list of int
        Best first.

    Raises
    ------
    InputError
        A number of bits or planes that is not an integer.
    """
    if not has_drm_modifiers(config.level):
        return []
    candidates = {Generation.GFX9: _gfx9, Generation.GFX10: _gfx10, Generation.GFX11: _gfx11, Generation.GFX12: _gfx12}[config.generation]
    words = [int(m) for m in candidates(config, 0 if planes > 1 else bits)] + [LINEAR]
    return [m for m in words if is_modifier_supported(config, m, bits, planes=planes, dcc=dcc, retile=retile)]


_64B, _128B, _256B = CompressedBlock


def _gfx9(config: GpuConfig, bits: int) -> Iterator[Modifier]:
    pipe_xor = min(config.pipes_log2 + config.shader_engines_log2, 8)
    bank_xor = min(config.banks_log2, 8 - pipe_xor)
    rb = config.render_backends_per_se_log2 + config.shader_engines_log2
    plain = Modifier(TileVersion.GFX9, SwizzleMode.SW_64KB_S_X, pipe_xor_bits=pipe_xor, bank_xor_bits=bank_xor)
    display = replace(plain, tile=SwizzleMode.SW_64KB_D_X)
    compressed = replace(
        plain, dcc=1, dcc_independent_64b=1, dcc_max_compressed_block=_64B, dcc_constant_encode=int(config.has_dcc_constant_encode))
    aligned = replace(compressed, dcc_pipe_align=1, pipe=config.pipes_log2, rb=rb)
    yield replace(aligned, tile=SwizzleMode.SW_64KB_D_X)
    yield aligned
    if bits == 32:
        if config.max_render_backends == 1:
            yield compressed
        yield replace(compressed, dcc_retile=1, pipe=config.pipes_log2, rb=rb)
    yield display
    yield plain
    yield Modifier(TileVersion.GFX9, SwizzleMode.SW_64KB_D)
    yield Modifier(TileVersion.GFX9, SwizzleMode.SW_64KB_S)


def _gfx10(config: GpuConfig, bits: int) -> Iterator[Modifier]:
    version = TileVersion.GFX10_RBPLUS if config.supports_rbplus else TileVersion.GFX10
    plain = Modifier(version, SwizzleMode.SW_64KB_R_X, pipe_xor_bits=config.pipes_log2, packers=config.packers_log2)
    compressed = replace(plain, dcc=1, dcc_constant_encode=1, dcc_independent_128b=1, dcc_max_compressed_block=_128B)
    yield replace(compressed, dcc_pipe_align=1)
    if has_display_dcc_128b(config.level):
        yield replace(compressed, dcc_retile=1)
        yield replace(compressed, dcc_retile=1, dcc_independent_64b=1, dcc_max_compressed_block=_64B)
    yield plain
    yield Modifier(TileVersion.GFX10, SwizzleMode.SW_64KB_S_X, pipe_xor_bits=config.pipes_log2)
    if bits != 32:
        yield Modifier(TileVersion.GFX9, SwizzleMode.SW_64KB_D)
    yield Modifier(TileVersion.GFX9, SwizzleMode.SW_64KB_S)


def _gfx11(config: GpuConfig, _bits: int) -> Iterator[Modifier]:
    tiles = [SwizzleMode.SW_64KB_R_X]
    if config.has_dedicated_vram:
        # The display engine of integrated GPUs does not read 256 KB blocks, which are worthwhile only with many pipes.
        tiles.insert(0 if config.pipes_log2 > 4 else 1, SwizzleMode.SW_256KB_R_X)
    for tile in tiles:
        plain = Modifier(TileVersion.GFX11, tile, pipe_xor_bits=config.pipes_log2, packers=config.packers_log2)
        best = replace(plain, dcc=1, dcc_independent_128b=1, dcc_max_compressed_block=_128B)
        if has_dcc_blocks_256b(config.level):
            yield replace(best, dcc_max_compressed_block=_256B, dcc_pipe_align=1)
        yield replace(best, dcc_pipe_align=1)
        yield replace(best, dcc_retile=1)
        yield replace(best, dcc_independent_64b=1, dcc_max_compressed_block=_64B, dcc_retile=1)
        yield plain
    yield Modifier(TileVersion.GFX11, SwizzleMode.SW_64KB_D)


def _gfx12(_config: GpuConfig, _bits: int) -> Iterator[Modifier]:
    plain = Modifier(TileVersion.GFX12, SwizzleMode3.SW_64KB_2D)
    yield replace(plain, dcc=1, dcc_max_compressed_block=_128B)
    yield replace(plain, dcc=1, dcc_max_compressed_block=_64B)
    yield plain
    # The same layout as GFX11 expresses it.
    yield Modifier(TileVersion.GFX11, SwizzleMode.SW_64KB_D)
    yield Modifier(TileVersion.GFX12, SwizzleMode3.SW_256B_2D)
