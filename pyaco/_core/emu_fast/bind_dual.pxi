# Steps of both halves of dual instructions (VOPD); part of block.pyx.
from pyaco._core.common.machine cimport format_vop3

cdef bint _add_half_of_dual(Builder *builder, const Instruction *instruction, uint32_t number, bint deferred) noexcept nogil:
    """One half of VOPD; `deferred`: its result stays in the pool until the other half has read its sources."""
    cdef const LaneOperation *operation = instruction.operation_y if number else instruction.operation
    cdef uint32_t opcode = modifier_vopd_opcode_y(instruction.decoded.modifiers) if number else instruction.decoded.opcode
    cdef uint16_t destination = instruction.decoded.destination[number]
    cdef uint32_t encoded = 3 if instruction.decoded.format & format_vop3 else 2
    cdef uint32_t negative = 0
    cdef Source source
    cdef Change change
    cdef Draft step
    cdef uint32_t slot
    if encoded == 3:
        negative = modifier_neg_hi(instruction.decoded.modifiers) if number else modifier_neg(instruction.decoded.modifiers)
    memset(&step, 0, sizeof(Draft))
    step.hot.function = builder.blocks.kernels.vector[opcode]
    step.hot.instruction = instruction
    step.rest.operation = operation
    if is_wide(operation.result_type[0]):
        return False
    if step.hot.function == NULL or (operation.result_type[0] == type_f32 and not _is_float(operation.source_type[0])):
        return False                                        # dot products may fall back on the reference engine, which would execute both halves
    for slot in range(operation.source_count):
        memset(&source, 0, sizeof(Source))
        if slot < encoded and not operation.source_type[slot] & type_old and instruction.decoded.source[encoded * number + slot] != register_none:
            source = instruction.source[encoded * number + slot]
        elif operation.source_type[slot] & type_old:
            source.kind = operand_vgpr
            source.index = (destination >> 2) - 256
        elif operation.source_type[slot] == type_mask:
            source.kind = operand_sgpr
            source.index = sgpr_vcc
        else:
            source.kind = operand_value
            source.value = instruction.decoded.immediate if encoded == 3 else instruction.decoded.literal
        change = _change_of(operation.source_type[slot], source.half, False, (negative >> slot) & 1)
        if not _bind_source(builder, &step, slot, operation.source_type[slot], &source, &change):
            return False
    if not _bind_results(&step, operation, &destination):
        return False
    if deferred:
        step.hot.destination_base = base_pool
        step.hot.destination = result_row * row_bytes
    _describe_step(builder, &step, opcode)
    builder.steps.push_back(step)
    return True


cdef bint _add_dual(Builder *builder, const Instruction *instruction) noexcept nogil:
    """VOPD: both halves read their sources before either writes."""
    cdef uint32_t slot, encoded
    cdef bint deferred = False
    cdef Draft copy
    if instruction.decoded.destination[0] == instruction.decoded.destination[1]:
        return False                                        # only the long form can do so
    encoded = 3 if instruction.decoded.format & format_vop3 else 2
    for slot in range(encoded):
        deferred = deferred or (instruction.source[encoded + slot].kind == operand_vgpr
                                and instruction.source[encoded + slot].index == (instruction.decoded.destination[0] >> 2) - 256)
    if (not _add_half_of_dual(builder, instruction, 0, deferred)
            or not _add_half_of_dual(builder, instruction, 1, False)):
        return False
    if deferred:
        memset(&copy, 0, sizeof(Draft))
        copy.hot.function = builder.blocks.kernels.rows.copy
        copy.hot.instruction = instruction
        copy.hot.base[0] = base_pool
        copy.hot.offset[0] = result_row * row_bytes
        copy.hot.destination_base = base_vgpr
        copy.hot.destination = ((instruction.decoded.destination[0] >> 2) - 256) * row_bytes
        copy.rows = True
        copy.row_slots = 1
        copy.chain = <uint8_t>chain_move
        builder.steps.push_back(copy)
    return True
