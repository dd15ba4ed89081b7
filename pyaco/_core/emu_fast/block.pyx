"""Makes blocks of steps from decoded instructions.

The step of an instruction reads rows of lanes and writes one. Steps before it make rows of other sources: an SGPR, a source with abs or neg,
a part of a register, the lanes that DPP reads. Post-steps bring the result to the destination where that is not a plain write: omod and
clamp, part of a register, fewer lanes than EXEC has. What has no step (unusual operations, operands and memory accesses) becomes one that
calls the reference engine's function, which is right by definition.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memset
from libcpp.unordered_map cimport unordered_map
from libcpp.vector cimport vector

from features cimport has_cmpx_without_vcc
from isa_opcodes cimport *
from isa_tables cimport image_flag_atomic, image_flag_gather, image_flag_sample, image_flag_store, opcode_image
from modifiers cimport *
from pyaco._core.emu.access cimport access_atomic
from pyaco._core.emu.global_memory cimport memory_operation
from pyaco._core.emu.lds cimport execute_lds
from pyaco._core.common.bits cimport popcount
from pyaco._core.common.floats cimport float_bits, half_to_double
from pyaco._core.emu.code cimport fetch, handler_of
from pyaco._core.emu.control cimport banks_of
from pyaco._core.emu.image cimport execute_image
from pyaco._core.emu.reference cimport aligned_bytes, aligned_zeros
from pyaco._core.emu.image_view cimport image_words, sampler_words
from pyaco._core.emu.lane_selection cimport dpp_source_lane
from pyaco._core.emu.vector cimport execute_dual, execute_scalar, execute_vector
from pyaco._core.emu.wave cimport *
from pyaco._core.emu.wave_sync cimport waits_for_dispatch
from pyaco._core.emu_fast.matrix_plan cimport MatrixPlan, new_matrix_plan
from pyaco._core.emu.lanes_earlier cimport earlier_operation
from pyaco._core.emu_fast.step cimport *
from pyaco._core.isa.decode cimport Decoded
from pyaco._core.common.machine cimport format_dpp8, format_dpp16, format_is_salu, format_sdwa, format_vop3p

cdef enum:
    scratch_row = 0                   # of the pool: two rows for each source slot
    result_row = 8                    # a result for post-steps; that of the first half of VOPD where the second still reads the register
    written_row = 9                   # the lanes that an instruction with DPP writes
    changed_row = 10                  # a source of a chained step that changes its sign, for the plain one
    joined_row = 11                   # the first component of the ids of workgroups that are joined
    kept_row = 12                     # SGPRs that the block has broadcast, for later instructions
    kept_rows = 8
    kept_constants = 8                # SGPRs with constants
    next_rows = 4                     # of these, what the other sources of an instruction may replace
    renamed_row = kept_row + kept_rows        # results that a block replaces itself
    renamed_rows = 32
    first_constant = renamed_row + renamed_rows
    literal_code = 255                # of a source: a literal has halves, as a register
    kept_sgprs = 106                  # those above are written by more than what destinations say
    all_bits = 0xffffffffU
    sign_bit = 0x80000000U
    lane_formats = format_dpp8 | format_dpp16 | format_sdwa
    step_modes = mode_keep_in32 | mode_keep_out32 | mode_ieee              # MODE's bits by which steps are chosen

# A step while its block is made.
cdef struct Draft:
    Step hot
    StepRest rest
    uint8_t rows                      # it reads and writes single rows, a lane mask or an SGPR, and does nothing else
    uint8_t row_slots                 # a bit for each source that is a row
    uint8_t chain                     # kind of chained step that it may be (chain_steps.h), or chain_none
    uint8_t takes_mask
    uint8_t takes_sgpr
    uint8_t makes_mask
    uint8_t scalar                    # it touches no row
    uint8_t sets_exec                 # and writes EXEC, which functions of the reference engine read
    uint8_t hands_exec                # and hands that on
    uint8_t leaves                    # it goes to another block, and does nothing else

cdef struct Builder:
    Blocks *blocks
    Block *block
    vector[Draft] *steps
    vector[const Instruction *] *instructions
    uint32_t kept_sgpr[kept_rows]     # which SGPR each kept row holds, or register_none
    Change kept_change[kept_rows]     # and what has been changed in it
    uint32_t next_kept                # the row that is used next
    uint32_t constant_sgpr[kept_constants]    # SGPRs that the block has set to a constant last, or register_none
    uint32_t constant[kept_constants]
    uint32_t next_constant
    uint32_t banks                    # of VGPR numbers, at the instruction that is next


cdef bint open_blocks(Blocks *blocks, Kernels kernels, Code *code, Machine *machine) noexcept nogil:
    blocks.kernels = kernels
    blocks.code = code
    blocks.machine = machine
    blocks.pool = <uint8_t *>aligned_bytes(pool_rows * row_bytes)
    blocks.pool_count = first_constant
    memset(&blocks.joined, 0, sizeof(Joined))
    blocks.joined.count = 1
    blocks.image_steps = 0
    memset(blocks.recent, 0, sizeof(blocks.recent))
    blocks.by_pc = new unordered_map[uint64_t, Block *]()
    blocks.constants = new unordered_map[uint64_t, uint32_t]()
    blocks.selections = new unordered_map[uint64_t, uint32_t]()
    blocks.plans = new vector[MatrixPlan *]()
    if blocks.pool == NULL:
        return False
    memset(blocks.pool, 0, first_constant * row_bytes)
    return True


cdef void close_blocks(Blocks *blocks) noexcept nogil:
    if blocks.by_pc != NULL:
        for pair in blocks.by_pc[0]:
            _free_steps(pair.second)
            free(pair.second.rests)
            free(pair.second.instructions)
            free(pair.second)
    if blocks.plans != NULL:
        for plan in blocks.plans[0]:
            free(plan)
    del blocks.plans
    del blocks.by_pc
    del blocks.constants
    del blocks.selections
    free(blocks.pool)
    blocks.plans = NULL
    blocks.by_pc = NULL
    blocks.constants = NULL
    blocks.selections = NULL
    blocks.pool = NULL


# -------------------------------------------------------------------------------------------------------------- operands
cdef uint32_t _constant_row(Blocks *blocks, uint64_t value, bint wide) noexcept nogil:
    """The offset of a row that holds a constant in every lane, 0 when the pool is full; of two rows when it is wide.

    Behind two that differ are its dwords, as scalar steps read them.
    """
    cdef uint32_t low = <uint32_t>value
    cdef uint32_t high = <uint32_t>(value >> 32) if wide else low
    cdef uint64_t key = low | (<uint64_t>high << 32)
    cdef uint32_t lane
    cdef uint32_t *row
    if blocks.constants.count(key):
        return blocks.constants[0][key]
    if blocks.pool_count + 3 > pool_rows:
        return 0
    row = <uint32_t *>(blocks.pool + blocks.pool_count * row_bytes)
    for lane in range(<uint32_t>max_lanes):
        row[lane] = low
        row[max_lanes + lane] = high
    blocks.constants[0][key] = blocks.pool_count * row_bytes
    blocks.pool_count += 2
    if low != high:
        row[2 * max_lanes] = low
        row[2 * max_lanes + 1] = high
        blocks.pool_count += 1
    return blocks.constants[0][key]


cdef uint32_t _selection_row(Blocks *blocks, const Decoded *decoded) noexcept nogil:
    """The offset of two rows, 0 when the pool is full: the lane that each lane reads by DPP, and whether its result may be written."""
    cdef uint64_t modifiers = decoded.modifiers
    cdef bint eight = (decoded.format & format_dpp8) != 0
    cdef uint64_t key = (modifiers >> 16) | (<uint64_t>eight << 48)
    cdef int lane, other
    cdef int lanes = <int>blocks.machine.wave_size
    cdef uint32_t *row
    if blocks.selections.count(key):
        return blocks.selections[0][key]
    if blocks.pool_count + 2 > pool_rows:
        return 0
    row = <uint32_t *>(blocks.pool + blocks.pool_count * row_bytes)
    memset(row, 0, 2 * row_bytes)
    for lane in range(lanes):
        if eight:
            other = (lane & ~7) | <int>((modifier_dpp8_lane_sel(modifiers) >> (3 * (lane & 7))) & 7)
        else:
            other = dpp_source_lane(<uint32_t>modifier_dpp_ctrl(modifiers), lane, lanes, blocks.machine.gfx_level)
        row[lane] = <uint32_t>other
        if eight or ((modifier_dpp_row_mask(modifiers) >> (lane >> 4)) & 1 and (modifier_dpp_bank_mask(modifiers) >> ((lane & 15) >> 2)) & 1):
            row[max_lanes + lane] = all_bits
    blocks.selections[0][key] = blocks.pool_count * row_bytes
    blocks.pool_count += 2
    return (blocks.pool_count - 2) * row_bytes


cdef Change _no_change() noexcept nogil:
    return Change(0, all_bits, 0, all_bits, 0)


cdef bint _is_no_change(const Change *change) noexcept nogil:
    return change.shift == 0 and change.mask == all_bits and change.sign == 0 and change.keep == all_bits and change.flip == 0


cdef Draft *_add_source_step(Builder *builder, Draft *step, uint32_t slot, StepFunction function, uint8_t base, uint32_t offset, const Change *change,
                             uint32_t dword) noexcept nogil:
    """A step that makes a source in the slot's scratch row."""
    cdef Draft made
    memset(&made, 0, sizeof(Draft))
    made.hot.function = function
    made.hot.instruction = step.hot.instruction
    made.rest.operation = step.rest.operation
    made.hot.base[0] = base
    made.hot.offset[0] = offset
    made.rest.change = change[0]
    made.hot.destination_base = base_pool
    made.hot.destination = (scratch_row + 2 * slot + dword) * row_bytes
    _describe_source_step(builder, &made)
    builder.steps.push_back(made)
    step.hot.base[slot] = base_pool
    step.hot.offset[slot] = (scratch_row + 2 * slot) * row_bytes
    return &builder.steps.back()


