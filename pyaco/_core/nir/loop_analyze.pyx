"""Analysis of loops: exits, trip counts, cost.

Exits are terminators, ifs directly in the loop's list one of whose lists ends with a break, and a break at the end of the loop. A
loop with any other jump is not analysed. The trip count is found by running the loop: all that follows from constants and from phis of
its header that start at constants is computed trip by trip, so additions, multiplications, shifts, bitwise operations and floats
all count, and wrap-around is exact. A condition of which only a part is known may still be decided: the other side of `ior` or `iand`,
or of a minimum or maximum, may not matter (``i < min(n, 4)`` is false from the fourth trip on). What no trip will know is found in the first one
(`known_never`) and not looked at again: most loops of unknown length are given up there. Nothing is looked at that no exit depends on.

Whether copies are worth it is decided as Mesa's ``nir_opt_loop_unroll`` and ``nir_loop_analyze`` do with RADV's limits: up to 32 trips of
26 instructions on average, where comparisons and selections that unrolling makes constant cost nothing and what is lowered to long
sequences costs more; up to 128 trips where loads of straight code can then overlap; always where a counter indexes a whole local array.
A loop that holds loops is only unrolled if it runs once. The author may ask for it (``[[unroll]]``), or forbid it.

Of a loop of one exit that nobody knows, trips are guessed as there, by the shortest local array that it indexes by a counter: whoever goes on further
is past the array's end. The array can be values where these trips are copied; what the loop behind them would do past the end is left out.
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from nir_opcodes cimport (
    alu_bcsel, alu_fdiv, alu_feq, alu_fge, alu_flt, alu_fneu, alu_frcp, alu_frsq, alu_fsqrt, alu_iadd, alu_iand, alu_idiv, alu_ieq, alu_ige, alu_ilt,
    alu_imax, alu_imin, alu_imod, alu_imul, alu_imul_high, alu_ine, alu_input_count, alu_input_sizes_flat,
    alu_ior, alu_irem, alu_max_inputs, alu_mov, alu_output_size, alu_udiv, alu_uge, alu_ult, alu_umax, alu_umin, alu_umod,
    alu_umul_high, intrinsic_load_deref, intrinsic_load_global, intrinsic_load_global_amd, intrinsic_load_ssbo, intrinsic_load_ubo,
    intrinsic_store_deref,
)
from pyaco._core.common.hashing cimport hash_mix
from pyaco._core.ir.shader cimport (
    NodeId, OrderRow, ShaderData, SourceRow, ValueId, VariableId, alu_is_vector, constant_bits, deref_array, jump_break, loop_control_dont_unroll,
    loop_control_unroll, mode_function_temp, mode_global, mode_shader_temp, mode_ssbo, mode_ubo, nir_alu, nir_deref, nir_intrinsic,
    nir_jump, nir_load_const, nir_phi, nir_tex, node_block, node_if, node_loop, source_swizzle, source_value, swizzle_component,
    value_is_constant, variable_alive,
)
from pyaco._core.nir.evaluate cimport evaluate_alu, operand_bits

cdef enum:
    most_trips = 32
    most_overlapping_trips = 128   # of loads
    most_cost_per_trip = 26
    most_asked_trips = 1024        # where the author asks for it; Mesa has no such limits
    most_asked_cost = 65536
    most_exits = 3                 # of a loop that runs once
    most_depth = 32                # of an expression
    most_steps = 1 << 15           # computed for the exits of one loop
    fewest_slots = 32


cdef int analysis_begin(LoopAnalysis *a, ShaderData *s) except -1 nogil:
    a.s = s
    a.trip = 0
    a.first_made = s.instructions.table.count
    a.has_local_variables = _has_local_variables(s)
    a.hinges = False
    return 0


# --------------------------------------------------------------------------------------------------------------- the exits
cdef ValueId jump_of(const ShaderData *s, NodeId block) noexcept nogil:
    cdef ValueId last
    if s.nodes.order_count[block] == 0:
        return 0
    last = s.order.instruction[s.nodes.order_first[block] + s.nodes.order_count[block] - 1]
    return last if s.instructions.kind[last] == nir_jump else 0


cdef uint32_t _jumps_in(const ShaderData *s, NodeId node) noexcept nogil:
    """Jumps out of the list from `node` on; breaks of loops in it stay inside."""
    cdef uint32_t count = 0
    while node:
        if s.nodes.kind[node] == node_block:
            count += jump_of(s, node) != 0
        elif s.nodes.kind[node] == node_if:
            count += _jumps_in(s, s.nodes.first0[node]) + _jumps_in(s, s.nodes.first1[node])
        node = s.nodes.next[node]
    return count


cdef bint _is_break(const ShaderData *s, ValueId jump) noexcept nogil:
    return jump != 0 and s.instructions.opcode[jump] == jump_break


cdef bint _find_exits(const ShaderData *s, LoopFacts *facts) except -1 nogil:
    """List the terminators; False if other jumps leave the loop, or lead back to its begin."""
    cdef NodeId node = s.nodes.first0[facts.loop]
    cdef Terminator found
    cdef uint32_t jumps
    facts.terminators.clear()
    facts.runs_once = _is_break(s, jump_of(s, s.nodes.last0[facts.loop]))
    if jump_of(s, s.nodes.last0[facts.loop]) and not facts.runs_once:
        return False
    while node:
        if s.nodes.kind[node] == node_if:
            jumps = _jumps_in(s, s.nodes.first0[node]) + _jumps_in(s, s.nodes.first1[node])
            found.node = node
            found.unknown = False
            found.leaves_in_then = _is_break(s, jump_of(s, s.nodes.last0[node]))
            if jumps > 1:
                return False
            if found.leaves_in_then or _is_break(s, jump_of(s, s.nodes.last1[node])):
                facts.terminators.push_back(found)
            elif jumps:
                return False
        elif s.nodes.kind[node] == node_block and jump_of(s, node) and node != s.nodes.last0[facts.loop]:
            return False
        node = s.nodes.next[node]
    return facts.runs_once or not facts.terminators.empty()


# ---------------------------------------------------------------------------------------------------- computing with counters
cdef inline bint _is_inside(const LoopAnalysis *a, ValueId value) noexcept nogil:
    """Whether a value is the loop's (rows of the order are in the order of the code); values that the pass has made are not."""
    return value < a.first_made and a.begin <= a.s.nodes.order_first[a.s.instructions.block[value]] < a.end


