# Images, text to `Decoded`.
cdef void image(Job *j) noexcept nogil:
    """Data, addresses (one register, or a list), resource and sampler."""
    cdef uint32_t op = j.d.opcode
    cdef uint32_t flags = opcode_image[op]
    cdef uint64_t m
    cdef uint32_t i, last, resource
    cdef bint sampled = (flags & image_flag_sampler) != 0
    cdef bint ray = (flags & image_flag_bvh) != 0
    cdef uint16_t data
    cdef Operand *o
    cache_policy(j)
    m = _image_modifiers(j, ray)
    last = 1 + (j.s.list_count if j.s.list_count else 1)
    if j.s.list_count and j.s.list_first != 1:
        fail_plain(&j.c, j.s.operands[0].begin, b"a register of the data is expected before the addresses")
        return
    if not expect_count(j, last + 1 + sampled):
        return
    resource = 4 if ray or modifier_r128(m) else 8
    if not ray and resource == 4 and j.s.operands[last].dwords == 8:
        resource = 8
    add_source(j, register_of(j, &j.s.operands[last], resource), resource)
    add_source(j, register_of(j, &j.s.operands[last + 1], 4) if sampled else <uint16_t>register_none, 4)
    o = &j.s.operands[0]
    data = memory_register(j, o, o.dwords)
    if not ray:
        _check_image_data(j, o, m)
    if flags & image_flag_store or is_atomic(op):
        add_source(j, data, o.dwords)
    else:
        add_source(j, register_none, 0)
    if not flags & image_flag_store and (not is_atomic(op) or returns(j)):
        add_destination(j, data)
    _check_addresses(j, last, m)
    if ray:
        check_width(j, o, 10 if op == op_image_bvh_dual_intersect_ray or op == op_image_bvh8_intersect_ray else 4)
    for i in range(1, last):
        if j.d.source_count >= decoded_source_limit:
            fail_plain(&j.c, j.s.operands[i].begin, b"too many address registers")
            return
        o = &j.s.operands[i]
        add_source(j, vector_register(j, o, o.dwords), o.dwords)
    j.d.modifiers = m


cdef void _check_addresses(Job *j, uint32_t last, uint64_t m) noexcept nogil:
    """From GFX10 on the modifiers tell how many address registers there are; one tuple may be of eight for five and more, or of sixteen."""
    cdef uint32_t expected = image_address_dwords(j.d.opcode, modifier_dim(m), modifier_a16(m), j.c.level)
    cdef uint32_t count = 0
    cdef uint32_t i
    cdef char text[80]
    if j.c.level < gfx10 or j.d.opcode == op_image_bvh_dual_intersect_ray or j.d.opcode == op_image_bvh8_intersect_ray:
        return
    for i in range(1, last):
        count += j.s.operands[i].dwords
    if count == expected or (last == 2 and ((count == 8 and 5 <= expected <= 7) or (count == 16 and expected > 12))):
        return
    snprintf(text, 80, b"the address of this opcode, dim and a16 has %u dwords, not %u", expected, count)
    fail_plain(&j.c, j.s.operands[1].begin, text)


cdef uint64_t _image_modifiers(Job *j, bint ray) noexcept nogil:
    cdef uint64_t m = j.d.modifiers
    m = modifier_set_dmask(m, <uint64_t>ranged(j, given_dmask, 0, 15, 15 if ray else 0))
    m = modifier_set_unrm(m, flag(j, given_unorm) or (ray and j.c.level < gfx12))
    m = modifier_set_lwe(m, flag(j, given_lwe))
    m = modifier_set_image_tfe(m, flag(j, given_tfe))
    if j.c.level < gfx9 or j.c.level >= gfx10:
        m = modifier_set_r128(m, flag(j, given_r128) or ray)
    if j.c.level >= gfx9:
        m = modifier_set_a16(m, flag(j, given_a16))
    if j.c.level >= gfx8:
        m = modifier_set_d16(m, flag(j, given_d16))
    if j.c.level < gfx10:
        return modifier_set_da(m, flag(j, given_da))
    if given(j, given_dim):
        return modifier_set_dim(m, <uint64_t>ranged(j, given_dim, 0, 7, 0))
    if not ray:
        fail_plain(&j.c, j.s.mnemonic, b"an image instruction needs dim:")
    return m


cdef void _check_image_data(Job *j, const Operand *o, uint64_t m) noexcept nogil:
    """The data has a register for each channel of dmask, or half of one, and one for a residency result."""
    cdef uint32_t mask = modifier_dmask(m)
    cdef uint32_t channels = (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1) + (mask >> 3 & 1)
    if is_atomic(j.d.opcode):
        channels = max(channels, <uint32_t>1)
    if opcode_image[j.d.opcode] & image_flag_gather or (j.d.opcode == op_image_msaa_load and j.c.level >= gfx11):
        channels = 4
    if channels == 0:
        channels = 1
    # most chips of GFX8 do not pack 16-bit channels
    if modifier_d16(m) and not j.facts[j.d.opcode] & fact_unpacked:
        channels = (channels + 1) >> 1
    check_width(j, o, channels + modifier_image_tfe(m))
