"""The optimizer: copies, constants and modifiers move into the instructions that use them, pairs become one instruction.

One forward sweep (every definition of SSA is seen before its uses, but for loops), then dead code goes in a backward sweep:

1. *propagate*: an operand that is a copy, a constant, or a float negated, made absolute or canonicalized is replaced by its source where
   the encoding allows: constant bus, VOP2 or VOP3, one literal, inline constants by operand width.
2. *combine*: an instruction and the only producer of one of its operands become one: three-operand adds and logic, shifts with
   adds, multiply-add, min3/max3, clamp and output modifiers, scalar and-not and shift-add.

Float rules: nothing is contracted into a fused operation that is marked precise; a multiplication by one may be left out only if
denormals are kept by the mode, or flushed anyway by whoever produced or reads the value.

Needs: SSA before the execution mask is explicit. Sources: encodings, AMD ISA documents; the choice of patterns follows ACO
(``aco_optimizer``), the method is its own.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t
from libcpp.vector cimport vector

from isa_opcodes cimport *
from isa_tables cimport (
    can_use_input_modifiers, can_use_output_modifiers, is_atomic, isa_opcode_number, opcode_constant_bits, opcode_format,
    opcode_mask_class, opcode_max_operands, opcode_operand_classes,
)
from modifiers cimport (
    modifier_abs, modifier_clamp, modifier_neg, modifier_omod, modifier_opsel, modifier_semantics, modifier_set_abs,
    modifier_set_clamp, modifier_set_neg, modifier_set_omod, modifier_set_opsel,
)
from pyaco._core.aco.optimize_facts cimport commuted_opcode, float_bits, has_one_scalar_source, minmax_of_three
from pyaco._core.aco.queries cimport opcode_is_phi
from pyaco._core.common.table cimport table_append_many
from pyaco._core.ir.program cimport (
    Operand, Program, ProgramData, Rewrite, class_bytes, class_dwords, class_is_linear_vgpr, class_is_subdword, class_is_vgpr,
    definition_fixed, definition_precise, definition_temp, format_dpp16, format_dpp8, format_ds, format_exp, format_is_flat_like,
    format_is_salu, format_is_valu, format_is_vmem, format_ldsdir, format_pseudo, format_pseudo_barrier, format_pseudo_branch,
    format_sdwa, format_smem, format_sop1, format_sop2, format_sopc, format_sopp, format_vop1, format_vop2, format_vop3, format_vop3p,
    format_vopc, fp_preserve_signed_zero_inf_nan32, fp_preserve_signed_zero_inf_nan16_64, gfx10, gfx9, operand_at, operand_bytes,
    operand_c16, operand_c32, operand_c64, operand_constant, operand_constant_value, operand_fixed, operand_is_literal, operand_put,
    operand_temp, operand_undef, register_exec, register_scc, rewrite_begin, rewrite_block, rewrite_emit, rewrite_end,
    semantic_volatile,
)

cdef enum:
    modified_encodings = format_sdwa | format_dpp16 | format_dpp8
    f32_one = 0x3f800000
    f32_minus_one = 0xbf800000

cdef cppclass Context:
    ProgramData *p
    uint32_t block
    vector[uint32_t] parent          # by temp: defining instruction, 0 unknown
    vector[uint32_t] home            # by temp: its block
    vector[uint32_t] uses            # by temp
    vector[uint8_t] canonical        # by temp: bits of a float result that follows the denormal mode


# ----------------------------------------------------------------------------------------------------------------- helpers
cdef inline uint32_t _row(const ProgramData *p, uint32_t i, uint32_t k) noexcept nogil:
    return p.instructions.operand_first[i] + k


cdef inline Operand _op(const ProgramData *p, uint32_t i, uint32_t k) noexcept nogil:
    return operand_at(p, p.instructions.operand_first[i] + k)


cdef inline bint _plain_temp(Operand o) noexcept nogil:
    return (o.flags & operand_temp) != 0 and not o.flags & operand_fixed


cdef inline uint32_t _producer(const Context *c, Operand o) noexcept nogil:
    return c.parent[o.data] if _plain_temp(o) else 0


cdef inline uint32_t _result(const ProgramData *p, uint32_t i) noexcept nogil:
    return p.definitions.temp[p.instructions.definition_first[i]] if p.instructions.definition_count[i] else 0


cdef inline bint _is_constant(Operand o, uint64_t value) noexcept nogil:
    return (o.flags & operand_constant) != 0 and operand_constant_value(o) == value


cdef void _set_operand(Context *c, uint32_t i, uint32_t k, Operand o) noexcept nogil:
    """Replace an operand; keeps use counts."""
    cdef ProgramData *p = c.p
    cdef Operand old = _op(p, i, k)
    if o.flags & operand_temp:
        c.uses[o.data] += 1
    if old.flags & operand_temp:
        c.uses[old.data] -= 1
    operand_put(p, _row(p, i, k), o)


cdef int _become(Context *c, uint32_t i, uint16_t opcode, uint16_t format, const Operand *operands, uint32_t count) except -1 nogil:
    """Turn an instruction into another with the same definitions."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef uint32_t first = p.instructions.operand_first[i]
    cdef uint32_t old = p.instructions.operand_count[i]
    cdef Operand o
    for k in range(count):
        if operands[k].flags & operand_temp:
            c.uses[operands[k].data] += 1
    for k in range(old):
        o = operand_at(p, first + k)
        if o.flags & operand_temp:
            c.uses[o.data] -= 1
    if count > old:
        first = table_append_many(&p.operands.table, count)
        p.instructions.operand_first[i] = first
    for k in range(count):
        operand_put(p, first + k, operands[k])
    p.instructions.operand_count[i] = <uint16_t>count
    p.instructions.opcode[i] = opcode
    p.instructions.format[i] = format
    return 0


cdef inline bint _is_scalar(Operand o) noexcept nogil:
    return not o.flags & (operand_constant | operand_undef) and not class_is_vgpr(o.register_class)


