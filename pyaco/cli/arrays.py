"""Arrays in files: ``.npy``, or bytes."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco.cli.shared import read_bytes, write_bytes
from pyaco.errors import InputError

__all__ = ["read_array", "write_array"]


def read_array(path: str) -> NDArray[Any]:
    """Return the array of a ``.npy`` file, or the bytes of any other."""
    data = read_bytes(path)
    if not path.endswith(".npy"):
        return np.frombuffer(data, np.uint8)
    try:
        return np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InputError(f"{path}: {error}") from None


def write_array(path: str, array: NDArray[Any]) -> None:
    """Write an array as ``.npy``, or its bytes."""
    file = io.BytesIO()
    if path.endswith(".npy"):
        np.save(file, array)
    write_bytes(path, file.getvalue() if path.endswith(".npy") else array.tobytes())
