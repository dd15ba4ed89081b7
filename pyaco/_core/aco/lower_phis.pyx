"""Lower phis of lane masks and of scalars to linear phis.

A boolean is a lane mask in SGPRs, and SGPRs are shared by both sides of a divergent branch. So a phi of booleans cannot
choose a predecessor: the value is assembled lane by lane in the logical predecessors and passed on along the linear
CFG. Needs: dominators. Guarantees: every phi of an SGPR is a ``p_linear_phi``; VGPR phis of 1 to 3 bytes have
operands of their own class.

The value of one phi on its way is a variable that each logical predecessor assigns for its active lanes::

    value = (value & ~exec) | (incoming & exec)

and it is brought into SSA form by one forward sweep over the blocks between the one where the variable begins and the phi.
Every lane is assigned exactly once there; a variable that begins with zero lanes therefore needs ``value | (incoming & exec)``
only. Loops nested within the sweep assign nothing.

A variable begins with nothing, or else with a mask that some of the predecessors assign and that dies there: these have nothing left to do. The
result then agrees with that mask in all lanes that do not reach the phi, so that a phi around it which also keeps the mask elsewhere is the
same value: a mask that nested ifs change is merged once, and their else sides stay empty.

Source: SSA construction after Braun et al., "Simple and Efficient Construction of Static Single Assignment Form" (2013),
restricted to reducible CFGs in topological order; the merge is ACO's (``lower_phis``).
"""
from libc.stdint cimport uint16_t, uint32_t, uint8_t
from libcpp.vector cimport vector

from isa_opcodes cimport (
    op_p_extract_vector, op_p_linear_phi, op_p_logical_end, op_p_parallelcopy, op_p_phi, op_s_and_b32, op_s_and_b64,
    op_s_andn2_b32, op_s_andn2_b64, op_s_or_b32, op_s_or_b64, op_s_orn2_b32, op_s_orn2_b64,
)
from pyaco._core.aco.build cimport (
    make, make_1, make_2, make_scc_2, by_wave, exec_operand, mask_constant, new_mask, phi_resize,
)
from pyaco._core.aco.queries cimport opcode_is_phi, operand_equal
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport (
    BlockId, Definition, InstructionId, Operand, OperandRow, OrderRow, Program, ProgramData, Rewrite, TempId, block_branch, block_invert,
    block_loop_exit, block_loop_header, block_merge, block_uniform, class_bytes, class_is_subdword, class_is_vgpr, class_of_bytes, definition_of,
    operand_at, operand_c32, operand_constant, operand_of, operand_put, operand_temp, operand_undef, operand_undefined,
    rewrite_begin, rewrite_block, rewrite_emit, rewrite_end, temp_new,
)

cdef enum:
    most_steps = 16                  # dominators that are looked at from one block


cdef enum Position:
    position_front                   # among the phis
    position_after_phis
    position_before_end              # before p_logical_end

cdef struct Insertion:
    BlockId block
    InstructionId instruction
    uint32_t next                    # of the same block and position, 0xffffffff: last
    Position position


cdef struct Lists:
    uint32_t first
    uint32_t last


cdef struct MaskState:
    BlockId defined
    BlockId last_read                # phis that a sweep lowers left out
    TempId kept                      # in lanes that do not run where it is defined, it is this mask; 0: nothing is known


cdef cppclass Context:
    ProgramData *p
    vector[Insertion] insertions
    vector[Lists] lists              # three per block
    vector[Operand] out              # the variable at the end of a block
    vector[Operand] incoming         # what a logical predecessor assigns
    vector[uint8_t] assigns
    vector[uint8_t] needed
    vector[MaskState] masks          # by temp


cdef int _insert(Context *c, uint32_t block, Position position, uint32_t instruction) except -1 nogil:
    cdef Insertion item
    cdef uint32_t row = <uint32_t>c.insertions.size()
    cdef Lists *entry = &c.lists[block * 3 + <uint32_t>position]
    item.block = block
    item.position = position
    item.instruction = instruction
    item.next = 0xffffffffU
    c.insertions.push_back(item)
    if entry.first == 0xffffffffU:
        entry.first = row
    else:
        c.insertions[entry.last].next = row
    entry.last = row
    return 0


