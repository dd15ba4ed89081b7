"""Chains of one associative operation: which operations are of one, what their operands are, and what each costs.

An operation in the middle of a chain is one of the same family (sums: differences and negations too), size and block, that the chain alone reads. Of
floats it is only what may be computed in another order.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from nir_opcodes cimport (
    alu_count, alu_fadd, alu_fmax, alu_fmin, alu_fmul, alu_iadd, alu_iand, alu_imax, alu_imin, alu_imul, alu_ineg, alu_ior, alu_ishl, alu_isub,
    alu_ixor, alu_umax, alu_umin,
)
from pyaco._core.common.bits cimport low_mask
from pyaco._core.common.hashing cimport hash_mix
from pyaco._core.ir.range_analysis cimport ranges_begin, unsigned_upper_bound
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, RowRange, ShaderData, SourceRow, ValueId, block_walk_next, constant_bits, nir_alu, nir_divergent, nir_exact,
    nir_no_unsigned_wrap, node_first_block, node_if, node_loop, node_walk_next, preserve_special16, preserve_special32, preserve_special64,
    source_swizzle, source_value, sources_of, swizzle_component, value_is_constant,
)
from pyaco._core.nir.dominance cimport node_loop_around
from pyaco._core.nir.evaluate cimport evaluate_alu
from pyaco._core.nir.opt_licm cimport note_always_runs

cdef enum:
    most_operands = 32            # of a chain
    most_levels = 4               # of loops that make a difference
    loop_weight = 8               # trips of a loop that nobody knows

cdef enum:                        # what operations cost by the unit that computes them
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


# ---------------------------------------------------------------------------------------------------------------- operations
cdef bint may_reorder(const ShaderData *s, ValueId i) noexcept nogil:
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


cdef bint _belongs_to(const ShaderData *s, ValueId inner, ValueId reader) noexcept nogil:
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


cdef void _note_operands(Context *c, RowRange sources) noexcept nogil:
    cdef SourceRow source
    for source in range(sources.first, sources.first + sources.count):
        c.roles[c.s.sources.value[source]] |= role_operand


cdef void _note_roles(Context *c, ValueId reader) noexcept nogil:
    cdef ShaderData *s = c.s
    cdef RowRange sources = sources_of(s, reader)
    cdef SourceRow source
    cdef ValueId value
    for source in range(sources.first, sources.first + sources.count):
        value = s.sources.value[source]
        if c.uses[value] == 1 and may_reorder(s, value) and _belongs_to(s, value, reader):
            c.roles[value] |= role_inner
            c.families |= 1 << _family[s.instructions.opcode[value]]
            _note_operands(c, sources)
            _note_operands(c, sources_of(s, value))


cdef bint chains_begin(Context *c, ShaderData *s) except -1 nogil:
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef ValueId i
    c.s = s
    c.families = 0
    c.uses.assign(s.instructions.table.count)
    c.reader.assign(s.instructions.table.count)
    c.roles.assign(s.instructions.table.count)
    c.always_runs.assign(s.nodes.table.count, False)
    c.hoisted.assign(s.nodes.table.count, 0)
    _note_uses(c)
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            i = s.order.instruction[row]
            if may_reorder(s, i):
                _note_roles(c, i)
        if s.nodes.next[block] and s.nodes.kind[s.nodes.next[block]] == node_loop:
            note_always_runs(s, s.nodes.next[block], c.always_runs)
        block = block_walk_next(s, block)
    if c.families == 0:
        return False
    ranges_begin(&c.ranges, s)
    return True


cdef bint ends_chain(const Context *c, ValueId i) noexcept nogil:
    cdef const ShaderData *s = c.s
    cdef uint32_t common = role_operand
    cdef uint32_t k
    cdef ValueId value
    if not c.families >> _family[s.instructions.opcode[i]] & 1 or c.roles[i] & role_inner or not may_reorder(s, i) \
            or s.instructions.source_count[i] < 2:
        return False
    for k in range(s.instructions.source_count[i]):
        value = source_value(s, i, k)
        if c.roles[value] & role_inner:
            return True
        common &= c.roles[value]
    return common != 0


# ------------------------------------------------------------------------------------------------------------------ operands
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


cdef bint _is_shared(const Context *c, ValueId value) noexcept nogil:
    cdef ValueId origin = _origin(c, value)
    return origin < c.uses.size() and c.uses[origin] > 1


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
    operand.shared = _is_shared(c, value)
    operand.level = min(_level(s, s.instructions.block[value]), chain.level) if chain.level else 0
    chain.operands.push_back(operand)
    return 0


cdef uint64_t pair_key(const Context *c, const Operand *a, const Operand *b) noexcept nogil:
    """Of two operands in either order, in the chain's block."""
    cdef uint64_t x = hash_mix(_origin(c, a.value), a.component)
    cdef uint64_t y = hash_mix(_origin(c, b.value), b.component)
    return hash_mix(hash_mix(x + y, x ^ y), c.s.instructions.block[c.chain.root] * <uint64_t>alu_count + c.chain.opcode)


