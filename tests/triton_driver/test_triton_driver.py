"""Triton kernels, compiled by Triton's AMD backend, on the emulator; NumPy arrays are enough for them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

from pyaco.emu import MemoryFault
from pyaco.errors import InputError, UnsupportedError

pytest.importorskip("triton", reason="Triton is a gigabyte, which continuous integration does not install")
import triton_kernels as kernels

from pyaco import triton as emulated
from pyaco.triton import Array

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1150", "gfx1200", "gfx1201")


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    with emulated.activate(request.param):
        yield request.param


@pytest.fixture
def gfx942() -> Iterator[str]:
    with emulated.activate("gfx942"):
        yield "gfx942"


def random(*shape: int, dtype: Any = numpy.float32) -> numpy.ndarray[Any, Any]:
    return numpy.random.default_rng(1).standard_normal(shape).astype(dtype)


def test_vector_add(target: str) -> None:
    x, y, out = random(1000), random(2000)[1000:], numpy.zeros(1000, numpy.float32)
    kernels.add[(4,)](Array(x), Array(y), Array(out), 1000, BLOCK=256)
    numpy.testing.assert_array_equal(out, x + y)
