"""The optimizer: scalar instructions that become one, and compares that masks hold: see ``optimize.pyx``."""
from libc.stdint cimport uint16_t, uint32_t

from isa_opcodes cimport *
from isa_tables cimport isa_opcode_number, opcode_format
from pyaco._core.aco.build cimport by_wave
from pyaco._core.aco.optimize_edit cimport *
from pyaco._core.aco.optimize_facts cimport inverse_compare
from pyaco._core.aco.optimize_loads cimport combine_short_load
from pyaco._core.ir.program cimport *


cdef bint _combine_scalar_not(Context *c, InstructionId i, uint16_t inverter, uint16_t opcode) except -1 nogil:
    """a & ~b, a | ~b"""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef InstructionId q = 0
    cdef Operand[2] operands
    for k in range(2):
        if is_single(c, source_at(p, i, k), inverter, &q) and scc_unused(c, q):
            operands[0] = source_at(p, i, 1 - k)
            operands[1] = source_at(p, q, 0)
            become(c, i, opcode, format_sop2, operands, 2)
            return True
    return False


cdef bint _combine_inverted_logic(Context *c, InstructionId i, bint wide) except -1 nogil:
    """~(a | b), ~(a & b), ~(a ^ b)"""
    cdef ProgramData *p = c.p
    cdef InstructionId q = producer_of(c, source_at(p, i, 0))
    cdef Operand[2] operands
    cdef uint16_t opcode
    # What it reads may be exec, which is another one in other blocks.
    if q == 0 or c.uses[result_of(p, q)] != 1 or result_of(p, q) != source_at(p, i, 0).data or c.home[result_of(p, q)] != c.block \
            or not scc_unused(c, q):
        return False
    opcode = p.instructions.opcode[q]
    if opcode == (op_s_or_b64 if wide else op_s_or_b32):
        opcode = op_s_nor_b64 if wide else op_s_nor_b32
    elif opcode == (op_s_and_b64 if wide else op_s_and_b32):
        opcode = op_s_nand_b64 if wide else op_s_nand_b32
    elif opcode == (op_s_xor_b64 if wide else op_s_xor_b32):
        opcode = op_s_xnor_b64 if wide else op_s_xnor_b32
    else:
        return False
    operands[0] = source_at(p, q, 0)
    operands[1] = source_at(p, q, 1)
    become(c, i, opcode, format_sop2, operands, 2)
    return True


cdef bint _combine_inverse_compare(Context *c, InstructionId i) except -1 nogil:
    """The negation of a compare in its block: the inverse compare. Bits of lanes that do not run mean nothing in either."""
    cdef ProgramData *p = c.p
    cdef Operand o = source_at(p, i, 0)
    cdef InstructionId q = producer_of(c, o)
    cdef Operand[8] operands
    cdef uint16_t opcode
    if q == 0 or not p.instructions.format[q] & format_vopc or not format_is_valu(p.instructions.format[q]) or c.uses[o.data] != 1 \
            or c.home[o.data] != c.block or p.instructions.definition_count[q] != 1 or not scc_unused(c, i):
        return False
    opcode = inverse_compare(p.instructions.opcode[q])
    if opcode == 0xffff or isa_opcode_number(p.gfx_level, opcode, opcode_format[opcode]) < 0:
        return False
    become(c, i, opcode, p.instructions.format[q], operands, load_operands(p, q, operands))
    p.instructions.definition_count[i] = 1
    p.instructions.modifiers[i] = p.instructions.modifiers[q]
    return True


