"""The clear codes of DCC: which colours a byte of DCC can stand for, by generation and pixel format.

=====  ==========================================================  =================
code   GFX8 to GFX10.3                                             GFX11
=====  ==========================================================  =================
0x00   all channels 0                                              all bits 0
0x01   --                                                          single
0x02   --                                                          all bits 1
0x04   --                                                          all 16-bit words 1.0
0x06   --                                                          all 32-bit words 1.0
0x08   --                                                          0, last channel all bits 1
0x0A   --                                                          all bits 1, last channel 0
0x10   single (GFX10)                                              --
0x20   register                                                    --
0x40   colour 0, alpha 1                                           --
0x80   colour 1, alpha 0                                           --
0xC0   all channels 1                                              --
0xFF   not compressed                                              not compressed
=====  ==========================================================  =================

One is 1.0, or the largest integer. Single: the block's first element has the colour. Register: CB_COLOR_CLEAR_WORD has it, and the fast
clear must be eliminated before anything but the colour block reads the texels. "Alpha" is the channel that the colour block takes for it:
the last or the first, whatever its letter (`pyaco.descriptors.hardware_format.alpha_is_on_msb`).

Sources: PAL's ``gfx9MaskRam.cpp`` (Gfx9Dcc::GetFastClearCode, GetBlackOrWhiteClearCode) and ``gfxImage.cpp``
(TranslateClearCodeOneToNativeFmt); Mesa's ``radv_meta_clear.c`` (gfx8_get_fast_clear_parameters, gfx11_get_fast_clear_parameters).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pyaco.addrlib.chips import GpuConfig
from pyaco.arguments import checked
from pyaco.descriptors.hardware_format import alpha_is_on_msb, color_formats
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import Channel, PixelFormat
from pyaco.metadata.colors import color_format, is_integer, pack_color
from pyaco.targets.features import has_dcc, has_dcc_register_clears, has_dcc_single_clears, has_dcc_typed_clears, has_metadata_surfaces

__all__ = ["REGISTER", "UNCOMPRESSED", "ClearCode", "clear_code", "color_of_code", "is_fast_clear", "register_words", "single_code"]

UNCOMPRESSED = 0xFF
"""Code of a block that is not compressed."""

REGISTER = 0x20
"""Code of a block whose colour is in the register of the clear colour (GFX8 to GFX10.3)."""

_CONSTANTS = {0x00: (0, 0), 0x40: (0, 1), 0x80: (1, 0), 0xC0: (1, 1)}
# GFX11: the code, and the word that texels consist of.
_WORDS = {0x00: (np.uint8, 0), 0x02: (np.uint8, 0xFF), 0x04: (np.uint16, 0x3C00), 0x06: (np.uint32, 0x3F800000)}
_LAST = {0x08: (0, 1), 0x0A: (1, 0)}
_ONE_KIND = ("R11G11B10_FLOAT", "R5G6B5_UNORM", "B5G6R5_UNORM")


@dataclass(frozen=True)
class ClearCode:
    """How a colour is cleared.

    Attributes
    ----------
    code : int
        What DCC is filled with.
    needs_elimination : bool
        Whether the colour is in a register, so that texture units cannot read the surface until the fast clear is eliminated.
    is_single : bool
        Whether the first element of each block has the colour.
    """

    code: int
    needs_elimination: bool = False
    is_single: bool = False


def _target_format(config: GpuConfig, format: str) -> PixelFormat:
    form = color_format(format)
    if not has_dcc(config.level):
        raise UnsupportedError(f"DCC on {config.name}: it came with GFX8")
    if not has_metadata_surfaces(config.level):
        raise UnsupportedError(f"DCC on {config.name}: GFX12 compresses memory without surfaces of metadata")
    if form.color_space == "zs" or not color_formats(form, config.level)[0] or form.bits not in (8, 16, 32, 64, 128):
        raise InputError(f"{form.name} is no format of a colour target that DCC compresses")
    return form


def single_code(config: GpuConfig) -> int | None:
    """Return the code of blocks whose first element has the colour, or None if the chip has none.

    Parameters
    ----------
    config : GpuConfig
        The chip.
    """
    if not has_dcc_single_clears(config.level):
        return None
    return 0x01 if has_dcc_typed_clears(config.level) else 0x10


def is_fast_clear(config: GpuConfig, code: int) -> bool:
    """Return whether a code is one that fast clears write, on a chip.

    Parameters
    ----------
    config : GpuConfig
        The chip.
    code : int
        A byte of DCC.
    """
    constants = {**_WORDS, **_LAST} if has_dcc_typed_clears(config.level) else _CONSTANTS
    register = code == REGISTER and has_dcc_register_clears(config.level)
    return code in constants or register or code == single_code(config)


@checked
def color_of_code(config: GpuConfig, format: str, code: int) -> NDArray[np.uint8]:
    """Return the bytes of a texel of a block whose code is that of a constant colour.

    Parameters
    ----------
    config : GpuConfig
        The chip.
    format : str
        Pixel format of the surface.
    code : int
        A byte of DCC.

    Returns
    -------
    numpy.ndarray
        uint8; bits that mean nothing in the format are as those of the channel that they belong to.

    Raises
    ------
    InputError
        A code that is not that of a constant colour, or not of this format.
    UnsupportedError
        A chip without DCC.
    """
    form = _target_format(config, format)
    if has_dcc_typed_clears(config.level):
        if code in _LAST:
            if not _has_last(form):
                raise InputError(f"DCC code {code:#04x} of {form.name}: it is of two or four channels of 8 or 16 bits")
            rest, last = _LAST[code]
            ones = np.full(form.bits // 8, 0xFF * rest, np.uint8)
            ones[-form.channels[-1].size // 8 :] = 0xFF * last
            return ones
        if code in _WORDS:
            kind, word = _WORDS[code]
            if form.bits % (8 * np.dtype(kind).itemsize) == 0:
                return np.full(form.bits // (8 * np.dtype(kind).itemsize), word, kind).view(np.uint8)
    elif code in _CONSTANTS and (form.channels or code == 0):
        main, extra = _CONSTANTS[code]
        place = _extra_channel(config, form)
        bits = 0
        first = 0
        for number, channel in enumerate(form.channels):
            bits |= (_one(channel) if (extra if number == place else main) else 0) << first
            first += channel.size
        return np.frombuffer(bits.to_bytes(form.bits // 8, "little"), np.uint8)
    raise InputError(f"DCC code {code:#04x} is not that of a constant colour of {form.name} on {config.name}")


def _has_last(form: PixelFormat) -> bool:
    sizes = {channel.size for channel in form.channels}
    return (len(form.channels), *sizes) in ((2, 8), (4, 8), (4, 16))


def _one(channel: Channel) -> int:
    """Return the bits of one: 1.0 as a float, else the largest number."""
    if channel.type == "float":
        return {10: 0x1E0, 11: 0x3C0, 16: 0x3C00, 32: 0x3F800000}[channel.size]
    return (1 << channel.size - (channel.type == "signed")) - 1


@cache
def _extra_channel(config: GpuConfig, form: PixelFormat) -> int:
    """Return the channel that the colour block takes for alpha; -1 where all channels are alike."""
    if form.name in _ONE_KIND:
        return -1
    return len(form.channels) - 1 if alpha_is_on_msb(form, config.level, config.chip) else 0


@checked
def register_words(format: str, color: Sequence[float]) -> tuple[int, int]:
    """Return CB_COLOR_CLEAR_WORD0 and 1 of a colour.

    Parameters
    ----------
    format : str
        Pixel format of the surface.
    color : sequence of float or int
        Red, green, blue, alpha.

    Raises
    ------
    UnsupportedError
        A colour of 128 bits whose red, green and blue are not the same: the register does not hold it.
    """
    packed = pack_color(format, color)
    if packed.size == 16:
        words = packed.view(np.uint32)
        if len(set(words[:3].tolist())) > 1:
            raise UnsupportedError(f"fast clears of {format} to {tuple(color)}: the register has room for colours with equal red, green and blue")
        return int(words[0]), int(words[3])
    padded = np.zeros(8, np.uint8)
    padded[: packed.size] = packed
    return int(padded.view(np.uint32)[0]), int(padded.view(np.uint32)[1])


@checked
def clear_code(
    config: GpuConfig, format: str, color: Sequence[float], *, single: bool | None = None, reinterpreted: bool = False,
) -> ClearCode:
    """Return how DCC clears a surface to a colour.

    Parameters
    ----------
    config : GpuConfig
        The chip.
    format : str
        Pixel format of the surface.
    color : sequence of float or int
        Red, green, blue, alpha.
    single : bool, optional
        Whether blocks may have the colour in their first element; by default as RADV does it: from GFX10 on, except elements of 8 and
        16 bits on chips without RB+.
    reinterpreted : bool
        Whether the surface is viewed both with signed and with unsigned formats: ones have no code then (GFX8 to GFX10.3).

    Raises
    ------
    InputError
        No format of a colour target.
    UnsupportedError
        A chip without DCC; a colour that it cannot clear to.

    Examples
    --------
    >>> from pyaco.addrlib import gpu_config
    >>> hex(clear_code(gpu_config("navi21"), "R8G8B8A8_UNORM", (0, 0, 0, 1)).code)
    '0x40'
    >>> hex(clear_code(gpu_config("navi31"), "R8G8B8A8_UNORM", (0, 0, 0, 1)).code)
    '0x8'
    """
    form = _target_format(config, format)
    if len(color) != 4:
        raise InputError(f"a colour is four numbers, not {color!r}")
    allowed = _allows_single(config, form) if single is None else single
    if allowed and single_code(config) is None:
        raise UnsupportedError(f"clears by the first element of a block on {config.name}: they came with GFX10")
    if has_dcc_typed_clears(config.level):
        return _typed(config, form, color, allowed)
    code = _constant(config, form, color, reinterpreted)
    if code is not None:
        return ClearCode(code)
    if allowed:
        return ClearCode(single_code(config) or 0, is_single=True)
    register_words(form.name, color)
    return ClearCode(REGISTER, needs_elimination=True)


def _allows_single(config: GpuConfig, form: PixelFormat) -> bool:
    return single_code(config) is not None and (form.bits > 16 or config.rbplus_allowed)


def _constant(config: GpuConfig, form: PixelFormat, color: Sequence[float], reinterpreted: bool) -> int | None:
    """Return the code of a constant colour of GFX8 to GFX10.3, or None if it is none."""
    if form.layout != "plain" and form.name not in _ONE_KIND:
        return None
    place, main, extra = _extra_channel(config, form), set[int](), set[int]()
    for component, number in enumerate(form.swizzle):
        if number < len(form.channels):
            bit = _zero_or_one(form.channels[number], color[component], is_integer(form))
            if bit is None:
                return None
            (extra if number == place else main).add(bit)
    main, extra = main or extra, extra or main
    if len(main) > 1 or len(extra) > 1 or (reinterpreted and 1 in main | extra):
        return None
    return {bits: code for code, bits in _CONSTANTS.items()}[min(main), min(extra)]


def _zero_or_one(channel: Channel, value: float, integer: bool) -> int | None:
    """Return 0 or 1 for what counts as that in a channel (integers above the largest are clamped to it), None for other values."""
    if integer and value > 0:
        return 1 if value >= _one(channel) else None
    return {0: 0, 1: 1}.get(value)  # type: ignore[call-overload]


def _typed(config: GpuConfig, form: PixelFormat, color: Sequence[float], single: bool) -> ClearCode:
    """Return the code of GFX11, which looks at the bits of a texel."""
    if form.bits <= 16:
        raise UnsupportedError(f"fast clears of {form.name} on {config.name}: drivers do not use them for elements of 8 and 16 bits")
    packed = pack_color(form.name, color)
    meaning = _meaning(form)
    codes = [code for code in (*_WORDS, *_LAST) if (code not in _LAST or _has_last(form)) and _fills(form, code)]
    for code in codes:
        if not ((packed ^ color_of_code(config, form.name, code)) & meaning).any():
            return ClearCode(code)
    if single:
        return ClearCode(single_code(config) or 0, is_single=True)
    raise UnsupportedError(f"fast clears of {form.name} to {tuple(color)} on {config.name}")


def _meaning(form: PixelFormat) -> NDArray[np.uint8]:
    """Return the bits of a texel that mean something: from the first to the last channel that is shown."""
    shown = [entry for entry in form.swizzle if entry < len(form.channels)]
    places = [sum(channel.size for channel in form.channels[:n]) for n in range(len(form.channels) + 1)]
    first, end = (places[min(shown)], places[max(shown) + 1]) if shown else (0, form.bits)
    return np.frombuffer(((1 << end) - (1 << first)).to_bytes(form.bits // 8, "little"), np.uint8)


def _fills(form: PixelFormat, code: int) -> bool:
    """Return whether what means something in a texel is whole words of a code; bytes may have bits that mean nothing."""
    size = np.dtype(_WORDS[code][0]).itemsize if code in _WORDS else 1
    return size == 1 or all(set(word) in ({0}, {0xFF}) for word in _meaning(form).reshape(-1, size).tolist())
