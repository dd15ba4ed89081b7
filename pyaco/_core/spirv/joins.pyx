"""Blocks where paths meet though no merge instruction declares them. The contract is in ``joins.pxd``.

In a selection whose merge block is M, one side may branch to the target of the other: H -> X, H -> Y, Y -> X, X -> M. That is structured: X
belongs to H's construct, and every branch stays in it or leaves to M. X is a *join*: a block with two predecessors or more, without counting
back edges, that is neither a merge block nor a continue target nor a case of a switch (for those, control_flow.pyx has labels anyway). It is read
after all that its immediate dominator branches to, as that block's selection has reached it on every path.

Immediate dominators without back edges take one walk in reverse postorder: K. D. Cooper, T. J. Harvey, K. Kennedy, "A Simple, Fast Dominance
Algorithm" (2001), whose second and later rounds are for back edges alone.
"""
from libc.stdint cimport uint32_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

from spirv_tables cimport OpBranch, OpBranchConditional, OpLoopMerge, OpSwitch

from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.spirv.module cimport (
    BlockId, FunctionId, Join, Reader, SpirvId, kind_label, kind_type, length_at, maximum_scan_steps, opcode_at, result_type_of,
    unsupported,
)


cdef enum:
    none = 0xffffffffU


cdef uint32_t _bits_of_selector(Reader r, SpirvId id) noexcept nogil:
    """Also of one that is not read yet; 0 of one without a type, which the reader refuses where it comes to it."""
    cdef SpirvId type = result_type_of(r, id)
    return r.s.types.bit_size[r.payload[type]] if type and r.kind[type] == kind_type else 0


cdef int successors_of(Reader r, BlockId block, vector[SpirvId] &found) except -1 nogil:
    cdef uint32_t word = r.blocks[block].terminator
    cdef uint32_t opcode = opcode_at(r, word)
    cdef uint32_t step
    cdef uint32_t cursor
    if opcode == OpBranch:
        found.push_back(r.words[word + 1])
    elif opcode == OpBranchConditional:
        found.push_back(r.words[word + 2])
        found.push_back(r.words[word + 3])
    elif opcode == OpSwitch:
        found.push_back(r.words[word + 2])
        step = 3 if _bits_of_selector(r, r.words[word + 1]) == 64 else 2
        cursor = word + 2 + step
        while cursor < word + length_at(r, word):
            found.push_back(r.words[cursor])
            cursor += step
    return 0


cdef cppclass Graph:
    # columns by the number of a block in its function
    SmallVector[uint32_t] first_edge               # of its edges; one more element than there are blocks
    SmallVector[uint32_t] edges                    # numbers of blocks
    SmallVector[uint32_t] place                    # in reverse postorder + 1, 0: cannot be reached
    SmallVector[uint32_t] order                    # the blocks in reverse postorder
    SmallVector[uint32_t] dominator                # immediate; of the first block itself
    SmallVector[uint32_t] predecessors             # that come before it, each once
    SmallVector[uint32_t] last_predecessor         # + 1
    SmallVector[char] declared                     # a merge block, continue target or case


cdef int _number(Reader r, FunctionId function, SpirvId id) noexcept nogil:
    """Number of a block in its function; -1 for what is none: the reader says so where it comes to it."""
    if id >= r.bound or r.kind[id] != kind_label or r.blocks[r.payload[id]].function != function:
        return -1
    return <int>(r.payload[id] - r.functions[function].first_block)


cdef int _read_edges(Reader r, FunctionId function, Graph *graph) except -1 nogil:
    cdef vector[SpirvId] ids
    cdef uint32_t block
    cdef int target
    cdef uint32_t i
    for block in range(r.functions[function].block_count):
        graph.first_edge.push_back(<uint32_t>graph.edges.size())
        ids.clear()
        successors_of(r, r.functions[function].first_block + block, ids)
        for i in range(<uint32_t>ids.size()):
            target = _number(r, function, ids[i])
            if target >= 0:
                graph.edges.push_back(<uint32_t>target)
    graph.first_edge.push_back(<uint32_t>graph.edges.size())
    return 0


