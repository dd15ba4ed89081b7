"""Register allocation: linear scan over SSA with live-range splitting.

Needs: liveness (``live_variables_run``) and a demand within the limit; blocks in an order where only back edges go backwards;
no critical edges in either CFG. Guarantees: every operand and definition has a register; ``config.num_sgprs``,
``config.num_vgprs``; pseudo copies know a scratch SGPR where SCC must survive.

Data structures. ``RegisterFile``: owners by register, before and after the instruction at hand. Columns by temp id: its
register, in which views it is present, its web (values that would like to share a register: phis, tied operands, copies),
the p_create_vector that will gather it.

Invariants. (1) A temp has one register at any moment. (2) A value that moves keeps its id: the copy is
``%t:new = p_parallelcopy %t:old`` in front of the instruction that needed the room, so after this pass a temp names a
value, not one definition. (3) The registers of the live-in values of a block are fixed when the block is entered, from one
predecessor already allocated; another predecessor that holds a value elsewhere gets a copy through a phi of that value
with itself. So no renaming is ever needed, also not around loops. (4) Values that live through an instruction stay clear of
killed operands and of definitions; definitions may take the registers of killed operands. (5) Linear VGPRs move in
top-level blocks only (elsewhere the target may hold values of lanes that are switched off).

Phases per instruction: kill operands in the after view; fixed operands; operands in places the encoding cannot name; tied
definitions; fixed definitions; the other definitions; moves; encoding. A definition tries: its web's register, VCC or m0
hints, its place in a vector, the smallest gap, the window that costs the fewest moves, a larger file, a full compaction.

Sources: S. Hack, "Register Allocation for Programs in SSA Form"; M. Braun, C. Wimmer on SSA linear scan; ACO's choice of hints.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from isa_opcodes cimport *
from modifiers cimport (
    modifier_set_branch_scc_live, modifier_set_branch_scratch, modifier_set_scc_live, modifier_set_needs_scratch,
    modifier_set_scratch_register,
)
from pyaco._core.aco.live_set cimport LiveSet, live_add_row, live_next, live_set_clear, live_set_init, live_test, no_temp
from pyaco._core.aco.occupancy cimport (
    addressable_sgprs, addressable_vgprs, min_waves, sgpr_allocation, vgpr_allocation, waves_of_demand,
)
from pyaco._core.aco.queries cimport opcode_is_phi, tied_operand
from pyaco._core.aco.register_constraints cimport (
    Placement, definition_placement, encode_for_registers, operand_fits, operand_placement, prepare_encoding, pseudo_placement,
    select_subdword_definition, select_subdword_operand,
)
from pyaco._core.aco.register_file cimport *
from pyaco._core.ir.program cimport *

from pyaco.errors import InputError, PyacoError


cdef enum:
    hint_vcc = 1
    file_sgpr = 0
    file_vgpr = 1


cdef struct Move:
    uint32_t temp                 # the value in its new place
    uint32_t source               # the value that is copied: `temp` itself, or another one for a transient copy
    uint16_t origin               # where the source was before the instruction


cdef struct Saved:
    uint32_t temp
    uint16_t reg
    uint8_t presence


cdef struct Place:                # a value's register at the end of a block
    uint32_t temp
    uint16_t reg


cdef struct Mismatch:             # predecessor number `edge` of `block` holds `temp` in `reg`, the block expects it in `entry`
    uint32_t block
    uint32_t temp
    uint32_t edge
    uint16_t reg
    uint16_t entry


cdef cppclass Allocator:
    ProgramData *p
    RegisterFile file
    uint32_t first[2]             # first register of each file, as file index
    uint32_t bound[2]             # end of the registers in use, may grow to `limit`
    uint32_t free_bound[2]        # growing up to here costs no occupancy
    uint32_t limit[2]
    uint32_t used[2]              # end of the registers ever used
    uint32_t block
    uint32_t instruction          # 0 while entering a block
    uint32_t stamp                # of the instruction at hand
    bint linear_may_move
    LiveSet live_in               # of the block at hand
    uint32_t linear_live          # linear VGPRs present, in dwords
    vector[uint16_t] reg
    vector[uint8_t] presence
    vector[uint32_t] pin          # 2 * stamp: placed for this instruction; + 1: cannot even be compacted
    vector[uint32_t] move_of      # row in `moves` + 1
    vector[uint32_t] web
    vector[uint16_t] web_reg
    vector[uint8_t] hint
    vector[uint32_t] vector_use
    vector[Move] moves
    vector[uint32_t] victims
    vector[Saved] log
    vector[uint32_t] transients
    vector[uint32_t] out          # instructions, block after block
    vector[uint32_t] out_first
    vector[Place] exits
    vector[uint32_t] exit_first
    vector[uint32_t] exit_count
    vector[Place] entries         # of loop headers
    vector[uint32_t] entry_first
    vector[uint32_t] entry_count
    vector[Mismatch] mismatches
    vector[uint16_t] scratch_place
    vector[uint16_t] branch_reg   # by block: register of the scratch definition of the branches that lead here


# ------------------------------------------------------------------------------------------------------ placing a value
cdef inline uint8_t _class(Allocator *a, uint32_t temp) noexcept nogil:
    return a.p.temps.register_class[temp]


cdef inline int _file_of(uint8_t register_class) noexcept nogil:
    return file_vgpr if class_is_vgpr(register_class) else file_sgpr


cdef inline bint _pinned(Allocator *a, uint32_t temp) noexcept nogil:
    return a.pin[temp] >> 1 == a.stamp


cdef inline void _pin(Allocator *a, uint32_t temp, bint hard) noexcept nogil:
    a.pin[temp] = (a.stamp << 1) | hard


cdef void _note_used(Allocator *a, uint8_t register_class, uint32_t address) noexcept nogil:
    cdef int which = _file_of(register_class)
    cdef uint32_t end = (address + class_bytes(register_class) + 3) >> 2
    if which == file_sgpr and address <= register_vcc_hi and (end << 2) > register_vcc:
        a.p.config.uses_vcc = 1
    elif which == file_vgpr or end <= a.limit[file_sgpr]:
        if end > a.used[which]:
            a.used[which] = end


cdef void _place(Allocator *a, uint32_t temp, uint32_t address, int views) noexcept nogil:
    cdef uint8_t register_class = _class(a, temp)
    a.reg[temp] = <uint16_t>address
    a.presence[temp] = <uint8_t>(a.presence[temp] | views)
    file_put(&a.file, views, address, class_bytes(register_class), temp)
    _note_used(a, register_class, address)


cdef void _displace(Allocator *a, uint32_t temp) noexcept nogil:
    """Take a value out of the file; ``reg`` still tells where it was."""
    file_put(&a.file, a.presence[temp], a.reg[temp], class_bytes(_class(a, temp)), 0)
    a.presence[temp] = 0


cdef void _leave_after(Allocator *a, uint32_t temp) noexcept nogil:
    if a.presence[temp] & in_after:
        file_put(&a.file, in_after, a.reg[temp], class_bytes(_class(a, temp)), 0)
        a.presence[temp] &= ~<uint8_t>in_after


cdef void _record(Allocator *a, uint32_t temp) noexcept nogil:
    """Remember where a value was before it moves for the first time at this instruction."""
    cdef Move move
    if a.instruction == 0 or a.move_of[temp] or not a.presence[temp] & in_before:
        return
    move.temp = temp
    move.source = temp
    move.origin = a.reg[temp]
    a.moves.push_back(move)
    a.move_of[temp] = <uint32_t>a.moves.size()


cdef void _move(Allocator *a, uint32_t temp, uint32_t address) noexcept nogil:
    cdef int views = a.presence[temp]
    _record(a, temp)
    _displace(a, temp)
    _place(a, temp, address, views)


cdef uint32_t _new_temp(Allocator *a, uint8_t register_class) except 0 nogil:
    cdef uint32_t temp = temp_new(a.p, register_class)
    a.reg.push_back(register_none)
    a.presence.push_back(0)
    a.pin.push_back(0)
    a.move_of.push_back(0)
    a.web.push_back(temp)
    a.web_reg.push_back(register_none)
    a.hint.push_back(0)
    a.vector_use.push_back(0)
    a.scratch_place.push_back(register_none)
    return temp


cdef uint32_t _web(Allocator *a, uint32_t temp) noexcept nogil:
    while a.web[temp] != temp:
        a.web[temp] = a.web[a.web[temp]]
        temp = a.web[temp]
    return temp


# ------------------------------------------------------------------------------------------------------- finding a place
cdef bint _fits(Allocator *a, Placement need, int views, uint32_t address) noexcept nogil:
    """Whether a register suits the class, lies within the file and is free in `views`."""
    cdef int which = _file_of(need.register_class)
    cdef uint32_t size = class_bytes(need.register_class)
    cdef uint32_t dword = address >> 2
    if address == register_none:
        return False
    if need.bytewise:
        if address % need.stride:
            return False
    elif address & 3 or (which == file_sgpr and dword % need.align):
        return False
    if need.written > size:
        size = need.written
        address &= ~(need.written - 1)
    if dword >= a.first[which] and ((address + size + 3) >> 2) <= a.bound[which]:
        return not file_taken(&a.file, views, address, size)
    if which == file_vgpr:
        return False
    # m0 is never chosen freely: not everything can write it
    return dword >= 106 and dword + need.dwords <= 108 and not file_taken(&a.file, views, address, size)


cdef int _gap(Allocator *a, Placement need, int views, uint32_t blocked_first, uint32_t blocked_end) noexcept nogil:
    """Byte address of a free place outside a blocked window, or -1: the smallest gap; for sub-dword values a whole
    register before the rest of a shared one (high parts cost larger encodings)."""
    cdef uint64_t[8] free
    cdef uint64_t[8] busy
    cdef uint32_t w
    cdef uint32_t r
    cdef uint32_t offset
    cdef uint32_t align
    cdef uint32_t size = class_bytes(need.register_class)
    cdef int which = _file_of(need.register_class)
    cdef int found
    for w in range(8):
        busy[w] = 0
        if views & in_before:
            busy[w] |= a.file.busy[view_before][w]
        if views & in_after:
            busy[w] |= a.file.busy[view_after][w]
    for r in range(blocked_first, blocked_end):
        busy[r >> 6] |= <uint64_t>1 << (r & 63)
    for w in range(8):
        free[w] = ~busy[w]
    # A larger alignment keeps gaps useful for other vectors.
    align = need.dwords if which == file_vgpr and need.dwords in (2, 4, 8) else need.align
    found = bits_best_gap(free, busy, a.first[which], a.bound[which], need.dwords, align)
    if found < 0 and align != need.align:
        found = bits_best_gap(free, busy, a.first[which], a.bound[which], need.dwords, need.align)
    if found >= 0:
        return found << 2
    if not need.bytewise or size >= 4:
        return -1
    for r in range(a.first[which], a.bound[which]):
        if blocked_first <= r < blocked_end:
            continue
        if a.file.owner[view_before][r] != <uint32_t>owner_partial and a.file.owner[view_after][r] != <uint32_t>owner_partial:
            continue
        offset = 0
        while offset + size <= 4:
            if _fits(a, need, views, r * 4 + offset):
                return <int>(r * 4 + offset)
            offset += need.stride
    return -1


cdef bint _movable(Allocator *a, uint32_t temp) noexcept nogil:
    if temp == <uint32_t>owner_blocked or _pinned(a, temp):
        return False
    return a.linear_may_move or not class_is_linear_vgpr(_class(a, temp))


cdef bint _add_victim(Allocator *a, uint32_t temp) noexcept nogil:
    cdef size_t i
    if temp == 0:
        return True
    for i in range(a.victims.size()):
        if a.victims[i] == temp:
            return True
    if not _movable(a, temp):
        return False
    a.victims.push_back(temp)
    return True


cdef bint _collect_victims(Allocator *a, uint32_t first, uint32_t end, int views) noexcept nogil:
    """The owners of a window, larger ones first; False when one of them cannot move."""
    cdef uint32_t r
    cdef uint32_t id
    cdef uint32_t b
    cdef int view
    cdef size_t i
    cdef size_t j
    a.victims.clear()
    for r in range(first, end):
        for view in range(2):
            if not views & (1 << view):
                continue
            id = a.file.owner[view][r]
            if id == <uint32_t>owner_partial:
                for b in range(4):
                    if not _add_victim(a, a.file.bytes[view][r][b]):
                        return False
            elif not _add_victim(a, id):
                return False
    for i in range(1, a.victims.size()):
        id = a.victims[i]
        j = i
        while j > 0 and class_bytes(_class(a, a.victims[j - 1])) < class_bytes(_class(a, id)):
            a.victims[j] = a.victims[j - 1]
            j -= 1
        a.victims[j] = id
    return True


cdef void _roll_back(Allocator *a, size_t moves) noexcept nogil:
    """Undo an eviction: everything in the log returns to where it was."""
    cdef size_t i
    for i in range(a.log.size()):
        if a.presence[a.log[i].temp]:
            _displace(a, a.log[i].temp)
    for i in range(a.log.size()):
        _place(a, a.log[i].temp, a.log[i].reg, a.log[i].presence)
    while a.moves.size() > moves:
        a.move_of[a.moves.back().temp] = 0
        a.moves.pop_back()


cdef bint _logged(Allocator *a, uint32_t temp) noexcept nogil:
    cdef size_t i
    for i in range(a.log.size()):
        if a.log[i].temp == temp:
            return True
    return False


cdef bint _exchange(Allocator *a, Saved victim, uint32_t first, uint32_t end) noexcept nogil:
    """A killed operand outside the window changes places with a victim: it may sit where a definition will be."""
    cdef uint32_t row
    cdef uint32_t k
    cdef uint32_t temp
    cdef uint32_t address
    cdef Saved saved
    cdef uint8_t register_class = _class(a, victim.temp)
    cdef uint32_t size = class_bytes(register_class)
    cdef uint32_t dword
    if a.instruction == 0 or class_is_subdword(register_class):
        return False
    for k in range(a.p.instructions.operand_count[a.instruction]):
        row = a.p.instructions.operand_first[a.instruction] + k
        if not a.p.operands.flags[row] & operand_temp:
            continue
        temp = a.p.operands.data[row]
        if a.presence[temp] != in_before or _pinned(a, temp) or _class(a, temp) != register_class or _logged(a, temp):
            continue
        address = a.reg[temp]
        dword = address >> 2
        if dword + class_dwords(register_class) > first and dword < end:
            continue
        if file_taken(&a.file, in_after, address, size) or file_taken(&a.file, in_before, victim.reg, size):
            continue
        if dword >= a.bound[_file_of(register_class)]:
            continue
        saved.temp = temp
        saved.reg = <uint16_t>address
        saved.presence = in_before
        a.log.push_back(saved)
        _move(a, temp, victim.reg)
        _place(a, victim.temp, address, victim.presence)
        return True
    return False


cdef bint _evict(Allocator *a, uint32_t first, uint32_t end, int views) noexcept nogil:
    """Move every owner of a window elsewhere; all or nothing."""
    cdef size_t moves = a.moves.size()
    cdef size_t i
    cdef size_t count
    cdef uint32_t temp
    cdef int address
    cdef Saved saved
    if not _collect_victims(a, first, end, views):
        return False
    a.log.clear()
    for i in range(a.victims.size()):
        temp = a.victims[i]
        saved.temp = temp
        saved.reg = a.reg[temp]
        saved.presence = a.presence[temp]
        a.log.push_back(saved)
        _record(a, temp)
        _displace(a, temp)
    count = a.log.size()
    for i in range(count):
        saved = a.log[i]
        address = _gap(a, pseudo_placement(a.p, _class(a, saved.temp)), saved.presence, first, end)
        if address >= 0:
            _place(a, saved.temp, address, saved.presence)
        elif not _exchange(a, saved, first, end):
            _roll_back(a, moves)
            return False
    return True


cdef int32_t _window_cost(Allocator *a, uint32_t first, uint32_t end, int views) noexcept nogil:
    """Dwords to move to clear a window, or -1."""
    cdef int32_t cost = 0
    cdef uint32_t last = 0
    cdef uint32_t r
    cdef uint32_t id
    cdef uint32_t b
    cdef int view
    for r in range(first, end):
        for view in range(2):
            if not views & (1 << view):
                continue
            id = a.file.owner[view][r]
            if id == 0 or id == last:
                continue
            if id == <uint32_t>owner_partial:
                for b in range(4):
                    if a.file.bytes[view][r][b] and not _movable(a, a.file.bytes[view][r][b]):
                        return -1
                cost += 2
                continue
            if not _movable(a, id):
                return -1
            last = id
            cost += class_dwords(_class(a, id)) * (4 if class_is_linear_vgpr(_class(a, id)) else 1)
    return cost


cdef int _make_window(Allocator *a, Placement need, int views) noexcept nogil:
    """Clear the window that costs the fewest moves; the byte address or -1."""
    cdef uint32_t[4] best
    cdef int32_t[4] costs
    cdef int which = _file_of(need.register_class)
    cdef uint32_t count = 0
    cdef uint32_t first = a.first[which]
    cdef uint32_t k
    cdef int32_t cost
    while first + need.dwords <= a.bound[which]:
        cost = _window_cost(a, first, first + need.dwords, views)
        if cost >= 0 and (count < 4 or cost < costs[count - 1]):
            k = count if count < 4 else 3
            while k > 0 and costs[k - 1] > cost:
                costs[k] = costs[k - 1]
                best[k] = best[k - 1]
                k -= 1
            costs[k] = cost
            best[k] = first
            if count < 4:
                count += 1
        first += need.align
    for k in range(count):
        if _evict(a, best[k], best[k] + need.dwords, views):
            return best[k] << 2
    return -1


cdef bint _grow(Allocator *a, int which, uint32_t dwords) noexcept nogil:
    """Enlarge the file: first up to what the wave count allows anyway, then at the cost of waves."""
    cdef uint32_t step = a.p.device.vgpr_allocation_granule if which == file_vgpr else a.p.device.sgpr_allocation_granule
    cdef uint32_t to
    if a.bound[which] >= a.limit[which]:
        return False
    if a.bound[which] < a.free_bound[which]:
        a.bound[which] = a.free_bound[which]
        return True
    if a.linear_live and not a.linear_may_move:
        return False              # linear VGPRs would no longer be at the end of the file
    to = a.bound[which] + (step if step else 1)
    a.bound[which] = to if to < a.limit[which] else a.limit[which]
    return True


cdef int _lowest(Allocator *a, Placement need, int views) noexcept nogil:
    cdef int which = _file_of(need.register_class)
    cdef uint32_t r = a.first[which]
    while r + need.dwords <= a.bound[which]:
        if not file_taken(&a.file, views, r * 4, need.dwords * 4):
            return r << 2
        r += need.align
    return -1


cdef void _log_movable(Allocator *a, int which) noexcept nogil:
    """All values of a file that may move, with the places they have."""
    cdef uint32_t r
    cdef uint32_t b
    cdef uint32_t id
    cdef int view
    cdef Saved saved
    a.log.clear()
    for view in range(2):
        for r in range(a.first[which], a.bound[which]):
            for b in range(4):
                id = a.file.owner[view][r]
                if id == <uint32_t>owner_partial:
                    id = a.file.bytes[view][r][b]
                elif b:
                    continue
                if id == 0 or id == <uint32_t>owner_blocked or a.pin[id] == ((a.stamp << 1) | 1):
                    continue
                if class_is_linear_vgpr(_class(a, id)) and not a.linear_may_move:
                    continue
                if not _logged(a, id):
                    saved.temp = id
                    saved.reg = a.reg[id]
                    saved.presence = a.presence[id]
                    a.log.push_back(saved)


cdef uint32_t _compact_key(Allocator *a, Saved saved, Placement need) noexcept nogil:
    cdef Placement other = need if saved.temp == 0 else pseudo_placement(a.p, _class(a, saved.temp))
    cdef uint32_t linear = 1 if saved.temp and class_is_linear_vgpr(_class(a, saved.temp)) else 0
    return (linear << 24) | (other.align << 16) | ((1 if saved.presence == in_both else 0) << 12) | other.dwords


cdef void _order_victims(Allocator *a, Placement need) noexcept nogil:
    """Rows of the log by alignment, then values in both views, then size."""
    cdef uint32_t row
    cdef uint32_t key
    cdef size_t i
    cdef size_t j
    a.victims.clear()
    for i in range(a.log.size()):
        a.victims.push_back(<uint32_t>i)
    for i in range(1, a.victims.size()):
        row = a.victims[i]
        key = _compact_key(a, a.log[row], need)
        j = i
        while j > 0 and _compact_key(a, a.log[a.victims[j - 1]], need) < key:
            a.victims[j] = a.victims[j - 1]
            j -= 1
        a.victims[j] = row


cdef int _lay_out(Allocator *a, Placement need, int views) noexcept nogil:
    """Places for the victims in their order; that of the new value (temp 0), which stays blocked, or -1."""
    cdef int result = -1
    cdef int address
    cdef uint32_t r
    cdef size_t i
    cdef Saved saved
    cdef Placement other
    for i in range(a.victims.size()):
        saved = a.log[a.victims[i]]
        if saved.temp == 0:
            result = _lowest(a, need, views)
            if result < 0:
                return -1
            for r in range(need.dwords):
                file_put(&a.file, views, result + r * 4, 4, <uint32_t>owner_blocked)
            continue
        other = pseudo_placement(a.p, _class(a, saved.temp))
        if class_is_linear_vgpr(_class(a, saved.temp)):
            address = _highest(a, other, saved.presence)
        else:
            address = _lowest(a, other, saved.presence)
        if address < 0:
            return -1
        _place(a, saved.temp, address, saved.presence)
    return result


cdef int _compact(Allocator *a, Placement need, int views) noexcept nogil:
    """Lay the whole file out anew, large alignments first, so that no hole is left; the address of the new value or -1.

    Values that live through get places free in both views, killed operands and definitions may overlap each other. With
    descending alignment each hole in one view is a multiple of every later alignment, so a demand within the bound fits.
    """
    cdef uint32_t r
    cdef size_t i
    cdef int result
    cdef Saved new_value
    _log_movable(a, _file_of(need.register_class))
    for i in range(a.log.size()):
        _record(a, a.log[i].temp)
        _displace(a, a.log[i].temp)
    new_value.temp = 0
    new_value.presence = <uint8_t>views
    a.log.push_back(new_value)
    _order_victims(a, need)
    result = _lay_out(a, need, views)
    if result >= 0:
        for r in range(need.dwords):
            file_put(&a.file, views, result + r * 4, 4, 0)
    return result


cdef int _highest(Allocator *a, Placement need, int views) noexcept nogil:
    cdef int which = _file_of(need.register_class)
    cdef uint32_t r = a.bound[which] - need.dwords
    while True:
        if not file_taken(&a.file, views, r * 4, need.dwords * 4):
            return r << 2
        if r <= a.first[which]:
            return -1
        r -= 1


cdef uint32_t _somewhere(Allocator *a, Placement need, int views) except 0xffffffffU nogil:
    """A register without any wish: a gap, a cleared window, a larger file, a compacted file."""
    cdef int which = _file_of(need.register_class)
    cdef int address
    while True:
        address = _gap(a, need, views, 0, 0)
        if address >= 0:
            return address
        address = _make_window(a, need, views)
        if address >= 0:
            return address
        if not _grow(a, which, need.dwords):
            break
    address = _compact(a, need, views)
    if address < 0:
        with gil:
            raise PyacoError(f"register allocation: no room for {need.dwords} "
                             f"{'VGPRs' if which == file_vgpr else 'SGPRs'} in block {a.block}")
    return address


# ---------------------------------------------------------------------------------------------------- wishes of a value
cdef int _vector_place(Allocator *a, uint32_t temp, Placement need, int views) noexcept nogil:
    """A place from which the p_create_vector that gathers `temp` needs no copy, or -1."""
    cdef ProgramData *p = a.p
    cdef uint32_t gather = a.vector_use[temp]
    cdef uint32_t row
    cdef uint32_t k
    cdef int32_t ours = -1
    cdef int32_t offset = 0
    cdef int32_t address
    cdef int found
    cdef uint8_t whole = p.definitions.register_class[p.instructions.definition_first[gather]]
    for k in range(p.instructions.operand_count[gather]):
        row = p.instructions.operand_first[gather] + k
        if p.operands.flags[row] & operand_temp and p.operands.data[row] == temp and ours < 0:
            ours = offset
        offset += <int32_t>operand_bytes(operand_at(p, row))
    if ours < 0:
        return -1
    offset = 0
    for k in range(p.instructions.operand_count[gather]):
        row = p.instructions.operand_first[gather] + k
        if p.operands.flags[row] & operand_temp and p.operands.data[row] != temp:
            if a.presence[p.operands.data[row]] and class_is_vgpr(_class(a, p.operands.data[row])) == class_is_vgpr(whole):
                address = <int32_t>a.reg[p.operands.data[row]] + ours - offset
                if address >= 0 and _fits(a, need, views, address):
                    return address
                return -1
        offset += <int32_t>operand_bytes(operand_at(p, row))
    found = _gap(a, pseudo_placement(p, whole), views, 0, 0)
    if found >= 0 and _fits(a, need, views, found + ours):
        return found + ours
    return -1


cdef uint32_t _wished(Allocator *a, uint32_t temp, Placement need, int views) except 0xffffffffU nogil:
    """A register for `temp`, wishes first."""
    cdef uint32_t web = _web(a, temp)
    cdef int address
    if a.web_reg[web] != register_none and _fits(a, need, views, a.web_reg[web]):
        return a.web_reg[web]
    if a.hint[temp] & hint_vcc and _fits(a, need, views, register_vcc):
        return register_vcc
    if a.vector_use[temp]:
        address = _vector_place(a, temp, need, views)
        if address >= 0:
            return address
    return _somewhere(a, need, views)


cdef void _assign(Allocator *a, uint32_t row, uint32_t address, int views, bint hard) noexcept nogil:
    """Give a definition its register."""
    cdef ProgramData *p = a.p
    cdef uint32_t temp = p.definitions.temp[row]
    cdef uint32_t web
    p.definitions.reg[row] = <uint16_t>address
    p.definitions.flags[row] |= definition_fixed
    if not p.definitions.flags[row] & definition_temp:
        return
    _place(a, temp, address, views)
    _pin(a, temp, hard)
    web = _web(a, temp)
    if a.web_reg[web] == register_none:
        a.web_reg[web] = <uint16_t>address


# ------------------------------------------------------------------------------------------------------------- affinities
cdef void _join(Allocator *a, uint32_t x, uint32_t y) noexcept nogil:
    if _class(a, x) != _class(a, y):
        return
    x = _web(a, x)
    y = _web(a, y)
    if x < y:
        a.web[y] = x
    else:
        a.web[x] = y


cdef void _affinities_of(Allocator *a, uint32_t i) noexcept nogil:
    cdef ProgramData *p = a.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint16_t format = p.instructions.format[i]
    cdef uint32_t first = p.instructions.operand_first[i]
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef uint32_t definition = p.instructions.definition_first[i]
    cdef uint32_t k
    cdef int tied
    if opcode_is_phi(opcode):
        for k in range(count):
            if p.operands.flags[first + k] & operand_temp and p.operands.flags[first + k] & operand_kill \
                    and p.definitions.flags[definition] & definition_temp:
                _join(a, p.definitions.temp[definition], p.operands.data[first + k])
        return
    if opcode == op_p_parallelcopy:
        for k in range(count):
            if p.operands.flags[first + k] & operand_temp and p.operands.flags[first + k] & operand_kill \
                    and not p.definitions.flags[definition + k] & definition_fixed \
                    and p.definitions.flags[definition + k] & definition_temp:
                _join(a, p.definitions.temp[definition + k], p.operands.data[first + k])
        return
    if opcode == op_p_create_vector:
        for k in range(count):
            if p.operands.flags[first + k] & operand_temp and p.operands.flags[first + k] & operand_first_kill \
                    and class_is_vgpr(p.operands.register_class[first + k]) \
                    == class_is_vgpr(p.definitions.register_class[definition]):
                a.vector_use[p.operands.data[first + k]] = i
        return
    tied = tied_operand(p, i)
    if tied >= 0 and p.operands.flags[first + tied] & operand_temp and p.operands.flags[first + tied] & operand_kill:
        _join(a, p.definitions.temp[definition], p.operands.data[first + tied])
    if format & format_vopc and not format & format_vop3:
        if p.definitions.flags[definition] & definition_temp:
            a.hint[p.definitions.temp[definition]] |= hint_vcc
    elif format & format_vop2 and not format & format_vop3:
        if count == 3 and p.operands.flags[first + 2] & operand_temp \
                and not class_is_vgpr(p.operands.register_class[first + 2]):
            a.hint[p.operands.data[first + 2]] |= hint_vcc
        if p.instructions.definition_count[i] == 2 and p.definitions.flags[definition + 1] & definition_temp:
            a.hint[p.definitions.temp[definition + 1]] |= hint_vcc


cdef void _affinities(Allocator *a) noexcept nogil:
    cdef ProgramData *p = a.p
    cdef uint32_t b
    cdef uint32_t k
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_count[b]):
            _affinities_of(a, p.order.instruction[p.blocks.order_first[b] + k])


# --------------------------------------------------------------------------------------------------------------- operands
cdef int _copy_operand(Allocator *a, uint32_t row, uint32_t address, bint late) except -1 nogil:
    """Make an operand read a transient copy of its temp, in a register of its own."""
    cdef uint32_t temp = a.p.operands.data[row]
    cdef uint32_t copy = _new_temp(a, _class(a, temp))
    cdef Move move
    cdef uint16_t kept = a.p.operands.flags[row] & <uint16_t>~(operand_kill | operand_first_kill | operand_late_kill)
    move.temp = copy
    move.source = temp
    move.origin = a.moves[a.move_of[temp] - 1].origin if a.move_of[temp] else a.reg[temp]
    a.moves.push_back(move)
    _place(a, copy, address, in_both if late else in_before)
    _pin(a, copy, True)
    a.transients.push_back(copy)
    a.p.operands.data[row] = copy
    a.p.operands.flags[row] = <uint16_t>(kept | operand_kill | operand_first_kill | (operand_late_kill if late else 0))
    return 0


cdef int _kill_operands(Allocator *a, uint32_t i) noexcept nogil:
    cdef ProgramData *p = a.p
    cdef uint32_t row
    cdef uint32_t k
    for k in range(p.instructions.operand_count[i]):
        row = p.instructions.operand_first[i] + k
        if p.operands.flags[row] & operand_temp and p.operands.flags[row] & operand_first_kill \
                and not p.operands.flags[row] & operand_late_kill:
            _leave_after(a, p.operands.data[row])
    return 0


cdef inline bint _is_fixed_temp(const ProgramData *p, uint32_t row) noexcept nogil:
    return (p.operands.flags[row] & operand_temp) != 0 and (p.operands.flags[row] & operand_fixed) != 0


cdef bint _pin_fixed_operands(Allocator *a, uint32_t first, uint32_t count) noexcept nogil:
    """Hold the operands that are where they must be; returns whether all are."""
    cdef ProgramData *p = a.p
    cdef uint32_t row
    cdef bint all_there = True
    for row in range(first, first + count):
        if _is_fixed_temp(p, row):
            if a.reg[p.operands.data[row]] == p.operands.reg[row]:
                _pin(a, p.operands.data[row], True)
            else:
                all_there = False
    return all_there


cdef bint _read_elsewhere(const ProgramData *p, uint32_t first, uint32_t count, uint32_t row) noexcept nogil:
    """Whether another operand of the instruction wants the value of `row` in another place."""
    cdef uint32_t other
    for other in range(first, first + count):
        if (other != row and p.operands.flags[other] & operand_temp and p.operands.data[other] == p.operands.data[row]
                and (not p.operands.flags[other] & operand_fixed or p.operands.reg[other] != p.operands.reg[row])):
            return True
    return False


cdef void _lift_fixed_operands(Allocator *a, uint32_t first, uint32_t count) noexcept nogil:
    """Take values that will move out of the file, so that they do not stand in each other's way."""
    cdef ProgramData *p = a.p
    cdef uint32_t row
    cdef uint32_t temp
    for row in range(first, first + count):
        if not _is_fixed_temp(p, row):
            continue
        temp = p.operands.data[row]
        if a.reg[temp] == p.operands.reg[row] or not a.presence[temp] or _pinned(a, temp):
            continue
        if ((a.presence[temp] == in_before or p.operands.flags[row] & operand_kill)
                and not _read_elsewhere(p, first, count, row)):
            _record(a, temp)
            a.scratch_place[temp] = a.presence[temp]
            _displace(a, temp)


