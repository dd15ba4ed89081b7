"""Machine code to text."""

from __future__ import annotations

from pyaco.arguments import checked
from pyaco.errors import InputError

# typing itself would cost a command as much as its work
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pyaco._core.isa.disassemble import Listing

__all__ = ["disassemble"]


def default_wave_size(level: int, wave_size: int | None) -> int:
    """The wave size whose lane masks the text names."""
    if wave_size is None:
        return 64 if level < 100 else 32
    if wave_size not in (32, 64) or (wave_size == 32 and level < 100):
        raise InputError(f"wave size {wave_size} does not exist on this target")
    return wave_size


@checked
def disassemble(code: bytes, target: str, *, wave_size: int | None = None) -> str:
    """Disassemble `code` to text that LLVM's assembler and ``assemble`` turn into the same bytes.

    Words that are no instruction of the target become ``.long``; so do, with a comment, instructions with stray bits and
    those that LLVM's default syntax cannot say (halves of registers on GFX12).

    Parameters
    ----------
    code
        Machine code, a multiple of four bytes.
    target
        A gfx name, chip name or product name.
    wave_size
        32 or 64, which decides how lane masks are written (vcc or vcc_lo); by default 64 up to GFX9 and 32 later.

    Raises
    ------
    InputError
        The length is no multiple of four, or the target is unknown.
    """
    return listing(code, target, wave_size).text()


def listing(code: bytes, target: str, wave_size: int | None) -> Listing:
    """The listing of `code`, as the kernel makes it."""
    from pyaco._core.isa.disassemble import disassemble_words
    from pyaco.isa.text_tables import text_tables

    check_length(code)
    tables = text_tables(target)
    return disassemble_words(bytes(code), default_wave_size(tables.level, wave_size), tables)


def check_length(code: bytes) -> None:
    """Machine code is whole words."""
    if len(code) % 4:
        raise InputError(f"machine code of {len(code)} bytes: not a multiple of 4")
