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
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.algorithm cimport rotate, sort, stable_partition, stable_sort
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from nir_opcodes cimport (
    alu_count, alu_fadd, alu_fmax, alu_fmin, alu_fmul, alu_iadd, alu_iand, alu_imax, alu_imin, alu_imul, alu_ineg, alu_ior, alu_ishl, alu_isub,
    alu_ixor, alu_umax, alu_umin,
)
from pyaco._core.common.bits cimport low_mask
from pyaco._core.common.hashing cimport hash_mix
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.emitter cimport component, constant, emit
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.range_analysis cimport Ranges, ranges_begin, unsigned_upper_bound
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, RowRange, Shader, ShaderData, SourceRow, ValueId, block_walk_next, constant_bits, nir_alu, nir_divergent, nir_exact,
    nir_instruction_new, nir_no_unsigned_wrap, node_first_block, node_if, node_loop, node_walk_next, preserve_special16,
    preserve_special32, preserve_special64, source_swizzle, source_value, sources_of, swizzle_component, value_is_constant,
)
from pyaco._core.nir.dominance cimport node_loop_around
from pyaco._core.nir.evaluate cimport evaluate_alu
from pyaco._core.nir.lowering cimport Lowering, lower_alu, lower_keep, lowering_run
from pyaco._core.nir.opt_licm cimport note_always_runs

cdef enum:
    most_operands = 32            # of a chain
    most_paired = 10              # operands of a chain whose pairs are counted
    most_levels = 4               # of loops that make a difference
    most_hoisted = 16             # sums that a loop leaves as they are, and that are carried through it in vector registers
    loop_weight = 8               # trips of a loop that nobody knows

cdef enum:                        # Unit: what operations cost by the unit that computes them
    scalar_cost = 3
    vector_cost = 4
    product_cost = 16             # v_mul_lo_u32 runs at a quarter of the rate

cdef uint8_t[alu_count] _family   # by opcode: 0 none
cdef int[16] _opcode_of           # by family
cdef uint8_t[16] _three_operands  # by family: the first gfx level with an instruction of three operands of 32 bits, 0 none
for _index, (_opcodes, _first) in enumerate((
        ((alu_iadd, alu_isub, alu_ineg), 90), ((alu_imul,), 0), ((alu_iand,), 0), ((alu_ior,), 90), ((alu_ixor,), 100), ((alu_imin,), 60),
        ((alu_imax,), 60), ((alu_umin,), 60), ((alu_umax,), 60), ((alu_fadd,), 0), ((alu_fmul,), 0), ((alu_fmin,), 60), ((alu_fmax,), 60)), 1):
    _opcode_of[_index] = _opcodes[0]
    _three_operands[_index] = _first
    for _opcode in _opcodes:
        _family[_opcode] = _index

cdef struct Operand:
    ValueId value                 # 0: of two operands, `pair`
    uint32_t component
    uint32_t pair                 # row in `Chain.pairs`
    bint negative                 # of a sum
    bint varies                   # between lanes
    bint fuses                    # with the sum: what computes it adds as well
    uint32_t level                # loops around it

cdef struct Pair:
    Operand first
    Operand second

cdef struct Begun:
    uint64_t key                  # `_pair_key`
    uint32_t cost

cdef struct Sharing:              # of two operands
    uint32_t chains               # that have both, of this and later ones
    bint made                     # they have been put together

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

cdef struct Chain:
    ValueId root
    int opcode
    int bits
    uint32_t level                # of the root, if what its loops leave as it is can go before them; else 0
    bint no_unsigned_wrap         # of all sums
    bint constant_stays           # it is added last, as before, and that sum does not wrap
    vector[Operand] operands      # without constants
    vector[Pair] pairs            # that its new form begins with
    vector[Begun] together        # the pairs that it begins with as it is
    bint shrinks                  # it has fewer operands now
    uint32_t constants
    uint64_t constant             # all constants together

