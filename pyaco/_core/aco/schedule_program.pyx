"""Order of instructions within blocks that hides latencies, before register allocation.

Needs: current live variables, SSA, explicit exec, a demand that fits. Keeps all of them current: nothing leaves its block, so live-in sets stay, and
kill flags and demand are computed again for the blocks that changed.

Each run of instructions that nothing passes (``schedule_graph.pyx``) is ordered by a list scheduler that goes along the order it finds: at each step
either the first instruction that remains is issued or one of those behind it is moved up, where all that it depends on has been
issued. The choice: what need not wait for operands, or waits least; of several, memory operations before instructions that lead to one,
before all others; an operation that forms a clause with the last one first; then the first by the old order.

Clauses of vector memory: a load (on GFX11 and later also a store) that would be issued is held back, for a few instructions, while there are others
that lead to one more of its kind; then those that go together follow each other. A load is not held back for one that waits for another load's
result, nor for an address that would leave no room for what the loads held back give. Of two orders, the one with a clause less may take a few
cycles longer.

Registers limit it exactly: for each remaining instruction, its demand if all that remains stayed in the old order is kept up to date. An
instruction moves up only where none of those that it passes, nor itself, comes to need more than the limit. So the old order of the rest is always
a way to finish within it, and the scheduler never has to go back. The limit is what as many waves can have as fit with the demand before,
or six for each 256 VGPRs of the register file, if those are fewer; less a few registers, so that the allocator finds room for vectors. While loads
remain, what else moves up leaves room for the result of one.

Time is that of the cycle model: one wave, results of memory in order, all of the scalar memory at once. A run keeps its order unless
what outlives it is ready earlier.

Sources: list scheduling (Gibbons and Muchnick, "Efficient instruction scheduling for a pipelined architecture"); loads up and their uses
down within the demand that the occupancy allows, after the notes on ACO's scheduler, which gives up waves beyond five to seven.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from pyaco._core.aco.cycle_model cimport Issue, MemoryCycles, issue_of, memory_cycles_of
from pyaco._core.aco.live_variables cimport live_variables_reordered
from pyaco._core.aco.occupancy cimport addressable_sgprs, addressable_vgprs, min_waves
from pyaco._core.aco.queries cimport form_clause, opcode_is_phi, tied_operand
from pyaco._core.aco.schedule_graph cimport Graph, GraphBuilder, graph_build, graph_builder_init, is_barrier, is_boundary, no_edge
from pyaco._core.common.small_vector cimport SmallVector
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport (
    BlockId, InstructionId, OperandRow, OrderRow, Program, ProgramData, TempId, class_dwords, class_is_vgpr, definition_kill, definition_temp,
    format_smem, gfx11, operand_first_kill, operand_late_kill, operand_temp,
)

cdef enum:
    # Remaining instructions that are looked at for one that need not wait. Each step costs so much at most, which keeps the pass linear;
    # arithmetic has latencies below 30 cycles, which fewer instructions fill.
    near_window = 48
    # The same for loads and, where nothing better is near, for what leads to them: vector memory takes about as many cycles.
    far_window = 256
    # The same for what makes clauses longer.
    clause_window = 128
    # Steps without a far look after one that found nothing.
    far_pause = 8
    # Room that scratch data begin with: most runs are shorter.
    first_places = 64
    # Instructions that loads are held back for so that they can be issued one after another, and cycles that the next of them is waited for.
    most_gathered = 16
    gathering_cycles = 8
    # Results that are there so soon behind a block are no loads.
    longest_computed = 8
    # A clause less is worth so much.
    clause_cycles = 4
    no_level = 0xffffffff
    # Waves for each 256 VGPRs of a SIMD's register file that hide latencies well enough: registers beyond these are for the scheduler.
    sufficient_waves = 6
    # Registers left for the allocator, which needs neighbours for vectors.
    spare_vgprs = 2
    spare_sgprs = 4

cdef enum Rank:                       # of equally early instructions, which is issued first
    rank_any = 0
    rank_leads_to_memory = 1
    rank_memory = 2
    rank_clause = 3                   # goes together with the memory operation before it

cdef enum:                            # kinds of members of clauses of vector memory
    member_none = 0
    member_load = 1
    member_store = 2

cdef struct Demand:
    int32_t sgpr
    int32_t vgpr

cdef struct Clock:
    int64_t now
    int64_t scalar_ready              # when all scalar memory that was asked for is there
    uint32_t scalar_waited            # of the scalar loads counted, how many are known to have come back
    uint32_t scalar_loads
    # Of the run at hand, the results that outlive it: when the last of them is there, and the sum of those times.
    int64_t finish
    int64_t finish_sum

cdef struct Pending:                  # at the end of a block
    TempId temp
    bint scalar                       # loaded by scalar memory, and not waited for
    int64_t remaining                 # cycles until it is there

cdef struct TempState:
    int64_t ready_at
    uint32_t scalar_load              # its number, 0: not loaded by one
    uint32_t arrived                  # block + 1 of the last one at whose start it was on its way
    uint32_t uses                     # in the run, by instructions not yet issued
    uint32_t killer                   # place + 1 of the instruction of the run that ended its life in the old order

cdef struct Place:                    # an instruction of the run
    Demand demand
    Issue issue
    int64_t operands_ready            # of those that wait for no predecessor: the cycle, scalar loads left out
    uint32_t last_scalar              # the latest scalar load among their operands
    uint32_t level                    # loads of vector memory on the longest way to it
    uint32_t[3] leads                 # by kind of member: the lowest level of those that wait for it, no others between; no_level: none does
    uint32_t vectors                  # predecessors not yet issued that are more than scalar values
    bint gives_scalars                # and nothing else
    uint8_t rank
    uint8_t member

cdef struct Link:                     # of those that remain
    uint32_t following
    uint32_t preceding

cdef cppclass Scheduler:
    ProgramData *p
    GraphBuilder builder
    Graph graph
    Demand limit
    Demand live                       # before the next instruction
    Clock clock
    InstructionId last_memory
    uint32_t ready_loads              # memory operations that wait for no predecessor
    int32_t load_room                 # VGPRs that a load of the run takes at most, its address given back
    uint32_t prepared                 # loads of vector memory that wait for nothing but scalars
    uint32_t leading                  # remaining instructions that lead to memory operations
    # By kind of member: those that wait for no predecessor, the highest of their levels, and how many more instructions they are held back for.
    bint clauses                      # the run has two members of a kind
    uint32_t[3] held
    uint32_t[3] held_level
    uint32_t[3] patience
    SmallVector[TempState] temps
    SmallVector[TempId] arriving           # what was on its way when the block at hand began
    SmallVector[Pending] pending           # what is at the end of each block, block after block
    SmallVector[uint32_t] pending_first    # by block
    SmallVector[uint32_t] pending_end
    SmallVector[Place] places              # of the run; more than it has, after a longer one
    SmallVector[Link] links                # by place + 1, a list that begins and ends outside
    SmallVector[uint32_t] result           # places in the new order
    SmallVector[uint8_t] reordered         # by block


cdef inline void _add(Demand *d, uint8_t register_class, int32_t sign) noexcept nogil:
    if class_is_vgpr(register_class):
        d.vgpr += sign * <int32_t>class_dwords(register_class)
    else:
        d.sgpr += sign * <int32_t>class_dwords(register_class)


# ------------------------------------------------------------------------------------------------------------------- time
cdef int64_t _operands_ready(const Scheduler *s, InstructionId i, uint32_t *last_scalar) noexcept nogil:
    """When the operands are there, those from scalar loads left out: of them, the latest load."""
    cdef const ProgramData *p = s.p
    cdef int64_t ready = 0
    cdef OperandRow row
    cdef TempId temp
    last_scalar[0] = 0
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        if not p.operands.flags[row] & operand_temp:
            continue
        temp = p.operands.data[row]
        if s.temps[temp].scalar_load:
            last_scalar[0] = max(last_scalar[0], s.temps[temp].scalar_load)
        else:
            ready = max(ready, s.temps[temp].ready_at)
    return ready


cdef inline int64_t _start(const Clock *clock, int64_t operands_ready, uint32_t last_scalar) noexcept nogil:
    """The cycle in which an instruction can be issued."""
    cdef int64_t start = max(clock.now, operands_ready)
    # Scalar loads come back in any order: a wait is for all of them.
    return max(start, clock.scalar_ready) if last_scalar > clock.scalar_waited else start


cdef void _advance(Scheduler *s, InstructionId i, const Issue *issue, int64_t operands_ready, uint32_t last_scalar) noexcept nogil:
    """Issue an instruction."""
    cdef const ProgramData *p = s.p
    cdef bint scalar = p.instructions.format[i] == format_smem
    cdef int64_t start = _start(&s.clock, operands_ready, last_scalar)
    cdef int64_t ready
    cdef uint32_t row
    cdef TempState *temp
    if last_scalar > s.clock.scalar_waited:
        s.clock.scalar_waited = s.clock.scalar_loads
    s.clock.now = start + issue.occupies
    start += issue.delay
    ready = start + issue.latency
    # The program ends when its stores are done.
    s.clock.finish = max(s.clock.finish, max(s.clock.now, start + issue.stored))
    if scalar:
        s.clock.scalar_loads += 1
        s.clock.scalar_ready = max(s.clock.scalar_ready, ready)
    for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        temp = &s.temps[p.definitions.temp[row]]
        temp.ready_at = ready
        temp.scalar_load = s.clock.scalar_loads if scalar else 0
        if temp.killer == 0 and not p.definitions.flags[row] & definition_kill:
            s.clock.finish = max(s.clock.finish, ready)
            s.clock.finish_sum += ready
    s.temps[0].ready_at = 0
    s.temps[0].scalar_load = 0


cdef void _advance_alone(Scheduler *s, InstructionId i) noexcept nogil:
    """Issue an instruction that is in no run."""
    cdef MemoryCycles memory = memory_cycles_of(s.p, i)
    cdef Issue issue = issue_of(s.p, i, &memory)
    cdef uint32_t last_scalar = 0
    cdef int64_t operands_ready = _operands_ready(s, i, &last_scalar)
    _advance(s, i, &issue, operands_ready, last_scalar)


# ------------------------------------------------------------------------------------------------------------- registers
cdef inline bint _first_naming(const ProgramData *p, InstructionId i, OperandRow row) noexcept nogil:
    """Whether no earlier operand of the instruction is the same temp."""
    cdef OperandRow k
    for k in range(p.instructions.operand_first[i], row):
        if p.operands.flags[k] & operand_temp and p.operands.data[k] == p.operands.data[row]:
            return False
    return True


cdef inline bint _dies(const Scheduler *s, TempId temp) noexcept nogil:
    """Whether a temp dies at an instruction that reads it and is issued now."""
    return s.temps[temp].killer != 0 and s.temps[temp].uses == 1


cdef void _needs(const Scheduler *s, uint32_t place, Demand *passed, Demand *during) noexcept nogil:
    """What issuing an instruction now adds to the demand of those that it passes, and the demand during it."""
    cdef const ProgramData *p = s.p
    cdef InstructionId i = s.graph.instruction[place]
    cdef uint32_t row
    cdef TempId temp
    cdef Demand before = s.live
    cdef Demand after = s.live
    cdef int tied = tied_operand(p, i)
    passed.sgpr = passed.vgpr = 0
    during.sgpr = during.vgpr = 0
    for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if not p.definitions.flags[row] & definition_temp:
            continue
        if p.definitions.flags[row] & definition_kill:
            _add(during, p.definitions.register_class[row], 1)
            continue
        _add(passed, p.definitions.register_class[row], 1)
        _add(&after, p.definitions.register_class[row], 1)
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        temp = p.operands.data[row]
        if not p.operands.flags[row] & operand_temp or not _dies(s, temp):
            continue
        # Any operand naming the temp may be the one that keeps it until the end.
        if p.operands.flags[row] & operand_late_kill:
            _add(during, p.operands.register_class[row], 1)
        if not _first_naming(p, i, row):
            continue
        _add(&after, p.operands.register_class[row], -1)
        if s.temps[temp].killer > place:
            _add(passed, p.operands.register_class[row], -1)
    if tied >= 0 and not _dies(s, p.operands.data[p.instructions.operand_first[i] + tied]):
        _add(&before, p.definitions.register_class[p.instructions.definition_first[i]], 1)
    during.sgpr = max(before.sgpr, after.sgpr + during.sgpr)
    during.vgpr = max(before.vgpr, after.vgpr + during.vgpr)


cdef bint _fits(const Scheduler *s, uint32_t place, Demand highest, int32_t loads) noexcept nogil:
    """Whether an instruction may be moved up past others of which the highest demand is known, with room left for the results of some loads."""
    cdef Demand passed
    cdef Demand during
    cdef int32_t most = s.limit.vgpr - loads * s.load_room
    _needs(s, place, &passed, &during)
    return (during.sgpr <= s.limit.sgpr and (during.vgpr <= most or during.vgpr <= s.live.vgpr)
            and (passed.sgpr <= 0 or highest.sgpr + passed.sgpr <= s.limit.sgpr)
            and (passed.vgpr <= 0 or highest.vgpr + passed.vgpr <= most))


cdef void _change_demand(Scheduler *s, uint32_t before, uint8_t register_class, int32_t sign) noexcept nogil:
    """Of the remaining instructions that stand before a place in the old order."""
    cdef uint32_t k = s.links[0].following
    while k < before:
        _add(&s.places[k - 1].demand, register_class, sign)
        k = s.links[k].following


cdef void _becomes_ready(Scheduler *s, uint32_t place) noexcept nogil:
    """All that an instruction depends on has been issued."""
    cdef uint8_t member = s.places[place].member
    s.places[place].operands_ready = _operands_ready(s, s.graph.instruction[place], &s.places[place].last_scalar)
    if s.places[place].rank == rank_memory:
        s.ready_loads += 1
    if member:
        s.held_level[member] = s.places[place].level if s.held[member] == 0 else max(s.held_level[member], s.places[place].level)
        s.held[member] += 1


cdef int _issue(Scheduler *s, uint32_t place) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef InstructionId i = s.graph.instruction[place]
    cdef uint32_t row
    cdef uint32_t edge
    cdef uint32_t k
    cdef TempId temp
    s.links[s.links[place + 1].preceding].following = s.links[place + 1].following
    s.links[s.links[place + 1].following].preceding = s.links[place + 1].preceding
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        temp = p.operands.data[row]
        if not p.operands.flags[row] & operand_temp or not _first_naming(p, i, row):
            continue
        if _dies(s, temp):
            _add(&s.live, p.operands.register_class[row], -1)
            _change_demand(s, s.temps[temp].killer, p.operands.register_class[row], -1)
        s.temps[temp].uses -= 1
        if s.temps[temp].uses == 0:
            s.temps[temp].killer = 0  # as the next run finds it
    for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if p.definitions.flags[row] & definition_temp and not p.definitions.flags[row] & definition_kill:
            _add(&s.live, p.definitions.register_class[row], 1)
            _change_demand(s, place + 1, p.definitions.register_class[row], 1)
    if s.places[place].rank == rank_memory:
        s.last_memory = i
        s.ready_loads -= 1
    elif s.places[place].rank == rank_leads_to_memory:
        s.leading -= 1
    s.held[s.places[place].member] -= s.places[place].member != member_none
    s.prepared -= s.places[place].member == member_load
    _advance(s, i, &s.places[place].issue, s.places[place].operands_ready, s.places[place].last_scalar)
    edge = s.graph.nodes[place].edge_first
    while edge != no_edge:
        k = s.graph.edges[edge].to
        s.graph.nodes[k].waits_for -= 1
        if not s.places[place].gives_scalars:
            s.places[k].vectors -= 1
            s.prepared += s.places[k].vectors == 0 and s.places[k].member == member_load
        if s.graph.nodes[k].waits_for == 0:
            _becomes_ready(s, k)
        edge = s.graph.edges[edge].next
    s.result.push_back(place)
    return 0


# ---------------------------------------------------------------------------------------------------------------- choice
cdef uint32_t _search(const Scheduler *s, uint8_t kind, bint members) noexcept nogil:
    """The place of what is to be issued soonest of the members of a kind that go together with the last instruction, or of the
    instructions that lead to members which could follow those that are held back; `no_edge`: there is none."""
    cdef uint32_t end = <uint32_t>s.graph.instruction.size() + 1
    cdef uint32_t k = s.links[0].following
    cdef uint32_t looked_at = 0
    cdef uint32_t place
    cdef uint32_t best = no_edge
    cdef int64_t best_start = s.clock.now + gathering_cycles + 1
    cdef int64_t start
    cdef bint wanted
    # Addresses that leave no room for what their loads give would wait in registers.
    cdef int32_t loads = <int32_t>s.prepared + 1 if kind == member_load and not members else 0
    cdef Demand highest
    highest.sgpr = highest.vgpr = 0
    while k != end and looked_at < <uint32_t>clause_window and best_start > s.clock.now:
        place = k - 1
        if s.graph.nodes[place].waits_for == 0:
            if members:
                wanted = s.places[place].member == kind and form_clause(s.p, s.graph.instruction[s.result.back()], s.graph.instruction[place])
            else:
                wanted = s.places[place].leads[kind] <= s.held_level[kind]
            if wanted:
                start = _start(&s.clock, s.places[place].operands_ready, s.places[place].last_scalar)
                if start < best_start and (looked_at == 0 or _fits(s, place, highest, loads)):
                    best = place
                    best_start = start
        highest.sgpr = max(highest.sgpr, s.places[place].demand.sgpr)
        highest.vgpr = max(highest.vgpr, s.places[place].demand.vgpr)
        looked_at += 1
        k = s.links[k].following
    return best


cdef uint32_t _choose(const Scheduler *s, bint far) noexcept nogil:
    """The place of the instruction to issue next."""
    cdef uint32_t end = <uint32_t>s.graph.instruction.size() + 1
    cdef uint32_t k = s.links[0].following
    cdef uint32_t looked_at = 0
    cdef uint32_t best = k - 1
    cdef uint32_t place
    cdef int64_t start
    cdef int64_t best_start = 0
    cdef uint8_t rank
    cdef uint8_t best_rank = rank_any
    # Of what remains; nothing better than this will be found.
    cdef uint8_t highest_rank = (rank_clause if s.last_memory else rank_memory) if s.ready_loads \
        else rank_leads_to_memory if s.leading else rank_any
    cdef Demand highest
    highest.sgpr = highest.vgpr = 0
    while k != end and looked_at < <uint32_t>far_window:
        if looked_at >= <uint32_t>near_window and (not far or best_rank >= rank_memory
                                                   or (best_start == s.clock.now and best_rank != rank_any and s.ready_loads == 0)):
            break
        place = k - 1
        rank = s.places[place].rank
        if s.graph.nodes[place].waits_for == 0 and (looked_at < <uint32_t>near_window or rank == rank_memory
                                                    or (rank == rank_leads_to_memory and (best_start > s.clock.now or best_rank == rank_any))):
            start = _start(&s.clock, s.places[place].operands_ready, s.places[place].last_scalar)
            if rank == rank_memory and s.last_memory and form_clause(s.p, s.last_memory, s.graph.instruction[place]):
                rank = rank_clause
            if looked_at == 0:
                best_start = start
                best_rank = rank
            elif (start < best_start or (start == best_start and rank > best_rank)) \
                    and not is_barrier(s.p, s.graph.instruction[place]) \
                    and _fits(s, place, highest, <int32_t>s.prepared + 1 if rank < rank_memory and (s.ready_loads or s.leading) else 0):
                best = place
                best_start = start
                best_rank = rank
            if best_start == s.clock.now and best_rank >= highest_rank:
                break
        highest.sgpr = max(highest.sgpr, s.places[place].demand.sgpr)
        highest.vgpr = max(highest.vgpr, s.places[place].demand.vgpr)
        looked_at += 1
        k = s.links[k].following
    return best


cdef uint32_t _next(Scheduler *s, bint far) noexcept nogil:
    """The place of the instruction to issue next, with what makes clauses longer."""
    cdef uint8_t last = member_none
    cdef uint8_t kind
    cdef uint32_t place
    cdef uint32_t other = no_edge
    if not s.clauses:
        return _choose(s, far)
    if s.result.size():
        last = s.places[s.result.back()].member
    if last != member_none:
        s.patience[last] = most_gathered
        if s.held[last]:
            other = _search(s, last, True)
        if other != <uint32_t>no_edge:
            return other
    place = _choose(s, far)
    kind = s.places[place].member
    if kind == member_none or kind == last or s.patience[kind] == 0:
        return place
    if kind == member_store and s.p.gfx_level < gfx11:
        # Clauses of stores help GFX11 and later; those before are not worth the registers.
        return place
    other = _search(s, kind, False)
    s.patience[kind] = s.patience[kind] - 1 if other != <uint32_t>no_edge else 0
    return other if other != <uint32_t>no_edge else place


cdef uint8_t _member(Scheduler *s, InstructionId i, const MemoryCycles *memory) noexcept nogil:
    if s.p.instructions.definition_count[i]:
        return member_load if memory.vm else member_none
    return member_store if memory.vs else member_none


cdef void _levels(Scheduler *s) noexcept nogil:
    """How many loads of vector memory stand one behind another in front of each instruction."""
    cdef uint32_t place
    cdef uint32_t edge
    cdef uint32_t k
    for place in range(<uint32_t>s.graph.instruction.size()):
        edge = s.graph.nodes[place].edge_first
        while edge != no_edge:
            k = s.graph.edges[edge].to
            s.places[k].level = max(s.places[k].level, s.places[place].level + (s.places[place].member == member_load))
            edge = s.graph.edges[edge].next


cdef bint _gives_scalars(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether an instruction has results, all of them in SGPRs."""
    cdef uint32_t row
    for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if class_is_vgpr(p.definitions.register_class[row]):
            return False
    return p.instructions.definition_count[i] != 0


