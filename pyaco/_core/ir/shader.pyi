from contextlib import AbstractContextManager
from typing import Any

from pyaco._core.common.view import TableView

class Shader:
    """NIR of one shader; the data sheet is ``shader.pxd``."""

    metadata: dict[str, Any]
    variable_names: dict[int, str]
    member_names: dict[tuple[int, int], str]
    instructions: TableView
    sources: TableView
    constants: TableView
    indices: TableView
    nodes: TableView
    order: TableView
    types: TableView
    members: TableView
    variables: TableView
    arguments: TableView
    constant_data: TableView
    textures: TableView
    @property
    def info(self) -> dict[str, Any]: ...
    @property
    def gfx_level(self) -> int: ...
    @property
    def workgroup_size(self) -> tuple[int, int, int]: ...
    def set_target(self, gfx_level: int, wave_size: int, address32_hi: int) -> None: ...
    def set_info(self, **facts: Any) -> None: ...
    def copy(self) -> Shader: ...
    def edit(self) -> AbstractContextManager[Shader]: ...
    def _repr_html_(self) -> str: ...