cdef cppclass Context:
    ShaderData *s
    Ranges ranges
    Zeroed[uint32_t] uses         # by value
    Zeroed[uint16_t] reader       # by value: the opcode of the last ALU instruction that reads it
    uint32_t families             # a bit for each that has chains of three or more
    Zeroed[bint] inner            # by value: only the chain reads it that it is in the middle of
    vector[bint] always_runs      # by node: every iteration of the loop around comes by
    vector[uint32_t] hoisted      # by loop node: sums that can go before it now
    unordered_map[uint64_t, Sharing] pairs        # by `_pair_key`
    vector[ValueId] origin        # by value that the pass has made: what it replaces, 0 nothing
    Chain chain                   # that is looked at


# ------------------------------------------------------------------------------------------------------------------- chains
cdef bint _may_change(const ShaderData *s, ValueId i) noexcept nogil:
    """Whether an operation is of a chain, and may be computed in another order."""
    cdef int opcode = s.instructions.opcode[i]
    cdef uint32_t preserve
    if s.instructions.kind[i] != nir_alu or s.instructions.components[i] != 1 or not _family[opcode]:
        return False
    if opcode not in (alu_fadd, alu_fmul, alu_fmin, alu_fmax):
        return True
    preserve = preserve_special16 if s.instructions.bit_size[i] == 16 else preserve_special64 if s.instructions.bit_size[i] == 64 \
        else preserve_special32
    return not s.instructions.flags[i] & nir_exact and not s.info.float_controls & preserve


cdef inline bint _belongs_to(const ShaderData *s, ValueId inner, ValueId reader) noexcept nogil:
    return (_family[s.instructions.opcode[inner]] == _family[s.instructions.opcode[reader]]
            and s.instructions.bit_size[inner] == s.instructions.bit_size[reader] and s.instructions.block[inner] == s.instructions.block[reader])


cdef void _note_uses(Context *c) noexcept nogil:
    cdef ShaderData *s = c.s
    cdef NodeId node = 1
    cdef OrderRow row
    cdef RowRange sources
    cdef SourceRow source
    while node:
        if s.nodes.kind[node] == node_if:
            c.uses[s.nodes.condition[node]] += 1
        for row in range(s.nodes.order_first[node], s.nodes.order_first[node] + s.nodes.order_count[node]):
            sources = sources_of(s, s.order.instruction[row])
            for source in range(sources.first, sources.first + sources.count):
                c.uses[s.sources.value[source]] += 1
                if s.instructions.kind[s.order.instruction[row]] == nir_alu:
                    c.reader[s.sources.value[source]] = s.instructions.opcode[s.order.instruction[row]]
        node = node_walk_next(s, node)


cdef void _note_inner(Context *c, ValueId reader) noexcept nogil:
    cdef ShaderData *s = c.s
    cdef RowRange sources = sources_of(s, reader)
    cdef SourceRow source
    cdef ValueId value
    for source in range(sources.first, sources.first + sources.count):
        value = s.sources.value[source]
        if c.uses[value] == 1 and _may_change(s, value) and _belongs_to(s, value, reader):
            c.inner[value] = True
            c.families |= 1 << _family[s.instructions.opcode[value]]


cdef bint _fuses(Context *c, ValueId value, int opcode) noexcept nogil:
    """Whether the instruction that computes an operand can do the operation of the chain with another one at once."""
    cdef const ShaderData *s = c.s
    cdef int own = s.instructions.opcode[value]
    if s.instructions.kind[value] != nir_alu or value >= c.uses.size() or c.uses[value] != 1:
        return False
    if opcode == alu_fadd:
        return own == alu_fmul and not s.instructions.flags[value] & nir_exact
    if s.instructions.bit_size[value] != 32 or s.info.gfx_level < 90:
        return False
    if opcode == alu_iadd and own == alu_imul:
        return _is_small(c, value, 0) and _is_small(c, value, 1)
    return opcode == alu_iadd and (own == alu_ishl or own == alu_ixor) or opcode == alu_ior and (own == alu_ishl or own == alu_iand)


cdef bint _is_small(Context *c, ValueId i, uint32_t source) noexcept nogil:
    """Whether v_mad_u32_u24 takes a source of a product."""
    return unsigned_upper_bound(&c.ranges, source_value(c.s, i, source), swizzle_component(source_swizzle(c.s, i, source), 0)) < 1 << 24


cdef uint32_t _level(const ShaderData *s, NodeId block) noexcept nogil:
    cdef uint32_t level = 0
    cdef NodeId loop = node_loop_around(s, block)
    while loop:
        level += 1
        loop = node_loop_around(s, loop)
    return level


