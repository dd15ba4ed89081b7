"""Facts about opcodes for the optimizer: see ``optimize_facts.pyx``."""
from libc.stdint cimport uint16_t, uint32_t, uint8_t

# An instruction and the producer of one of its sources, and the instruction that does both.
cdef struct Fusion:
    uint16_t producer                # opcode
    uint16_t fused                   # opcode
    uint8_t positions                # bits: the sources of the instruction that the producer may define
    uint8_t[3] sources               # of the fused instruction: fusion_*
    uint8_t source_count

cdef enum:
    fusion_x = 0                     # first source of the producer
    fusion_y = 1                     # its second one; where it is left out it must be the constant zero
    fusion_z = 2                     # the instruction's source that the producer does not define
    fusion_zero = 3                  # constants
    fusion_ones = 4

# The opcode with the first two sources exchanged, 0xffff none.
cdef uint16_t commuted_opcode(uint16_t opcode) noexcept nogil
# The compare that is true where this one is false, 0xffff none.
cdef uint16_t inverse_compare(uint16_t opcode) noexcept nogil
# The compare that writes exec, 0xffff none.
cdef uint16_t exec_compare(uint16_t opcode) noexcept nogil
# 16, 32 or 64 for float arithmetic, which from GFX9 on flushes denormal sources and results as the mode says, else 0.
cdef uint32_t float_bits(uint16_t opcode) noexcept nogil
# The same for a level, on which minima and the like may pass denormals through.
cdef uint32_t flushed_bits(uint16_t opcode, uint32_t gfx_level) noexcept nogil
# What an instruction may be fused with, in the order to try.
cdef const Fusion *fusions_of(uint16_t opcode, uint32_t *count) noexcept nogil
# 64-bit shifts read one scalar register at most on every generation.
cdef bint has_one_scalar_source(uint16_t opcode) noexcept nogil
# Bits of the float that an instruction converts to another size, 0: it does not. Its denormals follow the mode, or are lost anyway.
cdef uint32_t converted_bits(uint16_t opcode) noexcept nogil
# Whether an opcode does one thing to two pairs of halves.
cdef bint is_packed(uint16_t opcode) noexcept nogil
# Bits of the floats that an instruction reads to compare or convert them, 0: it does not.
cdef uint32_t read_bits(uint16_t opcode) noexcept nogil
# Bits of the float that an instruction makes of an integer, which is no denormal; 0: it does not.
cdef uint32_t made_bits(uint16_t opcode) noexcept nogil
# Bits of a float result on which output modifiers work.
cdef uint32_t result_bits(uint16_t opcode) noexcept nogil
