"""The table of features: every row has a function, and levels are where the sources put them."""

from __future__ import annotations

import pytest

import pyaco
from pyaco import emu, isa, targets
from pyaco.isa.processors import processor, processors
from pyaco.targets import features

LEVELS = sorted({processor(name)[1] for name in processors()})


def test_every_row_is_a_function_and_every_function_a_row() -> None:
    assert {f"has_{name}" for name in features.features()} == set(features.__all__)
    for name in features.__all__:
        assert getattr(features, name).__name__ == name


def test_ranges_are_of_levels_that_there_are() -> None:
    for name, ranges in features.features().items():
        assert ranges == tuple(sorted(ranges)), name
        for first, last in ranges:
            assert first <= last and any(first <= level <= last for level in LEVELS), (name, first, last)


@pytest.mark.parametrize("target", processors())
def test_what_the_package_does_with_a_target(target: str) -> None:
    """The rows `assembler` and `emulator` are what these do; `compiler` what `pyaco.compile` does with the chips that it knows."""
    level = processor(target)[1]
    assert features.has_assembler(level) and isa.assemble("s_endpgm", target)
    if features.has_emulator(level):
        assert emu.Device(target).gfx_level == level
    else:
        with pytest.raises(pyaco.UnsupportedError, match="emulation"):
            emu.Device(target)


@pytest.mark.parametrize("chip", targets.chips(), ids=lambda chip: chip.target)
def test_what_compiles(chip: targets.Chip) -> None:
    source = "examples/matmul.spv"
    if features.has_compiler(chip.level):
        assert pyaco.compile(source, chip.target, stop_after="spirv.read").target == chip.target
    else:
        with pytest.raises(pyaco.UnsupportedError, match="no compiler"):
            pyaco.compile(source, chip.target)
