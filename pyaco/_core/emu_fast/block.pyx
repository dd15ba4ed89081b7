"""Makes blocks of steps from decoded instructions.

An instruction becomes a step of its own kind when its operands are plain: whole registers, constants, SGPRs, with abs and neg. Everything
else (DPP, SDWA, halves, clamp, packed and half-precision arithmetic, unusual memory operations) becomes a step that calls the
reference engine's function, which is right by definition.
"""
from libc.stdint cimport int16_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from isa_opcodes cimport *
from modifiers cimport *
from pyaco._core.emu.access cimport MemoryOperation, access_atomic, access_load, access_nothing, access_store, half_none
from pyaco._core.emu.global_memory cimport execute_buffer, execute_flat, execute_smem, memory_operation
from pyaco._core.emu.lds cimport execute_lds
from pyaco._core.emu.numbers cimport popcount64
from pyaco._core.emu.reference cimport aligned_bytes, fetch, handler_of
from pyaco._core.emu.vector cimport execute_dual, execute_scalar, execute_vector
from pyaco._core.emu.wave cimport *
from pyaco._core.emu_fast.scalar cimport scalar_step_of
from pyaco._core.emu_fast.step cimport *
from pyaco._core.ir.program cimport (format_dpp8, format_dpp16, format_ds, format_flat, format_is_salu, format_is_valu, format_mubuf,
                                     format_scratch, format_sdwa, format_vop3p, register_none, register_vcc)

cdef enum:
    scratch_row = 0                   # of the pool: two rows for each source slot
    dual_row = 8                      # the first result of a VOPD whose second half still reads the register
    first_constant = 10
    all_bits = 0xffffffffU
    sign_bit = 0x80000000U

cdef struct Builder:
    Blocks *blocks
    Block *block
    vector[Step] *steps
    vector[const Instruction *] *instructions


cdef bint open_blocks(Blocks *blocks, Kernels kernels, Code *code, Machine *machine) noexcept nogil:
    blocks.kernels = kernels
    blocks.code = code
    blocks.machine = machine
    blocks.pool = <uint8_t *>aligned_bytes(pool_rows * row_bytes)
    blocks.pool_count = first_constant
    blocks.by_pc = new unordered_map[uint64_t, Block *]()
    blocks.constants = new unordered_map[uint64_t, uint32_t]()
    if blocks.pool == NULL:
        return False
    memset(blocks.pool, 0, first_constant * row_bytes)
    return True


cdef void close_blocks(Blocks *blocks) noexcept nogil:
    if blocks.by_pc != NULL:
        for pair in blocks.by_pc[0]:
            free(pair.second.steps)
            free(pair.second.instructions)
            free(pair.second)
    del blocks.by_pc
    del blocks.constants
    free(blocks.pool)
    blocks.by_pc = NULL
    blocks.constants = NULL
    blocks.pool = NULL


# -------------------------------------------------------------------------------------------------------------- operands
cdef uint32_t constant_row(Blocks *blocks, uint64_t value, bint wide) noexcept nogil:
    """The offset of a row that holds a constant in every lane, 0 when the pool is full; of two rows when it is wide."""
    cdef uint32_t low = <uint32_t>value
    cdef uint32_t high = <uint32_t>(value >> 32) if wide else low
    cdef uint64_t key = low | (<uint64_t>high << 32)
    cdef uint32_t lane
    cdef uint32_t *row
    if blocks.constants.count(key):
        return blocks.constants[0][key]
    if blocks.pool_count + 2 > pool_rows:
        return 0
    row = <uint32_t *>(blocks.pool + blocks.pool_count * row_bytes)
    for lane in range(max_lanes):
        row[lane] = low
        row[max_lanes + lane] = high
    blocks.constants[0][key] = blocks.pool_count * row_bytes
    blocks.pool_count += 2
    return (blocks.pool_count - 2) * row_bytes


