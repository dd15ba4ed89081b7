"""Instruction selection of subgroup operations.

Booleans are lane masks, so ballots, votes and their reductions are scalar arithmetic. Other values cross lanes dword by dword:
narrower ones are widened first. Reductions and scans become pseudo instructions, which need linear VGPRs; those of uniform
values are arithmetic with the number of active lanes.

Sources: AMD ISA documents (Vega, RDNA 2, RDNA 3): DPP controls, DS_SWIZZLE_B32, DS_BPERMUTE_B32 (which reaches 32 lanes from GFX10
on), V_READLANE_B32; ACO for the operands of ``p_reduce`` and ``p_bpermute_*`` and for clustered boolean reductions.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from features cimport has_half_wave_permutes
from isa_opcodes cimport *
from modifiers cimport (
    modifier_set_cluster_size, modifier_set_dpp_bank_mask, modifier_set_dpp_bound_ctrl, modifier_set_dpp_ctrl,
    modifier_set_dpp_fetch_inactive, modifier_set_dpp_row_mask, modifier_set_opsel, modifier_set_reduce_operation,
)
from nir_opcodes cimport *
from pyaco._core.aco.build cimport by_wave, exec_operand, make, mask_constant
from pyaco._core.aco.isel_context cimport *
from pyaco._core.aco.occupancy cimport shared_vgpr_allocation
from pyaco._core.common.bits cimport trailing_zeros32
from pyaco._core.ir.program cimport (
    Definition, Operand, TempId, class_bytes, class_dwords, class_s1, class_s2, class_v1, class_v1_linear, definition_of,
    definition_of_fixed, format_dpp16, gfx10, gfx11, gfx8, gfx9, operand_late_kill, operand_of_fixed, operand_register, operand_undefined,
    register_exec, register_exec_hi, register_m0, register_scc, register_vcc,
)

from pyaco._core.ir.shader cimport ValueId, constant_bits, intrinsic_index, source_value, value_is_constant

cdef enum:                        # DPP controls
    dpp_row_shl = 0x100
    dpp_row_shr = 0x110
    dpp_row_ror = 0x120
    dpp_row_mirror = 0x140
    dpp_row_half_mirror = 0x141
    dpp_row_share = 0x150         # GFX10 and later, as row_xmask
    dpp_row_xmask = 0x160
    permlane_bound_control = 2    # in op_sel of v_permlane16_b32
    swizzle_quads = 0x8000        # of a pattern of ds_swizzle_b32: the lanes of a quad, as DPP controls name them

cdef enum:                        # what moves a dword across lanes
    exchange_dpp = 0              # argument: control
    exchange_swizzle = 1          # argument: pattern of ds_swizzle_b32
    exchange_permute = 2          # temp: lane index, divergent; argument: it is in the own half of the wave
    exchange_lane = 3             # lane
    exchange_first = 4            # the first active lane
    exchange_row = 5              # argument: it is in the other row of 16 lanes of the same 32; selectors
    exchange_halves = 6           # the lane 32 away

cdef struct LaneExchange:
    uint8_t kind                  # exchange_*
    uint32_t argument
    TempId temp
    Operand lane                  # uniform
    TempId[2] selectors           # four bits for each lane of a row: the lane that it reads


# ------------------------------------------------------------------------------------------------------- dword by dword
cdef TempId _dpp(Isel *c, TempId temp, uint32_t control, bint bound) except 0 nogil:
    cdef TempId result = emit1(c, op_v_mov_b32, 0, T(c, as_vgpr(c, temp)))
    cdef uint64_t word = modifier_set_dpp_ctrl(0, control)
    word = modifier_set_dpp_bank_mask(modifier_set_dpp_row_mask(word, 0xf), 0xf)
    word = modifier_set_dpp_bound_ctrl(word, bound)
    c.p.instructions.format[c.last] |= format_dpp16
    modifiers_of_last(c)[0] = modifier_set_dpp_fetch_inactive(word, c.gfx >= gfx10)
    return result


cdef Operand _late_kill(Operand o) noexcept nogil:
    o.flags |= operand_late_kill
    return o


cdef TempId _permute(Isel *c, TempId temp, TempId index, bint in_half) except 0 nogil:
    """Each lane gets the value of the lane that its index names."""
    cdef TempId dst = new_temp(c, class_v1)
    cdef Operand[4] o
    cdef Definition[3] d
    cdef TempId low_half
    cdef TempId not_high
    index = as_vgpr(c, index)
    temp = as_vgpr(c, temp)
    d[0] = definition_of(c.p, dst)
    if c.gfx < gfx8:
        d[1] = definition_of(c.p, new_temp(c, class_s2))
        d[2] = definition_of_fixed(c.p, new_temp(c, class_s2), register_vcc)
        o[0] = _late_kill(T(c, index))
        o[1] = _late_kill(T(c, temp))
        append_instruction(c, make(c.p, op_p_bpermute_readlane, d, 3, o, 2))
        return dst
    if not has_half_wave_permutes(c.gfx) or not c.wave64 or in_half:
        index = emit2(c, op_v_lshlrev_b32, 0, K(2), T(c, index))
        return emit2(c, op_ds_bpermute_b32, dst, T(c, index), T(c, temp))
    # Lanes whose source is in their own half: the lower ones that name a low lane, the upper ones that name a high one.
    low_half = emit2(c, op_v_cmp_ge_u32, 0, K(31), T(c, index))
    not_high = emit1(c, op_s_not_b32, 0, T(c, part(c, low_half, 1, 4)))
    o[0] = operand_undefined(class_v1_linear)
    o[3] = _late_kill(T(c, pair(c, 0, class_s2, T(c, part(c, low_half, 0, 4)), T(c, not_high))))
    o[1] = _late_kill(T(c, emit2(c, op_v_lshlrev_b32, 0, K(2), T(c, index))))
    o[2] = _late_kill(T(c, temp))
    d[1] = definition_of(c.p, new_temp(c, class_s2))
    d[2] = definition_of_fixed(c.p, new_temp(c, class_s1), register_scc)
    if c.gfx >= gfx11:
        append_instruction(c, make(c.p, op_p_bpermute_permlane, d, 3, o, 4))
        return dst
    c.p.config.num_shared_vgprs = shared_vgpr_allocation(c.p, 2)
    append_instruction(c, make(c.p, op_p_bpermute_shared_vgpr, d, 3, &o[1], 3))
    return dst


cdef TempId _permute_row(Isel *c, TempId temp, LaneExchange *exchange) except 0 nogil:
    """Lanes of a row of 16 read lanes of a row; from those that do not run they get zero."""
    cdef TempId result = new_temp(c, class_v1)
    cdef Operand[3] o
    o[0] = T(c, as_vgpr(c, temp))
    o[1] = T(c, exchange.selectors[0])
    o[2] = T(c, exchange.selectors[1])
    emit_raw(c, op_v_permlanex16_b32 if exchange.argument else op_v_permlane16_b32, result, o, 3)
    modifiers_of_last(c)[0] = modifier_set_opsel(0, permlane_bound_control)
    return result


cdef TempId _exchange_dword(Isel *c, LaneExchange *exchange, TempId temp) except 0 nogil:
    cdef TempId result
    cdef Operand o
    if exchange.kind == exchange_dpp and c.gfx >= gfx8:
        return _dpp(c, temp, exchange.argument, True)
    if exchange.kind == exchange_permute:
        return _permute(c, temp, exchange.temp, exchange.argument != 0)
    if exchange.kind == exchange_row:
        return _permute_row(c, temp, exchange)
    temp = as_vgpr(c, temp)
    o = T(c, temp)
    if exchange.kind == exchange_halves:
        return emit1(c, op_v_permlane64_b32, 0, T(c, temp))
    if exchange.kind == exchange_swizzle or exchange.kind == exchange_dpp:
        result = new_temp(c, class_v1)
        emit_raw(c, op_ds_swizzle_b32, result, &o, 1)
        # Before GFX8, quads are swizzled that way too.
        c.p.instructions.immediate[c.last] = exchange.argument if exchange.kind == exchange_swizzle else swizzle_quads | exchange.argument
        return result
    if exchange.kind == exchange_first:
        return emit1(c, op_v_readfirstlane_b32, 0, o)
    return emit2(c, op_v_readlane_b32_e64, 0, o, exchange.lane)


cdef int _exchange_value(Isel *c, ValueId i, LaneExchange *exchange) except -1 nogil:
    """Move source 0 of the instruction across lanes into its result."""
    cdef ValueId value = source_value(c.s, i, 0)
    cdef uint32_t bits = c.s.instructions.bit_size[value]
    cdef TempId temp = value_temp(c, value)
    cdef TempId dst = value_temp(c, i)
    cdef Operand[16] o
    cdef uint32_t count
    cdef uint32_t k
    if bits == 1:
        temp = emit3(c, op_v_cndmask_b32, 0, K(0), K(1), T(c, temp))
        temp = _exchange_dword(c, exchange, temp)
        if is_vgpr(c, temp):
            emit2(c, op_v_cmp_lg_u32, dst, K(0), T(c, temp))
        else:
            scc_to_mask(c, dst, emit2(c, op_s_cmp_lg_u32, 0, T(c, temp), K(0)))
        return 0
    if c.s.instructions.components[value] * bits < 32:
        if c.s.instructions.components[value] > 1:
            return unsupported(c, b"narrow vector source of", intrinsic_names[c.s.instructions.opcode[i]])
        if is_vgpr(c, temp):
            temp = convert_integer(c, 0, temp, bits, 32, False)
        temp = _exchange_dword(c, exchange, temp)
        if is_vgpr(c, dst):
            temp = part(c, as_vgpr(c, temp), 0, bits // 8)
        elif is_vgpr(c, temp):
            temp = as_uniform(c, 0, temp)
        copy(c, dst, 0, T(c, temp))
        return 0
    count = c.s.instructions.components[value] * bits // 32
    if count > 16 or c.s.instructions.components[value] * bits % 32:
        return unsupported(c, b"wide vector source of", intrinsic_names[c.s.instructions.opcode[i]])
    temp = as_vgpr(c, temp)
    for k in range(count):
        o[k] = T(c, _exchange_dword(c, exchange, part(c, temp, k, 4)))
        if is_vgpr(c, o[k].data) and not is_vgpr(c, dst):
            o[k] = T(c, as_uniform(c, 0, o[k].data))
    if count == 1:
        copy(c, dst, 0, o[0])
    else:
        create_vector(c, dst, 0, o, count)
    return 0


cdef int _copy_source(Isel *c, ValueId i) except -1 nogil:
    """A uniform source is the same in every lane."""
    cdef TempId dst = value_temp(c, i)
    cdef TempId temp = source_whole(c, i, 0)
    if is_vgpr(c, temp) and not is_vgpr(c, dst):
        as_uniform(c, dst, temp)
    elif is_vgpr(c, dst) and not is_vgpr(c, temp):
        copy(c, dst, 0, T(c, as_vgpr_bytes(c, temp, class_bytes(class_of(c, dst)))))
    else:
        copy(c, dst, 0, T(c, temp))
    return 0


# ----------------------------------------------------------------------------------------------------- ballots and votes
cdef TempId _active(Isel *c, TempId mask) except 0 nogil:
    """The lanes of a mask that are active; scc says whether there are any."""
    return emit2(c, by_wave(c.p, op_s_and_b32, op_s_and_b64), 0, T(c, mask), exec_operand(c.p))


cdef int _ballot(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef TempId dst = value_temp(c, i)
    cdef TempId mask = source_whole(c, i, 0)
    if source_bits(c, i, 0) != 1:
        return unsupported(c, b"source that is no boolean of", b"ballot")
    if c.s.instructions.opcode[i] == intrinsic_ballot:
        mask = _active(c, mask)
    if class_of(c, dst) == c.mask:
        copy(c, dst, 0, T(c, mask))
    elif not c.wave64 and class_of(c, dst) == class_s2:
        pair(c, dst, 0, T(c, mask), K(0))
    else:
        return unsupported(c, b"result size of", b"ballot")
    return 0


cdef int _inverse_ballot(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef TempId mask = as_uniform(c, 0, source_whole(c, i, 0))
    if class_of(c, mask) != c.mask:
        if class_of(c, mask) != class_s2:
            return unsupported(c, b"source size of", b"inverse_ballot")
        mask = part(c, mask, 0, 4)
    copy(c, value_temp(c, i), 0, T(c, mask))
    return 0


cdef int _vote(Isel *c, ValueId i, uint64_t all_lanes) except -1 nogil:
    cdef TempId mask = source_whole(c, i, 0)
    cdef TempId dst = value_temp(c, i)
    cdef TempId any_bit
    if not value_divergent(c, source_value(c.s, i, 0)):
        copy(c, dst, 0, T(c, mask))
        return 0
    if not all_lanes:
        scc_to_mask(c, dst, mask_to_scc(c, mask))
        return 0
    emit2(c, by_wave(c.p, op_s_andn2_b32, op_s_andn2_b64), 0, exec_operand(c.p), T(c, mask))
    any_bit = c.scc
    # scc: some active lane is not in the mask
    emit3(c, by_wave(c.p, op_s_cselect_b32, op_s_cselect_b64), dst, mask_constant(c.p, False), mask_constant(c.p, True),
          scc_operand(c, any_bit))
    return 0


cdef int _quad_vote(Isel *c, ValueId i, uint64_t all_lanes) except -1 nogil:
    """By s_wqm, which sets all bits of a quad of which one is set."""
    cdef TempId dst = value_temp(c, i)
    cdef TempId mask = source_whole(c, i, 0)
    cdef TempId whole
    if not value_divergent(c, source_value(c.s, i, 0)):
        copy(c, dst, 0, T(c, mask))
        return 0
    if all_lanes:
        mask = emit2(c, by_wave(c.p, op_s_andn2_b32, op_s_andn2_b64), 0, exec_operand(c.p), T(c, mask))
    else:
        mask = _active(c, mask)
    whole = emit1(c, by_wave(c.p, op_s_wqm_b32, op_s_wqm_b64), 0 if all_lanes else dst, T(c, mask))
    if all_lanes:
        emit1(c, by_wave(c.p, op_s_not_b32, op_s_not_b64), dst, T(c, whole))
    return 0


cdef int _is_lane_below(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    """is_subgroup_invocation_lt_amd: the lanes below a number of up to 64, which stands from bit `base` on."""
    cdef TempId dst = value_temp(c, i)
    cdef TempId count = as_uniform(c, 0, source_whole(c, i, 0))
    cdef TempId mask
    cdef TempId is_64
    if intrinsic_index(c.s, i, index_base):
        count = emit2(c, op_s_lshr_b32, 0, T(c, count), K(intrinsic_index(c.s, i, index_base)))
    # The width of a mask of 64 bits has six bits, that of 32 bits five.
    mask = emit2(c, op_s_bfm_b64, 0, T(c, count), K(0))
    if not c.wave64:
        copy(c, dst, 0, T(c, part(c, mask, 0, 4)))
        return 0
    is_64 = emit2(c, op_s_bitcmp1_b32, 0, T(c, count), K(6))
    emit3(c, op_s_cselect_b64, dst, mask_constant(c.p, True), T(c, mask), scc_operand(c, is_64))
    return 0


cdef int _first_or_last_lane(Isel *c, ValueId i, uint64_t first) except -1 nogil:
    """Number of the first or the last active lane."""
    cdef TempId dst = value_temp(c, i)
    cdef TempId from_top
    if first:
        emit1(c, by_wave(c.p, op_s_ff1_i32_b32, op_s_ff1_i32_b64), dst, exec_operand(c.p))
        return 0
    from_top = emit1(c, by_wave(c.p, op_s_flbit_i32_b32, op_s_flbit_i32_b64), 0, exec_operand(c.p))
    emit2(c, op_s_sub_i32, dst, K(c.p.wave_size - 1), T(c, from_top))
    return 0


cdef int _elect(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    """The first active lane, by a pseudo instruction: the execution mask is not explicit yet."""
    cdef Operand o = exec_operand(c.p)
    emit_raw(c, op_p_elect, value_temp(c, i), &o, 1)
    return 0


# ---------------------------------------------------------------------------------------------------- reads and shuffles
cdef int _bit_of_lane(Isel *c, ValueId i, Operand lane) except -1 nogil:
    """Broadcast the boolean of one lane."""
    cdef TempId mask = source_whole(c, i, 0)
    scc_to_mask(c, value_temp(c, i), emit2(c, by_wave(c.p, op_s_bitcmp1_b32, op_s_bitcmp1_b64), 0, T(c, mask), lane))
    return 0


cdef int _read_first(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef LaneExchange exchange
    cdef ValueId value = source_value(c.s, i, 0)
    if not value_divergent(c, value):
        return _copy_source(c, i)
    if source_bits(c, i, 0) == 1:
        return _bit_of_lane(c, i, T(c, emit1(c, by_wave(c.p, op_s_ff1_i32_b32, op_s_ff1_i32_b64), 0, exec_operand(c.p))))
    exchange.kind = exchange_first
    return _exchange_value(c, i, &exchange)


cdef int _read_invocation(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    """From the lane that source 1 names, the same for all."""
    cdef LaneExchange exchange
    cdef ValueId lane = source_value(c.s, i, 1)
    if not value_divergent(c, source_value(c.s, i, 0)):
        return _copy_source(c, i)
    exchange.kind = exchange_lane
    if value_is_constant(c.s, lane):
        exchange.lane = K(<uint32_t>constant_bits(c.s, lane, 0) & (c.p.wave_size - 1))     # beyond the wave the result is undefined
    else:
        exchange.lane = T(c, as_uniform(c, 0, source_whole(c, i, 1)))
    if source_bits(c, i, 0) == 1:
        return _bit_of_lane(c, i, exchange.lane)
    return _exchange_value(c, i, &exchange)


cdef int _shuffle_to(Isel *c, ValueId i, TempId index, bint in_half=False) except -1 nogil:
    """From the lane that `index` names; `in_half`: one of the same 32 lanes."""
    cdef LaneExchange exchange
    cdef TempId mask
    if not value_divergent(c, source_value(c.s, i, 0)):
        return _copy_source(c, i)
    if source_bits(c, i, 0) == 1:
        # Each lane looks up its bit.
        mask = source_whole(c, i, 0)
        if c.wave64:
            mask = part(c, emit2(c, op_v_lshrrev_b64, 0, T(c, index), T(c, mask)), 0, 4)
        else:
            mask = emit2(c, op_v_lshrrev_b32, 0, T(c, index), T(c, as_vgpr(c, mask)))
        mask = emit2(c, op_v_and_b32, 0, K(1), T(c, mask))
        emit2(c, op_v_cmp_lg_u32, value_temp(c, i), K(0), T(c, mask))
        return 0
    exchange.kind = exchange_permute
    exchange.argument = in_half
    exchange.temp = index
    return _exchange_value(c, i, &exchange)


cdef int _shuffle(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    if not value_divergent(c, source_value(c.s, i, 1)):
        return _read_invocation(c, i, 0)
    return _shuffle_to(c, i, source_whole(c, i, 1))


cdef TempId _lane_number(Isel *c) except 0 nogil:
    return emit_mbcnt(c, 0, 0, K(0))


cdef int _subgroup_invocation(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    emit_mbcnt(c, value_temp(c, i), 0, K(0))
    return 0


cdef uint32_t _control(uint32_t gfx, uint32_t kept, uint32_t inverted) noexcept nogil:
    """The DPP control for lanes that read lane ``own & kept ^ inverted`` of their 32, 0xffffffff: there is none."""
    cdef uint32_t quad = 0
    cdef uint32_t lane
    if kept & 0x1c == 0x1c and inverted < 4:
        for lane in range(4):
            quad |= (lane & kept ^ inverted) << 2 * lane
        return quad
    if gfx >= gfx8 and kept == 0x1f and inverted in (7, 8, 15):
        return dpp_row_half_mirror if inverted == 7 else dpp_row_ror + 8 if inverted == 8 else dpp_row_mirror
    if gfx >= gfx10 and kept == 0x1f and inverted < 16:
        return dpp_row_xmask + inverted
    if gfx >= gfx10 and kept == 0x10 and inverted < 16:
        return dpp_row_share + inverted
    return 0xffffffffU


cdef int _swizzled(Isel *c, ValueId i, uint32_t pattern) except -1 nogil:
    """From lanes by a pattern (and, or, xor masks of 5 bits): by DPP where there is a control for it, by permutations of rows, or by the LDS
    crossbar."""
    cdef LaneExchange exchange
    cdef uint32_t kept = pattern & ~(pattern >> 5) & 0x1f
    cdef uint32_t inverted = (pattern >> 5 ^ pattern >> 10) & 0x1f
    cdef uint32_t[2] selectors
    cdef uint32_t lane
    if not value_divergent(c, source_value(c.s, i, 0)):
        return _copy_source(c, i)
    exchange.kind = exchange_dpp
    exchange.argument = _control(c.gfx, kept, inverted)
    if exchange.argument != 0xffffffffU:
        return _exchange_value(c, i, &exchange)
    if c.gfx >= gfx10 and kept & 0x10:
        selectors[0] = selectors[1] = 0
        for lane in range(16):
            selectors[lane // 8] |= ((lane & kept ^ inverted) & 0xf) << 4 * (lane % 8)
        exchange.kind = exchange_row
        exchange.argument = inverted >> 4
        for lane in range(2):
            exchange.selectors[lane] = copy(c, 0, class_s1, K(selectors[lane]))
        return _exchange_value(c, i, &exchange)
    exchange.kind = exchange_swizzle
    exchange.argument = pattern & 0x7fff
    return _exchange_value(c, i, &exchange)


cdef bint _is_inversion(Isel *c, ValueId i, uint64_t mask) noexcept nogil:
    """Whether lanes that read the one whose number differs in some bits need not name it."""
    return source_bits(c, i, 0) != 1 and (mask < 32 or (mask == 32 and c.wave64 and c.gfx >= gfx11))


cdef int _inverted(Isel *c, ValueId i, uint32_t mask) except -1 nogil:
    cdef LaneExchange exchange
    if mask < 32:
        return _swizzled(c, i, mask << 10 | 0x1f)
    if not value_divergent(c, source_value(c.s, i, 0)):
        return _copy_source(c, i)
    exchange.kind = exchange_halves
    return _exchange_value(c, i, &exchange)


cdef int _shuffle_relative(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    """shuffle_xor, shuffle_up, shuffle_down: by the lane's own number."""
    cdef uint32_t opcode = c.s.instructions.opcode[i]
    cdef ValueId by = source_value(c.s, i, 1)
    cdef TempId lane
    cdef Operand delta
    if opcode == intrinsic_shuffle_xor and value_is_constant(c.s, by) and _is_inversion(c, i, constant_bits(c.s, by, 0)):
        return _inverted(c, i, <uint32_t>constant_bits(c.s, by, 0))
    lane = _lane_number(c)
    delta = T(c, source_whole(c, i, 1))
    if opcode == intrinsic_shuffle_xor:
        return _shuffle_to(c, i, emit2(c, op_v_xor_b32, 0, delta, T(c, lane)))
    if opcode == intrinsic_shuffle_up:
        return _shuffle_to(c, i, vsub32(c, 0, T(c, lane), delta, False, 0))
    return _shuffle_to(c, i, vadd32(c, 0, delta, T(c, lane), False, 0))


