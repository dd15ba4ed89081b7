"""The optimizer's fifth step: v_fma_mix, a multiply-add in single precision of singles and halves: see ``optimize.pyx``.

Sums, products and multiply-adds of singles that were halves read the halves; one of which the result is only converted to a half delivers that. A
sum is 1.0 * a + b, a product a * b - 0.0: both exact, the zero's sign included, where rounding is not towards minus infinity. GFX10 and later: two
constants that halves can hold are one literal.

What it costs: an encoding of 64 bits, and on GFX11 and later the second half of a pair and, for waves of 64, the whole wave at once. So a half that
several instructions read is converted once there, and one that is converted outside of a loop stays so.

Before GFX10 the instruction flushes denormals (and of most chips it rounds twice), so it takes a mode that flushes them too and nothing precise that
is fused already. Sources: AMD ISA documents; ACO (``aco_optimizer``: what it may become, and the denormals of GFX9).
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t

from isa_opcodes cimport *
from modifiers cimport (
    modifier_abs, modifier_clamp, modifier_neg, modifier_omod, modifier_opsel, modifier_opsel_hi, modifier_sdwa_dst_sel, modifier_sdwa_sel0,
    modifier_set_abs, modifier_set_clamp, modifier_set_neg, modifier_set_opsel, modifier_set_opsel_hi,
)
from pyaco._core.aco.optimize_edit cimport *
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.program cimport *

cdef enum:
    most_readers = 4              # instructions that read a half in place of one conversion, before GFX11
    sdwa_low_word = 1             # selections of SDWA
    sdwa_high_word = 9
    sdwa_dword = 2

# A multiply-add of mixed precision that an instruction could be: its three sources, and its modifiers.
cdef struct Mixed:
    Operand[3] operands
    uint64_t word

# A half that a source was converted from.
cdef struct Half:
    Operand operand
    bint high
    bint negative
    bint absolute


cdef inline bint _is_mixed(uint16_t opcode) noexcept nogil:
    return opcode == op_v_fma_mix_f32 or opcode == op_v_fma_mixlo_f16


cdef bint _can_mix(const Context *c, InstructionId i) noexcept nogil:
    """Whether an instruction could be one of mixed precision."""
    cdef const ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t mode = p.blocks.fp_mode[c.block]
    cdef bint precise
    if p.instructions.definition_count[i] != 1 or p.gfx_level < gfx9 or (p.gfx_level < gfx10 and mode >> fp_denorm32_shift & 15):
        return False
    if _is_mixed(opcode):
        return p.instructions.format[i] == format_vop3p
    if p.instructions.format[i] & modified_encodings or modifier_omod(p.instructions.modifiers[i]):
        return False
    precise = (p.definitions.flags[p.instructions.definition_first[i]] & definition_precise) != 0
    if opcode == op_v_mul_f32:
        return mode & 3 != 2
    if opcode == op_v_fma_f32:
        return p.gfx_level >= gfx10 or not precise
    if opcode == op_v_mad_f32:
        return not precise
    return opcode == op_v_add_f32 or opcode == op_v_sub_f32 or opcode == op_v_subrev_f32


cdef bint _half_before(const Context *c, Operand o, Half *half) noexcept nogil:
    """Whether a single is a half that was converted, and what is left to say of that."""
    cdef const ProgramData *p = c.p
    cdef InstructionId q = producer_of(c, o)
    cdef uint64_t word
    if q == 0 or p.instructions.opcode[q] != op_v_cvt_f32_f16 or p.instructions.format[q] & (format_dpp16 | format_dpp8) \
            or is_made_outside(c, o):
        return False
    word = p.instructions.modifiers[q]
    half.operand = source_at(p, q, 0)
    half.operand.flags &= ~<uint16_t>(operand_kill | operand_first_kill | operand_late_kill)
    if modifier_clamp(word) or modifier_omod(word) or not is_plain_temp(half.operand) or class_dwords(half.operand.register_class) != 1:
        return False
    half.high = modifier_opsel(word) & 1
    if p.instructions.format[q] & format_sdwa:
        if modifier_sdwa_dst_sel(word) != sdwa_dword or modifier_sdwa_sel0(word) not in (sdwa_low_word, sdwa_high_word, sdwa_dword):
            return False
        half.high = modifier_sdwa_sel0(word) == sdwa_high_word
    half.negative = modifier_neg(word) & 1
    half.absolute = modifier_abs(word) & 1
    return True


cdef void _as_mixed(const ProgramData *p, InstructionId i, Mixed *mixed) noexcept nogil:
    """The same as an instruction of mixed precision."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef bint is_sum = opcode in (op_v_add_f32, op_v_sub_f32, op_v_subrev_f32)
    cdef uint32_t first = 1 if is_sum else 0
    cdef uint32_t k
    cdef uint32_t neg = modifier_neg(word)
    for k in range(p.instructions.operand_count[i]):
        mixed.operands[first + k] = source_at(p, i, k)
        mixed.operands[first + k].flags &= ~<uint16_t>(operand_kill | operand_first_kill | operand_late_kill)
    if _is_mixed(opcode):
        mixed.word = word
        return
    if opcode == op_v_sub_f32:
        neg ^= 2
    elif opcode == op_v_subrev_f32:
        neg ^= 1
    mixed.word = modifier_set_abs(modifier_set_neg(0, neg << first), modifier_abs(word) << first)
    mixed.word = modifier_set_clamp(mixed.word, modifier_clamp(word))
    if is_sum:
        mixed.operands[0] = operand_c32(f32_one)
    elif opcode == op_v_mul_f32:
        mixed.operands[2] = operand_c32(0)
        mixed.word = modifier_set_neg(mixed.word, neg | 4)


