"""NIR: text, passes, interpreter, and a builder."""

from __future__ import annotations

from pyaco.nir.opcodes import ALU_INFOS, AluInfo
from pyaco.nir.passes import pass_names, register_pass, registered, unregister_pass

__all__ = ["ALU_INFOS", "AluInfo", "pass_names", "register_pass", "registered", "unregister_pass"]