cdef bint _is_sixteen(uint8_t kind) noexcept nogil:
    return type_u16 <= (kind & ~type_old) <= type_r16


cdef bint _is_float(uint8_t kind) noexcept nogil:
    kind &= ~type_old
    return kind in (type_f16, type_r16, type_f32, type_r32, type_f64, type_r64)


cdef bint _bind_constant(Builder *builder, Draft *step, uint32_t slot, uint64_t value, bint wide) noexcept nogil:
    step.hot.base[slot] = base_pool
    step.hot.offset[slot] = _constant_row(builder.blocks, value, wide)
    return step.hot.offset[slot] != 0


cdef void _bind_sgpr(Builder *builder, Draft *step, uint32_t slot, uint32_t sgpr, const Change *change) noexcept nogil:
    """A broadcast SGPR: in a row that an earlier instruction of the block has filled, if none has written the SGPR since."""
    cdef StepFunction function = builder.blocks.kernels.rows.broadcast
    cdef uint32_t i
    if _is_row_of_ids(builder, step, sgpr):
        step.hot.base[slot] = base_pool
        step.hot.offset[slot] = joined_row * row_bytes
        if not _is_no_change(change):
            _add_source_step(builder, step, slot, builder.blocks.kernels.rows.change, base_pool, joined_row * row_bytes, change, 0)
        return
    for i in range(<uint32_t>kept_constants):
        if builder.constant_sgpr[i] == sgpr and _bind_constant(builder, step, slot, changed(builder.constant[i], change), False):
            return
    if sgpr >= kept_sgprs:
        _add_source_step(builder, step, slot, function, base_sgpr, sgpr, change, 0)
        return
    for i in range(<uint32_t>kept_rows):
        if (builder.kept_sgpr[i] == sgpr and not memcmp(&builder.kept_change[i], change, sizeof(Change))
                and (i + <uint32_t>kept_rows - builder.next_kept) % <uint32_t>kept_rows >= <uint32_t>next_rows):
            break
    else:
        i = builder.next_kept
        builder.next_kept = (i + 1) % <uint32_t>kept_rows
        builder.kept_sgpr[i] = sgpr
        builder.kept_change[i] = change[0]
        _add_source_step(builder, step, slot, function, base_sgpr, sgpr, change, 0).hot.destination = (kept_row + i) * row_bytes
    step.hot.base[slot] = base_pool
    step.hot.offset[slot] = (kept_row + i) * row_bytes


