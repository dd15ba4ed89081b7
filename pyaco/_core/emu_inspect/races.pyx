"""Vector clocks and cells. The contract is in ``races.pxd``."""
from cython.operator cimport dereference, preincrement
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from features cimport has_memory_scopes
from pyaco._core.emu.access cimport MemoryOperation, access_atomic, atomic_cmpswap, atomic_fcmpswap
from pyaco._core.emu.global_memory cimport memory_operation
from pyaco._core.emu.memory cimport memory_at
from pyaco._core.emu.wave cimport *
from pyaco._core.emu_inspect.waits cimport Flight, Operation


# ------------------------------------------------------------------------------------------------------------------ clocks
cdef void races_clear(Races *races, uint32_t waves, bint ordered_cache, uint32_t gfx_level) noexcept nogil:
    races.waves = waves
    races.ordered_cache = ordered_cache
    races.marks_stores = has_memory_scopes(gfx_level)
    races.same_value = 0
    races.memory.clear()
    races.shared.clear()


cdef void races_start_group(Races *races, uint32_t group) noexcept nogil:
    cdef uint32_t wave
    races.group = group
    races.local.clear()
    races.shared_local.clear()
    races.clocks.resize(races.waves)
    races.arriving.assign(races.waves, 0)
    races.arrived.assign(races.waves, 0)
    for wave in range(races.waves):
        races.clocks[wave].own.assign(races.waves, 0)
        races.clocks[wave].own[wave] = 1
        races.clocks[wave].others.clear()


cdef inline void _raise_to(uint32_t *value, uint32_t other) noexcept nogil:
    if other > value[0]:
        value[0] = other


cdef bint _knows(const Races *races, uint32_t wave, const Slot *slot) noexcept nogil:
    """Whether an access is ordered before what a wave does now."""
    cdef const Clock *clock = &races.clocks[wave]
    cdef unordered_map[uint32_t, uint32_t].const_iterator found
    if slot.wave // races.waves == races.group:
        return slot.wave % races.waves == wave or clock.own[slot.wave % races.waves] >= slot.clock
    found = clock.others.const_find(slot.wave)
    return found != clock.others.const_end() and dereference(found).second >= slot.clock


cdef void races_arrive(Races *races, uint32_t wave, Flight *flight) noexcept nogil:
    cdef uint32_t other
    for other in range(races.waves):
        _raise_to(&races.arriving[other], races.clocks[wave].own[other])
    _end_epoch(races, wave, flight, True)


cdef void races_complete(Races *races) noexcept nogil:
    races.arrived = races.arriving
    races.arriving.assign(races.waves, 0)


cdef void races_leave(Races *races, uint32_t wave) noexcept nogil:
    """The wave also learns what the others know of other workgroups."""
    cdef uint32_t other
    for other in range(races.waves):
        if races.arrived[other]:
            _raise_to(&races.clocks[wave].own[other], races.arrived[other])
            if other != wave:
                _learn(&races.clocks[wave].others, &races.clocks[other].others)


cdef void _learn(unordered_map[uint32_t, uint32_t] *into, unordered_map[uint32_t, uint32_t] *source) noexcept nogil:
    cdef unordered_map[uint32_t, uint32_t].iterator entry = source.begin()
    while entry != source.end():
        _raise_to(&into[0][dereference(entry).first], dereference(entry).second)
        preincrement(entry)


cdef void _acquire(Races *races, uint32_t wave, Shared *shared) noexcept nogil:
    """A wave learns what others released at an address."""
    cdef unordered_map[uint32_t, uint32_t].iterator entry = shared.known.begin()
    cdef uint32_t number
    while entry != shared.known.end():
        number = dereference(entry).first
        if number // races.waves == races.group:
            _raise_to(&races.clocks[wave].own[number % races.waves], dereference(entry).second)
        else:
            _raise_to(&races.clocks[wave].others[number], dereference(entry).second)
        preincrement(entry)


cdef void races_go_on(Races *races, uint32_t wave, uint64_t address) noexcept nogil:
    _acquire(races, wave, &races.shared[address | (<uint64_t>1 << 62)])


