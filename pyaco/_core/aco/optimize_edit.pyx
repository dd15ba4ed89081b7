"""How the optimizer changes an instruction: an operand or the whole, in an encoding that can hold what it becomes.

Source of the limits (constant bus, literals, short forms): AMD ISA documents.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from isa_tables cimport isa_opcode_number, latency_wmma, opcode_latency
from modifiers cimport modifier_abs, modifier_neg, modifier_opsel, modifier_set_abs, modifier_set_neg, modifier_set_opsel
from pyaco._core.aco.optimize_edit cimport *
from pyaco._core.aco.optimize_facts cimport commuted_opcode, has_one_scalar_source
from pyaco._core.common.table cimport table_append_many
from pyaco._core.ir.program cimport *


cdef void set_operand(Context *c, InstructionId i, uint32_t k, Operand o) noexcept nogil:
    """Replace an operand; keeps use counts, and that the instruction reads it after it has written a result."""
    cdef ProgramData *p = c.p
    cdef Operand old = source_at(p, i, k)
    o.flags &= ~<uint16_t>operand_late_kill
    if o.flags & operand_temp:
        o.flags |= old.flags & <uint16_t>operand_late_kill
        c.uses[o.data] += 1
    if old.flags & operand_temp:
        c.uses[old.data] -= 1
    operand_put(p, operand_row(p, i, k), o)


cdef void release(Context *c, InstructionId i) noexcept nogil:
    """What nothing reads any more reads nothing itself."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef Operand o
    for k in range(p.instructions.definition_count[i]):
        if c.uses[p.definitions.temp[p.instructions.definition_first[i] + k]]:
            return
    for k in range(p.instructions.operand_count[i]):
        o = source_at(p, i, k)
        if o.flags & operand_temp:
            c.uses[o.data] -= 1
    p.instructions.operand_count[i] = 0


