"""Run every table generator of the build: ``generate_tables.py --source ROOT --output FOLDER``.

Each ``tools/generate_<room>.py`` offers ``generate(source) -> dict`` of file name to text. A file is written only when
its text changes, so that an edit of one table does not rebuild every kernel.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path


def write_if_changed(path: Path, text: str) -> None:
    """Write `text` to `path` unless the file holds it already."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> None:
    """Load the generators beside this file and write what they make."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    for script in sorted(Path(__file__).parent.glob("generate_*.py")):
        if script.name == Path(__file__).name:
            continue
        specification = importlib.util.spec_from_file_location(script.stem, script)
        if specification is None or specification.loader is None:
            raise RuntimeError(f"cannot load {script}")
        module = importlib.util.module_from_spec(specification)
        sys.modules[script.stem] = module
        specification.loader.exec_module(module)
        for name, text in module.generate(options.source).items():
            write_if_changed(options.output / name, text)


if __name__ == "__main__":
    main()
