# Decoding of LDS, buffers, flat memory, images and exports.
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
cdef inline uint64_t _cache_policy_12(const Reader *r, uint64_t m) noexcept nogil:
    m = modifier_set_cache_scope(m, bits(r.words[1], 18, 2))
    if r.level >= gfx12_5:
        m = modifier_set_cache_nv(m, bits(r.words[0], 7, 1))
    return modifier_set_cache_temporal_hint(m, bits(r.words[1], 20, 3))


# True when an atomic returns the old value (glc before GFX12, bit 0 of the temporal hint there).
cdef inline bint _atomic_returns(const Reader *r) noexcept nogil:
    return modifier_cache_temporal_hint(r.out.modifiers) & 1 if r.level >= gfx12 else modifier_cache_glc(r.out.modifiers)


cdef inline bint _compares(uint32_t opcode) noexcept nogil:
    """Compare-and-swap: the data register holds the new value and the expected one, the result is half as wide."""
    return (opcode == op_buffer_atomic_cmpswap or opcode == op_buffer_atomic_cmpswap_x2
            or opcode == op_buffer_atomic_fcmpswap or opcode == op_buffer_atomic_fcmpswap_x2
            or opcode == op_flat_atomic_cmpswap or opcode == op_flat_atomic_cmpswap_x2
            or opcode == op_flat_atomic_fcmpswap or opcode == op_flat_atomic_fcmpswap_x2
            or opcode == op_global_atomic_cmpswap or opcode == op_global_atomic_cmpswap_x2
            or opcode == op_global_atomic_fcmpswap or opcode == op_global_atomic_fcmpswap_x2)


# Data register of a memory access: the destination of loads, a source of stores, both for atomics that return.
cdef void _add_memory_data(Reader *r, uint16_t load, uint16_t store, uint32_t address_operands, uint32_t extra) noexcept nogil:
    cdef uint32_t size
    if opcode_definition_count[r.out.opcode]:
        add_destination(r, load, <uint8_t>(definition_size(r, 0) + extra))
    elif opcode_operand_count[r.out.opcode] > address_operands:
        size = operand_size(r, address_operands)
        add_source(r, store, <uint8_t>size)
        if opcode_flags[r.out.opcode] & opcode_flag_atomic and _atomic_returns(r):
            if _compares(r.out.opcode):
                size >>= 1
            add_destination(r, load, <uint8_t>(size + extra))


cdef inline uint64_t _cache_control_policy(uint64_t m) noexcept nogil:
    """The scope and hint bits of buffer_wbl2 and buffer_inv."""
    cdef uint64_t kept = modifier_set_cache_sc1(modifier_set_cache_glc(0, modifier_cache_glc(m)), modifier_cache_sc1(m))
    return modifier_set_cache_slc(kept, modifier_cache_slc(m))


cdef uint32_t _buffer_number(const Reader *r, bint typed) noexcept nogil:
    cdef uint32_t word = r.words[0]
    if r.level >= gfx12:
        return bits(word, 14, 4 if typed else 8 if r.level >= gfx13 else 7)
    if typed and plain_layout(r) and r.level < gfx11:
        return bits(word, 16, 3) | (bits(r.words[1], 21, 1) << 3 if r.level >= gfx10 else 0)
    if typed:
        return bits(word, 15, 4)
    if r.level >= gfx11:
        return bits(word, 18, 8)
    return bits(word, 18, 7) | (bits(word, 25, 1) << 7 if r.level >= gfx10 else 0)


cdef uint64_t _buffer_modifiers_12(const Reader *r, bint typed) noexcept nogil:
    cdef uint32_t high = r.words[1]
    cdef uint64_t m = modifier_set_tfe(0, bits(r.words[0], 22, 1))
    m = _cache_policy_12(r, m)
    if typed:
        m = modifier_set_format(m, bits(high, 23, 7))
    m = modifier_set_offen(m, bits(high, 30, 1))
    return modifier_set_idxen(m, bits(high, 31, 1))


cdef uint64_t _buffer_modifiers_11(const Reader *r, uint64_t m) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t high = r.words[1]
    m = modifier_set_cache_slc(m, bits(word, 12, 1))
    m = modifier_set_cache_dlc(m, bits(word, 13, 1))
    m = modifier_set_tfe(m, bits(high, 21, 1))
    m = modifier_set_offen(m, bits(high, 22, 1))
    return modifier_set_idxen(m, bits(high, 23, 1))


