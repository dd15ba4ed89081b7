"""Assembly text, instructions as objects, records as columns, and machine code of AMD GPUs, from one opcode table."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pyaco.isa.assembler import assemble
    from pyaco.isa.disassembler import disassemble
    from pyaco.isa.lines import Line, disassemble_lines
    from pyaco.isa.program import Instruction, Label, Operand, Program, instructions
    from pyaco.isa.records import decode, encode

__all__ = ["Instruction", "Label", "Line", "Operand", "Program", "assemble", "decode", "disassemble", "disassemble_lines", "encode",
           "instructions"]  # fmt: skip

_MODULES = {
    "assembler": ("assemble",),
    "disassembler": ("disassemble",),
    "lines": ("Line", "disassemble_lines"),
    "program": ("Instruction", "Label", "Operand", "Program", "instructions"),
    "records": ("decode", "encode"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> "Any":
    # A module is loaded when one of its names is first used: text does without NumPy.
    if name in _MODULE_OF:
        import importlib

        return getattr(importlib.import_module(f"pyaco.isa.{_MODULE_OF[name]}"), name)
    raise AttributeError(f"module 'pyaco.isa' has no attribute {name!r}")
