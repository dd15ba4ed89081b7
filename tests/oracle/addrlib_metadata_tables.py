"""Replays of the tables of metadata of GFX9 to 11.5."""

from __future__ import annotations

import json
import lzma
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from addrlib_tables import Columns, Row, ask_rows, compare, load, report, rows

from pyaco.addrlib import GpuConfig
from pyaco.addrlib.enums import ResourceType, SwizzleMode
from pyaco.addrlib.metadata import CmaskRequest, DccRequest, HtileRequest, MetadataInfo, cmask_info, dcc_info, fmask_bits, htile_info
from pyaco.addrlib.metadata.equation_gfx9 import metadata_terms
from pyaco.addrlib.metadata.fmask import fmask_info
from pyaco.addrlib.metadata.gfx9 import _key
from pyaco.errors import PyacoError

_SHARED = {"o_pitch": "pitch", "o_height": "height", "o_metaBlkNumPerSlice": "blocks_per_slice"}
_FIELDS = {
    "htile": _SHARED | {"o_baseAlign": "base_align", "o_sliceSize": "slice_size", "o_htileBytes": "size"},
    "cmask": _SHARED | {"o_baseAlign": "base_align", "o_sliceSize": "slice_size", "o_cmaskBytes": "size"},
    "dcc": _SHARED | {"o_dccRamBaseAlign": "base_align", "o_dccRamSliceSize": "slice_size", "o_dccRamSize": "size", "o_depth": "depth",
                      "o_metaBlkSize": "block_size"},
}
_FMASK = {
    "o_pitch": "pitch", "o_height": "height", "o_baseAlign": "base_align", "o_numSlices": "num_slices", "o_fmaskBytes": "size",
    "o_bpp": "bits", "o_sliceSize": "slice_size"}
_FLAGS = {"htile": "i_hTileFlags", "cmask": "i_cMaskFlags", "dcc": "i_dccKeyFlags"}
_AXES = ("Width", "Height", "Depth")


