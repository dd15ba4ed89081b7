# Packed operations: on two halves of a register, two registers, or two pairs of registers; part of vector.pyx.
cdef inline void _take_half(const Wave *wave, const uint32_t *row, bint high, uint8_t kind, Modifiers modify, uint32_t *values) noexcept nogil:
    """One half of each lane of a source of packed operations."""
    cdef uint32_t shift = 16 if high else 0
    cdef uint32_t lane
    cdef bint is_float = kind == type_f16 or kind == type_r16
    for lane in range(wave.lanes):
        values[lane] = (row[lane] >> shift) & 0xffff
    if is_float:
        _modify_narrow(values, wave.lanes, kind, modify, _flush_in(wave, kind) != 0)


cdef int _execute_packed(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """Packed halves, in VOP3P or a short encoding: the operation on both halves of each lane."""
    cdef const LaneOperation *operation = instruction.operation
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef bint full = (instruction.decoded.format & format_vop3p) != 0
    cdef uint64_t written = wave_exec(wave)
    cdef const uint32_t *rows[4]
    cdef uint32_t whole[4][max_lanes]
    cdef uint32_t buffers[4][max_lanes]
    cdef uint32_t results[2][max_lanes]
    cdef int8_t selection[max_lanes]
    cdef const int8_t *selected = NULL
    cdef Lanes lanes
    cdef Modifiers modify = Modifiers(0, 0)
    cdef uint32_t half, slot, lane, selector
    cdef uint8_t kind
    if instruction.decoded.format & (format_dpp16 | format_dpp8):
        written &= dpp_select(machine, wave, instruction, selection)
        selected = selection
    lanes.count = wave.lanes
    lanes.clamp = modifier_clamp(modifiers)
    lanes.neg = 0
    lanes.opsel = 0
    lanes.small = 0
    for slot in range(operation.source_count):
        rows[slot] = _fetch_narrow(wave, instruction, slot, type_u32, 0, modify, selected, whole[slot])
        selected = NULL                                     # DPP is for the first source
    for half in range(2):
        for slot in range(operation.source_count):
            kind = operation.source_type[slot] & ~type_old
            modify.neg = 0
            selector = half
            if full:
                selector = ((modifier_opsel_hi(modifiers) if half else modifier_opsel(modifiers)) >> slot) & 1
                modify.neg = ((modifier_neg_hi(modifiers) if half else modifier_neg(modifiers)) >> slot) & 1
            _take_half(wave, rows[slot], selector, kind, modify, buffers[slot])
            lanes.narrow[slot] = buffers[slot]
        lanes.result[0] = results[half]
        _run_lanes(wave, operation, &lanes)
        finish(wave, operation, &lanes, modifiers)
    for lane in range(wave.lanes):
        results[0][lane] = (results[0][lane] & 0xffff) | (results[1][lane] << 16)
    if instruction.decoded.format & format_sdwa:
        _write_sdwa(wave, (instruction.decoded.destination[0] >> 2) - 256, modifier_sdwa_dst_sel(modifiers), modifier_sdwa_dst_sext(modifiers),
                    results[0], written)
    else:
        _write_narrow(wave, (instruction.decoded.destination[0] >> 2) - 256, results[0], written)
    return 0


cdef int _execute_pair(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """Packed singles of CDNA: the operation on both registers of a pair; a constant is the same for both."""
    cdef const LaneOperation *operation = instruction.operation
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint32_t buffers[4][max_lanes]
    cdef uint32_t results[2][max_lanes]
    cdef Instruction view = instruction[0]
    cdef Lanes lanes
    cdef Modifiers modify
    cdef uint32_t half, slot
    modify.absolute = 0
    lanes.count = wave.lanes
    lanes.clamp = modifier_clamp(modifiers)
    lanes.neg = lanes.opsel = lanes.small = 0
    for half in range(2):
        for slot in range(operation.source_count):
            if instruction.source[slot].kind != operand_value:
                view.source[slot].index = instruction.source[slot].index + <uint16_t>(
                    ((modifier_opsel_hi(modifiers) if half else modifier_opsel(modifiers)) >> slot) & 1)
            modify.neg = ((modifier_neg_hi(modifiers) if half else modifier_neg(modifiers)) >> slot) & 1
            lanes.narrow[slot] = _fetch_narrow(wave, &view, slot, operation.source_type[slot], 0, modify, NULL, buffers[slot])
        lanes.result[0] = results[half]
        _run_lanes(wave, operation, &lanes)
        finish(wave, operation, &lanes, modifier_set_omod(modifiers, 0))
    for half in range(2):
        _write_narrow(wave, (instruction.decoded.destination[0] >> 2) - 256 + half, results[half], wave_exec(wave))
    return 0


cdef int _execute_wide_pair(Machine *machine, Wave *wave, const Instruction *instruction) noexcept nogil:
    """Packed operations of 64 bits (gfx1251): once for each pair of registers; a constant is the same for both, and op_sel changes nothing."""
    cdef const LaneOperation *operation = instruction.operation
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint32_t narrow[4][max_lanes]
    cdef uint64_t wide[4][max_lanes]
    cdef uint64_t results[2][max_lanes]
    cdef Instruction view = instruction[0]
    cdef Lanes lanes
    cdef Modifiers modify = Modifiers(0, 0)
    cdef uint32_t half, slot
    cdef uint8_t kind
    lanes.count = wave.lanes
    lanes.clamp = modifier_clamp(modifiers)
    lanes.neg = lanes.opsel = lanes.small = 0
    for half in range(2):
        for slot in range(operation.source_count):
            kind = operation.source_type[slot]
            if instruction.source[slot].kind == operand_vgpr or (instruction.source[slot].kind != operand_value
                                                                 and instruction.source[slot].index != sgpr_null):
                view.source[slot].index = instruction.source[slot].index + <uint16_t>(half * (2 if is_wide(kind) else 1))
            modify.neg = ((modifier_neg_hi(modifiers) if half else modifier_neg(modifiers)) >> slot) & 1
            if is_wide(kind):
                lanes.wide[slot] = _fetch_wide(wave, &view, slot, kind, modify, NULL, wide[slot])
            else:
                lanes.narrow[slot] = _fetch_narrow(wave, &view, slot, kind, 0, modify, NULL, narrow[slot])
        lanes.wide_result[0] = results[half]
        _run_lanes(wave, operation, &lanes)
        finish(wave, operation, &lanes, modifier_set_omod(modifiers, 0))
    for half in range(2):
        _write_wide(wave, (instruction.decoded.destination[0] >> 2) - 256 + 2 * half, results[half], wave_exec(wave))
    return 0
