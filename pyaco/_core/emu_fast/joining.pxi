# Which code small workgroups may run side by side, as the lanes of one wave; part of block.pyx.
#
# A workgroup of fewer lanes than a host's vectors hold costs as much as a whole wave. Where workgroups differ in nothing but their lanes and the
# first component of their id, several that follow each other in x are joined: the SGPR with that component is a row of the pool, and all else that is
# scalar they have in common. So the code may read that SGPR in vector operations alone, whose steps take rows, and may do nothing that tells lanes or
# waves apart: no lane masks nor EXEC, no moves between lanes, no LDS, no atomics. Accesses are those of buffers and images, which do not stray
# outside memory by the address of a lane.
from libcpp.unordered_set cimport unordered_set

cdef enum:
    joining_limit = 8192              # instructions that are looked at
    rows_of_constant = 8              # at most: with signs changed, and halves

# What is found out about an SGPR in code.
cdef struct SgprUses:
    unordered_set[uint64_t] *seen     # addresses
    unordered_set[uint64_t] *targets  # of branches
    unordered_set[uint64_t] *constants
    vector[uint64_t] *left            # to be looked at
    vector[uint64_t] *reads           # by what takes rows
    vector[uint64_t] *other_reads
    vector[uint64_t] *writes
    uint32_t sgpr


cdef bint _is_plain_operation(const LaneOperation *operation) noexcept nogil:
    """Whether an operation knows nothing of masks."""
    cdef uint32_t i
    if operation == NULL or operation.writes_exec:
        return False
    for i in range(operation.source_count):
        if operation.source_type[i] & ~type_old in (type_mask, type_exec32, type_exec64):
            return False
    for i in range(operation.result_count):
        if operation.result_type[i] in (type_mask, type_exec32, type_exec64):
            return False
    return True


cdef bint _numbers_lanes(int opcode) noexcept nogil:
    return opcode == <int>op_v_mbcnt_lo_u32_b32 or opcode == <int>op_v_mbcnt_hi_u32_b32 or opcode == <int>op_v_mbcnt_hi_u32_b32_e64


cdef bint _is_plain_vector(const Blocks *blocks, const Instruction *instruction) noexcept nogil:
    """Whether each lane's result, in VGPRs, depends on its own sources."""
    cdef uint32_t i
    for i in range(instruction.decoded.destination_count):
        if instruction.decoded.destination[i] < 1024:
            return False
    if instruction.handler == execute_dual and not _is_plain_operation(instruction.operation_y):
        return False
    return (_is_plain_operation(instruction.operation) and not instruction.decoded.format & lane_formats
            and not _numbers_lanes(instruction.decoded.opcode))


cdef bint _is_joinable_access(const Instruction *instruction) noexcept nogil:
    cdef const MemoryOperation *memory = memory_operation(instruction.decoded.opcode)
    cdef uint64_t m = instruction.decoded.modifiers
    if instruction.handler == execute_image:
        return not opcode_image[instruction.decoded.opcode] & image_flag_atomic
    if instruction.handler == execute_smem:
        return memory.access == access_load
    return (instruction.handler == execute_buffer and memory.access != access_atomic and memory.access != access_to_lds
            and not modifier_lds(m) and not modifier_addr64(m))


cdef bint _is_joinable(const Blocks *blocks, const Instruction *instruction) noexcept nogil:
    """Whether an instruction that goes on with the next does for joined workgroups what it does for each."""
    cdef uint32_t i
    for i in range(instruction.decoded.source_count):
        if instruction.source[i].kind == operand_special:
            return False
    if instruction.handler == execute_vector or instruction.handler == execute_dual:
        return _is_plain_vector(blocks, instruction)
    if instruction.handler == execute_scalar:
        return _is_plain_operation(instruction.operation) and not _reads_a_clock(instruction.decoded.opcode)
    return instruction.handler == handler_of(op_s_nop) or _is_joinable_access(instruction)


