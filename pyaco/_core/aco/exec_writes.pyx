"""Writes to exec: those that nothing reads go, and compares write exec themselves.

A write to exec is dropped where exec is not live and nothing else is written. Where a mask is made in an SGPR only to become exec, what makes
it writes exec: a compare as ``v_cmpx`` (which writes the mask as well before GFX10), a scalar instruction or a constant as it is:

    vcc = v_cmp_lt a, b                  exec = v_cmpx_lt a, b
    exec = copy vcc

    s0 = v_cmp_lt a, b                   s2 = copy exec
    s1 = v_cmp_gt c, d                   exec = v_cmpx_lt a, b
    s0 = s_and s0, s1                    exec = v_cmpx_gt c, d
    s2, exec = s_and_saveexec s0, exec

The lanes that do not run have zeros in a compare's mask, so that narrowing exec by ``v_cmpx`` and replacing it are the same; where lanes are taken
out (``s_andn2 exec, s0``), the inverse compare keeps the others. The new instruction stands where exec was written, since what lies between needs
the old exec; so nothing in between may write what it reads.

Needs: registers, no phis. ACO does the first two in ``aco_ssa_elimination.cpp`` (``try_optimize_branching_sequence``), not the chain.
"""
from libc.stdint cimport uint16_t, uint32_t
from libcpp.vector cimport vector

from isa_opcodes cimport *
from isa_tables cimport opcode_constant_bits
from pyaco._core.aco.build cimport exec_definition, exec_operand, make_1
from pyaco._core.aco.optimize_facts cimport exec_compare, inverse_compare
from pyaco._core.aco.scalar_liveness cimport (
    ScalarSet, scalar_any, scalar_live_out, scalar_liveness, scalar_remove, scalar_step_back,
)
from pyaco._core.ir.program cimport *

cdef enum:
    most_distance = 16            # instructions between what makes a mask and the write to exec
    no_position = 0xffffffffU


cdef struct ExecWrite:            # an instruction that narrows or replaces exec by a mask
    uint16_t mask                 # register
    bint takes_out                # the lanes of the mask leave
    bint replaces                 # exec is the mask, whether lanes of it ran or not
    uint16_t saved                # register that gets the exec before; register_none: none


cdef cppclass ExecWrites:
    ProgramData *p
    vector[ScalarSet] live_in
    vector[InstructionId] order       # of the program, with what replaces an instruction
    vector[InstructionId] prefix      # by position: what stands in front of it, 0 none
    vector[InstructionId] prefix2     # and in front of that
    bint changed


