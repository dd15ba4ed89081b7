"""Compare the cycles of our profile with thread traces (SQTT) of the hardware, kernel by kernel.

``python tests/oracle/compare_thread_traces.py FOLDER`` takes a checkout of tinygrad, whose ``extra/sqtt/examples`` has traces of a Radeon RX 7900
XTX (gfx1100), of a gfx1200 and of a gfx950 and whose decoder reads them: when each instruction of a wave was dispatched. The same machine code runs
in the emulator with a profile. Compared are the cycles from one instruction to the next, but for waits and ends, which take as long as memory does,
and for what took longer than `LONGEST`: the fetch of instructions. A dependent vector instruction is dispatched at once where no ``s_delay_alu``
holds it, and then waits in the unit: the hardware's distances are 1 and later more where ours are 5 and then less, and only their sum compares.

Traces of CDNA name no instruction: each packet has the kind of the next one in the program's order (`KINDS`), in steps of four cycles, and only for
kernels that a traced compute unit ran. Waits are not in them.
"""

from __future__ import annotations

import argparse
import importlib
import pickle
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from pyaco import emu, isa
from pyaco.emu.launch import Launch
from pyaco.isa import opcodes as opcode_table

TARGETS = ("gfx1100", "gfx1200", "gfx950")
#: Beginnings of opcodes that a packet of CDNA's traces may stand for.
KINDS = {
    "SMEM_RD": ("s_load", "s_buffer_load"), "SALU_32": ("s_",), "SALU_64": ("s_",), "VALU_32": ("v_",), "VALU_64": ("v_",), "VALU_MAI": ("v_",),
    "VMEM_RD": ("buffer_",), "VMEM_WR": ("buffer_",), "FLAT_RD": ("global_", "flat_"), "FLAT_WR": ("global_", "flat_"), "LDS": ("ds_",),
    "JUMP": ("s_branch", "s_cbranch"), "NEXT": ("s_cbranch",), "OTHER_MSG": ("s_endpgm",),
}  # fmt: skip
LONGEST = 200
#: Buffers that the kernels are called with: none takes more.
BUFFERS = 3


class Ignored:
    """What a trace's file holds besides the events."""

    def __new__(cls, *_: Any, **__: Any) -> Ignored:
        return object.__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __setstate__(self, state: Any) -> None: ...

    def __call__(self, *_: Any, **__: Any) -> Ignored:
        return Ignored()


class Events(pickle.Unpickler):
    """Reads the events of a trace, and calls nothing else that its file names."""

    def find_class(self, module: str, name: str) -> Any:
        if name in ("ProfileSQTTEvent", "ProfileProgramEvent") or (module, name) == ("decimal", "Decimal"):
            return super().find_class(module, name)
        return type(name, (Ignored,), {})


@dataclass
class Comparison:
    """Distances of one wave: (offset, measured, ours)."""

    name: str
    rows: list[tuple[int, int, int]] = field(default_factory=list)

    def __str__(self) -> str:
        errors = [abs(ours - measured) for _, measured, ours in self.rows]
        close = sum(error <= 2 for error in errors)
        measured, found = sum(row[1] for row in self.rows), sum(row[2] for row in self.rows)
        return f"{self.name:36} {len(self.rows):5} {close:8} {sum(errors) / max(1, len(errors)):9.2f} {measured:9} {found:6} {found / measured:6.2f}"


def traced(folder: Path, target: str) -> Iterator[tuple[str, bytes, list[tuple[int, int]]]]:
    """Yield name, machine code, and (offset, cycle) of each instruction of the first wave of each kernel."""
    decoder = importlib.import_module("tinygrad.renderer.amd.sqtt")
    section = importlib.import_module("tinygrad.viz.serve").get_elf_section
    for path in sorted((folder / "extra/sqtt/examples" / target).glob("*.pkl")):
        with path.open("rb") as file:
            events = Events(file).load()
        programs = {event.tag: event for event in events if type(event).__name__ == "ProfileProgramEvent"}
        for event in events:
            if type(event).__name__ != "ProfileSQTTEvent" or not event.itrace or event.kern not in programs:
                continue
            text = section(programs[event.kern].lib, ".text")
            if target == "gfx950":
                if len(wave := traced_in_order(decoder, event.blob, bytes(text.content))) > 1:
                    yield f"{path.stem.removeprefix('profile_')} {target}", bytes(text.content), wave
                continue
            waves: dict[int, list[tuple[int, int]]] = {}
            for packet, info in decoder.map_insts(event.blob, programs[event.kern].lib, target):
                if info is not None:
                    waves.setdefault(info.wave, []).append((info.pc - text.header.sh_addr, packet._time))
            if waves and len(waves[min(waves)]) > 1:
                yield f"{path.stem.removeprefix('profile_')} {target}", bytes(text.content), waves[min(waves)]


