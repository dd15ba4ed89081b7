from pyaco._core.emu.wave cimport Instruction, Machine, Wave

cdef int execute_lds(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
cdef int execute_swizzle(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
cdef int execute_permute(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
cdef int execute_append(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
