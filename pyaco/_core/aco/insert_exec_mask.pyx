"""Make the execution mask explicit.

Before this pass a divergent branch names a condition (a lane mask) and says nothing of ``exec``. Afterwards ``exec`` is written
where lanes leave and come back, branches test ``exec`` or scc, and both targets of every branch are set.

Each block has a stack of masks: which lanes ran at each enclosing level, the innermost last. The innermost is in ``exec``
itself and has no temp (``in_exec``) unless it was saved. Entering a divergent if saves the mask and pushes a level; the else
side runs with the saved lanes that were not in the then side; the merge pops. A loop that lanes may leave one by one has a
level for the lanes that resume after it and one, marked as the loop's, for those still in it; ``break`` takes lanes out of
every level up to and including the loop's, ``continue`` out of every level above it.

Needs: lowered phis; the CFG shapes of instruction selection (kinds of blocks say what a branch means). Compute stages only:
helper lanes do not exist. Source of the scheme: ACO (``aco_insert_exec_mask``).
"""
from libc.stdint cimport uint16_t, uint32_t

from isa_opcodes cimport (
    op_p_cbranch_nz, op_p_cbranch_z, op_p_demote_to_helper, op_p_discard_if, op_p_elect, op_p_end_wqm, op_p_is_helper,
    op_p_linear_phi, op_p_parallelcopy, op_s_and_saveexec_b32,
    op_s_and_saveexec_b64, op_s_andn2_b32, op_s_andn2_b64, op_s_ff1_i32_b32, op_s_ff1_i32_b64, op_s_lshl_b32, op_s_lshl_b64,
)
from modifiers cimport modifier_set_branch_target1
from pyaco._core.aco.build cimport (
    make, make_1, make_scc_2, by_wave, exec_definition, exec_operand, mask_constant, new_mask, phi_resize,
)
from pyaco._core.aco.queries cimport opcode_is_phi, operand_equal
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.common.table cimport RowRange
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport (
    BlockId, Definition, InstructionId, Operand, OperandRow, OrderRow, Program, ProgramData, Rewrite, TempId, block_branch,
    block_break, block_continue, block_continue_or_break, block_invert, block_loop_exit, block_loop_header, block_loop_preheader,
    block_merge, block_uniform, class_s1, definition_at, definition_of, definition_of_fixed, format_pseudo_branch, operand_at,
    operand_c32, operand_c64, operand_constant, operand_of, operand_of_fixed, operand_put, operand_temp, operand_undef,
    operand_undefined, register_scc, rewrite_begin, rewrite_block, rewrite_emit, rewrite_end, temp_new,
)

from pyaco.errors import UnsupportedError

cdef struct Mask:
    Operand value                    # undefined: the mask is in exec only
    bint loop                        # the lanes still in a loop


cdef struct Loop:
    BlockId header
    uint32_t levels                  # masks around the loop
    InstructionId phi                # of the lanes in the loop, at the header
    bint divergent_break
    bint divergent_continue


cdef cppclass Context:
    ProgramData *p
    Rewrite rewrite
    SmallVector[Mask] masks               # of all blocks so far, one stack behind the other: only that of the last block changes
    SmallVector[RowRange] stacks          # rows in `masks` by block, at its end
    SmallVector[Loop] loops
    SmallVector[Loop] unchanged           # loops at whose header exec stays as it is


cdef inline uint32_t _pred(const ProgramData *p, BlockId block, uint32_t k) noexcept nogil:
    return p.edge_lists.block[p.blocks.linear_pred_first[block] + k]


cdef inline uint32_t _succ(const ProgramData *p, BlockId block, uint32_t k) noexcept nogil:
    return p.edge_lists.block[p.blocks.linear_succ_first[block] + k]


cdef inline Mask *_level(Context *c, BlockId block, uint32_t level) noexcept nogil:
    return &c.masks[c.stacks[block].first + level]


cdef inline Mask *_top(Context *c, BlockId block) noexcept nogil:
    return _level(c, block, c.stacks[block].count - 1)


cdef inline int _push(Context *c, BlockId block, Operand value, bint loop) except -1 nogil:
    c.masks.push_back(Mask(value=value, loop=loop))
    c.stacks[block].count += 1
    return 0


cdef inline void _pop(Context *c, BlockId block) noexcept nogil:
    c.masks.pop_back()
    c.stacks[block].count -= 1


cdef inline bint _in_exec(Operand value) noexcept nogil:
    return (value.flags & operand_undef) != 0


