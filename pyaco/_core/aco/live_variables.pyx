"""Live variables and register demand.

Needs: blocks in an order where every edge but those back to loop headers goes forward; edges finished; SSA or the
result of register allocation (temps are kept there). Guarantees:

- ``live_in``: the temps alive at the start of each block (``live_set.pxd``). Phi definitions of the block are not among them, phi
  operands are live at the end of their predecessor only. VGPRs flow over logical edges, SGPRs and linear VGPRs over linear edges.
- ``operand_kill`` on every operand whose temp dies at the instruction, ``operand_first_kill`` on the first of them;
  ``operand_late_kill`` is an input and is spread to every operand naming the same temp. On phis ``operand_kill`` means
  that the temp is not live into the block. ``definition_kill`` on definitions that are never used. The operands of a
  phi with a killed definition keep nothing alive.
- ``demand_*`` of an instruction: the larger of what is live before it (plus a copy of a tied operand that lives on) and
  what is live after it plus dead definitions and late-killed operands. Of a block: the highest of its instructions and
  its live-in demand, which counts phi definitions. ``max_demand_*``: the highest of all blocks.
- ``num_waves``: occupancy of that demand, 0 when registers must be spilled; ``max_waves``: without register limits.

Source: backward data-flow over bit vectors, loops by re-visiting, from the furthest one on, the blocks whose successors changed. So that few have
to be, the list of a loop's header begins with what is defined before the loop and read in it or behind it: this is live in all of the loop
(B. Boissinot et al., "A non-iterative data-flow algorithm for computing liveness sets in strict SSA programs"). Demand model after ACO's
(S. Hack, "Register allocation for programs in SSA form": the demand is the allocation).
"""
from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy
from libcpp.algorithm cimport reverse

from isa_opcodes cimport op_p_create_vector, op_p_phi, op_v_mqsad_u32_u8
from pyaco._core.aco.live_set cimport (
    LiveSet, bit_erase, bit_insert, live_add_row, live_add_word, live_erase, live_insert, live_set_clear, live_set_init, live_test,
    live_word_count, live_words,
)
from pyaco._core.aco.occupancy cimport suitable_waves, waves_of_demand
from pyaco._core.common.bits cimport trailing_zeros64
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.common.table cimport table_append_many, table_clear
from pyaco._core.aco.queries cimport opcode_is_phi, tied_operand
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport (
    BlockId, DefinitionRow, InstructionId, OperandRow, OrderRow, Program, ProgramData, TempId, class_bytes, class_dwords,
    class_is_linear, class_is_vgpr, definition_fixed, definition_kill, definition_temp, format_vop2, format_vop3, format_vopc, gfx8,
    operand_first_kill, operand_fixed, operand_kill, operand_late_kill, operand_temp, operand_undef, register_vcc,
)

cdef enum:                        # by which edges a block is reached within a loop
    reached_linear = 1
    reached_logical = 2
    no_block = 0xffffffff         # of a temp without a definition
    several_blocks = 0xfffffffe   # of one with several, after register allocation

cdef struct Loop:
    BlockId header
    BlockId latch                 # the last block with an edge back
    uint32_t next                 # number + 1 of the next one within it that has the same latch, 0: none

cdef cppclass Context:
    ProgramData *p
    SmallVector[uint64_t] linear       # bits of the temps that live through linear edges
    LiveSet live                  # the working set
    SmallVector[uint32_t] room         # by block: capacity of its list in LiveIn, in rows
    SmallVector[Demand] live_in        # by block: of its list, phi definitions left out
    SmallVector[uint8_t] dirty         # by block: it has not been visited, or what flows into its end has changed since
    int64_t worklist              # no block from here on is dirty
    SmallVector[Loop] loops            # an inner one after those around it
    SmallVector[uint32_t] loop_of      # by block: number + 1 of the loop that begins there. The rest is empty without loops
    SmallVector[uint32_t] latch_of     # by block: number + 1 of the outermost loop that ends there, 0 when it has been looked at
    SmallVector[uint8_t] reached       # by block, of the loop at hand
    SmallVector[BlockId] defined_in    # by temp
    SmallVector[uint8_t] read          # by temp: an instruction reads it, or a phi that is read itself
    SmallVector[InstructionId] phis


cdef inline void _add(Demand *d, uint8_t register_class, int sign) noexcept nogil:
    if class_is_vgpr(register_class):
        d.vgpr += sign * <int32_t>class_dwords(register_class)
    else:
        d.sgpr += sign * <int32_t>class_dwords(register_class)


