from pyaco._core.emu.wave cimport Handler

# Enters the handlers of MFMA and SMFMAC into a table by opcode.
cdef void fill_matrix_blocks(Handler *table) noexcept nogil
