"""SDMA packets: read, built and executed; tiled copies agree with addrlib."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import numpy as np
import pytest

from pyaco import emu
from pyaco.addrlib import gpu_config
from pyaco.addrlib.tiling import TiledSurface
from pyaco.errors import InputError, UnsupportedError
from pyaco.pm4 import Ring, SdmaEngine, format_packets, named_values, packet, parse_sdma, run_rings, sdma_packet
from pyaco.pm4.sdma import _FORMS
from pyaco.registers.database import LEVELS

TARGETS = ("gfx700", "gfx803", "gfx900", "gfx1010", "gfx1030", "gfx1100", "gfx1200")
NAMES = {level: [name for name, forms in _FORMS.items() if any(form.first <= level <= form.last for form in forms)] for level in LEVELS}


class Bench:
    """A device, some memory, and an engine."""

    def __init__(self, target: str = "gfx1030") -> None:
        self.device = emu.Device(target)
        self.level = self.device.gfx_level
        self.buffer = self.device.zeros(1024)
        self.bytes = self.buffer.numpy()
        self.words = self.bytes.view(np.uint32)
        self.at = self.buffer.address
        self.engine = SdmaEngine(self.device)

    def count(self, size: int) -> int:
        """A size as packets have it: one less from GFX9 on."""
        return size - (self.level >= 90)

    def run(self, name: str, **fields: Any) -> None:
        self.engine.submit(sdma_packet(name, self.level, **fields))


@pytest.fixture(params=TARGETS)
def bench(request: pytest.FixtureRequest) -> Bench:
    return Bench(request.param)


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_built_reads_back(level: int) -> None:
    """Random packets of every kind, in one stream."""
    rng = random.Random(level)
    words: list[int] = []
    expected = []
    for name in NAMES[level] * 6:
        fields: dict[str, Any] = {}
        (empty,) = parse_sdma(sdma_packet(name, level), level) if name not in ("NOP", "WRITE_LINEAR") or level < 70 else (None,)
        for value in empty.values if empty else ():
            if value.name != "DCC":
                fields[value.name] = rng.getrandbits(value.width)
        if name == "WRITE_LINEAR":
            data = [rng.getrandbits(32) for _ in range(rng.randrange(1, 5))]
            fields |= {"COUNT": len(data) - (level >= 90), "data": data}
        words += sdma_packet(name, level, **fields)
        expected.append((name, fields))
    packets = parse_sdma(words, level)
    for found, (name, fields) in zip(packets, expected, strict=True):
        said: dict[str, Any] = {value.name: value.value for value in found.values if value.name != "data"}
        said |= {"data": [value.value for value in found.values if value.name == "data"]} if "data" in fields else {}
        assert found.name == name and {key: said[key] for key in fields} == fields
    assert sum(1 + len(found.body) for found in packets) == len(words)
    assert all(name in format_packets(packets) for name in NAMES[level])


def test_packets_of_radv() -> None:
    """The dwords that RADV writes for a copy and a fill (radv_sdma.c)."""
    assert sdma_packet("COPY_LINEAR", 103, COUNT=15, SRC_ADDR=0x123456780, DST_ADDR=0x200000000) == [1, 15, 0, 0x23456780, 1, 0, 2]
    assert sdma_packet("CONSTANT_FILL", 110, ADDR=0x123456780, DATA=7, COUNT=63, FILL_SIZE=2) == [11 | 2 << 30, 0x23456780, 1, 7, 63]
    assert sdma_packet("FENCE", 103, ADDR=0x1000, DATA=5, MTYPE=3) == [5 | 3 << 16, 0x1000, 0, 5]
    assert sdma_packet("COPY_LINEAR", 60, COUNT=9, SRC_ADDRESS_LO=1, DST_ADDRESS_LO=2) == [0x34000009, 2, 1, 0, 0]
    with_metadata = sdma_packet("COPY_TILED_SUB_WINDOW", 103, DCC=1, META_ADDR=0x1000)
    assert len(with_metadata) == 17 and parse_sdma(with_metadata, 103)[0]["META_ADDR"] == 0x1000


def test_copies_fills_and_writes(bench: Bench) -> None:
    bench.bytes[:8] = np.arange(8)
    bench.run("COPY_LINEAR", SRC_ADDR=bench.at, DST_ADDR=bench.at + 100, COUNT=bench.count(7))
    assert bench.bytes[100:108].tolist() == [0, 1, 2, 3, 4, 5, 6, 0]
    for size, expected in ((0, [9, 9, 9, 9, 9, 9]), (1, [9, 8, 9, 8, 9, 8]), (2, [9, 8, 7, 6, 9, 8])):
        bench.run("CONSTANT_FILL", ADDR=bench.at + 200, DATA=0x06070809, COUNT=bench.count(6), FILL_SIZE=size)
        assert bench.bytes[200:207].tolist() == [*expected, 0]
    bench.run("WRITE_LINEAR", ADDR=bench.at + 400, COUNT=bench.count(3), data=[1, 2, 3])
    assert bench.words[100:104].tolist() == [1, 2, 3, 0]
    bench.run("FENCE", ADDR=bench.at, DATA=77)
    bench.run("TRAP", INT_CONTEXT=5)
    bench.run("SRBM_WRITE", OFFSET=0x2C0E, DATA=3)
    assert bench.words[0] == 77 and bench.engine.interrupts == [5] and bench.engine.registers == {0x2C0E << 2: 3}


def test_clocks(bench: Bench) -> None:
    bench.run("TIMESTAMP_SET_LOCAL", DATA=1000)
    bench.run("TIMESTAMP_GET_LOCAL", ADDR=bench.at)
    bench.run("TIMESTAMP_GET_GLOBAL", ADDR=bench.at + 8)
    local, everywhere = bench.bytes[:16].view(np.uint64)
    assert 1000 <= local < 1000 + 10**9 and everywhere > 0


def test_conditions_calls_and_waits(bench: Bench) -> None:
    fence = sdma_packet("FENCE", bench.level, ADDR=bench.at, DATA=1)
    inner = bench.device.buffer(np.array(fence, np.uint32))
    bench.engine.submit(sdma_packet("COND_EXE", bench.level, ADDR=bench.at + 4, REF=9, EXEC_COUNT=4) + fence)
    assert bench.words[0] == 0
    bench.engine.submit(sdma_packet("INDIRECT_BUFFER", bench.level, IB_BASE=inner.address, IB_SIZE=len(fence)))
    assert bench.words[0] == 1
    with pytest.raises(InputError, match="nothing is left that could end this POLL_REGMEM"):
        bench.run("POLL_REGMEM", ADDR=bench.at, FUNCTION="EQUAL", MEM_POLL=1, VALUE=5, MASK=255)
    compute, dma = Ring(bench.device, 64, queue="compute"), Ring(bench.device, 64, queue="sdma")
    dma.write(sdma_packet("POLL_REGMEM", bench.level, ADDR=bench.at, FUNCTION="EQUAL", MEM_POLL=1, VALUE=5, MASK=255)
              + sdma_packet("COPY_LINEAR", bench.level, SRC_ADDR=bench.at, DST_ADDR=bench.at + 16, COUNT=bench.count(4)))
    compute.write(packet("WRITE_DATA", 5 << 8, bench.at & 0xFFFFFFFF, bench.at >> 32, 5))
    run_rings([dma, compute])
    assert bench.words[4] == 5


def test_windows_of_linear_surfaces(bench: Bench) -> None:
    source = np.arange(4 * 8 * 16, dtype=np.uint16).reshape(4, 8, 16)
    first, second = bench.device.buffer(source), bench.device.zeros(source.nbytes * 2)
    bench.run("COPY_LINEAR_SUB_WINDOW", ELEMENT_SIZE=1, SRC_ADDR=first.address, SRC_X=3, SRC_Y=2, SRC_Z=1, SRC_PITCH=15, SRC_SLICE_PITCH=127,
              DST_ADDR=second.address, DST_X=1, DST_Y=1, DST_Z=0, DST_PITCH=31, DST_SLICE_PITCH=32 * 8 - 1, RECT_X=4, RECT_Y=2, RECT_Z=1)
    found = second.numpy().view(np.uint16).reshape(4, 8, 32)
    assert (found[0:2, 1:4, 1:6] == source[1:3, 2:5, 3:8]).all()
    assert np.count_nonzero(found) == 2 * 3 * 5


TILINGS = {
    "gfx900": [(9, 1, 1, 1), (25, 1, 3, 1), (10, 2, 4, 1), (5, 1, 1, 3)],
    "gfx1030": [(9, 1, 1, 1), (27, 1, 2, 1), (21, 2, 4, 1), (27, 1, 1, 3)],
    "gfx1100": [(27, 1, 2, 1), (31, 1, 1, 1), (27, 2, 4, 1), (27, 1, 1, 3)],
    "gfx1200": [(3, 1, 2, 1), (2, 1, 1, 1), (6, 2, 4, 1), (3, 1, 1, 3)],
}


@pytest.mark.parametrize("element", [1, 16])
@pytest.mark.parametrize(("target", "tiling"), [(target, tiling) for target, all_ in TILINGS.items() for tiling in all_])
def test_tiled_copies_agree_with_addrlib(target: str, tiling: tuple[int, int, int, int], element: int) -> None:
    """A rectangle of a level into the tiled surface and back, against addrlib's own copy."""
    mode, dimension, slices, levels = tiling
    bench = Bench(target)
    mip = levels - 1
    surface = TiledSurface(gpu_config(target), width=200, height=150, bpp=8 * element, swizzle_mode=mode, resource_type=dimension,
                           num_slices=slices, num_mip_levels=levels)
    depth, height, width = surface.level_shape(mip)
    rng = np.random.default_rng(1)
    texels = rng.integers(0, 256, (depth, height, width * element), np.uint8)
    linear, back = bench.device.buffer(texels), bench.device.zeros(texels.nbytes)
    held = np.zeros(surface.size + surface.base_align, np.uint8)
    tiled_at = 0x200000000000
    bench.device.space.map_at(tiled_at, held)
    fields = {"ELEMENT_SIZE": element.bit_length() - 1, "SWIZZLE_MODE": mode, "TILED_ADDR": tiled_at, "WIDTH": 199, "HEIGHT": 149,
              "DEPTH": slices - 1, "LINEAR_PITCH": width - 1, "LINEAR_SLICE_PITCH": width * height - 1, "MIP_MAX": levels - 1, "MIP_ID": mip}
    if bench.level < 120:
        fields["DIMENSION"] = dimension
    if bench.level < 100 and levels == 1 and dimension == 1:
        fields["EPITCH"] = natural_pitch(surface) - 1
    first = 3 if width > 6 else 0
    fields |= {"TILED_X": first, "TILED_Y": first, "LINEAR_X": first, "LINEAR_Y": first, "RECT_X": width - first - 1,
               "RECT_Y": height - first - 1, "RECT_Z": depth - 1}
    bench.run("COPY_TILED_SUB_WINDOW", LINEAR_ADDR=linear.address, DETILE=0, **fields)
    expected = np.zeros(surface.size, np.uint8)
    part = np.ascontiguousarray(texels[:, first:, first * element :])
    base = part.view(np.uint64).reshape(depth, height - first, -1, 2) if element == 16 else part.view(surface.dtype)
    surface.tile(base, expected, mip=mip, region=(slice(0, depth), slice(first, height), slice(first, width)))
    assert (held[: surface.size] == expected).all() and expected.any()
    bench.run("COPY_TILED_SUB_WINDOW", LINEAR_ADDR=back.address, DETILE=1, **fields)
    assert (back.numpy().reshape(texels.shape)[:, first:, first * element :] == part).all()