cdef int _become_mixed(Context *c, InstructionId i, uint16_t opcode, Mixed *mixed) except -1 nogil:
    become(c, i, opcode, format_vop3p, mixed.operands, 3)
    c.p.instructions.modifiers[i] = mixed.word
    return 0


cdef bint _widen_in_place(Context *c, InstructionId i, const SmallVector[uint8_t] &mixable) except -1 nogil:
    """Sources that are halves, converted for this, are read as halves."""
    cdef ProgramData *p = c.p
    cdef Mixed mixed
    cdef Mixed wanted
    cdef Half half
    cdef uint32_t k
    cdef bint found = False
    _as_mixed(p, i, &mixed)
    for k in range(3):
        if not mixed.operands[k].flags & operand_temp or modifier_opsel_hi(mixed.word) >> k & 1 or not mixable[mixed.operands[k].data] \
                or not _half_before(c, mixed.operands[k], &half):
            continue
        wanted = mixed
        wanted.operands[k] = half.operand
        if not bus_allows(p, op_v_fma_mix_f32, format_vop3p, wanted.operands, 3):
            continue
        wanted.word = modifier_set_opsel_hi(wanted.word, modifier_opsel_hi(wanted.word) | 1 << k)
        if half.high:
            wanted.word = modifier_set_opsel(wanted.word, modifier_opsel(wanted.word) | 1 << k)
        if not modifier_abs(wanted.word) >> k & 1:
            if half.negative:
                wanted.word = modifier_set_neg(wanted.word, modifier_neg(wanted.word) ^ (1 << k))
            if half.absolute:
                wanted.word = modifier_set_abs(wanted.word, modifier_abs(wanted.word) | 1 << k)
        mixed = wanted
        found = True
    if found:
        _become_mixed(c, i, op_v_fma_mix_f32 if not _is_mixed(p.instructions.opcode[i]) else p.instructions.opcode[i], &mixed)
    return found


cdef bint _narrow_in_place(Context *c, InstructionId i) except -1 nogil:
    """A result that is only converted to a half is computed as one; both roundings stay, which are to the nearest."""
    cdef ProgramData *p = c.p
    cdef Mixed mixed
    cdef Operand o
    cdef InstructionId q
    cdef uint32_t mode = p.blocks.fp_mode[c.block]
    cdef uint32_t clamp = modifier_clamp(p.instructions.modifiers[i])
    if p.instructions.format[i] & modified_encodings or p.definitions.register_class[p.instructions.definition_first[i]] != class_v2b \
            or modifier_set_clamp(p.instructions.modifiers[i], 0) or mode & 15:
        return False
    o = source_at(p, i, 0)
    q = producer_of(c, o)
    if q == 0 or c.uses[o.data] != 1 or c.home[o.data] != c.block or not _can_mix(c, q) or p.instructions.opcode[q] == op_v_fma_mixlo_f16:
        return False
    _as_mixed(p, q, &mixed)
    if not bus_allows(p, op_v_fma_mix_f32, format_vop3p, mixed.operands, 3):
        return False
    mixed.word = modifier_set_clamp(mixed.word, modifier_clamp(mixed.word) | clamp)
    if is_constant(mixed.operands[2], 0):
        # A zero is as good as a half: result and addend of one type can be issued for a whole wave of 64 (GFX11 and later).
        mixed.word = modifier_set_opsel_hi(mixed.word, modifier_opsel_hi(mixed.word) | 4)
    p.definitions.flags[p.instructions.definition_first[i]] |= p.definitions.flags[p.instructions.definition_first[q]] & <uint16_t>definition_precise
    _become_mixed(c, i, op_v_fma_mixlo_f16, &mixed)
    return True


