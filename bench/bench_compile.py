"""Compile time and code quality beside RADV with ACO, in one run on one machine.

``python bench/bench_compile.py`` compiles every shader of ``tests/shaders`` for both targets and both wave sizes
with pyaco and with RADV (pipeline creation on the null winsys, all caches off), takes the least processor time of
many repetitions of each, and prints a table: times, their ratio, and the statistics side by side (pyaco / RADV).
``--curve`` prints instead cost over size for generated shaders of up to 100,000 SPIR-V instructions (``--largest 1000000``: a million). ``--json
FILE`` keeps the figures.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/oracle"), str(ROOT / "tests/shaders"), str(ROOT / "bench")]

from big_shader import WORDS_PER_STATEMENT  # noqa: E402
from big_shader import spirv as big_spirv  # noqa: E402
from cases import CASES, Case  # noqa: E402
from peer_statistics import STATISTICS, Statistic, geometric_mean, least_milliseconds  # noqa: E402
from spirv_reflection import reflect  # noqa: E402
from vulkan_peer import PeerError, Radv  # noqa: E402

import pyaco  # noqa: E402

TARGETS = ("gfx1030", "gfx1100")
WAVES = (32, 64)
CURVE = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 1_000_000)

#: Columns of the table.
COLUMNS = ("Instrs", "CodeSize", "VGPRs", "Latency", "InvThroughput", "SpillSGPRs", "SpillVGPRs")


def measure(spirv: bytes, target: str, wave: int, options: argparse.Namespace, case: Case | None = None) -> dict[str, Any]:
    """Times and statistics of one shader by both compilers; an ``error`` where one refuses."""
    spec = dict(case.spec) if case else {}
    row: dict[str, Any] = {"target": target, "wave": wave, "spirv_instructions": reflect(spirv, spec).instruction_count}
    try:
        peer = Radv(target)
        found = peer.compile(spirv, wave, spec, timeout=600)
        times = peer.time(spirv, wave, spec, repetitions=options.repetitions, seconds=options.seconds, timeout=900)
        row["radv"] = {"ms": min(times), **found.statistics}
    except PeerError as error:
        row["radv_error"] = str(error)[:200]

    def compile_once() -> Any:
        return pyaco.compile(spirv, target=target, wave=wave, spec=spec)

    try:
        shader: Any = compile_once()
        best = least_milliseconds(compile_once, options.repetitions, options.seconds)
        row["pyaco"] = {"ms": best, **shader.stats}
        row["pyaco_rooms"] = {room: shader.times_ms[room] for room in ("spirv", "nir", "aco")}
    except Exception as error:
        row["pyaco_error"] = f"{type(error).__name__}: {str(error)[:160]}"
    if "pyaco" in row and "radv" in row:
        row["ratio"] = row["pyaco"]["ms"] / row["radv"]["ms"]
    return row


def _columns() -> list[Statistic]:
    return [each for each in STATISTICS if each.name in COLUMNS]


def _pair(row: dict[str, Any], statistic: Statistic) -> str:
    left = row.get("pyaco", {}).get(statistic.ours, "-")
    right = row.get("radv", {}).get(statistic.theirs, "-")
    return f"{left}/{right}"


def _time(row: dict[str, Any], who: str) -> str:
    return f"{row[who]['ms']:9.3f}" if who in row else f"{'-':>9}"


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    """One line per shader, target and wave, then the sums that the README quotes."""
    names = "".join(f"{each.name:>15}" for each in _columns())
    print(f"{'shader':22} {'target':8} w  {'pyaco ms':>9} {'RADV ms':>9} {'ratio':>6}{names}   (pyaco/RADV)")
    for row in rows:
        ratio = f"{row['ratio']:6.2f}" if "ratio" in row else f"{'-':>6}"
        cells = "".join(f"{_pair(row, each):>15}" for each in _columns())
        print(f"{row['shader']:22} {row['target']:8} {row['wave']} {_time(row, 'pyaco')} {_time(row, 'radv')} {ratio}{cells}")
        for who in ("pyaco_error", "radv_error"):
            if who in row:
                print(f"    {who.replace('_', ' ')}: {row[who]}")
    both = [row for row in rows if "ratio" in row]
    if not both:
        return
    ratios = sorted(row["ratio"] for row in both)
    print(f"\ncompile time, pyaco over RADV, {len(both)} of {len(rows)}: geometric mean {geometric_mean(ratios):.2f}, "
          f"median {ratios[len(ratios) // 2]:.2f}, worst {ratios[-1]:.2f}")  # fmt: skip
    for each in _columns():
        quotients = [row["pyaco"][each.ours] / row["radv"][each.theirs] for row in both
                     if row["pyaco"].get(each.ours) and row["radv"].get(each.theirs)]  # fmt: skip
        if quotients:
            print(f"{each.name:13} pyaco over RADV: geometric mean {geometric_mean(quotients):.3f}, "
                  f"best {min(quotients):.2f}, worst {max(quotients):.2f}")  # fmt: skip


def curve(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Cost over size for generated shaders of each kind."""
    rows = []
    print(f"{'kind':10} {'SPIR-V':>8} {'pyaco ms':>10} {'us each':>8} {'RADV ms':>10} {'us each':>8} {'ratio':>6}")
    for kind in sorted(WORDS_PER_STATEMENT):
        for size in (size for size in CURVE if size <= options.largest):
            row = measure(big_spirv(size, kind), options.target[0], options.wave[-1], options)
            row.update(shader=f"{kind} {size}", kind=kind)
            rows.append(row)
            count = row["spirv_instructions"]
            cells = []
            for who in ("pyaco", "radv"):
                ms = row.get(who, {}).get("ms")
                cells.append(f"{ms:10.2f} {1000 * ms / count:8.2f}" if ms else f"{'-':>10} {'-':>8}")
            ratio = f"{row['ratio']:6.2f}" if "ratio" in row else f"{'-':>6}"
            print(f"{kind:10} {count:8} {' '.join(cells)} {ratio} {row.get('pyaco_error', '')}", flush=True)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="cases (all)")
    parser.add_argument("--target", action="append")
    parser.add_argument("--wave", type=int, action="append")
    parser.add_argument("--repetitions", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=1.0, help="most time for the repetitions of one measurement")
    parser.add_argument("--curve", action="store_true", help="cost over size of generated shaders")
    parser.add_argument("--largest", type=int, default=100_000, help="largest size of the curve")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    options.target = options.target or list(TARGETS)
    options.wave = options.wave or list(WAVES)
    if options.curve:
        rows = curve(options)
    else:
        rows = []
        for name in options.names or CASES:
            for target in options.target:
                for wave in options.wave:
                    row = measure(CASES[name].spirv.read_bytes(), target, wave, options, CASES[name])
                    rows.append({"shader": name, **row})
        print_table(rows)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
