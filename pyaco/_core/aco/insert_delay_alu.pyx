"""Insert ``s_delay_alu`` hints (GFX11 and later).

When a vector or scalar result is read before it is ready, the wave stalls in the ALU and no other wave is issued there. The hint
names the instructions that the next one depends on, counted back (``valu_dep_1`` to 4, ``trans32_dep_1`` to 3) or in
cycles (``salu_cycle_1`` to 3), so that another wave runs meanwhile. Hints never change results. Two hints close together
are put into one instruction, the second with the number of instructions to skip.

Needs: the final order and registers. Sources: AMD "RDNA 3" ISA document, S_DELAY_ALU; latencies of ``cycle_model``.
"""
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint8_t
from libc.string cimport memset

from isa_opcodes cimport op_s_delay_alu
from isa_tables cimport (
    latency_valu_double_transcendental, latency_valu_transcendental32, latency_wmma, opcode_latency,
)
from pyaco._core.aco.build cimport emit_0
from pyaco._core.aco.cycle_model cimport cycles_of
from pyaco._core.aco.registers cimport Range, definition_range, operand_range
from pyaco._core.common.cycles cimport Cycles
from pyaco._core.common.table cimport RowRange
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport (
    BlockId, DefinitionRow, InstructionId, OperandRow, Program, ProgramData, Rewrite, definitions_of, format_ds, format_exp,
    format_is_flat_like, format_is_salu, format_is_valu, format_is_vmem, gfx11, operands_of, rewrite_begin, rewrite_block,
    rewrite_emit, rewrite_end,
)

cdef enum Unit:
    unit_none
    unit_valu
    unit_trans
    unit_salu

cdef struct Writer:
    Unit unit
    int32_t number                   # how many instructions of the unit came before
    int32_t ready                    # cycle at which the result can be read


cdef struct Delay:
    uint32_t valu                    # 1 to 4; 0: none
    uint32_t trans                   # 1 to 3
    uint32_t salu                    # cycles


cdef cppclass Context:
    ProgramData *p
    Writer[512] writer
    uint32_t[512] named               # the first `named_count`: registers that have a writer
    uint32_t named_count
    int32_t now
    int32_t valu
    int32_t trans


cdef void _forget(Context *c) noexcept nogil:
    cdef uint32_t k
    for k in range(c.named_count):
        c.writer[c.named[k]].unit = unit_none
    c.named_count = 0


