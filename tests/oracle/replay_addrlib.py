"""Compare addrlib with recorded calls of AMD's library: ``python tests/oracle/replay_addrlib.py DIR [TABLE ...]``.

DIR holds tables (``NAME.npz``, one array a column), equations and the modifier test (``.xz``), ``formats.json`` (format number to
name and bits) and ``configs.json`` (chips by number). Prints one JSON object: for each table how many rows were tried, agreed and
skipped, and the first that disagree; beside addresses of GFX9 and later also how many lead back to where they came from.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from addrlib_driver_tables import DriverTables
from addrlib_metadata_tables import MetadataTables
from addrlib_tables import load
from addrlib_v1_tables import V1Tables
from addrlib_v2_tables import V2Tables

from pyaco.addrlib import gpu_config

FILES = ("v1_*.npz", "v2_*.npz", "v3_*.npz", "surf_*.npz", "modifiers.npz", "modifier_test_entries.txt.xz", "equations.json.xz",
         "v2_meta_equations.json.xz")


def replay(folder: Path, wanted: list[str]) -> dict[str, Any]:
    """Return the counts of every table of a folder, or of the `wanted` ones; a table without a replay is skipped whole."""
    recorded = json.loads((folder / "configs.json").read_text())
    configs = [gpu_config(entry["name"]) for entry in (recorded["configs"] if isinstance(recorded, dict) else recorded)]
    replays = [kind(folder, configs) for kind in (V1Tables, V2Tables, MetadataTables, DriverTables)]
    found: dict[str, Any] = {}
    for path in sorted({path for pattern in FILES for path in folder.glob(pattern)}):
        name = path.name.partition(".")[0]
        if wanted and name not in wanted:
            continue
        ask = next((getattr(kind, name) for kind in replays if hasattr(kind, name)), None)
        table = load(path) if path.suffix == ".npz" else path
        if ask is None:
            count = len(next(iter(table.values()))) if isinstance(table, dict) else 0
            found[name] = {"tried": 0, "agreed": 0, "skipped": count, "first_disagreements": []}
        else:
            found[name] = ask(table)
    return found


def main() -> None:
    """Replay the folder that the command line names."""
    print(json.dumps(replay(Path(sys.argv[1]), sys.argv[2:]), indent=1))


if __name__ == "__main__":
    main()
