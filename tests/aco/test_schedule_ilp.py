"""Any order that the scheduler of machine instructions chooses computes the same, and takes no longer by the cycle model."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from machine_model import CONSTANT, EXEC, M0, UNDEF, Columns, class_bytes

import pyaco
from pyaco import targets
from pyaco._core.aco import build, insert_waitcnt, schedule_ilp, statistics
from pyaco._core.ir.program import Program
from pyaco.aco.text import parse_program
from pyaco.targets.limits import wave_limits

SHADERS = Path(__file__).parents[1] / "shaders"
VALU, DS = 0xF80, 10
MEMORY = (9, DS, 12, 13, 14, 16, 17, 18)
TARGETS = ("gfx700", "gfx803", "gfx900", "gfx1030", "gfx1100", "gfx1200")


class Block:
    """Executes one block on symbols, dword by dword: a result is the instruction with all that it reads."""

    def __init__(self, columns: Columns) -> None:
        self.c = columns
        self.registers: dict[Any, Any] = {}
        self.trace: list[Any] = []    # memory operations and what else acts on more than registers, in order

    def run(self, order: list[int]) -> tuple[Any, Any]:
        for i in order:
            self.instruction(i)
        return self.trace, self.registers

    def dwords(self, reg: int, register_class: int) -> list[int]:
        return list(range(reg >> 2, (reg + class_bytes(register_class) + 3) >> 2))

    def value(self, dword: int) -> Any:
        return self.registers.get(dword, ("before", dword))

    def read(self, operand: tuple[int, int, int, int]) -> Any:
        data, reg, register_class, flags = operand
        if flags & CONSTANT:
            return ("constant", data)
        return () if flags & UNDEF else tuple(self.value(k) for k in self.dwords(reg, register_class))

    def instruction(self, i: int) -> None:
        kind, name = self.c.format[i], self.c.opcode[i]
        what: Any = (i, *map(self.read, self.c.operands[i]))
        if kind & VALU or kind in MEMORY:
            what = (*what, self.value(EXEC >> 2), self.value((EXEC >> 2) + 1), self.registers.get("mode"))
        if kind == DS:
            what = (*what, self.value(M0 >> 2))
        result = hash(what)
        if kind in MEMORY or not self.c.definitions[i]:
            self.trace.append(result)
        if "setreg" in name or "_mode" in name:
            self.registers["mode"] = result
        for k, (_, reg, register_class, _) in enumerate(self.c.definitions[i]):
            old = tuple(self.value(dword) for dword in self.dwords(reg, register_class)) if class_bytes(register_class) & 3 else ()
            for dword in self.dwords(reg, register_class):
                self.registers[dword] = hash((result, k, dword, old))


def summary(program: Program) -> list[Any]:
    columns = Columns(program)
    return [Block(columns).run(order) for order in columns.blocks]


def parse(text: str, target: str) -> Program:
    program = parse_program(text, targets.chip(target).level, 64)
    build.set_device(program, **wave_limits(target, 64).as_dict())
    return program


def check(text: str, target: str) -> int:
    """Schedule a program; the cycles that it takes less, waits included."""
    program, waiting = parse(text, target), parse(text, target)
    before = summary(program)
    moved = schedule_ilp.run(program)
    assert summary(program) == before
    latencies = []
    for each in (waiting, program):
        insert_waitcnt.run(each)
        latencies.append(statistics.collect(each)["latency"])
    assert moved or latencies[0] == latencies[1]
    return latencies[0] - latencies[1]


@pytest.mark.parametrize("target", TARGETS)
def test_shaders(target: str) -> None:
    gains = []
    for name in ("matmul_f32", "divergent_switch", "sha256", "scan_subgroups", "ray_march", "scalar_pressure", "fft", "atomics", "constant_tables"):
        shader = pyaco.compile(SHADERS / f"{name}.spv", target, wave=64, disable=("schedule_ilp",), dump_after="init_m0")
        gains.append(check(shader.ir("after init_m0"), target))
    assert sum(gains) > 0


KINDS = ("v1: %0:v[{d}] = v_mul_f32 %0:v[{a}], %0:v[{b}]", "v1: %0:v[{d}] = v_rcp_f32 %0:v[{a}]", "v1: %0:v[{d}] = v_mov_b32 %0:s[{a}]",
         "s1: %0:s[{d}],  s1: %0:scc = s_add_u32 %0:s[{a}], %0:s[{b}]", "s1: %0:s[{d}] = s_cselect_b32 %0:s[{a}], %0:s[{b}], %0:scc",
         "s2: %0:vcc = v_cmp_lt_f32 %0:v[{a}], %0:v[{b}]", "v1: %0:v[{d}] = v_cndmask_b32 %0:v[{a}], %0:v[{b}], %0:vcc",
         "s1: %0:s[{d}] = v_readfirstlane_b32 %0:v[{a}]", "s1: %0:s[{d}] = s_load_dword %0:s[12-13], %0:s[{a}]",
         "v1: %0:v[{d}] = buffer_load_dword %0:s[8-11], %0:v[{a}], 0 offen storage:buffer", "s2: %0:exec = s_mov_b64 %0:s[12-13]",
         "buffer_store_dword %0:s[8-11], %0:v[{a}], 0, %0:v[{b}] offen storage:buffer", "v1: %0:v[{d}] = ds_read_b32 %0:v[{a}] storage:shared",
         "s1: %0:m0 = s_mov_b32 %0:s[{a}]", "s_setreg_imm32_b32 {a} imm:6145", "v2b: %0:v[{d}][16:32] = v_mul_f16 %0:v[{a}], %0:v[{b}]")  # fmt: skip


@pytest.mark.parametrize("target", ["gfx900", "gfx1030", "gfx1100"])
def test_random_code(target: str) -> None:
    """Few registers, so that almost everything depends on something."""
    gains = []
    for seed in range(60):
        draw = random.Random(seed)
        lines = [draw.choice(KINDS).format(a=draw.randrange(8), b=draw.randrange(8), d=draw.randrange(8)) for _ in range(40)]
        head = "After RA:\nACO shader stage: SW (CS), HW (COMPUTE_SHADER)\nBB0\n/* logical preds: / linear preds: / kind: uniform, top-level, */\n"
        gains.append(check(head + "".join(f"\t{line}\n" for line in [*lines, "s_endpgm"]), target))
    assert sum(gains) > 0
