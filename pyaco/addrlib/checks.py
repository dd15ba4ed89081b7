"""What a query takes: integers, and names that are text."""

from __future__ import annotations

from operator import index
from typing import Any

from pyaco.errors import InputError

__all__ = ["check_integers", "check_name"]


def check_integers(what: str, **fields: Any) -> None:
    """Raise InputError, with what the query is about, unless every field is an integer from 0 to the largest of 63 bits."""
    for name, value in fields.items():
        try:
            fits = 0 <= index(value) < 1 << 63
        except TypeError:
            raise InputError(f"{what}: {name} is an integer, not {value!r}") from None
        if not fits:
            raise InputError(f"{what}: {name} of {value}")


def check_name(what: str, name: Any) -> None:
    """Raise InputError unless a name is text."""
    if not isinstance(name, str):
        raise InputError(f"{what} is called by a name, not {name!r}")
