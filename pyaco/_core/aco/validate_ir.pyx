"""Structure of a program: control flow graph, operands and definitions, encodings.

Returns what is wrong as a list; changes nothing. Sources: what the passes promise each other (docs/backend.md); operand
rules of the encodings, AMD ISA documents; the set of checks follows ACO's ``validate_ir`` and ``validate_cfg``.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from isa_opcodes cimport (
    op_count, op_p_as_uniform, op_p_create_vector, op_p_extract, op_p_extract_vector, op_p_insert, op_p_linear_phi, op_p_logical_end,
    op_p_logical_start, op_p_parallelcopy, op_p_phi, op_p_split_vector,
    op_v_fmaak_f16, op_v_fmaak_f32, op_v_fmac_f16, op_v_fmac_f32, op_v_fmamk_f16, op_v_fmamk_f32, op_v_madak_f16,
    op_v_mac_f16, op_v_mac_f32, op_v_madak_f32, op_v_madmk_f16, op_v_madmk_f32, op_v_readfirstlane_b32, op_v_readlane_b32, op_v_readlane_b32_e64,
    op_v_writelane_b32, op_v_writelane_b32_e64,
)
from isa_tables cimport image_flag_bvh, opcode_format, opcode_image
from modifiers cimport modifier_abs, modifier_clamp, modifier_neg, modifier_omod
from pyaco._core.aco.dominance cimport dominates_linear, dominates_logical
from pyaco._core.aco.inline_constants cimport is_missing_constant
from pyaco._core.aco.queries cimport opcode_is_phi, tied_operand
from pyaco._core.common.table cimport RowRange
from pyaco._core.ir.program cimport (
    BlockId, DefinitionRow, InstructionId, OperandRow, Program, ProgramData, TempId, block_loop_header, class_bytes, class_dwords,
    class_is_linear, class_is_vgpr, definition_fixed, definition_temp, definitions_of, format_base_mask, format_dpp16,
    format_dpp8, format_ds, format_is_flat_like, format_is_valu, format_is_vmem, format_mimg, format_mtbuf, format_mubuf,
    format_pseudo,
    format_pseudo_branch, format_sdwa, format_smem, format_sop1, format_sop2, format_sopp, format_vop1, format_vop2, format_vop3,
    format_vop3p, format_vopc, format_vopd, gfx10, gfx11, gfx8, gfx9, operand_at, operand_bytes, operand_constant, operand_fixed,
    operand_is_literal, operand_temp, operand_undef, operands_of, register_m0, register_vcc,
)

cdef struct Finding:
    BlockId block
    InstructionId instruction        # 0: the block itself
    const char *message


cdef cppclass Context:
    ProgramData *p
    bint branches                    # blocks with two successors end with a branch
    BlockId block
    InstructionId instruction
    vector[Finding] findings


cdef inline int _expect(Context *c, bint good, const char *message) except -1 nogil:
    cdef Finding f
    if good or c.findings.size() >= 50:
        return 0
    f.block = c.block
    f.instruction = c.instruction
    f.message = message
    c.findings.push_back(f)
    return 0


# -------------------------------------------------------------------------------------------------------- control flow graph
cdef int _check_edges(Context *c, const uint32_t *pred_first, const uint32_t *pred_count, const uint32_t *succ_first,
                      const uint32_t *succ_count) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef BlockId b = c.block
    cdef uint32_t k
    cdef BlockId other
    cdef BlockId previous = 0
    for k in range(pred_count[b]):
        other = p.edge_lists.block[pred_first[b] + k]
        # Once phis are gone, jump threading may leave edges in any order and make critical ones.
        _expect(c, k == 0 or other > previous or not c.branches, b"predecessors must be in ascending order")
        _expect(c, other < b or (p.blocks.kind[b] & block_loop_header) != 0, b"an edge backwards must lead to a loop header")
        _expect(c, pred_count[b] == 1 or succ_count[other] == 1 or not c.branches, b"critical edge: a predecessor has other successors")
        previous = other
    return 0


cdef bint _logical_marks(const ProgramData *p, BlockId b) noexcept nogil:
    """Whether p_logical_start and p_logical_end come once, in this order, or not at all."""
    cdef uint32_t k
    cdef uint16_t opcode
    cdef uint32_t starts = 0
    cdef uint32_t ends = 0
    for k in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
        opcode = p.instructions.opcode[p.order.instruction[k]]
        starts += opcode == op_p_logical_start
        ends += opcode == op_p_logical_end
        if ends > starts:
            return False
    return starts == ends and starts <= 1


cdef int _check_block(Context *c) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef BlockId b = c.block
    cdef uint32_t count = p.blocks.order_count[b]
    cdef InstructionId last
    c.instruction = 0
    _check_edges(c, p.blocks.logical_pred_first, p.blocks.logical_pred_count, p.blocks.logical_succ_first,
                 p.blocks.logical_succ_count)
    _check_edges(c, p.blocks.linear_pred_first, p.blocks.linear_pred_count, p.blocks.linear_succ_first,
                 p.blocks.linear_succ_count)
    _expect(c, _logical_marks(p, b), b"the logical part of a block must begin and end")
    _expect(c, b > 0 or p.blocks.linear_pred_count[0] == 0, b"the entry must not have predecessors")
    _expect(c, p.blocks.linear_succ_count[b] <= 2, b"a block has at most two linear successors")
    # The lowering leaves branches out where falling through with no lanes is cheaper.
    if p.blocks.linear_succ_count[b] > 1 and c.branches:
        _expect(c, count > 0, b"a block with several successors must end with a branch")
        if count:
            last = p.order.instruction[p.blocks.order_first[b] + count - 1]
            _expect(c, p.instructions.format[last] == format_pseudo_branch or p.instructions.format[last] == format_sopp,
                    b"a block with several successors must end with a branch")
    return 0


# ------------------------------------------------------------------------------------------------------------ single opcodes
cdef inline bint _is_vgpr(const ProgramData *p, OperandRow row) noexcept nogil:
    if p.operands.flags[row] & operand_constant:
        return False
    return class_is_vgpr(p.operands.register_class[row]) or (p.operands.flags[row] & operand_undef) != 0


cdef inline bint _is_sgpr(const ProgramData *p, OperandRow row) noexcept nogil:
    return not p.operands.flags[row] & (operand_constant | operand_undef) and not class_is_vgpr(p.operands.register_class[row])


cdef int _check_sdwa(Context *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef DefinitionRow d = p.instructions.definition_first[i]
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef OperandRow mask = first + 2
    cdef OperandRow source
    cdef bint vcc
    _expect(c, gfx8 <= p.gfx_level < gfx11, b"SDWA is GFX8 to GFX10.3 only")
    _expect(c, modifier_omod(p.instructions.modifiers[i]) == 0 or p.gfx_level >= gfx9, b"SDWA omod needs GFX9")
    for source in range(first, first + min(2, <uint32_t>p.instructions.operand_count[i])):
        _expect(c, _is_vgpr(p, source) or p.gfx_level >= gfx9, b"SDWA reads SGPRs and constants from GFX9 on")
    if p.instructions.format[i] & format_vopc:
        vcc = (p.definitions.flags[d] & definition_fixed) != 0 and p.definitions.reg[d] == register_vcc
        _expect(c, vcc or p.gfx_level >= gfx9, b"SDWA+VOPC definition must be fixed to vcc on GFX8")
        _expect(c, not modifier_clamp(p.instructions.modifiers[i]) or p.gfx_level == gfx8, b"SDWA VOPC clamp only supported on GFX8")
    elif p.instructions.definition_count[i]:
        _expect(c, class_bytes(p.definitions.register_class[d]) <= 4, b"SDWA definitions must not be larger than 4 bytes")
    if p.instructions.operand_count[i] > 2 and opcode != op_v_mac_f32 and opcode != op_v_mac_f16:
        vcc = (p.operands.flags[mask] & operand_fixed) != 0 and p.operands.reg[mask] == register_vcc
        _expect(c, vcc, b"the third operand of SDWA must be fixed to vcc")
    if p.instructions.definition_count[i] > 1:
        vcc = (p.definitions.flags[d + 1] & definition_fixed) != 0 and p.definitions.reg[d + 1] == register_vcc
        _expect(c, vcc, b"the second definition of SDWA must be fixed to vcc")
    _expect(c, opcode not in (op_v_fmac_f32, op_v_fmac_f16, op_v_fmamk_f32, op_v_fmaak_f32, op_v_fmamk_f16, op_v_fmaak_f16,
                              op_v_madmk_f32, op_v_madak_f32, op_v_madmk_f16, op_v_madak_f16,
                              op_v_readfirstlane_b32), b"the opcode has no SDWA form")
    return 0


cdef int _check_constant_bus(Context *c, InstructionId i) except -1 nogil:
    """Scalar registers and the literal share a bus: one value before GFX10, two since."""
    cdef ProgramData *p = c.p
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t limit = 2 if p.gfx_level >= gfx10 else 1
    cdef uint32_t used = 0
    cdef OperandRow row
    cdef OperandRow other
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef bint literal = False
    cdef bint seen
    if opcode in (op_v_readlane_b32, op_v_readlane_b32_e64, op_v_writelane_b32, op_v_writelane_b32_e64):
        return 0
    for row in range(first, first + p.instructions.operand_count[i]):
        _expect(c, not is_missing_constant(p.gfx_level, operand_at(p, row)), b"1/(2 pi) is an inline constant from GFX8 on")
        if operand_is_literal(operand_at(p, row)):
            _expect(c, not format & format_vop3 and not format & format_vop3p or p.gfx_level >= gfx10,
                    b"literals in VOP3 need GFX10")
            _expect(c, not format & (format_dpp16 | format_dpp8 | format_sdwa), b"DPP and SDWA have no literal")
            used += not literal
            literal = True
        if not _is_sgpr(p, row):
            continue
        seen = False
        for other in range(first, row):
            if _is_sgpr(p, other) and p.operands.data[other] == p.operands.data[row] \
                    and p.operands.reg[other] == p.operands.reg[row]:
                seen = True
        used += not seen
    _expect(c, used <= limit, b"too many SGPRs or literals for the constant bus")
    return 0


cdef int _check_valu(Context *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint16_t format = p.instructions.format[i]
    cdef uint64_t word = p.instructions.modifiers[i]
    cdef uint16_t encodings = format & (format_sdwa | format_dpp16 | format_dpp8)
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef OperandRow first = p.instructions.operand_first[i]
    if format & format_sdwa:
        _check_sdwa(c, i)
    if encodings & (format_dpp16 | format_dpp8):
        _expect(c, p.gfx_level >= gfx8, b"DPP needs GFX8")
        _expect(c, not encodings & format_dpp8 or p.gfx_level >= gfx10, b"DPP8 needs GFX10")
        _expect(c, not format & format_vop3 or p.gfx_level >= gfx11, b"DPP with VOP3 needs GFX11")
        _expect(c, count > 0 and _is_vgpr(p, first), b"the first source of DPP must be a VGPR")
    if not format & (format_vop3 | format_vop3p) and not encodings and format != format_vopd:
        _expect(c, not modifier_neg(word) and not modifier_abs(word) and not modifier_omod(word) and not modifier_clamp(word),
                b"modifiers need VOP3, SDWA or DPP")
    if not format & (format_vop3 | format_vop3p | format_sdwa) and format & format_vop2 and count >= 2 \
            and p.instructions.opcode[i] not in (op_v_readlane_b32, op_v_writelane_b32, op_v_fmamk_f32, op_v_fmamk_f16,
                                                 op_v_madmk_f32, op_v_madmk_f16):
        _expect(c, _is_vgpr(p, first + 1), b"the second source of VOP2 must be a VGPR")
    if not format & (format_vop3 | format_sdwa) and format & format_vopc and count >= 2:
        _expect(c, _is_vgpr(p, first + 1), b"the second source of VOPC must be a VGPR")
    if format & format_base_mask == 0 and format != format_vopd:
        _check_constant_bus(c, i)
    return 0


cdef bint _takes_apart(uint16_t opcode) noexcept nogil:
    """Whether an opcode makes something of its first operand."""
    return opcode in (op_p_split_vector, op_p_extract_vector, op_p_extract, op_p_insert, op_p_as_uniform)


cdef int _check_vector_pseudo(Context *c, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef DefinitionRow d = p.instructions.definition_first[i]
    cdef uint32_t bytes_ = 0
    cdef uint32_t row
    if _takes_apart(opcode) or opcode == op_p_create_vector:
        if p.instructions.definition_count[i] == 0 or p.instructions.operand_count[i] == 0:
            return _expect(c, False, b"a result or an operand is missing")
    if opcode == op_p_create_vector:
        for row in range(first, first + p.instructions.operand_count[i]):
            bytes_ += operand_bytes(operand_at(p, row))
            _expect(c, class_is_vgpr(p.definitions.register_class[d]) or not _is_vgpr(p, row)
                    or (p.operands.flags[row] & operand_undef) != 0, b"a scalar vector must not be made of VGPRs")
        _expect(c, bytes_ == class_bytes(p.definitions.register_class[d]), b"the parts of a vector must have its size")
    elif opcode == op_p_split_vector:
        for row in range(d, d + p.instructions.definition_count[i]):
            bytes_ += class_bytes(p.definitions.register_class[row])
        _expect(c, bytes_ == operand_bytes(operand_at(p, first)), b"the parts of a vector must have its size")
    elif opcode == op_p_extract_vector:
        _expect(c, (p.operands.flags[first + 1] & operand_constant) != 0, b"the index must be constant")
        _expect(c, (p.operands.data[first + 1] + 1) * class_bytes(p.definitions.register_class[d])
                <= operand_bytes(operand_at(p, first)), b"the index is out of the vector")
    elif opcode == op_p_parallelcopy:
        _expect(c, p.instructions.operand_count[i] == p.instructions.definition_count[i],
                b"a parallel copy has as many operands as definitions")
        for row in range(min(p.instructions.operand_count[i], p.instructions.definition_count[i])):
            _expect(c, operand_bytes(operand_at(p, first + row)) == class_bytes(p.definitions.register_class[d + row])
                    or (p.operands.flags[first + row] & operand_constant) != 0, b"a copy must not change the size")
            _expect(c, class_is_vgpr(p.definitions.register_class[d + row]) or not _is_vgpr(p, first + row)
                    or (p.operands.flags[first + row] & operand_undef) != 0, b"a VGPR cannot be copied to an SGPR")
    return 0


cdef int _check_phi(Context *c, InstructionId i) except -1 nogil:
    cdef RowRange rows
    cdef ProgramData *p = c.p
    cdef bint logical = p.instructions.opcode[i] == op_p_phi
    cdef uint32_t count = p.blocks.logical_pred_count[c.block] if logical else p.blocks.linear_pred_count[c.block]
    cdef DefinitionRow d = p.instructions.definition_first[i]
    cdef OperandRow row
    _expect(c, p.instructions.definition_count[i] == 1, b"a phi has one definition")
    _expect(c, p.instructions.operand_count[i] == count, b"a phi needs one operand for each predecessor")
    rows = operands_of(p, i)
    for row in range(rows.first, rows.first + rows.count):
        _expect(c, logical or not p.operands.flags[row] & operand_temp or class_is_linear(p.operands.register_class[row]),
                b"an operand of a linear phi must be linear")
        _expect(c, p.operands.flags[row] & operand_constant
                or class_dwords(p.operands.register_class[row]) == class_dwords(p.definitions.register_class[d]),
                b"operands and definition of a phi must have one size")
    return 0


cdef int _check_image(Context *c, InstructionId i) except -1 nogil:
    """Descriptor, sampler, data, then the address: dwords in registers of their own, of which the last may begin a longer rest."""
    cdef ProgramData *p = c.p
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef DefinitionRow definition = p.instructions.definition_first[i]
    cdef bint has_data
    cdef uint32_t dwords
    cdef uint32_t row
    _expect(c, count >= 4, b"image instructions have at least four operands")
    if count < 4:
        return 0
    dwords = class_dwords(p.operands.register_class[first])
    _expect(c, _is_sgpr(p, first) and (dwords == 4 or dwords == 8), b"the descriptor must be an s8 or s4")
    _expect(c, (p.operands.flags[first + 1] & operand_undef) != 0
            or (_is_sgpr(p, first + 1) and class_dwords(p.operands.register_class[first + 1]) == 4), b"the sampler must be an s4")
    has_data = not p.operands.flags[first + 2] & operand_undef
    _expect(c, not has_data or _is_vgpr(p, first + 2), b"the data must be a VGPR")
    _expect(c, has_data or p.instructions.definition_count[i] != 0, b"image instructions without a result have data")
    if has_data and p.instructions.definition_count[i]:
        _expect(c, p.operands.register_class[first + 2] == p.definitions.register_class[definition],
                b"data and result share their registers")
    for row in range(first + 3, first + count):
        _expect(c, _is_vgpr(p, row), b"the address must be in VGPRs")
        _expect(c, row + 1 == first + count or class_dwords(p.operands.register_class[row]) == 1
                or (opcode_image[p.instructions.opcode[i]] & image_flag_bvh) != 0, b"only the last register of an address may begin several dwords")
    _expect(c, p.gfx_level >= gfx10 or count == 4, b"before GFX10 addresses are in registers that follow each other")
    return 0


cdef int _check_memory(Context *c, InstructionId i) except -1 nogil:
    cdef RowRange definitions
    cdef ProgramData *p = c.p
    cdef uint16_t format = p.instructions.format[i]
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef uint32_t row
    if format == format_smem:
        for row in range(first, first + count):
            _expect(c, not class_is_vgpr(p.operands.register_class[row]) or (p.operands.flags[row] & (operand_constant | operand_undef))
                    != 0, b"SMEM operands must be SGPRs or constants")
    elif format == format_mubuf or format == format_mtbuf:
        _expect(c, count >= 3, b"buffer instructions have at least three operands")
        if count >= 3:
            _expect(c, _is_sgpr(p, first) and class_dwords(p.operands.register_class[first]) == 4, b"the descriptor must be an s4")
            _expect(c, _is_vgpr(p, first + 1), b"the address must be a VGPR")
            _expect(c, _is_sgpr(p, first + 2) or (p.operands.flags[first + 2] & operand_constant) != 0,
                    b"the offset must be an SGPR or a constant")
        if count > 3:
            _expect(c, _is_vgpr(p, first + 3), b"the data must be a VGPR")
    elif format == format_mimg:
        _check_image(c, i)
    elif format_is_flat_like(format):
        _expect(c, count >= 2 and _is_vgpr(p, first), b"the address must be a VGPR")
        if count > 1:
            _expect(c, not class_is_vgpr(p.operands.register_class[first + 1]), b"the scalar address must be an SGPR")
        if count > 2:
            _expect(c, _is_vgpr(p, first + 2), b"the data must be a VGPR")
    elif format == format_ds:
        for row in range(first, first + count):
            _expect(c, _is_vgpr(p, row) or p.operands.reg[row] == register_m0, b"DS operands must be VGPRs or m0")
    definitions = definitions_of(p, i)
    for row in range(definitions.first, definitions.first + definitions.count):
        _expect(c, class_is_vgpr(p.definitions.register_class[row]) == (format != format_smem),
                b"vector memory writes VGPRs, scalar memory SGPRs")
    return 0


cdef int _check_instruction(Context *c, InstructionId i) except -1 nogil:
    cdef RowRange definitions
    cdef RowRange operands
    cdef ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t native
    cdef int tied
    cdef uint32_t row
    c.instruction = i
    if opcode >= op_count:
        return _expect(c, False, b"no such opcode")
    native = opcode_format[opcode]
    if native & (format_vop1 | format_vop2 | format_vopc):
        _expect(c, (format & native) != 0, b"the format does not belong to the opcode")
    elif not native & format_vop3 and not native & format_vop3p:
        _expect(c, format == native, b"the format does not belong to the opcode")
    operands = operands_of(p, i)
    for row in range(operands.first, operands.first + operands.count):
        if p.operands.flags[row] & operand_temp:
            _expect(c, 0 < p.operands.data[row] < p.temps.table.count, b"an operand names a temp that does not exist")
            if p.operands.data[row] < p.temps.table.count:
                _expect(c, p.operands.register_class[row] == p.temps.register_class[p.operands.data[row]],
                        b"an operand has another class than its temp")
    tied = tied_operand(p, i)
    if 0 <= tied < <int>p.instructions.operand_count[i] and p.instructions.definition_count[i]:
        row = p.instructions.operand_first[i] + <uint32_t>tied
        _expect(c, not p.operands.flags[row] & operand_temp or class_is_vgpr(p.operands.register_class[row])
                == class_is_vgpr(p.definitions.register_class[p.instructions.definition_first[i]]),
                b"a tied operand is of another kind than the result")
    if opcode_is_phi(opcode):
        return _check_phi(c, i)
    if format == format_pseudo:
        return _check_vector_pseudo(c, i)
    if format_is_valu(format):
        return _check_valu(c, i)
    if format == format_sop1 or format == format_sop2:
        operands = operands_of(p, i)
        for row in range(operands.first, operands.first + operands.count):
            _expect(c, not class_is_vgpr(p.operands.register_class[row]), b"scalar instructions read no VGPRs")
        definitions = definitions_of(p, i)
        for row in range(definitions.first, definitions.first + definitions.count):
            _expect(c, not class_is_vgpr(p.definitions.register_class[row]), b"scalar instructions write no VGPRs")
    elif format == format_smem or format == format_ds or format_is_vmem(format) or format_is_flat_like(format):
        return _check_memory(c, i)
    return 0


# ---------------------------------------------------------------------------------------------------------------------- SSA
cdef int _check_definitions(Context *c, vector[uint32_t] *home, vector[uint32_t] *position) except -1 nogil:
    """Every temp is defined once; remember where."""
    cdef RowRange definitions
    cdef ProgramData *p = c.p
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    cdef DefinitionRow row
    cdef TempId temp
    for b in range(p.blocks.table.count):
        c.block = b
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            c.instruction = i
            definitions = definitions_of(p, i)
            for row in range(definitions.first, definitions.first + definitions.count):
                temp = p.definitions.temp[row]
                if not p.definitions.flags[row] & definition_temp or temp == 0 or temp >= p.temps.table.count:
                    continue
                _expect(c, home[0][temp] == 0xffffffffU, b"a temp is defined twice")
                home[0][temp] = b
                position[0][temp] = k
    return 0


cdef int _check_uses(Context *c, const vector[uint32_t] *home, const vector[uint32_t] *position) except -1 nogil:
    """Definitions dominate uses, in the CFG through which the temp lives."""
    cdef ProgramData *p = c.p
    cdef BlockId b
    cdef uint32_t k
    cdef uint32_t j
    cdef InstructionId i
    cdef OperandRow row
    cdef uint32_t temp
    cdef BlockId at
    cdef bint linear
    for b in range(p.blocks.table.count):
        c.block = b
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            c.instruction = i
            for j in range(p.instructions.operand_count[i]):
                row = p.instructions.operand_first[i] + j
                temp = p.operands.data[row]
                if not p.operands.flags[row] & operand_temp or temp >= p.temps.table.count:
                    continue
                at = b
                if opcode_is_phi(p.instructions.opcode[i]):
                    if p.instructions.opcode[i] == op_p_phi and j < p.blocks.logical_pred_count[b]:
                        at = p.edge_lists.block[p.blocks.logical_pred_first[b] + j]
                    elif p.instructions.opcode[i] == op_p_linear_phi and j < p.blocks.linear_pred_count[b]:
                        at = p.edge_lists.block[p.blocks.linear_pred_first[b] + j]
                    else:
                        continue
                _expect(c, home[0][temp] != 0xffffffffU, b"an operand names a temp that is never defined")
                if home[0][temp] == 0xffffffffU:
                    continue
                linear = class_is_linear(p.operands.register_class[row])
                if home[0][temp] == b and at == b and not opcode_is_phi(p.instructions.opcode[i]):
                    _expect(c, position[0][temp] < k, b"a temp is used before its definition")
                elif linear:
                    _expect(c, dominates_linear(p, home[0][temp], at), b"a definition does not dominate its use")
                else:
                    _expect(c, dominates_logical(p, home[0][temp], at), b"a definition does not dominate its use")
    return 0


def check(Program program not None, bint ssa=False, bint branches=True):
    """Return what is wrong as a list of (block, instruction or 0, message).

    With `ssa` also that every temp has one definition, which dominates its uses (needs ``dominance``).
    """
    cdef Context c
    cdef ProgramData *p = &program.data
    cdef uint32_t b
    cdef uint32_t k
    cdef vector[uint32_t] home
    cdef vector[uint32_t] position
    c.p = p
    c.branches = branches
    with nogil:
        for b in range(p.blocks.table.count):
            c.block = b
            _check_block(&c)
            for k in range(p.blocks.order_count[b]):
                _check_instruction(&c, p.order.instruction[p.blocks.order_first[b] + k])
        if ssa:
            home.assign(p.temps.table.count, 0xffffffffU)
            position.assign(p.temps.table.count, 0)
            _check_definitions(&c, &home, &position)
            _check_uses(&c, &home, &position)
    return [(c.findings[k].block, c.findings[k].instruction, c.findings[k].message.decode())
            for k in range(c.findings.size())]
