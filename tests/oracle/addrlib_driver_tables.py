"""Replays of the tables of the driver layer, of DRM modifiers and of equations."""

from __future__ import annotations

import hashlib
import json
import lzma
import struct
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from addrlib_tables import Columns, Row, ask_rows, compare, load, report, rows
from replay_descriptors import request

from pyaco.addrlib import GpuConfig, gpu_config
from pyaco.addrlib.driver.gfx6 import SurfaceLevel
from pyaco.addrlib.driver.modifiers import decode_modifier, supported_modifiers
from pyaco.addrlib.driver.queries import (
    bo_metadata,
    compute_surface,
    non_block_compressed_view,
    planes,
    supports_dcc_image_stores,
    surface_address,
    surface_addresses,
)
from pyaco.addrlib.driver.records import SurfaceRequest
from pyaco.addrlib.equation import Equation
from pyaco.addrlib.swizzle import swizzle_tables
from pyaco.addrlib.v1.equation import equation_table
from pyaco.errors import InputError, PyacoError

_DCC = {
    "rb_aligned": "rb_aligned", "pipe_aligned": "pipe_aligned", "independent_64B": "independent_64B_blocks",
    "independent_128B": "independent_128B_blocks", "max_compressed_block_size": "max_compressed_block_size",
    "display_equation_valid": "display_equation_valid"}
# Columns of GFX6 to 8 that we have under another name, or in another place.
_GFX6 = {
    "bankw": "tile_info.bank_width", "bankh": "tile_info.bank_height", "mtilea": "tile_info.macro_aspect_ratio",
    "tile_split": "tile_info.tile_split_bytes", "num_banks": "tile_info.banks", "fmask_tiling_index": "fmask_tile_index",
    "fmask_bankh": "fmask_bank_height", "fmask_pitch_in_pixels": "fmask_pitch"}
_LEVEL_GFX6 = {  # column: attribute, and what its unit has of bytes
    "offset_256B": ("offset", 256), "slice_size_dw": ("slice_size", 4), "nblk_x": ("pitch", 1), "nblk_y": ("height", 1), "mode": ("mode", 1),
    "tiling_index": ("tile_index", 1)}
_LEVEL_DCC_GFX6 = ("dcc_offset", "dcc_fast_clear_size", "dcc_slice_fast_clear_size")
_LEVEL_GFX9 = {
    "offset": "offset", "pitch": "pitch", "prt_level_pitch": "prt_level_pitch", "prt_level_offset": "prt_level_offset",
    "meta_offset": "meta_level_offset", "meta_size": "meta_level_size"}
_ELSEWHERE = ("o_bo_metadata", "o_image_stores", "o_nplanes", "o_p0_", "o_p1_", "o_p2_", "o_p3_")


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _random(seed: int, count: int) -> list[int]:
    """Return what the C library's random() gives after srandom(seed): an additive feedback of lags 3 and 31."""
    state = [seed]
    for _ in range(30):
        state.append(16807 * state[-1] % 0x7FFFFFFF)
    state += state[:3]
    for _ in range(310 + count):
        state.append((state[-3] + state[-31]) & 0xFFFFFFFF)
    return [value >> 1 for value in state[344 : 344 + count]]


# Chips of the modifier test: the chip, its GB_ADDR_CONFIG before the bits below, and what else it has.
_TEST_CHIPS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "vega10": ("vega10", 0x2A114042, {"max_render_backends": 16}), "vega20": ("vega20", 0x2A114042, {"max_render_backends": 16}),
    "raven": ("raven", 0x24000042, {"max_render_backends": 2, "use_display_dcc_with_retile_blit": True}),
    "raven2": ("raven2", 0x26013041, {"max_render_backends": 1, "use_display_dcc_unaligned": True}),
    "navi10": ("navi10", 0x00100044, {}), "navi14": ("navi14", 0x43, {}),
    "gfx103": ("navi21", 0x40, {"use_display_dcc_with_retile_blit": True}),
    "gfx11": ("navi31", 0x40, {"use_display_dcc_with_retile_blit": True}), "gfx12": ("gfx1200", 0, {})}
