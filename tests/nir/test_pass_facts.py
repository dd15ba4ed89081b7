"""Passes that are left out, by facts of a shader (`Pass.only_with`) or by what they promise: run all the same, they change nothing."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from shader_cases import CASES, read

from pyaco import compile
from pyaco._core.ir.pass_runner import EFFECTS
from pyaco._core.ir.shader import Shader
from pyaco._core.ir.shader_facts import FACTS, facts_of, mask_of
from pyaco.nir import parse, passes
from pyaco.passes import Group, Pass, Pipeline, Run, Step
from pyaco.pipelines import compute
from pyaco.pipelines.nir_passes import NIR_PASSES

ROUNDS = 3                       # of groups that repeat: what later rounds meet is what the last one left


def in_order(members: Any) -> Iterator[Step]:
    """The steps of a pipeline as they run, groups that repeat a few times."""
    for member in members:
        if isinstance(member, Group):
            for _ in range(ROUNDS if member.repeats else 1):
                yield from in_order(member.members)
        else:
            yield member if isinstance(member, Step) else member()


def contents(shader: Shader) -> tuple[bytes, ...]:
    """What a pass may change: instructions that stand in blocks, with all they have, their sources, and control flow."""
    rows = shader.order.instruction.copy()
    columns = shader.instructions
    fields = ("kind", "opcode", "components", "bit_size", "flags", "source_first", "source_count", "data", "type", "mode")
    return (rows.tobytes(), *[getattr(columns, field)[rows].tobytes() for field in fields],
            shader.sources.value.tobytes(), shader.sources.swizzle.tobytes(), shader.nodes.next.tobytes(), shader.nodes.condition.tobytes())


def check(shader: Shader, pipeline: Pipeline, level: int) -> tuple[set[str], set[str]]:
    """Run every step; returns the passes that facts would have left out somewhere, and those that they would not have."""
    left_out, kept = set(), set()
    for step in in_order(pipeline.members):
        entry = step.entry
        if not entry.applies(level, pipeline.stage):
            continue
        if not entry.only_with or not facts_of(shader).isdisjoint(entry.only_with):
            kept.add(entry.name)
            entry.kernel()(shader, step.options)
            continue
        left_out.add(entry.name)
        before = contents(shader)
        changed = entry.kernel()(shader, step.options)
        after = contents(shader)
        assert not changed, step
        # sources may have got rows that nothing reads
        assert all(new.startswith(old) for old, new in zip(before, after, strict=True)), step
    return left_out, kept


@pytest.mark.parametrize(("level", "wave"), [(90, 64), (103, 64), (110, 32)])
@pytest.mark.parametrize("name", CASES)
def test_a_pass_that_facts_leave_out_changes_nothing(name: str, level: int, wave: int) -> None:
    check(read(CASES[name], level, wave), compute.NIR, level)


def spared(shader: Shader, pipeline: Pipeline, level: int) -> set[str]:
    """Run every step, and those that settle twice; returns the passes that their promises would have left out somewhere behind a change."""
    version, found = 0, set()
    latest = dict.fromkeys(EFFECTS, 0)
    idle: dict[object, int] = {}
    for step in in_order(pipeline.members):
        entry = step.entry
        if not entry.applies(level, pipeline.stage) or entry.analysis:
            continue
        key = (entry, tuple(step.options.items()))
        promised = key in idle and all(latest[kind] <= idle[key] for kind in EFFECTS if kind not in entry.indifferent_to)
        changed = entry.kernel()(shader, step.options)
        assert not (promised and changed), step
        if promised and idle[key] < version:
            found.add(entry.name)
        version += changed
        if changed:
            latest[entry.effect] = version
        if entry.settles:
            assert not entry.kernel()(shader, step.options), step
        if entry.settles or not changed:
            idle[key] = version
    return found


@pytest.mark.parametrize(("level", "wave"), [(90, 64), (110, 32)])
@pytest.mark.parametrize("name", CASES)
def test_passes_keep_what_their_records_promise(name: str, level: int, wave: int) -> None:
    assert {"constant_folding", "cse"} & spared(read(CASES[name], level, wave), compute.NIR, level)


def renumbered(text: str) -> str:
    """The text with values numbered as they come, and single spaces, as columns are as wide as numbers: steps that change nothing may use up some."""
    numbers: dict[str, str] = {}
    return re.sub(r" *%\d+", lambda found: numbers.setdefault(found[0].strip(), f" %{len(numbers)}"), re.sub(" +", " ", text))


@pytest.mark.parametrize(("level", "wave"), [(103, 64), (120, 32)])
@pytest.mark.parametrize("name", CASES)
def test_steps_that_are_left_out_make_no_difference(name: str, level: int, wave: int) -> None:
    """Also by what kernels say of a run (``kernel_steady``): while somebody observes, every step runs."""
    fast, observed = read(CASES[name], level, wave), read(CASES[name], level, wave)
    passes.run(fast)
    passes.run(observed, on_pass=lambda name, shader, seconds: None)
    assert renumbered(passes.NIR.text(fast)) == renumbered(passes.NIR.text(observed))


LOOP = """shader: MESA_SHADER_COMPUTE
entry: main
workgroup_size: 64, 1, 1
decl_function main (0 params) (entrypoint)