cdef void _forget_sgprs(Builder *builder, uint32_t first, uint32_t count) noexcept nogil:
    """Kept rows of SGPRs that have been written do not hold them any more."""
    cdef uint32_t i
    for i in range(<uint32_t>kept_rows):
        if first <= builder.kept_sgpr[i] < first + count:
            builder.kept_sgpr[i] = register_none
    for i in range(<uint32_t>kept_constants):
        if first <= builder.constant_sgpr[i] < first + count:
            builder.constant_sgpr[i] = register_none


cdef void _keep_constant(Builder *builder, const Instruction *instruction) noexcept nogil:
    """Note which SGPR an instruction sets to a constant: it need not be broadcast."""
    cdef uint32_t sgpr = instruction.decoded.destination[0] >> 2
    if instruction.decoded.opcode != <int>op_s_mov_b32 or instruction.source[0].kind != operand_value or sgpr >= kept_sgprs:
        return
    builder.constant_sgpr[builder.next_constant] = sgpr
    builder.constant[builder.next_constant] = <uint32_t>instruction.source[0].value
    builder.next_constant = (builder.next_constant + 1) % <uint32_t>kept_constants


cdef void _forget_results(Builder *builder, const Instruction *instruction) noexcept nogil:
    cdef uint32_t index, first
    for index in range(instruction.decoded.destination_count):
        first = instruction.decoded.destination[index] >> 2
        if first < kept_sgprs:
            _forget_sgprs(builder, first, _destination_dwords(instruction, index, builder.blocks.machine.wave_size))


cdef inline uint32_t _destination_dwords(const Instruction *instruction, uint32_t index, uint32_t wave_size) noexcept nogil:
    """How many SGPRs a result fills; a lane mask has no bytes of its own."""
    if instruction.decoded.destination_bytes[index] == 0:
        return wave_size // 32
    return (<uint32_t>instruction.decoded.destination_bytes[index] + 3) // 4


cdef bint _bind_row(Builder *builder, Draft *step, uint32_t slot, const Source *source, const Change *change, StepFunction function) noexcept nogil:
    """A source of up to 32 bits; `function` makes a changed row of a row."""
    cdef const RowSteps *rows = builder.blocks.kernels.rows
    cdef Change none = _no_change()
    if source.kind == operand_vgpr:
        step.hot.base[slot] = base_vgpr
        step.hot.offset[slot] = source.index * row_bytes
    elif source.kind != operand_sgpr:
        return False
    elif function == rows.change:
        _bind_sgpr(builder, step, slot, source.index, change)
        return True
    else:
        _bind_sgpr(builder, step, slot, source.index, &none)
    if not _is_no_change(change):
        _add_source_step(builder, step, slot, function, step.hot.base[slot], step.hot.offset[slot], change, 0)
    return True


cdef bint _bind_wide(Builder *builder, Draft *step, uint32_t slot, const Source *source, const Change *change) noexcept nogil:
    """A source of 64 bits; the change is that of its high half."""
    cdef const RowSteps *rows = builder.blocks.kernels.rows
    cdef Change none = _no_change()
    cdef bint same = _is_no_change(change)
    if source.kind == operand_value:
        return _bind_constant(builder, step, slot, (source.value & all_bits) | (<uint64_t>changed(<uint32_t>(source.value >> 32), change) << 32),
                              True)
    if source.kind == operand_vgpr:
        step.hot.base[slot] = base_vgpr
        step.hot.offset[slot] = source.index * row_bytes
        if not same:
            _add_source_step(builder, step, slot, rows.change, base_vgpr, source.index * row_bytes, &none, 0)
            _add_source_step(builder, step, slot, rows.change, base_vgpr, (source.index + 1) * row_bytes, change, 1)
        return True
    if source.kind != operand_sgpr or (not source.index < sgpr_m0 - 1 and source.index != sgpr_exec):
        return False
    _add_source_step(builder, step, slot, rows.broadcast, base_sgpr, source.index, &none, 0)
    _add_source_step(builder, step, slot, rows.broadcast, base_sgpr, source.index + 1, change, 1)
    return True


cdef Change _change_of(uint8_t kind, bint high, bint absolute, bint negative) noexcept nogil:
    """The modification by abs, neg and the choice of a half."""
    cdef Change change = _no_change()
    cdef uint32_t sign = 0x8000 if _is_sixteen(kind) else sign_bit
    if _is_sixteen(kind) and high:
        change.shift = 16
    if _is_float(kind):
        change.keep = ~sign if absolute else all_bits
        change.flip = sign if negative else 0
    return change


