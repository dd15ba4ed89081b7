"""WGP mode: the waves of a workgroup on both compute units of a pair, from the option to waits, registers, code objects and the emulator."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]
import numpy as np
import pytest

import pyaco
from pyaco.binary.elf import read_elf
from pyaco.cli import main
from pyaco.compute_pipeline import Pipeline, PipelineCache, entry_of_shader, shader_of_entry
from pyaco.emu.errors import MissingWaitError
from pyaco.emu.occupancy import shader_occupancy
from pyaco.errors import InputError
from pyaco.pm4.build import DispatchStream
from pyaco.registers import registers
from pyaco.targets import occupancy_limits

PAIRS = ("gfx1010", "gfx1030", "gfx1100", "gfx1150", "gfx1200")
#: Each invocation reads what one of another wave wrote: no scope but the workgroup is named. 40,000 bytes of LDS besides.
SOURCE = """#version 450
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) coherent buffer Data { uint data[]; };
shared uint kept[10000];
void main() {
    uint i = gl_LocalInvocationIndex;
    uint first = gl_WorkGroupID.x * 512u;
    kept[i * 39u] = i;
    data[first + i] = i * 3u;
    controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared, gl_SemanticsAcquireRelease);
    data[first + 256u + i] = data[first + 255u - i] + kept[(255u - i) * 39u];
}
"""
EXPECTED = np.concatenate([np.arange(256) * 3, (255 - np.arange(256)) * 4]).astype(np.uint32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("glslangValidator") is None:
        pytest.skip("glslangValidator is not installed")
    return tmp_path_factory.mktemp("wgp")


def spirv(folder: Path, text: str) -> bytes:
    source, output = folder / "exchange.comp", folder / "exchange.spv"
    source.write_text(text)
    subprocess.run(["glslangValidator", "-V", "--target-env", "vulkan1.1", "-o", str(output), str(source)], check=True, capture_output=True)
    return output.read_bytes()


@pytest.fixture(scope="module")
def module(folder: Path) -> bytes:
    return spirv(folder, SOURCE)


def run(shader: Any, target: str) -> np.ndarray:
    device = pyaco.emu.Device(target, check_waits=True, check_races=True)
    data = device.zeros(4 * 1024)
    device.dispatch(shader, groups=(2, 1, 1), buffers={(0, 0): data})
    return data.numpy().view(np.uint32).reshape(2, 512)


@pytest.mark.parametrize("target", PAIRS)
def test_a_barrier_waits_for_memory_between_two_first_level_caches(folder: Path, target: str) -> None:
    """Loads that are not coherent do not count as atomic, so that the check sees what a barrier does not cover."""
    module = spirv(folder, SOURCE.replace("coherent ", ""))
    wide, narrow = pyaco.compile(module, target, wgp_mode=True), pyaco.compile(module, target)
    assert wide.abi is not None and wide.abi.wgp_mode and narrow.abi is not None and not narrow.abi.wgp_mode
    for shader in (wide, narrow):
        assert (run(shader, target) == EXPECTED).all()
    if target == "gfx1200":             # which waits in both modes
        assert wide.code == narrow.code
        return
    narrow.abi = replace(narrow.abi, wgp_mode=True)
    with pytest.raises(MissingWaitError, match="s_waitcnt_vscnt is missing"):
        run(narrow, target)


def test_chips_without_pairs_refuse(module: bytes) -> None:
    with pytest.raises(InputError, match="WGP mode: GFX9 has no pairs"):
        pyaco.compile(module, "gfx900", wgp_mode=True)
    with pytest.raises(InputError, match=r"WGP mode: GFX12\.5 has no pairs"):
        occupancy_limits("gfx1250", wave=32, wgp_mode=True)


@pytest.mark.parametrize(("target", "wgp_mode"), [("gfx900", False), *((target, mode) for target in PAIRS for mode in (False, True))])
def test_command_streams_and_code_objects_say_the_mode(module: bytes, target: str, wgp_mode: bool) -> None:
    shader = pyaco.compile(module, target, wgp_mode=wgp_mode)
    device = pyaco.emu.Device(target, check_waits=True, check_races=True)
    data = device.zeros(4 * 1024)
    register = registers(device.gfx_level)["COMPUTE_PGM_RSRC1"]
    with DispatchStream(device, shader, (2, 1, 1), {(0, 0): data}) as stream:
        values = {value.name: value.value for packet in pyaco.pm4.parse(stream.words, device.gfx_level) for value in packet.values}
        device.submit(stream.words)
    fields = register.decode(values["COMPUTE_PGM_RSRC1"])
    assert (fields.get("WGP_MODE", 0), fields.get("MEM_ORDERED", 0)) == (wgp_mode, target != "gfx900")
    assert (data.numpy().view(np.uint32).reshape(2, 512) == EXPECTED).all()
    (stage,) = _pipelines(shader.to_elf())
    assert (stage[".wgp_mode"], stage[".mem_ordered"]) == (wgp_mode, target != "gfx900")


def _pipelines(elf: bytes) -> list[dict[str, Any]]:
    ((_, contents),) = read_elf(elf).notes("AMDGPU")
    document = msgpack.unpackb(contents)
    return [pipeline[".hardware_stages"][".cs"] for pipeline in document["amdpal.pipelines"]]


def test_a_pair_of_units_has_twice_the_local_memory(module: bytes) -> None:
    """Of 40,000 bytes a unit holds one workgroup, a pair three."""
    workgroups = []
    for wgp_mode in (False, True):
        shader = pyaco.compile(module, "gfx1100", wgp_mode=wgp_mode)
        assert shader.abi is not None
        workgroups.append(shader_occupancy(shader.abi, "gfx1100").workgroups)
    assert workgroups == [1, 3]
    assert occupancy_limits("gfx1250", wave=32, lds_bytes=100_000, workgroup_size=256).workgroups == 3     # of 320 KiB, and no pair


def test_commands(module: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "exchange.spv"
    path.write_bytes(module)
    for options, waits in ((["--wgp-mode"], True), ([], False), (["--wgp-mode", "--cache", str(tmp_path)], True)):
        assert main(["compile", str(path), "--target", "gfx1100", *options]) == 0
        assert ("s_waitcnt_vscnt" in capsys.readouterr().out) is waits
    run_it = ["run", str(path), "--target", "gfx1100", "--wgp-mode", "--groups", "2,1,1", "--check", "waits,races", "--buffer", "0.0=zeros:4096"]
    saved = tmp_path / "data.bin"
    assert main([*run_it, "--save", f"0.0={saved}"]) == 0
    assert (np.frombuffer(saved.read_bytes(), np.uint32).reshape(2, 512) == EXPECTED).all()
    assert main(["compile", str(path), "--target", "gfx900", "--wgp-mode"]) == 2
    assert "GFX9 has no pairs of compute units" in capsys.readouterr().err
    elf = tmp_path / "kernel.elf"
    elf.write_bytes(pyaco.compile(module, "gfx1100").to_elf())
    assert main(["run", str(elf), "--grid", "64", "--wgp-mode"]) == 2
    assert "--wgp-mode" in capsys.readouterr().err
    kernel = ["targets", "gfx1100", "--occupancy", "--lds", "40000", "--workgroup-size", "256"]
    for options, waves in (([], "3 of 16"), (["--cu-mode"], "2 of 16")):
        assert main([*kernel, *options]) == 0
        assert waves in capsys.readouterr().out
    assert main(["targets", "gfx1100", "--cu-mode"]) == 2


def test_a_cache_keeps_both(module: bytes) -> None:
    cache = PipelineCache()
    made = [Pipeline(module, "gfx1100", wgp_mode=mode, cache=cache).shader for mode in (False, True, False, True)]
    assert [shader.abi is not None and shader.abi.wgp_mode for shader in made] == [False, True, False, True]
    assert made[0].code == made[2].code != made[1].code == made[3].code
    read = shader_of_entry(entry_of_shader(made[1]))
    assert read is not None and read.abi == made[1].abi