class MetadataTables:
    """The replays of a folder: a method per table."""

    def __init__(self, folder: Path, configs: list[GpuConfig]) -> None:
        self.folder, self.configs = folder, configs

    def _info(self, kind: str, row: Row) -> MetadataInfo:
        shared = (SwizzleMode(row["i_swizzleMode"]), row["i_unalignedWidth"], row["i_unalignedHeight"], row["i_numSlices"],
                  row["i_numMipLevels"], row["i_firstMipIdInTail"], bool(row[_FLAGS[kind]] & 1), bool(row[_FLAGS[kind]] & 2))
        config = self.configs[row["config"]]
        if kind == "dcc":
            return dcc_info(config, DccRequest(
                *shared, bits=row["i_bpp"], resource=ResourceType(row["i_resourceType"]), fragments=row["i_numFrags"]))
        return htile_info(config, HtileRequest(*shared)) if kind == "htile" else cmask_info(config, CmaskRequest(*shared))

    @cached_property
    def _infos(self) -> dict[tuple[str, int], MetadataInfo]:
        """The layouts that rows of addresses and levels refer to; those that cannot be are left out."""
        found = {}
        for kind in _FIELDS:
            for row in rows(load(self.folder / f"v2_{kind}.npz")):
                try:
                    found[kind, row["id"]] = self._info(kind, row)
                except PyacoError:
                    continue
        return found

    def _layouts(self, kind: str, table: Columns) -> dict[str, Any]:
        def ask(row: Row) -> dict[str, int]:
            info = self._info(kind, row)
            found = {column: getattr(info, name) for column, name in _FIELDS[kind].items()}
            extents = {"o_metaBlk": info.block} | ({"o_compressBlk": info.compressed_block} if kind == "dcc" else {})
            return found | {
                f"{name}{axis}": size for name, block in extents.items() for axis, size in zip(_AXES, block, strict=False)
                if f"{name}{axis}" in row}

        return compare(table, ask_rows(table, ask))

    def _levels(self, kind: str, table: Columns) -> dict[str, Any]:
        names = ("inMiptail", "startX", "startY", "startZ", "width", "height", "depth")

        def ask(row: Row) -> dict[str, int]:
            info = self._infos[kind, row[kind]]
            level = info.levels[row["mip"]]
            gfx9 = (level.x, level.y, level.z, level.width, level.height, level.depth)
            values = gfx9 if info.config.level == 90 else (level.offset, level.size, 0, 0, 0, 0)
            return dict(zip(names, (level.in_tail, *values), strict=True))

        return compare(table, ask_rows(table, ask))

    def _addresses(self, kind: str, table: Columns) -> dict[str, Any]:
        def ask(row: Row) -> dict[str, int]:
            info = self._infos[kind, row[kind]]
            if kind == "htile":
                layout = info.layout(samples=row["numSamples"], element_bits=row["bpp"])
            elif kind == "cmask":
                layout = info.layout(element_bits=fmask_bits(row["numSamples"], row["numFrags"]))
            else:
                layout = info.layout()
            nibble = int(layout.nibbles(row["x"], row["y"], row["slice"], row.get("sample", 0), row["pipeXor"]))
            return {"addr": nibble >> 1} | ({"bitPosition": (nibble & 1) * 4} if "bitPosition" in row else {})

        return compare(table, ask_rows(table, ask))

    def v2_htile(self, table: Columns) -> dict[str, Any]:
        return self._layouts("htile", table)

    def v2_cmask(self, table: Columns) -> dict[str, Any]:
        return self._layouts("cmask", table)

    def v2_dcc(self, table: Columns) -> dict[str, Any]:
        return self._layouts("dcc", table)

    def v2_htile_mip(self, table: Columns) -> dict[str, Any]:
        return self._levels("htile", table)

    def v2_cmask_mip(self, table: Columns) -> dict[str, Any]:
        return self._levels("cmask", table)

    def v2_dcc_mip(self, table: Columns) -> dict[str, Any]:
        return self._levels("dcc", table)

    def v2_htile_addr(self, table: Columns) -> dict[str, Any]:
        return self._addresses("htile", table)

    def v2_cmask_addr(self, table: Columns) -> dict[str, Any]:
        return self._addresses("cmask", table)

    def v2_dcc_addr(self, table: Columns) -> dict[str, Any]:
        return self._addresses("dcc", table)

    def v2_fmask(self, table: Columns) -> dict[str, Any]:
        def ask(row: Row) -> dict[str, int]:
            info = fmask_info(
                self.configs[row["config"]], swizzle_mode=row["i_swizzleMode"], width=row["i_unalignedWidth"],
                height=row["i_unalignedHeight"], num_slices=row["i_numSlices"], num_samples=row["i_numSamples"], num_frags=row["i_numFrags"])
            return {column: getattr(info, name) for column, name in _FMASK.items()} | {"o_numSamples": 1}

        return compare(table, ask_rows(table, ask))

    def v2_meta_equations(self, path: Path) -> dict[str, Any]:
        recorded = json.loads(lzma.decompress(path.read_bytes()))
        found, agreed = [], []
        for kind, number, equation in recorded["rows"]:
            info = self._infos.get((kind, number))
            ours = None if info is None else _equation(info, kind)
            found.append((kind, number))
            agreed.append(ours == recorded["equations"][equation])
        return report(np.array(agreed, bool), lambda row: {"row": found[row]})


def _equation(info: MetadataInfo, kind: str) -> list[int]:
    """Return an equation as the record has it: masks of x, y, z, s per address bit, or on GFX9 up to eight (coordinate, bit) pairs."""
    if info.config.level > 90:
        assert info.equation is not None
        count = 72 if kind == "htile" else 68
        masks = np.zeros((count // 4, 4), int)
        masks[: info.equation.bits] = info.equation.masks[:, :4]
        return [10, count, *masks.ravel().tolist()]
    if info.equation is None:
        return [9, 0, 0] + [0] * 512
    terms = metadata_terms(info.config, _key(info, 1, None))
    found = [9, info.equation.bits + 1, info.pipe_bits]
    for bit in range(32):
        pairs = [number for _, order, axis in sorted(terms[bit]) for number in (int(axis), order)]
        pairs += [5, 0] * (5 - len(pairs) // 2)
        found += pairs + [0] * (16 - len(pairs))
    return found
