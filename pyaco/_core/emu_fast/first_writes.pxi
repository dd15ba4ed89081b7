# Which VGPRs the code from a block on writes, in all active lanes, before anything reads them; part of block.pyx.
#
# What a wave starts with in these is seen of idle lanes alone: active ones need not be filled for each wave that begins with the block. The search
# ends at the first instruction whose registers are not all named by its operands (lane moves, LDS, atomics, images before GFX10): those behind it are
# filled, as is what an instruction writes in part (halves, DPP, SDWA).
from pyaco._core.emu.access cimport MemoryOperation

cdef enum:
    first_write_limit = 512           # instructions that are looked at


cdef bint _names_vgpr(const Decoded *decoded) noexcept nogil:
    cdef uint32_t i
    for i in range(decoded.source_count):
        if decoded.source[i] != register_none and decoded.source[i] >> 2 >= 256:
            return True
    for i in range(decoded.destination_count):
        if decoded.destination[i] != register_none and decoded.destination[i] >> 2 >= 256:
            return True
    return False


cdef void _mark_rows(uint64_t *rows, uint32_t register_, uint32_t count) noexcept nogil:
    """Mark VGPRs from one on; the number of another register is left out."""
    cdef uint32_t row
    if register_ == register_none or register_ >> 2 < 256:
        return
    for row in range((register_ >> 2) - 256, min((register_ >> 2) - 256 + count, <uint32_t>first_write_words * 64)):
        rows[row >> 6] |= <uint64_t>1 << (row & 63)


cdef uint32_t _image_results(const Instruction *instruction) noexcept nogil:
    """Registers that an image instruction writes as a whole; 0: none."""
    cdef uint32_t flags = opcode_image[instruction.decoded.opcode]
    cdef uint64_t m = instruction.decoded.modifiers
    if flags & image_flag_store or modifier_d16(m):
        return 0
    return 4 if flags & image_flag_gather else max(<uint32_t>1, popcount(modifier_dmask(m)))


cdef bint _is_plain_access(const Instruction *instruction) noexcept nogil:
    """Whether an instruction loads whole registers from memory, or stores them."""
    cdef const MemoryOperation *memory = memory_operation(instruction.decoded.opcode)
    cdef uint64_t m = instruction.decoded.modifiers
    return ((instruction.handler == execute_buffer or instruction.handler == execute_flat) and memory.half == half_none
            and (memory.access == access_load or memory.access == access_store) and not modifier_lds(m) and not modifier_tfe(m))


cdef bint _has_plain_registers(const Blocks *blocks, const Instruction *instruction) noexcept nogil:
    """Whether operands name all VGPRs that an instruction reads and writes."""
    cdef uint64_t m = instruction.decoded.modifiers
    cdef int opcode = instruction.decoded.opcode
    if instruction.handler == execute_vector or instruction.handler == execute_dual or _is_plain_access(instruction):
        return True
    return (instruction.handler == execute_image and blocks.machine.gfx_level >= 100 and not opcode_image[opcode] & image_flag_atomic
            and not modifier_image_tfe(m) and not modifier_lwe(m) and opcode != <int>op_image_get_resinfo and opcode != <int>op_image_msaa_load
            and opcode != <int>op_image_get_lod)


cdef void _mark_accumulator(const Decoded *decoded, uint32_t number, const LaneOperation *operation, uint64_t *read) noexcept nogil:
    """Mark the destination of half of a dual instruction if it is a source as well, which operands do not say."""
    cdef uint32_t slot
    for slot in range(operation.source_count):
        if operation.source_type[slot] & type_old:
            _mark_rows(read, decoded.destination[number], 1)


cdef void _note_instruction(const Instruction *instruction, uint64_t *read, uint64_t *written) noexcept nogil:
    cdef const Decoded *decoded = &instruction.decoded
    cdef uint64_t made[first_write_words]
    cdef uint32_t i
    for i in range(decoded.source_count):
        _mark_rows(read, decoded.source[i], (max(<uint32_t>4, <uint32_t>decoded.source_bytes[i]) + 3) // 4)
    if instruction.handler == execute_dual:
        _mark_accumulator(decoded, 0, instruction.operation, read)
        _mark_accumulator(decoded, 1, instruction.operation_y, read)
    memset(made, 0, sizeof(made))
    if instruction.handler == execute_image:
        _mark_rows(made, decoded.destination[0], _image_results(instruction))
    elif not decoded.format & lane_formats:
        for i in range(decoded.destination_count):
            if decoded.destination_bytes[i] >= 4 and decoded.destination_bytes[i] & 3 == 0:
                _mark_rows(made, decoded.destination[i], decoded.destination_bytes[i] // 4)
    for i in range(<uint32_t>first_write_words):
        written[i] |= made[i] & ~read[i]
    for i in range(decoded.destination_count):              # and what it writes in part
        _mark_rows(read, decoded.destination[i], (max(<uint32_t>4, <uint32_t>decoded.destination_bytes[i]) + 3) // 4)


cdef bint _goes_straight_on(const Blocks *blocks, const Instruction *instruction) noexcept nogil:
    """Whether the next instruction follows, with the same EXEC."""
    if instruction.operation == NULL and (format_is_salu(instruction.decoded.format) or _reads_a_clock(instruction.decoded.opcode)):
        return instruction.handler == handler_of(op_s_nop)
    return not waits_for_dispatch(&instruction.decoded) and not _writes_exec(instruction, blocks.machine.wave_size)


cdef void find_first_writes(Blocks *blocks, Block *block) noexcept nogil:
    cdef uint64_t read[first_write_words]
    cdef uint64_t pc = block.pc
    cdef const Instruction *instruction
    cdef uint32_t index
    memset(read, 0, sizeof(read))
    block.searched = True
    if blocks.machine.shared_vgpr != 0:
        return
    for index in range(<uint32_t>first_write_limit):
        instruction = fetch(blocks.code, blocks.machine, pc, block.banks)
        if instruction == NULL or instruction.decoded.opcode == <int>op_invalid or instruction.handler == NULL:
            return
        if _names_vgpr(&instruction.decoded):
            if not _has_plain_registers(blocks, instruction):
                return
            _note_instruction(instruction, read, block.written_first)
        if not _goes_straight_on(blocks, instruction):
            return
        pc += 4 * <uint64_t>instruction.decoded.dwords
