"""Order of machine instructions within blocks that hides latencies, after register allocation.

Needs machine instructions with registers. ``schedule_program`` has ordered values; this pass orders what has become of them: moves of parallel
copies, lowered pseudo instructions, reloads, pairs for dual issue. Registers are given, so it costs none: whatever is free to move up does.

The instructions up to one that nothing passes are a run, which it ends. In a run, an edge goes from an instruction to one that must stay behind it:
which reads what it writes, or writes what it reads or writes, dword by dword of the register file. Memory operations keep their order, in which alias
classes and clauses were taken into account; those which make a clause with their neighbour are one unit. A list scheduler issues, of the units whose
predecessors have been issued, the one that waits least; of several, the one from which the way to the end of the run takes longest; of these, the
first of the old order. Time is that of the cycle model. A run keeps its order unless it ends, and all that it loads is there, earlier.

Sources: list scheduling by critical paths (Gibbons and Muchnick, "Efficient instruction scheduling for a pipelined architecture"); that a second
scheduler behind register allocation pays, after the notes on ACO's ``schedule_ilp``, which looks 16 instructions ahead.
"""
from libc.stdint cimport int32_t, int64_t, uint16_t, uint32_t
from libc.string cimport memset

from isa_opcodes cimport op_s_call_b64, op_s_getreg_b32
from pyaco._core.aco.cycle_model cimport Issue, MemoryCycles, issue_of, memory_cycles_of
from pyaco._core.aco.queries cimport form_clause
from pyaco._core.aco.registers cimport Range, definition_range, operand_range
from pyaco._core.aco.schedule_graph cimport is_barrier, is_boundary, no_edge
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport (
    BlockId, InstructionId, OrderRow, Program, ProgramData, format_ds, format_is_flat_like, format_is_vmem, format_smem, format_sopk, gfx10,
    register_exec, register_exec_hi, register_m0,
)

cdef enum:
    register_count = 512
    # Units that are compared at each step: it keeps the pass linear.
    most_compared = 64
    # A run that is longer is ordered in pieces, so that what is known of one stays in the cache.
    most_instructions = 2048
    # Room that scratch data begin with: most runs are shorter.
    first_places = 64

cdef struct Unit:                     # an instruction of the run, or several in a row that make a clause
    uint32_t first                    # place in the run
    uint32_t end
    uint32_t waits_for                # predecessors that have not been issued
    uint32_t edge_first               # edges to successors, linked
    int32_t occupies                  # cycles until the next unit may begin
    int32_t latency                   # cycles until its last result can be read
    int64_t height                    # cycles from its beginning to the end of the run, at least
    int64_t operands_ready            # in the new order, of operands that come from before the run or whose writers have been issued
    int64_t ready                     # when its results can be read in the new order
    uint32_t last_scalar              # the latest scalar load among its operands, as far as these are known
    uint32_t scalar_load              # the number of the last scalar load that it makes
    uint32_t scalar_loads             # how many
    bint memory

cdef struct Edge:
    uint32_t to
    uint32_t next
    int32_t latency
    bint reads                        # `to` waits for what the unit writes

cdef struct Reader:                   # of a register, since it was written
    uint32_t unit
    uint32_t next

cdef struct Candidate:                # a unit that waits for none
    int64_t operands_ready
    int64_t height
    uint32_t last_scalar
    uint32_t unit

cdef struct Operands:                 # of a unit in the order found
    int64_t ready                     # those from scalar loads left out
    uint32_t last_scalar

cdef struct RegisterState:
    int64_t ready                     # in the order found
    uint32_t scalar_load              # the number of the scalar load that wrote it, 0: none did
    uint32_t writer                   # unit of the run + 1
    uint32_t readers                  # linked

cdef struct Pending:                  # a result of memory that cannot be read yet where a block ends
    uint32_t reg
    uint32_t remaining                # cycles
    bint scalar

cdef struct Clock:
    int64_t now
    int64_t finish                    # when the run has ended and all that it loads is there
    int64_t scalar_ready              # when all scalar memory that was asked for is there
    uint32_t scalar_waited            # of the scalar loads counted, how many are known to have come back
    uint32_t scalar_loads