cdef inline uint32_t _linear_pred(const ProgramData *p, BlockId block, uint32_t k) noexcept nogil:
    return p.edge_lists.block[p.blocks.linear_pred_first[block] + k]


cdef inline uint32_t _logical_pred(const ProgramData *p, BlockId block, uint32_t k) noexcept nogil:
    return p.edge_lists.block[p.blocks.logical_pred_first[block] + k]


cdef int _scalar(Context *c, uint32_t block, uint16_t opcode32, uint16_t opcode64, Operand a, Operand b,
                 Operand *result) except -1 nogil:
    """A lane-mask operation before the logical end of `block`."""
    cdef TempId temp = new_mask(c.p)
    cdef Definition d = definition_of(c.p, temp)
    _insert(c, block, position_before_end, make_scc_2(c.p, by_wave(c.p, opcode32, opcode64), d, a, b, 0))
    result[0] = operand_of(c.p, temp)
    return 0


cdef int _copy_exec(Context *c, uint32_t block, Position position, Operand *result) except -1 nogil:
    cdef TempId temp = new_mask(c.p)
    cdef Definition d = definition_of(c.p, temp)
    _insert(c, block, position, make_1(c.p, op_p_parallelcopy, d, exec_operand(c.p)))
    result[0] = operand_of(c.p, temp)
    return 0


cdef inline bint _is_zero(Operand o) noexcept nogil:
    return (o.flags & operand_constant) != 0 and o.data == 0


cdef inline bint _is_ones(Operand o) noexcept nogil:
    return (o.flags & operand_constant) != 0 and o.data != 0


cdef int _merge_any(Context *c, uint32_t block, Operand before, Operand current, Operand *result) except -1 nogil:
    """Nothing is known about the lanes that are inactive here."""
    cdef Operand exec_mask = exec_operand(c.p)
    result[0] = before
    if _is_zero(current):
        if not _is_zero(before):
            _scalar(c, block, op_s_andn2_b32, op_s_andn2_b64, before, exec_mask, result)
        return 0
    if _is_ones(current):
        if not _is_ones(before):
            _scalar(c, block, op_s_or_b32, op_s_or_b64, before, exec_mask, result)
        return 0
    if _is_ones(before):
        return _scalar(c, block, op_s_orn2_b32, op_s_orn2_b64, current, exec_mask, result)
    if not _is_zero(before):
        _scalar(c, block, op_s_andn2_b32, op_s_andn2_b64, before, exec_mask, &before)
    _scalar(c, block, op_s_and_b32, op_s_and_b64, current, exec_mask, &current)
    result[0] = current
    if not _is_zero(before):
        _scalar(c, block, op_s_or_b32, op_s_or_b64, before, current, result)
    return 0


cdef int _merge_zero(Context *c, uint32_t block, Operand before, Operand current, Operand *result) except -1 nogil:
    """Lanes that have not been assigned are zero."""
    cdef Operand exec_mask = exec_operand(c.p)
    result[0] = before
    if _is_zero(current):
        return 0
    if _is_ones(current):
        if _is_zero(before):
            return _copy_exec(c, block, position_before_end, result)
        return _scalar(c, block, op_s_or_b32, op_s_or_b64, before, exec_mask, result)
    _scalar(c, block, op_s_and_b32, op_s_and_b64, current, exec_mask, &current)
    result[0] = current
    if not _is_zero(before):
        _scalar(c, block, op_s_or_b32, op_s_or_b64, before, current, result)
    return 0


cdef int _merge(Context *c, uint32_t block, Operand before, Operand current, bint zero_lanes,
                Operand *result) except -1 nogil:
    """The variable after `block` assigned `current` for its active lanes."""
    if current.flags & operand_undef or before.flags & operand_undef:
        result[0] = before if current.flags & operand_undef else current
        return 0
    if zero_lanes:
        return _merge_zero(c, block, before, current, result)
    return _merge_any(c, block, before, current, result)


cdef struct Region:
    uint32_t start                   # the variable begins at the end of this block
    uint32_t end                     # last block of the sweep
    uint32_t depth                   # loop depth of the blocks that may assign
    BlockId header                   # loop header around which the variable is carried, 0xffffffff none
    Operand begin


