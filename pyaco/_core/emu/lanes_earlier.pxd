from libc.stdint cimport uint32_t

from pyaco._core.emu.wave cimport LaneOperation

# What an opcode computes on a level, where later generations compute otherwise; else NULL. Only the reference engine has such operations.
cdef const LaneOperation *earlier_operation(uint32_t opcode, uint32_t gfx_level) noexcept nogil
