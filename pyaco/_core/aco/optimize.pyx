"""The optimizer: copies, constants and modifiers move into the instructions that use them, pairs become one instruction.

One forward sweep (in SSA every definition comes before its uses, except around loops), then a backward sweep that removes dead code:

1. *propagate*: an operand that is a copy, a constant, or a float negated, made absolute or canonicalized is replaced by its source where
   the encoding allows: constant bus, VOP2 or VOP3, one literal, inline constants by operand width.
2. *combine*: an instruction and the producer of one of its operands, which nothing else uses, become one: three-operand adds and logic, shifts with
   adds, multiply-add, min3/max3, clamp and output modifiers, scalar and-not and shift-add, tests of one bit, pairs of halves.
3. *conditions*: a uniform condition that scc still holds is read from there, not by way of a mask.

A last sweep, where there is something for it, gives instructions forms that little else can be done with: SDWA, mixed precision, DPP, literals as
addends.

Float rules: nothing is contracted into a fused operation that is marked precise; a multiplication by one may be left out only if
denormals are kept by the mode, or if the instruction that produced or reads the value flushes them anyway.

Needs: SSA before the execution mask is explicit. Sources: encodings, AMD ISA documents; the choice of patterns follows ACO
(``aco_optimizer``), the method is its own.
"""
from libc.stdint cimport uint16_t, uint32_t, uint8_t

from isa_opcodes cimport *
from isa_tables cimport is_atomic
from modifiers cimport modifier_semantics
from pyaco._core.aco.optimize_combine cimport combine, combine_sign_of_product, combine_with_literal
from pyaco._core.aco.optimize_conditions cimport drop_comparisons, note_conditions, use_borrow, use_conditions
from pyaco._core.aco.optimize_edit cimport *
from pyaco._core.aco.optimize_lanes cimport fold_lane_moves
from pyaco._core.aco.optimize_mix cimport find_mixable, use_mixed_precision
from pyaco._core.aco.optimize_parts cimport is_part, use_selections
from pyaco._core.aco.optimize_propagate cimport propagate
from pyaco._core.aco.optimize_scc cimport keep_conditions
from pyaco._core.aco.optimize_facts cimport flushed_bits, made_bits
from pyaco._core.aco.queries cimport opcode_is_phi
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.common.table cimport RowRange
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport *


# ------------------------------------------------------------------------------------------------------------------- sweeps
cdef void _label(Context *c, InstructionId i) noexcept nogil:
    """Remember the instruction that defines each of its temps."""
    cdef RowRange definitions
    cdef ProgramData *p = c.p
    cdef DefinitionRow row
    cdef TempId temp
    cdef uint32_t bits = 0
    if format_is_valu(p.instructions.format[i]):
        bits = max(flushed_bits(p.instructions.opcode[i], p.gfx_level), made_bits(p.instructions.opcode[i]))
    definitions = definitions_of(p, i)
    for row in range(definitions.first, definitions.first + definitions.count):
        temp = p.definitions.temp[row]
        if p.definitions.flags[row] & definition_temp:
            c.parent[temp] = i
            c.home[temp] = c.block
            c.place[temp] = c.position
            c.canonical[temp] = <uint8_t>bits
    _note_literal(c, i)


cdef void _note_literal(Context *c, InstructionId i) noexcept nogil:
    """Remember the SGPR that an instruction gives a literal to."""
    cdef ProgramData *p = c.p
    if p.instructions.opcode[i] not in (op_p_parallelcopy, op_s_mov_b32) or p.instructions.operand_count[i] != 1 \
            or not operand_is_literal(source_at(p, i, 0)) or p.definitions.register_class[p.instructions.definition_first[i]] != class_s1 \
            or p.definitions.flags[p.instructions.definition_first[i]] & definition_fixed:
        return
    c.literals[source_at(p, i, 0).data] = result_of(p, i)


