"""The ALU opcodes against Mesa's own table and constant expressions, which the package ``tinymesa`` exports (NIR of Mesa 25.2.7)."""

from __future__ import annotations

import os

import pytest

pytest.importorskip("tinymesa", reason="needs the package tinymesa")

import mesa_opcodes
from opcode_rules import DEFINED, EQUAL, NOT_COMPARED

from pyaco.nir.opcodes import ALU_INFOS

MESA = mesa_opcodes.Mesa()
COMMUTATIVE, ASSOCIATIVE, SELECTION = 1, 2, 4
SHARED = [name for name in ALU_INFOS if name in MESA.infos]


def test_every_opcode_of_mesa_is_there() -> None:
    assert MESA.infos.keys() - ALU_INFOS.keys() == set()
    assert len(MESA.infos) == mesa_opcodes.OPCODES


@pytest.mark.parametrize("name", SHARED)
def test_shapes_and_properties(name: str) -> None:
    mesa, mine = MESA.infos[name], ALU_INFOS[name]
    assert (mine.output_size, mine.output_type) == (mesa.output_size, mesa.output_type)
    assert (mine.input_sizes, mine.input_types) == (mesa.input_sizes, mesa.input_types)
    assert mine.is_conversion == mesa.is_conversion
    assert mine.is_selection == bool(mesa.properties & SELECTION)
    assert ("2src_commutative" in mine.algebraic_properties) == bool(mesa.properties & COMMUTATIVE)
    # NIR has one property; here another name says that rounding differs.
    assert bool({"associative", "inexact_associative"} & set(mine.algebraic_properties)) == bool(mesa.properties & ASSOCIATIVE)


@pytest.mark.parametrize("name", SHARED)
def test_constant_expressions(name: str) -> None:
    for bits in mesa_opcodes.sizes_of(ALU_INFOS[name]):
        mesa_opcodes.compare(MESA, name, bits, 40)


@pytest.mark.slow
def test_many_constant_expressions() -> None:
    """A million if PYACO_EXHAUSTIVE is set, else a tenth of that."""
    exhaustive = bool(os.environ.get("PYACO_EXHAUSTIVE"))
    evaluated = 0
    differences = []
    for name in SHARED:
        for bits in mesa_opcodes.sizes_of(ALU_INFOS[name]):
            try:
                made, left_out = mesa_opcodes.compare(MESA, name, bits, 750 if exhaustive else 75, seed=1)
                evaluated += made - left_out
            except mesa_opcodes.Difference as difference:
                differences.append(str(difference))
    assert differences == []
    assert evaluated > (1_000_000 if exhaustive else 80_000)


def test_every_rule_has_a_reason_and_an_opcode() -> None:
    import re

    for pattern, _, reason in [*DEFINED, *EQUAL]:
        assert reason and any(re.fullmatch(pattern, name) for name in SHARED), pattern
    assert NOT_COMPARED.keys() <= set(SHARED) and all(NOT_COMPARED.values())