cdef int _fixed_operands(Allocator *a, uint32_t i) except -1 nogil:
    """Bring operands into the registers that the instruction demands of them.

    A value that dies here moves; one that lives on keeps its home and a transient copy is read, so that VCC, SCC and m0
    become free again.
    """
    cdef ProgramData *p = a.p
    cdef uint32_t first = p.instructions.operand_first[i]
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef uint32_t row
    cdef uint32_t temp
    cdef uint32_t size
    cdef uint16_t target
    cdef int views
    cdef bint moves
    if _pin_fixed_operands(a, first, count):
        return 0
    _lift_fixed_operands(a, first, count)
    for row in range(first, first + count):
        if not _is_fixed_temp(p, row):
            continue
        temp = p.operands.data[row]
        target = p.operands.reg[row]
        if a.reg[temp] == target and a.presence[temp]:
            continue
        size = class_bytes(_class(a, temp))
        moves = a.presence[temp] == 0
        views = a.scratch_place[temp] if moves else in_both
        if file_taken(&a.file, views, target, size) and not _evict(a, target >> 2, (target + size + 3) >> 2, views):
            with gil:
                raise InputError(f"instruction {i}: operand {row - first} must be in register {target >> 2}, which another "
                                 "operand occupies")
        if moves:
            _place(a, temp, target, a.scratch_place[temp])
            a.scratch_place[temp] = register_none
            _pin(a, temp, True)
        else:
            _copy_operand(a, row, target, (p.operands.flags[row] & operand_late_kill) != 0)
    return 0


