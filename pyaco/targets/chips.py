"""The chips that pyaco names, and how a user's word for one becomes its gfx target.

Sources: LLVM's "User Guide for AMDGPU Backend" (processor table: gfx names and product names); Mesa's
``amd_family.c`` (chip names).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.target_id import generic_members, generic_processors

__all__ = ["Chip", "chip", "chips"]


@dataclass(frozen=True)
class Chip:
    """One chip.

    Attributes
    ----------
    name : str
        Code name, such as ``navi31``.
    target : str
        LLVM's processor name, such as ``gfx1100``.
    level : int
        Hardware level times ten, as kernels compare it: 60 (GFX6), 70 (GFX7), 80 (GFX8), 90 (GFX9), 103 (GFX10.3), 110, 115,
        117 (GFX11.7), 120, 125 (gfx1250), 126 (gfx1251), 130. CDNA 1 to 4 descend from GFX9 and are between: 91 (gfx908), 92 (gfx90a),
        94 (gfx942), 95 (gfx950).
    architecture : str
        Family of the instruction set.
    products : tuple of str
        Marketing names.
    """

    name: str
    target: str
    level: int
    architecture: str
    products: tuple[str, ...]

    @property
    def is_cdna(self) -> bool:
        """Whether this is a compute chip with matrix operations and accumulation registers."""
        return 90 < self.level < 100

    @property
    def level_name(self) -> str:
        """The level as people write it, such as ``GFX10.3``; for CDNA its architecture."""
        if self.is_cdna:
            return self.architecture
        if self.level == 126:
            return "GFX12.5"
        whole, tenth = divmod(self.level, 10)
        return f"GFX{whole}" if tenth == 0 else f"GFX{whole}.{tenth}"


_CHIPS = (
    Chip("tahiti", "gfx600", 60, "GCN 1", ("HD 7970", "R9 280X")),
    Chip("pitcairn", "gfx601", 60, "GCN 1", ("HD 7870", "R9 270X")),
    Chip("verde", "gfx601", 60, "GCN 1", ("HD 7770",)),
    Chip("oland", "gfx602", 60, "GCN 1", ("R7 240",)),
    Chip("hainan", "gfx602", 60, "GCN 1", ("R5 M230",)),
    Chip("kaveri", "gfx700", 70, "GCN 2", ("A10-7850K",)),
    Chip("hawaii", "gfx701", 70, "GCN 2", ("FirePro W9100",)),
    Chip("hawaii", "gfx702", 70, "GCN 2", ("R9 290X", "R9 390X")),
    Chip("kabini", "gfx703", 70, "GCN 2", ("A4-5000",)),
    Chip("mullins", "gfx703", 70, "GCN 2", ("A10 Micro-6700T",)),
    Chip("bonaire", "gfx704", 70, "GCN 2", ("HD 7790", "R7 260X")),
    Chip("gfx705", "gfx705", 70, "GCN 2", ()),
    Chip("carrizo", "gfx801", 80, "GCN 3", ("FX-9800P",)),
    Chip("tonga", "gfx802", 80, "GCN 3", ("R9 285", "R9 380", "R9 380X")),
    Chip("iceland", "gfx802", 80, "GCN 3", ("R5 M330",)),
    Chip("polaris10", "gfx803", 80, "GCN 4", ("RX 480", "RX 580", "RX 470", "RX 570")),
    Chip("polaris11", "gfx803", 80, "GCN 4", ("RX 460", "RX 560")),
    Chip("polaris12", "gfx803", 80, "GCN 4", ("RX 550",)),
    Chip("fiji", "gfx803", 80, "GCN 3", ("R9 Fury", "R9 Fury X", "R9 Nano")),
    Chip("stoney", "gfx810", 80, "GCN 3", ("A9-9410",)),
    Chip("vega10", "gfx900", 90, "GCN 5", ("RX Vega 56", "RX Vega 64", "Radeon Vega Frontier Edition")),
    Chip("raven", "gfx902", 90, "GCN 5", ("Ryzen 5 2400G", "Ryzen 3 2200G")),
    Chip("vega20", "gfx906", 90, "GCN 5.1", ("Radeon VII", "Radeon Pro VII")),
    Chip("renoir", "gfx90c", 90, "GCN 5", ("Ryzen 7 4700G", "Ryzen 7 5700G")),
    Chip("arcturus", "gfx908", 91, "CDNA 1", ("Instinct MI100",)),
    Chip("aldebaran", "gfx90a", 92, "CDNA 2", ("Instinct MI210", "Instinct MI250", "Instinct MI250X")),
    Chip("aqua_vanjaram", "gfx942", 94, "CDNA 3", ("Instinct MI300A", "Instinct MI300X", "Instinct MI325X")),
    Chip("mi350", "gfx950", 95, "CDNA 4", ("Instinct MI350X", "Instinct MI355X")),
    Chip("navi10", "gfx1010", 100, "RDNA 1", ("RX 5700", "RX 5700 XT", "RX 5600 XT")),
    Chip("navi12", "gfx1011", 100, "RDNA 1", ("Radeon Pro V520",)),
    Chip("navi14", "gfx1012", 100, "RDNA 1", ("RX 5500", "RX 5500 XT")),
    Chip("navi21", "gfx1030", 103, "RDNA 2", ("RX 6800", "RX 6800 XT", "RX 6900 XT", "RX 6950 XT")),
    Chip("navi22", "gfx1031", 103, "RDNA 2", ("RX 6700 XT", "RX 6750 XT")),
    Chip("navi23", "gfx1032", 103, "RDNA 2", ("RX 6600", "RX 6600 XT", "RX 6650 XT")),
    Chip("vangogh", "gfx1033", 103, "RDNA 2", ("Steam Deck",)),
    Chip("navi24", "gfx1034", 103, "RDNA 2", ("RX 6400", "RX 6500 XT")),
    Chip("rembrandt", "gfx1035", 103, "RDNA 2", ("Radeon 680M", "Radeon 660M")),
    Chip("raphael", "gfx1036", 103, "RDNA 2", ("Ryzen 9 7950X", "Ryzen 7 7700X")),
    Chip("navi31", "gfx1100", 110, "RDNA 3", ("RX 7900 XTX", "RX 7900 XT", "RX 7900 GRE")),
    Chip("navi32", "gfx1101", 110, "RDNA 3", ("RX 7800 XT", "RX 7700 XT")),
    Chip("navi33", "gfx1102", 110, "RDNA 3", ("RX 7600", "RX 7600 XT")),
    Chip("phoenix", "gfx1103", 110, "RDNA 3", ("Radeon 780M", "Radeon 760M")),
    Chip("strix", "gfx1150", 115, "RDNA 3.5", ("Radeon 890M", "Radeon 880M")),
    Chip("strix_halo", "gfx1151", 115, "RDNA 3.5", ("Radeon 8060S", "Radeon 8050S")),
    Chip("krackan", "gfx1152", 115, "RDNA 3.5", ("Radeon 860M", "Radeon 840M")),
    Chip("gfx1170", "gfx1170", 117, "RDNA 4m", ()),
    Chip("gfx1171", "gfx1171", 117, "RDNA 4m", ()),
    Chip("gfx1172", "gfx1172", 117, "RDNA 4m", ()),
    Chip("navi44", "gfx1200", 120, "RDNA 4", ("RX 9060 XT",)),
    Chip("navi48", "gfx1201", 120, "RDNA 4", ("RX 9070", "RX 9070 XT")),
    Chip("gfx1250", "gfx1250", 125, "CDNA 5", ()),
    Chip("gfx1251", "gfx1251", 126, "CDNA 5", ()),
    Chip("gfx1310", "gfx1310", 130, "RDNA 5", ()),
)


def _key(text: str) -> str:
    return re.sub(r"[^a-z0-9]|amd|radeon|instinct", "", text.lower())


# Several chips may have one gfx name: the first stands for all of them.
_BY_TARGET = {c.target: c for c in reversed(_CHIPS)}
_BY_NAME = {_key(word): c for c in reversed(_CHIPS) for word in (c.name, c.target, *c.products)}


def chips() -> tuple[Chip, ...]:
    """Return every chip, oldest first."""
    return _CHIPS


@checked
def chip(name: str) -> Chip:
    """Return the chip that `name` means: a gfx name, a chip name, or a product name.

    Parameters
    ----------
    name : str
        For example ``gfx1100``, ``navi31`` or ``RX 7900 XTX``.

    Raises
    ------
    InputError
        When nothing is called so.
    UnsupportedError
        The name of a generic processor, of which there is no chip.
    """
    found = _BY_TARGET.get(name) or _BY_NAME.get(_key(name))
    if name.lower() in generic_processors():
        members = ", ".join(generic_members(name.lower()))
        raise UnsupportedError(f"{name}, what several chips have in common, but to assemble and disassemble; here one has to be named: {members}")
    if found is None:
        known = ", ".join(c.target for c in _CHIPS)
        raise InputError(f"unknown target {name!r}; known targets: {known}, their chip names and product names")
    return found
