from pyaco._core.ir.program import Program
from pyaco._core.ir.shader import Shader

class Reading:
    """Makes the NIR of a compilation."""

    @property
    def shader(self) -> Shader: ...
    def run(self) -> Shader: ...

class Target:
    """What is compiled for."""

    @property
    def gfx_level(self) -> int: ...
    def __init__(
        self, gfx_level: int, wave_size: int, narrow: dict[str, int] | None, wide: dict[str, int] | None, narrow_with_matrices: bool = False,
        wgp_mode: bool = False,
    ) -> None: ...
    def aim(self, shader: Shader, program: Program) -> None: ...
