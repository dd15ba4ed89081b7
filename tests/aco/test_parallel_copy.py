"""The parallel-copy solver: for few registers every case, executed by the one-lane model."""

from __future__ import annotations

import itertools
import random

import pytest
from machine_model import EXEC, M0, SCC, Machine
from test_register_allocation import TARGETS, straight

from pyaco._core.aco import build, lower_to_hw_instr
from pyaco.aco import text
from pyaco.targets.limits import wave_limits

PLACES = {"s": [f"s[{k}]" for k in range(4)], "v": [f"v[{k}]" for k in range(4)],
          "h": [f"v[{k // 2}][{16 * (k % 2)}:{16 * (k % 2) + 16}]" for k in range(4)],
          "b": [f"v[{k // 4}][{8 * (k % 4)}:{8 * (k % 4) + 8}]" for k in range(8)]}  # fmt: skip
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
            continue                      # s15 is the scratch register
        assert after.byte(address) == before.byte(address), (copies, gfx, address)
    return len(after.c.blocks[0])


@pytest.mark.parametrize("gfx", sorted(TARGETS))
@pytest.mark.parametrize("kind", ["s", "v", "h"])
def test_every_case_of_four(gfx: int, kind: str) -> None:
    """Each of four places receives any of the four, or nothing; every fifth case, all when slow."""
    places = PLACES[kind]
    for case in itertools.islice(itertools.product([*range(4), None], repeat=4), gfx % 5, None, 5):
        copies = [(CLASSES[kind], places[to], places[source]) for to, source in enumerate(case) if source is not None]
        if copies:
            check(copies, gfx)


@pytest.mark.slow
@pytest.mark.parametrize("gfx", sorted(TARGETS))
@pytest.mark.parametrize("kind", ["s", "v", "h"])
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


@pytest.mark.parametrize("gfx", sorted(TARGETS))
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


@pytest.mark.parametrize("gfx", [90, 103, 110])
def test_constants(gfx: int) -> None:
    for value in ("0", "1", "64", "-16", "0x1234", "0xffff8000", "0x80000000", "0x40000000", "0xff00", "0x12345678", "0x10001"):
        check([("s1", "s[0]", value), ("v1", "v[1]", value)], gfx)


def test_costs() -> None:
    """What single instructions can do takes one."""
    assert check([("s1", "s[0]", "s[2]"), ("s1", "s[1]", "s[3]")], 110) == 1
    assert check([("v1", "v[0]", "v[1]"), ("v1", "v[1]", "v[0]")], 110) == 1
    assert check([("v2b", "v[0][0:16]", "v[0][16:32]"), ("v2b", "v[0][16:32]", "v[0][0:16]")], 90) == 1
    assert check([("v2b", "v[0][0:16]", "v[1][16:32]"), ("v2b", "v[0][16:32]", "v[2][0:16]")], 110) == 1
    assert check([("v2b", "v[0][16:32]", "v[1][0:16]")], 110) == 1