cdef inline size_t _slot(const LoopAnalysis *a, ValueId value) noexcept nogil:
    """Where the row of a value stands in `slots`, or would stand: it is 0 there."""
    cdef size_t mask = a.slots.size() - 1
    cdef size_t slot = hash_mix(0, value) >> 32 & mask
    while a.slots[slot] and a.members[a.slots[slot]].value != value:
        slot = (slot + 1) & mask
    return slot


cdef int _more_slots(LoopAnalysis *a) except -1 nogil:
    cdef uint32_t row
    a.slots.assign(2 * a.slots.size(), 0)
    for row in range(1, <uint32_t>a.members.size()):
        a.slots[_slot(a, a.members[row].value)] = row
    return 0


cdef inline uint32_t _member(LoopAnalysis *a, ValueId value) except 0 nogil:
    """The row in `members` of a value of the loop, which is made if there is none."""
    cdef size_t slot = _slot(a, value)
    if a.slots[slot] == 0:
        if 2 * a.members.size() > a.slots.size():
            _more_slots(a)
            slot = _slot(a, value)
        a.slots[slot] = <uint32_t>a.members.size()
        a.members.push_back(Member(value=value, trip=0, knowledge=known_never, counts=False, bits=0))
    return a.slots[slot]


cdef inline bint _is_counter(const LoopAnalysis *a, ValueId value) noexcept nogil:
    cdef uint32_t row = a.slots[_slot(a, value)]
    return row != 0 and a.members[row].counts


cdef bint _is_limit(int opcode, int comparison, bint *maximum) noexcept nogil:
    """Whether `opcode` bounds its result by each operand, in the order that the comparison has."""
    maximum[0] = opcode == alu_imax or opcode == alu_umax
    if comparison == alu_ilt or comparison == alu_ige:
        return opcode == alu_imin or opcode == alu_imax
    if comparison == alu_ult or comparison == alu_uge:
        return opcode == alu_umin or opcode == alu_umax or opcode == alu_iand
    return False


