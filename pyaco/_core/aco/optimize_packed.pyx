"""The optimizer: constants that packed instructions read, and products in packed sums: see ``optimize.pyx``.

For each of its two results a packed instruction chooses a half of a source and, if it computes floats, its sign. An inline constant is an integer of
32 bits, or a half below zeros. Sources: AMD ISA documents, "VOP3P"; LLVM (``AMDGPUBaseInfo``, inline constants of V2F16 and V2I16).
"""
from libc.stdint cimport int16_t, int32_t, uint16_t, uint32_t, uint64_t

from isa_opcodes cimport (
    op_v_pk_add_f16, op_v_pk_fma_f16, op_v_pk_mad_u16, op_v_pk_max_f16, op_v_pk_min_f16, op_v_pk_mul_f16, op_v_pk_mul_lo_u16,
)
from isa_tables cimport can_use_input_modifiers
from modifiers cimport (
    modifier_clamp, modifier_neg, modifier_neg_hi, modifier_opsel, modifier_opsel_hi, modifier_set_clamp, modifier_set_neg,
    modifier_set_neg_hi, modifier_set_opsel, modifier_set_opsel_hi,
)
from pyaco._core.aco.inline_constants cimport is_missing_constant
from pyaco._core.aco.optimize_edit cimport *
from pyaco._core.ir.program cimport (
    Operand, ProgramData, definition_precise, format_vop3p, gfx10, operand_c16, operand_c32, operand_constant_value, operand_is_literal,
    operand_literal32,
)


# ------------------------------------------------------------------------------------------------------------------ constants
cdef int _choice(uint32_t constant, uint32_t half, bint has_sign) noexcept nogil:
    """How a constant gives a half: 1 by its upper half, 2 negated; -1 not at all."""
    cdef int choice
    for choice in range(4 if has_sign else 2):
        if ((constant >> (16 if choice & 1 else 0)) ^ (0x8000 if choice & 2 else 0)) & 0xffff == half:
            return choice
    return -1


cdef bint _inline_constant(const ProgramData *p, uint32_t half, bint is_float, Operand *result, uint32_t *constant) noexcept nogil:
    """The inline constant with this lower half, if there is one, and all its bits."""
    if -16 <= <int32_t><int16_t>half <= 64:
        constant[0] = <uint32_t><int32_t><int16_t>half
        result[0] = operand_c32(constant[0])
        return True
    constant[0] = half
    result[0] = operand_c16(half)
    return is_float and not operand_is_literal(result[0]) and not is_missing_constant(p.gfx_level, result[0])


cdef uint64_t _with_choices(uint64_t word, uint32_t k, int low, int high) noexcept nogil:
    """Modifiers of a packed instruction with other halves and signs of a source."""
    cdef uint32_t bit = 1 << k
    word = modifier_set_opsel(word, modifier_opsel(word) & ~bit | (low & 1) << k)
    word = modifier_set_opsel_hi(word, modifier_opsel_hi(word) & ~bit | (high & 1) << k)
    word = modifier_set_neg(word, modifier_neg(word) ^ (low >> 1 & 1) << k)
    return modifier_set_neg_hi(word, modifier_neg_hi(word) ^ (high >> 1 & 1) << k)


cdef bint propagate_packed_constant(Context *c, InstructionId i, uint32_t k, Operand source) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef Operand o = source_at(p, i, k)
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef bint is_float = can_use_input_modifiers(p.instructions.opcode[i])
    cdef uint32_t value = <uint32_t>operand_constant_value(source)
    cdef uint32_t low_half = value >> (16 if modifier_opsel(word) >> k & 1 else 0) & 0xffff
    cdef uint32_t high_half = value >> (16 if modifier_opsel_hi(word) >> k & 1 else 0) & 0xffff
    cdef Operand[8] operands
    cdef uint32_t count = load_operands(p, i, operands)
    cdef uint32_t constant = 0
    cdef uint32_t guess
    cdef int low
    cdef int high
    for guess in range(4 if is_float else 2):
        if not _inline_constant(p, (high_half if guess & 1 else low_half) ^ (0x8000 if guess & 2 else 0), is_float, &operands[k], &constant):
            continue
        low = _choice(constant, low_half, is_float)
        high = _choice(constant, high_half, is_float)
        if low >= 0 and high >= 0:
            become(c, i, p.instructions.opcode[i], p.instructions.format[i], operands, count)
            p.instructions.modifiers[i] = _with_choices(word, k, low, high)
            return True
    operands[k] = operand_literal32(value)
    # A literal in many instructions costs more than a register that holds it.
    if p.gfx_level < gfx10 or c.uses[o.data] > 3 or not bus_allows(p, p.instructions.opcode[i], format_vop3p, operands, count):
        return False
    become(c, i, p.instructions.opcode[i], p.instructions.format[i], operands, count)
    return True