cdef void _choose_part(Change *change, uint8_t kind, uint32_t selection) noexcept nogil:
    """Add the selection of SDWA, which comes before those."""
    cdef uint32_t size = selection & 3
    change.shift = 8 * ((selection >> 2) & 3)
    if size < 2:
        change.mask = 0xffff if size else 0xff
        change.sign = (change.mask ^ (change.mask >> 1)) if selection & 16 else 0
    if _is_sixteen(kind):
        change.keep &= 0xffff


cdef bint _bind_source(Builder *builder, Draft *step, uint32_t slot, uint8_t kind, const Source *source, const Change *change) noexcept nogil:
    """Resolve a source of a vector step; False where steps cannot read it."""
    if kind & ~type_old == type_mask:
        step.hot.mask_source = <uint8_t>source.index
        return source.kind == operand_sgpr and source.index + 1 < 128
    if is_wide(kind):
        return _bind_wide(builder, step, slot, source, change)
    if source.kind == operand_value:
        return _bind_constant(builder, step, slot, changed(<uint32_t>source.value, change), False)
    return _bind_row(builder, step, slot, source, change, builder.blocks.kernels.rows.change)


# ---------------------------------------------------------------------------------------------------------------- vector
cdef bint _bind_results(Draft *step, const LaneOperation *operation, const uint16_t *destination) noexcept nogil:
    cdef uint32_t index
    for index in range(operation.result_count):
        if operation.result_type[index] == type_mask:
            step.hot.mask_destination = <uint8_t>(destination[index] >> 2)
        elif destination[index] < 1024:
            return False
        else:
            step.hot.destination_base = base_vgpr
            step.hot.destination = ((destination[index] >> 2) - 256) * row_bytes
    return True


cdef bint _bind_selected(Builder *builder, Draft *step, uint8_t kind, const Instruction *instruction, const Change *change) noexcept nogil:
    """The first source, by DPP."""
    cdef const RowSteps *rows = builder.blocks.kernels.rows
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef bint eight = (instruction.decoded.format & format_dpp8) != 0
    cdef uint32_t table = _selection_row(builder.blocks, &instruction.decoded)
    cdef Change none = _no_change()
    cdef Draft *made
    if table == 0 or is_wide(kind) or kind == type_mask or instruction.source[0].kind != operand_vgpr:
        return False
    made = _add_source_step(builder, step, 0, rows.select, base_vgpr, instruction.source[0].index * row_bytes, &none, 0)
    made.hot.base[1] = made.hot.base[2] = base_pool
    made.hot.offset[1] = table
    made.hot.offset[2] = table + row_bytes
    made.hot.immediate = written_row * row_bytes
    made.rest.change.keep = all_bits if (modifier_dpp8_fetch_inactive(modifiers) if eight else modifier_dpp_fetch_inactive(modifiers)) else 0
    made.rest.change.flip = all_bits if eight or modifier_dpp_bound_ctrl(modifiers) else 0
    if not _is_no_change(change):
        _add_source_step(builder, step, 0, rows.change, base_pool, step.hot.offset[0], change, 0)
    return True


cdef bint _bind_mixed(Builder *builder, Draft *step, uint32_t slot, const Instruction *instruction) noexcept nogil:
    """A source of V_FMA_MIX: a single, or a half of the register that becomes one; neg_hi is abs."""
    cdef const RowSteps *rows = builder.blocks.kernels.rows
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef const Source *source = &instruction.source[slot]
    cdef Change change = _change_of(type_f32, False, (modifier_neg_hi(modifiers) >> slot) & 1, (modifier_neg(modifiers) >> slot) & 1)
    cdef uint32_t half
    if not (modifier_opsel_hi(modifiers) >> slot) & 1:
        return _bind_source(builder, step, slot, type_f32, source, &change)
    if source.kind == operand_value:
        half = <uint32_t>source.value >> (16 if source.index == literal_code and (modifier_opsel(modifiers) >> slot) & 1 else 0)
        return _bind_constant(builder, step, slot, changed(float_bits(<float>half_to_double(half & 0xffff)), &change), False)
    change.shift = 16 if (modifier_opsel(modifiers) >> slot) & 1 else 0
    change.mask = 0                                         # so that it does not count as no change: it is to be widened
    return _bind_row(builder, step, slot, source, &change, rows.widen)


cdef bint _bind_pair(Builder *builder, Draft *step, uint32_t slot, uint8_t kind, const Instruction *instruction) noexcept nogil:
    """Two halves, which opsel and opsel_hi choose; in the encodings that have no such fields, those of the register."""
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef const Source *source = &instruction.source[slot]
    cdef Change change = _no_change()
    cdef uint32_t value
    if instruction.decoded.format & format_vop3p:
        change.shift = 16 if (modifier_opsel(modifiers) >> slot) & 1 else 0
        change.mask = 16 if (modifier_opsel_hi(modifiers) >> slot) & 1 else 0
        if _is_float(kind) or kind == type_packed_f:
            change.flip = ((0x8000 if (modifier_neg(modifiers) >> slot) & 1 else 0)
                           | (sign_bit if (modifier_neg_hi(modifiers) >> slot) & 1 else 0))
        if source.kind == operand_value:
            value = <uint32_t>source.value
            if kind == type_packed_f and value >> 16 == 0:
                value |= value << 16
            value = (((value >> change.shift) & 0xffff) | (((value >> change.mask) & 0xffff) << 16)) ^ change.flip
            return _bind_constant(builder, step, slot, value, False)
        if change.shift == 0 and change.mask == 16 and change.flip == 0:
            change = _no_change()
    elif source.kind == operand_value:
        return _bind_constant(builder, step, slot, source.value, False)
    return _bind_row(builder, step, slot, source, &change, builder.blocks.kernels.rows.arrange)


