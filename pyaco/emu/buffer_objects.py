"""Buffer objects: memory that a process asks the kernel for, maps into its address space, shares and frees, as amdgpu's ioctls do.

An object has a size in whole pages and a place, video memory or system memory. A handle names it within one client; mapping gives
its pages addresses, all of them or some, as often as one likes. It lives while a handle or a shared reference does; a client that
closes its last handle of an object loses all its mappings of it.

Nothing is evicted: an object stays where it was created, and where video memory is full it is created in system memory. Flags of
pages (readable, writeable) are kept and not enforced; the pages of sparse ranges that nothing backs stop a dispatch, where hardware
would load zero and drop stores; so does an access that reaches from one mapping into the next.

Sources: ``amdgpu_drm.h``; the Linux amdgpu driver's ``amdgpu_gem.c`` (what is refused, and with which error) and ``amdgpu_vm.c``
(which mappings an operation leaves); libdrm and Mesa's ``radv_amdgpu_bo.c`` for how a driver uses them.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, replace
from enum import IntEnum, IntFlag
from itertools import count

import numpy
from numpy.typing import NDArray

from pyaco._core.emu.memory import AddressSpace
from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.targets.memory import Heap, MemoryProperty, MemoryType
from pyaco.targets.virtual_addresses import PAGE, NoRoomError, VirtualAddresses, canonical

__all__ = ["BufferObject", "Client", "CreateFlag", "DeviceMemory", "Domain", "GemError", "MapFlag", "Mapping", "Operation"]

_RESERVED_BOTTOM = 1 << 16
_HALF = 1 << 47
_FRAGMENT = 2 << 20


class GemError(InputError):
    """A request that the kernel refuses.

    Attributes
    ----------
    code : str
        The name of the error, such as ``EINVAL``.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code


class Domain(IntFlag):
    """Where an object may be placed."""

    CPU = 0x1
    GTT = 0x2
    VRAM = 0x4
    GDS = 0x8
    GWS = 0x10
    OA = 0x20
    DOORBELL = 0x40


class CreateFlag(IntFlag):
    """How an object is made."""

    CPU_ACCESS_REQUIRED = 0x1
    NO_CPU_ACCESS = 0x2
    CPU_GTT_USWC = 0x4
    VRAM_CLEARED = 0x8
    VRAM_CONTIGUOUS = 0x20
    VM_ALWAYS_VALID = 0x40
    EXPLICIT_SYNC = 0x80
    CP_MQD_GFX9 = 0x100
    VRAM_WIPE_ON_RELEASE = 0x200
    ENCRYPTED = 0x400
    PREEMPTIBLE = 0x800
    DISCARDABLE = 0x1000


class MapFlag(IntFlag):
    """What may be done with pages."""

    READABLE = 0x2
    WRITEABLE = 0x4
    EXECUTABLE = 0x8
    PRT = 0x10
    MTYPE = 0x1E0
    NOALLOC = 0x200


class Operation(IntEnum):
    """What GEM_VA does."""

    MAP = 1
    UNMAP = 2
    CLEAR = 3
    REPLACE = 4


_CREATE_DOMAINS = Domain.CPU | Domain.GTT | Domain.VRAM
_ALL_CREATE_FLAGS = CreateFlag(0x1FEF)
_ALL_MAP_FLAGS = MapFlag.READABLE | MapFlag.WRITEABLE | MapFlag.EXECUTABLE | MapFlag.PRT | MapFlag.MTYPE | MapFlag.NOALLOC
_READ_WRITE = MapFlag.READABLE | MapFlag.WRITEABLE | MapFlag.EXECUTABLE
_NO_FLAGS = CreateFlag(0)


@dataclass(eq=False)
class BufferObject:
    """Memory of a device.

    Attributes
    ----------
    data : array of bytes
    domains : Domain
        Where it may be.
    flags : CreateFlag
    place : str
        ``VRAM`` (the part that the host does not see), ``visible VRAM``, ``GTT`` or ``host`` (a user's own memory).
    references : int
        Handles of all clients, and shared references.
    """

    data: NDArray[numpy.uint8]
    domains: Domain
    flags: CreateFlag
    place: str
    references: int = 0

    @property
    def size(self) -> int:
        """Bytes."""
        return self.data.nbytes


