"""The optimizer's late patterns, executed: programs of the file tests keep at each ``p_unit_test`` what they kept before the optimizer ran.

Values are random bits, ends of the ranges, denormals, infinities, NaNs and zeros of both signs, as singles and as pairs of halves; the mode takes all
roundings, and keeps or flushes denormals. Where two roundings become one, values are such that neither rounds.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ssa_execution import LANES, execute

from pyaco import targets
from pyaco._core.aco.optimize import run as optimize
from pyaco.aco import format_program, parse_program

FOLDER = Path(__file__).parents[1] / "filetests/aco/optimize"
sys.path.insert(0, str(FOLDER.parents[1]))

from test_filetests import read  # noqa: E402

#: Files by what their values may be: anything, or what is not rounded.
FILES = {
    "halves": "any", "signs_of_conversions": "exact", "selections": "any", "mixed_precision": "exact", "two_literals": "exact",
    "median_of_floats": "any", "inverse_compare": "any", "signs_of_compares": "exact", "output_scale": "exact", "literals_in_registers": "exact",
    "parts_of_vectors": "any", "sums_of_parts": "any", "shared_products": "exact", "packed_halves": "any", "sums_with_conditions": "any",
    "inverted_logic": "any", "parts_of_scalars": "any",
    "minmax_modifiers": "any", "lane_moves": "any", "lane_moves_of_eight": "any", "packed_constants": "any", "inverted_operands": "any",
    "short_integers": "any", "short_integers_gfx10": "any", "absolute_differences": "any", "nested_vectors": "any", "signs_of_logic": "any",
    "parts_in_sums": "any", "products_of_halves": "any", "signs_of_products_by_logic": "any", "packed_clamp": "any", "canonical_products": "any",
    "median_of_short_integers": "any", "median_of_short_integers_gfx10": "any", "differences_with_shifts": "any", "conditions_as_values": "any",
    "multiply_add_legacy": "exact", "multiply_add_literal_factor": "any",
}  # fmt: skip
#: What no assembler but ours writes, so that no test of the engines has it: halves of literals.
BOTH_ENGINES = ("two_literals",)
#: Tests of them whose value is not defined in every lane, or where one rounding less, or a zero that has no sign, shows.
UNDEFINED = {"lane_moves": ("6",), "halves": ("4",), "median_of_floats": ("1",), "shared_products": ("2",), "conditions_as_values": ("0", "2")}
#: What is the same everywhere is executed on two of them.
ALIKE = ("median_of_floats", "inverse_compare", "signs_of_compares", "output_scale", "literals_in_registers", "parts_of_vectors", "sums_of_parts",
         "shared_products", "packed_halves", "sums_with_conditions", "inverted_logic")
TARGETS = ("gfx803", "gfx900", "gfx1030", "gfx1100", "gfx1200")
#: Denormals as compute shaders have them, all kept, all flushed; then the other roundings, of both sizes alike and apart.
MODES = (0xC0, 0xF0, 0x00, 0xC5, 0xCA, 0xCF, 0xC1, 0xC8)
SINGLES = (0, 0x80000000, 1, 0x807FFFFF, 0x00800000, 0x3F800000, 0xBF800001, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0x477FF000)
HALVES = (0, 0x8000, 1, 0x83FF, 0x0400, 0x3C00, 0xBC01, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x7C01)
NORMAL_HALVES = (0, 0x8000, 0x0400, 0x3C00, 0xBC01, 0x7BFF, 0x7C00, 0xFC00, 0x7E00)

Array = Any


def values_of(kind: str, mode: int) -> list[Array]:
    """Rows of inputs to try."""
    rng = np.random.default_rng(3)
    shape = (8, LANES)
    # Whether v_fma_mix flushes denormals of halves is not known well enough to be asked.
    patterns = np.array(HALVES if mode & 0xC0 == 0xC0 else NORMAL_HALVES, np.uint32)
    pairs = rng.choice(patterns, shape) | rng.choice(patterns, shape) << 16
    short = (rng.integers(-63, 64, shape) / 2.0 ** rng.integers(0, 5, shape)).astype(np.float32).view(np.uint32)
    if kind == "exact":
        halves = (rng.integers(-15, 16, (4, LANES)) / 4).astype(np.float16).view(np.uint16)
        return [short, np.concatenate([short[:2], halves, short[:2]])]
    return [rng.integers(0, 1 << 32, shape, dtype=np.uint32), rng.choice(np.array(SINGLES, np.uint32), shape), pairs, short]


def optimized(text: str, level: int, wave: int, mode: int) -> str:
    """The program that the optimizer makes of another."""
    program = parse_program(text, level, wave)
    with program.edit():
        program.blocks.fp_mode[0] = mode
    optimize(program, None)
    return format_program(program)


def not_a_number(row: Array, of_half: bool) -> Array:
    if of_half:
        return (row & 0x7C00 == 0x7C00) & (row & 0x3FF != 0)
    return (row & 0x7F800000 == 0x7F800000) & (row & 0x7FFFFF != 0)


def available(text: str, target: str) -> bool:
    """Whether the generation has what a program has before the optimizer runs."""
    lacks = {"gfx803": r"v_(med3|fma)_f16|dpp8|row_xmask|v_pk_|_e64|v_(add|sub)_u32 ", "gfx900": r"dpp8|row_xmask|16_e64"}
    return not re.search(lacks.get(target, r"v_(mul_lo_u|max_[iu])16 "), text)


PROGRAMS = {name: re.sub(r" / mode: \w+", "", read(FOLDER / f"{name}.txt").source) for name in FILES}


@pytest.mark.parametrize("name, target", [(name, target) for name in FILES for target in TARGETS
                                          if available(PROGRAMS[name], target) and (name not in ALIKE or target in ("gfx900", "gfx1030"))])
def test_values_stay(name: str, target: str) -> None:
    """All modes, all values."""
    source = PROGRAMS[name]
    level = targets.chip(target).level
    for mode in MODES:
        after = optimized(source, level, 64, mode)
        assert after != source
        body = "\n".join(line for line in after.splitlines() if not line.startswith(("After", "ACO")))
        for values in values_of(FILES[name], mode):
            wanted = execute(source, level, 64, values, mode)
            got = execute(body, level, 64, values, mode)
            assert wanted.keys() == got.keys()
            if name in BOTH_ENGINES:
                fast = execute(body, level, 64, values, mode, engine="fast")
                assert [key for key, row in got.items() if not np.array_equal(row, fast[key])] == []
            for key, row in wanted.items():
                if key[0] in UNDEFINED.get(name, ()):
                    continue
                same = (row == got[key]) | (not_a_number(row, True) & not_a_number(got[key], True)) \
                    | (not_a_number(row, False) & not_a_number(got[key], False))
                assert same.all(), (hex(mode), key, [hex(word) for word in (values[:4, int(np.argmin(same))])],
                                    hex(row[np.argmin(same)]), hex(got[key][np.argmin(same)]))  # fmt: skip
