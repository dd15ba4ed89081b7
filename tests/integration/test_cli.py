"""The command line: verbs, files, exit statuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest

from pyaco import binary, emu, isa, targets
from pyaco.cli import main
from pyaco.cli.run import _warn
from pyaco.cli.targets import LIMIT_UNITS, support
from pyaco.compiler import compile
from pyaco.errors import PyacoError

ROOT = Path(__file__).parents[2]
MATMUL = str(ROOT / "examples" / "matmul.spv")
SHADERS = ROOT / "tests" / "shaders"


def test_compile_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", MATMUL, "--target", "RX 7900 XTX", "--wave", "32", "--emit", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["target"] == "gfx1100"
    assert document["wave"] == 32
    assert len(bytes.fromhex(document["code_hex"])) > 100
    for name in (
        "instructions", "code_size", "copies", "branches", "latency", "inverse_throughput", "sgprs", "vgprs",
        "spilled_sgprs", "spilled_vgprs", "scratch_bytes", "lds_bytes", "max_waves", "valu", "salu", "vmem", "smem", "vopd",
        "vmem_clauses", "smem_clauses",
    ):
        assert isinstance(document["stats"][name], int), name
    assert document["stats"]["lds_bytes"] == 2048
    assert document["times_ms"]["total"] >= document["times_ms"]["aco"] > 0


@pytest.mark.parametrize("emit", ["asm", "bin", "elf", "nir", "aco"])
def test_compile_emits(emit: str, tmp_path: Path) -> None:
    output = tmp_path / "out"
    assert main(["compile", MATMUL, "--emit", emit, "-o", str(output), "--validate"]) == 0
    marks = {"asm": b"s_endpgm", "bin": b"", "elf": b"\x7fELF", "nir": b"MESA_SHADER_COMPUTE", "aco": b"BB0"}
    assert marks[emit] in output.read_bytes()
    assert output.stat().st_size > 100


def test_passes_can_be_listed_dumped_stopped_at_and_timed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", MATMUL, "--print-passes"]) == 0
    names = capsys.readouterr().out.split()
    assert names[0] == "spirv.read"
    assert "aco.register_allocation" in names
    assert main(["compile", MATMUL, "--dump-after", "vars_to_ssa", "--time-passes"]) == 0
    errors = capsys.readouterr().err
    assert "; after nir.vars_to_ssa" in errors
    assert "ms  aco.register_allocation" in errors
    assert main(["compile", MATMUL, "--stop-after", "instruction_selection"]) == 0
    assert "p_startpgm" in capsys.readouterr().out
    assert main(["compile", MATMUL, "--dump-after", "no_such_pass"]) == 2


def test_run_computes_a_product(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = numpy.random.default_rng(0).standard_normal((2, 16, 16), dtype=numpy.float32)
    numpy.save(tmp_path / "a.npy", a)
    numpy.save(tmp_path / "b.npy", b)
    numpy.save(tmp_path / "c.npy", numpy.zeros_like(a))
    numpy.array([16, 16, 16], numpy.uint32).tofile(tmp_path / "sizes.bin")
    arguments = ["run", MATMUL, "--groups", "1", "--push", str(tmp_path / "sizes.bin"), "--save", f"0.2={tmp_path}/out.npy"]
    for binding, name in enumerate("abc"):
        arguments += ["--buffer", f"0.{binding}={tmp_path}/{name}.npy"]
    assert main([*arguments, "--stats"]) == 0
    assert numpy.abs(numpy.load(tmp_path / "out.npy") - a @ b).max() < 1e-4
    assert capsys.readouterr().out
    files = ["--profile-json", str(tmp_path / "profile.json"), "--chrome-trace", str(tmp_path / "trace.json"), "--timeline", "100"]
    assert main([*arguments, "--profile", *files]) == 0
    shown = capsys.readouterr().out
    assert "occupancy: 16 of 16 waves" in shown and "s_waitcnt" in shown
    profile = json.loads((tmp_path / "profile.json").read_text())
    assert profile["instructions"] == sum(one["executions"] for one in profile["code"]) > 0
    assert json.loads((tmp_path / "trace.json").read_text())["otherData"]["executions"] == 100
    assert main([*arguments, "--profile", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["profile"]["lds_conflicts"] == profile["lds_conflicts"]
    assert main([*arguments, *files]) == 0 and not capsys.readouterr().out


def test_assemble_and_disassemble(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.s").write_text("s_mov_b32 s0, 1\ns_endpgm\n")
    assert main(["asm", str(tmp_path / "k.s"), "--target", "gfx1030", "-o", str(tmp_path / "k.bin")]) == 0
    assert main(["disasm", str(tmp_path / "k.bin"), "--target", "gfx1030"]) == 0
    assert "s_mov_b32 s0, 1" in capsys.readouterr().out


def test_disassembly_that_gives_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A move with 0x80 in the fields of its unused sources is text with a remark, and .long where --exact asks for its bits."""
    code = bytes.fromhex("010081d502010102")
    (tmp_path / "stray.bin").write_bytes(code)
    disasm = ["disasm", str(tmp_path / "stray.bin"), "--target", "gfx1100"]
    for options, start, same in (([], "\tv_mov_b32_e64 v1, v2  ; words", False), (["--exact"], "\t.long 0xd5810001", True)):
        assert main([*disasm, *options]) == 0
        text = capsys.readouterr().out
        assert text.startswith(start) and (isa.assemble(text, "gfx1100") == code) == same
    source = ".text\nkernel:\n.long 0xd5810001, 0x02010102\ns_endpgm\n.amdhsa_kernel kernel\n.amdhsa_next_free_vgpr 3\n.amdhsa_next_free_sgpr 1\n"
    (tmp_path / "stray.o").write_bytes(binary.assemble_code_object(f"{source}.end_amdhsa_kernel\n", "gfx1100"))
    for options, word in (([], "\tv_mov_b32_e64 v1, v2  ; words"), (["--exact"], "\t.long 0xd5810001")):
        assert main(["disasm", str(tmp_path / "stray.o"), *options]) == 0
        assert word in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["compile", "no/such/file.spv"], 2, "No such file"),
        (["compile", MATMUL, "--target", "gfx9999"], 2, "unknown target"),
        (["compile", MATMUL, "--target", "gfx900", "--wave", "32"], 3, "wave32"),
        (["compile", MATMUL, "--stage", "fragment"], 3, "fragment"),
        (["compile", MATMUL, "--spec", "oops"], 2, "ID=VALUE"),
        (["compile", MATMUL, "--entry", "nothing"], 2, "nothing"),
        (["compile", MATMUL, "--int64", "iadd64+iadd65"], 2, "iadd65"),
        (["compile", MATMUL, "--fp64", "quick"], 2, "quick"),
        (["run", MATMUL, "--groups", "x"], 2, "--groups"),
        (["run", MATMUL, "--buffer", "0=1"], 2, "SET.BINDING"),
        (["run", MATMUL, "--save", "0.7=x.npy"], 2, "0.7"),
    ],
)
def test_errors_have_a_status_and_one_line(
    arguments: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == status
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert message in lines[0]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    output = tmp_path / "old.bin"
    output.write_bytes(b"old")
    (tmp_path / "bad.spv").write_bytes(b"\x03\x02\x23\x07 and then nothing")
    assert main(["compile", str(tmp_path / "bad.spv"), "--emit", "bin", "-o", str(output)]) == 2
    assert output.read_bytes() == b"old"


def test_descriptor_sets_and_types(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["descriptor", "set", "0:uniform_buffer", "1:combined_image_sampler*2", "2:storage_buffer*?", "--json", "--compare", "intel"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [(entry["offset"], entry["stride"]) for entry in facts["bindings"]] == [(192, 16), (0, 96), (208, 16)]
    assert facts["intel"]["direct"] == {"size": 64 * 3, "sampler_size": 64}
    assert main(["descriptor", "types", "--compare", "intel"]) == 0
    assert "Intel, indirect  16 bytes: surface binding, address range, buffer view" in capsys.readouterr().out
    assert main(["descriptor", "set", "0:texture"]) == 2
    assert main(["descriptor", "set", "0:mutable"]) == 3


def test_memory_of_a_card(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets", "RX 5700 XT", "--memory", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [heap["name"] for heap in facts["heaps"]] == ["VRAM", "GTT", "visible VRAM"] and len(facts["types"]) == 9
    assert facts["uses"]["data that the host writes in every frame"] == 3
    assert main(["targets", "gfx1030", "--memory", "1024,1024,2048"]) == 0
    assert "type 0" in capsys.readouterr().out
    assert main(["targets", "gfx1030", "--memory", "1024"]) == 2
    assert main(["targets", "gfx1310", "--memory"]) == 3       # of which no chip is known


def test_occupancy_of_a_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets", "Radeon HD 7970", "--occupancy", "--vgprs", "32", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["waves_per_simd"] == 8
    assert main(["targets", "Radeon 9700 PRO", "--occupancy"]) == 3
    capsys.readouterr()
    assert main(["targets", "RX 7950 XTX"]) == 0
    assert capsys.readouterr().out == ("name: Radeon RX (Radeon Experience), RDNA 3 (2022 to 2025), enthusiast, suffix XTX: the fastest, "
                                       "such cards $899 to $1099 at launch (not in the database)\n")
    assert main(["targets", "GeForce 256"]) == 2


def test_names_of_chips_and_cards(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets", "northern islands", "--json"]) == 0
    groups = json.loads(capsys.readouterr().out)["code_names"]
    assert [(group["mesa_class"], group["chips"]) for group in groups] == [("EVERGREEN", ["barts", "turks"]), ("CAYMAN", ["cayman"])]
    assert main(["targets", "RX 6800", "--order", "RX 6700", "RX 6700 XT"]) == 0
    assert capsys.readouterr().out == "RX 6700 < RX 6700 XT < RX 6800\n"
    assert main(["targets", "RX 6800", "--order", "RX 7800 XT"]) == 2
    capsys.readouterr()
    assert main(["targets", "RX 5700 XT"]) == 0
    assert "price at launch usd: 399" in capsys.readouterr().out


def test_specialization_constants_of_several_options(capsys: pytest.CaptureFixture[str]) -> None:
    """``--spec 0=16 --spec 1=3`` is ``--spec 0=16 1=3``."""
    found = []
    for words in (["--spec", "0=16", "1=3"], ["--spec", "0=16", "--spec", "1=3"], ["--spec", "1=3"]):
        assert main(["compile", str(SHADERS / "spec_constants.spv"), "--emit", "json", *words]) == 0
        found.append(json.loads(capsys.readouterr().out)["code_hex"])
    assert found[0] == found[1] != found[2]


def test_what_the_shader_does_not_use_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A buffer of a binding that the shader does not have, and push constants beyond its block, as in Vulkan; the binding is said."""
    numpy.save(tmp_path / "ones.npy", numpy.ones((16, 16), numpy.float32))
    numpy.array([16, 16, 16, 9, 9], numpy.uint32).tofile(tmp_path / "sizes.bin")
    words = ["run", MATMUL, "--push", f"{tmp_path}/sizes.bin", "--save", f"0.2={tmp_path}/out.npy", "--buffer", f"0.2={tmp_path}/ones.npy"]
    words += [f"--buffer=0.{binding}={tmp_path}/ones.npy" for binding in (0, 1)]
    assert main(words) == 0
    assert capsys.readouterr().err == "" and (numpy.load(tmp_path / "out.npy") == 16).all()
    assert main([*words, "--buffer", "0.3=zeros:4", "--buffer", "5.0=zeros:4"]) == 0
    notes = capsys.readouterr().err.splitlines()
    assert [note.split(":")[1:] for note in notes] == [
        [" note", " the shader does not have binding 3 of set 0", " what is bound there is not used"],
        [" note", " the shader does not have binding 0 of set 5", " what is bound there is not used"],
    ]
    assert main([*words, "--buffer", "32.0=zeros:4"]) == 2
    assert "binding 0 of descriptor set 32" in capsys.readouterr().err


# v0 = lane; every lane stores 10 + lane in LDS, and loads what its neighbour stored
DYNAMIC_LDS = """
.amdhsa_kernel k
    .amdhsa_next_free_vgpr 8
    .amdhsa_next_free_sgpr 16
    .amdhsa_user_sgpr_kernarg_segment_ptr 1
    .amdhsa_wavefront_size32 1
.end_amdhsa_kernel
k:
    s_load_b64 s[4:5], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    v_add_nc_u32 v2, 10, v0
    ds_store_b32 v1, v2
    v_xor_b32 v3, 4, v1
    s_waitcnt lgkmcnt(0)
    ds_load_b32 v4, v3
    s_waitcnt lgkmcnt(0)
    global_store_b32 v1, v4, s[4:5]
    s_endpgm
"""


def code_object(folder: Path, source: str, target: str) -> list[str]:
    """Write a code object of a kernel k whose argument is a buffer; the words that run it for a target and save the buffer, as `saved` reads it."""
    argument = {".name": "out", ".size": 8, ".offset": 0, ".value_kind": "global_buffer", ".address_space": "global"}
    metadata = {"amdhsa.kernels": [{".name": "k", ".symbol": "k.kd", ".args": [argument], ".kernarg_segment_size": 8}]}
    (folder / "k.hsaco").write_bytes(binary.assemble_code_object(source, target, metadata=metadata))
    return ["run", f"{folder}/k.hsaco", "--save", f"0={folder}/out.npy"]


def saved(folder: Path) -> list[int]:
    words: list[int] = numpy.load(folder / "out.npy").view(numpy.uint32).tolist()
    return words


def test_dynamic_lds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kernel without LDS of its own reads zeros, unless it is given some."""
    words = [*code_object(tmp_path, DYNAMIC_LDS, "gfx1100"), "--grid", "32", "--workgroup", "32", "--arg", "zeros:128"]
    for engine in emu.device.ENGINES:
        for lds, expected in (([], numpy.zeros(32)), (["--lds", "128"], 10 + (numpy.arange(32) ^ 1)), (["--lds", "64"], None)):
            assert main([*words, "--engine", engine, *lds]) == 0
            if expected is not None:
                assert saved(tmp_path) == expected.tolist()
    assert main(["run", MATMUL, "--lds", "64"]) == 2
    capsys.readouterr()
    assert main([*words, "--lds", "70000"]) == 2
    assert "70144 bytes of LDS" in capsys.readouterr().err


CLUSTERS = """
.amdhsa_kernel k
  .amdhsa_next_free_vgpr 2
  .amdhsa_next_free_sgpr 16
  .amdhsa_user_sgpr_kernarg_segment_ptr 1
.end_amdhsa_kernel
k:
  s_load_b64 s[4:5], s[0:1], 0
  s_getreg_b32 s6, hwreg(HW_REG_IB_STS2, 21, 4)
  s_lshl_b32 s7, ttmp9, 3
  s_lshl_b32 s8, s6, 2
  s_add_co_u32 s7, s7, s8
  v_mov_b32 v0, s7
  s_add_co_u32 s6, s6, 5
  v_mov_b32 v1, s6
  s_wait_kmcnt 0
  global_store_b32 v0, v1, s[4:5]
  s_endpgm
"""


def test_clusters_of_a_code_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Six workgroups store their number in a cluster of two, or where there are none in the first places of three pairs' dwords and beyond."""
    words = [*code_object(tmp_path, CLUSTERS, "gfx1250"), "--grid", "192", "--workgroup", "32", "--arg", "zeros:64"]
    for chosen, expected in ((["--cluster", "2"], [5, 6] * 3 + [0] * 10), ([], [5, 0] * 6 + [0] * 4)):
        assert main([*words, *chosen]) == 0
        assert saved(tmp_path) == expected
    capsys.readouterr()
    assert main([*words, "--cluster", "4"]) == 2 and "do not fill a grid" in capsys.readouterr().err


def test_lds_beyond_its_size_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    _warn(emu.Report(1, 1, 1, lds_out_of_bounds=3, lds_out_of_bounds_pc=0x14), "; --lds gives the kernel more")
    assert capsys.readouterr().err == ("pyaco: warning: 3 accesses of lanes to LDS beyond its size, the first instruction at pc 0x14: loads gave "
                                       "zero, stores were dropped; --lds gives the kernel more\n")
    _warn(emu.Report(1, 1, 1))
    assert capsys.readouterr().err == ""


# ------------------------------------------------------------------------------------------------------------------ defaults
@pytest.mark.parametrize("target", ["gfx700", "gfx900", "gfx1030", "gfx1100", "gfx1200"])
def test_wave_size_as_radv_picks_it(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    """wave32 for workgroups of up to 32 invocations where there are such waves, else wave64; asked for, what was asked for."""
    for module in sorted(SHADERS.glob("*.spv")):
        x, y, z = compile(module, target, stop_after="declare_arguments").abi.workgroup_size  # type: ignore[union-attr]
        expected = 32 if x * y * z <= 32 and target not in ("gfx700", "gfx900") else 64
        assert compile(module, target, stop_after="declare_arguments").wave == expected, module
    sized = str(SHADERS / "spec_constants.spv")
    for size, wave in ((["0=32", "1=1"], 32), (["0=8", "1=4"], 32), (["0=11", "1=3"], 64)):
        assert main(["compile", sized, "--target", target, "--spec", *size, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["wave"] == document["abi"]["wave_size"] == (64 if target in ("gfx700", "gfx900") else wave)
        assert main(["compile", sized, "--target", target, "--spec", *size, "--wave", "64", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["wave"] == 64


def test_a_compiled_shader_is_shown_in_short() -> None:
    shader = compile(MATMUL, "gfx1100")
    assert repr(shader) == f"<CompiledShader main for gfx1100, wave64: {len(shader.code)} bytes, {shader.stats['instructions']} instructions>"
    assert repr(compile(MATMUL, stop_after="spirv.read")) == "<CompiledShader main for gfx1100, wave64: no code, stopped early>"


def test_the_fast_engine_is_the_default(tmp_path: Path) -> None:
    assert emu.Device("gfx1100").engine == "fast"
    assert emu.Device("gfx1100", "reference").engine == "reference"


def test_targets_say_what_is_possible(capsys: pytest.CaptureFixture[str]) -> None:
    """A column each for assemble, compile, run and surface; a cell is what happens."""
    assert main(["targets"]) == 0
    heading, *rows = capsys.readouterr().out.split("\n\n")[0].splitlines()[1:]
    assert len(rows) == len(targets.chips())
    for chip, row in zip(targets.chips(), rows, strict=True):
        assert row.startswith(chip.target)
        for name, able in support(chip).items():
            assert row[heading.index(name) :].split()[0] == ("yes" if able else "-")
            assert able == possible(name, chip.target), (name, chip.target)


def possible(name: str, target: str) -> bool:
    from pyaco import addrlib, isa

    actions: dict[str, Callable[[], object]] = {
        "assemble": lambda: isa.assemble("s_endpgm", target), "compile": lambda: compile(MATMUL, target, stop_after="spirv.read"),
        "run": lambda: emu.Device(target), "surface": lambda: addrlib.gpu_config(target)}  # fmt: skip
    try:
        actions[name]()
    except PyacoError:
        return False
    return True


def test_limits_have_units(capsys: pytest.CaptureFixture[str]) -> None:
    assert set(LIMIT_UNITS) == set(targets.wave_limits("gfx1100").as_dict())
    assert main(["targets", "gfx1100"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "  lds limit: 65536 bytes" in lines and "  vgpr limit: 256 registers of a lane" in lines and "  xnack enabled: no" in lines
    assert not [line for line in lines if line.startswith("  ") and line.split(": ")[1].lstrip("-").isdigit()]


def test_disasm_reads_files_whose_size_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """As drivers have them for dumps of code: their size is 0."""
    path = Path("/proc/self/limits")
    if not path.exists():
        pytest.skip("no such files on this system")
    main(["disasm", str(path), "--target", "gfx1030"])
    said = capsys.readouterr()
    assert said.out.strip() or "machine code of" in said.err