cdef inline void _raise_to(Demand *d, Demand other) noexcept nogil:
    if other.sgpr > d.sgpr:
        d.sgpr = other.sgpr
    if other.vgpr > d.vgpr:
        d.vgpr = other.vgpr


cdef void _add_counted(const ProgramData *p, LiveSet *live, uint32_t word, uint64_t bits, Demand *demand) noexcept nogil:
    """Add the temps of a word, and their registers to the demand unless they were there."""
    cdef uint64_t fresh = bits & ~live.bits[word]
    if not fresh:
        return
    live_add_word(live, word, bits)
    while fresh:
        _add(demand, p.temps.register_class[word * 64 + trailing_zeros64(fresh)], 1)
        fresh &= fresh - 1


cdef void _insert_phi_operands(const ProgramData *p, uint32_t block, BlockId successor, bint logical,
                               LiveSet *live, Demand *demand) noexcept nogil:
    """The operands that phis of `successor` read at the end of `block`."""
    cdef uint32_t first = p.blocks.logical_pred_first[successor] if logical else p.blocks.linear_pred_first[successor]
    cdef uint32_t count = p.blocks.logical_pred_count[successor] if logical else p.blocks.linear_pred_count[successor]
    cdef uint32_t position = 0
    cdef OrderRow k
    cdef InstructionId i
    cdef OperandRow operand
    cdef TempId temp
    for k in range(p.blocks.order_first[successor], p.blocks.order_first[successor] + p.blocks.order_count[successor]):
        i = p.order.instruction[k]
        if not opcode_is_phi(p.instructions.opcode[i]):
            break
        if (p.instructions.opcode[i] == op_p_phi) != logical or p.definitions.flags[p.instructions.definition_first[i]] & definition_kill:
            continue
        # The first of the phis finds it for all.
        while position < count and p.edge_lists.block[first + position] != block:
            position += 1
        if position >= p.instructions.operand_count[i]:
            continue
        operand = p.instructions.operand_first[i] + position
        temp = p.operands.data[operand]
        if p.operands.flags[operand] & operand_temp and temp < live.bits.size() * 64:
            _add_counted(p, live, temp >> 6, <uint64_t>1 << (temp & 63), demand)


cdef void _add_masked(const ProgramData *p, BlockId block, const uint64_t *linear, bint logical, LiveSet *live,
                      Demand *demand) noexcept nogil:
    """Add what is alive at the start of `block` and flows over the edges of one CFG."""
    cdef uint32_t k
    cdef uint32_t w
    cdef uint64_t bits
    for k in range(p.blocks.live_in_first[block], p.blocks.live_in_first[block] + p.blocks.live_in_count[block]):
        w = p.live_in.word[k]
        bits = p.live_in.bits[k] & (~linear[w] if logical else linear[w])
        if bits:
            _add_counted(p, live, w, bits, demand)


cdef void _add_all(const ProgramData *p, BlockId block, LiveSet *live, Demand *demand) noexcept nogil:
    """Add what is alive at the start of `block`, where it follows in both CFGs."""
    cdef uint32_t k
    for k in range(p.blocks.live_in_first[block], p.blocks.live_in_first[block] + p.blocks.live_in_count[block]):
        _add_counted(p, live, p.live_in.word[k], p.live_in.bits[k], demand)


cdef bint _is_among(const ProgramData *p, BlockId block, uint32_t first, uint32_t count) noexcept nogil:
    """Whether a block is one of those in a part of the lists of edges."""
    cdef uint32_t k
    for k in range(first, first + count):
        if p.edge_lists.block[k] == block:
            return True
    return False


cdef Demand live_at_end(const ProgramData *p, const uint64_t *linear, BlockId block, LiveSet *live,
                        const SmallVector[Demand] *of_lists) noexcept nogil:
    cdef uint32_t k
    cdef BlockId s
    cdef Demand demand
    cdef bint first = True
    demand.sgpr = demand.vgpr = 0
    live_set_clear(live)
    for k in range(p.blocks.linear_succ_count[block]):
        s = p.edge_lists.block[p.blocks.linear_succ_first[block] + k]
        if not _is_among(p, s, p.blocks.logical_succ_first[block], p.blocks.logical_succ_count[block]):
            _add_masked(p, s, linear, False, live, &demand)
        elif first and of_lists != NULL:
            live_add_row(live, p, s)
            demand = of_lists[0][s]
        else:
            _add_all(p, s, live, &demand)
        first = False
    for k in range(p.blocks.logical_succ_count[block]):
        s = p.edge_lists.block[p.blocks.logical_succ_first[block] + k]
        if not _is_among(p, s, p.blocks.linear_succ_first[block], p.blocks.linear_succ_count[block]):
            _add_masked(p, s, linear, True, live, &demand)
        _insert_phi_operands(p, block, s, True, live, &demand)
    for k in range(p.blocks.linear_succ_count[block]):
        _insert_phi_operands(p, block, p.edge_lists.block[p.blocks.linear_succ_first[block] + k], False, live, &demand)
    return demand


