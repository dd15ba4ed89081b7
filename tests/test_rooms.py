"""The doors between rooms: a room imports only from rooms that stand before it (docs/architecture.md)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pyaco

PACKAGE = Path(pyaco.__file__).parent

# What each room may import besides itself.
EVERYWHERE = {"arguments", "errors", "targets", "isa", "formats", "_core.common"}
DOORS = {
    "targets": set(),
    "isa": {"_core.isa"},
    "spirv": {"_core.spirv", "_core.ir", "nir"},
    # How sets are laid out and what user SGPRs hold is the same for compilers and drivers.
    "nir": {"_core.nir", "_core.ir", "descriptors"},
    "aco": {"_core.aco", "_core.ir", "_core.isa"},
    "descriptors": {"registers", "addrlib"},
    # Device.submit, the one door that leads back: it loads the command processor when it is called.
    "emu": {"_core.emu", "_core.emu_fast", "_core.emu_inspect", "_core.isa", "binary", "descriptors", "pm4"},
    "registers": set(),
    "pm4": {"registers", "descriptors", "addrlib", "emu"},
    "addrlib": set(),
    "binary": {"_core.isa"},
    "_core.common": set(),
    "_core.ir": set(),
    "_core.isa": set(),
    "_core.spirv": {"_core.ir", "_core.nir"},
    "_core.nir": {"_core.ir"},
    "_core.aco": {"_core.ir", "_core.isa"},
    "_core.emu": {"_core.isa", "_core.ir"},
    "_core.emu_fast": {"_core.emu", "_core.isa", "_core.ir"},
    "_core.emu_inspect": {"_core.emu", "_core.isa", "_core.ir"},
}
IMPORT = re.compile(r"^\s*(?:from|cimport|import)\s+pyaco((?:\.\w+)*)(?:\s+c?import\s+\(?\s*([\w, ]+))?", re.MULTILINE)


def room_of(dotted: str) -> str:
    """Return the room of a module below pyaco, such as ``_core.nir`` or ``aco``."""
    parts = dotted.strip(".").split(".")
    return ".".join(parts[:2]) if parts[0] == "_core" else parts[0]


def imports(path: Path) -> set[str]:
    """Return the rooms that a source file imports."""
    rooms = set()
    for dotted, names in IMPORT.findall(path.read_text()):
        if dotted:
            rooms.add(room_of(dotted))
        else:
            rooms |= {name.strip() for name in names.split(",") if name.strip()}
    return rooms


@pytest.mark.parametrize("room", sorted(DOORS))
def test_doors_open_one_way(room: str) -> None:
    folder = PACKAGE / room.replace(".", "/")
    allowed = DOORS[room] | EVERYWHERE | {room}
    for path in [*folder.rglob("*.py"), *folder.rglob("*.pyx"), *folder.rglob("*.pxd")]:
        strangers = imports(path) - allowed
        assert not strangers, f"{path.relative_to(PACKAGE)} imports {sorted(strangers)}"


def test_import_is_light() -> None:
    heavy = ["numba", "llvmlite", "matplotlib", "numpy", "argparse"]
    code = f"import sys, pyaco; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_fast_engine_is_loaded_on_demand() -> None:
    code = "import sys, pyaco.emu; print([m for m in sys.modules if 'emu_fast' in m or 'emu_inspect' in m])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
