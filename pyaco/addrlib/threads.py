"""Calls of kernels on several threads, which stay for the calls to come: to start them takes as long as to move a megabyte."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

__all__ = ["call_all"]

Call = tuple[Any, ...]
"""A function, then its arguments."""


@cache
def _helpers(count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(count, "addrlib")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_helpers.cache_clear)               # a child has none of its parent's threads


def call_all(calls: Sequence[Call], threads: int) -> None:
    """Make all calls, which may run at the same time: the caller's thread makes some of them."""
    left = deque(calls)

    def work() -> None:
        while left:
            try:
                function, *arguments = left.popleft()
            except IndexError:                              # another thread took the last one
                return
            function(*arguments)

    helpers: list[Future[None]] = []
    if threads > 1 and len(calls) > 1:
        count = min(threads, len(calls)) - 1
        helpers = [_helpers(count).submit(work) for _ in range(count)]
    try:
        work()
    finally:
        running = [helper for helper in helpers if not helper.cancel()]
        for helper in running:
            helper.exception()                              # none goes on once this has returned
    for helper in running:
        helper.result()
