"""Run one ALU opcode over arrays, through passes, in the NIR interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pyaco._core.ir.shader import Shader
from pyaco.nir import interpreter
from pyaco.nir.builder import Builder

UINT = {1: np.uint32, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
TYPE_NAMES = {8: "uint", 16: "uint", 32: "uint", 64: "uint"}


def buffer(b: Builder, binding: int, bit_size: int) -> int:
    """A deref of a runtime-sized array of scalars in set 0."""
    element = b.scalar("uint", bit_size)
    array = b.array(element, 0, bit_size // 8)
    block = b.struct((array, 0))
    b.variable("ssbo", block, set=0, binding=binding)
    index = b.vulkan_resource_index(b.imm(0), components=3, desc_set=0, binding=binding, desc_type=7)
    pointer = b.load_vulkan_descriptor(index, components=3, desc_type=7)
    return b.deref_struct(b.deref_cast(pointer, block, "ssbo"), 0)


def lanes_shader(body: Callable[..., int], sizes: Sequence[int], result_size: int, count: int, **facts: Any) -> Shader:
    """A shader that stores body(builder, inputs of this lane) for every lane of one workgroup."""
    b = Builder(workgroup_size=(count, 1, 1), **facts)
    lane = b.load_local_invocation_index()
    inputs = [b.load(b.deref_array(buffer(b, i, size), lane)) for i, size in enumerate(sizes)]
    value = body(b, *inputs)
    if b.bit_size(value) == 1:
        value = b.b2i32(value)
    b.store(b.deref_array(buffer(b, len(sizes), result_size), lane), value)
    return b.finish()


def run_lanes(shader: Shader, inputs: Sequence[np.ndarray], result_size: int, wave: int = 64) -> np.ndarray:
    """Execute a ``lanes_shader`` and return what it stored."""
    out = np.zeros(len(inputs[0]), UINT[result_size])
    buffers = {(0, i): data.copy() for i, data in enumerate(inputs)}
    buffers[0, len(inputs)] = out
    interpreter.run(shader, (1,), buffers, wave=wave)
    return out


def opcode_body(name: str) -> Callable[..., int]:
    """A body that is one ALU opcode."""
    return lambda b, *inputs: b.alu(name, *inputs)


def compare(body: Callable[..., int], inputs: Sequence[np.ndarray], result_size: int,
            lower: Callable[[Shader], object], **facts: Any) -> tuple[np.ndarray, np.ndarray]:
    """Results before and after `lower`."""
    sizes = [data.dtype.itemsize * 8 for data in inputs]
    before = run_lanes(lanes_shader(body, sizes, result_size, len(inputs[0]), **facts), inputs, result_size)
    shader = lanes_shader(body, sizes, result_size, len(inputs[0]), **facts)
    lower(shader)
    return before, run_lanes(shader, inputs, result_size)


def interesting(bits: int, count: int, seed: int) -> np.ndarray:
    """Random integers with the edges among them."""
    random = np.random.default_rng(seed)
    values = random.integers(0, 1 << bits, count, dtype=np.uint64, endpoint=False) if bits < 64 else \
        random.integers(0, 1 << 63, count, dtype=np.uint64) * np.uint64(2) + random.integers(0, 2, count, np.uint64)
    shifts = random.integers(0, bits, count).astype(np.uint64)
    values = np.where(random.random(count) < 0.5, values >> shifts, values)
    edges = [0, 1, 2, 3, 7, 10, (1 << (bits - 1)) - 1, 1 << (bits - 1), (1 << (bits - 1)) + 1, (1 << bits) - 1,
             (1 << bits) - 2, (1 << bits) - 10]
    values[: len(edges)] = np.array(edges, np.uint64)
    random.shuffle(values)
    return (values & np.uint64((1 << bits) - 1)).astype(UINT[bits])
