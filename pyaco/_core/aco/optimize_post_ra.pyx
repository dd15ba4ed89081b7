"""What can be left out once registers are known: lane moves, comparisons with zero, and tests of VCC for a branch.

1. *lane moves* (DPP) become part of the instruction that reads them (``optimize_lanes``), now also in the block behind theirs, and across changes of
   exec where they read inactive lanes too.
2. *comparisons with zero* whose answer scc has from the instruction that computed the number; where other instructions have written scc since, that
   one is moved to the place of the comparison, if what it reads is still there.
3. *branches* read VCC, of which the hardware knows whether it is zero, where a compare has written it: its bits of inactive lanes are zero, so the
   conjunction with exec that told scc is not needed. (GFX6 and GFX7 may forget that when scalar memory writes VCC.)
4. *tests* whose answer scc still has, of the same registers: each select by a mask has its own, and no other instruction came between.

One sweep that knows of each register which instruction has written it last, and when. That is kept from a block to the next where there is no other
way into that one; elsewhere everything has just been written by no one knows whom.

Needs: registers, phis still there (temps tell how often a result is read). Source of the idea: ACO (``aco_optimizer_postRA``).
"""
from libc.stdint cimport uint16_t, uint32_t, uint8_t
from libcpp.vector cimport vector

from isa_opcodes cimport *
from modifiers cimport (
    modifier_dpp8_fetch_inactive, modifier_dpp_fetch_inactive, modifier_needs_scratch, modifier_scc_live, modifier_scratch_register,
)
from pyaco._core.aco.optimize_conditions cimport says_not_zero, takes_inverse, turn_around
from pyaco._core.aco.optimize_edit cimport is_constant, source_at
from pyaco._core.aco.optimize_lanes cimport is_lane_move, read_through_lane_move, takes_lane_move
from pyaco._core.common.table cimport RowRange
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport *

cdef enum:
    registers = 512               # in dwords: SGPRs and what is addressed like them, then VGPRs

cdef struct Write:
    InstructionId instruction     # 0: not known
    uint32_t time                 # numbers instructions

cdef cppclass Sweep:
    ProgramData *p
    BlockId block
    uint32_t now
    Write[512] last               # by register
    uint32_t floor                # what was written before is not known
    bint changed
    Write before_scc              # what had written scc before the last write
    vector[uint32_t] uses         # by temp
    vector[uint32_t] place        # by instruction: row of the order
    vector[BlockId] home          # by instruction
    vector[uint8_t] dead          # by instruction


# ---------------------------------------------------------------------------------------------------------- what has been written
cdef inline Write _last(const Sweep *s, uint32_t k) noexcept nogil:
    cdef Write w = s.last[k]
    if w.time < s.floor:
        w.instruction = 0
        w.time = s.floor
    return w


cdef void _write(Sweep *s, uint32_t reg, uint32_t size, InstructionId i) noexcept nogil:
    cdef uint32_t k
    if reg == register_scc:
        s.before_scc = _last(s, register_scc >> 2)
    for k in range(reg >> 2, min(<uint32_t>registers, (reg + size + 3) >> 2)):
        s.last[k].instruction = i
        s.last[k].time = s.now


cdef void _record_writes(Sweep *s, InstructionId i) noexcept nogil:
    """Remember what an instruction writes, and what its lowering may clobber."""
    cdef ProgramData *p = s.p
    cdef RowRange rows = definitions_of(p, i)
    cdef uint16_t format = p.instructions.format[i]
    cdef uint32_t row
    cdef bint part
    for row in range(rows.first, rows.first + rows.count):
        part = class_is_subdword(p.definitions.register_class[row])
        _write(s, p.definitions.reg[row], class_bytes(p.definitions.register_class[row]), 0 if part else i)
    if format == format_pseudo:
        if not modifier_scc_live(p.instructions.modifiers[i]) and p.instructions.opcode[i] not in (
                op_p_logical_start, op_p_logical_end, op_p_unit_test, op_p_startpgm):
            _write(s, register_scc, 4, 0)
        if modifier_needs_scratch(p.instructions.modifiers[i]) and modifier_scratch_register(p.instructions.modifiers[i]) != register_none:
            _write(s, modifier_scratch_register(p.instructions.modifiers[i]), 4, 0)
    if p.instructions.opcode[i] == op_p_call:
        _forget(s)


