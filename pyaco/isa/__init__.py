"""Assembly text and machine code of AMD GPUs, from one opcode table."""

from __future__ import annotations

from pyaco.isa.assembler import assemble
from pyaco.isa.disassembler import Line, decode, disassemble, disassemble_lines

__all__ = ["Line", "assemble", "decode", "disassemble", "disassemble_lines"]
