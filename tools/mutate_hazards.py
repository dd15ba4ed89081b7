"""Which missing NOPs and waits for dependencies the check ``waits`` finds: those that ``insert_nops`` put into the test shaders go, one at a time.

    python tools/mutate_hazards.py [--target gfx900 ...] [--case NAME ...] [--verbose]

Code keeps its addresses, as in ``mutate_waits.py``: a NOP of several states gets one state less, one of a single state goes to the top of its
block, a wait for dependencies waits for nothing. The shader is dispatched with the inputs of its case. A mutant is

- caught: the check stops it;
- needless: it was never reached, or the rules of `judge_waits` (NOPs, and SGPRs that a vector instruction reads on GFX11) find nothing on the
  paths that ran;
- silent: the check finds nothing on those paths, and there is no second rule to ask (VGPRs on GFX11, all of GFX10.1): `insert_nops` looks at
  all paths;
- escaped: those rules find what the check does not. Exit status 1.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/shaders"), str(ROOT / "tests/oracle")]

from cases import CASES, Case  # noqa: E402
from judge import dispatched  # noqa: E402
from judge_waits import classify_nop, hazards_without  # noqa: E402
from mutate_waits import Code, Mutant, waves  # noqa: E402

import pyaco  # noqa: E402
from pyaco import isa  # noqa: E402
from pyaco.emu import EmulationError, MissingWaitError  # noqa: E402
from pyaco.isa import opcodes  # noqa: E402
from pyaco.isa.waits import counters  # noqa: E402

TARGETS = ("gfx900", "gfx1010", "gfx1100", "gfx1150")
REMOVED = ("s_nop", "v_nop", "s_waitcnt_depctr")
_TRACE = 1 << 22


class ShaderCode(Code):
    """The instructions of a compiled shader, in place of a launch's."""

    def __init__(self, shader: Any) -> None:
        data = shader.code[: len(shader.code) & ~3]
        self.image, self.target, self.names = np.frombuffer(data, np.uint32), shader.target, opcodes.names()
        self.level = isa.processors.processor(shader.target)[1]
        self.records = {int(record["offset"]): record for record in isa.decode(data, shader.target)}
        self.targets = self._branch_targets()


def with_words(shader: Any, mutant: Mutant) -> Any:
    """A copy of a shader with the words of a mutant."""
    changed = copy(shader)
    words = np.array(mutant.words, np.uint32).tobytes()
    changed.code = shader.code[: mutant.place] + words + shader.code[mutant.place + len(words) :]
    return changed


def mutate(case: Case, target: str) -> Iterator[tuple[Mutant, str, str]]:
    """Run every mutant of a case."""
    shader: Any = pyaco.compile(case.spirv, target, spec=dict(case.spec))
    code, inputs = ShaderCode(shader), case.inputs()
    places = [offset for offset in code.records if code.name(offset) in REMOVED]
    if not places:
        return
    trace = dispatched(shader, case, inputs, check="waits", trace=_TRACE)[1].trace
    reached = {int(pc) for pc in np.unique(trace["pc"])}
    runs = waves(trace)
    for offset in places:
        for mutant in code.mutants(offset):
            if offset not in reached:
                yield mutant, "needless", "never reached with these inputs"
                continue
            try:
                dispatched(with_words(shader, mutant), case, inputs, check="waits")
            except MissingWaitError as error:
                yield mutant, "caught", str(error.place.get("hazard") or "wait states")
            except EmulationError as error:
                yield mutant, "stopped", error.kind
            else:
                yield mutant, *_why_silent(code, runs, mutant)


def _why_silent(code: Code, runs: list[Any], mutant: Mutant) -> tuple[str, str]:
    if mutant.name == "s_waitcnt_depctr":
        without, whole = (hazards_without(code.records, code.names, code.level, runs, place) for place in (mutant.offset, None))
        if new := sorted(without - whole):
            return "escaped", f"used: {new[0]}"
        waited = counters("depctr", code.level)
        scalar = any(waited[field].get(int(code.image[mutant.offset // 4]) & 0xFFFF) == 0 for field in ("sa_sdst", "va_sdst", "va_vcc"))
        if code.level >= 110 and scalar:
            return "needless", "nothing that ran reads an SGPR too early"
        return "silent", "no hazard on the paths that ran"
    reason = classify_nop(code.records, code.names, code.level, mutant.offset)
    return ("needless", reason) if reason else ("escaped", f"{mutant.name} for no known reason")


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", nargs="+", default=TARGETS)
    parser.add_argument("--case", nargs="+", default=sorted(CASES))
    parser.add_argument("--verbose", action="store_true", help="a line for each mutant that is not caught")
    options = parser.parse_args()
    totals: Counter[tuple[str, str, str]] = Counter()
    for target in options.target:
        for name in options.case:
            for mutant, result, reason in mutate(CASES[name], target):
                totals[target, result, reason] += 1
                if result == "escaped" or (options.verbose and result in ("needless", "silent", "stopped")):
                    print(f"{name} {target} {mutant.offset:#x} {mutant.name}: {result}: {reason}", flush=True)
    for (target, result, reason), count in sorted(totals.items()):
        print(f"{count:6} {target} {result}: {reason}")
    return 1 if any(result == "escaped" for _, result, _ in totals) else 0


if __name__ == "__main__":
    sys.exit(main())
