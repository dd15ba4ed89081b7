# Steps of loads, stores, LDS atomics and moves between memory and LDS, made from their instructions; part of block.pyx.
from features cimport has_addressable_scratch, has_ds_cmpstore, has_half_wave_permutes, has_signed_vector_offsets, has_wide_lds_loads
from pyaco._core.common.machine cimport format_ds, format_flat, format_mubuf, format_scratch, register_none
from pyaco._core.emu.access cimport access_atomic, access_load, access_store, access_to_lds, atomic_cmpswap, atomic_fcmpswap, half_none
from pyaco._core.emu.global_memory cimport execute_buffer, execute_flat, execute_smem, memory_operation
from pyaco._core.emu.lds cimport execute_lds, swizzle_lane

cdef bint _bind_register(Draft *step, uint32_t slot, uint16_t register_) noexcept nogil:
    step.hot.base[slot] = base_vgpr
    step.hot.offset[slot] = ((register_ >> 2) - 256) * row_bytes
    return register_ >= 1024 and register_ != register_none


cdef bint _bind_scalar_offset(Builder *builder, Draft *step, const Instruction *instruction, uint32_t slot) noexcept nogil:
    """The scalar offset of a buffer or scalar access, in source 2 of the step."""
    cdef Source none
    if slot >= instruction.decoded.source_count or instruction.decoded.source[slot] == register_none:
        memset(&none, 0, sizeof(Source))
        none.kind = operand_value
        return _bind_scalar_source(builder, step, 2, &none, False)
    return _bind_scalar_source(builder, step, 2, &instruction.source[slot], False)


cdef bint _bind_data(Draft *step, const Instruction *instruction, uint16_t data) noexcept nogil:
    """The registers that are loaded or stored."""
    if step.rest.memory.access == access_store:
        return _bind_register(step, 1, data)
    step.hot.destination = ((instruction.decoded.destination[0] >> 2) - 256) * row_bytes
    return instruction.decoded.destination_count > 0 and instruction.decoded.destination[0] >= 1024


cdef bint _bind_atomic_data(Draft *step, const Instruction *instruction, uint16_t data) noexcept nogil:
    """The operand, what it is compared with, and where the old value goes, if anywhere."""
    cdef bint compares = step.rest.memory.atomic == atomic_cmpswap or step.rest.memory.atomic == atomic_fcmpswap
    step.rest.returns = instruction.decoded.destination_count > 0 and instruction.decoded.destination[0] != register_none
    if step.rest.returns:
        if instruction.decoded.destination[0] < 1024:
            return False
        step.hot.destination = ((instruction.decoded.destination[0] >> 2) - 256) * row_bytes
    return _bind_register(step, 1, data) and _bind_register(step, 3, data + (step.rest.memory.bytes if compares else 0))


cdef const Transfers *_transfers_of(const Builder *builder, const Draft *step) noexcept nogil:
    cdef const MemorySteps *memory = builder.blocks.kernels.memory
    return &memory.dword if step.rest.memory.bytes == 4 and step.rest.memory.dwords == 1 and not step.rest.memory.pair else &memory.general


cdef bint _bind_scratch(Builder *builder, Draft *step, const Instruction *instruction) noexcept nogil:
    """Addresses are in VGPRs, an SGPR, both, or there is only the offset of the instruction."""
    cdef const MemorySteps *memory = builder.blocks.kernels.memory
    cdef uint16_t saddr = instruction.decoded.source[1] if instruction.decoded.source_count > 1 else <uint16_t>register_none
    if step.rest.memory.add_lane or (step.rest.memory.access != access_load and step.rest.memory.access != access_store):
        return False
    step.hot.function = memory.scratch_load if step.rest.memory.access == access_load else memory.scratch_store
    step.hot.sgpr = <uint16_t>register_none
    if saddr != register_none and saddr >> 2 != sgpr_null:
        step.hot.sgpr = saddr >> 2
        if step.hot.sgpr > sgpr_m0:
            return False
    if instruction.decoded.source[0] == register_none:
        if not _bind_constant(builder, step, 0, 0, False):
            return False
    elif not _bind_register(step, 0, instruction.decoded.source[0]):
        return False
    return _bind_data(step, instruction, instruction.decoded.source[2])


