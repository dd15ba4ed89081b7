"""After phis have become copies: empty blocks are jumped past, exec writes that nothing reads go.

The linear CFG has helper blocks (the linear parts of divergent branches, blocks that invert exec between then and else); most of
them turn out to be empty. An empty block with one predecessor and one successor is skipped; an invert block whose two
successors have become the same block needs no inversion, since the merge block after it sets exec anew; a merge block in
front of another merge block need not restore exec.

A divergent break of a loop whose block does nothing else needs no block: the lanes that break leave exec, and where none is left, the wave leaves
the loop.

    s0, exec = s_and_saveexec condition, exec       exec = s_andn2 exec, condition
    branch to stay if exec is zero                  branch to exit if exec is zero
    break: s0 = s_andn2 s0, exec                    stay: ...
    branch to exit if that is zero
    stay: exec = copy s0

Last, writes to exec are looked at (``exec_writes``). Source of the first three rules: ACO (``aco_ssa_elimination.cpp``).
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libcpp.vector cimport vector

from isa_opcodes cimport *
from modifiers cimport modifier_branch_target1, modifier_set_branch_target1
from pyaco._core.aco.block_list cimport BlockList
from pyaco._core.aco.exec_writes cimport exec_writes_run
from pyaco._core.aco.scalar_liveness cimport ScalarSet, scalar_any, scalar_live_out, scalar_liveness, scalar_step_back
from pyaco._core.common.table cimport table_truncate
from pyaco._core.ir.program cimport *

cdef enum:
    no_block = 0xffffffffU


cdef cppclass Threading:
    ProgramData *p
    vector[BlockList] preds           # linear
    vector[BlockList] succs
    vector[uint8_t] removed           # the block has no instructions any more
    vector[uint8_t] only_branch       # everything but the branch is dropped
    vector[ScalarSet] live_in         # by block; empty until a break asks for it
    bint changed


cdef inline uint32_t _last(const ProgramData *p, BlockId block) noexcept nogil:
    """The branch at the end of a block, 0: none."""
    cdef InstructionId i
    if p.blocks.order_count[block] == 0:
        return 0
    i = p.order.instruction[p.blocks.order_first[block] + p.blocks.order_count[block] - 1]
    return i if p.instructions.format[i] == format_pseudo_branch else 0


cdef bint _does_nothing(const ProgramData *p, InstructionId i, bint ignore_exec) noexcept nogil:
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t k
    cdef DefinitionRow d
    if opcode == op_p_logical_start or opcode == op_p_logical_end or p.instructions.format[i] == format_pseudo_branch:
        return True
    if opcode == op_p_parallelcopy:
        for k in range(p.instructions.definition_count[i]):
            d = p.instructions.definition_first[i] + k
            if ignore_exec and p.definitions.reg[d] == register_exec:
                continue
            if p.operands.flags[p.instructions.operand_first[i] + k] & operand_constant \
                    or p.operands.reg[p.instructions.operand_first[i] + k] != p.definitions.reg[d]:
                return False
        return True
    return ignore_exec and (opcode == op_s_andn2_b64 or opcode == op_s_andn2_b32) \
        and p.definitions.reg[p.instructions.definition_first[i]] == register_exec


cdef bint _is_empty(const ProgramData *p, BlockId block, bint ignore_exec) noexcept nogil:
    cdef uint32_t k
    for k in range(p.blocks.order_count[block]):
        if not _does_nothing(p, p.order.instruction[p.blocks.order_first[block] + k], ignore_exec):
            return False
    return True


cdef void _replace(BlockList *list, uint32_t old, uint32_t new) noexcept nogil:
    """Replace an entry; the list stays free of duplicates."""
    cdef size_t k
    cdef bint present = False
    for k in range(list.size()):
        present |= list[0][k] == new
    k = 0
    while k < list.size():
        if list[0][k] == old:
            if present:
                list[0][k] = list.back()
                list.pop_back()
                continue
            list[0][k] = new
            present = True
        k += 1


cdef void _redirect(Threading *t, BlockId pred, uint32_t block, uint32_t successor) noexcept nogil:
    """`pred` jumps to `successor` instead of `block`."""
    cdef ProgramData *p = t.p
    cdef InstructionId branch = _last(p, pred)
    if p.instructions.immediate[branch] == block:
        p.instructions.immediate[branch] = successor
    if modifier_branch_target1(p.instructions.modifiers[branch]) == block:
        p.instructions.modifiers[branch] = modifier_set_branch_target1(p.instructions.modifiers[branch], successor)
    if p.instructions.opcode[branch] != op_p_branch \
            and p.instructions.immediate[branch] == modifier_branch_target1(p.instructions.modifiers[branch]):
        p.instructions.opcode[branch] = op_p_branch
        p.instructions.operand_count[branch] = 0
    _replace(&t.succs[pred], block, successor)
    _replace(&t.preds[successor], block, pred)


cdef bint _falls_through(Threading *t, uint32_t block, uint32_t target) noexcept nogil:
    cdef uint32_t b
    if target <= block:
        return False
    for b in range(block + 1, target):
        if not t.removed[b]:
            return False
    return True


cdef void _remove(Threading *t, uint32_t block) noexcept nogil:
    t.removed[block] = 1
    t.changed = True
    t.preds[block].clear()
    t.succs[block].clear()


cdef int _try_invert_block(Threading *t, BlockId block) except -1 nogil:
    """Both successors lead to one merge block, which restores exec: go there directly."""
    cdef BlockId successor
    cdef size_t k
    cdef BlockList preds
    if t.succs[block].size() != 1 or not _is_empty(t.p, block, True):
        return 0
    successor = t.succs[block][0]
    if not t.p.blocks.kind[successor] & block_merge:
        return 0
    preds = t.preds[block]
    for k in range(preds.size()):
        if not _last(t.p, preds[k]) or t.succs[preds[k]].size() != 1:
            return 0
    _replace(&t.preds[successor], block, preds[0])
    for k in range(preds.size()):
        _redirect(t, preds[k], block, successor)
        _add(&t.preds[successor], preds[k])
    _remove(t, block)
    return 0


cdef int _add(BlockList *list, uint32_t value) except -1 nogil:
    cdef size_t k
    for k in range(list.size()):
        if list[0][k] == value:
            return 0
    list.push_back(value)
    return 0


cdef void _try_merge_block(Threading *t, BlockId block) noexcept nogil:
    """The next merge block restores exec as well."""
    if t.succs[block].size() == 1 and t.p.blocks.kind[t.succs[block][0]] & block_merge and _last(t.p, block) \
            and _is_empty(t.p, block, True):
        t.only_branch[block] = 1
        t.changed = True


cdef void _try_simple_block(Threading *t, BlockId block) noexcept nogil:
    cdef ProgramData *p = t.p
    cdef BlockId pred = t.preds[block][0]
    cdef uint32_t successor = t.succs[block][0]
    cdef InstructionId branch = _last(p, pred)
    cdef uint32_t taken
    cdef uint32_t other
    if not branch or successor == block or pred == block or not _is_empty(p, block, False):
        return
    taken = p.instructions.immediate[branch]
    other = modifier_branch_target1(p.instructions.modifiers[branch])
    if p.instructions.opcode[branch] != op_p_branch and taken != block and taken != successor and other == block \
            and not _falls_through(t, block, successor) and not _falls_through_without(t, pred, taken, block):
        return                        # would need two branches
    _redirect(t, pred, block, successor)
    _remove(t, block)


cdef bint _falls_through_without(Threading *t, uint32_t block, uint32_t target, uint32_t without) noexcept nogil:
    cdef uint32_t b
    if target <= block:
        return False
    for b in range(block + 1, target):
        if not t.removed[b] and b != without:
            return False
    return True


# ------------------------------------------------------------------------------------------------- breaks without a block
cdef InstructionId _alone(const ProgramData *p, BlockId block) noexcept nogil:
    """The only instruction of a block that does something, but for its branch; 0: there is none, or more."""
    cdef uint32_t k
    cdef InstructionId i
    cdef InstructionId found = 0
    for k in range(p.blocks.order_count[block]):
        i = p.order.instruction[p.blocks.order_first[block] + k]
        if not _does_nothing(p, i, False):
            if found:
                return 0
            found = i
    return found


cdef bint _takes_exec_from(const ProgramData *p, InstructionId i, uint16_t result, uint16_t mask) noexcept nogil:
    """Whether an instruction is ``result = s_andn2 mask, exec``."""
    cdef OperandRow row = p.instructions.operand_first[i]
    return (p.instructions.opcode[i] == op_s_andn2_b64 or p.instructions.opcode[i] == op_s_andn2_b32) \
        and p.definitions.reg[p.instructions.definition_first[i]] == result and p.operands.register_class[row] == p.lane_mask \
        and not p.operands.flags[row] & operand_constant and p.operands.reg[row] == mask and p.operands.reg[row + 1] == register_exec


cdef InstructionId _saveexec(const ProgramData *p, BlockId block, uint16_t saved) noexcept nogil:
    """The ``saved, exec = s_and_saveexec mask, exec`` in front of a block's branch, 0: none."""
    cdef InstructionId i
    if p.blocks.order_count[block] < 2:
        return 0
    i = p.order.instruction[p.blocks.order_first[block] + p.blocks.order_count[block] - 2]
    if p.instructions.opcode[i] != op_s_and_saveexec_b64 and p.instructions.opcode[i] != op_s_and_saveexec_b32:
        return 0
    return i if p.definitions.reg[p.instructions.definition_first[i]] == saved else 0


