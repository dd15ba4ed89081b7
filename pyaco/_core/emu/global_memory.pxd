from libc.stdint cimport uint32_t, uint64_t

from features cimport has_flat_scratch_sgprs, has_hidden_flat_scratch, has_offset_flat_scratch
from pyaco._core.emu.access cimport MemoryOperation
from pyaco._core.common.machine cimport gfx8
from pyaco._core.emu.wave cimport Instruction, Machine, Wave, sgpr_flat_scratch, sgpr_flat_scratch_gfx7, sgpr_m0

# What memory instructions do, by opcode; filled once at import.
cdef const MemoryOperation *memory_operation(unsigned int opcode) noexcept nogil
cdef int execute_smem(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
# flat_*, global_*, scratch_*
cdef int execute_flat(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil
cdef int execute_buffer(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil

cdef inline uint64_t lds_base(const Machine *machine, const Wave *wave) noexcept nogil:
    """Where in LDS a move between memory and LDS begins: 16 bits of m0. LDS beyond 64 KiB (CDNA 4) can only be reached with more; ISA documents
    at hand do not say how many m0 has there."""
    return wave.sgpr[sgpr_m0] & (0xffff if machine.lds_bytes <= 0x10000 else 0x3ffff)

cdef inline uint64_t flat_scratch(const Machine *machine, const Wave *wave) noexcept nogil:
    """FLAT_SCRATCH where programs set an address: GFX9, CDNA 1 and 2 in SGPRs, GFX10 hidden. GFX7 and GFX8 have a size there, and an offset from
    the base that the host has set, here that of the memory with addresses of 32 bits."""
    cdef uint32_t first
    if has_offset_flat_scratch(machine.gfx_level):
        first = sgpr_flat_scratch if machine.gfx_level >= gfx8 else sgpr_flat_scratch_gfx7
        return 0xffff800000000000ULL | (<uint64_t>wave.sgpr[first + 1] << 8) if wave.sgpr[first] else 0
    if has_flat_scratch_sgprs(machine.gfx_level):
        return wave.sgpr[sgpr_flat_scratch] | (<uint64_t>wave.sgpr[sgpr_flat_scratch + 1] << 32)
    return wave.flat_scratch if has_hidden_flat_scratch(machine.gfx_level) else 0
