"""The coordinates that AMD's own address library names for an address, where they are not the ones that the address came from.

AddrComputeSurfaceCoordFromAddr (siaddrlib, 24.3) does not undo the pipe swizzle nor the turn of pipes from slice to slice of 3D modes,
takes x of P4_8x16 from the wrong pipe bit, lets the banks of partially resident tiles depend on whole coordinates, and knows no 16 pipes.
`SurfaceAddresses.coordinates` is right in all of these; this module is for comparing with tools that trust the library.
"""

from __future__ import annotations

from pyaco.addrlib.v1 import modes
from pyaco.addrlib.v1.address import coordinates, pipe_rotation
from pyaco.addrlib.v1.queries import SurfaceAddresses
from pyaco.errors import UnsupportedError

__all__ = ["library_coordinates"]

# Modes without rotation, whose pipes and banks do depend on whole coordinates.
_WHOLE = {modes.PRT_TILED_THIN1: modes.PRT_2D_TILED_THIN1, modes.PRT_TILED_THICK: modes.PRT_2D_TILED_THICK}


def library_coordinates(addresses: SurfaceAddresses, address: int) -> tuple[int, int, int, int]:
    """Return x, y, slice and sample as AddrComputeSurfaceCoordFromAddr does.

    Raises
    ------
    InputError
        If the surface has no such byte.
    UnsupportedError
        If the surface is spread over 16 pipes, of which the library knows no way back.
    """
    place = addresses.coordinates(address)
    a = addresses.parameters
    if not modes.IS_MACRO[a.mode]:
        return place
    if a.pipes == 16:
        raise UnsupportedError("the library's way back from an address on 16 pipes")
    pipe = address // a.interleave_bytes % a.pipes
    taken = (pipe & 1) * 3 if a.info.pipe_config == modes.PipeConfig.P4_8X16 else pipe
    # What the right way back will undo, and the library does not.
    taken = (taken ^ (a.pipe_swizzle + pipe_rotation(a, place[2] // modes.THICKNESS[a.mode]))) & (a.pipes - 1)
    return coordinates(a._replace(mode=_WHOLE.get(a.mode, a.mode)), addresses.hidden_of, address + (taken - pipe) * a.interleave_bytes)
