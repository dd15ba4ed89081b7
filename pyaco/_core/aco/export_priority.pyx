"""Run waves of GFX11.5 that export at a raised priority, except while their exports are under way.

The hardware wants every wave of a stage that exports to have priority 2 or 3 from its first instruction on, and 0 from the end of each run of
exports until the exports are done: there the priority is lowered, ``expcnt`` waited for, and the priority raised again after two ``s_nop``. Before
``s_endpgm`` there is nothing to wait for and nothing to raise. Priorities that the program sets itself are raised to 2 where they are lower.

A part of a shader that runs after another part (an epilog, the main part after a prolog, the second half of a merged shader that was
compiled by itself) finds the priority raised. Needs: hardware instructions; runs last of all that look at neighbouring instructions, so that
nothing comes between. Sources: LLVM's ``GCNHazardRecognizer`` (feature ``required-export-priority``), ACO (``aco_insert_NOPs``).
"""
from libc.stdint cimport uint32_t

from isa_opcodes cimport op_s_endpgm, op_s_nop, op_s_setprio, op_s_waitcnt_expcnt
from pyaco._core.aco.build cimport emit_0, emit_any
from pyaco._core.ir.program cimport (
    BlockId, InstructionId, Operand, ProgramData, Rewrite, class_s1, format_exp, operand_register, register_null, rewrite_begin,
    rewrite_block, rewrite_emit, rewrite_end,
)

cdef enum:
    raised_priority = 2
    lowered_priority = 0


cdef inline bint _is_export(const ProgramData *p, InstructionId i) noexcept nogil:
    return i != 0 and p.instructions.format[i] == format_exp


cdef InstructionId _following(const ProgramData *p, BlockId block, uint32_t position) noexcept nogil:
    """The instruction after a position of a block, which may be the first one of a later block; 0 at the end of the program."""
    position += 1
    while block < p.blocks.table.count:
        if position < p.blocks.order_count[block]:
            return p.order.instruction[p.blocks.order_first[block] + position]
        block += 1
        position = 0
    return 0


cdef int _end_exports(Rewrite *out, bint program_ends) except -1 nogil:
    """Lower the priority until the exports are done, or for good."""
    cdef Operand null = operand_register(register_null, class_s1)
    emit_0(out, op_s_setprio, lowered_priority)
    if not program_ends:
        emit_any(out, op_s_waitcnt_expcnt, NULL, 0, &null, 1)
    emit_0(out, op_s_nop, 0)
    emit_0(out, op_s_nop, 0)
    if not program_ends:
        emit_0(out, op_s_setprio, raised_priority)
    return 0


cdef int _block(Rewrite *out, BlockId block) except -1 nogil:
    cdef ProgramData *p = out.program
    cdef uint32_t k
    cdef InstructionId i
    cdef InstructionId following
    for k in range(p.blocks.order_count[block]):
        i = p.order.instruction[p.blocks.order_first[block] + k]
        if p.instructions.opcode[i] == op_s_setprio and p.instructions.immediate[i] < raised_priority:
            p.instructions.immediate[i] = raised_priority
        rewrite_emit(out, i)
        if not _is_export(p, i):
            continue
        following = _following(p, block, k)
        if not _is_export(p, following):
            _end_exports(out, following != 0 and p.instructions.opcode[following] == op_s_endpgm)
    return 0


cdef bint _begins_with_priority(const ProgramData *p) noexcept nogil:
    return p.blocks.order_count[0] != 0 and p.instructions.opcode[p.order.instruction[p.blocks.order_first[0]]] == op_s_setprio


cdef int export_priority_run(ProgramData *p, bint previous_part) except -1 nogil:
    cdef Rewrite out
    cdef BlockId block
    rewrite_begin(&out, p)
    for block in range(p.blocks.table.count):
        rewrite_block(&out, block)
        if block == 0 and not previous_part and not _begins_with_priority(p):
            emit_0(&out, op_s_setprio, raised_priority)
        _block(&out, block)
    return rewrite_end(&out)
