"""Machine code to text."""

from __future__ import annotations

from pyaco.arguments import checked
from pyaco.isa.text_tables import listing

__all__ = ["disassemble"]


@checked
def disassemble(code: bytes, target: str, *, wave_size: int | None = None, exact: bool = False) -> str:
    """Disassemble `code` to text that LLVM's assembler and ``assemble`` turn into the same instructions.

    They are the same bytes as well, except for instructions with unused bits set, such as the field of a source that the opcode does not have:
    text cannot express these bits, and a comment after the instruction gives its words (``; words 0xe0500000, 0x1e082a80``). Words that are not
    an instruction of the target become ``.long``.

    On GFX12, 16-bit operands are written v0 where all of them are low halves, as LLVM 22 does, and v0.l and v0.h in code that has high halves
    or opcodes that exist with these names alone (v_mov_b16): this is what LLVM calls ``+real-true16``. On GFX11 they are always v0.l and v0.h.

    Parameters
    ----------
    code
        Machine code, a multiple of four bytes.
    target
        A gfx name, chip name or product name.
    wave_size
        32 or 64, which decides how lane masks are written (vcc or vcc_lo); by default 64 up to GFX9 and 32 later.
    exact
        Whether the text has to assemble to the same bytes: then an instruction with unused bits set is ``.long``, with its text as a
        comment.

    Raises
    ------
    InputError
        The length is not a multiple of four, or the target is unknown.
    """
    return listing(code, target, wave_size, exact).text()
