"""When a wave issues its instructions. The contract is in ``wave_clock.pxd``."""
from libc.stdint cimport uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from features cimport has_split_wait_counters, has_store_counter
from isa_opcodes cimport *
from isa_tables cimport (
    implicit_exec, implicit_m0, implicit_scc, implicit_vcc, latency_branch, opcode_implicit_definitions, opcode_implicit_operands,
    opcode_latency,
)
from pyaco._core.common.cycles cimport (
    Cycles, export_latency, lds_latency, resource_count, resource_lds, resource_matrix, resource_vmem,
    scalar_cache_latency, scalar_memory_latency, vector_memory_latency,
)
from pyaco._core.common.machine cimport (
    format_ds, format_exp, format_flat, format_is_flat_like, format_is_valu, format_is_vmem, format_ldsdir, format_smem, gfx10, register_none,
)
from pyaco._core.emu.access cimport access_nothing
from pyaco._core.emu.cycles cimport instruction_cycles, issue_passes
from pyaco._core.emu.global_memory cimport memory_operation
from pyaco._core.emu.wave cimport Instruction, LaneOperation, Wave, sgpr_exec, sgpr_m0, sgpr_vcc, type_mask, type_old
from pyaco._core.emu.wave_sync cimport minus_three
from pyaco._core.emu_inspect.measured_cycles cimport (
    beyond_vector, branch_passed_step, branch_taken_step, correct_cycles, is_measured, measured_lds_latency,
)
from pyaco._core.emu_inspect.waits cimport (
    WaitCounts, counter_async, counter_exp, counter_km, counter_lgkm, counter_limit, counter_sample, counter_tensor, counter_vm, counter_vs,
    is_async_copy, is_counted_as_sample, is_tensor, wait_counts,
)

cdef enum:
    sleep_cycles = 64                 # s_sleep counts them
    scc = 253                         # its place among the registers


cdef void clock_start(WaveClock *clock) noexcept nogil:
    memset(clock, 0, sizeof(WaveClock))


cdef bint is_arrival(const Decoded *d) noexcept nogil:
    return d.opcode == <uint32_t>op_s_barrier or ((d.opcode == <uint32_t>op_s_barrier_signal or d.opcode == <uint32_t>op_s_barrier_signal_isfirst)
                                                  and d.source[0] != minus_three)


# ----------------------------------------------------------------------------------------------------------------- counters
cdef uint64_t _wait(WaveClock *clock, uint32_t counter, uint32_t limit, uint64_t time) noexcept nogil:
    """The time at which no more than `limit` operations of a counter are in flight, `time` if that is so already."""
    while clock.count[counter] > limit:
        time = max(time, clock.done[counter][clock.first[counter]])
        clock.first[counter] = (clock.first[counter] + 1) % clock_depth
        clock.count[counter] -= 1
    return time


cdef void _begin(WaveClock *clock, uint32_t counter, uint64_t end) noexcept nogil:
    """An operation that ends then, or with the one before it where that is later."""
    cdef uint32_t last = (clock.first[counter] + clock.count[counter] + clock_depth - 1) % clock_depth
    if clock.count[counter]:
        end = max(end, clock.done[counter][last])
    clock.done[counter][(last + 1) % clock_depth] = end
    clock.count[counter] += 1


