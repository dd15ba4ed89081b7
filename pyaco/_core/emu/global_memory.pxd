from libc.stdint cimport uint64_t

from features cimport has_flat_scratch_sgprs, has_hidden_flat_scratch
from pyaco._core.emu.access cimport MemoryOperation
from pyaco._core.emu.wave cimport Instruction, Machine, Wave, sgpr_flat_scratch, sgpr_m0

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
    """FLAT_SCRATCH where programs set an address: GFX9, CDNA 1 and 2 in SGPRs, GFX10 hidden. GFX8 has an offset and a size there."""
    if has_flat_scratch_sgprs(machine.gfx_level):
        return wave.sgpr[sgpr_flat_scratch] | (<uint64_t>wave.sgpr[sgpr_flat_scratch + 1] << 32)
    return wave.flat_scratch if has_hidden_flat_scratch(machine.gfx_level) else 0