cdef ValueId _origin(const Context *c, ValueId value) noexcept nogil:
    """What a value was before the pass."""
    if value < c.uses.size() or value - c.uses.size() >= c.origin.size() or not c.origin[value - c.uses.size()]:
        return value
    return c.origin[value - c.uses.size()]


cdef bint may_pair(const Operand *a, const Operand *b) noexcept nogil:
    return (a.shared and b.shared and a.varies == b.varies and a.level == b.level and not a.negative and not b.negative and a.value != 0
            and b.value != 0)


cdef bint chain_goes_on(const Context *c, ValueId value, uint32_t depth, uint32_t operands) noexcept nogil:
    """Whether a source is of the chain, rather than an operand of it."""
    return value < c.roles.size() and c.roles[value] & role_inner and depth < most_operands and operands < most_operands


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
        if chain_goes_on(c, value, depth, <uint32_t>c.chain.operands.size()):
            _collect(c, value, sign, depth + 1)
            is_pair = False
        else:
            _add_operand(c, value, swizzle_component(source_swizzle(s, i, k), 0), sign)
    if is_pair and c.chain.operands.size() == before + 2 and may_pair(&c.chain.operands[before], &c.chain.operands[before + 1]):
        c.chain.together.push_back(Begun(pair_key(c, &c.chain.operands[before], &c.chain.operands[before + 1]),
                                         pair_cost(c, &c.chain.operands[before])))
    return 0


cdef int chain_begin(Context *c, ValueId root) except -1 nogil:
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
cdef uint32_t loops_weight(uint32_t level) noexcept nogil:
    cdef uint32_t weight = 1
    for _ in range(level):
        weight *= loop_weight
    return weight


cdef uint32_t unit_cost(const Chain *chain, bint varies) noexcept nogil:
    """The scalar unit has no floats and nothing of 8 and 16 bits; booleans of all lanes are its masks."""
    cdef bint wide = chain.bits == 64
    if chain.bits == 1 or not varies and chain.bits >= 32 and chain.opcode not in (alu_fadd, alu_fmul, alu_fmin, alu_fmax):
        return scalar_cost << wide
    return product_cost if chain.opcode == alu_imul and chain.bits >= 32 else vector_cost << wide


cdef uint32_t pair_cost(const Context *c, const Operand *operand) noexcept nogil:
    """Of two operands of a kind."""
    return loops_weight(operand.level) * unit_cost(&c.chain, operand.varies)


cdef bint takes_three(const Context *c) noexcept nogil:
    """Whether an instruction of the vector unit takes three operands of the chain."""
    cdef uint32_t first = _three_operands[_family[c.chain.opcode]]
    return first != 0 and c.chain.bits == 32 and c.s.info.gfx_level >= first