cdef void _forget(Sweep *s) noexcept nogil:
    s.floor = s.now
    s.before_scc = _last(s, register_scc >> 2)


cdef Write _writer(const Sweep *s, uint32_t reg, uint8_t register_class) noexcept nogil:
    """Which instruction has written all of a value's registers; none where there were several."""
    cdef uint32_t k
    cdef Write w = _last(s, reg >> 2)
    cdef Write other
    for k in range(reg >> 2, min(<uint32_t>registers, (reg + class_bytes(register_class) + 3) >> 2)):
        other = _last(s, k)
        if other.instruction != w.instruction or other.time != w.time:
            w.instruction = 0
    return w


cdef bint _same_since(const Sweep *s, Operand o, uint32_t time) noexcept nogil:
    """Whether a register holds what it held then."""
    cdef uint32_t k
    if o.flags & (operand_constant | operand_undef):
        return True
    for k in range(o.reg >> 2, min(<uint32_t>registers, (o.reg + class_bytes(o.register_class) + 3) >> 2)):
        if _last(s, k).time >= time:
            return False
    return True


cdef bint _exec_since(const Sweep *s, uint32_t time) noexcept nogil:
    return _last(s, register_exec >> 2).time < time and _last(s, (register_exec >> 2) + 1).time < time


# --------------------------------------------------------------------------------------------------------------------- patterns
cdef void _lane_moves(Sweep *s, InstructionId i) noexcept nogil:
    """Read through DPP what a lane move without other users has moved."""
    cdef ProgramData *p = s.p
    cdef uint32_t k
    cdef Write w
    cdef Operand o
    cdef InstructionId q
    cdef bint inactive
    for k in range(min(2, <uint32_t>p.instructions.operand_count[i])):
        o = source_at(p, i, k)
        if not o.flags & operand_temp or o.register_class != class_v1:
            continue
        w = _writer(s, o.reg, o.register_class)
        q = w.instruction
        if q == 0 or not is_lane_move(p, q) or s.uses[o.data] != 1 or p.definitions.temp[p.instructions.definition_first[q]] != o.data \
                or s.block - s.home[q] > 1:
            continue
        inactive = (modifier_dpp8_fetch_inactive(p.instructions.modifiers[q]) if p.instructions.format[q] & format_dpp8
                    else modifier_dpp_fetch_inactive(p.instructions.modifiers[q])) != 0
        if not (inactive or _exec_since(s, w.time)) or not _same_since(s, source_at(p, q, 0), w.time) \
                or not takes_lane_move(p, i, k, q, True):
            continue
        read_through_lane_move(p, i, k, q)
        s.changed = True
        s.uses[o.data] = 0
        s.uses[source_at(p, q, 0).data] += 1
        return


cdef inline bint _tests_equality(uint16_t opcode) noexcept nogil:
    return opcode in (op_s_cmp_eq_i32, op_s_cmp_eq_u32, op_s_cmp_eq_u64, op_s_cmp_lg_i32, op_s_cmp_lg_u32, op_s_cmp_lg_u64)


cdef InstructionId _comparison(const Sweep *s, InstructionId w, bint *equal) noexcept nogil:
    """Whether an instruction compares with zero what another one says the same of in scc: that one."""
    cdef const ProgramData *p = s.p
    cdef uint16_t opcode = p.instructions.opcode[w]
    cdef Operand o
    cdef InstructionId maker
    cdef uint32_t bits = 64 if opcode in (op_s_cmp_eq_u64, op_s_cmp_lg_u64) else 32
    equal[0] = opcode in (op_s_cmp_eq_i32, op_s_cmp_eq_u32, op_s_cmp_eq_u64)
    if not _tests_equality(opcode):
        return 0
    o = source_at(p, w, 0)
    if not o.flags & operand_temp or not is_constant(source_at(p, w, 1), 0):
        return 0
    maker = _writer(s, o.reg, o.register_class).instruction
    if maker == 0 or p.instructions.definition_count[maker] != 2 or says_not_zero(p.instructions.opcode[maker]) != bits \
            or p.definitions.reg[p.instructions.definition_first[maker] + 1] != register_scc \
            or p.definitions.temp[p.instructions.definition_first[maker] + 1] == 0:
        return 0
    return maker


