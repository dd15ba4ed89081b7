"""Values are computed where they are needed: in the block that all their uses are below, and there before the first of them.

What moves: constants and undefined values; copies and vectors; conditions, so that the condition code or mask need not be kept; arithmetic
with one source that varies to other blocks alone: into the list of an if that alone uses it, where it may not run at all. Arithmetic with
several sources would lengthen the lives of these. Loads stay, unlike RADV's: no later pass moves them out of a block again, and they
were measured to cost more latency in the ifs than they save. Nothing moves into a loop, and nothing but constants out of one.

Blocks are walked last to first, so that what uses a value has found its place before the value does. Needs: nothing. Guarantees: valid NIR;
divergence analysis must run again where values have moved out of loops. Source of the idea: NIR's documentation of nir_opt_sink and
nir_opt_move, which this is in one.
"""
from libc.stdint cimport uint8_t, uint32_t
from libcpp.algorithm cimport sort

from nir_opcodes cimport alu_mov
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, RowRange, Shader, ShaderData, ShaderRewrite, ValueId, alu_is_vector, nir_alu, nir_jump, nir_load_const, nir_phi,
    nir_undef, node_block, node_if, node_walk_next, shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit, shader_rewrite_end,
    sources_of, value_is_constant,
)
from pyaco._core.nir.dominance cimport node_loop_around
from pyaco._core.nir.loop_closing cimport is_in_loop

cdef enum:
    at_end = 0xffffffffU           # the place of a value that nothing in its block uses

cdef enum:                         # how far a value may move
    stays = 0
    to_other_blocks = 1
    within_block = 2               # too
    out_of_loops = 4               # too

cdef struct Moved:
    NodeId block
    uint32_t place                 # before the instruction that had this number in the block
    uint32_t number                # of those that have moved, later ones first
    ValueId value

cdef cppclass Context:
    ShaderData *s
    SmallVector[NodeId] blocks          # in program order
    SmallVector[uint32_t] list_of       # by node: which list of which parent
    SmallVector[uint32_t] position      # by node: in its list
    SmallVector[uint32_t] depth         # by node
    Zeroed[NodeId] meeting         # by value: the block that its uses are below, 0 none yet
    SmallVector[uint32_t] first_use     # by value: in that block
    Zeroed[bint] has_moved         # by value
    SmallVector[Moved] moved


# ---------------------------------------------------------------------------------------------------------- the tree of nodes
cdef int _number_nodes(Context *c) except -1 nogil:
    cdef ShaderData *s = c.s
    cdef NodeId node = s.nodes.first0[1]
    cdef NodeId before, head
    c.list_of.assign(s.nodes.table.count, 0)
    c.position.assign(s.nodes.table.count, 0)
    c.depth.assign(s.nodes.table.count, 0)
    c.blocks.reserve(s.nodes.table.count)
    while node:
        before = s.nodes.previous[node]
        if before:
            c.list_of[node] = c.list_of[before]
            c.position[node] = c.position[before] + 1
        else:
            head = s.nodes.parent[node]
            c.list_of[node] = 2 * head + (s.nodes.kind[head] == node_if and s.nodes.first1[head] == node)
        c.depth[node] = c.depth[s.nodes.parent[node]] + 1
        if s.nodes.kind[node] == node_block:
            c.blocks.push_back(node)
        node = node_walk_next(s, node)
    return 0


cdef NodeId _meet(const Context *c, NodeId a, NodeId b) noexcept nogil:
    """The last block that comes before both in their lists or in lists around them; 0 stands for nowhere yet."""
    cdef NodeId earlier
    if a == 0 or a == b:
        return b
    while c.depth[a] > c.depth[b]:
        a = c.s.nodes.parent[a]
    while c.depth[b] > c.depth[a]:
        b = c.s.nodes.parent[b]
    while c.list_of[a] != c.list_of[b]:
        a = c.s.nodes.parent[a]
        b = c.s.nodes.parent[b]
    earlier = a if c.position[a] <= c.position[b] else b
    return earlier if c.s.nodes.kind[earlier] == node_block else c.s.nodes.previous[earlier]


