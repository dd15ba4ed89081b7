# Encoding of LDS, buffers, flat memory, images and exports.
# ------------------------------------------------------------------------------------------------------------------- LDS
cdef void encode_ds(Writer *w, uint32_t number) noexcept nogil:
    cdef const Decoded *d = w.d
    cdef uint32_t word, high, i, field
    word = 0xd8000000U | number << (18 if plain_layout(w) else 17)
    if opcode_flags[d.opcode] & opcode_flag_two_offsets:
        if d.immediate & 0xff00ff00U:
            fail(w, encode_bad_offset)
        word |= (d.immediate & 0xff) | (d.immediate >> 16 & 0xff) << 8
    else:
        word |= uimm(w, 16)
    if modifier_gds(d.modifiers):
        if w.level >= gfx12:
            fail(w, encode_bad_modifier)
        word |= 1U << (17 if plain_layout(w) else 16)
    high = 0
    if opcode_definition_count[d.opcode]:
        high = data_code(w, destination(w, 0)) << 24
    field = 8 if opcode_flags[d.opcode] & opcode_flag_no_address else 0
    for i in range(opcode_operand_count[d.opcode]):
        high |= (data_code(w, source(w, i)) if field or synchronises_globally(d.opcode) else vgpr_code(w, source(w, i))) << field
        field += 8
    word |= accumulation_bit(w) << 25
    put(w, word)
    put(w, high)


cdef void encode_ldsdir(Writer *w, uint32_t number) noexcept nogil:
    cdef uint64_t m = w.d.modifiers
    cdef uint32_t word = 0xce000000U | number << 20 | vgpr_code(w, destination(w, 0))
    word |= modifier_ldsdir_channel(m) << 8 | modifier_ldsdir_attr(m) << 10 | modifier_wait_vdst(m) << 16
    if w.level >= gfx12:
        word |= modifier_wait_vsrc(m) << 23
    put(w, word)


# --------------------------------------------------------------------------------------------------------------- buffers
cdef inline uint16_t _memory_data(Writer *w, uint32_t position) noexcept nogil:
    """The one data register of a buffer access."""
    if w.d.source_count > position:
        return w.d.source[position]
    return w.d.destination[0] if w.d.destination_count else <uint16_t>register_none


cdef inline bint _has_sc1(const Writer *w) noexcept nogil:
    """CDNA 2 and later: a second scope bit, and AGPRs in memory accesses where other generations have TFE."""
    return gfx90a <= w.level < gfx10


cdef void _encode_buffer_cache(Writer *w, uint32_t number) noexcept nogil:
    """Cache instructions, which have no operands."""
    cdef uint64_t m = w.d.modifiers
    cdef uint32_t word = 0xe0000000U | (number & 0xff if w.level >= gfx11 else number & 0x7f) << 18
    if w.level >= gfx12:
        fail(w, encode_no_opcode)
    if _has_sc1(w):
        word |= modifier_cache_glc(m) << 14 | modifier_cache_sc1(m) << 15 | modifier_cache_slc(m) << 17
    put(w, word)
    put(w, 0)


cdef uint32_t _nv_12(Writer *w) noexcept nogil:
    """The bit of a memory access that is not volatile, in its first dword."""
    if modifier_cache_nv(w.d.modifiers) and w.level < gfx12_5:
        fail(w, encode_bad_modifier)
    return modifier_cache_nv(w.d.modifiers) << 7


