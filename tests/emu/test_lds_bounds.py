"""Accesses beyond the LDS that a dispatch was given: loads give zero, stores are dropped, and the report says how many there were."""

from __future__ import annotations

import numpy as np
import pytest

from pyaco import isa
from pyaco.emu import Device, Report

READ, WRITE = {"gfx900": "ds_read_b{}", "gfx1200": "ds_load_b{}"}, {"gfx900": "ds_write_b{}", "gfx1200": "ds_store_b{}"}
ENGINES = ("reference", "fast", "inspecting")


def run(engine: str, target: str, text: str, *, lds: int, groups: int = 1, threads: int = 1) -> tuple[Report, np.ndarray]:
    """Run text; v0 is four times the lane's number, s[0:1] the address of what is stored from v2."""
    device = Device(target, check_waits=True) if engine == "inspecting" else Device(target, engine, threads)
    result = device.buffer(np.full(64, 0xDEADBEEF, np.uint32))
    new = target == "gfx1200"
    store = "s_wait_dscnt 0x0\nglobal_store_b32 v0, v2, s[0:1]" if new else "s_waitcnt lgkmcnt(0)\nglobal_store_dword v0, v2, s[0:1]"
    code = isa.assemble(f"v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v0, 2, v0\nv_mov_b32 v2, 7\n{text}\n{store}\ns_endpgm", target, wave_size=64)
    report = device.run(code, (groups, 1, 1), (64, 1, 1), user_sgprs=[result.address & 0xFFFFFFFF, result.address >> 32], wave_size=64,
                        lds_bytes=lds)  # fmt: skip
    return report, result.numpy()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", READ)
def test_counts(engine: str, target: str) -> None:
    """Half of the lanes lie beyond 128 bytes."""
    read, write = READ[target].format(32), WRITE[target].format(32)
    wait = "s_wait_dscnt 0x0" if target == "gfx1200" else "s_waitcnt lgkmcnt(0)"
    report, values = run(engine, target, f"v_mov_b32 v3, 5\n{write} v0, v3\n{wait}\n{read} v2, v0", lds=128)
    assert report.lds_out_of_bounds == 64 and report.lds_out_of_bounds_pc == 20
    assert list(values) == [5] * 32 + [0] * 32
    assert report.to_dict()["lds_out_of_bounds"] == 64 and "lds_out_of_bounds: 64" in report.text()
    report, values = run(engine, target, f"v_mov_b32 v3, 5\n{write} v0, v3\n{wait}\n{read} v2, v0", lds=256)
    assert report.lds_out_of_bounds == 0 and report.lds_out_of_bounds_pc is None
    assert list(values) == [5] * 64


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("text", "count"), [
    ("ds_write_b64 v0, v[2:3]", 1), ("ds_write_b128 v0, v[2:5]", 3), ("ds_write_b8 v0, v2", 0), ("ds_write_b8 v0, v2 offset:4", 1),
    ("ds_read2_b32 v[4:5], v0 offset1:1", 1), ("ds_read2_b32 v[4:5], v0 offset0:64 offset1:64", 128), ("ds_add_u32 v0, v2 offset:8", 2),
    ("ds_add_rtn_u64 v[4:5], v0, v[2:3]", 1), ("ds_read_u16 v4, v0 offset:2", 0), ("ds_bpermute_b32 v4, v0, v2 offset:4000", 0),
])  # fmt: skip
def test_accesses(engine: str, text: str, count: int) -> None:
    """256 bytes of LDS; the last dword is lane 63's."""
    report, _ = run(engine, "gfx900", "v_mov_b32 v3, 0\n" + text, lds=256)
    assert report.lds_out_of_bounds == count
    assert report.lds_out_of_bounds_pc == (20 if count else None)


@pytest.mark.parametrize("threads", [1, 4])
def test_every_thread_counts(threads: int) -> None:
    """The workgroups of all threads, and the first of the instructions."""
    text = "v_mov_b32 v3, 0\n" + "v_add_f32 v3, v3, v3\n" * 400 + "ds_write_b32 v0, v2\nds_write_b32 v0, v2 offset:4"
    report, _ = run("fast", "gfx900", text, lds=252, groups=4096, threads=threads)
    assert report.lds_out_of_bounds == 3 * 4096
    assert report.lds_out_of_bounds_pc == 20 + 4 * 400


def test_without_lds() -> None:
    """A kernel whose dynamic LDS nobody gave."""
    report, values = run("fast", "gfx900", "ds_read_b32 v2, v0", lds=0)
    assert report.lds_out_of_bounds == 64 and not values.any()