# ---------------------------------------------------------------------------------------------------------------- encodings
cdef bint _bus_allows(const ProgramData *p, uint16_t opcode, uint16_t format, const Operand *operands, uint32_t count) noexcept nogil:
    """Scalar registers and the literal fit the constant bus."""
    cdef uint32_t limit = 2 if p.gfx_level >= gfx10 and not has_one_scalar_source(opcode) else 1
    cdef uint32_t used = 0
    cdef uint32_t k
    cdef uint32_t j
    cdef uint32_t literal = 0
    cdef bint has_literal = False
    cdef bint seen
    for k in range(count):
        if operand_is_literal(operands[k]):
            if format & (format_vop3 | format_vop3p) and p.gfx_level < gfx10:
                return False
            if has_literal and literal != operands[k].data:
                return False
            used += not has_literal
            has_literal = True
            literal = operands[k].data
        elif _is_scalar(operands[k]):
            seen = False
            for j in range(k):
                if _is_scalar(operands[j]) and operands[j].data == operands[k].data and operands[j].reg == operands[k].reg:
                    seen = True
            used += not seen
    return used <= limit


cdef bint _short_form(uint16_t opcode, uint16_t format, const Operand *operands, uint32_t count) noexcept nogil:
    """Whether operands suit the short encoding: only the first source may be anything but a VGPR."""
    cdef uint32_t k
    if format & format_vop1:
        return True
    for k in range(1, min(count, 2)):
        if operands[k].flags & operand_constant or not class_is_vgpr(operands[k].register_class):
            return False
    for k in range(2, count):
        # Carry and select masks are VCC there; register allocation decides between the encodings.
        if operands[k].flags & operand_constant:
            return False
    return True


cdef bint _fixed_sources(uint16_t opcode) noexcept nogil:
    """Opcodes whose sources have places of their own; left alone."""
    return opcode in (
        op_v_readfirstlane_b32, op_v_readlane_b32, op_v_readlane_b32_e64, op_v_writelane_b32, op_v_writelane_b32_e64,
        op_v_permlane16_b32, op_v_permlanex16_b32, op_v_permlane64_b32, op_v_swap_b32, op_v_mac_f32, op_v_fmac_f32,
        op_v_mac_f16, op_v_fmac_f16, op_v_pk_fmac_f16, op_v_dot4c_i32_i8, op_v_dot2c_f32_f16, op_v_madak_f32, op_v_madmk_f32,
        op_v_fmaak_f32, op_v_fmamk_f32, op_v_madak_f16, op_v_madmk_f16, op_v_fmaak_f16, op_v_fmamk_f16, op_v_mac_legacy_f32,
        op_v_fmac_legacy_f32)


cdef bint _encode(Context *c, uint32_t i, Operand *operands, uint32_t count) except -1 nogil:
    """Give a VALU instruction new operands if some encoding takes them."""
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint16_t format = p.instructions.format[i]
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef Operand swap
    cdef uint32_t bits
    if format & modified_encodings:
        return False
    if not format & (format_vop3 | format_vop3p) and not _short_form(opcode, format, operands, count):
        if count >= 2 and commuted_opcode(opcode) != 0xffff and not operands[0].flags & operand_constant \
                and class_is_vgpr(operands[0].register_class) \
                and isa_opcode_number(p.gfx_level, commuted_opcode(opcode), format) >= 0:
            swap = operands[0]
            operands[0] = operands[1]
            operands[1] = swap
            opcode = commuted_opcode(opcode)
            bits = modifier_neg(word)
            word = modifier_set_neg(word, (bits & 4) | (bits & 1) << 1 | (bits >> 1 & 1))
            bits = modifier_abs(word)
            word = modifier_set_abs(word, (bits & 4) | (bits & 1) << 1 | (bits >> 1 & 1))
        if not _short_form(opcode, format, operands, count):
            format |= format_vop3
    if not _bus_allows(p, opcode, format, operands, count):
        return False
    _become(c, i, opcode, format, operands, count)
    p.instructions.modifiers[i] = word
    return True


cdef int _load(const ProgramData *p, uint32_t i, Operand *operands) noexcept nogil:
    cdef uint32_t k
    cdef uint32_t count = min(<uint32_t>p.instructions.operand_count[i], 8)
    for k in range(count):
        operands[k] = _op(p, i, k)
        operands[k].flags &= ~<uint16_t>0x70     # liveness is computed later
    return <int>count


# --------------------------------------------------------------------------------------------------------------- propagate
cdef bint _copied(Context *c, Operand o, Operand *source) noexcept nogil:
    """The source of a plain copy of a temp or a constant."""
    cdef ProgramData *p = c.p
    cdef uint32_t q = _producer(c, o)
    cdef uint16_t opcode
    if q == 0 or p.instructions.definition_count[q] != 1 or p.instructions.operand_count[q] != 1:
        return False
    opcode = p.instructions.opcode[q]
    if opcode not in (op_p_parallelcopy, op_s_mov_b32, op_s_mov_b64, op_v_mov_b32):
        return False
    if opcode == op_v_mov_b32 and (p.instructions.format[q] & modified_encodings or p.instructions.modifiers[q]):
        return False
    if p.definitions.flags[p.instructions.definition_first[q]] & definition_fixed:
        return False
    source[0] = _op(p, q, 0)
    if source.flags & operand_constant:
        return True
    return _plain_temp(source[0]) and not class_is_linear_vgpr(source.register_class)


cdef bint _constant_for(const ProgramData *p, uint16_t opcode, Operand source, uint32_t bytes_, Operand *result) noexcept nogil:
    """The constant as an operand of an instruction reads it."""
    cdef uint64_t value = operand_constant_value(source)
    cdef uint32_t bits = opcode_constant_bits[opcode]
    if bits == 16 and bytes_ <= 4:
        result[0] = operand_c16(<uint32_t>value & 0xffff)
        return not operand_is_literal(result[0])
    if bytes_ == 8:
        result[0] = operand_c64(value)
        return not operand_is_literal(result[0]) and operand_constant_value(result[0]) == value
    if bits == 64 and bytes_ == 4:
        result[0] = operand_c32(<uint32_t>value)
        return True
    if bytes_ == 4:
        result[0] = operand_c32(<uint32_t>value)
        return True
    return False


