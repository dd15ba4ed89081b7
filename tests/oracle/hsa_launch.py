"""Start a kernel of an HSA code object on the emulator with the registers that its descriptor asks for.

Scratch lies in device memory, where buffers and flat addresses both reach it: a slot for each workgroup that may run at once.
Source: LLVM's "User Guide for AMDGPU Backend", initial kernel execution state.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyaco.binary.code_object import CodeObject, read_code_object
from pyaco.binary.kernel_descriptor import architected_flat_scratch
from pyaco.emu import Buffer, Device
from pyaco.emu.report import Report

CLANG = next((path for path in map(shutil.which, ("clang-22", "clang")) if path), None)
LINKER = next((path for path in map(shutil.which, ("ld.lld-22", "ld.lld")) if path), None)
GFX9 = ("gfx900", "gfx90a", "gfx942")
#: Bytes of stack for each lane where the compiler does not know how many are needed.
DYNAMIC_STACK = 4096


def compile_kernels(source: Path, target: str, wave: int, level: str, folder: Path) -> CodeObject:
    """Compile OpenCL C for a chip and link it; skips the test where clang or lld is missing."""
    if CLANG is None or LINKER is None:
        pytest.skip("clang and lld are not installed")
    path = folder / f"{source.stem}-{target}-{wave}{level}.o"
    command = [CLANG, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", level, "-w",
               "-ffp-contract=off", "-cl-fp32-correctly-rounded-divide-sqrt", "-c", str(source), "-o", str(path)]  # fmt: skip
    if target not in GFX9:
        command.insert(1, "-mwavefrontsize64" if wave == 64 else "-mno-wavefrontsize64")
    subprocess.run(command, check=True)
    linked = path.with_suffix(".so")
    subprocess.run([LINKER, "-shared", str(path), "-o", str(linked)], check=True)
    return read_code_object(linked.read_bytes())


def private_buffer(address: int, size: int, target: str, wave: int) -> list[int]:
    """The descriptor of scratch: dwords of lanes take turns, and the lane is the index."""
    word3 = 0xFAC | (3 if wave == 64 else 2) << 21 | 1 << 23 | (1 << 19 if target in GFX9 else 3 << 28 | 20 << 12)
    return [address & 0xFFFFFFFF, address >> 32 | 1 << 31, size, word3]


class Program:
    """A code object in the memory of a device."""

    def __init__(self, device: Device, target: str, code: CodeObject) -> None:
        self.device, self.target, self.code = device, target, code
        image = np.frombuffer(code.image, np.uint8).copy()
        self.base = device.space.map(image, alignment=4096)
        relocated = np.frombuffer(code.load(self.base), np.uint8)
        image[:] = relocated
        self.size = len(image)

    def run(self, kernel: str, groups: Sequence[int], size: Sequence[int], arguments: Sequence[Any], threads: int = 1) -> Report:
        """Start a kernel; arguments are buffers and NumPy scalars."""
        found = self.code.kernels[kernel]
        descriptor = found.descriptor
        level, wave = self.device.gfx_level, descriptor.wave_size if self.device.gfx_level >= 100 else 64
        block = bytearray(max(descriptor.kernarg_size, 8))
        explicit = [entry for entry in found.metadata[".args"] if not entry[".value_kind"].startswith("hidden")]
        for entry, value in zip(explicit, arguments, strict=True):
            data = np.uint64(value.address).tobytes() if isinstance(value, Buffer) else value.tobytes()
            block[entry[".offset"] : entry[".offset"] + len(data)] = data
        kernarg = self.device.buffer(bytes(block))
        scratch = descriptor.private_segment_fixed_size
        if found.metadata.get(".uses_dynamic_stack"):
            scratch += DYNAMIC_STACK
        waves = -(-int(np.prod(size)) // wave)
        ring = self.device.zeros(max(threads * waves * wave * scratch, 4))
        given = {
            "private_segment_buffer": private_buffer(ring.address, ring.size, self.target, wave),
            "kernarg_segment_ptr": [kernarg.address & 0xFFFFFFFF, kernarg.address >> 32],
            "flat_scratch_init": [ring.address & 0xFFFFFFFF, ring.address >> 32], "private_segment_size": [scratch],
        }  # fmt: skip
        user = [word for name, count in descriptor.user_sgprs() for word in given.get(name, [0] * count)]
        user += [0] * (descriptor.user_sgpr_count - len(user))
        mask = sum(enabled << axis for axis, enabled in enumerate(descriptor.workgroup_ids))
        return self.device.launch(
            self.base + found.address, self.size - found.address, (groups[0], groups[1], 1), (size[0], size[1], 1), wave_size=wave,
            user_sgprs=user, workgroup_id_mask=mask, ids_in_ttmp=level >= 120, packed_ids=level >= 110 or 92 <= level < 100,
            local_id_components=descriptor.workitem_id_components,
            scratch_offset=descriptor.uses_scratch and not architected_flat_scratch(level),
            mode=descriptor.float_mode | 0x100 | (descriptor.rsrc1 >> 23 & 1) << 9, lds_bytes=descriptor.group_segment_fixed_size,
            scratch_bytes=scratch, budget=1 << 28,
        )  # fmt: skip