cdef inline Operand _value(Context *c, Operand mask) noexcept nogil:
    return exec_operand(c.p) if _in_exec(mask) else mask


cdef int _copy_to_exec(Context *c, Operand value) except -1 nogil:
    return rewrite_emit(&c.rewrite, make_1(c.p, op_p_parallelcopy, exec_definition(c.p), value))


cdef int _copy_to_temp(Context *c, Operand value, Operand *result) except -1 nogil:
    cdef TempId temp = new_mask(c.p)
    rewrite_emit(&c.rewrite, make_1(c.p, op_p_parallelcopy, definition_of(c.p, temp), value))
    result[0] = operand_of(c.p, temp)
    return 0


cdef int _branch(Context *c, InstructionId old, uint16_t opcode, Operand condition, uint32_t taken, uint32_t other) except -1 nogil:
    """A conditional branch that replaces `old`, whose definitions (registers a long jump may clobber) it takes over."""
    cdef ProgramData *p = c.p
    cdef Definition d
    cdef uint32_t count = p.instructions.definition_count[old]
    cdef InstructionId branch
    if count:
        d = definition_at(p, p.instructions.definition_first[old])
    branch = make(p, opcode, &d, 1 if count else 0, &condition, 1)
    p.instructions.modifiers[branch] = modifier_set_branch_target1(p.instructions.modifiers[old], other)
    p.instructions.immediate[branch] = taken
    return rewrite_emit(&c.rewrite, branch)


# ------------------------------------------------------------------------------------------------------- starts of blocks
cdef int _start_of_program(Context *c, uint32_t block) except -1 nogil:
    """All lanes run if workgroups fill their waves; else the initial exec is the mask."""
    cdef ProgramData *p = c.p
    cdef bint full = p.workgroup_size != 0xffffffffU and p.workgroup_size % p.wave_size == 0 and p.workgroup_size != 0
    cdef Operand mask = mask_constant(p, True) if full else operand_undefined(p.lane_mask)
    return _push(c, block, mask, False)


cdef int _loop_header(Context *c, BlockId block) except -1 nogil:
    """The lanes in the loop are a phi; its other operands follow when the whole loop has been seen."""
    cdef ProgramData *p = c.p
    cdef Loop *loop = &c.loops.back()
    cdef Operand active = operand_undefined(p.lane_mask)
    cdef Definition d = exec_definition(p)
    # The mask of the lanes in the loop replaces the innermost one, unless lanes may leave it one by one.
    cdef BlockId before = _pred(p, block, 0)
    cdef uint32_t level
    cdef Mask mask
    for level in range(c.stacks[before].count if loop.divergent_break else c.stacks[before].count - 1):
        mask = _level(c, before, level)[0]
        _push(c, block, mask.value, mask.loop)
    if loop.divergent_continue:
        active = operand_of(p, new_mask(p))
        d = definition_of(p, active.data)
    loop.phi = make(p, op_p_linear_phi, &d, 1, NULL, 0)
    phi_resize(p, loop.phi, p.blocks.linear_pred_count[block])
    operand_put(p, p.instructions.operand_first[loop.phi], exec_operand(p))
    rewrite_emit(&c.rewrite, loop.phi)
    return _push(c, block, active, True)


cdef int _loop_exit(Context *c, BlockId block) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef Loop loop = c.loops.back()
    cdef OperandRow row = p.instructions.operand_first[loop.phi]
    cdef uint32_t level = loop.levels if loop.divergent_break else loop.levels - 1
    cdef uint32_t k
    cdef bint unchanged = not loop.divergent_continue
    for k in range(1, p.blocks.linear_pred_count[loop.header]):
        operand_put(p, row + k, _value(c, _level(c, _pred(p, loop.header, k), level).value))
        if not _in_exec(_level(c, _pred(p, loop.header, k), level).value):
            unchanged = False
    if unchanged:
        c.unchanged.push_back(loop)
    c.loops.pop_back()
    _join(c, block, loop.levels)
    # The mask of the loop ends here; the level around it may itself be an outer loop's.
    _top(c, block).loop = _top(c, _pred(p, loop.header, 0)).loop
    return 0


