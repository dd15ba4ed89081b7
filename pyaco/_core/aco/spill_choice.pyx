"""Which values to spill: those that cost least and free most where the demand is too high.

Each block is walked backwards with its live set. Where the demand exceeds the limit, the values with the lowest cost (stores and reloads
weighted by loop depth, per register and per instruction of too high a demand that they live through) are spilled. Phis and their operands form
webs, which are spilled together.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from isa_opcodes cimport op_p_parallelcopy, op_p_phi, op_s_mov_b32, op_s_mov_b64, op_v_mov_b32
from pyaco._core.aco.live_set cimport bit_insert, live_erase, live_insert, live_next_word, live_test, no_temp
from pyaco._core.aco.live_variables cimport Demand, live_at_end
from pyaco._core.aco.queries cimport opcode_is_phi, tied_operand
from pyaco._core.aco.spiller cimport *
from pyaco._core.common.bits cimport trailing_zeros64
from pyaco._core.common.table cimport RowRange
from pyaco._core.ir.program cimport *

from pyaco.errors import UnsupportedError


# ----------------------------------------------------------------------------------------------------------------- costs
cdef bint _can_be_spilled(const ProgramData *p, DefinitionRow definition) noexcept nogil:
    cdef uint8_t register_class = p.definitions.register_class[definition]
    cdef uint16_t reg = p.definitions.reg[definition]
    if class_is_linear_vgpr(register_class):
        return False
    if p.definitions.flags[definition] & definition_fixed and register_vcc <= reg < register_vgpr0:
        return False                  # VCC, m0, exec, SCC
    if class_is_vgpr(register_class):
        return class_bytes(register_class) <= 4 or (class_dwords(register_class) <= 4 and not class_is_subdword(register_class))
    return class_dwords(register_class) <= 16


cdef uint32_t _makes_constant(const ProgramData *p, InstructionId i) noexcept nogil:
    """The instruction itself if it only puts a constant into one register, any one."""
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


cdef void estimate_costs(Spiller *s) noexcept nogil:
    """What spilling each temp would cost: one store, and a reload at each use."""
    cdef ProgramData *p = s.p
    cdef BlockId b
    cdef uint32_t k
    cdef uint32_t j
    cdef InstructionId i
    cdef uint32_t row
    cdef float weight
    cdef bint logical
    cdef BlockId pred
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


cdef void join_webs(Spiller *s) noexcept nogil:
    """Join phis and operands: once one of them has a slot, the others are cheaper to spill."""
    cdef ProgramData *p = s.p
    cdef BlockId b
    cdef uint32_t k
    cdef uint32_t j
    cdef InstructionId i
    cdef OperandRow row
    cdef TempId d
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not opcode_is_phi(p.instructions.opcode[i]):
                break
            d = p.definitions.temp[p.instructions.definition_first[i]]
            for j in range(p.instructions.operand_count[i]):
                row = p.instructions.operand_first[i] + j
                if d and p.operands.flags[row] & operand_temp and class_of_value(s, d) == class_of_value(s, p.operands.data[row]):
                    s.web[_web(s, p.operands.data[row])] = _web(s, d)


# ------------------------------------------------------------------------------------------------------------ what is gained
cdef void _note_relief(Spiller *s, int which, InstructionId i, uint32_t points) noexcept nogil:
    """Of what an instruction defines and reads, in front of `step_back`; `points` are the instructions with too high a demand behind it."""
    cdef ProgramData *p = s.p
    cdef RowRange rows = definitions_of(p, i)
    cdef DefinitionRow d
    cdef OperandRow o
    cdef TempId t
    for d in range(rows.first, rows.first + rows.count):
        t = p.definitions.temp[d]
        if p.definitions.flags[d] & definition_temp and live_test(&s.live, t):
            s.relief[t] += <float>points - <float>s.live_from[t]
    rows = operands_of(p, i)
    for o in range(rows.first, rows.first + rows.count):
        t = p.operands.data[o]
        if not p.operands.flags[o] & operand_temp or file_of(class_of_value(s, t)) != which:
            continue
        s.relief[t] -= 1                  # it is reloaded for this
        if not live_test(&s.live, t):
            s.live_from[t] = points


cdef void _add_relief_of_live(Spiller *s, int which, uint32_t points, bint begin) noexcept nogil:
    """At a block's end (`begin`) and at its start: of all that is live."""
    cdef uint32_t word = live_next_word(&s.live, 0)
    cdef uint64_t bits
    cdef TempId t
    while word != no_temp:
        bits = s.live.bits[word]
        while bits:
            t = word * 64 + trailing_zeros64(bits)
            if begin:
                s.live_from[t] = 0
            elif file_of(class_of_value(s, t)) == which:
                s.relief[t] += <float>points - <float>s.live_from[t]
            bits &= bits - 1
        word = live_next_word(&s.live, word + 1)


