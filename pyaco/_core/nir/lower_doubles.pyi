from collections.abc import Mapping
from typing import Any

from pyaco._core.ir.shader import Shader
from pyaco.targets.lowering import DoublesLowering

def run(shader: Shader, options: Mapping[str, Any] | None = None) -> bool: ...
def remaining(shader: Shader, lower: str | DoublesLowering = "software") -> list[str]: ...
