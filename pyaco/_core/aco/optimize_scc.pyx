"""The optimizer's last look at uniform conditions: where little stands between, scc keeps them: see ``optimize.pyx``.

1. *What stands between goes in front.* A condition is turned into scc again (``mask & exec`` is not zero) because an instruction between has written
   scc for nothing. If that one waits for nothing that the condition or what follows makes, it moves in front of the condition's maker, and scc keeps
   its value: the second of two selects by one condition computes what it chooses from first.
2. *Numbers are made where the condition is made.* A mask that is turned into scc for nothing but its number, one or zero, becomes the number.
3. *scc is an operand.* A conjunction or disjunction of two conditions reads the younger one from scc, where it is one or zero, and the older one from
   a number that is one or zero, not a mask; so does a chain of them, of which only scc or others of the chain are read.

Needs: uses without dead code, the conditions that the sweep has noted. Nothing leaves its block; distances are limited, so that cost is linear.
"""
from libc.stdint cimport uint8_t, uint32_t

from isa_opcodes cimport *
from pyaco._core.aco.optimize_conditions cimport replace_condition, scc_result
from pyaco._core.aco.optimize_edit cimport *
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.program cimport *

cdef enum:
    most_between = 32            # instructions between a condition and its reader
    most_rounds = 16             # of leaving out conjunctions that others wait for
    most_to_reader = 8           # instructions between what writes scc and what reads it

cdef struct Conjunction:
    InstructionId instruction
    uint32_t younger             # operand whose condition scc holds