cdef InstructionId _restoring(Threading *t, BlockId block, uint16_t mask, bint *still_read) except? 0 nogil:
    """The copy of a mask to exec that a block begins with, 0: none; and whether the mask is read after it."""
    cdef ProgramData *p = t.p
    cdef uint32_t count = p.blocks.order_count[block]
    cdef OrderRow first = p.blocks.order_first[block]
    cdef OrderRow position = first
    cdef OrderRow k = first + count
    cdef InstructionId i
    cdef ScalarSet live
    while position < first + count and p.instructions.opcode[p.order.instruction[position]] == op_p_logical_start:
        position += 1
    if position == first + count:
        return 0
    i = p.order.instruction[position]
    if p.instructions.opcode[i] != op_p_parallelcopy or p.instructions.definition_count[i] != 1 \
            or p.definitions.reg[p.instructions.definition_first[i]] != register_exec \
            or p.operands.flags[p.instructions.operand_first[i]] & (operand_constant | operand_undef) \
            or p.operands.reg[p.instructions.operand_first[i]] != mask:
        return 0
    live = scalar_live_out(p, &t.live_in, block)
    while k > position + 1:
        k -= 1
        scalar_step_back(p, p.order.instruction[k], &live)
    still_read[0] = scalar_any(&live, mask, class_bytes(p.lane_mask))
    return i


