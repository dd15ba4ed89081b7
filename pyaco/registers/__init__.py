"""The register database, GFX6 to GFX12: names, offsets, fields and enumerations; encode and decode by name."""

from __future__ import annotations

from pyaco.registers.database import Field, Register, Registers, registers
from pyaco.registers.program import program_registers

__all__ = ["Field", "Register", "Registers", "program_registers", "registers"]
