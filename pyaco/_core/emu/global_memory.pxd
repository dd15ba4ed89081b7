from pyaco._core.emu.access cimport MemoryOperation
from pyaco._core.emu.wave cimport Instruction, Machine, Wave

# What memory instructions do, by opcode; filled once at import.
cdef const MemoryOperation *memory_operation(unsigned int opcode) noexcept nogil
cdef int execute_smem(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
# flat_*, global_*, scratch_*
cdef int execute_flat(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
cdef int execute_buffer(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