cdef void _count_prepared(Scheduler *s) noexcept nogil:
    """Loads of vector memory of which all but scalars is there from the beginning."""
    cdef uint32_t place
    cdef uint32_t edge
    s.prepared = 0
    for place in range(<uint32_t>s.graph.instruction.size()):
        s.places[place].vectors = 0
        s.places[place].gives_scalars = _gives_scalars(s.p, s.graph.instruction[place])
    for place in range(<uint32_t>s.graph.instruction.size()):
        if not s.places[place].gives_scalars:
            edge = s.graph.nodes[place].edge_first
            while edge != no_edge:
                s.places[s.graph.edges[edge].to].vectors += 1
                edge = s.graph.edges[edge].next
        s.prepared += s.places[place].vectors == 0 and s.places[place].member == member_load


cdef void _rank(Scheduler *s) noexcept nogil:
    """Which instructions are memory operations, and which of the others lead to one."""
    cdef uint32_t place
    cdef uint32_t edge
    cdef uint32_t k
    cdef uint32_t level
    cdef uint32_t[3] members
    cdef uint8_t kind
    cdef InstructionId i
    cdef MemoryCycles memory
    s.ready_loads = 0
    s.leading = 0
    s.load_room = 0
    members[0] = members[1] = members[2] = 0
    for place in range(<uint32_t>s.graph.instruction.size()):
        i = s.graph.instruction[place]
        memory = memory_cycles_of(s.p, i)
        s.places[place].issue = issue_of(s.p, i, &memory)
        s.places[place].rank = rank_memory if (memory.vm or memory.lgkm) and s.p.instructions.definition_count[i] else rank_any
        s.places[place].member = _member(s, i, &memory)
        members[s.places[place].member] += 1
        if s.places[place].member == member_load:
            s.load_room = max(s.load_room, <int32_t>class_dwords(s.p.definitions.register_class[s.p.instructions.definition_first[i]]) - 1)
        s.places[place].level = 0
    for kind in range(3):
        s.held[kind] = 0
        s.patience[kind] = most_gathered if members[kind] > 1 else 0
    s.clauses = members[member_load] > 1 or members[member_store] > 1
    if s.clauses and members[member_load]:
        _levels(s)
    place = <uint32_t>s.graph.instruction.size()
    while place > 0:
        place -= 1
        s.places[place].leads[<int>member_load] = s.places[place].leads[<int>member_store] = no_level
        if s.places[place].rank == rank_memory:
            continue
        edge = s.graph.nodes[place].edge_first
        while edge != no_edge:
            k = s.graph.edges[edge].to
            if s.places[k].rank != rank_any:
                s.places[place].rank = rank_leads_to_memory
            if s.places[place].member == member_none:
                for kind in range(<uint8_t>member_load, member_store + 1):
                    level = s.places[k].level if s.places[k].member == kind else s.places[k].leads[kind]
                    s.places[place].leads[kind] = min(s.places[place].leads[kind], level)
            edge = s.graph.edges[edge].next
        s.leading += s.places[place].rank == rank_leads_to_memory


