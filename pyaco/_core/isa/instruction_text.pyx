"""Text of one instruction, whichever: the complete printer.

An instruction that the syntax cannot say (registers that do not exist, bits that no modifier names) sets ``Printer.unsayable``.
Syntax: "Syntax of AMDGPU Instruction Operands" and "Syntax of AMDGPU Instruction Modifiers" of the LLVM manual. Names come from
``text_tables.pxd``.
"""
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from isa_tables cimport (can_use_input_modifiers, image_flag_bvh, image_flag_bias, image_flag_compare, image_flag_gradients, image_flag_offset,
                         implicit_exec, is_atomic, opcode_definition_count, opcode_flag_interpolation, opcode_flag_literal, opcode_flag_matrix,
                         opcode_image, opcode_flag_neg0, opcode_flag_neg1, opcode_flag_neg2, opcode_flag_no_address, opcode_flag_one_form,
                         opcode_flag_opsel, opcode_flag_tied, opcode_flag_two_offsets, opcode_flags, opcode_format, opcode_implicit_definitions,
                         opcode_operand_count)
from modifiers cimport *
from pyaco._core.common.machine cimport *
from pyaco._core.isa.decode cimport Decoded
from pyaco._core.isa.encode cimport form_error, scalar_reads_fit
from pyaco._core.isa.text_facts cimport *
from pyaco._core.isa.text_tables cimport *

cdef enum:
    valu_one_dword = format_vop1 | format_vop2 | format_vopc


# ------------------------------------------------------------------------------------------------------------------ names
cdef inline void put_name(Printer *t, uint32_t domain, uint32_t value) noexcept nogil:
    """A name that has to exist."""
    cdef Span span = name_of(t.names, domain, value)
    if span.text == NULL:
        t.unsayable = True
    else:
        put_span(t, span)


cdef inline bint has_name(const Printer *t, uint32_t domain, uint32_t value) noexcept nogil:
    return name_of(t.names, domain, value).text != NULL


cdef void put_word(Printer *t, uint32_t word) noexcept nogil:
    """Eight digits."""
    put_text(t, b"0x")
    put_digits(t, word, 28)


cdef void put_bits(Printer *t, const char *name, uint32_t value, uint32_t count) noexcept nogil:
    """`` name:[0,1]``"""
    cdef uint32_t i
    put_text(t, name)
    put(t, c'[')
    for i in range(count):
        if i:
            put(t, c',')
        put(t, <char>(c'0' + (value >> i & 1)))
    put(t, c']')


cdef inline void put_comma(Printer *t) noexcept nogil:
    t.p[0] = c','
    t.p[1] = c' '
    t.p += 2


cdef inline void separate(Printer *t, uint32_t position) noexcept nogil:
    """What stands before the operand of a position: a blank behind the mnemonic, a comma later."""
    if position:
        put_comma(t)
    else:
        put(t, c' ')


# ----------------------------------------------------------------------------------------------------------------- values
cdef Value *note(Printer *t, uint32_t kind, const char *begin) noexcept nogil:
    """Note the value whose text goes from `begin` to here; NULL where nobody wants to know."""
    cdef Value *value
    if t.values == NULL:
        return NULL
    t.values.count += 1
    if t.values.count > value_limit:
        return NULL
    value = &t.values.items[t.values.count - 1]
    value.kind = kind
    value.begin = begin
    value.end = t.p
    return value


cdef inline void note_operand(Printer *t, uint32_t kind, const char *begin, const uint16_t *slot, uint32_t size) noexcept nogil:
    cdef Value *value = note(t, kind, begin)
    if value != NULL:
        value.slot = slot
        value.size = size


cdef inline void note_immediate(Printer *t, uint32_t kind, const char *begin, uint32_t bits, uint32_t shift, const char *name) noexcept nogil:
    cdef Value *value = note(t, kind, begin)
    if value != NULL:
        value.bits = bits
        value.shift = shift
        value.name = name


cdef void put_immediate(Printer *t, const Decoded *d, uint32_t shift) noexcept nogil:
    """The immediate in hexadecimal digits, without its lowest bits."""
    cdef const char *begin = t.p
    put_signed_hex(t, <int32_t>d.immediate >> shift)
    note_immediate(t, value_hexadecimal, begin, 0xffffffffU, shift, NULL)


# -------------------------------------------------------------------------------------------------------------- registers
cdef void put_range(Printer *t, const char *prefix, uint32_t first, uint32_t dwords) noexcept nogil:
    put_text(t, prefix)
    if dwords <= 1:
        put_number(t, first)
        return
    put(t, c'[')
    put_number(t, first)
    put(t, c':')
    put_number(t, first + dwords - 1)
    put(t, c']')


cdef void named_pair(Printer *t, const char *name, uint32_t half, uint32_t dwords) noexcept nogil:
    if dwords > 2 or (dwords == 2 and half):
        t.unsayable = True
    put_text(t, name)
    if dwords == 1:
        put_text(t, b"_hi" if half else b"_lo")


cdef inline bint is_aligned(uint32_t number, uint32_t dwords) noexcept nogil:
    """SGPR tuples are aligned to their size, four at most."""
    if dwords <= 1:
        return True
    return number % 4 == 0 if dwords > 2 else number % 2 == 0


cdef void scalar_register(Printer *t, uint32_t code, uint32_t dwords) noexcept nogil:
    cdef uint32_t sgprs = 106 if t.level >= gfx10 else 102 if t.level >= gfx8 else 104
    if code + dwords <= sgprs:
        if not is_aligned(code, dwords):
            t.unsayable = True
        put_range(t, b"s", code, dwords)
    elif code >= 128:
        special(t, code)
    elif code == 126 and dwords == 2:
        put_text(t, b"exec")
    elif code == 125 and t.level >= gfx10:
        put_text(t, b"null")
    elif code == 106 and dwords == 2:
        put_text(t, b"vcc")
    elif t.level < gfx10 and code < 106 and code >= sgprs:
        if t.level < gfx8 or code < 104:
            named_pair(t, b"flat_scratch", code & 1, dwords)
        else:
            named_pair(t, b"xnack_mask", code & 1, dwords)
    elif t.level < gfx9 and 108 <= code < 112:
        named_pair(t, b"tba" if code < 110 else b"tma", code & 1, dwords)
    elif 108 <= code < 124:
        trap_register(t, code, dwords)
    elif dwords == 1 or (code == 125 and dwords == 2 and t.wide_null):
        put_name(t, domain_register_text, code)
    else:
        t.unsayable = True


