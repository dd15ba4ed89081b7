"""Checks by name: what ``Device(check=...)`` and ``pyaco run --check`` take."""

from __future__ import annotations

from collections.abc import Iterable

from pyaco.errors import InputError

__all__ = ["CHECKS", "chosen_checks"]

#: What each check stops at. Accesses outside every allocation stop a dispatch without any.
CHECKS = {
    "memory": "LDS accesses beyond what the launch asked for, atomics that are not aligned",
    "waits": "data used before it is certain to be there: counters, wait states, hazards",
    "races": "two waves reach the same bytes, one writes, nothing orders them",
    "barriers": "waves that wait at a barrier which others of the workgroup never reach",
    "uninitialized": "values that nobody wrote and that choose an address or a branch, or are stored",
}


def chosen_checks(check: str | Iterable[str]) -> frozenset[str]:
    """Return the names in a string with commas, or in an iterable.

    Raises
    ------
    InputError
        A name that is no check.
    """
    names = [name.strip() for name in check.split(",")] if isinstance(check, str) else list(check)
    chosen = frozenset(name for name in names if name)
    if unknown := sorted(chosen - CHECKS.keys()):
        raise InputError(f"no check {unknown[0]!r}: there are {', '.join(CHECKS)}")
    return chosen
