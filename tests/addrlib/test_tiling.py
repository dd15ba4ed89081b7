"""Tiled memory: texels there and back, against addresses texel by texel."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyaco._core.addrlib import lines
from pyaco.addrlib import gpu_config, tiling
from pyaco.addrlib.line_order import LINE, LineOrder
from pyaco.addrlib.swizzle import modes, swizzle_tables
from pyaco.addrlib.tiling import TiledSurface
from pyaco.addrlib.tiling_gfx6 import TiledSurfaceGfx6
from pyaco.addrlib.v2.address import addresses
from pyaco.addrlib.v3.address import addresses3
from pyaco.errors import InputError

CASES = [
    (name, mode) for name, numbers in {
        "raven": (0, 1, 2, 3, 4, 6, 9, 11, 17, 22, 24, 25, 27), "navi10": (0, 1, 5, 10, 24, 27), "navi21": (0, 2, 6, 9, 18, 21, 26, 27, 28, 31),
        "navi31": (0, 2, 6, 10, 22, 24, 27, 30, 31), "gfx1201": (0, 1, 2, 3, 4),
    }.items() for mode in numbers
]


def surface_of(name: str, mode: int, draw: Any) -> tuple[TiledSurface, dict[str, int]]:
    config = gpu_config(name)
    samples = draw(st.integers(0, 3)) if mode and modes(config)[mode].block_log2 >= 12 else 0
    element = draw(st.integers(0, 4))
    if mode and swizzle_tables(config).lookup[0, mode, element, samples] < 0:
        element = samples = 0
    if config.level == 90 and (1 << modes(config)[mode].block_log2) < 256 << samples:
        samples = 0
    fields = {"bpp": 8 << element, "swizzle_mode": mode, "width": draw(st.integers(1, 300)), "height": draw(st.integers(1, 200)),
              "num_slices": draw(st.integers(1, 3)), "num_samples": 1 << samples,
              "num_mip_levels": 1 if samples or (config.level == 90 and mode in (1, 2, 3)) else draw(st.integers(1, 4))}
    return TiledSurface(config, **fields), fields


@pytest.mark.parametrize(("name", "mode"), CASES)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_tile_then_detile_is_the_identity_and_agrees_with_addresses(name: str, mode: int, data: Any) -> None:
    surface, fields = surface_of(name, mode, data.draw)
    rng = np.random.default_rng(fields["width"] * 1000 + fields["height"])
    memory = np.zeros(surface.size, np.uint8)
    levels = []
    for mip in range(fields["num_mip_levels"]):
        shape = surface.level_shape(mip)
        texels = rng.integers(0, 256, (*shape, surface.element_bytes), dtype=np.uint8)
        surface.tile(texels, memory, mip=mip, threads=1 + mip % 2)
        levels.append(texels)
    for mip, texels in enumerate(levels):
        back = surface.detile(memory, mip=mip)
        assert back.tobytes() == texels.tobytes()
        flat = texels.reshape(-1, surface.element_bytes)
        chosen = rng.integers(0, len(flat), 50)
        z, y, x, *rest = np.unravel_index(chosen, texels.shape[:-1])
        sample = rest[0] if rest else np.zeros_like(x)
        common: Any = {**fields, "resource_type": 1, "x": x, "y": y, "slice": z, "sample": sample, "mip_id": mip}
        if gpu_config(name).level >= 120:
            status, where = addresses3(gpu_config(name), 50, **common)
        else:
            status, where = addresses(gpu_config(name), 50, **common, num_frags=fields["num_samples"])
        assert (status == 0).all()
        assert (surface.addresses(x, y, z, sample, mip) == where).all()
        assert all(memory[a : a + surface.element_bytes].tobytes() == flat[i].tobytes() for a, i in zip(where, chosen, strict=True))
        found = surface.coordinates(where)
        assert (found["x"] == x).all() and (found["y"] == y).all() and (found["slice"] == z).all() and (found["mip_id"] == mip).all()


def surface_of_tiles(name: str, mode: int, element: int, width: int, height: int, slices: int = 1) -> TiledSurface:
    config = gpu_config(name)
    if config.level < 90:
        return TiledSurfaceGfx6(config, width=width, height=height, bpp=8 * element, tile_mode=mode, num_slices=slices)
    return TiledSurface(config, width=width, height=height, bpp=8 * element, swizzle_mode=mode, num_slices=slices)


def at_offset(size: int, offset: int) -> np.ndarray:
    """Zeros that begin so many bytes behind the start of a cache line."""
    whole = np.zeros(size + 128, np.uint8)
    first = -whole.ctypes.data % 64 + offset
    return whole[first : first + size]


def calls_of_lines(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bool, bool, bool]]:
    """A list that gets, with each call that moves lines: whether to memory, whether past the caches, whether in runs."""
    calls: list[tuple[bool, bool, bool]] = []
    original = lines.move_lines

    def counted(*arguments: Any) -> None:
        to_memory, past_caches, run, _ = arguments[-4:]
        calls.append((to_memory, past_caches, run[0] > 0))
        original(*arguments)

    monkeypatch.setattr(tiling, "move_lines", counted)
    return calls


@pytest.mark.parametrize("vector_bits", [512, 256, 0])
@pytest.mark.parametrize(
    ("name", "mode"), [("navi21", 27), ("navi31", 27), ("vega10", 9), ("polaris10", 4), ("gfx1201", 3), ("navi21", 24), ("polaris10", 2)])
@pytest.mark.parametrize("element", [1, 2, 4, 8, 16])
def test_lines_move_past_the_caches_as_through_them(name: str, mode: int, element: int, vector_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole runs and lines amid edges, at some offsets in a cache line, of slices and regions."""
    if vector_bits > lines.VECTOR_BITS:
        pytest.skip(f"this processor has no vectors of {vector_bits} bits")
    monkeypatch.setattr(tiling, "VECTOR_BITS", vector_bits)
    has_runs = (name, mode) != ("polaris10", 2)                                                 # 1D modes have none
    width, height = surface_of_tiles(name, mode, element, 2048, 2048)._run(0)[1:] if has_runs else (64, 64)
    wide, high = 2 * width + 48, height + 9
    surface = surface_of_tiles(name, mode, element, wide, high, slices=2)
    rng = np.random.default_rng(element)
    texels = rng.integers(0, 256, (2, high, wide, element), dtype=np.uint8)
    z, y, x = np.indices(texels.shape[:3])
    expected = np.zeros(surface.size, np.uint8)
    expected[surface.addresses(x, y, z)[..., None] + np.arange(element)] = texels
    calls = calls_of_lines(monkeypatch)
    regions: list[Any] = [None, (slice(1, 2), slice(3, high), slice(16, 2 * width + 16)), (slice(0, 2), slice(0, height), slice(0, width))]
    for turn, ((offset, region), streamed) in enumerate(product(zip((0, 16, 20, 1), [None, *regions], strict=True), (1 << 40, 1))):
        monkeypatch.setattr(tiling, "STREAMED_BYTES", streamed)
        chosen = texels[region or ()]
        memory, back = at_offset(surface.size, offset), at_offset(chosen.size + 64, 48 - offset)
        memory[:] = expected
        back[:] = 77
        surface.detile(memory, region=region, out=back[: chosen.size].reshape(chosen.shape), threads=1 + turn % 2)
        assert (back[: chosen.size].reshape(chosen.shape) == chosen).all() and (back[chosen.size :] == 77).all()
        memory[:] = 0
        surface.tile(chosen.copy(), memory, region=region, threads=1 + turn % 2)
        kept = np.zeros_like(expected)
        where = surface.addresses(x, y, z)[region or ()][..., None] + np.arange(element)
        kept[where] = chosen
        assert (memory == kept).all()
    kinds = {(to_memory, past_caches) for to_memory, past_caches, _ in calls}
    assert kinds == set(product((False, True), (False, True)))
    assert any(in_runs for to_memory, _, in_runs in calls if to_memory) == has_runs


