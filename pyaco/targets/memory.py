"""Memory heaps and types as RADV shows them, and the choice of a type for a use.

Sources: Mesa's ``radv_physical_device.c`` (heaps and types), checked against what RADV reports of ten chips; for the numbering of Mesa 17,
``radv_device.c`` of its time.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag

from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError

__all__ = ["NUMBERINGS", "Heap", "MemoryProperty", "MemoryType", "choose_memory_type", "memory_heaps"]

_PAGE = 4096

NUMBERINGS = ("current", "mesa17")
"""Orders of heaps and types: today's RADV, and RADV as it began."""


class MemoryProperty(IntFlag):
    """Vulkan's property flags of a memory type."""

    DEVICE_LOCAL = 0x01
    HOST_VISIBLE = 0x02
    HOST_COHERENT = 0x04
    HOST_CACHED = 0x08
    DEVICE_COHERENT = 0x40
    DEVICE_UNCACHED = 0x80


NO_PROPERTY = MemoryProperty(0)


@dataclass(frozen=True)
class Heap:
    """A memory heap.

    Attributes
    ----------
    name : str
        ``VRAM``, ``GTT`` or ``visible VRAM``.
    size : int
        Bytes.
    device_local : bool
    """

    name: str
    size: int
    device_local: bool


@dataclass(frozen=True)
class MemoryType:
    """A memory type.

    Attributes
    ----------
    heap : int
        Index of its heap.
    properties : MemoryProperty
    name : str
        What the driver calls such memory.
    low_addresses : bool
        Whether allocations get addresses whose high half is fixed, so that 32 bits name them.
    """

    heap: int
    properties: MemoryProperty
    name: str
    low_addresses: bool = False


_HOST = MemoryProperty.HOST_VISIBLE | MemoryProperty.HOST_COHERENT
_UNCACHED = MemoryProperty.DEVICE_COHERENT | MemoryProperty.DEVICE_UNCACHED


def _heap_sizes(vram: int, visible_vram: int, gtt: int, dedicated: bool) -> tuple[int, int, int]:
    """Bytes of video memory that the host does not see, of system memory, and of visible video memory."""
    visible = min(vram, visible_vram)
    if dedicated:
        return vram - visible, gtt, visible
    # A processor's carve-out is small: two thirds of all that there is count as video memory.
    total = gtt + visible
    visible = -(-(total * 2 // 3) // _PAGE) * _PAGE
    return 0, total - visible, visible


@checked
def memory_heaps(level: int, vram: int, visible_vram: int, gtt: int, *,
                 dedicated: bool = True, numbering: str = "current") -> tuple[tuple[Heap, ...], tuple[MemoryType, ...]]:
    """Return heaps and memory types in the driver's order.

    Parameters
    ----------
    level : int
        Hardware level times ten; from GFX9 on there are types that bypass the L2 cache.
    vram, visible_vram, gtt : int
        Bytes of video memory, of the part that the host sees, and of system memory that the device sees.
    dedicated : bool
        False for processors, whose video memory is system memory.
    numbering : str
        ``current``: VRAM, GTT, visible VRAM. ``mesa17``: as RADV first had it, VRAM, visible VRAM, GTT, with four types only: VRAM, GTT
        write-combine, VRAM CPU access, GTT cached; sizes are shown as they are, on processors too.

    Raises
    ------
    InputError
        A negative size, no memory at all, or an unknown numbering.
    """
    if numbering not in NUMBERINGS:
        raise InputError(f"no numbering of heaps is called {numbering!r}; there are: {', '.join(NUMBERINGS)}")
    if min(vram, visible_vram, gtt) < 0 or vram + gtt == 0:
        raise InputError(f"memory sizes of {vram}, {visible_vram} and {gtt} bytes")
    if numbering == "mesa17":
        return _first_numbering(vram, min(vram, visible_vram), gtt)
    rest, system, visible = _heap_sizes(vram, visible_vram, gtt, dedicated)
    heaps: list[Heap] = []
    # A remainder of a few MiB above visible video memory is no heap of its own.
    if rest and rest * 9 >= visible:
        heaps.append(Heap("VRAM", rest, True))
    if system:
        heaps.append(Heap("GTT", system, False))
    if visible:
        heaps.append(Heap("visible VRAM", visible, True))
    return tuple(heaps), _types(_indices(heaps), level)


def _indices(heaps: list[Heap]) -> dict[str, int]:
    return {heap.name: number for number, heap in enumerate(heaps)}


def _first_numbering(vram: int, visible: int, gtt: int) -> tuple[tuple[Heap, ...], tuple[MemoryType, ...]]:
    """Heaps and types as RADV had them in Mesa 17: no addresses of 32 bits, nothing uncached."""
    sizes = (("VRAM", vram - visible, True), ("visible VRAM", visible, True), ("GTT", gtt, False))
    heaps = [Heap(name, size, local) for name, size, local in sizes if size]
    index = _indices(heaps)
    device = MemoryProperty.DEVICE_LOCAL
    kinds = (("VRAM", device, "VRAM"), ("GTT", _HOST, "GTT write-combine"), ("visible VRAM", device | _HOST, "VRAM CPU access"),
             ("GTT", _HOST | MemoryProperty.HOST_CACHED, "GTT cached"))
    return tuple(heaps), tuple(MemoryType(index[heap], properties, name) for heap, properties, name in kinds if heap in index)


def _types(heaps: dict[str, int], level: int) -> tuple[MemoryType, ...]:
    device = MemoryProperty.DEVICE_LOCAL
    local = heaps.get("VRAM", heaps.get("visible VRAM"))
    kinds: list[tuple[int | None, MemoryProperty, str, bool]] = [
        (local, device, "VRAM", False), (local, device, "VRAM", True), (heaps.get("GTT"), _HOST, "GTT write-combine", False),
        (heaps.get("visible VRAM"), device | _HOST, "VRAM CPU access", False),
        (heaps.get("GTT"), _HOST | MemoryProperty.HOST_CACHED, "GTT cached", False),
    ]
    types = [MemoryType(heap, properties, name, low) for heap, properties, name, low in kinds if heap is not None]
    if level >= 90:
        types += [MemoryType(t.heap, t.properties | _UNCACHED, f"{t.name}, uncached") for t in types if not t.low_addresses]
    return tuple(types)


@checked
def choose_memory_type(types: tuple[MemoryType, ...], required: MemoryProperty,
                       preferred: MemoryProperty = NO_PROPERTY) -> int:
    """Return the index of the memory type for a use: all of `required`, as many as possible of `preferred`, no others if it can be helped.

    Types that bypass caches or have short addresses are taken only where they are asked for; among equals the first wins.

    Raises
    ------
    UnsupportedError
        No type has all required properties.
    """
    candidates = [number for number, t in enumerate(types) if required & ~t.properties == 0 and not t.low_addresses]
    if not candidates:
        raise UnsupportedError(f"no memory type with {required!r}")
    wanted = required | preferred

    def cost(number: int) -> tuple[int, int, int]:
        have = types[number].properties
        return (preferred & ~have).bit_count(), (have & ~wanted & _UNCACHED).bit_count(), (have & ~wanted).bit_count()

    return min(candidates, key=cost)
