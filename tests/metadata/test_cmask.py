"""CMASK: what its codes say, facts of drivers, and fast clears and FMASK that it speaks for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pyaco.addrlib import Surface, SurfaceUse
from pyaco.errors import InputError, UnsupportedError
from pyaco.metadata import cmask, fmask
from pyaco.metadata.colors import pack_color
from pyaco.metadata.memory import raw_texels

CHIPS = ("tahiti", "bonaire", "hawaii", "tonga", "polaris10", "fiji", "stoney", "vega10", "raven", "navi10", "navi14", "navi21", "navi24")
OLD = tuple(chip for chip in CHIPS if not chip.startswith("navi"))
_NO_USE = SurfaceUse(0)
FORMATS = ("R8G8B8A8_UNORM", "R16G16B16A16_FLOAT", "R32_UINT", "B5G6R5_UNORM")


def made(chip: str, samples: int, layers: int = 1, format: str = "R8G8B8A8_UNORM", use: SurfaceUse = _NO_USE) -> tuple[Surface, Any, Any]:
    """A surface with random texels, its memory, and CMASK of its own where it has that."""
    surface = Surface(chip, format=format, width=500, height=300, samples=samples, layers=layers, use=use)
    memory = np.random.default_rng(samples).integers(0, 256, surface.total_size, np.uint8)
    own = np.zeros(surface.layout.cmask_size, np.uint8) if samples == 1 else None
    cmask.initialize(surface, memory, cmask=own)
    if samples > 1:
        fmask.initialize(surface, memory)
    return surface, memory, own


# Codes of CMASK that says nothing, by samples and fragments. Source: PAL's Gfx6Cmask::GetInitialValue (0xDD..., 0xEE..., 0xFF...).
@pytest.mark.parametrize(("samples", "fragments", "code"), [
    (1, 1, 0xF), (2, 1, 0xD), (4, 1, 0xD), (8, 1, 0xD), (16, 1, 0xD), (2, 2, 0xD), (4, 2, 0xE), (8, 2, 0xE), (16, 2, 0xE), (4, 4, 0xE), (8, 4, 0xF),
    (16, 4, 0xF), (8, 8, 0xF), (16, 8, 0xF),
])  # fmt: skip
def test_expanded_codes(samples: int, fragments: int, code: int) -> None:
    assert cmask.expanded_code(samples, fragments) == code
    if samples > 1:
        assert cmask.used_bits(code) == fmask.index_bits(samples, fragments)


def test_every_code() -> None:
    for code in range(16):
        if 0 < code < 0xC:
            with pytest.raises(UnsupportedError, match=f"CMASK code {code:#x}"):
                cmask.is_cleared(np.array([code], np.uint8))
        else:
            assert cmask.is_cleared(np.array([code], np.uint8)).tolist() == [code == 0]
        if code < 0xC:
            with pytest.raises(InputError, match=f"{code:#x}"):
                cmask.used_bits(code)


@pytest.mark.parametrize("chip", CHIPS)
def test_codes_have_their_own_places(chip: str) -> None:
    for samples, layers in ((2, 1), (4, 3), (8, 1), (1, 2)):
        if samples == 1 and chip.startswith("navi"):
            continue
        surface, memory, own = made(chip, samples, layers)
        before = memory.copy()
        codes = np.random.default_rng(5).integers(0, 16, (layers, 38, 63), np.uint8)
        cmask.write_codes(surface, memory, codes, cmask=own)
        np.testing.assert_array_equal(cmask.read_codes(surface, memory, cmask=own), codes)
        first, size = surface.layout.cmask_offset, surface.layout.cmask_size
        if samples > 1:
            before[first : first + size] = memory[first : first + size]
        np.testing.assert_array_equal(memory, before)


@pytest.mark.parametrize("chip", OLD)
@pytest.mark.parametrize("format", FORMATS)
def test_a_fast_clear_eliminated_is_a_plain_clear(chip: str, format: str) -> None:
    surface, memory, own = made(chip, 1, 2, format, SurfaceUse.DISABLE_DCC)
    color = (3, 2, 1, 0) if "UINT" in format else (0.5, 0.25, 1, 0)
    texels = raw_texels(surface, memory)
    if surface.swizzle_mode == "TILED_1D":
        # Such tiles have no pipes that addresses could follow from: all of CMASK or nothing.
        with pytest.raises(UnsupportedError, match="without macro tiles"):
            cmask.fast_clear(surface, memory, layers=1, cmask=own)
    else:
        assert cmask.fast_clear(surface, memory, layers=1, cmask=own) == cmask.CLEARED
        np.testing.assert_array_equal(raw_texels(surface, memory), texels)
        assert cmask.eliminate(surface, memory, color, cmask=own) == 38 * 63
        found = raw_texels(surface, memory)
        assert (found[1] == pack_color(format, color)).all() and (found[0] == texels[0]).all()
        assert (cmask.read_codes(surface, memory, cmask=own) == cmask.NOT_CLEARED).all()
    cmask.fast_clear(surface, memory, cmask=own)
    assert not own.any()
    assert cmask.eliminate(surface, memory, color, cmask=own) == 2 * 38 * 63
    assert (raw_texels(surface, memory) == pack_color(format, color)).all()
    assert (own == 0xFF).all()


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_some_tiles(data: st.DataObject) -> None:
    """Tiles cleared, others in fragment 0, others as FMASK says: what decompressing leaves is what each said before."""
    chip, samples = data.draw(st.sampled_from(CHIPS)), data.draw(st.sampled_from((2, 4, 8)))
    surface, memory, _ = made(chip, samples, use=SurfaceUse.DISABLE_DCC)
    random = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    full = cmask.expanded_code(samples, samples)
    codes = random.choice(np.array([cmask.CLEARED, cmask.CLEARED_BY_DCC, full], np.uint8), (1, 38, 63))
    cmask.write_codes(surface, memory, codes)
    fmask.write_words(surface, memory, fmask.encode_words(random.integers(0, samples, (1, 300, 500, samples)), samples))
    before, _ = fmask.fetch_samples(surface, memory)
    stored = raw_texels(surface, memory)
    color = (1, 0.5, 0.25, 0.125)
    with pytest.raises(InputError, match="eliminate"):
        cmask.effective_words(surface, memory)
    cmask.decompress_fmask(surface, memory, color)
    after, known = fmask.fetch_samples(surface, memory)
    of_pixels = codes.repeat(8, 1).repeat(8, 2)[:, :300, :500]
    assert known.all()
    assert (after[of_pixels == cmask.CLEARED] == pack_color("R8G8B8A8_UNORM", color)).all()
    np.testing.assert_array_equal(after[of_pixels == full], before[of_pixels == full])
    np.testing.assert_array_equal(after[of_pixels == cmask.CLEARED_BY_DCC], np.repeat(stored[of_pixels == cmask.CLEARED_BY_DCC][:, :1], samples, 1))
    assert (cmask.read_codes(surface, memory) == full).all()


def test_fmask_in_use_in_part_is_named() -> None:
    surface, memory, _ = made("navi21", 8)
    codes: NDArray[np.uint8] = np.full((1, 38, 63), 0xF, np.uint8)
    codes[0, 3, 4] = 0xD
    cmask.write_codes(surface, memory, codes)
    with pytest.raises(UnsupportedError, match="in use in part: CMASK code 0xd"):
        cmask.decompress_fmask(surface, memory)
    surface, memory, _ = made("navi21", 2)
    codes[:] = 0xD
    codes[0, 3, 4] = 0xE
    cmask.write_codes(surface, memory, codes)
    with pytest.raises(InputError, match="CMASK code 0xe of a surface whose FMASK counts with 0xd"):
        cmask.effective_words(surface, memory)


@pytest.mark.parametrize(("chip", "samples", "code"), [
    ("tahiti", 1, 0x0), ("tahiti", 4, 0x0), ("tonga", 1, 0xF), ("tonga", 4, 0xC), ("vega10", 1, 0xF), ("vega10", 4, 0xC), ("navi21", 4, 0xC),
])
def test_dcc_decides_what_a_clear_writes(chip: str, samples: int, code: int) -> None:
    """Source: PAL's Gfx6Cmask::GetFastClearCode, RADV's radv_get_cmask_fast_clear_value."""
    surface, memory, own = made(chip, samples)
    assert cmask.fast_clear_code(surface) == code
    assert cmask.fast_clear(surface, memory, cmask=own) == code


def test_what_is_refused() -> None:
    surface, memory, _ = made("tahiti", 1)
    for run in (cmask.read_codes, cmask.fast_clear, cmask.initialize):
        with pytest.raises(InputError, match="buffer of its own"):
            run(surface, memory)
    with pytest.raises(InputError, match="the memory"):
        cmask.read_codes(surface, memory, cmask=np.zeros(8, np.uint8))
    for chip, words in (("navi31", "GFX11 and later have none"), ("gfx1201", "none")):
        late = Surface(chip, width=500, height=300, samples=4)
        with pytest.raises((InputError, UnsupportedError), match=words):
            cmask.read_codes(late, np.zeros(late.total_size, np.uint8))
    several = Surface("tahiti", width=500, height=300, mips=3)
    with pytest.raises(UnsupportedError, match="several levels"):
        cmask.read_codes(several, np.zeros(several.total_size, np.uint8))
    surface, memory, _ = made("navi21", 4)
    for codes in (np.zeros((1, 2, 3), np.uint8), np.full((1, 38, 63), 16), np.zeros((1, 38, 63))):
        with pytest.raises(InputError, match="codes from 0 to 15"):
            cmask.write_codes(surface, memory, codes)