cdef int _add_operand(Context *c, ValueId value, uint32_t index, bint negative) except -1 nogil:
    cdef ShaderData *s = c.s
    cdef Chain *chain = &c.chain
    cdef Operand operand
    cdef uint64_t[2] values
    cdef (const uint64_t *)[2] operands
    if value_is_constant(s, value):
        values[0] = constant_bits(s, value, index)
        if negative:
            values[0] = -values[0] & low_mask(chain.bits)
        if chain.constants:
            values[1] = chain.constant
            operands[0] = &values[1]
            operands[1] = &values[0]
            evaluate_alu(chain.opcode, chain.bits, chain.bits, 1, operands, &values[0])
        chain.constant = values[0]
        chain.constants += 1
        return 0
    operand.value, operand.component, operand.pair, operand.negative = value, index, 0, negative
    operand.varies = s.instructions.flags[value] & nir_divergent != 0
    operand.fuses = operand.varies and not negative and _fuses(c, value, chain.opcode)
    operand.level = min(_level(s, s.instructions.block[value]), chain.level) if chain.level else 0
    chain.operands.push_back(operand)
    return 0


cdef uint64_t _pair_key(const Context *c, const Operand *a, const Operand *b) noexcept nogil:
    """Of two operands in either order, in the chain's block."""
    cdef uint64_t x = hash_mix(_origin(c, a.value), a.component)
    cdef uint64_t y = hash_mix(_origin(c, b.value), b.component)
    return hash_mix(hash_mix(x + y, x ^ y), c.s.instructions.block[c.chain.root] * <uint64_t>alu_count + c.chain.opcode)


cdef inline ValueId _origin(const Context *c, ValueId value) noexcept nogil:
    """What a value was before the pass."""
    if value < c.uses.size() or value - c.uses.size() >= c.origin.size() or not c.origin[value - c.uses.size()]:
        return value
    return c.origin[value - c.uses.size()]


cdef inline bint _may_pair(const Operand *a, const Operand *b) noexcept nogil:
    return a.varies == b.varies and a.level == b.level and not a.negative and not b.negative and a.value != 0 and b.value != 0


cdef uint32_t _weight(uint32_t level) noexcept nogil:
    cdef uint32_t weight = 1
    for _ in range(level):
        weight *= loop_weight
    return weight


cdef uint32_t _unit_cost(const Chain *chain, bint varies) noexcept nogil:
    """The scalar unit has no floats and nothing of 8 and 16 bits; booleans of all lanes are its masks."""
    cdef bint wide = chain.bits == 64
    if chain.bits == 1 or not varies and chain.bits >= 32 and chain.opcode not in (alu_fadd, alu_fmul, alu_fmin, alu_fmax):
        return scalar_cost << wide
    return product_cost if chain.opcode == alu_imul and chain.bits >= 32 else vector_cost << wide


cdef uint32_t _pair_cost(const Context *c, const Operand *operand) noexcept nogil:
    """Of two operands of a kind."""
    return _weight(operand.level) * _unit_cost(&c.chain, operand.varies)


cdef inline bint _goes_on(const Context *c, ValueId value, uint32_t depth, uint32_t operands) noexcept nogil:
    """Whether a source is of the chain, rather than an operand of it."""
    return value < c.inner.size() and c.inner[value] and depth < most_operands and operands < most_operands


cdef int _collect(Context *c, ValueId i, bint negative, uint32_t depth) except -1 nogil:
    """Add the operands of the chain from an operation on."""
    cdef ShaderData *s = c.s
    cdef int opcode = s.instructions.opcode[i]
    cdef size_t before = c.chain.operands.size()
    cdef uint32_t k
    cdef ValueId value
    cdef bint sign
    cdef bint is_pair = True
    if not s.instructions.flags[i] & nir_no_unsigned_wrap or opcode != alu_iadd:
        c.chain.no_unsigned_wrap = False
    for k in range(s.instructions.source_count[i]):
        value = source_value(s, i, k)
        sign = negative != (opcode == alu_ineg or opcode == alu_isub and k == 1)
        if _goes_on(c, value, depth, <uint32_t>c.chain.operands.size()):
            _collect(c, value, sign, depth + 1)
            is_pair = False
        else:
            _add_operand(c, value, swizzle_component(source_swizzle(s, i, k), 0), sign)
    if is_pair and c.chain.operands.size() == before + 2 and _may_pair(&c.chain.operands[before], &c.chain.operands[before + 1]):
        c.chain.together.push_back(Begun(_pair_key(c, &c.chain.operands[before], &c.chain.operands[before + 1]),
                                         _pair_cost(c, &c.chain.operands[before])))
    return 0


