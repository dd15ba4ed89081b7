"""Which swizzle modes a chip has, what each is, and the address equation of every (mode, element size, samples).

Sources: the mode tables and pattern tables of AMD's addrlib (``gfx9addrlib.cpp``, ``gfx10addrlib.cpp``, ``gfx11addrlib.cpp``,
``gfx12addrlib.cpp`` and the headers beside them), read for facts; ``data/swizzle_gfx*.txt``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import product

import numpy as np
from numpy.typing import NDArray

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.enums import SwizzleMode, SwizzleMode3
from pyaco.addrlib.equation import Equation
from pyaco.addrlib.generations import Generation
from pyaco.addrlib.gfx9_equations import offset_bits, pack
from pyaco.errors import UnsupportedError
from pyaco.targets.features import has_gfx12_swizzle_modes, has_swizzle_modes, has_variable_blocks

__all__ = ["MAX_BITS", "MODES", "Mode", "SwizzleTables", "modes", "swizzle_tables"]

MODES = 33
"""Size of tables that a swizzle mode indexes."""
MAX_BITS = 20
"""No block is larger than 1 MiB."""
MAX_TERMS = 3
"""addrlib numbers only equations whose bits have at most this many terms (GFX10, GFX11)."""


@dataclass(frozen=True)
class Mode:
    """One swizzle mode of a chip.

    Attributes
    ----------
    number : int
        Value of `SwizzleMode` or `SwizzleMode3`.
    kind : str
        ``L`` linear; ``Z``, ``S``, ``D``, ``R``; GFX12: ``2`` or ``3``.
    block_log2 : int
        log2 of the block's bytes (8 for linear: the pitch alignment).
    xor : bool
        Whether pipe and bank bits are xored.
    prt : bool
        T modes: xor stays inside the block.
    """

    number: int
    kind: str
    block_log2: int
    xor: bool
    prt: bool


_SIZES = {"256B": 8, "4KB": 12, "64KB": 16, "256KB": 18}
# The tiled modes of each generation whose modes are those of `SwizzleMode`.
_MODES = {
    Generation.GFX9:
        "256B_S 256B_D 256B_R 4KB_Z 4KB_S 4KB_D 4KB_R 64KB_Z 64KB_S 64KB_D 64KB_R 64KB_Z_T 64KB_S_T 64KB_D_T 64KB_R_T "
        "4KB_Z_X 4KB_S_X 4KB_D_X 4KB_R_X 64KB_Z_X 64KB_S_X 64KB_D_X 64KB_R_X",
    Generation.GFX10:
        "256B_S 256B_D 4KB_S 4KB_D 64KB_S 64KB_D 64KB_S_T 64KB_D_T 4KB_S_X 4KB_D_X 4KB_R_X 64KB_Z_X 64KB_S_X 64KB_D_X 64KB_R_X VAR_Z_X VAR_R_X",
    Generation.GFX11:
        "256B_D 4KB_S 4KB_D 64KB_S 64KB_D 64KB_S_T 64KB_D_T 4KB_S_X 4KB_D_X 64KB_Z_X 64KB_S_X 64KB_D_X 64KB_R_X "
        "256KB_Z_X 256KB_S_X 256KB_D_X 256KB_R_X",
}
# Files of address patterns by hardware level; those of GFX9 are computed.
_PATTERNS = {100: "swizzle_gfx10", 103: "swizzle_gfx103", 110: "swizzle_gfx11", 115: "swizzle_gfx11", 120: "swizzle_gfx12"}


def var_block_log2(config: GpuConfig) -> int:
    """Return log2 of the bytes of a VAR block: 16 KiB per pipe on GFX10.3, 0 where there is none."""
    return config.pipes_log2 + 14 if config.supports_rbplus else 0


@cache
def modes(config: GpuConfig) -> dict[int, Mode]:
    """Return the swizzle modes of a chip by number."""
    if has_gfx12_swizzle_modes(config.level):
        found = {0: Mode(0, "L", 8, False, False)}
        for mode in list(SwizzleMode3)[1:]:
            _, size, kind = mode.name.split("_")
            found[mode] = Mode(mode, kind[0], _SIZES[size], size != "256B", False)
        return found
    if not has_swizzle_modes(config.level):
        raise UnsupportedError(f"{config.name}: chips before GFX9 have tile modes, not swizzle modes")
    names = _MODES[config.generation].split()
    found = {m: Mode(m, "L", 8, False, False) for m in (SwizzleMode.LINEAR, SwizzleMode.LINEAR_GENERAL)}
    for name in names:
        size, kind, *variant = name.split("_")
        number = SwizzleMode[f"SW_{name}"]
        # VAR modes stay valid modes on GFX10.1, with no block size: every use of one is then an error.
        block = var_block_log2(config) if size == "VAR" else _SIZES[size]
        found[number] = Mode(number, kind, block, bool(variant), variant == ["T"])
    return found


def is_thick(config: GpuConfig, mode: Mode) -> bool:
    """Whether a 3D resource has blocks with depth in this mode."""
    return mode.kind in {Generation.GFX9: "ZS", Generation.GFX12: "3"}.get(config.generation, "SD")


# log2 of width, height, depth of a thick block of 1 KiB, by log2 of the element's bytes.
_THICK_1KB = ((4, 3, 3), (3, 3, 3), (3, 3, 2), (3, 2, 2), (2, 2, 2))


def block_extent_log2(config: GpuConfig, mode: Mode, volume: bool, element: int, samples: int) -> tuple[int, int, int]:
    """Return log2 of a block's width, height and depth in elements, for log2 of element bytes and of samples."""
    size = mode.block_log2 - element
    if mode.kind == "L":
        return (0 if mode.number == SwizzleMode.LINEAR_GENERAL else size), 0, 0
    if config.generation == Generation.GFX12:
        return _gfx12_extent(mode, element, samples)
    if volume and is_thick(config, mode):
        width, height, depth = _THICK_1KB[element]
        each, rest = divmod(mode.block_log2 - 10, 3)
        return width + each, height + each + rest // 2, depth + each + (rest != 0)
    if config.generation == Generation.GFX9:
        # The 256-byte block is as wide as high or twice as wide; samples take from the width first.
        above = mode.block_log2 - 8
        width, height = (9 - element) // 2 + above // 2, (8 - element) // 2 + (above + 1) // 2
        return max(width - (samples + 1) // 2, 0), max(height - samples // 2, 0), 0
    size -= samples
    wide = samples % 2 == 0 or mode.block_log2 % 2 == 1
    width = (size + wide) // 2
    return max(width, 0), max(size - width, 0), 0


def _gfx12_extent(mode: Mode, element: int, samples: int) -> tuple[int, int, int]:
    if mode.kind == "3":
        base = mode.block_log2 // 3 - element // 3
        rest, taken = mode.block_log2 % 3, element % 3
        return base + (rest > 0) - (taken > 0), base, base + (rest > 1) - (taken > 1)
    half = mode.block_log2 // 2 - element // 2 - samples // 2
    return max(half - (element & samples & 1), 0), max(half - ((element | samples) & 1), 0), 0


@dataclass(frozen=True, eq=False)
class SwizzleTables:
    """Every equation of a chip, for kernels.

    Attributes
    ----------
    equations : tuple of Equation
    lookup : numpy.ndarray
        int32 [3D resource, mode, log2 element bytes, log2 samples] -> index into `equations`, -1 where there is none.
    extent : numpy.ndarray
        int64 [3D resource, mode, log2 element bytes, log2 samples] -> log2 of the block's width, height, depth in elements.
    number : numpy.ndarray
        int64 [3D resource, mode, log2 element bytes, log2 samples] -> addrlib's number of the equation, -1 where it has none.
        Before GFX12 only one sample is numbered.
    numbered : tuple of Equation
        Equations in addrlib's order.
    basis : numpy.ndarray
        int64 [equation, channel, bit]: `Equation.basis` of all.
    inverse : numpy.ndarray
        int64 [equation, offset bit]: the in-block coordinates that an offset bit contributes, packed x | y << 16 | z << 32 | s << 48.
    """

    equations: tuple[Equation, ...]
    lookup: NDArray[np.int32]
    extent: NDArray[np.int64]
    number: NDArray[np.int64]
    numbered: tuple[Equation, ...]
    basis: NDArray[np.int64]
    inverse: NDArray[np.int64]


def _parse(stem: str, config: GpuConfig) -> dict[tuple[str, bool, int, int], NDArray[np.uint32]]:
    """Return the patterns of a generation that hold for a chip: (mode, thick, samples, element bytes) -> masks."""
    text = resources.files("pyaco.addrlib").joinpath(f"data/{stem}.txt").read_text(encoding="utf-8")
    chip = f"{config.pipes_log2}:{config.packers_log2 if config.packers_log2 >= 2 else 0}"
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        key, chips, bits = line.split(" | ")
        name, thickness, samples, size = key.split()
        # Only the modes with xor depend on the chip.
        if chips == "*" or (chip if name.count("_") == 2 else "0:0") in chips.split():
            terms = [frozenset() if b == "-" else frozenset(b.split("+")) for b in bits.split()]
            found[name, thickness == "thick", int(samples), int(size)] = pack(terms)
    return found


def _pattern_name(config: GpuConfig, mode: Mode) -> str:
    if config.generation == Generation.GFX12:
        return SwizzleMode3(mode.number).name.removeprefix("SW_")
    name = SwizzleMode(mode.number).name.removeprefix("SW_")
    if has_variable_blocks(config.level) and mode.number >= SwizzleMode.SW_VAR_Z_X:
        return name.replace("256KB", "VAR")
    # Z and R are the same order on GFX11.
    return name.replace("KB_Z_X", "KB_ZR_X").replace("KB_R_X", "KB_ZR_X") if config.generation == Generation.GFX11 else name


def _masks(config: GpuConfig) -> dict[tuple[int, int, int, int], NDArray[np.uint32]]:
    """Return the masks of every block: (3D resource, mode, log2 element bytes, log2 samples)."""
    found = {}
    gfx9, gfx12 = config.generation == Generation.GFX9, config.generation == Generation.GFX12
    patterns = {} if gfx9 else _parse(_PATTERNS[config.level], config)
    tiled = [m for m in modes(config).values() if m.kind != "L" and m.block_log2]
    for mode, element, samples, volume in product(tiled, range(5), range(5), range(2)):
        thick = bool(volume) and is_thick(config, mode)
        if gfx9:
            bits = _gfx9(config, mode, volume, thick, element, samples)
            masks = None if bits is None else pack(bits)
        else:
            # The names of GFX12's modes say whether blocks are thick.
            masks = patterns.get((_pattern_name(config, mode), thick and not gfx12, 1 << samples, 1 << element))
        if masks is not None:
            found[volume, mode.number, element, samples] = masks
    return found


def _gfx9(config: GpuConfig, mode: Mode, volume: int, thick: bool, element: int, samples: int) -> list[frozenset[str]] | None:
    if volume and samples:
        return None
    if mode.block_log2 < 12 and (volume or samples):
        return None
    pipes = min(mode.block_log2 - config.pipe_interleave_log2, config.pipes_log2 + config.shader_engines_log2) if mode.xor else 0
    banks = min(mode.block_log2 - pipes - config.pipe_interleave_log2, config.banks_log2) if mode.xor else 0
    kind = "S" if volume and mode.kind == "D" else mode.kind
    return offset_bits(kind, thick, mode.block_log2, element, samples, pipes, banks, mode.prt)


def _numbered(config: GpuConfig, lookup: NDArray[np.int32], equations: list[Equation]) -> tuple[NDArray[np.int64], list[Equation]]:
    """Number the equations as addrlib does."""
    number = np.full((2, MODES, 5, 5), -1, np.int64)
    order: list[Equation] = []

    def add(*key: int) -> None:
        index = lookup[key]
        if index >= 0 and max(np.bitwise_count(equations[index].masks).sum(axis=1)) <= MAX_TERMS:
            number[key] = len(order)
            order.append(equations[index])

    if config.generation == Generation.GFX12:
        for key in product(range(1, 8), range(4), range(5)):
            add(0, key[0], key[2], key[1])
        number[1] = number[0]
        return number, order
    in_order = [m for _, m in sorted(modes(config).items())]
    for volume, mode in product(range(2), in_order):
        if mode.number < 32 and (_allowed_3d(config, mode) if volume else _allowed_2d(config, mode)):
            for element in range(5):
                add(volume, mode.number, element, 0)
    return number, order


def _allowed_3d(config: GpuConfig, mode: Mode) -> bool:
    if config.generation == Generation.GFX9:
        return mode.kind != "R" and mode.block_log2 > 8
    return mode.block_log2 > 8 and (mode.kind != "D" or (mode.xor and not mode.prt and mode.block_log2 >= 16))


def _allowed_2d(config: GpuConfig, mode: Mode) -> bool:
    return config.generation != Generation.GFX11 or mode.kind != "S"


def _inverse(equation: Equation, extent: tuple[int, int, int, int]) -> NDArray[np.int64]:
    """Solve the equation for the coordinates inside the block: what each offset bit contributes to them, 16 bits a channel.

    `extent` is log2 of width, height, depth, samples. Offset bits of bytes inside an element contribute nothing.
    """
    columns = [(int(equation.basis[c, bit]), 1 << (16 * c + bit)) for c in range(4) for bit in range(extent[c])]
    # Gauss-Jordan over GF(2): afterwards each row's offset is one bit, its label the coordinates that make this bit.
    for i in range(len(columns)):
        pivot = columns[i][0] & -columns[i][0]
        if not pivot:
            raise AssertionError(f"two coordinates share an offset, extent {extent}:\n{equation.text()}")
        for j, (vector, label) in enumerate(columns):
            if j != i and vector & pivot:
                columns[j] = vector ^ columns[i][0], label ^ columns[i][1]
    result = np.zeros(MAX_BITS, np.int64)
    for vector, label in columns:
        if vector & (vector - 1):
            raise AssertionError(f"offsets that no coordinate reaches, extent {extent}:\n{equation.text()}")
        result[vector.bit_length() - 1] = label
    return result


@cache
def swizzle_tables(config: GpuConfig) -> SwizzleTables:
    """Return the equations of a chip."""
    equations: list[Equation] = []
    known: dict[bytes, int] = {}
    lookup = np.full((2, MODES, 5, 5), -1, np.int32)
    for key, masks in _masks(config).items():
        index = known.setdefault(masks.tobytes(), len(equations))
        if index == len(equations):
            equations.append(Equation(masks))
        lookup[key] = index
    extent = np.zeros((2, MODES, 5, 5, 3), np.int64)
    for mode, element, samples, volume in product(modes(config).values(), range(5), range(5), range(2)):
        extent[volume, mode.number, element, samples] = block_extent_log2(config, mode, bool(volume), element, samples)
    number, numbered = _numbered(config, lookup, equations)
    basis = np.stack([e.basis for e in equations]).astype(np.int64)
    first = {int(lookup[key]): key for key in reversed(list(np.ndindex(lookup.shape))) if lookup[key] >= 0}
    inverse = np.stack([_inverse(e, (*extent[first[i]], first[i][-1])) for i, e in enumerate(equations)])
    return SwizzleTables(tuple(equations), lookup, extent, number, tuple(numbered), basis, inverse)