@pytest.mark.parametrize("vector_bits", [bits for bits in (512, 256, 0) if bits <= lines.VECTOR_BITS])
def test_slices_need_not_begin_with_a_run(vector_bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of modes of 256-byte blocks begin with any of these."""
    monkeypatch.setattr(tiling, "VECTOR_BITS", vector_bits)
    monkeypatch.setattr(tiling, "STREAMED_BYTES", 1)
    surface = surface_of_tiles("navi31", 2, 4, 32, 113, slices=2)
    texels = np.random.default_rng(2).integers(0, 1 << 32, (2, 113, 32), dtype=np.uint32)
    memory = at_offset(surface.size, 48)
    surface.tile(texels, memory)
    z, y, x = np.indices(texels.shape)
    assert (memory.view(np.uint32)[surface.addresses(x, y, z) // 4] == texels).all() and (surface.detile(memory) == texels).all()


def test_plans_are_kept_for_calls_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each region, direction and number of threads, whatever memory and texels are; not more than there is room for."""
    made: list[tuple[Any, ...]] = []
    original = TiledSurface._plan

    def counted(surface: TiledSurface, *arguments: Any) -> Any:
        made.append(arguments)
        return original(surface, *arguments)

    monkeypatch.setattr(TiledSurface, "_plan", counted)
    monkeypatch.setattr(tiling, "PLANS", 6)
    surface = surface_of_tiles("navi31", 27, 4, 100, 90, slices=2)
    rng = np.random.default_rng(3)
    regions: list[Any] = [None, *((slice(z, z + 1), slice(y, 90 - y), slice(8 * y, 100)) for z, y in product(range(2), range(4)))]
    for turn in range(4):
        texels, memory = rng.integers(0, 1 << 32, (2, 90, 100), dtype=np.uint32), at_offset(surface.size, 16 * turn)
        surface.tile(texels, memory)
        assert (surface.detile(memory) == texels).all() and (surface.detile(memory, threads=2) == texels).all()
        assert len(made) == 3
    for region in 2 * regions:
        assert (surface.detile(memory, region=region) == texels[region or ()]).all()
        assert len(surface._plans) <= 6
    assert len(made) > len(regions) + 2
    monkeypatch.setattr(tiling, "PLAN_PARTS", 1)
    surface._plans.clear()
    assert (surface.detile(memory) == texels).all() and not surface._plans                      # two slices


@pytest.mark.parametrize(("name", "mode"), [("navi21", 27), ("navi31", 27), ("vega10", 9), ("vega10", 10), ("polaris10", 4), ("polaris10", 2)])
@pytest.mark.parametrize("element", [1, 2, 4, 8, 16])
def test_networks_transpose_cells(name: str, mode: int, element: int) -> None:
    """The permutations that vectors make, done by numpy."""
    surface = surface_of_tiles(name, mode, element, 256, 256)
    order, (width, height) = surface._order(0), surface.tables().line
    texels = np.random.default_rng(element).integers(0, 256, (height, LINE), dtype=np.uint8)
    where = np.array([[surface.addresses(x, y) % LINE for x in range(width)] for y in range(height)])[..., None] + np.arange(element)
    memory = np.zeros((height, LINE), np.uint8)
    for number, columns in enumerate(np.split(texels, height, axis=1)):
        memory[number, where] = columns.reshape(height, width, element)
    assert (moved_by(order, 0, memory) == texels).all() and (moved_by(order, 1, texels) == memory).all()
    assert (moved_by_halves(order, 0, memory) == texels).all() and (moved_by_halves(order, 1, texels) == memory).all()


def moved_by(order: LineOrder, to_memory: int, vectors: np.ndarray) -> np.ndarray:
    """What a network makes of the vectors of a cell."""
    shuffle, *steps = order.network[to_memory]
    lanes = np.arange(LINE) // 16 * 16 + shuffle.view(np.uint8)
    words = np.ascontiguousarray(vectors if to_memory else vectors[:, lanes]).view(np.uint32).copy()
    for bit, pair in enumerate(zip(steps[::2], steps[1::2], strict=True)):
        for i in range(len(words)):
            if not i >> bit & 1:
                both = np.concatenate([words[i], words[i | 1 << bit]])
                words[i], words[i | 1 << bit] = both[pair[0]], both[pair[1]]
    moved = words.view(np.uint8)
    return moved[:, lanes] if to_memory else moved


def moved_by_halves(order: LineOrder, to_memory: int, vectors: np.ndarray) -> np.ndarray:
    """What a network makes of the vectors of a cell, as vectors of half a line."""
    words, shuffle, in_memory, in_texels, (permutes, shuffles, *exchanges) = np.split(order.halves[to_memory], (8, 16, 32, 48))
    assert not permutes or sorted(words) == list(range(8))
    taken, given = (in_texels, in_memory) if to_memory else (in_memory, in_texels)
    halves = vectors.reshape(-1, LINE // 2)[taken[: 2 * len(vectors)]]
    lanes = np.arange(LINE // 2) // 16 * 16 + shuffle.view(np.uint8)
    steps = [np.arange(LINE // 2).reshape(8, 4)[words].ravel() if permutes else slice(None), lanes if shuffles else slice(None)]
    for step in () if to_memory else steps:
        halves = halves[:, step]
    for bit, exchanged in enumerate(exchanges):
        if exchanged:
            size = 8 << bit                                                                     # bytes, and vectors, with the bit 0 and 1
            parts = halves.reshape(len(halves) >> bit + 1, 2, 1 << bit, LINE // 4 // size, 2, size)
            halves = parts.swapaxes(1, 4).reshape(halves.shape)
    for step in reversed(steps) if to_memory else ():
        halves = halves[:, step]
    result = np.zeros_like(halves)
    result[given[: len(halves)]] = halves
    return result.reshape(vectors.shape)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_regions(data: Any) -> None:
    surface = TiledSurface(gpu_config("navi21"), width=200, height=150, bpp=32, swizzle_mode=27, num_slices=3)
    texels = np.arange(3 * 150 * 200, dtype=np.uint32).reshape(3, 150, 200)
    memory = np.zeros(surface.size, np.uint8)
    surface.tile(texels, memory)
    region: Any = tuple(slice(a, data.draw(st.integers(a + 1, n))) for n in (3, 150, 200) for a in [data.draw(st.integers(0, n - 1))])
    assert (surface.detile(memory, region=region) == texels[region]).all()
    texels[region] += 7
    surface.tile(np.ascontiguousarray(texels[region]), memory, region=region, threads=2)
    assert (surface.detile(memory, threads=2) == texels).all()


def test_volume() -> None:
    for name, mode in (("vega10", 9), ("navi21", 9), ("navi31", 29), ("gfx1201", 6), ("navi31", 27)):
        surface = TiledSurface(gpu_config(name), width=70, height=50, bpp=16, swizzle_mode=mode, num_slices=40, resource_type=2)
        texels = np.arange(40 * 50 * 70, dtype=np.uint32).astype(np.uint16).reshape(40, 50, 70)
        memory = np.zeros(surface.size, np.uint8)
        surface.tile(texels, memory)
        assert (surface.detile(memory) == texels).all()


@pytest.mark.parametrize("mode", [5, 6, 7])
@pytest.mark.parametrize("bits", [8, 16, 32, 64, 128])
def test_levels_of_volumes_on_gfx12_do_not_overlap(mode: int, bits: int) -> None:
    """Queries of addrlib (`addresses3`) let levels in the tail of 3D modes share addresses; contents cannot be kept so."""
    random, moved = np.random.default_rng(bits), 0
    for _ in range(30):
        width, height, depth = (int(random.integers(1, limit)) for limit in (70, 64, 40))
        levels = max(width, height, depth).bit_length()
        surface: dict[str, Any] = {"width": width, "height": height, "bpp": bits, "swizzle_mode": mode, "resource_type": 2, "num_slices": depth,
                   "num_mip_levels": levels}
        tiled, found = TiledSurface(gpu_config("gfx1200"), **surface), []
        for mip in range(levels):
            z, y, x = (axis.ravel() for axis in np.indices(tiled.level_shape(mip)))
            found.append(tiled.addresses(x, y, z, 0, mip))
            back = tiled.coordinates(found[-1])
            assert (back["mip_id"] == mip).all() and (back["x"] == x).all() and (back["y"] == y).all() and (back["slice"] == z).all()
            _, queried = addresses3(gpu_config("gfx1200"), len(x), x=x, y=y, slice=z, mip_id=mip, **surface)
            moved += int((found[-1] != queried).any())
        every = np.concatenate(found)
        assert len(np.unique(every)) == len(every) and every.max() < tiled.size
    assert moved


def test_errors_write_nothing() -> None:
    surface = TiledSurface(gpu_config("navi21"), width=20, height=10, bpp=32, swizzle_mode=27)
    memory = np.zeros(surface.size, np.uint8)
    texels = np.ones((1, 10, 20), np.uint32)
    wrong_shapes = [np.ones(shape, np.uint32) for shape in ((1, 10, 21), (1, 20, 10), (2, 10, 20))]
    bad: Any
    for bad in (*wrong_shapes, texels.astype(np.uint16), np.ones((1, 20, 10), np.uint32).swapaxes(1, 2)):
        with pytest.raises(InputError):
            surface.tile(bad, memory)
    with pytest.raises(InputError):
        surface.tile(texels, memory[:-1])
    with pytest.raises(InputError):
        surface.tile(texels, memory, mip=1)
    frozen = memory.copy()
    frozen.flags.writeable = False
    with pytest.raises(InputError):
        surface.tile(texels, frozen)
    with pytest.raises(InputError):
        surface.detile(memory, region=(slice(0, 1), slice(0, 11), slice(0, 20)))
    with pytest.raises(InputError):
        surface.detile(memory, region=(slice(0, 1), slice(0, 10, 2), slice(0, 20)))
    with pytest.raises(InputError):
        surface.addresses([0, 20], [0, 0])
    with pytest.raises(InputError):
        surface.addresses(-1, 0)
    assert not memory.any()
    with pytest.raises(InputError):
        TiledSurface(gpu_config("navi21"), width=20, height=10, bpp=24, swizzle_mode=27)
    with pytest.raises(InputError):
        TiledSurface(gpu_config("navi21"), width=20, height=10, bpp=32, swizzle_mode=7)
    with pytest.raises(InputError):
        TiledSurface(gpu_config("navi21"), width=20, height=10, bpp=32, swizzle_mode=27, num_mip_levels=18)