cdef bint _takes_rows(const Blocks *blocks, const Instruction *instruction) noexcept nogil:
    """Whether an instruction has steps that take a row for an SGPR and never call the reference engine: operations on integers."""
    cdef uint32_t opcode = instruction.decoded.opcode
    if instruction.handler == execute_dual:
        return (_has_integer_step(blocks, opcode) and _has_integer_step(blocks, modifier_vopd_opcode_y(instruction.decoded.modifiers))
                and instruction.decoded.destination[0] != instruction.decoded.destination[1])
    return instruction.handler == execute_vector and _has_integer_step(blocks, opcode)


cdef bint _has_integer_step(const Blocks *blocks, uint32_t opcode) noexcept nogil:
    cdef uint8_t kind = chain_operations[opcode]
    return (<uint8_t>chain_move <= kind < <uint8_t>chain_compare and blocks.kernels.vector[opcode] != NULL
            and earlier_operation(opcode, blocks.machine.gfx_level) == NULL)


cdef uint32_t _source_dwords(const Blocks *blocks, const Instruction *instruction, uint32_t slot) noexcept nogil:
    """At least as many SGPRs as a source has."""
    if instruction.handler == execute_image and slot < 2:
        return sampler_words if slot else image_words
    if instruction.handler == execute_buffer and slot == 0:
        return 4
    return max(<uint32_t>1, (<uint32_t>instruction.decoded.source_bytes[slot] + 3) // 4)


cdef void _note_constants(const Instruction *instruction, SgprUses *uses) noexcept nogil:
    cdef uint32_t slot
    for slot in range(instruction.decoded.source_count):
        if instruction.source[slot].kind == operand_value:
            uses.constants.insert(instruction.source[slot].value)
    if instruction.decoded.has_literal:
        uses.constants.insert(instruction.decoded.literal)


cdef bint _note_uses(const Blocks *blocks, const Instruction *instruction, SgprUses *uses) noexcept nogil:
    """Note whether an instruction reads and writes the SGPR. False: it has other operands that joined workgroups have not in common."""
    cdef uint32_t slot, first, count
    for slot in range(instruction.decoded.source_count):
        if instruction.decoded.source[slot] == register_none or instruction.decoded.source[slot] >= 512:
            continue
        first = instruction.decoded.source[slot] >> 2
        count = _source_dwords(blocks, instruction, slot)
        if first + count > <uint32_t>sgpr_m0 and first != <uint32_t>sgpr_null:
            return False
        if first <= uses.sgpr < first + count:
            (uses.reads if count == 1 and _takes_rows(blocks, instruction) else uses.other_reads).push_back(instruction.pc)
    for slot in range(instruction.decoded.destination_count):
        if instruction.decoded.destination[slot] == register_none or instruction.decoded.destination[slot] >= 512:
            continue
        first = instruction.decoded.destination[slot] >> 2
        count = _destination_dwords(instruction, slot, blocks.machine.wave_size)
        if first + count > <uint32_t>sgpr_m0 and first != <uint32_t>sgpr_null:
            return False
        if first <= uses.sgpr < first + count:
            uses.writes.push_back(instruction.pc)
    return True


cdef bint _note_branch(const Instruction *instruction, uint64_t following, SgprUses *uses) noexcept nogil:
    """Go on behind a branch whose condition joined workgroups have in common. False: it is none, nor the end."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint64_t target = following + <uint64_t>(<int64_t><int16_t>instruction.decoded.immediate * 4)
    if opcode == <uint32_t>op_s_endpgm:
        return True
    if opcode != <uint32_t>op_s_branch and opcode != <uint32_t>op_s_cbranch_scc0 and opcode != <uint32_t>op_s_cbranch_scc1:
        return False
    uses.targets.insert(target)
    uses.left.push_back(target)
    if opcode != <uint32_t>op_s_branch:
        uses.left.push_back(following)
    return True


cdef bint _walk_code(const Blocks *blocks, SgprUses *uses) noexcept nogil:
    """Look at all code that can be reached. False: some instruction is in the way."""
    cdef const Instruction *instruction
    cdef uint64_t pc
    while uses.left.size():
        pc = uses.left.back()
        uses.left.pop_back()
        if uses.seen.count(pc):
            continue
        uses.seen.insert(pc)
        instruction = fetch(blocks.code, blocks.machine, pc, 0)
        if (uses.seen.size() > <size_t>joining_limit or instruction == NULL or instruction.decoded.opcode == <int>op_invalid
                or instruction.handler == NULL):
            return False
        pc += 4 * <uint64_t>instruction.decoded.dwords
        if instruction.operation == NULL and format_is_salu(instruction.decoded.format) and instruction.handler != handler_of(op_s_nop):
            if not _note_branch(instruction, pc, uses):
                return False
            continue
        if not _is_joinable(blocks, instruction) or not _note_uses(blocks, instruction, uses):
            return False
        _note_constants(instruction, uses)
        uses.left.push_back(pc)
    # where the pool is full, the reference engine executes what has constants, and it does not see the row of ids
    return first_constant + <int>rows_of_constant * uses.constants.size() <= <size_t>pool_rows


cdef uint64_t _first_write(const Blocks *blocks, const SgprUses *uses, uint64_t entry) noexcept nogil:
    """The instruction, on the way from `entry` on which no branch leads nor ends, that is the first to write the SGPR; 0: there is none."""
    cdef const Instruction *instruction
    cdef uint64_t pc = entry
    cdef size_t i
    while uses.seen.count(pc) and not uses.targets.count(pc):
        for i in range(uses.writes.size()):
            if uses.writes[0][i] == pc:
                return pc
        instruction = fetch(blocks.code, blocks.machine, pc, 0)
        if instruction.operation == NULL and format_is_salu(instruction.decoded.format) and instruction.handler != handler_of(op_s_nop):
            return 0
        pc += 4 * <uint64_t>instruction.decoded.dwords
    return 0


cdef bint _may_read_row(const Blocks *blocks, const SgprUses *uses, Joined *joined) noexcept nogil:
    """Find where the SGPR holds what it holds at the entry, and whether all that read it there take rows."""
    cdef size_t i
    joined.first_read, joined.last_read = 0, <uint64_t>-1
    if uses.writes.size():
        joined.first_read, joined.last_read = joined.entry, _first_write(blocks, uses, joined.entry)
        if joined.last_read == 0:
            return False
    for i in range(uses.other_reads.size()):
        if joined.first_read <= uses.other_reads[0][i] <= joined.last_read:
            return False
    return True


cdef bint can_join(Code *code, Machine *machine, const Kernels *kernels, Joined *joined) noexcept nogil:
    cdef Blocks blocks
    cdef SgprUses uses
    cdef unordered_set[uint64_t] seen, targets, constants
    cdef vector[uint64_t] left, reads, other_reads, writes
    memset(<void *>&blocks, 0, sizeof(Blocks))
    blocks.code, blocks.machine, blocks.kernels = code, machine, kernels[0]
    uses.seen, uses.targets, uses.constants, uses.left = &seen, &targets, &constants, &left
    uses.reads, uses.other_reads, uses.writes = &reads, &other_reads, &writes
    uses.sgpr = joined.sgpr
    left.push_back(joined.entry)
    return _walk_code(&blocks, &uses) and _may_read_row(&blocks, &uses, joined)


cdef inline bint _is_row_of_ids(const Builder *builder, const Draft *step, uint32_t sgpr) noexcept nogil:
    """Whether an SGPR differs between joined workgroups at an instruction."""
    cdef const Joined *joined = &builder.blocks.joined
    return joined.count > 1 and sgpr == joined.sgpr and joined.first_read <= step.hot.instruction.pc <= joined.last_read


cdef uint32_t *row_of_ids(const Blocks *blocks) noexcept nogil:
    return <uint32_t *>(blocks.pool + <int>joined_row * <int>row_bytes)
