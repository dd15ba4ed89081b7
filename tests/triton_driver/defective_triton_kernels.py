"""Triton kernels with a planted defect each, at the line that bears its name in a comment."""
# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def no_mask(x, out, count, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + index)                                         # DEFECT no_mask
    tl.store(out + tl.program_id(0), tl.sum(tl.where(index < count, values, 0)))


@triton.jit
def wrong_stride(x, out, stride, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    values = tl.load(x + index)
    tl.store(out + index * stride, values)                              # DEFECT wrong_stride


@triton.jit
def before_the_start(x, out, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    left = tl.load(x + index - 1)                                       # DEFECT before_the_start
    tl.store(out + index, left)


@triton.jit
def lost_update(out):
    before = tl.load(out)
    tl.store(out, before + tl.program_id(0))                            # DEFECT lost_update


@triton.jit
def overlapping_blocks(out, STEP: tl.constexpr, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    tl.store(out + program * STEP + tl.arange(0, BLOCK), program)       # DEFECT overlapping_blocks


@triton.jit
def neighbour(x, out, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    tl.store(out + index, index)
    values = tl.load(out + (index + 64) % BLOCK)                        # DEFECT neighbour
    tl.store(x + index, values)


@triton.jit
def misaligned(out):
    tl.atomic_add(out + tl.arange(0, 8), 1)                             # DEFECT misaligned


@triton.jit
def separate_programs(out, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + index, index)
    tl.debug_barrier()
    values = tl.load(out + (index ^ 64))
    tl.debug_barrier()
    tl.store(out + index, values)
    tl.atomic_add(out, 1)