cdef uint32_t _clauses(const Scheduler *s, const uint32_t *order) noexcept nogil:
    """Clauses of vector memory in an order of the run."""
    cdef uint32_t found = 0
    cdef uint32_t k
    cdef uint32_t place
    cdef uint32_t last = 0
    for k in range(<uint32_t>s.graph.instruction.size()):
        place = order[k] if order else k
        if s.places[place].member != member_none and (k == 0 or s.places[last].member != s.places[place].member
                                                      or not form_clause(s.p, s.graph.instruction[last], s.graph.instruction[place])):
            found += 1
        last = place
    return found


cdef void _count_uses(Scheduler *s) noexcept nogil:
    """Uses of each temp in the run, and where it dies: `_issue` takes them away again."""
    cdef const ProgramData *p = s.p
    cdef uint32_t place
    cdef InstructionId i
    cdef OperandRow row
    cdef TempId temp
    for place in range(<uint32_t>s.graph.instruction.size()):
        i = s.graph.instruction[place]
        for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
            if not p.operands.flags[row] & operand_temp:
                continue
            temp = p.operands.data[row]
            if _first_naming(p, i, row):
                s.temps[temp].uses += 1
            if p.operands.flags[row] & operand_first_kill:
                s.temps[temp].killer = place + 1


cdef int _prepare(Scheduler *s) except -1 nogil:
    cdef uint32_t count = <uint32_t>s.graph.instruction.size()
    cdef uint32_t place
    if s.places.size() < count:
        s.places.resize(count)
        s.links.resize(count + 2)
    s.result.clear()
    for place in range(count):
        s.places[place].demand.sgpr = s.p.instructions.demand_sgpr[s.graph.instruction[place]]
        s.places[place].demand.vgpr = s.p.instructions.demand_vgpr[s.graph.instruction[place]]
    for place in range(count + 1):
        s.links[place].following = place + 1
        s.links[place + 1].preceding = place
    _rank(s)
    _count_prepared(s)
    _count_uses(s)
    return 0