cdef bint _scales_offset(const Builder *builder, const Instruction *instruction) noexcept nogil:
    return (modifier_cache_scale_offset(instruction.decoded.modifiers) != 0
            and has_signed_vector_offsets(builder.blocks.machine.gfx_level))


cdef bint _bind_flat(Builder *builder, Draft *step, const Instruction *instruction) noexcept nogil:
    cdef uint16_t saddr = instruction.decoded.source[1] if instruction.decoded.source_count > 1 else <uint16_t>register_none
    cdef uint16_t family = instruction.decoded.format & 0x7f
    cdef const Transfers *transfers = _transfers_of(builder, step)
    if _scales_offset(builder, instruction) or (family == format_flat and has_addressable_scratch(builder.blocks.machine.gfx_level)):
        return False
    if family == format_scratch:
        return _bind_scratch(builder, step, instruction)
    if step.rest.memory.add_lane:
        return False
    if family == format_flat:                                               # may access LDS or scratch
        transfers = &builder.blocks.kernels.memory.general
    step.hot.function = transfers.global_load if step.rest.memory.access == access_load else transfers.global_store
    if step.rest.memory.access == access_to_lds:
        step.hot.function = builder.blocks.kernels.memory.global_to_lds
    step.hot.wide_address = address_offset
    if saddr == register_none or saddr >> 2 == sgpr_null or family == format_flat:
        step.hot.wide_address = address_pair
    elif has_signed_vector_offsets(builder.blocks.machine.gfx_level):
        step.hot.wide_address = address_signed_offset
    if step.hot.wide_address != address_pair:
        step.hot.sgpr = saddr >> 2
        if step.hot.sgpr >= sgpr_m0 - 1:
            return False
    if step.rest.memory.access == access_atomic:
        step.hot.function = builder.blocks.kernels.memory.global_atomic
        return _bind_register(step, 0, instruction.decoded.source[0]) and _bind_atomic_data(step, instruction, instruction.decoded.source[2])
    if step.rest.memory.access == access_to_lds:
        return step.rest.memory.bytes == 4 and family != format_flat and _bind_register(step, 0, instruction.decoded.source[0])
    return _bind_register(step, 0, instruction.decoded.source[0]) and _bind_data(step, instruction, instruction.decoded.source[2])


cdef bint _bind_buffer(Builder *builder, Draft *step, const Instruction *instruction) noexcept nogil:
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef const Transfers *transfers = _transfers_of(builder, step)
    cdef bint to_lds = modifier_lds(modifiers) or step.rest.memory.access == access_to_lds
    if instruction.decoded.format & 0x7f != format_mubuf or modifier_idxen(modifiers) or modifier_tfe(modifiers) or modifier_addr64(modifiers):
        return False
    if to_lds and (step.rest.memory.access in (access_store, access_atomic) or step.rest.memory.bytes != 4
                   or instruction.decoded.opcode == <int>op_buffer_load_lds_format_x
                   or (step.rest.memory.dwords != 1 and not has_wide_lds_loads(builder.blocks.machine.gfx_level))):
        return False
    step.hot.function = transfers.buffer_load if step.rest.memory.access == access_load else transfers.buffer_store
    step.hot.sgpr = instruction.decoded.source[0] >> 2
    if step.hot.sgpr >= sgpr_m0 - 3 or not _bind_scalar_offset(builder, step, instruction, 2):
        return False
    if not modifier_offen(modifiers):
        if not _bind_constant(builder, step, 0, 0, False):
            return False
    elif not _bind_register(step, 0, instruction.decoded.source[1]):
        return False
    if to_lds:
        step.hot.function = builder.blocks.kernels.memory.buffer_to_lds
        return True
    if step.rest.memory.access == access_atomic:
        step.hot.function = builder.blocks.kernels.memory.buffer_atomic
        return _bind_atomic_data(step, instruction, instruction.decoded.source[3])
    return _bind_data(step, instruction, instruction.decoded.source[3])


