"""GPU targets: gfx levels, chips, what a wave may use, occupancy."""

from __future__ import annotations

from pyaco.targets.chips import Chip, chip, chips
from pyaco.targets.limits import LdsLimits, WaveLimits, lds_limits, wave_limits
from pyaco.targets.occupancy import Occupancy, occupancy, occupancy_limits
from pyaco.targets.target_id import TargetId

__all__ = ["Chip", "LdsLimits", "Occupancy", "TargetId", "WaveLimits", "chip", "chips", "lds_limits", "occupancy", "occupancy_limits", "wave_limits"]
