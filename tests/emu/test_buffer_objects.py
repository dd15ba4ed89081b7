"""Buffer objects against a model of pages: what each address means after any sequence of requests."""

from __future__ import annotations

import mmap
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from machine_code import Assemble

from pyaco._core.emu.memory import AddressSpace
from pyaco.emu import Device
from pyaco.emu.buffer_objects import Client, CreateFlag, DeviceMemory, Domain, GemError, MapFlag, Operation
from pyaco.emu.errors import MemoryFault
from pyaco.targets.memory import MemoryProperty, choose_memory_type, memory_heaps
from pyaco.targets.virtual_addresses import PAGE

MIB = 1 << 20
BASE = 0x2_0000_0000
PAGES = 24
SPARSE = "sparse"


def seen(space: AddressSpace, address: int) -> int:
    """The byte at an address, which is mapped."""
    view = space.view(address, 1)
    assert view is not None
    return view[0]


def refused(code: str, action: Callable[..., object], *arguments: object) -> None:
    with pytest.raises(GemError) as caught:
        action(*arguments)
    assert caught.value.code == code


class Gem(RuleBasedStateMachine):
    """A client and another that shares objects with it; the model knows what each page of a window means."""

    def __init__(self) -> None:
        super().__init__()
        self.space = AddressSpace()
        self.memory = DeviceMemory(64 * PAGE, 16 * PAGE, 64 * PAGE)
        self.client = Client(self.space, self.memory)
        self.other = Client(AddressSpace(), self.memory)
        self.sizes: dict[int, int] = {}                       # handle: pages
        self.pages: dict[int, tuple[int | str, int]] = {}     # page of the window: handle and page of the object
        self.starts: dict[int, tuple[int | str, int]] = {}    # mapping's first page: handle, end
        self.serial = 0

    @rule(pages=st.integers(1, 9), domain=st.sampled_from((Domain.VRAM, Domain.GTT)), visible=st.booleans())
    def create(self, pages: int, domain: Domain, visible: bool) -> None:
        flags = CreateFlag.CPU_ACCESS_REQUIRED if visible else CreateFlag(0)
        try:
            handle = self.client.create(pages * PAGE - 100, domain, flags)
        except GemError as error:
            assert error.code == "ENOMEM" and sum(self.memory.used.values()) > 64 * PAGE - pages * PAGE
            return
        assert handle not in self.sizes
        self.sizes[handle] = pages
        for page in range(pages):
            self.serial += 1
            self.client.buffer(handle).data[page * PAGE : page * PAGE + 8] = np.frombuffer(self.serial.to_bytes(8, "little"), np.uint8)

    def pick(self, data: st.DataObject) -> int | None:
        return data.draw(st.sampled_from(sorted(self.sizes))) if self.sizes else None

    def cut(self, first: int, end: int) -> None:
        for start, (handle, stop) in list(self.starts.items()):
            if start < end and first < stop:
                del self.starts[start]
                if start < first:
                    self.starts[start] = (handle, first)
                if end < stop:
                    self.starts[end] = (handle, stop)
        for page in range(first, end):
            self.pages.pop(page, None)

    @rule(data=st.data(), first=st.integers(0, PAGES - 1), count=st.integers(1, 9), offset=st.integers(0, 8),
          replace=st.booleans(), sparse=st.booleans())
    def map(self, data: st.DataObject, first: int, count: int, offset: int, replace: bool, sparse: bool) -> None:
        handle = 0 if sparse else self.pick(data)
        if handle is None:
            return
        operation = Operation.REPLACE if replace else Operation.MAP
        flags = MapFlag.PRT if sparse else MapFlag.READABLE
        arguments = (operation, handle, BASE + first * PAGE, count * PAGE, offset * PAGE, flags)
        if not sparse and offset + count > self.sizes[handle]:
            refused("EINVAL", self.client.virtual_address, *arguments)
            return
        if not replace and any(page in self.pages for page in range(first, first + count)):
            refused("EINVAL", self.client.virtual_address, *arguments)
            return
        self.client.virtual_address(*arguments)
        self.cut(first, first + count)
        self.starts[first] = (SPARSE if sparse else handle, first + count)
        for page in range(count):
            self.pages[first + page] = (SPARSE if sparse else handle, offset + page)

    @rule(first=st.integers(0, PAGES - 1), count=st.integers(1, 12))
    def clear(self, first: int, count: int) -> None:
        self.client.virtual_address(Operation.CLEAR, 0, BASE + first * PAGE, count * PAGE)
        self.cut(first, first + count)

    @rule(data=st.data(), first=st.integers(0, PAGES - 1))
    def unmap(self, data: st.DataObject, first: int) -> None:
        handle = self.pick(data)
        if handle is None:
            return
        if self.starts.get(first, (None, 0))[0] != handle:
            refused("ENOENT", self.client.virtual_address, Operation.UNMAP, handle, BASE + first * PAGE, 0)
            return
        self.client.virtual_address(Operation.UNMAP, handle, BASE + first * PAGE, 0)
        self.cut(first, self.starts[first][1])

    @rule(data=st.data(), shared=st.booleans())
    def close(self, data: st.DataObject, shared: bool) -> None:
        handle = self.pick(data)
        if handle is None:
            return
        size, place = self.client.buffer(handle).size, self.client.buffer(handle).place
        before = self.memory.used[place]
        if shared:
            reference = self.client.export(handle)
            assert self.client.import_shared(reference) == handle
            there = self.other.import_shared(reference)
            assert self.other.import_shared(reference) == there
            self.client.drop(reference)
        self.client.close(handle)
        refused("EINVAL", self.client.close, handle)
        if shared:
            assert self.memory.used[place] == before
            self.other.close(there)
        assert self.memory.used[place] == before - size
        del self.sizes[handle]
        for start, (held, stop) in list(self.starts.items()):
            if held == handle:
                self.cut(start, stop)

    @invariant()
    def every_page_means_what_the_model_says(self) -> None:
        for page in range(PAGES + 12):
            view = self.space.view(BASE + page * PAGE, 8)
            held = self.pages.get(page)
            if held is None or held[0] == SPARSE:
                assert view is None
            else:
                assert view is not None and isinstance(held[0], int)
                assert bytes(view) == self.client.buffer(held[0]).data[held[1] * PAGE :][:8].tobytes()
        assert {(m.address - BASE) // PAGE: (m.end - BASE) // PAGE for m in self.client.mappings()} == {
            start: end for start, (_, end) in self.starts.items()}
        assert sum(self.memory.used.values()) == PAGE * sum(self.sizes.values())