cdef int _at_entry(Context *c, Region *r, BlockId block, Operand *result) except -1 nogil:
    """The variable at the start of a block of the sweep, a new phi where predecessors differ."""
    cdef ProgramData *p = c.p
    cdef uint32_t count = p.blocks.linear_pred_count[block]
    cdef uint32_t k
    cdef uint32_t b
    cdef InstructionId phi
    cdef bint same = True
    cdef Operand first
    cdef Definition d
    result[0] = r.begin
    if count == 0:
        return 0
    b = _linear_pred(p, block, 0)
    first = c.out[b] if b >= r.start else r.begin
    result[0] = first
    # Within nested loops, and after them, the variable is what it was before.
    if p.blocks.loop_depth[block] > r.depth or count == 1:
        return 0
    if p.blocks.kind[block] & block_loop_exit and p.blocks.loop_depth[block] == r.depth:
        return 0
    for k in range(1, count):
        b = _linear_pred(p, block, k)
        if not operand_equal(first, c.out[b] if b >= r.start else r.begin):
            same = False
    if same:
        return 0
    d = definition_of(p, temp_new(p, first.register_class if not first.flags & operand_constant else p.lane_mask))
    phi = make(p, op_p_linear_phi, &d, 1, NULL, 0)
    phi_resize(p, phi, count)
    for k in range(count):
        b = _linear_pred(p, block, k)
        operand_put(p, p.instructions.operand_first[phi] + k, c.out[b] if b >= r.start else r.begin)
    _insert(c, block, position_front, phi)
    result[0] = operand_of(p, d.temp)
    return 0


cdef int _mark_needed(Context *c, Region *r, BlockId block) except -1 nogil:
    """Blocks from whose end the phi can be reached within the sweep; in reverse order, loops around `header` included."""
    cdef ProgramData *p = c.p
    cdef BlockId b
    cdef uint32_t k
    cdef BlockId s
    for b in range(r.start, r.end + 1):
        c.needed[b] = 0
    for k in range(p.blocks.linear_pred_count[block]):
        b = _linear_pred(p, block, k)
        if r.start <= b <= r.end:
            c.needed[b] = 1
    b = r.end + 1
    while b > r.start:
        b -= 1
        for k in range(p.blocks.linear_succ_count[b]):
            s = p.edge_lists.block[p.blocks.linear_succ_first[b] + k]
            # A back edge leads to the header of the region (carried) or of a nested loop (already decided by its other blocks).
            if s > b and s <= r.end and c.needed[s]:
                c.needed[b] = 1
            if s == r.header:
                c.needed[b] = 1
    return 0


cdef int _sweep(Context *c, Region *r, BlockId block, bint lanes, uint8_t register_class) except -1 nogil:
    """Fill ``out`` from the start of the region to its end."""
    cdef ProgramData *p = c.p
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId header_phi = 0
    cdef Operand value
    cdef Definition d
    cdef bint zero_lanes = _is_zero(r.begin)
    _mark_needed(c, r, block)
    for b in range(r.start, r.end + 1):
        if b == r.start:
            value = r.begin
        elif b == r.header:
            value = r.begin
            if p.blocks.linear_pred_count[b] > 1:
                d = definition_of(p, temp_new(p, register_class))
                header_phi = make(p, op_p_linear_phi, &d, 1, NULL, 0)
                phi_resize(p, header_phi, p.blocks.linear_pred_count[b])
                _insert(c, b, position_front, header_phi)
                value = operand_of(p, d.temp)
        elif not c.needed[b]:
            value = operand_undefined(register_class)
        else:
            _at_entry(c, r, b, &value)
        if c.assigns[b] and lanes:
            # What the variable has begun with is there still, as every lane is assigned once.
            if _keeps(c, b, value, &r.begin):
                value = c.incoming[b]
            elif not r.begin.flags & operand_temp or not operand_equal(c.incoming[b], r.begin):
                _merge(c, b, value, c.incoming[b], zero_lanes, &value)
        elif c.assigns[b] and not c.incoming[b].flags & operand_undef:
            value = c.incoming[b]
        c.out[b] = value
    if header_phi:
        for k in range(p.blocks.linear_pred_count[r.header]):
            b = _linear_pred(p, r.header, k)
            value = r.begin if b <= r.start else c.out[b]
            operand_put(p, p.instructions.operand_first[header_phi] + k, value)
    return 0


