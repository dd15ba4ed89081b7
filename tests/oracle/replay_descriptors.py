"""Compare our descriptors with recorded ones: ``python tests/oracle/replay_descriptors.py DIR``.

DIR holds ``desc_*.npz`` and ``hw_format.npz`` (one array a column), ``formats.json`` (format number to name) and ``configs.json`` (chips).
Tables that pyaco does not build are skipped and counted. Prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pyaco.descriptors import hardware_format as hardware
from pyaco.descriptors.buffer import attribute_ring, buffer_descriptor, raw_buffer
from pyaco.descriptors.sampler import Sampler, sampler_descriptor
from pyaco.errors import PyacoError
from pyaco.formats import pixel_format

LEVELS = {8: 60, 9: 70, 10: 80, 11: 90, 12: 100, 13: 103, 14: 110, 15: 115, 16: 120}
NAMES = {"GFX6": 60, "GFX7": 70, "GFX8": 80, "GFX9": 90, "GFX10": 100, "GFX10_3": 103, "GFX11": 110, "GFX11_5": 115, "GFX12": 120}
Row = dict[str, int]
Replay = Callable[[Row], dict[str, int]]


def words(values: tuple[int, ...]) -> dict[str, int]:
    return {f"d{k}": value for k, value in enumerate(values)}


class Replayer:
    """The replays of one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.formats = {int(number): entry["name"] for number, entry in json.loads((folder / "formats.json").read_text()).items()}
        configs = json.loads((folder / "configs.json").read_text())
        self.configs = configs["configs"] if isinstance(configs, dict) else configs
        self.replays: dict[str, Replay] = {
            "desc_raw_buffer": self.raw_buffer, "desc_attr_ring": self.attribute_ring, "desc_buffer": self.buffer,
            "desc_sampler": self.sampler, "hw_format": self.format,
        }

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
        columns = dict(np.load(path).items())
        count = len(next(iter(columns.values())))
        result: dict[str, Any] = {"tried": 0, "agreed": 0, "skipped": 0, "first_disagreements": []}
        replay = self.replays.get(path.stem)
        if replay is None:
            result["skipped"] = count
            return result
        for index in range(count):
            row = {name: int(column[index]) for name, column in columns.items()}
            result["tried"] += 1
            try:
                found: dict[str, Any] = replay(row)
                different = {name: [value, row[name]] for name, value in found.items() if value & 0xFFFFFFFF != row[name] & 0xFFFFFFFF}
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
