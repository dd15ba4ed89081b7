"""The GPU database: families, code names, chips and products from R100 to RDNA 4, and what follows from their structure.

The data files under ``data/`` name their sources. What follows from the structure is computed, never typed: see
``pyaco.targets.figures``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources

from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.chips import Chip, chips

__all__ = [
    "CodeName", "Die", "Family", "Product", "Units", "code_names", "dies", "families", "find_code_names", "find_product", "pci_chip", "products",
    "table_rows",
]  # fmt: skip


@dataclass(frozen=True)
class Family:
    """An architecture.

    Attributes
    ----------
    name : str
    year : int
        Of its first release.
    direct3d : str
        Direct3D level, with the feature level from 11 on; empty for compute chips.
    shader_model : str
        Direct3D's; empty where shaders are not programs, and from GCN on, where it is the driver's.
    driver : str
        Mesa's OpenGL driver; empty where there is none.
    shading : str
        What shades.
    """

    name: str
    year: int
    direct3d: str
    shader_model: str
    driver: str
    shading: str


@dataclass(frozen=True)
class CodeName:
    """Chips that were named together, such as Southern Islands.

    Attributes
    ----------
    name : str
    year : int
        Of the first release.
    mesa_class : str
        What Mesa calls their hardware, such as ``EVERGREEN`` or ``GFX10_3``; empty before R300.
    chips : tuple of str
    """

    name: str
    year: int
    mesa_class: str
    chips: tuple[str, ...]


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
    l1 : int
        Bytes of the cache that the units of a shader array share (RDNA 1 to 3.5; RDNA 4 has a buffer there that keeps nothing).
    waves : int
        Waves that a SIMD holds.
    dual_issue : bool
        Whether a wave can start two vector operations in a cycle.
    texture_units : int
        Texture filter units.
    memory_units : int
        Units that load, store and sample through the vector cache.
    """

    simds: int
    lanes: int
    vector_registers: int
    scalar_registers: int
    lds: int
    l0: int
    waves: int
    dual_issue: bool = False
    texture_units: int = 4
    memory_units: int = 1
    l1: int = 0

    @property
    def in_pairs(self) -> bool:
        """Whether two compute units share LDS and an instruction cache: RDNA's workgroup processor."""
        return self.simds == 2

    @property
    def scalar_units(self) -> int:
        """Scalar ALUs: one for a compute unit, from RDNA on one for each SIMD."""
        return self.simds if self.in_pairs else 1


