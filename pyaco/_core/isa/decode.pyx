"""Machine code to ``Decoded``: one instruction at a time, for GFX6 to GFX12.

The six top bits of the first dword choose the encoding; the opcode number chooses the row of the table, and the row says
which fields hold operands. Field positions: AMD "Southern Islands", "Sea Islands", "Vega", "RDNA 2", "RDNA 3" and "RDNA 4" ISA documents, chapter
"Microcode formats". Reserved bits are ignored here; the disassembler compares with the encoder where they matter.
"""

from isa_decode_tables cimport *
from isa_opcodes cimport *
from isa_tables cimport (image_flag_atomic, image_flag_bias, image_flag_bvh, image_flag_compare, image_flag_gather,
                         image_flag_gradients, image_flag_half_gradients, image_flag_load, image_flag_lod, image_flag_offset,
                         image_flag_sample, image_flag_sampler, isa_generation, opcode_definition_classes,
                         opcode_definition_count, opcode_flag_interpolation, opcode_flag_literal, opcode_flag_matrix,
                         opcode_flag_no_address, opcode_flag_tied, opcode_flag_two_offsets, opcode_flags, opcode_format, opcode_image,
                         opcode_implicit_definitions, implicit_exec,
                         opcode_mask_class, opcode_max_definitions, opcode_max_operands, opcode_operand_classes,
                         opcode_operand_count)
from modifiers cimport *
from pyaco._core.common.machine cimport *


# What every step of one decode shares.
cdef struct Reader:
    const uint32_t *words
    uint32_t available
    uint32_t level
    uint32_t generation
    uint32_t length               # dwords consumed so far
    Decoded *out


cdef inline uint32_t bits(uint32_t word, uint32_t first, uint32_t width) noexcept nogil:
    return (word >> first) & ((1U << width) - 1)


cdef inline bint plain_layout(const Reader *r) noexcept nogil:
    """GFX6, GFX7 and GFX10 to GFX11.5 share the places of several fields that GFX8 and GFX9 moved."""
    return r.level < gfx8 or r.level >= gfx10


cdef inline uint32_t sign_extended(uint32_t value, uint32_t width) noexcept nogil:
    cdef uint32_t top = 1U << (width - 1)
    return (value ^ top) - top


cdef inline uint16_t address_of(const Reader *r, uint32_t code) noexcept nogil:
    """Byte address of a 7- to 9-bit operand code; GFX11 exchanged the codes of m0 and null."""
    if r.level >= gfx11 and (code == 124 or code == 125):
        code ^= 1
    return <uint16_t>(code * 4)


cdef inline uint16_t vgpr(uint32_t number) noexcept nogil:
    return <uint16_t>(register_vgpr0 + number * 4)


cdef inline uint16_t agpr(uint32_t number) noexcept nogil:
    return <uint16_t>(register_agpr0 + number * 4)


cdef inline uint16_t vector_register(uint32_t number, bint accumulation) noexcept nogil:
    return agpr(number) if accumulation else vgpr(number)


cdef inline uint8_t bytes_of(uint8_t register_class) noexcept nogil:
    if register_class == opcode_mask_class:
        return 0
    if register_class & 0x40:
        return register_class & 0x1f
    # the class of a block load, 32 dwords, wraps to 0 (it has the VGPR bit alone)
    return (register_class & 0x1f) * 4 if register_class & 0x1f else 128


cdef inline void add_source(Reader *r, uint16_t address, uint8_t size) noexcept nogil:
    cdef Decoded *out = r.out
    out.source[out.source_count] = address
    out.source_bytes[out.source_count] = size
    out.source_count += 1


cdef inline void add_destination(Reader *r, uint16_t address, uint8_t size) noexcept nogil:
    cdef Decoded *out = r.out
    out.destination[out.destination_count] = address
    out.destination_bytes[out.destination_count] = size
    out.destination_count += 1


cdef inline uint8_t operand_class(const Reader *r, uint32_t position) noexcept nogil:
    return opcode_operand_classes[<uint32_t>r.out.opcode * opcode_max_operands + position]


cdef inline uint8_t operand_size(const Reader *r, uint32_t position) noexcept nogil:
    return bytes_of(operand_class(r, position))


cdef inline uint8_t definition_class(const Reader *r, uint32_t position) noexcept nogil:
    return opcode_definition_classes[<uint32_t>r.out.opcode * opcode_max_definitions + position]


cdef inline uint8_t definition_size(const Reader *r, uint32_t position) noexcept nogil:
    return bytes_of(definition_class(r, position))


cdef int invalid(Reader *r) noexcept nogil:
    r.out.opcode = op_invalid
    r.out.format = 0
    r.out.dwords = 1
    r.out.source_count = 0
    r.out.destination_count = 0
    r.out.has_literal = 0
    r.out.modifiers = 0
    r.out.immediate = 0
    r.out.literal = 0
    return 1


# Reads the literal dword that follows the encoding; 0 when it is missing.
cdef bint take_literal(Reader *r) noexcept nogil:
    if r.out.has_literal:
        return True
    if r.length >= r.available:
        return False
    r.out.literal = r.words[r.length]
    r.out.has_literal = 1
    r.length += 1
    return True


cdef int finish(Reader *r) noexcept nogil:
    """Takes the literal if a source names it, and closes the instruction."""
    cdef uint32_t i
    for i in range(r.out.source_count):
        if r.out.source[i] == 255 * 4 and not take_literal(r):
            return invalid(r)
        if r.out.source[i] == 248 * 4 and r.level < gfx8:
            # 1/(2 pi) came with GFX8
            return invalid(r)
    r.out.dwords = <uint8_t>r.length
    return <int>r.length


cdef inline bint names_nothing(uint32_t opcode) noexcept nogil:
    return opcode_operand_count[opcode] == 0 and opcode_definition_count[opcode] == 0


cdef inline bint begin(Reader *r, uint16_t opcode, uint16_t format, uint32_t length) noexcept nogil:
    if opcode == op_invalid or length > r.available:
        return False
    r.out.opcode = opcode
    r.out.format = format
    r.length = length
    return True


