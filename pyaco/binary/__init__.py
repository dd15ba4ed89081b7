"""Code objects: machine code in the files that loaders and tools read."""

from __future__ import annotations

from pyaco.binary.elf import write_elf

__all__ = ["write_elf"]
