"""Finding a register for a value, making room for it where there is none.

A place is looked for in this order: what is hinted (the register of the value's web, VCC, its position in a vector, the register of the web that
it becomes), the smallest gap, the window that costs the fewest moves to clear, a larger file, the whole file compacted. ``views`` says in which
views of the register file the place must be free, see ``register_file.pxd``. What moves out of the way keeps its id; ``moves`` collects the
copies to be made in front of the instruction at hand.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort

from pyaco._core.aco.register_constraints cimport Placement, pseudo_placement
from pyaco._core.aco.register_file cimport *
from pyaco._core.common.bits cimport low_mask
from pyaco._core.ir.program cimport *

from pyaco.errors import PyacoError


# ------------------------------------------------------------------------------------------------------- finding a place
cdef bint fits(Allocator *a, Placement need, int views, uint32_t address) noexcept nogil:
    """Whether a register suits the class, lies within the file and is free in `views`."""
    cdef int which = file_of(need.register_class)
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
    return dword >= vcc_first and dword + need.dwords <= vcc_first + 2 and not file_taken(&a.file, views, address, size)


cdef int _gap_of(const uint64_t *free, uint32_t low, uint32_t high, Placement need) noexcept nogil:
    """The smallest gap of a set of registers that has room, or -1."""
    cdef int found = -1
    # A larger alignment keeps gaps useful for other vectors.
    cdef uint32_t align = need.dwords if low >= 256 and need.dwords in (2, 4, 8) else need.align
    if need.dwords == 1 and align == 1:
        found = bits_lonely(free, low, high)
    if found < 0:
        found = bits_best_gap(free, low, high, need.dwords, align)
    if found < 0 and align != need.align:
        found = bits_best_gap(free, low, high, need.dwords, need.align)
    return found


cdef int find_gap(Allocator *a, Placement need, int views, uint32_t blocked_first, uint32_t blocked_end) noexcept nogil:
    """Byte address of a free register outside a blocked window, or -1: the smallest gap; for sub-dword values a whole
    register before the rest of a shared one (high parts cost larger encodings)."""
    cdef uint64_t[8] free
    cdef uint32_t w
    cdef uint32_t r
    cdef uint32_t offset
    cdef uint64_t[8] written
    cdef uint32_t size = class_bytes(need.register_class)
    cdef int which = file_of(need.register_class)
    cdef uint32_t low = a.first[which]
    cdef uint32_t high = a.bound[which]
    cdef int found = -1
    for w in range(low >> 6, (high + 63) >> 6):
        free[w] = low_mask(high - 64 * w)     # `low` begins a word
        if views & in_before:
            free[w] &= ~a.file.busy[view_before][w]
        if views & in_after:
            free[w] &= ~a.file.busy[view_after][w]
    for r in range(blocked_first, blocked_end):
        free[r >> 6] &= ~(<uint64_t>1 << (r & 63))
    if a.writing != writing_loaded and which == file_vgpr:
        # What a load wrote last may still be on its way: to write there would mean to wait for it.
        for w in range(low >> 6, (high + 63) >> 6):
            written[w] = free[w] & ~a.loaded[w - 4]
        found = _gap_of(written, low, high, need)
    if found < 0:
        found = _gap_of(free, low, high, need)
    if found >= 0:
        return found << 2
    if not need.bytewise or size >= 4:
        return -1
    for r in range(low, high):
        if blocked_first <= r < blocked_end:
            continue
        if a.file.owner[view_before][r] != <uint32_t>owner_partial and a.file.owner[view_after][r] != <uint32_t>owner_partial:
            continue
        offset = 0
        while offset + size <= 4:
            if fits(a, need, views, r * 4 + offset):
                return <int>(r * 4 + offset)
            offset += need.stride
    return -1


cdef bint _movable(Allocator *a, TempId temp) noexcept nogil:
    if temp == <uint32_t>owner_blocked or is_pinned(a, temp):
        return False
    return a.linear_may_move or not class_is_linear_vgpr(class_of_value(a, temp))


cdef bint _add_victim(Allocator *a, TempId temp) noexcept nogil:
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


cdef void _rank(Allocator *a, uint32_t item, uint32_t rank) noexcept nogil:
    cdef Ranked r
    r.rank = rank
    r.position = <uint32_t>a.ranked.size()
    r.item = item
    a.ranked.push_back(r)


cdef bint _ranks_before(Ranked x, Ranked y) noexcept nogil:
    return x.rank > y.rank or (x.rank == y.rank and x.position < y.position)


cdef void _take_ranked(Allocator *a) noexcept nogil:
    """The victims are what was ranked, the highest rank first."""
    cdef size_t i
    sort(a.ranked.begin(), a.ranked.end(), &_ranks_before)
    a.victims.clear()
    for i in range(a.ranked.size()):
        a.victims.push_back(a.ranked[i].item)


cdef bint _collect_victims(Allocator *a, uint32_t first, uint32_t end, int views) noexcept nogil:
    """The owners of a window, larger ones first; False when one of them cannot move."""
    cdef uint32_t r
    cdef TempId id
    cdef uint32_t b
    cdef int view
    cdef size_t i
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
    if a.victims.size() > 1:
        a.ranked.clear()
        for i in range(a.victims.size()):
            _rank(a, a.victims[i], class_bytes(class_of_value(a, a.victims[i])))
        _take_ranked(a)
    return True


cdef void _roll_back(Allocator *a, size_t moves) noexcept nogil:
    """Undo an eviction: everything in the log returns to where it was."""
    cdef size_t i
    for i in range(a.log.size()):
        if a.values[a.log[i].temp].presence:
            displace(a, a.log[i].temp)
    for i in range(a.log.size()):
        put_value(a, a.log[i].temp, a.log[i].reg, a.log[i].presence)
    while a.moves.size() > moves:
        a.values[a.moves.back().temp].move_of = 0
        a.moves.pop_back()


cdef bint _logged(Allocator *a, uint32_t temp) noexcept nogil:
    cdef size_t i
    for i in range(a.log.size()):
        if a.log[i].temp == temp:
            return True
    return False


cdef void _move(Allocator *a, TempId temp, uint32_t address) noexcept nogil:
    cdef int views = a.values[temp].presence
    record_move(a, temp)
    displace(a, temp)
    put_value(a, temp, address, views)


cdef bint _exchange(Allocator *a, Saved victim, uint32_t first, uint32_t end) noexcept nogil:
    """Swap a victim with a killed operand outside the window, which may overlap a definition."""
    cdef OperandRow row
    cdef uint32_t k
    cdef TempId temp
    cdef uint32_t address
    cdef Saved saved
    cdef uint8_t register_class = class_of_value(a, victim.temp)
    cdef uint32_t size = class_bytes(register_class)
    cdef uint32_t dword
    if a.instruction == 0 or class_is_subdword(register_class):
        return False
    for k in range(a.p.instructions.operand_count[a.instruction]):
        row = a.p.instructions.operand_first[a.instruction] + k
        if not a.p.operands.flags[row] & operand_temp:
            continue
        temp = a.p.operands.data[row]
        if a.values[temp].presence != in_before or is_pinned(a, temp) or class_of_value(a, temp) != register_class or _logged(a, temp):
            continue
        address = a.values[temp].reg
        dword = address >> 2
        if dword + class_dwords(register_class) > first and dword < end:
            continue
        if file_taken(&a.file, in_after, address, size) or file_taken(&a.file, in_before, victim.reg, size):
            continue
        if dword >= a.bound[file_of(register_class)]:
            continue
        saved.temp = temp
        saved.reg = <uint16_t>address
        saved.presence = in_before
        a.log.push_back(saved)
        _move(a, temp, victim.reg)
        put_value(a, victim.temp, address, victim.presence)
        return True
    return False


cdef bint evict(Allocator *a, uint32_t first, uint32_t end, int views) noexcept nogil:
    """Move every owner of a window elsewhere; all or nothing."""
    cdef size_t moves = a.moves.size()
    cdef size_t i
    cdef size_t count
    cdef TempId temp
    cdef int address
    cdef Saved saved
    if not _collect_victims(a, first, end, views):
        return False
    a.log.clear()
    for i in range(a.victims.size()):
        temp = a.victims[i]
        saved.temp = temp
        saved.reg = a.values[temp].reg
        saved.presence = a.values[temp].presence
        a.log.push_back(saved)
        record_move(a, temp)
        displace(a, temp)
    count = a.log.size()
    for i in range(count):
        saved = a.log[i]
        address = find_gap(a, pseudo_placement(a.p, class_of_value(a, saved.temp)), saved.presence, first, end)
        if address >= 0:
            put_value(a, saved.temp, address, saved.presence)
        elif not _exchange(a, saved, first, end):
            _roll_back(a, moves)
            return False
    return True


cdef int32_t window_cost(Allocator *a, uint32_t first, uint32_t end, int views) noexcept nogil:
    """Dwords to move to clear a window, or -1."""
    cdef int32_t cost = 0
    cdef TempId last = 0
    cdef uint32_t r
    cdef TempId id
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
            cost += class_dwords(class_of_value(a, id)) * (4 if class_is_linear_vgpr(class_of_value(a, id)) else 1)
    return cost


cdef int _make_window(Allocator *a, Placement need, int views) noexcept nogil:
    """Clear the window that costs the fewest moves; the byte address or -1."""
    cdef uint32_t[4] best
    cdef int32_t[4] costs
    cdef int which = file_of(need.register_class)
    cdef uint32_t count = 0
    cdef uint32_t first = a.first[which]
    cdef uint32_t k
    cdef int32_t cost
    while first + need.dwords <= a.bound[which]:
        cost = window_cost(a, first, first + need.dwords, views)
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
        if evict(a, best[k], best[k] + need.dwords, views):
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
    cdef int which = file_of(need.register_class)
    cdef uint32_t r = a.first[which]
    while r + need.dwords <= a.bound[which]:
        if not file_taken(&a.file, views, r * 4, need.dwords * 4):
            return r << 2
        r += need.align
    return -1


cdef void _log_movable(Allocator *a, int which) noexcept nogil:
    """All values of a file that may move, with their registers."""
    cdef uint32_t r
    cdef uint32_t b
    cdef TempId id
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
                if id == 0 or id == <uint32_t>owner_blocked or a.values[id].pin == ((a.stamp << 1) | 1):
                    continue
                if class_is_linear_vgpr(class_of_value(a, id)) and not a.linear_may_move:
                    continue
                if not _logged(a, id):
                    saved.temp = id
                    saved.reg = a.values[id].reg
                    saved.presence = a.values[id].presence
                    a.log.push_back(saved)


cdef uint32_t _compact_key(Allocator *a, Saved saved, Placement need) noexcept nogil:
    cdef Placement other = need if saved.temp == 0 else pseudo_placement(a.p, class_of_value(a, saved.temp))
    cdef uint32_t linear = 1 if saved.temp and class_is_linear_vgpr(class_of_value(a, saved.temp)) else 0
    return (linear << 24) | (other.align << 16) | ((1 if saved.presence == in_both else 0) << 12) | other.dwords


cdef void _order_victims(Allocator *a, Placement need) noexcept nogil:
    """Rows of the log by alignment, then values in both views, then size."""
    cdef size_t i
    a.ranked.clear()
    for i in range(a.log.size()):
        _rank(a, <uint32_t>i, _compact_key(a, a.log[i], need))
    _take_ranked(a)


cdef int _lay_out(Allocator *a, Placement need, int views) noexcept nogil:
    """Registers for the victims in their order; returns that of the new value (temp 0), which stays blocked, or -1."""
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
        other = pseudo_placement(a.p, class_of_value(a, saved.temp))
        if class_is_linear_vgpr(class_of_value(a, saved.temp)):
            address = find_highest(a, other, saved.presence)
        else:
            address = _lowest(a, other, saved.presence)
        if address < 0:
            return -1
        put_value(a, saved.temp, address, saved.presence)
    return result


cdef int _compact(Allocator *a, Placement need, int views) noexcept nogil:
    """Lay out the whole file again, large alignments first, so that no hole is left; the address of the new value or -1.

    Values that live through get registers free in both views, killed operands and definitions may overlap each other. With
    descending alignment each hole in one view is a multiple of every later alignment, so a demand within the bound fits.
    """
    cdef uint32_t r
    cdef size_t i
    cdef int result
    cdef Saved new_value
    _log_movable(a, file_of(need.register_class))
    for i in range(a.log.size()):
        record_move(a, a.log[i].temp)
        displace(a, a.log[i].temp)
    new_value.temp = 0
    new_value.presence = <uint8_t>views
    a.log.push_back(new_value)
    _order_victims(a, need)
    result = _lay_out(a, need, views)
    if result >= 0:
        for r in range(need.dwords):
            file_put(&a.file, views, result + r * 4, 4, 0)
    return result


cdef int find_highest(Allocator *a, Placement need, int views) noexcept nogil:
    cdef int which = file_of(need.register_class)
    cdef uint32_t r = a.bound[which] - need.dwords
    while True:
        if not file_taken(&a.file, views, r * 4, need.dwords * 4):
            return r << 2
        if r <= a.first[which]:
            return -1
        r -= 1


cdef uint32_t pick_any(Allocator *a, Placement need, int views) except 0xffffffffU nogil:
    """A register for a value without a hint: a gap, a cleared window, a larger file, a compacted file."""
    cdef int which = file_of(need.register_class)
    cdef int address
    while True:
        address = find_gap(a, need, views, 0, 0)
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


# ---------------------------------------------------------------------------------------------------------------- hints
cdef int _vector_place(Allocator *a, uint32_t temp, Placement need, int views) noexcept nogil:
    """A register from which the p_create_vector that gathers `temp` needs no copy, or -1."""
    cdef ProgramData *p = a.p
    cdef InstructionId gather = a.values[temp].vector_use
    cdef OperandRow row
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
            if a.values[p.operands.data[row]].presence and class_is_vgpr(class_of_value(a, p.operands.data[row])) == class_is_vgpr(whole):
                address = <int32_t>a.values[p.operands.data[row]].reg + ours - offset
                if address >= 0 and fits(a, need, views, address):
                    return address
                return -1
        offset += <int32_t>operand_bytes(operand_at(p, row))
    found = find_gap(a, pseudo_placement(p, whole), views, 0, 0)
    if found >= 0 and fits(a, need, views, found + ours):
        return found + ours
    return -1


cdef uint32_t pick_hinted(Allocator *a, uint32_t temp, Placement need, int views) except 0xffffffffU nogil:
    """A register for `temp`, hinted ones first."""
    cdef uint32_t web = web_of(a, temp)
    cdef int address = goal_register(a, temp)
    if fits(a, need, views, address):
        return address
    if a.values[web].web_reg != register_none and fits(a, need, views, a.values[web].web_reg):
        return a.values[web].web_reg
    if a.values[temp].hint & hint_vcc and fits(a, need, views, register_vcc):
        return register_vcc
    if a.values[temp].vector_use:
        address = _vector_place(a, temp, need, views)
        if address >= 0:
            return address
    if a.values[temp].becomes:
        web = web_of(a, a.values[temp].becomes)
        if a.values[web].web_reg != register_none and fits(a, need, views, a.values[web].web_reg):
            return a.values[web].web_reg
    return pick_any(a, need, views)


cdef void assign_definition(Allocator *a, DefinitionRow row, uint32_t address, int views, bint hard) noexcept nogil:
    """Give a definition its register."""
    cdef ProgramData *p = a.p
    cdef TempId temp = p.definitions.temp[row]
    cdef uint32_t web
    p.definitions.reg[row] = <uint16_t>address
    p.definitions.flags[row] |= definition_fixed
    if not p.definitions.flags[row] & definition_temp:
        return
    put_value(a, temp, address, views)
    note_written(a, temp)
    pin(a, temp, hard)
    web = web_of(a, temp)
    if a.values[web].web_reg == register_none:
        a.values[web].web_reg = <uint16_t>address
