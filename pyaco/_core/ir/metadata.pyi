from typing import Any

class Metadata:
    """What is known of a shader or program as a whole; the data sheet is ``metadata.pxd``."""

    known: dict[str, Any]
