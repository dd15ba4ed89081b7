"""Write the tables of the text kernels (``pyaco/isa/text_tables.py``): ``write_text_tables.py --kernels FOLDER --output FOLDER [--working-tree]``.

It runs as soon as the kernels of the room are built. In a working tree, where sources change, the files say what they were made of.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main() -> None:
    """Write one file per gfx name."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", required=True, help="where the modules of pyaco/_core/isa are")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--working-tree", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent.parent))
    import pyaco._core.isa

    pyaco._core.isa.__path__ = [options.kernels]
    from pyaco.isa.processors import assembly_target, processors
    from pyaco.isa.text_tables import compute_tables, sources
    from pyaco.targets.target_id import generic_processors

    made_of = sources() if options.working_tree else b""
    options.output.mkdir(parents=True, exist_ok=True)
    for name in (*processors(), *generic_processors()):
        draft = options.output / f"{name}.draft"
        draft.write_bytes(compute_tables(*assembly_target(name)) + made_of)
        draft.replace(options.output / f"{name}.tables")  # a process may have the old file mapped


if __name__ == "__main__":
    main()
