"""Code objects in device memory, and their kernels as functions: ``device.load(elf)["saxpy"](groups, size, x, y, out, 1.5)``."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy
from numpy.typing import DTypeLike, NDArray

from pyaco.arguments import checked
from pyaco.binary import CodeObject, Kernel, read_code_object
from pyaco.binary.demangle import demangled
from pyaco.emu.errors import EmulationError
from pyaco.emu.hsa import DispatchPacket, Launcher, PacketMemory, launch_of, queue_bytes
from pyaco.emu.kernel_arguments import ArgumentValue, KernelArguments
from pyaco.emu.launch import DEFAULT_BUDGET, Extent, Launch
from pyaco.emu.origins import Origin
from pyaco.emu.report import Report
from pyaco.errors import InputError, UnsupportedError

if TYPE_CHECKING:
    from pyaco.emu.prepared_launch import Outcome, PreparedLaunch

__all__ = ["LoadedCode", "LoadedKernel"]

# Shapes of launches that a kernel remembers; what runs at all has few.
_MOST_SHAPES = 64
# Bytes that a block of arguments has at least: kernels may preload more than they have.
_LEAST_BLOCK = 64


class _Shape(NamedTuple):
    """What launches of one shape share."""

    packet: DispatchPacket
    template: bytes                     # the arguments, hidden ones filled in
    prepared: PreparedLaunch | None     # None where each launch needs memory of its own
    user_sgprs: list[int]
    address: slice                      # of user SGPRs that have the arguments' address
    preloaded: slice                    # and of those that have arguments themselves:
    preload: struct.Struct
    preload_offset: int


class LoadedKernel:
    """A kernel in device memory; call it to run it. What does not change from launch to launch is worked out once."""

    def __init__(self, device: Launcher, code_address: int, kernel: Kernel, code: CodeObject) -> None:
        self.kernel, self.code, self._device = kernel, code, device
        self._code_address = code_address
        self._object = code_address + kernel.descriptor_address
        self._arguments = KernelArguments(kernel)
        self._shapes: dict[tuple[object, ...], _Shape] = {}
        self._blocks: list[tuple[int, bytearray]] = []     # argument blocks in device memory that no launch uses
        self._queue = device.space.map(bytearray(queue_bytes()), origin=Origin("queue")) if self._arguments.needs_queue else 0

    @property
    def name(self) -> str:
        """The kernel's name."""
        return self.kernel.name

    def __repr__(self) -> str:
        return f"<kernel {self.name} of {self._device.target}>"

    def __call__(
        self, groups: Sequence[int], size: Sequence[int], *arguments: ArgumentValue, dynamic_lds: int = 0, dynamic_scratch: int = 0,
        cooperative: bool = False, cluster: Sequence[int] | None = None, budget: int = DEFAULT_BUDGET, time_budget: float | None = None,
    ) -> Report:  # fmt: skip
        """Run the kernel.

        Parameters
        ----------
        groups : sequence of int
            Workgroups in x, y, z.
        size : sequence of int
            Work-items of a workgroup.
        arguments
            The kernel's own arguments in order. A pointer takes a buffer, an address, or a NumPy array, whose bytes the kernel works on; a
            number takes an int, a float, or a NumPy scalar of its size; a structure takes bytes; a pointer to LDS `LocalMemory`.
        dynamic_lds : int
            Bytes of LDS beyond the kernel's own.
        dynamic_scratch : int
            Bytes of scratch of a work-item, where the stack is dynamic.
        cooperative : bool
            Workgroups may wait for each other, as those of ``hipLaunchCooperativeKernel``: all of them are there at once.
        cluster : sequence of int, optional
            Workgroups of a cluster in x, y, z (GFX12.5), as ``hipLaunchAttributeClusterDimension``; by default those that the kernel is
            compiled for, if any.
        budget, time_budget
            Wave instructions, and seconds, that it may take.

        Raises
        ------
        UnsupportedError
            A cooperative grid that is not there at once on the largest product of the target, or is too large for the emulator.
        MemoryFault, BudgetError, EmulationError, UnsupportedError, InputError
            As ``Device.dispatch``.
        """
        counts, items = triple(groups), triple(size)
        grid = (counts[0] * items[0], counts[1] * items[1], counts[2] * items[2])
        return self.run(grid, items, arguments, dynamic_lds, dynamic_scratch, budget, time_budget, cooperative, cluster)

    def run(
        self, grid: Extent, workgroup: Extent, values: Sequence[ArgumentValue], dynamic_lds: int, dynamic_scratch: int, budget: int,
        time_budget: float | None, cooperative: bool = False, cluster: Sequence[int] | None = None,
    ) -> Report:  # fmt: skip
        """Run a grid of work-items, whose last workgroups may be partial; otherwise as a call."""
        if dynamic_lds < 0 or dynamic_scratch < 0:
            raise InputError(f"kernel {self.name}: {dynamic_lds} bytes of LDS and {dynamic_scratch} of scratch")
        members = self._cluster(cluster)
        space = self._device.space
        fixed = self.kernel.descriptor.group_segment_fixed_size + dynamic_lds
        shape = self._shape(grid, workgroup, fixed, dynamic_scratch, cooperative, members)
        placed = self._arguments.place(space, shape.template, values, fixed)
        if placed.lds != fixed:
            shape = self._shape(grid, workgroup, placed.lds, dynamic_scratch, cooperative, members)
            placed.release()
            placed = self._arguments.place(space, shape.template, values, fixed)
        try:
            return self._run_block(shape, placed.block, budget, time_budget).report()
        finally:
            placed.release()

    def run_block(
        self, grid: Extent, workgroup: Extent, arguments: bytes | bytearray, lds: int, budget: int = DEFAULT_BUDGET,
        time_budget: float | None = None, dynamic_scratch: int = 0, cooperative: bool = False,
    ) -> Outcome:  # fmt: skip
        """Run with a block of the kernel's own arguments, behind which the hidden ones are filled in.

        `lds` is all of a workgroup's; otherwise as `run`. The report is made when it is asked for.
        """
        shape = self._shape(grid, workgroup, lds, dynamic_scratch, cooperative, self._cluster(None))
        return self._run_block(shape, arguments, budget, time_budget)

    def is_own(self, address: int) -> bool:
        """Whether the allocation at `address` holds this kernel's code, or a block of its arguments."""
        return address == self._code_address or any(address == place for place, _ in self._blocks)

    def _run_block(self, shape: _Shape, arguments: bytes | bytearray, budget: int, time_budget: float | None) -> Outcome:
        address, block = self._blocks.pop() if self._blocks else self._new_block()
        block[: self._arguments.size] = shape.template
        block[: len(arguments)] = arguments
        if self._arguments.calls_host:
            self._device.hostcalls.begin()
        try:
            outcome = self._start(shape, address, block, budget, time_budget)
            return outcome if outcome.counts.get("profile") is None else outcome._replace(complete=partial(self._with_profile, shape))
        except EmulationError as error:
            if self._arguments.calls_host and error.place["instruction"].startswith("s_trap"):
                error = self._device.hostcalls.assertion(error)
            error.locate(self.name, self.code.source_lines.find)
            raise error from None
        finally:
            self._blocks.append((address, block))

    def _with_profile(self, shape: _Shape, report: Report) -> Report:
        from pyaco.emu.occupancy import descriptor_occupancy

        assert report.profile is not None
        packet = shape.packet
        lds = max(packet.group_segment_size, self.kernel.descriptor.group_segment_fixed_size)
        occupancy = descriptor_occupancy(self.kernel, self._device.target, prod(packet.workgroup_size), lds)
        return replace(report, profile=report.profile.located(self.name, self.code.source_lines.find, occupancy))

    def _start(self, shape: _Shape, address: int, block: bytearray, budget: int, time_budget: float | None) -> Outcome:
        if shape.prepared is not None:
            sgprs = shape.user_sgprs.copy()
            sgprs[shape.address] = (address & 0xFFFFFFFF, address >> 32)[: shape.address.stop - shape.address.start]
            sgprs[shape.preloaded] = shape.preload.unpack_from(block, shape.preload_offset)
            return shape.prepared.run(sgprs, budget, time_budget)
        device, packet = self._device, replace(shape.packet, kernarg_address=address)
        memory = self._memory(packet)
        try:
            launch = launch_of(device, self.kernel.descriptor, packet, memory)
            return device.prepare(launch).run(launch.user_sgprs, budget, time_budget)
        finally:
            memory.release()

    def _memory(self, packet: DispatchPacket) -> PacketMemory:
        descriptor = self.kernel.descriptor
        return PacketMemory(self._device, descriptor, packet, -(-prod(packet.workgroup_size) // descriptor.wave_size))

    def _cluster(self, chosen: Sequence[int] | None) -> Extent:
        """Workgroups of a cluster: what the caller chooses, unless the kernel is compiled for others."""
        compiled = self.kernel.metadata.get(".cluster_dims")
        if chosen is None:
            return triple(compiled) if compiled else (1, 1, 1)
        if compiled and triple(compiled) != triple(chosen):
            raise InputError(f"kernel {self.name}: clusters of {triple(chosen)} workgroups, where it is compiled for {triple(compiled)}")
        return triple(chosen)

    def _shape(self, grid: Extent, workgroup: Extent, lds: int, dynamic_scratch: int, cooperative: bool, cluster: Extent) -> _Shape:
        key = (grid, workgroup, lds, dynamic_scratch, cooperative, cluster)
        found = self._shapes.get(key)
        if found is None:
            if len(self._shapes) >= _MOST_SHAPES:
                self._shapes.clear()
            found = self._shapes[key] = self._new_shape(*key)
        return found

    def _new_shape(self, grid: Extent, workgroup: Extent, lds: int, dynamic_scratch: int, cooperative: bool, cluster: Extent) -> _Shape:
        descriptor = self.kernel.descriptor
        packet = DispatchPacket(workgroup, grid, self._object, 0, max(descriptor.private_segment_fixed_size, dynamic_scratch), lds,
                                max(1, sum(size > 1 for size in grid)), cooperative, cluster)  # fmt: skip
        address, _ = block = self._blocks.pop() if self._blocks else self._new_block()
        memory = self._memory(packet)
        try:
            launch = launch_of(self._device, descriptor, replace(packet, kernarg_address=address), memory)
            if cooperative:
                self._check_residency(launch)
            preloaded = memory.sgprs_of("kernarg_preload")
            return _Shape(
                packet, self._template(packet), self._device.prepare(launch) if memory.is_empty else None, list(launch.user_sgprs),
                memory.sgprs_of("kernarg_segment_ptr"), preloaded, struct.Struct(f"<{preloaded.stop - preloaded.start}I"), memory.preload_offset,
            )  # fmt: skip
        finally:
            memory.release()
            self._blocks.append(block)

    def _check_residency(self, launch: Launch) -> None:
        """Refuse a cooperative grid as HIP does: where its workgroups cannot be there at once, some would wait for ever."""
        from pyaco.emu.cycles import machine
        from pyaco.emu.occupancy import descriptor_occupancy

        target = self._device.target
        units = machine(target).compute_units // (2 if launch.wgp_mode else 1)
        most = descriptor_occupancy(self.kernel, target, prod(launch.size), launch.lds_bytes).workgroups * max(units, 1)
        if launch.workgroups > most:
            raise UnsupportedError(f"kernel {self.name}: a cooperative grid of {launch.workgroups} workgroups, of which {most} are there at once "
                                   f"on {target}")  # fmt: skip

    def _template(self, packet: DispatchPacket) -> bytes:
        dynamic = max(0, packet.group_segment_size - self.kernel.descriptor.group_segment_fixed_size)
        hostcall = self._device.hostcalls.address if self._arguments.calls_host else 0
        return self._arguments.template(packet.grid_size, packet.workgroup_size, packet.dimensions, dynamic, hostcall, self._queue)

    def block(self, values: Sequence[ArgumentValue], packet: DispatchPacket) -> bytes:
        """Lay out arguments for a packet."""
        template = self._template(packet)
        if any(isinstance(value, numpy.ndarray) and value.ndim for value in values):
            raise InputError(f"kernel {self.name}: arrays are shared while a kernel runs; a block of arguments takes buffers")
        return bytes(self._arguments.place(self._device.space, template, values, packet.group_segment_size).block)

    def _new_block(self) -> tuple[int, bytearray]:
        block = bytearray(max(self._arguments.size, _LEAST_BLOCK))
        return self._device.space.map(block, origin=Origin(f"block of arguments of kernel {self.name}")), block

    def release(self) -> None:
        """Take argument blocks and the queue out of device memory."""
        if self._queue:
            self._device.space.release(self._queue)
            self._queue = 0
        while self._blocks:
            self._device.space.release(self._blocks.pop()[0])


class LoadedCode:
    """A code object in device memory; what ``Device.load`` returns. Its memory stays until `release`."""

    @checked
    def __init__(self, device: Launcher, code: bytes | CodeObject, symbols: Mapping[str, int] | None = None) -> None:
        self.code = code if isinstance(code, CodeObject) else read_code_object(code, device.target_id)
        if not self.code.target_id.runs_on(device.target_id):
            raise InputError(f"a code object for {self.code.target_id} on a device that is {device.target_id}")
        self.device = device
        # memory comes first: relocations need the address
        self._memory = numpy.zeros(max(len(self.code.load(0, symbols or {})), 1), numpy.uint8)
        #: Address of the image's first byte.
        self.address: int = device.space.map(self._memory, alignment=4096, origin=Origin("code object"))
        image = self.code.load(self.address, symbols)
        self._memory[: len(image)] = numpy.frombuffer(image, numpy.uint8)[: len(self._memory)]
        self._loaded: dict[str, LoadedKernel] = {}

    @property
    def kernels(self) -> dict[str, Kernel]:
        """The kernels by name."""
        return self.code.kernels

    @checked
    def kernel(self, name: str | None = None) -> Kernel:
        """Return a kernel by its symbol or its C++ name (``scale<float, 4>``); without a name the only one."""
        return self.code.kernel(name)

    @checked
    def __getitem__(self, name: str) -> LoadedKernel:
        """Return a kernel that can be called.

        Raises
        ------
        InputError
            There is none of that name.
        """
        kernel = self.kernel(name)
        if kernel.name not in self._loaded:
            self._loaded[kernel.name] = LoadedKernel(self.device, self.address, kernel, self.code)
        return self._loaded[kernel.name]

    @checked
    def global_(self, name: str, dtype: DTypeLike = numpy.uint8) -> NDArray[Any]:
        """Return a variable of the code object (``__device__``, ``__constant__``): an array over its bytes in device memory.

        Kernels see what is written into it, and it shows what they write.

        Parameters
        ----------
        name : str
            Its symbol, or its C++ name.
        dtype : data type
            What it consists of.

        Raises
        ------
        InputError
            There is none of that name, or its size is no multiple of the type's.
        """
        variables = self.code.variables
        found = [name] if name in variables else [symbol for symbol in variables if demangled(symbol) == name]
        if len(found) != 1:
            raise InputError(f"no variable {name!r}: there are {', '.join(demangled(symbol) or symbol for symbol in variables) or 'none'}")
        first, size = variables[found[0]]
        if not 0 <= first <= first + size <= len(self._memory):
            raise InputError(f"variable {name} of {size} bytes at {first:#x} is outside the image of {len(self._memory)} bytes")
        if size % numpy.dtype(dtype).itemsize:
            raise InputError(f"variable {name} has {size} bytes, which are no {numpy.dtype(dtype)}")
        return self._memory[first : first + size].view(dtype)

    def release(self) -> None:
        """Take it out of device memory."""
        for kernel in self._loaded.values():
            kernel.release()
        self.device.space.release(self.address)

    @checked
    def arguments(self, kernel: Kernel, values: Sequence[ArgumentValue], packet: DispatchPacket) -> bytes:
        """Lay out arguments as the kernel's metadata says, hidden ones included.

        Parameters
        ----------
        kernel : Kernel
            One of `kernels`.
        values : sequence
            What the kernel's own arguments are, as for `LoadedKernel`; arrays for pointers are buffers here.
        packet : DispatchPacket
            What hidden arguments tell of.

        Raises
        ------
        InputError
            Too few, too many, or one that its argument does not take.
        """
        return self[kernel.name].block(values, packet)

    @checked
    def dispatch(
        self,
        kernel: str | Kernel | None,
        grid: Sequence[int],
        workgroup: Sequence[int],
        values: Sequence[ArgumentValue] = (),
        *,
        group_segment_size: int = 0,
        private_segment_size: int = 0,
        cluster: Sequence[int] | None = None,
        budget: int = DEFAULT_BUDGET,
        time_budget: float | None = None,
    ) -> Report:
        """Run a kernel on a grid of work-items, whose last workgroups may be partial.

        Parameters
        ----------
        kernel : str or Kernel, optional
            Which; the only one may be left out.
        grid, workgroup : sequence of int
            Work-items in x, y, z.
        values : sequence
            Arguments; see `LoadedKernel`.
        group_segment_size, private_segment_size : int
            LDS beyond the kernel's own (dynamic), and scratch where its stack is dynamic.
        cluster : sequence of int, optional
            As for `LoadedKernel`.
        budget, time_budget
            As for `LoadedKernel`.

        Raises
        ------
        MemoryFault, BudgetError, EmulationError, UnsupportedError, InputError
            As ``Device.dispatch``.
        """
        chosen = kernel if isinstance(kernel, Kernel) else self.kernel(kernel)
        return self[chosen.name].run(triple(grid), triple(workgroup), values, group_segment_size, private_segment_size, budget, time_budget,
                                     cluster=cluster)  # fmt: skip


def triple(sizes: Sequence[int]) -> Extent:
    """Return up to three sizes as x, y, z, those that are missing as 1."""
    numbers = (*map(int, sizes), 1, 1)[: max(3, len(sizes))]
    if len(numbers) != 3 or min(numbers) < 1 or max(numbers) >= 1 << 32:
        raise InputError(f"{tuple(sizes)}: expected up to three sizes of at least 1")
    return numbers