cdef int _decide_limited(LoopAnalysis *a, ValueId comparison, int unknown, int otherwise, uint64_t *values, uint64_t *result,
                         int depth) except -1 nogil:
    """A comparison with a minimum or maximum of which one operand is known: it may be decided by that one alone."""
    cdef ShaderData *s = a.s
    cdef int opcode = s.instructions.opcode[comparison]
    cdef ValueId limit = source_value(s, comparison, unknown)
    cdef bint maximum
    cdef bint decisive
    cdef int side, knowledge
    cdef int most = known_never
    cdef (const uint64_t *)[2] operands
    if s.instructions.kind[limit] != nir_alu or s.instructions.components[limit] != 1 or \
            not _is_limit(s.instructions.opcode[limit], opcode, &maximum):
        return otherwise
    # a < min(b, c) is false where a < c is, max(b, c) < a likewise; a < max(b, c) is true where a < c is. Of >= it is the contrary.
    decisive = (unknown == 1) == maximum
    if opcode == alu_ige or opcode == alu_uge:
        decisive = not decisive
    operands[0] = &values[0]
    operands[1] = &values[1]
    for side in range(2):
        knowledge = _source(a, limit, side, &values[unknown], depth)
        most = max(most, knowledge)
        if knowledge != known_now:
            continue
        evaluate_alu(opcode, s.instructions.bit_size[limit], 1, 1, operands, result)
        if <bint>result[0] == decisive:
            return known_now
    return min(most, <int>known_later)


cdef int _combine(LoopAnalysis *a, ValueId instruction, const int *known, uint64_t *values, uint64_t *result, int depth) except -1 nogil:
    """The value of an operation of two operands of which one is not known, if it does not depend on that."""
    cdef int opcode = a.s.instructions.opcode[instruction]
    cdef int side = 0 if known[0] == known_now else 1
    if known[side] != known_now:
        return max(known[0], known[1])
    if a.s.instructions.bit_size[instruction] == 1 and (opcode == alu_iand or opcode == alu_ior):
        result[0] = values[side]
        return known_now if values[side] == (opcode == alu_ior) else known_later
    return _decide_limited(a, instruction, 1 - side, known[1 - side], values, result, depth)


cdef inline bint _is_copy(const ShaderData *s, ValueId value) noexcept nogil:
    return s.instructions.opcode[value] == alu_mov or alu_is_vector(s.instructions.opcode[value])


cdef bint _needs_all(LoopAnalysis *a, ValueId instruction) noexcept nogil:
    """Whether an operation is never known where one of its operands never is."""
    cdef const ShaderData *s = a.s
    cdef int opcode = s.instructions.opcode[instruction]
    cdef bint needs = True
    cdef bint maximum
    cdef uint32_t i
    if opcode == alu_bcsel or s.instructions.bit_size[instruction] == 1 and (opcode == alu_iand or opcode == alu_ior):
        return False
    for i in range(s.instructions.source_count[instruction]):
        if s.instructions.kind[source_value(s, instruction, i)] != nir_alu:
            continue
        a.hinges = a.hinges or _is_copy(s, source_value(s, instruction, i))      # of a limit
        needs = needs and not _is_limit(s.instructions.opcode[source_value(s, instruction, i)], opcode, &maximum)
    return needs


cdef bint _reads_outside(const LoopAnalysis *a, ValueId instruction) noexcept nogil:
    """Whether an operation has an operand from outside of the loop that is no constant."""
    cdef ValueId value
    cdef uint32_t i
    for i in range(a.s.instructions.source_count[instruction]):
        value = source_value(a.s, instruction, i)
        if a.s.instructions.kind[value] != nir_load_const and not _is_inside(a, value):
            return True
    return False


