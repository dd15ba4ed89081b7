# Scalar and vector memory, LDS and cache policies, text to `Decoded`.
# ---------------------------------------------------------------------------------------------------------- scalar memory
cdef void _scaled_offset(Job *j) noexcept nogil:
    """``scale_offset`` of GFX12.5 where the access has an offset to scale; elsewhere it is left over, which is an error."""
    if j.c.level >= gfx12_5 and takes_scale_offset(&j.d):
        j.d.modifiers = modifier_set_cache_scale_offset(j.d.modifiers, flag(j, given_scale_offset))


cdef void smem(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef uint32_t definitions = opcode_definition_count[op]
    cdef Operand *o = &j.s.operands[0]
    cdef int64_t data = -1
    cdef uint32_t dwords = 1
    if j.facts[op] & fact_prefetch:
        _prefetch(j)
        return
    if opcode_operand_count[op] == 0:
        if expect_count(j, definitions) and definitions:
            add_destination(j, register_of(j, o, class_dwords_of(j, definition_class(j, 0))))
        return
    if op == op_s_dcache_discard or op == op_s_dcache_discard_x2:
        if not expect_count(j, 2):
            return
        data = 0
    else:
        if j.s.count != 2 and not expect_count(j, 3):
            return
        if op == op_s_atc_probe or op == op_s_atc_probe_buffer:
            data = exchanged_code(j.c.level, plain_number(j, o, 0, 127)) * 4
        elif definitions:
            add_destination(j, register_of(j, o, class_dwords_of(j, definition_class(j, 0))))
        else:
            dwords = class_dwords_of(j, operand_class(j, 2))
            data = register_of(j, o, dwords)
        o += 1
    add_source(j, register_of(j, o, class_dwords_of(j, operand_class(j, 0))), class_dwords_of(j, operand_class(j, 0)))
    _scaled_offset(j)
    if o + 1 < &j.s.operands[j.s.count]:
        _scalar_offset(j, o + 1)
    else:
        add_source(j, register_none, 1)
    if data >= 0:
        add_source(j, <uint16_t>data, dwords)
    cache_policy(j)
    if is_atomic(op) and returns(j) and definitions == 0:
        add_destination(j, j.d.source[2])


cdef void _scalar_offset(Job *j, const Operand *o) noexcept nogil:
    """An immediate, a register, or a register and ``offset:``; GFX6 and GFX7 count dwords."""
    cdef bint both = given(j, given_offset)
    # buffers have no negative offsets
    cdef int64_t lowest = 0 if operand_class(j, 0) == 4 else -(1 << 23)
    cdef int64_t offset = ranged(j, given_offset, lowest, (1 << 23) - 1, 0)
    cdef uint16_t register
    if o.kind == operand_integer:
        if both:
            fail_plain(&j.c, o.begin, b"two immediate offsets")
        if j.c.level < gfx8:
            offset = plain_number(j, o, 0, 0xffffffffLL) * 4
            if o.integer > 255 and j.c.level >= gfx7:
                j.d.literal = <uint32_t>o.integer
                j.d.has_literal = 1
        else:
            offset = plain_number(j, o, lowest, (1 << 23) - 1)
        j.d.immediate = <uint32_t>offset
        add_source(j, register_none, 1)
        return
    register = register_of(j, o, 1)
    if register >= 128 * 4:
        fail(&j.c, o.begin, b"% is not an offset", o.begin, o.end)
    j.d.immediate = <uint32_t>offset
    if both and offset == 0 and gfx9 <= j.c.level < gfx10:
        # an immediate of zero is encoded all the same
        j.d.modifiers = modifier_set_offen(j.d.modifiers, 1)
    add_source(j, <uint16_t>register_none if register == register_null else register, 1)


cdef void _prefetch(Job *j) noexcept nogil:
    cdef bint relative = j.d.opcode == op_s_prefetch_inst_pc_rel or j.d.opcode == op_s_prefetch_data_pc_rel
    cdef Operand *o = &j.s.operands[0]
    cdef uint16_t register
    if not expect_count(j, 3 if relative else 4):
        return
    if relative:
        add_source(j, register_none, 2)
    else:
        add_source(j, register_of(j, o, class_dwords_of(j, operand_class(j, 0))), class_dwords_of(j, operand_class(j, 0)))
        o += 1
    j.d.immediate = <uint32_t>plain_number(j, o, -(1 << 23), (1 << 23) - 1)
    register = register_of(j, o + 1, 1)
    add_source(j, <uint16_t>register_none if register == register_null else register, 1)
    add_source(j, <uint16_t>(plain_number(j, o + 2, 0, 127) * 4), 1)
    if j.c.level >= gfx12_5:
        cache_policy(j)


cdef uint32_t _policy_domain(const Job *j) noexcept nogil:
    if is_atomic(j.d.opcode):
        return domain_hint_atomic
    return domain_hint_load if j.facts[j.d.opcode] & fact_loads else domain_hint_store


cdef void cache_policy(Job *j) noexcept nogil:
    """Cache policy modifiers."""
    cdef uint64_t m = j.d.modifiers
    cdef const char *begin
    cdef int32_t hint
    if gfx942 <= j.c.level < gfx10 and j.d.format != format_smem:
        m = modifier_set_cache_glc(m, flag(j, given_sc0))
        m = modifier_set_cache_slc(m, flag(j, given_nt))
        j.d.modifiers = modifier_set_cache_sc1(m, flag(j, given_sc1))
        return
    if j.c.level < gfx12 and j.d.format == format_smem:
        # GFX6 and GFX7 have no policy here, and no scalar access has slc
        if j.c.level >= gfx8:
            m = modifier_set_cache_glc(m, flag(j, given_glc))
        if j.c.level >= gfx10:
            m = modifier_set_cache_dlc(m, flag(j, given_dlc))
        j.d.modifiers = m
        return
    if j.c.level < gfx12:
        m = modifier_set_cache_glc(m, flag(j, given_glc))
        m = modifier_set_cache_slc(m, flag(j, given_slc))
        if gfx90a <= j.c.level < gfx942:
            m = modifier_set_cache_sc1(m, flag(j, given_scc))
        if j.c.level >= gfx10:
            m = modifier_set_cache_dlc(m, flag(j, given_dlc))
        j.d.modifiers = m
        return
    if j.c.level >= gfx12_5:
        m = modifier_set_cache_nv(m, flag(j, given_nv))
    m = modifier_set_cache_scope(m, <uint64_t>ranged(j, given_scope, 0, 3, 0))
    if given(j, given_th):
        taken(j, given_th, 0)
        begin = j.s.value_positions[given_th]
        hint = find_name(j.c.names, _policy_domain(j), begin, <uint32_t>(word_end(begin) - begin))
        if hint < 0:
            fail(&j.c, j.s.positions[given_th], b"no such temporal hint here: %", begin, word_end(begin))
        m = modifier_set_cache_temporal_hint(m, <uint64_t>hint & 7)
        _check_hint(j, <uint32_t>hint, modifier_cache_scope(m))
    j.d.modifiers = m


cdef void _check_hint(Job *j, uint32_t hint, uint32_t scope) noexcept nogil:
    """Temporal hints that go with some scopes alone ("RDNA 4 ISA", cache policies)."""
    cdef const char *begin = j.s.value_positions[given_th]
    cdef const char *end = word_end(begin)
    cdef bint bypass = end - begin > 7 and memcmp(end - 6, b"BYPASS", 6) == 0
    if j.d.format == format_smem and hint > 3:
        fail(&j.c, begin, b"% is no hint of scalar memory", begin, end)
    elif is_atomic(j.d.opcode):
        if hint >= 4 and scope < 2:
            fail(&j.c, begin, b"% goes with SCOPE_DEV or SCOPE_SYS", begin, end)
        elif hint == 3 and scope == 3:
            fail(&j.c, begin, b"% does not go with SCOPE_SYS", begin, end)
    elif hint == 3 and bypass != (scope == 3):
        fail(&j.c, begin, b"BYPASS goes with SCOPE_SYS, and SCOPE_SYS with no other hint of this number: %", begin, end)


cdef inline bint returns(const Job *j) noexcept nogil:
    """Whether an atomic returns the value from before."""
    if j.c.level >= gfx12:
        return modifier_cache_temporal_hint(j.d.modifiers) & 1
    return modifier_cache_glc(j.d.modifiers)


# -------------------------------------------------------------------------------------------------------------------- LDS
cdef void ds(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef uint32_t definitions = opcode_definition_count[op]
    cdef uint32_t operands = opcode_operand_count[op]
    cdef uint32_t i
    if not expect_count(j, definitions + operands):
        return
    for i in range(definitions):
        add_destination(j, memory_register(j, &j.s.operands[i], class_dwords_of(j, definition_class(j, i))))
    for i in range(operands):
        add_class_source(j, memory_register(j, &j.s.operands[definitions + i], class_dwords_of(j, operand_class(j, i))), operand_class(j, i))
    if opcode_flags[op] & opcode_flag_two_offsets:
        j.d.immediate = <uint32_t>ranged(j, given_offset0, 0, 255, 0)
        j.d.immediate |= <uint32_t>ranged(j, given_offset1, 0, 255, 0) << 16
    else:
        j.d.immediate = <uint32_t>ranged(j, given_offset, 0, 0xffff, 0)
    j.d.modifiers = modifier_set_gds(j.d.modifiers, flag(j, given_gds))


# ---------------------------------------------------------------------------------------------------------------- buffers
cdef void _buffer_scalar_offset(Job *j, const Operand *o) noexcept nogil:
    if j.c.level >= gfx12 and o.kind != operand_register:
        fail(&j.c, o.begin, b"% is no scalar register, which the offset is here (null for none)", o.begin, o.end)
    add_source(j, address(j, o, 1), 1)


cdef void _buffer_modifiers(Job *j) noexcept nogil:
    cdef uint64_t m
    j.d.immediate = <uint32_t>ranged(j, given_offset, 0, (1 << 23) - 1, 0)
    cache_policy(j)
    m = j.d.modifiers
    m = modifier_set_offen(m, flag(j, given_offen))
    m = modifier_set_idxen(m, flag(j, given_idxen))
    if j.c.level < gfx8:
        m = modifier_set_addr64(m, flag(j, given_addr64))
    m = modifier_set_tfe(m, flag(j, given_tfe))
    m = modifier_set_lds(m, flag(j, given_lds) or j.d.opcode == op_buffer_store_lds_dword)
    if j.d.format == format_mtbuf:
        m = modifier_set_format(m, _buffer_format(j))
    j.d.modifiers = m


cdef void _buffer_data(Job *j) noexcept nogil:
    """The first operand: what is loaded, stored, or both."""
    cdef uint32_t op = j.d.opcode
    cdef uint32_t extra = modifier_tfe(j.d.modifiers)
    cdef bint loads = opcode_definition_count[op] != 0
    cdef uint32_t dwords = class_dwords_of(j, definition_class(j, 0) if loads else operand_class(j, 3))
    cdef uint16_t where
    if j.facts[op] & fact_unpacked:
        dwords = unpacked_dwords(op)
    if loads or is_atomic(op):
        dwords += extra
    where = memory_register(j, &j.s.operands[0], dwords)
    if loads:
        add_destination(j, where)
        return
    add_source(j, where, dwords)
    if is_atomic(op) and returns(j):
        add_destination(j, where)


cdef void buffer(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef uint64_t m
    cdef uint32_t address
    cdef bint has_data
    cdef Operand *o
    if opcode_operand_count[op] == 0:
        expect_count(j, 0)
        if gfx942 <= j.c.level < gfx10:
            cache_policy(j)
        return
    _buffer_modifiers(j)
    m = j.d.modifiers
    if op == op_buffer_store_lds_dword:
        # a resource and an offset alone, and always lds
        if expect_count(j, 2):
            add_source(j, register_of(j, &j.s.operands[0], 4), 4)
            add_source(j, register_none, 0)
            _buffer_scalar_offset(j, &j.s.operands[1])
        return
    has_data = (opcode_definition_count[op] or opcode_operand_count[op] > 3) and not modifier_lds(m)
    if not expect_count(j, 3 + has_data):
        return
    o = &j.s.operands[1 if has_data else 0]
    add_source(j, register_of(j, o + 1, 4), 4)
    address = modifier_offen(m) + modifier_idxen(m) + 2 * modifier_addr64(m)
    if (o.kind == operand_off) != (address == 0):
        fail_plain(&j.c, o.begin, b"vaddr is given with offen or idxen, off otherwise")
        return
    add_source(j, <uint16_t>register_none if address == 0 else vector_register(j, o, address), address)
    _buffer_scalar_offset(j, o + 2)
    if has_data:
        _buffer_data(j)


cdef uint32_t _buffer_format(Job *j) noexcept nogil:
    """The number of ``[NAME]`` or ``[DATA,NUMBER]``."""
    cdef Cursor inside
    cdef int64_t data = -1, number = -1, unified = -1
    cdef int32_t value
    cdef uint32_t named = 0
    cdef const char *end
    if given(j, given_dfmt) or given(j, given_nfmt):
        unified = ranged(j, given_dfmt, 0, 15, 1) | ranged(j, given_nfmt, 0, 7, 0) << 4
        return <uint32_t>(j.unified[unified] if j.c.level >= gfx10 else unified) & 127
    if not given(j, given_format):
        return 1
    taken(j, given_format, 0)
    inside = j.c
    inside.p = j.s.value_positions[given_format]
    if not accept(&inside, c'['):
        unified = number_expression(&inside)
    while unified < 0 and not inside.failed:
        end = word_end(inside.p)
        value = find_name(inside.names, domain_format, inside.p, <uint32_t>(end - inside.p))
        if value >= 0:
            unified = value
        else:
            value = find_name(inside.names, domain_data_format, inside.p, <uint32_t>(end - inside.p))
            if value >= 0:
                data = value
            else:
                value = find_name(inside.names, domain_number_format, inside.p, <uint32_t>(end - inside.p))
                number = value
            if value < 0:
                fail(&j.c, inside.p, b"no buffer format %", inside.p, end)
                return 1
        inside.p = end
        named += 1
        if named == (1 if unified >= 0 else 2) or not accept(&inside, c','):
            expect(&inside, c']')
            break
    if not inside.failed and named == 2 and (data < 0 or number < 0):
        fail_plain(&j.c, j.s.value_positions[given_format], b"a format has one data format and one number format")
    if unified < 0:
        unified = (data if data >= 0 else 1) | (number if number >= 0 else 0) << 4
        if j.c.level >= gfx10:
            unified = j.unified[unified & 127]
    if inside.failed or not 0 <= unified < 128:
        fail(&j.c, j.s.positions[given_format], b"no buffer format %", j.s.value_positions[given_format], word_end(j.s.value_positions[given_format]))
        return 1
    return <uint32_t>unified


# ------------------------------------------------------------------------------------------------------------ flat memory
cdef void _check_base(Job *j, const Operand *base) noexcept nogil:
    """GFX12.5 names a missing base ``null`` in one instruction alone, and flat loads and stores take no exec."""
    cdef uint16_t register = j.d.source[1]
    cdef bint missing = register == register_null and j.d.opcode != op_tensor_save and j.d.format != format_scratch
    if missing or (register == register_exec and exec_is_no_base(&j.d)):
        fail(&j.c, base.begin, b"% is not a base", base.begin, base.end)


cdef void flat(Job *j) noexcept nogil:
    cdef uint32_t op = j.d.opcode
    cdef uint32_t operands = opcode_operand_count[op]
    cdef bint loads = opcode_definition_count[op] != 0
    cdef bint global_address = j.d.format == format_global or (j.d.format == format_flat and j.c.level >= gfx12_5)
    cdef bint based = j.d.format != format_flat
    cdef bint stores = operands > (2 if j.d.format != format_flat else 1)
    cdef bint addressed = not opcode_flags[op] & opcode_flag_no_address
    cdef bint result, lds
    cdef uint32_t count = 0
    cdef uint32_t dwords
    cdef Operand *o = &j.s.operands[0]
    cdef Operand *base = &j.s.operands[0]
    cdef Operand *vaddr = NULL
    cdef Operand *data = NULL
    j.d.immediate = <uint32_t>ranged(j, given_offset, -(1 << 23), (1 << 23) - 1, 0)
    cache_policy(j)
    lds = flag(j, given_lds)
    if lds:
        j.d.modifiers = modifier_set_lds(j.d.modifiers, 1)
    if operands == 0:
        expect_count(j, 0)
        return
    result = (loads and not lds) or (is_atomic(op) and returns(j) and not loads)
    if j.d.format == format_flat and j.c.level >= gfx12_5 and result and not loads and j.s.count == <uint32_t>(addressed + stores + 1) \
            and j.s.operands[j.s.count - 1].address < 128 * 4 and j.s.operands[j.s.count - 1].kind == operand_register:
        # an atomic with a base: the hint that asks for a result does not give it one
        result = False
    if j.d.format == format_flat and j.c.level >= gfx12_5 and j.s.count == <uint32_t>(result + addressed + stores + 1):
        # flat accesses name a base only where they have one
        based = True
    if not expect_count(j, result + addressed + stores + based):
        return
    count = result
    if addressed:
        vaddr = o + count
        count += 1
    if stores:
        data = o + count
        count += 1
    if based:
        base = o + count
    if vaddr != NULL and vaddr.kind == operand_off and j.d.format != format_scratch:
        fail_plain(&j.c, vaddr.begin, b"the address is a VGPR here; scratch_* alone can be without one")
    if vaddr == NULL or vaddr.kind == operand_off:
        add_source(j, register_none, 1)
    else:
        dwords = 2 if not based or (global_address and base.kind == operand_off) else 1
        add_source(j, vector_register(j, vaddr, dwords), dwords)
    if op == op_tensor_save and base.kind == operand_off:
        fail_plain(&j.c, base.begin, b"no base is called null here")
    if not based or base.kind == operand_off:
        add_source(j, register_none, 1)
    else:
        dwords = 2 if global_address else 1
        add_source(j, register_of(j, base, dwords), dwords)
        if j.c.level >= gfx12_5:
            _check_base(j, base)
    _scaled_offset(j)
    if stores:
        dwords = class_dwords_of(j, operand_class(j, operands - 1))
        add_source(j, memory_register(j, data, dwords), dwords)
    if result:
        dwords = class_dwords_of(j, definition_class(j, 0) if loads else operand_class(j, operands - 1))
        if not loads and j.facts[op] & fact_compare_swap:
            dwords >>= 1
        dwords = transposed_dwords(op, j.c.wave_dwords, dwords)
        add_destination(j, memory_register(j, o, dwords))


# ---------------------------------------------------------------------------------------------------------------- tensors
cdef void tensor(Job *j) noexcept nogil:
    """The groups of a tensor's descriptor: two, or four of which the last two may be left out."""
    cdef uint32_t i, dwords
    cdef uint16_t group
    if j.s.count != 2 and not expect_count(j, 4):
        return
    for i in range(4):
        dwords = class_dwords_of(j, operand_class(j, i))
        if i < j.s.count:
            group = register_of(j, &j.s.operands[i], dwords)
            if group >= 128 * 4:
                fail(&j.c, j.s.operands[i].begin, b"% is no scalar register", j.s.operands[i].begin, j.s.operands[i].end)
            if group == register_null and i < 2:
                fail_plain(&j.c, j.s.operands[i].begin, b"the first two groups of a tensor's descriptor are not null")
            add_source(j, group, dwords)
        else:
            add_source(j, register_none, dwords)
    cache_policy(j)
