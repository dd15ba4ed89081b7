"""Kernels: functions that numba compiles, and plain functions that kernels may call.

A query of GFX9 and later is one kernel over one record of a structured array, so that one query and many go the same way. The rules of
GFX6 to GFX8 are plain functions on integers: one query runs them as they are written, and kernels over arrays call the same functions.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import overload

__all__ = ["callable_from_kernels", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])

# No exception for a division by zero: one bad record must not stop the records after it.
_OPTIONS: Any = {"error_model": "numpy"}


@cache
def _stamp() -> int:
    """Checksum of the sources of this package."""
    return zlib.crc32(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.rglob("*.py"))))


class _Cache(FunctionCache):
    """Numba's cache of machine code beside the module, valid as long as no source of the package changes.

    Numba by itself looks at the file of the function alone, but the machine code holds that of all functions that it calls.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        self._cache_file = IndexDataCacheFile(  # type: ignore[no-untyped-call]
            cache_path=self._cache_path, filename_base=self._impl.filename_base, source_stamp=_stamp())


def kernel(function: Function) -> Function:
    """Compile a function when it is first called; it runs without the interpreter lock, and its machine code is kept on disk."""
    compiled = njit(nogil=True, **_OPTIONS)(function)
    compiled._cache = _Cache(function)
    return cast(Function, compiled)


def callable_from_kernels(*modules: ModuleType) -> None:
    """Let kernels call the functions of these modules, which Python calls as they are; a cache of results is left out in kernels."""
    for module in modules:
        for function in vars(module).values():
            plain = getattr(function, "__wrapped__", function)
            if isinstance(plain, FunctionType) and plain.__module__ == module.__name__:
                overload(function, jit_options=_OPTIONS, strict=False)(_always(plain))


def _always(function: FunctionType) -> Callable[..., FunctionType]:
    def implementation(*_arguments: Any, **_named: Any) -> FunctionType:
        return function

    return implementation
