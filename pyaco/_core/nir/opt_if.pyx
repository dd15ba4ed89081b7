"""What an if decides is known in its lists: a condition that is tested again there is a constant.

In the then list of an if its condition is true, and so is what it consists of: the operands of an `iand`, the contrary of that of an `inot`,
and a value that was compared with a constant by `ieq` is that constant. In the else list the condition is false. Where one list ends with a
jump, what follows the if knows that the other was taken; that is how code after a break in a loop knows that it has not left. A phi reads
its source at the end of the predecessor, with what is known there.

Needs: nothing. Guarantees: valid NIR; only sources change, to constants. One walk over the shader. Mesa does this in ``nir_opt_if``
(``opt_if_evaluate_condition_use`` and ``opt_if_rewrite_uniform_uses``) by the uses of each condition.
"""
from libc.stdint cimport uint64_t
from libcpp.vector cimport vector

from nir_opcodes cimport alu_iand, alu_ieq, alu_ine, alu_inot, alu_ior

from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, SourceRow, ValueId, jump_break, jump_continue, nir_alu, nir_constant,
    nir_phi, node_block, node_first_block, node_if, node_loop, source_value, value_is_constant,
)
from pyaco._core.nir.control_flow_edit cimport ControlFlowEdit, edit_begin, edit_end
from pyaco._core.nir.loop_analyze cimport jump_of

cdef enum:
    most_depth = 8                # of a condition's parts
    most_predecessors = 64        # of a block whose phis are looked at from each
    most_told = 32                # values whose last bits tell other values from them

cdef struct Walk:
    ShaderData *s
    Zeroed[ValueId] known         # by value: the constant that it is here
    Zeroed[uint64_t] is_known     # bits by value: whether it is one; where little is known, the bits are all that a walk looks at
    vector[ValueId] learned       # the values of which something is known, the latest last
    uint64_t ends                 # a bit for the last six bits of each of them: most sources are told by that, without a look at memory
    ValueId[2] truth              # the constants false and true, 0: not made
    bint progress