cdef int _awkward_operands(Allocator *a, uint32_t i) except -1 nogil:
    """Move operands out of registers that the encoding cannot name at that place (SCC, high halves ...)."""
    cdef ProgramData *p = a.p
    cdef uint32_t first = p.instructions.operand_first[i]
    cdef uint32_t k
    cdef uint32_t temp
    cdef uint32_t address
    cdef int views
    cdef Placement need
    for k in range(p.instructions.operand_count[i]):
        if not p.operands.flags[first + k] & operand_temp:
            continue
        temp = p.operands.data[first + k]
        if p.operands.flags[first + k] & operand_fixed or operand_fits(p, i, k, a.reg[temp]):
            continue
        need = operand_placement(p, i, k)
        views = a.presence[temp]
        if _pinned(a, temp):
            address = _somewhere(a, need, in_before)
            _copy_operand(a, first + k, address, False)
            continue
        _record(a, temp)
        _displace(a, temp)
        address = _somewhere(a, need, views)
        _place(a, temp, address, views)
    return 0


# ------------------------------------------------------------------------------------------------------------ definitions
cdef int _tied_definition(Allocator *a, uint32_t i) except -1 nogil:
    """The first definition takes the register of the operand it is tied to; a live operand is copied first."""
    cdef ProgramData *p = a.p
    cdef int tied = tied_operand(p, i)
    cdef uint32_t row
    cdef uint32_t definition
    cdef uint32_t temp
    cdef uint32_t address
    cdef Placement need
    if tied < 0 or p.instructions.definition_count[i] == 0:
        return 0
    row = p.instructions.operand_first[i] + tied
    definition = p.instructions.definition_first[i]
    if not p.operands.flags[row] & operand_temp:
        return 0
    temp = p.operands.data[row]
    need = definition_placement(p, i, 0)
    if p.definitions.flags[definition] & definition_fixed and p.definitions.reg[definition] != a.reg[temp]:
        address = p.definitions.reg[definition]
        if file_taken(&a.file, in_both, address, class_bytes(need.register_class)) \
                and not _evict(a, address >> 2, (address >> 2) + need.dwords, in_both):
            with gil:
                raise InputError(f"instruction {i}: the register of its tied definition is occupied by an operand")
        _copy_operand(a, row, address, False)
    elif a.presence[temp] != in_before or file_taken(&a.file, in_after, a.reg[temp], class_bytes(need.register_class)):
        address = _wished(a, p.definitions.temp[definition], need, in_both)
        _copy_operand(a, row, address, False)
    address = a.reg[p.operands.data[row]]
    _pin(a, p.operands.data[row], True)
    _assign(a, definition, address, in_after, True)
    return 1


