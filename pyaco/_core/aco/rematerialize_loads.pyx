"""Where SGPRs do not suffice, descriptors and other constants in memory are loaded again where they are used, instead of being kept.

Scalar loads of what no shader writes are found at the beginning of a program, often several descriptors by one load. Spilled, each dword costs an
instruction to put it into a lane and another one at each use; a load brings up to 16 dwords and needs nothing but its address, which many
loads share. Values are taken that live through a block whose demand is too high: those first of which the loads cost least for each register
(weighted by loop depth), until enough registers are free. All uses outside of the block that makes the value read a load in their own block.

Needs: live variables, the explicit execution mask. Guarantees: what was true stays true, except that live variables are to be found again. Scalar
instructions run whatever the execution mask is, and what defines the address dominates the value and so its uses: a load may stand at each of
them. Operands of phis keep their value. Source: P. Briggs, K. Cooper, L. Torczon, "Rematerialization" (1992).
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from isa_opcodes cimport (
    op_p_create_vector, op_p_split_vector, op_s_load_dword, op_s_load_dwordx2, op_s_load_dwordx4, op_s_load_dwordx8, op_s_load_dwordx16,
)
from modifiers cimport modifier_semantics, modifier_storage
from pyaco._core.aco.build cimport emit_2
from pyaco._core.aco.queries cimport opcode_is_phi
from pyaco._core.common.bits cimport trailing_zeros64
from pyaco._core.ir.program cimport (
    BlockId, DefinitionRow, InstructionId, OperandRow, OrderRow, ProgramData, Rewrite, TempId, class_dwords, class_is_vgpr,
    definition_fixed, definition_of, definition_temp, format_smem, gfx8, operand_at, operand_c32, operand_constant, operand_constant_value,
    operand_temp, rewrite_begin, rewrite_block, rewrite_emit, rewrite_end, semantic_acqrel, semantic_atomic, semantic_can_reorder,
    semantic_volatile, temp_new,
)

cdef enum:
    # Single registers are spilled as cheaply.
    fewest_dwords = 2
    # Uses by more blocks than this keep the value.
    most_blocks = 8

cdef struct Source:                   # of a temp, as memory has it
    InstructionId load                # 0: it is nothing that can be loaded
    uint32_t dword                    # within what the instruction loads
    uint32_t dwords

cdef struct Value:
    Source source
    BlockId block                     # that makes it
    uint32_t uses                     # by instructions
    uint32_t stays                    # of those, by phis and in the block that makes it
    uint32_t blocks                   # others that use it
    BlockId last                      # of those
    float cost
    uint8_t through                   # lives through a block with too high a demand
    uint8_t chosen
    TempId name                       # in the block `last`, as the program is rewritten

cdef struct Choice:
    float cost
    TempId temp


cdef bint _cheaper(const Choice &a, const Choice &b) noexcept nogil:
    return a.cost < b.cost or (a.cost == b.cost and a.temp < b.temp)


cdef bint _is_constant_load(const ProgramData *p, InstructionId i) noexcept nogil:
    """A scalar load at a constant distance from an address in SGPRs, of memory that the shader does not write."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t semantics = modifier_semantics(p.instructions.modifiers[i])
    cdef OperandRow row = p.instructions.operand_first[i]
    if p.instructions.format[i] != format_smem or opcode not in (op_s_load_dword, op_s_load_dwordx2, op_s_load_dwordx4, op_s_load_dwordx8,
                                                                 op_s_load_dwordx16):
        return False
    if p.instructions.operand_count[i] != 2 or not p.operands.flags[row] & operand_temp or not p.operands.flags[row + 1] & operand_constant:
        return False
    if semantics & (semantic_volatile | semantic_atomic | semantic_acqrel):
        return False
    return modifier_storage(p.instructions.modifiers[i]) == 0 or semantics & semantic_can_reorder != 0


cdef bint _fits_offset(const ProgramData *p, const Source *source) noexcept nogil:
    cdef uint64_t offset = operand_constant_value(operand_at(p, p.instructions.operand_first[source.load] + 1)) + 4 * source.dword
    return offset <= (0xfffffU if p.gfx_level >= gfx8 else 1020U)


