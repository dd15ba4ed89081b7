"""Scalar compares with 16-bit literals: SOPK up to GFX11, judged by execution at the ends of what 16 bits hold."""

from __future__ import annotations

import numpy as np
import pytest
from execution import LANES, Kernel, compile_nir, run_both

from pyaco.nir import passes as nir_passes

#: Beyond inline constants: what fits both signed and unsigned, one of them, none.
LITERALS = (1000, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0xFFFF8000, 0xFFFF7FFF, 0xFFFFFF00)
COMPARISONS = ("ieq", "ine", "ilt", "ige", "ult", "uge")


def compares(b: Kernel, name: str, literal_first: bool) -> None:
    """Compare the uniform value of each place with a literal that nothing else reads, which therefore stays in the instruction."""
    for place, literal in enumerate(LITERALS):
        operands = [b.input(32, True, place), b.imm(literal)]
        b.output(b.bcsel(b.alu(name, *operands[::-1] if literal_first else operands), b.imm(7), b.imm(9)))


@pytest.mark.parametrize("target", ["gfx900", "gfx1100"])
@pytest.mark.parametrize("literal_first", [False, True])
@pytest.mark.parametrize("name", COMPARISONS)
def test_compares_at_the_ends(name: str, literal_first: bool, target: str) -> None:
    for beside in (-1, 0, 1):
        data = np.zeros((len(LITERALS), LANES, 4), np.uint32)
        data[:, 0, 0] = (np.array(LITERALS, np.int64) + beside).astype(np.uint32)
        wanted, found = run_both(lambda b: compares(b, name, literal_first), data, target, optimize=True)
        np.testing.assert_array_equal(found, wanted, err_msg=f"literals and {beside}")


@pytest.mark.parametrize(("target", "level"), [("gfx700", 70), ("gfx900", 90), ("gfx1030", 103), ("gfx1100", 110), ("gfx1200", 120)])
@pytest.mark.parametrize(("name", "signed", "unsigned"), [("ieq", 4, 2), ("ilt", 4, 0), ("ult", 0, 4)])
def test_which_are_short(name: str, signed: int, unsigned: int, target: str, level: int) -> None:
    """Those with a sign hold four of the literals, those without another four, and tests of equality may be either; GFX12 has none."""
    b = Kernel(level, 64)
    compares(b, name, False)
    shader = b.finish()
    shader.metadata["descriptor_layout"] = {0: {0: ("ssbo", 1), 1: ("ssbo", 1)}}
    nir_passes.run(shader)
    opcodes = [line.split()[0] for line in compile_nir(shader, target, 64, True).disassembly.splitlines() if line.startswith("\ts_cmp")]
    short = [opcode for opcode in opcodes if opcode.startswith("s_cmpk_")]
    assert len(opcodes) == len(LITERALS)
    assert sum(opcode.endswith("_i32") for opcode in short) == (signed if level < 120 else 0)
    assert sum(opcode.endswith("_u32") for opcode in short) == (unsigned if level < 120 else 0)
