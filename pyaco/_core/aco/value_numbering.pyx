"""Value numbering: compute no value twice.

Blocks are visited in order; every pure instruction is looked up by opcode, modifiers and (renamed) operands. As a rule it stands in a group of
its newest operand, by that one's number: code that is walked in order finds its part of the table in the cache, where hashes alone would reach all
over it. A table by hash, which grows with its entries, has what does not fit there. An equal
instruction whose block dominates this one replaces it: over the logical CFG for what vector instructions compute, since every
lane that runs here has run there, over the linear CFG for scalars. An entry whose block dominates no later one gives its place to an equal
one. Results that depend on which lanes run together (compares,
ballots, lane crossing) must also have the same execution mask. Copies and phis of one value are renamed away, except
phis of VGPRs at loop exits, which keep LCSSA form. A constant that goes through an SGPR to a VGPR is copied to the VGPR itself, so that
it is one value with others of its kind.

Needs: SSA, dominators; before the execution mask is made explicit. Source: dominator-based value numbering, Briggs, Cooper,
Simpson, "Value Numbering" (1997); conditions on exec as in ACO (``aco_opt_value_numbering``).
"""
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint64_t, uint8_t

from isa_opcodes cimport *
from modifiers cimport modifier_semantics, modifier_storage
from pyaco._core.aco.dominance cimport dominates_linear, dominates_logical
from pyaco._core.aco.queries cimport opcode_is_phi
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.common.table cimport RowRange
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport (
    BlockId, DefinitionRow, InstructionId, OperandRow, OrderRow, Program, ProgramData, Rewrite, block_loop_exit,
    block_loop_header, block_top_level, block_uniform, class_is_linear_vgpr, class_is_vgpr, class_s1, class_v1, definition_fixed, definition_no_cse,
    definition_nuw, definition_precise, definition_temp, definitions_of, format_dpp16, format_dpp8, format_ds, format_exp,
    format_global, format_is_flat_like, format_is_salu, format_is_valu, format_is_vmem, format_ldsdir, format_pseudo,
    format_pseudo_barrier, format_pseudo_branch, format_pseudo_reduction, format_smem, format_sopp, format_vopc, operand_16bit,
    operand_24bit, operand_constant, operand_fixed, operand_kill, operand_temp, operand_undef, operands_of, register_exec,
    register_scc, rewrite_begin, rewrite_block, rewrite_emit, rewrite_end, semantic_can_reorder, semantic_volatile,
)

cdef extern from *:
    void __builtin_prefetch(const void *place) nogil

cdef enum:
    group_slots = 4               # by newest operand ...
    group_temps = 2               # ... for so many temps: half of them stay free where each temp is the newest operand of one instruction
    groups_ahead = 16             # of the walk, that are brought into the cache
    fewest_slots = 64
    most_equal = 64               # equal instructions of other lanes that are looked at

cdef struct Entry:
    InstructionId instruction        # 0: free
    uint32_t hash
    BlockId block


cdef cppclass Context:
    ProgramData *p
    BlockId block
    SmallVector[uint32_t] rename          # by temp; itself if not renamed
    SmallVector[OperandRow] constant      # by temp: row + 1 of the constant that it is a copy of; 0 none
    SmallVector[uint8_t] used             # temps that are read anywhere
    SmallVector[uint32_t] exec_id         # by block
    SmallVector[BlockId] last_logical     # by block: the last one that it dominates ...
    SmallVector[BlockId] last_linear
    SmallVector[Entry] near               # groups by newest operand, filled from their start
    SmallVector[Entry] slots              # by hash, linear probing; at most half full
    uint32_t filled


cdef inline uint64_t _mix(uint64_t h, uint64_t value) noexcept nogil:
    h ^= value
    h *= 0x9e3779b97f4a7c15ULL
    return h ^ h >> 29


cdef void _exec_ids(Context *c) noexcept nogil:
    """Blocks with one number run with the same lanes."""
    cdef ProgramData *p = c.p
    cdef BlockId b
    cdef BlockId before
    for b in range(p.blocks.table.count):
        c.exec_id[b] = b + 2
        if p.blocks.kind[b] & block_top_level:
            c.exec_id[b] = 1
        elif p.blocks.linear_pred_count[b] == 1 and p.blocks.logical_pred_count[b] == 1 \
                and not p.blocks.kind[b] & block_loop_header:
            before = p.edge_lists.block[p.blocks.linear_pred_first[b]]
            if p.blocks.kind[before] & block_uniform and before < b:
                c.exec_id[b] = c.exec_id[before]


