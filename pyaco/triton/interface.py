"""What stands for ``torch.cuda`` where code asks Triton's driver for its device interface."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Protocol

from pyaco.triton.benchmark import clock

__all__ = ["DeviceInterface", "Event", "Queue"]


class Queue:
    """A queue of launches; every launch is over when it returns."""

    cuda_stream = 0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        pass

    def synchronize(self) -> None:
        """Return: nothing is pending."""

    def wait_stream(self, stream: Queue) -> None:
        """Return: nothing is pending."""


class Event:
    """A moment among launches, by the cycle model (`pyaco.triton.benchmark`)."""

    def __init__(self, enable_timing: bool = False) -> None:
        self._milliseconds = 0.0

    def record(self, stream: Queue | None = None) -> None:
        """Note the moment."""
        self._milliseconds = clock.milliseconds

    def synchronize(self) -> None:
        """Return: nothing is pending."""

    def query(self) -> bool:
        """Return True: nothing is pending."""
        return True

    def elapsed_time(self, end: Event) -> float:
        """Return the milliseconds from this moment to `end`."""
        return end._milliseconds - self._milliseconds


class Described(Protocol):
    """A device that says what it is."""

    @property
    def properties(self) -> dict[str, Any]: ...


class Owner(Protocol):
    """What the interface asks of a driver."""

    def get_current_device(self) -> int: ...
    def set_current_device(self, number: int) -> None: ...
    def get_device_capability(self, device: int | None = None) -> tuple[int, int]: ...
    def emulated(self, number: int | None = None) -> Described: ...


class DeviceInterface:
    """The devices that were activated, as ``torch.cuda`` shows real ones."""

    Stream = Queue

    def __init__(self, owner: Owner) -> None:
        self._owner = owner

    def Event(self, enable_timing: bool = False) -> Event:
        """Return a new event."""
        return Event(enable_timing)

    def is_available(self) -> bool:
        """Return True."""
        return True

    def current_device(self) -> int:
        """Return the current device's number."""
        return self._owner.get_current_device()

    def set_device(self, number: int) -> None:
        """Choose a device that was activated before."""
        self._owner.set_current_device(number)

    def synchronize(self, device: Any = None) -> None:
        """Return: nothing is pending."""

    def get_device_capability(self, device: int | None = None) -> tuple[int, int]:
        """Return major and minor version of the gfx target."""
        return self._owner.get_device_capability(device)

    def get_device_properties(self, device: Any = None) -> SimpleNamespace:
        """Return the properties of a device, with torch's names for some."""
        facts = self._owner.emulated(device if isinstance(device, int) else None).properties
        return SimpleNamespace(
            **facts, name=f"{facts['arch']} (pyaco)", gcnArchName=facts["arch"], multi_processor_count=facts["multiprocessor_count"],
            warp_size=facts["warpSize"], shared_memory_per_block=facts["max_shared_mem"],
        )  # fmt: skip

    def current_stream(self, device: Any = None) -> Queue:
        """Return the only stream."""
        return Queue()

    default_stream = current_stream

    @contextmanager
    def stream(self, stream: Queue) -> Iterator[Queue]:
        """Launch on `stream` in a with statement."""
        yield stream
