# Results with NaNs, completed by loops over lanes where a NaN is simply the first source that is one; others are left to `step_specials`.
cdef enum:
    nan_sources = 3                   # of an instruction, at most

cdef uint32_t no_nans[row_lanes]
memset(no_nans, 0, sizeof(no_nans))


cdef inline bint _takes_first_nan(const Core *core, const LaneOperation *operation) noexcept nogil:
    """Whether a NaN that it returns is its first NaN source, made quiet: all of its sources have the type of the result."""
    cdef uint32_t slot
    cdef uint32_t count = 0
    cdef uint8_t kind
    if operation.final_bits or (operation.prefers_number_over_nan and core.ieee):
        return False
    for slot in range(operation.source_count):
        kind = operation.source_type[slot] & ~type_old
        if kind != operation.result_type[0] and kind != type_mask:
            return False
        count += kind != type_mask
    return count <= nan_sources


cdef inline void _find_sources(const Core *core, const Step *step, uint32_t half, const uint32_t **rows) noexcept nogil:
    """The rows of the sources that are floats, in order, then rows without a NaN."""
    cdef uint32_t slot
    cdef uint32_t count = 0
    rows[0] = rows[1] = rows[2] = no_nans
    for slot in range(step.rest.operation.source_count):
        if step.rest.operation.source_type[slot] & ~type_old != type_mask and count < nan_sources:
            rows[count] = source_row(core, step, slot, half)
            count += 1


cdef inline uint32_t _quiet_half(uint32_t bits, uint32_t otherwise) noexcept nogil:
    return bits | 0x200 if (bits & 0x7fff) > 0x7c00 else otherwise


cdef inline uint32_t _quiet_single(uint32_t bits, uint32_t otherwise) noexcept nogil:
    return bits | 0x400000 if <int32_t>(bits & 0x7fffffff) > 0x7f800000 else otherwise


cdef inline void _finish_halves(const Core *core, const Step *step, uint32_t half, uint32_t shift, uint32_t *values) noexcept nogil:
    """What `finish` does with halves where `_takes_first_nan`; the sources are those above bit `shift`."""
    cdef uint32_t finished[row_lanes]
    cdef const uint32_t *rows[nan_sources]
    cdef uint32_t lane, bits, nan
    cdef uint32_t kept = 0x8000 if core.flush_out64 else 0xffff
    _find_sources(core, step, half, rows)
    for lane in range(<uint32_t>row_lanes):
        nan = _quiet_half((rows[2][lane] >> shift) & 0xffff, 0x7e00)
        nan = _quiet_half((rows[1][lane] >> shift) & 0xffff, nan)
        nan = _quiet_half((rows[0][lane] >> shift) & 0xffff, nan)
        bits = values[lane] & (0xffff if values[lane] & 0x7c00 else kept)
        finished[lane] = nan if (bits & 0x7fff) > 0x7c00 else bits
    copy_row(values, finished)


cdef inline void _finish_singles(const Core *core, const Step *step, uint32_t half, uint32_t *values) noexcept nogil:
    """The same of singles."""
    cdef uint32_t finished[row_lanes]
    cdef const uint32_t *rows[nan_sources]
    cdef uint32_t lane, bits, nan
    cdef uint32_t kept = 0x80000000U if core.flush_out32 else 0xffffffffU
    _find_sources(core, step, half, rows)
    for lane in range(<uint32_t>row_lanes):
        nan = _quiet_single(rows[2][lane], 0x7fc00000)
        nan = _quiet_single(rows[1][lane], nan)
        nan = _quiet_single(rows[0][lane], nan)
        bits = values[lane] & (0xffffffffU if values[lane] & 0x7f800000 else kept)
        finished[lane] = nan if <int32_t>(bits & 0x7fffffff) > 0x7f800000 else bits
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
