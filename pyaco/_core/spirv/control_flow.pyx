"""Functions, blocks and structured control flow of SPIR-V as NIR's tree of ifs and loops.

A *label* is a SPIR-V block at which an open construct continues: the merge block of a selection or loop, a continue target, a loop header
(back edge), the next case of a switch, a join (joins.pyx), the end of a function. A *region* is read block by block until every path has reached a
label; each path ends as an *exit*: the NIR block in which it ends and the label that it leads to. Invariant: every exit of a region falls through to
the end of the list that the region is in, so nothing has to be emitted for an exit whose label comes next.

When reading resumes at a label (`_resume`) while some exits lead to other labels:
- those that lead to the end of the innermost NIR loop become breaks;
- if a single exit leads to the label, reading resumes in that exit's block, inside the ifs around it;
- otherwise each of the others sets a flag of its label, and what follows is put in the else of an if on that flag.
At the end of a NIR loop, exits to labels outside it are treated in the same way (flag, break, an if after the loop). So there are no returns,
no continues and no continue constructs: the continue construct is read at the end of the loop body.

OpPhi becomes a Function variable: stored on each edge, loaded at the phi. Calls are inlined. Values whose definition no longer dominates a use
are repaired afterwards (repair.pyx). The rules of structured control flow: the SPIR-V specification, section 2.11.
"""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from nir_opcodes cimport *
from spirv_tables cimport *
from pyaco._core.ir.emitter cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.ir.source_lines cimport CurrentLine, line_unknown
from pyaco._core.spirv.alu cimport arithmetic, composite
from pyaco._core.spirv.cooperative_matrix cimport matrix_instruction
from pyaco._core.spirv.emission cimport *
from pyaco._core.spirv.float_controls cimport is_exact
from pyaco._core.spirv.glsl450 cimport glsl_instruction
from pyaco._core.spirv.images cimport image_instruction
from pyaco._core.spirv.joins cimport find_joins, successors_of
from pyaco._core.spirv.lines cimport line_of_source, source_line
from pyaco._core.spirv.memory cimport memory_instruction
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.subgroups cimport subgroup_instruction
from pyaco._core.spirv.types cimport *
from pyaco._core.spirv.values cimport *
from pyaco._core.spirv.workgroup_memory cimport zero_workgroup_memory

cdef enum:
    function_end = 0xffffffffU
    no_value = 0xffffffffU
    loop_control_mask_unroll = 1          # SPIR-V's Loop Control
    loop_control_mask_dont_unroll = 2
    most_cases_nested = 64                # of a switch, as ifs each in the else of the one before: a mask lives through all; of more cases ...
    cases_together = 16                   # ... so many are, and then the next in an if that follows


# --------------------------------------------------------------------------------------------------------------- labels
cdef LabelId _open_label(Reader r, BlockId block, NodeId loop) except 0 nogil:
    cdef Label label
    label.block = block
    label.flag = 0
    label.init_block = r.nir.block
    label.init_after = last_of_block(&r.nir, r.nir.block)
    label.loop = loop
    label.previous = 0
    if block != function_end:
        label.previous = r.blocks[block].label
    if r.labels.empty():
        r.labels.push_back(label)              # row 0 is none
    r.labels.push_back(label)
    if block != function_end:
        r.blocks[block].label = <uint32_t>(r.labels.size() - 1)
    return <uint32_t>(r.labels.size() - 1)


cdef void _close_label(Reader r, LabelId label) noexcept nogil:
    if r.labels[label].block != function_end:
        r.blocks[r.labels[label].block].label = r.labels[label].previous


cdef BlockId _block_of(Reader r, SpirvId id) except 0xffffffffU nogil:
    if id >= r.bound or r.kind[id] != kind_label:
        fail(r, r.word, "id %u is not a block", id)
    if r.blocks[r.payload[id]].function != r.call.function:
        fail(r, r.word, "block %u belongs to another function", id)
    return r.payload[id]


cdef int _exit_to(Reader r, LabelId label) except -1 nogil:
    """End the current path as an exit."""
    cdef Exit exit
    exit.label = label
    exit.block = r.nir.block
    exit.flagged = 0
    r.exits.push_back(exit)
    return 0


# ---------------------------------------------------------------------------------------------------------------- flags
cdef int _store_flag(Reader r, ValueId deref, NodeId block, ValueId after, bint at_end, bint value) except -1 nogil:
    cdef ValueId[2] sources
    cdef ValueId row
    sources[0] = deref
    sources[1] = r.true_value if value else r.false_value
    row = nir_intrinsic_new(r.s, intrinsic_store_deref, 0, 0, sources)
    intrinsic_set_index(r.s, row, index_write_mask, 1)
    if at_end:
        after = last_of_block(&r.nir, block)
    emit_after(&r.nir, block, after, row)
    return 0