cdef int _begin_chain(Context *c, ValueId root) except -1 nogil:
    cdef ShaderData *s = c.s
    cdef NodeId block = s.instructions.block[root]
    c.chain.root = root
    c.chain.opcode = _opcode_of[_family[s.instructions.opcode[root]]]
    c.chain.bits = s.instructions.bit_size[root]
    c.chain.level = 0
    if c.always_runs[block] and s.nodes.kind[s.nodes.parent[block]] == node_loop:
        c.chain.level = min(_level(s, block), <uint32_t>most_levels)
    c.chain.no_unsigned_wrap = True
    c.chain.operands.clear()
    c.chain.pairs.clear()
    c.chain.together.clear()
    c.chain.shrinks = False
    c.chain.constants = 0
    c.chain.constant = 0
    _collect(c, root, False, 0)
    c.chain.constant_stays = c.chain.constants == 1 and s.instructions.flags[root] & nir_no_unsigned_wrap != 0 and (
        value_is_constant(s, source_value(s, root, 0)) or value_is_constant(s, source_value(s, root, 1)))
    return 0


# --------------------------------------------------------------------------------------------------------------------- costs
cdef bint _takes_three(const Context *c) noexcept nogil:
    """Whether an instruction of the vector unit takes three operands of the chain."""
    cdef uint32_t first = _three_operands[_family[c.chain.opcode]]
    return first != 0 and c.chain.bits == 32 and c.s.info.gfx_level >= first


cdef uint32_t _cost(const Context *c, const Inputs *inputs, uint32_t level) noexcept nogil:
    """What it costs to make one value of inputs, in loops of so many levels."""
    cdef const Chain *chain = &c.chain
    cdef uint32_t together = inputs.uniform + inputs.varying
    cdef uint32_t operations = max(together - min(inputs.fusing, together), <uint32_t>1) - 1
    if together == 0:
        operations = inputs.negative - 1
    else:
        if inputs.varies and _takes_three(c):
            operations = (operations + 1) // 2
            if c.s.info.gfx_level < 100 and inputs.uniform > 1:
                operations = max(operations, inputs.uniform)      # an instruction reads one scalar register
        operations += inputs.negative
    return _weight(level) * _unit_cost(chain, inputs.varies) * operations


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
    """The part of the chain from an operation on, and the cost of what is below it. Operands come in the order in which `_collect` saw them."""
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
        if _goes_on(c, source_value(s, i, k), depth, seen[0]):
            inner[k] = _present_part(c, source_value(s, i, k), depth + 1, seen, cost)
        else:
            inner[k] = _part_of_operand(&c.chain.operands[seen[0]])
            seen[0] += 1
        part.level = max(part.level, inner[k].level)
    for k in range(count):
        _take_part(c, &part, &inner[k], s.instructions.opcode[i] == alu_isub and k == 1, cost)
    return part


cdef uint32_t _present_cost(Context *c) except? 0xffffffffU nogil:
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
    return Operand(value, swizzle_component(source_swizzle(s, i, source), 0), 0, False, s.instructions.flags[value] & nir_divergent != 0, False, 0)


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
        _emit(b, alu_isub if other.negative else alu_iadd, &one, &other, &one)
        _emit(b, alu_imul, &common, &one, &common)
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


