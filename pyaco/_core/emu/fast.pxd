from pyaco._core.emu.wave cimport Handler, Instruction, LaneOperation

# Whether this host has the vector units that the fast engine is compiled for.
cdef bint host_is_fast() noexcept nogil
# The vector ALU operations of the fast engine, by opcode.
cdef void fill_fast(LaneOperation *table) noexcept nogil
# A shorter way through an instruction whose operation is chosen and whose sources are known, or NULL when it has none.
cdef Handler plain_handler(const Instruction *instruction) noexcept nogil