cdef int estimate_relief(Spiller *s, int which) except -1 nogil:
    """At how many instructions that need too many registers spilling each temp would free its own: what lives long and is seldom read frees most."""
    cdef ProgramData *p = s.p
    cdef BlockId b
    cdef OrderRow row
    cdef InstructionId i
    cdef uint32_t points
    cdef int32_t after[2]
    cdef int32_t during[2]
    s.relief.assign(p.temps.table.count, 0)
    s.live_from.assign(p.temps.table.count, 0)
    for b in range(p.blocks.table.count):
        if (p.blocks.demand_vgpr[b] if which else p.blocks.demand_sgpr[b]) <= s.limit[which]:
            continue
        load_live_out(s, b, after)
        points = 0
        _add_relief_of_live(s, which, points, True)
        row = p.blocks.order_first[b] + p.blocks.order_count[b]
        while row > p.blocks.order_first[b]:
            row -= 1
            i = p.order.instruction[row]
            if opcode_is_phi(p.instructions.opcode[i]):
                break
            _note_relief(s, which, i, points)
            step_back(s, i, after, during)
            points += during[which] > s.limit[which]
        _add_relief_of_live(s, which, points, False)
    return 0


# -------------------------------------------------------------------------------------------------------- choosing values
cdef inline int _add_candidate(Spiller *s, int which, TempId t) except -1 nogil:
    if s.spillable[t] and not s.spilled[t] and not s.is_candidate[t] and file_of(class_of_value(s, t)) == which:
        s.is_candidate[t] = 1
        s.candidates.push_back(t)
    return 0


cdef int _find_candidates(Spiller *s, int which) except -1 nogil:
    """Of the live set: those that are spilled already are most of it in large programs, and are looked at only here."""
    cdef uint32_t word = live_next_word(&s.live, 0)
    cdef uint64_t bits
    cdef size_t k
    for k in range(s.candidates.size()):
        s.is_candidate[s.candidates[k]] = 0
    s.candidates.clear()
    while word != no_temp:
        bits = s.live.bits[word] & ~s.spilled_bits[word]
        while bits:
            _add_candidate(s, which, word * 64 + trailing_zeros64(bits))
            bits &= bits - 1
        word = live_next_word(&s.live, word + 1)
    return 0


cdef int _add_candidate_operands(Spiller *s, int which, InstructionId i) except -1 nogil:
    cdef RowRange operands = operands_of(s.p, i)
    cdef OperandRow row
    for row in range(operands.first, operands.first + operands.count):
        if s.p.operands.flags[row] & operand_temp:
            _add_candidate(s, which, s.p.operands.data[row])
    return 0


cdef TempId _cheapest(Spiller *s) noexcept nogil:
    """The candidate that costs least, the oldest of several, and that the instruction at hand does not name; 0: none."""
    cdef TempId best = 0
    cdef float best_cost = 0
    cdef float cost
    cdef TempId t
    cdef size_t k = 0
    while k < s.candidates.size():
        t = s.candidates[k]
        if s.spilled[t] or not live_test(&s.live, t):
            s.is_candidate[t] = 0
            s.candidates[k] = s.candidates.back()
            s.candidates.pop_back()
            continue
        k += 1
        if s.mark[t] == s.stamp:
            continue
        cost = s.cost[t]
        if class_is_vgpr(class_of_value(s, t)):
            cost /= size_of_value(s, t)           # an access to scratch moves all of it, lanes are written and read one by one
        if s.web_spilled[_web(s, t)]:
            cost *= <float>0.5
        if s.relief[t] > 1:
            cost /= s.relief[t]
        if best == 0 or cost < best_cost or (cost == best_cost and t < best):
            best = t
            best_cost = cost
    return best


