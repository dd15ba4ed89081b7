"""Validators: is a program well formed, and did register allocation keep every value where its readers look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyaco._core.aco import validate_ir
from pyaco.errors import PyacoError

if TYPE_CHECKING:
    from pyaco._core.ir.program import Program

__all__ = ["ValidationError", "validate_program", "validate_structure"]

# Passes between which the program is in SSA form with dominators known.
_SSA = {"dominance", "lower_phis", "value_numbering", "optimize", "setup_reduce_temp", "insert_exec_mask", "live_variables",
        "spill"}  # fmt: skip

_BRANCHES = _SSA | {"instruction_selection", "register_allocation"}


class ValidationError(PyacoError):
    """A pass left a program that is not well formed: a bug of the pass, not of its input."""


def _report(program: Program, after: str, findings: list[tuple[int, int, str]]) -> None:
    if not findings:
        return
    from pyaco.aco.text import format_instruction

    lines = [f"after {after}:"]
    for block, instruction, message in findings:
        lines.append(f"  BB{block}: {message}" + (f": {format_instruction(program, instruction).strip()}" if instruction else ""))
    raise ValidationError("\n".join(lines))


def validate_structure(program: Program, after: str = "reading", ssa: bool = False, branches: bool = True) -> None:
    """Check the control flow graph, operands, definitions and encodings.

    Parameters
    ----------
    program : Program
    after : str
        What ran before, for the message.
    ssa : bool
        Also check single definitions that dominate their uses.
    branches : bool
        Blocks with two successors must end with a branch; machine code may fall through instead.

    Raises
    ------
    ValidationError
        Naming blocks and instructions.
    """
    _report(program, after, validate_ir.check(program, ssa, branches))


def validate_program(program: Program, after: str) -> None:
    """Check what must hold behind the pass named `after`."""
    validate_structure(program, after, ssa=after in _SSA, branches=after in _BRANCHES)
    if after == "register_allocation":
        from pyaco._core.aco import validate_ra

        _report(program, after, validate_ra.check(program))
