"""How large files and functions may be: a reader sees a function whole, and a file is one idea."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST_LINES = 900
LONGEST_FUNCTION = 80
FOLDERS = ("pyaco", "tests", "tools", "bench", "examples")
SUFFIXES = (".py", ".pyx", ".pxd", ".pxi", ".c", ".h")
#: A def, cdef or cpdef of a function in Cython: indentation, name.
CYTHON_FUNCTION = re.compile(r"^( *)(?:c|cp)?def (?!class|enum|struct|union|packed|extern|object\b)[^=\n]*?(\w+)\([^\n]*$", re.MULTILINE)


def sources(*suffixes: str) -> Iterator[Path]:
    """The files of code."""
    for folder in FOLDERS:
        yield from (path for path in sorted((ROOT / folder).rglob("*")) if path.suffix in suffixes and "generated" not in path.parts)


def python_functions(text: str) -> Iterator[tuple[str, int]]:
    """Name and lines of each function; a docstring does not count."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
            docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
            yield node.name, (node.end_lineno or 0) - node.lineno + 1 - docstring


def cython_functions(text: str) -> Iterator[tuple[str, int]]:
    """Name and lines of each function: up to the next line that is indented no more than it."""
    lines = text.split("\n")
    for match in CYTHON_FUNCTION.finditer(text):
        start = text.count("\n", 0, match.start())
        head = start
        while head < len(lines) - 1 and not lines[head].split("#")[0].rstrip().endswith(":"):
            if not lines[head + 1].strip() or len(lines[head + 1]) - len(lines[head + 1].lstrip()) <= len(match[1]):
                break
            head += 1       # the parameters go on, or it is a declaration
        if not lines[head].split("#")[0].rstrip().endswith(":"):
            continue
        end = head + 1
        while end < len(lines) and (not lines[end].strip() or len(lines[end]) - len(lines[end].lstrip()) > len(match[1])):
            end += 1
        body = "\n".join(lines[head + 1 : end]).strip("\n")
        docstring = re.match(r'\s*"""(.*?)"""', body, re.DOTALL)
        yield match[2], head - start + 1 + body.count("\n") + 1 - (docstring[0].count("\n") + 1 if docstring else 0)


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_file_is_too_long(folder: str) -> None:
    long = {str(path.relative_to(ROOT)): count for path in sources(*SUFFIXES) if path.is_relative_to(ROOT / folder)
            if (count := path.read_text().count("\n")) > MOST_LINES}  # fmt: skip
    assert not long


@pytest.mark.parametrize(("suffix", "functions"), [(".py", python_functions), (".pyx", cython_functions), (".pxd", cython_functions),
                                                   (".pxi", cython_functions)])  # fmt: skip
def test_no_function_is_too_long(suffix: str, functions) -> None:  # type: ignore[no-untyped-def]
    long = [f"{path.relative_to(ROOT)}: {name} has {lines} lines" for path in sources(suffix) for name, lines in functions(path.read_text())
            if lines > LONGEST_FUNCTION]  # fmt: skip
    assert not long


def test_functions_of_cython_are_measured() -> None:
    text = """
cdef int f(int a,
           int b) except -1 nogil:
    '''Documented.'''
    if a:

        return 1
    return 0


cdef int g(int a) noexcept nogil
"""
    assert dict(cython_functions(text)) == {"f": 7}
