"""Wait states between instructions. The contract is in ``wait_states.pxd``."""
from libc.stdint cimport int32_t, uint16_t, uint32_t

from isa_opcodes cimport *
from isa_tables cimport hazard_div_fmas, hazard_getreg, hazard_lane_select, hazard_m0_read, hazard_matrix_double, \
    hazard_matrix_single, hazard_matrix_xdl, hazard_scalar_memory, hazard_setreg, hazard_vector_memory, isa_hazards
from modifiers cimport modifier_gds, modifier_lds, modifier_opsel, modifier_sdwa_dst_sel
from pyaco._core.emu.access cimport access_atomic, access_format_store, access_store
from pyaco._core.emu.global_memory cimport memory_operation
from pyaco._core.emu.wave cimport *
from pyaco._core.emu_inspect.history cimport *
from pyaco._core.emu_inspect.matrix_states cimport matrix_account, matrix_early
from pyaco._core.emu_inspect.waits cimport Finding, register_limit
from pyaco._core.common.machine cimport (
    format_dpp16, format_ds, format_is_salu, format_mtbuf, format_mubuf, format_sdwa, format_vop3, format_vop3p, format_vopc,
)

cdef enum:
    restart = 1 << 30                 # before the clock overflows
    hwreg_mode = 1
    mode_skip_bit = 28
    source_vccz = 251
    source_execz = 252
    sdwa_dword = 2
    matrix_operation = hazard_matrix_double | hazard_matrix_single | hazard_matrix_xdl


cdef bint has_wait_states(uint32_t gfx_level) noexcept nogil:
    return gfx_level < 100


# ----------------------------------------------------------------------------------------------------------------- checking
cdef bint _reads_early(const History *history, const Wave *wave, const Instruction *instruction, uint32_t slot, int32_t states,
                       Finding *finding) noexcept nogil:
    """A source that the vector ALU has written."""
    cdef uint32_t first = instruction.decoded.source[slot] >> 2
    cdef uint32_t i
    if slot >= instruction.decoded.source_count:
        return False
    for i in range(register_count(wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot])):
        if too_early(history, &history.vector_write[first + i], states, first + i, False, finding):
            return True
    return False


cdef bint _pair_early(const History *history, uint32_t first, int32_t states, Finding *finding) noexcept nogil:
    """VCC or EXEC that the vector ALU has written."""
    return (too_early(history, &history.vector_write[first], states, first, False, finding)
            or too_early(history, &history.vector_write[first + 1], states, first + 1, False, finding))


cdef bint _vector_early(const History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                        Finding *finding) noexcept nogil:
    cdef uint32_t classes = isa_hazards(gfx_level, instruction.decoded.opcode)
    cdef uint32_t slot, first, i
    if instruction.decoded.format & format_dpp16:
        if _pair_early(history, sgpr_exec, 5, finding) or _reads_early(history, wave, instruction, 0, 2, finding):
            return True
    if classes & hazard_lane_select and _reads_early(history, wave, instruction, 1, 4, finding):
        return True
    if classes & hazard_div_fmas and _pair_early(history, sgpr_vcc, 4, finding):
        return True
    for slot in range(instruction.decoded.source_count):
        first = instruction.decoded.source[slot] >> 2
        if first == source_vccz and _pair_early(history, sgpr_vcc, 5, finding):
            return True
        if first == source_execz and _pair_early(history, sgpr_exec, 5, finding):
            return True
    for slot in range(instruction.decoded.destination_count):
        first = instruction.decoded.destination[slot] >> 2
        for i in range(register_count(wave, instruction.decoded.destination[slot], instruction.decoded.destination_bytes[slot])):
            if first >= 256 and too_early(history, &history.late_read[first + i], 2 if gfx_level >= 94 else 1, first + i, True, finding):
                return True
    return False


cdef bint _is_memory(const Instruction *instruction) noexcept nogil:
    return instruction.unit == unit_vmem or instruction.unit == unit_flat


