from pyaco._core.emu.wave cimport LaneOperation

# Enters the operations of this group into a table by opcode; for hosts that have AVX2 and FMA.
cdef void fill_compare(LaneOperation *table) noexcept nogil
