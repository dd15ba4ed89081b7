"""What is the same in every iteration of a loop is computed before it.

An instruction moves to the block before its loop if its sources are from outside, it stands where every iteration comes by (in the loop's own
list, before any way out of the loop), and what it gives cannot change meanwhile: arithmetic, pure intrinsics, loads of memory that does not
change. So nothing runs that would not have run. Constants stay: they are operands. The walk goes forward, so that what an instruction needs
has moved before it.

Needs: nothing. Guarantees: valid NIR; divergence analysis must run again. Source of the conditions: Mesa's nir_opt_licm, as its description says.
"""
from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from nir_opcodes cimport (
    index_access, intrinsic_flag_can_eliminate, intrinsic_flag_can_reorder, intrinsic_flag_convergent, intrinsic_flags, intrinsic_load_global,
    intrinsic_load_global_amd, intrinsic_load_ssbo,
)
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, RowRange, Shader, ShaderData, ShaderRewrite, ValueId, access_can_reorder, block_walk_next, intrinsic_index,
    jump_break, nir_alu, nir_intrinsic, nir_jump, node_block, node_first_block, node_if, node_loop, shader_rewrite_begin,
    shader_rewrite_block, shader_rewrite_emit, shader_rewrite_end, sources_of, value_is_constant,
)
from pyaco._core.nir.dominance cimport node_loop_around
from pyaco._core.nir.loop_closing cimport is_in_loop

cdef cppclass Context:
    ShaderData *s
    Zeroed[NodeId] home            # by value: the block where it is computed
    vector[bint] always_runs       # by node: every iteration of the loop around comes by
    vector[vector[ValueId]] moved  # by number of a block that precedes a loop: what has moved there
    vector[uint32_t] number        # by node: row + 1 in moved


# ------------------------------------------------------------------------------------------------------------- ways out of a loop
cdef bint _may_leave(const ShaderData *s, NodeId node, bint nested) noexcept nogil:
    """Whether a node may end the loop around it, or go on with the next iteration; `nested`: it is in a loop in that loop."""
    cdef NodeId child
    cdef ValueId last
    if s.nodes.kind[node] == node_block:
        if s.nodes.order_count[node] == 0:
            return False
        last = s.order.instruction[s.nodes.order_first[node] + s.nodes.order_count[node] - 1]
        return s.instructions.kind[last] == nir_jump and (not nested or s.instructions.opcode[last] < jump_break)
    nested = nested or s.nodes.kind[node] == node_loop
    child = s.nodes.first0[node]
    while child:
        if _may_leave(s, child, nested):
            return True
        child = s.nodes.next[child]
    child = s.nodes.first1[node] if s.nodes.kind[node] == node_if else 0
    while child:
        if _may_leave(s, child, nested):
            return True
        child = s.nodes.next[child]
    return False


cdef void note_always_runs(const ShaderData *s, NodeId loop, vector[bint] &always_runs) noexcept nogil:
    cdef NodeId node = s.nodes.first0[loop]
    while node:
        always_runs[node] = True
        if _may_leave(s, node, False):
            return
        node = s.nodes.next[node]


# -------------------------------------------------------------------------------------------------------------------------- moves
cdef bint _is_invariant(const ShaderData *s, ValueId i) noexcept nogil:
    """Whether the instruction gives the same wherever it runs."""
    cdef int opcode = s.instructions.opcode[i]
    cdef uint32_t flags
    if s.instructions.kind[i] == nir_alu:
        return True
    if s.instructions.kind[i] != nir_intrinsic:
        return False
    if opcode == intrinsic_load_ssbo or opcode == intrinsic_load_global or opcode == intrinsic_load_global_amd:
        return intrinsic_index(s, i, index_access) & access_can_reorder != 0
    flags = intrinsic_flags[opcode]
    return flags & intrinsic_flag_can_eliminate != 0 and flags & intrinsic_flag_can_reorder != 0 and not flags & intrinsic_flag_convergent


