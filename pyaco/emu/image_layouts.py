"""How a surface lies in memory, as the fields of an image descriptor say.

From GFX9 on the descriptor has a swizzle mode, and pipe and bank are xored by bits of the base. Before, it has an index into the chip's table
of tile modes, and the pitch of the first level; the hardware finds the other levels behind it, padded to powers of two, and reads pipe and bank
from bits of the base that address the macro tiles of the first level.

Sources: the register database's ``SQ_IMG_RSRC_WORD*``; AMD's ISA documents, "Image Resource Definition"; Mesa's ``ac_descriptors.c`` and
``radv_image_view.c`` for what drivers put there.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from pyaco.errors import InputError
from pyaco.targets.features import has_custom_linear_pitch, has_surfaces_1d, has_swizzle_modes, has_wide_image_depth

if TYPE_CHECKING:
    from pyaco.addrlib import GpuConfig
    from pyaco.addrlib.tiling import LevelTables, TiledSurface
    from pyaco.addrlib.v1.layout import Layout

__all__ = ["CUBE", "LAYERED", "MULTISAMPLED", "ONE_DIMENSION", "THREE_DIMENSIONS", "Elements", "SurfaceLayouts"]

_1D, _2D, _3D, _CUBE, _1D_ARRAY, _2D_ARRAY, _2D_MSAA, _2D_MSAA_ARRAY = range(8, 16)
CUBE, THREE_DIMENSIONS, ONE_DIMENSION, MULTISAMPLED = _CUBE, _3D, (_1D, _1D_ARRAY), (_2D_MSAA, _2D_MSAA_ARRAY)
LAYERED = (_CUBE, _1D_ARRAY, _2D_ARRAY, _2D_MSAA_ARRAY)
_TABLE_LIMIT = 1 << 30

Fields = Mapping[str, int]


class Elements(NamedTuple):
    """What a surface consists of: bytes of an element, texels of it in width and height, and levels, slices and samples."""

    bytes: int
    block: tuple[int, int]
    levels: int
    slices: int
    samples: int
    fmask: bool = False


class SurfaceLayouts:
    """The surfaces of one chip that descriptors have named.

    Parameters
    ----------
    target : str
        A gfx name; its chip says how memory is interleaved.
    level : int
        Hardware level times ten.
    """

    def __init__(self, target: str, level: int) -> None:
        self.target, self.level = target, level
        self._surfaces: dict[tuple[object, ...], TiledSurface] = {}
        self._tables: dict[tuple[TiledSurface, int], LevelTables] = {}
        #: Bytes of the tables that are kept.
        self.table_bytes = 0

    def forget(self) -> None:
        """Drop what is kept."""
        self._surfaces, self._tables, self.table_bytes = {}, {}, 0

    @cached_property
    def _config(self) -> GpuConfig:
        from pyaco.addrlib import gpu_config

        return gpu_config(self.target)

    def size(self, f: Fields) -> tuple[int, int]:
        """Texels of level 0."""
        width = (f["WIDTH_LO"] | f["WIDTH_HI"] << 2 if "WIDTH_LO" in f else f["WIDTH"]) + 1
        return width, 1 if f["TYPE"] in ONE_DIMENSION else f["HEIGHT"] + 1

    def layers(self, f: Fields) -> tuple[int, int, int]:
        """First layer, layers of the view, and slices of the surface that are known of."""
        if not has_swizzle_modes(self.level):
            slices = (f["DEPTH"] + 1) * (6 if f["TYPE"] == _CUBE else 1)
            if f["TYPE"] == _3D:
                return 0, slices, slices
            first, last = f["BASE_ARRAY"], f["LAST_ARRAY"] if f["TYPE"] in LAYERED else f["BASE_ARRAY"]
            return first, last - first + 1, max(slices, last + 1)
        if f["TYPE"] in LAYERED:
            return f["BASE_ARRAY"], f["DEPTH"] - f["BASE_ARRAY"] + 1, f["DEPTH"] + 1
        if f["TYPE"] == _3D:
            # slices are chosen only where the image is written to
            first = f["BASE_ARRAY"] if f.get("UAV3D") or (f.get("ARRAY_PITCH") and self.level >= 100) else 0
            return first, f["DEPTH"] - first + 1, f["DEPTH"] + 1
        return f["BASE_ARRAY"], 1, f["BASE_ARRAY"] + 1

    def find(self, f: Fields, base: int, elements: Elements) -> tuple[TiledSurface, int]:
        """Return the surface, and its address, which holds pipe and bank xor unless the surface does.

        Raises
        ------
        InputError
            The chip has no such surface.
        """
        if not has_swizzle_modes(self.level):
            return self._find_tiled(f, base, elements)
        return self._find_swizzled(f, elements), base

    def tables(self, surface: TiledSurface, number: int) -> LevelTables:
        """Tables of a level; those of layouts that are alike are shared."""
        if (surface, number) not in self._tables:
            found = surface.tables(number)
            if has_swizzle_modes(self.level) and found.low >= surface.base_align:
                # a base that is less aligned than blocks is added: each coordinate has bits of its own in such modes
                found = found._replace(low=0)
            self.table_bytes += sum(table.nbytes for table in (found.x, found.y, found.slice, found.sample))
            if self.table_bytes > _TABLE_LIMIT:
                raise InputError(f"layouts of images that take more than {_TABLE_LIMIT >> 20} MiB in one dispatch")
            self._tables[surface, number] = found
        return self._tables[surface, number]

    # -------------------------------------------------------------------------------------------------------- GFX9 and later
    def _pitch(self, f: Fields, levels: int) -> int:
        """The pitch that the descriptor gives for linear images of one level, 0 where it follows from the width."""
        if f["SW_MODE"] or levels > 1:
            return 0
        if "PITCH" in f:
            return f["PITCH"] + 1
        if has_custom_linear_pitch(self.level) and f["TYPE"] in (_1D, _2D):
            pitch = f["DEPTH"] | f["PITCH_MSB"] << (14 if has_wide_image_depth(self.level) else 13)
            return pitch + 1 if pitch else 0
        return 0

    def _find_swizzled(self, f: Fields, elements: Elements) -> TiledSurface:
        from pyaco.addrlib.enums import ResourceType, SurfaceFlags
        from pyaco.addrlib.tiling import TiledSurface

        size, one_dimension = self.size(f), f["TYPE"] in ONE_DIMENSION and has_surfaces_1d(self.level)
        resource = ResourceType.TEX_3D if f["TYPE"] == _3D else ResourceType.TEX_1D if one_dimension else ResourceType.TEX_2D
        pitch = self._pitch(f, elements.levels)
        key = size, elements, f["SW_MODE"], resource, pitch
        if key not in self._surfaces:
            extents = [_extent(size, elements.block, level) for level in range(elements.levels)]
            self._surfaces[key] = TiledSurface(
                self._config, width=extents[0][0], height=extents[0][1], bpp=8 * elements.bytes, swizzle_mode=f["SW_MODE"], resource_type=resource,
                num_slices=elements.slices, num_mip_levels=elements.levels, num_samples=elements.samples, pitch_in_element=pitch,
                flags=int(SurfaceFlags.FMASK) if elements.fmask else 0, level_extents=extents)
        return self._surfaces[key]

    # ------------------------------------------------------------------------------------------------------------------ GFX8
    def _find_tiled(self, f: Fields, base: int, elements: Elements) -> tuple[TiledSurface, int]:
        from pyaco.addrlib.tiling_gfx6 import TiledSurfaceGfx6

        levels = self._tiled_levels(f, elements)
        first = levels[0][2]
        # bits of bank and pipe, where the first level is macro tiled
        xor = base & tile_swizzle_mask(self._config, first)
        key = self.size(f), elements, f["TILING_INDEX"], f["PITCH"], f["POW2_PAD"], f["TYPE"] == _3D, xor
        if key not in self._surfaces:
            self._surfaces[key] = TiledSurfaceGfx6.of_levels(self._config, elements.bytes, levels, xor >> 8)
        return self._surfaces[key], base - xor

    def _tiled_levels(self, f: Fields, elements: Elements) -> list[tuple[int, tuple[int, int, int, int], Layout]]:
        """Offset, (width, height, slices, samples) in elements, and layout of each level."""
        from pyaco.addrlib.formats import Format
        from pyaco.addrlib.v1 import modes
        from pyaco.addrlib.v1.chip import ROW_MODE, ROW_TYPE, chip_of
        from pyaco.addrlib.v1.queries import surface_info

        row = chip_of(self._config).tile_modes[f["TILING_INDEX"]]
        depth = row[ROW_TYPE] == modes.DEPTH_SAMPLE_ORDER and not modes.is_linear(row[ROW_MODE])
        flags = (modes.DEPTH | modes.NO_STENCIL if depth else modes.COLOR) | (modes.POW2_PAD if f["POW2_PAD"] else 0)
        size, pitch, end = self.size(f), f["PITCH"] + 1, 0
        blocks = 0 if elements.block == (1, 1) else int(Format.BC1 if elements.bytes == 8 else Format.BC3)
        levels = []
        for level in range(elements.levels):
            slices = max(1, elements.slices >> level) if f["TYPE"] == _3D else elements.slices
            info = surface_info(
                self._config, tile_mode=row[ROW_MODE], tile_type=row[ROW_TYPE], tile_index=f["TILING_INDEX"], bpp=8 * elements.bytes, format=blocks,
                num_samples=elements.samples, width=max(1, (size[0] if level else pitch) >> level), height=max(1, size[1] >> level),
                num_slices=slices, mip_level=level, base_pitch=pitch if level else 0, flags=flags)
            if level == 0:
                if info.pitch * elements.block[0] != pitch:
                    raise InputError(f"a pitch of {pitch} texels in tile mode {info.tile_mode} on {self._config.name}: the next is "
                                     f"{info.pitch * elements.block[0]}")
                if size[0] > pitch:
                    raise InputError(f"a width of {size[0]} texels with a pitch of {pitch}")
            offset = modes.align_up(end, info.base_align)
            levels.append((offset, (*_extent(size, elements.block, level), slices, elements.samples), info))
            end = offset + info.surface_bytes
        return levels


def tile_swizzle_mask(config: GpuConfig, first: Layout) -> int:
    """Bits of the base of a surface of GFX8 that are xored into bank and pipe of its macro tiles."""
    from pyaco.addrlib.v1.modes import IS_MACRO, PIPES

    return (PIPES[first.pipe_config] * first.banks - 1) * config.pipe_interleave_bytes if IS_MACRO[first.tile_mode] else 0


def _extent(size: tuple[int, int], block: tuple[int, int], level: int) -> tuple[int, int]:
    """Elements of a level in width and height: texels, or the blocks that hold them."""
    return -(-max(size[0] >> level, 1) // block[0]), -(-max(size[1] >> level, 1) // block[1])