cdef int _set_flag(Reader r, uint32_t row) except -1 nogil:
    """Set the flag of an exit's label at the exit; the exit is a row of Reader.exits."""
    cdef Exit exit = r.exits[row]
    cdef Label label
    if exit.flagged:
        return 0
    if r.true_value == 0:
        r.true_value = constant(&r.nir, 1, 1)
        r.false_value = constant(&r.nir, 0, 1)
    label = r.labels[exit.label]
    if label.flag == 0:
        label.flag = local_variable(r, r.bool_type)
        r.labels[exit.label].flag = label.flag
        _store_flag(r, label.flag, label.init_block, label.init_after, False, False)
    _store_flag(r, label.flag, exit.block, 0, True, True)
    r.exits[row].flagged = 1
    return 0


cdef int _jump(Reader r, NodeId block, int opcode) except -1 nogil:
    """End a NIR block with a jump, unless it has one."""
    cdef NodeId saved = r.nir.block
    cdef ValueId tail = last_of_block(&r.nir, block)
    if tail and r.s.instructions.kind[tail] == nir_jump:
        return 0
    r.nir.block = block
    jump(&r.nir, opcode)
    r.nir.block = saved
    return 0


cdef NodeId _new_if(Reader r, ValueId condition, NodeId *after) except 0 nogil:
    """An if after the current block, which must be the last of its list, and a block `after` it."""
    cdef NodeId node = node_new(r.s, node_if)
    after[0] = node_new(r.s, node_block)
    r.s.nodes.condition[node] = condition
    node_insert_after(r.s, node, r.nir.block)
    node_insert_after(r.s, after[0], node)
    return node


cdef NodeId _last_of_list(Reader r, NodeId node) noexcept nogil:
    while r.s.nodes.next[node]:
        node = r.s.nodes.next[node]
    return node


# --------------------------------------------------------------------------------------------------------------- resume
cdef int _branch_on_flags(Reader r, uint32_t first, bint last_is_else) except -1 nogil:
    """Ifs on the flags of the exits from row `first` on, one for each label; reading resumes in the last else.

    The exits are replaced by one for each label, in the then branch of its if. With `last_is_else` the last label gets the last else instead.
    """
    cdef vector[LabelId] labels
    cdef NodeId node
    cdef NodeId after
    cdef ValueId deref
    cdef uint32_t i
    cdef uint32_t j
    cdef Exit exit
    for i in range(first, <uint32_t>r.exits.size()):
        for j in range(<uint32_t>labels.size()):
            if labels[j] == r.exits[i].label:
                break
        else:
            labels.push_back(r.exits[i].label)
    r.exits.resize(first)
    for i in range(<uint32_t>labels.size()):
        exit.label = labels[i]
        exit.flagged = 1
        if last_is_else and i + 1 == labels.size():
            exit.block = r.nir.block
            r.exits.push_back(exit)
            return 0
        deref = r.labels[labels[i]].flag
        node = _new_if(r, intrinsic_n(&r.nir, intrinsic_load_deref, 1, 1, &deref), &after)
        exit.block = r.s.nodes.first0[node]
        r.exits.push_back(exit)
        r.nir.block = r.s.nodes.first1[node]
    return 0


cdef int _resume(Reader r, uint32_t first, LabelId label, NodeId after) except -1 nogil:
    """Resume reading at `label`, given the exits from row `first` on; returns 0 when none of them leads to it.

    `after` is the block after all that the exits came from.
    """
    cdef uint32_t i
    cdef uint32_t kept = first
    cdef uint32_t arriving = 0
    cdef NodeId arriving_block = 0
    cdef Exit exit
    for i in range(first, <uint32_t>r.exits.size()):
        exit = r.exits[i]
        if exit.label == label:
            arriving += 1
            arriving_block = exit.block
        elif r.labels[exit.label].loop and r.labels[exit.label].loop == r.current_loop:
            _jump(r, exit.block, jump_break)
            r.loop_breaks += 1
        else:
            r.exits[kept] = exit
            kept += 1
    r.exits.resize(kept)
    if arriving == 0:
        return 0
    if kept == first:
        r.nir.block = after
    elif arriving == 1:
        r.nir.block = arriving_block
    else:
        for i in range(first, kept):
            _set_flag(r, i)
        r.nir.block = after
        _branch_on_flags(r, first, False)
    return 1


# ----------------------------------------------------------------------------------------------------------------- phis
cdef uint32_t _phi_operand(Reader r, uint32_t word, SpirvId parent) except 0xffffffffU nogil:
    """Word of the operand of the OpPhi at `word` for the predecessor `parent`; 0 when there is none."""
    cdef uint32_t cursor
    for cursor in range(word + 3, word + length_at(r, word) - 1, 2):
        r.phi_steps += 1
        if r.words[cursor + 1] == parent:
            if r.phi_steps > maximum_phi_steps:
                unsupported(r, word, "phis that have too many predecessors in all")
            return cursor
    return 0


