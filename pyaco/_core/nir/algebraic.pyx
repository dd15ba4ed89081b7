"""Algebraic simplification: rewrites scalar ALU trees by the rules of ``pyaco/nir/data/algebraic.txt``.

Needs: scalar ALU (vector instructions are left alone). Guarantees: valid NIR; the root keeps its id, new instructions come
before it. Run to a fixed point with constant folding, copy propagation and dead code elimination between.

One walk over the instructions gives each value a state of the rules' tree automaton (``tools/algebraic_automaton.py``), which says which rules
have the shape of the tree that ends there. Only these are matched, top down, trying both orders of commutative operands; letters
bind (value, component) pairs. What a replacement consists of gets its state as it is built, is folded or simplified itself, and is seen by what
reads it in the same walk: what is left for another walk grows with the size of a shader. The order is not written before the first rule applies.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from algebraic_tables cimport (
    automaton_accepted, automaton_any_constant, automaton_class, automaton_classes, automaton_column, automaton_constant, automaton_first,
    automaton_next, automaton_opcode, automaton_rules, automaton_states, condition_aligned_by, condition_complement, condition_in_order,
    condition_low_mask, condition_mask_covers, condition_mask_covers_above, condition_narrows, condition_none, condition_not_negative,
    condition_not_zero, condition_power_of_two, condition_reciprocal_is_exact, condition_shifts_fit, condition_sum_is_32, pattern_bits,
    pattern_children, pattern_component_shift, pattern_flags, pattern_kind, pattern_opcode, pattern_value, rule_condition, rule_letters, rule_pattern,
    rule_repetition, rule_replacement, rules_late, rules_main,
)
from nir_opcodes cimport (
    alu_input_count, alu_input_types_flat, alu_max_inputs, alu_mov, alu_output_type, alu_properties, alu_property_commutative,
)

from pyaco._core.common.bits cimport low_bits
from pyaco._core.common.floats cimport float_from_bits
from pyaco._core.common.table cimport RowRange, table_append_many
from pyaco._core.ir.pass_runner cimport kernel_changed, kernel_steady, kernel_steady_without, native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, ShaderRewrite, ValueId, block_walk_next, constant_bits, nir_alu, nir_constant, nir_exact,
    nir_instruction_new, nir_load_const, node_first_block, shader_rewrite_begin, shader_rewrite_block, shader_rewrite_emit,
    shader_rewrite_end, source_set, source_swizzle, source_value, sources_of, swizzle_component,
)
from pyaco._core.nir.constant_folding cimport fold
from pyaco._core.nir.rule_trees cimport letter_of, pattern_constant, unsized_bits

cdef enum:
    node_opcode = 0
    node_variable = 1
    node_integer = 2
    node_float = 3
    flag_inexact = 1              # of a pattern node: no exact instruction matches
    flag_constant = 2             # only a constant matches
    flag_single_use = 4           # only an instruction that nothing else reads matches
    flag_varies = 8               # only what is no constant matches
    flag_read_often = 16          # only what is read often matches
    max_letters = 8               # rules name their letters from a on
    most_commutative_nodes = 6    # of a pattern (MOST_COMMUTATIVE of tools/generate_algebraic.py)
    most_uses = 255               # so many or more
    near = 64                     # instructions before and behind one where readers of a component are counted
    no_rule = 0xffff              # ends a list of rules
    max_rewrites = 16             # of one root in one visit, and of what they make; rules that feed each other end here

# By n: bits at the multiples of 2^n, as many as patterns have orders.
cdef uint64_t[most_commutative_nodes + 1] _MULTIPLES
_MULTIPLES[:] = [sum(1 << i for i in range(0, 64, 1 << n)) for n in range(most_commutative_nodes + 1)]

cdef struct Match:
    ValueId[max_letters] value     # 0: unbound
    uint8_t[max_letters] bits
    uint64_t[max_letters] swizzle  # its component 0 is the one bound
    uint32_t swaps                # bit n: the n-th commutative node reached is matched with its operands exchanged
    uint32_t commutative          # commutative nodes reached so far
    bint exact                    # a matched instruction is exact

cdef struct Walk:
    ShaderRewrite rewrite
    bint writing                  # a rule applied: the order is written anew
    bint hinges                   # a rule failed that may apply when two values become one
    bint hinges_on_uses           # a rule failed that may apply when dead code goes
    const uint16_t *accepted      # the group's row of automaton_accepted
    uint16_t *states              # by value; written when the walk comes to it, which is before anything but a phi reads it
    uint32_t capacity
    ValueId first_new             # instructions from here on are new
    uint8_t *uses                 # by value, up to most_uses; NULL until a rule asks
    int rewrites                  # by the visit of one root
    NodeId block                  # where the walk is
    OrderRow row


cdef int _reserve(const ShaderData *s, Walk *w) except -1 nogil:
    """Room for the states of all instructions that there are, and some more."""
    cdef uint32_t capacity = s.instructions.table.count + s.instructions.table.count // 4 + 64
    cdef void *grown = realloc(w.states, <size_t>capacity * sizeof(uint16_t))
    if grown == NULL:
        with gil:
            raise MemoryError()
    w.states = <uint16_t *>grown
    if w.uses != NULL:
        grown = realloc(w.uses, capacity)
        if grown == NULL:
            with gil:
                raise MemoryError()
        w.uses = <uint8_t *>grown
        memset(w.uses + w.capacity, 0, capacity - w.capacity)
    w.capacity = capacity
    return 0


cdef inline void _find_state(const ShaderData *s, Walk *w, ValueId value) noexcept nogil:
    """Give an instruction, for which there is room, the state that follows from its opcode and its operands."""
    cdef uint32_t state = 0
    cdef const ValueId *operands
    cdef const uint8_t *columns
    cdef const uint8_t *classes
    cdef uint32_t row, i
    if s.instructions.kind[value] == nir_alu:
        row = automaton_opcode[s.instructions.opcode[value]]
        if row and s.instructions.components[value] == 1:
            operands = s.sources.value + s.instructions.source_first[value]
            columns = automaton_column + row * 4
            classes = automaton_classes + row * 4
            for i in range(s.instructions.source_count[value]):
                if columns[i]:
                    state = (state * classes[i]
                             + automaton_class[columns[i] * <uint32_t>automaton_states + w.states[operands[i]]])
            state = automaton_next[automaton_first[row] + state]
    elif s.instructions.kind[value] == nir_load_const:
        state = <uint32_t>automaton_any_constant
        if s.instructions.components[value] == 1:
            state = automaton_constant(s.instructions.bit_size[value], constant_bits(s, value, 0))
    w.states[value] = <uint16_t>state


cdef int _set_state(const ShaderData *s, Walk *w, ValueId value) except -1 nogil:
    """The same of a new instruction."""
    if value >= w.capacity:
        _reserve(s, w)
    _find_state(s, w, value)
    return 0


cdef inline void _count(Walk *w, ValueId value) noexcept nogil:
    w.uses[value] += w.uses[value] < most_uses


cdef void _count_sources(const ShaderData *s, Walk *w, ValueId reader) noexcept nogil:
    cdef RowRange sources = sources_of(s, reader)
    cdef uint32_t row
    for row in range(sources.first, sources.first + sources.count):
        _count(w, s.sources.value[row])


cdef int _count_uses(ShaderData *s, Walk *w) except -1 nogil:
    """Count the uses of every value, those by dead code too: a count is at least the true one."""
    cdef NodeId node
    cdef OrderRow row
    cdef ValueId value
    # Only what stands in the order is touched: of a large table with few instructions alive, most of the memory is never there.
    w.uses = <uint8_t *>malloc(w.capacity)
    if w.uses == NULL:
        with gil:
            raise MemoryError()
    memset(w.uses + w.first_new, 0, w.capacity - w.first_new)
    for row in range(s.order.table.count):
        w.uses[s.order.instruction[row]] = 0
    for row in range(s.order.table.count):
        _count_sources(s, w, s.order.instruction[row])
    for value in range(w.first_new, s.instructions.table.count):
        _count_sources(s, w, value)
    for node in range(1, s.nodes.table.count):
        _count(w, s.nodes.condition[node])
    return 0


cdef void _release_sources(const ShaderData *s, Walk *w, RowRange sources) noexcept nogil:
    """These are no longer read by a root that was replaced, nor is what only they read."""
    cdef uint32_t row
    cdef ValueId value
    for row in range(sources.first, sources.first + sources.count):
        value = s.sources.value[row]
        if w.uses[value] == 0 or w.uses[value] == most_uses:
            continue
        w.uses[value] -= 1
        if w.uses[value] == 0 and s.instructions.kind[value] == nir_alu:
            _release_sources(s, w, sources_of(s, value))


cdef bint _has_single_use(ShaderData *s, Walk *w, ValueId value) except -1 nogil:
    if w.uses == NULL:
        _count_uses(s, w)
    if w.uses[value] == 1:
        return True
    w.hinges_on_uses = True
    return False


cdef uint32_t _nearby_readers(const ShaderData *s, const Walk *w, ValueId value, uint32_t component) noexcept nogil:
    """How many sources around what the walk is at, as the block stood, are a component of a vector."""
    cdef OrderRow begin = s.nodes.order_first[w.block]
    cdef OrderRow end = begin + s.nodes.order_count[w.block]
    cdef OrderRow row
    cdef RowRange sources
    cdef uint32_t k
    cdef uint32_t count = 0
    for row in range(w.row - near if w.row > begin + near else begin, min(w.row + near, end)):
        sources = sources_of(s, s.order.instruction[row])
        for k in range(sources.first, sources.first + sources.count):
            count += s.sources.value[k] == value and swizzle_component(s.sources.swizzle[k], 0) == component
    return count


cdef bint _is_read_often(ShaderData *s, Walk *w, ValueId value, uint32_t component) except -1 nogil:
    """Whether a value has more than two readers, a vector for each component or, nearby, for one of them."""
    cdef uint32_t components = s.instructions.components[value]
    if w.uses == NULL:
        _count_uses(s, w)
    if w.uses[value] > 2 * components or (w.uses[value] > 1 + components and _nearby_readers(s, w, value, component) > 2):
        return True
    w.hinges = True
    return False


cdef int _emit(ShaderData *s, Walk *w, ValueId value) except -1 nogil:
    """Write a new instruction, as simple as the rules make it."""
    _set_state(s, w, value)
    if w.uses != NULL:
        _count_sources(s, w, value)
    _simplify(s, w, value)
    shader_rewrite_emit(&w.rewrite, value)
    return 0


cdef int _begin_writing(ShaderData *s, Walk *w) except -1 nogil:
    """Write what the walk has passed."""
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row, end
    if w.writing:
        return 0
    w.writing = True
    shader_rewrite_begin(&w.rewrite, s)
    while True:
        shader_rewrite_block(&w.rewrite, block)
        end = w.row if block == w.block else s.nodes.order_first[block] + s.nodes.order_count[block]
        for row in range(s.nodes.order_first[block], end):
            shader_rewrite_emit(&w.rewrite, s.order.instruction[row])
        if block == w.block:
            return 0
        block = block_walk_next(s, block)


cdef bint _match(ShaderData *s, Walk *w, Match *m, uint32_t node, ValueId value, uint64_t swizzle) except -1 nogil:
    cdef uint32_t letter
    cdef uint32_t component = swizzle_component(swizzle, 0)
    cdef bint is_constant = s.instructions.kind[value] == nir_load_const
    if pattern_bits[node] and s.instructions.bit_size[value] != pattern_bits[node]:
        return False
    if pattern_kind[node] == node_variable:
        if pattern_flags[node] & flag_constant and not is_constant:
            return False
        letter = letter_of(pattern_value[node])
        if m.value[letter]:
            if m.value[letter] == value and swizzle_component(m.swizzle[letter], 0) == component:
                return True
            w.hinges = True
            return False
        if pattern_flags[node] & flag_varies and is_constant:
            return False
        if pattern_flags[node] & flag_read_often and not _is_read_often(s, w, value, component):
            return False
        m.value[letter] = value
        m.bits[letter] = s.instructions.bit_size[value]
        m.swizzle[letter] = swizzle
        return True
    if pattern_kind[node] != node_opcode:
        if not is_constant or (pattern_kind[node] == node_float and s.instructions.bit_size[value] < 16):
            return False
        return (s.constants.value[s.instructions.data[value] + component]
                == pattern_constant(node, s.instructions.bit_size[value]))
    return _match_instruction(s, w, m, node, value)


cdef bint _match_instruction(ShaderData *s, Walk *w, Match *m, uint32_t node, ValueId value) except -1 nogil:
    cdef int opcode = pattern_opcode[node]
    cdef uint32_t i
    cdef uint32_t source
    cdef ValueId operand
    cdef bint swapped = False
    if (s.instructions.kind[value] != nir_alu or s.instructions.opcode[value] != opcode
            or s.instructions.components[value] != 1):
        return False
    if s.instructions.flags[value] & nir_exact:
        if pattern_flags[node] & flag_inexact:
            return False
        m.exact = True
    if pattern_flags[node] & flag_single_use and not _has_single_use(s, w, value):
        return False
    if alu_properties[opcode] & alu_property_commutative:
        swapped = (m.swaps >> m.commutative) & 1
        m.commutative += 1
    for i in range(alu_input_count[opcode]):
        source = 1 - i if swapped and i < 2 else i
        operand = source_value(s, value, source)
        # The walk has read nothing of swizzles so far, and most of them are in no cache. A scalar has but one component.
        if not _match(s, w, m, pattern_children[node * 4 + i], operand,
                      0 if s.instructions.components[operand] == 1 else source_swizzle(s, value, source)):
            return False
    return True


cdef uint64_t _bound_constant(const ShaderData *s, const Match *m, int rule, int which) noexcept nogil:
    cdef uint32_t letter = rule_letters[rule * 2 + which]
    return s.constants.value[s.instructions.data[m.value[letter]] + swizzle_component(m.swizzle[letter], 0)]


cdef bint _reciprocal_is_exact(uint64_t bits, int size) noexcept nogil:
    """A power of two whose reciprocal is normal as well."""
    cdef uint64_t exponent
    if size == 16:
        exponent = (bits >> 10) & 0x1f
        return bits & 0x3ff == 0 and 0 < exponent < 29
    if size == 32:
        exponent = (bits >> 23) & 0xff
        return bits & 0x7fffff == 0 and 0 < exponent < 253
    exponent = (bits >> 52) & 0x7ff
    return bits & 0xfffffffffffffULL == 0 and 0 < exponent < 2045


cdef bint _condition_holds(const ShaderData *s, const Match *m, int rule, ValueId root) noexcept nogil:
    cdef int condition = rule_condition[rule]
    cdef uint32_t letter = rule_letters[rule * 2]
    cdef uint64_t a
    if condition == condition_none:
        return True
    if condition == condition_narrows:
        return s.instructions.bit_size[m.value[letter]] > s.instructions.bit_size[root]
    a = _bound_constant(s, m, rule, 0)
    if condition == condition_power_of_two:
        return a != 0 and a & (a - 1) == 0
    if condition == condition_not_zero:
        return a != 0
    if condition == condition_low_mask:
        return a != 0 and a & (a + 1) == 0 and a != 0xffffffffU
    if condition == condition_reciprocal_is_exact:
        return _reciprocal_is_exact(a, s.instructions.bit_size[root])
    if condition == condition_sum_is_32:
        return a + _bound_constant(s, m, rule, 1) == 32 and a != 0 and a != 32
    if condition == condition_shifts_fit:
        return a + _bound_constant(s, m, rule, 1) < s.instructions.bit_size[root]
    if condition == condition_not_negative:
        return not (a >> (m.bits[letter] - 1)) & 1
    return _fit_together(condition, a, _bound_constant(s, m, rule, 1), m.bits[letter])


cdef bint _fit_together(int condition, uint64_t a, uint64_t b, int bits) noexcept nogil:
    """Conditions on two constants as masks or numbers of their own size."""
    if condition == condition_complement:
        return a ^ b == low_bits(~<uint64_t>0, bits)
    if condition == condition_mask_covers:
        return low_bits(~<uint64_t>0, bits) >> (b & (<uint64_t>bits - 1)) & ~a == 0
    if condition == condition_mask_covers_above:     # all that is left of a shift to the left
        return low_bits(~<uint64_t>0, bits) << (b & (<uint64_t>bits - 1)) & low_bits(~a, bits) == 0
    if condition == condition_aligned_by:            # the mask clears low bits alone, which the number has not
        return low_bits(~b, bits) & (low_bits(~b, bits) + 1) == 0 and a & low_bits(~b, bits) == 0
    if condition == condition_in_order:
        return float_from_bits(a, bits) <= float_from_bits(b, bits)
    return False


cdef uint64_t _build(ShaderData *s, Walk *w, const Match *m, uint32_t node, int expected) except 0 nogil:
    """Emit a replacement tree below the root; returns value | component << 32."""
    cdef ValueId value
    cdef uint32_t letter, component
    if pattern_kind[node] == node_variable:
        letter = letter_of(pattern_value[node])
        value = m.value[letter]
        component = swizzle_component(m.swizzle[letter], <uint32_t>(pattern_value[node] >> pattern_component_shift))
        if s.instructions.kind[value] != nir_load_const or s.instructions.components[value] == 1:
            return value | (<uint64_t>component << 32)
        # ALU operands are scalar constants, and only an operand that is a vector as a whole may be another one.
        value = nir_constant(s, constant_bits(s, value, component), m.bits[letter])
        _emit(s, w, value)
        return value
    if pattern_kind[node] == node_opcode:
        value = nir_instruction_new(s, nir_alu, pattern_opcode[node], 1, 0, alu_input_count[pattern_opcode[node]])
        _fill(s, w, m, node, value, expected)
        fold(s, value)             # of constants, which the next rule may ask for
    else:
        value = nir_constant(s, pattern_constant(node, expected), expected)
    _emit(s, w, value)
    return value


cdef int _fill(ShaderData *s, Walk *w, const Match *m, uint32_t node, ValueId target,
               int expected) except -1 nogil:
    """Make `target` the instruction of a replacement's opcode node; its operands are emitted before it."""
    cdef int opcode = pattern_opcode[node]
    cdef int unsized = unsized_bits(m.bits, node, expected)
    cdef int bits = alu_output_type[opcode] & 0xff
    cdef int size
    cdef uint32_t i
    cdef uint64_t operand
    s.instructions.kind[target] = nir_alu
    s.instructions.opcode[target] = <uint16_t>opcode
    s.instructions.bit_size[target] = <uint8_t>(bits if bits else unsized)
    if m.exact:
        s.instructions.flags[target] |= nir_exact
    for i in range(alu_input_count[opcode]):
        size = alu_input_types_flat[opcode * alu_max_inputs + i] & 0xff
        operand = _build(s, w, m, pattern_children[node * 4 + i], size if size else unsized)
        source_set(s, target, i, <uint32_t>operand)
        s.sources.swizzle[s.instructions.source_first[target] + i] = operand >> 32
    return 0


