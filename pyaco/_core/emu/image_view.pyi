from collections.abc import Sequence
from typing import Any, Protocol

class _Describe(Protocol):
    def image(self, words: Sequence[int]) -> Any: ...
    def sampler(self, words: Sequence[int]) -> Any: ...

class Descriptors:
    describe: _Describe | None
    problems: list[Exception | None]
    def __init__(self, describe: _Describe | None = None) -> None: ...
