"""``pyaco copy``: files to tiled memory and back, by every queue, with conversions and mip chains."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest

from pyaco.addrlib import Surface
from pyaco.cli import main
from pyaco.texture_files import Texture, TextureShape, read_dds, read_ktx2, write_dds, write_ktx2

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texture(name: str, **shape: int) -> Texture:
    made = TextureShape(name, **shape)  # type: ignore[arg-type]
    return Texture(made, tuple(random.Random(level).randbytes(made.level_bytes(level)) for level in range(made.level_count)))


@pytest.mark.parametrize("queue", ["direct", "compute", "dma"])
@pytest.mark.parametrize(("chip", "mode"), [("gfx900", ""), ("navi21", "64KB_S_X"), ("gfx1100", "256KB_R_X"), ("gfx1200", "")])
def test_a_picture_tiled_and_back(folder: Path, chip: str, mode: str, queue: str, capsys: pytest.CaptureFixture[str]) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (37, 61, 4), dtype=np.uint8)
    Image.fromarray(pixels).save("in.png")
    asked = ["--to-swizzle-mode", mode] if mode else []
    assert main(["copy", chip, "in.png", "-o", "tiled.bin", "--queue", queue, *asked, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    memory = np.fromfile("tiled.bin", np.uint8)
    assert said["swizzle_mode"] == mode or not mode
    assert said["size"] == len(memory) and (said["width"], said["height"], said["queue"]) == (61, 37, queue)
    surface = Surface(said["chip"], format="R8G8B8A8_UNORM", width=61, height=37)
    if not mode:
        assert np.array_equal(surface.detile(memory), pixels)
    layout = ["--swizzle-mode", mode] if mode else []
    assert main(["copy", chip, "tiled.bin", "--size", "61x37", *layout, "--to-linear", "-o", "out.png", "--queue", queue]) == 0
    assert np.array_equal(np.asarray(Image.open("out.png")), pixels)


@pytest.mark.parametrize("queue", ["direct", "compute"])
def test_containers_keep_all_levels(folder: Path, queue: str) -> None:
    for wanted in (texture("BPTC_RGBA_UNORM", width=45, height=29, level_count=6),
                   texture("R16G16_FLOAT", width=20, height=12, layers=3, level_count=2), texture("R32G32B32_FLOAT", width=9, height=5),
                   texture("R8_UNORM", width=10, height=9, depth=7, level_count=4),
                   texture("DXT1_RGBA", width=32, height=32, layers=6, cube=True, level_count=6)):
        Path("in.ktx2").write_bytes(write_ktx2(wanted))
        assert main(["copy", "gfx1100", "in.ktx2", "-o", "out.dds", "--queue", queue]) == 0
        assert read_dds(Path("out.dds").read_bytes()) == wanted
        assert main(["copy", "gfx1200", "out.dds", "-o", "again.ktx2", "--queue", queue]) == 0
        assert read_ktx2(Path("again.ktx2").read_bytes()) == wanted


def test_conversions_and_mip_chains(folder: Path) -> None:
    pixels = np.random.default_rng(2).integers(0, 256, (16, 32, 4), dtype=np.uint8)
    Image.fromarray(pixels).save("in.png")
    assert main(["copy", "gfx1030", "in.png", "-o", "out.dds", "--to-format", "R16G16B16A16_FLOAT", "--mips"]) == 0
    found = read_dds(Path("out.dds").read_bytes())
    assert (found.shape.format, found.shape.level_count) == ("R16G16B16A16_FLOAT", 6)
    first = np.frombuffer(found.levels[0], np.float16).reshape(16, 32, 4)
    assert np.abs(first - pixels / 255).max() < 1e-3
    second = np.frombuffer(found.levels[1], np.float16).reshape(8, 16, 4)
    assert np.abs(second - (pixels / 255).reshape(8, 2, 16, 2, 4).mean((1, 3))).max() < 2e-3


def test_what_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.dds").write_bytes(write_dds(texture("R8G8B8A8_UNORM", width=8, height=8, layers=2)))
    Path("short.bin").write_bytes(bytes(10))
    for words, status, message in (
        ("gfx1100 in.dds -o out.png", 2, "out.png: a picture shows one slice or layer, not 2"),
        ("gfx1100 in.dds -o out.dds --size 8x8", 2, "--size describes raw memory; in.dds says itself what it is"),
        ("gfx1100 short.bin -o out.dds", 2, "short.bin is raw memory: say its --size, --format and tiling"),
        ("gfx1100 short.bin --size 8x8 -o out.dds", 2, "short.bin: 10 bytes, the surface has"),
        ("gfx1100 in.dds -o out.dds --mips --queue dma", 2, "the DMA engine runs no shaders"),
        ("gfx900 in.dds -o out.dds --to-swizzle-mode 9", 2, "swizzle modes can be demanded from GFX10 on"),
        ("gfx1100 in.dds -o out.dds --to-format R8_UINT", 2, "region 0: a blit of R8G8B8A8_UNORM to R8_UINT: float and uint"),
        ("gfx1200 in.dds -o out.dds --to-swizzle-mode 64KB_3D", 2, "a surface of this kind on gfx1200 has one of 0 (LINEAR), 1 (SW_256B_2D)"),
        ("gfx1030 in.dds -o out.dds --to-format R32G32B32_FLOAT --to-swizzle-mode 9", 3, "drivers lay it out as LINEAR"),
        ("gfx942 in.dds -o out.dds", 3, "gfx942"),
    ):
        assert main(["copy", *words.split()]) == status, words
        assert message in capsys.readouterr().err, words
        assert not Path("out.dds").exists()
