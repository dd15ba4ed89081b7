"""Loop unrolling of known trip counts.

A loop is unrolled completely when its only exit is a break in an if directly in the loop's list, whose condition
compares an induction variable (a header phi that starts at a constant and grows by a constant) with a constant, and when
the copies stay small. The trip count is found by running the counter, so every comparison and wrap-around is exact.

Needs: constants folded. Guarantees: valid NIR; values of the loop that are used after it are those of the last trip.
The limits are those of Mesa's ``nir_opt_loop_unroll`` as RADV sets them: 32 trips, 26 instructions per trip on average.
"""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from nir_opcodes cimport (
    alu_iadd, alu_ieq, alu_ige, alu_ilt, alu_ine, alu_inot, alu_uge, alu_ult, intrinsic_index_count,
)

from pyaco._core.common.table cimport table_append, table_append_many
from pyaco._core.ir.shader cimport (
    NodeId, Shader, ShaderData, SourceRow, ValueId, jump_break, nir_alu, nir_intrinsic, nir_load_const, nir_phi, node_block, node_if,
    node_insert_after, node_loop, node_remove, source_swizzle, source_value, swizzle_component,
)
from pyaco._core.ir.source_lines cimport lines_inherit
from pyaco._core.nir.control_flow_edit cimport (
    ControlFlowEdit, edit_begin, edit_end, edit_jump_of, edit_merge_forward, edit_node_new, edit_resolve_phis,
)
from pyaco._core.nir.evaluate cimport evaluate_alu

cdef enum:
    max_trips = 32
    max_cost = 832                # max_trips * 26

cdef struct Exit:
    NodeId node                   # the if that holds the break
    bint break_in_then
    uint32_t trips                # how often the body before the if runs without leaving

cdef struct Copy:
    ControlFlowEdit *edit
    vector[ValueId] value         # by instruction: its copy of this trip, 0 none
    vector[NodeId] block          # by node: its copy of this trip, 0 none


# ----------------------------------------------------------------------------------------------------------------- analysis
cdef uint32_t _count_breaks_and_cost(const ControlFlowEdit *edit, NodeId node, uint32_t *cost, bint *inner_continue,
                                     bint nested) noexcept nogil:
    """Breaks of this loop in the list from `node` on; the cost of all instructions; whether it has a continue."""
    cdef ShaderData *s = edit.shader
    cdef uint32_t breaks = 0
    cdef uint32_t i
    cdef ValueId jump
    while node:
        if s.nodes.kind[node] == node_block:
            jump = edit_jump_of(edit, node)
            if jump and not nested:
                if s.instructions.opcode[jump] == jump_break:
                    breaks += 1
                else:
                    inner_continue[0] = True
            for i in range(<uint32_t>edit.contents[node].size()):
                if s.instructions.kind[edit.contents[node][i]] in (nir_alu, nir_intrinsic):
                    cost[0] += 1
        else:
            breaks += _count_breaks_and_cost(edit, s.nodes.first0[node], cost, inner_continue,
                                             nested or s.nodes.kind[node] == node_loop)
            if s.nodes.kind[node] == node_if:
                breaks += _count_breaks_and_cost(edit, s.nodes.first1[node], cost, inner_continue, nested)
        node = s.nodes.next[node]
    return breaks


cdef bint _is_lone_break(const ControlFlowEdit *edit, NodeId first) noexcept nogil:
    cdef ValueId jump = edit_jump_of(edit, first)
    return (jump and edit.shader.nodes.next[first] == 0
            and edit.shader.instructions.opcode[jump] == jump_break)


cdef bint _constant_of(const ShaderData *s, ValueId value, uint64_t swizzle, uint64_t *bits) noexcept nogil:
    if s.instructions.kind[value] != nir_load_const:
        return False
    bits[0] = s.constants.value[s.instructions.data[value] + swizzle_component(swizzle, 0)]
    return True


cdef struct Counter:
    ValueId phi
    ValueId update                # the iadd that feeds it back
    uint64_t start
    uint64_t step
    int bits


