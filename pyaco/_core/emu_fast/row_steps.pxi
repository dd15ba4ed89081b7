# Steps that bring sources to rows of the pool and results to registers. Loops index a row by the lane alone: the compiler does not vectorise
# loops whose index is a sum of unsigned numbers, which may wrap.
cdef inline uint32_t *_pool_row(const Core *core, const Step *step, uint32_t half) noexcept nogil:
    return <uint32_t *>(core.base[base_pool] + step.destination) + row_lanes * half


cdef int _step_broadcast(Core *core, const Step *step) noexcept nogil:
    cdef uint32_t *row
    cdef uint32_t value = changed(core.wave.sgpr[step.offset[0]], &step.rest.change)
    cdef uint32_t half, lane
    for half in range(core.first_half, core.end_half):
        row = _pool_row(core, step, half)
        for lane in range(<uint32_t>row_lanes):
            row[lane] = value
    return next_step(core, step)


cdef int _step_change(Core *core, const Step *step) noexcept nogil:
    cdef uint32_t *row
    cdef const uint32_t *source
    cdef Change change = step.rest.change
    cdef bint whole = change.shift == 0 and change.mask == 0xffffffffU and change.sign == 0           # abs and neg alone
    cdef uint32_t half, lane
    for half in range(core.first_half, core.end_half):
        row = _pool_row(core, step, half)
        source = source_row(core, step, 0, half)
        if whole:
            for lane in range(<uint32_t>row_lanes):
                row[lane] = (source[lane] & change.keep) ^ change.flip
            continue
        for lane in range(<uint32_t>row_lanes):
            row[lane] = changed(source[lane], &change)
    return next_step(core, step)


cdef int _step_arrange(Core *core, const Step *step) noexcept nogil:
    cdef uint32_t *row
    cdef const uint32_t *source
    cdef Change change = step.rest.change
    cdef uint32_t half, lane
    for half in range(core.first_half, core.end_half):
        row = _pool_row(core, step, half)
        source = source_row(core, step, 0, half)
        for lane in range(<uint32_t>row_lanes):
            row[lane] = (((source[lane] >> change.shift) & 0xffff) | (((source[lane] >> change.mask) & 0xffff) << 16)) ^ change.flip
    return next_step(core, step)


cdef int _step_widen(Core *core, const Step *step) noexcept nogil:
    cdef uint32_t *row
    cdef float singles[row_lanes]
    cdef Change change = step.rest.change
    cdef uint32_t half, lane
    for half in range(core.first_half, core.end_half):
        row = _pool_row(core, step, half)
        halves_to_singles(source_row(core, step, 0, half), change.shift, singles)
        for lane in range(<uint32_t>row_lanes):
            row[lane] = (float_bits(singles[lane]) & change.keep) ^ change.flip
    return next_step(core, step)


cdef int _step_select(Core *core, const Step *step) noexcept nogil:
    """DPP. Source 1 is the lane that each lane reads, all ones where there is none, source 2 the lanes that may be written."""
    cdef uint32_t *row = _pool_row(core, step, 0)
    cdef uint32_t *written
    cdef const uint32_t *source = source_row(core, step, 0, 0)
    cdef const uint32_t *index
    cdef const uint32_t *allowed
    cdef const uint32_t *active
    cdef uint32_t *found
    cdef uint32_t values[max_lanes]
    cdef uint32_t valid[row_lanes]
    cdef uint32_t chosen[row_lanes]
    cdef uint32_t everywhere = step.rest.change.keep
    cdef uint32_t always = step.rest.change.flip
    cdef uint32_t half, lane
    for half in range(core.halves):
        index = source_row(core, step, 1, half)
        allowed = source_row(core, step, 2, half)
        active = &core.lane_mask[row_lanes * half]
        written = <uint32_t *>(core.base[base_pool] + step.immediate) + row_lanes * half
        found = &values[row_lanes * half]
        gather_row(core.lane_mask, index, valid)
        gather_row(source, index, found)
        # what is stored in a loop lies on the stack: other rows might overlap those that it reads, for all that the compiler knows
        for lane in range(<uint32_t>row_lanes):
            valid[lane] = (valid[lane] | everywhere) & (0 if index[lane] == 0xffffffffU else 0xffffffffU)
        for lane in range(<uint32_t>row_lanes):
            chosen[lane] = allowed[lane] & (valid[lane] | always) & active[lane]
        for lane in range(<uint32_t>row_lanes):
            found[lane] &= valid[lane]
        copy_row(written, chosen)
    for half in range(core.halves):
        copy_row(row + row_lanes * half, &values[row_lanes * half])
    return next_step(core, step)