cdef int _reverse_postorder(Graph *graph, uint32_t count) except -1 nogil:
    cdef SmallVector[uint32_t] stack
    cdef SmallVector[uint32_t] cursor
    cdef SmallVector[char] seen
    cdef uint32_t block
    cdef uint32_t target
    cdef uint32_t i
    cursor.resize(graph.first_edge.size())
    memcpy(cursor.data(), graph.first_edge.data(), graph.first_edge.size() * sizeof(uint32_t))
    seen.resize(count)
    stack.push_back(0)
    seen[0] = 1
    while stack.size():
        block = stack.back()
        if cursor[block] < graph.first_edge[block + 1]:
            target = graph.edges[cursor[block]]
            cursor[block] += 1
            if not seen[target]:
                seen[target] = 1
                stack.push_back(target)
            continue
        stack.pop_back()
        graph.order.push_back(block)
    graph.place.resize(count)
    for i in range(<uint32_t>graph.order.size() // 2):
        target = <uint32_t>graph.order.size() - 1 - i
        block = graph.order[i]
        graph.order[i] = graph.order[target]
        graph.order[target] = block
    for i in range(<uint32_t>graph.order.size()):
        graph.place[graph.order[i]] = i + 1
    return 0


cdef int _mark_declared(Reader r, FunctionId function, Graph *graph) except -1 nogil:
    """Mark the merge blocks, continue targets and cases of the blocks that can be reached."""
    cdef uint32_t i
    cdef uint32_t k
    cdef BlockId block
    cdef uint32_t merge
    cdef int target
    graph.declared.resize(r.functions[function].block_count)
    for i in range(<uint32_t>graph.order.size()):
        block = r.functions[function].first_block + graph.order[i]
        merge = r.blocks[block].merge
        for k in range((2 if opcode_at(r, merge) == OpLoopMerge else 1) if merge else 0):
            target = _number(r, function, r.words[merge + 1 + k])
            if target >= 0:
                graph.declared[target] = 1
        if opcode_at(r, r.blocks[block].terminator) == OpSwitch:
            for k in range(graph.first_edge[graph.order[i]], graph.first_edge[graph.order[i] + 1]):
                graph.declared[graph.edges[k]] = 1
    return 0


cdef bint _count_predecessors(Graph *graph) except -1 nogil:
    """Count predecessors; returns whether there is a join."""
    cdef uint32_t i
    cdef uint32_t k
    cdef uint32_t block
    cdef uint32_t target
    cdef bint found = False
    graph.predecessors.resize(graph.place.size())
    graph.last_predecessor.resize(graph.place.size())
    for i in range(<uint32_t>graph.order.size()):
        block = graph.order[i]
        for k in range(graph.first_edge[block], graph.first_edge[block + 1]):
            target = graph.edges[k]
            if graph.place[target] > graph.place[block] and graph.last_predecessor[target] != block + 1:
                graph.last_predecessor[target] = block + 1
                graph.predecessors[target] += 1
                if graph.predecessors[target] > 1 and not graph.declared[target]:
                    found = True
    return found


cdef int _find_dominators(Reader r, Graph *graph) except -1 nogil:
    cdef uint32_t i
    cdef uint32_t k
    cdef uint32_t block
    cdef uint32_t target
    cdef uint32_t a
    cdef uint32_t b
    graph.dominator.assign(graph.place.size(), none)
    for i in range(<uint32_t>graph.order.size()):
        block = graph.order[i]
        for k in range(graph.first_edge[block], graph.first_edge[block + 1]):
            target = graph.edges[k]
            if graph.place[target] <= graph.place[block]:
                continue
            a = block
            b = graph.dominator[target] if graph.dominator[target] != none else block
            while a != b:
                r.scan_steps += 1
                if r.scan_steps > maximum_scan_steps:
                    unsupported(r, r.word, "functions with too many blocks where paths meet")
                if graph.place[a] > graph.place[b]:
                    a = graph.dominator[a]
                else:
                    b = graph.dominator[b]
            graph.dominator[target] = a
    return 0


cdef int find_joins(Reader r, FunctionId function) except -1 nogil:
    cdef Graph graph
    cdef Join join
    cdef uint32_t block
    cdef BlockId header
    cdef uint32_t i
    if r.functions[function].has_joins:
        return 0
    r.functions[function].has_joins = 1
    _read_edges(r, function, &graph)
    _reverse_postorder(&graph, r.functions[function].block_count)
    _mark_declared(r, function, &graph)
    if not _count_predecessors(&graph):
        return 0
    _find_dominators(r, &graph)
    for i in range(<uint32_t>graph.order.size()):      # the first of a list is the last in the order
        block = graph.order[i]
        if graph.predecessors[block] > 1 and not graph.declared[block]:
            header = r.functions[function].first_block + graph.dominator[block]
            join.block = r.functions[function].first_block + block
            join.next = r.blocks[header].first_join
            r.joins.push_back(join)
            r.blocks[header].first_join = <uint32_t>r.joins.size()
    return 0
