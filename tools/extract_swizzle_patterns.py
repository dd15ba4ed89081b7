"""Write ``pyaco/addrlib/data/swizzle_gfx*.txt``: which coordinate bits make each address bit of GFX10, 11 and 12 blocks.

The facts come from the swizzle-pattern tables of AMD's addrlib (as in Mesa, ``src/amd/addrlib``), which are C initializers in a
packed form; this program evaluates them and writes each pattern in words, once, with the configurations that share it.

    python tools/extract_swizzle_patterns.py /path/to/addrlib
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

CHANNELS = "xyzs"
DATA = Path(__file__).resolve().parent.parent / "pyaco" / "addrlib" / "data"
# Configurations (log2 pipes, log2 packers) in the order of the tables that depend on packers.
PACKERS = [(p, 0) for p in range(4)] + [(p, k) for k in range(2, 6) for p in range(k, min(k + 3, 7))]
PIPES = [(p, 0) for p in range(7)]

Term = frozenset[tuple[str, int]]


def terms(expression: str) -> str:
    """Return ``X3^Y4`` as ``x3+y4``, in the order of the channels; ``0`` as ``-``."""
    words = sorted((w.strip().lower() for w in expression.split("^")), key=lambda w: (CHANNELS.find(w[0]), int(w[1:] or 0)))
    return "-" if words == ["0"] else "+".join(words)


def arrays(text: str) -> dict[str, list[list[str]]]:
    """Return every C array of braces in the header: name -> rows of cells."""
    found = {}
    text = re.sub(r"//.*", "", text)
    for name, body in re.findall(r"const \w+ (\w+)\[\](?:\[\d\])?\s*=\s*\{(.*?)\n\s*\};", text, re.DOTALL):
        found[name] = [[c.strip() for c in row.split(",") if c.strip()] for row in re.findall(r"\{([^{}]*)\}", body)]
    return found


def describe(name: str) -> tuple[str, str, int]:
    """Return (mode, thin or thick, samples) of a table's name, such as ``SW_64K_R_X_4xaa``."""
    parts = name.split("_")
    samples = 1
    if parts[-1].lower().endswith("xaa"):
        samples = int(parts.pop().lower().removesuffix("xaa"))
    size = {"256": "256B", "4K": "4KB", "64K": "64KB", "256K": "256KB"}.get(parts[1], parts[1])
    thick = parts[2].endswith("3")
    return "_".join([size, parts[2].removesuffix("3"), *parts[3:]]), "thick" if thick else "thin", samples


def patterns(header: Path, prefix: str, suffix: str, configurations: list[tuple[int, int]]) -> list[str]:
    """Return the lines of one generation."""
    table = arrays(header.read_text())
    nibbles = [table[n] for n in sorted(n for n in table if n.startswith(f"{prefix}_SW_PATTERN_NIBBLE"))]
    shared: dict[tuple[str, str, int, int, str], list[tuple[int, int]]] = defaultdict(list)
    for name, rows in table.items():
        match = re.fullmatch(rf"{prefix}_(SW_\w+?){suffix}_PATINFO", name)
        if not match or (not suffix and "RBPLUS" in name):
            continue
        mode, thickness, samples = describe(match[1])
        for index, row in enumerate(rows):
            cells = [int(c) for c in row[-len(nibbles):]]
            bits = [cell for nibble, i in zip(nibbles, cells, strict=True) for cell in nibble[i]]
            text = " ".join(terms(b) for b in bits)
            while text.endswith(" -"):
                text = text[:-2]
            shared[mode, thickness, samples, 1 << index % 5, text].append(configurations[index // 5])
    lines = []
    for (mode, thickness, samples, size, text), where in shared.items():
        chips = "*" if len(where) == len(configurations) else " ".join(f"{p}:{k}" for p, k in where)
        lines.append(f"{mode} {thickness} {samples} {size} | {chips} | {text}")
    return lines


HEADER = """\
# mode thickness samples element-bytes | log2(pipes):log2(packers) of the chips, * = all | address bits from bit 0 up
# A bit is the xor (+) of bits of x, y, z (slice) and s (sample); '-' below the first coordinate is a byte of the element.
# Made by tools/extract_swizzle_patterns.py.
"""


def main(addrlib: Path) -> None:
    """Write the files."""
    for stem, generation, suffix, configurations in (
        ("swizzle_gfx10", "gfx10", "", PIPES), ("swizzle_gfx103", "gfx10", "_RBPLUS", PACKERS),
        ("swizzle_gfx11", "gfx11", "", PACKERS), ("swizzle_gfx12", "gfx12", "", [(0, 0)]),
    ):
        header = addrlib / "src" / generation / f"{generation}SwizzlePattern.h"
        lines = patterns(header, generation.upper(), suffix, configurations)
        (DATA / f"{stem}.txt").write_text(HEADER + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
