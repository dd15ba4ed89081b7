"""RADV's binary records, as `records` here writes them in the forms of two versions of Mesa; ``tests/oracle/test_radv_records.py`` has real ones."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from cases import CASES
from hypothesis import given
from hypothesis import strategies as st

import pyaco
from pyaco import isa
from pyaco.binary import RadvShader, read_radv_shaders, write_radv_shader
from pyaco.cli import main
from pyaco.errors import InputError
from pyaco.registers import registers

CODE = isa.assemble("v_add_f32 v0, v1, v2\ns_endpgm", "gfx1100")
CODE_END = struct.pack("<I", 0xBF9F0000) * 5
CACHE_HEADER = struct.pack("<4I16s", 32, 1, 0x1002, 0x744C, bytes(16))


def config(**fields: int) -> bytes:
    names = ("num_sgprs", "num_vgprs", "num_shared_vgprs", "spilled_sgprs", "spilled_vgprs", "lds_size", "ena", "addr", "float_mode", "scratch",
             "rsrc1", "rsrc2", "rsrc3")  # fmt: skip
    values = {"num_sgprs": 128, "num_vgprs": 24, "float_mode": 192, "rsrc1": 0x602C0005} | fields
    return struct.pack("<13I", *(values.get(name, 0) for name in names))


def record(code: bytes = CODE, behind: bytes = CODE_END, description: bytes = b"\x07" * 100, statistics: bytes = b"", *, old: bool = False) -> bytes:
    """A record of Mesa 25.2, or with `old` of 22.3."""
    head = (struct.pack("<3I", 0, 5, 0) if old else bytes(4)) + config() + description
    sizes = struct.pack("<5I", len(code + behind), len(code), 0, 0, len(statistics)) + bytes(0 if old else 4)
    padding = bytes(-(len(head) + 4) % 8)
    tail = padding + sizes + statistics + code + behind + bytes(4 if old else 0)
    return head + struct.pack("<I", len(head) + 4 + len(tail)) + tail


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("description", [0, 4, 988, 992])
def test_records_are_found_whatever_their_description_is(old: bool, description: int) -> None:
    text = bytes(k % 251 for k in range(description))
    one, two = record(description=text, old=old), record(code=CODE[:4] * 9 + CODE, description=text, old=old)
    first, second = read_radv_shaders(CACHE_HEADER + b"\xaa" * 64 + one + b"\x55" * 12 + two + b"\xff" * 8)
    assert (first.offset, first.size, first.code, first.description) == (96, len(one), CODE, text)
    assert (second.offset, second.code) == (96 + len(one) + 12, CODE[:4] * 9 + CODE)
    assert first.config["num_vgprs"] == 24 and first.config["float_mode"] == 192 and first.config["rsrc1"] == 0x602C0005


def test_constant_data_stands_behind_the_marks_of_the_end() -> None:
    (shader,) = read_radv_shaders(record(behind=CODE_END + b"constant"))
    assert shader.constant_data == b"constant" and shader.code == CODE


def test_statistics_have_radv_s_names() -> None:
    words = [0xDEAD, 0xBEEF, *range(100, 125), 0]
    (shader,) = read_radv_shaders(record(statistics=struct.pack("<28I", *words)))
    assert shader.statistics["SGPRs"] == 100 and shader.statistics["Latency"] == 114 and shader.statistics["VOPD"] == 124
    assert read_radv_shaders(record(statistics=bytes(40)))[0].statistics == {}


@pytest.mark.parametrize("data", [b"", bytes(4), bytes(4096), CACHE_HEADER, CODE * 100, record()[:-1], record()[4:]])
def test_other_data_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match=f"no shader of RADV in {len(data)} bytes"):
        read_radv_shaders(data)


@given(st.binary(max_size=64), st.integers(0, 400), st.integers(0, 255))
def test_damaged_records_are_read_or_refused(before: bytes, place: int, value: int) -> None:
    data = bytearray(before[: len(before) // 4 * 4] + record())
    data[place % len(data)] = value
    try:
        found = read_radv_shaders(data)
    except InputError:
        return
    assert all(isinstance(shader, RadvShader) and shader.offset + shader.size <= len(data) for shader in found)


@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1100", "gfx1200"])
@pytest.mark.parametrize("name", ["matmul_f32", "constant_tables"])
def test_what_is_written_is_read(target: str, name: str) -> None:
    case = CASES[name]
    shader = pyaco.compile(case.spirv, target=target, spec=case.spec)
    assert shader.abi is not None
    for description in (b"", b"twelve bytes"):
        written = write_radv_shader(shader, description)
        (found,) = read_radv_shaders(b"\0" * 8 + written)
        assert (found.offset, found.size, found.description) == (8, len(written), description)
        assert shader.code.startswith(found.code) and len(found.code) == shader.stats["code_size"]
        assert found.constant_data == shader.constant_data
        assert found.config["num_vgprs"] == shader.abi.num_vgprs and found.config["float_mode"] == shader.abi.float_mode
        level = pyaco.targets.chip(target).level
        fields = registers(level)["COMPUTE_PGM_RSRC2"].decode(found.config["rsrc2"])
        assert fields["USER_SGPR"] == shader.abi.user_sgpr_count
        assert found.statistics["Instructions"] == shader.stats["instructions"] and found.statistics["Latency"] == shader.stats["latency"]
    assert found.statistics["Hash"] == zlib.crc32(shader.code) ^ 0xFFFFFFFF


def test_stopped_compilations_are_not_written() -> None:
    with pytest.raises(InputError, match="no code"):
        write_radv_shader(pyaco.compile(next(iter(CASES.values())).spirv, stop_after="aco.optimize"))


def test_disasm_reads_caches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache, alone = tmp_path / "cache", tmp_path / "alone"
    cache.write_bytes(CACHE_HEADER + record(behind=CODE_END + bytes(8)))
    alone.write_bytes(record())
    assert main(["disasm", str(cache)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("; shader at 32: num_sgprs 128, num_vgprs 24")
    assert "v_add_f32_e32 v0, v1, v2" in text and "8 bytes of constant data" in text
    assert main(["disasm", str(alone), "--target", "gfx1030"]) == 0
    assert "v_add_f32_e32 v0, v1, v2" in capsys.readouterr().out
    assert main(["disasm", str(alone)]) == 2
    assert "name the target" in capsys.readouterr().err


def test_machine_code_that_begins_with_zeros_stays_machine_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    raw = tmp_path / "raw"
    raw.write_bytes(bytes(4) + CODE)
    assert main(["disasm", str(raw), "--target", "gfx1100"]) == 0
    assert capsys.readouterr().out == "\tv_illegal\n\tv_add_f32_e32 v0, v1, v2\n\ts_endpgm\n"