cdef cppclass Scheduler:
    ProgramData *p
    Clock clock
    RegisterState[512] registers
    SmallVector[uint32_t] named            # registers that have a writer or readers
    SmallVector[InstructionId] instruction   # of the run, by place
    bint ends                         # the last instruction of the run is one that nothing passes
    SmallVector[Unit] units
    SmallVector[Edge] edges
    SmallVector[Reader] readers
    SmallVector[Candidate] ready
    SmallVector[uint32_t] result           # units in the new order
    SmallVector[uint32_t] loaded           # registers that memory operations of the block have written, or that blocks before it have loaded
    SmallVector[Pending] pending           # of all blocks
    SmallVector[uint32_t] pending_end      # by block


# -------------------------------------------------------------------------------------------------------------------- time
cdef inline int64_t _start(const Clock *clock, int64_t operands_ready, uint32_t last_scalar) noexcept nogil:
    """The cycle in which a unit can be issued."""
    cdef int64_t start = max(clock.now, operands_ready)
    # Scalar loads come back in any order: a wait is for all of them.
    return max(start, clock.scalar_ready) if last_scalar > clock.scalar_waited else start


cdef int64_t _issue(Clock *clock, Unit *unit, int64_t operands_ready, uint32_t last_scalar) noexcept nogil:
    """Issue a unit; returns when its results can be read."""
    cdef int64_t start = _start(clock, operands_ready, last_scalar)
    cdef int64_t ready = start + unit.latency
    if last_scalar > clock.scalar_waited:
        clock.scalar_waited = clock.scalar_loads
    clock.now = start + unit.occupies
    clock.finish = max(clock.finish, ready if unit.memory else clock.now)
    unit.scalar_load = 0
    if unit.scalar_loads:
        clock.scalar_loads += unit.scalar_loads
        clock.scalar_ready = max(clock.scalar_ready, ready)
        unit.scalar_load = clock.scalar_loads
    return ready


# ------------------------------------------------------------------------------------------------------------------ edges
cdef inline bint _is_memory(uint16_t format) noexcept nogil:
    return format_is_vmem(format) or format_is_flat_like(format) or format == format_smem or format == format_ds


