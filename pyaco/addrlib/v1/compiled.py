"""The rules of this package as machine code.

The rules are plain functions on integers, so that a single query costs no compiler. For arrays, `compiled` gives the same function,
and what it calls, compiled by numba; the machine code is kept in numba's cache beside the module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

__all__ = ["compiled"]


@cache
def compiled(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rule of this package compiled to machine code that runs without the interpreter lock."""
    from numba import njit

    assert isinstance(rule, FunctionType)
    names = dict(rule.__globals__)
    for name in rule.__code__.co_names:
        value = names.get(name)
        if isinstance(value, FunctionType) and value is not rule and value.__module__.startswith(__package__ or ""):
            names[name] = compiled(value)
    copy = FunctionType(rule.__code__, names, rule.__name__, rule.__defaults__, rule.__closure__)
    copy.__qualname__ = rule.__qualname__
    copy.__module__ = rule.__module__
    return njit(cache=True, nogil=True)(copy)