cdef inline uint64_t _linear_of_eight(const uint8_t *classes) noexcept nogil:
    """`class_is_linear` of eight temps as bits."""
    cdef uint64_t eight
    memcpy(&eight, classes, 8)
    # The product brings the lowest bit of each byte into the highest byte.
    return (((eight >> 7 | ~eight >> 5) & 0x0101010101010101ULL) * 0x0102040810204080ULL) >> 56


cdef int linear_temps(const ProgramData *p, SmallVector[uint64_t] *linear) except -1 nogil:
    cdef TempId t = 0
    cdef TempId count = p.temps.table.count
    linear.assign((count + 63) >> 6, 0)
    while t + 8 <= count:
        linear.data()[t >> 6] |= _linear_of_eight(&p.temps.register_class[t]) << (t & 63)
        t += 8
    while t < count:
        if class_is_linear(p.temps.register_class[t]):
            bit_insert(linear.data(), t)
        t += 1
    if count:
        bit_erase(linear.data(), 0)
    return 0


cdef int _begin(Context *c, ProgramData *p) except -1 nogil:
    """A context of which nothing is known yet of any block."""
    cdef Demand none
    none.sgpr = none.vgpr = 0
    c.p = p
    c.live_in.assign(p.blocks.table.count, none)
    c.dirty.assign(p.blocks.table.count, True)
    linear_temps(p, &c.linear)
    return live_set_init(&c.live, p.temps.table.count)


cdef int demand_of_lists(const ProgramData *p, SmallVector[Demand] *of_lists) except -1 nogil:
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    cdef DefinitionRow row
    cdef Demand demand
    of_lists.resize(p.blocks.table.count)
    for b in range(p.blocks.table.count):
        demand.sgpr = p.blocks.live_in_demand_sgpr[b]
        demand.vgpr = p.blocks.live_in_demand_vgpr[b]
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not opcode_is_phi(p.instructions.opcode[i]):
                break
            row = p.instructions.definition_first[i]
            if p.definitions.flags[row] & definition_temp and not p.definitions.flags[row] & definition_kill:
                _add(&demand, p.temps.register_class[p.definitions.temp[row]], -1)
        of_lists[0][b] = demand
    return 0


cdef bint needs_vcc(const ProgramData *p, InstructionId i) noexcept nogil:
    """Encodings that can name VCC only: VOPC and the carries of VOP2."""
    cdef uint16_t format = p.instructions.format[i]
    cdef OperandRow operand
    if format & format_vop3:
        return False
    if format & format_vopc:
        return True
    if not format & format_vop2:
        return False
    if p.instructions.definition_count[i] == 2:
        return True
    if p.instructions.operand_count[i] != 3:
        return False
    operand = p.instructions.operand_first[i] + 2
    return (p.operands.flags[operand] & operand_temp) != 0 and not class_is_vgpr(p.operands.register_class[operand])


cdef void _definitions(Context *c, InstructionId i, Demand *live, Demand *during) noexcept nogil:
    """Definitions end liveness (walking backwards); a dead one occupies a register during the instruction only."""
    cdef ProgramData *p = c.p
    cdef uint16_t *flags = p.definitions.flags
    cdef DefinitionRow row = p.instructions.definition_first[i]
    cdef DefinitionRow end = row + p.instructions.definition_count[i]
    cdef TempId temp
    during[0] = live[0]
    while row < end:
        if flags[row] & definition_fixed and p.definitions.reg[row] == register_vcc:
            p.config.uses_vcc = 1
        if flags[row] & definition_temp:
            temp = p.definitions.temp[row]
            if live_test(&c.live, temp):
                live_erase(&c.live, temp)
                _add(live, p.definitions.register_class[row], -1)
                flags[row] &= ~<uint16_t>definition_kill
            else:
                _add(during, p.definitions.register_class[row], 1)
                flags[row] |= definition_kill
        row += 1


