# Memory steps. The fast path, for all but FLAT: all lanes are active, and each sixteen of them load dwords that are consecutive or the same, or
# store consecutive ones; these are moved at once. Otherwise one look-up serves the span from the lowest address to the highest. Whatever does
# not fit is left to the reference engine, before anything is changed.
from features cimport has_oob_select, has_wrapping_buffer_offsets
from pyaco._core.common.bits cimport trailing_zeros64
from pyaco._core.emu.global_memory cimport flat_scratch, lds_base
from pyaco._core.emu.memory cimport Allocation, Memory, canonical_address, memory_at
from pyaco._core.common.machine cimport format_flat, register_none

cdef enum:
    chunk = 16                        # lanes that are moved at once
    chunks = 2                        # of a row
    few_lanes = 6                     # so many are looked at one by one


cdef struct Span:
    uint32_t offset[max_lanes]        # by lane; those of inactive lanes are an active lane's, or, where few are active, undefined
    int kind[4]                       # by chunk: chunk_*
    uint32_t lowest
    uint32_t highest


cdef void _fill_few(const Core *core, const uint32_t *row, Span *span) noexcept nogil:
    """The same where few lanes are active."""
    cdef uint64_t active = core.active
    cdef uint32_t lane, number
    for number in range(4):
        span.kind[number] = chunk_any
    span.lowest = 0xffffffffU
    span.highest = 0
    while active:
        lane = trailing_zeros64(active)
        active &= active - 1
        span.offset[lane] = row[lane]
        span.lowest = min(span.lowest, row[lane])
        span.highest = max(span.highest, row[lane])


cdef inline void _fill_span(const Core *core, const uint32_t *row, Span *span) noexcept nogil:
    cdef uint32_t lane, other, number, low, high, half
    if core.active_count <= few_lanes:
        _fill_few(core, row, span)
        return
    if not core.full:
        other = row[trailing_zeros64(core.active)]
        for lane in range(<uint32_t>max_lanes):
            span.offset[lane] = row[lane] if core.lane_mask[lane] else other
        row = span.offset
    else:
        for half in range(core.halves):
            copy_row(span.offset + row_lanes * half, row + row_lanes * half)
    span.lowest = 0xffffffffU
    span.highest = 0
    for number in range(chunks * core.halves):              # in the row itself: what was just stored would be waited for
        span.kind[number] = chunk_kind(row)
        low = row[0]
        high = row[chunk - 1]
        if span.kind[number] == chunk_any:
            chunk_bounds(row, &low, &high)
        span.lowest = min(span.lowest, low)
        span.highest = max(span.highest, high)
        row += chunk


cdef inline uint32_t *_destination_row(const Core *core, const Step *step) noexcept nogil:
    return <uint32_t *>(core.base[base_vgpr] + step.destination)


# The slow path of the steps of single dwords, where lanes cannot be moved by sixteen: reached by a tail call, or else every step would
# save the registers that it needs.
cdef Transfers general_transfers


# ----------------------------------------------------------------------------------------------------------- sixteen lanes
cdef enum:
    regular = 0x10


cdef inline uint32_t _regular_lanes(const Core *core, const uint32_t *row, uint64_t first, uint64_t size) noexcept nogil:
    """`regular` and a bit for each sixteen lanes whose addresses are consecutive; 0 unless lanes can be moved by sixteen.

    All of them are within `size` bytes, where an offset of 0 is number `first`.
    """
    cdef uint32_t found = regular
    cdef const uint32_t *lanes
    cdef uint64_t start
    cdef uint32_t half, part
    cdef int kind
    if not core.full:
        return 0
    for half in range(core.halves):
        for part in range(<uint32_t>chunks):
            lanes = row + row_lanes * half + chunk * part
            kind = chunk_kind(lanes)
            start = first + lanes[0]
            if kind == chunk_any or start > size or start + (4 * chunk if kind == chunk_sequence else 4) > size:
                return 0
            if kind == chunk_sequence:
                found |= 1 << (chunks * half + part)
    return found


