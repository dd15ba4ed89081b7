from collections.abc import Mapping, Sequence
from typing import Any

class NameTable:
    def __init__(self, domains: Sequence[Mapping[Any, Any]], silent: set[int]) -> None: ...
