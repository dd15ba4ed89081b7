"""GPU targets: gfx levels, chips, what a wave may use, occupancy."""

from __future__ import annotations

from pyaco.targets.chips import Chip, chip, chips
from pyaco.targets.limits import LdsLimits, WaveLimits, lds_limits, occupancy, wave_limits
from pyaco.targets.target_id import TargetId

__all__ = ["Chip", "LdsLimits", "TargetId", "WaveLimits", "chip", "chips", "lds_limits", "occupancy", "wave_limits"]
