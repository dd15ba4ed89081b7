"""Phis of numbers that say no more than true or false become phis of booleans.

    if a { } else { }                     if a { } else { }
    x = phi 1, b2i32(b)            ->     y = phi true, ine(b2i32(b), 0)
                                          x = b2i32(y)

A number is a truth where it is always 0 or 1, 0 or -1, or 0.0 or 1.0: a constant, a conversion of a boolean, or a phi, a selection or an
operation of such that stays among them. All phis are taken for truths of every kind until a source says otherwise, so that phis of a loop that
name one another are found. A phi that anything reads as a number stays one: but for comparisons with constants, and truths that nothing reads as
numbers. What is left is for ``algebraic``: the comparison of sources, and of the result.

Needs: scalar. Guarantees: valid NIR. Source: what a truth is, is Mesa's ``nir_opt_phi_to_bool``, which asks nothing of the readers.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from nir_opcodes cimport (
    alu_b2b8, alu_b2b16, alu_b2b32, alu_b2f16, alu_b2f32, alu_b2f64, alu_b2i8, alu_b2i16, alu_b2i32, alu_b2i64, alu_bcsel, alu_count, alu_feq,
    alu_fge, alu_flt, alu_fmax, alu_fmin, alu_fmul, alu_fneu, alu_iand, alu_ieq, alu_ige, alu_ilt, alu_imax, alu_imin, alu_ine, alu_ineg, alu_inot,
    alu_ior, alu_ixor, alu_mov, alu_uge, alu_ult, alu_umax, alu_umin,
)
from pyaco._core.common.bits cimport low_mask
from pyaco._core.common.floats cimport float_to_bits
from pyaco._core.common.table cimport table_append_many
from pyaco._core.common.zeroed cimport Zeroed
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, Shader, ShaderData, SourceRow, ValueId, block_walk_next, constant_bits, identity_swizzle, nir_alu, nir_alu_n, nir_constant,
    nir_load_const, nir_phi, nir_phi_new, nir_undef, nir_undefined, node_first_block, phi_set, source_swizzle, source_value, value_is_constant,
)
from pyaco._core.ir.source_lines cimport lines_inherit
from pyaco._core.nir.control_flow_edit cimport BlockContents, ControlFlowEdit, edit_begin, edit_end, edit_jump_of

cdef enum:                        # Truth: how a number says true, a bit each; false is 0
    truth_one = 1
    truth_all_bits = 2
    truth_float = 4
    any_truth = 7
    most_rounds = 32

cdef enum:                        # Rule: what an operation on truths is
    no_rule = 0                   # any number
    is_one = 1
    is_all_bits = 2
    is_float = 3
    negates = 4
    inverts = 5
    selects = 6
    masks = 7
    keeps = 8                     # of two of a kind, one of that kind
    keeps_floats = 9
    copies = 10

cdef uint8_t[alu_count] _rules
for _rule, _opcodes in {
    is_one: (alu_b2i8, alu_b2i16, alu_b2i32, alu_b2i64), is_all_bits: (alu_b2b8, alu_b2b16, alu_b2b32), is_float: (alu_b2f16, alu_b2f32, alu_b2f64),
    negates: (alu_ineg,), inverts: (alu_inot,), selects: (alu_bcsel,), masks: (alu_iand,), copies: (alu_mov,),
    keeps: (alu_imin, alu_imax, alu_umin, alu_umax, alu_ior, alu_ixor), keeps_floats: (alu_fmin, alu_fmax, alu_fmul),
}.items():
    for _opcode in _opcodes:
        _rules[_opcode] = _rule

cdef struct Truths:
    ShaderData *s
    Zeroed[uint8_t] excluded      # by value: the kinds that it is not, so that nothing is excluded at first
    Zeroed[uint8_t] is_number     # by value: read as a number
    vector[ValueId] phis          # that may be truths


# ------------------------------------------------------------------------------------------------------------ which they are
cdef uint8_t _of_constant(const ShaderData *s, ValueId value) noexcept nogil:
    cdef int bit_size = s.instructions.bit_size[value]
    cdef uint64_t bits = constant_bits(s, value, 0)
    if bits == 0:
        return any_truth
    if bits == 1:
        return truth_one
    if bits == low_mask(bit_size):
        return truth_all_bits
    return truth_float if bit_size >= 16 and bits == float_to_bits(1.0, bit_size) else 0


cdef inline uint8_t _of(const Truths *t, ValueId value) noexcept nogil:
    """The kinds of truth that a value may be; a component of a vector is none."""
    return any_truth & ~t.excluded[value] if t.s.instructions.components[value] == 1 else 0


cdef inline uint8_t _of_source(const Truths *t, ValueId i, uint32_t source) noexcept nogil:
    return _of(t, source_value(t.s, i, source))


cdef uint8_t _of_masked(uint8_t left, uint8_t right) noexcept nogil:
    if left & truth_all_bits:
        return right
    return left if right & truth_all_bits else left & right


cdef uint8_t _of_operation(const Truths *t, ValueId i) noexcept nogil:
    cdef int rule = _rules[t.s.instructions.opcode[i]]
    cdef uint8_t first
    if rule == no_rule or t.s.instructions.components[i] != 1:
        return 0
    if rule <= is_float:
        return 1 << (rule - 1)
    first = _of_source(t, i, 0)
    if rule == negates:
        return (first & truth_one) << 1 | (first & truth_all_bits) >> 1
    if rule == inverts:
        return first & truth_all_bits
    if rule == selects:
        return _of_source(t, i, 1) & _of_source(t, i, 2)
    if rule == masks:
        return _of_masked(first, _of_source(t, i, 1))
    if rule == copies:
        return first
    return first & _of_source(t, i, 1) & (truth_float if rule == keeps_floats else any_truth)


cdef uint8_t _of_instruction(const Truths *t, ValueId i) noexcept nogil:
    cdef uint8_t kind = t.s.instructions.kind[i]
    cdef uint8_t truths = any_truth
    cdef uint32_t source
    if kind == nir_alu:
        return _of_operation(t, i)
    if kind == nir_load_const:
        return _of_constant(t.s, i)
    if kind == nir_phi:
        for source in range(t.s.instructions.source_count[i]):
            truths &= _of_source(t, i, source)
        return truths
    return any_truth if kind == nir_undef else 0


cdef bint _exclude(Truths *t) noexcept nogil:
    """Exclude what one walk over the shader does; True when that was anything."""
    cdef ShaderData *s = t.s
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef ValueId i
    cdef uint8_t excluded
    cdef bint progress = False
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            i = s.order.instruction[row]
            excluded = t.excluded[i] | (any_truth & ~_of_instruction(t, i))
            progress |= excluded != t.excluded[i]
            t.excluded[i] = excluded
        block = block_walk_next(s, block)
    return progress


cdef bint _may_be_truth(const ShaderData *s, ValueId value) noexcept nogil:
    cdef uint8_t kind = s.instructions.kind[value]
    if kind == nir_alu:
        return _rules[s.instructions.opcode[value]] != no_rule
    return kind == nir_phi or kind == nir_undef or (kind == nir_load_const and _of_constant(s, value) != 0)


cdef int _find_phis(Truths *t) except -1 nogil:
    """List the phis of numbers that no source rules out at first sight: most shaders have none."""
    cdef ShaderData *s = t.s
    cdef NodeId block = node_first_block(s)
    cdef OrderRow row
    cdef ValueId i
    cdef uint32_t source
    while block:
        for row in range(s.nodes.order_first[block], s.nodes.order_first[block] + s.nodes.order_count[block]):
            i = s.order.instruction[row]
            if s.instructions.kind[i] != nir_phi:
                break
            if s.instructions.bit_size[i] == 1 or s.instructions.components[i] != 1:
                continue
            for source in range(s.instructions.source_count[i]):
                if not _may_be_truth(s, source_value(s, i, source)):
                    break
            else:
                t.phis.push_back(i)
        block = block_walk_next(s, block)
    return 0


cdef bint _asks_for_truth(const ShaderData *s, ValueId i) noexcept nogil:
    """A comparison with a constant."""
    return s.instructions.kind[i] == nir_alu and s.instructions.opcode[i] in (
        alu_ieq, alu_ine, alu_ilt, alu_ige, alu_ult, alu_uge, alu_feq, alu_fneu, alu_flt, alu_fge) \
        and (value_is_constant(s, source_value(s, i, 0)) or value_is_constant(s, source_value(s, i, 1)))


cdef bint _note_numbers(Truths *t) except -1 nogil:
    """Note what is read as a number in one walk from the end: by anything but comparisons with constants and truths that are none; True
    when something was noted."""
    cdef ShaderData *s = t.s
    cdef OrderRow row
    cdef ValueId i, value
    cdef uint32_t source
    cdef bint progress = False
    for row in range(s.order.table.count, 0, -1):
        i = s.order.instruction[row - 1]
        if s.instructions.kind[i] in (nir_alu, nir_phi) and (_asks_for_truth(s, i) or _is_truth(t, i) and not t.is_number[i]):
            continue
        for source in range(s.instructions.source_count[i]):
            value = source_value(s, i, source)
            progress |= not t.is_number[value]
            t.is_number[value] = True
    return progress


cdef inline bint _is_truth(const Truths *t, ValueId value) noexcept nogil:
    """Whether a value is a truth; what is 0 alone is left to other passes."""
    return _of(t, value) not in (0, any_truth)


cdef int _find_truths(Truths *t) except -1 nogil:
    cdef uint32_t i
    cdef uint32_t count = 0
    cdef int rounds = most_rounds
    t.excluded.assign(t.s.instructions.table.count)
    t.is_number.assign(t.s.instructions.table.count)
    while rounds and _exclude(t):
        rounds -= 1
    while rounds and _note_numbers(t):
        rounds -= 1
    if not rounds:
        t.phis.clear()
    for i in range(<uint32_t>t.phis.size()):
        if _is_truth(t, t.phis[i]) and not t.is_number[t.phis[i]]:
            t.phis[count] = t.phis[i]
            count += 1
    t.phis.resize(count)
    return 0


# --------------------------------------------------------------------------------------------------------------- becoming booleans
cdef int _append(ControlFlowEdit *edit, NodeId block, ValueId value) except -1 nogil:
    """Put a value at the end of a block, before its jump."""
    cdef BlockContents *contents = &edit.contents[block]
    contents.insert(contents.size() - (edit_jump_of(edit, block) != 0), value)
    return 0


cdef ValueId _as_boolean(ControlFlowEdit *edit, const Zeroed[ValueId] &booleans, NodeId block, ValueId value, bint of_float) except 0 nogil:
    """The boolean that a number is: what it was made of, or a comparison with 0 at the end of a block."""
    cdef ShaderData *s = edit.shader
    cdef ValueId[2] operands
    cdef ValueId result
    if booleans[value]:
        return booleans[value]
    if s.instructions.kind[value] == nir_alu and no_rule < _rules[s.instructions.opcode[value]] <= is_float \
            and s.instructions.components[source_value(s, value, 0)] == 1:
        return source_value(s, value, 0)
    if s.instructions.kind[value] == nir_undef:
        result = nir_undefined(s, 1, 1)
    elif value_is_constant(s, value):
        result = nir_constant(s, constant_bits(s, value, 0) != 0, 1)
    else:
        operands[0] = value
        operands[1] = nir_constant(s, 0, s.instructions.bit_size[value])
        _append(edit, block, operands[1])
        result = nir_alu_n(s, alu_fneu if of_float else alu_ine, operands, 2)
    _append(edit, block, result)
    return result


cdef int _conversion(int bit_size, bint to_float) noexcept nogil:
    if to_float:
        return alu_b2f16 if bit_size == 16 else alu_b2f32 if bit_size == 32 else alu_b2f64
    return alu_b2i8 if bit_size == 8 else alu_b2i16 if bit_size == 16 else alu_b2i32 if bit_size == 32 else alu_b2i64


cdef int _become_operation(ShaderData *s, ValueId i, int opcode, ValueId operand) except -1 nogil:
    """Let a value be an operation of one operand."""
    cdef SourceRow row = table_append_many(&s.sources.table, 1)
    s.instructions.kind[i] = nir_alu
    s.instructions.opcode[i] = opcode
    s.instructions.flags[i] = 0
    s.instructions.source_first[i] = row
    s.instructions.source_count[i] = 1
    s.sources.value[row] = operand
    s.sources.swizzle[row] = identity_swizzle
    return 0


cdef int _fill(ControlFlowEdit *edit, const Zeroed[ValueId] &booleans, ValueId phi, bint of_float) except -1 nogil:
    """Give the phi of booleans that a phi becomes its sources."""
    cdef ShaderData *s = edit.shader
    cdef NodeId predecessor
    cdef ValueId value
    cdef uint32_t i
    for i in range(s.instructions.source_count[phi]):
        value = source_value(s, phi, i)
        predecessor = <NodeId>source_swizzle(s, phi, i)
        phi_set(s, booleans[phi], i, _as_boolean(edit, booleans, predecessor, value, of_float), predecessor)
    lines_inherit(&s.lines, booleans[phi], booleans[phi] + 1, phi)
    return 0


cdef int _replace(ControlFlowEdit *edit, ValueId phi, ValueId boolean, uint8_t truths) except -1 nogil:
    """Let what a phi was be made of its phi of booleans, which stands in its place: the edit's end puts the rest behind all phis."""
    cdef ShaderData *s = edit.shader
    cdef BlockContents *contents = &edit.contents[s.instructions.block[phi]]
    cdef int bit_size = s.instructions.bit_size[phi]
    cdef uint32_t place = 0
    cdef ValueId one
    while contents[0][place] != phi:
        place += 1
    if truths & truth_one or not truths & truth_all_bits:
        _become_operation(s, phi, _conversion(bit_size, not truths & truth_one), boolean)
    else:
        one = nir_alu_n(s, _conversion(bit_size, False), &boolean, 1)
        _become_operation(s, phi, alu_ineg, one)
        contents.insert(place, one)
    contents.insert(place, boolean)
    return 0