cdef int _replace(ShaderData *s, Walk *w, const Match *m, uint32_t node, ValueId root) except -1 nogil:
    """Turn the root into the replacement, in place."""
    cdef uint32_t count = 1
    cdef uint32_t first
    cdef uint32_t letter
    cdef int bits = s.instructions.bit_size[root]
    # The root's flags about wrapping need not hold for its replacement.
    s.instructions.flags[root] &= <uint16_t>nir_exact
    if pattern_kind[node] == node_integer or pattern_kind[node] == node_float:
        first = table_append_many(&s.constants.table, 1)
        s.constants.value[first] = pattern_constant(node, bits)
        s.instructions.kind[root] = nir_load_const
        s.instructions.opcode[root] = 0
        s.instructions.source_count[root] = 0
        s.instructions.data[root] = first
        return 0
    if pattern_kind[node] == node_opcode:
        count = alu_input_count[pattern_opcode[node]]
    # The operands may outnumber the root's: take new rows (the old ones stay unused).
    first = table_append_many(&s.sources.table, count)
    s.instructions.source_first[root] = first
    s.instructions.source_count[root] = <uint16_t>count
    if pattern_kind[node] == node_opcode:
        _fill(s, w, m, node, root, bits)
        fold(s, root)
        return 0
    letter = letter_of(pattern_value[node])
    s.instructions.opcode[root] = alu_mov
    source_set(s, root, 0, m.value[letter])
    s.sources.swizzle[first] = swizzle_component(m.swizzle[letter], 0)
    return 0


