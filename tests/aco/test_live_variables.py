"""Live sets against the definition of liveness, solved over Python sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from random_ssa import random_program

import pyaco
from pyaco._core.aco import live_variables
from pyaco._core.ir.program import Program
from pyaco.aco.text import format_program, parse_program

TEMP, KILLED_DEFINITION = 1, 4
SHADERS = Path(__file__).parents[1] / "shaders"


class Model:
    """What each block reads, defines and hands to phis, and the sets that follow from it."""

    def __init__(self, program: Program, text: str) -> None:
        blocks, lists = program.blocks, program.edge_lists.block
        self.count = len(blocks)
        self.linear = {t for t, rc in enumerate(program.temps.register_class) if rc & 0x80 or not rc & 0x20}
        self.succ = [[lists[getattr(blocks, f"{kind}_succ_first")[b]:][: getattr(blocks, f"{kind}_succ_count")[b]].tolist()
                      for b in range(self.count)] for kind in ("logical", "linear")]  # fmt: skip
        self.pred = [[lists[getattr(blocks, f"{kind}_pred_first")[b]:][: getattr(blocks, f"{kind}_pred_count")[b]].tolist()
                      for b in range(self.count)] for kind in ("logical", "linear")]  # fmt: skip
        self.phis: list[list[tuple[int, int, list[int | None]]]] = [[] for _ in range(self.count)]
        self.body: list[list[tuple[list[int], list[int]]]] = [[] for _ in range(self.count)]
        rows = [line for line in text.splitlines() if line.startswith("\t")]
        at = 0
        for b in range(self.count):
            for i in program.order.instruction[blocks.order_first[b] :][: blocks.order_count[b]]:
                line, at = rows[at], at + 1
                uses = self._temps(program.operands.data, program.operands.flags, program.instructions.operand_first[i],
                                   program.instructions.operand_count[i])  # fmt: skip
                definitions = self._temps(program.definitions.temp, program.definitions.flags,
                                          program.instructions.definition_first[i], program.instructions.definition_count[i])  # fmt: skip
                if " = p_phi" in line or " = p_linear_phi" in line:
                    killed = program.definitions.flags[program.instructions.definition_first[i]] & KILLED_DEFINITION
                    self.phis[b].append((int(" = p_linear_phi" in line), definitions[0] or 0, [] if killed else uses))
                else:
                    self.body[b].append(([t for t in definitions if t], [t for t in uses if t]))

    @staticmethod
    def _temps(values: np.ndarray, flags: np.ndarray, first: int, count: int) -> list[int | None]:
        return [int(values[k]) if flags[k] & TEMP else None for k in range(first, first + count)]

    def live_in(self) -> list[set[int]]:
        result: list[set[int]] = [set() for _ in range(self.count)]
        changed = True
        while changed:
            changed = False
            for b in reversed(range(self.count)):
                live = self._before(b, self._after(b, result))
                changed |= live != result[b]
                result[b] = live
        return result

    def _after(self, b: int, live_in: list[set[int]]) -> set[int]:
        live: set[int] = set()
        for kind in (0, 1):
            for s in self.succ[kind][b]:
                live |= {t for t in live_in[s] if (t in self.linear) == bool(kind)}
                for phi_kind, _, operands in self.phis[s]:
                    if phi_kind == kind and operands:
                        live |= {t for t in [operands[self.pred[kind][s].index(b)]] if t}
        return live

    def _before(self, b: int, live: set[int]) -> set[int]:
        for definitions, uses in reversed(self.body[b]):
            live = (live - set(definitions)) | set(uses)
        return live - {definition for _, definition, _ in self.phis[b]}


def check(program: Program) -> int:
    live_variables.run(program)
    expected = Model(program, format_program(program)).live_in()
    assert [set(live_variables.live_in(program, b)) for b in range(len(program.blocks))] == expected
    return sum(map(len, expected))


@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed: int) -> None:
    check(parse_program(random_program(seed, ["s1", "s2", "v1", "v2"], 14, 14), 103, 64))


@pytest.mark.parametrize("name", ["nested_loops", "divergent_switch", "sha256", "scan_subgroups", "ray_march", "scalar_pressure"])
def test_shaders(name: str) -> None:
    """Divergent control flow: values in VGPRs follow the logical edges only."""
    shader = pyaco.compile(SHADERS / f"{name}.spv", "gfx1030", wave=64, dump_after="insert_exec_mask")
    program = parse_program(shader.ir("after insert_exec_mask"), 103, 64)
    assert check(program) > 0


LOOP = """BB0
/* logical preds: / linear preds: / kind: top-level, */
     s1: %1,  s1: %2,  s1: %3,  s1: %4,  s1: %5 = p_startpgm
     s2: %90 = p_cbranch_z %1
BB1
/* logical preds: BB0, BB3, / linear preds: BB0, BB3, / kind: loop-header, */
     s1: %10 = p_linear_phi %1, %12
     s1: %11 = p_linear_phi %2, %13
     s1: %14 = p_linear_phi %2, %15
     s2: %91 = p_cbranch_z %10
BB2
/* logical preds: BB0, / linear preds: BB0, / kind: uniform, */
    p_unit_test 0, %5
     s2: %92 = p_branch
BB3
/* logical preds: BB1, / linear preds: BB1, / kind: continue, */
     s1: %13 = p_linear_phi %11
     s1: %12,  s1: %17:scc = s_add_u32 %10, %3
     s1: %15,  s1: %18:scc = s_add_u32 %14, %3
     s2: %93 = p_branch
BB4
/* logical preds: BB1, / linear preds: BB1, / kind: loop-exit, */
    p_unit_test 1, %4
     s2: %94 = p_branch
BB5
/* logical preds: BB2, BB4, / linear preds: BB2, BB4, / kind: top-level, */
     s1: %20 = p_linear_phi %5, %14
    p_unit_test 2, %20
    s_endpgm
"""


def test_loop() -> None:
    """A block between those of a loop that is none of it keeps nothing alive there; phis that only each other read are dead."""
    program = parse_program(LOOP.replace("    ", "\t"), 103, 64)
    check(program)
    assert {3, 4} <= set(live_variables.live_in(program, 3)) and 5 not in live_variables.live_in(program, 1)
    killed = program.definitions.flags & KILLED_DEFINITION != 0
    temps = {int(t) for t in program.definitions.temp[killed]}
    assert temps & {10, 11, 13, 14, 20} == {11, 13}