cdef int _run(Scheduler *s, BlockId block, OrderRow first) except -1 nogil:
    """Order the collected run, which begins at a row of the order. What is live behind it is the same in any order; a chain has but one."""
    cdef uint32_t count = <uint32_t>s.graph.instruction.size()
    cdef uint32_t pause = 0
    cdef uint32_t place
    cdef uint32_t last_scalar = 0
    cdef int64_t operands_ready
    cdef int64_t gain
    cdef Clock start
    cdef Clock old
    s.clock.finish = s.clock.finish_sum = 0
    start = s.clock
    if count > 1:
        graph_build(&s.builder, s.p, &s.graph)
    if count < 2 or s.graph.chained == count - 1:
        for place in range(count):
            _pass(s, s.graph.instruction[place])
            _advance_alone(s, s.graph.instruction[place])
        return 0
    s.last_memory = 0
    _prepare(s)
    for place in range(count):
        operands_ready = _operands_ready(s, s.graph.instruction[place], &last_scalar)
        _advance(s, s.graph.instruction[place], &s.places[place].issue, operands_ready, last_scalar)
    old = s.clock
    s.clock = start
    for place in range(count):
        if s.graph.nodes[place].waits_for == 0:
            _becomes_ready(s, place)
    while s.result.size() < count:
        place = _next(s, (s.ready_loads != 0 or s.leading != 0) and pause == 0)
        if pause:
            pause -= 1
        elif s.places[place].rank < rank_leads_to_memory:
            pause = far_pause
        _issue(s, place)
    gain = old.finish - s.clock.finish
    if s.clauses:
        gain += clause_cycles * (<int64_t>_clauses(s, NULL) - <int64_t>_clauses(s, s.result.data()))
    if gain < 0 or (gain == 0 and s.clock.finish_sum >= old.finish_sum):
        s.clock = old
        return 0
    for place in range(count):
        if s.result[place] != place:
            s.reordered[block] = True
        s.p.order.instruction[first + place] = s.graph.instruction[s.result[place]]
    return 0