cdef bint _combine_and_exec(Context *c, InstructionId i) except -1 nogil:
    """mask & exec: a compare in the same block has already cleared the bits of inactive lanes."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef InstructionId q
    cdef Operand o
    if not scc_unused(c, i):
        return False
    for k in range(2):
        o = source_at(p, i, k)
        q = producer_of(c, o)
        if q == 0 or not p.instructions.format[q] & format_vopc or not format_is_valu(p.instructions.format[q]):
            continue
        if c.home[o.data] != c.block or not source_at(p, i, 1 - k).flags & operand_fixed \
                or source_at(p, i, 1 - k).reg != register_exec or source_at(p, i, 1 - k).flags & operand_constant:
            continue
        p.instructions.definition_count[i] = 1
        become(c, i, op_p_parallelcopy, format_pseudo, &o, 1)
        return True
    return False


cdef bint _combine_scalar_shift_add(Context *c, InstructionId i) except -1 nogil:
    """(a << n) + b with n from 1 to 4, when the carry is unused."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef InstructionId q = 0
    cdef uint32_t shift
    cdef Operand[2] operands
    cdef uint16_t opcode
    if p.gfx_level < gfx9 or not scc_unused(c, i):
        return False
    for k in range(2):
        q = scalar_shift(c, source_at(p, i, k))
        if q == 0 or not source_at(p, q, 1).flags & operand_constant:
            continue
        shift = source_at(p, q, 1).data & 31
        if not 1 <= shift <= 4:
            continue
        operands[0] = source_at(p, q, 0)
        operands[1] = source_at(p, i, 1 - k)
        if operand_is_literal(operands[0]) and operand_is_literal(operands[1]) and operands[0].data != operands[1].data:
            continue
        opcode = (op_s_lshl1_add_u32 if shift == 1 else op_s_lshl2_add_u32 if shift == 2
                  else op_s_lshl3_add_u32 if shift == 3 else op_s_lshl4_add_u32)
        become(c, i, opcode, format_sop2, operands, 2)
        return True
    return False


cdef bint _combine_absolute_difference(Context *c, InstructionId i) except -1 nogil:
    """The magnitude of a difference, or of a sum with a constant; scc says the same: whether it is zero."""
    cdef ProgramData *p = c.p
    cdef Operand o = source_at(p, i, 0)
    cdef InstructionId q = producer_of(c, o)
    cdef Operand[2] operands
    cdef uint32_t k
    if q == 0 or p.instructions.opcode[q] not in (op_s_sub_i32, op_s_sub_u32, op_s_add_i32, op_s_add_u32) or c.uses[o.data] != 1 \
            or result_of(p, q) != o.data or not scc_unused(c, q):
        return False
    operands[0] = source_at(p, q, 0)
    operands[1] = source_at(p, q, 1)
    if p.instructions.opcode[q] == op_s_add_i32 or p.instructions.opcode[q] == op_s_add_u32:
        k = 1 if operands[1].flags & operand_constant else 0
        if not operands[k].flags & operand_constant:
            return False
        operands[1] = operand_c32(-<uint32_t>operand_constant_value(operands[k]))
        operands[0] = source_at(p, q, 1 - k)
        if operand_is_literal(operands[0]) and operand_is_literal(operands[1]):
            return False
    become(c, i, op_s_absdiff_i32, format_sop2, operands, 2)
    return True


cdef bint _upper_half(const Context *c, Operand o, Operand *whole) noexcept nogil:
    """Whether an operand's lower half is the upper half of a scalar."""
    cdef const ProgramData *p = c.p
    cdef InstructionId q = producer_of(c, o)
    if q == 0 or result_of(p, q) != o.data:
        return False
    whole[0] = source_at(p, q, 0)
    if not is_plain_temp(whole[0]) or whole[0].register_class != class_s1:
        return False
    if p.instructions.opcode[q] == op_p_extract:
        return is_constant(source_at(p, q, 1), 1) and is_constant(source_at(p, q, 2), 16)
    return p.instructions.opcode[q] == op_s_lshr_b32 and is_constant(source_at(p, q, 1), 16)


cdef bint _combine_scalar_pack(Context *c, InstructionId i) except -1 nogil:
    """A pair of halves, of which one or both are upper halves; both halves of one scalar are that scalar."""
    cdef ProgramData *p = c.p
    cdef Operand[2] operands
    cdef bint low = _upper_half(c, source_at(p, i, 0), &operands[0])
    cdef bint high = _upper_half(c, source_at(p, i, 1), &operands[1])
    if not high:
        return False
    if not low:
        operands[0] = source_at(p, i, 0)
    if not low and is_plain_temp(operands[0]) and is_plain_temp(operands[1]) and operands[0].data == operands[1].data:
        become(c, i, op_p_parallelcopy, format_pseudo, operands, 1)
    else:
        become(c, i, op_s_pack_hh_b32_b16 if low else op_s_pack_lh_b32_b16, format_sop2, operands, 2)
    return True


