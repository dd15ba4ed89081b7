"""What a test of one shader consists of: inputs, and the rule by which each buffer is judged afterwards.

Nothing here needs pyaco or a Vulkan driver, so that every room can use the same cases.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import numpy as np

HERE = Path(__file__).resolve().parent
SEED = 20240

#: (set, binding), (set, binding, element of a descriptor array), or a name for a buffer reached by address only.
BufferKey: TypeAlias = tuple[int, int] | tuple[int, int, int] | str
Model: TypeAlias = Callable[["Inputs", int], Mapping[BufferKey, np.ndarray]]


@dataclass(frozen=True)
class Exact:
    """Bit for bit; with ``unordered``, the same elements in any order (results of racing appends)."""

    unordered: bool = False

    def difference(self, expected: np.ndarray, actual: np.ndarray) -> np.ndarray:
        """Mask of the elements that disagree."""
        if self.unordered:
            expected, actual = np.sort(expected, axis=0), np.sort(actual, axis=0)
        size = expected.dtype.itemsize
        kind = np.dtype((np.void, size)) if size not in (1, 2, 4, 8) else np.dtype(f"u{size}")
        return expected.reshape(-1).view(kind) != actual.reshape(-1).view(kind)


@dataclass(frozen=True)
class Close:
    """``|actual - expected| <= absolute + relative * |expected|``; NaN agrees with NaN, infinities with themselves."""

    relative: float = 0.0
    absolute: float = 0.0

    def difference(self, expected: np.ndarray, actual: np.ndarray) -> np.ndarray:
        """Mask of the elements that disagree."""
        wanted, found = (array.reshape(-1).astype(np.float64) for array in (expected, actual))
        return ~np.isclose(found, wanted, self.relative, self.absolute, equal_nan=True)


Rule: TypeAlias = Exact | Close


@dataclass(frozen=True)
class Buffer:
    """Initial contents of a buffer and how its final contents are judged (inputs: must be as they were)."""

    data: np.ndarray
    rule: Rule = Exact()
    uniform: bool = False


@dataclass(frozen=True)
class Inputs:
    """Everything one dispatch reads.

    ``references`` maps (place, byte offset) to the name of a buffer whose device address is written there before the
    dispatch; place is ``"push"`` or the key of a buffer.
    """

    buffers: Mapping[BufferKey, Buffer]
    push: bytes = b""
    references: Mapping[tuple[BufferKey, int], str] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """A shader, how to dispatch it, and who says what is right.

    With a ``model``, the model's results are what is expected (needed where results depend on the subgroup size);
    otherwise those of a Vulkan driver.
    """

    name: str
    make_inputs: Callable[[np.random.Generator], Inputs]
    groups: tuple[int, int, int]
    shader: str
    spec: Mapping[int, int | float] = field(default_factory=dict)
    model: Model | None = None
    entry: str = "main"

    @property
    def spirv(self) -> Path:
        return HERE / f"{self.shader}.spv"

    def inputs(self) -> Inputs:
        """The inputs, the same on every call."""
        return self.make_inputs(np.random.default_rng(SEED))


CASES: dict[str, Case] = {}


def case(
    groups: tuple[int, int, int] | int,
    *,
    shader: str | None = None,
    spec: Mapping[int, int | float] | None = None,
    model: Model | None = None,
) -> Callable[[Callable[[np.random.Generator], Inputs]], Callable[[np.random.Generator], Inputs]]:
    """Register the decorated maker of inputs as the case of that name."""

    def register(make_inputs: Callable[[np.random.Generator], Inputs]) -> Callable[[np.random.Generator], Inputs]:
        name = make_inputs.__name__
        if name in CASES:
            raise ValueError(f"two cases are named {name}")
        grid = (groups, 1, 1) if isinstance(groups, int) else groups
        CASES[name] = Case(name, make_inputs, grid, shader or name, dict(spec or {}), model)
        return make_inputs

    return register


def pack(layout: str, *values: float | int) -> bytes:
    """Little-endian bytes of push constants."""
    return struct.pack("<" + layout, *values)


def float32(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.standard_normal(shape, dtype=np.float32)


def uint32(random: np.random.Generator, *shape: int, high: int = 1 << 32) -> np.ndarray:
    return random.integers(0, high, shape, dtype=np.uint32)


def rounding(operations: float, magnitude: float, bits: int = 24) -> Close:
    """Absolute tolerance for a sum of correctly rounded operations in another order or contracted into fused ones.

    Each of ``operations`` may be off by half a unit in the last place of the largest intermediate ``magnitude``.
    """
    return Close(absolute=operations * magnitude * 2.0**-bits)
