from typing import Any

import numpy as np
import numpy.typing as npt

def decode_words(words: npt.NDArray[np.uint32], gfx_level: int, position: int = 0) -> dict[str, Any]: ...
def decode_records(words: Any, gfx_level: int, out: Any, offsets: Any, size: int) -> int: ...

RECORD: dict[str, list[str]]
