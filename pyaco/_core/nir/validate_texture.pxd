"""What is wrong with a texture instruction; see ``validate_texture.pyx``."""
from libc.stdint cimport uint32_t

from pyaco._core.ir.shader cimport ShaderData

# The reason why a texture instruction breaks a rule of NIR, to go on after its name; NULL when it breaks none.
cdef const char *texture_fault(const ShaderData *s, uint32_t row) noexcept nogil
