from collections.abc import Mapping
from typing import Any

from pyaco._core.ir.shader import Shader

def run(shader: Shader, options: Mapping[str, Any] | None = None) -> bool: ...
