"""The optimizer's first step: an operand becomes what it is a copy of, where the encoding allows: see ``optimize.pyx``."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from isa_tables cimport (
    can_use_input_modifiers, opcode_constant_bits, opcode_mask_class, opcode_max_operands, opcode_operand_classes,
)
from modifiers cimport (
    modifier_abs, modifier_clamp, modifier_neg, modifier_omod, modifier_opsel, modifier_set_abs, modifier_set_neg,
)
from pyaco._core.aco.optimize_edit cimport *
from pyaco._core.aco.inline_constants cimport is_missing_constant
from pyaco._core.aco.optimize_facts cimport converted_bits, flushed_bits, float_bits, is_packed, read_bits
from pyaco._core.aco.optimize_packed cimport propagate_packed_constant
from pyaco._core.aco.optimize_parts cimport propagate_halves
from pyaco._core.aco.queries cimport opcode_is_phi, tied_operand
from pyaco._core.ir.program cimport *

cdef enum:
    near = 512                       # instructions between a value that is read as uniform and its use


# --------------------------------------------------------------------------------------------------------------- propagate
cdef bint _copied(Context *c, Operand o, Operand *source) noexcept nogil:
    """Whether an operand is a plain copy of a temp or a constant, and of which."""
    cdef ProgramData *p = c.p
    cdef InstructionId q = producer_of(c, o)
    cdef uint16_t opcode
    cdef uint32_t k = 0
    if q == 0 or p.instructions.definition_count[q] != p.instructions.operand_count[q]:
        return False
    opcode = p.instructions.opcode[q]
    if opcode not in (op_p_parallelcopy, op_s_mov_b32, op_s_mov_b64, op_v_mov_b32):
        return False
    if opcode == op_v_mov_b32 and (p.instructions.format[q] & modified_encodings or p.instructions.modifiers[q]):
        return False
    while p.definitions.temp[p.instructions.definition_first[q] + k] != o.data:
        k += 1
    if p.definitions.flags[p.instructions.definition_first[q] + k] & definition_fixed:
        return False
    source[0] = source_at(p, q, k)
    if source.flags & operand_constant:
        return True
    return is_plain_temp(source[0]) and not class_is_linear_vgpr(source.register_class)


cdef bint _constant_pair(Context *c, Operand o, Operand *source) noexcept nogil:
    """Whether an operand is put together of two constants that are one inline constant of 64 bits."""
    cdef ProgramData *p = c.p
    cdef InstructionId q
    cdef uint64_t value
    if operand_bytes(o) != 8:
        return False
    q = producer_of(c, o)
    if q == 0 or p.instructions.opcode[q] != op_p_create_vector or p.instructions.operand_count[q] != 2 \
            or not source_at(p, q, 0).flags & source_at(p, q, 1).flags & operand_constant or operand_bytes(source_at(p, q, 0)) != 4:
        return False
    value = operand_constant_value(source_at(p, q, 0)) | operand_constant_value(source_at(p, q, 1)) << 32
    if not operand_c64_fits(value):
        return False
    source[0] = operand_c64(value)
    return not operand_is_literal(source[0])


cdef bint _same_in_vgpr(Context *c, InstructionId i, uint32_t k, Operand *source) noexcept nogil:
    """The VGPR that a uniform value was read from in this block: its active lanes agree, so vector instructions need no SGPR.

    Lanes that run now ran then, which is only certain within a block. Far behind, a VGPR would be kept for it: that costs registers of which
    there are fewer.
    """
    cdef ProgramData *p = c.p
    cdef Operand o = source_at(p, i, k)
    cdef InstructionId q = producer_of(c, o)
    cdef uint16_t opcode = p.instructions.opcode[i]
    if q == 0 or p.instructions.opcode[q] != op_p_as_uniform or c.home[o.data] != c.block \
            or c.position - c.place[o.data] > near:
        return False
    source[0] = source_at(p, q, 0)
    if not is_plain_temp(source[0]) or not class_is_vgpr(source.register_class) or class_is_linear_vgpr(source.register_class) \
            or class_bytes(source.register_class) != class_bytes(o.register_class) or class_is_subdword(source.register_class):
        return False
    if not format_is_valu(p.instructions.format[i]):
        return opcode in (op_p_create_vector, op_p_parallelcopy)
    return k < opcode_max_operands and opcode_operand_classes[opcode * opcode_max_operands + k] != opcode_mask_class


cdef int _fold_copied_vector(Context *c, InstructionId i) except -1 nogil:
    """A vector of SGPRs that is copied to VGPRs is made there, if it is used for nothing else or if it costs nothing to make twice."""
    cdef ProgramData *p = c.p
    cdef Operand o = source_at(p, i, 0)
    cdef InstructionId q = producer_of(c, o)
    cdef Operand[16] parts
    cdef uint32_t k
    cdef uint32_t count
    if q == 0 or p.instructions.opcode[q] != op_p_create_vector or p.instructions.definition_count[i] != 1 \
            or not class_is_vgpr(p.definitions.register_class[p.instructions.definition_first[i]]) or class_is_vgpr(o.register_class) \
            or class_is_linear_vgpr(p.definitions.register_class[p.instructions.definition_first[i]]):
        return 0
    count = p.instructions.operand_count[q]
    if count > 16:
        return 0
    for k in range(count):
        parts[k] = source_at(p, q, k)
        if parts[k].flags & operand_temp and (parts[k].flags & operand_fixed or operand_bytes(parts[k]) % 4):
            return 0
        if c.uses[o.data] != 1 and (not parts[k].flags & operand_constant or operand_is_literal(parts[k])):
            return 0
    return become(c, i, op_p_create_vector, format_pseudo, parts, count)


cdef bint _constant_for(const ProgramData *p, uint16_t opcode, Operand source, uint32_t bytes_, Operand *result) noexcept nogil:
    """The constant in the width that the instruction reads; False: it cannot be an operand there."""
    cdef uint64_t value = operand_constant_value(source)
    cdef uint32_t bits = opcode_constant_bits[opcode]
    if bits == 16 and bytes_ <= 4:
        result[0] = operand_c16(<uint32_t>value & 0xffff)
        return not operand_is_literal(result[0])
    if bytes_ == 8:
        result[0] = operand_c64(value)
        if is_missing_constant(p.gfx_level, result[0]):
            return False
        return not operand_is_literal(result[0]) and operand_constant_value(result[0]) == value
    if bytes_ != 4:
        return False
    result[0] = operand_c32(<uint32_t>value)
    if is_missing_constant(p.gfx_level, result[0]):
        result[0] = operand_literal32(<uint32_t>value)
    return True


cdef int _propagate_valu(Context *c, InstructionId i, uint32_t k, Operand source) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef Operand[8] operands
    cdef Operand o = source_at(p, i, k)
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t count
    if has_fixed_sources(opcode) or p.instructions.operand_count[i] > 4:
        return 0
    count = load_operands(p, i, operands)
    if source.flags & operand_constant:
        # Lane masks stay in registers.
        if k >= opcode_max_operands or opcode_operand_classes[opcode * opcode_max_operands + k] == opcode_mask_class:
            return 0
        if is_packed(opcode) and operand_bytes(o) == 4:
            propagate_packed_constant(c, i, k, source)
            return 0
        if p.instructions.format[i] & format_vop3p or not _constant_for(p, opcode, source, operand_bytes(o), &source):
            return 0
        # A literal in many instructions costs more than a register that holds it.
        if operand_is_literal(source) and c.uses[o.data] > 3:
            return 0
        if modifier_opsel(p.instructions.modifiers[i]) >> k & 1:
            return 0
    elif modifier_opsel(p.instructions.modifiers[i]) >> k & 1 and not class_is_vgpr(source.register_class):
        return 0
    elif class_dwords(source.register_class) != class_dwords(o.register_class) or class_is_subdword(o.register_class):
        return 0
    else:
        source.flags |= o.flags & <uint16_t>(operand_16bit | operand_24bit)
    operands[k] = source
    encode_operands(c, i, operands, count)
    return 0


cdef int _propagate_salu(Context *c, InstructionId i, uint32_t k, Operand source) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint16_t format = p.instructions.format[i]
    cdef Operand o = source_at(p, i, k)
    cdef bint tied = tied_operand(p, i) == <int>k
    cdef uint32_t j
    if not source.flags & operand_constant or format not in (format_sop1, format_sop2, format_sopc):
        return 0
    if not _constant_for(p, p.instructions.opcode[i], source, operand_bytes(o), &source):
        return 0
    if tied and not (p.instructions.opcode[i] == op_s_fmac_f32 and operand_is_literal(source)):
        return 0
    if operand_is_literal(source):
        if c.uses[o.data] > 3:
            return 0
        for j in range(p.instructions.operand_count[i]):
            if j != k and operand_is_literal(source_at(p, i, j)) and source_at(p, i, j).data != source.data:
                return 0
    if tied:
        p.instructions.opcode[i] = op_s_fmaak_f32        # its addend is a literal, not what the result takes the place of
    set_operand(c, i, k, source)
    return 0


cdef int _propagate_pseudo(Context *c, InstructionId i, uint32_t k, Operand source) except -1 nogil:
    """Vectors and copies take constants and SGPRs as parts."""
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef Operand o = source_at(p, i, k)
    cdef DefinitionRow d = p.instructions.definition_first[i]
    if opcode != op_p_create_vector and opcode != op_p_parallelcopy:
        return 0
    if opcode == op_p_parallelcopy:
        d += k
    if source.flags & operand_constant:
        if operand_bytes(source) == operand_bytes(o) and operand_bytes(o) >= 4:
            set_operand(c, i, k, source)
    elif class_is_vgpr(p.definitions.register_class[d]) and class_bytes(source.register_class) == class_bytes(o.register_class) \
            and not class_is_linear_vgpr(p.definitions.register_class[d]):
        set_operand(c, i, k, source)
    return 0


cdef int _propagate_phi(Context *c, InstructionId i, uint32_t k, Operand source) except -1 nogil:
    """A phi of a dword names the constant itself: the copy on the edge makes it where another register would be read."""
    cdef ProgramData *p = c.p
    cdef Operand o = source_at(p, i, k)
    cdef uint8_t result = p.definitions.register_class[p.instructions.definition_first[i]]
    if not source.flags & operand_constant or operand_bytes(source) != 4 or operand_bytes(o) != 4 or result not in (class_s1, class_v1):
        return 0
    if operand_is_literal(source) and c.uses[o.data] > 3:
        return 0
    set_operand(c, i, k, source)
    return 0


cdef bint _sign_source(Context *c, Operand o, Operand *source, bint *negative, bint *absolute, uint32_t *bits) noexcept nogil:
    """The source of a multiplication by 1.0 or -1.0, or of bitwise logic that changes the sign."""
    cdef ProgramData *p = c.p
    cdef InstructionId q = producer_of(c, o)
    cdef uint64_t word
    cdef uint32_t one
    cdef uint32_t minus
    cdef uint32_t k
    if q and p.instructions.opcode[q] in (op_s_xor_b32, op_s_and_b32, op_v_xor_b32, op_v_and_b32):
        if p.instructions.format[q] & modified_encodings:
            return False
        negative[0] = p.instructions.opcode[q] in (op_s_xor_b32, op_v_xor_b32)
        absolute[0] = not negative[0]
        bits[0] = 32
        source[0] = source_at(p, q, 1)
        return is_constant(source_at(p, q, 0), 0x80000000U if negative[0] else 0x7fffffff) and source.flags & operand_temp != 0 \
            and not source.flags & operand_fixed
    if q == 0 or p.instructions.opcode[q] not in (op_v_mul_f32, op_v_mul_f16) or p.instructions.format[q] & modified_encodings:
        return False
    bits[0] = 32 if p.instructions.opcode[q] == op_v_mul_f32 else 16
    one = f32_one if bits[0] == 32 else 0x3c00
    minus = f32_minus_one if bits[0] == 32 else 0xbc00
    word = p.instructions.modifiers[q]
    if modifier_clamp(word) or modifier_omod(word) or modifier_opsel(word):
        return False
    for k in range(2):
        if not (is_constant(source_at(p, q, k), one) or is_constant(source_at(p, q, k), minus)):
            continue
        source[0] = source_at(p, q, 1 - k)
        if not source.flags & operand_temp or source.flags & operand_fixed:
            return False
        negative[0] = is_constant(source_at(p, q, k), minus) != ((modifier_neg(word) >> k & 1) != 0)
        if modifier_abs(word) >> k & 1:
            negative[0] = False
        if modifier_neg(word) >> (1 - k) & 1:
            negative[0] = not negative[0]
        absolute[0] = (modifier_abs(word) >> (1 - k) & 1) != 0
        return True
    return False


cdef bint _keeps_denormals(const ProgramData *p, BlockId block, uint32_t bits) noexcept nogil:
    return (p.blocks.fp_mode[block] >> (4 if bits == 32 else 6) & 3) == 3


cdef bint _may_keep_denormals(const ProgramData *p, BlockId block, uint32_t bits) noexcept nogil:
    """Whether denormals are flushed by the mode alone, and no result depends on it."""
    return not p.blocks.fp_mode[block] & (fp_must_flush_denorms32 if bits == 32 else fp_must_flush_denorms16_64)


cdef bint _negate_other_factor(const ProgramData *p, InstructionId i, uint32_t k, uint32_t bits, Operand *operands) noexcept nogil:
    """The sign of a factor goes to the constant that it is multiplied by, which leaves the short encodings possible. Whether there is one."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef Operand other
    cdef Operand negated
    if opcode not in (op_v_mul_f32, op_v_mul_f16) \
            or p.instructions.format[i] & modified_encodings \
            or (modifier_neg(p.instructions.modifiers[i]) | modifier_abs(p.instructions.modifiers[i]) | modifier_opsel(p.instructions.modifiers[i])):
        return False
    other = operands[1 - k]
    if not other.flags & operand_constant or operand_bytes(other) * 8 != bits:
        return False
    negated = operand_c32(other.data ^ 0x80000000U) if bits == 32 else operand_c16(other.data ^ 0x8000)
    if operand_is_literal(negated) and not operand_is_literal(other):
        return False
    operands[1 - k] = negated
    return True