cdef bint _bind_vector_source(Builder *builder, Draft *step, uint32_t slot, const Instruction *instruction) noexcept nogil:
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint32_t format = instruction.decoded.format
    cdef uint8_t kind = step.rest.operation.source_type[slot] & ~type_old
    cdef const Source *source = &instruction.source[slot]
    cdef Change change
    if step.rest.operation.packed or kind == type_packed or kind == type_packed_f:
        return not format & lane_formats and _bind_pair(builder, step, slot, kind, instruction)
    if kind == type_mix_bf:
        return False
    if kind == type_mix:
        return not format & lane_formats and _bind_mixed(builder, step, slot, instruction)
    change = _change_of(kind, source.half or (modifier_opsel(modifiers) >> slot) & 1,
                        not format & format_vop3p and (modifier_abs(modifiers) >> slot) & 1, (modifier_neg(modifiers) >> slot) & 1)
    if format & format_sdwa and slot < 2 and not is_wide(kind):
        _choose_part(&change, kind, modifier_sdwa_sel1(modifiers) if slot else modifier_sdwa_sel0(modifiers))
    if format & (format_dpp8 | format_dpp16) and slot == 0:
        return _bind_selected(builder, step, kind, instruction, &change)
    return _bind_source(builder, step, slot, kind, source, &change)


cdef bint _merge_of(const Instruction *instruction, uint8_t kind, Change *change) noexcept nogil:
    """How part of a register is written; False: all of it is, or the high half becomes zero."""
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint32_t selection = modifier_sdwa_dst_sel(modifiers)
    cdef bint high
    change[0] = _no_change()
    change.keep = 0
    if instruction.decoded.format & format_sdwa:
        change.shift = 8 * ((selection >> 2) & 3)
        if selection & 3 < 2:
            change.mask = 0xffff if selection & 3 else 0xff
            change.sign = (change.mask ^ (change.mask >> 1)) if modifier_sdwa_dst_sext(modifiers) else 0
        change.keep = ~(change.mask << change.shift) if selection & 16 else 0
        return True
    if not _is_sixteen(kind):
        return False
    high = (instruction.decoded.destination[0] >> 1) & 1 or (modifier_opsel(modifiers) >> 3) & 1 or instruction.writes_high_zero == 2
    change.mask = 0xffff
    change.shift = 16 if high else 0
    change.keep = 0xffff if high else (0 if instruction.writes_high_zero else 0xffff0000U)
    return change.keep != 0


cdef void _add_post_step(Builder *builder, size_t position, StepFunction function, uint8_t destination_base, uint32_t destination) noexcept nogil:
    """Add a post-step for the result of the step at `position`."""
    cdef Draft made
    cdef Draft *step = &builder.steps[0][position]
    memset(&made, 0, sizeof(Draft))
    made.hot.function = function
    made.hot.instruction = step.hot.instruction
    made.rest.operation = step.rest.operation
    made.hot.clamp = step.hot.clamp
    made.rest.omod = step.rest.omod
    made.hot.base[0] = base_pool
    made.hot.offset[0] = result_row * row_bytes
    made.hot.destination_base = destination_base
    made.hot.destination = destination
    step.hot.post_steps += 1
    builder.steps.push_back(made)


cdef bint _add_results(Builder *builder, Draft *step, const Instruction *instruction) noexcept nogil:
    """Add the operation's step and its post-steps."""
    cdef const LaneOperation *operation = step.rest.operation
    cdef const RowSteps *rows = builder.blocks.kernels.rows
    cdef uint8_t kind = operation.result_type[0]
    cdef bint selected = (instruction.decoded.format & (format_dpp8 | format_dpp16)) != 0
    cdef bint scaled = kind == type_f32 and (step.hot.clamp or step.rest.omod)
    cdef bint merged = False
    cdef uint32_t index
    cdef uint32_t destination = step.hot.destination
    cdef size_t position = builder.steps.size()
    cdef Change change
    for index in range(operation.result_count):
        if selected and (operation.result_type[index] == type_mask or is_wide(operation.result_type[index])):
            return False
    if kind in (type_f16, type_f64, type_f16x2, type_bf16x2, type_f32x2) and (step.hot.clamp or step.rest.omod):
        return False
    if kind != type_mask and not is_wide(kind) and not operation.packed:
        merged = _merge_of(instruction, kind, &change) or selected
    if scaled or merged:
        step.hot.destination_base = base_pool
        step.hot.destination = result_row * row_bytes
    builder.steps.push_back(step[0])
    if scaled:
        _add_post_step(builder, position, rows.scale, base_pool if merged else base_vgpr, result_row * row_bytes if merged else destination)
    if merged:
        _add_post_step(builder, position, rows.merge, base_vgpr, destination)
        builder.steps.back().rest.change = change
        builder.steps.back().hot.base[1] = base_pool if selected else base_active
        builder.steps.back().hot.offset[1] = written_row * row_bytes if selected else 0
    if operation.writes_exec and not has_cmpx_without_vcc(builder.blocks.machine.gfx_level):
        _add_post_step(builder, position, step_copy_mask, base_vgpr, 0)
        builder.steps.back().hot.mask_destination = step.hot.mask_destination
        builder.steps[0][position].hot.mask_destination = sgpr_exec
    elif operation.writes_exec:
        builder.steps[0][position].hot.mask_destination = sgpr_exec
    _describe_step(builder, &builder.steps[0][position], instruction.decoded.opcode)
    return True


