"""How many waves and workgroups of a kernel run at once, and what limits their number.

Sources: register files, granules and LDS as in ``limits``; a compute unit keeps track of 16 workgroups of several waves, a pair in WGP mode of 32
(AMD "GCN" and "RDNA" white papers; ``aco_live_var_analysis.cpp``).
"""

from __future__ import annotations

from dataclasses import dataclass

from pyaco.arguments import checked
from pyaco.errors import InputError
from pyaco.targets import features
from pyaco.targets.chips import Chip, chip
from pyaco.targets.limits import check_wgp_mode, wave_limits

__all__ = ["Occupancy", "occupancy", "occupancy_limits"]

_WORKGROUP_SLOTS = 16                   # of a compute unit
_NO_SGPR_LIMIT = 5120                   # physical SGPRs of generations that give every wave the same number


@dataclass(frozen=True)
class Occupancy:
    """What runs at once.

    Attributes
    ----------
    waves : int
        Waves of the fullest SIMD; 0 where not even one workgroup fits.
    most_waves : int
        Waves that a SIMD has slots for.
    workgroups : int
        Workgroups of a compute unit, or of a pair in WGP mode.
    waves_per_workgroup : int
    limit : str
        What of `limits` is the least: ``slots`` of waves, ``vgprs``, ``sgprs``, ``lds``, ``workgroups`` (their slots).
    limits : dict of str to int
        Waves of a SIMD that each resource alone would allow.
    """

    waves: int
    most_waves: int
    workgroups: int
    waves_per_workgroup: int
    limit: str
    limits: dict[str, int]

    def __str__(self) -> str:
        groups = "workgroup" if self.workgroups == 1 else "workgroups"
        parts = ", ".join(f"{name} {waves}" for name, waves in self.limits.items())
        return f"{self.waves} of {self.most_waves} waves of a SIMD ({self.workgroups} {groups} at once), limited by {self.limit} ({parts})"


@checked
def occupancy_limits(
    target: str | Chip, *, wave: int = 64, vgprs: int = 0, sgprs: int = 0, lds_bytes: int = 0, workgroup_size: int = 64,
    wgp_mode: bool | None = None,
) -> Occupancy:  # fmt: skip
    """Return how many waves and workgroups of a kernel run at once, and why not more.

    Parameters
    ----------
    target : str or Chip
        Any name that :func:`pyaco.targets.chip` knows, or a chip (``Die.chip`` for those before GFX9).
    wave : int
        Lanes per wave.
    vgprs, sgprs : int
        Registers that the kernel uses, AGPRs of CDNA 2 and later among the VGPRs; SGPRs before GFX10 with those for VCC and the like.
    lds_bytes : int
        LDS per workgroup.
    workgroup_size : int
        Invocations per workgroup.
    wgp_mode : bool, optional
        Whether the waves of a workgroup may use both compute units of a pair; by default where there are pairs (GFX10 and later, but GFX12.5).

    Raises
    ------
    InputError
        Sizes that make no kernel, or WGP mode where there are no pairs.
    UnsupportedError
        Wave32 before GFX10.
    """
    chip_ = chip(target) if isinstance(target, str) else target
    limits = wave_limits(chip_, wave)
    check_wgp_mode(chip_, wgp_mode)
    if min(vgprs, sgprs, lds_bytes) < 0 or workgroup_size < 1:
        raise InputError(f"a kernel of {vgprs} VGPRs, {sgprs} SGPRs, {lds_bytes} bytes of LDS and workgroups of {workgroup_size}")
    units = 2 if features.has_wgp_mode(chip_.level) and wgp_mode is not False else 1
    simds = limits.simds_per_cu * units
    per_group = -(-workgroup_size // wave)
    most = limits.max_waves_per_simd
    by_waves = {
        "slots": most,
        "vgprs": _fitting(limits.physical_vgprs, vgprs, limits.vgpr_allocation_granule, limits.vgpr_limit),
        "sgprs": _fitting(limits.physical_sgprs, sgprs, limits.sgpr_allocation_granule, limits.sgpr_limit)
        if limits.physical_sgprs < _NO_SGPR_LIMIT or sgprs > limits.sgpr_limit else None,
    }  # fmt: skip
    groups = {name: waves * simds // per_group for name, waves in by_waves.items() if waves is not None}
    if lds_bytes:
        # A workgroup of GFX6 may have half of the unit's LDS.
        groups["lds"] = (0 if lds_bytes > limits.lds_limit else
                         max(limits.lds_limit, 65536) * units // (-(-lds_bytes // limits.lds_allocation_granule) * limits.lds_allocation_granule))
    if per_group > 1:
        groups["workgroups"] = _WORKGROUP_SLOTS * units
    fewest = min(groups, key=lambda name: groups[name])
    shown = {name: min(-(-count * per_group // simds), by_waves.get(name) or most, most) if count else 0 for name, count in groups.items()}
    return Occupancy(shown[fewest], most, groups[fewest], per_group, fewest, shown)


def _fitting(registers: int, used: int, granule: int, limit: int) -> int | None:
    """Waves for whose registers there is room; None: any number."""
    if used > limit:
        return 0
    return registers // (-(-used // granule) * granule) if used else None


@checked
def occupancy(
    target: str | Chip, *, wave: int = 64, vgprs: int = 0, sgprs: int = 0, lds_bytes: int = 0, workgroup_size: int = 64,
    wgp_mode: bool | None = None,
) -> int:  # fmt: skip
    """Return how many waves of a kernel one SIMD holds at once: ``waves`` of `occupancy_limits`.

    Parameters
    ----------
    target, wave, vgprs, sgprs, lds_bytes, workgroup_size, wgp_mode
        As for `occupancy_limits`, and so are the errors.
    """
    found = occupancy_limits(target, wave=wave, vgprs=vgprs, sgprs=sgprs, lds_bytes=lds_bytes, workgroup_size=workgroup_size,
                             wgp_mode=wgp_mode)  # fmt: skip
    return found.waves
