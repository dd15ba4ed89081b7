"""What the kernels of this project find is what pyaco says of the same shader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from shader_facts import code_facts, count_arithmetic, peak_demand

import pyaco
from pyaco import aco, nir

MATMUL = Path(__file__).parents[2] / "matmul.spv"
ALU = 1


@pytest.mark.parametrize(("target", "level"), [("gfx900", 90), ("gfx1030", 103), ("gfx1100", 110), ("gfx1200", 120)])
def test_code(target: str, level: int) -> None:
    shader = pyaco.compile(MATMUL, target=target)
    facts = code_facts(shader.code, level)
    assert facts.instructions == len(pyaco.isa.decode(shader.code, target))
    assert 0 < facts.vgprs <= shader.stats["vgprs"]
    assert facts.unlike == 0


def test_words_that_are_no_instruction() -> None:
    assert code_facts(b"\xff\xff\xff\xff", 110) == (1, 0, 1)
    with pytest.raises(ValueError, match="3 bytes"):
        code_facts(b"abc", 110)


def test_intermediate_representations() -> None:
    seen: dict[str, Any] = {}

    def over_nir(shader: Any) -> bool:
        kinds = shader.instructions.kind[shader.order.instruction]
        seen["arithmetic"] = (count_arithmetic(shader), int((kinds == ALU).sum()))
        return False

    def over_program(program: Any) -> None:
        seen["demand"] = peak_demand(program)

    with nir.registered("values", over_nir), aco.registered("value_numbering", over_program):
        pyaco.compile(MATMUL, target="gfx1100")
    assert seen["arithmetic"][0] == seen["arithmetic"][1] > 0
    assert all(0 < demand < 256 for demand in seen["demand"])