cdef void prefix(Builder *builder, Step *step, uint32_t slot, StepFunction function, uint8_t place, uint32_t offset, uint32_t keep,
                 uint32_t flip, bint second) noexcept nogil:
    """A step that makes a source in the slot's scratch row."""
    cdef Step made
    memset(&made, 0, sizeof(Step))
    made.function = function
    made.instruction = step.instruction
    made.operation = step.operation
    made.place[0] = place
    made.offset[0] = offset
    made.keep = keep
    made.flip = flip
    made.destination = (scratch_row + 2 * slot + second) * row_bytes
    builder.steps.push_back(made)
    step.place[slot] = place_pool
    step.offset[slot] = (scratch_row + 2 * slot) * row_bytes


cdef bint is_wide(uint8_t kind) noexcept nogil:
    kind &= ~type_old
    return type_u64 <= kind <= type_r64 or kind == type_exec64


cdef bint plan_constant(Builder *builder, Step *step, uint32_t slot, uint64_t value, bint wide) noexcept nogil:
    step.place[slot] = place_pool
    step.offset[slot] = constant_row(builder.blocks, value, wide)
    return step.offset[slot] != 0


cdef bint plan_vector_source(Builder *builder, Step *step, uint32_t slot, uint8_t kind, const Source *source, bint absolute,
                             bint negative) noexcept nogil:
    """Where a source of a vector step lies; False where the steps cannot have it."""
    cdef bint wide = is_wide(kind)
    cdef uint32_t keep = all_bits
    cdef uint32_t flip = 0
    kind &= ~type_old
    if kind == type_mask:
        step.mask_source = <uint8_t>source.index
        return source.kind == operand_sgpr and source.index < 127
    if kind == type_f32 or kind == type_r32:
        keep = all_bits ^ (sign_bit if absolute else 0)
        flip = sign_bit if negative else 0
    elif wide and kind != type_u64 and kind != type_i64 and (absolute or negative):
        return False
    if source.half or source.kind == operand_special:
        return False
    if source.kind == operand_value:
        return plan_constant(builder, step, slot, source.value if wide else ((<uint32_t>source.value & keep) ^ flip), wide)
    if source.kind == operand_vgpr:
        step.place[slot] = place_vgpr
        step.offset[slot] = source.index * row_bytes
        if keep != all_bits or flip:
            prefix(builder, step, slot, step_modify, place_vgpr, source.index * row_bytes, keep, flip, False)
        return True
    if wide and not source.index < sgpr_m0 - 1 and source.index != sgpr_exec:
        return False
    prefix(builder, step, slot, step_broadcast, place_sgpr, source.index, keep, flip, False)
    if wide:
        prefix(builder, step, slot, step_broadcast, place_sgpr, source.index + 1, keep, flip, True)
    return True


cdef bint plan_scalar_source(Builder *builder, Step *step, uint32_t slot, const Source *source, bint wide) noexcept nogil:
    if source.kind == operand_value:
        return plan_constant(builder, step, slot, source.value, wide)
    if source.kind != operand_sgpr or source.half:
        return False
    if wide and not source.index < sgpr_m0 - 1 and source.index != sgpr_exec:
        return False
    step.place[slot] = place_sgpr
    step.offset[slot] = 4 * source.index
    return True


# ---------------------------------------------------------------------------------------------------------------- vector
cdef bint plan_results(Step *step, const LaneOperation *operation, const uint16_t *destination) noexcept nogil:
    cdef uint32_t index
    for index in range(operation.result_count):
        if destination[index] & 3:
            return False
        if operation.result_type[index] == type_mask:
            step.mask_destination = <uint8_t>(destination[index] >> 2)
        elif destination[index] < 1024:
            return False
        else:
            step.destination_place = place_vgpr
            step.destination = ((destination[index] >> 2) - 256) * row_bytes
    return True


cdef bint add_vector(Builder *builder, const Instruction *instruction) noexcept nogil:
    cdef const LaneOperation *operation = instruction.operation
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef Step step
    cdef uint32_t slot
    memset(&step, 0, sizeof(Step))
    if builder.blocks.kernels.vector == NULL or operation.packed:
        return False
    if operation.writes_exec and builder.blocks.machine.gfx_level < 100:    # EXEC and an SGPR
        return False
    step.function = builder.blocks.kernels.vector[instruction.decoded.opcode]
    if (step.function == NULL or instruction.decoded.format & (format_dpp8 | format_dpp16 | format_sdwa | format_vop3p)
            or modifier_set_neg(modifier_set_abs(modifiers, 0), 0) != 0):
        return False
    step.instruction = instruction
    step.operation = operation
    for slot in range(operation.source_count):
        if not plan_vector_source(builder, &step, slot, operation.source_type[slot], &instruction.source[slot],
                                  (modifier_abs(modifiers) >> slot) & 1, (modifier_neg(modifiers) >> slot) & 1):
            return False
    if not plan_results(&step, operation, instruction.decoded.destination):
        return False
    if operation.writes_exec:
        step.mask_destination = sgpr_exec
    builder.steps.push_back(step)
    return True


