"""``.amdhsa_kernel`` blocks of every directive and processor give LLVM's descriptors, and LLVM's errors."""

from __future__ import annotations

import contextlib
import os
import random
import re
import shutil
import subprocess
from collections.abc import Sequence

import pytest

from pyaco.binary import KernelDescriptor, elf, kernel_descriptor
from pyaco.binary.kernel_descriptor import _COMBINED, _FIELDS
from pyaco.binary.machines import MACHINES
from pyaco.errors import InputError
from pyaco.isa.processors import processor

LLVM_MC = shutil.which("llvm-mc-22")
pytestmark = [pytest.mark.oracle, pytest.mark.skipif(LLVM_MC is None, reason="llvm-mc-22 is not installed")]
TARGETS: tuple[str, ...] = (
    "gfx602", "gfx700", "gfx802", "gfx803", "gfx810", "gfx900", "gfx908", "gfx90a", "gfx942", "gfx1010", "gfx1030", "gfx1100", "gfx1201", "gfx1250",
)
if os.environ.get("PYACO_EXHAUSTIVE"):
    TARGETS = tuple(sorted(MACHINES))
DIRECTIVES = [*_FIELDS, *sorted(_COMBINED)]
Block = dict[str, int]


def needed(target: str) -> Block:
    return {"next_free_vgpr": 24, "next_free_sgpr": 17} | ({"accum_offset": 8} if target in ("gfx90a", "gfx942", "gfx950") else {})


def blocks(target: str) -> list[Block]:
    """Every directive with every value that matters alone, and random sets of directives."""
    made: list[Block] = [needed(target)]
    for directive in DIRECTIVES:
        made += [needed(target) | {directive: value} for value in (0, 1, 2, 3, 4, 7, 15, 16, 31, 32, 63, 64, 100, 102, 104, 127, 255, 256, 257, 511,
                                                                   512, 513, 1023, 1024, 0xFFFFFFFF)]  # fmt: skip
    # LLVM cuts off what does not fit the three bits of the barriers
    made = [block for block in made if block.get("named_barrier_count", 0) < 8]
    # LLVM wraps what does not fit 32 bits where it counts registers, elsewhere it is out of range
    made += [needed(target) | {directive: 1 << 32} for directive in _FIELDS if directive != "named_barrier_count"]
    made += [needed(target) | {"next_free_vgpr": count, "accum_offset": 4} for count in range(0, 530, 3)]
    made += [needed(target) | {"next_free_vgpr": count} for count in range(8, 264)]
    made += [needed(target) | {"next_free_sgpr": count, "reserve_vcc": count % 2} for count in range(110)]
    made += [needed(target) | {"next_free_sgpr": count, "user_sgpr_kernarg_preload_length": length, "user_sgpr_count": length + more}
             for count in (0, 8, 40) for length in (0, 1, 8, 16) for more in (0, 15)]  # fmt: skip
    made += [{key: value for key, value in needed(target).items() if key != missing} for missing in needed(target)]
    generator = random.Random(target)
    for _ in range(400):
        block = needed(target)
        for directive in generator.sample(DIRECTIVES, generator.randrange(1, 12)):
            field = _FIELDS.get(directive)
            if field is None or field.exists(processor(target)[1]):
                block[directive] = generator.choice((0, 1, generator.randrange(1 << min(field.bits if field else 5, 8))))
        made.append(block)
    return made


def assembled(target: str, chosen: Sequence[Block], wave_size: int) -> tuple[set[int], bytes]:
    """Which of the blocks LLVM refuses, and the contents of .rodata."""
    lines, owner = [".rodata"], [-1]
    for index, block in enumerate(chosen):
        body = [f".amdhsa_kernel k{index}", *(f".amdhsa_{name} {value}" for name, value in block.items()), ".end_amdhsa_kernel"]
        lines += body
        owner += [index] * len(body)
    features = {32: "+wavefrontsize32,-wavefrontsize64", 64: "-wavefrontsize32,+wavefrontsize64"}
    attributes = [f"-mattr={features[wave_size]}"] if len(target) == 7 else []
    command = [str(LLVM_MC), "-triple=amdgcn-amd-amdhsa", f"-mcpu={target}", *attributes, "-filetype=obj"]
    result = subprocess.run(command, input="\n".join(lines).encode(), capture_output=True, check=False)
    if result.returncode:
        return {owner[int(line) - 1] for line in re.findall(r"<stdin>:(\d+):\d+: error", result.stderr.decode())}, b""
    return set(), next(section.data for section in elf.read_elf(result.stdout).sections if section.name == ".rodata")


@pytest.mark.parametrize("target", TARGETS)
def test_descriptors(target: str) -> None:
    chosen = blocks(target)
    for wave_size in (32, 64) if len(target) == 7 else (64,):
        ours: dict[int, bytes] = {}
        for index, block in enumerate(chosen):
            with contextlib.suppress(InputError):
                ours[index] = kernel_descriptor(block, target, wave_size=wave_size).to_bytes()
        refused, _ = assembled(target, chosen, wave_size)
        differing = [chosen[i] for i in range(len(chosen)) if (i in refused) == (i in ours)]
        assert not differing, f"{target}: accepted by one alone: {differing[:5]} ({len(differing)})"
        again, data = assembled(target, [chosen[i] for i in ours], wave_size)
        assert not again
        for place, (index, descriptor) in enumerate(ours.items()):
            assert data[64 * place : 64 * place + 64] == descriptor, (target, chosen[index])
            back = KernelDescriptor.from_bytes(descriptor)
            if not (back.wave_size == 32 and back.directives(target).get("shared_vgpr_count")):
                # LLVM lets the two meet where the block does not name the wave size
                assert kernel_descriptor(back.directives(target), target) == back
        assert len(ours) > 200
