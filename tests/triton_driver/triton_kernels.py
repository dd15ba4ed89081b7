"""Small Triton kernels for the tests of the driver. Triton reads their source, so they have a file of their own, without annotations' import."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < count
    tl.store(out + index, tl.load(x + index, mask) + tl.load(y + index, mask), mask)