# ----------------------------------------------------------------------------------------------------------------- new forms
cdef int _emit(Lowering *b, int opcode, const Operand *x, const Operand *y, Operand *result) except -1 nogil:
    """An operation on two values, placed."""
    cdef ShaderData *s = b.s
    cdef ValueId i = nir_instruction_new(s, nir_alu, opcode, 1, s.instructions.bit_size[x.value], 2)
    cdef SourceRow row = s.instructions.source_first[i]
    s.sources.value[row], s.sources.swizzle[row] = x.value, x.component
    s.sources.value[row + 1], s.sources.swizzle[row + 1] = y.value, y.component
    result[0] = Operand(i, 0, 0, False, x.varies or y.varies, False, max(x.level, y.level))
    if result.varies:
        s.instructions.flags[i] |= nir_divergent
    emit(b, i)
    return 0


cdef int _emit_in_chain(Context *c, Lowering *b, const Operand *x, const Operand *y, Operand *result) except -1 nogil:
    cdef int opcode = c.chain.opcode
    cdef bint negative = x.negative
    if x.negative != y.negative:
        opcode = alu_isub
        if x.negative:
            x, y = y, x
            negative = False
    _emit(b, opcode, x, y, result)
    result.negative = negative
    if c.chain.no_unsigned_wrap:
        c.s.instructions.flags[result.value] |= nir_no_unsigned_wrap
    return 0


cdef int _make(Context *c, Lowering *b, Operand *operand) except -1 nogil:
    """Let an operand that stands for a pair be its value."""
    cdef Pair pair
    if operand.value == 0:
        pair = c.chain.pairs[operand.pair]
        _emit_in_chain(c, b, &pair.first, &pair.second, operand)
    return 0


cdef bint _is_added(const Operand &operand) noexcept nogil:
    return not operand.negative


cdef bint _comes_before(const Operand &a, const Operand &b) noexcept nogil:
    return a.negative < b.negative or a.negative == b.negative and a.varies > b.varies


cdef void _put_in_order(const Context *c, vector[Operand] &operands) noexcept nogil:
    """What is taken away comes last. Where three operands are taken at once, what varies comes first, in the innermost loop if there is such, so that
    no two of the others are put together apart from that."""
    cdef size_t first = 0
    cdef size_t k
    stable_partition(operands.begin(), operands.end(), &_is_added)
    if not _takes_three(c):
        return
    stable_sort(operands.begin(), operands.end(), &_comes_before)
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
        _emit_in_chain(c, b, &result, &next, &result)
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


cdef uint32_t _build(Context *c, Lowering *b, bint gather, bint hoist, Operand *result) except? 0xffffffffU nogil:
    """The chain in a new form: with what is uniform put together, with what loops leave as it is put together; returns its cost."""
    cdef vector[Operand] waiting
    cdef uint32_t cost = 0
    cdef uint32_t level
    cdef size_t k
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


cdef uint32_t _best_form(Context *c, bint *gather, bint *hoist) except? 0xffffffffU nogil:
    """The least cost of a form, and which it is."""
    cdef uint32_t least = 0xffffffffU
    cdef uint32_t form, cost
    cdef Operand result
    cdef bint may_hoist = c.chain.level != 0 and c.hoisted[c.s.nodes.parent[c.s.instructions.block[c.chain.root]]] < most_hoisted
    for form in range(4 if may_hoist else 2):
        cost = _build(c, NULL, form & 1, form >> 1, &result)
        if cost < least:
            least = cost
            gather[0], hoist[0] = form & 1, form >> 1
    return least


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
            if _may_pair(&operands[0][i], &operands[0][j]):
                keys.push_back(_pair_key(c, &operands[0][i], &operands[0][j]))
    sort(keys.begin(), keys.end())                 # of equal operands each pair counts once
    for i in range(keys.size()):
        if i == 0 or keys[i] != keys[i - 1]:
            c.pairs[keys[i]].chains += change
    return 0


cdef bint _is_together(const Context *c, const Operand *a, const Operand *b) noexcept nogil:
    cdef uint64_t key = _pair_key(c, a, b)
    cdef size_t k
    for k in range(c.chain.together.size()):
        if c.chain.together[k].key == key:
            return True
    return False


