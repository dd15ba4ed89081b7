"""What an installation has and a working tree has not; ``tools/check_installed.py`` checks an installed wheel itself."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import pyaco

ROOT = Path(__file__).parents[1]


def test_a_working_tree_has_no_tables_to_build_against(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyaco, "__path__", [str(tmp_path)])
    with pytest.raises(pyaco.PyacoError, match="working tree"):
        pyaco.get_include()
    (tmp_path / "include").mkdir()
    (tmp_path / "include/isa_tables.pxd").touch()
    assert pyaco.get_include() == str(tmp_path / "include")


def test_data_sheets_find_what_they_cimport() -> None:
    """Every ``.pxd`` names its neighbours by the package, or is one of the generated ones that ``get_include`` is the folder of."""
    generated = {"algebraic_tables", "features", "isa_decode_tables", "isa_opcodes", "isa_tables", "modifiers", "nir_opcodes", "spirv_tables",
                 "wait_tables"}  # fmt: skip
    strangers = []
    for sheet in (ROOT / "pyaco").rglob("*.pxd"):
        for line in sheet.read_text().splitlines():
            words = line.split()
            if words[:1] == ["from"] and "cimport" in words and words[1].split(".")[0] not in generated | {"pyaco", "libc", "libcpp", "cpython"}:
                strangers.append(f"{sheet.relative_to(ROOT)}: {line}")
    assert not strangers


def imported(body: list[ast.stmt]) -> Iterator[str]:
    """The packages that a module imports as it is imported itself."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (each.name.split(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
            yield from imported(node.body + node.orelse)


def test_modules_import_what_is_installed_with_them() -> None:
    """What is for type checkers, or an extra, is not imported with a module: an installation need not have it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    installed = {"pyaco", *sys.stdlib_module_names, *(each.split(">")[0] for each in project["dependencies"])}
    strangers = {str(path.relative_to(ROOT)): found for path in (ROOT / "pyaco").rglob("*.py")
                 if (found := set(imported(ast.parse(path.read_text()).body)) - installed)}  # fmt: skip
    assert not {path: found for path, found in strangers.items() if not path.startswith("pyaco/triton/")}