# ------------------------------------------------------------------------------------------------------------------- what is read
cdef inline bint _writes_scc(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef bint writes = False
    scc_result(p, i, &writes)
    return writes


cdef inline bint _is_exec(Operand o) noexcept nogil:
    return (o.flags & operand_fixed) != 0 and not o.flags & operand_constant and o.reg == register_exec


cdef inline bint _is_of(Operand o, TempId temp) noexcept nogil:
    return (o.flags & operand_temp) != 0 and o.data == temp


cdef bint _reads(const ProgramData *p, InstructionId i, TempId temp) noexcept nogil:
    cdef uint32_t k
    for k in range(p.instructions.operand_count[i]):
        if _is_of(source_at(p, i, k), temp):
            return True
    return False


cdef bint _reads_any_of(const ProgramData *p, InstructionId i, const SmallVector[InstructionId] &makers) noexcept nogil:
    cdef size_t k
    cdef uint32_t d
    for k in range(makers.size()):
        for d in range(p.instructions.definition_count[makers[k]]):
            if _reads(p, i, p.definitions.temp[p.instructions.definition_first[makers[k]] + d]):
                return True
    return False


cdef bint _can_move(const Context *c, InstructionId i) noexcept nogil:
    """Whether an instruction is nothing but numbers of the scalar unit, in registers of no name, and its scc is not read."""
    cdef const ProgramData *p = c.p
    cdef uint32_t row
    if p.instructions.format[i] not in (format_sop1, format_sop2, format_sopk) or p.instructions.definition_count[i] == 0 \
            or p.instructions.opcode[i] in (op_s_getreg_b32, op_s_setreg_b32, op_s_setreg_imm32_b32, op_s_getpc_b64, op_s_setpc_b64, op_s_swappc_b64):
        return False
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        if p.operands.flags[row] & operand_fixed and not p.operands.flags[row] & operand_constant:
            return False
    for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if not p.definitions.flags[row] & definition_temp:
            return False
        if p.definitions.flags[row] & definition_fixed and (p.definitions.reg[row] != register_scc or c.uses[p.definitions.temp[row]]):
            return False
    return True


# -------------------------------------------------------------------------------------------------- what stands between goes in front
cdef TempId _way_back(const Context *c, InstructionId i, TempId *scc, bint *inverse) noexcept nogil:
    """The condition in scc that an instruction makes of a mask, for nothing else, or its inverse; `scc`: the one that the mask was made of; 0: it is
    not such."""
    cdef const ProgramData *p = c.p
    cdef Operand o
    cdef uint32_t k
    cdef bint writes = False
    cdef TempId result
    inverse[0] = p.instructions.opcode[i] in (op_s_andn2_b32, op_s_andn2_b64)
    if not inverse[0] and p.instructions.opcode[i] not in (op_s_and_b32, op_s_and_b64) or c.uses[result_of(p, i)]:
        return 0
    result = scc_result(p, i, &writes)
    for k in range(<uint32_t>inverse[0], 2):
        o = source_at(p, i, 1 - k)
        if not _is_exec(o):
            continue
        o = source_at(p, i, k)
        if inverse[0] and is_plain_temp(o) and c.condition_kind[o.data] == condition_of_active:
            continue
        if is_plain_temp(o) and c.condition[o.data] and c.condition_kind[o.data] != condition_inverse:
            scc[0] = c.condition[o.data]
            return result
    return 0


cdef OrderRow _row_before(const Context *c, const SmallVector[uint8_t] &dead, OrderRow row, OrderRow first, TempId scc) noexcept nogil:
    """The row of what made a condition in scc, in front of a row; `row` itself: it is not found."""
    cdef const ProgramData *p = c.p
    cdef OrderRow k = row
    cdef bint writes = False
    while k > first and row - k < most_between:
        k -= 1
        if not dead[p.order.instruction[k]] and scc_result(p, p.order.instruction[k], &writes) == scc:
            return k
    return row


cdef OrderRow _where_scc_is_free(const Context *c, const SmallVector[uint8_t] &dead, OrderRow row, OrderRow first, OrderRow end) noexcept nogil:
    """The last row up to one at which nothing that is read up to `end` is in scc; `end`: it is too far."""
    cdef const ProgramData *p = c.p
    cdef OrderRow k = row
    cdef OrderRow j
    cdef OrderRow limit = row - most_between if row - first > most_between else first
    cdef TempId scc
    cdef bint writes = False
    cdef bint read
    while k > first:
        if k == limit:
            return end
        k -= 1
        if dead[p.order.instruction[k]]:
            continue
        scc = scc_result(p, p.order.instruction[k], &writes)
        if not writes:
            continue
        read = False
        if scc and c.uses[scc]:
            for j in range(row, end):
                read = read or (not dead[p.order.instruction[j]] and _reads(p, p.order.instruction[j], scc))
        if not read:
            return row
        row = k
    return row


cdef OrderRow _start_of_condition(const Context *c, const SmallVector[uint8_t] &dead, OrderRow row, OrderRow first) noexcept nogil:
    """Where what makes a condition begins: a mask right in front of a conjunction belongs to it."""
    cdef const ProgramData *p = c.p
    cdef OrderRow k = row
    while k > first and row - k < 3:
        k -= 1
        if not dead[p.order.instruction[k]] and p.instructions.opcode[p.order.instruction[k]] in (op_s_cselect_b32, op_s_cselect_b64) \
                and _reads(p, p.order.instruction[row], result_of(p, p.order.instruction[k])):
            return k
    return row


cdef bint _move_in_front(Context *c, const SmallVector[uint8_t] &dead, OrderRow start, OrderRow maker, OrderRow row) except -1 nogil:
    """Move what writes scc between a maker and a row in front of `start`; whether all of it could be moved."""
    cdef ProgramData *p = c.p
    cdef SmallVector[InstructionId] moved
    cdef SmallVector[InstructionId] kept
    cdef OrderRow k
    cdef InstructionId i
    cdef size_t n
    for k in range(start, row):
        i = p.order.instruction[k]
        if dead[i]:
            continue
        if k > maker and _can_move(c, i) and not _reads_any_of(p, i, kept):
            moved.push_back(i)
        elif k > maker and _writes_scc(p, i):
            return False
        else:
            kept.push_back(i)
    k = start
    for n in range(moved.size()):
        p.order.instruction[k] = moved[n]
        k += 1
    for n in range(kept.size()):
        p.order.instruction[k] = kept[n]
        k += 1
    # In the place of what is dead.
    while k < row:
        p.order.instruction[k] = p.order.instruction[row]
        k += 1
    return True


cdef bint _is_kept_between(const Context *c, const SmallVector[uint8_t] &dead, OrderRow maker, OrderRow row) noexcept nogil:
    """Whether scc still holds at a row what was made at another: what stood between is dead, or has moved."""
    cdef OrderRow k
    for k in range(maker + 1, row):
        if not dead[c.p.order.instruction[k]] and _writes_scc(c.p, c.p.order.instruction[k]):
            return False
    return True


cdef bint _use_kept(Context *c, SmallVector[uint8_t] &dead, OrderRow row, OrderRow first, OrderRow end) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef InstructionId i = p.order.instruction[row]
    cdef TempId old = 0
    cdef bint inverse = False
    cdef TempId scc = _way_back(c, i, &old, &inverse)
    cdef OrderRow maker
    cdef OrderRow start
    if scc == 0 or not replace_condition(c, dead, row + 1, min(end, row + 1 + most_to_reader), scc, 0, inverse):
        return False
    maker = _row_before(c, dead, row, first, old)
    if maker == row:
        return False
    if not _is_kept_between(c, dead, maker, row):
        start = _where_scc_is_free(c, dead, _start_of_condition(c, dead, maker, first), first, row)
        if start == row or not _move_in_front(c, dead, start, maker, row):
            return False
    replace_condition(c, dead, row + 1, min(end, row + 1 + most_to_reader), scc, old, inverse)
    c.uses[old] += c.uses[scc]
    c.uses[scc] = 0
    _drop(c, dead, i)
    return True


cdef void _drop(Context *c, SmallVector[uint8_t] &dead, InstructionId i) noexcept nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t k
    dead[i] = 1
    for k in range(p.instructions.operand_count[i]):
        if p.operands.flags[operand_row(p, i, k)] & operand_temp:
            c.uses[p.operands.data[operand_row(p, i, k)]] -= 1


# --------------------------------------------------------------------------------------------------------------- numbers of masks
cdef InstructionId _only_reader(const Context *c, const SmallVector[uint8_t] &dead, OrderRow row, OrderRow end, TempId scc) noexcept nogil:
    """The one instruction that reads a condition in scc, if it follows soon; 0: there is none."""
    cdef const ProgramData *p = c.p
    if c.uses[scc] != 1:
        return 0
    end = min(end, row + most_to_reader)
    while row < end:
        if not dead[p.order.instruction[row]] and _reads(p, p.order.instruction[row], scc):
            return p.order.instruction[row]
        row += 1
    return 0


cdef bint _use_number(Context *c, SmallVector[uint8_t] &dead, OrderRow row, OrderRow end) noexcept nogil:
    """A mask that is turned into scc for a vector or copy of the number only becomes the number."""
    cdef ProgramData *p = c.p
    cdef InstructionId i = p.order.instruction[row]
    cdef InstructionId reader
    cdef Operand mask
    cdef TempId old = 0
    cdef bint inverse = False
    cdef TempId scc = _way_back(c, i, &old, &inverse)
    cdef uint32_t k
    if scc == 0 or inverse:
        return False
    mask = source_at(p, i, _is_exec(source_at(p, i, 0)))
    reader = _only_reader(c, dead, row + 1, end, scc)
    if c.uses[mask.data] != 1 or not _is_mask_of_scc(c, mask) or reader == 0 \
            or p.instructions.opcode[reader] not in (op_p_parallelcopy, op_p_create_vector):
        return False
    _make_number(c, mask.data)
    for k in range(p.instructions.operand_count[reader]):
        if _is_of(source_at(p, reader, k), scc):
            set_operand(c, reader, k, operand_of(p, mask.data))
    _drop(c, dead, i)
    return True


# ----------------------------------------------------------------------------------------------------------------- scc as operand
cdef bint _is_mask_of_scc(const Context *c, Operand o) noexcept nogil:
    """Whether a value is a select of all ones and zeros by a condition."""
    cdef InstructionId maker = c.parent[o.data] if is_plain_temp(o) else 0
    return maker != 0 and c.p.instructions.opcode[maker] in (op_s_cselect_b32, op_s_cselect_b64) \
        and c.condition_kind[o.data] in (condition_whole, condition_inverse)


cdef bint _is_in_scc(const Context *c, const SmallVector[uint8_t] &dead, OrderRow row, OrderRow first, TempId mask) noexcept nogil:
    """Whether scc still holds at a row what a mask, made in front of it, was made of."""
    cdef const ProgramData *p = c.p
    cdef OrderRow k = row
    cdef InstructionId i
    while k > first and row - k < most_to_reader:
        k -= 1
        i = p.order.instruction[k]
        if dead[i]:
            continue
        if result_of(p, i) == mask:
            return True
        if _writes_scc(p, i):
            return False
    return False


cdef bint _is_conjunction(const Context *c, const SmallVector[uint8_t] &dead, OrderRow row, OrderRow first, Conjunction *found) noexcept nogil:
    """Whether an instruction combines two conditions, one of them in scc and not read otherwise."""
    cdef const ProgramData *p = c.p
    cdef InstructionId i = p.order.instruction[row]
    cdef Operand o
    if p.instructions.opcode[i] not in (op_s_and_b32, op_s_and_b64, op_s_or_b32, op_s_or_b64) \
            or not is_plain_temp(source_at(p, i, 0)) or not is_plain_temp(source_at(p, i, 1)):
        return False
    found.instruction = i
    for found.younger in range(2):
        o = source_at(p, i, found.younger)
        if c.uses[o.data] == 1 and c.condition_kind[o.data] == condition_whole and _is_mask_of_scc(c, o) \
                and _is_in_scc(c, dead, row, first, o.data):
            return True
    return False


cdef inline TempId _older(const ProgramData *p, Conjunction each) noexcept nogil:
    return source_at(p, each.instruction, 1 - each.younger).data


cdef int _keep_numbers(Context *c, SmallVector[Conjunction] &found) except -1 nogil:
    """Leave the conjunctions of which the older condition, and the result, may be a number: all that makes and reads it is such."""
    cdef ProgramData *p = c.p
    cdef SmallVector[uint32_t] readers
    cdef SmallVector[uint8_t] made
    cdef size_t k
    cdef size_t kept
    cdef TempId older
    cdef TempId result
    cdef bint again = True
    cdef uint32_t rounds = 0
    while again and not found.empty():
        readers.assign(p.temps.table.count, 0)
        made.assign(p.temps.table.count, 0)
        for k in range(found.size()):
            readers[_older(p, found[k])] += 1
            made[result_of(p, found[k].instruction)] = 1
        kept = 0
        for k in range(found.size()):
            older = _older(p, found[k])
            result = result_of(p, found[k].instruction)
            if readers[older] == c.uses[older] and readers[result] == c.uses[result] \
                    and (made[older] or _is_mask_of_scc(c, source_at(p, found[k].instruction, 1 - found[k].younger))):
                found[kept] = found[k]
                kept += 1
        again = kept < found.size()
        found.resize(kept)
        rounds += 1
        if rounds == most_rounds:
            found.clear()
    return 0


cdef void _make_number(Context *c, TempId mask) noexcept nogil:
    """A mask becomes one or zero, in one register."""
    cdef ProgramData *p = c.p
    cdef InstructionId maker = c.parent[mask]
    cdef bint inverse = c.condition_kind[mask] == condition_inverse
    if p.instructions.opcode[maker] not in (op_s_cselect_b32, op_s_cselect_b64):
        return                            # another conjunction
    p.instructions.opcode[maker] = op_s_cselect_b32
    operand_put(p, operand_row(p, maker, 0), operand_c32(not inverse))
    operand_put(p, operand_row(p, maker, 1), operand_c32(inverse))
    p.temps.register_class[mask] = class_s1
    p.definitions.register_class[p.instructions.definition_first[maker]] = class_s1


cdef void _read_scc(Context *c, SmallVector[uint8_t] &dead, Conjunction found) noexcept nogil:
    cdef ProgramData *p = c.p
    cdef InstructionId i = found.instruction
    cdef TempId younger = source_at(p, i, found.younger).data
    cdef InstructionId maker = c.parent[younger]
    set_operand(c, i, found.younger, source_at(p, maker, 2))
    _drop(c, dead, maker)
    p.operands.register_class[operand_row(p, i, 1 - found.younger)] = class_s1
    p.instructions.opcode[i] = op_s_and_b32 if p.instructions.opcode[i] in (op_s_and_b32, op_s_and_b64) else op_s_or_b32
    p.temps.register_class[result_of(p, i)] = class_s1
    p.definitions.register_class[p.instructions.definition_first[i]] = class_s1


cdef int _use_scc_as_operand(Context *c, SmallVector[uint8_t] &dead) except -1 nogil:
    """Where all that reads a mask are such conjunctions, it becomes a number."""
    cdef ProgramData *p = c.p
    cdef SmallVector[Conjunction] found
    cdef Conjunction each
    cdef BlockId b
    cdef OrderRow row
    cdef OrderRow first
    cdef size_t k
    for b in range(p.blocks.table.count):
        first = p.blocks.order_first[b]
        for row in range(first, first + p.blocks.order_count[b]):
            if not dead[p.order.instruction[row]] and _is_conjunction(c, dead, row, first, &each):
                found.push_back(each)
    _keep_numbers(c, found)
    for k in range(found.size()):
        _make_number(c, _older(p, found[k]))
        _read_scc(c, dead, found[k])
    return 0


cdef int keep_conditions(Context *c, SmallVector[uint8_t] &dead) except -1 nogil:
    """Let scc keep conditions where little stands between."""
    cdef ProgramData *p = c.p
    cdef OrderRow first
    cdef OrderRow end
    cdef OrderRow row
    for c.block in range(p.blocks.table.count):
        first = p.blocks.order_first[c.block]
        end = first + p.blocks.order_count[c.block]
        for row in range(first, end):
            if not dead[p.order.instruction[row]] and not _use_kept(c, dead, row, first, end):
                _use_number(c, dead, row, end)
    return _use_scc_as_operand(c, dead)
