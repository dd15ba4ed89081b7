"""The optimizer's fourth step: parts of registers are read and written where they are: see ``optimize.pyx``.

Two encodings name parts of registers. Operations on 16 bits have op_sel: VOP3 from GFX9 on, VOP1, VOP2 and VOPC from GFX11 on. SDWA (GFX8 to
GFX10.3) selects a byte or a half of each source, extended with zeros or its sign, and where the result goes, with zeros around it.

What an operation reads besides the part does not count: an operation on 16 bits reads the register that its operand is the lower half of.
SDWA comes last, because little else can be done with an instruction that has it.

Sources: encodings, AMD ISA documents ("op_sel", "SDWA"); ACO (``aco_optimizer``: what it calls extracts, inserts and casts).
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from isa_tables cimport (
    isa_variant, opcode_definition_classes, opcode_format, opcode_max_definitions, opcode_max_operands, opcode_operand_classes,
    variant_sdwa,
)
from modifiers cimport (
    modifier_abs, modifier_clamp, modifier_neg, modifier_omod, modifier_opsel, modifier_opsel_hi, modifier_sdwa_sel0,
    modifier_sdwa_sel1, modifier_set_opsel, modifier_set_opsel_hi,
    modifier_set_sdwa_dst_sel, modifier_set_sdwa_sel0, modifier_set_sdwa_sel1,
)
from pyaco._core.aco.optimize_edit cimport *
from pyaco._core.aco.optimize_facts cimport is_packed
from pyaco._core.aco.register_constraints cimport can_use_opsel
from pyaco._core.ir.program cimport *

cdef enum:
    near = 512                    # instructions between a value that is read as uniform and its use
    few_readers = 2               # of a byte or half: each may read it where it is
    sdwa_word = 1                 # selections: size in bits 0 and 1, first byte in bits 2 and 3, sign in bit 4
    sdwa_dword = 2
    sdwa_preserve = 0x10
    variant_clamp = 0x2000        # of isa_variant, beside neg (bits 0-2), abs (3-5) and sext (10-12)
    variant_omod = 0x4000


cdef inline bint _is_vgpr(Operand o) noexcept nogil:
    return is_plain_temp(o) and class_is_vgpr(o.register_class) and not class_is_linear_vgpr(o.register_class)


cdef inline bint _is_register(const Context *c, Operand whole, Operand part) noexcept nogil:
    """Whether instructions can read a part of a register where it is. SGPRs have selections since GFX9; for one reader, so that none is left of what
    cuts the part out."""
    if whole.register_class == class_s1:
        return is_plain_temp(whole) and c.p.gfx_level >= gfx9 and part.register_class == class_s1 and c.uses[part.data] == 1
    return _is_vgpr(whole) and whole.register_class == class_v1


cdef bint half_of(Context *c, Operand o, Operand *whole, uint32_t *offset) noexcept nogil:
    """Whether an operand is a half of a register: of which, and its first byte."""
    cdef ProgramData *p = c.p
    cdef InstructionId q = producer_of(c, o)
    cdef uint16_t opcode
    if q == 0 or result_of(p, q) != o.data:
        return False
    opcode = p.instructions.opcode[q]
    whole[0] = source_at(p, q, 0)
    whole.flags &= ~<uint16_t>(operand_kill | operand_first_kill | operand_late_kill)
    if opcode == op_p_extract:
        offset[0] = 2 * source_at(p, q, 1).data
        return _is_register(c, whole[0], o) and is_constant(source_at(p, q, 2), 16)
    if not _is_vgpr(whole[0]):
        return False
    if opcode == op_p_extract_vector:
        offset[0] = 2 * source_at(p, q, 1).data
        return o.register_class == class_v2b and whole.register_class == class_v1
    if opcode == op_p_as_uniform:
        # Lanes that run now ran then: certain within a block.
        offset[0] = 0
        return whole.register_class == class_v2b and c.home[o.data] == c.block and c.position - c.place[o.data] <= near
    return False


cdef bint _reads_16_bits(uint16_t opcode, uint32_t k) noexcept nogil:
    return k < opcode_max_operands and opcode_operand_classes[opcode * opcode_max_operands + k] == class_v2b


cdef bint _read_half(Context *c, InstructionId i, uint32_t k) except -1 nogil:
    """Operand `k` becomes the register that it is a half of. Whether it is one."""
    cdef ProgramData *p = c.p
    cdef Operand[8] operands
    cdef Operand o = source_at(p, i, k)
    cdef Operand whole
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef uint32_t offset = 0
    cdef uint32_t count
    # A scalar of which 32 bits are read had anything in the upper 16.
    if not half_of(c, o, &whole, &offset) or (whole.register_class != class_v2b and not _reads_16_bits(opcode, k)):
        return False
    if offset:
        # VOP1, VOP2 and VOPC of GFX11 name the half in the number of a VGPR.
        if modifier_opsel(word) >> k & 1 or not can_use_opsel(p, i, <int>k) or (
                whole.register_class == class_s1 and opcode_format[opcode] != format_vop3):
            return False
        p.instructions.modifiers[i] = modifier_set_opsel(word, modifier_opsel(word) | 1 << k)
    count = load_operands(p, i, operands)
    operands[k] = whole
    if encode_operands(c, i, operands, count):
        return True
    p.instructions.modifiers[i] = word
    return False


cdef bint _read_packed_half(Context *c, InstructionId i, uint32_t k) except -1 nogil:
    """Operand `k` of a packed operation, a half that both halves of the result come from, becomes the register that it is a half of.
    Whether it is one."""
    cdef ProgramData *p = c.p
    cdef Operand[8] operands
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef Operand whole
    cdef uint32_t offset = 0
    cdef uint32_t count
    if (modifier_opsel(word) | modifier_opsel_hi(word)) >> k & 1 or not half_of(c, source_at(p, i, k), &whole, &offset) \
            or whole.register_class == class_v2b:
        return False
    count = load_operands(p, i, operands)
    operands[k] = whole
    become(c, i, p.instructions.opcode[i], p.instructions.format[i], operands, count)
    if offset:
        word = modifier_set_opsel_hi(modifier_set_opsel(word, modifier_opsel(word) | 1 << k), modifier_opsel_hi(word) | 1 << k)
        p.instructions.modifiers[i] = word
    return True


cdef bint propagate_halves(Context *c, InstructionId i) except -1 nogil:
    """Read halves of registers where they are. Whether there were some."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef bint changed = False
    if p.instructions.format[i] & format_vop3p and is_packed(p.instructions.opcode[i]):
        for k in range(min(3, <uint32_t>p.instructions.operand_count[i])):
            changed |= _read_packed_half(c, i, k)
    if p.gfx_level < gfx8 or p.instructions.format[i] & (modified_encodings | format_vop3p) or has_fixed_sources(p.instructions.opcode[i]):
        return changed
    for k in range(min(3, <uint32_t>p.instructions.operand_count[i])):
        changed |= _read_half(c, i, k)
    return changed