cdef void _named_again(Context *c, InstructionId i, OperandRow row, Demand *during) noexcept nogil:
    """An operand whose temp is live: it dies here where an operand before it was its first read, and late if one of them does."""
    cdef ProgramData *p = c.p
    cdef uint16_t *flags = p.operands.flags
    cdef TempId temp = p.operands.data[row]
    cdef OperandRow k = p.instructions.operand_first[i]
    cdef OperandRow first
    while k < row and not (flags[k] & operand_first_kill and p.operands.data[k] == temp):
        k += 1
    if k == row:
        return
    first = k
    if flags[row] & operand_late_kill and not flags[first] & operand_late_kill:
        _add(during, p.operands.register_class[first], 1)
        for k in range(first, row):
            if flags[k] & operand_temp and p.operands.data[k] == temp:
                flags[k] |= operand_late_kill
    flags[row] |= <uint16_t>operand_kill | (flags[first] & <uint16_t>operand_late_kill)


cdef void _operands(Context *c, InstructionId i, Demand *live, Demand *during) noexcept nogil:
    """First reads (walking backwards) begin liveness: those operands are kills."""
    cdef ProgramData *p = c.p
    cdef uint16_t *flags = p.operands.flags
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef OperandRow end = row + p.instructions.operand_count[i]
    cdef TempId temp
    cdef bint kills = False
    while row < end:
        flags[row] &= ~<uint16_t>(operand_kill | operand_first_kill)
        if flags[row] & operand_temp:
            if flags[row] & operand_fixed and p.operands.reg[row] == register_vcc:
                p.config.uses_vcc = 1
            temp = p.operands.data[row]
            if not live_test(&c.live, temp):
                kills = True
                live_insert(&c.live, temp)
                flags[row] |= <uint16_t>(operand_kill | operand_first_kill)
                _add(live, p.operands.register_class[row], 1)
                if flags[row] & operand_late_kill:
                    _add(during, p.operands.register_class[row], 1)
            elif kills:
                _named_again(c, i, row, during)
        row += 1


cdef void _keep_parts_apart(ProgramData *p, InstructionId i) noexcept nogil:
    """Before GFX8 bytes cannot move within a register: a vector of parts stands in none of those that it is made of."""
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef bint parts = False
    cdef uint32_t k
    if p.gfx_level >= gfx8 or p.instructions.opcode[i] != op_p_create_vector:
        return
    for k in range(count):
        parts |= class_bytes(p.operands.register_class[first + k]) % 4 != 0 and not p.operands.flags[first + k] & operand_undef
    for k in range(count):
        if parts and p.operands.flags[first + k] & operand_temp and class_is_vgpr(p.operands.register_class[first + k]):
            p.operands.flags[first + k] |= operand_late_kill


cdef void _keep_sums_apart(ProgramData *p, InstructionId i) noexcept nogil:
    """Of four sums of differences, the first is written before everything has been read."""
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t k
    if p.instructions.opcode[i] != op_v_mqsad_u32_u8:
        return
    for k in range(p.instructions.operand_count[i]):
        if p.operands.flags[first + k] & operand_temp:
            p.operands.flags[first + k] |= operand_late_kill


cdef void _instruction(Context *c, InstructionId i, Demand *live) noexcept nogil:
    cdef ProgramData *p = c.p
    cdef Demand during
    cdef Demand before
    cdef int tied
    if not p.config.uses_vcc and needs_vcc(p, i):
        p.config.uses_vcc = 1
    _keep_parts_apart(p, i)
    _keep_sums_apart(p, i)
    _definitions(c, i, live, &during)
    _operands(c, i, live, &during)
    before = live[0]
    tied = tied_operand(p, i)
    if tied >= 0 and not p.operands.flags[p.instructions.operand_first[i] + tied] & operand_kill:
        _add(&before, p.definitions.register_class[p.instructions.definition_first[i]], 1)
    _raise_to(&during, before)
    p.instructions.demand_sgpr[i] = <int16_t>during.sgpr
    p.instructions.demand_vgpr[i] = <int16_t>during.vgpr


