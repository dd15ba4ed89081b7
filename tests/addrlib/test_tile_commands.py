"""``pyaco tile`` and ``pyaco detile``."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from pyaco.addrlib import Surface
from pyaco.cli import main

needs_pillow = pytest.mark.skipif(importlib.util.find_spec("PIL") is None, reason="Pillow is not installed")


@pytest.mark.parametrize("suffix", ["npy", "bin"])
@pytest.mark.parametrize("chip", ["gfx1030", "vega10", "tonga", "RX 9070"])
def test_there_and_back(chip: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = np.random.default_rng(3).integers(0, 256, (30, 50, 4), np.uint8)
    files = [str(tmp_path / f"{name}.{suffix}") for name in ("in", "tiled", "out")]
    np.save(files[0], picture) if suffix == "npy" else (tmp_path / "in.bin").write_bytes(picture.tobytes())
    assert main(["tile", chip, "50x30", files[0], "-o", files[1], "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["shape"], said["format"]) == ([1, 30, 50], "R8G8B8A8_UNORM")
    tiled = np.load(files[1]) if suffix == "npy" else np.fromfile(files[1], np.uint8)
    np.testing.assert_array_equal(tiled, Surface(chip, width=50, height=30).tile(picture))
    assert main(["detile", chip, "50x30", files[1], "-o", files[2]]) == 0
    back = np.load(files[2]) if suffix == "npy" else np.fromfile(files[2], np.uint8).reshape(picture.shape)
    np.testing.assert_array_equal(back, picture)
    assert capsys.readouterr().out == ""


def test_one_level_after_the_other(tmp_path: Path) -> None:
    memory = str(tmp_path / "memory.npy")
    levels = [np.full((32 >> mip, 64 >> mip, 4), mip + 1, np.uint8) for mip in range(3)]
    for mip, texels in enumerate(levels):
        np.save(tmp_path / "in.npy", texels)
        into = ["--into", memory] if mip else []
        assert main(["tile", "navi31", "64x32", str(tmp_path / "in.npy"), "-o", memory, "--levels", "3", "--level", str(mip), *into]) == 0
    for mip, texels in enumerate(levels):
        assert main(["detile", "navi31", "64x32", memory, "-o", str(tmp_path / "out.npy"), "--levels", "3", "--level", str(mip)]) == 0
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), texels)


def test_planes_and_stencil(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    memory, files = str(tmp_path / "memory.bin"), [str(tmp_path / f"{number}.bin") for number in range(3)]
    random = np.random.default_rng(5)
    for words, parts in ((["--format", "NV12"], [((30, 50), "0", []), ((15, 25, 2), "1", [])]),
                         (["--format", "d24s8"], [((30, 50, 4), "0", []), ((30, 50), "0", ["--stencil"])])):
        texels = [random.integers(0, 256, shape, np.uint8) for shape, _, _ in parts]
        for number, (_, plane, more) in enumerate(parts):
            texels[number].tofile(files[number])
            into = ["--into", memory] if number else []
            assert main(["tile", "navi21", "50x30", files[number], "-o", memory, "--plane", plane, *words, *more, *into]) == 0
        for number, (_, plane, more) in enumerate(parts):
            assert main(["detile", "navi21", "50x30", memory, "-o", files[2], "--plane", plane, *words, *more, "--json"]) == 0
            assert (tmp_path / "2.bin").read_bytes() == texels[number].tobytes()
            assert json.loads(capsys.readouterr().out)["stencil"] == bool(more)


@needs_pillow
def test_pictures(tmp_path: Path) -> None:
    from PIL import Image

    colors = np.random.default_rng(4).integers(0, 256, (20, 40, 4), np.uint8)
    Image.fromarray(colors, "RGBA").save(tmp_path / "in.png")
    for name in ("rgba8", "bgra8"):
        assert main(["tile", "navi21", "40x20", str(tmp_path / "in.png"), "-o", str(tmp_path / "tiled"), "--format", name]) == 0
        assert main(["detile", "navi21", "40x20", str(tmp_path / "tiled"), "-o", str(tmp_path / "out.png"), "--format", name]) == 0
        np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "out.png")), colors)


def test_pictures_without_pillow(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    (tmp_path / "in.png").write_bytes(b"")
    assert main(["tile", "navi21", "40x20", str(tmp_path / "in.png"), "-o", str(tmp_path / "tiled")]) == 3
    assert "Pillow" in capsys.readouterr().err


def test_refusals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "short").write_bytes(bytes(10))
    (tmp_path / "bad.npy").write_bytes(b"nothing")
    out = str(tmp_path / "out")
    for words in (["tile", "navi21", "8x8", str(tmp_path / "short")], ["detile", "navi21", "8x8", str(tmp_path / "short")],
                  ["tile", "navi21", "8x8", str(tmp_path / "bad.npy")], ["detile", "navi21", "8x8", str(tmp_path / "absent")],
                  ["tile", "navi99", "8x8", str(tmp_path / "short")], ["tile", "navi21", "8", str(tmp_path / "short")],
                  ["detile", "navi21", "8x8", str(tmp_path / "short"), "--plane", "1"],
                  ["detile", "navi21", "8x8", str(tmp_path / "short"), "--plane", "1", "--format", "NV12"],
                  ["tile", "navi21", "8x8", str(tmp_path / "short"), "--stencil"]):
        assert main([*words, "-o", out]) == 2
        assert capsys.readouterr().err.startswith("pyaco: ")
    assert not (tmp_path / "out").exists()
