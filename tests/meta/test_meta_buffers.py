"""Buffers copied, filled and updated, on every queue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyaco import meta
from pyaco.emu import Device
from pyaco.errors import InputError, UnsupportedError

TARGETS = ("gfx600", "gfx700", "gfx900", "gfx906", "gfx1030", "gfx1100", "gfx1200")
EVERY = [(target, queue) for target in TARGETS for queue in meta.QUEUES if (target, queue) != ("gfx600", "dma")]
EVERY += [(target, "dma") for target in ("gfx942", "gfx1010")]


@pytest.mark.parametrize(("target", "queue"), EVERY)
def test_copies_of_any_bytes(target: str, queue: str) -> None:
    device, random = Device(target, threads=1), np.random.default_rng(1)
    source, held = device.buffer(random.integers(0, 256, 5003, dtype=np.uint8)), random.integers(0, 256, 6001, dtype=np.uint8)
    for first, to, size in ((0, 0, 5000), (16, 32, 4096), (4, 8, 1020), (3, 1, 4999), (5002, 6000, 1), (1, 1, 0), (8, 24, 2048)):
        destination = device.buffer(held)
        meta.copy_buffer(device, source, destination, [meta.BufferCopy(first, to, size)], queue=queue)
        wanted = held.copy()
        wanted[to : to + size] = source.numpy()[first : first + size]
        assert np.array_equal(destination.numpy(), wanted), (first, to, size)


@pytest.mark.parametrize(("target", "queue"), EVERY)
def test_fills_and_updates(target: str, queue: str) -> None:
    device, random = Device(target, threads=1), np.random.default_rng(2)
    buffer, wanted = device.zeros(70_003), np.zeros(70_003, np.uint8)
    for offset, size, word in ((0, None, 0x01020304), (4, 12, 0xDEADBEEF), (64, 4096, 7), (69_996, 4, 9), (0, 0, 1)):
        meta.fill_buffer(device, buffer, word, offset, size, queue=queue)
        count = 70_000 - offset if size is None else size
        wanted[offset : offset + count] = np.full(count // 4, word, "<u4").view(np.uint8)
        assert np.array_equal(buffer.numpy(), wanted), (offset, size)
    for offset, count in ((0, 65_536), (4, 4), (69_000, 1000), (8, 0)):
        data = random.integers(0, 256, count, dtype=np.uint8)
        meta.update_buffer(device, buffer, data, offset, queue=queue)
        wanted[offset : offset + count] = data
        assert np.array_equal(buffer.numpy(), wanted), (offset, count)


def test_the_engine_of_gfx6_is_another() -> None:
    device = Device("gfx600", threads=1)
    buffer = device.zeros(64)
    works: list[Callable[[], Any]] = [
        lambda: meta.fill_buffer(device, buffer, 1, queue="dma"), lambda: meta.update_buffer(device, buffer, b"abcd", queue="dma"),
        lambda: meta.copy_buffer(device, buffer, device.zeros(64), queue="dma"),
    ]  # fmt: skip
    for work in works:
        with pytest.raises(UnsupportedError, match="buffers by the DMA engine of gfx600"):
            work()


def test_bytes_beyond_one_packet() -> None:
    device = Device("gfx1100", threads=1)
    source = device.buffer(np.random.default_rng(3).integers(0, 256, (5 << 20) + 13, dtype=np.uint8))
    destination = device.zeros(source.size)
    meta.copy_buffer(device, source, destination, queue="dma")
    assert np.array_equal(destination.numpy(), source.numpy())
    meta.fill_buffer(device, destination, 0x55AA55AA, queue="dma")
    assert (destination.numpy()[: 5 << 20].view(np.uint32) == 0x55AA55AA).all()


def test_what_is_refused() -> None:
    device = Device("gfx1100", threads=1)
    buffer = device.zeros(100)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: meta.copy_buffer(device, buffer, buffer, [meta.BufferCopy(0, 4, 4), meta.BufferCopy(0, 90, 20)]),
         "region 1, destination: 20 bytes from 90"),
        (lambda: meta.copy_buffer(device, buffer, buffer, [meta.BufferCopy(0, 3, 4)]), "region 0: source and destination overlap"),
        (lambda: meta.copy_buffer(device, buffer, buffer, [], queue="graphics"), "no queue is called 'graphics'; there are direct, compute, dma"),
        (lambda: meta.fill_buffer(device, buffer, 1, 2), "whole dwords"),
        (lambda: meta.fill_buffer(device, buffer, 1 << 32), "no dword"),
        (lambda: meta.fill_buffer(device, buffer, 1, 96, 8), "a fill: 8 bytes from 96 on of a buffer of 100"),
        (lambda: meta.update_buffer(device, buffer, b"abc"), "whole dwords"),
        (lambda: meta.update_buffer(device, device.zeros(1 << 17), bytes(1 << 17)), "up to 65536"),
    ]
    for refused, message in cases:
        with pytest.raises(InputError, match=message):
            refused()
    with pytest.raises(UnsupportedError, match="compilation for gfx942"):
        other = Device("gfx942", threads=1)
        meta.fill_buffer(other, other.zeros(16), 1)