cdef int _propagate_valu(Context *c, uint32_t i, uint32_t k, Operand source) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef Operand[8] operands
    cdef Operand o = _op(p, i, k)
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t count
    if _fixed_sources(opcode) or p.instructions.operand_count[i] > 4:
        return 0
    count = _load(p, i, operands)
    if source.flags & operand_constant:
        # Lane masks stay in registers.
        if k >= opcode_max_operands or opcode_operand_classes[opcode * opcode_max_operands + k] == opcode_mask_class:
            return 0
        if p.instructions.format[i] & format_vop3p or not _constant_for(p, opcode, source, operand_bytes(o), &source):
            return 0
        # A literal in many places costs more than a register that holds it.
        if operand_is_literal(source) and c.uses[o.data] > 3:
            return 0
        if modifier_opsel(p.instructions.modifiers[i]) >> k & 1:
            return 0
    elif class_dwords(source.register_class) != class_dwords(o.register_class) or class_is_subdword(o.register_class):
        return 0
    else:
        source.flags |= o.flags & <uint16_t>0x180
    operands[k] = source
    _encode(c, i, operands, count)
    return 0


cdef int _propagate_salu(Context *c, uint32_t i, uint32_t k, Operand source) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint16_t format = p.instructions.format[i]
    cdef Operand o = _op(p, i, k)
    cdef uint32_t j
    if not source.flags & operand_constant or format not in (format_sop1, format_sop2, format_sopc):
        return 0
    if not _constant_for(p, p.instructions.opcode[i], source, operand_bytes(o), &source):
        return 0
    if operand_is_literal(source):
        if c.uses[o.data] > 3:
            return 0
        for j in range(p.instructions.operand_count[i]):
            if j != k and operand_is_literal(_op(p, i, j)) and _op(p, i, j).data != source.data:
                return 0
    _set_operand(c, i, k, source)
    return 0


cdef int _propagate_pseudo(Context *c, uint32_t i, uint32_t k, Operand source) except -1 nogil:
    """Vectors and copies take constants and SGPRs as parts."""
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef Operand o = _op(p, i, k)
    cdef uint32_t d = p.instructions.definition_first[i]
    if opcode != op_p_create_vector and opcode != op_p_parallelcopy:
        return 0
    if opcode == op_p_parallelcopy:
        d += k
    if source.flags & operand_constant:
        if operand_bytes(source) == operand_bytes(o) and operand_bytes(o) >= 4:
            _set_operand(c, i, k, source)
    elif class_is_vgpr(p.definitions.register_class[d]) and class_bytes(source.register_class) == class_bytes(o.register_class) \
            and not class_is_linear_vgpr(p.definitions.register_class[d]):
        _set_operand(c, i, k, source)
    return 0


cdef bint _sign_source(Context *c, Operand o, Operand *source, bint *negative, bint *absolute, uint32_t *bits) noexcept nogil:
    """The source of a multiplication by 1.0 or -1.0."""
    cdef ProgramData *p = c.p
    cdef uint32_t q = _producer(c, o)
    cdef uint64_t word
    cdef uint32_t one
    cdef uint32_t minus
    cdef uint32_t k
    if q == 0 or p.instructions.opcode[q] not in (op_v_mul_f32, op_v_mul_f16) or p.instructions.format[q] & modified_encodings:
        return False
    bits[0] = 32 if p.instructions.opcode[q] == op_v_mul_f32 else 16
    one = f32_one if bits[0] == 32 else 0x3c00
    minus = f32_minus_one if bits[0] == 32 else 0xbc00
    word = p.instructions.modifiers[q]
    if modifier_clamp(word) or modifier_omod(word) or modifier_opsel(word):
        return False
    for k in range(2):
        if not (_is_constant(_op(p, q, k), one) or _is_constant(_op(p, q, k), minus)):
            continue
        source[0] = _op(p, q, 1 - k)
        if not source.flags & operand_temp or source.flags & operand_fixed:
            return False
        negative[0] = _is_constant(_op(p, q, k), minus) != ((modifier_neg(word) >> k & 1) != 0)
        if modifier_abs(word) >> k & 1:
            negative[0] = False
        if modifier_neg(word) >> (1 - k) & 1:
            negative[0] = not negative[0]
        absolute[0] = (modifier_abs(word) >> (1 - k) & 1) != 0
        return True
    return False


cdef bint _keeps_denormals(const ProgramData *p, uint32_t block, uint32_t bits) noexcept nogil:
    return (p.blocks.fp_mode[block] >> (4 if bits == 32 else 6) & 3) == 3


