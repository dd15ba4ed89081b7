"""Records in real pipeline caches of RADV: their code is what the driver disassembles, their registers what its statistics say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cases import CASES, Case
from vulkan_peer import Radv

import pyaco
from pyaco.binary import read_radv_shaders
from pyaco.binary.radv import pipeline_cache_device
from pyaco.registers import program_registers, registers
from pyaco.targets import features
from pyaco.targets.database import pci_chip

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("target", ["gfx803", "gfx900", "gfx1010", "gfx1030"])
def test_records_are_what_radv_compiles(target: str) -> None:
    radv = Radv(target)
    for case in CASES.values():
        spirv, spec = case.spirv.read_bytes(), dict(case.spec)
        compiled = radv.compile(spirv, 64, spec)
        data = radv.pipeline_cache(spirv, 64, spec)
        (shader,) = read_radv_shaders(data)
        device = pipeline_cache_device(data)
        assert device is not None and pci_chip(device).target == target
        assert compiled.code.startswith(shader.code) and len(shader.code) == compiled.statistics["Code size"], case.name
        config = shader.config
        found = (config["num_sgprs"], config["num_vgprs"], config["spilled_sgprs"], config["scratch_bytes_per_wave"])
        names = ("SGPRs", "VGPRs", "Spilled SGPRs", "Scratch size")
        assert found == tuple(compiled.statistics[name] for name in names), case.name
        assert config["rsrc1"] == first_register(case, target, config), case.name


def first_register(case: Case, target: str, config: dict[str, int]) -> int:
    """COMPUTE_PGM_RSRC1 as we write it of a shader with RADV's numbers of registers and its mode of floats."""
    abi = pyaco.compile(case.spirv, target=target, spec=case.spec, wave=64).abi
    assert abi is not None
    level = pyaco.targets.chip(target).level
    abi = replace(abi, wgp_mode=features.has_wgp_mode(level), num_sgprs=config["num_sgprs"], num_vgprs=config["num_vgprs"],
                  num_shared_vgprs=config["num_shared_vgprs"], float_mode=config["float_mode"])  # fmt: skip
    return registers(level)["COMPUTE_PGM_RSRC1"].encode(**program_registers(abi, level)["COMPUTE_PGM_RSRC1"])
