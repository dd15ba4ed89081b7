"""The tables that the text kernels read, of one target: the hash table of names, and facts about opcodes.

They are worked out from the opcode table (``text_facts``) once and kept beside the byte code in ``__pycache__``, so that a command
that assembles or disassembles starts without reading the opcode table. What they were made of decides whether they are still good.
"""

from __future__ import annotations

import marshal
import os
import sys
from array import array
from functools import cache

from pyaco._core.isa import name_table
from pyaco._core.isa.name_table import NameTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["TextTables", "text_tables"]

#: Positions of the domains that are only printed.
SILENT = {26, 28}
_HERE = os.path.dirname(__file__)
_CACHE = os.path.join(_HERE, "__pycache__")


class TextTables:
    """Tables of one target.

    Attributes
    ----------
    target
        Its gfx name.
    level
        Its gfx level.
    names
        Every name of the text.
    facts
        ``fact_*`` by opcode.
    short_formats
        The one-dword format of a vector opcode in this generation by opcode, 0 if it has none.
    unified
        Unified buffer format by data format (bits 0-3) and number format (bits 4-6); -1 where there is none.
    """

    def __init__(self, target: str, level: int, domains: list[Any], facts: bytes, short_formats: bytes, unified: bytes) -> None:
        self.target = target
        self.level = level
        self.names = NameTable(domains, SILENT)
        self.facts = array("I", facts)
        self.short_formats = array("H", short_formats)
        self.unified = array("h", unified)


@cache
def text_tables(target: str) -> TextTables:
    """The tables of a target, a gfx name, chip name or product name.

    Raises
    ------
    InputError
        No such target.
    """
    path = os.path.join(_CACHE, f"text-{target.lower()}.tables") if target.isalnum() else ""
    sources = _sources()
    kept = _read(path)
    if kept is None or kept[0] != sources:
        from pyaco.isa.processors import processor
        from pyaco.isa.text_facts import text_facts

        name, level = processor(target)
        kept = (sources, name, level, *text_facts(level, name))
        _write(path, kept)
    return TextTables(*kept[1:])


def _sources() -> list[tuple[str, int, int]]:
    """Name, time and size of every file that the tables come from, and the version of the interpreter."""
    folders = [entry for folder in (_HERE, os.path.join(_HERE, "data")) for entry in os.scandir(folder)]
    files = [(entry.name, entry.stat()) for entry in folders if entry.name.endswith((".py", ".txt"))]
    kernels = os.stat(name_table.__file__)
    found = sorted((name, status.st_mtime_ns, status.st_size) for name, status in files)
    return [*found, ("", kernels.st_mtime_ns, kernels.st_size), (sys.version, 0, 0)]


def _read(path: str) -> Any:
    try:
        with open(path, "rb") as file:
            return marshal.loads(file.read())
    except (OSError, ValueError, EOFError, TypeError):
        return None


def _write(path: str, kept: Any) -> None:
    """Keep the tables if the folder may be written; whole or not at all."""
    if sys.dont_write_bytecode or not path:
        return
    draft = f"{path}.{os.getpid()}"
    try:
        os.makedirs(_CACHE, exist_ok=True)
        with open(draft, "wb") as file:
            file.write(marshal.dumps(kept))
        os.replace(draft, path)
    except OSError:
        return
