from pyaco._core.ir.program import Program
from pyaco._core.ir.shader import Shader

def run(shader: Shader, program: Program | None = ...) -> Program: ...