@checked
class DeviceMemory:
    """How much memory of each kind a device has, and how much of it is taken.

    Parameters
    ----------
    vram, visible_vram, gtt : int
        Bytes of video memory, of the part that the host sees, and of system memory that the device sees.
    """

    def __init__(self, vram: int = 8 << 30, visible_vram: int = 256 << 20, gtt: int = 8 << 30) -> None:
        if min(vram, visible_vram, gtt) < 0:
            raise InputError(f"memory sizes of {vram}, {visible_vram} and {gtt} bytes")
        visible = min(vram, visible_vram)
        self.sizes = {"VRAM": vram - visible, "visible VRAM": visible, "GTT": gtt}
        self.used = dict.fromkeys(self.sizes, 0)

    @classmethod
    def of_heaps(cls, heaps: tuple[Heap, ...]) -> DeviceMemory:
        """Return the memory whose heaps are those of ``pyaco.targets.memory.memory_heaps``."""
        sizes = {heap.name: heap.size for heap in heaps}
        visible = sizes.get("visible VRAM", 0)
        return cls(sizes.get("VRAM", 0) + visible, visible, sizes.get("GTT", 0))

    def place(self, size: int, domains: Domain, flags: CreateFlag) -> str | None:
        """Return where an object of `size` bytes goes, or None where there is no room."""
        wanted: list[str] = []
        if Domain.VRAM in domains:
            wanted += ["visible VRAM"] if CreateFlag.CPU_ACCESS_REQUIRED in flags else ["VRAM", "visible VRAM"]
            # Where the part that the host sees, or all of video memory, is full, the object goes elsewhere.
            wanted += ["VRAM", "GTT"]
        elif domains:
            wanted += ["GTT"]
        return next((name for name in wanted if self.sizes[name] - self.used[name] >= size), None)


@dataclass(frozen=True)
class Mapping:
    """Pages of an object (or of none: a sparse range) at an address.

    Attributes
    ----------
    address, size : int
    handle : int
        0 for a sparse range that nothing backs.
    buffer : BufferObject or None
    offset : int
        Of the first page in the object.
    flags : MapFlag
    """

    address: int
    size: int
    handle: int
    buffer: BufferObject | None
    offset: int
    flags: MapFlag

    @property
    def end(self) -> int:
        """Address behind the last byte."""
        return self.address + self.size

    def part(self, first: int, end: int) -> Mapping:
        """The pages from `first` to `end`."""
        return replace(self, address=first, size=end - first, offset=self.offset + first - self.address)