cdef void races_swap_group(Races *races, Races *other) noexcept nogil:
    races.group, other.group = other.group, races.group
    races.clocks.swap(other.clocks)
    races.arriving.swap(other.arriving)
    races.arrived.swap(other.arrived)
    races.local.swap(other.local)
    races.shared_local.swap(other.shared_local)


cdef void _release(Races *races, uint32_t wave, Shared *shared) noexcept nogil:
    """A wave releases at an address what it knows."""
    cdef uint32_t other
    for other in range(races.waves):
        if races.clocks[wave].own[other]:
            _raise_to(&shared.known[races.group * races.waves + other], races.clocks[wave].own[other])
    _learn(&shared.known, &races.clocks[wave].others)
    shared.wave = races.group * races.waves + wave
    shared.clock = races.clocks[wave].own[wave]


cdef void _end_epoch(Races *races, uint32_t wave, Flight *flight, bint barrier) noexcept nogil:
    """Operations still in flight count as done in the wave's next epoch."""
    cdef size_t i, k
    cdef Operation *operation
    races.clocks[wave].own[wave] += 1
    for i in range(flight.operations.size()):
        operation = &flight.operations[i]
        for k in range(operation.reached.size()):
            if operation.reached[k].space == space_lds or not (barrier and races.ordered_cache):
                _postpone(races, wave, operation, &operation.reached[k])


cdef void _postpone(Races *races, uint32_t wave, const Operation *operation, const Access *access) noexcept nogil:
    cdef uint32_t number = races.group * races.waves + wave
    cdef uint64_t address = access.address
    cdef uint64_t end = access.address + access.bytes
    cdef uint32_t step, i
    cdef Cell *cell
    while address < end:
        cell = _cell_of(races, access.space, address, end, &step)
        if access.access_kind != access_kind_load:
            _late(&cell.write, number, operation, races.clocks[wave].own[wave])
        else:
            for i in range(<uint32_t>read_slots):
                _late(&cell.read[i], number, operation, races.clocks[wave].own[wave])
        address += step


cdef void _late(Slot *slot, uint32_t number, const Operation *operation, uint32_t clock) noexcept nogil:
    if slot.flags and slot.wave == number and slot.opcode == operation.opcode:
        slot.clock = clock
        slot.late = operation.needs


