"""The report of ``bench_corpus``: fossil-db's form, RADV before and pyaco after, then what the differences come from."""

from __future__ import annotations

import collections
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import corpus_reasons
from corpus_counts import DELAYS, by_class, by_kind, excess, shares
from peer_statistics import DEBIAN, STATISTICS, Statistic, geometric_mean

Row = dict[str, Any]

#: Classes of size: the first bound that the peer's number of instructions stays under.
SIZES = (("under 50", 50), ("50 to 149", 150), ("150 to 499", 500), ("500 and more", 1 << 62))
#: Statistics whose quotients have a geometric mean worth printing: they are never 0.
MEANS = ("Instrs", "CodeSize", "VGPRs", "Latency", "InvThroughput")


def report(rows: Sequence[Row], folder: Path, peer: str, worst_by: str, worst: int) -> None:
    """Print everything, a part for each target."""
    reasons = corpus_reasons.read_reasons()
    if peer == "radv":
        reasons += corpus_reasons.read_reasons(corpus_reasons.REASONS_OF_DEBIAN)
        rows = [as_debian_counts(row) for row in rows]
    found: list[corpus_reasons.Excess] = []
    compared: list[Row] = []
    for target in sorted({row["target"] for row in rows}):
        of_target = [row for row in rows if row["target"] == target]
        both = [row for row in of_target if "pyaco" in row and peer in row]
        print(f"\n======== {target}: {len(both)} of {len(of_target)} entry points by both, {peer} -> pyaco")
        refusals(of_target, peer)
        if not both:
            continue
        for text in totals(both, peer):
            print(text)
        projects(both, folder, peer)
        compile_times(both, peer)
        worst_of(both, folder, peer, worst_by, worst)
        found += corpus_reasons.report(both, folder, peer, reasons, hints=peer == "radv")
        compared += both
        causes(both, peer)
        names(both, peer)
    corpus_reasons.report_idle(found, compared, folder, reasons)


def as_debian_counts(row: Row) -> Row:
    """A row whose latency and inverse throughput are counted on our side as RADV 22.3.6 counts them, if that was measured."""
    ours = row.get("pyaco", {})
    return {**row, "pyaco": {**ours, **ours[DEBIAN]}} if DEBIAN in ours else row


# ------------------------------------------------------------------------------------------------------------------ fossil-db
def pairs(rows: Iterable[Row], statistic: Statistic, peer: str) -> list[tuple[float, float]]:
    """The peer's value and ours, where both have one."""
    return [(row[peer][statistic.name], row["pyaco"][statistic.name]) for row in rows
            if statistic.name in row[peer] and statistic.name in row["pyaco"]]  # fmt: skip


def totals(rows: Sequence[Row], peer: str) -> list[str]:
    """The lines of a fossil-db report: sums, what gains and losses are of them, how many are better and worse, geometric means."""
    measured = {each.name: pairs(rows, each, peer) for each in STATISTICS}
    affected = sum(any(row[peer].get(each.name) != row["pyaco"].get(each.name) for each in STATISTICS) for row in rows)
    lines = [f"Totals from {affected} ({100 * affected / len(rows):.2f}% of {len(rows)}) affected shaders:"]
    for each in STATISTICS:
        if not any(a or b for a, b in measured[each.name]):
            continue
        lines.append(_line(each, measured[each.name]))
    delays = sum(row["pyaco"]["code"].get("s_delay_alu", 0) - row[peer]["code"].get("s_delay_alu", 0) for row in rows)
    if delays:
        without = geometric_mean((_without_delays(row, "pyaco")) / _without_delays(row, peer) for row in rows)
        lines.append(f"  of Instrs, {delays:+d} are s_delay_alu; geometric mean without them {without:.3f}")
    return lines


def _without_delays(row: Row, who: str) -> int:
    count: int = row[who]["Instrs"] - row[who]["code"].get("s_delay_alu", 0)
    return max(count, 1)


