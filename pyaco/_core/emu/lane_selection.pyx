"""The lanes that vector instructions read instead of their own: DPP, and quads of V_INTERP. The contract is in ``lane_selection.pxd``."""
from libc.stdint cimport int8_t, uint32_t, uint64_t

from isa_opcodes cimport op_v_interp_p10_f16_f32_inreg, op_v_interp_p10_f32_inreg, op_v_interp_p10_rtz_f16_f32_inreg
from modifiers cimport *
from pyaco._core.emu.wave cimport *
from pyaco._core.common.machine cimport format_dpp8


cdef int dpp_source_lane(uint32_t control, int lane, int lanes, uint32_t gfx_level) noexcept nogil:
    cdef int row = lane & ~15
    cdef int position = lane & 15
    cdef int amount = control & 15
    if control < 0x100:
        return (lane & ~3) | ((control >> (2 * (lane & 3))) & 3)
    if 0x101 <= control <= 0x10f:
        return row + position + amount if position + amount < 16 else -1
    if 0x111 <= control <= 0x11f:
        return row + position - amount if position >= amount else -1
    if 0x121 <= control <= 0x12f:
        return row + ((position - amount) & 15)
    if control == 0x130:
        return lane + 1 if lane + 1 < lanes else -1
    if control == 0x134:
        return (lane + 1) % lanes
    if control == 0x138:
        return lane - 1
    if control == 0x13c:
        return (lane + lanes - 1) % lanes
    if control == 0x140:
        return row + 15 - position
    if control == 0x141:
        return lane ^ 7
    if control == 0x142:                                    # GFX10 and later do not document it: lane 0 of the row
        return row - 1 if gfx_level < 100 else row
    if control == 0x143:
        return 31 if lane >= 32 else -1
    if 0x150 <= control <= 0x15f:
        return row + amount
    if 0x160 <= control <= 0x16f:
        return row + (position ^ amount)
    return -1


cdef uint64_t dpp_select(const Machine *machine, const Wave *wave, const Instruction *instruction, int8_t *selected) noexcept nogil:
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint64_t written = 0
    cdef uint32_t control, selectors
    cdef bint fetch_inactive, bound_control
    cdef int lane, other
    cdef int lanes = wave.lanes
    if instruction.decoded.format & format_dpp8:
        selectors = modifier_dpp8_lane_sel(modifiers)
        fetch_inactive = modifier_dpp8_fetch_inactive(modifiers)
        for lane in range(lanes):
            other = (lane & ~7) | ((selectors >> (3 * (lane & 7))) & 7)
            selected[lane] = <int8_t>(other if fetch_inactive or (exec_mask >> other) & 1 else -1)
        return ~(<uint64_t>0)
    control = modifier_dpp_ctrl(modifiers)
    fetch_inactive = modifier_dpp_fetch_inactive(modifiers)
    bound_control = modifier_dpp_bound_ctrl(modifiers)
    for lane in range(lanes):
        other = dpp_source_lane(control, lane, lanes, machine.gfx_level)
        if other >= 0 and not fetch_inactive and not (exec_mask >> other) & 1:
            other = -1
        selected[lane] = <int8_t>other
        if ((modifier_dpp_row_mask(modifiers) >> (lane >> 4)) & 1
                and (modifier_dpp_bank_mask(modifiers) >> ((lane & 15) >> 2)) & 1
                and (other >= 0 or bound_control)):
            written |= <uint64_t>1 << lane
    return written


cdef void quad_select(const Instruction *instruction, const Wave *wave, uint32_t slot, int8_t *selected) noexcept nogil:
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef bint first = (opcode == <uint32_t>op_v_interp_p10_f32_inreg or opcode == <uint32_t>op_v_interp_p10_f16_f32_inreg
                       or opcode == <uint32_t>op_v_interp_p10_rtz_f16_f32_inreg)
    cdef uint32_t lane
    for lane in range(wave.lanes):
        selected[lane] = <int8_t>lane
        if slot == 0:
            selected[lane] = <int8_t>((lane & ~<uint32_t>3) + (1 if first else 2))
        elif slot == 2 and first:
            selected[lane] = <int8_t>(lane & ~<uint32_t>3)
