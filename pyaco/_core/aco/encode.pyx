"""Instructions of ACO IR to ``Decoded`` and to words."""
from libc.stdint cimport uint8_t, uint16_t, uint32_t

from isa_opcodes cimport *
from isa_tables cimport image_flag_sampler, opcode_flag_interpolation, opcode_flags, opcode_image, opcode_name, opcode_operand_count
from modifiers cimport *
from pyaco._core.ir.program cimport *
from pyaco._core.isa.decode cimport Decoded
from pyaco._core.isa.encode cimport *

cdef enum:
    one_dword = format_vop1 | format_vop2 | format_vopc


cdef inline uint16_t ir_register(const ProgramData *p, OperandRow row, bint vector_only) noexcept nogil:
    """Where an operand lives; an undefined one reads anything, so it reads zero or v0."""
    if p.operands.flags[row] & operand_undef:
        return register_vgpr0 if vector_only else <uint16_t>(128 * 4)
    return p.operands.reg[row]


cdef inline bint is_memory(uint32_t base) noexcept nogil:
    return format_ds <= base <= format_scratch or base == format_smem


cdef inline uint16_t vector_address(uint16_t address, uint8_t register_class, uint16_t flags) noexcept nogil:
    """ACO numbers the vector registers of its own tests from 0 at times; the class says what they are."""
    if class_is_vgpr(register_class) and address < register_vgpr0 and not flags & (operand_constant | operand_undef):
        return address + register_vgpr0
    return address


cdef int add_ir_source(const ProgramData *p, OperandRow row, uint16_t address, Decoded *out) noexcept nogil:
    cdef Operand o = operand_at(p, row)
    if operand_is_literal(o):
        if out.has_literal and out.literal != o.data:
            return encode_bad_literal
        out.literal = o.data
        out.has_literal = 1
    out.source[out.source_count] = vector_address(address, o.register_class, o.flags)
    out.source_bytes[out.source_count] = <uint8_t>operand_bytes(o)
    out.source_count += 1
    return 0


# ACO's scalar loads keep a constant offset as an operand and a second, register, offset last.
cdef int smem_from_ir(const ProgramData *p, InstructionId i, Decoded *out) noexcept nogil:
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef uint32_t plain = 2 if out.destination_count else 3
    cdef uint16_t offset = register_none
    if count == 0:
        # time and cache control: no address, but the null register where there is a register offset
        out.source[0] = register_none
        out.source[1] = register_none
        out.source_count = 2
        return 0
    add_ir_source(p, first, p.operands.reg[first], out)
    if count > 1:
        if p.operands.flags[first + 1] & operand_constant:
            out.immediate = p.operands.data[first + 1]
        elif not p.operands.flags[first + 1] & operand_undef:
            offset = p.operands.reg[first + 1]
    if count > plain:
        if offset != register_none:
            return encode_bad_operand
        offset = p.operands.reg[first + count - 1]
    out.source[1] = offset
    out.source_bytes[1] = 4
    out.source_count = 2
    if count > 2 and not out.destination_count:
        add_ir_source(p, first + 2, p.operands.reg[first + 2], out)
    return 0


cdef int memory_from_ir(const ProgramData *p, InstructionId i, uint32_t base, Decoded *out) noexcept nogil:
    cdef uint32_t row, end
    cdef uint16_t address
    # position of the operand whose undefined value keeps the code of the constant 0 in its field, as ACO's assembler does
    cdef OperandRow kept = 0xffffffffU
    cdef OperandRow first = p.instructions.operand_first[i]
    if base == format_mtbuf or (base == format_mubuf and p.gfx_level < gfx12):
        kept = first + 1
    elif p.gfx_level < gfx12 and base == format_scratch:
        kept = first
    row = p.instructions.operand_first[i]
    end = row + p.instructions.operand_count[i]
    if base == format_exp and end > row + 4:
        # a fifth operand is m0 with the number of the row that a mesh shader exports
        out.modifiers = modifier_set_exp_row(out.modifiers, 1)
        end = row + 4
    if base == format_mubuf and modifier_lds(out.modifiers):
        # m0 follows the address
        end = min(end, row + 3)
    while row < end and out.source_count < 16:
        address = p.operands.reg[row]
        if p.operands.flags[row] & operand_undef:
            address = absent if row == kept or base == format_exp else register_none
        # LDS instructions name m0 only to order them after its initialization
        if not (base == format_ds and address == register_m0):
            add_ir_source(p, row, address, out)
        row += 1
    return 0


cdef void join_addresses(Decoded *d, uint32_t gfx_level) noexcept nogil:
    """ACO lists the addresses of an image one by one; consecutive registers need no separate address fields (NSA)."""
    cdef uint32_t i, size
    if gfx_level >= gfx12 or d.source_count < 4:
        return
    size = d.source_bytes[3]
    for i in range(4, d.source_count):
        if d.source[i] != d.source[i - 1] + d.source_bytes[i - 1]:
            return
        size += d.source_bytes[i]
    d.source_count = 4
    d.source_bytes[3] = <uint8_t>size


