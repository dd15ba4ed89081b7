"""Counts by instruction: lanes, bytes, lines, banks. The contract is in ``profile.pxd``."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset
from libcpp.algorithm cimport sort

from features cimport has_wide_cache_lines
from isa_opcodes cimport *
from pyaco._core.common.bits cimport popcount
from pyaco._core.common.cycles cimport Cycles
from pyaco._core.emu.cycles cimport instruction_cycles
from pyaco._core.emu.wave cimport *
from pyaco._core.emu_inspect.measured_cycles cimport barrier_step, is_measured
from pyaco._core.emu_inspect.wave_clock cimport *

cdef enum:
    cdna1 = 91
    cdna3 = 94
    cdna4 = 95
    no_pc = 1                         # of no instruction: they begin at dwords

# Which of the four groups of eight lanes that a 16-byte load of CDNA 1 to 3 takes together four neighbouring lanes belong to.
cdef uint8_t[8] load_groups = [0, 1, 2, 3, 1, 0, 3, 2]


cdef void profile_open(Profile *profile, const Machine *machine, bint wgp_mode, uint64_t span_limit) noexcept nogil:
    cdef uint32_t i
    profile.rows.clear()
    profile.by_pc.clear()
    profile.spans.clear()
    profile.span_limit = span_limit
    for i in range(<uint32_t>recent_rows):
        profile.recent_pc[i] = no_pc
    memset(profile.accesses, 0, sizeof(profile.accesses))
    memset(profile.bytes, 0, sizeof(profile.bytes))
    profile.cycles = profile.longest = 0
    profile.gfx_level = machine.gfx_level
    profile.line_bytes = 128 if has_wide_cache_lines(machine.gfx_level) else 64
    profile.wgp_mode = wgp_mode
    profile.banks = 64 if machine.gfx_level == cdna4 else 32


cdef void profile_start_group(Profile *profile, uint32_t waves) noexcept nogil:
    cdef uint32_t i
    profile.clocks.resize(waves)
    profile.arrivals[0] = profile.arrivals[1] = 0
    for i in range(waves):
        clock_start(&profile.clocks[i])


cdef uint32_t _new_row(Profile *profile, const Machine *machine, const Instruction *instruction) noexcept nogil:
    cdef Row row
    cdef Cycles cycles = instruction_cycles(instruction, machine.gfx_level)
    memset(&row, 0, sizeof(row))
    row.pc = instruction.pc
    row.opcode = instruction.decoded.opcode
    row.dwords = <uint8_t>min(<uint32_t>instruction.decoded.dwords, <uint32_t>word_limit)
    row.unit0 = <uint8_t>cycles.resource0
    row.unit1 = <uint8_t>cycles.resource1
    profile.rows.push_back(row)
    profile.by_pc[instruction.pc] = <uint32_t>profile.rows.size() - 1
    return <uint32_t>profile.rows.size() - 1


cdef uint32_t _row_of(Profile *profile, const Machine *machine, const Instruction *instruction) noexcept nogil:
    cdef uint64_t pc = instruction.pc
    cdef uint32_t slot = <uint32_t>(pc >> 2) % recent_rows
    if profile.recent_pc[slot] != pc:
        profile.recent_pc[slot] = pc
        profile.recent_row[slot] = profile.by_pc[pc] if profile.by_pc.count(pc) else _new_row(profile, machine, instruction)
    return profile.recent_row[slot]


# ------------------------------------------------------------------------------------------------------------------- memory
cdef bint _by_address(const Interval &a, const Interval &b) noexcept nogil:
    return a.first < b.first


cdef uint32_t _add_lines(Profile *profile, Row *row, const AccessLog *log) noexcept nogil:
    """Cache lines and distinct bytes of one execution; returns the lines."""
    cdef uint32_t i
    cdef uint32_t lines = 0
    cdef uint64_t line = ~(<uint64_t>0)
    cdef uint64_t first, end
    cdef uint64_t reached = 0
    cdef bint ordered = True
    profile.intervals.clear()
    for i in range(log.count):
        if log.entries[i].space == space_global and log.entries[i].bytes:
            ordered &= profile.intervals.empty() or profile.intervals.back().first <= log.entries[i].address
            profile.intervals.push_back(Interval(log.entries[i].address, log.entries[i].address + log.entries[i].bytes))
    if profile.intervals.empty():
        return 0
    if not ordered:
        sort(profile.intervals.begin(), profile.intervals.end(), _by_address)
    for i in range(<uint32_t>profile.intervals.size()):
        first = max(profile.intervals[i].first, reached)
        end = profile.intervals[i].end
        if end <= first:
            continue
        row.distinct += end - first
        reached = end
        first //= profile.line_bytes
        end = (end - 1) // profile.line_bytes
        lines += <uint32_t>(end - first + (first != line))
        line = end
    row.lines += lines
    row.requests += 1
    return lines


cdef uint32_t _lane_dwords(const AccessLog *log) noexcept nogil:
    """Dwords of LDS that a lane accesses, of those that access most."""
    cdef uint8_t of_lane[max_lanes]
    cdef uint32_t i, dwords
    cdef uint32_t most = 0
    memset(of_lane, 0, sizeof(of_lane))
    for i in range(log.count):
        if log.entries[i].space == space_lds:
            dwords = of_lane[log.entries[i].lane] + (log.entries[i].bytes + 3) // 4
            of_lane[log.entries[i].lane] = <uint8_t>min(dwords, <uint32_t>255)
            most = max(most, dwords)
    return most


cdef inline uint32_t _phase_of(const Profile *profile, const Access *access, uint32_t lanes) noexcept nogil:
    """The phase in which a lane is served, where `lanes` lanes fill one."""
    if lanes == 8 and access.access_kind == access_kind_load and cdna1 <= profile.gfx_level <= cdna3:
        return 4 * (access.lane // 32) + load_groups[access.lane % 32 // 4]
    return access.lane // lanes


cdef uint32_t _passes_of_phase(const Profile *profile, const AccessLog *log, uint32_t phase, uint32_t lanes) noexcept nogil:
    """Passes that a phase takes; 0 where no lane of it accesses LDS."""
    cdef uint64_t[64] seen                                  # dwords of the banks so far, without those that repeat
    cdef uint8_t[64] next_seen                              # 1 + the place of the bank's dword before
    cdef uint8_t[64] last_seen
    cdef uint8_t[64] load
    cdef uint32_t entry, bank, place
    cdef uint32_t count = 0
    cdef uint32_t busiest = 0
    cdef uint64_t dword
    cdef const Access *access
    memset(last_seen, 0, profile.banks)
    memset(load, 0, profile.banks)
    for entry in range(log.count):
        access = &log.entries[entry]
        if access.space != space_lds or access.bytes == 0 or _phase_of(profile, access, lanes) != phase:
            continue
        for dword in range(access.address >> 2, (access.address + access.bytes + 3) >> 2):
            bank = <uint32_t>(dword % profile.banks)
            place = last_seen[bank] if access.access_kind != access_kind_atomic else 0
            while place and seen[place - 1] != dword:
                place = next_seen[place - 1]
            if place:
                continue
            load[bank] += 1
            busiest = max(busiest, <uint32_t>load[bank])
            if count < 64:
                seen[count] = dword
                next_seen[count] = last_seen[bank]
                count += 1
                last_seen[bank] = <uint8_t>count
    return busiest


cdef uint32_t _add_passes(Profile *profile, Row *row, const AccessLog *log) noexcept nogil:
    """Passes over the banks of LDS of one execution; returns them."""
    cdef uint32_t dwords = _lane_dwords(log)
    cdef uint32_t in_phase = 64 if profile.gfx_level == cdna4 else 32
    cdef uint32_t lanes = in_phase
    cdef uint32_t passes = 0
    cdef uint32_t phase, taken
    if dwords == 0:
        return 0
    while lanes > 1 and lanes * dwords > in_phase:
        lanes //= 2
    for phase in range(max_lanes // lanes):
        taken = _passes_of_phase(profile, log, phase, lanes)
        passes += taken
        if taken:
            row.lds_conflicts += taken - 1
    row.lds_passes += passes
    row.lds_requests += 1
    return passes


cdef void _add_traffic(Profile *profile, Row *row, const AccessLog *log) noexcept nogil:
    cdef uint32_t i
    cdef const Access *access
    for i in range(log.count):
        access = &log.entries[i]
        profile.accesses[access.space][access.access_kind] += 1
        profile.bytes[access.space][access.access_kind] += access.bytes
        row.operation = access.access_kind + 1
        if access.space == space_global:
            row.bytes += access.bytes
        elif access.space == space_lds:
            row.lds_bytes += access.bytes
        elif access.space == space_scratch:
            row.scratch_bytes += access.bytes


# ------------------------------------------------------------------------------------------------------------- instructions
cdef void profile_add(Profile *profile, const Machine *machine, uint32_t workgroup, uint32_t index, const Wave *wave,
                      const Instruction *instruction, uint64_t active, const AccessLog *log) noexcept nogil:
    cdef uint32_t number = _row_of(profile, machine, instruction)
    cdef Row *row = &profile.rows[number]
    cdef WaveClock *clock = &profile.clocks[index]
    cdef uint32_t lanes = popcount(active)
    cdef uint32_t lines = 0
    cdef uint32_t passes = 0
    cdef Issue issue
    row.executions += 1
    row.lanes += lanes
    row.partial += lanes != wave.lanes
    row.idle += lanes == 0
    row.taken += wave.pc != instruction.pc + 4 * instruction.decoded.dwords and instruction.decoded.opcode != <int>op_s_endpgm
    if log.count:
        _add_traffic(profile, row, log)
        lines = _add_lines(profile, row, log)
        passes = _add_passes(profile, row, log)
    issue = clock_issue(clock, wave, instruction, machine.gfx_level, active, lines, passes)
    row.issue += issue.issue
    row.stall += issue.stall
    row.busy0 += issue.busy0
    row.busy1 += issue.busy1
    if is_arrival(&instruction.decoded):
        clock.barriers += 1
        profile.arrivals[clock.barriers & 1] = max(profile.arrivals[clock.barriers & 1], clock.now)
        clock.waits_in = number
    if instruction.decoded.opcode == <int>op_s_endpgm:
        profile.cycles += clock.now
        profile.longest = max(profile.longest, clock.now)
    if profile.spans.size() < profile.span_limit:
        profile.spans.push_back(Span(workgroup, index, number, issue.stall, issue.start, issue.issue))


cdef void profile_leave(Profile *profile, uint32_t index) noexcept nogil:
    cdef WaveClock *clock = &profile.clocks[index]
    cdef uint64_t latest = profile.arrivals[clock.barriers & 1] + (barrier_step if is_measured(profile.gfx_level) else 0)
    if latest > clock.now:
        profile.rows[clock.waits_in].stall += latest - clock.now
        clock.now = latest
