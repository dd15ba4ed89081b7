from libc.stdint cimport uint32_t

from pyaco._core.emu.wave cimport Handler, Instruction, Machine, Wave

cdef int execute_lds(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
cdef void fill_lds(Handler *table) noexcept nogil
cdef int swizzle_lane(uint32_t offset, int lane) noexcept nogil                  # that DS_SWIZZLE reads; -2: the offset means nothing
