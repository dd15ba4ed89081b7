"""Documents name what exists: every path, and every identifier in code quotes, is found in the tree."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from pyaco.cli import VERBS
from pyaco.cli.command_line import CommandLine
from pyaco.passes import Pipeline
from pyaco.pipelines import compute
from pyaco.pipelines.aco_passes import ACO_PASSES
from pyaco.pipelines.nir_passes import NIR_PASSES

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md")) if path.parent.name != "reference"))
#: The passes that a document explains, in the order of the pipelines; a pass that no pipeline has stands where it belongs.
EXPLAINED = {"docs/nir.md": ((compute.NIR,), NIR_PASSES), "docs/backend.md": ((compute.ACO, compute.ASSEMBLER), ACO_PASSES)}
SUFFIXES = (".py", ".pyx", ".pxd", ".pyi", ".pxi", ".c", ".h", ".txt", ".json", ".md", ".toml", ".comp", ".spv")
FOLDERS = ("pyaco", "tests", "bench", "tools", "examples", "docs")
#: Made by the build or by a test, or another project's.
ELSEWHERE = {"pyaco/lib/libpyaco_run_asm.so", "isa_opcodes.pxd", "isa_tables.pxd", "test_ops.py", "radeon_surf"}
WORD = re.compile(r"[A-Za-z_]\w{2,}")


@cache
def files() -> tuple[str, ...]:
    """Every source file of the tree."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES and "__pycache__" not in path.parts]
    return tuple(str(path.relative_to(ROOT)) for path in (*found, ROOT / "Makefile", ROOT / "pyproject.toml"))


@cache
def words() -> frozenset[str]:
    """Every word of the sources, and of their names."""
    found: set[str] = set()
    for name in files():
        found.update(WORD.findall(name))
        if not name.endswith((".md", ".spv", "test_documents.py")):
            found.update(WORD.findall((ROOT / name).read_text(errors="replace")))
    return frozenset(found)


def quotes(document: str) -> list[str]:
    """What stands in code quotes, outside blocks of code."""
    text = re.sub(r"```.*?```", "", (ROOT / document).read_text(), flags=re.DOTALL)
    return [quote for quote in re.findall(r"`([^`\n]+)`", text) if quote not in ELSEWHERE]


def exists(quote: str) -> bool:
    """Whether a quote is the end of a file's path, with ``*`` or ``<room>`` for any name, or consists of words of the sources."""
    for path in re.findall(r"[\w*<>./-]+\.(?:py|pyx|pxd|pxi|txt|h|json|md|pyi|c)\b", quote):
        if path in ELSEWHERE:
            continue
        pattern = re.sub(r"\\\*|<\w+>", r"[^/]*", re.escape(path)) + "$"
        if not any(re.search("(^|/)" + pattern, name) for name in files()):
            return False
    return all(word in words() or word in ELSEWHERE for word in WORD.findall(re.sub(r"\w*\*\w*|\(_\w+\)\w*|<\w+>", "", quote)))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_documents_name_exists(document: str) -> None:
    assert not [quote for quote in quotes(document) if not exists(quote)]


@pytest.mark.parametrize("quote", ["no_such_function", "tests/emu/test_nothing_*.py", "aco/nothing.pxd", "pyaco.no_such_room"])
def test_what_does_not_exist_is_found(quote: str) -> None:
    assert not exists(quote)


def missing_options(text: str) -> list[str]:
    """Verbs with options that they do not take, wherever a command stands in a text."""
    missing = []
    for command in re.findall(r"\bpyaco (?!-)(\w+(?:(?!\bpyaco )[^`\n])*)", text.replace("\\\n", " ")):
        verb, *words = command.split()
        if verb in VERBS:
            line = CommandLine(verb, "")
            import_module(f"pyaco.cli.{verb}").add_arguments(line)
            taken = {name for argument in line.arguments for name in argument.names}
            options = [word.split("=")[0].rstrip(".,;:)") for word in words if word.startswith("--")]
            missing += [f"{verb} {option}" for option in options if option not in taken]
    return missing


@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_in_documents_take_their_options(document: str) -> None:
    assert not missing_options((ROOT / document).read_text())


def test_an_option_that_does_not_exist_is_found() -> None:
    assert missing_options("`pyaco compile x.spv --lines`, `pyaco surface gfx1030 --linear`; pyaco asm a --target=x   pyaco opt --json") == [
        "compile --lines", "opt --json"]  # fmt: skip


def test_every_room_is_in_the_house() -> None:
    house = (ROOT / "docs/architecture.md").read_text().split("## Storage")[0]
    package = ROOT / "pyaco"
    rooms = {path.parent.name for path in package.glob("*/__init__.py")} | {path.name for path in package.glob("*.py") if path.name[0] != "_"}
    kernels = {path.parent.name for path in (package / "_core").glob("*/__init__.py")}
    assert not [room for room in sorted(rooms | kernels) if f"{room}" not in house]


def explained(text: str) -> list[str]:
    """Names in code quotes in the headings of a document, and in what begins a paragraph or an item in bold."""
    titles = re.findall(r"^(?:#+ (.*)|(?:- )?\*\*(.*?)\*\*.*)$", text, re.MULTILINE)
    return [name for heading, bold in titles for name in re.findall(r"`(\w+)`", heading or bold)]


def steps(pipelines: tuple[Pipeline, ...]) -> list[str]:
    """Names of the passes of pipelines, each where it first runs; instruction selection comes before those over ACO IR."""
    names = [step.name for pipeline in pipelines for step in pipeline.steps()]
    before = [compute.SELECTION.name] if pipelines[0].ir == "aco" else []
    return list(dict.fromkeys([*before, *names]))


@pytest.mark.parametrize("document", EXPLAINED)
def test_documents_explain_every_pass_in_order(document: str) -> None:
    pipelines, passes = EXPLAINED[document]
    names = explained((ROOT / document).read_text())
    assert not [name for name in (*passes, *steps(pipelines)) if names.count(name) != 1], "not explained once"
    assert [name for name in names if name in steps(pipelines)] == steps(pipelines)


def test_headings_and_bold_names_are_explanations() -> None:
    assert explained("### `a` and `b`\n`c` **`d`**\n**`e`, `f`** text `g`\n- **`h`**: text\n") == ["a", "b", "e", "f", "h"]