cdef bint _flushes_sources(const ProgramData *p, uint32_t i, uint32_t bits) noexcept nogil:
    """The instruction treats denormal sources of this width as the mode says."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    if float_bits(opcode) != bits:
        return False
    if p.gfx_level < gfx9 and opcode in (op_v_min_f32, op_v_max_f32, op_v_min_f16, op_v_max_f16):
        return False
    return True


cdef int _propagate_sign(Context *c, uint32_t i, uint32_t k) except -1 nogil:
    """Multiplications by one become input modifiers."""
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint16_t format = p.instructions.format[i]
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef Operand source
    cdef Operand o = _op(p, i, k)
    cdef Operand[8] operands
    cdef bint negative = False
    cdef bint absolute = False
    cdef uint32_t bits = 0
    cdef uint32_t count
    cdef uint16_t old_format = format
    cdef uint64_t old_word = word
    if k > 2 or _fixed_sources(opcode) or format & format_vop3p or not _sign_source(c, o, &source, &negative, &absolute, &bits):
        return 0
    if not _keeps_denormals(p, c.block, bits) and not _flushes_sources(p, i, bits) and c.canonical[source.data] != bits:
        return 0
    if float_bits(opcode) != bits and not (opcode == op_v_cndmask_b32 and bits == 32 and k < 2):
        return 0
    if (negative or absolute) and not can_use_input_modifiers(opcode):
        return 0
    if opcode in (op_v_cvt_f32_f16, op_v_cvt_f16_f32) or modifier_opsel(word) >> k & 1:
        return 0
    count = _load(p, i, operands)
    operands[k] = source
    # Adding a negated value is subtracting, in the short encoding.
    if negative and not absolute and opcode in (op_v_add_f32, op_v_add_f16) and not (modifier_neg(word) | modifier_abs(word)) \
            and not format & modified_encodings:
        if k == 1:
            opcode = op_v_sub_f32 if bits == 32 else op_v_sub_f16
        else:
            opcode = op_v_subrev_f32 if bits == 32 else op_v_subrev_f16
        p.instructions.opcode[i] = opcode
        if not _encode(c, i, operands, count):
            p.instructions.opcode[i] = op_v_add_f32 if bits == 32 else op_v_add_f16
        return 0
    if negative and not modifier_abs(word) >> k & 1:
        word = modifier_set_neg(word, modifier_neg(word) ^ (1 << k))
    if absolute and not modifier_abs(word) >> k & 1:
        word = modifier_set_abs(word, modifier_abs(word) | (1 << k))
    if (negative or absolute) and not format & modified_encodings:
        p.instructions.format[i] = format | format_vop3
    p.instructions.modifiers[i] = word
    if format & modified_encodings:
        if class_is_vgpr(source.register_class) and not (format & format_sdwa and k > 1):
            _set_operand(c, i, k, source)
            return 0
    elif _encode(c, i, operands, count):
        return 0
    p.instructions.format[i] = old_format
    p.instructions.modifiers[i] = old_word
    return 0


cdef int _fold_extract(Context *c, uint32_t i) except -1 nogil:
    """An element of a vector that is made of parts is one of the parts."""
    cdef ProgramData *p = c.p
    cdef Operand o = _op(p, i, 0)
    cdef Operand part
    cdef uint32_t q = _producer(c, o)
    cdef uint32_t d = p.instructions.definition_first[i]
    cdef uint32_t size = class_bytes(p.definitions.register_class[d])
    cdef uint32_t wanted = _op(p, i, 1).data * size
    cdef uint32_t offset = 0
    cdef uint32_t k
    if q == 0 or p.instructions.opcode[q] != op_p_create_vector:
        return 0
    for k in range(p.instructions.operand_count[q]):
        part = _op(p, q, k)
        if offset == wanted and operand_bytes(part) == size:
            if part.flags & operand_temp and (part.flags & operand_fixed
                                              or part.register_class != p.definitions.register_class[d]):
                return 0
            if part.flags & operand_constant and size < 4:
                return 0
            if part.flags & operand_undef:
                return 0
            return _become(c, i, op_p_parallelcopy, format_pseudo, &part, 1)
        offset += operand_bytes(part)
    return 0


cdef int _fold_split(Context *c, uint32_t i) except -1 nogil:
    """A vector that is split into the parts it was made of."""
    cdef ProgramData *p = c.p
    cdef uint32_t q = _producer(c, _op(p, i, 0))
    cdef uint32_t count = p.instructions.definition_count[i]
    cdef uint32_t k
    cdef Operand[16] parts
    cdef Operand part
    if q == 0 or p.instructions.opcode[q] != op_p_create_vector or p.instructions.operand_count[q] != count or count > 16:
        return 0
    for k in range(count):
        part = _op(p, q, k)
        parts[k] = part
        if not _plain_temp(part) or part.register_class != p.definitions.register_class[p.instructions.definition_first[i] + k]:
            return 0
    _become(c, i, op_p_parallelcopy, format_pseudo, parts, count)
    return 0


cdef int _propagate(Context *c, uint32_t i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint16_t format = p.instructions.format[i]
    cdef uint32_t k
    cdef Operand o
    cdef Operand source
    for k in range(p.instructions.operand_count[i]):
        for _ in range(4):
            if k >= p.instructions.operand_count[i]:
                break
            o = _op(p, i, k)
            if not _copied(c, o, &source):
                break
            if source.flags & operand_temp and source.register_class == o.register_class:
                source.flags |= o.flags & <uint16_t>0x180
                # Loop exits keep their phis' operands as they are; a copy of the same class is the same value anywhere.
                _set_operand(c, i, k, source)
            elif format_is_valu(format):
                _propagate_valu(c, i, k, source)
                break
            elif format_is_salu(format):
                _propagate_salu(c, i, k, source)
                break
            elif format == format_pseudo and not opcode_is_phi(p.instructions.opcode[i]):
                _propagate_pseudo(c, i, k, source)
                break
            else:
                break
    if format_is_valu(format):
        for k in range(min(3, <uint32_t>p.instructions.operand_count[i])):
            _propagate_sign(c, i, k)
    elif p.instructions.opcode[i] == op_p_extract_vector:
        _fold_extract(c, i)
    elif p.instructions.opcode[i] == op_p_split_vector:
        _fold_split(c, i)
    return 0


# ----------------------------------------------------------------------------------------------------------------- combine
cdef inline bint _single(const Context *c, Operand o, uint16_t opcode, uint32_t *producer) noexcept nogil:
    """The operand's only use is here, and it is the first result of this opcode without modifiers."""
    cdef const ProgramData *p = c.p
    cdef uint32_t q = _producer(c, o)
    if q == 0 or p.instructions.opcode[q] != opcode or c.uses[o.data] != 1 or _result(p, q) != o.data:
        return False
    if p.instructions.format[q] & modified_encodings or (format_is_valu(p.instructions.format[q]) and p.instructions.modifiers[q]):
        return False
    producer[0] = q
    return True


