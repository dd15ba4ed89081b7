from collections.abc import Iterable

from pyaco._core.ir.shader import Shader

FACTS: dict[str, int]

def mask_of(names: Iterable[str]) -> int: ...
def facts_of(shader: Shader) -> frozenset[str]: ...