cdef void _pass(Scheduler *s, InstructionId i) noexcept nogil:
    """Live registers behind an instruction of the old order."""
    cdef const ProgramData *p = s.p
    cdef uint32_t row
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        if p.operands.flags[row] & operand_temp and p.operands.flags[row] & operand_first_kill:
            _add(&s.live, p.operands.register_class[row], -1)
    for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if p.definitions.flags[row] & definition_temp and not p.definitions.flags[row] & definition_kill:
            _add(&s.live, p.definitions.register_class[row], 1)


cdef void _phi(Scheduler *s, InstructionId i) noexcept nogil:
    """A phi's value is there when the latest of those is that it may be, as far as they have been looked at."""
    cdef TempId temp = s.p.definitions.temp[s.p.instructions.definition_first[i]]
    cdef uint32_t last_scalar = 0
    if temp:
        s.temps[temp].ready_at = _operands_ready(s, i, &last_scalar)
        s.temps[temp].scalar_load = last_scalar


cdef int _enter(Scheduler *s, BlockId block) except -1 nogil:
    """Bring what is on its way up to date: the block before in the program need not be one that leads here."""
    cdef const ProgramData *p = s.p
    cdef uint32_t k
    cdef uint32_t row
    cdef BlockId before
    cdef Pending each
    cdef TempState *temp
    cdef bint scalars = False
    s.arriving.clear()
    for k in range(p.blocks.linear_pred_first[block], p.blocks.linear_pred_first[block] + p.blocks.linear_pred_count[block]):
        before = p.edge_lists.block[k]
        if before >= block:
            continue
        for row in range(s.pending_first[before], s.pending_end[before]):
            each = s.pending[row]
            temp = &s.temps[each.temp]
            temp.ready_at = max(temp.ready_at, s.clock.now + each.remaining)
            if each.scalar:
                if not scalars:
                    s.clock.scalar_loads += 1
                    s.clock.scalar_ready = s.clock.now
                scalars = True
                temp.scalar_load = s.clock.scalar_loads
                s.clock.scalar_ready = max(s.clock.scalar_ready, temp.ready_at)
            if temp.arrived != block + 1:
                temp.arrived = block + 1
                s.arriving.push_back(each.temp)
    s.clock.scalar_waited = s.clock.scalar_loads - scalars
    return 0