cdef int _compute(LoopAnalysis *a, ValueId instruction, uint64_t *result, int depth) except -1 nogil:
    cdef ShaderData *s = a.s
    cdef int opcode = s.instructions.opcode[instruction]
    cdef int count = alu_input_count[opcode]
    cdef uint64_t[4] values
    cdef (const uint64_t *)[4] operands
    cdef int[4] known
    cdef int least = known_now
    cdef int i
    a.hinges = a.hinges or _is_copy(s, instruction)
    if count > 4 or s.instructions.components[instruction] != 1 or alu_output_size[opcode] > 1:
        return known_never
    if _reads_outside(a, instruction) and _needs_all(a, instruction):
        return known_never
    for i in range(count):
        if alu_input_sizes_flat[opcode * alu_max_inputs + i] > 1:
            return known_never
        values[i] = 0
        known[i] = _source(a, instruction, i, &values[i], depth)
        if known[i] == known_never and _needs_all(a, instruction):
            return known_never
        least = min(least, known[i])
        operands[i] = &values[i]
    if opcode == alu_bcsel:
        i = 1 if values[0] else 2
        result[0] = values[i]
        if known[0] == known_now and known[i] == known_now:
            return known_now
        return min(known[0], max(known[1], known[2]), <int>known_later)
    if least != known_now:
        return _combine(a, instruction, known, values, result, depth) if count == 2 else least
    return known_now if evaluate_alu(opcode, operand_bits(s, instruction), s.instructions.bit_size[instruction], 1, operands, result) \
        else known_never


cdef int _merge(LoopAnalysis *a, ValueId phi, uint64_t *result, int depth) except -1 nogil:
    """The value of a phi all of whose sources are known and equal."""
    cdef ShaderData *s = a.s
    cdef SourceRow first = s.instructions.source_first[phi]
    cdef uint64_t value = 0
    cdef uint32_t i
    cdef int knowledge = known_never
    for i in range(s.instructions.source_count[phi]):
        knowledge = _value(a, s.sources.value[first + i], 0, &value, depth)
        if knowledge != known_now:
            return knowledge
        if i and value != result[0]:
            return known_never
        result[0] = value
    return knowledge


cdef int _value(LoopAnalysis *a, ValueId value, uint32_t component, uint64_t *result, int depth) except -1 nogil:
    """What is known of a value (known_*), and what it is in this trip."""
    cdef ShaderData *s = a.s
    cdef uint32_t row
    cdef int knowledge
    if s.instructions.kind[value] == nir_load_const:
        result[0] = s.constants.value[s.instructions.data[value] + component]
        return known_now
    if not _is_inside(a, value):
        return known_never
    if s.instructions.components[value] != 1 or depth > most_depth:
        a.hinges = True
        return known_never
    row = _member(a, value)
    if a.members[row].trip != a.trip and (a.members[row].trip == 0 or a.members[row].knowledge != known_never):
        if a.steps == 0:
            a.hinges = True
            return known_later
        a.steps -= 1
        a.members[row].trip = a.trip
        a.members[row].knowledge = known_never     # what depends on itself
        knowledge = known_never
        if s.instructions.kind[value] == nir_alu:
            knowledge = _compute(a, value, result, depth + 1)
        elif s.instructions.kind[value] == nir_phi and s.instructions.block[value] == a.header:
            knowledge = _value(a, phi_value_from(s, value, a.entry), 0, result, depth + 1)
        elif s.instructions.kind[value] == nir_phi:
            knowledge = _merge(a, value, result, depth + 1)
        a.members[row].knowledge = <uint8_t>knowledge
        a.members[row].bits = result[0]
    result[0] = a.members[row].bits
    return a.members[row].knowledge


cdef int _source(LoopAnalysis *a, ValueId instruction, uint32_t source, uint64_t *result, int depth) except -1 nogil:
    cdef ValueId value = source_value(a.s, instruction, source)
    cdef uint32_t component = 0
    if a.s.instructions.kind[value] == nir_load_const:         # of others one component is all there is
        component = swizzle_component(source_swizzle(a.s, instruction, source), 0)
    return _value(a, value, component, result, depth)


# --------------------------------------------------------------------------------------------------------- running the loop
cdef ValueId phi_value_from(const ShaderData *s, ValueId phi, NodeId predecessor) noexcept nogil:
    cdef SourceRow first = s.instructions.source_first[phi]
    cdef uint32_t i
    for i in range(s.instructions.source_count[phi]):
        if s.sources.swizzle[first + i] == predecessor:
            return s.sources.value[first + i]
    return 0


