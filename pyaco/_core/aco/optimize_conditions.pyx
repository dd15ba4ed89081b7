"""The optimizer's third step: conditions that all lanes agree on stay in scc: see ``optimize.pyx``.

A condition is a mask as everything else that has a bit for each lane. One that comes from a scalar compare is made of scc, all ones or all zeros,
and turned into scc again (``mask & exec`` is not zero) where a branch or a select asks for it. If scc still holds what it was made of, or the
result of a bitwise operation of such masks, whoever asks reads that, and the way there and back is dead code. Nothing moves: where anything between
has written scc, the way stays, because keeping the bit would cost as much.

Last, behind the removal of dead code: an instruction that says in scc whether its result is zero makes a comparison of this result with zero
superfluous. It is moved to the place of the comparison where scc is written in between and nothing else reads the result.

A comparison of unsigned numbers of 64 bits, for which the scalar unit has no instruction, is the borrow of their subtraction where that has just
been made.

Needs: exec is not zero where a uniform condition is read, as divergent branches ensure. Source of the idea: ACO (``aco_optimizer``, its label for
uniform booleans).
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from pyaco._core.aco.optimize_edit cimport *
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.program cimport *


cdef enum:
    # Instructions among which all uses of a comparison must be found.
    most_to_uses = 24


cdef void use_conditions(Context *c, InstructionId i) noexcept nogil:
    """Read conditions from where they came."""
    cdef ProgramData *p = c.p
    cdef Operand o
    cdef TempId old
    cdef uint32_t k
    for k in range(p.instructions.operand_count[i]):
        o = source_at(p, i, k)
        old = o.data
        if o.flags & operand_temp and c.same_condition[old]:
            o.data = c.same_condition[old]
            set_operand(c, i, k, o)
            if c.condition_kind[old] == condition_inverse:
                turn_around(p, i)


cdef inline bint _is_exec(Operand o) noexcept nogil:
    return (o.flags & operand_fixed) != 0 and not o.flags & operand_constant and o.reg == register_exec


cdef inline TempId _condition_of(const Context *c, Operand o) noexcept nogil:
    """The scc that a mask, all ones or all zeros, was made of; 0: it is not known to be such."""
    return c.condition[o.data] if is_plain_temp(o) else 0


cdef bint _is_way_back(Context *c, InstructionId i, TempId result) noexcept nogil:
    """Whether an instruction turns into scc what scc holds already, for nothing but that."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef TempId known
    if p.instructions.opcode[i] not in (op_s_and_b32, op_s_and_b64) or result == 0 or c.uses[result_of(p, i)]:
        return False
    for k in range(2):
        known = _condition_of(c, source_at(p, i, k))
        if known == 0 or known != c.scc or not _is_exec(source_at(p, i, 1 - k)):
            continue
        if c.condition_kind[source_at(p, i, k).data] == condition_inverse:
            if not _is_turned_around_by_next(c, result):
                continue
            c.condition_kind[result] = condition_inverse
        c.same_condition[result] = known
        return True
    return False


cdef bint _is_turned_around_by_next(const Context *c, TempId condition) noexcept nogil:
    """Whether the next instruction is all that reads a condition, and takes the inverse as well."""
    cdef const ProgramData *p = c.p
    cdef OrderRow row = p.blocks.order_first[c.block] + c.position + 1
    cdef InstructionId i
    cdef uint32_t k
    while row < p.blocks.order_first[c.block] + p.blocks.order_count[c.block] and p.instructions.opcode[p.order.instruction[row]] == op_p_logical_end:
        row += 1
    if c.uses[condition] != 1 or row >= p.blocks.order_first[c.block] + p.blocks.order_count[c.block]:
        return False
    i = p.order.instruction[row]
    for k in range(p.instructions.operand_count[i]):
        if p.operands.flags[operand_row(p, i, k)] & operand_temp and p.operands.data[operand_row(p, i, k)] == condition:
            return takes_inverse(p, i, k)
    return False


cdef TempId scc_result(const ProgramData *p, InstructionId i, bint *writes) noexcept nogil:
    """The temp that an instruction leaves in scc, and whether it writes scc at all."""
    cdef uint32_t row
    cdef uint32_t first = p.instructions.definition_first[i]
    writes[0] = False
    for row in range(first, first + p.instructions.definition_count[i]):
        if p.definitions.flags[row] & definition_fixed and p.definitions.reg[row] == register_scc:
            writes[0] = True
            return p.definitions.temp[row] if p.definitions.flags[row] & definition_temp else 0
    return 0


