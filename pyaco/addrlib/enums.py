"""Enumerations of surface addressing: swizzle modes, resource types, surface flags, status codes.

Numbers are those of AMD's addrlib interface (``addrtypes.h``, ``addrinterface.h``), because drivers, descriptors and DRM modifiers
carry them.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from typing import NoReturn

from pyaco.errors import InputError, UnsupportedError

__all__ = [
    "BlockSet", "ResourceLocation", "ResourceType", "Status", "SurfaceFlags", "SurfaceFlags3", "SwizzleMode", "SwizzleMode3", "SwizzleType",
    "raise_status",
]


class Status(IntEnum):
    """Outcome of one query of a batch; the numbers are addrlib's return codes."""

    OK = 0
    INVALID_PARAMETERS = 3
    NOT_SUPPORTED = 4
    NOT_IMPLEMENTED = 5


def in_words(name: str, config_name: str, *, width: int, height: int, format: int = 0, bpp: int = 0, **others: int) -> str:
    """Say which surface a query is about, for an error message: what is 0 or 1 goes without saying, but for the swizzle mode."""
    kind = f"format {format:#x}" if format else f"{bpp} bits"
    said = ", ".join(f"{key.replace('_', ' ')} {int(value)}" for key, value in others.items() if value > 1 or key == "swizzle_mode")
    return f"{name} on {config_name}: {width} x {height}, elements of {kind}, {said}"


def raise_status(status: int, what: str) -> NoReturn:
    """Raise the exception that `status` stands for: InputError, or UnsupportedError."""
    if status == Status.INVALID_PARAMETERS:
        raise InputError(f"{what}: no such surface on this chip (invalid parameters)")
    raise UnsupportedError(f"{what}: not supported on this chip")


class ResourceType(IntEnum):
    """Dimensions of a resource (cubes and arrays are 2D with slices)."""

    TEX_1D = 0
    TEX_2D = 1
    TEX_3D = 2


class ResourceLocation(IntEnum):
    """Heap in which a resource lives."""

    UNDEFINED = 0
    LOCAL = 1
    WRITE_COMBINED = 2
    CACHED = 3
    INVISIBLE = 4


class SwizzleType(IntEnum):
    """Order of texels in the smallest block."""

    Z = 0
    S = 1
    D = 2
    R = 3
    L = 4


class SwizzleMode(IntEnum):
    """Swizzle modes of GFX9 to GFX11.5. 28 to 31 are VAR on GFX10.3 and 256KB on GFX11."""

    LINEAR = 0
    SW_256B_S = 1
    SW_256B_D = 2
    SW_256B_R = 3
    SW_4KB_Z = 4
    SW_4KB_S = 5
    SW_4KB_D = 6
    SW_4KB_R = 7
    SW_64KB_Z = 8
    SW_64KB_S = 9
    SW_64KB_D = 10
    SW_64KB_R = 11
    SW_64KB_Z_T = 16
    SW_64KB_S_T = 17
    SW_64KB_D_T = 18
    SW_64KB_R_T = 19
    SW_4KB_Z_X = 20
    SW_4KB_S_X = 21
    SW_4KB_D_X = 22
    SW_4KB_R_X = 23
    SW_64KB_Z_X = 24
    SW_64KB_S_X = 25
    SW_64KB_D_X = 26
    SW_64KB_R_X = 27
    SW_256KB_Z_X = 28
    SW_256KB_S_X = 29
    SW_256KB_D_X = 30
    SW_256KB_R_X = 31
    LINEAR_GENERAL = 32
    SW_VAR_Z_X = 28
    SW_VAR_R_X = 31


class SwizzleMode3(IntEnum):
    """Swizzle modes of GFX12."""

    LINEAR = 0
    SW_256B_2D = 1
    SW_4KB_2D = 2
    SW_64KB_2D = 3
    SW_256KB_2D = 4
    SW_4KB_3D = 5
    SW_64KB_3D = 6
    SW_256KB_3D = 7


class SurfaceFlags(IntFlag):
    """What a surface of GFX9 to GFX11.5 is used for, and what is asked of its layout."""

    COLOR = 1 << 0
    DEPTH = 1 << 1
    STENCIL = 1 << 2
    FMASK = 1 << 3
    OVERLAY = 1 << 4
    DISPLAY = 1 << 5
    PRT = 1 << 6
    QB_STEREO = 1 << 7
    INTERLEAVED = 1 << 8
    TEXTURE = 1 << 9
    UNORDERED = 1 << 10
    ROTATED = 1 << 11
    NEED_EQUATION = 1 << 12
    OPTIMIZE_FOR_SPACE = 1 << 13
    MINIMIZE_ALIGN = 1 << 14
    NO_METADATA = 1 << 15
    META_RB_UNALIGNED = 1 << 16
    META_PIPE_UNALIGNED = 1 << 17
    VIEW_3D_AS_2D_ARRAY = 1 << 18
    ALLOW_EXTENDED_EQUATION = 1 << 19


class SurfaceFlags3(IntFlag):
    """What a surface of GFX12 is used for."""

    COLOR = 1 << 0
    DEPTH = 1 << 1
    STENCIL = 1 << 2
    TEXTURE = 1 << 3
    UNORDERED = 1 << 4
    HIZ_HIS = 1 << 5
    BLOCK_COMPRESSED = 1 << 6
    NV12 = 1 << 7
    P010 = 1 << 8
    VIEW_3D_AS_2D_ARRAY = 1 << 9
    VRS_IMAGE = 1 << 10


class BlockSet(IntFlag):
    """Sets of block sizes, of the preferred-setting query (bits 5 and 6 differ: VAR on GFX10.3, 256KB on GFX11)."""

    MICRO = 1 << 0
    THIN_4KB = 1 << 1
    THICK_4KB = 1 << 2
    THIN_64KB = 1 << 3
    THICK_64KB = 1 << 4
    VAR = 1 << 5
    THIN_256KB = 1 << 5
    THICK_256KB = 1 << 6
    LINEAR = 1 << 7