cdef bint _same_lanes(const ProgramData *p, BlockId first, BlockId block) noexcept nogil:
    """Whether the lanes that reach a block are those that reach one that dominates it, as far as they have not left for good; no, if unsure.

    A nested loop may lie between: all lanes that enter one come to the block behind it. Where the way leads into a loop, some may have left that;
    what is known of a phi there is asked for within the same loop only.
    """
    cdef BlockId before
    cdef int _step
    for _step in range(most_steps):
        if block == first:
            return True
        if p.blocks.logical_idom[block] < 0:         # out of reach: all dominate it
            return False
        before = <uint32_t>p.blocks.logical_idom[block]
        if p.blocks.kind[before] & block_branch and not p.blocks.kind[block] & block_merge:
            return False
        block = before
    return False


cdef bint _agrees(const Context *c, BlockId block, Operand value, TempId mask) noexcept nogil:
    """Whether a value at the end of a block is a mask, or is that mask in all lanes that do not run there."""
    if not value.flags & operand_temp:
        return False
    return value.data == mask or (c.masks[value.data].kept == mask and _same_lanes(c.p, c.masks[value.data].defined, block))


cdef bint _keeps(const Context *c, BlockId block, Operand before, const Operand *begin) noexcept nogil:
    """Whether what a block assigns is what the variable has begun with, and still has, in the lanes that do not run there."""
    return (begin.flags & operand_temp) != 0 and operand_equal(before, begin[0]) and _agrees(c, block, c.incoming[block], begin.data)


cdef void _begin_with_mask(Context *c, Region *r, BlockId block, InstructionId phi) noexcept nogil:
    """Begin the variable with what a predecessor assigns, where that is known when the region starts and dies in front of the phi."""
    cdef ProgramData *p = c.p
    cdef Operand value
    cdef BlockId b
    cdef BlockId last = 0            # predecessor that assigns something else
    cdef uint32_t k
    cdef TempId mask = 0
    for k in range(p.blocks.logical_pred_count[block]):
        value = c.incoming[_logical_pred(p, block, k)]
        if value.flags & operand_temp and c.masks[value.data].defined <= r.start:
            mask = value.data
            r.begin = value
    if mask == 0 or p.blocks.loop_depth[c.masks[mask].defined] != r.depth:
        r.begin = operand_undefined(p.lane_mask)
        return
    for k in range(p.blocks.logical_pred_count[block]):
        b = _logical_pred(p, block, k)
        if not operand_equal(c.incoming[b], r.begin):
            last = max(last, b)
    # Where it lives on, it would be copied on the way of the lanes that assign nothing.
    if c.masks[mask].last_read > last:
        r.begin = operand_undefined(p.lane_mask)
        return
    for b in range(r.start + 1, r.end + 1):
        for k in range(p.blocks.linear_pred_count[b]):
            if _linear_pred(p, b, k) < r.start:
                r.begin = operand_undefined(p.lane_mask)
                return
    c.masks[p.definitions.temp[p.instructions.definition_first[phi]]].kept = mask


cdef Region _region(Context *c, BlockId block, bint lanes, uint8_t register_class) noexcept nogil:
    cdef ProgramData *p = c.p
    cdef Region r
    cdef uint32_t k
    r.begin = operand_undefined(register_class)
    r.header = 0xffffffffU
    r.depth = p.blocks.loop_depth[block]
    r.end = block - 1 if block else 0
    if p.blocks.kind[block] & block_loop_header:
        # Every iteration starts from nothing.
        r.start = block
        for k in range(p.blocks.linear_pred_count[block]):
            if _linear_pred(p, block, k) > r.end:
                r.end = _linear_pred(p, block, k)
    elif p.blocks.kind[block] & block_loop_exit:
        r.depth += 1
        r.start = _logical_pred(p, block, 0)
        while r.start > 0 and p.blocks.loop_depth[r.start] >= r.depth:
            r.start -= 1
        r.header = r.start + 1
        # Lanes leave in different iterations; the variable is carried around the loop, beginning with zero.
        if lanes and p.blocks.linear_pred_count[r.header] > 1:
            r.begin = mask_constant(p, False)
    else:
        r.start = <uint32_t>p.blocks.logical_idom[block]
    return r