cdef bint add_half_of_dual(Builder *builder, const Instruction *instruction, uint32_t number, bint apart) noexcept nogil:
    """One half of VOPD; `apart`: its result stays in the pool until the other half has read its sources."""
    cdef const LaneOperation *operation = instruction.operation_y if number else instruction.operation
    cdef uint32_t opcode = modifier_vopd_opcode_y(instruction.decoded.modifiers) if number else instruction.decoded.opcode
    cdef uint16_t destination = instruction.decoded.destination[number]
    cdef Source source
    cdef Step step
    cdef uint32_t slot
    memset(&step, 0, sizeof(Step))
    step.function = builder.blocks.kernels.vector[opcode]
    step.instruction = instruction
    step.operation = operation
    if step.function == NULL:
        return False
    for slot in range(operation.source_count):
        memset(&source, 0, sizeof(Source))
        if slot < 2 and not (slot == 1 and operation.source_count == 1):
            source = instruction.source[2 * number + slot]
        elif operation.source_type[slot] & type_old:
            source.kind = operand_vgpr
            source.index = (destination >> 2) - 256
        elif operation.source_type[slot] == type_mask:
            source.kind = operand_sgpr
            source.index = sgpr_vcc
        else:
            source.kind = operand_value
            source.value = instruction.decoded.literal
        if not plan_vector_source(builder, &step, slot, operation.source_type[slot], &source, False, False):
            return False
    if not plan_results(&step, operation, &destination):
        return False
    if apart:
        step.destination_place = place_pool
        step.destination = dual_row * row_bytes
    builder.steps.push_back(step)
    return True


cdef bint add_dual(Builder *builder, const Instruction *instruction) noexcept nogil:
    """VOPD: both halves read before either writes."""
    cdef uint32_t slot
    cdef bint apart = False
    cdef Step copy
    if builder.blocks.kernels.vector == NULL:
        return False
    for slot in range(2):
        apart = apart or (instruction.source[2 + slot].kind == operand_vgpr
                          and instruction.source[2 + slot].index == (instruction.decoded.destination[0] >> 2) - 256)
    if (not add_half_of_dual(builder, instruction, 0, apart)
            or not add_half_of_dual(builder, instruction, 1, False)):
        return False
    if apart:
        memset(&copy, 0, sizeof(Step))
        copy.function = step_copy
        copy.instruction = instruction
        copy.place[0] = place_pool
        copy.offset[0] = dual_row * row_bytes
        copy.destination_place = place_vgpr
        copy.destination = ((instruction.decoded.destination[0] >> 2) - 256) * row_bytes
        builder.steps.push_back(copy)
    return True


# ---------------------------------------------------------------------------------------------------------------- scalar
cdef bint add_scalar(Builder *builder, const Instruction *instruction) noexcept nogil:
    cdef const LaneOperation *operation = instruction.operation
    cdef Step step
    cdef uint32_t index
    cdef uint32_t slot = 0
    cdef uint32_t place = 0
    cdef uint8_t kind
    memset(&step, 0, sizeof(Step))
    step.function = scalar_step_of(instruction.decoded.opcode)
    if step.function == NULL:
        return False
    step.instruction = instruction
    step.operation = operation
    step.immediate = <uint32_t><int32_t><int16_t>instruction.decoded.immediate
    for index in range(operation.source_count):
        kind = operation.source_type[index] & ~type_old
        if type_scc <= kind <= type_imm:
            continue
        if not plan_scalar_source(builder, &step, slot, &instruction.source[slot], is_wide(kind)):
            return False
        slot += 1
    for index in range(operation.result_count):
        kind = operation.result_type[index]
        if type_scc <= kind <= type_imm:
            continue
        step.destination = instruction.decoded.destination[place] >> 2
        place += 1
        if step.destination >= 128 or step.destination == sgpr_null:
            return False
        if is_wide(kind) and not step.destination < sgpr_m0 - 1 and step.destination != sgpr_exec:
            return False
    builder.steps.push_back(step)
    return True


