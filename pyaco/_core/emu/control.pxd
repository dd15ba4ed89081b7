from pyaco._core.emu.wave cimport Handler

# Enters the handlers of program flow, hardware registers and lane moves into a table by opcode.
cdef void fill_control(Handler *table) noexcept nogil
