"""Functions, blocks and structured control flow of SPIR-V as NIR's tree of ifs and loops.

A *label* is a SPIR-V block that an open construct knows as the place where control goes on: the merge block of a
selection or loop, a continue target, a loop header (back edge), the next case of a switch, the end of a function. A
*region* is read block by block until every path has reached a label; each such path leaves an *exit*: the NIR block in
which it ends and the label it wants. Invariant: every exit of a region falls through to the end of the list in which the
region stands, so that nothing has to be emitted for an exit whose label is what follows.

When reading goes on at a label (`_resume`) and other exits are still on their way elsewhere:
- those that want the end of the innermost NIR loop become breaks;
- if a single exit wants the label, reading goes on inside that exit's block, past the ifs around it;
- otherwise the others set a flag of their label, and what follows stands in the else of an if on that flag.
The end of a NIR loop treats exits to farther labels the same way (flag, break, if behind the loop). So there are no
returns, no continues and no continue constructs: the continue construct is read at the end of the loop body.

OpPhi is a Function variable: stored on each edge, loaded at the phi. Calls are read in place. Values that end up used
where their definition no longer dominates are repaired afterwards (repair.pyx). Rules of structure: the SPIR-V
specification, section 2.11.
"""
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset
from libcpp.vector cimport vector

from nir_opcodes cimport *
from spirv_tables cimport *
from pyaco._core.ir.emitter cimport *
from pyaco._core.ir.shader cimport *
from pyaco._core.spirv.alu cimport arithmetic, composite
from pyaco._core.spirv.emission cimport *
from pyaco._core.spirv.glsl450 cimport glsl_instruction
from pyaco._core.spirv.memory cimport memory_instruction
from pyaco._core.spirv.module cimport *
from pyaco._core.spirv.subgroups cimport subgroup_instruction
from pyaco._core.spirv.types cimport *
from pyaco._core.spirv.values cimport *

cdef enum:
    function_end = 0xffffffffU
    no_value = 0xffffffffU
    maximum_phi_steps = 20000000
    maximum_scan_steps = 20000000


# --------------------------------------------------------------------------------------------------------------- labels
cdef uint32_t _open_label(Reader r, uint32_t block, uint32_t loop) except 0 nogil:
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
        r.labels.push_back(label)              # row 0 means "none"
    r.labels.push_back(label)
    if block != function_end:
        r.blocks[block].label = <uint32_t>(r.labels.size() - 1)
    return <uint32_t>(r.labels.size() - 1)


cdef void _close_label(Reader r, uint32_t label) noexcept nogil:
    if r.labels[label].block != function_end:
        r.blocks[r.labels[label].block].label = r.labels[label].previous


cdef uint32_t _block_row(Reader r, uint32_t id) except 0xffffffffU nogil:
    if id >= r.bound or r.kind[id] != kind_label:
        fail(r, r.word, "id %u is not a block", id)
    if r.blocks[r.payload[id]].function != r.function:
        fail(r, r.word, "block %u belongs to another function", id)
    return r.payload[id]


cdef int _leave(Reader r, uint32_t label) except -1 nogil:
    cdef Exit exit
    exit.label = label
    exit.block = r.nir.block
    exit.flagged = 0
    r.exits.push_back(exit)
    return 0


# ---------------------------------------------------------------------------------------------------------------- flags
cdef int _store_flag(Reader r, uint32_t deref, uint32_t block, uint32_t after, bint at_end, bint value) except -1 nogil:
    cdef uint32_t[2] sources
    cdef uint32_t row
    sources[0] = deref
    sources[1] = r.true_value if value else r.false_value
    row = nir_intrinsic_new(r.s, intrinsic_store_deref, 0, 0, sources)
    intrinsic_set_index(r.s, row, index_write_mask, 1)
    if at_end:
        after = last_of_block(&r.nir, block)
    emit_after(&r.nir, block, after, row)
    return 0


cdef int _set_flag(Reader r, uint32_t place) except -1 nogil:
    """Make the exit in row `place` tell its label through the label's flag."""
    cdef Exit exit = r.exits[place]
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
    r.exits[place].flagged = 1
    return 0


