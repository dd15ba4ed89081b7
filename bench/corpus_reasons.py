"""Why code of ours is more than a tenth worse than RADV's: ``corpus_reasons.txt`` has a reason for each such shader that was looked at.

A line is `pattern | statistics | reason`. The pattern (``fnmatch``) is of the module's path below the corpus, or of that with a space and the entry
point; statistics are those that may be worse for this reason. The report names what has no reason, and reasons that explain nothing any more.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]

REASONS = Path(__file__).with_suffix(".txt")
#: Further ones beside the RADV of Debian 12.
REASONS_OF_DEBIAN = REASONS.with_name("corpus_reasons_22.3.6.txt")
STATISTICS = ("Instrs", "Latency", "InvThroughput")
#: Quotients above this one need a reason.
LIMIT = 1.10


@dataclass(frozen=True)
class Reason:
    """A line of the file."""

    pattern: str
    statistics: frozenset[str]
    text: str

    def explains(self, name: str, entry: str, statistic: str) -> bool:
        """Whether it is about this statistic of an entry point."""
        return statistic in self.statistics and any(fnmatch.fnmatchcase(each, self.pattern) for each in (name, f"{name} {entry}"))


#: Of `excesses` itself, without a line in a file.
HINTS = Reason("*", frozenset({"Instrs"}), "by counts: s_delay_alu and s_clause, of which this version of RADV writes none, or fewer")


def _hints_alone(row: Row, peer: str) -> bool:
    """Whether instructions are more than the limit only by hints to the hardware."""
    ours, theirs = (sum(row[who]["code"].get(name, 0) for name in ("s_delay_alu", "s_clause")) for who in ("pyaco", peer))
    return ours > theirs and row["pyaco"]["Instrs"] - (ours - theirs) <= LIMIT * row[peer]["Instrs"]


@dataclass(frozen=True)
class Excess:
    """An entry point that is worse than the limit by a statistic, and why, if that is known."""

    name: str
    entry: str
    statistic: str
    quotient: float
    reason: Reason | None


def read_reasons(path: Path = REASONS) -> list[Reason]:
    """The reasons of a file."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = [part.strip() for part in line.split("|")]
        if len(parts) != 3 or not all(parts) or not set(parts[1].split()) <= set(STATISTICS):
            raise ValueError(f"{path.name}:{number}: not `pattern | statistics | reason`")
        found.append(Reason(parts[0], frozenset(parts[1].split()), parts[2]))
    return found


def excesses(rows: Iterable[Row], folder: Path, peer: str, reasons: Sequence[Reason], hints: bool = False) -> list[Excess]:
    """What is above the limit, the worst first; `hints` beyond the peer's are a reason beside versions that did not give them yet."""
    found = []
    for row in rows:
        name = str(Path(row["path"]).relative_to(folder))
        for statistic in STATISTICS:
            quotient = row["pyaco"][statistic] / max(row[peer][statistic], 1e-9)
            if quotient > LIMIT:
                reason = next((each for each in reasons if each.explains(name, row["entry"], statistic)), None)
                if reason is None and hints and statistic == "Instrs" and _hints_alone(row, peer):
                    reason = HINTS
                found.append(Excess(name, row["entry"], statistic, quotient, reason))
    return sorted(found, key=lambda each: -each.quotient)


def idle(found: Iterable[Excess], rows: Iterable[Row], folder: Path, reasons: Sequence[Reason]) -> list[Reason]:
    """Reasons for entry points among these rows of which none is above the limit for it."""
    used = {each.reason for each in found}
    names = [(str(Path(row["path"]).relative_to(folder)), row["entry"]) for row in rows]
    return [reason for reason in reasons if reason not in used
            and any(reason.explains(name, entry, statistic) for name, entry in names for statistic in reason.statistics)]  # fmt: skip


def report(rows: Sequence[Row], folder: Path, peer: str, reasons: Sequence[Reason], hints: bool = False) -> list[Excess]:
    """Print what is above the limit, with its reason."""
    found = excesses(rows, folder, peer, reasons, hints)
    without = sum(each.reason is None for each in found)
    print(f"\nAbove {LIMIT:.2f} of {peer}'s: {len(found)} figures of {len({(each.name, each.entry) for each in found})} entry points; "
          f"{without} without a reason")  # fmt: skip
    for each in found:
        print(f"{each.quotient:6.2f} {each.statistic:14} {each.name} {each.entry}: {each.reason.text if each.reason else '*** no reason'}")
    return found


def report_idle(found: Sequence[Excess], rows: Sequence[Row], folder: Path, reasons: Sequence[Reason]) -> None:
    """Print the reasons that explain nothing on any target."""
    for reason in idle(found, rows, folder, reasons):
        print(f"a reason that explains nothing: {reason.pattern} ({' '.join(sorted(reason.statistics))})")
