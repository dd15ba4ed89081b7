"""The pass manager: records of passes, the order of pipelines, users' passes over both IRs, and ``pyaco opt``."""

from __future__ import annotations

import importlib
import io
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
from cases import CASES, Case

import pyaco
from pyaco import emu, spirv
from pyaco._core.ir.pass_runner import PassLog, Plan, PreparedStep, run_steps
from pyaco._core.ir.shader import Shader
from pyaco.aco import passes as aco_passes
from pyaco.cli import main
from pyaco.errors import InputError, PyacoError
from pyaco.nir import passes as nir_passes
from pyaco.passes import Pass, Pipeline, Run, unmet_needs
from pyaco.pipelines import compute, properties
from pyaco.pipelines.aco_passes import ACO_PASSES
from pyaco.pipelines.nir_passes import NIR_PASSES, vars_to_ssa

ROOT = Path(__file__).resolve().parents[1]
MATMUL = ROOT / "examples/matmul.spv"
PASSES = [*NIR_PASSES.values(), compute.SELECTION, *ACO_PASSES.values()]
NATIVE = [entry for entry in PASSES if hasattr(importlib.import_module(entry.module), "kernel")]
OPTIONAL = [step for pipeline in (compute.NIR, compute.ACO) for step in pipeline.passes() if not step.required]
PROGRAM = """BB0
/* logical preds: / linear preds: / kind: uniform, top-level, */
\t v1: %1,  v1: %2 = p_startpgm
\t v1: %3 = v_mul_f32 %1, %2
\t v1: %4 = v_add_f32 %3, %1
\tp_unit_test 0, %4
\ts_endpgm
"""
SHADER = """impl main {
    block b0:    // preds:
    32     %1 = load_const (0x00000002)
    32     %2 = iadd %1, %1
               // succs:
}
"""


def read() -> Shader:
    """A shader that no pass has seen."""
    shader = spirv.read(MATMUL.read_bytes())
    shader.set_info(gfx_level=103, wave_size=64, address32_hi=0xFFFF8000)
    return shader


# ---------------------------------------------------------------------------------------------------------------------- records
@pytest.mark.parametrize("entry", PASSES, ids=lambda entry: f"{entry.ir}.{entry.name}")
def test_a_record_names_a_kernel_and_properties_that_exist(entry: Pass) -> None:
    assert callable(importlib.import_module(entry.module).run)
    known = properties.NIR_PROPERTIES if entry.ir == "nir" else properties.ACO_PROPERTIES
    results = properties.ACO_PROPERTIES if entry is compute.SELECTION else known
    assert {*entry.needs, *entry.breaks} <= known.keys()
    assert set(entry.guarantees) <= results.keys()
    assert entry.summary


@pytest.mark.parametrize("pipeline", [compute.NIR, compute.ACO, compute.ASSEMBLER], ids=["nir", "aco", "assembler"])
def test_every_pass_of_a_pipeline_finds_what_it_needs(pipeline: Pipeline) -> None:
    assert unmet_needs(pipeline) == []


def test_instruction_selection_finds_what_it_needs() -> None:
    assert unmet_needs(Pipeline("nir", "compute", (*compute.NIR.members, compute.SELECTION), ("hardware values",))) == []


@pytest.mark.parametrize("missing", ["lower_var_copies", "lower_alu_to_scalar", "declare_arguments", "lcssa", "lower_alu"])
def test_a_pipeline_without_a_pass_that_others_need_is_found_out(missing: str) -> None:
    steps = tuple(step for step in compute.NIR.steps() if step.entry.name != missing)
    assert unmet_needs(Pipeline("nir", "compute", steps))


def test_options_have_types_and_defaults() -> None:
    assert vars_to_ssa().options == {"indirect_limit": 0}
    assert vars_to_ssa(indirect_limit="0x10").options == {"indirect_limit": 16}
    assert str(vars_to_ssa(indirect_limit=4)) == "vars_to_ssa{indirect_limit=4}"
    with pytest.raises(InputError, match="indirect_limit takes int, not 'many'"):
        vars_to_ssa(indirect_limit="many")
    with pytest.raises(InputError, match="late takes bool, not 1"):
        NIR_PASSES["algebraic"](late=1)
    with pytest.raises(InputError, match="has no option 'limit'; it has: late"):
        NIR_PASSES["algebraic"](limit=1)


