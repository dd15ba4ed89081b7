"""Whose rules the surfaces of a hardware level follow: one table, by which every query finds its code.

What a level has or lacks is asked by name instead (`pyaco.targets.features`). Source: the classes of AMD's address library (SiLib, CiLib,
Gfx9Lib, Gfx10Lib, Gfx11Lib, Gfx12Lib) and the chips that each of them serves (``addrlib.cpp``).
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from pyaco.errors import UnsupportedError

__all__ = ["Generation", "Rules", "rules_of"]


class Generation(IntEnum):
    """Generations whose surfaces have rules of their own, oldest first; GFX7 stands for GFX8 too."""

    GFX6 = 6
    GFX7 = 7
    GFX9 = 9
    GFX10 = 10
    GFX11 = 11
    GFX12 = 12


class Rules(NamedTuple):
    """The code that lays out and addresses the surfaces of a generation.

    Attributes
    ----------
    generation : Generation
    library : int
        Version of AMD's library: the room `v1`, `v2` or `v3`.
    driver : str
        Module of the room `driver`.
    metadata : str or None
        Module of the room `metadata`; None: `v1` has the metadata of GFX6 to GFX8, GFX12 has none.
    """

    generation: Generation
    library: int
    driver: str
    metadata: str | None


_GFX6 = Rules(Generation.GFX6, 1, "gfx6", None)
_GFX7 = Rules(Generation.GFX7, 1, "gfx6", None)
_GFX9 = Rules(Generation.GFX9, 2, "gfx9", "gfx9")
_GFX10 = Rules(Generation.GFX10, 2, "gfx9", "gfx10")
_GFX11 = Rules(Generation.GFX11, 2, "gfx9", "gfx10")
_GFX12 = Rules(Generation.GFX12, 3, "gfx12", None)

_RULES = {
    60: _GFX6, 70: _GFX7, 80: _GFX7, 81: _GFX7, 90: _GFX9, 100: _GFX10, 103: _GFX10, 110: _GFX11, 115: _GFX11, 120: _GFX12,
}


def rules_of(level: int) -> Rules:
    """Return the rules for a hardware level, such as 103 for GFX10.3.

    Raises
    ------
    UnsupportedError
        A level whose surfaces are not known.
    """
    try:
        return _RULES[level]
    except KeyError:
        raise UnsupportedError(f"surfaces of hardware level {level}") from None
