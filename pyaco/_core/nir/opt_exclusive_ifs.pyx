"""Ifs in the else lists of each other become ifs behind each other, where at most one of them is taken.

A switch is read as such a chain: its conditions compare one value with different constants. Where lanes decide otherwise, a list inside an else
costs a branch and two changes of the mask of lanes more than one that stands behind; where they decide alike, a jump over all that follows.
What a case gives, and no other, then is a phi between it and an undefined value, which a small case that becomes selections needs none of.

    if a == 1 {A} else { if a == 2 {B} else { if a == 3 {C} else {} } }    ->    if a == 1 {A}; if a == 2 {B}; if a == 3 {C}

A chain whose innermost else list has something in it, the default of a switch, stays: one if around all of them, that asks whether any is taken,
was measured to cost more than it saves.

Needs: local variables (what leaves an if does so through them; an if with phis behind stays). Guarantees: valid NIR. Two walks over the
nodes. Mesa's reader of SPIR-V makes a switch so from the start (``vtn_structured_cfg.c``).
"""
from libc.stdint cimport uint64_t
from libcpp.algorithm cimport sort
from libcpp.vector cimport vector

from nir_opcodes cimport alu_ieq, alu_ior

from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, Shader, ShaderData, ValueId, constant_bits, nir_alu, nir_phi, node_block, node_if, node_insert_after, node_remove,
    node_walk_next, source_value, value_is_constant,
)

cdef enum:
    most_conditions = 64          # comparisons that one condition consists of

cdef struct Chain:
    ValueId selector
    vector[NodeId] ifs
    vector[uint64_t] constants


cdef bint _is_empty(const ShaderData *s, NodeId block) noexcept nogil:
    return s.nodes.kind[block] == node_block and s.nodes.order_count[block] == 0


cdef bint _compares(const ShaderData *s, ValueId condition, Chain *chain) except -1 nogil:
    """Whether a condition is that the selector equals one of some constants, which are added to the chain's."""
    cdef size_t before = chain.constants.size()
    cdef vector[ValueId] todo
    cdef ValueId value
    cdef ValueId compared
    todo.push_back(condition)
    while todo.size():
        value = todo.back()
        todo.pop_back()
        if s.instructions.kind[value] != nir_alu or s.instructions.components[value] != 1:
            break
        if s.instructions.opcode[value] == alu_ior:
            todo.push_back(source_value(s, value, 0))
            todo.push_back(source_value(s, value, 1))
            continue
        compared = source_value(s, value, 0)
        if s.instructions.opcode[value] != alu_ieq or s.instructions.components[compared] != 1 or value_is_constant(s, compared) \
                or not value_is_constant(s, source_value(s, value, 1)) or (chain.selector and chain.selector != compared) \
                or chain.constants.size() - before == most_conditions:
            break
        chain.selector = compared
        chain.constants.push_back(constant_bits(s, source_value(s, value, 1), 0))
    else:
        return True
    chain.constants.resize(before)
    return False


cdef NodeId _if_in_else(const ShaderData *s, NodeId node) noexcept nogil:
    """The if that is all that stands in the else list of an if; 0: none."""
    cdef NodeId first = s.nodes.first1[node]
    cdef NodeId inner = s.nodes.next[first]
    if inner == 0 or s.nodes.kind[inner] != node_if or not _is_empty(s, first) or not _is_empty(s, s.nodes.next[inner]) \
            or s.nodes.next[s.nodes.next[inner]]:
        return 0
    return inner


cdef bint _has_phis(const ShaderData *s, NodeId block) noexcept nogil:
    return s.nodes.order_count[block] != 0 and s.instructions.kind[s.order.instruction[s.nodes.order_first[block]]] == nir_phi


cdef bint _distinct(Chain *chain) noexcept nogil:
    """Whether no constant comes twice; they are in order then."""
    cdef size_t k
    sort(chain.constants.begin(), chain.constants.end())
    for k in range(1, chain.constants.size()):
        if chain.constants[k - 1] == chain.constants[k]:
            return False
    return True


cdef bint _find(const ShaderData *s, NodeId head, Chain *chain) except -1 nogil:
    """Find the chain that begins with an if."""
    cdef NodeId node = head
    chain.selector = 0
    chain.ifs.clear()
    chain.constants.clear()
    if _has_phis(s, s.nodes.next[head]) or _if_in_else(s, head) == 0:
        return False
    while node and _compares(s, s.nodes.condition[node], chain):
        chain.ifs.push_back(node)
        node = _if_in_else(s, node)
    return chain.ifs.size() > 1 and _distinct(chain)


cdef bint _ends_empty(const ShaderData *s, NodeId node) noexcept nogil:
    return _is_empty(s, s.nodes.first1[node]) and s.nodes.next[s.nodes.first1[node]] == 0


cdef void _move_behind(ShaderData *s, NodeId outer, NodeId inner) noexcept nogil:
    """Move an if out of the else list of another, whose first block stays there, to behind it."""
    cdef NodeId between = s.nodes.next[inner]
    node_remove(s, between)
    node_remove(s, inner)
    node_insert_after(s, between, outer)
    node_insert_after(s, inner, between)


cdef bint opt_exclusive_ifs_run(ShaderData *s) except -1 nogil:
    cdef Chain chain
    cdef vector[bint] kept        # by node: in a chain that stays
    cdef NodeId node = 1
    cdef size_t k
    cdef bint progress = False
    kept.resize(s.nodes.table.count)
    while node:
        if s.nodes.kind[node] == node_if and not kept[node] and _find(s, node, &chain):
            if _ends_empty(s, chain.ifs.back()):
                for k in range(1, chain.ifs.size()):
                    _move_behind(s, chain.ifs[k - 1], chain.ifs[k])
                progress = True
            else:
                for k in range(chain.ifs.size()):
                    kept[chain.ifs[k]] = True
        node = node_walk_next(s, node)
    return progress


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_exclusive_ifs_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Put ifs behind each other of which at most one is taken; True when there were any."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