cdef inline uint64_t _bit(ValueId value) noexcept nogil:
    """A bit of a set of values, which all numbers with the same end share."""
    return <uint64_t>1 << (value & 63)


cdef uint64_t _operands_below(const ShaderData *s, ValueId value, uint32_t depth) noexcept nogil:
    """The bits of the values that an ALU instruction reads so many levels below, from 1 on."""
    cdef uint64_t found = 0
    cdef const ValueId *operand
    cdef const ValueId *end
    if s.instructions.kind[value] != nir_alu:
        return 0
    operand = s.sources.value + s.instructions.source_first[value]
    end = operand + s.instructions.source_count[value]
    while operand < end:
        found |= _bit(operand[0]) if depth == 1 else _operands_below(s, operand[0], depth - 1)
        operand += 1
    return found


cdef inline bint _may_share(const ShaderData *s, ValueId one, uint32_t depth, ValueId other, uint32_t other_depth) noexcept nogil:
    """Whether two values may have one in common, so many levels below each."""
    if other_depth == 0 and depth == 0:
        return one == other
    return (_operands_below(s, one, depth) if depth else _bit(one)) & \
        (_operands_below(s, other, other_depth) if other_depth else _bit(other)) != 0


cdef bint _may_repeat(const ShaderData *s, uint32_t repetition, ValueId root) noexcept nogil:
    """Whether two operands of the root may have a value in common where the letter of a repetition stands. Most rules with such a letter end here:
    a match would try its operands in all orders."""
    cdef const ValueId *operands = s.sources.value + s.instructions.source_first[root]
    cdef uint32_t one = repetition & 3
    cdef uint32_t other = repetition >> 4 & 3
    cdef uint32_t depth = repetition >> 2 & 3
    cdef uint32_t other_depth = repetition >> 6
    if _may_share(s, operands[one], depth, operands[other], other_depth):
        return True
    if depth == other_depth and one + other == 1 or not alu_properties[s.instructions.opcode[root]] & alu_property_commutative:
        return False
    # the first two operands exchanged
    one = one ^ 1 if one < 2 else one
    other = other ^ 1 if other < 2 else other
    return _may_share(s, operands[one], depth, operands[other], other_depth)