cdef inline void _load_regular(const Core *core, const Step *step, uint32_t lanes, const uint32_t *row, const uint8_t *host) noexcept nogil:
    """`row` may be the destination."""
    cdef uint32_t *destination = _destination_row(core, step)
    cdef uint32_t half, part, first, lane, value
    for half in range(core.halves):
        for part in range(<uint32_t>chunks):
            first = row_lanes * half + chunk * part
            if lanes >> (chunks * half + part) & 1:
                memcpy(destination + first, host + row[first], 4 * chunk)
                continue
            value = (<const uint32_t *>(host + row[first]))[0]
            for lane in range(<uint32_t>chunk):
                destination[first + lane] = value


cdef inline bint _is_sequence(const Core *core, uint32_t lanes) noexcept nogil:
    return lanes == <uint32_t>(regular | ((1 << (chunks * core.halves)) - 1))


cdef inline void _store_regular(const Core *core, const uint32_t *row, uint8_t *host, const uint32_t *data) noexcept nogil:
    """In ascending order, because the last lane wins where addresses overlap."""
    cdef uint32_t half, part, first
    for half in range(core.halves):
        for part in range(<uint32_t>chunks):
            first = row_lanes * half + chunk * part
            memcpy(host + row[first], data + first, 4 * chunk)


cdef inline const Allocation *_last_allocation(const Core *core, const Step *step) noexcept nogil:
    """The allocation that the step accessed last, or NULL."""
    cdef const Memory *memory = core.machine.memory
    return &memory.allocations[step.allocation] if step.allocation < memory.count else NULL


cdef inline uint32_t _regular_in_memory(const Core *core, const Step *step, const uint32_t *row, uint64_t base, uint8_t **host) noexcept nogil:
    """`_regular_lanes` in the allocation that was accessed last, and the host address of offset 0."""
    cdef const Allocation *allocation = _last_allocation(core, step)
    cdef uint64_t first
    if allocation == NULL:
        return 0
    first = canonical_address(base) - allocation.address
    # as a number: `first` may be beyond the allocation, which _regular_lanes finds
    host[0] = <uint8_t *>(<uint64_t>allocation.host + first)
    return _regular_lanes(core, row, first, allocation.size)


cdef inline uint8_t *_host_of(const Core *core, const Step *step, uint64_t address, uint64_t bytes) noexcept nogil:
    """The host address of device memory; NULL unless the bytes are in one allocation."""
    cdef Memory *memory = core.machine.memory
    cdef const Allocation *allocation = _last_allocation(core, step)
    cdef uint64_t offset
    cdef uint8_t *host
    if allocation != NULL:
        offset = canonical_address(address) - allocation.address
        if offset < allocation.size and bytes <= allocation.size - offset:
            return allocation.host + offset
    host = memory_at(memory, address, bytes)
    (<Step *>step).allocation = memory.last                 # a step belongs to one thread
    return host


cdef inline void _load_chunk(const uint8_t *host, const Span *span, uint32_t number, uint32_t *values) noexcept nogil:
    cdef const uint32_t *offset = &span.offset[chunk * number]
    cdef uint32_t lane, value
    if span.kind[number] == chunk_sequence:
        memcpy(values, host + offset[0], 4 * chunk)
    elif span.kind[number] == chunk_same:
        memcpy(&value, host + offset[0], 4)
        for lane in range(<uint32_t>chunk):
            values[lane] = value
    else:
        for lane in range(<uint32_t>chunk):
            values[lane] = (<const uint32_t *>(host + offset[lane]))[0]


cdef inline uint32_t _element_at(const Step *step, const uint8_t *host) noexcept nogil:
    return (<const uint32_t *>host)[0] if step.rest.memory.bytes == 4 else load_element(host, step.rest.memory)


