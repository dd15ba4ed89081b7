"""Host memory in a device's address space: tensors and arrays lie at their own addresses, and nothing beside them can be reached.

A storage is mapped while a launch runs that has it among its arguments. Memory that a kernel finds through addresses in other memory is
mapped by `SharedMemory.share`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy
from numpy.typing import NDArray

from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.virtual_addresses import RANGES

if TYPE_CHECKING:
    from pyaco._core.emu.memory import AddressSpace

__all__ = ["Array", "Range", "SharedMemory", "storage", "with_arrays"]

Range: TypeAlias = tuple[int, int]
"""First address, and the one behind the last."""

# Atomics on 16 bits work on the dword around the element. Host allocators hand out multiples of dwords, so its other half is nobody's.
_GRANULE = 4
_OWN_ADDRESSES = 0x1000_0000_0000
_LARGEST_ELEMENT = 8
# Launches whose ranges are remembered: programs launch kernels on the same tensors again and again.
_MOST_LAUNCHES = 256


class Array:
    """A NumPy array as an argument of a Triton kernel, which works on the array's own memory.

    Kernels take arrays as they are too; this is for types that NumPy does not have, and where an array goes into a tensor descriptor.

    Parameters
    ----------
    array : numpy.ndarray
        Any array, views included, whose memory can be written.
    dtype : str, optional
        What its elements are to Triton, such as ``bfloat16`` or ``float8e5``, for types that NumPy does not have; of the same size.

    Raises
    ------
    InputError
        The array cannot be written: a kernel that stores to it would not be stopped. Its elements are of a type that kernels do not know
        (objects, strings, complex numbers, ...), or their bytes are in the other order.
    """

    def __init__(self, array: NDArray[Any], dtype: str | None = None) -> None:
        if not array.flags.writeable:
            raise InputError("an array that cannot be written, as argument of a kernel that may: pass a copy of it")
        if dtype is not None and array.dtype.hasobject:
            raise InputError(f"an array of {array.dtype} as argument of a kernel: it would overwrite references of Python")
        self.array = array
        self.dtype = _name(array.dtype) if dtype is None else dtype
        self._address = int(array.__array_interface__["data"][0])
        self._storage: Range | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each dimension."""
        return self.array.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Distances of neighbours in elements."""
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def data_ptr(self) -> int:
        """Return the address of the first element."""
        return self._address

    def ptr_range(self) -> int:
        """Return the bytes of the memory around it, by which Triton chooses instructions, as it does for tensors of torch."""
        first, end = self.storage()
        return end - first

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

    def zero_(self) -> Array:
        """Set every element to zero, as the autotuner does between measurements."""
        self.array[...] = 0
        return self

    def clone(self) -> Array:
        """Return a copy."""
        return Array(self.array.copy(), self.dtype)

    def copy_(self, other: Array) -> Array:
        """Take the elements of another array."""
        self.array[...] = other.array
        return self

    def storage(self) -> Range:
        """Return the memory that the array, or what it is a view of, owns."""
        if self._storage is None:
            owner = self.array
            while isinstance(owner.base, numpy.ndarray):
                owner = owner.base
            if owner is self.array and owner.flags.c_contiguous:
                self._storage = self._address, self._address + owner.nbytes
            else:
                low, high = numpy.lib.array_utils.byte_bounds(owner)
                self._storage = int(low), int(high)
        return self._storage


@cache
def _name(dtype: numpy.dtype[Any]) -> str:
    if dtype.kind not in "biuf" or dtype.itemsize > _LARGEST_ELEMENT or not dtype.isnative:
        raise InputError(f"an array of {dtype} (numpy {dtype.str}) as argument of a kernel: expected booleans, integers or floats of up to 64 bits "
                         "in the order of bytes of this machine")  # fmt: skip
    return dtype.name


def with_arrays(run: Callable[..., Any]) -> Callable[..., Any]:
    """Return Triton's ``run`` of a kernel for arguments among which there may be NumPy arrays and scalars."""
    if hasattr(run, "takes_arrays"):
        return run

    def run_with_arrays(self: Any, *arguments: Any, **named: Any) -> Any:
        for value in arguments:
            if isinstance(value, _NUMPY):
                arguments = tuple([_shown(value) for value in arguments])
                break
        for name, value in named.items():
            if isinstance(value, _NUMPY):
                named[name] = _shown(value)
        return run(self, *arguments, **named)

    run_with_arrays.takes_arrays = True  # type: ignore[attr-defined]
    return run_with_arrays


