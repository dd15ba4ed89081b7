"""What differs between hardware levels, for kernels: ``features.pxd`` from ``pyaco/targets/data/features.txt``, ``wait_tables.pxd`` from
``pyaco/isa/data/waits.txt``.

``has_<feature>(level)`` are those of ``pyaco/targets/features.py``. Of waits there are the counters (``waitcnt_<name>`` numbers them,
``depctr_<name>`` is first bit | width << 8) and what ``_core/common/waitcnt.pxd`` builds on.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType


def load_waits(source: Path) -> ModuleType:
    """Import ``pyaco/isa/waits.py`` without the package, which is not built yet."""
    specification = importlib.util.spec_from_file_location("pyaco_isa_waits", source / "pyaco/isa/waits.py")
    if specification is None or specification.loader is None:
        raise RuntimeError("pyaco/isa/waits.py is missing")
    module = importlib.util.module_from_spec(specification)
    sys.modules["pyaco_isa_waits"] = module
    specification.loader.exec_module(module)
    return module


def condition(word: str) -> str:
    """Return the test of a level for a range of the table: ``90``, ``90-95`` or ``110-``."""
    first, dash, last = word.partition("-")
    if last:
        return f"{first} <= level <= {last}"
    return f"level >= {first}" if dash else f"level == {first}"


def features(source: Path) -> str:
    """Return ``features.pxd``."""
    lines = ["from libc.stdint cimport uint32_t"]
    for line in (source / "pyaco/targets/data/features.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, levels, _ = (column.strip() for column in line.split("|", 2))
            tests = " or ".join(condition(word) for word in levels.split())
            lines += ["", f"cdef inline bint has_{name}(uint32_t level) noexcept nogil:", f"    return {tests}"]
    return "\n".join(lines) + "\n"


def waits(source: Path) -> str:
    """Return ``wait_tables.pxd``."""
    reader = load_waits(source)
    rows = reader.read_rows(reader.DATA)
    counters = list(dict.fromkeys(row.counter for row in rows if row.instruction == "waitcnt"))
    depctr = [row for row in rows if row.instruction == "depctr"]
    lines = ["from libc.stdint cimport uint32_t", "", "cdef enum:"]
    lines += [f"    waitcnt_{name} = {number}" for number, name in enumerate(counters)]
    lines += [f"    waitcnt_counters = {len(counters)}", "", "cdef enum:"]
    lines += [f"    depctr_{row.counter} = {row.bits[0][0] | row.bits[0][1] << 8:#x}" for row in depctr]
    # First bit | width << 8 of the count's lowest bits; the same, from bit 16 on, of those above.
    lines += ["", "cdef inline uint32_t waitcnt_bits(uint32_t level, uint32_t counter) noexcept nogil:"]
    for name in counters:
        lines.append(f"    if counter == waitcnt_{name}:")
        for row in reversed([row for row in rows if row.counter == name]):
            packed = sum((first | width << 8) << 16 * index for index, (first, width) in enumerate(row.bits))
            lines += [f"        if level >= {row.first_level}:", f"            return {packed:#x}"]
    lines.append("    return 0")
    # All counters at their maximum; bits that belong to none are 0.
    lines += ["", "cdef inline uint32_t depctr_none(uint32_t level) noexcept nogil:", "    cdef uint32_t value = 0"]
    for row in depctr:
        lines += [f"    if level >= {row.first_level}:", f"        value |= {((1 << row.bits[0][1]) - 1) << row.bits[0][0]:#x}"]
    lines.append("    return value")
    return "\n".join(lines) + "\n"


def generate(source: Path) -> dict[str, str]:
    """Return the generated files."""
    return {"features.pxd": features(source), "wait_tables.pxd": waits(source)}