cdef void _read_scc_of_maker(Sweep *s, InstructionId i) noexcept nogil:
    """Who reads the answer of a comparison with zero reads scc as the instruction left it that computed the number."""
    cdef ProgramData *p = s.p
    cdef uint32_t k
    cdef uint32_t row
    cdef Operand o
    cdef InstructionId w
    cdef InstructionId maker
    cdef bint equal = False
    for k in range(p.instructions.operand_count[i]):
        o = source_at(p, i, k)
        w = _last(s, register_scc >> 2).instruction
        if not o.flags & operand_temp or o.reg != register_scc or w == 0 or p.definitions.temp[p.instructions.definition_first[w]] != o.data:
            continue
        maker = _comparison(s, w, &equal)
        if maker == 0 or s.before_scc.instruction != maker or s.home[w] != s.block:
            continue
        if equal:
            if s.uses[o.data] != 1 or not takes_inverse(p, i, k):
                continue
            turn_around(p, i)
        row = p.instructions.operand_first[i] + k
        s.changed = True
        s.uses[o.data] -= 1
        p.operands.data[row] = p.definitions.temp[p.instructions.definition_first[maker] + 1]
        s.uses[p.operands.data[row]] += 1
        p.operands.flags[row] &= ~<uint16_t>(operand_kill | operand_first_kill)
        if s.uses[o.data] == 0:
            # Nothing else reads it: the number has one use less, and scc was never written.
            s.uses[source_at(p, w, 0).data] -= 1
            s.dead[w] = 1


cdef void _move_maker(Sweep *s, InstructionId i) noexcept nogil:
    """A comparison with zero gives its place to the instruction that computes the number for nothing else."""
    cdef ProgramData *p = s.p
    cdef bint equal = False
    cdef InstructionId maker = _comparison(s, i, &equal)
    cdef uint32_t first
    cdef uint32_t k
    cdef uint32_t time
    if maker == 0 or equal or _last(s, register_scc >> 2).instruction == maker or s.home[maker] != s.block:
        return
    first = p.instructions.definition_first[maker]
    if s.uses[p.definitions.temp[first]] != 1 or s.uses[p.definitions.temp[first + 1]]:
        return
    time = _last(s, p.definitions.reg[first] >> 2).time
    for k in range(p.instructions.operand_count[maker]):
        if not _same_since(s, source_at(p, maker, k), time):
            return
    s.changed = True
    p.definitions.temp[first + 1] = p.definitions.temp[p.instructions.definition_first[i]]
    s.uses[p.definitions.temp[first]] = 0
    p.order.instruction[s.place[maker]] = i
    p.order.instruction[s.place[i]] = maker
    s.place[maker] = s.place[i]
    s.dead[i] = 1


cdef void _branch_by_vcc(Sweep *s, InstructionId i) noexcept nogil:
    """A branch reads VCC in place of the scc of its conjunction with exec."""
    cdef ProgramData *p = s.p
    cdef uint32_t k
    cdef Write w
    cdef Write compare
    cdef Operand o
    if p.gfx_level < gfx8 or p.instructions.format[i] != format_pseudo_branch or p.instructions.operand_count[i] == 0 \
            or source_at(p, i, 0).reg != register_scc or not source_at(p, i, 0).flags & operand_temp:
        return
    w = _last(s, register_scc >> 2)
    if w.instruction == 0 or p.instructions.opcode[w.instruction] != (op_s_and_b64 if p.wave_size == 64 else op_s_and_b32):
        return
    for k in range(2):
        o = source_at(p, w.instruction, k)
        if o.reg != register_vcc or source_at(p, w.instruction, 1 - k).reg != register_exec or o.flags & operand_constant:
            continue
        compare = _writer(s, register_vcc, o.register_class)
        if compare.instruction == 0 or not p.instructions.format[compare.instruction] & format_vopc \
                or not format_is_valu(p.instructions.format[compare.instruction]) or compare.time > w.time \
                or not _exec_since(s, compare.time):
            continue
        s.changed = True
        s.uses[source_at(p, i, 0).data] -= 1
        if o.flags & operand_temp:
            s.uses[o.data] += 1
        o.flags &= ~<uint16_t>(operand_kill | operand_first_kill | operand_late_kill)
        operand_put(p, p.instructions.operand_first[i], o)
        return