cdef bint _counter(const ControlFlowEdit *edit, NodeId loop, ValueId value, Counter *counter) noexcept nogil:
    """Whether `value` is an induction variable or its update."""
    cdef ShaderData *s = edit.shader
    cdef NodeId before = s.nodes.previous[loop]
    cdef ValueId phi = value
    cdef SourceRow first
    cdef uint32_t i
    if (s.instructions.kind[value] == nir_alu and s.instructions.opcode[value] == alu_iadd
            and s.instructions.components[value] == 1):
        phi = source_value(s, value, 0)
        if s.instructions.kind[phi] != nir_phi:
            phi = source_value(s, value, 1)
    if s.instructions.kind[phi] != nir_phi or s.instructions.components[phi] != 1:
        return False
    if s.instructions.source_count[phi] != 2:
        return False
    for i in range(<uint32_t>edit.contents[s.nodes.first0[loop]].size()):
        if edit.contents[s.nodes.first0[loop]][i] == phi:
            break
    else:
        return False
    first = s.instructions.source_first[phi]
    i = 0 if s.sources.swizzle[first] == before else 1
    counter.phi = phi
    counter.update = s.sources.value[first + 1 - i]
    counter.bits = s.instructions.bit_size[phi]
    if not _constant_of(s, s.sources.value[first + i], 0, &counter.start):
        return False
    if (s.instructions.kind[counter.update] != nir_alu or s.instructions.opcode[counter.update] != alu_iadd
            or s.instructions.components[counter.update] != 1):
        return False
    for i in range(2):
        if (source_value(s, counter.update, i) == phi
                and _constant_of(s, source_value(s, counter.update, 1 - i), source_swizzle(s, counter.update, 1 - i),
                                 &counter.step)):
            return value == phi or value == counter.update
    return False


cdef int _trips(const ControlFlowEdit *edit, NodeId loop, ValueId condition, bint leaves_when) noexcept nogil:
    """Run the counter until the condition equals `leaves_when`; -1 when it is not countable or runs too long."""
    cdef ShaderData *s = edit.shader
    cdef Counter counter
    cdef uint64_t limit
    cdef uint64_t current
    cdef uint64_t[2] values
    cdef (const uint64_t *)[2] operands
    cdef uint64_t truth
    cdef uint64_t mask
    cdef int side
    cdef int trips
    cdef int opcode
    while s.instructions.kind[condition] == nir_alu and s.instructions.opcode[condition] == alu_inot:
        condition = source_value(s, condition, 0)
        leaves_when = not leaves_when
    if s.instructions.kind[condition] != nir_alu or s.instructions.components[condition] != 1:
        return -1
    opcode = s.instructions.opcode[condition]
    if opcode not in (alu_ilt, alu_ige, alu_ult, alu_uge, alu_ieq, alu_ine):
        return -1
    for side in range(2):
        if (_counter(edit, loop, source_value(s, condition, side), &counter)
                and _constant_of(s, source_value(s, condition, 1 - side), source_swizzle(s, condition, 1 - side),
                                 &limit)):
            break
    else:
        return -1
    mask = 0xffffffffffffffffULL if counter.bits == 64 else (<uint64_t>1 << counter.bits) - 1
    current = counter.start
    if source_value(s, condition, side) == counter.update:
        current = (current + counter.step) & mask
    operands[0] = &values[0]
    operands[1] = &values[1]
    for trips in range(max_trips + 1):
        values[side] = current
        values[1 - side] = limit
        evaluate_alu(opcode, counter.bits, 1, 1, operands, &truth)
        if <bint>truth == leaves_when:
            return trips
        current = (current + counter.step) & mask
    return -1


cdef bint _find_exit(const ControlFlowEdit *edit, NodeId loop, Exit *found) noexcept nogil:
    cdef ShaderData *s = edit.shader
    cdef uint32_t cost = 0
    cdef bint has_continue = False
    cdef NodeId node = s.nodes.first0[loop]
    cdef int trips
    found.node = 0
    found.trips = 0
    found.break_in_then = False
    if _count_breaks_and_cost(edit, node, &cost, &has_continue, False) != 1 or has_continue:
        return False
    if edit_jump_of(edit, s.nodes.last0[loop]):
        return False
    while node:
        if s.nodes.kind[node] == node_if:
            found.break_in_then = _is_lone_break(edit, s.nodes.first0[node])
            if found.break_in_then or _is_lone_break(edit, s.nodes.first1[node]):
                trips = _trips(edit, loop, s.nodes.condition[node], found.break_in_then)
                found.node = node
                found.trips = <uint32_t>trips
                return trips >= 0 and cost * (<uint32_t>trips + 1) <= max_cost
        node = s.nodes.next[node]
    return False


