"""Operations on constants become constants: also of passes that make such operations."""
from pyaco._core.ir.shader cimport ShaderData, ValueId

# Let an ALU instruction be a constant, if all its operands are; its id stays.
cdef bint fold(ShaderData *s, ValueId instruction) except -1 nogil
