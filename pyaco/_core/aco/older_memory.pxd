"""The memory instructions of GFX6 to GFX8 that do what ``global_*`` and ``scratch_*`` do later; see ``older_memory.pyx``."""
from libc.stdint cimport uint16_t, uint32_t

# FLAT for global_* (GFX6: MUBUF), MUBUF for scratch_*; other opcodes are returned as they are.
cdef uint16_t older_form(uint32_t gfx_level, uint32_t opcode) noexcept nogil

cdef enum:
    # Of the descriptor of scratch, word 3: the lane's number is the index, elements of 4 bytes of 64 lanes lie side by side.
    scratch_word3 = 1 << 23 | 3 << 21 | 1 << 19
    # GFX6, GFX7: and a format, without which loads give zero (32 bits, float).
    scratch_word3_format = 7 << 12 | 4 << 15
