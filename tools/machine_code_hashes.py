"""Hashes of the machine code of every shader of the tests, to show that a change of structure changes no code.

``python tools/machine_code_hashes.py write before.json`` compiles each case of ``tests/shaders`` (and each SPIR-V or NIR
file of the folders that ``--also`` names) for four targets and the wave sizes that they have, and keeps a hash of code and
constant data, or the error. ``python tools/machine_code_hashes.py compare before.json after.json`` counts what is equal
and names what is not; its exit status is 1 if anything differs. Compile before and after with the same shaders.
``--kernels BUILD`` takes the kernels that a build folder has instead of those in place.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/shaders")]

TARGETS = {"gfx900": (64,), "gfx1030": (32, 64), "gfx1100": (32, 64), "gfx1200": (32, 64)}


def use_kernels(build: Path) -> None:
    """Find the kernels of a build folder before those in place."""
    for room in (build / "pyaco/_core").iterdir():
        importlib.import_module(f"pyaco._core.{room.name}").__path__.insert(0, str(room.resolve()))


def inputs(folders: list[Path]) -> Iterator[tuple[str, Path, dict[int, Any], str | None]]:
    """Yield name, file, specialization and entry point of everything that is compiled."""
    from cases import CASES

    for case in CASES.values():
        yield case.name, case.spirv, dict(case.spec), case.entry
    for folder in folders:
        for path in sorted([*folder.rglob("*.spv"), *folder.rglob("*.nir")]):
            yield str(path.relative_to(folder)), path, {}, None


def digest(path: Path, target: str, wave: int, spec: dict[int, Any], entry: str | None) -> str:
    """Return a hash of what the compiler makes of a shader, or its refusal."""
    import pyaco

    try:
        shader = pyaco.compile(path, target=target, wave=wave, spec=spec, entry=entry)
    except (pyaco.InputError, pyaco.UnsupportedError) as error:
        return f"{type(error).__name__}: {error}"
    return hashlib.sha256(shader.code + b"\0" + shader.constant_data).hexdigest()


def write(output: Path, folders: list[Path]) -> int:
    """Compile everything and keep the hashes."""
    hashes = {
        f"{name} {target} wave{wave}": digest(path, target, wave, spec, entry)
        for name, path, spec, entry in inputs(folders)
        for target, waves in TARGETS.items()
        for wave in waves
    }
    output.write_text(json.dumps(hashes, indent=0, sort_keys=True) + "\n")
    refused = sum(": " in value for value in hashes.values())
    print(f"{len(hashes)} compilations, {refused} refused: {output}")
    return 0


def compare(before: Path, after: Path) -> int:
    """Say what is equal, what differs, and what only one side has."""
    old, new = json.loads(before.read_text()), json.loads(after.read_text())
    changed = sorted(name for name in old.keys() & new.keys() if old[name] != new[name])
    print(f"{len(old.keys() & new.keys()) - len(changed)} equal, {len(changed)} differ, "
          f"{len(old.keys() - new.keys())} only before, {len(new.keys() - old.keys())} only after")  # fmt: skip
    for name in changed:
        print(f"  {name}: {old[name][:60]} -> {new[name][:60]}")
    return 1 if changed or old.keys() != new.keys() else 0


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    writer = commands.add_parser("write", help="compile and keep hashes")
    writer.add_argument("output", type=Path)
    writer.add_argument("--also", type=Path, action="append", default=[], help="a folder of .spv and .nir files (may be repeated)")
    writer.add_argument("--kernels", type=Path, metavar="BUILD", help="a build folder whose kernels compile")
    comparer = commands.add_parser("compare", help="compare two files of hashes")
    comparer.add_argument("before", type=Path)
    comparer.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.command == "compare":
        return compare(options.before, options.after)
    if options.kernels:
        use_kernels(options.kernels)
    return write(options.output, options.also)


if __name__ == "__main__":
    sys.exit(main())