cdef inline bint _adds_floats(uint16_t opcode) noexcept nogil:
    return opcode in (op_v_add_f32, op_v_add_f16, op_v_add_f64, op_v_sub_f32, op_v_sub_f16, op_v_subrev_f32, op_v_subrev_f16,
                      op_v_pk_add_f16)


cdef void _count_uses(Context *c) noexcept nogil:
    cdef RowRange operands
    cdef ProgramData *p = c.p
    cdef OrderRow k
    cdef InstructionId i
    cdef OperandRow row
    for k in range(p.order.table.count):
        i = p.order.instruction[k]
        operands = operands_of(p, i)
        for row in range(operands.first, operands.first + operands.count):
            if p.operands.flags[row] & operand_temp:
                c.uses[p.operands.data[row]] += 1
                c.other_uses[p.operands.data[row]] += not _adds_floats(p.instructions.opcode[i])


cdef bint _has_effect(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether the instruction does more than compute its definitions."""
    cdef RowRange rows
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef DefinitionRow row
    if p.instructions.definition_count[i] == 0:
        return True
    rows = definitions_of(p, i)
    for row in range(rows.first, rows.first + rows.count):
        if not p.definitions.flags[row] & definition_temp:
            return True
    if format in (format_sopp, format_exp, format_ldsdir, format_pseudo_branch, format_pseudo_barrier):
        return True
    if format_is_vmem(format) or format_is_flat_like(format) or format == format_ds or format == format_smem:
        return is_atomic(opcode) or (modifier_semantics(p.instructions.modifiers[i]) & semantic_volatile) != 0 \
            or (format == format_ds and opcode in (op_ds_append, op_ds_consume, op_ds_ordered_count))
    if format == format_pseudo:
        return opcode in (op_p_startpgm, op_p_init_scratch, op_p_start_linear_vgpr, op_p_unit_test, op_p_reload, op_p_spill,
                          op_p_call, op_p_debug_info, op_p_demote_to_helper, op_p_discard_if)
    return opcode in (op_s_getreg_b32, op_s_setreg_b32, op_s_setreg_imm32_b32, op_s_sendmsg_rtn_b32, op_s_sendmsg_rtn_b64,
                      op_s_setpc_b64, op_s_swappc_b64, op_s_getpc_b64, op_s_barrier_signal_isfirst)


cdef bint _is_dead(const Context *c, InstructionId i) noexcept nogil:
    cdef RowRange definitions
    cdef const ProgramData *p = c.p
    cdef DefinitionRow row
    if _has_effect(p, i):
        return False
    definitions = definitions_of(p, i)
    for row in range(definitions.first, definitions.first + definitions.count):
        if c.uses[p.definitions.temp[row]]:
            return False
    return True


cdef void _narrow_copy(Context *c, InstructionId i) noexcept nogil:
    """A copy of several values keeps those that something reads."""
    cdef ProgramData *p = c.p
    cdef DefinitionRow definition = p.instructions.definition_first[i]
    cdef OperandRow operand = p.instructions.operand_first[i]
    cdef uint32_t count = p.instructions.definition_count[i]
    cdef uint32_t kept = 0
    cdef uint32_t k
    if p.instructions.opcode[i] != op_p_parallelcopy or count != p.instructions.operand_count[i]:
        return
    for k in range(count):
        if c.uses[p.definitions.temp[definition + k]] == 0 and not p.definitions.flags[definition + k] & definition_fixed:
            if p.operands.flags[operand + k] & operand_temp:
                c.uses[p.operands.data[operand + k]] -= 1
            continue
        if kept != k:
            definition_put(p, definition + kept, definition_at(p, definition + k))
            operand_put(p, operand + kept, operand_at(p, operand + k))
        kept += 1
    p.instructions.definition_count[i] = <uint16_t>kept
    p.instructions.operand_count[i] = <uint16_t>kept


cdef void _find_dead(Context *c, SmallVector[uint8_t] &dead) noexcept nogil:
    """Mark dead code, uses before definitions; phis of loops that only feed themselves stay."""
    cdef RowRange operands
    cdef ProgramData *p = c.p
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    cdef OperandRow row
    cdef bint again = True
    cdef uint32_t rounds = 0
    while again and rounds < 4:
        again = False
        rounds += 1
        b = p.blocks.table.count
        while b > 0:
            b -= 1
            k = p.blocks.order_count[b]
            while k > 0:
                k -= 1
                i = p.order.instruction[p.blocks.order_first[b] + k]
                if dead[i]:
                    continue
                if not _is_dead(c, i):
                    if p.instructions.definition_count[i] > 1:
                        _narrow_copy(c, i)
                    continue
                dead[i] = 1
                again |= opcode_is_phi(p.instructions.opcode[i])
                operands = operands_of(p, i)
                for row in range(operands.first, operands.first + operands.count):
                    if p.operands.flags[row] & operand_temp:
                        c.uses[p.operands.data[row]] -= 1


cdef int _remove_dead(Context *c, SmallVector[uint8_t] &dead) except -1 nogil:
    """Leave out what is marked as dead."""
    cdef ProgramData *p = c.p
    cdef Rewrite rewrite
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    drop_comparisons(c, dead)
    keep_conditions(c, dead)
    rewrite_begin(&rewrite, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&rewrite, b)
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not dead[i]:
                rewrite_emit(&rewrite, i)
    return rewrite_end(&rewrite)


cdef inline bint _is_vector(Operand o) noexcept nogil:
    return not o.flags & (operand_constant | operand_undef) and class_is_vgpr(o.register_class)


cdef int _use_literal_forms(Context *c, InstructionId i) except -1 nogil:
    """Multiply-add with a literal has a shorter encoding (GFX10 and later): as the addend, where another factor is a VGPR; as a factor, where the
    addend is one."""
    cdef ProgramData *p = c.p
    cdef Operand[3] operands
    cdef uint32_t literal = 0
    if p.instructions.opcode[i] != op_v_fma_f32 or p.gfx_level < gfx10 or p.instructions.modifiers[i] \
            or p.instructions.format[i] != format_vop3:
        return 0
    while literal < 3 and not operand_is_literal(source_at(p, i, literal)):
        literal += 1
    if literal == 3:
        return 0
    operands[0] = source_at(p, i, 1 if literal == 0 else 0)
    operands[1] = source_at(p, i, 1 if literal == 2 else 2)
    operands[2] = source_at(p, i, literal)
    if operand_is_literal(operands[0]) or operand_is_literal(operands[1]) or not _is_vector(operands[1]) \
            or not (operands[0].flags & operand_constant or _is_vector(operands[0]) or (literal < 2 and is_plain_temp(operands[0]))):
        return 0
    # An addend that nothing else reads gives its register to the result of v_fmac_f32, which is as short.
    if literal < 2 and c.uses[operands[1].data] == 1:
        return 0
    return become(c, i, op_v_fmaak_f32 if literal == 2 else op_v_fmamk_f32, format_vop2, operands, 3)


cdef enum:                        # what the last sweep has to look for
    late_sign = 1
    late_part = 2
    late_mixed = 4
    late_lane = 8


cdef uint32_t _late_forms(const ProgramData *p, InstructionId i) noexcept nogil:
    """What the last sweep could make of an instruction, or of one that reads it."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t k
    if opcode == op_v_mul_f32 or opcode == op_v_mul_f16:
        for k in range(2):
            if source_at(p, i, k).flags & operand_constant:
                return late_mixed if operand_is_literal(source_at(p, i, k)) else late_sign
    elif opcode in (op_p_extract, op_p_insert, op_p_extract_vector):
        return late_part
    elif (opcode == op_v_xor_b32 and is_constant(source_at(p, i, 0), 0x80000000U)) \
            or (opcode == op_v_and_b32 and is_constant(source_at(p, i, 0), 0x7fffffff)):
        return late_sign
    elif opcode in (op_v_and_b32, op_v_lshrrev_b32, op_v_ashrrev_i32, op_v_bfe_u32, op_v_bfe_i32):
        return late_part if is_part(p, i) else 0
    elif opcode == op_v_cvt_f32_f16 or opcode == op_v_cvt_f16_f32:
        return late_mixed
    elif opcode in (op_v_fma_f32, op_v_mad_f32, op_v_add_f32, op_v_sub_f32, op_v_subrev_f32):
        for k in range(p.instructions.operand_count[i]):
            if operand_is_literal(source_at(p, i, k)):
                return late_mixed
    elif opcode == op_p_parallelcopy and p.instructions.operand_count[i] == 1:
        return late_mixed if operand_is_literal(source_at(p, i, 0)) else 0
    elif p.instructions.format[i] & (format_dpp16 | format_dpp8) and opcode == op_v_mov_b32:
        return late_lane
    return 0


cdef bint _move_signs(Context *c, const SmallVector[uint8_t] &dead) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    cdef bint changed = False
    for b in range(p.blocks.table.count):
        c.block = b
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not dead[i] and format_is_valu(p.instructions.format[i]):
                changed |= combine_sign_of_product(c, i)
    return changed


cdef bint _late_sweep(Context *c, const SmallVector[uint8_t] &dead, uint32_t late) except -1 nogil:
    """What leaves instructions in a form that nothing else can be done with; only what is not dead counts as use. Whether there was something."""
    cdef ProgramData *p = c.p
    cdef SmallVector[uint8_t] mixable
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    cdef bint changed = late & late_sign != 0 and _move_signs(c, dead)
    if late == late_sign:
        return changed
    if late & late_mixed:
        find_mixable(c, dead, mixable)
    for b in range(p.blocks.table.count):
        c.block = b
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if dead[i] or p.instructions.operand_count[i] == 0:         # none: its reader has taken its place
                continue
            c.position = k
            if late & late_part:
                changed |= use_selections(c, i)
            if not format_is_valu(p.instructions.format[i]):
                continue
            if late & late_mixed:
                changed |= use_mixed_precision(c, i, mixable)
                changed |= combine_with_literal(c, i)
                _use_literal_forms(c, i)
            if late & late_lane:
                changed |= fold_lane_moves(c, i)
    return changed


cdef int optimize_run(ProgramData *p) except -1 nogil:
    cdef Context c
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    cdef uint32_t tries
    cdef SmallVector[uint8_t] dead
    cdef uint32_t late = 0
    c.p = p
    c.parent.assign(p.temps.table.count, 0)
    c.home.assign(p.temps.table.count, 0)
    c.place.assign(p.temps.table.count, 0)
    c.uses.assign(p.temps.table.count, 0)
    c.other_uses.assign(p.temps.table.count, 0)
    c.canonical.assign(p.temps.table.count, 0)
    c.condition.assign(p.temps.table.count, 0)
    c.condition_kind.assign(p.temps.table.count, 0)
    c.same_condition.assign(p.temps.table.count, 0)
    c.borrow = 0
    _count_uses(&c)
    for b in range(p.blocks.table.count):
        c.block = b
        c.scc = 0
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            c.position = k
            use_conditions(&c, i)
            propagate(&c, i)
            tries = 0
            while tries < 3 and combine(&c, i):
                tries += 1
            use_borrow(&c, i)
            _label(&c, i)
            note_conditions(&c, i)
            late |= _late_forms(p, i)
    dead.assign(p.instructions.table.count, 0)
    _find_dead(&c, dead)
    if late and _late_sweep(&c, dead, late):
        _find_dead(&c, dead)
    return _remove_dead(&c, dead)


cdef int _kernel(void *ir, int option) except -1 nogil:
    optimize_run(<ProgramData *>ir)
    return 1


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Propagate copies, constants and modifiers, combine instructions, remove dead code."""
    with nogil:
        _kernel(&program.data, 0)
    return True