cdef void note_conditions(Context *c, InstructionId i) noexcept nogil:
    """Remember what the instruction says of conditions."""
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef bint writes = False
    cdef TempId scc = scc_result(p, i, &writes)
    if _is_way_back(c, i, scc):
        return
    if writes:
        c.scc = scc
    if p.instructions.definition_count[i] == 0:
        return
    if opcode in (op_s_cselect_b32, op_s_cselect_b64):
        _note_mask_of_scc(c, i)
    elif opcode in (op_s_not_b32, op_s_not_b64):
        if c.condition_kind[source_at(p, i, 0).data] in (condition_whole, condition_inverse) and is_plain_temp(source_at(p, i, 0)):
            c.condition[result_of(p, i)] = scc
            c.condition_kind[result_of(p, i)] = condition_whole
    elif opcode in (op_s_and_b32, op_s_and_b64, op_s_or_b32, op_s_or_b64, op_s_xor_b32, op_s_xor_b64, op_s_andn2_b32, op_s_andn2_b64,
                    op_s_orn2_b32, op_s_orn2_b64):
        _note_combined_masks(c, i, scc)
    elif opcode == op_s_subb_u32:
        c.borrow = i
    elif p.instructions.format[i] & format_vopc and _reads_scalars(c, i):
        c.condition_kind[result_of(p, i)] = condition_of_active


cdef void _note_mask_of_scc(Context *c, InstructionId i) noexcept nogil:
    """A select of all ones and zeros."""
    cdef ProgramData *p = c.p
    cdef uint64_t ones = 0xffffffffU if p.instructions.opcode[i] == op_s_cselect_b32 else 0xffffffffffffffffULL
    cdef Operand scc = source_at(p, i, 2)
    cdef bint inverse = is_constant(source_at(p, i, 0), 0)
    if not scc.flags & operand_temp or not is_constant(source_at(p, i, inverse), ones) or not is_constant(source_at(p, i, 1 - inverse), 0):
        return
    c.condition[result_of(p, i)] = scc.data
    c.condition_kind[result_of(p, i)] = condition_inverse if inverse else condition_whole


cdef void _note_combined_masks(Context *c, InstructionId i, TempId scc) noexcept nogil:
    """Conjunctions and disjunctions hold where a mask has at least the active lanes if it has any; the rest wants masks that are all ones then."""
    cdef ProgramData *p = c.p
    cdef uint32_t kind = condition_whole
    cdef uint32_t k
    cdef TempId mask
    for k in range(2):
        mask = source_at(p, i, k).data
        if not is_plain_temp(source_at(p, i, k)) or c.condition_kind[mask] == condition_unknown:
            return
        if c.condition_kind[mask] == condition_of_active:
            # Other blocks have other active lanes.
            if c.home[mask] != c.block:
                return
            kind = condition_of_active
    if kind == condition_of_active and p.instructions.opcode[i] not in (op_s_and_b32, op_s_and_b64, op_s_or_b32, op_s_or_b64):
        return
    c.condition[result_of(p, i)] = scc
    c.condition_kind[result_of(p, i)] = <uint8_t>kind


cdef Operand _scalar_behind(const Context *c, Operand o) noexcept nogil:
    """What a VGPR is a copy of, as the vector unit reads few scalars; other operands as they are."""
    cdef const ProgramData *p = c.p
    cdef InstructionId maker
    if not is_plain_temp(o) or is_scalar(o):
        return o
    maker = c.parent[o.data]
    if maker and p.instructions.opcode[maker] == op_p_parallelcopy and p.instructions.operand_count[maker] == 1:
        return source_at(p, maker, 0)
    return o


cdef bint _reads_scalars(const Context *c, InstructionId i) noexcept nogil:
    """Whether all lanes get the same result: of a comparison, the active lanes or none."""
    cdef const ProgramData *p = c.p
    cdef Operand o
    cdef uint32_t k
    for k in range(p.instructions.operand_count[i]):
        o = _scalar_behind(c, source_at(p, i, k))
        if not o.flags & operand_constant and not (is_plain_temp(o) and is_scalar(o)):
            return False
    return p.instructions.definition_count[i] == 1 and not p.definitions.flags[p.instructions.definition_first[i]] & definition_fixed


# --------------------------------------------------------------------------------------------------------------------- borrows
cdef bint _is_dword_of(const Context *c, Operand part, Operand whole, uint32_t k) noexcept nogil:
    """Whether a value is dword `k` of another."""
    cdef const ProgramData *p = c.p
    cdef InstructionId maker
    cdef Operand o
    if whole.flags & operand_constant:
        return is_constant(part, <uint32_t>(operand_constant_value(whole) >> (32 * k)))
    if not is_plain_temp(part) or not is_plain_temp(whole):
        return False
    maker = c.parent[part.data]
    if maker and p.instructions.opcode[maker] == op_p_split_vector and p.instructions.definition_count[maker] == 2:
        o = source_at(p, maker, 0)
        if is_plain_temp(o) and o.data == whole.data and p.definitions.temp[p.instructions.definition_first[maker] + k] == part.data:
            return True
    maker = c.parent[whole.data]
    if maker == 0 or p.instructions.opcode[maker] != op_p_create_vector or p.instructions.operand_count[maker] != 2:
        return False
    o = source_at(p, maker, k)
    return is_plain_temp(o) and o.data == part.data