cdef bint _three(Context *c, uint32_t i, uint16_t opcode, Operand a, Operand b, Operand d) except -1 nogil:
    """Become a three-operand VOP3 instruction if the generation has it and the operands fit."""
    cdef ProgramData *p = c.p
    cdef Operand[3] operands
    if isa_opcode_number(p.gfx_level, opcode, opcode_format[opcode]) < 0:
        return False
    operands[0] = a
    operands[1] = b
    operands[2] = d
    if not _bus_allows(p, opcode, format_vop3, operands, 3):
        return False
    _become(c, i, opcode, format_vop3, operands, 3)
    p.instructions.modifiers[i] = 0
    return True


cdef inline bint _unmodified(const ProgramData *p, uint32_t i) noexcept nogil:
    return not p.instructions.format[i] & modified_encodings and p.instructions.modifiers[i] == 0


cdef bint _combine_add(Context *c, uint32_t i) except -1 nogil:
    """v_add_u32 with a sum, shift, xor, product or bit count."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef uint32_t q = 0
    cdef Operand o
    cdef Operand other
    cdef Operand[2] two
    if not _unmodified(p, i):
        return False
    for k in range(2):
        o = _op(p, i, k)
        other = _op(p, i, 1 - k)
        if _single(c, o, op_v_bcnt_u32_b32, &q) and _is_constant(_op(p, q, 1), 0):
            two[0] = _op(p, q, 0)
            two[1] = other
            if _bus_allows(p, op_v_bcnt_u32_b32, format_vop3, two, 2):
                _become(c, i, op_v_bcnt_u32_b32, format_vop3, two, 2)
                return True
        if _single(c, o, op_v_mul_u32_u24, &q) and _three(c, i, op_v_mad_u32_u24, _op(p, q, 0), _op(p, q, 1), other):
            return True
        if _single(c, o, op_v_mul_i32_i24, &q) and _three(c, i, op_v_mad_i32_i24, _op(p, q, 0), _op(p, q, 1), other):
            return True
        if _single(c, o, op_v_xor_b32, &q) and _three(c, i, op_v_xad_u32, _op(p, q, 0), _op(p, q, 1), other):
            return True
        if _single(c, o, op_v_add_u32, &q) and _three(c, i, op_v_add3_u32, other, _op(p, q, 0), _op(p, q, 1)):
            return True
        if _single(c, o, op_v_lshlrev_b32, &q) and _three(c, i, op_v_lshl_add_u32, _op(p, q, 1), _op(p, q, 0), other):
            return True
    # A scalar shift may have other users: its VALU form costs nothing more.
    for k in range(2):
        q = _producer(c, _op(p, i, k))
        if q and p.instructions.opcode[q] == op_s_lshl_b32 and _result(p, q) == _op(p, i, k).data \
                and _three(c, i, op_v_lshl_add_u32, _op(p, q, 0), _op(p, q, 1), _op(p, i, 1 - k)):
            return True
    return False


cdef bint _combine_or(Context *c, uint32_t i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef uint32_t q = 0
    cdef Operand o
    cdef Operand other
    if not _unmodified(p, i):
        return False
    for k in range(2):
        o = _op(p, i, k)
        other = _op(p, i, 1 - k)
        if _single(c, o, op_v_or_b32, &q) and _three(c, i, op_v_or3_b32, other, _op(p, q, 0), _op(p, q, 1)):
            return True
        if _single(c, o, op_v_and_b32, &q) and _three(c, i, op_v_and_or_b32, _op(p, q, 0), _op(p, q, 1), other):
            return True
        if _single(c, o, op_v_lshlrev_b32, &q) and _three(c, i, op_v_lshl_or_b32, _op(p, q, 1), _op(p, q, 0), other):
            return True
    return False


cdef bint _combine_xor(Context *c, uint32_t i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef uint32_t q = 0
    if not _unmodified(p, i):
        return False
    for k in range(2):
        if _single(c, _op(p, i, k), op_v_xor_b32, &q) \
                and _three(c, i, op_v_xor3_b32, _op(p, i, 1 - k), _op(p, q, 0), _op(p, q, 1)):
            return True
    return False


cdef bint _combine_shift(Context *c, uint32_t i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t q = 0
    return (_unmodified(p, i) and _single(c, _op(p, i, 1), op_v_add_u32, &q)
            and _three(c, i, op_v_add_lshl_u32, _op(p, q, 0), _op(p, q, 1), _op(p, i, 0)))


cdef bint _combine_minmax(Context *c, uint32_t i, uint16_t same, uint16_t opcode3) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef uint32_t q = 0
    if not _unmodified(p, i):
        return False
    for k in range(2):
        if _single(c, _op(p, i, k), same, &q) and _three(c, i, opcode3, _op(p, q, 0), _op(p, q, 1), _op(p, i, 1 - k)):
            return True
    return False


cdef uint16_t _multiply_add(const ProgramData *p, uint32_t block, uint32_t bits, bint precise) noexcept nogil:
    """The opcode for a * b + c; op_invalid when it would change a result that must not change."""
    cdef uint32_t denormals = p.blocks.fp_mode[block] >> (4 if bits == 32 else 6) & 3
    if bits == 32 and p.gfx_level <= gfx9 and denormals == 0:
        return op_v_mad_f32                # rounds twice, as the two instructions do
    if bits == 16 and p.gfx_level == gfx9 and denormals == 0:
        return op_v_mad_f16
    if precise:
        return op_invalid
    if bits == 32:
        return op_v_fma_f32
    if bits == 16:
        return op_v_fma_f16 if p.gfx_level >= gfx9 else op_invalid
    return op_v_fma_f64


cdef bint _combine_multiply_add(Context *c, uint32_t i, uint32_t bits, bint negate_left, bint negate_right) except -1 nogil:
    """An addition or subtraction whose one side is a product that nobody else needs."""
    cdef ProgramData *p = c.p
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef uint64_t product
    cdef uint64_t result = 0
    cdef uint16_t multiply = op_v_mul_f32 if bits == 32 else op_v_mul_f16 if bits == 16 else op_v_mul_f64
    cdef uint16_t opcode
    cdef uint32_t k
    cdef uint32_t q
    cdef uint32_t neg
    cdef uint32_t absolute
    cdef Operand[3] operands
    cdef Operand o
    cdef bint precise
    if p.instructions.format[i] & modified_encodings or modifier_opsel(word) & 8:
        return False
    for k in range(2):
        o = _op(p, i, k)
        q = _producer(c, o)
        if q == 0 or p.instructions.opcode[q] != multiply or c.uses[o.data] != 1 or p.instructions.format[q] & modified_encodings:
            continue
        product = p.instructions.modifiers[q]
        if modifier_clamp(product) or modifier_omod(product) or modifier_opsel(product) & 8 or modifier_opsel(word) >> k & 1:
            continue
        precise = ((p.definitions.flags[p.instructions.definition_first[q]]
                    | p.definitions.flags[p.instructions.definition_first[i]]) & definition_precise) != 0
        opcode = _multiply_add(p, c.block, bits, precise)
        if opcode == op_invalid or isa_opcode_number(p.gfx_level, opcode, format_vop3) < 0:
            continue
        operands[0] = _op(p, q, 0)
        operands[1] = _op(p, q, 1)
        operands[2] = _op(p, i, 1 - k)
        neg = modifier_neg(product) & 3
        absolute = modifier_abs(product) & 3
        if modifier_abs(word) >> k & 1:
            neg = 0
            absolute = 3
        if (modifier_neg(word) >> k & 1) != (negate_right if k else negate_left):
            neg ^= 1
        if (modifier_neg(word) >> (1 - k) & 1) != (negate_left if k else negate_right):
            neg |= 4
        absolute |= (modifier_abs(word) >> (1 - k) & 1) << 2
        if not _bus_allows(p, opcode, format_vop3, operands, 3):
            continue
        result = modifier_set_neg(result, neg)
        result = modifier_set_abs(result, absolute)
        result = modifier_set_clamp(result, modifier_clamp(word))
        result = modifier_set_omod(result, modifier_omod(word))
        result = modifier_set_opsel(result, (modifier_opsel(product) & 3) | (modifier_opsel(word) >> (1 - k) & 1) << 2)
        _become(c, i, opcode, format_vop3, operands, 3)
        p.instructions.modifiers[i] = result
        return True
    return False


cdef bint _takes_output(const Context *c, Operand o, uint32_t bits, uint32_t *producer) noexcept nogil:
    """The operand's producer can apply an output modifier in place of this instruction."""
    cdef const ProgramData *p = c.p
    cdef uint32_t q = _producer(c, o)
    if q == 0 or c.uses[o.data] != 1 or not format_is_valu(p.instructions.format[q]) or _result(p, q) != o.data:
        return False
    if not can_use_output_modifiers(p.instructions.opcode[q]) or float_bits(p.instructions.opcode[q]) != bits:
        return False
    if p.instructions.format[q] & (format_vop3p | format_dpp16 | format_dpp8 | format_sdwa) or p.instructions.definition_count[q] != 1:
        return False
    if _fixed_sources(p.instructions.opcode[q]) or modifier_clamp(p.instructions.modifiers[q]):
        return False
    if p.gfx_level < gfx10 and not p.instructions.format[q] & format_vop3 and p.instructions.operand_count[q] \
            and operand_is_literal(_op(p, q, 0)):
        return False
    producer[0] = q
    return c.home[o.data] == c.block