# ------------------------------------------------------------------------------------------------------------------ copying
cdef ValueId _copy_instruction(Copy *copy, ValueId instruction) except 0 nogil:
    """A copy whose sources still name the original values."""
    cdef ShaderData *s = copy.edit.shader
    cdef uint32_t count = s.instructions.source_count[instruction]
    cdef ValueId row = table_append(&s.instructions.table)
    cdef SourceRow sources = table_append_many(&s.sources.table, count)
    cdef uint32_t indices
    cdef uint32_t i
    s.instructions.kind[row] = s.instructions.kind[instruction]
    s.instructions.components[row] = s.instructions.components[instruction]
    s.instructions.bit_size[row] = s.instructions.bit_size[instruction]
    s.instructions.opcode[row] = s.instructions.opcode[instruction]
    s.instructions.flags[row] = s.instructions.flags[instruction]
    s.instructions.data[row] = s.instructions.data[instruction]
    s.instructions.type[row] = s.instructions.type[instruction]
    s.instructions.mode[row] = s.instructions.mode[instruction]
    s.instructions.source_first[row] = sources
    s.instructions.source_count[row] = <unsigned short>count
    for i in range(count):
        s.sources.value[sources + i] = s.sources.value[s.instructions.source_first[instruction] + i]
        s.sources.swizzle[sources + i] = s.sources.swizzle[s.instructions.source_first[instruction] + i]
    if s.instructions.kind[instruction] == nir_intrinsic:
        # Indices may be edited in place later: each copy owns its own.
        i = intrinsic_index_count[s.instructions.opcode[instruction]]
        indices = table_append_many(&s.indices.table, i)
        s.instructions.data[row] = indices
        while i:
            i -= 1
            s.indices.value[indices + i] = s.indices.value[s.instructions.data[instruction] + i]
    lines_inherit(&s.lines, row, row + 1, instruction)
    return row


cdef int _copy_block(Copy *copy, NodeId original, NodeId target) except -1 nogil:
    cdef uint32_t i
    cdef ValueId instruction
    cdef ValueId duplicate
    copy.block[original] = target
    for i in range(<uint32_t>copy.edit.contents[original].size()):
        instruction = copy.edit.contents[original][i]
        duplicate = _copy_instruction(copy, instruction)
        copy.value[instruction] = duplicate
        copy.edit.contents[target].push_back(duplicate)
    return 0


cdef NodeId _copy_node(Copy *copy, NodeId original) except 0 nogil:
    """A copy of a node with all that is in it, unlinked."""
    cdef ShaderData *s = copy.edit.shader
    cdef NodeId target = edit_node_new(copy.edit, s.nodes.kind[original])
    if s.nodes.kind[original] == node_block:
        _copy_block(copy, original, target)
        return target
    _copy_list(copy, s.nodes.first0[original], s.nodes.first0[target])
    if s.nodes.kind[original] == node_if:
        s.nodes.condition[target] = s.nodes.condition[original]
        _copy_list(copy, s.nodes.first1[original], s.nodes.first1[target])
    return target


cdef NodeId _copy_list(Copy *copy, NodeId original, NodeId block) except 0 nogil:
    """Copy the siblings from a block on: the first is appended to an existing block, the others follow it. Returns the last one's copy."""
    cdef ShaderData *s = copy.edit.shader
    cdef NodeId tail = block
    cdef NodeId node
    _copy_block(copy, original, block)
    original = s.nodes.next[original]
    while original:
        node = _copy_node(copy, original)
        node_insert_after(s, node, tail)
        tail = node
        original = s.nodes.next[original]
    return tail


cdef inline ValueId _renamed(const Copy *copy, ValueId value) noexcept nogil:
    return copy.value[value] if value < copy.value.size() and copy.value[value] else value


