"""Conversions between numbers (the SPIR-V specification, section 3.42.11)."""
from libc.stdint cimport uint32_t

from pyaco._core.ir.shader cimport TypeId, ValueId
from pyaco._core.spirv.module cimport Reader

# A scalar or vector of type `source` converted by an instruction to `type`, whose components may be more: only their type matters. The
# decorations of the result of the instruction being read say how it is rounded.
cdef ValueId converted(Reader r, uint32_t opcode, ValueId value, TypeId source, TypeId type) except 0 nogil