cdef bint _add_vector(Builder *builder, const Instruction *instruction) noexcept nogil:
    cdef const LaneOperation *operation = instruction.operation
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef Draft step
    cdef uint32_t slot
    memset(&step, 0, sizeof(Draft))
    if earlier_operation(instruction.decoded.opcode, builder.blocks.machine.gfx_level) != NULL:
        return False
    step.hot.function = builder.blocks.kernels.vector[instruction.decoded.opcode]
    if step.hot.function == NULL:
        return False
    step.hot.instruction = instruction
    step.rest.operation = operation
    step.hot.clamp = modifier_clamp(modifiers)
    step.rest.omod = modifier_omod(modifiers)
    step.rest.neg = modifier_neg(modifiers)
    step.rest.opsel = modifier_opsel(modifiers)
    for slot in range(operation.source_count):
        if not _bind_vector_source(builder, &step, slot, instruction):
            return False
    return _bind_results(&step, operation, instruction.decoded.destination) and _add_results(builder, &step, instruction)


include "pyaco/_core/emu_fast/bind_chains.pxi"
include "pyaco/_core/emu_fast/bind_dual.pxi"


include "pyaco/_core/emu_fast/bind_scalar.pxi"
include "pyaco/_core/emu_fast/bind_memory.pxi"
include "pyaco/_core/emu_fast/first_writes.pxi"


# -------------------------------------------------------------------------------------------------------------- matrices
cdef bint _add_matrix(Builder *builder, const Instruction *instruction) noexcept nogil:
    cdef Blocks *blocks = builder.blocks
    cdef Draft step
    memset(&step, 0, sizeof(Draft))
    step.hot.function = blocks.kernels.matrix
    step.hot.instruction = instruction
    step.rest.matrix = new_matrix_plan(instruction, blocks.machine.gfx_level, blocks.machine.wave_size) if step.hot.function != NULL else NULL
    if step.rest.matrix == NULL:
        return False
    blocks.plans.push_back(<MatrixPlan *>step.rest.matrix)
    builder.steps.push_back(step)
    return True


# ---------------------------------------------------------------------------------------------------------------- blocks
cdef bint _writes_exec(const Instruction *instruction, uint32_t wave_size) noexcept nogil:
    cdef const LaneOperation *operation = instruction.operation
    cdef uint32_t index, first
    if operation != NULL:
        for index in range(operation.result_count):
            if operation.result_type[index] == type_exec32 or operation.result_type[index] == type_exec64:
                return True
        if operation.writes_exec:
            return True
    for index in range(instruction.decoded.destination_count):
        first = instruction.decoded.destination[index] >> 2
        if first < 128 and first + _destination_dwords(instruction, index, wave_size) > sgpr_exec:
            return True
    return False


cdef bint _reads_a_clock(uint32_t opcode) noexcept nogil:
    return (opcode == <uint32_t>op_s_memtime or opcode == <uint32_t>op_s_memrealtime or opcode == <uint32_t>op_s_getreg_b32
            or opcode == <uint32_t>op_s_get_shader_cycles_u64 or opcode == <uint32_t>op_s_sendmsg_rtn_b32 or opcode == <uint32_t>op_s_sendmsg_rtn_b64)


cdef void _add_step(Builder *builder, const Instruction *instruction, StepFunction function) noexcept nogil:
    cdef Draft step
    memset(&step, 0, sizeof(Draft))
    step.hot.function = function
    step.hot.instruction = instruction
    step.rest.operation = instruction.operation
    step.hot.immediate = instruction.decoded.immediate
    builder.steps.push_back(step)


cdef bint _add_control(Builder *builder, const Instruction *instruction) noexcept nogil:
    """Program flow and whatever else may change pc or MODE; returns whether the block ends."""
    cdef StepFunction branch = branch_step(instruction.decoded.opcode)
    if instruction.handler == handler_of(op_s_nop):
        return False
    if branch != NULL:
        _add_step(builder, instruction, branch)
        builder.steps.back().leaves = True
    else:
        _add_step(builder, instruction, step_leave_ordered if _reads_a_clock(instruction.decoded.opcode) else step_leave)
    return True


cdef bint _add_swap(Builder *builder, const Instruction *instruction) noexcept nogil:
    """V_SWAP_B32."""
    cdef const RowSteps *rows = builder.blocks.kernels.rows
    cdef uint16_t destination = instruction.decoded.destination[0]
    if (instruction.decoded.opcode != <int>op_v_swap_b32 or rows == NULL or instruction.decoded.format & lane_formats
            or instruction.source[0].kind != operand_vgpr or instruction.source[0].half or destination < 1024 or destination & 3):
        return False
    _add_step(builder, instruction, rows.swap)
    builder.steps.back().hot.offset[0] = instruction.source[0].index * row_bytes
    builder.steps.back().hot.destination = ((destination >> 2) - 256) * row_bytes
    return True


cdef bint _add_permute16(Builder *builder, const Instruction *instruction) noexcept nogil:
    """V_PERMLANE16, V_PERMLANEX16."""
    cdef const RowSteps *rows = builder.blocks.kernels.rows
    cdef bint crosses = instruction.decoded.opcode == <int>op_v_permlanex16_b32
    cdef uint64_t modifiers = instruction.decoded.modifiers
    cdef uint16_t destination = instruction.decoded.destination[0]
    cdef Draft step
    if (rows == NULL or not (crosses or instruction.decoded.opcode == <int>op_v_permlane16_b32) or destination < 1024 or destination & 3
            or instruction.source[0].kind != operand_vgpr or instruction.source[0].half):
        return False
    memset(&step, 0, sizeof(Draft))
    step.hot.function = rows.permute16
    step.hot.instruction = instruction
    step.hot.base[0] = base_vgpr
    step.hot.offset[0] = instruction.source[0].index * row_bytes
    step.hot.destination_base = base_vgpr
    step.hot.destination = ((destination >> 2) - 256) * row_bytes
    step.rest.change.shift = 16 if crosses else 0
    step.rest.change.keep = all_bits if modifier_opsel(modifiers) & 1 else 0                 # reads inactive lanes
    step.rest.change.flip = 0 if (modifier_opsel(modifiers) >> 1) & 1 else all_bits          # what is not read keeps its value
    if (not _bind_scalar_source(builder, &step, 1, &instruction.source[1], False)
            or not _bind_scalar_source(builder, &step, 2, &instruction.source[2], False)):
        return False
    builder.steps.push_back(step)
    return True


