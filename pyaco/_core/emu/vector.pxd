from pyaco._core.emu.wave cimport Instruction, LaneOperation, Lanes, Machine, Source, Wave
from libc.stdint cimport uint8_t, uint32_t, uint64_t

# A scalar register by ACO number; the special sources too.
cdef uint32_t read_scalar(const Wave *wave, uint32_t index) noexcept nogil
# Everything of a vector ALU instruction: sources, lanes, result modifiers, destinations.
cdef int execute_vector(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
cdef int execute_dual(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
# The whole of a scalar ALU instruction of the table.
cdef int execute_scalar(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
# Result modifiers of every float result: canonical NaNs, flush, omod, clamp.
cdef void finish(const Wave *wave, const LaneOperation *operation, Lanes *lanes, uint64_t modifiers) noexcept nogil
