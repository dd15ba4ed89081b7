"""The worker process of `radv_capture`: RADV's null winsys, with addresses for its buffers and an eye on its command streams.

The null winsys gives buffers no addresses and runs nothing. This process puts its own functions in place of some entries of the
driver's table of winsys functions: those that create and destroy buffers, to give each an address, and those that create and
destroy command streams, to know where they lie. Entries that the null winsys leaves empty get a function that does nothing. The
entries' places are those of Mesa 22.3, checked against what the table holds.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import vulkan as vk
import vulkan_worker
from vulkan._vulkan import ffi

BUFFER_CREATE, BUFFER_DESTROY, BUFFER_MAP, CS_DOMAIN, CS_CREATE, CS_DESTROY = 5, 6, 7, 21, 22, 23
TABLE_SIZE, TABLE_USED = 40, 36
STREAM_DWORDS = 4096
FLAG_32BIT = 1 << 8
LOW, HIGH, GRANULE = 0x10_0000, 0x1000_0000_0000, 0x10000
#: Bits 32 to 63 of what has an address of 32 bits: the driver's choice, zero up to GFX8.
ABOVE_LOW = 0 if os.environ["RADV_FORCE_FAMILY"] in ("tahiti", "bonaire", "polaris10") else 0xFFFF_8000 << 32
CONTEXT_CONTROL = 0xC0012800

Pointer, Size, Number = ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint
NewBuffer = ctypes.CFUNCTYPE(ctypes.c_int, Pointer, Size, Number, Number, Number, Number, Size, ctypes.POINTER(Pointer))
OldBuffer = ctypes.CFUNCTYPE(None, Pointer, Pointer)
MapBuffer = ctypes.CFUNCTYPE(Pointer, Pointer)
NewStream = ctypes.CFUNCTYPE(Pointer, Pointer, Number, ctypes.c_bool)
OldStream = ctypes.CFUNCTYPE(None, Pointer)
Nothing = ctypes.CFUNCTYPE(ctypes.c_uint64)


class HostMemory:
    """This process' own memory; a place that is not mapped reads as nothing."""

    def __init__(self) -> None:
        self.file = os.open("/proc/self/mem", os.O_RDONLY)
        self.code = []
        for line in Path("/proc/self/maps").read_text().splitlines():
            if "libvulkan_radeon" in line and "r-xp" in line:
                first, end = line.split()[0].split("-")
                self.code.append((int(first, 16), int(end, 16)))

    def pointers(self, address: int, count: int) -> tuple[int, ...]:
        try:
            raw = os.pread(self.file, 8 * count, address)
        except (OSError, OverflowError):
            return ()
        return struct.unpack(f"<{len(raw) // 8}Q", raw[: len(raw) // 8 * 8])

    def is_code(self, address: int) -> bool:
        return any(first <= address < end for first, end in self.code)


def find_table(memory: HostMemory, device: int) -> int:
    """Address of the table of winsys functions that the driver's device points to."""
    needed = (0, 1, BUFFER_CREATE, BUFFER_DESTROY, BUFFER_MAP, CS_DOMAIN, CS_CREATE, CS_DESTROY)
    for pointer in dict.fromkeys(memory.pointers(device, 2048)):
        table = memory.pointers(pointer, TABLE_SIZE) if pointer > 1 << 16 else ()
        if len(table) < TABLE_SIZE or not all(memory.is_code(table[k]) for k in needed):
            continue
        if all(entry == 0 or memory.is_code(entry) for entry in table[:CS_DESTROY]):
            return pointer
    raise RuntimeError("this driver's table of winsys functions has another form")


class Recorder:
    """Stands in the driver's table of winsys functions; buffers by their handle as (device address, host address, size)."""

    def __init__(self, table: int) -> None:
        self.slots = (ctypes.c_uint64 * TABLE_SIZE).from_address(table)
        self.create = NewBuffer(self.slots[BUFFER_CREATE])
        self.destroy = OldBuffer(self.slots[BUFFER_DESTROY])
        self.map = MapBuffer(self.slots[BUFFER_MAP])
        self.start = NewStream(self.slots[CS_CREATE])
        self.drop = OldStream(self.slots[CS_DESTROY])
        self.next = {True: LOW | ABOVE_LOW, False: HIGH}
        self.buffers: dict[int, tuple[int, int, int]] = {}
        self.streams: list[int] = []
        self.functions = {
            BUFFER_CREATE: NewBuffer(self.new_buffer), BUFFER_DESTROY: OldBuffer(self.old_buffer),
            CS_CREATE: NewStream(self.new_stream), CS_DESTROY: OldStream(self.old_stream),
        }  # fmt: skip
        for slot, function in self.functions.items():
            self.slots[slot] = ctypes.cast(function, Pointer).value or 0
        self.nothing = Nothing(lambda: 0)
        for slot in range(TABLE_USED):
            self.slots[slot] = self.slots[slot] or ctypes.cast(self.nothing, Pointer).value or 0

    def new_buffer(self, winsys: int, size: int, *settings: Any) -> int:
        """`settings`: alignment, domain, flags, priority, address, and where the handle goes."""
        status = self.create(winsys, size, *settings)
        low, handle = bool(settings[2] & FLAG_32BIT), settings[-1][0]
        if status == 0:
            address = self.next[low]
            ctypes.c_uint64.from_address(handle).value = address    # the structure's first member is the device address
            ctypes.memset(self.map(handle), 0, size)
            self.buffers[handle] = (address, self.map(handle), size)
            self.next[low] += -(-(size + 1) // GRANULE) * GRANULE
        return status

    def old_buffer(self, winsys: int, handle: int) -> None:
        self.buffers.pop(handle, None)
        self.destroy(winsys, handle)

    def new_stream(self, winsys: int, kind: int, secondary: bool) -> int:
        self.streams.append(self.start(winsys, kind, secondary))
        return self.streams[-1]

    def old_stream(self, stream: int) -> None:
        if stream in self.streams:
            self.streams.remove(stream)
        self.drop(stream)

    def contents(self) -> Iterator[list[int]]:
        """Dwords of the buffer with a queue's first state, then of the streams that are not empty.

        A stream's structure is dwords used, dwords that fit, pointer.
        """
        for data in self.memory().values():
            if data[:4] == struct.pack("<I", CONTEXT_CONTROL):
                yield list(struct.unpack(f"<{len(data) // 4}I", data))
        for stream in self.streams:
            used, most = (ctypes.c_uint32 * 2).from_address(stream)
            if most != STREAM_DWORDS or used > most:
                raise RuntimeError("this driver's command streams have another form")
            if used:
                yield list((ctypes.c_uint32 * used).from_address(ctypes.c_uint64.from_address(stream + 8).value))

    def memory(self) -> dict[int, bytes]:
        return {address: ctypes.string_at(host, size) for address, host, size in self.buffers.values()}


class Device(vulkan_worker.Device):
    """Records instead of running."""

    recorder: Recorder

    def _memory_type(self, bits: int) -> int:
        return 0    # the null winsys has no heaps and so no types, and allocates all the same

    def capture(self, request: dict[str, Any]) -> dict[str, Any]:
        """Record a dispatch; return streams, memory and the places of the buffers."""
        self.pool = vk.vkCreateCommandPool(self.device, vk.VkCommandPoolCreateInfo(queueFamilyIndex=self._queue_family()), None)
        module = self._module(request["spirv"])
        sets, layout, bindings = self._layouts(request)
        info = vk.VkComputePipelineCreateInfo(stage=self._stage(request, module), layout=layout)
        pipeline = self._create(ffi.addressof(info))
        buffers, contents, push = self._filled(request)
        pool, descriptors = self._descriptors(sets, bindings, buffers, contents)
        counts = self._buffer(12) if request["indirect"] else None
        if counts:
            counts[2][:12] = struct.pack("<3I", *request["groups"])
        self._record(pipeline, layout, descriptors, push, request["groups"], counts and counts[0])
        answer = {"streams": list(self.recorder.contents()), "memory": self.recorder.memory(),
                  "placed": {key: (buffers[key][3], len(data)) for key, data in contents.items()}}  # fmt: skip
        vk.vkDestroyCommandPool(self.device, self.pool, None)    # a pool would keep the stream for the next
        self._free(pool, [*buffers.values(), *([counts] if counts else [])])
        self._destroy(pipeline, layout, sets, module)
        return answer


def main() -> None:
    """Serve requests until standard input ends."""
    faulthandler.enable()
    # Drivers print to standard output; keep the protocol on a descriptor of its own.
    protocol = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    first = vulkan_worker.Device()
    Device.recorder = Recorder(find_table(HostMemory(), int(ffi.cast("uintptr_t", first.device))))
    device = Device(first.instance)
    vulkan_worker.serve(sys.stdin.buffer, protocol, {"capture": device.capture})


if __name__ == "__main__":
    main()
