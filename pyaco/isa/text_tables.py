"""The tables that the text kernels read, of one target: names by domain, and facts about opcodes.

They are worked out from the opcode table (``text_facts``) once and kept beside the byte code in ``__pycache__`` as the kernels read them
(``_core/isa/text_tables.pxd``), so that a command that assembles or disassembles starts without reading the opcode table. What they were
made of stands at the end of the file and decides whether they are still good.
"""

from __future__ import annotations

import os
import sys

from pyaco._core.isa import text_tables as kernel
from pyaco._core.isa.text_tables import TextTables, pack_text_tables

__all__ = ["TextTables", "text_tables"]

#: Positions of the domains that are only printed.
SILENT = {26, 28}
_HERE = os.path.dirname(__file__)
_CACHE = os.path.join(_HERE, "__pycache__")
_loaded: dict[str, TextTables] = {}


def text_tables(target: str) -> TextTables:
    """The tables of a target, a gfx name, chip name or product name.

    Raises
    ------
    InputError
        No such target.
    """
    if target not in _loaded:
        _loaded[target] = _load(target)
    return _loaded[target]


def _load(target: str) -> TextTables:
    path = os.path.join(_CACHE, f"text-{target.lower()}.tables") if target.isalnum() else ""
    sources = _sources()
    kept = _read(path)
    if not kept.endswith(sources):
        from pyaco.isa.processors import processor
        from pyaco.isa.text_facts import text_facts

        name, level = processor(target)
        domains, facts, short_formats, unified = text_facts(level, name)
        kept = pack_text_tables(name, level, domains, SILENT, facts, short_formats, unified) + sources
        _write(path, kept)
    return TextTables(kept)


def _sources() -> bytes:
    """Name, time and size of every file that the tables come from, and the version of the interpreter."""
    folders = [_HERE, os.path.join(_HERE, "data"), os.path.dirname(kernel.__file__)]
    files = [entry for folder in folders for entry in os.scandir(folder) if entry.name.endswith((".py", ".txt", ".so", ".pyd"))]
    found = sorted((entry.name, entry.stat().st_mtime_ns, entry.stat().st_size) for entry in files)
    return repr((found, sys.version)).encode()


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError):
        return b""


def _write(path: str, kept: bytes) -> None:
    """Keep the tables if the folder may be written; whole or not at all."""
    if sys.dont_write_bytecode or not path:
        return
    draft = f"{path}.{os.getpid()}"
    try:
        os.makedirs(_CACHE, exist_ok=True)
        with open(draft, "wb") as file:
            file.write(kept)
        os.replace(draft, path)
    except OSError:
        return
