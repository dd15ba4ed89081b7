"""Any order that the scheduler chooses computes the same, and needs no more registers than it was allowed."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from machine_model import CONSTANT, EXEC, M0, SCC, TEMP, VCC, Columns, Machine, class_bytes
from random_ssa import random_program

import pyaco
from pyaco._core.aco import build, live_variables, reduce_pressure, schedule_program
from pyaco._core.ir.program import Program
from pyaco.aco.text import parse_program
from pyaco.aco.text_words import get
from pyaco.targets.limits import wave_limits

SHADERS = Path(__file__).parents[1] / "shaders"
VALU, DS, MUBUF, MIMG, SMEM, BARRIER, FLAT = 0xF80, 10, 13, 14, 9, 2, (16, 17, 18)
MEMORY = (SMEM, DS, 12, MUBUF, MIMG, *FLAT)
ACQUIRE_RELEASE_VOLATILE_ATOMIC, REORDER = 0x67, 0x10
FIXED, DEFINITION_FIXED = 8, 2


class Block:
    """Executes one block on symbols: a result is the instruction with the values that it reads, memory is the history of its accesses.

    A value that lives in SCC, VCC, M0 or exec must still be there when it is read.
    """

    def __init__(self, columns: Columns, homes: dict[int, int]) -> None:
        self.c, self.homes = columns, homes
        self.values: dict[int, Any] = {}
        self.registers: dict[int, Any] = {}
        self.accesses: list[tuple[int, Any, bool]] = []
        self.seen: set[Any] = set()

    def run(self, order: list[int]) -> set[Any]:
        for i in order:
            if self.c.opcode[i] not in ("p_phi", "p_linear_phi"):
                self.instruction(i)
        return self.seen | {("end", register, value) for register, value in self.registers.items() if register == EXEC}

    def read(self, operand: tuple[int, int, int, int]) -> Any:
        data, reg, _, flags = operand
        if flags & TEMP:
            home = self.homes.get(data)
            if home is not None:
                assert self.registers.setdefault(home, data) == data, f"%{data} is no longer in its register"
            return self.values.get(data, ("live in", data))
        if flags & CONSTANT:
            return ("constant", data, reg)
        return ("register", self.registers.get(reg)) if flags & FIXED else "undefined"

    def instruction(self, i: int) -> None:
        kind = self.c.format[i]
        operands = [self.read(o) for o in self.c.operands[i]]
        vector = any(o[2] & 0x20 for o in (*self.c.operands[i], *self.c.definitions[i]))
        what: Any = (self.c.opcode[i], self.c.modifiers[i], self.c.immediate[i], *operands)
        if vector or kind & VALU or kind in (DS, MUBUF, 12, MIMG, *FLAT):
            what = (*what, self.registers.get(EXEC, "entry"))
        if kind in MEMORY or kind == BARRIER:
            what = (*what, self.memory(i, operands))
        # By number: equal instructions are different ones, and what each of them read must be the same.
        self.seen.add((i, hash(what)))
        for k, (temp, reg, _, flags) in enumerate(self.c.definitions[i]):
            if temp:
                self.values[temp] = hash((what, k))
            if temp in self.homes:
                self.registers[self.homes[temp]] = temp
            elif flags & DEFINITION_FIXED and reg in (SCC, VCC, M0, EXEC):
                self.registers[reg] = ("overwritten", i)

    def memory(self, i: int, operands: list[Any]) -> Any:
        """The earlier accesses that this one may not change places with."""
        name, word, kind = self.c.opcode[i], self.c.modifiers[i], self.c.format[i]
        if "permute" in name or "swizzle" in name:
            return None
        barrier = kind == BARRIER
        semantics = get(word, "semantics")
        ordered = barrier or bool(semantics & ACQUIRE_RELEASE_VOLATILE_ATOMIC) or "atomic" in name or "_rtn" in name
        writes = ordered or not self.c.definitions[i]
        if not writes and (semantics & REORDER or (kind == SMEM and not get(word, "storage"))):
            return None
        storage = 0x1FF if barrier else get(word, "storage") or (0x100 if kind == MIMG and not writes else 0x1FF)
        count = {MUBUF: 3, DS: 1}.get(kind, 2)
        data = self.c.definitions[i][0][2] if self.c.definitions[i] else self.c.operands[i][count][2] if len(self.c.operands[i]) > count else 0
        address = (kind, *map(str, operands[:count]))
        span = range(self.c.immediate[i], self.c.immediate[i] + class_bytes(data))
        exact = not ordered and kind in (DS, MUBUF, *FLAT) and "2" not in name.split("_")[1]
        mine = (storage, address if exact else None, span, writes)
        before = frozenset(j for j, other, _ in self.accesses if self.conflict(mine, other))
        self.accesses.append((i, mine, writes))
        return before

    @staticmethod
    def conflict(a: Any, b: Any) -> bool:
        if not a[0] & b[0] or not (a[3] or b[3]):
            return False
        return a[1] is None or a[1] != b[1] or (a[2].start < b[2].stop and b[2].start < a[2].stop)


def homes_of(columns: Columns) -> dict[int, int]:
    return {temp: reg for definitions in columns.definitions for temp, reg, _, flags in definitions
            if flags & DEFINITION_FIXED and temp and reg in (SCC, VCC, M0, EXEC)}  # fmt: skip


def summary(program: Program) -> list[Any]:
    columns = Columns(program)
    homes = homes_of(columns)
    return [Block(columns, homes).run(order) for order in columns.blocks]


def demands(program: Program) -> tuple[np.ndarray, ...]:
    i, b, o, d = program.instructions, program.blocks, program.operands, program.definitions
    order = program.order.instruction
    return tuple(np.array(column) for column in (i.demand_sgpr[order], i.demand_vgpr[order], b.demand_sgpr, b.demand_vgpr, b.live_in_demand_sgpr,
                                                 b.live_in_demand_vgpr, o.flags, d.flags))  # fmt: skip


def check(program: Program) -> bool:
    """Schedule a program; whether something has moved."""
    live_variables.run(program)
    before, waves, orders = summary(program), build.summary(program)["num_waves"], Columns(program).blocks
    live_in = [live_variables.live_in(program, b) for b in range(len(program.blocks))]
    moved = schedule_program.run(program)
    after = Columns(program).blocks
    assert moved == (after != orders)
    assert [sorted(a) for a in after] == [sorted(b) for b in orders], "instructions stay in their blocks"
    assert summary(program) == before
    # Beyond six for each 256 VGPRs of the register file, registers are worth more than waves.
    waves = min(waves, 6 * build.summary(program)["device"]["physical_vgprs"] // 256)
    assert build.summary(program)["num_waves"] >= waves, "the demand exceeds what these waves have"
    kept = demands(program)
    live_variables.run(program)
    for name, a, b in zip(("SGPRs", "VGPRs", "of blocks", "", "live in", "", "operands", "definitions"), kept, demands(program), strict=True):
        assert (a == b).all(), f"live variables are not current: {name}"
    assert [live_variables.live_in(program, b) for b in range(len(program.blocks))] == live_in
    return moved


def parse(source: str, level: int, **device: int) -> Program:
    """A program on a device: gfx900 and gfx1100 with 64 lanes, gfx1030 with 32."""
    target, wave = {90: ("gfx900", 64), 103: ("gfx1030", 32), 110: ("gfx1100", 64)}[level]
    program = parse_program(source, level, wave)
    build.set_device(program, **{**wave_limits(target, wave).as_dict(), **device})
    return program


class Code:
    """Straight code at random: arithmetic, conditions in SCC and VCC, memory of several kinds, barriers, changes of exec."""

    def __init__(self, seed: int, mask: str) -> None:
        self.random, self.mask, self.count = random.Random(seed), mask, 0
        self.live: dict[str, list[str]] = {"v1": [], "s1": [], "v2": [], "s4": [], "s2": []}
        starts = [f"{rc}: {self.new(rc)}" for rc in ("v1", "v1", "v1", "s1", "s1", "s1", "s2", "s4", "s4")]
        self.lines = [f"{',  '.join(starts)} = p_startpgm"]

    def new(self, rc: str) -> str:
        self.count += 1
        self.live[rc].append(f"%{self.count}")
        return f"%{self.count}"

    def some(self, rc: str) -> str:
        # The latest ones more often.
        values = self.live[rc]
        return values[-1 - min(int(self.random.expovariate(0.2)), len(values) - 1)]

    def step(self) -> None:
        v, s, offset = partial(self.some, "v1"), partial(self.some, "s1"), 4 * self.random.randrange(4)
        buffer, where = self.random.choice(self.live["s4"][:2]), self.live["v1"][self.random.randrange(2)]
        storage = self.random.choice(
            (
                "storage:buffer",
                "storage:buffer",
                "storage:buffer",
                "storage:buffer semantics:volatile",
                "storage:buffer semantics:reorder",
                "storage:image",
            )
        )
        kind = self.random.randrange(16)
        add = self.lines.append
        if kind < 4:
            a, b = v(), v()
            add(f"v1: {self.new('v1')} = {self.random.choice(('v_add_f32', 'v_mul_f32', 'v_xor_b32'))} {a}, {b}")
        elif kind == 4:
            a, b = s(), s()
            add(f"s1: {self.new('s1')},  s1: %{self.count + 1}:scc = s_add_u32 {a}, {b}")
            self.count += 1
        elif kind == 5:
            a, b, c, d = s(), s(), s(), s()
            self.count += 1
            add(f"s1: %{self.count}:scc = s_cmp_lt_u32 {a}, {b}")
            condition = f"%{self.count}"
            for _ in range(self.random.randrange(3)):
                self.lines.append(f"v1: {self.new('v1')} = v_mul_f32 {v()}, 2.0")
            add(f"s1: {self.new('s1')} = s_cselect_b32 {c}, {d}, {condition}:scc")
        elif kind == 6:
            a, b, c, d = v(), v(), v(), v()
            self.count += 1
            vcc = self.random.choice(("", ":vcc"))
            add(f"{self.mask}: %{self.count}{vcc} = v_cmp_lt_f32 {a}, {b}")
            add(f"v1: {self.new('v1')} = v_cndmask_b32 {c}, {d}, %{self.count - 1}{vcc}")
        elif kind == 7:
            add(f"v1: {self.new('v1')} = ds_read_b32 {where} offset0:{offset} storage:shared")
        elif kind == 8:
            add(f"ds_write_b32 {where}, {v()} offset0:{offset} storage:shared")
        elif kind == 9:
            add(f"v2: {self.new('v2')} = buffer_load_dwordx2 {buffer}, {where}, 0 offset:{offset} offen {storage}")
            wide = self.live["v2"][-1]
            add(f"v1: {self.new('v1')},  v1: {self.new('v1')} = p_split_vector {wide}")
        elif kind == 10:
            add(f"buffer_store_dword {buffer}, {where}, 0, {v()} offset:{offset} offen {storage.replace('reorder', 'private')}")
        elif kind == 11:
            add(f"s4: {self.new('s4')} = s_load_dwordx4 {self.live['s2'][0]}, {4 * offset}")
        elif kind == 12:
            add(f"s1: {self.new('s1')} = s_buffer_load_dword {buffer}, {offset} {storage}")
        elif kind == 13:
            add(f"v1: {self.new('v1')} = v_add_f32 {s()}, {v()}")
        elif kind == 14 and self.random.random() < 0.2:
            add("p_barrier storage:shared semantics:acquire,release scope:workgroup exec_scope:workgroup")
        elif kind == 15 and self.random.random() < 0.2:
            add(f"{self.mask}: %0:exec = p_parallelcopy -1")

    def text(self, steps: int) -> str:
        for _ in range(steps):
            self.step()
        used = [value for values in self.live.values() for value in values if self.random.random() < 0.15]
        self.lines += [f"p_unit_test {', '.join(used)}", "s_endpgm"]
        head = "After Instruction Selection:\nACO shader stage: SW (CS), HW (COMPUTE_SHADER)\nBB0\n"
        return head + "/* logical preds: / linear preds: / kind: uniform, top-level, */\n" + "".join(f"\t{line}\n" for line in self.lines)


def check_reduced(program: Program) -> bool:
    """Lower the demand as spilling does first; whether it is lower then."""
    live_variables.run(program)
    before, orders = summary(program), Columns(program).blocks
    sgprs, vgprs = (getattr(program.blocks, name).max() for name in ("demand_sgpr", "demand_vgpr"))
    limits = int(sgprs) // 2, int(vgprs) // 2
    reduce_pressure.run(program, *limits)
    assert [sorted(a) for a in Columns(program).blocks] == [sorted(b) for b in orders], "instructions stay in their blocks"
    assert summary(program) == before
    kept = demands(program)
    live_variables.run(program)
    for a, b in zip(kept, demands(program), strict=True):
        assert (a == b).all(), "live variables are not current"
    now = (getattr(program.blocks, name).max() for name in ("demand_sgpr", "demand_vgpr"))
    excess = [sum(max(demand - limit, 0) for demand, limit in zip(both, limits, strict=True)) for both in ((sgprs, vgprs), now)]
    assert excess[1] <= excess[0]
    return bool(excess[1] < excess[0])


@pytest.mark.parametrize("level", [90, 103, 110])
def test_reduced_pressure(level: int) -> None:
    lower = 0
    for seed in range(0, 60, 3):
        lower += check_reduced(parse(Code(seed, "s1" if level == 103 else "s2").text(20 + 4 * seed), level))
    assert lower > 10


@pytest.mark.parametrize("level", [90, 103, 110])
def test_random_code(level: int) -> None:
    moved = 0
    for seed in range(60):
        source = Code(seed, "s1" if level == 103 else "s2").text(20 + 4 * seed)
        moved += check(parse(source, level))
    assert moved > 50


def test_many_registers_or_few() -> None:
    """With less room less moves, and never does a program lose waves."""
    for seed in range(40):
        source = Code(seed, "s1").text(150)
        for physical in (1024, 512, 256):
            check(parse(source, 103, physical_vgprs=physical, physical_sgprs=physical // 4))


@pytest.mark.parametrize("seed", range(20))
def test_random_control_flow(seed: int) -> None:
    source = random_program(seed, ["s1", "s2", "v1", "v2"], 14, 14)
    before = Machine(parse(source, 103), registers=False).run()
    program = parse(source, 103)
    check(program)
    assert Machine(program, registers=False).run() == before


@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1100"])
def test_shaders(target: str) -> None:
    level, wave = {"gfx900": (90, 64), "gfx1030": (103, 32), "gfx1100": (110, 64)}[target]
    moved = 0
    for name in ("matmul_f32", "divergent_switch", "sha256", "scan_subgroups", "ray_march", "scalar_pressure", "fft", "atomics"):
        shader = pyaco.compile(SHADERS / f"{name}.spv", target, wave=wave, dump_after="insert_exec_mask")
        moved += check(parse(shader.ir("after insert_exec_mask"), level))
    assert moved >= 7


def loads_before_use(source: str, **limits: int) -> int:
    """How many loads stand in front of the first instruction that reads what one of them has loaded, once they are scheduled."""
    program = parse(source, 103, **limits)
    check(program)
    columns, count = Columns(program), 0
    loaded: set[int] = set()
    for i in columns.blocks[0]:
        if loaded & {data for data, _, _, flags in columns.operands[i] if flags & TEMP}:
            break
        if columns.opcode[i].startswith("buffer_load"):
            count += 1
            loaded |= {temp for temp, _, _, _ in columns.definitions[i]}
    return count


def weighted_loads(count: int, dwords: int, address: str, arithmetic: int, descriptor: bool = False) -> str:
    """Loads one after another, each with the arithmetic on what it gives behind it; their descriptor is loaded too, or there."""
    lines = ["s4: %1,  v1: %2,  v1: %3 = p_startpgm"]
    if descriptor:
        lines = ["s2: %1000,  v1: %2,  v1: %3 = p_startpgm", "s4: %1 = s_load_dwordx4 %1000, 0"]
    total, temp, load = "%3", 4, {1: "buffer_load_dword", 4: "buffer_load_dwordx4"}[dwords]
    for k in range(count):
        lines.append(f"v1: %{temp} = {address.format(16 * k)}")
        lines.append(f"v{dwords}: %{temp + 1} = {load} %1, %{temp}, 0 offen storage:buffer semantics:private,reorder")
        lines.append(",  ".join(f"v1: %{temp + 2 + j}" for j in range(dwords)) + f" = p_split_vector %{temp + 1}")
        for j in range(arithmetic):
            lines.append(f"v1: %{temp + 6 + j} = v_fma_f32 {total}, 2.0, %{temp + 2 + j % dwords}")
            total = f"%{temp + 6 + j}"
        temp += 6 + arithmetic
    head = "After Instruction Selection:\nACO shader stage: SW (CS), HW (COMPUTE_SHADER)\nBB0\n"
    lines += [f"p_unit_test {total}", "s_endpgm"]
    return head + "/* logical preds: / linear preds: / kind: uniform, top-level, */\n" + "".join(f"\t{line}\n" for line in lines)


def test_addresses_far_ahead() -> None:
    """Loads whose addresses are computed behind the arithmetic of many others are not waited for one after another."""
    assert loads_before_use(weighted_loads(20, 1, "v_add_u32 {0:#x}, %2", 10)) == 20


def test_room_for_loads() -> None:
    """Where registers are few, addresses do not take those that results of loads need."""
    for descriptor in (False, True):
        assert loads_before_use(weighted_loads(20, 4, "p_parallelcopy {0:#x}", 4, descriptor), physical_vgprs=512) >= 6