# -------------------------------------------------------------------------------------------------------------------- SDWA
cdef bint _takes_selections(Context *c, InstructionId i) noexcept nogil:
    """Whether an instruction without selections could have them."""
    cdef ProgramData *p = c.p
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef uint32_t taken = isa_variant(p.gfx_level, opcode, variant_sdwa)
    cdef uint32_t k
    cdef Operand o
    if not gfx8 <= p.gfx_level < gfx11 or not format & (format_vop1 | format_vop2 | format_vopc) or format & (modified_encodings | format_vop3p):
        return False
    if p.instructions.definition_count[i] != 1 or not 1 <= p.instructions.operand_count[i] <= 2 or has_fixed_sources(opcode) \
            or taken == 0 or modifier_opsel(word):
        return False
    if (modifier_neg(word) | modifier_abs(word) << 3) & ~taken or (modifier_clamp(word) and not taken & variant_clamp) \
            or (modifier_omod(word) and not taken & variant_omod):
        return False
    # Compares of GFX8 write VCC there, which costs copies.
    if format & format_vopc and (p.gfx_level == gfx8 or modifier_clamp(word)):
        return False
    for k in range(p.instructions.operand_count[i]):
        o = source_at(p, i, k)
        if o.flags & operand_undef or operand_is_literal(o) or operand_bytes(o) > 4 or (p.gfx_level < gfx9 and not _is_vgpr(o)):
            return False
    return format & format_vopc != 0 or class_bytes(p.definitions.register_class[p.instructions.definition_first[i]]) <= 4


