"""A picture of a block: where each texel lies, and the path through them in the order of addresses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco.addrlib.formatted import Surface
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.features import has_swizzle_modes

__all__ = ["block_order", "plot"]

_MOST_LABELS = 256
_DEFAULT_EXTENT = 64


def _block(surface: Surface) -> tuple[int, int]:
    """Return width and height of a block in elements; before GFX9, and where there are no blocks, a square piece."""
    layout: Any = surface.layout
    if has_swizzle_modes(surface.config.level) and not layout.is_linear:
        from pyaco.addrlib.swizzle import swizzle_tables

        volume, samples = int(layout.resource_type == 2), surface.request.samples.bit_length() - 1
        extent = swizzle_tables(surface.config).extent[volume, layout.swizzle_mode, surface.element_bytes.bit_length() - 1, samples]
        return 1 << int(extent[0]), 1 << int(extent[1])
    return _DEFAULT_EXTENT, _DEFAULT_EXTENT


@checked
def block_order(surface: Surface, *, width: int | None = None, height: int | None = None) -> NDArray[np.int64]:
    """Return the rank of each element's address in the first block of level 0.

    Parameters
    ----------
    surface : Surface
    width, height : int, optional
        Elements to look at from the upper left corner; by default the block (64 by 64 before GFX9), as far as the surface goes.

    Returns
    -------
    numpy.ndarray
        int64, shape (height, width): 0 for the element with the lowest address, and so on.

    Raises
    ------
    InputError
        More elements than level 0 has.
    """
    level = surface.level_shape()
    block = _block(surface)
    columns = min(block[0], level[2]) if width is None else width
    lines = min(block[1], level[1]) if height is None else height
    if not (0 < columns <= level[2] and 0 < lines <= level[1]):
        raise InputError(f"{columns} x {lines} elements of a level of {level[2]} x {level[1]}")
    addresses = surface.tiled.addresses(np.arange(columns), np.arange(lines)[:, None])
    order = np.empty(addresses.size, np.int64)
    order[np.argsort(addresses, axis=None)] = np.arange(addresses.size)
    return order.reshape(addresses.shape)


@checked
def plot(surface: Surface, axes: Any = None, *, width: int | None = None, height: int | None = None) -> Any:
    """Draw a block: elements coloured by their place in memory, with the path from each to the next.

    Parameters
    ----------
    surface : Surface
    axes : matplotlib.axes.Axes, optional
        Where to draw; a new figure by default.
    width, height : int, optional
        See `block_order`.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    UnsupportedError
        If matplotlib is not installed.
    """
    order = block_order(surface, width=width, height=height)
    try:
        import matplotlib.pyplot
    except ImportError:
        raise UnsupportedError("drawing without matplotlib: pip install pyaco[plot]") from None
    if axes is None:
        _, axes = matplotlib.pyplot.subplots()
    if not hasattr(axes, "imshow"):
        raise InputError(f"axes to draw in are those of matplotlib, not {axes!r}")
    axes.imshow(order, cmap="viridis")
    y, x = np.unravel_index(np.argsort(order, axis=None), order.shape)
    axes.plot(x, y, color="white", linewidth=0.5)
    if order.size <= _MOST_LABELS:
        for (row, column), rank in np.ndenumerate(order):
            axes.text(column, row, str(rank), ha="center", va="center", fontsize=6, color="black" if 2 * rank > order.size else "white")
    axes.set(xlabel="x (elements)", ylabel="y (elements)", title=f"{surface.swizzle_mode}, {surface.format.name}, {surface.config.name}")
    return axes
