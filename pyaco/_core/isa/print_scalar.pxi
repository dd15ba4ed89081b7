# Text of scalar ALU and scalar memory.
# ------------------------------------------------------------------------------------------------------------- scalar ALU
cdef void salu(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint32_t i
    cdef uint32_t position = 0
    put_opcode(t, d.opcode)
    for i in range(d.destination_count):
        separate(t, position)
        position += 1
        put_destination(t, d, i)
    for i in range(d.source_count):
        if opcode_flags[d.opcode] & opcode_flag_tied and i == 2:
            continue
        separate(t, position)
        position += 1
        # the literal of a multiplication by a constant stands between the sources in text
        put_operand(t, d, 3 - i if t.facts[d.opcode] & fact_multiply_constant and i else i)
    if (d.opcode == op_s_setpc_b64 or d.opcode == op_s_rfe_b64 or d.opcode == op_s_cbranch_join) \
            and d.source[0] >= 128 * 4:
        t.has_no_syntax = True
    if d.opcode == op_s_set_gpr_idx_on:
        separate(t, position)
        _index_mode(t, d.immediate)
    elif t.facts[d.opcode] & fact_message:
        put_text(t, b", sendmsg(")
        if has_name(t, domain_message, d.immediate):
            put_name(t, domain_message, d.immediate)
        else:
            put_number(t, d.immediate)
            put_text(t, b", 0, 0")
        put(t, c')')


cdef void _index_mode(Printer *t, uint32_t value) noexcept nogil:
    """Which operands VGPR indexing of GFX8 and GFX9 applies to."""
    cdef uint32_t bit
    cdef bint first = True
    if value > 15:
        t.has_no_syntax = True
        return
    put_text(t, b"gpr_idx(")
    for bit in range(4):
        if value >> bit & 1:
            if not first:
                put(t, c',')
            put_name(t, domain_index_mode, bit)
            first = False
    put(t, c')')


cdef void sopk(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint32_t facts = t.facts[d.opcode]
    cdef uint32_t imm = d.immediate
    put_opcode(t, d.opcode)
    put(t, c' ')
    if facts & fact_setreg:
        _hardware_register(t, imm)
        put_comma(t)
        put_operand(t, d, 0)
        return
    if d.opcode == op_s_version:
        put_hex(t, imm)
        return
    if d.destination_count:
        put_destination(t, d, 0)
    else:
        put_operand(t, d, 0)
    put_comma(t)
    if facts & fact_getreg:
        _hardware_register(t, imm)
    elif facts & fact_branch:
        _branch_target(t, imm)
    else:
        if facts & fact_waits_with_register and d.source[0] != register_null and t.level >= gfx11:
            # later assemblers take no other register
            t.has_no_syntax = True
        put_immediate(t, d, 0)


cdef void _hardware_register(Printer *t, uint32_t value) noexcept nogil:
    """The operand of s_getreg_b32 and s_setreg_b32."""
    cdef uint32_t number = value & 63, offset = value >> 6 & 31, size = (value >> 11) + 1
    put_text(t, b"hwreg(")
    if has_name(t, domain_hardware_register, number):
        put_name(t, domain_hardware_register, number)
    else:
        put_number(t, number)
    if offset or size != 32:
        put_comma(t)
        put_number(t, offset)
        put_comma(t)
        put_number(t, size)
    put(t, c')')


cdef void _branch_target(Printer *t, uint32_t distance) noexcept nogil:
    """A gap for the label, or for the distance if the target is outside the code."""
    t.target = 1 + (<int32_t>(distance << 16) >> 16)
    t.gap = t.p


cdef void sopp(Printer *t, const Decoded *d) noexcept nogil:
    cdef const char *begin
    put_opcode(t, d.opcode)
    if not t.facts[d.opcode] & fact_immediate or (d.opcode == op_s_endpgm and d.immediate == 0):
        if d.immediate:
            t.has_no_syntax = True
        return
    put(t, c' ')
    begin = t.p
    sopp_operand(t, d.opcode, d.immediate)
    note_immediate(t, value_scalar, begin, 0xffffffffU, 0, NULL)


cdef void sopp_operand(Printer *t, uint16_t opcode, uint32_t value) noexcept nogil:
    if t.facts[opcode] & fact_branch:
        _branch_target(t, value)
    elif opcode == op_s_waitcnt:
        _wait_counters(t, value)
    elif opcode == op_s_waitcnt_depctr:
        _dependency_counters(t, value)
    elif opcode == op_s_delay_alu:
        _delay(t, value)
    elif t.facts[opcode] & fact_message:
        _message(t, value)
    elif opcode == op_s_set_gpr_idx_mode:
        _index_mode(t, value)
    elif opcode == op_s_nop or opcode == op_s_sleep or opcode == op_s_setprio or opcode == op_s_trap:
        put_number(t, value)
    elif opcode == op_s_barrier_wait:
        put_signed(t, <int32_t>(value << 16) >> 16)
    else:
        put_hex(t, value)


cdef void _wait_counters(Printer *t, uint32_t value) noexcept nogil:
    """The operand of s_waitcnt; counters at their maximum are left out."""
    cdef uint32_t encoded = 0
    cdef uint32_t i
    cdef bint all_of_them = True
    cdef bint first = True
    for i in range(<uint32_t>waitcnt_counters):
        encoded = waitcnt_set(encoded, t.level, i, waitcnt_get(value, t.level, i))
        all_of_them = all_of_them and waitcnt_get(value, t.level, i) == waitcnt_limit(t.level, i)
    if encoded != value:
        put_hex(t, value)
        return
    for i in range(<uint32_t>waitcnt_counters):
        if all_of_them or waitcnt_get(value, t.level, i) != waitcnt_limit(t.level, i):
            if not first:
                put(t, c' ')
            put_name(t, domain_wait, i)
            put(t, c'(')
            put_number(t, waitcnt_get(value, t.level, i))
            put(t, c')')
            first = False


cdef void list_dependencies(Printer *t) noexcept nogil:
    cdef uint32_t width, first
    t.dependency_count = 0
    for width in range(1, (t.names.counts[domain_dependency] + 0xff) >> 8):
        for first in range(16):
            if has_name(t, domain_dependency, width << 8 | first):
                t.dependencies[t.dependency_count] = <uint16_t>(width << 8 | first)
                t.dependency_count += 1


cdef void _dependency_counters(Printer *t, uint32_t value) noexcept nogil:
    """The operand of s_waitcnt_depctr: counters by their first bit and width."""
    cdef uint32_t i, mask
    cdef uint32_t rest = value
    cdef bint first = True
    cdef char *begin = t.p
    for i in range(t.dependency_count):
        mask = depctr_mask(t.dependencies[i])
        rest |= mask
        if value & mask != mask:
            if not first:
                put(t, c' ')
            put_name(t, domain_dependency, t.dependencies[i])
            put(t, c'(')
            put_number(t, depctr_get(value, t.dependencies[i]))
            put(t, c')')
            first = False
    if rest != depctr_none(t.level) or first:
        t.p = begin
        put_hex(t, value)


cdef void _delay(Printer *t, uint32_t value) noexcept nogil:
    """The operand of s_delay_alu."""
    cdef uint32_t first = value & 15, skip = value >> 4 & 7, second = value >> 7 & 15
    cdef bint started = False
    if value >> 11 or not has_name(t, domain_delay, first) or not has_name(t, domain_skip, skip) \
            or not has_name(t, domain_delay, second):
        put_hex(t, value)
        return
    if first or not value:
        put_text(t, b"instid0(")
        put_name(t, domain_delay, first)
        put(t, c')')
        started = True
    if skip:
        put_text(t, b" | instskip(" if started else b"instskip(")
        put_name(t, domain_skip, skip)
        put(t, c')')
        started = True
    if second:
        put_text(t, b" | instid1(" if started else b"instid1(")
        put_name(t, domain_delay, second)
        put(t, c')')


cdef void _message(Printer *t, uint32_t value) noexcept nogil:
    """The operand of s_sendmsg."""
    cdef uint32_t number = value if t.level >= gfx11 else value & 15
    cdef uint32_t operation = value >> 4 & 7, stream = value >> 8 & 3
    cdef bint whole = t.level >= gfx11 or value & ~0x37fU == 0    # bit 7 is in no field
    cdef bint system = number == 15
    cdef bint geometry = number == 2 or number == 3
    if t.level >= gfx11:
        operation = stream = 0
        system = geometry = False
    if geometry:
        whole = whole and operation <= 3 and not (operation == 0 and (number == 2 or stream))
    elif system:
        whole = whole and has_name(t, domain_system_operation, operation) and stream == 0
    else:
        whole = whole and operation == 0 and stream == 0
    if not whole or not has_name(t, domain_message, number):
        put_number(t, value)
        return
    put_text(t, b"sendmsg(")
    put_name(t, domain_message, number)
    if system:
        put_comma(t)
        put_name(t, domain_system_operation, operation)
    elif geometry:
        put_comma(t)
        put_name(t, domain_gs_operation, operation)
        if operation:
            put_comma(t)
            put_number(t, stream)
    put(t, c')')


# ---------------------------------------------------------------------------------------------------------- scalar memory
cdef void smem(Printer *t, const Decoded *d) noexcept nogil:
    cdef int32_t offset = <int32_t>d.immediate
    put_opcode(t, d.opcode)
    if d.source_count == 0:
        if d.destination_count:
            put(t, c' ')
            put_destination(t, d, 0)
        t.has_no_syntax = t.has_no_syntax or d.modifiers != 0
        return
    put(t, c' ')
    if t.facts[d.opcode] & fact_prefetch:
        _prefetch(t, d, offset)
        return
    if d.opcode == op_s_atc_probe or d.opcode == op_s_atc_probe_buffer:
        # LLVM 23 gives it every policy from GFX12 on but this
        t.has_no_syntax = t.has_no_syntax or modifier_cache_scale_offset(d.modifiers) != 0
        put_number(t, _field_of(t, d.source[2]))
        put_comma(t)
    elif d.opcode == op_s_dcache_discard or d.opcode == op_s_dcache_discard_x2:
        t.has_no_syntax = t.has_no_syntax or d.source[2] != 0 or modifier_set_offen(d.modifiers, 0) != 0
    else:
        if d.source_count > 2:
            put_register(t, &d.source[2], d.source_bytes[2])
        else:
            put_destination(t, d, 0)
        if register_m0 <= (d.source[2] if d.source_count > 2 else d.destination[0]) < 128 * 4 and gfx9 < t.level < gfx10:
            # neither m0 nor exec can be loaded or stored
            t.has_no_syntax = True
        put_comma(t)
    put_operand(t, d, 0)
    if offset < 0 and d.source_bytes[0] == 16:
        # buffers have no negative offsets
        t.has_no_syntax = True
    put_comma(t)
    if d.source[1] == register_none:
        if t.level < gfx8:
            # these count dwords
            if d.has_literal:
                put_hex(t, d.literal)
            else:
                put_immediate(t, d, 2)
        else:
            put_immediate(t, d, 0)
    else:
        put_operand(t, d, 1)
        if offset or t.level >= gfx10 or modifier_offen(d.modifiers):
            put_text(t, b" offset:")
            put_immediate(t, d, 0)
    cache_policy(t, d)


cdef void _prefetch(Printer *t, const Decoded *d, int32_t offset) noexcept nogil:
    if d.modifiers and (t.level < gfx12_5 or modifier_cache_scale_offset(d.modifiers)):
        # before GFX12.5 assemblers take no cache policy here
        t.has_no_syntax = True
    if d.opcode != op_s_prefetch_inst_pc_rel and d.opcode != op_s_prefetch_data_pc_rel:
        put_operand(t, d, 0)
        put_comma(t)
        if offset < 0 and d.opcode == op_s_buffer_prefetch_data:
            t.has_no_syntax = True
    put_signed_hex(t, offset)
    put_comma(t)
    if d.source[1] == register_none:
        put_text(t, b"null")
    else:
        put_operand(t, d, 1)
    put_comma(t)
    put_number(t, d.source[2] >> 2)
    cache_policy(t, d)


cdef inline uint32_t _field_of(const Printer *t, uint16_t address) noexcept nogil:
    """The code of a field that is a number although it reads like a register."""
    return exchanged_code(t.level, address >> 2)


cdef void cache_policy(Printer *t, const Decoded *d) noexcept nogil:
    """Cache policy of a memory access."""
    cdef uint64_t m = d.modifiers
    if t.level >= gfx12:
        _policy_12(t, d)
    elif gfx942 <= t.level < gfx10 and d.format != format_smem:
        if modifier_cache_glc(m):
            put_text(t, b" sc0")
        if modifier_cache_slc(m):
            put_text(t, b" nt")
        if modifier_cache_sc1(m):
            put_text(t, b" sc1")
    else:
        if modifier_cache_glc(m):
            put_text(t, b" glc")
        if modifier_cache_slc(m):
            put_text(t, b" slc")
        if t.level == gfx90a:
            if modifier_cache_sc1(m):
                put_text(t, b" scc")
        elif modifier_cache_dlc(m):
            put_text(t, b" dlc")


cdef void _policy_12(Printer *t, const Decoded *d) noexcept nogil:
    """Temporal hint and scope; an access without either kind of hint takes a scope alone."""
    cdef uint32_t hint = modifier_cache_temporal_hint(d.modifiers)
    cdef uint32_t scope = modifier_cache_scope(d.modifiers)
    cdef uint32_t domain = domain_hint_store
    if is_atomic(d.opcode):
        domain = domain_hint_atomic
    elif t.facts[d.opcode] & fact_loads:
        domain = domain_hint_load
    if modifier_cache_scale_offset(d.modifiers):
        t.has_no_syntax = t.has_no_syntax or not takes_scale_offset(d)
        put_text(t, b" scale_offset")
    if hint:
        if t.facts[d.opcode] & fact_scope_alone \
                or (domain == domain_hint_atomic and ((hint >= 4 and scope < 2) or (hint == 3 and scope == 3))):
            t.has_no_syntax = True
        put_text(t, b" th:")
        if hint == 3 and scope == 3 and domain != domain_hint_atomic:
            put_text(t, b"TH_LOAD_BYPASS" if domain == domain_hint_load else b"TH_STORE_BYPASS")
        else:
            put_name(t, domain, hint)
    if scope:
        put_text(t, b" scope:")
        put_name(t, domain_scope, scope)
    if modifier_cache_nv(d.modifiers):
        put_text(t, b" nv")
