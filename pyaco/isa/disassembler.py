"""Machine code to text."""

from __future__ import annotations

from pyaco.arguments import checked
from pyaco.errors import InputError

# importing typing would take a command as long as its own work
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pyaco._core.isa.disassemble import Listing

__all__ = ["disassemble"]


def default_wave_size(level: int, wave_size: int | None) -> int:
    """The wave size whose lane masks the text names."""
    if wave_size is None:
        return 64 if level < 100 else 32
    if wave_size not in (32, 64) or (wave_size == 32 and level < 100) or (wave_size == 64 and 125 <= level < 130):
        raise InputError(f"wave size {wave_size} does not exist on this target")
    return wave_size


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


def listing(code: bytes, target: str, wave_size: int | None, exact: bool = False) -> Listing:
    """The listing of `code`, as the kernel makes it."""
    from pyaco._core.isa.disassemble import disassemble_words
    from pyaco.isa.text_tables import text_tables

    check_length(code)
    tables = text_tables(target)
    return disassemble_words(bytes(code), default_wave_size(tables.level, wave_size), tables, exact=exact)


def check_length(code: bytes) -> None:
    """Raise an error unless machine code is whole words."""
    if len(code) % 4:
        raise InputError(f"machine code of {len(code)} bytes: not a multiple of 4")
