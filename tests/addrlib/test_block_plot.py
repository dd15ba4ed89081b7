"""Pictures of blocks."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from pyaco.addrlib import Surface, block_order, plot
from pyaco.errors import InputError, UnsupportedError


@pytest.mark.parametrize(("chip", "shape"), [("gfx1030", (128, 128)), ("vega10", (128, 128)), ("gfx1201", (32, 32)), ("tonga", (64, 64))])
def test_order_is_a_permutation_in_the_order_of_addresses(chip: str, shape: Any) -> None:
    surface = Surface(chip, width=300, height=300)
    order = block_order(surface)
    assert order.shape == shape
    y, x = np.unravel_index(np.argsort(order, axis=None), shape)
    addresses = surface.address(x, y)
    assert (np.diff(addresses) > 0).all()
    if chip != "tonga":
        assert addresses[0] == 0
        assert addresses[-1] == order.size * 4 - 4


def test_linear_order_is_by_rows() -> None:
    surface = Surface("navi31", width=16, height=4, linear=True)
    np.testing.assert_array_equal(block_order(surface), np.arange(64).reshape(4, 16))
    with pytest.raises(InputError, match="17 x 4"):
        block_order(surface, width=17)


def test_drawing() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = plot(Surface("gfx1030", width=300, height=300), width=8, height=8)
    assert [text.get_text() for text in axes.texts][:2] == ["0", "1"]
    assert len(axes.lines[0].get_xdata()) == 64
    assert "64KB_R_X" in axes.get_title()


def test_drawing_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(UnsupportedError, match="matplotlib"):
        plot(Surface("gfx1030", width=300, height=300))
