from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import Buffer

class TextTables:
    target: str
    level: int
    def __init__(self, storage: Buffer) -> None: ...

class MappedFile:
    def __init__(self, path: str) -> None: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __len__(self) -> int: ...

def pack_text_tables(
    target: str, level: int, domains: Sequence[Mapping[Any, Any]], silent: set[int], facts: bytes, short_formats: bytes, unified: bytes
) -> bytes: ...