# L1: AMD's "RDNA Architecture" white paper and its presentation of RDNA 3, the Linux driver's tables of caches (``kfd_crat.c``); that RDNA 4 has
# none: LLVM's "User Guide for AMDGPU Backend", memory model GFX12.
_UNITS = {
    "GCN 1": Units(4, 16, 65536, 2048, 65536, 16384, 10), "GCN 2": Units(4, 16, 65536, 2048, 65536, 16384, 10),
    "GCN 3": Units(4, 16, 65536, 3200, 65536, 16384, 10), "GCN 4": Units(4, 16, 65536, 3200, 65536, 16384, 8),
    "GCN 5": Units(4, 16, 65536, 3200, 65536, 16384, 10), "CDNA 1": Units(4, 16, 131072, 3200, 65536, 16384, 10),
    "CDNA 2": Units(4, 16, 131072, 3200, 65536, 16384, 8), "CDNA 3": Units(4, 16, 131072, 3200, 65536, 32768, 8),
    "CDNA 4": Units(4, 16, 131072, 3200, 163840, 32768, 8), "RDNA 1": Units(2, 32, 131072, 10240, 65536, 16384, 20, l1=131072),
    "RDNA 2": Units(2, 32, 131072, 8192, 65536, 16384, 16, l1=131072),
    "RDNA 3": Units(2, 32, 196608, 8192, 65536, 32768, 16, True, l1=262144),
    "RDNA 3.5": Units(2, 32, 131072, 8192, 65536, 32768, 16, True, l1=262144),
    "RDNA 4": Units(2, 32, 196608, 8192, 65536, 32768, 16, True),
}
# Where a chip's vector register file is not its family's.
_REGISTER_FILES = {"navi33": 131072, "phoenix": 131072, "strix_halo": 196608}
# Chips that hold a processor too: their video memory is system memory.
_WITH_PROCESSOR = {"kaveri", "kabini", "carrizo", "stoney", "raven", "raven2", "renoir", "vangogh", "rembrandt", "raphael", "phoenix", "strix",
                   "strix_halo", "krackan"}


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
    slices : int
        Slices of the L2; 0 where that is not known.
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
    slices: int
    last_level: int
    bus: int
    sources: str

    @property
    def compute_units(self) -> int:
        """Compute units of the whole die."""
        return self.engines * self.arrays * self.units

    @property
    def has_own_memory(self) -> bool:
        """Whether there is video memory; a chip with a processor uses the system's."""
        return self.name not in _WITH_PROCESSOR

    @property
    def controllers(self) -> int:
        """Memory controllers: 64 bits of the bus each, 128 where the memory is stacked."""
        return self.bus // (128 if self.bus >= 1024 else 64)

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
        unit = _UNITS[self.family]
        registers = _REGISTER_FILES.get(self.name)
        return unit if registers is None else replace(unit, vector_registers=registers)

    @property
    def chip(self) -> Chip:
        """The chip as limits and occupancy know it.

        Raises
        ------
        UnsupportedError
            Before GCN.
        """
        named = next((known for known in chips() if known.name == self.name), None) or \
            next((known for known in chips() if known.target == self.target), None)
        if named is not None:
            return named
        digits = re.fullmatch(r"gfx(\d+)(\d)([0-9a-f])", self.target)
        if digits is None:
            raise UnsupportedError(f"limits of {self.name}: chips before GCN have no waves")
        level = 10 * int(digits[1]) + int(digits[2])
        return Chip(self.name, self.target, 80 if level == 81 else level, self.family, ())

    @property
    def code_name(self) -> CodeName | None:
        """The code name that it shares with others; None for chips that have one of their own."""
        return next((each for each in code_names() if self.name in each.chips), None)

    @property
    def process(self) -> str:
        """Structure sizes of its dies in nm, such as ``5, 6``; of those that compute first."""
        return _made()[self.name][0]

    @property
    def dies_of_package(self) -> str:
        """What a package consists of; empty where it is one die."""
        return _made()[self.name][1]

    @property
    def pci_ids(self) -> tuple[int, ...]:
        """PCI device ids; where another chip has the same, the PCI revision tells (`pci_chip`)."""
        return _pci()[0].get(self.name, ())


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
    price : int
        USD at launch; 0 where it was not sold by itself, or none is at hand.
    """

    name: str
    chip: str
    units: int
    clock: int
    memory: int
    memory_rate: int
    price: int = 0

    @property
    def die(self) -> Die:
        """The chip."""
        return _dies()[self.chip]


def table_rows(name: str) -> list[list[str]]:
    """Return the rows of a table of ``data/`` as words; ``-`` is an empty one."""
    text = resources.files("pyaco.targets").joinpath(f"data/{name}.txt").read_text()
    rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if not line.startswith("#")]
    return [["" if cell == "-" else cell for cell in row] for row in rows]


@cache
def families() -> tuple[Family, ...]:
    """Return every architecture family, oldest release of graphics first."""
    return tuple(Family(name, int(year), *words) for name, year, *words in table_rows("families"))


@cache
def code_names() -> tuple[CodeName, ...]:
    """Return every code name of several chips, oldest first; one of two architectures is there twice."""
    return tuple(CodeName(name, int(year), mesa_class, tuple(chips_.split())) for name, year, mesa_class, chips_ in table_rows("code_names"))


@checked
def find_code_names(name: str) -> tuple[CodeName, ...]:
    """Return the chips that `name` stands for, such as ``Southern Islands``, by their class in Mesa; spaces and case do not matter.

    A class of Mesa's that is no code name besides (CAYMAN, GFX8) stands for all of its chips.

    Raises
    ------
    InputError
        Nothing is called so.
    """
    key = _key(name)
    found = tuple(each for each in code_names() if _key(each.name) == key) or \
        tuple(each for each in code_names() if each.mesa_class and _key(each.mesa_class) == key)
    if not found:
        raise InputError(f"no chips are called {name!r}; code names are: {', '.join(dict.fromkeys(each.name for each in code_names()))}")
    return found


@cache
def _made() -> dict[str, tuple[str, str]]:
    """Process and dies of each chip."""
    return {name: (process, package) for process, package, names in table_rows("manufacture") for name in names.split()}


@cache
def _dies() -> dict[str, Die]:
    found = {}
    for name, family, year, target, *counts, sources in table_rows("gpus"):
        is_gcn = target.startswith("gfx")
        engines, arrays, units, backends, l2, slices, last_level, bus = (int(cell or 0) for cell in counts)
        found[name] = Die(name, family, int(year), target if is_gcn else "", 0 if is_gcn else int(target), engines, arrays, units,
                          backends, l2, slices, last_level, bus, sources)
    return found


def dies() -> tuple[Die, ...]:
    """Return every chip, by family."""
    return tuple(_dies().values())


@cache
def products() -> tuple[Product, ...]:
    """Return every product, by chip."""
    return tuple(Product(name, chip, *(int(cell or 0) for cell in numbers)) for name, chip, *numbers in table_rows("products"))


@cache
def _pci() -> tuple[dict[str, tuple[int, ...]], dict[tuple[int, int | None], str]]:
    """PCI device ids of each chip, and the chip of each id: with a revision for those revisions that stand for another chip."""
    ids: dict[str, tuple[int, ...]] = {}
    chips_by_id: dict[tuple[int, int | None], str] = {}
    for name, *words in (row[0].split() for row in table_rows("pci")):
        for word in words:
            device, _, revisions = word.partition("/")
            number = int(device, 16)
            ids[name] = (*ids.get(name, ()), number)
            chips_by_id |= {(number, int(revision, 16) if revision else None): name for revision in revisions.split(",")}
    return ids, chips_by_id


@checked
def pci_chip(device: int, revision: int | None = None) -> Die:
    """Return the chip with PCI device id `device` of vendor 1002.

    Parameters
    ----------
    device : int
    revision : int, optional
        PCI revision. Some chips have an id in common and differ in it: 15d8 is raven, with some revisions raven2. Without it the answer is
        the chip that the amdgpu driver's table of ids names.

    Raises
    ------
    InputError
        No chip of the database has it.
    """
    chips_by_id = _pci()[1]
    name = chips_by_id.get((device, revision)) or chips_by_id.get((device, None))
    if name is None:
        raise InputError(f"no chip of the database has the PCI device id 0x{device:04x}")
    return _dies()[name]


def _key(text: str) -> str:
    return re.sub(r"[^a-z0-9]", "", text.lower().replace("radeon", "").replace("amd", ""))


@checked
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