cdef int _rename_list(Copy *copy, NodeId node) noexcept nogil:
    """Point the sources in copied siblings to the copies of this trip."""
    cdef ShaderData *s = copy.edit.shader
    cdef uint32_t i
    cdef SourceRow row
    cdef ValueId instruction
    while node:
        if s.nodes.kind[node] == node_block:
            for i in range(<uint32_t>copy.edit.contents[node].size()):
                instruction = copy.edit.contents[node][i]
                for row in range(s.instructions.source_first[instruction],
                                 s.instructions.source_first[instruction] + s.instructions.source_count[instruction]):
                    s.sources.value[row] = _renamed(copy, s.sources.value[row])
                    if s.instructions.kind[instruction] == nir_phi and s.sources.swizzle[row] < copy.block.size():
                        if copy.block[<uint32_t>s.sources.swizzle[row]]:
                            s.sources.swizzle[row] = copy.block[<uint32_t>s.sources.swizzle[row]]
        else:
            if s.nodes.kind[node] == node_if:
                s.nodes.condition[node] = _renamed(copy, s.nodes.condition[node])
                _rename_list(copy, s.nodes.first1[node])
            _rename_list(copy, s.nodes.first0[node])
        node = s.nodes.next[node]
    return 0


# ---------------------------------------------------------------------------------------------------------------- unrolling
cdef int _unroll(ControlFlowEdit *edit, NodeId loop, const Exit *found) except -1 nogil:
    """Insert `trips` copies of the body, and one of its part before the exit, before the loop; remove the loop."""
    cdef ShaderData *s = edit.shader
    cdef Copy copy
    cdef vector[ValueId] phis
    cdef NodeId header = s.nodes.first0[loop]
    cdef NodeId latch = s.nodes.last0[loop]
    cdef NodeId entry = s.nodes.previous[loop]
    cdef NodeId after = s.nodes.next[loop]
    cdef NodeId breaking = s.nodes.first0[found.node] if found.break_in_then else s.nodes.first1[found.node]
    cdef uint32_t trip
    cdef uint32_t i
    cdef NodeId tail = entry
    copy.edit = edit
    for i in range(<uint32_t>edit.contents[header].size()):
        if s.instructions.kind[edit.contents[header][i]] != nir_phi:
            break
        phis.push_back(edit.contents[header][i])
    for trip in range(found.trips + 1):
        tail = _unroll_trip(edit, loop, found, &copy, phis, header, latch, entry, trip)
    # Uses after the loop take the values of the last, partial trip.
    edit_resolve_phis(edit, after, breaking)
    _rename_outside(edit, &copy)
    node_remove(s, loop)
    # The last copy's tail and the block after the loop are neighbours now.
    edit_merge_forward(edit, tail, after)
    return 0


cdef ValueId _phi_source(const ShaderData *s, ValueId phi, uint64_t predecessor) noexcept nogil:
    cdef SourceRow first = s.instructions.source_first[phi]
    cdef uint32_t i
    for i in range(s.instructions.source_count[phi]):
        if s.sources.swizzle[first + i] == predecessor:
            return s.sources.value[first + i]
    return 0


cdef NodeId _unroll_trip(ControlFlowEdit *edit, NodeId loop, const Exit *found, Copy *copy,
                         const vector[ValueId] &phis, NodeId header, NodeId latch, NodeId entry,
                         uint32_t trip) except 0 nogil:
    """Insert one copy before the loop; returns its last block, the one right before the loop."""
    cdef ShaderData *s = edit.shader
    cdef vector[ValueId] carried
    cdef NodeId tail = s.nodes.previous[loop]
    cdef NodeId start = tail
    cdef NodeId node
    cdef NodeId node_copy
    cdef ValueId duplicate
    cdef uint32_t i
    cdef size_t mark = edit.contents[tail].size()
    # Header phis are the loop's initial values first, then what the previous trip computed.
    for i in range(<uint32_t>phis.size()):
        if trip == 0:
            carried.push_back(_phi_source(s, phis[i], entry))
        else:
            carried.push_back(_renamed(copy, _phi_source(s, phis[i], latch)))
    copy.value.assign(s.instructions.table.count, 0)
    copy.block.assign(s.nodes.table.count, 0)
    for i in range(<uint32_t>phis.size()):
        copy.value[phis[i]] = carried[i]
    # The body's first block is appended to the block before the loop.
    copy.block[header] = tail
    for i in range(<uint32_t>phis.size(), <uint32_t>edit.contents[header].size()):
        duplicate = _copy_instruction(copy, edit.contents[header][i])
        copy.value[edit.contents[header][i]] = duplicate
        edit.contents[tail].push_back(duplicate)
    node = s.nodes.next[header]
    while node:
        if node == found.node:
            if trip == found.trips:
                # The partial trip ends here, with what comes before the break.
                _copy_block(copy, s.nodes.first0[node] if found.break_in_then else s.nodes.first1[node], tail)
                edit.contents[tail].pop_back()
                break
            # The exit is not taken: its other list is appended to the tail.
            tail = _copy_list(copy, s.nodes.first1[node] if found.break_in_then else s.nodes.first0[node], tail)
            node = s.nodes.next[node]
            # Phis of the block after the if have the other list's value.
            tail = _copy_after_exit(copy, node, found, tail)
        else:
            node_copy = _copy_node(copy, node)
            node_insert_after(s, node_copy, tail)
            tail = node_copy
        node = s.nodes.next[node]
    _rename_from(copy, start, mark, loop)
    return tail


