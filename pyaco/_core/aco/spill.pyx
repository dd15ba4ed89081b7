"""Spilling: where more values are live than there are registers, some live in memory.

SGPRs go to lanes of linear VGPRs (``p_spill``, ``p_reload``), VGPRs to scratch memory. Programs whose demand fits are left alone.

Needs: liveness. Guarantees: the demand fits; liveness is current again.

A spilled value is stored once, behind its definition, and reloaded in front of uses; within a block a reload (or the definition
itself) serves later uses as long as registers are free. A phi may be spilled as a whole: then its predecessors write its slot, and
nothing has to be done for an operand that has the same slot. Constants are not stored but made again.

Data structures. Columns by temp id: cost, spilled, slot. Slots are numbered per file and size; two values share one if they are
never live together (a bit row per spilled value). Phis and their operands ask for the same slot.

Phases, for each file, SGPRs first: (1) walk each block backwards with its live set; where the demand exceeds the limit, spill the
values with the lowest cost (stores and reloads weighted by loop depth, per register) that live through. (2) Interference of spilled
values, slots. (3) Rewrite: stores, reloads, and at the ends of blocks the moves between slots that phis ask for; those form a
parallel copy, so a slot is written after it has been read, and cycles go through a register.

Sources: G. Chaitin, "Register allocation and spilling via graph coloring", for costs; M. Braun and S. Hack, "Register Spilling and
Live-Range Splitting for SSA-Form Programs", for spilled phis; the AMD ISA documents for scratch offsets.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from isa_opcodes cimport *
from isa_tables cimport opcode_format
from modifiers cimport modifier_set_semantics, modifier_set_storage
from pyaco._core.aco.live_set cimport (
    LiveSet, bit_erase, bit_insert, live_erase, live_insert, live_next, live_set_init, live_test, no_temp,
)
from pyaco._core.aco.live_variables cimport linear_temps, live_out_of, live_variables_run
from pyaco._core.aco.occupancy cimport addressable_sgprs, addressable_vgprs, min_waves
from pyaco._core.aco.queries cimport opcode_is_phi, tied_operand
from pyaco._core.aco.register_file cimport pyaco_lowest_bit
from pyaco._core.ir.program cimport *

from pyaco.errors import UnsupportedError


cdef enum:
    file_sgpr = 0
    file_vgpr = 1
    no_slot = 0xffffffff


cdef struct SlotMove:                 # at the end of a block: `to` gets what `from_` or the operand holds
    uint32_t to                       # slot
    uint32_t from_                    # slot, no_slot: the operand
    uint32_t temp                     # whose value it is, 0: a constant
    uint8_t register_class
    bint done
    Operand operand


cdef struct Cached:                   # a spilled value that is in a register as well
    uint32_t temp
    uint32_t name                     # the temp that holds it


cdef cppclass Spiller:
    ProgramData *p
    Rewrite out
    int32_t limit[2]
    int32_t reserve[2]                # registers kept free for moves between slots
    vector[float] cost
    vector[uint32_t] web              # phis and their operands
    vector[uint8_t] web_spilled
    vector[uint8_t] spillable
    vector[uint8_t] spilled
    vector[uint32_t] constant         # the instruction that makes a constant, 0: none
    vector[uint32_t] slot
    vector[uint32_t] row_of           # row in the interference rows + 1
    vector[uint32_t] members          # temps by row
    vector[uint64_t] interference
    uint32_t row_words
    LiveSet live
    vector[uint64_t] linear           # temps that live through linear edges
    vector[uint32_t] mark             # stamps: operands and definitions of the instruction at hand
    uint32_t stamp
    vector[uint32_t] slot_size        # by slot: dwords
    vector[uint8_t] slot_file
    vector[uint32_t] slot_place       # by slot: lane (SGPR) or byte offset (VGPR)
    vector[uint32_t] lanes            # temps of the linear VGPRs
    vector[int32_t] base[2]           # demand by position in the block
    vector[int32_t] behind[2]         # the part of it behind the instruction
    int32_t after_definitions[2]
    vector[Cached] cached
    vector[uint32_t] remaining        # by temp: uses left in the block
    vector[SlotMove] moves
    vector[uint32_t] late_stores      # VGPRs defined before scratch is initialised
    bint scratch_ready
    uint32_t scratch_base


cdef inline int _file(uint8_t register_class) noexcept nogil:
    return file_vgpr if class_is_vgpr(register_class) else file_sgpr


cdef inline uint8_t _class(Spiller *s, uint32_t temp) noexcept nogil:
    return s.p.temps.register_class[temp]


cdef inline int32_t _size(Spiller *s, uint32_t temp) noexcept nogil:
    return <int32_t>class_dwords(s.p.temps.register_class[temp])


# ----------------------------------------------------------------------------------------------------------------- costs
cdef bint _can_be_spilled(const ProgramData *p, uint32_t definition) noexcept nogil:
    cdef uint8_t register_class = p.definitions.register_class[definition]
    cdef uint16_t reg = p.definitions.reg[definition]
    if class_is_linear_vgpr(register_class):
        return False
    if p.definitions.flags[definition] & definition_fixed and 106 * 4 <= reg < register_vgpr0:
        return False                  # VCC, m0, exec, SCC
    if class_is_vgpr(register_class):
        return class_bytes(register_class) <= 4 or (class_dwords(register_class) <= 4 and not class_is_subdword(register_class))
    return class_dwords(register_class) <= 16


cdef uint32_t _makes_constant(const ProgramData *p, uint32_t i) noexcept nogil:
    """The instruction itself if it only puts a constant into one register without wishes."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    if opcode != op_p_parallelcopy and opcode != op_s_mov_b32 and opcode != op_v_mov_b32 and opcode != op_s_mov_b64:
        return 0
    if p.instructions.definition_count[i] != 1 or p.instructions.operand_count[i] != 1:
        return 0
    if p.definitions.flags[p.instructions.definition_first[i]] & definition_fixed:
        return 0
    return i if p.operands.flags[p.instructions.operand_first[i]] & operand_constant else 0


