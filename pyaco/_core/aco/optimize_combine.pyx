"""The optimizer's second step: an instruction and the producer of one of its operands become one: see ``optimize.pyx``."""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from isa_tables cimport can_use_input_modifiers, can_use_output_modifiers, isa_opcode_number, opcode_format
from modifiers cimport (
    modifier_abs, modifier_clamp, modifier_neg, modifier_omod, modifier_opsel, modifier_set_abs, modifier_set_clamp, modifier_set_neg,
    modifier_set_omod, modifier_set_opsel,
)
from pyaco._core.aco.build cimport by_wave
from pyaco._core.aco.dominance cimport dominates_linear
from pyaco._core.aco.optimize_edit cimport *
from pyaco._core.aco.optimize_facts cimport (
    Fusion, float_bits, fusion_ones, fusion_x, fusion_y, fusion_z, fusion_zero, fusions_of, inverse_compare, made_bits, result_bits,
)
from pyaco._core.aco.optimize_loads cimport combine_extended_load, combine_short_load
from pyaco._core.aco.optimize_packed cimport combine_packed_multiply_add
from pyaco._core.aco.optimize_parts cimport parts_read
from pyaco._core.aco.optimize_scalar cimport combine_scalar_multiply_add
from pyaco._core.ir.program cimport *


# ----------------------------------------------------------------------------------------------------------------- combine
cdef inline bint _single(const Context *c, Operand o, uint16_t opcode, uint32_t *producer) noexcept nogil:
    """Whether an operand is the first result of this opcode, without modifiers, and is used nowhere else."""
    cdef const ProgramData *p = c.p
    cdef InstructionId q = producer_of(c, o)
    if q == 0 or p.instructions.opcode[q] != opcode or c.uses[o.data] != 1 or result_of(p, q) != o.data:
        return False
    if p.instructions.format[q] & modified_encodings or (format_is_valu(p.instructions.format[q]) and p.instructions.modifiers[q]):
        return False
    producer[0] = q
    return True


cdef inline InstructionId _scalar_shift(const Context *c, Operand o) noexcept nogil:
    """The scalar left shift that computes an operand; 0: none does."""
    cdef InstructionId q = producer_of(c, o)
    return q if q and c.p.instructions.opcode[q] == op_s_lshl_b32 and result_of(c.p, q) == o.data else 0


cdef inline bint _unmodified(const ProgramData *p, InstructionId i) noexcept nogil:
    return not p.instructions.format[i] & modified_encodings and p.instructions.modifiers[i] == 0


cdef bint _fuse_short(Context *c, InstructionId i, uint16_t opcode, Operand *operands, uint32_t count) except -1 nogil:
    """Become an unmodified VOP2 instruction, or the VOP3 form of one, if the generation has it and the operands fit."""
    cdef ProgramData *p = c.p
    cdef uint16_t old_opcode = p.instructions.opcode[i]
    cdef uint16_t old_format = p.instructions.format[i]
    # Of GFX9 only some chips have v_xnor_b32.
    if isa_opcode_number(p.gfx_level, opcode, opcode_format[opcode]) < 0 or p.gfx_level < gfx10:
        return False
    p.instructions.opcode[i] = opcode
    p.instructions.format[i] = opcode_format[opcode]
    if encode_operands(c, i, operands, count):
        return True
    p.instructions.opcode[i] = old_opcode
    p.instructions.format[i] = old_format
    return False


cdef bint _fuse(Context *c, InstructionId i, uint16_t opcode, Operand *operands, uint32_t count) except -1 nogil:
    """Become an unmodified VOP3 instruction if the generation has it and the operands fit."""
    cdef ProgramData *p = c.p
    if opcode_format[opcode] & format_vop2:
        return _fuse_short(c, i, opcode, operands, count)
    if isa_opcode_number(p.gfx_level, opcode, opcode_format[opcode]) < 0 or not bus_allows(p, opcode, format_vop3, operands, count):
        return False
    become(c, i, opcode, format_vop3, operands, count)
    p.instructions.modifiers[i] = 0
    return True


cdef bint _modifies_sources(uint64_t word, uint32_t allowed) noexcept nogil:
    """Whether modifiers are those of these sources alone: signs and halves."""
    cdef uint64_t rest = modifier_set_opsel(modifier_set_abs(modifier_set_neg(word, 0), 0), 0)
    return rest == 0 and ((modifier_neg(word) | modifier_abs(word) | modifier_opsel(word)) & ~allowed) == 0