cdef NodeId _copy_after_exit(Copy *copy, NodeId block, const Exit *found, NodeId tail) except 0 nogil:
    """Append the block after the exit's if; its phis become the value from the list that does not leave."""
    cdef ShaderData *s = copy.edit.shader
    cdef NodeId stays = s.nodes.last1[found.node] if found.break_in_then else s.nodes.last0[found.node]
    cdef uint32_t i
    cdef ValueId instruction
    cdef ValueId duplicate
    copy.block[block] = tail
    for i in range(<uint32_t>copy.edit.contents[block].size()):
        instruction = copy.edit.contents[block][i]
        if s.instructions.kind[instruction] == nir_phi:
            copy.value[instruction] = _renamed(copy, _phi_source(s, instruction, stays))
            continue
        duplicate = _copy_instruction(copy, instruction)
        copy.value[instruction] = duplicate
        copy.edit.contents[tail].push_back(duplicate)
    return tail


cdef int _rename_from(Copy *copy, NodeId start, size_t mark, NodeId loop) noexcept nogil:
    """Rename the sources of what this trip inserted: from position `mark` of block `start` up to the loop."""
    cdef ShaderData *s = copy.edit.shader
    cdef NodeId following = s.nodes.next[start]
    cdef NodeId before_loop = s.nodes.previous[loop]
    cdef SourceRow row
    cdef ValueId instruction
    cdef size_t i = mark
    while i < copy.edit.contents[start].size():
        instruction = copy.edit.contents[start][i]
        for row in range(s.instructions.source_first[instruction],
                         s.instructions.source_first[instruction] + s.instructions.source_count[instruction]):
            s.sources.value[row] = _renamed(copy, s.sources.value[row])
        i += 1
    if following != loop:
        s.nodes.next[before_loop] = 0
        _rename_list(copy, following)
        s.nodes.next[before_loop] = loop
    return 0


cdef int _rename_outside(ControlFlowEdit *edit, Copy *copy) noexcept nogil:
    """Make every use of a value of the loop after it refer to the last trip's copy."""
    # Uses inside the loop are removed with it, and there are none before it: so all uses in the shader are renamed.
    _rename_list(copy, edit.shader.nodes.first0[1])
    return 0


cdef bint _unroll_in_list(ControlFlowEdit *edit, NodeId node) except -1 nogil:
    cdef ShaderData *s = edit.shader
    cdef Exit found
    while node:
        if s.nodes.kind[node] != node_block:
            if _unroll_in_list(edit, s.nodes.first0[node]):
                return True
            if s.nodes.kind[node] == node_if and _unroll_in_list(edit, s.nodes.first1[node]):
                return True
            if s.nodes.kind[node] == node_loop and _find_exit(edit, node, &found):
                _unroll(edit, node, &found)
                return True
        node = s.nodes.next[node]
    return False


cdef bint loop_unroll_run(ShaderData *s) except -1 nogil:
    cdef ControlFlowEdit edit
    cdef bint progress
    edit_begin(&edit, s)
    progress = _unroll_in_list(&edit, s.nodes.first0[1])
    if progress:
        edit_end(&edit)
    return progress


def run(Shader shader not None, options=None):
    """Unroll one innermost loop of known, small trip count; True when one was unrolled (run again after folding)."""
    cdef bint progress
    with nogil:
        progress = loop_unroll_run(&shader.data)
    return progress
