"""Surface layout and addressing as AMD hardware does it: GFX6 to GFX12.

Every query comes in two forms: a batched one over NumPy columns that gives a status per record, and a scalar one that raises.
Names follow AMD's addrlib; sizes are in bytes unless a docstring says elements or pixels.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pyaco.addrlib.chips import GpuConfig, gpu_config, gpu_configs

if TYPE_CHECKING:
    from pyaco.addrlib.block_plot import block_order, plot
    from pyaco.addrlib.driver.modifiers import Modifier, decode_modifier, supported_modifiers
    from pyaco.addrlib.driver.queries import (
        bo_metadata,
        compute_surface,
        import_surface,
        non_block_compressed_view,
        override_offset_and_pitch,
        planes,
        stencil_offset,
        surface_address,
        surface_addresses,
        tiled_surface,
    )
    from pyaco.addrlib.driver.records import MicroTileMode, SurfaceMode, SurfaceRequest, SurfaceUse
    from pyaco.addrlib.enums import (
        BlockSet,
        ResourceLocation,
        ResourceType,
        Status,
        SurfaceFlags,
        SurfaceFlags3,
        SwizzleMode,
        SwizzleMode3,
        SwizzleType,
    )
    from pyaco.addrlib.equation import Equation
    from pyaco.addrlib.formats import Format
    from pyaco.addrlib.formatted import Surface, surface_request
    from pyaco.addrlib.metadata import (
        CmaskRequest,
        DccRequest,
        HtileRequest,
        cmask_info,
        dcc_info,
        htile_info,
    )
    from pyaco.addrlib.metadata.fmask import fmask_info
    from pyaco.addrlib.multi_plane import PlaneSurface, PlaneSurfaces, plane_surfaces
    from pyaco.addrlib.records import MipInfo
    from pyaco.addrlib.tiling import TiledSurface
    from pyaco.addrlib.v2.queries import SurfaceInfo, surface_info, surface_infos

__all__ = [
    "BlockSet",
    "CmaskRequest",
    "DccRequest",
    "Equation",
    "Format",
    "GpuConfig",
    "HtileRequest",
    "MicroTileMode",
    "MipInfo",
    "Modifier",
    "PlaneSurface",
    "PlaneSurfaces",
    "ResourceLocation",
    "ResourceType",
    "Status",
    "Surface",
    "SurfaceFlags",
    "SurfaceFlags3",
    "SurfaceInfo",
    "SurfaceMode",
    "SurfaceRequest",
    "SurfaceUse",
    "SwizzleMode",
    "SwizzleMode3",
    "SwizzleType",
    "TiledSurface",
    "block_order",
    "bo_metadata",
    "cmask_info",
    "compute_surface",
    "dcc_info",
    "decode_modifier",
    "fmask_info",
    "gpu_config",
    "gpu_configs",
    "htile_info",
    "import_surface",
    "non_block_compressed_view",
    "override_offset_and_pitch",
    "plane_surfaces",
    "planes",
    "plot",
    "stencil_offset",
    "supported_modifiers",
    "surface_address",
    "surface_addresses",
    "surface_info",
    "surface_infos",
    "surface_request",
    "tiled_surface",
]

# Where each name lives; modules load when a name is used, so that numba is not imported for nothing.
_HOME = {
    "Equation": "equation", "Format": "formats", "block_order": "block_plot", "plot": "block_plot",
    "TiledSurface": "tiling",
    "MipInfo": "records", "SurfaceInfo": "v2.queries", "surface_info": "v2.queries", "surface_infos": "v2.queries",
    "fmask_info": "metadata.fmask",
    **dict.fromkeys(("CmaskRequest", "DccRequest", "HtileRequest", "cmask_info", "dcc_info", "htile_info"), "metadata"),
    **dict.fromkeys(("Modifier", "decode_modifier", "supported_modifiers"), "driver.modifiers"),
    **dict.fromkeys(("Surface", "surface_request"), "formatted"),
    **dict.fromkeys(("PlaneSurface", "PlaneSurfaces", "plane_surfaces"), "multi_plane"),
    **dict.fromkeys(("MicroTileMode", "SurfaceMode", "SurfaceRequest", "SurfaceUse"), "driver.records"),
    **dict.fromkeys((
        "bo_metadata", "compute_surface", "import_surface", "non_block_compressed_view", "override_offset_and_pitch", "planes", "stencil_offset",
        "surface_address", "surface_addresses", "tiled_surface",
    ), "driver.queries"),
    **dict.fromkeys(
        ("BlockSet", "ResourceLocation", "ResourceType", "Status", "SurfaceFlags", "SurfaceFlags3", "SwizzleMode", "SwizzleMode3", "SwizzleType"),
        "enums"),
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"pyaco.addrlib.{_HOME[name]}"), name)
    raise AttributeError(f"module 'pyaco.addrlib' has no attribute {name!r}")