cdef uint64_t _buffer_modifiers(const Reader *r, bint typed) noexcept nogil:
    cdef uint32_t word = r.words[0]
    cdef uint32_t high = r.words[1]
    cdef uint64_t m = modifier_set_cache_glc(0, bits(word, 14, 1))
    if typed:
        m = modifier_set_format(m, bits(word, 19, 7))
    if r.level >= gfx11:
        return _buffer_modifiers_11(r, m)
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
    number = _buffer_number(r, typed)
    if typed:
        opcode = decode_mtbuf[r.generation * decode_mtbuf_width + number]
    else:
        opcode = decode_mubuf[r.generation * decode_mubuf_width + number]
    if not begin(r, opcode, format_mtbuf if typed else format_mubuf, length):
        return invalid(r)
    if r.level >= gfx12:
        m = _buffer_modifiers_12(r, typed)
        soffset = address_of(r, bits(word, 0, 7))
        vdata = vgpr(bits(high, 0, 8))
        resource = address_of(r, bits(high, 9, 9))
        vaddr = vgpr(bits(r.words[2], 0, 8))
        r.out.immediate = sign_extended(bits(r.words[2], 8, 24), 24)
    else:
        m = _buffer_modifiers(r, typed)
        r.out.immediate = bits(word, 0, 12)
        vaddr = vgpr(bits(high, 0, 8))
        vdata = vector_register(bits(high, 8, 8), gfx90a <= r.level < gfx10 and bits(high, 23, 1))
        resource = <uint16_t>(bits(high, 16, 5) * 16)
        soffset = address_of(r, bits(high, 24, 8))
    if not modifier_offen(m) and not modifier_idxen(m) and not modifier_addr64(m):
        vaddr = register_none
    if has_no_operands(opcode):
        r.out.immediate = 0
        if gfx942 <= r.level < gfx10:
            r.out.modifiers = _cache_control_policy(m)
        return finish(r)
    r.out.modifiers = m
    add_source(r, resource, 16)
    add_source(r, vaddr, 8 if modifier_addr64(m) or (modifier_offen(m) and modifier_idxen(m)) else 4)
    add_source(r, soffset, 4)
    if not modifier_lds(m):
        _add_memory_data(r, vdata, vdata, 3, 4 if modifier_tfe(m) else 0)
    return finish(r)


# ----------------------------------------------------------------------------------------------------------- flat memory
cdef uint16_t _flat_opcode(const Reader *r, uint32_t segment, uint32_t number) noexcept nogil:
    if segment == 0:
        return decode_flat[r.generation * decode_flat_width + number]
    if segment == 1:
        return decode_scratch[r.generation * decode_scratch_width + number]
    if segment == 2:
        return decode_global[r.generation * decode_global_width + number]
    return op_invalid


cdef uint64_t _flat_modifiers(const Reader *r) noexcept nogil:
    """Those of GFX7 to GFX11.5."""
    cdef uint32_t word = r.words[0]
    cdef uint64_t m = 0
    if r.level >= gfx11:
        m = modifier_set_cache_dlc(m, bits(word, 13, 1))
        m = modifier_set_cache_glc(m, bits(word, 14, 1))
        return modifier_set_cache_slc(m, bits(word, 15, 1))
    m = modifier_set_cache_glc(m, bits(word, 16, 1))
    m = modifier_set_cache_slc(m, bits(word, 17, 1))
    if r.level >= gfx9 and not _has_vaddr_bit(r):
        m = modifier_set_lds(m, bits(word, 13, 1))
    if r.level >= gfx10:
        return modifier_set_cache_dlc(m, bits(word, 12, 1))
    return modifier_set_cache_sc1(m, bits(word, 25, 1)) if r.level >= gfx90a else m


cdef inline bint _has_vaddr_bit(const Reader *r) noexcept nogil:
    """CDNA 3 and later say apart from the scalar address whether scratch has a vector address."""
    return gfx942 <= r.level < gfx10


