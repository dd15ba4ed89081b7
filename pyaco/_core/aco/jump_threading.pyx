"""After phis have become copies: empty blocks are jumped past, exec writes that nothing reads go.

The linear CFG has helper blocks (the linear parts of divergent branches, blocks that invert exec between then and else); most of
them turn out to be empty. An empty block with one predecessor and one successor is skipped; an invert block whose two
successors have become the same block needs no inversion, since the merge block after it sets exec anew; a merge block in
front of another merge block need not restore exec.

Then, backwards over the blocks: a write to exec is dropped if nothing before the next write depends on exec and nothing else is written.

Source of the rules: ACO (``aco_ssa_elimination.cpp``); data-flow is plain backward liveness of one register.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libcpp.vector cimport vector

from isa_opcodes cimport *
from modifiers cimport modifier_branch_target1, modifier_set_branch_target1
from pyaco._core.ir.program cimport *


cdef cppclass Threading:
    ProgramData *p
    vector[vector[uint32_t]] preds    # linear
    vector[vector[uint32_t]] succs
    vector[uint8_t] removed           # the block has no instructions any more
    vector[uint8_t] only_branch       # everything but the branch is dropped


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


cdef void _replace(vector[uint32_t] *list, uint32_t old, uint32_t new) noexcept nogil:
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
    t.preds[block].clear()
    t.succs[block].clear()


cdef void _try_invert_block(Threading *t, BlockId block) noexcept nogil:
    """Both successors lead to one merge block, which restores exec: go there directly."""
    cdef BlockId successor
    cdef size_t k
    cdef vector[uint32_t] preds
    if t.succs[block].size() != 1 or not _is_empty(t.p, block, True):
        return
    successor = t.succs[block][0]
    if not t.p.blocks.kind[successor] & block_merge:
        return
    preds = t.preds[block]
    for k in range(preds.size()):
        if not _last(t.p, preds[k]) or t.succs[preds[k]].size() != 1:
            return
    _replace(&t.preds[successor], block, preds[0])
    for k in range(preds.size()):
        _redirect(t, preds[k], block, successor)
        _add(&t.preds[successor], preds[k])
    _remove(t, block)


cdef void _add(vector[uint32_t] *list, uint32_t value) noexcept nogil:
    cdef size_t k
    for k in range(list.size()):
        if list[0][k] == value:
            return
    list.push_back(value)


cdef void _try_merge_block(Threading *t, BlockId block) noexcept nogil:
    """The next merge block restores exec as well."""
    if t.succs[block].size() == 1 and t.p.blocks.kind[t.succs[block][0]] & block_merge and _last(t.p, block) \
            and _is_empty(t.p, block, True):
        t.only_branch[block] = 1


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


cdef int _write_back(Threading *t) except -1 nogil:
    """New linear edges, and orders without what was dropped."""
    cdef ProgramData *p = t.p
    cdef Rewrite rewrite
    cdef uint32_t row
    cdef uint32_t kept = 0
    cdef BlockId b
    cdef uint32_t k
    cdef OrderRow first
    cdef size_t e
    for row in range(p.edges.table.count):
        if p.edges.kind[row] == edge_logical:
            p.edges.kind[kept] = p.edges.kind[row]
            p.edges.predecessor[kept] = p.edges.predecessor[row]
            p.edges.successor[kept] = p.edges.successor[row]
            kept += 1
    p.edges.table.count = kept
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
            if not t.only_branch[b] or k + 1 == p.blocks.order_count[b]:
                rewrite_emit(&rewrite, p.order.instruction[first + k])
    rewrite_end(&rewrite)
    return 0


cdef int _thread(Threading *t, ProgramData *p) except -1 nogil:
    cdef uint32_t blocks = p.blocks.table.count
    cdef BlockId b
    cdef uint32_t k
    t.p = p
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
    return _write_back(t)


cdef int jump_threading_run(ProgramData *p) except -1 nogil:
    cdef Threading *t = new Threading()
    try:
        _thread(t, p)
    finally:
        del t
    return 0


# ------------------------------------------------------------------------------------------------------ useless exec writes
cdef bint _writes_exec(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint32_t k
    cdef uint16_t reg
    for k in range(p.instructions.definition_count[i]):
        reg = p.definitions.reg[p.instructions.definition_first[i] + k]
        if reg == register_exec or reg == register_exec_hi:
            return True
    return False


cdef bint _writes_all_of_exec(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint32_t k
    cdef DefinitionRow d
    for k in range(p.instructions.definition_count[i]):
        d = p.instructions.definition_first[i] + k
        if p.definitions.reg[d] == register_exec and p.definitions.register_class[d] == p.lane_mask:
            return True
    return False


cdef bint _reads_exec(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint32_t k
    cdef OperandRow row
    for k in range(p.instructions.operand_count[i]):
        row = p.instructions.operand_first[i] + k
        if not p.operands.flags[row] & (operand_constant | operand_undef) \
                and (p.operands.reg[row] == register_exec or p.operands.reg[row] == register_exec_hi):
            return True
    return False


cdef bint _depends_on_exec(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether the effect of the instruction depends on exec."""
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t k
    if _reads_exec(p, i):
        return True
    if format_is_salu(format) or format == format_smem or format == format_sopp or format == format_pseudo_barrier \
            or format == format_pseudo_branch:
        return False
    if opcode == op_v_readlane_b32 or opcode == op_v_readlane_b32_e64 or opcode == op_v_writelane_b32 \
            or opcode == op_v_writelane_b32_e64:
        return False
    if format == format_pseudo:
        if opcode == op_p_spill or opcode == op_p_reload or opcode == op_p_startpgm or opcode == op_p_logical_start \
                or opcode == op_p_logical_end or opcode == op_p_end_linear_vgpr or opcode == op_p_init_scratch \
                or opcode == op_p_constaddr or opcode == op_p_shader_cycles_hi_lo_hi:
            return False
        if opcode == op_p_parallelcopy or opcode == op_p_create_vector or opcode == op_p_split_vector \
                or opcode == op_p_extract_vector or opcode == op_p_extract or opcode == op_p_insert:
            for k in range(p.instructions.definition_count[i]):
                if class_is_vgpr(p.definitions.register_class[p.instructions.definition_first[i] + k]):
                    return True
            return False
    return True


