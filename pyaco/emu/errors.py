"""What can go wrong while machine code runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyaco.errors import PyacoError
from pyaco.isa import opcodes

__all__ = ["BudgetError", "EmulationError", "MemoryFault", "MissingWaitError", "RaceError"]

_LDS = 768
# how a wait for a counter is written, by the name of the counter
_WAITS = {
    "vmcnt": "s_waitcnt vmcnt", "lgkmcnt": "s_waitcnt lgkmcnt", "expcnt": "s_waitcnt expcnt", "vscnt": "s_waitcnt_vscnt",
    "loadcnt": "s_wait_loadcnt", "dscnt": "s_wait_dscnt", "storecnt": "s_wait_storecnt", "kmcnt": "s_wait_kmcnt",
}  # fmt: skip


# what keeps the two instructions of a hazard apart
_REMEDIES = {
    "VMEMtoScalarWrite": "s_waitcnt_depctr vm_vsrc(0), or a vector instruction,",
    "SMEMtoVectorWrite": "a scalar instruction such as s_mov_b32 null, 0",
    "VcmpxExecWAR": "s_waitcnt_depctr sa_sdst(0)",
    "LdsBranchVmemWAR": "s_waitcnt_vscnt null, 0x0 behind the branch",
    "NSAtoVMEM": "s_nop 0",
    "NSAClause": "an end of the clause before it",
    "Offset3F": "s_nop 0, which makes the offset another,",
    "FPAtomicToDenormMode": "s_nop 2, or a wait,",
    "VcmpxPermlane": "a vector instruction",
    "LdsDirectVALU": "wait_vdst of fewer",
    "LdsDirectVMEM": "s_waitcnt_depctr vm_vsrc(0) (GFX12: wait_vsrc:0)",
    "VALUTransUse": "s_waitcnt_depctr va_vdst(0)",
    "VALUPartialForwarding": "s_waitcnt_depctr va_vdst(0)",
    "VALUMaskWrite": "s_waitcnt_depctr sa_sdst(0)",
    "WMMA": "v_nop",
    "VALUReadSGPR": "s_wait_alu depctr_sa_sdst(0), depctr_va_sdst(0) or, for vcc, depctr_va_vcc(0)",
}  # fmt: skip


class EmulationError(PyacoError):
    """A dispatch stopped before its end.

    Attributes
    ----------
    place : dict
        ``workgroup``, ``wave``, ``pc`` (byte offset in the code where the pc lies in it), and for memory faults ``lane``,
        ``address``, ``bytes``, ``store``.
    """

    def __init__(self, message: str, place: dict[str, object]) -> None:
        super().__init__(message)
        self.place = place


class MemoryFault(EmulationError):
    """An access outside every allocation of the device."""


class BudgetError(EmulationError):
    """The dispatch used up its budget of instructions or of time: an endless loop, or a budget that is too small."""


class MissingWaitError(EmulationError):
    """A use of data that a real machine could not have yet.

    Attributes
    ----------
    place : dict
        As for `EmulationError`; ``counters`` (names of the counters that have to fall first), ``wait_states`` (how many are missing, where
        the chip needs those), ``hazard`` (its name, where it is one of GFX10 and later that no counter and no number tells, else None),
        ``register`` (such as ``v3``; ``lds`` or ``memory`` where another wave needs what is not waited for), and
        ``earlier``: ``pc`` and ``opcode`` of the operation in flight.
    """


class RaceError(EmulationError):
    """Two waves reach the same bytes, one of them writes, and nothing orders them.

    Attributes
    ----------
    place : dict
        As for `EmulationError`; ``lane``, ``address``, ``bytes``, ``space`` (``memory``, ``lds`` or ``gds``), ``store``, and ``earlier``:
        ``workgroup``, ``wave``, ``pc``, ``opcode``, ``store`` of the other access.
    """


def _register(number: int) -> str:
    special = {106: "vcc_lo", 107: "vcc_hi", 124: "m0", 126: "exec_lo", 127: "exec_hi"}
    if number == _LDS:
        return "lds"
    if number > _LDS:
        return f"hwreg({number - _LDS - 1})"
    if number >= 256:
        return f"v{number - 256}" if number < 512 else f"a{number - 512}"
    return special.get(number, f"s{number}")


def finding_error(
    result: Mapping[str, Any], instruction: str, where: str, place: dict[str, object], entry: int
) -> EmulationError:
    """What the inspecting engine found, as an error."""
    finding = result["finding"]
    pc = finding["pc"] - entry
    other = opcodes.names()[finding["opcode"]]
    waits = " and ".join(_WAITS[counter] for counter in finding["counters"])
    if result["stop"] == "missing wait":
        name = _register(finding["register"])
        verb = "writes" if finding["write"] else "reads"
        place |= {"counters": finding["counters"], "wait_states": finding["wait_states"], "hazard": finding["hazard"], "register": name,
                  "earlier": {"pc": pc, "opcode": other}}  # fmt: skip
        if finding["hazard"]:
            what = f"{verb} {name} after" if finding["register"] < _LDS else "after"
            return MissingWaitError(
                f"{instruction} {what} {other} at pc {pc:#x}: {_REMEDIES[finding['hazard']]} is missing ({finding['hazard']}; {where})", place
            )
        if finding["wait_states"]:
            return MissingWaitError(
                f"{instruction} {verb} {name} too soon after {other} at pc {pc:#x}: s_nop {finding['wait_states'] - 1} is missing ({where})", place
            )
        return MissingWaitError(
            f"{instruction} {verb} {name}, which {other} at pc {pc:#x} may not have finished with: {waits} is missing ({where})", place
        )
    earlier = {"workgroup": finding["workgroup"], "wave": finding["wave"], "pc": pc, "opcode": other, "store": finding["earlier_write"]}
    space = finding["space"]
    place |= {key: finding[key] for key in ("lane", "address", "bytes", "space")} | {"store": finding["write"], "earlier": earlier}
    here, before = ("writes" if write else "reads" for write in (finding["write"], finding["earlier_write"]))
    there = f"{space} {finding['address']:#x}"
    who = f"{other} at pc {pc:#x} of workgroup {finding['workgroup']}, wave {finding['wave']}"
    if finding["counters"]:
        place |= {"counters": finding["counters"], "register": space}
        return MissingWaitError(
            f"{instruction} reaches {there}, with which {who} may not be done although a barrier or an atomic lies between: {waits} is "
            f"missing there ({where}, lane {finding['lane']})", place
        )  # fmt: skip
    message = f"race at {there}: {instruction} {here} and {who} {before} it, and nothing orders them"
    return RaceError(f"{message} ({where}, lane {finding['lane']})", place)
