# Moves between groups of lanes, and operations on registers of several words that are no loops over independent lanes; part of control.pyx.
from modifiers cimport modifier_abs, modifier_clamp, modifier_neg, modifier_omod
from pyaco._core.emu.numbers cimport masked_sad_bytes

cdef int _permute_in_groups(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """V_PERMLANE_BCAST, _UP, _DOWN, _XOR: a lane of the same group, of as many lanes as the third operand says, a power of two; zero where there is
    none. Lanes count that are not active. (rocjitsu of ROCm/rocm-systems, which has no more to say of other widths than that they are all lanes.)"""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t *row = wave_vgpr(wave, _destination_of(instruction) - 256)
    cdef uint32_t selector = _scalar_source(wave, instruction, 1)
    cdef uint32_t width = _scalar_source(wave, instruction, 2)
    cdef uint32_t result[max_lanes]
    cdef uint32_t lane, position, other
    if width == 0 or width & (width - 1) or width > wave.lanes:
        width = wave.lanes
    for lane in range(wave.lanes):
        position = lane & (width - 1)
        if opcode == <uint32_t>op_v_permlane_bcast_b32:
            other = selector & (width - 1)
        elif opcode == <uint32_t>op_v_permlane_up_b32:
            other = position - selector if selector <= position else width
        elif opcode == <uint32_t>op_v_permlane_down_b32:
            other = position + selector if selector < width else width
        else:
            other = position ^ selector
        result[lane] = _lane_value(wave, instruction, (lane & ~(width - 1)) + other) if other < width else 0
    for lane in range(wave.lanes):
        if (exec_mask >> lane) & 1:
            row[lane] = result[lane]
    return stop_running


cdef int _look_up_elements(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """V_PERM_PK16_*: sixteen elements of 4, 6 or 8 bits, each chosen by four bits of the third source from a table of sixteen whose upper part is
    the first source (ROCm's tests of gfx1250)."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t width = 4 if opcode == <uint32_t>op_v_perm_pk16_b4_u4 else (6 if opcode == <uint32_t>op_v_perm_pk16_b6_u4 else 8)
    cdef uint32_t low = 1 if width == 4 else 2              # registers of the second source
    cdef uint32_t destination = _destination_of(instruction) - 256
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint64_t table[2]
    cdef uint64_t found[2]
    cdef uint64_t chosen
    cdef uint32_t words[4]
    cdef uint32_t lane, i, bit
    for lane in range(wave.lanes):
        if not (exec_mask >> lane) & 1:
            continue
        for i in range(width // 2):
            words[i] = _word_lane(wave, instruction, 1, i, lane) if i < low else _word_lane(wave, instruction, 0, i - low, lane)
        for i in range(width // 2, 4):
            words[i] = 0
        table[0] = words[0] | (<uint64_t>words[1] << 32)
        table[1] = words[2] | (<uint64_t>words[3] << 32)
        chosen = _wide_lane(wave, instruction, 2, lane)
        found[0] = found[1] = 0
        for i in range(16):
            bit = width * (<uint32_t>(chosen >> (4 * i)) & 15)
            _put_element(found, width * i, _element_at(table, bit, width))
        for i in range(width // 2):
            wave_vgpr(wave, destination + i)[lane] = <uint32_t>(found[i >> 1] >> (32 * (i & 1)))
    return stop_running


cdef inline uint64_t _element_at(const uint64_t *words, uint32_t bit, uint32_t width) noexcept nogil:
    cdef uint64_t value = words[bit >> 6] >> (bit & 63)
    if (bit & 63) + width > 64:
        value |= words[1] << (64 - (bit & 63))
    return value & ((<uint64_t>1 << width) - 1)


cdef inline void _put_element(uint64_t *words, uint32_t bit, uint64_t value) noexcept nogil:
    words[bit >> 6] |= value << (bit & 63)
    if bit < 64 and bit > 56:
        words[1] |= value >> (64 - bit)


cdef int _masked_sads(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """V_MQSAD_U32_U8: four masked sums of absolute differences, of bytes 0-3, 1-4, 2-5, 3-6 of the first source."""
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t destination = _destination_of(instruction) - 256
    cdef uint32_t sums[4]
    cdef uint64_t bytes_, sum_
    cdef bint clamp = modifier_clamp(instruction.decoded.modifiers)
    cdef uint32_t lane, reference, i
    for lane in range(wave.lanes):
        if not (exec_mask >> lane) & 1:
            continue
        bytes_ = _wide_lane(wave, instruction, 0, lane)
        reference = <uint32_t>_wide_lane(wave, instruction, 1, lane)
        for i in range(4):
            sum_ = <uint64_t>masked_sad_bytes(<uint32_t>(bytes_ >> (8 * i)), reference) + _word_lane(wave, instruction, 2, i, lane)
            sums[i] = 0xffffffffU if clamp and sum_ >> 32 else <uint32_t>sum_
        for i in range(4):
            wave_vgpr(wave, destination + i)[lane] = sums[i]
    return stop_running


cdef inline uint32_t _word_lane(const Wave *wave, const Instruction *instruction, uint32_t slot, uint32_t dword,
                                uint32_t lane) noexcept nogil:
    """A dword of a wide source; constants have one."""
    cdef const Source *source = &instruction.source[slot]
    if source.kind == operand_vgpr:
        return wave_vgpr(wave, source.index + dword)[lane]
    if source.kind == operand_value:
        return <uint32_t>source.value if dword == 0 else 0
    return read_scalar(wave, source.index + dword)


cdef inline uint64_t _wide_lane(const Wave *wave, const Instruction *instruction, uint32_t slot, uint32_t lane) noexcept nogil:
    return _word_lane(wave, instruction, slot, 0, lane) | (<uint64_t>_word_lane(wave, instruction, slot, 1, lane) << 32)


cdef int _move_pair(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """V_PK_MOV_B32: op_sel chooses the dword of the first source for the low register, of the second for the high one."""
    cdef uint32_t opsel = modifier_opsel(instruction.decoded.modifiers)
    cdef uint32_t destination = (instruction.decoded.destination[0] >> 2) - 256
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t lane, slot
    cdef uint32_t words[2]
    for lane in range(wave.lanes):
        if (exec_mask >> lane) & 1:
            for slot in range(2):
                words[slot] = _word_lane(wave, instruction, slot,
                                         (opsel >> slot) & 1 if instruction.source[slot].kind != operand_value else 0, lane)
            wave_vgpr(wave, destination)[lane] = words[0]
            wave_vgpr(wave, destination + 1)[lane] = words[1]
    return stop_running


cdef inline uint32_t _by_truth_table(uint32_t table, uint32_t a, uint32_t b, uint32_t c) noexcept nogil:
    """Bit 4 a + 2 b + c of the table, for every bit."""
    cdef uint32_t result = 0
    cdef uint32_t entry
    for entry in range(8):
        if (table >> entry) & 1:
            result |= (a if entry & 4 else ~a) & (b if entry & 2 else ~b) & (c if entry & 1 else ~c)
    return result


cdef int _combine_bits(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """V_BITOP3: the truth table is in neg, abs and omod; op_sel chooses halves, of the destination too, whose other half is kept."""
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint32_t table = modifier_neg(modifiers) | (modifier_abs(modifiers) << 3) | (modifier_omod(modifiers) << 6)
    cdef uint32_t opsel = modifier_opsel(modifiers)
    cdef bint halves = instruction.decoded.opcode != <int>op_v_bitop3_b32
    cdef uint32_t *row = wave_vgpr(wave, _destination_of(instruction) - 256)
    cdef uint64_t exec_mask = wave_exec(wave)
    cdef uint32_t lane, slot, value
    cdef uint32_t words[3]
    for lane in range(wave.lanes):
        if not (exec_mask >> lane) & 1:
            continue
        for slot in range(3):
            words[slot] = _word_lane(wave, instruction, slot, 0, lane)
            if halves and (opsel >> slot) & 1:
                words[slot] >>= 16
        value = _by_truth_table(table, words[0], words[1], words[2])
        if halves and opsel & 8:
            row[lane] = (row[lane] & 0xffff) | (value << 16)
        elif halves:
            row[lane] = (row[lane] & 0xffff0000U) | (value & 0xffff)
        else:
            row[lane] = value
    return stop_running
