"""Loops that do nothing: for ``dead_control_flow``."""
from libcpp.vector cimport vector

from pyaco._core.ir.shader cimport NodeId, ShaderData

# Find the loops without effects none of whose values is used outside, inner ones before those around them; the block after each has no phis.
cdef int dead_loops_find(const ShaderData *s, vector[NodeId] &dead) except -1 nogil