cdef void _encode_buffer_12(Writer *w, bint typed, uint32_t number, uint32_t vaddr, uint32_t vdata) noexcept nogil:
    cdef uint64_t m = w.d.modifiers
    cdef uint32_t resource = sgpr_code(w, source(w, 0))
    # this generation has no constants here; zero is the null register
    cdef uint32_t soffset = sgpr_code(w, source(w, 2) if source(w, 2) != 128 * 4 else <uint16_t>register_null)
    cdef uint32_t high = vdata | resource << 9 | modifier_cache_scope(m) << 18 | modifier_cache_temporal_hint(m) << 20
    cdef uint32_t first_number = 0
    if typed:
        # GFX13 has no bit for it
        first_number = first_typed_number if w.level >= gfx13 else 0x80
    put(w, 0xc4000000U | (first_number | number) << 14 | soffset | _nv_12(w) | modifier_tfe(m) << 22)
    high |= (modifier_format(m) if typed else 1) << 23 | modifier_offen(m) << 30 | modifier_idxen(m) << 31
    put(w, high)
    put(w, vaddr | <uint32_t>simm(w, 24) << 8)
    if <int32_t>w.d.immediate < 0:
        fail(w, encode_bad_offset)


cdef void _buffer_bits_11(Writer *w, bint typed, uint32_t *number, uint32_t *word, uint32_t *high) noexcept nogil:
    cdef uint64_t m = w.d.modifiers
    word[0] |= modifier_cache_slc(m) << 12 | modifier_cache_dlc(m) << 13
    high[0] |= modifier_tfe(m) << 21 | modifier_offen(m) << 22 | modifier_idxen(m) << 23
    if modifier_lds(m):
        # loads into LDS are opcodes of their own
        if typed or number[0] > 0x14 or 1 <= number[0] < 0x10:
            fail(w, encode_bad_modifier)
        number[0] = 0x32 if number[0] == 0 else number[0] + 0x1d


cdef void _buffer_bits(Writer *w, bint typed, uint32_t *word, uint32_t *high) noexcept nogil:
    """The bits whose positions GFX11 changed."""
    cdef uint64_t m = w.d.modifiers
    word[0] |= modifier_offen(m) << 12 | modifier_idxen(m) << 13
    high[0] |= modifier_tfe(m) << 23
    if _has_sc1(w):
        if modifier_tfe(m):
            fail(w, encode_bad_modifier)
        high[0] |= accumulation_bit(w) << 23
        if typed:
            high[0] |= modifier_cache_sc1(m) << 21
        else:
            word[0] |= modifier_cache_sc1(m) << 15
    elif w.level >= gfx10:
        word[0] |= modifier_cache_dlc(m) << 15
    elif modifier_cache_dlc(m):
        fail(w, encode_bad_modifier)
    if w.level < gfx8:
        word[0] |= modifier_addr64(m) << 15
    if typed or plain_layout(w):
        high[0] |= modifier_cache_slc(m) << 22
    else:
        word[0] |= modifier_cache_slc(m) << 17
    if not typed:
        word[0] |= modifier_lds(m) << 16


cdef void _put_buffer(Writer *w, bint typed, uint32_t number, uint32_t word, uint32_t high) noexcept nogil:
    """Add the opcode, where the generation has its field, and write both words."""
    word |= 0xe8000000U if typed else 0xe0000000U
    if typed and plain_layout(w) and w.level < gfx11:
        word |= (number & 7) << 16
        high |= (number >> 3) << 21
    elif typed:
        word |= number << 15
    elif gfx10 <= w.level < gfx11:
        word |= (number & 0x7f) << 18 | (number >> 7) << 25
    else:
        word |= number << 18
    put(w, word)
    put(w, high)


cdef void encode_buffer(Writer *w, bint typed, uint32_t number) noexcept nogil:
    cdef uint64_t m = w.d.modifiers
    cdef uint32_t word, high, vaddr, vdata
    if w.d.source_count == 0:
        _encode_buffer_cache(w, number)
        return
    vaddr = vgpr_code(w, source(w, 1))
    vdata = data_code(w, _memory_data(w, 3))
    if w.d.destination_count:
        data_code(w, w.d.destination[0])
    if modifier_addr64(m) and (w.level >= gfx8 or modifier_offen(m) | modifier_idxen(m)):
        fail(w, encode_bad_modifier)
    if is_absent(source(w, 1)) == (modifier_offen(m) | modifier_idxen(m) | modifier_addr64(m) != 0):
        fail(w, encode_bad_operand)
    if w.level >= gfx12:
        _encode_buffer_12(w, typed, number, vaddr, vdata)
        return
    if source(w, 0) & 15:
        fail(w, encode_bad_operand)
    word = uimm(w, 12) | modifier_cache_glc(m) << 14 | (modifier_format(m) << 19 if typed else 0)
    high = vaddr | vdata << 8 | sgpr_code(w, source(w, 0)) >> 2 << 16 | scalar_code(w, source(w, 2)) << 24
    if w.level >= gfx11:
        _buffer_bits_11(w, typed, &number, &word, &high)
    else:
        _buffer_bits(w, typed, &word, &high)
    _put_buffer(w, typed, number, word, high)


