"""`PYACO_DEBUG`: ACO's switches by their names, in the environment, as an argument and on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import CASES

import pyaco
from pyaco import InputError, Pipeline, PipelineCache, emu
from pyaco._core.ir.vocabulary import OperandFlag
from pyaco.aco import registered
from pyaco.aco.validate import ValidationError
from pyaco.cli import main
from pyaco.debug_switches import SWITCHES, VARIABLE, Observer, switches

MATMUL, MARCH = CASES["matmul_f32"], CASES["ray_march"]
TABLES = CASES["constant_tables"]
#: The switches of ACO in Mesa 25.2.4 (``aco_ir.cpp``).
OF_ACO = {"validateir", "validatera", "validate-livevars", "validateopt", "novalidate", "force-waitcnt", "force-waitdeps", "novn", "noopt", "nosched",
          "nosched-ilp", "nosched-vopd", "perfinfo", "liveinfo"}  # fmt: skip


class Seen(Exception):
    """Ends a compilation that has been damaged."""


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


def compiled(debug: str = "", target: str = "gfx1100", **choices: Any) -> Any:
    return pyaco.compile(MATMUL.spirv, target, debug=debug, **choices)


def names(shader: Any) -> set[str]:
    return {record.name for record in shader.passes}


def test_all_switches_of_aco_are_known() -> None:
    assert SWITCHES.keys() == OF_ACO


@pytest.mark.parametrize(
    ("word", "missing"),
    [("novn", {"value_numbering"}), ("noopt", {"optimize"}), ("nosched", {"schedule_program", "schedule_ilp", "schedule_vopd"}),
     ("nosched-vopd", {"schedule_vopd"}), ("nosched-ilp", {"schedule_ilp"}), ("novalidate", set())],
)  # fmt: skip
def test_passes_are_left_out(word: str, missing: set[str]) -> None:
    plain, shader = (pyaco.compile(MARCH.spirv, wave=32, debug=debug) for debug in ("", word))
    assert names(plain) - names(shader) == missing
    assert (plain.code == shader.code) == (not missing)


@pytest.mark.parametrize("target", ["gfx900", "gfx1010", "gfx1030", "gfx1100", "gfx1200"])
def test_waits_are_forced(target: str) -> None:
    """After each memory operation stands a wait, in front of each instruction one for dependencies, where the chip has such counters."""
    text = compiled("force-waitcnt", target).disassembly
    after_loads = re.findall(r"\n\s*(?:buffer_load|ds_load|ds_read|s_load|s_buffer_load)\S*[^\n]*\n\s*(?:L\d+:\s*)?(\S+)", text)
    assert len(after_loads) > 5 and all(each.startswith("s_wait") for each in after_loads), after_loads
    forced, plain = (shader.disassembly.count("depctr") for shader in (compiled("force-waitdeps", target), compiled("", target)))
    assert forced == plain == 0 if target == "gfx900" else forced > 100 > plain


@pytest.mark.parametrize("target", ["gfx900", "gfx1010", "gfx1030", "gfx1100", "gfx1200"])
@pytest.mark.parametrize("word", ["force-waitcnt force-waitdeps", "novn,noopt,nosched"])
def test_code_computes_the_same(word: str, target: str) -> None:
    """Constant data among it, whose address counts from an instruction that waits may follow."""
    inputs = TABLES.inputs()
    results = []
    for debug in ("", word):
        shader = pyaco.compile(TABLES.spirv, target, debug=debug)
        device = emu.Device(target)
        buffers: dict[Any, Any] = {key: device.buffer(buffer.data.copy()) for key, buffer in inputs.buffers.items()}
        device.dispatch(shader, TABLES.groups, buffers, inputs.push)
        results.append([buffer.numpy() for buffer in buffers.values()])
    assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))


def test_text_is_kept_and_code_stays() -> None:
    plain, shader = compiled(), compiled("perfinfo,liveinfo")
    assert (plain.code, plain.stats) == (shader.code, shader.stats)
    assert list(shader.dumps) == ["liveinfo", "perfinfo"]
    live = shader.ir("liveinfo")
    demands = [tuple(map(int, match)) for match in re.findall(r"\( *(\d+) vgpr, *(\d+) sgpr\)", live)]
    of_blocks = [tuple(map(int, match)) for match in re.findall(r"demand: (\d+) vgpr, (\d+) sgpr", live)]
    assert max(vgprs for vgprs, _ in demands) == max(vgprs for vgprs, _ in of_blocks) > 8
    assert "(kill)%" in live and "live in: %" in live
    performance = shader.ir("perfinfo")
    issues = [tuple(map(int, match)) for match in re.findall(r"\(at +(\d+): +(\d+) clk, +(\d+) waiting, result after +(\d+)\)", performance)]
    assert len(issues) == shader.stats["instructions"]
    assert all(waited < taken for _, taken, waited, _ in issues) and max(latency for *_, latency in issues) == 320
    assert sum(map(int, re.findall(r"cycles: (\d+)", performance))) == sum(taken for _, taken, _, _ in issues)
    assert f"latency: {shader.stats['latency']:f}" in performance and "valu_usage: " in performance


def test_the_environment_is_read_at_each_compilation(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    plain = compiled()
    monkeypatch.setenv(VARIABLE, "noopt, liveinfo")
    shader = compiled()
    assert shader.code == compiled("noopt").code != plain.code
    assert "liveinfo of main for gfx1100" in capsys.readouterr().err     # the caller does not know of it
    assert "schedule_vopd" not in names(compiled("nosched"))
    capsys.readouterr()
    compiled("liveinfo")
    assert not capsys.readouterr().err
    monkeypatch.setenv(VARIABLE, "")
    assert compiled().code == plain.code


@pytest.mark.parametrize("word", ["nonsense", "validateir,nop", "NOOPT", "all"])
def test_unknown_words_are_refused_with_the_known_ones(word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"debug: no switch is named '\w+'; there are: validateir, .*liveinfo"):
        compiled(word)
    with pytest.raises(InputError, match="debug: no switch"):
        Pipeline(MATMUL.spirv, debug=word)
    assert main(["compile", str(MATMUL.spirv), "--debug", word]) == 2
    monkeypatch.setenv(VARIABLE, word)
    with pytest.raises(InputError, match=f"{VARIABLE}: no switch"):
        compiled()
    assert "no switch is named" in capsys.readouterr().err


def test_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["compile", str(MATMUL.spirv), "--debug", "noopt,perfinfo", "--emit", "bin", "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_bytes() == compiled("noopt").code
    error = capsys.readouterr().err
    assert error.startswith("; perfinfo\n") and error.count("parallelism") == 1
    assert main(["compile", str(MATMUL.spirv), "--debug", "perfinfo", "--emit", "aco"]) == 0
    assert "clk" not in capsys.readouterr().out


# ------------------------------------------------------------------------------------------------------------------- caches
def test_switches_that_change_code_are_in_the_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cache = PipelineCache(tmp_path)
    plain = Pipeline(MARCH.spirv, cache=cache)
    for word in ("noopt", "novn", "nosched", "nosched-ilp", "force-waitcnt", "force-waitdeps"):
        changed = Pipeline(MARCH.spirv, cache=cache, debug=word)
        assert not changed.from_cache and changed.key != plain.key
        assert changed.shader.code == pyaco.compile(MARCH.spirv, debug=word).code != plain.shader.code
        monkeypatch.setenv(VARIABLE, word)
        again = Pipeline(MARCH.spirv, cache=cache)
        assert again.from_cache and again.key == changed.key and again.shader.code == changed.shader.code
        monkeypatch.delenv(VARIABLE)
    last = Pipeline(MARCH.spirv, cache=cache, debug="novalidate")
    assert last.from_cache and last.shader.code == plain.shader.code


@pytest.mark.parametrize("word", ["perfinfo", "validateir"])
def test_what_is_looked_at_is_compiled(word: str, tmp_path: Path) -> None:
    cache = PipelineCache(tmp_path)
    Pipeline(MATMUL.spirv, cache=cache)
    shown = Pipeline(MATMUL.spirv, cache=cache, debug=word)
    assert not shown.from_cache and ("perfinfo" in shown.shader.dumps) == (word == "perfinfo")


# --------------------------------------------------------------------------------------------------------------- validation
def damage_liveness(program: Any) -> None:
    with program.edit():
        program.instructions.demand_vgpr[program.order.instruction[1]] += 1


def damage_structure(program: Any) -> None:
    """The first operand of an instruction that reads a temp becomes one that there is not."""
    first = program.instructions.operand_first
    counts, flags = program.instructions.operand_count, program.operands.flags
    reader = next(i for i in program.order.instruction if counts[i] and flags[first[i]] & OperandFlag.TEMP)
    with program.edit():
        program.operands.data[first[reader]] = 1 << 30


def damage_registers(program: Any) -> None:
    """Every result in one register."""
    with program.edit():
        program.definitions.reg[program.definitions.register_class == 0x21] = 256 * 4


@pytest.mark.parametrize(
    ("word", "after", "damage"),
    [("validate-livevars", "schedule_program", damage_liveness), ("validate-livevars", "spill", damage_liveness),
     ("validatera", "register_allocation", damage_registers), ("validateir", "insert_exec_mask", damage_structure),
     ("validateopt", "optimize", damage_structure)],
)  # fmt: skip
def test_damage_is_found_by_the_switch_for_it(word: str, after: str, damage: Callable[[Any], None]) -> None:
    others = Observer(switches([each for each in SWITCHES if each.startswith("validate") and each != word]), pressure=False)
    observer = Observer(switches(word), pressure=False)
    seen = []

    def look(program: Any) -> None:
        observer(after, program, 0.0)                      # sound so far
        others(after, program, 0.0)
        damage(program)
        Observer(switches(), pressure=False)(after, program, 0.0)
        with pytest.raises(ValidationError, match=f"after {after}"):
            observer(after, program, 0.0)
        seen.append(after)
        raise Seen

    with registered(after, look, "look"), pytest.raises(Seen):
        compiled()
    assert seen == [after]


def test_validation_runs_after_every_pass() -> None:
    with registered("insert_exec_mask", damage_structure, "damage"), pytest.raises(ValidationError, match="after damage"):
        compiled("validateir")