cdef bint _are(BlockList *list, uint32_t a, uint32_t b) noexcept nogil:
    return list.size() == 2 and (list[0][0] == a and list[0][1] == b or list[0][0] == b and list[0][1] == a)


cdef void _narrow(ProgramData *p, InstructionId saveexec, bint takes_out) noexcept nogil:
    """Make ``exec, scc = s_andn2 exec, mask`` or ``exec, scc = s_and mask, exec`` of ``saved, scc, exec = s_and_saveexec mask, exec``."""
    cdef DefinitionRow d = p.instructions.definition_first[saveexec]
    cdef OperandRow row = p.instructions.operand_first[saveexec]
    cdef Operand mask = operand_at(p, row)
    cdef bint wide = p.instructions.opcode[saveexec] == op_s_and_saveexec_b64
    definition_put(p, d, definition_at(p, d + 2))
    p.instructions.definition_count[saveexec] = 2
    p.instructions.format[saveexec] = format_sop2
    if takes_out:
        p.instructions.opcode[saveexec] = op_s_andn2_b64 if wide else op_s_andn2_b32
        operand_put(p, row, operand_at(p, row + 1))
        operand_put(p, row + 1, mask)
    else:
        p.instructions.opcode[saveexec] = op_s_and_b64 if wide else op_s_and_b32


cdef void _keep_or_drop(ProgramData *p, InstructionId copy, bint still_read) noexcept nogil:
    """Exec has the lanes that stay: the mask is a copy of it, where it is read."""
    cdef OperandRow row = p.instructions.operand_first[copy]
    cdef DefinitionRow d = p.instructions.definition_first[copy]
    cdef uint16_t mask = p.operands.reg[row]
    if not still_read:
        p.instructions.operand_count[copy] = p.instructions.definition_count[copy] = 0
        return
    operand_put(p, row, operand_register(register_exec, p.lane_mask))
    definition_put(p, d, definition_register(mask, p.lane_mask))


