"""The shaders that a stream runs: their code, and the descriptors that it uses.

A dispatch or a draw runs what registers point to at that time; `annotate` follows the writes through called and chained buffers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from pyaco import isa
from pyaco.arguments import checked
from pyaco.descriptors.decode import decode
from pyaco.isa.lines import Line
from pyaco.isa.processors import processor
from pyaco.pm4.memory import Memory, canonical, mapped_dwords
from pyaco.pm4.scalars import ENDS, Instruction, branch_target, follow, instructions
from pyaco.pm4.shader_use import Descriptor, ShaderUse
from pyaco.pm4.stream import Packet
from pyaco.registers import registers
from pyaco.targets import features

__all__ = ["annotate"]

_MOST_CODE = 1 << 14
_STAGES = ("PS", "VS", "GS", "ES", "HS", "LS")
_WAVE32 = {"PS": ("SPI_PS_IN_CONTROL", "PS_W32_EN"), "VS": ("VGT_SHADER_STAGES_EN", "VS_W32_EN"),
           "GS": ("VGT_SHADER_STAGES_EN", "GS_W32_EN"), "ES": ("VGT_SHADER_STAGES_EN", "GS_W32_EN"),
           "HS": ("VGT_SHADER_STAGES_EN", "HS_W32_EN"), "LS": ("VGT_SHADER_STAGES_EN", "HS_W32_EN")}


@checked
def annotate(packets: Sequence[Packet], target: str, memory: Memory) -> list[ShaderUse]:
    """Find the shaders that packets run; each packet's ``shaders`` get what it runs.

    Parameters
    ----------
    packets : sequence of Packet
        As ``pyaco.pm4.parse`` returns them.
    target : str
        A gfx name, chip or product.
    memory : callable
        Gives dwords at an address.

    Returns
    -------
    list of ShaderUse
        In the order of the stream.
    """
    return _Annotator(target, memory).stream(packets)


class _Annotator:
    def __init__(self, target: str, memory: Memory) -> None:
        self.target, self.level = processor(target)
        self.known = registers(self.level)
        self.memory = memory
        self.written: dict[int, int] = {}
        self.disassembled: dict[tuple[int, int], tuple[list[Instruction], tuple[Line, ...]]] = {}

    def stream(self, packets: Sequence[Packet]) -> list[ShaderUse]:
        found: list[ShaderUse] = []
        for packet in packets:
            self.written.update(packet.register_writes())
            if packet.nested is not None:
                found += self.stream(packet.nested)
            elif packet.name.startswith("DISPATCH_DIRECT") or packet.name.startswith("DISPATCH_INDIRECT"):
                packet.shaders = (self._compute(packet),)
            elif packet.name.startswith(("DRAW_", "DISPATCH_MESH", "DISPATCH_TASKMESH")):
                packet.shaders = tuple(self._graphics())
            found += packet.shaders
        return found

    def _value(self, register: str) -> int:
        return self.written.get(self.known[register].offset, 0) if register in self.known else 0

    def _field(self, register: str, field: str) -> int:
        return self.known[register].field(field).get(self._value(register))

    def _address(self, stage: str) -> int:
        low, high = ("COMPUTE_PGM_LO", "COMPUTE_PGM_HI") if stage == "CS" else (f"SPI_SHADER_PGM_{half}_{stage}" for half in ("LO", "HI"))
        return canonical(self._value(low) << 8 | (self._value(high) & 0xFF) << 40)

    def _compute(self, packet: Packet) -> ShaderUse:
        starts = self.known["COMPUTE_DISPATCH_INITIATOR"]
        wave = 32 if features.has_wave32(self.level) and packet.body and starts.field("CS_W32_EN").get(packet.body[-1]) else 64
        first = self.known["COMPUTE_USER_DATA_0"].offset
        count = self._field("COMPUTE_PGM_RSRC2", "USER_SGPR")
        # where the stream does not write a user SGPR, its value is not known here
        user = tuple(self.written.get(first + 4 * k, 0) for k in range(count))
        return self._use("CS", self._address("CS"), wave, user)

    def _graphics(self) -> list[ShaderUse]:
        found = []
        for stage in _STAGES:
            if self._value(f"SPI_SHADER_PGM_LO_{stage}"):
                register, field = _WAVE32[stage]
                wave32 = features.has_wave32(self.level) and self._field(register, field)
                found.append(self._use(stage, self._address(stage), 32 if wave32 else 64, ()))
        return found

    def _use(self, stage: str, address: int, wave: int, user: tuple[int, ...]) -> ShaderUse:
        if (address, wave) not in self.disassembled:
            self.disassembled[address, wave] = self._code(address, wave)
        code, lines = self.disassembled[address, wave]
        uses = follow(code, address, user, self.memory)
        descriptors = tuple(Descriptor(use.kind, use.offset, use.address, decode(use.kind, use.words, self.level))
                            for use in uses if use.kind != "load")
        return ShaderUse(stage, address, wave, user, lines, descriptors, tuple(use for use in uses if use.kind == "load"))

    def _code(self, address: int, wave: int) -> tuple[list[Instruction], tuple[Line, ...]]:
        """The instructions, and the lines, up to the end that no branch passes."""
        words = mapped_dwords(self.memory, address, _MOST_CODE) if address else ()
        if not words:
            return [], ()
        code = numpy.array(words, numpy.uint32).tobytes()
        found = instructions(code, self.target)
        size, furthest = len(code), 0
        for number, instruction in enumerate(found):
            furthest = max(furthest, branch_target(instruction) or 0)
            ends = instruction.name in ENDS and instruction.offset >= furthest
            if not instruction.name or ends:
                size = instruction.offset + 4 * ends
                found = found[: number + ends]
                break
        return found, tuple(isa.disassemble_lines(code[:size], self.target, wave_size=wave)) if size else ()