cdef bint _stays(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether nothing may pass the instruction."""
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t row
    cdef uint16_t reg
    if format == format_sopk:
        if p.instructions.definition_count[i] == 0 or opcode == op_s_getreg_b32 or opcode == op_s_call_b64:
            return True
    elif is_boundary(p, i) or is_barrier(p, i):
        return True
    for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        reg = p.definitions.reg[row]
        # Vector instructions read exec, those of scratch memory flat_scratch, without naming it.
        if reg == register_exec or reg == register_exec_hi or (p.gfx_level < gfx10 and 102 <= reg >> 2 <= 105):
            return True
    return False


cdef int _edge(Scheduler *s, uint32_t before, uint32_t after, bint reads) except -1 nogil:
    cdef Edge edge
    cdef Edge *known
    if before == after:
        return 0
    edge.next = s.units[before].edge_first
    edge.latency = s.units[before].latency if reads else 0
    if edge.next != no_edge and s.edges[edge.next].to == after:
        known = &s.edges[edge.next]
        known.latency = max(known.latency, edge.latency)
        known.reads = known.reads or reads
        return 0
    edge.to = after
    edge.reads = reads
    s.units[before].edge_first = <uint32_t>s.edges.size()
    s.edges.push_back(edge)
    s.units[after].waits_for += 1
    return 0


cdef inline RegisterState *_named(Scheduler *s, uint32_t reg) except NULL nogil:
    cdef RegisterState *state = &s.registers[reg]
    if state.writer == 0 and state.readers == no_edge:
        s.named.push_back(reg)
    return state


cdef int _waits(Scheduler *s, uint32_t number, const RegisterState *state, Operands *old) except -1 nogil:
    """The unit waits for what is being written into a register."""
    cdef Unit *unit = &s.units[number]
    if state.scalar_load:
        old.last_scalar = max(old.last_scalar, state.scalar_load)
    else:
        old.ready = max(old.ready, state.ready)
    if state.writer:
        _edge(s, state.writer - 1, number, True)
    elif state.scalar_load:
        unit.last_scalar = max(unit.last_scalar, state.scalar_load)
    else:
        unit.operands_ready = max(unit.operands_ready, state.ready)
    return 0


cdef int _reads(Scheduler *s, uint32_t unit, Range r, Operands *old) except -1 nogil:
    cdef Reader reader
    cdef RegisterState *state
    cdef uint32_t k
    reader.unit = unit
    for k in range(r.first, r.end):
        state = _named(s, k)
        _waits(s, unit, state, old)
        if state.readers != no_edge and s.readers[state.readers].unit == unit:
            continue
        reader.next = state.readers
        state.readers = <uint32_t>s.readers.size()
        s.readers.push_back(reader)
    return 0


cdef int _overwrites(Scheduler *s, uint32_t unit, Range r, Operands *old) except -1 nogil:
    cdef RegisterState *state
    cdef uint32_t k
    cdef uint32_t reader
    for k in range(r.first, r.end):
        state = _named(s, k)
        if state.writer and not s.units[state.writer - 1].memory:
            _edge(s, state.writer - 1, unit, False)
        else:
            # What is loaded must not arrive later than what is written now.
            _waits(s, unit, state, old)
        reader = state.readers
        while reader != no_edge:
            _edge(s, s.readers[reader].unit, unit, False)
            reader = s.readers[reader].next
        state.readers = no_edge
        state.writer = unit + 1
    return 0


cdef int _registers(Scheduler *s, uint32_t unit, InstructionId i, Operands *old) except -1 nogil:
    cdef const ProgramData *p = s.p
    cdef uint32_t row
    cdef Range m0
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        _reads(s, unit, operand_range(p, row), old)
    if p.instructions.format[i] == format_ds:
        # Before GFX9 the size of LDS.
        m0.first = register_m0 >> 2
        m0.end = m0.first + 1
        _reads(s, unit, m0, old)
    for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        _overwrites(s, unit, definition_range(p, row), old)
    return 0


# ------------------------------------------------------------------------------------------------------------------- units
cdef void _extend(Scheduler *s, Unit *unit, InstructionId i) noexcept nogil:
    """Add the next instruction of the run to a unit."""
    cdef MemoryCycles memory = memory_cycles_of(s.p, i)
    cdef Issue issue = issue_of(s.p, i, &memory)
    unit.latency = max(unit.latency, unit.occupies + issue.delay + issue.latency)
    unit.occupies += issue.occupies
    unit.scalar_loads += s.p.instructions.format[i] == format_smem
    unit.end += 1


cdef int _add_unit(Scheduler *s, uint32_t place) except -1 nogil:
    cdef Unit unit
    memset(&unit, 0, sizeof(unit))
    unit.first = unit.end = place
    unit.edge_first = no_edge
    unit.memory = _is_memory(s.p.instructions.format[s.instruction[place]])
    s.units.push_back(unit)
    return 0


cdef void _written(Scheduler *s, const Unit *unit, int64_t ready) noexcept nogil:
    """When what a unit writes can be read in the order found."""
    cdef const ProgramData *p = s.p
    cdef uint32_t place
    cdef uint32_t row
    cdef uint32_t k
    cdef InstructionId i
    cdef Range r
    for place in range(unit.first, unit.end):
        i = s.instruction[place]
        for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
            r = definition_range(p, row)
            for k in range(r.first, r.end):
                s.registers[k].ready = ready
                s.registers[k].scalar_load = unit.scalar_load


cdef int _build(Scheduler *s) except -1 nogil:
    """Units of the run, what must stay in order, and the time that the order found takes."""
    cdef const ProgramData *p = s.p
    cdef uint32_t place
    cdef uint32_t number
    cdef uint32_t last_memory = no_edge
    cdef Operands old
    cdef Unit *unit
    s.units.clear()
    s.edges.clear()
    s.readers.clear()
    for place in range(<uint32_t>s.instruction.size()):
        if place == 0 or not s.units.back().memory or not form_clause(p, s.instruction[place - 1], s.instruction[place]):
            _add_unit(s, place)
        _extend(s, &s.units.back(), s.instruction[place])
    for number in range(<uint32_t>s.units.size()):
        old.ready = 0
        old.last_scalar = 0
        unit = &s.units[number]
        for place in range(unit.first, unit.end):
            _registers(s, number, s.instruction[place], &old)
        if unit.memory:
            if last_memory != no_edge:
                _edge(s, last_memory, number, False)
            last_memory = number
        _written(s, unit, _issue(&s.clock, unit, old.ready, old.last_scalar))
    return 0


cdef void _heights(Scheduler *s) noexcept nogil:
    cdef uint32_t unit = <uint32_t>s.units.size()
    cdef uint32_t edge
    cdef int64_t height
    while unit:
        unit -= 1
        height = s.units[unit].latency if s.units[unit].memory else s.units[unit].occupies
        edge = s.units[unit].edge_first
        while edge != no_edge:
            height = max(height, s.edges[edge].latency + s.units[s.edges[edge].to].height)
            edge = s.edges[edge].next
        s.units[unit].height = height


# ------------------------------------------------------------------------------------------------------------------ choice
cdef int _becomes_ready(Scheduler *s, uint32_t number) except -1 nogil:
    cdef Candidate candidate
    if s.ends and number + 1 == s.units.size():
        return 0                      # issued behind all others
    candidate.operands_ready = s.units[number].operands_ready
    candidate.last_scalar = s.units[number].last_scalar
    candidate.height = s.units[number].height
    candidate.unit = number
    s.ready.push_back(candidate)
    return 0


cdef int _put_next(Scheduler *s, uint32_t number) except -1 nogil:
    """Issue a unit in the new order; those that waited for it alone become ready."""
    cdef Unit *unit = &s.units[number]
    cdef Unit *after
    cdef uint32_t edge = unit.edge_first
    unit.ready = _issue(&s.clock, unit, unit.operands_ready, unit.last_scalar)
    s.result.push_back(number)
    while edge != no_edge:
        after = &s.units[s.edges[edge].to]
        if s.edges[edge].reads:
            if unit.scalar_loads:
                after.last_scalar = max(after.last_scalar, unit.scalar_load)
            else:
                after.operands_ready = max(after.operands_ready, unit.ready)
        after.waits_for -= 1
        if after.waits_for == 0:
            _becomes_ready(s, s.edges[edge].to)
        edge = s.edges[edge].next
    return 0


cdef uint32_t _choose(Scheduler *s) noexcept nogil:
    """Take the unit to issue next out of `ready`."""
    cdef uint32_t best = 0
    cdef uint32_t k
    cdef int64_t start
    cdef int64_t best_start = _start(&s.clock, s.ready[0].operands_ready, s.ready[0].last_scalar)
    cdef uint32_t unit
    cdef const Candidate *candidate
    cdef const Candidate *chosen = &s.ready[0]
    for k in range(1, min(<uint32_t>s.ready.size(), <uint32_t>most_compared)):
        candidate = &s.ready[k]
        start = _start(&s.clock, candidate.operands_ready, candidate.last_scalar)
        if start < best_start or (start == best_start and (candidate.height > chosen.height
                                                           or (candidate.height == chosen.height and candidate.unit < chosen.unit))):
            best = k
            best_start = start
            chosen = candidate
    unit = chosen.unit
    s.ready[best] = s.ready.back()
    s.ready.pop_back()
    return unit


# --------------------------------------------------------------------------------------------------------------------- runs
cdef int _end(Scheduler *s, bint moved) except -1 nogil:
    """Keep when what the run has written can be read, by the new order where that was taken."""
    cdef RegisterState *state
    cdef const Unit *unit
    cdef uint32_t k
    for k in range(<uint32_t>s.named.size()):
        state = &s.registers[s.named[k]]
        if state.writer:
            unit = &s.units[state.writer - 1]
            if moved:
                state.ready = unit.ready
                state.scalar_load = unit.scalar_load
            if unit.memory:
                s.loaded.push_back(s.named[k])
        state.writer = 0
        state.readers = no_edge
    s.named.clear()
    return 0


cdef void _put(Scheduler *s, OrderRow row) noexcept nogil:
    cdef uint32_t k
    cdef uint32_t place
    for k in range(<uint32_t>s.result.size()):
        for place in range(s.units[s.result[k]].first, s.units[s.result[k]].end):
            s.p.order.instruction[row] = s.instruction[place]
            row += 1


cdef bint _may_gain(const Scheduler *s, const Clock *start) noexcept nogil:
    """Whether another order may be better: not where instructions wait for nothing, nor where the longest way takes as long as the run."""
    cdef int64_t least = 0
    cdef int64_t occupied = start.now
    cdef uint32_t k
    for k in range(<uint32_t>s.units.size()):
        occupied += s.units[k].occupies
        least = max(least, max(start.now, s.units[k].operands_ready) + s.units[k].height)
    return s.clock.now > occupied and (s.clock.finish > least or s.clock.finish > s.clock.now)


cdef bint _run(Scheduler *s, OrderRow first) except -1 nogil:
    """Order the run, which begins at a row of the order. Returns whether anything moved."""
    cdef Clock start
    cdef Clock old
    cdef uint32_t k
    cdef bint moved = False
    s.clock.finish = 0
    start = s.clock
    _build(s)
    old = s.clock
    _heights(s)
    if s.units.size() >= 2 + <uint32_t>s.ends and _may_gain(s, &start):
        s.clock = start
        s.result.clear()
        for k in range(<uint32_t>s.units.size()):
            if s.units[k].waits_for == 0:
                _becomes_ready(s, k)
        while not s.ready.empty():
            _put_next(s, _choose(s))
        if s.ends:
            _put_next(s, <uint32_t>s.units.size() - 1)
        moved = s.clock.finish < old.finish or (s.clock.finish == old.finish and s.clock.now < old.now)
        if moved:
            _put(s, first)
        else:
            s.clock = old
    _end(s, moved)
    return moved


cdef int _enter(Scheduler *s, BlockId block) except -1 nogil:
    """What predecessors have loaded takes as long as the longest of them says; of loops, the blocks at the end are left out."""
    cdef const ProgramData *p = s.p
    cdef const Pending *pending
    cdef RegisterState *state
    cdef BlockId before
    cdef uint32_t k
    cdef uint32_t j
    cdef bint scalar = False
    s.clock.scalar_ready = s.clock.now          # the block before in the program need not be one that leads here
    for k in range(p.blocks.linear_pred_count[block]):
        before = p.edge_lists.block[p.blocks.linear_pred_first[block] + k]
        if before >= block:
            continue
        for j in range(s.pending_end[before - 1] if before else 0, s.pending_end[before]):
            pending = &s.pending[j]
            state = &s.registers[pending.reg]
            state.ready = max(state.ready, s.clock.now + pending.remaining)
            s.loaded.push_back(pending.reg)
            if pending.scalar:
                scalar = True
                state.scalar_load = s.clock.scalar_loads + 1
                s.clock.scalar_ready = max(s.clock.scalar_ready, state.ready)
    s.clock.scalar_loads += scalar
    return 0


cdef int _leave(Scheduler *s) except -1 nogil:
    """Keep what is loaded and not there yet, and forget it."""
    cdef RegisterState *state
    cdef Pending pending
    cdef uint32_t k
    for k in range(<uint32_t>s.loaded.size()):
        state = &s.registers[s.loaded[k]]
        if state.ready > s.clock.now and (state.scalar_load == 0 or state.scalar_load > s.clock.scalar_waited):
            pending.reg = s.loaded[k]
            pending.remaining = <uint32_t>(state.ready - s.clock.now)
            pending.scalar = state.scalar_load != 0
            s.pending.push_back(pending)
        state.ready = 0
        state.scalar_load = 0
    s.loaded.clear()
    s.pending_end.push_back(<uint32_t>s.pending.size())
    s.clock.scalar_waited = s.clock.scalar_loads
    return 0


cdef bint _block(Scheduler *s, BlockId block) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef OrderRow row = p.blocks.order_first[block]
    cdef OrderRow end = row + p.blocks.order_count[block]
    cdef bint moved = False
    while row < end:
        s.instruction.clear()
        s.ends = False
        while row < end and not s.ends and s.instruction.size() < most_instructions:
            s.instruction.push_back(p.order.instruction[row])
            s.ends = _stays(p, p.order.instruction[row])
            row += 1
        if _run(s, row - <uint32_t>s.instruction.size()):
            moved = True
    return moved


cdef bint schedule_ilp_run(ProgramData *p) except -1 nogil:
    """Whether anything moved."""
    cdef Scheduler s
    cdef BlockId b
    cdef uint32_t k
    cdef bint moved = False
    s.p = p
    memset(&s.clock, 0, sizeof(s.clock))
    for k in range(<uint32_t>register_count):
        memset(&s.registers[k], 0, sizeof(s.registers[k]))
        s.registers[k].readers = no_edge
    s.units.reserve(first_places)
    s.edges.reserve(first_places)
    s.readers.reserve(first_places)
    s.named.reserve(first_places)
    for b in range(p.blocks.table.count):
        _enter(&s, b)
        if _block(&s, b):
            moved = True
        _leave(&s)
    return moved


cdef int _kernel(void *ir, int option) except -1 nogil:
    return schedule_ilp_run(<ProgramData *>ir)


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Order machine instructions so that latencies are hidden. Returns whether anything moved."""
    cdef bint moved
    with nogil:
        moved = _kernel(&program.data, 0)
    return moved
