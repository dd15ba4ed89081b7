# What handlers of the text assembler share: operands by register class, and the modifiers and signs that they take.
# --------------------------------------------------------------------------------------------------------------- operands
cdef inline uint8_t definition_class(const Job *j, uint32_t position) noexcept nogil:
    return opcode_definition_classes[<uint32_t>j.d.opcode * opcode_max_definitions + position]


cdef inline uint8_t operand_class(const Job *j, uint32_t position) noexcept nogil:
    return opcode_operand_classes[<uint32_t>j.d.opcode * opcode_max_operands + position]


cdef inline uint32_t class_dwords_of(const Job *j, uint8_t register_class) noexcept nogil:
    if register_class == opcode_mask_class:
        return j.c.wave_dwords
    # 32 dwords wrap to 0
    return class_dwords(register_class) if class_bytes(register_class) else 32


cdef uint32_t constant_bits(const Job *j, uint8_t register_class) noexcept nogil:
    """Width of the value that a constant stands for, as an operand of this register class."""
    cdef uint32_t facts = j.facts[j.d.opcode]
    if (facts & fact_packed and not is_addend(j)) or facts & fact_mixes or (facts & fact_bfloat and j.d.source_count < 2):
        return 16
    if j.d.format & format_vop3p:
        return 16 if takes_half_matrix(j) else 64 if takes_doubles(j.d.opcode) else 32
    if j.c.level < gfx11_7 and (j.d.opcode == op_v_cvt_pk_f32_fp8 or j.d.opcode == op_v_cvt_pk_f32_bf8):
        return 32
    if register_class == class_v2b or facts & fact_scalar_half:
        return 16
    return 64 if register_class == class_s2 or register_class == class_v2 else 32


cdef inline void check_width(Job *j, const Operand *o, uint32_t dwords) noexcept nogil:
    if o.dwords != dwords or (dwords > 1 and aligns_vectors(j.c.level)):
        _check_tuple(j, o, dwords)


cdef void _check_tuple(Job *j, const Operand *o, uint32_t dwords) noexcept nogil:
    cdef char text[64]
    if aligns_vectors(j.c.level) and o.dwords > 1 and o.address >= register_vgpr0 and o.address & 4 \
            and not (unaligned_result(j.d.opcode) and o == &j.s.operands[0]):
        fail(&j.c, o.begin, b"%: vector registers start at an even number here", o.begin, o.end)
    cdef bint special = 128 * 4 <= o.address < register_vgpr0 or o.address == register_null
    if o.dwords != dwords and not special and not j.c.failed:
        snprintf(text, 64, b"%% is %u dwords wide, not %u", <uint32_t>o.dwords, dwords)
        fail(&j.c, o.begin, text, o.begin, o.end)


cdef uint16_t register_of(Job *j, const Operand *o, uint32_t dwords) noexcept nogil:
    """Address of a register of `dwords` dwords."""
    if o.kind != operand_register:
        fail(&j.c, o.begin, b"% is not a register", o.begin, o.end)
        return 0
    check_width(j, o, dwords)
    if o.half >= 0:
        fail(&j.c, o.begin, b"% is half a register where a whole one belongs", o.begin, o.end)
    return o.address


cdef inline bint _names_written_half(const Job *j, const Operand *o) noexcept nogil:
    """Whether the operand is the result of an operation whose op_sel says which half of the register it writes (GFX11.7, GFX12; shifts: GFX12.5)."""
    if o != &j.s.operands[0]:
        return False
    if j.d.opcode == op_v_ashr_pk_i8_i32 or j.d.opcode == op_v_ashr_pk_u8_i32:
        return j.c.level >= gfx12_5
    return j.c.level >= gfx11_7 and (j.d.opcode == op_v_cvt_pk_fp8_f32 or j.d.opcode == op_v_cvt_pk_bf8_f32)


cdef uint16_t address(Job *j, const Operand *o, uint8_t register_class) noexcept nogil:
    """Address of a source or destination of a register class."""
    if operand_integer <= o.kind <= operand_symbol:
        return constant(j, o, constant_bits(j, register_class), (j.facts[j.d.opcode] & fact_floating) != 0)
    if o.kind != operand_register:
        fail(&j.c, o.begin, b"% is not a register or constant", o.begin, o.end)
        return 0
    check_width(j, o, class_dwords_of(j, register_class))
    if o.half >= 0 and register_class != class_v2b and not _names_written_half(j, o):
        fail(&j.c, o.begin, b"% is half a register where a whole one belongs", o.begin, o.end)
    return o.address


cdef uint16_t vector_register(Job *j, const Operand *o, uint32_t dwords) noexcept nogil:
    """A VGPR of a memory access."""
    cdef uint16_t result = register_of(j, o, dwords)
    if result < register_vgpr0 or result >= register_agpr0:
        fail(&j.c, o.begin, b"% is not a VGPR", o.begin, o.end)
    return result


cdef uint16_t memory_register(Job *j, const Operand *o, uint32_t dwords) noexcept nogil:
    """The data of a memory access: VGPRs, or AGPRs from CDNA 2 on."""
    cdef uint16_t result = register_of(j, o, dwords)
    if result < register_vgpr0 or (result >= register_agpr0 and not gfx90a <= j.c.level < gfx10):
        fail(&j.c, o.begin, b"% is not a VGPR", o.begin, o.end)
    return result