cdef bint _try_rule(ShaderData *s, Walk *w, int rule, ValueId root) except -1 nogil:
    """Try a rule with the operands of its commutative nodes in all orders: that of the n-th node reached is bit n of an order's number. An attempt
    that ends before it reaches a node ends so for both orders of that node: `failed` has a bit for each order that needs no attempt."""
    cdef Match m
    cdef uint64_t failed = 0
    cdef uint32_t swaps = 0
    cdef uint32_t most_commutative = 0         # nodes that an attempt reached; all their orders are tried
    if rule_repetition[rule] and not _may_repeat(s, rule_repetition[rule], root):
        w.hinges = True
        return False
    while True:
        memset(m.value, 0, sizeof(m.value))
        m.swaps = swaps
        m.commutative = 0
        m.exact = False
        if _match_instruction(s, w, &m, rule_pattern[rule], root) and _condition_holds(s, &m, rule, root):
            if pattern_bits[rule_pattern[rule]] in (0, s.instructions.bit_size[root]):
                _begin_writing(s, w)
                w.rewrites += 1
                _replace(s, w, &m, rule_replacement[rule], root)
                return True
        if m.commutative > most_commutative:
            most_commutative = m.commutative
        failed |= _MULTIPLES[m.commutative] << swaps
        swaps += 1
        while swaps >> most_commutative == 0 and failed >> swaps & 1:
            swaps += 1
        if swaps >> most_commutative:
            return False


