"""RADV's machine code on this project's emulator: the same shaders, compiled by somebody else.

How arguments reach registers in RADV of Mesa 22.3 (``radv_shader_args.c``, read for the facts): SGPRs hold, in this
order, the ring offsets (2), the low half of the address of each used descriptor set, inlined push constants (one
dword each, those that are read at constant offsets) or the block's address, the number of workgroups (3, when
used), the used workgroup ids, and before GFX11 the scratch offset. What a shader has is read off its
``p_startpgm``; a layout that cannot be told for sure raises ``UnclearLayout``.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from case import BufferKey, Case, Inputs
from judge import Contents
from spirv_reflection import Reflection, reflect
from vulkan_peer import RadvPipeline

from pyaco import emu
from pyaco.descriptors.buffer import raw_buffer
from pyaco.emu.device import Buffer


class UnclearLayout(Exception):
    """The arguments of this pipeline cannot be told from what RADV prints, or need its rings in memory."""


def _inlined_push_dwords(nir: str) -> list[int] | None:
    """Dwords of the push constants that are read, or None where an offset is not constant."""
    constants = dict(re.findall(r"(ssa_\d+) = load_const \(0x([0-9a-f]+)", nir))
    dwords: set[int] = set()
    reads = re.findall(r"vec(\d+)\s+(\d+) \w+ ssa_\d+ = intrinsic load_push_constant \((ssa_\d+)\) \(base=(\d+)", nir)
    for components, bits, offset, base in reads:
        if offset not in constants or int(bits) < 32:
            return None
        first = (int(base) + int(constants[offset], 16)) // 4
        dwords |= set(range(first, first + int(components) * int(bits) // 32))
    return sorted(dwords)


def _start_sizes(ir: str) -> list[int]:
    """Dwords of each SGPR argument of the program."""
    line = next(line for line in ir.splitlines() if "p_startpgm" in line)
    return [int(size) for size in re.findall(r"\bs(\d+): (?:\(\w+\))?%\d+:s\[", line)]


def _descriptor_set(
    number: int, found: Reflection, handles: dict[BufferKey, Buffer], level: int
) -> np.ndarray:
    """A descriptor set in memory: 16 bytes each, in the order of bindings."""
    words: list[int] = []
    for binding in sorted((each for each in found.bindings if each.set == number), key=lambda each: each.binding):
        for element in range(binding.count):
            key = (number, binding.binding) if binding.count == 1 else (number, binding.binding, element)
            handle = handles.get(key)
            words += raw_buffer(handle.address, handle.size, level) if handle else [0, 0, 0, 0]
    return np.array(words + [0] * 16, np.uint32)


def run_radv_code(pipeline: RadvPipeline, target: str, wave: int, case: Case, inputs: Inputs) -> Contents:
    """Run RADV's code for a case on the emulator; returns the contents of every buffer."""
    if pipeline.statistics["Scratch size"]:
        raise UnclearLayout("scratch memory is reached through RADV's ring descriptors")
    if inputs.references:
        raise UnclearLayout("device addresses")
    if "load_constant (" in pipeline.nir:
        raise UnclearLayout("constant data, which RADV does not show")
    if target == "gfx1030" and wave == 64 and "intrinsic shuffle" in pipeline.nir:
        raise UnclearLayout("VGPRs shared between the halves of a wave")
    found = reflect(case.spirv.read_bytes(), case.spec)
    device = emu.Device(target)
    handles = {key: device.buffer(np.array(buffer.data)) for key, buffer in inputs.buffers.items()}
    keep: list[Buffer] = []

    def low(data: np.ndarray) -> int:
        keep.append(Buffer(device, data, low=True))
        return keep[-1].address & 0xFFFFFFFF

    sizes = _start_sizes(pipeline.ir)
    if sizes[:1] != [2]:
        raise UnclearLayout("no ring offsets")
    ones = sizes[1:]
    has_groups = 3 in ones
    before_groups = ones.index(3) if has_groups else None
    scratch_offset = device.gfx_level < 110
    sets = sorted({each.set for each in found.bindings})
    dwords = _inlined_push_dwords(pipeline.nir) if inputs.push else []
    if dwords is None:
        raise UnclearLayout("push constants at offsets that are not constant")
    head = len(sets) + len(dwords)
    if before_groups is not None and before_groups != head:
        raise UnclearLayout(f"{before_groups} arguments before the number of workgroups, {head} expected")
    info = bool(re.search("load_(local_invocation_index|subgroup_id|num_subgroups)", pipeline.nir))
    identities = _workgroup_ids(pipeline.nir)
    if len(ones) != head + int(has_groups) + sum(identities) + int(info) + int(scratch_offset):
        raise UnclearLayout(f"arguments of sizes {sizes}")
    user = [0, 0, *(low(_descriptor_set(number, found, handles, device.gfx_level)) for number in sets)]
    push = struct.unpack(f"<{len(inputs.push) // 4}I", inputs.push)
    user += [push[dword] for dword in dwords]
    user += list(case.groups) if has_groups else []
    device.run(
        pipeline.code, case.groups, found.local_size, user_sgprs=user, wave_size=wave,
        workgroup_ids=identities, workgroup_info=info, scratch_offset=scratch_offset,
        lds_bytes=int(pipeline.statistics["LDS size"]), local_id_components=_local_id_components(pipeline.ir),
    )  # fmt: skip
    return {
        key: handle.numpy().view(inputs.buffers[key].data.dtype).reshape(inputs.buffers[key].data.shape)
        for key, handle in handles.items()
    }


def _workgroup_ids(nir: str) -> list[bool]:
    """Which components of the workgroup's identity the shader reads."""
    read = [False, False, False]
    for name in re.findall(r"(ssa_\d+) = intrinsic load_workgroup_id", nir):
        for axis, letter in enumerate("xyz"):
            read[axis] |= bool(re.search(rf"\b{name}\.{letter}\b", nir))
        for swizzle in re.findall(rf"\b{name}\.([xyz]{{2,}})\b", nir):
            read = [old or letter in swizzle for old, letter in zip(read, "xyz", strict=True)]
    return read


def _local_id_components(ir: str) -> int:
    line = next(line for line in ir.splitlines() if "p_startpgm" in line)
    sizes: Sequence[Any] = re.findall(r"\bv(\d+): (?:\(\w+\))?%\d+:v\[", line)
    return min(3, sum(int(size) for size in sizes)) or 1
