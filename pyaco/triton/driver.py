"""Triton's active driver: which device kernels are compiled for, loaded into and launched on.

Sources: Triton's ``backends/driver.py`` (what a driver answers), ``backends/amd/driver.py`` and ``driver.c`` (properties, what loading a
binary returns), ``compiler/compiler.py`` (how they are used).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

from pyaco.emu.device import Device
from pyaco.errors import InputError
from pyaco.targets import database, features
from pyaco.targets.limits import wave_limits
from pyaco.triton.benchmark import KernelModel, benchmark, clock
from pyaco.triton.interface import DeviceInterface
from pyaco.triton.launcher import Function, Launcher
from pyaco.triton.memory import SharedMemory

if TYPE_CHECKING:
    from pyaco.emu.prepared_launch import Outcome
    from pyaco.emu.report import Report
    from pyaco.triton.memory import Range

__all__ = ["Driver", "EmulatedDevice", "driver"]

_MAX_THREADS = 1024
# What a chip that no product of the database has is said to be.
_UNKNOWN = (1, 1000, 1000, 64)


@dataclass(eq=False)
class EmulatedDevice:
    """A device that was activated.

    Attributes
    ----------
    device : Device
    options : dict
        What it was made with besides the target.
    memory : SharedMemory
        What of the host's memory kernels reach.
    """

    device: Device
    options: dict[str, Any]
    memory: SharedMemory

    @cached_property
    def warp_size(self) -> int:
        """Lanes of a wave, as Triton's AMD backend compiles for the target."""
        return 32 if features.has_wave32(self.device.gfx_level) else 64

    @cached_property
    def properties(self) -> dict[str, Any]:
        """What HIP says of the device, of the product with the most compute units."""
        target = self.device.target
        known = [product for product in database.products() if product.die.target == target]
        units, clock, rate, bus = _UNKNOWN
        if known:
            product = max(known, key=lambda product: product.units)
            units, clock, rate, bus = product.units, product.clock, product.memory_rate, product.die.bus
        limits = wave_limits(target, self.warp_size)
        return {
            "max_shared_mem": limits.lds_limit, "max_num_regs": limits.physical_vgprs * self.warp_size * limits.simds_per_cu,
            "multiprocessor_count": units, "sm_clock_rate": clock * 1000, "mem_clock_rate": rate * 1000 // 2, "mem_bus_width": bus,
            "arch": target, "warpSize": self.warp_size, "cooperativeLaunch": 1,
            "max_threads_per_sm": limits.max_waves_per_simd * limits.simds_per_cu * self.warp_size,
        }  # fmt: skip


class Utilities:
    """What Triton asks a driver's ``utils``."""

    def __init__(self, owner: Driver) -> None:
        self._owner = owner

    def get_device_properties(self, number: int | None = None) -> dict[str, Any]:
        """Return the properties of a device; of the current one for None, which is the index of torch's ``cpu``."""
        return self._owner.emulated(number).properties

    def load_binary(self, name: str, code: bytes, shared: int, number: int) -> tuple[Function, Function, int, int, int]:
        """Return module and function (one thing here), registers, spilled dwords of a lane, and the most threads of a workgroup."""
        chosen = self._owner.emulated(number)
        function = Function(chosen.device, chosen.memory, name, code)
        metadata, descriptor = function.kernel.metadata, function.kernel.descriptor
        registers = metadata.get(".vgpr_count", 0)
        function.launched = partial(self._owner.launched, name, KernelModel(chosen.device.target, chosen.device.gfx_level, registers))
        return (function, function, registers, descriptor.private_segment_fixed_size // 4,
                metadata.get(".max_flat_workgroup_size", _MAX_THREADS))  # fmt: skip

    def unload_module(self, function: Function) -> None:
        """Take a kernel out of its device's memory."""
        function.release()


class Driver:
    """The driver that Triton asks. There is one for the process, with a device for each target and each choice of options.

    Devices are numbered as they were first used, because Triton keeps compiled kernels by a device's number.
    """

    def __init__(self) -> None:
        self.utils = Utilities(self)
        self.launcher_cls = Launcher
        self._interface = DeviceInterface(self)
        self._devices: list[EmulatedDevice] = []
        self._current = 0
        self._last_outcome: Outcome | None = None
        #: Name of the last kernel launched.
        self.last_kernel = ""

    # ---------------------------------------------------------------------------------------------------------- devices
    def use(self, target: str, options: dict[str, Any]) -> int:
        """Make the device for `target` and `options` the current one; return the number of the one before."""
        before, name = self._current, Device(target).target
        for number, known in enumerate(self._devices):
            if known.device.target == name and known.options == options:
                self._current = number
                return before
        device = Device(target, **options)
        self._devices.append(EmulatedDevice(device, options, SharedMemory(device.space)))
        self._current = len(self._devices) - 1
        return before

    def restore(self, number: int) -> None:
        """Make the device with this number the current one again, as `use` returned it."""
        self._current = number

    def emulated(self, number: int | None = None) -> EmulatedDevice:
        """Return a device by number, without one the current device.

        Raises
        ------
        InputError
            No such device was activated.
        """
        chosen = self._current if number is None else number
        if not 0 <= chosen < len(self._devices):
            raise InputError(f"device {chosen}: {len(self._devices)} were activated")
        return self._devices[chosen]

    def launched(self, name: str, model: KernelModel, outcome: Outcome, memory: list[Range]) -> None:
        """Note a launch."""
        self.last_kernel, self._last_outcome = name, outcome
        clock.add(model, outcome, memory)

    @property
    def last_report(self) -> Report | None:
        """What the last launch executed, or None before the first."""
        return None if self._last_outcome is None else self._last_outcome.report()

    # ------------------------------------------------------------------------------------------------- asked by Triton
    @classmethod
    def is_active(cls) -> bool:
        """Whether it is there."""
        return True

    def get_current_device(self) -> int:
        """Return the current device's number."""
        return self._current

    def set_current_device(self, number: int) -> None:
        """Choose a device that was activated before."""
        self.emulated(number)
        self._current = number

    def get_current_stream(self, device: int | None = None) -> int:
        """Return 0: a launch is over when it returns."""
        return 0

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        """Return major and minor version of the gfx target."""
        level = self.emulated(device).device.gfx_level
        return level // 10, level % 10

    def get_current_target(self) -> Any:
        """Return Triton's ``GPUTarget`` of the current device."""
        from triton import knobs
        from triton.backends.compiler import GPUTarget

        chosen = self.emulated()
        return GPUTarget("hip", knobs.runtime.override_arch or chosen.device.target, chosen.warp_size)

    def get_active_torch_device(self) -> Any:
        """Return torch's ``cpu``, whose tensors kernels work on."""
        import torch

        return torch.device("cpu")

    def get_device_interface(self) -> DeviceInterface:
        """Return what stands for ``torch.cuda``."""
        return self._interface

    def map_python_to_cpp_type(self, ty: str) -> str:
        """Return the C++ type of a Triton type."""
        from triton.backends.amd.driver import ty_to_cpp

        return str(ty_to_cpp(ty))

    def get_benchmarker(self) -> Any:
        """Return what the autotuner measures with."""
        return benchmark

    def get_empty_cache_for_benchmark(self) -> None:
        """Return nothing: no cache is modelled."""

    def clear_cache(self, cache: Any) -> None:
        """Do nothing: no cache is modelled."""

    def assemble_tensormap_to_arg(self, tensormaps_info: Any, args: Any) -> Any:
        """Return `args`: AMD has no tensor maps."""
        return args


@cache
def driver() -> Driver:
    """Return the process's driver."""
    return Driver()