cdef inline Operand mask_constant(const ProgramData *p, bint ones) noexcept nogil:
    if p.lane_mask == class_s1:
        return operand_c32(0xffffffffU if ones else 0)
    return operand_c64(0xffffffffffffffffULL if ones else 0)


cdef bint use_borrow(Context *c, InstructionId i) except -1 nogil:
    """A comparison of unsigned numbers of 64 bits that have just been subtracted is the borrow, which scc holds."""
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef Operand[3] o
    cdef InstructionId low
    cdef TempId scc
    cdef bint writes = False
    cdef bint swapped = opcode in (op_v_cmp_gt_u64, op_v_cmp_le_u64)
    cdef bint less = opcode in (op_v_cmp_lt_u64, op_v_cmp_gt_u64)
    if c.borrow == 0 or c.scc == 0 or not (swapped or less or opcode == op_v_cmp_ge_u64) or not _reads_scalars(c, i):
        return False
    scc = scc_result(p, c.borrow, &writes)
    low = c.parent[source_at(p, c.borrow, 2).data] if source_at(p, c.borrow, 2).flags & operand_temp else 0
    if scc != c.scc or low == 0 or p.instructions.opcode[low] != op_s_sub_u32:
        return False
    o[0] = _scalar_behind(c, source_at(p, i, swapped))
    o[1] = _scalar_behind(c, source_at(p, i, 1 - swapped))
    if not (_is_dword_of(c, source_at(p, low, 0), o[0], 0) and _is_dword_of(c, source_at(p, c.borrow, 0), o[0], 1)
            and _is_dword_of(c, source_at(p, low, 1), o[1], 0) and _is_dword_of(c, source_at(p, c.borrow, 1), o[1], 1)):
        return False
    o[0] = mask_constant(p, less)
    o[1] = mask_constant(p, not less)
    o[2] = operand_of(p, scc)
    o[2].flags |= operand_fixed
    o[2].reg = register_scc
    become(c, i, op_s_cselect_b32 if p.lane_mask == class_s1 else op_s_cselect_b64, format_sop2, o, 3)
    p.instructions.modifiers[i] = 0
    return True


# ------------------------------------------------------------------------------------------------------- comparisons with zero
cdef uint32_t says_not_zero(uint16_t opcode) noexcept nogil:
    """Bits of the result that an instruction compares with zero, for scc; 0: scc has another meaning."""
    if opcode in (op_s_and_b32, op_s_or_b32, op_s_xor_b32, op_s_andn2_b32, op_s_orn2_b32, op_s_nand_b32, op_s_nor_b32, op_s_xnor_b32,
                  op_s_not_b32, op_s_lshl_b32, op_s_lshr_b32, op_s_ashr_i32, op_s_bfe_u32, op_s_bfe_i32, op_s_bcnt1_i32_b32):
        return 32
    if opcode in (op_s_and_b64, op_s_or_b64, op_s_xor_b64, op_s_andn2_b64, op_s_orn2_b64, op_s_not_b64, op_s_lshl_b64, op_s_lshr_b64):
        return 64
    return 0


cdef uint32_t _compares_with_zero(const ProgramData *p, InstructionId i, bint *equal) noexcept nogil:
    """Bits of the first operand that an instruction compares with zero for nothing but scc."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    equal[0] = opcode in (op_s_cmp_eq_i32, op_s_cmp_eq_u32, op_s_cmp_eq_u64)
    if not equal[0] and opcode not in (op_s_cmp_lg_i32, op_s_cmp_lg_u32, op_s_cmp_lg_u64):
        return 0
    if not is_plain_temp(source_at(p, i, 0)) or not is_constant(source_at(p, i, 1), 0):
        return 0
    return 64 if opcode in (op_s_cmp_eq_u64, op_s_cmp_lg_u64) else 32


cdef bint takes_inverse(const ProgramData *p, InstructionId i, uint32_t k) noexcept nogil:
    """Whether operand `k` may be the inverse condition where the instruction is turned around."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    if opcode in (op_s_cselect_b32, op_s_cselect_b64):
        return k == 2
    return opcode == op_p_cbranch_z or opcode == op_p_cbranch_nz


