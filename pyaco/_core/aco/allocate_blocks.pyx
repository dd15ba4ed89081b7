"""Register allocation at the edges between blocks.

When a block is entered, its live-in values stay where the model predecessor left them, the one in the deepest loop. If that is the block before,
the register file has them already, and only what is not live goes; else, or where the logical and the linear CFG have different models, they are put
there, and looked at one by one only if two of them are in each other's way. Every other predecessor
that leaves a value elsewhere is a mismatch; ``write_out`` makes a phi of the value with itself out of those of one value, whose operands
say where each predecessor has it. Back edges are compared when their block is left, with the places that the loop header began with.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memset
from libcpp.algorithm cimport stable_sort

from isa_opcodes cimport op_p_branch, op_p_linear_phi, op_p_phi
from modifiers cimport modifier_set_branch_scc_live, modifier_set_branch_scratch
from pyaco._core.aco.allocator cimport *
from pyaco._core.aco.live_set cimport live_add_row, live_count, live_next, live_set_clear, live_test, no_temp
from pyaco._core.aco.queries cimport opcode_is_phi
from pyaco._core.aco.register_constraints cimport Placement, pseudo_placement
from pyaco._core.aco.register_file cimport *
from pyaco._core.common.bits cimport trailing_zeros64
from pyaco._core.ir.program cimport *

from pyaco.errors import PyacoError


cdef enum:
    no_block = 0xffffffff


# --------------------------------------------------------------------------------------------------------------- blocks
cdef inline uint32_t _pred(const ProgramData *p, BlockId block, bint logical, uint32_t k) noexcept nogil:
    if logical:
        return p.edge_lists.block[p.blocks.logical_pred_first[block] + k]
    return p.edge_lists.block[p.blocks.linear_pred_first[block] + k]


cdef inline uint32_t _pred_count(const ProgramData *p, BlockId block, bint logical) noexcept nogil:
    return p.blocks.logical_pred_count[block] if logical else p.blocks.linear_pred_count[block]


cdef uint32_t _model_pred(Allocator *a, BlockId block, bint logical) noexcept nogil:
    """The predecessor whose registers the block takes over: the one in the deepest loop, or `no_block`."""
    cdef ProgramData *p = a.p
    cdef uint32_t best = no_block
    cdef uint32_t k
    cdef BlockId pred
    for k in range(_pred_count(p, block, logical)):
        pred = _pred(p, block, logical, k)
        if pred < block and (best == no_block or p.blocks.loop_depth[pred] > p.blocks.loop_depth[best]):
            best = pred
    return best


cdef void _load_exit(Allocator *a, uint32_t pred) noexcept nogil:
    """Note where `pred` leaves its values."""
    cdef uint32_t k
    if pred == no_block:
        return
    for k in range(a.exit_first[pred], a.exit_first[pred] + a.exit_count[pred]):
        a.values[a.exits[k].temp].exit_reg = a.exits[k].reg


cdef void _unload_exit(Allocator *a, uint32_t pred) noexcept nogil:
    cdef uint32_t k
    if pred == no_block:
        return
    for k in range(a.exit_first[pred], a.exit_first[pred] + a.exit_count[pred]):
        a.values[a.exits[k].temp].exit_reg = register_none


cdef inline bint _exit_is_free(Allocator *a, TempId temp) noexcept nogil:
    """Whether a value can have the register that the model predecessor left it in."""
    cdef uint32_t address = a.values[temp].exit_reg
    return address != register_none and not file_taken(&a.file, in_both, address, class_bytes(class_of_value(a, temp)))


cdef int _enter_value(Allocator *a, TempId temp, uint32_t address) except -1 nogil:
    put_value(a, temp, address, in_both)
    if class_is_linear_vgpr(class_of_value(a, temp)):
        a.linear_live += class_dwords(class_of_value(a, temp))
    return 0


cdef int _enter_where_left(Allocator *a, TempId temp) except -1 nogil:
    """Put a value where the model predecessor left it, or off until those have been entered whose place is free."""
    if _exit_is_free(a, temp):
        return _enter_value(a, temp, a.values[temp].exit_reg)
    a.late.push_back(temp)
    return 0


cdef int _enter_late(Allocator *a) except -1 nogil:
    """Put values anywhere whose register another has, or that have none."""
    cdef TempId temp
    cdef uint32_t address
    cdef size_t k
    for k in range(a.late.size()):
        temp = a.late[k]
        address = a.values[temp].exit_reg
        if not _exit_is_free(a, temp):
            address = pick_any(a, pseudo_placement(a.p, class_of_value(a, temp)), in_both)
        _enter_value(a, temp, address)
    a.late.clear()
    return 0


cdef int _enter_one_by_one(Allocator *a, uint32_t linear, uint32_t logical) except -1 nogil:
    """Put the live-in values into the empty file, those of the linear CFG first; some have to go elsewhere than their model predecessor left them."""
    cdef TempId temp = live_next(&a.live_in, 0)
    cdef size_t k
    a.entering.clear()
    _load_exit(a, linear)
    while temp != no_temp:
        if class_is_linear(class_of_value(a, temp)):
            _enter_where_left(a, temp)
        else:
            a.entering.push_back(temp)
        temp = live_next(&a.live_in, temp + 1)
    _enter_late(a)
    if logical != linear:
        _unload_exit(a, linear)
        _load_exit(a, logical)
    for k in range(a.entering.size()):
        _enter_where_left(a, a.entering[k])
    _enter_late(a)
    _unload_exit(a, logical)
    return 0


cdef uint32_t _keep_exits(Allocator *a, uint32_t pred, bint logical) noexcept nogil:
    """Take what is not live out of the file that `pred` has left; how many values stay."""
    cdef uint32_t k
    cdef TempId temp
    cdef uint8_t register_class
    cdef uint32_t kept = 0
    for k in range(a.exit_first[pred], a.exit_first[pred] + a.exit_count[pred]):
        temp = a.exits[k].temp
        register_class = class_of_value(a, temp)
        if not live_test(&a.live_in, temp) or not (logical or class_is_linear(register_class)):
            displace(a, temp)
            continue
        kept += 1
        if class_is_linear_vgpr(register_class):
            a.linear_live += class_dwords(register_class)
    return kept


cdef uint32_t _enter_exits(Allocator *a, uint32_t pred, bint linear, bint logical) noexcept nogil:
    """Put live values of one CFG or both where `pred` leaves them; how many were put before one whose place another predecessor's has."""
    cdef const Place *place = a.exits.data() + a.exit_first[pred]
    cdef const Place *end = place + a.exit_count[pred]
    cdef Value *value
    cdef uint8_t register_class
    cdef uint32_t entered = 0
    while place != end:
        register_class = class_of_value(a, place.temp)
        if live_test(&a.live_in, place.temp) and (linear if class_is_linear(register_class) else logical):
            if not linear and file_taken(&a.file, in_both, place.reg, class_bytes(register_class)):
                break
            value = &a.values[place.temp]
            value.reg = place.reg
            value.presence = in_both
            file_put(&a.file, in_both, place.reg, class_bytes(register_class), place.temp)
            entered += 1
            if class_is_linear_vgpr(register_class):
                a.linear_live += class_dwords(register_class)
        place += 1
    return entered


