"""Hostile descriptors: random words of images and samplers, and words of real ones with bits changed, on both engines.

``python tests/emu/image_fuzz.py 1000000 [seed]`` runs many and prints figures by target; the suite runs a few of the same. Each case gives a
result or an error that names the place, the same on both engines, and in memory that is not the image's nothing changes.
"""

from __future__ import annotations

import mmap
import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from image_kernels import image_instruction, kernel, wave_lanes

from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.emu import Device, EmulationError
from pyaco.emu.device import ENGINES
from pyaco.emu.launch import Launch, initial_mode
from pyaco.errors import PyacoError, UnsupportedError
from pyaco.targets import features

TARGETS = ("gfx700", "gfx802", "gfx803", "gfx810", "gfx900", "gfx906", "gfx1010", "gfx1030", "gfx1100", "gfx1150", "gfx1200")
IMAGES: tuple[dict[str, Any], ...] = (
    {"format": "R8G8B8A8_UNORM", "width": 37, "height": 20, "layers": 5, "mips": 3}, {"format": "R32_UINT", "width": 64, "height": 64},
    {"format": "R32G32B32A32_FLOAT", "width": 16, "height": 16, "cube": True, "mips": 2},
    {"format": "R16_SNORM", "width": 19, "height": 9, "depth": 7},
    {"format": "R32_FLOAT", "width": 21, "height": 17, "samples": 4}, {"format": "BPTC_RGBA_UNORM", "width": 45, "height": 33, "mips": 4},
    {"format": "R8G8B8A8_SRGB", "width": 70, "height": 30, "linear": True}, {"format": "R16G16_FLOAT", "width": 300, "height": 200, "sparse": True},
)  # fmt: skip
INSTRUCTIONS = (
    ("image_load", "2d_array", 3, False), ("image_load_mip", "3d", 4, False), ("image_load", "2d_msaa", 3, False),
    ("image_store", "2d_array", 3, False), ("image_store_mip", "2d", 3, False), ("image_sample", "2d", 2, True),
    ("image_sample_l", "3d", 4, True), ("image_sample_d", "2d", 6, True), ("image_sample_c_lz", "2d_array", 4, True),
    ("image_sample_b", "cube", 4, True), ("image_gather4_lz", "2d", 2, True), ("image_get_resinfo", "2d", 1, False), ("image_atomic", "2d", 2, False),
    ("image_get_lod", "2d", 2, True),
)  # fmt: skip
#: Lanes that are active while the instruction is executed: of the first 32, and of the others where a wave has 64.
ACTIVE = ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0xFFFF, 0), (0x0FF0A5A3, 0x80000001), (0, 0x10))


class Cases:
    """Random cases of one target."""

    def __init__(self, target: str, seed: int) -> None:
        self.target, self.random = target, np.random.default_rng(seed)
        self.stops: Counter[str] = Counter()
        self.sides = [Side(target, engine) for engine in ENGINES]
        self.images = [np.array(image.view().words, np.uint32) for image in self.sides[0].images]
        assert all(np.array_equal(image.view().words, words) for image, words in zip(self.sides[1].images, self.images, strict=True))
        level = self.sides[0].device.gfx_level
        self.samplers = [np.array(sampler_descriptor(each, level), np.uint32) for each in (
            Sampler(), Sampler(unnormalized=True), Sampler((2, 6, 1), 1, 1, 2, border_color_type=3, border_color_pointer=2),
            Sampler((3, 4, 5), 3, 3, 2, 4), Sampler((6, 7, 2), 1, 1, 1, compare=3, filter_mode=2))]  # fmt: skip

    def words(self) -> tuple[list[int], list[int]]:
        """An image and a sampler: random words, or real ones of which bits or dwords have changed."""
        random = self.random
        found = []
        for real in (self.images, self.samplers):
            words = real[random.integers(len(real))].copy()
            if (kind := random.random()) < 0.25:
                words = random.integers(0, 1 << 32, len(words), dtype=np.uint32)
            elif kind < 0.75:
                for _ in range(random.integers(1, 4)):
                    # seldom the base, so that memory is met
                    words[random.integers(random.random() < 0.95, len(words))] ^= np.uint32(1 << int(random.integers(0, 32)))
            elif kind < 0.9:
                words[random.integers(1, len(words))] = random.integers(0, 1 << 32, dtype=np.uint32)
            found.append(words.tolist())
        return found[0], found[1]

    def address(self) -> np.ndarray:
        """What lanes pass as coordinates: small integers, floats about the image, and anything."""
        random, lanes = self.random, wave_lanes(self.target)
        given = random.integers(0, 1 << 32, (lanes, 16), dtype=np.uint32)
        if (kind := random.random()) < 0.45:
            given[:, :8] = random.integers(0, 24, (lanes, 8))
        elif kind < 0.9:
            given[:, :8] = (random.random((lanes, 8)) * 3 - 1).astype(np.float32).view(np.uint32)
        return given

    def check(self) -> None:
        """Run one random case."""
        image, sampler = self.words()
        self.compare(int(self.random.integers(len(INSTRUCTIONS))), image, sampler)

    def check_all(self) -> None:
        """Run every instruction with every image and sampler as they are, whether they fit together or not."""
        for number in range(len(INSTRUCTIONS)):
            for image in self.images:
                for sampler in self.samplers:
                    self.compare(number, image.tolist(), sampler.tolist())

    def compare(self, number: int, image: list[int], sampler: list[int]) -> None:
        """Run an instruction on both engines, with random coordinates, and compare."""
        given, active = self.address(), int(self.random.integers(len(ACTIVE)))
        first, second = (side.run(number, active, image, sampler, given) for side in self.sides)
        said = f"{self.target} {INSTRUCTIONS[number][:2]}, lanes {ACTIVE[active]}: {' '.join(f'{word:08x}' for word in [*image, *sampler])}"
        assert first == second, f"{said}: {first[0] or 'a result'}, {second[0] or 'another'}"
        error = first[0]
        assert not error or "workgroup (0, 0, 0), wave 0" in error, f"{said}: {error}"
        self.stops["result" if not error else "error"] += 1

    def check_memory(self) -> None:
        """What both engines have left in the images is the same."""
        for mine, other in zip(*(side.images for side in self.sides), strict=True):
            assert np.array_equal(mine.memory, other.memory), f"{self.target}: the images differ"


