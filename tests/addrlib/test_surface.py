"""Layouts, addresses and choices of swizzle modes on GFX9 to GFX12.

``surface_facts.json`` holds answers of AMD's addrlib (as in Mesa): [function, configuration, inputs, status, outputs].
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyaco.addrlib import GpuConfig, Status, SurfaceFlags, gpu_config, gpu_configs
from pyaco.addrlib.swizzle import modes, swizzle_tables
from pyaco.addrlib.v2 import address as v2_address
from pyaco.addrlib.v2 import queries as v2_surface
from pyaco.addrlib.v2 import settings as v2_settings
from pyaco.addrlib.v2.chip import QUERY
from pyaco.addrlib.v3 import address as v3_address
from pyaco.addrlib.v3 import queries as v3_surface
from pyaco.errors import InputError, UnsupportedError

FACTS = json.loads(Path(__file__).with_name("surface_facts.json").read_text())
FUNCTIONS = sorted({fact[0] for fact in FACTS})
CHIPS = [c for c in gpu_configs() if c.level >= 90]


def call(function: str, config: GpuConfig, length: int, fields: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return (statuses, columns of results) of a batched function."""
    module = next(m for m in (v2_surface, v2_address, v2_settings, v3_surface, v3_address) if function in m.__all__)
    if function == "displayable":
        return np.zeros(length), {"result": module.displayable(config, fields["swizzle_mode"], fields["bpp"])}
    result = getattr(module, function)(config, length, **fields)
    if function in ("surface_infos", "surface3_infos"):
        result = result[0]
    if isinstance(result, tuple):
        return result[0], {"address": result[1], "pipe_bank_xor": result[1]}
    if result.dtype.names is None:
        return np.zeros(length), {"pipe_bank_xor": result, "valid_modes": result}
    return result["status"], {name: result[name] for name in result.dtype.names}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_facts(function: str) -> None:
    for name in {fact[1] for fact in FACTS if fact[0] == function}:
        facts = [fact for fact in FACTS if fact[:2] == [function, name]]
        fields = {key for fact in facts for key in fact[2]}
        statuses, results = call(function, gpu_config(name), len(facts), {k: np.array([f[2].get(k, 0) for f in facts]) for k in fields})
        for i, (_, _, inputs, status, outputs) in enumerate(facts):
            assert statuses[i] == status, (name, inputs)
            got = {key: int(results[key][i]) for key in outputs}
            assert got == outputs, (name, inputs)


def mode_cases(config: GpuConfig) -> list[tuple[int, int, int]]:
    """Return every (mode, 3D, log2 samples) of a chip that has an address for some element."""
    lookup = swizzle_tables(config).lookup
    return [(m, v, s) for m in modes(config) for v in range(2) for s in range(4)
            if m and (lookup[v, m, :, s] >= 0).any() and not (v and s) and not (config.level >= 120 and m >= 5 and (s or not v))]