cdef bint _simplify(ShaderData *s, Walk *w, ValueId root) except -1 nogil:
    """Apply the rules of the root's state, and of the state that each makes of it; True when one applied."""
    cdef bint progress = False
    cdef uint32_t place
    cdef bint again = True
    cdef RowRange before
    while again and w.rewrites < max_rewrites and s.instructions.kind[root] == nir_alu:
        again = False
        place = w.accepted[w.states[root]]
        before = sources_of(s, root)
        while automaton_rules[place] != no_rule:
            if _try_rule(s, w, automaton_rules[place], root):
                _set_state(s, w, root)
                if w.uses != NULL:
                    _count_sources(s, w, root)
                    _release_sources(s, w, before)
                again = progress = True
                break
            place += 1
    return progress


cdef bint _walk_block(ShaderData *s, Walk *w) except -1 nogil:
    cdef OrderRow end = s.nodes.order_first[w.block] + s.nodes.order_count[w.block]
    cdef bint progress = False
    cdef ValueId instruction
    if w.writing:
        shader_rewrite_block(&w.rewrite, w.block)
    w.row = s.nodes.order_first[w.block]
    while w.row < end:
        instruction = s.order.instruction[w.row]
        _find_state(s, w, instruction)
        if automaton_rules[w.accepted[w.states[instruction]]] != no_rule:
            w.rewrites = 0
            progress |= _simplify(s, w, instruction)
        if w.writing:
            shader_rewrite_emit(&w.rewrite, instruction)
        w.row += 1
    return progress


