"""The optimizer's third step: conditions that all lanes agree on stay in scc: see ``optimize.pyx``.

A condition is a mask as everything else that has a bit for each lane. One that comes from a scalar compare is made of scc, all ones or all zeros,
and turned into scc again (``mask & exec`` is not zero) where a branch or a select asks for it. If scc still holds what it was made of, or the
result of a bitwise operation of such masks, whoever asks reads that, and the way there and back is dead code. Nothing moves: where anything between
has written scc, the way stays, because keeping the bit would cost as much.

Needs: exec is not zero where a uniform condition is read, as divergent branches ensure. Source of the idea: ACO (``aco_optimizer``, its label for
uniform booleans).
"""
from libc.stdint cimport uint16_t, uint32_t

from isa_opcodes cimport *
from pyaco._core.aco.optimize_edit cimport *
from pyaco._core.ir.program cimport *


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
