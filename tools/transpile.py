"""Transpile the Cython modules of one room in one process: ``transpile.py --root R --output O [-I DIR] FILE.pyx ...``.

Starting Cython and reading the shared data sheets costs more than most modules do, so a room shares both. Modules whose
dependencies are older than their output are left alone, and so are, with it, the objects made from them.
"""

from __future__ import annotations

import argparse
import gc
import sys
from pathlib import Path

from Cython.Compiler.Main import compile_single
from Cython.Compiler.Options import CompilationOptions

DIRECTIVES = {
    "language_level": 3, "boundscheck": False, "wraparound": False, "initializedcheck": False, "nonecheck": False,
    "cdivision": True, "embedsignature": True, "embedsignature.format": "python", "freethreading_compatible": True,
}


def dependencies(output: Path) -> list[Path]:
    """Return the files that made `output` the last time, from the depfile beside it."""
    depfile = Path(f"{output}.dep")
    if not depfile.exists():
        return []
    return [Path(word) for word in depfile.read_text().replace("\\\n", " ").split(":", 1)[1].split()]


def is_current(source: Path, output: Path, tables: list[Path]) -> bool:
    """Whether nothing that `output` was made from is newer than it."""
    known = dependencies(output)
    if not output.exists() or not known:
        return False
    made = output.stat().st_mtime
    files = [source, *known, *(table for table in tables if any(table.name == other.name for other in known))]
    return all(path.exists() and path.stat().st_mtime <= made for path in files)


def main() -> int:
    """Transpile what is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("-I", dest="include", action="append", default=[])
    parser.add_argument("sources", nargs="+")
    options = parser.parse_args()
    gc.disable()  # Cython's trees live as long as their module; collecting among them takes a quarter of the time
    tables = [path for folder in options.include for path in Path(folder).glob("*.pxd")]
    errors = 0
    for name in options.sources:
        source = options.root / name
        output = (options.output / name).with_suffix(".cxx")
        if is_current(source, output, tables):
            continue
        output.parent.mkdir(parents=True, exist_ok=True)
        settings = CompilationOptions(
            cplus=True, include_path=[str(options.root), *options.include], compiler_directives=DIRECTIVES,
            output_file=str(output), depfile=True,
        )
        module = ".".join(Path(name).with_suffix("").parts)
        errors += compile_single(str(source), settings, full_module_name=module).num_errors
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
