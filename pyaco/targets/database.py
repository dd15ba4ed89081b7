"""The GPU database: families, chips and products from R100 to RDNA 4, and what follows from their structure.

The data files under ``data/`` name their sources. Figures are computed from the structure, never typed: see `peaks`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources

from pyaco.errors import InputError, UnsupportedError

__all__ = ["Die", "Family", "Figure", "Name", "Product", "decode_name", "dies", "families", "find_product", "pci_chip",
           "peaks", "products"]


@dataclass(frozen=True)
class Family:
    """An architecture.

    Attributes
    ----------
    name : str
    year : int
        Of its first release.
    direct3d : str
        Direct3D level, with the feature level where they differ; empty for compute chips.
    driver : str
        Mesa's OpenGL driver; empty where there is none.
    shading : str
        What shades.
    """

    name: str
    year: int
    direct3d: str
    driver: str
    shading: str


@dataclass(frozen=True)
class Units:
    """The inner structure of a compute unit.

    Attributes
    ----------
    simds : int
    lanes : int
        ALUs of a SIMD.
    vector_registers : int
        Bytes of a SIMD's vector register file.
    scalar_registers : int
        Bytes of a SIMD's scalar register file.
    lds : int
        Bytes of local data share for a compute unit (RDNA: half of the pair's).
    l0 : int
        Bytes of the vector cache.
    waves : int
        Waves that a SIMD holds.
    dual_issue : bool
        Whether a wave can start two vector operations in a cycle.
    pixels_per_backend : int
        Pixels that a render backend writes in a cycle.
    """

    simds: int
    lanes: int
    vector_registers: int
    scalar_registers: int
    lds: int
    l0: int
    waves: int
    dual_issue: bool = False
    pixels_per_backend: int = 4


_UNITS = {
    "GCN 1": Units(4, 16, 65536, 2048, 65536, 16384, 10), "GCN 2": Units(4, 16, 65536, 2048, 65536, 16384, 10),
    "GCN 3": Units(4, 16, 65536, 3200, 65536, 16384, 10), "GCN 4": Units(4, 16, 65536, 3200, 65536, 16384, 8),
    "GCN 5": Units(4, 16, 65536, 3200, 65536, 16384, 10), "CDNA 1": Units(4, 16, 131072, 3200, 65536, 16384, 10),
    "CDNA 2": Units(4, 16, 131072, 3200, 65536, 16384, 8), "CDNA 3": Units(4, 16, 131072, 3200, 65536, 32768, 8),
    "CDNA 4": Units(4, 16, 131072, 3200, 163840, 32768, 8), "RDNA 1": Units(2, 32, 131072, 10240, 65536, 16384, 20),
    "RDNA 2": Units(2, 32, 131072, 8192, 65536, 16384, 16, pixels_per_backend=8),
    "RDNA 3": Units(2, 32, 196608, 8192, 65536, 32768, 16, True, 8),
    "RDNA 3.5": Units(2, 32, 131072, 8192, 65536, 32768, 16, True, 8),
    "RDNA 4": Units(2, 32, 196608, 8192, 65536, 32768, 16, True, 8),
}


@dataclass(frozen=True)
class Die:
    """A chip as it is made, all units counted.

    Attributes
    ----------
    name : str
    family : str
    year : int
    target : str
        gfx name; empty before GCN.
    alus : int
        TeraScale: ALUs; before: pixel pipelines; 0 from GCN on, where the structure tells.
    engines, arrays, units : int
        Shader engines, shader arrays of an engine, compute units of an array; 0 before GCN.
    backends : int
        Render backends.
    l2 : int
        KiB.
    last_level : int
        MiB of the cache before memory; 0 where there is none.
    bus : int
        Width of the memory bus in bits.
    sources : str
    """

    name: str
    family: str
    year: int
    target: str
    alus: int
    engines: int
    arrays: int
    units: int
    backends: int
    l2: int
    last_level: int
    bus: int
    sources: str

    @property
    def compute_units(self) -> int:
        """Compute units of the whole die."""
        return self.engines * self.arrays * self.units

    @property
    def unit(self) -> Units:
        """The inner structure of a compute unit.

        Raises
        ------
        UnsupportedError
            Before GCN.
        """
        if self.family not in _UNITS:
            raise UnsupportedError(f"the structure of {self.name}: chips before GCN have no compute units")
        return _UNITS[self.family]

    @property
    def pci_ids(self) -> tuple[int, ...]:
        """PCI device ids."""
        return _pci().get(self.name, ())


@dataclass(frozen=True)
class Product:
    """What is sold.

    Attributes
    ----------
    name : str
    chip : str
    units : int
        Compute units that work; ALUs or pipelines before GCN.
    clock : int
        Boost clock in MHz.
    memory : int
        MiB; 0 for parts of a processor.
    memory_rate : int
        Transfers of the memory in a second, millions.
    """

    name: str
    chip: str
    units: int
    clock: int
    memory: int
    memory_rate: int

    @property
    def die(self) -> Die:
        """The chip."""
        return _dies()[self.chip]


@dataclass(frozen=True)
class Figure:
    """A peak figure and how it comes about.

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


@dataclass(frozen=True)
class Name:
    """A marketing name taken apart.

    Attributes
    ----------
    series : str
        Such as ``Radeon RX``.
    generation : str
        The architecture that the generation digit stands for; empty where it names none.
    tier : str
        entry-level, mid-range, high-end or enthusiast.
    suffix : str
    """

    series: str
    generation: str
    tier: str
    suffix: str


def _rows(name: str) -> list[list[str]]:
    text = resources.files("pyaco.targets").joinpath(f"data/{name}.txt").read_text()
    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if not line.startswith("#")]
    return [["" if cell == "-" else cell for cell in row] for row in rows]


