"""Records in real pipeline caches of RADV: their code is what the driver disassembles, their registers what its statistics say."""

from __future__ import annotations

import pytest
from cases import CASES
from vulkan_peer import Radv

from pyaco.binary import read_radv_shaders
from pyaco.binary.radv import pipeline_cache_device
from pyaco.targets.database import pci_chip

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("target", ["gfx900", "gfx1030"])
def test_records_are_what_radv_compiles(target: str) -> None:
    radv = Radv(target)
    for case in CASES.values():
        spirv, spec = case.spirv.read_bytes(), dict(case.spec)
        compiled = radv.compile(spirv, spec=spec)
        data = radv.pipeline_cache(spirv, spec=spec)
        (shader,) = read_radv_shaders(data)
        device = pipeline_cache_device(data)
        assert device is not None and pci_chip(device).target == target
        assert compiled.code.startswith(shader.code) and len(shader.code) == compiled.statistics["Code size"], case.name
        config = shader.config
        found = (config["num_sgprs"], config["num_vgprs"], config["spilled_sgprs"], config["scratch_bytes_per_wave"])
        names = ("SGPRs", "VGPRs", "Spilled SGPRs", "Scratch size")
        assert found == tuple(compiled.statistics[name] for name in names), case.name
