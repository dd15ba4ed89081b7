"""What is wrong with a texture instruction; see ``validate_texture.pyx``."""

from pyaco._core.ir.shader cimport ShaderData, ValueId

# Which rule of NIR a texture instruction breaks, as the end of a sentence that begins with the instruction; NULL when it breaks none.
cdef const char *texture_fault(const ShaderData *s, ValueId row) noexcept nogil