cdef uint32_t _own_selection(Operand o) noexcept nogil:
    """Of an operand or a result: all of it, counted from its own first byte."""
    if o.flags & operand_constant or not class_is_vgpr(o.register_class) or class_bytes(o.register_class) >= 4:
        return sdwa_dword
    return class_bytes(o.register_class) - 1


cdef void _select_all(ProgramData *p, InstructionId i) noexcept nogil:
    """Give an instruction selections that select what it reads and writes without them."""
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef uint8_t result = p.definitions.register_class[p.instructions.definition_first[i]]
    cdef uint32_t size = class_bytes(result)
    if p.instructions.format[i] & format_sdwa:
        return
    word = modifier_set_sdwa_sel0(word, _own_selection(source_at(p, i, 0)))
    word = modifier_set_sdwa_sel1(word, _own_selection(source_at(p, i, 1)) if p.instructions.operand_count[i] > 1 else sdwa_dword)
    word = modifier_set_sdwa_dst_sel(word, sdwa_dword if size >= 4 or not class_is_vgpr(result) else (size - 1) | sdwa_preserve)
    p.instructions.format[i] = <uint16_t>(p.instructions.format[i] & ~<uint16_t>format_vop3 | format_sdwa)
    p.instructions.modifiers[i] = word


cdef bint _cut_out(const ProgramData *p, InstructionId q, Operand *whole, uint32_t *selection) noexcept nogil:
    """Whether an instruction takes a byte or a half out of a register (p_extract, masks, shifts, bit fields): of which, and its selection."""
    cdef uint16_t opcode = p.instructions.opcode[q]
    cdef uint32_t first = 0           # bit
    cdef uint32_t bits = 0
    cdef bint is_signed = False
    if opcode == op_p_extract:
        whole[0] = source_at(p, q, 0)
        bits = source_at(p, q, 2).data
        first = source_at(p, q, 1).data * bits
        is_signed = not is_constant(source_at(p, q, 3), 0)
    elif p.instructions.format[q] & modified_encodings or p.instructions.operand_count[q] < 2 \
            or not source_at(p, q, 0).flags & operand_constant and opcode not in (op_v_bfe_u32, op_v_bfe_i32):
        return False
    elif opcode == op_v_and_b32:
        whole[0] = source_at(p, q, 1)
        bits = 8 if is_constant(source_at(p, q, 0), 0xff) else 16 if is_constant(source_at(p, q, 0), 0xffff) else 0
    elif opcode == op_v_lshrrev_b32 or opcode == op_v_ashrrev_i32:
        whole[0] = source_at(p, q, 1)
        first = source_at(p, q, 0).data
        bits = 32 - first
        is_signed = opcode == op_v_ashrrev_i32
    elif opcode == op_v_bfe_u32 or opcode == op_v_bfe_i32:
        if not (source_at(p, q, 1).flags & operand_constant and source_at(p, q, 2).flags & operand_constant):
            return False
        whole[0] = source_at(p, q, 0)
        first = source_at(p, q, 1).data
        bits = source_at(p, q, 2).data
        is_signed = opcode == op_v_bfe_i32
    if not (bits == 8 or bits == 16) or first % bits or first >= 32:
        return False
    whole.flags &= ~<uint16_t>(operand_kill | operand_first_kill | operand_late_kill)
    selection[0] = (bits // 8 - 1) | first // 8 << 2 | (0x10 if is_signed else 0)
    return True


cdef bint _part_of(Context *c, Operand o, Operand *whole, uint32_t *selection) noexcept nogil:
    """Whether an operand is a byte or a half of a register, and its selection."""
    cdef ProgramData *p = c.p
    cdef InstructionId q = producer_of(c, o)
    if q == 0 or result_of(p, q) != o.data or is_made_outside(c, o):
        return False
    if p.instructions.opcode[q] == op_p_extract_vector:
        whole[0] = source_at(p, q, 0)
        whole.flags &= ~<uint16_t>(operand_kill | operand_first_kill | operand_late_kill)
        selection[0] = sdwa_word | 2 * source_at(p, q, 1).data << 2
        return _is_vgpr(whole[0]) and whole.register_class == class_v1 and o.register_class == class_v2b
    return (p.instructions.opcode[q] == op_p_extract or c.uses[o.data] == 1) and _cut_out(p, q, whole, selection) \
        and o.register_class == whole.register_class and _is_register(c, whole[0], o)


cdef bint _select_source(Context *c, InstructionId i, uint32_t k) except -1 nogil:
    """Operand `k` becomes the register that it is a part of, with a selection."""
    cdef ProgramData *p = c.p
    cdef Operand o = source_at(p, i, k)
    cdef Operand whole
    cdef uint32_t selection = 0
    cdef uint32_t own
    cdef uint64_t word
    if not (p.instructions.format[i] & format_sdwa or _takes_selections(c, i)) or not _part_of(c, o, &whole, &selection):
        return False
    # Numbers with a sign are extended for operations on integers alone.
    if selection & 0x10 and not isa_variant(p.gfx_level, p.instructions.opcode[i], variant_sdwa) >> (10 + k) & 1:
        return False
    word = p.instructions.modifiers[i]
    own = modifier_sdwa_sel0(word) if k == 0 else modifier_sdwa_sel1(word)
    if p.instructions.format[i] & format_sdwa and own != _own_selection(o):
        return False
    _select_all(p, i)
    word = p.instructions.modifiers[i]
    p.instructions.modifiers[i] = modifier_set_sdwa_sel0(word, selection) if k == 0 else modifier_set_sdwa_sel1(word, selection)
    set_operand(c, i, k, whole)
    return True


cdef bint _select_result(Context *c, InstructionId i) except -1 nogil:
    """What only puts the lower part of a result somewhere, with zeros around it, becomes the instruction that computes it."""
    cdef ProgramData *p = c.p
    cdef Operand o = source_at(p, i, 0)
    cdef InstructionId q = producer_of(c, o)
    cdef Operand[8] operands
    cdef uint32_t bits = source_at(p, i, 2).data
    cdef uint32_t place = source_at(p, i, 1).data
    cdef uint32_t count
    cdef uint16_t opcode
    if q == 0 or c.uses[o.data] != 1 or c.home[o.data] != c.block or not format_is_valu(p.instructions.format[q]) \
            or result_of(p, q) != o.data or o.register_class != class_v1 or not (bits == 8 or bits == 16):
        return False
    if p.instructions.definition_count[i] != 1 or p.definitions.register_class[p.instructions.definition_first[i]] != class_v1:
        return False
    if p.instructions.opcode[i] == op_p_extract and (place or not is_constant(source_at(p, i, 3), 0)):
        return False
    opcode = p.instructions.opcode[q]
    # Operations on 16 bits have their own opinion on what stands in the upper half.
    if not _takes_selections(c, q) or opcode_definition_classes[opcode * opcode_max_definitions] != class_v1:
        return False
    count = load_operands(p, q, operands)
    become(c, i, opcode, p.instructions.format[q], operands, count)
    p.instructions.modifiers[i] = p.instructions.modifiers[q]
    p.definitions.flags[p.instructions.definition_first[i]] |= p.definitions.flags[p.instructions.definition_first[q]] & <uint16_t>definition_precise
    _select_all(p, i)
    p.instructions.modifiers[i] = modifier_set_sdwa_dst_sel(p.instructions.modifiers[i], (bits // 8 - 1) | (place * bits // 8) << 2)
    return True


cdef bint is_part(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef Operand whole
    cdef uint32_t selection = 0
    return gfx8 <= p.gfx_level < gfx11 and _cut_out(p, i, &whole, &selection) and _is_vgpr(whole)


cdef uint32_t parts_read(Context *c, InstructionId i) noexcept nogil:
    cdef Operand whole
    cdef uint32_t selection = 0
    cdef uint32_t count = 0
    cdef uint32_t k
    if not _takes_selections(c, i):
        return 0
    for k in range(c.p.instructions.operand_count[i]):
        # Halves are read by op_sel in VOP3 too; what many read is taken out once for all of them.
        if (c.p.gfx_level < gfx9 or source_at(c.p, i, k).register_class != class_v2b) and not (
                source_at(c.p, i, k).register_class == class_v1 and c.uses[source_at(c.p, i, k).data] > few_readers):
            # The scalar unit cuts parts of SGPRs out.
            count += _part_of(c, source_at(c.p, i, k), &whole, &selection) and _is_vgpr(whole)
    return count


cdef bint _extract_in_copy(Context *c, InstructionId i) except -1 nogil:
    """A part of an SGPR that is moved to a VGPR is taken out on the way."""
    cdef ProgramData *p = c.p
    cdef Operand o = source_at(p, i, 0)
    cdef InstructionId q = producer_of(c, o)
    cdef Operand[8] operands
    if q == 0 or p.instructions.operand_count[i] != 1 or p.definitions.register_class[p.instructions.definition_first[i]] != class_v1 \
            or p.instructions.opcode[q] != op_p_extract or result_of(p, q) != o.data or o.register_class != class_s1 or c.uses[o.data] != 1:
        return False
    become(c, i, op_p_extract, format_pseudo, operands, load_operands(p, q, operands))
    return True


cdef bint _short_factor(Context *c, Operand o, Operand *factor, uint32_t *offset) noexcept nogil:
    """Whether a factor is a number of 16 bits without sign, and where it stands: in a half, or below zeros. Whether it is cut out by itself."""
    cdef InstructionId q = producer_of(c, o)
    factor[0] = o
    offset[0] = 0
    if q and c.p.instructions.opcode[q] == op_p_extract and is_constant(source_at(c.p, q, 3), 0) and half_of(c, o, factor, offset) \
            and factor.register_class == o.register_class:
        return True
    factor[0] = o
    return False


cdef bint _multiply_halves(Context *c, InstructionId i) except -1 nogil:
    """A product of numbers of 16 bits, of which one is cut out for it alone, reads them where they are: v_mad_u32_u16. Before GFX11, products
    without sum have SDWA for that."""
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef Operand[3] operands
    cdef uint32_t offset = 0
    cdef uint32_t opsel = 0
    cdef uint32_t k
    cdef bint cut = False
    if not (opcode == op_v_mad_u32_u24 and p.gfx_level >= gfx9 or opcode == op_v_mul_u32_u24 and p.gfx_level >= gfx11) \
            or p.instructions.format[i] & modified_encodings or p.instructions.modifiers[i]:
        return False
    for k in range(2):
        if _short_factor(c, source_at(p, i, k), &operands[k], &offset):
            cut |= c.uses[source_at(p, i, k).data] == 1
        elif not (operands[k].flags & operand_16bit or operands[k].flags & operand_constant and operand_constant_value(operands[k]) <= 64):
            return False
        opsel |= (offset >> 1) << k
    operands[2] = source_at(p, i, 2) if opcode == op_v_mad_u32_u24 else operand_c32(0)
    if not cut or not bus_allows(p, op_v_mad_u32_u16, format_vop3, operands, 3):
        return False
    become(c, i, op_v_mad_u32_u16, format_vop3, operands, 3)
    p.instructions.modifiers[i] = modifier_set_opsel(0, opsel)
    return True


cdef bint use_selections(Context *c, InstructionId i) except -1 nogil:
    """Read bytes and halves where they are, write a result where a byte or half of it goes. Whether something changed."""
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t k
    cdef bint changed = False
    if opcode == op_p_insert or opcode == op_p_extract:
        changed = _select_result(c, i)
    elif opcode == op_p_parallelcopy:
        changed = _extract_in_copy(c, i)
    if format_is_valu(p.instructions.format[i]):
        changed |= _multiply_halves(c, i)
        changed |= propagate_halves(c, i)                   # of what combine has made
        for k in range(min(2, <uint32_t>p.instructions.operand_count[i])):
            changed |= _select_source(c, i, k)
    return changed