cdef bint _is_below(const Context *c, NodeId block, NodeId above) noexcept nogil:
    """Whether `block` comes after `above` in its list or in lists within."""
    while block and c.list_of[block] != c.list_of[above]:
        block = c.s.nodes.parent[block]
    return block != 0 and c.position[block] >= c.position[above]


# ---------------------------------------------------------------------------------------------------------------------- uses
cdef void _use(Context *c, ValueId value, NodeId block, uint32_t place) noexcept nogil:
    cdef NodeId meeting = _meet(c, c.meeting[value], block)
    cdef uint32_t first = at_end
    if c.meeting[value] == meeting:
        first = c.first_use[value]
    if block == meeting and place < first:
        first = place
    c.meeting[value] = meeting
    c.first_use[value] = first


cdef void _use_in_phis_and_conditions(Context *c) noexcept nogil:
    """A phi reads at the end of the block that control comes from, an if at the end of the block before it."""
    cdef ShaderData *s = c.s
    cdef RowRange sources
    cdef OrderRow row
    cdef uint32_t k
    cdef NodeId node = s.nodes.first0[1]
    cdef ValueId i
    while node:
        if s.nodes.kind[node] == node_if:
            _use(c, s.nodes.condition[node], s.nodes.previous[node], at_end)
        elif s.nodes.kind[node] == node_block:
            for row in range(s.nodes.order_first[node], s.nodes.order_first[node] + s.nodes.order_count[node]):
                i = s.order.instruction[row]
                if s.instructions.kind[i] != nir_phi:
                    break
                sources = sources_of(s, i)
                for k in range(sources.first, sources.first + sources.count):
                    _use(c, s.sources.value[k], <NodeId>s.sources.swizzle[k], at_end)
        node = node_walk_next(s, node)


# -------------------------------------------------------------------------------------------------------------- what may move
cdef bint _has_one_variable_source(const ShaderData *s, ValueId i) noexcept nogil:
    cdef RowRange sources = sources_of(s, i)
    cdef ValueId found = 0
    cdef uint32_t k
    for k in range(sources.first, sources.first + sources.count):
        if not value_is_constant(s, s.sources.value[k]) and s.sources.value[k] != found:
            if found:
                return False
            found = s.sources.value[k]
    return True


cdef uint32_t _freedom(const ShaderData *s, ValueId i) noexcept nogil:
    cdef uint8_t kind = s.instructions.kind[i]
    cdef int opcode = s.instructions.opcode[i]
    if kind == nir_load_const or kind == nir_undef:
        return to_other_blocks | within_block | out_of_loops
    if kind == nir_alu and (opcode == alu_mov or alu_is_vector(opcode)):
        return to_other_blocks | within_block
    if kind == nir_alu and s.instructions.bit_size[i] == 1:
        return within_block | (to_other_blocks if _has_one_variable_source(s, i) else 0)
    if kind == nir_alu and _has_one_variable_source(s, i):
        return to_other_blocks
    return stays


cdef NodeId _target(const Context *c, ValueId i, NodeId block, uint32_t freedom, uint32_t *place) noexcept nogil:
    """The block where a value is to be computed, and before which of its instructions; 0: it stays."""
    cdef const ShaderData *s = c.s
    cdef NodeId target = c.meeting[i]
    cdef NodeId loop
    if target == 0:
        return 0
    place[0] = c.first_use[i]
    loop = node_loop_around(s, target)
    while loop and not is_in_loop(s, block, loop):
        target = s.nodes.previous[loop]
        place[0] = at_end
        loop = node_loop_around(s, target)
    if target == block:
        return block if freedom & within_block else 0
    if not freedom & to_other_blocks or not _is_below(c, target, block):
        return 0
    if not freedom & out_of_loops and node_loop_around(s, target) != node_loop_around(s, block):
        return 0
    return target