# name, chip, log2 of banks (GFX9) or packers, log2 of pipes, and on GFX9 log2 of shader engines and of render backends per engine.
_TEST_CASES = """
vega10 vega10 4 2 2 2 | vega10_diff_bank vega10 3 2 2 2 | vega10_diff_rb vega10 4 2 2 0 | vega10_diff_pipe vega10 4 0 2 2
vega10_diff_se vega10 4 2 1 2 | vega20 vega20 4 2 2 2 | raven raven 0 2 0 1 | raven2 raven2 3 1 0 1
navi10 navi10 0 4 | navi10_diff_pipe navi10 0 3 | navi10_diff_pkr navi10 1 4 | navi14 navi14 1 3
gfx103_16pipe gfx103 4 4 | gfx103_16pipe_8pkr gfx103 3 4 | gfx103_8pipe gfx103 3 3 | gfx103_4pipe gfx103 2 2
gfx103_4pipe_2pkr gfx103 1 2 | gfx103_4pipe_1pkr gfx103 0 2 | gfx103_2pipe_1pkr gfx103 0 1
gfx11_32pipe gfx11 5 5 | gfx11_16pipe gfx11 4 4 | gfx11_8pipe gfx11 3 3 | gfx11_4pipe gfx11 2 2
gfx11_4pipe_2pkr gfx11 1 2 | gfx11_4pipe_1pkr gfx11 0 2 | gfx11_2pipe_1pkr gfx11 0 1 | gfx12_16pipe gfx12 4 4
"""


@cache
def _test_configs() -> dict[str, GpuConfig]:
    found = {}
    for case in _TEST_CASES.strip().replace("\n", "|").split("|"):
        name, kind, *numbers = case.split()
        banks, pipes, *rest = map(int, numbers)
        chip, register, facts = _TEST_CHIPS[kind]
        config = gpu_config(chip)
        if config.level == 90:
            fields = [(0, 3, pipes), (12, 3, banks), (19, 2, rest[0]), (26, 2, rest[1])]
        else:
            fields = [(0, 3, pipes), (8, 3, banks)]
            facts = facts | {"max_render_backends": 2 if config.level == 100 or banks else 1}
        for low, width, value in fields:
            register = register & ~(((1 << width) - 1) << low) | value << low
        changes: dict[str, Any] = {
            "name": name, "gb_addr_config": register, "drm_minor": 30, "has_graphics": True, "use_display_dcc_unaligned": False,
            "use_display_dcc_with_retile_blit": False, "has_dcc_constant_encode": False, "has_dedicated_vram": False,
            "has_image_opcodes": False} | facts
        found[name] = replace(config, **changes)
    return found


