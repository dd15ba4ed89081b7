"""Replays of the tables of GFX9 to 11.5 and of GFX12, but for metadata."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from addrlib_tables import Column, Columns, by_config, compare, inputs, load, positions, snake

from pyaco.addrlib import GpuConfig
from pyaco.addrlib.formats import EXPAND_X, EXPAND_Y, PACKING
from pyaco.addrlib.records import MAX_MIPS
from pyaco.addrlib.v2 import address as v2_address
from pyaco.addrlib.v2 import settings as v2_settings
from pyaco.addrlib.v2.queries import surface_infos
from pyaco.addrlib.v3 import address as v3_address
from pyaco.addrlib.v3.queries import surface3_infos

_COMPRESSED = 4
_EXTENT3 = {f"o_blockExtent.{name}": f"block_{name}" for name in ("width", "height", "depth")}
_SETTING = {"resourceLoction": "resource_location", "preferredSwSet": "preferred_sw_set", "memoryBudget_x1000": "memory_budget_x1000"}
_VIEW3 = {f"unAlignedDims.{name}": ours for name, ours in (("width", "width"), ("height", "height"), ("depth", "num_slices"))}
_PLACE = ("x", "y", "slice", "sample", "mipId")
Query = Callable[..., Any]
# Table: our function, and where its arguments are.
_SIMPLE: dict[str, tuple[Query, str]] = {
    "v2_pipebankxor": (v2_address.pipe_bank_xors, "surfIndex flags swizzleMode resourceType format numSamples numFrags"),
    "v2_slice_pipebankxor": (v2_address.slice_pipe_bank_xors, "swizzleMode resourceType bpe basePipeBankXor slice numSamples"),
    "v2_subres_offset": (
        v2_address.subresource_offsets, "swizzleMode resourceType pipeBankXor slice sliceSize macroBlockOffset mipTailOffset"),
    "v3_pipebankxor": (v3_address.pipe_bank_xors3, "surfIndex swizzleMode"),
    "v3_slice_pipebankxor": (v3_address.slice_pipe_bank_xors3, "swizzleMode resourceType bpe basePipeBankXor slice numSamples"),
    "v3_subres_offset": (v3_address.subresource_offsets3, "slice sliceSize macroBlockOffset"),
    "v3_possible": (v3_address.possible_modes3, "flags resourceType bpp numSamples maxAlign"),
}
_SETTINGS: dict[str, Query] = {
    "v2_preferred": v2_settings.preferred_settings, "v2_possible": v2_settings.possible_modes, "v2_nbc_view": v2_settings.non_bc_views}


class V2Tables:
    """The replays of a folder: a method per table."""

    def __init__(self, folder: Path, configs: list[GpuConfig]) -> None:
        self.folder, self.configs = folder, configs
        self._surfaces = cache(self._compute_surfaces)
        for name in _SIMPLE:
            setattr(self, name, lambda table, name=name: self._simple(name, table))
        for name in _SETTINGS:
            setattr(self, name, lambda table, name=name: self._setting(name, table))

    def _compute_surfaces(self, version: int) -> tuple[Columns, Columns, Columns]:
        """Return what was asked of the surfaces, our answers, and the same for their mip levels (rows of MAX_MIPS)."""
        table = load(self.folder / f"v{version}_surf.npz")
        asked = inputs(table)
        compute = surface_infos if version == 2 else surface3_infos

        def ask(config: GpuConfig, index: Column) -> Columns:
            infos, mips = compute(config, len(index), **{name: column[index] for name, column in asked.items()})
            answers = {"ret": infos["status"]} | {
                name: infos[_EXTENT3.get(name, snake(name[2:]))] for name in table if name.startswith("o_")}
            for name in mips.dtype.names or ():
                levels = np.zeros((len(index), MAX_MIPS), np.int64)
                levels[:, : mips.shape[1]] = mips[name]
                answers[f"mip {name}"] = levels
            return answers

        found = by_config(self.configs, table["config"], ask)
        return table, {n: c for n, c in found.items() if n[:4] != "mip "}, {n[4:]: c for n, c in found.items() if n[:4] == "mip "}

    def v2_surf(self, table: Columns) -> dict[str, Any]:
        return compare(table, self._surfaces(2)[1])

    def v3_surf(self, table: Columns) -> dict[str, Any]:
        return compare(table, self._surfaces(3)[1])

    def v2_mip(self, table: Columns) -> dict[str, Any]:
        return self._levels(2, table)

    def v3_mip(self, table: Columns) -> dict[str, Any]:
        return self._levels(3, table)

    def _levels(self, version: int, table: Columns) -> dict[str, Any]:
        surfaces, _, mips = self._surfaces(version)
        parent = positions(surfaces["id"], table["surf"])
        return compare(table, {name: mips[snake(name)][parent, table["mip"]] for name in table if name not in ("surf", "mip")})

    def _surface_fields(self, version: int, parent: Column) -> Columns:
        """Return the surfaces of rows as addresses are asked for: in elements."""
        table = {name: column[parent] for name, column in self._surfaces(version)[0].items()}
        generation = np.array([config.level >= 100 for config in self.configs])[table["config"]].astype(int)
        packed = PACKING[generation, table["i_format"]] == _COMPRESSED
        across, down = (np.where(packed, expand[generation, table["i_format"]], 1) for expand in (EXPAND_X, EXPAND_Y))
        names = ["flags", "swizzleMode", "resourceType", "numSlices", "numMipLevels", "numSamples"]
        fields = {snake(name): table[f"i_{name}"] for name in names} | {
            "bpp": table["o_bpp"], "width": -(-table["i_width"] // across), "height": -(-table["i_height"] // down)}
        if version == 2:
            linear = np.isin(table["i_swizzleMode"], (0, 32))
            given = table["i_pitchInElement"]
            fields["pitch_in_element"] = np.where(given > 0, given, np.where(linear, table["o_pitch"], 0))
            fields["num_frags"] = np.maximum(1, table["i_numFrags"])
        return fields

    def _addresses(self, version: int, table: Columns, own: str, ask_address: Query, ask_place: Query) -> dict[str, Any]:
        """Compare addresses; beside them, count the ways back from an address that lead to where it came from."""
        surfaces = self._surfaces(version)[0]
        parent = positions(surfaces["id"], table["surf"])
        fields = self._surface_fields(version, parent) | {snake(own): table[own]}
        place = {snake(name): table[name] for name in _PLACE}

        def ask(config: GpuConfig, index: Column) -> Columns:
            chosen = {name: column[index] for name, column in fields.items()}
            status, address = ask_address(config, len(index), **chosen, **{name: column[index] for name, column in place.items()})
            back = ask_place(config, len(index), **chosen, address=address)
            returned = (back["status"] == 0) & np.all([back[name] == column[index] for name, column in place.items()], axis=0)
            return {"ret": status, "addr": address, "bitPosition": 0 * address, "prtBlockIndex": address >> 16,
                    "returned": returned, "refused": back["status"] == 4}

        found = by_config(self.configs, surfaces["config"][parent], ask)
        # Status 4: texels of the block share addresses, so that there is no way back.
        tried = (table["ret"] == 0) & (found["ret"] == 0) & ~found.pop("refused")
        returned = int((found.pop("returned") & tried).sum())
        return compare(table, found) | {"ways_back": {"tried": int(tried.sum()), "agreed": returned}}

    def v2_addr(self, table: Columns) -> dict[str, Any]:
        return self._addresses(2, table, "pipeBankXor", v2_address.addresses, v2_address.coordinates)

    def v3_addr(self, table: Columns) -> dict[str, Any]:
        return self._addresses(3, table, "pitchInElement", v3_address.addresses3, v3_address.coordinates3)

    def v2_coord_linear(self, table: Columns) -> dict[str, Any]:
        surfaces = self._surfaces(2)[0]
        parent = positions(surfaces["id"], table["surf"])
        fields = self._surface_fields(2, parent) | {"address": table["addr"]}

        def ask(config: GpuConfig, index: Column) -> Columns:
            found = v2_address.linear_coordinates(config, len(index), **{name: column[index] for name, column in fields.items()})
            return {"ret": found["status"]} | {name: found[snake(name)] for name in _PLACE}

        return compare(table, by_config(self.configs, surfaces["config"][parent], ask))

    def _simple(self, name: str, table: Columns) -> dict[str, Any]:
        query, words = _SIMPLE[name]
        output = next(column for column in table if column.startswith("o_"))
        if "config" in table:
            configs = table["config"]
        else:
            surfaces = self._surfaces(int(name[1]))[0]
            configs = surfaces["config"][positions(surfaces["id"], table["surf"])]

        def ask(config: GpuConfig, index: Column) -> Columns:
            found = query(config, len(index), **{snake(word): table[f"i_{word}"][index] for word in words.split()})
            status, values = found if isinstance(found, tuple) else (np.zeros(len(index), np.int64), found)
            return {"ret": status, output: values}

        return compare(table, by_config(self.configs, configs, ask))

    def _setting(self, name: str, table: Columns) -> dict[str, Any]:
        asked = inputs(table, _SETTING)

        def ask(config: GpuConfig, index: Column) -> Columns:
            found = _SETTINGS[name](config, len(index), **{field: column[index] for field, column in asked.items()})
            return {"ret": found["status"]} | {column: found[snake(column[2:])] for column in table if column.startswith("o_")}

        return compare(table, by_config(self.configs, table["config"], ask))

    def v2_valid_display(self, table: Columns) -> dict[str, Any]:
        return compare(table, by_config(self.configs, table["config"], lambda config, index: {
            "valid": v2_settings.displayable(config, table["swizzleMode"][index], table["bpp"][index]).astype(np.int64)}))

    def v3_nbc_view(self, table: Columns) -> dict[str, Any]:
        asked = inputs(table, _VIEW3)
        outputs = {
            "o_offset": "offset", "o_pipeBankXor": "pipe_bank_xor", "o_unAlignedDims.width": "unaligned_width",
            "o_unAlignedDims.height": "unaligned_height", "o_numMipLevels": "num_mip_levels", "o_mipId": "mip_id"}

        def ask(config: GpuConfig, index: Column) -> Columns:
            found = v3_address.non_bc_views3(config, len(index), **{field: column[index] for field, column in asked.items()})
            # The library leaves the depth of a view as it was: 0.
            return {"ret": found["status"], "o_unAlignedDims.depth": np.zeros(len(index), np.int64)} | {
                column: found[ours] for column, ours in outputs.items()}

        return compare(table, by_config(self.configs, table["config"], ask))
