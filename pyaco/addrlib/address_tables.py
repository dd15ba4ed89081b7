"""Addresses of many texels of one level from its four tables: by x, y, slice and sample.

What the tables give is xored in some bits of the address and added in the others (see `pyaco.addrlib.tiling`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyaco.addrlib.kernels import kernel
from pyaco.addrlib.records import Table
from pyaco.errors import InputError

__all__ = ["Axis", "look_up"]

Axis = NDArray[np.int64]
"""What each value of one coordinate gives."""


@kernel
def addresses_by_tables(
    xs: Table, ys: Table, zs: Table, ss: Table, low: int, x: Table, y: Table, z: Table, s: Table,
    steps: tuple[np.uint64, np.uint64, np.uint64, np.uint64], result: Table,
) -> int:
    """Look addresses up; return how many are out of bounds (the result is undefined then). A step of 0 repeats a coordinate."""
    wrong = 0
    width, height, depth, samples = np.uint64(len(xs)), np.uint64(len(ys)), np.uint64(len(zs)), np.uint64(len(ss))
    dx, dy, dz, ds = steps
    # Unsigned indices: numba would test signed ones for being negative.
    for i in range(np.uint64(len(result))):
        # A negative coordinate becomes a huge one.
        u, v, w, t = np.uint64(x[i * dx]), np.uint64(y[i * dy]), np.uint64(z[i * dz]), np.uint64(s[i * ds])
        if u < width and v < height and w < depth and t < samples:
            a, b, c, d = xs[u], ys[v], zs[w], ss[t]
            result[i] = (a & ~low) + (b & ~low) + (c & ~low) + (d & ~low) + ((a ^ b ^ c ^ d) & low)
        else:
            wrong += 1
    return wrong


def look_up(
    tables: tuple[Axis, Axis, Axis, Axis], low: int, coordinates: tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike],
    out: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Return byte addresses of texels; the coordinates x, y, slice, sample broadcast.

    Raises
    ------
    InputError
        If a coordinate is no integer or outside of its table, or `out` does not fit.
    """
    given = [np.asarray(c) for c in coordinates]
    for name, column in zip(("x", "y", "slice", "sample"), given, strict=True):
        if column.dtype.kind not in "iu" and column.size:
            raise InputError(f"{name} must be integers, not {column.dtype}")
    shape = np.broadcast_shapes(*(c.shape for c in given))
    result = np.empty(shape, np.int64) if out is None else out
    if result.shape != shape or result.dtype != np.int64 or not result.flags.c_contiguous or not result.flags.writeable:
        raise InputError(f"the result needs {shape} contiguous values of int64 that can be written")
    columns = [c.astype(np.int64, copy=False) for c in given]
    x, y, z, s = (np.ascontiguousarray(c if c.size == 1 else np.broadcast_to(c, shape)).reshape(-1) for c in columns)
    steps = np.uint64(len(x) > 1), np.uint64(len(y) > 1), np.uint64(len(z) > 1), np.uint64(len(s) > 1)
    wrong = addresses_by_tables(*tables, low, x, y, z, s, steps, result.reshape(-1))
    if wrong:
        extent = " x ".join(str(len(table)) for table in tables[:3])
        raise InputError(f"{wrong} texels are outside of {extent}, {len(tables[3])} samples")
    return result