impl main {{
    block b0:    // preds:
    32    %1 = load_const (0x00000000 = 0)
    32    %2 = load_const (0x00000001 = 1)
    32    %3 = load_const (0x00000004 = 4)
    32    %4 = @load_subgroup_id
    32    %5 = mov %4
    32    %6 = umin %4, %3
    32    %7 = mov %6
               // succs: b1
    loop {{
        block b1:    // preds: b0 b4
        32    %8 = phi b0: %1, b4: %10
        1     %9 = uge %8, {bound}
                   // succs: b2 b3
        if %9 {{
            block b2:  // preds: b1
            break
            // succs: b5
        }} else {{
            block b3:  // preds: b1, succs: b4
        }}
        block b4:    // preds: b3
        32    %10 = iadd %8, %2
                   // succs: b1
    }}
    block b5:    // preds: b2
    32    %11 = iadd %5, %7
               // succs:
}}
"""


@pytest.mark.parametrize(("bound", "runs"), [("%4", 1), ("%7", 2)])
def test_loops_are_looked_at_again_where_copies_hide_what_decides(bound: str, runs: int) -> None:
    """Reads of copies are no work for `loop_unroll`, but of the copy of a limit: ``i >= min(n, 4)`` is known from the fourth trip on."""
    shader = parse.parse_shader(LOOP.format(bound=bound))
    shader.set_target(103, 64, 0xFFFF8000)
    steps = Run()
    names = ("loop_unroll", "copy_propagation", "loop_unroll")
    assert steps.run(passes.NIR, Pipeline("nir", "compute", tuple(NIR_PASSES[name] for name in names)), shader, 103)
    assert [record.name for record in steps.records].count("loop_unroll") == runs
    assert ("loops" in facts_of(shader)) == (runs == 1)


DEAD_BEHIND_PHI = """shader: MESA_SHADER_COMPUTE
entry: main
workgroup_size: 64, 1, 1
decl_function main (0 params) (entrypoint)