cdef inline void _revisit(Context *c, BlockId block) noexcept nogil:
    """All predecessors must be visited again."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef BlockId b
    for k in range(p.blocks.linear_pred_count[block]):
        b = p.edge_lists.block[p.blocks.linear_pred_first[block] + k]
        c.dirty[b] = True
        if <int64_t>b + 1 > c.worklist:
            c.worklist = b + 1
    for k in range(p.blocks.logical_pred_count[block]):
        b = p.edge_lists.block[p.blocks.logical_pred_first[block] + k]
        c.dirty[b] = True
        if <int64_t>b + 1 > c.worklist:
            c.worklist = b + 1


cdef Demand _phis(Context *c, BlockId block, uint32_t count, Demand live) noexcept nogil:
    """The phis of a block, of whose values `live` registers are alive behind them; returns those alive in front, which leaves out their
    definitions."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef uint32_t j
    cdef InstructionId i
    cdef uint32_t row
    cdef TempId temp
    cdef bint dead
    cdef Demand before = live
    for k in range(count):
        i = p.order.instruction[p.blocks.order_first[block] + k]
        p.instructions.demand_sgpr[i] = <int16_t>live.sgpr
        p.instructions.demand_vgpr[i] = <int16_t>live.vgpr
        row = p.instructions.definition_first[i]
        if p.definitions.flags[row] & definition_fixed and p.definitions.reg[row] == register_vcc:
            p.config.uses_vcc = 1
        if not p.definitions.flags[row] & definition_temp:
            continue
        temp = p.definitions.temp[row]
        dead = not live_test(&c.live, temp)
        if not dead and p.definitions.flags[row] & definition_kill:
            _revisit(c, block)
            p.definitions.flags[row] &= ~<uint16_t>definition_kill
        elif dead:
            p.definitions.flags[row] |= definition_kill
        if not dead:
            live_erase(&c.live, temp)
            _add(&before, p.temps.register_class[temp], -1)
    for k in range(count):
        i = p.order.instruction[p.blocks.order_first[block] + k]
        for j in range(p.instructions.operand_count[i]):
            row = p.instructions.operand_first[i] + j
            p.operands.flags[row] &= ~<uint16_t>(operand_kill | operand_first_kill)
            if not p.operands.flags[row] & operand_temp:
                continue
            temp = p.operands.data[row]
            if not live_test(&c.live, temp):
                p.operands.flags[row] |= operand_kill
    return before


