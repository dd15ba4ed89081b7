"""Register allocation: linear scan over SSA with live-range splitting.

Needs: liveness (``live_variables_run``) and a demand within the limit; blocks in an order where only back edges go backwards;
no critical edges in either CFG. Guarantees: every operand and definition has a register; ``config.num_sgprs``,
``config.num_vgprs``; pseudo copies know a scratch SGPR where SCC must survive.

Data structures (``allocator.pxd``). ``RegisterFile``: owners by register, before and after the instruction at hand. ``Value``, by temp
id: its register, in which views it is present, its web (values that would like to share a register: phis, tied operands, copies), the
web of what is computed from it last, the p_create_vector that will gather it.

Invariants. (1) A temp has one register at any moment. (2) A value that moves keeps its id: the copy is
``%t:new = p_parallelcopy %t:old`` in front of the instruction that needed the room, so after this pass a temp names a
value, not one definition. (3) The registers of the live-in values of a block are fixed when the block is entered, from one
predecessor already allocated; another predecessor that holds a value elsewhere gets a copy through a phi of that value
with itself. So no renaming is ever needed, also not around loops. (4) Values that live through an instruction stay clear of
killed operands and of definitions; definitions may take the registers of killed operands. (5) Linear VGPRs move in
top-level blocks only (elsewhere the target may hold values of lanes that are switched off).

Phases per instruction: kill operands in the after view; fixed operands; operands in registers that the encoding cannot name; tied
definitions; fixed definitions; the other definitions; moves; encoding. ``allocator.pyx`` finds the registers, ``allocate_blocks.pyx`` enters
and leaves blocks.

Sources: S. Hack, "Register Allocation for Programs in SSA Form"; M. Braun, C. Wimmer on SSA linear scan; ACO's choice of hints.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from isa_opcodes cimport *
from modifiers cimport modifier_set_needs_scratch, modifier_set_scc_live, modifier_set_scratch_register
from pyaco._core.aco.allocate_blocks cimport enter_block, fill_phi_operands, find_goals, finish_branches, leave_block, write_out
from pyaco._core.aco.allocator cimport *
from pyaco._core.aco.build cimport make_1
from pyaco._core.aco.cycle_model cimport MemoryCycles, memory_cycles_of
from pyaco._core.aco.live_set cimport live_set_init
from pyaco._core.aco.occupancy cimport (
    addressable_sgprs, addressable_vgprs, min_waves, sgpr_allocation, vgpr_allocation, waves_of_demand,
)
from pyaco._core.aco.queries cimport opcode_is_phi, tied_operand
from pyaco._core.aco.register_constraints cimport (
    Placement, definition_placement, encode_for_registers, operand_fits, operand_placement, prepare_encoding, pseudo_placement,
    select_subdword_definition, select_subdword_operand,
)
from pyaco._core.aco.register_file cimport *
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport *

from pyaco.errors import InputError, PyacoError


# ------------------------------------------------------------------------------------------------------------- affinities
cdef enum:
    spare_vgprs = 4                   # beyond demand, where they cost no waves: room for vectors whose parts are then made in place


cdef void _join_webs(Allocator *a, TempId x, TempId y) noexcept nogil:
    if class_of_value(a, x) != class_of_value(a, y):
        return
    x = web_of(a, x)
    y = web_of(a, y)
    a.values[y if x < y else x].web = min(x, y)
    a.values[min(x, y)].hint |= hint_joined


cdef void _affinities_of(Allocator *a, InstructionId i) noexcept nogil:
    cdef ProgramData *p = a.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint16_t format = p.instructions.format[i]
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef DefinitionRow definition = p.instructions.definition_first[i]
    cdef uint32_t k
    cdef int tied
    if opcode_is_phi(opcode):
        for k in range(count):
            if p.operands.flags[first + k] & operand_temp and p.operands.flags[first + k] & operand_kill \
                    and p.definitions.flags[definition] & definition_temp:
                _join_webs(a, p.definitions.temp[definition], p.operands.data[first + k])
        return
    if opcode == op_p_parallelcopy:
        for k in range(count):
            if p.operands.flags[first + k] & operand_temp and p.operands.flags[first + k] & operand_kill \
                    and not p.definitions.flags[definition + k] & definition_fixed \
                    and p.definitions.flags[definition + k] & definition_temp:
                _join_webs(a, p.definitions.temp[definition + k], p.operands.data[first + k])
        return
    if opcode == op_p_create_vector:
        for k in range(count):
            if p.operands.flags[first + k] & operand_temp and p.operands.flags[first + k] & operand_first_kill \
                    and class_is_vgpr(p.operands.register_class[first + k]) \
                    == class_is_vgpr(p.definitions.register_class[definition]):
                a.values[p.operands.data[first + k]].vector_use = i
        return
    tied = tied_operand(p, i)
    if tied >= 0 and p.operands.flags[first + tied] & operand_temp and p.operands.flags[first + tied] & operand_kill:
        _join_webs(a, p.definitions.temp[definition], p.operands.data[first + tied])
    if format & format_vopc and not format & format_vop3:
        if p.definitions.flags[definition] & definition_temp:
            a.values[p.definitions.temp[definition]].hint |= hint_vcc
    elif format & format_vop2 and not format & format_vop3:
        if count == 3 and p.operands.flags[first + 2] & operand_temp \
                and not class_is_vgpr(p.operands.register_class[first + 2]):
            a.values[p.operands.data[first + 2]].hint |= hint_vcc
        if p.instructions.definition_count[i] == 2 and p.definitions.flags[definition + 1] & definition_temp:
            a.values[p.definitions.temp[definition + 1]].hint |= hint_vcc


cdef void _affinities(Allocator *a) noexcept nogil:
    cdef ProgramData *p = a.p
    cdef BlockId b
    cdef uint32_t k
    for b in range(p.blocks.table.count):
        for k in range(p.blocks.order_count[b]):
            _affinities_of(a, p.order.instruction[p.blocks.order_first[b] + k])


cdef uint32_t _destination(Allocator *a, TempId temp) noexcept nogil:
    """The web of several values that a value is in, or becomes; 0: none."""
    cdef uint32_t web = web_of(a, temp)
    return web if a.values[web].hint & hint_joined else a.values[temp].becomes


cdef void _becomes(Allocator *a, InstructionId i) noexcept nogil:
    """Values whose last use computes a value of a web become that one: their registers will be free for it, where no other value is in its way."""
    cdef ProgramData *p = a.p
    cdef DefinitionRow definition = p.instructions.definition_first[i]
    cdef OperandRow row
    cdef uint32_t destination
    if p.instructions.definition_count[i] == 0 or not p.definitions.flags[definition] & definition_temp \
            or p.instructions.format[i] == format_pseudo or not class_is_vgpr(p.definitions.register_class[definition]):
        return
    destination = _destination(a, p.definitions.temp[definition])
    if destination == 0:
        return
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        if p.operands.flags[row] & operand_temp and p.operands.flags[row] & operand_first_kill \
                and p.operands.register_class[row] == p.definitions.register_class[definition] and _destination(a, p.operands.data[row]) == 0:
            a.values[p.operands.data[row]].becomes = destination


cdef void _destinations(Allocator *a) noexcept nogil:
    """VGPRs alone: chains of scalar instructions end in swaps as often as not, which take three instructions there."""
    cdef ProgramData *p = a.p
    cdef OrderRow k = p.order.table.count
    while k > 0:
        k -= 1
        _becomes(a, p.order.instruction[k])


# --------------------------------------------------------------------------------------------------------------- operands
cdef int _copy_operand(Allocator *a, OperandRow row, uint32_t address, bint late) except -1 nogil:
    """Make an operand read a transient copy of its temp, in a register of its own."""
    cdef TempId temp = a.p.operands.data[row]
    cdef TempId copy = new_value(a, class_of_value(a, temp))
    cdef Move move
    cdef uint16_t kept = a.p.operands.flags[row] & <uint16_t>~(operand_kill | operand_first_kill | operand_late_kill)
    move.temp = copy
    move.source = temp
    move.origin = a.moves[a.values[temp].move_of - 1].origin if a.values[temp].move_of else a.values[temp].reg
    a.moves.push_back(move)
    put_value(a, copy, address, in_both if late else in_before)
    pin(a, copy, True)
    a.transients.push_back(copy)
    a.p.operands.data[row] = copy
    a.p.operands.flags[row] = <uint16_t>(kept | operand_kill | operand_first_kill | (operand_late_kill if late else 0))
    return 0


cdef void _leave_after(Allocator *a, TempId temp) noexcept nogil:
    if a.values[temp].presence & in_after:
        file_put(&a.file, in_after, a.values[temp].reg, class_bytes(class_of_value(a, temp)), 0)
        a.values[temp].presence &= ~<uint8_t>in_after


cdef int _kill_operands(Allocator *a, InstructionId i) noexcept nogil:
    cdef ProgramData *p = a.p
    cdef OperandRow row
    cdef uint32_t k
    for k in range(p.instructions.operand_count[i]):
        row = p.instructions.operand_first[i] + k
        if p.operands.flags[row] & operand_temp and p.operands.flags[row] & operand_first_kill \
                and not p.operands.flags[row] & operand_late_kill:
            note_read(a, p.operands.data[row])
            _leave_after(a, p.operands.data[row])
    return 0


cdef inline bint _is_fixed_temp(const ProgramData *p, OperandRow row) noexcept nogil:
    return (p.operands.flags[row] & operand_temp) != 0 and (p.operands.flags[row] & operand_fixed) != 0


cdef bint _pin_fixed_operands(Allocator *a, uint32_t first, uint32_t count) noexcept nogil:
    """Hold the operands that are where they must be; returns whether all are."""
    cdef ProgramData *p = a.p
    cdef OperandRow row
    cdef bint all_there = True
    for row in range(first, first + count):
        if _is_fixed_temp(p, row):
            if a.values[p.operands.data[row]].reg == p.operands.reg[row]:
                pin(a, p.operands.data[row], True)
            else:
                all_there = False
    return all_there


cdef bint _read_elsewhere(const ProgramData *p, uint32_t first, uint32_t count, OperandRow row) noexcept nogil:
    """Whether another operand of the instruction needs the value of `row` in another register."""
    cdef OperandRow other
    for other in range(first, first + count):
        if (other != row and p.operands.flags[other] & operand_temp and p.operands.data[other] == p.operands.data[row]
                and (not p.operands.flags[other] & operand_fixed or p.operands.reg[other] != p.operands.reg[row])):
            return True
    return False


cdef void _lift_fixed_operands(Allocator *a, uint32_t first, uint32_t count) noexcept nogil:
    """Take values that will move out of the file, so that they do not block each other."""
    cdef ProgramData *p = a.p
    cdef OperandRow row
    cdef TempId temp
    for row in range(first, first + count):
        if not _is_fixed_temp(p, row):
            continue
        temp = p.operands.data[row]
        if a.values[temp].reg == p.operands.reg[row] or not a.values[temp].presence or is_pinned(a, temp):
            continue
        if ((a.values[temp].presence == in_before or p.operands.flags[row] & operand_kill)
                and not _read_elsewhere(p, first, count, row)):
            record_move(a, temp)
            a.values[temp].lifted = a.values[temp].presence
            displace(a, temp)


cdef int _fixed_operands(Allocator *a, InstructionId i) except -1 nogil:
    """Bring operands into the registers that the instruction demands of them.

    A value that dies here moves; one that lives on keeps its home and a transient copy is read, so that VCC, SCC and m0
    become free again.
    """
    cdef ProgramData *p = a.p
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef OperandRow row
    cdef TempId temp
    cdef uint32_t size
    cdef uint16_t target
    cdef int views
    cdef bint moves
    if _pin_fixed_operands(a, first, count):
        return 0
    _lift_fixed_operands(a, first, count)
    for row in range(first, first + count):
        if not _is_fixed_temp(p, row):
            continue
        temp = p.operands.data[row]
        target = p.operands.reg[row]
        if a.values[temp].reg == target and a.values[temp].presence:
            continue
        size = class_bytes(class_of_value(a, temp))
        moves = a.values[temp].presence == 0
        views = a.values[temp].lifted if moves else in_both
        if file_taken(&a.file, views, target, size) and not evict(a, target >> 2, (target + size + 3) >> 2, views):
            with gil:
                raise InputError(f"instruction {i}: operand {row - first} must be in register {target >> 2}, which another "
                                 "operand occupies")
        if moves:
            put_value(a, temp, target, a.values[temp].lifted)
            a.values[temp].lifted = 0
            pin(a, temp, True)
        else:
            _copy_operand(a, row, target, (p.operands.flags[row] & operand_late_kill) != 0)
    return 0


cdef int _fix_unencodable_operands(Allocator *a, InstructionId i) except -1 nogil:
    """Move operands out of registers that the encoding cannot name there (SCC, high halves ...)."""
    cdef ProgramData *p = a.p
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t k
    cdef TempId temp
    cdef uint32_t address
    cdef int views
    cdef Placement need
    for k in range(p.instructions.operand_count[i]):
        if not p.operands.flags[first + k] & operand_temp:
            continue
        temp = p.operands.data[first + k]
        if p.operands.flags[first + k] & operand_fixed or operand_fits(p, i, k, a.values[temp].reg):
            continue
        need = operand_placement(p, i, k)
        views = a.values[temp].presence
        if is_pinned(a, temp):
            address = pick_any(a, need, in_before)
            _copy_operand(a, first + k, address, False)
            continue
        record_move(a, temp)
        displace(a, temp)
        address = pick_any(a, need, views)
        put_value(a, temp, address, views)
    return 0


# ------------------------------------------------------------------------------------------------------------ definitions
cdef int _tied_definition(Allocator *a, InstructionId i) except -1 nogil:
    """The first definition takes the register of the operand it is tied to; a live operand is copied first."""
    cdef ProgramData *p = a.p
    cdef int tied = tied_operand(p, i)
    cdef OperandRow row
    cdef DefinitionRow definition
    cdef uint32_t temp
    cdef uint32_t address
    cdef Placement need
    if tied < 0 or p.instructions.definition_count[i] == 0:
        return 0
    row = p.instructions.operand_first[i] + tied
    definition = p.instructions.definition_first[i]
    if not p.operands.flags[row] & operand_temp:
        return 0
    temp = p.operands.data[row]
    need = definition_placement(p, i, 0)
    if p.definitions.flags[definition] & definition_fixed and p.definitions.reg[definition] != a.values[temp].reg:
        address = p.definitions.reg[definition]
        if file_taken(&a.file, in_both, address, class_bytes(need.register_class)) \
                and not evict(a, address >> 2, (address >> 2) + need.dwords, in_both):
            with gil:
                raise InputError(f"instruction {i}: the register of its tied definition is occupied by an operand")
        _copy_operand(a, row, address, False)
    elif a.values[temp].presence != in_before or file_taken(&a.file, in_after, a.values[temp].reg, class_bytes(need.register_class)):
        address = pick_hinted(a, p.definitions.temp[definition], need, in_both)
        _copy_operand(a, row, address, False)
    address = a.values[p.operands.data[row]].reg
    pin(a, p.operands.data[row], True)
    assign_definition(a, definition, address, in_after, True)
    return 1


cdef int _fixed_definitions(Allocator *a, InstructionId i) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef DefinitionRow row
    cdef uint32_t k
    cdef uint32_t address
    cdef uint32_t size
    for k in range(p.instructions.definition_count[i]):
        row = p.instructions.definition_first[i] + k
        if not p.definitions.flags[row] & definition_fixed:
            continue
        if p.definitions.flags[row] & definition_temp and a.values[p.definitions.temp[row]].presence & in_after:
            continue                  # tied
        address = p.definitions.reg[row]
        size = class_bytes(p.definitions.register_class[row])
        if file_taken(&a.file, in_after, address, size) \
                and not evict(a, address >> 2, (address + size + 3) >> 2, in_after):
            with gil:
                raise InputError(f"instruction {i}: definition {k} must be in register {address >> 2}, which is in use")
        if p.definitions.flags[row] & definition_temp:
            assign_definition(a, row, address, in_after, True)
        else:
            file_put(&a.file, in_after, address, size, <uint32_t>owner_blocked)
            note_used(a, p.definitions.register_class[row], address)
    return 0


cdef int _vector_definition(Allocator *a, InstructionId i, DefinitionRow row) except -2 nogil:
    """p_create_vector: the window around one of its operands that needs the fewest moves; -1 when a gap is as good."""
    cdef ProgramData *p = a.p
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef uint8_t register_class = p.definitions.register_class[row]
    cdef int which = file_of(register_class)
    cdef Placement need = pseudo_placement(p, register_class)
    cdef uint32_t k
    cdef uint32_t j
    cdef int32_t offset = 0
    cdef int32_t other
    cdef int32_t start
    cdef int32_t best = -1
    cdef int32_t best_cost = 0x7fffffff
    cdef int32_t cost
    cdef int address
    for k in range(count):
        if p.operands.flags[first + k] & operand_temp and a.values[p.operands.data[first + k]].presence == in_before \
                and class_is_vgpr(p.operands.register_class[first + k]) == class_is_vgpr(register_class):
            start = <int32_t>a.values[p.operands.data[first + k]].reg - offset
            if start >= 0 and not start & 3 and start != best and (start >> 2) >= <int32_t>a.first[which] \
                    and <uint32_t>(start >> 2) + need.dwords <= a.bound[which] and not (start >> 2) % need.align:
                cost = window_cost(a, start >> 2, (start >> 2) + need.dwords, in_after)
                if cost >= 0:
                    cost *= 2         # an eviction costs more than a copy that is due anyway
                    other = 0
                    for j in range(count):
                        if not (p.operands.flags[first + j] & operand_temp
                                and <int32_t>a.values[p.operands.data[first + j]].reg == start + other):
                            cost += 1
                        other += <int32_t>operand_bytes(operand_at(p, first + j))
                    if cost < best_cost:
                        best_cost = cost
                        best = start
        offset += <int32_t>operand_bytes(operand_at(p, first + k))
    if best < 0:
        return -1
    if best_cost > <int32_t>count:
        address = find_gap(a, need, in_after, 0, 0)
        if address >= 0:
            return address
    if evict(a, best >> 2, (best >> 2) + need.dwords, in_after):
        return best
    return -1


cdef int _pseudo_definition(Allocator *a, InstructionId i, uint32_t k, Placement need) except -2 nogil:
    """The register that makes a pseudo copy a no-op, or -1."""
    cdef ProgramData *p = a.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef OperandRow operand = p.instructions.operand_first[i]
    cdef DefinitionRow row = p.instructions.definition_first[i]
    cdef uint32_t address
    cdef uint32_t j
    cdef int found
    if opcode == op_p_split_vector:
        if k > 0:
            address = p.definitions.reg[row + k - 1] + class_bytes(p.definitions.register_class[row + k - 1])
            if fits(a, need, in_after, address):
                return address
        if not p.operands.flags[operand] & operand_temp:
            return -1
        address = a.values[p.operands.data[operand]].reg
        if class_is_vgpr(p.operands.register_class[operand]) != class_is_vgpr(need.register_class):
            return -1
        for j in range(k):
            address += class_bytes(p.definitions.register_class[row + j])
        if fits(a, need, in_after, address):
            return address
        if k == 0:
            found = find_gap(a, pseudo_placement(p, p.operands.register_class[operand]), in_after, 0, 0)
            if found >= 0 and fits(a, need, in_after, found):
                return found
    elif opcode == op_p_parallelcopy or opcode == op_p_extract_vector or opcode == op_p_as_uniform:
        if opcode == op_p_parallelcopy:
            operand += k
        if not p.operands.flags[operand] & operand_temp \
                or class_is_vgpr(p.operands.register_class[operand]) != class_is_vgpr(need.register_class):
            return -1
        address = a.values[p.operands.data[operand]].reg
        if opcode == op_p_extract_vector:
            address += class_bytes(need.register_class) * p.operands.data[operand + 1]
        if fits(a, need, in_after, address):
            return address
    elif opcode == op_p_create_vector:
        return _vector_definition(a, i, row)
    return -1


cdef int _linear_vgpr_definition(Allocator *a, uint32_t i, DefinitionRow row) except -1 nogil:
    """Linear VGPRs sit at the end of the file, so that they never split what is left for others."""
    cdef Placement need = pseudo_placement(a.p, a.p.definitions.register_class[row])
    cdef uint32_t r
    cdef int address = find_highest(a, need, in_after)
    if address < 0 or not _linear_above(a, (address >> 2) + need.dwords):
        # right below the other linear VGPRs (counting from the end of the file)
        r = a.bound[file_vgpr]
        while r > a.first[file_vgpr]:
            if a.file.owner[view_after][r - 1] == 0 or a.file.owner[view_after][r - 1] == <uint32_t>owner_partial \
                    or a.file.owner[view_after][r - 1] == <uint32_t>owner_blocked \
                    or not class_is_linear_vgpr(class_of_value(a, a.file.owner[view_after][r - 1])):
                break
            r -= 1
        if r >= a.first[file_vgpr] + need.dwords and evict(a, r - need.dwords, r, in_after):
            address = (r - need.dwords) << 2
    if address < 0:
        address = <int>pick_any(a, need, in_after)
    return address


cdef bint _linear_above(Allocator *a, uint32_t start) noexcept nogil:
    """Whether everything from register `start` to the end of the file belongs to linear VGPRs."""
    cdef uint32_t r
    cdef TempId id
    for r in range(start, a.bound[file_vgpr]):
        id = a.file.owner[view_after][r]
        if id == 0 or id >= <uint32_t>owner_partial or not class_is_linear_vgpr(class_of_value(a, id)):
            return False
    return True


cdef int _definitions(Allocator *a, InstructionId i) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef DefinitionRow row
    cdef uint32_t k
    cdef TempId temp
    cdef uint32_t address
    cdef int found
    cdef Placement need
    for k in range(p.instructions.definition_count[i]):
        row = p.instructions.definition_first[i] + k
        if p.definitions.flags[row] & definition_fixed:
            continue
        temp = p.definitions.temp[row]
        need = definition_placement(p, i, k)
        found = -1
        if opcode == op_p_start_linear_vgpr or (p.instructions.format[i] == format_pseudo
                                                and class_is_linear_vgpr(need.register_class)
                                                and opcode != op_p_parallelcopy):
            found = _linear_vgpr_definition(a, i, row)
        elif p.instructions.format[i] == format_pseudo:
            if opcode == op_p_create_vector and a.values[web_of(a, temp)].web_reg != register_none \
                    and fits(a, need, in_after, a.values[web_of(a, temp)].web_reg):
                found = a.values[web_of(a, temp)].web_reg
            else:
                found = _pseudo_definition(a, i, k, need)
        address = <uint32_t>found if found >= 0 else pick_hinted(a, temp, need, in_after)
        if need.bytewise and need.dwords == 1 and (address & 3 or file_taken(&a.file, in_after, address & ~<uint32_t>3, 4)):
            select_subdword_definition(p, i, k, address)
        assign_definition(a, row, address, in_after, need.bytewise)
    # a later definition may have compacted an earlier one
    for k in range(p.instructions.definition_count[i]):
        row = p.instructions.definition_first[i] + k
        if p.definitions.flags[row] & definition_temp:
            p.definitions.reg[row] = a.values[p.definitions.temp[row]].reg
    return 0


# ------------------------------------------------------------------------------------------------------- one instruction
cdef uint16_t _free_sgpr(Allocator *a) noexcept nogil:
    """An SGPR that nothing uses before, during or after the instruction at hand; m0 as the last resort."""
    cdef uint64_t[2] busy
    cdef uint32_t r
    cdef uint32_t w
    cdef size_t k
    for w in range(2):
        busy[w] = a.file.busy[view_before][w] | a.file.busy[view_after][w]
    for k in range(a.moves.size()):
        if not class_is_vgpr(class_of_value(a, a.moves[k].temp)) and a.moves[k].origin < 512:
            for r in range(a.moves[k].origin >> 2, (a.moves[k].origin >> 2) + class_dwords(class_of_value(a, a.moves[k].temp))):
                busy[r >> 6] |= <uint64_t>1 << (r & 63)
    for r in range(a.limit[file_sgpr]):
        if not (busy[r >> 6] >> (r & 63)) & 1:
            if r + 1 > a.used[file_sgpr]:
                a.used[file_sgpr] = r + 1
            return <uint16_t>(r * 4)
    for w in range(3):
        r = vcc_first + w if w < 2 else register_m0 >> 2
        if not (busy[r >> 6] >> (r & 63)) & 1:
            if w < 2:
                a.p.config.uses_vcc = 1
            return <uint16_t>(r * 4)
    return register_none


cdef void _mark_scratch(Allocator *a, InstructionId i, bint scc_live) noexcept nogil:
    """Tell the lowering of a pseudo copy whether SCC must survive and which SGPR it may use."""
    cdef ProgramData *p = a.p
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef uint32_t k
    cdef bint linear = False
    cdef bint subdword = False
    for k in range(p.instructions.definition_count[i]):
        linear |= class_is_linear(p.definitions.register_class[p.instructions.definition_first[i] + k])
    for k in range(p.instructions.operand_count[i]):
        subdword |= class_is_subdword(p.operands.register_class[p.instructions.operand_first[i] + k])
    for k in range(p.instructions.definition_count[i]):
        subdword |= class_is_subdword(p.definitions.register_class[p.instructions.definition_first[i] + k])
    word = modifier_set_scratch_register(word, register_none)
    word = modifier_set_scc_live(word, scc_live)
    if (linear and scc_live) or (subdword and p.gfx_level < gfx10):
        word = modifier_set_scratch_register(word, _free_sgpr(a))
        word = modifier_set_needs_scratch(word, 1)
    p.instructions.modifiers[i] = word


cdef int _emit_moves(Allocator *a, bint scc_live) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef InstructionId copy
    cdef uint32_t rows = 0
    cdef OperandRow first
    cdef size_t k
    cdef Move move
    cdef Operand o
    cdef Definition d
    for k in range(a.moves.size()):
        rows += a.moves[k].origin != a.values[a.moves[k].temp].reg
    if rows:
        copy = instruction_new(p, op_p_parallelcopy, format_pseudo, rows, rows)
        rows = 0
        for k in range(a.moves.size()):
            move = a.moves[k]
            if move.origin == a.values[move.temp].reg:
                continue
            o = operand_of_fixed(p, move.source, move.origin)
            if move.source == move.temp:
                o.flags |= operand_kill | operand_first_kill
            d = definition_of_fixed(p, move.temp, a.values[move.temp].reg)
            first = p.instructions.operand_first[copy]
            operand_put(p, first + rows, o)
            definition_put(p, p.instructions.definition_first[copy] + rows, d)
            rows += 1
        _mark_scratch(a, copy, scc_live)
        a.out.push_back(copy)
    for k in range(a.moves.size()):
        a.values[a.moves[k].temp].move_of = 0
    a.moves.clear()
    return 0


cdef void _finish_operands(Allocator *a, InstructionId i) noexcept nogil:
    cdef ProgramData *p = a.p
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t k
    for k in range(p.instructions.operand_count[i]):
        if p.operands.flags[first + k] & operand_temp:
            p.operands.reg[first + k] = a.values[p.operands.data[first + k]].reg
            p.operands.flags[first + k] |= operand_fixed
            if p.operands.reg[first + k] & 3:
                select_subdword_operand(p, i, k, p.operands.reg[first + k])


cdef void _end_instruction(Allocator *a, InstructionId i) noexcept nogil:
    """The after view becomes the before view of what follows."""
    cdef ProgramData *p = a.p
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t k
    cdef DefinitionRow row
    cdef TempId temp
    cdef size_t t
    for k in range(p.instructions.operand_count[i]):
        if p.operands.flags[first + k] & operand_temp and p.operands.flags[first + k] & operand_first_kill:
            temp = p.operands.data[first + k]
            if class_is_linear_vgpr(class_of_value(a, temp)):
                a.linear_live -= class_dwords(class_of_value(a, temp))
            displace(a, temp)
    for t in range(a.transients.size()):
        if a.values[a.transients[t]].presence:
            displace(a, a.transients[t])
    a.transients.clear()
    for k in range(p.instructions.definition_count[i]):
        row = p.instructions.definition_first[i] + k
        temp = p.definitions.temp[row]
        if not p.definitions.flags[row] & definition_temp:
            file_put(&a.file, in_after, p.definitions.reg[row], class_bytes(p.definitions.register_class[row]), 0)
        elif p.definitions.flags[row] & definition_kill:
            displace(a, temp)
        else:
            put_value(a, temp, a.values[temp].reg, in_before)
            if class_is_linear_vgpr(class_of_value(a, temp)):
                a.linear_live += class_dwords(class_of_value(a, temp))


cdef bint _has_scratch_use(uint16_t opcode) noexcept nogil:
    return opcode == op_p_parallelcopy or opcode == op_p_create_vector or opcode == op_p_split_vector \
        or opcode == op_p_extract_vector or opcode == op_p_start_linear_vgpr


cdef int _instruction(Allocator *a, InstructionId i) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef bint scc_live
    cdef MemoryCycles memory = memory_cycles_of(p, i)
    a.instruction = i
    a.writing = writing_loaded if memory.vm or memory.lgkm else writing_computed
    a.stamp += 1
    prepare_encoding(p, i)
    scc_live = a.file.owner[view_before][register_scc >> 2] != 0
    _kill_operands(a, i)
    _fixed_operands(a, i)
    _fix_unencodable_operands(a, i)
    _tied_definition(a, i)
    _fixed_definitions(a, i)
    _definitions(a, i)
    _finish_operands(a, i)
    if a.moves.size():
        _emit_moves(a, scc_live or a.file.owner[view_before][register_scc >> 2] != 0)
    if p.instructions.format[i] == format_pseudo and _has_scratch_use(p.instructions.opcode[i]):
        _mark_scratch(a, i, a.file.owner[view_before][register_scc >> 2] != 0
                      or a.file.owner[view_after][register_scc >> 2] != 0)
    _literal_to_register(a, i)
    a.writing = writing_none
    a.out.push_back(i)
    _end_instruction(a, i)
    return 0


cdef int _literal_to_register(Allocator *a, InstructionId i) except -1 nogil:
    """VOP3 where VCC was not free; before GFX10 that encoding has no literals, so one is loaded into a register."""
    cdef ProgramData *p = a.p
    cdef bint scalar
    cdef OperandRow row
    cdef uint32_t k
    cdef TempId temp
    cdef uint32_t address
    cdef InstructionId move
    cdef Operand o
    cdef Definition d
    if not encode_for_registers(p, i):
        return 0
    row = p.instructions.operand_first[i]
    scalar = True
    for k in range(p.instructions.operand_count[i]):
        if not p.operands.flags[row + k] & operand_constant and not class_is_vgpr(p.operands.register_class[row + k]):
            scalar = False
    temp = new_value(a, class_s1 if scalar else class_v1)
    address = pick_any(a, pseudo_placement(p, class_of_value(a, temp)), in_before)
    put_value(a, temp, address, in_before)
    a.transients.push_back(temp)
    o = operand_at(p, row)
    d = definition_of_fixed(p, temp, <uint16_t>address)
    if scalar:
        move = make_1(p, op_s_mov_b32, d, o)
    else:
        move = make_1(p, op_v_mov_b32, d, o)
    a.out.push_back(move)
    o = operand_of_fixed(p, temp, <uint16_t>address)
    o.flags |= operand_kill | operand_first_kill
    operand_put(p, p.instructions.operand_first[i], o)
    return 0


# --------------------------------------------------------------------------------------------------------------- blocks
cdef int _compact_linear_vgprs(Allocator *a, uint32_t block) except -1 nogil:
    """Before control flow: bring linear VGPRs together at the end of the file, since they cannot move inside."""
    cdef uint32_t r = a.bound[file_vgpr]
    cdef TempId id
    cdef uint32_t next_free = a.bound[file_vgpr]
    cdef uint32_t dwords
    while r > a.first[file_vgpr]:
        r -= 1
        id = a.file.owner[view_after][r]
        if id == 0 or id >= <uint32_t>owner_partial or not class_is_linear_vgpr(class_of_value(a, id)):
            continue
        dwords = class_dwords(class_of_value(a, id))
        r = a.values[id].reg >> 2
        next_free -= dwords
        if r == next_free:
            continue
        record_move(a, id)
        displace(a, id)
        if evict(a, next_free, next_free + dwords, in_both):
            put_value(a, id, next_free << 2, in_both)
        else:
            put_value(a, id, r << 2, in_both)
            next_free = r
    return 0


cdef int _logical_end(Allocator *a, BlockId block, uint32_t i) except -1 nogil:
    """Copies for logical phis go in front of p_logical_end: SGPRs that they read are captured, and die, here."""
    fill_phi_operands(a, block, True, True)
    a.out.push_back(i)
    return 0


cdef int _allocate_block(Allocator *a, BlockId block) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef OrderRow first = p.blocks.order_first[block]
    cdef uint32_t count = p.blocks.order_count[block]
    cdef uint32_t phis = 0
    cdef uint32_t k
    cdef InstructionId i
    cdef uint16_t opcode
    a.out_first.push_back(<uint32_t>a.out.size())
    while phis < count and opcode_is_phi(p.instructions.opcode[p.order.instruction[first + phis]]):
        phis += 1
    enter_block(a, block, phis)
    for k in range(phis, count):
        i = p.order.instruction[first + k]
        opcode = p.instructions.opcode[i]
        if opcode == op_p_logical_end:
            _logical_end(a, block, i)
            continue
        if p.instructions.format[i] == format_pseudo_branch:
            if a.linear_may_move and a.linear_live:
                _compact_before_branch(a, block, i)
            if opcode == op_p_branch and p.instructions.definition_count[i] and _scratch_from_target(p, block):
                a.out.push_back(i)    # its definition gets a register when the target has been entered
                continue
        _instruction(a, i)
    leave_block(a, block)
    return 0


cdef int _compact_before_branch(Allocator *a, BlockId block, uint32_t i) except -1 nogil:
    cdef ProgramData *p = a.p
    cdef uint32_t k
    cdef bint enters = False
    cdef bint scc_live = a.file.owner[view_before][register_scc >> 2] != 0
    for k in range(p.blocks.linear_succ_count[block]):
        enters |= not p.blocks.kind[p.edge_lists.block[p.blocks.linear_succ_first[block] + k]] & block_top_level
    if not enters:
        return 0
    a.instruction = i
    a.stamp += 1
    _compact_linear_vgprs(a, block)
    if a.moves.size():
        _emit_moves(a, scc_live)
    return 0


cdef bint _scratch_from_target(const ProgramData *p, BlockId block) noexcept nogil:
    return p.blocks.linear_succ_count[block] == 1 \
        and not p.definitions.flags[_branch_definition(p, block)] & definition_fixed


cdef inline uint32_t _branch_definition(const ProgramData *p, BlockId block) noexcept nogil:
    return p.instructions.definition_first[
        p.order.instruction[p.blocks.order_first[block] + p.blocks.order_count[block] - 1]]


# ------------------------------------------------------------------------------------------------------------------ pass
cdef int _prepare(Allocator *a, ProgramData *p) except -1 nogil:
    cdef uint32_t temps = p.temps.table.count
    cdef uint32_t blocks = p.blocks.table.count
    cdef uint32_t lowest = min_waves(p)
    cdef uint32_t granule = p.device.vgpr_allocation_granule
    cdef uint32_t t
    if p.num_waves == 0:
        with gil:
            raise PyacoError(f"register allocation: {p.max_demand_sgpr} SGPRs and {p.max_demand_vgpr} VGPRs are live at once, "
                             "more than a wave can have; the program must be spilled first")
    a.p = p
    file_clear_all(&a.file)
    a.first[file_sgpr] = 0
    a.first[file_vgpr] = 256
    a.limit[file_sgpr] = addressable_sgprs(p, lowest)
    a.limit[file_vgpr] = 256 + min(addressable_vgprs(p, lowest), 256)
    a.free_bound[file_sgpr] = min(addressable_sgprs(p, p.num_waves), a.limit[file_sgpr])
    a.free_bound[file_vgpr] = min(256 + addressable_vgprs(p, p.num_waves), a.limit[file_vgpr])
    a.bound[file_sgpr] = min(a.free_bound[file_sgpr], <uint32_t>vcc_first)    # VCC comes last
    t = <uint32_t>p.max_demand_vgpr + spare_vgprs
    if granule > 1:
        t = (t + granule - 1) // granule * granule
    a.bound[file_vgpr] = min(256 + t, a.free_bound[file_vgpr])
    a.used[file_sgpr] = 0
    a.used[file_vgpr] = 256
    a.stamp = 0
    a.instruction = 0
    a.writing = writing_none
    memset(a.loaded, 0, sizeof(a.loaded))
    a.linear_live = 0
    live_set_init(&a.live_in, temps)
    a.values.resize(temps)
    for t in range(temps):
        a.values[t] = unplaced_value(t)
    a.exit_first.assign(blocks, 0)
    a.exit_count.assign(blocks, 0)
    a.exit_scc.assign(blocks, 0)
    a.entry_first.assign(blocks, 0)
    a.entry_count.assign(blocks, 0)
    a.branch_reg.assign(blocks, register_none)
    a.out.reserve(p.order.table.count + 64)
    a.out_first.reserve(<size_t>blocks + 1)
    a.exits.reserve(16 * <size_t>blocks + 64)
    a.entering.reserve(64)
    return 0


cdef int _allocate(Allocator *a, ProgramData *p) except -1 nogil:
    cdef BlockId b
    _prepare(a, p)
    _affinities(a)
    _destinations(a)
    find_goals(a)
    for b in range(p.blocks.table.count):
        _allocate_block(a, b)
    write_out(a)
    finish_branches(a)
    p.config.num_sgprs = sgpr_allocation(p, a.used[file_sgpr])
    p.config.num_vgprs = vgpr_allocation(p, a.used[file_vgpr] - 256)
    p.num_waves = <uint16_t>waves_of_demand(p, a.used[file_sgpr], a.used[file_vgpr] - 256)
    p.progress = progress_after_ra
    return 0


cdef int register_allocation_run(ProgramData *p) except -1 nogil:
    cdef Allocator a
    return _allocate(&a, p)


cdef int _kernel(void *ir, int option) except -1 nogil:
    register_allocation_run(<ProgramData *>ir)
    return 1


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Assign registers; liveness must be current. Returns True."""
    with nogil:
        _kernel(&program.data, 0)
    return True
