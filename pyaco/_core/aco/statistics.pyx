"""Statistics of machine-level code: those of RADV's pipeline statistics, under the same names.

``latency`` is the estimated time of one wave alone, blocks weighted by how often they run: loops eight times, four times more
in a second level, twice in deeper ones; each side of a uniform branch half of the time, of a divergent one three quarters.
``inverse_throughput`` is the time per 64 invocations when as many waves run as registers and LDS allow.
Needs: the order that the assembler gets. Changes nothing. Source of the weights: ACO (``aco_statistics``).
"""
from libc.math cimport pow, round
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint8_t
from libc.string cimport memset
from libcpp.deque cimport deque
from libcpp.vector cimport vector

from isa_opcodes cimport (
    op_s_endpgm, op_s_mov_b32, op_s_mov_b64, op_s_wait_bvhcnt, op_s_wait_dscnt, op_s_wait_expcnt, op_s_wait_kmcnt, op_s_wait_loadcnt,
    op_s_wait_loadcnt_dscnt, op_s_wait_samplecnt, op_s_wait_storecnt, op_s_wait_storecnt_dscnt, op_s_waitcnt, op_s_waitcnt_vscnt,
    op_v_lshrrev_b64, op_v_mov_b16, op_v_mov_b32, op_v_swap_b32,
)
from isa_tables cimport (
    latency_branch, latency_ds, latency_export, latency_valu32, latency_valu64, latency_valu_double, latency_valu_double_add,
    latency_valu_double_convert, latency_valu_double_transcendental, latency_valu_fma, latency_valu_quarter_rate32, latency_valu_transcendental32,
    latency_vmem, latency_waitcnt, opcode_latency,
)
from wait_tables cimport waitcnt_expcnt, waitcnt_lgkmcnt, waitcnt_vmcnt
from pyaco._core.aco.cycle_model cimport (
    MemoryCycles, cycles_of, is_dual_issue_capable, memory_cycles_of,
)
from pyaco._core.aco.occupancy cimport waves_of_statistics
from pyaco._core.aco.queries cimport form_clause, memory_bvh, memory_sampler, memory_type
from pyaco._core.aco.registers cimport Range, definition_range, operand_range
from pyaco._core.common.cycles cimport Cycles, resource_count
from pyaco._core.common.waitcnt cimport waitcnt_get, waitcnt_limit
from pyaco._core.ir.program cimport (
    BlockId, InstructionId, OperandRow, Program, ProgramData, block_branch, block_invert, format_global, format_is_salu, format_is_valu,
    format_is_vmem, format_scratch, format_smem, format_sopp, format_vintrp, format_vopd, gfx10, gfx12, operand_constant,
)

cdef enum:                           # operations outstanding, as counters see them
    queue_vm = 0
    queue_export = 1
    queue_lgkm = 2
    queue_vs = 3
    queue_sample = 4                 # GFX12 and later count these three by themselves
    queue_bvh = 5
    queue_km = 6
    queue_count = 7
    unlimited = 0xffff

ctypedef deque[int32_t] Queue

cdef cppclass Estimator:
    int32_t now
    int32_t[8] free_at               # by resource
    int32_t[8] usage
    int32_t[512] ready               # by register
    Queue[7] outstanding    # when each operation that is counted will be finished


cdef struct Counts:
    uint32_t instructions
    uint32_t branches
    uint32_t copies
    uint32_t valu
    uint32_t salu
    uint32_t vmem
    uint32_t smem
    uint32_t vopd
    uint32_t vmem_clauses
    uint32_t smem_clauses
    double latency
    double inverse_throughput


cdef struct Issue:                   # of one instruction, in cycles
    int32_t waited                   # for operands, counters and units
    int32_t taken                    # until the next one may be issued, waiting included
    int32_t latency                  # from its issue until what it makes can be read


cdef struct Bounds:                  # what the estimate of throughput was made of
    double[8] usage                  # cycles that each unit is busy, blocks weighted
    double parallelism               # waves that make progress side by side
    double utilization               # share of the lanes that the workgroup fills
    double wave64_per_cycle