cdef int _lower_by_sweep(Context *c, BlockId block, InstructionId phi, bint lanes) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint8_t register_class = p.definitions.register_class[p.instructions.definition_first[phi]]
    cdef Region r = _region(c, block, lanes, register_class)
    cdef uint32_t k
    cdef uint32_t b
    cdef uint32_t count = p.blocks.linear_pred_count[block]
    cdef Operand value
    cdef Operand entering = operand_undefined(register_class)
    cdef bint is_header = (p.blocks.kind[block] & block_loop_header) != 0
    for b in range(r.start, r.end + 1):
        c.assigns[b] = 0
    for k in range(p.blocks.logical_pred_count[block]):
        b = _logical_pred(p, block, k)
        value = operand_at(p, p.instructions.operand_first[phi] + k)
        if is_header and b < block:
            entering = value
            continue
        if b < r.start or b > r.end:
            with gil:
                raise ValueError(f"BB{block}: the phi's predecessor BB{b} lies outside its region")
        c.assigns[b] = 1
        c.incoming[b] = value
    if lanes and not p.blocks.kind[block] & (block_loop_header | block_loop_exit):
        _begin_with_mask(c, &r, block, phi)
    _sweep(c, &r, block, lanes, register_class)
    phi_resize(p, phi, count)
    p.instructions.opcode[phi] = op_p_linear_phi
    for k in range(count):
        b = _linear_pred(p, block, k)
        operand_put(p, p.instructions.operand_first[phi] + k, entering if is_header and b < block else c.out[b])
    return 0


cdef bint _uniform_predecessors(const ProgramData *p, BlockId block) noexcept nogil:
    cdef uint32_t k
    if p.blocks.kind[block] & block_merge or p.blocks.linear_pred_count[block] != p.blocks.logical_pred_count[block]:
        return False
    for k in range(p.blocks.logical_pred_count[block]):
        if _logical_pred(p, block, k) != _linear_pred(p, block, k):
            return False
        if not p.blocks.kind[_logical_pred(p, block, k)] & block_uniform:
            return False
    return True


cdef int _constant_else(Context *c, BlockId invert, InstructionId phi) except -1 nogil:
    """Both sides of an if, the second constant: the whole result exists in the invert block, so that the else side can be empty."""
    cdef ProgramData *p = c.p
    cdef OperandRow first = p.instructions.operand_first[phi]
    cdef Operand then_value = operand_at(p, first)
    cdef Operand else_value = operand_at(p, first + 1)
    cdef Operand result
    cdef Definition d
    cdef InstructionId join
    if then_value.flags & operand_temp:
        d = definition_of(p, new_mask(p))
        join = make(p, op_p_linear_phi, &d, 1, NULL, 0)
        phi_resize(p, join, p.blocks.linear_pred_count[invert])
        operand_put(p, p.instructions.operand_first[join], then_value)
        _insert(c, invert, position_front, join)
        then_value = operand_of(p, d.temp)
    d = definition_of(p, new_mask(p))
    if _is_ones(then_value) and _is_zero(else_value):
        _copy_exec(c, invert, position_after_phis, &result)
    else:
        join = make_scc_2(p, by_wave(p, op_s_and_b32, op_s_and_b64) if _is_zero(else_value)
                          else by_wave(p, op_s_orn2_b32, op_s_orn2_b64), d, then_value, exec_operand(p), 0)
        _insert(c, invert, position_after_phis, join)
        result = operand_of(p, d.temp)
    p.instructions.opcode[phi] = op_p_linear_phi
    operand_put(p, first, result)
    operand_put(p, first + 1, result)
    return 0