cdef void _load_few(const Core *core, const Step *step, const uint8_t *host, const Span *span, uint32_t *row) noexcept nogil:
    """`_load_rows` where few lanes are active. Rows are stored by vectors: the next step loads them so, and would wait for stores of dwords."""
    cdef uint64_t active = core.active
    cdef uint32_t lane, dword
    while active:
        lane = trailing_zeros64(active)
        active &= active - 1
        for dword in range(step.rest.memory.dwords):
            put_lane(row + dword * (row_bytes // 4) + (lane & ~<uint32_t>(chunk - 1)), lane % chunk,
                     _element_at(step, host + span.offset[lane] + 4 * dword))


cdef inline void _load_rows(Core *core, const Step *step, const uint8_t *host, const Span *span, uint32_t *row) noexcept nogil:
    """Every element into its registers."""
    cdef uint32_t values[row_lanes]
    cdef uint32_t half, dword, lane, number
    if core.active_count <= few_lanes:
        _load_few(core, step, host, span, row)
        return
    if core.full and step.rest.memory.dwords == 4:
        for number in range(chunks * core.halves):
            load_quads(host, &span.offset[chunk * number], row + chunk * number)
        return
    for half in range(core.halves):
        if step.rest.memory.bytes != 4:
            for lane in range(<uint32_t>row_lanes):
                values[lane] = load_element(host + span.offset[row_lanes * half + lane], step.rest.memory)
            put_row_at(core, row + row_lanes * half, half, values)
            continue
        for dword in range(step.rest.memory.dwords):
            for number in range(<uint32_t>chunks):
                _load_chunk(host + 4 * dword, span, chunks * half + number, &values[chunk * number])
            put_row_at(core, row + dword * (row_bytes // 4) + row_lanes * half, half, values)


cdef inline void _store_rows(const Core *core, const Step *step, uint8_t *host, const Span *span, const uint32_t *row) noexcept nogil:
    """Lane after lane, because the last one wins where addresses overlap."""
    cdef uint32_t lane, dword, number
    cdef uint32_t bytes = step.rest.memory.bytes
    cdef uint32_t dwords = step.rest.memory.dwords
    cdef uint64_t active
    if core.full and dwords == 4:
        for number in range(chunks * core.halves):
            store_quads(host, &span.offset[chunk * number], row + chunk * number)
        return
    active = core.active
    if bytes == 4 and dwords == 1:
        if core.full:
            for lane in range(0, row_lanes * core.halves, 2):
                memcpy(host + span.offset[lane], row + lane, 4)
                memcpy(host + span.offset[lane + 1], row + lane + 1, 4)
            return
        while active:
            lane = trailing_zeros64(active)
            active &= active - 1
            memcpy(host + span.offset[lane], row + lane, 4)
        return
    while active:
        lane = trailing_zeros64(active)
        active &= active - 1
        if bytes != 4:
            memcpy(host + span.offset[lane], row + lane, bytes)
            continue
        for dword in range(dwords):
            memcpy(host + span.offset[lane] + 4 * dword, row + lane + dword * (row_bytes // 4), 4)


cdef inline uint32_t _span_bytes(const Step *step) noexcept nogil:
    """Bytes that one lane accesses."""
    return 4 * step.rest.memory.dwords if step.rest.memory.bytes == 4 else step.rest.memory.bytes


# --------------------------------------------------------------------------------------------------------- flat, global
cdef inline bint _is_aperture(uint64_t address) noexcept nogil:
    return address >> 32 == 0x00010000 or address >> 32 == 0x00020000


cdef inline bint _find_global_base(const Core *core, const Step *step, uint64_t *base) noexcept nogil:
    """The base that the lanes' offsets, the low dwords of their addresses, are added to; False: lanes differ in the high dword."""
    cdef const uint32_t *high
    cdef uint32_t lane
    cdef uint32_t differs = 0
    if step.wide_address == address_pair:
        high = source_row(core, step, 0, 0) + row_bytes // 4
        base[0] = high[trailing_zeros64(core.active)]
        for lane in range(row_lanes * core.halves):
            differs |= (high[lane] ^ <uint32_t>base[0]) & core.lane_mask[lane]
        base[0] <<= 32
    else:
        base[0] = core.wave.sgpr[step.sgpr] | (<uint64_t>core.wave.sgpr[step.sgpr + 1] << 32)
    if step.wide_address == address_signed_offset:          # negative ones are left to the reference engine
        high = source_row(core, step, 0, 0)
        for lane in range(row_lanes * core.halves):
            differs |= (high[lane] >> 31) & core.lane_mask[lane]
    base[0] += <uint64_t><int64_t><int32_t>step.immediate
    return differs == 0


cdef inline uint32_t _regular_global(const Core *core, const Step *step, uint8_t **host) noexcept nogil:
    cdef uint64_t base
    if not core.full or not _find_global_base(core, step, &base):
        return 0
    return _regular_in_memory(core, step, source_row(core, step, 0, 0), base, host)


cdef inline uint8_t *_global_host(const Core *core, const Step *step, Span *span) noexcept nogil:
    """The host address of offset 0 of the span; NULL unless all lanes are in one allocation."""
    cdef uint64_t base
    cdef uint8_t *host
    if not _find_global_base(core, step, &base):
        return NULL
    _fill_span(core, source_row(core, step, 0, 0), span)
    if step.instruction.decoded.format & 0x7f == format_flat and (_is_aperture(base + span.lowest) or _is_aperture(base + span.highest)):
        return NULL
    host = _host_of(core, step, base + span.lowest, <uint64_t>span.highest - span.lowest + _span_bytes(step))
    return host - span.lowest if host != NULL else NULL


cdef int _step_global_load_dword(Core *core, const Step *step) noexcept nogil:
    cdef uint8_t *host
    cdef uint32_t lanes = _regular_global(core, step, &host)
    if not lanes:
        return general_transfers.global_load(core, step)
    _load_regular(core, step, lanes, source_row(core, step, 0, 0), host)
    return next_step(core, step)


cdef int _step_global_load(Core *core, const Step *step) noexcept nogil:
    cdef Span span
    cdef uint8_t *host
    if core.active:
        host = _global_host(core, step, &span)
        if host == NULL:
            return step_reference(core, step)
        _load_rows(core, step, host, &span, _destination_row(core, step))
    return next_step(core, step)


cdef int _step_global_store_dword(Core *core, const Step *step) noexcept nogil:
    cdef uint8_t *host
    if not _is_sequence(core, _regular_global(core, step, &host)):
        return general_transfers.global_store(core, step)
    _store_regular(core, source_row(core, step, 0, 0), host, source_row(core, step, 1, 0))
    return next_step(core, step)


cdef int _step_global_store(Core *core, const Step *step) noexcept nogil:
    cdef Span span
    cdef uint8_t *host
    if core.active:
        host = _global_host(core, step, &span)
        if host == NULL:
            return step_reference(core, step)
        _store_rows(core, step, host, &span, source_row(core, step, 1, 0))
    return next_step(core, step)


# --------------------------------------------------------------------------------------------------------------- buffers
cdef inline bint _is_raw(const Core *core, const uint32_t *words) noexcept nogil:
    """A descriptor without stride, swizzle and lane numbers, whose range is checked by bytes."""
    if words[1] >> 16 or (words[3] >> 23) & 1:
        return False
    return not has_oob_select(core.machine.gfx_level) or (words[3] >> 28) & 3 == 3


cdef inline uint64_t _buffer_base(const uint32_t *words) noexcept nogil:
    return words[0] | (<uint64_t>(words[1] & 0xffff) << 32)


cdef inline uint64_t _buffer_offset(const Core *core, const Step *step) noexcept nogil:
    """What is added to the offset of every lane."""
    return <uint64_t>step.immediate + (<const uint32_t *>(core.base[step.base[2]] + step.offset[2]))[0]


cdef inline uint32_t _regular_buffer(const Core *core, const Step *step, uint8_t **host) noexcept nogil:
    cdef const uint32_t *words = &core.wave.sgpr[step.sgpr]
    cdef const Allocation *allocation = _last_allocation(core, step)
    cdef uint64_t fixed = _buffer_offset(core, step)
    cdef uint64_t first
    if allocation == NULL or not _is_raw(core, words) or fixed > words[2]:
        return 0
    first = canonical_address(_buffer_base(words) + fixed) - allocation.address
    if first > allocation.size:
        return 0
    host[0] = allocation.host + first
    return _regular_lanes(core, source_row(core, step, 0, 0), first, min(allocation.size, first + (words[2] - fixed)))


cdef inline uint8_t *_buffer_host(const Core *core, const Step *step, Span *span) noexcept nogil:
    """The host address of offset 0 of the span; NULL unless all lanes are within the descriptor's range."""
    cdef const uint32_t *words = &core.wave.sgpr[step.sgpr]
    cdef uint64_t fixed = _buffer_offset(core, step)
    cdef uint8_t *host
    if not _is_raw(core, words):
        return NULL
    _fill_span(core, source_row(core, step, 0, 0), span)
    if fixed + span.highest + _span_bytes(step) > words[2]:
        return NULL
    host = _host_of(core, step, _buffer_base(words) + fixed + span.lowest, <uint64_t>span.highest - span.lowest + _span_bytes(step))
    return host - span.lowest if host != NULL else NULL


cdef inline bint _is_all_beyond(const Core *core, const Step *step, const Span *span) noexcept nogil:
    """Whether no active lane reaches into the descriptor's range, after `_buffer_host` found no address. The scalar offset is in no range check of
    early chips: here it counts on none. Sums that wrap are left to the reference.
    """
    cdef const uint32_t *words = &core.wave.sgpr[step.sgpr]
    if has_wrapping_buffer_offsets(core.machine.gfx_level) and <uint64_t>step.immediate + span.highest > 0xffffffffU:
        return False
    return _is_raw(core, words) and <uint64_t>step.immediate + span.lowest + step.rest.memory.bytes > words[2]


cdef inline void _clear_rows(const Core *core, const Step *step) noexcept nogil:
    """What loads outside of a range give."""
    cdef uint32_t zeros[row_lanes]
    cdef uint32_t half, dword
    memset(zeros, 0, sizeof(zeros))
    for dword in range(step.rest.memory.dwords):
        for half in range(core.first_half, core.end_half):
            put_row_at(<Core *>core, _destination_row(core, step) + dword * (row_bytes // 4) + row_lanes * half, half, zeros)


cdef int _step_buffer_load_dword(Core *core, const Step *step) noexcept nogil:
    cdef uint8_t *host
    cdef uint32_t lanes = _regular_buffer(core, step, &host)
    if not lanes:
        return general_transfers.buffer_load(core, step)
    _load_regular(core, step, lanes, source_row(core, step, 0, 0), host)
    return next_step(core, step)


cdef int _step_buffer_load(Core *core, const Step *step) noexcept nogil:
    cdef Span span
    cdef uint8_t *host
    if core.active:
        host = _buffer_host(core, step, &span)
        if host == NULL and _is_all_beyond(core, step, &span):
            _clear_rows(core, step)
            return next_step(core, step)
        if host == NULL:
            return step_reference(core, step)
        _load_rows(core, step, host, &span, _destination_row(core, step))
    return next_step(core, step)


cdef int _step_buffer_store_dword(Core *core, const Step *step) noexcept nogil:
    cdef uint8_t *host
    if not _is_sequence(core, _regular_buffer(core, step, &host)):
        return general_transfers.buffer_store(core, step)
    _store_regular(core, source_row(core, step, 0, 0), host, source_row(core, step, 1, 0))
    return next_step(core, step)


cdef int _step_buffer_store(Core *core, const Step *step) noexcept nogil:
    cdef Span span
    cdef uint8_t *host
    if core.active:
        host = _buffer_host(core, step, &span)
        if host == NULL and _is_all_beyond(core, step, &span):
            return next_step(core, step)
        if host == NULL:
            return step_reference(core, step)
        _store_rows(core, step, host, &span, source_row(core, step, 1, 0))
    return next_step(core, step)


# ------------------------------------------------------------------------------------------------------------------- LDS
cdef inline uint32_t _lds_offset(const Step *step, uint32_t number) noexcept nogil:
    """The constant part of the first or second address."""
    cdef uint32_t scale = step.rest.memory.bytes * step.rest.memory.dwords
    if not step.rest.memory.pair:
        return step.immediate & 0xffff
    if step.rest.memory.pair == 2:
        scale *= 64
    return ((step.immediate >> (16 * number)) & (0xff if number else 0xffff)) * scale


cdef inline bint _fill_lds_span(const Core *core, const Step *step, Span *span) noexcept nogil:
    cdef uint64_t last = _lds_offset(step, 0)
    if step.rest.memory.pair:
        last = max(last, <uint64_t>_lds_offset(step, 1))
    _fill_span(core, source_row(core, step, 0, 0), span)
    return span.highest + last + _span_bytes(step) <= lds_reach(core.machine, core.wave)


cdef inline uint32_t _regular_lds(const Core *core, const Step *step, uint8_t **host) noexcept nogil:
    cdef uint32_t first = step.immediate & 0xffff
    host[0] = core.machine.lds + first
    return _regular_lanes(core, source_row(core, step, 0, 0), first, lds_reach(core.machine, core.wave))


cdef int _step_lds_load_dword(Core *core, const Step *step) noexcept nogil:
    cdef uint8_t *host
    cdef uint32_t lanes = _regular_lds(core, step, &host)
    if not lanes:
        return general_transfers.lds_load(core, step)
    _load_regular(core, step, lanes, source_row(core, step, 0, 0), host)
    return next_step(core, step)


cdef int _step_lds_load(Core *core, const Step *step) noexcept nogil:
    cdef Span span
    cdef uint32_t number
    if core.active:
        if not _fill_lds_span(core, step, &span):
            return step_reference(core, step)
        for number in range(2 if step.rest.memory.pair else 1):
            _load_rows(core, step, core.machine.lds + _lds_offset(step, number), &span,
                       _destination_row(core, step) + number * step.rest.memory.dwords * (row_bytes // 4))
    return next_step(core, step)


cdef int _step_lds_store_dword(Core *core, const Step *step) noexcept nogil:
    cdef uint8_t *host
    if not _is_sequence(core, _regular_lds(core, step, &host)):
        return general_transfers.lds_store(core, step)
    _store_regular(core, source_row(core, step, 0, 0), host, source_row(core, step, 1, 0))
    return next_step(core, step)


cdef int _step_lds_store(Core *core, const Step *step) noexcept nogil:
    cdef Span span
    if core.active:
        if not _fill_lds_span(core, step, &span):
            return step_reference(core, step)
        _store_rows(core, step, core.machine.lds + _lds_offset(step, 0), &span, source_row(core, step, 1, 0))
    return next_step(core, step)


cdef inline void _store_pairs(const Core *core, const Step *step, const Span *span, uint32_t dwords) noexcept nogil:
    """Both stores of a lane before those of the next. `dwords` is a constant wherever this is called."""
    cdef uint8_t *first = core.machine.lds + _lds_offset(step, 0)
    cdef uint8_t *second = core.machine.lds + _lds_offset(step, 1)
    cdef const uint32_t *first_row = source_row(core, step, 1, 0)
    cdef const uint32_t *second_row = source_row(core, step, 3, 0)
    cdef uint32_t lane, dword
    cdef uint64_t active = core.active
    while active:
        lane = trailing_zeros64(active)
        active &= active - 1
        for dword in range(dwords):
            memcpy(first + span.offset[lane] + 4 * dword, &first_row[lane + dword * (row_bytes // 4)], 4)
        for dword in range(dwords):
            memcpy(second + span.offset[lane] + 4 * dword, &second_row[lane + dword * (row_bytes // 4)], 4)


cdef int _step_lds_store_pair(Core *core, const Step *step) noexcept nogil:
    cdef Span span
    if core.active:
        if not _fill_lds_span(core, step, &span):
            return step_reference(core, step)
        if step.rest.memory.dwords == 1:
            _store_pairs(core, step, &span, 1)
        else:
            _store_pairs(core, step, &span, 2)
    return next_step(core, step)


# 16 lanes load rows of 16 elements that follow each other, and each gets a column.
cdef inline bint _load_sixteens(const Core *core, const Step *step, uint64_t *loaded) noexcept nogil:
    """Eight bytes of each of 64 lanes; False where the reference engine is to do it."""
    cdef const uint32_t *addresses = source_row(core, step, 0, 0)
    cdef const uint8_t *host = core.machine.lds + (step.immediate & 0xffff)
    cdef uint32_t highest = 0
    cdef uint32_t lane
    if not core.full or core.halves != 2:
        return False
    for lane in range(<uint32_t>max_lanes):
        highest = max(highest, addresses[lane])
    if <uint64_t>highest + (step.immediate & 0xffff) + 8 > core.machine.lds_bytes:
        return False
    for lane in range(<uint32_t>max_lanes):
        memcpy(&loaded[lane], host + addresses[lane], 8)
    return True


cdef int _step_lds_transpose16(Core *core, const Step *step) noexcept nogil:
    cdef uint64_t loaded[max_lanes]
    cdef const uint16_t *elements
    cdef uint32_t *row = _destination_row(core, step)
    cdef uint32_t group, lane
    if not _load_sixteens(core, step, loaded):
        return step_reference(core, step)
    for group in range(4):
        elements = <const uint16_t *>&loaded[chunk * group]
        for lane in range(<uint32_t>chunk):
            row[chunk * group + lane] = elements[lane] | (<uint32_t>elements[16 + lane] << 16)
        for lane in range(<uint32_t>chunk):
            row[max_lanes + chunk * group + lane] = elements[32 + lane] | (<uint32_t>elements[48 + lane] << 16)
    return next_step(core, step)


cdef int _step_lds_transpose8(Core *core, const Step *step) noexcept nogil:
    cdef uint64_t loaded[max_lanes]
    cdef const uint8_t *elements
    cdef uint32_t *row = _destination_row(core, step)
    cdef uint32_t group, lane, dword
    if not _load_sixteens(core, step, loaded):
        return step_reference(core, step)
    for group in range(4):
        for dword in range(2):
            elements = <const uint8_t *>&loaded[chunk * group] + 64 * dword
            for lane in range(<uint32_t>chunk):
                row[max_lanes * dword + chunk * group + lane] = (elements[lane] | (<uint32_t>elements[16 + lane] << 8)
                                                                 | (<uint32_t>elements[32 + lane] << 16) | (<uint32_t>elements[48 + lane] << 24))
    return next_step(core, step)


# Memory to LDS: the dwords of every lane side by side, from m0 and the instruction's offset on.
cdef inline bint _move_to_lds(const Core *core, const Step *step, const uint8_t *host, const Span *span) noexcept nogil:
    """False, with nothing moved, where LDS ends before."""
    cdef uint64_t position = lds_base(core.machine, core.wave) + <uint64_t><int64_t><int32_t>step.immediate
    cdef uint32_t bytes = 4 * step.rest.memory.dwords
    cdef uint32_t lanes = row_lanes * core.halves
    cdef uint64_t size = core.machine.lds_bytes
    cdef uint8_t *lds = core.machine.lds + position
    cdef uint32_t lane
    if position > size or bytes * lanes > size - position:
        return False
    if core.full and bytes == 16:
        for lane in range(lanes):
            memcpy(lds + 16 * lane, host + span.offset[lane], 16)
        return True
    for lane in range(lanes):
        if core.lane_mask[lane]:
            memcpy(lds + bytes * lane, host + span.offset[lane], bytes)
    return True


cdef int _step_global_to_lds(Core *core, const Step *step) noexcept nogil:
    cdef Span span
    cdef uint8_t *host
    if core.active:
        host = _global_host(core, step, &span)
        if host == NULL or not _move_to_lds(core, step, host, &span):
            return step_reference(core, step)
    return next_step(core, step)


cdef int _step_buffer_to_lds(Core *core, const Step *step) noexcept nogil:
    cdef Span span
    cdef uint8_t *host
    if core.active:
        host = _buffer_host(core, step, &span)
        if host == NULL or not _move_to_lds(core, step, host, &span):
            return step_reference(core, step)
    return next_step(core, step)


cdef int _step_permute(Core *core, const Step *step) noexcept nogil:
    """DS_BPERMUTE: lanes of a group read each other's data; inactive lanes read as zero unless the instruction reads those too."""
    cdef const uint32_t *address
    cdef uint32_t index[max_lanes]
    cdef uint32_t values[max_lanes]
    cdef uint32_t valid[row_lanes]
    cdef uint32_t *indices
    cdef uint32_t *found
    cdef uint32_t group = step.rest.lane_group_mask
    cdef uint32_t keep = 0xffffffffU if step.rest.reads_inactive else 0
    cdef uint32_t half, lane
    for half in range(core.halves):
        address = source_row(core, step, 0, half)
        indices = &index[row_lanes * half]
        for lane in range(<uint32_t>row_lanes):
            indices[lane] = ((row_lanes * half) & ~group) | (((address[lane] + (step.immediate & 0xffff)) >> 2) & group)
    for half in range(core.halves):
        found = &values[row_lanes * half]
        gather_row(source_row(core, step, 1, 0), &index[row_lanes * half], found)
        gather_row(core.lane_mask, &index[row_lanes * half], valid)
        for lane in range(<uint32_t>row_lanes):
            found[lane] &= valid[lane] | keep
    for half in range(core.halves):
        put_row(core, step, half, &values[row_lanes * half])
    return next_step(core, step)


cdef int _step_push(Core *core, const Step *step) noexcept nogil:
    """DS_PERMUTE: active lanes write to lanes of their group, of which the others get zero; the highest lane that writes to one wins."""
    cdef const uint32_t *address = source_row(core, step, 0, 0)
    cdef const uint32_t *data = source_row(core, step, 1, 0)
    cdef uint32_t values[max_lanes]
    cdef uint32_t group = step.rest.lane_group_mask
    cdef uint64_t active = core.active
    cdef uint32_t half, lane
    memset(values, 0, sizeof(values))
    while active:
        lane = trailing_zeros64(active)
        active &= active - 1
        values[(lane & ~group) | (((address[lane] + (step.immediate & 0xffff)) >> 2) & group)] = data[lane]
    for half in range(core.halves):
        put_row(core, step, half, &values[row_lanes * half])
    return next_step(core, step)


# ---------------------------------------------------------------------------------------------------------------- scalar
cdef int _step_scalar_load(Core *core, const Step *step) noexcept nogil:
    cdef const uint32_t *words = &core.wave.sgpr[step.sgpr]
    cdef uint64_t base = words[0] | (<uint64_t>words[1] << 32)
    cdef uint64_t offset = <uint64_t><int64_t><int32_t>step.immediate + (<const uint32_t *>(core.base[step.base[2]] + step.offset[2]))[0]
    cdef uint64_t bytes = 4 * step.rest.memory.dwords
    cdef uint64_t limit
    cdef uint64_t stride
    cdef const uint8_t *host
    if step.rest.memory.buffered:
        stride = (base >> 48) & 0x3fff
        base &= 0xffffffffffffULL
        limit = words[2]
        if stride:
            limit *= stride
        if offset + bytes > limit or offset > limit:
            return step_reference(core, step)
    host = _host_of(core, step, (base + offset) & ~<uint64_t>3, bytes)
    if host == NULL:
        return step_reference(core, step)
    memcpy(&core.wave.sgpr[step.destination], host, bytes)
    return next_step(core, step)


cdef void _set_general_transfers(const MemorySteps *table) noexcept nogil:
    global general_transfers
    general_transfers = table.general


cdef void fill_memory_steps(MemorySteps *table) noexcept nogil:
    table.general = Transfers(_step_global_load, _step_global_store, _step_buffer_load, _step_buffer_store, _step_lds_load, _step_lds_store)
    table.dword = Transfers(_step_global_load_dword, _step_global_store_dword, _step_buffer_load_dword, _step_buffer_store_dword,
                            _step_lds_load_dword, _step_lds_store_dword)
    _set_general_transfers(table)
    table.lds_store_pair = _step_lds_store_pair
    table.lds_atomic = _step_lds_atomic
    table.lds_transpose16 = _step_lds_transpose16
    table.lds_transpose8 = _step_lds_transpose8
    table.global_to_lds = _step_global_to_lds
    table.buffer_to_lds = _step_buffer_to_lds
    table.permute = _step_permute
    table.push = _step_push
    table.global_atomic = _step_global_atomic
    table.buffer_atomic = _step_buffer_atomic
    table.scratch_load = _step_scratch_load
    table.scratch_store = _step_scratch_store
    table.scalar_load = _step_scalar_load
