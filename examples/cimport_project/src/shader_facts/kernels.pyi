from typing import NamedTuple

from pyaco._core.ir.program import Program
from pyaco._core.ir.shader import Shader

class CodeFacts(NamedTuple):
    instructions: int
    vgprs: int
    unlike: int

def code_facts(code: bytes, gfx_level: int) -> CodeFacts: ...
def count_arithmetic(shader: Shader) -> int: ...
def peak_demand(program: Program) -> tuple[int, int]: ...
