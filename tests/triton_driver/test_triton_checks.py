"""Planted defects in Triton kernels: each is found, and named with kernel and line; without the defect the same kernels run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
from numpy.typing import NDArray

from pyaco import emu
from pyaco.emu.checks import CHECKS

pytest.importorskip("triton", reason="Triton is not installed")
import defective_triton_kernels as kernels

from pyaco import triton as emulated
from pyaco.triton import Array

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
SOURCE = Path(kernels.__file__)
LINES = {line.split()[-1]: number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if "# DEFECT" in line}
Arguments = Callable[[], list[Any]]


def array(count: int, dtype: Any = numpy.int32) -> Array:
    return Array(numpy.zeros(count, dtype))


def parts(count: int, gap: int) -> tuple[Array, Array]:
    """Two arrays in one piece of memory, `gap` bytes of which lie between them."""
    memory, size = memoryview(bytearray(8 * count + gap)), 4 * count
    low: NDArray[Any] = numpy.frombuffer(memory[:size], numpy.int32)
    high: NDArray[Any] = numpy.frombuffer(memory[size + gap :], numpy.int32)
    return Array(low), Array(high)


def odd(count: int) -> Array:
    """An array whose elements lie across words."""
    return Array(numpy.frombuffer(memoryview(bytearray(4 * count + 4))[2 : 2 + 4 * count], numpy.int32))


# The check that finds a defect (none: it stops a launch without any), the error, the grid, and arguments with and without the defect.
DEFECTS: dict[str, tuple[str, type[emu.EmulationError], int, Arguments, Arguments]] = {
    "no_mask": ("", emu.MemoryFault, 4, lambda: [array(1000), array(1000), 1000, 256], lambda: [array(1024), array(1000), 1000, 256]),
    "wrong_stride": ("", emu.MemoryFault, 1, lambda: [*parts(256, 64), 2, 256], lambda: [*parts(256, 64), 1, 256]),
    "before_the_start": ("", emu.MemoryFault, 1, lambda: [array(64), array(64), 64],
                         lambda: [Array(numpy.zeros(65, numpy.int32)[1:]), array(64), 64]),
    "lost_update": ("races", emu.RaceError, 4, lambda: [array(1)], lambda: []),
    "overlapping_blocks": ("races", emu.RaceError, 4, lambda: [array(1024), 128, 256], lambda: [array(1024), 256, 256]),
    "neighbour": ("races", emu.RaceError, 1, lambda: [array(256), array(256), 256], lambda: []),
    "misaligned": ("memory", emu.MemoryFault, 1, lambda: [odd(8)], lambda: [array(8)]),
}  # fmt: skip


def launch(name: str, groups: int, arguments: list[Any]) -> None:
    getattr(kernels, name)[(groups,)](*arguments)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", DEFECTS)
def test_planted(name: str, target: str) -> None:
    """The defect is found by its check and by all, and by no other."""
    pytest.importorskip("elftools")
    check, kind, groups, defective, correct = DEFECTS[name]
    for checks in ([check], list(CHECKS)):
        with emulated.activate(target, check=[name for name in checks if name]):
            with pytest.raises(kind) as caught:
                launch(name, groups, defective())
            place = caught.value.place
            lines = {place["source"], place.get("earlier", place)["source"]}
            assert place["kernel"] == name and (SOURCE.name, LINES[name]) in lines, place
            assert f"kernel {name}: " in str(caught.value) and all(f"{file}:{line}" in str(caught.value) for file, line in lines)
            assert json.loads(json.dumps(caught.value.to_dict()))["kind"] == (check or "memory")
    if check:
        with emulated.activate(target, check=CHECKS.keys() - {check}):
            launch(name, groups, defective())
    if arguments := correct():
        with emulated.activate(target, check=CHECKS):
            launch(name, groups, arguments)


@pytest.mark.parametrize("target", TARGETS)
def test_barriers_and_atomics_order(target: str) -> None:
    """Waves that a barrier separates, programs with memory of their own, and atomics on one place are no race."""
    out = numpy.zeros(1024, numpy.int32)
    with emulated.activate(target, check=CHECKS):
        kernels.separate_programs[(1,)](Array(out), 256)
    assert out[1:256].tolist() == [index ^ 64 for index in range(1, 256)] and out[0] == 65
