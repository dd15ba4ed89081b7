"""Metadata surfaces of GFX9 to GFX11.5: facts from the real library, and what must hold for every equation."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyaco.addrlib import gpu_config, gpu_configs
from pyaco.addrlib.enums import ResourceType, SwizzleMode
from pyaco.addrlib.metadata import CmaskRequest, DccRequest, HtileRequest, MetadataInfo, cmask_info, dcc_info, fmask_bits, htile_info
from pyaco.errors import InputError, UnsupportedError

FACTS = json.loads((Path(__file__).parent / "metadata_facts.json").read_text())
CASES = [(kind, fact) for kind, facts in FACTS.items() for fact in facts]
STATUS = {3: InputError, 4: UnsupportedError}


def ask(kind: str, fact: dict[str, Any]) -> MetadataInfo:
    config = gpu_config(fact["chip"])
    common: Any = (SwizzleMode(fact["mode"]), *fact["extent"], fact["levels"], fact["tail"], bool(fact["flags"] & 1), bool(fact["flags"] & 2))
    if kind == "htile":
        return htile_info(config, HtileRequest(*common))
    if kind == "cmask":
        return cmask_info(config, CmaskRequest(*common))
    return dcc_info(config, DccRequest(*common, bits=fact["bits"], resource=ResourceType.TEX_2D, fragments=fact["fragments"]))  # type: ignore[misc]


@pytest.mark.parametrize(("kind", "fact"), CASES, ids=[f"{k}-{f['chip']}-{i}" for i, (k, f) in enumerate(CASES)])
def test_fact(kind: str, fact: dict[str, Any]) -> None:
    if fact["status"]:
        with pytest.raises(STATUS[fact["status"]]):
            ask(kind, fact)
        return
    info = ask(kind, fact)
    assert [info.pitch, info.height, info.base_align, info.size, info.slice_size, *info.block[:2]] == fact["layout"]
    gfx9 = info.config.level == 90
    for level, expected in zip(info.levels, fact["mips"], strict=False):
        got = [level.in_tail, level.x, level.y, level.width, level.height] if gfx9 else [level.in_tail, level.offset, level.size, 0, 0]
        assert got == expected
    for x, y, z, sample, pipe_xor, samples, fragments, bits, status, nibble in fact["addresses"]:
        element_bits = {"htile": bits, "cmask": fmask_bits(samples, fragments), "dcc": None}[kind]
        if status:
            with pytest.raises(STATUS[status]):
                info.layout()
        else:
            assert info.layout(samples=samples, element_bits=element_bits).nibbles(x, y, z, sample, pipe_xor) == nibble


CHIPS = [c for c in gpu_configs() if 90 <= c.level < 120]
# On Vega 12 the real library's equations give two blocks the same address (its channel and backend bits conflict).
ONE_TO_ONE = [c for c in CHIPS if c.name != "vega12"]


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(ONE_TO_ONE), st.sampled_from([8, 16, 32, 64, 128]), st.booleans(), st.integers(1, 3000), st.integers(1, 2000), st.integers(1, 3))
def test_no_two_blocks_share_a_dcc_byte(config: Any, bits: Any, aligned: Any, width: Any, height: Any, slices: Any) -> None:
    if config.level == 100 and bits == 8:
        return  # 256 bytes of 8-bit elements are no rectangle there
    request = DccRequest(SwizzleMode.SW_64KB_R_X, width, height, slices, pipe_aligned=aligned, rb_aligned=aligned, bits=bits)
    info = dcc_info(config, request)
    w, h, _ = info.compressed_block
    z, y, x = np.mgrid[0:slices, 0:min(height, 40 * h):h, 0:min(width, 40 * w):w]
    address = info.address(x, y, z, pipe_xor=5)
    assert len(np.unique(address)) == address.size
    assert address.max() < info.size


@settings(max_examples=15, deadline=None)
@given(st.sampled_from(ONE_TO_ONE), st.integers(1, 2000), st.integers(1, 2000), st.sampled_from([1, 2, 4, 8]))
def test_htile_covers_its_surface(config: Any, width: Any, height: Any, samples: Any) -> None:
    info = htile_info(config, HtileRequest(SwizzleMode.SW_64KB_Z_X, width, height))
    y, x = np.mgrid[0:info.block[1]:8, 0:info.block[0]:8]
    address = info.layout(samples=samples).address(x, y)
    address = np.sort(address, axis=None)
    assert np.all(np.diff(address) > 0)
    if config.level > 90:
        assert np.array_equal(address, np.arange(address.size) * 4)


@settings(max_examples=15, deadline=None)
@given(st.sampled_from([c for c in ONE_TO_ONE if c.level < 110]), st.integers(1, 2000), st.integers(1, 2000))
def test_cmask_covers_its_surface_in_nibbles(config: Any, width: Any, height: Any) -> None:
    info = cmask_info(config, CmaskRequest(SwizzleMode.SW_64KB_Z_X, width, height))
    y, x = np.mgrid[0:info.block[1]:8, 0:info.block[0]:8]
    nibbles = np.sort(info.layout().nibbles(x, y), axis=None)
    assert np.all(np.diff(nibbles) > 0)
    if config.level > 90:  # a meta block of GFX9 need not be contiguous
        assert np.array_equal(nibbles, np.arange(x.size))


@pytest.mark.parametrize("config", CHIPS, ids=lambda c: c.name)
def test_kernel_and_single_addresses_agree(config: Any) -> None:
    info = dcc_info(config, DccRequest(SwizzleMode.SW_64KB_R_X, 4000, 3000, 2, bits=32))
    random = np.random.default_rng(3)
    x, y, z = random.integers(0, 4000, 5000), random.integers(0, 3000, 5000), random.integers(0, 2, 5000)
    layout = info.layout()
    many = layout.address(x, y, z, pipe_xor=3)
    assert np.array_equal(many[:200], [layout.address(int(a), int(b), int(c), pipe_xor=3) for a, b, c in zip(x[:200], y[:200], z[:200], strict=True)])


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(CHIPS), st.sampled_from(["htile", "cmask", "dcc"]), st.sampled_from([8, 16, 32, 64, 128]), st.integers(0, 31), st.data())
def test_there_and_back(config: Any, kind: Any, bits: Any, pipe_xor: Any, data: Any) -> None:
    width, height, slices = data.draw(st.integers(1, 3000)), data.draw(st.integers(1, 3000)), data.draw(st.integers(1, 4))
    if kind == "cmask" and config.level >= 110:
        return
    if kind == "dcc":
        info = dcc_info(config, DccRequest(SwizzleMode.SW_64KB_R_X, width, height, slices, bits=bits, pipe_aligned=data.draw(st.booleans())))
    elif kind == "htile":
        info = htile_info(config, HtileRequest(SwizzleMode.SW_64KB_Z_X, width, height, slices))
    else:
        info = cmask_info(config, CmaskRequest(SwizzleMode.SW_64KB_Z_X, width, height, slices))
    random = np.random.default_rng(width)
    x, y, z = (random.integers(0, extent, 100) for extent in (width, height, slices))
    layout = info.layout()
    address = layout.nibbles(x, y, z, pipe_xor=pipe_xor)
    back = layout.coordinates(address, pipe_xor)
    back_x, back_y, back_z, back_sample = back
    assert np.array_equal(layout.nibbles(back_x, back_y, back_z, back_sample, pipe_xor), address)
    w, h, _ = info.compressed_block
    if config in ONE_TO_ONE and not (config.level == 100 and bits <= 16 and kind == "dcc"):
        assert np.array_equal(back, [x - x % w, y - y % h, z, np.zeros(100)])


def test_no_way_back() -> None:
    layout = htile_info(gpu_config("navi31"), HtileRequest(SwizzleMode.SW_64KB_Z_X, 100, 100)).layout()
    with pytest.raises(InputError, match="nibble 3"):
        layout.coordinates([0, 8, 3])


def test_refusals() -> None:
    gfx11, gfx9, gfx12 = gpu_config("navi31"), gpu_config("vega10"), gpu_config("gfx1201")
    with pytest.raises(UnsupportedError, match="CMASK"):
        cmask_info(gfx11, CmaskRequest(SwizzleMode.SW_64KB_Z_X, 64, 64))
    with pytest.raises(UnsupportedError, match="linear"):
        dcc_info(gfx9, DccRequest(SwizzleMode.LINEAR, 64, 64))
    with pytest.raises(UnsupportedError):
        dcc_info(gfx12, DccRequest(SwizzleMode.SW_64KB_R_X, 64, 64))
    with pytest.raises(InputError):
        dcc_info(gfx11, DccRequest(SwizzleMode.LINEAR, 64, 64))
    for config, mode in ((gfx9, 28), (gfx9, 12), (gfx11, 11), (gfx11, 40)):
        with pytest.raises(InputError, match="no swizzle mode"):
            dcc_info(config, DccRequest(mode, 64, 64))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="bits"):
        DccRequest(SwizzleMode.SW_64KB_R_X, 64, 64, bits=24)
    with pytest.raises(InputError):
        HtileRequest(SwizzleMode.SW_64KB_Z_X, 0, 64)
    request = DccRequest(SwizzleMode.SW_64KB_R_X, 64, 64)
    for texel in ((-1, 0), (0, 5000), (0.5, 0), (0, 0, 1 << 14)):
        with pytest.raises(InputError, match="metadata coordinate"):
            dcc_info(gfx11, request).address(*texel)
    with pytest.raises(UnsupportedError, match="mip"):
        dcc_info(gfx11, replace(request, levels=3)).layout()
    assert htile_info(gfx9, HtileRequest(SwizzleMode.SW_64KB_Z_X, 64, 64)).equation is None


def test_equation_in_words() -> None:
    equation = dcc_info(gpu_config("vangogh"), DccRequest(SwizzleMode.SW_64KB_R_X, 64, 64)).equation
    assert equation is not None
    # byte address bit 9: the channel bit that slices flip too
    assert "bit 10: x4 ^ y4 ^ z0" in equation.text()


def test_no_addresses_in_dcc_of_surfaces_that_cannot_be() -> None:
    info = dcc_info(gpu_config("vega10"), DccRequest(SwizzleMode.SW_256B_D, 64, 64, fragments=2))
    with pytest.raises(UnsupportedError, match="256 bytes"):
        info.layout()
