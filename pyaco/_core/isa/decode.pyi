from typing import Any

import numpy as np
import numpy.typing as npt

def decode_words(words: npt.NDArray[np.uint32], gfx_level: int, position: int = 0) -> dict[str, Any]: ...
