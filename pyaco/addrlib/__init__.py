"""Surface layout and addressing as AMD hardware does it: GFX6 to GFX12.

Every query comes in two forms: a batched one over NumPy columns that gives a status per record, and a scalar one that raises.
Names follow AMD's addrlib; sizes are in bytes unless a docstring says elements or pixels.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from pyaco.addrlib.chips import GpuConfig, gpu_config, gpu_configs

if TYPE_CHECKING:
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
    from pyaco.addrlib.tiling import TiledSurface
    from pyaco.addrlib.v2_surface import MipInfo, SurfaceInfo, surface_info, surface_infos

__all__ = [
    "BlockSet",
    "Equation",
    "Format",
    "GpuConfig",
    "MipInfo",
    "ResourceLocation",
    "ResourceType",
    "Status",
    "SurfaceFlags",
    "SurfaceFlags3",
    "SurfaceInfo",
    "SwizzleMode",
    "SwizzleMode3",
    "SwizzleType",
    "TiledSurface",
    "gpu_config",
    "gpu_configs",
    "surface_info",
    "surface_infos",
]

# Where each name lives; modules load when a name is used, so that numba is not imported for nothing.
_HOME = {
    "Equation": "equation", "Format": "formats",
    "TiledSurface": "tiling",
    "MipInfo": "v2_surface", "SurfaceInfo": "v2_surface", "surface_info": "v2_surface", "surface_infos": "v2_surface",
    **dict.fromkeys(
        ("BlockSet", "ResourceLocation", "ResourceType", "Status", "SurfaceFlags", "SurfaceFlags3", "SwizzleMode", "SwizzleMode3", "SwizzleType"),
        "enums"),
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"pyaco.addrlib.{_HOME[name]}"), name)
    raise AttributeError(f"module 'pyaco.addrlib' has no attribute {name!r}")