cdef ValueId _phi_deref(Reader r, uint32_t word) except 0 nogil:
    cdef SpirvId id = r.words[word + 2]
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    if r.deref_of[id] == 0:
        check_value_type(r, type)
        r.deref_of[id] = local_variable(r, type)
    return r.deref_of[id]


cdef int _store_phis(Reader r, BlockId source, BlockId target) except -1 nogil:
    """Store the operands that the phis of `target` have for `source`, in the current NIR block."""
    cdef uint32_t word = r.blocks[target].word
    cdef uint32_t cursor
    cdef TypeId type
    cdef ValueId deref
    cdef uint32_t saved = r.word
    if not r.blocks[target].has_phi:
        return 0
    while opcode_at(r, word) == OpPhi or opcode_at(r, word) == OpLine or opcode_at(r, word) == OpNoLine:
        if opcode_at(r, word) == OpPhi and length_at(r, word) > 5:
            r.word = word
            cursor = _phi_operand(r, word, r.blocks[source].id)
            if cursor == 0:
                fail(r, word, "the phi has no value for the predecessor %u", r.blocks[source].id)
            type = type_of_id(r, r.words[word + 1])
            if not same_shape(r, value_type(r, r.words[cursor]), type):
                fail(r, word, "the value %u has the wrong type", r.words[cursor])
            deref = _phi_deref(r, word)
            store_value(r, deref, stored_type(r, type), value_of(r, r.words[cursor]), 0)
        word += length_at(r, word)
    r.word = saved
    return 0


cdef int _phi(Reader r, uint32_t word) except -1 nogil:
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    cdef SpirvId id = r.words[word + 2]
    cdef ValueId deref
    if length_at(r, word) < 5:
        fail(r, word, "a phi without predecessors")
    if is_opaque(r, type):
        check_value_type(r, type)
    if length_at(r, word) == 5:                # one predecessor
        if not same_shape(r, value_type(r, r.words[word + 3]), type):
            fail(r, word, "the value has the wrong type")
        return set_value(r, id, type, value_of(r, r.words[word + 3]))
    deref = _phi_deref(r, word)
    return set_value(r, id, type, load_value(r, deref, stored_type(r, type), 0))


# ---------------------------------------------------------------------------------------------------------- instructions
cdef int _instruction(Reader r, uint32_t word) except -1 nogil:
    cdef uint32_t opcode = opcode_at(r, word)
    cdef uint32_t end = word + length_at(r, word)
    if opcode == OpLoad or opcode == OpStore:              # the most frequent; NoContraction does not matter to them
        return memory_instruction(r, word, end, opcode) - 1
    if opcode in (OpAccessChain, OpInBoundsAccessChain, OpPtrAccessChain, OpInBoundsPtrAccessChain, OpUntypedAccessChainKHR,
                  OpUntypedInBoundsAccessChainKHR, OpUntypedPtrAccessChainKHR, OpUntypedInBoundsPtrAccessChainKHR):
        return access_chain(r, word, end, opcode)
    if opcode == OpVariable:
        return function_variable(r, word, end)
    if opcode == OpPhi:
        return _phi(r, word)
    if opcode == OpFunctionCall:
        return _call(r, word, end)
    if opcode == OpExtInst or opcode == OpExtInstWithForwardRefsKHR:
        return glsl_instruction(r, word, end)
    if opcode == OpLine or opcode == OpNoLine:
        return source_line(r, word)
    if opcode == OpNop or opcode == OpAssumeTrueKHR:
        return 0
    r.nir.exact = is_exact(r, word)
    if (r.has_matrices and matrix_instruction(r, word, end, opcode)) or arithmetic(r, word, end, opcode) or \
            composite(r, word, end, opcode) or memory_instruction(r, word, end, opcode) or \
            subgroup_instruction(r, word, end, opcode) or image_instruction(r, word, end, opcode):
        r.nir.exact = False
        return 0
    return unsupported(r, word, "the instruction ", spirv_names[opcode])


cdef int _block_instructions(Reader r, BlockId block) except -1 nogil:
    """The instructions of a block up to its merge instruction or terminator."""
    cdef uint32_t word = r.blocks[block].word
    cdef uint32_t end = r.blocks[block].terminator
    if r.blocks[block].visited == r.call.serial:
        fail(r, word, "control flow is not structured: block %u is reached on two paths", r.blocks[block].id)
    r.blocks[block].visited = r.call.serial
    line_of_source(r, 0, line_unknown)            # a line holds until its block ends
    while word < end:
        if word != r.blocks[block].merge:
            r.word = word
            _instruction(r, word)
            check_size(r)
        word += length_at(r, word)
    r.word = end
    return 0