cdef struct Limits:
    uint32_t[7] count                # operations that may stay outstanding


cdef uint32_t _capacity(const ProgramData *p, int queue) noexcept nogil:
    """The highest number that a counter of outstanding operations has."""
    if queue == queue_vm:
        return waitcnt_limit(p.gfx_level, waitcnt_vmcnt)
    if queue == queue_lgkm:
        return waitcnt_limit(p.gfx_level, waitcnt_lgkmcnt)
    if queue == queue_export:
        return waitcnt_limit(p.gfx_level, waitcnt_expcnt)
    return 7 if queue == queue_bvh else 31 if queue == queue_km else 63


cdef void _counted(const ProgramData *p, InstructionId i, int32_t *memory) noexcept nogil:
    """How long an instruction stays outstanding, by the queue that it stands in."""
    cdef MemoryCycles m = memory_cycles_of(p, i)
    cdef bint split = p.gfx_level >= gfx12
    cdef int type = memory_type(p, i) if split and m.vm else -1
    memset(memory, 0, queue_count * sizeof(int32_t))
    memory[queue_sample if type == memory_sampler else queue_bvh if type == memory_bvh else queue_vm] = m.vm
    memory[queue_export] = m.export_
    memory[queue_km if split and p.instructions.format[i] == format_smem else queue_lgkm] = m.lgkm
    if p.gfx_level >= gfx10:
        memory[queue_vs] = m.vs
    elif m.vs:
        memory[queue_vm] = m.vs                                   # stores are counted with loads


cdef Limits _limits(const ProgramData *p, InstructionId i, const int32_t *memory) noexcept nogil:
    """How far the counters must have fallen before an instruction is issued, which itself stays outstanding for so long."""
    cdef Limits l
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t value = p.instructions.immediate[i]
    cdef int k
    for k in range(queue_count):
        l.count[k] = unlimited
    if opcode == op_s_endpgm:
        for k in range(queue_count):
            l.count[k] = 0
    elif opcode == op_s_waitcnt and p.gfx_level < gfx12:
        l.count[queue_vm] = waitcnt_get(value, p.gfx_level, waitcnt_vmcnt)
        l.count[queue_lgkm] = waitcnt_get(value, p.gfx_level, waitcnt_lgkmcnt)
        l.count[queue_export] = waitcnt_get(value, p.gfx_level, waitcnt_expcnt)
    elif opcode == op_s_waitcnt_vscnt or opcode == op_s_wait_storecnt:
        l.count[queue_vs] = value
    elif opcode == op_s_wait_loadcnt:
        l.count[queue_vm] = value
    elif opcode == op_s_wait_dscnt:
        l.count[queue_lgkm] = value
    elif opcode == op_s_wait_kmcnt:
        l.count[queue_km] = value
    elif opcode == op_s_wait_samplecnt:
        l.count[queue_sample] = value
    elif opcode == op_s_wait_bvhcnt:
        l.count[queue_bvh] = value
    elif opcode == op_s_wait_expcnt:
        l.count[queue_export] = value
    elif opcode == op_s_wait_loadcnt_dscnt or opcode == op_s_wait_storecnt_dscnt:
        l.count[queue_lgkm] = value & 63
        l.count[queue_vm if opcode == op_s_wait_loadcnt_dscnt else queue_vs] = value >> 8
    else:
        # The counters themselves are finite.
        for k in range(queue_count):
            if memory[k]:
                l.count[k] = _capacity(p, k) - 1
    return l


cdef int32_t _dependency_cost(const ProgramData *p, Estimator *e, InstructionId i, const Limits *l) noexcept nogil:
    cdef int32_t available = e.now
    cdef int k
    cdef uint32_t j
    cdef Range r
    for k in range(queue_count):
        j = 0
        while j + l.count[k] < e.outstanding[k].size():
            available = max(available, e.outstanding[k][j])
            j += 1
    if p.instructions.opcode[i] == op_s_endpgm:
        for k in range(512):
            available = max(available, e.ready[k])
    elif p.gfx_level >= gfx10:
        for k in range(p.instructions.operand_count[i]):
            r = operand_range(p, p.instructions.operand_first[i] + k)
            for j in range(r.first, r.end):
                available = max(available, e.ready[j])
    if p.gfx_level < gfx10:
        available = (available + 3) // 4 * 4
    return available - e.now


