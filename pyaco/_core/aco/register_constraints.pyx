"""What encodings demand of registers: alignment, sub-dword parts, fixed registers, shorter forms.

A 16-bit or 8-bit value can sit in any part of a VGPR that the instruction can name: SDWA selects bytes and words (GFX8 to
GFX10.3), opsel the high half (VOP3 from GFX9 on for 16-bit operands; VOP1, VOP2 and VOPC too from GFX11 on, "true16"), memory
instructions have ``d16_hi`` forms. Everything else reads and writes from bit 0, and 32-bit results overwrite all. GFX6 and GFX7 have
nothing of that: small values stand at bit 0 of registers of their own.

Sources: AMD "Vega", "RDNA 1", "RDNA 2" and "RDNA 3" ISA documents (SDWA, OPSEL, D16); the signatures of the opcode tables.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from isa_tables cimport opcode_definition_classes, opcode_format, opcode_max_definitions, opcode_max_operands, opcode_operand_classes
from modifiers cimport *
from pyaco._core.ir.program cimport *


cdef inline Placement _placement(uint8_t register_class) noexcept nogil:
    cdef Placement need
    need.register_class = register_class
    need.dwords = <uint8_t>class_dwords(register_class)
    need.align = 1
    if not class_is_vgpr(register_class):
        need.align = 2 if need.dwords == 2 else 4 if need.dwords >= 4 else 1
    need.bytewise = class_is_subdword(register_class)
    need.stride = 4
    need.written = <uint8_t>(class_bytes(register_class) if class_bytes(register_class) < 256 else 255)
    return need


cdef Placement pseudo_placement(const ProgramData *p, uint8_t register_class) noexcept nogil:
    cdef Placement need = _placement(register_class)
    if need.bytewise and p.gfx_level >= gfx8:
        need.stride = 1 if class_bytes(register_class) & 1 else 2
    return need


# -------------------------------------------------------------------------------------------------------- capabilities
cdef bint can_use_sdwa(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef DefinitionRow definition = p.instructions.definition_first[i]
    cdef uint32_t k
    if not format_is_valu(format) or p.gfx_level < gfx8 or p.gfx_level >= gfx11:
        return False
    if format & (format_dpp16 | format_dpp8 | format_vop3p) or not format & (format_vop1 | format_vop2 | format_vopc):
        return False
    if format & format_sdwa:
        return True
    if format & format_vop3:
        if modifier_clamp(p.instructions.modifiers[i]) and format & format_vopc and p.gfx_level != gfx8:
            return False
        if modifier_omod(p.instructions.modifiers[i]) and p.gfx_level < gfx9:
            return False
        if p.instructions.definition_count[i] > 1:
            return False
    if p.instructions.definition_count[i] and class_bytes(p.definitions.register_class[definition]) > 4 \
            and not format & format_vopc:
        return False
    if count >= 3:
        return False                  # v_mac and v_cndmask, v_addc: their third operand is fixed
    for k in range(count):
        if operand_is_literal(operand_at(p, first + k)) or operand_bytes(operand_at(p, first + k)) > 4:
            return False
        if p.gfx_level < gfx9 and not class_is_vgpr(p.operands.register_class[first + k]):
            return False
    if p.gfx_level == gfx8 and format & format_vopc:
        return False
    return opcode != op_v_readfirstlane_b32 and opcode != op_v_clrexcp and opcode != op_v_swap_b32


cdef bint can_use_opsel(const ProgramData *p, InstructionId i, int k) noexcept nogil:
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint16_t native = opcode_format[opcode]
    cdef uint8_t register_class
    if p.gfx_level < gfx9 or k >= <int>opcode_max_operands:
        return False
    if k < 0:
        register_class = opcode_definition_classes[opcode * opcode_max_definitions]
    else:
        register_class = opcode_operand_classes[opcode * opcode_max_operands + k]
    if register_class != class_v2b:
        return False
    if native == format_vop3 or native == format_vinterp_inreg:
        return p.gfx_level >= gfx10 or not _legacy_16bit(opcode)
    return p.gfx_level >= gfx11 and (native & (format_vop1 | format_vop2 | format_vopc)) != 0 and k < 2


cdef bint _legacy_16bit(uint16_t opcode) noexcept nogil:
    """GFX8's encodings of 16-bit VOP3, kept by GFX9: they clear the high half and know no opsel."""
    return opcode == op_v_mad_legacy_f16 or opcode == op_v_fma_legacy_f16 or opcode == op_v_mad_legacy_u16 \
        or opcode == op_v_mad_legacy_i16 or opcode == op_v_div_fixup_legacy_f16


