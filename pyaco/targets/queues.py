"""The queues of a chip's command processor, and which of them the Linux kernel gives to programs.

A chip has one graphics engine (ME), whose queue takes draws and dispatches: the kernel gives each process a queue in software and copies from
these in turn. Engines for compute (MEC) have pipes, called ACEs in AMD's documents, of which each takes turns among its queues. GFX6 has none: two
more queues of the graphics engine take dispatches there.

Sources: ``data/queues.txt`` names those of the counts; ``amdgpu_gfx.c`` (``amdgpu_gfx_compute_queue_acquire``) has the choice of queues.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from pyaco.arguments import checked
from pyaco.errors import UnsupportedError
from pyaco.targets.database import Die, table_rows

__all__ = ["ComputeQueue", "Queues", "queues"]

_MOST_EXPOSED = 8


class ComputeQueue(NamedTuple):
    """A queue for dispatches: engine, pipe of the engine, queue of the pipe, each from 0."""

    engine: int
    pipe: int
    queue: int


@dataclass(frozen=True)
class Queues:
    """The queues of a chip.

    Attributes
    ----------
    graphics : int
        Queues for draws that programs get.
    engines, pipes, queues_of_pipe : int
        Engines for compute, pipes of each, queues of a pipe; 0 on GFX6.
    exposed : tuple of ComputeQueue
        Those for dispatches that programs get, of the graphics engine on GFX6.
    """

    graphics: int
    engines: int
    pipes: int
    queues_of_pipe: int
    exposed: tuple[ComputeQueue, ...]


@cache
def _table() -> tuple[tuple[frozenset[str], range, tuple[int, int, int]], ...]:
    rows = []
    for who, *counts in table_rows("queues"):
        first, _, last = who.partition("-")
        levels = range(int(first), int(last or first) + 1) if first.isdigit() else range(0)
        engines, pipes, of_pipe = (int(count) for count in counts)
        rows.append((frozenset() if levels else frozenset(who.split()), levels, (engines, pipes, of_pipe)))
    return tuple(rows)


@checked
def queues(die: Die) -> Queues:
    """Return the queues of a chip.

    Raises
    ------
    UnsupportedError
        A chip before GCN, or one that the table does not have.
    """
    level = die.chip.level
    counts = next((counts for names, levels, counts in _table() if die.name in names or level in levels), None)
    if counts is None:
        raise UnsupportedError(f"queues of {die.name}")
    engines, pipes, of_pipe = counts
    if engines == 0:
        return Queues(1, 0, 0, 0, (ComputeQueue(0, 0, 1), ComputeQueue(0, 0, 2)))
    graphics = 0 if die.family.startswith("CDNA") else 1
    return Queues(graphics, engines, pipes, of_pipe, _exposed(die, level, engines, pipes, of_pipe))


def _exposed(die: Die, level: int, engines: int, pipes: int, of_pipe: int) -> tuple[ComputeQueue, ...]:
    """Queues of the first engine: one pipe after the other where they are spread over pipes, else one queue of a pipe after the other."""
    # From GFX11 on, half of an engine's queues are left to programs that make their own.
    count = min(_MOST_EXPOSED, pipes * of_pipe // 2 if level >= 110 else pipes * of_pipe)
    # Vega10's IP version is 9.0.1; on polaris11 spreading cost performance.
    spread = level >= 90 or (engines > 1 and die.name != "polaris11")
    return tuple(ComputeQueue(0, number % pipes, number // pipes) if spread else ComputeQueue(0, number // of_pipe, number % of_pipe)
                 for number in range(count))  # fmt: skip