# ---------------------------------------------------------------------------------------------------------------------- moves
cdef void _place(Context *c, ValueId i, NodeId block, uint32_t number) noexcept nogil:
    """Find an instruction's place, and use its sources there."""
    cdef ShaderData *s = c.s
    cdef uint32_t freedom = _freedom(s, i)
    cdef uint32_t place = at_end
    cdef uint32_t k
    cdef NodeId target = _target(c, i, block, freedom, &place) if freedom else 0
    cdef Moved move
    cdef RowRange sources = sources_of(s, i)
    if target:
        move = Moved(target, place, <uint32_t>c.moved.size(), i)
        c.moved.push_back(move)
        c.has_moved[i] = True
    else:
        target, place = block, number
    for k in range(sources.first, sources.first + sources.count):
        _use(c, s.sources.value[k], target, place)


cdef bint _comes_before(const Moved &a, const Moved &b) noexcept nogil:
    if a.block != b.block:
        return a.block < b.block
    return a.place < b.place if a.place != b.place else a.number > b.number


cdef bint _write(Context *c) except -1 nogil:
    """Write every block with what has moved there; returns whether any instruction has another place now."""
    cdef ShaderData *s = c.s
    cdef ShaderRewrite rewrite
    cdef SmallVector[uint32_t] first        # by node: in moved
    cdef SmallVector[ValueId] order
    cdef bint progress = False
    cdef size_t k, next
    cdef uint32_t number
    cdef NodeId block
    cdef ValueId i
    sort(c.moved.begin(), c.moved.end(), &_comes_before)
    first.assign(s.nodes.table.count, <uint32_t>c.moved.size())
    for k in range(c.moved.size()):
        if first[c.moved[k].block] > k:
            first[c.moved[k].block] = <uint32_t>k
    order.reserve(s.order.table.count)
    shader_rewrite_begin(&rewrite, s)
    for block in c.blocks:
        order.clear()
        next = first[block]
        for number in range(s.nodes.order_count[block]):
            i = s.order.instruction[s.nodes.order_first[block] + number]
            while next < c.moved.size() and c.moved[next].block == block and s.instructions.kind[i] != nir_phi and (
                    c.moved[next].place <= number or s.instructions.kind[i] == nir_jump):
                order.push_back(c.moved[next].value)
                next += 1
            if not c.has_moved[i]:
                order.push_back(i)
        while next < c.moved.size() and c.moved[next].block == block:
            order.push_back(c.moved[next].value)
            next += 1
        progress |= order.size() != s.nodes.order_count[block]
        shader_rewrite_block(&rewrite, block)
        for k in range(order.size()):
            progress = progress or order[k] != s.order.instruction[s.nodes.order_first[block] + k]
            shader_rewrite_emit(&rewrite, order[k])
    shader_rewrite_end(&rewrite)
    return progress


cdef bint opt_sink_run(ShaderData *s) except -1 nogil:
    cdef Context c
    cdef size_t k
    cdef uint32_t number
    cdef NodeId block
    cdef ValueId i
    c.s = s
    _number_nodes(&c)
    c.meeting.assign(s.instructions.table.count)
    c.first_use.assign(s.instructions.table.count, at_end)
    c.has_moved.assign(s.instructions.table.count)
    _use_in_phis_and_conditions(&c)
    for k in range(c.blocks.size()):
        block = c.blocks[c.blocks.size() - 1 - k]
        for number in range(s.nodes.order_count[block], 0, -1):
            i = s.order.instruction[s.nodes.order_first[block] + number - 1]
            if s.instructions.kind[i] != nir_phi:
                _place(&c, i, block, number - 1)
    if c.moved.empty():
        return False
    return _write(&c)


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_sink_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Move values to where they are needed; True when one has moved."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
