"""How RADV of Mesa 22.3 hands a compute shader its arguments, so that the emulator can run its machine code.

User SGPRs: ring offsets (2), one dword per descriptor set, push constants (inlined dwords where every access has a constant
offset, else a pointer), the number of workgroups (3 dwords from GFX10.3 on, else a pointer). Then the workgroup ids that are used,
the place in the workgroup where it is used, and before GFX11 the scratch offset. Source: Mesa's ``radv_shader_args.c``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pyaco.descriptors.buffer import raw_buffer
from pyaco.emu import Buffer, Device


class LayoutError(RuntimeError):
    """The shader uses something whose registers are not known here."""


@dataclass(frozen=True)
class Registers:
    """What a shader of RADV expects at its start."""

    sets: tuple[int, ...]
    push_dwords: tuple[int, ...] | None  # None: a pointer
    grid: bool
    axes: tuple[bool, bool, bool]
    workgroup_info: bool


def constants(nir: str) -> dict[str, int]:
    """Values of the scalar 32-bit constants by name."""
    found = re.findall(r"vec1 32 \w+ (ssa_\d+) = load_const \(0x([0-9a-f]+)", nir)
    return {name: int(value, 16) for name, value in found}


def push_constants(nir: str) -> tuple[tuple[int, ...], bool]:
    """The dwords of push constants that are read, and whether all of them at constant offsets."""
    known = constants(nir)
    dwords: set[int] = set()
    direct = True
    pattern = r"vec(\d+) (\d+) \w+ ssa_\d+ = intrinsic load_push_constant \((ssa_\d+)\) \(base=(\d+)"
    for count, bits, offset, base in re.findall(pattern, nir):
        if offset not in known or int(bits) < 32:
            direct = False
            continue
        first = (known[offset] + int(base)) // 4
        dwords.update(range(first, first + int(count) * int(bits) // 32))
    return tuple(sorted(dwords)), direct


def used_axes(nir: str) -> tuple[bool, bool, bool]:
    """Which components of the workgroup id are read."""
    used = [False] * 3
    for name in re.findall(r"(ssa_\d+) = intrinsic load_workgroup_id", nir):
        for swizzle in re.findall(rf"\b{name}\b(?! =)(\.[xyzw]+)?", nir):
            for axis, letter in enumerate("xyz"):
                used[axis] |= not swizzle or letter in swizzle
    return used[0], used[1], used[2]


def registers(nir: str, ir: str, gfx_level: int, sets: tuple[int, ...]) -> Registers:
    """The layout of a pipeline, checked against the registers that its ACO IR starts with."""
    dwords, direct = push_constants(nir)
    grid = "load_num_workgroups" in nir
    axes = used_axes(nir)
    start = re.search(r"^\s*(.*) = p_startpgm", ir, re.M)
    if start is None:
        raise LayoutError("no p_startpgm")
    total = sum(int(size) for size in re.findall(r"\bs(\d+): ", start[1]))
    tail = (0 if gfx_level >= 110 else 1) + sum(axes) + ((3 if gfx_level >= 103 else 2) if grid else 0)
    head = 2 + len(sets)
    for push in ((dwords, None) if direct and dwords else (None,) if dwords or not direct else ((),)):
        count = 1 if push is None else len(push)
        for info in (False, True) if "load_subgroup_id" in nir or "load_num_subgroups" in nir else (False,):
            if head + count + tail + info == total:
                return Registers(sets, push, grid, axes, info)
    raise LayoutError(f"{total} SGPRs at the start: {start[1]}")


def run(
    device: Device, code: bytes, layout: Registers, groups: tuple[int, int, int], size: tuple[int, int, int], wave: int,
    buffers: Mapping[tuple[int, ...], Buffer], bindings: Mapping[int, Mapping[int, int]], push: bytes, lds_bytes: int,
    shared_vgpr: int = 0,
) -> None:  # fmt: skip
    """Run RADV's machine code; `bindings` says how many elements each binding of each set has."""
    low = []

    def place(data: bytes) -> int:
        padded = np.frombuffer(data.ljust(max(64, -(-len(data) // 64) * 64), b"\0"), np.uint8).copy()
        low.append(device.space.map(padded, low=True, alignment=64))
        return low[-1] & 0xFFFFFFFF

    user = [0, 0]
    try:
        for number in layout.sets:
            block = b""
            for binding, count in sorted(bindings[number].items()):
                for element in range(count):
                    key = (number, binding, element) if (number, binding, element) in buffers else (number, binding)
                    words = (0, 0, 0, 0)
                    if key in buffers and (element == 0 or len(key) == 3):
                        words = raw_buffer(buffers[key].address, buffers[key].size, device.gfx_level)
                    block += np.array(words, np.uint32).tobytes()
            user.append(place(block))
        if layout.push_dwords is None:
            user.append(place(push))
        else:
            padded = np.frombuffer(push.ljust(256, b"\0"), np.uint32)
            user += [int(padded[dword]) for dword in layout.push_dwords]
        if layout.grid and device.gfx_level >= 103:
            user += groups
        elif layout.grid:
            address = place(np.array(groups, np.uint32).tobytes())
            user += [address, 0xFFFF8000]
        device.run(
            code, groups, size, user_sgprs=user, wave_size=wave, workgroup_ids=layout.axes,
            workgroup_info=layout.workgroup_info, scratch_offset=device.gfx_level < 110, lds_bytes=lds_bytes,
            float_mode=0xC0, budget=20_000_000, shared_vgpr=shared_vgpr,
        )  # fmt: skip
    finally:
        for address in low:
            device.space.release(address | 0xFFFF800000000000)
