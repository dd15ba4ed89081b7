"""Dispatch as the HSA packet processor does it: an AQL packet, a kernel descriptor, arguments in memory.

Sources: HSA Platform System Architecture Specification 1.2, "AQL kernel dispatch packet"; LLVM's "User Guide for AMDGPU Backend",
"Kernel Dispatch", "Initial Kernel Execution State".
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Protocol

import numpy

from pyaco.arguments import checked
from pyaco.binary import KernelDescriptor
from pyaco.emu.kernel_arguments import APERTURES
from pyaco.emu.launch import DEFAULT_BUDGET, Launch, initial_mode
from pyaco.errors import InputError
from pyaco.targets import TargetId, features, lds_limits

if TYPE_CHECKING:
    from pyaco._core.emu.memory import AddressSpace
    from pyaco.emu.hostcall import Hostcalls
    from pyaco.emu.prepared_launch import PreparedLaunch
    from pyaco.emu.report import Report

__all__ = ["DispatchPacket", "Launcher", "PacketMemory", "launch_of", "queue_bytes", "submit"]

_PACKET = struct.Struct("<HHHHHHIIIIIQQQQ")
_KERNEL_DISPATCH = 2
_DESCRIPTOR_BYTES = 64
# amd_queue_t: its size, and where it has the high halves of the apertures of LDS and scratch
_QUEUE_BYTES, _QUEUE_APERTURES = 256, 0x40


class Launcher(Protocol):
    """What a dispatch needs of a device."""

    target: str
    target_id: TargetId
    gfx_level: int
    space: AddressSpace

    @property
    def hostcalls(self) -> Hostcalls:
        """What serves kernels that call the host."""
        ...

    def concurrent_workgroups(self, entry: int, groups: int, waves: int, cooperative: bool) -> int:
        """How many workgroups may be there at once."""
        ...

    def launch(self, launch: Launch, *, budget: int = ..., time_budget: float | None = None) -> Report:
        """Run code that lies in device memory."""
        ...

    def prepare(self, launch: Launch) -> PreparedLaunch:
        """Check a launch that is run more than once."""
        ...


@checked
@dataclass(frozen=True)
class DispatchPacket:
    """An AQL kernel dispatch packet.

    Attributes
    ----------
    workgroup_size, grid_size : tuple of int
        Work-items in x, y, z: of a workgroup, and of the whole grid.
    kernel_object : int
        Address of the kernel's descriptor.
    kernarg_address : int
        Address of its arguments.
    private_segment_size, group_segment_size : int
        Bytes of scratch of a work-item and of LDS of a workgroup; at least what the descriptor says is used.
    dimensions : int
        1 to 3.
    cooperative : bool
        Its workgroups may wait for each other. The 64 bytes do not say so: such packets go to a queue of their own.
    cluster : tuple of int
        Workgroups of a cluster (GFX12.5). The 64 bytes as they are known here do not say so either.
    """

    workgroup_size: tuple[int, int, int]
    grid_size: tuple[int, int, int]
    kernel_object: int
    kernarg_address: int = 0
    private_segment_size: int = 0
    group_segment_size: int = 0
    dimensions: int = 3
    cooperative: bool = False
    cluster: tuple[int, int, int] = (1, 1, 1)

    @classmethod
    def from_bytes(cls, data: bytes) -> DispatchPacket:
        """Read the 64 bytes.

        Raises
        ------
        InputError
            They are no kernel dispatch packet.
        """
        if len(data) != _PACKET.size:
            raise InputError(f"an AQL packet of {len(data)} bytes, not {_PACKET.size}")
        header, setup, *rest = _PACKET.unpack(data)
        if header & 0xFF != _KERNEL_DISPATCH:
            raise InputError(f"an AQL packet of type {header & 0xFF}, not a kernel dispatch ({_KERNEL_DISPATCH})")
        x, y, z, _, grid_x, grid_y, grid_z, private, group, kernel, arguments, _, _ = rest
        return cls((x, y, z), (grid_x, grid_y, grid_z), kernel, arguments, private, group, setup & 3)

    def to_bytes(self) -> bytes:
        """The 64 bytes, without a completion signal."""
        try:
            return _PACKET.pack(
                _KERNEL_DISPATCH, self.dimensions, *self.workgroup_size, 0, *self.grid_size, self.private_segment_size,
                self.group_segment_size, self.kernel_object, self.kernarg_address, 0, 0,
            )  # fmt: skip
        except struct.error as error:
            raise InputError(f"AQL packet: {error}") from None

    def workgroups(self) -> tuple[int, int, int]:
        """How many workgroups the grid has, partial ones included.

        Raises
        ------
        InputError
            A size is zero.
        """
        if min(self.workgroup_size) < 1 or min(self.grid_size) < 1:
            raise InputError(f"a grid of {self.grid_size} work-items in workgroups of {self.workgroup_size}")
        x, y, z = (-(-grid // size) for grid, size in zip(self.grid_size, self.workgroup_size, strict=True))
        return x, y, z

    def last_workgroup_size(self) -> tuple[int, int, int]:
        """Work-items in x, y, z of the last workgroup of each dimension, which is partial where the grid is no multiple."""
        x, y, z = ((grid - 1) % size + 1 for grid, size in zip(self.grid_size, self.workgroup_size, strict=True))
        return x, y, z


# ------------------------------------------------------------------------------------------------------- packet processor
def submit(
    device: Launcher, packet: DispatchPacket | bytes, *, budget: int = DEFAULT_BUDGET, time_budget: float | None = None
) -> Report:
    """Launch what an AQL packet names; its addresses are the device's.

    Parameters
    ----------
    device : Launcher
        Whose memory holds code, descriptor and arguments.
    packet : DispatchPacket or bytes
        The packet, or its 64 bytes.
    budget : int
        Wave instructions that may be executed.
    time_budget : float, optional
        Seconds that it may take.

    Raises
    ------
    MemoryFault, BudgetError, EmulationError, UnsupportedError, InputError
        As ``Device.dispatch``.
    """
    packet = packet if isinstance(packet, DispatchPacket) else DispatchPacket.from_bytes(packet)
    view = device.space.view(packet.kernel_object, _DESCRIPTOR_BYTES)
    if view is None:
        raise InputError(f"kernel object {packet.kernel_object:#x} is outside memory")
    descriptor = KernelDescriptor.from_bytes(bytes(view))
    waves = -(-prod(packet.workgroup_size) // descriptor.wave_size)
    scratch = PacketMemory(device, descriptor, packet, waves)
    try:
        return device.launch(launch_of(device, descriptor, packet, scratch), budget=budget, time_budget=time_budget)
    finally:
        scratch.release()


def launch_of(device: Launcher, descriptor: KernelDescriptor, packet: DispatchPacket, scratch: PacketMemory) -> Launch:
    """What a kernel descriptor and a packet ask for."""
    level = device.gfx_level
    entry = packet.kernel_object + descriptor.entry_offset
    code_start, code_bytes = device.space.nearest(entry) or (entry, 0)
    rsrc1, rsrc2 = descriptor.rsrc1, descriptor.rsrc2
    lds = lds_limits(level)
    lds_used = max(packet.group_segment_size, descriptor.group_segment_fixed_size)
    return Launch(
        entry=entry, code_start=code_start, code_bytes=code_bytes, groups=packet.workgroups(), size=packet.workgroup_size,
        last_size=packet.last_workgroup_size(), wave_size=descriptor.wave_size, user_sgprs=scratch.user_sgprs(packet),
        workgroup_id_mask=sum(bit << axis for axis, bit in enumerate(descriptor.workgroup_ids)),
        ids_in_ttmp=features.has_workgroup_ids_in_ttmp(level), workgroup_info=bool(rsrc2 >> 10 & 1),
        scratch_offset=descriptor.uses_scratch and not features.has_architected_flat_scratch(level),
        packed_ids=features.has_packed_ids(level), local_id_components=descriptor.workitem_id_components,
        mode=initial_mode(level, descriptor.float_mode, dx10_clamp=bool(rsrc1 >> 21 & 1), ieee=bool(rsrc1 >> 23 & 1),
                          fp16_overflow=bool(rsrc1 >> 26 & 1)),
        lds_bytes=lds.decode(lds.encode(lds_used)), lds_used=lds_used,
        scratch_bytes=scratch.bytes_per_lane, scratch_slots=scratch.slots, private=(scratch.address, scratch.size),
        wgp_mode=features.has_wgp_mode(level) and bool(rsrc1 >> 29 & 1), cooperative=packet.cooperative, cluster=packet.cluster,
    )  # fmt: skip


def queue_bytes() -> bytes:
    """What code may read of the queue that its packet came from: where LDS and scratch lie among flat addresses."""
    queue = bytearray(_QUEUE_BYTES)
    struct.pack_into("<II", queue, _QUEUE_APERTURES, *APERTURES)
    return bytes(queue)


class PacketMemory:
    """Memory that the packet processor hands to a dispatch besides what the packet names: scratch, the packet itself, the queue."""

    def __init__(self, device: Launcher, descriptor: KernelDescriptor, packet: DispatchPacket, waves: int) -> None:
        self.device, self.descriptor = device, descriptor
        self.bytes_per_lane = -(-max(packet.private_segment_size, descriptor.private_segment_fixed_size) // 16) * 16
        self._addresses: list[int] = []
        self._asked = descriptor.user_sgprs()
        self.size = 0
        self.slots: int | None = None
        if self.bytes_per_lane and any(name in ("private_segment_buffer", "flat_scratch_init") for name, _ in self._asked):
            entry = packet.kernel_object + descriptor.entry_offset
            self.slots = device.concurrent_workgroups(entry, prod(packet.workgroups()), waves, packet.cooperative)
            self.size = self.bytes_per_lane * descriptor.wave_size * waves * self.slots
        # FLAT_SCRATCH has 32 bits of an offset on GFX7 and GFX8
        self.address = self._allocate(bytes(self.size), features.has_offset_flat_scratch(device.gfx_level)) if self.size else 0

    def _allocate(self, data: bytes, low: bool = False) -> int:
        address: int = self.device.space.map(numpy.frombuffer(data, numpy.uint8).copy(), low)
        self._addresses.append(address)
        return address

    def user_sgprs(self, packet: DispatchPacket) -> list[int]:
        """What s0 and the following hold."""
        values: list[int] = []
        for name, count in self._asked:
            values += [value & 0xFFFFFFFF for value in self._values(name, count, packet)]
        return values + [0] * (self.descriptor.user_sgpr_count - len(values))

    def _values(self, name: str, count: int, packet: DispatchPacket) -> Sequence[int]:
        if name == "private_segment_buffer":
            return self._resource()
        if name == "dispatch_ptr":
            address = self._allocate(packet.to_bytes())
        elif name == "queue_ptr":
            address = self._allocate(queue_bytes())
        elif name == "kernarg_segment_ptr":
            address = packet.kernarg_address
        elif name == "flat_scratch_init" and features.has_offset_flat_scratch(self.device.gfx_level):
            return [self.address, self.bytes_per_lane]
        elif name == "flat_scratch_init":
            address = self.address
        elif name == "private_segment_size":
            return [self.bytes_per_lane]
        elif name == "kernarg_preload":
            view = self.device.space.view(packet.kernarg_address + self.preload_offset, 4 * count)
            if view is None:
                raise InputError(f"arguments at {packet.kernarg_address:#x} end before what the kernel preloads")
            return struct.unpack(f"<{count}I", bytes(view))
        else:
            return [0] * count
        return [address, address >> 32]

    def _resource(self) -> list[int]:
        """The descriptor of scratch: dwords of the lanes side by side."""
        level = self.device.gfx_level
        index_stride = 3 if self.descriptor.wave_size == 64 else 2
        word3 = 0xFAC | index_stride << 21 | 1 << 23 | (3 << 28 | 20 << 12 if features.has_unified_buffer_formats(level) else 1 << 19)
        return [self.address, self.address >> 32 | 1 << 31, self.size, word3]

    @property
    def is_empty(self) -> bool:
        """Whether it needed no memory: then user SGPRs of another launch differ only in what the arguments are and where they lie."""
        return not self._addresses

    @property
    def preload_offset(self) -> int:
        """Where in the arguments those are that stand in user SGPRs."""
        return 4 * (self.descriptor.preload >> 7 & 0x1FF)

    def sgprs_of(self, name: str) -> slice:
        """Which user SGPRs have what the descriptor calls `name`; none is an empty slice."""
        names = [asked for asked, count in self._asked for _ in range(count)]
        first = names.index(name) if name in names else 0
        return slice(first, first + names.count(name))

    def release(self) -> None:
        """Take it all out of memory."""
        for address in self._addresses:
            self.device.space.release(address)
