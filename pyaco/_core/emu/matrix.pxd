from pyaco._core.emu.wave cimport Handler

# Enters the handlers of WMMA into a table by opcode.
cdef void fill_matrix(Handler *table) noexcept nogil