# ----------------------------------------------------------------------------------------------------------- flat memory
cdef struct FlatAccess:
    uint32_t segment                  # 0 flat, 1 scratch, 2 global
    uint32_t saddr
    uint32_t load
    uint32_t store
    uint32_t vaddr
    uint32_t scratch_has_vaddr


cdef inline bint _has_vaddr_bit(const Writer *w) noexcept nogil:
    """From CDNA 3 on a separate bit says whether a scratch access has a vector address."""
    return gfx942 <= w.level < gfx10


cdef uint32_t _no_saddr(const Writer *w, uint32_t segment, bint has_vaddr) noexcept nogil:
    """The code that means no scalar address."""
    if w.level >= gfx10:
        return no_address_code if w.level < gfx11 and segment == 1 and not has_vaddr else exchanged_code(w.level, register_null >> 2)
    return 0 if segment == 0 else <uint32_t>no_address_code


cdef void _encode_flat_12(Writer *w, const FlatAccess *f, uint32_t number) noexcept nogil:
    cdef uint64_t m = w.d.modifiers
    put(w, 0xec000000U | number << 14 | f.segment << 24 | f.saddr | _nv_12(w))
    if modifier_cache_scale_offset(m) and w.level < gfx12_5:
        fail(w, encode_bad_modifier)
    put(w, f.load | modifier_cache_scale_offset(m) << 16 | f.scratch_has_vaddr << 17 | modifier_cache_scope(m) << 18
        | modifier_cache_temporal_hint(m) << 20 | f.store << 23)
    put(w, f.vaddr | <uint32_t>simm(w, 24) << 8)


cdef uint32_t _flat_offset(Writer *w, uint32_t segment) noexcept nogil:
    """The offset field; flat accesses have unsigned offsets of one bit less."""
    cdef uint32_t width = 12 if gfx10 <= w.level < gfx11 else 13
    if w.level < gfx9:
        return uimm(w, 0)
    return uimm(w, width - 1) if segment == 0 else <uint32_t>simm(w, width)


cdef void _flat_bits(Writer *w, const FlatAccess *f, uint32_t *word, uint32_t *high) noexcept nogil:
    """The bits whose positions GFX11 changed."""
    cdef uint64_t m = w.d.modifiers
    word[0] |= f.segment << 14 | modifier_cache_glc(m) << 16 | modifier_cache_slc(m) << 17 | modifier_lds(m) << 13
    if _has_vaddr_bit(w):
        word[0] |= f.scratch_has_vaddr << 13
        if modifier_lds(m):
            fail(w, encode_bad_modifier)
    if _has_sc1(w):
        word[0] |= modifier_cache_sc1(m) << 25
        high[0] |= accumulation_bit(w) << 23
    elif w.level >= gfx10:
        word[0] |= modifier_cache_dlc(m) << 12
    elif modifier_cache_dlc(m):
        fail(w, encode_bad_modifier)


