"""Pairing for dual issue: what pairs, what must not."""

from __future__ import annotations

import pytest
from test_register_allocation import straight

from pyaco._core.aco import schedule_vopd
from pyaco.aco import text


def scheduled(*lines: str, gfx: int = 110, wave: int = 32) -> list[str]:
    """Return the instructions after the pass."""
    program = text.parse_program(straight(*lines, "s_endpgm"), gfx, wave)
    schedule_vopd.run(program)
    return [line.strip() for line in text.format_program(program).splitlines() if line.startswith("\t")][:-1]


def line(opcode: str, destination: int, *sources: str) -> str:
    """Return an instruction on VGPRs named by number."""
    return f"v1: %0:v[{destination}] = {opcode} " + ", ".join(f"%0:v[{s}]" if s.isdigit() else s for s in sources)


def test_pair():
    (pair,) = scheduled(line("v_mul_f32", 0, "2", "3"), line("v_add_f32", 1, "4", "5"))
    assert "v_dual_mul_f32" in pair
    assert "v_dual_add_f32" in pair


def test_sources_in_one_bank_are_commuted():
    (pair,) = scheduled(line("v_mul_f32", 0, "2", "3"), line("v_add_f32", 1, "6", "7"))
    assert "v_dual_add_f32 %0:v[7], %0:v[6]" in pair


def test_move_becomes_addition():
    (pair,) = scheduled(line("v_mov_b32", 0, "2"), line("v_mov_b32", 1, "6"))
    assert "v_dual_add_nc_u32 0, %0:v[6]" in pair


def test_partner_moves_past_independent_code():
    pair, other = scheduled(line("v_mul_f32", 0, "2", "3"), "s1: %0:s[0] = s_mov_b32 1", line("v_add_f32", 1, "4", "5"))
    assert " :: " in pair
    assert "s_mov_b32" in other


@pytest.mark.parametrize(
    "lines",
    [
        (line("v_mul_f32", 0, "2", "3"), line("v_add_f32", 2, "5", "4")),  # both destinations even
        (line("v_mul_f32", 0, "2", "3"), line("v_add_f32", 1, "0", "5")),  # reads the first result
        (line("v_lshlrev_b32", 0, "2", "3"), line("v_and_b32", 1, "5", "4")),  # both second half only
        (line("v_mul_f32", 0, "0x1234567", "3"), line("v_add_f32", 1, "0x7654321", "4")),  # two literals
        (line("v_mul_f32", 0, "2", "3"), "s1: %0:exec = s_mov_b32 1", line("v_add_f32", 1, "5", "4")),  # exec changes
        (line("v_mul_f32", 0, "2", "3"), line("v_sqrt_f32", 5, "1"), line("v_add_f32", 1, "5", "4")),  # written in between
    ],
)
def test_no_pair(lines):
    assert not any(" :: " in out for out in scheduled(*lines))


def test_only_where_the_hardware_has_it():
    lines = line("v_mul_f32", 0, "2", "3"), line("v_add_f32", 1, "4", "5")
    assert len(scheduled(*lines, wave=64)) == 2
    assert len(scheduled(*lines, gfx=103)) == 2