cdef int _join(Context *c, BlockId block, uint32_t levels) except -1 nogil:
    """Masks that differ between predecessors become phis."""
    cdef ProgramData *p = c.p
    cdef uint32_t count = p.blocks.linear_pred_count[block]
    cdef uint32_t level
    cdef uint32_t k
    cdef InstructionId phi
    cdef bint same
    cdef Mask mask
    cdef Definition d
    for level in range(levels):
        mask = _level(c, _pred(p, block, 0), level)[0]
        same = True
        for k in range(1, count):
            if not operand_equal(mask.value, _level(c, _pred(p, block, k), level).value):
                same = False
        if not same:
            d = definition_of(p, new_mask(p))
            phi = make(p, op_p_linear_phi, &d, 1, NULL, 0)
            phi_resize(p, phi, count)
            for k in range(count):
                operand_put(p, p.instructions.operand_first[phi] + k, _value(c, _level(c, _pred(p, block, k), level).value))
            rewrite_emit(&c.rewrite, phi)
            mask.value = operand_of(p, d.temp)
        _push(c, block, mask.value, mask.loop)
    return 0


cdef int _couple(Context *c, BlockId block) except -1 nogil:
    """The stack at the start of a block; emits phis of masks."""
    cdef ProgramData *p = c.p
    cdef uint32_t count = p.blocks.linear_pred_count[block]
    cdef uint32_t levels
    cdef uint32_t k
    if count == 0:
        return _start_of_program(c, block)
    if p.blocks.kind[block] & block_loop_header:
        return _loop_header(c, block)
    if p.blocks.kind[block] & block_loop_exit:
        return _loop_exit(c, block)
    levels = c.stacks[_pred(p, block, 0)].count
    for k in range(1, count):
        levels = min(levels, c.stacks[_pred(p, block, k)].count)
    if p.blocks.kind[block] & block_merge:
        levels -= 1
    if levels == 0:
        with gil:
            raise ValueError(f"BB{block}: a merge without a divergent branch")
    return _join(c, block, levels)


cdef int _restore(Context *c, BlockId block) except -1 nogil:
    """Reactivate the lanes that were switched off by divergent control flow (after the phis)."""
    cdef ProgramData *p = c.p
    cdef Mask *top = _top(c, block)
    if p.blocks.kind[block] & block_loop_header and c.loops.back().divergent_continue:
        # The mask of the loop is kept in its temp while a copy of it runs.
        _copy_to_exec(c, top.value)
        return _push(c, block, operand_undefined(p.lane_mask), False)
    if not p.blocks.kind[block] & (block_loop_exit | block_merge) or _in_exec(top.value):
        return 0
    _copy_to_exec(c, top.value)
    if not top.value.flags & operand_constant:
        top.value = operand_undefined(p.lane_mask)
    return 0


# --------------------------------------------------------------------------------------------------------- ends of blocks
cdef int _enter_loop(Context *c, BlockId block) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef Loop loop
    cdef uint32_t depth = p.blocks.loop_depth[block] + 1
    cdef BlockId b = block + 1
    cdef Operand saved
    loop.header = _succ(p, block, 0)
    loop.levels = c.stacks[block].count
    loop.phi = 0
    loop.divergent_break = False
    loop.divergent_continue = False
    while b < p.blocks.table.count and p.blocks.loop_depth[b] >= depth:
        if p.blocks.loop_depth[b] == depth and not p.blocks.kind[b] & block_uniform:
            if p.blocks.kind[b] & block_break:
                loop.divergent_break = True
            elif p.blocks.kind[b] & block_continue:
                loop.divergent_continue = True
        b += 1
    # The lanes that are reactivated after the loop must survive changes of exec.
    if loop.divergent_break and _in_exec(_top(c, block).value):
        _copy_to_temp(c, exec_operand(p), &saved)
        _top(c, block).value = saved
    c.loops.push_back(loop)
    return 0


cdef int _divergent_branch(Context *c, BlockId block, InstructionId old) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef Operand condition = operand_at(p, p.instructions.operand_first[old])
    cdef Definition[3] definitions
    cdef Operand[2] operands
    cdef Mask *top = _top(c, block)
    if top.value.flags & operand_constant and top.value.data != 0 and condition.flags & operand_temp:
        _copy_to_exec(c, condition)
    else:
        definitions[0] = definition_of(p, new_mask(p))
        definitions[1] = definition_of_fixed(p, temp_new(p, class_s1), register_scc)
        definitions[2] = exec_definition(p)
        operands[0] = condition
        operands[1] = exec_operand(p)
        rewrite_emit(&c.rewrite, make(p, by_wave(p, op_s_and_saveexec_b32, op_s_and_saveexec_b64), definitions, 3, operands, 2))
        top.value = operand_of(p, definitions[0].temp)
    _push(c, block, operand_undefined(p.lane_mask), False)
    return _branch(c, old, op_p_cbranch_z, exec_operand(p), _succ(p, block, 1), _succ(p, block, 0))