cdef Source _gathered(const ProgramData *p, const vector[Value] &values, InstructionId i) noexcept nogil:
    """Of a vector whose parts stand side by side in memory."""
    cdef Source found
    cdef const Source *part
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t k
    found.load = 0
    found.dword = found.dwords = 0
    for k in range(p.instructions.operand_count[i]):
        if not p.operands.flags[first + k] & operand_temp:
            found.load = 0
            return found
        part = &values[p.operands.data[first + k]].source
        if part.load == 0 or (k and (part.load != found.load or part.dword != found.dword + found.dwords)):
            found.load = 0
            return found
        if k == 0:
            found.load = part.load
            found.dword = part.dword
        found.dwords += part.dwords
    return found


cdef void _sources(const ProgramData *p, vector[Value] &values, BlockId b, InstructionId i) noexcept nogil:
    """What an instruction defines, if it is in memory."""
    cdef DefinitionRow first = p.instructions.definition_first[i]
    cdef Source source
    cdef Value *v
    cdef uint32_t k
    if _is_constant_load(p, i):
        source.load = i
        source.dword = 0
    elif p.instructions.opcode[i] == op_p_create_vector:
        source = _gathered(p, values, i)
    elif p.instructions.opcode[i] == op_p_split_vector and p.operands.flags[p.instructions.operand_first[i]] & operand_temp:
        source = values[p.operands.data[p.instructions.operand_first[i]]].source
    else:
        return
    for k in range(p.instructions.definition_count[i]):
        if source.load == 0 or class_is_vgpr(p.definitions.register_class[first + k]) \
                or p.definitions.flags[first + k] & (definition_temp | definition_fixed) != definition_temp:
            return
        v = &values[p.definitions.temp[first + k]]
        v.block = b
        v.source = source
        v.source.dwords = class_dwords(p.definitions.register_class[first + k])
        source.dword += v.source.dwords


cdef void _uses(const ProgramData *p, vector[Value] &values, BlockId b, InstructionId i) noexcept nogil:
    cdef OperandRow row
    cdef Value *v
    cdef float weight = 1
    cdef uint32_t _k
    for _k in range(p.blocks.loop_depth[b]):
        weight *= 8
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        if not p.operands.flags[row] & operand_temp:
            continue
        v = &values[p.operands.data[row]]
        v.uses += 1
        if v.source.load == 0:
            continue
        if v.block == b or opcode_is_phi(p.instructions.opcode[i]):
            v.stays += 1
        elif v.last != b:
            v.last = b
            v.blocks += 1
            v.cost += weight


cdef int _pressed(const ProgramData *p, vector[Value] &values, uint32_t limit) except -1 nogil:
    """Find what lives into blocks with too high a demand."""
    cdef BlockId b
    cdef uint32_t k
    cdef uint64_t bits
    for b in range(p.blocks.table.count):
        if p.blocks.demand_sgpr[b] <= <int32_t>limit:
            continue
        for k in range(p.blocks.live_in_first[b], p.blocks.live_in_first[b] + p.blocks.live_in_count[b]):
            bits = p.live_in.bits[k]
            while bits:
                values[p.live_in.word[k] * 64 + trailing_zeros64(bits)].through = True
                bits &= bits - 1
    return 0


cdef bint _choose(const ProgramData *p, vector[Value] &values, uint32_t limit) except -1 nogil:
    """Choose the cheapest; whether there are any."""
    cdef vector[Choice] choices
    cdef Choice choice
    cdef Value *v
    cdef TempId temp
    cdef uint32_t k
    cdef int32_t excess = p.max_demand_sgpr - <int32_t>limit
    for temp in range(1, <uint32_t>values.size()):
        v = &values[temp]
        if not v.through or v.source.load == 0 or v.blocks == 0 or v.blocks > most_blocks or v.source.dwords < fewest_dwords \
                or v.source.dwords & (v.source.dwords - 1) or not _fits_offset(p, &v.source):
            continue
        choice.temp = temp
        choice.cost = v.cost / v.source.dwords
        choices.push_back(choice)
    sort(choices.begin(), choices.end(), &_cheaper)
    for k in range(<uint32_t>choices.size()):
        if excess <= 0:
            break
        values[choices[k].temp].chosen = True
        excess -= <int32_t>values[choices[k].temp].source.dwords
    return choices.size() != 0


