from collections.abc import Mapping

from pyaco._core.ir.pass_runner import NativeKernel
from pyaco._core.ir.shader import Shader

# Components as (plane, channel, constant), rows, planes, whether planes are reduced, shift, reconstruction.
Numbers = tuple[tuple[tuple[int, int, float], ...], tuple[tuple[float, ...], ...], int, bool, tuple[float, float], int]

compilation_kernel: NativeKernel

def run(shader: Shader, conversions: Mapping[tuple[int, int], Numbers], other: Numbers | None = None) -> bool: ...
