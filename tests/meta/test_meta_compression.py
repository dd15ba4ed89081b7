"""Metadata by shaders: memory is afterwards what the functions of `pyaco.metadata` make of it, over formats, extents, levels and layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pyaco import meta
from pyaco.addrlib import SurfaceUse
from pyaco.addrlib.driver.metadata_addresses import metadata_levels
from pyaco.emu import Device
from pyaco.errors import InputError, UnsupportedError
from pyaco.metadata import cmask, dcc, fmask, htile
from pyaco.metadata.memory import part_of, raw_texels

TARGETS = ("gfx900", "gfx1030", "gfx1100")
QUEUES = ("direct", "compute")
COLORS: dict[str, list[tuple[float, ...]]] = {
    "R8_UNORM": [(0, 0, 0, 0), (0.5, 0, 0, 1)], "R16_SINT": [(0, 0, 0, 0), (-7, 0, 0, 1)],
    "R8G8B8A8_UNORM": [(0, 0, 0, 1), (1, 1, 1, 1), (0.5, 0.25, 0.125, 1)], "R16G16B16A16_FLOAT": [(1, 1, 1, 0), (0.5, -2.0, 3.0, 1)],
    "R32G32_UINT": [(0, 0, 0, 0), (77, 1 << 31, 0, 0)], "R32G32B32A32_FLOAT": [(1, 1, 1, 1), (0.5, 0.5, 0.5, 0.25), (3.0, 2.0, 1.0, 0.0)],
}
SHAPES: tuple[dict[str, Any], ...] = (
    {"width": 377, "height": 241}, {"width": 300, "height": 130, "layers": 3}, {"width": 257, "height": 390, "mips": 5},
    {"width": 340, "height": 260, "mips": 3, "layers": 2},
)


def made(device: Device, random: np.random.Generator, **options: Any) -> Any:
    """An image with metadata, of random bits."""
    image = device.image(compressed=True, **options)
    image.memory[:] = random.integers(0, 256, image.memory.size, np.uint8)
    return image


def assert_same(found: NDArray[np.uint8], wanted: NDArray[np.uint8], what: object) -> None:
    wrong = np.flatnonzero(found != wanted)
    assert not wrong.size, f"{what}: {wrong.size} bytes, first {wrong[0]:#x}: {found[wrong[0]]:#x}, not {wanted[wrong[0]]:#x}"


def outcome(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What a call gives, or the words of its error."""
    try:
        return function(*arguments, **named)
    except (InputError, UnsupportedError) as error:
        return str(error)


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("target", TARGETS)
def test_dcc_is_cleared_and_eliminated(target: str, shape: dict[str, Any], queue: str) -> None:
    device, random, done = Device(target, threads=1), np.random.default_rng(1), 0
    for name, colors in COLORS.items():
        image = made(device, random, format=name, **shape)
        surface = image.surface
        if not surface.layout.meta_size:
            with pytest.raises(InputError, match="without DCC"):
                meta.fast_clear_dcc(device, image, colors[0], queue=queue)
            continue
        dcc.initialize(surface, image.memory)
        levels = metadata_levels(surface.layout, "dcc")
        parts: list[dict[str, Any]] = [{"mips": None if levels == surface.request.levels else range(levels)}, {"mips": levels - 1}]
        parts += [{"mips": 0, "layers": surface.request.layers - 1}] * (surface.request.layers > 1)
        for color, part in ((color, part) for color in colors for part in parts):
            wanted = image.memory.copy()
            code = outcome(dcc.fast_clear, surface, wanted, color, **part)
            assert outcome(meta.fast_clear_dcc, device, image, color, queue=queue, **part) == code
            assert_same(image.memory, wanted, (name, color, part))
            for function, shader in ((dcc.eliminate, meta.eliminate_dcc), (dcc.decompress, meta.decompress_dcc))[:: -1 if done % 2 else 1]:
                function(surface, wanted, color, **part)
                shader(device, image, color, queue=queue, **part)
                assert_same(image.memory, wanted, (name, color, part, shader))
                done += 1
    assert done >= 8


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("target", TARGETS)
def test_dcc_of_many_codes(target: str, queue: str) -> None:
    """Blocks of all codes that clears write and of others; without `everything` the others stay, else they are refused before anything runs."""
    device, random = Device(target, threads=1), np.random.default_rng(2)
    for name in ("R8_UNORM", "R16_FLOAT", "R8G8B8A8_UNORM", "R16G16B16A16_UNORM", "R32G32B32A32_FLOAT"):
        image = made(device, random, format=name, width=700, height=700 if name in ("R8_UNORM", "R16_FLOAT") else 200)
        surface = image.surface
        known = [0x00, 0xFF, 0x55] + ([0x01, 0x02] if target == "gfx1100" else [0x40, 0x80, 0xC0, 0x20] + [0x10] * (target == "gfx1030"))
        codes = dcc.blocks(surface).codes
        image.memory[codes] = random.choice(known, codes.size)
        wanted = image.memory.copy()
        with pytest.raises(UnsupportedError, match="DCC code 0x55"):
            meta.decompress_dcc(device, image, (0.5,) * 4, queue=queue)
        if target != "gfx1100":
            with pytest.raises(InputError, match="register"):
                meta.eliminate_dcc(device, image, queue=queue)
        assert_same(image.memory, wanted, name)
        assert dcc.eliminate(surface, wanted, (0.5,) * 4) > 10
        meta.eliminate_dcc(device, image, (0.5,) * 4, queue=queue)
        assert_same(image.memory, wanted, name)


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("target", ["gfx900", "gfx902", "gfx1030", "gfx1100"])
def test_dcc_is_retiled(target: str, queue: str) -> None:
    device, random = Device(target, threads=1), np.random.default_rng(3)
    tried = 0
    for width, height in ((400, 400), (500, 300), (1030, 277), (330, 700)):
        image = made(device, random, format="R8G8B8A8_UNORM", width=width, height=height, use=SurfaceUse.SCANOUT)
        if not image.surface.layout.display_dcc_offset:
            with pytest.raises(InputError, match="DISPLAY DCC"):
                meta.retile_dcc(device, image, queue=queue)
            continue
        wanted = image.memory.copy()
        dcc.retile(image.surface, wanted)
        assert (wanted != image.memory).any()
        meta.retile_dcc(device, image, queue=queue)
        assert_same(image.memory, wanted, (width, height))
        tried += 1
    assert tried == (0 if target == "gfx900" else 4)


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("samples", [2, 4, 8])
@pytest.mark.parametrize("target", TARGETS[:2])
def test_samples(target: str, samples: int, queue: str) -> None:
    """CMASK is cleared, by layers too, and eliminated; FMASK expanded."""
    device, random = Device(target, threads=1), np.random.default_rng(samples)
    for name, layers in (("R8G8B8A8_UNORM", 1), ("R16_UINT", 3), ("R16G16B16A16_FLOAT", 2), ("R32G32B32A32_UINT", 1), ("R8_SNORM", 2)):
        image = made(device, random, format=name, width=45, height=38, layers=layers, samples=samples, use=SurfaceUse.DISABLE_DCC)
        surface = image.surface
        cmask.initialize(surface, image.memory)
        for part in (layers - 1, None):
            wanted = image.memory.copy()
            assert cmask.fast_clear(surface, wanted, layers=part) == meta.fast_clear_cmask(device, image, layers=part, queue=queue) == 0
            assert_same(image.memory, wanted, (name, part))
            assert cmask.eliminate(surface, wanted, (1, 0, 1, 1))
            meta.eliminate_cmask(device, image, (1, 0, 1, 1), queue=queue)
            assert np.array_equal(raw_texels(surface, image.memory), raw_texels(surface, wanted)), (name, part)
            assert np.array_equal(cmask.read_codes(surface, image.memory), cmask.read_codes(surface, wanted))
        fmask.write_words(surface, image.memory, fmask.encode_words(random.integers(0, samples, (layers, 38, 45, samples)), samples))
        wanted = image.memory.copy()
        fmask.expand(surface, wanted)
        meta.expand_fmask(device, image, queue=queue)
        assert np.array_equal(raw_texels(surface, image.memory), raw_texels(surface, wanted)), name
        assert np.array_equal(part_of(surface, image.memory, "fmask"), part_of(surface, wanted, "fmask"))