impl main {
    block b0:    // preds:
    32    %1 = load_const (0x00000000 = 0)
    32    %2 = load_const (0x00000007 = 7)
    32    %3 = @load_subgroup_id
    1     %4 = ult %3, %2
               // succs: b1 b2
    if %4 {
        block b1:  // preds: b0, succs: b3
    } else {
        block b2:  // preds: b0, succs: b3
    }
    block b3:    // preds: b1 b2
    32    %5 = phi b1: %1, b2: %2
    DEAD
    32    %6 = udiv %3, %5
            @store_shared (%6, %1) (base=4, wrmask=x, align_mul=4, align_offset=0)
               // succs:
}
"""


def test_facts_are_looked_for_anew_where_dead_code_has_gone() -> None:
    """The search for the phi that `opt_undef` asks for ended in the dead code; the division stands before that row once `dce` has run."""
    dead = (f"32    %{number} = iadd %3, %2\n" for number in range(7, 1000))
    shader = parse.parse_shader(DEAD_BEHIND_PHI.replace("DEAD", "    ".join(dead)))
    shader.set_target(103, 64, 0xFFFF8000)
    steps = Run()
    steps.run(passes.NIR, Pipeline("nir", "compute", tuple(NIR_PASSES[name] for name in ("opt_undef", "dce", "lower_idiv"))), shader, 103)
    assert [record.name for record in steps.records] == ["opt_undef", "dce", "lower_idiv"]
    assert "udiv" not in passes.NIR.text(shader)


@pytest.mark.parametrize("name", ["saxpy", "strided_copy"])
def test_small_shaders_need_few_lowerings(name: str) -> None:
    left_out, _ = check(read(CASES[name], 103, 64), compute.NIR, 103)
    assert {"loop_unroll", "lcssa", "opt_licm", "lower_tex", "lower_subgroups", "lower_idiv", "lower_bit_size"} <= left_out


SHADER = """shader: MESA_SHADER_COMPUTE
entry: main
workgroup_size: 1, 1, 1
decl_function main (0 params) (entrypoint)

impl main {{
    block b0:    // preds:
    {line}
               // succs:
}}
"""


def test_a_shader_without_facts_needs_none_of_these_passes_and_other_shaders_need_them() -> None:
    """A misspelt opcode in the table of facts would leave a pass out for good."""
    named = {entry.name for entry in NIR_PASSES.values() if entry.only_with}
    bare = parse.parse_shader(SHADER.format(line="32    %1 = load_const (0x00000001)"))
    bare.set_target(103, 64, 0xFFFF8000)
    assert check(bare, compute.NIR, 103)[0] == named
    kept: set[str] = set()
    for name in ("saxpy", "atomics", "subgroup_shuffle", "int64_arithmetic", "double_arithmetic", "small_types", "nested_loops", "function_calls",
                 "private_arrays", "matrix_types", "divergent_switch"):
        kept |= check(read(CASES[name], 103, 64), compute.NIR, 103)[1]
    # no case has images, cooperative matrices or copies of whole variables: files of tests/filetests have
    assert named - kept <= {"lower_var_copies", "lower_ycbcr", "lower_tex", "lower_image_queries", "lower_cooperative_matrix", "fold_16bit_tex_image"}


def test_the_runner_leaves_out_what_facts_say() -> None:
    shader = read(CASES["saxpy"], 103, 64)
    names: list[str] = []
    passes.run(shader, on_pass=lambda name, shader, seconds: names.append(name))
    assert "lower_subgroups" in names                 # observed, every step runs
    ran = {record.name for record in compile(CASES["saxpy"].spirv, target="gfx1030").passes}
    assert not ran & {"lower_subgroups", "loop_unroll", "lower_idiv"}
    assert {"cse", "lower_explicit_io"} <= ran


@pytest.mark.parametrize(("line", "facts"), [
    ("32    %1 = undefined", {"undefined values"}),
    ("64    %1 = load_const (0x0000000000000001)", {"64 bits"}),
    ("16    %1 = load_const (0x0001)", {"small values"}),
    ("32x2  %1 = load_const (0x00000001, 0x00000002)", {"vectors"}),
    ("1     %1 = @elect", {"lanes"}),
    ("32    %1 = load_const (0x00000001)", set()),
])  # fmt: skip
def test_facts_of_one_instruction(line: str, facts: set[str]) -> None:
    assert facts_of(parse.parse_shader(SHADER.format(line=line))) == facts


def test_names() -> None:
    bits = list(FACTS.values())
    assert len(set(bits)) == len(bits)
    assert mask_of(FACTS) == sum(bits)
    entries: list[Pass] = list(NIR_PASSES.values())
    assert {name for entry in entries for name in entry.only_with} == set(FACTS)
