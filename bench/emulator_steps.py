"""What share of the instructions the fast engine executes by itself, by generation and encoding.

Random instructions of every encoding, as ``tests/emu/fuzz.py`` draws them: an opcode counts with the share of its draws whose operands and
modifiers the engine has steps for. The rest goes to the reference engine's function. ``python bench/emulator_steps.py [draws]``
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "emu"))

import numpy as np
from fuzz import SLOT, TARGETS, Streams

from pyaco import isa
from pyaco._core.emu.memory import AddressSpace
from pyaco._core.emu_fast.engine import FastEngine
from pyaco.isa.opcodes import FORMATS, names

VECTOR = ("vop3p", "vop1", "vop2", "vopc", "vop3")  # bits; the others are numbers in bits 0 to 6
OTHERS = ("sop1", "sop2", "sopk", "sopc", "sopp", "smem", "vopd", "ds", "mubuf", "mtbuf", "flat", "global", "scratch", "vinterp_inreg")
LANES = {"sdwa": 0x1000, "dpp16": 0x2000, "dpp8": 0x4000}  # bits of a format that the table does not name


def family(bits: int) -> str:
    """Return the encoding's name: the native format, with what was added to it."""
    base = next((name for name in VECTOR if bits & FORMATS[name]), "") or next((name for name in OTHERS if bits & 0x7F == FORMATS[name]), "other")
    extra = next((name for name, bit in LANES.items() if bits & bit), "vop3" if bits & FORMATS["vop3"] else "")
    return base if extra in ("", base) or (base == "vop3p" and extra == "vop3") else f"{base}+{extra}"


def shares(target: str, wave: int, draws: int) -> dict[str, dict[int, list[bool]]]:
    """Return by encoding and opcode, for each draw, whether the fast engine has steps for it."""
    streams = Streams(target, wave, 1)
    laid, _ = streams.instructions(draws)
    code = laid.tobytes()
    decoded = isa.decode(code, target)
    records = {int(record["offset"]): record for record in decoded[decoded["offset"] % (4 * SLOT) == 0]}
    space = AddressSpace()
    address = space.map(np.frombuffer(bytearray(code), np.uint8))
    found: dict[str, dict[int, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for offset, own in FastEngine(space, streams.level).own_steps(address, address + len(code), wave):
        if offset in records:
            record = records[offset]
            found[family(int(record["format"]))][int(record["opcode"])].append(own)
    return found


def main(draws: int) -> None:
    """Print a table by target, then the opcodes that never have a step."""
    for target, wave in TARGETS:
        found = shares(target, wave, draws)
        columns, every = [], []
        for name in sorted(found):
            means = [float(np.mean(own)) for own in found[name].values()]
            every += means
            columns.append(f"{name} {100 * np.mean(means):.0f} % of {len(means)}")
        print(f"{target} wave{wave}: {100 * np.mean(every):.1f} % of {len(every)} (encoding, opcode) pairs; " + ", ".join(columns), flush=True)
        never = sorted({names()[opcode] for kinds in found.values() for opcode, own in kinds.items() if not any(own)})
        if "-v" in sys.argv:
            print("   never:", " ".join(never))


if __name__ == "__main__":
    main(next((int(word) for word in sys.argv[1:] if word.isdigit()), 20000))
