"""Loop unrolling.

A loop that is left for certain after so many trips becomes its copies, where ``loop_analyze`` says that it should. In each trip an
exit stays (what follows it is appended), leaves (the copies end there), or is not known: then the copy of its if stays, and all that
follows goes into the list that does not leave.

    loop {                          a0
        a                           if c0 { x0 } else {
        if c { x; break }     ->        b0; a1
        b                               if c1 { x1 } else { b1; ... }
    }                               }

Where nobody knows when a loop is left, but it counts through a local array, a loop stays behind as many copies as the array has elements.

One exit at most is not known, of two, as in Mesa's ``nir_opt_loop_unroll``; of a loop that runs once, three. One run of the pass
unrolls loops that do not hold one another; run it again after folding.

Needs: constants folded. Guarantees: valid NIR; values of the loop that are used after it reach there through phis, or are those of the last trip.
"""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from pyaco._core.common.table cimport table_append, table_append_many
from pyaco._core.ir.pass_runner cimport kernel_changed, kernel_steady_with_copies, native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, Shader, ShaderData, SourceRow, ValueId, nir_phi, nir_undef, node_block, node_if, node_insert_after, node_loop, node_remove, phi_set,
)
from pyaco._core.ir.source_lines cimport lines_inherit
from pyaco._core.nir.control_flow_edit cimport (
    ControlFlowEdit, edit_begin, edit_copy_instruction, edit_end, edit_merge_forward, edit_node_new, edit_resolve_phis,
)
from pyaco._core.nir.loop_analyze cimport (
    LoopAnalysis, LoopFacts, Terminator, analysis_begin, exit_leaves, exit_stays, loop_should_unroll, phi_value_from,
)
from pyaco._core.nir.loop_closing cimport Uses, close_value, uses_find
from pyaco._core.nir.loop_walk cimport LoopWalk, loop_next, loop_walk_begin

cdef struct Join:                 # where the paths of a copied if meet again, after all later trips
    NodeId block
    NodeId left                   # the block that comes from the list that leaves
    vector[ValueId] values        # of the phis after the loop, by way of that list

cdef struct Unroller:
    ControlFlowEdit edit
    Uses uses
    vector[ValueId] value         # by instruction: its copy of this trip, 0 none
    vector[NodeId] block          # by node: its copy of this trip, 0 none
    vector[ValueId] copied_phis   # of this trip: their sources still name the originals
    vector[Join] joins
    NodeId tail                   # the block that code is appended to


# ------------------------------------------------------------------------------------------------------------------ copying
cdef inline ValueId _renamed(const Unroller *u, ValueId value) noexcept nogil:
    return u.value[value] if value < u.value.size() and u.value[value] else value


cdef int _copy_block(Unroller *u, NodeId original, NodeId target, bint with_phis=True) except -1 nogil:
    """Append copies of a block's instructions; without its phis, those have values already."""
    cdef ShaderData *s = u.edit.shader
    cdef ValueId instruction, duplicate
    cdef SourceRow row
    cdef uint32_t i
    u.block[original] = target
    for i in range(u.edit.contents[original].size()):
        instruction = u.edit.contents[original][i]
        if s.instructions.kind[instruction] == nir_phi and not with_phis:
            continue
        duplicate = edit_copy_instruction(s, instruction)
        u.value[instruction] = duplicate
        u.edit.contents[target].push_back(duplicate)
        if s.instructions.kind[instruction] == nir_phi:
            u.copied_phis.push_back(duplicate)         # what comes back from later blocks has no copy yet
            continue
        for row in range(s.instructions.source_first[duplicate], s.instructions.source_first[duplicate]
                         + s.instructions.source_count[duplicate]):
            s.sources.value[row] = _renamed(u, s.sources.value[row])
    return 0


