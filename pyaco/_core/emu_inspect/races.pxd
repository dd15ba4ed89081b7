"""Data races between waves, by vector clocks.

A wave counts epochs: one ends where the wave releases what it did, at a barrier or an atomic. An access is ordered before another
wave's if that wave has acquired the epoch, through barriers of the workgroup or through atomics to one address; of two accesses to a byte that
are not ordered, one that writes makes a race, unless both are atomic. Loads and stores that bypass the caches for others (glc; CDNA 3:
sc0 or sc1; GFX12: a scope beyond the compute unit) count as atomic: generations write atomic loads and stores so. Before GFX12, except on
CDNA 3 and 4, stores to memory do not show whether they are atomic: an atomic one may look like any other (LLVM's memory model for AMDGPU;
Mesa on GFX11), and one with glc may be to a buffer that is never read (Mesa on GFX9 and GFX10). So there a store races with plain accesses
only, and does not release; an atomic load that reads from it acquires all that its workgroup did.

A plain load does not race with a compare-and-swap: compilers begin the loops that make other atomics of it with one, and the loop finds out
whether the value was right (LLVM's AtomicExpand). Where stores of the same value are reported, such loads are too.

An operation still in flight at the end of an epoch belongs to the next one too: others cannot rely on it. Where such an
access makes a race, what is missing is a wait. In CU mode and before GFX10 the waves of a workgroup share a first-level cache, which
keeps their accesses to memory in order, so that barriers need no such wait; LDS always does. What other caches hold is not modelled.

Every accessed byte has a cell: the last write and up to three unordered reads; of more reads the
oldest is forgotten. A cell is for four bytes until a page sees smaller accesses.

Two stores that are not ordered leave the same bytes where both store the same value: layouts that several waves hold alike are written so. They
are counted and, unless asked for, make no race. What is compared is what memory holds after each of the two instructions. A wave that has stored that
value itself may read it while other waves of its workgroup store it too.

Source of the method: C. Flanagan, S. Freund, "FastTrack: efficient and precise dynamic race detection", PLDI 2009.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from pyaco._core.emu.wave cimport Access, AccessLog, Machine
from pyaco._core.emu_inspect.waits cimport Flight

cdef enum:
    slot_used = 1
    slot_atomic = 2
    slot_write = 4
    slot_unmarked_store = 8           # to memory, on a generation whose stores do not show whether they are atomic
    slot_own_value = 16               # a read of what the wave itself had stored, though others may have stored the same since
    slot_swap = 32                    # compares and swaps
    read_slots = 3
    page_bytes = 1024

cdef struct Slot:                     # an access
    uint32_t wave                     # workgroup * waves + wave
    uint32_t clock
    int32_t pc                        # bytes from the entry
    uint8_t flags                     # slot_*
    uint8_t late                      # counters that had not fallen when its epoch ended
    uint16_t opcode

cdef struct Cell:
    uint32_t value                    # the bytes after the last write
    uint32_t same_writers             # waves of the last writer's workgroup (a bit each) that have stored this value since the bytes had another
    Slot write
    Slot read[3]

cdef cppclass Page:
    bint by_byte
    vector[Cell] cells

cdef cppclass Clock:                  # the epochs of other waves that a wave has acquired
    vector[uint32_t] own              # of the waves of the workgroup that runs
    unordered_map[uint32_t, uint32_t] others

cdef cppclass Shared:                 # what the atomics to one address have released
    uint32_t wave
    uint32_t clock
    unordered_map[uint32_t, uint32_t] known

cdef cppclass Races:
    uint32_t waves                    # of a workgroup
    uint32_t group
    bint marks_stores                 # an atomic store can be told by its bits
    bint reports_same_value           # of two stores of the same value too
    uint64_t same_value               # stores that nothing orders behind one of the same value
    bint ordered_cache                # accesses to memory of one workgroup stay in order
    vector[Clock] clocks
    vector[uint32_t] arriving         # what the waves at the barrier have released
    vector[uint32_t] arrived          # the barrier that was completed last
    unordered_map[uint64_t, Page] memory
    unordered_map[uint64_t, Page] local
    unordered_map[uint64_t, Shared] shared
    unordered_map[uint64_t, Shared] shared_local

cdef struct Race:
    Slot earlier
    uint64_t address
    uint32_t bytes
    uint8_t space
    uint8_t lane
    uint8_t write
    uint8_t ended                     # the other access's wave is of another workgroup

cdef void races_clear(Races *races, uint32_t waves, bint ordered_cache, uint32_t gfx_level) noexcept nogil
cdef void races_start_group(Races *races, uint32_t group) noexcept nogil
# A wave reaches a barrier (or signals); all waves have; a wave leaves the barrier.
cdef void races_arrive(Races *races, uint32_t wave, Flight *flight) noexcept nogil
cdef void races_complete(Races *races) noexcept nogil
cdef void races_leave(Races *races, uint32_t wave) noexcept nogil
# A wave goes on that waited at a dword of GDS, or at a resource that counts as one.
cdef void races_go_on(Races *races, uint32_t wave, uint64_t address) noexcept nogil
# Exchange what belongs to the running workgroup.
cdef void races_swap_group(Races *races, Races *other) noexcept nogil
# The accesses that one instruction has made; True when one of them races.
cdef bint races_access(Races *races, uint32_t wave, const Machine *machine, const AccessLog *log, int32_t pc, uint16_t opcode, bint atomic,
                       Flight *flight, Race *race) noexcept nogil
