from typing import Any

from pyaco._core.isa.name_table import NameTable

class Listing:
    def text(self) -> str: ...
    def rows(self) -> list[tuple[str, int, int]]: ...

def disassemble_words(
    words: Any, gfx_level: int, wave_size: int, table: NameTable, facts: Any
) -> Listing: ...
