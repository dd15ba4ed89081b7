"""Which missing waits the check ``waits`` finds: each wait and each NOP of recorded kernels is removed, one at a time, and the kernel runs again.

    python tools/mutate_waits.py DIR ... [--verbose] [--json FILE]         # recordings of tools/launches.py

Code keeps its addresses: a wait gets counts that wait for nothing, a NOP of several states one state less, and one of a single state goes
to the beginning of its block, so that what it kept apart comes a state closer. A mutant is

- caught: the check stops it;
- needless: nothing that ran needed what was removed (`judge_waits` follows each wave's operations by rules of its own; why is counted);
- a NOP that stays silent: what LLVM's hazard recognizer says of it is for `tests/oracle/llvm_hazards.py`;
- escaped: a register is used that no other wait covers, and the check said nothing. Exit status 1.

What the run does not reach is counted apart, and so are kernels that have a report as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from judge_waits import WaveRun, classify, classify_nop, hazards_without
from launches import Launch, recordings

from pyaco import isa
from pyaco.emu import EmulationError, MissingWaitError
from pyaco.isa import opcodes
from pyaco.isa.waits import counters

_S_NOP = 0xBF800000
_TRACE = 1 << 22
#: Immediates of waits that are not fields of s_waitcnt or s_waitcnt_depctr, with which they wait for nothing.
WEAKEST = {
    "s_waitcnt_vscnt": 63, "s_waitcnt_vmcnt": 63, "s_waitcnt_expcnt": 7, "s_waitcnt_lgkmcnt": 63, "s_wait_loadcnt": 63, "s_wait_storecnt": 63,
    "s_wait_dscnt": 63, "s_wait_kmcnt": 31, "s_wait_expcnt": 7, "s_wait_loadcnt_dscnt": 0x3F3F, "s_wait_storecnt_dscnt": 0x3F3F,
    "s_waitcnt_depctr": 0xFFFF,
}  # fmt: skip
#: Generations whose waves of a workgroup may not share a first-level cache; compilers turn that off unless asked.
WGP_MODE: tuple[str, ...] = ()
#: What nothing is moved over: it ends a block, or depends on where it stands.
_FIXED = ("s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_call", "s_getpc", "s_clause", "s_endpgm", "s_barrier", "s_delay", "s_sendmsg", "s_nop")


@dataclass(frozen=True)
class Mutant:
    """A change of one wait.

    Attributes
    ----------
    offset : int
        Of the instruction in the image.
    name : str
        Of the instruction.
    what : str
        ``whole`` or the counter that is weakened.
    place : int
        Where `words` go.
    words : tuple of int
    """

    offset: int
    name: str
    what: str
    place: int
    words: tuple[int, ...]


class Code:
    """The instructions of a code object by their offset in its image."""

    def __init__(self, launch: Launch) -> None:
        self.image = np.frombuffer(launch.code.image[: len(launch.code.image) & ~3], np.uint32)
        self.target = launch.code.target
        self.level = isa.processors.processor(self.target)[1]
        self.records: dict[int, Any] = {}
        for start, data in launch.code.text():
            for record in isa.decode(data[: len(data) & ~3], self.target):
                self.records[start + int(record["offset"])] = record
        self.names = opcodes.names()
        self.targets = self._branch_targets()

    def name(self, offset: int) -> str:
        """Name of an instruction."""
        number = int(self.records[offset]["opcode"])
        return self.names[number] if number < len(self.names) else ""

    def _branch_targets(self) -> set[int]:
        found = set()
        for offset, record in self.records.items():
            if self.name(offset).startswith(("s_branch", "s_cbranch")):
                distance = int(record["immediate"]) & 0xFFFF
                found.add(offset + 4 + 4 * (distance - (distance >> 15 << 16)))
        return found

    def mutants(self, offset: int) -> Iterator[Mutant]:
        """What can be removed of the instruction at an offset; nothing of one that is no wait."""
        name, word = self.name(offset), int(self.image[offset // 4])
        if name == "s_nop":
            yield from self._shorter(offset, word)
        elif name in ("v_nop", "s_wait_idle"):
            yield Mutant(offset, name, "whole", offset, (_S_NOP,))
        elif name == "s_waitcnt":
            fields = counters("waitcnt", self.level)
            waited = [field for field, counter in fields.items() if counter.get(word & 0xFFFF) < counter.limit]
            for chosen in [waited] if len(waited) < 2 else [waited, *([field] for field in waited)]:
                immediate = word & 0xFFFF
                for field in chosen:
                    immediate = fields[field].put(immediate, fields[field].limit)
                if chosen:
                    what = "whole" if len(chosen) == len(waited) else chosen[0]
                    yield Mutant(offset, name, what, offset, (word & 0xFFFF0000 | immediate,))
        elif name in WEAKEST:
            yield Mutant(offset, name, "whole", offset, (word & 0xFFFF0000 | WEAKEST[name],))

    def _shorter(self, offset: int, word: int) -> Iterator[Mutant]:
        if word & 15:
            yield Mutant(offset, "s_nop", "whole", offset, (word - 1,))
            return
        first = offset
        starts = set(self.records)
        while first not in self.targets:
            before = next((first - 4 * size for size in range(1, 7) if self._ends(first - 4 * size, first, starts)), None)
            if before is None or self.name(before).startswith(_FIXED):
                break
            first = before
        if first != offset:
            moved = [int(number) for number in self.image[first // 4 : offset // 4]]
            yield Mutant(offset, "s_nop", "whole", first, (word, *moved))

    def _ends(self, start: int, end: int, starts: set[int]) -> bool:
        return start in starts and start + 4 * int(self.records[start]["dwords"]) == end


@dataclass
class Outcome:
    """What became of the mutants of one launch."""

    launch: str
    results: list[tuple[Mutant, str, str]]
    unreached: int = 0
    refused: str = ""


def waves(trace: Any) -> list[WaveRun]:
    """What each wave executed, as offsets in the image."""
    key = trace["workgroup"].astype(np.int64) << 16 | trace["wave"]
    order = np.argsort(key, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(key[order])) + 1)
    return [WaveRun([int(pc) for pc in trace["pc"][part]], [int(mask) for mask in trace["exec"][part]]) for part in parts]


def _family(error: MissingWaitError) -> str:
    if error.place.get("wait_states"):
        return "wait states"
    return str(error.place.get("hazard") or ("counters" if error.place["register"][0] in "svam" else "order between waves"))


def mutate(path: Path) -> Outcome:
    """Run every mutant of a recording."""
    launch = Launch.read(path)
    code = Code(launch)
    placed = launch.place("waits", _TRACE)
    outcome = Outcome(path.stem, [])
    try:
        trace = placed.run().trace
    except EmulationError as error:
        outcome.refused = str(error)
        return outcome
    assert trace is not None
    reached = {int(pc) for pc in np.unique(trace["pc"])}
    runs: list[WaveRun] = []
    kernel = launch.code.kernels[launch.kernel]
    for offset in sorted(code.records):
        if offset not in reached:
            outcome.unreached += kernel.address <= offset < kernel.address + kernel.size and any(True for _ in code.mutants(offset))
            continue
        for mutant in code.mutants(offset):
            changed = launch.place("waits")
            changed.patch(mutant.place, mutant.words)
            try:
                changed.run()
            except MissingWaitError as error:
                outcome.results.append((mutant, "caught", _family(error)))
                continue
            except EmulationError as error:
                outcome.results.append((mutant, "stopped", error.kind))
                continue
            runs = runs or waves(trace)
            outcome.results.append((mutant, *_why_silent(launch, code, runs, mutant)))
    return outcome


def _why_silent(launch: Launch, code: Code, runs: list[WaveRun], mutant: Mutant) -> tuple[str, str]:
    """Whether a mutant that the check is silent about is needless, and why."""
    if mutant.name == "s_waitcnt_depctr":
        without, whole = (hazards_without(code.records, code.names, code.level, runs, place) for place in (mutant.offset, None))
        if new := sorted(without - whole):
            return "escaped", f"used: {new[0]}"
        return "needless", "wait for the ALUs: nothing that ran reads an SGPR too early"
    if mutant.name in ("s_nop", "v_nop"):
        reason = classify_nop(code.records, code.names, code.level, mutant.offset)
        return ("needless" if reason else "escaped"), reason or f"{mutant.name} for no known reason"
    reason = classify(code.records, code.names, code.level, runs, mutant.offset, mutant.words[0])
    if reason.endswith("across a barrier"):
        if not _orders_waves(launch, code, runs, mutant.offset):
            return "needless", f"{reason} that orders nothing between waves"
        if not reason.startswith("memory order: LDS") and launch.code.target not in WGP_MODE:
            return "needless", f"{reason}: the waves of a workgroup share a cache that is in order"
        return "escaped", reason
    return ("escaped" if reason.startswith(("used", "memory order: LDS")) else "needless"), reason


def _orders_waves(launch: Launch, code: Code, runs: list[WaveRun], offset: int) -> bool:
    """Whether accesses race without the barriers that follow a wait. In wave order, so races do not change what they compute."""
    barriers: set[int] = set()
    for run in runs:
        waiting = False
        for place in run.offsets:
            name = code.name(place)
            if waiting and name.startswith("s_barrier"):
                barriers.add(place)
                waiting = name == "s_barrier_signal"
            waiting |= place == offset
    placed = launch.place("races")
    for place in barriers:
        placed.patch(place, [_S_NOP])
    try:
        placed.run()
    except EmulationError:
        return True
    return False


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--verbose", action="store_true", help="a line for each mutant that is not caught")
    parser.add_argument("--json", type=Path, help="write every mutant's result to this file")
    options = parser.parse_args()
    totals: Counter[tuple[str, str]] = Counter()
    rows: list[dict[str, Any]] = []
    kernels = unreached = 0
    for path in recordings(options.folders):
        outcome = mutate(path)
        if outcome.refused:
            print(f"{outcome.launch}: not clean: {outcome.refused}")
            continue
        kernels += 1
        unreached += outcome.unreached
        for mutant, result, reason in outcome.results:
            totals[result, reason if result != "caught" else ""] += 1
            rows.append({"launch": outcome.launch, "offset": mutant.offset, "name": mutant.name, "what": mutant.what, "result": result,
                         "reason": reason})  # fmt: skip
            if result != "caught" and (options.verbose or result == "escaped"):
                print(f"{outcome.launch} {mutant.offset:#x} {mutant.name} ({mutant.what}): {result}: {reason}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows))
    print(f"{kernels} kernels, {sum(totals.values())} mutants, {unreached} waits not reached")
    for (result, reason), count in sorted(totals.items()):
        print(f"  {count:6} {result}{': ' if reason else ''}{reason}")
    return 1 if any(result == "escaped" for result, _ in totals) else 0


if __name__ == "__main__":
    sys.exit(main())