cdef inline float _weight(uint32_t depth) noexcept nogil:
    cdef float weight = 1
    while depth > 0 and weight < 1e9:
        weight *= 8
        depth -= 1
    return weight


cdef void _costs(Spiller *s) noexcept nogil:
    """What spilling each temp would cost: one store, and a reload at each use."""
    cdef ProgramData *p = s.p
    cdef uint32_t b
    cdef uint32_t k
    cdef uint32_t j
    cdef uint32_t i
    cdef uint32_t row
    cdef float weight
    cdef bint logical
    cdef uint32_t pred
    for b in range(p.blocks.table.count):
        weight = _weight(p.blocks.loop_depth[b])
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            for j in range(p.instructions.definition_count[i]):
                row = p.instructions.definition_first[i] + j
                if not p.definitions.flags[row] & definition_temp:
                    continue
                s.spillable[p.definitions.temp[row]] = _can_be_spilled(p, row)
                s.constant[p.definitions.temp[row]] = _makes_constant(p, i)
                if not s.constant[p.definitions.temp[row]]:
                    s.cost[p.definitions.temp[row]] += weight
            logical = p.instructions.opcode[i] == op_p_phi
            for j in range(p.instructions.operand_count[i]):
                row = p.instructions.operand_first[i] + j
                if not p.operands.flags[row] & operand_temp:
                    continue
                if opcode_is_phi(p.instructions.opcode[i]):
                    pred = p.edge_lists.block[(p.blocks.logical_pred_first[b] if logical else p.blocks.linear_pred_first[b]) + j]
                    s.cost[p.operands.data[row]] += _weight(p.blocks.loop_depth[pred]) * <float>0.5
                else:
                    s.cost[p.operands.data[row]] += weight * (<float>0.5 if s.constant[p.operands.data[row]] else 1)
                if p.operands.flags[row] & operand_fixed and p.operands.reg[row] >= register_exec \
                        and p.operands.reg[row] < register_vgpr0 and not opcode_is_phi(p.instructions.opcode[i]):
                    s.spillable[p.operands.data[row]] = s.spillable[p.operands.data[row]] and p.operands.reg[row] != register_scc


cdef uint32_t _web(Spiller *s, uint32_t temp) noexcept nogil:
    while s.web[temp] != temp:
        s.web[temp] = s.web[s.web[temp]]
        temp = s.web[temp]
    return temp


cdef void _webs(Spiller *s) noexcept nogil:
    """Join phis and operands: once one of them has a slot, the others are cheaper to spill."""
    cdef ProgramData *p = s.p
    cdef uint32_t b
    cdef uint32_t k
    cdef uint32_t j
    cdef uint32_t i
    cdef uint32_t row
    cdef uint32_t d
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not opcode_is_phi(p.instructions.opcode[i]):
                break
            d = p.definitions.temp[p.instructions.definition_first[i]]
            for j in range(p.instructions.operand_count[i]):
                row = p.instructions.operand_first[i] + j
                if d and p.operands.flags[row] & operand_temp and _class(s, d) == _class(s, p.operands.data[row]):
                    s.web[_web(s, p.operands.data[row])] = _web(s, d)


# -------------------------------------------------------------------------------------------------------- choosing values
cdef int _spill_down(Spiller *s, int which, int32_t *demand, uint32_t block) except -1 nogil:
    """Spill live values of a file, cheapest first, that the instruction at hand does not name, until the demand fits."""
    cdef uint32_t best
    cdef float best_cost
    cdef float cost
    cdef uint32_t t
    while demand[0] > s.limit[which]:
        best = 0
        best_cost = 0
        t = live_next(&s.live, 0)
        while t != no_temp:
            if not s.spilled[t] and s.spillable[t] and s.mark[t] != s.stamp and _file(_class(s, t)) == which:
                cost = s.cost[t] / _size(s, t)
                if s.web_spilled[_web(s, t)]:
                    cost *= <float>0.5
                if best == 0 or cost < best_cost:
                    best = t
                    best_cost = cost
            t = live_next(&s.live, t + 1)
        if best == 0:
            with gil:
                raise UnsupportedError(f"spilling: block {block} needs {demand[0]} {'VGPRs' if which else 'SGPRs'} at one "
                                       f"instruction, {s.limit[which]} can be had")
        s.spilled[best] = 1
        s.web_spilled[_web(s, best)] = 1
        demand[0] -= _size(s, best)
    return 0


cdef void _live_out(Spiller *s, uint32_t block) noexcept nogil:
    live_out_of(s.p, s.linear.data(), block, &s.live)


cdef void _count(Spiller *s, int32_t *demand) noexcept nogil:
    """Registers of the live values that are not spilled."""
    cdef uint32_t t = live_next(&s.live, 0)
    demand[0] = 0
    demand[1] = 0
    while t != no_temp:
        if not s.spilled[t]:
            demand[_file(_class(s, t))] += _size(s, t)
        t = live_next(&s.live, t + 1)


