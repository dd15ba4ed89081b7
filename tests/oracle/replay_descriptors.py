"""Compare our descriptors with recorded ones: ``python tests/oracle/replay_descriptors.py DIR``.

DIR holds ``desc_*.npz``, ``hw_format.npz`` and ``surf_*.npz`` (one array a column), ``formats.json`` (format number to name) and
``configs.json`` (chips). Surfaces are laid out anew from what was asked. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pyaco.addrlib import gpu_config
from pyaco.addrlib.driver.modifiers import INVALID
from pyaco.addrlib.driver.queries import compute_surface
from pyaco.addrlib.driver.records import MicroTileMode, SurfaceMode, SurfaceRequest, SurfaceUse
from pyaco.descriptors import hardware_format as hardware
from pyaco.descriptors.buffer import attribute_ring, buffer_descriptor, raw_buffer
from pyaco.descriptors.color_surface import ColorView, color_surface
from pyaco.descriptors.depth_surface import DepthView, depth_surface
from pyaco.descriptors.image import ImageView, fmask_descriptor, image_descriptor
from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.errors import PyacoError
from pyaco.formats import pixel_format

LEVELS = {8: 60, 9: 70, 10: 80, 11: 90, 12: 100, 13: 103, 14: 110, 15: 115, 16: 120}
NAMES = {"GFX6": 60, "GFX7": 70, "GFX8": 80, "GFX9": 90, "GFX10": 100, "GFX10_3": 103, "GFX11": 110, "GFX11_5": 115, "GFX12": 120}
Row = dict[str, int]
Replay = Callable[[Row], dict[str, int]]


def words(values: tuple[int, ...]) -> dict[str, int]:
    return {f"d{k}": value for k, value in enumerate(values)}


def rows(path: Path) -> list[Row]:
    columns = {name: column.tolist() for name, column in np.load(path).items()}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def request(row: Row) -> SurfaceRequest:
    """What was asked of a surface."""
    optional = {name: None if row.get(f"i_{name}", -1) == -1 else row[f"i_{name}"]
                for name in ("surf_index", "fmask_surf_index", "force_swizzle_mode", "force_micro_tile_mode")}
    micro = optional["force_micro_tile_mode"]
    return SurfaceRequest(
        width=row["i_width"], height=row["i_height"], bpe=row["i_bpe"], depth=row["i_depth"], blk_w=row["i_blk_w"], blk_h=row["i_blk_h"],
        samples=row["i_samples"], storage_samples=row["i_storage_samples"], array_size=row["i_array_size"], levels=row["i_levels"],
        num_channels=row["i_num_channels"], is_1d=bool(row["i_is_1d"]), is_3d=bool(row["i_is_3d"]), is_cube=bool(row["i_is_cube"]),
        is_array=bool(row["i_is_array"]), mode=SurfaceMode(row["i_mode"]), flags=SurfaceUse(row["i_flags"]),
        modifier=row.get("i_modifier", INVALID), surf_index=optional["surf_index"], fmask_surf_index=optional["fmask_surf_index"],
        swizzle_mode=optional["force_swizzle_mode"], micro_tile_mode=None if micro is None else MicroTileMode(micro))


class Replayer:
    """The replays of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.formats: Any = {int(number): entry["name"] for number, entry in json.loads((folder / "formats.json").read_text()).items()}
        configs = json.loads((folder / "configs.json").read_text())
        self.configs = configs["configs"] if isinstance(configs, dict) else configs
        self.replays: dict[str, Replay] = {
            "desc_raw_buffer": self.raw_buffer, "desc_attr_ring": self.attribute_ring, "desc_buffer": self.buffer,
            "desc_sampler": self.sampler, "hw_format": self.format, "desc_texture": self.texture, "desc_fmask": self.fmask,
            "desc_cb": self.color, "desc_ds": self.depth,
        }
        self.requests = {
            (table, row["id"]): row for table in ("surf_gfx6", "surf_gfx9") for row in rows(folder / f"{table}.npz")}
        self.surfaces: dict[tuple[str, int], Any] = {}

    def surface(self, row: Row) -> tuple[Any, Any]:
        """The chip and the surface that a row is about."""
        config = gpu_config(self.configs[row["config"]]["name"])
        key = ("surf_gfx9" if config.level >= 90 else "surf_gfx6", row["surf"])
        if key not in self.surfaces:
            self.surfaces[key] = compute_surface(config, request(self.requests[key]))
        return config, self.surfaces[key]

    def texture(self, row: Row) -> dict[str, int]:
        config, surface = self.surface(row)
        view = ImageView(
            address=row["va"], format_name=self.formats[row["format"]], width=row["width"], height=row["height"], depth=row["depth"],
            type=row["type"], swizzle=(row["swz0"], row["swz1"], row["swz2"], row["swz3"]),
            surface_format=self.formats[row["img_format"]], samples=row["num_samples"], storage_samples=row["num_storage_samples"],
            first_level=row["first_level"], last_level=row["last_level"], levels=row["num_levels"], first_layer=row["first_layer"],
            last_layer=row["last_layer"], min_lod=row["min_lod_x256"] / 256, unordered_3d=bool(row["uav3d"]),
            upgraded_depth=bool(row["upgraded_depth"]), compressed=bool(row["dcc_enabled"]),
            compressed_depth=bool(row["tc_compat_htile_enabled"]), anisotropy_of_one_level=bool(row["aniso_single_level"]),
            compressed_writes=bool(row["write_compress_enable"]), iterate_256=bool(row["iterate_256"]),
            stencil=bool(row["is_stencil"]), base_level=row["base_level"], block_width=row["block_width"])
        return words(image_descriptor(config, surface, view))

    def fmask(self, row: Row) -> dict[str, int]:
        config, surface = self.surface(row)
        return words(fmask_descriptor(config, surface, ImageView(
            address=row["va"], format_name="R8_UNORM", width=row["width"], height=row["height"], depth=row["depth"], type=row["type"],
            samples=row["num_samples"], storage_samples=row["num_storage_samples"], first_layer=row["first_layer"],
            last_layer=row["last_layer"], compressed=bool(row["tc_compat_cmask"]))))

    def color(self, row: Row) -> dict[str, int]:
        config, surface = self.surface(row)
        found = color_surface(config, surface, ColorView(
            address=row["va"], format_name=self.formats[row["format"]], width=row["width"], height=row["height"],
            first_layer=row["first_layer"], last_layer=row["last_layer"], layers=row["num_layers"], samples=row["num_samples"],
            storage_samples=row["num_storage_samples"], level=row["base_level"], levels=row["num_levels"],
            fmask=bool(row["fmask_enabled"]), cmask=bool(row["cmask_enabled"]), fast_clear=bool(row["fast_clear_enabled"]),
            readable_cmask=bool(row["tc_compat_cmask_enabled"]), dcc=bool(row["dcc_enabled"])))
        names = {name: f"m_cb_color_{name}" for name in vars(found)} | {"dcc_control": "m_cb_dcc_control", "dcc_base": "m_cb_dcc_base"}
        return {names[name]: value for name, value in vars(found).items()}

    def depth(self, row: Row) -> dict[str, int]:
        config, surface = self.surface(row)
        found = depth_surface(config, surface, DepthView(
            address=row["va"], format_name=self.formats[row["format"]], width=row["width"], height=row["height"], level=row["level"],
            levels=row["num_levels"], samples=row["num_samples"], first_layer=row["first_layer"], last_layer=row["last_layer"],
            allow_expclear=bool(row["allow_expclear"]), stencil_only=bool(row["stencil_only"]),
            depth_read_only=bool(row["z_read_only"]), stencil_read_only=bool(row["stencil_read_only"]), htile=bool(row["htile_enabled"]),
            htile_without_stencil=bool(row["htile_stencil_disabled"]), readable_htile=bool(row["tc_compat_htile_enabled"]),
            shading_rates=bool(row["vrs_enabled"]), z_range_precision=row["zrange_precision"],
            no_compression_of_16_bits=bool(row["no_d16_compression"])))
        shared = ("depth_base", "stencil_base", "depth_view", "depth_size", "z_info", "stencil_info")
        others = (("hiz_base", "hiz_info", "hiz_size", "his_base", "his_info", "his_size", "depth_view1") if config.level >= 120 else
                  ("htile_base", "depth_info", "depth_slice", "htile_surface", "z_info2", "stencil_info2"))
        return {f"m_db_{name}": getattr(found, name) for name in shared} | {
            f"m_x{k}": getattr(found, name) for k, name in enumerate(others)}

    def raw_buffer(self, row: Row) -> dict[str, int]:
        return words(raw_buffer(row["va"], row["size"], LEVELS[row["gfx_level"]]))

    def attribute_ring(self, row: Row) -> dict[str, int]:
        return words(attribute_ring(row["va"], row["size"], row["stride"], LEVELS[row["gfx_level"]]))

    def buffer(self, row: Row) -> dict[str, int]:
        level = LEVELS[row["gfx_level"]]
        return words(buffer_descriptor(
            row["va"], row["size"], self.formats[row["format"]], level, swizzle=[row[f"swz{k}"] for k in range(4)],
            stride=row["stride"], swizzle_enable=row["swizzle_enable"] & (3 if level >= 110 else 1),
            element_size=row["element_size"], index_stride=row["index_stride"], add_thread_id=bool(row["add_tid"]),
            out_of_bounds=row["oob_select"]))

    def sampler(self, row: Row) -> dict[str, int]:
        sampler = Sampler(
            clamp=(row["clamp_x"], row["clamp_y"], row["clamp_z"]), mag_filter=row["mag_filter"], min_filter=row["min_filter"],
            mip_filter=row["mip_filter"], max_anisotropy=row["max_aniso_ratio"], compare=row["depth_compare_func"],
            filter_mode=row["filter_mode"], unnormalized=bool(row["unnormalized"]), cube_wrap=bool(row["cube_wrap"]),
            truncate=bool(row["trunc_coord"]), anisotropy_of_one_level=bool(row["aniso_single_level"]),
            border_color_type=row["border_color_type"], border_color_pointer=row["border_color_ptr"],
            min_lod=row["min_lod_x256"] / 256, max_lod=row["max_lod_x256"] / 256, lod_bias=row["lod_bias_x256"] / 256)
        return words(sampler_descriptor(sampler, LEVELS[row["gfx_level"]]))

    def format(self, row: Row) -> dict[str, int]:
        config = self.configs[row["config"]]
        level, chip, format_ = NAMES[config["gfx"]], config["name"], pixel_format(self.formats[row["format"]])
        found = dict(zip(("buf_data_format", "buf_num_format"), hardware.buffer_formats(format_), strict=True))
        found |= zip(("cb_format", "cb_number_type"), hardware.color_formats(format_, level), strict=True)
        found |= {
            "colorswap": hardware.color_swap(format_, level), "border_color_swizzle": hardware.border_color_swizzle(format_),
            "alpha_is_on_msb": int(hardware.alpha_is_on_msb(format_, level, chip)), "db_format": hardware.depth_format(format_),
        }
        if level < 100:
            return found | dict(zip(("tex_data_format", "tex_num_format"), hardware.image_formats(format_, level, chip), strict=True))
        unified = hardware.unified_format(format_, level)
        return found | {"gfx10_img_format": unified.number, "gfx10_buffers_only": int(unified.buffers_only)}

    def table(self, path: Path) -> dict[str, Any]:
        result: dict[str, Any] = {"tried": 0, "agreed": 0, "skipped": 0, "first_disagreements": []}
        replay = self.replays[path.stem]
        for index, row in enumerate(rows(path)):
            result["tried"] += 1
            try:
                found: dict[str, Any] = replay(row)
                different: dict[str, Any] = {
                    name: [value, row[name]] for name, value in found.items() if value & 0xFFFFFFFF != row[name] & 0xFFFFFFFF}
            except PyacoError as error:
                different = {"error": str(error)}
            result["agreed"] += not different
            if different and len(result["first_disagreements"]) < 5:
                result["first_disagreements"].append({"row": index, "ours and theirs": different})
        return result


def main() -> None:
    """Replay the folder that the command line names."""
    folder = Path(sys.argv[1])
    replayer = Replayer(folder)
    paths = sorted([*folder.glob("desc_*.npz"), *folder.glob("hw_format.npz")])
    print(json.dumps({path.stem: replayer.table(path) for path in paths}, indent=1))


if __name__ == "__main__":
    main()