cdef int _first_trip(LoopAnalysis *a, NodeId loop) except -1 nogil:
    """Turn to a loop, before it runs: its header's phis are what they are by way of the block before it."""
    cdef const ShaderData *s = a.s
    cdef NodeId last = s.nodes.last0[loop]
    a.members.assign(1, Member(value=0, trip=0, knowledge=known_never, counts=False, bits=0))
    a.slots.assign(fewest_slots, 0)
    a.header = s.nodes.first0[loop]
    a.begin = s.nodes.order_first[a.header]
    a.end = s.nodes.order_first[last] + s.nodes.order_count[last]
    a.entry = s.nodes.previous[loop]
    a.steps = most_steps
    a.trip += 1
    return 0


cdef bint _next_trip(LoopAnalysis *a, NodeId loop) except -1 nogil:
    """Give the phis of the header their values of the next trip; False if none of them is known in this one, so that nothing can change."""
    cdef ShaderData *s = a.s
    cdef NodeId header = s.nodes.first0[loop]
    cdef OrderRow begin = s.nodes.order_first[header]
    cdef ValueId phi, value
    cdef uint64_t number
    cdef int knowledge
    cdef bint any_known = False
    cdef Member *member
    cdef uint32_t count = 0
    cdef uint32_t i
    a.carried.clear()              # all are read before one is written: phis may name one another
    while count < s.nodes.order_count[header] and s.instructions.kind[s.order.instruction[begin + count]] == nir_phi:
        phi = s.order.instruction[begin + count]
        number = 0
        knowledge = _value(a, phi, 0, &number, 0)
        if knowledge == known_now:
            any_known = True
            value = phi_value_from(s, phi, s.nodes.last0[loop])
            knowledge = _value(a, value, 0, &number, 0)
            if knowledge == known_now:
                a.members[_member(a, phi)].counts = True
                if _is_inside(a, value):
                    a.members[_member(a, value)].counts = True
        a.carried.push_back(Carried(known=knowledge == known_now, bits=number))
        count += 1
    a.trip += 1
    for i in range(count):
        member = &a.members[_member(a, s.order.instruction[begin + i])]
        member.trip = a.trip
        member.knowledge = known_now if a.carried[i].known else known_never
        member.bits = a.carried[i].bits
    return any_known


cdef bint _run(LoopAnalysis *a, LoopFacts *facts, bint asked) except -1 nogil:
    """Run the loop until it is certainly left; False if that takes too many whole trips, or it is not worth knowing."""
    cdef ShaderData *s = a.s
    cdef uint32_t exits = <uint32_t>facts.terminators.size()
    cdef uint32_t trip, k, never
    cdef uint64_t condition
    cdef uint8_t decision
    cdef int knowledge
    facts.decisions.clear()
    facts.unknown = 0
    _first_trip(a, facts.loop)
    for trip in range((most_asked_trips if asked else most_overlapping_trips) + 1):
        never = 0
        for k in range(exits):
            condition = 0
            decision = exit_unknown
            knowledge = _value(a, s.nodes.condition[facts.terminators[k].node], 0, &condition, 0)
            never += knowledge == known_never
            if knowledge == known_now:
                decision = exit_leaves if <bint>condition == facts.terminators[k].leaves_in_then else exit_stays
            elif not facts.terminators[k].unknown:
                facts.terminators[k].unknown = True
                facts.unknown += 1
            facts.decisions.push_back(decision)
            if decision == exit_leaves:
                facts.trips = trip
                facts.exit = k
                return True
        if facts.runs_once:
            facts.trips = trip
            facts.exit = exits
            return True
        if never == exits or facts.unknown and exits > 2 or facts.unknown > 1 or a.steps == 0:
            return False
        a.hinges = a.hinges or trip == most_trips
        if trip == most_trips and (facts.unknown or not asked and not _can_overlap_loads(s, facts)):
            return False
        if not _next_trip(a, facts.loop):
            return False
    return False


# ----------------------------------------------------------------------------------------------------- trips by lengths of arrays
cdef ValueId _header_phi(const LoopAnalysis *a, const LoopFacts *facts, ValueId value, uint64_t *step) noexcept nogil:
    """The phi of the header that a value is but for a constant, if each trip adds the same `step` to it; else 0."""
    cdef const ShaderData *s = a.s
    cdef ValueId phi = value
    cdef ValueId update
    if s.instructions.kind[value] == nir_alu:
        phi = _summand(s, value, step)
    if phi == 0 or not _is_inside(a, phi) or s.instructions.kind[phi] != nir_phi or s.instructions.block[phi] != s.nodes.first0[facts.loop]:
        return 0
    update = phi_value_from(s, phi, s.nodes.last0[facts.loop])
    return phi if update and _summand(s, update, step) == phi else 0