cdef void _last_dominated(Context *c) noexcept nogil:
    cdef ProgramData *p = c.p
    cdef int32_t b
    cdef int32_t count = <int32_t>p.blocks.table.count
    for b in range(count):
        c.last_logical[b] = c.last_linear[b] = b
    for b in range(count - 1, 0, -1):
        if 0 <= p.blocks.logical_idom[b] < b:
            c.last_logical[p.blocks.logical_idom[b]] = max(c.last_logical[p.blocks.logical_idom[b]], c.last_logical[b])
        if 0 <= p.blocks.linear_idom[b] < b:
            c.last_linear[p.blocks.linear_idom[b]] = max(c.last_linear[p.blocks.linear_idom[b]], c.last_linear[b])


cdef bint _depends_on_lanes(const ProgramData *p, InstructionId i) noexcept nogil:
    """The result depends on the set of running lanes."""
    cdef RowRange definitions
    cdef RowRange operands
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t row
    if format & (format_vopc | format_dpp16 | format_dpp8) and format_is_valu(format):
        return True
    if format == format_pseudo_reduction or format == format_ds:
        return True
    if opcode in (op_v_readfirstlane_b32, op_p_as_uniform, op_p_elect, op_v_permlane16_b32, op_v_permlanex16_b32,
                  op_v_permlane64_b32, op_p_bpermute_readlane, op_p_bpermute_shared_vgpr, op_p_bpermute_permlane):
        return True
    operands = operands_of(p, i)
    for row in range(operands.first, operands.first + operands.count):
        if p.operands.flags[row] & operand_fixed and not p.operands.flags[row] & operand_constant \
                and p.operands.reg[row] == register_exec:
            return True
    definitions = definitions_of(p, i)
    for row in range(definitions.first, definitions.first + definitions.count):
        # Carries and other lane masks
        if format_is_valu(format) and not class_is_vgpr(p.definitions.register_class[row]):
            return True
    return False


