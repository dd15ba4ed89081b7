"""The site's reference has every public name of the rooms, and its menu has every page."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs/reference").glob("*.md"))
MODULES = frozenset(name for page in PAGES for name in re.findall(r"^::: ([\w.]+)$", page.read_text(), re.MULTILINE))
FRONTS = ("pyaco", *(f"pyaco.{room}" for room in (
    "aco", "addrlib", "binary", "emu", "isa", "meta", "nir", "pm4", "registers", "spirv", "targets", "texels", "texture_files")))


@pytest.mark.parametrize("front", FRONTS)
def test_public_names_are_in_the_reference(front: str) -> None:
    module = importlib.import_module(front)
    homes = {name: getattr(getattr(module, name), "__module__", None) for name in module.__all__}
    assert not {f"{front}.{name}" for name, home in homes.items() if home is not None and home not in MODULES}


def test_modules_of_the_reference_exist_and_stand_there_once() -> None:
    found = [name for page in PAGES for name in re.findall(r"^::: ([\w.]+)$", page.read_text(), re.MULTILINE)]
    assert len(found) == len(set(found))
    for name in found:
        importlib.import_module(name)


def test_every_page_is_in_the_menu() -> None:
    menu = set(re.findall(r": ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert menu == {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