cdef int _jump(Reader r, uint32_t block, int opcode) except -1 nogil:
    """End a NIR block with a jump, once."""
    cdef uint32_t saved = r.nir.block
    cdef uint32_t tail = last_of_block(&r.nir, block)
    if tail and r.s.instructions.kind[tail] == nir_jump:
        return 0
    r.nir.block = block
    jump(&r.nir, opcode)
    r.nir.block = saved
    return 0


cdef uint32_t _new_if(Reader r, uint32_t condition, uint32_t *after) except 0 nogil:
    """An if behind the current block, which must be the last of its list."""
    cdef uint32_t node = node_new(r.s, node_if)
    after[0] = node_new(r.s, node_block)
    r.s.nodes.condition[node] = condition
    node_insert_after(r.s, node, r.nir.block)
    node_insert_after(r.s, after[0], node)
    return node


cdef uint32_t _last_of_list(Reader r, uint32_t node) noexcept nogil:
    while r.s.nodes.next[node]:
        node = r.s.nodes.next[node]
    return node


# --------------------------------------------------------------------------------------------------------------- resume
cdef int _branch_on_flags(Reader r, uint32_t first, bint last_is_else) except -1 nogil:
    """Ifs on the flags of the exits from row `first` on, one per label; reading goes on in the last else.

    The exits are replaced by one per label, in the then of its if. With `last_is_else` the last label needs no test.
    """
    cdef vector[uint32_t] wanted
    cdef uint32_t node
    cdef uint32_t after
    cdef uint32_t deref
    cdef uint32_t i
    cdef uint32_t j
    cdef Exit exit
    for i in range(first, <uint32_t>r.exits.size()):
        for j in range(<uint32_t>wanted.size()):
            if wanted[j] == r.exits[i].label:
                break
        else:
            wanted.push_back(r.exits[i].label)
    r.exits.resize(first)
    for i in range(<uint32_t>wanted.size()):
        exit.label = wanted[i]
        exit.flagged = 1
        if last_is_else and i + 1 == wanted.size():
            exit.block = r.nir.block
            r.exits.push_back(exit)
            return 0
        deref = r.labels[wanted[i]].flag
        node = intrinsic_n(&r.nir, intrinsic_load_deref, 1, 1, &deref)
        node = _new_if(r, node, &after)
        exit.block = r.s.nodes.first0[node]
        r.exits.push_back(exit)
        r.nir.block = r.s.nodes.first1[node]
    return 0


cdef int _resume(Reader r, uint32_t first, uint32_t label, uint32_t after) except -1 nogil:
    """Go on at `label` with the exits from row `first` on; 0 when none of them wants it.

    `after` is the block behind everything that the exits came from.
    """
    cdef uint32_t i
    cdef uint32_t kept = first
    cdef uint32_t wanting = 0
    cdef uint32_t wanting_block = 0
    cdef Exit exit
    for i in range(first, <uint32_t>r.exits.size()):
        exit = r.exits[i]
        if exit.label == label:
            wanting += 1
            wanting_block = exit.block
        elif r.labels[exit.label].loop and r.labels[exit.label].loop == r.current_loop:
            _jump(r, exit.block, jump_break)
            r.loop_breaks += 1
        else:
            r.exits[kept] = exit
            kept += 1
    r.exits.resize(kept)
    if wanting == 0:
        return 0
    if kept == first:
        r.nir.block = after
    elif wanting == 1:
        r.nir.block = wanting_block
    else:
        for i in range(first, kept):
            _set_flag(r, i)
        r.nir.block = after
        _branch_on_flags(r, first, False)
    return 1


# ----------------------------------------------------------------------------------------------------------------- phis
cdef uint32_t _phi_pair(Reader r, uint32_t word, uint32_t parent) except 0xffffffffU nogil:
    """Word of the value that OpPhi at `word` takes from the block with id `parent`; 0 when there is none."""
    cdef uint32_t place
    for place in range(word + 3, word + length_at(r, word) - 1, 2):
        r.phi_steps += 1
        if r.words[place + 1] == parent:
            if r.phi_steps > maximum_phi_steps:
                unsupported(r, word, "phis of too many predecessors")
            return place
    return 0


cdef uint32_t _phi_deref(Reader r, uint32_t word) except 0 nogil:
    cdef uint32_t id = r.words[word + 2]
    cdef uint32_t type = type_row(r, r.words[word + 1])
    if r.phi_variable[id] == 0:
        check_value_type(r, type)
        r.phi_variable[id] = local_variable(r, type)
    return r.phi_variable[id]