cdef void turn_around(ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef Operand first
    if opcode == op_p_cbranch_z or opcode == op_p_cbranch_nz:
        p.instructions.opcode[i] = op_p_cbranch_nz if opcode == op_p_cbranch_z else op_p_cbranch_z
        return
    first = source_at(p, i, 0)
    operand_put(p, operand_row(p, i, 0), source_at(p, i, 1))
    operand_put(p, operand_row(p, i, 1), first)


cdef void _read_instead(Context *c, InstructionId i, uint32_t k, TempId scc, bint inverse) noexcept nogil:
    """Let an instruction read another condition, or its inverse, and keep what is known of the mask that it makes."""
    cdef ProgramData *p = c.p
    cdef TempId mask = result_of(p, i)
    if c.condition[mask] == p.operands.data[operand_row(p, i, k)]:
        c.condition[mask] = scc
        if inverse:
            c.condition_kind[mask] = condition_whole if c.condition_kind[mask] == condition_inverse else condition_inverse
    p.operands.data[operand_row(p, i, k)] = scc
    if inverse:
        turn_around(p, i)


cdef bint replace_condition(Context *c, const SmallVector[uint8_t] &dead, OrderRow row, OrderRow end, TempId old, TempId new,
                            bint inverse) noexcept nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t left = c.uses[old]
    cdef InstructionId i
    cdef uint32_t k
    while left and row < end:
        i = p.order.instruction[row]
        row += 1
        if dead[i]:
            continue
        for k in range(p.instructions.operand_count[i]):
            if not p.operands.flags[operand_row(p, i, k)] & operand_temp or p.operands.data[operand_row(p, i, k)] != old:
                continue
            left -= 1
            if inverse and not takes_inverse(p, i, k):
                return False
            if new:
                _read_instead(c, i, k, new, inverse)
    return left == 0


cdef bint _names_registers(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether an operand is a register of which the value may be another one further on: exec, scc."""
    cdef uint32_t k
    for k in range(p.instructions.operand_count[i]):
        if p.operands.flags[operand_row(p, i, k)] & operand_fixed and not p.operands.flags[operand_row(p, i, k)] & operand_constant:
            return True
    return False


cdef bint _drop_comparison(Context *c, SmallVector[uint8_t] &dead, OrderRow first, OrderRow row, OrderRow end, InstructionId last) noexcept nogil:
    """Drop the comparison at a row if an instruction of its block says the same; `last`: what has written scc last."""
    cdef ProgramData *p = c.p
    cdef InstructionId i = p.order.instruction[row]
    cdef InstructionId maker
    cdef TempId temp
    cdef TempId scc
    cdef TempId result
    cdef bint equal = False
    cdef bint writes = False
    cdef uint32_t bits = _compares_with_zero(p, i, &equal)
    if bits == 0:
        return False
    temp = source_at(p, i, 0).data
    maker = c.parent[temp]
    if maker == 0 or dead[maker] or c.home[temp] != c.block or says_not_zero(p.instructions.opcode[maker]) != bits:
        return False
    scc = scc_result(p, maker, &writes)
    result = scc_result(p, i, &writes)
    if scc == 0 or result == 0 or result_of(p, maker) != temp or c.uses[result] == 0:
        return False
    if maker != last and (c.uses[temp] != 1 or c.uses[scc] or p.order.instruction[first + c.place[temp]] != maker
                          or _names_registers(p, maker)):
        return False
    end = min(end, row + 1 + <OrderRow>most_to_uses)
    if not replace_condition(c, dead, row + 1, end, result, 0, equal):
        return False
    replace_condition(c, dead, row + 1, end, result, scc, equal)
    c.uses[scc] += c.uses[result]
    c.uses[temp] -= 1
    dead[i] = 1
    if maker != last:
        p.order.instruction[first + c.place[temp]] = i
        p.order.instruction[row] = maker
    return True


cdef void drop_comparisons(Context *c, SmallVector[uint8_t] &dead) noexcept nogil:
    """Mark comparisons with zero as dead where scc tells without them."""
    cdef ProgramData *p = c.p
    cdef OrderRow first
    cdef OrderRow row
    cdef OrderRow end
    cdef InstructionId i
    cdef InstructionId last
    cdef bint writes = False
    for c.block in range(p.blocks.table.count):
        first = p.blocks.order_first[c.block]
        end = first + p.blocks.order_count[c.block]
        last = 0
        for row in range(first, end):
            i = p.order.instruction[row]
            if dead[i] or p.instructions.definition_count[i] == 0:
                continue
            if _drop_comparison(c, dead, first, row, end, last):
                # What says the same has written scc last now, if not before.
                last = c.parent[source_at(p, i, 0).data]
                continue
            scc_result(p, i, &writes)
            if writes:
                last = i