cdef bint _memory_early(const History *history, const Wave *wave, const Instruction *instruction, Finding *finding) noexcept nogil:
    cdef uint32_t slot
    for slot in range(instruction.decoded.source_count):
        if instruction.decoded.source[slot] < 512 and _reads_early(history, wave, instruction, slot, 5, finding):
            return True
    return False


cdef bint _scalar_memory_early(const History *history, const Wave *wave, const Instruction *instruction, Finding *finding) noexcept nogil:
    """GFX6: an SGPR that the vector ALU has written, or a part of a buffer's descriptor that the scalar ALU has."""
    cdef uint32_t first, i
    for i in range(instruction.decoded.source_count):
        if instruction.decoded.source[i] < 512 and _reads_early(history, wave, instruction, i, 4, finding):
            return True
    if instruction.decoded.source_count == 0 or instruction.decoded.source_bytes[0] <= 8:
        return False
    first = instruction.decoded.source[0] >> 2
    for i in range(4):
        if first + i < <uint32_t>scalar_registers and too_early(history, &history.scalar_write[first + i], 4, first + i, False, finding):
            return True
    return False


cdef bint _takes_m0_early(const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    """Instructions that read M0 without waiting for the scalar ALU: messages, and from GFX9 on relative moves, lane numbers, loads to LDS."""
    cdef uint16_t base = instruction.decoded.format & 0x7f
    if isa_hazards(gfx_level, instruction.decoded.opcode) & hazard_m0_read or (
            gfx_level >= 80 and base == format_ds and modifier_gds(instruction.decoded.modifiers)):
        return True
    return gfx_level >= 90 and (base == format_mubuf or base == format_mtbuf) and modifier_lds(instruction.decoded.modifiers)


cdef bint history_check(const History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                        Finding *finding) noexcept nogil:
    cdef uint32_t classes = isa_hazards(gfx_level, instruction.decoded.opcode)
    cdef uint32_t number = instruction.decoded.immediate & 63
    if classes & (hazard_setreg | hazard_getreg):
        return too_early(history, &history.setreg[number],
                         1 if gfx_level < 80 and classes & hazard_setreg else 2, register_limit + 1 + number, classes & hazard_setreg != 0, finding)
    if _takes_m0_early(instruction, gfx_level) and too_early(history, &history.m0_write, 1, sgpr_m0, False, finding):
        return True
    if instruction.unit == unit_valu or instruction.unit == unit_lds or _is_memory(instruction):
        if too_early(history, &history.skip_mode, 2, register_limit + 1 + hwreg_mode, False, finding):
            return True
    if instruction.unit == unit_valu and _vector_early(history, wave, instruction, gfx_level, finding):
        return True
    if gfx_level < 70 and classes & hazard_scalar_memory and _scalar_memory_early(history, wave, instruction, finding):
        return True
    if classes & hazard_vector_memory and _memory_early(history, wave, instruction, finding):
        return True
    return gfx_level > 90 and matrix_early(history, wave, instruction, gfx_level, finding)


# --------------------------------------------------------------------------------------------------------------- accounting
cdef void _note_stored(History *history, const Wave *wave, const Instruction *instruction, const Event *event) noexcept nogil:
    """A store of more than two dwords reads its data late; from a buffer only without an SGPR as offset."""
    cdef uint8_t access = memory_operation(instruction.decoded.opcode).access
    cdef uint32_t slot = 2
    cdef uint32_t first, i
    if access != access_store and access != access_format_store and access != access_atomic:
        return
    if instruction.unit == unit_vmem:
        slot = 3
        if instruction.decoded.source[2] < 512 and instruction.decoded.source[2] >> 2 < 128:
            return
    if instruction.decoded.source_count <= slot or instruction.decoded.source_bytes[slot] <= 8:
        return
    first = instruction.decoded.source[slot] >> 2
    for i in range(register_count(wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot])):
        history.late_read[first + i] = event[0]


