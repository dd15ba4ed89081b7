"""The example with pictures: what it computes against NumPy, the picture in the README, and the notebook's cells with what they show."""

from __future__ import annotations

import base64
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from run_notebook import run_notebook

Image = pytest.importorskip("PIL.Image")
EXAMPLES = Path(__file__).parents[2] / "examples"
NOTEBOOK = EXAMPLES / "blur_and_mips.ipynb"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.delitem(sys.modules, "blur_and_mips", raising=False)
    import blur_and_mips

    return blur_and_mips


def linear(pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Linear colours of sRGB pixels."""
    values = pixels[..., :3] / 255.0
    return np.asarray(np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4))


def encoded(colors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.where(colors <= 0.0031308, 12.92 * colors, 1.055 * np.maximum(colors, 1e-9) ** (1 / 2.4) - 0.055) * 255)


def test_blur_and_mips_are_what_numpy_says(example: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pixels = example.drawing()
    assert example.main(None, str(tmp_path)) == 0
    assert capsys.readouterr().out.count("bytes\n") == 3
    colors, weights = linear(pixels), np.array([1, 8, 28, 56, 70, 56, 28, 8, 1]) / 256
    for _ in range(example.PASSES):
        for axis in (1, 0):
            padded = np.pad(colors, [(4, 4) if each == axis else (0, 0) for each in range(3)], "edge")
            colors = sum(weight * np.take(padded, range(k, k + pixels.shape[axis]), axis) for k, weight in enumerate(weights))
    blurred = np.asarray(Image.open(tmp_path / "blurred.png").convert("RGB"))
    # halves between passes, and the rounding of what is stored
    assert np.abs(blurred - encoded(colors)).max() < 1.5
    size = pixels.shape[0]
    half = linear(pixels).reshape(size // 2, 2, size // 2, 2, 3).mean((1, 3))
    mips = np.asarray(Image.open(tmp_path / "mips.png").convert("RGB"))
    assert np.abs(mips[: size // 2, size:] - encoded(half)).max() < 1.5
    assert np.array_equal(mips[:, :size], pixels[..., :3])


def test_the_picture_in_the_readme(example: Any) -> None:
    path = EXAMPLES / "panel.png"
    assert path.stat().st_size < 100_000 and "examples/panel.png" in (EXAMPLES.parent / "README.md").read_text()
    assert np.array_equal(np.asarray(Image.open(path).convert("RGB")), example.run(example.drawing())[2][..., :3])


def test_a_picture_of_the_user(example: Any, tmp_path: Path) -> None:
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (21, 34, 3), dtype=np.uint8)).save(tmp_path / "own.png")
    example.main(str(tmp_path / "own.png"), str(tmp_path))
    assert Image.open(tmp_path / "blurred.png").size == (34, 21)


def test_the_notebook_shows_what_its_cells_compute(example: Any) -> None:
    """Pictures pixel by pixel, text as it is; `tools/run_notebook.py` writes what the notebook holds."""
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    results = run_notebook(NOTEBOOK)
    pictures = 0
    for cell, (source, outputs) in zip(cells, results, strict=True):
        assert len(cell["outputs"]) == len(outputs), source
        for held, output in zip(cell["outputs"], outputs, strict=True):
            if output["output_type"] == "stream":
                assert held == output
                continue
            first, second = (Image.open(io.BytesIO(base64.b64decode(each["data"]["image/png"]))).convert("RGBA") for each in (held, output))
            assert np.array_equal(np.asarray(first), np.asarray(second)), source
            pictures += 1
    assert pictures == 4
