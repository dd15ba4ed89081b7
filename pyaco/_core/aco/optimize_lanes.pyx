"""Moves between lanes become part of the instruction that reads them (DPP): of the optimizer, and again when registers are known.

DPP is the first source's alone; of instructions that may exchange their sources it can be the second one. VOP1, VOP2 and VOPC have it from GFX8 on,
DPP8 from GFX10 on; VOP3 has both from GFX11 on, and with it what only VOP3 can say. Lanes that read past the end of a row read zero then; the move
left there what no one may count on.

Sources: encodings, AMD ISA documents and the table of variants; ACO (``aco_optimizer``, ``aco_optimizer_postRA``) for where it is safe.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from isa_opcodes cimport op_v_mov_b32
from isa_tables cimport isa_opcode_number, isa_variant, variant_dpp16, variant_dpp8, variant_e64_dpp16, variant_e64_dpp8
from modifiers cimport (
    modifier_abs, modifier_clamp, modifier_dpp_bank_mask, modifier_dpp_row_mask, modifier_neg, modifier_omod, modifier_opsel, modifier_set_abs,
    modifier_set_dpp_bound_ctrl, modifier_set_neg, modifier_set_opsel,
)
from pyaco._core.aco.optimize_edit cimport *
from pyaco._core.aco.optimize_facts cimport commuted_opcode
from pyaco._core.ir.program cimport *

cdef enum:
    sources_signs = 0x3f          # of isa_variant: neg bits 0-2, abs 3-5


cdef bint is_lane_move(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether an instruction is a move between lanes of which every lane takes part."""
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef uint16_t format = p.instructions.format[i]
    cdef Operand o
    if p.instructions.opcode[i] != op_v_mov_b32 or p.instructions.definition_count[i] != 1 or format & (format_vop3 | format_sdwa) \
            or not format & (format_dpp16 | format_dpp8):
        return False
    o = source_at(p, i, 0)
    if not o.flags & operand_temp or o.register_class != class_v1 or modifier_neg(word) | modifier_abs(word) | modifier_opsel(word):
        return False
    return format & format_dpp8 != 0 or (modifier_dpp_row_mask(word) == 0xf and modifier_dpp_bank_mask(word) == 0xf)


cdef inline uint64_t _exchange(uint64_t word) noexcept nogil:
    """The modifiers of an instruction with its first two sources exchanged."""
    cdef uint32_t neg = modifier_neg(word)
    cdef uint32_t magnitude = modifier_abs(word)
    cdef uint32_t halves = modifier_opsel(word)
    word = modifier_set_neg(word, neg & 4 | (neg & 1) << 1 | neg >> 1 & 1)
    word = modifier_set_abs(word, magnitude & 4 | (magnitude & 1) << 1 | magnitude >> 1 & 1)
    return modifier_set_opsel(word, halves & 12 | (halves & 1) << 1 | halves >> 1 & 1)


cdef bint _short_takes(const ProgramData *p, uint16_t opcode, uint64_t word, bint eight) noexcept nogil:
    """Whether VOP1, VOP2 or VOPC have such modifiers beside DPP."""
    cdef uint32_t variant = isa_variant(p.gfx_level, opcode, variant_dpp8 if eight else variant_dpp16)
    cdef uint32_t signs = modifier_neg(word) | modifier_abs(word) << 3
    if variant == 0 or modifier_clamp(word) or modifier_omod(word) or (modifier_opsel(word) and p.gfx_level < gfx11):
        return False
    return signs & ~(0 if eight else variant & sources_signs) == 0