cdef void _phi_operands_at_end(Spiller *s, uint32_t block, int32_t *demand) noexcept nogil:
    """Operands of the successors' phis that are spilled while the phi is not: they are reloaded at the end of the block."""
    cdef ProgramData *p = s.p
    cdef uint32_t kind
    cdef uint32_t k
    cdef uint32_t n
    cdef uint32_t i
    cdef uint32_t edge
    cdef uint32_t row
    cdef uint32_t count
    for kind in range(2):
        count = p.blocks.linear_succ_count[block] if kind else p.blocks.logical_succ_count[block]
        for k in range(count):
            n = p.edge_lists.block[(p.blocks.linear_succ_first[block] if kind else p.blocks.logical_succ_first[block]) + k]
            edge = _edge_of(p, n, block, kind == 0)
            for row in range(p.blocks.order_count[n]):
                i = p.order.instruction[p.blocks.order_first[n] + row]
                if not opcode_is_phi(p.instructions.opcode[i]):
                    break
                if (p.instructions.opcode[i] == op_p_phi) != (kind == 0):
                    continue
                if p.operands.flags[p.instructions.operand_first[i] + edge] & operand_temp \
                        and s.spilled[p.operands.data[p.instructions.operand_first[i] + edge]] \
                        and not _phi_is_spilled(s, i):
                    demand[_file(p.operands.register_class[p.instructions.operand_first[i] + edge])] += \
                        <int32_t>class_dwords(p.operands.register_class[p.instructions.operand_first[i] + edge])


cdef inline bint _phi_is_spilled(Spiller *s, uint32_t i) noexcept nogil:
    cdef uint32_t row = s.p.instructions.definition_first[i]
    return (s.p.definitions.flags[row] & definition_temp) != 0 and s.spilled[s.p.definitions.temp[row]] != 0


cdef uint32_t _edge_of(const ProgramData *p, uint32_t block, uint32_t predecessor, bint logical) noexcept nogil:
    cdef uint32_t first = p.blocks.logical_pred_first[block] if logical else p.blocks.linear_pred_first[block]
    cdef uint32_t count = p.blocks.logical_pred_count[block] if logical else p.blocks.linear_pred_count[block]
    cdef uint32_t k = 0
    while k + 1 < count and p.edge_lists.block[first + k] != predecessor:
        k += 1
    return k


cdef int _before_definitions(Spiller *s, uint32_t i, int32_t *after, int32_t *during) except -1 nogil:
    """Take what an instruction defines out of the live set; `during` still counts it, and results that nothing reads."""
    cdef ProgramData *p = s.p
    cdef uint32_t row
    cdef uint32_t t
    cdef int which
    for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if not p.definitions.flags[row] & definition_temp:
            continue
        t = p.definitions.temp[row]
        which = _file(_class(s, t))
        s.mark[t] = s.stamp
        if live_test(&s.live, t):
            live_erase(&s.live, t)
            if not s.spilled[t]:
                after[which] -= _size(s, t)
                continue
        during[which] += _size(s, t)
    return 0


cdef void _count_operands(Spiller *s, uint32_t i, int32_t *before, int32_t *during) noexcept nogil:
    """Add the operands that do not live on: to what is needed in front, and where they are read late, to what is needed during."""
    cdef ProgramData *p = s.p
    cdef uint32_t row
    cdef uint32_t t
    cdef int which
    cdef int tied
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        if not p.operands.flags[row] & operand_temp:
            continue
        t = p.operands.data[row]
        which = _file(_class(s, t))
        if s.mark[t] == s.stamp:
            continue
        s.mark[t] = s.stamp
        if s.spilled[t] or not live_test(&s.live, t):
            before[which] += _size(s, t)
            if p.operands.flags[row] & operand_late_kill:
                during[which] += _size(s, t)
    tied = tied_operand(p, i)
    row = p.instructions.operand_first[i] + tied
    if tied >= 0 and p.operands.flags[row] & operand_temp and live_test(&s.live, p.operands.data[row]):
        before[_file(p.operands.register_class[row])] += <int32_t>class_dwords(p.operands.register_class[row])


cdef int _step_back(Spiller *s, uint32_t i, int32_t *after, int32_t *during) except -1 nogil:
    """From the live set behind an instruction to the one in front of it: `after` becomes the demand there, `during` what the
    instruction needs; all of values that are not spilled, and of spilled ones that it names."""
    cdef ProgramData *p = s.p
    cdef uint32_t k
    cdef uint32_t row
    cdef uint32_t t
    cdef int32_t before[2]
    s.stamp += 1
    during[0] = after[0]
    during[1] = after[1]
    _before_definitions(s, i, after, during)
    before[0] = after[0]
    before[1] = after[1]
    _count_operands(s, i, before, during)
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        if p.operands.flags[row] & operand_temp and not live_test(&s.live, p.operands.data[row]):
            t = p.operands.data[row]
            live_insert(&s.live, t)
            if not s.spilled[t]:
                after[_file(_class(s, t))] += _size(s, t)
    for k in range(2):
        s.after_definitions[k] = during[k]
        if before[k] > during[k]:
            during[k] = before[k]
    return 0


cdef int _choose_in_block(Spiller *s, int which, uint32_t block) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef uint32_t first = p.blocks.order_first[block]
    cdef uint32_t k = p.blocks.order_count[block]
    cdef uint32_t i
    cdef uint32_t j
    cdef int32_t after[2]
    cdef int32_t during[2]
    cdef int32_t old
    # What is spilled elsewhere lowers the demand but for phi operands that are reloaded here: most blocks fit as they are.
    during[file_sgpr] = p.blocks.demand_sgpr[block]
    during[file_vgpr] = p.blocks.demand_vgpr[block]
    _phi_operands_at_end(s, block, during)
    if during[which] <= s.limit[which]:
        return 0
    _live_out(s, block)
    _count(s, after)
    during[0] = after[0]
    during[1] = after[1]
    _phi_operands_at_end(s, block, during)
    s.stamp += 1
    old = during[which]
    _spill_down(s, which, &during[which], block)
    _count(s, after)
    while k > 0:
        i = p.order.instruction[first + k - 1]
        if opcode_is_phi(p.instructions.opcode[i]):
            break
        k -= 1
        _step_back(s, i, after, during)
        if during[which] > s.limit[which]:
            old = during[which]
            _spill_down(s, which, &during[which], block)
            after[which] -= old - during[which]
    # entering the block: phi definitions are live together with the live-in values
    s.stamp += 1
    for j in range(k):
        i = p.order.instruction[first + j]
        if p.definitions.flags[p.instructions.definition_first[i]] & definition_temp \
                and not p.definitions.flags[p.instructions.definition_first[i]] & definition_kill:
            live_insert(&s.live, p.definitions.temp[p.instructions.definition_first[i]])
    _count(s, after)
    if after[which] > s.limit[which]:
        _spill_down(s, which, &after[which], block)
    return 0


