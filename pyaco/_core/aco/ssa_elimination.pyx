"""Leaving SSA form: phis become parallel copies at the ends of the predecessors.

Needs: registers on every operand and definition. Guarantees: no phi is left. Copies for logical phis stand in front of
``p_logical_end`` (exec still has the lanes that go on), those for linear phis in front of the branch.

Data structure: one list of (predecessor, definition, operand) built in one sweep over the phis and put in order of predecessors by
counting. There are no critical edges, so a block that needs copies has one successor in that CFG.
Afterwards blocks that do nothing go, and exec is made in fewer instructions (``jump_threading``).
"""
from libc.stdint cimport uint16_t, uint32_t

from isa_opcodes cimport op_p_linear_phi, op_p_logical_end, op_p_parallelcopy, op_p_phi
from modifiers cimport (
    modifier_branch_scc_live, modifier_branch_scratch, modifier_set_needs_scratch, modifier_set_scc_live,
    modifier_set_scratch_register,
)
from pyaco._core.aco.jump_threading cimport jump_threading_run
from pyaco._core.aco.queries cimport opcode_is_phi
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport *

from pyaco.errors import InputError


cdef struct PhiCopy:
    uint32_t definition           # row
    uint32_t operand              # row


cdef cppclass CopyLists:
    SmallVector[uint32_t] first        # by predecessor, one more than blocks
    SmallVector[PhiCopy] copies


cdef bint _needed(const ProgramData *p, DefinitionRow definition, OperandRow operand) noexcept nogil:
    if p.operands.flags[operand] & operand_undef:
        return False
    return (p.operands.flags[operand] & operand_constant) != 0 or p.operands.reg[operand] != p.definitions.reg[definition]


cdef int _sweep(ProgramData *p, uint16_t opcode, CopyLists *lists, bint fill) except -1 nogil:
    """Count the copies by predecessor, or fill them in."""
    cdef bint logical = opcode == op_p_phi
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    cdef uint32_t j
    cdef BlockId pred
    cdef PhiCopy copy
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not opcode_is_phi(p.instructions.opcode[i]):
                break
            if p.instructions.opcode[i] != opcode:
                continue
            if p.instructions.operand_count[i] != (p.blocks.logical_pred_count[b] if logical else p.blocks.linear_pred_count[b]):
                with gil:
                    raise InputError(f"block {b}: a phi has {p.instructions.operand_count[i]} operands, which is not the "
                                     "number of predecessors")
            for j in range(p.instructions.operand_count[i]):
                copy.definition = p.instructions.definition_first[i]
                copy.operand = p.instructions.operand_first[i] + j
                if not _needed(p, copy.definition, copy.operand):
                    continue
                pred = p.edge_lists.block[(p.blocks.logical_pred_first[b] if logical else p.blocks.linear_pred_first[b]) + j]
                if fill:
                    lists.copies[lists.first[pred]] = copy
                lists.first[pred] += 1
    return 0


cdef int _collect(ProgramData *p, uint16_t opcode, CopyLists *lists) except -1 nogil:
    cdef uint32_t blocks = p.blocks.table.count
    cdef uint32_t b
    cdef uint32_t total = 0
    cdef uint32_t count
    lists.first.assign(blocks + 1, 0)
    _sweep(p, opcode, lists, False)
    for b in range(blocks):
        count = lists.first[b]
        lists.first[b] = total
        total += count
    lists.copies.resize(total)
    if total:
        _sweep(p, opcode, lists, True)
    # filling moved each start to its end: shift back
    b = blocks
    while b > 0:
        lists.first[b] = lists.first[b - 1]
        b -= 1
    lists.first[0] = 0
    return 0


cdef InstructionId _make_copy(ProgramData *p, CopyLists *lists, uint32_t block, InstructionId branch) except? 0 nogil:
    """The parallel copy of a block's list, or 0; `branch` tells what RA knows about SCC at the block's end."""
    cdef uint32_t first = lists.first[block]
    cdef uint32_t count = lists.first[block + 1] - first
    cdef InstructionId i
    cdef uint32_t k
    if count == 0:
        return 0
    i = instruction_new(p, op_p_parallelcopy, format_pseudo, count, count)
    for k in range(count):
        operand_put(p, p.instructions.operand_first[i] + k, operand_at(p, lists.copies[first + k].operand))
        definition_put(p, p.instructions.definition_first[i] + k, definition_at(p, lists.copies[first + k].definition))
    p.instructions.modifiers[i] = modifier_set_scratch_register(0, register_none)
    if branch:
        p.instructions.modifiers[i] = modifier_set_scc_live(
            modifier_set_scratch_register(0, modifier_branch_scratch(p.instructions.modifiers[branch])),
            modifier_branch_scc_live(p.instructions.modifiers[branch]))
        if modifier_branch_scc_live(p.instructions.modifiers[branch]):
            p.instructions.modifiers[i] = modifier_set_needs_scratch(p.instructions.modifiers[i], 1)
    return i


cdef int _write_block(ProgramData *p, Rewrite *rewrite, BlockId block, CopyLists *logical, CopyLists *linear) except -1 nogil:
    cdef uint32_t count = p.blocks.order_count[block]
    cdef uint32_t k
    cdef InstructionId i
    cdef bint logical_done = logical.first[block] == logical.first[block + 1]
    cdef bint linear_done = linear.first[block] == linear.first[block + 1]
    for k in range(count):
        i = p.order.instruction[p.blocks.order_first[block] + k]
        if opcode_is_phi(p.instructions.opcode[i]):
            continue
        if p.instructions.opcode[i] == op_p_logical_end and not logical_done:
            rewrite_emit(rewrite, _make_copy(p, logical, block, 0))
            logical_done = True
        if p.instructions.format[i] == format_pseudo_branch and k + 1 == count:
            if not logical_done:
                rewrite_emit(rewrite, _make_copy(p, logical, block, 0))
                logical_done = True
            if not linear_done:
                rewrite_emit(rewrite, _make_copy(p, linear, block, i))
                linear_done = True
        rewrite_emit(rewrite, i)
    if not logical_done:
        rewrite_emit(rewrite, _make_copy(p, logical, block, 0))
    if not linear_done:
        rewrite_emit(rewrite, _make_copy(p, linear, block, 0))
    return 0


cdef int _eliminate(ProgramData *p, CopyLists *logical, CopyLists *linear) except -1 nogil:
    cdef Rewrite rewrite
    cdef BlockId b
    _collect(p, op_p_phi, logical)
    _collect(p, op_p_linear_phi, linear)
    rewrite_begin(&rewrite, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&rewrite, b)
        _write_block(p, &rewrite, b, logical, linear)
    rewrite_end(&rewrite)
    return 0


cdef int ssa_elimination_run(ProgramData *p) except -1 nogil:
    cdef CopyLists *logical = new CopyLists()
    cdef CopyLists *linear = new CopyLists()
    try:
        _eliminate(p, logical, linear)
    finally:
        del logical
        del linear
    return jump_threading_run(p)


cdef int _kernel(void *ir, int option) except -1 nogil:
    ssa_elimination_run(<ProgramData *>ir)
    return 1


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Replace phis by parallel copies. Returns True."""
    with nogil:
        _kernel(&program.data, 0)
    return True
