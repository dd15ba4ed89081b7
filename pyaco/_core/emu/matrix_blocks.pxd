from libc.stdint cimport uint8_t, uint32_t

from pyaco._core.emu.matrix_shapes cimport MatrixShape
from pyaco._core.emu.wave cimport Handler, Source

# What an MFMA or SMFMAC multiplies; NULL: another instruction.
cdef const MatrixShape *block_matrix_shape(uint32_t opcode) noexcept nogil
# An inline constant as C.
cdef double constant_sum(const Source *source, uint8_t kind) noexcept nogil
# Enters their handlers into a table by opcode.
cdef void fill_matrix_blocks(Handler *table) noexcept nogil
