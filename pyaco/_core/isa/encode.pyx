"""Encoder of one instruction, the inverse of the decoder.

``encode`` serves the assembler of compiled programs (``aco/encode.pyx``) and the text assembler alike. Field positions:
AMD "Vega", "RDNA 2", "RDNA 3" and "RDNA 4" ISA documents, chapter "Microcode formats".
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint64_t

from isa_opcodes cimport *
from isa_tables cimport (image_flag_atomic, image_flag_bvh, image_flag_gather, image_flag_packed, image_flag_sampler, image_flag_tensor,
                         implicit_exec,
                         isa_opcode_number, isa_variant, opcode_definition_count, opcode_flag_atomic, opcode_flag_interpolation, opcode_flag_literal,
                         opcode_flag_matrix, opcode_flag_no_address, opcode_flag_tied, opcode_flag_two_offsets, opcode_image, opcode_latency,
                         opcode_constant_bits, opcode_mask_class, latency_wmma, image_flag_lod, variant_dpp16, variant_dpp8, variant_e64,
                         variant_e64_dpp16, variant_e64_dpp8, variant_sdwa, opcode_flags, opcode_format, opcode_implicit_definitions,
                         opcode_number_wide, opcode_number_y, opcode_operand_count)
from modifiers cimport *
from pyaco._core.common.machine cimport *
from pyaco._core.isa.decode cimport (adds_to_result, exchanged_code, first_typed_number, image_address_dwords, literal_code, no_address_code,
                                     synchronises_globally,
                                     wide_literal_code)

cdef enum:
    valu_one_dword = format_vop1 | format_vop2 | format_vopc


# The words being written; `failed` keeps the first thing that did not fit.
cdef struct Writer:
    const Decoded *d
    uint32_t *out
    uint32_t level
    uint32_t length
    bint stray_bits                   # fields that do not count hold what ACO leaves in them
    bint accumulation                 # data registers seen: AGPRs, VGPRs
    bint vectors
    int failed


cdef inline void fail(Writer *w, int code) noexcept nogil:
    if w.failed == 0:
        w.failed = code


cdef inline bint plain_layout(const Writer *w) noexcept nogil:
    """GFX6, GFX7 and GFX10 to GFX11.5 share the positions of several fields that GFX8 and GFX9 moved."""
    return w.level < gfx8 or w.level >= gfx10


cdef inline uint32_t code_of(Writer *w, uint16_t address, uint32_t width) noexcept nogil:
    """The operand code of a byte address in a field of `width` bits."""
    cdef uint32_t code = address >> 2
    if code >= 1U << width:
        fail(w, encode_bad_operand)
        return 0
    return exchanged_code(w.level, code)


cdef inline uint32_t scalar_code(Writer *w, uint16_t address) noexcept nogil:
    """A register or constant in an 8-bit scalar field."""
    if address >= register_vgpr0:
        fail(w, encode_bad_operand)
    return code_of(w, address, 8)


cdef inline uint32_t sgpr_code(Writer *w, uint16_t address) noexcept nogil:
    """A register in a 7-bit scalar field."""
    return code_of(w, address, 7)


cdef inline uint32_t vgpr_code(Writer *w, uint16_t address) noexcept nogil:
    """A register in an 8-bit vector field. An absent one is zero, or the low bits of the constant 0 as ACO leaves it."""
    if address == register_none:
        return 0
    if address == absent:
        return 0x80 if w.stray_bits else 0
    if address < register_vgpr0 or address >= 512 * 4:
        fail(w, encode_bad_operand)
    return (address >> 2) & 0xff


cdef inline bint _has_agprs(const Writer *w) noexcept nogil:
    return gfx908 <= w.level < gfx10


cdef inline bint is_agpr(uint16_t address) noexcept nogil:
    return register_agpr0 <= address < register_agpr0 + 256 * 4


cdef inline uint32_t agpr_code(Writer *w, uint16_t address) noexcept nogil:
    """An accumulation register of CDNA in an 8-bit field."""
    if not is_agpr(address) or not _has_agprs(w):
        fail(w, encode_bad_operand)
    return (address >> 2) & 0xff


cdef inline uint32_t vector_code(Writer *w, uint16_t address) noexcept nogil:
    """A register of either file of CDNA; a bit elsewhere says which."""
    return agpr_code(w, address) if is_agpr(address) else vgpr_code(w, address)


cdef uint32_t data_code(Writer *w, uint16_t address) noexcept nogil:
    """A data register of a memory access: any since CDNA 2, but all of one file."""
    if is_agpr(address) and w.level >= gfx90a:
        w.accumulation = True
        return agpr_code(w, address)
    w.vectors = w.vectors or not is_absent(address)
    return vgpr_code(w, address)


cdef uint32_t accumulation_bit(Writer *w) noexcept nogil:
    if w.accumulation and w.vectors:
        fail(w, encode_bad_operand)
    return w.accumulation


cdef inline uint16_t source(Writer *w, uint32_t position) noexcept nogil:
    if position >= w.d.source_count:
        fail(w, encode_bad_operand)
        return 0
    return w.d.source[position]


cdef inline bint is_absent(uint16_t address) noexcept nogil:
    return address == register_none or address == absent


cdef inline uint16_t source_or_none(Writer *w, uint32_t position) noexcept nogil:
    return w.d.source[position] if position < w.d.source_count else <uint16_t>register_none


cdef inline uint16_t destination(Writer *w, uint32_t position) noexcept nogil:
    if position >= w.d.destination_count:
        fail(w, encode_bad_operand)
        return register_vgpr0
    return w.d.destination[position]


cdef inline void put(Writer *w, uint32_t word) noexcept nogil:
    w.out[w.length] = word
    w.length += 1


cdef inline bint is_cmpx(uint32_t opcode) noexcept nogil:
    return (opcode_implicit_definitions[opcode] & implicit_exec) != 0


cdef inline bint swaps(uint32_t opcode) noexcept nogil:
    return (opcode == op_v_swap_b32 or opcode == op_v_swap_b16 or opcode == op_v_swaprel_b32
            or opcode == op_v_permlane16_swap_b32 or opcode == op_v_permlane32_swap_b32)


cdef inline bint sends_message(uint32_t opcode) noexcept nogil:
    """The source field is the number of a message."""
    return opcode == op_s_sendmsg_rtn_b32 or opcode == op_s_sendmsg_rtn_b64


cdef inline int32_t simm(Writer *w, uint32_t width) noexcept nogil:
    """The immediate as a signed field."""
    cdef int32_t value = <int32_t>w.d.immediate
    if value < -(1 << (width - 1)) or value >= 1 << (width - 1):
        fail(w, encode_bad_offset)
    return value & ((1 << width) - 1)


cdef inline uint32_t uimm(Writer *w, uint32_t width) noexcept nogil:
    if w.d.immediate >> width:
        fail(w, encode_bad_offset)
    return w.d.immediate & ((1U << width) - 1)


include "encode_scalar.pxi"
include "encode_vector.pxi"
include "encode_memory.pxi"
include "kept_words.pxi"


# -------------------------------------------------------------------------------------------------------------- dispatch
cdef inline bint _names(const Decoded *d, uint32_t code) noexcept nogil:
    """Whether a source has this code."""
    cdef uint32_t i
    for i in range(d.source_count):
        if d.source[i] == code * 4:
            return True
    return False


cdef void _put_literal(Writer *w) noexcept nogil:
    cdef const Decoded *d = w.d
    cdef bint named = _names(d, literal_code) or (d.format == format_vopd and _vopd_needs_literal(d))
    if w.level >= gfx12_5 and _names(d, wide_literal_code):
        _put_wide_literal(w, named)
        return
    if not named:
        return
    if w.level >= gfx12_5 and opcode_flags[d.opcode] & opcode_flag_literal and operand_class(d.opcode, 2) == class_v2:
        # these have two dwords always
        fail(w, encode_bad_literal)
    if d.format & (format_dpp16 | format_dpp8 | format_sdwa) or (d.format & (format_vop3 | format_vop3p) and w.level < gfx10):
        fail(w, encode_bad_literal)
    put(w, d.literal)


cdef void _put_wide_literal(Writer *w, bint beside_another) noexcept nogil:
    """Two dwords (GFX12.5), which no other literal and no long form goes with."""
    if beside_another or w.d.format & (format_vop3 | format_vop3p | format_dpp16 | format_dpp8):
        fail(w, encode_bad_literal)
    put(w, w.d.literal)
    put(w, w.d.immediate)


cdef bint _vopd_needs_literal(const Decoded *d) noexcept nogil:
    cdef uint32_t second = modifier_vopd_opcode_y(d.modifiers)
    return (d.opcode == op_v_dual_fmaak_f32 or d.opcode == op_v_dual_fmamk_f32
            or second == op_v_dual_fmaak_f32 or second == op_v_dual_fmamk_f32)


cdef int encode(const Decoded *instruction, uint32_t gfx_level, uint32_t *out) noexcept nogil:
    return encode_in_context(instruction, gfx_level, out, False)


cdef int encode_in_context(const Decoded *instruction, uint32_t gfx_level, uint32_t *out,
                           bint stray_bits) noexcept nogil:
    cdef Writer w
    cdef int32_t number
    cdef uint32_t format = instruction.format
    cdef uint32_t base = format & format_base_mask
    w.d = instruction
    w.out = out
    w.level = gfx_level
    w.length = 0
    w.stray_bits = stray_bits
    w.accumulation = False
    w.vectors = False
    w.failed = 0
    if instruction.opcode >= op_count:
        return encode_no_opcode
    number = isa_opcode_number(gfx_level, instruction.opcode, format)
    if number < 0 and format != (format_vopd | format_vop3):
        return encode_no_opcode
    if base == format_vopd:
        if format == (format_vopd | format_vop3):
            encode_vopd3(&w)
        else:
            encode_vopd(&w, <uint32_t>number)
    elif format & (format_vop3 | valu_one_dword):
        # the format's native bits must be those of the opcode, or of its second encoding in this generation
        if format & format_vop3 and (base == format_vintrp or opcode_flags[instruction.opcode] & opcode_flag_interpolation):
            encode_vop3_interpolation(&w, <uint32_t>number)
        elif format & format_vop3:
            encode_vop3(&w, <uint32_t>number)
        elif number < 0x100:
            encode_vop_short(&w, <uint32_t>number)
        else:
            return encode_bad_format
    elif format & format_vop3p:
        encode_vop3p(&w, <uint32_t>number)
    elif format != opcode_format[instruction.opcode]:
        return encode_bad_format
    elif format_sop1 <= base <= format_sopc:
        encode_salu(&w, base, <uint32_t>number)
    elif base == format_smem:
        encode_smem(&w, <uint32_t>number)
    elif base == format_ds:
        encode_ds(&w, <uint32_t>number)
    elif base == format_mubuf or base == format_mtbuf:
        encode_buffer(&w, base == format_mtbuf, <uint32_t>number)
    elif format_is_flat_like(<uint16_t>base):
        encode_flat(&w, base, <uint32_t>number)
    elif base == format_mimg:
        encode_mimg(&w, <uint32_t>number)
    elif base == format_exp:
        encode_exp(&w)
    elif base == format_ldsdir:
        encode_ldsdir(&w, <uint32_t>number)
    elif base == format_vintrp:
        encode_vintrp(&w, <uint32_t>number)
    elif base == format_vinterp_inreg:
        encode_vinterp(&w, <uint32_t>number)
    else:
        return encode_bad_format
    _put_literal(&w)
    return w.failed if w.failed else <int>w.length


cdef inline bint _is_scalar_read(uint16_t address) noexcept nogil:
    """Whether a source is a scalar register or a literal."""
    cdef uint32_t code = address >> 2
    return not (code >= 256 or 128 <= code <= 208 or 240 <= code <= 248 or code == register_null >> 2 or code == 254)


cdef bint scalar_reads_fit(const Decoded *instruction, uint32_t gfx_level) noexcept nogil:
    cdef const Decoded *d = instruction
    cdef uint32_t limit = 1 if gfx_level < gfx10 else 2
    cdef uint32_t count = 0
    cdef uint32_t i, k
    cdef bint seen, special
    if not format_is_valu(d.format) or d.format & format_base_mask == format_vopd:
        return True
    for i in range(d.source_count):
        count += _is_scalar_read(d.source[i])
    if count <= 1:
        # one always fits
        return True
    count = 0
    if d.opcode == op_v_lshlrev_b64 or d.opcode == op_v_lshrrev_b64 or d.opcode == op_v_ashrrev_i64:
        limit = 1
    if opcode_definition_count[d.opcode] and not class_is_vgpr(definition_class(d.opcode, 0)) \
            and definition_class(d.opcode, 0) != 0xff:
        # lane reads and scalar transcendental functions have rules of their own
        return True
    if d.opcode == op_v_permlane16_b32 or d.opcode == op_v_permlanex16_b32:
        return True
    if d.opcode == op_v_writelane_b32 or d.opcode == op_v_writelane_b32_e64:
        # m0 as the lane is free
        limit += d.source[1] == register_m0
    if (d.opcode == op_v_div_fmas_f32 or d.opcode == op_v_div_fmas_f64) and gfx_level >= gfx10:
        # it reads vcc as well
        count = 1
        for i in range(d.source_count):
            if d.source[i] == register_vcc:
                count = 0
    for i in range(d.source_count):
        if not _is_scalar_read(d.source[i]):
            continue
        special = 208 < d.source[i] >> 2 < 255
        seen = False
        for k in range(i):
            # special registers have one name whatever the width of the operand
            seen = seen or (d.source[k] == d.source[i]
                            and (special or (d.source_bytes[k] + 3) >> 2 == (d.source_bytes[i] + 3) >> 2))
        count += not seen
    return count <= limit


cdef uint32_t _variant_form(uint32_t format) noexcept nogil:
    """The form of ``isa_variant`` for a format; variant_e64 for the long forms without lane control."""
    if format & (format_vop3 | format_vop3p):
        return variant_e64_dpp16 if format & format_dpp16 else variant_e64_dpp8 if format & format_dpp8 else variant_e64
    if format & format_sdwa:
        return variant_sdwa
    return variant_dpp16 if format & format_dpp16 else variant_dpp8 if format & format_dpp8 else variant_e64


cdef bint form_has_clamp(const Decoded *instruction, uint32_t gfx_level) noexcept nogil:
    if instruction.format & format_sdwa and instruction.format & format_vopc:
        return gfx_level < gfx9
    return instruction.format & (format_vop3 | format_vop3p | format_sdwa) != 0 \
        and isa_variant(gfx_level, instruction.opcode, _variant_form(instruction.format)) >> 13 & 1


cdef bint form_has_omod(const Decoded *instruction, uint32_t gfx_level) noexcept nogil:
    return instruction.format & (format_vop3 | format_sdwa) != 0 \
        and isa_variant(gfx_level, instruction.opcode, _variant_form(instruction.format)) >> 14 & 1


cdef bint _ray_fits(const Decoded *d, uint32_t gfx_level) noexcept nogil:
    """Rays have fixed modifiers but a16, which those of GFX12 do not take."""
    cdef uint64_t m = d.modifiers
    if d.opcode != op_image_bvh_dual_intersect_ray and d.opcode != op_image_bvh8_intersect_ray:
        m = modifier_set_a16(m, 0)
    if gfx_level < gfx12:
        if not modifier_unrm(m):
            return False
        m = modifier_set_unrm(m, 0)
    return modifier_dmask(m) == 15 and modifier_r128(m) != 0 and modifier_set_dmask(modifier_set_r128(m, 0), 0) == 0


cdef bint _image_fits(const Decoded *d, uint32_t gfx_level) noexcept nogil:
    """Rules of assemblers for images: what dmask and dim may be beside the opcode, and how many addresses are named."""
    cdef uint64_t m = d.modifiers
    cdef uint32_t flags = opcode_image[d.opcode]
    cdef uint32_t mask = modifier_dmask(m)
    cdef bint half_precision = modifier_d16(m) != 0
    cdef bint untyped = (flags & (image_flag_packed | image_flag_atomic)) != 0 or d.opcode == op_image_get_lod or d.opcode == op_image_get_resinfo
    if flags & image_flag_bvh:
        return _ray_fits(d, gfx_level)
    if half_precision and untyped:
        return False
    if flags & image_flag_gather and half_precision and modifier_image_tfe(m):
        return False
    if d.opcode == op_image_msaa_load and modifier_dim(m) < 6:
        return False
    if gfx_level >= gfx10 and modifier_dim(m) == 7 and flags & (image_flag_lod | image_flag_sampler) \
            and image_address_dwords(d.opcode, 7, modifier_a16(m), gfx_level) > image_address_dwords(d.opcode, 2, False, gfx_level):
        # more coordinates than the opcode takes
        return False
    if gfx10 <= gfx_level < gfx11 and d.source_count > 4 \
            and d.source_count != 3 + image_address_dwords(d.opcode, modifier_dim(m), modifier_a16(m), gfx_level):
        return False
    if flags & image_flag_gather or (d.opcode == op_image_msaa_load and gfx_level >= gfx11):
        return mask != 0 and mask & (mask - 1) == 0
    if flags & image_flag_atomic:
        if d.opcode == op_image_atomic_cmpswap or d.opcode == op_image_atomic_fcmpswap:
            return mask == 3 or mask == 15
        return mask == 1 or mask == 3
    return True


cdef inline bint _returns_nothing(const Decoded *d, uint32_t gfx_level) noexcept nogil:
    """Whether an atomic asks for a result that it does not have: floating-point ones of CDNA 1 ("CDNA 1 ISA", memory opcodes)."""
    cdef uint32_t op = d.opcode
    return gfx_level == gfx908 and modifier_cache_glc(d.modifiers) and (
        op == op_buffer_atomic_add_f32 or op == op_buffer_atomic_pk_add_f16 or op == op_global_atomic_add_f32 or op == op_global_atomic_pk_add_f16)


cdef bint _buffer_fits(const Decoded *d, uint32_t gfx_level) noexcept nogil:
    """An offset is no literal, atomics do not report faults, and few loads go to LDS."""
    cdef uint64_t m = d.modifiers
    cdef uint32_t op = d.opcode
    if d.source_count > 2 and (d.source[2] == 255 * 4 or d.source[2] == 254 * 4):
        return False
    if modifier_tfe(m) and (opcode_flags[op] & opcode_flag_atomic or modifier_lds(m)):
        return False
    if gfx10 <= gfx_level < gfx11 and modifier_cache_dlc(m) and opcode_flags[op] & opcode_flag_atomic:
        # assemblers lose dlc here
        return False
    if _returns_nothing(d, gfx_level):
        return False
    if gfx_level == gfx950 and (op == op_buffer_load_dwordx3 or op == op_buffer_load_dwordx4):
        return True
    return (not modifier_lds(m) or op == op_buffer_store_lds_dword or op == op_buffer_load_dword or op == op_buffer_load_format_x
            or op == op_buffer_load_ubyte or op == op_buffer_load_sbyte or op == op_buffer_load_ushort or op == op_buffer_load_sshort)


cdef inline bint _loads_to_lds(uint32_t op) noexcept nogil:
    return (op == op_global_load_ubyte or op == op_global_load_sbyte or op == op_global_load_ushort or op == op_global_load_sshort
            or op == op_global_load_dword or op == op_scratch_load_ubyte or op == op_scratch_load_sbyte or op == op_scratch_load_ushort
            or op == op_scratch_load_sshort or op == op_scratch_load_dword)


cdef bint _memory_fits(const Decoded *d, uint32_t gfx_level) noexcept nogil:
    """Rules of assemblers for scalar, flat and LDS memory."""
    cdef uint64_t m = d.modifiers
    cdef uint32_t format = d.format
    cdef uint16_t data
    if format == format_smem:
        if d.opcode == op_s_atc_probe or d.opcode == op_s_atc_probe_buffer or d.opcode == op_s_dcache_discard or d.opcode == op_s_dcache_discard_x2:
            # what others have as their data is a number, of five bits on GFX12 as LLVM has it
            return (modifier_set_offen(m, 0) == 0 or gfx_level >= gfx12_5) and (gfx_level < gfx12 or d.source[2] < 32 * 4)
        data = d.destination[0] if d.destination_count else d.source[2] if d.source_count > 2 else <uint16_t>0
        if data == register_m0 or data == register_exec or data == register_exec + 4:
            return False
        return d.destination_count != 0 or not gfx12 <= gfx_level < gfx12_5 or modifier_cache_scope(m) | modifier_cache_temporal_hint(m) == 0
    if format == format_ds:
        if d.opcode == op_ds_nop:
            return d.immediate == 0 and not modifier_gds(m)
        if synchronises_globally(d.opcode) and gfx90a <= gfx_level < gfx10:
            # one register, which is even all the same
            return d.source[0] & 4 == 0
        if d.opcode == op_ds_add_gs_reg_rtn or d.opcode == op_ds_sub_gs_reg_rtn:
            return modifier_gds(m) != 0
        return not modifier_gds(m) or not (d.opcode == op_ds_permute_b32 or d.opcode == op_ds_bpermute_b32 or d.opcode == op_ds_bvh_stack_rtn_b32)
    if _returns_nothing(d, gfx_level):
        return False
    if modifier_lds(m):
        return format != format_flat and _loads_to_lds(d.opcode)
    if (format == format_scratch and gfx_level < gfx10_3 and not gfx942 <= gfx_level < gfx10
            and d.source[0] == register_none and d.source[1] == register_none):
        # no address of either kind: later chips alone
        return False
    if format == format_scratch and gfx_level < gfx11 and d.source_count > 1 and d.source[1] == register_exec + 4:
        # its code means that there is no scalar address
        return False
    if format != format_global or opcode_flags[d.opcode] & opcode_flag_no_address \
            or (gfx9 < gfx_level < gfx10 and d.source_count == 2 and d.destination_count == 0):
        # loads of CDNA into LDS take every scalar address
        return True
    if op_global_load_async_to_lds_b8 <= d.opcode <= op_global_store_async_from_lds_b128 \
            or op_cluster_load_async_to_lds_b8 <= d.opcode <= op_cluster_load_async_to_lds_b128:
        # and those of GFX12.5 beside other work
        return True
    return d.source_count < 2 or d.source[1] != register_exec


cdef bint _export_fits(const Decoded *d) noexcept nogil:
    """Text has no register for a disabled component."""
    cdef uint32_t i
    cdef bint compressed = modifier_exp_compressed(d.modifiers) != 0
    for i in range(4):
        if compressed and i > 1 and i < d.source_count and d.source[i] != register_vgpr0:
            return False
        if not compressed and not modifier_exp_enabled_mask(d.modifiers) >> i & 1 \
                and i < d.source_count and d.source[i] != register_vgpr0:
            return False
    return True


include "source_rules.pxi"


cdef bint _scalar_fits(const Decoded *d, uint32_t gfx_level) noexcept nogil:
    """Branches to registers, moves with an index and barriers take no constants of every kind."""
    cdef uint32_t op = d.opcode
    cdef uint32_t i
    cdef uint16_t address = d.source[0] if d.source_count else <uint16_t>0
    for i in range(d.source_count):
        if d.source[i] == 254 * 4 and gfx_level < gfx11:
            # LDS directly is for vector instructions
            return False
    if op == op_s_movrels_b64:
        return address < 128 * 4
    if op == op_s_movrels_b32 and 235 * 4 <= address <= 238 * 4:
        return False
    if op == op_s_setpc_b64 or op == op_s_rfe_b64 or op == op_s_movrels_b32 or op == op_s_cbranch_join:
        return not (128 * 4 <= address <= 208 * 4 or 240 * 4 <= address <= 248 * 4 or address == 255 * 4) \
            and (address < 128 * 4 or gfx_level >= gfx8 or op == op_s_cbranch_join)
    if op == op_s_cbranch_g_fork:
        return not d.has_literal
    if op == op_s_barrier_signal or op == op_s_barrier_signal_isfirst or op == op_s_get_barrier_state or op == op_s_barrier_init \
            or op == op_s_barrier_join or op == op_s_wakeup_barrier:
        return address == register_m0 or 128 * 4 <= address <= 208 * 4 or 240 * 4 <= address <= 248 * 4
    return True


cdef bint _registers_exist(const Decoded *d, uint32_t gfx_level) noexcept nogil:
    """GFX6 has no scalar registers beyond s103 but vcc."""
    cdef uint32_t i
    if gfx_level >= gfx7:
        return True
    for i in range(d.source_count):
        if 104 * 4 <= d.source[i] < register_vcc:
            return False
    for i in range(d.destination_count):
        if 104 * 4 <= d.destination[i] < register_vcc:
            return False
    return True


cdef inline const char *_error_unless(bint good, const char *error) noexcept nogil:
    if good:
        return NULL
    return error


cdef inline bint _same_bank(uint16_t first, uint16_t second, uint32_t banks) noexcept nogil:
    """Whether two operands are VGPRs of one bank."""
    if first < register_vgpr0 or second < register_vgpr0 or first == register_none or second == register_none:
        return False
    return ((first >> 2) ^ (second >> 2)) & (banks - 1) == 0


cdef uint16_t _dual_addend(const Decoded *d, uint32_t opcode, uint32_t half) noexcept nogil:
    """The third VGPR that a half of VOPD reads."""
    if opcode == op_v_dual_fmac_f32 or opcode == op_v_dual_dot2acc_f32_f16 or opcode == op_v_dual_dot2acc_f32_bf16:
        return d.destination[half]
    return d.source[2 * half + 1] if opcode == op_v_dual_fmamk_f32 else <uint16_t>register_none


cdef const char *_dual_error(const Decoded *d, uint32_t gfx_level) noexcept nogil:
    """VGPR banks and scalar reads of the two halves ("RDNA 3 ISA", "RDNA 4 ISA", VOPD restrictions)."""
    cdef uint32_t second = modifier_vopd_opcode_y(d.modifiers)
    # two moves of GFX12 read what they like
    cdef bint moves = gfx_level >= gfx11_7 and d.opcode == op_v_dual_mov_b32 and second == op_v_dual_mov_b32
    cdef uint16_t x = d.source[1] if d.opcode != op_v_dual_fmamk_f32 else <uint16_t>register_none
    cdef uint16_t y = d.source[3] if second != op_v_dual_fmamk_f32 else <uint16_t>register_none
    cdef uint32_t scalars = 0
    cdef uint32_t i, code
    cdef bint again = gfx_level >= gfx12_5        # the same register may be read by both halves
    if _same_bank(d.source[0], d.source[2], 4) and not moves and not (again and d.source[0] == d.source[2]):
        return b"the first sources of both halves must lie in different VGPR banks (number modulo 4)"
    if _same_bank(x, y, 4) and not (again and x == y):
        return b"the second sources of both halves must lie in different VGPR banks (number modulo 4)"
    if _same_bank(_dual_addend(d, d.opcode, 0), _dual_addend(d, second, 1), 2):
        return b"the addends of both halves must lie in different VGPR banks (number modulo 2)"
    for i in range(0, 4, 2):
        code = d.source[i] >> 2
        if ((code < 128 and code != register_null >> 2) or 208 < code < 240 or 248 < code < 255) and not (i == 2 and d.source[0] == d.source[2]):
            scalars += 1
    if d.opcode == op_v_dual_cndmask_b32 or second == op_v_dual_cndmask_b32:
        scalars += 1
    return _error_unless(scalars + d.has_literal <= 2, b"a dual instruction reads two scalars at most, the literal being one")


cdef inline bint _same_bank_but_not_register(uint16_t first, uint32_t first_dwords, uint16_t second, uint32_t second_dwords) noexcept nogil:
    """Whether two operands lie in one of four banks in part, and are not the same registers."""
    cdef uint32_t i, k
    if first < register_vgpr0 or second < register_vgpr0 or first == register_none or second == register_none:
        return False
    if first == second and first_dwords == second_dwords:
        return False
    for i in range(first_dwords):
        for k in range(second_dwords):
            if (((first >> 2) + i) ^ ((second >> 2) + k)) & 3 == 0:
                return True
    return False


cdef const char *_wide_dual_error(const Decoded *d) noexcept nogil:
    """VGPR banks, results and scalar reads of the halves of VOPD3 (LLVM's VOPD3_VGPR_BANK_MASKS)."""
    cdef uint32_t second = modifier_vopd_opcode_y(d.modifiers)
    cdef uint32_t width = 2 if _is_double(d.opcode) else 1
    cdef uint32_t seen = 0, i, k
    # two moves read what they like
    cdef bint moves = d.opcode == op_v_dual_mov_b32 and second == op_v_dual_mov_b32
    cdef uint16_t first_addend = d.destination[0] if adds_to_result(d.opcode) else d.source[2]
    cdef uint16_t second_addend = d.destination[1] if adds_to_result(second) else d.source[5]
    if d.destination[0] == d.destination[1] or (width == 2 and d.destination[1] == d.destination[0] + 4):
        return b"the halves of a dual instruction have different results"
    if (not moves and _same_bank_but_not_register(d.source[0], width, d.source[3], 1)) \
            or _same_bank_but_not_register(d.source[1], width, d.source[4], 1) or _same_bank_but_not_register(first_addend, width, second_addend, 1):
        return b"the sources of both halves must lie in different VGPR banks (number modulo 4)"
    for i in range(6):
        k = d.source[i] >> 2
        if d.source[i] == register_none or k >= 256 or 128 <= k <= 208 or 240 <= k <= 248 or k == register_null >> 2:
            continue
        seen += 1
        for k in range(i):
            if d.source[k] == d.source[i]:
                seen -= 1
                break
    return _error_unless(seen <= 2, b"a dual instruction reads two scalars at most")


cdef bint _is_double(uint32_t opcode) noexcept nogil:
    """Whether an operand of a vector instruction has 64 bits."""
    cdef uint32_t i
    for i in range(opcode_operand_count[opcode]):
        if operand_class(opcode, i) == class_v2:
            return True
    return opcode_definition_count[opcode] != 0 and definition_class(opcode, 0) == class_v2


cdef bint _packed_singles_fit(const Decoded *d) noexcept nogil:
    """Packed operations of 32 bits: scalar registers are read once, for both halves (GFX12.5). Assemblers overlook ttmp and null."""
    cdef uint32_t i, code
    if d.opcode != op_v_pk_fma_f32 and d.opcode != op_v_pk_mul_f32 and d.opcode != op_v_pk_add_f32:
        return True
    for i in range(min(<uint32_t>d.source_count, 3)):
        code = d.source[i] >> 2
        if (code < 108 or 126 <= code < 128 or 235 <= code < 240 or 251 <= code < 254) \
                and (modifier_opsel(d.modifiers) | modifier_opsel_hi(d.modifiers)) >> i & 1:
            return False
    return True


cdef const char *form_error(const Decoded *instruction, uint32_t gfx_level, bint halves) noexcept nogil:
    cdef uint32_t format = instruction.format
    if not _registers_exist(instruction, gfx_level):
        return b"GFX6 has no registers s104 and s105"
    if format_is_valu(format) or format & format_base_mask == format_vinterp_inreg or format & format_base_mask == format_vintrp:
        if format == format_vopd:
            return _dual_error(instruction, gfx_level)
        if format == (format_vopd | format_vop3):
            return _wide_dual_error(instruction)
        if (gfx90a <= gfx_level < gfx10 and format & format_dpp16 and _is_double(instruction.opcode)
                and modifier_dpp_ctrl(instruction.modifiers) & 0x1f0 != 0x150):
            return b"64-bit operations take row_newbcast and no other lane control"
        if gfx_level == gfx12_51 and format & format_dpp16 and modifier_dpp_ctrl(instruction.modifiers) & 0x1f0 != 0x150 \
                and isa_variant(gfx12_5, instruction.opcode, _variant_form(format)) == 0:
            return b"operations that gfx1250 has without lane control take row_share alone"
        if gfx_level >= gfx12_5 and not _packed_singles_fit(instruction):
            return b"of a pair of scalar registers both halves read the first one, which op_sel and op_sel_hi have to say"
        if not _sources_fit(instruction, gfx_level):
            return b"a source is of a kind that this instruction does not take there"
        return _variant_error(_variant_misfit(instruction, gfx_level, halves))
    if format == format_mimg:
        return _error_unless(_image_fits(instruction, gfx_level), b"this opcode does not go with such a dmask, dim, number of addresses, d16 or tfe")
    if format == format_mubuf or format == format_mtbuf:
        return _error_unless(_buffer_fits(instruction, gfx_level), b"this opcode does not go with a literal offset, tfe or lds")
    if format == format_exp:
        return _error_unless(_export_fits(instruction), b"channels that are off have no register")
    if format == format_smem or format == format_ds or format_is_flat_like(<uint16_t>format):
        return _error_unless(_memory_fits(instruction, gfx_level), b"this opcode does not go with such a register, offset or modifier")
    return _error_unless(_scalar_fits(instruction, gfx_level), b"the source has to be a register here")


cdef bint takes_any_source(const Decoded *instruction) noexcept nogil:
    cdef uint32_t op = instruction.opcode
    cdef uint32_t i
    if format_sop1 <= instruction.format <= format_sopc:
        return op != op_s_movrels_b32 and op != op_s_movrels_b64 and op != op_s_get_barrier_state
    if rules_of_sources[op]:
        return False
    for i in range(opcode_operand_count[op]):
        if not class_is_vgpr(operand_class(op, i)) or operand_class(op, i) == opcode_mask_class:
            return False
    return True


cdef const char *_variant_error(uint32_t misfit) noexcept nogil:
    """What `variant_misfit` means."""
    if misfit == 0:
        return NULL
    if misfit & 0x8000:
        return b"the opcode has no such encoding"
    if misfit & 0x7:
        return b"a source takes no neg here"
    if misfit & 0x38:
        return b"a source takes no abs (or neg_hi) here"
    if misfit & 0x3c0:
        return b"the opcode takes no such op_sel"
    if misfit & 0x1c00:
        return b"a source takes no sext (or op_sel_hi) here"
    if misfit & 0x2000:
        return b"the opcode takes no clamp here"
    return b"the opcode takes no output modifier here"


cdef uint32_t _half_bits(uint32_t opcode) noexcept nogil:
    """Bits of op_sel, from bit 6, of registers that have halves."""
    cdef uint32_t bits = 0, i
    for i in range(opcode_operand_count[opcode]):
        if i < 3 and operand_class(opcode, i) == class_v2b:
            bits |= 0x40U << i
    if opcode_definition_count[opcode] and definition_class(opcode, 0) == class_v2b:
        bits |= 0x200
    return bits


cdef uint32_t _variant_misfit(const Decoded *instruction, uint32_t gfx_level, bint halves) noexcept nogil:
    """The modifiers that the opcode does not take in this form, in the bits of ``isa_variant``; bit 15: it has no such form."""
    cdef uint32_t format = instruction.format
    cdef uint64_t m = instruction.modifiers
    cdef uint32_t allowed, given, i, neg, magnitude
    cdef bint mixes
    if format == format_vinterp_inreg:
        allowed = isa_variant(gfx_level, instruction.opcode, variant_e64)
        return (<uint32_t>modifier_opsel(m) << 6) & ~allowed & ~(_half_bits(instruction.opcode) if halves else 0)
    if not format & (format_vop3 | format_vop3p | format_dpp16 | format_dpp8 | format_sdwa) \
            or opcode_flags[instruction.opcode] & opcode_flag_matrix:
        # the short forms, and matrix operations of CDNA, whose modifiers are their own
        return 0
    if opcode_format[instruction.opcode] == format_vintrp and modifier_interp_high(m):
        return 0x8000
    allowed = isa_variant(gfx_level, instruction.opcode, _variant_form(format))
    given = 1U << 15
    if m == 0 and not format & format_vop3p:
        # most instructions; of packed ones op_sel_hi is set
        return given & ~allowed
    if not format & format_dpp8 or format & (format_vop3 | format_vop3p):
        neg = <uint32_t>modifier_neg(m)
        magnitude = <uint32_t>(modifier_neg_hi(m) if format & format_vop3p else modifier_abs(m))
        if opcode_flags[instruction.opcode] & opcode_flag_interpolation or opcode_format[instruction.opcode] == format_vintrp:
            # the field of the first source is the second one
            neg, magnitude = neg << 1 & 7, magnitude << 1 & 7
        given |= neg | magnitude << 3
    if format & (format_vop3 | format_vop3p) or (format & format_sdwa and not format & format_vopc):
        given |= <uint32_t>modifier_clamp(m) << 13
    if format & format_vop3p:
        mixes = instruction.opcode == op_v_fma_mix_f32_bf16 or instruction.opcode == op_v_fma_mixlo_bf16 or instruction.opcode == op_v_fma_mixhi_bf16
        mixes |= instruction.opcode == op_v_fma_mix_f32 or instruction.opcode == op_v_fma_mixlo_f16 or instruction.opcode == op_v_fma_mixhi_f16
        for i in range(min(<uint32_t>instruction.source_count, 3)):
            given |= ((<uint32_t>modifier_opsel_hi(m) >> i & 1) ^ (not mixes)) << (10 + i)
    elif format & (format_vop3 | format_sdwa):
        given |= (modifier_omod(m) != 0) << 14
    if format & (format_vop3 | format_vop3p):
        given |= <uint32_t>(modifier_opsel(m) & (7 if format & format_vop3p else 15)) << 6
        if halves and _half_bits(instruction.opcode):
            given &= ~_half_bits(instruction.opcode)
            if gfx_level >= gfx12:
                # op_sel beside names of halves is GFX11's
                allowed |= isa_variant(gfx11, instruction.opcode, _variant_form(format)) & 0x3c0
        if opcode_latency[instruction.opcode] == latency_wmma and gfx_level >= gfx12_5:
            # other modifiers lie where op_sel and op_sel_hi are elsewhere
            given &= 0xa03fU
        if opcode_latency[instruction.opcode] == latency_wmma and opcode_flags[instruction.opcode] & opcode_flag_tied:
            # the index of a sparse matrix, whose limit depends on the wave size
            given &= ~0xc0U
    if format & format_sdwa:
        given |= (modifier_sdwa_sel0(m) >> 4) << 10 | (modifier_sdwa_sel1(m) >> 4) << 11
    return given & ~allowed


cdef const char *encode_error(int code) noexcept nogil:
    if code == encode_no_opcode:
        return b"this gfx level has no such instruction"
    if code == encode_bad_operand:
        return b"a register or constant that its field cannot hold"
    if code == encode_bad_offset:
        return b"an immediate or offset is out of range"
    if code == encode_bad_literal:
        return b"a literal is not possible here"
    if code == encode_bad_bus:
        return b"too many scalar registers and literals for one vector instruction"
    if code == encode_bad_modifier:
        return b"a modifier is not possible here"
    return b"the opcode has no such encoding"
