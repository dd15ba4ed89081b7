"""AMD machine code on an ordinary CPU: a device with memory, dispatches, and two engines that agree bit for bit."""

from __future__ import annotations

from pyaco.emu.device import Buffer, Device
from pyaco.emu.errors import BudgetError, EmulationError, MemoryFault, MissingWaitError, RaceError
from pyaco.emu.exactness import survey
from pyaco.emu.report import Report
from pyaco.emu.seam import run_asm

__all__ = [
    "BudgetError", "Buffer", "Device", "EmulationError", "MemoryFault", "MissingWaitError", "RaceError", "Report", "run_asm", "survey",
]  # fmt: skip
