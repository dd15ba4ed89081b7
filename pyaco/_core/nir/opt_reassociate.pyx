"""Chains of one associative operation are put together anew, where that takes less.

    ((d + u) + 3) + (v + 5)   ->   ((u + v) + d) + 8        d differs between lanes, u and v do not

Operands of a chain are those of operations of one opcode (sums: differences and negations too) of which nothing else reads the results in between.
What they become:

- constants become one, which stays outermost, where it is the offset of an address;
- equal operands are one (minimum, maximum, and, or), or nothing (xor; ``a - a``);
- two products with a common factor become one, of the sum of the others;
- what loops around leave as it is is put together first, for ``opt_licm`` to take it out;
- what is the same in all lanes is put together for the scalar unit;
- two operands that other chains of the block have too are put together, for ``cse``.

Each form has a cost: operations by their unit's rate, eight times as much in each loop, three operands of one instruction where the chip adds
them at once (``v_add3_u32``, ``v_lshl_add_u32``), products of a sum free. A chain is rewritten only where it becomes cheaper; so two uniform summands
stay in the one ``v_add3_u32`` that adds them to a third. Float chains are touched where nothing in them is exact.

Needs: scalar ALU operations, LCSSA, divergence. Guarantees: valid NIR; LCSSA and divergence stay. What is replaced is dead. Sources of the idea:
Briggs and Cooper, "Effective Partial Redundancy Elimination" (1994), for ranks; LLVM's Reassociate, as its header describes it, for common pairs.
"""
from cython.operator cimport dereference
from libc.stdint cimport uint32_t, uint64_t
from libcpp.algorithm cimport sort
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from nir_opcodes cimport alu_fadd, alu_fmul, alu_iadd, alu_imul, alu_isub, alu_ixor
from pyaco._core.ir.emitter cimport component, constant
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, ValueId, block_walk_next, nir_alu, nir_divergent, nir_no_unsigned_wrap, node_first_block,
    source_swizzle, source_value, swizzle_component, value_is_constant,
)
from pyaco._core.nir.associative_chains cimport (
    Chain, Context, Operand, Pair, Sharing, chain_begin, chains_begin, ends_chain, may_pair, pair_cost, pair_key, role_root,
)
from pyaco._core.nir.chain_forms cimport best_form, build_form, emit_in_chain, emit_operation, present_cost
from pyaco._core.nir.lowering cimport Lowering, lower_alu, lower_keep, lowering_run

cdef enum:
    most_paired = 10              # operands of a chain whose pairs are counted


# ------------------------------------------------------------------------------------------------------------- fewer operands
cdef inline bint _same(const Operand *a, const Operand *b) noexcept nogil:
    return a.value == b.value and a.component == b.component


cdef int _drop(Chain *chain, size_t k) noexcept nogil:
    chain.operands.erase(chain.operands.begin() + k)
    chain.shrinks = True
    return 0


cdef int _merge_equal(Chain *chain) noexcept nogil:
    """Operands that cancel one another, or of which one is enough."""
    cdef bint once = chain.opcode not in (alu_iadd, alu_imul, alu_fadd, alu_fmul, alu_ixor)
    cdef size_t i = 0
    cdef size_t j
    while i < chain.operands.size():
        j = i + 1
        while j < chain.operands.size() and not _same(&chain.operands[i], &chain.operands[j]):
            j += 1
        if j == chain.operands.size():
            i += 1
        elif once:
            _drop(chain, j)
        elif chain.opcode == alu_ixor or chain.operands[i].negative != chain.operands[j].negative:
            _drop(chain, j)
            _drop(chain, i)
        else:
            i += 1
    return 0


cdef bint _is_product(const Context *c, const Operand *operand) noexcept nogil:
    """A product that only the chain reads, and that does not cost as little as the sum alone."""
    cdef const ShaderData *s = c.s
    return (operand.value < c.uses.size() and c.uses[operand.value] == 1 and s.instructions.kind[operand.value] == nir_alu
            and s.instructions.opcode[operand.value] == alu_imul and s.instructions.components[operand.value] == 1 and not operand.fuses
            and not value_is_constant(s, source_value(s, operand.value, 0)) and not value_is_constant(s, source_value(s, operand.value, 1)))


cdef Operand _source_operand(const ShaderData *s, ValueId i, uint32_t source) noexcept nogil:
    cdef ValueId value = source_value(s, i, source)
    cdef uint32_t index = swizzle_component(source_swizzle(s, i, source), 0)
    return Operand(value, index, 0, False, s.instructions.flags[value] & nir_divergent != 0, False, 0, False)