cdef void _note_registers(History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                          const Event *event) noexcept nogil:
    """Record the last writer of each register. Writes by other units than the vector ALU clear its record: they need no wait states."""
    cdef uint32_t slot, first, i
    for slot in range(instruction.decoded.destination_count):
        first = instruction.decoded.destination[slot] >> 2
        for i in range(register_count(wave, instruction.decoded.destination[slot], instruction.decoded.destination_bytes[slot])):
            history.vector_write[first + i] = event[0]
            if instruction.unit != unit_valu or isa_hazards(gfx_level, instruction.decoded.opcode) & matrix_operation:
                history.vector_write[first + i].time = long_ago
    if instruction.unit == unit_valu and instruction.operation != NULL and instruction.operation.writes_exec:
        history.vector_write[sgpr_exec] = history.vector_write[sgpr_exec + 1] = event[0]


cdef void _note_scalar(History *history, const Instruction *instruction, const Event *event) noexcept nogil:
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t field = instruction.decoded.immediate
    cdef uint32_t first = field >> 6 & 31
    if instruction.decoded.destination_count and instruction.decoded.destination[0] >> 2 == sgpr_m0:
        history.m0_write = event[0]
    if opcode == <uint32_t>op_s_setreg_b32 or opcode == <uint32_t>op_s_setreg_imm32_b32:
        history.setreg[field & 63] = event[0]
        if field & 63 == hwreg_mode and first <= mode_skip_bit <= first + (field >> 11 & 31):
            history.skip_mode = event[0]


cdef void _note_scalar_write(History *history, const Wave *wave, const Instruction *instruction, const Event *event) noexcept nogil:
    cdef uint32_t slot, first, i
    for slot in range(instruction.decoded.destination_count):
        first = instruction.decoded.destination[slot] >> 2
        for i in range(register_count(wave, instruction.decoded.destination[slot], instruction.decoded.destination_bytes[slot])):
            if first + i < <uint32_t>scalar_registers:
                history.scalar_write[first + i] = event[0]


cdef bint _writes_part(const Instruction *instruction) noexcept nogil:
    """Whether a vector instruction puts its result elsewhere than into the low bits."""
    cdef uint32_t opcode = instruction.decoded.opcode
    if instruction.decoded.format & format_sdwa:
        return not instruction.decoded.format & format_vopc and modifier_sdwa_dst_sel(instruction.decoded.modifiers) & 3 != sdwa_dword
    if not instruction.decoded.format & format_vop3 or instruction.decoded.format & format_vop3p:
        return False
    if opcode == <uint32_t>op_v_cvt_sr_fp8_f32 or opcode == <uint32_t>op_v_cvt_sr_bf8_f32:
        return modifier_opsel(instruction.decoded.modifiers) & 12 != 0      # which byte
    return modifier_opsel(instruction.decoded.modifiers) & 8 != 0


cdef void history_account(History *history, const Wave *wave, const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    cdef Event event
    if history.now > restart:
        history_clear(history)
    history.now += <int32_t>(instruction.decoded.immediate & 15) + 1 if instruction.decoded.opcode == <int>op_s_nop else 1
    event.time = history.now
    event.opcode = instruction.decoded.opcode
    event.pc = instruction.pc
    event.passes = event.unit = event.first = event.count = 0
    event.partial = instruction.unit == unit_valu and _writes_part(instruction)
    _note_registers(history, wave, instruction, gfx_level, &event)
    if _is_memory(instruction) and gfx_level >= 70:
        _note_stored(history, wave, instruction, &event)
    elif gfx_level > 90 and instruction.unit == unit_valu:
        matrix_account(history, wave, instruction, gfx_level, &event)
    elif format_is_salu(instruction.decoded.format):
        _note_scalar(history, instruction, &event)
        if gfx_level < 70:
            _note_scalar_write(history, wave, instruction, &event)