cdef int _fixed_definitions(Allocator *a, uint32_t i) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef uint32_t row
    cdef uint32_t k
    cdef uint32_t address
    cdef uint32_t size
    for k in range(p.instructions.definition_count[i]):
        row = p.instructions.definition_first[i] + k
        if not p.definitions.flags[row] & definition_fixed:
            continue
        if p.definitions.flags[row] & definition_temp and a.presence[p.definitions.temp[row]] & in_after:
            continue                  # tied
        address = p.definitions.reg[row]
        size = class_bytes(p.definitions.register_class[row])
        if file_taken(&a.file, in_after, address, size) \
                and not _evict(a, address >> 2, (address + size + 3) >> 2, in_after):
            with gil:
                raise InputError(f"instruction {i}: definition {k} must be in register {address >> 2}, which is in use")
        if p.definitions.flags[row] & definition_temp:
            _assign(a, row, address, in_after, True)
        else:
            file_put(&a.file, in_after, address, size, <uint32_t>owner_blocked)
            _note_used(a, p.definitions.register_class[row], address)
    return 0


cdef int _vector_definition(Allocator *a, uint32_t i, uint32_t row) except -2 nogil:
    """p_create_vector: the window around one of its operands that needs the fewest moves; -1 when a gap is as good."""
    cdef ProgramData *p = a.p
    cdef uint32_t first = p.instructions.operand_first[i]
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef uint8_t register_class = p.definitions.register_class[row]
    cdef int which = _file_of(register_class)
    cdef Placement need = pseudo_placement(p, register_class)
    cdef uint32_t k
    cdef uint32_t j
    cdef int32_t offset = 0
    cdef int32_t other
    cdef int32_t start
    cdef int32_t best = -1
    cdef int32_t best_cost = 0x7fffffff
    cdef int32_t cost
    cdef int address
    for k in range(count):
        if p.operands.flags[first + k] & operand_temp and a.presence[p.operands.data[first + k]] == in_before \
                and class_is_vgpr(p.operands.register_class[first + k]) == class_is_vgpr(register_class):
            start = <int32_t>a.reg[p.operands.data[first + k]] - offset
            if start >= 0 and not start & 3 and start != best and (start >> 2) >= <int32_t>a.first[which] \
                    and (start >> 2) + need.dwords <= a.bound[which] and not (start >> 2) % need.align:
                cost = _window_cost(a, start >> 2, (start >> 2) + need.dwords, in_after)
                if cost >= 0:
                    cost *= 2         # an eviction costs more than a copy that is due anyway
                    other = 0
                    for j in range(count):
                        if not (p.operands.flags[first + j] & operand_temp
                                and <int32_t>a.reg[p.operands.data[first + j]] == start + other):
                            cost += 1
                        other += <int32_t>operand_bytes(operand_at(p, first + j))
                    if cost < best_cost:
                        best_cost = cost
                        best = start
        offset += <int32_t>operand_bytes(operand_at(p, first + k))
    if best < 0:
        return -1
    if best_cost > <int32_t>count:
        address = _gap(a, need, in_after, 0, 0)
        if address >= 0:
            return address
    if _evict(a, best >> 2, (best >> 2) + need.dwords, in_after):
        return best
    return -1