cdef int _edge(Reader r, uint32_t source, uint32_t target) except -1 nogil:
    """Store what the phis of `target` take from `source`, in the current NIR block."""
    cdef uint32_t word = r.blocks[target].word
    cdef uint32_t place
    cdef uint32_t type
    cdef uint32_t deref
    cdef uint32_t saved = r.word
    if not r.blocks[target].has_phi:
        return 0
    while opcode_at(r, word) == OpPhi or opcode_at(r, word) == OpLine or opcode_at(r, word) == OpNoLine:
        if opcode_at(r, word) == OpPhi and length_at(r, word) > 5:
            r.word = word
            place = _phi_pair(r, word, r.blocks[source].id)
            if place == 0:
                fail(r, word, "no value for the predecessor %u", r.blocks[source].id)
            type = type_row(r, r.words[word + 1])
            if not same_shape(r, value_type(r, r.words[place]), type):
                fail(r, word, "the value %u has another type", r.words[place])
            deref = _phi_deref(r, word)
            store_value(r, deref, stored_type(r, type), value_of(r, r.words[place]), 0)
        word += length_at(r, word)
    r.word = saved
    return 0


cdef int _phi(Reader r, uint32_t word) except -1 nogil:
    cdef uint32_t type = type_row(r, r.words[word + 1])
    cdef uint32_t id = r.words[word + 2]
    cdef uint32_t deref
    if length_at(r, word) < 5:
        fail(r, word, "a phi without predecessors")
    if length_at(r, word) == 5:                # one predecessor: the value itself
        if not same_shape(r, value_type(r, r.words[word + 3]), type):
            fail(r, word, "the value has another type")
        return set_value(r, id, type, value_of(r, r.words[word + 3]))
    deref = _phi_deref(r, word)
    return set_value(r, id, type, load_value(r, deref, stored_type(r, type), 0))


# ---------------------------------------------------------------------------------------------------------- instructions
cdef int _instruction(Reader r, uint32_t word) except -1 nogil:
    cdef uint32_t opcode = opcode_at(r, word)
    cdef uint32_t end = word + length_at(r, word)
    if opcode == OpLoad or opcode == OpStore:              # the most frequent, and without flags of arithmetic
        return memory_instruction(r, word, end, opcode) - 1
    if opcode == OpAccessChain or opcode == OpInBoundsAccessChain:
        return access_chain(r, word, end, False)
    if opcode == OpPtrAccessChain or opcode == OpInBoundsPtrAccessChain:
        return access_chain(r, word, end, True)
    if opcode == OpVariable:
        return function_variable(r, word, end)
    if opcode == OpPhi:
        return _phi(r, word)
    if opcode == OpFunctionCall:
        return _call(r, word, end)
    if opcode == OpExtInst or opcode == OpExtInstWithForwardRefsKHR:
        return glsl_instruction(r, word, end)
    if opcode == OpLine or opcode == OpNoLine or opcode == OpNop or opcode == OpAssumeTrueKHR:
        return 0
    r.nir.exact = False
    if spirv_shapes[opcode][0] == c'T' and r.decorations[r.words[word + 2]]:
        r.nir.exact = decoration_of(r, r.words[word + 2], no_member, Decoration_NoContraction) != 0
    if arithmetic(r, word, end, opcode) or composite(r, word, end, opcode) or memory_instruction(r, word, end, opcode) or \
            subgroup_instruction(r, word, end, opcode):
        r.nir.exact = False
        return 0
    return unsupported(r, word, "the instruction ", spirv_names[opcode])


cdef int _body(Reader r, uint32_t block) except -1 nogil:
    """The instructions of a block up to its merge instruction or terminator."""
    cdef uint32_t word = r.blocks[block].word
    cdef uint32_t end = r.blocks[block].terminator
    if r.blocks[block].visited == r.serial:
        fail(r, word, "control flow is not structured: block %u is reached on two ways", r.blocks[block].id)
    r.blocks[block].visited = r.serial
    while word < end:
        if word != r.blocks[block].merge:
            r.word = word
            _instruction(r, word)
            check_size(r)
        word += length_at(r, word)
    r.word = end
    return 0