# ------------------------------------------------------------------------------------------------------------- multiply-add
cdef bint combine_packed_multiply_add(Context *c, InstructionId i) except -1 nogil:
    """A packed addition that reads a packed product, which nothing but such instructions reads, half by half."""
    cdef ProgramData *p = c.p
    cdef bint is_float = p.instructions.opcode[i] == op_v_pk_add_f16
    cdef uint16_t multiply = op_v_pk_mul_f16 if is_float else op_v_pk_mul_lo_u16
    cdef uint16_t fused = op_v_pk_fma_f16 if is_float else op_v_pk_mad_u16
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef uint64_t product
    cdef uint32_t k
    cdef uint32_t other
    cdef uint32_t low
    cdef uint32_t high
    cdef InstructionId q
    cdef Operand[3] operands
    cdef Operand o
    # Saturated is the sum alone, where it is one of integers.
    if not is_float and modifier_clamp(word):
        return False
    for k in range(2):
        other = 1 - k
        o = source_at(p, i, k)
        q = producer_of(c, o)
        if q == 0 or p.instructions.opcode[q] != multiply or not (is_summed(c, o) if is_float else c.uses[o.data] == 1):
            continue
        product = p.instructions.modifiers[q]
        if modifier_clamp(product) or modifier_opsel(word) >> k & 1 or not modifier_opsel_hi(word) >> k & 1:
            continue
        if is_float and (p.definitions.flags[p.instructions.definition_first[q]] | p.definitions.flags[p.instructions.definition_first[i]]) \
                & definition_precise:
            continue
        operands[0] = source_at(p, q, 0)
        operands[1] = source_at(p, q, 1)
        operands[2] = source_at(p, i, other)
        if not bus_allows(p, fused, format_vop3p, operands, 3):
            continue
        low = (modifier_neg(product) & 3) ^ (modifier_neg(word) >> k & 1) | (modifier_neg(word) >> other & 1) << 2
        high = (modifier_neg_hi(product) & 3) ^ (modifier_neg_hi(word) >> k & 1) | (modifier_neg_hi(word) >> other & 1) << 2
        product = modifier_set_neg_hi(modifier_set_neg(product, low), high)
        product = modifier_set_opsel(product, (modifier_opsel(product) & 3) | (modifier_opsel(word) >> other & 1) << 2)
        product = modifier_set_opsel_hi(product, (modifier_opsel_hi(product) & 3) | (modifier_opsel_hi(word) >> other & 1) << 2)
        become(c, i, fused, format_vop3p, operands, 3)
        p.instructions.modifiers[i] = modifier_set_clamp(product, modifier_clamp(word))
        return True
    return False


# -------------------------------------------------------------------------------------------------------------------- clamp
cdef bint _is_packed_one(const ProgramData *p, InstructionId i, uint32_t k) noexcept nogil:
    """Whether both halves of a source are 1.0."""
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef Operand o = source_at(p, i, k)
    cdef uint32_t value
    if not o.flags & operand_constant or (modifier_neg(word) | modifier_neg_hi(word)) >> k & 1:
        return False
    value = <uint32_t>operand_constant_value(o)
    return value >> (16 if modifier_opsel(word) >> k & 1 else 0) & 0xffff == 0x3c00 \
        and value >> (16 if modifier_opsel_hi(word) >> k & 1 else 0) & 0xffff == 0x3c00


cdef bint combine_packed_clamp(Context *c, InstructionId i) except -1 nogil:
    """A product with 1.0 that clamps: the producer of the other factor clamps."""
    cdef ProgramData *p = c.p
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef Operand[8] operands
    cdef Operand o
    cdef InstructionId q
    cdef uint32_t k
    if not modifier_clamp(word):
        return False
    for k in range(2):
        o = source_at(p, i, k)
        q = producer_of(c, o)
        if not _is_packed_one(p, i, 1 - k) or q == 0 or c.uses[o.data] != 1 or c.home[o.data] != c.block \
                or (modifier_neg(word) | modifier_neg_hi(word) | modifier_opsel(word)) >> k & 1 or not modifier_opsel_hi(word) >> k & 1:
            continue
        if p.instructions.opcode[q] not in (op_v_pk_add_f16, op_v_pk_mul_f16, op_v_pk_fma_f16, op_v_pk_min_f16, op_v_pk_max_f16):
            continue
        become(c, i, p.instructions.opcode[q], p.instructions.format[q], operands, load_operands(p, q, operands))
        p.instructions.modifiers[i] = modifier_set_clamp(p.instructions.modifiers[q], 1)
        p.definitions.flags[p.instructions.definition_first[i]] |= \
            p.definitions.flags[p.instructions.definition_first[q]] & <uint16_t>definition_precise
        return True
    return False