cdef bint _keeps_high_half(const ProgramData *p, InstructionId i) noexcept nogil:
    """A 16-bit result leaves the other half of its register alone."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    if p.gfx_level < gfx9:
        return False
    if opcode == op_v_fma_mixlo_f16 or opcode == op_v_fma_mixhi_f16:
        return True
    if p.gfx_level >= gfx10:
        return opcode_definition_classes[opcode * opcode_max_definitions] == class_v2b \
            or opcode == op_p_cvt_f16_f32_rtne
    return opcode == op_v_mad_f16 or opcode == op_v_mad_u16 or opcode == op_v_mad_i16 or opcode == op_v_fma_f16 \
        or opcode == op_v_div_fixup_f16 or opcode == op_v_interp_p2_f16 or opcode == op_v_mac_f16 \
        or opcode == op_v_madak_f16 or opcode == op_v_madmk_f16


# Opcodes with a form for the high half of the register: (low, high).
cdef uint16_t[32] _high_loads
cdef uint16_t[18] _high_stores
_high_loads = [
    op_ds_read_u8_d16, op_ds_read_u8_d16_hi, op_ds_read_i8_d16, op_ds_read_i8_d16_hi, op_ds_read_u16_d16,
    op_ds_read_u16_d16_hi, op_flat_load_ubyte_d16, op_flat_load_ubyte_d16_hi, op_flat_load_sbyte_d16,
    op_flat_load_sbyte_d16_hi, op_flat_load_short_d16, op_flat_load_short_d16_hi, op_global_load_ubyte_d16,
    op_global_load_ubyte_d16_hi, op_global_load_sbyte_d16, op_global_load_sbyte_d16_hi, op_global_load_short_d16,
    op_global_load_short_d16_hi, op_scratch_load_ubyte_d16, op_scratch_load_ubyte_d16_hi, op_scratch_load_sbyte_d16,
    op_scratch_load_sbyte_d16_hi, op_scratch_load_short_d16, op_scratch_load_short_d16_hi, op_buffer_load_ubyte_d16,
    op_buffer_load_ubyte_d16_hi, op_buffer_load_sbyte_d16, op_buffer_load_sbyte_d16_hi, op_buffer_load_short_d16,
    op_buffer_load_short_d16_hi, op_buffer_load_format_d16_x, op_buffer_load_format_d16_hi_x]
_high_stores = [
    op_ds_write_b8, op_ds_write_b8_d16_hi, op_ds_write_b16, op_ds_write_b16_d16_hi, op_buffer_store_byte,
    op_buffer_store_byte_d16_hi, op_buffer_store_short, op_buffer_store_short_d16_hi, op_flat_store_byte,
    op_flat_store_byte_d16_hi, op_flat_store_short, op_flat_store_short_d16_hi, op_scratch_store_byte,
    op_scratch_store_byte_d16_hi, op_scratch_store_short, op_scratch_store_short_d16_hi, op_global_store_byte,
    op_global_store_byte_d16_hi]


cdef uint16_t _high_load(uint16_t opcode) noexcept nogil:
    cdef uint32_t k
    for k in range(0, 32, 2):
        if _high_loads[k] == opcode:
            return _high_loads[k + 1]
    return op_invalid


cdef uint16_t _high_store(uint16_t opcode) noexcept nogil:
    cdef uint32_t k
    for k in range(0, 18, 2):
        if _high_stores[k] == opcode:
            return _high_stores[k + 1]
    if opcode == op_global_store_short:
        return op_global_store_short_d16_hi
    return op_invalid


cdef bint keeps_other_bytes(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    cdef uint32_t k
    if p.gfx_level < gfx8:
        return False
    if format == format_pseudo:
        return True
    if format_is_valu(format):
        return (format & format_sdwa) != 0 or _keeps_high_half(p, i)
    for k in range(32):
        if _high_loads[k] == p.instructions.opcode[i]:
            return not p.device.sram_ecc_enabled
    return False


# ------------------------------------------------------------------------------------------------------------ placements
cdef Placement definition_placement(const ProgramData *p, InstructionId i, uint32_t k) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef Placement need = _placement(p.definitions.register_class[p.instructions.definition_first[i] + k])
    cdef uint32_t size = class_bytes(need.register_class)
    if not need.bytewise:
        return need
    if p.gfx_level < gfx8:            # nothing keeps the rest of a register: each value has its own
        need.written = 4 * need.dwords
        return need
    if format == format_pseudo:
        need.stride = 1 if size & 1 else 2
        return need
    need.written = 4 * need.dwords
    if format_is_valu(format):
        if can_use_sdwa(p, i):
            need.stride = <uint8_t>size
            need.written = <uint8_t>size
            return need
        if _keeps_high_half(p, i):
            need.written = 2
        if opcode == op_v_fma_mixlo_f16 or can_use_opsel(p, i, -1):
            need.stride = 2
            if need.written == 4:
                need.stride = 4
        return need
    if _high_load(opcode) != op_invalid:
        need.stride = 2
        need.written = 4 if p.device.sram_ecc_enabled else 2
        if need.written == 4:
            need.stride = 4
    return need


cdef uint32_t _operand_stride(const ProgramData *p, InstructionId i, uint32_t k) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t size = class_bytes(p.operands.register_class[p.instructions.operand_first[i] + k])
    cdef uint32_t any_part = 1 if size & 1 else 2
    if p.gfx_level < gfx8:
        return 4
    if format == format_pseudo:
        return 4 if opcode == op_p_as_uniform or _reads_whole_register(opcode) else any_part
    if format_is_valu(format):
        if opcode == op_v_cvt_f32_ubyte0:
            return 1
        if can_use_sdwa(p, i):
            return any_part
        if can_use_opsel(p, i, <int>k):
            return 2
        if format & format_vop3p:
            return 2 if not (modifier_opsel(p.instructions.modifiers[i]) >> k) & 1 else 4
        return 4
    if _high_store(opcode) != op_invalid:
        return 2 if p.gfx_level >= gfx9 else 4
    return 4


cdef bint _reads_whole_register(uint16_t opcode) noexcept nogil:
    return opcode == op_p_bpermute_readlane or opcode == op_p_bpermute_shared_vgpr or opcode == op_p_bpermute_permlane


cdef Placement operand_placement(const ProgramData *p, InstructionId i, uint32_t k) noexcept nogil:
    cdef Placement need = _placement(p.operands.register_class[p.instructions.operand_first[i] + k])
    if need.bytewise:
        need.stride = <uint8_t>_operand_stride(p, i, k)
        if class_bytes(need.register_class) > 4:
            need.stride = 4
    return need


cdef bint operand_fits(const ProgramData *p, InstructionId i, uint32_t k, uint32_t address) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    if address & 3:
        return address % _operand_stride(p, i, k) == 0
    if address < register_vcc or address >= register_vgpr0:
        return True
    if format == format_smem:
        if address == register_m0:
            return k == 1 or k == 3
        return address != register_scc and address != register_exec
    if address == register_scc:
        # only SALU and copies can read SCC as a value
        return format_is_salu(format) or format_is_pseudo(format)
    return True


# ------------------------------------------------------------------------------------------------------- before placement
cdef void _fix_operand(ProgramData *p, OperandRow row, uint16_t reg) noexcept nogil:
    if p.operands.flags[row] & operand_temp and not p.operands.flags[row] & operand_fixed:
        p.operands.reg[row] = reg
        p.operands.flags[row] |= operand_fixed


cdef void _fix_masks_to_vcc(ProgramData *p, InstructionId i) noexcept nogil:
    """DPP and SDWA have no room for a lane mask register of choice (GFX10 and older; SDWA compares have one from GFX9)."""
    cdef uint16_t format = p.instructions.format[i]
    cdef DefinitionRow definition = p.instructions.definition_first[i]
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef bint dpp = (format & (format_dpp16 | format_dpp8)) != 0
    cdef uint32_t k = 0xffffffffU
    if p.gfx_level >= gfx11 or not (dpp or format & format_sdwa):
        return
    if format & format_vopc and (dpp or p.gfx_level < gfx9):
        k = 0
    elif format & format_vop2 and p.instructions.definition_count[i] == 2:
        k = 1
    if k != 0xffffffffU and not p.definitions.flags[definition + k] & definition_fixed:
        p.definitions.reg[definition + k] = register_vcc
        p.definitions.flags[definition + k] |= definition_fixed
    if format & format_vop2 and p.instructions.operand_count[i] == 3 \
            and not class_is_vgpr(p.operands.register_class[row + 2]):
        _fix_operand(p, row + 2, register_vcc)


cdef void _writelane(ProgramData *p, InstructionId i) noexcept nogil:
    """Up to GFX9 only one of value and lane can come from an SGPR other than m0."""
    cdef OperandRow row = p.instructions.operand_first[i]
    if p.operands.flags[row] & operand_temp and p.operands.flags[row + 1] & operand_temp \
            and p.operands.data[row] != p.operands.data[row + 1] \
            and not (p.operands.flags[row + 1] & operand_fixed and p.operands.reg[row + 1] == register_m0):
        _fix_operand(p, row, register_m0)


cdef uint16_t _accumulating(const ProgramData *p, uint16_t opcode) noexcept nogil:
    """The two-operand form of a multiply-add whose addend is the destination, or op_invalid."""
    if opcode == op_v_fma_f32 and p.gfx_level >= gfx10:
        return op_v_fmac_f32
    if opcode == op_v_fma_f16 and p.gfx_level >= gfx10:
        return op_v_fmac_f16
    if opcode == op_v_mad_f32 and p.gfx_level < gfx10_3:
        return op_v_mac_f32
    if (opcode == op_v_mad_f16 or opcode == op_v_mad_legacy_f16) and gfx8 <= p.gfx_level < gfx10:
        return op_v_mac_f16
    if opcode == op_v_pk_fma_f16 and p.gfx_level >= gfx10:
        return op_v_pk_fmac_f16
    return op_invalid


cdef void _shorten_multiply_add(ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t form = _accumulating(p, p.instructions.opcode[i])
    cdef uint16_t format = p.instructions.format[i]
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef uint32_t k
    cdef uint16_t dpp = format & <uint16_t>(format_dpp16 | format_dpp8)
    if form == op_invalid or dpp:
        return
    if not p.operands.flags[row + 2] & operand_temp or not p.operands.flags[row + 2] & operand_kill \
            or p.operands.flags[row + 2] & operand_late_kill or not class_is_vgpr(p.operands.register_class[row + 2]):
        return
    if format & format_vop3p:
        if modifier_opsel(word) or modifier_opsel_hi(word) != 7 or modifier_neg_hi(word):
            return
        # inline constants are replicated differently by the short form
        if p.operands.flags[row] & operand_constant or p.operands.flags[row + 1] & operand_constant:
            return
    elif modifier_opsel(word) or modifier_abs(word):
        return
    if modifier_neg(word) or modifier_omod(word) or modifier_clamp(word):
        return
    for k in range(3):
        if class_is_subdword(p.operands.register_class[row + k]) and p.gfx_level < gfx11 \
                and p.operands.flags[row + k] & operand_temp:
            return                    # a high half could not be named any more
    if p.operands.flags[row + 1] & operand_constant or not class_is_vgpr(p.operands.register_class[row + 1]):
        if p.operands.flags[row] & operand_constant or not class_is_vgpr(p.operands.register_class[row]):
            return
        _swap_operands(p, row)
    p.instructions.opcode[i] = form
    p.instructions.format[i] = format_vop2
    p.instructions.modifiers[i] = modifier_set_opsel_hi(word, 0)


cdef void _swap_operands(ProgramData *p, OperandRow row) noexcept nogil:
    cdef Operand o = operand_at(p, row)
    operand_put(p, row, operand_at(p, row + 1))
    operand_put(p, row + 1, o)
    if operand_at(p, row).data == o.data:
        return
    # the flag of the first killing operand follows the order: both are distinct temps here, so it stays with its own


cdef void _shorten_scalar(ProgramData *p, InstructionId i) noexcept nogil:
    """s_add_i32, s_mul_i32 and s_cselect_b32 with a 16-bit literal: SOPK, if the other operand dies."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef uint32_t literal
    cdef uint32_t other
    cdef uint16_t flags
    cdef int value
    cdef uint16_t form
    if p.gfx_level >= gfx12 and opcode == op_s_cselect_b32:
        return
    literal = 1 if opcode != op_s_cselect_b32 and operand_is_literal(operand_at(p, row + 1)) else 0
    other = 1 - literal
    if not operand_is_literal(operand_at(p, row + literal)):
        return
    flags = p.operands.flags[row + other]
    if not flags & operand_temp or not flags & operand_kill or flags & (operand_late_kill | operand_fixed) \
            or class_is_vgpr(p.operands.register_class[row + other]):
        return
    value = <int>p.operands.data[row + literal]
    if value < -0x8000 or value > 0x7fff:
        return
    form = op_s_addk_i32 if opcode == op_s_add_i32 else op_s_mulk_i32 if opcode == op_s_mul_i32 else op_s_cmovk_i32
    p.instructions.immediate[i] = <uint32_t>value & 0xffff
    if literal == 0:
        operand_put(p, row, operand_at(p, row + 1))
    if p.instructions.operand_count[i] == 3:
        operand_put(p, row + 1, operand_at(p, row + 2))
    p.instructions.operand_count[i] -= 1
    p.instructions.opcode[i] = form
    p.instructions.format[i] = format_sopk


