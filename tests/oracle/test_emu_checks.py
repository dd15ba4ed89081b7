"""``check_waits`` and ``check_races`` on every shader of the project: silent on our code, and each wait that matters is missed.

A wait is replaced by s_nop, or weakened by one. The run must stop with `MissingWaitError`, unless the wait cannot have had an effect: the
model below, which knows nothing of registers, bounds each counter from above by the trace alone. What is left, a few in a hundred, is
spare on the paths that ran: the compiler waits for several paths at once, for lanes that the later use does not have, and at barriers
behind which nobody looks at the wave's last accesses.
"""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cases import CASES, Case
from judge import dispatched

import pyaco
from pyaco import emu, isa
from pyaco.isa import opcodes

TARGETS = (("gfx900", 64), ("gfx1010", 64), ("gfx1030", 32), ("gfx1100", 64), ("gfx1150", 32), ("gfx1200", 32))
#: A plain load of a counter that atomics change: shaders/atomics.comp begins its compare-and-swap loop with one.
RACY = {"atomics"}
# some with LDS, atomics, scratch, spills, branches; all of them where PYACO_EXHAUSTIVE asks for it
MUTATED = ("matmul_f32", "scan_subgroups", "scratch_array", "divergent_switch", "histogram", "descriptor_arrays", "transpose", "culling")


def compiled(case: Case, target: str, wave: int) -> Any:
    return pyaco.compile(case.spirv, target=target, wave=wave, spec=dict(case.spec))


@pytest.mark.slow
@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_no_false_alarm(target: str, wave: int) -> None:
    for name, case in CASES.items():
        shader, inputs = compiled(case, target, wave), case.inputs()
        watched, report = dispatched(shader, case, inputs, check_waits=True, check_races=name not in RACY, profile=True)
        plain, reference = dispatched(shader, case, inputs)
        assert report.opcodes == reference.opcodes and report.lane_units == reference.lane_units, name
        assert all(watched[key].tobytes() == plain[key].tobytes() for key in plain), name


def test_racy_shader() -> None:
    case = CASES["atomics"]
    with pytest.raises(emu.RaceError, match="cmpswap"):
        dispatched(compiled(case, "gfx1100", 32), case, case.inputs(), check_races=True, report_same_value=True)
    dispatched(compiled(case, "gfx1100", 32), case, case.inputs(), check_races=True)


# ------------------------------------------------------------------------------------------------------------- mutations
ONE = {
    "s_waitcnt_vscnt": "vs", "s_waitcnt_vmcnt": "vm", "s_waitcnt_lgkmcnt": "lgkm", "s_waitcnt_expcnt": "exp", "s_wait_loadcnt": "vm",
    "s_wait_dscnt": "lgkm", "s_wait_storecnt": "vs", "s_wait_kmcnt": "km", "s_wait_expcnt": "exp",
}  # fmt: skip


def shifts(name: str, level: int) -> dict[str, tuple[int, int]]:
    """Counter to first bit and mask of its field in the immediate of a wait (the low part of GFX9's split field)."""
    if name == "s_waitcnt":
        return {"vm": (10, 63), "lgkm": (4, 63), "exp": (0, 7)} if level >= 110 else {
            "vm": (0, 15), "lgkm": (8, 63 if level >= 100 else 15), "exp": (4, 7)}  # fmt: skip
    if name in ONE:
        return {ONE[name]: (0, 63)}
    return {"s_wait_loadcnt_dscnt": {"vm": (8, 63), "lgkm": (0, 63)}, "s_wait_storecnt_dscnt": {"vs": (8, 63), "lgkm": (0, 63)}}.get(name, {})


def fields(name: str, immediate: int, level: int) -> dict[str, int]:
    found = {counter: immediate >> first & mask for counter, (first, mask) in shifts(name, level).items()}
    if name == "s_waitcnt" and level < 110:
        found["vm"] |= immediate >> 10 & 0x30
    return found


def counted(name: str, has_destination: bool, level: int) -> list[str]:
    """The counters that an instruction raises."""
    if name.startswith(("s_load", "s_buffer_load", "s_store", "s_buffer_store", "s_atomic", "s_memtime", "s_memrealtime", "s_sendmsg_rtn")):
        return ["km" if level >= 120 else "lgkm"]
    if name.startswith("ds_"):
        return ["lgkm"]
    if name.startswith(("buffer_", "tbuffer_", "global_", "scratch_", "flat_")):
        vector = "vs" if not has_destination and level >= 100 else "vm"
        return [vector, "lgkm"] if name.startswith("flat_") else [vector]
    return []