cdef inline bint _is_known(const Walk *w, ValueId value) noexcept nogil:
    return w.ends >> value % 64 & 1 and value < w.known.size() and w.is_known[value // 64] >> value % 64 & 1


cdef ValueId _truth(Walk *w, bint value) except 0 nogil:
    if not w.truth[value]:
        w.truth[value] = nir_constant(w.s, value, 1)
    return w.truth[value]


cdef int _note(Walk *w, ValueId value, ValueId constant) except -1 nogil:
    if value_is_constant(w.s, value) or _is_known(w, value) or w.s.instructions.components[value] != 1:
        return 0
    w.known[value] = constant
    w.is_known[value // 64] |= <uint64_t>1 << value % 64
    w.learned.push_back(value)
    w.ends |= <uint64_t>1 << value % 64
    return 0


cdef int _learn(Walk *w, ValueId condition, bint truth, int depth=0) except -1 nogil:
    """Note that a condition is true or false from here on, and what follows from that."""
    cdef ShaderData *s = w.s
    cdef int opcode = s.instructions.opcode[condition]
    cdef ValueId left, right
    if value_is_constant(s, condition) or _is_known(w, condition):
        return 0
    _note(w, condition, _truth(w, truth))
    if s.instructions.kind[condition] != nir_alu or s.instructions.components[condition] != 1 or depth == most_depth:
        return 0
    left = source_value(s, condition, 0)
    if s.instructions.components[left] != 1:
        return 0
    if opcode == alu_inot:
        return _learn(w, left, not truth, depth + 1)
    if opcode not in (alu_iand, alu_ior, alu_ieq, alu_ine):
        return 0
    right = source_value(s, condition, 1)
    if s.instructions.components[right] != 1:
        return 0
    if opcode == alu_iand and truth or opcode == alu_ior and not truth:
        _learn(w, left, truth, depth + 1)
        _learn(w, right, truth, depth + 1)
    elif opcode == alu_ieq and truth or opcode == alu_ine and not truth:
        if value_is_constant(s, right):
            _note(w, left, right)
        elif value_is_constant(s, left):
            _note(w, right, left)
    return 0


cdef int _forget(Walk *w, size_t count) noexcept nogil:
    """Know no more than the first `count` facts."""
    cdef ValueId value
    if w.learned.size() == count:
        return 0
    while w.learned.size() > count:
        w.is_known[w.learned.back() // 64] &= ~(<uint64_t>1 << w.learned.back() % 64)
        w.learned.pop_back()
    if count > most_told:
        return 0                  # `ends` has some bits too many
    w.ends = 0
    for value in w.learned:
        w.ends |= <uint64_t>1 << value % 64
    return 0


cdef inline int _read(Walk *w, ValueId *source) noexcept nogil:
    if _is_known(w, source[0]):
        source[0] = w.known[source[0]]
        w.progress = True
    return 0


cdef NodeId _successor(const ShaderData *s, NodeId block, NodeId loop) noexcept nogil:
    """The block with phis that control goes on to; 0: none. A block before an if has two successors, which have no phis."""
    cdef ValueId jump = jump_of(s, block)
    cdef NodeId parent = s.nodes.parent[block]
    cdef NodeId following = s.nodes.next[block]
    if jump:
        if s.instructions.opcode[jump] == jump_break:
            return s.nodes.next[loop]
        return s.nodes.first0[loop] if s.instructions.opcode[jump] == jump_continue else 0
    if following:
        return s.nodes.first0[following] if s.nodes.kind[following] == node_loop else 0
    if s.nodes.kind[parent] == node_if:
        return s.nodes.next[parent]
    return s.nodes.first0[parent] if s.nodes.kind[parent] == node_loop else 0


cdef int _read_phis(Walk *w, NodeId block, NodeId predecessor) noexcept nogil:
    """Let the phis of a block read what is known at the end of one predecessor."""
    cdef ShaderData *s = w.s
    cdef OrderRow row
    cdef SourceRow source
    cdef ValueId phi
    for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
        phi = s.order.instruction[row]
        if s.instructions.kind[phi] != nir_phi or s.instructions.source_count[phi] > most_predecessors:
            break
        for source in range(s.instructions.source_first[phi], s.instructions.source_first[phi] + s.instructions.source_count[phi]):
            if _is_known(w, s.sources.value[source]) and s.sources.swizzle[source] == predecessor:
                _read(w, &s.sources.value[source])
    return 0


cdef int _walk_block(Walk *w, NodeId block, NodeId loop) noexcept nogil:
    cdef ShaderData *s = w.s
    cdef OrderRow row
    cdef SourceRow source
    cdef ValueId i
    cdef NodeId successor
    if w.learned.empty():
        return 0
    for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
        i = s.order.instruction[row]
        if s.instructions.kind[i] != nir_phi:
            for source in range(s.instructions.source_first[i], s.instructions.source_first[i] + s.instructions.source_count[i]):
                _read(w, &s.sources.value[source])
    successor = _successor(s, block, loop)
    if successor:
        _read_phis(w, successor, block)
    return 0


cdef int _walk_list(Walk *w, NodeId node, NodeId loop) except -1 nogil:
    cdef ShaderData *s = w.s
    cdef size_t before = w.learned.size()
    cdef size_t here
    cdef ValueId condition
    while node:
        if s.nodes.kind[node] == node_block:
            _walk_block(w, node, loop)
        elif s.nodes.kind[node] == node_loop:
            _walk_list(w, s.nodes.first0[node], node)
        else:
            _read(w, &s.nodes.condition[node])
            condition = s.nodes.condition[node]
            here = w.learned.size()
            _learn(w, condition, True)
            _walk_list(w, s.nodes.first0[node], loop)
            _forget(w, here)
            _learn(w, condition, False)
            _walk_list(w, s.nodes.first1[node], loop)
            if not jump_of(s, s.nodes.last0[node]):
                _forget(w, here)
                if jump_of(s, s.nodes.last1[node]):
                    _learn(w, condition, True)
        node = s.nodes.next[node]
    return _forget(w, before)


cdef int _place(const Walk *w) except -1 nogil:
    """Put the constants that were made before everything else."""
    cdef ControlFlowEdit edit
    cdef int value
    cdef NodeId first = node_first_block(w.s)
    edit_begin(&edit, w.s)
    for value in range(2):
        if w.truth[value]:
            edit.contents[first].insert(0, w.truth[value])
    return edit_end(&edit)


cdef bint opt_if_run(ShaderData *s) except -1 nogil:
    cdef Walk w
    w.s = s
    w.progress = False
    w.truth[0] = w.truth[1] = 0
    w.ends = 0
    w.known.assign(s.instructions.table.count)
    w.is_known.assign(s.instructions.table.count // 64 + 1)
    _walk_list(&w, s.nodes.first0[1], 0)
    if w.progress:
        _place(&w)
    return w.progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_if_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Let what an if decides be known in its lists; True when a source changed."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
