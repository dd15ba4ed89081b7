"""Expressions of the rule tables. The contract is in ``rule_trees.pxd``.

A replacement is evaluated as ``algebraic.pyx`` would build it: constants and unsized opcodes take the same sizes.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from algebraic_tables cimport (
    pattern_bits, pattern_children, pattern_component_shift, pattern_kind, pattern_opcode, pattern_value, rule_pattern, rule_replacement,
    rules_define, rules_of,
)
from nir_opcodes cimport alu_input_count, alu_input_sizes_flat, alu_input_types_flat, alu_max_inputs, alu_output_type

from pyaco._core.common.bits cimport low_bits
from pyaco._core.common.floats cimport bits_double, float_to_bits

cdef enum:
    node_opcode = 0
    node_variable = 1
    node_integer = 2
    max_operands = 4                 # of an opcode in a rule

cdef struct Operands:
    alu_function evaluate
    const uint64_t *const *values    # by letter: the components of an operand
    uint8_t[16] bits                 # by letter
    uint8_t[16] offset               # by letter: the component meant by component 0


cdef uint64_t pattern_constant(uint32_t node, int bits) noexcept nogil:
    if pattern_kind[node] == node_integer:
        return low_bits(pattern_value[node], bits)
    return float_to_bits(bits_double(pattern_value[node]), bits)


cdef int unsized_bits(const uint8_t *letter_bits, uint32_t node, int expected) noexcept nogil:
    cdef int opcode = pattern_opcode[node]
    cdef uint32_t child
    cdef int bits
    cdef int i
    if pattern_kind[node] == node_variable:
        return letter_bits[letter_of(pattern_value[node])]
    if pattern_kind[node] != node_opcode:
        return 0
    for i in range(alu_input_count[opcode]):
        if alu_input_types_flat[opcode * alu_max_inputs + i] & 0xff:
            continue
        child = pattern_children[node * 4 + i]
        if pattern_kind[child] == node_opcode and alu_output_type[pattern_opcode[child]] & 0xff:
            bits = alu_output_type[pattern_opcode[child]] & 0xff
        else:
            bits = unsized_bits(letter_bits, child, 0)
        if bits:
            return bits
    return expected


cdef bint _value(const Operands *o, uint32_t node, int expected, uint64_t *result) noexcept nogil:
    """The value of a node of which `expected` bits are wanted."""
    cdef int opcode = pattern_opcode[node]
    cdef uint64_t[4] values
    cdef (const uint64_t *)[4] pointers
    cdef uint32_t letter
    cdef int unsized, size, i
    if pattern_kind[node] == node_variable:
        letter = letter_of(pattern_value[node])
        result[0] = o.values[letter][o.offset[letter] + (pattern_value[node] >> pattern_component_shift)]
        return True
    if pattern_kind[node] != node_opcode:
        result[0] = pattern_constant(node, expected)
        return True
    unsized = unsized_bits(o.bits, node, expected)
    for i in range(alu_input_count[opcode]):
        size = alu_input_types_flat[opcode * alu_max_inputs + i] & 0xff
        if not _value(o, pattern_children[node * max_operands + i], size if size else unsized, &values[i]):
            return False
        pointers[i] = &values[i]
    size = alu_output_type[opcode] & 0xff
    return o.evaluate(opcode, unsized, size if size else unsized, 1, pointers, result)


cdef bint is_defined(int opcode) noexcept nogil:
    cdef int first, count
    rules_of(rules_define, opcode, &first, &count)
    return count != 0


cdef bint _fits(const Operands *o, uint32_t pattern) noexcept nogil:
    """Whether the sizes that a pattern asks for are those of the operands."""
    cdef uint32_t child
    cdef int i
    for i in range(alu_input_count[pattern_opcode[pattern]]):
        child = pattern_children[pattern * max_operands + i]
        if pattern_bits[child] and pattern_bits[child] != o.bits[letter_of(pattern_value[child])]:
            return False
    return True


cdef bint defined_value(alu_function evaluate, int opcode, int bit_size, int result_bits, const uint64_t *const *operands, int component,
                        uint64_t *result) noexcept nogil:
    cdef Operands o
    cdef int first, count, rule, size, i
    o.evaluate = evaluate
    o.values = operands
    for i in range(alu_input_count[opcode]):
        size = alu_input_types_flat[opcode * alu_max_inputs + i] & 0xff
        o.bits[i] = <uint8_t>(size if size else bit_size)
        o.offset[i] = <uint8_t>(0 if alu_input_sizes_flat[opcode * alu_max_inputs + i] else component)
    rules_of(rules_define, opcode, &first, &count)
    for rule in range(first, first + count):
        if _fits(&o, rule_pattern[rule]):
            return _value(&o, rule_replacement[rule], result_bits, result)
    return False
