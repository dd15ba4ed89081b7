"""Assembly text, instructions as objects, records as columns, and machine code of AMD GPUs, from one opcode table."""

from __future__ import annotations

from pyaco.isa.assembler import assemble
from pyaco.isa.disassembler import Line, decode, disassemble, disassemble_lines, encode
from pyaco.isa.program import Instruction, Label, Operand, Program, instructions

__all__ = ["Instruction", "Label", "Line", "Operand", "Program", "assemble", "decode", "disassemble", "disassemble_lines", "encode",
           "instructions"]  # fmt: skip