@cache
def families() -> tuple[Family, ...]:
    """Return every architecture family, oldest release of graphics first."""
    return tuple(Family(name, int(year), direct3d, driver, shading) for name, year, direct3d, driver, shading in _rows("families"))


@cache
def _dies() -> dict[str, Die]:
    found = {}
    for name, family, year, target, *counts, sources in _rows("gpus"):
        is_gcn = target.startswith("gfx")
        engines, arrays, units, backends, l2, last_level, bus = (int(cell or 0) for cell in counts)
        found[name] = Die(name, family, int(year), target if is_gcn else "", 0 if is_gcn else int(target), engines, arrays, units,
                          backends, l2, last_level, bus, sources)
    return found


def dies() -> tuple[Die, ...]:
    """Return every chip, by family."""
    return tuple(_dies().values())


@cache
def products() -> tuple[Product, ...]:
    """Return every product, by chip."""
    return tuple(Product(name, chip, *(int(cell) for cell in numbers)) for name, chip, *numbers in _rows("products"))


@cache
def _pci() -> dict[str, tuple[int, ...]]:
    lines = (row[0].split() for row in _rows("pci"))
    return {name: tuple(int(number, 16) for number in numbers) for name, *numbers in lines}


def pci_chip(device: int) -> Die:
    """Return the chip with PCI device id `device` of vendor 1002.

    Raises
    ------
    InputError
        No chip of the database has it.
    """
    for name, ids in _pci().items():
        if device in ids:
            return _dies()[name]
    raise InputError(f"no chip of the database has the PCI device id 0x{device:04x}")


def _key(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower().replace("radeon", "").replace("amd", ""))


def find_product(name: str) -> Product:
    """Return the product called `name`; "AMD", "Radeon", spaces and case do not matter.

    Raises
    ------
    InputError
        Nothing is called so.
    """
    for product in products():
        if _key(product.name) == _key(name):
            return product
    raise InputError(f"no product is called {name!r}")


def _product(name: str, unit: str, scale: float, factors: list[tuple[str, float]]) -> Figure:
    value = scale
    for _, number in factors:
        value *= number
    formula = " * ".join(word for word, _ in factors)
    return Figure(name, value, unit, formula, " * ".join(f"{number:g}" for _, number in factors))


def peaks(product: Product) -> tuple[Figure, ...]:
    """Return a product's peak figures, computed from its structure and clock.

    An RDNA array's primitive unit culls two primitives and passes one on in a cycle, its rasterizer emits 16 pixels; a GCN engine
    passes one primitive, and pixels are bounded by its render backends. A fused multiply-add counts as two operations. Dual issue
    is not counted in ``flops``; where a chip has it, ``dual-issue flops`` is.

    Sources: AMD's "RDNA Architecture" and "GCN Architecture" white papers.

    Raises
    ------
    UnsupportedError
        A product before GCN.
    """
    die, clock = product.die, ("MHz", float(product.clock))
    unit = die.unit
    engines, arrays = ("engines", float(die.engines)), ("arrays", float(die.arrays))
    figures = []
    if die.family.startswith("RDNA"):
        figures += [
            _product("cull rate", "Mtris/s", 1, [engines, arrays, ("2 primitives", 2), clock]),
            _product("primitive rate", "Mtris/s", 1, [engines, arrays, ("1 primitive", 1), clock]),
            _product("pixel rate", "Mpixels/s", 1, [engines, arrays, ("16 pixels", 16), clock]),
        ]
    elif die.backends:
        figures += [
            _product("primitive rate", "Mtris/s", 1, [engines, ("1 primitive", 1), clock]),
            _product("pixel rate", "Mpixels/s", 1, [("render backends", float(die.backends)), ("4 pixels", 4), clock]),
        ]
    lanes = [("compute units", float(product.units)), ("SIMDs", float(unit.simds)), ("lanes", float(unit.lanes)), ("2 for fma", 2.0)]
    figures += [_product("flops per cycle", "flops", 1, lanes), _product("flops", "TFLOP/s", 1e-6, [*lanes, clock])]
    if unit.dual_issue:
        figures.append(_product("dual-issue flops", "TFLOP/s", 1e-6, [*lanes, ("2 for dual issue", 2.0), clock]))
    if product.memory_rate:
        width = [("bus bits / 8", die.bus / 8), ("MT/s", float(product.memory_rate))]
        figures.append(_product("memory bandwidth", "GB/s", 1e-3, width))
    return tuple(figures)


_GENERATIONS = {"4": "GCN 4", "5": "RDNA 1", "6": "RDNA 2", "7": "RDNA 3", "9": "RDNA 4"}
_TIERS = {"4": "entry-level", "5": "entry-level", "6": "mid-range", "7": "high-end", "8": "high-end", "9": "enthusiast"}


def decode_name(name: str) -> Name:
    """Take a marketing name of the Radeon RX series apart: generation digit, performance tier, suffix.

    Three-digit names (400 and 500) are Polaris, four-digit ones RDNA; the second digit of four, or of three, is the tier.

    Raises
    ------
    InputError
        No name of that form.
    """
    match = re.fullmatch(r"(?:AMD\s+)?(Radeon\s+RX|RX)\s*(\d)(\d)(\d{1,2})\s*(XTX|XT|GRE|M|S)?", name.strip(), re.IGNORECASE)
    if match is None:
        raise InputError(f"{name!r} is not of the form Radeon RX, a number of three or four digits, a suffix")
    _, generation, tier, rest, suffix = match.groups()
    if len(rest) == 1:
        return Name("Radeon RX", "GCN 4", _TIERS.get(tier, "entry-level"), (suffix or "").upper())
    return Name("Radeon RX", _GENERATIONS.get(generation, ""), _TIERS.get(tier, "entry-level"), (suffix or "").upper())