cdef int _step_copy(Core *core, const Step *step) noexcept nogil:
    cdef uint32_t half
    for half in range(core.first_half, core.end_half):
        put_row(core, step, half, source_row(core, step, 0, half))
    return next_step(core, step)


cdef inline uint32_t _clamped_single(uint32_t bits, uint32_t kept) noexcept nogil:
    """Clamped to [0, 1]; NaNs are `kept` or 0. With integers, because the host may take a denormal for zero."""
    cdef uint32_t positive = bits if <int32_t>bits > 0 else 0
    cdef uint32_t limited = 0x3f800000 if <int32_t>bits > 0x3f800000 else positive
    return bits & kept if bits & 0x7fffffff > 0x7f800000U else limited


cdef int _step_scale(Core *core, const Step *step) noexcept nogil:
    """Omod and clamp, as in `_scaled_single` of the reference engine."""
    cdef const uint32_t *source
    cdef uint32_t values[row_lanes]
    cdef uint32_t half, lane
    cdef uint32_t kept = 0 if core.clamps_nan else 0xffffffffU
    cdef float scale = 1.0
    if step.rest.omod and core.flush_out32 and not core.ieee:
        scale = 2.0 if step.rest.omod == 1 else (4.0 if step.rest.omod == 2 else <float>0.5)
    for half in range(core.first_half, core.end_half):
        source = source_row(core, step, 0, half)
        copy_row(values, source)
        if scale != 1:
            for lane in range(<uint32_t>row_lanes):
                values[lane] = flushed_source(float_bits(bits_float(values[lane]) * scale), 0)
        if step.clamp:
            for lane in range(<uint32_t>row_lanes):
                values[lane] = _clamped_single(values[lane], kept)
        put_row(core, step, half, values)
    return next_step(core, step)


cdef int _step_merge(Core *core, const Step *step) noexcept nogil:
    """Write part of a register, in the lanes of source 1."""
    cdef uint32_t *row
    cdef const uint32_t *source
    cdef const uint32_t *written
    cdef uint32_t values[row_lanes]
    cdef Change change = step.rest.change
    cdef uint32_t half, lane, value
    for half in range(core.first_half, core.end_half):
        row = <uint32_t *>(core.base[base_vgpr] + step.destination) + row_lanes * half
        source = source_row(core, step, 0, half)
        written = source_row(core, step, 1, half)
        for lane in range(<uint32_t>row_lanes):
            value = ((source[lane] & change.mask) ^ change.sign) - change.sign
            value = (row[lane] & change.keep) | (value << change.shift)
            values[lane] = (value & written[lane]) | (row[lane] & ~written[lane])
        copy_row(row, values)
    return next_step(core, step)


cdef int _step_swap(Core *core, const Step *step) noexcept nogil:
    """V_SWAP_B32, of the active lanes."""
    cdef uint32_t *first
    cdef uint32_t *second
    cdef uint32_t values[row_lanes]
    cdef uint32_t half
    for half in range(core.first_half, core.end_half):
        first = <uint32_t *>(core.base[base_vgpr] + step.destination) + row_lanes * half
        second = <uint32_t *>(core.base[base_vgpr] + step.offset[0]) + row_lanes * half
        copy_row(values, first)
        put_row_at(core, first, half, second)
        put_row_at(core, second, half, values)
    return next_step(core, step)


