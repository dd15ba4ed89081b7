"""A barrier of a whole grid much as ROCm's device libraries write it, in a kernel that clang compiles, with stack of each lane's own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyaco.emu import Device

pytestmark = pytest.mark.oracle
CLANG = next((path for path in map(shutil.which, ("clang-22", "clang")) if path), None)
LINKER = next((path for path in map(shutil.which, ("ld.lld-22", "ld.lld")) if path), None)
SOURCE = """
kernel void initialise(uint others) { __builtin_amdgcn_ds_gws_init(others, 0); }

static void grid_barrier(uint others) {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
    __builtin_amdgcn_s_barrier();
    if (__builtin_amdgcn_workitem_id_x() == 0)
        __builtin_amdgcn_ds_gws_barrier(others, 0);
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
}

kernel void sums(global volatile uint *data, uint groups, uint size) {
    volatile uint kept[8];
    uint group = __builtin_amdgcn_workgroup_id_x(), item = __builtin_amdgcn_workitem_id_x(), number = group * size + item;
    for (uint i = 0; i < 8; ++i)
        kept[i] = number * (i + 1);
    uint total = number;
    for (uint round = 0; round < 3; ++round) {
        data[round * groups * size + number] = total;
        grid_barrier(groups - 1);
        total += data[round * groups * size + (number + size) % (groups * size)] + kept[round + total % 5];
        kept[7 - round] = total;
    }
    data[3 * groups * size + number] = total + kept[5] + kept[6];
}
"""


def expected(count: int, size: int) -> np.ndarray:
    number = np.arange(count, dtype=np.uint32)
    kept = np.outer(number, np.arange(1, 9, dtype=np.uint32)).astype(np.uint32)
    total = number.copy()
    for step in range(3):
        total = total + np.roll(total, -size) + kept[number, step + total % 5]
        kept[:, 7 - step] = total
    return total + kept[:, 5] + kept[:, 6]


@pytest.mark.parametrize("target", ["gfx900", "gfx90a", "gfx942", "gfx1030", "gfx1100"])
@pytest.mark.parametrize("options", [{}, {"engine": "fast"}, {"seed": 3}, {"check_races": True}], ids=["reference", "fast", "drawn", "watched"])
def test_grid_barrier(target: str, options: dict[str, Any], tmp_path: Path) -> None:
    if CLANG is None or LINKER is None:
        pytest.skip("clang and lld are not installed")
    source = tmp_path / "grid.cl"
    source.write_text(SOURCE)
    command = [CLANG, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", "-O2", "-w"]
    subprocess.run([*command, "-c", str(source), "-o", str(tmp_path / "grid.o")], check=True)
    subprocess.run([LINKER, "-shared", str(tmp_path / "grid.o"), "-o", str(tmp_path / "grid.hsaco")], check=True)
    groups, size = 9, 128
    device = Device(target, **options)
    code = device.load((tmp_path / "grid.hsaco").read_bytes())
    data = device.buffer(np.zeros(4 * groups * size, np.uint32))
    code.dispatch("initialise", (1,), (1,), [groups - 1])
    code.dispatch("sums", (groups * size,), (size,), [data, groups, size])
    assert (data.numpy()[3 * groups * size :] == expected(groups * size, size)).all()
