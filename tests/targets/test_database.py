"""The GPU database, peak figures, memory heaps."""

from __future__ import annotations

import pytest

import pyaco
from pyaco.targets import chips
from pyaco.targets.database import decode_name, dies, families, find_product, pci_chip, peaks, products
from pyaco.targets.memory import MemoryProperty, choose_memory_type, memory_heaps

MIB = 1 << 20


def test_the_worked_example():
    """The figures of an RX 5700 XT as the RDNA white paper's structure gives them."""
    figures = {figure.name: figure for figure in peaks(find_product("AMD Radeon RX 5700 XT"))}
    assert figures["cull rate"].value == 15240 and figures["primitive rate"].value == 7620
    assert figures["pixel rate"].value == 121920 and figures["flops per cycle"].value == 5120
    assert figures["flops"].value == pytest.approx(9.7536)
    assert figures["cull rate"].numbers == "2 * 2 * 2 * 1905"


# AMD's product pages: peak single precision and memory bandwidth.
@pytest.mark.parametrize(("name", "figure", "value"), [
    ("RX 7900 XTX", "dual-issue flops", 61.4), ("RX 6900 XT", "flops", 23.04), ("RX Vega 64", "flops", 12.66),
    ("Radeon HD 7970", "flops", 3.79), ("RX 580", "flops", 6.17), ("RX 9070 XT", "dual-issue flops", 48.7),
    ("Radeon VII", "memory bandwidth", 1024), ("RX 6800", "memory bandwidth", 512), ("Radeon R9 Fury X", "memory bandwidth", 512),
])  # fmt: skip
def test_published_peaks(name, figure, value):
    assert {f.name: f.value for f in peaks(find_product(name))}[figure] == pytest.approx(value, rel=0.01)


def test_tables_agree_with_each_other():
    known = {family.name for family in families()}
    assert len(dies()) >= 60 and len(products()) >= 70
    for die in dies():
        assert die.family in known and die.sources
    for product in products():
        assert product.units <= (product.die.compute_units or product.die.alus), product
    by_target = {die.target for die in dies()}
    assert {c.target for c in chips() if c.level >= 100} <= by_target
    ids = [number for die in dies() for number in die.pci_ids]
    assert len(ids) == len(set(ids))


def test_names_and_ids():
    assert pci_chip(0x744C).name == "navi31"
    assert decode_name("Radeon RX 7900 XTX") == decode_name("RX 7900XTX")
    assert decode_name("RX 6600").tier == "mid-range" and decode_name("RX 580").generation == "GCN 4"
    with pytest.raises(pyaco.InputError, match="PCI device id 0x0001"):
        pci_chip(1)
    with pytest.raises(pyaco.InputError, match="form"):
        decode_name("GeForce 256")
    with pytest.raises(pyaco.UnsupportedError, match="before GCN"):
        peaks(find_product("Radeon HD 5870"))


def test_heaps_of_a_card_with_a_small_window():
    """As RADV reports an RX 5700 XT with 256 MiB visible."""
    heaps, types = memory_heaps(100, 8192 * MIB, 256 * MIB, 8359135232)
    assert [(heap.size, heap.device_local) for heap in heaps] == [(8321499136, True), (8359135232, False), (268435456, True)]
    assert [(t.heap, int(t.properties)) for t in types] == [
        (0, 0x01), (0, 0x01), (1, 0x06), (2, 0x07), (1, 0x0E), (0, 0xC1), (1, 0xC6), (2, 0xC7), (1, 0xCE)]


def test_heaps_of_a_processor():
    """Two thirds of what there is count as video memory (RADV on Renoir)."""
    heaps, _ = memory_heaps(90, 256 * MIB, 64 * MIB, 1454022656 + 2908053504 - 64 * MIB, dedicated=False)
    assert [heap.size for heap in heaps] == [1454022656, 2908053504]


def test_choice_of_a_type():
    _, types = memory_heaps(103, 8192 * MIB, 256 * MIB, 8192 * MIB)
    p = MemoryProperty
    assert types[choose_memory_type(types, p.DEVICE_LOCAL)].name == "VRAM"
    assert types[choose_memory_type(types, p.HOST_VISIBLE)].name == "GTT write-combine"
    assert types[choose_memory_type(types, p.HOST_VISIBLE, p.DEVICE_LOCAL)].name == "VRAM CPU access"
    assert types[choose_memory_type(types, p.HOST_VISIBLE, p.HOST_CACHED)].name == "GTT cached"
    with pytest.raises(pyaco.UnsupportedError):
        choose_memory_type(memory_heaps(60, 1 << 30, 1 << 28, 1 << 30)[1], p.DEVICE_UNCACHED)
