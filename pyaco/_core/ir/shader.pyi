from contextlib import AbstractContextManager
from typing import Any

from pyaco._core.common.view import TableView
from pyaco._core.ir.metadata import Metadata

class Shader:
    """NIR of one shader; the data sheet is ``shader.pxd``."""

    facts: Metadata
    @property
    def metadata(self) -> dict[str, Any]: ...
    @property
    def variable_names(self) -> dict[int, str]: ...
    @property
    def member_names(self) -> dict[tuple[int, int], str]: ...
    @property
    def type_names(self) -> dict[int, str]: ...
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
