"""Launches of compiled Triton kernels: arguments as the kernel's metadata places them, and what of a launch never changes prepared once.

Sources: Triton's ``backends/amd/driver.py`` and ``driver.c`` (what a launcher is called with; the kernel's parameters in the order of the
signature without constants, then the addresses of global and profile scratch; how Python values become each type).
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from pyaco.emu.kernels import LoadedCode
from pyaco.errors import InputError, UnsupportedError
from pyaco.triton.memory import Array, Range, SharedMemory, storage

if TYPE_CHECKING:
    from pyaco.binary import Kernel
    from pyaco.emu.device import Device
    from pyaco.emu.launch import Extent
    from pyaco.emu.prepared_launch import Outcome

__all__ = ["Function", "Launcher"]

_SCRATCH_POINTERS = 2
_FLOATS = {"fp16": "e", "fp32": "f", "f32": "f", "fp64": "d"}
_INTEGERS = {1: "B", 2: "H", 4: "I", 8: "Q"}


class Function:
    """A kernel in a device's memory: what ``load_binary`` gives Triton. `launched` gets the outcome and the memory of each launch."""

    launched: Callable[[Outcome, list[Range]], None]

    def __init__(self, device: Device, memory: SharedMemory, name: str, code: bytes) -> None:
        self.device, self.memory = device, memory
        self._code = LoadedCode(device, code)
        self._loaded = self._code[name]
        self.kernel: Kernel = self._loaded.kernel
        self._lds = self.kernel.descriptor.group_segment_fixed_size

    def release(self) -> None:
        """Take it out of memory."""
        self._code.release()

    def run(self, threads: int, lds_bytes: int, groups: Extent, arguments: bytes, ranges: list[Range], cooperative: bool) -> None:
        """Run it on the memory in `ranges`; `arguments` are those of the signature, before the hidden ones."""
        x, y, z = groups
        mapped = self.memory.map(ranges)
        try:
            outcome = self._loaded.run_block((x * threads, y, z), (threads, 1, 1), arguments, max(lds_bytes, self._lds), cooperative=cooperative)
        finally:
            self.memory.unmap(mapped)
        self.launched(outcome, mapped)


class _Packer:
    """The block of arguments of one kernel."""

    def __init__(self, kernel: Kernel, types: Sequence[str]) -> None:
        entries = [entry for entry in kernel.metadata.get(".args", []) if not str(entry[".value_kind"]).startswith("hidden_")]
        self.scratch_pointers = len(entries) - len(types)
        if not 0 <= self.scratch_pointers <= _SCRATCH_POINTERS:
            raise UnsupportedError(f"kernel {kernel.name} has {len(entries)} parameters where its signature has {len(types)}: "
                                   "another calling convention than that of Triton 3.9")  # fmt: skip
        words, place = ["<"], 0
        self._integers: list[tuple[int, int]] = []
        self._bfloats: list[int] = []
        self.pointers = [index for index, type_ in enumerate(types) if type_.startswith("*")]
        self.pointers += range(len(types), len(entries))
        for index, (entry, type_) in enumerate(zip(entries, [*types, *["*i8"] * self.scratch_pointers], strict=True)):
            offset, size = entry[".offset"], entry[".size"]
            words.append(f"{offset - place}x{_FLOATS.get(type_) or _INTEGERS[size]}")
            place = offset + size
            if type_ == "bf16":
                self._bfloats.append(index)
            elif type_ not in _FLOATS and not type_.startswith("*"):
                self._integers.append((index, (1 << 8 * size) - 1))
        self._format = struct.Struct("".join(words))

    def pack(self, values: list[Any]) -> bytes:
        """Return the block; pointers are addresses already. Changes `values`."""
        for index, mask in self._integers:
            values[index] = int(values[index]) & mask
        for index in self._bfloats:
            values[index] = int.from_bytes(struct.pack("<f", values[index])[2:], "little")
        try:
            return self._format.pack(*values)
        except OverflowError:
            return self._format.pack(*(_single(value) if isinstance(value, float) else value for value in values))


