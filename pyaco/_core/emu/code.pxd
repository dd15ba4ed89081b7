"""Machine code, decoded once for each address.

A region is the words of one allocation as they were when a wave first got there, so that results do not depend on when it is decoded.
"""
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.emu.memory cimport Memory, canonical_address
from pyaco._core.emu.wave cimport Handler, Instruction, Machine

cdef enum:
    region_limit = 64

cdef struct Region:
    uint64_t first
    uint64_t bytes
    uint32_t *words                   # as they were when a wave first got there: stores to code do not change what runs
    Instruction *instructions         # by dword; valid == 0: not decoded yet
    Instruction *owned                # decoded for other banks of registers, one allocation each
    bint searched                     # for instructions that wait for other workgroups, and for jumps to addresses in registers
    bint jumps                        # it has such jumps

cdef struct Code:
    Region regions[region_limit]
    uint32_t count
    uint32_t last
    uint64_t generation               # increases whenever the code is forgotten

# The function of an opcode that has one of its own, or NULL.
cdef Handler handler_of(unsigned int opcode) noexcept nogil
# The first region of a device whose addresses are the host's.
cdef bint cache_host_code(Code *code, uint64_t entry, uint64_t entry_bytes) noexcept nogil
cdef void forget(Code *code) noexcept nogil
# Whether memory still holds the words that were decoded.
cdef bint is_unchanged(const Code *code, Memory *memory, uint64_t entry, uint64_t entry_bytes) noexcept nogil
# The words that `other` has, nothing decoded yet.
cdef bint copy_code(Code *code, const Code *other) noexcept nogil
# Whether code that has been reached has instructions that wait for waves of other workgroups.
cdef bint meets_other_workgroups(Code *code, uint32_t gfx_level) noexcept nogil
# Whether a wave cannot get to code that `meets_other_workgroups` has not seen.
cdef bint is_all_known(const Code *code) noexcept nogil
# The region that holds an address, NULL where there is no memory; a new one spans the allocation.
cdef Region *region_of(Code *code, Machine *machine, uint64_t pc) noexcept nogil
# The instruction of a region at `pc` for banks of registers other than those that it was decoded for last, or not decoded at all yet.
cdef Instruction *decode_at(Code *code, Machine *machine, Region *region, uint64_t pc, uint32_t banks) noexcept nogil

cdef inline Instruction *fetch(Code *code, Machine *machine, uint64_t pc, uint32_t banks) noexcept nogil:
    """The decoded instruction at `pc`, NULL when that is not in memory; `banks` as `wave_banks` has them."""
    cdef Region *region = &code.regions[code.last]
    cdef Instruction *instruction
    cdef uint64_t offset = canonical_address(pc) - region.first
    if code.count == 0 or offset >= region.bytes:
        region = region_of(code, machine, pc)
        if region == NULL:
            return NULL
        offset = canonical_address(pc) - region.first
    if offset & 3 or offset + 4 > region.bytes:
        return NULL
    instruction = &region.instructions[offset >> 2]
    return instruction if instruction.valid and instruction.banks == banks else decode_at(code, machine, region, pc, banks)
