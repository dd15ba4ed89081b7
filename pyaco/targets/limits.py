"""What one wave may use on a chip.

Sources: AMD's ISA documents (register files, LDS), LLVM's AMDGPU user guide (allocation granules, GRANULATED_LDS_SIZE of
COMPUTE_PGM_RSRC2), its ``AMDGPU.td`` (FeatureAddressableLocalMemorySize, Feature1536VGPRs), Mesa's ``aco_ir.cpp`` (granules per family, offset
ranges), ``ac_gpu_info.c`` (LDS granules).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from pyaco.arguments import checked
from pyaco.errors import InputError, UnsupportedError
from pyaco.targets import features
from pyaco.targets.chips import Chip, chip

__all__ = ["LdsLimits", "WaveLimits", "lds_limits", "wave_limits"]

# Chips whose SIMDs have a register file half as large again.
_LARGE_REGISTER_FILE = {"gfx1100", "gfx1101", "gfx1151", "gfx1200", "gfx1201", "gfx1310"}

# GFX8 chips whose SIMDs hold 8 waves, not 10.
_POLARIS = {"polaris10", "polaris11", "polaris12", "vegam"}

# Immediate offsets of scratch_* and global_* instructions, which GFX6 to GFX8 do not have. GFX9 has negative ones, but not together
# with SADDR.
_SCRATCH_OFFSETS = {
    60: (0, 0), 70: (0, 0), 80: (0, 0), 81: (0, 0),
    90: (0, 4095), 91: (0, 4095), 92: (0, 4095), 94: (-4096, 4095), 95: (-4096, 4095),
    100: (-2048, 2047), 103: (-2048, 2047), 110: (-4096, 4095), 115: (-4096, 4095),
    117: (-4096, 4095), 120: (-(1 << 23), (1 << 23) - 1), 125: (-(1 << 23), (1 << 23) - 1), 126: (-(1 << 23), (1 << 23) - 1),
    130: (-(1 << 23), (1 << 23) - 1),
}


class LdsLimits(NamedTuple):
    """LDS of a workgroup, in bytes.

    Attributes
    ----------
    limit : int
        The most that a workgroup may have.
    encoding_granule : int
        What LDS_SIZE of COMPUTE_PGM_RSRC2 counts.
    allocation_granule : int
        What the hardware rounds to.
    """

    limit: int
    encoding_granule: int
    allocation_granule: int

    def encode(self, size: int) -> int:
        """Return LDS_SIZE for `size` bytes."""
        return -(-size // self.encoding_granule)

    def decode(self, lds_size: int) -> int:
        """Return the bytes that LDS_SIZE gives a workgroup."""
        return lds_size * self.encoding_granule


# First level, and its limits. On GFX6 a workgroup may use half of its unit's 64 KiB; CDNA 4 and GFX12.5 have more than that, in larger granules.
_LDS = (
    (60, LdsLimits(32768, 256, 256)), (70, LdsLimits(65536, 512, 512)), (95, LdsLimits(163840, 1280, 1280)), (100, LdsLimits(65536, 512, 512)),
    (103, LdsLimits(65536, 512, 1024)),
    (125, LdsLimits(327680, 2048, 2048)), (130, LdsLimits(65536, 512, 1024)),
)  # fmt: skip


@cache
def lds_limits(level: int) -> LdsLimits:
    """Return what LDS a workgroup may have on a hardware level (times ten, 60 and later)."""
    return [limits for first, limits in _LDS if first <= level][-1]


@dataclass(frozen=True)
class WaveLimits:
    """Limits of one wave; registers are counted per lane (VGPRs) or per wave (SGPRs), LDS in bytes.

    The fields are those of ``DeviceInfo`` in ``_core/ir/program.pxd``.
    """

    lds_encoding_granule: int
    lds_allocation_granule: int
    lds_limit: int
    physical_sgprs: int
    physical_vgprs: int
    sgpr_limit: int
    vgpr_limit: int
    sgpr_allocation_granule: int
    vgpr_allocation_granule: int
    max_waves_per_simd: int
    simds_per_cu: int
    scratch_alloc_granule: int
    scratch_offset_min: int
    scratch_offset_max: int
    has_fast_fma32: int
    has_16bank_lds: int
    xnack_enabled: int
    sram_ecc_enabled: int

    def as_dict(self) -> dict[str, int]:
        """Return the fields by name."""
        return dict(vars(self))


def _vector_registers(chip_: Chip, wave: int) -> tuple[int, int]:
    """Return (registers per SIMD, allocation granule) for a wave size."""
    if chip_.level >= 92 and chip_.is_cdna:
        # one file for VGPRs and AGPRs
        return 512, 8
    if chip_.level < 100:
        return 256, 4
    halves = 2 if wave == 32 else 1
    if chip_.target in _LARGE_REGISTER_FILE:
        return 768 * halves, 12 * halves
    return 512 * halves, (8 if chip_.level >= 103 else 4) * halves


def _waves_of_simd(chip_: Chip) -> int:
    """Waves that a SIMD holds: 20 on RDNA 1 alone, 16 from RDNA 2 on, as Mesa's ACO and what RADV reports of the chips have it."""
    if chip_.level >= 100:
        return 20 if chip_.level < 103 else 16
    return 8 if chip_.level >= 92 or chip_.name in _POLARIS else 10