def test_analyses_change_nothing() -> None:
    shader, program = read(), pyaco.aco.parse_program(PROGRAM, 103)
    assert not any(NIR_PASSES[name].run(shader) for name in ("lcssa", "divergence") if NIR_PASSES[name].analysis)
    assert not any(ACO_PASSES[name].run(program) for name in ("dominance", "live_variables"))


# ----------------------------------------------------------------------------------------------------------------------- running
def test_users_passes_run_between_those_over_nir() -> None:
    seen: list[int] = []
    with nir_passes.registered("lower_int64", lambda shader: seen.append(len(shader.instructions)), "count"):
        shader = pyaco.compile(MATMUL, target="gfx1030")
        with pytest.raises(InputError, match="exists already"):
            nir_passes.register_pass("dce", len, "count")
    names = [record.name for record in shader.passes]
    assert len(seen) == 1
    assert names[names.index("count") - 1] == "lower_int64"
    assert "count" not in [record.name for record in pyaco.compile(MATMUL, target="gfx1030").passes]


def test_users_passes_run_in_pipelines_with_other_options() -> None:
    """Such pipelines have prepared their steps when the pass is registered."""
    choices: tuple[dict[str, Any], ...] = ({}, {"int64": "all"}, {"debug": "force-waitcnt"})

    def seen(name: str) -> list[int]:
        return [sum(record.name == name for record in pyaco.compile(MATMUL, target="gfx1030", **each).passes) for each in choices]

    assert seen("look") == [0, 0, 0]
    with nir_passes.registered("lower_int64", lambda shader: None, "look"), aco_passes.registered("spill", lambda program: None, "look too"):
        assert seen("look") == seen("look too") == [1, 1, 1]
    assert seen("look") == seen("look too") == [0, 0, 0]


def test_a_users_pass_behind_a_group_runs_once_and_behind_a_repeated_pass_as_often() -> None:
    with nir_passes.registered("values", lambda shader: None, "once"), nir_passes.registered("dce", lambda shader: False, "often"):
        names = [record.name for record in pyaco.compile(MATMUL, target="gfx1030").passes]
    assert names.count("once") == 1
    assert names.count("often") == names.count("dce") > 3


def test_a_users_pass_before_all_others_reads_the_shader_as_it_was_read() -> None:
    with nir_passes.registered("read", lambda shader: None, "first"):
        assert [record.name for record in pyaco.compile(MATMUL).passes][:3] == ["read", "first", "lower_system_values"]
    with pytest.raises(InputError, match="no NIR pass is named 'nothing'"):
        nir_passes.register_pass("nothing", len)


def test_a_users_pass_before_the_backend_runs_once() -> None:
    with aco_passes.registered("instruction_selection", lambda program: None, "first"):
        names = [record.name for record in pyaco.compile(MATMUL).passes]
    assert names.count("first") == 1
    assert names[names.index("first") - 1] == "instruction_selection"


def test_a_shader_that_somebody_has_stays_whole() -> None:
    given = spirv.read(MATMUL.read_bytes())
    pyaco.compile(given)
    kept: list[Shader] = []
    with nir_passes.registered("values", kept.append, "keep"):
        pyaco.compile(MATMUL)
    for shader in (given, kept[0]):
        nir_passes.NIR.validate(shader, "compilation")
        assert len(shader.order) > 10


def test_nir_passes_stop_and_leave_out() -> None:
    seen: list[str] = []
    nir_passes.run(read(), {"stop_after": "lower_explicit_io", "validate": True, "disabled": ("loop_unroll",)},
                   on_pass=lambda name, shader, seconds: seen.append(name))  # fmt: skip
    assert seen[-1] == "lower_explicit_io"
    assert "loop_unroll" not in seen
    with pytest.raises(InputError, match="'lcssa' cannot be left out"):
        nir_passes.run(read(), {"disabled": ("lcssa",)})
    with pytest.raises(InputError, match="no option depth"):
        nir_passes.run(read(), {"depth": 3})
    with pytest.raises(InputError, match="no such pass: nothing"):
        nir_passes.run(read(), {"stop_after": "nothing"})


