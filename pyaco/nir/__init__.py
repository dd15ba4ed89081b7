"""NIR: text, passes, interpreter, and a builder."""

from __future__ import annotations

from pyaco.nir.passes import pass_names, register_pass, registered, unregister_pass

__all__ = ["pass_names", "register_pass", "registered", "unregister_pass"]