def texels(config: GpuConfig, mode: int, volume: int, samples: int, element: int, rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a random surface in that mode and all of its texels (of one or a few levels)."""
    extent = swizzle_tables(config).extent[volume, mode, element, samples]
    levels = 1 if samples or (config.level == 90 and extent.sum() + element <= 8) else int(rng.integers(1, 5))
    width, height = (int(rng.integers(1, 2 * (1 << e) + 2)) for e in extent[:2])
    width, height = min(width, 300), min(height, 300)
    slices = int(rng.integers(1, 2 * (1 << extent[2]) + 2)) if volume else int(rng.integers(1, 4))
    surface = {"swizzle_mode": mode, "resource_type": 1 + volume, "bpp": 8 << element, "width": width, "height": height, "num_slices": slices,
               "num_mip_levels": levels, "num_samples": 1 << samples, "pitch_in_element": 0}
    parts = []
    for level in range(levels):
        depth = max(slices >> level, 1) if volume else slices
        grid = np.meshgrid(
            np.arange(max(width >> level, 1)), np.arange(max(height >> level, 1)), np.arange(depth), np.arange(1 << samples), [level])
        parts.append(np.stack([g.ravel() for g in grid]))
    x, y, z, s, level = np.concatenate(parts, axis=1)
    chosen = rng.permutation(len(x))[:5_000]
    return surface, {"x": x[chosen], "y": y[chosen], "slice": z[chosen], "sample": s[chosen], "mip_id": level[chosen]}


# One chip of each generation here; the other chips in continuous integration.
EACH_GENERATION = ("raven", "navi10", "navi21", "navi31", "gfx1201")
SOME_CHIPS = [pytest.param(c, id=c.name, marks=() if c.name in EACH_GENERATION else pytest.mark.slow) for c in CHIPS]


@pytest.mark.parametrize("config", SOME_CHIPS)
def test_no_two_texels_share_an_address_and_every_address_leads_back(config: GpuConfig) -> None:
    rng = np.random.default_rng(config.gb_addr_config)
    tried: Counter[int] = Counter()
    for mode, volume, samples in mode_cases(config):
        element = int(rng.choice(np.nonzero(swizzle_tables(config).lookup[volume, mode, :, samples] >= 0)[0]))
        surface, where = texels(config, mode, volume, samples, element, rng)
        if config.level >= 120:
            status, address = v3_address.addresses3(config, len(where["x"]), **surface, **where)
            back = v3_address.coordinates3(config, len(address), **surface, address=address)
        else:
            surface |= {"num_frags": 1 << samples}
            status, address = v2_address.addresses(config, len(where["x"]), **surface, **where)
            back = v2_address.coordinates(config, len(address), **surface, address=address)
        if (status == Status.INVALID_PARAMETERS).all():
            continue  # addrlib has no equation for it
        assert (status == Status.OK).all()
        tried[mode] += len(address)
        assert (back["status"] == Status.OK).all(), surface
        if config.level >= 120 and volume and surface["num_mip_levels"] > 1:
            # The real library lets levels of a 3D tail overlap on GFX12: what comes back need only have the same address.
            again = {name: back[name] for name in ("x", "y", "slice", "sample", "mip_id")}
            assert (v3_address.addresses3(config, len(address), **surface, **again)[1] == address).all()
            continue
        assert len(np.unique(address)) == len(address), surface
        for name, column in where.items():
            assert (back[name] == column).all(), (surface, name)
    assert len(tried) >= 7


@pytest.mark.parametrize("name", ["vega10", "navi10", "navi21", "navi31"])
@settings(max_examples=25, deadline=None)
@given(width=st.integers(1, 5000), height=st.integers(1, 5000), mips=st.integers(1, 12), element=st.integers(0, 4), slices=st.integers(1, 9),
       mode=st.sampled_from([0, 2, 6, 10, 22, 26]))
def test_scalar_and_batched_agree(name: str, width: int, height: int, mips: int, element: int, slices: int, mode: int) -> None:
    config = gpu_config(name)
    query = {"width": width, "height": height, "swizzle_mode": mode, "bpp": 8 << element, "resource_type": 1, "num_slices": slices,
             "num_mip_levels": mips, "flags": int(SurfaceFlags.TEXTURE)}
    infos, levels = v2_surface.surface_infos(config, 3, **query)
    if infos["status"][1] != Status.OK:
        with pytest.raises(InputError):
            v2_surface.surface_info(config, **query)
        return
    info, mip_infos = v2_surface.surface_info(config, **query)
    assert tuple(info) == infos[1].item()
    assert [tuple(m) for m in mip_infos] == levels[1].tolist()
    assert info.surf_size == info.slice_size * max(info.num_slices, info.mip_chain_slice)
    assert info.slice_size >= sum(max(width >> i, 1) * max(height >> i, 1) for i in range(mips)) << element


@pytest.mark.parametrize("config", CHIPS, ids=lambda c: c.name)
def test_blocks_are_filled(config: GpuConfig) -> None:
    """The coordinates inside a block reach every offset of the block once."""
    tables = swizzle_tables(config)
    for key, index in np.ndenumerate(tables.lookup):
        if index < 0:
            continue
        equation = tables.equations[index]
        free = int(equation.masks.any(axis=1).sum())
        assert int((tables.inverse[index] != 0).sum()) == free
        assert tables.extent[key].sum() + key[3] == free, key


def test_equation_words() -> None:
    config = gpu_config("navi21")
    equation = swizzle_tables(config).equations[swizzle_tables(config).lookup[0, 9, 2, 0]]
    assert equation.text().splitlines()[:4] == ["bit  0: 0", "bit  1: 0", "bit  2: x0", "bit  3: x1"]
    x, y = np.meshgrid(np.arange(128), np.arange(128))
    assert np.array_equal(np.sort(equation.offset(x, y).ravel()), np.arange(0, 65536, 4))


def test_errors() -> None:
    navi, tahiti, gfx12 = gpu_config("navi21"), gpu_config("tahiti"), gpu_config("gfx1201")
    with pytest.raises(InputError):
        v2_surface.surface_info(navi, width=8, height=8, bpp=32, swizzle_mode=7)
    with pytest.raises(InputError):
        v2_surface.surface_info(navi, width=8, height=8, swizzle_mode=27)
    with pytest.raises(InputError):
        v2_surface.surface_info(navi, width=8, height=8, bpp=32, swizzle_mode=27, num_mip_levels=17, resource_type=9)
    with pytest.raises(UnsupportedError):
        v2_surface.surface_info(tahiti, width=8, height=8, bpp=32)
    with pytest.raises(UnsupportedError):
        v3_surface.surface3_info(navi, width=8, height=8, bpp=32)
    with pytest.raises(InputError):
        v3_surface.surface3_info(gfx12, width=8, height=8, bpp=32, swizzle_mode=8)
    with pytest.raises(InputError):
        v2_address.address(navi, width=8, height=8, bpp=32, swizzle_mode=27, resource_type=1, sample=1)
    with pytest.raises(InputError):
        v2_address.texel_coordinates(navi, width=8, height=8, bpp=32, swizzle_mode=27, resource_type=1, address=1 << 40)
    with pytest.raises(InputError):
        v2_address.subresource_offset(navi, swizzle_mode=99)
    with pytest.raises(InputError):
        v2_settings.preferred_setting(navi, flags=int(SurfaceFlags.FMASK | SurfaceFlags.NEED_EQUATION), width=8, height=8, bpp=8, resource_type=77)
    with pytest.raises(InputError):
        gpu_config("voodoo")


@pytest.mark.parametrize("name", ["vega10", "navi21", "navi31"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_nonsense_is_an_error_or_an_answer(name: str, data: Any) -> None:
    number = st.one_of(st.integers(-3, 40), st.sampled_from([64, 128, 4096, 1 << 20, 1 << 31, -(1 << 40), 1 << 40]))
    for function, dtype in (("surface_infos", QUERY), ("addresses", v2_address.ADDRESS_QUERY), ("coordinates", v2_address.INVERSE_QUERY),
                            ("preferred_settings", v2_settings.SETTING_QUERY), ("possible_modes", v2_settings.SETTING_QUERY),
                            ("non_bc_views", v2_settings.VIEW_QUERY), ("slice_pipe_bank_xors", v2_address.SLICE_XOR_QUERY)):
        fields = {field: data.draw(number) for field in dtype.names or ()}
        statuses, _ = call(function, gpu_config(name), 2, fields)
        assert set(statuses) <= {int(s) for s in Status}
