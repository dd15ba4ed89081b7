"""Targets: names, limits, occupancy."""

from __future__ import annotations

import pytest

import pyaco
from pyaco import targets


@pytest.mark.parametrize("name", ["gfx1100", "navi31", "RX 7900 XTX", "AMD Radeon RX 7900 XTX", "rx7900xtx"])
def test_names_of_one_chip(name: str) -> None:
    assert targets.chip(name).target == "gfx1100"


def test_unknown_name_lists_what_is_known() -> None:
    with pytest.raises(pyaco.InputError, match="gfx1030"):
        targets.chip("gfx9999")


def test_cdna_is_between_gfx9_and_gfx10() -> None:
    assert targets.chip("MI300X").target == "gfx942" and targets.chip("gfx90a").level_name == "CDNA 2"
    assert all(90 < chip.level < 100 for chip in targets.chips() if chip.is_cdna)


def test_wave32_needs_rdna() -> None:
    with pytest.raises(pyaco.UnsupportedError, match="wave32"):
        targets.wave_limits("gfx900", 32)


# Waves per SIMD from AMD's occupancy tables: register file over the allocated size.
@pytest.mark.parametrize(
    ("target", "wave", "vgprs", "waves"),
    [
        ("gfx1030", 64, 32, 16), ("gfx1030", 64, 33, 12), ("gfx1030", 32, 64, 16), ("gfx1030", 32, 128, 8),
        ("gfx1100", 64, 48, 16), ("gfx1100", 64, 96, 8), ("gfx1100", 32, 96, 16), ("gfx1100", 32, 256, 5),
        ("gfx90a", 64, 64, 8), ("gfx90a", 64, 128, 4), ("gfx942", 64, 512, 1), ("gfx908", 64, 24, 10),
        ("gfx900", 64, 24, 10), ("gfx900", 64, 25, 9), ("gfx900", 64, 128, 2), ("gfx900", 64, 257, 0),
    ],
)
def test_occupancy_by_vector_registers(target: str, wave: int, vgprs: int, waves: int) -> None:
    assert targets.occupancy(target, wave=wave, vgprs=vgprs) == waves


def test_occupancy_by_lds() -> None:
    # Two groups of 32 KiB fit each compute unit's 64 KiB; a pair has four SIMDs, a group has four waves of 64.
    assert targets.occupancy("gfx1030", wave=64, vgprs=24, lds_bytes=32768, workgroup_size=256) == 4
    assert targets.occupancy("gfx900", wave=64, vgprs=24, lds_bytes=65536, workgroup_size=256) == 1
