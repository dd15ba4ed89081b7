"""Live variables and register demand: see ``live_variables.pyx``."""
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.ir.program cimport ProgramData

# Fills ProgramData.live_in, the kill flags, the demand columns, max_demand_*, num_waves and max_waves.
cdef int live_variables_run(ProgramData *p) except -1 nogil
# Writes the live-out row of `block` (live_words words) from the live-in rows.
cdef void live_out_of(const ProgramData *p, uint32_t block, uint64_t *row) noexcept nogil

cdef inline bint live_test(const uint64_t *row, uint32_t temp) noexcept nogil:
    return (row[temp >> 6] >> (temp & 63)) & 1

cdef inline void live_insert(uint64_t *row, uint32_t temp) noexcept nogil:
    row[temp >> 6] |= <uint64_t>1 << (temp & 63)

cdef inline void live_erase(uint64_t *row, uint32_t temp) noexcept nogil:
    row[temp >> 6] &= ~(<uint64_t>1 << (temp & 63))

cdef inline const uint64_t *live_in_row(const ProgramData *p, uint32_t block) noexcept nogil:
    return p.live_in + <uint64_t>block * p.live_words