cdef int _spill_down(Spiller *s, int which, int32_t *demand, uint32_t block) except -1 nogil:
    """Spill candidates of a file, cheapest first, until the demand fits."""
    cdef TempId best
    while demand[0] > s.limit[which]:
        best = _cheapest(s)
        if best == 0:
            with gil:
                raise UnsupportedError(f"spilling: block {block} needs {demand[0]} {'VGPRs' if which else 'SGPRs'} at one "
                                       f"instruction, {s.limit[which]} can be had")
        s.spilled[best] = 1
        bit_insert(s.spilled_bits.data(), best)
        s.web_spilled[_web(s, best)] = 1
        demand[0] -= size_of_value(s, best)
    return 0


cdef void load_live_out(Spiller *s, BlockId block, int32_t *demand) noexcept nogil:
    cdef Demand whole = live_at_end(s.p, s.linear.data(), block, &s.live, &s.of_lists)
    cdef uint32_t word = live_next_word(&s.live, 0)
    cdef uint64_t bits
    cdef TempId t
    demand[file_sgpr] = whole.sgpr
    demand[file_vgpr] = whole.vgpr
    while word != no_temp:
        bits = s.live.bits[word] & s.spilled_bits[word]
        while bits:
            t = word * 64 + trailing_zeros64(bits)
            demand[file_of(class_of_value(s, t))] -= size_of_value(s, t)
            bits &= bits - 1
        word = live_next_word(&s.live, word + 1)


cdef void count_live(Spiller *s, int32_t *demand) noexcept nogil:
    """Registers of the live values that are not spilled."""
    cdef uint32_t word = live_next_word(&s.live, 0)
    cdef uint64_t bits
    cdef TempId t
    demand[0] = 0
    demand[1] = 0
    while word != no_temp:
        bits = s.live.bits[word] & ~s.spilled_bits[word]
        while bits:
            t = word * 64 + trailing_zeros64(bits)
            demand[file_of(class_of_value(s, t))] += size_of_value(s, t)
            bits &= bits - 1
        word = live_next_word(&s.live, word + 1)


cdef void _phi_operands_at_end(Spiller *s, BlockId block, int32_t *demand) noexcept nogil:
    """Operands of the successors' phis that are spilled while the phi is not: they are reloaded at the end of the block."""
    cdef ProgramData *p = s.p
    cdef uint32_t kind
    cdef uint32_t k
    cdef BlockId n
    cdef InstructionId i
    cdef uint32_t edge
    cdef uint32_t row
    cdef uint32_t count
    for kind in range(2):
        count = p.blocks.linear_succ_count[block] if kind else p.blocks.logical_succ_count[block]
        for k in range(count):
            n = p.edge_lists.block[(p.blocks.linear_succ_first[block] if kind else p.blocks.logical_succ_first[block]) + k]
            edge = edge_of(p, n, block, kind == 0)
            for row in range(p.blocks.order_count[n]):
                i = p.order.instruction[p.blocks.order_first[n] + row]
                if not opcode_is_phi(p.instructions.opcode[i]):
                    break
                if (p.instructions.opcode[i] == op_p_phi) != (kind == 0):
                    continue
                if p.operands.flags[p.instructions.operand_first[i] + edge] & operand_temp \
                        and s.spilled[p.operands.data[p.instructions.operand_first[i] + edge]] \
                        and not phi_is_spilled(s, i):
                    demand[file_of(p.operands.register_class[p.instructions.operand_first[i] + edge])] += \
                        <int32_t>class_dwords(p.operands.register_class[p.instructions.operand_first[i] + edge])


cdef uint32_t edge_of(const ProgramData *p, BlockId block, uint32_t predecessor, bint logical) noexcept nogil:
    cdef uint32_t first = p.blocks.logical_pred_first[block] if logical else p.blocks.linear_pred_first[block]
    cdef uint32_t count = p.blocks.logical_pred_count[block] if logical else p.blocks.linear_pred_count[block]
    cdef uint32_t k = 0
    while k + 1 < count and p.edge_lists.block[first + k] != predecessor:
        k += 1
    return k


