"""Random instruction streams through both engines: the same outcome, and nothing outside the device's memory touched.

``python tests/emu/fuzz.py 1000000 [seed]`` runs many and prints figures by target; the suite runs a few of the same. A stream is a prologue
that loads registers from a buffer, random words, valid and not, and an epilogue that stores the registers. Words are drawn from the encodings
of the generation, with operands that often name the registers that hold addresses, so that memory instructions hit. The device's buffers are
pages with nothing mapped around them: whoever reads or writes beyond them ends the process.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from machine_code import assemble_object

from pyaco import isa
from pyaco._core.emu.memory import AddressSpace
from pyaco._core.emu.reference import Engine
from pyaco._core.emu_fast.engine import FastEngine, vector_bits
from pyaco.isa.processors import processor
from pyaco.targets import features

INVALID = 0xFFFF
NOP = 0xBF800000
ROWS = 8
PAGE = 4096
GUARD = 1 << 24
LDS_BYTES = 512
BATCH = 500
SLOT = 8  # dwords that a drawn instruction gets where it is decoded
TARGETS = (
    ("gfx600", 64), ("gfx700", 64), ("gfx900", 64), ("gfx942", 64), ("gfx950", 64),
    ("gfx1010", 32), ("gfx1010", 64), ("gfx1030", 32), ("gfx1030", 64), ("gfx1100", 32), ("gfx1100", 64), ("gfx1150", 32),
    ("gfx1150", 64), ("gfx1170", 32), ("gfx1170", 64), ("gfx1200", 32), ("gfx1200", 64), ("gfx1250", 32), ("gfx1251", 32),
    ("gfx1310", 32), ("gfx1310", 64),
)  # fmt: skip
MODES = (0x1C0, 0x1F0, 0x100, 0x3C0, 0x1F5, 0x2F0)

# (mask of bits that are fixed, their value, dwords): the encodings of GFX7, GFX9, GFX10, GFX11 and later
_COMMON = [
    (0x80000000, 0x00000000, 1), (0xFE000000, 0x7C000000, 1), (0xFE000000, 0x7E000000, 1),  # VOP2, VOPC, VOP1
    (0xC0000000, 0x80000000, 1), (0xFF800000, 0xBE800000, 1), (0xFF800000, 0xBF000000, 1), (0xF0000000, 0xB0000000, 1),
]  # fmt: skip
ENCODINGS = {
    70: [*_COMMON, (0xF8000000, 0xC0000000, 1), (0xFC000000, 0xD0000000, 2), (0xFC000000, 0xD8000000, 2), (0xFC000000, 0xDC000000, 2),
         (0xFC000000, 0xE0000000, 2), (0xFC000000, 0xE8000000, 2)],
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


# GFX12.5: dual instructions of three dwords, and the upper bits of VGPR numbers
ENCODINGS[125] = ENCODINGS[126] = [*ENCODINGS[120], (0xFF000000, 0xCF000000, 3), (0xFFFF0000, 0xBF860000, 1)]
ENCODINGS[130] = [*ENCODINGS[120], (0xFF000000, 0xCF000000, 3)]
ENCODINGS |= {60: ENCODINGS[70], 94: ENCODINGS[90], 95: ENCODINGS[90], 100: ENCODINGS[103], 115: ENCODINGS[110], 117: ENCODINGS[110]}
_VOP3 = (0xD0000000, 0xD4000000, 0xCC000000, 0xC8000000)


# encodings of one dword: what is left of their fields, the whole opcode and small register numbers; and bits to set
_SMALL = {
    0x00000000: (0xFE0E0E0F, 0x100), 0x7C000000: (0xFFFE0E0F, 0x100), 0x7E000000: (0xFE0FFE0F, 0x100), 0x80000000: (0xFF8F0F0F, 0),
    0xBF860000: (0xFFFF0055, 0), 0xBE800000: (0xFF8FFF0F, 0), 0xBF000000: (0xFFFF0F0F, 0), 0xB0000000: (0xFF8F0F0F, 0), 0xC0000000: (0x07C79F0F, 0),
}  # fmt: skip


def narrowed(value: int, dwords: int) -> tuple[tuple[int, int, int], int]:
    """Return masks of an encoding's words that leave small register numbers, and a bit to set in the first."""
    if dwords == 1:
        mask, bit = _SMALL[value]
        return (mask, 0, 0), bit
    if value in _VOP3:
        return (0xFFFF0007, 0xFFFFFFFF, 0), 0
    if value == 0xCF000000:
        return (0xFFFFF107, 0x0707FF07, 0x07070707), 0x100
    return ((0xFFFF003F, 0x0E0F0F0F, 0), 0) if dwords == 2 else ((0xFFFFFF02, 0x0F0F0F07, 0x00003C0F), 0)