def check_wgp_mode(chip_: Chip, wgp_mode: bool | None) -> None:
    """Raise where the waves of a workgroup are to run on both compute units of a pair, and the chip has no pairs.

    Raises
    ------
    InputError
    """
    if wgp_mode and not features.has_wgp_mode(chip_.level):
        raise InputError(f"WGP mode: {chip_.level_name} has no pairs of compute units")


@checked
def wave_limits(target: str | Chip, wave: int = 64) -> WaveLimits:
    """Return the limits of a wave of `wave` lanes on `target`.

    Parameters
    ----------
    target : str or Chip
        Any name that `chip` knows, or a chip.
    wave : int
        Lanes per wave, 32 or 64.

    Returns
    -------
    WaveLimits

    Raises
    ------
    UnsupportedError
        For wave32 before GFX10, and wave64 on GFX12.5.
    InputError
        For a wave size other than 32 or 64.
    """
    chip_ = chip(target) if isinstance(target, str) else target
    return _wave_limits(chip_, wave)


@cache
def _wave_limits(chip_: Chip, wave: int) -> WaveLimits:
    if wave not in (32, 64):
        raise InputError(f"a wave has 32 or 64 lanes, not {wave}")
    rdna = chip_.level >= 100
    if wave == 64 and not features.has_wave64(chip_.level):
        raise UnsupportedError(f"wave64 on {chip_.target}: {chip_.level_name} has wave32 only")
    if wave == 32 and not rdna:
        raise UnsupportedError(f"wave32 on {chip_.target}: {chip_.level_name} has wave64 only")
    vgprs, vgpr_granule = _vector_registers(chip_, wave)
    scratch_low, scratch_high = _SCRATCH_OFFSETS[chip_.level]
    lds = lds_limits(chip_.level)
    return WaveLimits(
        lds_encoding_granule=lds.encoding_granule,
        lds_allocation_granule=lds.allocation_granule,
        lds_limit=lds.limit,
        # RDNA gives every wave a fixed set of SGPRs: they never limit occupancy.
        physical_sgprs=5120 if rdna else 800 if chip_.level >= 80 else 512,
        physical_vgprs=vgprs,
        # VCC follows at 106 on RDNA, but no vector of registers may reach into it: LLVM takes such an encoding for data.
        # A bug of Tonga and Iceland wants 96 SGPRs for each wave, VCC, XNACK mask and FLAT_SCRATCH among them.
        sgpr_limit=106 if rdna else 90 if chip_.target == "gfx802" else 102 if chip_.level >= 80 else 104,
        vgpr_limit=1024 if features.has_vgpr_banks(chip_.level) else 512 if vgprs == 512 and chip_.is_cdna else 256,
        sgpr_allocation_granule=128 if rdna else 96 if chip_.target == "gfx802" else 16 if chip_.level >= 80 else 8,
        vgpr_allocation_granule=vgpr_granule,
        max_waves_per_simd=_waves_of_simd(chip_),
        simds_per_cu=2 if features.has_wgp_mode(chip_.level) else 4,
        scratch_alloc_granule=256 if chip_.level >= 110 else 1024,
        scratch_offset_min=scratch_low,
        scratch_offset_max=scratch_high,
        has_fast_fma32=int(chip_.level >= 90 or chip_.name in ("tahiti", "hawaii", "carrizo")),
        has_16bank_lds=int(chip_.name in ("kabini", "stoney")),
        xnack_enabled=int(chip_.target in ("gfx902", "gfx90c", "gfx90a", "gfx942", "gfx950")),
        sram_ecc_enabled=int(chip_.target == "gfx906" or chip_.is_cdna),
    )