cdef int become(Context *c, InstructionId i, uint16_t opcode, uint16_t format, const Operand *operands, uint32_t count) except -1 nogil:
    """Turn an instruction into another with the same definitions."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t old = p.instructions.operand_count[i]
    cdef Operand o
    for k in range(count):
        if operands[k].flags & operand_temp:
            c.uses[operands[k].data] += 1
    for k in range(old):
        o = operand_at(p, first + k)
        if o.flags & operand_temp:
            c.uses[o.data] -= 1
    if count > old:
        first = table_append_many(&p.operands.table, count)
        p.instructions.operand_first[i] = first
    for k in range(count):
        operand_put(p, first + k, operands[k])
    p.instructions.operand_count[i] = <uint16_t>count
    p.instructions.opcode[i] = opcode
    p.instructions.format[i] = format
    return 0


cdef int add_unused_mask(Context *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef Definition first = definition_at(p, p.instructions.definition_first[i])
    cdef TempId mask = temp_new(p, p.lane_mask)
    cdef uint32_t row = table_append_many(&p.definitions.table, 2)
    definition_put(p, row, first)
    definition_put(p, row + 1, definition_of(p, mask))
    p.instructions.definition_first[i] = row
    p.instructions.definition_count[i] = 2
    c.parent.resize(mask + 1)
    c.home.resize(mask + 1)
    c.place.resize(mask + 1)
    c.uses.resize(mask + 1)
    c.other_uses.resize(mask + 1)
    c.canonical.resize(mask + 1)
    c.condition.resize(mask + 1)
    c.condition_kind.resize(mask + 1)
    c.same_condition.resize(mask + 1)
    return 0


cdef bint is_single(const Context *c, Operand o, uint16_t opcode, uint32_t *producer) noexcept nogil:
    cdef const ProgramData *p = c.p
    cdef InstructionId q = producer_of(c, o)
    if q == 0 or p.instructions.opcode[q] != opcode or c.uses[o.data] != 1 or result_of(p, q) != o.data:
        return False
    if p.instructions.format[q] & modified_encodings or (format_is_valu(p.instructions.format[q]) and p.instructions.modifiers[q]):
        return False
    producer[0] = q
    return True


cdef InstructionId scalar_shift(const Context *c, Operand o) noexcept nogil:
    cdef InstructionId q = producer_of(c, o)
    return q if q and c.p.instructions.opcode[q] == op_s_lshl_b32 and result_of(c.p, q) == o.data else 0


cdef bint scc_unused(const Context *c, InstructionId i) noexcept nogil:
    cdef const ProgramData *p = c.p
    cdef DefinitionRow row
    for row in range(p.instructions.definition_first[i] + 1,
                     p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if p.definitions.reg[row] != register_scc or c.uses[p.definitions.temp[row]]:
            return False
    return True


# ---------------------------------------------------------------------------------------------------------------- encodings
cdef bint bus_allows(const ProgramData *p, uint16_t opcode, uint16_t format, const Operand *operands, uint32_t count) noexcept nogil:
    """Whether scalar registers and the literal fit the constant bus."""
    cdef uint32_t limit = 2 if p.gfx_level >= gfx10 and not has_one_scalar_source(opcode) else 1
    cdef uint32_t used = 0
    cdef uint32_t k
    cdef uint32_t j
    cdef uint32_t literal = 0
    cdef bint has_literal = False
    cdef bint seen
    for k in range(count):
        if operand_is_literal(operands[k]):
            if format & (format_vop3 | format_vop3p) and p.gfx_level < gfx10:
                return False
            if has_literal and literal != operands[k].data:
                return False
            used += not has_literal
            has_literal = True
            literal = operands[k].data
        elif is_scalar(operands[k]):
            seen = False
            for j in range(k):
                if is_scalar(operands[j]) and operands[j].data == operands[k].data and operands[j].reg == operands[k].reg:
                    seen = True
            used += not seen
    return used <= limit


cdef bint _short_form(uint16_t opcode, uint16_t format, const Operand *operands, uint32_t count) noexcept nogil:
    """Whether operands suit the short encoding: only the first source may be anything but a VGPR."""
    cdef uint32_t k
    if format & format_vop1:
        return True
    for k in range(1, min(count, 2)):
        if operands[k].flags & operand_constant or not class_is_vgpr(operands[k].register_class):
            return False
    for k in range(2, count):
        # Carry and select masks are VCC there; register allocation decides between the encodings.
        if operands[k].flags & operand_constant:
            return False
    return True


cdef bint has_fixed_sources(uint16_t opcode) noexcept nogil:
    """Whether each source of an opcode must keep its position and kind; such instructions are left alone."""
    return opcode_latency[opcode] == latency_wmma or opcode in (
        op_v_readfirstlane_b32, op_v_readlane_b32, op_v_readlane_b32_e64, op_v_writelane_b32, op_v_writelane_b32_e64,
        op_v_permlane16_b32, op_v_permlanex16_b32, op_v_permlane64_b32, op_v_swap_b32, op_v_mac_f32, op_v_fmac_f32,
        op_v_mac_f16, op_v_fmac_f16, op_v_pk_fmac_f16, op_v_dot4c_i32_i8, op_v_dot2c_f32_f16, op_v_madak_f32, op_v_madmk_f32,
        op_v_fmaak_f32, op_v_fmamk_f32, op_v_madak_f16, op_v_madmk_f16, op_v_fmaak_f16, op_v_fmamk_f16, op_v_mac_legacy_f32,
        op_v_fmac_legacy_f32)


cdef bint encode_operands(Context *c, InstructionId i, Operand *operands, uint32_t count) except -1 nogil:
    """Give a VALU instruction new operands if some encoding takes them."""
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint16_t format = p.instructions.format[i]
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef Operand swap
    cdef uint32_t bits
    if format & modified_encodings:
        return False
    if not format & (format_vop3 | format_vop3p) and not _short_form(opcode, format, operands, count):
        if count >= 2 and commuted_opcode(opcode) != 0xffff and not operands[0].flags & operand_constant \
                and class_is_vgpr(operands[0].register_class) \
                and isa_opcode_number(p.gfx_level, commuted_opcode(opcode), format) >= 0:
            swap = operands[0]
            operands[0] = operands[1]
            operands[1] = swap
            opcode = commuted_opcode(opcode)
            bits = modifier_neg(word)
            word = modifier_set_neg(word, (bits & 4) | (bits & 1) << 1 | (bits >> 1 & 1))
            bits = modifier_abs(word)
            word = modifier_set_abs(word, (bits & 4) | (bits & 1) << 1 | (bits >> 1 & 1))
            bits = modifier_opsel(word)
            word = modifier_set_opsel(word, (bits & 12) | (bits & 1) << 1 | (bits >> 1 & 1))
        if not _short_form(opcode, format, operands, count):
            format |= format_vop3
    if not bus_allows(p, opcode, format, operands, count):
        return False
    become(c, i, opcode, format, operands, count)
    p.instructions.modifiers[i] = word
    return True


cdef int load_operands(const ProgramData *p, InstructionId i, Operand *operands) noexcept nogil:
    cdef uint32_t k
    cdef uint32_t count = min(<uint32_t>p.instructions.operand_count[i], 8)
    for k in range(count):
        operands[k] = source_at(p, i, k)
        operands[k].flags &= ~<uint16_t>(operand_kill | operand_first_kill | operand_late_kill)     # liveness is computed later
    return <int>count