cdef bint _has_constant_else(const ProgramData *p, BlockId block, InstructionId phi) noexcept nogil:
    cdef OperandRow first = p.instructions.operand_first[phi]
    cdef int invert = p.blocks.linear_idom[block]
    if p.instructions.operand_count[phi] != 2 or not p.blocks.kind[block] & block_merge or invert < 0:
        return False
    if p.blocks.linear_pred_count[block] != 2 or not p.blocks.kind[invert] & block_invert:
        return False
    if not p.operands.flags[first + 1] & operand_constant or p.operands.flags[first] & operand_undef:
        return False
    # The then side must end in the first linear predecessor of the invert block.
    return p.blocks.linear_pred_count[invert] == 2 and _linear_pred(p, invert, 0) == _logical_pred(p, block, 0)


cdef void _note_kept(Context *c, BlockId block, InstructionId phi) noexcept nogil:
    """Behind a uniform branch: the result agrees with a mask if all sides do."""
    cdef ProgramData *p = c.p
    cdef OperandRow first = p.instructions.operand_first[phi]
    cdef uint32_t count = p.instructions.operand_count[phi]
    cdef uint32_t k
    cdef TempId mask = 0
    for k in range(count):
        if p.operands.flags[first + k] & operand_temp and c.masks[p.operands.data[first + k]].kept:
            mask = c.masks[p.operands.data[first + k]].kept
    for k in range(count):
        if not _agrees(c, _logical_pred(p, block, k), operand_at(p, first + k), mask):
            return
    c.masks[p.definitions.temp[p.instructions.definition_first[phi]]].kept = mask


cdef int _lower_scalar(Context *c, BlockId block, InstructionId phi) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef bint lanes = p.definitions.register_class[p.instructions.definition_first[phi]] == p.lane_mask
    if _uniform_predecessors(p, block):
        p.instructions.opcode[phi] = op_p_linear_phi
        if lanes and not p.blocks.kind[block] & (block_loop_header | block_loop_exit):
            _note_kept(c, block, phi)
        return 0
    if lanes and _has_constant_else(p, block, phi):
        return _constant_else(c, <uint32_t>p.blocks.linear_idom[block], phi)
    return _lower_by_sweep(c, block, phi, lanes)


cdef int _lower_subdword(Context *c, BlockId block, InstructionId phi) except -1 nogil:
    """Scalars flowing into a phi of bytes are moved to a VGPR of that size in the predecessor."""
    cdef ProgramData *p = c.p
    cdef uint8_t register_class = p.definitions.register_class[p.instructions.definition_first[phi]]
    cdef uint32_t k
    cdef OperandRow row
    cdef uint32_t b
    cdef Operand value
    cdef Definition d
    for k in range(p.instructions.operand_count[phi]):
        value = operand_at(p, p.instructions.operand_first[phi] + k)
        if not value.flags & operand_temp or value.register_class == register_class:
            continue
        b = _logical_pred(p, block, k)
        if not class_is_vgpr(value.register_class):
            d = definition_of(p, temp_new(p, class_of_bytes(True, class_bytes(value.register_class))))
            _insert(c, b, position_before_end, make_1(p, op_p_parallelcopy, d, value))
            value = operand_of(p, d.temp)
        d = definition_of(p, temp_new(p, register_class))
        _insert(c, b, position_before_end, make_2(p, op_p_extract_vector, d, value, operand_c32(0)))
        row = p.instructions.operand_first[phi] + k
        operand_put(p, row, operand_of(p, d.temp))
    return 0


cdef int _emit_list(Context *c, Rewrite *rewrite, uint32_t block, Position position) except -1 nogil:
    cdef uint32_t row = c.lists[block * 3 + <uint32_t>position].first
    while row != 0xffffffffU:
        rewrite_emit(rewrite, c.insertions[row].instruction)
        row = c.insertions[row].next
    return 0