cdef int _invert(Context *c, BlockId block, InstructionId old) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t size = c.stacks[block].count
    if size < 2:
        with gil:
            raise ValueError(f"BB{block}: an else side without a divergent branch")
    rewrite_emit(&c.rewrite, make_scc_2(p, by_wave(p, op_s_andn2_b32, op_s_andn2_b64), exec_definition(p),
                                        _value(c, _level(c, block, size - 2).value), exec_operand(p), 0))
    return _branch(c, old, op_p_cbranch_z, exec_operand(p), _succ(p, block, 1), _succ(p, block, 0))


cdef int _take_out(Context *c, uint32_t block, bint with_loop, uint32_t *scc) except -1 nogil:
    """Remove the running lanes from the levels above the loop's, and from the loop's with `with_loop`."""
    cdef ProgramData *p = c.p
    cdef uint32_t level = c.stacks[block].count - 1
    cdef Mask *mask
    cdef TempId temp
    scc[0] = 0
    while level > 0:
        level -= 1
        mask = _level(c, block, level)
        if mask.loop and not with_loop:
            break
        temp = new_mask(p)
        scc[0] = temp_new(p, class_s1)
        rewrite_emit(&c.rewrite, make_scc_2(p, by_wave(p, op_s_andn2_b32, op_s_andn2_b64), definition_of(p, temp),
                                            _value(c, mask.value), exec_operand(p), scc[0]))
        mask.value = operand_of(p, temp)
        if mask.loop:
            break
    return 0


cdef int _leave(Context *c, BlockId block, InstructionId old, bint is_break) except -1 nogil:
    """A divergent break or continue: lanes leave; the branch asks whether any stay."""
    cdef ProgramData *p = c.p
    cdef TempId scc
    cdef BlockId following
    _take_out(c, block, is_break, &scc)
    if scc == 0:
        with gil:
            raise ValueError(f"BB{block}: a divergent break or continue outside of a divergent if")
    # An invert or merge block computes exec anew; anything else must not see the lanes that left.
    following = _succ(p, _succ(p, block, 1), 0)
    if not p.blocks.kind[following] & (block_invert | block_merge):
        _copy_to_exec(c, mask_constant(p, False))
    return _branch(c, old, op_p_cbranch_nz, operand_of_fixed(p, scc, register_scc), _succ(p, block, 1), _succ(p, block, 0))


cdef int _continue_or_break(Context *c, BlockId block, InstructionId old) except -1 nogil:
    """The end of a loop body: iterate again while lanes are left in the loop."""
    cdef ProgramData *p = c.p
    cdef bint popped = False
    while c.stacks[block].count > 1 and not _top(c, block).loop:
        _pop(c, block)
        popped = True
    if popped and not _in_exec(_top(c, block).value):
        _copy_to_exec(c, _top(c, block).value)
        _top(c, block).value = operand_undefined(p.lane_mask)
    return _branch(c, old, op_p_cbranch_nz, exec_operand(p), _succ(p, block, 1), _succ(p, block, 0))


cdef int _uniform_end(Context *c, BlockId block, InstructionId branch) except -1 nogil:
    """A branch that all lanes take together: only its targets are missing."""
    cdef ProgramData *p = c.p
    if p.instructions.operand_count[branch] == 0 or p.blocks.linear_succ_count[block] == 1:
        p.instructions.immediate[branch] = _succ(p, block, 0)
    else:
        p.instructions.immediate[branch] = _succ(p, block, 1)
        p.instructions.modifiers[branch] = modifier_set_branch_target1(p.instructions.modifiers[branch], _succ(p, block, 0))
    return rewrite_emit(&c.rewrite, branch)


cdef int _end(Context *c, BlockId block, InstructionId branch) except -1 nogil:
    """Replace the branch that ends a block."""
    cdef ProgramData *p = c.p
    cdef uint32_t kind = p.blocks.kind[block]
    cdef uint32_t expected = 2 if kind & (block_branch | block_invert | block_break | block_continue
                                          | block_continue_or_break) else 1
    if kind & block_loop_preheader:
        _enter_loop(c, block)
    if kind & block_uniform and not kind & block_continue_or_break:
        return _uniform_end(c, block, branch)
    if p.blocks.linear_succ_count[block] < expected:
        with gil:
            raise ValueError(f"BB{block}: a divergent branch needs two linear successors")
    if kind & block_continue_or_break:
        return _continue_or_break(c, block, branch)
    if kind & block_branch:
        return _divergent_branch(c, block, branch)
    if kind & block_invert:
        return _invert(c, block, branch)
    if kind & (block_break | block_continue):
        return _leave(c, block, branch, (kind & block_break) != 0)
    return _uniform_end(c, block, branch)