cdef int _choose(Spiller *s, int which) except -1 nogil:
    """Blocks of deeper loops choose first: what they spare is not reloaded there."""
    cdef ProgramData *p = s.p
    cdef int32_t depth = 0
    cdef uint32_t b
    for b in range(p.blocks.table.count):
        if p.blocks.loop_depth[b] > depth:
            depth = p.blocks.loop_depth[b]
    while depth >= 0:
        for b in range(p.blocks.table.count):
            if p.blocks.loop_depth[b] == depth:
                _choose_in_block(s, which, b)
        depth -= 1
    return 0


# ------------------------------------------------------------------------------------------------------------------ slots
cdef inline uint64_t *_row(Spiller *s, uint32_t temp) noexcept nogil:
    return &s.interference[<size_t>(s.row_of[temp] - 1) * s.row_words]


cdef void _interfere(Spiller *s, uint32_t temp, const uint64_t *live_rows) noexcept nogil:
    """A spilled value that is born interferes with all spilled values alive."""
    cdef uint64_t *row = _row(s, temp)
    cdef uint32_t self = s.row_of[temp] - 1
    cdef uint32_t w
    cdef uint32_t other
    cdef uint64_t bits
    for w in range(s.row_words):
        bits = live_rows[w]
        row[w] |= bits
        while bits:
            other = w * 64 + <uint32_t>pyaco_lowest_bit(bits)
            bits &= bits - 1
            s.interference[<size_t>other * s.row_words + (self >> 6)] |= <uint64_t>1 << (self & 63)
    row[self >> 6] &= ~(<uint64_t>1 << (self & 63))


cdef void _interference_of_block(Spiller *s, uint32_t block, vector[uint64_t] *rows) noexcept nogil:
    cdef ProgramData *p = s.p
    cdef uint32_t first = p.blocks.order_first[block]
    cdef uint32_t k = p.blocks.order_count[block]
    cdef uint32_t i
    cdef uint32_t j
    cdef uint32_t row
    cdef uint32_t t
    cdef uint32_t phis = 0
    _live_out(s, block)
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
    # phis are born together, with the live-in values
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


cdef bint _slot_free(Spiller *s, uint32_t temp, uint32_t slot) noexcept nogil:
    """No value that interferes has the slot, and it fits."""
    cdef uint32_t w
    cdef uint64_t bits
    cdef uint64_t *row = _row(s, temp)
    if s.slot_size[slot] != class_dwords(_class(s, temp)) or s.slot_file[slot] != _file(_class(s, temp)):
        return False
    for w in range(s.row_words):
        bits = row[w]
        while bits:
            if s.slot[s.members[w * 64 + <uint32_t>pyaco_lowest_bit(bits)]] == slot:
                return False
            bits &= bits - 1
    return True


cdef void _assign_slot(Spiller *s, uint32_t temp, uint32_t wish) noexcept nogil:
    cdef uint32_t slot
    if s.slot[temp] != <uint32_t>no_slot:
        return
    if wish != <uint32_t>no_slot and _slot_free(s, temp, wish):
        s.slot[temp] = wish
        return
    for slot in range(<uint32_t>s.slot_size.size()):
        if _slot_free(s, temp, slot):
            s.slot[temp] = slot
            return
    s.slot[temp] = <uint32_t>s.slot_size.size()
    s.slot_size.push_back(class_dwords(_class(s, temp)))
    s.slot_file.push_back(<uint8_t>_file(_class(s, temp)))


cdef void _slots(Spiller *s) noexcept nogil:
    """Interference, then slots: phis with their operands first."""
    cdef ProgramData *p = s.p
    cdef vector[uint64_t] rows
    cdef uint32_t t
    cdef uint32_t b
    cdef uint32_t k
    cdef uint32_t i
    cdef uint32_t j
    cdef uint32_t row
    cdef uint32_t d
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
            if not _phi_is_spilled(s, i) or not s.row_of[d]:
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


