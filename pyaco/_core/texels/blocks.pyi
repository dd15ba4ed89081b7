from typing import Any

from numpy.typing import NDArray

CODECS: dict[str, int]
INTERPOLATIONS: dict[str, int]

def describe(codec: int, block: tuple[int, int, int]) -> tuple[int, int]: ...
def decode_image(
    data: NDArray[Any], out: NDArray[Any], codec: int, block: tuple[int, int, int], size: tuple[int, int, int], interpolation: int
) -> None: ...
