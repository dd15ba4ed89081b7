# Atomics in memory and in LDS; part of the modules of steps, after memory_steps.pxi.
cdef extern from "host.h" nogil:
    bint add_sixteen(const uint32_t *a, const uint32_t *b, uint32_t *sums)      # singles; False: one is a NaN


cdef inline uint64_t _data_of(const Step *step, const uint32_t *row, uint32_t lane) noexcept nogil:
    return row[lane] | (<uint64_t>row[lane + row_bytes // 4] << 32) if step.rest.memory.bytes == 8 else row[lane]


cdef inline bint _all_consecutive(const Core *core, const Span *span) noexcept nogil:
    """Whether each sixteen lanes, all active, access consecutive dwords: no lane of theirs reads what another of them wrote."""
    cdef uint32_t number
    cdef uint32_t found = core.full
    for number in range(chunks * core.halves):
        found &= span.kind[number] == chunk_sequence
    return found


cdef inline void _modify_one(uint8_t *host, uint32_t first, uint32_t second, uint32_t *returned, uint8_t operation) noexcept nogil:
    cdef uint32_t old, fresh
    memcpy(&old, host, 4)
    fresh = atomic32(operation, old, first, second)
    memcpy(host, &fresh, 4)
    returned[0] = old


cdef inline void _modify_same(const Core *core, uint8_t *host, const uint32_t *first, const uint32_t *second, uint32_t *returned,
                              uint8_t operation) noexcept nogil:
    """Where all lanes have one address: what it holds stays in a register of the host."""
    cdef uint32_t lane, old, fresh
    cdef uint64_t active = core.active
    memcpy(&fresh, host, 4)
    if core.full:
        for lane in range(row_lanes * core.halves):
            old = fresh
            fresh = atomic32(operation, old, first[lane], second[lane])
            returned[lane] = old
        active = 0
    while active:
        lane = trailing_zeros64(active)
        active &= active - 1
        old = fresh
        fresh = atomic32(operation, old, first[lane], second[lane])
        returned[lane] = old
    memcpy(host, &fresh, 4)


cdef inline bint _add_singles_same(const Core *core, uint8_t *host, const uint32_t *first, uint32_t *returned) noexcept nogil:
    """The same for sums of singles in a full wave; False, with nothing changed, where one is a NaN, which would depend on the order of operands."""
    cdef uint32_t before[max_lanes]
    cdef uint32_t half, lane
    cdef float total
    memcpy(&total, host, 4)
    for lane in range(row_lanes * core.halves):
        before[lane] = float_bits(total)
        total = total + bits_float(first[lane])
    if total != total:
        return False
    memcpy(host, &total, 4)
    for half in range(core.halves):
        copy_row(returned + row_lanes * half, before + row_lanes * half)
    return True


cdef inline void _modify_consecutive(const Core *core, const Span *span, uint8_t *host, const uint32_t *first, const uint32_t *second,
                                     uint32_t *returned, uint8_t operation) noexcept nogil:
    cdef uint32_t before[chunk]
    cdef uint32_t after[chunk]
    cdef uint32_t number, lane
    for number in range(chunks * core.halves):
        memcpy(before, host + span.offset[chunk * number], 4 * chunk)
        if operation != atomic_fadd or not add_sixteen(before, first + chunk * number, after):
            for lane in range(<uint32_t>chunk):
                after[lane] = atomic32(operation, before[lane], first[chunk * number + lane], second[chunk * number + lane])
        memcpy(host + span.offset[chunk * number], after, 4 * chunk)
        memcpy(returned + chunk * number, before, 4 * chunk)


cdef inline void _modify_each(const Core *core, const Span *span, uint8_t *host, const uint32_t *first, const uint32_t *second, uint32_t *returned,
                              uint8_t operation) noexcept nogil:
    """Lane after lane: each one reads what those before it wrote. An operand is read before what is returned is written: it may be the same register.

    `operation` is a constant in the calls that are to be fast.
    """
    cdef uint32_t lane
    cdef uint64_t active = core.active
    if span.lowest == span.highest:
        if operation != atomic_fadd or not core.full or not _add_singles_same(core, host + span.lowest, first, returned):
            _modify_same(core, host + span.lowest, first, second, returned, operation)
        return
    if operation <= atomic_fadd and _all_consecutive(core, span):
        _modify_consecutive(core, span, host, first, second, returned, operation)
        return
    if core.full:
        for lane in range(0, row_lanes * core.halves, 4):
            _modify_one(host + span.offset[lane], first[lane], second[lane], returned + lane, operation)
            _modify_one(host + span.offset[lane + 1], first[lane + 1], second[lane + 1], returned + lane + 1, operation)
            _modify_one(host + span.offset[lane + 2], first[lane + 2], second[lane + 2], returned + lane + 2, operation)
            _modify_one(host + span.offset[lane + 3], first[lane + 3], second[lane + 3], returned + lane + 3, operation)
        return
    while active:
        lane = trailing_zeros64(active)
        active &= active - 1
        _modify_one(host + span.offset[lane], first[lane], second[lane], returned + lane, operation)


cdef void _modify_dwords(const Core *core, const Step *step, const Span *span, uint8_t *host) noexcept nogil:
    """The frequent operations have loops of their own."""
    cdef const uint32_t *first = source_row(core, step, 1, 0)
    cdef const uint32_t *second = source_row(core, step, 3, 0)
    cdef uint8_t operation = step.rest.memory.atomic
    cdef uint32_t unused[max_lanes]
    cdef uint32_t *returned = _destination_row(core, step) if step.rest.returns else unused
    if operation == atomic_add:
        _modify_each(core, span, host, first, second, returned, atomic_add)
    elif operation == atomic_umin:
        _modify_each(core, span, host, first, second, returned, atomic_umin)
    elif operation == atomic_umax:
        _modify_each(core, span, host, first, second, returned, atomic_umax)
    elif operation == atomic_smin:
        _modify_each(core, span, host, first, second, returned, atomic_smin)
    elif operation == atomic_smax:
        _modify_each(core, span, host, first, second, returned, atomic_smax)
    elif operation == atomic_and:
        _modify_each(core, span, host, first, second, returned, atomic_and)
    elif operation == atomic_or:
        _modify_each(core, span, host, first, second, returned, atomic_or)
    elif operation == atomic_xor:
        _modify_each(core, span, host, first, second, returned, atomic_xor)
    elif operation == atomic_swap:
        _modify_each(core, span, host, first, second, returned, atomic_swap)
    elif operation == atomic_cmpswap:
        _modify_each(core, span, host, first, second, returned, atomic_cmpswap)
    elif operation == atomic_fadd:
        _modify_each(core, span, host, first, second, returned, atomic_fadd)
    else:
        _modify_each(core, span, host, first, second, returned, operation)


cdef void _modify_pairs(const Core *core, const Step *step, const Span *span, uint8_t *host) noexcept nogil:
    """The same for pairs of dwords."""
    cdef const uint32_t *first = source_row(core, step, 1, 0)
    cdef const uint32_t *second = source_row(core, step, 3, 0)
    cdef uint32_t *returned = _destination_row(core, step) if step.rest.returns else NULL
    cdef uint32_t lane
    cdef uint64_t old, fresh
    cdef uint64_t active = core.active
    while active:
        lane = trailing_zeros64(active)
        active &= active - 1
        memcpy(&old, host + span.offset[lane], 8)
        fresh = atomic64(step.rest.memory.atomic, old, _data_of(step, first, lane), _data_of(step, second, lane))
        memcpy(host + span.offset[lane], &fresh, 8)
        if returned != NULL:
            returned[lane] = <uint32_t>old
            returned[lane + row_bytes // 4] = <uint32_t>(old >> 32)


cdef void _modify(const Core *core, const Step *step, const Span *span, uint8_t *host) noexcept nogil:
    """Floats are added as the reference engine does: while the host keeps denormals."""
    cdef bint floats = step.rest.memory.atomic >= atomic_fadd and core.control != control_default
    if floats:
        set_host_control(control_default)
    if step.rest.memory.bytes == 4:
        _modify_dwords(core, step, span, host)
    else:
        _modify_pairs(core, step, span, host)
    if floats:
        set_host_control(core.control)


cdef int _step_lds_atomic(Core *core, const Step *step) noexcept nogil:
    cdef Span span
    if core.active:
        if not _fill_lds_span(core, step, &span):
            return step_reference(core, step)
        _modify(core, step, &span, core.machine.lds + _lds_offset(step, 0))
    return next_step(core, step)


# Atomics in memory come after those of all earlier workgroups.
cdef int _step_global_atomic(Core *core, const Step *step) noexcept nogil:
    cdef Span span
    cdef uint8_t *host
    if core.order != NULL and not wait_for_turn(core):
        core.stopped = step
        return stop_deadlock
    if core.active:
        host = _global_host(core, step, &span)
        if host == NULL:
            return step_reference(core, step)
        _modify(core, step, &span, host)
    return next_step(core, step)


cdef int _step_buffer_atomic(Core *core, const Step *step) noexcept nogil:
    cdef Span span
    cdef uint8_t *host
    if core.order != NULL and not wait_for_turn(core):
        core.stopped = step
        return stop_deadlock
    if core.active:
        host = _buffer_host(core, step, &span)
        if host == NULL:
            return step_reference(core, step)
        _modify(core, step, &span, host)
    return next_step(core, step)
