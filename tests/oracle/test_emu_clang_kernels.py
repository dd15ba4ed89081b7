"""OpenCL kernels of many kinds, compiled by clang for each generation, give on both engines what NumPy gives."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hsa_launch import BARE, NEWER, Program, compile_kernels

from pyaco.emu import Device
from pyaco.emu.checks import CHECKS

pytestmark = pytest.mark.oracle
SOURCE = Path(__file__).with_name("clang_kernels.cl")
N = 64                                # side of matrices and images
U32, I32, F32 = np.uint32, np.int32, np.float32


@dataclass(frozen=True)
class Case:
    """Arguments of a kernel (an array is a buffer), and the contents that buffers have after it, by argument."""

    groups: tuple[int, int]
    size: tuple[int, int]
    arguments: Callable[[np.random.Generator], list[Any]]
    expected: Callable[..., dict[int, np.ndarray]]
    tolerance: float = 0.0
    targets: tuple[str, ...] = ()     # all, if there are none


def floats(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.standard_normal(shape).astype(F32)


def words(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.integers(0, 1 << 32, shape, dtype=U32)


def integers(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.integers(-(1 << 31), 1 << 31, shape).astype(I32)


def truncated(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.trunc(a.astype(np.float64) / b).astype(np.int64).astype(I32)


def division(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    odd = b | 1
    return np.stack([truncated(a, odd), (a.view(U32) % odd.view(U32)).view(I32)], 1)


def chains(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The matrix product by fused multiply-adds in order."""
    total = np.zeros((len(a), b.shape[1]), F32)
    for k in range(a.shape[1]):
        total = (a[:, k : k + 1].astype(np.float64) * b[k : k + 1].astype(np.float64) + total).astype(F32)
    return total


def smoothed(image: np.ndarray) -> np.ndarray:
    total = np.zeros((N, N), F32)
    padded = np.pad(image, 1)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            part = padded[1 + dy : N + 1 + dy, 1 + dx : N + 1 + dx] * F32(2 - dx * dx) * F32(2 - dy * dy)
            total = total + part
    return total


def escape(count: int, width: int) -> np.ndarray:
    item = np.arange(count)
    cx = (item % width).astype(F32) * F32(3) / F32(width) - F32(2)
    cy = (item // width).astype(F32) * F32(2) / F32(width) - F32(1)
    x, y, steps = np.zeros(count, F32), np.zeros(count, F32), np.zeros(count, U32)
    for _ in range(80):
        inside = x * x + y * y <= 4
        steps += inside
        x, y = np.where(inside, x * x - y * y + cx, x), np.where(inside, F32(2) * x * y + cy, y)
    return steps


def attracted(bodies: np.ndarray) -> np.ndarray:
    place, mass = bodies[:, :3].astype(np.float64), bodies[:, 3].astype(np.float64)
    apart = place[None] - place[:, None]
    square = (apart**2).sum(2) + 0.01
    return np.concatenate([(apart * (mass / square**1.5)[..., None]).sum(1), bodies[:, 3:]], 1).astype(F32)


def walked(state: np.ndarray, steps: int) -> np.ndarray:
    for _ in range(steps):
        for shift in (13, -7, 17):
            state = state ^ (state << np.uint64(shift) if shift > 0 else state >> np.uint64(-shift))
        state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return state


def bit_counts(v: np.ndarray) -> np.ndarray:
    rows = []
    for value in map(int, v):
        turned = (value << (value & 31) | value >> (-value & 31)) & 0xFFFFFFFF
        swapped = int.from_bytes(value.to_bytes(4, "little"), "big")
        rows.append([value.bit_count(), 32 - value.bit_length() if value else 99, int(f"{value:032b}"[::-1], 2), swapped ^ turned])
    return np.array(rows, U32)


def greyed(p: np.ndarray) -> np.ndarray:
    wide = p.astype(U32)
    grey = wide[:, 0] * 77 + wide[:, 1] * 150 + wide[:, 2] * 29 >> 8
    return np.stack([grey, 255 - wide[:, 1], np.where(wide[:, 2] > 128, 255, wide[:, 2]), wide[:, 3]], 1).astype(np.uint8)


def signed(value: int) -> int:
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def interpreted(programs: np.ndarray, values: np.ndarray) -> np.ndarray:
    out = []
    for item, start in enumerate(map(int, values)):
        stack = [start]
        for op in map(int, programs[item & 3]):
            kind = op & 7
            if kind in (0, 4):
                if len(stack) < 16:
                    stack.append(op >> 3 if kind == 0 else stack[-1])
            elif kind in (1, 2, 6):
                if len(stack) > 1:
                    last = stack.pop()
                    stack[-1] = signed(stack[-1] + last if kind == 1 else stack[-1] * last if kind == 2 else stack[-1] - last)
            else:
                stack[-1] = signed(-stack[-1]) if kind == 3 else stack[-1] ^ op >> 3 if kind == 5 else stack[-1] >> (op >> 6)
        total = 0
        for value in stack:
            total = signed(total * 31 + value)
        out.append(total)
    return np.array(out, I32)


def called(values: np.ndarray) -> np.ndarray:
    def mix(a: int, b: int) -> int:
        return ((a ^ b) * 2654435761 + (a >> 7)) & 0xFFFFFFFF

    def climb(n: int, seed: int) -> int:
        kept = [mix(seed + i & 0xFFFFFFFF, n) for i in range(4)]
        return kept[seed & 3] + mix(kept[n & 3], seed) & 0xFFFFFFFF

    out = []
    for value in map(int, values):
        count = 0
        while count < (value & 7):                          # the loop's end moves with the value
            value = climb(count, value)
            count += 1
        out.append(value)
    return np.array(out, U32)


def exchanged(v: np.ndarray, wave: int) -> np.ndarray:
    rows = v.reshape(-1, wave)
    lane = np.arange(wave)
    before = np.where(lane % 16 == 0, U32(77), np.roll(rows, 1, 1))
    # bit-mask mode, and 31, or 0, xor 1: the neighbour
    return np.stack([rows[:, lane ^ 5], before, rows[:, :1] + rows[:, lane ^ 1]], 2).astype(U32)


def rows_times(starts: np.ndarray, columns: np.ndarray, values: np.ndarray, x: np.ndarray) -> np.ndarray:
    out = np.zeros(len(starts) - 1, F32)
    for row in range(len(out)):
        total = F32(0)
        for place in range(starts[row], starts[row + 1]):
            total = F32(np.float64(values[place]) * np.float64(x[columns[place]]) + np.float64(total))
        out[row] = total
    return out


def generation(cells: np.ndarray) -> np.ndarray:
    around = sum(np.roll(cells, (dy, dx), (0, 1)).astype(int) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0))
    return ((around == 3) | ((around == 2) & (cells != 0))).astype(np.uint8)


