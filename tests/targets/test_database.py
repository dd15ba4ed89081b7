"""The GPU database, peak figures, memory heaps."""

from __future__ import annotations

from typing import Any

import pytest

import pyaco
from pyaco.targets import chips
from pyaco.targets.database import code_names, dies, families, find_code_names, find_product, pci_chip, products
from pyaco.targets.figures import peaks, structure
from pyaco.targets.memory import MemoryProperty, choose_memory_type, memory_heaps
from pyaco.targets.occupancy import occupancy
from pyaco.targets.product_names import decode_name, order_names
from pyaco.targets.queues import ComputeQueue, queues

MIB = 1 << 20


def test_the_worked_example() -> None:
    """The figures of an RX 5700 XT as the RDNA white paper's structure gives them."""
    figures = {figure.name: figure for figure in peaks(find_product("AMD Radeon RX 5700 XT"))}
    assert figures["cull rate"].value == 15240 and figures["primitive rate"].value == 7620
    assert figures["pixel rate"].value == 121920 and figures["flops per cycle"].value == 5120
    assert figures["flops"].value == pytest.approx(9.7536)
    assert figures["cull rate"].numbers == "2 * 2 * 2 * 1905"


# AMD's "RDNA Architecture" white paper, figure by figure, for the RX 5700 XT's chip.
@pytest.mark.parametrize(("name", "value"), [
    ("pairs of an array", 5), ("LDS of a pair", 128), ("L0 of a pair", 32), ("SIMDs of a pair", 4), ("vector registers of a SIMD", 1024),
    ("scalar registers of a SIMD", 2560), ("render backends of an array", 4), ("L2 slice", 256), ("slices of a memory controller", 4),
    ("load/store/texture units of a pair", 2), ("primitive units", 4), ("rasterizers", 4), ("L1 of an array", 128),
    ("compute units", 40), ("ALUs", 2560), ("cycles of a wave64's instruction", 2),
])  # fmt: skip
def test_structure_of_rdna(name: str, value: int) -> None:
    die = find_product("RX 5700 XT").die
    assert {figure.name: figure.value for figure in structure(die)}[name] == value
    assert (die.engines, die.arrays, die.controllers, die.bus // die.controllers) == (2, 2, 4, 64)
    assert (die.unit.lanes, die.unit.vector_registers, die.unit.scalar_registers, die.unit.scalar_units) == (32, 128 << 10, 10 << 10, 2)


# AMD's "GCN Architecture" white paper: four SIMDs of 16 lanes, 256 registers of 64 floats in 64 KiB, ten waves.
@pytest.mark.parametrize(("name", "value"), [
    ("vector registers of a SIMD", 256), ("cycles of a wave64's instruction", 4), ("waves of a unit", 40), ("ALUs of a unit", 64),
    ("compute units", 32), ("ALUs", 2048), ("geometry processors", 2), ("rasterizers", 2),
])  # fmt: skip
def test_structure_of_gcn(name: str, value: int) -> None:
    die = find_product("Radeon HD 7970").die
    assert {figure.name: figure.value for figure in structure(die)}[name] == value
    assert die.unit.vector_registers == 64 << 10 and die.unit.waves == 10
    # A fragment shader of 32 registers: 8 waves, 512 fragments at once.
    assert occupancy(die.chip, vgprs=32) * 64 == 512


@pytest.mark.parametrize(("die", "kernel", "waves"), [
    ("tahiti", {"sgprs": 50}, 9), ("fiji", {"sgprs": 100}, 7), ("tonga", {"sgprs": 80}, 8), ("polaris10", {"vgprs": 24}, 8),
    ("hawaii", {"vgprs": 24}, 10),
    ("tahiti", {"lds_bytes": 32768, "workgroup_size": 256}, 2), ("tahiti", {"lds_bytes": 32769}, 0), ("navi10", {"vgprs": 28}, 18),
])  # fmt: skip
def test_occupancy_by_chip(die: str, kernel: Any, waves: int) -> None:
    assert occupancy(next(each for each in dies() if each.name == die).chip, **kernel) == waves


def test_both_tables_of_limits_agree() -> None:
    """The structure of the database and what kernels' limits say, for every chip with waves."""
    from pyaco.targets.limits import wave_limits

    for die in dies():
        if not die.target or die.family.startswith("CDNA"):
            continue
        limits = wave_limits(die.chip, 64)
        assert limits.physical_vgprs == die.unit.vector_registers // 256, die.name
        assert (limits.simds_per_cu, limits.max_waves_per_simd) == (die.unit.simds, die.unit.waves), die.name


# AMD's product pages: peak single precision and memory bandwidth.
@pytest.mark.parametrize(("name", "figure", "value"), [
    ("RX 7900 XTX", "dual-issue flops", 61.4), ("RX 6900 XT", "flops", 23.04), ("RX Vega 64", "flops", 12.66),
    ("Radeon HD 7970", "flops", 3.79), ("RX 580", "flops", 6.17), ("RX 9070 XT", "dual-issue flops", 48.7),
    ("Radeon HD 5870", "flops", 2.72), ("Radeon HD 5870", "pixel rate", 27200), ("Radeon HD 4870", "flops", 1.2),
    ("Radeon HD 4870", "memory bandwidth", 115.2), ("Radeon 9700 PRO", "pixel rate", 2600), ("Radeon X800 XT", "pixel rate", 8000),
    ("Radeon HD 6970", "flops", 2.7), ("Radeon 9700 PRO", "memory bandwidth", 19.84), ("Radeon VII", "memory bandwidth", 1024),
    ("RX 6800", "memory bandwidth", 512), ("Radeon R9 Fury X", "memory bandwidth", 512),
])  # fmt: skip
def test_published_peaks(name: str, figure: str, value: float) -> None:
    assert {f.name: f.value for f in peaks(find_product(name))}[figure] == pytest.approx(value, rel=0.01)


def test_tables_agree_with_each_other() -> None:
    known = {family.name for family in families()}
    assert len(dies()) >= 60 and len(products()) >= 70
    for die in dies():
        assert die.family in known and die.sources
    for product in products():
        assert product.units <= (product.die.compute_units or product.die.alus), product
    by_target = {die.target for die in dies()}
    unknown = {117, 125, 126, 130}                          # levels of which no product is known
    assert {c.target for c in chips() if c.level >= 100 and c.level not in unknown} <= by_target
    ids = [(number, die.name) for die in dies() for number in die.pci_ids]
    assert len(ids) == len(set(ids))
    shared = {number for number, name in ids if pci_chip(number).name != name}
    assert shared == {0x15D8, 0x67FF}, "an id of two chips needs the revisions that tell them apart"


NO_RULE = ("Radeon DDR", "Radeon Pro 5600M", "Steam Deck", "Radeon 8060S")


@pytest.mark.parametrize("product", [each for each in products() if each.name not in NO_RULE], ids=lambda product: product.name)
def test_names_say_the_generation(product: Any) -> None:
    found = decode_name(product.name)
    family = product.die.family
    assert family in found.generation or family.split()[0] in found.generation, found
    assert found.year <= product.die.year + 3


def test_chips_that_share_an_id() -> None:
    """The amdgpu driver's table says raven and polaris11; its code and libdrm's product names tell the revisions of the others."""
    raven2 = {0x91, 0x92, 0x94, 0x95, 0xCF, 0xDE, 0xDF, 0xE3, 0xE4, 0xE9, 0xEA, 0xEB}
    assert {revision for revision in range(256) if pci_chip(0x15D8, revision).name == "raven2"} == raven2
    assert {pci_chip(0x15D8, revision).name for revision in range(256) if revision not in raven2} == {"raven"}
    polaris10 = {revision for revision in range(256) if pci_chip(0x67FF, revision).name == "polaris10"}
    assert polaris10 == {0xE3, 0xE7, 0xF3, 0xF7}
    assert pci_chip(0x15D8).name == pci_chip(0x15DD).name == "raven" and pci_chip(0x67FF).name == "polaris11"
    assert pci_chip(0x744C, 0xC8).name == "navi31"


# Ids that libdrm's list of product names has and the amdgpu driver's table has not: chips that describe themselves.
@pytest.mark.parametrize(("chip", "ids"), [
    ("hainan", (0x6666,)), ("navi31", (0x7448, 0x7449, 0x744A, 0x744B, 0x744C, 0x745E)), ("navi32", (0x7460, 0x7461, 0x7470, 0x747E)),
    ("aqua_vanjaram", (0x74A0, 0x74A1, 0x74A2, 0x74A5, 0x74A8, 0x74A9, 0x74B5, 0x74B6, 0x74BD)), ("mi350", (0x75A0, 0x75A3, 0x75B0, 0x75B3)),
])  # fmt: skip
def test_ids_of_product_names(chip: str, ids: Any) -> None:
    assert {pci_chip(number).name for number in ids} == {chip}


# Texture channel caches in the amdgpu driver, and bytes of each in Mesa.
@pytest.mark.parametrize(("chip", "slices", "kib"), [
    ("tahiti", 12, 64), ("pitcairn", 8, 64), ("verde", 4, 128), ("oland", 4, 64), ("hainan", 2, 128), ("bonaire", 4, 128), ("hawaii", 16, 64),
    ("kaveri", 4, 128), ("kabini", 2, 64), ("iceland", 2, 128), ("tonga", 8, 64), ("carrizo", 2, 128), ("fiji", 16, 128), ("stoney", 2, 64),
    ("polaris12", 4, 128), ("raven2", 2, 64), ("raven", 4, 256), ("vega10", 16, 256), ("navi10", 16, 256),
])  # fmt: skip
def test_slices_of_the_l2(chip: str, slices: int, kib: int) -> None:
    die = next(each for each in dies() if each.name == chip)
    assert (die.slices, die.l2) == (slices, slices * kib)


# When a series began and when the next one came.
@pytest.mark.parametrize(("name", "years"), [
    ("RX 480", (2016, 2017)), ("RX 580", (2017, 2019)), ("X300", (2004, 2005)), ("Radeon X1800", (2005, 2007)), ("HD 8670", (2013, 2013)),
    ("R9 290X", (2013, 2015)), ("R9 390X", (2015, 2016)), ("RX 5700 XT", (2019, 2020)), ("RX 9070 XT", (2025, 0)),
])  # fmt: skip
def test_years_of_a_series(name: str, years: Any) -> None:
    found = decode_name(name)
    assert (found.year, found.until) == years


def test_feature_levels() -> None:
    """GCN 2 reported 11_1 until Direct3D 12 came, and 12_0 with it."""
    levels = {family.name: family.direct3d for family in families()}
    assert levels["GCN 1"] == "12.0 (11_1)" and levels["GCN 2"] == "12.0 (12_0; 11_1 until 2015)" and levels["GCN 5"] == "12.0 (12_1)"


# Mesa's classes and AMD's names; the years of the first releases.
@pytest.mark.parametrize(("name", "year", "classes", "chip"), [
    ("R700", 2008, ["R700"], "rv770"), ("evergreen", 2009, ["EVERGREEN"], "cypress"),
    ("Northern Islands", 2010, ["EVERGREEN", "CAYMAN"], "cayman"), ("Southern Islands", 2012, ["GFX6"], "tahiti"),
    ("Sea Islands", 2013, ["GFX7"], "hawaii"), ("volcanicislands", 2014, ["GFX8"], "fiji"), ("Polaris", 2016, ["GFX8"], "polaris11"),
    ("Navi 1x", 2019, ["GFX10"], "navi14"), ("GFX10_3", 2020, ["GFX10_3"], "navi22"),
])  # fmt: skip
def test_code_names(name: str, year: int, classes: list[str], chip: str) -> None:
    found = find_code_names(name)
    assert [each.mesa_class for each in found] == classes and found[0].year == year
    assert any(chip in each.chips for each in found)


def test_code_names_and_chips_agree() -> None:
    by_name = {die.name: die for die in dies()}
    named = [chip for each in code_names() for chip in each.chips]
    assert len(named) == len(set(named)) and set(named) <= set(by_name)
    for each in code_names():
        assert all(each.year <= by_name[chip].year for chip in each.chips), each
        assert len({by_name[chip].chip.level for chip in each.chips if by_name[chip].target}) <= 1, each
    assert by_name["cayman"].code_name is not None and by_name["phoenix"].code_name is None
    with pytest.raises(pyaco.InputError, match="code names are: R100"):
        find_code_names("Lake Islands")


def test_how_chips_are_made() -> None:
    """Every chip has a process; smaller ones come later, but for those made beside each other in a year or two."""
    sizes = {die.name: float(die.process.split(",")[0]) for die in dies()}
    assert all(sizes[first.name] >= sizes[second.name] for first in dies() for second in dies() if first.year + 4 < second.year)
    made = {die.name: (die.process, die.dies_of_package) for die in dies()}
    assert made["navi31"] == ("5, 6", "a graphics die and 6 memory cache dies") and made["tahiti"] == ("28", "")


def test_order_of_names() -> None:
    assert order_names(["RX 6700 XT", "RX 6600", "RX 6800", "RX 6700", "RX 6650"]) == (
        ("RX 6600",), ("RX 6650",), ("RX 6700",), ("RX 6700 XT",), ("RX 6800",))
    assert order_names(["RX 7900 XTX", "Radeon RX 7900XTX", "RX 7900 GRE"]) == (("RX 7900 GRE",), ("RX 7900 XTX", "Radeon RX 7900XTX"))
    assert order_names(["HD 7970", "HD 7770"]) == (("HD 7770",), ("HD 7970",))
    for names in (["RX 6700", "RX 7600"], ["RX 480", "RX 580"], ["RX 6700", "RX 6700M"]):
        with pytest.raises(pyaco.InputError, match="no order"):
            order_names(names)
    assert decode_name("RX 6700").stands_for == "Radeon Experience" and not decode_name("HD 7970").stands_for


def test_prices_at_launch() -> None:
    """The rules of the names since RX 5000: entry-level at $2xx and less, mid-range about $3xx, high-end about $5xx, enthusiast more."""
    assert find_product("RX 5700 XT").price == 399
    tiers: dict[str, list[int]] = {}
    for product in products():
        if product.price and product.die.family.startswith("RDNA"):
            tiers.setdefault(decode_name(product.name).tier, []).append(product.price)
    means = {tier: sum(prices) / len(prices) for tier, prices in tiers.items()}
    assert means["entry-level"] < 250 < means["mid-range"] < 400 < means["high-end"] < 600 < means["enthusiast"]


# What the amdgpu driver acquires: with one engine the first pipe, with two the first queues of each pipe of the first engine.
@pytest.mark.parametrize(("chip", "structure", "exposed"), [
    ("hawaii", (1, 1, 4, 8), [(0, 0, queue) for queue in range(8)]),
    ("kaveri", (1, 2, 4, 8), [(0, pipe, queue) for queue in range(2) for pipe in range(4)]),
    ("fiji", (1, 2, 4, 8), [(0, pipe, queue) for queue in range(2) for pipe in range(4)]),
    ("polaris11", (1, 2, 4, 8), [(0, 0, queue) for queue in range(8)]), ("stoney", (1, 1, 4, 8), [(0, 0, queue) for queue in range(8)]),
    ("navi10", (1, 2, 4, 8), [(0, pipe, queue) for queue in range(2) for pipe in range(4)]),
    ("navi48", (1, 2, 2, 4), [(0, pipe, queue) for queue in range(2) for pipe in range(2)]),
    ("tahiti", (1, 0, 0, 0), [(0, 0, 1), (0, 0, 2)]), ("arcturus", (0, 2, 4, 8), [(0, pipe, queue) for queue in range(2) for pipe in range(4)]),
])  # fmt: skip
def test_queues(chip: str, structure: tuple[int, int, int, int], exposed: list[tuple[int, int, int]]) -> None:
    found = queues(next(die for die in dies() if die.name == chip))
    assert (found.graphics, found.engines, found.pipes, found.queues_of_pipe) == structure
    assert found.exposed == tuple(ComputeQueue(*each) for each in exposed)


def test_every_chip_with_waves_has_queues() -> None:
    for die in dies():
        if die.target:
            assert queues(die).exposed, die.name
    with pytest.raises(pyaco.UnsupportedError, match="before GCN"):
        queues(next(die for die in dies() if die.name == "cayman"))


def test_names_and_ids() -> None:
    assert pci_chip(0x744C).name == "navi31"
    assert decode_name("Radeon RX 7900 XTX") == decode_name("RX 7900XTX")
    assert (decode_name("RX 9060 XT").tier, decode_name("RX 9070").tier) == ("mid-range", "high-end")
    assert decode_name("RX 6600").tier == "mid-range" and decode_name("RX 580").generation == "GCN 4"
    assert decode_name("AMD Radeon RX 5700 XT").generation == "RDNA 1" and decode_name("Radeon HD 7970").generation.startswith("GCN 1")
    assert decode_name("Radeon R9 290X").suffix == "X" and decode_name("Radeon 9700 PRO").year == 2002
    with pytest.raises(pyaco.InputError, match="PCI device id 0x0001"):
        pci_chip(1)
    with pytest.raises(pyaco.InputError, match="form"):
        decode_name("GeForce 256")
    with pytest.raises(pyaco.UnsupportedError, match="before GCN"):
        structure(find_product("Radeon HD 5870").die)


def test_heaps_of_a_card_with_a_small_window() -> None:
    """As RADV reports an RX 5700 XT with 256 MiB visible."""
    heaps, types = memory_heaps(100, 8192 * MIB, 256 * MIB, 8359135232)
    assert [(heap.size, heap.device_local) for heap in heaps] == [(8321499136, True), (8359135232, False), (268435456, True)]
    assert [(t.heap, int(t.properties)) for t in types] == [
        (0, 0x01), (0, 0x01), (1, 0x06), (2, 0x07), (1, 0x0E), (0, 0xC1), (1, 0xC6), (2, 0xC7), (1, 0xCE)]


def test_numbering_of_mesa_17() -> None:
    """Heap 0 is video memory that the host does not see, 1 what it sees, 2 system memory; types 0 to 3 in the order of the names."""
    heaps, types = memory_heaps(100, 8192 * MIB, 256 * MIB, 4096 * MIB, numbering="mesa17")
    assert [(heap.name, heap.size // MIB, heap.device_local) for heap in heaps] == [
        ("VRAM", 7936, True), ("visible VRAM", 256, True), ("GTT", 4096, False)]
    assert [(t.name, t.heap, int(t.properties)) for t in types] == [
        ("VRAM", 0, 0x01), ("GTT write-combine", 2, 0x06), ("VRAM CPU access", 1, 0x07), ("GTT cached", 2, 0x0E)]
    heaps, types = memory_heaps(90, 256 * MIB, 256 * MIB, 4096 * MIB, dedicated=False, numbering="mesa17")
    assert [(heap.name, heap.size // MIB) for heap in heaps] == [("visible VRAM", 256), ("GTT", 4096)]
    assert [(t.name, t.heap) for t in types] == [("GTT write-combine", 1), ("VRAM CPU access", 0), ("GTT cached", 1)]
    with pytest.raises(pyaco.InputError, match="no numbering"):
        memory_heaps(100, MIB, MIB, MIB, numbering="mesa1")


def test_heaps_of_a_processor() -> None:
    """Two thirds of what there is count as video memory (RADV on Renoir)."""
    heaps, _ = memory_heaps(90, 256 * MIB, 64 * MIB, 1454022656 + 2908053504 - 64 * MIB, dedicated=False)
    assert [heap.size for heap in heaps] == [1454022656, 2908053504]


def test_choice_of_a_type() -> None:
    _, types = memory_heaps(103, 8192 * MIB, 256 * MIB, 8192 * MIB)
    p = MemoryProperty
    assert types[choose_memory_type(types, p.DEVICE_LOCAL)].name == "VRAM"
    assert types[choose_memory_type(types, p.HOST_VISIBLE)].name == "GTT write-combine"
    assert types[choose_memory_type(types, p.HOST_VISIBLE, p.DEVICE_LOCAL)].name == "VRAM CPU access"
    assert types[choose_memory_type(types, p.HOST_VISIBLE, p.HOST_CACHED)].name == "GTT cached"
    with pytest.raises(pyaco.UnsupportedError):
        choose_memory_type(memory_heaps(60, 1 << 30, 1 << 28, 1 << 30)[1], p.DEVICE_UNCACHED)
