"""Loop-closed SSA: a value defined in a loop is used outside it only through a phi in the block after the loop.

Constants and undefined values get a copy after the loop instead. Guarantees: for every use, the loop that defines the
value contains the use. As Mesa's nir_convert_to_lcssa; the form is due to Zadeck, see "Loop-closed SSA form" in the GCC
internals manual.
"""
from libc.stdint cimport uint32_t, uint64_t
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    BlockNumber, NodeId, Shader, ShaderData, ShaderRewrite, SourceRow, ValueId, nir_instruction_new, nir_load_const, nir_phi, nir_phi_new,
    nir_undef, node_if, node_walk_next, phi_set, shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit, shader_rewrite_end,
    source_swizzle,
)
from pyaco._core.nir.dominance cimport Cfg, cfg_build, node_loop_around

cdef struct Context:
    ShaderData *s
    Cfg cfg
    vector[NodeId] loop_of                         # by node: the loop around it, 0 none
    unordered_map[uint64_t, ValueId] closed        # value << 32 | loop -> its phi or copy after the loop
    vector[vector[ValueId]] phis                   # by block number: new phis, for the start of the block
    vector[vector[ValueId]] copies                 # by block number: for after its phis


cdef NodeId _loop_of_value(const Context *c, ValueId value) noexcept nogil:
    return c.loop_of[c.s.instructions.block[value]]


cdef bint _contains(const Context *c, NodeId outer, NodeId inner) noexcept nogil:
    while inner and inner != outer:
        inner = c.loop_of[inner]
    return inner == outer


cdef ValueId _close_at(Context *c, ValueId value, NodeId loop) except 0 nogil:
    """The phi or copy that replaces a value after a loop."""
    cdef ShaderData *s = c.s
    cdef uint64_t key = <uint64_t>value << 32 | loop
    cdef NodeId exit
    cdef BlockNumber number
    cdef uint32_t first, count, i
    cdef ValueId row
    if c.closed.count(key):
        return c.closed[key]
    exit = s.nodes.next[loop]
    number = s.nodes.index[exit]
    if s.instructions.kind[value] == nir_load_const or s.instructions.kind[value] == nir_undef:
        row = nir_instruction_new(s, s.instructions.kind[value], 0, s.instructions.components[value],
                                  s.instructions.bit_size[value], 0)
        s.instructions.data[row] = s.instructions.data[value]
        c.copies[number].push_back(row)
    else:
        first = c.cfg.predecessor_first[number]
        count = c.cfg.predecessor_first[number + 1] - first
        row = nir_phi_new(s, s.instructions.components[value], s.instructions.bit_size[value], count)
        for i in range(count):
            phi_set(s, row, i, value, c.cfg.blocks[c.cfg.predecessors[first + i]])
        c.phis[number].push_back(row)
    s.instructions.block[row] = exit
    c.closed[key] = row
    return row


cdef ValueId _value_in(Context *c, ValueId value, NodeId loop) except? 0xffffffffU nogil:
    """What uses of a value in `loop` (0: outside all loops) must refer to."""
    cdef NodeId defined_in = _loop_of_value(c, value)
    while defined_in and not _contains(c, defined_in, loop):
        value = _close_at(c, value, defined_in)
        defined_in = c.loop_of[defined_in]
    return value


cdef int _close_uses(Context *c, ValueId instruction, NodeId block) except -1 nogil:
    cdef ShaderData *s = c.s
    cdef SourceRow row = s.instructions.source_first[instruction]
    cdef uint32_t k
    cdef NodeId used_in
    cdef ValueId value
    for k in range(s.instructions.source_count[instruction]):
        used_in = <uint32_t>source_swizzle(s, instruction, k) if s.instructions.kind[instruction] == nir_phi else block
        value = _value_in(c, s.sources.value[row + k], c.loop_of[used_in])
        s.sources.value[row + k] = value
    return 0


cdef bint convert_to_lcssa_run(ShaderData *s) except -1 nogil:
    cdef Context c
    cdef ShaderRewrite rewrite
    cdef NodeId node = 1
    cdef BlockNumber number
    cdef NodeId block
    cdef uint32_t i, n
    cdef ValueId instruction, condition
    cdef size_t k
    c.s = s
    cfg_build(&c.cfg, s)
    c.loop_of.assign(s.nodes.table.count, 0)
    c.phis.resize(c.cfg.blocks.size())
    c.copies.resize(c.cfg.blocks.size())
    while node:
        c.loop_of[node] = node_loop_around(s, node)
        node = node_walk_next(s, node)
    for number in range(c.cfg.blocks.size()):
        block = c.cfg.blocks[number]
        for i in range(s.nodes.order_count[block]):
            _close_uses(&c, s.order.instruction[s.nodes.order_first[block] + i], block)
    node = 1
    while node:
        if s.nodes.kind[node] == node_if:
            condition = _value_in(&c, s.nodes.condition[node], c.loop_of[node])
            s.nodes.condition[node] = condition
        node = node_walk_next(s, node)
    if c.closed.empty():
        return False
    shader_rewrite_begin(&rewrite, s)
    for number in range(c.cfg.blocks.size()):
        block = c.cfg.blocks[number]
        shader_rewrite_block(&rewrite, block)
        for k in range(c.phis[number].size()):
            shader_rewrite_emit(&rewrite, c.phis[number][k])
        n = 0
        while n < s.nodes.order_count[block]:
            instruction = s.order.instruction[s.nodes.order_first[block] + n]
            if s.instructions.kind[instruction] != nir_phi:
                break
            shader_rewrite_emit(&rewrite, instruction)
            n += 1
        for k in range(c.copies[number].size()):
            shader_rewrite_emit(&rewrite, c.copies[number][k])
        for i in range(n, s.nodes.order_count[block]):
            shader_rewrite_emit(&rewrite, s.order.instruction[s.nodes.order_first[block] + i])
    shader_rewrite_end(&rewrite)
    return True


cdef int _kernel(void *ir, int option) except -1 nogil:
    return convert_to_lcssa_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Convert to loop-closed SSA; True when a phi or copy was inserted."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
