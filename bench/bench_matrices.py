"""Speed of matrix instructions: how many a second, beside the reference engine, and a product of 512 x 512 halves beside NumPy's of singles.

Times are CPU time of one thread, warm, the least of several runs. The product is machine code written here: every wave makes a tile of 64 x 64,
and loads its parts of A and of B transposed from memory.

``python bench/bench_matrices.py`` prints the figures; pytest runs the same measurements.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")         # threads that wait for work would count as CPU time

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pyaco import isa
from pyaco.emu import Device, Report

pytestmark = pytest.mark.benchmark(timer=time.process_time)
EDGE, TILE, LOOPS, WAVES = 512, 64, 100, 8

#: By target: a mnemonic, and the registers of D and C, A, B.
OPERATIONS = {
    "gfx942": {
        "v_mfma_f32_32x32x8_f16": (16, 2, 2), "v_mfma_f32_16x16x16_bf16": (4, 2, 2), "v_mfma_f32_32x32x16_fp8_fp8": (16, 2, 2),
        "v_mfma_i32_32x32x16_i8": (16, 2, 2), "v_mfma_f32_32x32x2_f32": (16, 1, 1), "v_mfma_f64_16x16x4_f64": (8, 2, 2),
    },
    "gfx950": {"v_mfma_f32_32x32x16_f16": (16, 4, 4), "v_mfma_f32_32x32x64_f8f6f4": (16, 8, 8)},
    "gfx1100": {"v_wmma_f32_16x16x16_f16": (8, 8, 8), "v_wmma_f16_16x16x16_f16": (8, 8, 8), "v_wmma_i32_16x16x16_iu8": (8, 4, 4)},
    "gfx1201": {"v_wmma_f32_16x16x16_f16": (8, 4, 4), "v_wmma_f32_16x16x16_fp8_fp8": (8, 2, 2)},
}  # fmt: skip
#: How many times faster than the reference engine at least.
FASTER = 4


class Unit(NamedTuple):
    """The instruction of a product: D = A B + C of `edge` rows and columns. Lanes of `groups` share the inner dimension."""

    wave: int
    edge: int
    depth: int
    groups: int
    group_rows: int                   # from the row of one lane group of D to that of the next

    @property
    def lane_bytes(self) -> int:
        """Halves of A, or of B, in a lane."""
        return 2 * self.depth // self.groups

    def row(self, register: int) -> int:
        """The row of D's register in the first lane group."""
        return {1: 2 * register, 4: 8 * (register // 4) + register % 4, 8: register}[self.group_rows]


UNITS = {"gfx942": Unit(64, 32, 8, 2, 4), "gfx950": Unit(64, 32, 16, 2, 4), "gfx1100": Unit(32, 16, 16, 1, 1), "gfx1201": Unit(32, 16, 16, 2, 8)}


def span(first: int, count: int) -> str:
    """Registers."""
    return f"v[{first}:{first + count - 1}]" if count > 1 else f"v{first}"


def product_text(target: str) -> str:
    """A kernel of one wave a workgroup: C (singles, at s[8:9]) = A (halves, s[4:5]) times what is at s[6:7] transposed."""
    unit = UNITS[target]
    name = next(iter(OPERATIONS[target]))
    late, cdna = target == "gfx1201", unit.wave == 64
    load, store = ("global_load_dwordx", "global_store_dword") if cdna else ("global_load_b", "global_store_b32")
    column, row = ("ttmp9", "s13") if late else ("s2", "s3")
    parts, held, sums = TILE // unit.edge, unit.lane_bytes // 4, unit.edge * unit.edge // unit.wave
    add = "v_add_u32" if cdna else "v_add_nc_u32"
    addresses = {which: [10 + parts * which + part for part in range(parts)] for which in range(2)}
    inputs = {which: [20 + held * (parts * which + part) for part in range(parts)] for which in range(2)}
    first = 20 + 2 * held * parts
    lines = ["s_load_dwordx4 s[4:7], s[0:1], 0x0", "s_load_dwordx2 s[8:9], s[0:1], 0x10"]
    lines += ["s_wait_kmcnt 0x0", "s_and_b32 s13, ttmp7, 0xffff"] if late else ["s_waitcnt lgkmcnt(0)"]
    lines += ["v_and_b32 v0, 0x3ff, v0", f"v_and_b32 v1, {unit.edge - 1}, v0", f"v_lshrrev_b32 v2, {unit.edge.bit_length() - 1}, v0",
              f"s_lshl_b32 s10, {row}, 6", f"s_lshl_b32 s11, {column}, 6"]  # fmt: skip
    for which, start in ((0, "s10"), (1, "s11")):
        for part, register in enumerate(addresses[which]):
            lines += [f"v_mov_b32 v3, {start}", f"{add} v3, {unit.edge * part}, v3", f"{add} v3, v3, v1", "v_lshlrev_b32 v3, 10, v3"]
            lines += [f"v_mul_u32_u24 v4, {unit.lane_bytes if unit.groups > 1 else 0}, v2", f"{add} v{register}, v3, v4"]
    lines += [f"v_mov_b32 v{first + number}, 0" for number in range(parts * parts * sums)]
    lines += [f"s_movk_i32 s12, {EDGE // unit.depth}", "loop:"]
    for which, base in ((0, "s[4:5]"), (1, "s[6:7]")):
        for register, data in zip(addresses[which], inputs[which], strict=True):
            for place in range(0, held, 4):
                count = min(held, 4)
                lines.append(f"{load}{count if cdna else 32 * count} {span(data + place, count)}, v{register}, {base} offset:{4 * place}")
            lines.append(f"{add} v{register}, {2 * unit.depth}, v{register}")
    lines.append("s_wait_loadcnt 0x0" if late else "s_waitcnt vmcnt(0)")
    for left in range(parts):
        for right in range(parts):
            total = span(first + sums * (parts * left + right), sums)
            lines.append(f"{name} {total}, {span(inputs[0][left], held)}, {span(inputs[1][right], held)}, {total}")
    lines += ["s_sub_i32 s12, s12, 1", "s_cmp_lg_u32 s12, 0", "s_cbranch_scc1 loop"]
    for left in range(parts):
        for register in range(sums):
            lines += ["v_mov_b32 v3, s10", f"{add} v3, {unit.edge * left + unit.row(register)}, v3",
                      f"v_mul_u32_u24 v4, {unit.group_rows}, v2", f"{add} v3, v3, v4", "v_lshlrev_b32 v3, 9, v3", f"{add} v3, s11, v3",
                      f"{add} v3, v3, v1", "v_lshlrev_b32 v3, 2, v3"]  # fmt: skip
            for right in range(parts):
                data = first + sums * (parts * left + right) + register
                lines.append(f"{store} v3, v{data}, s[8:9] offset:{4 * unit.edge * right}")
    return "\n".join([*lines, "s_endpgm", ""])


class Product:
    """The product with its matrices on a device."""

    def __init__(self, target: str, engine: str = "fast") -> None:
        self.unit = UNITS[target]
        self.device = Device(target, engine, 1)
        random = np.random.default_rng(1)
        self.a, self.b = (random.standard_normal((EDGE, EDGE)).astype(np.float16) for _ in range(2))
        self.result = self.device.zeros(4 * EDGE * EDGE)
        self.buffers = [self.device.buffer(self.a), self.device.buffer(np.ascontiguousarray(self.b.T)), self.result]
        self.arguments = self.device.buffer(np.array([buffer.address for buffer in self.buffers], np.uint64))
        self.code = isa.assemble(product_text(target), target, wave_size=self.unit.wave)

    def run(self) -> Report:
        """Multiply once."""
        address = self.arguments.address
        return self.device.run(self.code, (EDGE // TILE, EDGE // TILE, 1), (self.unit.wave, 1, 1), user_sgprs=(address & 0xFFFFFFFF, address >> 32),
                               workgroup_ids=(True, True, False), wave_size=self.unit.wave)  # fmt: skip


class Instructions:
    """Waves that execute one matrix instruction again and again, on small finite numbers."""

    def __init__(self, target: str, name: str, engine: str = "fast") -> None:
        self.wave = UNITS[target].wave
        self.device = Device(target, engine, 1)
        sums, left, right = OPERATIONS[target][name]
        total = span(64, sums)
        lines = [f"v_mov_b32 v{row}, 0x3c003800" for row in range(16, 40)] + [f"v_mov_b32 v{row}, 0" for row in range(64, 64 + sums)]
        lines += [f"s_movk_i32 s12, {LOOPS}", "loop:", *[f"{name} {total}, {span(16, left)}, {span(24, right)}, {total}"] * 8,
                  "s_sub_i32 s12, s12, 1", "s_cmp_lg_u32 s12, 0", "s_cbranch_scc1 loop", "s_endpgm", ""]  # fmt: skip
        self.code = isa.assemble("\n".join(lines), target, wave_size=self.wave)

    def run(self, waves: int = WAVES) -> Report:
        """Execute 800 a wave."""
        return self.device.run(self.code, (waves, 1, 1), (self.wave, 1, 1), wave_size=self.wave)


def seconds_of(target: str, name: str, engine: str = "fast") -> float:
    """CPU time of one instruction."""
    instructions = Instructions(target, name, engine)
    waves = WAVES if engine == "fast" else 1
    return best(lambda: instructions.run(waves), 7 if engine == "fast" else 2) / (8 * LOOPS * waves)


def best(run: object, repetitions: int = 7) -> float:
    """The least CPU time of several runs, after one to warm up."""
    assert callable(run)
    run()
    times = []
    for _ in range(repetitions):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def numpy_seconds() -> float:
    """CPU time, of all its threads, of NumPy's product of the same size in singles."""
    a, b = (np.random.default_rng(seed).standard_normal((EDGE, EDGE)).astype(np.float32) for seed in range(2))
    return best(lambda: a @ b, 20)


# ----------------------------------------------------------------------------------------------------------------- tests
@pytest.mark.parametrize("target", list(UNITS))
def test_product(benchmark: BenchmarkFixture, target: str) -> None:
    """The product is right; its time beside NumPy's."""
    product = Product(target)
    benchmark.pedantic(product.run, rounds=7, warmup_rounds=1)
    assert benchmark.stats is not None
    benchmark.extra_info["times_numpy"] = benchmark.stats.stats.min / numpy_seconds()
    found = product.result.numpy().view(np.float32).reshape(EDGE, EDGE)
    assert np.allclose(found, product.a.astype(np.float32) @ product.b.astype(np.float32), atol=1e-3)


@pytest.mark.parametrize(("target", "name"), [(target, name) for target, names in OPERATIONS.items() for name in names])
def test_instruction(target: str, name: str) -> None:
    """Many times faster than the reference engine."""
    ratio = seconds_of(target, name, "reference") / seconds_of(target, name)
    print(f"{target} {name}: {ratio:.1f} times the reference engine")
    assert ratio >= FASTER


def main() -> None:
    """Print the figures."""
    peer = numpy_seconds()
    print(f"{'instruction':44}{'million/s':>11}{'x reference':>13}")
    for target, names in OPERATIONS.items():
        for name in names:
            seconds = seconds_of(target, name)
            print(f"{target + ' ' + name:44}{1e-6 / seconds:11.2f}{seconds_of(target, name, 'reference') / seconds:13.1f}")
    print(f"\n{'512 x 512 halves':20}{'ms':>8}{'x reference':>13}{'of NumPy':>10}   (NumPy, singles: {peer * 1e3:.1f} ms)")
    for target in UNITS:
        seconds = best(Product(target).run)
        print(f"{target:20}{seconds * 1e3:8.1f}{best(Product(target, 'reference').run, 1) / seconds:13.1f}{seconds / peer:10.1f}")


if __name__ == "__main__":
    main()
