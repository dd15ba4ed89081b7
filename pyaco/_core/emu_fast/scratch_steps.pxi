# Loads and stores of scratch; part of the modules of steps, after memory_steps.pxi.
# A dword of all lanes lies side by side. An index that all lanes share, as those of loops are, moves rows.
cdef inline int64_t _scratch_base(const Core *core, const Step *step) noexcept nogil:
    """What is added to the lanes' addresses."""
    cdef int64_t base = <int32_t>step.immediate
    return base + <int32_t>core.wave.sgpr[step.sgpr] if step.sgpr != register_none else base


cdef inline bint _is_same_for_all(const Core *core, const uint32_t *row) noexcept nogil:
    """Whether the active lanes have the same address."""
    cdef uint32_t first = row[trailing_zeros64(core.active)]
    cdef uint32_t differs = 0
    cdef uint32_t lane
    for lane in range(<uint32_t>max_lanes):                 # the lanes that a wave lacks are idle
        differs |= (row[lane] ^ first) & core.lane_mask[lane]
    return differs == 0


cdef inline uint8_t *_scratch_host(const Core *core, const Step *step, int64_t offset) noexcept nogil:
    """The dword of lane 0 that an offset is in; NULL: outside scratch, or across two dwords."""
    cdef uint64_t base = flat_scratch(core.machine, core.wave)
    cdef uint64_t place = (<uint64_t>offset >> 2) * 4 * row_lanes * core.halves
    cdef uint32_t bytes = _span_bytes(step)
    if offset < 0 or (offset & 3) + step.rest.memory.bytes > 4:
        return NULL
    if base >> 32 and base & 3:
        return NULL
    if base >> 32:
        return _host_of(core, step, base + place, 4 * step.rest.memory.dwords * row_lanes * core.halves)
    if offset + bytes > core.machine.scratch_bytes:
        return NULL
    return core.wave.scratch + place


cdef inline bint _place_lanes(const Core *core, const Step *step, const uint32_t *row, uint32_t *places) noexcept nogil:
    """Where in scratch each lane's address lies, 0 for idle ones; False where not all of it is there."""
    cdef int64_t base = _scratch_base(core, step)
    cdef int64_t last = <int64_t>core.machine.scratch_bytes - _span_bytes(step)
    cdef uint32_t lanes = row_lanes * core.halves
    cdef uint32_t crosses = 4 - step.rest.memory.bytes      # the highest of a dword's bytes where an element begins
    cdef uint32_t offset[max_lanes]
    cdef uint64_t outside = 0
    cdef uint32_t crossing = 0
    cdef uint32_t half, lane
    cdef int64_t place
    cdef const uint32_t *mask
    if flat_scratch(core.machine, core.wave) >> 32 or last < 0:
        return False
    for half in range(core.halves):
        mask = &core.lane_mask[row_lanes * half]
        for lane in range(<uint32_t>row_lanes):
            place = base + <int32_t>row[lane]
            place = place if mask[lane] else 0
            outside |= <uint64_t>place | <uint64_t>(last - place)           # the sign says so
            offset[lane] = <uint32_t>place
        for lane in range(<uint32_t>row_lanes):
            crossing |= 1 if (offset[lane] & 3) > crosses else 0
        for lane in range(<uint32_t>row_lanes):
            places[lane] = ((offset[lane] >> 2) * lanes + lane + row_lanes * half) * 4 + (offset[lane] & 3)
        row += row_lanes
        places += row_lanes
    return outside >> 63 == 0 and crossing == 0


cdef int _step_scratch_load(Core *core, const Step *step) noexcept nogil:
    cdef const uint32_t *addresses = source_row(core, step, 0, 0)
    cdef uint32_t *row = _destination_row(core, step)
    cdef uint32_t bytes = step.rest.memory.bytes
    cdef uint32_t places[max_lanes]
    cdef uint32_t values[row_lanes]
    cdef uint32_t half, dword, lane
    cdef int64_t offset
    cdef bint same
    cdef const uint8_t *host
    if not core.active:
        return next_step(core, step)
    same = _is_same_for_all(core, addresses)
    if same:
        offset = _scratch_base(core, step) + <int32_t>addresses[trailing_zeros64(core.active)]
        host = _scratch_host(core, step, offset)
        if host == NULL:
            return step_reference(core, step)
        for lane in range(row_lanes * core.halves):
            places[lane] = 4 * lane + <uint32_t>(offset & 3)
    else:
        host = core.wave.scratch
        if not _place_lanes(core, step, addresses, places):
            return step_reference(core, step)
    for dword in range(step.rest.memory.dwords):
        for half in range(core.first_half, core.end_half):
            if same and bytes == 4:
                put_row_at(core, row + row_lanes * half, half, <const uint32_t *>host + row_lanes * half)
                continue
            if bytes == 4:
                for lane in range(<uint32_t>row_lanes):
                    values[lane] = (<const uint32_t *>(host + places[row_lanes * half + lane]))[0]
            else:
                for lane in range(<uint32_t>row_lanes):
                    values[lane] = load_element(host + places[row_lanes * half + lane], step.rest.memory)
            put_row_at(core, row + row_lanes * half, half, values)
        row += row_bytes // 4
        host += 4 * row_lanes * core.halves
    return next_step(core, step)


cdef int _step_scratch_store(Core *core, const Step *step) noexcept nogil:
    cdef const uint32_t *addresses = source_row(core, step, 0, 0)
    cdef const uint32_t *row = source_row(core, step, 1, 0)
    cdef uint32_t bytes = step.rest.memory.bytes
    cdef uint32_t places[max_lanes]
    cdef uint32_t half, dword, lane
    cdef int64_t offset
    cdef bint same
    cdef uint8_t *host
    cdef uint64_t active
    if not core.active:
        return next_step(core, step)
    same = _is_same_for_all(core, addresses)
    if same:
        offset = _scratch_base(core, step) + <int32_t>addresses[trailing_zeros64(core.active)]
        host = _scratch_host(core, step, offset)
        if host == NULL:
            return step_reference(core, step)
        for lane in range(row_lanes * core.halves):
            places[lane] = 4 * lane + <uint32_t>(offset & 3)
    else:
        host = core.wave.scratch
        if not _place_lanes(core, step, addresses, places):
            return step_reference(core, step)
    for dword in range(step.rest.memory.dwords):
        for half in range(core.first_half, core.end_half):
            if same and bytes == 4:
                put_row_at(core, <uint32_t *>host + row_lanes * half, half, row + row_lanes * half)
                continue
            active = core.active & (<uint64_t>0xffffffff << (row_lanes * half))
            while active:
                lane = trailing_zeros64(active)
                active &= active - 1
                if bytes == 4:
                    memcpy(host + places[lane], row + lane, 4)
                else:
                    store_element(host + places[lane], row[lane], bytes)
        row += row_bytes // 4
        host += 4 * row_lanes * core.halves
    return next_step(core, step)