cdef int _write(Context *c) except -1 nogil:
    """Put the new instructions into their blocks."""
    cdef ProgramData *p = c.p
    cdef Rewrite rewrite
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    cdef uint32_t last
    cdef bint front
    rewrite_begin(&rewrite, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&rewrite, b)
        _emit_list(c, &rewrite, b, position_front)
        front = True
        last = p.blocks.order_count[b]
        for k in range(p.blocks.order_count[b]):
            if p.instructions.opcode[p.order.instruction[p.blocks.order_first[b] + k]] == op_p_logical_end:
                last = k
        # A block without a logical end (uniform helper) ends with its branch.
        if last == p.blocks.order_count[b] and last > 0:
            last -= 1
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if front and not opcode_is_phi(p.instructions.opcode[i]):
                front = False
                _emit_list(c, &rewrite, b, position_after_phis)
            if k == last:
                _emit_list(c, &rewrite, b, position_before_end)
            rewrite_emit(&rewrite, i)
    return rewrite_end(&rewrite)


cdef inline bint _is_lowered(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether a phi is of an SGPR, or of less than a dword."""
    cdef uint8_t register_class
    if p.instructions.opcode[i] != op_p_phi:
        return False
    register_class = p.definitions.register_class[p.instructions.definition_first[i]]
    return not class_is_vgpr(register_class) or class_is_subdword(register_class)


cdef bint _any(const ProgramData *p) noexcept nogil:
    """Whether there is a phi to lower."""
    cdef BlockId b
    cdef OrderRow position
    for b in range(p.blocks.table.count):
        for position in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
            if not opcode_is_phi(p.instructions.opcode[p.order.instruction[position]]):
                break
            if _is_lowered(p, p.order.instruction[position]):
                return True
    return False


cdef inline bint _by_sweep(const ProgramData *p, BlockId block, InstructionId i) noexcept nogil:
    return (p.instructions.opcode[i] == op_p_phi and p.definitions.register_class[p.instructions.definition_first[i]] == p.lane_mask
            and not p.blocks.kind[block] & (block_loop_header | block_loop_exit) and not _uniform_predecessors(p, block))


cdef int _find_masks(Context *c) except -1 nogil:
    """Where masks are defined and read."""
    cdef ProgramData *p = c.p
    cdef MaskState state
    cdef BlockId b
    cdef BlockId reads
    cdef uint32_t position
    cdef uint32_t k
    cdef InstructionId i
    cdef bint phi
    state.defined = state.last_read = 0
    state.kept = 0
    c.masks.assign(p.temps.table.count, state)
    for b in range(p.blocks.table.count):
        for position in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
            i = p.order.instruction[position]
            for k in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
                c.masks[p.definitions.temp[k]].defined = b
            if _by_sweep(p, b, i):
                continue
            phi = opcode_is_phi(p.instructions.opcode[i])
            for k in range(p.instructions.operand_count[i]):
                if p.operands.flags[p.instructions.operand_first[i] + k] & operand_temp:
                    reads = b
                    if phi:
                        reads = _linear_pred(p, b, k) if p.instructions.opcode[i] == op_p_linear_phi else _logical_pred(p, b, k)
                    c.masks[p.operands.data[p.instructions.operand_first[i] + k]].last_read = max(
                        c.masks[p.operands.data[p.instructions.operand_first[i] + k]].last_read, reads)
    return 0


cdef int lower_phis_run(ProgramData *p) except -1 nogil:
    cdef Context c
    cdef Lists none
    cdef uint32_t blocks = p.blocks.table.count
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    if not _any(p):
        return 0
    none.first = 0xffffffffU
    none.last = 0
    c.p = p
    c.lists.assign(<size_t>blocks * 3, none)
    c.out.resize(blocks)
    c.incoming.resize(blocks)
    c.assigns.assign(blocks, 0)
    c.needed.assign(blocks, 0)
    _find_masks(&c)
    for b in range(blocks):
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not opcode_is_phi(p.instructions.opcode[i]):
                break
            if not _is_lowered(p, i):
                continue
            if class_is_vgpr(p.definitions.register_class[p.instructions.definition_first[i]]):
                _lower_subdword(&c, b, i)
            else:
                _lower_scalar(&c, b, i)
    _write(&c)
    return 1


cdef int _kernel(void *ir, int option) except -1 nogil:
    return lower_phis_run(<ProgramData *>ir)


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Lower phis of lane masks and scalars. Returns whether there were any."""
    cdef bint changed
    with nogil:
        changed = _kernel(&program.data, 0)
    return changed
