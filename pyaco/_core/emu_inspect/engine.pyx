"""The inspecting engine: executes one instruction at a time as the reference engine does, with checks before and after.

It gives the reference engine's results and counts, and also checks waits and races, counts traffic, keeps a trace, stops at
breakpoints or after a number of instructions, and may draw the order of workgroups and the turns of waves from a seed. The other
engines' loops have no such checks.
"""
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int16_t, int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp.unordered_map cimport unordered_map
from libcpp.unordered_set cimport unordered_set
from libcpp.vector cimport vector

import numpy

from features cimport has_split_barriers, has_split_wait_counters, has_translation_counter, has_vgpr_banks, has_wgp_mode
from isa_opcodes cimport *
from modifiers cimport modifier_cache_glc, modifier_cache_sc1, modifier_cache_scope
from pyaco._core.emu.memory cimport AddressSpace
from pyaco._core.emu.code cimport *
from pyaco._core.emu.reference cimport *
from pyaco._core.emu.wave cimport *
from pyaco._core.emu_inspect.hazards cimport Hazards, has_hazards, hazards_account, hazards_check, hazards_clear
from pyaco._core.emu_inspect.profile cimport *
from pyaco._core.emu_inspect.races cimport *
from pyaco._core.emu_inspect.uninitialized cimport *
from pyaco._core.emu_inspect.history cimport History, history_clear
from pyaco._core.emu_inspect.wait_states cimport has_wait_states, history_account, history_check
from pyaco._core.emu_inspect.wave_clock cimport WaveClock, is_arrival
from pyaco._core.emu_inspect.waits cimport *

cdef enum:
    stop_breakpoint = 64
    stop_steps = 65
    stop_missing_wait = 66
    stop_race = 67
    stop_lds_bounds = 68
    stop_left_barrier = 69
    stop_undefined = 70
    signal_interval = 100000
    longest_turn = 64                 # of a wave whose turns are drawn
    leaving_barrier = 1
    leaving_sync = 2

COUNTERS = ("vmcnt", "lgkmcnt", "expcnt", "vscnt", "kmcnt")
COUNTERS_GFX12 = ("loadcnt", "dscnt", "expcnt", "storecnt", "kmcnt", "samplecnt")
COUNTERS_GFX12_5 = (*COUNTERS_GFX12[:5], "tensorcnt", "asynccnt", "xcnt")
HAZARDS = (
    None, "VMEMtoScalarWrite", "SMEMtoVectorWrite", "VcmpxExecWAR", "LdsBranchVmemWAR", "NSAtoVMEM", "NSAClause", "Offset3F", "FPAtomicToDenormMode",
    "VcmpxPermlane", "LdsDirectVALU", "LdsDirectVMEM", "VALUTransUse", "VALUPartialForwarding", "VALUMaskWrite", "WMMA", "VALUReadSGPR",
    "DeallocVGPRs", "TransCoexecution", "WMMACoexecution", "AsyncBarrierArrive", "ScratchBaseForward", "GetRegIdle",
)
STOPS = {stop_lds_bounds: "LDS bounds", stop_misaligned: "misaligned", stop_left_barrier: "left barrier"}
USES = (None, "address", "branch", "exec", "store", "atomic")
SPACES = ("memory", "lds", "scratch", "gds")
ACCESS_KINDS = ("load", "store", "atomic")
TRACE = numpy.dtype([("workgroup", "u4"), ("wave", "u4"), ("pc", "u8"), ("opcode", "u4"), ("scc", "u4"), ("exec", "u8")])
#: Columns of a profile: `Row` and `Span` of ``profile.pxd``.
ROWS = numpy.dtype([
    (name, "u8") for name in (
        "pc", "executions", "lanes", "partial", "idle", "taken", "requests", "bytes", "distinct", "lines", "scratch_bytes", "lds_requests",
        "lds_bytes", "lds_passes", "lds_conflicts", "issue", "stall", "busy0", "busy1",
    )
] + [("opcode", "u4"), ("words", "u4", (word_limit,)), ("dwords", "u1"), ("unit0", "u1"), ("unit1", "u1"), ("operation", "u1")])
SPANS = numpy.dtype([("workgroup", "u4"), ("wave", "u4"), ("row", "u4"), ("stall", "u4"), ("start", "u8"), ("issue", "u4")])

cdef packed struct TraceRow:
    uint32_t workgroup
    uint32_t wave
    uint64_t pc
    uint32_t opcode
    uint32_t scc
    uint64_t exec_mask