cdef void encode_flat(Writer *w, uint32_t format, uint32_t number) noexcept nogil:
    cdef uint64_t m = w.d.modifiers
    cdef uint16_t vaddr = source_or_none(w, 0)
    cdef uint16_t base = source_or_none(w, 1)
    cdef uint32_t word, high
    cdef FlatAccess f
    f.segment = 0 if format == format_flat else 1 if format == format_scratch else 2
    f.load = data_code(w, w.d.destination[0]) if w.d.destination_count else 0
    f.store = data_code(w, source_or_none(w, 2))
    f.vaddr = vgpr_code(w, vaddr)
    f.scratch_has_vaddr = f.segment == 1 and not is_absent(vaddr)
    f.saddr = sgpr_code(w, base) if base != register_none else _no_saddr(w, f.segment, not is_absent(vaddr))
    if base != register_none and ((f.segment == 0 and w.level < gfx12_5) or (f.scratch_has_vaddr and w.level < gfx11 and not _has_vaddr_bit(w))):
        fail(w, encode_bad_operand)
    if w.level >= gfx12:
        _encode_flat_12(w, &f, number)
        return
    word = 0xdc000000U | number << 18 | _flat_offset(w, f.segment)
    high = f.vaddr | f.store << 8 | f.saddr << 16 | f.load << 24
    if w.level >= gfx11:
        word |= f.segment << 16 | modifier_cache_dlc(m) << 13 | modifier_cache_glc(m) << 14 | modifier_cache_slc(m) << 15
        high |= f.scratch_has_vaddr << 23
        if modifier_lds(m):
            fail(w, encode_bad_modifier)
    else:
        _flat_bits(w, &f, &word, &high)
    put(w, word)
    put(w, high)


# -------------------------------------------------------------------------------------------------------- images, exports
cdef uint32_t _image_address(Writer *w, uint32_t position) noexcept nogil:
    """Address field `position` of GFX12; a last operand of several dwords fills the fields after its own too, except in BVH instructions."""
    cdef uint32_t last = w.d.source_count - 1
    if 3 + position <= last:
        return vgpr_code(w, w.d.source[3 + position])
    if (3 + position - last) * 4 < w.d.source_bytes[last] and not opcode_image[w.d.opcode] & image_flag_bvh:
        return vgpr_code(w, w.d.source[last] + (3 + position - last) * 4)
    return 0


cdef void _encode_mimg_12(Writer *w, uint32_t number, uint32_t vdata) noexcept nogil:
    cdef const Decoded *d = w.d
    cdef uint64_t m = d.modifiers
    cdef bint sample = (opcode_image[d.opcode] & image_flag_sampler) != 0 or d.opcode == op_image_msaa_load
    cdef uint32_t word, high, i
    cdef uint32_t third = 0
    cdef uint16_t sampler = d.source[1]
    word = modifier_dim(m) | modifier_r128(m) << 4 | modifier_d16(m) << 5 | modifier_a16(m) << 6 | number << 14
    word |= modifier_dmask(m) << 22 | _nv_12(w)
    high = vdata | sgpr_code(w, d.source[0]) << 9 | modifier_cache_scope(m) << 18 | modifier_cache_temporal_hint(m) << 20
    for i in range(4):
        third |= _image_address(w, i) << (8 * i)
    if sample:
        word |= 0xe4000000U | modifier_image_tfe(m) << 3 | modifier_unrm(m) << 13
        high |= modifier_lwe(m) << 8 | (sgpr_code(w, sampler) if sampler != register_none else 0) << 23
    else:
        word |= 0xd0000000U
        high |= modifier_image_tfe(m) << 23 | _image_address(w, 4) << 24
        if modifier_unrm(m) | modifier_lwe(m):
            fail(w, encode_bad_modifier)
    put(w, word)
    put(w, high)
    put(w, third)


cdef void _encode_tensor(Writer *w, uint32_t number) noexcept nogil:
    """A tensor of GFX12.5: four groups of its descriptor, of which the last two may be null, as a fifth always is."""
    cdef uint64_t m = w.d.modifiers
    cdef uint32_t null = exchanged_code(w.level, register_null >> 2)
    cdef uint32_t third = 0, i
    for i in range(4):
        third |= (null if source(w, i) == register_none else sgpr_code(w, source(w, i))) << (8 * i)
    put(w, 0xd0400001U | number << 14 | modifier_r128(m) << 4 | _nv_12(w))
    put(w, null << 24 | modifier_cache_scope(m) << 18 | modifier_cache_temporal_hint(m) << 20)
    put(w, third)


