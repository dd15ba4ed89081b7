"""Cycles of one instruction on the units of a SIMD. The contract is in ``cycles.pxd``."""
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset, strncmp, strstr

import numpy

from features cimport has_coexecution, has_full_rate_doubles, has_slow_matrices
from isa_opcodes cimport *
from isa_tables cimport (
    hazard_matrix_2_passes, hazard_matrix_4_passes, hazard_matrix_8_passes, hazard_matrix_16_passes, isa_hazards, opcode_format, opcode_latency,
    opcode_name,
)
from modifiers cimport modifier_blgp, modifier_cbsz, modifier_gds, modifier_opsel, modifier_opsel_hi
from pyaco._core.common.cycles cimport *
from pyaco._core.common.machine cimport *
from pyaco._core.emu.access cimport MemoryOperation
from pyaco._core.emu.global_memory cimport memory_operation
from pyaco._core.emu.wave cimport Instruction

cdef enum:
    cdna1 = 91
    short_elements = 2                # cbsz, blgp and the formats of GFX12.5's matrices: from here on elements have 6 or 4 bits
    four_bits = 4

cdef uint8_t pipeline_cycles[2][<int>op_count]             # of matrix operations, on gfx1250 and on gfx1251


cdef void _fill_pipeline_cycles() noexcept nogil:
    """By what an operation multiplies (LLVM 23, SISchedule.td: GFX1250SpeedModel and GFX1251SpeedModel)."""
    cdef uint32_t opcode
    cdef const char *name
    cdef bint integers, sparse, long_bytes
    memset(pipeline_cycles, 0, sizeof(pipeline_cycles))
    for opcode in range(<uint32_t>op_count):
        name = opcode_name[opcode]
        sparse = strncmp(name, "v_swmmac", 8) == 0
        if not sparse and strncmp(name, "v_wmma", 6) != 0 or strstr(name, "_ld_scale") != NULL or strstr(name, "x4_f") != NULL:
            continue
        integers = strstr(name, "_iu8") != NULL or strstr(name, "_iu4") != NULL
        long_bytes = strstr(name, "x128_fp8") != NULL or strstr(name, "x128_bf8") != NULL
        pipeline_cycles[0][opcode] = 16 if integers else 8
        pipeline_cycles[1][opcode] = 32 if integers or strstr(name, "_f4") != NULL or (long_bytes and not sparse) else 16

_fill_pipeline_cycles()


cdef inline bint _chooses_elements(uint32_t opcode) noexcept nogil:
    return (opcode == <uint32_t>op_v_wmma_f32_16x16x128_f8f6f4 or opcode == <uint32_t>op_v_wmma_scale_f32_16x16x128_f8f6f4
            or opcode == <uint32_t>op_v_wmma_scale16_f32_16x16x128_f8f6f4)


cdef uint32_t pipelined_matrix_cycles(const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t left = modifier_opsel(instruction.decoded.modifiers) & 7
    cdef uint32_t right = modifier_opsel_hi(instruction.decoded.modifiers) & 7
    if not has_coexecution(gfx_level):
        return 0
    if not _chooses_elements(opcode):
        return pipeline_cycles[1 if has_slow_matrices(gfx_level) else 0][opcode]
    if has_slow_matrices(gfx_level):
        return 16 if left == four_bits else 32
    return 16 if left < short_elements or right < short_elements else 8


cdef bint _slow_integer_cycles(uint32_t opcode, bint fast, Cycles *cycles) noexcept nogil:
    """Integers of 64 bits and multiplications that are slower or faster than their neighbours."""
    if opcode in (op_v_mad_u32, op_v_mad_nc_u64_u32, op_v_mad_nc_i64_i32, op_v_mad_u64_u32, op_v_mad_i64_i32):
        cycles[0] = cycles_on(8, resource_valu, 4)
    elif opcode == <uint32_t>op_v_mul_u64:
        cycles[0] = cycles_on(6, resource_valu, 2) if fast else cycles_on(37, resource_valu, 32)
    elif opcode in (op_v_min_u64, op_v_max_u64, op_v_min_i64, op_v_max_i64):
        cycles[0] = cycles_on(5, resource_valu, 1) if fast else cycles_on(37, resource_valu, 32)
    elif opcode == <uint32_t>op_v_lshl_add_u64:
        cycles[0] = cycles_on(5, resource_valu, 1)
    else:
        return False
    return True


cdef inline bint _is_slow_double(uint32_t opcode) noexcept nogil:
    """Of gfx1251, whose other operations on doubles are as fast as those on singles."""
    return opcode in (op_v_div_scale_f64, op_v_div_fmas_f64, op_v_trig_preop_f64, op_v_pk_fma_f64, op_v_pk_mul_f64, op_v_pk_add_f64,
                      op_v_pk_max_num_f64, op_v_pk_min_num_f64)


cdef Cycles _coexecution_cycles(const Instruction *instruction, uint32_t gfx_level, bint is_gds) noexcept nogil:
    """GFX12.5. Latencies are LLVM's (GFX125xCommonWriteRes); units are busy for as long as a rate that gives such a latency says."""
    cdef uint8_t latency = opcode_latency[instruction.decoded.opcode]
    cdef bint fast = has_full_rate_doubles(gfx_level)
    cdef uint32_t cycles
    cdef Cycles special
    if _slow_integer_cycles(instruction.decoded.opcode, fast, &special):
        return special
    if latency == latency_valu64 and fast:
        return cycles_on(5, resource_valu, 1)
    if latency == latency_valu_transcendental32:
        return cycles_on_two(8, resource_valu, 1, resource_valu_complex, 4)
    if latency == latency_valu_pseudo_scalar_trans:
        return cycles_on_two(8, resource_valu, 1, resource_valu_complex, 1)
    if latency == latency_valu_double_add:
        return cycles_on(5, resource_valu, 1) if fast else cycles_on(37, resource_valu, 32)
    if latency == latency_valu_double or latency == latency_valu_double_convert:
        if not fast:
            return cycles_on(37, resource_valu, 32)
        if latency == latency_valu_double_convert or _is_slow_double(instruction.decoded.opcode):
            return cycles_on(6, resource_valu, 2)
        return cycles_on(5, resource_valu, 1)
    if latency == latency_valu_double_transcendental:
        return cycles_on_two(7 if fast else 38, resource_valu, 1, resource_valu_complex, 3 if fast else 33)
    if latency == latency_wmma:
        cycles = pipelined_matrix_cycles(instruction, gfx_level)
        return cycles_on_two(cycles, resource_valu, 1, resource_matrix, cycles) if cycles else cycles_on(16, resource_valu, 16)
    return rdna_cycles(instruction.decoded.opcode, latency, is_gds)


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
    if has_coexecution(gfx_level):
        return _coexecution_cycles(instruction, gfx_level, is_gds)
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