cdef int _convert(Truths *t) except -1 nogil:
    cdef ShaderData *s = t.s
    cdef ControlFlowEdit edit
    cdef Zeroed[ValueId] booleans      # by phi: what it becomes
    cdef ValueId phi
    booleans.assign(s.instructions.table.count)
    edit_begin(&edit, s)
    for phi in t.phis:
        booleans[phi] = nir_phi_new(s, 1, 1, s.instructions.source_count[phi])
    for phi in t.phis:
        _fill(&edit, booleans, phi, not _of(t, phi) & (truth_one | truth_all_bits))
    for phi in t.phis:
        _replace(&edit, phi, booleans[phi], _of(t, phi))
    return edit_end(&edit)


cdef bint opt_phi_to_bool_run(ShaderData *s) except -1 nogil:
    cdef Truths truths
    truths.s = s
    _find_phis(&truths)
    if not truths.phis.empty():
        _find_truths(&truths)
    if truths.phis.empty():
        return False
    _convert(&truths)
    return True


cdef int _kernel(void *ir, int option) except -1 nogil:
    return opt_phi_to_bool_run(<ShaderData *>ir)


kernel = native_kernel(_kernel)


def run(Shader shader not None, options=None):
    """Make booleans of phis of truths; True when there were any."""
    cdef bint progress
    with nogil:
        progress = _kernel(&shader.data, 0)
    return progress
