# Results with NaNs, completed by loops over lanes where a NaN is simply the first source that is one; others are left to `step_specials`.
cdef inline bint _takes_first_nan(const Core *core, const LaneOperation *operation) noexcept nogil:
    """Whether a NaN that it returns is its first NaN source, made quiet: all of its sources have the type of the result."""
    cdef uint32_t slot
    cdef uint8_t kind
    if operation.final_bits or (operation.prefers_number_over_nan and core.ieee):
        return False
    for slot in range(operation.source_count):
        kind = operation.source_type[slot] & ~type_old
        if kind != operation.result_type[0] and kind != type_mask:
            return False
    return True


cdef inline void _finish_halves(const Core *core, const Step *step, uint32_t half, uint32_t shift, uint32_t *values) noexcept nogil:
    """What `finish` does with halves where `_takes_first_nan`; the sources are those above bit `shift`."""
    cdef uint32_t nans[row_lanes]
    cdef uint32_t finished[row_lanes]
    cdef const uint32_t *row
    cdef uint32_t lane, bits
    cdef uint32_t slot = step.rest.operation.source_count
    cdef uint32_t kept = 0x8000 if core.flush_out64 else 0xffff
    for lane in range(<uint32_t>row_lanes):
        nans[lane] = 0x7e00
    while slot > 0:
        slot -= 1
        if step.rest.operation.source_type[slot] & ~type_old == type_mask:
            continue
        row = source_row(core, step, slot, half)
        for lane in range(<uint32_t>row_lanes):
            bits = (row[lane] >> shift) & 0xffff
            nans[lane] = bits | 0x200 if (bits & 0x7fff) > 0x7c00 else nans[lane]
    for lane in range(<uint32_t>row_lanes):
        bits = values[lane] & (0xffff if values[lane] & 0x7c00 else kept)
        finished[lane] = nans[lane] if (bits & 0x7fff) > 0x7c00 else bits
    copy_row(values, finished)


cdef inline void _finish_singles(const Core *core, const Step *step, uint32_t half, uint32_t *values) noexcept nogil:
    """The same of singles."""
    cdef uint32_t nans[row_lanes]
    cdef uint32_t finished[row_lanes]
    cdef const uint32_t *row
    cdef uint32_t lane, bits
    cdef uint32_t slot = step.rest.operation.source_count
    cdef uint32_t kept = 0x80000000U if core.flush_out32 else 0xffffffffU
    for lane in range(<uint32_t>row_lanes):
        nans[lane] = 0x7fc00000
    while slot > 0:
        slot -= 1
        if step.rest.operation.source_type[slot] & ~type_old == type_mask:
            continue
        row = source_row(core, step, slot, half)
        for lane in range(<uint32_t>row_lanes):
            bits = row[lane]
            nans[lane] = bits | 0x400000 if <int32_t>(bits & 0x7fffffff) > 0x7f800000 else nans[lane]
    for lane in range(<uint32_t>row_lanes):
        bits = values[lane] & (0xffffffffU if values[lane] & 0x7f800000 else kept)
        finished[lane] = nans[lane] if <int32_t>(bits & 0x7fffffff) > 0x7f800000 else bits
    copy_row(values, finished)


cdef bint _finish_special_row(Core *core, const Step *step, uint32_t half) noexcept nogil:
    """Complete and write a row that a step has left in `core.special`, or leave it."""
    cdef const LaneOperation *operation = step.rest.operation
    cdef uint32_t *row = special_row(core, half)
    if operation.result_type[0] == type_f64 or not _takes_first_nan(core, operation):
        return False
    if operation.result_type[0] == type_f32:
        _finish_singles(core, step, half, row)
        put_row(core, step, half, row)
    elif operation.packed:
        _finish_halves(core, step, half, 0, row)
        _finish_halves(core, step, half, 16, row + row_lanes)
        put_pairs(core, step, half, row, row + row_lanes)
    else:
        _finish_halves(core, step, half, 0, row)
        put_row(core, step, half, row)
    return True


cdef int finish_specials(Core *core, const Step *step, uint32_t halves) noexcept nogil:
    cdef uint32_t half
    for half in range(core.halves):
        if halves >> half & 1 and _finish_special_row(core, step, half):
            halves ^= 1 << half
    if halves:
        return step_specials(core, step, halves)
    return next_step(core, step)
