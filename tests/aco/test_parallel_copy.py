"""The parallel-copy solver: for few registers every case, executed by the one-lane model."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from machine_model import EXEC, M0, SCC, Machine
from ssa_execution import LANES, execute
from test_register_allocation import TARGETS, straight

from pyaco._core.aco import build, lower_to_hw_instr
from pyaco.aco import text
from pyaco.targets.limits import wave_limits

PLACES = {"s": [f"s[{k}]" for k in range(4)], "v": [f"v[{k}]" for k in range(4)],
          "h": [f"v[{k // 2}][{16 * (k % 2)}:{16 * (k % 2) + 16}]" for k in range(4)],
          "b": [f"v[{k // 4}][{8 * (k % 4)}:{8 * (k % 4) + 8}]" for k in range(8)]}  # fmt: skip
# Before GFX8 no two values share a register.
WITH_PARTS = [gfx for gfx in sorted(TARGETS) if gfx >= 80]
KINDS = [(gfx, kind) for gfx in sorted(TARGETS) for kind in "svh" if kind != "h" or gfx in WITH_PARTS]
CLASSES = {"s": "s1", "v": "v1", "h": "v2b", "b": "v1b"}


def check(copies: list[tuple[str, str, str]], gfx: int, flags: str = "", live: tuple[int, ...] = ()) -> int:
    """Lower one parallel copy of (class, destination, source); compare all memory; return the number of instructions."""
    target, wave = TARGETS[gfx]
    left = ", ".join(f"{rc}: %{k + 1}:{to}" for k, (rc, to, _) in enumerate(copies))
    right = ", ".join(source if source[0] not in "sv" else f"%{100 + k}:{source}" for k, (_, _, source) in enumerate(copies))
    # a temp of the source's own class for each operand
    declared = [f"{rc}: %{100 + k}:{source} = p_startpgm" for k, (rc, _, source) in enumerate(copies) if source[0] in "sv"]
    source_text = straight(*declared, f"{left} = p_parallelcopy {right}{flags}")
    program = text.parse_program(source_text, gfx, wave)
    build.set_device(program, **wave_limits(target, wave).as_dict())
    before = Machine(program, registers=True)
    before.memory = {reg + k: random.Random(reg * 4 + k).randrange(256) for reg in (*range(0, 64, 4), *range(1024, 1088, 4)) for k in range(4)}
    before.memory.update({SCC + k: 1 if k == 0 else 0 for k in range(4)})
    start = dict(before.memory)
    before.run()
    lower_to_hw_instr.run(program)
    after = Machine(program, registers=True)
    after.memory = start
    after.run()
    for address in sorted({*before.memory, *after.memory}):
        if address >> 2 in (SCC >> 2, M0 >> 2, EXEC >> 2, 15) and address not in live:
            continue  # s15 is the scratch register
        assert after.byte(address) == before.byte(address), (copies, gfx, address)
    return len(after.c.blocks[0])


@pytest.mark.parametrize(("gfx", "kind"), KINDS)
def test_every_case_of_four(gfx: int, kind: str) -> None:
    """Each of four places receives any of the four, or nothing; every fifth case, all when slow."""
    places = PLACES[kind]
    for case in itertools.islice(itertools.product([*range(4), None], repeat=4), gfx % 5, None, 5):
        copies = [(CLASSES[kind], places[to], places[source]) for to, source in enumerate(case) if source is not None]
        if copies:
            check(copies, gfx)


@pytest.mark.slow
@pytest.mark.parametrize(("gfx", "kind"), KINDS)
def test_every_case_of_four_in_full(gfx: int, kind: str) -> None:
    places = PLACES[kind]
    for case in itertools.product([*range(4), None], repeat=4):
        copies = [(CLASSES[kind], places[to], places[source]) for to, source in enumerate(case) if source is not None]
        if copies:
            check(copies, gfx)


@pytest.mark.parametrize("gfx", sorted(TARGETS))
def test_scalar_cycles_leave_scc_alone(gfx: int) -> None:
    for case in itertools.permutations(range(4)):
        copies = [("s1", f"s[{to}]", f"s[{source}]") for to, source in enumerate(case)]
        check(copies, gfx, " scratch:s[15] scc_live needs_scratch", live=(SCC,))


@pytest.mark.parametrize("gfx", WITH_PARTS)
def test_random_bytes_and_halves(gfx: int) -> None:
    """Bytes and halves of two or three registers, all at once."""
    for seed in range(60):
        r = random.Random(seed)
        copies: list[tuple[str, str, str]] = []
        used: set[int] = set()
        for _ in range(r.randint(1, 6)):
            size = r.choice([1, 1, 2, 4])
            to = r.randrange(0, 12, size)
            if used & set(range(to, to + size)):
                continue
            used |= set(range(to, to + size))
            source = r.randrange(0, 12, size)
            rc = {1: "v1b", 2: "v2b", 4: "v1"}[size]

            def place(byte: int, size: int = size) -> str:
                part = "" if size == 4 else f"[{8 * (byte % 4)}:{8 * (byte % 4 + size)}]"
                return f"v[{byte // 4}]{part}"

            copies.append((rc, place(to), place(source)))
        check(copies, gfx)


def lowered_alike(declared: list[str], line: str, left: range) -> None:
    """Lower one line for GFX7, whose values start at bit 0 of registers of their own; compare the bytes that it defines."""
    program = text.parse_program(straight(*declared, line), 70, 64)
    build.set_device(program, **wave_limits("gfx700", 64).as_dict())
    start = {reg + k: (reg * 4 + 37 * k) % 251 for reg in (*range(0, 64, 4), *range(1024, 1088, 4)) for k in range(4)}
    before = Machine(program, registers=True)
    before.memory = dict(start)
    before.run()
    lower_to_hw_instr.run(program)
    after = Machine(program, registers=True)
    after.memory = dict(start)
    after.run()
    for address in left:
        assert after.byte(address) == before.byte(address), (line, address)
    for address in range(1024 + 16, 1024 + 32):
        assert after.byte(address) == start[address], (line, "an operand is as it was", address)


def test_vectors_of_parts_on_gfx7() -> None:
    """Bytes, halves and three bytes of registers, and of SGPRs and constants, in a register that is none of theirs; and what a vector splits into."""
    sizes = {1: "v1b", 2: "v2b", 3: "v3b", 4: "v1"}
    for seed in range(200):
        r = random.Random(seed)
        parts: list[str] = []
        declared: list[str] = []
        total = 0
        while total < 8 and len(parts) < 4:
            size = min(r.choice([1, 2, 2, 3, 4]), 8 - total)
            number = r.randrange(4)
            bits = f"[0:{8 * size}]" if size < 4 else ""
            parts.append(f"%{90 + len(parts)}:v[{4 + number}]{bits}")
            declared.append(f"{sizes[size]}: {parts[-1]} = p_startpgm")
            total += size
        rc = {4: "v1", 8: "v2"}.get(total, f"v{total}b" if total % 4 else "v1")
        place = "v[0]" if total <= 4 else "v[0-1]"
        place += f"[0:{8 * total}]" if total % 4 else ""
        lowered_alike(declared, f"{rc}: %1:{place} = p_create_vector {', '.join(parts)} scratch:s[15] needs_scratch", range(1024, 1024 + total))
    for size, count in ((1, 4), (2, 2)):
        left = ", ".join(f"{sizes[size]}: %{k + 1}:v[{k}][0:{8 * size}]" for k in range(count))
        program = f"{left} = p_split_vector %90:v[4] scratch:s[15] needs_scratch"
        lowered_alike(["v1: %90:v[4] = p_startpgm"], program, range(1024, 1024 + size))
        for k in range(count):
            program = f"{sizes[size]}: %1:v[0][0:{8 * size}] = p_extract_vector %90:v[4], {k} scratch:s[15] needs_scratch"
            lowered_alike(["v1: %90:v[4] = p_startpgm"], program, range(1024, 1024 + size))


def alike_on_gfx7(declared: list[str], line: str, bytes_of: dict[int, int]) -> None:
    """Lower one line for GFX7 and compare the low bytes of VGPRs, by number and size."""
    program = text.parse_program(straight(*declared, line), 70, 64)
    build.set_device(program, **wave_limits("gfx700", 64).as_dict())
    start = {1024 + k: (37 * k + 11) % 251 for k in range(64)}
    machines = []
    for lowered in (False, True):
        if lowered:
            lower_to_hw_instr.run(program)
        machines.append(Machine(program, registers=True))
        machines[-1].memory = dict(start)
        machines[-1].run()
    for number, size in bytes_of.items():
        for k in range(size):
            assert machines[1].byte(1024 + 4 * number + k) == machines[0].byte(1024 + 4 * number + k), (line, number, k)


@pytest.mark.parametrize(("rc", "size"), [("v1b", 1), ("v2b", 2)])
def test_parts_split_into_registers_of_the_vector_on_gfx7(rc: str, size: int) -> None:
    """A vector splits into any four registers of six, its own among them: what is written takes away bytes that another part still needs."""
    vector = "v1: %90:v[2]" if size == 1 else "v2: %90:v[2-3]"
    for numbers in itertools.permutations(range(6), 4):
        left = ", ".join(f"{rc}: %{k + 1}:v[{number}][0:{8 * size}]" for k, number in enumerate(numbers))
        line = f"{left} = p_split_vector {vector[4:]} scratch:s[15] needs_scratch"
        alike_on_gfx7([f"{vector} = p_startpgm"], line, dict.fromkeys(numbers, size))


def test_cycles_of_parts_on_gfx7() -> None:
    """Halves and whole registers that exchange their places, some of them read more than once."""
    for seed in range(400):
        r = random.Random(seed)
        sizes = [r.choice([2, 4]) for _ in range(4)]
        copies = [(to, r.randrange(4)) for to in r.sample(range(4), r.randint(2, 4))]
        classes = ["v1" if size == 4 else "v2b" for size in sizes]
        part = ["" if size == 4 else "[0:16]" for size in sizes]
        left = ", ".join(f"{classes[source]}: %{to + 1}:v[{to}]{part[source]}" for to, source in copies)
        read = [f"%{90 + k}:v[{source}]{part[source]}" for k, (_, source) in enumerate(copies)]
        declared = [f"{classes[source]}: {name} = p_startpgm" for name, (_, source) in zip(read, copies, strict=True)]
        alike_on_gfx7(declared, f"{left} = p_parallelcopy {', '.join(read)} scratch:s[15] needs_scratch",
                      {to: sizes[source] for to, source in copies})


@pytest.mark.parametrize("gfx", [90, 103, 110])
def test_constants(gfx: int) -> None:
    for value in ("0", "1", "64", "-16", "0x1234", "0xffff8000", "0x80000000", "0x40000000", "0xff00", "0x12345678", "0x10001"):
        check([("s1", "s[0]", value), ("v1", "v[1]", value)], gfx)


HALF_CONSTANTS = (0x0000, 0x0001, 0x0040, 0xFFF0, 0xFFFF, 0x00FF, 0xFF00, 0x3800, 0xBC00, 0x3118, 0x4205, 0x8000, 0x7C01)


@pytest.mark.parametrize("gfx", WITH_PARTS)
def test_constant_parts(gfx: int) -> None:
    """A constant byte or half of a register: the rest stays, in two instructions at most, and in one where some can write parts."""
    costs = {value: [check([("v1b", f"v[0][{first}:{first + 8}]", f"0x{value:02x}")], gfx) for first in (0, 16)] for value in range(gfx % 7, 256, 7)}
    assert all(cost <= (1 if gfx >= 100 else 2) for found in costs.values() for cost in found)
    halves = {value: [check([("v2b", f"v[0][{first}:{first + 16}]", f"0x{value:04x}")], gfx) for first in (0, 16)] for value in HALF_CONSTANTS}
    assert all(cost <= (1 if gfx >= 100 else 2) for found in halves.values() for cost in found)
    for value, (rest, part) in itertools.product(HALF_CONSTANTS, ((0, 16), (16, 0))):
        for source in (0, 16):
            constant = ("v2b", f"v[0][{rest}:{rest + 16}]", f"0x{value:04x}")
            assert check([constant, ("v2b", f"v[0][{part}:{part + 16}]", f"%9:v[1][{source}:{source + 16}]")], gfx) <= (2 if gfx >= 90 else 3)


@pytest.mark.parametrize("gfx", WITH_PARTS)
@pytest.mark.parametrize("float_mode", [0xC0, 0])
def test_constant_parts_on_the_emulator(gfx: int, float_mode: int) -> None:
    """Vectors of a constant and of parts of values, denormals among them, compiled and executed."""
    lines, wanted = ["BB0", "/* logical preds: / linear preds: / kind: uniform, top-level, */", "\t v1: %1 = p_startpgm"], []
    values = np.random.default_rng(gfx).integers(0, 1 << 32, (1, LANES), dtype=np.uint32)
    values[0, :8] = 0x00010001, 0x80010001, 0x7C017C01, 0xFFFF7D00, 0x03FF83FF, 0, 0xFFFFFFFF, 0x7E017C00
    low, high, byte = values[0] & 0xFFFF, values[0] >> 16, values[0] & 0xFF
    lines += ["\t v2b: %2, v2b: %3 = p_split_vector %1", "\t v1b: %4, v1b: %5, v1b: %6, v1b: %7 = p_split_vector %1"]
    vectors = [(f"0x{value:04x}, %{number}", value | half << 16) for value in HALF_CONSTANTS for number, half in ((2, low), (3, high))]
    vectors += [(f"%{number}, 0x{value:04x}", half | value << 16) for value in HALF_CONSTANTS for number, half in ((2, low), (3, high))]
    vectors += [(f"0x{value:02x}, %4, %3", value | byte << 8 | high << 16) for value in (0x42, 0xF0, 0x80, 0x95, 0xFF, 0x00, 0xC8)]
    vectors += [(f"%2, %4, 0x{value:02x}", low | byte << 16 | value << 24) for value in (0x42, 0xF0, 0x80, 0x95, 0xFF, 0x00, 0xC8)]
    for k, (operands, value) in enumerate(vectors):
        lines += [f"\t v1: %{10 + k} = p_create_vector {operands}", f"\tp_unit_test {k}, %{10 + k}"]
        wanted.append(value)
    found = execute("\n".join([*lines, "\ts_endpgm"]) + "\n", gfx, 64, values, float_mode)
    for k, value in enumerate(wanted):
        assert np.array_equal(found[str(k), 0], value), vectors[k][0]


def test_costs() -> None:
    """What single instructions can do takes one."""
    assert check([("s1", "s[0]", "s[2]"), ("s1", "s[1]", "s[3]")], 110) == 1
    assert check([("v1", "v[0]", "v[1]"), ("v1", "v[1]", "v[0]")], 110) == 1
    assert check([("v2b", "v[0][0:16]", "v[0][16:32]"), ("v2b", "v[0][16:32]", "v[0][0:16]")], 90) == 1
    assert check([("v2b", "v[0][0:16]", "v[1][16:32]"), ("v2b", "v[0][16:32]", "v[2][0:16]")], 110) == 1
    assert check([("v2b", "v[0][16:32]", "v[1][0:16]")], 110) == 1