cdef void trap_register(Printer *t, uint32_t code, uint32_t dwords) noexcept nogil:
    cdef uint32_t first = 108 if t.level >= gfx9 else 112
    if code + dwords > 124 or not is_aligned(code, dwords) or dwords == 3:
        # there are no triples of them
        t.unsayable = True
    put_range(t, b"ttmp", code - first, dwords)


cdef void special(Printer *t, uint32_t code) noexcept nogil:
    """Source codes that are neither SGPRs nor constants."""
    if (235 <= code <= 238 and t.level >= gfx9) or (code == 239 and gfx9 <= t.level < gfx11) \
            or ((code == 251 or code == 252) and t.level < gfx11) or code == 253:
        put_name(t, domain_register_text, code)
    else:
        t.unsayable = True


cdef void register_text(Printer *t, uint16_t address, uint32_t size) noexcept nogil:
    cdef uint32_t dwords = (size + 3) >> 2 if size else t.mask_dwords
    cdef uint32_t code = address >> 2
    if code < 256:
        scalar_register(t, code, dwords)
        return
    if address == register_none or (code & 0xff) + dwords > 256:
        t.unsayable = True
    elif dwords > 1 and code & 1 and gfx90a <= t.level < gfx10 and not t.any_register:
        # these generations align tuples of vector registers
        t.unsayable = True
    elif code >= 512:
        put_range(t, b"a", code & 0xff, dwords)
    elif dwords == 1:
        put_span(t, name_of(t.names, domain_register_text, code))
        if size == 2 and t.true16:
            put_text(t, b".h" if address & 2 else b".l")
    else:
        put_range(t, b"v", code & 0xff, dwords)


cdef void put_register(Printer *t, const uint16_t *slot, uint32_t size) noexcept nogil:
    """A register, where it stands in the instruction."""
    cdef const char *begin = t.p
    register_text(t, slot[0], size)
    note_operand(t, value_operand, begin, slot, size)


cdef void operand_text(Printer *t, const Decoded *d, uint32_t position) noexcept nogil:
    cdef uint32_t code = d.source[position] >> 2
    cdef uint32_t size = d.source_bytes[position]
    if code == 255:
        put_literal(t, d)
    elif code >= 256:
        register_text(t, d.source[position], size)
    elif 128 <= code <= 208 or 240 <= code <= 248:
        if code == 248 and (size == 8 or t.facts[d.opcode] & fact_double_matrix or (t.level < gfx12 and t.facts[d.opcode] & fact_wave_matrix)):
            put_text(t, b"0.15915494309189532")
        else:
            put_name(t, domain_register_text, code)
    elif code == 254 and t.level < gfx11 and not gfx90a <= t.level < gfx10:
        # form_error says where it can be
        put_text(t, b"src_lds_direct")
    else:
        register_text(t, d.source[position], size)


cdef void put_operand(Printer *t, const Decoded *d, uint32_t position) noexcept nogil:
    """A source, where it stands in the instruction."""
    cdef const char *begin = t.p
    operand_text(t, d, position)
    note_operand(t, literal_kind(t, d, position) if d.source[position] == 255 * 4 else value_operand, begin, &d.source[position],
                 d.source_bytes[position])


cdef bint is_inline_value(uint32_t value) noexcept nogil:
    if value <= 64 or value >= 0xfffffff0U or 0xfff0 <= value <= 0xffff or value == 0x3e22f983 or value == 0x3118:
        return True
    # 0.5, 1, 2, 4 of 32 and 16 bits
    if value & 0x7fffff == 0 and 0x7e <= (value >> 23 & 0xff) <= 0x81:
        return True
    return value >> 16 == 0 and value & 0x3ff == 0 and 14 <= (value >> 10 & 31) <= 17


cdef inline bint has_half_literals(const Printer *t, const Decoded *d, uint32_t position) noexcept nogil:
    """Whether assemblers take 16 bits alone for the literal of a source."""
    if d.opcode == op_v_cvt_pk_f32_fp8 or d.opcode == op_v_cvt_pk_f32_bf8:
        return t.level >= gfx12
    return d.source_bytes[position] == 2 or t.facts[d.opcode] & fact_scalar_half != 0 or d.opcode == op_v_cvt_f32_bf16


cdef uint32_t literal_kind(const Printer *t, const Decoded *d, uint32_t position) noexcept nogil:
    if has_half_literals(t, d, position):
        return value_half_literal
    # there is nothing to tell it from where a literal has to be, or no constant can be
    return value_plain_literal if opcode_flags[d.opcode] & opcode_flag_literal or d.format == format_sopk else value_literal


cdef void put_literal(Printer *t, const Decoded *d) noexcept nogil:
    """A literal; marked as one where assemblers would take an inline constant for its value."""
    cdef uint32_t i
    if d.literal > 0xffff:
        for i in range(d.source_count):
            if d.source[i] == 255 * 4 and has_half_literals(t, d, i):
                # text has 16 bits for a 16-bit operand
                t.unsayable = True
    if opcode_flags[d.opcode] & opcode_flag_literal or d.format == format_sopk or not is_inline_value(d.literal):
        put_hex(t, d.literal)
        return
    put_text(t, b"lit(")
    put_hex(t, d.literal)
    put(t, c')')


cdef inline void put_destination(Printer *t, const Decoded *d, uint32_t position) noexcept nogil:
    put_register(t, &d.destination[position], d.destination_bytes[position])


cdef void put_modified(Printer *t, const Decoded *d, uint32_t position, uint32_t neg, uint32_t magnitude) noexcept nogil:
    """A source with its sign and magnitude modifiers."""
    cdef bint negative = (neg >> position & 1) != 0
    if magnitude >> position & 1:
        if d.source[position] == 255 * 4 and d.source_bytes[position] == 8:
            # a literal of half the bits has no magnitude
            t.unsayable = True
        if negative:
            put(t, c'-')
        put(t, c'|')
        put_operand(t, d, position)
        put(t, c'|')
    elif d.source[position] == 255 * 4 and d.source_bytes[position] == 8 and negative:
        t.unsayable = True
    elif negative and 128 <= d.source[position] >> 2 < 256:
        # before a constant the minus sign would be part of its value
        put_text(t, b"neg(")
        put_operand(t, d, position)
        put(t, c')')
    else:
        if negative:
            put(t, c'-')
        put_operand(t, d, position)


