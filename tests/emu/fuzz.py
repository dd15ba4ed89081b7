"""Random instruction streams through both engines: the same outcome, and nothing outside the device's memory touched.

``python tests/emu/fuzz.py 1000000 [seed]`` runs many; the suite runs a few of the same. A stream is a prologue that loads registers from a
buffer, random words, valid and not, and an epilogue that stores the registers. Words are drawn from the encodings of the generation, with
operands that often name the registers that hold addresses, so that memory instructions hit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from machine_code import assemble_object

from pyaco import targets
from pyaco._core.emu.memory import AddressSpace
from pyaco._core.emu.reference import Engine
from pyaco._core.emu_fast.engine import FastEngine, vector_bits
from pyaco._core.isa.decode import decode_words

INVALID = 0xFFFF
ROWS = 8
CANARY = 4096
LDS_BYTES = 512
TARGETS = (("gfx1100", 32), ("gfx1200", 32), ("gfx1100", 64), ("gfx1030", 32), ("gfx900", 64), ("gfx1200", 64))

# (mask of bits that are fixed, their value, dwords): the encodings of GFX9, GFX10, GFX11 and later
_COMMON = [
    (0x80000000, 0x00000000, 1), (0xFE000000, 0x7C000000, 1), (0xFE000000, 0x7E000000, 1),  # VOP2, VOPC, VOP1
    (0xC0000000, 0x80000000, 1), (0xFF800000, 0xBE800000, 1), (0xFF800000, 0xBF000000, 1), (0xF0000000, 0xB0000000, 1),
]  # fmt: skip
ENCODINGS = {
    90: [*_COMMON, (0xFC000000, 0xD0000000, 2), (0xFC000000, 0xC0000000, 2), (0xFC000000, 0xD8000000, 2),
         (0xFC000000, 0xDC000000, 2), (0xFC000000, 0xE0000000, 2), (0xFC000000, 0xE8000000, 2), (0xFF800000, 0xD3800000, 2)],
    103: [*_COMMON, (0xFC000000, 0xD4000000, 2), (0xFC000000, 0xF4000000, 2), (0xFC000000, 0xD8000000, 2),
          (0xFC000000, 0xDC000000, 2), (0xFC000000, 0xE0000000, 2), (0xFC000000, 0xE8000000, 2), (0xFC000000, 0xCC000000, 2)],
    110: [*_COMMON, (0xFC000000, 0xD4000000, 2), (0xFC000000, 0xF4000000, 2), (0xFC000000, 0xD8000000, 2),
          (0xFC000000, 0xDC000000, 2), (0xFC000000, 0xE0000000, 2), (0xFC000000, 0xE8000000, 2), (0xFF000000, 0xCC000000, 2),
          (0xFC000000, 0xC8000000, 2)],
    120: [*_COMMON, (0xFC000000, 0xD4000000, 2), (0xFC000000, 0xF4000000, 2), (0xFC000000, 0xD8000000, 2),
          (0xFC000000, 0xEC000000, 3), (0xFC000000, 0xC4000000, 3), (0xFF000000, 0xCC000000, 2), (0xFC000000, 0xC8000000, 2)],
}  # fmt: skip


class Sandbox:
    """An engine with a device's memory between canaries."""

    def __init__(self, make: type[Engine], level: int, *arguments: int) -> None:
        self.space = AddressSpace()
        self.host = np.zeros((3, 3 * CANARY), np.uint8)
        self.code, self.data, self.results = (row[CANARY : 2 * CANARY] for row in self.host)
        self.addresses = [
            self.space.map(self.code, low=True), self.space.map(self.data), self.space.map(self.results)
        ]  # fmt: skip
        self.engine = make(self.space, level, *arguments)

    def run(self, code: bytes, data: np.ndarray, wave: int, mode: int) -> tuple[object, ...]:
        """Return everything that can be seen of a run."""
        self.host[:] = 0xA5
        self.code[: len(code)] = np.frombuffer(code, np.uint8)
        self.data[: data.nbytes] = data.reshape(-1).view(np.uint8)
        _, source, results = self.addresses
        user = [source & 0xFFFFFFFF, source >> 32, results & 0xFFFFFFFF, results >> 32]
        user += [source & 0xFFFFFFFF, source >> 32, 1024, 0x30027FAC, 16, 0xFFFFFFF0, 0x3F800000, 0x7FC00001]
        report = self.engine.run(
            self.addresses[0], (2, 1, 1), (wave + 5, 1, 1), wave_size=wave, user_sgprs=user, workgroup_id_mask=1, ids_in_ttmp=False,
            packed_ids=True, local_id_components=3, mode=mode, lds_bytes=LDS_BYTES, scratch_bytes=64, budget=3000,
        )  # fmt: skip
        canaries = np.delete(self.host.reshape(3, 3, CANARY), 1, axis=1)
        assert (canaries == 0xA5).all(), "the host's memory outside the buffers has changed"
        return self.host.tobytes(), report