cdef Sharing *_best_pair(Context *c, size_t *first, size_t *second) except? NULL nogil:
    """The two operands of the chain that are together already, or else that most later chains have too; NULL if none have."""
    cdef vector[Operand] *operands = &c.chain.operands
    cdef Sharing *best = NULL
    cdef Sharing *sharing
    cdef size_t i, j
    for i in range(min(operands.size(), <size_t>most_paired)):
        for j in range(i):
            if not _may_pair(&operands[0][i], &operands[0][j]):
                continue
            sharing = &c.pairs[_pair_key(c, &operands[0][i], &operands[0][j])]
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
    cdef uint32_t cost, pair_cost, readers
    cdef Operand pair
    while sharing != NULL:
        before = c.chain.operands
        pair = before[first]
        pair.value, pair.component, pair.fuses, pair.pair = 0, 0, False, <uint32_t>c.chain.pairs.size()
        c.chain.operands[first] = pair
        c.chain.operands.erase(c.chain.operands.begin() + second)
        cost = _best_form(c, gather, hoist)
        pair_cost = 0 if sharing.made else _pair_cost(c, &pair)
        readers = 1 if _is_together(c, &before[first], &before[second]) else max(sharing.chains, <uint32_t>1)
        if cost >= least or (least - cost) * <uint64_t>readers <= pair_cost:
            c.chain.operands = before
            _best_form(c, gather, hoist)
            break
        c.chain.pairs.push_back(Pair(before[first], before[second]))
        least = cost + pair_cost // readers
        sharing = _best_pair(c, &first, &second) if c.chain.operands.size() > 2 else NULL
    return least


cdef int _note_made_pairs(Context *c, bint changed) except -1 nogil:
    """Later chains find the pairs that this one begins with."""
    cdef size_t k
    for k in range(c.chain.pairs.size() if changed else 0):
        c.pairs[_pair_key(c, &c.chain.pairs[k].first, &c.chain.pairs[k].second)].made = True
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
    _build(c, b, gather, hoist, &result)
    if not has_constant and result.negative:
        chain.constant = 0
        has_constant = True
    if has_constant:
        number = Operand(constant(b, chain.constant, chain.bits), 0, 0, False, False, False, 0)
        _emit_in_chain(c, b, &result, &number, &result)
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


cdef inline bint _is_root(const Context *c, ValueId i) noexcept nogil:
    """Whether a chain ends with an operation, of a family that has chains."""
    return (c.families >> _family[c.s.instructions.opcode[i]] & 1 and not c.inner[i] and _may_change(c.s, i)
            and c.s.instructions.source_count[i] > 1)


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
    if not _is_root(c, i):
        return lower_keep
    _begin_chain(c, i)
    if c.chain.operands.size() + c.chain.constants < 3:
        _count_pairs(c, -1)
        _note_made_pairs(c, False)
        return lower_keep
    present = _present_cost(c)
    c.chain.shrinks = c.chain.constants > 1
    before = c.chain.operands
    _merge_equal(&c.chain)
    if c.chain.opcode == alu_iadd:
        _factor_products(c, b)
    if not c.chain.operands.empty():
        cost = _pair_up(c, _best_form(c, &gather, &hoist), &gather, &hoist)
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


cdef bint _prepare(Context *c) except -1 nogil:
    """Look at all operations; False if there are no chains."""
    cdef ShaderData *s = c.s
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef ValueId i
    c.families = 0
    _note_uses(c)
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            i = s.order.instruction[row]
            if _may_change(s, i):
                _note_inner(c, i)
        if s.nodes.next[block] and s.nodes.kind[s.nodes.next[block]] == node_loop:
            note_always_runs(s, s.nodes.next[block], c.always_runs)
        block = block_walk_next(s, block)
    return c.families != 0


cdef int _count_all_pairs(Context *c) except -1 nogil:
    cdef ShaderData *s = c.s
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef ValueId i
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            i = s.order.instruction[row]
            if s.instructions.kind[i] == nir_alu and _is_root(c, i):
                _begin_chain(c, i)
                _count_pairs(c, 1)
        block = block_walk_next(s, block)
    return 0


cdef bint opt_reassociate_run(ShaderData *s) except -1 nogil:
    cdef Context c
    c.s = s
    c.uses.assign(s.instructions.table.count)
    c.reader.assign(s.instructions.table.count)
    c.inner.assign(s.instructions.table.count)
    c.always_runs.assign(s.nodes.table.count, False)
    c.hoisted.assign(s.nodes.table.count, 0)
    if not _prepare(&c):
        return False
    ranges_begin(&c.ranges, s)
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
