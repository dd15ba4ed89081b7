"""The table of generations: which code each chip's surfaces go to, and that a level without rules is refused."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import pytest

from pyaco.addrlib import SurfaceRequest, compute_surface, gpu_config, gpu_configs, surface_info
from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.enums import SwizzleMode
from pyaco.addrlib.generations import Generation
from pyaco.addrlib.metadata import HtileRequest, htile_info
from pyaco.errors import UnsupportedError
from pyaco.targets.features import has_gfx12_swizzle_modes, has_metadata_surfaces, has_swizzle_modes


@pytest.mark.parametrize("config", gpu_configs(), ids=lambda config: config.name)
def test_rules_agree_with_the_features(config: GpuConfig) -> None:
    rules = config.rules
    assert (rules.library > 1) == has_swizzle_modes(config.level)
    assert (rules.library > 2) == has_gfx12_swizzle_modes(config.level)
    assert (rules.metadata is not None) == (has_swizzle_modes(config.level) and has_metadata_surfaces(config.level))
    assert rules.generation == config.generation and config.level // 10 - rules.generation in (0, 1)
    assert hasattr(import_module(f"pyaco.addrlib.driver.{rules.driver}"), "compute_surface")
    if rules.metadata:
        assert hasattr(import_module(f"pyaco.addrlib.metadata.{rules.metadata}"), "htile_info")


def test_every_generation_has_a_chip() -> None:
    assert {config.generation for config in gpu_configs()} == set(Generation)


def test_a_level_without_rules_is_refused() -> None:
    """CDNA's surfaces are not those of the generation with the next lower number."""
    unknown = replace(gpu_config("vega10"), name="unknown", level=94)
    with pytest.raises(UnsupportedError, match="level 94"):
        compute_surface(unknown, SurfaceRequest(64, 64, 4))
    with pytest.raises(UnsupportedError, match="level 94"):
        surface_info(unknown, width=64, bpp=32)
    with pytest.raises(UnsupportedError, match="level 94"):
        htile_info(unknown, HtileRequest(SwizzleMode.SW_64KB_Z_X, 64, 64))