cdef int _propagate_sign(Context *c, InstructionId i, uint32_t k) except -1 nogil:
    """Multiplications by one become input modifiers."""
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint16_t format = p.instructions.format[i]
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef Operand source
    cdef Operand o = source_at(p, i, k)
    cdef Operand[8] operands
    cdef bint negative = False
    cdef bint absolute = False
    cdef uint32_t bits = 0
    cdef uint32_t count
    cdef uint16_t old_format = format
    cdef uint64_t old_word = word
    if k > 2 or has_fixed_sources(opcode) or format & format_vop3p or not _sign_source(c, o, &source, &negative, &absolute, &bits):
        return 0
    if not _keeps_denormals(p, c.block, bits) and flushed_bits(opcode, p.gfx_level) != bits and c.canonical[source.data] != bits \
            and converted_bits(opcode) != bits and not (read_bits(opcode) == bits and _may_keep_denormals(p, c.block, bits)):
        return 0
    if float_bits(opcode) != bits and read_bits(opcode) != bits and not (opcode == op_v_cndmask_b32 and bits == 32 and k < 2):
        return 0
    if (negative or absolute) and not can_use_input_modifiers(opcode):
        return 0
    if modifier_opsel(word) >> k & 1:
        return 0
    count = load_operands(p, i, operands)
    operands[k] = source
    # Adding a negated value is subtracting, in the short encoding.
    if negative and not absolute and opcode in (op_v_add_f32, op_v_add_f16) and not (modifier_neg(word) | modifier_abs(word)) \
            and not format & modified_encodings:
        if k == 1:
            opcode = op_v_sub_f32 if bits == 32 else op_v_sub_f16
        else:
            opcode = op_v_subrev_f32 if bits == 32 else op_v_subrev_f16
        p.instructions.opcode[i] = opcode
        if encode_operands(c, i, operands, count):
            release(c, producer_of(c, o))
        else:
            p.instructions.opcode[i] = op_v_add_f32 if bits == 32 else op_v_add_f16
        return 0
    if negative and not absolute and _negate_other_factor(p, i, k, bits, operands):
        negative = False
    if negative and not modifier_abs(word) >> k & 1:
        word = modifier_set_neg(word, modifier_neg(word) ^ (1 << k))
    if absolute and not modifier_abs(word) >> k & 1:
        word = modifier_set_abs(word, modifier_abs(word) | (1 << k))
    if (negative or absolute) and not format & modified_encodings:
        p.instructions.format[i] = format | format_vop3
    p.instructions.modifiers[i] = word
    if format & modified_encodings:
        if class_is_vgpr(source.register_class) and not (format & format_sdwa and k > 1):
            set_operand(c, i, k, source)
            release(c, producer_of(c, o))
            return 0
    elif encode_operands(c, i, operands, count):
        release(c, producer_of(c, o))
        return 0
    p.instructions.format[i] = old_format
    p.instructions.modifiers[i] = old_word
    return 0