# ------------------------------------------------------------------------------------------------------------------- cells
cdef Cell *_cell_of(Races *races, uint8_t space, uint64_t address, uint64_t end, uint32_t *step) noexcept nogil:
    """The cell of the first bytes of a range; `step` is how many of them it is for."""
    cdef unordered_map[uint64_t, Page] *pages = &races.local if space == space_lds else &races.memory
    cdef Page *page = &pages[0][address // page_bytes | (<uint64_t>1 << 62 if space == space_gds else 0)]
    cdef uint32_t offset = <uint32_t>(address % page_bytes)
    cdef vector[Cell] cells
    cdef uint32_t i
    if page.cells.empty():
        page.by_byte = False
        page.cells.resize(page_bytes // 4)
    if not page.by_byte and (address & 3 or end - address < 4):
        cells.resize(page_bytes)
        for i in range(<uint32_t>page_bytes):
            cells[i] = page.cells[i >> 2]
            cells[i].value = cells[i].value >> 8 * (i & 3) & 0xff
        page.cells.swap(cells)
        page.by_byte = True
    step[0] = 1 if page.by_byte else 4
    return &page.cells[offset if page.by_byte else offset >> 2]


cdef inline bint _reads_atomically(uint8_t flags) noexcept nogil:
    return flags & slot_atomic and not flags & slot_unmarked_store


cdef bint _conflicts(const Races *races, uint32_t wave, const Slot *earlier, uint8_t flags) noexcept nogil:
    """Whether an access with these flags races with an earlier one; a store that may be atomic does not with an atomic."""
    if not earlier.flags or flags & earlier.flags & slot_atomic or _knows(races, wave, earlier):
        return False
    if (flags | earlier.flags) & slot_swap and not flags & earlier.flags & slot_write and not races.reports_same_value:
        return False
    if _reads_atomically(flags) and earlier.flags & slot_unmarked_store:
        return False
    return not (flags & slot_unmarked_store and _reads_atomically(earlier.flags))


cdef void _learn_from_store(Races *races, uint32_t wave, const Slot *store) noexcept nogil:
    """An atomic reads what a store that may be atomic wrote: everything the storing wave's workgroup has done counts as ordered before it. A real
    acquire orders less, so races may be missed, but none are reported falsely."""
    cdef uint32_t first = store.wave - store.wave % races.waves
    cdef uint32_t other
    if first // races.waves == races.group:
        for other in range(races.waves):
            _raise_to(&races.clocks[wave].own[other], races.clocks[store.wave % races.waves].own[other])
        return
    for other in range(races.waves):
        _raise_to(&races.clocks[wave].others[first + other], 0xffffffffU)


cdef void _remember_read(const Races *races, uint32_t wave, Cell *cell, const Slot *slot) noexcept nogil:
    """Replace a read that is ordered before this one, else use a free slot, else replace the oldest."""
    cdef uint32_t i
    for i in range(<uint32_t>read_slots):
        if not cell.read[i].flags or _knows(races, wave, &cell.read[i]):
            cell.read[i] = slot[0]
            return
    cell.read[0] = cell.read[1]
    cell.read[1] = cell.read[2]
    cell.read[2] = slot[0]


cdef uint32_t _bytes_now(const Machine *machine, uint8_t space, uint64_t address, uint32_t count) noexcept nogil:
    """What one to four bytes hold; 0 where they have been unmapped."""
    cdef uint32_t value = 0
    cdef const uint8_t *host
    if space == space_global:
        host = memory_at(machine.memory, address, count)
    elif space == space_lds:
        host = machine.lds + address
    else:                                                   # resources of wave synchronisation count as dwords behind GDS
        host = machine.gds + address if address + count <= machine.gds_bytes else NULL
    if host != NULL:
        memcpy(&value, host, count)
    return value


cdef inline uint32_t _writers_with(const Races *races, const Cell *cell, const Slot *slot) noexcept nogil:
    """What `same_writers` is after a store of the value that the cell already has."""
    cdef uint32_t known = cell.same_writers if slot.wave // races.waves == cell.write.wave // races.waves else 0
    return known | <uint32_t>1 << slot.wave % races.waves


cdef inline bint _has_stored_it(const Races *races, const Cell *cell, const Slot *slot) noexcept nogil:
    """Whether the wave of an access has itself stored what the cell has."""
    return cell.write.flags and slot.wave // races.waves == cell.write.wave // races.waves and cell.same_writers >> slot.wave % races.waves & 1


cdef bint _races_with_read(const Races *races, uint32_t wave, const Cell *cell, const Slot *read, const Slot *store, uint32_t value) noexcept nogil:
    """Whether a store changes what an unordered read may find."""
    if not _conflicts(races, wave, read, store.flags):
        return False
    return not (read.flags & slot_own_value and cell.value == value and not store.flags & slot_atomic)


cdef const Slot *_record_access(Races *races, uint32_t wave, Cell *cell, const Slot *slot, uint32_t value, bint *same) noexcept nogil:
    """Compare an access with those of a cell, and record it; returns the access that it races with, or NULL. `value` is what a write left."""
    cdef uint32_t i
    cdef Slot read
    cdef bint has_stored_it = not slot.flags & slot_write and _has_stored_it(races, cell, slot)
    if _conflicts(races, wave, &cell.write, slot.flags) and not has_stored_it:
        if not slot.flags & slot_write or (slot.flags | cell.write.flags) & slot_atomic or cell.value != value:
            return &cell.write
        same[0] = True
        if races.reports_same_value:
            return &cell.write
    if _reads_atomically(slot.flags) and cell.write.flags & slot_unmarked_store and not _knows(races, wave, &cell.write):
        _learn_from_store(races, wave, &cell.write)
    if not slot.flags & slot_write:
        read = slot[0]
        read.flags |= slot_own_value if has_stored_it else 0
        _remember_read(races, wave, cell, &read)
        return NULL
    for i in range(<uint32_t>read_slots):
        if _races_with_read(races, wave, cell, &cell.read[i], slot, value):
            return &cell.read[i]
        if cell.read[i].flags and _knows(races, wave, &cell.read[i]):
            cell.read[i].flags = 0
    if slot.flags & slot_atomic:
        cell.same_writers = 0
    elif cell.write.flags and cell.value == value:
        cell.same_writers = _writers_with(races, cell, slot)
    else:
        cell.same_writers = <uint32_t>1 << slot.wave % races.waves
    cell.write = slot[0]
    cell.value = value
    return NULL


cdef inline bint _is_unmarked_store(const Races *races, const Access *access) noexcept nogil:
    return access.access_kind == access_kind_store and access.space == space_global and not races.marks_stores


cdef bint races_access(Races *races, uint32_t wave, const Machine *machine, const AccessLog *log, int32_t pc, uint16_t opcode, bint atomic,
                       Flight *flight, Race *race) noexcept nogil:
    cdef uint32_t i, step
    cdef const Access *access
    cdef const Slot *earlier
    cdef Slot slot
    cdef uint64_t address, end
    cdef Cell *cell
    cdef uint32_t value
    cdef bint same
    cdef bint released = False
    cdef bint is_atomic
    cdef const MemoryOperation *operation = memory_operation(opcode)
    cdef bint swaps = operation.access == access_atomic and (operation.atomic == atomic_cmpswap or operation.atomic == atomic_fcmpswap)
    slot.wave = races.group * races.waves + wave
    slot.pc = pc
    slot.opcode = opcode
    slot.late = 0
    slot.clock = races.clocks[wave].own[wave]
    for i in range(log.count):
        access = &log.entries[i]
        if access.space == space_scratch:
            continue
        is_atomic = access.access_kind == access_kind_atomic or atomic
        slot.flags = slot_used | (slot_atomic if is_atomic else 0) | (slot_write if access.access_kind != access_kind_load else 0)
        if _is_unmarked_store(races, access):
            slot.flags |= slot_unmarked_store
        if access.access_kind == access_kind_atomic and swaps:
            slot.flags |= slot_swap
        address = access.address
        end = access.address + access.bytes
        same = False
        while address < end:
            cell = _cell_of(races, access.space, address, end, &step)
            value = _bytes_now(machine, access.space, address, step) if slot.flags & slot_write else 0
            earlier = _record_access(races, wave, cell, &slot, value, &same)
            if earlier != NULL:
                race.earlier = earlier[0]
                race.address = address
                race.bytes = access.bytes
                race.space = access.space
                race.lane = access.lane
                race.write = access.access_kind != access_kind_load
                race.ended = earlier.wave // races.waves != races.group
                return True
            address += step
        races.same_value += same
    for i in range(log.count):
        access = &log.entries[i]
        if access.space != space_scratch and (access.access_kind == access_kind_atomic or atomic) and not _is_unmarked_store(races, access):
            released |= _synchronize(races, wave, access)
    if released:
        _end_epoch(races, wave, flight, False)
    return False


cdef bint _synchronize(Races *races, uint32_t wave, const Access *access) noexcept nogil:
    """An atomic orders what its wave did before it ahead of what follows later atomics to the address; True where it released."""
    cdef unordered_map[uint64_t, Shared] *table = &races.shared_local if access.space == space_lds else &races.shared
    cdef Shared *shared = &table[0][access.address & ~<uint64_t>3 | (<uint64_t>1 << 62 if access.space == space_gds else 0)]
    if not shared.known.empty() and shared.wave == races.group * races.waves + wave and shared.clock == races.clocks[wave].own[wave]:
        return access.access_kind != access_kind_load                       # another lane of the same instruction
    _acquire(races, wave, shared)
    if access.access_kind == access_kind_load:
        return False
    _release(races, wave, shared)
    return True