cdef void encode_mimg(Writer *w, uint32_t number) noexcept nogil:
    cdef const Decoded *d = w.d
    cdef uint64_t m = d.modifiers
    cdef uint32_t word, high, i, extra, vdata, resource
    cdef uint32_t sampler = 0
    if opcode_image[d.opcode] & image_flag_tensor:
        _encode_tensor(w, number)
        return
    if d.source_count < 4:
        fail(w, encode_bad_operand)
        return
    vdata = data_code(w, d.destination[0] if d.destination_count else d.source[2])
    if w.level >= gfx12:
        _encode_mimg_12(w, number, vdata)
        return
    resource = sgpr_code(w, d.source[0])
    if d.source[1] != register_none:
        sampler = sgpr_code(w, d.source[1])
    if (resource | sampler) & 3:
        fail(w, encode_bad_operand)
    # dwords of separate address registers ("NSA")
    extra = (d.source_count - 4 + 3) >> 2
    if extra > (1 if w.level >= gfx11 else 3 if w.level >= gfx10 else 0):
        fail(w, encode_bad_operand)
    word = 0xf0000000U | modifier_dmask(m) << 8
    high = vgpr_code(w, d.source[3]) | vdata << 8 | (resource >> 2) << 16
    if w.level >= gfx11:
        word |= extra | modifier_dim(m) << 2 | modifier_unrm(m) << 7 | modifier_cache_slc(m) << 12
        word |= modifier_cache_dlc(m) << 13 | modifier_cache_glc(m) << 14 | modifier_r128(m) << 15
        word |= modifier_a16(m) << 16 | modifier_d16(m) << 17 | number << 18
        high |= modifier_image_tfe(m) << 21 | modifier_lwe(m) << 22 | (sampler >> 2) << 26
    else:
        word |= (number & 0x7f) << 18 | modifier_unrm(m) << 12 | modifier_cache_glc(m) << 13
        word |= modifier_image_tfe(m) << 16 | modifier_lwe(m) << 17 | modifier_cache_slc(m) << 25
        if _has_sc1(w):
            if modifier_image_tfe(m):
                fail(w, encode_bad_modifier)
            word |= accumulation_bit(w) << 16 | modifier_cache_sc1(m) << 7
        high |= (sampler >> 2) << 21 | modifier_d16(m) << 31
        if w.level >= gfx10:
            word |= number >> 7 | extra << 1 | modifier_dim(m) << 3 | modifier_cache_dlc(m) << 7 | modifier_r128(m) << 15
            high |= modifier_a16(m) << 30
        else:
            word |= modifier_da(m) << 14 | (modifier_a16(m) if w.level >= gfx9 else modifier_r128(m)) << 15
    put(w, word)
    put(w, high)
    for i in range(extra * 4):
        if i & 3 == 0:
            put(w, 0)
        w.out[w.length - 1] |= vgpr_code(w, source_or_none(w, 4 + i)) << (8 * (i & 3))


cdef void encode_exp(Writer *w) noexcept nogil:
    cdef uint64_t m = w.d.modifiers
    cdef uint32_t word = modifier_exp_enabled_mask(m) | modifier_exp_target(m) << 4 | modifier_exp_done(m) << 11
    cdef uint32_t high = 0
    cdef uint32_t i
    if w.level >= gfx11:
        word |= modifier_exp_row(m) << 13
    else:
        word |= modifier_exp_compressed(m) << 10 | modifier_exp_valid_mask(m) << 12
    put(w, word | (0xf8000000U if plain_layout(w) else 0xc4000000U))
    for i in range(4):
        high |= vgpr_code(w, source_or_none(w, i)) << (8 * i)
    put(w, high)