# --------------------------------------------------------------------------------------------------------------- regions
cdef int _region(Reader r, uint32_t block, bint inside_header) except -1 nogil:
    """Read from `block` on until every path has left an exit; `inside_header` skips the label of the first block."""
    cdef uint32_t target
    cdef uint32_t opcode
    cdef uint32_t word
    while True:
        if not inside_header:
            if r.blocks[block].label:
                return _leave(r, r.blocks[block].label)
            if r.blocks[block].merge and opcode_at(r, r.blocks[block].merge) == OpLoopMerge:
                target = _loop(r, block)
                if target == 0:
                    return 0
                block = target - 1
                continue
        inside_header = False
        _body(r, block)
        word = r.word
        opcode = opcode_at(r, word)
        if opcode == OpBranch:
            target = _block_row(r, r.words[word + 1])
            _edge(r, block, target)
            block = target
        elif opcode == OpBranchConditional or opcode == OpSwitch:
            target = _selection(r, block, word)
            if target == 0:
                return 0
            block = target - 1
        elif opcode == OpReturn:
            return _leave(r, r.function_label)
        elif opcode == OpReturnValue:
            return _return_value(r, word)
        elif opcode == OpUnreachable:
            return 0
        else:
            return unsupported(r, word, "the terminator ", spirv_names[opcode])


cdef int _return_value(Reader r, uint32_t word) except -1 nogil:
    cdef uint32_t id = r.words[word + 1]
    cdef uint32_t type = type_row(r, r.words[r.functions[r.function].word + 1])
    if not same_shape(r, value_type(r, id), type):
        fail(r, word, "a value of another type than the function's")
    r.return_value = value_of(r, id)
    if r.return_variable:
        store_value(r, r.return_variable, stored_type(r, type), r.return_value, 0)
    return _leave(r, r.function_label)


cdef int _enter(Reader r) except -1 nogil:
    r.nesting += 1
    if r.nesting > maximum_nesting:
        unsupported(r, r.word, "constructs and calls nested more than 400 deep")
    return 0


cdef uint32_t _merge_of(Reader r, uint32_t block, uint32_t word) except 0xffffffffU nogil:
    """The block where a selection joins again: its merge block, or the one target that leaves no construct. + 1; 0 none."""
    cdef uint32_t merge = r.blocks[block].merge
    cdef uint32_t a
    cdef uint32_t b
    if merge and opcode_at(r, merge) == OpSelectionMerge:
        return _block_row(r, r.words[merge + 1]) + 1
    if opcode_at(r, word) != OpBranchConditional:
        return 0
    a = _block_row(r, r.words[word + 2])
    b = _block_row(r, r.words[word + 3])
    if a != b and (r.blocks[a].label != 0) != (r.blocks[b].label != 0):
        return (b if r.blocks[a].label else a) + 1
    return a + 1 if a == b else 0


cdef uint32_t _selection(Reader r, uint32_t block, uint32_t word) except 0xffffffffU nogil:
    """Read a conditional branch or switch up to its merge; returns the block to go on with + 1, or 0."""
    cdef uint32_t first = <uint32_t>r.exits.size()
    cdef uint32_t merge = _merge_of(r, block, word)
    cdef uint32_t label = 0
    cdef uint32_t after
    cdef int found = 0
    _enter(r)
    if merge and merge - 1 == block:
        fail(r, word, "a block that merges into itself")
    if merge:
        label = _open_label(r, merge - 1, 0)
    if opcode_at(r, word) == OpSwitch:
        after = _switch(r, block, word)
    else:
        after = _conditional(r, block, word)
    if merge:
        _close_label(r, label)
        found = _resume(r, first, label, after)
    r.nesting -= 1
    return merge if found else 0


cdef uint32_t _conditional(Reader r, uint32_t block, uint32_t word) except 0 nogil:
    cdef uint32_t condition = ssa(r, r.words[word + 1])
    cdef uint32_t then_block = _block_row(r, r.words[word + 2])
    cdef uint32_t else_block = _block_row(r, r.words[word + 3])
    cdef uint32_t after
    cdef uint32_t node
    if bits_of(r, condition) != 1 or components_of(r, condition) != 1:
        fail(r, word, "a condition that is not boolean")
    if then_block == else_block:
        _edge(r, block, then_block)
        node = r.nir.block
        _region(r, then_block, False)
        return _last_of_list(r, node)
    node = _new_if(r, condition, &after)
    r.nir.block = r.s.nodes.first0[node]
    _edge(r, block, then_block)
    _region(r, then_block, False)
    r.nir.block = r.s.nodes.first1[node]
    r.word = word
    _edge(r, block, else_block)
    _region(r, else_block, False)
    return after