class Side:
    """One engine: a device with images, and launches of each instruction."""

    def __init__(self, target: str, engine: str) -> None:
        self.device = device = Device(target, engine, threads=1)
        device.set_border_colors(np.arange(40, dtype=np.float32).reshape(10, 4))
        self.images = []
        for options in IMAGES:
            image = device.image(**options)
            image.memory[:] = np.random.default_rng(1).integers(0, 256, image.memory.size, dtype=np.uint8)
            if image.sparse:
                image.map_pages(range(0, image.memory.size >> 16, 2))
            self.images.append(image)
        lanes = wave_lanes(target)
        self.source, self.target = device.zeros(64 * lanes), device.zeros(32 * lanes)
        places = [self.source.address, self.target.address]
        self.places = [word for place in places for word in (place & 0xFFFFFFFF, place >> 32)]
        self.launches = [[self.prepared(with_lanes(text_of(target, *each), active, lanes)) for active in ACTIVE] for each in INSTRUCTIONS]

    def prepared(self, text: str) -> Any:
        device, lanes, level = self.device, wave_lanes(self.device.target), self.device.gfx_level
        code = kernel(device.target, text)
        room = device.buffer(code + bytes(512))
        return device.prepare(Launch(
            entry=room.address, code_bytes=len(code), groups=(1, 1, 1), size=(lanes, 1, 1), wave_size=lanes, user_sgprs=[0] * 16,
            workgroup_id_mask=0, ids_in_ttmp=features.has_workgroup_ids_in_ttmp(level), packed_ids=features.has_packed_ids(level),
            local_id_components=1, mode=initial_mode(level, 0xC0)))

    def run(self, number: int, active: int, image: list[int], sampler: list[int], given: np.ndarray) -> tuple[str, bytes]:
        """Return the error, or nothing, and what all lanes have in the end."""
        self.source.numpy()[:] = given.reshape(-1).view(np.uint8)
        self.target.numpy()[:] = 0
        try:
            self.launches[number][active].run([*image, *sampler, *self.places], 1000)
        except (EmulationError, UnsupportedError) as error:
            return str(error), b""
        return "", self.target.numpy().tobytes()


def text_of(target: str, name: str, dimension: str, dwords: int, samples: bool) -> str:
    """An instruction as the target spells it."""
    if name == "image_atomic":
        name = "image_atomic_add_uint" if target == "gfx1200" else "image_atomic_add"
        returns = "th:TH_ATOMIC_RETURN" if target == "gfx1200" else "glc"
        return image_instruction(name, target, dimension, dwords, 1, data=1, flags=(returns,))
    if name.startswith("image_gather"):
        return image_instruction(name, target, dimension, dwords, 1, sampler=samples)
    loads = not name.startswith("image_store") and name != "image_get_resinfo"
    return image_instruction(name, target, dimension, dwords, data=5 if loads else 4, sampler=samples, flags=("tfe",) if loads else ())


def with_lanes(text: str, active: tuple[int, int], lanes: int) -> str:
    """The instruction with only some lanes active; all of them write what they have behind it."""
    words = [("exec_lo", active[0]), ("exec_hi", active[1])][: lanes // 32]
    return "\n".join([*(f"s_mov_b32 {name}, {word:#x}" for name, word in words), text, *(f"s_mov_b32 {name}, -1" for name, _ in words)])


def run(target: str, seed: int, share: int, progress: mmap.mmap) -> bool:
    """Run cases of one target until something is wrong, and print figures; `progress` has the number of the case that runs."""
    start = time.process_time()
    cases = Cases(target, seed)
    agreed = True
    try:
        while cases.stops.total() < share:
            progress[:8] = cases.stops.total().to_bytes(8, "little")
            cases.check()
        cases.check_memory()
    except (AssertionError, PyacoError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        print(f"case {cases.stops.total()} of seed {seed}: {type(error).__name__}: {error}", flush=True)
        agreed = False
    stops = ", ".join(f"{number} {stop}s" for stop, number in cases.stops.most_common())
    print(f"{target:8}: {cases.stops.total():8} cases in {time.process_time() - start:6.0f} s; {stops}", flush=True)
    return agreed


def main(count: int, seed: int) -> None:
    """Run `count` cases, spread over the targets, each target in a process of its own."""
    failed = 0
    progress = mmap.mmap(-1, 8)
    for place, target in enumerate(TARGETS):
        child = os.fork()
        if child == 0:
            os._exit(not run(target, seed + place, -(-count // len(TARGETS)), progress))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status < 0:
            number = int.from_bytes(progress[:8], "little")
            print(f"{target}: case {number} of seed {seed + place} ended the process by signal {-status}", flush=True)
        failed += status != 0
    sys.exit(failed > 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