cdef int _leave_temp(Scheduler *s, TempId t) except -1 nogil:
    cdef const TempState *temp = &s.temps[t]
    cdef Pending each
    if temp.ready_at <= s.clock.now + longest_computed or (temp.scalar_load and temp.scalar_load <= s.clock.scalar_waited):
        return 0
    each.temp = t
    each.scalar = temp.scalar_load != 0
    each.remaining = temp.ready_at - s.clock.now
    s.pending.push_back(each)
    return 0


cdef int _leave(Scheduler *s, BlockId block) except -1 nogil:
    """Note what is on its way at the end of a block."""
    cdef const ProgramData *p = s.p
    cdef OrderRow position
    cdef InstructionId i
    cdef TempId t
    cdef uint32_t row
    s.pending_first[block] = <uint32_t>s.pending.size()
    for t in s.arriving:
        _leave_temp(s, t)
    for position in range(p.blocks.order_first[block], p.blocks.order_first[block] + p.blocks.order_count[block]):
        i = p.order.instruction[position]
        for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
            _leave_temp(s, p.definitions.temp[row])
    s.pending_end[block] = <uint32_t>s.pending.size()
    return 0


cdef int _block(Scheduler *s, BlockId block) except -1 nogil:
    cdef ProgramData *p = s.p
    cdef OrderRow row = p.blocks.order_first[block]
    cdef OrderRow end = row + p.blocks.order_count[block]
    s.live.sgpr = p.blocks.live_in_demand_sgpr[block]
    s.live.vgpr = p.blocks.live_in_demand_vgpr[block]
    _enter(s, block)
    while row < end and opcode_is_phi(p.instructions.opcode[p.order.instruction[row]]):
        _phi(s, p.order.instruction[row])
        row += 1
    while row < end:
        s.graph.instruction.clear()
        while row < end and not is_boundary(p, p.order.instruction[row]):
            s.graph.instruction.push_back(p.order.instruction[row])
            row += 1
        _run(s, block, row - <uint32_t>s.graph.instruction.size())
        if row < end:
            _pass(s, p.order.instruction[row])
            _advance_alone(s, p.order.instruction[row])
            row += 1
    return _leave(s, block)


