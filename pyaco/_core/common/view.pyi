from typing import Any

from numpy.typing import NDArray

class TableView:
    """Columns of one table as attributes; each is an array over the live storage."""

    def __getattr__(self, name: str) -> NDArray[Any]: ...
    def __len__(self) -> int: ...
