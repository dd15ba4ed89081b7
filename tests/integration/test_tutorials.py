"""Tutorials run as they are written: each block of Python in turn, and what it prints is the block of text that follows it.

Three dots in the text stand for anything, as in doctests: for what a change of the compiler may change.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
TUTORIALS = sorted((ROOT / "docs/tutorials").glob("*.md"))
_BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<said>.*?)^```\n)?", re.MULTILINE | re.DOTALL)


def blocks(text: str) -> Iterator[tuple[int, str, str | None]]:
    """The line, the code and the promised output (or None) of each block of Python."""
    for match in _BLOCK.finditer(text):
        yield text.count("\n", 0, match.start("code")) + 1, match["code"], match["said"]


def run(text: str) -> list[tuple[int, str | None, str]]:
    """Run the blocks of a text; return the line, the promised and the actual output of each."""
    names: dict[str, Any] = {}
    found = []
    for line, code, said in blocks(text):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile("\n" * (line - 1) + code, "tutorial", "exec"), names)
        found.append((line, said, out.getvalue()))
    return found


def is_said(said: str | None, out: str) -> bool:
    """Whether an output is the promised one."""
    return doctest.OutputChecker().check_output((said or "").rstrip() + "\n", out.rstrip() + "\n", doctest.ELLIPSIS)


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_prints_what_it_says(tutorial: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("cimport_project"))
    monkeypatch.chdir(tmp_path)
    results = run(tutorial.read_text())
    assert len(results) >= 3
    for line, said, out in results:
        assert is_said(said, out), f"{tutorial.name}, line {line} prints:\n{out}"


def test_every_block_of_python_is_read() -> None:
    for tutorial in TUTORIALS:
        text = tutorial.read_text()
        assert text.count("```python\n") == len(list(blocks(text)))
        assert text.count("```text\n") == sum(said is not None for _, _, said in blocks(text))


def test_another_output_is_found() -> None:
    text = "```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\n```text\n2\n```\n"
    assert run(text) == [(2, None, ""), (6, "2\n", "1\n")]
    assert is_said(None, "") and is_said("a ... c\n", "a b c\n")
    assert not is_said("2\n", "1\n") and not is_said(None, "1\n") and not is_said("1\n", "")