cdef bint _bind_lds(Builder *builder, Draft *step, const Instruction *instruction) noexcept nogil:
    cdef const MemorySteps *memory = builder.blocks.kernels.memory
    cdef uint16_t first = instruction.decoded.source[1]
    cdef uint16_t second = instruction.decoded.source[2] if instruction.decoded.source_count > 2 else first
    cdef bint compares = step.rest.memory.atomic == atomic_cmpswap or step.rest.memory.atomic == atomic_fcmpswap
    if step.rest.memory.add_lane or step.rest.memory.second or not _bind_register(step, 0, instruction.decoded.source[0]):
        return False
    if step.rest.memory.access == access_load:
        step.hot.function = _transfers_of(builder, step).lds_load
        return _bind_data(step, instruction, first)
    if step.rest.memory.access == access_store:
        step.hot.function = memory.lds_store_pair if step.rest.memory.pair else _transfers_of(builder, step).lds_store
        return _bind_register(step, 1, first) and (not step.rest.memory.pair or _bind_register(step, 3, second))
    if step.rest.memory.pair or (step.rest.memory.returns and not _bind_data(step, instruction, first)):
        return False
    step.rest.returns = step.rest.memory.returns
    step.hot.function = memory.lds_atomic
    if compares and not has_ds_cmpstore(builder.blocks.machine.gfx_level):  # data registers in the opposite order
        first, second = second, first
    return _bind_register(step, 1, first) and _bind_register(step, 3, second)


cdef bint _add_transposed(Builder *builder, const Instruction *instruction) noexcept nogil:
    """DS_READ_B64_TR of 16 and 8 bits."""
    cdef const MemorySteps *memory = builder.blocks.kernels.memory
    cdef bint wide = instruction.decoded.opcode == <int>op_ds_read_b64_tr_b16
    cdef Draft step
    if memory == NULL or not (wide or instruction.decoded.opcode == <int>op_ds_read_b64_tr_b8) or _is_gds(instruction):
        return False
    memset(&step, 0, sizeof(Draft))
    step.hot.function = memory.lds_transpose16 if wide else memory.lds_transpose8
    step.hot.instruction = instruction
    step.hot.immediate = instruction.decoded.immediate
    step.rest.memory = memory_operation(instruction.decoded.opcode)
    if not _bind_register(&step, 0, instruction.decoded.source[0]) or not _bind_data(&step, instruction, instruction.decoded.destination[0]):
        return False
    builder.steps.push_back(step)
    return True


cdef uint32_t _swizzle_row(Blocks *blocks, uint32_t offset) noexcept nogil:
    """The offset of a row with four times the lane that each lane reads by DS_SWIZZLE; 0: the pool is full, or it means nothing."""
    cdef uint64_t key = offset | <uint64_t>1 << 49
    cdef uint32_t *row
    cdef int lane
    if blocks.selections.count(key):
        return blocks.selections[0][key]
    if blocks.pool_count + 1 > pool_rows or swizzle_lane(offset, 0) < 0:
        return 0
    row = <uint32_t *>(blocks.pool + blocks.pool_count * row_bytes)
    for lane in range(<int>max_lanes):
        row[lane] = 4 * <uint32_t>swizzle_lane(offset, lane)
    blocks.selections[0][key] = blocks.pool_count * row_bytes
    blocks.pool_count += 1
    return (blocks.pool_count - 1) * row_bytes


