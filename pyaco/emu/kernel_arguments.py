"""Arguments of a kernel, as the metadata of its code object describes them: where each stands, and which values it takes.

Source: LLVM's "User Guide for AMDGPU Backend", "Code Object Metadata" (arguments, hidden ones included).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy
from numpy.typing import NDArray

from pyaco.binary import Kernel
from pyaco.emu.buffers import Buffer
from pyaco.emu.origins import Origin
from pyaco.errors import InputError

if TYPE_CHECKING:
    from pyaco._core.emu.memory import AddressSpace

__all__ = ["APERTURES", "ArgumentValue", "KernelArguments", "LocalMemory"]

#: High halves of the flat addresses of LDS and scratch.
APERTURES = (0x00010000, 0x00020000)
_FLOATS = {2: "<e", 4: "<f", 8: "<d"}
_FLOAT_NAMES = {"half", "float", "double", "_Float16", "__half"}
_INTEGER_NAMES = {f"{sign}{name}" for sign in ("", "u", "unsigned ") for name in ("char", "short", "int", "long")} | {"size_t", "bool"}


@dataclass(frozen=True)
class LocalMemory:
    """LDS that a launch gives an argument that points to it (OpenCL's ``local`` pointers).

    Attributes
    ----------
    size : int
        Bytes.
    """

    size: int


#: What an argument takes: a buffer, or an array whose bytes are shared while the kernel runs, for a pointer; numbers for scalars, bytes for
#: structures, `LocalMemory` for a pointer to LDS.
ArgumentValue: TypeAlias = Buffer | LocalMemory | int | float | bytes | NDArray[Any]


class _Entry(NamedTuple):
    """An argument of the metadata that a caller gives a value."""

    kind: str                       # value_kind
    offset: int
    size: int
    type_name: str
    name: str                       # for messages: number and name
    alignment: int                  # of the LDS that it points to
    is_const: bool
    origin: Origin                  # of an array that is given for it


class Placed:
    """An argument block with values, and what was mapped for them."""

    def __init__(self, space: AddressSpace, block: bytearray, lds: int) -> None:
        self._space, self.block, self.lds = space, block, lds
        self._mapped: list[int] = []

    def map(self, data: NDArray[Any], origin: Origin) -> int:
        """Map an array's bytes until `release`."""
        if not data.nbytes:
            return 0
        address = self._space.map(data.reshape(-1).view(numpy.uint8), origin=origin)
        self._mapped.append(address)
        return address

    def release(self) -> None:
        """Take arrays out of device memory."""
        for address in self._mapped:
            self._space.release(address)
        self._mapped.clear()


class KernelArguments:
    """The arguments of one kernel; what does not change from launch to launch is worked out once."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel_name = kernel.name
        self.size = max(kernel.descriptor.kernarg_size, int(kernel.metadata.get(".kernarg_segment_size", 0)))
        self._own: list[_Entry] = []
        self._hidden: list[tuple[str, int, int]] = []
        for entry in kernel.metadata.get(".args", []):
            kind, offset, size = str(entry[".value_kind"]), int(entry[".offset"]), int(entry[".size"])
            if min(offset, size) < 0 or offset + size > self.size:
                raise InputError(f"kernel {kernel.name}: an argument of {size} bytes at offset {offset} of {self.size} bytes of arguments")
            if kind.startswith("hidden_"):
                self._hidden.append((kind, offset, size))
                continue
            name = f"argument {len(self._own)}" + (f" ({entry['.name']})" if entry.get(".name") else "")
            is_const = bool(entry.get(".is_const")) or "read_only" in (entry.get(".access"), entry.get(".actual_access"))
            type_name = str(entry.get(".type_name", "")).removeprefix("const ")
            self._own.append(_Entry(kind, offset, size, type_name, name, max(1, int(entry.get(".pointee_align", 1))), is_const,
                                    Origin(name)))  # fmt: skip

    @property
    def calls_host(self) -> bool:
        """Whether the kernel is given the hostcall buffer."""
        return any(kind == "hidden_hostcall_buffer" for kind, _, _ in self._hidden)

    @property
    def needs_queue(self) -> bool:
        """Whether a hidden argument points to the queue."""
        return any(kind == "hidden_queue_ptr" for kind, _, _ in self._hidden)

    def template(
        self, grid: Sequence[int], workgroup: Sequence[int], dimensions: int, dynamic_lds: int, hostcall: int = 0, queue: int = 0
    ) -> bytes:
        """The block with hidden arguments; those of services that a runtime may not offer are zero.

        Parameters
        ----------
        grid, workgroup : sequence of int
            Work-items in x, y, z.
        dimensions : int
            Of the grid.
        dynamic_lds : int
            Bytes of LDS beyond the kernel's own.
        hostcall, queue : int
            Addresses of the hostcall buffer and of the queue.
        """
        known = {"hidden_hostcall_buffer": hostcall, "hidden_queue_ptr": queue, "hidden_grid_dims": dimensions,
                 "hidden_private_base": APERTURES[1], "hidden_shared_base": APERTURES[0], "hidden_dynamic_lds_size": dynamic_lds}  # fmt: skip
        for letter, items, size in zip("xyz", grid, workgroup, strict=True):
            known |= {f"hidden_block_count_{letter}": items // size, f"hidden_group_size_{letter}": size, f"hidden_remainder_{letter}": items % size}
        block = bytearray(self.size)
        for kind, offset, size in self._hidden:
            block[offset : offset + size] = known.get(kind, 0).to_bytes(8, "little")[:size]
        return bytes(block)

    def place(self, space: AddressSpace, template: bytes, values: Sequence[Any], lds: int) -> Placed:
        """Put values into a copy of the block.

        Parameters
        ----------
        space : AddressSpace
            Where arrays are mapped.
        template : bytes
            What `template` returned.
        values : sequence
            One for each of the kernel's own arguments.
        lds : int
            Bytes of LDS that come before those of `LocalMemory`.

        Raises
        ------
        InputError
            Too few, too many, or one that its argument does not take; kernel and argument are named.
        """
        if len(values) != len(self._own):
            raise InputError(f"kernel {self.kernel_name} takes {len(self._own)} arguments, not {len(values)}")
        placed = Placed(space, bytearray(template), lds)
        try:
            for entry, value in zip(self._own, values, strict=True):
                placed.block[entry.offset : entry.offset + entry.size] = self._bytes(entry, value, placed)
        except BaseException:
            placed.release()
            raise
        return placed

    def _bytes(self, entry: _Entry, value: Any, placed: Placed) -> bytes:
        if type(value) is Buffer:
            value = value.address
        elif type(value) is numpy.ndarray and value.ndim and entry.kind == "global_buffer":
            value = self._shared(entry, value, placed)
        elif type(value) is LocalMemory:
            value = self._local(entry, value, placed)
        try:
            return _raw(entry, value)
        except InputError as error:
            raise InputError(f"kernel {self.kernel_name}, {entry.name}: {error}") from None

    def _shared(self, entry: _Entry, array: NDArray[Any], placed: Placed) -> int:
        if array.flags.c_contiguous and array.flags.writeable:
            return placed.map(array, entry.origin)
        if entry.is_const:                                  # the kernel cannot write it: a copy will do
            return placed.map(numpy.array(array, order="C"), entry.origin)
        reason = "its bytes do not lie side by side" if array.flags.writeable else "it cannot be written"
        raise InputError(f"kernel {self.kernel_name}, {entry.name}: an array that the kernel may write is shared with it, and {reason}")

    def _local(self, entry: _Entry, local: LocalMemory, placed: Placed) -> int:
        if entry.kind != "dynamic_shared_pointer":
            raise InputError(f"kernel {self.kernel_name}, {entry.name}: LDS for an argument that does not point to it")
        if local.size < 0:
            raise InputError(f"kernel {self.kernel_name}, {entry.name}: {local.size} bytes of LDS")
        first = -(-placed.lds // entry.alignment) * entry.alignment
        placed.lds = first + local.size
        return first


def _raw(entry: _Entry, value: Any) -> bytes:
    size, type_name = entry.size, entry.type_name
    if type(value) is int or isinstance(value, int):
        if type_name in _FLOAT_NAMES and size in _FLOATS:
            return _float(size, value)
        if not -(1 << 8 * size - 1) <= value < 1 << 8 * size:
            raise InputError(f"{value} does not fit {size} bytes")
        return (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    if isinstance(value, float) and not isinstance(value, numpy.generic):
        if size not in _FLOATS or type_name in _INTEGER_NAMES or entry.kind != "by_value":
            raise InputError(f"a float for {_wanted(entry)}")
        return _float(size, value)
    if hasattr(value, "address"):
        return _raw(entry, value.address)
    if isinstance(value, (bytes, bytearray)):
        raw = bytes(value)
    elif isinstance(value, (numpy.ndarray, numpy.generic)):
        raw = value.tobytes()
    else:
        raise InputError(f"{type(value).__name__} for {_wanted(entry)}")
    if len(raw) != size:
        raise InputError(f"{len(raw)} bytes for {_wanted(entry)}")
    return raw


def _float(size: int, value: float) -> bytes:
    try:
        return struct.pack(_FLOATS[size], value)
    except OverflowError:
        raise InputError(f"{value} does not fit a float of {size} bytes") from None


def _wanted(entry: _Entry) -> str:
    return f"{entry.kind} of {entry.size} bytes" + (f" ({entry.type_name})" if entry.type_name else "")
