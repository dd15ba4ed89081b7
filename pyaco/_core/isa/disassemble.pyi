import numpy as np
import numpy.typing as npt

def disassemble_words(
    words: npt.NDArray[np.uint32], gfx_level: int, wave_size: int, gfx906: bool = False
) -> list[tuple[str | None, int, int]]: ...