class Program:
    """Instructions of a shader by pc."""

    def __init__(self, shader: Any, target: str) -> None:
        self.shader, self.level = shader, pyaco.targets.chip(target).level
        names, rows = opcodes.names(), isa.decode(shader.code, target)
        starts = np.cumsum([0, *(4 * rows["dwords"].astype(int))])[:-1].tolist()
        self.name = {pc: names[row["opcode"]] if row["opcode"] < len(names) else "?" for pc, row in zip(starts, rows, strict=True)}
        self.row = dict(zip(starts, rows, strict=True))
        self.waits = [pc for pc in starts if shifts(self.name[pc], self.level)]

    def wait(self, pc: int) -> dict[str, int]:
        return fields(self.name[pc], int(self.row[pc]["immediate"]), self.level)

    def effective(self, trace: Any) -> dict[int, dict[str, int]]:
        """Waits that may have had an effect, and by counter the most that may have been outstanding where they stand."""
        raises = {pc: counted(name, self.row[pc]["destination_count"] > 0, self.level) for pc, name in self.name.items()}
        waits = {pc: self.wait(pc) for pc in self.waits}
        bounds: dict[tuple[int, int], dict[str, int]] = {}
        found: dict[int, dict[str, int]] = {}
        for group, wave, pc in zip(trace["workgroup"].tolist(), trace["wave"].tolist(), trace["pc"].tolist(), strict=True):
            if not raises[pc] and pc not in waits:
                continue
            bound = bounds.setdefault((group, wave), {})
            for counter in raises[pc]:
                bound[counter] = bound.get(counter, 0) + 1
            for counter, count in waits.get(pc, {}).items():
                if bound.get(counter, 0) > count:
                    most = found.setdefault(pc, {})
                    most[counter] = max(most.get(counter, 0), bound[counter])
                    bound[counter] = count
        return found

    def untaken(self, trace: Any) -> list[range]:
        """Instructions from the target of a branch that never went there to the next branch or target: other paths may need what stands there."""
        last: dict[tuple[int, int], int] = {}
        steps: set[tuple[int, int]] = set()
        for group, wave, pc in zip(trace["workgroup"].tolist(), trace["wave"].tolist(), trace["pc"].tolist(), strict=True):
            steps.add((last.get((group, wave), -1), pc))
            last[group, wave] = pc
        jumps = {pc: pc + 4 + 4 * (((int(row["immediate"]) & 0xFFFF) ^ 0x8000) - 0x8000) for pc, row in self.row.items()
                 if self.name[pc].startswith(("s_branch", "s_cbranch"))}  # fmt: skip
        ends = sorted({*jumps, *jumps.values(), len(self.shader.code)})
        return [range(to, min(end for end in ends if end > to)) for pc, to in jumps.items() if (pc, to) not in steps]

    def with_words(self, pc: int, words: bytes) -> Any:
        code = self.shader.code
        return SimpleNamespace(
            code=code[:pc] + words + code[pc + len(words) :], constant_data=self.shader.constant_data, abi=self.shader.abi, target=self.shader.target
        )

    def without(self, pc: int) -> Any:
        return self.with_words(pc, b"\x00\x00\x80\xbf" * int(self.row[pc]["dwords"]))

    def weakened(self, pc: int, counter: str) -> Any:
        """The wait with one more left in a counter."""
        first, _ = shifts(self.name[pc], self.level)[counter]
        word = int.from_bytes(self.shader.code[pc : pc + 4], "little") + (1 << first)
        return self.with_words(pc, word.to_bytes(4, "little"))


def is_missed(shader: Any, case: Case, inputs: Any) -> bool:
    try:
        dispatched(shader, case, inputs, check_waits=True)
    except emu.MissingWaitError:
        return True
    return False