cdef int _fold_extract(Context *c, InstructionId i) except -1 nogil:
    """An element of a vector that is made of parts is one of the parts."""
    cdef ProgramData *p = c.p
    cdef Operand o = source_at(p, i, 0)
    cdef Operand part
    cdef InstructionId q = producer_of(c, o)
    cdef DefinitionRow d = p.instructions.definition_first[i]
    cdef uint32_t size = class_bytes(p.definitions.register_class[d])
    cdef uint32_t wanted = source_at(p, i, 1).data * size
    cdef uint32_t offset = 0
    cdef uint32_t k
    cdef uint32_t count
    cdef Operand[2] parts
    cdef Operand[16] constants
    if wanted < 8 and _is_one_constant(c, o, size, 2, parts):
        return become(c, i, op_p_parallelcopy, format_pseudo, &parts[wanted // 4], 1)
    if q == 0 or p.instructions.opcode[q] != op_p_create_vector:
        return 0
    for k in range(p.instructions.operand_count[q]):
        part = source_at(p, q, k)
        if offset == wanted and operand_bytes(part) == size:
            if part.flags & operand_temp and part.flags & operand_fixed:
                return 0
            # an SGPR is copied to a VGPR in any case, if every reader of the vector takes one part
            if part.flags & operand_temp and part.register_class != p.definitions.register_class[d] and not (
                    part.register_class == class_s1 and p.definitions.register_class[d] == class_v1
                    and c.uses[o.data] <= p.instructions.operand_count[q]):
                return 0
            if part.flags & operand_constant and size < 4:
                return 0
            if part.flags & operand_undef:
                return 0
            return become(c, i, op_p_parallelcopy, format_pseudo, &part, 1)
        if offset == wanted:
            count = _constants_from(p, q, k, size, constants)
            return become(c, i, op_p_create_vector, format_pseudo, constants, count) if count else 0
        offset += operand_bytes(part)
    return 0


cdef uint32_t _constants_from(const ProgramData *p, InstructionId q, uint32_t first, uint32_t size, Operand *constants) noexcept nogil:
    """The dwords of a vector that make so many bytes, if all are constants: how many."""
    cdef uint32_t count = size // 4
    cdef uint32_t k
    if size % 4 or count > 16 or first + count > p.instructions.operand_count[q]:
        return 0
    for k in range(count):
        constants[k] = source_at(p, q, first + k)
        if not constants[k].flags & operand_constant or operand_bytes(constants[k]) != 4:
            return 0
    return count


cdef bint _is_one_constant(const Context *c, Operand o, uint32_t size, uint32_t count, Operand *parts) noexcept nogil:
    """Whether a vector of dwords is a copy of one constant: the first parts of it."""
    cdef const ProgramData *p = c.p
    cdef InstructionId q = producer_of(c, o)
    cdef uint64_t value
    cdef uint32_t k
    if q == 0 or p.instructions.opcode[q] not in (op_p_parallelcopy, op_s_mov_b64) or p.instructions.operand_count[q] != 1 or size != 4 \
            or not source_at(p, q, 0).flags & operand_constant or operand_bytes(source_at(p, q, 0)) != 8 or count > 2:
        return False
    value = operand_constant_value(source_at(p, q, 0))
    for k in range(count):
        parts[k] = operand_c32(<uint32_t>(value >> 32 * k))
    return True


cdef int _fold_vectors(Context *c, InstructionId i) except -1 nogil:
    """The parts of a part that is nothing but a vector's are parts of the vector itself."""
    cdef ProgramData *p = c.p
    cdef Operand[16] parts
    cdef Operand part
    cdef InstructionId q
    cdef uint32_t count = 0
    cdef uint32_t j
    cdef uint32_t k
    cdef bint nested = False
    if p.instructions.operand_count[i] > 16:
        return 0
    for k in range(p.instructions.operand_count[i]):
        part = source_at(p, i, k)
        q = producer_of(c, part)
        if q == 0 or p.instructions.opcode[q] != op_p_create_vector or c.uses[part.data] != 1 \
                or p.instructions.operand_count[q] + count + p.instructions.operand_count[i] - k > 17:
            if count == 16:
                return 0
            parts[count] = part
            count += 1
            continue
        for j in range(p.instructions.operand_count[q]):
            parts[count] = source_at(p, q, j)
            if parts[count].flags & operand_temp and parts[count].flags & operand_fixed:
                return 0
            count += 1
        nested = True
    return become(c, i, op_p_create_vector, format_pseudo, parts, count) if nested else 0


cdef bint _part_of_vector(const Context *c, Operand o, Operand *vector, uint32_t *begin) noexcept nogil:
    """Whether an operand is a part of a vector: of which, and its first byte."""
    cdef const ProgramData *p = c.p
    cdef InstructionId q = producer_of(c, o)
    cdef DefinitionRow d
    if q == 0 or p.instructions.opcode[q] not in (op_p_extract_vector, op_p_split_vector):
        return False
    vector[0] = source_at(p, q, 0)
    vector.flags &= ~<uint16_t>(operand_kill | operand_first_kill | operand_late_kill)
    begin[0] = 0
    if p.instructions.opcode[q] == op_p_extract_vector:
        begin[0] = source_at(p, q, 1).data * operand_bytes(o)
        return is_plain_temp(vector[0])
    d = p.instructions.definition_first[q]
    while p.definitions.temp[d] != o.data:
        begin[0] += class_bytes(p.definitions.register_class[d])
        d += 1
    return is_plain_temp(vector[0])


cdef int _fold_parts(Context *c, InstructionId i) except -1 nogil:
    """A vector of all parts of another one, in order, is that one."""
    cdef ProgramData *p = c.p
    cdef Operand whole
    cdef Operand vector
    cdef uint32_t begin = 0
    cdef uint32_t end = 0
    cdef uint32_t k
    for k in range(p.instructions.operand_count[i]):
        if not _part_of_vector(c, source_at(p, i, k), &vector, &begin) or begin != end or (k and vector.data != whole.data):
            return 0
        whole = vector
        end += operand_bytes(source_at(p, i, k))
    if end and whole.register_class == p.definitions.register_class[p.instructions.definition_first[i]] and end == class_bytes(whole.register_class):
        become(c, i, op_p_parallelcopy, format_pseudo, &whole, 1)
    return 0


cdef int _fold_nested_extract(Context *c, InstructionId i) except -1 nogil:
    """A part of a part of a dword, extended, is a part of the dword; its sign is that of the outer one, which is not wider."""
    cdef ProgramData *p = c.p
    cdef Operand part = source_at(p, i, 0)
    cdef InstructionId q = producer_of(c, part)
    cdef Operand[4] o
    cdef uint32_t bits = source_at(p, i, 2).data
    cdef uint32_t first = 0
    cdef uint32_t size = 8 * operand_bytes(part)
    cdef uint32_t k
    if _part_of_vector(c, part, &o[0], &first):
        first *= 8
    elif q and p.instructions.opcode[q] == op_p_extract and result_of(p, q) == part.data:
        o[0] = source_at(p, q, 0)
        size = source_at(p, q, 2).data
        first = source_at(p, q, 1).data * size
    else:
        return 0
    if not is_plain_temp(o[0]) or operand_bytes(o[0]) != 4 or (source_at(p, i, 1).data + 1) * bits > size or first % bits \
            or class_is_vgpr(o[0].register_class) != class_is_vgpr(part.register_class):
        return 0
    for k in range(1, 4):
        o[k] = source_at(p, i, k)
    o[1] = operand_c32(first // bits + source_at(p, i, 1).data)
    return become(c, i, op_p_extract, format_pseudo, o, 4)


cdef int _fold_split(Context *c, InstructionId i) except -1 nogil:
    """A vector that is split into the parts it was made of."""
    cdef ProgramData *p = c.p
    cdef InstructionId q = producer_of(c, source_at(p, i, 0))
    cdef uint32_t count = p.instructions.definition_count[i]
    cdef uint32_t k
    cdef Operand[16] parts
    cdef Operand part
    cdef uint8_t part_class
    cdef bint alone
    if count == 2 and class_bytes(p.definitions.register_class[p.instructions.definition_first[i]]) == 4 \
            and _is_one_constant(c, source_at(p, i, 0), 4, 2, parts):
        return become(c, i, op_p_parallelcopy, format_pseudo, parts, 2)
    if q == 0 or p.instructions.opcode[q] != op_p_create_vector or p.instructions.operand_count[q] != count or count > 16:
        return 0
    alone = c.uses[source_at(p, i, 0).data] == 1          # nothing else needs the vector, so constants and SGPRs are copied once in any case
    for k in range(count):
        part = source_at(p, q, k)
        parts[k] = part
        part_class = p.definitions.register_class[p.instructions.definition_first[i] + k]
        if is_plain_temp(part) and part.register_class == part_class:
            continue
        if part_class == class_s1 and part.flags & operand_constant and (alone or not operand_is_literal(part)):
            continue
        if not alone or part_class != class_v1 or not (part.flags & operand_constant or is_plain_temp(part) and part.register_class == class_s1):
            return 0
    become(c, i, op_p_parallelcopy, format_pseudo, parts, count)
    return 0


cdef int _narrow_split(Context *c, InstructionId i) except -1 nogil:
    """A split of which one part is used is the extraction of that part."""
    cdef ProgramData *p = c.p
    cdef uint32_t count = p.instructions.definition_count[i]
    cdef DefinitionRow first = p.instructions.definition_first[i]
    cdef Operand[2] o
    cdef uint32_t used = count
    cdef uint32_t k
    if p.instructions.opcode[i] != op_p_split_vector:
        return 0
    for k in range(count):
        if p.definitions.register_class[first + k] != p.definitions.register_class[first] or p.definitions.flags[first + k] & definition_fixed:
            return 0
        if c.uses[p.definitions.temp[first + k]]:
            if used != count:
                return 0
            used = k
    if used == count:
        return 0
    o[0] = source_at(p, i, 0)
    o[1] = operand_c32(used)
    p.definitions.temp[first] = p.definitions.temp[first + used]
    p.instructions.definition_count[i] = 1
    become(c, i, op_p_extract_vector, format_pseudo, o, 2)
    return _fold_extract(c, i)


cdef int _follow_copies(Context *c, InstructionId i, uint32_t k) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint16_t format = p.instructions.format[i]
    cdef Operand o
    cdef Operand source
    for _ in range(4):
        if k >= p.instructions.operand_count[i]:
            return 0
        o = source_at(p, i, k)
        if not _copied(c, o, &source) and not (format_is_valu(format) and _constant_pair(c, o, &source)) and not _same_in_vgpr(c, i, k, &source):
            return 0
        if source.flags & operand_temp and source.register_class == o.register_class:
            source.flags |= o.flags & <uint16_t>(operand_16bit | operand_24bit)
            # Phis take part too: a copy within one register class is the same value everywhere.
            set_operand(c, i, k, source)
        elif format_is_valu(format):
            return _propagate_valu(c, i, k, source)
        elif format_is_salu(format):
            return _propagate_salu(c, i, k, source)
        elif opcode_is_phi(p.instructions.opcode[i]):
            return _propagate_phi(c, i, k, source)
        elif format == format_pseudo:
            return _propagate_pseudo(c, i, k, source)
        else:
            return 0
    return 0


cdef int _propagate_rarest(Context *c, InstructionId i) except -1 nogil:
    """Of three scalars the constant bus takes two: first those whose copy or negation fewer instructions read, so that it may go."""
    cdef Operand o
    cdef Operand source
    cdef bint negative = False
    cdef bint absolute = False
    cdef uint32_t bits = 0
    cdef uint32_t first = 0
    cdef uint32_t k
    cdef uint32_t[3] uses
    cdef bint[3] signs
    for k in range(3):
        o = source_at(c.p, i, k)
        if not is_plain_temp(o) or not class_is_vgpr(o.register_class):
            return 0
        signs[k] = not _copied(c, o, &source)
        if signs[k] and not _sign_source(c, o, &source, &negative, &absolute, &bits):
            return 0
        if source.flags & operand_temp and class_is_vgpr(source.register_class):
            return 0
        uses[k] = c.uses[o.data]
    for _ in range(2):
        first = 0
        for k in range(1, 3):
            first = k if uses[k] < uses[first] else first
        if signs[first]:
            _propagate_sign(c, i, first)
        else:
            _follow_copies(c, i, first)
        uses[first] = 0xffffffffU
    return 0


cdef int propagate(Context *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint16_t format = p.instructions.format[i]
    cdef uint32_t k
    if p.instructions.opcode[i] == op_p_parallelcopy and p.instructions.operand_count[i] == 1:
        _fold_copied_vector(c, i)
    if format_is_valu(format) and p.instructions.operand_count[i] == 3:
        _propagate_rarest(c, i)
    for k in range(p.instructions.operand_count[i]):
        _follow_copies(c, i, k)
    if format_is_valu(format):
        propagate_halves(c, i)
        for k in range(min(3, <uint32_t>p.instructions.operand_count[i])):
            _propagate_sign(c, i, k)
    elif p.instructions.opcode[i] == op_p_extract_vector:
        _fold_extract(c, i)
    elif p.instructions.opcode[i] == op_p_create_vector:
        _fold_vectors(c, i)
        _fold_parts(c, i)
    elif p.instructions.opcode[i] == op_p_extract:
        _fold_nested_extract(c, i)
    elif p.instructions.opcode[i] == op_p_split_vector:
        _fold_split(c, i)
        _narrow_split(c, i)
    return 0