cdef int _step_permute16(Core *core, const Step *step) noexcept nogil:
    """Lanes of a row of sixteen, or of its neighbour (`shift` is 16), that sources 1 and 2 name by four bits each."""
    cdef uint32_t low = (<const uint32_t *>(core.base[step.base[1]] + step.offset[1]))[0]
    cdef uint32_t high = (<const uint32_t *>(core.base[step.base[2]] + step.offset[2]))[0]
    cdef Change change = step.rest.change
    cdef uint32_t index[row_lanes]
    cdef uint32_t values[row_lanes]
    cdef uint32_t valid[row_lanes]
    cdef const uint32_t *source = source_row(core, step, 0, 0)
    cdef uint32_t *row
    cdef uint32_t half, lane
    for half in range(core.first_half, core.end_half):
        row = destination_row(core, step) + row_lanes * half
        for lane in range(8):
            index[lane] = (((low >> (4 * lane)) & 15) ^ change.shift) + row_lanes * half
        for lane in range(8):
            index[8 + lane] = (((high >> (4 * lane)) & 15) ^ change.shift) + row_lanes * half
        for lane in range(16):
            index[16 + lane] = index[lane] ^ 16
        gather_row(core.lane_mask, index, valid)
        gather_row(source, index, values)
        for lane in range(<uint32_t>row_lanes):
            valid[lane] |= change.keep
            values[lane] = (values[lane] & valid[lane]) | (row[lane] & ~valid[lane] & change.flip)
        put_row_at(core, row, half, values)
    return next_step(core, step)


cdef extern from "host.h" nogil:
    bint permute_row(const uint32_t *high, const uint32_t *low, const uint32_t *selectors, uint32_t *values)


cdef int _step_permute_bytes(Core *core, const Step *step) noexcept nogil:
    """V_PERM_B32, usually of the eight bytes themselves."""
    cdef uint32_t values[max_lanes]
    cdef uint32_t half
    for half in range(core.first_half, core.end_half):
        if not permute_row(source_row(core, step, 0, half), source_row(core, step, 1, half), source_row(core, step, 2, half),
                           &values[row_lanes * half]):
            return _step_v_perm_b32(core, step)
    for half in range(core.first_half, core.end_half):
        put_row(core, step, half, &values[row_lanes * half])
    return next_step(core, step)


cdef void fill_special_steps(StepFunction *table) noexcept nogil:
    """Steps that are written by hand, of operations that the table of semantics has too."""
    table[<int>op_v_perm_b32] = _step_permute_bytes


cdef void _set_active(Core *core, uint64_t active) noexcept nogil:
    note_active(core, active)
    spread_bits(active, core.lane_mask)
    core.spread = active


cdef int _enter(Core *core, Block **successor, uint64_t active) noexcept nogil:
    """A loop often clears EXEC, for lanes that leave it, and sets it again to what it was.

    The lanes' masks are left for that where no step reads them, and the value is loaded from where it was stored long ago, so that the host, which
    expects them to be equal, need not wait for the instructions that have computed it.
    """
    if active == core.spread:
        note_active(core, load_again(&core.spread))
    elif active == 0 and not successor[0].reads_lane_mask:
        note_active(core, 0)
    else:
        _set_active(core, active)
    return run_block(core, successor)


cdef void fill_row_steps(RowSteps *table) noexcept nogil:
    table.broadcast = _step_broadcast
    table.change = _step_change
    table.arrange = _step_arrange
    table.widen = _step_widen
    table.select = _step_select
    table.copy = _step_copy
    table.scale = _step_scale
    table.merge = _step_merge
    table.swap = _step_swap
    table.permute16 = _step_permute16
    table.set_active = _set_active
    table.enter = _enter