cdef int _pseudo_definition(Allocator *a, uint32_t i, uint32_t k, Placement need) except -2 nogil:
    """The place that makes a pseudo copy a no-op, or -1."""
    cdef ProgramData *p = a.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t operand = p.instructions.operand_first[i]
    cdef uint32_t row = p.instructions.definition_first[i]
    cdef uint32_t address
    cdef uint32_t j
    cdef int found
    if opcode == op_p_split_vector:
        if k > 0:
            address = p.definitions.reg[row + k - 1] + class_bytes(p.definitions.register_class[row + k - 1])
            if _fits(a, need, in_after, address):
                return address
        if not p.operands.flags[operand] & operand_temp:
            return -1
        address = a.reg[p.operands.data[operand]]
        if class_is_vgpr(p.operands.register_class[operand]) != class_is_vgpr(need.register_class):
            return -1
        for j in range(k):
            address += class_bytes(p.definitions.register_class[row + j])
        if _fits(a, need, in_after, address):
            return address
        if k == 0:
            found = _gap(a, pseudo_placement(p, p.operands.register_class[operand]), in_after, 0, 0)
            if found >= 0 and _fits(a, need, in_after, found):
                return found
    elif opcode == op_p_parallelcopy or opcode == op_p_extract_vector or opcode == op_p_as_uniform:
        if opcode == op_p_parallelcopy:
            operand += k
        if not p.operands.flags[operand] & operand_temp \
                or class_is_vgpr(p.operands.register_class[operand]) != class_is_vgpr(need.register_class):
            return -1
        address = a.reg[p.operands.data[operand]]
        if opcode == op_p_extract_vector:
            address += class_bytes(need.register_class) * p.operands.data[operand + 1]
        if _fits(a, need, in_after, address):
            return address
    elif opcode == op_p_create_vector:
        return _vector_definition(a, i, row)
    return -1


cdef int _linear_vgpr_definition(Allocator *a, uint32_t i, uint32_t row) except -1 nogil:
    """Linear VGPRs sit at the end of the file, so that they never split what is left for others."""
    cdef Placement need = pseudo_placement(a.p, a.p.definitions.register_class[row])
    cdef uint32_t r
    cdef int address = _highest(a, need, in_after)
    if address < 0 or not _linear_above(a, (address >> 2) + need.dwords):
        # the place right below the other linear VGPRs (counting from the end of the file)
        r = a.bound[file_vgpr]
        while r > a.first[file_vgpr]:
            if a.file.owner[view_after][r - 1] == 0 or a.file.owner[view_after][r - 1] == <uint32_t>owner_partial \
                    or a.file.owner[view_after][r - 1] == <uint32_t>owner_blocked \
                    or not class_is_linear_vgpr(_class(a, a.file.owner[view_after][r - 1])):
                break
            r -= 1
        if r >= a.first[file_vgpr] + need.dwords and _evict(a, r - need.dwords, r, in_after):
            address = (r - need.dwords) << 2
    if address < 0:
        address = <int>_somewhere(a, need, in_after)
    return address


cdef bint _linear_above(Allocator *a, uint32_t start) noexcept nogil:
    """Whether everything from register `start` to the end of the file belongs to linear VGPRs."""
    cdef uint32_t r
    cdef uint32_t id
    for r in range(start, a.bound[file_vgpr]):
        id = a.file.owner[view_after][r]
        if id == 0 or id >= <uint32_t>owner_partial or not class_is_linear_vgpr(_class(a, id)):
            return False
    return True


cdef int _definitions(Allocator *a, uint32_t i) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t row
    cdef uint32_t k
    cdef uint32_t temp
    cdef uint32_t address
    cdef int found
    cdef Placement need
    for k in range(p.instructions.definition_count[i]):
        row = p.instructions.definition_first[i] + k
        if p.definitions.flags[row] & definition_fixed:
            continue
        temp = p.definitions.temp[row]
        need = definition_placement(p, i, k)
        found = -1
        if opcode == op_p_start_linear_vgpr or (p.instructions.format[i] == format_pseudo
                                                and class_is_linear_vgpr(need.register_class)
                                                and opcode != op_p_parallelcopy):
            found = _linear_vgpr_definition(a, i, row)
        elif p.instructions.format[i] == format_pseudo:
            if opcode == op_p_create_vector and a.web_reg[_web(a, temp)] != register_none \
                    and _fits(a, need, in_after, a.web_reg[_web(a, temp)]):
                found = a.web_reg[_web(a, temp)]
            else:
                found = _pseudo_definition(a, i, k, need)
        address = <uint32_t>found if found >= 0 else _wished(a, temp, need, in_after)
        if need.bytewise and need.dwords == 1 and (address & 3 or file_taken(&a.file, in_after, address & ~<uint32_t>3, 4)):
            select_subdword_definition(p, i, k, address)
        _assign(a, row, address, in_after, need.bytewise)
    # a later definition may have compacted an earlier one
    for k in range(p.instructions.definition_count[i]):
        row = p.instructions.definition_first[i] + k
        if p.definitions.flags[row] & definition_temp:
            p.definitions.reg[row] = a.reg[p.definitions.temp[row]]
    return 0


# ------------------------------------------------------------------------------------------------------- one instruction
cdef uint16_t _free_sgpr(Allocator *a) noexcept nogil:
    """An SGPR that nothing uses before, during or after the instruction at hand; m0 as the last resort."""
    cdef uint64_t[2] busy
    cdef uint32_t r
    cdef uint32_t w
    cdef size_t k
    for w in range(2):
        busy[w] = a.file.busy[view_before][w] | a.file.busy[view_after][w]
    for k in range(a.moves.size()):
        if not class_is_vgpr(_class(a, a.moves[k].temp)) and a.moves[k].origin < 512:
            for r in range(a.moves[k].origin >> 2, (a.moves[k].origin >> 2) + class_dwords(_class(a, a.moves[k].temp))):
                busy[r >> 6] |= <uint64_t>1 << (r & 63)
    for r in range(a.limit[file_sgpr]):
        if not (busy[r >> 6] >> (r & 63)) & 1:
            if r + 1 > a.used[file_sgpr]:
                a.used[file_sgpr] = r + 1
            return <uint16_t>(r * 4)
    for w in range(3):
        r = 106 + w if w < 2 else 124
        if not (busy[r >> 6] >> (r & 63)) & 1:
            if r < 108:
                a.p.config.uses_vcc = 1
            return <uint16_t>(r * 4)
    return register_none


cdef void _mark_scratch(Allocator *a, uint32_t i, bint scc_live) noexcept nogil:
    """Tell the lowering of a pseudo copy whether SCC must survive and which SGPR it may use."""
    cdef ProgramData *p = a.p
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef uint32_t k
    cdef bint linear = False
    cdef bint subdword = False
    for k in range(p.instructions.definition_count[i]):
        linear |= class_is_linear(p.definitions.register_class[p.instructions.definition_first[i] + k])
    for k in range(p.instructions.operand_count[i]):
        subdword |= class_is_subdword(p.operands.register_class[p.instructions.operand_first[i] + k])
    for k in range(p.instructions.definition_count[i]):
        subdword |= class_is_subdword(p.definitions.register_class[p.instructions.definition_first[i] + k])
    word = modifier_set_scratch_register(word, register_none)
    word = modifier_set_scc_live(word, scc_live)
    if (linear and scc_live) or (subdword and p.gfx_level < gfx10):
        word = modifier_set_scratch_register(word, _free_sgpr(a))
        word = modifier_set_needs_scratch(word, 1)
    p.instructions.modifiers[i] = word


cdef int _emit_moves(Allocator *a, bint scc_live) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef uint32_t copy
    cdef uint32_t rows = 0
    cdef uint32_t first
    cdef size_t k
    cdef Move move
    cdef Operand o
    cdef Definition d
    for k in range(a.moves.size()):
        rows += a.moves[k].origin != a.reg[a.moves[k].temp]
    if rows:
        copy = instruction_new(p, op_p_parallelcopy, format_pseudo, rows, rows)
        rows = 0
        for k in range(a.moves.size()):
            move = a.moves[k]
            if move.origin == a.reg[move.temp]:
                continue
            o = operand_of_fixed(p, move.source, move.origin)
            if move.source == move.temp:
                o.flags |= operand_kill | operand_first_kill
            d = definition_of_fixed(p, move.temp, a.reg[move.temp])
            first = p.instructions.operand_first[copy]
            operand_put(p, first + rows, o)
            definition_put(p, p.instructions.definition_first[copy] + rows, d)
            rows += 1
        _mark_scratch(a, copy, scc_live)
        a.out.push_back(copy)
    for k in range(a.moves.size()):
        a.move_of[a.moves[k].temp] = 0
    a.moves.clear()
    return 0


cdef void _finish_operands(Allocator *a, uint32_t i) noexcept nogil:
    cdef ProgramData *p = a.p
    cdef uint32_t first = p.instructions.operand_first[i]
    cdef uint32_t k
    for k in range(p.instructions.operand_count[i]):
        if p.operands.flags[first + k] & operand_temp:
            p.operands.reg[first + k] = a.reg[p.operands.data[first + k]]
            p.operands.flags[first + k] |= operand_fixed
            if p.operands.reg[first + k] & 3:
                select_subdword_operand(p, i, k, p.operands.reg[first + k])


