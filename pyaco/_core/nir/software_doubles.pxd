"""Operations on doubles in integer arithmetic. The rules of the results are in ``software_doubles.pyx``.

Thread safety: that of the shader.
"""
from pyaco._core.ir.shader cimport ShaderData, ValueId
from pyaco._core.nir.lowering cimport Lowering

# Whether an ALU instruction has a 64-bit float as operand or result.
cdef bint is_double_operation(const ShaderData *s, ValueId instruction) noexcept nogil

# What replaces an operation on doubles; UnsupportedError where there is nothing.
cdef ValueId software_double(Lowering *b, ValueId instruction) except? 0xffffffffU nogil

# Opcodes that are integer operations anyway: fround_even, ftrunc, ffloor, fceil; fmin, fmax and those of three; fsign, fsat.
cdef ValueId double_integral(Lowering *b, int opcode, ValueId x) except? 0xffffffffU nogil
cdef ValueId double_minimum(Lowering *b, ValueId x, ValueId y) except? 0xffffffffU nogil
cdef ValueId double_maximum(Lowering *b, ValueId x, ValueId y) except? 0xffffffffU nogil
cdef ValueId double_sign(Lowering *b, ValueId x) except? 0xffffffffU nogil
cdef ValueId double_saturated(Lowering *b, ValueId x) except? 0xffffffffU nogil
