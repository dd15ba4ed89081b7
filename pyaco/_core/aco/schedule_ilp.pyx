"""Order of machine instructions within blocks that hides latencies, after register allocation.

Needs machine instructions with registers. ``schedule_program`` has ordered values; this pass orders what has become of them: moves of parallel
copies, lowered pseudo instructions, reloads, pairs for dual issue. Registers are given, so it costs none: whatever is free to move up does.

The instructions up to one that nothing passes are a run, which it ends. In a run, an edge goes from an instruction to one that must stay behind it: which reads
what it writes, or writes what it reads or writes, dword by dword of the register file. Memory operations keep their order, in which alias classes
and clauses were taken into account; those which make a clause with their neighbour are one unit. A list scheduler issues, of the units whose
predecessors have been issued, the one that waits least; of several, the one from which the way to the end of the run takes longest; of these, the
first of the old order. Time is that of the cycle model. A run whose results would not be ready earlier keeps its order.

Sources: list scheduling by critical paths (Gibbons and Muchnick, "Efficient instruction scheduling for a pipelined architecture"); that a second
scheduler behind register allocation pays, after the notes on ACO's ``schedule_ilp``, which looks 16 instructions ahead.
"""
from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.string cimport memset
from libcpp.vector cimport vector

from isa_opcodes cimport op_s_call_b64, op_s_getreg_b32
from pyaco._core.aco.cycle_model cimport Issue, MemoryCycles, issue_of, memory_cycles_of
from pyaco._core.aco.queries cimport form_clause
from pyaco._core.aco.registers cimport Range, definition_range, operand_range
from pyaco._core.aco.schedule_graph cimport is_barrier, is_boundary, no_edge
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport (
    BlockId, InstructionId, OrderRow, Program, ProgramData, format_ds, format_is_flat_like, format_is_vmem, format_smem, format_sopk, gfx10,
    register_exec, register_exec_hi, register_m0,
)

cdef enum:
    register_count = 512
    # Units that are compared at each step: it keeps the pass linear.
    most_compared = 64

cdef struct Unit:                     # an instruction of the run, or several in a row that make a clause
    uint32_t first                    # place in the run
    uint32_t end
    uint32_t waits_for                # predecessors that have not been issued
    uint32_t edge_first               # edges to successors, linked
    int64_t occupies                  # cycles until the next unit may begin
    int64_t latency                   # cycles until its last result can be read
    int64_t height                    # cycles from its beginning to the end of the run, at least
    int64_t entry_ready               # when operands that come from before the run can be read
    uint32_t entry_scalar             # the latest scalar load among these
    uint32_t scalar_loads             # that it makes
    int64_t operands_ready            # the same for all operands, as far as their writers have been issued
    uint32_t last_scalar
    int64_t[2] ready                  # when its results can be read: in the old order, and in the new one
    uint32_t[2] scalar_load           # the number of its scalar load, 0: it makes none

cdef struct Edge:
    uint32_t to
    uint32_t next
    int64_t latency
    bint reads                        # `to` reads what the unit writes

cdef struct Reader:                   # of a register, since it was written
    uint32_t unit
    uint32_t next

cdef struct RegisterState:
    int64_t ready
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
    vector[uint32_t] named            # registers that have a writer or readers
    vector[InstructionId] instruction   # of the run, by place
    bint ends                         # the last instruction of the run is one that nothing passes
    vector[Unit] units
    vector[Edge] edges
    vector[Reader] readers
    vector[uint32_t] ready            # units that wait for none
    vector[uint32_t] result           # units in the new order
    vector[uint32_t] loaded           # registers that memory operations of the block have written, or that blocks before it have loaded
    vector[Pending] pending           # of all blocks
    vector[uint32_t] pending_end      # by block


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


cdef inline int _name(Scheduler *s, uint32_t reg) except -1 nogil:
    if s.registers[reg].writer == 0 and s.registers[reg].readers == no_edge:
        s.named.push_back(reg)
    return 0


cdef inline bint _is_memory_unit(const Scheduler *s, uint32_t unit) noexcept nogil:
    return _is_memory(s.p.instructions.format[s.instruction[s.units[unit].first]])


cdef int _waits(Scheduler *s, uint32_t unit, const RegisterState *state) except -1 nogil:
    """The unit waits for what is being written into a register."""
    if state.writer:
        _edge(s, state.writer - 1, unit, True)
    elif state.scalar_load:
        s.units[unit].entry_scalar = max(s.units[unit].entry_scalar, state.scalar_load)
    else:
        s.units[unit].entry_ready = max(s.units[unit].entry_ready, state.ready)
    return 0


