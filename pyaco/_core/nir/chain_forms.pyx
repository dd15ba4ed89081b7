"""The forms of a chain of one associative operation: what each costs, and its operations.

One function makes a form, or only counts what it would cost, so that the two agree. What a chain costs as it is, is counted by the same rules: parts
of one unit, in the same loops, are one sum of many operands.
"""
from libc.stdint cimport uint32_t
from libcpp.algorithm cimport rotate
from libcpp.vector cimport vector

from nir_opcodes cimport alu_isub
from pyaco._core.ir.emitter cimport emit
from pyaco._core.ir.shader cimport (
    ShaderData, SourceRow, ValueId, nir_alu, nir_divergent, nir_instruction_new, nir_no_unsigned_wrap, source_value, value_is_constant,
)
from pyaco._core.nir.associative_chains cimport (
    Chain, Context, Operand, Pair, chain_goes_on, loops_weight, takes_three, unit_cost,
)
from pyaco._core.nir.lowering cimport Lowering

cdef enum:
    most_hoisted = 16             # sums that a loop leaves as they are, and that are carried through it in vector registers

cdef struct Inputs:               # of operations that one unit does together
    uint32_t uniform
    uint32_t varying
    uint32_t fusing               # of those that vary
    uint32_t negative             # that are taken away
    bint varies                   # any of them

cdef struct Part:                 # of a chain as it is
    Inputs inputs                 # that have not been counted yet
    uint32_t level
    bint varies


# ------------------------------------------------------------------------------------------------------------ costs as it is
cdef uint32_t _cost(const Context *c, const Inputs *inputs, uint32_t level) noexcept nogil:
    """What it costs to make one value of inputs, in loops of so many levels."""
    cdef const Chain *chain = &c.chain
    cdef uint32_t together = inputs.uniform + inputs.varying
    cdef uint32_t operations = max(together - min(inputs.fusing, together), <uint32_t>1) - 1
    if together == 0:
        operations = inputs.negative - 1
    else:
        if inputs.varies and takes_three(c):
            operations = (operations + 1) // 2
            if c.s.info.gfx_level < 100 and inputs.uniform > 1:
                operations = max(operations, inputs.uniform)      # an instruction reads one scalar register
        operations += inputs.negative
    return loops_weight(level) * unit_cost(chain, inputs.varies) * operations


cdef void _count(Inputs *inputs, const Operand *operand) noexcept nogil:
    inputs.varies = inputs.varies or operand.varies
    if operand.negative:
        inputs.negative += 1
    elif operand.varies:
        inputs.varying += 1
        inputs.fusing += operand.fuses
    else:
        inputs.uniform += 1


cdef uint32_t _number(const Inputs *inputs) noexcept nogil:
    return inputs.uniform + inputs.varying + inputs.negative


cdef void _take_part(Context *c, Part *part, const Part *inner, bint negative, uint32_t *cost) noexcept nogil:
    """Count the operations in the middle of a chain with those that read them, where these stand at the same place and on the same unit."""
    cdef Operand value
    if _number(&inner.inputs) == 0:
        return
    if not negative and (inner.level == part.level and inner.varies == part.varies or _number(&inner.inputs) == 1):
        part.inputs.uniform += inner.inputs.uniform
        part.inputs.varying += inner.inputs.varying
        part.inputs.fusing += inner.inputs.fusing
        part.inputs.negative += inner.inputs.negative
        part.inputs.varies = part.inputs.varies or inner.inputs.varies
        return
    cost[0] += _cost(c, &inner.inputs, inner.level)
    value.varies, value.negative, value.fuses = inner.varies, negative, False
    _count(&part.inputs, &value)


cdef Part _part_of_operand(const Operand *operand) noexcept nogil:
    cdef Part part
    cdef Operand value = operand[0]
    value.negative = False        # of the whole chain; whoever reads it here knows its own sign
    part.inputs = Inputs(0, 0, 0, 0, False)
    part.level, part.varies = operand.level, operand.varies
    _count(&part.inputs, &value)
    return part