cdef bint _factor(Context *c, Lowering *b, size_t i, size_t j) except -1 nogil:
    """Let two products of a sum be one, if they have a factor in common."""
    cdef Operand *first = &c.chain.operands[i]
    cdef Operand *second = &c.chain.operands[j]
    cdef Operand common, one, other
    cdef uint32_t k
    for k in range(4):
        common = _source_operand(c.s, first.value, k & 1)
        one = _source_operand(c.s, second.value, k >> 1)
        if not _same(&common, &one):
            continue
        one = _source_operand(c.s, first.value, 1 - (k & 1))
        other = _source_operand(c.s, second.value, 1 - (k >> 1))
        other.negative = first.negative != second.negative
        emit_operation(b, alu_isub if other.negative else alu_iadd, &one, &other, &one)
        emit_operation(b, alu_imul, &common, &one, &common)
        common.negative = first.negative
        common.level = max(first.level, second.level)
        first[0] = common
        _drop(&c.chain, j)
        return True
    return False


cdef int _factor_products(Context *c, Lowering *b) except -1 nogil:
    cdef size_t i = 0
    cdef size_t j
    while i < c.chain.operands.size():
        j = i + 1 if _is_product(c, &c.chain.operands[i]) else c.chain.operands.size()
        while j < c.chain.operands.size() and not (_is_product(c, &c.chain.operands[j]) and _factor(c, b, i, j)):
            j += 1
        i += 1
    return 0


# -------------------------------------------------------------------------------------------------------------- common pairs
cdef bint _costs_nothing(const Context *c) noexcept nogil:
    """A product of two that is part of an `ffma`."""
    return (c.chain.opcode == alu_fmul and c.chain.operands.size() == 2 and c.uses[c.chain.root] == 1
            and c.reader[c.chain.root] == alu_fadd)


cdef int _count_pairs(Context *c, int change) except -1 nogil:
    """Note that there is one chain more, or less, that has the pairs of this one."""
    cdef vector[Operand] *operands = &c.chain.operands
    cdef vector[uint64_t] keys
    cdef size_t i, j
    if _costs_nothing(c):
        return 0
    for i in range(min(operands.size(), <size_t>most_paired)):
        for j in range(i):
            if may_pair(&operands[0][i], &operands[0][j]):
                keys.push_back(pair_key(c, &operands[0][i], &operands[0][j]))
    sort(keys.begin(), keys.end())                 # of equal operands each pair counts once
    for i in range(keys.size()):
        if i == 0 or keys[i] != keys[i - 1]:
            c.pairs[keys[i]].chains += change
    return 0


cdef bint _is_together(const Context *c, const Operand *a, const Operand *b) noexcept nogil:
    cdef uint64_t key = pair_key(c, a, b)
    cdef size_t k
    for k in range(c.chain.together.size()):
        if c.chain.together[k].key == key:
            return True
    return False


cdef Sharing *_best_pair(Context *c, size_t *first, size_t *second) noexcept nogil:
    """The two operands of the chain that are together already, or else that most later chains have too; NULL if none have."""
    cdef vector[Operand] *operands = &c.chain.operands
    cdef unordered_map[uint64_t, Sharing].iterator found
    cdef Sharing *best = NULL
    cdef Sharing *sharing
    cdef size_t i, j
    for i in range(min(operands.size(), <size_t>most_paired)):
        for j in range(i):
            if not may_pair(&operands[0][i], &operands[0][j]):
                continue
            found = c.pairs.find(pair_key(c, &operands[0][i], &operands[0][j]))
            if found == c.pairs.end():
                continue
            sharing = &dereference(found).second
            if (sharing.made or sharing.chains > 1) and (
                    best == NULL or sharing.made > best.made or sharing.made == best.made and sharing.chains > best.chains):
                best = sharing
                first[0], second[0] = j, i
    return best


cdef uint32_t _pair_up(Context *c, uint32_t least, bint *gather, bint *hoist) except? 0xffffffffU nogil:
    """Put operands together that other chains have too, as long as the chains become cheaper by more than the pair costs; returns the cost."""
    cdef vector[Operand] before
    cdef size_t first = 0
    cdef size_t second = 0
    cdef Sharing *sharing = _best_pair(c, &first, &second) if c.chain.operands.size() > 2 else NULL
    cdef uint32_t cost, its_cost, readers
    cdef Operand pair
    while sharing != NULL:
        before = c.chain.operands
        pair = before[first]
        pair.value, pair.component, pair.fuses, pair.pair = 0, 0, False, <uint32_t>c.chain.pairs.size()
        c.chain.operands[first] = pair
        c.chain.operands.erase(c.chain.operands.begin() + second)
        cost = best_form(c, gather, hoist)
        its_cost = 0 if sharing.made else pair_cost(c, &pair)
        readers = 1 if _is_together(c, &before[first], &before[second]) else max(sharing.chains, <uint32_t>1)
        if cost >= least or (least - cost) * <uint64_t>readers <= its_cost:
            c.chain.operands = before
            best_form(c, gather, hoist)
            break
        c.chain.pairs.push_back(Pair(before[first], before[second]))
        least = cost + its_cost // readers
        sharing = _best_pair(c, &first, &second) if c.chain.operands.size() > 2 else NULL
    return least


