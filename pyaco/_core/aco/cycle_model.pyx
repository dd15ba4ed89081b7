"""Cycle model of GFX9 and of GFX10 and later.

Latency and occupied units by the latency class of the opcode table. The figures are those of RADV's statistics
(``aco_statistics``), so that latency and inverse throughput of the two compare; they are estimates, memory most of all.
"""
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint8_t

from isa_opcodes cimport *
from isa_tables cimport (
    latency_branch, latency_ds, latency_export, latency_salu, latency_salu_float, latency_sendmsg, latency_smem,
    latency_valu32, latency_valu64, latency_valu_double, latency_valu_double_add, latency_valu_double_convert,
    latency_valu_double_transcendental, latency_valu_fma, latency_valu_pseudo_scalar_trans,
    latency_valu_quarter_rate32, latency_valu_transcendental32, latency_vmem, latency_wmma, opcode_latency,
)
from modifiers cimport modifier_gds, modifier_opsel_hi
from pyaco._core.ir.program cimport (
    InstructionId, OperandRow, ProgramData, class_bytes, class_is_vgpr, format_dpp16, format_dpp8, format_ds, format_exp,
    format_flat, format_is_flat_like, format_is_valu, format_is_vmem, format_smem, gfx10, gfx11, operand_constant,
)


cdef inline Cycles _cycles(int32_t latency, uint32_t resource0, int32_t cost0, uint32_t resource1, int32_t cost1) noexcept nogil:
    cdef Cycles c
    c.latency = latency
    c.resource0 = resource0
    c.cost0 = cost0
    c.resource1 = resource1
    c.cost1 = cost1
    return c


cdef inline Cycles _one(int32_t latency, uint32_t resource, int32_t cost) noexcept nogil:
    return _cycles(latency, resource, cost, resource_count, 0)


cdef Cycles _rdna(const ProgramData *p, InstructionId i, uint8_t latency) noexcept nogil:
    cdef int32_t cost
    if latency == latency_valu32 or latency == latency_valu_fma:
        return _one(5, resource_valu, 1)
    if latency == latency_valu64:
        return _cycles(6, resource_valu, 2, resource_valu_complex, 2)
    if latency == latency_valu_quarter_rate32:
        return _cycles(8, resource_valu, 4, resource_valu_complex, 4)
    if latency == latency_valu_transcendental32:
        return _cycles(10, resource_valu, 1, resource_valu_complex, 4)
    if latency == latency_valu_pseudo_scalar_trans:
        return _cycles(7, resource_valu, 1, resource_valu_complex, 1)
    if latency == latency_valu_double or latency == latency_valu_double_add or latency == latency_valu_double_convert:
        return _cycles(22, resource_valu, 16, resource_valu_complex, 16)
    if latency == latency_valu_double_transcendental:
        return _cycles(24, resource_valu, 16, resource_valu_complex, 16)
    if latency == latency_salu:
        return _one(2, resource_scalar, 1)
    if latency == latency_salu_float:
        return _one(4, resource_scalar, 1)
    if latency == latency_smem:
        return _one(0, resource_scalar, 1)
    if latency == latency_branch or latency == latency_sendmsg:
        return _one(0, resource_branch, 1)
    if latency == latency_ds:
        return _one(0, resource_export if p.instructions.format[i] == format_ds
                    and modifier_gds(p.instructions.modifiers[i]) else resource_lds, 1)
    if latency == latency_export:
        return _one(0, resource_export, 1)
    if latency == latency_vmem:
        return _one(0, resource_vmem, 1)
    if latency == latency_wmma:
        cost = 16 if p.instructions.opcode[i] == op_v_wmma_i32_16x16x16_iu4 else 32
        return _one(cost, resource_valu, cost)
    return _one(0, resource_count, 0)


cdef Cycles _gcn(const ProgramData *p, InstructionId i, uint8_t latency) noexcept nogil:
    cdef int32_t cost = 4
    if latency == latency_valu64:
        cost = 8
    elif latency in (latency_valu_quarter_rate32, latency_valu_transcendental32, latency_valu_double_convert):
        cost = 16
    elif latency == latency_valu_fma:
        cost = 4 if p.device.has_fast_fma32 else 16
    elif latency == latency_valu_double or latency == latency_valu_double_transcendental:
        cost = 64
    elif latency == latency_valu_double_add:
        cost = 32
    if format_is_valu(p.instructions.format[i]):
        return _one(cost, resource_valu, cost)
    if latency == latency_salu or latency == latency_smem:
        return _one(4, resource_scalar, 4)
    if latency == latency_branch:
        return _one(8, resource_branch, 8)
    if latency == latency_sendmsg:
        return _one(4, resource_branch, 4)
    if latency == latency_ds:
        return _one(4, resource_export if p.instructions.format[i] == format_ds
                    and modifier_gds(p.instructions.modifiers[i]) else resource_lds, 4)
    if latency == latency_export:
        return _one(16, resource_export, 16)
    if latency == latency_vmem:
        return _one(4, resource_vmem, 4)
    return _one(4, resource_count, 0)