cdef int _before_definitions(Spiller *s, InstructionId i, int32_t *after, int32_t *during) except -1 nogil:
    """Take what an instruction defines out of the live set; `during` still counts it, and results that nothing reads."""
    cdef RowRange definitions
    cdef ProgramData *p = s.p
    cdef DefinitionRow row
    cdef TempId t
    cdef int which
    definitions = definitions_of(p, i)
    for row in range(definitions.first, definitions.first + definitions.count):
        if not p.definitions.flags[row] & definition_temp:
            continue
        t = p.definitions.temp[row]
        which = file_of(class_of_value(s, t))
        s.mark[t] = s.stamp
        if live_test(&s.live, t):
            live_erase(&s.live, t)
            if not s.spilled[t]:
                after[which] -= size_of_value(s, t)
                continue
        during[which] += size_of_value(s, t)
    return 0


cdef void _count_operands(Spiller *s, InstructionId i, int32_t *before, int32_t *during) noexcept nogil:
    """Add the operands that do not live on: to what is needed in front, and where they are read late, to what is needed during."""
    cdef RowRange rows
    cdef ProgramData *p = s.p
    cdef OperandRow row
    cdef TempId t
    cdef int which
    cdef int tied
    rows = operands_of(p, i)
    for row in range(rows.first, rows.first + rows.count):
        if not p.operands.flags[row] & operand_temp:
            continue
        t = p.operands.data[row]
        which = file_of(class_of_value(s, t))
        if s.mark[t] == s.stamp:
            continue
        s.mark[t] = s.stamp
        if s.spilled[t] or not live_test(&s.live, t):
            before[which] += size_of_value(s, t)
            if p.operands.flags[row] & operand_late_kill:
                during[which] += size_of_value(s, t)
    tied = tied_operand(p, i)
    row = p.instructions.operand_first[i] + tied
    if tied >= 0 and p.operands.flags[row] & operand_temp and live_test(&s.live, p.operands.data[row]):
        before[file_of(p.operands.register_class[row])] += <int32_t>class_dwords(p.operands.register_class[row])


cdef int step_back(Spiller *s, InstructionId i, int32_t *after, int32_t *during) except -1 nogil:
    """From the live set after an instruction to the one in front of it: `after` becomes the demand there, `during` what the
    instruction needs; all of values that are not spilled, and of spilled ones that it names."""
    cdef RowRange operands
    cdef ProgramData *p = s.p
    cdef uint32_t k
    cdef OperandRow row
    cdef TempId t
    cdef int32_t before[2]
    s.stamp += 1
    during[0] = after[0]
    during[1] = after[1]
    _before_definitions(s, i, after, during)
    before[0] = after[0]
    before[1] = after[1]
    _count_operands(s, i, before, during)
    operands = operands_of(p, i)
    for row in range(operands.first, operands.first + operands.count):
        if p.operands.flags[row] & operand_temp and not live_test(&s.live, p.operands.data[row]):
            t = p.operands.data[row]
            live_insert(&s.live, t)
            if not s.spilled[t]:
                after[file_of(class_of_value(s, t))] += size_of_value(s, t)
    for k in range(2):
        s.after_definitions[k] = during[k]
        if before[k] > during[k]:
            during[k] = before[k]
    return 0


cdef int _choose_in_block(Spiller *s, int which, BlockId block) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef OrderRow first = p.blocks.order_first[block]
    cdef uint32_t k = p.blocks.order_count[block]
    cdef InstructionId i
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
    load_live_out(s, block, after)
    _find_candidates(s, which)
    during[0] = after[0]
    during[1] = after[1]
    _phi_operands_at_end(s, block, during)
    s.stamp += 1
    old = during[which]
    _spill_down(s, which, &during[which], block)
    after[which] -= old - during[which]
    while k > 0:
        i = p.order.instruction[first + k - 1]
        if opcode_is_phi(p.instructions.opcode[i]):
            break
        k -= 1
        step_back(s, i, after, during)
        _add_candidate_operands(s, which, i)
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
            _add_candidate(s, which, p.definitions.temp[p.instructions.definition_first[i]])
    count_live(s, after)
    if after[which] > s.limit[which]:
        _spill_down(s, which, &after[which], block)
    return 0


# --------------------------------------------------------------------------------------------------------------- phis between
cdef struct Reading:
    TempId temp                       # a phi
    TempId by                         # another phi, 0: an instruction
    float weight