Gem.TestCase.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
TestGem = Gem.TestCase


def test_requests_that_the_kernel_refuses() -> None:
    client = Client(AddressSpace())
    refused("EINVAL", client.create, 0, Domain.VRAM)
    refused("EINVAL", client.create, 1, Domain(0))
    refused("EINVAL", client.create, 1, Domain(0x80))
    refused("EINVAL", client.create, 1, Domain.GTT, CreateFlag(0x10))
    refused("EINVAL", client.create, 1, Domain.GTT, CreateFlag(0), 3)
    handle = client.create(2 * PAGE, Domain.GTT)
    for address, size, offset in ((BASE + 1, PAGE, 0), (BASE, 100, 0), (BASE, PAGE, 5), (BASE, 3 * PAGE, 0), (BASE, PAGE, 2 * PAGE), (BASE, 0, 0),
                                  (0x1000, PAGE, 0), (0x8000_0000_0000, PAGE, 0), (0x7FFF_FFFF_F000, 2 * PAGE, 0), (1 << 64, PAGE, 0)):
        refused("EINVAL", client.virtual_address, Operation.MAP, handle, address, size, offset)
    refused("ENOENT", client.virtual_address, Operation.MAP, 99, BASE, PAGE)
    refused("ENOENT", client.virtual_address, Operation.UNMAP, handle, BASE, 0)
    refused("EINVAL", client.virtual_address, Operation.MAP, handle, BASE, PAGE, 0, MapFlag(0x400))
    refused("EPERM", client.host_view, client.create(PAGE, Domain.VRAM, CreateFlag.NO_CPU_ACCESS))
    refused("ENOENT", client.host_view, 99)
    refused("EINVAL", client.import_memory, np.zeros(100, np.uint8))


