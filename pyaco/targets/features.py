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
    "has_alpha_on_msb",
    "has_always_iterate_256",
    "has_architected_flat_scratch",
    "has_assembler",
    "has_attribute_ring",
    "has_bank_height_without_fmask",
    "has_base_level_in_word1",
    "has_clamped_depth_format_11",
    "has_cmask",
    "has_cmask_address_type",
    "has_color_dcc_enable",
    "has_compiler",
    "has_custom_linear_pitch",
    "has_dcc",
    "has_depth_epitch",
    "has_depth_size_xy",
    "has_dx10_clamp_mode",
    "has_emulator",
    "has_fdcc_control",
    "has_fdcc_fragment_limit",
    "has_fmask",
    "has_fmask_pitch",
    "has_gfx12_swizzle_modes",
    "has_htile_rb_aligned",
    "has_ieee_mode",
    "has_iterate_256",
    "has_macro_tile_table",
    "has_max_mip_in_word1",
    "has_metadata_surfaces",
    "has_packed_ids",
    "has_resource_level_bit",
    "has_sampler_anisotropy_override",
    "has_sampler_compat_mode",
    "has_sampler_lsb_ceil",
    "has_sampler_mask_in_descriptor",
    "has_scratch_granule_256",
    "has_sdma_compression",
    "has_sdma_counts_less_one",
    "has_sdma_low_operation",
    "has_shared_e5_targets",
    "has_shared_vgprs",
    "has_short_buffer_format",
    "has_split_min_lod",
    "has_split_perf_mip",
    "has_stencil_flush_always",
    "has_stencil_image_formats",
    "has_stencil_zplanes_hang",
    "has_stride_above_thread_id",
    "has_surface_epitch",
    "has_swizzle_mode_choice",
    "has_unified_buffer_formats",
    "has_wave32",
    "has_wgp_mode",
    "has_whole_mip_chain_targets",
    "has_wide_depth_slices",
    "has_wide_image_depth",
    "has_wide_lod_bias",
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
has_metadata_surfaces = _feature("metadata_surfaces")
has_dcc = _feature("dcc")
has_fmask = _feature("fmask")
has_cmask = _feature("cmask")
has_whole_mip_chain_targets = _feature("whole_mip_chain_targets")
has_color_dcc_enable = _feature("color_dcc_enable")
has_fdcc_control = _feature("fdcc_control")
has_fdcc_fragment_limit = _feature("fdcc_fragment_limit")
has_bank_height_without_fmask = _feature("bank_height_without_fmask")
has_fmask_pitch = _feature("fmask_pitch")
has_cmask_address_type = _feature("cmask_address_type")
has_custom_linear_pitch = _feature("custom_linear_pitch")
has_resource_level_bit = _feature("resource_level_bit")
has_shared_e5_targets = _feature("shared_e5_targets")
has_alpha_on_msb = _feature("alpha_on_msb")
has_clamped_depth_format_11 = _feature("clamped_depth_format_11")
has_short_buffer_format = _feature("short_buffer_format")
has_stride_above_thread_id = _feature("stride_above_thread_id")
has_attribute_ring = _feature("attribute_ring")
has_sampler_compat_mode = _feature("sampler_compat_mode")
has_sampler_anisotropy_override = _feature("sampler_anisotropy_override")
has_sampler_lsb_ceil = _feature("sampler_lsb_ceil")
has_wide_lod_bias = _feature("wide_lod_bias")
has_split_perf_mip = _feature("split_perf_mip")
has_depth_size_xy = _feature("depth_size_xy")
has_wide_depth_slices = _feature("wide_depth_slices")
has_depth_epitch = _feature("depth_epitch")
has_htile_rb_aligned = _feature("htile_rb_aligned")
has_iterate_256 = _feature("iterate_256")
has_always_iterate_256 = _feature("always_iterate_256")
has_stencil_flush_always = _feature("stencil_flush_always")
has_stencil_zplanes_hang = _feature("stencil_zplanes_hang")
has_macro_tile_table = _feature("macro_tile_table")
has_sampler_mask_in_descriptor = _feature("sampler_mask_in_descriptor")
has_base_level_in_word1 = _feature("base_level_in_word1")
has_max_mip_in_word1 = _feature("max_mip_in_word1")
has_split_min_lod = _feature("split_min_lod")
has_wide_image_depth = _feature("wide_image_depth")
has_stencil_image_formats = _feature("stencil_image_formats")
has_assembler = _feature("assembler")
has_compiler = _feature("compiler")
has_emulator = _feature("emulator")