def natural_pitch(surface: TiledSurface) -> int:
    """The pitch that a surface has where none is demanded: the first that makes one of the same size."""
    known = surface._surface
    same: dict[str, Any] = {name: known[name] for name in ("width", "height", "bpp", "swizzle_mode", "resource_type", "num_slices", "num_mip_levels")}
    for pitch in range(same["width"], 1024, 8):
        with contextlib.suppress(InputError):
            if TiledSurface(surface.config, **same, pitch_in_element=pitch).size == surface.size:
                return pitch
    raise AssertionError("no pitch")


def test_hostile_streams_are_refused(bench: Bench) -> None:
    with pytest.raises(InputError, match=r"dword 0: a COPY_LINEAR has 6 more dwords, the stream 1"):
        parse_sdma([1, 5], bench.level)
    with pytest.raises(InputError, match=r"dword 1: 0x000000ff is no header"):
        parse_sdma([0, 0xFF], bench.level)
    with pytest.raises(InputError, match="not mapped"):
        bench.run("FENCE", ADDR=0x10, DATA=1)
    with pytest.raises(InputError, match="has no fields NONSENSE"):
        sdma_packet("FENCE", bench.level, NONSENSE=1)
    with pytest.raises(InputError, match="is called 'MAGIC'"):
        sdma_packet("MAGIC", bench.level)
    with pytest.raises(UnsupportedError, match="SEMAPHORE"):
        bench.run("SEMAPHORE", ADDR=bench.at)
    if bench.level >= 100:
        with pytest.raises(UnsupportedError, match="compressed"):
            bench.run("COPY_TILED_SUB_WINDOW", DCC=1)


