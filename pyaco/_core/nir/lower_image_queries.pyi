from collections.abc import Mapping
from typing import Any

from pyaco._core.ir.shader import Shader

FIELDS: tuple[tuple[tuple[int, int, int], ...], ...]

def run(shader: Shader, options: Mapping[str, Any] | None = None) -> bool: ...
