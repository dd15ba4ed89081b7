"""Lines of source from OpLine and DebugLine to machine code: right where they are certain, and never a reason for other code."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pyaco
from pyaco import emu, isa

pytestmark = pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="needs glslangValidator")
ROOT = Path(__file__).parents[2]
SHADERS = ROOT / "tests/shaders"
DEBUG_OPTIONS = {"OpLine": ["-g"], "DebugLine": ["-gVS"]}
SOURCE = """#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer A { uint a[]; };
layout(set = 0, binding = 1) buffer B { uint b[]; };
uint twice(uint x) {
    return b[x] * 3u;
}
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint s = atomicAdd(a[0], 1u);
    if ((s & 1u) != 0u)
        s += twice(i);
    for (uint k = 0u; k < a[1]; ++k)
        s ^= floatBitsToUint(sqrt(float(s)));
    a[i + 2] = s;
}
"""
# what is made on one line and nowhere else
EXPECTED = {r"(buffer_)?atomic_add": 10, r"v_mul_lo_u32|v_mul_u32_u24|v_mad_u32": 6, r"v_sqrt_f32": 14, r"buffer_store": 15}


def spirv_of(path: Path, folder: Path, *options: str) -> bytes:
    target = folder / f"{path.stem}{''.join(options)}.spv"
    subprocess.run(["glslangValidator", "-V", "--quiet", "--target-env", "vulkan1.3", *options, str(path), "-o", str(target)], check=True, cwd=folder)
    return target.read_bytes()


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lines") / "lines.comp"
    path.write_text(SOURCE)
    return path


@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("form", DEBUG_OPTIONS)
def test_instructions_bear_the_line_that_made_them(form: str, target: str, source: Path) -> None:
    shader = pyaco.compile(spirv_of(source, source.parent, *DEBUG_OPTIONS[form]), target)
    plain = pyaco.compile(spirv_of(source, source.parent), target)
    assert (shader.code, shader.constant_data, shader.stats) == (plain.code, plain.constant_data, plain.stats)
    assert plain.line_rows == [] and not plain.source_lines
    found: dict[str, set[tuple[str, int] | None]] = {pattern: set() for pattern in EXPECTED}
    known = []
    for line in isa.disassemble_lines(shader.code, target, wave_size=shader.wave):
        if not line.size or line.text.startswith("s_code_end"):
            continue
        place = shader.source_lines.find(line.offset)
        known.append(place is not None)
        for pattern, places in found.items():
            if re.match(pattern, line.text.strip()):
                places.add(place)
    assert {pattern: {place[1] for place in places if place} for pattern, places in found.items()} == {
        pattern: {line} for pattern, line in EXPECTED.items()
    }
    assert all(Path(place[0]).name == "lines.comp" for places in found.values() for place in places if place)
    assert all(known)


def test_rows_cover_the_code_in_order_and_end_with_its_last_instruction(source: Path) -> None:
    shader = pyaco.compile(spirv_of(source, source.parent, "-g"), "gfx1100")
    ends = 0
    for start, end, _, line in shader.line_rows:
        assert ends <= start < end and 1 <= line <= SOURCE.count("\n")
        ends = end
    assert 0 < ends < len(shader.code)              # the five words that mark the end come from no line
    assert shader.source_lines.find(len(shader.code)) is None


def test_optimisations_of_every_shader_keep_lines_and_code(tmp_path: Path) -> None:
    """With debug information every shader of the tests compiles to the same code, and at least 98 % of its instructions have a line."""
    known = total = 0
    for path in sorted(SHADERS.glob("*.comp"))[::3]:
        try:
            plain = pyaco.compile(spirv_of(path, tmp_path), "gfx1030")
        except pyaco.UnsupportedError:
            continue
        shader = pyaco.compile(spirv_of(path, tmp_path, "-g"), "gfx1030")
        assert shader.code == plain.code, path.stem
        text = path.read_text().count("\n") + 1
        for line in isa.disassemble_lines(shader.code, "gfx1030", wave_size=shader.wave):
            if line.size and not line.text.startswith("s_code_end"):
                place = shader.source_lines.find(line.offset)
                total += 1
                known += place is not None
                assert place is None or 1 <= place[1] <= text
    assert total > 1000 and known >= 0.98 * total, (known, total)


def test_lines_end_where_the_module_says_so(source: Path, tmp_path: Path) -> None:
    """What stands behind OpNoLine has no line, and no neighbour's either."""
    if shutil.which("spirv-dis") is None or shutil.which("spirv-as") is None:
        pytest.skip("spirv-as or spirv-dis is not installed")
    (tmp_path / "a.spv").write_bytes(spirv_of(source, source.parent, "-g"))
    text = subprocess.run(["spirv-dis", "--raw-id", str(tmp_path / "a.spv")], check=True, capture_output=True, text=True).stdout
    (tmp_path / "b.spvasm").write_text(re.sub(r"OpLine (%\w+) 15 0", "OpNoLine", text))
    subprocess.run(["spirv-as", "--target-env", "vulkan1.3", str(tmp_path / "b.spvasm"), "-o", str(tmp_path / "b.spv")], check=True)
    shader = pyaco.compile(tmp_path / "b.spv", "gfx1030")
    stores = [line for line in isa.disassemble_lines(shader.code, "gfx1030", wave_size=shader.wave) if "buffer_store" in line.text]
    assert len(stores) == 1 and shader.source_lines.find(stores[0].offset) is None
    assert {line for _, _, _, line in shader.line_rows} >= {10, 14}


def test_reports_and_profiles_name_the_line(source: Path) -> None:
    shader = pyaco.compile(spirv_of(source, source.parent, "-g"), "gfx1030")
    device = emu.Device("gfx1030", profile=True)
    a = np.zeros(256, np.uint32)
    a[0], a[1] = 1, 2
    buffers = {(0, 0): device.buffer(a), (0, 1): device.buffer(np.ones(64, np.uint32))}
    report = device.dispatch(shader, (1, 1, 1), buffers)
    assert report.profile is not None
    lines = {line.line for line in report.profile.source_lines}
    assert lines >= {6, 10, 14, 15} and sum(line.counts.executions for line in report.profile.source_lines) == report.profile.total.executions
    with pytest.raises(emu.BudgetError, match=r"lines\.comp:\d+, kernel main: ") as stopped:
        device.dispatch(shader, (1, 1, 1), buffers, budget=20)
    assert Path(stopped.value.place["source"][0]).name == "lines.comp" and stopped.value.place["kernel"] == "main"


def test_listings_say_where_lines_begin(source: Path) -> None:
    """The command's listing has the lines as comments, and still assembles to the same code."""
    words = source.with_suffix(".g.spv")
    words.write_bytes(spirv_of(source, source.parent, "-g"))
    shader = pyaco.compile(words, "gfx1030")
    command = [sys.executable, "-m", "pyaco.cli", "compile", str(words), "--target", "gfx1030"]
    listing = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout
    comments = re.findall(r"^; .*lines\.comp:(\d+)$", listing, re.MULTILINE)
    assert {int(line) for line in comments} == {line for _, _, _, line in shader.line_rows} and len(comments) == len(shader.line_rows)
    assert isa.assemble(listing, "gfx1030", wave_size=shader.wave) == shader.code
