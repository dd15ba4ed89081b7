"""Shaders and descriptors of streams: found, and shown as text, JSON and HTML."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases import CASES

import pyaco
from pyaco import emu, pm4
from pyaco.cli import main
from pyaco.errors import InputError
from pyaco.pm4 import DispatchStream, Stream, packet


def placed(
    target: str, name: str = "saxpy", wave: int = 64,
) -> tuple[list[int], list[pm4.Packet], list[pm4.ShaderUse], dict[int, int], bytes]:
    """A stream that pyaco builds, its packets and what they run, and the addresses of its buffers."""
    case = CASES[name]
    device = emu.Device(target)
    shader = pyaco.compile(case.spirv, target=target, wave=wave)
    inputs = case.inputs()
    buffers: dict[Any, emu.Buffer] = {key: device.buffer(np.array(buffer.data)) for key, buffer in inputs.buffers.items()}
    with DispatchStream(device, shader, case.groups, buffers, inputs.push) as stream:
        memory = pm4.CommandProcessor(device).fetch
        packets = pm4.parse(stream.words, device.gfx_level, memory)
        shaders = pm4.annotate(packets, target, memory)
    return stream.words, packets, shaders, {buffer.address: buffer.size for buffer in buffers.values()}, shader.code


@pytest.mark.parametrize("target", ["gfx600", "gfx700", "gfx900", "gfx1030", "gfx1100", "gfx1200"])
@pytest.mark.parametrize("name", ["saxpy", "reduction"])
def test_streams_of_pyaco_name_their_shader_and_descriptors(target: str, name: str) -> None:
    _, packets, (shader,), buffers, code = placed(target, name)
    assert shader.lines[-1].text.strip() == "s_endpgm" and shader.wave_size == 64
    assert shader.lines[-1].offset + 4 <= len(code)
    found = {}
    for descriptor in shader.descriptors:
        words = [word.value for word in descriptor.words]
        found[words[0] | (words[1] & 0xFFFF) << 32] = words[2]
        assert descriptor.kind == "buffer" and descriptor.address is not None
    assert found == {address & (1 << 48) - 1: size for address, size in buffers.items()}
    assert packets[-1].shaders == (shader,)


def test_a_call_and_a_chain_are_followed() -> None:
    words = packet("SET_SH_REG", 0x20C, 0x20, compute=True)
    chained = packet("SET_SH_REG", 0x213, 0x10, compute=True) + packet("DISPATCH_DIRECT", 1, 1, 1, 1, compute=True)
    called = [*words, *packet("INDIRECT_BUFFER", 0x4000, 0, len(chained) | 1 << 20)]
    code = (0xBF810000).to_bytes(4, "little")
    memory = pm4.pieces({0x3000: np.array(called, "<u4").tobytes(), 0x4000: np.array(chained, "<u4").tobytes(), 0x2000: code})
    packets = pm4.parse(packet("INDIRECT_BUFFER", 0x3000, 0, len(called)) + packet("NOP", 0), 103, memory)
    (shader,) = pm4.annotate(packets, "gfx1030", memory)
    assert shader.address == 0x2000 and [line.text.strip() for line in shader.lines] == ["s_endpgm"]
    assert shader.user_sgprs == (0,) * 8
    assert packets[0].nested is not None
    assert [p.chained for p in packets[0].nested] == [False, True]
    page = pm4.format_html(packets, "calls")
    assert "calls at 0x3000: 2 packets" in page and "goes on at 0x4000: 2 packets" in page


def test_shaders_of_draws_are_named() -> None:
    code = np.array([0xBF800000, 0xBF810000], "<u4").tobytes()
    stream = Stream(103).set("SPI_SHADER_PGM_LO_PS", 0x20).add("DRAW_INDEX_AUTO", 3, 2)
    packets = pm4.parse(stream.words, 103)
    (shader,) = pm4.annotate(packets, "gfx1030", pm4.pieces({0x2000: code}))
    assert (shader.stage, shader.address, len(shader.lines)) == ("PS", 0x2000, 2)


def test_what_paths_do_not_agree_on_is_not_known() -> None:
    """One side of a branch makes another descriptor: none is named."""
    text = """
        s_mov_b32 s0, 0x1000
        s_mov_b32 s1, 0
        s_mov_b32 s2, 64
        s_mov_b32 s3, 0x31016fac
        buffer_load_dword v1, v0, s[0:3], 0 offen
        s_cbranch_scc0 L0
        s_mov_b32 s0, 0x2000
    L0:
        buffer_load_dword v2, v0, s[0:3], 0 offen
        s_mov_b32 s0, 0x3000
    L1:
        buffer_load_dword v2, v0, s[0:3], 0 offen
        s_add_u32 s0, s0, 4
        s_cbranch_scc0 L1
        s_mov_b32 s0, 0x4000
        buffer_load_dword v2, v0, s[0:3], 0 offen
        s_endpgm
    """
    from pyaco.isa import assemble

    code = assemble(text, "gfx1030")
    stream = Stream(103).set("COMPUTE_PGM_LO", 0x20).add("DISPATCH_DIRECT", 1, 1, 1, 1, compute=True)
    packets = pm4.parse(stream.words, 103)
    (shader,) = pm4.annotate(packets, "gfx1030", pm4.pieces({0x2000: code}))
    assert [descriptor.words[0].value for descriptor in shader.descriptors] == [0x1000, 0x4000]
    assert all(descriptor.address is None for descriptor in shader.descriptors)


def test_html_is_whole_and_escapes_everything() -> None:
    words, packets, (shader,), _, _ = placed("gfx1100")
    page = pm4.format_html(packets, "<script>alert(1)</script>")
    assert "<script>" not in page and "&lt;script&gt;" in page
    assert page.count("<details") == page.count("</details>") and "http" not in page
    for part in ("DISPATCH_DIRECT", "s_endpgm", "SQ_BUF_RSRC_WORD3", f"0x{shader.address:x}"):
        assert part in page
    assert len(packets) > 5 and words


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stream = tmp_path / "stream.bin"
    words = Stream(103).set("COMPUTE_PGM_LO", 0x20).add("DISPATCH_DIRECT", 1, 1, 1, 1, compute=True).words
    stream.write_bytes(np.array(words, "<u4").tobytes())
    code = tmp_path / "code.bin"
    code.write_bytes((0xBF810000).to_bytes(4, "little"))
    options = ["pm4", str(stream), "--target", "gfx1030", "--memory", f"0x2000={code}"]
    assert main(options) == 0
    assert "CS shader at 0x2000, 4 bytes, wave64" in capsys.readouterr().out
    assert main([*options, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said[-1]["shaders"][0]["code"][0]["text"].strip() == "s_endpgm"
    assert main([*options, "--html"]) == 0
    assert capsys.readouterr().out.startswith("<!DOCTYPE html>")
    assert main([*options[:-1], "nonsense"]) == 2


def test_memory_is_checked() -> None:
    with pytest.raises(InputError, match="reaches into"):
        pm4.pieces({0: bytes(8), 4: bytes(4)})
    memory = pm4.pieces({0x1000: bytes(8), 0xFFFF800000000000: bytes(4)})
    assert memory(0x1004, 1) == (0,) and memory(0x1004, 2) is None and memory(0xFFC, 1) is None
    assert memory(0x800000000000, 1) == (0,)


def test_the_example(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = importlib.util.spec_from_file_location("command_stream", Path(__file__).resolve().parents[2] / "examples" / "command_stream.py")
    assert spec is not None and spec.loader is not None
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    assert example.main(str(tmp_path / "report.html")) == 0
    said = capsys.readouterr().out
    assert "POLL_REGMEM" in said and "CS shader at" in said and "s_endpgm" in said
    assert "<details" in (tmp_path / "report.html").read_text()