@checked
class Client:
    """A process with handles and an address space.

    Parameters
    ----------
    space : AddressSpace
        Of an emulated device (``Device.space``): what is mapped can be reached by shaders.
    memory : DeviceMemory, optional
        Shared between the clients of one device.
    """

    def __init__(self, space: AddressSpace, memory: DeviceMemory | None = None) -> None:
        self._space = space
        self.memory = memory or DeviceMemory()
        self._handles: dict[int, BufferObject] = {}
        self._numbers = count(1)
        self._mappings: list[Mapping] = []              # by address, disjoint

    # -------------------------------------------------------------------------------------------------------- objects
    def create(self, size: int, domains: Domain, flags: CreateFlag = _NO_FLAGS, alignment: int = PAGE) -> int:
        """Make an object (GEM_CREATE) and return its handle.

        Raises
        ------
        GemError
            EINVAL: no size, an alignment that is no power of two, or domains and flags that there are not; ENOMEM: no room.
        """
        if size <= 0 or alignment & (alignment - 1):
            raise GemError("EINVAL", f"a buffer object of {size} bytes, aligned to {alignment}")
        if not domains or int(domains) & ~int(_CREATE_DOMAINS) or int(flags) & ~int(_ALL_CREATE_FLAGS):
            raise GemError("EINVAL", f"a buffer object in {domains!r} with {flags!r}")
        size = -(-size // PAGE) * PAGE
        place = self.memory.place(size, domains, flags)
        if place is None:
            raise GemError("ENOMEM", f"no room for a buffer object of {size} bytes in {domains!r}")
        self.memory.used[place] += size
        return self._hand(BufferObject(numpy.zeros(size, numpy.uint8), domains, flags, place))

    def import_memory(self, data: NDArray[numpy.uint8]) -> int:
        """Make an object of the host's own memory (GEM_USERPTR) and return its handle.

        Raises
        ------
        GemError
            EINVAL: memory that is not whole pages.
        """
        if data.dtype != numpy.uint8 or not data.flags.c_contiguous or not data.nbytes or data.nbytes % PAGE or data.ctypes.data % PAGE:
            raise GemError("EINVAL", f"{data.nbytes} bytes of host memory at {data.ctypes.data:#x}: expected whole pages")
        return self._hand(BufferObject(data, Domain.GTT, _NO_FLAGS, "host"))

    def export(self, handle: int) -> BufferObject:
        """Return a shared reference to an object (PRIME_HANDLE_TO_FD), which `drop` gives up."""
        found = self.buffer(handle)
        found.references += 1
        return found

    def import_shared(self, shared: BufferObject) -> int:
        """Return the handle of a shared object (PRIME_FD_TO_HANDLE): the one that this client has of it already, or a new one."""
        for handle, found in self._handles.items():
            if found is shared:
                return handle
        return self._hand(shared)

    def drop(self, shared: BufferObject) -> None:
        """Give up a shared reference."""
        self._release(shared)

    def close(self, handle: int) -> None:
        """Close a handle (GEM_CLOSE): this client's mappings of the object vanish; the object does with its last reference.

        Raises
        ------
        GemError
            EINVAL: no such handle.
        """
        found = self._handles.pop(handle, None)
        if found is None:
            raise GemError("EINVAL", f"handle {handle} names no buffer object")
        for mapping in [each for each in self._mappings if each.buffer is found]:
            self._remove(mapping)
        self._release(found)

    def buffer(self, handle: int) -> BufferObject:
        """Return the object that a handle names.

        Raises
        ------
        GemError
            ENOENT: it names none.
        """
        if handle not in self._handles:
            raise GemError("ENOENT", f"handle {handle} names no buffer object")
        return self._handles[handle]

    def host_view(self, handle: int) -> NDArray[numpy.uint8]:
        """Return an object's bytes as the host sees them (GEM_MMAP).

        Raises
        ------
        GemError
            ENOENT: no such handle; EPERM: the host may not see it.
        """
        found = self.buffer(handle)
        if CreateFlag.NO_CPU_ACCESS in found.flags or found.place in ("VRAM", "host"):
            raise GemError("EPERM", f"the host does not see the object of handle {handle} in {found.place} through the device")
        return found.data

    # ------------------------------------------------------------------------------------------------------ addresses
    def virtual_address(self, operation: Operation, handle: int, address: int, size: int, offset: int = 0, flags: MapFlag = _READ_WRITE) -> None:
        """Change what addresses mean (GEM_VA).

        ``MAP`` gives free addresses an object's pages, ``UNMAP`` takes away the mapping that begins at `address`, ``CLEAR`` whatever
        is mapped in the range, cutting mappings that reach beyond it, ``REPLACE`` clears and maps. With ``MapFlag.PRT`` and handle 0
        the range is sparse.

        Raises
        ------
        GemError
            EINVAL: not whole pages, beyond the object or the address space, or something is mapped there; ENOENT: no such handle, or
            nothing to unmap.
        """
        if int(flags) & ~int(_ALL_MAP_FLAGS):
            raise GemError("EINVAL", f"mapping with {flags!r}")
        address = self._checked(address)
        if operation == Operation.UNMAP:
            self._unmap(handle, address)
            return
        if size <= 0 or (address | size | offset) % PAGE or offset < 0 or (address & _HALF - 1) + size > _HALF:
            raise GemError("EINVAL", f"{size} bytes at {address:#x} from offset {offset}: expected whole pages")
        found = None
        if operation != Operation.CLEAR and not (MapFlag.PRT in flags and handle == 0):
            found = self.buffer(handle)
            if offset + size > found.size:
                raise GemError("EINVAL", f"{size} bytes from offset {offset} of an object of {found.size} bytes")
        if operation in (Operation.CLEAR, Operation.REPLACE):
            self._clear(address, address + size)
        if operation != Operation.CLEAR:
            self._map(Mapping(address, size, handle, found, offset, flags))

    def mappings(self) -> tuple[Mapping, ...]:
        """Return every mapping, by address."""
        return tuple(self._mappings)

    def _checked(self, address: int) -> int:
        if not 0 <= address < 1 << 64 or canonical(address) != address or address < _RESERVED_BOTTOM:
            raise GemError("EINVAL", f"address {address:#x} is reserved or in the hole between the halves of the address space")
        return address

    def _overlapping(self, first: int, end: int) -> list[Mapping]:
        index = max(bisect_right(self._mappings, first, key=lambda mapping: mapping.address) - 1, 0)
        found = []
        while index < len(self._mappings) and self._mappings[index].address < end:
            if self._mappings[index].end > first:
                found.append(self._mappings[index])
            index += 1
        return found

    def _map(self, mapping: Mapping) -> None:
        if self._overlapping(mapping.address, mapping.end):
            raise GemError("EINVAL", f"{mapping.size} bytes at {mapping.address:#x}: something is mapped there")
        if mapping.buffer is not None:
            try:
                self._space.map_at(mapping.address, mapping.buffer.data[mapping.offset : mapping.offset + mapping.size])
            except ValueError as error:
                raise GemError("EINVAL", str(error)) from None
        self._mappings.insert(bisect_right(self._mappings, mapping.address, key=lambda each: each.address), mapping)

    def _remove(self, mapping: Mapping) -> None:
        self._mappings.remove(mapping)
        if mapping.buffer is not None:
            self._space.release(mapping.address)

    def _unmap(self, handle: int, address: int) -> None:
        found = self.buffer(handle) if handle else None
        for mapping in self._overlapping(address, address + 1):
            if mapping.address == address and mapping.buffer is found:
                self._remove(mapping)
                return
        raise GemError("ENOENT", f"handle {handle} is not mapped at {address:#x}")

    def _clear(self, first: int, end: int) -> None:
        for mapping in self._overlapping(first, end):
            self._remove(mapping)
            if mapping.address < first:
                self._map(mapping.part(mapping.address, first))
            if end < mapping.end:
                self._map(mapping.part(end, mapping.end))

    # ---------------------------------------------------------------------------------------------------- both at once
    def allocate(self, kind: MemoryType, size: int) -> tuple[int, int]:
        """Make an object of a memory type, give it addresses and map it, as ``vkAllocateMemory`` does; return handle and address.

        Raises
        ------
        GemError
            ENOMEM: no room for the object or its addresses.
        """
        domain = Domain.GTT if kind.name.startswith("GTT") else Domain.VRAM
        flags = _NO_FLAGS
        if MemoryProperty.HOST_VISIBLE not in kind.properties:
            flags |= CreateFlag.NO_CPU_ACCESS
        elif domain == Domain.VRAM:
            flags |= CreateFlag.CPU_ACCESS_REQUIRED
        elif MemoryProperty.HOST_CACHED not in kind.properties:
            flags |= CreateFlag.CPU_GTT_USWC
        handle = self.create(size, domain, flags)
        mapped = self.buffer(handle).size
        addresses: VirtualAddresses = self._space.addresses
        try:
            # Large objects begin where large pages do.
            alignment = _FRAGMENT if mapped >= _FRAGMENT else PAGE
            address = addresses.allocate(mapped, alignment, "32-bit" if kind.low_addresses else "high")
        except NoRoomError as error:
            self.close(handle)
            raise GemError("ENOMEM", str(error)) from None
        self.virtual_address(Operation.MAP, handle, address, mapped)
        return handle, address

    def free(self, handle: int, address: int) -> None:
        """Undo `allocate`: unmap, close the handle, give the addresses back.

        Raises
        ------
        GemError
            ENOENT: no such handle, or not mapped there.
        """
        self.virtual_address(Operation.UNMAP, handle, address, 0)
        self.close(handle)
        self._space.addresses.free(address)

    # -------------------------------------------------------------------------------------------------------- counting
    def _hand(self, found: BufferObject) -> int:
        found.references += 1
        handle = next(self._numbers)
        self._handles[handle] = found
        return handle

    def _release(self, found: BufferObject) -> None:
        if found.references <= 0:
            raise GemError("EINVAL", "a buffer object without references")
        found.references -= 1
        if not found.references and found.place in self.memory.used:
            self.memory.used[found.place] -= found.size
