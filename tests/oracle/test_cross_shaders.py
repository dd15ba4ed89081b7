"""Random targets, wave sizes and options for a shader: what is drawn, and that the driver tells right code from wrong."""

from __future__ import annotations

import itertools
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import llvm_forms
import pytest
from cross_shaders import BAD, OPTIONAL, Combination, Crossing, Work, all_targets, draw, every, judge_file, replayed
from judge import undecoded
from shader_runs import run_interpreted
from vulkan_peer import Lavapipe

import pyaco

pytestmark = pytest.mark.oracle
SHADERS = Path(__file__).resolve().parents[1] / "shaders"


def test_every_target_wave_and_option_is_drawn() -> None:
    chance = random.Random(1)
    drawn = [draw(chance, all_targets()) for _ in range(2000)]
    assert {how.target for how in drawn} == set(all_targets())
    assert {how.wave for how in drawn} == {32, 64} and not any(how.wave == 32 and how.target < "gfx1010" and len(how.target) == 6 for how in drawn)
    assert {name for how in drawn for name in how.disable} == set(OPTIONAL)
    assert {how.fp64 for how in drawn} == {"hardware", "lowered", "software"} and any(how.vgpr_limit and how.sgpr_limit for how in drawn)


def test_every_target_in_every_wave_size() -> None:
    names = ("gfx700", "gfx1030")
    first, second = every(names, 0), every(names, 1)
    assert [(how.target, how.wave, how.values) for how in first] == [("gfx700", 64, "small"), ("gfx1030", 64, "small"), ("gfx1030", 32, "wide")]
    assert {(how.target, how.wave, how.values) for how in first + second} == set(itertools.product(("gfx1030",), (32, 64), ("small", "wide"))) | {
        ("gfx700", 64, "small"), ("gfx700", 64, "wide")}  # fmt: skip


def test_a_file_is_cut_and_taken_up_again(lavapipe: Lavapipe, llvm: str, tmp_path: Path) -> None:
    work = Work(SHADERS / "saxpy.spv", ("gfx900", "gfx1100"), 1, 0, True, (), 0)
    cut = judge_file(work)
    assert [row["outcome"] for row in cut] == ["cut"] * 3
    rows = tmp_path / "rows.json"
    rows.write_text("".join(json.dumps(row) + "\n" for row in cut))
    again = judge_file(replace(work, given=replayed(rows)[work.path], seconds=60))
    assert [row["how"] for row in again] == [row["how"] for row in cut] and {row["outcome"] for row in again} <= {"equal", "close"}


def test_other_values_and_constants(lavapipe: Lavapipe, llvm: str) -> None:
    """Of a module whose tables and loops have a size by name."""
    work = Work(SHADERS / "spec_constants.spv", ("gfx1030",), 1, 0, True, (), 60, "exact", (("taps", 5),))
    rows = judge_file(work)
    assert [(row["how"]["values"], row["outcome"]) for row in rows] == [("exact", "equal")] * 2
    assert [row["how"] for row in judge_file(replace(work, constants=()))] == [row["how"] for row in rows]


def test_words_that_are_no_instruction(llvm: str) -> None:
    shader: Any = pyaco.compile((SHADERS / "saxpy.spv").read_bytes(), target="gfx1100")
    assert not undecoded(shader)
    shader.code = shader.code[:8] + bytes.fromhex("ffffffff") + shader.code[8:]
    assert [line.split(":")[0] for line in undecoded(shader)] == ["0x8"]


def test_text_that_llvm_assembles(llvm: str) -> None:
    shader: Any = pyaco.compile((SHADERS / "saxpy.spv").read_bytes(), target="gfx700")
    assert not undecoded(shader)
    assert llvm_forms.assemble_program("gfx700", shader.disassembly) == shader.code
    with pytest.raises(ValueError, match="invalid instruction"):
        llvm_forms.assemble_program("gfx700", "v_frobnicate_b32 v0, v1")


def test_fewer_registers_make_a_shader_spill() -> None:
    module = (SHADERS / "attention.spv").read_bytes()
    few, plain = Combination("gfx1100", 64, vgpr_limit=24), Combination("gfx1100", 64)
    assert few.compile(module, "main").stats["spilled_vgprs"] > 0 == plain.compile(module, "main").stats["spilled_vgprs"]


def test_what_lavapipe_does_not_run_is_interpreted(lavapipe: Lavapipe, llvm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cross_shaders.peer_lacks", lambda module: "what it needs")
    monkeypatch.setattr("shader_evidence.EVIDENCE_SECONDS", 0)
    module, how = (SHADERS / "saxpy.spv").read_bytes(), Combination("gfx1030", 32)

    def otherwise(*arguments: Any) -> Any:
        return {key: ~data for key, data in run_interpreted(*arguments).items()}

    def without_result(*arguments: Any) -> Any:
        raise pyaco.UnsupportedError("an instruction")

    for run, outcome in ((run_interpreted, "equal"), (otherwise, "differs"), (without_result, "peer refuses")):
        monkeypatch.setattr("cross_shaders.run_interpreted", run)
        assert Crossing(module, "main", 0, "small", (2, 2, 1)).judge(how)[0] == outcome


def test_right_and_wrong_code(lavapipe: Lavapipe, llvm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    crossing = Crossing((SHADERS / "bitonic_sort.spv").read_bytes(), "main", 0, "small", (2, 2, 1))
    for how in (Combination("gfx600", 64, debug=("noopt",), sgpr_limit=48), Combination("gfx1100", 32, ("nir.cse",), int64="all", vgpr_limit=24)):
        assert crossing.judge(how)[0] not in (*BAD, "refused")
    compiled = Combination.compile

    def without_waits(self: Combination, *arguments: Any, **more: Any) -> Any:
        shader: Any = compiled(self, *arguments, **more)
        text = "\n".join("s_nop 0" if "lgkmcnt" in line else line for line in shader.disassembly.splitlines())
        shader.code = pyaco.isa.assemble(text, self.target, wave_size=self.wave)
        return shader

    monkeypatch.setattr(Combination, "compile", without_waits)
    assert crossing.judge(Combination("gfx1030", 64))[0] == "missing wait"
