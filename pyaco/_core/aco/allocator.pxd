"""The state of register allocation, and how a value gets a register: see ``allocator.pyx`` and ``register_allocation.pyx``."""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from pyaco._core.aco.live_set cimport LiveSet
from pyaco._core.aco.register_constraints cimport Placement
from pyaco._core.aco.register_file cimport RegisterFile, file_put, in_before
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.program cimport (
    BlockId, DefinitionRow, InstructionId, ProgramData, TempId, class_bytes, class_is_vgpr, register_none, register_vcc,
    register_vcc_hi, temp_new,
)


cdef enum:
    hint_vcc = 1
    hint_joined = 2               # a web has several values
    file_sgpr = 0
    file_vgpr = 1
    vcc_first = register_vcc >> 2


cdef struct Value:
    uint16_t reg                  # where it is, or was last
    uint16_t web_reg              # of a web's first value: the register that its values would like to share
    uint16_t exit_reg             # while a block is entered: where the model predecessor leaves it
    uint16_t begun_reg            # of a phi: where its block begins with it
    uint8_t presence              # the views it is in
    uint8_t lifted                # while fixed operands are brought to their registers: the views it was taken out of
    uint8_t hint                  # hint_*
    uint32_t pin                  # 2 * stamp: placed for this instruction; + 1: cannot even be compacted
    uint32_t move_of              # row in `moves` + 1
    uint32_t web                  # another value of its web, itself in the first one
    uint32_t vector_use           # the p_create_vector that will gather it
    TempId goal                   # the phi of a loop that it becomes at the loop's end, by phis alone; 0: none
    uint32_t becomes              # the web of what is computed from it last, one value after the other; 0: no web of several values


cdef struct Ranked:               # to be sorted: higher ranks first, then in the order in which they came
    uint32_t rank
    uint32_t position
    uint32_t item


cdef struct Move:
    TempId temp                   # the value in its new place
    uint32_t source               # the value that is copied: `temp` itself, or another one for a transient copy
    uint16_t origin               # where the source was before the instruction


cdef struct Saved:
    TempId temp
    uint16_t reg
    uint8_t presence


cdef struct Place:                # a value's register at the end of a block
    TempId temp
    uint16_t reg


cdef struct Mismatch:             # predecessor number `edge` of `block` holds `temp` in `reg`, the block expects it in `entry`
    BlockId block
    TempId temp
    uint32_t edge
    uint16_t reg
    uint16_t entry


cdef enum Writing:                # what the instruction at hand does to the registers of its results
    writing_none                  # there is none: phis name registers that others have written
    writing_computed
    writing_loaded


cdef cppclass Allocator:
    ProgramData *p
    RegisterFile file
    uint32_t first[2]             # first register of each file, as file index
    uint32_t bound[2]             # end of the registers in use, may grow to `limit`
    uint32_t free_bound[2]        # growing up to here costs no occupancy
    uint32_t limit[2]
    uint32_t used[2]              # end of the registers ever used
    BlockId block
    InstructionId instruction     # 0 while entering a block
    uint32_t stamp                # of the instruction at hand
    bint linear_may_move
    Writing writing
    # VGPRs that a load wrote last and that may not have been waited for on some way through the CFG; of these, those of the block at hand.
    uint64_t[4] loaded
    uint64_t[4] loaded_here
    LiveSet live_in               # of the block at hand
    uint32_t linear_live          # linear VGPRs present, in dwords
    SmallVector[Value] values          # by temp id
    SmallVector[Move] moves
    SmallVector[uint32_t] victims
    SmallVector[Ranked] ranked
    SmallVector[Saved] log
    SmallVector[uint32_t] transients
    SmallVector[TempId] entering       # live-in values of the logical CFG that the block at hand has yet to place
    SmallVector[TempId] late           # ... whose register another has, or that have none
    SmallVector[uint32_t] out          # instructions, block after block
    SmallVector[uint32_t] out_first
    SmallVector[Place] exits
    SmallVector[uint32_t] exit_first
    SmallVector[uint32_t] exit_count
    SmallVector[uint8_t] exit_scc      # by block: a value is left in SCC
    SmallVector[Place] entries         # of loop headers
    SmallVector[uint32_t] entry_first
    SmallVector[uint32_t] entry_count
    SmallVector[Mismatch] mismatches
    SmallVector[uint16_t] branch_reg   # by block: register of the scratch definition of the branches that lead here


# ------------------------------------------------------------------------------------------------------ placing a value
cdef inline uint8_t class_of_value(Allocator *a, TempId temp) noexcept nogil:
    return a.p.temps.register_class[temp]


cdef inline int file_of(uint8_t register_class) noexcept nogil:
    return file_vgpr if class_is_vgpr(register_class) else file_sgpr


cdef inline bint is_pinned(Allocator *a, uint32_t temp) noexcept nogil:
    return a.values[temp].pin >> 1 == a.stamp


cdef inline void pin(Allocator *a, uint32_t temp, bint hard) noexcept nogil:
    a.values[temp].pin = (a.stamp << 1) | hard


cdef inline void note_used(Allocator *a, uint8_t register_class, uint32_t address) noexcept nogil:
    cdef int which = file_of(register_class)
    cdef uint32_t end = (address + class_bytes(register_class) + 3) >> 2
    if which == file_sgpr and address <= register_vcc_hi and (end << 2) > register_vcc:
        a.p.config.uses_vcc = 1
    elif which == file_vgpr or end <= a.limit[file_sgpr]:
        if end > a.used[which]:
            a.used[which] = end