cdef uint64_t _moved_modifiers(uint64_t word, uint32_t source, uint32_t target) noexcept nogil:
    """The modifiers of one source, for another one."""
    cdef uint64_t result = modifier_set_neg(0, (modifier_neg(word) >> source & 1) << target)
    result = modifier_set_abs(result, (modifier_abs(word) >> source & 1) << target)
    return modifier_set_opsel(result, (modifier_opsel(word) >> source & 1) << target)


cdef bint _try_fusion(Context *c, InstructionId i, uint32_t k, const Fusion *fusion) except -1 nogil:
    """Fuse with the producer of source `k` as a row of the table says."""
    cdef ProgramData *p = c.p
    cdef Operand[5] sources
    cdef Operand[3] operands
    cdef uint32_t named = 0
    cdef uint32_t j
    cdef Operand o = source_at(p, i, k)
    cdef InstructionId q = producer_of(c, o)
    cdef uint64_t user = p.instructions.modifiers[i]
    cdef uint64_t word = 0
    if not fusion.positions >> k & 1 or q == 0 or p.instructions.opcode[q] != fusion.producer or c.uses[o.data] != 1 \
            or result_of(p, q) != o.data or p.instructions.format[q] & modified_encodings \
            or (format_is_salu(p.instructions.format[q]) and not _scc_unused(c, q)):
        return False
    # A part of a register that SDWA would read where it is needs an instruction of its own for the fused one.
    if parts_read(c, i) or parts_read(c, q):
        return False
    if (user | p.instructions.modifiers[q]) != 0:
        if not can_use_input_modifiers(fusion.fused) or not _modifies_sources(p.instructions.modifiers[q], 3) \
                or not _modifies_sources(user, 3 & ~(1 << k)):
            return False
    sources[<int>fusion_x] = source_at(p, q, 0)
    sources[<int>fusion_y] = source_at(p, q, min(1, p.instructions.operand_count[q] - 1))
    sources[<int>fusion_z] = source_at(p, i, min(1 - k, p.instructions.operand_count[i] - 1))
    sources[<int>fusion_zero] = operand_c32(0)
    sources[<int>fusion_ones] = operand_c32(0xffffffffU)
    for j in range(fusion.source_count):
        named |= 1 << fusion.sources[j]
        operands[j] = sources[fusion.sources[j]]
        word |= _moved_modifiers(user, 1 - k, j) if fusion.sources[j] == fusion_z \
            else _moved_modifiers(p.instructions.modifiers[q], fusion.sources[j], j)
    if p.instructions.operand_count[q] > 1 and not named >> <int>fusion_y & 1 and not is_constant(sources[<int>fusion_y], 0):
        return False
    if not _fuse(c, i, fusion.fused, operands, fusion.source_count):
        return False
    p.instructions.modifiers[i] = word
    return True


cdef inline bint _sum_without_carry(const Context *c, InstructionId i) noexcept nogil:
    """A sum before GFX9, where every one writes a carry, and nothing reads it."""
    return c.p.instructions.opcode[i] == op_v_add_co_u32 and c.p.gfx_level < gfx9 \
        and c.uses[c.p.definitions.temp[c.p.instructions.definition_first[i] + 1]] == 0


cdef bint _combine_fusions(Context *c, InstructionId i) except -1 nogil:
    """Two integer or logic instructions, or minima or maxima, as one of three operands."""
    cdef uint32_t count = 0
    cdef bint drops_carry = _sum_without_carry(c, i)
    cdef const Fusion *fusions = fusions_of(op_v_add_u32 if drops_carry else c.p.instructions.opcode[i], &count)
    cdef uint32_t j
    cdef uint32_t k
    if count == 0 or c.p.instructions.format[i] & modified_encodings:
        return False
    for k in range(min(2, <uint32_t>c.p.instructions.operand_count[i])):
        for j in range(count):
            if _try_fusion(c, i, k, &fusions[j]):
                if drops_carry:
                    c.p.instructions.definition_count[i] = 1
                return True
    return False


cdef bint _combine_add_scalar_shift(Context *c, InstructionId i) except -1 nogil:
    """A VALU sum with a scalar shift, which may have other users: the VALU's form costs nothing more."""
    cdef ProgramData *p = c.p
    cdef Operand[3] operands
    cdef uint32_t k
    cdef InstructionId q
    cdef TempId shifted
    if not _unmodified(p, i):
        return False
    for k in range(2):
        q = _scalar_shift(c, source_at(p, i, k))
        if q == 0:
            continue
        operands[0] = source_at(p, q, 0)
        operands[1] = source_at(p, q, 1)
        operands[2] = source_at(p, i, 1 - k)
        shifted = source_at(p, i, k).data
        if _fuse(c, i, op_v_lshl_add_u32, operands, 3):
            c.shifted[result_of(p, i)] = shifted
            return True
    return False


