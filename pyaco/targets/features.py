"""What a hardware level has, asked by name: ``has_packed_ids(level)`` and its like, from the table ``data/features.txt``.

Levels are those of ``Chip.level``: 90 (GFX9), 94 (CDNA 3), 103 (GFX10.3), 120 (GFX12).
"""

from __future__ import annotations

from functools import cache
from importlib import resources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "has_architected_flat_scratch", "has_assembler", "has_compiler", "has_dx10_clamp_mode", "has_emulator", "has_gfx12_swizzle_modes",
    "has_ieee_mode", "has_packed_ids", "has_scratch_granule_256", "has_sdma_compression", "has_sdma_counts_less_one", "has_sdma_low_operation",
    "has_shared_vgprs", "has_surface_epitch", "has_swizzle_mode_choice", "has_unified_buffer_formats", "has_wave32", "has_wgp_mode",
    "has_workgroup_ids_in_ttmp",
]  # fmt: skip

_NO_END = 1 << 16


@cache
def features() -> dict[str, tuple[tuple[int, int], ...]]:
    """Return the table: for each feature the ranges of levels, both ends included, that have it."""
    table = {}
    for line in (resources.files("pyaco.targets") / "data" / "features.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            name, levels, _ = (column.strip() for column in line.split("|", 2))
            table[name] = tuple(_range(word) for word in levels.split())
    return table


def _range(word: str) -> tuple[int, int]:
    first, dash, last = word.partition("-")
    return int(first), int(last) if last else _NO_END if dash else int(first)


def _feature(name: str) -> Callable[[int], bool]:
    @cache
    def has(level: int) -> bool:
        return any(first <= level <= last for first, last in features()[name])

    has.__name__ = has.__qualname__ = f"has_{name}"
    return has


has_packed_ids = _feature("packed_ids")
has_workgroup_ids_in_ttmp = _feature("workgroup_ids_in_ttmp")
has_wave32 = _feature("wave32")
has_wgp_mode = _feature("wgp_mode")
has_shared_vgprs = _feature("shared_vgprs")
has_architected_flat_scratch = _feature("architected_flat_scratch")
has_scratch_granule_256 = _feature("scratch_granule_256")
has_dx10_clamp_mode = _feature("dx10_clamp_mode")
has_ieee_mode = _feature("ieee_mode")
has_unified_buffer_formats = _feature("unified_buffer_formats")
has_gfx12_swizzle_modes = _feature("gfx12_swizzle_modes")
has_swizzle_mode_choice = _feature("swizzle_mode_choice")
has_sdma_low_operation = _feature("sdma_low_operation")
has_sdma_counts_less_one = _feature("sdma_counts_less_one")
has_sdma_compression = _feature("sdma_compression")
has_surface_epitch = _feature("surface_epitch")
has_assembler = _feature("assembler")
has_compiler = _feature("compiler")
has_emulator = _feature("emulator")
