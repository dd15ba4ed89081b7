"""What a query takes: integers, and names that are text."""

from __future__ import annotations

from collections.abc import Iterable
from operator import index
from typing import Any

from pyaco.errors import InputError

__all__ = ["check_columns", "check_integers", "check_name", "not_a_chip"]

LARGEST = (1 << 63) - 1


def check_integers(what: str, **fields: Any) -> None:
    """Raise InputError, with what the query is about, unless every field is an integer from 0 to the largest of 63 bits."""
    check_columns(what, fields, fields.values())


def check_columns(what: str, names: Iterable[str], values: Iterable[Any]) -> None:
    """The same for names and their values: queries of a few microseconds have no time for keywords."""
    for value in values:
        if type(value) is not int or not 0 <= value <= LARGEST:
            break
    else:
        return
    for name, value in zip(names, values, strict=True):
        try:
            fits = 0 <= index(value) <= LARGEST
        except TypeError:
            raise InputError(f"{what}: {name} is an integer, not {value!r}") from None
        if not fits:
            raise InputError(f"{what}: {name} is 0 to {LARGEST}, not {value}")


def not_a_chip(config: Any) -> InputError:
    """Return the error of a query whose chip is not a GpuConfig."""
    return InputError(f"a query is about a GpuConfig, which gpu_config gives by name, not {config!r}")


def check_name(what: str, name: Any) -> None:
    """Raise InputError unless a name is text."""
    if not isinstance(name, str):
        raise InputError(f"{what} is called by a name, not {name!r}")
