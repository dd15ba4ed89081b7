"""The doors between rooms: a room imports only from rooms that stand before it (docs/architecture.md), and no imports form a circle.

Python files, Cython files (``.pyx``, ``.pxd``, ``.pxi``, ``.pyi``) and imports for type checkers alone are read alike: an arrow is an arrow.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import pytest

import pyaco

PACKAGE = Path(pyaco.__file__).parent
SUFFIXES = (".py", ".pyx", ".pxd", ".pxi", ".pyi")

# What each room may import besides itself.
EVERYWHERE = {"arguments", "errors", "targets", "isa", "formats", "host_memory", "notebook", "_core.common"}
DOORS = {
    "targets": set(),
    "isa": {"_core.isa"},
    "spirv": {"_core.spirv", "_core.ir", "nir"},
    # How sets are laid out and what user SGPRs hold is the same for compilers and drivers.
    "nir": {"_core.nir", "_core.ir", "descriptors", "passes", "pipelines"},
    "aco": {"_core.aco", "_core.ir", "_core.isa", "passes", "pipelines"},
    # Pipelines name kernels; those are loaded when they run.
    "pipelines": {"passes"},
    "descriptors": {"registers", "addrlib"},
    "emu": {"_core.emu", "_core.emu_fast", "_core.emu_inspect", "_core.isa", "abi", "addrlib", "binary", "command_streams", "descriptors",
            "registers"},
    "registers": {"abi"},
    "pm4": {"registers", "descriptors", "addrlib", "abi", "command_streams", "emu"},
    "meta": {"_core.nir", "addrlib", "compiler", "descriptors", "emu", "metadata", "nir", "pm4"},
    "texture_files": set(),
    "triton": {"binary", "emu", "_core.emu"},
    "addrlib": {"_core.addrlib"},
    # What metadata surfaces hold: where they are, addrlib knows; what colour targets take for alpha, the descriptors.
    "metadata": {"addrlib", "descriptors"},
    "binary": {"_core.isa", "abi", "registers"},
    "texels": {"_core.texels"},
    "_core.common": set(),
    "_core.ir": set(),
    "_core.isa": set(),
    "_core.texels": set(),
    "_core.addrlib": set(),
    "_core.spirv": {"_core.ir", "_core.nir"},
    "_core.nir": {"_core.ir"},
    "_core.aco": {"_core.ir", "_core.isa"},
    "_core.emu": {"_core.isa", "_core.ir", "_core.texels"},
    "_core.emu_fast": {"_core.emu", "_core.isa", "_core.ir"},
    "_core.emu_inspect": {"_core.emu", "_core.isa", "_core.ir"},
}

# from A import B, C; from A cimport (B, C); import A, cimport A: each with A or B on lines that a parenthesis or a backslash continues
_FROM = re.compile(r"^[ \t]*from[ \t]+([.\w]+)[ \t]+c?import[ \t]+(?:\(([^)]*)\)|([^\n]*))", re.MULTILINE)
_WHOLE = re.compile(r"^[ \t]*c?import[ \t]+([^\n(]+)", re.MULTILINE)
_INCLUDE = re.compile(r"^[ \t]*include[ \t]+[\"']([^\"']+)[\"']", re.MULTILINE)
_TEXTS = re.compile(r"(\"\"\"|''')(?:.|\n)*?\1|#[^\n]*")


def module_of(path: Path) -> str:
    """Return the dotted name of a file below pyaco, such as ``_core.nir.lower_alu``; of a folder's ``__init__`` the folder's."""
    parts = [*path.relative_to(PACKAGE).parent.parts, path.name.split(".")[0]]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, tuple[Path, ...]]:
    """Return the files of every module of the package."""
    found: dict[str, list[Path]] = {}
    for suffix in SUFFIXES:
        for path in PACKAGE.rglob(f"*{suffix}"):
            if "generated" not in path.parts:
                found.setdefault(module_of(path), []).append(path)
    return {name: tuple(paths) for name, paths in found.items()}


def imported_names(text: str) -> list[str]:
    """Return what a source text imports, dotted, relative ones with their dots; of ``from A import B`` both A and A.B."""
    text = _TEXTS.sub("", text).replace("\\\n", " ")
    names: list[str] = []
    for module, many, line in _FROM.findall(text):
        joint = "" if module.endswith(".") else "."
        names += [module, *(module + joint + word.split()[0] for word in (many or line).split(",") if word.split())]
    for words in _WHOLE.findall(text):
        names += [word.split()[0] for word in words.split(",") if word.split()]
    return names


def resolve(name: str, path: Path) -> str | None:
    """Return the module of the package that a name stands for in a file, or None for what is not of the package."""
    if name.startswith("."):
        dots = len(name) - len(name.lstrip("."))
        folder = path.parent
        for _ in range(dots - 1):
            folder = folder.parent
        if folder != PACKAGE and PACKAGE not in folder.parents:
            return None
        name = ".".join([*folder.relative_to(PACKAGE).parts, *([rest] if (rest := name.lstrip(".")) else [])])
    elif name == "pyaco":
        return None
    elif name.startswith("pyaco."):
        name = name.removeprefix("pyaco.")
    else:
        # Cython finds what lies beside a file, or in a folder of the include path, without the package's name.
        beside = [*path.parent.relative_to(PACKAGE).parts, name]
        candidates = [".".join(beside), f"_core.{name}"] if path.suffix in (".pyx", ".pxd", ".pxi") else []
        return next((candidate for candidate in candidates if candidate in modules()), None)
    while name and name not in modules():
        name = name.rpartition(".")[0]
    return name or None


def imports(path: Path) -> set[str]:
    """Return the modules of the package that a source file imports or includes."""
    text = path.read_text()
    found = {resolve(name, path) for name in imported_names(text)}
    found |= {module_of(path.parent / name) for name in _INCLUDE.findall(_TEXTS.sub("", text)) if (path.parent / name).exists()}
    return {name for name in found if name is not None}


def room_of(module: str) -> str:
    """Return the room of a module, such as ``_core.nir`` or ``aco``."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "_core" else parts[0]


