"""Whether a wait was needed on the path that ran, by rules that share nothing with the emulator's check but the decoder.

Each wave's instructions are followed with the operations that are in flight: a wait at a count leaves the youngest of a counter that returns
in order; one of a counter in which kinds mix (scalar loads, flat accesses) counts at zero only. Source: LLVM's "User Guide for AMDGPU
Backend" and SIInsertWaitcnts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pyaco.isa.waits import counters

__all__ = ["WaveRun", "classify", "classify_nop", "hazards_without"]

_VGPR = 256
_ALL = (1 << 64) - 1
_VECTOR = ("buffer_", "tbuffer_", "global_", "scratch_", "flat_", "image_")
_NOT_COUNTED = ("buffer_wb", "buffer_inv", "buffer_gl", "global_wb", "global_inv", "ds_nop")
_SCALAR = ("s_load", "s_buffer_load", "s_scratch_load", "s_sendmsg_rtn", "s_memtime", "s_memrealtime")
_SINGLE = {"s_waitcnt_vscnt": ("vs", 63), "s_wait_storecnt": ("vs", 63), "s_waitcnt_vmcnt": ("vm", 63), "s_wait_loadcnt": ("vm", 63),
           "s_waitcnt_lgkmcnt": ("lgkm", 63), "s_wait_dscnt": ("lgkm", 63), "s_wait_kmcnt": ("km", 31)}  # fmt: skip


class WaveRun(NamedTuple):
    """What a wave executed: offsets of instructions, and EXEC before each."""

    offsets: list[int]
    masks: list[int]


@dataclass
class _Operation:
    counter: dict[str, int]           # serial number by counter that has to fall
    mixed: bool                       # may finish in another order than others of its counter
    registers: frozenset[int]         # that it writes
    mask: int
    kind: str
    orphaned: bool = False            # the removed wait would have completed it
    passed: set[str] = field(default_factory=set)


def _registers(record: Any, which: str) -> frozenset[int]:
    found: set[int] = set()
    count = int(record["source_count" if which == "sources" else "destination_count"])
    sizes = record["source_bytes" if which == "sources" else "destination_bytes"]
    for slot in range(count):
        first, size = int(record[which][slot]) >> 2, int(sizes[slot]) or 8
        if first < 108 or _VGPR <= first < 3 * _VGPR:
            found.update(range(first, first + max(1, (size + 3) // 4)))
    return frozenset(found)


def _issued(name: str, record: Any, level: int) -> tuple[list[str], bool, str] | None:
    """Counters, whether it finishes in any order, and its kind."""
    returns = int(record["destination_count"]) > 0
    if name.startswith(_NOT_COUNTED):
        return None
    if name.startswith("ds_"):
        return ["lgkm"], False, "LDS"
    if name.startswith(_SCALAR):
        return ["km" if level >= 120 else "lgkm"], True, "scalar load"
    if name.startswith(_VECTOR):
        separate = level >= 100 and not returns and "_lds" not in name
        kind = "load" if returns else "store"
        return (["vs" if separate else "vm"] + (["lgkm"] if name.startswith("flat_") else [])), name.startswith("flat_"), kind
    return None


def _waits(name: str, immediate: int, level: int) -> dict[str, int]:
    if name == "s_waitcnt":
        fields = counters("waitcnt", level)
        counts = {short: fields[long].get(immediate) for short, long in (("vm", "vmcnt"), ("lgkm", "lgkmcnt"))}
        return {short: count for short, count in counts.items() if count < fields[f"{short}cnt"].limit}
    if name in ("s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt"):
        return {"vm" if "load" in name else "vs": immediate >> 8 & 63, "lgkm": immediate & 63}
    if name in _SINGLE:
        counter, mask = _SINGLE[name]
        return {counter: immediate & mask}
    return {counter: 0 for counter in ("vm", "vs", "lgkm", "km")} if name == "s_wait_idle" else {}


class _Wave:
    """Operations in flight of one wave."""

    def __init__(self) -> None:
        self.flying: list[_Operation] = []
        self.serial: Counter[str] = Counter()

    def done(self, counts: Mapping[str, int]) -> list[_Operation]:
        """The operations that a wait completes, and of which nothing else is open."""
        found = []
        for operation in self.flying:
            open_ = {
                counter for counter, serial in operation.counter.items()
                if counter not in counts or (counts[counter] and (operation.mixed or counts[counter] > self._younger(operation, counter, serial)))
            }  # fmt: skip
            if not open_:
                found.append(operation)
        return found

    def _younger(self, operation: _Operation, counter: str, serial: int) -> int:
        return sum(other.counter.get(counter, 0) > serial for other in self.flying if not other.mixed and other.kind in _ORDERED[operation.kind])

    def land(self, counts: Mapping[str, int]) -> None:
        """Let a wait happen."""
        gone = set(map(id, self.done(counts)))
        for operation in self.flying:
            for counter in list(operation.counter):
                if counts.get(counter) == 0 and len(operation.counter) > 1:
                    del operation.counter[counter]
        self.flying = [operation for operation in self.flying if id(operation) not in gone]


_ORDERED = {"LDS": ("LDS",), "load": ("load", "store"), "store": ("load", "store"), "scalar load": ()}


def classify(records: Mapping[int, Any], names: Sequence[str], level: int, runs: Sequence[WaveRun], place: int, weak: int) -> str:
    """Say why a wait was not needed, or that it was (``used``).

    Parameters
    ----------
    records : mapping
        Decoded instructions by offset.
    names : sequence of str
        Of opcodes.
    level : int
        Hardware level.
    runs : sequence of WaveRun
    place : int
        Offset of the wait.
    weak : int
        Its word in the mutant.
    """
    reasons: Counter[str] = Counter()
    touched = {offset: (_registers(record, "sources"), _registers(record, "destinations")) for offset, record in records.items()
               if int(record["opcode"]) < len(names)}  # fmt: skip
    for run in runs:
        found = _classify_wave(records, names, level, run, place, weak, touched)
        if found.startswith("used"):
            return found
        reasons[found] += 1
    for reason in ("memory order", "another wait", "end", "nothing in flight"):
        if matching := [found for found in reasons if found.startswith(reason)]:
            return matching[0]
    return "nothing in flight"


def _classify_wave(
    records: Mapping[int, Any], names: Sequence[str], level: int, run: WaveRun, place: int, weak: int,
    touched: Mapping[int, tuple[frozenset[int], frozenset[int]]],
) -> str:  # fmt: skip
    wave = _Wave()
    covered: set[str] = set()
    for offset, mask in zip(run.offsets, run.masks, strict=True):
        record = records[offset]
        name = names[int(record["opcode"])]
        sources, results = touched[offset]
        for operation in wave.flying:
            if operation.orphaned and (used := _clash(operation, name, sources, results, mask, level)):
                return f"used: {used} by {name} at {offset:#x}"
            if name.startswith(("s_barrier", "s_endpgm")) or "_atomic_" in name:
                operation.passed.add("the end" if name.startswith("s_endpgm") else "a barrier" if name.startswith("s_b") else "an atomic")
        counts = _waits(name, int(record["immediate"]), level)
        if offset == place:
            weaker = _waits(name, weak & 0xFFFF, level)
            removed = {counter: count for counter, count in counts.items() if weaker.get(counter, 64) > count}
            before = {id(operation) for operation in wave.done(weaker)}
            for operation in wave.done(counts):
                operation.orphaned |= id(operation) not in before
            counts = {counter: count for counter, count in weaker.items() if counter not in removed}
        if counts:
            gone = [operation for operation in wave.done(counts) if operation.orphaned]
            covered |= {_why(operation, "another wait comes first") for operation in gone}
            wave.land(counts)
        if (issued := _issued(name, record, level)) is not None:
            serials = {}
            for counter in issued[0]:
                wave.serial[counter] += 1
                serials[counter] = wave.serial[counter]
            wave.flying.append(_Operation(serials, issued[1], results, mask if not name.startswith("s_") else _ALL, issued[2]))
    covered |= {_why(operation, "end of the wave: nothing used it") for operation in wave.flying if operation.orphaned}
    for reason in ("memory order", "another wait", "end"):
        if matching := sorted(found for found in covered if found.startswith(reason)):
            return matching[0]
    return "nothing in flight"


def _clash(operation: _Operation, name: str, sources: frozenset[int], results: frozenset[int], mask: int, level: int) -> str:
    read = operation.registers & sources
    written = operation.registers & results
    if (operation.kind == "load" and name.startswith(_VECTOR)) or (operation.kind == "LDS" and name.startswith("ds_")):
        written = frozenset()         # in order
    vector = name.startswith("v_readlane") or bool(mask & operation.mask)
    for number in sorted(read | written):
        if number < _VGPR or vector or (level >= 110 and number in written):
            return f"register {number}"
    return ""


def _why(operation: _Operation, otherwise: str) -> str:
    crossed = sorted(operation.passed - {"the end"})
    return f"memory order: {operation.kind} across {crossed[0]}" if crossed else otherwise


_MASK_READERS = ("v_cndmask", "v_div_fmas", "v_addc", "v_add_co_ci", "v_subb", "v_sub_co_ci", "v_subrev_co_ci", "v_dual_cndmask")
_VCC = (106, 107)


def hazards_without(records: Mapping[int, Any], names: Sequence[str], level: int, runs: Sequence[WaveRun], place: int | None) -> set[str]:
    """Say which SGPRs are read too early where a wait for the ALUs at `place` is left out, if any.

    The rule is Mesa's (`aco_insert_NOPs.cpp` of 2026, VALUMaskWriteHazard of GFX11 and VALUReadSGPRHazard of GFX12): an SGPR that a vector
    instruction read (GFX11: as a lane mask), that the scalar or vector ALU then wrote, and that is then read before the writer is waited for.
    On GFX11 a vector instruction that reads any SGPR, VCC among them, resolves earlier reads of lane masks, and so does, in LLVM up to 21, one that
    reads a literal; LLVM 22 has given that up and waits all the same.
    """
    fields = counters("depctr", level)
    found: set[str] = set()
    for run in runs:
        read: set[int] = set()
        by_scalar: dict[int, int] = {}
        by_vector: set[int] = set()
        scalars = 0
        for offset in run.offsets:
            record = records[offset]
            name = names[int(record["opcode"])]
            if name == "s_waitcnt_depctr" and offset != place:
                open_ = {field: counter.get(int(record["immediate"]) & 0xFFFF) for field, counter in fields.items()}
                if open_["sa_sdst"] == 0:
                    by_scalar.clear()
                by_vector = {number for number in by_vector if open_["va_vdst"] and open_["va_vcc" if number in _VCC else "va_sdst"]}
                continue
            vector = name.startswith("v_")
            if name.startswith(_SCALAR):                    # what it loads is waited for with a counter
                by_vector -= _registers(record, "destinations")
                by_scalar = {number: time for number, time in by_scalar.items() if number not in _registers(record, "destinations")}
            if not vector and (not name.startswith("s_") or name.startswith((*_SCALAR, "s_waitcnt", "s_wait_", "s_nop", "s_delay", "s_clause"))):
                continue
            sources, results = ({number for number in _registers(record, which) if number < 108} for which in ("sources", "destinations"))
            if vector and name.startswith(_MASK_READERS) and int(record["source_count"]) < 3:
                sources |= set(_VCC)
            for number in sources:
                recent = scalars - by_scalar.get(number, -99) < (99 if level < 120 else 11 if vector else 10)
                if (number in by_scalar and recent) or (vector and number in by_vector):
                    found.add(f"s{number} by {name} at {offset:#x}")
            if vector and level < 120 and (sources or record["has_literal"]):
                read = set()
            scalars += not vector
            if not vector:                                  # a later write is one of its own: what was read before may be resolved by now
                by_scalar = {number: time for number, time in by_scalar.items() if number not in results}
                by_scalar.update({number: scalars for number in results & read})
            else:
                by_vector = by_vector - results | results & read
            if vector and level >= 120:
                read |= {number ^ half for number in sources for half in (0, 1)}
            elif vector and name.startswith(_MASK_READERS):
                mask = int(record["sources"][int(record["source_count"]) - 1]) >> 2
                read |= {mask, mask + 1} if mask < 108 else set(_VCC)
    return found


def _rewritten(records: Mapping[int, Any], names: Sequence[str], before: Sequence[int], reader: int) -> bool:
    """Whether the reader's SGPRs come from the scalar ALU, after the vector ALU wrote one of them."""
    by_vector: set[int] = set()
    rewritten: set[int] = set()
    for offset in before:
        results = _registers(records[offset], "destinations")
        vector = names[int(records[offset]["opcode"])].startswith("v_")
        rewritten = rewritten - results if vector else rewritten | (results & by_vector)
        by_vector = by_vector | results if vector else by_vector - results
    sources = {number for number in _registers(records[reader], "sources") if number < 108}
    return bool(sources & rewritten) and not sources & by_vector