# ------------------------------------------------------------------------------------------------------------- what an instruction does
cdef bint _writes_exec(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint32_t k
    cdef uint16_t reg
    for k in range(p.instructions.definition_count[i]):
        reg = p.definitions.reg[p.instructions.definition_first[i] + k]
        if reg == register_exec or reg == register_exec_hi:
            return True
    return False


cdef bint _is_useless(const ProgramData *p, InstructionId i, const ScalarSet *live) noexcept nogil:
    """Whether exec and other registers that are not live are all that is written, by an instruction without other effects."""
    cdef uint32_t k
    cdef DefinitionRow d
    for k in range(p.instructions.definition_count[i]):
        d = p.instructions.definition_first[i] + k
        if scalar_any(live, p.definitions.reg[d], class_bytes(p.definitions.register_class[d])) \
                or class_is_vgpr(p.definitions.register_class[d]):
            return False
    return format_is_salu(p.instructions.format[i]) or p.instructions.opcode[i] == op_p_parallelcopy


cdef inline bint _touches(uint16_t reg, uint32_t size, uint16_t other, uint32_t other_size) noexcept nogil:
    return reg < other + other_size and other < reg + size


cdef bint _reads(const ProgramData *p, InstructionId i, uint16_t reg, uint32_t size) noexcept nogil:
    cdef RowRange rows = operands_of(p, i)
    cdef uint32_t row
    for row in range(rows.first, rows.first + rows.count):
        if not p.operands.flags[row] & (operand_constant | operand_undef) \
                and _touches(p.operands.reg[row], class_bytes(p.operands.register_class[row]), reg, size):
            return True
    return False


cdef bint _writes(const ProgramData *p, InstructionId i, uint16_t reg, uint32_t size) noexcept nogil:
    cdef RowRange rows = definitions_of(p, i)
    cdef uint32_t row
    for row in range(rows.first, rows.first + rows.count):
        if _touches(p.definitions.reg[row], class_bytes(p.definitions.register_class[row]), reg, size):
            return True
    return False


cdef inline uint32_t _mask_bytes(const ProgramData *p) noexcept nogil:
    return class_bytes(p.lane_mask)


cdef bint _is_mask(const ProgramData *p, OperandRow row) noexcept nogil:
    """Whether an operand is a lane mask in SGPRs other than exec."""
    return not p.operands.flags[row] & (operand_constant | operand_undef) and p.operands.register_class[row] == p.lane_mask \
        and p.operands.reg[row] < register_exec


cdef bint _exec_write(const ProgramData *p, InstructionId i, ExecWrite *write) noexcept nogil:
    """What an instruction makes of exec, if it is one of those that a compare can replace."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef DefinitionRow d = p.instructions.definition_first[i]
    write.saved = register_none
    write.takes_out = write.replaces = False
    if opcode == op_p_parallelcopy:
        write.mask = p.operands.reg[row]
        write.replaces = True
        return p.instructions.definition_count[i] == 1 and p.definitions.reg[d] == register_exec and _is_mask(p, row)
    if opcode == op_s_and_saveexec_b32 or opcode == op_s_and_saveexec_b64:
        write.mask = p.operands.reg[row]
        write.saved = p.definitions.reg[d]
        return _is_mask(p, row)
    if p.instructions.definition_count[i] == 0 or p.definitions.reg[d] != register_exec:
        return False
    if opcode == op_s_and_b32 or opcode == op_s_and_b64:
        if _is_mask(p, row + 1):
            write.mask = p.operands.reg[row + 1]
            return p.operands.reg[row] == register_exec
        write.mask = p.operands.reg[row]
        return _is_mask(p, row) and p.operands.reg[row + 1] == register_exec
    if opcode == op_s_andn2_b32 or opcode == op_s_andn2_b64:
        write.mask = p.operands.reg[row + 1]
        write.takes_out = True
        return p.operands.reg[row] == register_exec and _is_mask(p, row + 1)
    return False


# --------------------------------------------------------------------------------------------------------------- where a mask is made
cdef uint32_t _producer(ExecWrites *c, OrderRow first, OrderRow position, uint16_t mask, OrderRow reader) noexcept nogil:
    """The position of the only instruction that makes a mask, which only the instruction at `reader` reads in front of `position`."""
    cdef ProgramData *p = c.p
    cdef OrderRow k = position
    cdef InstructionId i
    cdef DefinitionRow d
    while k > first and position - k < most_distance:
        k -= 1
        i = c.order[k]
        if i == 0:
            continue
        if _writes(p, i, mask, _mask_bytes(p)):
            d = p.instructions.definition_first[i]
            if p.definitions.reg[d] == mask and p.definitions.register_class[d] == p.lane_mask and not _writes_exec(p, i):
                return k
            return no_position
        if (k != reader and _reads(p, i, mask, _mask_bytes(p))) or _writes_exec(p, i):
            return no_position
    return no_position


cdef bint _sources_stay(ExecWrites *c, OrderRow producer, OrderRow position) noexcept nogil:
    """Whether what an instruction reads is the same at a later position of its block."""
    cdef ProgramData *p = c.p
    cdef RowRange rows = operands_of(p, c.order[producer])
    cdef uint32_t row
    cdef OrderRow k
    for row in range(rows.first, rows.first + rows.count):
        if p.operands.flags[row] & (operand_constant | operand_undef):
            continue
        for k in range(producer + 1, position):
            if c.order[k] and _writes(p, c.order[k], p.operands.reg[row], class_bytes(p.operands.register_class[row])):
                return False
    return True


# ---------------------------------------------------------------------------------------------------------------------- compares
cdef uint16_t _narrowing(ExecWrites *c, uint32_t producer, OrderRow position, bint takes_out, uint16_t saved) noexcept nogil:
    """The opcode of the compare that narrows exec at `position` in place of the one at `producer`, or op_invalid."""
    cdef ProgramData *p = c.p
    cdef InstructionId i
    cdef uint16_t opcode
    if producer == no_position:
        return op_invalid
    i = c.order[producer]
    opcode = p.instructions.opcode[i]
    if not p.instructions.format[i] & (format_vopc | format_vop3) or p.instructions.format[i] & (format_sdwa | format_dpp16 | format_dpp8) \
            or p.instructions.definition_count[i] != 1:
        return op_invalid
    if takes_out:
        opcode = inverse_compare(opcode)
    if opcode == 0xffff or exec_compare(opcode) == 0xffff:
        return op_invalid
    # Before GFX10 the mask is written as well, behind what is saved.
    if saved != register_none and (_reads(p, i, saved, _mask_bytes(p)) or (p.gfx_level < gfx10 and _writes(p, i, saved, _mask_bytes(p)))):
        return op_invalid
    return exec_compare(opcode) if _sources_stay(c, producer, position) else op_invalid


cdef uint16_t _shortest_format(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether the compare needs VOP3 still, now that no SGPR is written. Of 16 bits, the short encoding of GFX11 names half of the VGPRs."""
    cdef OperandRow row = p.instructions.operand_first[i]
    if p.instructions.modifiers[i] or (p.gfx_level >= gfx11 and opcode_constant_bits[p.instructions.opcode[i]] == 16) \
            or not class_is_vgpr(p.operands.register_class[row + 1]) \
            or p.operands.flags[row + 1] & (operand_constant | operand_undef) \
            or class_is_subdword(p.operands.register_class[row]) or class_is_subdword(p.operands.register_class[row + 1]):
        return p.instructions.format[i]
    return format_vopc


cdef InstructionId _narrow(ExecWrites *c, uint32_t producer, uint16_t opcode) except 0 nogil:
    """The compare that writes exec; the one in front goes."""
    cdef ProgramData *p = c.p
    cdef InstructionId i = c.order[producer]
    cdef Definition[2] d
    cdef Operand[3] operands
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef uint16_t format = _shortest_format(p, i) if p.gfx_level >= gfx10 else p.instructions.format[i]
    cdef uint32_t definitions = 0
    cdef uint32_t k
    cdef InstructionId made
    if p.gfx_level < gfx10:
        d[0] = definition_at(p, p.instructions.definition_first[i])
        definitions = 1
    d[definitions] = exec_definition(p)
    for k in range(count):
        operands[k] = operand_at(p, p.instructions.operand_first[i] + k)
    made = instruction_make(p, opcode, format, d, definitions + 1, operands, count)
    p.instructions.modifiers[made] = p.instructions.modifiers[i]
    c.order[producer] = 0
    return made


cdef bint _is_and(uint16_t opcode) noexcept nogil:
    return opcode == op_s_and_b32 or opcode == op_s_and_b64


cdef bint _is_dead(ExecWrites *c, const ScalarSet *live, ExecWrite *write, uint16_t mask) noexcept nogil:
    """Whether a mask is read no more behind the write to exec."""
    cdef ScalarSet behind = live[0]
    if write.saved != register_none:
        scalar_remove(&behind, write.saved, _mask_bytes(c.p))
    return not scalar_any(&behind, mask, _mask_bytes(c.p))


cdef int _put(ExecWrites *c, OrderRow position, ExecWrite *write, const ScalarSet *live, InstructionId narrowing,
              InstructionId first) except -1 nogil:
    """Write exec by compares at `position`: `first`, if there is one, and `narrowing`."""
    cdef ProgramData *p = c.p
    c.order[position] = narrowing
    c.prefix[position] = first
    if write.saved != register_none and scalar_any(live, write.saved, _mask_bytes(p)):
        c.prefix2[position] = make_1(p, op_p_parallelcopy, definition_register(write.saved, p.lane_mask), exec_operand(p))
    c.changed = True
    return 0


cdef int _by_compares(ExecWrites *c, OrderRow first, OrderRow position, const ScalarSet *live) except -1 nogil:
    """Let one compare, or the two of a conjunction, write exec in place of the instruction at `position`."""
    cdef ProgramData *p = c.p
    cdef ExecWrite write
    cdef uint32_t maker
    cdef uint32_t a
    cdef uint32_t b
    cdef uint16_t narrowing
    cdef uint16_t other
    cdef OperandRow row
    if not _exec_write(p, c.order[position], &write) or scalar_any(live, register_scc, 4) \
            or not _is_dead(c, live, &write, write.mask):
        return 0
    maker = _producer(c, first, position, write.mask, position)
    narrowing = _narrowing(c, maker, position, write.takes_out, write.saved)
    if narrowing != op_invalid:
        return _put(c, position, &write, live, _narrow(c, maker, narrowing), 0)
    if maker == no_position or write.takes_out or not _is_and(p.instructions.opcode[c.order[maker]]):
        return 0
    row = p.instructions.operand_first[c.order[maker]]
    if not _is_mask(p, row) or not _is_mask(p, row + 1) or p.operands.reg[row] == p.operands.reg[row + 1] \
            or (p.operands.reg[row] != write.mask and not _is_dead(c, live, &write, p.operands.reg[row])) \
            or (p.operands.reg[row + 1] != write.mask and not _is_dead(c, live, &write, p.operands.reg[row + 1])) \
            or not _scc_is_unread(c, maker, position):
        return 0
    if not _unread(c, maker, position, p.operands.reg[row], write.mask) \
            or not _unread(c, maker, position, p.operands.reg[row + 1], write.mask):
        return 0
    a = _producer(c, first, maker, p.operands.reg[row], maker)
    b = _producer(c, first, maker, p.operands.reg[row + 1], maker)
    narrowing = _narrowing(c, a, position, False, write.saved)
    other = _narrowing(c, b, position, False, write.saved)
    if narrowing == op_invalid or other == op_invalid:
        return 0
    c.order[maker] = 0
    return _put(c, position, &write, live, _narrow(c, a, narrowing), _narrow(c, b, other))


cdef bint _unread(ExecWrites *c, OrderRow maker, OrderRow position, uint16_t mask, uint16_t result) noexcept nogil:
    """Whether nothing between a conjunction and the write to exec reads one of its masks (its result may be in that register)."""
    cdef OrderRow k
    if mask == result:
        return True
    for k in range(maker + 1, position):
        if c.order[k] and (_reads(c.p, c.order[k], mask, _mask_bytes(c.p)) or _writes(c.p, c.order[k], mask, _mask_bytes(c.p))):
            return False
    return True


cdef bint _scc_is_unread(ExecWrites *c, OrderRow maker, OrderRow position) noexcept nogil:
    cdef OrderRow k
    for k in range(maker + 1, position):
        if c.order[k]:
            if _reads(c.p, c.order[k], register_scc, 4):
                return False
            if _writes(c.p, c.order[k], register_scc, 4):
                return True
    return True


# ----------------------------------------------------------------------------------------------------------- scalar instructions
cdef bint _may_write_exec(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether an instruction is a scalar one or a copy of one constant, as ``elect`` is where all lanes run."""
    if p.instructions.opcode[i] == op_p_parallelcopy:
        return p.instructions.operand_count[i] == 1 and p.operands.flags[p.instructions.operand_first[i]] & operand_constant != 0
    return p.instructions.format[i] == format_sop1 or p.instructions.format[i] == format_sop2


cdef int _by_scalar(ExecWrites *c, OrderRow first, OrderRow position, const ScalarSet *live) except -1 nogil:
    """Let the scalar instruction that makes a mask write exec in place of the copy at `position`."""
    cdef ProgramData *p = c.p
    cdef ExecWrite write
    cdef uint32_t maker
    cdef InstructionId i
    cdef OrderRow k
    if not _exec_write(p, c.order[position], &write) or not write.replaces or not _is_dead(c, live, &write, write.mask):
        return 0
    maker = _producer(c, first, position, write.mask, position)
    if maker == no_position:
        return 0
    i = c.order[maker]
    if not _may_write_exec(p, i) or not _sources_stay(c, maker, position):
        return 0
    for k in range(maker + 1, position):
        if c.order[k] and (_reads(p, c.order[k], register_scc, 4) or _writes(p, c.order[k], register_scc, 4)):
            return 0
    p.definitions.reg[p.instructions.definition_first[i]] = register_exec
    p.definitions.temp[p.instructions.definition_first[i]] = 0
    p.definitions.flags[p.instructions.definition_first[i]] = definition_fixed
    c.order[position] = i
    c.order[maker] = 0
    c.changed = True
    return 0


# ------------------------------------------------------------------------------------------------------------------------- driver
cdef OrderRow _first_write(const ProgramData *p, BlockId block) noexcept nogil:
    """The position of the first write to exec in a block, or the block's end."""
    cdef OrderRow position
    cdef OrderRow end = p.blocks.order_first[block] + p.blocks.order_count[block]
    for position in range(p.blocks.order_first[block], end):
        if _writes_exec(p, p.order.instruction[position]):
            return position
    return end


cdef int _block(ExecWrites *c, BlockId block) except -1 nogil:
    """Look at the writes to exec of a block, the last one first."""
    cdef ProgramData *p = c.p
    cdef OrderRow first = p.blocks.order_first[block]
    cdef OrderRow position = first + p.blocks.order_count[block]
    cdef OrderRow first_write = _first_write(p, block)
    cdef ScalarSet live
    if first_write == position:
        return 0
    live = scalar_live_out(p, &c.live_in, block)
    while position > first_write:
        position -= 1
        if c.order[position] == 0:
            continue
        if _writes_exec(p, c.order[position]):
            if _is_useless(p, c.order[position], &live):
                c.order[position] = 0
                c.changed = True
                continue
            _by_compares(c, first, position, &live)
            _by_scalar(c, first, position, &live)
        scalar_step_back(p, c.order[position], &live)
        if c.prefix[position]:
            scalar_step_back(p, c.prefix[position], &live)
        if c.prefix2[position]:
            scalar_step_back(p, c.prefix2[position], &live)
    return 0


cdef int _write(ExecWrites *c) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef Rewrite rewrite
    cdef BlockId b
    cdef OrderRow position
    rewrite_begin(&rewrite, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&rewrite, b)
        for position in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
            if c.prefix2[position]:
                rewrite_emit(&rewrite, c.prefix2[position])
            if c.prefix[position]:
                rewrite_emit(&rewrite, c.prefix[position])
            if c.order[position]:
                rewrite_emit(&rewrite, c.order[position])
    return rewrite_end(&rewrite)


cdef bint _any_write(const ProgramData *p) noexcept nogil:
    cdef OrderRow k
    for k in range(p.order.table.count):
        if _writes_exec(p, p.order.instruction[k]):
            return True
    return False


cdef int _run(ExecWrites *c) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef BlockId b
    scalar_liveness(p, &c.live_in)
    c.order.assign(p.order.instruction, p.order.instruction + p.order.table.count)
    c.prefix.assign(p.order.table.count, 0)
    c.prefix2.assign(p.order.table.count, 0)
    c.changed = False
    for b in range(p.blocks.table.count):
        _block(c, b)
    if c.changed:
        _write(c)
    return 0


cdef int exec_writes_run(ProgramData *p) except -1 nogil:
    cdef ExecWrites *c
    if not _any_write(p):
        return 0
    c = new ExecWrites()
    c.p = p
    try:
        _run(c)
    finally:
        del c
    return 0