cdef bint _add_permutation(Builder *builder, const Instruction *instruction) noexcept nogil:
    """DS_BPERMUTE, DS_PERMUTE, DS_SWIZZLE."""
    cdef const MemorySteps *memory = builder.blocks.kernels.memory
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef bint everywhere = opcode == <uint32_t>op_ds_bpermute_fi_b32
    cdef bint pushes = opcode == <uint32_t>op_ds_permute_b32
    cdef bint swizzles = opcode == <uint32_t>op_ds_swizzle_b32
    cdef Draft step
    if memory == NULL or not (everywhere or pushes or swizzles or opcode == <uint32_t>op_ds_bpermute_b32) or _is_gds(instruction):
        return False
    memset(&step, 0, sizeof(Draft))
    step.hot.function = memory.push if pushes else memory.permute
    step.hot.instruction = instruction
    step.rest.lane_group_mask = min(<uint32_t>32 if swizzles or has_half_wave_permutes(builder.blocks.machine.gfx_level) else 64,
                                    builder.blocks.machine.wave_size) - 1
    step.rest.reads_inactive = everywhere
    step.hot.destination_base = base_vgpr
    step.hot.destination = ((instruction.decoded.destination[0] >> 2) - 256) * row_bytes
    if instruction.decoded.destination_count == 0 or instruction.decoded.destination[0] < 1024:
        return False
    if swizzles:
        step.hot.base[0] = base_pool
        step.hot.offset[0] = _swizzle_row(builder.blocks, instruction.decoded.immediate & 0xffff)
        if step.hot.offset[0] == 0 or not _bind_register(&step, 1, instruction.decoded.source[0]):
            return False
    else:
        step.hot.immediate = instruction.decoded.immediate
        if not _bind_register(&step, 0, instruction.decoded.source[0]) or not _bind_register(&step, 1, instruction.decoded.source[1]):
            return False
    builder.steps.push_back(step)
    return True


cdef bint _bind_scalar_memory(Builder *builder, Draft *step, const Instruction *instruction) noexcept nogil:
    step.hot.function = builder.blocks.kernels.memory.scalar_load
    step.hot.sgpr = instruction.decoded.source[0] >> 2
    step.hot.destination = instruction.decoded.destination[0] >> 2
    if _scales_offset(builder, instruction):
        return False
    return (step.rest.memory.access == access_load and step.rest.memory.bytes == 4
            and step.hot.sgpr < sgpr_m0 - (3 if step.rest.memory.buffered else 1) and step.hot.destination + step.rest.memory.dwords <= sgpr_m0
            and _bind_scalar_offset(builder, step, instruction, 1))


cdef inline bint _is_gds(const Instruction *instruction) noexcept nogil:
    """Whether an instruction accesses GDS, which all workgroups share."""
    return instruction.decoded.format & 0x7f == format_ds and modifier_gds(instruction.decoded.modifiers) != 0


cdef bint _add_memory(Builder *builder, const Instruction *instruction) noexcept nogil:
    cdef Draft step
    cdef bint bound = False
    memset(&step, 0, sizeof(Draft))
    step.hot.instruction = instruction
    step.rest.memory = memory_operation(instruction.decoded.opcode)
    step.hot.immediate = instruction.decoded.immediate
    if step.rest.memory.masked or step.rest.memory.scaled or _is_gds(instruction):
        return False
    if step.rest.memory.half != half_none or step.rest.memory.access not in (
            access_load, access_store, access_atomic, access_to_lds):
        return False
    if step.rest.memory.access == access_atomic and instruction.handler == execute_smem:
        return False
    if instruction.handler == execute_flat:
        bound = _bind_flat(builder, &step, instruction)
    elif instruction.handler == execute_buffer:
        bound = _bind_buffer(builder, &step, instruction)
    elif instruction.handler == execute_lds:
        bound = _bind_lds(builder, &step, instruction)
    elif instruction.handler == execute_smem:
        bound = _bind_scalar_memory(builder, &step, instruction)
    if bound:
        builder.steps.push_back(step)
    return bound
