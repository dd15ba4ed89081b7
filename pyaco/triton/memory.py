"""Host memory in a device's address space: tensors and arrays lie at their own addresses, and nothing beside them can be reached.

A storage is mapped while a launch runs that has it among its arguments. Memory that a kernel finds through addresses in other memory is
mapped by `SharedMemory.share`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy
from numpy.typing import NDArray

from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.virtual_addresses import RANGES

if TYPE_CHECKING:
    from pyaco._core.emu.memory import AddressSpace

__all__ = ["Array", "Range", "SharedMemory", "storage"]

Range: TypeAlias = tuple[int, int]
"""First address, and the one behind the last."""

# Atomics on 16 bits work on the dword around the element. Host allocators hand out multiples of dwords, so its other half is nobody's.
_GRANULE = 4
_OWN_ADDRESSES = 0x1000_0000_0000


class Array:
    """A NumPy array as an argument of a Triton kernel, which works on the array's own memory.

    Parameters
    ----------
    array : numpy.ndarray
        Any array, views included.
    dtype : str, optional
        What its elements are to Triton, such as ``bfloat16`` or ``float8e5``, for types that NumPy does not have; of the same size.
    """

    def __init__(self, array: NDArray[Any], dtype: str | None = None) -> None:
        self.array = array
        self.dtype = array.dtype.name if dtype is None else dtype
        self.shape, self.strides = array.shape, tuple(step // array.itemsize for step in array.strides)

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return int(self.array.__array_interface__["data"][0])

    def element_size(self) -> int:
        """Return the bytes of an element."""
        return self.array.itemsize

    def stride(self, dimension: int | None = None) -> int | tuple[int, ...]:
        """Return the distance of neighbours in elements, along one dimension or all."""
        return self.strides if dimension is None else self.strides[dimension]

    def numel(self) -> int:
        """Return the number of elements."""
        return self.array.size

    def numpy(self) -> NDArray[Any]:
        """Return the array."""
        return self.array

    def storage(self) -> Range:
        """Return the memory that the array, or what it is a view of, owns."""
        owner = self.array
        while isinstance(owner.base, numpy.ndarray):
            owner = owner.base
        low, high = numpy.lib.array_utils.byte_bounds(owner)
        return int(low), int(high)


def storage(value: Any) -> Range:
    """Return the memory that a pointer argument may reach: all of its tensor's storage.

    Raises
    ------
    UnsupportedError
        A tensor that is not in the processor's memory, or an object that does not say how large its memory is.
    """
    if hasattr(value, "untyped_storage"):
        if value.device.type != "cpu":
            raise UnsupportedError(f"a tensor on {value.device}: the emulator works on tensors of the processor (device 'cpu')")
        owner = value.untyped_storage()
        first = owner.data_ptr()
        return first, first + owner.nbytes()
    if isinstance(value, Array):
        return value.storage()
    if hasattr(value, "base") and hasattr(value, "data_ptr"):       # triton.runtime.jit.TensorWrapper
        return storage(value.base)
    if hasattr(value, "nbytes"):
        first = int(value.data_ptr())
        return first, first + int(value.nbytes)
    raise UnsupportedError(f"a {type(value).__name__} as pointer: expected a tensor of torch, pyaco.triton.Array, or an address")


class SharedMemory:
    """Which parts of the host's memory a device reaches."""

    def __init__(self, space: AddressSpace) -> None:
        self._space = space
        self._kept: dict[Range, Any] = {}
        # What the device itself allocates lies where no host has memory: above programs and below libraries.
        low = RANGES["general"][0]
        space.addresses.reserve(low, _OWN_ADDRESSES - low)

    def share(self, value: Any) -> None:
        """Let kernels reach the memory of a tensor or `Array` until `unshare`, for addresses that they do not get as arguments."""
        first, end = storage(value)
        key = _whole(first, end)
        if key not in self._kept and key[0] < key[1]:
            self._space.map_host([key])
            self._kept[key] = value

    def unshare(self, value: Any) -> None:
        """Take that back.

        Raises
        ------
        InputError
            It is not shared.
        """
        key = _whole(*storage(value))
        if self._kept.pop(key, None) is None:
            raise InputError("that tensor is not shared")
        self._space.unmap_host([key])

    def map(self, ranges: list[Range]) -> list[Range]:
        """Map `ranges`, which may overlap each other and lie in what is shared; return what to `unmap`."""
        mapped = _merged(ranges)
        if self._kept:
            mapped = [(first, end) for first, end in mapped if not any(low <= first and end <= high for low, high in self._kept)]
        self._space.map_host(mapped)
        return mapped

    def unmap(self, ranges: list[Range]) -> None:
        """Unmap what `map` returned."""
        self._space.unmap_host(ranges)


def _whole(first: int, end: int) -> Range:
    return first & -_GRANULE, -(-end // _GRANULE) * _GRANULE


def _merged(ranges: list[Range]) -> list[Range]:
    """Ranges of whole dwords, none of which overlaps another."""
    merged: list[Range] = []
    for first, end in sorted(_whole(first, end) for first, end in ranges if first < end):
        if merged and first < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((first, end))
    return merged