cdef void _end_instruction(Allocator *a, uint32_t i) noexcept nogil:
    """The after view becomes the before view of what follows."""
    cdef ProgramData *p = a.p
    cdef uint32_t first = p.instructions.operand_first[i]
    cdef uint32_t k
    cdef uint32_t row
    cdef uint32_t temp
    cdef size_t t
    for k in range(p.instructions.operand_count[i]):
        if p.operands.flags[first + k] & operand_temp and p.operands.flags[first + k] & operand_first_kill:
            temp = p.operands.data[first + k]
            if class_is_linear_vgpr(_class(a, temp)):
                a.linear_live -= class_dwords(_class(a, temp))
            _displace(a, temp)
    for t in range(a.transients.size()):
        if a.presence[a.transients[t]]:
            _displace(a, a.transients[t])
    a.transients.clear()
    for k in range(p.instructions.definition_count[i]):
        row = p.instructions.definition_first[i] + k
        temp = p.definitions.temp[row]
        if not p.definitions.flags[row] & definition_temp:
            file_put(&a.file, in_after, p.definitions.reg[row], class_bytes(p.definitions.register_class[row]), 0)
        elif p.definitions.flags[row] & definition_kill:
            _displace(a, temp)
        else:
            _place(a, temp, a.reg[temp], in_before)
            if class_is_linear_vgpr(_class(a, temp)):
                a.linear_live += class_dwords(_class(a, temp))


cdef bint _has_scratch_use(uint16_t opcode) noexcept nogil:
    return opcode == op_p_parallelcopy or opcode == op_p_create_vector or opcode == op_p_split_vector \
        or opcode == op_p_extract_vector or opcode == op_p_start_linear_vgpr


cdef int _instruction(Allocator *a, uint32_t i) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef bint scc_live
    a.instruction = i
    a.stamp += 1
    prepare_encoding(p, i)
    scc_live = a.file.owner[view_before][register_scc >> 2] != 0
    _kill_operands(a, i)
    _fixed_operands(a, i)
    _awkward_operands(a, i)
    _tied_definition(a, i)
    _fixed_definitions(a, i)
    _definitions(a, i)
    _finish_operands(a, i)
    if a.moves.size():
        _emit_moves(a, scc_live or a.file.owner[view_before][register_scc >> 2] != 0)
    if p.instructions.format[i] == format_pseudo and _has_scratch_use(p.instructions.opcode[i]):
        _mark_scratch(a, i, a.file.owner[view_before][register_scc >> 2] != 0
                      or a.file.owner[view_after][register_scc >> 2] != 0)
    _literal_to_register(a, i)
    a.out.push_back(i)
    _end_instruction(a, i)
    return 0


cdef int _literal_to_register(Allocator *a, uint32_t i) except -1 nogil:
    """VOP3 where VCC was not free; before GFX10 that encoding has no literals, so one is loaded into a register."""
    cdef ProgramData *p = a.p
    cdef bint scalar
    cdef uint32_t row
    cdef uint32_t k
    cdef uint32_t temp
    cdef uint32_t address
    cdef uint32_t move
    cdef Operand o
    cdef Definition d
    if not encode_for_registers(p, i):
        return 0
    row = p.instructions.operand_first[i]
    scalar = True
    for k in range(p.instructions.operand_count[i]):
        if not p.operands.flags[row + k] & operand_constant and not class_is_vgpr(p.operands.register_class[row + k]):
            scalar = False
    temp = _new_temp(a, class_s1 if scalar else class_v1)
    address = _somewhere(a, pseudo_placement(p, _class(a, temp)), in_before)
    _place(a, temp, address, in_before)
    a.transients.push_back(temp)
    o = operand_at(p, row)
    d = definition_of_fixed(p, temp, <uint16_t>address)
    if scalar:
        move = instruction_make(p, op_s_mov_b32, format_sop1, &d, 1, &o, 1)
    else:
        move = instruction_make(p, op_v_mov_b32, format_vop1, &d, 1, &o, 1)
    a.out.push_back(move)
    o = operand_of_fixed(p, temp, <uint16_t>address)
    o.flags |= operand_kill | operand_first_kill
    operand_put(p, p.instructions.operand_first[i], o)
    return 0


# --------------------------------------------------------------------------------------------------------------- blocks
cdef inline uint32_t _pred(const ProgramData *p, uint32_t block, bint logical, uint32_t k) noexcept nogil:
    if logical:
        return p.edge_lists.block[p.blocks.logical_pred_first[block] + k]
    return p.edge_lists.block[p.blocks.linear_pred_first[block] + k]


cdef inline uint32_t _pred_count(const ProgramData *p, uint32_t block, bint logical) noexcept nogil:
    return p.blocks.logical_pred_count[block] if logical else p.blocks.linear_pred_count[block]


cdef int _model_pred(Allocator *a, uint32_t block, bint logical) noexcept nogil:
    """The predecessor whose registers the block takes over: the one in the deepest loop, or -1."""
    cdef ProgramData *p = a.p
    cdef int best = -1
    cdef uint32_t k
    cdef uint32_t pred
    for k in range(_pred_count(p, block, logical)):
        pred = _pred(p, block, logical, k)
        if pred < block and (best < 0 or p.blocks.loop_depth[pred] > p.blocks.loop_depth[_pred(p, block, logical, best)]):
            best = <int>k
    return best


cdef void _load_exit(Allocator *a, uint32_t pred) noexcept nogil:
    """Make ``scratch_place`` tell where `pred` leaves its values."""
    cdef uint32_t k
    for k in range(a.exit_first[pred], a.exit_first[pred] + a.exit_count[pred]):
        a.scratch_place[a.exits[k].temp] = a.exits[k].reg


cdef void _unload_exit(Allocator *a, uint32_t pred) noexcept nogil:
    cdef uint32_t k
    for k in range(a.exit_first[pred], a.exit_first[pred] + a.exit_count[pred]):
        a.scratch_place[a.exits[k].temp] = register_none


cdef int _enter_values(Allocator *a, uint32_t block, bint logical) except -1 nogil:
    """Put the live-in values of one CFG into the file, where the model predecessor left them."""
    cdef ProgramData *p = a.p
    cdef int model = _model_pred(a, block, logical)
    cdef uint32_t temp
    cdef uint32_t address
    cdef bint late
    cdef uint32_t round
    if model >= 0:
        _load_exit(a, _pred(p, block, logical, model))
    for round in range(2):
        temp = live_next(&a.live_in, 0)
        while temp != no_temp:
            if class_is_linear(_class(a, temp)) != logical and not a.presence[temp]:
                address = a.scratch_place[temp]
                late = address == register_none or file_taken(&a.file, in_both, address, class_bytes(_class(a, temp)))
                if late and round == 1:
                    address = _somewhere(a, pseudo_placement(p, _class(a, temp)), in_both)
                if not late or round == 1:
                    _place(a, temp, address, in_both)
                    if class_is_linear_vgpr(_class(a, temp)):
                        a.linear_live += class_dwords(_class(a, temp))
            temp = live_next(&a.live_in, temp + 1)
    if model >= 0:
        _unload_exit(a, _pred(p, block, logical, model))
    return 0


cdef int _enter_phi(Allocator *a, uint32_t block, uint32_t i, uint32_t round) except -1 nogil:
    """Register of a phi. Rounds: fixed ones; one that all known operands have; one that an operand or the web has; any."""
    cdef ProgramData *p = a.p
    cdef uint32_t row = p.instructions.definition_first[i]
    cdef uint32_t first = p.instructions.operand_first[i]
    cdef bint logical = p.instructions.opcode[i] == op_p_phi
    cdef uint32_t k
    cdef uint32_t address
    cdef uint32_t candidate = register_none
    cdef uint32_t web
    cdef bint same = True
    cdef Placement need = pseudo_placement(p, p.definitions.register_class[row])
    if p.definitions.flags[row] & definition_temp and a.presence[p.definitions.temp[row]]:
        return 0
    if p.definitions.flags[row] & definition_fixed:
        if round == 0 and p.definitions.flags[row] & definition_temp:
            _assign(a, row, p.definitions.reg[row], in_both, True)
        return 0
    if round == 0:
        return 0
    web = _web(a, p.definitions.temp[row])
    if round == 1:
        for k in range(p.instructions.operand_count[i]):
            if not p.operands.flags[first + k] & operand_temp:
                same = False
            elif p.operands.flags[first + k] & operand_fixed and _pred(p, block, logical, k) < block:
                if candidate == register_none:
                    candidate = p.operands.reg[first + k]
                same &= candidate == p.operands.reg[first + k]
        if not same or not _fits(a, need, in_both, candidate):
            return 0
    elif round == 2:
        candidate = a.web_reg[web]
        k = p.instructions.operand_count[i]
        while not _fits(a, need, in_both, candidate):
            if k == 0:
                return 0
            k -= 1
            candidate = register_none
            if p.operands.flags[first + k] & operand_temp and p.operands.flags[first + k] & operand_fixed \
                    and _pred(p, block, logical, k) < block \
                    and class_is_vgpr(p.operands.register_class[first + k]) == class_is_vgpr(need.register_class):
                candidate = p.operands.reg[first + k]
    else:
        candidate = _somewhere(a, need, in_both)
    address = candidate
    p.definitions.reg[row] = <uint16_t>address
    _place(a, p.definitions.temp[row], address, in_both)
    a.web_reg[web] = <uint16_t>address
    return 0


cdef int _enter_phis(Allocator *a, uint32_t block, uint32_t count) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef uint32_t round
    cdef uint32_t k
    cdef uint32_t i
    cdef uint32_t row
    for round in range(4):
        for k in range(count):
            i = p.order.instruction[p.blocks.order_first[block] + k]
            row = p.instructions.definition_first[i]
            if p.definitions.flags[row] & definition_kill and not p.definitions.flags[row] & definition_fixed:
                continue
            _enter_phi(a, block, i, round)
    # Registers may have changed while room was made for others; killed ones have none.
    for k in range(count):
        i = p.order.instruction[p.blocks.order_first[block] + k]
        row = p.instructions.definition_first[i]
        if p.definitions.flags[row] & definition_kill and not p.definitions.flags[row] & definition_fixed:
            continue
        if p.definitions.flags[row] & definition_temp:
            p.definitions.reg[row] = a.reg[p.definitions.temp[row]]
        p.definitions.flags[row] |= definition_fixed
        a.out.push_back(i)
    for k in range(count):
        i = p.order.instruction[p.blocks.order_first[block] + k]
        row = p.instructions.definition_first[i]
        if p.definitions.flags[row] & definition_temp and p.definitions.flags[row] & definition_kill \
                and a.presence[p.definitions.temp[row]]:
            _displace(a, p.definitions.temp[row])
    return 0