cdef bint _keep(Context *c, BlockId block, Demand demand) except -1 nogil:
    """Add the working set, of these registers, to the list of the block, and say whether the list grew. A list that needs more room moves to
    the end."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef uint32_t count
    cdef bint grew = False
    for k in range(p.blocks.live_in_first[block], p.blocks.live_in_first[block] + p.blocks.live_in_count[block]):
        _add_counted(p, &c.live, p.live_in.word[k], p.live_in.bits[k], &demand)
        grew = grew or c.live.bits[p.live_in.word[k]] != p.live_in.bits[k]
    c.live_in[block] = demand
    count = live_word_count(&c.live)
    # The list is part of the set now: what it lacks is in its words or in others.
    if not grew and count == p.blocks.live_in_count[block]:
        return False
    if count > c.room[block]:
        p.blocks.live_in_first[block] = table_append_many(&p.live_in.table, count)
        c.room[block] = count
    p.blocks.live_in_count[block] = count
    live_words(&c.live, &p.live_in.word[p.blocks.live_in_first[block]], &p.live_in.bits[p.blocks.live_in_first[block]])
    return True


cdef int _block(Context *c, BlockId block) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef OrderRow first = p.blocks.order_first[block]
    cdef uint32_t k = p.blocks.order_count[block]
    cdef InstructionId i
    cdef Demand live
    cdef Demand before
    cdef Demand highest
    c.dirty[block] = False
    live = live_at_end(p, c.linear.data(), block, &c.live, &c.live_in)
    highest = live
    while k > 0:
        i = p.order.instruction[first + k - 1]
        if opcode_is_phi(p.instructions.opcode[i]):
            break
        _instruction(c, i, &live)
        if p.instructions.demand_sgpr[i] > highest.sgpr:
            highest.sgpr = p.instructions.demand_sgpr[i]
        if p.instructions.demand_vgpr[i] > highest.vgpr:
            highest.vgpr = p.instructions.demand_vgpr[i]
        k -= 1
    _raise_to(&highest, live)
    if highest.sgpr > 32767 or highest.vgpr > 32767:
        with gil:
            raise OverflowError(f"block {block}: more than 32767 registers are live at once")
    before = _phis(c, block, k, live)
    p.blocks.demand_sgpr[block] = <int16_t>highest.sgpr
    p.blocks.demand_vgpr[block] = <int16_t>highest.vgpr
    p.blocks.live_in_demand_sgpr[block] = <int16_t>live.sgpr
    p.blocks.live_in_demand_vgpr[block] = <int16_t>live.vgpr
    if _keep(c, block, before):
        _revisit(c, block)
    return 0


cdef int _find_loops(Context *c) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef BlockId b
    cdef uint32_t k
    cdef Loop loop
    for b in range(p.blocks.table.count):
        loop.header = loop.latch = b
        loop.next = 0
        for k in range(p.blocks.linear_pred_first[b], p.blocks.linear_pred_first[b] + p.blocks.linear_pred_count[b]):
            if p.edge_lists.block[k] >= b:
                loop.latch = max(loop.latch, p.edge_lists.block[k])
        if loop.latch != b:
            c.loops.push_back(loop)
    return 0


cdef int _find_reads(Context *c) except -1 nogil:
    """Where temps are defined, and what is read. A block that nothing leads to does not count."""
    cdef ProgramData *p = c.p
    cdef BlockId b
    cdef OrderRow k
    cdef InstructionId i
    cdef uint32_t row
    cdef TempId temp
    cdef bint linear, logical
    c.defined_in.assign(p.temps.table.count, <BlockId>no_block)
    c.read.assign(p.temps.table.count, 0)
    for b in range(p.blocks.table.count):
        linear = b == 0 or p.blocks.linear_pred_count[b] != 0
        logical = b == 0 or p.blocks.logical_pred_count[b] != 0
        for k in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
            i = p.order.instruction[k]
            for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
                temp = p.definitions.temp[row]
                c.defined_in[temp] = b if c.defined_in[temp] == <BlockId>no_block else <BlockId>several_blocks
            if opcode_is_phi(p.instructions.opcode[i]):
                c.phis.push_back(i)
                continue
            for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
                if p.operands.flags[row] & operand_temp and (linear if class_is_linear(p.operands.register_class[row]) else logical):
                    c.read[p.operands.data[row]] = True
    return 0


cdef void _find_phi_reads(Context *c) noexcept nogil:
    """Backwards, as most phis read what stands before them; again for edges back."""
    cdef const ProgramData *p = c.p
    cdef size_t before = c.phis.size() + 1
    cdef size_t kept, k
    cdef InstructionId i
    cdef OperandRow row
    reverse(c.phis.begin(), c.phis.end())
    while c.phis.size() < before:
        before = c.phis.size()
        kept = 0
        for k in range(before):
            i = c.phis[k]
            if c.read[p.definitions.temp[p.instructions.definition_first[i]]]:
                for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
                    if p.operands.flags[row] & operand_temp:
                        c.read[p.operands.data[row]] = True
            else:
                c.phis[kept] = i
                kept += 1
        c.phis.resize(kept)


cdef inline bint _is_inside(const Loop *loop, BlockId b) noexcept nogil:
    return b >= loop.header and b <= loop.latch


cdef void _reach(Context *c, const Loop *loop) noexcept nogil:
    """Which blocks of a loop its header leads to: one that it does not lead to says nothing about what is live there."""
    cdef const ProgramData *p = c.p
    cdef BlockId b
    cdef BlockId before
    cdef uint32_t k
    c.reached[loop.header] = reached_linear | reached_logical
    for b in range(loop.header + 1, loop.latch + 1):
        c.reached[b] = 0
        for k in range(p.blocks.linear_pred_first[b], p.blocks.linear_pred_first[b] + p.blocks.linear_pred_count[b]):
            before = p.edge_lists.block[k]
            if before >= loop.header and before < b:
                c.reached[b] |= c.reached[before] & reached_linear
        for k in range(p.blocks.logical_pred_first[b], p.blocks.logical_pred_first[b] + p.blocks.logical_pred_count[b]):
            before = p.edge_lists.block[k]
            if before >= loop.header and before < b:
                c.reached[b] |= c.reached[before] & reached_logical


cdef inline void _live_in_loop(Context *c, TempId temp, const Loop *loop, uint8_t reached, Demand *demand) noexcept nogil:
    """A temp that is live in, or on a way out of, a block to which the header leads by these edges: if it is defined before the loop, it is
    live at the header."""
    cdef uint8_t register_class = c.p.temps.register_class[temp]
    if c.defined_in[temp] < loop.header and reached & (reached_linear if class_is_linear(register_class) else reached_logical) \
            and not live_test(&c.live, temp):
        live_insert(&c.live, temp)
        _add(demand, register_class, 1)


cdef void _live_in_row(Context *c, BlockId b, const Loop *loop, uint8_t reached, Demand *demand) noexcept nogil:
    """What is known to be live at the start of a block."""
    cdef const ProgramData *p = c.p
    cdef uint32_t k
    cdef uint64_t bits
    for k in range(p.blocks.live_in_first[b], p.blocks.live_in_first[b] + p.blocks.live_in_count[b]):
        bits = p.live_in.bits[k] & ~c.live.bits[p.live_in.word[k]]
        while bits:
            _live_in_loop(c, p.live_in.word[k] * 64 + trailing_zeros64(bits), loop, reached, demand)
            bits &= bits - 1


cdef void _read_by_phi(Context *c, InstructionId i, BlockId b, const Loop *loop, Demand *demand) noexcept nogil:
    cdef const ProgramData *p = c.p
    cdef bint logical = p.instructions.opcode[i] == op_p_phi
    cdef uint32_t first = p.blocks.logical_pred_first[b] if logical else p.blocks.linear_pred_first[b]
    cdef uint32_t count = p.blocks.logical_pred_count[b] if logical else p.blocks.linear_pred_count[b]
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef uint32_t k
    cdef BlockId before
    if not c.read[p.definitions.temp[p.instructions.definition_first[i]]]:
        return
    for k in range(min(count, <uint32_t>p.instructions.operand_count[i])):
        before = p.edge_lists.block[first + k]
        if p.operands.flags[row + k] & operand_temp and _is_inside(loop, before):
            _live_in_loop(c, p.operands.data[row + k], loop, c.reached[before] & (reached_logical if logical else reached_linear), demand)


cdef void _read_by_block(Context *c, BlockId b, const Loop *loop, bint phis_only, Demand *demand) noexcept nogil:
    cdef const ProgramData *p = c.p
    cdef OrderRow k
    cdef InstructionId i
    cdef OperandRow row
    for k in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
        i = p.order.instruction[k]
        if opcode_is_phi(p.instructions.opcode[i]):
            _read_by_phi(c, i, b, loop, demand)
            continue
        if phis_only:
            return
        for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
            if p.operands.flags[row] & operand_temp:
                _live_in_loop(c, p.operands.data[row], loop, c.reached[b], demand)


cdef int _list_reads(Context *c, const Loop *loop) except -1 nogil:
    """Begin the list of a header with what the loop reads."""
    cdef BlockId b = loop.header
    cdef bint inner
    cdef Demand demand
    demand.sgpr = demand.vgpr = 0
    live_set_clear(&c.live)
    _reach(c, loop)
    while b <= loop.latch:
        inner = b != loop.header and c.loop_of[b] != 0
        _read_by_block(c, b, loop, inner, &demand)
        if inner:
            _live_in_row(c, b, loop, c.reached[b], &demand)
            b = c.loops[c.loop_of[b] - 1].latch
        b += 1
    _keep(c, loop.header, demand)
    return 0


cdef void _live_at_exits(Context *c, const Loop *loop, const uint32_t *first, const uint32_t *count, uint8_t edges,
                         Demand *demand) noexcept nogil:
    """What is live where edges of one kind leave the loop."""
    cdef const ProgramData *p = c.p
    cdef BlockId b, s
    cdef BlockId last = no_block
    cdef uint32_t k
    for b in range(loop.header, loop.latch + 1):
        for k in range(first[b], first[b] + count[b]):
            s = p.edge_lists.block[k]
            if s != last and not _is_inside(loop, s):
                _live_in_row(c, s, loop, c.reached[b] & edges, demand)
                last = s


cdef int _list_exits(Context *c, const Loop *loop) except -1 nogil:
    """Add to the list of a header what is live where the loop is left."""
    cdef const ProgramData *p = c.p
    cdef Demand demand
    demand.sgpr = demand.vgpr = 0
    live_set_clear(&c.live)
    _reach(c, loop)
    _live_at_exits(c, loop, p.blocks.linear_succ_first, p.blocks.linear_succ_count, reached_linear, &demand)
    _live_at_exits(c, loop, p.blocks.logical_succ_first, p.blocks.logical_succ_count, reached_logical, &demand)
    _keep(c, loop.header, demand)
    return 0


cdef int _begin_loops(Context *c) except -1 nogil:
    cdef size_t k
    cdef Loop *loop
    _find_loops(c)
    if c.loops.empty():
        return 0
    _find_reads(c)
    _find_phi_reads(c)
    c.reached.assign(c.p.blocks.table.count, 0)
    c.latch_of.assign(c.p.blocks.table.count, 0)
    c.loop_of.assign(c.p.blocks.table.count, 0)
    for k in range(c.loops.size()):
        c.loop_of[c.loops[k].header] = <uint32_t>k + 1
    for k in range(c.loops.size(), 0, -1):
        loop = &c.loops[k - 1]
        loop.next = c.latch_of[loop.latch]
        c.latch_of[loop.latch] = <uint32_t>k
        _list_reads(c, loop)
    return 0


cdef int _enter_loops(Context *c, BlockId latch) except -1 nogil:
    """All behind the last block of these loops has been visited."""
    cdef uint32_t number = c.latch_of[latch]
    c.latch_of[latch] = 0
    while number:
        _list_exits(c, &c.loops[number - 1])
        number = c.loops[number - 1].next
    return 0


cdef void _assume_phis_dead(Context *c) noexcept nogil:
    """But those that are known to be read."""
    cdef ProgramData *p = c.p
    cdef BlockId b
    cdef OrderRow k
    cdef InstructionId i
    cdef DefinitionRow row
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
            i = p.order.instruction[k]
            if not opcode_is_phi(p.instructions.opcode[i]):
                break
            row = p.instructions.definition_first[i]
            p.definitions.flags[row] &= ~<uint16_t>definition_kill
            if p.definitions.flags[row] & definition_temp and (c.read.empty() or not c.read[p.definitions.temp[row]]):
                p.definitions.flags[row] |= definition_kill


cdef int _summarize(ProgramData *p) except -1 nogil:
    cdef BlockId b
    p.max_demand_sgpr = 0
    p.max_demand_vgpr = 0
    for b in range(p.blocks.table.count):
        if p.blocks.demand_sgpr[b] > p.max_demand_sgpr:
            p.max_demand_sgpr = p.blocks.demand_sgpr[b]
        if p.blocks.demand_vgpr[b] > p.max_demand_vgpr:
            p.max_demand_vgpr = p.blocks.demand_vgpr[b]
    # A program read from text may come without a device.
    if p.device.physical_vgprs and p.device.simds_per_cu:
        p.max_waves = <uint16_t>suitable_waves(p, p.device.max_waves_per_simd)
        p.num_waves = <uint16_t>waves_of_demand(p, p.max_demand_sgpr, p.max_demand_vgpr)
    return 0


cdef int live_variables_run(ProgramData *p) except -1 nogil:
    cdef Context c
    cdef BlockId b
    _begin(&c, p)
    c.worklist = p.blocks.table.count
    c.room.assign(p.blocks.table.count, 0)
    table_clear(&p.live_in.table)
    for b in range(p.blocks.table.count):
        p.blocks.live_in_first[b] = p.blocks.live_in_count[b] = 0
    p.config.uses_vcc = 0
    _begin_loops(&c)
    _assume_phis_dead(&c)
    while c.worklist > 0:
        c.worklist -= 1
        if not c.loops.empty() and c.latch_of[<size_t>c.worklist]:
            _enter_loops(&c, <BlockId>c.worklist)
        if c.dirty[<size_t>c.worklist]:
            _block(&c, <uint32_t>c.worklist)
    return _summarize(p)


cdef int live_variables_reordered(ProgramData *p, const uint8_t *reordered) except -1 nogil:
    cdef Context c
    cdef BlockId b
    _begin(&c, p)
    c.worklist = 0
    c.room.resize(p.blocks.table.count)
    memcpy(c.room.data(), p.blocks.live_in_count, p.blocks.table.count * sizeof(uint32_t))
    demand_of_lists(p, &c.live_in)
    for b in range(p.blocks.table.count):
        if reordered[b]:
            _block(&c, b)
    return _summarize(p)


cdef int _kernel(void *ir, int option) except -1 nogil:
    live_variables_run(<ProgramData *>ir)
    return 0


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Compute live variables, kill flags and register demand."""
    with nogil:
        _kernel(&program.data, 0)
    return False


def live_in(Program program not None, uint32_t block):
    """Return the ids of the temps that are live at the start of `block` (phi definitions left out)."""
    cdef const ProgramData *p = &program.data
    cdef uint32_t k
    if block >= p.blocks.table.count:
        raise IndexError(f"no block {block}")
    return [p.live_in.word[k] * 64 + bit
            for k in range(p.blocks.live_in_first[block], p.blocks.live_in_first[block] + p.blocks.live_in_count[block])
            for bit in range(64) if (p.live_in.bits[k] >> bit) & 1]