class Launcher:
    """What Triton calls to launch a kernel (``launcher_cls`` of a driver)."""

    def __init__(self, src: Any, metadata: Any) -> None:
        from triton.backends.driver import expand_signature

        signature = list(src.signature.values())
        described = getattr(metadata, "tensordesc_meta", None)
        if described and any(entry is not None for entry in described):
            raise UnsupportedError(f"kernel {metadata.name}: tensor descriptors in hardware (TDM), which GFX12.5 has")
        self._metadata = metadata
        self._cooperative = bool(getattr(metadata, "launch_cooperative_grid", False))
        self._threads, self._lds = metadata.num_warps * metadata.warp_size, metadata.shared
        self._expand = _descriptor_expander(signature)
        self._types, self._take = _plan(expand_signature(signature, None, ""))
        self._packers: dict[Function, _Packer] = {}

    def __call__(
        self, grid_x: int, grid_y: int, grid_z: int, stream: int, function: Function, kernel_metadata: Any, launch_metadata: Any,
        enter_hook: Callable[[Any], None] | None, exit_hook: Callable[[Any], None] | None, *arguments: Any,
    ) -> None:  # fmt: skip
        if enter_hook is not None:
            enter_hook(launch_metadata)
        try:
            groups = operator.index(grid_x), operator.index(grid_y), operator.index(grid_z)
        except TypeError:
            raise InputError(f"a grid of {grid_x!r}, {grid_y!r}, {grid_z!r} programs: expected integers") from None
        if groups[0] * groups[1] * groups[2] > 0:
            self._launch(groups, stream, function, arguments)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def _launch(self, groups: tuple[int, int, int], stream: int, function: Function, arguments: tuple[Any, ...]) -> None:
        packer = self._packers.get(function)
        if packer is None:
            packer = self._packers[function] = _Packer(function.kernel, self._types)
        values = self._take(arguments if self._expand is None else self._expand(arguments))
        scratch = self._scratch(groups, stream)[: packer.scratch_pointers] if packer.scratch_pointers else []     # alive until the launch is over
        values += scratch
        ranges: list[Range] = []
        for index in packer.pointers:
            values[index] = _address(values[index], ranges)
        function.run(self._threads, self._lds, groups, packer.pack(values), ranges, self._cooperative)

    def _scratch(self, groups: tuple[int, int, int], stream: int) -> list[Any]:
        """Memory that Triton's allocators give for this launch, or None."""
        from triton.runtime import _allocation

        metadata, count = self._metadata, groups[0] * groups[1] * groups[2]
        found: list[Any] = [None, None]
        if size := getattr(metadata, "global_scratch_size", 0):
            found[0] = _allocation._allocator.get()(count * size, metadata.global_scratch_align, stream)
        if size := getattr(metadata, "profile_scratch_size", 0):
            allocate = _allocation._profile_allocator.get() if _allocation.has_profile_allocator() else _zeros
            found[1] = allocate(count * size, metadata.profile_scratch_align, stream)
        return found


def _zeros(size: int, alignment: int, stream: int | None) -> Array:
    """Zeroed memory that lasts as long as the result."""
    whole = numpy.zeros(size + alignment, numpy.uint8)
    first = -whole.ctypes.data % alignment
    return Array(whole[first : first + size])


def _single(value: float) -> float:
    """`value`, or infinity with its sign where a single does not hold it, as a conversion in C has it."""
    with numpy.errstate(over="ignore"):
        return float(numpy.float32(value))


def _address(value: Any, ranges: list[Range]) -> int:
    """The address that a pointer argument stands for; what it may reach is added to `ranges`."""
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    if not hasattr(value, "data_ptr"):
        raise InputError(f"a {type(value).__name__} as pointer: expected a tensor of torch, an array of NumPy, or an address")
    address: int = value.data_ptr()
    if address or not getattr(value, "is_cpu", True):
        ranges.append(storage(value))
    return address


def _plan(signature: Sequence[Any]) -> tuple[list[str], Callable[[Sequence[Any]], list[Any]]]:
    """Types of the kernel's parameters in order, tuples flattened and constants left out, and a function that takes them from arguments."""
    if not any(isinstance(type_, tuple) for type_ in signature):
        chosen = [index for index, type_ in enumerate(signature) if type_ != "constexpr"]
        return [signature[index] for index in chosen], lambda values: [values[index] for index in chosen]
    types = [type_ for type_, _ in _flatten(signature, signature)]
    return types, lambda values: [value for _, value in _flatten(signature, values)]


def _flatten(signature: Sequence[Any], values: Sequence[Any]) -> Iterator[tuple[str, Any]]:
    for type_, value in zip(signature, values, strict=True):
        if isinstance(type_, tuple):
            yield from _flatten(type_, value)
        elif type_ != "constexpr":
            yield type_, value


def _descriptor_expander(signature: Sequence[Any]) -> Callable[[Sequence[Any]], Sequence[Any]] | None:
    """A function that replaces tensor descriptors by what a kernel gets of them, or None where there are none."""
    if "tensordesc" not in repr(signature):
        return None
    from triton.backends.driver import decompose_descriptor

    def expand(types: Sequence[Any], values: Sequence[Any]) -> list[Any]:
        found: list[Any] = []
        for type_, value in zip(types, values, strict=True):
            if isinstance(type_, tuple):
                found.append(tuple(expand(type_, value)))
            elif isinstance(type_, str) and type_.startswith("tensordesc"):
                found += decompose_descriptor(value)
            else:
                found.append(value)
        return found

    return lambda values: expand(signature, values)
