"""Expressions of the rule tables (``algebraic.txt``, ``lower_alu.txt``): sizes of their nodes, and their values on constants."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

# What computes an opcode: evaluate_alu, given as an argument because it asks for the values of rules itself.
ctypedef bint (*alu_function)(int opcode, int bit_size, int result_bits, int components, const uint64_t *const *operands,
                              uint64_t *result) noexcept nogil

cdef inline uint32_t letter_of(uint64_t variable) noexcept nogil:
    """Which letter a variable's node names."""
    return <uint32_t>variable & 15

# Bits of a constant's node as a number of `bits`.
cdef uint64_t pattern_constant(uint32_t node, int bits) noexcept nogil
# Bit size of the unsized operands of a node where its letters (of `letter_bits` each) determine it; else `expected`, that of its result.
cdef int unsized_bits(const uint8_t *letter_bits, uint32_t node, int expected) noexcept nogil
# Whether the group [define] has a rule for the opcode.
cdef bint is_defined(int opcode) noexcept nogil
# One component of what the group [define] makes of an opcode; False where no rule fits the sizes.
cdef bint defined_value(alu_function evaluate, int opcode, int bit_size, int result_bits, const uint64_t *const *operands, int component,
                        uint64_t *result) noexcept nogil