cdef bint _memory_is_pure(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint64_t word = p.instructions.modifiers[i]
    if p.instructions.definition_count[i] == 0 or p.instructions.operand_count[i] == 0:
        return False
    if modifier_semantics(word) & semantic_volatile:
        return False
    return modifier_storage(word) == 0 or (modifier_semantics(word) & semantic_can_reorder) != 0


cdef bint _pseudo_is_pure(uint16_t opcode) noexcept nogil:
    return opcode in (op_p_create_vector, op_p_extract_vector, op_p_split_vector, op_p_extract, op_p_insert, op_p_as_uniform,
                      op_p_elect, op_p_constaddr, op_p_parallelcopy, op_p_bpermute_readlane, op_p_bpermute_shared_vgpr,
                      op_p_bpermute_permlane)


cdef bint _is_pure(const ProgramData *p, InstructionId i) noexcept nogil:
    """The instruction does nothing but compute its definitions from its operands."""
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    if p.instructions.definition_count[i] == 0:
        return False
    if format == format_smem or format_is_vmem(format):
        return _memory_is_pure(p, i)
    if format_is_flat_like(format):
        return format == format_global and _memory_is_pure(p, i)
    if format == format_ds:
        return opcode in (op_ds_bpermute_b32, op_ds_permute_b32, op_ds_swizzle_b32)
    if format in (format_sopp, format_exp, format_ldsdir, format_pseudo_branch, format_pseudo_barrier):
        return False
    if opcode in (op_s_getreg_b32, op_s_setreg_b32, op_s_setreg_imm32_b32, op_s_sendmsg_rtn_b32, op_s_sendmsg_rtn_b64,
                  op_s_getpc_b64, op_s_setpc_b64, op_s_swappc_b64, op_s_barrier_signal, op_s_barrier_signal_isfirst):
        return False
    if format == format_pseudo:
        return _pseudo_is_pure(opcode)
    return format_is_valu(format) or format_is_salu(format) or format == format_pseudo_reduction


cdef bint _definitions_allow(const Context *c, InstructionId i) noexcept nogil:
    cdef RowRange definitions
    cdef const ProgramData *p = c.p
    cdef DefinitionRow row
    definitions = definitions_of(p, i)
    for row in range(definitions.first, definitions.first + definitions.count):
        if p.definitions.flags[row] & definition_no_cse or class_is_linear_vgpr(p.definitions.register_class[row]):
            return False
        if not p.definitions.flags[row] & definition_fixed:
            continue
        # A result in scc that somebody reads must stay close to its reader; other fixed registers too.
        if p.definitions.reg[row] != register_scc or not p.definitions.flags[row] & definition_temp \
                or c.used[p.definitions.temp[row]]:
            return False
    return True


cdef uint32_t _hash(const ProgramData *p, InstructionId i, uint32_t *newest) noexcept nogil:
    """A hash of an instruction, and the newest temp among its operands; 0: it has none."""
    cdef RowRange operands
    cdef uint64_t h = _mix(p.instructions.opcode[i], p.instructions.format[i])
    cdef OperandRow row
    cdef uint32_t latest = 0
    h = _mix(h, p.instructions.modifiers[i])
    h = _mix(h, p.instructions.immediate[i])
    operands = operands_of(p, i)
    for row in range(operands.first, operands.first + operands.count):
        if p.operands.flags[row] & operand_temp:
            latest = max(latest, <uint32_t>p.operands.data[row])
        h = _mix(h, p.operands.data[row] if p.operands.flags[row] & (operand_temp | operand_constant) else 0)
    newest[0] = latest
    return <uint32_t>(h ^ h >> 32)


cdef bint _equal_operands(const ProgramData *p, InstructionId a, InstructionId b) noexcept nogil:
    cdef uint32_t k
    cdef OperandRow x
    cdef OperandRow y
    cdef uint16_t ignored = operand_kill | operand_16bit | operand_24bit | 0x20 | 0x200
    for k in range(p.instructions.operand_count[a]):
        x = p.instructions.operand_first[a] + k
        y = p.instructions.operand_first[b] + k
        if (p.operands.flags[x] & ~ignored) != (p.operands.flags[y] & ~ignored):
            return False
        if p.operands.register_class[x] != p.operands.register_class[y]:
            return False
        if p.operands.flags[x] & operand_undef:
            continue
        if p.operands.flags[x] & (operand_temp | operand_constant) and p.operands.data[x] != p.operands.data[y]:
            return False
        if p.operands.flags[x] & (operand_fixed | operand_constant) and p.operands.reg[x] != p.operands.reg[y]:
            return False
    return True


cdef bint _equal(const ProgramData *p, InstructionId a, InstructionId b) noexcept nogil:
    cdef uint32_t k
    cdef DefinitionRow x
    cdef DefinitionRow y
    if p.instructions.opcode[a] != p.instructions.opcode[b] or p.instructions.format[a] != p.instructions.format[b]:
        return False
    if p.instructions.modifiers[a] != p.instructions.modifiers[b] or p.instructions.immediate[a] != p.instructions.immediate[b]:
        return False
    if p.instructions.operand_count[a] != p.instructions.operand_count[b]:
        return False
    if p.instructions.definition_count[a] != p.instructions.definition_count[b]:
        return False
    for k in range(p.instructions.definition_count[a]):
        x = p.instructions.definition_first[a] + k
        y = p.instructions.definition_first[b] + k
        if p.definitions.register_class[x] != p.definitions.register_class[y] or p.definitions.reg[x] != p.definitions.reg[y]:
            return False
    return _equal_operands(p, a, b)


cdef bint _is_scalar(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether the linear CFG says where the result of an instruction is there."""
    cdef uint16_t format = p.instructions.format[i]
    cdef RowRange definitions
    cdef DefinitionRow row
    if format != format_pseudo:
        return format_is_salu(format) or format == format_smem
    definitions = definitions_of(p, i)
    for row in range(definitions.first, definitions.first + definitions.count):
        if class_is_vgpr(p.definitions.register_class[row]):
            return False
    return p.instructions.opcode[i] != op_p_as_uniform


cdef bint _runs_alike(const Context *c, BlockId earlier, InstructionId i) noexcept nogil:
    """Whether `i`, in this block, computes what an equal instruction of a block that dominates it does."""
    if format_is_valu(c.p.instructions.format[i]) and c.p.blocks.fp_mode[earlier] != c.p.blocks.fp_mode[c.block]:
        return False
    return c.exec_id[earlier] == c.exec_id[c.block] or not _depends_on_lanes(c.p, i)


cdef void _merge(Context *c, InstructionId into, InstructionId i) noexcept nogil:
    """Rename the results of `i` to those of `into`."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef DefinitionRow x
    cdef DefinitionRow y
    for k in range(p.instructions.definition_count[i]):
        x = p.instructions.definition_first[into] + k
        y = p.instructions.definition_first[i] + k
        if p.definitions.flags[y] & definition_temp:
            c.rename[p.definitions.temp[y]] = p.definitions.temp[x]
        p.definitions.flags[x] |= p.definitions.flags[y] & <uint16_t>definition_precise
        if not p.definitions.flags[y] & definition_nuw:
            p.definitions.flags[x] &= ~<uint16_t>definition_nuw


cdef void _rename_operands(Context *c, InstructionId i) noexcept nogil:
    cdef RowRange operands
    cdef ProgramData *p = c.p
    cdef OperandRow row
    operands = operands_of(p, i)
    for row in range(operands.first, operands.first + operands.count):
        if p.operands.flags[row] & operand_temp:
            p.operands.data[row] = c.rename[p.operands.data[row]]


cdef void _note_constant(Context *c, InstructionId i) noexcept nogil:
    """Note what a copy of a constant to one register is of; a copy of such a copy to a VGPR becomes one of the constant."""
    cdef ProgramData *p = c.p
    cdef OperandRow operand = p.instructions.operand_first[i]
    cdef DefinitionRow d = p.instructions.definition_first[i]
    cdef OperandRow constant
    if p.instructions.opcode[i] != op_p_parallelcopy or p.instructions.definition_count[i] != 1 or p.instructions.operand_count[i] != 1:
        return
    if not p.definitions.flags[d] & definition_temp or p.definitions.flags[d] & definition_fixed:
        return
    if p.operands.flags[operand] & operand_constant:
        if p.definitions.register_class[d] == class_s1:
            c.constant[p.definitions.temp[d]] = operand + 1
    elif p.operands.flags[operand] & operand_temp and p.definitions.register_class[d] == class_v1:
        constant = c.constant[p.operands.data[operand]]
        if constant:
            constant -= 1
            p.operands.flags[operand] = p.operands.flags[constant]
            p.operands.data[operand] = p.operands.data[constant]
            p.operands.reg[operand] = p.operands.reg[constant]
            p.operands.register_class[operand] = p.operands.register_class[constant]


cdef bint _is_copy(Context *c, InstructionId i) noexcept nogil:
    """A copy of a temp of the same class, or a phi whose operands are all one temp; the definition is renamed."""
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef DefinitionRow d = p.instructions.definition_first[i]
    cdef uint32_t k
    cdef uint32_t temp
    if opcode != op_p_parallelcopy and not opcode_is_phi(opcode):
        return False
    if p.instructions.definition_count[i] != 1 or p.instructions.operand_count[i] == 0:
        return False
    if not p.definitions.flags[d] & definition_temp or p.definitions.flags[d] & (definition_fixed | definition_no_cse):
        return False
    if opcode_is_phi(opcode) and (p.blocks.kind[c.block] & block_loop_header or (
            p.blocks.kind[c.block] & block_loop_exit and class_is_vgpr(p.definitions.register_class[d]))):
        return False
    temp = p.operands.data[first]
    for k in range(p.instructions.operand_count[i]):
        if not p.operands.flags[first + k] & operand_temp or p.operands.flags[first + k] & operand_fixed:
            return False
        if p.operands.data[first + k] != temp or p.operands.register_class[first + k] != p.definitions.register_class[d]:
            return False
    c.rename[p.definitions.temp[d]] = temp
    return True


cdef enum Match:
    match_none
    match_found                   # it takes the place of the instruction
    match_over                    # equal, but its block dominates no later one
    match_other                   # equal, but of other lanes


cdef Match _match(const Context *c, const Entry *e, const Entry *one) noexcept nogil:
    """What an entry is to an instruction."""
    cdef bint scalar
    if e.hash != one.hash or not _equal(c.p, e.instruction, one.instruction):
        return match_none
    scalar = _is_scalar(c.p, one.instruction)
    if (dominates_linear(c.p, e.block, c.block) if scalar else dominates_logical(c.p, e.block, c.block)):
        return match_found if _runs_alike(c, e.block, one.instruction) else match_other
    return match_over if (c.last_linear[e.block] if scalar else c.last_logical[e.block]) < c.block else match_other


cdef int _grow(Context *c) except -1 nogil:
    cdef SmallVector[Entry] old
    cdef size_t k
    cdef uint32_t mask, slot
    old.swap(c.slots)
    c.slots.resize(2 * old.size())
    mask = <uint32_t>c.slots.size() - 1
    for k in range(old.size()):
        if old[k].instruction:
            slot = old[k].hash & mask
            while c.slots[slot].instruction:
                slot = (slot + 1) & mask
            c.slots[slot] = old[k]
    return 0


cdef InstructionId _find_by_hash(Context *c, const Entry *one) except? 0xffffffffU nogil:
    """As `_find_or_insert`, in the table by hash."""
    cdef uint32_t mask = <uint32_t>c.slots.size() - 1
    cdef uint32_t slot = one.hash & mask
    cdef uint32_t equal = 0
    cdef Match match
    while c.slots[slot].instruction and equal < most_equal:
        match = _match(c, &c.slots[slot], one)
        if match == match_found:
            return c.slots[slot].instruction
        if match == match_over:
            c.slots[slot] = one[0]
            return 0
        equal += match == match_other
        slot = (slot + 1) & mask
    if equal < most_equal:
        c.slots[slot] = one[0]
        c.filled += 1
        if 2 * c.filled > mask:
            _grow(c)
    return 0


cdef InstructionId _find_or_insert(Context *c, InstructionId i) except? 0xffffffffU nogil:
    """An equal instruction that takes the place of `i`, or else 0, and a table has `i`."""
    cdef Entry one
    cdef Entry *group
    cdef uint32_t newest, k
    cdef Match match
    one.instruction = i
    one.block = c.block
    one.hash = _hash(c.p, i, &newest)
    if newest:
        group = c.near.data() + newest // group_temps * group_slots
        for k in range(<uint32_t>group_slots):
            if group[k].instruction == 0:
                group[k] = one
                return 0
            match = _match(c, &group[k], &one)
            if match == match_found:
                return group[k].instruction
            if match == match_over:
                group[k] = one
                return 0
    return _find_by_hash(c, &one)


cdef int _block(Context *c, Rewrite *rewrite) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef InstructionId i
    cdef InstructionId earlier
    for k in range(p.blocks.order_count[c.block]):
        i = p.order.instruction[p.blocks.order_first[c.block] + k]
        _rename_operands(c, i)
        _note_constant(c, i)
        if _is_copy(c, i):
            continue
        if _is_pure(p, i) and _definitions_allow(c, i):
            # Most newest operands stand a little before. What is named here may be behind the end, which a prefetch does not read.
            __builtin_prefetch(c.near.data()
                               + (p.definitions.temp[p.instructions.definition_first[i]] // group_temps + groups_ahead) * group_slots)
            earlier = _find_or_insert(c, i)
            if earlier:
                _merge(c, earlier, i)
                continue
        rewrite_emit(rewrite, i)
    return 0


cdef void _mark_uses(Context *c) noexcept nogil:
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
                c.used[p.operands.data[row]] = 1


cdef int value_numbering_run(ProgramData *p) except -1 nogil:
    cdef Context c
    cdef Rewrite rewrite
    cdef BlockId b
    cdef OrderRow k
    c.p = p
    c.rename.resize(p.temps.table.count)
    c.constant.assign(p.temps.table.count, 0)
    for k in range(p.temps.table.count):
        c.rename[k] = k
    c.used.assign(p.temps.table.count, 0)
    c.exec_id.resize(p.blocks.table.count)
    c.last_logical.resize(p.blocks.table.count)
    c.last_linear.resize(p.blocks.table.count)
    c.near.resize((p.temps.table.count // group_temps + 1) * group_slots)
    c.slots.resize(fewest_slots)
    c.filled = 0
    _mark_uses(&c)
    _exec_ids(&c)
    _last_dominated(&c)
    rewrite_begin(&rewrite, p)
    for b in range(p.blocks.table.count):
        c.block = b
        rewrite_block(&rewrite, b)
        _block(&c, &rewrite)
    rewrite_end(&rewrite)
    # Phis of loop headers were read before what the loop gives them was renamed.
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
            if not opcode_is_phi(p.instructions.opcode[p.order.instruction[k]]):
                break
            _rename_operands(&c, p.order.instruction[k])
    return 0


cdef int _kernel(void *ir, int option) except -1 nogil:
    value_numbering_run(<ProgramData *>ir)
    return 1


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Merge equal computations."""
    with nogil:
        _kernel(&program.data, 0)
    return True
