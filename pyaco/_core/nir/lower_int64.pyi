from collections.abc import Mapping
from typing import Any

from pyaco._core.ir.shader import Shader
from pyaco.targets.lowering import Int64Lowering

def run(shader: Shader, options: Mapping[str, Any] | None = None) -> bool: ...
def remaining(shader: Shader, lower: str | Int64Lowering = "all") -> list[str]: ...
