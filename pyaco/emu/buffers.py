"""Buffers in a device's memory, and parts of them, as descriptors show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy
from numpy.typing import NDArray

from pyaco.arguments import checked
from pyaco.descriptors.buffer import raw_buffer
from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.emu.origins import maker
from pyaco.errors import InputError
from pyaco.host_memory import zeros_at_line

if TYPE_CHECKING:
    from pyaco._core.emu.memory import AddressSpace

__all__ = [
    "Bound", "Buffer", "BufferPlace", "BufferRange", "Buffers", "Described", "Element", "TexelBuffer", "bound_addresses", "descriptor_parts",
    "elements_of",
]


class Buffer:
    """Device memory. The device works on the same bytes as ``numpy()`` shows."""

    def __init__(
        self, space: AddressSpace, data: NDArray[Any], low: bool = False, shared: bool = False, name: str = "", unwritten: bool = False,
    ) -> None:  # fmt: skip
        flat = numpy.ascontiguousarray(data)
        memory = flat.reshape(-1).view(numpy.uint8)
        if not shared:
            own = zeros_at_line(-(-flat.nbytes // 4) * 4)
            own[: flat.nbytes] = memory
            memory, flat = own, own[: flat.nbytes].view(flat.dtype).reshape(flat.shape)
        self._array = flat
        self._space = space
        #: Bytes that an access to whole dwords may touch.
        self.accessible: int = memory.nbytes
        self._unwritten = unwritten
        self.address: int = space.map(
            memory, low, origin=maker("buffer", name, self.size), unwritten=numpy.ones(memory.nbytes, numpy.uint8) if unwritten else None
        )

    @property
    def size(self) -> int:
        """Bytes."""
        return self._array.nbytes

    def numpy(self) -> NDArray[Any]:
        """Return the contents, with the type and shape of the array that the buffer was made from; not a copy.

        What was allocated without data counts as written from then on.
        """
        if self._unwritten and self.address:
            self._space.note_written(self.address, self.accessible)
            self._unwritten = False
        return self._array

    def release(self) -> None:
        """Take the buffer's addresses away: accesses to them stop a dispatch, and other buffers may get them.

        Raises
        ------
        InputError
            It has been released already.
        """
        if not self.address:
            raise InputError("the buffer has been released already")
        self._space.release(self.address)
        self.address = 0

    @checked
    def write(self, data: NDArray[Any] | bytes, offset: int = 0) -> None:
        """Copy `data` into the buffer from byte `offset` on."""
        raw = numpy.frombuffer(data if isinstance(data, bytes) else numpy.ascontiguousarray(data).tobytes(), numpy.uint8)
        if offset < 0 or offset + raw.nbytes > self.size:
            raise InputError(f"{raw.nbytes} bytes at offset {offset} do not fit a buffer of {self.size} bytes")
        self._array.reshape(-1).view(numpy.uint8)[offset : offset + raw.nbytes] = raw
        if self._unwritten and self.address:
            self._space.note_written(self.address + offset, raw.nbytes)

    def __repr__(self) -> str:
        return f"<Buffer of {self.size} bytes at {self.address:#x}>"


@dataclass(frozen=True)
class BufferRange:
    """Part of a buffer, as a descriptor shows it: `size` bytes from `offset` on, by default all that follow."""

    buffer: Buffer
    offset: int = 0
    size: int | None = None

    def words(self, gfx_level: int, dynamic_offset: int = 0) -> tuple[int, int, int, int]:
        """Return the descriptor, moved by `dynamic_offset` bytes.

        Raises
        ------
        InputError
            A range that is not within the buffer.
        """
        size = self.buffer.size - self.offset if self.size is None else self.size
        first = self.offset + dynamic_offset
        if self.size is None:
            size -= dynamic_offset
        if first < 0 or size < 0 or first + size > self.buffer.size:
            raise InputError(f"{size} bytes at offset {first} are not within a buffer of {self.buffer.size} bytes")
        # Whole dwords, as RADV has it: a load that starts within a dword reads all of it.
        return raw_buffer(self.buffer.address + first, min(-(-size // 4) * 4, self.buffer.accessible - first), gfx_level)


class Described(Protocol):
    """What is bound by hardware descriptors of its own: images, views, texel buffers (`pyaco.emu.images`)."""

    @property
    def bound_address(self) -> int:
        """Device address of its memory, for messages."""
        ...

    def parts(self, gfx_level: int) -> Mapping[str, Sequence[int]]:
        """The dwords of each hardware descriptor, by the names of ``pyaco.descriptors.types.Part``."""
        ...


@dataclass(frozen=True)
class TexelBuffer:
    """A buffer as elements of a pixel format, for texel buffers of either kind: `size` bytes from `offset` on, by default all that follow."""

    buffer: Buffer
    format: str
    offset: int = 0
    size: int | None = None

    @property
    def bound_address(self) -> int:
        """Device address of the buffer."""
        return self.buffer.address

    def parts(self, gfx_level: int) -> Mapping[str, Sequence[int]]:
        """Return the descriptor, which counts elements.

        Raises
        ------
        InputError
            A range that is not within the buffer, or a format that buffers do not have.
        """
        from pyaco.descriptors.buffer import texel_buffer

        size = self.buffer.size - self.offset if self.size is None else self.size
        if self.offset < 0 or size < 0 or self.offset + size > self.buffer.size or not self.buffer.address:
            raise InputError(f"{size} bytes at offset {self.offset} are not within a buffer of {self.buffer.size} bytes")
        return {"buffer": texel_buffer(self.buffer.address + self.offset, size, self.format, gfx_level)}


#: A buffer, or what begins at an offset in one.
BufferPlace: TypeAlias = Buffer | BufferRange
#: What one element of a binding is given.
Element: TypeAlias = Buffer | BufferRange | Described | Sampler
#: What a binding is given: a buffer, a part of one, an image, a sampler; those of a descriptor array; the bytes of an inline uniform block; or
#: None for a null descriptor.
Bound: TypeAlias = Element | Sequence[Element] | bytes | None
Buffers: TypeAlias = Mapping[tuple[int, int], Bound]


def bound_addresses(buffers: Buffers) -> dict[int, tuple[int, int]]:
    """Return set and binding by the address of each buffer that is bound."""
    found: dict[int, tuple[int, int]] = {}
    for key, bound in buffers.items():
        for element in elements_of(bound):
            if isinstance(element, (Buffer, BufferRange)):
                found.setdefault((element.buffer if isinstance(element, BufferRange) else element).address, key)
            elif not isinstance(element, Sampler):
                found.setdefault(element.bound_address, key)
    return found


def elements_of(bound: Bound) -> Sequence[Element]:
    """Return the elements of what a binding is given, none of an inline uniform block."""
    if bound is None or isinstance(bound, bytes):
        return []
    if isinstance(bound, (Buffer, BufferRange, Sampler)) or hasattr(bound, "parts"):
        return [bound]  # type: ignore[list-item]
    return list(bound)


def descriptor_parts(element: Element, gfx_level: int, moved: int = 0) -> Mapping[str, Sequence[int]]:
    """Return the dwords of an element's hardware descriptors; of a buffer, moved by a dynamic offset.

    Raises
    ------
    InputError
        What has been released.
    """
    if isinstance(element, Sampler):
        return {"sampler": sampler_descriptor(element, gfx_level)}
    if not isinstance(element, (Buffer, BufferRange)):
        return element.parts(gfx_level)
    if not (element.address if isinstance(element, Buffer) else element.buffer.address):
        raise InputError("a buffer that has been released is bound")
    if isinstance(element, Buffer) and not moved:
        return {"buffer": raw_buffer(element.address, element.accessible, gfx_level)}
    return {"buffer": (element if isinstance(element, BufferRange) else BufferRange(element)).words(gfx_level, moved)}
