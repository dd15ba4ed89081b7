"""Cycle model of GFX9 and of GFX10 and later, on ACO IR: which instructions issue together, and how long memory takes.

The figures by latency class are in ``common/cycles.pxd``, where the emulator's profile takes them from.
"""
from libc.stdint cimport int32_t, uint16_t, uint32_t

from isa_opcodes cimport op_v_fma_mix_f32, op_v_fma_mixhi_f16, op_v_fma_mixlo_f16
from isa_tables cimport opcode_latency
from modifiers cimport modifier_gds, modifier_opsel_hi
from pyaco._core.common.cycles cimport (
    export_latency, gcn_cycles, issues_whole_wave, lds_latency, rdna_cycles, scalar_cache_latency, scalar_memory_latency, vector_memory_latency,
)
from pyaco._core.ir.program cimport (
    InstructionId, OperandRow, ProgramData, class_bytes, class_is_vgpr, format_dpp16, format_dpp8, format_ds, format_exp,
    format_flat, format_is_flat_like, format_is_valu, format_is_vmem, format_smem, gfx10, gfx11, operand_constant,
)


cdef Cycles cycles_of(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef bint is_gds = format == format_ds and modifier_gds(p.instructions.modifiers[i])
    if p.gfx_level >= gfx10:
        return rdna_cycles(opcode, opcode_latency[opcode], is_gds)
    return gcn_cycles(opcode_latency[opcode], format_is_valu(format), is_gds, p.device.has_fast_fma32, 0)


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
    return issues_whole_wave(opcode)


cdef int32_t _scalar_load(const ProgramData *p, InstructionId i) noexcept nogil:
    """Descriptors and constants at fixed offsets are likely in the scalar cache."""
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef bint loads = p.instructions.definition_count[i] != 0
    cdef bint constant
    if not loads:
        return scalar_memory_latency
    if count == 0:
        return 1
    constant = count < 2 or (p.operands.flags[first + 1] & operand_constant) != 0
    if count >= 3 and not p.operands.flags[first + count - 1] & operand_constant:
        constant = False
    return scalar_cache_latency if class_bytes(p.operands.register_class[first]) == 8 or constant else scalar_memory_latency


cdef MemoryCycles memory_cycles_of(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    cdef bint loads = p.instructions.definition_count[i] != 0
    cdef MemoryCycles m
    m.vm = m.export_ = m.lgkm = m.vs = 0
    if format == format_exp:
        m.export_ = export_latency
    elif format_is_flat_like(format) or format_is_vmem(format):
        if format == format_flat:
            m.lgkm = lds_latency
        if loads:
            m.vm = vector_memory_latency
        else:
            m.vs = vector_memory_latency
    elif format == format_smem:
        m.lgkm = _scalar_load(p, i)
    elif format == format_ds:
        m.lgkm = lds_latency
    return m


cdef Issue issue_of(const ProgramData *p, InstructionId i, const MemoryCycles *memory) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    cdef Issue issue
    issue.latency = cycles_of(p, i).latency
    issue.stored = memory.vs
    issue.delay = 0
    issue.occupies = 1
    if p.gfx_level < gfx10:
        # GCN begins nothing before this is finished.
        issue.occupies = issue.latency
    elif p.wave_size == 64 and (format_is_valu(format) or format_is_vmem(format) or format_is_flat_like(format)) \
            and not is_dual_issue_capable(p, i):
        issue.occupies = 2
        issue.delay = 1
    issue.latency = max(issue.latency, max(memory.vm, memory.lgkm))
    return issue
