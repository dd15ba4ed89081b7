"""Reductions, scans and shuffles across the lanes of a wave, as machine instructions.

A reduction reads its source (operand 0) into a linear VGPR (operand 1) with every lane enabled and the identity in inactive
lanes, then combines lanes in steps of doubling distance; a second linear VGPR (operand 2) holds shifted copies where an operation
cannot shift its own source. Definitions: the result, the saved exec, then in any order an SGPR temporary (scans), SCC, VCC.

Steps within a row of 16 lanes are DPP controls. Between rows: row_bcast15/31 on GFX8 and GFX9; v_permlanex16 and v_readlane from GFX10 on.
GFX6 and GFX7 have no DPP: lanes swap by ds_swizzle within 32 lanes, always through the second register, and v_readlane reaches the others.
8-bit and 16-bit integers are computed with 32-bit instructions (minima and maxima after extension).

Sources: "Vega", "RDNA 1" to "RDNA 4" ISA documents (DPP, V_PERMLANEX16_B32, V_PERMLANE64_B32, DS_SWIZZLE_B32, DS_BPERMUTE_B32);
GPUOpen, "AMD GCN Assembly: Cross-Lane Operations".
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from isa_opcodes cimport *
from modifiers cimport *
from pyaco._core.aco.build cimport *
from pyaco._core.ir.program cimport *

from pyaco.errors import InputError, UnsupportedError


cdef enum:
    add_integer = 0
    multiply_integer = 1
    add_float = 2
    multiply_float = 3
    min_signed = 4
    max_signed = 5
    min_unsigned = 6
    max_unsigned = 7
    min_float = 8
    max_float = 9
    bit_and = 10
    bit_or = 11
    bit_xor = 12
    dpp_same_lane = 0xe4
    dpp_row_shr = 0x110
    dpp_wave_shr_1 = 0x138
    dpp_row_mirror = 0x140
    dpp_row_half_mirror = 0x141
    dpp_row_bcast_15 = 0x142
    dpp_row_bcast_31 = 0x143
    quad_swap_neighbours = 0xb1       # 1, 0, 3, 2
    quad_swap_pairs = 0x4e            # 2, 3, 0, 1
    # patterns of ds_swizzle_b32: lane = ((lane & and) | or) ^ xor, 5 bits each; or the four lanes of a quad
    swizzle_all_lanes = 0x1f
    swizzle_or_shift = 5
    swizzle_xor_shift = 10
    swizzle_quads = 0x8000


cdef struct Reduction:
    Rewrite *out
    ProgramData *p
    InstructionId instruction
    int kind
    uint32_t bits
    uint32_t dwords
    uint16_t value                    # byte addresses of registers
    uint16_t shifted                  # register_none: there is none
    uint16_t saved_exec
    uint16_t scalar                   # SGPR temporary, register_none: there is none
    uint32_t identity[2]


# reduce_operation counts 8, 16, 32, 64 bits of integer operations and 16, 32, 64 of float ones, in the order of the kinds
cdef void _decode(uint32_t operation, int *kind, uint32_t *bits) noexcept nogil:
    cdef int k = 0
    cdef uint32_t sizes
    cdef bint is_float
    while True:
        is_float = k == add_float or k == multiply_float or k == min_float or k == max_float
        sizes = 3 if is_float else 4
        if operation < sizes or k == bit_xor:
            break
        operation -= sizes
        k += 1
    kind[0] = k
    bits[0] = (16 if is_float else 8) << operation


cdef void _identity(Reduction *r) noexcept nogil:
    """The identity of the operation, as 32-bit or 64-bit registers hold it."""
    cdef uint64_t value = 0
    cdef uint64_t one = 1
    if r.kind == multiply_integer:
        value = 1
    elif r.kind == multiply_float:
        value = 0x3c00 if r.bits == 16 else 0x3f800000 if r.bits == 32 else <uint64_t>0x3ff00000 << 32
    elif r.kind == min_float:
        value = 0x7c00 if r.bits == 16 else 0x7f800000 if r.bits == 32 else <uint64_t>0x7ff00000 << 32
    elif r.kind == max_float:
        value = 0xfc00 if r.bits == 16 else 0xff800000U if r.bits == 32 else <uint64_t>0xfff00000U << 32
    elif r.kind == min_signed:
        value = (one << (r.bits - 1)) - 1
    elif r.kind == max_signed:
        value = ~<uint64_t>0 << (r.bits - 1)
    elif r.kind == min_unsigned:
        value = ~<uint64_t>0 >> (64 - r.bits)
    elif r.kind == bit_and:
        value = ~<uint64_t>0
    r.identity[0] = <uint32_t>value
    r.identity[1] = <uint32_t>(value >> 32)


# By kind: the two-operand instruction that combines lanes of 32 bits (of fewer bits, for integers), and that for floats of 16 bits.
cdef uint16_t COMBINATION[bit_xor + 1][2]
for _kind, _full, _half in (
    (add_integer, op_v_add_u32, op_v_add_u32), (multiply_integer, op_invalid, op_invalid), (add_float, op_v_add_f32, op_v_add_f16),
    (multiply_float, op_v_mul_f32, op_v_mul_f16), (min_signed, op_v_min_i32, op_v_min_i32), (max_signed, op_v_max_i32, op_v_max_i32),
    (min_unsigned, op_v_min_u32, op_v_min_u32), (max_unsigned, op_v_max_u32, op_v_max_u32), (min_float, op_v_min_f32, op_v_min_f16),
    (max_float, op_v_max_f32, op_v_max_f16), (bit_and, op_v_and_b32, op_v_and_b32), (bit_or, op_v_or_b32, op_v_or_b32),
    (bit_xor, op_v_xor_b32, op_v_xor_b32),
):
    COMBINATION[_kind][0], COMBINATION[_kind][1] = _full, _half


cdef uint16_t _combination(int kind, uint32_t bits) noexcept nogil:
    """The instruction that combines two lanes, op_invalid where there is none."""
    if kind == multiply_integer and bits < 32:
        return op_v_mul_u32_u24       # of the product only the bits below are asked for, which those above do not reach
    return op_invalid if bits == 64 and kind < bit_and else COMBINATION[kind][bits == 16]


cdef inline uint16_t _opcode(const Reduction *r) noexcept nogil:
    return _combination(r.kind, r.bits)


cdef inline uint16_t _part(uint16_t reg, uint32_t k) noexcept nogil:
    return <uint16_t>(reg + 4 * k)


cdef inline Operand _register(uint16_t reg, uint32_t dwords) noexcept nogil:
    return operand_register(reg, class_of_bytes(reg >= register_vgpr0, 4 * dwords))


cdef void _make_dpp(Reduction *r, InstructionId i, uint32_t control, uint32_t row_mask, bint zero_outside) noexcept nogil:
    cdef uint64_t word = modifier_set_dpp_ctrl(r.p.instructions.modifiers[i], control)
    word = modifier_set_dpp_row_mask(word, row_mask)
    word = modifier_set_dpp_bank_mask(word, 0xf)
    word = modifier_set_dpp_bound_ctrl(word, zero_outside)
    r.p.instructions.modifiers[i] = word
    r.p.instructions.format[i] |= format_dpp16


cdef int _set_exec(Reduction *r, uint32_t low, uint32_t high) except -1 nogil:
    """exec = a constant; SCC survives."""
    cdef Definition whole = definition_register(register_exec, class_s2)
    if r.p.wave_size == 32:
        emit_1(r.out, op_s_mov_b32, sgpr_definition(register_exec), operand_c32(low))
    elif low == 0xffffffffU and high == 0xffffffffU:
        emit_1(r.out, op_s_mov_b64, whole, operand_c64(0xffffffffffffffffULL))
    elif low == 0 and high == 0xffffffffU:
        emit_2(r.out, op_s_bfm_b64, whole, operand_c32(32), operand_c32(32))
    elif r.p.gfx_level >= gfx9 and low == high == 0xffff0000U:
        emit_1(r.out, op_s_bitreplicate_b64_b32, whole, operand_c32(0xff00ff00U))
    else:
        emit_1(r.out, op_s_mov_b32, sgpr_definition(register_exec), operand_c32(low))
        emit_1(r.out, op_s_mov_b32, sgpr_definition(register_exec_hi), operand_c32(high))
    return 0


cdef int _restore_exec(Reduction *r) except -1 nogil:
    emit_1(r.out, op_s_mov_b32 if r.p.wave_size == 32 else op_s_mov_b64,
           definition_register(register_exec, r.p.lane_mask), operand_register(r.saved_exec, r.p.lane_mask))
    return 0


cdef int _move_dpp(Reduction *r, uint16_t to, uint16_t source, uint32_t control, uint32_t row_mask, bint zero_outside) except -1 nogil:
    cdef uint32_t k
    cdef InstructionId i
    for k in range(r.dwords):
        i = emit_1(r.out, op_v_mov_b32, vgpr_definition(_part(to, k)), vgpr_operand(_part(source, k)))
        _make_dpp(r, i, control, row_mask, zero_outside)
    return 0


cdef int _fill_identity(Reduction *r, uint16_t to) except -1 nogil:
    cdef uint32_t k
    for k in range(r.dwords):
        emit_1(r.out, op_v_mov_b32, vgpr_definition(_part(to, k)), operand_c32(r.identity[k]))
    return 0


cdef int _need_shifted(Reduction *r) except -1 nogil:
    if r.shifted == register_none:
        with gil:
            raise InputError(f"instruction {r.instruction}: this reduction needs a second linear VGPR as operand 2")
    return 0


cdef int _need_scalar(Reduction *r) except -1 nogil:
    if r.scalar == register_none:
        with gil:
            raise InputError(f"instruction {r.instruction}: this reduction needs an SGPR temporary among its definitions")
    return 0


cdef InstructionId _emit_pair(Reduction *r, uint16_t opcode, Definition d, Operand a, Operand b) except 0 nogil:
    """One instruction on two operands; integer additions before GFX9 write a carry, to VCC."""
    if opcode == op_v_add_u32 and r.p.gfx_level < gfx9:
        return emit_2d2(r.out, op_v_add_co_u32, d, definition_register(register_vcc, r.p.lane_mask), a, b)
    return emit_2(r.out, opcode, d, a, b)


cdef int _combine_64(Reduction *r, uint16_t to, uint16_t other) except -1 nogil:
    """to = to op other for 64-bit operations and multiplications; `other`, if a VGPR, is clobbered."""
    cdef Operand o = _register(other, r.dwords)
    cdef Operand t = _register(to, r.dwords)
    cdef Definition d = definition_register(to, class_of_bytes(True, 4 * r.dwords))
    cdef Definition vcc = definition_register(register_vcc, r.p.lane_mask)
    cdef Operand vcc_operand = operand_register(register_vcc, r.p.lane_mask)
    cdef uint16_t low = to
    cdef uint16_t high = _part(to, 1)
    cdef uint16_t other_high = _part(other, 1)
    cdef uint16_t compare
    cdef uint32_t k
    if r.bits < 64:                   # multiplication
        emit_2(r.out, op_v_mul_lo_u32, d, o, t)
    elif r.kind == add_float:
        emit_2(r.out, op_v_add_f64, d, o, t)
    elif r.kind == multiply_float:
        emit_2(r.out, op_v_mul_f64, d, o, t)
    elif r.kind == min_float:
        emit_2(r.out, op_v_min_f64, d, o, t)
    elif r.kind == max_float:
        emit_2(r.out, op_v_max_f64, d, o, t)
    elif r.kind == add_integer:
        emit_2d2(r.out, op_v_add_co_u32 if r.p.gfx_level < gfx10 else op_v_add_co_u32_e64, vgpr_definition(low), vcc,
                 _register(other, 1), vgpr_operand(low))
        emit_3d2(r.out, op_v_addc_co_u32, vgpr_definition(high), vcc, _register(other_high, 1), vgpr_operand(high), vcc_operand)
    elif r.kind == multiply_integer:
        emit_2(r.out, op_v_mul_lo_u32, vgpr_definition(other_high), vgpr_operand(other_high), vgpr_operand(low))
        emit_2(r.out, op_v_mul_lo_u32, vgpr_definition(high), vgpr_operand(other), vgpr_operand(high))
        _emit_pair(r, op_v_add_u32, vgpr_definition(other_high), vgpr_operand(other_high), vgpr_operand(high))
        emit_2(r.out, op_v_mul_hi_u32, vgpr_definition(high), vgpr_operand(other), vgpr_operand(low))
        _emit_pair(r, op_v_add_u32, vgpr_definition(high), vgpr_operand(high), vgpr_operand(other_high))
        emit_2(r.out, op_v_mul_lo_u32, vgpr_definition(low), vgpr_operand(other), vgpr_operand(low))
    else:
        compare = op_v_cmp_gt_u64
        if r.kind == min_signed:
            compare = op_v_cmp_gt_i64
        elif r.kind == max_signed:
            compare = op_v_cmp_lt_i64
        elif r.kind == max_unsigned:
            compare = op_v_cmp_lt_u64
        # vcc: keep `to`
        emit_2(r.out, compare, vcc, o, t)
        for k in range(2):
            emit_3(r.out, op_v_cndmask_b32, vgpr_definition(_part(to, k)), _register(_part(other, k), 1),
                   vgpr_operand(_part(to, k)), vcc_operand)
    return 0


cdef int _combine(Reduction *r, uint16_t to, uint16_t other) except -1 nogil:
    """to = to op other."""
    cdef uint16_t opcode = _opcode(r)
    cdef uint32_t k
    if opcode == op_invalid:
        if other < register_vgpr0 and r.bits == 64 and (
                r.kind == multiply_integer or r.kind == add_integer or min_signed <= r.kind <= max_unsigned):
            # two SGPR sources and VCC, or a clobbered one: take the value to VGPRs first
            _need_shifted(r)
            for k in range(r.dwords):
                emit_1(r.out, op_v_mov_b32, vgpr_definition(_part(r.shifted, k)), sgpr_operand(_part(other, k)))
            other = r.shifted
        return _combine_64(r, to, other)
    for k in range(r.dwords):
        _emit_pair(r, opcode, vgpr_definition(_part(to, k)), _register(_part(other, k), 1), vgpr_operand(_part(to, k)))
    return 0


cdef int _step(Reduction *r, uint32_t control, uint32_t row_mask) except -1 nogil:
    """value = value op (value of another lane); lanes without such a lane keep their value."""
    cdef uint16_t opcode = _opcode(r)
    cdef uint32_t k
    cdef InstructionId i
    if opcode == op_invalid:
        _need_shifted(r)
        if control >= 0x100 and control != dpp_row_mirror and control != dpp_row_half_mirror:
            _fill_identity(r, r.shifted)
        _move_dpp(r, r.shifted, r.value, control, row_mask, False)
        return _combine_64(r, r.value, r.shifted)
    for k in range(r.dwords):
        i = _emit_pair(r, opcode, vgpr_definition(_part(r.value, k)), vgpr_operand(_part(r.value, k)), vgpr_operand(_part(r.value, k)))
        _make_dpp(r, i, control, row_mask, False)
    return 0


cdef int _other_row(Reduction *r, uint16_t to, uint32_t select) except -1 nogil:
    """Each lane reads a lane of the neighbouring row of 16, even if that row is inactive: lane 0 or lane 15."""
    cdef uint32_t k
    cdef InstructionId i
    for k in range(r.dwords):
        i = emit_3(r.out, op_v_permlanex16_b32, vgpr_definition(_part(to, k)), vgpr_operand(_part(r.value, k)),
                   operand_c32(select), operand_c32(select))
        r.p.instructions.modifiers[i] = modifier_set_opsel(0, 1)
    return 0


cdef int _read_lane(Reduction *r, uint16_t to, uint16_t source, uint32_t lane) except -1 nogil:
    cdef uint32_t k
    for k in range(r.dwords):
        emit_2(r.out, readlane_opcode(r.p.gfx_level), sgpr_definition(_part(to, k)), vgpr_operand(_part(source, k)), operand_c32(lane))
    return 0


cdef int _write_lane(Reduction *r, uint16_t to, Operand value, uint32_t lane) except -1 nogil:
    emit_3(r.out, writelane_opcode(r.p.gfx_level), vgpr_definition(to), value, operand_c32(lane), vgpr_operand(to))
    return 0


cdef inline uint32_t _cluster_size(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint32_t cluster = modifier_cluster_size(p.instructions.modifiers[i])
    return p.wave_size if cluster == 0 or cluster > p.wave_size else cluster


cdef bint reduction_needs_second(const ProgramData *p, InstructionId i) noexcept nogil:
    """Steps within a row take their source by DPP, unless the operation has no DPP form; steps between rows do so on GFX9 only, where the
    two halves of 32 lanes take one row_bcast each: a cluster of 32 lanes is put together in a second register there too."""
    cdef uint32_t cluster = _cluster_size(p, i)
    cdef int kind = 0
    cdef uint32_t bits = 0
    _decode(modifier_reduce_operation(p.instructions.modifiers[i]), &kind, &bits)
    if p.gfx_level < gfx8 or _combination(kind, bits) == op_invalid:
        return True
    if p.instructions.opcode[i] != op_p_reduce:
        return p.gfx_level >= gfx10
    return cluster == 32 or (cluster == 64 and p.gfx_level >= gfx10)


# ------------------------------------------------------------------------------------------------------------------ phases
cdef int _enable_all_lanes(Reduction *r, Operand source) except -1 nogil:
    """exec = all; value = source in the lanes that were on, the identity in the others."""
    cdef Definition[3] d
    cdef Operand[2] o
    cdef Operand other
    cdef uint32_t k
    d[0] = definition_register(r.saved_exec, r.p.lane_mask)
    d[1] = scc_definition()
    d[2] = definition_register(register_exec, r.p.lane_mask)
    o[0] = operand_c32(0xffffffffU) if r.p.wave_size == 32 else operand_c64(0xffffffffffffffffULL)
    o[1] = operand_register(register_exec, r.p.lane_mask)
    emit_any(r.out, op_s_or_saveexec_b32 if r.p.wave_size == 32 else op_s_or_saveexec_b64, d, 3, o, 2)
    for k in range(r.dwords):
        other = operand_c32(r.identity[k])
        if operand_is_literal(other) and r.p.gfx_level < gfx10:
            emit_1(r.out, op_v_mov_b32, vgpr_definition(_part(r.value, k)), other)
            other = vgpr_operand(_part(r.value, k))
        _select(r, _part(r.value, k), other, operand_register(_part(source.reg, k), class_v1))
    return _extend(r)


cdef int _select(Reduction *r, uint16_t to, Operand otherwise, Operand value) except -1 nogil:
    cdef InstructionId i = emit_3(r.out, op_v_cndmask_b32, vgpr_definition(to), otherwise, value,
                                  operand_register(r.saved_exec, r.p.lane_mask))
    r.p.instructions.format[i] |= format_vop3
    return 0


cdef int _extend(Reduction *r) except -1 nogil:
    """8-bit and 16-bit values to 32 bits where the upper bits matter."""
    if r.bits >= 32 or r.kind < min_signed or r.kind > max_unsigned:
        return 0
    emit_3(r.out, op_v_bfe_i32 if r.kind <= max_signed else op_v_bfe_u32, vgpr_definition(r.value), vgpr_operand(r.value),
           operand_c32(0), operand_c32(r.bits))
    return 0


cdef int _swizzle(Reduction *r, uint16_t to, uint16_t source, uint32_t pattern) except -1 nogil:
    """Each lane reads one of the same 32 lanes, which must not be switched off (up to GFX9)."""
    cdef uint32_t k
    cdef InstructionId i
    for k in range(r.dwords):
        i = emit_1(r.out, op_ds_swizzle_b32, vgpr_definition(_part(to, k)), vgpr_operand(_part(source, k)))
        r.p.instructions.immediate[i] = pattern
    return 0


cdef int _reduce_by_swizzles(Reduction *r, uint32_t cluster, uint16_t result) except -1 nogil:
    """GFX6 and GFX7: partners at doubling distance; of the whole wave the upper half has the result."""
    cdef uint32_t distance = 1
    _need_shifted(r)
    while distance < cluster and distance < 32:
        _swizzle(r, r.shifted, r.value, swizzle_all_lanes | distance << swizzle_xor_shift)
        _combine(r, r.value, r.shifted)
        distance *= 2
    if cluster == 64:
        _read_lane(r, result, r.value, 0)
        _combine(r, r.value, result)
    return 0


cdef int _inclusive_by_swizzles(Reduction *r) except -1 nogil:
    """GFX6 and GFX7: the upper half of each block of lanes adds what the last lane of the lower half has."""
    cdef uint32_t distance = 1
    cdef uint32_t uppers
    cdef uint32_t lane
    _need_shifted(r)
    while distance < 32:
        uppers = 0
        for lane in range(32):
            uppers |= <uint32_t>((lane & distance) != 0) << lane
        _swizzle(r, r.shifted, r.value, (swizzle_all_lanes & ~(2 * distance - 1)) | (distance - 1) << swizzle_or_shift)
        _set_exec(r, uppers, uppers)
        _combine(r, r.value, r.shifted)
        _set_exec(r, 0xffffffffU, 0xffffffffU)
        distance *= 2
    _need_scalar(r)
    _read_lane(r, r.scalar, r.value, 31)
    _set_exec(r, 0, 0xffffffffU)
    return _combine(r, r.value, r.scalar)


cdef int _take_where(Reduction *r, uint32_t lanes) except -1 nogil:
    """shifted = value in some lanes of each half."""
    cdef uint32_t k
    _set_exec(r, lanes, lanes)
    for k in range(r.dwords):
        emit_1(r.out, op_v_mov_b32, vgpr_definition(_part(r.shifted, k)), vgpr_operand(_part(r.value, k)))
    return _set_exec(r, 0xffffffffU, 0xffffffffU)


cdef int _shift_by_swizzles(Reduction *r) except -1 nogil:
    """GFX6 and GFX7: `shifted` gets what the lane before has. Within quads that is one pattern; the first lane of a block of 4, 8 or 16 finds it
    at the mirror image of its place in the block of twice the size, so the value is mirrored in ever larger blocks."""
    cdef uint32_t k
    _need_shifted(r)
    _need_scalar(r)
    _read_lane(r, r.scalar, r.value, 31)
    _swizzle(r, r.shifted, r.value, swizzle_quads | 0x90)          # 0, 0, 1, 2
    _swizzle(r, r.value, r.value, swizzle_all_lanes | 7 << swizzle_xor_shift)
    _take_where(r, 0x10101010)
    _swizzle(r, r.value, r.value, swizzle_all_lanes | 8 << swizzle_xor_shift)
    _take_where(r, 0x01000100)
    _swizzle(r, r.value, r.value, swizzle_all_lanes | 16 << swizzle_xor_shift)
    _take_where(r, 0x00010000)
    for k in range(r.dwords):
        _write_lane(r, _part(r.shifted, k), sgpr_operand(_part(r.scalar, k)), 32)
    return 0


cdef int _reduce(Reduction *r, uint32_t cluster, uint16_t result) except -1 nogil:
    """Every lane of a cluster gets the result; of the whole wave at least its last lane."""
    if r.p.gfx_level < gfx8:
        return _reduce_by_swizzles(r, cluster, result)
    if cluster >= 2:
        _step(r, quad_swap_neighbours, 0xf)
    if cluster >= 4:
        _step(r, quad_swap_pairs, 0xf)
    if cluster >= 8:
        _step(r, dpp_row_half_mirror, 0xf)
    if cluster >= 16:
        _step(r, dpp_row_mirror, 0xf)
    if cluster < 32:
        return 0
    if r.p.gfx_level < gfx10 and cluster == 64:
        _step(r, dpp_row_bcast_15, 0xa)
        return _step(r, dpp_row_bcast_31, 0xc)
    _need_shifted(r)
    if r.p.gfx_level < gfx10:
        _swizzle(r, r.shifted, r.value, swizzle_all_lanes | 16 << swizzle_xor_shift)
    else:
        _other_row(r, r.shifted, 0)
    _combine(r, r.value, r.shifted)
    if cluster == 64:
        # lane 0 stands for the lower half; the upper half then has the whole
        _read_lane(r, result, r.value, 0)
        _combine(r, r.value, result)
    return 0


cdef int _inclusive(Reduction *r) except -1 nogil:
    cdef uint32_t distance = 1
    if r.p.gfx_level < gfx8:
        return _inclusive_by_swizzles(r)
    while distance <= 8:
        _step(r, dpp_row_shr + distance, 0xf)
        distance *= 2
    if r.p.gfx_level < gfx10:
        _step(r, dpp_row_bcast_15, 0xa)
        return _step(r, dpp_row_bcast_31, 0xc)
    _need_shifted(r)
    _set_exec(r, 0xffff0000U, 0xffff0000U)
    _other_row(r, r.shifted, 0xffffffffU)
    _combine(r, r.value, r.shifted)
    if r.p.wave_size == 64:
        _need_scalar(r)
        _set_exec(r, 0, 0xffffffffU)
        _read_lane(r, r.scalar, r.value, 31)
        _combine(r, r.value, r.scalar)
    return 0


cdef int _shift_by_one(Reduction *r) except -1 nogil:
    """Every lane gets the value of the one before, lane 0 the identity."""
    cdef uint32_t k
    cdef uint16_t swap
    cdef Operand o
    if r.p.gfx_level < gfx8:
        _shift_by_swizzles(r)
    elif r.p.gfx_level < gfx10:
        _move_dpp(r, r.value, r.value, dpp_wave_shr_1, 0xf, True)
    else:
        _need_shifted(r)
        _move_dpp(r, r.shifted, r.value, dpp_row_shr + 1, 0xf, True)
        _set_exec(r, 0x10000, 0x10000)
        _other_row(r, r.shifted, 0xffffffffU)
        _set_exec(r, 0xffffffffU, 0xffffffffU)
        if r.p.wave_size == 64:
            _need_scalar(r)
            _read_lane(r, r.scalar, r.value, 31)
            for k in range(r.dwords):
                _write_lane(r, _part(r.shifted, k), sgpr_operand(_part(r.scalar, k)), 32)
    if r.p.gfx_level < gfx8 or r.p.gfx_level >= gfx10:
        swap = r.value
        r.value = r.shifted
        r.shifted = swap
    for k in range(r.dwords):
        if r.identity[k] == 0 and r.p.gfx_level >= gfx8:
            continue                  # lanes without a source got zero
        o = operand_c32(r.identity[k])
        if operand_is_literal(o) and r.p.gfx_level < gfx10:
            _need_scalar(r)
            emit_1(r.out, op_s_mov_b32, sgpr_definition(r.scalar), o)
            o = sgpr_operand(r.scalar)
        _write_lane(r, _part(r.value, k), o, 0)
    return 0


cdef int _setup(Reduction *r, Rewrite *out, InstructionId i) except -1 nogil:
    cdef ProgramData *p = out.program
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef DefinitionRow d = p.instructions.definition_first[i]
    cdef uint32_t k
    r.out = out
    r.p = p
    r.instruction = i
    _decode(modifier_reduce_operation(p.instructions.modifiers[i]), &r.kind, &r.bits)
    r.dwords = 2 if r.bits == 64 else 1
    _identity(r)
    if p.instructions.operand_count[i] < 2 or p.instructions.definition_count[i] < 2:
        with gil:
            raise InputError(f"instruction {i}: a reduction has a source, a linear VGPR, a result and a definition that saves exec")
    r.value = p.operands.reg[row + 1]
    r.shifted = register_none
    if p.instructions.operand_count[i] > 2 and not p.operands.flags[row + 2] & operand_undef:
        r.shifted = p.operands.reg[row + 2]
    r.saved_exec = p.definitions.reg[d + 1]
    r.scalar = register_none
    for k in range(2, p.instructions.definition_count[i]):
        if p.definitions.reg[d + k] != register_scc and p.definitions.reg[d + k] != register_vcc \
                and not class_is_vgpr(p.definitions.register_class[d + k]):
            r.scalar = p.definitions.reg[d + k]
    return 0


cdef int lower_reduction(Rewrite *out, InstructionId i) except -1 nogil:
    cdef Reduction r
    cdef ProgramData *p = out.program
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t cluster = _cluster_size(p, i)
    cdef Definition d = definition_at(p, p.instructions.definition_first[i])
    cdef uint16_t result
    cdef uint32_t k
    _setup(&r, out, i)
    result = d.reg
    if class_is_vgpr(d.register_class) and opcode == op_p_reduce and cluster == 64:
        _need_scalar(&r)
        result = r.scalar
    _enable_all_lanes(&r, operand_at(p, p.instructions.operand_first[i]))
    if opcode == op_p_reduce:
        _reduce(&r, cluster, result)
    else:
        if opcode == op_p_exclusive_scan:
            _shift_by_one(&r)
        _inclusive(&r)
    _restore_exec(&r)
    if result < register_vgpr0:
        _read_lane(&r, result, r.value, p.wave_size - 1)
    if class_is_vgpr(d.register_class):
        for k in range(r.dwords):
            emit_1(out, op_v_mov_b32, vgpr_definition(_part(d.reg, k)),
                   _register(_part(result, k), 1) if result < register_vgpr0 else vgpr_operand(_part(r.value, k)))
    return 0


# ---------------------------------------------------------------------------------------------------------------- shuffles
cdef int _bpermute_loop(Rewrite *out, InstructionId i) except -1 nogil:
    """One lane index after the other: lanes that ask for it get its value through an SGPR. Operands: index, data.

    For GFX6 and GFX7, which have no ds_bpermute.
    """
    cdef ProgramData *p = out.program
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef DefinitionRow first = p.instructions.definition_first[i]
    cdef uint8_t lane_mask = p.lane_mask
    cdef uint16_t move = op_s_mov_b32 if lane_mask == class_s1 else op_s_mov_b64
    cdef Definition d = definition_at(p, first)
    cdef uint16_t saved = p.definitions.reg[first + 1]
    cdef Operand index = operand_at(p, row)
    cdef Operand data = vgpr_operand(p.operands.reg[row + 1] & 0xfffc)
    cdef uint32_t shift = 8 * (p.operands.reg[row + 1] & 3)
    cdef uint32_t lane
    cdef Definition[2] compare
    cdef Operand[2] o
    emit_1(out, move, definition_register(saved, lane_mask), operand_register(register_exec, lane_mask))
    compare[0] = definition_register(register_vcc, lane_mask)
    compare[1] = definition_register(register_exec, lane_mask)
    for lane in range(p.wave_size):
        o[0] = operand_c32(lane)
        o[1] = index
        if p.gfx_level >= gfx10:
            emit_any(out, op_v_cmpx_eq_u32, &compare[1], 1, o, 2)
        else:
            emit_any(out, op_v_cmpx_eq_u32, compare, 2, o, 2)
        emit_2(out, readlane_opcode(p.gfx_level), sgpr_definition(register_vcc), data, operand_c32(lane))
        emit_1(out, op_v_mov_b32, d, sgpr_operand(register_vcc))
        emit_1(out, move, definition_register(register_exec, lane_mask), operand_register(saved, lane_mask))
    if shift:
        emit_2(out, op_v_lshrrev_b32, d, operand_c32(shift), vgpr_operand(d.reg))
    return 0


cdef int _bpermute_halves(Rewrite *out, InstructionId i) except -1 nogil:
    """ds_bpermute reaches half a wave: once for the own half, once for the other half brought over by v_permlane64 (GFX11+).

    Operands: linear VGPR, index * 4, data, mask of the lanes whose index is in their own half.
    """
    cdef ProgramData *p = out.program
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef DefinitionRow first = p.instructions.definition_first[i]
    cdef Definition d = definition_at(p, first)
    cdef uint16_t saved = p.definitions.reg[first + 1]
    cdef uint16_t temporary = p.operands.reg[row]
    cdef Operand index = operand_at(p, row + 1)
    cdef Operand data = vgpr_operand(p.operands.reg[row + 2] & 0xfffc)
    cdef uint32_t shift = 8 * (p.operands.reg[row + 2] & 3)
    cdef Operand same_half = operand_at(p, row + 3)
    cdef Definition[3] e
    cdef Operand[2] o
    if p.gfx_level < gfx11:
        with gil:
            raise UnsupportedError("p_bpermute_permlane before GFX11: v_permlane64_b32 does not exist")
    emit_2(out, op_ds_bpermute_b32, d, index, data)
    e[0] = definition_register(saved, class_s2)
    e[1] = scc_definition()
    e[2] = definition_register(register_exec, class_s2)
    o[0] = operand_c64(0xffffffffffffffffULL)
    o[1] = operand_register(register_exec, class_s2)
    emit_any(out, op_s_or_saveexec_b64, e, 3, o, 2)
    emit_1(out, op_v_permlane64_b32, vgpr_definition(temporary), data)
    emit_2(out, op_ds_bpermute_b32, vgpr_definition(temporary), index, vgpr_operand(temporary))
    emit_1(out, op_s_mov_b64, definition_register(register_exec, class_s2), operand_register(saved, class_s2))
    _pull(out, d, temporary, same_half)
    if shift:
        emit_2(out, op_v_lshrrev_b32, d, operand_c32(shift), vgpr_operand(d.reg))
    return 0


cdef int _enable_half(Rewrite *out, bint high) except -1 nogil:
    """exec = all lanes of one half; SCC survives."""
    emit_2(out, op_s_bfm_b64, definition_register(register_exec, class_s2), operand_c32(32), operand_c32(32 if high else 0))
    return 0


cdef int _move_half(Rewrite *out, Definition d, Operand source, bint high) except -1 nogil:
    """What runs of one half takes a value: DPP writes its rows alone."""
    cdef InstructionId k = emit_1(out, op_v_mov_b32, d, source)
    cdef uint64_t word = modifier_set_dpp_ctrl(out.program.instructions.modifiers[k], dpp_same_lane)
    word = modifier_set_dpp_row_mask(word, 0xc if high else 0x3)
    out.program.instructions.modifiers[k] = modifier_set_dpp_bank_mask(word, 0xf)
    out.program.instructions.format[k] |= format_dpp16
    return 0


cdef uint16_t _shared_vgpr(const ProgramData *p, InstructionId i) except 0 nogil:
    """The first of two VGPRs that both halves of the wave share: they follow all others, whose number is rounded up to 4."""
    cdef uint32_t first = (p.config.num_vgprs + 3) & 0xfffffffcU
    if p.gfx_level < gfx10 or p.gfx_level >= gfx11 or p.wave_size != 64:
        with gil:
            raise UnsupportedError("p_bpermute_shared_vgpr: only waves of 64 lanes on GFX10 and GFX10.3 have shared VGPRs")
    if p.config.num_shared_vgprs < 2 or first == 0 or first + p.config.num_shared_vgprs > 256:
        with gil:
            raise InputError(f"instruction {i}: p_bpermute_shared_vgpr needs two shared VGPRs (num_shared_vgprs) after those that are allocated; "
                             f"there are {p.config.num_shared_vgprs} after {first}")
    return <uint16_t>(register_vgpr0 + 4 * first)


cdef int _bpermute_shared(Rewrite *out, InstructionId i) except -1 nogil:
    """ds_bpermute reaches half a wave: what a lane wants of the other half comes through VGPRs that both halves share (GFX10).

    Each half writes its data to one and pulls from the other's, all lanes enabled. Lanes that asked for one of their own half keep it.
    Operands: index * 4, data, mask of the lanes whose index is
    in their own half.
    """
    cdef ProgramData *p = out.program
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef DefinitionRow first = p.instructions.definition_first[i]
    cdef Definition d = definition_at(p, first)
    cdef uint16_t saved = p.definitions.reg[first + 1]
    cdef Operand index = operand_at(p, row)
    cdef Operand data = vgpr_operand(p.operands.reg[row + 1] & 0xfffc)
    cdef uint32_t shift = 8 * (p.operands.reg[row + 1] & 3)
    cdef Operand same_half = operand_at(p, row + 2)
    cdef Definition exec_mask = definition_register(register_exec, class_s2)
    cdef Definition[2] e
    cdef Operand[2] o
    cdef uint16_t of_low = _shared_vgpr(p, i)
    cdef uint16_t of_high = of_low + 4
    emit_2(out, op_ds_bpermute_b32, d, index, data)
    emit_1(out, op_s_mov_b64, definition_register(saved, class_s2), operand_register(register_exec, class_s2))
    _move_half(out, vgpr_definition(of_high), data, True)
    _enable_half(out, False)
    emit_2(out, op_ds_bpermute_b32, vgpr_definition(of_high), index, vgpr_operand(of_high))
    emit_1(out, op_v_mov_b32, vgpr_definition(of_low), data)
    _enable_half(out, True)
    emit_2(out, op_ds_bpermute_b32, vgpr_definition(of_low), index, vgpr_operand(of_low))
    e[0] = exec_mask
    e[1] = scc_definition()
    o[0] = operand_register(saved, class_s2)
    o[1] = same_half
    emit_any(out, op_s_andn2_b64, e, 2, o, 2)
    _move_half(out, d, vgpr_operand(of_high), False)
    _move_half(out, d, vgpr_operand(of_low), True)
    emit_1(out, op_s_mov_b64, exec_mask, operand_register(saved, class_s2))
    if shift:
        emit_2(out, op_v_lshrrev_b32, d, operand_c32(shift), vgpr_operand(d.reg))
    return 0


cdef int _pull(Rewrite *out, Definition d, uint16_t shared, Operand same_half) except -1 nogil:
    """The lanes that asked for a lane of the other half take it."""
    cdef InstructionId k = emit_3(out, op_v_cndmask_b32, d, vgpr_operand(shared), vgpr_operand(d.reg), same_half)
    out.program.instructions.format[k] |= format_vop3
    return 0


cdef int lower_bpermute(Rewrite *out, InstructionId i) except -1 nogil:
    cdef uint16_t opcode = out.program.instructions.opcode[i]
    if opcode == op_p_bpermute_readlane:
        return _bpermute_loop(out, i)
    return _bpermute_halves(out, i) if opcode == op_p_bpermute_permlane else _bpermute_shared(out, i)
