"""Code objects as assembly text: the functions of each section by name, and the kernels' descriptors."""

from __future__ import annotations

import bisect
from dataclasses import replace

from pyaco import isa
from pyaco.binary.code_object import CodeObject, Kernel

__all__ = ["code_object_text"]


def code_object_text(code_object: CodeObject, target: str, *, exact: bool = False) -> str:
    """Text of a code object: its code with the names of its symbols, then a block for each kernel.

    ``assemble_code_object`` makes the same instructions and the same descriptors of it, and with `exact` the same bytes. Calls between functions
    stay distances.

    Parameters
    ----------
    code_object
        What ``read_code_object`` gives.
    target
        A gfx name, chip name or product name.
    exact
        Whether instructions with bits that mean nothing are ``.long``, as for ``isa.disassemble``; else they are text, which does not have
        these bits.
    """
    target_id = replace(code_object.target_id, processor=target)
    lines = [f'\t.amdgcn_target "amdgcn-amd-amdhsa--{target_id}"', "\t.text"]
    for start, code in code_object.text():
        lines += _section(code_object, start, code[: len(code) // 4 * 4], target, exact)
    if code_object.kernels:
        lines += ["\t.rodata", "\t.p2align 6"]
    for kernel in code_object.kernels.values():
        lines += _block(kernel, target)
    return "\n".join(lines) + "\n"


def _section(code_object: CodeObject, start: int, code: bytes, target: str, exact: bool) -> list[str]:
    kernels = {kernel.address: kernel for kernel in code_object.kernels.values()}
    names = {address: name for name, address in code_object.code_symbols().items() if start <= address < start + len(code)}
    wave_sizes = {kernel.address: kernel.descriptor.wave_size for kernel in kernels.values()}
    addresses = sorted({start, *names})
    lines = []
    for number, address in enumerate(addresses):
        end = addresses[number + 1] if number + 1 < len(addresses) else start + len(code)
        if address in names:
            kind = "\t.p2align 8" if address in kernels else "\t.p2align 2"
            lines += [kind, f"\t.globl {names[address]}", f"\t.type {names[address]},@function", f"{names[address]}:"]
        # a function without a descriptor is of the kernel before it
        owner = bisect.bisect_right(sorted(wave_sizes), address)
        wave = wave_sizes[sorted(wave_sizes)[owner - 1]] if owner else None
        text = isa.disassemble(code[address - start : end - start], target, wave_size=wave, exact=exact)
        lines += _renamed(text, number)
        if address in names:
            lines += [f".Lend{number}:", f"\t.size {names[address]}, .Lend{number}-{names[address]}"]
    return lines


def _renamed(text: str, number: int) -> list[str]:
    """Lines of a listing whose labels bear a number, so that those of several functions differ."""
    lines = []
    for line in text.rstrip("\n").split("\n"):
        words = line.split(" ")
        if line.startswith("L"):
            line = f".L{number}_{line[1:]}"
        elif words[-1][:1] == "L" and words[-1][1:].isdecimal():
            line = " ".join([*words[:-1], f".L{number}_{words[-1][1:]}"])
        lines.append(line)
    return lines


def _block(kernel: Kernel, target: str) -> list[str]:
    directives = kernel.descriptor.directives(target)
    return [f"\t.amdhsa_kernel {kernel.name}", *(f"\t\t.amdhsa_{name} {value}" for name, value in directives.items()), "\t.end_amdhsa_kernel"]