@pytest.mark.slow
@pytest.mark.parametrize(("target", "wave"), TARGETS)
def test_mutations(target: str, wave: int) -> None:
    counts = {"missed": 0, "without effect": 0, "spare": 0, "weakened and missed": 0, "weakened and spare": 0}
    for name in CASES if os.environ.get("PYACO_EXHAUSTIVE") else MUTATED:
        case = CASES[name]
        inputs = case.inputs()
        program = Program(compiled(case, target, wave), target)
        trace = dispatched(program.shader, case, inputs, trace=1 << 22)[1].trace
        effective = program.effective(trace)
        for pc in program.waits:
            verdict = "missed" if is_missed(program.without(pc), case, inputs) else "spare" if pc in effective else "without effect"
            counts[verdict] += 1
        for pc, bounds in effective.items():
            if sum(count not in (7, 15, 63) for count in program.wait(pc).values()) != 1:
                continue                                    # weaker in one counter, another may do
            for counter, most in bounds.items():
                if most == program.wait(pc)[counter] + 1:   # weakened by one it waits for nothing
                    verdict = "missed" if is_missed(program.weakened(pc, counter), case, inputs) else "spare"
                    counts[f"weakened and {verdict}"] += 1
    print(target, counts)
    assert counts["missed"] >= 60
    assert counts["spare"] <= 0.1 * counts["missed"] and counts["weakened and spare"] <= 0.15 * counts["weakened and missed"]


def test_wait_states() -> None:
    """Each s_nop of our code for GFX9 that ran is as long as it must be: with one wait state less the run stops."""
    checked = 0
    for name in CASES if os.environ.get("PYACO_EXHAUSTIVE") else MUTATED:
        case = CASES[name]
        inputs, program = case.inputs(), Program(compiled(case, "gfx900", 64), "gfx900")
        ran = set(dispatched(program.shader, case, inputs, check_waits=True, trace=1 << 22)[1].trace["pc"].tolist())
        for pc, mnemonic in program.name.items():
            states = int(program.row[pc]["immediate"])
            if mnemonic == "s_nop" and states and pc in ran:
                assert is_missed(program.with_words(pc, (0xBF800000 | states - 1).to_bytes(4, "little")), case, inputs), (name, pc)
                checked += 1
    print(f"{checked} times s_nop")
    assert checked


NULL = 4 * 125                       # GFX10's number of the register, in bytes
#: Most of the spare ones, for each that is needed.
SPARE = {"gfx1010": 0.2, "gfx1100": 0.4, "gfx1200": 0.1}
# some whose code has many of them
HAZARDOUS = ("scan_subgroups", "divergent_switch", "culling", "transcendentals", "attention", "radix_sort")


@pytest.mark.slow
@pytest.mark.parametrize(("target", "wave"), [("gfx1010", 32), ("gfx1010", 64), ("gfx1100", 64), ("gfx1200", 32), ("gfx1200", 64)])
def test_hazards(target: str, wave: int) -> None:
    """Each s_waitcnt_depctr, v_nop and write to null of our code that ran is needed: with s_nop in its place the run stops.

    Spare are those for paths that meet further up, and where our compiler is more careful than a peer: exec that s_and_saveexec writes (GFX10.1),
    lane masks that the vector ALU reads (GFX11). Behind the target of a branch that was never taken nothing can be told to be spare.
    """
    counts = {"missed": 0, "spare": 0, "other path": 0}
    for name in CASES if os.environ.get("PYACO_EXHAUSTIVE") else HAZARDOUS:
        case = CASES[name]
        inputs, program = case.inputs(), Program(compiled(case, target, wave), target)
        mends = [pc for pc, mnemonic in program.name.items()
                 if mnemonic in ("s_waitcnt_depctr", "v_nop") or (mnemonic == "s_mov_b32" and program.row[pc]["destinations"][0] == NULL)]
        if not mends:
            continue
        trace = dispatched(program.shader, case, inputs, check_waits=True, trace=1 << 22)[1].trace
        ran, untaken = set(trace["pc"].tolist()), program.untaken(trace)
        for pc in mends:
            if pc in ran:
                spare = "other path" if any(pc in part for part in untaken) else "spare"
                verdict = "missed" if is_missed(program.without(pc), case, inputs) else spare
                counts[verdict] += 1
    print(target, wave, counts)
    assert counts["missed"] >= 10 and counts["spare"] <= SPARE[target] * counts["missed"]
