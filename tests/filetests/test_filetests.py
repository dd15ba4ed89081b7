"""Small programs as text, and what one pass makes of them, on the gfx levels where that differs.

A file ``ROOM/PASS/*.txt`` begins with comment lines: what it shows, then one or more ``; run: OPTIONS``. The input follows, and for each
run the expected output under ``; out: OPTIONS``. What runs depends on the room:

- ``nir``, ``aco``: ``pyaco opt OPTIONS`` on the input;
- ``spirv``: SPIR-V assembly, put together by ``spirv-as``, then ``pyaco opt OPTIONS`` (without passes: what the reader makes of it);
- ``isa``: assembly for ``--target``; the output has the words of each instruction and its disassembly.

A run that fails has the error's message as output. ``pytest tests/filetests --update-filetests`` writes what comes out into the files and
prints the difference: read it before committing it.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import itertools
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pyaco import isa
from pyaco.cli import main
from pyaco.errors import PyacoError
from pyaco.pipelines import compute
from pyaco.pipelines.aco_passes import ACO_PASSES
from pyaco.pipelines.nir_passes import NIR_PASSES

FOLDER = Path(__file__).parent
FILES = sorted(FOLDER.glob("*/*/*.txt"))
ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "pyaco/nir/data/algebraic.txt"


@dataclass
class Filetest:
    """A file taken apart: comment lines, the options of each run, the input, the expected outputs by options."""

    comments: list[str]
    runs: list[str]
    source: str
    expected: dict[str, str]

    def text(self, outputs: dict[str, str]) -> str:
        """The file with these outputs."""
        head = [*self.comments, *(f"; run: {options}" for options in self.runs), self.source.strip("\n")]
        return "\n".join([*head, *(f"; out: {options}\n{outputs[options]}" for options in self.runs)]) + "\n"


def read(path: Path) -> Filetest:
    head, *outputs = re.split(r"^; out: (.*)\n", path.read_text(), flags=re.MULTILINE)
    lines = head.splitlines()
    start = next((k for k, line in enumerate(lines) if not line.startswith(";")), len(lines))
    runs = [line.removeprefix("; run:").strip() for line in lines[:start] if line.startswith("; run:")]
    comments = [line for line in lines[:start] if not line.startswith("; run:")]
    expected = {options.strip(): text.strip("\n") for options, text in zip(outputs[::2], outputs[1::2], strict=True)}
    return Filetest(comments, runs, "\n".join(lines[start:]) + "\n", expected)


def opt(source: str | bytes, options: str, folder: Path) -> str:
    """What ``pyaco opt`` prints, or how it ends."""
    path = folder / "input"
    path.write_bytes(source.encode() if isinstance(source, str) else source)
    errors = io.StringIO()
    output = folder / "output"
    with contextlib.redirect_stderr(errors):
        status = main(["opt", str(path), "-o", str(output), "--validate", *shlex.split(options)])
    return output.read_text().strip("\n") if status == 0 else f"status {status}: " + errors.getvalue().strip().replace(str(path), "<input>")


def run_isa(source: str, options: str) -> str:
    """The words of each instruction and its text."""
    target = shlex.split(options)[1]
    try:
        code = isa.assemble(source, target)
        lines = isa.disassemble_lines(code, target)
    except PyacoError as error:
        return f"error: {error}"
    shown = []
    for line in lines:
        words = [code[at : at + 4][::-1].hex() for at in range(line.offset, line.offset + line.size, 4)]
        shown.append(f"{' '.join(words):<28}{line.text.strip()}")
    return "\n".join(shown)


def run(path: Path, case: Filetest, options: str, folder: Path) -> str:
    """The output of one run."""
    room = path.parent.parent.name
    if room == "isa":
        return run_isa(case.source, options)
    if room == "spirv":
        # the module's hash names the version of spirv-as that put it together
        return re.sub(r"(?m)^source_sha1: .*\n", "", opt(assemble_spirv(case.source, folder), options, folder))
    return opt(case.source, options, folder)


def assemble_spirv(source: str, folder: Path) -> bytes:
    path = folder / "module.spv"
    command = ["spirv-as", "--target-env", "vulkan1.3", "--preserve-numeric-ids", "-o", str(path), "-"]
    subprocess.run(command, input=source, text=True, check=True, stderr=subprocess.PIPE)
    return path.read_bytes()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_file(path: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if path.parent.parent.name == "spirv" and shutil.which("spirv-as") is None:
        pytest.skip("spirv-as is not installed: SPIR-V assembly cannot be put together")
    case = read(path)
    assert case.runs, "the file has no line `; run: OPTIONS`"
    outputs = {options: run(path, case, options, tmp_path) for options in case.runs}
    before, after = path.read_text(), case.text(outputs)
    if outputs == case.expected:
        return
    difference = "\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), "expected", "found", lineterm="", n=6))
    if request.config.getoption("--update-filetests"):
        path.write_text(after)
        sys.stderr.write(f"\n{path.relative_to(FOLDER)} is rewritten:\n{difference}\n")
        return
    pytest.fail(f"{path.relative_to(FOLDER)} (--update-filetests writes what was found):\n{difference}", pytrace=False)


# ------------------------------------------------------------------------------------------------------------------ coverage
def folders(room: str) -> set[str]:
    return {path.parent.name for path in FILES if path.parent.parent.name == room}


def runs_of(room: str) -> Iterator[tuple[Path, str]]:
    for path in FILES:
        if path.parent.parent.name == room:
            yield from ((path, options) for options in read(path).runs)


def test_every_pass_has_a_file() -> None:
    assert folders("nir") >= set(NIR_PASSES)
    assert folders("aco") >= {*ACO_PASSES, compute.SELECTION.name}


def test_a_file_runs_the_pass_that_its_folder_names() -> None:
    for room in ("nir", "aco"):
        for path, options in runs_of(room):
            passes = shlex.split(options)[shlex.split(options).index("--passes") + 1]
            assert path.parent.name in re.findall(r"\w+", passes), path


def test_every_family_of_patterns_of_the_optimizer_has_a_file() -> None:
    sources = "".join(path.read_text() for path in sorted((ROOT / "pyaco/_core/aco").glob("optimize*.pyx")))
    found = set(re.findall(r"^cdef .*?\b(_?(?:combine|propagate|fold|use|note|remove)_\w+)\(", sources, re.MULTILINE))
    found -= {"_combine_valu", "combine_scalar"}
    shown = re.findall(r"^; Patterns: (.*)", "".join(path.read_text() for path in FILES if path.parent.name == "optimize"), re.MULTILINE)
    assert found
    assert found == {name for names in shown for name in names.split(", ")}


def test_every_fusion_of_the_optimizer_is_in_a_file() -> None:
    table = (ROOT / "pyaco/_core/aco/optimize_facts.pyx").read_text().split('_FUSIONS = """')[1].split('"""')[0]
    fused = {line.split()[3] for line in table.strip().splitlines()}
    outputs = "".join(output for path in FILES if path.parent.name == "optimize" for output in read(path).expected.values())
    assert len(fused) > 10
    assert fused <= set(re.findall(r"= (v_\w+)", outputs))


def families(path: Path) -> Iterator[str]:
    """The headings of a table of rules: comments that stand right before a rule."""
    lines = path.read_text().split("[main]")[1].splitlines()
    for line, following in itertools.pairwise(lines):
        if line.startswith("# ") and "=>" in following:
            yield line.removeprefix("# ").rstrip(".")


def rules(path: Path) -> Iterator[str]:
    yield from (re.sub(r"\s+", " ", line.strip()) for line in path.read_text().splitlines() if "=>" in line and not line.startswith("#"))


def test_every_algebraic_rule_has_a_line_in_the_file_of_its_family() -> None:
    comments = {path.stem: path.read_text() for path in FILES if path.parent.name == "algebraic"}
    titles = {text.splitlines()[0].removeprefix("; ").rstrip(".") for text in comments.values()}
    assert titles >= set(families(RULES))
    shown = {line.partition(": ")[2] for text in comments.values() for line in text.splitlines() if line.startswith(";   ")}
    assert shown >= set(rules(RULES))