def _line(statistic: Statistic, values: Sequence[tuple[float, float]]) -> str:
    before, after = (math.fsum(value[side] for value in values) for side in (0, 1))
    less = math.fsum(min(b - a, 0) for a, b in values)
    more = math.fsum(max(b - a, 0) for a, b in values)
    better = sum((b > a) if statistic.more_is_better else (b < a) for a, b in values)
    worse = sum((b < a) if statistic.more_is_better else (b > a) for a, b in values)
    split = f"; split: {100 * less / before:+.2f}%, {100 * more / before:+.2f}%" if before and less and more else ""
    change = f"{100 * (after - before) / before:+.2f}%" if before else "from none"
    mean = ""
    if statistic.name in MEANS:
        mean = f"; geometric mean {geometric_mean(b / a for a, b in values if a > 0 and b > 0):.3f}"
    equal = len(values) - better - worse
    return f"{statistic.name}: {before:.0f} -> {after:.0f} ({change}){split}; better {better}, worse {worse}, equal {equal}{mean}"


def project_of(row: Row, folder: Path) -> str:
    """The subfolder that a module is in."""
    parts = Path(row["path"]).relative_to(folder).parts
    return parts[0] if len(parts) > 1 else "."


def grouped(rows: Iterable[Row], key: Callable[[Row], str]) -> dict[str, list[Row]]:
    """Rows by a key."""
    groups: dict[str, list[Row]] = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def projects(rows: Sequence[Row], folder: Path, peer: str) -> None:
    """Geometric means for each project."""
    print(f"\n{'geometric means, pyaco over RADV':32} {'entries':>8}" + "".join(f"{name:>15}" for name in (*MEANS, "compile time")))
    groups = grouped(rows, lambda row: project_of(row, folder))
    for name, group in [*sorted(groups.items()), ("all", list(rows))]:
        cells = []
        for statistic in (each for each in STATISTICS if each.name in MEANS):
            cells.append(geometric_mean(b / a for a, b in pairs(group, statistic, peer) if a > 0 and b > 0))
        cells.append(geometric_mean(_time_ratio(row, peer) for row in group))
        print(f"{name:32} {len(group):8}" + "".join(f"{cell:15.3f}" for cell in cells))


def _time_ratio(row: Row, peer: str) -> float:
    ratio: float = row["pyaco"]["ms"] / row[peer]["ms"]
    return ratio


def compile_times(rows: Sequence[Row], peer: str) -> None:
    """Compile times by the size of the peer's code."""
    print(f"\n{'instructions':14} {'entries':>8} {'RADV ms':>10} {'pyaco ms':>10} {'sum':>7} {'geo.mean':>9} {'median':>7} {'worst':>7} {'slower':>7}"
          "   SPIR-V, NIR, ACO of pyaco's")  # fmt: skip
    low = 0
    for name, bound in SIZES:
        group = [row for row in rows if low <= row[peer]["Instrs"] < bound]
        low = bound
        if group:
            _times_of(name, group, peer)
    _times_of("all", rows, peer)


def _times_of(name: str, group: Sequence[Row], peer: str) -> None:
    theirs, ours = (math.fsum(row[who]["ms"] for row in group) for who in (peer, "pyaco"))
    ratios = sorted(_time_ratio(row, peer) for row in group)
    rooms = [math.fsum(row["pyaco"]["rooms"][room] for row in group) for room in ("spirv", "nir", "aco")]
    shares_of = ", ".join(f"{100 * each / max(math.fsum(rooms), 1e-9):.0f} %" for each in rooms)
    print(f"{name:14} {len(group):8} {theirs:10.1f} {ours:10.1f} {ours / theirs:7.2f} {geometric_mean(ratios):9.2f} {statistics.median(ratios):7.2f} "
          f"{ratios[-1]:7.2f} {sum(ratio > 1 for ratio in ratios):7}   {shares_of}")  # fmt: skip


def refusals(rows: Sequence[Row], peer: str) -> None:
    """Who refuses how many, by reason."""
    for key, who in (("pyaco_error", "pyaco refuses"), (f"{peer}_error", "RADV refuses"), ("error", "given up")):
        reasons = collections.Counter(row[key] for row in rows if key in row)
        for reason, count in reasons.most_common(8):
            print(f"  {who} {count}: {reason[:120]}")


