from pyaco._core.emu.wave cimport Handler, Instruction, Machine, Wave

# Enters the handlers of program flow, hardware registers and lane moves into a table by opcode.
cdef void fill_control(Handler *table) noexcept nogil
cdef int execute_indexed(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