# --------------------------------------------------------------------------------------------------------------- regions
cdef int _region(Reader r, BlockId block, bint inside_header) except -1 nogil:
    """Read from `block` on until every path has ended; `inside_header` ignores that the first block is a label or begins a loop."""
    cdef BlockId target
    cdef uint32_t opcode
    cdef uint32_t word
    while True:
        if not inside_header:
            if r.blocks[block].label:
                return _exit_to(r, r.blocks[block].label)
            if r.blocks[block].merge and opcode_at(r, r.blocks[block].merge) == OpLoopMerge:
                target = _loop(r, block)
                if target == 0:
                    return 0
                block = target - 1
                continue
        inside_header = False
        _block_instructions(r, block)
        word = r.word
        opcode = opcode_at(r, word)
        if opcode == OpBranch:
            target = _block_of(r, r.words[word + 1])
            _store_phis(r, block, target)
            block = target
        elif opcode == OpBranchConditional or opcode == OpSwitch:
            target = _selection(r, block, word)
            if target == 0:
                return 0
            block = target - 1
        elif opcode == OpReturn:
            return _exit_to(r, r.call.end)
        elif opcode == OpReturnValue:
            return _return_value(r, word)
        elif opcode == OpUnreachable:
            return 0
        else:
            return unsupported(r, word, "the terminator ", spirv_names[opcode])


cdef int _return_value(Reader r, uint32_t word) except -1 nogil:
    cdef SpirvId id = r.words[word + 1]
    cdef TypeId type = type_of_id(r, r.words[r.functions[r.call.function].word + 1])
    if not same_shape(r, value_type(r, id), type):
        fail(r, word, "a value of a different type from the function's")
    r.call.return_value = value_of(r, id)
    if r.call.return_variable:
        store_value(r, r.call.return_variable, stored_type(r, type), r.call.return_value, 0)
    return _exit_to(r, r.call.end)


cdef int _enter_nested(Reader r) except -1 nogil:
    """Count a construct or call that is being read inside others."""
    r.nesting += 1
    if r.nesting > maximum_nesting:
        unsupported(r, r.word, "control flow and calls nested more than 400 deep")
    return 0


cdef uint32_t _merge_of(Reader r, BlockId block, uint32_t word) except 0xffffffffU nogil:
    """The block where a selection ends, + 1: its merge block, or without one the only target that is not a label. 0: none."""
    cdef uint32_t merge = r.blocks[block].merge
    cdef BlockId a
    cdef BlockId b
    if merge and opcode_at(r, merge) == OpSelectionMerge:
        return _block_of(r, r.words[merge + 1]) + 1
    if opcode_at(r, word) != OpBranchConditional:
        return 0
    a = _block_of(r, r.words[word + 2])
    b = _block_of(r, r.words[word + 3])
    if a != b and (r.blocks[a].label != 0) != (r.blocks[b].label != 0):
        return (b if r.blocks[a].label else a) + 1
    return a + 1 if a == b else 0


cdef int _open_joins(Reader r, BlockId block, vector[LabelId] &labels) except -1 nogil:
    """Make the joins of a block labels, those last in the order of the graph outermost, unless an open construct continues there."""
    cdef uint32_t row = r.blocks[block].first_join
    while row:
        if r.blocks[r.joins[row - 1].block].label == 0:
            labels.push_back(_open_label(r, r.joins[row - 1].block, 0))
        row = r.joins[row - 1].next
    return 0


cdef int _read_joins(Reader r, uint32_t first, NodeId start, vector[LabelId] &labels) except -1 nogil:
    """Read from each join on, given the exits from row `first` on, which came from the list of `start`."""
    cdef LabelId label
    while labels.size():
        label = labels.back()
        labels.pop_back()
        _close_label(r, label)
        if _resume(r, first, label, _last_of_list(r, start)):
            _region(r, r.labels[label].block, False)
    return 0


cdef uint32_t _selection(Reader r, BlockId block, uint32_t word) except 0xffffffffU nogil:
    """Read a conditional branch or switch up to its merge block; returns the block at which reading continues + 1, or 0."""
    cdef uint32_t first = <uint32_t>r.exits.size()
    cdef uint32_t merge = _merge_of(r, block, word)
    cdef LabelId label = 0
    cdef NodeId start = r.nir.block
    cdef NodeId after
    cdef int found = 0
    cdef vector[LabelId] joins
    _enter_nested(r)
    if merge and merge - 1 == block:
        fail(r, word, "a block that merges into itself")
    if merge:
        label = _open_label(r, merge - 1, 0)
    _open_joins(r, block, joins)
    if opcode_at(r, word) == OpSwitch:
        after = _switch(r, block, word)
    else:
        after = _conditional(r, block, word)
    if joins.size():
        _read_joins(r, first, start, joins)
        after = _last_of_list(r, start)
    if merge:
        _close_label(r, label)
        found = _resume(r, first, label, after)
    r.nesting -= 1
    return merge if found else 0


