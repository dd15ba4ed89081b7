"""The command line: verbs, files, exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import pytest

from pyaco.cli.main import main

ROOT = Path(__file__).parents[2]
MATMUL = str(ROOT / "examples" / "matmul.spv")


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


def test_assemble_and_disassemble(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "k.s").write_text("s_mov_b32 s0, 1\ns_endpgm\n")
    assert main(["asm", str(tmp_path / "k.s"), "--target", "gfx1030", "-o", str(tmp_path / "k.bin")]) == 0
    assert main(["disasm", str(tmp_path / "k.bin"), "--target", "gfx1030"]) == 0
    assert "s_mov_b32 s0, 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["compile", "no/such/file.spv"], 2, "No such file"),
        (["compile", MATMUL, "--target", "gfx9999"], 2, "unknown target"),
        (["compile", MATMUL, "--target", "gfx900", "--wave", "32"], 3, "wave32"),
        (["compile", MATMUL, "--stage", "fragment"], 3, "fragment"),
        (["compile", MATMUL, "--spec", "oops"], 2, "ID=VALUE"),
        (["compile", MATMUL, "--entry", "nothing"], 2, "nothing"),
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


def test_occupancy_of_a_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets", "Radeon HD 7970", "--occupancy", "--vgprs", "32", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["waves_per_simd"] == 8
    assert main(["targets", "Radeon 9700 PRO", "--occupancy"]) == 3
    capsys.readouterr()
    assert main(["targets", "RX 7950 XTX"]) == 0
    assert capsys.readouterr().out == "name: Radeon RX, RDNA 3 (2022), enthusiast, suffix XTX: the fastest (not in the database)\n"
    assert main(["targets", "GeForce 256"]) == 2
