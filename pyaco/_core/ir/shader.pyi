from contextlib import AbstractContextManager
from typing import Any

from numpy.typing import NDArray

class ShaderTable:
    """Columns of one table as attributes; each is an array over the live storage."""

    def __getattr__(self, name: str) -> NDArray[Any]: ...
    def __len__(self) -> int: ...

class Shader:
    """NIR of one shader; the data sheet is ``shader.pxd``."""

    metadata: dict[str, Any]
    variable_names: dict[int, str]
    member_names: dict[tuple[int, int], str]
    instructions: ShaderTable
    sources: ShaderTable
    constants: ShaderTable
    indices: ShaderTable
    nodes: ShaderTable
    order: ShaderTable
    types: ShaderTable
    members: ShaderTable
    variables: ShaderTable
    arguments: ShaderTable
    constant_data: ShaderTable
    @property
    def info(self) -> dict[str, Any]: ...
    def set_info(self, **facts: Any) -> None: ...
    def edit(self) -> AbstractContextManager[Shader]: ...
