"""Images of which parts are missing: null descriptors, pages without memory, places outside."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from image_kernels import TARGETS, image_instruction, run_image

from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.emu import Device, EmulationError
from pyaco.emu.device import ENGINES
from pyaco.emu.images import PAGE_BYTES, Image
from pyaco.errors import InputError, UnsupportedError

DIMENSIONS = {"1d": 1, "2d": 2, "3d": 3, "cube": 3, "1d_array": 2, "2d_array": 3, "2d_msaa": 3, "2d_msaa_array": 4}
PATTERN = np.full((64, 4), 0x12345678, np.uint32)
SPARSE = tuple(target for target in TARGETS if target != "gfx600")


def null_words(target: str) -> list[list[int]]:
    """Descriptors of nothing: all zeros, and a type of 0 beside an address, a size and a format."""
    device = Device(target)
    words = list(device.image(format="R32_UINT", width=8, height=8).view().words)
    return [[0] * 8, [*words[:3], words[3] & ~(15 << 28), *words[4:]]]


@pytest.mark.parametrize("target", TARGETS)
def test_null_descriptors(target: str) -> None:
    """Loads, samples, atomics and queries give zeros, in the status too; stores do nothing."""
    device = Device(target, "reference")
    sampler = sampler_descriptor(Sampler(mag_filter=1, min_filter=1, mip_filter=2), device.gfx_level)
    returns = "th:TH_ATOMIC_RETURN" if target == "gfx1200" else "glc"
    add = "image_atomic_add_uint" if target == "gfx1200" else "image_atomic_add"
    for words in null_words(target):
        for dimension, count in DIMENSIONS.items():
            address = np.ones((64, count), np.float32)
            for text in (image_instruction("image_load", target, dimension, count, data=5, flags=("tfe",)),
                         image_instruction(add, target, dimension, count, 1, data=1, flags=(returns,)),
                         image_instruction("image_get_resinfo", target, dimension, 1)):
                found = run_image(device, text, words, address=address, data=PATTERN)
                width = 5 if " tfe" in text else 1 if " dmask:0x1 " in text else 4
                assert not found[:, :width].any(), text
            run_image(device, image_instruction("image_store", target, dimension, count), words, address=address, data=PATTERN, stores=True)
            if "msaa" not in dimension:
                text = image_instruction("image_sample_lz", target, dimension, count, data=5, sampler=True, flags=("tfe",))
                assert not run_image(device, text, words, sampler, address=address, data=PATTERN)[:, :5].any(), text


@pytest.mark.parametrize("target", TARGETS)
def test_places_outside(target: str) -> None:
    """In every dimension: loads give zeros, atomics give zeros and change nothing, stores change nothing; the status is 0."""
    device = Device(target)
    shapes: dict[str, Any] = {"2d": {}, "3d": {"depth": 3}, "cube": {"cube": True}, "2d_array": {"layers": 3}, "2d_msaa": {"samples": 4},
              "2d_msaa_array": {"samples": 4, "layers": 3}}  # fmt: skip
    if target != "gfx900":
        shapes |= {"1d": {}, "1d_array": {"layers": 3}}
    ends = {"2d": (8, 8), "3d": (8, 8, 3), "cube": (8, 8, 6), "2d_array": (8, 8, 3), "2d_msaa": (8, 8, 4), "2d_msaa_array": (8, 8, 3, 4), "1d": (8,),
            "1d_array": (8, 3)}
    returns = "th:TH_ATOMIC_RETURN" if target == "gfx1200" else "glc"
    add = "image_atomic_add_uint" if target == "gfx1200" else "image_atomic_add"
    for dimension, options in shapes.items():
        image = device.image(format="R32_UINT", width=8, height=1 if dimension.startswith("1d") else 8, linear=dimension.startswith("1d"), **options)
        image.memory[:] = 0x5A
        end = np.array(ends[dimension])
        inside = np.random.default_rng(3).integers(0, end, (64, len(end))).astype(np.uint32)
        for axis in range(len(end)):
            for beyond in (0, 1, 1000, 1 << 31, (1 << 32) - 1 - int(end[axis])):
                address = inside.copy()
                address[:, axis] = end[axis] + beyond
                text = image_instruction("image_load", target, dimension, len(end), data=5, flags=("tfe",))
                words = image.view(dimension).words
                found = run_image(device, text, words, address=address, data=PATTERN)
                assert not found[:, [0, 1, 2, 4]].any() and (found[:, 3] == 1).all(), (text, axis, beyond)
                run_image(device, image_instruction("image_store", target, dimension, len(end)), words, address=address, data=PATTERN, stores=True)
                text = image_instruction(add, target, dimension, len(end), 1, data=1, flags=(returns,))
                assert not run_image(device, text, words, address=address, data=PATTERN)[:, 0].any()
        assert (image.memory == 0x5A).all(), dimension
        text = image_instruction("image_load", target, dimension, len(end), data=5, flags=("tfe",))
        found = run_image(device, text, image.view(dimension).words, address=inside, data=PATTERN)
        assert (found[:, 0] == 0x5A5A5A5A).all() and not found[:, 4].any()
        image.release()


def sparse_image(device: Device, random: np.random.Generator) -> tuple[Image, np.ndarray]:
    image = device.image(format="R32_UINT", width=512, height=384, sparse=True)
    texels = random.integers(1, 1 << 32, (384, 512), dtype=np.uint32)
    image.write(texels)
    return image, texels


@pytest.mark.parametrize("target", SPARSE)
def test_pages(target: str) -> None:
    """Only texels of mapped pages are seen and stored; the status says which are not."""
    device, random = Device(target), np.random.default_rng(50)
    image, texels = sparse_image(device, random)
    pages = image.pages_of()
    assert len(pages) >= 12
    mapped = set(pages[::2].tolist())
    image.map_pages(mapped)
    place = np.stack([random.integers(0, 512, 128), random.integers(0, 384, 128)], 1).astype(np.int32)
    offsets = image.surface.address(place[:, 0], place[:, 1])
    there = np.isin(offsets // PAGE_BYTES, list(mapped))
    assert 20 < there.sum() < 108
    load = image_instruction("image_load", target, "2d", 2, 1, data=2, flags=("tfe",))
    found = run_image(device, load, image.view().words, address=place)
    np.testing.assert_array_equal(found[:, 0], np.where(there, texels[place[:, 1], place[:, 0]], 0))
    np.testing.assert_array_equal(found[:, 1] != 0, ~there)
    data = random.integers(0, 1 << 32, (128, 1), dtype=np.uint32)
    run_image(device, image_instruction("image_store", target, "2d", 2, 1, data=1), image.view().words, address=place, data=data, stores=True)
    after, expected = image.numpy(), texels.copy()
    for (x, y), value, exists in zip(place, data[:, 0], there, strict=True):
        if exists:
            expected[y, x] = value
    np.testing.assert_array_equal(after, expected)
    image.map_pages()
    assert not run_image(device, load, image.view().words, address=place)[:, 1].any()
    image.unmap_pages()
    assert run_image(device, load, image.view().words, address=place)[:, 1].all()


def test_gfx6_has_no_sparse_images() -> None:
    with pytest.raises(UnsupportedError, match="sparse images on gfx600"):
        Device("gfx600").image(format="R32_FLOAT", width=512, height=512, sparse=True)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("target", SPARSE)
def test_status_of_samples_and_gathers(target: str, engine: str) -> None:
    """The status is not 0 where any texel that the filter takes is missing; levels count too."""
    device, random = Device(target, engine), np.random.default_rng(51)
    image = device.image(format="R32_FLOAT", width=512, height=512, mips=3, sparse=True)
    missing = int(image.pages_of()[3])
    image.map_pages(set(range(image.memory.size // PAGE_BYTES)) - {missing})
    place = random.integers(1, 511, (256, 2))
    uv = (place / 512).astype(np.float32)
    pages = np.stack([image.surface.address(place[:, 0] - dx, place[:, 1] - dy) // PAGE_BYTES for dx in (0, 1) for dy in (0, 1)], 1)
    expected = (pages == missing).any(axis=1)
    assert 5 < expected.sum() < 250
    sampler = sampler_descriptor(Sampler((2, 2, 2), 1, 1, 1), device.gfx_level)
    for name, dmask, data in (("image_sample_lz", 1, 2), ("image_gather4_lz", 1, 5)):
        text = image_instruction(name, target, "2d", 2, dmask, data=data, sampler=True, flags=("tfe",))
        found = run_image(device, text, image.view().words, sampler, address=uv)
        np.testing.assert_array_equal(found[:, data - 1] != 0, expected, err_msg=name)
    text = image_instruction("image_sample_l", target, "2d", 3, 1, data=2, sampler=True, flags=("tfe",))
    address = np.concatenate([uv, np.ones((256, 1), np.float32)], 1)
    assert not run_image(device, text, image.view().words, sampler, address=address)[:, 1].any()
    # of two levels one is there
    last = sampler_descriptor(Sampler((2, 2, 2), 1, 1, 2), device.gfx_level)
    image.unmap_pages()
    image.map_pages(image.pages_of(2).tolist())
    only = not set(image.pages_of(1).tolist()) & set(image.pages_of(2).tolist())
    for lod, expects in ((2.0, False), (1.5, only)):
        address[:, 2] = lod
        found = run_image(device, text, image.view().words, last, address=address)[:, 1]
        assert (found != 0).all() if expects else lod < 2 or not found.any(), (lod, image.surface)


def test_errors_of_pages() -> None:
    device, random = Device("gfx1030"), np.random.default_rng(52)
    image, _ = sparse_image(device, random)
    with pytest.raises(InputError, match="pages"):
        image.map_pages([1000])
    whole = device.image(format="R32_UINT", width=8, height=8)
    with pytest.raises(InputError, match="pages are those of a sparse image"):
        whole.map_pages()
    words = image.view().words
    image.map_pages()
    image.release()
    with pytest.raises(InputError, match=re.escape("has been released")):
        image.map_pages()
    with pytest.raises(EmulationError, match="outside memory"):
        run_image(device, image_instruction("image_load", "gfx1030", "2d", 2), words, address=np.full((32, 2), 383, np.int32))


@pytest.mark.parametrize("target", ["gfx803", "gfx900", "gfx1030", "gfx1100"])
@pytest.mark.parametrize("engine", ENGINES)
def test_warnings_of_levels_are_refused(target: str, engine: str) -> None:
    """LWE asks for a status that is not computed."""
    device = Device(target, engine)
    image = device.image(format="R32_UINT", width=8, height=8)
    text = image_instruction("image_load", target, "2d", 2, flags=("lwe",))
    with pytest.raises(UnsupportedError, match="image_load"):
        run_image(device, text, image.view().words, address=np.zeros((64, 2), np.int32))
