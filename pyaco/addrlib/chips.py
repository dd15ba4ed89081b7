"""Chip configurations: the registers and facts from which a GPU's surface layouts follow.

Sources: the ``source`` of every row of ``data/chips.json`` (register dumps in Mesa's drm-shim, the golden settings and tile tables of
the Linux amdgpu driver, Mesa's ac_surface tests; some are plausible values nobody has read from hardware, and say so). Register
fields: AMD's register database (``GB_ADDR_CONFIG``, ``MC_ARB_RAMCFG``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

from pyaco.addrlib.checks import check_name
from pyaco.addrlib.generations import Generation, Rules, rules_of
from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets.features import has_packers, has_swizzle_modes, has_variable_blocks

__all__ = ["GpuConfig", "gpu_config", "gpu_configs"]


@dataclass(frozen=True)
class GpuConfig:
    """What addressing depends on, for one chip.

    Attributes
    ----------
    name : str
        Name of the configuration, such as ``navi21``.
    level : int
        Hardware level times ten: 60, 70, 80, 90, 100, 103, 110, 115, 120.
    chip : str
        Mesa's name of the chip family, lower case.
    family_id, chip_external_rev : int
        Family and revision as the kernel reports them.
    gb_addr_config, mc_arb_ramcfg : int
        Register values.
    enabled_rb_mask : int
        Bit per render backend that works.
    max_render_backends, num_tile_pipes : int
    pipe_interleave_bytes, tcc_cache_line_size : int
        Bytes.
    drm_minor, pci_id : int
    tile_modes : tuple of int
        32 values of GB_TILE_MODE (GFX6 to GFX8; empty later).
    macro_tile_modes : tuple of int
        16 values of GB_MACROTILE_MODE (GFX7, GFX8; empty otherwise).
    source : str
        Where the values come from.
    """

    name: str
    level: int
    chip: str
    family_id: int
    chip_external_rev: int
    gb_addr_config: int
    mc_arb_ramcfg: int
    enabled_rb_mask: int
    max_render_backends: int
    num_tile_pipes: int
    pipe_interleave_bytes: int
    tcc_cache_line_size: int
    drm_minor: int
    pci_id: int
    has_graphics: bool
    has_dedicated_vram: bool
    has_image_opcodes: bool
    has_rbplus: bool
    rbplus_allowed: bool
    has_dcc_constant_encode: bool
    has_tc_compatible_htile: bool
    has_two_planes_iterate256_bug: bool
    use_display_dcc_unaligned: bool
    use_display_dcc_with_retile_blit: bool
    tile_modes: tuple[int, ...]
    macro_tile_modes: tuple[int, ...]
    source: str

    def __hash__(self) -> int:
        # Tables are cached by configuration: hashing all fields would cost more than a query.
        return hash((self.name, self.gb_addr_config))

    @property
    def rules(self) -> Rules:
        """The code that lays out the chip's surfaces."""
        return rules_of(self.level)

    @property
    def generation(self) -> Generation:
        """The generation whose rules the chip's surfaces follow."""
        return rules_of(self.level).generation

    def _field(self, low: int, bits: int) -> int:
        return (self.gb_addr_config >> low) & ((1 << bits) - 1)

    @property
    def pipes_log2(self) -> int:
        """GB_ADDR_CONFIG.NUM_PIPES: log2 of pipes (GFX9: per shader engine; GFX10+: of the chip)."""
        return self._field(0, 3)

    @property
    def pipe_interleave_log2(self) -> int:
        """GB_ADDR_CONFIG.PIPE_INTERLEAVE_SIZE: log2 of bytes that go to one pipe in a row."""
        return 8 + (self._field(3, 3) if has_swizzle_modes(self.level) else self._field(4, 3))

    @property
    def max_compressed_fragments_log2(self) -> int:
        """GB_ADDR_CONFIG.MAX_COMPRESSED_FRAGS (GFX9, GFX10; without effect from GFX11 on)."""
        return self._field(6, 2) if self.generation in (Generation.GFX9, Generation.GFX10) else 0

    @property
    def banks_log2(self) -> int:
        """GB_ADDR_CONFIG.NUM_BANKS (GFX9; later generations have no bank bits)."""
        return self._field(12, 3) if self.generation == Generation.GFX9 else 0

    @property
    def shader_engines_log2(self) -> int:
        """GB_ADDR_CONFIG.NUM_SHADER_ENGINES (GFX9)."""
        return self._field(19, 2) if self.generation == Generation.GFX9 else 0

    @property
    def render_backends_per_se_log2(self) -> int:
        """GB_ADDR_CONFIG.NUM_RB_PER_SE (GFX9)."""
        return self._field(26, 2) if self.generation == Generation.GFX9 else 0

    @property
    def packers_log2(self) -> int:
        """GB_ADDR_CONFIG.NUM_PKRS (GFX10.3 and later; addresses do not depend on the packers of earlier chips)."""
        return self._field(8, 3) if has_packers(self.level) else 0

    @property
    def supports_rbplus(self) -> bool:
        """Whether GFX10 addressing follows the RB+ patterns and has the VAR modes: GFX10.3."""
        return has_packers(self.level) and has_variable_blocks(self.level)


@cache
def gpu_configs() -> tuple[GpuConfig, ...]:
    """Return every configuration, oldest first."""
    text = resources.files("pyaco.addrlib").joinpath("data/chips.json").read_text(encoding="utf-8")
    rows = json.loads(text)
    for row in rows:
        row["tile_modes"] = tuple(row["tile_modes"])
        row["macro_tile_modes"] = tuple(row["macro_tile_modes"])
    return tuple(GpuConfig(**row) for row in rows)


# Chips whose configuration has another name than they have in the database of GPUs.
_NAMES = {"strix": "strix1", "navi44": "gfx1200", "navi48": "gfx1201"}


@checked
@cache
def gpu_config(name: str) -> GpuConfig:
    """Return the configuration of a chip.

    Parameters
    ----------
    name : str
        A configuration (``navi21``), a gfx name (``gfx1030``), or a product name (``RX 6800 XT``). A gfx name that several chips share
        stands for the first of them that has a configuration: gfx803 is fiji.

    Raises
    ------
    InputError
        If nothing is called so.
    UnsupportedError
        If the chip has no configuration.
    """
    check_name("a chip", name)
    by_name = {config.name: config for config in gpu_configs()}
    if name in by_name:
        return by_name[name]
    chips = _chips_called(name)
    for chip in chips:
        if found := by_name.get(_NAMES.get(chip, chip)):
            return found
    if chips:
        raise UnsupportedError(f"memory layouts on {name}: no configuration of {' or '.join(chips)} is known; there are: {', '.join(by_name)}")
    raise InputError(f"no GPU configuration {name!r}; there are: {', '.join(by_name)}")


def _chips_called(name: str) -> list[str]:
    """Return the chips with a gfx name, or the chip of a name or product."""
    from pyaco.targets.chips import chips
    from pyaco.targets.database import dies, find_product

    found = [die.name for die in dies() if name.lower() in (die.name, die.target)]
    found = found or [known.name for known in chips() if name.lower() == known.target]
    if found:
        return found
    try:
        return [find_product(name).die.name]
    except InputError:
        return []