cdef ValueId _summand(const ShaderData *s, ValueId sum, uint64_t *constant) noexcept nogil:
    """What a constant is added to; 0: nothing."""
    cdef uint32_t k
    if s.instructions.kind[sum] != nir_alu or s.instructions.opcode[sum] != alu_iadd or s.instructions.components[sum] != 1:
        return 0
    for k in range(2):
        if value_is_constant(s, source_value(s, sum, k)) and s.instructions.components[source_value(s, sum, 1 - k)] == 1:
            constant[0] = constant_bits(s, source_value(s, sum, k), swizzle_component(source_swizzle(s, sum, k), 0))
            return source_value(s, sum, 1 - k)
    return 0


cdef ValueId _counted_index(const LoopAnalysis *a, const LoopFacts *facts, ValueId access, uint32_t *length) noexcept nogil:
    """The index of an access of a local array that counts up by no more than the array's length; 0: there is none."""
    cdef const ShaderData *s = a.s
    cdef ValueId deref
    cdef uint64_t step = 0
    if s.instructions.kind[access] != nir_intrinsic or s.instructions.opcode[access] not in (intrinsic_load_deref, intrinsic_store_deref):
        return 0
    deref = source_value(s, access, 0)
    while s.instructions.kind[deref] == nir_deref and s.instructions.source_count[deref]:
        if s.instructions.opcode[deref] == deref_array and s.instructions.mode[deref] & (mode_function_temp | mode_shader_temp):
            length[0] = s.types.length[s.instructions.type[source_value(s, deref, 0)]]
            if _header_phi(a, facts, source_value(s, deref, 1), &step) and 0 < step <= length[0]:
                return source_value(s, deref, 1)
        deref = source_value(s, deref, 0)
    return 0


cdef int _list_accesses(const LoopAnalysis *a, LoopFacts *facts, NodeId node) except -1 nogil:
    cdef const ShaderData *s = a.s
    cdef OrderRow row
    cdef uint32_t length
    while node:
        if s.nodes.kind[node] == node_block:
            for row in range(s.nodes.order_first[node], s.nodes.order_first[node] + s.nodes.order_count[node]):
                if _counted_index(a, facts, s.order.instruction[row], &length):
                    facts.past_end.push_back(s.order.instruction[row])
        else:
            _list_accesses(a, facts, s.nodes.first0[node])
            if s.nodes.kind[node] == node_if:
                _list_accesses(a, facts, s.nodes.first1[node])
        node = s.nodes.next[node]
    return 0


cdef bint _is_past_end(LoopAnalysis *a, const LoopFacts *facts, ValueId access) except -1 nogil:
    cdef uint64_t index = 0
    cdef uint32_t length = 0
    return _value(a, _counted_index(a, facts, access, &length), 0, &index, 0) == known_now and index >= length


cdef bint _has_local_variables(const ShaderData *s) noexcept nogil:
    cdef VariableId variable
    for variable in range(s.variables.table.count):
        if s.variables.flags[variable] & variable_alive and s.variables.mode[variable] & (mode_function_temp | mode_shader_temp):
            return True
    return False


cdef bint _guess_trips(LoopAnalysis *a, LoopFacts *facts) except -1 nogil:
    """Find how many trips leave the shortest array whole that a counter indexes; False if there is none."""
    cdef size_t k
    cdef size_t kept = 0
    if not a.has_local_variables:
        return False
    a.hinges = True
    facts.past_end.clear()
    _list_accesses(a, facts, a.s.nodes.first0[facts.loop])
    if facts.past_end.empty():
        return False
    facts.rest_stays = False
    _first_trip(a, facts.loop)
    for facts.trips in range(most_trips + 1):
        for k in range(facts.past_end.size()):
            facts.rest_stays = facts.rest_stays or _is_past_end(a, facts, facts.past_end[k])
        if facts.rest_stays:
            break
        _next_trip(a, facts.loop)
    if not facts.rest_stays or facts.trips == 0:
        return False
    for k in range(facts.past_end.size()):         # longer arrays have more trips
        if _is_past_end(a, facts, facts.past_end[k]):
            facts.past_end[kept] = facts.past_end[k]
            kept += 1
    facts.past_end.resize(kept)
    facts.decisions.assign(facts.trips, exit_unknown)
    facts.exit = 0
    facts.unknown = 1
    return True


