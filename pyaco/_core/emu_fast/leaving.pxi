# How lanes leave a loop, and what is left of that where none does; part of block.pyx.
#
#     s_mov_b64 saved, exec
#     v_cmpx ...                        the lanes that leave: of most turns, none
#     ...                               what they do before: vector instructions, their bits put into masks
#     s_and_not1_b64 saved, saved, exec
#     s_cbranch_scc0 out                of the last lanes
#     s_mov_b64 exec, saved
#
# Where no lane leaves, all of this changes nothing but SCC. The block of the comparison then goes on with the one behind: see `step_end_leaving`.


cdef bint _is_of_exec(const Instruction *instruction, uint32_t slot) noexcept nogil:
    return instruction.source[slot].kind == operand_sgpr and instruction.source[slot].index == sgpr_exec and not instruction.source[slot].half


cdef uint32_t _mask_result(const Instruction *instruction) noexcept nogil:
    """The SGPR of a result that is a lane mask, or `register_none`."""
    cdef uint32_t sgpr = instruction.decoded.destination[0] >> 2
    return sgpr if instruction.decoded.destination_count and sgpr < kept_sgprs else register_none


cdef uint32_t _copied_exec(const Blocks *blocks, const vector[const Instruction *] *instructions) noexcept nogil:
    """The SGPR that holds EXEC at the end of a run of instructions, of which the last one changes EXEC; else `register_none`."""
    cdef bint wide = blocks.machine.wave_size > <uint32_t>row_lanes
    cdef const Instruction *instruction
    cdef size_t index = instructions.size() - 1
    cdef uint32_t sgpr
    while index > 0:
        index -= 1
        instruction = instructions[0][index]
        if instruction.operation == NULL and instruction.handler != handler_of(op_s_nop):
            break                                           # it may write any SGPR
        if instruction.decoded.opcode == (<int>op_s_mov_b64 if wide else <int>op_s_mov_b32) and _is_of_exec(instruction, 0):
            sgpr = _mask_result(instruction)
            return register_none if sgpr == register_none or _is_written(blocks, instructions, index + 1, sgpr) else sgpr
    return register_none


cdef bint _is_written(const Blocks *blocks, const vector[const Instruction *] *instructions, size_t begin, uint32_t mask) noexcept nogil:
    cdef uint32_t size = blocks.machine.wave_size
    cdef const Instruction *instruction
    cdef size_t index
    cdef uint32_t number, first
    for index in range(begin, instructions.size()):
        instruction = instructions[0][index]
        for number in range(instruction.decoded.destination_count):
            first = instruction.decoded.destination[number] >> 2
            if first < mask + size // 32 and mask < first + _destination_dwords(instruction, number, size):
                return True
    return False


cdef uint32_t _narrowed_mask(const Blocks *blocks, const vector[Draft] *steps) noexcept nogil:
    """The mask whose lanes are those of a block's branch, where nothing but SCC changes without active lanes; else `register_none`."""
    cdef bint wide = blocks.machine.wave_size > <uint32_t>row_lanes
    cdef const Instruction *instruction
    cdef uint32_t narrowed = register_none
    cdef size_t index
    for index in range(steps.size()):
        if not steps[0][index].scalar:
            continue
        instruction = steps[0][index].hot.instruction
        if (_mask_result(instruction) == register_none or instruction.source[0].kind != operand_sgpr or not _is_of_exec(instruction, 1)
                or instruction.source[0].index != _mask_result(instruction) or instruction.source[0].half):
            return register_none
        if instruction.decoded.opcode == (<int>op_s_andn2_b64 if wide else <int>op_s_andn2_b32):
            narrowed = _mask_result(instruction)
        elif instruction.decoded.opcode == (<int>op_s_or_b64 if wide else <int>op_s_or_b32):
            narrowed = register_none
        else:
            return register_none
    return narrowed if steps.size() and steps.back().hot.instruction.decoded.opcode == <int>op_s_cbranch_scc0 else register_none


cdef uint32_t _restored_mask(const Blocks *blocks, const vector[Draft] *steps) noexcept nogil:
    """The SGPR that a block copies to EXEC, where it does nothing else; else `register_none`."""
    cdef bint wide = blocks.machine.wave_size > <uint32_t>row_lanes
    cdef const Instruction *instruction
    if steps.size() != 2 or not steps[0][0].hands_exec:
        return register_none
    instruction = steps[0][0].hot.instruction
    if (instruction.decoded.opcode != (<int>op_s_mov_b64 if wide else <int>op_s_mov_b32) or instruction.source[0].kind != operand_sgpr
            or instruction.source[0].half or instruction.decoded.destination[0] >> 2 != sgpr_exec):
        return register_none
    return instruction.source[0].index


cdef void _note_leaving(const Blocks *blocks, Block *block, const vector[Draft] *steps,
                        const vector[const Instruction *] *instructions) noexcept nogil:
    """Note which part of leaving a loop a block is."""
    block.copied_exec = block.narrowed = block.restored = register_none
    if steps.size() > 1 and steps.back().hot.function == <StepFunction>step_end_exec and steps[0][steps.size() - 2].makes_mask:
        block.copied_exec = _copied_exec(blocks, instructions)
    elif block.idle != NULL and steps.back().leaves:
        block.narrowed = _narrowed_mask(blocks, steps)
        block.restored = _restored_mask(blocks, steps)
    if block.copied_exec != register_none:
        block.steps[0][block.step_count - 1].function = <StepFunction>step_end_leaving