cdef NodeId _conditional(Reader r, BlockId block, uint32_t word) except 0 nogil:
    cdef ValueId condition = ssa(r, r.words[word + 1])
    cdef BlockId then_block = _block_of(r, r.words[word + 2])
    cdef BlockId else_block = _block_of(r, r.words[word + 3])
    cdef NodeId after
    cdef NodeId node
    if bits_of(r, condition) != 1 or components_of(r, condition) != 1:
        fail(r, word, "a condition that is not boolean")
    if then_block == else_block:
        _store_phis(r, block, then_block)
        node = r.nir.block
        _region(r, then_block, False)
        return _last_of_list(r, node)
    node = _new_if(r, condition, &after)
    r.nir.block = r.s.nodes.first0[node]
    _store_phis(r, block, then_block)
    _region(r, then_block, False)
    r.nir.block = r.s.nodes.first1[node]
    r.word = word
    _store_phis(r, block, else_block)
    _region(r, else_block, False)
    return after


# ----------------------------------------------------------------------------------------------------------------- loops
cdef int _exits_to_breaks(Reader r, uint32_t first, LabelId merge_label, LabelId inside, LabelId also_inside) except -1 nogil:
    """Turn the exits of a loop body into breaks, except those to the labels inside the loop.

    Exits to the merge block become breaks and are dropped; those to labels outside set their flag, break, and stay in the list.
    """
    cdef uint32_t kept = first
    cdef uint32_t i
    cdef Exit exit
    for i in range(first, <uint32_t>r.exits.size()):
        exit = r.exits[i]
        if exit.label == merge_label:
            _jump(r, exit.block, jump_break)
            r.loop_breaks += 1
            continue
        if exit.label != inside and exit.label != also_inside:
            _set_flag(r, i)
            _jump(r, exit.block, jump_break)
            exit.flagged = 1
        r.exits[kept] = exit
        kept += 1
    r.exits.resize(kept)
    return 0


cdef uint32_t _drop_exits_to(Reader r, uint32_t first, LabelId label) noexcept nogil:
    """Drop the exits from row `first` on that lead to `label`; returns how many there were."""
    cdef uint32_t kept = first
    cdef uint32_t dropped = 0
    cdef uint32_t i
    for i in range(first, <uint32_t>r.exits.size()):
        if r.exits[i].label == label:
            dropped += 1
        else:
            r.exits[kept] = r.exits[i]
            kept += 1
    r.exits.resize(kept)
    return dropped


cdef uint8_t _loop_control(uint32_t mask) noexcept nogil:
    if mask & loop_control_mask_dont_unroll:
        return loop_control_dont_unroll
    return loop_control_unroll if mask & loop_control_mask_unroll else loop_control_none


cdef uint32_t _loop(Reader r, BlockId header) except 0xffffffffU nogil:
    """Read a loop; returns its merge block + 1 when control reaches that, else 0."""
    cdef uint32_t merge_word = r.blocks[header].merge
    cdef BlockId merge = _block_of(r, r.words[merge_word + 1])
    cdef BlockId target = _block_of(r, r.words[merge_word + 2])
    cdef uint32_t first = <uint32_t>r.exits.size()
    cdef NodeId outer_loop = r.current_loop
    cdef uint32_t outer_breaks = r.loop_breaks
    cdef NodeId node = node_new(r.s, node_loop)
    cdef NodeId after = node_new(r.s, node_block)
    cdef LabelId merge_label
    cdef LabelId header_label
    cdef LabelId continue_label = 0
    cdef uint32_t breaks
    _enter_nested(r)
    r.word = merge_word
    if merge == header or merge == target:
        fail(r, merge_word, "a loop whose merge block is its header or continue target")
    r.s.nodes.control[node] = _loop_control(r.words[merge_word + 3])
    node_insert_after(r.s, node, r.nir.block)
    node_insert_after(r.s, after, node)
    merge_label = _open_label(r, merge, node)
    r.nir.block = r.s.nodes.first0[node]
    r.current_loop = node
    r.loop_breaks = 0
    header_label = _open_label(r, header, 0)
    if target != header:
        continue_label = _open_label(r, target, 0)
    _region(r, header, True)
    _exits_to_breaks(r, first, merge_label, header_label, continue_label if continue_label else header_label)
    if continue_label:
        _close_label(r, continue_label)
        if _drop_exits_to(r, first, continue_label):
            r.nir.block = _last_of_list(r, r.s.nodes.first0[node])
            _region(r, target, False)
            _exits_to_breaks(r, first, merge_label, header_label, header_label)
    _drop_exits_to(r, first, header_label)
    _close_label(r, header_label)
    _close_label(r, merge_label)
    breaks = r.loop_breaks
    r.current_loop = outer_loop
    r.loop_breaks = outer_breaks
    r.nir.block = after
    r.nesting -= 1
    if r.exits.size() > first:
        _branch_on_flags(r, first, breaks == 0)
    return merge + 1 if breaks else 0


