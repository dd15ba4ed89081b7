"""Cycles of one instruction on the units of a SIMD. The contract is in ``cycles.pxd``."""
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

import numpy

from isa_opcodes cimport *
from isa_tables cimport (
    hazard_matrix_2_passes, hazard_matrix_4_passes, hazard_matrix_8_passes, hazard_matrix_16_passes, isa_hazards, opcode_format, opcode_latency,
)
from modifiers cimport modifier_blgp, modifier_cbsz, modifier_gds
from pyaco._core.common.cycles cimport *
from pyaco._core.common.machine cimport *
from pyaco._core.emu.access cimport MemoryOperation
from pyaco._core.emu.global_memory cimport memory_operation
from pyaco._core.emu.wave cimport Instruction

cdef enum:
    cdna1 = 91
    short_elements = 2                # cbsz, blgp: from here on elements have 6 or 4 bits


cdef uint32_t matrix_passes(const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint32_t classes = isa_hazards(gfx_level, opcode)
    cdef uint32_t passes = 16
    if not classes & (hazard_matrix_2_passes | hazard_matrix_4_passes | hazard_matrix_8_passes | hazard_matrix_16_passes):
        return 0
    if classes & (hazard_matrix_2_passes | hazard_matrix_4_passes | hazard_matrix_8_passes):
        passes = 2 if classes & hazard_matrix_2_passes else (4 if classes & hazard_matrix_4_passes else 8)
    if (opcode == <uint32_t>op_v_mfma_f32_16x16x128_f8f6f4 or opcode == <uint32_t>op_v_mfma_f32_32x32x64_f8f6f4
            or opcode == <uint32_t>op_v_mfma_scale_f32_16x16x128_f8f6f4 or opcode == <uint32_t>op_v_mfma_scale_f32_32x32x64_f8f6f4):
        return 2 * passes if modifier_cbsz(modifiers) < short_elements or modifier_blgp(modifiers) < short_elements else passes
    return passes


cdef Cycles instruction_cycles(const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint16_t format = instruction.decoded.format
    cdef bint is_gds = format & 0x7f == format_ds and modifier_gds(instruction.decoded.modifiers)
    cdef uint32_t passes
    if gfx_level >= gfx10:
        return rdna_cycles(opcode, opcode_latency[opcode], is_gds)
    passes = matrix_passes(instruction, gfx_level)
    if passes:
        return matrix_cycles(passes)
    return gcn_cycles(opcode_latency[opcode], format_is_valu(format), is_gds, gfx_level >= gfx9,
                      0 if gfx_level <= gfx9 else (8 if gfx_level == cdna1 else 4))


cdef uint32_t issue_passes(const Instruction *instruction, uint32_t gfx_level, uint32_t wave_size) noexcept nogil:
    cdef uint16_t format = instruction.decoded.format
    cdef uint16_t base = format & 0x7f
    if gfx_level < gfx10 or wave_size == 32 or (gfx_level >= gfx11 and issues_whole_wave(instruction.decoded.opcode)
                                                and not format & (format_dpp16 | format_dpp8)):
        return 1
    return 2 if (format_is_valu(format) or format_is_vmem(base) or format_is_flat_like(base) or base == format_ds or base == format_exp) else 1


def costs_of_opcodes(uint32_t gfx_level, uint32_t wave_size):
    """Return cycles of each opcode without modifiers on each unit (``int32[opcode, unit]``, in the order of ``UNITS``), and bytes of a lane
    that it moves between memory and registers (``int32[opcode]``)."""
    costs = numpy.zeros((<int>op_count, <int>resource_count), numpy.int32)
    moved = numpy.zeros(<int>op_count, numpy.int32)
    cdef int32_t[:, ::1] cost = costs
    cdef int32_t[::1] bytes_of = moved
    cdef Instruction instruction
    cdef const MemoryOperation *operation
    cdef Cycles cycles
    cdef uint32_t opcode, passes
    memset(&instruction, 0, sizeof(instruction))
    for opcode in range(<uint32_t>op_count):
        instruction.decoded.opcode = <uint16_t>opcode
        instruction.decoded.format = opcode_format[opcode]
        cycles = instruction_cycles(&instruction, gfx_level)
        passes = issue_passes(&instruction, gfx_level, wave_size)
        if cycles.resource0 < resource_count:
            cost[opcode, cycles.resource0] += cycles.cost0 * passes
        if cycles.resource1 < resource_count:
            cost[opcode, cycles.resource1] += cycles.cost1 * passes
        operation = memory_operation(opcode)
        bytes_of[opcode] = operation.bytes * max(1, operation.dwords) * (2 if operation.pair else 1) if operation.bytes else 0
    return costs, moved


#: Units of the model, in the order of the kernels.
UNITS = ("scalar", "branch", "valu", "valu_complex", "lds", "export", "vmem", "matrix")
