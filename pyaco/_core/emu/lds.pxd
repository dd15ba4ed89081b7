from pyaco._core.emu.wave cimport Handler, Instruction, Machine, Wave

cdef int execute_lds(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
cdef void fill_lds(Handler *table) noexcept nogil