# 16-bit operations of GFX11+ reach only v0 to v127 in their short encodings.
cdef bint needs_vop3(const Decoded *d, uint32_t gfx_level) noexcept nogil:
    cdef uint32_t i
    if gfx_level < gfx11 or d.format & (format_vop3 | format_vop3p) or not d.format & one_dword:
        return False
    for i in range(min(d.source_count, 2)):
        if operand_class(d.opcode, i) == 0x62 and d.source[i] >= register_vgpr0 + 128 * 4:
            return True
    return (d.destination_count != 0 and definition_class(d.opcode, 0) == 0x62
            and d.destination[0] >= register_vgpr0 + 128 * 4)


cdef void promote(Decoded *d) noexcept nogil:
    cdef uint16_t address
    if d.opcode == op_v_fmamk_f16:
        address = d.source[1]
        d.source[1] = d.source[2]
        d.source[2] = address
    if d.opcode == op_v_fmamk_f16 or d.opcode == op_v_fmaak_f16:
        d.opcode = op_v_fma_f16
        d.format = format_vop3
    d.format |= format_vop3


cdef int vopd_from_ir(const ProgramData *p, InstructionId i, Decoded *out) noexcept nogil:
    """ACO lists the operands of both halves; a literal or vcc of a half is implied by its opcode."""
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef uint32_t end = row + p.instructions.operand_count[i]
    cdef uint32_t half, opcode, position, count
    cdef int code
    for half in range(2):
        opcode = out.opcode if half == 0 else modifier_vopd_opcode_y(out.modifiers)
        count = opcode_operand_count[opcode]
        if opcode == op_v_dual_cndmask_b32:
            count = 3
        for position in range(count):
            if row >= end:
                return encode_bad_operand
            if position < 2:
                code = add_ir_source(p, row, ir_register(p, row, position == 1), out)
                if code:
                    return code
            elif operand_is_literal(operand_at(p, row)):
                out.literal = p.operands.data[row]
                out.has_literal = 1
            row += 1
        if count == 1:
            out.source[out.source_count] = register_none
            out.source_bytes[out.source_count] = 4
            out.source_count += 1
    return 0


cdef int sources_from_ir(const ProgramData *p, InstructionId i, Decoded *out) noexcept nogil:
    """The operands of scalar and vector instructions, as many as the encoding holds."""
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef uint32_t end = row + p.instructions.operand_count[i]
    cdef uint32_t count = opcode_operand_count[out.opcode]
    cdef bint vector_only
    cdef int code
    while row < end and out.source_count < count:
        # the attribute's address in m0 is not encoded
        if not (opcode_flags[out.opcode] & opcode_flag_interpolation and p.operands.reg[row] == register_m0):
            vector_only = out.source_count == 1 and out.format & one_dword and not out.format & format_vop3
            code = add_ir_source(p, row, ir_register(p, row, vector_only), out)
            if code:
                return code
        row += 1
    if needs_vop3(out, p.gfx_level):
        promote(out)
    return 0


cdef int from_ir(const ProgramData *program, uint32_t instruction, uint32_t gfx_level, Decoded *out) noexcept nogil:
    cdef const ProgramData *p = program
    cdef InstructionId i = instruction
    cdef uint32_t row, position, base
    cdef int code
    out.opcode = p.instructions.opcode[i]
    out.format = p.instructions.format[i]
    out.source_count = 0
    out.destination_count = 0
    out.has_literal = 0
    out.literal = 0
    out.immediate = p.instructions.immediate[i]
    out.modifiers = p.instructions.modifiers[i]
    base = out.format & format_base_mask
    row = p.instructions.definition_first[i]
    for position in range(min(<uint32_t>p.instructions.definition_count[i], 3)):
        if p.definitions.reg[row + position] == register_scc:
            continue
        out.destination[out.destination_count] = vector_address(p.definitions.reg[row + position],
                                                                p.definitions.register_class[row + position], 0)
        out.destination_bytes[out.destination_count] = <uint8_t>class_bytes(p.definitions.register_class[row + position])
        out.destination_count += 1
    if out.format & (one_dword | format_vop3 | format_vop3p) == 0:
        if base == format_smem:
            return smem_from_ir(p, i, out)
        if base == format_vopd:
            return vopd_from_ir(p, i, out)
        if is_memory(base):
            code = memory_from_ir(p, i, base, out)
            if base == format_mimg:
                join_addresses(out, gfx_level)
            if base == format_mimg and gfx_level >= gfx12 and not opcode_image[out.opcode] & image_flag_sampler:
                # without a sampler nothing is normalized, and there is no bit to say so
                out.modifiers = modifier_set_unrm(out.modifiers, 0)
            return code
    return sources_from_ir(p, i, out)


cdef int _refuse(uint16_t opcode, uint32_t gfx_level, int code) except -1 with gil:
    """Apart from its only caller: a function with objects of Python's among its variables takes the lock at every call."""
    name = opcode_name[opcode].decode() if opcode < op_count else str(opcode)
    raise RuntimeError(f"{name} (gfx level {gfx_level}) has no encoding: {encode_error(code).decode()}")


cdef int encode_instruction(const ProgramData *program, uint32_t instruction, uint32_t gfx_level,
                            uint32_t *out, bint stray_bits=False) except -1 nogil:
    cdef Decoded d
    cdef int length = from_ir(program, instruction, gfx_level, &d)
    if length == 0:
        length = encode_in_context(&d, gfx_level, out, stray_bits)
    return length if length >= 0 else _refuse(d.opcode, gfx_level, length)
