"""Spilling: where more values are live than there are registers, some live in memory.

SGPRs go to lanes of linear VGPRs (``p_spill``, ``p_reload``), VGPRs to scratch memory. Programs whose demand fits are left alone.

Needs: liveness. Guarantees: the demand fits; liveness is current again.

A spilled value is stored once, after its definition, and reloaded in front of uses; within a block a reload (or the definition
itself) serves later uses as long as registers are free. A phi may be spilled as a whole: then its predecessors write its slot, and
nothing has to be done for an operand that has the same slot. Constants are not stored but made again.

Data structures (``spiller.pxd``). Columns by temp id: cost, spilled, slot. A slot is of one file and size; two values share one if they are
never live together. Phis and their operands ask for the same slot.

Phases, for each file, SGPRs first: (1) ``spill_choice.pyx``: walk each block backwards with its live set; where the demand exceeds the
limit, spill the values with the lowest cost (stores and reloads weighted by loop depth, per register) that live through. (2)
``spill_slots.pyx``: slots. (3) Rewrite: stores, reloads, and at the ends of blocks the moves between slots
that phis ask for; those form a parallel copy, so a slot is written after it has been read, and cycles go through a register.

Sources: G. Chaitin, "Register allocation and spilling via graph coloring", for costs; M. Braun and S. Hack, "Register Spilling and
Live-Range Splitting for SSA-Form Programs", for spilled phis; the AMD ISA documents for scratch offsets.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libcpp.vector cimport vector

from isa_opcodes cimport *
from modifiers cimport modifier_set_semantics, modifier_set_storage
from pyaco._core.aco.build cimport emit_1, emit_any
from pyaco._core.aco.live_set cimport live_set_init
from pyaco._core.aco.live_variables cimport demand_of_lists, linear_temps, live_variables_run
from pyaco._core.aco.occupancy cimport addressable_sgprs, addressable_vgprs, min_waves
from pyaco._core.aco.queries cimport opcode_is_phi
from pyaco._core.aco.reduce_pressure cimport reduce_pressure_run
from pyaco._core.aco.rematerialize_loads cimport rematerialize_loads_run
from pyaco._core.aco.spill_choice cimport *
from pyaco._core.aco.spill_slots cimport assign_positions, assign_slots
from pyaco._core.aco.spiller cimport *
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport *

from pyaco.errors import UnsupportedError

cdef enum:
    # Of loading again: each follows liveness anew.
    most_rounds = 4


# ---------------------------------------------------------------------------------------------------------------- rewriting
cdef TempId _fresh(Spiller *s, uint8_t register_class) except 0 nogil:
    cdef TempId temp = temp_new(s.p, register_class)
    extend_columns(s)
    return temp


cdef uint32_t _scratch_address(Spiller *s, uint32_t position, Operand *o, uint32_t *immediate) except? 0xffffffffU nogil:
    """The address operands of a scratch access at a byte offset: an immediate, and an SGPR where it does not fit or where the
    encoding cannot do without a register (GFX9, GFX10.1)."""
    cdef ProgramData *p = s.p
    cdef uint32_t limit = <uint32_t>p.device.scratch_offset_max
    cdef uint32_t part = 0 if position <= limit else position // (limit + 1) * (limit + 1)
    cdef Definition d
    cdef Operand c
    immediate[0] = position - part
    o[0] = operand_undefined(class_v1)
    o[1] = operand_undefined(class_s1)
    if part or p.gfx_level < gfx10_3:
        d = definition_of(p, _fresh(s, class_s1))
        c = operand_c32(part)
        emit_1(&s.out, op_p_parallelcopy, d, c)
        o[1] = operand_of(p, d.temp)
    return 0


# Before GFX9 scratch is a buffer, reached dword by dword.
cdef int _access_dword(Spiller *s, uint16_t opcode, uint32_t position, const Definition *d, TempId data) except -1 nogil:
    """A load (`d`) or store (`data`) of a dword at a byte offset of the lane; an SGPR offset counts bytes of memory, of all lanes."""
    cdef ProgramData *p = s.p
    cdef Operand[4] o
    cdef Definition offset
    cdef InstructionId i
    o[0] = operand_of(p, s.scratch_resource)
    o[1] = operand_undefined(class_v1)
    o[2] = operand_c32(0)
    if position > 4095:
        offset = definition_of(p, _fresh(s, class_s1))
        emit_1(&s.out, op_p_parallelcopy, offset, operand_c32(position // 4096 * 4096 * p.wave_size))
        o[2] = operand_of(p, offset.temp)
    if data:
        o[3] = operand_of(p, data)
    i = emit_any(&s.out, opcode, d, 0 if data else 1, o, 4 if data else 3)
    p.instructions.immediate[i] = position % 4096
    p.instructions.modifiers[i] = modifier_set_semantics(modifier_set_storage(0, storage_vgpr_spill), semantic_private)
    return 0


cdef inline uint32_t _dword_bytes(uint32_t bytes_, uint32_t k) noexcept nogil:
    """Bytes of a value that lie in its dword k."""
    cdef uint32_t left = bytes_ - 4 * k
    return left if left < 4 else 4


cdef int _store_dwords(Spiller *s, TempId name, uint32_t position) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef uint32_t bytes = class_bytes(class_of_value(s, name))
    cdef uint32_t count = (bytes + 3) // 4
    cdef Definition[16] parts
    cdef Operand whole = operand_of(p, name)
    cdef uint32_t k
    if count == 1:
        return _access_dword(s, op_buffer_store_dword, position, NULL, name)
    for k in range(count):
        parts[k] = definition_of(p, _fresh(s, class_of_bytes(True, _dword_bytes(bytes, k))))
    emit_any(&s.out, op_p_split_vector, parts, count, &whole, 1)
    for k in range(count):
        _access_dword(s, op_buffer_store_dword, position + 4 * k, NULL, parts[k].temp)
    return 0


cdef int _load_dwords(Spiller *s, Definition *d, uint32_t position) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef uint32_t bytes = class_bytes(d.register_class)
    cdef uint32_t count = (bytes + 3) // 4
    cdef Operand[16] parts
    cdef Definition one
    cdef uint32_t k
    if count == 1:
        return _access_dword(s, op_buffer_load_dword, position, d, 0)
    for k in range(count):
        one = definition_of(p, _fresh(s, class_of_bytes(True, _dword_bytes(bytes, k))))
        _access_dword(s, op_buffer_load_dword, position + 4 * k, &one, 0)
        parts[k] = operand_of(p, one.temp)
    emit_any(&s.out, op_p_create_vector, d, 1, parts, count)
    return 0


cdef int _store(Spiller *s, TempId name, uint32_t slot) except -1 nogil:
    """Write a value that is in a register into a slot."""
    cdef ProgramData *p = s.p
    cdef uint32_t dwords = s.slot_size[slot]
    cdef uint32_t position = s.slot_position[slot]
    cdef uint32_t immediate = 0
    cdef InstructionId i
    cdef uint16_t opcode
    cdef Operand[3] o
    if s.slot_file[slot] == file_sgpr:
        o[0] = operand_of(p, s.lanes[position // p.wave_size])
        o[1] = operand_c32(position % p.wave_size)
        o[2] = operand_of(p, name)
        emit_any(&s.out, op_p_spill, NULL, 0, o, 3)
        return 0
    if not s.scratch_ready:
        s.late_stores.push_back(name)
        s.late_stores.push_back(slot)
        return 0
    if s.scratch_resource:
        return _store_dwords(s, name, position)
    _scratch_address(s, position, o, &immediate)
    o[2] = operand_of(p, name)
    opcode = op_scratch_store_dword
    if dwords == 2:
        opcode = op_scratch_store_dwordx2
    elif dwords == 3:
        opcode = op_scratch_store_dwordx3
    elif dwords == 4:
        opcode = op_scratch_store_dwordx4
    i = emit_any(&s.out, opcode, NULL, 0, o, 3)
    p.instructions.immediate[i] = immediate
    p.instructions.modifiers[i] = modifier_set_semantics(modifier_set_storage(0, storage_vgpr_spill), semantic_private)
    return 0


cdef TempId _load(Spiller *s, TempId temp) except 0 nogil:
    """Bring a spilled value into a register: the new temp."""
    cdef ProgramData *p = s.p
    cdef TempId name = _fresh(s, class_of_value(s, temp))
    cdef Definition d = definition_of(p, name)
    cdef Operand[2] o
    cdef uint32_t immediate = 0
    cdef uint32_t slot
    cdef uint32_t position
    cdef InstructionId i
    cdef uint16_t opcode
    if s.constant[temp]:
        i = s.constant[temp]
        o[0] = operand_at(p, p.instructions.operand_first[i])
        rewrite_emit(&s.out, instruction_make(p, p.instructions.opcode[i], p.instructions.format[i], &d, 1, o, 1))
        return name
    slot = s.slot[temp]
    position = s.slot_position[slot]
    if s.slot_file[slot] == file_sgpr:
        o[0] = operand_of(p, s.lanes[position // p.wave_size])
        o[1] = operand_c32(position % p.wave_size)
        emit_any(&s.out, op_p_reload, &d, 1, o, 2)
        return name
    if s.scratch_resource:
        _load_dwords(s, &d, position)
        return name
    _scratch_address(s, position, o, &immediate)
    opcode = op_scratch_load_dword
    if s.slot_size[slot] == 2:
        opcode = op_scratch_load_dwordx2
    elif s.slot_size[slot] == 3:
        opcode = op_scratch_load_dwordx3
    elif s.slot_size[slot] == 4:
        opcode = op_scratch_load_dwordx4
    i = emit_any(&s.out, opcode, &d, 1, o, 2)
    p.instructions.immediate[i] = immediate
    p.instructions.modifiers[i] = modifier_set_semantics(modifier_set_storage(0, storage_vgpr_spill), semantic_private)
    return name


cdef uint32_t _cached_name(Spiller *s, uint32_t temp) noexcept nogil:
    cdef size_t k
    for k in range(s.cached.size()):
        if s.cached[k].temp == temp:
            return s.cached[k].name
    return 0


cdef void _keep_cache_within(Spiller *s, vector[int32_t] *demand, uint32_t position) noexcept nogil:
    """Drop reloaded values that the instruction does not name while they and the demand exceed the limit."""
    cdef int which
    cdef int32_t room
    cdef size_t k
    cdef TempId t
    for which in range(2):
        room = s.limit[which] - demand[which][position]
        for k in range(s.cached.size()):
            t = s.cached[k].temp
            if file_of(class_of_value(s, t)) == which and s.mark[t] != s.stamp:
                room -= size_of_value(s, t)
        k = 0
        while room < 0 and k < s.cached.size():
            t = s.cached[k].temp
            if file_of(class_of_value(s, t)) == which and s.mark[t] != s.stamp:
                room += size_of_value(s, t)
                s.cached[k] = s.cached.back()
                s.cached.pop_back()
            else:
                k += 1


cdef uint32_t _name_of(Spiller *s, TempId temp) except 0 nogil:
    """A register that holds a spilled value now."""
    cdef uint32_t name = _cached_name(s, temp)
    cdef Cached c
    if name:
        return name
    c.temp = temp
    c.name = _load(s, temp)
    s.cached.push_back(c)
    return c.name


cdef int _prepare_block(Spiller *s, BlockId block) except -1 nogil:
    """Demands by position, and how often the block uses each spilled value."""
    cdef ProgramData *p = s.p
    cdef uint32_t count = p.blocks.order_count[block]
    cdef OrderRow first = p.blocks.order_first[block]
    cdef uint32_t k = count
    cdef InstructionId i
    cdef uint32_t j
    cdef OperandRow row
    cdef int32_t after[2]
    cdef int32_t during[2]
    s.cached.clear()
    s.base[0].assign(count + 1, 0)
    s.base[1].assign(count + 1, 0)
    s.after_instruction[0].assign(count + 1, 0)
    s.after_instruction[1].assign(count + 1, 0)
    # temps made while rewriting are in no live set
    load_live_out(s, block, after)
    s.base[0][count] = after[0]
    s.base[1][count] = after[1]
    while k > 0:
        k -= 1
        i = p.order.instruction[first + k]
        if opcode_is_phi(p.instructions.opcode[i]):
            break
        step_back(s, i, after, during)
        s.base[0][k] = during[0]
        s.base[1][k] = during[1]
        s.after_instruction[0][k] = s.after_definitions[0]
        s.after_instruction[1][k] = s.after_definitions[1]
        for j in range(p.instructions.operand_count[i]):
            row = p.instructions.operand_first[i] + j
            if p.operands.flags[row] & operand_temp:
                s.remaining[p.operands.data[row]] = 0
    for k in range(count):
        i = p.order.instruction[first + k]
        if opcode_is_phi(p.instructions.opcode[i]):
            continue
        for j in range(p.instructions.operand_count[i]):
            row = p.instructions.operand_first[i] + j
            if p.operands.flags[row] & operand_temp and s.spilled[p.operands.data[row]]:
                s.remaining[p.operands.data[row]] += 1
    return 0


cdef int _ordinary(Spiller *s, InstructionId i, uint32_t position) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef uint32_t k
    cdef uint32_t row
    cdef TempId t
    cdef uint32_t name
    cdef Cached c
    s.stamp += 1
    for k in range(p.instructions.operand_count[i]):
        row = p.instructions.operand_first[i] + k
        if p.operands.flags[row] & operand_temp:
            s.mark[p.operands.data[row]] = s.stamp
    _keep_cache_within(s, s.base, position)
    for k in range(p.instructions.operand_count[i]):
        row = p.instructions.operand_first[i] + k
        if p.operands.flags[row] & operand_temp and s.spilled[p.operands.data[row]]:
            t = p.operands.data[row]
            name = _name_of(s, t)
            p.operands.data[p.instructions.operand_first[i] + k] = name
            if s.remaining[t] > 0:
                s.remaining[t] -= 1
    # values without further uses in the block free their registers
    k = 0
    while k < s.cached.size():
        if s.remaining[s.cached[k].temp] == 0:
            s.cached[k] = s.cached.back()
            s.cached.pop_back()
        else:
            k += 1
    # operands may stay for later uses where there is room beside the definitions
    s.stamp += 1
    _keep_cache_within(s, s.after_instruction, position)
    rewrite_emit(&s.out, i)
    for k in range(p.instructions.definition_count[i]):
        row = p.instructions.definition_first[i] + k
        if not p.definitions.flags[row] & definition_temp or not s.spilled[p.definitions.temp[row]]:
            continue
        t = p.definitions.temp[row]
        if not s.constant[t] and not p.definitions.flags[row] & definition_kill:
            _store(s, t, s.slot[t])
        if s.remaining[t]:
            c.temp = t
            c.name = t
            s.cached.push_back(c)
    return 0


# ------------------------------------------------------------------------------------------------------------------- edges
cdef int _store_operand(Spiller *s, Operand o, uint8_t register_class, uint32_t slot) except -1 nogil:
    """Write a constant, an SGPR or a temp of the right kind into a slot."""
    cdef ProgramData *p = s.p
    cdef Definition d
    if o.flags & operand_temp and class_is_vgpr(o.register_class) == class_is_vgpr(register_class):
        return _store(s, o.data, slot)
    d = definition_of(p, _fresh(s, register_class))
    emit_1(&s.out, op_p_parallelcopy, d, o)
    return _store(s, d.temp, slot)


cdef bint _slot_still_read(Spiller *s, size_t index) noexcept nogil:
    cdef size_t k
    for k in range(s.moves.size()):
        if k != index and not s.moves[k].done and s.moves[k].from_ == s.moves[index].to:
            return True
    return False


cdef int _run_moves(Spiller *s) except -1 nogil:
    """The moves between slots, as a parallel copy."""
    cdef size_t left = s.moves.size()
    cdef size_t k
    cdef size_t j
    cdef bint progress
    cdef TempId name
    while left:
        progress = False
        for k in range(s.moves.size()):
            if s.moves[k].done or _slot_still_read(s, k):
                continue
            if s.moves[k].from_ != <uint32_t>no_slot:
                name = _load(s, s.moves[k].temp)
                _store(s, name, s.moves[k].to)
            else:
                _store_operand(s, s.moves[k].operand, s.moves[k].register_class, s.moves[k].to)
            s.moves[k].done = True
            left -= 1
            progress = True
        if progress or not left:
            continue
        # a cycle: take what the first target slot holds into a register
        k = 0
        while s.moves[k].done:
            k += 1
        name = 0
        for j in range(s.moves.size()):
            if not s.moves[j].done and s.moves[j].from_ == s.moves[k].to:
                if not name:
                    name = _load(s, s.moves[j].temp)
                s.moves[j].from_ = <uint32_t>no_slot
                s.moves[j].operand = operand_of(s.p, name)
    s.moves.clear()
    return 0


cdef int _end_of_block(Spiller *s, BlockId block, bint logical) except -1 nogil:
    """What the phis of the successors need from this block: operands in registers, or slots written."""
    cdef ProgramData *p = s.p
    cdef uint32_t successors = p.blocks.logical_succ_count[block] if logical else p.blocks.linear_succ_count[block]
    cdef uint32_t first = p.blocks.logical_succ_first[block] if logical else p.blocks.linear_succ_first[block]
    cdef BlockId n
    cdef uint32_t q
    cdef uint32_t k
    cdef InstructionId i
    cdef uint32_t row
    cdef TempId d
    cdef TempId t
    cdef TempId name
    cdef SlotMove move
    cdef uint32_t round
    s.moves.clear()
    for round in range(2):
        # first what must be in registers at the end, while all slots are intact; then the moves between slots
        for q in range(successors):
            n = p.edge_lists.block[first + q]
            for k in range(p.blocks.order_count[n]):
                i = p.order.instruction[p.blocks.order_first[n] + k]
                if not opcode_is_phi(p.instructions.opcode[i]):
                    break
                if (p.instructions.opcode[i] == op_p_phi) != logical:
                    continue
                row = p.instructions.definition_first[i]
                if p.definitions.flags[row] & definition_temp and p.definitions.flags[row] & definition_kill:
                    continue
                d = p.definitions.temp[row]
                row = p.instructions.operand_first[i] + edge_of(p, n, block, logical)
                t = p.operands.data[row] if p.operands.flags[row] & operand_temp else 0
                if round == 0 and t and s.spilled[t] and not phi_is_spilled(s, i):
                    name = _name_of(s, t)
                    p.operands.data[row] = name
                if round == 1 and phi_is_spilled(s, i) and not p.operands.flags[row] & operand_undef:
                    move.to = s.slot[d]
                    move.from_ = <uint32_t>no_slot
                    move.temp = t
                    move.register_class = class_of_value(s, d)
                    move.done = False
                    move.operand = operand_at(p, row)
                    if t and s.spilled[t]:
                        if s.constant[t]:
                            move.operand = operand_at(p, p.instructions.operand_first[s.constant[t]])
                        elif file_of(class_of_value(s, t)) != file_of(class_of_value(s, d)):
                            move.operand = operand_of(p, _name_of(s, t))
                        elif s.slot[t] == s.slot[d]:
                            continue
                        else:
                            name = _cached_name(s, t)
                            if name:
                                move.operand = operand_of(p, name)
                            else:
                                move.from_ = s.slot[t]
                    s.moves.push_back(move)
    return _run_moves(s)


cdef int _start_lanes(Spiller *s) except -1 nogil:
    """The linear VGPRs begin with the program."""
    cdef size_t k
    cdef Definition d
    for k in range(s.lanes.size()):
        d = definition_of(s.p, s.lanes[k])
        emit_any(&s.out, op_p_start_linear_vgpr, &d, 1, NULL, 0)
    return 0


cdef int _end_lanes(Spiller *s) except -1 nogil:
    cdef size_t k
    cdef Operand o
    for k in range(s.lanes.size()):
        o = operand_of(s.p, s.lanes[k])
        o.flags |= operand_late_kill
        emit_any(&s.out, op_p_end_linear_vgpr, NULL, 0, &o, 1)
    return 0


cdef bint _phi_stays(Spiller *s, InstructionId i) noexcept nogil:
    """The operands of a dead phi are kept alive by nothing."""
    cdef DefinitionRow row = s.p.instructions.definition_first[i]
    return not phi_is_spilled(s, i) and (not s.p.definitions.flags[row] & definition_kill
                                         or s.p.definitions.flags[row] & definition_fixed)


cdef int _store_late(Spiller *s) except -1 nogil:
    """What had to wait for scratch memory."""
    cdef size_t j = 0
    s.scratch_ready = True
    while j < s.late_stores.size():
        _store(s, s.late_stores[j], s.late_stores[j + 1])
        j += 2
    s.late_stores.clear()
    return 0


cdef bint _names_spilled(Spiller *s, InstructionId i) noexcept nogil:
    """Whether an operand or a definition of an instruction is spilled."""
    cdef ProgramData *p = s.p
    cdef uint32_t row
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        if p.operands.flags[row] & operand_temp and s.spilled[p.operands.data[row]]:
            return True
    for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if p.definitions.flags[row] & definition_temp and s.spilled[p.definitions.temp[row]]:
            return True
    return False


cdef bint _phis_name_spilled(Spiller *s, BlockId block) noexcept nogil:
    cdef ProgramData *p = s.p
    cdef uint32_t k
    cdef InstructionId i
    for k in range(p.blocks.order_count[block]):
        i = p.order.instruction[p.blocks.order_first[block] + k]
        if not opcode_is_phi(p.instructions.opcode[i]):
            return False
        if _names_spilled(s, i):
            return True
    return False


cdef bint _has_work(Spiller *s, BlockId block) noexcept nogil:
    """Whether a block, or a phi behind it, names a spilled value, or lanes and scratch begin or end there."""
    cdef ProgramData *p = s.p
    cdef uint32_t k
    cdef InstructionId i
    if block == 0:
        return True
    for k in range(p.blocks.order_count[block]):
        i = p.order.instruction[p.blocks.order_first[block] + k]
        if p.instructions.opcode[i] == op_s_endpgm or p.instructions.opcode[i] == op_p_init_scratch or _names_spilled(s, i):
            return True
    for k in range(p.blocks.linear_succ_count[block]):
        if _phis_name_spilled(s, p.edge_lists.block[p.blocks.linear_succ_first[block] + k]):
            return True
    for k in range(p.blocks.logical_succ_count[block]):
        if _phis_name_spilled(s, p.edge_lists.block[p.blocks.logical_succ_first[block] + k]):
            return True
    return False


cdef int _copy_block(Spiller *s, BlockId block) except -1 nogil:
    """A block that stays as it is, but for dead phis."""
    cdef ProgramData *p = s.p
    cdef uint32_t k
    cdef InstructionId i
    for k in range(p.blocks.order_count[block]):
        i = p.order.instruction[p.blocks.order_first[block] + k]
        if not opcode_is_phi(p.instructions.opcode[i]) or _phi_stays(s, i):
            rewrite_emit(&s.out, i)
    return 0


cdef int _rewrite_block(Spiller *s, BlockId block) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef uint32_t k
    cdef InstructionId i
    cdef uint16_t opcode
    cdef bint lanes = block == 0
    cdef bint logical = False
    cdef bint linear = False
    cdef bint branch
    _prepare_block(s, block)
    for k in range(p.blocks.order_count[block]):
        i = p.order.instruction[p.blocks.order_first[block] + k]
        opcode = p.instructions.opcode[i]
        if opcode_is_phi(opcode):
            if _phi_stays(s, i):
                rewrite_emit(&s.out, i)
            continue
        if lanes:
            lanes = False
            if opcode == op_p_startpgm:
                # spills of arguments need the linear VGPRs, which begin after them
                rewrite_emit(&s.out, i)
                _start_lanes(s)
                _stores_of(s, i)
                continue
            _start_lanes(s)
        branch = p.instructions.format[i] == format_pseudo_branch
        if opcode == op_p_logical_end or branch:
            s.stamp += 1
            _keep_cache_within(s, s.base, k)
            if not logical:
                _end_of_block(s, block, True)
                logical = True
            if branch:
                _end_of_block(s, block, False)
                linear = True
        elif opcode == op_s_endpgm:
            _end_lanes(s)
        _ordinary(s, i, k)
        if opcode == op_p_init_scratch:
            _store_late(s)
    if not logical:
        _end_of_block(s, block, True)
    if not linear:
        _end_of_block(s, block, False)
    return 0


cdef int _stores_of(Spiller *s, InstructionId i) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef uint32_t k
    cdef DefinitionRow row
    cdef TempId t
    cdef Cached c
    for k in range(p.instructions.definition_count[i]):
        row = p.instructions.definition_first[i] + k
        if not p.definitions.flags[row] & definition_temp or not s.spilled[p.definitions.temp[row]]:
            continue
        t = p.definitions.temp[row]
        if not p.definitions.flags[row] & definition_kill:
            _store(s, t, s.slot[t])
        if s.remaining[t]:
            c.temp = t
            c.name = t
            s.cached.push_back(c)
    return 0


# ------------------------------------------------------------------------------------------------------------------- driver
cdef InstructionId _scratch_setup(const ProgramData *p) noexcept nogil:
    """The instruction that sets scratch up, 0: none."""
    cdef uint32_t k
    for k in range(p.blocks.order_count[0]):
        if p.instructions.opcode[p.order.instruction[p.blocks.order_first[0] + k]] == op_p_init_scratch:
            return p.order.instruction[p.blocks.order_first[0] + k]
    return 0


cdef int _prepare(Spiller *s, ProgramData *p) except -1 nogil:
    cdef uint32_t temps = p.temps.table.count
    cdef uint32_t t
    s.p = p
    s.cost.assign(temps, 0)
    s.spillable.assign(temps, 0)
    s.spilled.assign(temps, 0)
    s.is_candidate.assign(temps, 0)
    s.spilled_bits.assign((temps + 63) // 64, 0)
    demand_of_lists(p, &s.of_lists)
    s.constant.assign(temps, 0)
    s.slot.assign(temps, <uint32_t>no_slot)
    s.web.resize(temps)
    for t in range(temps):
        s.web[t] = t
    s.web_spilled.assign(temps, 0)
    s.mark.assign(temps, 0)
    s.remaining.assign(temps, 0)
    live_set_init(&s.live, temps)
    linear_temps(p, &s.linear)
    s.stamp = 0
    s.scratch_resource = 0
    if p.gfx_level < gfx9 and _scratch_setup(p):
        s.scratch_resource = p.definitions.temp[p.instructions.definition_first[_scratch_setup(p)]]
    return 0


cdef int _choose_values(Spiller *s, int32_t slack) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef uint32_t temps = p.temps.table.count
    cdef TempId t
    cdef int32_t lanes = 0
    cdef bint vgprs
    # scratch_* of older generations need an SGPR, before GFX9 a descriptor too; a move between slots needs a register of each
    cdef int32_t address = 5 if s.scratch_resource else 1
    s.limit[file_vgpr] = <int32_t>addressable_vgprs(p, min_waves(p))
    vgprs = p.max_demand_vgpr > s.limit[file_vgpr] - 8
    if p.max_demand_vgpr > s.limit[file_vgpr]:
        p.config.uses_scratch = 1
    s.limit[file_sgpr] = <int32_t>addressable_sgprs(p, min_waves(p))
    estimate_costs(s)
    if s.scratch_resource:
        s.spillable[s.scratch_resource] = False
    join_webs(s)
    if p.max_demand_sgpr > s.limit[file_sgpr]:
        s.limit[file_sgpr] -= 4 + slack + (address if vgprs else 0)
        choose_spilled(s, file_sgpr)
        for t in range(1, temps):
            if s.spilled[t] and not s.constant[t]:
                lanes += size_of_value(s, t)
        # Not all of them are live at once. Where slots need more lanes than this, the next attempt leaves more room.
        lanes = min(lanes, 2 * p.max_demand_sgpr)
        lanes = (lanes + <int32_t>p.wave_size - 1) // <int32_t>p.wave_size + 1
    elif vgprs:
        s.limit[file_sgpr] -= address
        if p.max_demand_sgpr > s.limit[file_sgpr]:
            choose_spilled(s, file_sgpr)
            lanes = 1
    if p.max_demand_vgpr > s.limit[file_vgpr] - lanes:
        p.config.uses_scratch = 1
        s.limit[file_vgpr] -= lanes + 2 + slack
        choose_spilled(s, file_vgpr)
    return 0


cdef int _attempt(Spiller *s, ProgramData *p, int32_t slack) except -1 nogil:
    """Spill down to the limit less `slack` registers."""
    cdef BlockId b
    _prepare(s, p)
    _choose_values(s, slack)
    assign_slots(s)
    assign_positions(s)
    s.mark.assign(p.temps.table.count + 1, 0)
    s.scratch_ready = p.gfx_level >= gfx11 or not _scratch_setup(p)
    if p.config.uses_scratch and s.scratch_ready and p.gfx_level < gfx11:
        with gil:
            raise UnsupportedError("spilling of VGPRs: the program has no scratch set up (p_init_scratch)")
    rewrite_begin(&s.out, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&s.out, b)
        if _has_work(s, b):
            _rewrite_block(s, b)
        else:
            _copy_block(s, b)
    rewrite_end(&s.out)
    return 0


cdef int _load_again(ProgramData *p) except -1 nogil:
    """Where SGPRs do not suffice, load again what may be loaded again."""
    cdef int32_t limit = <int32_t>addressable_sgprs(p, min_waves(p))
    cdef int rounds = 0
    # The first choice counts on each value being live where the demand is highest.
    while p.max_demand_sgpr > limit and rounds < most_rounds and rematerialize_loads_run(p, <uint32_t>limit):
        live_variables_run(p)
        rounds += 1
    return 0


cdef int spill_run(ProgramData *p) except -1 nogil:
    cdef Spiller *s
    cdef bint first = True
    cdef int32_t slack = 0
    cdef int32_t sgprs
    cdef int32_t vgprs
    if p.num_waves == 0:
        reduce_pressure_run(p, <int32_t>addressable_sgprs(p, min_waves(p)), <int32_t>addressable_vgprs(p, min_waves(p)))
        _load_again(p)
    while p.num_waves == 0:
        if slack > 48:
            sgprs = p.max_demand_sgpr
            vgprs = p.max_demand_vgpr
            with gil:
                raise UnsupportedError(f"spilling: {sgprs} SGPRs and {vgprs} VGPRs are still live at once")
        s = new Spiller()
        try:
            # What frees most is seldom all of a web of phis: where that left too much, the rest is chosen by cost alone.
            s.counts_relief = first
            _attempt(s, p, slack)
        finally:
            del s
        live_variables_run(p)
        if not first:
            slack += 8
        first = False
    p.progress = progress_after_spilling
    return 0


cdef int _kernel(void *ir, int option) except -1 nogil:
    spill_run(<ProgramData *>ir)
    return 1


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Spill where the register demand exceeds the limit. Liveness must be current, and is afterwards. Returns True."""
    with nogil:
        _kernel(&program.data, 0)
    return True