cdef inline bint _is_test(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether an instruction has no state but what it reads, and says in scc what is asked."""
    return p.instructions.format[i] == format_sopc \
        or p.instructions.opcode[i] in (op_s_and_b32, op_s_and_b64, op_s_andn2_b32, op_s_andn2_b64)


cdef bint _same_operand(Operand a, Operand b) noexcept nogil:
    if (a.flags | b.flags) & operand_constant:
        return (a.flags & b.flags & operand_constant) != 0 and a.data == b.data and operand_bytes(a) == operand_bytes(b)
    return not (a.flags | b.flags) & operand_undef and a.reg == b.reg and class_bytes(a.register_class) == class_bytes(b.register_class)


cdef bint _same_test(const ProgramData *p, InstructionId a, InstructionId b) noexcept nogil:
    if p.instructions.opcode[a] != p.instructions.opcode[b]:
        return False
    if _same_operand(source_at(p, a, 0), source_at(p, b, 0)) and _same_operand(source_at(p, a, 1), source_at(p, b, 1)):
        return True
    return p.instructions.opcode[a] in (op_s_and_b32, op_s_and_b64) \
        and _same_operand(source_at(p, a, 0), source_at(p, b, 1)) and _same_operand(source_at(p, a, 1), source_at(p, b, 0))


cdef uint32_t _reads_in_block(Sweep *s, uint32_t first, TempId temp, TempId instead) noexcept nogil:
    """How many operands read a temp from a place of the block on; they read the other one instead, if there is one."""
    cdef ProgramData *p = s.p
    cdef uint32_t found = 0
    cdef uint32_t k
    cdef uint32_t row
    cdef RowRange rows
    for k in range(first, p.blocks.order_first[s.block] + p.blocks.order_count[s.block]):
        rows = operands_of(p, p.order.instruction[k])
        for row in range(rows.first, rows.first + rows.count):
            if p.operands.flags[row] & operand_temp and p.operands.data[row] == temp:
                found += 1
                if instead:
                    p.operands.data[row] = instead
                    p.operands.flags[row] &= ~<uint16_t>(operand_kill | operand_first_kill | operand_late_kill)
        if found == s.uses[temp]:
            break
    return found


cdef void _test_again(Sweep *s, InstructionId i) noexcept nogil:
    """What reads the answer of a test reads that of an earlier one, if scc and what was tested are the same still."""
    cdef ProgramData *p = s.p
    cdef Write w = _last(s, register_scc >> 2)
    cdef uint32_t k
    cdef TempId answer
    cdef TempId earlier
    cdef uint32_t row = p.instructions.definition_first[i] + p.instructions.definition_count[i] - 1
    if w.instruction == 0 or s.dead[w.instruction] or s.home[w.instruction] != s.block or not _is_test(p, i) \
            or not _same_test(p, w.instruction, i):
        return
    for k in range(p.instructions.definition_first[i], row):
        if s.uses[p.definitions.temp[k]]:
            return
    for k in range(2):
        if not _same_since(s, source_at(p, i, k), w.time):
            return
    answer = p.definitions.temp[row]
    earlier = p.definitions.temp[p.instructions.definition_first[w.instruction] + p.instructions.definition_count[w.instruction] - 1]
    if not answer or not earlier or _reads_in_block(s, s.place[i] + 1, answer, 0) != s.uses[answer]:
        return
    s.changed = True
    _reads_in_block(s, s.place[w.instruction] + 1, earlier, earlier)
    _reads_in_block(s, s.place[i] + 1, answer, earlier)
    s.uses[earlier] += s.uses[answer]
    s.uses[answer] = 0
    for k in range(2):
        if source_at(p, i, k).flags & operand_temp:
            s.uses[source_at(p, i, k).data] -= 1
    s.dead[i] = 1


# ------------------------------------------------------------------------------------------------------------------------ sweep
cdef void _count_uses(Sweep *s) noexcept nogil:
    cdef ProgramData *p = s.p
    cdef BlockId b
    cdef uint32_t k
    cdef uint32_t row
    cdef InstructionId i
    cdef RowRange rows
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
            i = p.order.instruction[k]
            s.place[i] = k
            s.home[i] = b
            rows = operands_of(p, i)
            for row in range(rows.first, rows.first + rows.count):
                if p.operands.flags[row] & operand_temp:
                    s.uses[p.operands.data[row]] += 1


cdef bint _follows(const ProgramData *p, BlockId b) noexcept nogil:
    """Whether there is no other way into a block than from the one before it."""
    if b == 0 or p.blocks.linear_pred_count[b] != 1 or p.edge_lists.block[p.blocks.linear_pred_first[b]] != b - 1:
        return False
    return p.blocks.logical_pred_count[b] == 0 \
        or (p.blocks.logical_pred_count[b] == 1 and p.edge_lists.block[p.blocks.logical_pred_first[b]] == b - 1)


cdef bint _useless(const Sweep *s, InstructionId i) noexcept nogil:
    """What the patterns leave without a reader: lane moves and conjunctions."""
    cdef const ProgramData *p = s.p
    cdef RowRange rows = definitions_of(p, i)
    cdef uint32_t row
    if not is_lane_move(p, i) and p.instructions.opcode[i] not in (op_s_and_b32, op_s_and_b64):
        return False
    for row in range(rows.first, rows.first + rows.count):
        if not p.definitions.temp[row] or s.uses[p.definitions.temp[row]]:
            return False
    return True


cdef int _leave_out(Sweep *s) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef Rewrite rewrite
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    rewrite_begin(&rewrite, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&rewrite, b)
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not s.dead[i] and not _useless(s, i):
                rewrite_emit(&rewrite, i)
    return rewrite_end(&rewrite)


cdef bint _has_pattern(const ProgramData *p) noexcept nogil:
    """Whether there is a lane move, a test or a branch by a condition: most small programs have none, and nothing to sweep for."""
    cdef uint32_t k
    cdef InstructionId i
    for k in range(p.order.table.count):
        i = p.order.instruction[k]
        if (p.instructions.format[i] == format_pseudo_branch and p.instructions.operand_count[i]) or is_lane_move(p, i) \
                or _is_test(p, i):
            return True
    return False


cdef int optimize_post_ra_run(ProgramData *p) except -1 nogil:
    cdef Sweep s
    cdef uint32_t k
    cdef InstructionId i
    if not _has_pattern(p):
        return 0
    s.p = p
    s.now = 1
    s.floor = 1
    s.changed = False
    for k in range(<uint32_t>registers):
        s.last[k].time = 0
    s.before_scc = _last(&s, 0)
    s.uses.assign(p.temps.table.count, 0)
    s.place.assign(p.instructions.table.count, 0)
    s.home.assign(p.instructions.table.count, 0)
    s.dead.assign(p.instructions.table.count, 0)
    _count_uses(&s)
    for s.block in range(p.blocks.table.count):
        s.now += 1
        if not _follows(p, s.block):
            _forget(&s)
        for k in range(p.blocks.order_first[s.block], p.blocks.order_first[s.block] + p.blocks.order_count[s.block]):
            i = p.order.instruction[k]
            s.now += 1
            if format_is_valu(p.instructions.format[i]):
                _lane_moves(&s, i)
            else:
                _read_scc_of_maker(&s, i)
                _move_maker(&s, i)
                _branch_by_vcc(&s, i)
                i = p.order.instruction[k]
                _test_again(&s, i)
            if not s.dead[i]:
                _record_writes(&s, i)
    if s.changed:
        _leave_out(&s)
    return s.changed


cdef int _kernel(void *ir, int option) except -1 nogil:
    return optimize_post_ra_run(<ProgramData *>ir)


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Leave out what registers show to be unnecessary. Returns whether there was something."""
    cdef int changed
    with nogil:
        changed = _kernel(&program.data, 0)
    return changed != 0
