"""The tables that the text kernels read, of one target: names by domain, and facts about opcodes.

The build computes them from the opcode table (``text_facts``): one file per gfx name, in the format that the kernels read
(``_core/isa/text_tables.pxd``), so that commands that assemble or disassemble start without reading the opcode table. Tables in a working tree
end with a copy of their sources; if these have changed since, the tables are computed when they are asked for.

What commands use of the disassembler is here too (``listing``). It is not ``checked``: to load what explains wrong arguments would take a command
longer than to disassemble a kernel.
"""

import os
import sys

from pyaco._core.isa import text_tables as kernel
from pyaco._core.isa.text_tables import MappedFile, TextTables, pack_text_tables
from pyaco.errors import InputError

__all__ = ["TextTables", "check_length", "compute_tables", "default_wave_size", "listing", "sources", "text_tables"]

# importing typing would take a command as long as its own work
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pyaco._core.isa.disassemble import Listing

#: Positions of the domains that are only printed.
PRINTED_ONLY = {26, 28}
_HERE = os.path.dirname(__file__)
_KEPT = os.path.join(_HERE, "generated")
_loaded: dict[str, TextTables] = {}
_FOLDER, _, _SUFFIX = kernel.__file__.rpartition("text_tables")
_KERNELS = [f"{_FOLDER}{name}{_SUFFIX}" for name in ("assemble_text", "statement", "text_tables")]
_MODULES = [f"{_HERE}/{name}.py" for name in ("names", "opcodes", "processors", "table", "text_facts", "text_tables", "waits")]


def text_tables(target: str) -> TextTables:
    """The tables of a target, a gfx name, chip name or product name.

    Raises
    ------
    InputError
        No such target.
    """
    if target not in _loaded:
        _loaded[target] = TextTables(_kept_tables(target.lower()) or _tables(target))
    return _loaded[target]


def default_wave_size(level: int, wave_size: int | None) -> int:
    """The wave size whose lane masks the text names."""
    if wave_size is None:
        return 64 if level < 100 else 32
    if wave_size not in (32, 64) or (wave_size == 32 and level < 100) or (wave_size == 64 and 125 <= level < 130):
        raise InputError(f"wave size {wave_size} does not exist on this target")
    return wave_size


def listing(code: bytes, target: str, wave_size: int | None, exact: bool = False, as_text: bool = True) -> "Listing":
    """The listing of `code`, as the kernel makes it; `as_text`: not for its bytes alone."""
    from pyaco._core.isa.disassemble import disassemble_words

    check_length(code)
    tables = text_tables(target)
    return disassemble_words(bytes(code), default_wave_size(tables.level, wave_size), tables, exact=exact, as_text=as_text)


def check_length(code: bytes) -> None:
    """Raise an error unless machine code is whole words."""
    if len(code) % 4:
        raise InputError(f"machine code of {len(code)} bytes: not a multiple of 4")


def compute_tables(name: str, level: int) -> bytes:
    """Compute the tables of a chip (a gfx name)."""
    from pyaco.isa.text_facts import text_facts

    domains, facts, short_formats, unified = text_facts(level, name)
    return pack_text_tables(name, level, domains, PRINTED_ONLY, facts, short_formats, unified)


def sources() -> bytes:
    """What tables in a working tree end with: time and size of all that they are made of in the first line, then what decides.

    The opcode table is not part of it: when it changes, the kernels change too.
    """
    return _dates(*_KERNELS, *_MODULES) + _contents()


def _dates(*paths: str) -> bytes:
    """Time and size of files, in one line."""
    found = [os.stat(path) for path in paths]
    return repr([(file.st_mtime_ns, file.st_size) for file in found]).encode() + b"\n"


def _contents() -> bytes:
    """Time and size of the kernels, and the text of the Python modules, of which git may change the time alone."""
    parts = [_dates(*_KERNELS)]
    for path in _MODULES:
        with open(path, "rb", buffering=0) as file:
            parts.append(file.readall())
    return b"".join(parts)


def _tables(target: str) -> "bytes | MappedFile":
    """The tables of a target by any of its names, kept or computed."""
    from pyaco.isa.processors import assembly_target

    name, level = assembly_target(target)
    return _kept_tables(name) or compute_tables(name, level)


def _kept_tables(name: str) -> "bytes | MappedFile":
    """The tables that the build made for a gfx name, empty unless they exist and are current."""
    if not name.replace("-", "").isalnum():
        return b""
    try:
        kept = MappedFile(os.path.join(_KEPT, f"{name}.tables"))
    except OSError:
        return b""
    view = memoryview(kept)
    recorded = view[int.from_bytes(view[:4], sys.byteorder):]  # sources, after the tables, which begin with their size
    # to read all of them would take a command as long as to import a module
    return kept if not recorded or _begins(recorded, _dates(*_KERNELS, *_MODULES)) or bytes(recorded).partition(b"\n")[2] == _contents() else b""


def _begins(data: memoryview, with_bytes: bytes) -> bool:
    return data[:len(with_bytes)] == with_bytes
