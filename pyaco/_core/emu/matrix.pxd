from libc.stdint cimport uint32_t

from pyaco._core.emu.matrix_shapes cimport MatrixShape
from pyaco._core.emu.wave cimport Handler

# What a WMMA or SWMMAC multiplies; NULL: another instruction.
# Whether C has singles where D has 16 bits.
cdef bint has_wide_addend(uint32_t opcode) noexcept nogil
cdef const MatrixShape *wave_matrix_shape(uint32_t opcode) noexcept nogil
# Enters their handlers into a table by opcode.
cdef void fill_matrix(Handler *table) noexcept nogil
