"""Hostile command streams: ``python tests/pm4/fuzz_streams.py COUNT [FIRST]``.

Stream number n is made from n alone: a real stream, changed in a few places. Each goes through `parse`, with the buffers that it
calls, then through text, now and then through shaders, JSON and HTML, and through the command processor with budgets. An error
must be one of pyaco's, and one about a packet must name its dword. Prints one JSON object with figures; exits with 1 after an error
that is none of pyaco's, naming the stream's number.
"""

from __future__ import annotations

import collections
import json
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shaders"))

from cases import CASES

import pyaco
from pyaco import emu, pm4
from pyaco.errors import InputError, PyacoError
from pyaco.pm4 import CommandProcessor, Stream, packet

TARGETS = ("gfx600", "gfx700", "gfx900", "gfx1030", "gfx1100", "gfx1200")
SHADERS = ("saxpy", "reduction")
INSTRUCTIONS, PACKETS = 300, 200
SCRATCH_DWORDS, BUFFER_DWORDS = 256, 64
INTERESTING = (0, 1, 2, 3, 4, 0xFF, 0x100, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF1000, 0x3FFF0000)
KINDS = (0, 1, 1, 2, 2, 3, 3, 3, 4, 5, 6, 7, 8, 8, 8, 8, 8)
OPCODES = tuple(pm4.OPCODES.values())


def low(address: int) -> tuple[int, int]:
    """An address as packets have it."""
    return address & 0xFFFFFFFF, address >> 32 & 0xFFFFFFFF