# ------------------------------------------------------------------------------------------------------------------ the cost
cdef bint _is_comparison(int opcode) noexcept nogil:
    return opcode in (alu_ilt, alu_ige, alu_ult, alu_uge, alu_ieq, alu_ine, alu_flt, alu_fge, alu_feq, alu_fneu)


cdef bint _becomes_constant(const LoopAnalysis *a, ValueId comparison) noexcept nogil:
    """A comparison of a counter with a constant."""
    cdef const ShaderData *s = a.s
    cdef ValueId left, right
    if s.instructions.kind[comparison] != nir_alu or not _is_comparison(s.instructions.opcode[comparison]):
        return False
    left = source_value(s, comparison, 0)
    right = source_value(s, comparison, 1)
    return (value_is_constant(s, left) and _is_counter(a, right)
            or value_is_constant(s, right) and _is_counter(a, left))


cdef uint32_t _cost(const LoopAnalysis *a, ValueId i) noexcept nogil:
    cdef const ShaderData *s = a.s
    cdef int opcode = s.instructions.opcode[i]
    if s.instructions.kind[i] == nir_intrinsic or s.instructions.kind[i] == nir_tex:
        return 1
    if s.instructions.kind[i] != nir_alu or opcode == alu_mov or alu_is_vector(opcode):
        return 0
    if _becomes_constant(a, i) or opcode == alu_bcsel and _becomes_constant(a, source_value(s, i, 0)):
        return 0
    if s.instructions.bit_size[i] < 64 and s.instructions.bit_size[source_value(s, i, 0)] < 64:
        return 1
    if opcode in (alu_idiv, alu_udiv, alu_imod, alu_umod, alu_irem):
        return 100
    if opcode in (alu_frcp, alu_fsqrt, alu_frsq, alu_fdiv):
        return 20
    return 5 if opcode in (alu_imul, alu_imul_high, alu_umul_high, alu_imin, alu_imax, alu_umin, alu_umax) else 1


cdef bint _indexes_whole_array(const LoopAnalysis *a, ValueId i, uint32_t trips) noexcept nogil:
    """A load or store at a counter of a local array that has an element for each trip: unrolled, the array can be values. What stands before the
    exit runs once more than there are whole trips."""
    cdef const ShaderData *s = a.s
    cdef ValueId deref, index
    cdef uint32_t length
    if s.instructions.kind[i] != nir_intrinsic or s.instructions.opcode[i] not in (intrinsic_load_deref, intrinsic_store_deref):
        return False
    deref = source_value(s, i, 0)
    if not s.instructions.mode[deref] & (mode_function_temp | mode_shader_temp):
        return False
    while s.instructions.kind[deref] == nir_deref and s.instructions.source_count[deref]:
        if s.instructions.opcode[deref] == deref_array:
            index = source_value(s, deref, 1)
            length = s.types.length[s.instructions.type[source_value(s, deref, 0)]]
            if _is_counter(a, index) and (length == trips or length == trips + 1):
                return True
        deref = source_value(s, deref, 0)
    return False


cdef bint _is_indirect_load(const ShaderData *s, ValueId i) noexcept nogil:
    """An access of memory or a texture whose address is computed, so that it takes long and can overlap with others."""
    cdef int opcode = s.instructions.opcode[i]
    cdef ValueId deref
    cdef uint32_t k
    if s.instructions.kind[i] == nir_tex:
        for k in range(s.instructions.source_count[i]):
            if not value_is_constant(s, source_value(s, i, k)):
                return True
    if s.instructions.kind[i] != nir_intrinsic:
        return False
    if opcode == intrinsic_load_ubo or opcode == intrinsic_load_ssbo:
        return not value_is_constant(s, source_value(s, i, 1))
    if opcode == intrinsic_load_deref or opcode == intrinsic_store_deref:
        deref = source_value(s, i, 0)
        if not s.instructions.mode[deref] & (mode_ssbo | mode_ubo | mode_global):
            return False
        while s.instructions.kind[deref] == nir_deref and s.instructions.source_count[deref]:
            if s.instructions.source_count[deref] == 2 and not value_is_constant(s, source_value(s, deref, 1)):
                return True
            deref = source_value(s, deref, 0)
        return False
    return opcode == intrinsic_load_global or opcode == intrinsic_load_global_amd


