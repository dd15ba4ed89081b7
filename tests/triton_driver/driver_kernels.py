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
def say(x, BLOCK: tl.constexpr):
    tl.device_print("value", tl.load(x + tl.arange(0, BLOCK)), tl.program_id(0))


@triton.jit
def say_all(x, half, wide, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    tl.device_print("single", tl.load(x + index))
    tl.device_print("half", tl.load(half + index))
    tl.device_print("wide", tl.load(wide + index), hex=True)
    tl.device_print("nothing else, and a long text with more than fifty-six characters in its format", tl.program_id(1))


@triton.jit
def insist(x, out, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + index)
    tl.device_assert(values > 0, "must be positive")
    tl.store(out + index, values)


@triton.jit
def spill(x, out, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    values = tl.load(x + index)
    tl.store(out + index, tl.cumsum(values, 0) + tl.flip(values) * values)


@triton.jit
def cubes(out, WIDTH: tl.constexpr):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    tl.store(out + (z * tl.num_programs(1) + y) * tl.num_programs(0) + x, x + 10 * y + 100 * z)


@triton.jit
def described(x, out, rows, columns, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [BLOCK, BLOCK])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [BLOCK, BLOCK])
    target.store([BLOCK * tl.program_id(0), 0], source.load([BLOCK * tl.program_id(0), 0]) + 1)


@triton.autotune([triton.Config({"BLOCK": 64}, num_warps=1), triton.Config({"BLOCK": 512}, num_warps=4)], key=["count"], reset_to_zero=["out"])
@triton.heuristics({"DOUBLED": lambda arguments: arguments["count"] > 100})
@triton.jit
def tuned(x, out, count, BLOCK: tl.constexpr, DOUBLED: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + index, index < count)
    tl.store(out + index, values * 2 if DOUBLED else values, index < count)


@triton.jit
def meet(x, out, arrived, BLOCK: tl.constexpr):
    here, count = tl.program_id(0), tl.num_programs(0)
    index = tl.arange(0, BLOCK)
    tl.store(x + here * BLOCK + index, here + index)
    tl.debug_barrier()
    tl.atomic_add(arrived, 1, sem="release")
    while tl.atomic_add(arrived, 0, sem="acquire") < count:
        pass
    tl.debug_barrier()
    tl.store(out + here * BLOCK + index, tl.load(x + (here + 1) % count * BLOCK + index, cache_modifier=".cv"))


@triton.jit
def store_at(out, address, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    target = (tl.cast(address, tl.int64) + index * 4).to(tl.pointer_type(tl.float32))
    tl.store(target, tl.load(out + index))


@triton.jit
def add_at(out, address, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    target = (tl.cast(address, tl.int64) + index * 4).to(tl.pointer_type(tl.float32))
    tl.atomic_add(target, tl.load(out + index))


@triton.jit
def wait_forever(x, out, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    while tl.load(x) == 0:
        tl.store(out + index, 1.0)
