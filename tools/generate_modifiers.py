"""Accessors of the packed modifier column, from ``pyaco/isa/data/modifiers.txt``.

``modifiers.h`` holds ``modifier_<name>(word)`` and ``modifier_set_<name>(word, value)``; ``modifiers.pxd`` declares
them.
"""

from __future__ import annotations

from pathlib import Path


def read_fields(source: Path) -> list[tuple[str, int, int, str]]:
    """Return (name, first bit, width, format group) of every field."""
    fields = []
    for line in (source / "pyaco/isa/data/modifiers.txt").read_text().splitlines():
        words = line.split("#")[0].split()
        if words:
            name, first, width, group = words
            fields.append((name, int(first), int(width), group))
    return fields


def generate(source: Path) -> dict[str, str]:
    """Return the generated files."""
    header = ["#pragma once", "#include <stdint.h>"]
    declarations = ["from libc.stdint cimport uint32_t, uint64_t", "", 'cdef extern from "modifiers.h" nogil:']
    for name, first, width, _ in read_fields(source):
        mask = (1 << width) - 1
        header.append(
            f"static inline uint32_t modifier_{name}(uint64_t word)"
            f" {{ return (uint32_t)((word >> {first}) & 0x{mask:x}ull); }}"
        )
        header.append(
            f"static inline uint64_t modifier_set_{name}(uint64_t word, uint64_t value)"
            f" {{ return (word & ~(0x{mask:x}ull << {first})) | ((value & 0x{mask:x}ull) << {first}); }}"
        )
        declarations.append(f"    uint32_t modifier_{name}(uint64_t word)")
        declarations.append(f"    uint64_t modifier_set_{name}(uint64_t word, uint64_t value)")
    return {"modifiers.h": "\n".join(header) + "\n", "modifiers.pxd": "\n".join(declarations) + "\n"}