def test_cmask_of_one_sample() -> None:
    """It is a buffer of its own."""
    device, random = Device("gfx900", threads=1), np.random.default_rng(9)
    image = made(device, random, format="R8G8B8A8_UNORM", width=100, height=90, use=SurfaceUse.DISABLE_DCC)
    size = cmask.part_of_surface(image.surface)[1]
    codes = device.buffer(random.choice([0x00, 0x0F, 0xF0, 0xFF], size).astype(np.uint8))
    texels, held = image.memory.copy(), codes.numpy().copy()
    assert cmask.eliminate(image.surface, texels, (1, 0, 0, 1), cmask=held) > 20
    meta.eliminate_cmask(device, image, (1, 0, 0, 1), cmask=codes)
    assert_same(image.memory, texels, "texels")
    assert np.array_equal(cmask.read_codes(image.surface, texels, cmask=codes.numpy()), cmask.read_codes(image.surface, texels, cmask=held))
    meta.fast_clear_cmask(device, image, cmask=codes)
    assert not codes.numpy()[:size].any()
    with pytest.raises(InputError, match="a buffer of its own"):
        meta.fast_clear_cmask(device, image)
    with pytest.raises(InputError, match=f"CMASK of {size} bytes in a buffer of 4"):
        meta.fast_clear_cmask(device, image, cmask=device.zeros(4))


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["Z16_UNORM", "Z32_FLOAT", "Z24_UNORM_S8_UINT", "Z32_FLOAT_S8X24_UINT"])
def test_htile(target: str, name: str, queue: str) -> None:
    """Depth and stencil are cleared together and apart, everywhere, in a level and in a layer, and expanded."""
    device, random, done = Device(target, threads=1), np.random.default_rng(4), 0
    for shape in (*SHAPES, {"width": 50, "height": 31, "samples": 4}):
        image = made(device, random, format=name, **shape)
        surface, form = image.surface, image.format
        if not surface.layout.meta_size:
            continue
        htile.initialize(surface, image.memory)
        values: dict[str, Any] = ({"depth": 0.75} if form.has_depth else {}) | ({"stencil": 77} if form.has_stencil else {})
        some = [{key: value} for key, value in values.items()] + ([values] if len(values) > 1 else [])
        levels = metadata_levels(surface.layout, "htile")
        for given in some:
            for part in ({}, {"mips": levels - 1}, {"mips": 0, "layers": 0}) if levels == surface.request.levels else ({"mips": 0},):
                wanted = image.memory.copy()
                mask = outcome(htile.fast_clear, surface, wanted, **given, **part)
                assert outcome(meta.fast_clear_htile, device, image, queue=queue, **given, **part) == mask
                assert_same(image.memory, wanted, (shape, given, part))
                mips = {"mips": part["mips"]} if "mips" in part else {}
                count = outcome(htile.expand, surface, wanted, **values, **mips)
                refusal = outcome(meta.expand_htile, device, image, queue=queue, **values, **mips)
                if isinstance(refusal, str):
                    assert "addresses in metadata of surfaces with mip levels" in refusal and target == "gfx900"
                    image.memory[:] = wanted
                    continue
                assert isinstance(mask, str) or count > 0
                for mip in range(surface.request.levels):
                    for stencil in (False, True) if form.has_depth and form.has_stencil else (False,):
                        assert np.array_equal(raw_texels(surface, image.memory, mip, stencil), raw_texels(surface, wanted, mip, stencil))
                assert_same(part_of(surface, image.memory, "htile"), part_of(surface, wanted, "htile"), (shape, given, part))
                done += not isinstance(mask, str)
    assert done >= 3