PRIMES = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53]


def looked_up(v: np.ndarray) -> np.ndarray:
    product = np.ones(len(v), U32)
    for i in range(8):
        product = product * np.array(PRIMES, U32)[v >> U32(4 * i) & U32(15)] + U32(i)
    return product


def through_pointers(v: np.ndarray) -> np.ndarray:
    out = []
    for item, value in enumerate(map(int, v)):
        x = item % 64
        group = v[item - x : item - x + 64]
        own = [0] * 4
        for step, word in enumerate((value, value * 3 & 0xFFFFFFFF, x, 9)):
            own[x + step & 3] = word
        out.append(own[value & 3] if x % 3 == 0 else int(group[value & 63]) ^ 0x55 if x % 3 == 1 else int(v[x]))
    return np.array(out, U32)


def half_pairs(a: np.ndarray, b: np.ndarray, precision: type[np.floating[Any]] = np.float16) -> np.ndarray:
    """Differences are rounded to halves once where they are computed as singles."""
    wide = a.astype(precision), b.astype(precision)
    chosen = np.where(a[:, 0] < b[:, 0], a[:, 1], b[:, 1])
    scaled = (a[:, 0].astype(F32) * F32(0.5)).astype(np.float16)
    return np.stack([(wide[0] * wide[1] - wide[1]).astype(np.float16), np.stack([chosen, scaled], 1)], 1)


def elementary(v: np.ndarray) -> np.ndarray:
    return np.stack([np.exp2(v), np.log2(np.abs(v) + F32(0.5)), np.sin(v.astype(np.float64) * 0.15915494 * 2 * np.pi), 1 / v], 1).astype(F32)


def csr(random: np.random.Generator) -> list[Any]:
    starts = np.concatenate([[0], np.cumsum(random.integers(0, 9, 128))]).astype(U32)
    return [starts, random.integers(0, 50, starts[-1]).astype(U32), floats(random, int(starts[-1])), floats(random, 50), np.zeros(128, F32)]