cdef bint _combine_add_shifted_sum(Context *c, InstructionId i) except -1 nogil:
    """A VALU sum with such a sum, which nothing else reads, where the scalar shift stays for others: it is read once more, by a sum of three."""
    cdef ProgramData *p = c.p
    cdef Operand[3] operands
    cdef uint32_t k
    cdef InstructionId q = 0
    if not _unmodified(p, i):
        return False
    for k in range(2):
        if not _single(c, source_at(p, i, k), op_v_lshl_add_u32, &q) or c.shifted.count(result_of(p, q)) == 0:
            continue
        operands[0] = operand_of(p, c.shifted[result_of(p, q)])
        operands[1] = source_at(p, q, 2)
        operands[2] = source_at(p, i, 1 - k)
        if c.uses[operands[0].data] and _fuse(c, i, op_v_add3_u32, operands, 3):
            return True
    return False


cdef bint _combine_add_condition(Context *c, InstructionId i) except -1 nogil:
    """A sum with 1 where a condition holds, else 0, is a sum with a carry; likewise a difference."""
    cdef ProgramData *p = c.p
    cdef Operand[3] operands
    cdef uint16_t opcode = op_v_addc_co_u32 if p.instructions.opcode[i] == op_v_add_u32 else op_v_subbrev_co_u32
    cdef uint16_t format
    cdef uint32_t k
    cdef InstructionId q = 0
    if not _unmodified(p, i) or isa_opcode_number(p.gfx_level, opcode, opcode_format[opcode]) < 0:
        return False
    for k in range(2):
        if (k == 0 and p.instructions.opcode[i] == op_v_sub_u32) or not _single(c, source_at(p, i, k), op_v_cndmask_b32, &q) \
                or not is_constant(source_at(p, q, 0), 0) or not is_constant(source_at(p, q, 1), 1) or not is_plain_temp(source_at(p, q, 2)):
            continue
        operands[0] = operand_c32(0)
        operands[1] = source_at(p, i, 1 - k)
        operands[2] = source_at(p, q, 2)
        format = opcode_format[opcode]
        if operands[1].flags & operand_constant or not class_is_vgpr(operands[1].register_class):
            format |= format_vop3
        if not bus_allows(p, opcode, format, operands, 3):
            continue
        become(c, i, opcode, format, operands, 3)
        add_unused_mask(c, i)
        return True
    return False


cdef bint _combine_add_shift_as_product(Context *c, InstructionId i) except -1 nogil:
    """A sum with a shifted number of 24 bits is v_mad_u32_u24 before GFX9, which has no instruction that shifts and adds."""
    cdef ProgramData *p = c.p
    cdef Operand[3] operands
    cdef Operand count
    cdef uint32_t k
    cdef InstructionId q = 0
    cdef bint is_scalar
    if not _unmodified(p, i):
        return False
    for k in range(2):
        q = _scalar_shift(c, source_at(p, i, k))
        is_scalar = q != 0
        if not is_scalar and not _single(c, source_at(p, i, k), op_v_lshlrev_b32, &q):
            continue
        operands[0] = source_at(p, q, 0 if is_scalar else 1)
        count = source_at(p, q, 1 if is_scalar else 0)
        # What is larger than 64 is a literal, which VOP3 cannot have there.
        if not count.flags & operand_constant or count.data & 31 > 6 or not operands[0].flags & (operand_24bit | operand_16bit):
            continue
        operands[1] = operand_c32(1 << (count.data & 31))
        operands[2] = source_at(p, i, 1 - k)
        if _fuse(c, i, op_v_mad_u32_u24, operands, 3):
            p.instructions.definition_count[i] = 1
            return True
    return False


cdef uint16_t _multiply_add(const ProgramData *p, BlockId block, uint32_t bits, bint precise) noexcept nogil:
    """The opcode for a * b + c; op_invalid where fusing would change a result that must stay exact."""
    cdef uint32_t denormals = p.blocks.fp_mode[block] >> (4 if bits == 32 else 6) & 3
    # It rounds twice, as the two instructions do. GFX10.1 is the last level that has it; there, fusing is as fast.
    if bits == 32 and p.gfx_level <= (gfx10 if precise else <uint32_t>gfx9) and denormals == 0:
        return op_v_mad_f32
    if bits == 16 and p.gfx_level == gfx9 and denormals == 0:
        return op_v_mad_f16
    if precise:
        return op_invalid
    if bits == 32:
        return op_v_fma_f32
    if bits == 16:
        return op_v_fma_f16 if p.gfx_level >= gfx9 else op_invalid
    return op_v_fma_f64


