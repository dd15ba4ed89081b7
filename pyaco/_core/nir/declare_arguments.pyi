from collections.abc import Mapping
from typing import Any

from pyaco._core.ir.shader import Shader

def run(shader: Shader, options: Mapping[str, Any] | None = None) -> bool: ...
def descriptor_layout(bindings: Mapping[int, tuple[str, int]]) -> dict[str, Any]: ...