@dataclass
class Ground:
    """A device, streams that do well on it, and its memory as it was."""

    target: str
    device: emu.Device = field(init=False)
    streams: list[list[int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.device = emu.Device(self.target)
        self.scratch = self.device.zeros(4 * SCRATCH_DWORDS)
        self.nested = [self.device.zeros(4 * BUFFER_DWORDS) for _ in range(2)]
        self.kept: list[Any] = []
        for name in SHADERS:
            case, shader = CASES[name], pyaco.compile(CASES[name].spirv, target=self.target, wave=64)
            inputs = case.inputs()
            buffers: dict[Any, emu.Buffer] = {key: self.device.buffer(np.array(buffer.data)) for key, buffer in inputs.buffers.items()}
            self.kept += [*buffers.values(), stream := pm4.DispatchStream(self.device, shader, (1, 1, 1), buffers, inputs.push)]
            self.streams.append(stream.words)
        self.streams += [self.memory_stream(), self.calling_stream(), self.waiting_stream(), self.drawing_stream()]
        self.addresses = [self.scratch.address, *(buffer.address for buffer in self.nested)]
        self.buffers = [self.scratch, *self.nested, *(each for each in self.kept if isinstance(each, emu.Buffer))]
        self.contents = [buffer.numpy().copy() for buffer in self.buffers]

    def memory_stream(self) -> list[int]:
        """Every packet that moves data."""
        at = [low(self.scratch.address + 32 * k) for k in range(24)]
        stream = Stream(self.device.gfx_level)
        stream.add("WRITE_DATA", 5 << 8, *at[0], 1, 2, 3).add("COPY_DATA", 1 | 5 << 8 | 1 << 16, *at[0], *at[1])
        stream.add("DMA_DATA", 0, *at[0], *at[2], 12).add("DMA_DATA", 2 << 29, 7, 0, *at[3], 16)
        stream.add("ATOMIC_MEM", 0x0F, *at[0], 5, 0, 0, 0, 0).add("RELEASE_MEM", 0x14, 2 << 29, *at[4], 1, 2, 3)
        stream.add("EVENT_WRITE", 30 | 2 << 8, *at[5]).add("EVENT_WRITE_EOP", 0x14, at[9][0], at[9][1] & 0xFFFF | 1 << 29, 1, 2)
        stream.add("LOAD_SH_REG_INDEX", *at[0], 0x240, 3).add("COND_WRITE", 3 | 1 << 4 | 1 << 8, *at[0], 1, 255, *at[10], 9)
        stream.add("CP_DMA", at[0][0], at[0][1] & 0xFFFF, at[11][0], at[11][1] & 0xFFFF, 8).add("ACQUIRE_MEM", 0, 1, 0, 0, 0, 10, 0)
        return stream.words

    def calling_stream(self) -> list[int]:
        """Calls and chains."""
        inner = packet("WRITE_DATA", 5 << 8, *low(self.scratch.address), 9)
        self.nested[1].write(np.array(inner, np.uint32))
        outer = packet("NOP", 0) + packet("INDIRECT_BUFFER", *low(self.nested[1].address), len(inner) | 1 << 20)
        self.nested[0].write(np.array(outer, np.uint32))
        return packet("INDIRECT_BUFFER", *low(self.nested[0].address), len(outer)) + packet("NOP", 1, 2, 3) + [0x80000000]

    def waiting_stream(self) -> list[int]:
        """Conditions, predicates and waits."""
        at = [low(self.scratch.address + 32 * k) for k in range(4)]
        write = packet("WRITE_DATA", 5 << 8, *at[0], 1)
        stream = Stream(self.device.gfx_level).add("COND_EXEC", *at[1], 0, len(write))
        stream.words += write
        stream.add("SET_PREDICATION", 4 << 16 | 1 << 8, *at[0]).add("PFP_SYNC_ME", 0)
        stream.words += packet("WRITE_DATA", 5 << 8, *at[2], 1, predicated=True)
        stream.add("WAIT_REG_MEM", 3 | 1 << 4, *at[0], 1, 0xFFFFFFFF, 10).add("PRED_EXEC", 1 << 24)
        return stream.words

    def drawing_stream(self) -> list[int]:
        """State of draws, in every packet that writes registers."""
        stream = Stream(self.device.gfx_level).set("SPI_SHADER_PGM_LO_PS", self.kept[-1]._arguments.entry >> 8 & 0xFFFFFFFF)
        stream.add("SET_CONTEXT_REG", 0x80, 1, 2, 3).add("SET_SH_REG_PAIRS_PACKED", 2, 0x20D << 16 | 0x20C, 7, 9).add("SET_UCONFIG_REG", 0x242, 4)
        stream.words += [0x2C0E | 1 << 16, 1, 2]
        stream.add("DRAW_INDEX_AUTO", 3, 2).add("DRAW_INDIRECT_MULTI", 0, 1, 2, 3, 4, 5, 0, 6, 7)
        return stream.words

    def restore(self) -> None:
        for buffer, contents in zip(self.buffers, self.contents, strict=True):
            buffer.numpy()[...] = contents


def change(words: list[int], rng: random.Random, ground: Ground) -> list[int]:
    """One change of a stream."""
    kind, place = rng.choice(KINDS), rng.randrange(len(words)) if words else 0
    if not words or kind == 0:
        return words + [rng.getrandbits(32) for _ in range(rng.randrange(1, 8))]
    if kind in (1, 2):
        words[place] ^= 1 << rng.randrange(32)
    elif kind == 3:
        words[place] = rng.choice(INTERESTING)
    elif kind == 4:
        words[place] = words[place] & 0xC000FFFF | rng.choice((0, 1, 2, 3, 8, 0x3FFF, rng.randrange(0x4000))) << 16
    elif kind == 5:
        words[place] = words[place] & 0xFFFF00FF | rng.choice(OPCODES) << 8
    elif kind == 6:
        return words[:place]
    elif kind == 7:
        other = rng.choice(ground.streams)
        start = rng.randrange(len(other))
        return words[:place] + other[start : start + rng.randrange(1, 16)] + words[place:]
    else:
        words[place : place + 2] = low(rng.choice(ground.addresses) + rng.choice((0, 4, 8, 4 * BUFFER_DWORDS - 4)))
    return words


def made(number: int, grounds: list[Ground]) -> tuple[Ground, list[int], random.Random]:
    """Stream number n; some of them lie in the memory of buffers too, which then call themselves."""
    rng = random.Random(number)
    ground = grounds[number % len(grounds)]
    words = list(rng.choice(ground.streams))
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        words = change(words, rng, ground)
    if rng.random() < 0.2:
        held = rng.choice(ground.nested).numpy().view(np.uint32)
        held[: len(words)] = words[: len(held)]
    return ground, words, rng


def run(first: int, count: int, grounds: list[Ground]) -> dict[str, Any]:
    """Run streams and return figures."""
    ends: collections.Counter[str] = collections.Counter()
    longest, decoded, start = (0.0, 0), 0, time.process_time()
    for number in range(first, first + count):
        ground, words, rng = made(number, grounds)
        level, begun = ground.device.gfx_level, time.process_time()
        try:
            memory = CommandProcessor(ground.device).fetch
            try:
                packets = pm4.parse(words, level, memory)
                if rng.random() < 0.05:
                    pm4.annotate(packets, ground.target, memory)
                    pm4.format_html(packets, "fuzz")
                    pm4.facts(packets)
                pm4.format_packets(packets)
                decoded += 1
            except InputError as error:
                if "dword" not in str(error):
                    raise RuntimeError(f"no place: {error}") from error
            processor = CommandProcessor(ground.device, INSTRUCTIONS, rng.choice(("graphics", "compute")), PACKETS)
            processor.submit(words)
            ends["executed"] += 1
        except PyacoError as error:
            ends[type(error).__name__] += 1
            if isinstance(error, InputError) and "dword" not in str(error):
                raise RuntimeError(f"stream {number}: no place: {error}") from error
        except Exception as error:
            raise RuntimeError(f"stream {number}: {type(error).__name__}: {error}") from error
        longest = max(longest, (time.process_time() - begun, number))
        ground.restore()
    return {"streams": count, "first": first, "decoded": decoded, "ends": dict(ends), "cpu_seconds": round(time.process_time() - start, 1),
            "longest": {"seconds": round(longest[0], 4), "stream": longest[1]}}


def main() -> None:
    """Run as many streams as the command line says."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    print(json.dumps(run(first, count, [Ground(target) for target in TARGETS])))


if __name__ == "__main__":
    main()