def traced_in_order(decoder: Any, trace: bytes, code: bytes) -> list[tuple[int, int]]:
    """(offset, cycle) of each instruction of one wave, up to the first jump; the trace has their kinds in the program's order."""
    columns = isa.decode(code, "gfx950")
    names = opcode_table.names()
    program = iter([(offset, name) for offset, opcode in zip(columns["offset"].tolist(), columns["opcode"].tolist(), strict=True)
                    if not (name := names[opcode]).startswith(("s_waitcnt", "s_nop"))])  # fmt: skip
    wave = []
    for packet in decoder.decode(trace):
        if type(packet).__name__ != "CDNA_INST" or packet.simd or packet.wave:
            continue
        offset, name = next(program)
        if not name.startswith(KINDS[packet.op.name]):
            raise ValueError(f"{name} at {offset:#x} is {packet.op.name} in the trace")
        wave.append((offset, packet._time))
        if packet.op.name == "JUMP":
            break
    return wave


def profiled(code: bytes, target: str) -> list[tuple[int, int]]:
    """Offset and cycle of each instruction of the first wave on the emulator."""
    device = emu.Device(target, profile=True)
    buffers = [device.zeros(1 << 16) for _ in range(BUFFERS)]
    arguments = device.buffer(np.array([buffer.address for buffer in buffers] + [0] * 8, np.uint64))
    memory = device.buffer(np.frombuffer(code + bytes(256), np.uint8))
    later = target.startswith("gfx12")
    wave = 64 if target == "gfx950" else 32
    report = device.launch(Launch(
        memory.address, len(code), (1, 1, 1), (32, 1, 1), wave, user_sgprs=[arguments.address & 0xFFFFFFFF, arguments.address >> 32, *[0] * 12],
        workgroup_id_mask=0 if later else 7, ids_in_ttmp=later, packed_ids=True, lds_bytes=1 << 14,
    ))  # fmt: skip
    assert report.profile is not None
    return [(int(report.profile.rows["pc"][span["row"]]), int(span["start"])) for span in report.profile.spans if span["wave"] == 0]


def compare(name: str, target: str, code: bytes, measured: list[tuple[int, int]]) -> Comparison:
    """Compare a wave; what the trace does not show (``s_delay_alu``) is passed over."""
    columns = isa.decode(code, target)
    opcodes = dict(zip(columns["offset"].tolist(), columns["opcode"].tolist(), strict=True))
    names = opcode_table.names()
    ours, aligned = iter(profiled(code, target)), []
    for offset, cycle in measured:
        found = next((place for place in ours if place[0] == offset), None)
        if found is None:
            break
        aligned.append((offset, cycle, found[1]))
    comparison = Comparison(name)
    for before, after in pairwise(aligned):
        kind = names[opcodes[after[0]]]
        if not kind.startswith(("s_wait", "s_endpgm")) and after[1] - before[1] <= LONGEST:
            comparison.rows.append((after[0], after[1] - before[1], after[2] - before[2]))
    return comparison


def main() -> int:
    """Print a row for each kernel."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="a checkout of tinygrad")
    parser.add_argument("--verbose", action="store_true", help="also each distance")
    arguments = parser.parse_args()
    sys.path.insert(0, str(arguments.folder))
    print(f"{'kernel':36} pairs within 2 mean error  measured   ours  ratio")
    for target in TARGETS:
        for name, code, measured in traced(arguments.folder, target):
            comparison = compare(name, target, code, measured)
            print(comparison)
            for row in comparison.rows if arguments.verbose else []:
                print("    {:#6x} measured {:4} ours {:4}".format(*row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