cdef void _forget_exits(Allocator *a, uint32_t pred) noexcept nogil:
    cdef uint32_t k
    if pred == no_block:
        return
    for k in range(a.exit_first[pred], a.exit_first[pred] + a.exit_count[pred]):
        a.values[a.exits[k].temp].presence = 0


cdef bint _enter_values(Allocator *a, BlockId block) except -1 nogil:
    """Put the live-in values into the file, which has what the block before left; whether all are where their model predecessor left them."""
    cdef uint32_t linear = _model_pred(a, block, False)
    cdef uint32_t logical = _model_pred(a, block, True)
    cdef uint32_t entered = 0
    if block == 0:
        file_clear_all(&a.file)
    elif linear == block - 1 and logical in (linear, <uint32_t>no_block):
        entered = _keep_exits(a, linear, logical == linear)
    else:
        _forget_exits(a, block - 1)
        file_clear_all(&a.file)
        if linear != no_block:
            entered = _enter_exits(a, linear, True, logical == linear)
        if logical != linear and logical != no_block:
            entered += _enter_exits(a, logical, False, True)
    if entered == live_count(a.p, block):
        return True
    _forget_exits(a, linear)
    _forget_exits(a, logical)
    file_clear_all(&a.file)
    a.linear_live = 0
    _enter_one_by_one(a, linear, logical)
    return False