cdef NodeId _copy_node(Unroller *u, NodeId original) except 0 nogil:
    """A copy of a node with all that is in it, unlinked."""
    cdef ShaderData *s = u.edit.shader
    cdef NodeId target = edit_node_new(&u.edit, s.nodes.kind[original])
    if s.nodes.kind[original] == node_block:
        _copy_block(u, original, target)
        return target
    s.nodes.control[target] = s.nodes.control[original]
    if s.nodes.kind[original] == node_if:
        s.nodes.condition[target] = _renamed(u, s.nodes.condition[original])
        _copy_list(u, s.nodes.first1[original], s.nodes.first1[target])
    _copy_list(u, s.nodes.first0[original], s.nodes.first0[target])
    return target


cdef NodeId _copy_list(Unroller *u, NodeId original, NodeId block) except 0 nogil:
    """Copy the siblings from a block on: the first is appended to an existing block, the others follow it. Returns the last one's copy."""
    cdef ShaderData *s = u.edit.shader
    cdef NodeId node
    _copy_block(u, original, block)
    original = s.nodes.next[original]
    while original:
        node = _copy_node(u, original)
        node_insert_after(s, node, block)
        block = node
        original = s.nodes.next[original]
    return block


cdef int _finish_phis(Unroller *u) noexcept nogil:
    """Point the sources of this trip's phis to the copies of this trip."""
    cdef ShaderData *s = u.edit.shader
    cdef NodeId predecessor
    cdef SourceRow row
    cdef uint32_t i
    for i in range(<uint32_t>u.copied_phis.size()):
        for row in range(s.instructions.source_first[u.copied_phis[i]], s.instructions.source_first[u.copied_phis[i]]
                         + s.instructions.source_count[u.copied_phis[i]]):
            predecessor = <NodeId>s.sources.swizzle[row]
            s.sources.value[row] = _renamed(u, s.sources.value[row])
            if predecessor < u.block.size() and u.block[predecessor]:
                s.sources.swizzle[row] = u.block[predecessor]
    u.copied_phis.clear()
    return 0


cdef int _take_phis(Unroller *u, NodeId block, NodeId predecessor, bint renamed=True) except -1 nogil:
    """Let the phis of a block be what they are by way of one predecessor: of this trip, or without `renamed` of before the loop."""
    cdef ShaderData *s = u.edit.shader
    cdef vector[ValueId] values        # all are read before one is written: the phis of a header may name one another
    cdef uint32_t i
    cdef ValueId value
    for i in range(u.edit.contents[block].size()):
        if s.instructions.kind[u.edit.contents[block][i]] != nir_phi:
            break
        value = phi_value_from(s, u.edit.contents[block][i], predecessor)
        values.push_back(_renamed(u, value) if renamed else value)
    for i in range(<uint32_t>values.size()):
        u.value[u.edit.contents[block][i]] = values[i]
    return 0


# ------------------------------------------------------------------------------------------------------- what is used outside
cdef NodeId _first_leaving(const ShaderData *s, const Terminator *exit) noexcept nogil:
    return s.nodes.first0[exit.node] if exit.leaves_in_then else s.nodes.first1[exit.node]


cdef NodeId _last_leaving(const ShaderData *s, const Terminator *exit) noexcept nogil:
    return s.nodes.last0[exit.node] if exit.leaves_in_then else s.nodes.last1[exit.node]


cdef NodeId _leaving_block(const ShaderData *s, const LoopFacts *facts, uint32_t exit) noexcept nogil:
    """The block whose break leaves the loop."""
    if exit == facts.terminators.size():
        return s.nodes.last0[facts.loop]
    return _last_leaving(s, &facts.terminators[exit])


