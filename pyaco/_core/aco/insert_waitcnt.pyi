from typing import Any

from pyaco._core.ir.program import Program

def run(program: Program, options: Any = None) -> bool: ...