cdef inline void put_opcode(Printer *t, uint32_t opcode) noexcept nogil:
    put_span(t, name_of(t.names, domain_spelling, opcode))


# ------------------------------------------------------------------------------------------------------------- scalar ALU
cdef void salu(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint32_t i
    cdef uint32_t place = 0
    put_opcode(t, d.opcode)
    for i in range(d.destination_count):
        separate(t, place)
        place += 1
        put_destination(t, d, i)
    for i in range(d.source_count):
        if opcode_flags[d.opcode] & opcode_flag_tied and i == 2:
            continue
        separate(t, place)
        place += 1
        # the literal of a multiplication by a constant stands between the sources in text
        put_operand(t, d, 3 - i if t.facts[d.opcode] & fact_multiply_constant and i else i)
    if (d.opcode == op_s_setpc_b64 or d.opcode == op_s_rfe_b64 or d.opcode == op_s_cbranch_join) \
            and d.source[0] >= 128 * 4:
        t.unsayable = True
    if d.opcode == op_s_set_gpr_idx_on:
        separate(t, place)
        index_mode(t, d.immediate)
    elif t.facts[d.opcode] & fact_message:
        put_text(t, b", sendmsg(")
        if has_name(t, domain_message, d.immediate):
            put_name(t, domain_message, d.immediate)
        else:
            put_number(t, d.immediate)
            put_text(t, b", 0, 0")
        put(t, c')')


cdef void index_mode(Printer *t, uint32_t value) noexcept nogil:
    """Which operands VGPR indexing of GFX8 and GFX9 applies to."""
    cdef uint32_t bit
    cdef bint first = True
    if value > 15:
        t.unsayable = True
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
        hardware_register(t, imm)
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
        hardware_register(t, imm)
    elif facts & fact_branch:
        branch_target(t, imm)
    else:
        if facts & fact_waits_with_register and d.source[0] != register_null and t.level >= gfx11:
            # later assemblers take no other register
            t.unsayable = True
        put_immediate(t, d, 0)


cdef void hardware_register(Printer *t, uint32_t value) noexcept nogil:
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


cdef void branch_target(Printer *t, uint32_t distance) noexcept nogil:
    """A gap for the label, or for the distance if the target is outside the code."""
    t.target = 1 + (<int32_t>(distance << 16) >> 16)
    t.gap = t.p


cdef void sopp(Printer *t, const Decoded *d) noexcept nogil:
    cdef const char *begin
    put_opcode(t, d.opcode)
    if not t.facts[d.opcode] & fact_immediate or (d.opcode == op_s_endpgm and d.immediate == 0):
        if d.immediate:
            t.unsayable = True
        return
    put(t, c' ')
    begin = t.p
    sopp_operand(t, d.opcode, d.immediate)
    note_immediate(t, value_scalar, begin, 0xffffffffU, 0, NULL)


cdef void sopp_operand(Printer *t, uint16_t opcode, uint32_t value) noexcept nogil:
    if t.facts[opcode] & fact_branch:
        branch_target(t, value)
    elif opcode == op_s_waitcnt:
        wait_counters(t, value)
    elif opcode == op_s_waitcnt_depctr:
        dependency_counters(t, value)
    elif opcode == op_s_delay_alu:
        delay(t, value)
    elif t.facts[opcode] & fact_message:
        message(t, value)
    elif opcode == op_s_set_gpr_idx_mode:
        index_mode(t, value)
    elif opcode == op_s_nop or opcode == op_s_sleep or opcode == op_s_setprio or opcode == op_s_trap:
        put_number(t, value)
    elif opcode == op_s_barrier_wait:
        put_signed(t, <int32_t>(value << 16) >> 16)
    else:
        put_hex(t, value)


cdef void wait_counters(Printer *t, uint32_t value) noexcept nogil:
    """The operand of s_waitcnt; counters at their maximum are left out."""
    cdef uint32_t encoded = 0
    cdef uint32_t i
    cdef bint all_of_them = True
    cdef bint first = True
    for i in range(3):
        encoded = set_wait(encoded, t.level, i, get_wait(value, t.level, i))
        all_of_them = all_of_them and get_wait(value, t.level, i) == wait_limit(t.level, i)
    if encoded != value:
        put_hex(t, value)
        return
    for i in range(3):
        if all_of_them or get_wait(value, t.level, i) != wait_limit(t.level, i):
            if not first:
                put(t, c' ')
            put_name(t, domain_wait, i)
            put(t, c'(')
            put_number(t, get_wait(value, t.level, i))
            put(t, c')')
            first = False


cdef void list_dependencies(Printer *t) noexcept nogil:
    cdef uint32_t width, place
    t.dependency_count = 0
    for width in range(1, (t.names.counts[domain_dependency] + 0xff) >> 8):
        for place in range(16):
            if has_name(t, domain_dependency, width << 8 | place):
                t.dependencies[t.dependency_count] = <uint16_t>(width << 8 | place)
                t.dependency_count += 1


cdef void dependency_counters(Printer *t, uint32_t value) noexcept nogil:
    """The operand of s_waitcnt_depctr: counters by their place and width."""
    cdef uint32_t i, place, mask
    cdef uint32_t rest = value
    cdef bint first = True
    cdef char *begin = t.p
    for i in range(t.dependency_count):
        place = t.dependencies[i] & 15
        mask = (1U << (t.dependencies[i] >> 8)) - 1
        rest |= mask << place
        if value >> place & mask != mask:
            if not first:
                put(t, c' ')
            put_name(t, domain_dependency, t.dependencies[i])
            put(t, c'(')
            put_number(t, value >> place & mask)
            put(t, c')')
            first = False
    if rest != no_dependency(t.level) or first:
        t.p = begin
        put_hex(t, value)


cdef void delay(Printer *t, uint32_t value) noexcept nogil:
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


cdef void message(Printer *t, uint32_t value) noexcept nogil:
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
        t.unsayable = t.unsayable or d.modifiers != 0
        return
    put(t, c' ')
    if t.facts[d.opcode] & fact_prefetch:
        prefetch(t, d, offset)
        return
    if d.opcode == op_s_atc_probe or d.opcode == op_s_atc_probe_buffer:
        put_number(t, field_of(t, d.source[2]))
        put_comma(t)
    elif d.opcode == op_s_dcache_discard or d.opcode == op_s_dcache_discard_x2:
        t.unsayable = t.unsayable or d.source[2] != 0 or modifier_set_offen(d.modifiers, 0) != 0
    else:
        if d.source_count > 2:
            put_register(t, &d.source[2], d.source_bytes[2])
        else:
            put_destination(t, d, 0)
        if register_m0 <= (d.source[2] if d.source_count > 2 else d.destination[0]) < 128 * 4 and gfx9 < t.level < gfx10:
            # neither m0 nor exec can be loaded or stored
            t.unsayable = True
        put_comma(t)
    put_operand(t, d, 0)
    if offset < 0 and d.source_bytes[0] == 16:
        # buffers have no negative offsets
        t.unsayable = True
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


cdef void prefetch(Printer *t, const Decoded *d, int32_t offset) noexcept nogil:
    if d.modifiers:
        # assemblers take no cache policy here
        t.unsayable = True
    if d.opcode != op_s_prefetch_inst_pc_rel and d.opcode != op_s_prefetch_data_pc_rel:
        put_operand(t, d, 0)
        put_comma(t)
        if offset < 0 and d.opcode == op_s_buffer_prefetch_data:
            t.unsayable = True
    put_signed_hex(t, offset)
    put_comma(t)
    if d.source[1] == register_none:
        put_text(t, b"null")
    else:
        put_operand(t, d, 1)
    put_comma(t)
    put_number(t, d.source[2] >> 2)


cdef inline uint32_t field_of(const Printer *t, uint16_t address) noexcept nogil:
    """The code of a field that is a number although it reads like a register."""
    cdef uint32_t code = address >> 2
    return code ^ 1 if t.level >= gfx11 and (code == 124 or code == 125) else code


cdef void cache_policy(Printer *t, const Decoded *d) noexcept nogil:
    """Cache policy of a memory access."""
    cdef uint64_t m = d.modifiers
    if t.level >= gfx12:
        policy_12(t, d)
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


cdef void policy_12(Printer *t, const Decoded *d) noexcept nogil:
    """Temporal hint and scope; an access without either kind of hint takes a scope alone."""
    cdef uint32_t hint = modifier_cache_temporal_hint(d.modifiers)
    cdef uint32_t scope = modifier_cache_scope(d.modifiers)
    cdef uint32_t domain = domain_hint_store
    if is_atomic(d.opcode):
        domain = domain_hint_atomic
    elif t.facts[d.opcode] & fact_loads:
        domain = domain_hint_load
    if hint:
        if t.facts[d.opcode] & fact_scope_alone \
                or (domain == domain_hint_atomic and ((hint >= 4 and scope < 2) or (hint == 3 and scope == 3))):
            t.unsayable = True
        put_text(t, b" th:")
        if hint == 3 and scope == 3 and domain != domain_hint_atomic:
            put_text(t, b"TH_LOAD_BYPASS" if domain == domain_hint_load else b"TH_STORE_BYPASS")
        else:
            put_name(t, domain, hint)
    if scope:
        put_text(t, b" scope:")
        put_name(t, domain_scope, scope)


# ------------------------------------------------------------------------------------------------------------- vector ALU
cdef void suffix(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint32_t format = d.format
    cdef bint short_opcode = ((opcode_format[d.opcode] | format) & valu_one_dword) != 0
    cdef bint lanes = (format & (format_dpp16 | format_dpp8)) != 0
    if format & (format_vop3 | format_vop3p):
        if lanes or (format & format_vop3 and short_opcode):
            put_text(t, b"_e64")
    elif format & format_sdwa:
        put_text(t, b"_sdwa")
        return
    elif not lanes and not opcode_flags[d.opcode] & opcode_flag_one_form:
        put_text(t, b"_e32")
    if lanes:
        put_text(t, b"_dpp")


cdef inline bint takes_sign(const Printer *t, uint32_t opcode) noexcept nogil:
    """Whether abs and neg of sources have a meaning."""
    return can_use_input_modifiers(opcode) or t.facts[opcode] & fact_signed != 0


cdef inline uint32_t signed_sources(const Printer *t, uint32_t opcode) noexcept nogil:
    """Bit set of the sources whose abs and neg have a meaning."""
    cdef uint32_t flags = opcode_flags[opcode]
    if flags & (opcode_flag_neg0 | opcode_flag_neg1 | opcode_flag_neg2):
        return ((flags & opcode_flag_neg0 != 0) | <uint32_t>(flags & opcode_flag_neg1 != 0) << 1
                | <uint32_t>(flags & opcode_flag_neg2 != 0) << 2)
    return 7 if takes_sign(t, opcode) else 0


cdef void check_vop(Printer *t, const Decoded *d, uint32_t count, uint32_t changed) noexcept nogil:
    """Words that the syntax has no text for; `changed`: the sources that have neg or abs, of `count`."""
    if changed & ~(signed_sources(t, d.opcode) & ((1U << count) - 1)):
        t.unsayable = True
    if t.level >= gfx12 and not t.true16 and modifier_opsel(d.modifiers) and not d.format & format_vop3:
        # this generation's default syntax has no names for halves of registers
        t.unsayable = True
    if t.level >= gfx12 and not t.true16 and (d.opcode == op_v_mov_b16 or d.opcode == op_v_swap_b16):
        t.unsayable = True
    if d.opcode == op_v_readfirstlane_b32 and d.source[0] < register_vgpr0 and d.source[0] != 254 * 4:
        t.unsayable = True
    if d.opcode == op_v_pk_fmac_f16 and d.format == format_vop2 and 240 <= d.source[0] >> 2 < 249 and t.level >= gfx11:
        # assemblers take a literal for these
        t.unsayable = True


cdef void vop_source(Printer *t, const Decoded *d, uint32_t i, uint32_t neg, uint32_t magnitude) noexcept nogil:
    cdef uint64_t m = d.modifiers
    if t.facts[d.opcode] & fact_multiply_constant and i:
        put_operand(t, d, 3 - i)
        return
    if d.source_bytes[i] >= 24 and d.source[i] < register_vgpr0:
        t.unsayable = True
    if not (d.format & format_sdwa and i < 2 and (modifier_sdwa_sel1(m) if i else modifier_sdwa_sel0(m)) & 0x10):
        put_modified(t, d, i, neg, magnitude)
        return
    if (neg | magnitude) >> i & 1:
        t.unsayable = True
    put_text(t, b"sext(")
    put_operand(t, d, i)
    put(t, c')')


cdef void vop(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint64_t m = d.modifiers
    cdef uint32_t format = d.format
    cdef uint32_t facts = t.facts[d.opcode]
    cdef uint32_t neg = 0, magnitude = 0, count = d.source_count
    cdef uint32_t place = 0
    cdef uint32_t i
    cdef bint compare = (opcode_format[d.opcode] & format_vopc) != 0
    if format & (format_vop3 | format_sdwa | format_dpp16) and not is_bitop3(d.opcode):
        neg, magnitude = modifier_neg(m), modifier_abs(m)   # where the truth table of bitop3 lies
    if opcode_flags[d.opcode] & opcode_flag_tied or facts & fact_swaps:
        count -= 1
    check_vop(t, d, count, neg | magnitude)
    put_opcode(t, d.opcode)
    suffix(t, d)
    if not (compare and t.level >= gfx10 and opcode_implicit_definitions[d.opcode] & implicit_exec):
        for i in range(d.destination_count):
            if not (facts & fact_swaps and i):
                separate(t, place)
                place += 1
                put_destination(t, d, i)
    for i in range(count):
        separate(t, place)
        place += 1
        vop_source(t, d, i, neg, magnitude)
    if is_bitop3(d.opcode):
        truth_table(t, m)
    if format & format_vop3:
        half_selection(t, d, d.source_count)
    if format & (format_vop3 | format_sdwa) and not is_bitop3(d.opcode):
        if modifier_clamp(m):
            put_text(t, b" clamp")
        output_modifier(t, modifier_omod(m))
    if format & format_sdwa:
        sdwa(t, d, compare)
    else:
        lanes(t, d)


cdef inline bint is_bitop3(uint32_t opcode) noexcept nogil:
    return opcode == op_v_bitop3_b32 or opcode == op_v_bitop3_b16


cdef void truth_table(Printer *t, uint64_t m) noexcept nogil:
    cdef uint32_t table = modifier_neg(m) | modifier_abs(m) << 3 | modifier_omod(m) << 6
    if modifier_clamp(m):
        t.unsayable = True
    if table:
        put_text(t, b" bitop3:")
        put_hex(t, table)


cdef void output_modifier(Printer *t, uint32_t value) noexcept nogil:
    if value == 1:
        put_text(t, b" mul:2")
    elif value == 2:
        put_text(t, b" mul:4")
    elif value == 3:
        put_text(t, b" div:2")


cdef inline bint selects_byte(uint32_t opcode) noexcept nogil:
    """GFX12: op_sel is the number of a byte."""
    return (opcode == op_v_cvt_f32_fp8 or opcode == op_v_cvt_f32_bf8 or opcode == op_v_cvt_sr_fp8_f32 or opcode == op_v_cvt_sr_bf8_f32)


# op_sel of VOP3. GFX11's syntax says the half in the register's name instead.
cdef void half_selection(Printer *t, const Decoded *d, uint32_t count) noexcept nogil:
    cdef uint32_t opsel = modifier_opsel(d.modifiers)
    cdef uint32_t facts = t.facts[d.opcode]
    cdef uint32_t i
    cdef bint halves = d.destination_count != 0 and d.destination_bytes[0] == 2
    if opsel == 0:
        return
    if t.level >= gfx12 and selects_byte(d.opcode):
        put_text(t, b" byte_sel:")
        put_number(t, opsel >> 2 if count > 1 else opsel >> 1 & 1 | (opsel & 1) << 1)
        return
    if d.opcode == op_v_permlane16_swap_b32 or d.opcode == op_v_permlane32_swap_b32:
        if opsel & 12:
            t.unsayable = True
        put_text(t, b" bound_ctrl:1" if opsel & 2 else b"")
        put_text(t, b" fi:1" if opsel & 1 else b"")
        return
    if t.level < gfx10 and t.facts[d.opcode] & fact_writes_byte:
        put_bits(t, b" op_sel:", opsel, 4)
        return
    for i in range(count):
        halves = halves or d.source_bytes[i] == 2
    if not halves and not facts & (fact_opsel_lanes | fact_opsel_other) and not opcode_flags[d.opcode] & opcode_flag_opsel:
        t.unsayable = True
    if not t.true16 and (not opcode_flags[d.opcode] & opcode_flag_opsel
                         or (t.level >= gfx12 and facts & fact_without_opsel_12)):
        t.unsayable = True
    if t.true16 and not facts & fact_opsel_lanes:
        for i in range(count):
            if opsel >> i & 1 and d.source_bytes[i] == 2 and d.source[i] >= register_vgpr0:
                opsel &= ~(1U << i)
        if opsel & 8 and d.destination_count and d.destination_bytes[0] == 2:
            opsel &= 7
    if opsel == 0:
        return
    if t.true16 and d.opcode == op_v_cndmask_b16:
        # takes no op_sel beside names of halves, and a scalar has none
        t.unsayable = True
    opsel = modifier_opsel(d.modifiers)
    if opcode_format[d.opcode] & format_vopc:
        if opsel & 8:
            t.unsayable = True
        put_bits(t, b" op_sel:", opsel, 2)
        return
    if opsel & ((7 << count) & 7):
        t.unsayable = True
    if facts & fact_opsel_lanes:
        put_bits(t, b" op_sel:", opsel, count)
    else:
        put_bits(t, b" op_sel:", opsel & ((1U << count) - 1) | (opsel >> 3) << count, count + 1)


cdef void selection(Printer *t, const char *name, uint32_t select) noexcept nogil:
    put_text(t, name)
    put_name(t, domain_selection, 2 if select & 3 == 2 else 1 | (select & 8) if select & 3 == 1 else select & 12)


cdef void sdwa(Printer *t, const Decoded *d, bint compare) noexcept nogil:
    cdef uint64_t m = d.modifiers
    if converts_byte(d.opcode):
        # these have the selection of their source only
        if modifier_sdwa_dst_sel(m) != 2 or modifier_sdwa_dst_sext(m):
            t.unsayable = True
    elif not compare and opcode_definition_count[d.opcode]:
        selection(t, b" dst_sel:", modifier_sdwa_dst_sel(m))
        put_text(t, b" dst_unused:")
        if modifier_sdwa_dst_sext(m):
            if modifier_sdwa_dst_sel(m) & 0x10:
                t.unsayable = True
            put_text(t, b"UNUSED_SEXT")
        else:
            put_text(t, b"UNUSED_PRESERVE" if modifier_sdwa_dst_sel(m) & 0x10 else b"UNUSED_PAD")
    selection(t, b" src0_sel:", modifier_sdwa_sel0(m))
    if not opcode_format[d.opcode] & format_vop1:
        selection(t, b" src1_sel:", modifier_sdwa_sel1(m))


cdef void put_list(Printer *t, const char *name, uint32_t value, uint32_t width, uint32_t count) noexcept nogil:
    """`` name:[3,2,1,0]`` of fields of `width` bits."""
    cdef uint32_t i
    put_text(t, name)
    for i in range(count):
        put(t, c',' if i else c'[')
        put(t, <char>(c'0' + (value >> width * i & ((1U << width) - 1))))
    put(t, c']')


cdef inline bint converts_byte(uint32_t opcode) noexcept nogil:
    return (opcode == op_v_cvt_f32_fp8 or opcode == op_v_cvt_f32_bf8 or opcode == op_v_cvt_pk_f32_fp8
            or opcode == op_v_cvt_pk_f32_bf8)


cdef void lanes(Printer *t, const Decoded *d) noexcept nogil:
    """DPP control."""
    cdef uint64_t m = d.modifiers
    cdef uint32_t control
    if d.format & format_dpp8:
        put_list(t, b" dpp8:", modifier_dpp8_lane_sel(m), 3, 8)
        if modifier_dpp8_fetch_inactive(m):
            put_text(t, b" fi:1")
        return
    if not d.format & format_dpp16:
        return
    control = modifier_dpp_ctrl(m)
    if control < 0x100:
        put_list(t, b" quad_perm:", control, 2, 4)
    else:
        put(t, c' ')
        put_name(t, domain_lane_control, control)
    put_text(t, b" row_mask:")
    put_hex(t, modifier_dpp_row_mask(m))
    put_text(t, b" bank_mask:")
    put_hex(t, modifier_dpp_bank_mask(m))
    if modifier_dpp_bound_ctrl(m):
        put_text(t, b" bound_ctrl:1")
    if modifier_dpp_fetch_inactive(m):
        put_text(t, b" fi:1")


cdef void vop3p(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint64_t m = d.modifiers
    cdef uint32_t neg = modifier_neg(m), high = modifier_neg_hi(m), opsel_hi = modifier_opsel_hi(m)
    cdef uint32_t count = opcode_operand_count[d.opcode] - ((opcode_flags[d.opcode] & opcode_flag_tied) != 0)
    cdef uint32_t all_ones = (1U << count) - 1
    cdef bint mixes = (t.facts[d.opcode] & fact_mixes) != 0
    cdef uint32_t i
    put_opcode(t, d.opcode)
    suffix(t, d)
    if d.destination_count:
        put(t, c' ')
        put_register(t, &d.destination[0], 4 * wave_dwords(t.facts[d.opcode], t.level, t.mask_dwords, 3, d.destination_bytes[0] >> 2))
    for i in range(count):
        separate(t, i + d.destination_count)
        if mixes:
            put_modified(t, d, i, neg, high)
        elif t.facts[d.opcode] & fact_wave_matrix and d.source[i] >= register_vgpr0:
            put_register(t, &d.source[i], 4 * wave_dwords(t.facts[d.opcode], t.level, t.mask_dwords, i, d.source_bytes[i] >> 2))
        else:
            put_operand(t, d, i)
    if opcode_flags[d.opcode] & opcode_flag_matrix:
        matrix(t, d)
        return
    if (d.opcode == op_v_accvgpr_read_b32 or d.opcode == op_v_accvgpr_write_b32) \
            and (modifier_opsel(m) or opsel_hi != 7 or neg or high or modifier_clamp(m)):
        t.unsayable = True
    if t.facts[d.opcode] & fact_plain_dot and (modifier_opsel(m) or modifier_clamp(m)):
        t.unsayable = True
    if modifier_opsel(m) and t.facts[d.opcode] & fact_wave_matrix and opcode_flags[d.opcode] & opcode_flag_tied:
        put_text(t, b" index_key:")
        put_number(t, modifier_opsel(m))
        t.unsayable = t.unsayable or modifier_opsel(m) > index_limit(d.opcode, t.mask_dwords)
    elif modifier_opsel(m):
        put_bits(t, b" op_sel:", modifier_opsel(m), count)
    if mixes:
        if opsel_hi & all_ones:
            put_bits(t, b" op_sel_hi:", opsel_hi, count)
    else:
        if (modifier_opsel(m) | neg | high) >> count or (opsel_hi | all_ones) != 7:
            # text has no places for bits of sources that there are not
            t.unsayable = True
        if opsel_hi & all_ones != all_ones:
            put_bits(t, b" op_sel_hi:", opsel_hi, count)
        if neg & all_ones:
            put_bits(t, b" neg_lo:", neg, count)
        if high & all_ones:
            put_bits(t, b" neg_hi:", high, count)
    if modifier_clamp(m):
        put_text(t, b" clamp")
    lanes(t, d)


cdef void matrix(Printer *t, const Decoded *d) noexcept nogil:
    """Modifiers of CDNA's matrix operations; blgp of 64-bit ones negates the operands from CDNA 3 on."""
    cdef uint64_t m = d.modifiers
    cdef bint scaled = opcode_operand_count[d.opcode] == 5
    if opcode_flags[d.opcode] & opcode_flag_tied and modifier_blgp(m):
        t.unsayable = True
    if scaled and (d.source[3] < register_vgpr0 or d.source[4] < register_vgpr0):
        t.unsayable = True
    if t.facts[d.opcode] & fact_typed_matrix and (modifier_cbsz(m) > 4 or modifier_blgp(m) > 4 or modifier_abid(m)):
        t.unsayable = True
    if scaled and modifier_opsel(m):
        put_bits(t, b" op_sel:", modifier_opsel(m), 3)
    if scaled and modifier_opsel_hi(m):
        put_bits(t, b" op_sel_hi:", modifier_opsel_hi(m), 3)
    if modifier_cbsz(m):
        put_text(t, b" cbsz:")
        put_number(t, modifier_cbsz(m))
    if modifier_abid(m):
        put_text(t, b" abid:")
        put_number(t, modifier_abid(m))
    if modifier_blgp(m):
        if t.facts[d.opcode] & fact_double_matrix and t.level >= gfx942:
            put_bits(t, b" neg:", modifier_blgp(m), 3)
        else:
            put_text(t, b" blgp:")
            put_number(t, modifier_blgp(m))


# ------------------------------------------------------------------------------------------------------------------- VOPD
cdef void vopd(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint32_t second = modifier_vopd_opcode_y(d.modifiers)
    if t.mask_dwords != 1:
        # dual instructions are those of wave32
        t.unsayable = True
    vopd_half(t, d, d.opcode, 0, 0)
    put_text(t, b" :: ")
    vopd_half(t, d, second, 1, 2)


cdef void vopd_half(Printer *t, const Decoded *d, uint32_t opcode, uint32_t destination, uint32_t source) noexcept nogil:
    put_opcode(t, opcode)
    put(t, c' ')
    put_destination(t, d, destination)
    put_comma(t)
    put_operand(t, d, source)
    if opcode == op_v_dual_fmamk_f32:
        multiplier(t, d)
    if opcode != op_v_dual_mov_b32:
        put_comma(t)
        put_operand(t, d, source + 1)
    if opcode == op_v_dual_fmaak_f32:
        multiplier(t, d)


cdef void multiplier(Printer *t, const Decoded *d) noexcept nogil:
    """The literal that half of a dual instruction always has."""
    cdef const char *begin
    put_comma(t)
    begin = t.p
    put_hex(t, d.literal)
    note_operand(t, value_plain_literal, begin, NULL, 4)


# ----------------------------------------------------------------------------------------------------------------- memory
cdef void put_offset(Printer *t, const char *name, const Decoded *d, uint32_t bits, uint32_t shift) noexcept nogil:
    """Some bits of the immediate."""
    cdef const char *begin = t.p
    cdef int32_t value = <int32_t>(d.immediate & bits) >> shift
    if value:
        put_text(t, name)
        put_signed(t, value)
    note_immediate(t, value_offset, begin, bits, shift, name)


cdef void ds(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint32_t place = 0
    cdef uint32_t i
    put_opcode(t, d.opcode)
    for i in range(d.destination_count):
        separate(t, place)
        place += 1
        put_destination(t, d, i)
    for i in range(d.source_count):
        separate(t, place)
        place += 1
        put_operand(t, d, i)
    if opcode_flags[d.opcode] & opcode_flag_two_offsets:
        put_offset(t, b" offset0:", d, 0xff, 0)
        put_offset(t, b" offset1:", d, 0xff0000, 16)
    else:
        if d.opcode == op_ds_nop and d.immediate:
            t.unsayable = True
        put_offset(t, b" offset:", d, 0xffffffffU, 0)
    if modifier_gds(d.modifiers):
        if gfx90a <= t.level < gfx10 and not t.facts[d.opcode] & fact_global_wave_sync:
            t.unsayable = True
        put_text(t, b" gds")
    elif t.facts[d.opcode] & fact_global_wave_sync and gfx9 < t.level < gfx10:
        t.unsayable = True


cdef void buffer(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint64_t m = d.modifiers
    put_opcode(t, d.opcode)
    if d.source_count == 0:
        if gfx942 <= t.level < gfx10:
            cache_policy(t, d)
        return
    if modifier_tfe(m) and d.format == format_mtbuf:
        t.unsayable = True
    put(t, c' ')
    if d.opcode == op_buffer_store_lds_dword:
        # a resource and an offset, and always lds
        put_operand(t, d, 0)
        put_comma(t)
        put_operand(t, d, 2)
        put_offset(t, b" offset:", d, 0xffffffffU, 0)
        cache_policy(t, d)
        put_text(t, b" lds")
        t.unsayable = t.unsayable or not modifier_lds(m) or d.source[1] != register_none or modifier_tfe(m)
        return
    if d.source_count > 3:
        buffer_data(t, d)
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
        t.unsayable = True
    put_comma(t)
    put_operand(t, d, 2)
    if d.format == format_mtbuf:
        buffer_format(t, modifier_format(m))
    if t.level < gfx8 and modifier_addr64(m):
        put_text(t, b" addr64")
    if modifier_idxen(m):
        put_text(t, b" idxen")
    if modifier_offen(m):
        put_text(t, b" offen")
    put_offset(t, b" offset:", d, 0xffffffffU, 0)
    cache_policy(t, d)
    if modifier_tfe(m):
        put_text(t, b" tfe")
    if modifier_lds(m):
        put_text(t, b" lds")


cdef void buffer_data(Printer *t, const Decoded *d) noexcept nogil:
    """The data register of a store or atomic, with the dword of a residency result behind it."""
    cdef uint32_t size = 4 * unpacked_dwords(d.opcode) if t.facts[d.opcode] & fact_unpacked else d.source_bytes[3]
    if modifier_tfe(d.modifiers):
        if not is_atomic(d.opcode):
            # assemblers have no such store
            t.unsayable = True
        size += 4
    put_register(t, &d.source[3], size)


cdef void buffer_format(Printer *t, uint32_t value) noexcept nogil:
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
    cdef uint32_t place = 0
    put_opcode(t, d.opcode)
    if d.source_count == 0:
        cache_policy(t, d)
        return
    if d.destination_count:
        separate(t, place)
        place += 1
        put_register(t, &d.destination[0], 4 * transposed_dwords(d.opcode, t.mask_dwords, d.destination_bytes[0] >> 2))
    if addressed:
        separate(t, place)
        place += 1
        if d.source[0] == register_none:
            put_text(t, b"off")
        else:
            put_operand(t, d, 0)
    if d.source_count > 2:
        separate(t, place)
        place += 1
        put_operand(t, d, 2)
    if d.format != format_flat:
        separate(t, place)
        if d.source[1] == register_none:
            put_text(t, b"off")
        else:
            if (register_exec <= d.source[1] < 128 * 4 and gfx9 < t.level < gfx10 and d.format == format_global
                    and (d.destination_count or d.source_count > 2)):
                t.unsayable = True
            put_operand(t, d, 1)
    put_offset(t, b" offset:", d, 0xffffffffU, 0)
    cache_policy(t, d)
    if modifier_lds(d.modifiers):
        put_text(t, b" lds")


# ----------------------------------------------------------------------------------------------------------------- images
cdef uint32_t fewest_addresses(uint32_t opcode) noexcept nogil:
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


cdef uint32_t image_data_size(const Printer *t, const Decoded *d) noexcept nogil:
    """Bytes of the data registers; the chips of GFX8 that pack 16-bit channels have half as many."""
    cdef uint32_t size = d.source_bytes[2] if d.source[2] != register_none else d.destination_bytes[0]
    cdef uint32_t residency = 4 * modifier_image_tfe(d.modifiers)
    if t.level != gfx8 or not modifier_d16(d.modifiers) or t.facts[d.opcode] & fact_unpacked:
        return size
    return ((size - residency + 4) >> 3) * 4 + residency


cdef void image(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint64_t m = d.modifiers
    cdef bint ray = (opcode_image[d.opcode] & image_flag_bvh) != 0
    cdef uint32_t i
    put_opcode(t, d.opcode)
    put(t, c' ')
    if d.source[2] != register_none:
        put_register(t, &d.source[2], image_data_size(t, d))
    else:
        put_register(t, &d.destination[0], image_data_size(t, d))
    put_comma(t)
    if d.source_count > 4:
        put(t, c'[')
        for i in range(3, d.source_count):
            if i > 3:
                put_comma(t)
            put_operand(t, d, i)
        put(t, c']')
    else:
        put_register(t, &d.source[3], d.source_bytes[3] if t.level >= gfx10 else 4 * fewest_addresses(d.opcode))
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
cdef void check_unused_exports(Printer *t, const Decoded *d) noexcept nogil:
    """Text says nothing about the registers of channels that are off."""
    cdef uint32_t mask = modifier_exp_enabled_mask(d.modifiers)
    cdef uint32_t i
    if modifier_exp_compressed(d.modifiers):
        mask = (mask & 1) | (mask >> 2 & 1) << 1
    for i in range(4):
        if not mask >> i & 1 and d.source[i] != register_vgpr0:
            t.unsayable = True


cdef void export(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint64_t m = d.modifiers
    cdef uint32_t mask = modifier_exp_enabled_mask(m)
    cdef uint32_t i
    put_text(t, b"export " if t.level >= gfx12 else b"exp ")
    put_name(t, domain_export, modifier_exp_target(m))
    for i in range(4):
        separate(t, i)
        if modifier_exp_compressed(m) and (mask >> i & 1) != (mask >> (i & 2) & 1):
            t.unsayable = True
        if mask >> i & 1:
            put_register(t, &d.source[i >> 1 if modifier_exp_compressed(m) else i], 4)
        else:
            put_text(t, b"off")
    check_unused_exports(t, d)
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
            t.unsayable = True
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


cdef void attribute(Printer *t, uint64_t m) noexcept nogil:
    """``attr3.y``"""
    if modifier_ldsdir_attr(m) > 32:
        t.unsayable = True
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
        attribute(t, m)
    elif modifier_ldsdir_attr(m) or modifier_ldsdir_channel(m):
        t.unsayable = True
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
    attribute(t, m)
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
    attribute(t, d.modifiers)


# --------------------------------------------------------------------------------------------------------------- dispatch
cdef void instruction(Printer *t, const Decoded *d) noexcept nogil:
    cdef uint32_t format = d.format
    t.unsayable = False
    t.gap = NULL
    t.wide_null = (format & (valu_one_dword | format_vop3)) != 0
    t.any_register = d.opcode == op_ds_read_b96_tr_b6
    if not scalar_reads_fit(d, t.level) or form_error(d, t.level, t.true16) != NULL or t.facts[d.opcode] & fact_absent:
        t.unsayable = True
        return
    if format & format_vop3 and (opcode_flags[d.opcode] & opcode_flag_interpolation or opcode_format[d.opcode] == format_vintrp):
        vop3_interpolation(t, d)
    elif format & (valu_one_dword | format_vop3):
        vop(t, d)
    elif format & format_vop3p:
        vop3p(t, d)
    elif format == format_sopk:
        sopk(t, d)
    elif format == format_sopp:
        sopp(t, d)
    elif format_sop1 <= format <= format_sopc:
        salu(t, d)
    elif format == format_smem:
        smem(t, d)
    elif format == format_ds:
        ds(t, d)
    elif format == format_mubuf or format == format_mtbuf:
        buffer(t, d)
    elif format_flat <= format <= format_scratch:
        flat(t, d)
    elif format == format_mimg:
        image(t, d)
    elif format == format_vopd:
        vopd(t, d)
    elif format == format_exp:
        export(t, d)
    elif format == format_vinterp_inreg:
        parameter_interpolation(t, d)
    elif format == format_ldsdir:
        ldsdir(t, d)
    elif format == format_vintrp:
        vintrp(t, d)
    else:
        t.unsayable = True


cdef void put_words(Printer *t, const uint32_t *words, uint32_t count) noexcept nogil:
    put_text(t, b"  ; words")
    word_list(t, words, count)


cdef void data_words(Printer *t, const uint32_t *words, uint32_t count) noexcept nogil:
    put_text(t, b".long")
    word_list(t, words, count)


cdef void word_list(Printer *t, const uint32_t *words, uint32_t count) noexcept nogil:
    cdef uint32_t i
    for i in range(count):
        separate(t, i)
        put_word(t, words[i])


cdef void raw_words(Printer *t, const Decoded *d, const uint32_t *words) noexcept nogil:
    """``.long``, with the instruction as a comment where it has text that assemblers do not take as these words."""
    cdef char *begin
    data_words(t, words, d.dwords)
    if d.opcode == op_invalid:
        return
    begin = t.p
    put_text(t, b"  ; ")
    instruction(t, d)
    if t.unsayable and t.level >= gfx12 and not t.true16:
        # halves of registers have names, but assemblers do not take them by default
        t.true16 = True
        t.p = begin + 4
        instruction(t, d)
        t.true16 = False
        t.wants_halves = t.wants_halves or not t.unsayable
    if t.unsayable:
        t.p = begin
    elif t.gap != NULL:
        put_number(t, d.immediate)
