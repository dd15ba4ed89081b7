"""Resolves against arithmetic of higher precision, with FMASK followed, on every chip that stores samples in another order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_dcc_codes import formats

from pyaco.addrlib import Surface, SurfaceUse
from pyaco.errors import InputError
from pyaco.formats import pixel_format
from pyaco.metadata import cmask, fmask, resolve
from pyaco.metadata.colors import color_format, decode_texels, encode_texels, is_integer
from pyaco.metadata.depths import decode_depth
from pyaco.metadata.memory import raw_texels, write_raw_texels

CHIPS = ("tahiti", "polaris10", "vega10", "navi21", "navi31", "gfx1201")
_NO_HTILE = SurfaceUse.NO_HTILE


def made(chip: str, format: str, samples: int, layers: int = 1, **options: Any) -> tuple[Surface, NDArray[np.uint8], NDArray[np.uint8]]:
    """A surface, its memory, and the texel of each sample."""
    surface = Surface(chip, format=format, width=67, height=35, samples=samples, layers=layers, **options)
    memory = np.zeros(surface.total_size, np.uint8)
    random = np.random.default_rng(samples)
    texels = random.integers(0, 256, (layers, 35, 67, samples, surface.element_bytes), np.uint8)
    channel = surface.format.first_channel
    if channel is None or channel.type == "float":
        texels = encode_texels(format, random.random((layers, 35, 67, samples, 4)).astype(np.float32) * 4)
    write_raw_texels(surface, memory, texels)
    if surface.layout.fmask_size:
        fmask.initialize(surface, memory)
    return surface, memory, texels


def is_nearest(name: str, found: NDArray[np.uint8], texels: NDArray[np.uint8]) -> bool:
    """Whether texels are as near as their format allows to the means of samples, computed with double precision."""
    exact = decode_texels(name, texels).astype(np.float64).mean(3)
    ours = decode_texels(name, found).astype(np.float64)
    if name.endswith("SRGB"):
        exact[..., :3], ours[..., :3] = (np.where(x <= 0.0031308, x * 12.92, 1.055 * x ** (1 / 2.4) - 0.055) for x in (exact[..., :3], ours[..., :3]))
    for n, channel in enumerate(color_format(name).channels):
        if channel.type == "float":
            half = np.abs(exact[..., n]) * 2.0 ** -{10: 6, 11: 7, 16: 11, 32: 24}[channel.size]
        else:
            half = np.float64(0.5 / ((1 << channel.size - (channel.type == "signed")) - 1))
        if (np.abs(ours[..., n] - exact[..., n]) > half * 1.001 + 1e-6).any():
            return False
    return True


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("samples", [2, 4, 8])
def test_colors(chip: str, samples: int) -> None:
    for name in ("R8G8B8A8_UNORM", "R8G8B8A8_SRGB", "R8G8_SNORM", "R16G16B16A16_FLOAT", "R32_UINT", "R11G11B10_FLOAT", "R10G10B10A2_UNORM"):
        surface, memory, texels = made(chip, name, samples, 2)
        found = resolve.resolve_color(surface, memory)
        is_right = (found == texels[:, :, :, 0]).all() if is_integer(pixel_format(name)) else is_nearest(name, found, texels)
        assert is_right, (chip, name)
        assert (resolve.resolve_color(surface, memory, mode="sample0") == texels[:, :, :, 0]).all()


@pytest.mark.parametrize("name", [name for name in formats(103) if pixel_format(name).bits <= 64])
def test_samples_of_one_color_stay_that_color(name: str) -> None:
    """Exactly: the mean of equal numbers, whose count is a power of two."""
    surface, memory, texels = made("navi21", name, 4)
    one = texels[:, :, :, :1].repeat(4, 3)
    colors = decode_texels(name, one)
    one = encode_texels(name, np.nan_to_num(colors) if colors.dtype.kind == "f" else colors)
    write_raw_texels(surface, memory, one)
    np.testing.assert_array_equal(decode_texels(name, resolve.resolve_color(surface, memory)), decode_texels(name, one[:, :, :, 0]))


@pytest.mark.parametrize("chip", ["tahiti", "polaris10", "vega10", "navi21"])
def test_fmask_is_followed(chip: str) -> None:
    surface, memory, _ = made(chip, "R8G8B8A8_UNORM", 4)
    few = np.random.default_rng(1).integers(0, 256, (3, 4), np.uint8)[np.random.default_rng(2).integers(0, 3, (1, 35, 67, 4))]
    write_raw_texels(surface, memory, few)
    expected = resolve.resolve_color(surface, memory)
    fmask.compress(surface, memory)
    assert (raw_texels(surface, memory) != few).any()
    np.testing.assert_array_equal(resolve.resolve_color(surface, memory), expected)
    # CMASK that says fragment 0 for all, as texture units see it.
    cmask.initialize(surface, memory)
    cmask.fast_clear(surface, memory)
    if cmask.fast_clear_code(surface) == cmask.CLEARED_BY_DCC:
        found = resolve.resolve_color(surface, memory, words=cmask.effective_words(surface, memory))
        np.testing.assert_array_equal(found, raw_texels(surface, memory)[:, :, :, 0])


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("mode", ["sample0", "average", "min", "max"])
def test_depth_and_stencil(chip: str, mode: str) -> None:
    for name in ("Z16_UNORM", "Z32_FLOAT", "Z32_FLOAT_S8X24_UINT"):
        surface = Surface(chip, format=name, width=67, height=35, samples=4, layers=2, use=_NO_HTILE)
        memory = np.zeros(surface.total_size, np.uint8)
        random = np.random.default_rng(3)
        depths = random.random((2, 35, 67, 4)).astype(np.float32)
        texels = depths[..., None].view(np.uint8) if "32" in name else (depths * 65535).astype(np.uint16)[..., None].view(np.uint8)
        write_raw_texels(surface, memory, np.ascontiguousarray(texels))
        stored = decode_depth(surface.format, texels).astype(np.float64)
        function: Any = {"sample0": lambda a, axis: a[..., 0], "average": np.mean, "min": np.min, "max": np.max}[mode]
        found = decode_depth(surface.format, resolve.resolve_depth(surface, memory, mode))
        assert np.abs(found - function(stored, axis=-1)).max() <= (0.51 / 65535 if name == "Z16_UNORM" and mode == "average" else 1e-7)
        if surface.format.has_stencil:
            ink = random.integers(0, 256, (2, 35, 67, 4, 1), np.uint8)
            write_raw_texels(surface, memory, ink, stencil=True)
            if mode == "average":
                with pytest.raises(InputError, match="resolve mode"):
                    resolve.resolve_stencil(surface, memory, mode)
            else:
                np.testing.assert_array_equal(resolve.resolve_stencil(surface, memory, mode)[..., 0], function(ink[..., 0], axis=-1))


@pytest.mark.parametrize("chip", CHIPS)
def test_from_surface_to_surface(chip: str) -> None:
    for name in ("R8G8B8A8_UNORM", "R16_UINT", "Z32_FLOAT_S8X24_UINT"):
        surface = Surface(chip, format=name, width=67, height=35, samples=2, use=_NO_HTILE)
        target = Surface(chip, format=name, width=67, height=35, use=_NO_HTILE | SurfaceUse.DISABLE_DCC)
        random = np.random.default_rng(4)
        memory, out = np.zeros(surface.total_size, np.uint8), random.integers(0, 256, target.total_size, np.uint8)
        texels = random.integers(0, 64, (1, 35, 67, 2, surface.element_bytes), np.uint8)
        write_raw_texels(surface, memory, texels)
        if surface.layout.fmask_size:
            fmask.initialize(surface, memory)
        resolve.resolve_into(surface, memory, target, out, mode="sample0")
        np.testing.assert_array_equal(raw_texels(target, out), texels[:, :, :, 0])
        if surface.format.has_stencil:
            assert not raw_texels(target, out, 0, True).any()
    other = Surface(chip, format="R8G8B8A8_UNORM", width=66, height=35)
    with pytest.raises(InputError, match="format and extent"):
        resolve.resolve_into(surface, memory, other, np.zeros(other.total_size, np.uint8))


def test_what_is_refused() -> None:
    surface, memory, _ = made("navi21", "R32_UINT", 4)
    with pytest.raises(InputError, match="resolve mode"):
        resolve.resolve_color(surface, memory, mode="average")
    with pytest.raises(InputError, match="one sample"):
        single = Surface("navi21", width=8, height=8)
        resolve.resolve_color(single, np.zeros(single.total_size, np.uint8))
    with pytest.raises(InputError, match="resolve mode"):
        resolve.resolve_depth(surface, memory, "median")