cdef int _reads(Scheduler *s, uint32_t unit, Range r) except -1 nogil:
    cdef Reader reader
    cdef RegisterState *state
    cdef uint32_t k
    for k in range(r.first, r.end):
        state = &s.registers[k]
        _name(s, k)
        _waits(s, unit, state)
        reader.unit = unit
        reader.next = state.readers
        state.readers = <uint32_t>s.readers.size()
        s.readers.push_back(reader)
    return 0


cdef int _writes(Scheduler *s, uint32_t unit, Range r) except -1 nogil:
    cdef RegisterState *state
    cdef uint32_t k
    cdef uint32_t reader
    for k in range(r.first, r.end):
        state = &s.registers[k]
        _name(s, k)
        if state.writer and not _is_memory_unit(s, state.writer - 1):
            _edge(s, state.writer - 1, unit, False)
        else:
            # What is loaded must not arrive later than what is written now.
            _waits(s, unit, state)
        reader = state.readers
        while reader != no_edge:
            _edge(s, s.readers[reader].unit, unit, False)
            reader = s.readers[reader].next
        state.readers = no_edge
        state.writer = unit + 1
    return 0


cdef int _registers(Scheduler *s, uint32_t unit, InstructionId i) except -1 nogil:
    cdef const ProgramData *p = s.p
    cdef uint32_t row
    cdef Range m0
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        _reads(s, unit, operand_range(p, row))
    if p.instructions.format[i] == format_ds:
        # Before GFX9 the size of LDS.
        m0.first = register_m0 >> 2
        m0.end = m0.first + 1
        _reads(s, unit, m0)
    for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        _writes(s, unit, definition_range(p, row))
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


cdef Unit _unit(uint32_t place) noexcept nogil:
    cdef Unit unit
    memset(&unit, 0, sizeof(unit))
    unit.first = unit.end = place
    unit.edge_first = no_edge
    return unit


cdef int _build(Scheduler *s) except -1 nogil:
    """Units of the run, and what must stay in order."""
    cdef const ProgramData *p = s.p
    cdef uint32_t place
    cdef uint32_t unit
    cdef uint32_t last_memory = no_edge
    cdef InstructionId i
    s.units.clear()
    s.edges.clear()
    s.readers.clear()
    for place in range(<uint32_t>s.instruction.size()):
        i = s.instruction[place]
        if place == 0 or not _is_memory(p.instructions.format[i]) or not form_clause(p, s.instruction[place - 1], i):
            s.units.push_back(_unit(place))
        _extend(s, &s.units.back(), i)
    for unit in range(<uint32_t>s.units.size()):
        for place in range(s.units[unit].first, s.units[unit].end):
            _registers(s, unit, s.instruction[place])
        if _is_memory_unit(s, unit):
            if last_memory != no_edge:
                _edge(s, last_memory, unit, False)
            last_memory = unit
    return 0


cdef void _heights(Scheduler *s) noexcept nogil:
    cdef uint32_t unit = <uint32_t>s.units.size()
    cdef uint32_t edge
    cdef int64_t height
    while unit:
        unit -= 1
        height = s.units[unit].latency if _is_memory_unit(s, unit) else s.units[unit].occupies
        edge = s.units[unit].edge_first
        while edge != no_edge:
            height = max(height, s.edges[edge].latency + s.units[s.edges[edge].to].height)
            edge = s.edges[edge].next
        s.units[unit].height = height


# -------------------------------------------------------------------------------------------------------------------- time
cdef inline int64_t _start(const Clock *clock, const Unit *unit) noexcept nogil:
    """The cycle in which a unit can be issued."""
    cdef int64_t start = max(clock.now, unit.operands_ready)
    # Scalar loads come back in any order: a wait is for all of them.
    return max(start, clock.scalar_ready) if unit.last_scalar > clock.scalar_waited else start


cdef int _issue(Scheduler *s, uint32_t number, int new) except -1 nogil:
    """Issue a unit; of the new order, its successors may become ready."""
    cdef Unit *unit = &s.units[number]
    cdef Unit *after
    cdef int64_t start = _start(&s.clock, unit)
    cdef uint32_t edge = unit.edge_first
    if unit.last_scalar > s.clock.scalar_waited:
        s.clock.scalar_waited = s.clock.scalar_loads
    s.clock.now = start + unit.occupies
    s.clock.finish = max(s.clock.finish, start + unit.latency if _is_memory_unit(s, number) else s.clock.now)
    unit.ready[new] = start + unit.latency
    unit.scalar_load[new] = 0
    if unit.scalar_loads:
        s.clock.scalar_loads += unit.scalar_loads
        s.clock.scalar_ready = max(s.clock.scalar_ready, unit.ready[new])
        unit.scalar_load[new] = s.clock.scalar_loads
    while edge != no_edge:
        after = &s.units[s.edges[edge].to]
        if s.edges[edge].reads:
            if unit.scalar_loads:
                after.last_scalar = max(after.last_scalar, unit.scalar_load[new])
            else:
                after.operands_ready = max(after.operands_ready, unit.ready[new])
        if new:
            after.waits_for -= 1
            if after.waits_for == 0 and not (s.ends and s.edges[edge].to + 1 == s.units.size()):
                s.ready.push_back(s.edges[edge].to)
        edge = s.edges[edge].next
    return 0


