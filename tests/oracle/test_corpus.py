"""The corpus of public shaders: how its modules are made, how they are counted, and what the report says of them."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import corpus_recipes
import fetch_corpus
import pytest
from cases import CASES
from restarted_worker import RestartedWorker, WorkerFailed
from vulkan_images import KINDS
from vulkan_peer import Radv

import pyaco
from pyaco import aco
from pyaco._core.aco import build, statistics

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import corpus_measure
import corpus_reasons
import radv_nir
from corpus_counts import MEMORY, UNROLLED_BY_PEER, by_class, by_kind, code_counts, nir_counts, printed_counts, shares
from corpus_growth import Growth, exponent, means
from corpus_measure import Measuring, measure_entry, pipeline_layout, real_sizes
from corpus_report import as_debian_counts, totals
from peer_statistics import DEBIAN, debian_counts

OLD_NIR = """decl_function main (0 params)
impl main {
\tblock block_0:
\tvec1 32 con ssa_1 = intrinsic load_scalar_arg_amd () (base=1, arg_upper_bound_u32_amd=0)
\tvec1 64 con ssa_3 = pack_64_2x32_split ssa_1, ssa_2
\tvec4 32 con ssa_5 = intrinsic load_smem_amd (ssa_3, ssa_4) (align_mul=16, align_offset=0)
\tvec1 32 div ssa_6 = iadd ssa_5.x, ssa_1
\tvec4 32 div ssa_32 = (float32)txl ssa_28 (texture_handle), ssa_31 (coord)
\tloop {
\t\tvec1 32 div ssa_9 = phi block_0: ssa_6, block_1: ssa_10
\t\tif ssa_11 {
\t\t\tbreak
\t\t}
\t}
\tintrinsic store_ssbo (ssa_6, ssa_5, ssa_4) (wrmask=x)
}
"""
NEW_NIR = """decl_function main (0 params) (entrypoint)
impl main {
    block b0:    // preds:
    con 32      %1 = @load_scalar_arg_amd (base=1, arg_upper_bound_u32_amd=0)
    con 64      %3 = pack_64_2x32_split %1, %2 (0xffff8000)
    con 32x4    %5 = @load_smem_amd (%3, %4 (0x0)) (align_mul=16, align_offset=0)
    div 32      %6 = iadd %5.x, %1
    div 32x4   %32 = (float32)txl %28 (texture_handle), %31 (coord)
    div loop {
        div 32   %9 = phi b0: %6, b1: %10
        if %11 {
            break
        }
    }
                     @store_ssbo (%6, %5, %4 (0x0)) (wrmask=x)
}
"""


def test_both_forms_of_nir_are_counted_alike() -> None:
    counts = nir_counts(NEW_NIR)
    assert counts == nir_counts(OLD_NIR)
    assert by_kind(counts) == {"free": 1, "memory": 2, "alu": 1, "texture": 1, "control": 3, "phi": 1}


def test_machine_code_is_counted_as_the_statistics_count_it() -> None:
    for case in list(CASES.values())[:6]:
        for target in ("gfx1030", "gfx1100"):
            shader = pyaco.compile(case.spirv, target=target, spec=case.spec, wave=64)
            counts = code_counts(shader.code, target)
            classes = by_class(counts)
            assert sum(counts.values()) == shader.stats["instructions"], case.name
            assert classes["VMEM"] == shader.stats["vmem"] and classes["SMEM"] == shader.stats["smem"], case.name
            assert classes["branches"] <= shader.stats["branches"]


def test_radv_text_gets_what_mesa_leaves_out() -> None:
    argument = radv_nir.Argument("workgroup_id", 0)
    header = "constants: 5\ndecl_function main () (entrypoint)\n"
    argument_line = "  div 32  %4 = @load_vector_arg_amd (base=1, arg_upper_bound_u32_amd=7175)\n"
    found = radv_nir.Arguments((argument,), Any, False, packed_ids=1)  # type: ignore[arg-type]
    lines = radv_nir.adapted(header + argument_line + "  div 32  %5 = iadd %4, %4\n", 103, 64, found, {}, b"\1\2\3\4\5").splitlines()
    assert radv_nir.constant_bytes(header) == 5 and "constant_data: 0102030405" in lines
    ids = [line.split(" = ")[0].split()[-1] for line in lines if " = " in line]
    assert len(set(ids)) == len(ids) == 11 and lines[-2].split() == ["div", "32", "%4", "=", "ior", "%14,", "%13"]
    assert [line.rsplit("=", 1)[1] for line in lines if "vector_arg" in line] == ["1)", "2)", "3)"]


def test_packed_ids_are_taken_apart_where_they_are() -> None:
    text = ("workgroup_size: 8, 8, 1\n  div 32  %4 = @load_vector_arg_amd (base=1)\n  div 32  %6 = iand %4, %5 (0x7)\n"
            "  div 32  %8 = ushr %4, %7 (0xa)\n")  # fmt: skip
    lines = radv_nir.unpacked_ids(text, 1).splitlines()
    assert [line.split(" = ")[1] for line in lines[-2:]] == ["iand %9, %5 (0x7)", "ushr %10, %12"]
    assert not any("ior" in line for line in lines)
    assert radv_nir.unpacked_ids(text.replace("8, 8, 1", "64, 1, 1"), 1).count("load_vector_arg_amd") == 1


def side(code: dict[str, int], nir: dict[str, int], **figures: float) -> dict[str, Any]:
    return {"code": code, "nir": nir, "ms": 1.0, "Instrs": sum(code.values()), **figures}


def test_shares_add_up_to_the_difference() -> None:
    row = {"pyaco": side({"buffer_load_dword": 7, "v_add_u32": 9, "s_waitcnt": 4}, {"memory:load_ssbo": 7, "alu:iadd": 9}),
           "radv": side({"buffer_load_dwordx4": 2, "v_add_u32": 9, "s_waitcnt": 2}, {"memory:load_ssbo": 2, "alu:iadd": 9})}  # fmt: skip
    found = shares(row)
    assert sum(found.values()) == 7 and found[MEMORY] == 5
    row["pyaco"]["nir"]["control:loop"] = 1
    assert shares(row) == {UNROLLED_BY_PEER: 7}


def test_totals_have_the_form_of_fossil_db() -> None:
    rows = [{"pyaco": side({"v_add_u32": 90}, {}, VGPRs=8, MaxWaves=16), "radv": side({"v_add_u32": 100}, {}, VGPRs=8, MaxWaves=8)},
            {"pyaco": side({"v_add_u32": 120}, {}, VGPRs=8, MaxWaves=16), "radv": side({"v_add_u32": 100}, {}, VGPRs=8, MaxWaves=16)}]  # fmt: skip
    lines = totals(rows, "radv")
    assert lines[0] == "Totals from 2 (100.00% of 2) affected shaders:"
    mean = math.sqrt(0.9 * 1.2)
    assert lines[1] == f"Instrs: 200 -> 210 (+5.00%); split: -5.00%, +10.00%; better 1, worse 1, equal 0; geometric mean {mean:.3f}"
    assert "MaxWaves: 24 -> 32 (+33.33%); better 1, worse 0, equal 1" in lines


def test_what_is_a_tenth_worse_has_a_reason_or_is_named(tmp_path: Path) -> None:
    path = tmp_path / "reasons.txt"
    path.write_text("# why\na/*.spv | Instrs Latency | unrolled\nb/two.spv main | Instrs | stale\nc/*.spv | Instrs | of other modules\n")
    reasons = corpus_reasons.read_reasons(path)
    same = {"Instrs": 100, "Latency": 100, "InvThroughput": 100}
    rows = [{"path": str(tmp_path / name), "entry": "main", "pyaco": {**same, **ours}, "radv": same}
            for name, ours in (("a/one.spv", {"Instrs": 120, "InvThroughput": 150}), ("b/two.spv", {"Instrs": 110}))]  # fmt: skip
    found = corpus_reasons.excesses(rows, tmp_path, "radv", reasons)
    assert [(each.name, each.statistic, each.reason and each.reason.text) for each in found] \
        == [("a/one.spv", "InvThroughput", None), ("a/one.spv", "Instrs", "unrolled")]  # fmt: skip
    assert [each.text for each in corpus_reasons.idle(found, rows, tmp_path, reasons)] == ["stale"]


LOAD = "\t s1: %0:s[0] = s_buffer_load_dword %0:s[8-11], %0:s[12]\n\ts_waitcnt lgkmcnt(0)\n"
ADD = "\t v1: %0:v[0] = v_add_f32 %0:v[1], %0:v[2]\n"
#: What the load takes with its wait and the end.
LATENCY = 203


def counts(level: int, wave: int, invocations: int, body: str, vgprs: int = 16, branches: int = 0) -> tuple[tuple[int, int], tuple[int, int]]:
    """Latency and inverse throughput of code in workgroups of so many invocations: ours, and what 22.3.6 says."""
    edges = ["", *(f"BB{k}, " for k in range(branches))]
    text = "".join(f"BB{k}\n/* logical preds: {before}/ linear preds: {before}/ kind: uniform, top-level, */\n{body if k == 0 else ''}"
                   + (f"\ts_branch block:BB{k + 1}\n" if k < branches else "\ts_endpgm\n") for k, before in enumerate(edges))  # fmt: skip
    program = aco.parse_program(text, level, wave, workgroup_size=invocations)
    build.set_demand(program, 0, vgprs, 0)
    ours, theirs = statistics.collect(program), debian_counts(program, statistics.collect(program)["max_waves"], invocations)
    return (ours["latency"], ours["inverse_throughput"]), (theirs["Latency"], theirs["InvThroughput"])


def test_statistics_as_debian_counts_them() -> None:
    assert counts(103, 32, 1, LOAD) == ((LATENCY, round(LATENCY * 64 / 16)), (LATENCY, round(LATENCY * 64 / 32)))
    assert counts(103, 32, 1, LOAD, vgprs=40) == ((LATENCY, round(LATENCY * 64 / 16)), (LATENCY, round(LATENCY * 64 / 21)))  # as registers allow
    assert counts(103, 32, 64, LOAD)[1] == (LATENCY, round(LATENCY * 2 / 16))  # 16 workgroups of two waves on two SIMDs
    assert counts(103, 64, 64, ADD * 100)[0] == counts(103, 64, 64, ADD * 100)[1]
    ours, theirs = counts(110, 64, 64, ADD * 100)
    assert theirs[1] == pytest.approx(2 * ours[1], abs=2)  # whole waves go through in one pass since Mesa 23


def test_branches_as_debian_counts_them() -> None:
    ours, theirs = counts(90, 64, 64, LOAD, branches=5)
    assert theirs[0] == ours[0] + 5 * 4
    ours, theirs = counts(103, 64, 64, "", branches=5)
    assert ours[1] == 3 * theirs[1] == 5 * 3


def test_the_report_takes_what_debian_counts() -> None:
    assert as_debian_counts({"pyaco": {"InvThroughput": 2, DEBIAN: {"InvThroughput": 1}}})["pyaco"]["InvThroughput"] == 1
    assert as_debian_counts({"pyaco_error": "no"}) == {"pyaco_error": "no"}


def test_hints_are_a_reason_beside_a_peer_that_gives_fewer(tmp_path: Path) -> None:
    rest = {"Latency": 100, "InvThroughput": 9}
    rows = [{"path": str(tmp_path / "a.spv"), "entry": "main", "pyaco": {"Instrs": count, **rest, "code": {"s_delay_alu": 6, "s_clause": 4}},
             "radv": {"Instrs": 100, **rest, "code": theirs}} for count, theirs in ((120, {}), (121, {}), (120, {"s_clause": 1}))]  # fmt: skip
    found = corpus_reasons.excesses(rows, tmp_path, "radv", [], hints=True)
    assert [(each.quotient, each.reason) for each in found] == [(1.21, None), (1.2, corpus_reasons.HINTS), (1.2, None)]
    assert not any(each.reason for each in corpus_reasons.excesses(rows, tmp_path, "radv", []))


def test_the_files_of_reasons_are_read() -> None:
    assert all(len(corpus_reasons.read_reasons(path)) > 10 for path in (corpus_reasons.REASONS, corpus_reasons.REASONS_OF_DEBIAN))


@pytest.mark.parametrize("line", ["a | Instrs", "a | Instructions | why", "| Instrs | why"])
def test_wrong_lines_of_reasons_are_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "reasons.txt"
    path.write_text(f"# why\n{line}\n")
    with pytest.raises(ValueError, match=r"reasons\.txt:2"):
        corpus_reasons.read_reasons(path)


PRINTED = """After lowering to hw instructions:
ACO shader stage: SW (CS), HW (COMPUTE_SHADER)
BB0
/* logical preds: / linear preds: / kind: uniform, top-level, */
\t s1: %1:s[1],  s1: %2:scc = s_lshl_b32 %3:s[0], 6
\t v4: %4:v[0-3] = image_load %5:s[24-31],  s4: undef,  v1: undef, %6:v[2] 2d unrm
\ts_waitcnt lgkmcnt(0)
\tp_barrier
\ts_endpgm
"""


def test_printed_code_is_counted() -> None:
    assert printed_counts(PRINTED) == {"s_lshl_b32": 1, "image_load": 1, "s_waitcnt": 1, "s_endpgm": 1}


def test_time_of_a_size_is_the_mean_of_its_shaders() -> None:
    assert means([{"all": 3.0, "nir.dce": 1.0}, {"all": 5.0}]) == {"all": 4.0, "nir.dce": 0.5}


def test_exponents() -> None:
    assert exponent([10, 100, 1000], [1.0, 10.0, 100.0]) == pytest.approx((1.0, 0.0))
    # One step of 1 and one of 2: the line between lies a sixth of a step away at each end, a third in the middle.
    steps = [{"all": 1.0, "pass": 1.0}, {"all": 10.0, "pass": 10.0}, {"all": 100.0, "pass": 1000.0}]
    growth = Growth([10, 100, 1000], steps)
    assert growth.exponent("pass") == pytest.approx((1.5, 1 / math.sqrt(12)))
    assert growth.last_step("pass") == pytest.approx(2.0)
    # At a size where a pass has nothing to do, it is on no line.
    idle = [{"all": 1.0, "pass": 1e-5}, {"all": 10.0, "pass": 1.0}, {"all": 100.0, "pass": 10.0}, {"all": 1000.0, "pass": 100.0}]
    assert Growth([1, 10, 100, 1000], idle).exponent("pass") == pytest.approx((1.0, 0.0))
    assert math.isnan(Growth([10, 100], [{"all": 1.0}, {"all": 2.0, "pass": 1.0}]).exponent("pass")[0])


def test_bindings_of_several_types_are_mutable() -> None:
    facts = {"descriptor_sets": {1: {3: {"type": "ssbo|ubo", "count": 2}, 5: {"type": "sampler", "count": 1}}}}
    layouts = pipeline_layout(facts)
    kinds = [(each["number"], each["type"], each["mutable"], each["count"]) for each in layouts[1]]
    assert not layouts[0] and kinds == [(3, KINDS["mutable"], [KINDS["storage_buffer"], KINDS["uniform_buffer"]], 2), (5, KINDS["sampler"], [], 1)]


def test_stand_ins_for_sizes_are_replaced() -> None:
    constants = {0: {"name": "M", "default": 1}, 1: {"name": "", "default": 1}, 2: {"name": "M", "default": 64}, 3: {"name": "FLAG", "default": 1},
                 4: {"name": "", "default": True}}  # fmt: skip
    assert real_sizes({"spec_constants": constants}) == {0: corpus_measure.REAL_SIZES["M"], 1: corpus_measure.LOCAL_SIZE}


# ------------------------------------------------------------------------------------------------------------------ workers
def _act(argument: str) -> str:
    if argument == "die":
        os._exit(7)
    if argument == "sleep":
        time.sleep(60)
    return argument.upper()


def test_a_worker_is_replaced() -> None:
    worker = RestartedWorker(_act, 2.0)
    assert worker.apply("word") == "WORD"
    with pytest.raises(WorkerFailed, match="exit status 7"):
        worker.apply("die")
    assert worker.apply("next") == "NEXT"
    with pytest.raises(WorkerFailed, match="longer than 2 seconds"):
        worker.apply("sleep")
    assert worker.apply("last") == "LAST"
    worker.close()


# ------------------------------------------------------------------------------------------------------------------ recipes
def test_variants_of_a_slangmosh_listing(tmp_path: Path) -> None:
    listing = {"shaders": [{"name": "a", "path": "a.comp", "variants": [{"define": "X", "count": 2}, {"define": "Y", "count": 2}]},
                           {"name": "b", "path": "b.frag"}]}  # fmt: skip
    (tmp_path / "slangmosh.json").write_text(json.dumps(listing))
    assert [shader.name for shader in corpus_recipes.slangmosh(tmp_path)] == ["a_X_0_Y_0", "a_X_0_Y_1", "a_X_1_Y_0", "a_X_1_Y_1"]


def test_permutations_of_a_cmake_listing(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text("""uvkc_glsl_shader_permutation(
  NAME add
  SRC "add.glsl"
  PERMUTATION "TYPE=[float|vec4]" "{X,Y}=[{1,2}|{3,4}]"
  GLSLC_ARGS "-DZ=5")""")
    assert [shader.defines for shader in corpus_recipes.uvkcompute(tmp_path)] == [
        ("TYPE=float", "X=1", "Y=2", "Z=5"), ("TYPE=float", "X=3", "Y=4", "Z=5"),
        ("TYPE=vec4", "X=1", "Y=2", "Z=5"), ("TYPE=vec4", "X=3", "Y=4", "Z=5"),
    ]  # fmt: skip


def test_the_compute_section_of_a_piglit_test(tmp_path: Path) -> None:
    (tmp_path / "one.shader_test").write_text("[require]\nGLSL >= 4.30\n\n[compute shader]\nvoid main() {}\n\n[test]\ncompute 1 1 1\n")
    (found,) = corpus_recipes.piglit(tmp_path)
    assert found.text == "#version 430\nvoid main() {}\n\n" and "-R" in found.flags


def test_a_project_is_built_from_given_sources(tmp_path: Path) -> None:
    if shutil.which("glslangValidator") is None:
        pytest.skip("glslangValidator is not installed")
    given = tmp_path / "given"
    (given / "dxvk").mkdir(parents=True)
    body = ('#version 450\n#include "part.h"\nlayout(local_size_x = 64) in;\n'
            "layout(binding = 0) buffer B {{ uint b[]; }};\nvoid main() {{ b[0] = {}u; }}\n")  # fmt: skip
    (given / "dxvk/part.h").write_text("#define PART 1\n")
    for name, value in (("a", "PART"), ("b", "PART"), ("c", "2"), ("d", "no such thing ")):
        (given / f"dxvk/{name}.comp").write_text(body.format(value).replace("PARTu", "PART"))
    sources = fetch_corpus.sources_of("dxvk", given, tmp_path, offline=True)
    assert sources is not None and fetch_corpus.sources_of("niagara", given, tmp_path, offline=True) is None
    counts, complaints = fetch_corpus.build("dxvk", sources, tmp_path / "spv")
    assert counts == {"kept": 2, "equal to another": 1, "refused": 1}
    assert complaints[0].startswith("dxvk/d.comp: ERROR")
    assert sorted(path.name for path in (tmp_path / "spv").iterdir()) == ["a.comp.spv", "c.comp.spv"]
    assert all(fetch_corpus.has_compute_entry(path.read_bytes()) for path in (tmp_path / "spv").iterdir())


# ------------------------------------------------------------------------------------------------------------------ measuring
@pytest.mark.oracle
def test_an_entry_point_is_measured_by_both(radv_gfx1030: Radv) -> None:
    module = CASES["saxpy"].spirv.read_bytes()
    row = measure_entry(module, "main", "gfx1030", Measuring(repetitions=2))
    peer = radv_gfx1030.compile(module, row["wave"]).statistics
    assert row["radv"]["Instrs"] == peer["Instructions"] == sum(row["radv"]["code"].values())
    assert sum(shares(row).values()) == row["pyaco"]["Instrs"] - row["radv"]["Instrs"]
    assert row["pyaco"]["ms"] > 0 and row["radv"]["ms"] > 0 and row["radv"]["nir"] and row["pyaco"]["nir"]


def test_a_module_without_a_compiler_is_a_refusal() -> None:
    row = measure_entry(b"\x03\x02\x23\x07" + bytes(16), "main", "gfx1030", Measuring())
    assert "pyaco_error" in row and not row["pyaco_error"].startswith("bug")