cdef inline void put_value(Allocator *a, TempId temp, uint32_t address, int views) noexcept nogil:
    cdef uint8_t register_class = class_of_value(a, temp)
    a.values[temp].reg = <uint16_t>address
    a.values[temp].presence = <uint8_t>(a.values[temp].presence | views)
    file_put(&a.file, views, address, class_bytes(register_class), temp)
    note_used(a, register_class, address)


cdef inline void note_written(Allocator *a, TempId temp) noexcept nogil:
    """A value has been given its register by the instruction at hand."""
    cdef uint32_t first = a.values[temp].reg >> 2
    cdef uint32_t r
    if a.writing == writing_none or not class_is_vgpr(class_of_value(a, temp)):
        return
    for r in range(first - 256, first - 256 + ((class_bytes(class_of_value(a, temp)) + 3) >> 2)):
        a.loaded[r >> 6] &= ~(<uint64_t>1 << (r & 63))
        a.loaded_here[r >> 6] &= ~(<uint64_t>1 << (r & 63))
        if a.writing == writing_loaded:
            a.loaded[r >> 6] |= <uint64_t>1 << (r & 63)
            a.loaded_here[r >> 6] |= <uint64_t>1 << (r & 63)


cdef inline void note_read(Allocator *a, TempId temp) noexcept nogil:
    """The instruction at hand waits for a value: what was loaded in this block is there on every way that leads on."""
    cdef uint32_t first = a.values[temp].reg >> 2
    cdef uint32_t r
    if a.writing == writing_none or not class_is_vgpr(class_of_value(a, temp)):
        return
    for r in range(first - 256, first - 256 + ((class_bytes(class_of_value(a, temp)) + 3) >> 2)):
        if a.loaded_here[r >> 6] >> (r & 63) & 1:
            a.loaded[r >> 6] &= ~(<uint64_t>1 << (r & 63))
            a.loaded_here[r >> 6] &= ~(<uint64_t>1 << (r & 63))


cdef inline void displace(Allocator *a, TempId temp) noexcept nogil:
    """Take a value out of the file; ``reg`` still tells where it was."""
    file_put(&a.file, a.values[temp].presence, a.values[temp].reg, class_bytes(class_of_value(a, temp)), 0)
    a.values[temp].presence = 0


cdef inline void record_move(Allocator *a, uint32_t temp) noexcept nogil:
    """Remember where a value was before it moves for the first time at this instruction."""
    cdef Move move
    if a.instruction == 0 or a.values[temp].move_of or not a.values[temp].presence & in_before:
        return
    move.temp = temp
    move.source = temp
    move.origin = a.values[temp].reg
    a.moves.push_back(move)
    a.values[temp].move_of = <uint32_t>a.moves.size()


cdef inline uint16_t goal_register(Allocator *a, TempId temp) noexcept nogil:
    """Where the loop around a value wants it at its end, or `register_none`."""
    return a.values[a.values[temp].goal].begun_reg if a.values[temp].goal else <uint16_t>register_none


cdef inline Value unplaced_value(uint32_t temp) noexcept nogil:
    cdef Value v
    v.reg = v.web_reg = v.exit_reg = v.begun_reg = register_none
    v.presence = v.lifted = v.hint = 0
    v.pin = v.move_of = v.vector_use = v.goal = v.becomes = 0
    v.web = temp
    return v


cdef inline TempId new_value(Allocator *a, uint8_t register_class) except 0 nogil:
    cdef TempId temp = temp_new(a.p, register_class)
    a.values.push_back(unplaced_value(temp))
    return temp


cdef inline uint32_t web_of(Allocator *a, uint32_t temp) noexcept nogil:
    while a.values[temp].web != temp:
        a.values[temp].web = a.values[a.values[temp].web].web
        temp = a.values[temp].web
    return temp


# ------------------------------------------------------------------------------------------------------- finding a place
# Whether a register suits the class, lies within the file and is free in `views`.
cdef bint fits(Allocator *a, Placement need, int views, uint32_t address) noexcept nogil
# Byte address of a free register outside a blocked window, or -1.
cdef int find_gap(Allocator *a, Placement need, int views, uint32_t blocked_first, uint32_t blocked_end) noexcept nogil
# The highest free register, or -1.
cdef int find_highest(Allocator *a, Placement need, int views) noexcept nogil
# Move every owner of a window elsewhere; all or nothing.
cdef bint evict(Allocator *a, uint32_t first, uint32_t end, int views) noexcept nogil
# Dwords to move to clear a window, or -1.
cdef int32_t window_cost(Allocator *a, uint32_t first, uint32_t end, int views) noexcept nogil
# A register for a value without a hint; a register for `temp`, hinted ones first.
cdef uint32_t pick_any(Allocator *a, Placement need, int views) except 0xffffffffU nogil
cdef uint32_t pick_hinted(Allocator *a, uint32_t temp, Placement need, int views) except 0xffffffffU nogil
# Give a definition its register.
cdef void assign_definition(Allocator *a, DefinitionRow row, uint32_t address, int views, bint hard) noexcept nogil