# ---------------------------------------------------------------------------------------------------------------- memory
cdef bint plan_register(Step *step, uint32_t slot, uint16_t register_) noexcept nogil:
    step.place[slot] = place_vgpr
    step.offset[slot] = ((register_ >> 2) - 256) * row_bytes
    return register_ >= 1024 and register_ != register_none


cdef bint plan_scalar_offset(Builder *builder, Step *step, const Instruction *instruction, uint32_t slot) noexcept nogil:
    """The scalar offset of a buffer or scalar access, in source 2 of the step."""
    cdef Source none
    if slot >= instruction.decoded.source_count or instruction.decoded.source[slot] == register_none:
        memset(&none, 0, sizeof(Source))
        none.kind = operand_value
        return plan_scalar_source(builder, step, 2, &none, False)
    return plan_scalar_source(builder, step, 2, &instruction.source[slot], False)


cdef bint plan_data(Step *step, const Instruction *instruction, uint16_t data) noexcept nogil:
    """The registers that are loaded or stored."""
    if step.memory.access == access_store:
        return plan_register(step, 1, data)
    step.destination = ((instruction.decoded.destination[0] >> 2) - 256) * row_bytes
    return instruction.decoded.destination_count > 0 and instruction.decoded.destination[0] >= 1024


cdef bint plan_flat(Builder *builder, Step *step, const Instruction *instruction) noexcept nogil:
    cdef uint16_t saddr = instruction.decoded.source[1] if instruction.decoded.source_count > 1 else <uint16_t>register_none
    cdef uint16_t family = instruction.decoded.format & 0x7f
    cdef const MemorySteps *memory = builder.blocks.kernels.memory
    if family == format_scratch or step.memory.add_lane:
        return False
    step.function = memory.global_load if step.memory.access == access_load else memory.global_store
    step.wide_address = saddr == register_none or saddr >> 2 == sgpr_null or family == format_flat
    if not step.wide_address:
        step.sgpr = saddr >> 2
        if step.sgpr >= sgpr_m0 - 1:
            return False
    return plan_register(step, 0, instruction.decoded.source[0]) and plan_data(step, instruction, instruction.decoded.source[2])


cdef bint plan_buffer(Builder *builder, Step *step, const Instruction *instruction) noexcept nogil:
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef const MemorySteps *memory = builder.blocks.kernels.memory
    if (instruction.decoded.format & 0x7f != format_mubuf or modifier_idxen(modifiers) or modifier_tfe(modifiers)
            or modifier_lds(modifiers) or modifier_addr64(modifiers)):
        return False
    step.function = memory.buffer_load if step.memory.access == access_load else memory.buffer_store
    step.sgpr = instruction.decoded.source[0] >> 2
    if step.sgpr >= sgpr_m0 - 3 or not plan_scalar_offset(builder, step, instruction, 2):
        return False
    if not modifier_offen(modifiers):
        if not plan_constant(builder, step, 0, 0, False):
            return False
    elif not plan_register(step, 0, instruction.decoded.source[1]):
        return False
    return plan_data(step, instruction, instruction.decoded.source[3])


cdef bint plan_lds(Builder *builder, Step *step, const Instruction *instruction) noexcept nogil:
    cdef const MemorySteps *memory = builder.blocks.kernels.memory
    if (modifier_gds(instruction.decoded.modifiers) or step.memory.add_lane
            or (step.memory.pair and step.memory.access == access_store)):
        return False
    step.function = memory.lds_load if step.memory.access == access_load else memory.lds_store
    return plan_register(step, 0, instruction.decoded.source[0]) and plan_data(step, instruction, instruction.decoded.source[1])


