"""Replays of the tables of GFX6 to 8."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from addrlib_tables import INVALID_PARAMETERS, NOT_SUPPORTED, Columns, Row, ask_rows, by_config, compare, load, rows, snake

from pyaco.addrlib import GpuConfig
from pyaco.addrlib.v1.chip import Chip, TileInfo, chip_of
from pyaco.addrlib.v1.layout import Layout
from pyaco.addrlib.v1.library_inverse import library_coordinates
from pyaco.addrlib.v1.metadata import (
    cmask_layout,
    dcc_layout,
    fmask_address,
    fmask_layout,
    htile_layout,
    mask_address,
    tc_compatible_address,
)
from pyaco.addrlib.v1.queries import SurfaceAddresses, surface_infos
from pyaco.addrlib.v1.swizzle import base_swizzle, slice_swizzle
from pyaco.addrlib.v1.tiling import pipes_of
from pyaco.errors import PyacoError

_GEOMETRY = ("banks", "bankWidth", "bankHeight", "macroAspectRatio", "tileSplitBytes", "pipeConfig")
_ASKED = ("tileMode", "tileType", "format", "bpp", "numSamples", "numFrags", "width", "height", "numSlices", "slice", "mipLevel", "flags",
          "tileIndex", "basePitch", "maxBaseAlign", "pitchAlign", "heightAlign")
# Our field and the column of it.
_LAYOUT = {
    "pitch": "o_pitch", "height": "o_height", "depth": "o_depth", "surface_bytes": "o_surfSize", "tile_mode": "o_tileMode",
    "base_align": "o_baseAlign", "pitch_align": "o_pitchAlign", "height_align": "o_heightAlign", "depth_align": "o_depthAlign",
    "bits": "o_bpp", "pixel_pitch": "o_pixelPitch", "pixel_height": "o_pixelHeight", "pixel_bits": "o_pixelBits",
    "slice_bytes": "o_sliceSize", "pitch_tile_max": "o_pitchTileMax", "height_tile_max": "o_heightTileMax",
    "slice_tile_max": "o_sliceTileMax", "samples": "o_numSamples", "tile_type": "o_tileType", "tile_index": "o_tileIndex",
    "macro_mode_index": "o_macroModeIndex", "tc_compatible": "o_tcCompatible", "dcc_unsupported": "o_dccUnsupport",
    "prt_tile_index": "o_prtTileIndex", "block_width": "o_blockWidth", "block_height": "o_blockHeight",
    "stencil_tile_index": "o_stencilTileIdx", "banks": "to_banks", "bank_width": "to_bankWidth", "bank_height": "to_bankHeight",
    "macro_aspect_ratio": "to_macroAspectRatio", "tile_split_bytes": "to_tileSplitBytes", "pipe_config": "to_pipeConfig",
}
_CMASK = {
    "pitch": "o_pitch", "height": "o_height", "bytes": "o_cmaskBytes", "base_align": "o_baseAlign", "block_max": "o_blockMax",
    "macro_width": "o_macroWidth", "macro_height": "o_macroHeight", "slice_bytes": "o_sliceSize",
}
_HTILE = {
    "pitch": "o_pitch", "height": "o_height", "bytes": "o_htileBytes", "base_align": "o_baseAlign", "bits": "o_bpp",
    "macro_width": "o_macroWidth", "macro_height": "o_macroHeight", "slice_bytes": "o_sliceSize",
    "slice_interleaved": "o_sliceInterleaved", "next_level_compressible": "o_nextMipLevelCompressible",
}
_FMASK = {
    "pitch": "o_pitch", "height": "o_height", "slices": "o_numSlices", "bytes": "o_fmaskBytes", "base_align": "o_baseAlign",
    "pitch_align": "o_pitchAlign", "height_align": "o_heightAlign", "bits": "o_bpp", "samples": "o_numSamples",
    "tile_index": "o_tileIndex", "macro_mode_index": "o_macroModeIndex", "slice_bytes": "o_sliceSize",
}
_DCC = {
    "base_align": "o_dccRamBaseAlign", "bytes": "o_dccRamSize", "fast_clear_bytes": "o_dccFastClearSize",
    "next_level_compressible": "o_subLvlCompressible", "size_aligned": "o_dccRamSizeAligned",
}


def _answers(found: Any, names: dict[str, str]) -> dict[str, int]:
    return {"ret": getattr(found, "status", 0)} | {column: int(getattr(found, name)) for name, column in names.items()}


def _geometry(row: Row) -> TileInfo:
    return TileInfo(*(row[f"ti_{name}"] for name in _GEOMETRY))


def _bits(address: int) -> dict[str, int]:
    return {"addr": address // 8, "bitPosition": address % 8}


class V1Tables:
    """The replays of a folder: a method per table."""

    def __init__(self, folder: Path, configs: list[GpuConfig]) -> None:
        self.folder, self.configs = folder, configs

    def _load(self, table: str) -> Columns:
        return load(self.folder / f"{table}.npz")

    def _parents(self, table: str) -> dict[int, Row]:
        return {row["id"]: row for row in rows(self._load(table))}

    @cached_property
    def _surfaces(self) -> dict[int, Row]:
        return self._parents("v1_surf")

    def _chip(self, row: Row) -> tuple[Chip, TileInfo]:
        return chip_of(self.configs[row["config"]]), _geometry(row)

    def v1_surf(self, table: Columns) -> dict[str, Any]:
        asked = {snake(name): table[f"i_{name}"] for name in _ASKED}

        def ask(config: GpuConfig, index: Any) -> Columns:
            found = surface_infos(config, **{name: column[index] for name, column in asked.items()})
            return {"ret": found["status"]} | {column: found[name] for name, column in _LAYOUT.items()}

        return compare(table, by_config(self.configs, table["config"], ask))

    def v1_addr(self, table: Columns) -> dict[str, Any]:
        # A row whose address the library refuses has no inverse either; the inverse has a status of its own.
        theirs = table | {"inv_refused": (table["inv_ret"] != 0).astype("int64")}
        found = ask_rows(table, self._address)
        for name in ("inv_x", "inv_y", "inv_slice", "inv_sample"):
            theirs[name] = theirs[name].copy()
            theirs[name][theirs["inv_refused"] != 0] = -1
        return compare(theirs, found)

    def _address(self, row: Row) -> dict[str, int]:
        surface = self._surfaces[row["surf"]]
        config = self.configs[surface["config"]]
        if surface["i_numSamples"] > chip_of(config).max_samples:
            return {"ret": INVALID_PARAMETERS}
        layout = Layout(0, **{name: surface[column] for name, column in _LAYOUT.items()})
        layout = layout._replace(samples=surface["i_numFrags"] or surface["i_numSamples"])
        addresses = SurfaceAddresses(
            config, layout, depth_order=bool(row["isDepth"]), bank_swizzle=row["bankSwizzle"], pipe_swizzle=row["pipeSwizzle"])
        place = (row["x"], row["y"], row["slice"], row["sample"])
        address = addresses(*place)
        if addresses.coordinates(address) != place:
            return {"addr": -1}
        try:
            back, refused = library_coordinates(addresses, address), 0
        except PyacoError:
            back, refused = (-1, -1, -1, -1), 1
        names = ("inv_x", "inv_y", "inv_slice", "inv_sample")
        return {"addr": address, "bitPosition": 0, "inv_refused": refused} | dict(zip(names, back, strict=True))

    def v1_base_swizzle(self, table: Columns) -> dict[str, Any]:
        def ask(row: Row) -> dict[str, int]:
            chip, info = self._chip(row)
            return {"o_tileSwizzle": base_swizzle(
                info, pipes_of(chip, info), chip.interleave_bytes, row["i_tileMode"], row["i_surfIndex"], False, False)}

        return compare(table, ask_rows(table, ask))

    def v1_slice_swizzle(self, table: Columns) -> dict[str, Any]:
        def ask(row: Row) -> dict[str, int]:
            chip, info = self._chip(row)
            return {"o_tileSwizzle": slice_swizzle(
                info, pipes_of(chip, info), chip.interleave_bytes, row["i_tileMode"], row["i_baseSwizzle"], row["i_slice"], row["i_baseAddr"])}

        return compare(table, ask_rows(table, ask))

    def v1_cmask(self, table: Columns) -> dict[str, Any]:
        return compare(table, ask_rows(table, lambda row: _answers(cmask_layout(
            *self._chip(row), row["i_pitch"], row["i_height"], row["i_numSlices"], bool(row["i_flags"]), bool(row["i_isLinear"])), _CMASK)))

    def v1_htile(self, table: Columns) -> dict[str, Any]:
        return compare(table, ask_rows(table, lambda row: _answers(htile_layout(
            *self._chip(row), row["i_pitch"], row["i_height"], row["i_numSlices"], bool(row["i_flags"] & 1), bool(row["i_flags"] & 2),
            bool(row["i_isLinear"])), _HTILE)))

    def v1_fmask(self, table: Columns) -> dict[str, Any]:
        def ask(row: Row) -> dict[str, int]:
            found = fmask_layout(
                chip_of(self.configs[row["config"]]), row["i_tileMode"], row["i_pitch"], row["i_height"], row["i_numSlices"],
                row["i_numSamples"], row["i_numFrags"], bool(row["i_resolved"]))
            return _answers(found, _FMASK) | dict(zip((f"to_{name}" for name in _GEOMETRY), found.info, strict=True))

        return compare(table, ask_rows(table, ask))

    def v1_fmask_addr(self, table: Columns) -> dict[str, Any]:
        return compare(table, ask_rows(table, lambda row: {"addr": fmask_address(row["numSamples"]), "bitPosition": 0}))

    def v1_dcc(self, table: Columns) -> dict[str, Any]:
        return compare(table, ask_rows(table, lambda row: _answers(
            dcc_layout(*self._chip(row), row["i_colorSurfSize"], row["i_bpp"], row["i_numSamples"]), _DCC)))

    def v1_cmask_addr(self, table: Columns) -> dict[str, Any]:
        return self._mask_addresses(table, "cmask", "fmaskAddr", 4)

    def v1_htile_addr(self, table: Columns) -> dict[str, Any]:
        return self._mask_addresses(table, "htile", "zStencilAddr", 32)

    def _mask_addresses(self, table: Columns, kind: str, data: str, bits: int) -> dict[str, Any]:
        parents = self._parents(f"v1_{kind}")

        def ask(row: Row) -> dict[str, int]:
            parent = parents[row[kind]]
            chip, info = self._chip(parent)
            if parent["i_flags"] & 1:
                # Masks that the texture unit reads exist on chips with DCC.
                return _bits(tc_compatible_address(chip, info, row[data], bits, row["bpp"])) if chip.has_dcc else {"ret": NOT_SUPPORTED}
            return _bits(mask_address(
                chip, info, parent["i_pitch"], parent["i_height"], parent["i_numSlices"], row["x"], row["y"], row["slice"],
                kind == "cmask", False))

        return compare(table, ask_rows(table, ask))
