"""Colours to the bytes of texels and back, for arrays of texels of any plain format, and those with small floats.

Sources: the Vulkan specification, "Conversion Rules", "Fixed-Point Data Conversions" and "Unsigned 11-Bit and 10-Bit Floating-Point
Numbers"; the Khronos Data Format Specification (sRGB, shared exponent).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.formats import Channel, PixelFormat, pixel_format

__all__ = ["color_format", "decode_texels", "encode_texels", "is_integer", "pack_color"]

Bytes = NDArray[np.uint8]
_Numbers = NDArray[Any]

_SMALL_FLOATS = {11: 4, 10: 5}
"""Bits of a small float, and how many bits of a half's mantissa it lacks; it has no sign either."""


def is_integer(form: PixelFormat) -> bool:
    """Return whether the channels of a format are integers that are not converted."""
    channel = form.first_channel
    return channel is not None and channel.integer


@checked
@cache
def color_format(name: str) -> PixelFormat:
    """Return a pixel format whose texels are colours, with its channels: R11G11B10_FLOAT, too, has them here.

    Parameters
    ----------
    name : str
        Pixel format.

    Raises
    ------
    UnsupportedError
        A format of compressed blocks, or of planes.
    """
    form = pixel_format(name)
    if form.name == "R11G11B10_FLOAT":
        channels = tuple(Channel(letter, size, "float", False, False) for letter, size in (("R", 11), ("G", 11), ("B", 10)))
        return replace(form, channels=channels)
    shared = form.name == "R9G9B9E5_FLOAT"
    plain = form.layout == "plain" and form.bits <= 128 and all(
        channel.size <= 32 and channel.type != "fixed" and channel.size > (channel.type == "signed") for channel in form.channels)
    if not shared and not plain:
        raise UnsupportedError(f"texels of {form.name} as colours")
    return form


@cache
def _places(form: PixelFormat) -> tuple[int, ...]:
    """Return the first bit of each channel."""
    sizes = [channel.size for channel in form.channels]
    return tuple(sum(sizes[:n]) for n in range(len(sizes)))


@checked
def decode_texels(format: str, texels: ArrayLike) -> _Numbers:
    """Return the colours of texels.

    Parameters
    ----------
    format : str
        Pixel format, such as ``R8G8B8A8_SRGB``.
    texels : array_like of uint8
        The last axis is the bytes of a texel.

    Returns
    -------
    numpy.ndarray
        Red, green, blue, alpha (depth, stencil) on the last axis in place of the bytes: float32, sRGB as linear light; int64 for integers.
        Components that the format lacks are 0, alpha 1.

    Raises
    ------
    InputError
        Texels of another size.
    UnsupportedError
        A format of compressed blocks, or of planes.
    """
    form = color_format(format)
    raw = _raw(form, texels)
    integer = is_integer(form)
    found = np.zeros((*raw.shape[:-1], 4), np.int64 if integer else np.float32)
    if form.name == "R9G9B9E5_FLOAT":
        word = raw.view(np.uint32)[..., 0].astype(np.int64)
        scale = np.exp2((word >> 27) - 24.0)
        found[..., :3] = np.stack([(word >> 9 * n & 511) * scale for n in range(3)], -1)
        found[..., 3] = 1
        return found
    bits = [_bits(raw, first, channel.size) for first, channel in zip(_places(form), form.channels, strict=True)]
    for component, entry in enumerate(form.swizzle):
        if entry < len(form.channels):
            linear = form.color_space == "srgb" and component < 3
            numbers = _number(form.channels[entry], bits[entry])
            found[..., component] = _to_linear(numbers) if linear else numbers
        elif component == 3 and form.color_space != "zs":
            found[..., 3] = 1
    return found


