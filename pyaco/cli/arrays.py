"""Arrays in files: ``.npy``, or bytes."""

from __future__ import annotations

import io
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco.cli.command_line import read_bytes, write_bytes
from pyaco.errors import InputError

__all__ = ["array_of", "read_array", "write_array"]


def array_of(text: str) -> NDArray[Any]:
    """Return what ``FILE`` or ``zeros:BYTES`` stands for, in one piece of memory."""
    kind, separator, size = text.partition(":")
    if kind != "zeros" or not separator:
        return np.ascontiguousarray(read_array(text))
    try:
        return np.zeros(int(size, 0), np.uint8)
    except ValueError:
        raise InputError(f"{text}: expected zeros:BYTES, for example zeros:16384") from None
    except MemoryError:
        raise InputError(f"{text}: more than the memory there is") from None


def read_array(path: str) -> NDArray[Any]:
    """Return the array of a ``.npy`` file, or the bytes of any other."""
    data = read_bytes(path)
    if not path.endswith(".npy"):
        return np.frombuffer(data, np.uint8)
    try:
        return np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, EOFError, OSError, MemoryError, OverflowError, TokenError) as error:  # what Python says of a damaged header
        raise InputError(f"{path}: {error}") from None


def write_array(path: str, array: NDArray[Any]) -> None:
    """Write an array as ``.npy``, or its bytes."""
    file = io.BytesIO()
    if path.endswith(".npy"):
        np.save(file, array)
    write_bytes(path, file.getvalue() if path.endswith(".npy") else array.tobytes())
