"""Running small ACO programs in SSA form: what the operands of each ``p_unit_test`` are on the emulator, for values that the caller chooses.

The definitions of ``p_startpgm`` become loads from a buffer, a row of dwords for each (scalars take the first lane's); the operands of
``p_unit_test`` become stores to another one. What is between is compiled as it stands, without the optimizer.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco import emu, targets
from pyaco._core.aco import assemble
from pyaco._core.ir.program import Program
from pyaco.aco import Options, parse_program, run_passes

LANES = 64
ROOM = 256
#: A chip of each gfx level that has one, by the number of the level.
CHIPS = {60: "gfx600", 70: "gfx700", 80: "gfx803", 90: "gfx900", 100: "gfx1010", 103: "gfx1030", 110: "gfx1100", 115: "gfx1150", 120: "gfx1200"}
_VALUE = re.compile(r"(?:(\w+): )?%(\d+)")

Array = NDArray[Any]


def _classes(lines: list[str]) -> dict[str, str]:
    """The class of each value."""
    return {number: kind for line in lines for kind, number in re.findall(r"(\w+): (?:\([^)]*\))?%(\d+)", line.partition(" = ")[0])}


def _dwords(kind: str) -> int:
    return 1 if kind.endswith("b") else int(kind[1:])


class Wrapper:
    """Makes a kernel of a program."""

    def __init__(self, lines: list[str], source: int, target: int, level: int) -> None:
        self.classes = _classes(lines)
        self.free = max(map(int, self.classes), default=0) + 1
        self.flags = 0x00027FAC if level < 100 else 0x31016FAC if level < 110 else 0x31014FAC
        self.addresses = {"source": source, "target": target}
        self.inputs: list[str] = []
        self.outputs: list[tuple[str, str]] = []
        self.lines: list[str] = []
        for line in lines:
            self.wrap(line)

    def new(self) -> str:
        """A value that the program does not have."""
        self.free += 1
        return f"%{self.free}"

    def emit(self, line: str) -> None:
        """Append an instruction."""
        self.lines.append("\t " + line)

    def wrap(self, line: str) -> None:
        """Append a line of the program, or what stands for it."""
        if "p_startpgm" in line:
            self.start([number for _, number in _VALUE.findall(line.partition(" = ")[0])])
        elif "p_unit_test" in line:
            self.store(line.split("p_unit_test ", 1)[1])
        else:
            self.lines.append(line)

    def descriptor(self, which: str) -> str:
        """A buffer without bounds."""
        address, result = self.addresses[which], self.new()
        self.emit(f"s4: {result} = p_create_vector 0x{address & 0xFFFFFFFF:x}, 0x{address >> 32:x}, 0xffffffff, 0x{self.flags:x}")
        return result

    def start(self, values: list[str]) -> None:
        """Load the inputs."""
        lane, self.offset = self.new(), self.new()
        self.emit(f"v1: {lane}:v[0] = p_startpgm")
        self.emit(f"v1: {self.offset} = v_lshlrev_b32 2, {lane}")
        self.target = self.descriptor("target")
        source = self.descriptor("source")
        for number in values:
            kind = self.classes[number]
            parts = []
            for _ in range(_dwords(kind)):
                parts.append(self.new())
                place = 4 * LANES * len(self.inputs)
                self.emit(f"v1: {parts[-1]} = buffer_load_dword {source}, {self.offset}, 0 offen offset:{place} storage:buffer")
                self.inputs.append(kind)
            if kind[0] == "s":
                scalars = [self.new() for _ in parts]
                for scalar, part in zip(scalars, parts, strict=True):
                    self.emit(f"s1: {scalar} = p_as_uniform {part}")
                parts = scalars
            if kind.endswith("b"):
                self.emit(f"{kind}: %{number} = p_extract_vector {parts[0]}, 0")
            elif len(parts) == 1:
                self.emit(f"{kind}: %{number} = p_parallelcopy {parts[0]}")
            else:
                self.emit(f"{kind}: %{number} = p_create_vector {', '.join(parts)}")

    def store(self, operands: str) -> None:
        """Store what a test keeps."""
        test, *values = operands.split(",")
        for value in values:
            number = value.strip().lstrip("%")
            if not value.strip().startswith("%"):
                continue
            kind, parts = self.classes[number], [f"%{number}"]
            if _dwords(kind) > 1:
                parts = [self.new() for _ in range(_dwords(kind))]
                self.emit(", ".join(f"{kind[0]}1: {part}" for part in parts) + f" = p_split_vector %{number}")
            for part in parts:
                if kind[0] == "s":
                    copy = self.new()
                    self.emit(f"v1: {copy} = p_parallelcopy {part}")
                    part = copy
                store = "short" if kind == "v2b" else "byte" if kind == "v1b" else "dword"
                place = 4 * LANES * len(self.outputs)
                offset = self.new()
                self.emit(f"v1: {offset} = v_or_b32 0x{place:x}, {self.offset}" if place else f"v1: {offset} = p_parallelcopy {self.offset}")
                self.emit(f"buffer_store_{store} {self.target}, {offset}, 0, {part} offen storage:buffer")
                self.outputs.append((test.strip(), kind))


def merged(text: str) -> tuple[list[str], list[int]]:
    """The lines of a program as one block, and the block that each was in."""
    kept, places, block = ["BB0", "/* logical preds: / linear preds: / kind: uniform, top-level, */"], [0, 0], -1
    for line in text.strip().splitlines():
        block += bool(re.match(r"BB\d+", line))
        if line.startswith("\t") and "s_endpgm" not in line:
            kept.append(line)
            places.append(block)
    return [*kept, "\ts_endpgm"], [*places, block]


def compiled(text: str, level: int, wave: int, addresses: tuple[int, int], float_mode: int = 0xC0) -> tuple[Program, Wrapper]:
    """The kernel of a program, which reads from one address and writes to another."""
    chip = targets.chip(CHIPS[level])
    wrapper = Wrapper(merged(text)[0], *addresses, level)
    program = parse_program("\n".join(wrapper.lines) + "\n", level, wave, workgroup_size=LANES)
    program.configure(gfx_level=level, wave_size=wave, workgroup_size=LANES, limits=targets.wave_limits(chip, wave).as_dict(), wgp_mode=False)
    with program.edit():
        program.blocks.fp_mode[0] = float_mode
    run_passes(program, Options(disabled=frozenset({"optimize", "value_numbering"})))
    return program, wrapper


def execute(text: str, level: int, wave: int, values: Array, float_mode: int = 0xC0, engine: str = "reference") -> dict[tuple[str, int], Array]:
    """Run a program; return what each test keeps: by its number and the operand, a row of dwords.

    `values` has a row of 64 lanes for each dword of input.
    """
    device = emu.Device(CHIPS[level], engine=engine)
    source = device.buffer(np.ascontiguousarray(values, np.uint32))
    target = device.buffer(np.zeros(ROOM * LANES, np.uint32))
    program, wrapper = compiled(text, level, wave, (source.address, target.address), float_mode)
    assemble.run(program)
    device.run(program.code, (1, 1, 1), (LANES, 1, 1), wave_size=wave, local_id_components=1, float_mode=float_mode)
    rows = target.numpy().view(np.uint32).reshape(ROOM, LANES)
    result: dict[tuple[str, int], Array] = {}
    for row, (test, kind) in zip(rows, wrapper.outputs, strict=False):
        index = sum(name == test for name, _ in result)
        result[test, index] = row & (0xFFFF if kind == "v2b" else 0xFF if kind == "v1b" else 0xFFFFFFFF)
    return result
