"""A profile's timeline in the Trace Event Format of Chrome's tracing and Perfetto: a JSON object with ``traceEvents``.

Source: "Trace Event Format" (Google, document 1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU): complete events (``ph`` X with ``ts`` and ``dur`` in
microseconds) and metadata events (``ph`` M) that name processes and threads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
from numpy.typing import NDArray

if TYPE_CHECKING:
    from pyaco.emu.profile_counts import ProfileCounts

__all__ = ["chrome_trace"]


def chrome_trace(profile: ProfileCounts) -> dict[str, Any]:
    """Return the events of a profile; workgroups are processes, waves threads, a microsecond is a cycle.

    Parameters
    ----------
    profile : ProfileCounts
        With the executions that its timeline holds.
    """
    spans = profile.spans
    places = _places(profile)
    events: list[dict[str, Any]] = []
    for group in numpy.unique(spans["workgroup"]).tolist():
        events.append({"ph": "M", "name": "process_name", "pid": group, "args": {"name": f"workgroup {group}"}})
    # Within a wave executions stand in order; waves of a workgroup take turns.
    order = numpy.lexsort((numpy.arange(len(spans)), spans["wave"], spans["workgroup"]))
    spans = spans[order]
    place = places[spans["row"]] if len(spans) else numpy.zeros(0, numpy.intp)
    tracks = numpy.stack([spans["workgroup"], spans["wave"]], axis=1) if len(spans) else numpy.zeros((0, 2), numpy.uint32)
    for group, wave in numpy.unique(tracks, axis=0).tolist():
        events.append({"ph": "M", "name": "thread_name", "pid": group, "tid": wave, "args": {"name": f"wave {wave}"}})
    events += _slices(profile, spans, place, tracks)
    return {
        "traceEvents": events, "displayTimeUnit": "ns",
        "otherData": {
            "unit": "a microsecond is a cycle of the model", "kernel": profile.kernel or "", "target": profile.target,
            "executions": len(spans), "executions_of_the_dispatch": profile.total.executions,
        },
    }  # fmt: skip


def _places(profile: ProfileCounts) -> NDArray[numpy.intp]:
    """A number for each row, the same for those of one line of source, or of one block where no lines are known."""
    rows = profile.rows
    if profile.source_lines:
        numbers: dict[tuple[str, int] | None, int] = {}
        return numpy.array([numbers.setdefault(one.source, len(numbers)) for one in profile.instructions], numpy.intp)
    # A block ends behind an instruction that was ever left for another place than the next, or where the next did not run as often.
    ends = (rows["taken"] > 0) | (rows["executions"] != numpy.append(rows["executions"][1:], 0))
    return numpy.concatenate([[0], numpy.cumsum(ends[:-1])]).astype(numpy.intp) if len(rows) else numpy.zeros(0, numpy.intp)


def _slices(profile: ProfileCounts, spans: NDArray[Any], place: NDArray[numpy.intp], tracks: NDArray[Any]) -> list[dict[str, Any]]:
    """Runs of executions of one place without a wait between them, and the waits."""
    if not len(spans):
        return []
    begins = numpy.ones(len(spans), bool)
    begins[1:] = (place[1:] != place[:-1]) | (tracks[1:] != tracks[:-1]).any(axis=1) | (spans["stall"][1:] > 0)
    starts = numpy.flatnonzero(begins)
    ends = numpy.append(starts[1:], len(spans)) - 1
    names = {}
    events: list[dict[str, Any]] = []
    for first, last in zip(starts.tolist(), ends.tolist(), strict=True):
        one = profile.instructions[int(spans["row"][first])]
        key = int(place[first])
        if key not in names:
            names[key] = f"{one.source[0].rpartition('/')[2]}:{one.source[1]}" if one.source else f"block at {one.pc:#x}"
        start, stall = int(spans["start"][first]), int(spans["stall"][first])
        where = {"pid": int(spans["workgroup"][first]), "tid": int(spans["wave"][first])}
        if stall:
            waited = {"pc": one.pc, "instruction": one.text}
            events.append({"ph": "X", "name": "stall", "cat": "stall", "ts": start - stall, "dur": stall, **where, "args": waited})
        end = int(spans["start"][last]) + int(spans["issue"][last])
        told = {"pc": one.pc, "first": one.text, "instructions": last - first + 1}
        events.append({"ph": "X", "name": names[key], "cat": one.kind, "ts": start, "dur": end - start, **where, "args": told})
    return events
