"""The shaders' cases are shared with the other rooms."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "shaders"), str(Path(__file__).resolve().parent)]