cdef void _begin(Scheduler *s, Clock clock) noexcept nogil:
    cdef uint32_t k
    s.clock = clock
    s.clock.finish = 0
    for k in range(<uint32_t>s.units.size()):
        s.units[k].operands_ready = s.units[k].entry_ready
        s.units[k].last_scalar = s.units[k].entry_scalar


cdef uint32_t _choose(const Scheduler *s) noexcept nogil:
    """The place in `ready` of the unit to issue next."""
    cdef uint32_t best = 0
    cdef uint32_t k
    cdef int64_t start
    cdef int64_t best_start = _start(&s.clock, &s.units[s.ready[0]])
    cdef const Unit *unit
    cdef const Unit *chosen = &s.units[s.ready[0]]
    for k in range(1, min(<uint32_t>s.ready.size(), <uint32_t>most_compared)):
        unit = &s.units[s.ready[k]]
        start = _start(&s.clock, unit)
        if start < best_start or (start == best_start and (unit.height > chosen.height
                                                           or (unit.height == chosen.height and unit.first < chosen.first))):
            best = k
            best_start = start
            chosen = unit
    return best


# --------------------------------------------------------------------------------------------------------------------- runs
cdef void _end(Scheduler *s, int new) noexcept nogil:
    """What the run has written can be read so much later."""
    cdef RegisterState *state
    cdef uint32_t k
    for k in range(<uint32_t>s.named.size()):
        state = &s.registers[s.named[k]]
        if state.writer:
            state.ready = s.units[state.writer - 1].ready[new]
            state.scalar_load = s.units[state.writer - 1].scalar_load[new]
            if _is_memory_unit(s, state.writer - 1):
                s.loaded.push_back(s.named[k])
        state.writer = 0
        state.readers = no_edge
    s.named.clear()


cdef void _put(Scheduler *s, OrderRow row) noexcept nogil:
    cdef uint32_t k
    cdef uint32_t place
    for k in range(<uint32_t>s.result.size()):
        for place in range(s.units[s.result[k]].first, s.units[s.result[k]].end):
            s.p.order.instruction[row] = s.instruction[place]
            row += 1


cdef bint _run(Scheduler *s, OrderRow first) except -1 nogil:
    """Order the run, which begins at a row of the order. Returns whether anything moved."""
    cdef Clock start = s.clock
    cdef Clock old
    cdef uint32_t k
    cdef uint32_t unit
    cdef bint better
    _build(s)
    _begin(s, start)
    for k in range(<uint32_t>s.units.size()):
        _issue(s, k, 0)
    if s.units.size() < 2 + <uint32_t>s.ends:
        _end(s, 0)
        return False
    old = s.clock
    _heights(s)
    _begin(s, start)
    s.ready.clear()
    s.result.clear()
    for k in range(<uint32_t>s.units.size() - <uint32_t>s.ends):
        if s.units[k].waits_for == 0:
            s.ready.push_back(k)
    while not s.ready.empty():
        k = _choose(s)
        unit = s.ready[k]
        s.ready[k] = s.ready.back()
        s.ready.pop_back()
        s.result.push_back(unit)
        _issue(s, unit, 1)
    if s.ends:
        s.result.push_back(<uint32_t>s.units.size() - 1)
        _issue(s, s.result.back(), 1)
    better = s.clock.finish < old.finish or (s.clock.finish == old.finish and s.clock.now < old.now)
    if better:
        _put(s, first)
    else:
        s.clock = old
    _end(s, better)
    return better


cdef int _enter(Scheduler *s, BlockId block) except -1 nogil:
    """What predecessors have loaded takes as long as the longest of them says; of loops, the blocks at the end are left out."""
    cdef const ProgramData *p = s.p
    cdef const Pending *pending
    cdef RegisterState *state
    cdef BlockId before
    cdef uint32_t k
    cdef uint32_t j
    cdef bint scalar = False
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
        while row < end and not s.ends:
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
