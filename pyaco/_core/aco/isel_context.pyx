"""The shared part of instruction selection: see ``isel_context.pxd``.

Sources of the rules: AMD ISA documents "Vega", "RDNA 2", "RDNA 3" (operand limits of VALU and SALU encodings); Mesa's ACO
(``aco_instruction_selection.cpp``) for the conventions of ACO IR: lane masks, scc definitions, sub-dword classes.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from isa_opcodes cimport (
    op_p_as_uniform, op_p_create_vector, op_p_extract, op_p_extract_vector, op_p_parallelcopy, op_p_split_vector, op_s_and_b32,
    op_s_and_b64, op_s_ashr_i32, op_s_cselect_b32, op_s_cselect_b64, op_v_add_co_u32, op_v_add_co_u32_e64, op_v_add_u32,
    op_v_addc_co_u32, op_v_ashrrev_i32, op_v_mbcnt_hi_u32_b32_e64, op_v_mbcnt_lo_u32_b32, op_v_readlane_b32,
    op_v_sub_co_u32, op_v_sub_co_u32_e64, op_v_sub_u32, op_v_subb_co_u32, op_v_writelane_b32,
)
from isa_tables cimport (
    implicit_scc, isa_opcode_number, opcode_definition_classes, opcode_definition_count, opcode_format, opcode_implicit_definitions,
    opcode_mask_class, opcode_max_definitions, opcode_max_operands, opcode_operand_classes, opcode_operand_count,
)
from nir_opcodes cimport alu_names
from pyaco._core.aco.build cimport by_wave, exec_operand, make, mask_constant
from pyaco._core.aco.inline_constants cimport is_missing_constant
from pyaco._core.ir.program cimport (
    Definition, InstructionId, Operand, TempId, class_bytes, class_dwords, class_is_vgpr, class_of_bytes, class_s1, class_s2, class_v1,
    definition_nuw, definition_of, definition_of_fixed, definition_precise, format_is_pseudo, format_is_salu, format_is_valu,
    format_vop1, format_vop2, format_vop3, format_vopc, gfx10, gfx9, instruction_make, operand_bytes, operand_constant,
    operand_constant_value, operand_fixed, operand_is_literal, operand_literal32, operand_temp, operand_undef, register_scc,
    temp_new,
)
from pyaco._core.ir.shader cimport ValueId, source_swizzle, source_value, swizzle_component

from pyaco.errors import UnsupportedError


cdef int unsupported(Isel *c, const char *what, const char *name) except -1 nogil:
    with gil:
        raise UnsupportedError(f"instruction selection: {what.decode()} {name.decode()}")


cdef int unsupported_alu(Isel *c, ValueId instruction) except -1 nogil:
    return unsupported(c, b"ALU opcode (with these bit sizes)", alu_names[c.s.instructions.opcode[instruction]])


cdef uint8_t vgpr_class(uint32_t bytes) noexcept nogil:
    return class_of_bytes(True, bytes)


cdef uint8_t sgpr_class(uint32_t bytes) noexcept nogil:
    return class_of_bytes(False, bytes)


cdef TempId new_temp(Isel *c, uint8_t register_class) except 0 nogil:
    return temp_new(c.p, register_class)


cdef TempId value_temp(Isel *c, uint32_t value) except 0 nogil:
    if c.value_temp[value] == 0:
        c.value_temp[value] = temp_new(c.p, c.value_class[value])
    return c.value_temp[value]


# ------------------------------------------------------------------------------------------------------------ emission
cdef int append_instruction(Isel *c, uint32_t instruction) except -1 nogil:
    cdef SelectedInstruction entry
    entry.block = c.block
    entry.instruction = instruction
    c.selected.push_back(entry)
    c.last = instruction
    return 0


cdef uint64_t *modifiers_of_last(Isel *c) noexcept nogil:
    return &c.p.instructions.modifiers[c.last]


cdef void promote_last(Isel *c) noexcept nogil:
    c.p.instructions.format[c.last] |= format_vop3


cdef InstructionId emit_raw(Isel *c, uint32_t opcode, TempId dst, const Operand *operands, uint32_t count) except 0 nogil:
    cdef Definition d
    if dst:
        d = definition_of(c.p, dst)
    cdef InstructionId instruction = make(c.p, opcode, &d, 1 if dst else 0, operands, count)
    append_instruction(c, instruction)
    return instruction


cdef TempId copy(Isel *c, TempId dst, uint8_t register_class, Operand a) except 0 nogil:
    if dst == 0:
        dst = new_temp(c, register_class)
    emit_raw(c, op_p_parallelcopy, dst, &a, 1)
    return dst


cdef TempId as_vgpr(Isel *c, TempId temp) except 0 nogil:
    if is_vgpr(c, temp):
        return temp
    return copy(c, 0, vgpr_class(class_bytes(class_of(c, temp))), T(c, temp))


cdef TempId as_vgpr_bytes(Isel *c, TempId temp, uint32_t bytes) except 0 nogil:
    cdef TempId wide = as_vgpr(c, temp)
    return part(c, wide, 0, bytes)


cdef TempId as_uniform(Isel *c, TempId dst, TempId temp) except 0 nogil:
    cdef Operand a = T(c, temp)
    if not is_vgpr(c, temp):
        if dst == 0:
            return temp
        return copy(c, dst, 0, a)
    if dst == 0:
        dst = new_temp(c, sgpr_class(class_bytes(class_of(c, temp))))
    emit_raw(c, op_p_as_uniform, dst, &a, 1)
    return dst


cdef inline bint _reads_sgpr(Isel *c, Operand *o) noexcept nogil:
    if o.flags & operand_temp:
        return not class_is_vgpr(o.register_class)
    return (o.flags & operand_fixed) != 0 and (o.flags & operand_constant) == 0 and o.reg < 256 * 4


cdef int _to_vgpr(Isel *c, Operand *o) except -1 nogil:
    cdef TempId temp = copy(c, 0, vgpr_class(4 * class_dwords(o.register_class)), o[0])
    o[0] = operand_of(c.p, temp)
    return 0


cdef enum:
    source_kinds = operand_temp | operand_constant | operand_undef


cdef inline bint _same_source(Operand *a, Operand *b) noexcept nogil:
    return a.data == b.data and a.reg == b.reg and (a.flags & source_kinds) == (b.flags & source_kinds)


cdef uint16_t _legalize_valu(Isel *c, uint32_t opcode, Operand *o, uint32_t count, uint16_t format) except 0xffff nogil:
    """Keep within the constant bus: one SGPR or literal before GFX10, two from then on; no literal in VOP3 before GFX10.
    Returns the format, VOP3 where the second source of VOP2 or VOPC is no VGPR."""
    cdef uint32_t limit = 2 if c.gfx >= gfx10 else 1
    cdef uint32_t used = 0
    cdef uint32_t i
    cdef uint32_t j
    cdef bint known
    cdef bint short_form = (format & (format_vop1 | format_vop2 | format_vopc)) != 0
    cdef const uint8_t *classes = opcode_operand_classes + opcode * opcode_max_operands
    for i in range(count):
        if classes[i] == opcode_mask_class and not (o[i].flags & operand_constant):
            used += 1
    for i in range(count):
        if classes[i] == opcode_mask_class or (i < opcode_operand_count[opcode] and not class_is_vgpr(classes[i])):
            continue
        if not operand_is_literal(o[i]) and not _reads_sgpr(c, &o[i]):
            continue
        known = False
        for j in range(i):
            known = known or (classes[j] != opcode_mask_class and _same_source(&o[i], &o[j]))
        if operand_is_literal(o[i]) and c.gfx < gfx10 and (not short_form or i > 0):
            _to_vgpr(c, &o[i])
        elif not known:
            if used < limit:
                used += 1
            else:
                _to_vgpr(c, &o[i])
    if opcode == op_v_readlane_b32 or opcode == op_v_writelane_b32:
        return format                 # they select a lane by a scalar, which has no other encoding
    if format & (format_vop2 | format_vopc) and count > 1 and not (o[1].flags & operand_temp and class_is_vgpr(o[1].register_class)):
        if c.gfx < gfx10 and operand_is_literal(o[0]):
            _to_vgpr(c, &o[1])
        else:
            format |= format_vop3
    return format


cdef int _legalize_salu(Isel *c, Operand *o, uint32_t count) except -1 nogil:
    """Keep to one literal per instruction."""
    cdef TempId temp
    if count > 1 and operand_is_literal(o[0]) and operand_is_literal(o[1]) and o[0].data != o[1].data:
        temp = copy(c, 0, class_s1, o[1])
        o[1] = operand_of(c.p, temp)
    return 0


cdef int _spell_out(Isel *c, Operand *o) except -1 nogil:
    """1/(2 pi) is an inline constant from GFX8 on."""
    cdef uint64_t value = operand_constant_value(o[0])
    if operand_bytes(o[0]) == 8:
        o[0] = T(c, pair(c, 0, class_s2, K(<uint32_t>value), K(<uint32_t>(value >> 32))))
    else:
        o[0] = operand_literal32(<uint32_t>value)
    return 0


cdef TempId emit(Isel *c, uint32_t opcode, TempId dst, const Operand *given, uint32_t count) except 0 nogil:
    cdef Operand[8] o
    cdef Definition[3] d
    cdef uint32_t definitions = 0
    cdef uint32_t i
    cdef TempId result = dst
    cdef TempId uniform = 0
    cdef uint16_t format = opcode_format[opcode]
    cdef uint8_t register_class
    if c.gfx < gfx9 and isa_opcode_number(c.gfx, opcode, format) < 0 and not format_is_pseudo(format):
        return c.emit_older(c, opcode, dst, given, count)
    for i in range(count):
        o[i] = given[i]
        if is_missing_constant(c.gfx, o[i]):
            _spell_out(c, &o[i])
    if format_is_valu(format):
        format = _legalize_valu(c, opcode, o, count, format)
    elif format_is_salu(format):
        _legalize_salu(c, o, count)
    for i in range(opcode_definition_count[opcode]):
        register_class = opcode_definition_classes[opcode * opcode_max_definitions + i]
        if register_class == opcode_mask_class:
            register_class = c.mask
        if i == 0:
            if dst and class_is_vgpr(register_class) and not is_vgpr(c, dst):
                uniform = dst
                result = 0
            if result == 0:
                result = new_temp(c, register_class)
            d[0] = definition_of(c.p, result)
            if c.precise:
                d[0].flags |= definition_precise
            if c.no_unsigned_wrap:
                d[0].flags |= definition_nuw
        else:
            c.second = new_temp(c, register_class)
            d[i] = definition_of(c.p, c.second)
        definitions += 1
    if opcode_implicit_definitions[opcode] & implicit_scc:
        if definitions == 0 and result:
            c.scc = result
        else:
            c.scc = new_temp(c, class_s1)
        if definitions == 0:
            result = c.scc
        d[definitions] = definition_of_fixed(c.p, c.scc, register_scc)
        definitions += 1
    append_instruction(c, instruction_make(c.p, opcode, format, d, definitions, o, count))
    if uniform:
        i = c.last
        as_uniform(c, uniform, result)
        c.last = i
        return uniform
    return result


cdef TempId emit1(Isel *c, uint32_t opcode, TempId dst, Operand a) except 0 nogil:
    return emit(c, opcode, dst, &a, 1)


cdef TempId emit2(Isel *c, uint32_t opcode, TempId dst, Operand a, Operand b) except 0 nogil:
    cdef Operand[2] o
    o[0] = a
    o[1] = b
    return emit(c, opcode, dst, o, 2)


cdef TempId emit3(Isel *c, uint32_t opcode, TempId dst, Operand a, Operand b, Operand d) except 0 nogil:
    cdef Operand[3] o
    o[0] = a
    o[1] = b
    o[2] = d
    return emit(c, opcode, dst, o, 3)


# ------------------------------------------------------------------------------------------------------------- vectors
cdef int remember_parts(Isel *c, uint32_t vector, const uint32_t *temps, uint32_t count) except -1 nogil:
    cdef uint32_t i
    if c.part_first.size() <= vector:
        c.part_first.resize(vector + 64)
        c.part_count.resize(vector + 64)
    if c.parts.size() == 0:
        c.parts.push_back(0)
    c.part_first[vector] = c.parts.size()
    c.part_count[vector] = <uint8_t>count
    for i in range(count):
        c.parts.push_back(temps[i])
    return 0


cdef inline bint _are_parts(const Isel *c, uint8_t a, uint8_t b) noexcept nogil:
    """Whether parts of a vector are of one class, or dwords of which VGPRs can be made. Before GFX10, addresses are vectors again, which parts that
    other vectors share would have to be copied into."""
    return a == b or (c.p.gfx_level >= gfx10 and (a == class_v1 or a == class_s1) and (b == class_v1 or b == class_s1))


cdef TempId create_vector(Isel *c, TempId dst, uint8_t register_class, const Operand *operands, uint32_t count) except 0 nogil:
    cdef uint32_t[16] temps
    cdef uint32_t i
    cdef bint same = True
    if dst == 0:
        dst = new_temp(c, register_class)
    emit_raw(c, op_p_create_vector, dst, operands, count)
    if count <= 16:
        for i in range(count):
            temps[i] = operands[i].data
            same = same and operands[i].flags & operand_temp and _are_parts(c, operands[i].register_class, operands[0].register_class)
        if same and (is_vgpr(c, dst) or not class_is_vgpr(operands[0].register_class)):
            remember_parts(c, dst, temps, count)
    return dst


cdef TempId pair(Isel *c, TempId dst, uint8_t register_class, Operand low, Operand high) except 0 nogil:
    cdef Operand[2] o
    o[0] = low
    o[1] = high
    return create_vector(c, dst, register_class, o, 2)


cdef int split(Isel *c, TempId vector, uint32_t bytes) except -1 nogil:
    cdef Definition[32] d
    cdef uint32_t[32] temps
    cdef Operand a = T(c, vector)
    cdef uint8_t register_class = class_of(c, vector)
    cdef uint32_t count
    cdef uint32_t i
    if bytes == 0:
        return unsupported(c, b"vector of", b"booleans")
    count = class_bytes(register_class) // bytes
    if not class_is_vgpr(register_class) and bytes < 4:
        bytes = 4
        count = class_dwords(register_class)
    if count < 2 or count > 32 or count * bytes != class_bytes(register_class):
        return 0
    if vector < c.part_first.size() and c.part_first[vector]:
        return 0
    for i in range(count):
        temps[i] = new_temp(c, class_of_bytes(class_is_vgpr(register_class), bytes))
        d[i] = definition_of(c.p, temps[i])
    append_instruction(c, make(c.p, op_p_split_vector, d, count, &a, 1))
    return remember_parts(c, vector, temps, count)


cdef TempId uniform_dwords(Isel *c, TempId dst, TempId vector) except 0 nogil:
    """Vector instructions read the dwords where they were loaded, as long as each has an SGPR of its own (``_same_in_vgpr`` of the optimizer)."""
    cdef Operand[16] o
    cdef uint32_t count = class_dwords(class_of(c, vector))
    cdef uint32_t k
    if count < 2 or count > 16 or not is_vgpr(c, vector):
        return as_uniform(c, dst, vector)
    split(c, vector, 4)
    for k in range(count):
        o[k] = T(c, as_uniform(c, 0, part(c, vector, k, 4)))
    return create_vector(c, dst, 0, o, count)


cdef TempId _half(Isel *c, TempId vector, uint32_t index) except 0 nogil:
    """A dword of a temp of 64 bits. Who needs one mostly needs the other, and a split leaves both where they are, which two extractions do not."""
    cdef Definition[2] d
    cdef Operand a = T(c, vector)
    cdef uint32_t i
    if c.halved != vector or c.halved_in != c.block:
        for i in range(2):
            c.halves[i] = new_temp(c, class_of_bytes(is_vgpr(c, vector), 4))
            d[i] = definition_of(c.p, c.halves[i])
        append_instruction(c, make(c.p, op_p_split_vector, d, 2, &a, 1))
        c.halved = vector
        c.halved_in = c.block
    return c.halves[index]


cdef TempId part(Isel *c, TempId vector, uint32_t index, uint32_t bytes) except 0 nogil:
    cdef Operand[2] o
    cdef TempId temp
    cdef bint vgpr = is_vgpr(c, vector)
    if class_bytes(class_of(c, vector)) == bytes:
        return vector
    if vector < c.part_first.size() and c.part_first[vector] and index < c.part_count[vector]:
        temp = c.parts[c.part_first[vector] + index]
        if class_of(c, temp) == class_of_bytes(vgpr, bytes):
            return temp
        if vgpr and bytes == 4 and class_of(c, temp) == class_s1:
            return as_vgpr(c, temp)             # a copy for all vectors that it is a part of
    if bytes == 8 and not vgpr and vector < c.part_first.size() and c.part_first[vector] and 2 * index + 1 < c.part_count[vector]:
        temp = c.parts[c.part_first[vector] + 2 * index]
        if class_of(c, temp) == class_s1:
            return pair(c, 0, class_s2, T(c, temp), T(c, c.parts[c.part_first[vector] + 2 * index + 1]))
    if bytes == 4 and class_bytes(class_of(c, vector)) == 8 and index < 2:
        return _half(c, vector, index)
    temp = new_temp(c, class_of_bytes(vgpr, bytes))
    o[0] = T(c, vector)
    o[1] = K(index)
    emit_raw(c, op_p_extract_vector, temp, o, 2)
    return temp


cdef TempId extract_bits(Isel *c, TempId dst, TempId temp, uint32_t index, uint32_t bits, bint is_signed) except 0 nogil:
    cdef Operand[4] o
    cdef Definition[2] d
    cdef uint32_t count = 1
    if dst == 0:
        dst = new_temp(c, class_v1 if is_vgpr(c, temp) else class_s1)
    o[0] = T(c, temp)
    o[1] = K(index)
    o[2] = K(bits)
    o[3] = K(is_signed)
    d[0] = definition_of(c.p, dst)
    if not is_vgpr(c, dst):
        c.scc = new_temp(c, class_s1)
        d[1] = definition_of_fixed(c.p, c.scc, register_scc)
        count = 2
    append_instruction(c, make(c.p, op_p_extract, d, count, o, 4))
    return dst


cdef TempId extract(Isel *c, TempId vector, uint32_t index, uint32_t bytes) except 0 nogil:
    cdef TempId dword
    cdef uint32_t per_dword
    if is_vgpr(c, vector) or bytes >= 4:
        return part(c, vector, index, bytes)
    if bytes == 0:
        unsupported(c, b"vector of", b"booleans")
    per_dword = 4 // bytes
    dword = part(c, vector, index // per_dword, 4)
    if index % per_dword == 0:
        return dword
    return extract_bits(c, 0, dword, index % per_dword, 8 * bytes, False)


cdef TempId source_component(Isel *c, ValueId instruction, uint32_t index, uint32_t component) except 0 nogil:
    cdef ValueId value = source_value(c.s, instruction, index)
    cdef TempId temp = value_temp(c, value)
    if c.s.instructions.components[value] == 1:
        return temp
    return extract(c, temp, swizzle_component(source_swizzle(c.s, instruction, index), component),
                   c.s.instructions.bit_size[value] // 8)


cdef TempId source(Isel *c, ValueId instruction, uint32_t index) except 0 nogil:
    return source_component(c, instruction, index, 0)


cdef TempId source_whole(Isel *c, ValueId instruction, uint32_t index) except 0 nogil:
    return value_temp(c, source_value(c.s, instruction, index))


# ------------------------------------------------------------------------------------------- booleans and integer widths
cdef TempId mask_to_scc(Isel *c, TempId mask) except 0 nogil:
    emit2(c, by_wave(c.p, op_s_and_b32, op_s_and_b64), 0, T(c, mask), exec_operand(c.p))
    return c.scc


cdef TempId scc_to_mask(Isel *c, TempId dst, TempId scc) except 0 nogil:
    return emit3(c, by_wave(c.p, op_s_cselect_b32, op_s_cselect_b64), dst, mask_constant(c.p, True), mask_constant(c.p, False),
                 scc_operand(c, scc))


cdef TempId convert_integer(Isel *c, TempId dst, TempId temp, uint32_t from_bits, uint32_t to_bits, bint is_signed) except 0 nogil:
    cdef bint vgpr = is_vgpr(c, temp)
    cdef TempId low
    cdef Operand high
    if dst and is_vgpr(c, dst) and not vgpr:
        temp = as_vgpr(c, temp)
        vgpr = True
    elif dst and vgpr and not is_vgpr(c, dst):
        temp = convert_integer(c, 0, temp, from_bits, to_bits, is_signed)
        return as_uniform(c, dst, temp)
    if dst == 0:
        if to_bits == from_bits:
            return temp
        dst = new_temp(c, class_of_bytes(vgpr, to_bits // 8))
    if to_bits <= from_bits:
        if class_bytes(class_of(c, dst)) == class_bytes(class_of(c, temp)):
            return copy(c, dst, 0, T(c, temp))
        return copy(c, dst, 0, T(c, part(c, temp, 0, class_bytes(class_of(c, dst)))))
    low = temp
    if from_bits < 32:
        low = dst if to_bits < 64 else new_temp(c, class_v1 if vgpr else class_s1)
        extract_bits(c, low, temp, 0, from_bits, is_signed)
    if to_bits < 64:
        return dst
    high = K(0)
    if is_signed:
        if vgpr:
            high = T(c, emit2(c, op_v_ashrrev_i32, 0, K(31), T(c, low)))
        else:
            high = T(c, emit2(c, op_s_ashr_i32, 0, T(c, low), K(31)))
    return pair(c, dst, 0, T(c, low), high)


cdef TempId vadd32(Isel *c, TempId dst, Operand a, Operand b, bint carry_out, TempId carry) except 0 nogil:
    if a.flags & operand_temp and class_is_vgpr(a.register_class) and not (
            b.flags & operand_temp and class_is_vgpr(b.register_class)):
        return vadd32(c, dst, b, a, carry_out, carry)
    if carry:
        return emit3(c, op_v_addc_co_u32, dst, a, b, T(c, carry))
    if carry_out:
        return emit2(c, op_v_add_co_u32_e64 if c.gfx >= gfx10 else op_v_add_co_u32, dst, a, b)
    return emit2(c, op_v_add_u32, dst, a, b)


cdef TempId vsub32(Isel *c, TempId dst, Operand a, Operand b, bint borrow_out, TempId borrow) except 0 nogil:
    if borrow:
        return emit3(c, op_v_subb_co_u32, dst, a, b, T(c, borrow))
    if borrow_out:
        return emit2(c, op_v_sub_co_u32_e64 if c.gfx >= gfx10 else op_v_sub_co_u32, dst, a, b)
    return emit2(c, op_v_sub_u32, dst, a, b)


cdef TempId emit_mbcnt(Isel *c, TempId dst, TempId mask, Operand base) except 0 nogil:
    cdef Operand low = K(0xffffffffU)
    cdef Operand high = K(0xffffffffU)
    cdef TempId count
    if mask:
        low = T(c, part(c, mask, 0, 4))
        if c.wave64:
            high = T(c, part(c, mask, 1, 4))
    if not c.wave64:
        return emit2(c, op_v_mbcnt_lo_u32_b32, dst, low, base)
    count = emit2(c, op_v_mbcnt_lo_u32_b32, 0, low, base)
    return emit2(c, op_v_mbcnt_hi_u32_b32_e64, dst, high, T(c, count))