cdef int _close_list(Unroller *u, NodeId loop, const vector[NodeId] &leaving, NodeId node) except -1 nogil:
    """Let what is defined in the list from `node` on, and used outside of the loop, go there through phis of the block after it."""
    cdef ShaderData *s = u.edit.shader
    cdef uint32_t i
    while node:
        if s.nodes.kind[node] == node_block:
            for i in range(u.edit.contents[node].size()):
                close_value(&u.edit, &u.uses, loop, leaving, u.edit.contents[node][i])
        else:
            _close_list(u, loop, leaving, s.nodes.first0[node])
            if s.nodes.kind[node] == node_if:
                _close_list(u, loop, leaving, s.nodes.first1[node])
        node = s.nodes.next[node]
    return 0


# ---------------------------------------------------------------------------------------------------------------- unrolling
cdef int _values_at_exit(Unroller *u, const LoopFacts *facts, uint32_t exit, vector[ValueId] &values) except -1 nogil:
    """What the phis after the loop are in this trip by way of an exit."""
    cdef ShaderData *s = u.edit.shader
    cdef NodeId after = s.nodes.next[facts.loop]
    cdef uint32_t i
    values.clear()
    for i in range(u.edit.contents[after].size()):
        if s.instructions.kind[u.edit.contents[after][i]] != nir_phi:
            break
        values.push_back(_renamed(u, phi_value_from(s, u.edit.contents[after][i], _leaving_block(s, facts, exit))))
    return 0


cdef int _split(Unroller *u, const LoopFacts *facts, uint32_t exit) except -1 nogil:
    """Copy an if of which nobody knows whether it leaves; what follows is appended to its list that does not leave."""
    cdef ShaderData *s = u.edit.shader
    cdef const Terminator *terminator = &facts.terminators[exit]
    cdef NodeId branch = edit_node_new(&u.edit, node_if)
    cdef Join join
    join.block = edit_node_new(&u.edit, node_block)
    node_insert_after(s, branch, u.tail)
    node_insert_after(s, join.block, branch)
    s.nodes.condition[branch] = _renamed(u, s.nodes.condition[terminator.node])
    join.left = _copy_list(u, _first_leaving(s, terminator),
                           s.nodes.first0[branch] if terminator.leaves_in_then else s.nodes.first1[branch])
    u.edit.contents[join.left].pop_back()
    _values_at_exit(u, facts, exit, join.values)
    u.joins.push_back(join)
    u.tail = s.nodes.first1[branch] if terminator.leaves_in_then else s.nodes.first0[branch]
    return 0


cdef bint _copy_trip(Unroller *u, const LoopFacts *facts, uint32_t trip) except -1 nogil:
    """Append one trip; True when the loop is left in it."""
    cdef ShaderData *s = u.edit.shader
    cdef NodeId node = s.nodes.next[s.nodes.first0[facts.loop]]
    cdef NodeId duplicate
    cdef const Terminator *terminator
    cdef uint32_t exits = <uint32_t>facts.terminators.size()
    cdef uint32_t k = 0
    cdef unsigned char decision
    _copy_block(u, s.nodes.first0[facts.loop], u.tail, False)
    while node:
        if k < exits and node == facts.terminators[k].node:
            terminator = &facts.terminators[k]
            decision = facts.decisions[trip * exits + k]
            if decision == exit_leaves:
                u.tail = _copy_list(u, _first_leaving(s, terminator), u.tail)
                u.edit.contents[u.tail].pop_back()
                return True
            if decision != exit_stays:
                _split(u, facts, k)
            u.tail = _copy_list(u, s.nodes.first1[node] if terminator.leaves_in_then else s.nodes.first0[node], u.tail)
            node = s.nodes.next[node]
            _take_phis(u, node, s.nodes.last1[terminator.node] if terminator.leaves_in_then else s.nodes.last0[terminator.node])
            _copy_block(u, node, u.tail, False)
            k += 1
        else:
            duplicate = _copy_node(u, node)
            node_insert_after(s, duplicate, u.tail)
            u.tail = duplicate
        node = s.nodes.next[node]
    if facts.runs_once:
        u.edit.contents[u.tail].pop_back()
    return facts.runs_once


