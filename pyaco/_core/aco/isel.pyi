from pyaco._core.ir.pass_runner import NativeKernel
from pyaco._core.ir.program import Program
from pyaco._core.ir.shader import Shader

kernel: NativeKernel

def run(shader: Shader, program: Program | None = ...) -> Program: ...