cdef Part _present_part(Context *c, ValueId i, uint32_t depth, uint32_t *seen, uint32_t *cost) noexcept nogil:
    """The part of the chain from an operation on, and the cost of what is below it. Operands come in the order in which `chain_begin` saw them."""
    cdef ShaderData *s = c.s
    cdef Part part
    cdef Part[2] inner
    cdef uint32_t count = s.instructions.source_count[i]
    cdef uint32_t k
    part.inputs = Inputs(0, 0, 0, 0, False)
    part.level = 0
    part.varies = s.instructions.flags[i] & nir_divergent != 0
    for k in range(count):
        inner[k].inputs = part.inputs
        inner[k].level, inner[k].varies = 0, False
        if value_is_constant(s, source_value(s, i, k)):
            continue
        if chain_goes_on(c, source_value(s, i, k), depth, seen[0]):
            inner[k] = _present_part(c, source_value(s, i, k), depth + 1, seen, cost)
        else:
            inner[k] = _part_of_operand(&c.chain.operands[seen[0]])
            seen[0] += 1
        part.level = max(part.level, inner[k].level)
    for k in range(count):
        _take_part(c, &part, &inner[k], s.instructions.opcode[i] == alu_isub and k == 1, cost)
    return part


cdef uint32_t present_cost(Context *c) except? 0xffffffffU nogil:
    cdef uint32_t cost = 0
    cdef uint32_t seen = 0
    cdef Part part = _present_part(c, c.chain.root, 0, &seen, &cost)
    cdef size_t k
    if _number(&part.inputs):
        cost += _cost(c, &part.inputs, c.chain.level)
    for k in range(c.chain.together.size()):
        if c.pairs[c.chain.together[k].key].made:        # cse finds that
            cost -= min(cost, c.chain.together[k].cost)
    return cost


# ----------------------------------------------------------------------------------------------------------------- new forms
cdef int emit_operation(Lowering *b, int opcode, const Operand *x, const Operand *y, Operand *result) except -1 nogil:
    """An operation on two values, placed."""
    cdef ShaderData *s = b.s
    cdef ValueId i = nir_instruction_new(s, nir_alu, opcode, 1, s.instructions.bit_size[x.value], 2)
    cdef SourceRow row = s.instructions.source_first[i]
    s.sources.value[row], s.sources.swizzle[row] = x.value, x.component
    s.sources.value[row + 1], s.sources.swizzle[row + 1] = y.value, y.component
    result[0] = Operand(i, 0, 0, False, x.varies or y.varies, False, max(x.level, y.level), False)
    if result.varies:
        s.instructions.flags[i] |= nir_divergent
    emit(b, i)
    return 0


cdef int emit_in_chain(Context *c, Lowering *b, const Operand *x, const Operand *y, Operand *result) except -1 nogil:
    cdef int opcode = c.chain.opcode
    cdef bint negative = x.negative
    if x.negative != y.negative:
        opcode = alu_isub
        if x.negative:
            x, y = y, x
            negative = False
    emit_operation(b, opcode, x, y, result)
    result.negative = negative
    if c.chain.no_unsigned_wrap:
        c.s.instructions.flags[result.value] |= nir_no_unsigned_wrap
    return 0


cdef int _make(Context *c, Lowering *b, Operand *operand) except -1 nogil:
    """Let an operand that stands for a pair be its value."""
    cdef Pair pair
    if operand.value == 0:
        pair = c.chain.pairs[operand.pair]
        emit_in_chain(c, b, &pair.first, &pair.second, operand)
    return 0


cdef bint _comes_before(const Operand *a, const Operand *b, bint varying_first) noexcept nogil:
    return a.negative < b.negative or varying_first and a.negative == b.negative and a.varies > b.varies


