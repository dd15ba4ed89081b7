"""Emptying a shader: see ``shader_clear.pyx``."""
from pyaco._core.ir.shader cimport ShaderData

# Forget all rows of all tables: what is left is no shader, and takes no time to free.
cdef void shader_clear(ShaderData *s) noexcept nogil