cdef int _take_over(Context *c, uint32_t i, uint32_t q, uint64_t word) except -1 nogil:
    """Become the producer, with other modifiers; the producer loses its use."""
    cdef ProgramData *p = c.p
    cdef Operand[8] operands
    cdef uint32_t count = _load(p, q, operands)
    _become(c, i, p.instructions.opcode[q], p.instructions.format[q] | format_vop3, operands, count)
    p.instructions.modifiers[i] = word
    if p.definitions.flags[p.instructions.definition_first[q]] & definition_precise:
        p.definitions.flags[p.instructions.definition_first[i]] |= definition_precise
    return 0


cdef bint _combine_clamp(Context *c, uint32_t i, uint32_t bits) except -1 nogil:
    """med3(0, 1, x): the producer of x clamps."""
    cdef ProgramData *p = c.p
    cdef uint64_t one = f32_one if bits == 32 else 0x3c00
    cdef uint32_t k
    cdef uint32_t zeros = 0
    cdef uint32_t ones = 0
    cdef uint32_t value = 3
    cdef uint32_t q = 0
    if not _unmodified(p, i):
        return False
    for k in range(3):
        if _is_constant(_op(p, i, k), 0):
            zeros += 1
        elif _is_constant(_op(p, i, k), one):
            ones += 1
        else:
            value = k
    if zeros != 1 or ones != 1 or value == 3 or not _takes_output(c, _op(p, i, value), bits, &q):
        return False
    _take_over(c, i, q, modifier_set_clamp(p.instructions.modifiers[q], 1))
    return True