cdef Cycles cycles_of(const ProgramData *p, InstructionId i) noexcept nogil:
    if p.gfx_level >= gfx10:
        return _rdna(p, i, opcode_latency[p.instructions.opcode[i]])
    return _gcn(p, i, opcode_latency[p.instructions.opcode[i]])


cdef bint _mix_dual_issue(const ProgramData *p, InstructionId i) noexcept nogil:
    """Mixed precision: result and addend of one type, and at most two different registers."""
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t k
    cdef uint32_t j
    cdef bint half = (modifier_opsel_hi(p.instructions.modifiers[i]) >> 2 & 1) != 0
    if half == (p.instructions.opcode[i] == op_v_fma_mix_f32):
        return False
    for k in range(3):
        if p.operands.flags[first + k] & operand_constant or not class_is_vgpr(p.operands.register_class[first + k]):
            return True
        for j in range(k):
            if p.operands.reg[first + k] == p.operands.reg[first + j]:
                return True
    return False


cdef bint is_dual_issue_capable(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint16_t format = p.instructions.format[i]
    if p.gfx_level < gfx11 or not format_is_valu(format) or format & (format_dpp16 | format_dpp8):
        return False
    if opcode in (op_v_fma_mix_f32, op_v_fma_mixlo_f16, op_v_fma_mixhi_f16):
        return _mix_dual_issue(p, i)
    return opcode in (
        op_v_fma_f32, op_v_fmac_f32, op_v_fmaak_f32, op_v_fmamk_f32, op_v_mul_f32, op_v_add_f32, op_v_sub_f32,
        op_v_subrev_f32, op_v_mul_legacy_f32, op_v_fma_legacy_f32, op_v_fmac_legacy_f32, op_v_fma_f16, op_v_fmac_f16,
        op_v_fmaak_f16, op_v_fmamk_f16, op_v_mul_f16, op_v_add_f16, op_v_sub_f16, op_v_subrev_f16, op_v_mov_b32,
        op_v_movreld_b32, op_v_movrels_b32, op_v_movrelsd_b32, op_v_movrelsd_2_b32, op_v_cndmask_b32,
        op_v_writelane_b32_e64, op_v_mov_b16, op_v_cndmask_b16, op_v_max_f32, op_v_min_f32, op_v_max_f16, op_v_min_f16,
        op_v_max_i16_e64, op_v_min_i16_e64, op_v_max_u16_e64, op_v_min_u16_e64, op_v_add_i16, op_v_sub_i16, op_v_mad_i16,
        op_v_add_u16_e64, op_v_sub_u16_e64, op_v_mad_u16, op_v_mul_lo_u16_e64, op_v_not_b16, op_v_and_b16, op_v_or_b16,
        op_v_xor_b16, op_v_lshrrev_b16_e64, op_v_ashrrev_i16_e64, op_v_lshlrev_b16_e64, op_v_dot2_bf16_bf16,
        op_v_dot2_f32_bf16, op_v_dot2_f16_f16, op_v_dot2_f32_f16, op_v_dot2c_f32_f16)


cdef int32_t _scalar_load(const ProgramData *p, InstructionId i) noexcept nogil:
    """Descriptors and constants at fixed offsets are likely in the scalar cache."""
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef bint loads = p.instructions.definition_count[i] != 0
    cdef bint constant
    if not loads:
        return 200
    if count == 0:
        return 1
    constant = count < 2 or (p.operands.flags[first + 1] & operand_constant) != 0
    if count >= 3 and not p.operands.flags[first + count - 1] & operand_constant:
        constant = False
    return 30 if class_bytes(p.operands.register_class[first]) == 8 or constant else 200


cdef MemoryCycles memory_cycles_of(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    cdef bint loads = p.instructions.definition_count[i] != 0
    cdef MemoryCycles m
    m.vm = m.export_ = m.lgkm = m.vs = 0
    if format == format_exp:
        m.export_ = 16
    elif format_is_flat_like(format) or format_is_vmem(format):
        if format == format_flat:
            m.lgkm = 20
        if loads:
            m.vm = 320
        else:
            m.vs = 320
    elif format == format_smem:
        m.lgkm = _scalar_load(p, i)
    elif format == format_ds:
        m.lgkm = 20
    return m