# --------------------------------------------------------------------------------------------------- two constants in one literal
cdef bint _as_half(uint32_t single, bint denormals, uint32_t *half) noexcept nogil:
    """Whether a half has the value of a single that is no inline constant."""
    cdef int exponent = <int>(single >> 23 & 0xff) - 127
    cdef uint32_t fraction = single & 0x7fffff
    cdef uint32_t shift
    if -14 <= exponent <= 15 and fraction & 0x1fff == 0:
        half[0] = single >> 16 & 0x8000 | <uint32_t>(exponent + 15) << 10 | fraction >> 13
        return True
    if denormals and -24 <= exponent < -14:
        shift = <uint32_t>(-1 - exponent)
        if (fraction | 0x800000) & ((1 << shift) - 1):
            return False
        half[0] = single >> 16 & 0x8000 | (fraction | 0x800000) >> shift
        return True
    return False


cdef bint _literal_before(const Context *c, Operand o, uint32_t *value) noexcept nogil:
    """Whether an operand is a literal, or a register for one."""
    cdef const ProgramData *p = c.p
    cdef InstructionId q = 0 if o.flags & operand_constant else producer_of(c, o)
    if q:
        if p.instructions.opcode[q] not in (op_p_parallelcopy, op_s_mov_b32, op_v_mov_b32) or p.instructions.operand_count[q] != 1:
            return False
        o = source_at(p, q, 0)
    if not operand_is_literal(o) or operand_bytes(o) != 4:
        return False
    value[0] = o.data
    return True


cdef bint _is_shared_literal(const Context *c, Operand o, uint32_t *half) noexcept nogil:
    """Whether an operand is a literal, or a register for one, that a half can hold."""
    cdef uint32_t value = 0
    return _literal_before(c, o, &value) and _as_half(value, c.p.blocks.fp_mode[c.block] >> fp_denorm16_64_shift & 1, half)


cdef bint _share_literal(Context *c, InstructionId i, Mixed *mixed, const SmallVector[uint8_t] &mixable, bint saves) except -1 nogil:
    """Two literals of a multiply-add that halves can hold become one, where that saves something: a register for one of them, at least."""
    cdef ProgramData *p = c.p
    cdef uint32_t[2] halves
    cdef uint32_t k
    cdef uint32_t half = 0
    cdef uint32_t found = 0
    cdef uint32_t literals = 0
    cdef uint32_t attempt
    cdef Operand o
    for attempt in range(2):
        for k in range(3):
            o = mixed.operands[k]
            if found == 2 or literals >> k & 1 or modifier_opsel_hi(mixed.word) >> k & 1 or not _is_shared_literal(c, o, &half) \
                    or (found and half == halves[0]) or (attempt == 0 and o.flags & operand_temp and not mixable[o.data]):
                continue
            saves |= o.flags & operand_temp != 0 and mixable[o.data] != 0
            halves[found] = half
            mixed.word = modifier_set_opsel_hi(mixed.word, modifier_opsel_hi(mixed.word) | 1 << k)
            if found:
                mixed.word = modifier_set_opsel(mixed.word, modifier_opsel(mixed.word) | 1 << k)
            literals |= 1 << k
            found += 1
    if found != 2 or not saves:
        return False
    for k in range(3):
        if literals >> k & 1:
            mixed.operands[k] = operand_literal32(halves[0] | halves[1] << 16)
    if not bus_allows(p, op_v_fma_mix_f32, format_vop3p, mixed.operands, 3):
        return False
    _become_mixed(c, i, op_v_fma_mix_f32, mixed)
    return True


