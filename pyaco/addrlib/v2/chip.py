"""Records of the queries of GFX9 to GFX11.5, and what a chip contributes to them.

All fields are int64, so that a kernel never mixes signed and unsigned numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyaco.addrlib.chips import GpuConfig
from pyaco.addrlib.enums import SwizzleMode
from pyaco.addrlib.formats import format_table
from pyaco.addrlib.generations import Generation
from pyaco.addrlib.records import MODE, Table, record
from pyaco.addrlib.swizzle import MODES, Mode, SwizzleTables, modes, swizzle_tables, var_block_log2
from pyaco.errors import UnsupportedError
from pyaco.targets.features import has_fmask

__all__ = ["CHIP", "GFX9", "GFX10", "GFX11", "INFO", "QUERY", "ChipTables", "chip_tables", "kernel_tables"]

QUERY = record(
    "flags swizzle_mode resource_type format bpp width height num_slices num_mip_levels num_samples num_frags pitch_in_element slice_align")
"""A surface. Width and height in pixels; `bpp` bits per element, used when `format` is 0; `pitch_in_element` and `slice_align` (bytes)
are 0 or what the caller demands."""

INFO = record(
    "status pitch height num_slices mip_chain_pitch mip_chain_height mip_chain_slice slice_size surf_size base_align bpp "
    "pixel_mip_chain_pitch pixel_mip_chain_height pixel_pitch pixel_height pixel_bits block_width block_height block_slices "
    "epitch_is_height equation_index mip_chain_in_tail first_mip_id_in_tail eye_height right_offset right_swizzle")
"""Layout of a surface. Pitch, height, mip chain and block in elements; sizes, alignment and `right_offset` (stereo) in bytes."""

_SETS = "linear z s d r x xor rsrc_1d rsrc_2d rsrc_3d prt_2d prt_3d view_3d_as_2d msaa display_32 display_64 display_other"

CHIP = np.dtype([
    *((name, np.int64) for name in (
        "generation", "format_table", "has_fmask", "pipes_log2", "all_pipes_log2", "banks_log2", "pipe_interleave_log2", "var_block_log2", "tail_fix",
        "htile_cache_conflict", "display_max_bpp")),
    *((f"set_{name}", np.int64) for name in _SETS.split()),
    ("blocks", np.int64, (2, 8)),
    ("probe", np.int64, (2, 8)),
])
"""What a chip contributes: its `Generation`, registers, quirks, sets of swizzle modes as bit masks. `blocks[3D][block type]` is the set of
modes with that block, `probe` the mode whose size stands for the block type in the preferred-setting query (-1: none)."""

# The generations as kernels compare them.
GFX9, GFX10, GFX11 = int(Generation.GFX9), int(Generation.GFX10), int(Generation.GFX11)

# Block types, in the order of the preferred-setting query.
LINEAR, MICRO, THIN_4KB, THICK_4KB, THIN_64KB, THICK_64KB, THIN_LARGE, THICK_LARGE = range(8)


def _mask(*found: Mode) -> int:
    return sum(1 << m.number for m in found if m.number < 32)


def _named(config: GpuConfig, names: str) -> int:
    known = modes(config)
    return _mask(*(known[number] for name in names.split() if (number := int(SwizzleMode[name if name == "LINEAR" else f"SW_{name}"])) in known))


def _sets(config: GpuConfig, tiled: list[Mode]) -> dict[str, int]:
    """Return the sets of modes that resources and uses allow."""
    by_kind = {k: _mask(*(m for m in tiled if m.kind == k)) for k in "ZSDR"}
    by_size = {s: _mask(*(m for m in tiled if m.block_log2 == s and not m.number >= 28)) for s in (8, 12, 16)}
    large = _mask(*(m for m in tiled if m.number >= 28))
    everything = _mask(*tiled) | 1
    x = _mask(*(m for m in tiled if m.xor and not m.prt))
    fixed = by_size[12] | by_size[16]
    sets = {"linear": 1, "z": by_kind["Z"], "s": by_kind["S"], "d": by_kind["D"], "r": by_kind["R"], "x": x,
            "xor": _mask(*(m for m in tiled if m.xor)), "rsrc_2d": everything}
    if config.generation == Generation.GFX9:
        sets |= {"rsrc_1d": 1, "rsrc_3d": everything & ~by_size[8] & ~by_kind["R"], "prt_2d": fixed & ~x,
                 "prt_3d": fixed & ~x & ~by_kind["R"] & ~by_kind["D"], "msaa": everything & ~by_size[8] & ~1}
        thin = by_kind["D"] & ~by_size[8]
    elif config.generation < Generation.GFX11:
        thin = _named(config, "64KB_Z_X 64KB_R_X") | large
        sets |= {"rsrc_1d": 1 | by_kind["R"] | by_kind["Z"], "prt_2d": fixed & ~x, "prt_3d": fixed & ~x & ~by_kind["D"],
                 "rsrc_3d": _named(config, "LINEAR 4KB_S 64KB_S 64KB_S_T 4KB_S_X 64KB_S_X 64KB_D_X") | thin,
                 "msaa": by_kind["Z"] | by_kind["R"]}
    else:
        thin = by_kind["Z"] | by_kind["R"]
        sets["rsrc_2d"] = 1 | by_kind["D"] | thin
        sets["rsrc_3d"] = 1 | by_kind["S"] | thin | _named(config, "64KB_D_X 256KB_D_X")
        sets |= {"rsrc_1d": _named(config, "LINEAR 64KB_R_X 64KB_Z_X"), "prt_2d": fixed & ~x & sets["rsrc_2d"],
                 "prt_3d": fixed & ~x & sets["rsrc_3d"], "msaa": thin}
    sets["view_3d_as_2d"] = thin | 1
    return sets | _display_sets(config)


def _display_sets(config: GpuConfig) -> dict[str, int]:
    """Return the modes that the display engine scans out, by element size."""
    named = {
        "dce12": "LINEAR 4KB_D 4KB_R 64KB_D 64KB_R 4KB_D_X 4KB_R_X 64KB_D_X 64KB_R_X",
        "dcn1": "LINEAR 4KB_S 64KB_S 64KB_S_T 4KB_S_X 64KB_S_X",
        "dcn2": "LINEAR 64KB_S 64KB_S_T 64KB_S_X",
        "dcn20": "LINEAR 4KB_S 64KB_S 64KB_S_T 4KB_S_X 64KB_S_X 64KB_R_X",
        "dcn21": "LINEAR 64KB_S 64KB_S_T 64KB_S_X 64KB_R_X",
        "dcn32": "LINEAR 64KB_D 64KB_D_T 64KB_D_X 64KB_R_X 256KB_D_X 256KB_R_X",
    }
    # What 64-bit elements add where they may be scanned out in D order.
    wide = {"dcn1": "4KB_D 64KB_D 64KB_D_T 4KB_D_X 64KB_D_X", "dcn2": "64KB_D 64KB_D_T 64KB_D_X",
            "dcn20": "4KB_D 64KB_D 64KB_D_T 4KB_D_X 64KB_D_X", "dcn21": "64KB_D 64KB_D_T 64KB_D_X"}
    if config.generation == Generation.GFX9:
        engine = "dce12" if config.family_id == 141 else "dcn2" if config.chip == "renoir" else "dcn1"
    else:
        engine = {100: "dcn20", 103: "dcn21"}.get(config.level, "dcn32")
    other = _named(config, named[engine])
    if config.generation >= Generation.GFX11 and config.family_id in (148, 150):
        other &= ~_named(config, "256KB_D_X 256KB_R_X")
    return {"display_other": other, "display_64": other | _named(config, wide.get(engine, "")),
            "display_32": other | (_named(config, "256B_D 256B_R") if engine == "dce12" else 0)}


def _blocks(config: GpuConfig, tiled: list[Mode], sets: dict[str, int]) -> list[list[int]]:
    """Return the modes of each block type, for 2D and for 3D resources."""
    size = {s: _mask(*(m for m in tiled if m.block_log2 == s and m.number < 28)) for s in (8, 12, 16)}
    large = _mask(*(m for m in tiled if m.number >= 28)) if config.generation >= Generation.GFX11 or var_block_log2(config) else 0
    thin = sets["view_3d_as_2d"] & ~1
    thick = sets["rsrc_3d"] & ~thin & ~1
    if config.generation < Generation.GFX11:
        thin_4kb = thin & size[12] if config.generation == Generation.GFX9 else 0
        volume = [1, size[8], thin_4kb, thick & size[12], thin & size[16], thick & size[16], large, 0]
    else:
        volume = [1, size[8], 0, thick & size[12], thin & size[16], thick & size[16], thin & large, thick & large]
    return [[1, size[8], size[12], 0, size[16], 0, large, 0], volume]


def _probes(config: GpuConfig) -> list[list[int]]:
    names = {
        Generation.GFX9: ("LINEAR 256B_D 4KB_D - 64KB_D - - -", "LINEAR 256B_D 4KB_D 4KB_S 64KB_D 64KB_S - -"),
        Generation.GFX10: ("LINEAR 256B_S 4KB_S - 64KB_S - VAR_R_X -", "LINEAR - - 4KB_S 64KB_R_X 64KB_S VAR_R_X -"),
        Generation.GFX11: ("LINEAR 256B_D 4KB_D_X - 64KB_D_X - 256KB_D_X -", "LINEAR - - 4KB_S_X 64KB_R_X 64KB_S_X 256KB_R_X 256KB_S_X"),
    }[config.generation]
    return [[-1 if n == "-" else int(SwizzleMode[n if n == "LINEAR" else f"SW_{n}"]) for n in row.split()] for row in names]


@dataclass(frozen=True, eq=False)
class ChipTables:
    """What the kernels of GFX9 to GFX11.5 read of a chip: the record (in an array of one), the modes, the equations."""

    chip: NDArray[Any]
    modes: NDArray[Any]
    swizzle: SwizzleTables


@cache
def chip_tables(config: GpuConfig) -> ChipTables:
    """Return the tables of a chip of GFX9 to GFX11.5."""
    if config.rules.library != 2:
        raise UnsupportedError(f"{config.name}: these queries are for GFX9 to GFX11.5")
    known = modes(config)
    table = np.zeros(MODES, MODE)
    for mode in known.values():
        thick = mode.kind in ("ZS" if config.generation == Generation.GFX9 else "SD")
        # Fields in the order of MODE.
        table[mode.number] = (
            1, mode.kind == "L", mode.block_log2, *(mode.kind == k for k in "ZSDR"), mode.xor, mode.prt,
            config.generation < Generation.GFX11 and mode.number in (28, 31), thick)
    chip = np.zeros(1, CHIP)
    # 4KB_R_X is a mode of GFX10 that no resource may have.
    tiled = [m for m in known.values() if m.kind != "L" and not (m.number == 23 and config.generation >= Generation.GFX10)]
    sets = _sets(config, tiled)
    for name, value in sets.items():
        chip[f"set_{name}"] = value
    chip["generation"] = config.generation
    chip["format_table"] = format_table(config.level)
    chip["has_fmask"] = has_fmask(config.level)
    chip["pipes_log2"] = config.pipes_log2
    chip["all_pipes_log2"] = config.pipes_log2 + config.shader_engines_log2
    chip["banks_log2"] = config.banks_log2
    chip["pipe_interleave_log2"] = config.pipe_interleave_log2
    chip["var_block_log2"] = var_block_log2(config)
    chip["tail_fix"] = config.generation >= Generation.GFX10 and config.chip != "navi10"
    chip["htile_cache_conflict"] = _htile_cache_conflict(config)
    chip["display_max_bpp"] = 64
    chip["blocks"] = _blocks(config, tiled, sets)
    chip["probe"] = _probes(config)
    return ChipTables(chip, table, swizzle_tables(config))


@cache
def kernel_tables(config: GpuConfig) -> tuple[Table, Table, Table, Table, Table, Table]:
    """Return the tables of a chip in the order in which the kernels take them."""
    tables = chip_tables(config)
    swizzle = tables.swizzle
    return tables.chip, tables.modes, swizzle.extent, swizzle.lookup, swizzle.number, swizzle.basis


def _htile_cache_conflict(config: GpuConfig) -> bool:
    # Vega12 with two render backends per engine: depth arrays with xor modes and aligned HTILE are not coherent.
    shape = (config.pipes_log2, config.shader_engines_log2)
    return config.chip == "vega12" and config.render_backends_per_se_log2 == 1 and shape in set(product((1,), (2, 3))) | set(product((2,), (1, 2)))