cdef struct ShortCompare:             # of a register with 16 bits; op_invalid: there is none
    uint16_t by_signed
    uint16_t by_unsigned
    uint16_t swapped                  # the same compare of the operands in the other order

cdef ShortCompare[op_count] _short_compares
for _compare, _by_signed, _by_unsigned, _swapped in (
    (op_s_cmp_eq_i32, op_s_cmpk_eq_i32, op_s_cmpk_eq_u32, op_s_cmp_eq_i32), (op_s_cmp_lg_i32, op_s_cmpk_lg_i32, op_s_cmpk_lg_u32, op_s_cmp_lg_i32),
    (op_s_cmp_eq_u32, op_s_cmpk_eq_i32, op_s_cmpk_eq_u32, op_s_cmp_eq_u32), (op_s_cmp_lg_u32, op_s_cmpk_lg_i32, op_s_cmpk_lg_u32, op_s_cmp_lg_u32),
    (op_s_cmp_gt_i32, op_s_cmpk_gt_i32, op_invalid, op_s_cmp_lt_i32), (op_s_cmp_gt_u32, op_invalid, op_s_cmpk_gt_u32, op_s_cmp_lt_u32),
    (op_s_cmp_ge_i32, op_s_cmpk_ge_i32, op_invalid, op_s_cmp_le_i32), (op_s_cmp_ge_u32, op_invalid, op_s_cmpk_ge_u32, op_s_cmp_le_u32),
    (op_s_cmp_lt_i32, op_s_cmpk_lt_i32, op_invalid, op_s_cmp_gt_i32), (op_s_cmp_lt_u32, op_invalid, op_s_cmpk_lt_u32, op_s_cmp_gt_u32),
    (op_s_cmp_le_i32, op_s_cmpk_le_i32, op_invalid, op_s_cmp_ge_i32), (op_s_cmp_le_u32, op_invalid, op_s_cmpk_le_u32, op_s_cmp_ge_u32),
):
    _short_compares[_compare].by_signed = _by_signed
    _short_compares[_compare].by_unsigned = _by_unsigned
    _short_compares[_compare].swapped = _swapped