cdef bint _sources_are_outside(const Context *c, ValueId i, NodeId loop) noexcept nogil:
    cdef const ShaderData *s = c.s
    cdef RowRange sources = sources_of(s, i)
    cdef uint32_t row
    for row in range(sources.first, sources.first + sources.count):
        if not value_is_constant(s, s.sources.value[row]) and is_in_loop(s, c.home[s.sources.value[row]], loop):
            return False
    return True


cdef int _take_constants(Context *c, ValueId i, NodeId target) except -1 nogil:
    """Constants that an instruction reads go before the loop with it."""
    cdef ShaderData *s = c.s
    cdef RowRange sources = sources_of(s, i)
    cdef uint32_t row
    cdef ValueId value
    cdef NodeId around
    for row in range(sources.first, sources.first + sources.count):
        value = s.sources.value[row]
        around = s.nodes.next[target]
        if value_is_constant(s, value) and is_in_loop(s, c.home[value], around):
            c.home[value] = target
            _append(c, value, target)
    return 0


cdef int _append(Context *c, ValueId i, NodeId target) except -1 nogil:
    if c.number[target] == 0:
        c.moved.push_back(vector[ValueId]())
        c.number[target] = <uint32_t>c.moved.size()
    c.moved[c.number[target] - 1].push_back(i)
    return 0


cdef NodeId _target(const Context *c, ValueId i, NodeId block) noexcept nogil:
    """The block before the outermost loop that an instruction may leave; its own block if none."""
    cdef NodeId loop = node_loop_around(c.s, block)
    while loop and c.always_runs[block] and _sources_are_outside(c, i, loop):
        block = c.s.nodes.previous[loop]
        loop = node_loop_around(c.s, block)
    return block


cdef int _write(Context *c) except -1 nogil:
    cdef ShaderData *s = c.s
    cdef ShaderRewrite rewrite
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef ValueId i
    shader_rewrite_begin(&rewrite, s)
    while block:
        shader_rewrite_block(&rewrite, block)
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            if c.home[s.order.instruction[row]] == block:
                shader_rewrite_emit(&rewrite, s.order.instruction[row])
        if c.number[block]:
            for i in c.moved[c.number[block] - 1]:
                if c.home[i] == block:
                    shader_rewrite_emit(&rewrite, i)
        block = block_walk_next(s, block)
    return shader_rewrite_end(&rewrite)


cdef int _find_homes(Context *c) noexcept nogil:
    """Where every instruction is; returns the number of loops."""
    cdef ShaderData *s = c.s
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef int loops = 0
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            c.home[s.order.instruction[row]] = block
        if s.nodes.next[block] and s.nodes.kind[s.nodes.next[block]] == node_loop:
            note_always_runs(s, s.nodes.next[block], c.always_runs)
            loops += 1
        block = block_walk_next(s, block)
    return loops


cdef bint opt_licm_run(ShaderData *s) except -1 nogil:
    cdef Context c
    cdef NodeId block = node_first_block(s)
    cdef NodeId target
    cdef OrderRow row
    cdef ValueId i
    c.s = s
    c.home.assign(s.instructions.table.count)
    c.always_runs.assign(s.nodes.table.count, False)
    c.number.assign(s.nodes.table.count, 0)
    if _find_homes(&c) == 0:
        return False
    while block:
        if c.always_runs[block] and s.nodes.kind[s.nodes.parent[block]] == node_loop:
            for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
                i = s.order.instruction[row]
                if not _is_invariant(s, i):
                    continue
                target = _target(&c, i, block)
                if target != block:
                    _take_constants(&c, i, target)
                    c.home[i] = target
                    _append(&c, i, target)
        block = block_walk_next(s, block)
    if c.moved.empty():
        return False
    _write(&c)
    return True


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_licm_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Move what loops do not change before them; True when something has moved."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