cdef int _join_paths(Unroller *u, vector[ValueId] &values, NodeId after) except -1 nogil:
    """Let the paths meet after the ifs that were copied, innermost first; `values` are those of the phis after the loop."""
    cdef ShaderData *s = u.edit.shader
    cdef ValueId phi, like
    cdef Join *join
    cdef uint32_t i
    while not u.joins.empty():
        join = &u.joins.back()
        for i in range(<uint32_t>values.size()):
            like = u.edit.contents[after][i]
            phi = table_append(&s.instructions.table)
            s.instructions.kind[phi] = nir_phi
            s.instructions.components[phi] = s.instructions.components[like]
            s.instructions.bit_size[phi] = s.instructions.bit_size[like]
            s.instructions.source_first[phi] = table_append_many(&s.sources.table, 2)
            s.instructions.source_count[phi] = 2
            phi_set(s, phi, 0, join.values[i], join.left)
            phi_set(s, phi, 1, values[i], u.tail)
            lines_inherit(&s.lines, phi, phi + 1, like)
            u.edit.contents[join.block].push_back(phi)
            values[i] = phi
        u.tail = join.block
        u.joins.pop_back()
    return 0


cdef int _leave_out(Unroller *u, const vector[ValueId] &accesses) except -1 nogil:
    """Take the copies of accesses away: loads are undefined values."""
    cdef ShaderData *s = u.edit.shader
    cdef vector[ValueId] kept
    cdef NodeId block
    cdef ValueId access, duplicate
    cdef uint32_t i
    cdef size_t k
    for k in range(accesses.size()):
        access = accesses[k]
        duplicate = u.value[access]
        s.instructions.source_count[duplicate] = 0
        if s.instructions.components[duplicate]:
            s.instructions.kind[duplicate] = nir_undef
            s.instructions.opcode[duplicate] = 0
            continue
        block = u.block[s.instructions.block[access]]
        kept.clear()
        for i in range(u.edit.contents[block].size()):
            if u.edit.contents[block][i] != duplicate:
                kept.push_back(u.edit.contents[block][i])
        u.edit.contents[block].clear()
        u.edit.contents[block].append(kept.data(), kept.size())
    return 0


cdef int _append_rest(Unroller *u, const LoopFacts *facts, NodeId entry) except -1 nogil:
    """Append a copy of the loop, which was entered from a block, for all further trips; what follows is appended to a block behind it."""
    cdef ShaderData *s = u.edit.shader
    cdef NodeId header = s.nodes.first0[facts.loop]
    cdef NodeId before = u.tail
    cdef NodeId loop
    cdef vector[ValueId] carried
    cdef ValueId phi
    cdef SourceRow row
    cdef uint32_t i
    for i in range(u.edit.contents[header].size()):
        if s.instructions.kind[u.edit.contents[header][i]] != nir_phi:
            break
        carried.push_back(_renamed(u, phi_value_from(s, u.edit.contents[header][i], s.nodes.last0[facts.loop])))
    loop = _copy_node(u, facts.loop)
    node_insert_after(s, loop, u.tail)
    _finish_phis(u)
    for i in range(<uint32_t>carried.size()):
        phi = u.value[u.edit.contents[header][i]]
        for row in range(s.instructions.source_first[phi], s.instructions.source_first[phi] + s.instructions.source_count[phi]):
            if <NodeId>s.sources.swizzle[row] == entry:
                s.sources.value[row] = carried[i]
                s.sources.swizzle[row] = before
    _leave_out(u, facts.past_end)
    u.tail = edit_node_new(&u.edit, node_block)
    node_insert_after(s, u.tail, loop)
    return 0


