"""Figures that follow from a chip's structure: what a compute unit has, and peak rates; each with the formula that gives it.

Sources: AMD's "RDNA Architecture" and "GCN Architecture" white papers.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from pyaco.arguments import checked
from pyaco.targets.database import Die, Product

__all__ = ["Figure", "peaks", "structure"]


@dataclass(frozen=True)
class Figure:
    """A figure and how it comes about.

    Attributes
    ----------
    name : str
    value : float
    unit : str
    formula : str
        The factors by name.
    numbers : str
        The same with their values.
    """

    name: str
    value: float
    unit: str
    formula: str
    numbers: str


Factor = tuple[str, float]


def _product(name: str, unit: str, *factors: Factor, scale: float = 1.0) -> Figure:
    numbers = " * ".join(f"{number:g}" for _, number in factors)
    return Figure(name, scale * prod(number for _, number in factors), unit, " * ".join(word for word, _ in factors), numbers)


def _quotient(name: str, unit: str, first: Factor, *others: Factor) -> Figure:
    factors = (first, *others)
    value = first[1] / prod(number for _, number in others)
    return Figure(name, value, unit, " / ".join(word for word, _ in factors), " / ".join(f"{number:g}" for _, number in factors))


@checked
def structure(die: Die) -> tuple[Figure, ...]:
    """Return what a chip and each of its compute units have, computed from the counts of the database.

    RDNA's compute units come in pairs that share LDS, so that a workgroup may use both: figures of a pair are given beside.

    Raises
    ------
    UnsupportedError
        A chip before GCN.
    """
    unit = die.unit
    simds, lanes = ("SIMDs", unit.simds), ("lanes", unit.lanes)
    wave = ("32 lanes of a wave", 32) if unit.in_pairs else ("64 lanes of a wave", 64)
    found = [
        _product("compute units", "", ("engines", die.engines), ("arrays", die.arrays), ("units", die.units)),
        _product("ALUs of a unit", "", simds, lanes),
        _product("ALUs", "", ("compute units", die.compute_units), simds, lanes),
        _quotient("vector registers of a SIMD", "", ("register file bytes", unit.vector_registers), wave, ("4 bytes", 4)),
        _quotient("scalar registers of a SIMD", "", ("register file bytes", unit.scalar_registers), ("4 bytes", 4)),
        _product("vector registers of the chip", "KiB", ("compute units", die.compute_units), simds,
                 ("register file bytes", unit.vector_registers), scale=1 / 1024),
        _product("waves of a unit", "", simds, ("waves of a SIMD", unit.waves)),
        _product("waves of the chip", "", ("compute units", die.compute_units), simds, ("waves of a SIMD", unit.waves)),
        _quotient("cycles of a wave64's instruction", "", ("64 lanes", 64), ("lanes", unit.lanes)),
    ]
    if unit.in_pairs:
        pair = ("2 units of a pair", 2)
        found += [
            _quotient("pairs of an array", "", ("units", die.units), pair),
            _product("LDS of a pair", "KiB", pair, ("LDS bytes", unit.lds), scale=1 / 1024),
            _product("L0 of a pair", "KiB", pair, ("L0 bytes", unit.l0), scale=1 / 1024),
            _product("SIMDs of a pair", "", pair, simds),
            _product("load/store/texture units of a pair", "", pair, ("units for memory", unit.memory_units)),
            _product("primitive units", "", ("engines", die.engines), ("arrays", die.arrays), ("1 an array", 1)),
            _product("rasterizers", "", ("engines", die.engines), ("arrays", die.arrays), ("1 an array", 1)),
        ]
    elif die.backends:
        found += [
            _product("geometry processors", "", ("engines", die.engines), ("1 an engine", 1)),
            _product("rasterizers", "", ("engines", die.engines), ("1 an engine", 1)),
        ]
    if unit.l1:
        found.append(_quotient("L1 of an array", "KiB", ("L1 bytes", unit.l1), ("1024", 1024)))
    if die.backends:
        found.append(_quotient("render backends of an array", "", ("render backends", die.backends), ("engines", die.engines),
                               ("arrays", die.arrays)))
    if die.slices:
        found += [
            _quotient("L2 slice", "KiB", ("L2 KiB", die.l2), ("slices", die.slices)),
            _quotient("slices of a memory controller", "", ("slices", die.slices), ("controllers", die.controllers)),
        ]
    return tuple(found)


@checked
def peaks(product: Product) -> tuple[Figure, ...]:
    """Return a product's peak figures, computed from its structure and clock.

    An RDNA array's primitive unit culls two primitives and passes one on in a cycle, its rasterizer emits 16 pixels; a GCN engine
    passes one primitive, and pixels are bounded by its render backends. A fused multiply-add counts as two operations. Dual issue
    is not counted in ``flops``; where a chip has it, ``dual-issue flops`` is. Before GCN ALUs are counted, before TeraScale pixel
    pipelines, up to R400 each with its own output.
    """
    figures = _gcn_peaks(product) if product.die.target else _older_peaks(product)
    if product.memory_rate:
        figures.append(_product("memory bandwidth", "GB/s", ("bus bits / 8", product.die.bus / 8), ("MT/s", product.memory_rate), scale=1e-3))
    return tuple(figures)


def _older_peaks(product: Product) -> list[Figure]:
    die, clock = product.die, ("MHz", product.clock)
    if die.family.startswith("TeraScale"):
        alus = (("ALUs", product.units), ("2 for multiply and add", 2))
        return [
            _product("pixel rate", "Mpixels/s", ("render backends", die.backends), ("4 pixels", 4), clock),
            _product("flops per cycle", "flops", *alus), _product("flops", "TFLOP/s", *alus, clock, scale=1e-6),
        ]
    # From R500 on the pixel shaders are more than what writes pixels.
    return [] if die.family == "R500" else [_product("pixel rate", "Mpixels/s", ("pixel pipelines", product.units), clock)]


def _gcn_peaks(product: Product) -> list[Figure]:
    die, clock = product.die, ("MHz", product.clock)
    unit = die.unit
    engines, arrays = ("engines", die.engines), ("arrays", die.arrays)
    figures = []
    if unit.in_pairs:
        figures += [
            _product("cull rate", "Mtris/s", engines, arrays, ("2 primitives", 2), clock),
            _product("primitive rate", "Mtris/s", engines, arrays, ("1 primitive", 1), clock),
            _product("pixel rate", "Mpixels/s", engines, arrays, ("16 pixels", 16), clock),
        ]
    elif die.backends:
        figures += [
            _product("primitive rate", "Mtris/s", engines, ("1 primitive", 1), clock),
            _product("pixel rate", "Mpixels/s", ("render backends", die.backends), ("4 pixels", 4), clock),
        ]
    lanes = (("compute units", product.units), ("SIMDs", unit.simds), ("lanes", unit.lanes), ("2 for fma", 2))
    figures += [_product("flops per cycle", "flops", *lanes), _product("flops", "TFLOP/s", *lanes, clock, scale=1e-6)]
    if unit.dual_issue:
        figures.append(_product("dual-issue flops", "TFLOP/s", *lanes, ("2 for dual issue", 2), clock, scale=1e-6))
    return figures
