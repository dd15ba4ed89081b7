"""Where the demand exceeds the registers, a block loads and computes late, so that less has to be spilled.

A copy of a large array, unrolled or as one value, loads all of it before the first store. An instruction that makes more registers live than its
operands free is put off until another needs its result, and so is what computes with such a result; everything else stays where it is and takes what
it waits for along, in the old order. A block keeps its new order if its demand is lower; the scheduler, which runs later, moves loads up again as
far as registers are free.

Needs: live variables, the explicit execution mask. Guarantees: nothing leaves its block or passes what the scheduler would not let it pass
(``schedule_graph``); live variables are current. Each run of instructions is walked once.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libcpp.vector cimport vector

from pyaco._core.aco.live_variables cimport live_variables_reordered
from pyaco._core.aco.queries cimport opcode_is_phi
from pyaco._core.aco.reduce_pressure cimport *
from pyaco._core.aco.schedule_graph cimport Graph, GraphBuilder, graph_build, graph_builder_init, is_boundary, no_edge
from pyaco._core.ir.program cimport (
    BlockId, InstructionId, OrderRow, Program, ProgramData, class_dwords, class_is_vgpr, operand_temp,
)

cdef cppclass Reducer:
    ProgramData *p
    int32_t[2] limit                      # of SGPRs, of VGPRs
    bint[2] exceeded                      # in the block at hand
    GraphBuilder builder
    Graph graph
    vector[uint32_t] before_first         # by place, and one more: where its predecessors begin
    vector[uint32_t] before
    vector[uint8_t] put_off               # by place
    vector[uint8_t] written               # by place
    vector[uint32_t] pending
    vector[InstructionId] result


cdef int32_t _excess(const Reducer *r, BlockId b, uint32_t file) noexcept nogil:
    cdef int32_t demand = r.p.blocks.demand_vgpr[b] if file else r.p.blocks.demand_sgpr[b]
    return demand - r.limit[file] if demand > r.limit[file] else 0


cdef bint _is_growing(const Reducer *r, InstructionId i) noexcept nogil:
    """Whether an instruction makes more registers of the scarce files live than its operands can free."""
    cdef const ProgramData *p = r.p
    cdef uint32_t row
    cdef int32_t change = 0
    for row in range(p.instructions.definition_first[i], p.instructions.definition_first[i] + p.instructions.definition_count[i]):
        if r.exceeded[class_is_vgpr(p.definitions.register_class[row])]:
            change += class_dwords(p.definitions.register_class[row])
    for row in range(p.instructions.operand_first[i], p.instructions.operand_first[i] + p.instructions.operand_count[i]):
        if p.operands.flags[row] & operand_temp and r.exceeded[class_is_vgpr(p.operands.register_class[row])]:
            change -= class_dwords(p.operands.register_class[row])
    return change > 0


cdef int _find_predecessors(Reducer *r) except -1 nogil:
    """Turn the edges around; the predecessors of each place are in order."""
    cdef uint32_t count = <uint32_t>r.graph.instruction.size()
    cdef uint32_t place, edge, to
    r.before_first.assign(count + 2, 0)
    for edge in range(<uint32_t>r.graph.edges.size()):
        r.before_first[r.graph.edges[edge].to + 2] += 1
    for place in range(count):
        r.before_first[place + 2] += r.before_first[place + 1]
    r.before.resize(r.graph.edges.size())
    for place in range(count):
        edge = r.graph.nodes[place].edge_first
        while edge != no_edge:
            to = r.graph.edges[edge].to
            r.before[r.before_first[to + 1]] = place
            r.before_first[to + 1] += 1
            edge = r.graph.edges[edge].next
    return 0


cdef int _write(Reducer *r, uint32_t place) except -1 nogil:
    """Write an instruction behind everything that it waits for."""
    cdef uint32_t k
    cdef bint waits
    r.pending.push_back(place)
    while not r.pending.empty():
        place = r.pending.back()
        waits = False
        if not r.written[place]:
            # Those that are written first are pushed last.
            for k in range(r.before_first[place + 1], r.before_first[place], -1):
                if not r.written[r.before[k - 1]]:
                    r.pending.push_back(r.before[k - 1])
                    waits = True
        if waits:
            continue
        r.pending.pop_back()
        if not r.written[place]:
            r.written[place] = True
            r.result.push_back(r.graph.instruction[place])
    return 0


cdef bint _waits_for_put_off(const Reducer *r, uint32_t place) noexcept nogil:
    cdef uint32_t k
    for k in range(r.before_first[place], r.before_first[place + 1]):
        if r.put_off[r.before[k]] and not r.written[r.before[k]]:
            return True
    return False


cdef bint _is_any_growing(const Reducer *r) noexcept nogil:
    cdef size_t place
    for place in range(r.graph.instruction.size()):
        if _is_growing(r, r.graph.instruction[place]):
            return True
    return False


cdef int _order_run(Reducer *r) except -1 nogil:
    cdef const ProgramData *p = r.p
    cdef uint32_t count = <uint32_t>r.graph.instruction.size()
    cdef uint32_t place
    cdef InstructionId i
    if not _is_any_growing(r):
        r.result.insert(r.result.end(), r.graph.instruction.begin(), r.graph.instruction.end())
        return 0
    graph_build(&r.builder, p, &r.graph)
    _find_predecessors(r)
    r.put_off.assign(count, 0)
    r.written.assign(count, 0)
    for place in range(count):
        i = r.graph.instruction[place]
        if p.instructions.definition_count[i] and (_is_growing(r, i) or _waits_for_put_off(r, place)):
            r.put_off[place] = True
        else:
            _write(r, place)
    for place in range(count):
        _write(r, place)
    return 0


cdef bint _order_block(Reducer *r, BlockId b, vector[InstructionId] *old) except -1 nogil:
    """Give a block another order and keep the old one; whether they differ."""
    cdef ProgramData *p = r.p
    cdef OrderRow first = p.blocks.order_first[b]
    cdef OrderRow end = first + p.blocks.order_count[b]
    cdef OrderRow row = first
    cdef bint changed = False
    r.result.clear()
    while row < end and opcode_is_phi(p.instructions.opcode[p.order.instruction[row]]):
        r.result.push_back(p.order.instruction[row])
        row += 1
    while row < end:
        r.graph.instruction.clear()
        while row < end and not is_boundary(p, p.order.instruction[row]):
            r.graph.instruction.push_back(p.order.instruction[row])
            row += 1
        _order_run(r)
        if row < end:
            r.result.push_back(p.order.instruction[row])
            row += 1
    for row in range(first, end):
        old.push_back(p.order.instruction[row])
        changed = changed or p.order.instruction[row] != r.result[row - first]
        p.order.instruction[row] = r.result[row - first]
    return changed


cdef int reduce_pressure_run(ProgramData *p, int32_t sgprs, int32_t vgprs) except -1 nogil:
    cdef Reducer r
    cdef vector[BlockId] blocks
    cdef vector[int32_t] excess           # before, by number in `blocks`
    cdef vector[vector[InstructionId]] old
    cdef vector[uint8_t] reordered        # by block
    cdef bint worse = False
    cdef bint changed = False
    cdef BlockId b
    cdef size_t k
    cdef uint32_t n
    r.p = p
    r.limit[0] = sgprs
    r.limit[1] = vgprs
    reordered.assign(p.blocks.table.count, 0)
    for b in range(p.blocks.table.count):
        if _excess(&r, b, 0) + _excess(&r, b, 1) > 0:
            blocks.push_back(b)
            excess.push_back(_excess(&r, b, 0) + _excess(&r, b, 1))
    if blocks.empty():
        return 0
    graph_builder_init(&r.builder, p)
    old.resize(blocks.size())
    for k in range(blocks.size()):
        for n in range(2):
            r.exceeded[n] = _excess(&r, blocks[k], n) > 0
        reordered[blocks[k]] = _order_block(&r, blocks[k], &old[k])
        changed = changed or reordered[blocks[k]]
    if not changed:
        return 0
    live_variables_reordered(p, reordered.data())
    for k in range(blocks.size()):
        b = blocks[k]
        # As much needs as many spills: then the old order hides latencies better.
        if reordered[b] and _excess(&r, b, 0) + _excess(&r, b, 1) >= excess[k]:
            for n in range(p.blocks.order_count[b]):
                p.order.instruction[p.blocks.order_first[b] + n] = old[k][n]
            worse = True
        else:
            reordered[b] = False
    if worse:
        live_variables_reordered(p, reordered.data())
    return 0


def run(Program program not None, int32_t sgprs, int32_t vgprs):
    """Lower the demand of the blocks that need more registers than these; `spill` does this first. Liveness must be current, and is afterwards."""
    with nogil:
        reduce_pressure_run(&program.data, sgprs, vgprs)
