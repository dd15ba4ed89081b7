# Which registers and constants a vector instruction takes as its sources, by the rules of assemblers.
cdef enum:
    # What an opcode does not take as a source although the field could hold it; the lowest bits: a scalar or a constant, by position.
    rule_positions = 0xff
    rule_literal_second = 0x100       # a literal as the second one
    rule_inline_constants = 0x200     # inline constants, which assemblers write as literals
    rule_scalars_beside_vcc = 0x400   # scalars other than vcc, which it reads as well (before GFX10)
    rule_scalars_but_m0 = 0x800       # scalars other than m0 (before GFX10)
    rule_scalars = 0x1000             # any scalar (CDNA 1)
    rule_matrix = 0x2000              # what wave matrix operations do not take


cdef uint16_t _vector_positions(uint32_t op) noexcept nogil:
    """The sources of a vector opcode that cannot be scalars or constants, a bit for each."""
    if swaps(op) or opcode_flags[op] & opcode_flag_interpolation or opcode_format[op] == format_vintrp:
        return rule_positions
    if op == op_v_movrels_b32 or op == op_v_movrelsd_b32 or op == op_v_movrelsd_2_b32 or op == op_v_permlane64_b32:
        return rule_positions
    if op == op_v_permlane16_b32 or op == op_v_permlanex16_b32 or op == op_v_readlane_b32 or op == op_v_readlane_b32_e64:
        return 1
    if op_v_permlane_bcast_b32 <= op <= op_v_permlane_xor_b32 or op == op_v_permlane_idx_gen_b32:
        return 1
    if op == op_v_permlane16_var_b32 or op == op_v_permlanex16_var_b32:
        return rule_positions
    if op == op_v_mqsad_u32_u8:
        return 1 << 2
    # scaled conversions of GFX12.5 lie side by side in the table
    if op == op_v_cvt_scalef32_sr_pk_fp4_f32 or op_v_cvt_scalef32_sr_pk8_fp4_f32 <= op <= op_v_cvt_scalef32_sr_pk16_bf6_bf16:
        return 1
    if opcode_latency[op] == latency_wmma and opcode_definition_count[op]:
        # of a sparse operation the third one is the index
        return rule_positions if opcode_flags[op] & opcode_flag_tied else 3
    return 0


cdef uint16_t _rules_of_sources(uint32_t op) noexcept nogil:
    """The bits ``rule_*`` of a vector opcode."""
    cdef uint16_t rules = _vector_positions(op)
    if op == op_v_readlane_b32_e64 or op == op_v_writelane_b32_e64:
        rules |= rule_literal_second
    if op == op_v_cvt_pk_fp8_f16 or op == op_v_cvt_pk_bf8_f16:
        rules |= rule_inline_constants
    if op == op_v_div_fmas_f32 or op == op_v_div_fmas_f64:
        rules |= rule_scalars_beside_vcc
    if op == op_v_movreld_b32:
        rules |= rule_scalars_but_m0
    if op == op_v_accvgpr_write_b32:
        rules |= rule_scalars
    if opcode_latency[op] == latency_wmma:
        rules |= rule_matrix
    return rules


cdef uint16_t rules_of_sources[op_count]


cdef void _fill_rules_of_sources() noexcept nogil:
    cdef uint32_t op
    for op in range(<uint32_t>op_count):
        rules_of_sources[op] = _rules_of_sources(op)

_fill_rules_of_sources()


cdef bint _packed_lanes_read_scalar(uint32_t op, uint32_t position, uint32_t gfx_level) noexcept nogil:
    """Whether a source behind the first of a packed operation with DPP can be a scalar."""
    if op == op_v_dot4_f32_fp8_bf8 or op == op_v_dot4_f32_bf8_fp8 or op == op_v_dot4_f32_fp8_fp8 or op == op_v_dot4_f32_bf8_bf8:
        return False
    return position != 1 or ((op == op_v_dot2_f32_f16 or op == op_v_dot2_f32_bf16) and gfx_level >= gfx11_5)


cdef bint _reversed_operands(uint32_t op) noexcept nogil:
    """Operations whose second source comes first."""
    return (op == op_v_subrev_f32 or op == op_v_subrev_f16 or op == op_v_subrev_u16 or op == op_v_subrev_u32 or op == op_v_subrev_co_u32
            or op == op_v_subrev_co_u32_e64 or op == op_v_subbrev_co_u32 or op == op_v_lshlrev_b16 or op == op_v_lshrrev_b16
            or op == op_v_ashrrev_i16 or op == op_v_lshlrev_b16_e64 or op == op_v_lshrrev_b16_e64 or op == op_v_ashrrev_i16_e64
            or op == op_v_lshlrev_b32 or op == op_v_lshrrev_b32 or op == op_v_ashrrev_i32 or op == op_v_lshlrev_b64 or op == op_v_lshrrev_b64
            or op == op_v_ashrrev_i64 or op == op_v_pk_lshlrev_b16 or op == op_v_pk_lshrrev_b16 or op == op_v_pk_ashrrev_i16)


