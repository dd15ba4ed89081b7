"""Slots of spilled values: numbered per file and size, shared by values that are never live together.

Interference is a bit row per spilled value. Phis and their operands ask for the same slot, so that nothing has to be moved at the edge.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from pyaco._core.aco.live_set cimport bit_erase, bit_insert, live_test
from pyaco._core.aco.queries cimport opcode_is_phi
from pyaco._core.aco.spill_choice cimport load_live_out
from pyaco._core.aco.spiller cimport *
from pyaco._core.common.bits cimport align_up, trailing_zeros64
from pyaco._core.ir.program cimport *


# ------------------------------------------------------------------------------------------------------------------ slots
cdef inline uint64_t *_row(Spiller *s, uint32_t temp) noexcept nogil:
    return &s.interference[<size_t>(s.row_of[temp] - 1) * s.row_words]


cdef void _interfere(Spiller *s, uint32_t temp, const uint64_t *live_rows) noexcept nogil:
    """A spilled value interferes with all spilled values that are live at its definition."""
    cdef uint64_t *row = _row(s, temp)
    cdef uint32_t self = s.row_of[temp] - 1
    cdef uint32_t w
    cdef uint32_t other
    cdef uint64_t bits
    for w in range(s.row_words):
        bits = live_rows[w]
        row[w] |= bits
        while bits:
            other = w * 64 + trailing_zeros64(bits)
            bits &= bits - 1
            s.interference[<size_t>other * s.row_words + (self >> 6)] |= <uint64_t>1 << (self & 63)
    row[self >> 6] &= ~(<uint64_t>1 << (self & 63))


cdef void _interference_of_block(Spiller *s, BlockId block, vector[uint64_t] *rows) noexcept nogil:
    cdef ProgramData *p = s.p
    cdef OrderRow first = p.blocks.order_first[block]
    cdef uint32_t k = p.blocks.order_count[block]
    cdef InstructionId i
    cdef uint32_t j
    cdef uint32_t row
    cdef TempId t
    cdef uint32_t phis = 0
    load_live_out(s, block)
    for j in range(s.row_words):
        rows[0][j] = 0
    for j in range(<uint32_t>s.members.size()):
        if live_test(&s.live, s.members[j]):
            bit_insert(rows.data(), j)
    while k > 0:
        i = p.order.instruction[first + k - 1]
        if opcode_is_phi(p.instructions.opcode[i]):
            break
        k -= 1
        for j in range(p.instructions.definition_count[i]):
            row = p.instructions.definition_first[i] + j
            t = p.definitions.temp[row]
            if p.definitions.flags[row] & definition_temp and s.row_of[t]:
                bit_erase(rows.data(), s.row_of[t] - 1)
                _interfere(s, t, rows.data())
        # definitions of one instruction are stored one after the other
        for j in range(1, p.instructions.definition_count[i]):
            row = p.instructions.definition_first[i]
            if p.definitions.flags[row + j] & definition_temp and s.row_of[p.definitions.temp[row + j]]:
                for phis in range(j):
                    if p.definitions.flags[row + phis] & definition_temp and s.row_of[p.definitions.temp[row + phis]]:
                        _add_edge(s, p.definitions.temp[row + j], p.definitions.temp[row + phis])
        for j in range(p.instructions.operand_count[i]):
            row = p.instructions.operand_first[i] + j
            if p.operands.flags[row] & operand_temp and s.row_of[p.operands.data[row]]:
                bit_insert(rows.data(), s.row_of[p.operands.data[row]] - 1)
    # phis are defined together, with the live-in values
    for j in range(k):
        row = p.instructions.definition_first[p.order.instruction[first + j]]
        if p.definitions.flags[row] & definition_temp and s.row_of[p.definitions.temp[row]]:
            bit_insert(rows.data(), s.row_of[p.definitions.temp[row]] - 1)
    for j in range(k):
        row = p.instructions.definition_first[p.order.instruction[first + j]]
        if p.definitions.flags[row] & definition_temp and s.row_of[p.definitions.temp[row]]:
            _interfere(s, p.definitions.temp[row], rows.data())


cdef void _add_edge(Spiller *s, uint32_t x, uint32_t y) noexcept nogil:
    bit_insert(_row(s, x), s.row_of[y] - 1)
    bit_insert(_row(s, y), s.row_of[x] - 1)


cdef bint _slot_free(Spiller *s, TempId temp, uint32_t slot) noexcept nogil:
    """No value that interferes has the slot, and it fits."""
    cdef uint32_t w
    cdef uint64_t bits
    cdef uint64_t *row = _row(s, temp)
    if s.slot_size[slot] != class_dwords(class_of_value(s, temp)) or s.slot_file[slot] != file_of(class_of_value(s, temp)):
        return False
    for w in range(s.row_words):
        bits = row[w]
        while bits:
            if s.slot[s.members[w * 64 + trailing_zeros64(bits)]] == slot:
                return False
            bits &= bits - 1
    return True


cdef void _assign_slot(Spiller *s, TempId temp, uint32_t preferred) noexcept nogil:
    cdef uint32_t slot
    if s.slot[temp] != <uint32_t>no_slot:
        return
    if preferred != <uint32_t>no_slot and _slot_free(s, temp, preferred):
        s.slot[temp] = preferred
        return
    for slot in range(<uint32_t>s.slot_size.size()):
        if _slot_free(s, temp, slot):
            s.slot[temp] = slot
            return
    s.slot[temp] = <uint32_t>s.slot_size.size()
    s.slot_size.push_back(class_dwords(class_of_value(s, temp)))
    s.slot_file.push_back(<uint8_t>file_of(class_of_value(s, temp)))


cdef void assign_slots(Spiller *s) noexcept nogil:
    """Interference, then slots: phis with their operands first."""
    cdef ProgramData *p = s.p
    cdef vector[uint64_t] rows
    cdef uint32_t t
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    cdef uint32_t j
    cdef OperandRow row
    cdef TempId d
    for t in range(1, p.temps.table.count):
        if s.spilled[t] and not s.constant[t] and t < s.row_of.size():
            s.members.push_back(t)
            s.row_of[t] = <uint32_t>s.members.size()
    s.row_words = (<uint32_t>s.members.size() + 63) // 64
    s.interference.assign(<size_t>s.row_words * s.members.size(), 0)
    rows.assign(s.row_words + 1, 0)
    for b in range(p.blocks.table.count):
        _interference_of_block(s, b, &rows)
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not opcode_is_phi(p.instructions.opcode[i]):
                break
            d = p.definitions.temp[p.instructions.definition_first[i]]
            if not phi_is_spilled(s, i) or not s.row_of[d]:
                continue
            for j in range(p.instructions.operand_count[i]):
                row = p.instructions.operand_first[i] + j
                if p.operands.flags[row] & operand_temp and s.row_of[p.operands.data[row]] \
                        and s.slot[p.operands.data[row]] != <uint32_t>no_slot:
                    _assign_slot(s, d, s.slot[p.operands.data[row]])
            _assign_slot(s, d, <uint32_t>no_slot)
            for j in range(p.instructions.operand_count[i]):
                row = p.instructions.operand_first[i] + j
                if p.operands.flags[row] & operand_temp and s.row_of[p.operands.data[row]] \
                        and s.slot[p.operands.data[row]] == <uint32_t>no_slot and _slot_free(s, p.operands.data[row], s.slot[d]):
                    s.slot[p.operands.data[row]] = s.slot[d]
    for k in range(<uint32_t>s.members.size()):
        _assign_slot(s, s.members[k], <uint32_t>no_slot)


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
