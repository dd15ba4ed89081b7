"""Programs as text with what is known of each instruction beside it: register demand, or cycles of the cycle model.

ACO prints the same for ``ACO_DEBUG=liveinfo`` and ``perfinfo`` (``aco_print_ir``, ``aco_statistics``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyaco._core.aco import build, live_variables, statistics
from pyaco.aco.text import Notes, annotated_text

if TYPE_CHECKING:
    from pyaco._core.ir.program import Program

__all__ = ["live_text", "performance_text"]


def live_text(program: Program) -> str:
    """Return a program whose liveness is current, with what is live at the start of blocks, and the demand at each instruction."""
    order = program.order.instruction.tolist()
    vgprs, sgprs = program.instructions.demand_vgpr.tolist(), program.instructions.demand_sgpr.tolist()
    of_blocks = list(zip(program.blocks.demand_vgpr.tolist(), program.blocks.demand_sgpr.tolist(), strict=True))

    def block(number: int) -> list[str]:
        live = "".join(f" %{temp}" for temp in live_variables.live_in(program, number))
        return [f"live in:{live}", f"demand: {of_blocks[number][0]} vgpr, {of_blocks[number][1]} sgpr"]

    def instruction(place: int) -> str:
        return f"({vgprs[order[place]]:3} vgpr, {sgprs[order[place]]:3} sgpr)   "

    return annotated_text(program, kills=True, notes=Notes(block, instruction))


def performance_text(program: Program) -> str:
    """Return a program that is ready for the assembler, with the cycles of each instruction, and what the estimates are made of.

    Cycles are counted from the start of the block. An instruction takes them until the next one may be issued, waiting for operands, counters and
    units included; its result can be read some cycles after it was issued.
    """
    issues, figures = statistics.timeline(program)
    starts = [0] * len(issues)
    of_blocks = []
    for first, count in zip(program.blocks.order_first.tolist(), program.blocks.order_count.tolist(), strict=True):
        now = 0
        for place in range(first, first + count):
            starts[place] = now
            now += issues[place][1]
        of_blocks.append(now)

    def block(number: int) -> list[str]:
        return [f"cycles: {of_blocks[number]}"]

    def instruction(place: int) -> str:
        waited, taken, latency = issues[place]
        return f"(at {starts[place]:5}: {taken:3} clk, {waited:3} waiting, result after {latency:3})   "

    busy = "".join(f"{unit}_usage: {cycles:f}\n" for unit, cycles in figures.pop("busy").items())
    rest = "".join(f"{name}: {value:f}\n" for name, value in figures.items())
    text = annotated_text(program, kills=False, notes=Notes(block, instruction))
    return f"{text}\nnum_waves: {build.summary(program)['num_waves']}\n{busy}{rest}"
