"""What has an effect beside its result: for the passes that remove code."""
from pyaco._core.ir.shader cimport ShaderData, ValueId

cdef bint has_effect(const ShaderData *s, ValueId instruction) noexcept nogil