def test_host_memory_is_imported_without_a_copy() -> None:
    raw = mmap.mmap(-1, 2 * PAGE)
    own = np.frombuffer(raw, np.uint8)
    client = Client(AddressSpace())
    handle = client.import_memory(own)
    client.virtual_address(Operation.MAP, handle, BASE, PAGE, PAGE)
    own[PAGE] = 77
    assert seen(client._space, BASE) == 77
    client.close(handle)
    assert client._space.view(BASE, 1) is None


def test_full_video_memory() -> None:
    memory = DeviceMemory(8 * PAGE, 4 * PAGE, 100 * PAGE)
    client = Client(AddressSpace(), memory)
    places = [client.buffer(client.create(4 * PAGE, Domain.VRAM)).place for _ in range(3)]
    assert places == ["VRAM", "visible VRAM", "GTT"]
    assert client.buffer(client.create(PAGE, Domain.VRAM, CreateFlag.CPU_ACCESS_REQUIRED)).place == "GTT"
    refused("ENOMEM", client.create, 200 * PAGE, Domain.VRAM)


def test_memory_types_become_objects() -> None:
    heaps, types = memory_heaps(103, 8192 * MIB, 256 * MIB, 8192 * MIB)
    device = Device("gfx1030")
    client = Client(device.space, DeviceMemory.of_heaps(heaps))
    p = MemoryProperty
    for required, place, visible in ((p.DEVICE_LOCAL, "VRAM", False), (p.HOST_VISIBLE, "GTT", True),
                                     (p.HOST_VISIBLE | p.DEVICE_LOCAL, "visible VRAM", True), (p.HOST_VISIBLE | p.HOST_CACHED, "GTT", True)):
        kind = types[choose_memory_type(types, required)]
        handle, address = client.allocate(kind, 3 * MIB)
        assert client.buffer(handle).place == place and address % (2 * MIB) == 0
        if visible:
            client.host_view(handle)[5] = 9
            assert seen(device.space, address + 5) == 9
        client.free(handle, address)
    short = next(kind for kind in types if kind.low_addresses)
    handle, address = client.allocate(short, 100)
    assert address >> 32 == 0xFFFF8000
    client.free(handle, address)
    assert not client.mappings() and not any(client.memory.used.values())


def test_shaders_reach_what_is_mapped(assemble: Assemble) -> None:
    """A store through one mapping is seen through another of the same pages; after an unmap it stops the dispatch."""
    device = Device("gfx1030")
    client = Client(device.space)
    handle = client.create(4 * PAGE, Domain.VRAM)
    for address in (BASE, BASE + 0x10_0000):
        client.virtual_address(Operation.MAP, handle, address, 2 * PAGE, PAGE)
    code = assemble("v_mov_b32 v0, s0\nv_mov_b32 v1, s1\nv_mov_b32 v2, 42\nglobal_store_dword v[0:1], v2, off offset:8\ns_endpgm", "gfx1030")
    device.run(code, workgroup_size=(1, 1, 1), user_sgprs=[BASE & 0xFFFFFFFF, BASE >> 32])
    assert seen(device.space, BASE + 0x10_0008) == 42 and client.buffer(handle).data[PAGE + 8] == 42
    client.virtual_address(Operation.UNMAP, handle, BASE, 0)
    with pytest.raises(MemoryFault):
        device.run(code, workgroup_size=(1, 1, 1), user_sgprs=[BASE & 0xFFFFFFFF, BASE >> 32])