cdef bint _one_bit(const Context *c, InstructionId q, Operand *bit) noexcept nogil:
    """Whether a conjunction keeps one bit: the operands of the test of that bit."""
    cdef const ProgramData *p = c.p
    cdef uint32_t k
    cdef InstructionId shift
    cdef Operand mask
    for k in range(2):
        mask = source_at(p, q, k)
        bit[0] = source_at(p, q, 1 - k)
        if mask.flags & operand_constant:
            if mask.data & (mask.data - 1) or mask.data == 0 or bit[0].flags & operand_constant:
                continue
            if mask.data == 1 and is_single(c, bit[0], op_s_lshr_b32, &shift) and scc_unused(c, shift):
                bit[1] = source_at(p, shift, 1)
                bit[0] = source_at(p, shift, 0)
                return True
            bit[1] = operand_c32(0)
            while not mask.data >> bit[1].data & 1:
                bit[1] = operand_c32(bit[1].data + 1)
            return True
        if is_single(c, mask, op_s_lshl_b32, &shift) and scc_unused(c, shift) and is_constant(source_at(p, shift, 0), 1):
            bit[1] = source_at(p, shift, 1)
            return True
    return False


cdef bint _combine_bit_test(Context *c, InstructionId i, uint16_t opcode) except -1 nogil:
    """Whether (a & 1 << n) is 0: the test counts bits by the five lowest of n, as shifts do."""
    cdef ProgramData *p = c.p
    cdef Operand[2] bit
    cdef InstructionId q = 0
    cdef uint32_t k
    for k in range(2):
        if is_constant(source_at(p, i, 1 - k), 0) and is_single(c, source_at(p, i, k), op_s_and_b32, &q) and scc_unused(c, q) \
                and _one_bit(c, q, bit):
            if operand_is_literal(bit[0]) and operand_is_literal(bit[1]):
                return False
            become(c, i, opcode, format_sopc, bit, 2)
            return True
    return False


cdef bint _combine_scalar_multiply_add(Context *c, InstructionId i) except -1 nogil:
    """A scalar addition one operand of which is a product that nothing else reads; the addend is in a register, or a literal."""
    cdef ProgramData *p = c.p
    cdef Operand[3] operands
    cdef Operand o
    cdef InstructionId q
    cdef uint32_t k
    for k in range(2):
        o = source_at(p, i, k)
        q = producer_of(c, o)
        if q == 0 or p.instructions.opcode[q] != op_s_mul_f32 or c.uses[o.data] != 1 or is_precise(p, i, q):
            continue
        operands[0] = source_at(p, q, 0)
        operands[1] = source_at(p, q, 1)
        operands[2] = source_at(p, i, 1 - k)
        if is_plain_temp(operands[2]):
            become(c, i, op_s_fmac_f32, format_sop2, operands, 3)
            return True
        if operand_is_literal(operands[2]) and not operand_is_literal(operands[0]) and not operand_is_literal(operands[1]):
            become(c, i, op_s_fmaak_f32, format_sop2, operands, 3)
            return True
    return False


cdef bint combine_scalar(Context *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    if opcode in (op_s_and_b32, op_s_and_b64) and _combine_and_exec(c, i):
        return True
    if opcode == by_wave(p, op_s_not_b32, op_s_not_b64) and _combine_inverse_compare(c, i):
        return True
    if opcode == op_s_not_b32 or opcode == op_s_not_b64:
        return _combine_inverted_logic(c, i, opcode == op_s_not_b64)
    if opcode == op_s_and_b32:
        return _combine_scalar_not(c, i, op_s_not_b32, op_s_andn2_b32)
    if opcode == op_s_and_b64:
        return _combine_scalar_not(c, i, op_s_not_b64, op_s_andn2_b64)
    if opcode == op_s_or_b32:
        return _combine_scalar_not(c, i, op_s_not_b32, op_s_orn2_b32)
    if opcode == op_s_or_b64:
        return _combine_scalar_not(c, i, op_s_not_b64, op_s_orn2_b64)
    if opcode == op_s_add_u32 or opcode == op_s_add_i32:
        return _combine_scalar_shift_add(c, i)
    if opcode == op_s_add_f32:
        return _combine_scalar_multiply_add(c, i)
    if opcode == op_s_pack_ll_b32_b16:
        return _combine_scalar_pack(c, i)
    if opcode in (op_s_bfe_u32, op_s_sext_i32_i8, op_s_sext_i32_i16):
        return combine_short_load(c, i)
    if opcode == op_s_abs_i32:
        return _combine_absolute_difference(c, i)
    if opcode == op_s_cmp_lg_u32 or opcode == op_s_cmp_lg_i32:
        return _combine_bit_test(c, i, op_s_bitcmp1_b32)
    if opcode == op_s_cmp_eq_u32 or opcode == op_s_cmp_eq_i32:
        return _combine_bit_test(c, i, op_s_bitcmp0_b32)
    return False