cdef cppclass Schedule:
    uint32_t current                  # the wave whose turn it is
    uint32_t left                     # instructions of its turn
    uint32_t turns                    # that waves of the workgroup had since it was begun or resumed
    bint open                         # a workgroup runs
    bint step_over                    # the first instruction is not looked up among the breakpoints
    uint64_t random
    uint64_t checked
    vector[uint32_t] order            # of workgroups, where it is drawn
    vector[uint8_t] leaving           # by wave: leaving_barrier, or leaving_sync + resource; it acquires what others did at its next instruction


cdef cppclass Suspended:              # records of a workgroup that is suspended
    vector[Flight] flights
    vector[History] histories
    vector[Hazards] hazards
    vector[uint8_t] leaving
    vector[Shadow] shadows
    vector[uint8_t] lds_shadow
    vector[WaveClock] clocks
    uint64_t arrivals[2]
    Races races


cdef class InspectingEngine(Engine):
    """Runs dispatches with checks.

    Parameters
    ----------
    space : AddressSpace
        The device's memory.
    gfx_level : int
        Hardware level times ten.
    check_waits, check_races, profile, check_memory, check_barriers, check_uninitialized : bool
        What to check or count.
    trace_limit, span_limit : int
        Instructions that the trace holds, and the timeline of the profile.
    seed : int, optional
        Draws the order of workgroups and waves; without it the order is the reference engine's.
    report_same_value : bool
        Stores of the same value that nothing orders are races too.
    """
    cdef readonly bint check_waits, check_races, profiles, check_memory, check_barriers, check_uninitialized
    cdef uint64_t lds_used                    # bytes of LDS that the launch asked for; the hardware rounds them up
    cdef readonly uint64_t trace_limit
    cdef bint ordered_cache
    cdef uint64_t private_first, private_bytes
    cdef object seed
    cdef Schedule schedule
    cdef AccessLog log
    cdef vector[Flight] flights
    cdef vector[History] histories            # by wave, where the chip has wait states to check
    cdef vector[Hazards] hazards              # by wave, where it has hazards of other kinds
    cdef unordered_map[uint64_t, Suspended] suspended
    cdef Races races
    cdef Profile profile
    cdef uint64_t span_limit
    cdef vector[TraceRow] trace_rows
    cdef unordered_set[uint64_t] breakpoints
    cdef vector[Shadow] shadows               # by wave, where uninitialized values are looked for
    cdef vector[uint8_t] lds_shadow
    cdef vector[uint8_t] private_shadow       # of scratch in device memory; what an earlier workgroup wrote counts as written
    cdef vector[UnwrittenMemory] unwritten    # device memory that was allocated without data, ascending
    cdef list unwritten_maps                  # keeps it alive
    cdef Undefined undefined
    cdef Finding finding
    cdef Race race

    def __init__(self, AddressSpace space not None, uint32_t gfx_level, bint check_waits=False, bint check_races=False,
                 bint profile=False, uint64_t trace_limit=0, seed=None, bint check_memory=False, bint check_barriers=False,
                 bint report_same_value=False, bint check_uninitialized=False, uint64_t span_limit=0):
        self.check_waits = check_waits
        self.check_races = check_races
        self.profiles = profile
        self.span_limit = span_limit
        self.check_memory = check_memory
        self.check_barriers = check_barriers
        self.check_uninitialized = check_uninitialized
        self.races.reports_same_value = report_same_value
        self.trace_limit = trace_limit
        self.seed = seed
        self.ordered_cache = True

    def open(self, entry, groups, size, *, wgp_mode=False, private=(0, 0), lds_used=None, **launch):
        """As ``Engine.open``; in WGP mode the waves of a workgroup do not share a first-level cache (GFX10 and later).

        `private`: address and size of memory that holds each wave's scratch, of which no two waves share any. `lds_used`: bytes of LDS that
        the workgroup may use, where they are fewer than it has.
        """
        cdef uint64_t total
        Engine.open(self, entry, groups, size, **launch)
        self.ordered_cache = not (wgp_mode and has_wgp_mode(self.work.machine.gfx_level))
        self.private_first, self.private_bytes = private
        self.lds_used = self.work.machine.lds_bytes if lds_used is None else lds_used
        self.work.machine.log = &self.log
        self.log.count = 0
        self.flights.resize(self.work.count)
        self.histories.resize(self.work.count if self.check_waits and has_wait_states(self.work.machine.gfx_level) else 0)
        self.private_shadow.assign(self.private_bytes if self.check_uninitialized else 0, 1)
        self.shadows.resize(self.work.count if self.check_uninitialized else 0)
        self._find_unwritten()
        self.hazards.resize(self.work.count if self.check_waits and has_hazards(self.work.machine.gfx_level) else 0)
        races_clear(&self.races, self.work.count, self.ordered_cache, self.work.machine.gfx_level)
        profile_open(&self.profile, &self.work.machine, not self.ordered_cache, self.span_limit)
        self.trace_rows.clear()
        self.schedule.open = False
        self.schedule.checked = 0
        self.schedule.step_over = False
        self.schedule.order.clear()
        self.schedule.random = (0 if self.seed is None else <uint64_t>(self.seed * 2 + 1)) & 0xffffffffffffffffULL
        total = <uint64_t>self.launch.groups[0] * self.launch.groups[1] * self.launch.groups[2]
        if self.seed is not None and total < (<uint64_t>1 << 26):
            self._draw_order(<uint32_t>total)

    cdef _draw_order(self, uint32_t total):
        """Any order of clusters, whose workgroups follow each other: they wait for each other."""
        cdef uint32_t members = self.launch.cluster[0] * self.launch.cluster[1] * self.launch.cluster[2]
        cdef uint32_t clusters = total // members
        cdef uint32_t i, k, other, kept
        cdef vector[uint32_t] drawn
        drawn.resize(clusters)
        for i in range(clusters):
            drawn[i] = i
        for i in range(clusters):
            other = <uint32_t>(i + _draw(&self.schedule) % (clusters - i))
            kept = drawn[other]
            drawn[other] = drawn[i]
            drawn[i] = kept
        self.schedule.order.resize(total)
        for i in range(clusters):
            for k in range(members):
                self.schedule.order[i * members + k] = drawn[i] * members + k

    cdef _find_unwritten(self):
        cdef uint8_t[::1] view
        self.unwritten.clear()
        self.unwritten_maps = sorted(self.space.unwritten(), key=lambda region: region[0]) if self.check_uninitialized else []
        for first, size, view in self.unwritten_maps:
            if size:
                self.unwritten.push_back(UnwrittenMemory(first, size, &view[0]))

    def close(self):
        """Free the memory of the waves."""
        Engine.close(self)
        self.unwritten.clear()
        self.unwritten_maps = []
        self.flights.clear()
        self.histories.clear()
        self.hazards.clear()
        self.suspended.clear()
        self.shadows.clear()
        self.schedule.open = False
        self.races.memory.clear()
        self.races.local.clear()
        self.races.shared.clear()
        self.races.shared_local.clear()

    cdef int execute(self, const Launch *launch) except -1:
        cdef int stop
        with nogil:
            stop = _advance(self, ~(<uint64_t>0))
        return stop

    # ------------------------------------------------------------------------------------------------------- debugging
    def advance(self, uint64_t instructions):
        """Run on for at most so many instructions; returns what `outcome` says, with ``stop`` None at the dispatch's end."""
        cdef int stop
        self.schedule.step_over = True
        self.space.enter()
        try:
            with nogil:
                stop = _advance(self, instructions)
            return self.outcome(stop)
        finally:
            self.space.leave()

    def set_breakpoints(self, addresses):
        """Stop before the instructions at these addresses."""
        self.breakpoints.clear()
        for address in addresses:
            self.breakpoints.insert(<uint64_t>address)

    def position(self):
        """Workgroup, wave and pc of the instruction that comes next; None between workgroups."""
        if not self.schedule.open or self.work.waves == NULL:
            return None
        _pick_wave(self)
        if not self.schedule.open:
            return None
        return ((self.work.group[0], self.work.group[1], self.work.group[2]), self.schedule.current,
                self.work.waves[self.schedule.current].pc)

    def wave_state(self, uint32_t index):
        """Registers of a wave of the workgroup that runs: a dict, arrays being views that the next step changes."""
        cdef Wave *wave
        if self.work.waves == NULL or index >= self.work.count:
            raise IndexError(f"wave {index}: the workgroup has {self.work.count}")
        wave = &self.work.waves[index]
        return {
            "pc": wave.pc, "exec": wave_exec(wave), "scc": wave.scc, "mode": wave.mode, "vcc": wave_mask(wave, sgpr_vcc),
            "m0": wave.sgpr[sgpr_m0], "lanes": wave.lanes, "stop": wave.stop,
            "sgpr": numpy.asarray(<uint32_t[:128]>wave.sgpr),
            "vgpr": numpy.asarray(<uint32_t[:1024 if has_vgpr_banks(self.work.machine.gfx_level) else 256, :max_lanes]>wave.vgpr)[:, :wave.lanes],
        }

    def lds(self):
        """LDS of the workgroup that runs, as bytes that the next step changes."""
        if self.work.waves == NULL or self.work.machine.lds_bytes == 0:
            return numpy.zeros(0, numpy.uint8)
        return numpy.asarray(<uint8_t[:self.work.machine.lds_bytes]>self.work.machine.lds)

    @property
    def wave_count(self):
        """Waves of a workgroup."""
        return self.work.count

    # --------------------------------------------------------------------------------------------------------- results
    cdef dict outcome(self, int stop):
        result = Engine.outcome(self, stop)
        result["same_value_stores"] = self.races.same_value
        if stop == stop_breakpoint or stop == stop_steps:
            result["stop"] = "breakpoint" if stop == stop_breakpoint else "steps"
        elif stop == stop_missing_wait:
            result["stop"] = "missing wait"
            result["finding"] = self._missing(self.finding.counters) | {
                "register": self.finding.reg, "write": bool(self.finding.write), "opcode": self.finding.opcode, "pc": self.finding.pc,
                "wait_states": self.finding.states, "hazard": HAZARDS[self.finding.hazard],
            }
        elif stop == stop_race:
            result["stop"] = "race"
            result["finding"] = self._race()
        elif stop == stop_undefined:
            result["stop"] = "undefined"
            result["finding"] = {
                "use": USES[self.undefined.use], "register": self.undefined.reg, "lane": self.undefined.lane, "pc": self.undefined.reading.pc,
                "opcode": self.undefined.reading.opcode, "address": self.undefined.reading.address, "space": SPACES[self.undefined.reading.space],
            }
        elif stop in STOPS:
            result["stop"] = STOPS[stop]
            result["finding"] = {"lds_bytes": self.lds_used}
        if self.profiles:
            result["profile"] = self._profile()
        if self.trace_limit:
            result["trace"] = self._trace()
        return result

    def _missing(self, uint32_t counters):
        names = COUNTERS_GFX12 if has_split_wait_counters(self.work.machine.gfx_level) else COUNTERS
        if has_translation_counter(self.work.machine.gfx_level):
            names = COUNTERS_GFX12_5
        return {"counters": [name for number, name in enumerate(names) if counters >> number & 1]}

    def _race(self):
        cdef uint32_t group[3]
        group_of(&self.launch, self.race.earlier.wave // self.launch.waves, group)
        return self._missing(self.race.earlier.late) | {
            "workgroup": (group[0], group[1], group[2]), "wave": self.race.earlier.wave % self.launch.waves,
            "pc": self.launch.entry + <uint64_t>self.race.earlier.pc, "opcode": self.race.earlier.opcode,
            "earlier_write": bool(self.race.earlier.flags & slot_write), "address": self.race.address, "bytes": self.race.bytes,
            "space": SPACES[self.race.space], "lane": self.race.lane, "write": bool(self.race.write),
        }

    def _profile(self):
        cdef uint32_t space, access_kind, i, k
        cdef Profile *profile = &self.profile
        cdef const Region *region
        cdef uint64_t first
        memory = {
            SPACES[space]: {
                ACCESS_KINDS[access_kind]: {"accesses": profile.accesses[space][access_kind], "bytes": profile.bytes[space][access_kind]}
                for access_kind in range(<uint32_t>access_kind_count) if profile.accesses[space][access_kind]
            } for space in range(<uint32_t>space_count)
        }
        for i in range(<uint32_t>profile.rows.size()):
            region = region_of(&self.work.code, &self.work.machine, profile.rows[i].pc)
            first = (canonical_address(profile.rows[i].pc) - region.first) >> 2 if region != NULL else 0
            for k in range(profile.rows[i].dwords if region != NULL else 0):
                profile.rows[i].words[k] = region.words[first + k]
        rows = numpy.empty(profile.rows.size(), ROWS)
        spans = numpy.empty(profile.spans.size(), SPANS)
        cdef Row[::1] row_view
        cdef Span[::1] span_view
        if len(rows):
            row_view = rows
            memcpy(&row_view[0], profile.rows.data(), profile.rows.size() * sizeof(Row))
        if len(spans):
            span_view = spans
            memcpy(&span_view[0], profile.spans.data(), profile.spans.size() * sizeof(Span))
        return {
            "memory": {name: counts for name, counts in memory.items() if counts}, "rows": rows, "spans": spans, "line_bytes": profile.line_bytes,
            "banks": profile.banks, "wgp_mode": bool(profile.wgp_mode), "cycles": profile.cycles, "longest": profile.longest,
            "lds_bytes": self.work.machine.lds_bytes, "workgroup_waves": self.launch.waves,
        }

    def _trace(self):
        rows = numpy.empty(self.trace_rows.size(), TRACE)
        cdef size_t i
        cdef TraceRow[::1] view
        if self.trace_rows.size():
            view = rows
            for i in range(self.trace_rows.size()):
                view[i] = self.trace_rows[i]
        return rows


cdef inline uint64_t _draw(Schedule *schedule) noexcept nogil:
    """A step of Marsaglia's xorshift; its state is never zero."""
    schedule.random ^= schedule.random << 13
    schedule.random ^= schedule.random >> 7
    schedule.random ^= schedule.random << 17
    return schedule.random >> 11


# ---------------------------------------------------------------------------------------------------------------- schedule
cdef int _open_group(InspectingEngine engine) noexcept nogil:
    """The next workgroup; stop_end when there is none, stop_deadlock when all wait."""
    cdef Schedule *schedule = &engine.schedule
    cdef int following = next_workgroup(&engine.work, &engine.launch)
    if following == next_none:
        return stop_end
    if following == next_deadlock:
        return deadlock(&engine.work)
    if following == next_starts:
        _begin_group(engine)
    else:
        _swap_suspended(engine)
        engine.suspended.erase(engine.work.number)
    schedule.open = True
    schedule.current = engine.work.count - 1                # the first wave comes next
    schedule.left = 0
    schedule.turns = 0
    return stop_running


cdef void _begin_group(InspectingEngine engine) noexcept nogil:
    cdef Schedule *schedule = &engine.schedule
    cdef uint64_t number = engine.work.number
    cdef uint32_t i
    if not schedule.order.empty():
        number = schedule.order[number]
        group_of(&engine.launch, number, engine.work.group)
    start_workgroup(&engine.work, &engine.launch)
    races_start_group(&engine.races, <uint32_t>number)
    schedule.leaving.assign(engine.work.count, 0)
    profile_start_group(&engine.profile, engine.work.count if engine.profiles else 0)
    engine.lds_shadow.assign(engine.work.machine.lds_bytes if engine.check_uninitialized else 0, 1)
    for i in range(engine.work.count):
        engine.work.waves[i].waits_at = 0
        if engine.check_uninitialized:
            shadow_start(&engine.shadows[i], &engine.work.machine, &engine.work.waves[i], engine.launch.fill)
        flight_clear(&engine.flights[i])
        if not engine.histories.empty():
            history_clear(&engine.histories[i])
        if not engine.hazards.empty():
            hazards_clear(&engine.hazards[i])


cdef void _swap_suspended(InspectingEngine engine) noexcept nogil:
    """Exchange the records of the workgroup that runs with those that are kept under its number."""
    cdef Suspended *suspended = &engine.suspended[engine.work.number]
    cdef uint64_t latest
    cdef uint32_t i
    engine.flights.swap(suspended.flights)
    engine.histories.swap(suspended.histories)
    engine.hazards.swap(suspended.hazards)
    engine.shadows.swap(suspended.shadows)
    engine.lds_shadow.swap(suspended.lds_shadow)
    engine.profile.clocks.swap(suspended.clocks)
    for i in range(2):
        latest = engine.profile.arrivals[i]
        engine.profile.arrivals[i] = suspended.arrivals[i]
        suspended.arrivals[i] = latest
    engine.schedule.leaving.swap(suspended.leaving)
    races_swap_group(&engine.races, &suspended.races)


cdef int _suspend(InspectingEngine engine) noexcept nogil:
    """Suspend the workgroup; the next one gets records of its own."""
    cdef size_t flights = engine.flights.size()
    cdef size_t histories = engine.histories.size()
    cdef size_t hazards = engine.hazards.size()
    cdef size_t shadows = engine.shadows.size()
    engine.schedule.open = False
    _swap_suspended(engine)
    engine.flights.resize(flights)
    engine.histories.resize(histories)
    engine.hazards.resize(hazards)
    engine.shadows.resize(shadows)
    return suspend_workgroup(&engine.work, &engine.launch)


cdef bint _is_left_behind(Workspace *work, uint32_t ending) noexcept nogil:
    """Whether waves are at a barrier that others of the workgroup (`ending` too) will never reach, because they have ended. The first of
    those that are there is at fault; where the machine has a lane, it has the first wave that has ended."""
    cdef uint32_t i
    cdef uint32_t ended = work.count
    cdef uint32_t waiting = work.count
    cdef const Instruction *instruction
    for i in range(work.count):
        if work.waves[i].stop == stop_end or i == ending:
            ended = min(ended, i)
        elif work.waves[i].waits_at:
            waiting = min(waiting, i)
    if ended == work.count or waiting == work.count:
        return False
    instruction = fetch(&work.code, &work.machine, work.waves[waiting].waits_at, wave_banks(&work.machine, &work.waves[waiting]))
    work.faulty = waiting
    work.machine.fault_pc = work.waves[waiting].waits_at
    work.machine.fault_opcode = op_invalid if instruction == NULL else instruction.decoded.opcode
    work.machine.fault_lane = ended
    return True


cdef int _close_round(InspectingEngine engine) noexcept nogil:
    """No wave can run: all have ended or wait."""
    cdef Workspace *work = &engine.work
    cdef int stop
    if engine.check_barriers and not has_split_barriers(work.machine.gfx_level) and _is_left_behind(work, work.count):
        return stop_left_barrier
    stop = end_round(work)
    if stop == stop_end:
        engine.schedule.open = False
        return stop_running
    if stop == stop_sync:
        return _suspend(engine)
    if not has_split_barriers(work.machine.gfx_level):
        races_complete(&engine.races)                       # the barrier at which they wait
    return stop


cdef bint _next_in_turn(InspectingEngine engine) noexcept nogil:
    """Choose the next wave as the reference engine does: rounds over the waves, each until it stops or its turn is over."""
    cdef Schedule *schedule = &engine.schedule
    cdef uint32_t i, index
    for i in range(engine.work.count):
        index = (schedule.current + 1 + i) % engine.work.count
        if engine.work.waves[index].stop == stop_running:
            schedule.current = index
            schedule.left = turn_of(&engine.work)
            return True
    return False


cdef bint _next_drawn(InspectingEngine engine) noexcept nogil:
    cdef Schedule *schedule = &engine.schedule
    cdef uint32_t i
    cdef uint32_t running = 0
    cdef uint64_t chosen
    for i in range(engine.work.count):
        running += engine.work.waves[i].stop == stop_running
    if running == 0:
        return False
    chosen = _draw(schedule) % running
    for i in range(engine.work.count):
        if engine.work.waves[i].stop == stop_running:
            if chosen == 0:
                schedule.current = i
                break
            chosen -= 1
    schedule.left = 1 + <uint32_t>(_draw(schedule) % longest_turn)
    return True


cdef int _pick_wave(InspectingEngine engine) noexcept nogil:
    """Set `current` to the wave that executes next, or close the workgroup."""
    cdef Schedule *schedule = &engine.schedule
    cdef int stop
    while not schedule.left or engine.work.waves[schedule.current].stop != stop_running:
        if _next_drawn(engine) if schedule.random else _next_in_turn(engine):
            if schedule.turns >= engine.work.count and makes_room(&engine.work):
                return _suspend(engine)
            schedule.turns += 1
            continue
        stop = _close_round(engine)
        if stop != stop_running or not schedule.open:
            return stop
        schedule.current = engine.work.count - 1            # the next round begins with the first wave
        schedule.left = 0
    return stop_running


cdef int _advance(InspectingEngine engine, uint64_t instructions) except -1 nogil:
    """Run to the end, to a stop, or for a number of instructions."""
    cdef Schedule *schedule = &engine.schedule
    cdef Wave *wave
    cdef int stop
    while True:
        if not schedule.open:
            stop = _open_group(engine)
            if stop != stop_running:
                return stop
        stop = _pick_wave(engine)
        if stop != stop_running:
            return stop
        if not schedule.open:
            continue
        wave = &engine.work.waves[schedule.current]
        engine.work.faulty = schedule.current
        if instructions == 0 or (not schedule.step_over and not engine.breakpoints.empty() and engine.breakpoints.count(wave.pc)):
            engine.work.machine.fault_pc = wave.pc
            return stop_steps if instructions == 0 else stop_breakpoint
        if is_out_of_time(&engine.work.machine):
            return stop_before(&engine.work.code, &engine.work.machine, wave, stop_time)
        schedule.step_over = False
        instructions -= 1
        schedule.left -= 1
        stop = _execute_checked(engine, schedule.current, wave)
        if stop != stop_running:
            wave.stop = stop
            if stop != stop_end and not waits(wave):
                return stop
        if engine.work.machine.executed - schedule.checked > signal_interval:
            schedule.checked = engine.work.machine.executed
            with gil:
                PyErr_CheckSignals()


# ------------------------------------------------------------------------------------------------------------ instructions
cdef bint _is_coherent(const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    """Whether a load or store is visible to other waves at once, as atomic loads and stores are."""
    cdef uint64_t modifiers = instruction.decoded.modifiers
    if instruction.unit != unit_vmem and instruction.unit != unit_flat:
        return False
    if gfx_level >= 120:
        return modifier_cache_scope(modifiers) > 0
    return modifier_cache_glc(modifiers) != 0 or (94 <= gfx_level < 100 and modifier_cache_sc1(modifiers) != 0)


cdef bint _barriers_done(const Workspace *work) noexcept nogil:
    cdef uint32_t i
    for i in range(work.count):
        if work.waves[i].barrier_signalled:
            return False
    return True


cdef int _execute_checked(InspectingEngine engine, uint32_t index, Wave *wave) noexcept nogil:
    """Execute one instruction, with the checks before and after it."""
    cdef Machine *machine = &engine.work.machine
    cdef Flight *flight = &engine.flights[index]
    cdef uint64_t active = wave_exec(wave)
    cdef uint64_t pc = wave.pc
    cdef const Instruction *instruction = fetch(&engine.work.code, machine, pc, wave_banks(machine, wave))
    cdef uint32_t opcode
    cdef bint signalled
    cdef int stop
    if instruction == NULL or instruction.handler == NULL or instruction.decoded.opcode == <int>op_invalid:
        return run_wave(&engine.work.code, machine, wave, 1)
    opcode = instruction.decoded.opcode
    if engine.schedule.leaving[index] >= leaving_sync:
        races_go_on(&engine.races, index, machine.gds_bytes + 4 * <uint64_t>(engine.schedule.leaving[index] - leaving_sync))
    elif engine.schedule.leaving[index]:
        races_leave(&engine.races, index)
        if engine.profiles:
            profile_leave(&engine.profile, index)
    engine.schedule.leaving[index] = 0
    machine.fault_pc = pc
    machine.fault_opcode = opcode
    if engine.check_waits and flight_check(flight, wave, instruction, active, machine.gfx_level, &engine.finding):
        return stop_missing_wait
    if not engine.histories.empty() and history_check(&engine.histories[index], wave, instruction, machine.gfx_level, &engine.finding):
        return stop_missing_wait
    if not engine.hazards.empty() and hazards_check(&engine.hazards[index], wave, instruction, machine.gfx_level, &engine.finding):
        return stop_missing_wait
    if engine.check_uninitialized and shadow_before(&engine.shadows[index], machine, wave, instruction, active, &engine.undefined):
        return stop_undefined
    if engine.trace_rows.size() < engine.trace_limit:
        engine.trace_rows.push_back(TraceRow(engine.races.group, index, pc, opcode, wave.scc, active))
    engine.log.count = 0
    if is_arrival(&instruction.decoded):
        races_arrive(&engine.races, index, flight)
        signalled = has_split_barriers(machine.gfx_level)
    else:
        signalled = not _barriers_done(&engine.work)
    stop = run_wave(&engine.work.code, machine, wave, 1)
    if opcode == <uint32_t>op_s_barrier or (opcode == <uint32_t>op_s_barrier_wait and <int16_t>instruction.decoded.immediate != -3):
        engine.schedule.leaving[index] = leaving_barrier
    elif signalled and _barriers_done(&engine.work):         # this signal, or the end of this wave, completed it
        races_complete(&engine.races)
        if engine.check_barriers:
            wave.waits_at = pc if stop != stop_end else 0
            if _is_left_behind(&engine.work, index if stop == stop_end else engine.work.count):
                return stop_left_barrier
    if stop == stop_sync and engine.log.count:              # an ordered count has done nothing yet
        engine.schedule.leaving[index] = <uint8_t>(leaving_sync + (engine.log.entries[0].address - machine.gds_bytes) // 4)
    if stop == stop_end and engine.profiles:
        profile_add(&engine.profile, machine, engine.races.group, index, wave, instruction, active, &engine.log)
    if stop != stop_running and stop != stop_barrier and stop != stop_sync:
        return stop
    return _account(engine, index, wave, instruction, active, stop)


cdef int _check_memory(InspectingEngine engine) noexcept nogil:
    """LDS beyond what the launch asked for, and atomics that are not aligned to their size, which hardware faults on (AMD's ISA documents:
    MEMVIOL). Loads and stores need no alignment: the driver sets SH_MEM_CONFIG so (LLVM, "unaligned-access-mode")."""
    cdef Machine *machine = &engine.work.machine
    cdef const Access *access
    cdef uint32_t i
    cdef int stop = stop_running
    for i in range(engine.log.count):
        access = &engine.log.entries[i]
        if access.space == space_lds and access.address + access.bytes > engine.lds_used:
            stop = stop_lds_bounds
        elif access.access_kind == access_kind_atomic and access.bytes and access.address % access.bytes:
            stop = stop_misaligned
        if stop != stop_running:
            machine.fault_lane = access.lane
            machine.fault_address = access.address
            machine.fault_bytes = access.bytes
            machine.fault_store = access.access_kind != access_kind_load
            return stop
    return stop_running


cdef void _clip_lds(InspectingEngine engine) noexcept nogil:
    """Leave of accesses to LDS what lies in it: the rest reads as zero, or is dropped."""
    cdef uint64_t end = engine.work.machine.lds_bytes
    cdef Access *access
    cdef uint32_t i
    cdef uint32_t kept = 0
    for i in range(engine.log.count):
        access = &engine.log.entries[i]
        if access.space == space_lds:
            if access.address >= end:
                continue
            access.bytes = <uint32_t>min(<uint64_t>access.bytes, end - access.address)
        engine.log.entries[kept] = access[0]
        kept += 1
    engine.log.count = kept


cdef void _keep_private(InspectingEngine engine) noexcept nogil:
    """Count accesses to scratch in device memory as scratch."""
    cdef uint32_t i
    for i in range(engine.log.count):
        if engine.log.entries[i].space == space_global and engine.log.entries[i].address - engine.private_first < engine.private_bytes:
            engine.log.entries[i].space = space_scratch


cdef int _account(InspectingEngine engine, uint32_t index, Wave *wave, const Instruction *instruction, uint64_t active,
                  int stop) noexcept nogil:
    """Account for what an instruction accessed, waited for, or left in flight."""
    cdef Machine *machine = &engine.work.machine
    cdef Flight *flight = &engine.flights[index]
    cdef int found
    if engine.log.count:
        if engine.check_memory:
            found = _check_memory(engine)
            if found != stop_running:
                return found
        _clip_lds(engine)
        if engine.private_bytes:
            _keep_private(engine)
        if (engine.check_waits and instruction.unit != unit_vmem and not is_async_copy(instruction)
                and flight_check_lds(flight, &engine.log, &engine.finding)):
            return stop_missing_wait
        if (engine.check_races or engine.check_waits) and races_access(
                &engine.races, index, machine, &engine.log, <int32_t>(instruction.pc - engine.launch.entry), instruction.decoded.opcode,
                _is_coherent(instruction, machine.gfx_level), flight, &engine.race):
            if engine.check_waits and engine.race.earlier.late:
                return stop_race
            if engine.check_races:
                return stop_race
    if engine.profiles:
        profile_add(&engine.profile, machine, engine.races.group, index, wave, instruction, active, &engine.log)
    if engine.check_uninitialized and shadow_after(
            &engine.shadows[index], &engine.lds_shadow, &engine.private_shadow, engine.private_first, &engine.unwritten, machine, instruction, active,
            &engine.log, &engine.undefined):
        return stop_undefined
    if not engine.histories.empty():
        history_account(&engine.histories[index], wave, instruction, machine.gfx_level)
    if not engine.hazards.empty():
        hazards_account(&engine.hazards[index], wave, instruction, machine.gfx_level)
    if engine.check_waits or engine.check_races:
        flight_account(flight, wave, instruction, active, machine.gfx_level, &engine.log)
    return stop