cdef bint _is_vector(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether a wave64 goes through the units of 32 lanes in two passes."""
    return opcode_latency[p.instructions.opcode[i]] in (
        latency_valu32, latency_valu64, latency_valu_fma, latency_valu_quarter_rate32, latency_valu_transcendental32, latency_valu_double,
        latency_valu_double_add, latency_valu_double_convert, latency_valu_double_transcendental, latency_vmem, latency_ds, latency_export)


cdef int _add(const ProgramData *p, Estimator *e, InstructionId i, bint whole_waves, Issue *issue) except -1 nogil:
    """Issue one instruction; with ``whole_waves``, 64 lanes at once where GFX11 can."""
    cdef Cycles cycles = cycles_of(p, i)
    cdef Limits limits
    cdef int32_t[7] memory
    cdef int32_t begin = e.now
    cdef int32_t start = 0
    cdef int32_t wait
    cdef int32_t result
    cdef uint32_t passes = 1
    cdef int k
    cdef uint32_t j
    cdef Range r
    _counted(p, i, memory)
    limits = _limits(p, i, memory)
    e.now += _dependency_cost(p, e, i, &limits)
    issue.waited = e.now - begin
    # Wave64 goes through the 32-lane SIMD of RDNA in two passes.
    if p.gfx_level >= gfx10 and p.wave_size == 64 and _is_vector(p, i) and not (whole_waves and is_dual_issue_capable(p, i)) \
            and p.workgroup_size > 32:
        passes = 2
    for _ in range(passes):
        wait = 0
        if cycles.resource0 != resource_count:
            wait = max(wait, e.free_at[cycles.resource0] - e.now)
        if cycles.resource1 != resource_count:
            wait = max(wait, e.free_at[cycles.resource1] - e.now)
        e.now += wait
        issue.waited += wait
        start = e.now
        if cycles.resource0 != resource_count:
            e.free_at[cycles.resource0] = e.now + cycles.cost0
            e.usage[cycles.resource0] += cycles.cost0
        if cycles.resource1 != resource_count:
            e.free_at[cycles.resource1] = e.now + cycles.cost1
            e.usage[cycles.resource1] += cycles.cost1
        # GCN does not begin the next instruction of a wave before this one is finished.
        e.now += 1 if p.gfx_level >= gfx10 else cycles.latency
    issue.latency = cycles.latency
    for k in range(queue_count):
        if k != queue_vs:
            issue.latency = max(issue.latency, memory[k])
        while e.outstanding[k].size() > limits.count[k]:
            e.outstanding[k].pop_front()
        if memory[k]:
            e.outstanding[k].push_back(e.now + memory[k])
    issue.taken = e.now - begin
    result = start + issue.latency
    for k in range(p.instructions.definition_count[i]):
        r = definition_range(p, p.instructions.definition_first[i] + k)
        for j in range(r.first, r.end):
            e.ready[j] = max(e.ready[j], result)
    return 0


cdef int _join(Estimator *into, Estimator *other) except -1 nogil:
    """Continue from the state at the end of a predecessor."""
    cdef int k
    cdef size_t j
    cdef size_t common
    for k in range(<int>resource_count):
        into.free_at[k] = max(into.free_at[k], other.free_at[k] - other.now)
    for k in range(512):
        into.ready[k] = max(into.ready[k], other.ready[k] - other.now)
    for k in range(queue_count):
        # The newest operations of both correspond.
        common = min(into.outstanding[k].size(), other.outstanding[k].size())
        for j in range(common):
            into.outstanding[k][into.outstanding[k].size() - 1 - j] = max(
                into.outstanding[k][into.outstanding[k].size() - 1 - j],
                other.outstanding[k][other.outstanding[k].size() - 1 - j] - other.now)
        for j in range(common, other.outstanding[k].size()):
            into.outstanding[k].push_front(other.outstanding[k][other.outstanding[k].size() - 1 - j] - other.now)
    return 0


cdef double _weight(const ProgramData *p, BlockId block) noexcept nogil:
    """How often a block runs."""
    cdef double weight = 1.0
    cdef uint32_t depth = p.blocks.loop_depth[block]
    cdef BlockId before
    if depth > 0:
        weight *= 8.0
    if depth > 1:
        weight *= 4.0
    if depth > 2:
        weight *= pow(2.0, depth - 2)
    weight *= pow(0.5, p.blocks.uniform_if_depth[block]) * pow(0.75, p.blocks.divergent_if_depth[block])
    if p.blocks.logical_pred_count[block] == 0 and p.blocks.linear_pred_count[block] == 1 \
            and p.blocks.linear_succ_count[block] == 1:
        before = p.edge_lists.block[p.blocks.linear_pred_first[block]]
        if p.blocks.kind[before] & (block_branch | block_invert):
            weight *= 0.25
    return weight


cdef bint _is_copy(const ProgramData *p, InstructionId i) noexcept nogil:
    """Moves between registers; constants do not count."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef OperandRow source = p.instructions.operand_first[i]
    if opcode == op_v_swap_b32:
        return True
    if opcode == op_v_lshrrev_b64 and p.operands.flags[source] & operand_constant and p.operands.data[source] == 0:
        source += 1                                 # a shift by none moves two registers
    elif opcode not in (op_s_mov_b32, op_s_mov_b64, op_v_mov_b32, op_v_mov_b16):
        return False
    return not p.operands.flags[source] & operand_constant


cdef int _count_clause(const ProgramData *p, vector[uint32_t] *clause, InstructionId i, bint member, uint32_t *count,
                       uint32_t *clauses) except -1 nogil:
    cdef uint32_t k
    if not member:
        clause.clear()
        return 0
    count[0] += 1
    for k in range(<uint32_t>clause.size()):
        if form_clause(p, i, clause[0][k]):
            break
    else:
        clauses[0] += 1
    # Any member of the run stands for the others: a few are enough to recognise the address.
    if clause.size() < 16:
        clause.push_back(i)
    return 0


cdef int _count(const ProgramData *p, Counts *c) except -1 nogil:
    cdef vector[uint32_t] vmem
    cdef vector[uint32_t] smem
    cdef BlockId b
    cdef uint32_t k
    cdef InstructionId i
    cdef uint16_t format
    cdef uint8_t latency
    for b in range(p.blocks.table.count):
        vmem.clear()
        smem.clear()
        c.instructions += p.blocks.order_count[b]
        for k in range(p.blocks.order_count[b]):
            i = p.order.instruction[p.blocks.order_first[b] + k]
            format = p.instructions.format[i]
            latency = opcode_latency[p.instructions.opcode[i]]
            c.branches += format == format_sopp and latency == latency_branch
            c.valu += format_is_valu(format) or format == format_vintrp
            c.salu += format_is_salu(format) and format != format_sopp and latency != latency_waitcnt
            c.vopd += format == format_vopd
            c.copies += _is_copy(p, i)
            _count_clause(p, &vmem, i, (format_is_vmem(format) or format == format_scratch or format == format_global)
                          and p.instructions.operand_count[i] != 0, &c.vmem, &c.vmem_clauses)
            _count_clause(p, &smem, i, format == format_smem and p.instructions.operand_count[i] != 0, &c.smem,
                          &c.smem_clauses)
    return 0


cdef int _estimate(const ProgramData *p, bint whole_waves, Counts *c, Bounds *bounds, vector[Issue] *issues) except -1 nogil:
    """Latency and inverse throughput, what they were made of, and, unless NULL, how each instruction of the order is issued."""
    cdef vector[Estimator] blocks
    cdef Issue issue
    cdef double weight
    cdef double parallelism = p.num_waves if p.num_waves else 1
    cdef double throughput
    cdef uint32_t aligned
    cdef BlockId b
    cdef uint32_t k
    blocks.resize(p.blocks.table.count)
    memset(bounds, 0, sizeof(bounds[0]))
    bounds.utilization = 1.0
    for b in range(p.blocks.table.count):
        blocks[b].now = 0
        memset(blocks[b].free_at, 0, sizeof(blocks[b].free_at))
        memset(blocks[b].usage, 0, sizeof(blocks[b].usage))
        memset(blocks[b].ready, 0, sizeof(blocks[b].ready))
        for k in range(p.blocks.linear_pred_count[b]):
            if p.edge_lists.block[p.blocks.linear_pred_first[b] + k] < b:
                _join(&blocks[b], &blocks[p.edge_lists.block[p.blocks.linear_pred_first[b] + k]])
        for k in range(p.blocks.order_count[b]):
            _add(p, &blocks[b], p.order.instruction[p.blocks.order_first[b] + k], whole_waves, &issue)
            if issues != NULL:
                issues[0][p.blocks.order_first[b] + k] = issue
        weight = _weight(p, b)
        c.latency += blocks[b].now * weight
        for k in range(<uint32_t>resource_count):
            bounds.usage[k] += blocks[b].usage[k] * weight
    if c.latency <= 0.0:
        return 0
    for k in range(<uint32_t>resource_count):
        if bounds.usage[k] > 0.0 and c.latency / bounds.usage[k] < parallelism:
            parallelism = c.latency / bounds.usage[k]
    throughput = parallelism / c.latency * (p.wave_size / 64.0)
    if p.workgroup_size != 0xffffffffU and p.workgroup_size:
        aligned = (p.workgroup_size + p.wave_size - 1) // p.wave_size * p.wave_size
        bounds.utilization = <double>p.workgroup_size / aligned
    throughput *= bounds.utilization
    bounds.parallelism = parallelism
    bounds.wave64_per_cycle = throughput
    c.inverse_throughput = round(1.0 / throughput)
    c.latency = round(c.latency)
    return 0


def collect(Program program not None):
    """Return counts and estimates of a program that is ready for the assembler."""
    cdef Counts c
    cdef Bounds bounds
    memset(&c, 0, sizeof(c))
    with nogil:
        _count(&program.data, &c)
        _estimate(&program.data, True, &c, &bounds, NULL)
    return {
        "instructions": c.instructions, "copies": c.copies, "branches": c.branches, "latency": int(c.latency),
        "inverse_throughput": int(c.inverse_throughput), "vmem_clauses": c.vmem_clauses, "smem_clauses": c.smem_clauses,
        "valu": c.valu, "salu": c.salu, "vmem": c.vmem, "smem": c.smem, "vopd": c.vopd,
        "max_waves": waves_of_statistics(&program.data),
    }


#: Units in the order of ``common/cycles.pxd``.
UNITS = ("scalar", "branch", "valu", "valu_complex", "lds", "export", "vmem", "matrix")


def timeline(Program program not None, *, bint whole_waves=True):
    """Return how each instruction of the order is issued, and what the estimates are made of.

    Parameters
    ----------
    program : Program
    whole_waves : bool
        Whether GFX11 issues 64 lanes at once of what it can pair, as Mesa has counted since version 23.

    Returns
    -------
    tuple of (list of tuple, dict)
        For each row of the order: cycles that it waited, took (waiting included), and until its result can be read. Then figures by name:
        ``busy`` (cycles of each unit, blocks weighted by how often they run), ``latency``, ``parallelism`` (waves that make progress side by
        side), ``utilization`` (share of the lanes that a workgroup fills) and ``wave64_per_cycle``.
    """
    cdef Counts c
    cdef Bounds bounds
    cdef vector[Issue] issues
    cdef uint32_t k
    memset(&c, 0, sizeof(c))
    with nogil:
        issues.resize(program.data.order.table.count)
        _estimate(&program.data, whole_waves, &c, &bounds, &issues)
    busy = {UNITS[k]: bounds.usage[k] for k in range(<uint32_t>resource_count)}
    figures = {"busy": busy, "latency": c.latency, "parallelism": bounds.parallelism, "utilization": bounds.utilization,
               "wave64_per_cycle": bounds.wave64_per_cycle}
    return [(issues[k].waited, issues[k].taken, issues[k].latency) for k in range(<uint32_t>issues.size())], figures