cdef void _lead_operands(Allocator *a, BlockId block, InstructionId i, bint around) noexcept nogil:
    """Lead operands of a phi where it is led itself or, those of back edges (`around`), to the phi of the loop that it is."""
    cdef ProgramData *p = a.p
    cdef TempId phi = p.definitions.temp[p.instructions.definition_first[i]]
    cdef TempId goal = phi if around else a.values[phi].goal
    cdef TempId temp
    cdef uint32_t k
    for k in range(p.instructions.operand_count[i] if goal else 0):
        if not p.operands.flags[p.instructions.operand_first[i] + k] & operand_temp:
            continue
        temp = p.operands.data[p.instructions.operand_first[i] + k]
        if temp != goal and a.values[temp].goal == 0 and class_of_value(a, temp) == class_of_value(a, goal) \
                and (_pred(p, block, p.instructions.opcode[i] == op_p_phi, k) >= block) == around:
            a.values[temp].goal = goal


cdef void find_goals(Allocator *a) noexcept nogil:
    """Phis of loops are the goals of the values that they are at the end of the loop, and of those that become these at phis in it."""
    cdef ProgramData *p = a.p
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    cdef int around
    for around in range(1, -1, -1):
        b = p.blocks.table.count
        while b > 0:
            b -= 1
            for k in range(p.blocks.order_count[b]):
                i = p.order.instruction[p.blocks.order_first[b] + k]
                if not opcode_is_phi(p.instructions.opcode[i]):
                    break
                if p.definitions.flags[p.instructions.definition_first[i]] & definition_temp:
                    _lead_operands(a, b, i, around)


cdef int _enter_phi(Allocator *a, BlockId block, InstructionId i, uint32_t round) except -1 nogil:
    """Register of a phi. Rounds: fixed ones; one that all known operands have; its goal's; one that an operand or the web has; any."""
    cdef ProgramData *p = a.p
    cdef DefinitionRow row = p.instructions.definition_first[i]
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef bint logical = p.instructions.opcode[i] == op_p_phi
    cdef uint32_t k
    cdef uint32_t address
    cdef uint32_t candidate = register_none
    cdef uint32_t web
    cdef bint same = True
    cdef Placement need = pseudo_placement(p, p.definitions.register_class[row])
    if p.definitions.flags[row] & definition_temp and a.values[p.definitions.temp[row]].presence:
        return 0
    if p.definitions.flags[row] & definition_fixed:
        if round == 0 and p.definitions.flags[row] & definition_temp:
            assign_definition(a, row, p.definitions.reg[row], in_both, True)
        return 0
    if round == 0:
        return 0
    web = web_of(a, p.definitions.temp[row])
    if round == 1:
        for k in range(p.instructions.operand_count[i]):
            if not p.operands.flags[first + k] & operand_temp:
                same = False
            elif p.operands.flags[first + k] & operand_fixed and _pred(p, block, logical, k) < block:
                if candidate == register_none:
                    candidate = p.operands.reg[first + k]
                same &= candidate == p.operands.reg[first + k]
        if not same or not fits(a, need, in_both, candidate):
            return 0
    elif round == 2:
        candidate = goal_register(a, p.definitions.temp[row])
        if not fits(a, need, in_both, candidate):
            return 0
    elif round == 3:
        candidate = a.values[web].web_reg
        k = p.instructions.operand_count[i]
        while not fits(a, need, in_both, candidate):
            if k == 0:
                return 0
            k -= 1
            candidate = register_none
            if p.operands.flags[first + k] & operand_temp and p.operands.flags[first + k] & operand_fixed \
                    and _pred(p, block, logical, k) < block \
                    and class_is_vgpr(p.operands.register_class[first + k]) == class_is_vgpr(need.register_class):
                candidate = p.operands.reg[first + k]
    else:
        candidate = pick_any(a, need, in_both)
    address = candidate
    p.definitions.reg[row] = <uint16_t>address
    put_value(a, p.definitions.temp[row], address, in_both)
    a.values[web].web_reg = <uint16_t>address
    return 0


cdef int _enter_phis(Allocator *a, BlockId block, uint32_t count) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef uint32_t round
    cdef uint32_t k
    cdef InstructionId i
    cdef DefinitionRow row
    for round in range(5):
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
            p.definitions.reg[row] = a.values[p.definitions.temp[row]].reg
            a.values[p.definitions.temp[row]].begun_reg = p.definitions.reg[row]
        p.definitions.flags[row] |= definition_fixed
        a.out.push_back(i)
    for k in range(count):
        i = p.order.instruction[p.blocks.order_first[block] + k]
        row = p.instructions.definition_first[i]
        if p.definitions.flags[row] & definition_temp and p.definitions.flags[row] & definition_kill \
                and a.values[p.definitions.temp[row]].presence:
            displace(a, p.definitions.temp[row])
    return 0