cdef struct Body:
    uint32_t cost
    bint indexes_array


cdef int _measure(const LoopAnalysis *a, const LoopFacts *facts, NodeId node, Body *body) noexcept nogil:
    cdef const ShaderData *s = a.s
    cdef OrderRow row
    cdef ValueId i
    while node:
        if s.nodes.kind[node] == node_block:
            for row in range(s.nodes.order_first[node], s.nodes.order_first[node] + s.nodes.order_count[node]):
                i = s.order.instruction[row]
                body.cost += _cost(a, i)
                body.indexes_array = body.indexes_array or _indexes_whole_array(a, i, facts.trips)
        else:
            _measure(a, facts, s.nodes.first0[node], body)
            if s.nodes.kind[node] == node_if:
                _measure(a, facts, s.nodes.first1[node], body)
        node = s.nodes.next[node]
    return 0


cdef bint _can_overlap_loads(const ShaderData *s, const LoopFacts *facts) noexcept nogil:
    """Nothing but blocks and one exit, and accesses of memory that can be scheduled together once there are copies."""
    cdef NodeId node = s.nodes.first0[facts.loop]
    cdef OrderRow row
    cdef bint loads = False
    if facts.terminators.size() != 1:
        return False
    while node:
        if s.nodes.kind[node] == node_block:
            for row in range(s.nodes.order_first[node], s.nodes.order_first[node] + s.nodes.order_count[node]):
                loads = loads or _is_indirect_load(s, s.order.instruction[row])
        elif node != facts.terminators[0].node:
            return False
        node = s.nodes.next[node]
    return loads


# -------------------------------------------------------------------------------------------------------------- the decision
cdef bint _holds_loops(const ShaderData *s, NodeId node) noexcept nogil:
    """Whether there are loops in the list from `node` on."""
    while node:
        if s.nodes.kind[node] == node_loop:
            return True
        if s.nodes.kind[node] == node_if and (_holds_loops(s, s.nodes.first0[node]) or _holds_loops(s, s.nodes.first1[node])):
            return True
        node = s.nodes.next[node]
    return False


cdef bint known_at_first(LoopAnalysis *a, NodeId loop, ValueId condition, uint64_t *bits) except -1 nogil:
    _first_trip(a, loop)
    a.end = a.begin + a.s.nodes.order_count[a.header]      # the condition of the if behind it depends on nothing else of the loop
    return _value(a, condition, 0, bits, 0) == known_now


cdef bint loop_should_unroll(LoopAnalysis *a, NodeId loop, LoopFacts *facts) except -1 nogil:
    cdef ShaderData *s = a.s
    cdef bint asked = s.nodes.control[loop] == loop_control_unroll
    cdef Body body
    cdef uint32_t cost
    facts.loop = loop
    if s.nodes.control[loop] == loop_control_dont_unroll or not _find_exits(s, facts):
        return False
    if facts.runs_once and facts.terminators.size() > most_exits:
        return False
    facts.rest_stays = False
    if not _run(a, facts, asked):
        if facts.runs_once or facts.terminators.size() > 1 or _holds_loops(s, s.nodes.first0[loop]) or not _guess_trips(a, facts):
            return False
    if facts.runs_once:
        return True
    a.hinges = True
    if facts.unknown and facts.terminators.size() > 2 or facts.unknown > 1 or facts.trips > 1 and _holds_loops(s, s.nodes.first0[loop]):
        return False
    body.cost = 0
    body.indexes_array = False
    _measure(a, facts, s.nodes.first0[loop], &body)
    if asked:
        return body.cost * <uint64_t>facts.trips <= most_asked_cost
    cost = body.cost * facts.trips
    if body.indexes_array and not facts.rest_stays or cost <= most_trips * most_cost_per_trip:
        return True
    return not facts.rest_stays and cost <= most_overlapping_trips * most_cost_per_trip and _can_overlap_loads(s, facts)