@checked
def encode_texels(format: str, colors: ArrayLike) -> Bytes:
    """Return texels of colours: the inverse of `decode_texels`, rounded to the nearest number of the format, ties to even.

    Parameters
    ----------
    format : str
        Pixel format.
    colors : array_like
        Red, green, blue, alpha on the last axis (sRGB formats: linear light). Normalized numbers are clamped; bits without meaning are 0.

    Returns
    -------
    numpy.ndarray
        uint8; the last axis is the bytes of a texel.

    Raises
    ------
    InputError
        Not four components, or an integer that the format does not hold.
    UnsupportedError
        A format of compressed blocks, or of planes.
    """
    form = color_format(format)
    given = np.asarray(colors)
    if given.ndim < 1 or given.shape[-1] != 4 or given.dtype.kind not in "iufb":
        raise InputError(f"a colour is four numbers, not {given.dtype} of shape {given.shape}")
    if form.name == "R9G9B9E5_FLOAT":
        return _shared_exponent(given.astype(np.float64)[..., :3])
    words = np.zeros((*given.shape[:-1], -(-form.bits // 64)), np.uint64)
    for number, (first, channel) in enumerate(zip(_places(form), form.channels, strict=True)):
        component = next((n for n, entry in enumerate(form.swizzle) if entry == number), None)
        if component is None or channel.type == "void":
            continue
        values = given[..., component]
        if form.color_space == "srgb" and component < 3:
            values = _to_srgb(values.astype(np.float64))
        words[..., first // 64] |= _encoded(channel, values, form.name) << np.uint64(first % 64)
    return np.ascontiguousarray(words.view(np.uint8)[..., : form.bits // 8])


@checked
def pack_color(format: str, color: Sequence[float]) -> Bytes:
    """Return the bytes of a texel of one colour.

    Parameters
    ----------
    format : str
        Pixel format.
    color : sequence of float or int
        Red, green, blue, alpha.

    Examples
    --------
    >>> pack_color("B8G8R8A8_UNORM", (1.0, 0.0, 0.5, 1.0)).tolist()
    [128, 0, 255, 255]
    """
    return encode_texels(format, np.array(color))


def _raw(form: PixelFormat, texels: ArrayLike) -> Bytes:
    given = np.asarray(texels)
    if given.dtype != np.uint8 or given.ndim < 1 or given.shape[-1] != form.bits // 8:
        raise InputError(f"texels of {form.name} are {form.bits // 8} bytes each, not {given.dtype} of shape {given.shape}")
    return np.ascontiguousarray(given)


def _bits(raw: Bytes, first: int, size: int) -> NDArray[np.int64]:
    """Return some bits of each texel; a channel has at most 32 bits and does not straddle words of 64."""
    if size in (8, 16, 32) and first % size == 0 and raw.shape[-1] % (size // 8) == 0:
        return raw.view(f"<u{size // 8}")[..., first // size].astype(np.int64)
    low, high = first // 8, -(-(first + size) // 8)
    value = np.zeros(raw.shape[:-1], np.int64)
    for n in range(low, high):
        value |= raw[..., n].astype(np.int64) << 8 * (n - low)
    return value >> first % 8 & ((1 << size) - 1)


def _number(channel: Channel, bits: NDArray[np.int64]) -> _Numbers:
    size = channel.size
    if channel.type == "float":
        return _float(bits, size)
    value = bits
    if channel.type == "signed":
        value = (bits ^ 1 << size - 1) - (1 << size - 1)
    if channel.integer:
        return value
    if not channel.normalized:
        return value.astype(np.float32)
    if channel.type == "signed":
        return np.maximum(value / ((1 << size - 1) - 1), -1.0).astype(np.float32)
    return (value / ((1 << size) - 1)).astype(np.float32)


def _float(bits: NDArray[np.int64], size: int) -> NDArray[np.float32]:
    if size == 32:
        return bits.astype(np.uint32).view(np.float32)
    return (bits << _SMALL_FLOATS.get(size, 0)).astype(np.uint16).view(np.float16).astype(np.float32)


def _encoded(channel: Channel, values: _Numbers, name: str) -> NDArray[np.uint64]:
    size = channel.size
    mask = (1 << size) - 1
    signed = channel.type == "signed"
    lowest, highest = (-(1 << size - 1), (1 << size - 1) - 1) if signed else (0, mask)
    if channel.integer:
        if values.dtype.kind == "f" and not (values == np.rint(values)).all():
            raise InputError(f"{name} holds integers, not {values.ravel()[0]}")
        if values.size and (values.min() < lowest or values.max() > highest):
            raise InputError(f"{name} holds integers from {lowest} to {highest}, not {values.min()} to {values.max()}")
        return (values.astype(np.int64) & mask).astype(np.uint64)
    with np.errstate(invalid="ignore"):
        numbers = values.astype(np.float64)
    if channel.type == "float":
        return _float_bits(numbers, size)
    numbers = np.nan_to_num(numbers, nan=0.0, posinf=np.inf, neginf=-np.inf)
    scaled = np.clip(numbers, -1.0 if signed else 0.0, 1.0) * highest if channel.normalized else np.clip(numbers, lowest, highest)
    return (np.rint(scaled).astype(np.int64) & mask).astype(np.uint64)


def _float_bits(numbers: NDArray[np.float64], size: int) -> NDArray[np.uint64]:
    with np.errstate(over="ignore", invalid="ignore"):
        if size == 32:
            return numbers.astype(np.float32).view(np.uint32).astype(np.uint64)
        if size == 16:
            return numbers.astype(np.float16).view(np.uint16).astype(np.uint64)
    missing = _SMALL_FLOATS[size]
    mantissa = 10 - missing
    # Negative numbers are 0, and finite ones too large the largest; what remains is a multiple of the step of its exponent.
    largest = (2 - 2.0**-mantissa) * 2.0**15
    finite = np.where(np.isnan(numbers), 0.0, np.clip(numbers, 0.0, largest))
    step = np.exp2(np.maximum(np.frexp(finite)[1] - 1, -14) - mantissa)
    rounded = np.minimum(np.rint(finite / step) * step, largest)
    special = np.where(np.isnan(numbers), np.nan, np.where(numbers == np.inf, np.inf, rounded))
    return (special.astype(np.float16).view(np.uint16) & 0x7FFF).astype(np.uint64) >> np.uint64(missing)


def _shared_exponent(colors: NDArray[np.float64]) -> Bytes:
    """Return texels of R9G9B9E5: 9 bits each and an exponent of 5 bits, biased by 15, as Vulkan's rules for it round."""
    largest = 511 / 512 * 2.0**16
    clamped = np.clip(np.nan_to_num(colors, nan=0.0), 0.0, largest)
    most = clamped.max(-1)
    exponent = np.where(most > 0, np.maximum(np.frexp(most)[1], -15) + 15, 0)
    exponent += np.floor(most / np.exp2(exponent - 24.0) + 0.5) == 512
    mantissas = np.floor(clamped / np.exp2(exponent - 24.0)[..., None] + 0.5).astype(np.uint32)
    words = mantissas[..., 0] | mantissas[..., 1] << 9 | mantissas[..., 2] << 18 | exponent.astype(np.uint32) << 27
    return np.ascontiguousarray(words.astype(np.uint32)[..., None]).view(np.uint8)


def _to_linear(values: _Numbers) -> NDArray[np.float32]:
    x = values.astype(np.float64)
    return np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4).astype(np.float32)


def _to_srgb(values: NDArray[np.float64]) -> NDArray[np.float64]:
    x = np.clip(np.nan_to_num(values, nan=0.0), 0.0, 1.0)
    return np.where(x <= 0.0031308, x * 12.92, 1.055 * x ** (1 / 2.4) - 0.055)
