"""AMD machine code on an ordinary CPU: a device with memory, dispatches, and two engines that agree bit for bit."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pyaco.emu.accuracy import survey
    from pyaco.emu.buffers import Buffer, BufferRange, TexelBuffer
    from pyaco.emu.device import Device
    from pyaco.emu.errors import (
        BarrierError,
        BudgetError,
        EmulationError,
        KernelAssertionError,
        MemoryFault,
        MissingWaitError,
        RaceError,
        UninitializedError,
    )
    from pyaco.emu.images import Image, ImagePlanes, ImageView, SampledImage
    from pyaco.emu.kernel_arguments import LocalMemory
    from pyaco.emu.launch import Launch
    from pyaco.emu.occupancy import kernel_occupancy
    from pyaco.emu.profile import Profile
    from pyaco.emu.raw_dispatch import run_asm
    from pyaco.emu.report import Report

__all__ = [
    "BarrierError", "BudgetError", "Buffer", "BufferRange", "Device", "EmulationError", "Image", "ImagePlanes", "ImageView", "KernelAssertionError",
    "Launch", "LocalMemory", "MemoryFault", "MissingWaitError", "Profile", "RaceError", "Report", "SampledImage", "TexelBuffer", "UninitializedError",
    "kernel_occupancy", "run_asm", "survey",
]  # fmt: skip

_FILES = {
    "survey": "accuracy", "Buffer": "buffers", "BufferRange": "buffers", "Device": "device", "Launch": "launch", "run_asm": "raw_dispatch",
    "Report": "report", "LocalMemory": "kernel_arguments", "Profile": "profile", "kernel_occupancy": "occupancy",
    "Image": "images", "ImagePlanes": "images", "ImageView": "images", "SampledImage": "images", "TexelBuffer": "buffers",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    # Engines load when they are used: who reads a command stream needs `launch` alone.
    if name not in __all__:
        raise AttributeError(f"module 'pyaco.emu' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"pyaco.emu.{_FILES.get(name, 'errors')}"), name)
