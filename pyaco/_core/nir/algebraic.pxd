"""Rewriting of scalar ALU trees by the rule tables."""
from pyaco._core.ir.shader cimport ShaderData

cdef enum:                        # groups of rules, in the order of tools/generate_algebraic.py
    rules_main = 0
    rules_late = 1
    rules_lower = 2
    rules_lower_dot_4x8 = 3
    rules_lower_sudot = 4
    rules_lower_dot_2x16 = 5

# One sweep over all instructions; returns whether one changed.
cdef bint algebraic_run(ShaderData *s, int group) except -1 nogil