cdef Unit _unit(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint8_t latency = opcode_latency[p.instructions.opcode[i]]
    if latency == latency_valu_transcendental32 or latency == latency_valu_double_transcendental:
        return unit_trans
    if format_is_valu(p.instructions.format[i]):
        return unit_valu
    return unit_salu if format_is_salu(p.instructions.format[i]) else unit_none


cdef void _need(Context *c, const Writer *w, Delay *d) noexcept nogil:
    """Add the dependency on a writer that is not finished."""
    cdef int32_t back
    if w.unit == unit_none or w.ready <= c.now:
        return
    if w.unit == unit_salu:
        d.salu = max(d.salu, <uint32_t>min(3, w.ready - c.now))
        return
    back = (c.valu if w.unit == unit_valu else c.trans) - w.number
    if w.unit == unit_valu and back <= 4:
        d.valu = back if d.valu == 0 else min(d.valu, <uint32_t>back)
    elif w.unit == unit_trans and back <= 3:
        d.trans = back if d.trans == 0 else min(d.trans, <uint32_t>back)


cdef Delay _dependencies(Context *c, InstructionId i) noexcept nogil:
    cdef RowRange operands
    cdef ProgramData *p = c.p
    cdef OperandRow row
    cdef uint32_t k
    cdef Range r
    cdef Delay d
    d.valu = d.trans = d.salu = 0
    operands = operands_of(p, i)
    for row in range(operands.first, operands.first + operands.count):
        r = operand_range(p, row)
        for k in range(r.first, r.end):
            _need(c, &c.writer[k], &d)
    return d


cdef uint32_t _immediate(Delay d) noexcept nogil:
    """At most two dependencies fit: transcendentals and vector results go first."""
    cdef uint32_t value = 0
    if d.trans:
        value = 4 + d.trans
    if d.valu:
        value |= d.valu << (7 if value else 0)
    if d.salu and value <= 15:
        value |= (8 + d.salu) << (7 if value else 0)
    return value


cdef void _issue(Context *c, InstructionId i, Unit unit) noexcept nogil:
    cdef RowRange definitions
    cdef ProgramData *p = c.p
    cdef Cycles cycles = cycles_of(p, i)
    cdef DefinitionRow row
    cdef uint32_t k
    cdef Range r
    definitions = definitions_of(p, i)
    for row in range(definitions.first, definitions.first + definitions.count):
        r = definition_range(p, row)
        for k in range(r.first, r.end):
            if c.writer[k].unit == unit_none:
                c.named[c.named_count] = k
                c.named_count += 1
            c.writer[k].unit = unit
            c.writer[k].number = c.valu if unit == unit_valu else c.trans
            c.writer[k].ready = c.now + cycles.latency
    if unit == unit_valu and opcode_latency[p.instructions.opcode[i]] != latency_wmma:
        c.valu += 1
    elif unit == unit_trans:
        c.trans += 1
    c.now += max(1, cycles.cost0 if unit == unit_valu or unit == unit_trans else 1)


cdef void _settle(Context *c, Delay d) noexcept nogil:
    """What the hint waits for is ready after it."""
    cdef uint32_t n, k
    cdef int32_t ready = c.now
    for n in range(c.named_count):
        k = c.named[n]
        if c.writer[k].unit == unit_valu and d.valu and c.valu - c.writer[k].number >= <int32_t>d.valu:
            ready = max(ready, c.writer[k].ready)
        elif c.writer[k].unit == unit_trans and d.trans and c.trans - c.writer[k].number >= <int32_t>d.trans:
            ready = max(ready, c.writer[k].ready)
    c.now = max(ready, c.now + <int32_t>d.salu)


cdef int _block(Context *c, Rewrite *rewrite, BlockId block) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t k
    cdef InstructionId i
    cdef uint32_t value
    cdef InstructionId hint = 0               # the last hint, if it can take a second one
    cdef uint32_t since = 0              # instructions after it
    cdef uint16_t format
    cdef Unit unit
    cdef Delay d
    _forget(c)
    for k in range(p.blocks.order_count[block]):
        i = p.order.instruction[p.blocks.order_first[block] + k]
        unit = _unit(p, i)
        format = p.instructions.format[i]
        value = 0
        if unit != unit_none:
            d = _dependencies(c, i)
            value = _immediate(d)
        if value and hint and value <= 15 and 1 <= since <= 5:
            # Skip `since - 1` instructions between the one after the first hint and this one.
            p.instructions.immediate[hint] |= since << 4 | value << 7
            _settle(c, d)
            hint = 0
        elif value:
            hint = emit_0(rewrite, op_s_delay_alu, value)
            _settle(c, d)
            since = 0
            if value > 15:
                hint = 0
        rewrite_emit(rewrite, i)
        since += 1
        if unit != unit_none:
            _issue(c, i, unit)
        elif format_is_vmem(format) or format_is_flat_like(format) or format == format_ds or format == format_exp:
            # These wait for vector results themselves.
            _forget(c)
    return 0


cdef int insert_delay_alu_run(ProgramData *p) except -1 nogil:
    cdef Context c
    cdef Rewrite rewrite
    cdef BlockId b
    memset(c.writer, 0, sizeof(c.writer))
    c.named_count = 0
    c.p = p
    c.now = 0
    c.valu = 0
    c.trans = 0
    rewrite_begin(&rewrite, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&rewrite, b)
        _block(&c, &rewrite, b)
    return rewrite_end(&rewrite)


cdef int _kernel(void *ir, int option) except -1 nogil:
    if (<ProgramData *>ir).gfx_level < gfx11:
        return 0
    insert_delay_alu_run(<ProgramData *>ir)
    return 1


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Insert hints about ALU dependencies."""
    cdef bint progress
    with nogil:
        progress = _kernel(&program.data, 0)
    return progress
