"""Sampler descriptors (S#): four dwords.

Sources: the ISA documents' "Image Sampler Definition"; Mesa's ``ac_descriptors.c`` for what drivers set beyond that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.registers import registers
from pyaco.targets.features import (
    has_sampler_anisotropy_override,
    has_sampler_compat_mode,
    has_sampler_lsb_ceil,
    has_split_perf_mip,
    has_wide_lod_bias,
)

__all__ = ["Sampler", "sampler_descriptor", "texel_filters"]


@dataclass(frozen=True)
class Sampler:
    """What a sampler does, in the hardware's numbers.

    Attributes
    ----------
    clamp : tuple of int
        SQ_TEX_CLAMP in x, y and z.
    mag_filter, min_filter, mip_filter : int
        SQ_TEX_XY_FILTER and SQ_TEX_MIP_FILTER.
    max_anisotropy : int
        Logarithm of the ratio, 0 to 4.
    compare : int
        SQ_TEX_DEPTH_COMPARE.
    filter_mode : int
        SQ_IMG_FILTER_TYPE: blend, minimum or maximum.
    unnormalized, cube_wrap, truncate, anisotropy_of_one_level : bool
    border_color_type, border_color_pointer : int
    min_lod, max_lod, lod_bias : float
        Clamped to what the hardware holds.
    """

    clamp: tuple[int, int, int] = (0, 0, 0)
    mag_filter: int = 0
    min_filter: int = 0
    mip_filter: int = 0
    max_anisotropy: int = 0
    compare: int = 0
    filter_mode: int = 0
    unnormalized: bool = False
    cube_wrap: bool = True
    truncate: bool = False
    anisotropy_of_one_level: bool = False
    border_color_type: int = 0
    border_color_pointer: int = 0
    min_lod: float = 0.0
    max_lod: float = 15.0
    lod_bias: float = 0.0


def fixed_point(value: float, low: float, high: float) -> int:
    """Return a level of detail with 8 fractional bits: clamped to the limits, rounded toward zero."""
    if value != value:
        raise InputError("a level of detail that is no number")
    return int(min(max(value, low), high) * 256)


@checked
def sampler_descriptor(sampler: Sampler, gfx_level: int) -> tuple[int, int, int, int]:
    """Return the descriptor of a sampler.

    Parameters
    ----------
    sampler : Sampler
    gfx_level : int
        Hardware level times ten.

    Raises
    ------
    InputError
        A number that does not fit its field.
    """
    try:
        return _words(sampler, gfx_level)
    except TypeError:                      # of what has no hash, such as a list for `clamp`
        return _words.__wrapped__(sampler, gfx_level)


@lru_cache(maxsize=1024)
def _words(sampler: Sampler, gfx_level: int) -> tuple[int, int, int, int]:
    """Every dispatch asks for those of its samplers, which are few."""
    known = registers(gfx_level)
    performance = sampler.max_anisotropy + 6 if sampler.max_anisotropy else 0
    last_lod = 17 if has_split_perf_mip(gfx_level) else 15
    first = {
        "CLAMP_X": sampler.clamp[0], "CLAMP_Y": sampler.clamp[1], "CLAMP_Z": sampler.clamp[2],
        "MAX_ANISO_RATIO": sampler.max_anisotropy, "DEPTH_COMPARE_FUNC": sampler.compare,
        "FORCE_UNNORMALIZED": int(sampler.unnormalized), "ANISO_THRESHOLD": sampler.max_anisotropy >> 1,
        "ANISO_BIAS": sampler.max_anisotropy, "TRUNC_COORD": int(sampler.truncate),
        "DISABLE_CUBE_WRAP": int(not sampler.cube_wrap), "FILTER_MODE": sampler.filter_mode,
    }
    if has_sampler_compat_mode(gfx_level):
        first["COMPAT_MODE"] = 1
    second = {"MIN_LOD": fixed_point(sampler.min_lod, 0, last_lod), "MAX_LOD": fixed_point(sampler.max_lod, 0, last_lod)}
    third = {"XY_MAG_FILTER": sampler.mag_filter, "XY_MIN_FILTER": sampler.min_filter, "MIP_FILTER": sampler.mip_filter}
    fourth = {"BORDER_COLOR_TYPE": sampler.border_color_type, "BORDER_COLOR_PTR": sampler.border_color_pointer}
    if has_split_perf_mip(gfx_level):
        third["PERF_MIP_LO"], fourth["PERF_MIP_HI"] = performance & 3, performance >> 2
    else:
        second["PERF_MIP"] = performance
    third |= _bias_and_filter(sampler, gfx_level)
    names = ("SQ_IMG_SAMP_WORD0", "SQ_IMG_SAMP_WORD1", "SQ_IMG_SAMP_WORD2", "SQ_IMG_SAMP_WORD3")
    a, b, c, d = (known[name].encode(**fields) for name, fields in zip(names, (first, second, third, fourth), strict=True))
    return a, b, c, d


@checked
def texel_filters(words: Sequence[int], gfx_level: int) -> tuple[int, int]:
    """Return the filters of a sampler's descriptor, SQ_TEX_XY_FILTER: of what is magnified, and of what is not.

    Parameters
    ----------
    words : sequence of int
        Four dwords.
    gfx_level : int
        Hardware level times ten.
    """
    known = registers(gfx_level)["SQ_IMG_SAMP_WORD2"]
    return known.field("XY_MAG_FILTER").get(words[2]), known.field("XY_MIN_FILTER").get(words[2])


def _bias_and_filter(sampler: Sampler, gfx_level: int) -> dict[str, int]:
    if has_wide_lod_bias(gfx_level):
        bias = fixed_point(sampler.lod_bias, -32, 31)
        return {"LOD_BIAS": bias & 0x3FFF, "ANISO_OVERRIDE": int(not sampler.anisotropy_of_one_level)}
    fields = {"LOD_BIAS": fixed_point(sampler.lod_bias, -16, 16) & 0x3FFF, "FILTER_PREC_FIX": 1}
    if has_sampler_lsb_ceil(gfx_level):
        fields["DISABLE_LSB_CEIL"] = 1
    if has_sampler_anisotropy_override(gfx_level):
        fields["ANISO_OVERRIDE"] = int(not sampler.anisotropy_of_one_level)
    return fields
