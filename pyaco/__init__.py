"""GPU shaders to AMD machine code, that machine code on an ordinary CPU, and GPU memory as AMD hardware lays it out."""

from __future__ import annotations

from pyaco.errors import InputError, PyacoError, UnsupportedError

# typing itself costs as much as the rest of this import; type checkers know the name
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pyaco import aco, addrlib, emu, isa, nir, spirv, targets
    from pyaco.compiler import CompiledShader, compile

__version__ = "0.1.0"

__all__ = [
    "CompiledShader", "InputError", "PyacoError", "UnsupportedError", "__version__", "aco", "addrlib", "compile", "emu", "isa",
    "nir", "spirv", "targets",
]

_ROOMS = frozenset(("aco", "addrlib", "binary", "descriptors", "emu", "isa", "nir", "pm4", "spirv", "targets"))


def __getattr__(name: str) -> Any:
    # Rooms load when they are used, so that importing pyaco costs next to nothing.
    if name in ("compile", "CompiledShader"):
        from pyaco import compiler

        return getattr(compiler, name)
    if name in _ROOMS:
        import importlib

        return importlib.import_module(f"pyaco.{name}")
    raise AttributeError(f"module 'pyaco' has no attribute {name!r}")