cdef bint _contract_with_literals(Context *c, InstructionId i, const SmallVector[uint8_t] &mixable) except -1 nogil:
    """A sum with a literal of a product with another one: no other multiply-add has room for two."""
    cdef ProgramData *p = c.p
    cdef Mixed mixed
    cdef Mixed product
    cdef uint32_t k
    cdef uint32_t half = 0
    cdef uint32_t neg
    cdef Operand o
    cdef InstructionId q
    _as_mixed(p, i, &mixed)
    for k in range(1, 3):
        o = mixed.operands[k]
        q = producer_of(c, o)
        if q == 0 or p.instructions.opcode[q] != op_v_mul_f32 or c.uses[o.data] != 1 or not _can_mix(c, q) \
                or modifier_clamp(p.instructions.modifiers[q]) or not _is_shared_literal(c, mixed.operands[3 - k], &half):
            continue
        if (p.definitions.flags[p.instructions.definition_first[i]] | p.definitions.flags[p.instructions.definition_first[q]]) & definition_precise:
            continue
        _as_mixed(p, q, &product)
        if not _is_shared_literal(c, product.operands[0], &half) and not _is_shared_literal(c, product.operands[1], &half):
            continue
        neg = modifier_neg(product.word) & 3
        if modifier_abs(mixed.word) >> k & 1:
            product.word = modifier_set_abs(product.word, 3)
            neg = 0
        neg ^= modifier_neg(mixed.word) >> k & 1
        product.word = modifier_set_neg(product.word, neg | (modifier_neg(mixed.word) >> (3 - k) & 1) << 2)
        product.word = modifier_set_abs(product.word, modifier_abs(product.word) & 3 | (modifier_abs(mixed.word) >> (3 - k) & 1) << 2)
        product.word = modifier_set_clamp(product.word, modifier_clamp(mixed.word))
        product.operands[2] = mixed.operands[3 - k]
        return _share_literal(c, i, &product, mixable, True)
    return False


cdef bint _has_two_literals(const Context *c, InstructionId i) noexcept nogil:
    """Whether a multiply-add has two different literals that halves can hold."""
    cdef uint32_t k
    cdef uint32_t half = 0
    cdef uint32_t first = 0
    cdef bint found = False
    if c.p.gfx_level < gfx10 or c.p.instructions.opcode[i] not in (op_v_fma_f32, op_v_mad_f32):
        return False
    for k in range(3):
        if not _is_shared_literal(c, source_at(c.p, i, k), &half):
            continue
        if found and half != first:
            return True
        first = half
        found = True
    return False


cdef void _add_reader(const Context *c, TempId temp, uint32_t most, SmallVector[uint32_t] &readers, SmallVector[uint8_t] &mixable) noexcept nogil:
    readers[temp] += 1
    mixable[temp] = readers[temp] == c.uses[temp] and readers[temp] <= most


cdef void find_mixable(const Context *c, const SmallVector[uint8_t] &dead, SmallVector[uint8_t] &mixable) noexcept nogil:
    """Mark the singles, and the registers for literals, that all who read them could do without."""
    cdef const ProgramData *p = c.p
    cdef Context *context = <Context *>c
    cdef SmallVector[uint32_t] readers
    cdef uint32_t most = 1 if p.gfx_level >= gfx11 else most_readers
    cdef BlockId b
    cdef uint32_t k
    cdef uint32_t j
    cdef uint32_t value = 0
    cdef InstructionId i
    cdef Operand o
    cdef Half half
    cdef bint two
    readers.assign(p.temps.table.count, 0)
    mixable.assign(p.temps.table.count, 0)
    for b in range(p.blocks.table.count):
        context.block = b
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if dead[i] or not _can_mix(c, i):
                continue
            two = _has_two_literals(c, i)
            for j in range(p.instructions.operand_count[i]):
                o = source_at(p, i, j)
                if producer_of(c, o) and _half_before(c, o, &half):
                    _add_reader(c, o.data, most, readers, mixable)
                elif two and producer_of(c, o) and _is_shared_literal(c, o, &value):
                    _add_reader(c, o.data, 0xffffffffU, readers, mixable)


cdef bint use_mixed_precision(Context *c, InstructionId i, const SmallVector[uint8_t] &mixable) except -1 nogil:
    """Mixed precision where it saves an instruction."""
    cdef uint16_t opcode = c.p.instructions.opcode[i]
    cdef Mixed mixed
    if opcode == op_v_cvt_f16_f32:
        return _narrow_in_place(c, i)
    if not _can_mix(c, i):
        return False
    if _widen_in_place(c, i, mixable):
        return True
    if c.p.gfx_level < gfx10:
        return False
    if opcode in (op_v_add_f32, op_v_sub_f32, op_v_subrev_f32):
        return _contract_with_literals(c, i, mixable)
    if opcode == op_v_fma_f32 or opcode == op_v_mad_f32:
        _as_mixed(c.p, i, &mixed)
        return _share_literal(c, i, &mixed, mixable, False)
    return False