cdef bint _fits_with_register(Context *c, uint16_t opcode, Operand *operands) noexcept nogil:
    """Whether three operands, of which one may be a literal, fit when another literal is read from the SGPR that it was loaded into."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef Operand literal
    cdef TempId temp
    for k in range(3):
        literal = operands[k]
        if p.gfx_level < gfx10 or not operand_is_literal(literal) or c.literals.count(literal.data) == 0:
            continue
        temp = c.literals[literal.data]
        if not dominates_linear(p, c.home[temp], c.block):
            continue
        operands[k] = operand_of(p, temp)
        if bus_allows(p, opcode, format_vop3, operands, 3):
            return True
        operands[k] = literal
    return False


cdef inline bint _is_vgpr(Operand o) noexcept nogil:
    return is_plain_temp(o) and class_is_vgpr(o.register_class)


cdef bint _multiply_add_with_literal(Context *c, InstructionId i, const Operand *operands, uint32_t neg) except -1 nogil:
    """v_madmk and v_madak, where VOP3 has no literals (before GFX10): a literal, a VGPR, and a VGPR or, as a factor, an inline constant."""
    cdef uint32_t sign = (neg ^ neg >> 1) & 1              # of the product
    cdef uint32_t place = 0
    cdef Operand[3] o                                      # a factor; the addend, or the other factor; the literal
    while place < 3 and not operand_is_literal(operands[place]):
        place += 1
    if place == 3 or (sign if place == 2 else neg & 4):
        return False
    o[0] = operands[1 if place == 0 else 0]
    o[1] = operands[1 if place == 2 else 2]
    o[2] = operand_c32(operands[place].data ^ (neg >> 2 if place == 2 else sign) << 31)
    if place == 2 and not _is_vgpr(o[1]):
        o[0] = operands[1]
        o[1] = operands[0]
    if not operand_is_literal(o[2]) or not _is_vgpr(o[1]) or not (_is_vgpr(o[0]) or o[0].flags & operand_constant and not operand_is_literal(o[0])):
        return False
    become(c, i, op_v_madak_f32 if place == 2 else op_v_madmk_f32, format_vop2, o, 3)
    c.p.instructions.modifiers[i] = 0
    return True


cdef bint _combine_multiply_add(Context *c, InstructionId i, uint32_t bits, uint32_t negate_left, uint32_t negate_right,
                                bint literal=False) except -1 nogil:
    """An addition or subtraction one operand of which is a product that nothing but such instructions reads."""
    cdef ProgramData *p = c.p
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef uint64_t product
    cdef uint64_t result = 0
    cdef uint16_t multiply = op_v_mul_f32 if bits == 32 else op_v_mul_f16 if bits == 16 else op_v_mul_f64
    cdef uint16_t opcode
    cdef uint32_t k
    cdef InstructionId q
    cdef uint32_t neg
    cdef uint32_t absolute
    cdef Operand[3] operands
    cdef Operand o
    cdef bint precise
    if p.instructions.format[i] & modified_encodings or modifier_opsel(word) & 8:
        return False
    for k in range(2):
        o = source_at(p, i, k)
        q = producer_of(c, o)
        if q == 0 or p.instructions.opcode[q] != multiply or not is_summed(c, o) or p.instructions.format[q] & modified_encodings:
            continue
        product = p.instructions.modifiers[q]
        if modifier_clamp(product) or modifier_omod(product) or modifier_opsel(product) & 8 or modifier_opsel(word) >> k & 1:
            continue
        precise = is_precise(p, i, q)
        opcode = _multiply_add(p, c.block, bits, precise)
        if opcode == op_invalid or isa_opcode_number(p.gfx_level, opcode, format_vop3) < 0:
            continue
        operands[0] = source_at(p, q, 0)
        operands[1] = source_at(p, q, 1)
        operands[2] = source_at(p, i, 1 - k)
        neg = modifier_neg(product) & 3
        absolute = modifier_abs(product) & 3
        if modifier_abs(word) >> k & 1:
            neg = 0
            absolute = 3
        if (modifier_neg(word) >> k & 1) != (negate_right if k else negate_left):
            neg ^= 1
        if (modifier_neg(word) >> (1 - k) & 1) != (negate_left if k else negate_right):
            neg |= 4
        absolute |= (modifier_abs(word) >> (1 - k) & 1) << 2
        if literal and opcode == op_v_mad_f32 and not modifier_clamp(word) and not modifier_omod(word) and not absolute \
                and p.gfx_level < gfx10 and _multiply_add_with_literal(c, i, operands, neg):
            return True
        if not bus_allows(p, opcode, format_vop3, operands, 3) and (bits != 32 or not _fits_with_register(c, opcode, operands)):
            continue
        result = modifier_set_neg(result, neg)
        result = modifier_set_abs(result, absolute)
        result = modifier_set_clamp(result, modifier_clamp(word))
        result = modifier_set_omod(result, modifier_omod(word))
        result = modifier_set_opsel(result, (modifier_opsel(product) & 3) | (modifier_opsel(word) >> (1 - k) & 1) << 2)
        become(c, i, opcode, format_vop3, operands, 3)
        p.instructions.modifiers[i] = result
        return True
    return False


cdef bint combine_with_literal(Context *c, InstructionId i) except -1 nogil:
    cdef uint16_t opcode = c.p.instructions.opcode[i]
    if opcode not in (op_v_add_f32, op_v_sub_f32, op_v_subrev_f32) or c.p.gfx_level >= gfx10:
        return False
    return _combine_multiply_add(c, i, 32, opcode == op_v_subrev_f32, opcode == op_v_sub_f32, True)


cdef bint _producer_can_modify(const Context *c, Operand o, uint32_t bits, uint32_t *producer) noexcept nogil:
    """Whether the operand's producer can apply an output modifier in place of this instruction."""
    cdef const ProgramData *p = c.p
    cdef InstructionId q = producer_of(c, o)
    if q == 0 or c.uses[o.data] != 1 or not format_is_valu(p.instructions.format[q]) or result_of(p, q) != o.data:
        return False
    if not can_use_output_modifiers(p.instructions.opcode[q]) or result_bits(p.instructions.opcode[q]) != bits:
        return False
    if p.instructions.format[q] & (format_vop3p | format_dpp16 | format_dpp8 | format_sdwa) or p.instructions.definition_count[q] != 1:
        return False
    if has_fixed_sources(p.instructions.opcode[q]) or modifier_clamp(p.instructions.modifiers[q]):
        return False
    if p.gfx_level < gfx10 and not p.instructions.format[q] & format_vop3 and p.instructions.operand_count[q] \
            and operand_is_literal(source_at(p, q, 0)):
        return False
    producer[0] = q
    return c.home[o.data] == c.block


