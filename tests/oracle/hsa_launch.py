"""Kernels that clang compiles, started on the emulator."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pyaco.binary.code_object import CodeObject, read_code_object
from pyaco.emu import Device
from pyaco.emu.report import Report

CLANG = next((path for path in map(shutil.which, ("clang-22", "clang")) if path), None)
#: For processors that LLVM 22 does not know.
CLANG_23, NEWER = shutil.which("clang-23"), ("gfx117", "gfx131")
BARE = "-nogpuinc"                     # clang's headers need not be installed
LINKER = next((path for path in map(shutil.which, ("ld.lld-22", "ld.lld")) if path), None)
GFX9 = ("gfx900", "gfx90a", "gfx942")
#: Bytes of stack for each lane where the compiler does not know how many are needed.
DYNAMIC_STACK = 4096


def compile_kernels(source: Path, target: str, wave: int, level: str, folder: Path, *more: str, unknown: str = "") -> CodeObject:
    """Compile OpenCL C for a chip, with `more` options, and link it; skips the test where clang or lld is missing.

    `unknown`: a pattern of instructions that the compiler writes and its own assembler does not take; their lines are left out."""
    compiler = CLANG_23 if target.startswith(NEWER) else CLANG
    if compiler is None or LINKER is None:
        pytest.skip("clang and lld, or those that know the target, are not installed")
    path = folder / f"{source.stem}-{target}-{wave}{level}.o"
    command = [compiler, "-x", "cl", "-cl-std=CL2.0", "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib", level, *more, "-w",
               "-ffp-contract=off", "-cl-fp32-correctly-rounded-divide-sqrt", "-c", str(source), "-o", str(path)]  # fmt: skip
    if target.startswith(("gfx6", "gfx7", "gfx8")):
        # unoptimised functions do not get version 5's pointer to where the apertures stand
        command[1:1] = ["-mcode-object-version=4", "-Xclang", "-fdenormal-fp-math-f32=ieee"]
    if target.startswith("gfx6"):
        command[command.index("-cl-std=CL2.0")] = "-cl-std=CL1.2"          # without flat memory there are no generic pointers
    if target not in GFX9:
        command.insert(1, "-mwavefrontsize64" if wave == 64 else "-mno-wavefrontsize64")
    if unknown:
        text = path.with_suffix(".s")
        subprocess.run([*(word if word != "-c" else "-S" for word in command[:-1]), str(text)], check=True)
        text.write_text(re.sub(rf"^\s+(?:{unknown})\b.*\n", "", text.read_text(), flags=re.M))
        command = [compiler, "-target", "amdgcn-amd-amdhsa", f"-mcpu={target}", "-c", str(text), "-o", str(path)]
    subprocess.run(command, check=True)
    linked = path.with_suffix(".so")
    subprocess.run([LINKER, "-shared", str(path), "-o", str(linked)], check=True)
    return read_code_object(linked.read_bytes())


class Program:
    """A code object in the memory of a device."""

    def __init__(self, device: Device, code: CodeObject) -> None:
        self.loaded = device.load(code)

    def run(self, kernel: str, groups: Sequence[int], size: Sequence[int], arguments: Sequence[Any]) -> Report:
        """Start a kernel; arguments are buffers and NumPy scalars."""
        found = self.loaded.kernel(kernel)
        stack = found.descriptor.private_segment_fixed_size + (DYNAMIC_STACK if found.metadata.get(".uses_dynamic_stack") else 0)
        grid = [count * items for count, items in zip(groups, size, strict=True)]
        return self.loaded.dispatch(found, grid, size, arguments, private_segment_size=stack, budget=1 << 28)