cdef uint32_t _least_waves(const ProgramData *p) noexcept nogil:
    """Waves that must fit with the VGPRs that the new order needs."""
    cdef uint32_t waves = max(<uint32_t>sufficient_waves * p.device.physical_vgprs // 256, min_waves(p))
    return min(<uint32_t>p.num_waves, waves)


cdef bint _has_runs(const ProgramData *p) noexcept nogil:
    """Whether there are two instructions anywhere that could change places: many small programs have none."""
    cdef BlockId b
    cdef OrderRow row
    cdef bint before
    for b in range(p.blocks.table.count):
        before = False
        for row in range(p.blocks.order_first[b], p.blocks.order_first[b] + p.blocks.order_count[b]):
            if opcode_is_phi(p.instructions.opcode[p.order.instruction[row]]) or is_boundary(p, p.order.instruction[row]):
                before = False
            elif before:
                return True
            else:
                before = True
    return False


cdef bint schedule_program_run(ProgramData *p) except -1 nogil:
    """Whether anything moved."""
    cdef Scheduler s
    cdef BlockId b
    cdef bint moved = False
    # A program read from text may come without a device; without waves it needs spilling.
    if p.num_waves == 0 or not _has_runs(p):
        return False
    s.p = p
    s.limit.sgpr = <int32_t>addressable_sgprs(p, p.num_waves) - spare_sgprs
    s.limit.vgpr = <int32_t>addressable_vgprs(p, _least_waves(p)) - spare_vgprs
    s.clock.now = 1
    s.clock.finish = s.clock.finish_sum = 0
    s.clock.scalar_ready = 0
    s.clock.scalar_waited = s.clock.scalar_loads = 0
    s.temps.resize(p.temps.table.count)
    s.pending_first.assign(p.blocks.table.count, 0)
    s.pending_end.assign(p.blocks.table.count, 0)
    s.reordered.assign(p.blocks.table.count, 0)
    graph_builder_init(&s.builder, p)
    s.graph.instruction.reserve(first_places)
    s.graph.edges.reserve(first_places)
    s.places.reserve(first_places)
    s.links.reserve(first_places + 2)
    s.result.reserve(first_places)
    for b in range(p.blocks.table.count):
        _block(&s, b)
        moved = moved or s.reordered[b]
    if moved:
        live_variables_reordered(p, s.reordered.data())
    return moved


cdef int _kernel(void *ir, int option) except -1 nogil:
    return schedule_program_run(<ProgramData *>ir)


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Order instructions so that latencies are hidden. Returns whether anything moved."""
    cdef bint moved
    with nogil:
        moved = _kernel(&program.data, 0)
    return moved