cdef int _replace_by_producer(Context *c, InstructionId i, InstructionId q, uint64_t word) except -1 nogil:
    """Become a copy of the producer with other modifiers; the producer loses this use."""
    cdef ProgramData *p = c.p
    cdef Operand[8] operands
    cdef uint32_t count = load_operands(p, q, operands)
    become(c, i, p.instructions.opcode[q], p.instructions.format[q] | format_vop3, operands, count)
    p.instructions.modifiers[i] = word
    if p.definitions.flags[p.instructions.definition_first[q]] & definition_precise:
        p.definitions.flags[p.instructions.definition_first[i]] |= definition_precise
    return 0


cdef bint _combine_clamp(Context *c, InstructionId i, uint32_t bits) except -1 nogil:
    """med3(0, 1, x): the producer of x clamps."""
    cdef ProgramData *p = c.p
    cdef uint64_t one = f32_one if bits == 32 else 0x3c00
    cdef uint32_t k
    cdef uint32_t zeros = 0
    cdef uint32_t ones = 0
    cdef uint32_t value = 3
    cdef InstructionId q = 0
    if not _unmodified(p, i):
        return False
    for k in range(3):
        if is_constant(source_at(p, i, k), 0):
            zeros += 1
        elif is_constant(source_at(p, i, k), one):
            ones += 1
        else:
            value = k
    if zeros != 1 or ones != 1 or value == 3 or not _producer_can_modify(c, source_at(p, i, value), bits, &q):
        return False
    _replace_by_producer(c, i, q, modifier_set_clamp(p.instructions.modifiers[q], 1))
    return True


cdef enum Number:
    number_unsigned
    number_signed
    number_single
    number_half