class DriverTables:
    """The replays of a folder: a method per table."""

    def __init__(self, folder: Path, configs: list[GpuConfig]) -> None:
        self.folder, self.configs = folder, configs
        self._surfaces = cache(self._compute_surfaces)

    def _compute_surfaces(self, table: str) -> dict[int, tuple[GpuConfig, Any]]:
        """Return chip and surface by number; a surface that was refused is the error."""
        found: dict[int, tuple[GpuConfig, Any]] = {}
        for row in rows(load(self.folder / f"{table}.npz")):
            config = self.configs[row["config"]]
            try:
                found[row["id"]] = config, compute_surface(config, request(row))
            except PyacoError as error:
                found[row["id"]] = config, error
        return found

    def _surface(self, table: str, number: int) -> tuple[GpuConfig, Any]:
        config, surface = self._surfaces(table)[number]
        if isinstance(surface, PyacoError):
            raise surface
        return config, surface

    def surf_gfx6(self, table: Columns) -> dict[str, Any]:
        return compare(table, ask_rows(table, lambda row: self._layout("surf_gfx6", row)))

    def surf_gfx9(self, table: Columns) -> dict[str, Any]:
        return compare(table, ask_rows(table, lambda row: self._layout("surf_gfx9", row)))

    def _layout(self, table: str, row: Row) -> dict[str, int]:
        config, surface = self._surface(table, row["id"])
        found = {name: _attribute(surface, name[2:]) for name in row if name.startswith("o_") and not name.startswith(_ELSEWHERE)}
        try:
            found["o_bo_metadata"] = _signed(bo_metadata(config, surface))
        except InputError:
            found["o_bo_metadata"] = -1
        parts = planes(config, surface)
        found |= {name: 0 for name in row if name[:3] == "o_p" and name[3].isdigit()}
        found |= {"o_image_stores": int(supports_dcc_image_stores(config, surface)), "o_nplanes": len(parts)}
        for number, part in enumerate(parts):
            found |= {f"o_p{number}_offset": part.offset, f"o_p{number}_stride": part.stride, f"o_p{number}_size": part.size}
        return found

    def surf_gfx6_level(self, table: Columns) -> dict[str, Any]:
        def ask(row: Row) -> dict[str, int]:
            surface = self._surface("surf_gfx6", row["surf"])[1]
            found: dict[str, int] = {}
            for prefix, levels in (("", surface.levels), ("st_", surface.stencil_levels)):
                level = levels[row["level"]] if row["level"] < len(levels) else SurfaceLevel()
                found |= {f"{prefix}{column}": int(getattr(level, name)) // unit for column, (name, unit) in _LEVEL_GFX6.items()}
                if not prefix:
                    found |= {name: int(getattr(level, name)) for name in _LEVEL_DCC_GFX6}
            return found

        return compare(table, ask_rows(table, ask))

    def surf_gfx9_level(self, table: Columns) -> dict[str, Any]:
        def ask(row: Row) -> dict[str, int]:
            surface, level = self._surface("surf_gfx9", row["surf"])[1], row["level"]
            lists = {column: getattr(surface, name) for column, name in _LEVEL_GFX9.items()}
            return {column: values[level] if level < len(values) else 0 for column, values in lists.items()}

        return compare(table, ask_rows(table, ask))

    def surf_gfx9_addr(self, table: Columns) -> dict[str, Any]:
        return compare(table, ask_rows(table, lambda row: {"addr": surface_address(
            *self._surface("surf_gfx9", row["surf"]), row["level"], row["x"], row["y"], row["layer"])}))

    def surf_nbc_view(self, table: Columns) -> dict[str, Any]:
        def ask(row: Row) -> dict[str, int]:
            view = non_block_compressed_view(*self._surface("surf_gfx9", row["surf"]), row["level"], row["layer"])
            return {"valid": 1, "width": view.width, "height": view.height, "view_level": view.level, "num_levels": view.num_levels,
                    "tile_swizzle": view.tile_swizzle & 0xFF, "base_address_offset": view.base_address_offset}

        return compare(table, ask_rows(table, ask))

    def modifiers(self, table: Columns) -> dict[str, Any]:
        formats = json.loads((self.folder / "formats.json").read_text())

        @cache
        def listed(config: int, number: int, dcc: bool, retile: bool) -> tuple[int, ...]:
            entry = formats[str(number)]
            count = 2 if entry["name"] in ("NV12", "P010") else 1
            return tuple(supported_modifiers(self.configs[config], entry["bits"], planes=count, dcc=dcc, retile=retile))

        def ask(row: Row) -> dict[str, int]:
            found = listed(row["config"], row["format"], bool(row["dcc"]), bool(row["retile"]))
            modifier = found[row["index"]] if row["index"] < len(found) else 0
            # Decoding and encoding again must give the same number.
            again = int(decode_modifier(modifier)) if modifier else 0
            return {"count": len(found), "modifier": _signed(modifier) if again == modifier else -1}

        return compare(table, ask_rows(table, ask))

    def modifier_test_entries(self, path: Path) -> dict[str, Any]:
        lines = lzma.decompress(path.read_bytes()).decode().splitlines()
        points = np.array(_random(53, 2000), np.int64).reshape(1000, 2)
        ours = [_test_entry(line, points) for line in lines]
        agreed = np.array([line.split() == found for line, found in zip(lines, ours, strict=True)], bool)
        return report(agreed, lambda row: {"ours": ours[row], "theirs": lines[row]})

    def equations(self, path: Path) -> dict[str, Any]:
        agreed, names = [], []
        for chip, theirs in json.loads(lzma.decompress(path.read_bytes())).items():
            ours = list(_equations(gpu_config(chip)))
            for number in range(max(len(ours), len(theirs))):
                both = number < len(ours) and number < len(theirs)
                agreed.append(both and _terms(ours[number]) == _recorded_terms(theirs[number]))
                names.append([chip, number])
        return report(np.array(agreed, bool), lambda row: {"row": names[row]})


def _attribute(surface: Any, column: str) -> int:
    """Return what a column of radeon_surf is on our surface; a part that the generation has not is 0."""
    if column.startswith("dcc_") and column[4:] in _DCC:
        return int(getattr(surface.dcc, _DCC[column[4:]]))
    if column[:4] in ("hiz_", "his_"):
        part = getattr(surface, column[:3], None)
        return 0 if part is None else int(getattr(part, column[4:]))
    if column in ("gfx12_enable_dcc", "depth_adjusted"):  # of GFX12; depth is never changed to fit stencil
        return int(getattr(surface, column, False))
    value = surface
    for name in (_GFX6.get(column, column) if hasattr(surface, "tile_info") else column).split("."):
        value = getattr(value, name)
    return int(value)


def _test_entry(line: str, points: np.ndarray[Any, Any]) -> list[str]:
    """Return a line of the modifier test as we compute it."""
    case, modifier, *sizes = line.split()[:5]
    width, height, bpe = map(int, sizes)
    config = _test_configs()[case]
    try:
        surface: Any = compute_surface(config, SurfaceRequest(width, height, bpe, num_channels=3, modifier=int(modifier, 16)))
    except PyacoError as error:
        return [str(error)]
    x, y = points[:, 0] % width, points[:, 1] % height
    columns = [np.asarray(surface_addresses(config, surface, 0, x, y))]
    if surface.meta_offset:
        columns.append(surface.dcc_metadata.address(x, y))
    if surface.display_dcc_offset:
        info = surface.dcc_metadata
        shown = replace(info.request, pipe_aligned=False, rb_aligned=False)
        columns.append(replace(info, request=shown, pipe_bits=0 if config.level == 90 else info.pipe_bits).address(x, y))
    numbers = (surface.total_size, surface.meta_offset, surface.display_dcc_offset, surface.display_dcc_pitch_max)
    data = struct.pack("<QQQH", *numbers) + np.stack(columns, 1).astype("<u8").tobytes()
    return [case, modifier, *sizes, *map(str, numbers), hashlib.sha1(data).hexdigest()]


def _equations(config: GpuConfig) -> Iterator[Equation]:
    if config.level < 90:
        yield from (entry.equation for entry in equation_table(config).equations)
    else:
        yield from swizzle_tables(config).numbered


def _terms(equation: Equation) -> list[set[tuple[int, int]]]:
    """Return the (channel, bit) pairs that each bit is the xor of, with x in bytes."""
    first = next(row for row in range(equation.bits) if equation.masks[row].any())
    return [{(0, row)} if row < first else {
        (channel, bit + (first if channel == 0 else 0)) for channel in range(4) for bit in range(32) if int(mask[channel]) >> bit & 1}
        for row, mask in enumerate(equation.masks)]


def _recorded_terms(entry: dict[str, Any]) -> list[set[tuple[int, int]]]:
    found: list[set[tuple[int, int]]] = []
    for bit in range(entry["numBits"]):
        terms: set[tuple[int, int]] = set()
        for component in entry["comps"]:
            if component[bit] & 1:
                terms ^= {(component[bit] >> 1 & 3, component[bit] >> 3)}
        found.append(terms)
    return found