cdef uint32_t _flat_offset(const Reader *r, uint32_t segment) noexcept nogil:
    """Flat addresses take unsigned offsets of one bit less."""
    cdef uint32_t width = 12 if gfx10 <= r.level < gfx11 else 13
    if segment == 0:
        return bits(r.words[0], 0, width - 1)
    return sign_extended(bits(r.words[0], 0, width), width)


cdef inline bint _scratch_has_vaddr(const Reader *r, uint32_t saddr_code) noexcept nogil:
    if _has_vaddr_bit(r):
        return bits(r.words[0], 13, 1)
    if r.level >= gfx11:
        return bits(r.words[1], 17 if r.level >= gfx12 else 23, 1)
    return saddr_code == (no_address_code if r.level < gfx10 else <uint32_t>register_null >> 2)


cdef bint _begin_flat(Reader *r, uint32_t *segment) noexcept nogil:
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
    return begin(r, _flat_opcode(r, segment[0], number), format_flat + (2 if segment[0] == 1 else segment[0] >> 1), length)


cdef int decode_flat_words(Reader *r) noexcept nogil:
    cdef uint32_t segment, high, saddr_code
    cdef uint16_t vaddr, load, store
    cdef bint has_saddr, accumulation
    if not _begin_flat(r, &segment):
        return invalid(r)
    high = r.words[1]
    if r.level >= gfx12:
        saddr_code = bits(r.words[0], 0, 7)
        load = vgpr(bits(high, 0, 8))
        store = vgpr(bits(high, 23, 8))
        vaddr = vgpr(bits(r.words[2], 0, 8))
        r.out.modifiers = _cache_policy_12(r, 0)
        if r.level >= gfx12_5:
            r.out.modifiers = modifier_set_cache_scale_offset(r.out.modifiers, bits(high, 16, 1))
        r.out.immediate = sign_extended(bits(r.words[2], 8, 24), 24)
    else:
        accumulation = gfx90a <= r.level < gfx10 and bits(high, 23, 1)
        vaddr = vgpr(bits(high, 0, 8))
        store = vector_register(bits(high, 8, 8), accumulation)
        saddr_code = bits(high, 16, 7)
        load = vector_register(bits(high, 24, 8), accumulation)
        r.out.modifiers = _flat_modifiers(r)
        if r.level >= gfx9:
            r.out.immediate = _flat_offset(r, segment)
    if has_no_operands(r.out.opcode):
        return finish(r)
    has_saddr = (segment != 0 or r.level >= gfx12_5) and saddr_code != 0x7f and not (r.level >= gfx10 and address_of(r, saddr_code) == register_null)
    if opcode_flags[r.out.opcode] & opcode_flag_no_address or (segment == 1 and not _scratch_has_vaddr(r, saddr_code)):
        vaddr = register_none
    add_source(r, vaddr, 4 if segment == 1 or has_saddr else 8)
    add_source(r, address_of(r, saddr_code) if has_saddr else <uint16_t>register_none, 4 if segment == 1 else 8)
    if not modifier_lds(r.out.modifiers):
        _add_memory_data(r, load, store, 1 if segment == 0 else 2, 0)
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
cdef uint32_t _ray_address_dwords(uint32_t opcode, bint a16, uint32_t position) noexcept nogil:
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
cdef uint32_t _image_data_bytes(uint32_t opcode, uint64_t m, uint32_t gfx_level) noexcept nogil:
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
cdef void _add_image_addresses(Reader *r, const uint32_t *numbers, uint32_t separate) noexcept nogil:
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
            size = _ray_address_dwords(r.out.opcode, modifier_a16(m), i)
        else:
            size = min(dwords, 1)
            if i == separate - 1 and r.level >= gfx11:
                size = dwords
            dwords -= size
        if size:
            add_source(r, vgpr(numbers[i]), <uint8_t>(4 * size))


# The data register: what a load or a sample writes, what a store reads, both for an atomic that returns.
cdef void _add_image_data(Reader *r, uint16_t vdata) noexcept nogil:
    cdef uint32_t flags = opcode_image[r.out.opcode]
    cdef uint8_t size = <uint8_t>_image_data_bytes(r.out.opcode, r.out.modifiers, r.level)
    if flags & (image_flag_load | image_flag_sample | image_flag_gather | image_flag_bvh):
        add_destination(r, vdata, size)
        add_source(r, register_none, 0)
        return
    add_source(r, vdata, size)
    if flags & image_flag_atomic and _atomic_returns(r):
        if r.out.opcode == op_image_atomic_cmpswap or r.out.opcode == op_image_atomic_fcmpswap:
            size >>= 1
        add_destination(r, vdata, size)