cdef bint _combine_output_scale(Context *c, uint32_t i, uint32_t bits) except -1 nogil:
    """A product with 2, 4 or 0.5: the producer scales. The hardware does it with denormals flushed only."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef uint32_t q = 0
    cdef uint32_t scale
    cdef uint64_t value
    cdef uint32_t promise = fp_preserve_signed_zero_inf_nan32 if bits == 32 else fp_preserve_signed_zero_inf_nan16_64
    if not _unmodified(p, i) or (p.blocks.fp_mode[c.block] >> (4 if bits == 32 else 6) & 3) != 0 \
            or p.blocks.fp_mode[c.block] & promise:
        return False
    for k in range(2):
        if not _op(p, i, k).flags & operand_constant:
            continue
        value = operand_constant_value(_op(p, i, k))
        if value == (0x40000000 if bits == 32 else 0x4000):
            scale = 1
        elif value == (0x40800000 if bits == 32 else 0x4400):
            scale = 2
        elif value == (0x3f000000 if bits == 32 else 0x3800):
            scale = 3
        else:
            continue
        if _takes_output(c, _op(p, i, 1 - k), bits, &q) and modifier_omod(p.instructions.modifiers[q]) == 0:
            _take_over(c, i, q, modifier_set_omod(p.instructions.modifiers[q], scale))
            return True
    return False


cdef inline bint _scc_unused(const Context *c, uint32_t i) noexcept nogil:
    """Nobody reads the scc result."""
    cdef const ProgramData *p = c.p
    cdef uint32_t row
    for row in range(p.instructions.definition_first[i] + 1,
                     p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if p.definitions.reg[row] != register_scc or c.uses[p.definitions.temp[row]]:
            return False
    return True


cdef bint _combine_scalar_not(Context *c, uint32_t i, uint16_t inverter, uint16_t opcode) except -1 nogil:
    """a & ~b, a | ~b"""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef uint32_t q = 0
    cdef Operand[2] operands
    for k in range(2):
        if _single(c, _op(p, i, k), inverter, &q) and _scc_unused(c, q):
            operands[0] = _op(p, i, 1 - k)
            operands[1] = _op(p, q, 0)
            _become(c, i, opcode, format_sop2, operands, 2)
            return True
    return False


cdef bint _combine_and_exec(Context *c, uint32_t i) except -1 nogil:
    """A compare in the same block has cleared the inactive lanes already."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef uint32_t q
    cdef Operand o
    if not _scc_unused(c, i):
        return False
    for k in range(2):
        o = _op(p, i, k)
        q = _producer(c, o)
        if q == 0 or not p.instructions.format[q] & format_vopc or not format_is_valu(p.instructions.format[q]):
            continue
        if c.home[o.data] != c.block or not _op(p, i, 1 - k).flags & operand_fixed \
                or _op(p, i, 1 - k).reg != register_exec or _op(p, i, 1 - k).flags & operand_constant:
            continue
        p.instructions.definition_count[i] = 1
        _become(c, i, op_p_parallelcopy, format_pseudo, &o, 1)
        return True
    return False


cdef bint _combine_scalar_shift_add(Context *c, uint32_t i) except -1 nogil:
    """(a << n) + b with n from 1 to 4, when nobody reads the carry."""
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef uint32_t q = 0
    cdef uint32_t shift
    cdef Operand[2] operands
    cdef uint16_t opcode
    if p.gfx_level < gfx9 or not _scc_unused(c, i):
        return False
    for k in range(2):
        q = _producer(c, _op(p, i, k))
        if q == 0 or p.instructions.opcode[q] != op_s_lshl_b32 or _result(p, q) != _op(p, i, k).data \
                or not _op(p, q, 1).flags & operand_constant:
            continue
        shift = _op(p, q, 1).data & 31
        if not 1 <= shift <= 4:
            continue
        operands[0] = _op(p, q, 0)
        operands[1] = _op(p, i, 1 - k)
        if operand_is_literal(operands[0]) and operand_is_literal(operands[1]) and operands[0].data != operands[1].data:
            continue
        opcode = (op_s_lshl1_add_u32 if shift == 1 else op_s_lshl2_add_u32 if shift == 2
                  else op_s_lshl3_add_u32 if shift == 3 else op_s_lshl4_add_u32)
        _become(c, i, opcode, format_sop2, operands, 2)
        return True
    return False


cdef bint _combine_valu(Context *c, uint32_t i, uint16_t opcode) except -1 nogil:
    if opcode == op_v_add_u32:
        return _combine_add(c, i)
    if opcode == op_v_or_b32:
        return _combine_or(c, i)
    if opcode == op_v_xor_b32:
        return _combine_xor(c, i)
    if opcode == op_v_lshlrev_b32:
        return _combine_shift(c, i)
    if opcode == op_v_add_f32:
        return _combine_multiply_add(c, i, 32, False, False)
    if opcode == op_v_sub_f32:
        return _combine_multiply_add(c, i, 32, False, True)
    if opcode == op_v_subrev_f32:
        return _combine_multiply_add(c, i, 32, True, False)
    if opcode == op_v_add_f16:
        return _combine_multiply_add(c, i, 16, False, False)
    if opcode == op_v_sub_f16:
        return _combine_multiply_add(c, i, 16, False, True)
    if opcode == op_v_subrev_f16:
        return _combine_multiply_add(c, i, 16, True, False)
    if opcode == op_v_add_f64:
        return _combine_multiply_add(c, i, 64, False, False)
    if opcode == op_v_med3_f32:
        return _combine_clamp(c, i, 32)
    if opcode == op_v_med3_f16:
        return _combine_clamp(c, i, 16)
    if opcode == op_v_mul_f32:
        return _combine_output_scale(c, i, 32)
    if opcode == op_v_mul_f16:
        return _combine_output_scale(c, i, 16)
    if minmax_of_three(opcode) != op_invalid:
        return _combine_minmax(c, i, opcode, minmax_of_three(opcode))
    return False


