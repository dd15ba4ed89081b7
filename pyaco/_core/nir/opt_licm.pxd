"""What runs in every iteration of a loop."""
from libcpp.vector cimport vector

from pyaco._core.ir.shader cimport NodeId, ShaderData

# Note by node what every iteration of a loop comes by: the nodes of its own list before any way out of it.
cdef void note_always_runs(const ShaderData *s, NodeId loop, vector[bint] &always_runs) noexcept nogil