def test_indirect_limit_reaches_the_pass() -> None:
    pipeline = compute.NIR.with_options(vars_to_ssa, indirect_limit=3)
    assert [step.options["indirect_limit"] for step in pipeline.steps() if step.entry is vars_to_ssa] == [0, 3]


def test_optimisations_can_be_left_out_of_a_compilation() -> None:
    names = [f"{r.room}.{r.name}" for r in pyaco.compile(MATMUL, target="gfx1100", wave=32, disable=("nir.cse", "schedule_vopd")).passes]
    assert "nir.dce" in names
    assert not {"nir.cse", "aco.schedule_vopd"} & set(names)
    with pytest.raises(InputError, match="'insert_waitcnt' cannot be left out"):
        pyaco.compile(MATMUL, disable="insert_waitcnt")
    with pytest.raises(InputError, match="no pass is named 'nothing'"):
        pyaco.compile(MATMUL, disable="nothing")


def product(target: str, wave: int, **choices: Any) -> emu.Buffer:
    shader = pyaco.compile(MATMUL, target=target, wave=wave, validate=True, **choices)
    device = emu.Device(target)
    a, b = (numpy.random.default_rng(k).standard_normal((16, 16), dtype=numpy.float32) for k in (0, 1))
    result = device.buffer(numpy.zeros((16, 16), numpy.float32))
    device.dispatch(shader, (1, 1, 1), {(0, 0): device.buffer(a), (0, 1): device.buffer(b), (0, 2): result},
                    push=numpy.array([16, 16, 16], numpy.uint32).tobytes())  # fmt: skip
    assert numpy.abs(result.numpy().view(numpy.float32).reshape(16, 16) - a @ b).max() < 1e-4
    return result


@pytest.mark.parametrize("entry", OPTIONAL, ids=lambda entry: f"{entry.ir}.{entry.name}")
def test_code_is_right_without_an_optimisation(entry: Pass) -> None:
    product("gfx1100", 32, disable=f"{entry.ir}.{entry.name}")


def test_code_is_right_without_all_optimisations() -> None:
    product("gfx1030", 64, disable=tuple(f"{entry.ir}.{entry.name}" for entry in OPTIONAL))


def test_the_public_names_of_the_backend_are_what_they_were() -> None:
    assert aco_passes.pass_names()[:2] == ["dominance", "lower_phis"]
    assert [entry.name for entry in aco_passes.PASSES] == aco_passes.pass_names()
    counts: dict[str, int] = {}
    aco_passes.run_passes(pyaco.aco.parse_program(PROGRAM, 103), aco_passes.Options(statistics=counts, stop_after="live_variables"))
    assert counts["pre_vgprs"] == 2


# ------------------------------------------------------------------------------------------------------------------- pyaco opt
def opt(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, *words: str) -> tuple[int, str, str]:
    path = tmp_path / "input"
    path.write_text(text)
    status = main(["opt", str(path), *words])
    return status, *capsys.readouterr()


def test_opt_reads_either_ir(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    status, output, _ = opt(tmp_path, capsys, SHADER, "--passes", "constant_folding,dce", "--validate")
    assert status == 0
    assert "load_const" not in output
    status, output, _ = opt(tmp_path, capsys, PROGRAM, "--passes", "optimize", "--target", "gfx1030")
    assert status == 0
    assert "v_fma_f32 %1, %2, %1" in output
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PROGRAM.encode())))
    assert main(["opt", "-", "--passes", "optimize", "--time-passes"]) == 0
    captured = capsys.readouterr()
    assert "v_fma_f32" in captured.out
    assert "ms  optimize" in captured.err
    assert main(["opt", str(MATMUL)]) == 0
    assert "shader: MESA_SHADER_COMPUTE" in capsys.readouterr().out