cdef bint plan_scalar_memory(Builder *builder, Step *step, const Instruction *instruction) noexcept nogil:
    step.function = builder.blocks.kernels.memory.scalar_load
    step.sgpr = instruction.decoded.source[0] >> 2
    step.destination = instruction.decoded.destination[0] >> 2
    return (step.memory.access == access_load and step.memory.bytes == 4
            and step.sgpr < sgpr_m0 - (3 if step.memory.buffered else 1) and step.destination + step.memory.dwords <= sgpr_m0
            and plan_scalar_offset(builder, step, instruction, 1))


cdef inline bint modifier_is_gds(const Instruction *instruction) noexcept nogil:
    """Whether an instruction reaches the memory that all workgroups share."""
    return instruction.decoded.format & 0x7f == format_ds and modifier_gds(instruction.decoded.modifiers) != 0


cdef bint add_memory(Builder *builder, const Instruction *instruction) noexcept nogil:
    cdef Step step
    cdef bint planned = False
    memset(&step, 0, sizeof(Step))
    step.instruction = instruction
    step.memory = memory_operation(instruction.decoded.opcode)
    step.immediate = instruction.decoded.immediate
    if step.memory.masked or step.memory.scaled or modifier_is_gds(instruction):
        return False
    if builder.blocks.kernels.memory == NULL or step.memory.half != half_none or step.memory.access not in (access_load, access_store):
        return False
    if instruction.handler == execute_flat:
        planned = plan_flat(builder, &step, instruction)
    elif instruction.handler == execute_buffer:
        planned = plan_buffer(builder, &step, instruction)
    elif instruction.handler == execute_lds:
        planned = plan_lds(builder, &step, instruction)
    elif instruction.handler == execute_smem:
        planned = plan_scalar_memory(builder, &step, instruction)
    if planned:
        builder.steps.push_back(step)
    return planned