def test_what_is_refused() -> None:
    device = Device("gfx1200", threads=1)
    image = device.image(format="R8G8B8A8_UNORM", width=64, height=64, compressed=True)
    runs: tuple[Callable[[], Any], ...] = (
        lambda: meta.fast_clear_dcc(device, image, (0, 0, 0, 0)), lambda: meta.eliminate_dcc(device, image), lambda: meta.retile_dcc(device, image),
        lambda: meta.expand_fmask(device, image))
    for run in runs:
        with pytest.raises(UnsupportedError, match="GFX12"):
            run()
    older = Device("gfx1030", threads=1)
    plain = older.image(format="R8G8B8A8_UNORM", width=64, height=64)
    with pytest.raises(InputError, match="without DCC"):
        meta.fast_clear_dcc(older, plain, (0, 0, 0, 0))
    with pytest.raises(InputError, match="without FMASK"):
        meta.expand_fmask(older, plain)
    depth = older.image(format="Z32_FLOAT", width=64, height=64, compressed=True)
    htile.initialize(depth.surface, depth.memory)
    meta.fast_clear_htile(older, depth, depth=0.5)
    with pytest.raises(InputError, match="their depth"):
        meta.expand_htile(older, depth)
    part_of(depth.surface, depth.memory, "htile")[:] = 3
    with pytest.raises(UnsupportedError, match="ZMASK 0x3"):
        meta.expand_htile(older, depth, depth=0.5)
    with pytest.raises(InputError, match="the DMA engine runs no shaders"):
        meta.fast_clear_htile(older, depth, depth=0.5, queue="dma")
    samples = older.image(format="R8G8B8A8_UNORM", width=64, height=64, samples=4, compressed=True)
    samples.release()
    with pytest.raises(InputError, match="released"):
        meta.expand_fmask(older, samples)
