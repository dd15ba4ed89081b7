from collections.abc import Mapping, Sequence
from typing import Any

class TextTables:
    target: str
    level: int
    def __init__(self, storage: bytes) -> None: ...

def pack_text_tables(
    target: str, level: int, domains: Sequence[Mapping[Any, Any]], silent: set[int], facts: bytes, short_formats: bytes, unified: bytes
) -> bytes: ...