@pytest.mark.parametrize("target", TARGETS)
def test_random_streams_end(target: str) -> None:
    bench = Bench(target)
    rng = random.Random(target)
    ends = {True: 0, False: 0}
    for _ in range(400):
        words: list[int] = []
        for _ in range(rng.randrange(1, 4)):
            name = rng.choice(NAMES[bench.level])
            words += sdma_packet(name, bench.level, **({"data": [1]} if name == "WRITE_LINEAR" else {}))
        for _ in range(rng.randrange(8)):
            place = rng.randrange(len(words))
            words[place] = rng.choice((words[place] ^ 1 << rng.randrange(32), bench.at & 0xFFFFFFFF, bench.at >> 32, rng.getrandbits(32)))
        try:
            bench.engine = SdmaEngine(bench.device, packets=50)
            bench.engine.submit(words)
            ends[True] += 1
        except InputError as error:
            assert "dword" in str(error)
            ends[False] += 1
        except UnsupportedError:
            ends[False] += 1
    assert ends[True] > 5 and ends[False] > 100


def test_names_of_values_read_back() -> None:
    (found,) = parse_sdma(sdma_packet("POLL_REGMEM", 110, FUNCTION="GREATER", ADDR=0x1000), 110)
    assert found["FUNCTION"] == 6 and "FUNCTION <- GREATER" in format_packets([found])
    assert named_values(found)["ADDR"] == 0x1000
