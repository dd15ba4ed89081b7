"""Which scalar registers are live in a program without phis: SGPRs, VCC, M0, exec and scc.

After register allocation temps no longer tell: exec, scc and what ``ssa_elimination`` copies are registers only. An instruction whose
effect depends on exec counts as a reader of exec. What another part of the shader reads after this one is not known: everything.

Plain backward data flow over the linear CFG, on three words a block; blocks are summed up once, so that the rounds that loops need look
at blocks, not at instructions, and only at those of which a successor has changed.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memset
from libcpp.vector cimport vector

from isa_opcodes cimport *
from pyaco._core.aco.queries cimport ends_without_leaving
from pyaco._core.ir.program cimport *

cdef struct Summary:
    ScalarSet reads               # before the block writes them
    ScalarSet writes              # whether it reads them before or not


cdef void scalar_add(ScalarSet *set, uint16_t reg, uint32_t size) noexcept nogil:
    cdef uint32_t k
    if reg == register_scc:
        set.words[2] |= 1
        return
    for k in range(reg >> 2, min((reg + size + 3) >> 2, <uint32_t>scalar_scc)):
        set.words[k >> 6] |= <uint64_t>1 << (k & 63)


cdef void scalar_remove(ScalarSet *set, uint16_t reg, uint32_t size) noexcept nogil:
    cdef uint32_t k
    if reg == register_scc:
        set.words[2] &= ~<uint64_t>1
        return
    for k in range(reg >> 2, min((reg + size + 3) >> 2, <uint32_t>scalar_scc)):
        set.words[k >> 6] &= ~(<uint64_t>1 << (k & 63))


cdef bint scalar_any(const ScalarSet *set, uint16_t reg, uint32_t size) noexcept nogil:
    cdef ScalarSet asked
    asked.words[0] = asked.words[1] = asked.words[2] = 0
    scalar_add(&asked, reg, size)
    return ((asked.words[0] & set.words[0]) | (asked.words[1] & set.words[1]) | (asked.words[2] & set.words[2])) != 0


cdef bint _writes_a_vgpr(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint32_t k
    for k in range(p.instructions.definition_count[i]):
        if class_is_vgpr(p.definitions.register_class[p.instructions.definition_first[i] + k]):
            return True
    return False


cdef bint _depends_on_exec(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether the effect of an instruction that does not name exec depends on it."""
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    if format_is_salu(format) or format == format_smem or format == format_pseudo_barrier or format == format_pseudo_branch:
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
            return _writes_a_vgpr(p, i)
    return True


cdef inline bint _is_scalar(uint16_t reg) noexcept nogil:
    return reg < 4 * scalar_scc or reg == register_scc


cdef void scalar_step_back(const ProgramData *p, InstructionId i, ScalarSet *live) noexcept nogil:
    cdef RowRange rows = definitions_of(p, i)
    cdef uint32_t row
    for row in range(rows.first, rows.first + rows.count):
        if _is_scalar(p.definitions.reg[row]):
            scalar_remove(live, p.definitions.reg[row], class_bytes(p.definitions.register_class[row]))
    rows = operands_of(p, i)
    for row in range(rows.first, rows.first + rows.count):
        if _is_scalar(p.operands.reg[row]) and not p.operands.flags[row] & (operand_constant | operand_undef):
            scalar_add(live, p.operands.reg[row], class_bytes(p.operands.register_class[row]))
    if _depends_on_exec(p, i):
        scalar_add(live, register_exec, 8)


cdef Summary _summary(const ProgramData *p, BlockId block) noexcept nogil:
    cdef Summary s
    cdef OrderRow position = p.blocks.order_first[block] + p.blocks.order_count[block]
    cdef InstructionId i
    cdef RowRange rows
    cdef uint32_t row
    memset(&s, 0, sizeof(Summary))
    while position > p.blocks.order_first[block]:
        position -= 1
        i = p.order.instruction[position]
        scalar_step_back(p, i, &s.reads)
        rows = definitions_of(p, i)
        for row in range(rows.first, rows.first + rows.count):
            if _is_scalar(p.definitions.reg[row]):
                scalar_add(&s.writes, p.definitions.reg[row], class_bytes(p.definitions.register_class[row]))
    return s


cdef ScalarSet scalar_live_out(const ProgramData *p, const vector[ScalarSet] *live_in, BlockId block) noexcept nogil:
    cdef ScalarSet live
    cdef uint32_t k
    cdef uint32_t word
    cdef uint64_t start = 0xffffffffffffffffULL if ends_without_leaving(p, block) else 0
    for word in range(3):
        live.words[word] = start
    for k in range(p.blocks.linear_succ_count[block]):
        for word in range(3):
            live.words[word] |= live_in[0][p.edge_lists.block[p.blocks.linear_succ_first[block] + k]].words[word]
    return live


cdef bint _update(const ProgramData *p, const Summary *summary, vector[ScalarSet] *live_in, BlockId block) noexcept nogil:
    """What is live at the start of a block, from what is at its end; True on change."""
    cdef ScalarSet live = scalar_live_out(p, live_in, block)
    cdef uint32_t word
    cdef uint64_t fresh = 0
    for word in range(3):
        live.words[word] = (live.words[word] & ~summary.writes.words[word]) | summary.reads.words[word]
        fresh |= live.words[word] ^ live_in[0][block].words[word]
    live_in[0][block] = live
    return fresh != 0


cdef int scalar_liveness(const ProgramData *p, vector[ScalarSet] *live_in) except -1 nogil:
    cdef vector[Summary] summaries
    cdef vector[uint8_t] dirty        # by block: not visited since a successor changed
    cdef uint32_t blocks = p.blocks.table.count
    cdef ScalarSet none
    cdef BlockId b
    cdef BlockId pred
    cdef uint32_t k
    cdef bint again = True
    summaries.resize(blocks)
    dirty.assign(blocks, 1)
    none.words[0] = none.words[1] = none.words[2] = 0
    live_in.assign(blocks, none)
    for b in range(blocks):
        summaries[b] = _summary(p, b)
    while again:
        again = False
        b = blocks
        while b > 0:
            b -= 1
            if not dirty[b]:
                continue
            dirty[b] = 0
            if not _update(p, &summaries[b], live_in, b):
                continue
            for k in range(p.blocks.linear_pred_count[b]):
                pred = p.edge_lists.block[p.blocks.linear_pred_first[b] + k]
                dirty[pred] = 1
                again |= pred >= b
    return 0
