from typing import Any

from pyaco._core.isa.name_table import NameTable

FACTS: dict[str, int]
DIRECTIVES: dict[str, int]

class Assembler:
    kernels: list[tuple[str, dict[str, int], str, int]]
    declarations: list[tuple[str, str, int, int]]
    metadata: str | None
    relocations: list[tuple[int, int, int, str, int, int]]
    section_words: dict[str, str]
    def __init__(
        self, table: NameTable, facts: Any, short_formats: Any, unified: Any, level: int, wave_size: int
    ) -> None: ...
    def assemble(self, source: bytes, linkable: bool = False) -> tuple[int, str] | None: ...
    def code(self, section: str = ".text") -> bytes: ...
    def number(self, text: str, section: int, here: int) -> int | None: ...
    def section_contents(self) -> dict[str, bytes]: ...
    def labels(self) -> dict[str, tuple[str, int]]: ...