class Pages:
    """Host memory of a buffer: one page, with unmapped addresses before and behind it."""

    def __init__(self) -> None:
        self.whole = mmap.mmap(-1, 2 * GUARD + PAGE)
        everything = np.frombuffer(self.whole, np.uint8)
        self.bytes = everything[GUARD : GUARD + PAGE]
        first = everything.ctypes.data
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        for start in (first, first + GUARD + PAGE):
            if protect(ctypes.c_void_p(start), ctypes.c_size_t(GUARD), 0):
                raise OSError(ctypes.get_errno(), "mprotect")


class Sandbox:
    """An engine with a device's memory between unmapped pages."""

    def __init__(self, make: type[Engine], level: int, *arguments: int) -> None:
        self.space = AddressSpace()
        self.pages = [Pages() for _ in range(3)]
        self.code, self.data, self.results = (pages.bytes for pages in self.pages)
        self.addresses = [self.space.map(self.code, low=True), self.space.map(self.data), self.space.map(self.results)]
        _, source, results = self.addresses
        self.user = [source & 0xFFFFFFFF, source >> 32, results & 0xFFFFFFFF, results >> 32]
        self.user += [source & 0xFFFFFFFF, source >> 32, 1024, 0x30027FAC, 16, 0xFFFFFFF0, 0x3F800000, 0x7FA00001]
        self.engine = make(self.space, level, *arguments)

    def run(self, code: np.ndarray, data: np.ndarray, wave: int, mode: int) -> tuple[bytes, dict[str, Any]]:
        """Return everything that can be seen of a run."""
        self.code[:] = self.data[:] = self.results[:] = 0xA5
        self.code[: len(code)] = code
        self.data[: len(data)] = data
        report = self.engine.run(
            self.addresses[0], (2, 1, 1), (wave + 5, 1, 1), wave_size=wave, user_sgprs=self.user, workgroup_id_mask=1, ids_in_ttmp=False,
            packed_ids=True, local_id_components=3, mode=mode, lds_bytes=LDS_BYTES, scratch_bytes=64, budget=3000,
        )  # fmt: skip
        return self.code.tobytes() + self.data.tobytes() + self.results.tobytes(), report | {"problem": repr(report.get("problem"))}