# ---------------------------------------------------------------------------------------------------------------- switch
cdef struct Case:
    BlockId target
    ValueId matches               # whether the selector is one of its literals; 0: it has none
    uint32_t is_default
    uint32_t falls_into           # the next case + 1, 0 none
    uint32_t fallen_into          # another case falls into it


cdef int _read_cases(Reader r, uint32_t word, vector[Case] &cases) except -1 nogil:
    """The distinct targets of a switch, each with the condition for it; the default is row 0."""
    cdef ValueId selector = ssa(r, r.words[word + 1])
    cdef uint32_t end = word + length_at(r, word)
    cdef uint32_t width = bits_of(r, selector)
    cdef uint32_t step = 3 if width == 64 else 2
    cdef uint32_t cursor
    cdef BlockId target
    cdef uint32_t row
    cdef ValueId equal
    cdef uint64_t literal
    cdef Case case
    if components_of(r, selector) != 1 or width < 8 or (end - word - 3) % step:
        fail(r, word, "a selector that is not an integer, or a case without a target")
    case.target = _block_of(r, r.words[word + 2])
    case.matches = 0
    case.is_default = 1
    case.falls_into = 0
    case.fallen_into = 0
    cases.push_back(case)
    case.is_default = 0
    cursor = word + 3
    while cursor < end:
        literal = r.words[cursor]
        if width == 64:
            literal |= <uint64_t>r.words[cursor + 1] << 32
        target = _block_of(r, r.words[cursor + step - 1])
        equal = alu2(&r.nir, alu_ieq, selector, integer(r, literal, width))
        row = r.case_of_block[target] if r.case_serial[target] == r.switch_serial else 0
        if cases[0].target == target:
            row = 1
        if row == 0:
            case.target = target
            case.matches = equal
            cases.push_back(case)
            r.case_of_block[target] = <uint32_t>cases.size()
            r.case_serial[target] = r.switch_serial
        elif cases[row - 1].matches:
            cases[row - 1].matches = alu2(&r.nir, alu_ior, cases[row - 1].matches, equal)
        else:
            cases[row - 1].matches = equal
        cursor += step
    r.case_of_block[cases[0].target] = 1
    r.case_serial[cases[0].target] = r.switch_serial
    return 0


cdef int _visit_successor(Reader r, vector[BlockId] &stack, vector[Case] &cases, uint32_t from_case, SpirvId id,
                          uint32_t switch_serial) except -1 nogil:
    cdef BlockId block = _block_of(r, id)
    cdef uint32_t row
    if r.case_serial[block] == switch_serial and r.case_of_block[block]:
        row = r.case_of_block[block] - 1
        if row != from_case and r.blocks[block].label == 0:
            if cases[from_case].falls_into and cases[from_case].falls_into != row + 1:
                fail(r, r.word, "a case that falls into two others")
            if cases[row].fallen_into and cases[from_case].falls_into != row + 1:
                fail(r, r.word, "two cases that fall into one")
            cases[from_case].falls_into = row + 1
            cases[row].fallen_into = 1
        return 0
    if r.blocks[block].label or r.case_serial[block] == switch_serial:
        return 0
    r.case_serial[block] = switch_serial
    r.case_of_block[block] = 0
    stack.push_back(block)
    return 0


cdef int _find_fallthrough(Reader r, vector[Case] &cases) except -1 nogil:
    """Find which case falls into which, by a walk from the target of each that stops at labels and at other targets."""
    cdef vector[BlockId] stack
    cdef uint32_t serial = r.switch_serial
    cdef uint32_t case
    cdef BlockId block
    cdef uint32_t word
    cdef vector[SpirvId] ids
    cdef uint32_t i
    for case in range(<uint32_t>cases.size()):
        if r.blocks[cases[case].target].label:
            continue
        stack.push_back(cases[case].target)
        while stack.size():
            block = stack.back()
            stack.pop_back()
            word = r.blocks[block].terminator
            r.scan_steps += 1
            if r.scan_steps > maximum_scan_steps:
                unsupported(r, word, "switches with too many blocks")
            if r.blocks[block].merge:          # also reaches what follows constructs whose paths all leave
                _visit_successor(r, stack, cases, case, r.words[r.blocks[block].merge + 1], serial)
            ids.clear()
            successors_of(r, block, ids)
            for i in range(<uint32_t>ids.size()):
                _visit_successor(r, stack, cases, case, ids[i], serial)
    return 0