cdef bint _reads_lds_directly(const Decoded *d, uint32_t position, uint32_t gfx_level) noexcept nogil:
    """Whether a source can be LDS at m0: the first one of 32 or 16 bits, before GFX11 and CDNA 2."""
    cdef uint32_t op = d.opcode
    if (gfx_level >= gfx11 or gfx90a <= gfx_level < gfx10 or position or d.format & format_sdwa or _reversed_operands(op)
            or opcode_flags[op] & opcode_flag_interpolation or opcode_format[op] == format_vintrp):
        return False
    if (op == op_v_permlane16_b32 or op == op_v_permlanex16_b32 or op == op_v_movrels_b32 or op == op_v_movrelsd_b32
            or op == op_v_movrelsd_2_b32 or swaps(op)):
        return False
    if op == op_v_writelane_b32:
        return gfx_level < gfx8
    if op == op_v_writelane_b32_e64:
        return gfx_level >= gfx10
    return operand_class(op, 0) == class_v1 or operand_class(op, 0) == class_v2b


cdef bint _no_inverse_pi(const Decoded *d, uint32_t position, uint32_t gfx_level) noexcept nogil:
    """Whether the constant 1/(2 pi) stands where assemblers do not take it: 16-bit integers of SDWA and of the long form with DPP, and a sum of
    matrices."""
    cdef bint signless = not isa_variant(gfx_level, d.opcode, _variant_form(d.format)) >> position & 1
    if opcode_latency[d.opcode] == latency_wmma:
        return d.opcode == op_v_wmma_bf16_16x16x16_bf16_gfx12 or d.opcode == op_v_wmma_bf16_16x16x32_bf16
    if d.opcode == op_v_dot2_f32_bf16 and d.format & (format_dpp16 | format_dpp8):
        return position == 1
    if d.format & format_sdwa:
        return opcode_constant_bits[d.opcode] == 16 and signless and d.opcode != op_v_cmp_class_f16 and d.opcode != op_v_cmpx_class_f16
    if not d.format & format_vop3 or not d.format & (format_dpp16 | format_dpp8):
        return False
    if d.opcode == op_v_alignbit_b32 or d.opcode == op_v_alignbyte_b32:
        return position == 2
    return (signless or d.opcode == op_v_bitop3_b16_true16) and operand_class(d.opcode, position) == class_v2b


cdef inline bint _is_inline_constant(uint16_t address) noexcept nogil:
    return 128 * 4 <= address <= 208 * 4 or 240 * 4 <= address <= 248 * 4


cdef bint _scalar_source_fits(const Decoded *d, uint32_t position, uint32_t rules, uint32_t gfx_level) noexcept nogil:
    """Whether a vector instruction takes the scalar or constant that it has at a position."""
    cdef uint8_t kind = operand_class(d.opcode, position)
    cdef uint16_t address = d.source[position]
    cdef bint vector = class_is_vgpr(kind) and kind != opcode_mask_class
    if address == 255 * 4 and position == 1 and rules & rule_literal_second:
        return False
    if rules & rule_inline_constants and _is_inline_constant(address):
        return False
    if address == 248 * 4 and _no_inverse_pi(d, position, gfx_level):
        return False
    if address == wide_literal_code * 4:
        return gfx_level >= gfx12_5 or _reads_lds_directly(d, position, gfx_level)
    if rules & rule_scalars and gfx_level == gfx908 and (address < 128 * 4 or 208 * 4 < address < 240 * 4 or address > 248 * 4):
        # before CDNA 2 a VGPR or an inline constant
        return False
    if vector and rules & rule_positions & 1 << position:
        return False
    if rules & rule_matrix and (address == 255 * 4 or (position <= 2 and d.destination_count != 0 and (
            (address < 128 * 4 and address != register_null) or 235 * 4 <= address < 240 * 4 or address > 248 * 4
            or operand_class(d.opcode, position) == class_v1))):
        return False
    if d.format & (format_dpp16 | format_dpp8):
        if position == 1 and gfx_level < gfx11_5 and d.format & format_vop3 and class_is_vgpr(kind):
            return False
        if d.format & format_vop3p and not _packed_lanes_read_scalar(d.opcode, position, gfx_level):
            return False
    if gfx_level >= gfx10:
        return True
    if rules & rule_scalars_beside_vcc and (address < 128 * 4 and (address != register_vcc or d.opcode == op_v_div_fmas_f32)
                                            or 235 * 4 <= address < 240 * 4 or address > 248 * 4):
        return False
    return not rules & rule_scalars_but_m0 or address == register_m0 or 128 * 4 <= address <= 248 * 4


cdef bint _sources_fit(const Decoded *d, uint32_t gfx_level) noexcept nogil:
    """Whether every source of a vector instruction is of a kind that the instruction takes there."""
    cdef uint32_t rules = rules_of_sources[d.opcode]
    cdef bint free = rules == 0 and d.format & (format_dpp16 | format_dpp8 | format_sdwa) == 0
    cdef uint32_t i
    cdef uint8_t kind
    cdef uint16_t address
    for i in range(min(<uint32_t>d.source_count, <uint32_t>opcode_operand_count[d.opcode])):
        kind = operand_class(d.opcode, i)
        address = d.source[i]
        if class_is_vgpr(kind) and kind != opcode_mask_class:
            if address >= register_vgpr0 or (free and address != wide_literal_code * 4):
                continue
        elif kind == opcode_mask_class:
            # lane masks are registers
            if 128 * 4 <= address != register_none and not 235 * 4 <= address < 240 * 4 and not 251 * 4 <= address <= register_scc:
                return False
        elif address >= register_vgpr0 and address != register_none:
            # a lane number
            return False
        if address < register_vgpr0 and not _scalar_source_fits(d, i, rules, gfx_level):
            return False
    return True
