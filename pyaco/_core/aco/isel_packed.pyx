"""Instruction selection of 16-bit operations on vectors of two (``opt_vectorize`` makes them): packed instructions, VOP3P.

Each source is a dword, of which two bits choose the half that each result is computed of, and two bits negate these: a negation is
folded into what reads it. Operations on bits are those of whole dwords.

Sources: AMD ISA documents (Vega, RDNA 2, RDNA 3), "VOP3P": an inline constant is in the low half alone; there are no literals before
GFX10. The choice of opcodes is ACO's (``aco_instruction_selection.cpp``).
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from modifiers cimport modifier_set_clamp, modifier_set_neg, modifier_set_neg_hi, modifier_set_opsel, modifier_set_opsel_hi
from nir_opcodes cimport *
from pyaco._core.aco.isel_context cimport *
from pyaco._core.ir.program cimport Operand, TempId, class_bytes, class_is_vgpr, class_s1, gfx9, operand_c16, operand_is_literal, operand_temp
from pyaco._core.ir.shader cimport (
    ValueId, constant_bits, nir_alu, nir_load_const, source_swizzle, source_value, swizzle_component,
)

cdef enum:                        # PackedFlag: bits
    float_sources = 1             # negations fold into the modifiers
    reversed_operands = 2
    whole_dwords = 4              # a 32-bit instruction computes both halves
    negated_second = 8            # a subtraction is an addition
    with_one = 16                 # a product with one, which carries modifiers
    negated = 32
    clamped = 64

cdef struct PackedRule:
    uint16_t opcode
    uint16_t flags

cdef PackedRule[alu_count] _rules

_TABLE = {
    alu_fadd: (op_v_pk_add_f16, float_sources),
    alu_fsub: (op_v_pk_add_f16, float_sources | negated_second),
    alu_fmul: (op_v_pk_mul_f16, float_sources),
    alu_ffma: (op_v_pk_fma_f16, float_sources),
    alu_fmin: (op_v_pk_min_f16, float_sources),
    alu_fmax: (op_v_pk_max_f16, float_sources),
    alu_fneg: (op_v_pk_mul_f16, float_sources | with_one | negated),
    alu_fsat: (op_v_pk_mul_f16, float_sources | with_one | clamped),
    alu_iadd: (op_v_pk_add_u16, 0),
    alu_isub: (op_v_pk_sub_u16, 0),
    alu_imul: (op_v_pk_mul_lo_u16, 0),
    alu_imin: (op_v_pk_min_i16, 0),
    alu_imax: (op_v_pk_max_i16, 0),
    alu_umin: (op_v_pk_min_u16, 0),
    alu_umax: (op_v_pk_max_u16, 0),
    alu_ishl: (op_v_pk_lshlrev_b16, reversed_operands),
    alu_ishr: (op_v_pk_ashrrev_i16, reversed_operands),
    alu_ushr: (op_v_pk_lshrrev_b16, reversed_operands),
    alu_iand: (op_v_and_b32, whole_dwords),
    alu_ior: (op_v_or_b32, whole_dwords),
    alu_ixor: (op_v_xor_b32, whole_dwords),
    alu_inot: (op_v_not_b32, whole_dwords),
}
for _opcode in range(alu_count):
    _rules[_opcode].opcode = op_invalid
for _opcode, _values in _TABLE.items():
    _rules[_opcode] = dict(zip(("opcode", "flags"), _values))

# A source: its operand, and for the low and the high result which half it gives and whether that is negated.
cdef struct Packed:
    Operand operand
    uint32_t[2] half
    uint32_t[2] negative


cdef bint is_packed(Isel *c, ValueId instruction) noexcept nogil:
    return (c.s.instructions.components[instruction] == 2 and c.s.instructions.bit_size[instruction] == 16
            and _rules[c.s.instructions.opcode[instruction]].opcode != op_invalid)


cdef int _constant_source(Isel *c, ValueId value, const uint32_t *components, bint whole, Packed *source) except -1 nogil:
    cdef uint32_t low = <uint32_t>constant_bits(c.s, value, components[0]) & 0xffff
    cdef uint32_t high = <uint32_t>constant_bits(c.s, value, components[1]) & 0xffff
    source.operand = K(low | high << 16)
    source.half[0] = 0
    source.half[1] = 1
    if whole:
        return 0
    if low == high and not operand_is_literal(operand_c16(low)):
        source.operand = operand_c16(low)
        source.half[1] = 0
        return 0
    source.operand = T(c, copy(c, 0, class_s1, source.operand))
    return 0


cdef TempId _dword_of(Isel *c, ValueId value, uint32_t index) except 0 nogil:
    """Halves 2 * `index` and 2 * `index` + 1 of a vector."""
    cdef TempId temp = value_temp(c, value)
    cdef TempId low
    cdef TempId high
    if 2 * index + 1 == c.s.instructions.components[value]:
        return extract(c, temp, 2 * index, 2)
    if class_bytes(class_of(c, temp)) == 4:
        return temp
    if is_vgpr(c, temp) and temp < c.part_first.size() and c.part_first[temp] and c.part_count[temp] == c.s.instructions.components[value]:
        low = part(c, temp, 2 * index, 2)
        high = part(c, temp, 2 * index + 1, 2)
        return pair(c, 0, vgpr_class(4), T(c, low), T(c, high))
    return part(c, temp, index, 4)


cdef int _packed_source(Isel *c, ValueId instruction, uint32_t index, uint32_t flags, Packed *source) except -1 nogil:
    cdef ValueId value = source_value(c.s, instruction, index)
    cdef uint64_t swizzle = source_swizzle(c.s, instruction, index)
    cdef uint32_t[2] components
    cdef uint32_t k
    for k in range(2):
        components[k] = swizzle_component(swizzle, k)
        source.negative[k] = 0
    while flags & float_sources and c.s.instructions.kind[value] == nir_alu and c.s.instructions.opcode[value] == alu_fneg:
        swizzle = source_swizzle(c.s, value, 0)
        for k in range(2):
            components[k] = swizzle_component(swizzle, components[k])
            source.negative[k] ^= 1
        value = source_value(c.s, value, 0)
    if c.s.instructions.kind[value] == nir_load_const:
        return _constant_source(c, value, components, (flags & whole_dwords) != 0, source)
    for k in range(2):
        source.half[k] = components[k] % 2
    if c.s.instructions.components[value] == 1:
        source.operand = T(c, value_temp(c, value))
    else:
        source.operand = T(c, _dword_of(c, value, components[0] // 2))
    return 0


cdef int _emit_packed(Isel *c, uint32_t opcode, uint32_t flags, TempId dst, Packed *sources, uint32_t count) except -1 nogil:
    cdef Operand[3] o
    cdef uint64_t *word
    cdef uint32_t[2] half
    cdef uint32_t[2] negative
    cdef uint32_t i
    cdef uint32_t k
    for k in range(2):
        half[k] = 0
        negative[k] = 0
    for i in range(count):
        o[i] = sources[i].operand
        for k in range(2):
            half[k] |= sources[i].half[k] << i
            negative[k] |= sources[i].negative[k] << i
    emit(c, opcode, dst, o, count)
    if flags & whole_dwords:
        return 0
    half[1] |= 7 >> count << count            # as assemblers write it for sources that are not there
    word = modifiers_of_last(c)
    word[0] = modifier_set_opsel_hi(modifier_set_opsel(word[0], half[0]), half[1])
    word[0] = modifier_set_neg_hi(modifier_set_neg(word[0], negative[0]), negative[1])
    if flags & clamped:
        word[0] = modifier_set_clamp(word[0], 1)
    return 0


cdef inline bint _in_vgpr(Operand o) noexcept nogil:
    return (o.flags & operand_temp) != 0 and class_is_vgpr(o.register_class)


cdef int select_packed(Isel *c, ValueId instruction, TempId dst) except -1 nogil:
    cdef const PackedRule *rule = &_rules[c.s.instructions.opcode[instruction]]
    cdef uint32_t count = c.s.instructions.source_count[instruction]
    cdef Packed[3] sources
    cdef Packed swap
    cdef uint32_t i
    cdef uint32_t k
    if c.gfx < gfx9 or not is_vgpr(c, dst):
        return unsupported_alu(c, instruction)
    for i in range(count):
        _packed_source(c, instruction, i, rule.flags, &sources[i])
    if rule.flags & with_one:
        sources[1].operand = operand_c16(0x3c00)
        for k in range(2):
            sources[1].half[k] = 0
            sources[1].negative[k] = (rule.flags & negated) != 0
        count = 2
    for k in range(2):
        sources[1].negative[k] ^= (rule.flags & negated_second) != 0
    if rule.flags & reversed_operands or (rule.flags & whole_dwords and count == 2 and _in_vgpr(sources[0].operand)
                                          and not _in_vgpr(sources[1].operand)):
        swap = sources[0]
        sources[0] = sources[1]
        sources[1] = swap
    _emit_packed(c, rule.opcode, rule.flags, dst, sources, count)
    if not c.value_used[instruction] & used_packed:
        split(c, dst, 2)
    return 0
