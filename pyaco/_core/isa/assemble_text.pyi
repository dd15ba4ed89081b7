from typing import Any

from pyaco._core.isa.name_table import NameTable

FACTS: dict[str, int]
DIRECTIVES: dict[str, int]

class Assembler:
    kernels: list[tuple[str, dict[str, int]]]
    def __init__(
        self, table: NameTable, facts: Any, short_formats: Any, unified: Any, level: int, wave_size: int
    ) -> None: ...
    def assemble(self, source: bytes) -> tuple[int, str] | None: ...
    def code(self, section: str = ".text") -> bytes: ...
    def labels(self) -> dict[str, tuple[str, int]]: ...
