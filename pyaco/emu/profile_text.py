"""A profile as tables to read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyaco.emu.profile_classes import VECTOR_CLASSES
from pyaco.notebook import folded, listing, table

if TYPE_CHECKING:
    from pyaco.emu.profile_counts import Counts, ProfileCounts

__all__ = ["profile_html", "profile_text"]

_SHOWN = 20                             # hottest lines, or instructions where no lines are known
_COLUMNS = ("executed", "lanes", "cycles", "stall", "memory", "coalesced", "conflicts")


def profile_text(profile: ProfileCounts) -> str:
    """Return the figures, the classes, and where the cycles go."""
    lines = [f"{name}: {value}" for name, value in _facts(profile).items()]
    lines += ["", *_aligned(("class", *_COLUMNS), [(kind, *_cells(profile, kind, counts)) for kind, counts in profile.classes.items()])]
    title, rows = _hottest(profile)
    lines += ["", *_aligned((title, *_COLUMNS), [(where, *_cells(profile, kind, counts)) for where, kind, counts in rows])]
    return "\n".join(lines)


def profile_html(profile: ProfileCounts) -> str:
    """Return the same for notebooks."""
    title, rows = _hottest(profile)
    name = f"profile of {profile.kernel}" if profile.kernel else "profile"
    return (
        table(name, _facts(profile))
        + listing("classes", ("class", *_COLUMNS), [(kind, *_cells(profile, kind, counts)) for kind, counts in profile.classes.items()])
        + listing("where the cycles go", (title, *_COLUMNS), [(where, *_cells(profile, kind, counts)) for where, kind, counts in rows])
        + folded(f"{len(profile.instructions)} instructions", "\n".join(_code(profile)))
    )


def _facts(profile: ProfileCounts) -> dict[str, str]:
    total = profile.total
    facts = {"kernel": profile.kernel} if profile.kernel else {}
    facts["waves"] = f"{profile.waves} of {profile.wave_size} lanes in {profile.workgroups} workgroups, {profile.target}"
    facts["wave instructions"] = f"{total.executions}"
    facts["lane utilization"] = f"{profile.lane_utilization:.1%}"
    facts["cycles of the model"] = (
        f"{profile.cycles / max(profile.waves, 1):.0f} of the average wave, {profile.longest_wave} of the longest; "
        f"{total.stall / max(total.cycles, 1):.1%} waiting"
    )
    facts["busy units"] = ", ".join(f"{name} {cycles / max(total.cycles, 1):.1%}" for name, cycles in profile.units.items())
    if total.requests:
        facts["memory"] = (
            f"{total.bytes} bytes ({total.distinct} distinct within an instruction) in {total.requests} requests, {total.lines} cache lines of "
            f"{profile.line_bytes} bytes, {_percent(total.coalescing(profile.line_bytes))} of them used"
        )
    if total.lds_requests:
        facts["LDS"] = (
            f"{total.lds_bytes} bytes in {total.lds_requests} requests, {total.lds_passes} passes over {profile.banks} banks, "
            f"{total.lds_conflicts} of them conflicts"
        )
    if profile.occupancy is not None:
        facts["occupancy"] = str(profile.occupancy)
    return facts


def _hottest(profile: ProfileCounts) -> tuple[str, list[tuple[str, str, Counts]]]:
    """Lines of source, or instructions, that take the most cycles, with the class of an instruction."""
    if profile.source_lines:
        return "line", [(f"{line.file}:{line.line}", "", line.counts) for line in profile.source_lines[:_SHOWN]]
    hot = sorted(profile.instructions, key=lambda one: -one.counts.cycles)[:_SHOWN]
    return "instruction", [(f"{one.pc:#06x} {one.text}", one.kind, one.counts) for one in hot]


def _cells(profile: ProfileCounts, kind: str, counts: Counts) -> tuple[str, ...]:
    cycles = max(profile.total.cycles, 1)
    return (
        str(counts.executions), f"{counts.lane_utilization(profile.wave_size):.1%}" if kind in VECTOR_CLASSES or not kind else "",
        f"{counts.cycles / cycles:.1%}", f"{counts.stall / cycles:.1%}", str(counts.bytes) if counts.requests else "",
        _percent(counts.coalescing(profile.line_bytes)), str(counts.lds_conflicts) if counts.lds_requests else "",
    )  # fmt: skip


def _code(profile: ProfileCounts) -> list[str]:
    rows = [(f"{one.pc:#06x} {one.text}", *_cells(profile, one.kind, one.counts)) for one in profile.instructions]
    return _aligned(("instruction", *_COLUMNS), rows)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _aligned(heading: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Columns of one width each, the first to the left."""
    table = (heading, *rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join((row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:]))).rstrip() for row in table]