cdef bint _is_dead(const ProgramData *p, const vector[Value] &values, InstructionId i) noexcept nogil:
    """Whether all that an instruction loads, splits or puts together is loaded again by all that use it."""
    cdef DefinitionRow row
    cdef const Value *v
    if p.instructions.definition_count[i] == 0:
        return False
    for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if not p.definitions.flags[row] & definition_temp:
            return False
        v = &values[p.definitions.temp[row]]
        if v.source.load == 0 or (v.stays if v.chosen else v.uses):
            return False
    return True


cdef int _drop_dead(const ProgramData *p, vector[Value] &values, vector[uint8_t] &dead) except -1 nogil:
    """Mark what is needed no more: backwards, so that parts go before the whole. Most of it stands in one block."""
    cdef BlockId b = p.blocks.table.count
    cdef uint32_t k
    cdef InstructionId i
    cdef OperandRow row
    cdef Value *v
    dead.assign(p.instructions.table.count, 0)
    while b > 0:
        b -= 1
        k = p.blocks.order_count[b]
        while k > 0:
            k -= 1
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not _is_dead(p, values, i):
                continue
            dead[i] = True
            for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
                if not p.operands.flags[row] & operand_temp:
                    continue
                v = &values[p.operands.data[row]]
                v.uses -= 1
                if v.source.load and v.block == b and v.stays:
                    v.stays -= 1
    return 0


cdef uint16_t _opcode(uint32_t dwords) noexcept nogil:
    if dwords == 16:
        return op_s_load_dwordx16
    if dwords == 8:
        return op_s_load_dwordx8
    return op_s_load_dwordx4 if dwords == 4 else op_s_load_dwordx2


cdef int _load_again(ProgramData *p, Rewrite *out, Value *v, uint8_t register_class) except -1 nogil:
    cdef InstructionId load = v.source.load
    cdef OperandRow row = p.instructions.operand_first[load]
    cdef InstructionId made
    cdef uint32_t offset = <uint32_t>operand_constant_value(operand_at(p, row + 1)) + 4 * v.source.dword
    v.name = temp_new(p, register_class)
    made = emit_2(out, _opcode(v.source.dwords), definition_of(p, v.name), operand_at(p, row), operand_c32(offset))
    p.instructions.modifiers[made] = p.instructions.modifiers[load]
    return 0


cdef int _rewrite(ProgramData *p, vector[Value] &values, const vector[uint8_t] &dead) except -1 nogil:
    cdef Rewrite out
    cdef BlockId b
    cdef OrderRow k
    cdef InstructionId i
    cdef OperandRow row
    cdef uint32_t j
    cdef Value *v
    rewrite_begin(&out, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&out, b)
        for k in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
            i = p.order.instruction[k]
            if dead[i]:
                continue
            for j in range(p.instructions.operand_count[i] if not opcode_is_phi(p.instructions.opcode[i]) else 0):
                row = p.instructions.operand_first[i] + j
                if not p.operands.flags[row] & operand_temp or p.operands.data[row] >= values.size():
                    continue
                v = &values[p.operands.data[row]]
                if not v.chosen or v.block == b:
                    continue
                if v.name == 0 or v.last != b:
                    _load_again(p, &out, v, p.operands.register_class[row])
                    v.last = b
                p.operands.data[p.instructions.operand_first[i] + j] = v.name
            rewrite_emit(&out, i)
    return rewrite_end(&out)


cdef bint rematerialize_loads_run(ProgramData *p, uint32_t limit) except -1 nogil:
    cdef vector[Value] values
    cdef vector[uint8_t] dead
    cdef BlockId b
    cdef OrderRow k
    cdef InstructionId i
    cdef TempId temp
    values.resize(p.temps.table.count)
    for temp in range(<uint32_t>values.size()):
        values[temp].last = 0xffffffffU
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
            i = p.order.instruction[k]
            _uses(p, values, b, i)
            _sources(p, values, b, i)
    _pressed(p, values, limit)
    if not _choose(p, values, limit):
        return False
    _drop_dead(p, values, dead)
    _rewrite(p, values, dead)
    return True