def doubled(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    return np.stack([p * q + 1, p / q, np.sqrt(p * p + q * q), np.floor(p) - np.trunc(q)], 1)


LINE, SQUARE, TILE = (64, 1), (16, 4), (16, 16)
CASES: dict[str, Case] = {
    "saxpy": Case((4, 1), LINE, lambda r: [floats(r, 256), floats(r, 256), np.zeros(256, F32), F32(1.75)],
                  lambda x, y, out, a: {2: (x.astype(np.float64) * 1.75 + y).astype(F32)}),
    "divide": Case((4, 1), LINE, lambda r: [integers(r, 256), integers(r, 256) >> r.integers(0, 31, 256).astype(I32), np.zeros((256, 2), I32)],
                   lambda a, b, out: {2: division(a, b)}),
    "matmul": Case((N // 16, N // 4), SQUARE, lambda r: [floats(r, N, N), floats(r, N, N), np.zeros((N, N), F32), U32(N)],
                   lambda a, b, out, n: {2: chains(a, b)}),
    "matmul_tiled": Case((N // 16, N // 16), TILE, lambda r: [floats(r, N, N), floats(r, N, N), np.zeros((N, N), F32), U32(N)],
                         lambda a, b, out, n: {2: chains(a, b)}),
    "reduce": Case((3, 1), (256, 1), lambda r: [words(r, 3, 256), np.zeros(3, U32)], lambda v, out: {1: v.sum(1, dtype=U32)}),
    "scan": Case((3, 1), (128, 1), lambda r: [words(r, 3, 128), np.zeros((3, 128), U32)], lambda v, out: {1: np.cumsum(v, 1, dtype=U32)}),
    "histogram": Case((4, 1), LINE, lambda r: [r.integers(0, 256, 2048).astype(np.uint8), np.zeros(16, U32), U32(8)],
                      lambda v, out, each: {1: np.bincount(v >> 4, minlength=16).astype(U32)}),
    "transpose": Case((N // 16, N // 16), TILE, lambda r: [words(r, N, N), np.zeros((N, N), U32), U32(N)], lambda v, out, n: {1: v.T}),
    "stencil": Case((N // 16, N // 4), SQUARE, lambda r: [floats(r, N, N), np.zeros((N, N), F32), U32(N)], lambda v, out, n: {1: smoothed(v)}),
    "bitonic_sort": Case((3, 1), (128, 1), lambda r: [integers(r, 3, 128), np.zeros((3, 128), I32)], lambda v, out: {1: np.sort(v, 1)}),
    "mandelbrot": Case((8, 1), LINE, lambda r: [np.zeros(512, U32), U32(32)], lambda out, width: {0: escape(512, 32)}),
    "bodies": Case((2, 1), LINE, lambda r: [np.abs(floats(r, 128, 4)), np.zeros((128, 4), F32), U32(128)],
                   lambda v, out, n: {1: attracted(v)}, 1e-4),
    "doubles": Case((2, 1), LINE, lambda r: [r.standard_normal(128) * 9, r.standard_normal(128) * 5, np.zeros((128, 4))],
                    lambda a, b, out: {2: doubled(a, b)}),
    "halves": Case((2, 1), LINE, lambda r: [*floats(r, 2, 128, 2).astype(np.float16), np.zeros((128, 2, 2), np.float16)],
                   lambda a, b, out: {2: half_pairs(a, b)}),
    "checksum": Case((1, 1), LINE, lambda r: [r.integers(0, 256, (64, 12)).astype(np.uint8), np.zeros(64, U32), U32(12)],
                     lambda v, out, each: {1: np.array([zlib.crc32(row.tobytes()) for row in v], U32)}),
    "random_walk": Case((2, 1), LINE, lambda r: [r.integers(1, 1 << 63, 128).astype(np.uint64), U32(9)], lambda v, steps: {0: walked(v, 9)}),
    "bits": Case((2, 1), LINE, lambda r: [words(r, 128) >> r.integers(0, 33, 128).clip(0, 31).astype(U32), np.zeros((128, 4), U32)],
                 lambda v, out: {1: bit_counts(v)}),
    "pixels": Case((2, 1), LINE, lambda r: [r.integers(0, 256, (128, 4)).astype(np.uint8), np.zeros((128, 4), np.uint8)],
                   lambda v, out: {1: greyed(v)}),
    "private_sort": Case((2, 1), LINE, lambda r: [integers(r, 128, 24), np.zeros((128, 24), I32)], lambda v, out: {1: np.sort(v, 1)}),
    "machine": Case((2, 1), LINE, lambda r: [r.integers(0, 256, (4, 40)).astype(np.uint8), integers(r, 128), np.zeros(128, I32), U32(40)],
                    lambda program, v, out, length: {2: interpreted(program, v)}),
    "calls": Case((2, 1), LINE, lambda r: [words(r, 128), np.zeros(128, U32)], lambda v, out: {1: called(v)}),
    "compare_and_swap": Case((2, 1), LINE, lambda r: [np.abs(floats(r, 128)), np.array([9.0], F32).view(U32), np.zeros(2, np.uint64)],
                             lambda v, least, total: {1: v.min().reshape(1).view(U32), 2: np.array(
                                 [v.view(U32).astype(np.uint64).sum() << np.uint64(8), v.view(U32).max()], np.uint64)}),
    "sparse": Case((2, 1), LINE, csr, lambda starts, columns, values, x, out: {4: rows_times(starts, columns, values, x)}),
    "life": Case((N // 16, N // 4), SQUARE, lambda r: [r.integers(0, 2, (N, N)).astype(np.uint8), np.zeros((N, N), np.uint8), U32(N)],
                 lambda v, out, n: {1: generation(v)}),
    "table": Case((2, 1), LINE, lambda r: [words(r, 128), np.zeros(128, U32)], lambda v, out: {1: looked_up(v)}),
    "exponentials": Case((2, 1), LINE, lambda r: [floats(r, 128) * 5, np.zeros((128, 4), F32)], lambda v, out: {1: elementary(v)}, 2e-6),
    "flat": Case((2, 1), LINE, lambda r: [words(r, 128), np.zeros(128, U32)], lambda v, out: {1: through_pointers(v)}),
    "matrix": Case((1, 1), LINE, lambda r: [*r.integers(-9, 10, (2, 16, 16)).astype(F32), np.zeros((16, 16), F32)],
                   lambda a, b, out: {2: a @ b}, targets=("gfx942",)),
}  # fmt: skip
#: Target, wave size and optimisation; unoptimised code keeps every variable on the stack.
BUILDS = [(target, wave, level) for target, waves in (
          ("gfx600", (64,)), ("gfx700", (64,)), ("gfx803", (64,)), ("gfx900", (64,)), ("gfx942", (64,)), ("gfx1030", (32, 64)), ("gfx1100", (32, 64)),
          ("gfx1170", (32, 64)), ("gfx1200", (32, 64)), ("gfx1250", (32,)), ("gfx1310", (32,)))
          for wave in waves for level in ("-O0", "-O2")]  # fmt: skip
QUICK = [("gfx600", 64, "-O2"), ("gfx700", 64, "-O0"), ("gfx900", 64, "-O0"), ("gfx942", 64, "-O2"), ("gfx1100", 32, "-O2"), ("gfx1170", 64, "-O2"),
         ("gfx1250", 32, "-O2")]


@cache
def compiled(target: str, wave: int, level: str, folder: Path) -> Any:
    return compile_kernels(SOURCE, target, wave, level, folder, *([BARE] if target.startswith(NEWER) else []))


def differences(name: str, case: Case, arguments: Sequence[Any], results: dict[int, np.ndarray]) -> list[str]:
    with np.errstate(all="ignore"):
        expected = case.expected(*arguments)
    found = []
    for number, wanted in expected.items():
        actual, wanted = results[number].reshape(-1), np.ascontiguousarray(wanted).reshape(-1)
        assert actual.dtype == wanted.dtype, (name, actual.dtype, wanted.dtype)
        wrong = ~np.isclose(actual, wanted, case.tolerance, case.tolerance) if case.tolerance else actual != wanted
        places = np.flatnonzero(wrong)[:6]
        if wrong.any():
            found.append(f"{name}: {wrong.sum()} of {wrong.size} at {places}: {actual[places]}, expected {wanted[places]}")
    return found


@pytest.mark.parametrize("engine", ["reference", "fast", "checked"])
@pytest.mark.parametrize(("target", "wave", "level"),
                         [build if build in QUICK else pytest.param(*build, marks=pytest.mark.slow) for build in BUILDS])
def test_kernels(target: str, wave: int, level: str, engine: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    if engine == "checked" and (target, wave, level) not in QUICK and not os.environ.get("PYACO_EXHAUSTIVE"):
        pytest.skip("a minute more: set PYACO_EXHAUSTIVE to check waits and races of every build")
    folder = tmp_path_factory.getbasetemp()
    code = compiled(target, wave, level, folder)
    cases = dict(CASES)
    if target not in ("gfx600", "gfx700"):                  # which have neither DPP nor permutes
        cases["lanes"] = Case((2, 1), LINE, lambda r: [words(r, 128), np.zeros((128, 3), U32)], lambda v, out: {1: exchanged(v, wave)})
    else:                                                   # and compute halves as singles
        cases["halves"] = replace(cases["halves"], expected=lambda a, b, out: {2: half_pairs(a, b, F32)})
    if target == "gfx600":
        del cases["flat"]
    done = 0
    wrong: list[str] = []
    for name, case in cases.items():
        if case.targets and target not in case.targets:
            continue
        random = np.random.default_rng(sum(map(ord, name)))
        arguments = case.arguments(random)
        device = Device(target, **({"check": set(CHECKS)} if engine == "checked" else {"engine": engine}))
        given = [device.buffer(value) if isinstance(value, np.ndarray) else value for value in arguments]
        Program(device, code).run(name, case.groups, case.size, given)
        results = {number: buffer.numpy() for number, buffer in enumerate(given) if isinstance(arguments[number], np.ndarray)}
        wrong += differences(name, case, arguments, results)
        done += 1
    print(f"{target} wave{wave} {level} {engine}: {done} kernels")
    assert not wrong, "\n".join(wrong)
    assert done >= len(cases) - 1 >= 25