cdef ValueId _matches_any(Reader r, vector[Case] &cases, uint32_t first, uint32_t stop) except? 0xffffffffU nogil:
    """Whether the selector matches `first` or a case that control falls into from there, up to and without `stop`."""
    cdef ValueId value = 0
    while first and first != stop:
        if cases[first - 1].matches:
            value = alu2(&r.nir, alu_ior, value, cases[first - 1].matches) if value else cases[first - 1].matches
        first = cases[first - 1].falls_into
    return value


cdef int _case_chain(Reader r, BlockId block, vector[Case] &cases, uint32_t head) except -1 nogil:
    """Read cases that fall into one another, in order; each but the last is skipped when a later one is selected."""
    cdef uint32_t case = head
    cdef uint32_t following
    cdef ValueId later
    cdef LabelId label
    cdef uint32_t first
    cdef NodeId after
    cdef NodeId node
    cdef bint default_seen = False
    if not (cases[head - 1].is_default and r.blocks[cases[head - 1].target].label):      # else done before (`_switch`)
        _store_phis(r, block, cases[head - 1].target)
    while cases[case - 1].falls_into:
        following = cases[case - 1].falls_into
        first = <uint32_t>r.exits.size()
        default_seen = default_seen or cases[case - 1].is_default
        if default_seen:
            later = _matches_any(r, cases, following, 0)
        else:
            later = alu1(&r.nir, alu_inot, _matches_any(r, cases, head, following))
        label = _open_label(r, cases[following - 1].target, 0)
        if later:
            node = _new_if(r, later, &after)
            r.nir.block = r.s.nodes.first0[node]
            _store_phis(r, block, cases[following - 1].target)
            _exit_to(r, label)
            r.nir.block = r.s.nodes.first1[node]
            _region(r, cases[case - 1].target, False)
        else:
            node = r.nir.block
            _region(r, cases[case - 1].target, False)
            after = _last_of_list(r, node)
        _close_label(r, label)
        if not _resume(r, first, label, after):
            return 0
        case = following
    return _region(r, cases[case - 1].target, False)


cdef NodeId _unless_matched(Reader r, vector[Case] &cases, uint32_t case, uint32_t default_head, ValueId *still) except 0 nogil:
    """Begin an if for the next `cases_together` groups of cases, from row `case` on, where none before has matched; returns the block after it."""
    cdef NodeId after = r.nir.block
    cdef NodeId node
    cdef ValueId matched = 0
    cdef ValueId matches
    cdef uint32_t groups = 0
    if still[0]:
        node = _new_if(r, intrinsic_n(&r.nir, intrinsic_load_deref, 1, 1, still), &after)
        r.nir.block = r.s.nodes.first0[node]
    else:
        still[0] = local_variable(r, r.bool_type)
    while case < cases.size() and groups < cases_together:
        if not (cases[case].fallen_into or case + 1 == default_head):
            matches = _matches_any(r, cases, case + 1, 0)
            matched = alu2(&r.nir, alu_ior, matched, matches) if matched else matches
            groups += 1
        case += 1
    store_value(r, still[0], r.bool_type, alu1(&r.nir, alu_inot, matched), 0)
    return after


cdef NodeId _switch(Reader r, BlockId block, uint32_t word) except 0 nogil:
    """Read a switch as chains of ifs, one for each group of cases that fall into one another; the group with the default comes last."""
    cdef vector[Case] cases
    cdef uint32_t i
    cdef uint32_t head = 0
    cdef uint32_t default_head = 1
    cdef uint32_t groups = 0
    cdef bint together
    cdef ValueId still = 0
    cdef NodeId node
    cdef NodeId after
    cdef NodeId end = r.nir.block              # of the list, or a little before
    r.switch_serials += 1
    r.switch_serial = r.switch_serials
    if r.case_serial.size() < r.blocks.size():
        r.case_serial.resize(r.blocks.size())
        r.case_of_block.resize(r.blocks.size())
    _read_cases(r, word, cases)
    if cases.size() > 1:
        _find_fallthrough(r, cases)
    for i in range(<uint32_t>cases.size()):        # find the group of the default
        if not cases[i].fallen_into:
            head = i + 1
            while head:
                if cases[head - 1].is_default:
                    default_head = i + 1
                head = cases[head - 1].falls_into
    if cases[default_head - 1].fallen_into:
        fail(r, word, "cases that fall into one another in a cycle")
    if cases[default_head - 1].is_default and r.blocks[cases[0].target].label:
        # Every other way to the label stores its own values: the default's list stays empty (`opt_exclusive_ifs`).
        _store_phis(r, block, cases[0].target)
    together = cases.size() > most_cases_nested
    for i in range(<uint32_t>cases.size()):
        if cases[i].fallen_into or i + 1 == default_head:
            continue
        if together and groups % cases_together == 0:
            r.nir.block = end = _last_of_list(r, end)
            end = _unless_matched(r, cases, i, default_head, &still)
        groups += 1
        node = _new_if(r, _matches_any(r, cases, i + 1, 0), &after)
        r.nir.block = r.s.nodes.first0[node]
        _case_chain(r, block, cases, i + 1)
        r.nir.block = r.s.nodes.first1[node]
        r.word = word
    _case_chain(r, block, cases, default_head)
    return _last_of_list(r, end)