cdef void _compare_edges(Allocator *a, uint32_t block, bint logical) noexcept nogil:
    """Note the values that a predecessor leaves in another register than the block expects."""
    cdef ProgramData *p = a.p
    cdef uint32_t k
    cdef uint32_t e
    cdef uint32_t pred
    cdef uint32_t temp
    for k in range(_pred_count(p, block, logical)):
        pred = _pred(p, block, logical, k)
        if pred >= block:
            continue
        for e in range(a.exit_first[pred], a.exit_first[pred] + a.exit_count[pred]):
            temp = a.exits[e].temp
            if class_is_linear(_class(a, temp)) != logical and live_test(&a.live_in, temp) and a.exits[e].reg != a.reg[temp]:
                _note_mismatch(a, block, temp, k, a.exits[e].reg, a.reg[temp])


cdef void _note_mismatch(Allocator *a, uint32_t block, uint32_t temp, uint32_t edge, uint16_t reg,
                         uint16_t entry) noexcept nogil:
    cdef Mismatch m
    m.block = block
    m.temp = temp
    m.edge = edge
    m.reg = reg
    m.entry = entry
    a.mismatches.push_back(m)


cdef int _branch_register(Allocator *a, uint32_t block) except -1 nogil:
    """A register for the scratch definition of branches into a merge block: they run after the copies for its phis."""
    cdef ProgramData *p = a.p
    cdef uint32_t k
    cdef uint32_t pred
    cdef uint32_t last
    cdef int address
    if p.blocks.linear_pred_count[block] == 0:
        return 0
    for k in range(p.blocks.linear_pred_count[block]):
        pred = _pred(p, block, False, k)
        if p.blocks.order_count[pred] == 0 or p.blocks.linear_succ_count[pred] != 1:
            continue
        last = p.order.instruction[p.blocks.order_first[pred] + p.blocks.order_count[pred] - 1]
        if p.instructions.opcode[last] == op_p_branch and p.instructions.definition_count[last] \
                and not p.definitions.flags[p.instructions.definition_first[last]] & definition_fixed:
            address = _gap(a, pseudo_placement(p, p.definitions.register_class[p.instructions.definition_first[last]]),
                           in_both, 0, 0)
            if address < 0:
                address = register_vcc
            a.branch_reg[block] = <uint16_t>address
            _note_used(a, p.definitions.register_class[p.instructions.definition_first[last]], address)
            return 0
    return 0


cdef int _enter_block(Allocator *a, uint32_t block, uint32_t phis) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef uint32_t w
    cdef Place place
    cdef int view
    cdef uint32_t r
    cdef uint32_t b
    # Forget the previous block.
    for r in range(file_size):
        if a.file.owner[view_before][r] == <uint32_t>owner_partial:
            for b in range(4):
                a.presence[a.file.bytes[view_before][r][b]] = 0
        elif a.file.owner[view_before][r] and a.file.owner[view_before][r] != <uint32_t>owner_blocked:
            a.presence[a.file.owner[view_before][r]] = 0
    for view in range(2):
        for w in range(8):
            a.file.busy[view][w] = 0
        for r in range(file_size):
            a.file.owner[view][r] = 0
    live_set_clear(&a.live_in)
    live_add_row(&a.live_in, p, block)
    a.linear_live = 0
    a.instruction = 0
    a.stamp += 1
    a.block = block
    a.linear_may_move = (p.blocks.kind[block] & block_top_level) != 0
    _enter_values(a, block, False)
    _enter_values(a, block, True)
    _enter_phis(a, block, phis)
    _branch_register(a, block)
    _compare_edges(a, block, False)
    _compare_edges(a, block, True)
    if p.blocks.kind[block] & block_loop_header or _has_back_edge(p, block):
        a.entry_first[block] = <uint32_t>a.entries.size()
        place.temp = live_next(&a.live_in, 0)
        while place.temp != no_temp:
            place.reg = a.reg[place.temp]
            a.entries.push_back(place)
            place.temp = live_next(&a.live_in, place.temp + 1)
        a.entry_count[block] = <uint32_t>a.entries.size() - a.entry_first[block]
    return 0


cdef bint _has_back_edge(const ProgramData *p, uint32_t block) noexcept nogil:
    cdef uint32_t k
    for k in range(p.blocks.linear_pred_count[block]):
        if _pred(p, block, False, k) >= block:
            return True
    return False


cdef int _fill_phi_operands(Allocator *a, uint32_t block, bint logical, bint scalars_only) except -1 nogil:
    """Tell the phis of the successors where this block leaves their operands."""
    cdef ProgramData *p = a.p
    cdef uint32_t s
    cdef uint32_t k
    cdef uint32_t n
    cdef uint32_t i
    cdef uint32_t edge
    cdef uint32_t row
    cdef uint32_t temp
    cdef uint32_t successors = p.blocks.logical_succ_count[block] if logical else p.blocks.linear_succ_count[block]
    for s in range(successors):
        n = p.edge_lists.block[(p.blocks.logical_succ_first[block] if logical else p.blocks.linear_succ_first[block]) + s]
        edge = 0
        while edge < _pred_count(p, n, logical) and _pred(p, n, logical, edge) != block:
            edge += 1
        for k in range(p.blocks.order_count[n]):
            i = p.order.instruction[p.blocks.order_first[n] + k]
            if not opcode_is_phi(p.instructions.opcode[i]):
                break
            if (p.instructions.opcode[i] == op_p_phi) != logical or edge >= p.instructions.operand_count[i]:
                continue
            row = p.instructions.operand_first[i] + edge
            if not p.operands.flags[row] & operand_temp:
                continue
            temp = p.operands.data[row]
            if scalars_only and class_is_vgpr(_class(a, temp)):
                continue
            if logical and not scalars_only and not class_is_vgpr(_class(a, temp)):
                continue              # done at p_logical_end, where the copy will be
            if not a.presence[temp]:
                row = p.instructions.definition_first[i]
                if p.definitions.flags[row] & definition_kill and not p.definitions.flags[row] & definition_fixed:
                    continue
                with gil:
                    raise PyacoError(f"register allocation: phi operand %{temp} of block {n} has no register in block {block}")
            p.operands.reg[row] = a.reg[temp]
            p.operands.flags[row] |= operand_fixed
    return 0


cdef void _back_edges(Allocator *a, uint32_t block, bint logical) noexcept nogil:
    """Compare with the entry of loop headers that are already allocated."""
    cdef ProgramData *p = a.p
    cdef uint32_t s
    cdef uint32_t n
    cdef uint32_t k
    cdef uint32_t edge
    cdef Place place
    cdef uint32_t successors = p.blocks.logical_succ_count[block] if logical else p.blocks.linear_succ_count[block]
    for s in range(successors):
        n = p.edge_lists.block[(p.blocks.logical_succ_first[block] if logical else p.blocks.linear_succ_first[block]) + s]
        if n > block:
            continue
        edge = 0
        while _pred(p, n, logical, edge) != block:
            edge += 1
        for k in range(a.entry_first[n], a.entry_first[n] + a.entry_count[n]):
            place = a.entries[k]
            if class_is_linear(_class(a, place.temp)) != logical and a.reg[place.temp] != place.reg:
                _note_mismatch(a, n, place.temp, edge, a.reg[place.temp], place.reg)


cdef int _leave_block(Allocator *a, uint32_t block) except -1 nogil:
    cdef uint32_t r
    cdef uint32_t b
    cdef uint32_t id
    cdef uint32_t last = 0
    cdef Place place
    _fill_phi_operands(a, block, True, False)
    _fill_phi_operands(a, block, False, False)
    _back_edges(a, block, True)
    _back_edges(a, block, False)
    a.exit_first[block] = <uint32_t>a.exits.size()
    r = bits_next(a.file.busy[view_before], 0, file_size)
    while r < file_size:
        for b in range(4):
            id = a.file.owner[view_before][r]
            if id == <uint32_t>owner_partial:
                id = a.file.bytes[view_before][r][b]
            if id == 0 or id == last:
                continue
            last = id
            place.temp = id
            place.reg = a.reg[id]
            a.exits.push_back(place)
        r = bits_next(a.file.busy[view_before], r + 1, file_size)
    a.exit_count[block] = <uint32_t>a.exits.size() - a.exit_first[block]
    return 0


cdef int _compact_linear_vgprs(Allocator *a, uint32_t block) except -1 nogil:
    """Before control flow: bring linear VGPRs together at the end of the file, since they cannot move inside."""
    cdef uint32_t r = a.bound[file_vgpr]
    cdef uint32_t id
    cdef uint32_t next_free = a.bound[file_vgpr]
    cdef uint32_t dwords
    while r > a.first[file_vgpr]:
        r -= 1
        id = a.file.owner[view_after][r]
        if id == 0 or id >= <uint32_t>owner_partial or not class_is_linear_vgpr(_class(a, id)):
            continue
        dwords = class_dwords(_class(a, id))
        r = a.reg[id] >> 2
        next_free -= dwords
        if r == next_free:
            continue
        _record(a, id)
        _displace(a, id)
        if _evict(a, next_free, next_free + dwords, in_both):
            _place(a, id, next_free << 2, in_both)
        else:
            _place(a, id, r << 2, in_both)
            next_free = r
    return 0


cdef int _logical_end(Allocator *a, uint32_t block, uint32_t i) except -1 nogil:
    """Copies for logical phis go in front of p_logical_end: SGPRs that they read are captured, and die, here."""
    _fill_phi_operands(a, block, True, True)
    a.out.push_back(i)
    return 0


