"""``pyaco targets``."""

from __future__ import annotations

import argparse
import json
from typing import Any

from pyaco.cli.shared import write_text
from pyaco.targets import Chip, chip, chips, wave_limits

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line of this verb."""
    parser.add_argument("name", nargs="?", help="a gfx name, chip name or product name; all targets when left out")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _facts(chip_: Chip) -> dict[str, Any]:
    waves = (32, 64) if chip_.level >= 100 else (64,)
    return {
        "target": chip_.target, "chip": chip_.name, "architecture": chip_.architecture, "level": chip_.level_name,
        "products": list(chip_.products), "wave_sizes": list(waves),
        "limits": {str(wave): wave_limits(chip_, wave).as_dict() for wave in waves},
    }


def run(options: argparse.Namespace) -> None:
    """Print one target, or all."""
    chosen = [chip(options.name)] if options.name else list(chips())
    if options.json:
        facts = [_facts(c) for c in chosen]
        write_text(None, json.dumps(facts[0] if options.name else facts, indent=2))
    elif options.name:
        write_text(None, _describe(chosen[0]))
    else:
        write_text(None, "\n".join(map(_row, chosen)))


def _row(chip_: Chip) -> str:
    products = ", ".join(chip_.products)
    return f"{chip_.target:<8} {chip_.name:<10} {chip_.architecture:<8} {chip_.level_name:<8} {products}"


def _describe(chip_: Chip) -> str:
    facts = _facts(chip_)
    rows = [
        f"{chip_.target} ({chip_.name}, {chip_.architecture}, {chip_.level_name})",
        f"products: {', '.join(chip_.products)}",
    ]
    for wave, limits in facts["limits"].items():
        rows.append(f"wave{wave}:")
        rows += [f"  {name.replace('_', ' ')}: {value}" for name, value in limits.items()]
    return "\n".join(rows)