cdef bint _walk_blocks(ShaderData *s, Walk *w) except -1 nogil:
    cdef bint progress = False
    _reserve(s, w)
    while w.block:
        progress |= _walk_block(s, w)
        w.block = block_walk_next(s, w.block)
    if w.writing:
        shader_rewrite_end(&w.rewrite)
    return progress


cdef int algebraic_run(ShaderData *s, int group) except -1 nogil:
    """Returns as kernels do."""
    cdef Walk w
    w.states = NULL
    w.uses = NULL
    w.first_new = s.instructions.table.count
    w.accepted = automaton_accepted + group * <int>automaton_states
    w.writing = w.hinges = w.hinges_on_uses = False
    w.block = node_first_block(s)
    try:
        if _walk_blocks(s, &w):
            return kernel_changed
        if w.hinges_on_uses:
            return 0
        return kernel_steady_without if w.hinges else kernel_steady
    finally:
        free(w.states)
        free(w.uses)


cdef int _kernel(void *ir, int group) except -1 nogil:
    return algebraic_run(<ShaderData *>ir, group)


kernel = native_kernel(_kernel, lambda options, level: rules_late if options["late"] else rules_main)


def run(Shader shader not None, options=None):
    """Apply the rules of the main group, or of the late one (option ``late``); True when an instruction changed."""
    cdef bint late = (options or {}).get("late", False)
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, rules_late if late else rules_main) & kernel_changed
    return progress