# ------------------------------------------------------------------------------------------------------------------ what differs
def worst_of(rows: Sequence[Row], folder: Path, peer: str, by: str, count: int) -> None:
    """The entry points whose quotient is greatest, and what they have more of."""
    def quotient(row: Row) -> float:
        value: float = row["pyaco"][by] / max(row[peer][by], 1e-9)
        return value

    print(f"\nThe {count} worst by {by}, with what the machine code and the last NIR have more and fewer of:")
    for row in sorted(rows, key=quotient, reverse=True)[:count]:
        ours, theirs = row["pyaco"], row[peer]
        print(f"{quotient(row):6.2f} {theirs[by]:>8} -> {ours[by]:<8} {Path(row['path']).relative_to(folder)} {row['entry']} wave{row['wave']}")
        parts = sorted(shares(row, peer).items(), key=lambda item: -abs(item[1]))
        print("       passes: " + "; ".join(f"{value:+d} {name}" for name, value in parts[:3]))
        print("       code: " + _words(excess(by_class(ours["code"]), by_class(theirs["code"])), 6)
              + " | " + _words(excess(ours["code"], theirs["code"]), 7))  # fmt: skip
        print("       NIR: " + _words(excess(_without_free(ours), _without_free(theirs)), 7))


def _without_free(side: Row) -> dict[str, int]:
    return {name: count for name, count in side["nir"].items() if not name.startswith("free:")}


def _words(counts: dict[str, int], most: int) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-abs(item[1]), item[0]))
    return ", ".join(f"{count:+d} {name.replace('alu:', '')}" for name, count in ordered[:most]) or "the same"


def causes(rows: Sequence[Row], peer: str) -> None:
    """Causes by what they add to and take from the whole: instructions, and the latency of the shaders where they are the greatest part."""
    added: collections.Counter[str] = collections.Counter()
    taken: collections.Counter[str] = collections.Counter()
    shaders: collections.Counter[str] = collections.Counter()
    latency: dict[str, float] = collections.defaultdict(float)
    for row in rows:
        parts = shares(row, peer)
        for name, value in parts.items():
            (added if value > 0 else taken)[name] += value
        if parts:
            first = max(parts, key=lambda name: abs(parts[name]) if name != DELAYS else 0)
            shaders[first] += 1
            latency[first] += row["pyaco"]["Latency"] - row[peer]["Latency"]
    whole = math.fsum(row[peer]["Instrs"] for row in rows)
    print(f"\n{'causes, by instructions added':86} {'added':>9} {'taken':>9} {'net, of all':>12} {'first in':>9} {'their latency':>14}")
    for name in sorted({*added, *taken}, key=lambda name: -added[name]):
        net = added[name] + taken[name]
        print(f"{name:86} {added[name]:9} {taken[name]:9} {100 * net / whole:+11.2f}% {shaders[name]:9} {latency[name]:+14.0f}")


def names(rows: Sequence[Row], peer: str) -> None:
    """What all shaders together have more and fewer of, leaving out those whose loops are unrolled on one side only."""
    same = [row for row in rows if row["pyaco"]["nir"].get("control:loop", 0) == row[peer]["nir"].get("control:loop", 0)]
    print(f"\nAll {len(same)} entry points with as many loops on both sides together:")
    for key, kinds, title in (("code", by_class, "machine code"), ("nir", by_kind, "last NIR")):
        ours: collections.Counter[str] = collections.Counter()
        theirs: collections.Counter[str] = collections.Counter()
        for row in same:
            ours.update(row["pyaco"][key])
            theirs.update(row[peer][key])
        print(f"  {title}, by kind: {_words(excess(kinds(ours), kinds(theirs)), 12)}")
        print(f"  {title}, more: {_words({name: value for name, value in excess(ours, theirs).items() if value > 0}, 24)}")
        print(f"  {title}, fewer: {_words({name: value for name, value in excess(ours, theirs).items() if value < 0}, 24)}")