cdef int _decode_tensor(Reader *r) noexcept nogil:
    """Tensors of GFX12.5: the descriptor's groups in the fields of the addresses and the resource; two of them may be null."""
    cdef uint32_t third = r.words[2]
    cdef uint32_t i
    cdef uint16_t group
    cdef uint64_t m = modifier_set_r128(0, bits(r.words[0], 4, 1))
    r.out.modifiers = _cache_policy_12(r, m)
    for i in range(4):
        group = address_of(r, bits(third, 8 * i, 7))
        add_source(r, <uint16_t>register_none if group == register_null and i > 1 else group, operand_size(r, i))
    return finish(r)


cdef int decode_mimg_12(Reader *r, bint sample) noexcept nogil:
    """VIMAGE and VSAMPLE: five and four address fields, always used one by one."""
    cdef uint32_t word = r.words[0]
    cdef uint32_t high, third, i
    cdef uint64_t m = 0
    cdef uint16_t sampler = register_none
    cdef uint32_t addresses[5]
    if r.available < 3 or not begin(r, decode_mimg[r.generation * decode_mimg_width + bits(word, 14, 8)], format_mimg, 3):
        return invalid(r)
    if opcode_image[r.out.opcode] & image_flag_tensor:
        return invalid(r) if sample else _decode_tensor(r)
    if sample != ((opcode_image[r.out.opcode] & image_flag_sampler) != 0 or r.out.opcode == op_image_msaa_load):
        return invalid(r)
    high, third = r.words[1], r.words[2]
    m = modifier_set_dim(m, bits(word, 0, 3))
    m = modifier_set_r128(m, bits(word, 4, 1))
    m = modifier_set_d16(m, bits(word, 5, 1))
    m = modifier_set_a16(m, bits(word, 6, 1))
    m = modifier_set_dmask(m, bits(word, 22, 4))
    m = _cache_policy_12(r, m)
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
    add_source(r, address_of(r, bits(high, 9, 9)), _image_resource_bytes(r))
    add_source(r, sampler, 16)
    _add_image_data(r, vgpr(bits(high, 0, 8)))
    _add_image_addresses(r, addresses, 4 if sample else 5)
    return finish(r)


cdef inline uint8_t _image_resource_bytes(const Reader *r) noexcept nogil:
    # with r128 text names eight registers although four are read
    return 16 if opcode_image[r.out.opcode] & image_flag_bvh else 32


cdef uint64_t _mimg_modifiers_11(const Reader *r) noexcept nogil:
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


cdef uint64_t _mimg_modifiers(const Reader *r) noexcept nogil:
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
    # GFX9 alone has 16-bit coordinates where others have the short resource
    if gfx9 <= r.level < gfx10:
        return modifier_set_a16(m, bits(word, 15, 1))
    return modifier_set_r128(m, bits(word, 15, 1))


cdef uint32_t _mimg_extra_words(const Reader *r) noexcept nogil:
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
    extra = _mimg_extra_words(r)
    if r.available < 2 + extra:
        return invalid(r)
    addresses[0] = bits(high, 0, 8)
    for i in range(extra * 4):
        addresses[1 + i] = bits(r.words[2 + (i >> 2)], 8 * (i & 3), 8)
    r.length += extra
    r.out.modifiers = _mimg_modifiers_11(r) if r.level >= gfx11 else _mimg_modifiers(r)
    sampler = bits(high, 26 if r.level >= gfx11 else 21, 5)
    add_source(r, <uint16_t>(bits(high, 16, 5) * 16), _image_resource_bytes(r))
    add_source(r, <uint16_t>(sampler * 16) if opcode_image[r.out.opcode] & image_flag_sampler else <uint16_t>register_none, 16)
    _add_image_data(r, vector_register(bits(high, 8, 8), accumulation))
    _add_image_addresses(r, addresses, 1 + extra * 4)
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
