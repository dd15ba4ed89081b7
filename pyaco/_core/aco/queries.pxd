"""Questions that many backend passes ask about one instruction."""
from libc.stdint cimport uint16_t, uint32_t, uint8_t

from isa_opcodes cimport (
    op_image_msaa_load, op_image_sample, op_image_sample_l, op_image_sample_lz, op_p_linear_phi, op_p_phi, op_s_endpgm, op_s_setpc_b64,
)
from isa_tables cimport (
    image_flag_bvh, image_flag_sampler, latency_wmma, opcode_flag_tied, opcode_flags, opcode_image, opcode_latency, opcode_operand_count,
)
from pyaco._core.ir.program cimport (
    BlockId, InstructionId, Operand, OperandRow, OrderRow, ProgramData, class_bytes, class_s2, format_exp, format_flat, format_is_flat_like,
    format_is_vmem, format_mimg, format_mubuf, format_scratch, format_smem, format_vintrp, gfx10, gfx10_3, gfx11,
    gfx11_5, gfx12, operand_constant, operand_fixed, operand_size_mask, operand_temp, operand_undef,
)

cdef inline bint opcode_is_phi(uint16_t opcode) noexcept nogil:
    return opcode == op_p_phi or opcode == op_p_linear_phi

# The operand that must sit in the register of the first definition (the accumulator of v_mac, the untouched lanes of
# v_writelane, the destination that a buffer atomic also reads), or -1. The ISA table tells which opcodes have one: the last operand that is
# not a fixed register, or one more than the table has, as the text of v_interp_p2_f32 does not show it. The sum of a matrix operation is tied to
# its result, although the encoding names both: they may not overlap in part (RDNA 3 ISA, "Wave Matrix Multiply Accumulate").
cdef inline int tied_operand(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint16_t format = p.instructions.format[i]
    if opcode_flags[opcode] & opcode_flag_tied:
        return opcode_operand_count[opcode] - 1
    if opcode_latency[opcode] == latency_wmma:        # the sum: the result must not share some of its registers
        return 2
    if p.instructions.definition_count[i] != 1:
        return -1
    if format == format_vintrp and p.instructions.operand_count[i] == 3:
        return 2
    if format == format_mubuf and p.instructions.operand_count[i] == 4:
        return 3
    if format == format_mimg and not p.operands.flags[p.instructions.operand_first[i] + 2] & operand_undef:
        return 2
    return -1

# The same meaning in the eyes of a pass that compares operands: kind, value, temp and register agree.
cdef inline bint operand_equal(Operand a, Operand b) noexcept nogil:
    cdef uint16_t kinds = operand_temp | operand_constant | operand_undef | operand_fixed
    if (a.flags & kinds) != (b.flags & kinds) or a.register_class != b.register_class:
        return False
    if a.flags & operand_undef:
        return True
    if a.flags & operand_constant and (a.flags & operand_size_mask) != (b.flags & operand_size_mask):
        return False
    if a.flags & (operand_temp | operand_constant) and a.data != b.data:
        return False
    return not a.flags & operand_fixed or a.reg == b.reg

# Whether a block ends a part of a shader that another part follows, of which nothing is known.
cdef inline bint ends_without_leaving(const ProgramData *p, BlockId block) noexcept nogil:
    cdef OrderRow first = p.blocks.order_first[block]
    cdef uint32_t k
    cdef uint16_t opcode
    if p.blocks.linear_succ_count[block] != 0:
        return False
    for k in range(p.blocks.order_count[block]):
        opcode = p.instructions.opcode[p.order.instruction[first + k]]
        if opcode == op_s_endpgm or opcode == op_s_setpc_b64:
            return False
    return True

cdef enum:                       # in which order results of vector memory come back: each type in its own
    memory_plain = 1
    memory_sampler = 2
    memory_bvh = 4

# The type of a vector memory operation, 0 for FLAT, which may also be LDS, and for all other instructions. image_msaa_load goes the way of
# the sampler on GFX12, though it has none. GFX11.5 may let a sample of one texel go the way of loads: of which type it is, only the hardware knows
# (LLVM, getVmemType and "point sample acceleration"; ACO, get_vmem_type).
cdef inline uint8_t memory_type(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint16_t format = p.instructions.format[i]
    if format == format_mimg:
        if opcode_image[opcode] & image_flag_bvh:
            return memory_bvh
        if p.gfx_level == gfx11_5 and (opcode == op_image_sample or opcode == op_image_sample_l or opcode == op_image_sample_lz):
            return memory_sampler | memory_plain
        if opcode_image[opcode] & image_flag_sampler or (opcode == op_image_msaa_load and p.gfx_level >= gfx12):
            return memory_sampler
    if format_is_vmem(format) or (format_is_flat_like(format) and format != format_flat):
        return memory_plain
    return 0

# Whether two memory instructions likely touch neighbouring addresses, so that they profit from being issued together: the same
# kind, and the same descriptor, or addresses without one.
cdef inline bint form_clause(const ProgramData *p, InstructionId a, InstructionId b) noexcept nogil:
    cdef uint16_t format = p.instructions.format[a]
    cdef OperandRow x = p.instructions.operand_first[a]
    cdef OperandRow y = p.instructions.operand_first[b]
    if format != p.instructions.format[b]:
        return False
    if (p.instructions.definition_count[a] == 0) != (p.instructions.definition_count[b] == 0):
        return False
    if format_is_flat_like(format):
        return True
    if p.instructions.operand_count[a] == 0 or p.instructions.operand_count[b] == 0:
        return False
    if format == format_smem and p.operands.register_class[x] == class_s2 and p.operands.register_class[y] == class_s2:
        return True
    if format == format_smem or format_is_vmem(format):
        return p.operands.data[x] == p.operands.data[y] and p.operands.reg[x] == p.operands.reg[y]
    return False

cdef inline bint format_has_sync(uint16_t format) noexcept nogil:
    return format_smem <= format <= format_scratch and format != format_exp

# How many dwords of an image address can be named one by one. From GFX11 on, one more field names the register where the rest begins.
cdef inline uint32_t separate_addresses(uint32_t gfx_level, bint sampled) noexcept nogil:
    if gfx_level >= gfx12:
        return 3 if sampled else 4
    if gfx_level >= gfx11:
        return 4
    return 13 if gfx_level >= gfx10_3 else 5 if gfx_level >= gfx10 else 0

# Dwords of register numbers behind an image instruction of GFX10: none where the registers of the address follow each other.
cdef inline uint32_t separate_address_dwords(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef OperandRow row
    cdef uint32_t count = p.instructions.operand_count[i]
    for row in range(p.instructions.operand_first[i] + 4, p.instructions.operand_first[i] + count):
        if p.operands.reg[row] != p.operands.reg[row - 1] + class_bytes(p.operands.register_class[row - 1]):
            return (count - 4 + 3) // 4
    return 0
