"""The value of a NIR ALU opcode on constants."""
from libc.stdint cimport uint64_t

from pyaco._core.ir.shader cimport ShaderData, ValueId

# Evaluate one ALU instruction. `operands[i]` points to the components of operand i as zero-extended bits (already swizzled),
# `bit_size` is that of the unsized operands, `components` that of a per-component result. Writes zero-extended bits to `result`.
# Returns False for a combination of opcode and sizes that the table does not have.
cdef bint evaluate_alu(int opcode, int bit_size, int result_bits, int components, const uint64_t *const *operands,
                       uint64_t *result) noexcept nogil

# The size of an ALU instruction's operands whose size is free; without any, that of the first.
cdef int operand_bits(const ShaderData *s, ValueId instruction) noexcept nogil
