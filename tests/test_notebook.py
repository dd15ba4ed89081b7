"""What notebooks show of shaders, programs, surfaces and reports: well-formed HTML that says what the object says, all text escaped."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy
import pytest

import pyaco
from pyaco import aco, nir
from pyaco.isa.program import Program, v
from pyaco.notebook import folded, listing, table

MATMUL = Path(__file__).parents[1] / "examples/matmul.spv"
HOSTILE = "<script>alert('&')</script>"


class Reader(HTMLParser):
    """Reads the cells and the texts of HTML, and notes tags that are not closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert not attributes
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def value(self, name: str) -> str:
        """The text behind that of a name."""
        return self.texts[self.texts.index(name) + 1]


def read(thing: Any) -> Reader:
    """Read what a notebook would show."""
    shown = Reader(thing._repr_html_())
    assert shown.tags <= {"table", "caption", "tr", "th", "td", "details", "summary", "pre"}
    return shown


@pytest.mark.parametrize("html", [table(HOSTILE, {HOSTILE: HOSTILE}), listing(HOSTILE, [HOSTILE], [[HOSTILE]]), folded(HOSTILE, HOSTILE)])
def test_text_is_escaped(html: str) -> None:
    shown = Reader(html)
    assert "script" not in shown.tags
    assert set(shown.texts) == {HOSTILE}


def test_a_shader_and_a_report() -> None:
    shader = pyaco.compile(MATMUL, target="gfx1100")
    shown = read(shader)
    assert shown.value("vgprs") == str(shader.stats["vgprs"])
    assert shader.disassembly in shown.texts
    device = pyaco.emu.Device("gfx1100")
    buffers = {(0, k): device.buffer(numpy.ones((16, 16), numpy.float32)) for k in range(3)}
    report = device.dispatch(shader, groups=(1, 1, 1), buffers=buffers, push=numpy.array([16] * 3, numpy.uint32).tobytes())
    shown = read(report)
    assert shown.texts[0] == f"{report.instructions} wave instructions"
    assert (shown.value("waves"), shown.value("valu")) == (str(report.waves), str(report.units["valu"]))
    assert report.text() in shown.texts


def test_a_shader_that_was_stopped_early() -> None:
    shown = read(pyaco.compile(MATMUL, target="gfx1100", stop_after="nir.dce"))
    assert shown.texts[-1] == "stopped before the assembler"


def test_the_name_of_an_entry_point_is_escaped() -> None:
    shader = pyaco.compile(MATMUL, target="gfx1100")
    shader.entry = HOSTILE
    assert read(shader).texts[0].startswith(HOSTILE)


def test_intermediate_representations() -> None:
    seen: dict[str, tuple[Reader, Any]] = {}

    def over_nir(shader: Any) -> bool:
        seen["nir"] = read(shader), len(shader.order.instruction)
        return False

    def over_program(program: Any) -> None:
        seen["aco"] = read(program), len(program.blocks.kind)

    with nir.registered("values", over_nir), aco.registered("lower_to_hw_instr", over_program):
        pyaco.compile(MATMUL, target="gfx1030", wave=64)
    shown, instructions = seen["nir"]
    assert (shown.texts[0], shown.value("instructions")) == ("NIR of main", str(instructions))
    shown, blocks = seen["aco"]
    assert (shown.texts[0], shown.value("blocks")) == ("ACO IR for level 103, wave64", str(blocks))
    assert int(shown.value("VGPRs at once")) > 0


def test_a_program_of_instructions() -> None:
    program = Program("gfx1030").v_add_f32(v[0], v[1], v[2])
    shown = read(program)
    assert shown.texts[0] == "1 instructions for gfx1030" and "v_add_f32" in shown.texts[1]
    assert "nowhere" in read(program.s_branch("nowhere")).texts[1]
    assert len(program.label("nowhere").s_endpgm().code()) == 12
    assert "s_branch" in read(program).texts[1]


def test_surfaces() -> None:
    surface = pyaco.addrlib.Surface("gfx1030", width=640, height=480)
    shown = read(surface)
    assert shown.value("swizzle mode") == surface.swizzle_mode and set(surface.equations.values()) <= set(shown.texts)
    planes = pyaco.addrlib.plane_surfaces("gfx1030", format="NV12", width=640, height=480)
    texts = read(planes).texts
    assert [texts.count(name) for name in ("R8_UNORM", "R8G8_UNORM", "320 x 240")] == [1, 1, 1]


def test_a_code_object() -> None:
    text = ".amdhsa_kernel twice\n  .amdhsa_next_free_vgpr 1\n  .amdhsa_next_free_sgpr 8\n.end_amdhsa_kernel\ntwice:\n  s_endpgm\n"
    code = pyaco.binary.read_code_object(pyaco.binary.assemble_code_object(text, "gfx1030"))
    assert read(code).value("arguments") == "twice"