cdef bint _is_number(const Context *c, Operand o, Number kind, int64_t *value) noexcept nogil:
    """Whether an operand is a known number: a constant, or a register for a constant that many instructions read. Floats are in order as numbers
    of their magnitude's bits, with their sign."""
    cdef InstructionId q = 0 if o.flags & operand_constant else producer_of(c, o)
    cdef uint32_t bits
    cdef uint32_t sign = 0x8000 if kind == number_half else 0x80000000U
    if q and c.p.instructions.opcode[q] in (op_p_parallelcopy, op_s_mov_b32) and c.p.instructions.operand_count[q] == 1:
        o = source_at(c.p, q, 0)
    if not o.flags & operand_constant:
        return False
    bits = <uint32_t>operand_constant_value(o)
    if kind == number_unsigned:
        value[0] = bits
    elif kind == number_signed:
        value[0] = <int32_t>bits
    else:
        value[0] = bits & (sign - 1)
        if value[0] > (0x7c00 if kind == number_half else 0x7f800000):
            return False
        if bits & sign:
            value[0] = -value[0]
    return True


cdef bint _combine_median(Context *c, InstructionId i, uint16_t producer, uint16_t median, Number kind) except -1 nogil:
    """min(max(x, low), high), or max(min(x, high), low), of numbers in order: the median. Of no number it is low, as the first form says."""
    cdef ProgramData *p = c.p
    cdef bint is_minimum = p.instructions.opcode[i] in (op_v_min_i32, op_v_min_u32, op_v_min_f32, op_v_min_f16)
    cdef Operand[3] operands
    cdef int64_t outer = 0
    cdef int64_t inner = 0
    cdef uint32_t k
    cdef uint32_t j
    cdef InstructionId q = 0
    if not _unmodified(p, i):
        return False
    for k in range(2):
        if not _is_number(c, source_at(p, i, 1 - k), kind, &outer) or not _single(c, source_at(p, i, k), producer, &q):
            continue
        if not is_minimum and kind >= number_single and is_precise(p, i, q):
            continue
        for j in range(2):
            if _is_number(c, source_at(p, q, 1 - j), kind, &inner) and (inner <= outer if is_minimum else outer <= inner):
                operands[0] = source_at(p, q, j)
                operands[1] = source_at(p, q, 1 - j) if is_minimum else source_at(p, i, 1 - k)
                operands[2] = source_at(p, i, 1 - k) if is_minimum else source_at(p, q, 1 - j)
                return _fuse(c, i, median, operands, 3)
    return False


