"""Reductions and scans: which linear VGPRs they get, and what their lowering does with them."""

from __future__ import annotations

import re

import pytest

from pyaco._core.aco import dominance, lower_to_hw_instr, setup_reduce_temp
from pyaco.aco import format_program, parse_program
from pyaco.aco.text_words import REDUCTIONS

ENTRY = "BB0\n/* logical preds: / linear preds: / kind: uniform, top-level, */\n"
INSTRUCTIONS = [("p_reduce", cluster) for cluster in (2, 4, 8, 16, 32, 64)] + [("p_inclusive_scan", 0), ("p_exclusive_scan", 0)]


def temporaries(gfx: int, wave: int, instruction: str, operation: str, cluster: int) -> int:
    """How many linear VGPRs ``setup_reduce_temp`` gives the instruction."""
    size = 2 if operation.endswith("64") else 1
    mask = "s2" if wave == 64 else "s1"
    text = (f"{ENTRY}\t v{size}: %1 = p_startpgm\n"
            f"\t v{size}: %2,  {mask}: %3,  s{size}: %4,  s1: %5:scc,  {mask}: %6:vcc = {instruction} %1,  lv{size}: undef,  lv{size}: undef"
            f" op:{operation} cluster_size:{cluster or wave}\n\tp_unit_test 0, %2\n\ts_endpgm\n")  # fmt: skip
    program = parse_program(text, gfx, wave)
    dominance.run(program, None)
    setup_reduce_temp.run(program, None)
    return format_program(program).count("p_start_linear_vgpr")


def uses_second(gfx: int, wave: int, instruction: str, operation: str, cluster: int) -> bool:
    """Whether the lowered instruction names the second linear VGPR."""
    size = 2 if operation.endswith("64") else 1
    mask = "s2" if wave == 64 else "s1"

    def register(kind: str, first: int, count: int) -> str:
        return f"%0:{kind}[{first}]" if count == 1 else f"%0:{kind}[{first}-{first + count - 1}]"

    def vector(first: int) -> str:
        return register("v", first, size)

    text = (f"After RA:\n{ENTRY}\t v{size}: {vector(2)},  {mask}: {register('s', 4, wave // 32)},  s{size}: {register('s', 8, size)},"
            f"  s1: %0:scc,  {mask}: %0:vcc = {instruction} {vector(0)}, {vector(10)}, {vector(20)}"
            f" op:{operation} cluster_size:{cluster or wave}\n\ts_endpgm\n")  # fmt: skip
    program = parse_program(text, gfx, wave)
    lower_to_hw_instr.run(program, None)
    return re.search(r"v\[20", format_program(program)) is not None


@pytest.mark.parametrize(("gfx", "wave"), [(70, 64), (90, 64), (103, 32), (103, 64), (110, 32), (110, 64), (120, 32), (120, 64)])
@pytest.mark.parametrize("operation", REDUCTIONS)
def test_a_second_vgpr_is_there_where_it_is_used(gfx: int, wave: int, operation: str) -> None:
    for instruction, cluster in INSTRUCTIONS:
        if cluster <= wave:
            used = uses_second(gfx, wave, instruction, operation, cluster)
            assert temporaries(gfx, wave, instruction, operation, cluster) == 1 + used, (instruction, cluster)