class Streams:
    """Random streams for one target, and the engines that must agree on them."""

    def __init__(self, target: str, wave: int, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.wave = wave
        level = targets.chip(target).level
        self.level = level
        self.encodings = ENCODINGS[level]
        pitch = wave * 4
        load, store = ("global_load_dword", "global_store_dword") if level < 110 else ("global_load_b32", "global_store_b32")
        save, restore = "s_mov_b64 s[82:83], exec", "s_mov_b64 exec, s[82:83]"
        lanes = ["v_and_b32 v31, 0x3f, v0", "v_lshlrev_b32 v31, 2, v31", "s_mov_b64 s[80:81], s[2:3]"]
        first = [save, *lanes, *(f"{load} v{row}, v31, s[0:1] offset:{row * pitch}" for row in range(ROWS)), "s_mov_b32 exec_lo, 0xffff7ff1"]
        last = [restore, *(f"{store} v31, v{row}, s[80:81] offset:{row * pitch}" for row in range(ROWS))]
        last += ["v_mov_b32 v0, s9", f"{store} v31, v0, s[80:81] offset:{ROWS * pitch % 4096}", "s_endpgm", ""]
        self.prologue = assemble_object("\n".join([*first, ""]), target, wave)
        self.epilogue = assemble_object("\n".join(last), target, wave)
        bits = [number for number in (256, 512) if number <= vector_bits()] or [0]
        self.sandboxes = [Sandbox(Engine, level), *(Sandbox(FastEngine, level, 1, number) for number in bits)]
        self.seen: set[int] = set()
        self.ended = 0

    def words(self) -> Iterator[int]:
        """Yield the words of a random stream; most are instructions."""
        for _ in range(int(self.random.integers(1, 8))):
            for _ in range(8):
                words = self.instruction()
                if decode_words(np.array(words, np.uint32), self.level)["opcode"] != INVALID or self.random.random() < 0.01:
                    yield from words
                    break

    def instruction(self) -> list[int]:
        """Return random words of an encoding, mostly with small register numbers: sources that were filled, addresses that hit."""
        words = [int(word) for word in self.random.integers(0, 1 << 32, 3, dtype=np.uint32)]
        mask, value, dwords = self.encodings[int(self.random.integers(len(self.encodings)))]
        if self.random.random() < 0.9:
            if dwords == 1:
                words[0] &= 0xFFF10F0F
                words[0] |= 0x100 if value in (0, 0x7C000000, 0x7E000000) else 0
            elif value in (0xD0000000, 0xD4000000, 0xCC000000, 0xC8000000):
                words[0] &= 0xFFFF0007
                words[1] &= 0x1C0E0705 if self.random.random() < 0.5 else 0xFFFFFFFF
            elif dwords == 2:
                words[0] &= 0xFFFF003F
                words[1] &= 0x0E0F0F0F
            else:
                words[0] &= 0xFFFFFF02
                words[1] &= 0x0F0F0F07
                words[2] &= 0x00003C0F
        words[0] = words[0] & ~mask & 0xFFFFFFFF | value
        return words[:dwords]

    def check(self) -> None:
        """Run one stream through every engine and compare."""
        words = list(self.words())
        code = self.prologue + np.array(words, np.uint32).tobytes() + self.epilogue
        data = self.random.integers(0, 1 << 32, (ROWS, self.wave), dtype=np.uint32)
        data[1::3] = self.random.standard_normal(data[1::3].shape).astype(np.float32).view(np.uint32)
        data[2::3] &= 0xFC
        mode = int(self.random.choice([0x1C0, 0x1F0, 0x100, 0x3C0, 0x1F5]))
        expected, *others = (sandbox.run(code, data, self.wave, mode) for sandbox in self.sandboxes)
        for found in others:
            assert found == expected, (
                f"wave{self.wave}, mode {mode:#x}: {' '.join(f'{word:08x}' for word in words)}: {differences(expected, found)}"
            )
        report = expected[1]
        assert isinstance(report, dict)
        self.seen |= set(report["opcodes"])
        self.ended += report["stop"] is None


def differences(expected: tuple[object, ...], found: tuple[object, ...]) -> str:
    """Say where two outcomes differ."""
    said = [f"{key}: {expected[1][key]} and {found[1].get(key)}" for key in expected[1] if expected[1][key] != found[1].get(key)]  # type: ignore[index,attr-defined]
    if expected[0] != found[0]:
        place = next(i for i, (a, b) in enumerate(zip(expected[0], found[0], strict=True)) if a != b)  # type: ignore[call-overload]
        said.append(f"memory from byte {place % (3 * CANARY) - CANARY:#x} of buffer {place // (3 * CANARY)}")
    return "; ".join(said)


def main(count: int, seed: int) -> None:
    """Run `count` streams, spread over the targets."""
    every = [Streams(target, wave, seed + place) for place, (target, wave) in enumerate(TARGETS)]
    for number in range(count):
        every[number % len(every)].check()
        if number % 10000 == 9999:
            print(number + 1, [(len(streams.seen), streams.ended) for streams in every], flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