def test_opt_runs_the_whole_pipeline(capsys: pytest.CaptureFixture[str]) -> None:
    words = [str(step) for step in compute.NIR.steps()]
    backend = [str(step) for pipeline in (compute.ACO, compute.ASSEMBLER) for step in pipeline.steps()]
    assert main(["opt", str(MATMUL), "--target", "gfx1100", "--wave", "32", "--passes", ",".join([*words, "instruction_selection", *backend])]) == 0
    assert "/* machine code */" in capsys.readouterr().out


@pytest.mark.parametrize(("text", "words", "status", "reason"), [
    (SHADER, ["--passes", "nothing"], 2, "no pass over NIR is named 'nothing'"),
    (SHADER, ["--passes", "spill"], 2, "it is a pass over ACO IR"),
    (PROGRAM, ["--passes", "cse"], 2, "it is a pass over NIR"),
    (SHADER, ["--passes", "algebraic{late}"], 2, "expected OPTION=VALUE"),
    (SHADER, ["--passes", "algebraic{early=true}"], 2, "has no option 'early'"),
    (SHADER, ["--passes", "algebraic{late=2}"], 2, "late takes bool"),
    (SHADER, ["--passes", "dce;cse"], 2, "not understood: 'dce;cse'"),
    (SHADER.replace("iadd", "iadding"), ["--passes", "dce"], 3, "input:4: the NIR opcode iadding"),
    (SHADER.replace("%1, %1", "%1, %9"), ["--passes", "dce"], 2, "input:4"),
    (PROGRAM.replace("%3 = v_mul", "%3 = v_mull"), ["--passes", "optimize"], 2, "input: line 4"),
    (PROGRAM, ["--passes", "lower_to_hw_instr"], 2, "needs 'registers'"),
    (PROGRAM, ["--passes", "assemble"], 2, "needs 'hardware'"),
    (PROGRAM, ["--passes", "schedule_vopd", "--target", "gfx1030"], 2, "does not apply to gfx level 10.3"),
    (PROGRAM, ["--target", "gfx942"], 3, "no compiler here"),
    (PROGRAM, ["--target", ""], 2, "''"),
    ("gfx_level: 77\n" + SHADER, ["--passes", "dce"], 2, "no chip has gfx level 77"),
    (PROGRAM, ["--wave", "32", "--target", "gfx900"], 3, "wave32 on gfx900"),
    (SHADER, ["--passes", "lower_descriptors"], 2, "declare_arguments"),
])  # fmt: skip
def test_opt_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, words: list[str], status: int, reason: str) -> None:
    found, _, errors = opt(tmp_path, capsys, text, *words)
    assert reason in errors
    assert found == status


def test_opt_lists_passes_and_pipelines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["opt", "--list"]) == 0
    listing = capsys.readouterr().out
    assert all(f"  {entry.name} (" in listing for entry in PASSES)
    assert "option late=false: the rules of the group [late]" in listing
    assert main(["opt", "--pipeline", "compute"]) == 0
    lines = capsys.readouterr().out.splitlines()
    lines = [line.strip() for line in lines]
    assert lines.index("optimize: until nothing changes") < lines.index("instruction_selection") < lines.index("register_allocation")


# ------------------------------------------------------------------------------------------------------------- what is left out
def test_a_step_that_found_nothing_to_do_runs_again_only_behind_a_change() -> None:
    calls: list[str] = []
    work = {"first": 1, "second": 0}

    def step(name: str, slot: int) -> PreparedStep:
        def run(ir: object, options: object) -> bool:
            calls.append(name)
            work[name] -= 1
            return work[name] >= 0

        return PreparedStep(("nir", name), run, {}, slot)

    steps = (PreparedStep(("nir", "group"), None, {}, -1, (step("first", 0), step("second", 1))), step("second", 1))
    log = PassLog()
    assert run_steps(Plan(steps), object(), log)
    # The second changed nothing after the first's only change: neither the group's last round nor the step behind it runs it again.
    assert calls == ["first", "second", "first"]
    assert [row[:2] for row in log.rows()] == [("nir", name) for name in calls]
    calls.clear()
    run_steps(Plan(steps), object(), PassLog(), lambda *seen: None)
    assert calls == ["first", "second", "second"]