cdef int _unroll(Unroller *u, const LoopFacts *facts) except -1 nogil:
    """Insert the trips before the loop, and remove it."""
    cdef ShaderData *s = u.edit.shader
    cdef NodeId entry = s.nodes.previous[facts.loop]
    cdef NodeId after = s.nodes.next[facts.loop]
    cdef NodeId leaving = _leaving_block(s, facts, facts.exit)
    cdef vector[NodeId] leaving_blocks
    cdef vector[ValueId] values
    cdef SourceRow row
    cdef uint32_t trip, i
    cdef bint left = False
    for i in range(<uint32_t>facts.terminators.size() + facts.runs_once):
        leaving_blocks.push_back(_leaving_block(s, facts, i))
    _close_list(u, facts.loop, leaving_blocks, s.nodes.first0[facts.loop])
    u.value.resize(s.instructions.table.count)     # no loop names what is in another that is unrolled in this run
    u.block.resize(s.nodes.table.count)
    u.tail = entry
    trip = 0
    while not left and not (facts.rest_stays and trip == facts.trips):
        _take_phis(u, s.nodes.first0[facts.loop], s.nodes.last0[facts.loop] if trip else entry, trip != 0)
        left = _copy_trip(u, facts, trip)
        _finish_phis(u)
        trip += 1
    if facts.rest_stays:
        _append_rest(u, facts, entry)
    _values_at_exit(u, facts, facts.exit, values)
    _join_paths(u, values, after)
    for i in range(<uint32_t>values.size()):
        for row in range(s.instructions.source_first[u.edit.contents[after][i]], s.instructions.source_first[u.edit.contents[after][i]]
                         + s.instructions.source_count[u.edit.contents[after][i]]):
            s.sources.value[row] = values[i]
    edit_resolve_phis(&u.edit, after, leaving)
    node_remove(s, facts.loop)
    # The last copy's tail and the block after the loop are neighbours now.
    return edit_merge_forward(&u.edit, u.tail, after)


cdef struct Search:
    LoopAnalysis analysis
    LoopFacts facts
    Unroller unroller
    bint editing


cdef bint _unroll_in_list(Search *search, ShaderData *s, NodeId node) except -1 nogil:
    """Unroll what can be, innermost loops first; a loop around one that was unrolled is looked at in the next run."""
    cdef bint progress = False
    cdef bint inner
    cdef NodeId following
    while node:
        following = s.nodes.next[node]
        if s.nodes.kind[node] != node_block:
            inner = _unroll_in_list(search, s, s.nodes.first0[node])
            if s.nodes.kind[node] == node_if and _unroll_in_list(search, s, s.nodes.first1[node]):
                inner = True
            progress = progress or inner
            if s.nodes.kind[node] == node_loop and not inner and loop_should_unroll(&search.analysis, node, &search.facts):
                if not search.editing:
                    edit_begin(&search.unroller.edit, s)
                    uses_find(&search.unroller.uses, s)
                    search.editing = True
                _unroll(&search.unroller, &search.facts)
                progress = True
        node = following
    return progress


cdef bint _any_to_unroll(Search *search, const ShaderData *s) except -1 nogil:
    """Whether it is worth looking for them: mostly there is none, and a walk through the table of nodes takes less than through the tree."""
    cdef LoopWalk walk
    cdef NodeId loop
    loop_walk_begin(&walk, s)
    loop = loop_next(&walk)
    while loop and not loop_should_unroll(&search.analysis, loop, &search.facts):
        loop = loop_next(&walk)
    return loop != 0


cdef int loop_unroll_run(ShaderData *s) except -1 nogil:
    """Returns as kernels do."""
    cdef Search search
    search.editing = False
    analysis_begin(&search.analysis, s)
    if not _any_to_unroll(&search, s):
        return 0 if search.analysis.hinges else kernel_steady_with_copies
    _unroll_in_list(&search, s, s.nodes.first0[1])
    if not search.editing:
        return 0
    edit_end(&search.unroller.edit)
    return kernel_changed


cdef int _kernel(void *ir, int option) except -1 nogil:
    return loop_unroll_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Unroll loops of known, small trip count that hold no such loops; True when one was unrolled (run again after folding)."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0) & kernel_changed
    return progress
