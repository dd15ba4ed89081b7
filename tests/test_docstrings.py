"""Public names say what they are: every module, class, method and function; functions of a room's front say it of each parameter."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest

import pyaco

MODULES = sorted(found.name for found in pkgutil.walk_packages(pyaco.__path__, "pyaco.") if not re.search(r"\._core|__main__", found.name))
FRONTS = ("pyaco", *(f"pyaco.{room}" for room in ("aco", "addrlib", "binary", "emu", "isa", "pm4", "registers", "spirv", "targets", "texels")))


def public(module: Any) -> Iterator[tuple[str, Any]]:
    """The functions, classes, methods and properties that a module defines for others."""
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        if getattr(thing, "__module__", "") != module.__name__ or not (inspect.isfunction(thing) or inspect.isclass(thing)):
            continue
        yield name, thing
        fields = getattr(thing, "__dataclass_fields__", ())
        for part, member in vars(thing).items() if inspect.isclass(thing) else ():
            if part[0] != "_" and part not in fields and (inspect.isfunction(member) or isinstance(member, (property, classmethod))):
                yield f"{name}.{part}", member


def is_described(thing: Any) -> bool:
    """Whether a thing has a docstring of its own: dataclasses and NamedTuples are given their signature as one."""
    text = thing.__doc__ or ""
    return bool(text) and not (inspect.isclass(thing) and text.startswith(f"{thing.__name__}("))


@pytest.mark.parametrize("name", MODULES)
def test_public_names_have_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__ is not None
    assert [part for part, thing in public(module) if not is_described(thing)] == []


@pytest.mark.parametrize("name", FRONTS)
def test_functions_of_a_front_describe_their_parameters(name: str) -> None:
    front = importlib.import_module(name)
    for function in (getattr(front, part) for part in front.__all__):
        if not inspect.isfunction(function):
            continue
        text = inspect.getdoc(function) or ""
        section = text.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
        heads = {word for line in section.splitlines() if not line.startswith(" ") for word in re.findall(r"\w+", line.partition(":")[0])}
        missing = inspect.signature(function).parameters.keys() - heads
        assert not missing, f"{function.__qualname__}: {sorted(missing)}"