cdef void _compare_edges(Allocator *a, BlockId block, bint logical, uint32_t agreeing) noexcept nogil:
    """Note the values that a predecessor leaves in another register than the block expects; one is known to agree, or `no_block`."""
    cdef ProgramData *p = a.p
    cdef uint32_t k
    cdef uint32_t e
    cdef uint32_t pred
    cdef TempId temp
    for k in range(_pred_count(p, block, logical)):
        pred = _pred(p, block, logical, k)
        if pred >= block or pred == agreeing:
            continue
        for e in range(a.exit_first[pred], a.exit_first[pred] + a.exit_count[pred]):
            temp = a.exits[e].temp
            if a.exits[e].reg != a.values[temp].reg and live_test(&a.live_in, temp) and class_is_linear(class_of_value(a, temp)) != logical:
                _note_mismatch(a, block, temp, k, a.exits[e].reg, a.values[temp].reg)


cdef void _note_mismatch(Allocator *a, uint32_t block, uint32_t temp, uint32_t edge, uint16_t reg,
                         uint16_t entry) noexcept nogil:
    cdef Mismatch m
    m.block = block
    m.temp = temp
    m.edge = edge
    m.reg = reg
    m.entry = entry
    a.mismatches.push_back(m)


cdef int _branch_register(Allocator *a, BlockId block) except -1 nogil:
    """A register for the scratch definition of branches into a merge block: they run after the copies for its phis."""
    cdef ProgramData *p = a.p
    cdef uint32_t k
    cdef BlockId pred
    cdef InstructionId last
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
            address = find_gap(a, pseudo_placement(p, p.definitions.register_class[p.instructions.definition_first[last]]),
                               in_both, 0, 0)
            if address < 0:
                address = register_vcc
            a.branch_reg[block] = <uint16_t>address
            note_used(a, p.definitions.register_class[p.instructions.definition_first[last]], address)
            return 0
    return 0


cdef int enter_block(Allocator *a, BlockId block, uint32_t phis) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef Place place
    cdef bint as_left
    live_set_clear(&a.live_in)
    live_add_row(&a.live_in, p, block)
    a.linear_live = 0
    a.instruction = 0
    a.stamp += 1
    a.block = block
    memset(a.loaded_here, 0, sizeof(a.loaded_here))
    a.linear_may_move = (p.blocks.kind[block] & block_top_level) != 0
    # Nothing but phis and late values moves others.
    as_left = _enter_values(a, block) and phis == 0
    _enter_phis(a, block, phis)
    _branch_register(a, block)
    _compare_edges(a, block, False, _model_pred(a, block, False) if as_left else <uint32_t>no_block)
    _compare_edges(a, block, True, _model_pred(a, block, True) if as_left else <uint32_t>no_block)
    if p.blocks.kind[block] & block_loop_header or _has_back_edge(p, block):
        a.entry_first[block] = <uint32_t>a.entries.size()
        place.temp = live_next(&a.live_in, 0)
        while place.temp != no_temp:
            place.reg = a.values[place.temp].reg
            a.entries.push_back(place)
            place.temp = live_next(&a.live_in, place.temp + 1)
        a.entry_count[block] = <uint32_t>a.entries.size() - a.entry_first[block]
    return 0


cdef bint _has_back_edge(const ProgramData *p, BlockId block) noexcept nogil:
    cdef uint32_t k
    for k in range(p.blocks.linear_pred_count[block]):
        if _pred(p, block, False, k) >= block:
            return True
    return False


cdef int fill_phi_operands(Allocator *a, BlockId block, bint logical, bint scalars_only) except -1 nogil:
    """Tell the phis of the successors where this block leaves their operands."""
    cdef ProgramData *p = a.p
    cdef uint32_t s
    cdef uint32_t k
    cdef BlockId n
    cdef InstructionId i
    cdef uint32_t edge
    cdef uint32_t row
    cdef TempId temp
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
            if scalars_only and class_is_vgpr(class_of_value(a, temp)):
                continue
            if logical and not scalars_only and not class_is_vgpr(class_of_value(a, temp)):
                continue              # done at p_logical_end, where the copy will be
            if not a.values[temp].presence:
                row = p.instructions.definition_first[i]
                if p.definitions.flags[row] & definition_kill and not p.definitions.flags[row] & definition_fixed:
                    continue
                with gil:
                    raise PyacoError(f"register allocation: phi operand %{temp} of block {n} has no register in block {block}")
            p.operands.reg[row] = a.values[temp].reg
            p.operands.flags[row] |= operand_fixed
    return 0