@pytest.mark.parametrize(("effect", "indifferent_to", "settles", "expected"), [
    ("any", (), False, ["other", "pass", "other", "pass"]),
    ("any", ("any",), False, ["other", "pass", "pass"]),
    ("dead code", ("dead code",), False, ["other", "pass", "pass"]),
    ("dead code", ("dead code",), True, ["other", "pass"]),
    ("dead code", (), True, ["other", "pass", "other"]),
])  # fmt: skip
def test_promises_leave_steps_out(effect: str, indifferent_to: tuple[str, ...], settles: bool, expected: list[str]) -> None:
    """Two passes of which only the second changes something, once: promised are its effect, what the first does not mind, that the second settles."""
    calls: list[str] = []

    def other(ir: object, options: object) -> bool:
        calls.append("other")
        return False

    def changing(ir: object, options: object) -> bool:
        calls.append("pass")
        return calls.count("pass") == 1

    group = (PreparedStep(("nir", "other"), other, {}, 0, indifferent_to=indifferent_to),
             PreparedStep(("nir", "pass"), changing, {}, 1, effect=effect, settles=settles))  # fmt: skip
    run_steps(Plan((PreparedStep(("nir", "group"), None, {}, -1, group),)), object(), PassLog())
    assert calls == expected


def test_passes_without_the_interpreter_are_noted_as_those_with_it() -> None:
    # While somebody watches, every pass is called from Python, also those that a step left out would have spared.
    fast, watched = pyaco.compile(MATMUL, target="gfx1100"), pyaco.compile(MATMUL, target="gfx1100", dump_after="dominance")
    ran, seen = ([(record.room, record.name) for record in shader.passes] for shader in (fast, watched))
    left_out = {("nir", entry.name) for entry in NIR_PASSES.values() if entry.only_with} - set(ran)
    assert list(dict.fromkeys(ran)) == [name for name in dict.fromkeys(seen) if name not in left_out]
    assert len(ran) < len(seen)
    assert all(record.milliseconds >= 0 for record in fast.passes)


@pytest.mark.parametrize("entry", NATIVE, ids=lambda entry: entry.name)
def test_a_native_kernel_takes_the_options_of_its_pass(entry: Pass) -> None:
    assert entry.native_kernel(entry.values({}), 110) is not None


def test_a_native_pass_that_fails_ends_the_run() -> None:
    program = pyaco.aco.parse_program(PROGRAM, 103)
    pipeline = Pipeline("aco", "compute", (ACO_PASSES["dominance"], ACO_PASSES["register_allocation"], ACO_PASSES["ssa_elimination"]))
    steps = Run()
    # Nobody has counted how many registers are live.
    with pytest.raises(PyacoError, match="must be spilled first"):
        steps.run(aco_passes.ACO, pipeline, program, 103)
    assert [record.name for record in steps.records] == ["dominance"]


def test_a_users_function_counts_as_a_change() -> None:
    calls: list[str] = []
    nothing = PreparedStep(("nir", "nothing"), lambda ir, options: calls.append("nothing"), {}, 0)
    user = PreparedStep(("nir", "user"), lambda ir: calls.append("user"), None, -1)
    assert not run_steps(Plan((nothing, nothing, user, nothing)), object(), PassLog())
    assert calls == ["nothing", "user", "nothing"]


@pytest.mark.parametrize("target", ["gfx900", "gfx1100"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_leaving_steps_out_changes_no_code(case: Case, target: str) -> None:
    choices: dict[str, Any] = {"target": target, "spec": dict(case.spec), "entry": case.entry}
    fast, watched = pyaco.compile(case.spirv, **choices), pyaco.compile(case.spirv, dump_after="dominance", **choices)
    assert (fast.code, fast.constant_data, fast.stats, fast.abi) == (watched.code, watched.constant_data, watched.stats, watched.abi)
    assert len(fast.passes) < len(watched.passes)


def test_what_is_made_late_is_made_once_and_travels() -> None:
    shader = pyaco.compile(MATMUL, target="gfx1030")
    assert shader.stats is shader.stats and shader.abi is shader.abi and shader.passes is shader.passes
    copy = pickle.loads(pickle.dumps(pyaco.compile(MATMUL, target="gfx1030")))
    assert (copy.code, copy.stats, copy.abi) == (shader.code, shader.stats, shader.abi)