# ------------------------------------------------------------------------------------------------------------ instructions
cdef int _elect(Context *c, uint32_t block, InstructionId i) except -1 nogil:
    """The lowest active lane as a lane mask."""
    cdef ProgramData *p = c.p
    cdef Definition d = definition_at(p, p.instructions.definition_first[i])
    cdef Operand top = _top(c, block).value
    cdef Operand one = operand_c32(1) if p.wave_size == 32 else operand_c64(1)
    cdef TempId lane
    if top.flags & operand_constant and top.data != 0:
        return rewrite_emit(&c.rewrite, make_1(p, op_p_parallelcopy, d, one))
    lane = temp_new(p, class_s1)
    rewrite_emit(&c.rewrite, make_1(p, by_wave(p, op_s_ff1_i32_b32, op_s_ff1_i32_b64), definition_of(p, lane),
                                    exec_operand(p)))
    return rewrite_emit(&c.rewrite, make_scc_2(p, by_wave(p, op_s_lshl_b32, op_s_lshl_b64), d, one, operand_of(p, lane), 0))


cdef int _instruction(Context *c, uint32_t block, InstructionId i) except -1 nogil:
    cdef uint16_t opcode = c.p.instructions.opcode[i]
    if opcode == op_p_elect:
        return _elect(c, block, i)
    if opcode in (op_p_discard_if, op_p_demote_to_helper, op_p_is_helper, op_p_end_wqm):
        with gil:
            raise UnsupportedError("helper lanes and discard: only compute shaders are compiled")
    return rewrite_emit(&c.rewrite, i)


cdef int _block(Context *c, BlockId block) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef OrderRow first = p.blocks.order_first[block]
    cdef uint32_t count = p.blocks.order_count[block]
    cdef uint32_t k = 0
    cdef InstructionId i
    rewrite_block(&c.rewrite, block)
    c.stacks[block] = RowRange(<uint32_t>c.masks.size(), 0)
    _couple(c, block)
    while k < count and opcode_is_phi(p.instructions.opcode[p.order.instruction[first + k]]):
        rewrite_emit(&c.rewrite, p.order.instruction[first + k])
        k += 1
    # The entry keeps p_startpgm first: it defines the registers that the hardware set.
    _restore(c, block)
    while k < count:
        i = p.order.instruction[first + k]
        if p.instructions.format[i] == format_pseudo_branch and k + 1 == count and p.blocks.linear_succ_count[block]:
            return _end(c, block, i)
        _instruction(c, block, i)
        k += 1
    if p.blocks.kind[block] & block_loop_preheader:
        with gil:
            raise ValueError(f"BB{block}: a loop preheader must end with a branch")
    return 0


cdef void _drop_phi(ProgramData *p, BlockId block, uint32_t phi) noexcept nogil:
    """Take a phi that copies exec to itself out of its block."""
    cdef uint32_t *order = p.order.instruction + p.blocks.order_first[block]
    cdef uint32_t k
    cdef uint32_t kept = 0
    for k in range(p.blocks.order_count[block]):
        if order[k] != phi:
            order[kept] = order[k]
            kept += 1
    p.blocks.order_count[block] = kept


cdef int insert_exec_mask_run(ProgramData *p) except -1 nogil:
    cdef Context c
    cdef BlockId b
    cdef uint32_t k
    c.p = p
    c.stacks.resize(p.blocks.table.count)
    rewrite_begin(&c.rewrite, p)
    for b in range(p.blocks.table.count):
        _block(&c, b)
    rewrite_end(&c.rewrite)
    for k in range(<uint32_t>c.unchanged.size()):
        _drop_phi(p, c.unchanged[k].header, c.unchanged[k].phi)
    return 0


cdef int _kernel(void *ir, int option) except -1 nogil:
    insert_exec_mask_run(<ProgramData *>ir)
    return 1


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Make the execution mask explicit."""
    with nogil:
        _kernel(&program.data, 0)
    return True