cdef int64_t plain_number(Job *j, const Operand *o, int64_t low, int64_t high) noexcept nogil:
    if o.is_literal:
        fail(&j.c, o.begin, b"% is a literal where a plain number is expected", o.begin, o.end)
    if o.kind != operand_integer or not low <= o.integer <= high:
        fail_range(&j.c, o.begin, o.begin, o.end, low, high)
        return 0
    return o.integer


cdef inline void add_source(Job *j, uint16_t source, uint32_t dwords) noexcept nogil:
    j.d.source[j.d.source_count] = source
    j.d.source_bytes[j.d.source_count] = <uint8_t>(4 * dwords)
    j.d.source_count += 1


cdef inline void add_class_source(Job *j, uint16_t source, uint8_t register_class) noexcept nogil:
    add_source(j, source, class_dwords_of(j, register_class))
    if register_class == opcode_mask_class:
        j.d.source_bytes[j.d.source_count - 1] = 0
    elif register_class == class_v2b:
        j.d.source_bytes[j.d.source_count - 1] = 2


cdef inline void add_destination(Job *j, uint16_t destination) noexcept nogil:
    j.d.destination[j.d.destination_count] = destination
    j.d.destination_bytes[j.d.destination_count] = 4
    j.d.destination_count += 1


cdef bint expect_count(Job *j, uint32_t count) noexcept nogil:
    cdef char text[64]
    if j.s.count == count:
        return True
    if not j.c.failed:
        snprintf(text, 64, b"%% takes %u operands, not %u", count, j.s.count)
        fail(&j.c, j.s.mnemonic, text, j.s.mnemonic, j.s.mnemonic + j.s.mnemonic_length)
    return False


# -------------------------------------------------------------------------------------------------------------- modifiers
cdef inline bint given(const Job *j, uint32_t number) noexcept nogil:
    return (j.s.given >> number & 1) != 0


cdef inline bint flag(Job *j, uint32_t number) noexcept nogil:
    """Whether a single word is given; takes it."""
    j.s.taken |= <uint64_t>1 << number
    return (j.s.given >> number & 1) != 0 and j.s.values[number] != 0


cdef inline int64_t taken(Job *j, uint32_t number, int64_t default) noexcept nogil:
    """The value of a modifier; takes it."""
    j.s.taken |= <uint64_t>1 << number
    return j.s.values[number] if j.s.given >> number & 1 else default


cdef int64_t ranged(Job *j, uint32_t number, int64_t low, int64_t high, int64_t default) noexcept nogil:
    """The value of a numeric modifier."""
    cdef int64_t value = taken(j, number, default)
    cdef const char *end
    if given(j, number) and not low <= value <= high:
        end = j.s.value_positions[number]
        while end[0] and end[0] not in (c' ', c',', c'\n', c';'):
            end += 1
        fail_range(&j.c, j.s.positions[number], j.s.positions[number], end, low, high)
        return 0
    return value


cdef uint32_t bit_list(Job *j, uint32_t number, uint32_t default) noexcept nogil:
    return <uint32_t>taken(j, number, default) & 0xff


cdef inline uint32_t negation(Job *j, const Operand *o) noexcept nogil:
    """Whether an operand of the job's statement is negated; takes it."""
    if o.negative:
        j.s.negations_taken |= 1U << (o - j.s.operands)
    return o.negative


cdef inline uint32_t magnitude_of(Job *j, const Operand *o) noexcept nogil:
    if o.magnitude:
        j.s.magnitudes_taken |= 1U << (o - j.s.operands)
    return o.magnitude


cdef inline bint extension(Job *j, const Operand *o) noexcept nogil:
    if o.sign_extended:
        j.s.extensions_taken |= 1U << (o - j.s.operands)
    return o.sign_extended


cdef inline void give_back(Job *j) noexcept nogil:
    """Forget what was taken, for another try."""
    j.s.taken = 0
    j.s.negations_taken = 0
    j.s.magnitudes_taken = 0
    j.s.extensions_taken = 0


cdef void check_signs(Job *j, const Statement *s) noexcept nogil:
    """Complains about a sign that nobody took."""
    cdef const Operand *o
    cdef uint32_t i
    for i in range(s.count):
        o = &s.operands[i]
        if (o.negative and not s.negations_taken >> i & 1) or (o.magnitude and not s.magnitudes_taken >> i & 1) \
                or (o.sign_extended and not s.extensions_taken >> i & 1):
            fail(&j.c, o.begin, b"%: this operand takes no such sign modifier", o.begin, o.end)


cdef void finish(Job *j) noexcept nogil:
    """Complains about a modifier, or a sign of an operand, that nobody took."""
    cdef uint64_t rest = j.s.given & ~j.s.taken
    cdef uint32_t number = 0
    if j.s.has_signs:
        check_signs(j, &j.s)
    if rest == 0:
        return
    while not rest >> number & 1:
        number += 1
    fail(&j.c, j.s.positions[number], b"this instruction has no modifier % here", j.s.positions[number], word_end(j.s.positions[number]))