@cache
def arrows() -> dict[str, frozenset[str]]:
    """Return what every module imports, itself left out."""
    return {name: frozenset(set().union(*map(imports, paths)) - {name}) for name, paths in modules().items()}


def circles(graph: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the sets of nodes that reach each other, each sorted (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            members = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(members) > 1:
                found.append(sorted(members))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


@pytest.mark.parametrize("room", sorted(DOORS))
def test_doors_open_one_way(room: str) -> None:
    allowed = DOORS[room] | EVERYWHERE | {room}
    for module, found in arrows().items():
        if room_of(module) == room:
            strangers = {name for name in found if room_of(name) not in allowed}
            assert not strangers, f"{module} imports {sorted(strangers)}"


def test_rooms_form_no_circle() -> None:
    graph: dict[str, set[str]] = {}
    for module, found in arrows().items():
        graph.setdefault(room_of(module), set()).update(room_of(name) for name in found if room_of(name) != room_of(module))
    assert circles(graph) == []


@pytest.mark.parametrize("room", [*sorted(DOORS), "cli"])
def test_files_of_a_room_form_no_circle(room: str) -> None:
    graph = {module: {name for name in found if room_of(name) == room and name != room} for module, found in arrows().items()
             if room_of(module) == room and module != room}  # fmt: skip
    assert circles(graph) == []


def test_what_is_read_of_a_source() -> None:
    """Every way to write an import, in Python and in Cython, and none that a text or a comment mentions."""
    core = PACKAGE / "_core" / "nir" / "lower_alu.pyx"
    text = '''
"""from pyaco.cli import main"""
# from pyaco.cli import main
from pyaco._core.ir.shader cimport *
from pyaco._core.aco.queries cimport (
    temp_of,
    block_of,
)
from pyaco._core.emu.wave cimport Wave, \\
    Machine
    from pyaco.descriptors import layout, sets
from . cimport lowering
from .dominance cimport parent
from ..aco cimport isel
from types cimport type_of
cimport pyaco._core.isa.decode as decode, cython
import pyaco.emu.device
from pyaco import pm4, errors
from libc.stdint cimport uint8_t
from isa_opcodes cimport *
'''
    found = {name for name in (resolve(name, core) for name in imported_names(text)) if name is not None}
    assert found == {
        "_core.ir.shader", "_core.aco.queries", "_core.emu.wave", "descriptors.layout", "descriptors.sets", "descriptors", "_core.nir",
        "_core.nir.lowering", "_core.nir.dominance", "_core.aco", "_core.aco.isel", "_core.nir.types", "_core.isa.decode",
        "emu.device", "pm4", "errors",
    }  # fmt: skip
    assert circles({"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": ["e"], "e": []}) == [["a", "b", "c"]]


def test_import_is_light() -> None:
    heavy = ["numba", "llvmlite", "matplotlib", "numpy", "argparse"]
    code = f"import sys, pyaco; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("room", ["pyaco.emu", "pyaco.emu.device", "pyaco.pm4"])
def test_engines_are_loaded_on_demand(room: str) -> None:
    code = f"import sys, {room}; print([m for m in sys.modules if 'emu_fast' in m or 'emu_inspect' in m])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_command_streams_load_no_engine() -> None:
    code = "import sys, pyaco.pm4; print([m for m in sys.modules if m.startswith('pyaco._core.emu')])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("chip", ["gfx600", "gfx701", "gfx803"])
def test_layouts_of_old_generations_load_no_compiler(chip: str) -> None:
    """One query of GFX6 to GFX8 runs as Python; numba is loaded for tiling, for batches, and for GFX9 and later."""
    surface = f"pyaco.addrlib.Surface('{chip}', format='R8G8B8A8_UNORM', width=64, height=64)"
    code = f"import sys, pyaco; s = {surface}; s.facts, s.equations; before = 'numba' in sys.modules; s.tiled; print(before, 'numba' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "True"]
