"""Validators: is a program well formed, and did register allocation keep every value where its readers look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pyaco._core.aco import dominance, validate_ir
from pyaco.errors import PyacoError

if TYPE_CHECKING:
    from pyaco._core.ir.program import Program

__all__ = ["ValidationError", "is_seen_to_lack", "validate_liveness", "validate_program", "validate_registers", "validate_stage",
           "validate_structure"]  # fmt: skip

# Passes between which the program is in SSA form with dominators known.
_SSA = {"dominance", "lower_phis", "value_numbering", "optimize", "setup_reduce_temp", "insert_exec_mask",
        "rematerialize_constants", "live_variables", "spill"}  # fmt: skip

_BRANCHES = _SSA | {"instruction_selection", "register_allocation"}


# Values of the data sheet (_core/ir/program.pxd).
OPERAND_TEMP, NO_REGISTER = 1, 0xFFFF


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
    """Check what must hold after the pass named `after`."""
    validate_stage(program, after)
    if after == "register_allocation":
        validate_registers(program, after)


def validate_stage(program: Program, after: str) -> None:
    """Check the structure, as it must be after the pass named `after`."""
    validate_structure(program, after, ssa=after in _SSA, branches=after in _BRANCHES)


def validate_registers(program: Program, after: str) -> None:
    """Check the result of register allocation: every operand finds its own value."""
    from pyaco._core.aco import validate_ra

    _report(program, after, validate_ra.check(program))


def validate_liveness(program: Program, after: str) -> None:
    """Compare live variables as a pass left them with those found anew, which is what the program has from then on.

    Raises
    ------
    ValidationError
        Naming what differs first.
    """
    from pyaco._core.aco import live_variables

    kept = _liveness(program)
    live_variables.run(program)
    found = _liveness(program)
    for name in kept._fields:
        old, new = getattr(kept, name), getattr(found, name)
        if old != new:
            raise ValidationError(f"after {after}: {name} {_difference(old, new)}")


class _Liveness(NamedTuple):
    demand: list[tuple[int, int]]          # by row of the order
    operand_flags: list[int]
    definition_flags: list[int]
    live_in: list[list[int]]               # by block
    highest: tuple[int, int]


def _liveness(program: Program) -> _Liveness:
    from pyaco._core.aco import build, live_variables

    rows, order = program.instructions, program.order.instruction
    operands = [k for first, count in zip(rows.operand_first[order].tolist(), rows.operand_count[order].tolist(), strict=True)
                for k in range(first, first + count)]  # fmt: skip
    definitions = [k for first, count in zip(rows.definition_first[order].tolist(), rows.definition_count[order].tolist(), strict=True)
                   for k in range(first, first + count)]  # fmt: skip
    facts = build.summary(program)
    return _Liveness(
        list(zip(rows.demand_sgpr[order].tolist(), rows.demand_vgpr[order].tolist(), strict=True)), program.operands.flags[operands].tolist(),
        program.definitions.flags[definitions].tolist(), [live_variables.live_in(program, block) for block in range(len(program.blocks))],
        (facts["max_demand_sgpr"], facts["max_demand_vgpr"]),
    )  # fmt: skip


def _difference(old: Sequence[object], new: Sequence[object]) -> str:
    at = next(k for k in range(len(old)) if old[k] != new[k])
    return f"at {at} is {old[at]}, and should be {new[at]}"


def is_seen_to_lack(program: Program, property_name: str) -> bool:
    """Whether the program itself shows that a property of passes (``pyaco.pipelines.properties``) does not hold; False where it cannot show it.

    Parameters
    ----------
    program : Program
    property_name : str
        A name of ``ACO_PROPERTIES``.
    """
    from pyaco.isa import opcodes

    rows, order = program.instructions, program.order.instruction
    first, count = program.blocks.order_first, program.blocks.order_count
    alive = [int(row) for start, length in zip(first, count, strict=True) for row in order[start : start + length]]
    if property_name == "ssa":
        dominance.run(program)
        return bool(validate_ir.check(program, ssa=True, branches=False))
    if property_name == "registers":
        return any(_lacks_registers(program, row) for row in alive)
    names = opcodes.names()
    pseudo = {names[int(rows.opcode[row])] for row in alive if names[int(rows.opcode[row])].startswith("p_")}
    if property_name == "no phis":
        return not pseudo.isdisjoint(("p_phi", "p_linear_phi", "p_boolean_phi"))
    if property_name == "hardware":
        return bool(pseudo - {"p_barrier", "p_constaddr_getpc", "p_constaddr_addlo", "p_unit_test", "p_debug_info"})
    return False


def _lacks_registers(program: Program, row: int) -> bool:
    rows, operands, definitions = program.instructions, program.operands, program.definitions
    start, end = int(rows.operand_first[row]), int(rows.operand_first[row] + rows.operand_count[row])
    if any(operands.flags[k] & OPERAND_TEMP and operands.reg[k] == NO_REGISTER for k in range(start, end)):
        return True
    start, end = int(rows.definition_first[row]), int(rows.definition_first[row] + rows.definition_count[row])
    return any(definitions.reg[k] == NO_REGISTER for k in range(start, end))
