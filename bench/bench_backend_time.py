"""Time of the backend, from instruction selection to machine code, over that of ACO inside RADV, pass by pass.

``python bench/bench_backend_time.py FOLDER --icd FILE`` draws entry points for compute of the modules below the folder and compiles each SPIR-V with
both. FILE is the manifest of a RADV 25.2 that is not stripped: ``tests/oracle/call_times.py`` counts the processor's ticks in the calls that its
`aco_compile_shader` makes, in creations of the pipeline on the null winsys with all caches off. Each side reads the NIR that its own passes made.
Ours is the sum of the passes over ACO IR; theirs is all of `aco_compile_shader`. Each figure is the least of some compilations, by the clock: other
work on the machine disturbs the longest.

Both clocks tick while another process runs; ratios are ours over theirs. `median`, `sum` and `geometric mean` are of whole entry points; by pass,
the sums over all entry points, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/oracle"), str(ROOT / "tests/shaders"), str(ROOT / "bench")]

from corpus_measure import PUSH_BYTES, peer, pipeline_layout  # noqa: E402
from peer_statistics import geometric_mean  # noqa: E402
from vulkan_peer import PeerError  # noqa: E402

import pyaco  # noqa: E402
from pyaco import spirv  # noqa: E402

LIBRARY = "libvulkan_radeon.so"
WHOLE = "aco_compile_shader"
#: Functions of ACO whose calls are timed, by mangled name (Mesa 25.2.4, ``aco_interface.cpp``), and the row that each is counted in.
CALLEES = {
    "14select_programE": "instruction_selection", "14dominator_treeE": "dominance", "3aco10lower_phisE": "lower_phis",
    "15value_numberingE": "value_numbering", "3aco8optimizeE": "optimize", "15optimize_postRAE": "optimize",
    "17setup_reduce_tempE": "setup_reduce_temp", "16insert_exec_maskE": "insert_exec_mask", "17live_var_analysisE": "live_variables",
    "3aco5spillE": "spill", "16schedule_programE": "schedule_program", "19register_allocationE": "register_allocation",
    "15ssa_eliminationE": "ssa_elimination", "14lower_branchesE": "ssa_elimination", "17lower_to_hw_instrE": "lower_to_hw_instr",
    "12schedule_ilpE": "schedule_ilp", "13schedule_vopdE": "schedule_vopd", "14insert_waitcntE": "insert_waitcnt",
    "11insert_NOPsE": "insert_nops", "17form_hard_clausesE": "form_hard_clauses", "16insert_delay_aluE": "insert_delay_alu",
    "17combine_delay_aluE": "insert_delay_alu", "12emit_programE": "assemble", "14insert_fp_modeE": "insert_fp_mode",
    "14lower_subdwordE": "lower_subdword", "10repair_ssaE": "repair_ssa", WHOLE: WHOLE,
}  # fmt: skip
#: Of a shader that takes long, the least of fewer compilations is that of the machine's other work.
LEAST = 6
CALLERS = ("aco_compile_shader", "aco_postprocess_shader", "radv_shader_nir_to_asm", "shader_compile")


def least(runs: list[dict[str, float]]) -> dict[str, float]:
    """The least of each figure over some runs."""
    names = {name for run in runs for name in run}
    return {name: min(run.get(name, 0.0) for run in runs) for name in names}


def measure(module: bytes, entry: str, target: str, icd: Path, repetitions: int, seconds: float) -> dict[str, Any] | None:
    """Milliseconds of both backends, whole and by pass; None where one of them does not compile the entry point."""
    try:
        facts = spirv.reflect(module, entry)
        first = pyaco.compile(module, target=target, entry=entry)
        push = min(-(-facts["push_constant_bytes"] // 4) * 4, PUSH_BYTES)
        calls = (LIBRARY, CALLERS, CALLEES)
        theirs = least(peer(target, icd).call_times(module, first.wave, {}, entry, calls, repetitions, seconds, pipeline_layout(facts), push, LEAST))
    except (pyaco.InputError, pyaco.UnsupportedError, PeerError):
        return None
    runs: list[dict[str, float]] = []
    limit = time.monotonic() + seconds
    while len(runs) < repetitions and (len(runs) < LEAST or time.monotonic() < limit):
        times = pyaco.compile(module, target=target, entry=entry, wave=first.wave).times_ms
        passes = {name.removeprefix("aco."): value for name, value in times["passes"].items() if name.startswith("aco.")}
        runs.append({WHOLE: times["aco"], **passes})
    return {"ours": least(runs), "theirs": theirs, "instructions": first.stats["instructions"], "wave": first.wave}


def draw(folder: Path, per_project: int, seed: int) -> list[tuple[Path, str]]:
    """Modules and entry points, at most so many of each project."""
    stream = random.Random(seed)
    found = []
    for project in sorted(path for path in folder.iterdir() if path.is_dir()):
        modules = sorted(project.rglob("*.spv"))
        for path in stream.sample(modules, min(per_project, len(modules))):
            try:
                found += [(path, name) for name, stage in spirv.entry_points(path.read_bytes()) if stage == "compute"][:1]
            except (pyaco.InputError, pyaco.UnsupportedError):
                continue
    return found


def report(rows: list[dict[str, Any]], target: str) -> None:
    """Print ratios of whole entry points, by size, and by pass."""
    ratios = [row["ours"][WHOLE] / row["theirs"][WHOLE] for row in rows]
    ours, theirs = ({name: math.fsum(row[side].get(name, 0.0) for row in rows) for name in _names(rows)} for side in ("ours", "theirs"))
    print(f"\n{target}: {len(rows)} entry points, median {statistics.median(ratios):.2f}, sum {ours[WHOLE] / theirs[WHOLE]:.2f}, "
          f"geometric mean {geometric_mean(ratios):.2f}, worst {max(ratios):.2f}; {ours[WHOLE]:.2f} ms over {theirs[WHOLE]:.2f} ms")  # fmt: skip
    for low, high in ((0, 50), (50, 150), (150, 500), (500, 10**9)):
        some = [ratio for ratio, row in zip(ratios, rows, strict=True) if low <= row["instructions"] < high]
        if some:
            print(f"  {low} instructions and more: {len(some)}, median {statistics.median(some):.2f}, geometric mean {geometric_mean(some):.2f}")
    print(f"  {'pass':24}{'ours ms':>10}{'ACO ms':>10}{'ratio':>8}{'median':>8}")
    for name in sorted(_names(rows) - {WHOLE}, key=lambda name: -ours[name] - theirs[name]):
        both = [row["ours"][name] / row["theirs"][name] for row in rows if row["ours"].get(name) and row["theirs"].get(name)]
        cells = f"{ours[name] / theirs[name]:8.2f}{statistics.median(both) if both else math.nan:8.2f}" if theirs[name] else f"{'-':>8}{'-':>8}"
        print(f"  {name:24}{ours[name]:10.3f}{theirs[name]:10.3f}{cells}")


def _names(rows: list[dict[str, Any]]) -> set[str]:
    return {name for row in rows for side in ("ours", "theirs") for name in row[side]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="modules, by project")
    parser.add_argument("--icd", type=Path, required=True, help="manifest of the RADV")
    parser.add_argument("--target", action="append", default=[], help="instead of gfx1030 and gfx1100")
    parser.add_argument("--per-project", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repetitions", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=1.0, help="no further repetition after so long")
    parser.add_argument("--json", type=Path, help="keep rows here")
    options = parser.parse_args()
    kept = []
    for target in options.target or ["gfx1030", "gfx1100"]:
        rows = []
        for path, entry in draw(options.folder, options.per_project, options.seed):
            row = measure(path.read_bytes(), entry, target, options.icd, options.repetitions, options.seconds)
            if row:
                rows.append({"path": str(path), "entry": entry, "target": target, **row})
        report(rows, target)
        kept += rows
    if options.json:
        options.json.write_text(json.dumps(kept))
    return 0


if __name__ == "__main__":
    sys.exit(main())
