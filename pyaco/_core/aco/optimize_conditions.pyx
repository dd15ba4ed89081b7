"""The optimizer's third step: conditions that all lanes agree on stay in scc: see ``optimize.pyx``.

A condition is a mask as everything else that has a bit for each lane. One that comes from a scalar compare is made of scc, all ones or all zeros,
and turned into scc again (``mask & exec`` is not zero) where a branch or a select asks for it. If scc still holds what it was made of, or the
result of a bitwise operation of such masks, whoever asks reads that, and the way there and back is dead code. Nothing moves: where anything between
has written scc, the way stays, because keeping the bit would cost as much.

Last, behind the removal of dead code: an instruction that says in scc whether its result is zero makes a comparison of this result with zero
superfluous. It is moved to the place of the comparison where scc is written in between and nothing else reads the result.

Needs: exec is not zero where a uniform condition is read, as divergent branches ensure. Source of the idea: ACO (``aco_optimizer``, its label for
uniform booleans).
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libcpp.vector cimport vector

from isa_opcodes cimport *
from pyaco._core.aco.optimize_edit cimport *
from pyaco._core.ir.program cimport *


cdef enum:
    # Instructions among which all uses of a comparison must be found.
    most_to_uses = 24


cdef void use_conditions(Context *c, InstructionId i) noexcept nogil:
    """Read conditions from where they came."""
    cdef ProgramData *p = c.p
    cdef Operand o
    cdef uint32_t k
    for k in range(p.instructions.operand_count[i]):
        o = source_at(p, i, k)
        if o.flags & operand_temp and c.same_condition[o.data]:
            o.data = c.same_condition[o.data]
            set_operand(c, i, k, o)


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
        if known and known == c.scc and _is_exec(source_at(p, i, 1 - k)):
            c.same_condition[result] = known
            return True
    return False


cdef TempId _scc_result(const ProgramData *p, InstructionId i, bint *writes) noexcept nogil:
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
    cdef TempId scc = _scc_result(p, i, &writes)
    cdef Operand o
    if _is_way_back(c, i, scc):
        return
    if writes:
        c.scc = scc
    if p.instructions.definition_count[i] == 0:
        return
    if opcode in (op_s_cselect_b32, op_s_cselect_b64):
        o = source_at(p, i, 2)
        if o.flags & operand_temp and is_constant(source_at(p, i, 1), 0) \
                and is_constant(source_at(p, i, 0), 0xffffffffU if opcode == op_s_cselect_b32 else 0xffffffffffffffffULL):
            c.condition[result_of(p, i)] = o.data
    elif opcode in (op_s_not_b32, op_s_not_b64):
        if _condition_of(c, source_at(p, i, 0)):
            c.condition[result_of(p, i)] = scc
    elif opcode in (op_s_and_b32, op_s_and_b64, op_s_or_b32, op_s_or_b64, op_s_xor_b32, op_s_xor_b64, op_s_andn2_b32, op_s_andn2_b64,
                    op_s_orn2_b32, op_s_orn2_b64):
        if _condition_of(c, source_at(p, i, 0)) and _condition_of(c, source_at(p, i, 1)):
            c.condition[result_of(p, i)] = scc


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


cdef bint _replace(Context *c, const vector[uint8_t] &dead, OrderRow row, OrderRow end, TempId old, TempId new, bint inverse,
                   bint look_only) noexcept nogil:
    """Replace a condition in all that reads it; whether that can be done."""
    cdef ProgramData *p = c.p
    cdef uint32_t left = c.uses[old]
    cdef InstructionId i
    cdef uint32_t k
    end = min(end, row + <OrderRow>most_to_uses)
    while left and row < end:
        i = p.order.instruction[row]
        row += 1
        if dead[i]:
            continue
        for k in range(p.instructions.operand_count[i]):
            if not p.operands.flags[operand_row(p, i, k)] & operand_temp or p.operands.data[operand_row(p, i, k)] != old:
                continue
            left -= 1
            if look_only:
                if inverse and not takes_inverse(p, i, k):
                    return False
                continue
            p.operands.data[operand_row(p, i, k)] = new
            if inverse:
                turn_around(p, i)
    return left == 0


cdef bint _names_registers(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether an operand is a register of which the value may be another one further on: exec, scc."""
    cdef uint32_t k
    for k in range(p.instructions.operand_count[i]):
        if p.operands.flags[operand_row(p, i, k)] & operand_fixed and not p.operands.flags[operand_row(p, i, k)] & operand_constant:
            return True
    return False


cdef bint _drop_comparison(Context *c, vector[uint8_t] &dead, OrderRow first, OrderRow row, OrderRow end, InstructionId last) noexcept nogil:
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
    scc = _scc_result(p, maker, &writes)
    result = _scc_result(p, i, &writes)
    if scc == 0 or result == 0 or result_of(p, maker) != temp or c.uses[result] == 0:
        return False
    if maker != last and (c.uses[temp] != 1 or c.uses[scc] or p.order.instruction[first + c.place[temp]] != maker
                          or _names_registers(p, maker)):
        return False
    if not _replace(c, dead, row + 1, end, result, scc, equal, True):
        return False
    _replace(c, dead, row + 1, end, result, scc, equal, False)
    c.uses[scc] += c.uses[result]
    c.uses[temp] -= 1
    dead[i] = 1
    if maker != last:
        p.order.instruction[first + c.place[temp]] = i
        p.order.instruction[row] = maker
    return True


cdef void drop_comparisons(Context *c, vector[uint8_t] &dead) noexcept nogil:
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
            _scc_result(p, i, &writes)
            if writes:
                last = i