cdef int _note_made_pairs(Context *c, bint changed) except -1 nogil:
    """Later chains find the pairs that this one begins with."""
    cdef size_t k
    for k in range(c.chain.pairs.size() if changed else 0):
        c.pairs[pair_key(c, &c.chain.pairs[k].first, &c.chain.pairs[k].second)].made = True
    for k in range(0 if changed or _costs_nothing(c) else c.chain.together.size()):
        c.pairs[c.chain.together[k].key].made = True
    return 0


# ---------------------------------------------------------------------------------------------------------------------- walk
cdef ValueId _finish(Context *c, Lowering *b, bint gather, bint hoist) except? 0xffffffffU nogil:
    """Emit the chain, its constants last."""
    cdef ShaderData *s = c.s
    cdef Chain *chain = &c.chain
    cdef Operand result, number
    cdef bint has_constant = chain.constants != 0
    if chain.operands.empty():                     # all of them cancel one another
        return constant(b, chain.constant if has_constant else 0, chain.bits)
    build_form(c, b, gather, hoist, &result)
    if not has_constant and result.negative:
        chain.constant = 0
        has_constant = True
    if has_constant:
        number = Operand(constant(b, chain.constant, chain.bits), 0, 0, False, False, False, 0, False)
        emit_in_chain(c, b, &result, &number, &result)
        if chain.constant_stays:
            s.instructions.flags[result.value] |= nir_no_unsigned_wrap
    return component(b, result.value, result.component)


cdef int _note_origin(Context *c, ValueId made, ValueId i) except -1 nogil:
    """What has taken the place of a value stands for it in the keys of pairs."""
    if made < c.uses.size():       # an operand that was left over
        return 0
    if made - c.uses.size() >= c.origin.size():
        c.origin.resize(made - c.uses.size() + 1)
    c.origin[made - c.uses.size()] = i
    return 0


cdef ValueId _lower(Lowering *b, ValueId i) except? 0xffffffffU nogil:
    cdef Context *c = <Context *>b.context
    cdef ShaderData *s = b.s
    cdef uint32_t present
    cdef uint32_t cost = 0
    cdef bint gather = False
    cdef bint hoist = False
    cdef bint changes
    cdef vector[Operand] before
    cdef ValueId result = 0
    if i >= c.roles.size() or not c.roles[i] & role_root:
        return lower_keep
    chain_begin(c, i)
    if c.chain.operands.size() + c.chain.constants < 3:
        _count_pairs(c, -1)
        _note_made_pairs(c, False)
        return lower_keep
    present = present_cost(c)
    c.chain.shrinks = c.chain.constants > 1
    before = c.chain.operands
    _merge_equal(&c.chain)
    if c.chain.opcode == alu_iadd:
        _factor_products(c, b)
    if not c.chain.operands.empty():
        cost = _pair_up(c, best_form(c, &gather, &hoist), &gather, &hoist)
    changes = cost < present or c.chain.shrinks
    if changes:
        result = _finish(c, b, gather, hoist)
    _note_made_pairs(c, changes)
    c.chain.operands.swap(before)
    _count_pairs(c, -1)
    if not changes:
        return lower_keep
    if hoist and s.instructions.flags[i] & nir_divergent:
        c.hoisted[s.nodes.parent[s.instructions.block[i]]] += 1
    _note_origin(c, result, i)
    return result


cdef int _count_all_pairs(Context *c) except -1 nogil:
    cdef ShaderData *s = c.s
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef ValueId i
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            i = s.order.instruction[row]
            if s.instructions.kind[i] == nir_alu and ends_chain(c, i):
                c.roles[i] |= role_root
                chain_begin(c, i)
                _count_pairs(c, 1)
        block = block_walk_next(s, block)
    return 0


cdef bint opt_reassociate_run(ShaderData *s) except -1 nogil:
    cdef Context c
    if not chains_begin(&c, s):
        return False
    _count_all_pairs(&c)
    return lowering_run(s, lower_alu, &_lower, &c)


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_reassociate_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Put chains of one operation together anew where that takes less; True when one was."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
