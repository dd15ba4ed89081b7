"""Values that nobody wrote: through lanes, parts of registers, packed and matrix operations, and from memory that was allocated without data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyaco import isa
from pyaco.emu import Device, UninitializedError

THIS = Path(__file__).name
STORE = {"gfx900": "global_store_dword v0, {}, s[0:1]", "gfx942": "global_store_dword v0, {}, s[0:1]",
         "gfx1100": "global_store_b32 v0, {}, s[0:1]", "gfx1200": "global_store_b32 v0, {}, s[0:1]"}  # fmt: skip


def run(text: str, target: str, *, device: Device | None = None, user: tuple[int, ...] = (), lds: int = 0) -> None:
    """Run text: v0 is the local id times 4, v1 zero, v30 and up undefined; ``store vN`` writes a register to a buffer at s[0:1]."""
    device = device or Device(target, check="uninitialized")
    out = device.zeros(4096)
    wave = 64 if target in ("gfx900", "gfx942") else 32
    lines = [STORE[target].format(line.split()[1]) if line.strip().startswith("store") else line for line in text.splitlines()]
    start = "v_and_b32 v0, 0x3ff, v0\nv_lshlrev_b32 v0, 2, v0\nv_mov_b32 v1, 0\n"
    code = isa.assemble(start + "\n".join(lines) + "\ns_endpgm", target)
    device.run(code, (1, 1, 1), (wave, 1, 1), user_sgprs=[out.address & 0xFFFFFFFF, out.address >> 32, *user], wave_size=wave, local_id_components=1,
               lds_bytes=lds)  # fmt: skip


# What is defined, by target; and what is not, with the first lane at fault.
DEFINED = {
    "every lane by DPP": ("gfx900", "v_mov_b32_dpp v30, v1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:0\ns_nop 1\nstore v30"),
    "lanes that DPP leaves alone": ("gfx900", "v_mov_b32 v30, 0\ns_nop 1\nv_mov_b32_dpp v30, v31 row_shr:1 row_mask:0x0 bank_mask:0xf\nstore v30"),
    "zeros that come from nowhere": (
        "gfx1100", "s_mov_b32 exec_lo, 1\nv_mov_b32_dpp v30, v31 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1\nstore v30"),
    "a byte of SDWA, padded": ("gfx900", "v_mov_b32_sdwa v30, v31 dst_sel:BYTE_0 dst_unused:UNUSED_PAD src0_sel:DWORD\nstore v30"),
    "a byte of SDWA in what is defined": (
        "gfx900", "v_mov_b32 v30, 0\nv_mov_b32_sdwa v30, v31 dst_sel:BYTE_0 dst_unused:UNUSED_PRESERVE src0_sel:DWORD\nstore v30"),
    "packed": ("gfx942", "v_pk_add_f16 v30, v1, v1\nstore v30"),
    "a matrix whose sum is zero": ("gfx942", "v_mfma_f32_4x4x1_16b_f32 v[30:33], v1, v1, 0\ns_nop 15\nstore v31"),
    "an element of a factor": (
        "gfx942", "v_mov_b32 v30, 0\ns_mov_b64 exec, 1\nv_mov_b32 v30, v31\ns_mov_b64 exec, -1\ns_nop 4\n"
        "v_mfma_f32_4x4x1_16b_f32 v[40:43], v30, v1, 0\ns_nop 15\nstore v40"),
    "a row of a wave matrix": (
        "gfx1200", "".join(f"v_mov_b32 v{n}, 0\n" for n in (*range(2, 10), *range(40, 48)))
        + "s_mov_b32 exec_lo, 0x20000\nv_mov_b32 v3, v80\ns_mov_b32 exec_lo, -1\n"
        + "v_wmma_f32_16x16x16_f16 v[30:37], v[2:5], v[6:9], v[40:47]\nstore v36"),
    "an AGPR": ("gfx942", "v_accvgpr_write_b32 a3, v1\nv_accvgpr_read_b32 v30, a3\nstore v30"),
    "a half of a register": ("gfx1100", "v_mov_b16 v30.l, 0\nstore v30"),
    "the first of s_cselect": ("gfx1100", "s_cmp_eq_u32 s0, s0\ns_cselect_b32 s9, 4, s20\nv_mov_b32 v2, s9\nstore v2"),
    "the second of s_cselect": ("gfx900", "s_cmp_lg_u32 s0, s0\ns_cselect_b32 s9, s20, s0\nv_mov_b32 v2, s9\nstore v2"),
    "two dwords of s_cselect": ("gfx900", "s_cmp_eq_u32 s0, s0\ns_cselect_b64 s[8:9], s[0:1], s[20:21]\nv_mov_b32 v2, s9\nstore v2"),
    "what s_cselect overwrites": ("gfx1100", "s_mov_b32 s9, s20\ns_cmp_eq_u32 s0, s0\ns_cselect_b32 s9, 4, 5\nv_mov_b32 v2, s9\nstore v2"),
    "a branch by what s_cselect chose": ("gfx1100", "s_cmp_eq_u32 s0, s0\ns_cselect_b32 s9, 4, s20\ns_cmp_eq_u32 s9, 0\ns_cbranch_scc1 L\nL:"),
}  # fmt: skip
UNDEFINED = {
    "DPP moves lanes": (
        "gfx900", "v_mov_b32 v30, 0\ns_mov_b64 exec, 2\nv_mov_b32 v30, v31\ns_mov_b64 exec, -1\ns_nop 4\n"
        "v_mov_b32_dpp v32, v30 row_shr:3 row_mask:0xf bank_mask:0xf bound_ctrl:0\nstore v32", 4),
    "DPP8 moves lanes": (
        "gfx1100", "v_mov_b32 v30, 0\ns_mov_b32 exec_lo, 2\nv_mov_b32 v30, v31\ns_mov_b32 exec_lo, -1\n"
        "v_mov_b32_dpp v32, v30 dpp8:[7,6,5,4,3,2,1,0]\nstore v32", 6),
    "lanes that DPP does not write": ("gfx900", "v_mov_b32_dpp v30, v1 row_shr:1 row_mask:0xe bank_mask:0xf bound_ctrl:0\ns_nop 1\nstore v30", 0),
    "lanes without a source": ("gfx1100", "v_mov_b32_dpp v30, v1 row_shr:1 row_mask:0xf bank_mask:0xf\nstore v30", 0),
    "a sum by DPP": ("gfx900", "v_add_f32_dpp v30, v31, v1 row_ror:4 row_mask:0xf bank_mask:0xf\nstore v30", 0),
    "the register that SDWA keeps": ("gfx900", "v_mov_b32_sdwa v30, v31 dst_sel:BYTE_0 dst_unused:UNUSED_PRESERVE src0_sel:DWORD\nstore v30", 0),
    "what SDWA extends": ("gfx900", "v_mov_b32_sdwa v30, v31 dst_sel:BYTE_0 dst_unused:UNUSED_SEXT src0_sel:DWORD\nstore v30", 0),
    "a dword of SDWA": ("gfx900", "v_add_u32_sdwa v30, v31, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD\nstore v30", 0),
    "packed halves": ("gfx942", "v_pk_add_f16 v30, v31, v1\nstore v30", 0),
    "packed singles": ("gfx942", "v_mov_b32 v2, 0\nv_mov_b32 v3, 0\nv_pk_mul_f32 v[30:31], v[40:41], v[2:3]\nstore v30", 0),
    "the sum of V_FMAC": ("gfx1100", "v_fmac_f32 v30, v1, v1\nstore v30", 0),
    "the sum of a matrix": ("gfx942", "v_mfma_f32_4x4x1_16b_f32 v[30:33], v1, v1, v[40:43]\ns_nop 15\nstore v32", 0),
    "a factor of a matrix": ("gfx942", "v_mfma_f32_4x4x1_16b_f32 v[30:33], v31, v1, 0\ns_nop 15\nstore v30", 0),
    "the sum of a wave matrix": ("gfx1200", "".join(f"v_mov_b32 v{n}, 0\n" for n in range(2, 12))
                                 + "v_wmma_f32_16x16x16_f16 v[30:37], v[2:5], v[6:9], v[40:47]\nstore v36", 0),
    **{f"a register of {factor} of a wave matrix": (
        "gfx1200", "".join(f"v_mov_b32 v{n}, {'v80' if n == missing else 0}\n" for n in (*range(2, 10), *range(40, 48)))
        + "v_wmma_f32_16x16x16_f16 v[30:37], v[2:5], v[6:9], v[40:47]\nstore v36", 0) for factor, missing in (("A", 4), ("B", 7))},
    "a column of a wave matrix": (
        "gfx1200", "".join(f"v_mov_b32 v{n}, 0\n" for n in (*range(2, 10), *range(40, 48)))
        + "s_mov_b32 exec_lo, 0x200000\nv_mov_b32 v7, v80\ns_mov_b32 exec_lo, -1\n"
        + "v_wmma_f32_16x16x16_f16 v[30:37], v[2:5], v[6:9], v[40:47]\nstore v36", 5),
    "a register of a factor of a matrix": (
        "gfx942", "v_mov_b32 v2, 0\nv_mov_b32 v3, v80\nv_mov_b32 v4, 0\nv_mov_b32 v5, 0\n"
        "v_mfma_f32_16x16x16_f16 v[30:33], v[2:3], v[4:5], 0\ns_nop 15\nstore v30", 0),
    "an AGPR": ("gfx942", "v_accvgpr_read_b32 v30, a3\ns_nop 1\nstore v30", 0),
    "the first of s_cselect": ("gfx1100", "s_cmp_eq_u32 s0, s0\ns_cselect_b32 s9, s20, 4\nv_mov_b32 v2, s9\nstore v2", 0),
    "the second of s_cselect": ("gfx900", "s_cmp_lg_u32 s0, s0\ns_cselect_b32 s9, 4, s20\nv_mov_b32 v2, s9\nstore v2", 0),
    "the upper dword of s_cselect": (
        "gfx900", "s_mov_b32 s20, 0\ns_cmp_eq_u32 s0, s0\ns_cselect_b64 s[8:9], s[20:21], 0\nv_mov_b32 v2, s9\nstore v2", 0),
    "an undefined choice of s_cselect": ("gfx1100", "s_cmp_eq_u32 s20, 0\ns_cselect_b32 s9, 4, 5\nv_mov_b32 v2, s9\nstore v2", 0),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFINED)
def test_defined(name: str) -> None:
    target, text = DEFINED[name]
    run(text, target)


@pytest.mark.parametrize("name", UNDEFINED)
def test_undefined(name: str) -> None:
    target, text, lane = UNDEFINED[name]
    with pytest.raises(UninitializedError, match="holds what nobody wrote, and is stored") as caught:
        run(text, target)
    assert caught.value.place["lane"] == lane and "earlier" not in caught.value.place


# -------------------------------------------------------------------------------------------------------- device memory
LOAD = "global_load_b32 v2, v0, s[2:3] offset:16\ns_waitcnt vmcnt(0)\n"


def place(device: Device, size: int = 256) -> tuple[Any, tuple[int, int]]:
    buffer = device.allocate(size, name="scratch pad")
    return buffer, (buffer.address & 0xFFFFFFFF, buffer.address >> 32)


def test_memory_that_nobody_wrote() -> None:
    """What is loaded is followed to where it matters; the report names the load and the allocation with its maker."""
    device = Device("gfx1100", check="uninitialized")
    _, user = place(device)
    run(LOAD, "gfx1100", device=device, user=user)          # a load alone is no defect
    with pytest.raises(UninitializedError) as caught:
        run(LOAD + "v_add_f32 v3, v2, v1\nstore v3", "gfx1100", device=device, user=user)
    found, message = caught.value.place, str(caught.value)
    assert "v3 holds what nobody wrote (global_load_dword at pc 0x10 loaded it from byte 16 of the 256-byte buffer `scratch pad` made at " in message
    assert f"{THIS}:" in message and found["use"] == "store" and found["lane"] == 0
    assert found["allocation"]["name"] == "scratch pad" and Path(found["allocation"]["made_at"][0]).name == THIS
    assert found["earlier"]["opcode"] == "global_load_dword" and found["space"] == "memory"


def test_memory_is_written_by_host_and_kernel() -> None:
    device = Device("gfx1100", check="uninitialized")
    buffer, user = place(device)
    buffer.write(np.zeros(28, np.uint32), 16)
    run(LOAD + "s_mov_b32 exec_lo, 0x0fffffff\nstore v2", "gfx1100", device=device, user=user)
    with pytest.raises(UninitializedError) as caught:
        run(LOAD + "store v2", "gfx1100", device=device, user=user)
    assert caught.value.place["lane"] == 28
    run("global_store_b32 v0, v1, s[2:3] offset:16", "gfx1100", device=device, user=user)
    run(LOAD + "store v2", "gfx1100", device=device, user=user)
    other, user = place(device)
    assert (other.numpy() == 0xCD).all()                    # who has the array may have written it
    run(LOAD + "store v2", "gfx1100", device=device, user=user)


def test_scalar_loads() -> None:
    device = Device("gfx1100", check="uninitialized")
    buffer, user = place(device)
    buffer.write(bytes(8))
    text = "s_load_b128 s[8:11], s[2:3], 0x0\ns_waitcnt lgkmcnt(0)\n"
    run(text + "v_mov_b32 v2, s9\nstore v2", "gfx1100", device=device, user=user)
    with pytest.raises(UninitializedError, match=r"s_load_dwordx4 at pc 0x10 loaded it from byte 8 of the 256-byte buffer"):
        run(text + "v_mov_b32 v2, s10\nstore v2", "gfx1100", device=device, user=user)
    with pytest.raises(UninitializedError, match="decides a branch"):
        run(text + "s_cmp_eq_u32 s11, 0\ns_cbranch_scc1 L\nL:", "gfx1100", device=device, user=user)


def test_atomics() -> None:
    """One that computes needs a value, one that swaps does not; half a dword that somebody wrote is enough (16-bit atomics take both)."""
    device = Device("gfx1100", check="uninitialized")
    buffer, user = place(device)
    with pytest.raises(UninitializedError, match=r"global_atomic_add_u32 .* changes memory, which nobody wrote: byte 0 of the 256-byte buffer"):
        run("global_atomic_add_u32 v0, v1, s[2:3]", "gfx1100", device=device, user=user)
    buffer, user = place(device)
    run("global_atomic_swap_b32 v0, v1, s[2:3]\nglobal_atomic_add_u32 v0, v1, s[2:3]", "gfx1100", device=device, user=user)
    buffer, user = place(device)
    for number in range(32):
        buffer.write(bytes(2), 4 * number)
    run("global_atomic_add_u32 v0, v1, s[2:3]", "gfx1100", device=device, user=user)


def test_moves_leave_the_condition() -> None:
    with pytest.raises(UninitializedError, match="decides a branch"):
        run("s_cmp_eq_u32 s20, 0\ns_mov_b32 s8, 0\ns_cselect_b32 s9, 4, 5\ns_cbranch_scc1 L\nL:", "gfx1100")
    run("s_cmp_eq_u32 s20, 0\ns_add_u32 s8, s0, 0\ns_cbranch_scc1 L\nL:", "gfx1100")


def test_lds_says_where() -> None:
    with pytest.raises(UninitializedError, match=r"v2 holds what nobody wrote \(ds_read_b32 at pc 0x10 loaded it from lds 0x0\), and is stored"):
        run("ds_load_b32 v2, v0\ns_waitcnt lgkmcnt(0)\nstore v2", "gfx1100", lds=256)


def test_other_checks_leave_it_alone() -> None:
    device = Device("gfx1100", check="memory")
    run(LOAD + "store v2", "gfx1100", device=device, user=place(device)[1])
