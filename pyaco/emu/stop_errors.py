"""Why a dispatch stopped, from what an engine says to the error that a user gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy

from pyaco.emu.errors import BarrierError, BudgetError, EmulationError, MemoryFault, MissingWaitError, RaceError, UninitializedError
from pyaco.emu.origins import describe, place_of
from pyaco.errors import PyacoError, UnsupportedError
from pyaco.isa import names, opcodes

if TYPE_CHECKING:
    from pyaco._core.emu.memory import AddressSpace

__all__ = ["instruction_text", "stop_error"]

_LDS = 1280                             # `register_limit` of the inspecting engine
_SCC = 128                              # where a condition is at fault
_USES = {"address": "is an address", "branch": "decides a branch", "exec": "becomes EXEC", "store": "is stored"}
# The instruction that waits for a counter, without its count.
_WAITS = {
    "vmcnt": "s_waitcnt vmcnt", "lgkmcnt": "s_waitcnt lgkmcnt", "expcnt": "s_waitcnt expcnt", "vscnt": "s_waitcnt_vscnt",
    "loadcnt": "s_wait_loadcnt", "dscnt": "s_wait_dscnt", "storecnt": "s_wait_storecnt", "kmcnt": "s_wait_kmcnt",
    "samplecnt": "s_wait_samplecnt", "asynccnt": "s_wait_asynccnt", "xcnt": "s_wait_xcnt", "tensorcnt": "s_wait_tensorcnt",
}  # fmt: skip
# What to put between the two instructions of a hazard.
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
    "VALUMaskWrite": "s_waitcnt_depctr sa_sdst(0) (after a vector instruction va_sdst(0), for vcc va_vcc(0))",
    "DeallocVGPRs": "s_nop 0",
    "WMMA": "v_nop",
    "VALUReadSGPR": "s_wait_alu depctr_sa_sdst(0), depctr_va_sdst(0) or, for vcc, depctr_va_vcc(0)",
    "TransCoexecution": "v_nop, or another vector instruction,",
    "WMMACoexecution": "v_nop, or another vector instruction, of which there are too few,",
    "AsyncBarrierArrive": "s_wait_alu depctr_vm_vsrc(0)",
    "ScratchBaseForward": "s_wait_alu depctr_sa_sdst(0) depctr_va_sdst(0)",
    "GetRegIdle": "s_wait_alu 0",
}  # fmt: skip


def stop_error(result: Mapping[str, Any], target: str, space: AddressSpace, code_base: int, code_bytes: int) -> Exception:
    """Return the error for what an engine stopped at; it names the place.

    Parameters
    ----------
    result : mapping
        What ``Engine.run`` returned, or ``InspectingEngine.advance``.
    target : str
        A gfx name.
    space : AddressSpace
        The device's memory.
    code_base, code_bytes : int
        Where the code lies; a pc within it is told as an offset.
    """
    pc = result["pc"]
    inside = code_base <= pc < code_base + code_bytes
    place = {key: result[key] for key in ("workgroup", "wave")}
    place["pc"] = pc - code_base if inside else pc
    name = place["instruction"] = instruction_text(result, target)
    where = f"workgroup {result['workgroup']}, wave {result['wave']}, pc {place['pc']:#x}"
    words = " ".join(f"{word:08x}" for word in result["words"])
    stop = result["stop"]
    if stop == "memory fault":
        place |= {key: result[key] for key in ("lane", "address", "bytes", "store")}
        kind = "store" if result["store"] else "load"
        hint = describe(space, result["address"], result["bytes"])
        hint = f": {hint}" if hint else ""
        if allocation := place_of(space, result["address"]):
            place["allocation"] = allocation
        return MemoryFault(
            f"{name}: {kind} of {result['bytes']} bytes at {result['address']:#x} outside memory "
            f"({where}, lane {result['lane']}){hint}",
            place,
        )
    if stop in ("LDS bounds", "misaligned"):
        place |= {key: result[key] for key in ("lane", "address", "bytes", "store")}
        if stop == "misaligned":
            return MemoryFault(f"{name}: an atomic of {result['bytes']} bytes at {result['address']:#x}, which is not aligned to them "
                               f"({where}, lane {result['lane']})", place)  # fmt: skip
        kind = "store" if result["store"] else "load"
        return MemoryFault(f"{name}: {kind} of {result['bytes']} bytes at {result['address']:#x} of LDS, of which the workgroup has "
                           f"{result['finding']['lds_bytes']} bytes ({where}, lane {result['lane']})", place)  # fmt: skip
    if stop == "undefined":
        return _undefined_error(result, name, where, place, space, code_base)
    if stop == "left barrier":
        place["ended"] = result["lane"]
        return BarrierError(f"{name}: wave {result['lane']} of the workgroup has ended without reaching the barrier ({where})", place)
    if stop == "unsupported":
        return UnsupportedError(f"the emulator does not have this form of {name} ({where}: {words})")
    if stop == "descriptor":
        if not isinstance(result["problem"], (PyacoError, OverflowError, MemoryError)):
            raise result["problem"]                         # a bug, whatever the words
        kind_of = UnsupportedError if isinstance(result["problem"], UnsupportedError) else EmulationError
        return kind_of(f"{name}: {result['problem']} ({where})", *(() if kind_of is UnsupportedError else (place,)))
    if stop == "fetch fault" or (stop == "illegal instruction" and not inside):
        return EmulationError(f"the pc left the code ({where})", place)
    if stop == "illegal instruction":
        return EmulationError(f"{words.split(' ')[0]} is not an instruction of {target} ({where})", place)
    if stop == "budget":
        return BudgetError(f"{result['instructions']} instructions executed without an end ({where}: {name})", place)
    if stop == "time":
        return BudgetError(f"the time is over after {result['instructions']} instructions without an end ({where}: {name})", place)
    if stop in ("missing wait", "race"):
        return _finding_error(result, name, where, place, code_base, target)
    if stop == "deadlock":
        return _deadlock(result, name, where, place, code_base)
    if stop == "residents":
        return UnsupportedError(f"more waves wait for those of other workgroups than are kept at once ({where}: {name})")
    return EmulationError(f"{stop}: {name} ({where})", place)


def _undefined_error(
    result: Mapping[str, Any], name: str, where: str, place: dict[str, Any], space: AddressSpace, entry: int
) -> UninitializedError:
    """A value that nobody wrote: which register holds it, and where it was loaded from."""
    finding = result["finding"]
    place |= {"use": finding["use"], "lane": finding["lane"]}
    loaded = ""
    if finding["pc"]:
        there = describe(space, finding["address"], 4) if finding["space"] == "memory" else f"{finding['space']} {finding['address']:#x}"
        if finding["space"] == "memory":
            place["allocation"] = place_of(space, finding["address"])
        place |= {"address": finding["address"], "space": finding["space"]}
        loaded = f", which nobody wrote: {there}"
    if finding["use"] == "atomic":
        return UninitializedError(f"{name} changes memory{loaded} ({where}, lane {finding['lane']})", place)
    register = place["register"] = "scc" if finding["register"] == _SCC else _register(finding["register"])
    if finding["pc"]:
        opcode, pc = opcodes.names()[finding["opcode"]], finding["pc"] - entry
        place["earlier"] = {"pc": pc, "opcode": opcode}
        loaded = f" ({opcode} at pc {pc:#x} loaded it from {there})"
    use = _USES[finding["use"]]
    return UninitializedError(f"{name}: {register} holds what nobody wrote{loaded}, and {use} ({where}, lane {finding['lane']})", place)


def _deadlock(result: Mapping[str, Any], name: str, where: str, place: dict[str, object], entry: int) -> EmulationError:
    """Waves that wait for ever, the first few of them by name."""
    waiting = [{"workgroup": group, "wave": wave, "pc": pc - entry} for group, wave, pc in result["waiting"]]
    others = "; ".join(f"workgroup {wave['workgroup']}, wave {wave['wave']} at pc {wave['pc']:#x}" for wave in waiting[1:8])
    more = f" and {len(waiting) - 8} more" if len(waiting) > 8 else ""
    return EmulationError(f"deadlock: {name} ({where})" + (f"; so wait {others}{more}" if others else ""), place | {"waiting": waiting})


def instruction_text(result: Mapping[str, Any], target: str) -> str:
    """Return the instruction at which an engine stopped, in the assembler's syntax where it is one."""
    from pyaco import isa

    if result["opcode"] >= len(opcodes.names()):
        return "?"
    text: str = isa.disassemble(numpy.array(result["words"], numpy.uint32).tobytes(), target)
    lines = [line for line in text.splitlines() if line and not line.endswith(":")]
    line = " ".join(lines[0].split("//")[0].split(";")[0].split()) if lines else ""
    return opcodes.names()[result["opcode"]] if not line or line.startswith(".long") else line


def _register(number: int, target: str = "") -> str:
    special = {names.registers(120)[name] & 0xFFFF: name for name in ("vcc_lo", "vcc_hi", "m0", "exec_lo", "exec_hi")}
    if number == _LDS:
        return "lds"
    if number > _LDS:
        return f"hwreg({number - _LDS - 1})"
    if number >= 256:
        return f"a{number - 512}" if number >= 512 and target.startswith("gfx9") else f"v{number - 256}"
    return special.get(number, f"s{number}")


def _finding_error(
    result: Mapping[str, Any], instruction: str, where: str, place: dict[str, object], entry: int, target: str
) -> EmulationError:
    """What the inspecting engine found, as an error."""
    finding = result["finding"]
    pc = finding["pc"] - entry
    other = opcodes.names()[finding["opcode"]]
    waits = " and ".join(_WAITS[counter] for counter in finding["counters"])
    if result["stop"] == "missing wait":
        name = _register(finding["register"], target)
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
