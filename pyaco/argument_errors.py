"""Whether arguments are at fault for a Python error, by the annotations of the function that was called.

An argument that is not what its annotation says is (a part of a sequence, a mapping, a dataclass or a named tuple too), and so is a number that is
too large for the machine. Everything else is a bug of ours.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections import abc
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from typing import Any

import numpy

from pyaco.errors import is_of_long_number

__all__ = ["explanation"]

_SHOWN = 60


def explanation(function: Callable[..., Any], arguments: tuple[Any, ...], named: Mapping[str, Any], error: Exception) -> str:
    """What the arguments have to do with an error; nothing if it is ours, or if the call itself is no call of this function."""
    signature = inspect.signature(function)
    try:
        given = signature.bind(*arguments, **named).arguments
    except TypeError:
        return ""
    name = function.__qualname__.removesuffix(".__init__")
    for key, value in given.items():
        parameter = signature.parameters[key]
        many = {"VAR_POSITIONAL": "tuple[{}, ...]", "VAR_KEYWORD": "dict[str, {}]"}.get(parameter.kind.name, "{}")
        if isinstance(parameter.annotation, str) and (misfit := _misfit(value, many.format(parameter.annotation), vars(_module(function)), key)):
            return f"{name}: {misfit}"
    # Numbers that are integers, and too large; text that is none in UTF-8.
    if isinstance(error, (OverflowError, MemoryError, UnicodeEncodeError)) or is_of_long_number(error):
        shown = ", ".join(f"{key}={_short(value)}" for key, value in given.items() if key != "self")
        return f"{name}({shown}): {error or type(error).__name__}"
    return ""


def _module(thing: Any) -> Any:
    return sys.modules[thing.__module__]


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:                          # a number of thousands of digits
        text = type(value).__name__
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _misfit(value: Any, annotation: str, names: Mapping[str, Any], place: str) -> str:
    """Where a value, or a field of it, is not what an annotation says, and what stands there instead."""
    if not _fits(value, ast.parse(annotation, mode="eval").body, names):
        return f"{place} takes {annotation}, not {_short(value)}"
    for name, kind in _field_types(value).items():
        if words := _misfit(getattr(value, name), kind, vars(_module(type(value))), f"{place}.{name}"):
            return words
    return ""


def _field_types(value: Any) -> dict[str, str]:
    """Annotations of the fields of a dataclass or a named tuple; nothing for other values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: str(field.type) for field in fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        # typing.NamedTuple wraps annotations that are strings
        return {name: str(getattr(kind, "__forward_arg__", kind)) for name, kind in type(value).__annotations__.items()}
    return {}


_known_kinds: dict[str, Callable[[Any], bool]] = {}


def _kinds() -> dict[str, Callable[[Any], bool]]:
    """What the names stand for that are no classes of pyaco's; made when the first call fails."""
    if _known_kinds:
        return _known_kinds
    def many(value: Any) -> bool:
        return hasattr(value, "__iter__") and not isinstance(value, (str, bytes, abc.Mapping)) and getattr(value, "ndim", 1) == 1

    def numbers(value: Any) -> bool:
        try:
            return numpy.asarray(value).dtype.kind in "biuf"
        except (TypeError, ValueError):
            return False

    def buffer(value: Any) -> bool:
        try:
            return bool(memoryview(value).ndim)
        except TypeError:
            return False

    def integer(value: Any) -> bool:
        return isinstance(value, (Integral, numpy.ndarray)) and getattr(value, "shape", ()) == ()

    _known_kinds.update({
        "Any": lambda value: True, "object": lambda value: True, "None": lambda value: value is None, "NoneType": lambda value: value is None,
        "int": lambda value: integer(value) and not isinstance(value, bool), "bool": lambda value: integer(value) or isinstance(value, numpy.bool_),
        "float": lambda value: isinstance(value, Real), "str": lambda value: isinstance(value, str), "Callable": callable,
        "bytes": lambda value: isinstance(value, (bytes, bytearray, memoryview)), "type": lambda value: isinstance(value, type),
        "ReadableBuffer": buffer,
        "NDArray": lambda value: isinstance(value, numpy.ndarray) and value.dtype.kind != "O", "ArrayLike": numbers,
        "Mapping": lambda value: isinstance(value, abc.Mapping), "Iterable": many, "Sequence": many, "Collection": many,
    })  # fmt: skip
    return _known_kinds


def _fits(value: Any, node: ast.expr, names: Mapping[str, Any]) -> bool:
    """Whether a value is what an annotation says; a name that the module does not know at run time is that of a class."""
    if isinstance(node, ast.BinOp):
        return _fits(value, node.left, names) or _fits(value, node.right, names)
    if isinstance(node, ast.Subscript):
        return _fits_generic(value, node, names)
    if isinstance(node, ast.Constant):
        return value is None if node.value is None else isinstance(value, str) and value == node.value
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else "Any"
    if kind := _kinds().get(name):
        return kind(value)
    known = names.get(name)
    if known is not None and not isinstance(known, type):  # a name for something longer
        return _fits(value, ast.parse(repr(known), mode="eval").body, names)
    if getattr(known, "_is_protocol", False):
        return all(hasattr(value, member) for member in vars(known) if not member.startswith("_"))
    return isinstance(value, known) if known else any(base.__name__ == name for base in type(value).__mro__)


def _fits_generic(value: Any, node: ast.Subscript, names: Mapping[str, Any]) -> bool:
    outer = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
    inner = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if outer in ("Union", "Literal"):
        return any(_fits(value, part, names) for part in inner)
    if not _fits(value, node.value, names):
        return False
    if outer in ("Mapping", "dict"):
        return all(_fits(key, inner[0], names) and _fits(part, inner[1], names) for key, part in value.items())
    if outer == "tuple" and not (isinstance(inner[-1], ast.Constant) and inner[-1].value is ...):
        return len(value) == len(inner) and all(_fits(part, of, names) for part, of in zip(value, inner, strict=True))
    if outer in ("Sequence", "Collection", "list", "tuple", "set", "frozenset") or isinstance(value, (list, tuple)):
        return all(_fits(part, inner[0], names) for part in value)
    return True