class Streams:
    """Random streams for one target, and the engines that must agree on them."""

    def __init__(self, target: str, wave: int, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.target = target
        self.wave = wave
        self.level = level = processor(target)[1]
        self.encodings = np.array([encoding[:2] for encoding in ENCODINGS[level]], np.uint32)
        self.dwords = np.array([encoding[2] for encoding in ENCODINGS[level]])
        rows = [narrowed(value, dwords) for _, value, dwords in ENCODINGS[level]]
        self.masks = np.array([row[0] for row in rows], np.uint32)
        self.bits = np.array([row[1] for row in rows], np.uint32)
        self.is_vop3 = np.isin(self.encodings[:, 1], _VOP3) & (self.dwords == 2)
        pitch = wave * 4
        load, store = ("global_load_dword", "global_store_dword") if level < 110 else ("global_load_b32", "global_store_b32")
        save, restore = "s_mov_b64 s[82:83], exec", "s_mov_b64 exec, s[82:83]"
        lanes = ["v_and_b32 v31, 0x3f, v0", "v_lshlrev_b32 v31, 2, v31", "s_mov_b64 s[80:81], s[2:3]"]
        first = [save, *lanes, *(f"{load} v{row}, v31, s[0:1] offset:{row * pitch}" for row in range(ROWS)), "s_mov_b32 exec_lo, 0xffff7ff1"]
        banks = ["s_set_vgpr_msb 0"] if features.has_vgpr_banks(level) else []
        last = [*banks, restore, *(f"{store} v31, v{row}, s[80:81] offset:{row * pitch}" for row in range(ROWS))]
        last += ["v_mov_b32 v0, s9", "v_or_b32 v31, 0x800, v31", f"{store} v31, v0, s[80:81]", "s_endpgm", ""]
        self.prologue = assemble_object("\n".join([*first, ""]), target, wave)
        self.epilogue = assemble_object("\n".join(last), target, wave)
        bits = [number for number in (128, 256, 512) if number <= vector_bits()]
        self.sandboxes = [Sandbox(Engine, level), *(Sandbox(FastEngine, level, 1, number) for number in bits)]
        self.prepared = self.batches()
        self.seen: set[int] = set()
        self.stops: Counter[str] = Counter()

    @property
    def ended(self) -> int:
        """How many streams came to their end."""
        return self.stops["end"]

    def instructions(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return about `count` instructions as rows of dwords, most of them valid, and how many dwords each has."""
        random = self.random
        chosen = random.integers(len(self.encodings), size=count)
        words = random.integers(0, 1 << 32, (count, 3), dtype=np.uint32)
        small = random.random(count) < 0.9
        words[small] &= self.masks[chosen[small]]
        words[:, 0] |= np.where(small, self.bits[chosen], 0)
        plain = small & self.is_vop3[chosen] & (random.random(count) < 0.5)
        words[plain, 1] &= 0x1C0E0705
        words[:, 0] = words[:, 0] & ~self.encodings[chosen, 0] | self.encodings[chosen, 1]
        laid = np.full((count, SLOT), NOP, np.uint32)
        laid[:, :3] = np.where(np.arange(3) < self.dwords[chosen, None], words, NOP)
        records = isa.decode(laid.tobytes(), self.target)
        valid = np.zeros(count, bool)
        starts = records[records["offset"] % (4 * SLOT) == 0]
        valid[starts["offset"] // (4 * SLOT)] = starts["opcode"] != INVALID
        valid |= random.random(count) < 0.002
        return laid[valid], self.dwords[chosen[valid]]

    def batches(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray, int]]:
        """Yield the words of random streams, their machine code with prologue and epilogue, their data, and MODE."""
        random = self.random
        while True:
            laid, dwords = self.instructions(12 * BATCH)
            flat = laid[np.arange(SLOT) < dwords[:, None]]
            ends = np.cumsum(np.concatenate([[0], dwords]))
            lengths = random.integers(1, 8, BATCH)
            lengths = lengths[np.cumsum(lengths) <= len(dwords)]
            last = np.cumsum(lengths)
            data = random.integers(0, 1 << 32, (len(lengths), ROWS, self.wave), dtype=np.uint32)
            data[:, 1::3] = random.standard_normal(data[:, 1::3].shape).astype(np.float32).view(np.uint32)
            data[:, 2::3] &= 0xFC
            modes = random.choice(MODES, len(lengths))
            for number, end in enumerate(last):
                words = flat[ends[end - lengths[number]] : ends[end]]
                code = np.frombuffer(self.prologue + words.tobytes() + self.epilogue, np.uint8)
                yield words, code, data[number].reshape(-1).view(np.uint8), int(modes[number])

    def check(self) -> None:
        """Run one stream through every engine and compare."""
        words, code, data, mode = next(self.prepared)
        expected, *others = (sandbox.run(code, data, self.wave, mode) for sandbox in self.sandboxes)
        for found in others:
            assert found == expected, (
                f"{self.target} wave{self.wave}, mode {mode:#x}: {' '.join(f'{word:08x}' for word in words)}: {differences(expected, found)}"
            )
        report = expected[1]
        self.seen |= report["opcodes"].keys()
        self.stops[report["stop"] or "end"] += 1


def differences(expected: tuple[bytes, dict[str, Any]], found: tuple[bytes, dict[str, Any]]) -> str:
    """Say where two outcomes differ."""
    said = [f"{key}: {expected[1][key]} and {found[1].get(key)}" for key in expected[1] if expected[1][key] != found[1].get(key)]
    if expected[0] != found[0]:
        place = next(i for i, (a, b) in enumerate(zip(expected[0], found[0], strict=True)) if a != b)
        said.append(f"memory from byte {place % PAGE:#x} of buffer {place // PAGE}")
    return "; ".join(said)


def run(target: str, wave: int, seed: int, share: int, progress: mmap.mmap) -> bool:
    """Run streams of one target until its engines part ways, and print figures; `progress` has the number of the stream that runs."""
    start = time.process_time()
    streams = Streams(target, wave, seed)
    agreed = True
    try:
        while streams.stops.total() < share:
            progress[:8] = streams.stops.total().to_bytes(8, "little")
            streams.check()
    except AssertionError as error:
        print(f"stream {streams.stops.total()} of seed {seed}: {error}", flush=True)
        agreed = False
    stops = ", ".join(f"{number} {stop}" for stop, number in streams.stops.most_common())
    seconds = time.process_time() - start
    print(f"{target:8} wave{wave}: {streams.stops.total():8} streams in {seconds:6.0f} s, {len(streams.seen)} opcodes; {stops}", flush=True)
    return agreed


def main(count: int, seed: int) -> None:
    """Run `count` streams, spread over the targets, each target in a process of its own."""
    failed = 0
    progress = mmap.mmap(-1, 8)
    for place, (target, wave) in enumerate(TARGETS):
        child = os.fork()
        if child == 0:
            os._exit(not run(target, wave, seed + place, count // len(TARGETS) + (place < count % len(TARGETS)), progress))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status < 0:
            number = int.from_bytes(progress[:8], "little")
            print(f"{target} wave{wave}: stream {number} of seed {seed + place} ended the process by signal {-status}", flush=True)
        failed += status != 0
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
