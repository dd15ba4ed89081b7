# Text of memory accesses, images, exports and interpolation.
# ----------------------------------------------------------------------------------------------------------------- memory
cdef void _put_offset(Printer *t, const char *name, const Decoded *d, uint32_t bits, uint32_t shift) noexcept nogil:
    """Some bits of the immediate."""
    cdef const char *begin = t.p
    cdef int32_t value = <int32_t>(d.immediate & bits) >> shift
    if value:
        put_text(t, name)
        put_signed(t, value)
    note_immediate(t, value_offset, begin, bits, shift, name)


cdef void ds(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint32_t position = 0
    cdef uint32_t i
    put_opcode(t, d.opcode)
    for i in range(d.destination_count):
        separate(t, position)
        position += 1
        put_destination(t, d, i)
    for i in range(d.source_count):
        separate(t, position)
        position += 1
        put_operand(t, d, i)
    if opcode_flags[d.opcode] & opcode_flag_two_offsets:
        _put_offset(t, b" offset0:", d, 0xff, 0)
        _put_offset(t, b" offset1:", d, 0xff0000, 16)
    else:
        if d.opcode == op_ds_nop and d.immediate:
            t.has_no_syntax = True
        _put_offset(t, b" offset:", d, 0xffffffffU, 0)
    if modifier_gds(d.modifiers):
        if gfx90a <= t.level < gfx10 and not t.facts[d.opcode] & fact_global_wave_sync:
            t.has_no_syntax = True
        put_text(t, b" gds")
    elif t.facts[d.opcode] & fact_global_wave_sync and gfx9 < t.level < gfx10:
        t.has_no_syntax = True


cdef void buffer(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint64_t m = d.modifiers
    put_opcode(t, d.opcode)
    if d.source_count == 0:
        if gfx942 <= t.level < gfx10:
            cache_policy(t, d)
        return
    if modifier_tfe(m) and d.format == format_mtbuf:
        t.has_no_syntax = True
    put(t, c' ')
    if d.opcode == op_buffer_store_lds_dword:
        # a resource and an offset, and always lds
        put_operand(t, d, 0)
        put_comma(t)
        put_operand(t, d, 2)
        _put_offset(t, b" offset:", d, 0xffffffffU, 0)
        cache_policy(t, d)
        put_text(t, b" lds")
        t.has_no_syntax = t.has_no_syntax or not modifier_lds(m) or d.source[1] != register_none or modifier_tfe(m)
        return
    if d.source_count > 3:
        _buffer_data(t, d)
        put_comma(t)
    elif d.destination_count:
        if t.facts[d.opcode] & fact_unpacked:
            put_register(t, &d.destination[0], 4 * (unpacked_dwords(d.opcode) + modifier_tfe(m)))
        else:
            put_destination(t, d, 0)
        put_comma(t)
    if d.source[1] == register_none:
        put_text(t, b"off")
    else:
        put_operand(t, d, 1)
    put_comma(t)
    put_operand(t, d, 0)
    if 128 <= d.source[2] >> 2 and t.level >= gfx12:
        t.has_no_syntax = True
    put_comma(t)
    put_operand(t, d, 2)
    if d.format == format_mtbuf:
        _buffer_format(t, modifier_format(m))
    if t.level < gfx8 and modifier_addr64(m):
        put_text(t, b" addr64")
    if modifier_idxen(m):
        put_text(t, b" idxen")
    if modifier_offen(m):
        put_text(t, b" offen")
    _put_offset(t, b" offset:", d, 0xffffffffU, 0)
    cache_policy(t, d)
    if modifier_tfe(m):
        put_text(t, b" tfe")
    if modifier_lds(m):
        put_text(t, b" lds")


cdef void _buffer_data(Printer *t, const Decoded *d) noexcept nogil:
    """The data register of a store or atomic, with the dword of a residency result behind it."""
    cdef uint32_t size = 4 * unpacked_dwords(d.opcode) if t.facts[d.opcode] & fact_unpacked else d.source_bytes[3]
    if modifier_tfe(d.modifiers):
        if not is_atomic(d.opcode):
            # assemblers have no such store
            t.has_no_syntax = True
        size += 4
    put_register(t, &d.source[3], size)


cdef void _buffer_format(Printer *t, uint32_t value) noexcept nogil:
    """The format of a typed buffer access; the default (8 bits, unorm) has no text."""
    cdef uint32_t data = value & 15, number = value >> 4
    if value == 1:
        return
    put_text(t, b" format:")
    if t.level >= gfx10:
        if has_name(t, domain_format, value):
            put(t, c'[')
            put_name(t, domain_format, value)
            put(t, c']')
        else:
            put_number(t, value)
        return
    put(t, c'[')
    if data != 1:
        put_name(t, domain_data_format, data)
    if number:
        if data != 1:
            put(t, c',')
        put_name(t, domain_number_format, number)
    put(t, c']')


cdef void flat(Printer *t, const Decoded *d) noexcept nogil:
    cdef bint addressed = not opcode_flags[d.opcode] & opcode_flag_no_address
    cdef uint32_t position = 0
    cdef uint32_t size
    put_opcode(t, d.opcode)
    if d.source_count == 0:
        cache_policy(t, d)
        return
    if d.destination_count:
        separate(t, position)
        position += 1
        size = 4 * transposed_dwords(d.opcode, t.mask_dwords, d.destination_bytes[0] >> 2)
        if unaligned_result(d.opcode):
            put_any_register(t, &d.destination[0], size)
        else:
            put_register(t, &d.destination[0], size)
    if addressed:
        separate(t, position)
        position += 1
        if d.source[0] == register_none:
            put_text(t, b"off")
        else:
            put_operand(t, d, 0)
    if d.source_count > 2:
        separate(t, position)
        position += 1
        put_operand(t, d, 2)
    if d.format != format_flat or (d.source[1] != register_none and t.level >= gfx12_5):
        separate(t, position)
        if d.source[1] == register_none:
            put_text(t, b"null" if d.opcode == op_tensor_save else b"off")
        else:
            if (register_exec <= d.source[1] < 128 * 4 and gfx9 < t.level < gfx10 and d.format == format_global
                    and (d.destination_count or d.source_count > 2)):
                t.has_no_syntax = True
            if t.level >= gfx12_5 and d.source[1] == register_exec and exec_is_no_base(d):
                t.has_no_syntax = True
            put_operand(t, d, 1)
    _put_offset(t, b" offset:", d, 0xffffffffU, 0)
    cache_policy(t, d)
    if modifier_lds(d.modifiers):
        put_text(t, b" lds")


# ----------------------------------------------------------------------------------------------------------------- images
cdef uint32_t _fewest_addresses(uint32_t opcode) noexcept nogil:
    """Address dwords of a 1D image: before GFX10 the words do not tell how many there are."""
    cdef uint32_t flags = opcode_image[opcode]
    cdef uint32_t dwords = opcode != op_image_get_resinfo
    if flags & image_flag_gradients:
        dwords += 2
    dwords += (flags & image_flag_offset) != 0
    dwords += (flags & image_flag_bias) != 0
    dwords += (flags & image_flag_compare) != 0
    # a level of detail shares a register with the coordinate, if both have 16 bits
    return dwords + (opcode == op_image_get_resinfo)


cdef uint32_t _image_data_size(const Printer *t, const Decoded *d) noexcept nogil:
    """Bytes of the data registers; the chips of GFX8 that pack 16-bit channels have half as many."""
    cdef uint32_t size = d.source_bytes[2] if d.source[2] != register_none else d.destination_bytes[0]
    cdef uint32_t residency = 4 * modifier_image_tfe(d.modifiers)
    if t.level != gfx8 or not modifier_d16(d.modifiers) or t.facts[d.opcode] & fact_unpacked:
        return size
    return ((size - residency + 4) >> 3) * 4 + residency


cdef void tensor(Printer *t, const Decoded *d) noexcept nogil:
    """The groups of a tensor's descriptor, two or four."""
    cdef uint32_t i
    put_opcode(t, d.opcode)
    for i in range(2 if d.source[2] == register_none and d.source[3] == register_none else 4):
        separate(t, i)
        if d.source[i] == register_none and i > 1:
            put_text(t, b"null")
        elif d.source[i] == register_none or d.source[i] == register_null:
            t.has_no_syntax = True
        else:
            put_operand(t, d, i)
    t.has_no_syntax = t.has_no_syntax or modifier_r128(d.modifiers) != 0
    cache_policy(t, d)


cdef void image(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint64_t m = d.modifiers
    cdef bint ray = (opcode_image[d.opcode] & image_flag_bvh) != 0
    cdef uint32_t i
    put_opcode(t, d.opcode)
    put(t, c' ')
    if d.source[2] != register_none:
        put_register(t, &d.source[2], _image_data_size(t, d))
    else:
        put_register(t, &d.destination[0], _image_data_size(t, d))
    put_comma(t)
    if d.source_count > 4:
        put(t, c'[')
        for i in range(3, d.source_count):
            if i > 3:
                put_comma(t)
            put_operand(t, d, i)
        put(t, c']')
    else:
        put_register(t, &d.source[3], d.source_bytes[3] if t.level >= gfx10 else 4 * _fewest_addresses(d.opcode))
    put_comma(t)
    put_operand(t, d, 0)
    if d.source[1] != register_none:
        put_comma(t)
        put_operand(t, d, 1)
    if not ray:
        if modifier_dmask(m):
            put_text(t, b" dmask:")
            put_hex(t, modifier_dmask(m))
        if t.level >= gfx10:
            put_text(t, b" dim:")
            put_name(t, domain_dimension, modifier_dim(m))
        if modifier_unrm(m):
            put_text(t, b" unorm")
    cache_policy(t, d)
    if modifier_r128(m) and not ray:
        put_text(t, b" r128")
    if modifier_a16(m):
        put_text(t, b" a16")
    if modifier_image_tfe(m):
        put_text(t, b" tfe")
    if modifier_lwe(m):
        put_text(t, b" lwe")
    if t.level < gfx10 and modifier_da(m):
        put_text(t, b" da")
    if modifier_d16(m):
        put_text(t, b" d16")


# ------------------------------------------------------------------------------------------------- exports, interpolation
cdef void _check_unused_exports(Printer *t, const Decoded *d) noexcept nogil:
    """Text says nothing about the registers of channels that are off."""
    cdef uint32_t mask = modifier_exp_enabled_mask(d.modifiers)
    cdef uint32_t i
    if modifier_exp_compressed(d.modifiers):
        mask = (mask & 1) | (mask >> 2 & 1) << 1
    for i in range(4):
        if not mask >> i & 1 and d.source[i] != register_vgpr0:
            t.has_no_syntax = True


cdef void export(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint64_t m = d.modifiers
    cdef uint32_t mask = modifier_exp_enabled_mask(m)
    cdef uint32_t i
    put_text(t, b"export " if t.level >= gfx12 else b"exp ")
    put_name(t, domain_export, modifier_exp_target(m))
    for i in range(4):
        separate(t, i)
        if modifier_exp_compressed(m) and (mask >> i & 1) != (mask >> (i & 2) & 1):
            t.has_no_syntax = True
        if mask >> i & 1:
            put_register(t, &d.source[i >> 1 if modifier_exp_compressed(m) else i], 4)
        else:
            put_text(t, b"off")
    _check_unused_exports(t, d)
    if modifier_exp_done(m):
        put_text(t, b" done")
    if modifier_exp_compressed(m):
        put_text(t, b" compr")
    if modifier_exp_valid_mask(m):
        put_text(t, b" vm")
    if modifier_exp_row(m):
        put_text(t, b" row_en")


cdef void parameter_interpolation(Printer *t, const Decoded *d) noexcept nogil:
    """VINTERP of GFX11 and later."""
    cdef uint64_t m = d.modifiers
    cdef uint32_t opsel = modifier_opsel(m)
    cdef uint32_t i
    put_opcode(t, d.opcode)
    put(t, c' ')
    put_destination(t, d, 0)
    for i in range(d.source_count):
        if d.source[i] < register_vgpr0:
            t.has_no_syntax = True
        put_comma(t)
        put_modified(t, d, i, modifier_neg(m), 0)
    if modifier_clamp(m):
        put_text(t, b" clamp")
    if t.true16:
        for i in range(3):
            if d.source_bytes[i] == 2:
                opsel &= ~(1U << i)
        if d.destination_bytes[0] == 2:
            opsel &= 7
    if opsel:
        put_bits(t, b" op_sel:", modifier_opsel(m), 4)
    put_text(t, b" wait_exp:")
    put_number(t, modifier_wait_exp(m))


cdef void _attribute(Printer *t, uint64_t m) noexcept nogil:
    """``attr3.y``"""
    if modifier_ldsdir_attr(m) > 32:
        t.has_no_syntax = True
    put_text(t, b"attr")
    put_number(t, modifier_ldsdir_attr(m))
    put(t, c'.')
    put(t, b"xyzw"[modifier_ldsdir_channel(m)])


cdef void ldsdir(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint64_t m = d.modifiers
    put_opcode(t, d.opcode)
    put(t, c' ')
    put_destination(t, d, 0)
    if d.opcode == op_lds_param_load:
        put_comma(t)
        _attribute(t, m)
    elif modifier_ldsdir_attr(m) or modifier_ldsdir_channel(m):
        t.has_no_syntax = True
    if t.level >= gfx12:
        put_text(t, b" wait_va_vdst:")
        put_number(t, modifier_wait_vdst(m))
        put_text(t, b" wait_vm_vsrc:")
        put_number(t, modifier_wait_vsrc(m))
    else:
        put_text(t, b" wait_vdst:")
        put_number(t, modifier_wait_vdst(m))


cdef void vop3_interpolation(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint64_t m = d.modifiers
    put_opcode(t, d.opcode)
    put_text(t, b"_e64 " if opcode_format[d.opcode] == format_vintrp else b" ")
    put_destination(t, d, 0)
    put_comma(t)
    if d.opcode == op_v_interp_mov_f32:
        put_name(t, domain_parameter, d.immediate)
    else:
        put_modified(t, d, 0, modifier_neg(m), modifier_abs(m))
    put_comma(t)
    _attribute(t, m)
    if d.source_count > 1:
        put_comma(t)
        put_modified(t, d, 1, modifier_neg(m), modifier_abs(m))
    if modifier_opsel(m):
        put_bits(t, b" op_sel:", modifier_opsel(m), 4)
    if modifier_interp_high(m):
        put_text(t, b" high")
    if modifier_clamp(m):
        put_text(t, b" clamp")
    output_modifier(t, modifier_omod(m))


cdef void vintrp(Printer *t, const Decoded *d) noexcept nogil:
    put_opcode(t, d.opcode)
    put_text(t, b"_e32 ")
    put_destination(t, d, 0)
    put_comma(t)
    if d.opcode == op_v_interp_mov_f32:
        put_name(t, domain_parameter, d.immediate)
    else:
        put_operand(t, d, 0)
    put_comma(t)
    _attribute(t, d.modifiers)