cdef void _put_in_order(const Context *c, vector[Operand] &operands) noexcept nogil:
    """What is taken away comes last. Where three operands are taken at once, what varies comes first, in the innermost loop if there is such, so that
    no two of the others are put together apart from that."""
    cdef bint three = takes_three(c)
    cdef Operand operand
    cdef size_t first = 0
    cdef size_t k, place
    for k in range(1, operands.size()):            # few, and most in order
        place = k
        while place and _comes_before(&operands[k], &operands[place - 1], three):
            place -= 1
        if place != k:
            operand = operands[k]
            operands.erase(operands.begin() + k)
            operands.insert(operands.begin() + place, operand)
    if not three:
        return
    for k in range(1, operands.size()):
        if operands[k].negative == operands[0].negative and operands[k].level > operands[first].level:
            first = k
    rotate(operands.begin(), operands.begin() + first, operands.begin() + first + 1)


cdef int _join(Context *c, Lowering *b, vector[Operand] &operands, uint32_t level, uint32_t *cost) except -1 nogil:
    """Let several operands be one: what it costs, and where there is a `b` the operations."""
    cdef Inputs inputs = Inputs(0, 0, 0, 0, False)
    cdef Operand result, next
    cdef size_t k
    _put_in_order(c, operands)
    for k in range(operands.size()):
        _count(&inputs, &operands[k])
    cost[0] += _cost(c, &inputs, level)
    result = operands[0]
    if b != NULL:
        _make(c, b, &result)
    for k in range(1, operands.size() if b != NULL else 0):
        next = operands[k]
        _make(c, b, &next)
        emit_in_chain(c, b, &result, &next, &result)
    result.fuses = result.fuses and operands.size() == 1
    result.varies = inputs.varies
    result.level = max(level, result.level)
    operands.assign(1, result)
    return 0


cdef int _gather(Context *c, Lowering *b, vector[Operand] &operands, uint32_t level, uint32_t *cost) except -1 nogil:
    """Put together what is uniform among operands of which others vary."""
    cdef vector[Operand] uniform, rest
    cdef size_t k
    for k in range(operands.size()):
        if operands[k].varies:
            rest.push_back(operands[k])
        else:
            uniform.push_back(operands[k])
    if uniform.size() < 2 or rest.empty():
        return 0
    _join(c, b, uniform, level, cost)
    rest.push_back(uniform[0])
    operands.swap(rest)
    return 0


cdef uint32_t build_form(Context *c, Lowering *b, bint gather, bint hoist, Operand *result) except? 0xffffffffU nogil:
    """The chain in a new form: with what is uniform put together, with what loops leave as it is put together; returns its cost."""
    cdef vector[Operand] waiting
    cdef uint32_t cost = 0
    cdef uint32_t level
    cdef size_t k
    waiting.reserve(c.chain.operands.size())
    for level in range(c.chain.level + 1):
        for k in range(c.chain.operands.size()):
            if c.chain.operands[k].level == level:
                waiting.push_back(c.chain.operands[k])
        if waiting.size() < 2 or not hoist and level < c.chain.level:
            continue
        if gather:
            _gather(c, b, waiting, level, &cost)
        _join(c, b, waiting, level, &cost)
    result[0] = waiting[0]
    return cost


cdef uint32_t best_form(Context *c, bint *gather, bint *hoist) except? 0xffffffffU nogil:
    """The least cost of a form, and which it is."""
    cdef uint32_t least = 0xffffffffU
    cdef uint32_t uniform = 0
    cdef uint32_t form, cost
    cdef size_t k
    cdef Operand result
    cdef bint may_hoist = c.chain.level != 0 and c.hoisted[c.s.nodes.parent[c.s.instructions.block[c.chain.root]]] < most_hoisted
    for k in range(c.chain.operands.size()):
        uniform += not c.chain.operands[k].varies
    for form in range(4 if may_hoist else 2):
        if form & 1 and (uniform < 2 or uniform == c.chain.operands.size()):       # there is nothing to gather
            continue
        cost = build_form(c, NULL, form & 1, form >> 1, &result)
        if cost < least:
            least = cost
            gather[0], hoist[0] = form & 1, form >> 1
    return least