cdef int _allocate_block(Allocator *a, uint32_t block) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef uint32_t first = p.blocks.order_first[block]
    cdef uint32_t count = p.blocks.order_count[block]
    cdef uint32_t phis = 0
    cdef uint32_t k
    cdef uint32_t i
    cdef uint16_t opcode
    a.out_first.push_back(<uint32_t>a.out.size())
    while phis < count and opcode_is_phi(p.instructions.opcode[p.order.instruction[first + phis]]):
        phis += 1
    _enter_block(a, block, phis)
    for k in range(phis, count):
        i = p.order.instruction[first + k]
        opcode = p.instructions.opcode[i]
        if opcode == op_p_logical_end:
            _logical_end(a, block, i)
            continue
        if p.instructions.format[i] == format_pseudo_branch:
            if a.linear_may_move and a.linear_live:
                _compact_before_branch(a, block, i)
            if opcode == op_p_branch and p.instructions.definition_count[i] and _scratch_from_target(p, block):
                a.out.push_back(i)    # its definition gets a register when the target has been entered
                continue
        _instruction(a, i)
    _leave_block(a, block)
    return 0


cdef int _compact_before_branch(Allocator *a, uint32_t block, uint32_t i) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef uint32_t k
    cdef bint enters = False
    cdef bint scc_live = a.file.owner[view_before][register_scc >> 2] != 0
    for k in range(p.blocks.linear_succ_count[block]):
        enters |= not p.blocks.kind[p.edge_lists.block[p.blocks.linear_succ_first[block] + k]] & block_top_level
    if not enters:
        return 0
    a.instruction = i
    a.stamp += 1
    _compact_linear_vgprs(a, block)
    if a.moves.size():
        _emit_moves(a, scc_live)
    return 0


cdef bint _scratch_from_target(const ProgramData *p, uint32_t block) noexcept nogil:
    return p.blocks.linear_succ_count[block] == 1 \
        and not p.definitions.flags[_branch_definition(p, block)] & definition_fixed


cdef inline uint32_t _branch_definition(const ProgramData *p, uint32_t block) noexcept nogil:
    return p.instructions.definition_first[
        p.order.instruction[p.blocks.order_first[block] + p.blocks.order_count[block] - 1]]


# ----------------------------------------------------------------------------------------------------------------- edges
cdef int _make_edge_phi(Allocator *a, uint32_t block, uint32_t temp, size_t first, size_t end) except -1 nogil:
    """A phi of a value with itself: the copies that ``first..end`` of the mismatches ask for."""
    cdef ProgramData *p = a.p
    cdef bint logical = not class_is_linear(_class(a, temp))
    cdef uint32_t count = _pred_count(p, block, logical)
    cdef uint32_t i = instruction_new(p, op_p_phi if logical else op_p_linear_phi, format_pseudo, count, 1)
    cdef uint16_t reg = a.mismatches[first].entry
    cdef uint32_t k
    cdef size_t m
    cdef Operand o
    definition_put(p, p.instructions.definition_first[i], definition_of_fixed(p, temp, reg))
    for k in range(count):
        o = operand_of_fixed(p, temp, reg)
        o.flags |= operand_kill
        operand_put(p, p.instructions.operand_first[i] + k, o)
    for m in range(first, end):
        p.operands.reg[p.instructions.operand_first[i] + a.mismatches[m].edge] = a.mismatches[m].reg
    return <int>i


cdef void _sort_mismatches(Allocator *a) noexcept nogil:
    """By block, then by temp; merge sort through a scratch copy."""
    cdef vector[Mismatch] other
    cdef size_t n = a.mismatches.size()
    cdef size_t width = 1
    cdef size_t start
    cdef size_t x
    cdef size_t y
    cdef size_t middle
    cdef size_t end
    cdef size_t k
    other.resize(n)
    while width < n:
        start = 0
        while start < n:
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            x = start
            y = middle
            for k in range(start, end):
                if y >= end or (x < middle and not _mismatch_less(a.mismatches[y], a.mismatches[x])):
                    other[k] = a.mismatches[x]
                    x += 1
                else:
                    other[k] = a.mismatches[y]
                    y += 1
            start += 2 * width
        a.mismatches.swap(other)
        width *= 2


cdef bint _mismatch_less(Mismatch x, Mismatch y) noexcept nogil:
    return x.block < y.block or (x.block == y.block and x.temp < y.temp)


cdef int _write_out(Allocator *a) except -1 nogil:
    """The new order: phis for values that moved between blocks, then what was allocated."""
    cdef ProgramData *p = a.p
    cdef Rewrite rewrite
    cdef uint32_t b
    cdef size_t k
    cdef size_t m = 0
    cdef size_t start
    cdef uint32_t temp
    _sort_mismatches(a)
    rewrite_begin(&rewrite, p)
    a.out_first.push_back(<uint32_t>a.out.size())
    for b in range(p.blocks.table.count):
        rewrite_block(&rewrite, b)
        while m < a.mismatches.size() and a.mismatches[m].block == b:
            start = m
            temp = a.mismatches[m].temp
            while m < a.mismatches.size() and a.mismatches[m].block == b and a.mismatches[m].temp == temp:
                m += 1
            rewrite_emit(&rewrite, <uint32_t>_make_edge_phi(a, b, temp, start, m))
        for k in range(a.out_first[b], a.out_first[b + 1]):
            rewrite_emit(&rewrite, a.out[k])
    rewrite_end(&rewrite)
    return 0


cdef void _finish_branches(Allocator *a) noexcept nogil:
    """Scratch definitions of unconditional branches, and what copies at block ends must know about SCC."""
    cdef ProgramData *p = a.p
    cdef uint32_t b
    cdef uint32_t i
    cdef uint32_t k
    cdef uint32_t row
    cdef uint32_t s
    cdef uint16_t scratch = register_none
    cdef bint scc
    if a.used[file_sgpr] < a.limit[file_sgpr]:
        scratch = <uint16_t>(a.used[file_sgpr] * 4)
    for b in range(p.blocks.table.count):
        if p.blocks.order_count[b] == 0:
            continue
        i = p.order.instruction[p.blocks.order_first[b] + p.blocks.order_count[b] - 1]
        if p.instructions.format[i] != format_pseudo_branch:
            continue
        if p.instructions.opcode[i] == op_p_branch and p.instructions.definition_count[i]:
            row = p.instructions.definition_first[i]
            if not p.definitions.flags[row] & definition_fixed:
                s = p.edge_lists.block[p.blocks.linear_succ_first[b]]
                p.definitions.reg[row] = a.branch_reg[s]
                p.definitions.flags[row] |= definition_fixed
        scc = False
        for k in range(a.exit_first[b], a.exit_first[b] + a.exit_count[b]):
            scc |= a.exits[k].reg == register_scc
        p.instructions.modifiers[i] = modifier_set_branch_scratch(p.instructions.modifiers[i],
                                                                  scratch if scratch != register_none else register_m0)
        p.instructions.modifiers[i] = modifier_set_branch_scc_live(p.instructions.modifiers[i], scc)
        if scc and scratch != register_none and scratch // 4 + 1 > a.used[file_sgpr]:
            a.used[file_sgpr] = scratch // 4 + 1


# ------------------------------------------------------------------------------------------------------------------ pass
cdef int _prepare(Allocator *a, ProgramData *p) except -1 nogil:
    cdef uint32_t temps = p.temps.table.count
    cdef uint32_t blocks = p.blocks.table.count
    cdef uint32_t lowest = min_waves(p)
    cdef uint32_t granule = p.device.vgpr_allocation_granule
    cdef uint32_t t
    if p.num_waves == 0:
        with gil:
            raise PyacoError(f"register allocation: {p.max_demand_sgpr} SGPRs and {p.max_demand_vgpr} VGPRs are live at once, "
                             "more than a wave can have; the program must be spilled first")
    a.p = p
    file_clear_all(&a.file)
    a.first[file_sgpr] = 0
    a.first[file_vgpr] = 256
    a.limit[file_sgpr] = addressable_sgprs(p, lowest)
    a.limit[file_vgpr] = 256 + min(addressable_vgprs(p, lowest), 256)
    a.free_bound[file_sgpr] = min(addressable_sgprs(p, p.num_waves), a.limit[file_sgpr])
    a.free_bound[file_vgpr] = min(256 + addressable_vgprs(p, p.num_waves), a.limit[file_vgpr])
    a.bound[file_sgpr] = min(a.free_bound[file_sgpr], 106)     # VCC comes last
    t = <uint32_t>p.max_demand_vgpr
    if granule > 1:
        t = (t + granule - 1) // granule * granule
    a.bound[file_vgpr] = min(256 + t, a.free_bound[file_vgpr])
    a.used[file_sgpr] = 0
    a.used[file_vgpr] = 256
    a.stamp = 0
    a.instruction = 0
    a.linear_live = 0
    a.reg.assign(temps, register_none)
    a.presence.assign(temps, 0)
    live_set_init(&a.live_in, temps)
    a.pin.assign(temps, 0)
    a.move_of.assign(temps, 0)
    a.web.resize(temps)
    for t in range(temps):
        a.web[t] = t
    a.web_reg.assign(temps, register_none)
    a.hint.assign(temps, 0)
    a.vector_use.assign(temps, 0)
    a.scratch_place.assign(temps, register_none)
    a.exit_first.assign(blocks, 0)
    a.exit_count.assign(blocks, 0)
    a.entry_first.assign(blocks, 0)
    a.entry_count.assign(blocks, 0)
    a.branch_reg.assign(blocks, register_none)
    a.out.reserve(p.order.table.count + 64)
    return 0


cdef int _allocate(Allocator *a, ProgramData *p) except -1 nogil:
    cdef uint32_t b
    _prepare(a, p)
    _affinities(a)
    for b in range(p.blocks.table.count):
        _allocate_block(a, b)
    _write_out(a)
    _finish_branches(a)
    p.config.num_sgprs = sgpr_allocation(p, a.used[file_sgpr])
    p.config.num_vgprs = vgpr_allocation(p, a.used[file_vgpr] - 256)
    p.num_waves = <uint16_t>waves_of_demand(p, a.used[file_sgpr], a.used[file_vgpr] - 256)
    p.progress = progress_after_ra
    return 0


cdef int register_allocation_run(ProgramData *p) except -1 nogil:
    cdef Allocator *a = new Allocator()
    try:
        _allocate(a, p)
    finally:
        del a
    return 0


def run(Program program, options=None):
    """Assign registers; liveness must be current. Returns True."""
    with nogil:
        register_allocation_run(&program.data)
    return True
