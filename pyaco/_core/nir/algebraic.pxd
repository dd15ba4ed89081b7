"""Rewriting of scalar ALU trees by the rule tables."""
from pyaco._core.ir.shader cimport ShaderData

# One sweep over all instructions with the rules of a group (rules_*); returns as kernels do (``ir/pass_runner.pxd``).
cdef int algebraic_run(ShaderData *s, int group) except -1 nogil
