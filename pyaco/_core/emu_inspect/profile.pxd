"""What memory instructions cost: bytes, cache lines, passes over the banks of LDS.

LDS has 32 banks of a dword on every generation from GFX7 on. 32 lanes are served at a time; in a pass each bank serves one dword, to all
lanes that access it, or to one lane of an atomic. So a group needs as many passes as the busiest bank has dwords, and at least
one for each 32 dwords: the passes beyond that are conflicts. This is a model: no generation documents how it packs lanes with wide accesses.

Sources: AMD "Vega" and "RDNA 2" ISA documents, "Local Data Share", for banks; cache lines of 64 bytes on GFX9, 128 from GFX10 on.
"""
from libc.stdint cimport uint32_t, uint64_t

from pyaco._core.emu.wave cimport AccessLog

cdef enum:
    space_count = 4
    access_kind_count = 3
    banks = 32

cdef struct Traffic:
    uint64_t accesses[4][3]           # of lanes, by space and kind
    uint64_t bytes[4][3]
    uint64_t lines                    # cache lines of vector accesses to memory, each counted once for an instruction
    uint64_t line_accesses            # instructions that accessed them
    uint64_t passes
    uint64_t conflicts                # passes beyond what the dwords need

cdef void traffic_add(Traffic *traffic, const AccessLog *log, uint32_t line_bytes) noexcept nogil