cdef bint _add_image(Builder *builder, const Instruction *instruction) noexcept nogil:
    """Loads, stores, samples and gathers of images, whose descriptors are in SGPRs."""
    cdef const ImageSteps *steps = builder.blocks.kernels.image
    cdef uint32_t flags = opcode_image[instruction.decoded.opcode]
    cdef bint samples = flags & (image_flag_sample | image_flag_gather) != 0
    cdef int opcode = instruction.decoded.opcode
    if steps == NULL or instruction.handler != execute_image or instruction.decoded.source_count < 4:
        return False
    if (flags & image_flag_atomic or modifier_r128(instruction.decoded.modifiers) or modifier_image_tfe(instruction.decoded.modifiers)
            or modifier_lwe(instruction.decoded.modifiers) or opcode == <int>op_image_get_resinfo or opcode == <int>op_image_msaa_load
            or opcode == <int>op_image_get_lod):
        return False
    if (instruction.decoded.source[0] >> 2) + image_words > 128 or (samples and (instruction.decoded.source[1] >> 2) + sampler_words > 128):
        return False
    _add_step(builder, instruction, steps.sample if samples else (steps.store if flags & image_flag_store else steps.load))
    builder.steps.back().hot.sgpr = <uint16_t>(instruction.decoded.source[0] >> 2)
    builder.steps.back().hot.mask_source = <uint8_t>(instruction.decoded.source[1] >> 2) if samples else 0
    builder.steps.back().hot.allocation = builder.blocks.image_steps
    builder.blocks.image_steps = (builder.blocks.image_steps + 1) % <uint32_t>cached_works
    return True


cdef bint _writes_shared(const Machine *machine, const Instruction *instruction) noexcept nogil:
    """Whether a result is a VGPR that both halves of the wave share."""
    cdef uint32_t i
    if machine.shared_vgpr == 0:
        return False
    for i in range(instruction.decoded.destination_count):
        if instruction.decoded.destination[i] != register_none and instruction.decoded.destination[i] >> 2 >= 256 + machine.shared_vgpr:
            return True
    return False


cdef bint _add_instruction(Builder *builder, const Instruction *instruction) noexcept nogil:
    """Add the steps of an instruction; returns whether the block ends with it."""
    cdef size_t before = builder.steps.size()
    cdef bint added = False
    cdef bint ordered
    if instruction.decoded.opcode == <int>op_s_set_vgpr_msb:
        _add_step(builder, instruction, step_banks)
        builder.banks = banks_of(instruction)
        return False
    if instruction.operation == NULL and (format_is_salu(instruction.decoded.format) or _reads_a_clock(instruction.decoded.opcode)):
        return _add_control(builder, instruction)
    if waits_for_dispatch(&instruction.decoded):
        _add_step(builder, instruction, step_leave_ordered)
        return True
    if _writes_shared(builder.blocks.machine, instruction):
        _forget_results(builder, instruction)
        _add_step(builder, instruction, step_shared)
        return False
    if instruction.handler == execute_vector:
        added = _add_vector(builder, instruction)
    elif instruction.handler == execute_dual:
        added = _add_dual(builder, instruction)
    elif instruction.handler == execute_scalar:
        added = _add_scalar(builder, instruction)
    elif instruction.operation == NULL:
        added = (_add_memory(builder, instruction) or _add_permutation(builder, instruction) or _add_transposed(builder, instruction)
                 or _add_matrix(builder, instruction) or _add_image(builder, instruction) or _add_swap(builder, instruction)
                 or _add_permute16(builder, instruction))
    _forget_results(builder, instruction)
    _keep_constant(builder, instruction)
    if not added:
        builder.steps.resize(before)
        _forget_sgprs(builder, 0, kept_sgprs)               # steps that have filled them may be gone, and it may write any SGPR
        ordered = _is_gds(instruction) or (memory_operation(instruction.decoded.opcode).access == access_atomic
                                           and instruction.handler != execute_lds)
        _add_step(builder, instruction, step_ordered if ordered else step_reference)
    if _writes_exec(instruction, builder.blocks.machine.wave_size):
        _add_step(builder, instruction, step_end)
        builder.steps.back().leaves = True
        return True
    return False


cdef void _fill_block(Builder *builder, uint64_t pc) noexcept nogil:
    cdef const Instruction *instruction
    cdef bint ended = False
    cdef uint32_t i
    builder.block.pc = pc
    builder.next_kept = 0
    for i in range(<uint32_t>kept_rows):
        builder.kept_sgpr[i] = register_none
    builder.next_constant = 0
    for i in range(<uint32_t>kept_constants):
        builder.constant_sgpr[i] = register_none
    while builder.instructions.size() < block_limit:
        instruction = fetch(builder.blocks.code, builder.blocks.machine, pc, builder.banks)
        if instruction == NULL or instruction.decoded.opcode == <int>op_invalid or instruction.handler == NULL:
            break
        if builder.instructions.size() and _reads_a_clock(instruction.decoded.opcode):
            break                                           # the clock counts instructions, so such an instruction is the first of its block
        pc += 4 * <uint64_t>instruction.decoded.dwords
        builder.instructions.push_back(instruction)
        ended = _add_instruction(builder, instruction)
        if ended:
            break
    builder.block.end = pc
    if not ended and builder.instructions.size():
        _add_step(builder, builder.instructions.back(), step_end)
        builder.steps.back().leaves = True


