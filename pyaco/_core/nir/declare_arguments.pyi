from collections.abc import Mapping
from typing import Any

from pyaco._core.ir.shader import Shader
from pyaco.descriptors.layout import PipelineLayout

def run(shader: Shader, options: Mapping[str, Any] | None = None) -> bool: ...
def own_layout(sets: Mapping[int, Mapping[int, tuple[str, int]]], push_bytes: int = 0) -> PipelineLayout: ...