# ---------------------------------------------------------------------------------------------------------------- blocks
cdef bint writes_exec(const Instruction *instruction, uint32_t wave_size) noexcept nogil:
    cdef const LaneOperation *operation = instruction.operation
    cdef uint32_t index, first, dwords
    if operation != NULL:
        for index in range(operation.result_count):
            if operation.result_type[index] == type_exec32 or operation.result_type[index] == type_exec64:
                return True
        if operation.writes_exec:
            return True
    for index in range(instruction.decoded.destination_count):
        first = instruction.decoded.destination[index] >> 2
        dwords = max(<uint32_t>1, (<uint32_t>instruction.decoded.destination_bytes[index] + 3) // 4)
        if instruction.decoded.destination_bytes[index] == 0:
            dwords = wave_size // 32
        if first < 128 and first + dwords > sgpr_exec:
            return True
    return False


cdef bint reads_a_clock(uint32_t opcode) noexcept nogil:
    return (opcode == <uint32_t>op_s_memtime or opcode == <uint32_t>op_s_memrealtime or opcode == <uint32_t>op_s_getreg_b32
            or opcode == <uint32_t>op_s_sendmsg_rtn_b32 or opcode == <uint32_t>op_s_sendmsg_rtn_b64)


cdef void add_step(Builder *builder, const Instruction *instruction, StepFunction function) noexcept nogil:
    cdef Step step
    memset(&step, 0, sizeof(Step))
    step.function = function
    step.instruction = instruction
    step.operation = instruction.operation
    step.immediate = instruction.decoded.immediate
    builder.steps.push_back(step)


cdef bint add_control(Builder *builder, const Instruction *instruction) noexcept nogil:
    """Program flow and whatever else may change pc or MODE; returns whether the block ends."""
    cdef StepFunction branch = branch_step(instruction.decoded.opcode)
    if instruction.handler == handler_of(op_s_nop):
        return False
    if branch != NULL:
        add_step(builder, instruction, branch)
    else:
        add_step(builder, instruction, step_leave_ordered if reads_a_clock(instruction.decoded.opcode) else step_leave)
    return True


cdef bint add_instruction(Builder *builder, const Instruction *instruction) noexcept nogil:
    """The steps of an instruction; returns whether the block ends with it."""
    cdef size_t before = builder.steps.size()
    cdef bint added = False
    cdef bint ordered
    if instruction.operation == NULL and (format_is_salu(instruction.decoded.format) or reads_a_clock(instruction.decoded.opcode)):
        return add_control(builder, instruction)
    if instruction.handler == execute_vector:
        added = add_vector(builder, instruction)
    elif instruction.handler == execute_dual:
        added = add_dual(builder, instruction)
    elif instruction.handler == execute_scalar:
        added = add_scalar(builder, instruction)
    elif instruction.operation == NULL:
        added = add_memory(builder, instruction)
    if not added:
        builder.steps.resize(before)
        ordered = modifier_is_gds(instruction) or (memory_operation(instruction.decoded.opcode).access == access_atomic
                                                   and instruction.handler != execute_lds)
        add_step(builder, instruction, step_ordered if ordered else step_reference)
    if writes_exec(instruction, builder.blocks.machine.wave_size):
        add_step(builder, instruction, step_end)
        return True
    return False


cdef void fill_block(Builder *builder, uint64_t pc) noexcept nogil:
    cdef const Instruction *instruction
    cdef bint ended = False
    builder.block.pc = pc
    while builder.instructions.size() < block_limit:
        instruction = fetch(builder.blocks.code, builder.blocks.machine, pc)
        if instruction == NULL or instruction.decoded.opcode == <int>op_invalid or instruction.handler == NULL:
            break
        if builder.instructions.size() and reads_a_clock(instruction.decoded.opcode):
            break                                           # the clock counts instructions: nothing comes before it in its block
        pc += 4 * <uint64_t>instruction.decoded.dwords
        builder.instructions.push_back(instruction)
        ended = add_instruction(builder, instruction)
        if ended:
            break
    builder.block.end = pc
    if not ended and builder.instructions.size():
        add_step(builder, builder.instructions.back(), step_end)


cdef Block *make_block(Blocks *blocks, uint64_t pc) noexcept nogil:
    cdef Builder builder
    cdef vector[Step] steps
    cdef vector[const Instruction *] instructions
    cdef Block *block = <Block *>calloc(1, sizeof(Block))
    cdef size_t index
    if block == NULL:
        return NULL
    builder.blocks = blocks
    builder.block = block
    builder.steps = &steps
    builder.instructions = &instructions
    fill_block(&builder, pc)
    block.steps = <Step *>malloc((steps.size() + 1) * sizeof(Step))
    block.instructions = <const Instruction **>malloc((instructions.size() + 1) * sizeof(void *))
    if block.steps != NULL and block.instructions != NULL:
        block.count = <uint32_t>instructions.size()
        for index in range(steps.size()):
            block.steps[index] = steps[index]
            block.steps[index].block = block
        for index in range(instructions.size()):
            block.instructions[index] = instructions[index]
    blocks.by_pc[0][pc] = block
    return block


cdef Block *block_at(Blocks *blocks, uint64_t pc) noexcept nogil:
    cdef Block **recent = &blocks.recent[(pc >> 2) % recent_blocks]
    if recent[0] == NULL or recent[0].pc != pc:
        recent[0] = blocks.by_pc[0][pc] if blocks.by_pc.count(pc) else make_block(blocks, pc)
    return recent[0]


# -------------------------------------------------------------------------------------------------------------- counters
cdef void count_instruction(Machine *machine, const Instruction *instruction, uint64_t executions, uint64_t lanes) noexcept nogil:
    machine.counter[instruction.unit] += executions
    machine.opcode_counter[instruction.decoded.opcode] += executions
    machine.lane_counter[instruction.unit] += lanes


cdef void count_blocks(Blocks *blocks) noexcept nogil:
    cdef Block *block
    cdef uint32_t index
    for pair in blocks.by_pc[0]:
        block = pair.second
        for index in range(block.count):
            count_instruction(blocks.machine, block.instructions[index], block.executions, block.lane_executions)
        block.executions = 0
        block.lane_executions = 0


cdef void count_part(Blocks *blocks, Block *block, const Step *last, uint64_t active) noexcept nogil:
    cdef uint32_t index
    cdef uint32_t lanes = popcount64(active)
    block.executions -= 1
    block.lane_executions -= lanes
    blocks.machine.executed -= block.count
    for index in range(block.count):
        blocks.machine.executed += 1
        count_instruction(blocks.machine, block.instructions[index], 1, lanes)
        if block.instructions[index] == last.instruction:
            break
