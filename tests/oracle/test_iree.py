"""IREE's kernels on the emulator, right against NumPy and clean under the checks: ``examples/iree``."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "iree" / "run.py"


@pytest.mark.oracle
@pytest.mark.parametrize("check", ["", "memory,waits,races,barriers"])
@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_programs(target: str, check: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("iree.compiler")
    specification = importlib.util.spec_from_file_location("iree_example", EXAMPLE)
    assert specification is not None and specification.loader is not None
    example = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(example)
    example.main(target, check)
    assert capsys.readouterr().out.startswith(f"{target}: matmul")
