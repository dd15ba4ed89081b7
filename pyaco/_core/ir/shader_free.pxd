"""Freeing a shader: see ``shader_free.pyx``."""
from pyaco._core.ir.shader cimport ShaderData

# Free all tables: what is left is no shader, and its owner has nothing left to free.
cdef void shader_free(ShaderData *s) noexcept nogil
