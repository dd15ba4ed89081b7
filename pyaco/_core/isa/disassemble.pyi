from typing_extensions import Buffer

from pyaco._core.isa.text_tables import TextTables

class Listing:
    from_templates: int
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def text(self) -> str: ...
    def entries(self) -> list[tuple[str, int, int]]: ...

def disassemble_words(
    code: Buffer, wave_size: int, tables: TextTables, learn_after: int | None = None, halves: bool | None = None, exact: bool = False,
    as_text: bool = True,
) -> Listing: ...