cdef void _back_edges(Allocator *a, BlockId block, bint logical) noexcept nogil:
    """Compare with the entry of loop headers that are already allocated."""
    cdef ProgramData *p = a.p
    cdef uint32_t s
    cdef BlockId n
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
            if class_is_linear(class_of_value(a, place.temp)) != logical and a.values[place.temp].reg != place.reg:
                _note_mismatch(a, n, place.temp, edge, a.values[place.temp].reg, place.reg)


cdef inline int _note_exit(Allocator *a, uint32_t id, uint32_t *last) except -1 nogil:
    """Note where a value is at the end of the block; its registers follow each other."""
    cdef Place place
    if id == 0 or id == last[0]:
        return 0
    last[0] = id
    place.temp = id
    place.reg = a.values[id].reg
    a.exits.push_back(place)
    return 0


cdef int leave_block(Allocator *a, BlockId block) except -1 nogil:
    cdef uint32_t word
    cdef uint32_t r
    cdef uint32_t b
    cdef uint32_t last = 0
    cdef uint64_t busy
    fill_phi_operands(a, block, True, False)
    fill_phi_operands(a, block, False, False)
    _back_edges(a, block, True)
    _back_edges(a, block, False)
    a.exit_first[block] = <uint32_t>a.exits.size()
    for word in range(file_size // 64):
        busy = a.file.busy[view_before][word]
        while busy:
            r = word * 64 + trailing_zeros64(busy)
            busy &= busy - 1
            if a.file.owner[view_before][r] == <uint32_t>owner_partial:
                for b in range(4):
                    _note_exit(a, a.file.bytes[view_before][r][b], &last)
            else:
                _note_exit(a, a.file.owner[view_before][r], &last)
    a.exit_count[block] = <uint32_t>a.exits.size() - a.exit_first[block]
    a.exit_scc[block] = a.file.owner[view_before][register_scc >> 2] != 0
    return 0


# ----------------------------------------------------------------------------------------------------------------- edges
cdef int _make_edge_phi(Allocator *a, BlockId block, TempId temp, size_t first, size_t end) except -1 nogil:
    """A phi of a value with itself: the copies that ``first..end`` of the mismatches ask for."""
    cdef ProgramData *p = a.p
    cdef bint logical = not class_is_linear(class_of_value(a, temp))
    cdef uint32_t count = _pred_count(p, block, logical)
    cdef InstructionId i = instruction_new(p, op_p_phi if logical else op_p_linear_phi, format_pseudo, count, 1)
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


cdef bint _mismatch_before(Mismatch x, Mismatch y) noexcept nogil:
    return x.block < y.block or (x.block == y.block and x.temp < y.temp)


cdef int write_out(Allocator *a) except -1 nogil:
    """The new order: phis for values that moved between blocks, then what was allocated."""
    cdef ProgramData *p = a.p
    cdef Rewrite rewrite
    cdef BlockId b
    cdef size_t k
    cdef size_t m = 0
    cdef size_t start
    cdef TempId temp
    stable_sort(a.mismatches.begin(), a.mismatches.end(), &_mismatch_before)
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


cdef void finish_branches(Allocator *a) noexcept nogil:
    """Scratch definitions of unconditional branches, and whether copies at block ends must preserve SCC."""
    cdef ProgramData *p = a.p
    cdef BlockId b
    cdef InstructionId i
    cdef DefinitionRow row
    cdef BlockId s
    cdef uint32_t scratch = register_none
    cdef bint scc
    if a.used[file_sgpr] < a.limit[file_sgpr]:
        scratch = a.used[file_sgpr] * 4
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
        scc = a.exit_scc[b]
        p.instructions.modifiers[i] = modifier_set_branch_scratch(p.instructions.modifiers[i],
                                                                  scratch if scratch != register_none else register_m0)
        p.instructions.modifiers[i] = modifier_set_branch_scc_live(p.instructions.modifiers[i], scc)
        if scc and scratch != register_none and scratch // 4 + 1 > a.used[file_sgpr]:
            a.used[file_sgpr] = scratch // 4 + 1
