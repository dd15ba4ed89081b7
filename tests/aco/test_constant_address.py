"""Addresses of constant data behind the code."""

from __future__ import annotations

from pathlib import Path

import pytest

import pyaco

SHADER = Path(__file__).parent.parent / "shaders" / "constant_tables.spv"


@pytest.mark.parametrize(("target", "extended"), [("gfx900", False), ("gfx1030", False), ("gfx1100", False), ("gfx1200", True)])
def test_program_counter_becomes_an_address(target: str, extended: bool) -> None:
    """GFX12's program counter has zeros above its 48 bits, where an address repeats its sign."""
    listing = pyaco.compile(SHADER, target=target, wave=64).disassembly.splitlines()
    lines = [line.split() for line in listing if line.strip() and line.split()[0] not in ("s_delay_alu", "s_wait_alu")]
    first = next(i for i, words in enumerate(lines) if words[0] == "s_getpc_b64")
    low = "s" + lines[first][1].strip("s[]").split(":")[0] + ","
    high = "s" + lines[first][1].strip("s[]").split(":")[1]
    addition = next(i for i, words in enumerate(lines) if i > first and words[0].startswith("s_add") and words[1] == low)
    assert (["s_sext_i32_i16", f"{high},", high] in [words[:3] for words in lines[first:addition]]) == extended
