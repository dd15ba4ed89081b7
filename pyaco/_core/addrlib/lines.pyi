from typing import Any

import numpy as np
from numpy.typing import NDArray

VECTOR_BITS: int

def move_lines(
    memory: NDArray[np.uint8], texels: NDArray[np.uint8], columns: NDArray[np.int64], rows: NDArray[np.int64], low: int, base: int, place: int,
    pitch: int, order: Any, to_memory: bool, past_caches: bool, run: tuple[int, int, int], vector_bits: int,
) -> None: ...