include "pyaco/_core/emu_fast/leaving.pxi"
include "pyaco/_core/emu_fast/shapes.pxi"
include "pyaco/_core/emu_fast/joining.pxi"


cdef Block *_make_block(Blocks *blocks, uint64_t pc, uint32_t banks) noexcept nogil:
    cdef Builder builder
    cdef vector[Draft] steps
    cdef vector[const Instruction *] instructions
    cdef Block *block = <Block *>aligned_zeros(sizeof(Block))
    cdef size_t idle = 0
    cdef size_t index
    cdef bint chained = False
    cdef bint acts = False                                  # where no lane is active
    if block == NULL:
        return NULL
    builder.blocks = blocks
    builder.block = block
    builder.banks = banks
    block.banks = banks
    block.modes = blocks.mode & step_modes
    builder.steps = &steps
    builder.instructions = &instructions
    _fill_block(&builder, pc)
    _bind_chains(&builder)
    if steps.size() > 1 and steps.back().hot.function == step_end and steps[steps.size() - 2].hands_exec:
        steps.back().hot.function = <StepFunction>step_end_exec
    for index in range(steps.size()):
        acts = acts or not (steps[index].scalar or steps[index].leaves or (steps[index].rows and not steps[index].makes_mask))
        idle += steps[index].scalar or steps[index].leaves
    block.steps[0] = <Step *>aligned_bytes((steps.size() + idle + 1) * sizeof(Step))
    block.rests = <StepRest *>malloc((steps.size() + 1) * sizeof(StepRest))
    block.instructions = <const Instruction **>malloc((instructions.size() + 1) * sizeof(void *))
    if block.steps[0] != NULL and block.rests != NULL and block.instructions != NULL:
        block.count = <uint32_t>instructions.size()
        block.step_count = <uint32_t>steps.size()
        for index in range(steps.size()):
            block.reads_lane_mask |= not (steps[index].rows or steps[index].scalar or steps[index].leaves)
            block.rests[index] = steps[index].rest
            block.rests[index].block = block
            block.steps[0][index] = steps[index].hot
            block.steps[0][index].rest = &block.rests[index]
            chained = chained or block.rests[index].chain_form
        for index in range(instructions.size()):
            block.instructions[index] = instructions[index]
        if not chained or blocks.machine.wave_size == <uint32_t>row_lanes:
            for index in range(1, <size_t>shape_count):
                block.steps[index] = block.steps[0]
        if not acts:
            _keep_idle_steps(block, &steps)
        if block.step_count:
            _note_leaving(blocks, block, &steps, &instructions)
    blocks.by_pc[0][_key_of(pc, banks, block.modes)] = block
    return block


cdef inline uint64_t _key_of(uint64_t pc, uint32_t banks, uint32_t modes) noexcept nogil:
    return pc ^ (<uint64_t>banks << 56) ^ (<uint64_t>(modes >> 4) << 48)        # all bits above 46 of an address are the same


cdef Block *block_at(Blocks *blocks, uint64_t pc, uint32_t banks) noexcept nogil:
    cdef Block **recent = &blocks.recent[(pc >> 2) % recent_blocks]
    cdef uint32_t modes = blocks.mode & step_modes
    cdef uint64_t key = _key_of(pc, banks, modes)
    if recent[0] == NULL or recent[0].pc != pc or recent[0].banks != banks or recent[0].modes != modes:
        recent[0] = blocks.by_pc[0][key] if blocks.by_pc.count(key) else _make_block(blocks, pc, banks)
    return recent[0]


cdef bint has_own_steps(const Block *block, const Instruction *instruction) noexcept nogil:
    cdef uint32_t index
    cdef StepFunction function
    for index in range(block.step_count):
        function = block.steps[0][index].function
        if block.steps[0][index].instruction == instruction and (
                function == step_reference or function == step_banks or function == step_ordered or function == step_shared
                or function == step_leave or function == step_leave_ordered):
            return False
    return True


# -------------------------------------------------------------------------------------------------------------- counters
cdef void _count_instruction(Machine *machine, const Instruction *instruction, uint64_t executions, uint64_t lanes) noexcept nogil:
    machine.counter[instruction.unit] += executions
    machine.opcode_counter[instruction.decoded.opcode] += executions
    machine.lane_counter[instruction.unit] += lanes


cdef void count_blocks(Blocks *blocks) noexcept nogil:
    cdef Block *block
    cdef uint32_t index
    for pair in blocks.by_pc[0]:
        for index in range(2):
            if pair.second.passages:
                pair.second.leaving[index].executions += pair.second.passages
        pair.second.passages = 0
    for pair in blocks.by_pc[0]:
        block = pair.second
        for index in range(block.count):
            _count_instruction(blocks.machine, block.instructions[index], block.executions * blocks.joined.count, block.lane_executions)
        block.executions = 0
        block.lane_executions = 0


cdef void count_part(Blocks *blocks, Block *block, const Step *last, uint64_t active) noexcept nogil:
    cdef uint32_t index
    cdef uint32_t lanes = popcount(active)
    block.executions -= 1
    block.lane_executions -= lanes
    blocks.machine.executed -= block.count
    for index in range(block.count):
        blocks.machine.executed += 1
        _count_instruction(blocks.machine, block.instructions[index], 1, lanes)
        if block.instructions[index] == last.instruction:
            break