# ------------------------------------------------------------------------------------------------------------ scalar ALU
cdef int decode_sop1_word(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    if not begin(r, decode_sop1[r.generation * decode_sop1_width + bits(word, 8, 8)], format_sop1, 1):
        return invalid(r)
    if opcode_definition_count[r.out.opcode]:
        add_destination(r, address_of(r, bits(word, 16, 7)), definition_size(r, 0))
    if r.out.opcode == op_s_sendmsg_rtn_b32 or r.out.opcode == op_s_sendmsg_rtn_b64:
        r.out.immediate = bits(word, 0, 8)
    elif opcode_operand_count[r.out.opcode]:
        add_source(r, address_of(r, bits(word, 0, 8)), operand_size(r, 0))
    return finish(r)


cdef int decode_sop2_word(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    if not begin(r, decode_sop2[r.generation * decode_sop2_width + bits(word, 23, 7)], format_sop2, 1):
        return invalid(r)
    if opcode_definition_count[r.out.opcode]:
        add_destination(r, address_of(r, bits(word, 16, 7)), definition_size(r, 0))
    add_source(r, address_of(r, bits(word, 0, 8)), operand_size(r, 0))
    add_source(r, address_of(r, bits(word, 8, 8)), operand_size(r, 1))
    if opcode_flags[r.out.opcode] & opcode_flag_literal:
        add_source(r, 255 * 4, 4)
    elif opcode_flags[r.out.opcode] & opcode_flag_tied:
        add_source(r, r.out.destination[0], r.out.destination_bytes[0])
    return finish(r)


cdef int decode_sopc_word(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    if not begin(r, decode_sopc[r.generation * decode_sopc_width + bits(word, 16, 7)], format_sopc, 1):
        return invalid(r)
    add_source(r, address_of(r, bits(word, 0, 8)), operand_size(r, 0))
    if r.out.opcode == op_s_set_gpr_idx_on:
        r.out.immediate = bits(word, 8, 8)
    else:
        add_source(r, address_of(r, bits(word, 8, 8)), operand_size(r, 1))
    return finish(r)


cdef int decode_sopk_word(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    if not begin(r, decode_sopk[r.generation * decode_sopk_width + bits(word, 23, 5)], format_sopk, 1):
        return invalid(r)
    r.out.immediate = bits(word, 0, 16)
    if opcode_definition_count[r.out.opcode]:
        add_destination(r, address_of(r, bits(word, 16, 7)), definition_size(r, 0))
    if r.out.opcode == op_s_setreg_imm32_b32:
        add_source(r, 255 * 4, 4)
    elif opcode_operand_count[r.out.opcode]:
        add_source(r, address_of(r, bits(word, 16, 7)), operand_size(r, 0))
    return finish(r)


cdef int decode_sopp_word(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    if not begin(r, decode_sopp[r.generation * decode_sopp_width + bits(word, 16, 7)], format_sopp, 1):
        return invalid(r)
    r.out.immediate = bits(word, 0, 16)
    return finish(r)


cdef int decode_scalar(Reader *r) noexcept nogil:
    """Words that start with the bits 10: SOP2, and SOPK, SOP1, SOPC, SOPP in its unused opcodes."""
    cdef uint32_t head = r.words[0] >> 23
    if head == 0x17d:
        return decode_sop1_word(r)
    if head == 0x17e:
        return decode_sopc_word(r)
    if head == 0x17f:
        return decode_sopp_word(r)
    if head >> 5 == 0xb:
        return decode_sopk_word(r)
    return decode_sop2_word(r)


# --------------------------------------------------------------------------------------------------------- scalar memory
cdef int decode_smrd_word(Reader *r) noexcept nogil:
    """Scalar memory of GFX6 and GFX7: one dword; offsets count dwords, and GFX7 takes a literal for long ones."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t field = bits(word, 0, 8)
    cdef uint16_t offset = register_none
    if not begin(r, decode_smem[r.generation * decode_smem_width + bits(word, 22, 5)], format_smem, 1):
        return invalid(r)
    if opcode_definition_count[r.out.opcode]:
        add_destination(r, address_of(r, bits(word, 15, 7)), definition_size(r, 0))
    if opcode_operand_count[r.out.opcode] == 0:
        return finish(r)
    if bits(word, 8, 1):
        r.out.immediate = field * 4
    elif field == 255 and r.level >= gfx7:
        if not take_literal(r):
            return invalid(r)
        r.out.immediate = r.out.literal * 4
    else:
        offset = address_of(r, field)
    add_source(r, address_of(r, bits(word, 9, 6) * 2), operand_size(r, 0))
    add_source(r, offset, 4)
    return finish(r)


cdef uint64_t smem_modifiers(const Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint64_t m = 0
    if r.level >= gfx12:
        m = modifier_set_cache_scope(m, bits(word, 21, 2))
        return modifier_set_cache_temporal_hint(m, bits(word, 23, 2))
    if r.level >= gfx11:
        m = modifier_set_cache_glc(m, bits(word, 14, 1))
        return modifier_set_cache_dlc(m, bits(word, 13, 1))
    m = modifier_set_cache_glc(m, bits(word, 16, 1))
    return modifier_set_cache_dlc(m, bits(word, 14, 1)) if r.level >= gfx10 else m


cdef uint16_t smem_offset(Reader *r) noexcept nogil:
    """The register with the offset, or register_none; the immediate is left in the instruction."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t high = r.words[1]
    cdef uint16_t offset
    if r.level >= gfx10:
        r.out.immediate = sign_extended(bits(high, 0, 24), 24) if r.level >= gfx12 else sign_extended(bits(high, 0, 21), 21)
        offset = address_of(r, bits(high, 25, 7))
        return <uint16_t>register_none if offset == register_null else offset
    if r.level < gfx9:
        if not bits(word, 17, 1):
            return address_of(r, bits(high, 0, 7))
        r.out.immediate = bits(high, 0, 20)
        return register_none
    # imm says whether the offset field is an immediate, soe whether the register field counts
    if not bits(word, 17, 1):
        return address_of(r, bits(high, 25, 7) if bits(word, 14, 1) else bits(high, 0, 7))
    r.out.immediate = sign_extended(bits(high, 0, 21), 21)
    if not bits(word, 14, 1):
        return register_none
    # an immediate of zero is there all the same
    r.out.modifiers = modifier_set_offen(r.out.modifiers, r.out.immediate == 0)
    return address_of(r, bits(high, 25, 7))


cdef void add_smem_data(Reader *r, uint16_t data) noexcept nogil:
    """The third operand of what has an address: it is loaded, stored, or both by an atomic that returns the old value."""
    cdef uint32_t opcode = r.out.opcode
    cdef uint8_t bytes
    if opcode_operand_count[opcode] <= 2:
        if opcode_definition_count[opcode]:
            add_destination(r, data, definition_size(r, 0))
        else:
            add_source(r, data, 4)
        return
    add_source(r, data, operand_size(r, 2))
    if (modifier_cache_glc(r.out.modifiers) and r.level < gfx12 and opcode_definition_count[opcode] == 0
            and opcode >= <uint32_t>op_s_buffer_atomic_swap and smem_atomic(opcode)):
        bytes = r.out.source_bytes[2]
        add_destination(r, data, bytes >> 1 if smem_compares(opcode) else bytes)


cdef int decode_smem_words(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t number = bits(word, 13, 6) if r.level >= gfx12 else bits(word, 18, 8)
    cdef uint16_t offset, base, data
    if not begin(r, decode_smem[r.generation * decode_smem_width + number], format_smem, 2):
        return invalid(r)
    base = address_of(r, bits(word, 0, 6) * 2)
    data = address_of(r, bits(word, 6, 7))
    r.out.modifiers = smem_modifiers(r)
    offset = smem_offset(r)
    number = opcode_operand_count[r.out.opcode]
    if r.out.opcode == op_s_prefetch_inst_pc_rel or r.out.opcode == op_s_prefetch_data_pc_rel:
        add_source(r, register_none, 0)
        add_source(r, offset, 4)
        add_source(r, data, 4)
        return finish(r)
    if number == 0 or number == 1:
        # time, cache control; s_atc_probe and s_dcache_discard name an address
        if opcode_definition_count[r.out.opcode]:
            add_destination(r, data, definition_size(r, 0))
        if number:
            add_source(r, base, operand_size(r, 0))
            add_source(r, offset, 4)
            add_source(r, data, 4)
        else:
            r.out.immediate = 0
        return finish(r)
    add_source(r, base, operand_size(r, 0))
    add_source(r, offset, 4)
    add_smem_data(r, data)
    return finish(r)


cdef inline bint smem_atomic(uint32_t opcode) noexcept nogil:
    return (opcode_flags[opcode] & 4) != 0


cdef inline bint smem_compares(uint32_t opcode) noexcept nogil:
    return (opcode == op_s_buffer_atomic_cmpswap or opcode == op_s_buffer_atomic_cmpswap_x2
            or opcode == op_s_atomic_cmpswap or opcode == op_s_atomic_cmpswap_x2)


# ------------------------------------------------------------------------------------------------------------ vector ALU
# The extra dword of DPP or SDWA named by the src0 code; returns the code of the real first source, or -1 when the words
# are not available. `short_form`: the 32-bit encoding, whose DPP dword also carries the source modifiers.
cdef int take_lane_control(Reader *r, uint32_t code, bint short_form, bint compare) noexcept nogil:
    cdef uint32_t word
    cdef uint64_t m = r.out.modifiers
    cdef uint32_t source, second
    if r.length >= r.available:
        return -1
    word = r.words[r.length]
    r.length += 1
    if code == 250:
        r.out.format |= format_dpp16
        m = modifier_set_dpp_ctrl(m, bits(word, 8, 9))
        m = modifier_set_dpp_fetch_inactive(m, bits(word, 18, 1) if r.level >= gfx10 else 0)
        m = modifier_set_dpp_bound_ctrl(m, bits(word, 19, 1))
        m = modifier_set_dpp_bank_mask(m, bits(word, 24, 4))
        m = modifier_set_dpp_row_mask(m, bits(word, 28, 4))
        if short_form:
            m = modifier_set_neg(m, bits(word, 20, 1) | bits(word, 22, 1) << 1)
            m = modifier_set_abs(m, bits(word, 21, 1) | bits(word, 23, 1) << 1)
        source = 256 + bits(word, 0, 8)
    elif code == 249:
        r.out.format |= format_sdwa
        if compare:
            if r.level == gfx8:
                m = modifier_set_clamp(m, bits(word, 13, 1))
            elif bits(word, 15, 1) and not (is_cmpx(r.out.opcode) and r.level >= gfx10):
                r.out.destination[0] = address_of(r, bits(word, 8, 7))
        else:
            m = modifier_set_sdwa_dst_sel(m, sdwa_select(bits(word, 8, 3)) | (bits(word, 12, 1) << 4))
            m = modifier_set_sdwa_dst_sext(m, bits(word, 11, 1))
            m = modifier_set_omod(m, bits(word, 14, 2))
            m = modifier_set_clamp(m, bits(word, 13, 1))
        m = modifier_set_sdwa_sel0(m, sdwa_select(bits(word, 16, 3)) | (bits(word, 19, 1) << 4))
        if not r.out.format & format_vop1:
            m = modifier_set_sdwa_sel1(m, sdwa_select(bits(word, 24, 3)) | (bits(word, 27, 1) << 4))
        second = 0 if r.out.format & format_vop1 else 1
        m = modifier_set_neg(m, bits(word, 20, 1) | (bits(word, 28, 1) & second) << 1)
        m = modifier_set_abs(m, bits(word, 21, 1) | (bits(word, 29, 1) & second) << 1)
        source = bits(word, 0, 8) + (0 if bits(word, 23, 1) and r.level >= gfx9 else 256)
        if bits(word, 31, 1) and r.level >= gfx9 and r.out.source_count > 1:
            # the second source is an SGPR then: its VGPR number is the SGPR's code
            r.out.source[1] = address_of(r, (r.out.source[1] - register_vgpr0) >> 2)
    else:
        r.out.format |= format_dpp8
        m = modifier_set_dpp8_lane_sel(m, word >> 8)
        m = modifier_set_dpp8_fetch_inactive(m, code - 233)
        source = 256 + bits(word, 0, 8)
    r.out.modifiers = m
    return <int>source


cdef inline uint32_t sdwa_select(uint32_t code) noexcept nogil:
    """Size in bits 0-1 (0 byte, 1 word, 2 dword), byte offset in bits 2-3, of a hardware selector."""
    if code < 4:
        return code << 2
    if code < 6:
        return 1 | (code - 4) << 3
    return 2


cdef inline bint is_lane_control(const Reader *r, uint32_t code, bint short_form) noexcept nogil:
    if r.level < gfx8:
        return False
    if code == 250:
        return short_form or r.level >= gfx11
    if code == 249:
        return short_form and r.level < gfx11
    return (code == 233 or code == 234) and (r.level >= gfx11 or (short_form and r.level >= gfx10))


cdef inline bint is_cmpx(uint32_t opcode) noexcept nogil:
    """v_cmpx_*: the table counts exec among the definitions, which no other VOPC opcode has."""
    return (opcode_implicit_definitions[opcode] & implicit_exec) != 0


# A 16-bit VGPR operand of a short encoding on GFX11+: bit 7 chooses the half. `slot` is its opsel bit.
cdef inline uint16_t short_vgpr(Reader *r, uint32_t number, bint half, uint32_t slot) noexcept nogil:
    if half and r.level >= gfx11 and number & 0x80:
        r.out.modifiers = modifier_set_opsel(r.out.modifiers, modifier_opsel(r.out.modifiers) | 1U << slot)
        return vgpr(number & 0x7f) + 2
    return vgpr(number)


cdef inline uint16_t short_source(Reader *r, uint32_t code, bint half, uint32_t slot) noexcept nogil:
    return short_vgpr(r, code - 256, half, slot) if code >= 256 else address_of(r, code)


cdef int decode_vop_short(Reader *r, uint16_t opcode, uint16_t format) noexcept nogil:
    """VOP1, VOP2 and VOPC in one dword, with an SDWA, DPP or literal dword where src0 says so."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t code = bits(word, 0, 9)
    cdef uint32_t flags, count
    cdef int source
    cdef bint control
    cdef uint8_t first_class
    if not begin(r, opcode, format, 1) or (opcode == op_v_illegal and word != 0):
        return invalid(r)
    flags = opcode_flags[opcode]
    count = opcode_operand_count[opcode]
    if format == format_vopc:
        if is_cmpx(opcode) and r.level >= gfx10:
            add_destination(r, register_exec, 0)
        else:
            add_destination(r, register_vcc, 0)
    elif opcode_definition_count[opcode]:
        first_class = definition_class(r, 0)
        if first_class & 0x20:
            add_destination(r, short_vgpr(r, bits(word, 17, 8), (first_class & 0x40) != 0, 3), bytes_of(first_class))
        else:
            add_destination(r, address_of(r, bits(word, 17, 7)), bytes_of(first_class))
    control = is_lane_control(r, code, True)
    if control and (flags & opcode_flag_literal or count == 0 or opcode == op_v_accvgpr_mov_b32):
        return invalid(r)
    if count:
        add_source(r, 0, operand_size(r, 0))
    if count and format != format_vop1:
        if format == format_vop2 and r.level < gfx8 and operand_class(r, 1) & 0x20 == 0:
            # the lane number of v_readlane_b32 and v_writelane_b32
            add_source(r, address_of(r, bits(word, 9, 8)), operand_size(r, 1))
        else:
            add_source(r, short_vgpr(r, bits(word, 9, 8), operand_size(r, 1) == 2, 1), operand_size(r, 1))
    if control:
        source = take_lane_control(r, code, True, format == format_vopc)
        if source < 0:
            return invalid(r)
        code = <uint32_t>source
        if r.out.format & format_sdwa:
            r.out.source[0] = address_of(r, code)
        else:
            r.out.source[0] = short_source(r, code, operand_size(r, 0) == 2, 0)
    elif count:
        r.out.source[0] = short_source(r, code, operand_size(r, 0) == 2, 0)
    if format == format_vop2 and count:
        complete_vop2(r, flags, register_vcc, register_vcc)
    elif swaps(opcode):
        add_source(r, r.out.destination[0], r.out.destination_bytes[0])
        add_destination(r, r.out.source[0], r.out.source_bytes[0])
    elif opcode == op_v_accvgpr_mov_b32:
        if code < 256:
            return invalid(r)
        r.out.destination[0] = agpr(bits(word, 17, 8))
        r.out.source[0] = agpr(code - 256)
    return finish(r)


# The operands of a VOP2 opcode beyond the two sources: the tied destination, the literal, lane masks in and out.
cdef void complete_vop2(Reader *r, uint32_t flags, uint16_t mask_in, uint16_t mask_out) noexcept nogil:
    if flags & opcode_flag_tied:
        add_source(r, r.out.destination[0], r.out.destination_bytes[0])
    elif flags & opcode_flag_literal:
        add_source(r, 255 * 4, operand_size(r, 2))
    elif opcode_operand_count[r.out.opcode] > 2:
        add_source(r, mask_in, operand_size(r, 2))
    if opcode_definition_count[r.out.opcode] > 1:
        add_destination(r, mask_out, definition_size(r, 1))


# The opcode and format of a VOP3 opcode number.
cdef uint16_t vop3_opcode(const Reader *r, uint32_t number, uint16_t *format) noexcept nogil:
    cdef uint16_t opcode = decode_vop3[r.generation * decode_vop3_width + number]
    cdef uint32_t first_vop1 = 0x180 if plain_layout(r) else 0x140
    format[0] = format_vop3
    if opcode != op_invalid:
        return opcode
    if number < 0x100:
        format[0] |= format_vopc
        return decode_vopc[r.generation * decode_vopc_width + number]
    if number < 0x140:
        format[0] |= format_vop2
        opcode = decode_vop2[r.generation * decode_vop2_width + number - 0x100]
    elif first_vop1 <= number < first_vop1 + 0x80:
        format[0] |= format_vop1
        opcode = decode_vop1[r.generation * decode_vop1_width + number - first_vop1]
    if opcode != op_invalid and (opcode_flags[opcode] & opcode_flag_literal or opcode == op_v_illegal
                                 or opcode == op_v_accvgpr_mov_b32):
        return op_invalid
    return opcode


# Interpolation in VOP3: the attribute is in the place of the first source, so that the sources start at the second.
cdef int decode_vop3_interpolation(Reader *r, uint16_t opcode) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t high, i
    cdef uint16_t format = format_vop3 | (opcode_format[opcode] & format_base_mask)
    cdef uint64_t m = 0
    if not begin(r, opcode, format, 2):
        return invalid(r)
    high = r.words[1]
    m = modifier_set_ldsdir_attr(m, bits(high, 0, 6))
    m = modifier_set_ldsdir_channel(m, bits(high, 6, 2))
    m = modifier_set_interp_high(m, bits(high, 8, 1))
    m = modifier_set_abs(m, bits(word, 9, 2))
    m = modifier_set_opsel(m, bits(word, 11, 4))
    m = modifier_set_clamp(m, bits(word, 15, 1))
    m = modifier_set_omod(m, bits(high, 27, 2))
    r.out.modifiers = modifier_set_neg(m, bits(high, 30, 2))
    add_destination(r, vgpr(bits(word, 0, 8)), definition_size(r, 0))
    if opcode == op_v_interp_mov_f32:
        r.out.immediate = bits(high, 9, 9)
        return finish(r)
    for i in range(opcode_operand_count[opcode]):
        add_source(r, address_of(r, bits(high, 9 * (i + 1), 9)), operand_size(r, i))
    return finish(r)


cdef uint64_t vop3_modifiers(const Reader *r, bint has_scalar_destination) noexcept nogil:
    """A scalar destination lies where abs and opsel do."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t high = r.words[1]
    cdef uint64_t m = 0
    if not has_scalar_destination:
        m = modifier_set_abs(m, bits(word, 8, 3))
        if r.level >= gfx8:
            m = modifier_set_opsel(m, bits(word, 11, 4))
        else:
            m = modifier_set_clamp(m, bits(word, 11, 1))
    if r.level >= gfx8:
        m = modifier_set_clamp(m, bits(word, 15, 1))
    m = modifier_set_omod(m, bits(high, 27, 2))
    return modifier_set_neg(m, bits(high, 29, 3))


cdef void add_vop3_destinations(Reader *r, bint has_scalar_destination) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint8_t kind
    cdef uint16_t address
    if r.out.format & format_vopc:
        if is_cmpx(r.out.opcode) and r.level >= gfx10:
            add_destination(r, register_exec, 0)
        else:
            add_destination(r, address_of(r, bits(word, 0, 8)), 0)
        return
    if not opcode_definition_count[r.out.opcode]:
        return
    kind = definition_class(r, 0)
    if kind & 0x20:
        address = vgpr(bits(word, 0, 8))
        if kind & 0x40 and modifier_opsel(r.out.modifiers) & 8:
            address += 2
    else:
        address = address_of(r, bits(word, 0, 7))
    add_destination(r, address, bytes_of(kind))
    if has_scalar_destination:
        add_destination(r, address_of(r, bits(word, 8, 7)), definition_size(r, 1))


cdef void add_vop3_sources(Reader *r, const uint32_t *codes) noexcept nogil:
    cdef uint32_t opcode = r.out.opcode
    cdef uint32_t count = opcode_operand_count[opcode]
    cdef uint32_t i
    cdef uint8_t size
    cdef uint16_t address
    for i in range(count):
        if i == count - 1 and (opcode_flags[opcode] & opcode_flag_tied or (swaps(opcode) and i == 1)):
            add_source(r, r.out.destination[0], r.out.destination_bytes[0])
        elif i < 3:
            address = address_of(r, codes[i])
            size = operand_size(r, i)
            if size == 2 and (modifier_opsel(r.out.modifiers) >> i) & 1 and (codes[i] >= 256 or codes[i] < 128):
                address += 2
            add_source(r, address, size)
    if swaps(opcode):
        add_destination(r, r.out.source[0], r.out.source_bytes[0])


cdef int decode_vop3_words(Reader *r) noexcept nogil:
    cdef uint16_t format
    cdef uint16_t opcode = vop3_opcode(r, bits(r.words[0], 17, 9) if r.level < gfx8 else bits(r.words[0], 16, 10), &format)
    cdef uint32_t codes[3]
    cdef uint32_t i
    cdef bint has_scalar_destination
    cdef int source
    if opcode != op_invalid and (opcode_flags[opcode] & opcode_flag_interpolation
                                 or opcode_format[opcode] == format_vintrp):
        return decode_vop3_interpolation(r, opcode)
    if not begin(r, opcode, format, 2):
        return invalid(r)
    for i in range(3):
        codes[i] = bits(r.words[1], 9 * i, 9)
        if codes[i] == 255 and i < opcode_operand_count[opcode] and r.level < gfx10:
            return invalid(r)
    has_scalar_destination = opcode_definition_count[opcode] > 1 and not swaps(opcode)
    r.out.modifiers = vop3_modifiers(r, has_scalar_destination)
    add_vop3_destinations(r, has_scalar_destination)
    if opcode_operand_count[opcode] and is_lane_control(r, codes[0], False):
        source = take_lane_control(r, codes[0], False, False)
        if source < 0:
            return invalid(r)
        codes[0] = <uint32_t>source
    add_vop3_sources(r, codes)
    return finish(r)


cdef inline bint swaps(uint32_t opcode) noexcept nogil:
    return (opcode == op_v_swap_b32 or opcode == op_v_swap_b16 or opcode == op_v_swaprel_b32
            or opcode == op_v_permlane16_swap_b32 or opcode == op_v_permlane32_swap_b32)


cdef int decode_vop3p_words(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t high, i, code, count
    cdef uint64_t m = 0
    cdef int source
    if not begin(r, decode_vop3p[r.generation * decode_vop3p_width + bits(word, 16, 7)], format_vop3p, 2):
        return invalid(r)
    high = r.words[1]
    if r.out.opcode == op_v_mfma_ld_scale_b32 and r.available >= 4 and scaled_opcode(r) != op_invalid:
        return decode_scaled_matrix(r)
    if opcode_flags[r.out.opcode] & opcode_flag_matrix:
        return decode_matrix(r, word, high)
    m = modifier_set_neg_hi(m, bits(word, 8, 3))
    m = modifier_set_opsel(m, bits(word, 11, 3))
    m = modifier_set_opsel_hi(m, bits(high, 27, 2) | bits(word, 14, 1) << 2)
    m = modifier_set_clamp(m, bits(word, 15, 1))
    m = modifier_set_neg(m, bits(high, 29, 3))
    r.out.modifiers = m
    if opcode_definition_count[r.out.opcode]:
        add_destination(r, vector_register(bits(word, 0, 8), r.out.opcode == op_v_accvgpr_write_b32), definition_size(r, 0))
    count = opcode_operand_count[r.out.opcode]
    if opcode_flags[r.out.opcode] & opcode_flag_tied:
        count -= 1
    for i in range(count):
        code = bits(high, 9 * i, 9)
        if code == 255 and r.level < gfx10:
            return invalid(r)
        if r.out.opcode == op_v_accvgpr_read_b32:
            if code < 256:
                return invalid(r)
            code += 256
        if i == 0 and is_lane_control(r, code, False):
            source = take_lane_control(r, code, False, False)
            if source < 0:
                return invalid(r)
            code = <uint32_t>source
        add_source(r, address_of(r, code), operand_size(r, i))
    if opcode_flags[r.out.opcode] & opcode_flag_tied:
        add_source(r, r.out.destination[0], r.out.destination_bytes[0])
    return finish(r)


# ------------------------------------------------------------------------------------------------ matrix operations of CDNA
cdef inline uint8_t element_bytes(uint32_t type_code, uint8_t widest) noexcept nogil:
    """Size of an operand of f8f6f4, whose elements cbsz or blgp chooses: 8 bits (0, 1), 6 (2, 3) or 4 (4)."""
    if type_code == 2 or type_code == 3:
        return 24
    return 16 if type_code == 4 else widest


cdef int decode_matrix(Reader *r, uint32_t word, uint32_t high) noexcept nogil:
    """A and B are VGPRs or AGPRs each; one bit says it for C and D together. CDNA 1 has C and D in AGPRs alone."""
    cdef uint32_t opcode = r.out.opcode
    cdef bint accumulation = bits(word, 15, 1) or r.level == gfx908
    cdef bint eight_to_four = is_f8f6f4(opcode)
    cdef bint sparse = (opcode_flags[opcode] & opcode_flag_tied) != 0
    cdef uint32_t code = bits(high, 18, 9)
    cdef uint64_t m = modifier_set_cbsz(r.out.modifiers, bits(word, 8, 3))
    m = modifier_set_abid(m, bits(word, 11, 4))
    r.out.modifiers = modifier_set_blgp(m, bits(high, 29, 3))
    if bits(high, 0, 9) < 256 or bits(high, 9, 9) < 256 or (code < 256 and (sparse or not is_inline_constant(code))):
        return invalid(r)
    add_destination(r, vector_register(bits(word, 0, 8), accumulation), definition_size(r, 0))
    add_source(r, vector_register(bits(high, 0, 8), bits(high, 27, 1)),
               element_bytes(modifier_cbsz(m), 32) if eight_to_four else operand_size(r, 0))
    add_source(r, vector_register(bits(high, 9, 8), bits(high, 28, 1)),
               element_bytes(bits(high, 29, 3), 32) if eight_to_four else operand_size(r, 1))
    if code < 256:
        add_source(r, address_of(r, code), operand_size(r, 2))
    else:
        add_source(r, vector_register(code - 256, accumulation and not sparse), operand_size(r, 2))
    if sparse:
        add_source(r, r.out.destination[0], r.out.destination_bytes[0])
    return finish(r)


cdef inline bint is_f8f6f4(uint32_t opcode) noexcept nogil:
    return (opcode == op_v_mfma_f32_16x16x128_f8f6f4 or opcode == op_v_mfma_f32_32x32x64_f8f6f4
            or opcode == op_v_mfma_scale_f32_16x16x128_f8f6f4 or opcode == op_v_mfma_scale_f32_32x32x64_f8f6f4)


cdef inline bint is_inline_constant(uint32_t code) noexcept nogil:
    return 128 <= code <= 208 or 240 <= code <= 248


cdef uint16_t scaled_opcode(const Reader *r) noexcept nogil:
    """The scaled operation whose second half is at the third dword; bit 0 of its abid says that scales stand in front."""
    if r.words[2] >> 23 != 0x1a7 or bits(r.words[2], 11, 4) != 1:
        return op_invalid
    if bits(r.words[2], 16, 7) == 0x2d:
        return op_v_mfma_scale_f32_16x16x128_f8f6f4
    return op_v_mfma_scale_f32_32x32x64_f8f6f4 if bits(r.words[2], 16, 7) == 0x2e else op_invalid


cdef int decode_scaled_matrix(Reader *r) noexcept nogil:
    """Two scales in front of a matrix operation, four dwords in all; op_sel and op_sel_hi choose the byte of each scale."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t high = r.words[1]
    begin(r, scaled_opcode(r), format_vop3p, 4)
    r.out.modifiers = modifier_set_opsel_hi(modifier_set_opsel(0, bits(word, 11, 2)), bits(high, 27, 2))
    if bits(high, 0, 9) == 255 or bits(high, 9, 9) == 255 or decode_matrix(r, r.words[2], r.words[3]) != 4:
        return invalid(r)
    r.out.modifiers = modifier_set_abid(r.out.modifiers, 0)
    add_source(r, address_of(r, bits(high, 0, 9)), 4)
    add_source(r, address_of(r, bits(high, 9, 9)), 4)
    return finish(r)


cdef int decode_vinterp_words(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t high, i
    cdef uint16_t address
    cdef uint64_t m = 0
    if not begin(r, decode_vinterp_inreg[r.generation * decode_vinterp_inreg_width + bits(word, 16, 5)],
                 format_vinterp_inreg, 2):
        return invalid(r)
    high = r.words[1]
    m = modifier_set_wait_exp(m, bits(word, 8, 3))
    m = modifier_set_opsel(m, bits(word, 11, 4))
    m = modifier_set_clamp(m, bits(word, 15, 1))
    m = modifier_set_neg(m, bits(high, 29, 3))
    r.out.modifiers = m
    address = vgpr(bits(word, 0, 8))
    if definition_size(r, 0) == 2 and modifier_opsel(m) & 8:
        address += 2
    add_destination(r, address, definition_size(r, 0))
    for i in range(opcode_operand_count[r.out.opcode]):
        address = address_of(r, bits(high, 9 * i, 9))
        if operand_size(r, i) == 2 and modifier_opsel(m) >> i & 1:
            address += 2
        add_source(r, address, operand_size(r, i))
    return finish(r)


cdef int decode_vintrp_word(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint64_t m = 0
    if not begin(r, decode_vintrp[r.generation * decode_vintrp_width + bits(word, 16, 2)], format_vintrp, 1):
        return invalid(r)
    m = modifier_set_ldsdir_channel(m, bits(word, 8, 2))
    r.out.modifiers = modifier_set_ldsdir_attr(m, bits(word, 10, 6))
    add_destination(r, vgpr(bits(word, 18, 8)), 4)
    if r.out.opcode == op_v_interp_mov_f32:
        r.out.immediate = bits(word, 0, 8)
    else:
        add_source(r, vgpr(bits(word, 0, 8)), 4)
    return finish(r)


cdef bint synchronises_globally(uint32_t opcode) noexcept nogil:
    return opcode == op_ds_gws_init or opcode == op_ds_gws_sema_br or opcode == op_ds_gws_barrier


cdef int decode_vopd_words(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t high
    cdef uint16_t second
    cdef uint32_t x = bits(word, 22, 4)
    cdef uint32_t y = bits(word, 17, 5)
    cdef bint literal
    second = decode_vopd_y[r.generation * decode_vopd_y_width + y]
    if second == op_invalid or not begin(r, decode_vopd[r.generation * decode_vopd_width + x], format_vopd, 2):
        return invalid(r)
    high = r.words[1]
    add_source(r, address_of(r, bits(word, 0, 9)), 4)
    add_source(r, vgpr(bits(word, 9, 8)) if r.out.opcode != op_v_dual_mov_b32 else <uint16_t>register_none, 4)
    add_source(r, address_of(r, bits(high, 0, 9)), 4)
    add_source(r, vgpr(bits(high, 9, 8)) if second != op_v_dual_mov_b32 else <uint16_t>register_none, 4)
    add_destination(r, vgpr(bits(high, 24, 8)), 4)
    # the halves write registers of different parity; the encoding drops the low bit of the second
    add_destination(r, vgpr(bits(high, 17, 7) << 1 | (~bits(high, 24, 1) & 1)), 4)
    r.out.modifiers = modifier_set_vopd_opcode_y(0, second)
    literal = (r.out.opcode == op_v_dual_fmaak_f32 or r.out.opcode == op_v_dual_fmamk_f32
               or second == op_v_dual_fmaak_f32 or second == op_v_dual_fmamk_f32)
    if literal and not take_literal(r):
        return invalid(r)
    return finish(r)


# ---------------------------------------------------------------------------------------------------------------- LDS
cdef int decode_ds_words(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t high, flags, i, field
    cdef bint accumulation = gfx90a <= r.level < gfx10 and bits(word, 25, 1)
    cdef uint32_t number = bits(word, 18, 8) if plain_layout(r) else bits(word, 17, 8)
    if not begin(r, decode_ds[r.generation * decode_ds_width + number], format_ds, 2):
        return invalid(r)
    high = r.words[1]
    flags = opcode_flags[r.out.opcode]
    if flags & opcode_flag_two_offsets:
        r.out.immediate = bits(word, 0, 8) | bits(word, 8, 8) << 16
    else:
        r.out.immediate = bits(word, 0, 16)
    if r.level < gfx12:
        r.out.modifiers = modifier_set_gds(0, bits(word, 17, 1) if plain_layout(r) else bits(word, 16, 1))
    if opcode_definition_count[r.out.opcode]:
        add_destination(r, vector_register(bits(high, 24, 8), accumulation), definition_size(r, 0))
    field = 8 if flags & opcode_flag_no_address else 0
    for i in range(opcode_operand_count[r.out.opcode]):
        add_source(r, vector_register(bits(high, field, 8), accumulation and (field or synchronises_globally(r.out.opcode))),
                   operand_size(r, i))
        field += 8
    return finish(r)


cdef int decode_ldsdir_word(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint64_t m = 0
    if not begin(r, decode_ldsdir[r.generation * decode_ldsdir_width + bits(word, 20, 2)], format_ldsdir, 1):
        return invalid(r)
    m = modifier_set_ldsdir_channel(m, bits(word, 8, 2))
    m = modifier_set_ldsdir_attr(m, bits(word, 10, 6))
    m = modifier_set_wait_vdst(m, bits(word, 16, 4))
    if r.level >= gfx12:
        m = modifier_set_wait_vsrc(m, bits(word, 23, 1))
    r.out.modifiers = m
    add_destination(r, vgpr(bits(word, 0, 8)), 4)
    return finish(r)


# --------------------------------------------------------------------------------------------------------------- buffers
cdef inline uint64_t cache_policy_12(uint64_t m, uint32_t word, uint32_t scope) noexcept nogil:
    m = modifier_set_cache_scope(m, bits(word, scope, 2))
    return modifier_set_cache_temporal_hint(m, bits(word, scope + 2, 3))


# True when an atomic returns the old value (glc before GFX12, bit 0 of the temporal hint there).
cdef inline bint atomic_returns(const Reader *r) noexcept nogil:
    return modifier_cache_temporal_hint(r.out.modifiers) & 1 if r.level >= gfx12 else modifier_cache_glc(r.out.modifiers)


cdef inline bint compares(uint32_t opcode) noexcept nogil:
    """Compare-and-swap: the data register holds the new value and the expected one, the result is half as wide."""
    return (opcode == op_buffer_atomic_cmpswap or opcode == op_buffer_atomic_cmpswap_x2
            or opcode == op_buffer_atomic_fcmpswap or opcode == op_buffer_atomic_fcmpswap_x2
            or opcode == op_flat_atomic_cmpswap or opcode == op_flat_atomic_cmpswap_x2
            or opcode == op_flat_atomic_fcmpswap or opcode == op_flat_atomic_fcmpswap_x2
            or opcode == op_global_atomic_cmpswap or opcode == op_global_atomic_cmpswap_x2
            or opcode == op_global_atomic_fcmpswap or opcode == op_global_atomic_fcmpswap_x2)


# Data register of a memory access: the destination of loads, a source of stores, both for atomics that return.
cdef void add_memory_data(Reader *r, uint16_t load, uint16_t store, uint32_t address_operands, uint32_t extra) noexcept nogil:
    cdef uint32_t size
    if opcode_definition_count[r.out.opcode]:
        add_destination(r, load, <uint8_t>(definition_size(r, 0) + extra))
    elif opcode_operand_count[r.out.opcode] > address_operands:
        size = operand_size(r, address_operands)
        add_source(r, store, <uint8_t>size)
        if opcode_flags[r.out.opcode] & 4 and atomic_returns(r):
            if compares(r.out.opcode):
                size >>= 1
            add_destination(r, load, <uint8_t>(size + extra))


cdef inline uint64_t cache_control_policy(uint64_t m) noexcept nogil:
    """The scope and hint bits of buffer_wbl2 and buffer_inv."""
    cdef uint64_t kept = modifier_set_cache_sc1(modifier_set_cache_glc(0, modifier_cache_glc(m)), modifier_cache_sc1(m))
    return modifier_set_cache_slc(kept, modifier_cache_slc(m))


cdef uint32_t buffer_number(const Reader *r, bint typed) noexcept nogil:
    cdef uint32_t word = r.words[0]
    if r.level >= gfx12:
        return bits(word, 14, 4 if typed else 7)
    if typed and plain_layout(r) and r.level < gfx11:
        return bits(word, 16, 3) | (bits(r.words[1], 21, 1) << 3 if r.level >= gfx10 else 0)
    if typed:
        return bits(word, 15, 4)
    if r.level >= gfx11:
        return bits(word, 18, 8)
    return bits(word, 18, 7) | (bits(word, 25, 1) << 7 if r.level >= gfx10 else 0)


cdef uint64_t buffer_modifiers_12(const Reader *r, bint typed) noexcept nogil:
    cdef uint32_t high = r.words[1]
    cdef uint64_t m = modifier_set_tfe(0, bits(r.words[0], 22, 1))
    m = cache_policy_12(m, high, 18)
    if typed:
        m = modifier_set_format(m, bits(high, 23, 7))
    m = modifier_set_offen(m, bits(high, 30, 1))
    return modifier_set_idxen(m, bits(high, 31, 1))


cdef uint64_t buffer_modifiers_11(const Reader *r, uint64_t m) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t high = r.words[1]
    m = modifier_set_cache_slc(m, bits(word, 12, 1))
    m = modifier_set_cache_dlc(m, bits(word, 13, 1))
    m = modifier_set_tfe(m, bits(high, 21, 1))
    m = modifier_set_offen(m, bits(high, 22, 1))
    return modifier_set_idxen(m, bits(high, 23, 1))


cdef uint64_t buffer_modifiers(const Reader *r, bint typed) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t high = r.words[1]
    cdef uint64_t m = modifier_set_cache_glc(0, bits(word, 14, 1))
    if typed:
        m = modifier_set_format(m, bits(word, 19, 7))
    if r.level >= gfx11:
        return buffer_modifiers_11(r, m)
    m = modifier_set_offen(m, bits(word, 12, 1))
    m = modifier_set_idxen(m, bits(word, 13, 1))
    if r.level >= gfx10:
        m = modifier_set_cache_dlc(m, bits(word, 15, 1))
    elif r.level >= gfx90a:
        m = modifier_set_cache_sc1(m, bits(high, 21, 1) if typed else bits(word, 15, 1))
    if r.level < gfx90a or r.level >= gfx10:
        m = modifier_set_tfe(m, bits(high, 23, 1))
    if r.level < gfx8:
        m = modifier_set_addr64(m, bits(word, 15, 1))
    m = modifier_set_cache_slc(m, bits(high, 22, 1) if typed or plain_layout(r) else bits(word, 17, 1))
    return m if typed else modifier_set_lds(m, bits(word, 16, 1))


cdef int decode_buffer_words(Reader *r, bint typed) noexcept nogil:
    cdef uint32_t number, high
    cdef uint32_t word = r.words[0]
    cdef uint32_t length = 3 if r.level >= gfx12 else 2
    cdef uint64_t m
    cdef uint16_t opcode, vaddr, vdata, resource, soffset
    if r.available < length:
        return invalid(r)
    high = r.words[1]
    number = buffer_number(r, typed)
    if typed:
        opcode = decode_mtbuf[r.generation * decode_mtbuf_width + number]
    else:
        opcode = decode_mubuf[r.generation * decode_mubuf_width + number]
    if not begin(r, opcode, format_mtbuf if typed else format_mubuf, length):
        return invalid(r)
    if r.level >= gfx12:
        m = buffer_modifiers_12(r, typed)
        soffset = address_of(r, bits(word, 0, 7))
        vdata = vgpr(bits(high, 0, 8))
        resource = address_of(r, bits(high, 9, 9))
        vaddr = vgpr(bits(r.words[2], 0, 8))
        r.out.immediate = sign_extended(bits(r.words[2], 8, 24), 24)
    else:
        m = buffer_modifiers(r, typed)
        r.out.immediate = bits(word, 0, 12)
        vaddr = vgpr(bits(high, 0, 8))
        vdata = vector_register(bits(high, 8, 8), gfx90a <= r.level < gfx10 and bits(high, 23, 1))
        resource = <uint16_t>(bits(high, 16, 5) * 16)
        soffset = address_of(r, bits(high, 24, 8))
    if not modifier_offen(m) and not modifier_idxen(m) and not modifier_addr64(m):
        vaddr = register_none
    if names_nothing(opcode):
        r.out.immediate = 0
        if gfx942 <= r.level < gfx10:
            r.out.modifiers = cache_control_policy(m)
        return finish(r)
    r.out.modifiers = m
    add_source(r, resource, 16)
    add_source(r, vaddr, 8 if modifier_addr64(m) or (modifier_offen(m) and modifier_idxen(m)) else 4)
    add_source(r, soffset, 4)
    if not modifier_lds(m):
        add_memory_data(r, vdata, vdata, 3, 4 if modifier_tfe(m) else 0)
    return finish(r)


# ----------------------------------------------------------------------------------------------------------- flat memory
cdef uint16_t flat_opcode(const Reader *r, uint32_t segment, uint32_t number) noexcept nogil:
    if segment == 0:
        return decode_flat[r.generation * decode_flat_width + number]
    if segment == 1:
        return decode_scratch[r.generation * decode_scratch_width + number]
    if segment == 2:
        return decode_global[r.generation * decode_global_width + number]
    return op_invalid


cdef uint64_t flat_modifiers(const Reader *r) noexcept nogil:
    """Those of GFX7 to GFX11.5."""
    cdef uint32_t word = r.words[0]
    cdef uint64_t m = 0
    if r.level >= gfx11:
        m = modifier_set_cache_dlc(m, bits(word, 13, 1))
        m = modifier_set_cache_glc(m, bits(word, 14, 1))
        return modifier_set_cache_slc(m, bits(word, 15, 1))
    m = modifier_set_cache_glc(m, bits(word, 16, 1))
    m = modifier_set_cache_slc(m, bits(word, 17, 1))
    if r.level >= gfx9 and not has_vaddr_bit(r):
        m = modifier_set_lds(m, bits(word, 13, 1))
    if r.level >= gfx10:
        return modifier_set_cache_dlc(m, bits(word, 12, 1))
    return modifier_set_cache_sc1(m, bits(word, 25, 1)) if r.level >= gfx90a else m


cdef inline bint has_vaddr_bit(const Reader *r) noexcept nogil:
    """CDNA 3 and later say apart from the scalar address whether scratch has a vector address."""
    return gfx942 <= r.level < gfx10


cdef uint32_t flat_offset(const Reader *r, uint32_t segment) noexcept nogil:
    """Flat addresses take unsigned offsets of one bit less."""
    cdef uint32_t width = 12 if gfx10 <= r.level < gfx11 else 13
    if segment == 0:
        return bits(r.words[0], 0, width - 1)
    return sign_extended(bits(r.words[0], 0, width), width)


cdef inline bint scratch_has_vaddr(const Reader *r, uint32_t saddr_code) noexcept nogil:
    if has_vaddr_bit(r):
        return bits(r.words[0], 13, 1)
    if r.level >= gfx11:
        return bits(r.words[1], 17 if r.level >= gfx12 else 23, 1)
    return saddr_code == (0x7f if r.level < gfx10 else 0x7d)


cdef bint begin_flat(Reader *r, uint32_t *segment) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t length = 3 if r.level >= gfx12 else 2
    cdef uint32_t number
    if r.available < length:
        return False
    if r.level >= gfx12:
        segment[0], number = bits(word, 24, 2), bits(word, 14, 8)
    elif r.level >= gfx11:
        segment[0], number = bits(word, 16, 2), bits(word, 18, 7)
    else:
        segment[0], number = bits(word, 14, 2) if r.level >= gfx9 else 0, bits(word, 18, 7)
    return begin(r, flat_opcode(r, segment[0], number), format_flat + (2 if segment[0] == 1 else segment[0] >> 1), length)


cdef int decode_flat_words(Reader *r) noexcept nogil:
    cdef uint32_t segment, high, saddr_code
    cdef uint16_t vaddr, load, store
    cdef bint has_saddr, accumulation
    if not begin_flat(r, &segment):
        return invalid(r)
    high = r.words[1]
    if r.level >= gfx12:
        saddr_code = bits(r.words[0], 0, 7)
        load = vgpr(bits(high, 0, 8))
        store = vgpr(bits(high, 23, 8))
        vaddr = vgpr(bits(r.words[2], 0, 8))
        r.out.modifiers = cache_policy_12(0, high, 18)
        r.out.immediate = sign_extended(bits(r.words[2], 8, 24), 24)
    else:
        accumulation = gfx90a <= r.level < gfx10 and bits(high, 23, 1)
        vaddr = vgpr(bits(high, 0, 8))
        store = vector_register(bits(high, 8, 8), accumulation)
        saddr_code = bits(high, 16, 7)
        load = vector_register(bits(high, 24, 8), accumulation)
        r.out.modifiers = flat_modifiers(r)
        if r.level >= gfx9:
            r.out.immediate = flat_offset(r, segment)
    if names_nothing(r.out.opcode):
        return finish(r)
    has_saddr = segment != 0 and saddr_code != 0x7f and not (r.level >= gfx10 and address_of(r, saddr_code) == register_null)
    if opcode_flags[r.out.opcode] & opcode_flag_no_address or (segment == 1 and not scratch_has_vaddr(r, saddr_code)):
        vaddr = register_none
    add_source(r, vaddr, 4 if segment == 1 or (segment == 2 and has_saddr) else 8)
    add_source(r, address_of(r, saddr_code) if has_saddr else <uint16_t>register_none, 8 if segment == 2 else 4)
    if not modifier_lds(r.out.modifiers):
        add_memory_data(r, load, store, 1 if segment == 0 else 2, 0)
    return finish(r)


# -------------------------------------------------------------------------------------------------------- images, exports
# Dwords of the addresses of an image access: offset, bias and comparison value, gradients, then coordinates with the level
# of detail, its clamp or the mip level. 16-bit coordinates are packed in pairs, 16-bit gradients in pairs per derivative.
# (AMD "RDNA 2" ISA document, "Image address VGPR layout".) Zero before GFX10, whose words do not tell the dimensions.
cdef uint32_t image_address_dwords(uint32_t opcode, uint32_t dim, bint a16, uint32_t gfx_level) noexcept nogil:
    cdef uint32_t flags = opcode_image[opcode]
    # coordinates by dim: 1D, 2D, 3D, cube, 1D array, 2D array, 2D multisampled, its array; four bits each
    cdef uint32_t coordinates = 0x43323321U >> (4 * dim) & 0xf
    cdef uint32_t derivatives = 0x44424642U >> (4 * dim) & 0xf
    cdef uint32_t dwords = 0
    if gfx_level < gfx10:
        return 0
    if flags & image_flag_bvh:
        return (12 if opcode == op_image_bvh64_intersect_ray else 11) - (3 if a16 else 0)
    dwords += (flags & image_flag_offset) != 0
    dwords += (flags & image_flag_bias) != 0
    dwords += (flags & image_flag_compare) != 0
    if flags & image_flag_gradients:
        dwords += (derivatives // 2 + 1 & ~1U) if flags & image_flag_half_gradients else derivatives
    if opcode == op_image_get_resinfo:
        coordinates = 0
    coordinates += (flags & image_flag_lod) != 0
    return dwords + ((coordinates + 1) // 2 if a16 else coordinates)


# Sizes in dwords of the registers of a ray's addresses where each is a register of its own (GFX11 and later): node, extent
# (or node and instance mask), origin, direction, inverse direction. With a16 both directions share three registers.
cdef uint32_t ray_address_dwords(uint32_t opcode, bint a16, uint32_t position) noexcept nogil:
    if opcode == op_image_bvh_dual_intersect_ray:
        return 0x23322U >> (4 * position) & 0xf
    if opcode == op_image_bvh8_intersect_ray:
        return 0x13322U >> (4 * position) & 0xf
    if position == 0:
        return 2 if opcode == op_image_bvh64_intersect_ray else 1
    if position == 1:
        return 1
    return 3 if position < (4 if a16 else 5) else 0


# Bytes of the data of an image access.
cdef uint32_t image_data_bytes(uint32_t opcode, uint64_t m, uint32_t gfx_level) noexcept nogil:
    cdef uint32_t flags = opcode_image[opcode]
    cdef uint32_t mask = modifier_dmask(m)
    cdef uint32_t count = (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3)
    if flags & image_flag_bvh:
        return 40 if opcode == op_image_bvh_dual_intersect_ray or opcode == op_image_bvh8_intersect_ray else 16
    if flags & image_flag_gather or (opcode == op_image_msaa_load and gfx_level >= gfx11):
        count = 4
    if modifier_d16(m) and gfx_level >= gfx9:
        count = (count + 1) // 2
    return 4 * (max(count, 1) + modifier_image_tfe(m))


# The address registers: one of all dwords, or, with `separate` numbers in `numbers`, one each.
cdef void add_image_addresses(Reader *r, const uint32_t *numbers, uint32_t separate) noexcept nogil:
    cdef uint64_t m = r.out.modifiers
    cdef uint32_t dwords = image_address_dwords(r.out.opcode, modifier_dim(m), modifier_a16(m), r.level)
    cdef uint32_t i, size
    cdef bint ray = (opcode_image[r.out.opcode] & image_flag_bvh) != 0
    if separate == 1:
        # before GFX10 nothing says how many there are
        add_source(r, vgpr(numbers[0]), <uint8_t>(4 * max(dwords, 1)))
        return
    for i in range(separate):
        if ray and r.level >= gfx11:
            size = ray_address_dwords(r.out.opcode, modifier_a16(m), i)
        else:
            size = min(dwords, 1)
            if i == separate - 1 and r.level >= gfx11:
                size = dwords
            dwords -= size
        if size:
            add_source(r, vgpr(numbers[i]), <uint8_t>(4 * size))


# The data register: what a load or a sample writes, what a store reads, both for an atomic that returns.
cdef void add_image_data(Reader *r, uint16_t vdata) noexcept nogil:
    cdef uint32_t flags = opcode_image[r.out.opcode]
    cdef uint8_t size = <uint8_t>image_data_bytes(r.out.opcode, r.out.modifiers, r.level)
    if flags & (image_flag_load | image_flag_sample | image_flag_gather | image_flag_bvh):
        add_destination(r, vdata, size)
        add_source(r, register_none, 0)
        return
    add_source(r, vdata, size)
    if flags & image_flag_atomic and atomic_returns(r):
        if r.out.opcode == op_image_atomic_cmpswap or r.out.opcode == op_image_atomic_fcmpswap:
            size >>= 1
        add_destination(r, vdata, size)


cdef int decode_mimg_12(Reader *r, bint sample) noexcept nogil:
    """VIMAGE and VSAMPLE: five and four address fields, always used one by one."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t high, third, i
    cdef uint64_t m = 0
    cdef uint16_t sampler = register_none
    cdef uint32_t addresses[5]
    if r.available < 3 or not begin(r, decode_mimg[r.generation * decode_mimg_width + bits(word, 14, 8)], format_mimg, 3):
        return invalid(r)
    if sample != ((opcode_image[r.out.opcode] & image_flag_sampler) != 0 or r.out.opcode == op_image_msaa_load):
        return invalid(r)
    high, third = r.words[1], r.words[2]
    m = modifier_set_dim(m, bits(word, 0, 3))
    m = modifier_set_r128(m, bits(word, 4, 1))
    m = modifier_set_d16(m, bits(word, 5, 1))
    m = modifier_set_a16(m, bits(word, 6, 1))
    m = modifier_set_dmask(m, bits(word, 22, 4))
    m = cache_policy_12(m, high, 18)
    for i in range(4):
        addresses[i] = bits(third, 8 * i, 8)
    addresses[4] = bits(high, 24, 8)
    if sample:
        m = modifier_set_image_tfe(m, bits(word, 3, 1))
        m = modifier_set_unrm(m, bits(word, 13, 1))
        m = modifier_set_lwe(m, bits(high, 8, 1))
        if opcode_image[r.out.opcode] & image_flag_sampler:
            sampler = address_of(r, bits(high, 23, 9))
    else:
        m = modifier_set_image_tfe(m, bits(high, 23, 1))
    r.out.modifiers = m
    add_source(r, address_of(r, bits(high, 9, 9)), image_resource_bytes(r))
    add_source(r, sampler, 16)
    add_image_data(r, vgpr(bits(high, 0, 8)))
    add_image_addresses(r, addresses, 4 if sample else 5)
    return finish(r)


cdef inline uint8_t image_resource_bytes(const Reader *r) noexcept nogil:
    # with r128 text names eight registers although four are read
    return 16 if opcode_image[r.out.opcode] & image_flag_bvh else 32


cdef uint64_t mimg_modifiers_11(const Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t high = r.words[1]
    cdef uint64_t m = modifier_set_dmask(0, bits(word, 8, 4))
    m = modifier_set_r128(m, bits(word, 15, 1))
    m = modifier_set_dim(m, bits(word, 2, 3))
    m = modifier_set_unrm(m, bits(word, 7, 1))
    m = modifier_set_cache_slc(m, bits(word, 12, 1))
    m = modifier_set_cache_dlc(m, bits(word, 13, 1))
    m = modifier_set_cache_glc(m, bits(word, 14, 1))
    m = modifier_set_a16(m, bits(word, 16, 1))
    m = modifier_set_d16(m, bits(word, 17, 1))
    m = modifier_set_image_tfe(m, bits(high, 21, 1))
    return modifier_set_lwe(m, bits(high, 22, 1))


cdef uint64_t mimg_modifiers(const Reader *r) noexcept nogil:
    """Those before GFX11."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t high = r.words[1]
    cdef uint64_t m = modifier_set_dmask(0, bits(word, 8, 4))
    m = modifier_set_unrm(m, bits(word, 12, 1))
    m = modifier_set_cache_glc(m, bits(word, 13, 1))
    if gfx90a <= r.level < gfx10:
        m = modifier_set_cache_sc1(m, bits(word, 7, 1))
    else:
        m = modifier_set_image_tfe(m, bits(word, 16, 1))
    m = modifier_set_lwe(m, bits(word, 17, 1))
    m = modifier_set_cache_slc(m, bits(word, 25, 1))
    if r.level >= gfx8:
        m = modifier_set_d16(m, bits(high, 31, 1))
    if r.level >= gfx10:
        m = modifier_set_dim(m, bits(word, 3, 3))
        m = modifier_set_cache_dlc(m, bits(word, 7, 1))
        m = modifier_set_a16(m, bits(high, 30, 1))
    else:
        m = modifier_set_da(m, bits(word, 14, 1))
    # GFX9 alone has 16-bit coordinates in the place of the short resource
    if gfx9 <= r.level < gfx10:
        return modifier_set_a16(m, bits(word, 15, 1))
    return modifier_set_r128(m, bits(word, 15, 1))


cdef uint32_t mimg_extra_words(const Reader *r) noexcept nogil:
    """Words with addresses that do not lie side by side."""
    if r.level >= gfx11:
        return bits(r.words[0], 0, 1)
    return bits(r.words[0], 1, 2) if r.level >= gfx10 else 0


cdef int decode_mimg_words(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t high, number, extra, sampler, i
    cdef uint32_t addresses[13]
    cdef bint accumulation = gfx90a <= r.level < gfx10 and bits(word, 16, 1)
    if r.level >= gfx11:
        number = bits(word, 18, 8)
    else:
        number = bits(word, 18, 7) | (bits(word, 0, 1) << 7 if r.level >= gfx10 else 0)
    if r.available < 2 or not begin(r, decode_mimg[r.generation * decode_mimg_width + number], format_mimg, 2):
        return invalid(r)
    high = r.words[1]
    extra = mimg_extra_words(r)
    if r.available < 2 + extra:
        return invalid(r)
    addresses[0] = bits(high, 0, 8)
    for i in range(extra * 4):
        addresses[1 + i] = bits(r.words[2 + (i >> 2)], 8 * (i & 3), 8)
    r.length += extra
    r.out.modifiers = mimg_modifiers_11(r) if r.level >= gfx11 else mimg_modifiers(r)
    sampler = bits(high, 26 if r.level >= gfx11 else 21, 5)
    add_source(r, <uint16_t>(bits(high, 16, 5) * 16), image_resource_bytes(r))
    add_source(r, <uint16_t>(sampler * 16) if opcode_image[r.out.opcode] & image_flag_sampler else <uint16_t>register_none, 16)
    add_image_data(r, vector_register(bits(high, 8, 8), accumulation))
    add_image_addresses(r, addresses, 1 + extra * 4)
    return finish(r)


cdef int decode_exp_words(Reader *r) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t i
    cdef uint64_t m = 0
    if not begin(r, op_exp, format_exp, 2):
        return invalid(r)
    m = modifier_set_exp_enabled_mask(m, bits(word, 0, 4))
    m = modifier_set_exp_target(m, bits(word, 4, 6))
    m = modifier_set_exp_done(m, bits(word, 11, 1))
    if r.level >= gfx11:
        m = modifier_set_exp_row(m, bits(word, 13, 1))
    else:
        m = modifier_set_exp_compressed(m, bits(word, 10, 1))
        m = modifier_set_exp_valid_mask(m, bits(word, 12, 1))
    r.out.modifiers = m
    for i in range(4):
        add_source(r, vgpr(bits(r.words[1], 8 * i, 8)), 4)
    return finish(r)


# -------------------------------------------------------------------------------------------------------------- dispatch
cdef int decode_vector(Reader *r) noexcept nogil:
    """Words that start with a zero bit: VOP2, and VOPC and VOP1 in its two last opcodes."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t number = bits(word, 25, 6)
    if number == 62:
        return decode_vop_short(r, decode_vopc[r.generation * decode_vopc_width + bits(word, 17, 8)], format_vopc)
    if number == 63:
        return decode_vop_short(r, decode_vop1[r.generation * decode_vop1_width + bits(word, 9, 8)], format_vop1)
    return decode_vop_short(r, decode_vop2[r.generation * decode_vop2_width + number], format_vop2)


cdef int decode_mubuf_words(Reader *r) noexcept nogil:
    return decode_buffer_words(r, False)


cdef int decode_mtbuf_words(Reader *r) noexcept nogil:
    return decode_buffer_words(r, True)


cdef int decode_buffer_12(Reader *r) noexcept nogil:
    return decode_buffer_words(r, bits(r.words[0], 21, 1) != 0)


cdef int decode_vimage_words(Reader *r) noexcept nogil:
    return decode_mimg_12(r, False)


cdef int decode_vsample_words(Reader *r) noexcept nogil:
    return decode_mimg_12(r, True)


cdef int decode_vop3_9(Reader *r) noexcept nogil:
    """GFX8 and GFX9: packed operations lie among the others."""
    return decode_vop3p_words(r) if r.words[0] >> 23 == 0x1a7 and r.level >= gfx9 else decode_vop3_words(r)


cdef int decode_packed_10(Reader *r) noexcept nogil:
    return decode_vop3p_words(r) if r.words[0] >> 24 == 0xcc else invalid(r)


cdef int decode_packed_11(Reader *r) noexcept nogil:
    """From GFX11 on, interpolation and parameter loads are beside packed operations."""
    cdef uint32_t top = r.words[0] >> 24
    if top == 0xcd:
        return decode_vinterp_words(r)
    return decode_ldsdir_word(r) if top == 0xce else decode_packed_10(r)


ctypedef int (*WordsDecoder)(Reader *r) noexcept nogil
# By layout (GFX6, GFX8, GFX10, GFX11, GFX12) and the four bits after the first two, which are set: all but vector and scalar ALU.
cdef WordsDecoder wide_words[5][16]


cdef void fill_wide_words() noexcept nogil:
    cdef uint32_t layout, code
    cdef WordsDecoder *row
    for layout in range(5):
        row = wide_words[layout]
        for code in range(16):
            row[code] = invalid
        row[0x6] = decode_ds_words
        row[0x7] = decode_flat_words
        row[0x8] = decode_mubuf_words
        row[0xa] = decode_mtbuf_words
        row[0xc] = decode_mimg_words
        row[0x2] = decode_vintrp_word
    wide_words[0][0x0] = wide_words[0][0x1] = decode_smrd_word
    wide_words[0][0x4] = decode_vop3_words
    wide_words[0][0xe] = decode_exp_words
    row = wide_words[1]
    row[0x0] = decode_smem_words
    row[0x1] = decode_exp_words
    row[0x2] = invalid
    row[0x4] = decode_vop3_9
    row[0x5] = decode_vintrp_word
    for layout in range(2, 5):
        row = wide_words[layout]
        row[0x5] = decode_vop3_words
        row[0xd] = decode_smem_words
        row[0xe] = decode_exp_words
    wide_words[2][0x3] = decode_packed_10
    wide_words[3][0x3] = wide_words[4][0x3] = decode_packed_11
    wide_words[3][0x2] = wide_words[4][0x2] = decode_vopd_words
    row = wide_words[4]
    row[0x7] = row[0x8] = row[0xa] = row[0xc] = invalid
    row[0x1] = decode_buffer_12
    row[0x4] = decode_vimage_words
    row[0x9] = decode_vsample_words
    row[0xb] = decode_flat_words

fill_wide_words()


cdef inline uint32_t layout_of(uint32_t gfx_level) noexcept nogil:
    return (gfx_level >= gfx8) + (gfx_level >= gfx10) + (gfx_level >= gfx11) + (gfx_level >= gfx12)


cdef int decode(const uint32_t *words, uint32_t available, uint32_t gfx_level, Decoded *out) noexcept nogil:
    cdef Reader r
    cdef uint32_t head = words[0] >> 26
    r.words = words
    r.available = available
    r.level = gfx_level
    r.generation = isa_generation(gfx_level)
    r.length = 1
    r.out = out
    out.source_count = 0
    out.destination_count = 0
    out.has_literal = 0
    out.literal = 0
    out.immediate = 0
    out.modifiers = 0
    if head < 0x20:
        return decode_vector(&r)
    if head < 0x30:
        return decode_scalar(&r)
    return wide_words[layout_of(gfx_level)][head & 15](&r)
