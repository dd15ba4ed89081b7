"""The coordinates that AMD's own address library returns for an address, which are not always those that have this address.

AddrComputeSurfaceCoordFromAddr (siaddrlib, 24.3) undoes neither the pipe swizzle nor the rotation of pipes from slice to slice in 3D
modes, takes x of P4_8x16 from the wrong pipe bit, lets the banks of PRT modes depend on whole coordinates, and does not support 16 pipes.
`SurfaceAddresses.coordinates` is correct in all these cases; this module is for comparison with tools that rely on the library.
"""

from __future__ import annotations

from pyaco.addrlib.v1 import modes
from pyaco.addrlib.v1.address import coordinates, pipe_rotation
from pyaco.addrlib.v1.queries import SurfaceAddresses
from pyaco.errors import UnsupportedError

__all__ = ["library_coordinates"]

# The same modes, with pipes and banks that depend on whole coordinates.
_WITH_WHOLE_COORDINATES = {modes.PRT_TILED_THIN1: modes.PRT_2D_TILED_THIN1, modes.PRT_TILED_THICK: modes.PRT_2D_TILED_THICK}


def library_coordinates(addresses: SurfaceAddresses, address: int) -> tuple[int, int, int, int]:
    """Return x, y, slice and sample as AddrComputeSurfaceCoordFromAddr does.

    Raises
    ------
    InputError
        If the surface has no such byte.
    UnsupportedError
        If the surface is spread over 16 pipes, which the library's inverse does not support.
    """
    correct = addresses.coordinates(address)
    a = addresses.parameters
    if not modes.IS_MACRO[a.mode]:
        return correct
    if a.pipes == 16:
        raise UnsupportedError("the library's coordinates of an address on 16 pipes")
    pipe = address // a.interleave_bytes % a.pipes
    decoded = (pipe & 1) * 3 if a.info.pipe_config == modes.PipeConfig.P4_8X16 else pipe
    # The library does not undo swizzle and rotation: applied here, they cancel what `coordinates` undoes.
    decoded = (decoded ^ (a.pipe_swizzle + pipe_rotation(a, correct[2] // modes.THICKNESS[a.mode]))) & (a.pipes - 1)
    a = a._replace(mode=_WITH_WHOLE_COORDINATES.get(a.mode, a.mode))
    return coordinates(a, addresses.hidden_of_channel, address + (decoded - pipe) * a.interleave_bytes)