def classify_nop(records: Mapping[int, Any], names: Sequence[str], level: int, place: int) -> str:
    """Say why a NOP was not needed where LLVM is known to be careful; an empty string: no reason is known."""
    offsets = sorted(records)
    index = offsets.index(place)
    before, behind = ([names[int(records[offset]["opcode"])] for offset in part if int(records[offset]["opcode"]) < len(names)]
                      for part in (offsets[max(0, index - 6) : index], offsets[index + 1 : index + 2]))  # fmt: skip
    if not before or not behind:
        return ""
    if 90 <= level < 100 and before[-1].startswith(_VECTOR) and behind[0].startswith(_VECTOR):
        return "clause that a page fault may replay (XNACK)"
    if 90 <= level < 100 and _rewritten(records, names, offsets[max(0, index - 4) : index], offsets[index + 1]):
        return "SGPR of the vector ALU that the scalar ALU has rewritten since"
    if 94 <= level < 100 and any(name.startswith("v_pk_") for name in before):
        return "packed operation, which LLVM takes for one that writes a high half (OP_SEL_1 and DST_OP_SEL are one bit)"
    if 94 <= level < 100 and behind[0].startswith("v_writelane") and any(name.startswith("v_writelane") for name in before[-2:]):
        return "spill of several SGPRs, of which LLVM takes the first v_writelane for a vector write of them all"
    if level >= 100 and "s_nop" in (before[-1], behind[0]):
        return "alignment of a loop"
    return ""