cdef int _place_slots(Spiller *s) except -1 nogil:
    """Lanes and scratch offsets. Slots of SGPRs do not cross from one linear VGPR to the next."""
    cdef uint32_t lane = 0
    cdef uint32_t offset = (s.p.config.scratch_bytes_per_lane + 3) & ~<uint32_t>3
    cdef uint32_t slot
    cdef uint32_t wave = s.p.wave_size
    cdef bint scratch = False
    s.scratch_base = offset
    for slot in range(<uint32_t>s.slot_size.size()):
        if s.slot_file[slot] == file_sgpr:
            if lane % wave + s.slot_size[slot] > wave:
                lane += wave - lane % wave
            s.slot_place.push_back(lane)
            lane += s.slot_size[slot]
            s.p.config.spilled_sgprs += s.slot_size[slot]
        else:
            s.slot_place.push_back(offset)
            offset += 4 * s.slot_size[slot]
            s.p.config.spilled_vgprs += s.slot_size[slot]
            scratch = True
    if scratch:
        s.p.config.scratch_bytes_per_lane = offset
        s.p.config.uses_scratch = 1
    for _ in range((lane + wave - 1) // wave):
        s.lanes.push_back(temp_new(s.p, class_v1_linear))
        _extend_columns(s)
    return 0


# ---------------------------------------------------------------------------------------------------------------- rewriting
cdef int _extend_columns(Spiller *s) except -1 nogil:
    while s.spilled.size() < s.p.temps.table.count:
        s.spilled.push_back(0)
        s.remaining.push_back(0)
        s.slot.push_back(<uint32_t>no_slot)
        s.row_of.push_back(0)
        s.constant.push_back(0)
    return 0


cdef uint32_t _fresh(Spiller *s, uint8_t register_class) except 0 nogil:
    cdef uint32_t temp = temp_new(s.p, register_class)
    _extend_columns(s)
    return temp


cdef Operand _killed(const ProgramData *p, uint32_t temp) noexcept nogil:
    return operand_of(p, temp)


cdef uint32_t _scratch_address(Spiller *s, uint32_t place, Operand *o, uint32_t *immediate) except? 0xffffffffU nogil:
    """The address operands of a scratch access at a byte offset: an immediate, and an SGPR where it does not fit or where the
    encoding cannot do without a register (GFX9, GFX10.1)."""
    cdef ProgramData *p = s.p
    cdef uint32_t limit = <uint32_t>p.device.scratch_offset_max
    cdef uint32_t part = 0 if place <= limit else place // (limit + 1) * (limit + 1)
    cdef Definition d
    cdef Operand c
    immediate[0] = place - part
    o[0] = operand_undefined(class_v1)
    o[1] = operand_undefined(class_s1)
    if part or p.gfx_level < gfx10_3:
        d = definition_of(p, _fresh(s, class_s1))
        c = operand_c32(part)
        rewrite_emit(&s.out, instruction_make(p, op_p_parallelcopy, format_pseudo, &d, 1, &c, 1))
        o[1] = operand_of(p, d.temp)
    return 0


cdef int _store(Spiller *s, uint32_t name, uint32_t slot) except -1 nogil:
    """Write a value that is in a register into a slot."""
    cdef ProgramData *p = s.p
    cdef uint32_t dwords = s.slot_size[slot]
    cdef uint32_t place = s.slot_place[slot]
    cdef uint32_t immediate = 0
    cdef uint32_t i
    cdef uint16_t opcode
    cdef Operand[3] o
    if s.slot_file[slot] == file_sgpr:
        o[0] = operand_of(p, s.lanes[place // p.wave_size])
        o[1] = operand_c32(place % p.wave_size)
        o[2] = operand_of(p, name)
        rewrite_emit(&s.out, instruction_make(p, op_p_spill, format_pseudo, NULL, 0, o, 3))
        return 0
    if not s.scratch_ready:
        s.late_stores.push_back(name)
        s.late_stores.push_back(slot)
        return 0
    _scratch_address(s, place, o, &immediate)
    o[2] = operand_of(p, name)
    opcode = op_scratch_store_dword
    if dwords == 2:
        opcode = op_scratch_store_dwordx2
    elif dwords == 3:
        opcode = op_scratch_store_dwordx3
    elif dwords == 4:
        opcode = op_scratch_store_dwordx4
    i = instruction_make(p, opcode, opcode_format[opcode], NULL, 0, o, 3)
    p.instructions.immediate[i] = immediate
    p.instructions.modifiers[i] = modifier_set_semantics(modifier_set_storage(0, storage_vgpr_spill), semantic_private)
    return rewrite_emit(&s.out, i)


cdef uint32_t _load(Spiller *s, uint32_t temp) except 0 nogil:
    """Bring a spilled value into a register: the new temp."""
    cdef ProgramData *p = s.p
    cdef uint32_t name = _fresh(s, _class(s, temp))
    cdef Definition d = definition_of(p, name)
    cdef Operand[2] o
    cdef uint32_t immediate = 0
    cdef uint32_t slot
    cdef uint32_t place
    cdef uint32_t i
    cdef uint16_t opcode
    if s.constant[temp]:
        i = s.constant[temp]
        o[0] = operand_at(p, p.instructions.operand_first[i])
        rewrite_emit(&s.out, instruction_make(p, p.instructions.opcode[i], p.instructions.format[i], &d, 1, o, 1))
        return name
    slot = s.slot[temp]
    place = s.slot_place[slot]
    if s.slot_file[slot] == file_sgpr:
        o[0] = operand_of(p, s.lanes[place // p.wave_size])
        o[1] = operand_c32(place % p.wave_size)
        rewrite_emit(&s.out, instruction_make(p, op_p_reload, format_pseudo, &d, 1, o, 2))
        return name
    _scratch_address(s, place, o, &immediate)
    opcode = op_scratch_load_dword
    if s.slot_size[slot] == 2:
        opcode = op_scratch_load_dwordx2
    elif s.slot_size[slot] == 3:
        opcode = op_scratch_load_dwordx3
    elif s.slot_size[slot] == 4:
        opcode = op_scratch_load_dwordx4
    i = instruction_make(p, opcode, opcode_format[opcode], &d, 1, o, 2)
    p.instructions.immediate[i] = immediate
    p.instructions.modifiers[i] = modifier_set_semantics(modifier_set_storage(0, storage_vgpr_spill), semantic_private)
    rewrite_emit(&s.out, i)
    return name


cdef uint32_t _cached_name(Spiller *s, uint32_t temp) noexcept nogil:
    cdef size_t k
    for k in range(s.cached.size()):
        if s.cached[k].temp == temp:
            return s.cached[k].name
    return 0


cdef void _forget(Spiller *s, uint32_t temp) noexcept nogil:
    cdef size_t k
    for k in range(s.cached.size()):
        if s.cached[k].temp == temp:
            s.cached[k] = s.cached.back()
            s.cached.pop_back()
            return


cdef void _keep_cache_within(Spiller *s, vector[int32_t] *demand, uint32_t position) noexcept nogil:
    """Drop reloaded values that the instruction does not name while they and the demand exceed the limit."""
    cdef int which
    cdef int32_t room
    cdef size_t k
    cdef uint32_t t
    for which in range(2):
        room = s.limit[which] - demand[which][position]
        for k in range(s.cached.size()):
            t = s.cached[k].temp
            if _file(_class(s, t)) == which and s.mark[t] != s.stamp:
                room -= _size(s, t)
        k = 0
        while room < 0 and k < s.cached.size():
            t = s.cached[k].temp
            if _file(_class(s, t)) == which and s.mark[t] != s.stamp:
                room += _size(s, t)
                s.cached[k] = s.cached.back()
                s.cached.pop_back()
            else:
                k += 1


cdef uint32_t _name_of(Spiller *s, uint32_t temp) except 0 nogil:
    """A register that holds a spilled value now."""
    cdef uint32_t name = _cached_name(s, temp)
    cdef Cached c
    if name:
        return name
    c.temp = temp
    c.name = _load(s, temp)
    s.cached.push_back(c)
    return c.name


cdef void _use_once(Spiller *s, uint32_t temp) noexcept nogil:
    if s.remaining[temp] > 0:
        s.remaining[temp] -= 1
    if s.remaining[temp] == 0:
        _forget(s, temp)


cdef int _prepare_block(Spiller *s, uint32_t block) except -1 nogil:
    """Demands by position, and how often the block uses each spilled value."""
    cdef ProgramData *p = s.p
    cdef uint32_t count = p.blocks.order_count[block]
    cdef uint32_t first = p.blocks.order_first[block]
    cdef uint32_t k = count
    cdef uint32_t i
    cdef uint32_t j
    cdef uint32_t row
    cdef int32_t after[2]
    cdef int32_t during[2]
    s.cached.clear()
    s.base[0].assign(count + 1, 0)
    s.base[1].assign(count + 1, 0)
    s.behind[0].assign(count + 1, 0)
    s.behind[1].assign(count + 1, 0)
    # temps made while rewriting are in no live set
    _live_out(s, block)
    _count(s, after)
    s.base[0][count] = after[0]
    s.base[1][count] = after[1]
    while k > 0:
        k -= 1
        i = p.order.instruction[first + k]
        if opcode_is_phi(p.instructions.opcode[i]):
            break
        _step_back(s, i, after, during)
        s.base[0][k] = during[0]
        s.base[1][k] = during[1]
        s.behind[0][k] = s.after_definitions[0]
        s.behind[1][k] = s.after_definitions[1]
        for j in range(p.instructions.operand_count[i]):
            row = p.instructions.operand_first[i] + j
            if p.operands.flags[row] & operand_temp:
                s.remaining[p.operands.data[row]] = 0
    for k in range(count):
        i = p.order.instruction[first + k]
        if opcode_is_phi(p.instructions.opcode[i]):
            continue
        for j in range(p.instructions.operand_count[i]):
            row = p.instructions.operand_first[i] + j
            if p.operands.flags[row] & operand_temp and s.spilled[p.operands.data[row]]:
                s.remaining[p.operands.data[row]] += 1
    return 0


cdef int _ordinary(Spiller *s, uint32_t i, uint32_t position) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef uint32_t k
    cdef uint32_t row
    cdef uint32_t t
    cdef uint32_t name
    cdef Cached c
    s.stamp += 1
    for k in range(p.instructions.operand_count[i]):
        row = p.instructions.operand_first[i] + k
        if p.operands.flags[row] & operand_temp:
            s.mark[p.operands.data[row]] = s.stamp
    _keep_cache_within(s, s.base, position)
    for k in range(p.instructions.operand_count[i]):
        row = p.instructions.operand_first[i] + k
        if p.operands.flags[row] & operand_temp and s.spilled[p.operands.data[row]]:
            t = p.operands.data[row]
            name = _name_of(s, t)
            p.operands.data[p.instructions.operand_first[i] + k] = name
            if s.remaining[t] > 0:
                s.remaining[t] -= 1
    # values without further uses in the block free their registers
    k = 0
    while k < s.cached.size():
        if s.remaining[s.cached[k].temp] == 0:
            s.cached[k] = s.cached.back()
            s.cached.pop_back()
        else:
            k += 1
    # operands may stay for later uses where there is room beside the definitions
    s.stamp += 1
    _keep_cache_within(s, s.behind, position)
    rewrite_emit(&s.out, i)
    for k in range(p.instructions.definition_count[i]):
        row = p.instructions.definition_first[i] + k
        if not p.definitions.flags[row] & definition_temp or not s.spilled[p.definitions.temp[row]]:
            continue
        t = p.definitions.temp[row]
        if not s.constant[t] and not p.definitions.flags[row] & definition_kill:
            _store(s, t, s.slot[t])
        if s.remaining[t]:
            c.temp = t
            c.name = t
            s.cached.push_back(c)
    return 0


# ------------------------------------------------------------------------------------------------------------------- edges
cdef int _store_operand(Spiller *s, Operand o, uint8_t register_class, uint32_t slot) except -1 nogil:
    """Write a constant, an SGPR or a temp of the right kind into a slot."""
    cdef ProgramData *p = s.p
    cdef Definition d
    if o.flags & operand_temp and class_is_vgpr(o.register_class) == class_is_vgpr(register_class):
        return _store(s, o.data, slot)
    d = definition_of(p, _fresh(s, register_class))
    rewrite_emit(&s.out, instruction_make(p, op_p_parallelcopy, format_pseudo, &d, 1, &o, 1))
    return _store(s, d.temp, slot)


cdef bint _slot_still_read(Spiller *s, size_t index) noexcept nogil:
    cdef size_t k
    for k in range(s.moves.size()):
        if k != index and not s.moves[k].done and s.moves[k].from_ == s.moves[index].to:
            return True
    return False


cdef int _run_moves(Spiller *s) except -1 nogil:
    """The moves between slots, as a parallel copy."""
    cdef size_t left = s.moves.size()
    cdef size_t k
    cdef size_t j
    cdef bint progress
    cdef uint32_t name
    while left:
        progress = False
        for k in range(s.moves.size()):
            if s.moves[k].done or _slot_still_read(s, k):
                continue
            if s.moves[k].from_ != <uint32_t>no_slot:
                name = _load(s, s.moves[k].temp)
                _store(s, name, s.moves[k].to)
            else:
                _store_operand(s, s.moves[k].operand, s.moves[k].register_class, s.moves[k].to)
            s.moves[k].done = True
            left -= 1
            progress = True
        if progress or not left:
            continue
        # a cycle: take what the first target slot holds into a register
        k = 0
        while s.moves[k].done:
            k += 1
        name = 0
        for j in range(s.moves.size()):
            if not s.moves[j].done and s.moves[j].from_ == s.moves[k].to:
                if not name:
                    name = _load(s, s.moves[j].temp)
                s.moves[j].from_ = <uint32_t>no_slot
                s.moves[j].operand = operand_of(s.p, name)
    s.moves.clear()
    return 0


cdef int _end_of_block(Spiller *s, uint32_t block, bint logical) except -1 nogil:
    """What the phis of the successors need from this block: operands in registers, or slots written."""
    cdef ProgramData *p = s.p
    cdef uint32_t successors = p.blocks.logical_succ_count[block] if logical else p.blocks.linear_succ_count[block]
    cdef uint32_t first = p.blocks.logical_succ_first[block] if logical else p.blocks.linear_succ_first[block]
    cdef uint32_t n
    cdef uint32_t q
    cdef uint32_t k
    cdef uint32_t i
    cdef uint32_t row
    cdef uint32_t d
    cdef uint32_t t
    cdef uint32_t name
    cdef SlotMove move
    cdef uint32_t round
    s.moves.clear()
    for round in range(2):
        # first what must be in registers at the end, while all slots are intact; then the moves between slots
        for q in range(successors):
            n = p.edge_lists.block[first + q]
            for k in range(p.blocks.order_count[n]):
                i = p.order.instruction[p.blocks.order_first[n] + k]
                if not opcode_is_phi(p.instructions.opcode[i]):
                    break
                if (p.instructions.opcode[i] == op_p_phi) != logical:
                    continue
                row = p.instructions.definition_first[i]
                if p.definitions.flags[row] & definition_temp and p.definitions.flags[row] & definition_kill:
                    continue
                d = p.definitions.temp[row]
                row = p.instructions.operand_first[i] + _edge_of(p, n, block, logical)
                t = p.operands.data[row] if p.operands.flags[row] & operand_temp else 0
                if round == 0 and t and s.spilled[t] and not _phi_is_spilled(s, i):
                    name = _name_of(s, t)
                    p.operands.data[row] = name
                if round == 1 and _phi_is_spilled(s, i) and not p.operands.flags[row] & operand_undef:
                    move.to = s.slot[d]
                    move.from_ = <uint32_t>no_slot
                    move.temp = t
                    move.register_class = _class(s, d)
                    move.done = False
                    move.operand = operand_at(p, row)
                    if t and s.spilled[t]:
                        if s.constant[t]:
                            move.operand = operand_at(p, p.instructions.operand_first[s.constant[t]])
                        elif _file(_class(s, t)) != _file(_class(s, d)):
                            move.operand = operand_of(p, _name_of(s, t))
                        elif s.slot[t] == s.slot[d]:
                            continue
                        else:
                            name = _cached_name(s, t)
                            if name:
                                move.operand = operand_of(p, name)
                            else:
                                move.from_ = s.slot[t]
                    s.moves.push_back(move)
    return _run_moves(s)


cdef int _start_lanes(Spiller *s) except -1 nogil:
    """The linear VGPRs begin with the program."""
    cdef size_t k
    cdef Definition d
    for k in range(s.lanes.size()):
        d = definition_of(s.p, s.lanes[k])
        rewrite_emit(&s.out, instruction_make(s.p, op_p_start_linear_vgpr, format_pseudo, &d, 1, NULL, 0))
    return 0


cdef int _end_lanes(Spiller *s) except -1 nogil:
    cdef size_t k
    cdef Operand o
    for k in range(s.lanes.size()):
        o = operand_of(s.p, s.lanes[k])
        o.flags |= operand_late_kill
        rewrite_emit(&s.out, instruction_make(s.p, op_p_end_linear_vgpr, format_pseudo, NULL, 0, &o, 1))
    return 0


cdef bint _phi_stays(Spiller *s, uint32_t i) noexcept nogil:
    """The operands of a dead phi are kept alive by nothing."""
    cdef uint32_t row = s.p.instructions.definition_first[i]
    return not _phi_is_spilled(s, i) and (not s.p.definitions.flags[row] & definition_kill
                                          or s.p.definitions.flags[row] & definition_fixed)


cdef int _store_late(Spiller *s) except -1 nogil:
    """What had to wait for scratch memory."""
    cdef size_t j = 0
    s.scratch_ready = True
    while j < s.late_stores.size():
        _store(s, s.late_stores[j], s.late_stores[j + 1])
        j += 2
    s.late_stores.clear()
    return 0


cdef int _rewrite_block(Spiller *s, uint32_t block) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef uint32_t k
    cdef uint32_t i
    cdef uint16_t opcode
    cdef bint lanes = block == 0
    cdef bint logical = False
    cdef bint linear = False
    cdef bint branch
    _prepare_block(s, block)
    for k in range(p.blocks.order_count[block]):
        i = p.order.instruction[p.blocks.order_first[block] + k]
        opcode = p.instructions.opcode[i]
        if opcode_is_phi(opcode):
            if _phi_stays(s, i):
                rewrite_emit(&s.out, i)
            continue
        if lanes:
            lanes = False
            if opcode == op_p_startpgm:
                # spills of arguments need the linear VGPRs, which begin behind them
                rewrite_emit(&s.out, i)
                _start_lanes(s)
                _stores_of(s, i)
                continue
            _start_lanes(s)
        branch = p.instructions.format[i] == format_pseudo_branch
        if opcode == op_p_logical_end or branch:
            s.stamp += 1
            _keep_cache_within(s, s.base, k)
            if not logical:
                _end_of_block(s, block, True)
                logical = True
            if branch:
                _end_of_block(s, block, False)
                linear = True
        elif opcode == op_s_endpgm:
            _end_lanes(s)
        _ordinary(s, i, k)
        if opcode == op_p_init_scratch:
            _store_late(s)
    if not logical:
        _end_of_block(s, block, True)
    if not linear:
        _end_of_block(s, block, False)
    return 0


cdef int _stores_of(Spiller *s, uint32_t i) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef uint32_t k
    cdef uint32_t row
    cdef uint32_t t
    cdef Cached c
    for k in range(p.instructions.definition_count[i]):
        row = p.instructions.definition_first[i] + k
        if not p.definitions.flags[row] & definition_temp or not s.spilled[p.definitions.temp[row]]:
            continue
        t = p.definitions.temp[row]
        if not p.definitions.flags[row] & definition_kill:
            _store(s, t, s.slot[t])
        if s.remaining[t]:
            c.temp = t
            c.name = t
            s.cached.push_back(c)
    return 0


# ------------------------------------------------------------------------------------------------------------------- driver
cdef bint _has_scratch_setup(const ProgramData *p) noexcept nogil:
    cdef uint32_t k
    for k in range(p.blocks.order_count[0]):
        if p.instructions.opcode[p.order.instruction[p.blocks.order_first[0] + k]] == op_p_init_scratch:
            return True
    return False


cdef int _attempt(Spiller *s, ProgramData *p, int32_t slack) except -1 nogil:
    cdef uint32_t temps = p.temps.table.count
    cdef uint32_t t
    cdef uint32_t b
    cdef int32_t lanes = 0
    cdef bint vgprs
    s.p = p
    s.cost.assign(temps, 0)
    s.spillable.assign(temps, 0)
    s.spilled.assign(temps, 0)
    s.constant.assign(temps, 0)
    s.slot.assign(temps, <uint32_t>no_slot)
    s.row_of.assign(temps, 0)
    s.web.resize(temps)
    for t in range(temps):
        s.web[t] = t
    s.web_spilled.assign(temps, 0)
    s.mark.assign(temps, 0)
    s.remaining.assign(temps, 0)
    live_set_init(&s.live, temps)
    linear_temps(p, &s.linear)
    s.stamp = 0
    # scratch_* of older generations need an SGPR; a move between slots needs a register of each
    s.limit[file_vgpr] = <int32_t>addressable_vgprs(p, min_waves(p))
    vgprs = p.max_demand_vgpr > s.limit[file_vgpr] - 8
    if p.max_demand_vgpr > s.limit[file_vgpr]:
        p.config.uses_scratch = 1
    s.limit[file_sgpr] = <int32_t>addressable_sgprs(p, min_waves(p))
    _costs(s)
    _webs(s)
    if p.max_demand_sgpr > s.limit[file_sgpr]:
        s.limit[file_sgpr] -= 4 + slack + (1 if vgprs else 0)
        _choose(s, file_sgpr)
        for t in range(1, temps):
            if s.spilled[t] and not s.constant[t]:
                lanes += _size(s, t)
        lanes = (lanes + <int32_t>p.wave_size - 1) // <int32_t>p.wave_size + 1
    elif vgprs:
        s.limit[file_sgpr] -= 1
        if p.max_demand_sgpr > s.limit[file_sgpr]:
            _choose(s, file_sgpr)
            lanes = 1
    if p.max_demand_vgpr > s.limit[file_vgpr] - lanes:
        p.config.uses_scratch = 1
        s.limit[file_vgpr] -= lanes + 2 + slack
        _choose(s, file_vgpr)
    _slots(s)
    _place_slots(s)
    s.mark.assign(p.temps.table.count + 1, 0)
    s.scratch_ready = p.gfx_level >= gfx11 or not _has_scratch_setup(p)
    if p.config.uses_scratch and s.scratch_ready and p.gfx_level < gfx11:
        with gil:
            raise UnsupportedError("spilling of VGPRs: the program has no scratch set up (p_init_scratch)")
    rewrite_begin(&s.out, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&s.out, b)
        _rewrite_block(s, b)
    rewrite_end(&s.out)
    return 0


cdef int spill_run(ProgramData *p) except -1 nogil:
    cdef Spiller *s
    cdef int32_t slack = 0
    cdef int32_t sgprs
    cdef int32_t vgprs
    while p.num_waves == 0:
        if slack > 48:
            sgprs = p.max_demand_sgpr
            vgprs = p.max_demand_vgpr
            with gil:
                raise UnsupportedError(f"spilling: {sgprs} SGPRs and {vgprs} VGPRs are still live at once")
        s = new Spiller()
        try:
            _attempt(s, p, slack)
        finally:
            del s
        live_variables_run(p)
        slack += 8
    p.progress = progress_after_spilling
    return 0


def run(Program program, options=None):
    """Spill where the register demand exceeds the limit. Liveness must be current, and is afterwards. Returns True."""
    with nogil:
        spill_run(&program.data)
    return True
