import numpy
from numpy.typing import NDArray

UNITS: tuple[str, ...]

def costs_of_opcodes(gfx_level: int, wave_size: int) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]: ...