cdef bint _only_exec(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether only exec, and an SCC that is not read, are written."""
    cdef uint32_t k
    cdef DefinitionRow d
    for k in range(p.instructions.definition_count[i]):
        d = p.instructions.definition_first[i] + k
        if p.definitions.reg[d] == register_exec or p.definitions.reg[d] == register_exec_hi:
            continue
        if p.definitions.reg[d] != register_scc or not (p.definitions.flags[d] & definition_kill
                                                        or not p.definitions.flags[d] & definition_temp):
            return False
    return format_is_salu(p.instructions.format[i]) or p.instructions.opcode[i] == op_p_parallelcopy


cdef int remove_exec_writes_run(ProgramData *p) except -1 nogil:
    cdef vector[uint8_t] needed       # by block: exec as it comes in matters
    cdef vector[uint8_t] useless      # by position in the order
    cdef Rewrite rewrite
    cdef BlockId b = p.blocks.table.count
    cdef uint32_t k
    cdef InstructionId i
    cdef BlockId s
    cdef OrderRow position
    cdef bint used
    cdef bint changed = False
    needed.assign(p.blocks.table.count, 1)     # back edges: assume so
    useless.assign(p.order.table.count + 1, 0)
    while b > 0:
        b -= 1
        used = False
        for k in range(p.blocks.linear_succ_count[b]):
            s = p.edge_lists.block[p.blocks.linear_succ_first[b] + k]
            used |= needed[s] != 0
        k = p.blocks.order_count[b]
        while k > 0:
            k -= 1
            position = p.blocks.order_first[b] + k
            i = p.order.instruction[position]
            if _writes_exec(p, i):
                if not used and _only_exec(p, i):
                    useless[position] = 1
                    changed = True
                    continue
                if _writes_all_of_exec(p, i):
                    used = False
            if _depends_on_exec(p, i):
                used = True
        needed[b] = used
    if not changed:
        return 0
    rewrite_begin(&rewrite, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&rewrite, b)
        for k in range(p.blocks.order_count[b]):
            position = p.blocks.order_first[b] + k
            if not useless[position]:
                rewrite_emit(&rewrite, p.order.instruction[position])
    rewrite_end(&rewrite)
    return 0


def run(Program program not None, options=None):
    """Jump past empty blocks, and drop exec writes that nothing reads. Returns True."""
    with nogil:
        jump_threading_run(&program.data)
        remove_exec_writes_run(&program.data)
    return True
