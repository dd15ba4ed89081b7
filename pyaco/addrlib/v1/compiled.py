"""The rules of this package as machine code.

The rules are plain functions on integers, so that a single query costs no compiler. For arrays, `compiled` gives the same function,
and what it calls, compiled by numba; the machine code is kept in numba's cache beside the module.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any

__all__ = ["compiled", "remembered"]

remembered = lru_cache(maxsize=1 << 14)
"""Decorator of a rule with few different arguments: single queries look its results up. The compiled rule does not."""


@cache
def _stamp() -> int:
    """Checksum of the sources of the rules."""
    return zlib.crc32(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))))


@cache
def compiled(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return a rule of this package compiled to machine code that runs without the interpreter lock."""
    from numba import njit

    rule = getattr(rule, "__wrapped__", rule)
    assert isinstance(rule, FunctionType)
    names = dict(rule.__globals__)
    for name in rule.__code__.co_names:
        value = getattr(names.get(name), "__wrapped__", names.get(name))
        if isinstance(value, FunctionType) and value is not rule and value.__module__.startswith(__package__ or ""):
            names[name] = compiled(value)
    copy = FunctionType(rule.__code__, names, rule.__name__, rule.__defaults__, rule.__closure__)
    # numba looks only at the file of the function itself for changes; what the function calls may have changed as well.
    copy.__qualname__ = f"{rule.__qualname__}_{_stamp():08x}"
    copy.__module__ = rule.__module__
    return njit(cache=True, nogil=True, error_model="numpy")(copy)