cdef bint _combine(Context *c, uint32_t i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    if p.instructions.definition_count[i] == 0:
        return False
    if format_is_valu(p.instructions.format[i]):
        return _combine_valu(c, i, opcode)
    if opcode == op_s_and_b32 or opcode == op_s_and_b64:
        if _combine_and_exec(c, i):
            return True
    if opcode == op_s_and_b32:
        return _combine_scalar_not(c, i, op_s_not_b32, op_s_andn2_b32)
    if opcode == op_s_and_b64:
        return _combine_scalar_not(c, i, op_s_not_b64, op_s_andn2_b64)
    if opcode == op_s_or_b32:
        return _combine_scalar_not(c, i, op_s_not_b32, op_s_orn2_b32)
    if opcode == op_s_or_b64:
        return _combine_scalar_not(c, i, op_s_not_b64, op_s_orn2_b64)
    if opcode == op_s_add_u32 or opcode == op_s_add_i32:
        return _combine_scalar_shift_add(c, i)
    return False


# ------------------------------------------------------------------------------------------------------------------- sweeps
cdef void _label(Context *c, uint32_t i) noexcept nogil:
    """Remember what defines a temp."""
    cdef ProgramData *p = c.p
    cdef uint32_t row
    cdef uint32_t temp
    cdef uint32_t bits = float_bits(p.instructions.opcode[i]) if format_is_valu(p.instructions.format[i]) else 0
    if p.gfx_level < gfx9 and p.instructions.opcode[i] in (op_v_min_f32, op_v_max_f32, op_v_min_f16, op_v_max_f16):
        bits = 0
    for row in range(p.instructions.definition_first[i],
                     p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        temp = p.definitions.temp[row]
        if p.definitions.flags[row] & definition_temp:
            c.parent[temp] = i
            c.home[temp] = c.block
            c.canonical[temp] = <uint8_t>bits


cdef void _count_uses(Context *c) noexcept nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef uint32_t i
    cdef uint32_t row
    for k in range(p.order.table.count):
        i = p.order.instruction[k]
        for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
            if p.operands.flags[row] & operand_temp:
                c.uses[p.operands.data[row]] += 1


cdef bint _has_effect(const ProgramData *p, uint32_t i) noexcept nogil:
    """The instruction does more than compute its definitions."""
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t row
    if p.instructions.definition_count[i] == 0:
        return True
    for row in range(p.instructions.definition_first[i],
                     p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if not p.definitions.flags[row] & definition_temp:
            return True
    if format in (format_sopp, format_exp, format_ldsdir, format_pseudo_branch, format_pseudo_barrier):
        return True
    if format_is_vmem(format) or format_is_flat_like(format) or format == format_ds or format == format_smem:
        return is_atomic(opcode) or (modifier_semantics(p.instructions.modifiers[i]) & semantic_volatile) != 0 \
            or (format == format_ds and opcode in (op_ds_append, op_ds_consume, op_ds_ordered_count))
    if format == format_pseudo:
        return opcode in (op_p_startpgm, op_p_init_scratch, op_p_start_linear_vgpr, op_p_unit_test, op_p_reload, op_p_spill,
                          op_p_call, op_p_debug_info, op_p_demote_to_helper, op_p_discard_if)
    return opcode in (op_s_getreg_b32, op_s_setreg_b32, op_s_setreg_imm32_b32, op_s_sendmsg_rtn_b32, op_s_sendmsg_rtn_b64,
                      op_s_setpc_b64, op_s_swappc_b64, op_s_getpc_b64, op_s_barrier_signal_isfirst)


cdef bint _is_dead(const Context *c, uint32_t i) noexcept nogil:
    cdef const ProgramData *p = c.p
    cdef uint32_t row
    if _has_effect(p, i):
        return False
    for row in range(p.instructions.definition_first[i],
                     p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if c.uses[p.definitions.temp[row]]:
            return False
    return True


cdef int _remove_dead(Context *c) except -1 nogil:
    """Backward; phis of loops that only feed themselves stay."""
    cdef ProgramData *p = c.p
    cdef Rewrite rewrite
    cdef vector[uint8_t] dead
    cdef uint32_t b
    cdef uint32_t k
    cdef uint32_t i
    cdef uint32_t row
    cdef bint again = True
    cdef uint32_t rounds = 0
    dead.assign(p.instructions.table.count, 0)
    while again and rounds < 4:
        again = False
        rounds += 1
        b = p.blocks.table.count
        while b > 0:
            b -= 1
            k = p.blocks.order_count[b]
            while k > 0:
                k -= 1
                i = p.order.instruction[p.blocks.order_first[b] + k]
                if dead[i] or not _is_dead(c, i):
                    continue
                dead[i] = 1
                again |= opcode_is_phi(p.instructions.opcode[i])
                for row in range(p.instructions.operand_first[i],
                                 p.instructions.operand_first[i] + p.instructions.operand_count[i]):
                    if p.operands.flags[row] & operand_temp:
                        c.uses[p.operands.data[row]] -= 1
    rewrite_begin(&rewrite, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&rewrite, b)
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            if not dead[i]:
                rewrite_emit(&rewrite, i)
    return rewrite_end(&rewrite)


cdef void _use_literal_forms(Context *c, uint32_t i) noexcept nogil:
    """Multiply-add with a literal addend has a shorter encoding (GFX10 and later)."""
    cdef ProgramData *p = c.p
    if p.instructions.opcode[i] != op_v_fma_f32 or p.gfx_level < gfx10 or p.instructions.modifiers[i] \
            or p.instructions.format[i] != format_vop3:
        return
    if not operand_is_literal(_op(p, i, 2)) or operand_is_literal(_op(p, i, 0)) or operand_is_literal(_op(p, i, 1)):
        return
    if _op(p, i, 1).flags & operand_constant or not class_is_vgpr(_op(p, i, 1).register_class):
        return
    if not _op(p, i, 0).flags & operand_constant and not class_is_vgpr(_op(p, i, 0).register_class):
        return
    p.instructions.opcode[i] = op_v_fmaak_f32
    p.instructions.format[i] = format_vop2


cdef int optimize_run(ProgramData *p) except -1 nogil:
    cdef Context c
    cdef uint32_t b
    cdef uint32_t k
    cdef uint32_t i
    cdef uint32_t tries
    c.p = p
    c.parent.assign(p.temps.table.count, 0)
    c.home.assign(p.temps.table.count, 0)
    c.uses.assign(p.temps.table.count, 0)
    c.canonical.assign(p.temps.table.count, 0)
    _count_uses(&c)
    for b in range(p.blocks.table.count):
        c.block = b
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            _propagate(&c, i)
            tries = 0
            while tries < 3 and _combine(&c, i):
                tries += 1
            _use_literal_forms(&c, i)
            _label(&c, i)
    return _remove_dead(&c)


def run(Program program, options=None):
    """Propagate copies, constants and modifiers, combine instructions, remove dead code."""
    with nogil:
        optimize_run(&program.data)
    return True
