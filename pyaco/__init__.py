"""GPU shaders to AMD machine code, that machine code on an ordinary CPU, and GPU memory as AMD hardware lays it out."""

from __future__ import annotations

from pyaco.errors import InputError, PyacoError, UnsupportedError

__version__ = "0.1.0"

__all__ = ["InputError", "PyacoError", "UnsupportedError", "__version__"]