cdef float _weight_of_edge(const ProgramData *p, BlockId block, InstructionId phi, uint32_t operand) noexcept nogil:
    if p.instructions.opcode[phi] == op_p_phi:
        return _weight(p.blocks.loop_depth[p.edge_lists.block[p.blocks.logical_pred_first[block] + operand]])
    return _weight(p.blocks.loop_depth[p.edge_lists.block[p.blocks.linear_pred_first[block] + operand]])


cdef int _note_readings(const ProgramData *p, const vector[uint32_t] &phi_of, vector[vector[Reading]] &readings) except -1 nogil:
    """Who reads each phi, by the numbers of phis."""
    cdef Reading r
    cdef BlockId b
    cdef OrderRow k
    cdef InstructionId i
    cdef OperandRow row
    cdef TempId temp
    cdef bint phi
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
            i = p.order.instruction[k]
            phi = opcode_is_phi(p.instructions.opcode[i])
            for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
                temp = p.operands.data[row]
                if not p.operands.flags[row] & operand_temp or phi_of[temp] == 0:
                    continue
                r.by = p.definitions.temp[p.instructions.definition_first[i]] if phi else 0
                r.weight = _weight_of_edge(p, b, i, row - p.instructions.operand_first[i]) if phi else _weight(p.blocks.loop_depth[b])
                readings[phi_of[temp]].push_back(r)
    return 0


cdef float _gain(Spiller *s, BlockId block, InstructionId i, const vector[Reading] &readings) noexcept nogil:
    """Accesses to lanes or scratch that go if a phi is spilled, less those that come."""
    cdef const ProgramData *p = s.p
    cdef float gain = 0
    cdef float weight
    cdef OperandRow row
    cdef uint32_t k
    for k in range(p.instructions.operand_count[i]):
        row = p.instructions.operand_first[i] + k
        weight = _weight_of_edge(p, block, i, k)
        if p.operands.flags[row] & operand_temp and s.spilled[p.operands.data[row]]:
            gain += weight
        elif not p.operands.flags[row] & operand_undef:
            gain -= weight
    for k in range(<uint32_t>readings.size()):
        gain += readings[k].weight if readings[k].by and s.spilled[readings[k].by] else -readings[k].weight
    return gain


cdef int _spill_between(Spiller *s, int which) except -1 nogil:
    """Spill phis, too, whose values come from spilled ones and go to such: what stays in its slot is neither reloaded nor stored."""
    cdef ProgramData *p = s.p
    cdef vector[uint32_t] phi_of
    cdef vector[vector[Reading]] readings
    cdef BlockId b
    cdef uint32_t k
    cdef uint32_t count = 0
    cdef InstructionId i
    cdef TempId temp
    phi_of.assign(p.temps.table.count, 0)
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not opcode_is_phi(p.instructions.opcode[i]):
                break
            temp = p.definitions.temp[p.instructions.definition_first[i]]
            if temp and s.spillable[temp] and file_of(class_of_value(s, temp)) == which:
                count += 1
                phi_of[temp] = count
    readings.resize(count + 1)
    _note_readings(p, phi_of, readings)
    # Backwards, so that the phis that read one are decided on before it, those of loops aside.
    b = p.blocks.table.count
    while b > 0:
        b -= 1
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not opcode_is_phi(p.instructions.opcode[i]):
                break
            temp = p.definitions.temp[p.instructions.definition_first[i]]
            if temp and phi_of[temp] and not s.spilled[temp] and _gain(s, b, i, readings[phi_of[temp]]) > 0:
                s.spilled[temp] = 1
                bit_insert(s.spilled_bits.data(), temp)
    return 0


cdef int choose_spilled(Spiller *s, int which) except -1 nogil:
    """Blocks of deeper loops choose first, so that what they keep is not reloaded there."""
    cdef ProgramData *p = s.p
    cdef int32_t depth = 0
    cdef BlockId b
    if s.counts_relief:
        estimate_relief(s, which)
    else:
        s.relief.assign(p.temps.table.count, 0)
    for b in range(p.blocks.table.count):
        if p.blocks.loop_depth[b] > depth:
            depth = p.blocks.loop_depth[b]
    while depth >= 0:
        for b in range(p.blocks.table.count):
            if p.blocks.loop_depth[b] == depth:
                _choose_in_block(s, which, b)
        depth -= 1
    return _spill_between(s, which)
