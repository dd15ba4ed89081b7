"""The table of limits in docs/hardware.md is what `pyaco.targets` says."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyaco import targets
from pyaco.targets import features

DOCUMENT = Path(__file__).parents[2] / "docs/hardware.md"


def rows() -> list[list[str]]:
    """The cells of the table's rows."""
    lines = DOCUMENT.read_text().partition("<!-- Checked by")[2].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| gfx")]


def both(wide: int, narrow: int | None) -> str:
    return str(wide) if narrow is None else f"{wide} / {narrow}"


@pytest.mark.parametrize("cells", rows(), ids=lambda cells: cells[0])
def test_limits(cells: list[str]) -> None:
    chip = targets.chip(cells[0])
    wide = targets.wave_limits(chip, 64 if features.has_wave64(chip.level) else 32)
    narrow = targets.wave_limits(chip, 32) if features.has_wave32(chip.level) and features.has_wave64(chip.level) else None
    assert cells == [
        chip.target, chip.level_name, chip.architecture, str(wide.max_waves_per_simd),
        both(wide.physical_vgprs, narrow.physical_vgprs if narrow else None),
        both(wide.vgpr_allocation_granule, narrow.vgpr_allocation_granule if narrow else None),
        str(wide.sgpr_limit), str(wide.lds_limit), str(wide.lds_allocation_granule), f"{wide.scratch_offset_min} to {wide.scratch_offset_max}",
    ]  # fmt: skip


def test_every_level_has_a_row() -> None:
    assert {targets.chip(cells[0]).level for cells in rows()} == {chip.level for chip in targets.chips()}
