"""Memory of the host that devices, drivers and tiling work on."""

from __future__ import annotations

import numpy
from numpy.typing import NDArray

__all__ = ["zeros_at_line"]

_LINE_BYTES = 64


def zeros_at_line(size: int) -> NDArray[numpy.uint8]:
    """Return zeros that begin where a line of the host's cache does: rows of lanes, and squares of texels, then lie in as few lines as they can."""
    memory = numpy.zeros(size + _LINE_BYTES - 1, numpy.uint8)
    first = -memory.__array_interface__["data"][0] % _LINE_BYTES
    return memory[first : first + size]