cdef bint _combine_output_scale(Context *c, InstructionId i, uint32_t bits) except -1 nogil:
    """A product with 2, 4 or 0.5: the producer scales. The hardware can do so only where denormals are flushed."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef InstructionId q = 0
    cdef uint32_t scale
    cdef uint64_t value
    cdef uint32_t promise = fp_preserve_signed_zero_inf_nan32 if bits == 32 else fp_preserve_signed_zero_inf_nan16_64
    if not _unmodified(p, i) or (p.blocks.fp_mode[c.block] >> (4 if bits == 32 else 6) & 3) != 0 \
            or p.blocks.fp_mode[c.block] & promise:
        return False
    for k in range(2):
        if not source_at(p, i, k).flags & operand_constant:
            continue
        value = operand_constant_value(source_at(p, i, k))
        if value == (0x40000000 if bits == 32 else 0x4000):
            scale = 1
        elif value == (0x40800000 if bits == 32 else 0x4400):
            scale = 2
        elif value == (0x3f000000 if bits == 32 else 0x3800):
            scale = 3
        else:
            continue
        if _producer_can_modify(c, source_at(p, i, 1 - k), bits, &q) and modifier_omod(p.instructions.modifiers[q]) == 0 \
                and max(float_bits(p.instructions.opcode[q]), made_bits(p.instructions.opcode[q])) == bits:
            _replace_by_producer(c, i, q, modifier_set_omod(p.instructions.modifiers[q], scale))
            return True
    return False


cdef bint combine_sign_of_product(Context *c, InstructionId i) except -1 nogil:
    """A product with 1.0 or -1.0 of a product without other uses: signs of that one's factors. Rounding must not know the sign.

    It comes late: most of those who read the sign say it themselves.
    """
    cdef ProgramData *p = c.p
    cdef uint32_t bits = 32 if p.instructions.opcode[i] == op_v_mul_f32 else 16
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef uint64_t product
    cdef uint32_t k
    cdef uint32_t sign
    cdef InstructionId q
    cdef Operand o
    cdef uint32_t rounding = p.blocks.fp_mode[c.block] >> (0 if bits == 32 else 2) & 3
    if p.instructions.opcode[i] not in (op_v_mul_f32, op_v_mul_f16):
        return False
    if p.instructions.format[i] & modified_encodings or rounding == 1 or rounding == 2 or not _modifies_sources(word, 3) or modifier_opsel(word):
        return False
    for k in range(2):
        if not (is_constant(source_at(p, i, k), 0x3f800000 if bits == 32 else 0x3c00)
                or is_constant(source_at(p, i, k), 0xbf800000 if bits == 32 else 0xbc00)):
            continue
        o = source_at(p, i, 1 - k)
        q = producer_of(c, o)
        if q == 0 or p.instructions.opcode[q] != p.instructions.opcode[i] or c.uses[o.data] != 1 or c.home[o.data] != c.block \
                or p.instructions.format[q] & modified_encodings or result_of(p, q) != o.data:
            continue
        product = p.instructions.modifiers[q]
        if modifier_clamp(product) or modifier_opsel(product) & 8 or (p.gfx_level < gfx10 and operand_is_literal(source_at(p, q, 0))):
            continue
        sign = modifier_neg(word) >> (1 - k) & 1
        if modifier_abs(word) >> (1 - k) & 1:
            product = modifier_set_abs(modifier_set_neg(product, 0), 3)
        if not is_constant(source_at(p, i, k), 0x3f800000 if bits == 32 else 0x3c00):
            sign ^= (modifier_abs(word) >> k & 1) ^ 1
        sign ^= modifier_neg(word) >> k & 1
        _replace_by_producer(c, i, q, modifier_set_neg(product, modifier_neg(product) ^ sign))
        release(c, q)
        return True
    return False


cdef inline bint _scc_unused(const Context *c, InstructionId i) noexcept nogil:
    """Whether the scc result is unused."""
    cdef const ProgramData *p = c.p
    cdef DefinitionRow row
    for row in range(p.instructions.definition_first[i] + 1,
                     p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if p.definitions.reg[row] != register_scc or c.uses[p.definitions.temp[row]]:
            return False
    return True


cdef bint _combine_scalar_not(Context *c, InstructionId i, uint16_t inverter, uint16_t opcode) except -1 nogil:
    """a & ~b, a | ~b"""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef InstructionId q = 0
    cdef Operand[2] operands
    for k in range(2):
        if _single(c, source_at(p, i, k), inverter, &q) and _scc_unused(c, q):
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
            or not _scc_unused(c, q):
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
            or c.home[o.data] != c.block or p.instructions.definition_count[q] != 1 or not _scc_unused(c, i):
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
    if not _scc_unused(c, i):
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
    if p.gfx_level < gfx9 or not _scc_unused(c, i):
        return False
    for k in range(2):
        q = _scalar_shift(c, source_at(p, i, k))
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
            or result_of(p, q) != o.data or not _scc_unused(c, q):
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
            if mask.data == 1 and _single(c, bit[0], op_s_lshr_b32, &shift) and _scc_unused(c, shift):
                bit[1] = source_at(p, shift, 1)
                bit[0] = source_at(p, shift, 0)
                return True
            bit[1] = operand_c32(0)
            while not mask.data >> bit[1].data & 1:
                bit[1] = operand_c32(bit[1].data + 1)
            return True
        if _single(c, mask, op_s_lshl_b32, &shift) and _scc_unused(c, shift) and is_constant(source_at(p, shift, 0), 1):
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
        if is_constant(source_at(p, i, 1 - k), 0) and _single(c, source_at(p, i, k), op_s_and_b32, &q) and _scc_unused(c, q) \
                and _one_bit(c, q, bit):
            if operand_is_literal(bit[0]) and operand_is_literal(bit[1]):
                return False
            become(c, i, opcode, format_sopc, bit, 2)
            return True
    return False


cdef int _byte_of(const ProgramData *p, InstructionId q, Operand *whole) noexcept nogil:
    """Which byte of a VGPR an instruction takes out, -1: none."""
    cdef uint16_t opcode = p.instructions.opcode[q]
    cdef uint32_t k
    cdef Operand offset
    if opcode == op_p_extract:
        offset = source_at(p, q, 1)
        whole[0] = source_at(p, q, 0)
        return <int>offset.data if is_constant(source_at(p, q, 2), 8) and is_constant(source_at(p, q, 3), 0) else -1
    if not format_is_valu(p.instructions.format[q]) or not _unmodified(p, q):
        return -1
    if opcode == op_v_bfe_u32:
        offset = source_at(p, q, 1)
        whole[0] = source_at(p, q, 0)
        if is_constant(source_at(p, q, 2), 8) and offset.flags & operand_constant and offset.data in (0, 8, 16, 24):
            return offset.data >> 3
    elif opcode == op_v_lshrrev_b32:
        whole[0] = source_at(p, q, 1)
        return 3 if is_constant(source_at(p, q, 0), 24) else -1
    elif opcode == op_v_and_b32:
        for k in range(2):
            whole[0] = source_at(p, q, 1 - k)
            if is_constant(source_at(p, q, k), 255):
                return 0
    return -1


cdef bint _combine_byte_to_float(Context *c, InstructionId i) except -1 nogil:
    """An unsigned number in a byte becomes a float where it stands: v_cvt_f32_ubyte0 to 3."""
    cdef ProgramData *p = c.p
    cdef InstructionId q = producer_of(c, source_at(p, i, 0))
    cdef Operand whole
    cdef int byte
    if q == 0 or not _unmodified(p, i):
        return False
    byte = _byte_of(p, q, &whole)
    if byte < 0 or not is_plain_temp(whole) or whole.register_class != class_v1:
        return False
    become(c, i, op_v_cvt_f32_ubyte0 if byte == 0 else op_v_cvt_f32_ubyte1 if byte == 1 else op_v_cvt_f32_ubyte2 if byte == 2
           else op_v_cvt_f32_ubyte3, format_vop1, &whole, 1)
    return True


cdef bint _median_of_kind(Context *c, InstructionId i, uint16_t opcode) except -1 nogil:
    if opcode == op_v_min_i32 or opcode == op_v_max_i32:
        return _combine_median(c, i, op_v_max_i32 if opcode == op_v_min_i32 else op_v_min_i32, op_v_med3_i32, number_signed)
    if opcode == op_v_min_u32 or opcode == op_v_max_u32:
        return _combine_median(c, i, op_v_max_u32 if opcode == op_v_min_u32 else op_v_min_u32, op_v_med3_u32, number_unsigned)
    if opcode == op_v_min_f32 or opcode == op_v_max_f32:
        return _combine_median(c, i, op_v_max_f32 if opcode == op_v_min_f32 else op_v_min_f32, op_v_med3_f32, number_single)
    if opcode == op_v_min_f16 or opcode == op_v_max_f16:
        return _combine_median(c, i, op_v_max_f16 if opcode == op_v_min_f16 else op_v_min_f16, op_v_med3_f16, number_half)
    return False


cdef bint _combine_valu(Context *c, InstructionId i, uint16_t opcode) except -1 nogil:
    # A number between constants is a median, of which a clamp may be made; of other minima and maxima one instruction of three operands.
    if _median_of_kind(c, i, opcode) or _combine_fusions(c, i):
        return True
    if opcode == op_v_add_u32:
        return _combine_add_scalar_shift(c, i) or _combine_add_shifted_sum(c, i) or _combine_add_condition(c, i)
    if opcode == op_v_sub_u32:
        return _combine_add_condition(c, i)
    if _sum_without_carry(c, i):
        return _combine_add_shift_as_product(c, i)
    if opcode == op_v_cvt_f32_u32:
        return _combine_byte_to_float(c, i)
    if opcode in (op_v_add_f32, op_v_add_f16, op_v_add_f64):
        return _combine_multiply_add(c, i, float_bits(opcode), False, False)
    if opcode == op_v_pk_add_f16 or opcode == op_v_pk_add_u16:
        return combine_packed_multiply_add(c, i)
    if opcode in (op_v_sub_f32, op_v_sub_f16):
        return _combine_multiply_add(c, i, float_bits(opcode), False, True)
    if opcode in (op_v_subrev_f32, op_v_subrev_f16):
        return _combine_multiply_add(c, i, float_bits(opcode), True, False)
    if opcode in (op_v_med3_f32, op_v_med3_f16):
        return _combine_clamp(c, i, float_bits(opcode))
    if opcode in (op_v_mul_f32, op_v_mul_f16):
        return _combine_output_scale(c, i, float_bits(opcode))
    return False


cdef bint combine(Context *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    if p.instructions.definition_count[i] == 0:
        return False
    if format_is_valu(p.instructions.format[i]):
        return _combine_valu(c, i, opcode)
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
        return combine_scalar_multiply_add(c, i)
    if opcode == op_s_pack_ll_b32_b16:
        return _combine_scalar_pack(c, i)
    if opcode in (op_s_bfe_u32, op_s_sext_i32_i8, op_s_sext_i32_i16):
        return combine_short_load(c, i)
    if opcode == op_p_extract:
        return combine_extended_load(c, i)
    if opcode == op_s_abs_i32:
        return _combine_absolute_difference(c, i)
    if opcode == op_s_cmp_lg_u32 or opcode == op_s_cmp_lg_i32:
        return _combine_bit_test(c, i, op_s_bitcmp1_b32)
    if opcode == op_s_cmp_eq_u32 or opcode == op_s_cmp_eq_i32:
        return _combine_bit_test(c, i, op_s_bitcmp0_b32)
    return False
