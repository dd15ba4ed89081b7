"""Planted defects in GLSL shaders that this project compiles: each check finds its own and names the line, the buffer and its binding; clean
ones pass."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyaco
from pyaco import emu
from pyaco.emu import Device
from pyaco.emu.checks import CHECKS

pytestmark = [pytest.mark.oracle, pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="needs glslangValidator")]
TARGETS = {"gfx900": 64, "gfx1030": 32, "gfx1100": 64, "gfx1201": 32}
HEAD = """#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_ARB_gpu_shader_int64 : require
layout(local_size_x = 256) in;
layout(buffer_reference, std430, buffer_reference_align = 4) buffer Words { uint word; };
layout(set = 0, binding = 3) buffer Out { uint result[]; };
layout(set = 1, binding = 2) readonly buffer In { uint value[]; };
layout(push_constant) uniform Push { uint64_t address; uint limit; };
shared uint tile[256];
#define I gl_LocalInvocationID.x
void main() {
"""
# What goes wrong where `limit` is too small or too large, the check that finds it, and the limits with and without a defect.
DEFECTS: dict[str, tuple[str, str, type[emu.EmulationError], int, int]] = {
    "stray": ("Words(address + 4 * I + (I == 200 ? limit : 0)).word = I;", "", emu.MemoryFault, 300, 0),
    "misaligned": ("atomicAdd(Words(address + limit).word, 1);", "memory", emu.MemoryFault, 2, 4),
    "race": ("tile[I] = I; if (limit == 0) barrier(); result[I] = tile[I ^ 128];", "races", emu.RaceError, 1, 0),
    "unwritten_shared": (
        "if (I < limit) tile[I] = I; memoryBarrierShared(); barrier(); result[I] = tile[I];", "uninitialized", emu.UninitializedError, 100, 256),
    "unwritten_buffer": ("result[I] = value[I] + 1;", "uninitialized", emu.UninitializedError, 1, 0),
    "divergent_barrier": ("if (I < limit) { tile[I] = I; barrier(); result[I] = tile[I ^ 1]; }", "barriers", emu.BarrierError, 64, 256),
}  # fmt: skip
WORDS: dict[str, Callable[[str], str]] = {
    "stray": lambda here: rf"store of 4 bytes at 0x\w+ outside memory \(.*\): 76 bytes behind the end of the 1024-byte buffer `pool` made at {here}",
    "misaligned": lambda here: "an atomic of 4 bytes at 0x.*, which is not aligned to them",
    "race": lambda here: "race at lds 0x.*nothing orders them",
    "unwritten_shared": lambda here: r"holds what nobody wrote \(ds_\w+ at pc 0x\w+ loaded it from lds 0x\w+\), and is stored",
    "unwritten_buffer": lambda here: rf"loaded it from byte \d+ of the 1024-byte buffer `source` made at {here}.*, bound as binding 2 of set 1",
    "divergent_barrier": lambda here: "s_barrier.*: wave . of the workgroup has ended without reaching the barrier",
}  # fmt: skip


@cache
def shader(name: str, target: str, folder: Path) -> Any:
    source = folder / f"{name}.comp"
    source.write_text(HEAD + DEFECTS[name][0] + "\n}\n")
    command = ["glslangValidator", "-V", "-g", "--quiet", "--target-env", "vulkan1.2", str(source), "-o", str(source.with_suffix(".spv"))]
    subprocess.run(command, check=True)
    return pyaco.compile(source.with_suffix(".spv"), target=target, wave=TARGETS[target])


def run(name: str, target: str, limit: int, check: Any, folder: Path) -> None:
    device = Device(target, check=check)
    pool, result = device.zeros(1024, name="pool"), device.zeros(1024, name="result")
    source = device.allocate(1024, name="source")
    if name != "unwritten_buffer" or not limit:
        source.write(np.arange(256, dtype=np.uint32))
    push = pool.address.to_bytes(8, "little") + limit.to_bytes(4, "little")
    device.dispatch(shader(name, target, folder), (1, 1, 1), {(0, 3): result, (1, 2): source}, push)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", DEFECTS)
def test_planted(name: str, target: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The defect is found by its check and by all of them, and by no other; without it nothing is found."""
    _, check, kind, bad, good = DEFECTS[name]
    folder = tmp_path_factory.getbasetemp()
    for checks in (check, CHECKS.keys() - ({"uninitialized"} if name == "race" else set())):
        with pytest.raises(kind, match=WORDS[name](Path(__file__).name)) as found:
            run(name, target, bad, checks, folder)
        place = found.value.place
        assert (Path(place["source"][0]).name, place["source"][1]) == (f"{name}.comp", HEAD.count("\n") + 1)
        assert str(found.value).startswith(f"{place['source'][0]}:{place['source'][1]}, kernel main: ")
    if check:
        run(name, target, bad, CHECKS.keys() - ({check, "uninitialized"} if name in ("race", "divergent_barrier") else {check}), folder)
    run(name, target, good, CHECKS, folder)