# ----------------------------------------------------------------------------------------------------------------- loops
cdef int _close_exits(Reader r, uint32_t first, uint32_t merge_label, uint32_t stay, uint32_t also_stay) except -1 nogil:
    """Turn the exits of a loop body into breaks, but for those to the labels that stay inside.

    Exits to the merge become plain breaks and are dropped; farther ones set their flag, break, and stay in the list.
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
        if exit.label != stay and exit.label != also_stay:
            _set_flag(r, i)
            _jump(r, exit.block, jump_break)
            exit.flagged = 1
        r.exits[kept] = exit
        kept += 1
    r.exits.resize(kept)
    return 0


cdef uint32_t _take(Reader r, uint32_t first, uint32_t label) noexcept nogil:
    """Drop the exits that want `label`; returns how many there were."""
    cdef uint32_t kept = first
    cdef uint32_t taken = 0
    cdef uint32_t i
    for i in range(first, <uint32_t>r.exits.size()):
        if r.exits[i].label == label:
            taken += 1
        else:
            r.exits[kept] = r.exits[i]
            kept += 1
    r.exits.resize(kept)
    return taken


cdef uint32_t _loop(Reader r, uint32_t header) except 0xffffffffU nogil:
    """Read a loop; returns its merge block + 1 when control goes on there, else 0."""
    cdef uint32_t merge_word = r.blocks[header].merge
    cdef uint32_t merge = _block_row(r, r.words[merge_word + 1])
    cdef uint32_t target = _block_row(r, r.words[merge_word + 2])
    cdef uint32_t first = <uint32_t>r.exits.size()
    cdef uint32_t outer_loop = r.current_loop
    cdef uint32_t outer_breaks = r.loop_breaks
    cdef uint32_t node = node_new(r.s, node_loop)
    cdef uint32_t after = node_new(r.s, node_block)
    cdef uint32_t merge_label
    cdef uint32_t header_label
    cdef uint32_t continue_label = 0
    cdef uint32_t breaks
    _enter(r)
    r.word = merge_word
    if merge == header or merge == target:
        fail(r, merge_word, "a loop whose merge block is its header or continue target")
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
    _close_exits(r, first, merge_label, header_label, continue_label if continue_label else header_label)
    if continue_label:
        _close_label(r, continue_label)
        if _take(r, first, continue_label):
            r.nir.block = _last_of_list(r, r.s.nodes.first0[node])
            _region(r, target, False)
            _close_exits(r, first, merge_label, header_label, header_label)
    _take(r, first, header_label)
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
    uint32_t target               # SPIR-V block
    uint32_t matches              # NIR value: the selector is one of its literals; 0: it has none
    uint32_t is_default
    uint32_t falls_to             # case + 1
    uint32_t fallen_into          # some case falls into it


cdef uint32_t _case_of(vector[Case] &cases, uint32_t target) noexcept nogil:
    cdef uint32_t i
    for i in range(<uint32_t>cases.size()):
        if cases[i].target == target:
            return i + 1
    return 0


cdef int _read_cases(Reader r, uint32_t word, vector[Case] &cases) except -1 nogil:
    """Distinct targets with the conditions under which the selector chooses them; the default is row 0."""
    cdef uint32_t selector = ssa(r, r.words[word + 1])
    cdef uint32_t end = word + length_at(r, word)
    cdef uint32_t width = bits_of(r, selector)
    cdef uint32_t step = 3 if width == 64 else 2
    cdef uint32_t place
    cdef uint32_t target
    cdef uint32_t row
    cdef uint32_t equal
    cdef uint64_t literal
    cdef Case case
    if components_of(r, selector) != 1 or width < 8 or (end - word - 3) % step:
        fail(r, word, "a selector that is no integer, or half a case")
    case.target = _block_row(r, r.words[word + 2])
    case.matches = 0
    case.is_default = 1
    case.falls_to = 0
    case.fallen_into = 0
    cases.push_back(case)
    case.is_default = 0
    place = word + 3
    while place < end:
        literal = r.words[place]
        if width == 64:
            literal |= <uint64_t>r.words[place + 1] << 32
        target = _block_row(r, r.words[place + step - 1])
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
        place += step
    r.case_of_block[cases[0].target] = 1
    r.case_serial[cases[0].target] = r.switch_serial
    return 0


cdef int _visit_successor(Reader r, vector[uint32_t] &stack, vector[Case] &cases, uint32_t from_case, uint32_t id,
                          uint32_t switch_serial) except -1 nogil:
    cdef uint32_t block = _block_row(r, id)
    cdef uint32_t row
    if r.case_serial[block] == switch_serial and r.case_of_block[block]:
        row = r.case_of_block[block] - 1
        if row != from_case and r.blocks[block].label == 0:
            if cases[from_case].falls_to and cases[from_case].falls_to != row + 1:
                fail(r, r.word, "a case that falls into two others")
            if cases[row].fallen_into and cases[from_case].falls_to != row + 1:
                fail(r, r.word, "two cases that fall into one")
            cases[from_case].falls_to = row + 1
            cases[row].fallen_into = 1
        return 0
    if r.blocks[block].label or r.case_serial[block] == switch_serial:
        return 0
    r.case_serial[block] = switch_serial
    r.case_of_block[block] = 0
    stack.push_back(block)
    return 0


cdef int _find_fallthrough(Reader r, vector[Case] &cases) except -1 nogil:
    """Which case falls into which: a walk from each case head that stops at labels and at other heads."""
    cdef vector[uint32_t] stack
    cdef uint32_t serial = r.switch_serial
    cdef uint32_t case
    cdef uint32_t block
    cdef uint32_t word
    cdef uint32_t place
    cdef uint32_t width
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
                unsupported(r, word, "switches nested too deep")
            if r.blocks[block].merge:          # also past constructs that only end by leaving
                _visit_successor(r, stack, cases, case, r.words[r.blocks[block].merge + 1], serial)
            if opcode_at(r, word) == OpBranch:
                _visit_successor(r, stack, cases, case, r.words[word + 1], serial)
            elif opcode_at(r, word) == OpBranchConditional:
                _visit_successor(r, stack, cases, case, r.words[word + 2], serial)
                _visit_successor(r, stack, cases, case, r.words[word + 3], serial)
            elif opcode_at(r, word) == OpSwitch:
                width = 3 if r.s.types.bit_size[value_type(r, r.words[word + 1])] == 64 else 2
                _visit_successor(r, stack, cases, case, r.words[word + 2], serial)
                place = word + 2 + width
                while place < word + length_at(r, word):
                    _visit_successor(r, stack, cases, case, r.words[place], serial)
                    place += width
    return 0


cdef uint32_t _any_of(Reader r, vector[Case] &cases, uint32_t first, uint32_t stop) except? 0xffffffffU nogil:
    """Whether the selector matches a literal of the cases from `first` along the chain, up to but without `stop`."""
    cdef uint32_t value = 0
    while first and first != stop:
        if cases[first - 1].matches:
            value = alu2(&r.nir, alu_ior, value, cases[first - 1].matches) if value else cases[first - 1].matches
        first = cases[first - 1].falls_to
    return value


cdef int _chain(Reader r, uint32_t block, vector[Case] &cases, uint32_t head) except -1 nogil:
    """Cases that fall into one another, in order; each but the last is skipped when a later one is selected."""
    cdef uint32_t case = head
    cdef uint32_t following
    cdef uint32_t later
    cdef uint32_t label
    cdef uint32_t first
    cdef uint32_t after
    cdef uint32_t node
    cdef bint default_seen = False
    _edge(r, block, cases[head - 1].target)
    while cases[case - 1].falls_to:
        following = cases[case - 1].falls_to
        first = <uint32_t>r.exits.size()
        default_seen = default_seen or cases[case - 1].is_default
        if default_seen:
            later = _any_of(r, cases, following, 0)
        else:
            later = alu1(&r.nir, alu_inot, _any_of(r, cases, head, following))
        label = _open_label(r, cases[following - 1].target, 0)
        if later:
            node = _new_if(r, later, &after)
            r.nir.block = r.s.nodes.first0[node]
            _edge(r, block, cases[following - 1].target)
            _leave(r, label)
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


cdef uint32_t _switch(Reader r, uint32_t block, uint32_t word) except 0 nogil:
    """A switch as a chain of ifs over groups of cases; the group with the default comes last."""
    cdef vector[Case] cases
    cdef uint32_t i
    cdef uint32_t steps
    cdef uint32_t head = 0
    cdef uint32_t default_head = 1
    cdef uint32_t node
    cdef uint32_t after = 0
    cdef uint32_t inner_after
    cdef uint32_t start = r.nir.block
    r.switch_serials += 1
    r.switch_serial = r.switch_serials
    if r.case_serial.size() < r.blocks.size():
        r.case_serial.resize(r.blocks.size())
        r.case_of_block.resize(r.blocks.size())
    _read_cases(r, word, cases)
    if cases.size() > 1:
        _find_fallthrough(r, cases)
    for i in range(<uint32_t>cases.size()):        # every case must hang on a chain that starts somewhere
        if not cases[i].fallen_into:
            head = i + 1
            steps = 0
            while head:
                steps += 1
                if cases[head - 1].is_default:
                    default_head = i + 1
                head = cases[head - 1].falls_to
    if cases[default_head - 1].fallen_into:
        fail(r, word, "cases that fall into one another in a circle")
    for i in range(<uint32_t>cases.size()):
        if cases[i].fallen_into or i + 1 == default_head:
            continue
        inner_after = 0
        node = _any_of(r, cases, i + 1, 0)
        node = _new_if(r, node, &inner_after)
        if after == 0:
            after = inner_after
        r.nir.block = r.s.nodes.first0[node]
        _chain(r, block, cases, i + 1)
        r.nir.block = r.s.nodes.first1[node]
        r.word = word
    _chain(r, block, cases, default_head)
    return after if after else _last_of_list(r, start)


# ------------------------------------------------------------------------------------------------------------- functions
cdef int _bind_parameters(Reader r, uint32_t function, uint32_t word, uint32_t end) except -1 nogil:
    cdef FunctionRow row = r.functions[function]
    cdef uint32_t i
    cdef uint32_t argument
    cdef uint32_t parameter
    if end - word - 4 != row.parameter_count:
        fail(r, word, "%u arguments do not fit the function", end - word - 4)
    for i in range(row.parameter_count):
        argument = r.words[word + 4 + i]
        parameter = r.parameters[row.first_parameter + i]
        if not same_shape(r, value_type(r, argument), value_type(r, parameter)):
            fail(r, word, "argument %u has another type than the parameter", argument)
        if r.kind[argument] == kind_variable:
            module_variable(r, argument)
        if r.kind[argument] != kind_blocks and r.kind[argument] != kind_builtin:
            value_of(r, argument)              # raises for what has no value
        r.kind[parameter] = r.kind[argument]
        r.payload[parameter] = r.payload[argument]
    return 0


cdef int _call(Reader r, uint32_t word, uint32_t end) except -1 nogil:
    """Read the called function in place."""
    cdef uint32_t id = r.words[word + 3]
    cdef uint32_t type = type_row(r, r.words[word + 1])
    cdef uint32_t saved_serial = r.serial
    cdef uint32_t saved_function = r.function
    cdef uint32_t saved_label = r.function_label
    cdef uint32_t saved_variable = r.return_variable
    cdef uint32_t saved_value = r.return_value
    cdef uint32_t start = r.nir.block
    cdef uint32_t first = <uint32_t>r.exits.size()
    cdef uint32_t function
    cdef uint32_t label
    cdef uint32_t value
    cdef bint has_value = r.s.types.base[type] != type_void
    if r.kind[id] != kind_function:
        fail(r, word, "id %u is not a function", id)
    function = r.payload[id]
    if r.functions[function].active:
        fail(r, word, "recursion: function %u calls itself", id)
    if r.functions[function].block_count == 0:
        unsupported(r, word, "a call of a function without a body")
    if type_row(r, r.words[r.functions[function].word + 1]) != type:
        fail(r, word, "the result has another type than the function's")
    _enter(r)
    _bind_parameters(r, function, word, end)
    r.functions[function].active = 1
    r.serials += 1
    r.serial = r.serials
    r.return_variable = 0
    r.return_value = no_value
    if has_value and r.functions[function].return_values > 1:
        check_value_type(r, type)
        r.return_variable = local_variable(r, type)
    r.function = function
    label = _open_label(r, function_end, 0)
    r.function_label = label
    _region(r, r.functions[function].first_block, False)
    r.functions[function].active = 0
    r.function = saved_function
    r.serial = saved_serial
    r.function_label = saved_label
    r.word = word
    if not _resume(r, first, label, _last_of_list(r, start)):
        r.nir.block = _last_of_list(r, start)      # it never returns; what follows is dead
        value = undefined_value(r, type) if has_value else 0
    elif r.return_variable:
        value = load_value(r, r.return_variable, stored_type(r, type), 0)
    else:
        value = r.return_value
    if has_value and value == no_value:
        fail(r, word, "a function that returns without its value")
    r.return_variable = saved_variable
    r.return_value = saved_value
    r.nesting -= 1
    if not has_value:
        r.kind[r.words[word + 2]] = kind_void
        return 0
    return set_value(r, r.words[word + 2], type, value)


cdef int _zero_workgroup_variable(Reader r, uint32_t id) except -1 nogil:
    """Null initializer of a Workgroup variable: of an array, each invocation clears its share of the elements."""
    cdef uint32_t deref = r.payload[id]
    cdef uint32_t type = r.s.instructions.type[deref]
    cdef uint32_t size = r.s.info.workgroup_size[0] * r.s.info.workgroup_size[1] * r.s.info.workgroup_size[2]
    cdef uint32_t length = r.s.types.length[type]
    cdef uint32_t index
    cdef uint32_t local
    cdef uint32_t k
    cdef uint32_t zero = _null_value(r, r.s.types.element[type] if r.s.types.base[type] == type_array else type)
    if r.s.types.base[type] != type_array:
        return store_value(r, deref, type, zero, 0)
    local = intrinsic0(&r.nir, intrinsic_load_local_invocation_index, 1, 32)
    for k in range((length + size - 1) // size):
        index = alu2(&r.nir, alu_iadd, local, integer(r, <uint64_t>k * size, 32))
        if (k + 1) * size > length:            # past the end: the last element once more
            index = alu2(&r.nir, alu_umin, index, integer(r, length - 1, 32))
        store_value(r, deref_indexed(r, deref, index), r.s.types.element[type], zero, 0)
    return 0


cdef uint32_t _null_value(Reader r, uint32_t type) except? 0xffffffffU nogil:
    cdef ConstantRow row
    memset(&row, 0, sizeof(row))
    row.type = type
    row.kind = constant_null
    r.constants.push_back(row)
    return constant_value(r, <uint32_t>(r.constants.size() - 1))


cdef int _zero_workgroup(Reader r) except -1 nogil:
    """Behind everything else of the prologue: clear what starts as zero, and wait for the others."""
    cdef uint32_t i
    cdef uint32_t row
    if r.zeroed_workgroup.empty():
        return 0
    r.nir.block = 0
    for i in range(<uint32_t>r.zeroed_workgroup.size()):
        _zero_workgroup_variable(r, r.zeroed_workgroup[i])
    row = intrinsic0(&r.nir, intrinsic_barrier, 0, 0)
    intrinsic_set_index(r.s, row, index_execution_scope, nir_scope_workgroup)
    intrinsic_set_index(r.s, row, index_memory_scope, nir_scope_workgroup)
    intrinsic_set_index(r.s, row, index_memory_semantics, nir_semantic_acquire | nir_semantic_release)
    intrinsic_set_index(r.s, row, index_memory_modes, mode_shared)
    return 0


cdef int read_entry(Reader r, uint32_t function) except -1 nogil:
    if r.functions[function].block_count == 0:
        fail(r, r.functions[function].word, "an entry point without a body")
    if r.functions[function].parameter_count:
        fail(r, r.functions[function].word, "an entry point with parameters")
    r.nir.block = r.s.nodes.first0[1]
    r.functions[function].active = 1
    r.function = function
    r.serials = 1
    r.serial = 1
    r.function_label = _open_label(r, function_end, 0)
    _region(r, r.functions[function].first_block, False)
    return _zero_workgroup(r)
