"""Element formats of addrlib: bits per element and texels per element.

An *element* is what one address names: a texel, a compressed block, a pair of subsampled texels, or (for three-component formats,
which only linear surfaces hold) one component. Numbers are addrlib's ``AddrFormat``; source of the facts: ``addrelemlib.cpp``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from pyaco.targets.features import has_subsampled_elements

__all__ = ["ELEMENT_BITS", "EXPAND_X", "EXPAND_Y", "PACKING", "Element", "Format", "Packing", "element", "format_table"]


class Format(IntEnum):
    """Element formats."""

    INVALID = 0x00
    FMT_8 = 0x01
    FMT_4_4 = 0x02
    FMT_3_3_2 = 0x03
    FMT_16 = 0x05
    FMT_8_8 = 0x07
    FMT_5_6_5 = 0x08
    FMT_6_5_5 = 0x09
    FMT_1_5_5_5 = 0x0A
    FMT_4_4_4_4 = 0x0B
    FMT_5_5_5_1 = 0x0C
    FMT_32 = 0x0D
    FMT_16_16 = 0x0F
    FMT_8_24 = 0x11
    FMT_24_8 = 0x13
    FMT_10_11_11 = 0x15
    FMT_11_11_10 = 0x17
    FMT_2_10_10_10 = 0x19
    FMT_8_8_8_8 = 0x1A
    FMT_10_10_10_2 = 0x1B
    FMT_X24_8_32_FLOAT = 0x1C
    FMT_32_32 = 0x1D
    FMT_16_16_16_16 = 0x1F
    FMT_32_32_32_32 = 0x22
    FMT_1 = 0x25
    FMT_1_REVERSED = 0x26
    FMT_GB_GR = 0x27
    FMT_BG_RG = 0x28
    FMT_32_AS_8 = 0x29
    FMT_32_AS_8_8 = 0x2A
    FMT_5_9_9_9_SHAREDEXP = 0x2B
    FMT_8_8_8 = 0x2C
    FMT_16_16_16 = 0x2D
    FMT_32_32_32 = 0x2F
    BC1 = 0x31
    BC2 = 0x32
    BC3 = 0x33
    BC4 = 0x34
    BC5 = 0x35
    BC6 = 0x36
    BC7 = 0x37
    CTX1 = 0x3E
    ASTC_4X4 = 0x40
    ASTC_5X4 = 0x41
    ASTC_5X5 = 0x42
    ASTC_6X5 = 0x43
    ASTC_6X6 = 0x44
    ASTC_8X5 = 0x45
    ASTC_8X6 = 0x46
    ASTC_8X8 = 0x47
    ASTC_10X5 = 0x48
    ASTC_10X6 = 0x49
    ASTC_10X8 = 0x4A
    ASTC_10X10 = 0x4B
    ASTC_12X10 = 0x4C
    ASTC_12X12 = 0x4D
    ETC2_64BPP = 0x4E
    ETC2_128BPP = 0x4F
    BG_RG_16_16_16_16 = 0x50


ASTC_FORMATS = {
    (int(across), int(down)): member
    for name, member in Format.__members__.items() if name.startswith("ASTC_")
    for across, down in [name.removeprefix("ASTC_").split("X")]
}
"""Format by pixels of a block."""


class Packing(IntEnum):
    """How texels and elements relate."""

    NONE = 0
    """One texel is one element."""
    EXPANDED = 1
    """One texel is `expand_x` elements (three components)."""
    BITS = 2
    """`expand_x` texels of one bit are one element."""
    SUBSAMPLED = 3
    """`expand_x` texels share chroma in one element."""
    BLOCK = 4
    """`expand_x` times `expand_y` texels are one compressed block."""


@dataclass(frozen=True)
class Element:
    """Bits per element, and texels per element (or, expanded, elements per texel) in x and y."""

    bits: int
    packing: Packing
    expand_x: int
    expand_y: int


def _rows() -> dict[int, Element]:
    plain = {
        8: "FMT_8 FMT_4_4 FMT_3_3_2",
        16: "FMT_16 FMT_8_8 FMT_5_6_5 FMT_6_5_5 FMT_1_5_5_5 FMT_4_4_4_4 FMT_5_5_5_1",
        32: "FMT_32 FMT_16_16 FMT_8_24 FMT_24_8 FMT_10_11_11 FMT_11_11_10 FMT_2_10_10_10 FMT_8_8_8_8 FMT_10_10_10_2 "
            "FMT_32_AS_8 FMT_32_AS_8_8 FMT_5_9_9_9_SHAREDEXP",
        64: "FMT_X24_8_32_FLOAT FMT_32_32 FMT_16_16_16_16 CTX1",
        128: "FMT_32_32_32_32",
    }
    rows = {Format[name]: Element(bits, Packing.NONE, 1, 1) for bits, names in plain.items() for name in names.split()}
    for name, bits in (("FMT_8_8_8", 8), ("FMT_16_16_16", 16), ("FMT_32_32_32", 32)):
        rows[Format[name]] = Element(bits, Packing.EXPANDED, 3, 1)
    for name in ("FMT_1", "FMT_1_REVERSED"):
        rows[Format[name]] = Element(8, Packing.BITS, 8, 1)
    for name in ("FMT_GB_GR", "FMT_BG_RG"):
        rows[Format[name]] = Element(32, Packing.SUBSAMPLED, 2, 1)
    rows[Format.BG_RG_16_16_16_16] = Element(32, Packing.SUBSAMPLED, 1, 1)
    for name in ("BC1", "BC4", "ETC2_64BPP"):
        rows[Format[name]] = Element(64, Packing.BLOCK, 4, 4)
    for name in ("BC2", "BC3", "BC5", "BC6", "BC7", "ETC2_128BPP"):
        rows[Format[name]] = Element(128, Packing.BLOCK, 4, 4)
    for fmt in Format:
        if fmt.name.startswith("ASTC_"):
            width, height = map(int, fmt.name[5:].split("X"))
            rows[fmt] = Element(128, Packing.BLOCK, width, height)
    return {int(fmt): row for fmt, row in rows.items()}


_ELEMENTS = _rows()


def element(fmt: int, level: int) -> Element | None:
    """Return what an element of format `fmt` is at hardware level `level`, or None if the number names no format.

    Before GFX10 a subsampled pair of 8-bit texels is two elements of 16 bits.
    """
    if not has_subsampled_elements(level) and fmt in (Format.FMT_GB_GR, Format.FMT_BG_RG):
        return Element(16, Packing.SUBSAMPLED, 1, 1)
    return _ELEMENTS.get(fmt)


def _columns(level: int) -> NDArray[np.int32]:
    table = np.zeros((4, 256), np.int32)
    table[2:] = 1
    for fmt in range(256):
        row = element(fmt, level)
        if row:
            table[:, fmt] = row.bits, row.packing, row.expand_x, row.expand_y
    return table


ELEMENT_BITS, PACKING, EXPAND_X, EXPAND_Y = np.stack([_columns(90), _columns(100)], axis=1)
"""Columns of the table for kernels, ``[format_table(level), format number]``; bits 0 where the number names no format."""


def format_table(level: int) -> int:
    """Return the first index of the columns for kernels: 0 before GFX10, 1 since GFX10."""
    return int(has_subsampled_elements(level))
