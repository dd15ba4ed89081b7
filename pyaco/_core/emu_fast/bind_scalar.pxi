# Steps of scalar instructions; part of block.pyx.
from libc.stdint cimport int16_t, int32_t

from pyaco._core.emu_fast.scalar cimport scalar_step_of


cdef bint _bind_scalar_source(Builder *builder, Draft *step, uint32_t slot, const Source *source, bint wide) noexcept nogil:
    if source.kind == operand_value:
        if not _bind_constant(builder, step, slot, source.value, wide):
            return False
        if wide and <uint32_t>source.value != <uint32_t>(source.value >> 32):
            step.hot.offset[slot] += 2 * row_bytes
        return True
    if source.kind != operand_sgpr or source.half:
        return False
    if wide and not source.index < sgpr_m0 - 1 and source.index != sgpr_exec:
        return False
    step.hot.base[slot] = base_sgpr
    step.hot.offset[slot] = 4 * source.index
    return True


cdef bint _hands_exec(const Draft *step, uint32_t wave_size) noexcept nogil:
    """Whether what a scalar step that writes EXEC hands on (`hand_exec`) is all of EXEC."""
    cdef const LaneOperation *operation = step.rest.operation
    cdef uint8_t own = type_exec32 if wave_size == <uint32_t>row_lanes else type_exec64
    cdef uint32_t index
    for index in range(operation.result_count):
        if type_exec32 <= operation.result_type[index] <= type_exec64:
            return operation.result_type[index] == own and step.hot.destination < <uint32_t>sgpr_exec - 1
    for index in range(operation.result_count):
        if operation.result_type[index] != type_scc:
            return step.hot.destination == <uint32_t>sgpr_exec and is_wide(operation.result_type[index]) == (wave_size > <uint32_t>row_lanes)
    return False


cdef bint _add_scalar(Builder *builder, const Instruction *instruction) noexcept nogil:
    cdef const LaneOperation *operation = instruction.operation
    cdef Draft step
    cdef uint32_t index
    cdef uint32_t slot = 0
    cdef uint32_t next_destination = 0
    cdef uint8_t kind
    memset(&step, 0, sizeof(Draft))
    step.hot.function = scalar_step_of(instruction.decoded.opcode)
    if step.hot.function == NULL:
        return False
    step.hot.instruction = instruction
    step.rest.operation = operation
    step.hot.immediate = <uint32_t><int32_t><int16_t>instruction.decoded.immediate
    for index in range(operation.source_count):
        kind = operation.source_type[index] & ~type_old
        if type_scc <= kind <= type_imm:
            continue
        if not _bind_scalar_source(builder, &step, slot, &instruction.source[slot], is_wide(kind)):
            return False
        slot += 1
    for index in range(operation.result_count):
        kind = operation.result_type[index]
        if type_scc <= kind <= type_imm:
            continue
        step.hot.destination = instruction.decoded.destination[next_destination] >> 2
        next_destination += 1
        if step.hot.destination >= 128 or step.hot.destination == sgpr_null:
            return False
        if is_wide(kind) and not step.hot.destination < sgpr_m0 - 1 and step.hot.destination != sgpr_exec:
            return False
    step.scalar = True
    step.sets_exec = _writes_exec(instruction, builder.blocks.machine.wave_size)
    step.hands_exec = step.sets_exec and _hands_exec(&step, builder.blocks.machine.wave_size)
    if instruction.decoded.opcode == <int>op_s_mov_b64 and step.hot.base[0] == base_sgpr and step.hot.offset[0] == 4 * <uint32_t>sgpr_exec:
        step.hot.function = step_save_exec
        step.hands_exec = False
    builder.steps.push_back(step)
    return True
