"""Machine code to a listing: what commands use of the disassembler.

Nothing here is ``checked``: to load what explains wrong arguments would take a command longer than to disassemble a kernel.
"""

from pyaco.errors import InputError

# importing typing would take a command as long as its own work
TYPE_CHECKING = False
if TYPE_CHECKING:
    from pyaco._core.isa.disassemble import Listing

__all__ = ["check_length", "default_wave_size", "listing"]


def default_wave_size(level: int, wave_size: int | None) -> int:
    """The wave size whose lane masks the text names."""
    if wave_size is None:
        return 64 if level < 100 else 32
    if wave_size not in (32, 64) or (wave_size == 32 and level < 100) or (wave_size == 64 and 125 <= level < 130):
        raise InputError(f"wave size {wave_size} does not exist on this target")
    return wave_size


def listing(code: bytes, target: str, wave_size: int | None, exact: bool = False, as_text: bool = True) -> "Listing":
    """The listing of `code`, as the kernel makes it; `as_text`: not for its bytes alone."""
    from pyaco._core.isa.disassemble import disassemble_words
    from pyaco.isa.text_tables import text_tables

    check_length(code)
    tables = text_tables(target)
    return disassemble_words(bytes(code), default_wave_size(tables.level, wave_size), tables, exact=exact, as_text=as_text)


def check_length(code: bytes) -> None:
    """Raise an error unless machine code is whole words."""
    if len(code) % 4:
        raise InputError(f"machine code of {len(code)} bytes: not a multiple of 4")
