"""Kernels of one image instruction, for tests: each lane reads its address from a buffer and writes its result to another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco.emu import Device
from pyaco.isa import assemble

LANES = 32
#: One chip of each generation of image instructions.
TARGETS = ("gfx600", "gfx700", "gfx803", "gfx900", "gfx1010", "gfx1030", "gfx1100", "gfx1200")
#: Those whose surfaces have tile modes.
TILED = ("gfx600", "gfx700", "gfx803")
_DIMENSIONS = {"1d": "1D", "2d": "2D", "3d": "3D", "cube": "CUBE", "1d_array": "1D_ARRAY", "2d_array": "2D_ARRAY", "cube_array": "CUBE",
               "2d_msaa": "2D_MSAA", "2d_msaa_array": "2D_MSAA_ARRAY"}
_DATA, _ADDRESS = 16, 24              # first VGPRs


def image_instruction(
    name: str, target: str, dimension: str, dwords: int, dmask: int = 15, *, data: int = 4, sampler: bool = False, flags: Sequence[str] = (),
) -> str:
    """Return the text of an instruction with data in v16 and its address in v24 on; gfx12 names each register of it."""
    level = int(target[3:-2])
    values = f"v[{_DATA}:{_DATA + data - 1}]" if data > 1 else f"v{_DATA}"
    if level >= 12 and dwords > 1:
        limit = 4 if sampler else 5
        singles = [f"v{_ADDRESS + k}" for k in range(min(dwords, limit - 1))]
        rest = dwords - len(singles)
        if rest == 1:
            singles.append(f"v{_ADDRESS + dwords - 1}")
        elif rest > 1:
            singles.append(f"v[{_ADDRESS + len(singles)}:{_ADDRESS + dwords - 1}]")
        address = f"[{', '.join(singles)}]"
    else:
        address = f"v[{_ADDRESS}:{_ADDRESS + dwords - 1}]" if dwords > 1 else f"v{_ADDRESS}"
    resources = "s[0:7]" + (", s[8:11]" if sampler else "")
    words = [f"dmask:{dmask:#x}"]
    if level >= 10:
        words.append(f"dim:SQ_RSRC_IMG_{_DIMENSIONS[dimension]}")
    elif "array" in dimension or "cube" in dimension:
        words.append("da")
    if not sampler and level < 12 and "unorm" not in flags:
        words.append("unorm")
    return f"{name} {values}, {address}, {resources} {' '.join([*words, *flags])}"


def kernel(target: str, instruction: str, *, stores: bool = False, wave: int = 0) -> bytes:
    """Return code that reads 16 dwords a lane (s[12:13]): address from the first on, data from the eighth; and writes 8 dwords (s[14:15])."""
    if target.startswith("gfx6"):
        return _far_kernel(target, instruction, stores)
    if target.startswith(("gfx7", "gfx8")):
        return _flat_kernel(target, instruction, stores)
    late = target.startswith(("gfx11", "gfx12"))
    new = target.startswith("gfx12")
    load, store = ("global_load_b128", "global_store_b128") if late else ("global_load_dwordx4", "global_store_dwordx4")
    wait = "s_wait_loadcnt 0x0\ns_wait_samplecnt 0x0" if new else "s_waitcnt vmcnt(0)"
    lines = ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v1, 6, v0", "v_lshlrev_b32 v2, 5, v0"]
    lines += [f"{load} v[{_ADDRESS + 4 * k}:{_ADDRESS + 4 * k + 3}], v1, s[12:13]" + (f" offset:{16 * k}" if k else "") for k in range(2)]
    lines += [f"{load} v[{_DATA + 4 * k}:{_DATA + 4 * k + 3}], v1, s[12:13] offset:{32 + 16 * k}" for k in range(2)]
    lines += [wait, instruction, wait]
    if not stores:
        lines += [f"{store} v2, v[{_DATA + 4 * k}:{_DATA + 4 * k + 3}], s[14:15]" + (f" offset:{16 * k}" if k else "") for k in range(2)]
    return assemble("\n".join([*lines, "s_endpgm"]) + "\n", target, wave_size=wave or wave_lanes(target))


def _flat_kernel(target: str, instruction: str, stores: bool) -> bytes:
    """The same for GFX7 and GFX8, whose loads have neither bases nor offsets."""
    add = "v_add_u32" if target.startswith("gfx8") else "v_add_i32"

    def moved(name: str, register: int, base: int, offset: int, at: int) -> list[str]:
        return [f"{add} v3, vcc, s{base}, v{at}", f"v_mov_b32 v4, s{base + 1}", "v_addc_u32 v4, vcc, 0, v4, vcc",
                f"{add} v3, vcc, {offset}, v3", "v_addc_u32 v4, vcc, 0, v4, vcc",
                f"{name} v[{register}:{register + 3}], v[3:4]" if name == "flat_load_dwordx4" else f"{name} v[3:4], v[{register}:{register + 3}]"]

    lines = ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v1, 6, v0", "v_lshlrev_b32 v2, 5, v0"]
    for k, register in enumerate((_ADDRESS, _ADDRESS + 4, _DATA, _DATA + 4)):
        lines += [*moved("flat_load_dwordx4", register, 12, 16 * k, 1), "s_waitcnt vmcnt(0)"]
    lines += [instruction, "s_waitcnt vmcnt(0)"]
    for k in range(0 if stores else 2):
        lines += moved("flat_store_dwordx4", _DATA + 4 * k, 14, 16 * k, 2)
    return assemble("\n".join([*lines, "s_endpgm"]) + "\n", target, wave_size=64)


def _far_kernel(target: str, instruction: str, stores: bool) -> bytes:
    """The same for GFX6, which reaches memory through buffers alone: addresses of 64 bits to descriptors in s[16:19] and s[20:23]."""
    lines = ["v_and_b32 v0, 0x3ff, v0", "v_lshlrev_b32 v1, 6, v0", "v_lshlrev_b32 v3, 5, v0", "v_mov_b32 v2, 0", "v_mov_b32 v4, 0"]
    for base, first in ((16, 12), (20, 14)):
        lines += [f"s_mov_b64 s[{base}:{base + 1}], s[{first}:{first + 1}]", f"s_mov_b32 s{base + 2}, 0", f"s_mov_b32 s{base + 3}, 0xf000"]
    for k, register in enumerate((_ADDRESS, _ADDRESS + 4, _DATA, _DATA + 4)):
        lines.append(f"buffer_load_dwordx4 v[{register}:{register + 3}], v[1:2], s[16:19], 0 addr64 offset:{16 * k}")
    lines += ["s_waitcnt vmcnt(0)", instruction, "s_waitcnt vmcnt(0)"]
    for k in range(0 if stores else 2):
        lines.append(f"buffer_store_dwordx4 v[{_DATA + 4 * k}:{_DATA + 4 * k + 3}], v[3:4], s[20:23], 0 addr64 offset:{16 * k}")
    return assemble("\n".join([*lines, "s_endpgm"]) + "\n", target, wave_size=64)


def wave_lanes(target: str) -> int:
    """Lanes of the waves that the kernels here have."""
    return 64 if target.startswith(("gfx6", "gfx7", "gfx8", "gfx9")) else 32


def run_image(
    device: Device, instruction: str, image: Sequence[int], sampler: Sequence[int] = (0, 0, 0, 0), *, address: NDArray[Any],
    data: NDArray[Any] | None = None, stores: bool = False, wave: int = 0,
) -> NDArray[np.uint32]:
    """Run an instruction on rows of address dwords (and of data); return eight dwords a row: what stands in the data's registers after it.

    Waves have as many lanes as `wave` says; 0: as is usual on the target.
    """
    rows = len(address)
    given = np.zeros((-(-rows // 64) * 64, 16), np.uint32)
    given[:rows, : address.shape[1]] = np.ascontiguousarray(address).view(np.uint32).reshape(rows, -1)
    if data is not None:
        given[:rows, 8 : 8 + data.shape[1]] = np.ascontiguousarray(data).view(np.uint32)
    # lanes of no row repeat the last one, so that they do nothing else
    given[rows:] = given[rows - 1]
    wave = wave or wave_lanes(device.target)
    code = kernel(device.target, instruction, stores=stores, wave=wave)
    results = []
    for first in range(0, len(given), wave):
        source, target = device.buffer(given[first : first + wave]), device.zeros(wave * 32)
        user = [*image, *sampler, source.address & 0xFFFFFFFF, source.address >> 32, target.address & 0xFFFFFFFF, target.address >> 32]
        device.run(code, (1, 1, 1), (wave, 1, 1), user_sgprs=user, wave_size=wave, local_id_components=1)
        results.append(target.numpy().view(np.uint32).reshape(wave, 8).copy())
        source.release()
        target.release()
    return np.concatenate(results)[:rows]
