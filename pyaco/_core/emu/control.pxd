from libc.stdint cimport uint32_t

from pyaco._core.emu.wave cimport Handler, Instruction, Machine, Wave

# Enters the handlers of program flow, hardware registers and lane moves into a table by opcode.
cdef void fill_control(Handler *table) noexcept nogil
# The upper bits of VGPR numbers that S_SET_VGPR_MSB sets, as `wave_banks` has them.
cdef uint32_t banks_of(const Instruction *instruction) noexcept nogil
cdef int execute_indexed(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