_NUMPY = (numpy.ndarray, numpy.generic, tuple)


def _shown(value: Any) -> Any:
    """What Triton takes for a value of NumPy; others, and what is in tuples, as they are."""
    if isinstance(value, numpy.ndarray):
        return Array(value)
    if isinstance(value, numpy.generic):
        return value.item()
    if type(value) is tuple:
        return tuple([_shown(element) for element in value])
    return value


def storage(value: Any) -> Range:
    """Return the memory that a pointer argument may reach: all of its tensor's storage.

    Raises
    ------
    UnsupportedError
        A tensor that is not in the processor's memory, or an object that does not say how large its memory is.
    """
    if type(value) is Array:
        return value.storage()
    if hasattr(value, "untyped_storage"):
        if not value.is_cpu:
            raise UnsupportedError(f"a tensor on {value.device}: the emulator works on tensors of the processor (device 'cpu')")
        owner = value.untyped_storage()
        first = owner.data_ptr()
        return first, first + owner.nbytes()
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
        self._shared: list[tuple[Range, Any]] = []                  # where each lies, and what it is
        self._merged: dict[tuple[Range, ...], list[Range]] = {}     # what was mapped for the ranges of a launch
        # What the device itself allocates lies where no host has memory: above programs and below libraries.
        low = RANGES["general"][0]
        space.addresses.reserve(low, _OWN_ADDRESSES - low)

    def share(self, value: Any) -> None:
        """Let kernels reach the memory of a tensor or `Array` until `unshare`, for addresses that they do not get as arguments.

        A storage of torch that is resized lies elsewhere afterwards; launches follow it.
        """
        place = _whole(*storage(value))
        if self._find(value, place) is None:
            self._map_shared(value, place)

    def unshare(self, value: Any) -> None:
        """Take that back.

        Raises
        ------
        InputError
            It is not shared.
        """
        self._follow_resized()
        found = self._find(value, _whole(*storage(value)))
        if found is None:
            raise InputError("that tensor is not shared")
        self._unmap_shared(found)

    def _find(self, value: Any, place: Range) -> int | None:
        """The index of what is shared at `place`; there may be several of no bytes."""
        for index, (where, whose) in enumerate(self._shared):
            if where == place and (place[0] < place[1] or whose is value):
                return index
        return None

    def _map_shared(self, value: Any, place: Range) -> None:
        if place[0] < place[1]:
            self._space.map_host([place])
        self._shared.append((place, value))

    def _unmap_shared(self, index: int) -> Any:
        place, value = self._shared.pop(index)
        if place[0] < place[1]:
            self._space.unmap_host([place])
        return value

    def _follow_resized(self) -> None:
        """Map what is shared where it lies now; its old memory is not the tensor's any more."""
        moved = [index for index, (place, value) in enumerate(self._shared) if _whole(*storage(value)) != place]
        for value in [self._unmap_shared(index) for index in reversed(moved)]:
            self.share(value)

    def map(self, ranges: Sequence[Range]) -> list[Range]:
        """Map `ranges`, which may overlap each other and lie in what is shared; return what to `unmap`."""
        if self._shared:
            self._follow_resized()
        key = tuple(ranges)
        mapped = self._merged.get(key)
        if mapped is None:
            if len(self._merged) >= _MOST_LAUNCHES:
                self._merged.clear()
            mapped = self._merged[key] = _merged(key)
        if self._shared:
            mapped = [(first, end) for first, end in mapped if not any(low <= first and end <= high for (low, high), _ in self._shared)]
        self._space.map_host(mapped)
        return mapped

    def unmap(self, ranges: list[Range]) -> None:
        """Unmap what `map` returned."""
        self._space.unmap_host(ranges)


def _whole(first: int, end: int) -> Range:
    return first & -_GRANULE, -(-end // _GRANULE) * _GRANULE


def _merged(ranges: Sequence[Range]) -> list[Range]:
    """Ranges of whole dwords, none of which overlaps another."""
    merged: list[Range] = []
    for first, end in sorted(_whole(first, end) for first, end in ranges if first < end):
        if merged and first < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((first, end))
    return merged
