"""Kernels that Python calls refuse None where they want a program or a shader: reading its fields would crash the interpreter."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

import pyaco._core.aco

FOLDER = Path(pyaco._core.aco.__file__).parent
#: An argument of each type, by what its declaration begins with.
VALUES: dict[str, Any] = {"uint": 0, "int": 0, "bint": False, "bytes": b"", "list": [], "dict": {}}


def functions() -> list[tuple[str, str, list[str]]]:
    """Module, name and parameters, as declared, of each function that Python sees."""
    found = []
    for path in sorted(FOLDER.glob("*.pyx")):
        for name, parameters in re.findall(r"^(?:cp)?def (?!inline|enum|class|struct)(?:\w+ )?(\w+)\((.*?)\)[^\n]*:$", path.read_text(),
                                           re.MULTILINE | re.DOTALL):  # fmt: skip
            found.append((path.stem, name, [part.strip() for part in parameters.split(",")]))
    return found


def is_object(parameter: str) -> bool:
    """Whether a parameter is declared with an extension type, and is not None when it is left out."""
    return re.match(r"[A-Z]\w+ \w+", parameter) is not None and "=" not in parameter


DOORS = [(module, name, index, parameters) for module, name, parameters in functions()
         for index, parameter in enumerate(parameters) if is_object(parameter)]  # fmt: skip


def test_all_functions_are_found() -> None:
    names = {f"{module}.{name}" for module, name, _, _ in DOORS}
    assert {"assemble.run", "isel.run", "build.add_block", "validate_ir.check", "statistics.collect", "live_variables.live_in"} <= names
    for path in FOLDER.glob("*.pyx"):
        module = importlib.import_module(f"pyaco._core.aco.{path.stem}")
        assert "run" not in vars(module) or f"{path.stem}.run" in names


@pytest.mark.parametrize(("module", "name", "index", "parameters"), DOORS, ids=lambda value: str(value) if isinstance(value, str) else "")
def test_none_is_refused(module: str, name: str, index: int, parameters: list[str]) -> None:
    arguments: list[Any] = []
    for position, parameter in enumerate(parameters):
        if "=" in parameter or parameter.startswith("*"):
            break
        kind = next((value for prefix, value in VALUES.items() if parameter.startswith(prefix)), ())
        arguments.append(None if position == index else kind)
    with pytest.raises(TypeError, match="None"):
        getattr(importlib.import_module(f"pyaco._core.aco.{module}"), name)(*arguments)