cdef int _rotate(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    """From lane (own + delta) modulo the cluster size, within the cluster."""
    cdef uint32_t cluster = intrinsic_index(c.s, i, index_cluster_size)
    cdef ValueId delta = source_value(c.s, i, 1)
    cdef TempId lane
    cdef TempId index
    if cluster == 0 or cluster > c.p.wave_size:
        cluster = c.p.wave_size
    if value_is_constant(c.s, delta) and (constant_bits(c.s, delta, 0) & (cluster - 1)) * 2 == cluster and _is_inversion(c, i, cluster // 2):
        return _inverted(c, i, cluster // 2)
    lane = _lane_number(c)
    index = vadd32(c, 0, T(c, source_whole(c, i, 1)), T(c, lane), False, 0)
    index = emit3(c, op_v_bfi_b32, 0, K(cluster - 1), T(c, index), T(c, lane))
    return _shuffle_to(c, i, index, cluster <= 32)


cdef int _write_lane(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    """write_invocation_amd: the source, with another value in one lane."""
    cdef TempId dst = value_temp(c, i)
    cdef TempId base = as_vgpr(c, source_whole(c, i, 0))
    cdef TempId value = as_uniform(c, 0, source_whole(c, i, 1))
    cdef TempId lane = as_uniform(c, 0, source_whole(c, i, 2))
    cdef uint32_t bits = source_bits(c, i, 0)
    cdef Definition d
    cdef Operand lane_operand = T(c, lane)
    cdef Operand[2] o
    cdef uint32_t k
    if bits != 32 and bits != 64:
        return unsupported(c, b"narrow source of", b"write_invocation_amd")
    if c.gfx < gfx10:
        # It reads two SGPRs, of which one must be m0.
        d = definition_of_fixed(c.p, new_temp(c, class_s1), register_m0)
        append_instruction(c, make(c.p, op_p_parallelcopy, &d, 1, &lane_operand, 1))
        lane_operand = operand_of_fixed(c.p, d.temp, register_m0)
    for k in range(bits // 32):
        o[k] = T(c, emit3(c, op_v_writelane_b32_e64, 0 if bits == 64 else dst, T(c, part(c, value, k, 4)), lane_operand,
                          T(c, part(c, base, k, 4))))
    if bits == 64:
        create_vector(c, dst, 0, o, 2)
    return 0


# ---------------------------------------------------------------------------------------------------------------- quads
cdef int _quad(Isel *c, ValueId i, uint64_t pattern) except -1 nogil:
    cdef LaneExchange exchange
    if not value_divergent(c, source_value(c.s, i, 0)):
        return _copy_source(c, i)
    exchange.kind = exchange_dpp
    exchange.argument = <uint32_t>pattern
    return _exchange_value(c, i, &exchange)


cdef int _quad_swizzle(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    return _quad(c, i, intrinsic_index(c.s, i, index_swizzle_mask) & 0xff)


cdef int _quad_broadcast(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef ValueId index = source_value(c.s, i, 1)
    cdef TempId lane
    if value_is_constant(c.s, index):
        return _quad(c, i, 0x55 * (<uint32_t>constant_bits(c.s, index, 0) & 3))
    lane = emit3(c, op_v_bfi_b32, 0, K(3), T(c, value_temp(c, index)), T(c, _lane_number(c)))
    return _shuffle_to(c, i, lane, True)


cdef int _masked_swizzle(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    return _swizzled(c, i, intrinsic_index(c.s, i, index_swizzle_mask))


cdef int _row_shift(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef int delta = intrinsic_index(c.s, i, index_base)
    cdef LaneExchange exchange
    exchange.kind = exchange_dpp
    exchange.argument = dpp_row_shr + delta if delta > 0 else dpp_row_shl - delta
    if delta == 0 or delta > 15 or delta < -15:
        return _copy_source(c, i)
    if c.gfx < gfx8:
        return unsupported(c, b"before GFX8,", b"dpp16_shift_amd")
    return _exchange_value(c, i, &exchange)


cdef int _permute_16(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef LaneExchange exchange
    cdef int k
    if c.gfx < gfx10:
        return unsupported(c, b"before GFX10,", b"lane_permute_16_amd")
    exchange.kind = exchange_row
    exchange.argument = 0
    for k in range(2):
        exchange.selectors[k] = as_uniform(c, 0, source_whole(c, i, 1 + k))
    return _exchange_value(c, i, &exchange)


# ------------------------------------------------------------------------------------------------- reductions and scans
cdef enum:                        # properties of an operation
    is_float = 1                  # of 16, 32 and 64 bits; the others have 8 bits too
    is_idempotent = 2

cdef struct Operation:
    uint8_t first                 # its number in ``p_reduce``, of 8 bits (where it has them)
    uint8_t properties
    bint known

cdef Operation[alu_count] _operations
_operations[<int>alu_iadd] = Operation(0, 0, True)
_operations[<int>alu_imul] = Operation(4, 0, True)
_operations[<int>alu_fadd] = Operation(7, is_float, True)
_operations[<int>alu_fmul] = Operation(10, is_float, True)
_operations[<int>alu_imin] = Operation(14, is_idempotent, True)
_operations[<int>alu_imax] = Operation(18, is_idempotent, True)
_operations[<int>alu_umin] = Operation(22, is_idempotent, True)
_operations[<int>alu_umax] = Operation(26, is_idempotent, True)
_operations[<int>alu_fmin] = Operation(29, is_float | is_idempotent, True)
_operations[<int>alu_fmax] = Operation(32, is_float | is_idempotent, True)
_operations[<int>alu_iand] = Operation(36, is_idempotent, True)
_operations[<int>alu_ior] = Operation(40, is_idempotent, True)
_operations[<int>alu_ixor] = Operation(44, 0, True)


cdef uint32_t _size_number(uint32_t bits) noexcept nogil:
    """0 to 3: 8, 16, 32, 64 bits."""
    return 0 if bits == 8 else (1 if bits == 16 else (2 if bits == 32 else 3))


cdef TempId _emit_reduction(Isel *c, uint32_t opcode, uint32_t operation, uint32_t cluster, TempId dst, TempId temp) except 0 nogil:
    """The pseudo instruction: result, a temp to save exec in, an SGPR where lowering needs one, scc, and vcc for carries."""
    cdef Definition[5] d
    cdef Operand[3] o
    cdef uint32_t count = 2
    cdef uint32_t dwords = class_dwords(class_of(c, temp))
    cdef uint64_t word
    if dst == 0:
        dst = new_temp(c, class_of(c, temp))
    d[0] = definition_of(c.p, dst)
    d[1] = definition_of(c.p, new_temp(c, c.mask))
    if opcode != op_p_reduce or (is_vgpr(c, dst) and c.wave64 and cluster == 64):
        d[count] = definition_of(c.p, new_temp(c, sgpr_class(4 * dwords)))
        count += 1
    d[count] = definition_of_fixed(c.p, new_temp(c, class_s1), register_scc)
    count += 1
    if dwords == 2 or c.gfx < gfx9:         # there, all integer additions have a carry
        d[count] = definition_of_fixed(c.p, new_temp(c, c.mask), register_vcc)
        count += 1
    o[0] = T(c, temp)
    o[1] = operand_undefined(<uint8_t>(0xa0 | dwords))
    o[2] = operand_undefined(class_v1_linear if dwords == 1 else <uint8_t>(0xa0 | dwords))
    append_instruction(c, make(c.p, opcode, d, count, o, 3))
    word = modifier_set_reduce_operation(0, operation)
    modifiers_of_last(c)[0] = modifier_set_cluster_size(word, cluster)
    return dst


cdef int _multiply_by_constant(Isel *c, TempId dst, TempId count, uint32_t factor) except -1 nogil:
    """A number of lanes times a constant; products of 24 bits are as fast as sums."""
    if factor == 1:
        copy(c, dst, 0, T(c, count))
    elif factor and factor & (factor - 1) == 0 and is_vgpr(c, dst):
        emit2(c, op_v_lshlrev_b32, dst, K(trailing_zeros32(factor)), T(c, as_vgpr(c, count)))
    elif factor and factor & (factor - 1) == 0:
        emit2(c, op_s_lshl_b32, dst, T(c, count), K(trailing_zeros32(factor)))
    elif not is_vgpr(c, dst):
        emit2(c, op_s_mul_i32, dst, T(c, count), K(factor))
    elif factor < 1 << 24:
        emit2(c, op_v_mul_u32_u24, dst, K(factor), T(c, as_vgpr(c, count)))
    else:
        emit2(c, op_v_mul_lo_u32, dst, T(c, copy(c, 0, class_s1, K(factor))), T(c, count))
    return 0


cdef int _multiply_by_count(Isel *c, ValueId i, uint32_t alu, TempId count) except -1 nogil:
    """A sum of a uniform value, without carries as well: a uniform or divergent number of lanes times the value."""
    cdef TempId dst = value_temp(c, i)
    cdef TempId value = source_whole(c, i, 0)
    cdef uint32_t bits = source_bits(c, i, 0)
    cdef TempId low
    cdef TempId high
    cdef TempId middle
    cdef ValueId factor = source_value(c.s, i, 0)
    if alu == alu_iadd and bits == 32 and value_is_constant(c.s, factor):
        return _multiply_by_constant(c, dst, count, <uint32_t>constant_bits(c.s, factor, 0))
    if alu == alu_ixor:
        # Of an even number nothing is left.
        count = emit2(c, op_v_and_b32 if is_vgpr(c, count) else op_s_and_b32, 0, K(1), T(c, count))
    if alu == alu_fadd and bits == 16:
        low = emit1(c, op_v_cvt_f16_u16, 0, T(c, as_vgpr_bytes(c, count, 2)))
        emit2(c, op_v_mul_f16, dst, T(c, value), T(c, low))
        return 0
    if alu == alu_fadd:
        low = emit1(c, op_v_cvt_f32_u32, 0, T(c, count))
        emit2(c, op_v_mul_f32, dst, T(c, value), T(c, as_vgpr(c, low)))
        return 0
    if bits == 64:
        if is_vgpr(c, dst):
            low = emit2(c, op_v_mul_lo_u32, 0, T(c, part(c, value, 0, 4)), T(c, count))
            high = emit2(c, op_v_mul_hi_u32, 0, T(c, part(c, value, 0, 4)), T(c, count))
            middle = emit2(c, op_v_mul_lo_u32, 0, T(c, part(c, value, 1, 4)), T(c, count))
            high = vadd32(c, 0, T(c, high), T(c, middle), False, 0)
        else:
            value = as_uniform(c, 0, value)
            low = emit2(c, op_s_mul_i32, 0, T(c, part(c, value, 0, 4)), T(c, count))
            high = emit2(c, op_s_mul_hi_u32, 0, T(c, part(c, value, 0, 4)), T(c, count))
            middle = emit2(c, op_s_mul_i32, 0, T(c, part(c, value, 1, 4)), T(c, count))
            high = emit2(c, op_s_add_u32, 0, T(c, high), T(c, middle))
        pair(c, dst, 0, T(c, low), T(c, high))
    elif is_vgpr(c, dst):
        if bits < 32:
            low = emit2(c, op_v_mul_lo_u32, 0, T(c, as_uniform(c, 0, value)), T(c, count))
            copy(c, dst, 0, T(c, part(c, low, 0, bits // 8)))
        else:
            emit2(c, op_v_mul_lo_u32, dst, T(c, value), T(c, count))
    else:
        emit2(c, op_s_mul_i32, dst, T(c, as_uniform(c, 0, value)), T(c, count))
    return 0


cdef TempId _active_count(Isel *c) except 0 nogil:
    return emit1(c, by_wave(c.p, op_s_bcnt1_i32_b32, op_s_bcnt1_i32_b64), 0, exec_operand(c.p))


cdef TempId _active_before(Isel *c, uint32_t more) except 0 nogil:
    """The number of active lanes before the own one, plus a constant."""
    cdef TempId count = emit2(c, op_v_mbcnt_lo_u32_b32, 0, operand_register(register_exec, class_s1), K(more))
    if not c.wave64:
        return count
    return emit2(c, op_v_mbcnt_hi_u32_b32_e64, 0, operand_register(register_exec_hi, class_s1), T(c, count))


cdef bint _is_sum(Isel *c, uint32_t alu, uint32_t bits) noexcept nogil:
    return alu == alu_iadd or alu == alu_ixor or (alu == alu_fadd and (bits == 32 or (bits == 16 and c.gfx >= gfx8)))


cdef uint64_t _identity(uint32_t alu, uint32_t bits) noexcept nogil:
    """What an idempotent operation leaves any other number as it is with."""
    cdef uint64_t ones = 0xffffffffffffffffULL >> (64 - bits)
    if alu == alu_fmin or alu == alu_fmax:
        return (0x7c00 if bits == 16 else 0x7f800000 if bits == 32 else <uint64_t>0x7ff00000 << 32) | (ones ^ ones >> 1 if alu == alu_fmax else 0)
    if alu == alu_imin:
        return ones >> 1
    if alu == alu_imax:
        return ones ^ ones >> 1
    return ones if alu == alu_umin or alu == alu_iand else 0


cdef int _uniform_exclusive_scan(Isel *c, ValueId i, uint32_t alu, uint32_t bits) except -1 nogil:
    """An idempotent operation over uniform values: the value, but nothing stands before the first lane."""
    cdef TempId dst = value_temp(c, i)
    cdef TempId value = source_whole(c, i, 0)
    cdef TempId first = new_temp(c, c.mask)
    cdef uint64_t identity = _identity(alu, bits)
    cdef Operand exec_mask = exec_operand(c.p)
    cdef TempId low
    cdef TempId high
    emit_raw(c, op_p_elect, first, &exec_mask, 1)
    if bits < 64:
        emit3(c, op_v_cndmask_b32, dst, T(c, value), K(<uint32_t>identity), T(c, first))
        return 0
    low = emit3(c, op_v_cndmask_b32, 0, T(c, part(c, value, 0, 4)), K(<uint32_t>identity), T(c, first))
    high = emit3(c, op_v_cndmask_b32, 0, T(c, part(c, value, 1, 4)), K(<uint32_t>(identity >> 32)), T(c, first))
    pair(c, dst, 0, T(c, low), T(c, high))
    return 0


cdef int _boolean_reduce(Isel *c, ValueId i, uint32_t alu, uint32_t cluster) except -1 nogil:
    """And, or, xor of booleans over all lanes, or over each cluster of consecutive lanes."""
    cdef TempId dst = value_temp(c, i)
    cdef TempId mask = source_whole(c, i, 0)
    cdef TempId count
    cdef TempId lane
    if cluster == 1:
        copy(c, dst, 0, T(c, mask))
        return 0
    if cluster >= c.p.wave_size:
        if alu == alu_iand or alu == alu_imin or alu == alu_umin:
            return _vote(c, i, True)
        if alu == alu_ior or alu == alu_imax or alu == alu_umax:
            return _vote(c, i, False)
        mask = _active(c, mask)
        count = emit1(c, by_wave(c.p, op_s_bcnt1_i32_b32, op_s_bcnt1_i32_b64), 0, T(c, mask))
        scc_to_mask(c, dst, emit2(c, op_s_bitcmp1_b32, 0, T(c, count), K(0)))
        return 0
    if cluster == 4 and alu != alu_ixor:
        return _quad_vote(c, i, alu == alu_iand)
    if alu == alu_iand:
        mask = emit2(c, by_wave(c.p, op_s_orn2_b32, op_s_orn2_b64), 0, T(c, mask), exec_operand(c.p))
    else:
        mask = _active(c, mask)
    # The bits of the lane's cluster, from bit 0 on.
    lane = emit2(c, op_v_and_b32, 0, K(~(cluster - 1)), T(c, _lane_number(c)))
    if c.wave64:
        mask = part(c, emit2(c, op_v_lshrrev_b64, 0, T(c, lane), T(c, mask)), 0, 4)
    else:
        mask = emit2(c, op_v_lshrrev_b32, 0, T(c, lane), T(c, as_vgpr(c, mask)))
    if cluster < 32:
        mask = emit2(c, op_v_and_b32, 0, K((1 << cluster) - 1), T(c, mask))
    if alu == alu_iand:
        emit2(c, op_v_cmp_eq_u32, dst, K(0xffffffffU if cluster >= 32 else (1 << cluster) - 1), T(c, mask))
    elif alu == alu_ior:
        emit2(c, op_v_cmp_lg_u32, dst, K(0), T(c, mask))
    else:
        mask = emit2(c, op_v_bcnt_u32_b32, 0, T(c, mask), K(0))
        mask = emit2(c, op_v_and_b32, 0, K(1), T(c, mask))
        emit2(c, op_v_cmp_lg_u32, dst, K(0), T(c, mask))
    return 0


cdef int _boolean_scan(Isel *c, ValueId i, uint32_t alu, bint inclusive) except -1 nogil:
    """By the number of set (for and: clear) bits below the lane."""
    cdef TempId dst = value_temp(c, i)
    cdef TempId source = source_whole(c, i, 0)
    cdef TempId mask
    cdef TempId count
    cdef TempId below = 0 if inclusive else dst
    if alu == alu_iand:
        mask = emit2(c, by_wave(c.p, op_s_andn2_b32, op_s_andn2_b64), 0, exec_operand(c.p), T(c, source))
    else:
        mask = _active(c, source)
    count = emit_mbcnt(c, 0, mask, K(0))
    if alu == alu_iand:
        below = emit2(c, op_v_cmp_eq_u32, below, K(0), T(c, count))
    else:
        if alu == alu_ixor:
            count = emit2(c, op_v_and_b32, 0, K(1), T(c, count))
        below = emit2(c, op_v_cmp_lg_u32, below, K(0), T(c, count))
    if not inclusive:
        return 0
    if alu == alu_iand:
        emit2(c, by_wave(c.p, op_s_and_b32, op_s_and_b64), dst, T(c, source), T(c, below))
    elif alu == alu_ior:
        emit2(c, by_wave(c.p, op_s_or_b32, op_s_or_b64), dst, T(c, source), T(c, below))
    else:
        emit2(c, by_wave(c.p, op_s_xor_b32, op_s_xor_b64), dst, T(c, source), T(c, below))
    return 0


cdef int _reduce_or_scan(Isel *c, ValueId i, uint64_t opcode) except -1 nogil:
    cdef uint32_t alu = <uint32_t>intrinsic_index(c.s, i, index_reduction_op)
    cdef uint32_t bits = source_bits(c, i, 0)
    cdef uint32_t cluster = 0
    cdef TempId dst = value_temp(c, i)
    cdef TempId temp
    cdef TempId result
    cdef bint uniform = not value_divergent(c, source_value(c.s, i, 0))
    cdef const Operation *operation
    cdef uint32_t width = bits
    cdef uint32_t number
    if opcode == op_p_reduce:
        cluster = intrinsic_index(c.s, i, index_cluster_size)
    if cluster == 0 or cluster > c.p.wave_size:
        cluster = c.p.wave_size
    if bits == 1:
        if alu != alu_iand and alu != alu_ior and alu != alu_ixor:
            return unsupported(c, b"boolean operation of", intrinsic_names[c.s.instructions.opcode[i]])
        if opcode == op_p_reduce:
            return _boolean_reduce(c, i, alu, cluster)
        return _boolean_scan(c, i, alu, opcode == op_p_inclusive_scan)
    if alu >= alu_count:
        return unsupported(c, b"operation of", intrinsic_names[c.s.instructions.opcode[i]])
    operation = &_operations[alu]
    if uniform and opcode != op_p_exclusive_scan and (operation.properties & is_idempotent or cluster == 1):
        return _copy_source(c, i)
    if uniform and opcode == op_p_exclusive_scan and operation.known and operation.properties & is_idempotent and is_vgpr(c, dst):
        return _uniform_exclusive_scan(c, i, alu, bits)
    if uniform and opcode == op_p_reduce and cluster == c.p.wave_size and _is_sum(c, alu, bits):
        return _multiply_by_count(c, i, alu, _active_count(c))
    if uniform and opcode != op_p_reduce and _is_sum(c, alu, bits):
        return _multiply_by_count(c, i, alu, _active_before(c, opcode == op_p_inclusive_scan))
    if cluster == 1:
        return _copy_source(c, i)
    temp = as_vgpr(c, source_whole(c, i, 0))
    if bits < 32 and not operation.properties & is_float:
        # Narrow integers are computed in 32 bits; products of 32 take four times as long.
        temp = convert_integer(c, 0, part(c, temp, 0, bits // 8), bits, 32, alu == alu_imin or alu == alu_imax)
        width = bits if alu == alu_imul else 32
    elif bits == 16 and c.gfx < gfx8:
        temp = emit1(c, op_v_cvt_f32_f16, 0, T(c, part(c, temp, 0, 2)))
        width = 32
    elif bits == 16:
        temp = convert_integer(c, 0, part(c, temp, 0, 2), 16, 32, False)
    if not operation.known:
        return unsupported(c, b"operation of", intrinsic_names[c.s.instructions.opcode[i]])
    number = operation.first + _size_number(width)
    if bits >= 32:
        _emit_reduction(c, <uint32_t>opcode, number, cluster, dst, temp)
        return 0
    if c.gfx < gfx8 and operation.properties & is_float:
        emit1(c, op_v_cvt_f16_f32, dst, T(c, as_vgpr(c, _emit_reduction(c, <uint32_t>opcode, number, cluster, 0, temp))))
        return 0
    result = _emit_reduction(c, <uint32_t>opcode, number, cluster, 0 if is_vgpr(c, dst) else dst, temp)
    if result != dst:
        copy(c, dst, 0, T(c, part(c, result, 0, bits // 8)))
    return 0


# ------------------------------------------------------------------------------------------------------------- selection
cdef int _mbcnt(Isel *c, ValueId i, uint64_t unused) except -1 nogil:
    cdef ValueId value = source_value(c.s, i, 0)
    cdef TempId mask = value_temp(c, value)
    cdef uint32_t wave = c.p.wave_size
    cdef uint64_t ones = 0xffffffffffffffffULL if wave == 64 else 0xffffffffU
    if c.s.instructions.bit_size[value] != wave:
        return unsupported(c, b"mask that is not as wide as the wave of", b"mbcnt_amd")
    if value_is_constant(c.s, value) and constant_bits(c.s, value, 0) == ones:
        mask = 0
    emit_mbcnt(c, value_temp(c, i), mask, T(c, source_whole(c, i, 1)))
    return 0


cdef void fill_subgroup(IntrinsicSelection *table) noexcept nogil:
    table[<int>intrinsic_ballot] = IntrinsicSelection(_ballot, 0)
    table[<int>intrinsic_ballot_relaxed] = IntrinsicSelection(_ballot, 0)
    table[<int>intrinsic_is_subgroup_invocation_lt_amd] = IntrinsicSelection(_is_lane_below, 0)
    table[<int>intrinsic_quad_vote_any] = IntrinsicSelection(_quad_vote, False)
    table[<int>intrinsic_quad_vote_all] = IntrinsicSelection(_quad_vote, True)
    table[<int>intrinsic_inverse_ballot] = IntrinsicSelection(_inverse_ballot, 0)
    table[<int>intrinsic_elect] = IntrinsicSelection(_elect, 0)
    table[<int>intrinsic_first_invocation] = IntrinsicSelection(_first_or_last_lane, True)
    table[<int>intrinsic_last_invocation] = IntrinsicSelection(_first_or_last_lane, False)
    table[<int>intrinsic_vote_any] = IntrinsicSelection(_vote, False)
    table[<int>intrinsic_vote_all] = IntrinsicSelection(_vote, True)
    table[<int>intrinsic_read_first_invocation] = IntrinsicSelection(_read_first, 0)
    table[<int>intrinsic_as_uniform] = IntrinsicSelection(_read_first, 0)
    table[<int>intrinsic_read_invocation] = IntrinsicSelection(_read_invocation, 0)
    table[<int>intrinsic_shuffle] = IntrinsicSelection(_shuffle, 0)
    table[<int>intrinsic_shuffle_xor] = IntrinsicSelection(_shuffle_relative, 0)
    table[<int>intrinsic_shuffle_up] = IntrinsicSelection(_shuffle_relative, 0)
    table[<int>intrinsic_shuffle_down] = IntrinsicSelection(_shuffle_relative, 0)
    table[<int>intrinsic_rotate] = IntrinsicSelection(_rotate, 0)
    table[<int>intrinsic_write_invocation_amd] = IntrinsicSelection(_write_lane, 0)
    table[<int>intrinsic_quad_broadcast] = IntrinsicSelection(_quad_broadcast, 0)
    table[<int>intrinsic_quad_swap_horizontal] = IntrinsicSelection(_quad, 0xb1)
    table[<int>intrinsic_quad_swap_vertical] = IntrinsicSelection(_quad, 0x4e)
    table[<int>intrinsic_quad_swap_diagonal] = IntrinsicSelection(_quad, 0x1b)
    table[<int>intrinsic_quad_swizzle_amd] = IntrinsicSelection(_quad_swizzle, 0)
    table[<int>intrinsic_masked_swizzle_amd] = IntrinsicSelection(_masked_swizzle, 0)
    table[<int>intrinsic_dpp16_shift_amd] = IntrinsicSelection(_row_shift, 0)
    table[<int>intrinsic_lane_permute_16_amd] = IntrinsicSelection(_permute_16, 0)
    table[<int>intrinsic_reduce] = IntrinsicSelection(_reduce_or_scan, op_p_reduce)
    table[<int>intrinsic_inclusive_scan] = IntrinsicSelection(_reduce_or_scan, op_p_inclusive_scan)
    table[<int>intrinsic_exclusive_scan] = IntrinsicSelection(_reduce_or_scan, op_p_exclusive_scan)
    table[<int>intrinsic_mbcnt_amd] = IntrinsicSelection(_mbcnt, 0)
    table[<int>intrinsic_load_subgroup_invocation] = IntrinsicSelection(_subgroup_invocation, 0)