cdef void _shorten_compare(ProgramData *p, InstructionId i) noexcept nogil:
    """A scalar compare of 32 bits with a 16-bit literal: SOPK, which extends by the sign or by zeros."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef bint second = operand_is_literal(operand_at(p, row + 1))
    cdef uint16_t form = op_invalid
    cdef uint32_t value
    if not second and not operand_is_literal(operand_at(p, row)):
        return
    if not second:
        opcode = _short_compares[opcode].swapped
    value = p.operands.data[row + second]
    if <uint32_t>(value + 0x8000) <= 0xffff:
        form = _short_compares[opcode].by_signed
    if form == op_invalid and value <= 0xffff:
        form = _short_compares[opcode].by_unsigned
    if form == op_invalid or not p.operands.flags[row + 1 - second] & operand_temp or p.operands.flags[row + 1 - second] & operand_fixed:
        return
    p.instructions.immediate[i] = value & 0xffff
    if not second:
        operand_put(p, row, operand_at(p, row + 1))
    p.instructions.operand_count[i] = 1
    p.instructions.opcode[i] = form
    p.instructions.format[i] = format_sopk


cdef void prepare_encoding(ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint16_t format = p.instructions.format[i]
    if format_is_valu(format):
        _fix_masks_to_vcc(p, i)
        if p.gfx_level <= gfx9 and (opcode == op_v_writelane_b32 or opcode == op_v_writelane_b32_e64):
            _writelane(p, i)
        if format & (format_vop3 | format_vop3p) and p.instructions.operand_count[i] == 3:
            _shorten_multiply_add(p, i)
    elif opcode == op_s_add_i32 or opcode == op_s_mul_i32 or opcode == op_s_cselect_b32:
        _shorten_scalar(p, i)
    elif format == format_sopc and p.gfx_level < gfx12 and _short_compares[opcode].swapped:
        _shorten_compare(p, i)


# -------------------------------------------------------------------------------------------------------- after placement
cdef bint encode_for_registers(ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    cdef DefinitionRow definition = p.instructions.definition_first[i]
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef bint long_form = False
    if not format & (format_vop2 | format_vopc) or format & (format_vop3 | format_vop3p | format_sdwa):
        return False
    if format & (format_dpp16 | format_dpp8) and p.gfx_level < gfx11:
        return False
    if format & format_vopc:
        long_form = p.definitions.reg[definition] != register_vcc and p.definitions.reg[definition] != register_exec
    else:
        if p.instructions.definition_count[i] == 2:
            long_form = p.definitions.reg[definition + 1] != register_vcc
        if p.instructions.operand_count[i] == 3 and not p.operands.flags[row + 2] & operand_constant \
                and not class_is_vgpr(p.operands.register_class[row + 2]):
            long_form |= p.operands.reg[row + 2] != register_vcc
    if not long_form:
        return False
    p.instructions.format[i] = <uint16_t>(format | format_vop3)
    return p.gfx_level < gfx10 and operand_is_literal(operand_at(p, row))


cdef uint32_t _selection(uint32_t bytes) noexcept nogil:
    return 0 if bytes == 1 else 1 if bytes == 2 else 2


cdef void _convert_to_sdwa(ProgramData *p, InstructionId i) noexcept nogil:
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef DefinitionRow definition = p.instructions.definition_first[i]
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef uint32_t size
    cdef bint vopc = (p.instructions.format[i] & format_vopc) != 0
    if p.instructions.format[i] & format_sdwa:
        return
    p.instructions.format[i] = <uint16_t>((p.instructions.format[i] & ~<uint16_t>format_vop3) | format_sdwa)
    word = modifier_set_sdwa_sel0(word, 2)
    word = modifier_set_sdwa_sel1(word, 2)
    if p.instructions.operand_count[i] > 0:
        word = modifier_set_sdwa_sel0(word, _operand_selection(p, row))
    if p.instructions.operand_count[i] > 1:
        word = modifier_set_sdwa_sel1(word, _operand_selection(p, row + 1))
    word = modifier_set_sdwa_dst_sel(word, 2)
    if p.instructions.definition_count[i] and not vopc:
        size = class_bytes(p.definitions.register_class[definition])
        word = modifier_set_sdwa_dst_sel(word, _selection(size) | (0x10 if size < 4 else 0))
    p.instructions.modifiers[i] = word


cdef uint32_t _operand_selection(const ProgramData *p, OperandRow row) noexcept nogil:
    if p.operands.flags[row] & operand_constant or not class_is_vgpr(p.operands.register_class[row]):
        return 2
    return _selection(class_bytes(p.operands.register_class[row]))


cdef void select_subdword_definition(ProgramData *p, InstructionId i, uint32_t k, uint32_t address) noexcept nogil:
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t offset = address & 3
    cdef uint64_t word
    if not format_is_valu(p.instructions.format[i]):
        if offset and _high_load(opcode) != op_invalid:
            p.instructions.opcode[i] = _high_load(opcode)
        return
    if offset == 0 and _keeps_high_half(p, i):
        return
    if can_use_sdwa(p, i):
        # selections count from the register's own byte address, so only the rest of the register must be kept
        _convert_to_sdwa(p, i)
        word = p.instructions.modifiers[i]
        p.instructions.modifiers[i] = modifier_set_sdwa_dst_sel(word, modifier_sdwa_dst_sel(word) | 0x10)
    elif offset and opcode == op_v_fma_mixlo_f16:
        p.instructions.opcode[i] = op_v_fma_mixhi_f16
    elif offset:
        word = p.instructions.modifiers[i]
        p.instructions.modifiers[i] = modifier_set_opsel(word, modifier_opsel(word) | 8)


cdef void select_subdword_operand(ProgramData *p, InstructionId i, uint32_t k, uint32_t address) noexcept nogil:
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint16_t format = p.instructions.format[i]
    cdef uint32_t offset = address & 3
    cdef uint64_t word = p.instructions.modifiers[i]
    if format_is_pseudo(format) or offset == 0:
        return
    if not format_is_valu(format):
        if _high_store(opcode) != op_invalid:
            p.instructions.opcode[i] = _high_store(opcode)
        return
    if opcode == op_v_cvt_f32_ubyte0:
        p.instructions.opcode[i] = <uint16_t>(op_v_cvt_f32_ubyte0 + offset)
        return
    if can_use_sdwa(p, i):
        _convert_to_sdwa(p, i)
        return
    if format & format_vop3p:
        word = modifier_set_opsel(word, modifier_opsel(word) | (1 << k))
        word = modifier_set_opsel_hi(word, modifier_opsel_hi(word) | (1 << k))
    else:
        word = modifier_set_opsel(word, modifier_opsel(word) | (1 << k))
    p.instructions.modifiers[i] = word
