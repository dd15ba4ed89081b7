"""Triton kernels on an AMD GPU that is not there: Triton's AMD backend compiles them, the emulator runs that machine code.

Tensors of torch on the processor and NumPy arrays (`Array`) are shared with the device, not copied, and accesses beside them stop the
launch. See ``docs/triton.md``.
"""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any

from pyaco.errors import UnsupportedError

if TYPE_CHECKING:
    from pyaco.emu.report import Report
    from pyaco.triton.memory import Array

__all__ = ["Activation", "Array", "activate", "last_report", "share", "unshare"]


class Activation:
    """What `activate` returns: ends the activation as a context manager, or with `deactivate`."""

    def __init__(self, target: str, options: dict[str, Any]) -> None:
        try:
            from triton import testing
            from triton.backends.amd.driver import HIPDriver
            from triton.runtime import Autotuner, Heuristics, JITFunction
            from triton.runtime import driver as config
        except ImportError as error:
            raise UnsupportedError(f"pyaco.triton needs Triton (pip install pyaco[triton]): {error}") from None
        from pyaco.triton.benchmark import benchmark
        from pyaco.triton.driver import driver
        from pyaco.triton.memory import with_arrays

        self._driver = driver()
        self._device = self._driver.use(target, options)
        # who asks which backends are active, and for the default driver, must find this one too
        changes = ((config, "_active", self._driver), (config, "_default", self._driver), (testing, "do_bench", benchmark),
                   (HIPDriver, "is_active", staticmethod(lambda: True)),
                   *((kind, "run", with_arrays(kind.run)) for kind in (JITFunction, Autotuner, Heuristics)))  # fmt: skip
        self._before = [(owner, name, vars(owner)[name]) for owner, name, _ in changes]
        for owner, name, value in changes:
            setattr(owner, name, value)

    def deactivate(self) -> None:
        """Give Triton back the driver, and the device, that it had before."""
        for owner, name, value in self._before:
            setattr(owner, name, value)
        self._driver.restore(self._device)

    def __enter__(self) -> Activation:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None) -> None:
        self.deactivate()


def activate(target: str, **options: Any) -> Activation:
    """Make an emulated GPU Triton's active device, until the end of the process or of a with statement.

    Parameters
    ----------
    target : str
        A gfx name, chip or product for which Triton has code and pyaco an emulator, such as ``gfx942`` or ``gfx1100``.
    options
        Those of ``pyaco.emu.Device``, such as ``check_waits=True``.

    Raises
    ------
    UnsupportedError
        Triton is not installed, or the target has no emulator.
    """
    return Activation(target, options)


def share(value: Any) -> None:
    """Let kernels of the current device reach a tensor whose address they find in memory, not among their arguments.

    It stays shared, and alive, until `unshare`.
    """
    from pyaco.triton.driver import driver

    driver().emulated().memory.share(value)


def unshare(value: Any) -> None:
    """Take back what `share` did.

    Raises
    ------
    InputError
        The tensor is not shared.
    """
    from pyaco.triton.driver import driver

    driver().emulated().memory.unshare(value)


def last_report() -> Report | None:
    """Return what the last launch executed, or None before the first."""
    from pyaco.triton.driver import driver

    return driver().last_report


def __getattr__(name: str) -> Any:
    if name == "Array":
        from pyaco.triton.memory import Array

        return Array
    raise AttributeError(f"module 'pyaco.triton' has no attribute {name!r}")
