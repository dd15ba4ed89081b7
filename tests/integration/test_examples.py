"""The examples on every chip of the README's table, as a user starts them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

EXAMPLES = Path(__file__).parents[2] / "examples"
TARGETS = ("gfx700", "gfx900", "gfx1030", "gfx1100", "gfx1200")
pytestmark = pytest.mark.parametrize("target", TARGETS)


def example(name: str) -> ModuleType:
    """The file of an example, as a module."""
    specification = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_the_matrix_product(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert example("matmul").main(target) == 0
    assert "s_endpgm" in capsys.readouterr().out


def test_two_queues(target: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The report takes the packets for what they are on this chip."""
    assert example("command_stream").main(str(tmp_path / "report.html"), target) == 0
    said = capsys.readouterr().out
    assert "POLL_REGMEM" in said and "CS shader at" in said and "<details" in (tmp_path / "report.html").read_text()


def test_passes_of_users(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a shader they see the matrix product."""
    module = example("user_pass")
    module.main()
    plain = capsys.readouterr().out
    module.main(str(EXAMPLES / "matmul.spv"), target)
    said = capsys.readouterr().out
    assert "52 ALU instructions in NIR" in plain and "ALU instructions in NIR" in said and "s_endpgm" in said
    assert (plain == said) == (target == "gfx1100")


def test_the_pictures(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All chips draw the picture of the README."""
    module = example("blur_and_mips")
    monkeypatch.setattr(module, "TARGET", target)
    assert module.main(None, str(tmp_path)) == 0
    panel, readme = (np.asarray(Image.open(path / "panel.png").convert("RGB")) for path in (tmp_path, EXAMPLES))
    assert np.array_equal(panel, readme)