cdef uint32_t _counters_of(const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    """A bit for each counter that an operation is counted by: of a flat one, by both of its."""
    cdef uint16_t base = instruction.decoded.format & 0x7f
    cdef bint loads = instruction.decoded.destination_count != 0
    if memory_operation(instruction.decoded.opcode).access == access_nothing:
        return 0
    if base == format_smem:
        return 1 << (counter_km if has_split_wait_counters(gfx_level) else counter_lgkm)
    if base == format_ds:
        return 1 << counter_lgkm
    if base == format_exp or base == format_ldsdir:
        return 1 << counter_exp
    if is_counted_as_sample(instruction, gfx_level):
        return 1 << counter_sample
    if is_async_copy(instruction):
        return 1 << counter_async
    if is_tensor(instruction):
        return 1 << counter_tensor
    if format_is_vmem(base) or format_is_flat_like(base):
        return (1 << (counter_vm if loads or not has_store_counter(gfx_level) else counter_vs)) | (
            1 << counter_lgkm if base == format_flat and loads else 0)
    return 0


cdef inline uint32_t _lds_latency(uint32_t gfx_level, uint32_t passes) noexcept nogil:
    return (<uint32_t>measured_lds_latency if is_measured(gfx_level) else <uint32_t>lds_latency) + max(passes, <uint32_t>1) - 1


cdef uint32_t _latency(const Instruction *instruction, uint32_t gfx_level, uint32_t lines, uint32_t passes) noexcept nogil:
    """Cycles from issue to the end of a memory operation."""
    cdef uint16_t base = instruction.decoded.format & 0x7f
    if base == format_smem:                                 # descriptors and constants at fixed offsets are likely in the scalar cache
        if instruction.decoded.destination_count and (instruction.decoded.source_bytes[0] == 8 or instruction.decoded.source[1] == register_none):
            return scalar_cache_latency
        return scalar_memory_latency
    if base == format_exp:
        return export_latency
    if base == format_ds or base == format_ldsdir:
        return _lds_latency(gfx_level, passes)
    return vector_memory_latency + max(lines, <uint32_t>1) - 1


# ---------------------------------------------------------------------------------------------------------------- registers
cdef inline uint32_t _end_of(uint32_t first, uint32_t bytes, uint32_t lanes) noexcept nogil:
    return min(first + max(<uint32_t>1, ((bytes if bytes else lanes // 8) + 3) >> 2), <uint32_t>clock_registers)


cdef inline uint32_t _implied(uint32_t implied, uint32_t lanes, uint32_t place) noexcept nogil:
    """The registers of implied operands, from `place` 0 on; 0 behind the last: s0 is never implied."""
    cdef uint32_t[6] registers = [
        scc if implied & implicit_scc else 0, sgpr_m0 if implied & implicit_m0 else 0, sgpr_vcc if implied & implicit_vcc else 0,
        sgpr_vcc + 1 if implied & implicit_vcc and lanes == 64 else 0, sgpr_exec if implied & implicit_exec else 0,
        sgpr_exec + 1 if implied & implicit_exec and lanes == 64 else 0,
    ]
    return registers[place]


cdef uint64_t _registers_ready(WaveClock *clock, const Wave *wave, const Instruction *instruction, uint64_t time) noexcept nogil:
    cdef uint32_t i, number, first
    cdef uint64_t *ready = &clock.ready[0] if format_is_valu(instruction.decoded.format) else &clock.ready_elsewhere[0]
    cdef const LaneOperation *operation
    cdef uint32_t implied = opcode_implicit_operands[instruction.decoded.opcode]
    for i in range(instruction.decoded.source_count):
        first = instruction.decoded.source[i] >> 2
        if instruction.decoded.source[i] == register_none or (128 <= first < 256):
            continue
        for number in range(first, _end_of(first, instruction.decoded.source_bytes[i], wave.lanes)):
            time = max(time, ready[number])
    if is_async_copy(instruction) and instruction.decoded.destination_count:        # an address in LDS
        time = max(time, ready[min(<uint32_t>instruction.decoded.destination[0] >> 2, <uint32_t>clock_registers - 1)])
    if instruction.operation_y != NULL:                     # a third source of a half of VOPD is its destination, VCC or a literal
        for i in range(2):
            operation = instruction.operation_y if i else instruction.operation
            if operation.source_count > 2 and operation.source_type[2] & type_old:
                time = max(time, ready[instruction.decoded.destination[i] >> 2])
            elif operation.source_count > 2 and operation.source_type[2] == <int>type_mask:
                time = max(time, ready[<int>sgpr_vcc])
    if implied:
        for i in range(6):
            time = max(time, ready[_implied(implied, wave.lanes, i)] if _implied(implied, wave.lanes, i) else 0)
    return time


cdef uint64_t _overwritable(const WaveClock *clock, const Wave *wave, const Instruction *instruction, uint64_t time) noexcept nogil:
    """When the vector ALU has read what a memory operation overwrites."""
    cdef uint32_t i, number, first
    for i in range(instruction.decoded.destination_count):
        first = instruction.decoded.destination[i] >> 2
        if first >= 256 and instruction.decoded.destination[i] != register_none:
            for number in range(first, _end_of(first, instruction.decoded.destination_bytes[i], wave.lanes)):
                time = max(time, clock.read_until[number])
    return time


cdef void _set_read(WaveClock *clock, const Wave *wave, const Instruction *instruction, uint64_t time) noexcept nogil:
    cdef uint32_t i, number, first
    for i in range(instruction.decoded.source_count):
        first = instruction.decoded.source[i] >> 2
        if first >= 256 and instruction.decoded.source[i] != register_none:
            for number in range(first, _end_of(first, instruction.decoded.source_bytes[i], wave.lanes)):
                clock.read_until[number] = max(clock.read_until[number], time)


cdef inline void _set_one(WaveClock *clock, uint32_t number, uint64_t time, uint64_t elsewhere) noexcept nogil:
    clock.ready[number] = max(clock.ready[number], time)
    clock.ready_elsewhere[number] = max(clock.ready_elsewhere[number], elsewhere)


cdef void _set_ready(WaveClock *clock, const Wave *wave, const Instruction *instruction, uint64_t time, uint64_t elsewhere) noexcept nogil:
    cdef uint32_t i, number, first
    cdef uint32_t implied = opcode_implicit_definitions[instruction.decoded.opcode]
    for i in range(0 if is_async_copy(instruction) else instruction.decoded.destination_count):
        first = instruction.decoded.destination[i] >> 2
        if instruction.decoded.destination[i] == register_none or (128 <= first < 256):
            continue
        for number in range(first, _end_of(first, instruction.decoded.destination_bytes[i], wave.lanes)):
            _set_one(clock, number, time, elsewhere)
    if implied:
        for i in range(6):
            number = _implied(implied, wave.lanes, i)
            if number:
                _set_one(clock, number, time, elsewhere)


# -------------------------------------------------------------------------------------------------------------------- issue
cdef uint64_t _available(WaveClock *clock, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                         uint32_t counters) noexcept nogil:
    """When counters and registers let an instruction be issued."""
    cdef WaitCounts counts
    cdef uint32_t counter, i
    cdef uint64_t time = clock.now
    if instruction.decoded.opcode == <int>op_s_endpgm:
        for counter in range(<uint32_t>clock_counters):
            time = _wait(clock, counter, 0, time)
        for i in range(<uint32_t>clock_registers):
            time = max(time, clock.ready[i])
    elif wait_counts(wave, instruction, gfx_level, &counts):
        for counter in range(<uint32_t>clock_counters):
            time = _wait(clock, counter, counts.count[counter], time)
    for counter in range(<uint32_t>clock_counters):
        if counters >> counter & 1:
            time = _wait(clock, counter, min(counter_limit(counter, gfx_level), <uint32_t>clock_depth) - 1, time)
    time = _registers_ready(clock, wave, instruction, time)
    if counters:
        time = _overwritable(clock, wave, instruction, time)
    return time if gfx_level >= gfx10 else (time + 3) // 4 * 4          # GCN issues every four cycles


cdef uint32_t _step(const Wave *wave, const Instruction *instruction, const Cycles *cycles, uint32_t gfx_level) noexcept nogil:
    """Cycles until the wave's next instruction: GCN does not begin it before this one is finished, matrix operations apart."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t one = 1 if gfx_level >= gfx10 else 4
    if opcode == <uint32_t>op_s_nop:
        return one * (1 + (instruction.decoded.immediate & 15))
    if opcode == <uint32_t>op_s_sleep:
        return one + sleep_cycles * (instruction.decoded.immediate & 127)
    if is_measured(gfx_level) and opcode_latency[opcode] == latency_branch and opcode != <uint32_t>op_s_endpgm:
        return branch_passed_step if wave.pc == instruction.pc + 4 * instruction.decoded.dwords else branch_taken_step
    return one if gfx_level >= gfx10 or cycles.resource1 == resource_matrix else <uint32_t>cycles.latency


cdef inline bint _is_half(const Wave *wave, uint64_t active) noexcept nogil:
    """Whether all active lanes of a wave64 are in one half: the other is skipped."""
    return wave.lanes == 64 and (active >> 32 == 0 or <uint32_t>active == 0)


cdef Issue clock_issue(WaveClock *clock, const Wave *wave, const Instruction *instruction, uint32_t gfx_level, uint64_t active, uint32_t lines,
                       uint32_t passes) noexcept nogil:
    cdef Cycles cycles = instruction_cycles(instruction, gfx_level)
    cdef uint32_t times = 1 if _is_half(wave, active) else issue_passes(instruction, gfx_level, wave.lanes)
    cdef uint32_t counters = _counters_of(instruction, gfx_level)
    cdef uint32_t step
    cdef uint32_t busy = max(lines if cycles.resource0 == resource_vmem else 0, passes if cycles.resource0 == resource_lds else 0)
    cdef uint64_t before = clock.now
    cdef uint64_t time = _available(clock, wave, instruction, gfx_level, counters)
    cdef uint64_t end = time
    cdef uint32_t counter, i
    cdef Issue issue
    correct_cycles(&cycles, instruction, gfx_level)
    step = _step(wave, instruction, &cycles, gfx_level)
    memset(&issue, 0, sizeof(issue))
    for i in range(times):
        if cycles.resource0 < resource_count:
            time = max(time, clock.free_at[cycles.resource0])
        if cycles.resource1 < resource_count:
            time = max(time, clock.free_at[cycles.resource1])
        if i == 0:
            issue.start = time
        if cycles.resource0 < resource_count:
            clock.free_at[cycles.resource0] = time + cycles.cost0
        if cycles.resource1 < resource_count:
            clock.free_at[cycles.resource1] = time + cycles.cost1
        end = time
        time += step
    issue.busy0 = max(<uint32_t>cycles.cost0 * times, busy) if cycles.resource0 < resource_count else 0
    issue.busy1 = cycles.cost1 * times if cycles.resource1 < resource_count else 0
    if busy > <uint32_t>cycles.cost0 * times:
        clock.free_at[cycles.resource0] = issue.start + busy
    issue.issue = <uint32_t>(time - issue.start)
    issue.stall = <uint32_t>(issue.start - before)
    clock.now = time
    if counters:
        for counter in range(<uint32_t>clock_counters):
            if counters >> counter & 1:
                _begin(clock, counter, time + (_latency(instruction, gfx_level, lines, passes) if counter != counter_lgkm or not passes
                                               else _lds_latency(gfx_level, passes)))
    if gfx_level >= gfx10 or cycles.resource1 == resource_matrix:
        end += cycles.latency
        if counters and gfx_level >= gfx10:
            end = max(end, time + _latency(instruction, gfx_level, lines, passes))
        if is_measured(gfx_level) and format_is_valu(instruction.decoded.format):
            _set_ready(clock, wave, instruction, end, end + beyond_vector)
            _set_read(clock, wave, instruction, end + beyond_vector)
        else:
            _set_ready(clock, wave, instruction, end, end)
    return issue
