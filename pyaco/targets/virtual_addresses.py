"""Ranges of a GPU's virtual address space, given out and taken back.

A process manages its own addresses: it asks here for a range, and the kernel maps memory there. Addresses have 48 bits and are
sign-extended, which leaves a hole in the middle. 32-bit pointers, whose high half is known, reach one window of 4 GiB.

Sources: libdrm's ``amdgpu_vamgr.c`` (ranges, holes, first fit), the Linux amdgpu driver's ``amdgpu_vm.h`` (hole, reserved ends).
"""

from __future__ import annotations

from bisect import bisect_left, insort

from pyaco.arguments import checked
from pyaco.errors import InputError

__all__ = ["ADDRESS32_HI", "PAGE", "RANGES", "NoRoomError", "VirtualAddresses", "canonical"]

PAGE = 4096
ADDRESS32_HI = 0xFFFF8000
"""High half of the addresses that 32-bit pointers reach."""

RANGES = {
    "general": (0x0000_0001_0000_0000, 0x0000_7000_0000_0000),
    "32-bit": (0xFFFF_8000_0001_0000, 0xFFFF_8000_FFFF_0000),
    "high": (0xFFFF_8001_0000_0000, 0xFFFF_FFFF_FFE0_0000),
}
"""First address and end of each range."""


@checked
def canonical(address: int) -> int:
    """Return the address whose 48 low bits are those of `address`, sign-extended to 64."""
    low = address & (1 << 48) - 1
    return low | 0xFFFF << 48 if low >> 47 else low


class NoRoomError(InputError):
    """No hole of the address space is large enough."""


def _range_start(address: int) -> int | None:
    """Return where the range that holds `address` begins."""
    for start, stop in RANGES.values():
        if start <= address < stop:
            return start
    return None


@checked
class VirtualAddresses:
    """The free and the used ranges of one address space.

    Addresses and sizes are whole pages. Of the holes that are large enough the lowest is taken.
    """

    def __init__(self) -> None:
        # Holes by first address, ascending, disjoint, never adjacent.
        self._holes: list[tuple[int, int]] = sorted(RANGES.values())
        self._used: dict[int, int] = {}

    def allocate(self, size: int, alignment: int = PAGE, where: str = "general") -> int:
        """Return the first address of a free range of at least `size` bytes.

        Parameters
        ----------
        size : int
            Bytes; rounded up to pages, one at least.
        alignment : int
            A power of two.
        where : str
            ``general``, ``32-bit`` or ``high``.

        Raises
        ------
        InputError
            A negative size, an alignment that is no power of two, or a range of no such name.
        NoRoomError
            No hole is large enough.
        """
        if size < 0 or alignment <= 0 or alignment & (alignment - 1) or where not in RANGES:
            raise InputError(f"a range of {size} bytes, aligned to {alignment} (a power of two), in {where!r}: ranges are {', '.join(RANGES)}")
        size, alignment = _pages(size), max(alignment, PAGE)
        first, end = RANGES[where]
        for index in range(max(bisect_left(self._holes, (first, 0)), 0), len(self._holes)):
            start, stop = self._holes[index]
            address = -(-start // alignment) * alignment
            if address >= end:
                break
            if address + size <= stop:
                self._take(index, address, address + size)
                return address
        raise NoRoomError(f"no room for {size} bytes in the {where} range")

    def reserve(self, address: int, size: int) -> bool:
        """Take the range that holds `size` bytes from `address` on, where it is free or outside of what is given out.

        Returns
        -------
        bool
            False where any page of it is taken.
        """
        first = address // PAGE * PAGE
        end = first + _pages(size + address - first)
        if any(first < stop and start < end for start, stop in RANGES.values()):
            index = bisect_left(self._holes, (first + 1, 0)) - 1
            if index < 0 or self._holes[index][1] < end:
                return False
            self._take(index, first, end)
            return True
        if any(first < stop and start < end for start, stop in self._used.items()):
            return False
        self._used[first] = end
        return True

    def free(self, address: int) -> None:
        """Give back the range that begins in the page of `address`.

        Raises
        ------
        InputError
            No range begins there.
        """
        first = address // PAGE * PAGE
        end = self._used.pop(first, None)
        if end is None:
            raise InputError(f"no range of the address space begins at {address:#x}")
        if _range_start(first) is None:
            return
        index = bisect_left(self._holes, (first, 0))
        if index < len(self._holes) and self._holes[index][0] == end and self._same_range(first, end):
            end = self._holes.pop(index)[1]
        if index and self._holes[index - 1][1] == first and self._same_range(first - 1, first):
            first = self._holes.pop(index - 1)[0]
        insort(self._holes, (first, end))

    def size(self, address: int) -> int | None:
        """Return the bytes of the range that begins at `address`, or None where none does."""
        end = self._used.get(address)
        return None if end is None else end - address

    def free_bytes(self, where: str) -> int:
        """Return how many bytes of a range are free."""
        if where not in RANGES:
            raise InputError(f"no range {where!r}: there are {', '.join(RANGES)}")
        first, end = RANGES[where]
        return sum(stop - start for start, stop in self._holes if first <= start < end)

    @staticmethod
    def _same_range(first: int, second: int) -> bool:
        start = _range_start(first)
        return start is not None and start == _range_start(second)

    def _take(self, index: int, first: int, end: int) -> None:
        start, stop = self._holes.pop(index)
        rest = [(start, first)] if start < first else []
        if end < stop:
            rest.append((end, stop))
        self._holes[index:index] = rest
        self._used[first] = end


def _pages(size: int) -> int:
    return max(-(-size // PAGE), 1) * PAGE
