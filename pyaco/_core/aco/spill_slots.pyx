"""Slots of spilled values: numbered, of one file and size each, shared by values that are never live together.

Blocks are walked in their order, in which definitions come before all that they dominate: then every value that is live where another one is
defined has its slot already, and the lowest one that none of them has will do, as for the intervals of chordal graphs (S. Hack, "Register
Allocation for Programs in SSA Form"). Phis and their operands ask for the same slot, so that nothing has to be moved at the edge.
Needs: liveness, kill flags included.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from pyaco._core.aco.live_set cimport bit_erase, bit_insert, bit_test
from pyaco._core.aco.queries cimport opcode_is_phi
from pyaco._core.aco.spiller cimport *
from pyaco._core.common.bits cimport align_up, trailing_zeros64
from pyaco._core.ir.program cimport *

cdef enum:
    sizes = 17                        # dwords of a value, and 0
    kinds = 2 * sizes                 # of slots: by file and size


cdef cppclass Slots:
    vector[vector[uint32_t]] of_kind      # by kind: its slots, in the order of their numbers
    vector[vector[uint64_t]] busy         # by kind: bits of those that live values have
    vector[vector[uint64_t]] wanted   # by kind: bits of those that a later operand of a phi is to have
    vector[uint32_t] place            # by slot: where it stands among those of its kind
    vector[uint32_t] wishes           # by slot: how many such operands there are
    vector[uint32_t] pending          # by phi: its operands that have no slot yet
    vector[uint32_t] read_by          # by temp: the spilled phi that reads it, 0: none
    vector[uint32_t] hint             # by phi: the slot that its first operand got


cdef inline bint _has_slot(Spiller *s, TempId temp) noexcept nogil:
    """Constants are made again instead; temps made since have no columns."""
    return temp < s.spilled.size() and s.spilled[temp] != 0 and s.constant[temp] == 0


cdef inline uint32_t _kind(Spiller *s, TempId temp) noexcept nogil:
    return file_of(class_of_value(s, temp)) * sizes + <uint32_t>size_of_value(s, temp)


cdef inline uint32_t _kind_of_slot(Spiller *s, uint32_t slot) noexcept nogil:
    return s.slot_file[slot] * sizes + s.slot_size[slot]


cdef inline void _occupy(Spiller *s, Slots *l, uint32_t slot) noexcept nogil:
    bit_insert(l.busy[_kind_of_slot(s, slot)].data(), l.place[slot])


cdef inline void _vacate(Spiller *s, Slots *l, uint32_t slot) noexcept nogil:
    bit_erase(l.busy[_kind_of_slot(s, slot)].data(), l.place[slot])


cdef inline bint _is_free(Spiller *s, Slots *l, uint32_t slot, uint32_t kind) noexcept nogil:
    return slot != <uint32_t>no_slot and _kind_of_slot(s, slot) == kind and not bit_test(l.busy[kind].data(), l.place[slot])


cdef uint32_t _new_slot(Spiller *s, Slots *l, uint32_t kind) except? 0xffffffffU nogil:
    cdef uint32_t slot = <uint32_t>s.slot_size.size()
    s.slot_size.push_back(kind % sizes)
    s.slot_file.push_back(<uint8_t>(kind // sizes))
    l.place.push_back(<uint32_t>l.of_kind[kind].size())
    l.wishes.push_back(0)
    l.of_kind[kind].push_back(slot)
    if l.busy[kind].size() * 64 < l.of_kind[kind].size():
        l.busy[kind].push_back(0)
        l.wanted[kind].push_back(0)
    return slot


cdef uint32_t _lowest_free(Spiller *s, Slots *l, uint32_t kind, bint returns) except? 0xffffffffU nogil:
    """The lowest slot that no live value has, nor another one that returns to the head of a loop is to have; but a value that does not return may
    take such a slot of SGPRs, since more of those would take VGPRs."""
    cdef uint32_t w
    cdef uint32_t place
    cdef uint64_t free
    for w in range(<uint32_t>l.busy[kind].size()):
        free = ~l.busy[kind][w]
        if returns or kind >= sizes:
            free &= ~l.wanted[kind][w]
        if free:
            place = w * 64 + trailing_zeros64(free)
            if place < l.of_kind[kind].size():
                return l.of_kind[kind][place]
    return _new_slot(s, l, kind)


cdef void _wish(Spiller *s, Slots *l, uint32_t slot, uint32_t more, uint32_t fewer) noexcept nogil:
    """Change how many operands of phis are to have a slot."""
    cdef uint32_t kind = _kind_of_slot(s, slot)
    l.wishes[slot] += more - fewer
    if l.wishes[slot]:
        bit_insert(l.wanted[kind].data(), l.place[slot])
    else:
        bit_erase(l.wanted[kind].data(), l.place[slot])


cdef int _assign(Spiller *s, Slots *l, TempId temp) except -1 nogil:
    """Give a value a slot that none has that is live: that of the phi that reads it, of its operands if it is one, or the lowest."""
    cdef uint32_t kind = _kind(s, temp)
    cdef uint32_t phi = l.read_by[temp]
    cdef uint32_t slot = l.hint[temp]
    if not _is_free(s, l, slot, kind):
        slot = <uint32_t>no_slot
    if slot == <uint32_t>no_slot and phi:
        slot = s.slot[phi] if s.slot[phi] != <uint32_t>no_slot else l.hint[phi]
        if not _is_free(s, l, slot, kind):
            slot = <uint32_t>no_slot
    if slot == <uint32_t>no_slot:
        slot = _lowest_free(s, l, kind, phi != 0 and s.slot[phi] != <uint32_t>no_slot)
    s.slot[temp] = slot
    _occupy(s, l, slot)
    if l.pending[temp]:
        _wish(s, l, slot, l.pending[temp], 0)
    if phi:
        l.pending[phi] -= 1
        if l.hint[phi] == <uint32_t>no_slot:
            l.hint[phi] = slot
        if s.slot[phi] != <uint32_t>no_slot:
            _wish(s, l, s.slot[phi], 0, 1)
    return 0


cdef int _enter(Spiller *s, Slots *l, BlockId block) except -1 nogil:
    """What is live at the start of a block has its slots, and its phis get theirs: first those that an operand has a slot for."""
    cdef ProgramData *p = s.p
    cdef uint32_t k
    cdef uint32_t round
    cdef uint64_t bits
    cdef TempId t
    cdef InstructionId i
    cdef DefinitionRow row
    for k in range(<uint32_t>kinds):
        l.busy[k].assign(l.busy[k].size(), 0)
    for k in range(p.blocks.live_in_first[block], p.blocks.live_in_first[block] + p.blocks.live_in_count[block]):
        bits = p.live_in.bits[k] & s.spilled_bits[p.live_in.word[k]]
        while bits:
            t = p.live_in.word[k] * 64 + trailing_zeros64(bits)
            if _has_slot(s, t):
                _occupy(s, l, s.slot[t])
            bits &= bits - 1
    for round in range(2):
        for k in range(p.blocks.order_count[block]):
            i = p.order.instruction[p.blocks.order_first[block] + k]
            if not opcode_is_phi(p.instructions.opcode[i]):
                break
            row = p.instructions.definition_first[i]
            t = p.definitions.temp[row]
            if p.definitions.flags[row] & definition_temp and _has_slot(s, t) and s.slot[t] == <uint32_t>no_slot \
                    and (round == 1 or _is_free(s, l, l.hint[t], _kind(s, t))):
                _assign(s, l, t)
    return 0


cdef int _instruction(Spiller *s, Slots *l, InstructionId i) except -1 nogil:
    """Values that die here leave their slots; those made here are stored one after the other, so that they need one each."""
    cdef ProgramData *p = s.p
    cdef uint32_t row
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        if p.operands.flags[row] & operand_temp and p.operands.flags[row] & operand_first_kill and _has_slot(s, p.operands.data[row]):
            _vacate(s, l, s.slot[p.operands.data[row]])
    for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if p.definitions.flags[row] & definition_temp and _has_slot(s, p.definitions.temp[row]):
            _assign(s, l, p.definitions.temp[row])
    for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if p.definitions.flags[row] & definition_temp and p.definitions.flags[row] & definition_kill \
                and _has_slot(s, p.definitions.temp[row]):
            _vacate(s, l, s.slot[p.definitions.temp[row]])
    return 0


cdef int _prepare_slots(Spiller *s, Slots *l) except -1 nogil:
    """Which spilled phi reads a value, and how many values a phi reads that will have slots."""
    cdef ProgramData *p = s.p
    cdef BlockId b
    cdef uint32_t k
    cdef uint32_t row
    cdef TempId t
    cdef InstructionId i
    l.read_by.assign(p.temps.table.count, 0)
    l.hint.assign(p.temps.table.count, <uint32_t>no_slot)
    l.pending.assign(p.temps.table.count, 0)
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not opcode_is_phi(p.instructions.opcode[i]):
                break
            if not phi_is_spilled(s, i):
                continue
            for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
                if p.operands.flags[row] & operand_temp:
                    l.read_by[p.operands.data[row]] = p.definitions.temp[p.instructions.definition_first[i]]
    for t in range(p.temps.table.count):
        if l.read_by[t] and _has_slot(s, t):
            l.pending[l.read_by[t]] += 1
    return 0


cdef int assign_slots(Spiller *s) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef Slots l
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    l.of_kind.resize(kinds)
    l.busy.resize(kinds)
    l.wanted.resize(kinds)
    _prepare_slots(s, &l)
    for b in range(p.blocks.table.count):
        _enter(s, &l, b)
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not opcode_is_phi(p.instructions.opcode[i]):
                _instruction(s, &l, i)
    return 0


cdef int assign_positions(Spiller *s) except -1 nogil:
    """Lanes and scratch offsets. Slots of SGPRs do not cross from one linear VGPR to the next."""
    cdef uint32_t lane = 0
    cdef uint32_t offset = <uint32_t>align_up(s.p.config.scratch_bytes_per_lane, 4)
    cdef uint32_t slot
    cdef uint32_t wave = s.p.wave_size
    cdef bint scratch = False
    s.scratch_base = offset
    for slot in range(<uint32_t>s.slot_size.size()):
        if s.slot_file[slot] == file_sgpr:
            if lane % wave + s.slot_size[slot] > wave:
                lane += wave - lane % wave
            s.slot_position.push_back(lane)
            lane += s.slot_size[slot]
            s.p.config.spilled_sgprs += s.slot_size[slot]
        else:
            s.slot_position.push_back(offset)
            offset += 4 * s.slot_size[slot]
            s.p.config.spilled_vgprs += s.slot_size[slot]
            scratch = True
    if scratch:
        s.p.config.scratch_bytes_per_lane = offset
        s.p.config.uses_scratch = 1
    for _ in range((lane + wave - 1) // wave):
        s.lanes.push_back(temp_new(s.p, class_v1_linear))
        extend_columns(s)
    return 0