# ------------------------------------------------------------------------------------------------------------- functions
cdef int _bind_parameters(Reader r, FunctionId function, uint32_t word, uint32_t end) except -1 nogil:
    cdef Function row = r.functions[function]
    cdef uint32_t i
    cdef SpirvId argument
    cdef SpirvId parameter
    if end - word - 4 != row.parameter_count:
        fail(r, word, "%u arguments do not match the function", end - word - 4)
    for i in range(row.parameter_count):
        argument = r.words[word + 4 + i]
        parameter = r.parameters[row.first_parameter + i]
        if not same_shape(r, value_type(r, argument), value_type(r, parameter)):
            fail(r, word, "argument %u has a different type from the parameter", argument)
        if r.kind[argument] == kind_variable:
            module_variable(r, argument)
        if r.kind[argument] != kind_buffer and r.kind[argument] != kind_builtin:
            value_of(r, argument)              # raises an error for ids without a value
        r.kind[parameter] = r.kind[argument]
        r.payload[parameter] = r.payload[argument]
    return 0


cdef int _begin_call(Reader r, FunctionId function) except -1 nogil:
    find_joins(r, function)
    r.functions[function].active = 1
    r.calls += 1
    r.call.serial = r.calls
    r.call.function = function
    r.call.end = 0
    r.call.return_variable = 0
    r.call.return_value = no_value
    return 0


cdef int _call(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    """Inline the called function."""
    cdef SpirvId id = r.words[word + 3]
    cdef TypeId type = type_of_id(r, r.words[word + 1])
    cdef Call caller = r.call
    cdef Call call
    cdef NodeId start = r.nir.block
    cdef uint32_t first = <uint32_t>r.exits.size()
    cdef FunctionId function
    cdef AnyValue value
    cdef bint has_value = r.s.types.base[type] != type_void
    cdef CurrentLine line = r.line
    if r.kind[id] != kind_function:
        fail(r, word, "id %u is not a function", id)
    function = r.payload[id]
    if r.functions[function].active:
        fail(r, word, "recursion: function %u calls itself", id)
    if r.functions[function].block_count == 0:
        unsupported(r, word, "a call of a function without a body")
    if type_of_id(r, r.words[r.functions[function].word + 1]) != type:
        fail(r, word, "the result has a different type from the function's")
    _enter_nested(r)
    _bind_parameters(r, function, word, end)
    _begin_call(r, function)
    if has_value and r.functions[function].return_values > 1:
        check_value_type(r, type)
        r.call.return_variable = local_variable(r, type)
    r.call.end = _open_label(r, function_end, 0)
    _region(r, r.functions[function].first_block, False)
    r.functions[function].active = 0
    call = r.call
    r.call = caller
    r.word = word
    line_of_source(r, line.file, line.line)
    if not _resume(r, first, call.end, _last_of_list(r, start)):
        r.nir.block = _last_of_list(r, start)      # the function never returns; what follows is unreachable
        value = undefined_value(r, type) if has_value else 0
    elif call.return_variable:
        value = load_value(r, call.return_variable, stored_type(r, type), 0)
    else:
        value = call.return_value
    if has_value and value == no_value:
        fail(r, word, "a function that returns without a value")
    r.nesting -= 1
    if not has_value:
        r.kind[r.words[word + 2]] = kind_void
        return 0
    return set_value(r, r.words[word + 2], type, value)


cdef int read_entry(Reader r, FunctionId function) except -1 nogil:
    if r.functions[function].block_count == 0:
        fail(r, r.functions[function].word, "an entry point without a body")
    if r.functions[function].parameter_count:
        fail(r, r.functions[function].word, "an entry point with parameters")
    r.nir.block = r.s.nodes.first0[1]
    _begin_call(r, function)
    r.call.end = _open_label(r, function_end, 0)
    _region(r, r.functions[function].first_block, False)
    return zero_workgroup_memory(r)