cdef bint _masks_fit(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether lane masks stand in VCC, which DPP implies before GFX11."""
    cdef uint32_t k
    cdef uint32_t row
    for k in range(p.instructions.definition_count[i]):
        row = p.instructions.definition_first[i] + k
        if not class_is_vgpr(p.definitions.register_class[row]) and p.definitions.reg[row] != register_vcc:
            return False
    for k in range(2, p.instructions.operand_count[i]):
        if not class_is_vgpr(source_at(p, i, k).register_class) and source_at(p, i, k).reg != register_vcc:
            return False
    return True


cdef bint takes_lane_move(const ProgramData *p, InstructionId i, uint32_t k, InstructionId move, bint chosen) noexcept nogil:
    """Whether an instruction can read source `k` through a lane move."""
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef bint eight = p.instructions.format[move] & format_dpp8 != 0
    cdef bint has_short = format & (format_vop1 | format_vop2 | format_vopc) != 0
    cdef uint32_t j
    cdef Operand o
    if not format_is_valu(format) or format & (modified_encodings | format_vop3p) or format == format_vopd or format & format_base_mask \
            or has_fixed_sources(opcode):
        return False
    if k == 1:
        opcode = commuted_opcode(opcode)
        if opcode == 0xffff or isa_opcode_number(p.gfx_level, opcode, format) < 0:
            return False
        word = _exchange(word)
    elif k:
        return False
    if not (has_short and _short_takes(p, opcode, word, eight)) \
            and (p.gfx_level < gfx11 or isa_variant(p.gfx_level, opcode, variant_e64_dpp8 if eight else variant_e64_dpp16) == 0):
        return False
    for j in range(p.instructions.operand_count[i]):
        o = source_at(p, i, j)
        if operand_is_literal(o) or o.flags & operand_undef:
            return False
        if j < 2 and (o.flags & operand_constant or not class_is_vgpr(o.register_class) or class_bytes(o.register_class) > 4):
            return False
        if j == 2 and not class_is_vgpr(o.register_class) and not has_short:
            return False
    for j in range(p.instructions.definition_count[i]):
        # A compare that writes exec is not safe (LLVM); results of 64 bits have no DPP.
        if p.definitions.flags[p.instructions.definition_first[i] + j] & definition_fixed \
                and p.definitions.reg[p.instructions.definition_first[i] + j] == register_exec:
            return False
        if class_is_vgpr(p.definitions.register_class[p.instructions.definition_first[i] + j]) \
                and class_bytes(p.definitions.register_class[p.instructions.definition_first[i] + j]) > 4:
            return False
    return not chosen or p.gfx_level >= gfx11 or _masks_fit(p, i)


cdef void read_through_lane_move(ProgramData *p, InstructionId i, uint32_t k, InstructionId move) noexcept nogil:
    """Read source `k`, which becomes the first one, through a lane move."""
    cdef uint16_t format = p.instructions.format[i]
    cdef bint eight = p.instructions.format[move] & format_dpp8 != 0
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef Operand other
    cdef Operand source = source_at(p, move, 0)
    source.flags &= ~<uint16_t>(operand_kill | operand_first_kill | operand_late_kill)
    if k == 1:
        other = source_at(p, i, 0)
        operand_put(p, operand_row(p, i, 1), other)
        p.instructions.opcode[i] = commuted_opcode(p.instructions.opcode[i])
        word = _exchange(word)
    operand_put(p, operand_row(p, i, 0), source)
    if format & (format_vop1 | format_vop2 | format_vopc) and _short_takes(p, p.instructions.opcode[i], word, eight) \
            and (p.gfx_level < gfx11 or not format & format_vop3 or _masks_fit(p, i)):
        format &= ~<uint16_t>format_vop3
    else:
        format |= format_vop3
    word |= p.instructions.modifiers[move]
    p.instructions.format[i] = format | (format_dpp8 if eight else format_dpp16)
    p.instructions.modifiers[i] = word if eight else modifier_set_dpp_bound_ctrl(word, 1)


cdef bint fold_lane_moves(Context *c, InstructionId i) except -1 nogil:
    """An instruction that reads what a lane move without other users has moved in this block reads through DPP itself."""
    cdef ProgramData *p = c.p
    cdef InstructionId q
    cdef Operand o
    cdef uint32_t k
    for k in range(min(2, <uint32_t>p.instructions.operand_count[i])):
        o = source_at(p, i, k)
        q = producer_of(c, o)
        if q == 0 or not is_lane_move(p, q) or c.uses[o.data] != 1 or c.home[o.data] != c.block \
                or source_at(p, q, 0).flags & operand_fixed or not takes_lane_move(p, i, k, q, False):
            continue
        c.uses[o.data] -= 1
        c.uses[source_at(p, q, 0).data] += 1
        read_through_lane_move(p, i, k, q)
        return True
    return False
