"""GPU targets: gfx levels, chips, what a wave may use, occupancy."""

from __future__ import annotations

from pyaco.targets.chips import Chip, chip, chips
from pyaco.targets.limits import WaveLimits, occupancy, wave_limits

__all__ = ["Chip", "WaveLimits", "chip", "chips", "occupancy", "wave_limits"]
