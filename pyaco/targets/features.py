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
    "has_addressable_scratch", "has_alpha_on_msb", "has_always_iterate_256", "has_architected_flat_scratch", "has_assembler",
    "has_attribute_ring", "has_bank_height_without_fmask", "has_base_level_in_word1", "has_blocks_256kb", "has_clamped_depth_format_11",
    "has_cleared_high_half", "has_clusters", "has_cmask", "has_cmask_address_type", "has_cmask_of_single_samples", "has_cmpx_without_vcc",
    "has_coexecution", "has_color_dcc_enable", "has_compiler", "has_custom_linear_pitch", "has_dcc", "has_dcc_blocks_256b",
    "has_dcc_image_stores", "has_dcc_image_stores_64b", "has_dcc_of_first_tail_level", "has_dcc_register_clears", "has_dcc_single_clears",
    "has_dcc_typed_clears", "has_depth_epitch", "has_depth_size_xy", "has_display_dcc", "has_display_dcc_128b",
    "has_display_dcc_of_small_images", "has_drm_modifiers", "has_ds_cmpstore", "has_dx10_clamp_mode", "has_emulator", "has_fdcc_control",
    "has_fdcc_fragment_limit", "has_flat_scratch_sgprs", "has_fmask", "has_fmask_pitch", "has_fnuz_floats", "has_forced_swizzle_mode",
    "has_fp64", "has_fp64_rounding", "has_full_rate_doubles", "has_gfx12_swizzle_modes", "has_half_coordinates", "has_half_wave_permutes",
    "has_hidden_flat_scratch", "has_htile_rb_aligned", "has_idle_status_reads", "has_ieee_mode", "has_image_descriptors",
    "has_independent_dcc_128b", "has_int64", "has_iterate_256", "has_large_gds", "has_lds_bound", "has_lds_offsets_wrap",
    "has_macro_tile_table", "has_max_mip_in_word1", "has_memory_scopes", "has_metadata_surfaces", "has_negated_double_matrices",
    "has_non_block_compressed_views", "has_offset_flat_scratch", "has_oob_select", "has_packed_ids", "has_packers", "has_planar_mip_chains",
    "has_records_in_bytes", "has_resource_level_bit", "has_sampler_anisotropy_override", "has_sampler_compat_mode", "has_sampler_lsb_ceil",
    "has_sampler_mask_in_descriptor", "has_scratch_granule_256", "has_scratch_instructions", "has_sdma_compression",
    "has_sdma_counts_less_one", "has_sdma_low_operation", "has_separate_shading_rates", "has_sgpr_read_hazard", "has_shared_e5_targets",
    "has_shared_vgprs", "has_short_buffer_format", "has_signed_vector_offsets", "has_slow_matrices", "has_split_barriers",
    "has_split_min_lod", "has_split_perf_mip", "has_split_wait_counters", "has_spread_wave_matrices", "has_stencil_flush_always",
    "has_stencil_image_formats", "has_stencil_zplanes_hang", "has_store_counter", "has_strict_structures", "has_stride_above_thread_id",
    "has_subsampled_elements", "has_surface_epitch", "has_surfaces_1d", "has_swizzle_mode_choice", "has_swizzle_modes",
    "has_tile_swizzle_from_bit_10", "has_tile_swizzle_of_mip_chains", "has_translation_counter", "has_unaligned_scratch",
    "has_unified_buffer_formats", "has_variable_blocks", "has_vgpr_banks", "has_vgpr_banks_by_setreg", "has_vgpr_index_mode", "has_wave32",
    "has_wave64", "has_wave_matrices", "has_wgp_mode", "has_whole_mip_chain_targets", "has_wide_cache_lines", "has_wide_cycle_counter",
    "has_wide_depth_slices", "has_wide_image_depth", "has_wide_lds_loads", "has_wide_lod_bias", "has_workgroup_ids_in_ttmp",
    "has_wrapping_buffer_offsets", "has_xthick_3d_tiling", "has_zero_extended_pc",
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
has_wave_matrices = _feature("wave_matrices")
has_wgp_mode = _feature("wgp_mode")
has_shared_vgprs = _feature("shared_vgprs")
has_architected_flat_scratch = _feature("architected_flat_scratch")
has_scratch_granule_256 = _feature("scratch_granule_256")
has_dx10_clamp_mode = _feature("dx10_clamp_mode")
has_ieee_mode = _feature("ieee_mode")
has_unified_buffer_formats = _feature("unified_buffer_formats")
has_gfx12_swizzle_modes = _feature("gfx12_swizzle_modes")
has_int64 = _feature("int64")
has_fp64 = _feature("fp64")
has_fp64_rounding = _feature("fp64_rounding")
has_swizzle_mode_choice = _feature("swizzle_mode_choice")
has_sdma_low_operation = _feature("sdma_low_operation")
has_sdma_counts_less_one = _feature("sdma_counts_less_one")
has_sdma_compression = _feature("sdma_compression")
has_surface_epitch = _feature("surface_epitch")
has_metadata_surfaces = _feature("metadata_surfaces")
has_dcc = _feature("dcc")
has_dcc_register_clears = _feature("dcc_register_clears")
has_dcc_single_clears = _feature("dcc_single_clears")
has_dcc_typed_clears = _feature("dcc_typed_clears")
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
has_records_in_bytes = _feature("records_in_bytes")
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
has_forced_swizzle_mode = _feature("forced_swizzle_mode")
has_non_block_compressed_views = _feature("non_block_compressed_views")
has_half_coordinates = _feature("half_coordinates")
has_surfaces_1d = _feature("surfaces_1d")
has_dcc_image_stores = _feature("dcc_image_stores")
has_dcc_image_stores_64b = _feature("dcc_image_stores_64b")
has_dcc_blocks_256b = _feature("dcc_blocks_256b")
has_display_dcc_of_small_images = _feature("display_dcc_of_small_images")
has_separate_shading_rates = _feature("separate_shading_rates")
has_variable_blocks = _feature("variable_blocks")
has_blocks_256kb = _feature("blocks_256kb")
has_cmask_of_single_samples = _feature("cmask_of_single_samples")
has_tile_swizzle_from_bit_10 = _feature("tile_swizzle_from_bit_10")
has_xthick_3d_tiling = _feature("xthick_3d_tiling")
has_swizzle_modes = _feature("swizzle_modes")
has_packers = _feature("packers")
has_subsampled_elements = _feature("subsampled_elements")
has_planar_mip_chains = _feature("planar_mip_chains")
has_tile_swizzle_of_mip_chains = _feature("tile_swizzle_of_mip_chains")
has_drm_modifiers = _feature("drm_modifiers")
has_display_dcc = _feature("display_dcc")
has_display_dcc_128b = _feature("display_dcc_128b")
has_independent_dcc_128b = _feature("independent_dcc_128b")
has_dcc_of_first_tail_level = _feature("dcc_of_first_tail_level")
has_vgpr_index_mode = _feature("vgpr_index_mode")
has_cmpx_without_vcc = _feature("cmpx_without_vcc")
has_cleared_high_half = _feature("cleared_high_half")
has_fnuz_floats = _feature("fnuz_floats")
has_negated_double_matrices = _feature("negated_double_matrices")
has_spread_wave_matrices = _feature("spread_wave_matrices")
has_zero_extended_pc = _feature("zero_extended_pc")
has_wide_cycle_counter = _feature("wide_cycle_counter")
has_split_barriers = _feature("split_barriers")
has_store_counter = _feature("store_counter")
has_split_wait_counters = _feature("split_wait_counters")
has_memory_scopes = _feature("memory_scopes")
has_wide_cache_lines = _feature("wide_cache_lines")
has_oob_select = _feature("oob_select")
has_scratch_instructions = _feature("scratch_instructions")
has_flat_scratch_sgprs = _feature("flat_scratch_sgprs")
has_offset_flat_scratch = _feature("offset_flat_scratch")
has_hidden_flat_scratch = _feature("hidden_flat_scratch")
has_unaligned_scratch = _feature("unaligned_scratch")
has_lds_offsets_wrap = _feature("lds_offsets_wrap")
has_lds_bound = _feature("lds_bound")
has_wrapping_buffer_offsets = _feature("wrapping_buffer_offsets")
has_strict_structures = _feature("strict_structures")
has_wide_lds_loads = _feature("wide_lds_loads")
has_ds_cmpstore = _feature("ds_cmpstore")
has_half_wave_permutes = _feature("half_wave_permutes")
has_large_gds = _feature("large_gds")
has_assembler = _feature("assembler")
has_compiler = _feature("compiler")
has_emulator = _feature("emulator")
has_addressable_scratch = _feature("addressable_scratch")
has_coexecution = _feature("coexecution")
has_full_rate_doubles = _feature("full_rate_doubles")
has_slow_matrices = _feature("slow_matrices")
has_sgpr_read_hazard = _feature("sgpr_read_hazard")
has_idle_status_reads = _feature("idle_status_reads")
has_image_descriptors = _feature("image_descriptors")
has_clusters = _feature("clusters")
has_translation_counter = _feature("translation_counter")
has_signed_vector_offsets = _feature("signed_vector_offsets")
has_vgpr_banks = _feature("vgpr_banks")
has_vgpr_banks_by_setreg = _feature("vgpr_banks_by_setreg")
has_wave64 = _feature("wave64")
