"""Depths to the bytes of texels and back. Stencil beside depth has texels of its own, a byte each.

A depth has 16 or 24 bits that mean a fraction, or is a float; where it has 24, the other byte of its texel means nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco.errors import InputError
from pyaco.formats import PixelFormat

__all__ = ["decode_depth", "depth_bounds", "encode_depth", "pack_depth"]


def _place(form: PixelFormat) -> tuple[int, int, bool]:
    """Return first bit and bits of depth in its texel, and whether it is a float."""
    first = 0
    for channel in form.channels:
        if channel.letter == "Z":
            return (0 if channel.size != 24 else first), channel.size, channel.type == "float"
        first += channel.size
    raise InputError(f"{form.name} has no depth")


def decode_depth(form: PixelFormat, texels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the depths of texels, whose bytes are on the last axis."""
    first, size, is_float = _place(form)
    if is_float:
        return np.ascontiguousarray(texels).view(np.float32)[..., 0]
    words = np.ascontiguousarray(texels).view(f"<u{texels.shape[-1]}")[..., 0].astype(np.int64)
    return ((words >> first & ((1 << size) - 1)) / ((1 << size) - 1)).astype(np.float32)


def depth_bounds(form: PixelFormat, texels: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the 16-bit fractions next to each depth: none above it, and none below it. Depths outside of 0 to 1 are those."""
    first, size, is_float = _place(form)
    if is_float:
        # 24 bits times 16 are exact in double precision; of bits that are no number NumPy warns
        with np.errstate(invalid="ignore"):
            depths = np.ascontiguousarray(texels).view(np.float32)[..., 0].astype(np.float64)
        scaled = np.clip(np.nan_to_num(depths, nan=0.0), 0, 1) * 0xFFFF
        return np.floor(scaled).astype(np.int64), np.ceil(scaled).astype(np.int64)
    most = (1 << size) - 1
    scaled_words = (np.ascontiguousarray(texels).view(f"<u{texels.shape[-1]}")[..., 0].astype(np.int64) >> first & most) * 0xFFFF
    return scaled_words // most, -(-scaled_words // most)


def encode_depth(form: PixelFormat, depths: NDArray[Any]) -> NDArray[np.uint8]:
    """Return texels of depths: clamped to 0 to 1 unless they are floats, and rounded to the nearest; bits without meaning are 0."""
    first, size, is_float = _place(form)
    if is_float:
        return np.ascontiguousarray(np.asarray(depths, np.float32)[..., None]).view(np.uint8)
    clamped = np.clip(np.nan_to_num(np.asarray(depths, np.float64), nan=0.0), 0, 1)
    words = np.rint(clamped * ((1 << size) - 1)).astype(np.int64) << first
    return np.ascontiguousarray(words.astype("<u2" if size == 16 else "<u4")[..., None]).view(np.uint8)


def pack_depth(form: PixelFormat, depth: float) -> NDArray[np.uint8]:
    """Return the bytes of a texel of one depth."""
    return encode_depth(form, np.array(depth, np.float64))
