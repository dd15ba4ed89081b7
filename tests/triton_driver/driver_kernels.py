"""Small Triton kernels for the tests of the driver; Triton compiles their source, so they stand in a file of their own."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < count
    tl.store(out + index, tl.load(x + index, mask) + tl.load(y + index, mask), mask)


@triton.jit
def scale(x, out, factors, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + index, tl.load(x + index) * factors[0] + factors[1])


@triton.jit
def softmax(x, out, rows, columns, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        values = tl.load(x + row * columns + index, index < columns, float("-inf"))
        raised = tl.exp(values - tl.max(values, 0))
        tl.store(out + row * columns + index, raised / tl.sum(raised, 0), index < columns)


@triton.jit
def product(a, b, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STEP: tl.constexpr):
    i, j, k = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :], tl.arange(0, STEP)
    total = tl.zeros((M, N), tl.float32)
    for first in tl.range(0, K, STEP):
        total = tl.dot(tl.load(a + i * K + first + k[None, :]), tl.load(b + (first + k[:, None]) * N + j), total)
    tl.store(out + i * N + j, total)


@triton.jit
def count(out, ONE: tl.constexpr):
    tl.atomic_add(out + tl.arange(0, 8), tl.full((8,), ONE, out.dtype.element_ty))


@triton.jit
def reverse_sum(x, out, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    tl.store(out + index, tl.cumsum(tl.flip(tl.load(x + index)), 0))


@triton.jit
def through_address(addresses, out, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    source = tl.load(addresses).to(tl.pointer_type(tl.float32))
    tl.store(out + index, tl.load(source + index))


@triton.jit
def types(out, half, single, double, brain, byte, flag, large):
    tl.store(out, half.to(tl.float64))
    tl.store(out + 1, single.to(tl.float64))
    tl.store(out + 2, double.to(tl.float64))
    tl.store(out + 3, brain.to(tl.float64))
    tl.store(out + 4, byte.to(tl.float64))
    tl.store(out + 5, flag.to(tl.float64))
    tl.store(out + 6, large.to(tl.float64))


@triton.jit
def say(x):
    tl.device_print("value", tl.load(x))


@triton.autotune([triton.Config({"BLOCK": 64}, num_warps=1), triton.Config({"BLOCK": 512}, num_warps=4)], key=["count"])
@triton.heuristics({"DOUBLED": lambda arguments: arguments["count"] > 100})
@triton.jit
def tuned(x, out, count, BLOCK: tl.constexpr, DOUBLED: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + index, index < count)
    tl.store(out + index, values * 2 if DOUBLED else values, index < count)