cdef int _try_break_block(Threading *t, BlockId block) except -1 nogil:
    """Lanes break without a block of their own."""
    cdef ProgramData *p = t.p
    cdef InstructionId leave = _alone(p, block)
    cdef InstructionId branch = _last(p, block)
    cdef InstructionId saveexec
    cdef InstructionId copy
    cdef InstructionId test
    cdef InstructionId inverting
    cdef BlockId stay, leaving, test_block
    cdef BlockId inverted = no_block
    cdef uint16_t mask
    cdef bint still_read = False
    if not leave or not branch or t.preds[block].size() != 1 or p.instructions.opcode[branch] != op_p_cbranch_nz \
            or p.operands.reg[p.instructions.operand_first[branch]] != register_scc:
        return 0
    mask = p.definitions.reg[p.instructions.definition_first[leave]]
    stay = p.instructions.immediate[branch]
    leaving = modifier_branch_target1(p.instructions.modifiers[branch])
    test_block = t.preds[block][0]
    test = _last(p, test_block)
    if not _takes_exec_from(p, leave, mask, mask) or not test or p.instructions.opcode[test] != op_p_cbranch_z or stay == leaving \
            or p.operands.reg[p.instructions.operand_first[test]] != register_exec or p.instructions.immediate[test] != stay \
            or modifier_branch_target1(p.instructions.modifiers[test]) != block or not _are(&t.preds[stay], test_block, block):
        return 0
    inverting = _alone(p, test_block) if p.blocks.kind[test_block] & block_invert else 0
    if inverting and _takes_exec_from(p, inverting, register_exec, mask) and t.preds[test_block].size() == 1:
        inverted = test_block
        test_block = t.preds[inverted][0]
        if t.succs[test_block].size() != 1 or not _last(p, test_block):
            return 0
    saveexec = _saveexec(p, test_block, mask)
    if not saveexec:
        return 0
    if t.live_in.empty():
        scalar_liveness(p, &t.live_in)
    copy = _restoring(t, stay, mask, &still_read)
    if not copy or scalar_any(&t.live_in[leaving], mask, class_bytes(p.lane_mask)) or scalar_any(&t.live_in[leaving], register_exec, 8):
        return 0
    _narrow(p, saveexec, inverted == no_block)
    _keep_or_drop(p, copy, still_read)
    p.instructions.immediate[test] = leaving
    p.instructions.modifiers[test] = modifier_set_branch_target1(p.instructions.modifiers[test], stay)
    p.order.instruction[p.blocks.order_first[test_block] + p.blocks.order_count[test_block] - 1] = test
    _replace(&t.preds[leaving], block, test_block)
    _remove(t, block)
    if inverted != no_block:
        _remove(t, inverted)
    t.preds[stay].clear()
    t.preds[stay].push_back(test_block)
    t.succs[test_block].clear()
    t.succs[test_block].push_back(stay)
    t.succs[test_block].push_back(leaving)
    if t.succs[stay].size() == 1:
        _try_simple_block(t, stay)
    return 0


cdef int _write_back(Threading *t) except -1 nogil:
    """New linear edges, and orders without what was dropped."""
    cdef ProgramData *p = t.p
    cdef Rewrite rewrite
    cdef uint32_t row
    cdef uint32_t kept = 0
    cdef BlockId b
    cdef uint32_t k
    cdef OrderRow first
    cdef InstructionId i
    cdef size_t e
    for row in range(p.edges.table.count):
        if p.edges.kind[row] == edge_logical:
            p.edges.kind[kept] = p.edges.kind[row]
            p.edges.predecessor[kept] = p.edges.predecessor[row]
            p.edges.successor[kept] = p.edges.successor[row]
            kept += 1
    table_truncate(&p.edges.table, kept)
    for b in range(p.blocks.table.count):
        for e in range(t.succs[b].size()):
            edge_add(p, edge_linear, b, t.succs[b][e])
    edges_finish(p)
    rewrite_begin(&rewrite, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&rewrite, b)
        if t.removed[b]:
            continue
        first = p.blocks.order_first[b]
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[first + k]
            if p.instructions.opcode[i] == op_p_parallelcopy and p.instructions.definition_count[i] == 0:
                continue              # a copy of a mask that a break without a block does not need
            if not t.only_branch[b] or k + 1 == p.blocks.order_count[b]:
                rewrite_emit(&rewrite, i)
    rewrite_end(&rewrite)
    return 0


cdef int _thread(Threading *t, ProgramData *p) except -1 nogil:
    cdef uint32_t blocks = p.blocks.table.count
    cdef BlockId b
    cdef uint32_t k
    t.p = p
    t.changed = False
    t.preds.resize(blocks)
    t.succs.resize(blocks)
    t.removed.assign(blocks, 0)
    t.only_branch.assign(blocks, 0)
    for b in range(blocks):
        for k in range(p.blocks.linear_pred_count[b]):
            t.preds[b].push_back(p.edge_lists.block[p.blocks.linear_pred_first[b] + k])
        for k in range(p.blocks.linear_succ_count[b]):
            t.succs[b].push_back(p.edge_lists.block[p.blocks.linear_succ_first[b] + k])
    b = blocks
    while b > 0:
        b -= 1
        if p.blocks.kind[b] & block_invert:
            _try_invert_block(t, b)
        elif t.succs[b].size() == 1 and b != 0:
            if p.blocks.kind[b] & (block_merge | block_loop_exit):
                _try_merge_block(t, b)
            if t.preds[b].size() == 1:
                _try_simple_block(t, b)
    for b in range(blocks):
        if p.blocks.kind[b] & block_break and not p.blocks.kind[b] & block_uniform and not t.removed[b]:
            _try_break_block(t, b)
    return _write_back(t) if t.changed else 0


cdef int jump_threading_run(ProgramData *p) except -1 nogil:
    cdef Threading *t = new Threading()
    try:
        _thread(t, p)
    finally:
        del t
    return exec_writes_run(p)


def run(Program program not None, options=None):
    """Jump past empty blocks, and make exec in fewer instructions. Returns True."""
    with nogil:
        jump_threading_run(&program.data)
    return True
