"""What an installation has and a working tree has not; ``tools/check_installed.py`` checks an installed wheel itself."""

from __future__ import annotations

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
