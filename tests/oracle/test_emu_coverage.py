"""How many of LLVM's mnemonics for compute programs have a value test, by gfx level."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
import test_alu_values
import test_control_values
import test_division_steps
import test_matrix
import test_matrix_blocks
import test_memory_values
import test_mixed_matrices
import test_scalar_values
import test_scaled_conversions
import test_small_floats
import test_wave_sync

from pyaco.isa import opcodes

LIBRARY = Path("/usr/lib/x86_64-linux-gnu/libLLVM.so.22.1")
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(shutil.which("llvm-mc-22") is None or not LIBRARY.exists(), reason="LLVM 22 is not installed"),
]
#: What no compute program contains: images (tested where they are emulated), exports, interpolation, parameters of pixel
#: shaders, ray tracing, registers of geometry shaders, trap handlers' returns, the debugger's branches, screen partitions.
GRAPHICS = re.compile(
    r"image_|exp$|export|v_interp_|lds_|ds_param_load|ds_direct_load|ds_bvh_|v_screen_|s_rfe|s_cbranch_cdbg|ds_(add|sub)_gs_reg"
    r"|v_illegal"
)
#: of GFX6 and GFX7 global wave sync and ordered counts, which are tested on later levels; of CDNA 4
#: the first half of a scaled matrix operation is no instruction by itself
LEAST = {"gfx600": 0.99, "gfx700": 0.99,
         "gfx900": 1, "gfx942": 1, "gfx950": 0.999, "gfx1010": 1, "gfx1030": 1, "gfx1100": 1, "gfx1150": 1, "gfx1200": 1}


@cache
def candidates() -> list[str]:
    """LLVM's table of mnemonics: strings that begin with their length."""
    data = LIBRARY.read_bytes()
    pattern = re.compile(rb"(?:s|v|ds|buffer|tbuffer|global|flat|scratch|image|exp|lds)_[a-z0-9_]+")
    names = set()
    for match in pattern.finditer(data):
        name = data[match.start() : match.start() + data[match.start() - 1]]
        if len(name) >= 5 and pattern.fullmatch(name):
            names.add(name.decode())
    return sorted(names)


def mnemonics(target: str) -> set[str]:
    """Those that LLVM has for a target: it complains about operands, not about the instruction."""
    command = ["llvm-mc-22", "-arch=amdgcn", f"-mcpu={target}"]
    result = subprocess.run(command, input="\n".join(candidates()) + "\n", capture_output=True, text=True, check=False)
    errors = dict(re.findall(r"^<stdin>:(\d+):\d+: error: (.*)", result.stderr, re.M))
    return {name for line, name in enumerate(candidates(), 1)
            if not re.match("instruction not supported|invalid instruction", errors.get(str(line), ""))}


def aliases(target: str) -> set[str]:
    """Other generations' names of instructions that have a name of this generation."""
    generation = test_alu_values.TARGETS[target]
    names: set[str] = set()
    proper: set[str] = set()
    for row in opcodes.rows():
        if generation in row.numbers or row.format == "vopd":
            names |= {row.name, *row.spellings.values()} - {row.spelling(generation)}
            proper.add(row.spelling(generation))
    if generation in ("11", "11.5", "12"):                  # LLVM reads them as the IU forms with signs
        names |= {"v_dot4_i32_i8", "v_dot8_i32_i4"}
    # LLVM still reads the names that matrix operations had before CDNA 3: without some underscores and the count of blocks
    spelt = {without_blocks(name): name for name in proper}
    names |= {name for name in candidates() if name.startswith("v_mfma_") and name not in proper and without_blocks(name) in spelt}
    return names - proper


def without_blocks(name: str) -> str:
    return re.sub(r"_(\d+b_)?", "", name)


def covered(target: str) -> set[str]:
    names = test_alu_values.coverage(target) | {name for name, _ in test_scalar_values.rows_of(target)}
    names |= {name for name, _, _ in test_memory_values.rows_of(target)}
    if target in test_matrix_blocks.TARGETS:
        names |= {row.spelling(test_matrix_blocks.TARGETS[target]) for row in test_matrix_blocks.rows_of(target)}
    names |= set(test_division_steps.MNEMONICS)
    if target in test_wave_sync.TARGETS:
        names |= {*test_wave_sync.MNEMONICS, "ds_ordered_count"}
    if target in test_small_floats.LDS_TARGETS:
        names |= {f"{family}_load_lds_{kind}" for family in ("global", "scratch") for kind in test_small_floats.LDS_LOADS}
    if target == test_scaled_conversions.TARGET:
        names |= {*test_scaled_conversions.MNEMONICS, *test_mixed_matrices.MNEMONICS}
    return names | set(test_matrix.COVERED.get(target, ())) | test_control_values.coverage(target)


@pytest.mark.parametrize("target", LEAST)
def test_coverage(target: str) -> None:
    tested = covered(target)
    others = aliases(target)
    listed = set()
    for name in mnemonics(target):
        stem = re.sub(r"_(e32|e64|dpp|sdwa)$", "", name)
        if not GRAPHICS.match(stem) and stem not in others and name not in others:
            listed.add(stem if stem in tested else name)
    missing = sorted(listed - tested)
    share = 1 - len(missing) / len(listed)
    print(f"{target}: {len(listed) - len(missing)} of {len(listed)} mnemonics have value tests ({share:.1%}); without: {', '.join(missing)}")
    assert share >= LEAST[target]
