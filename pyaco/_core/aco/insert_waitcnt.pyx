"""Insert waits for memory operations.

Loads deliver their result later; the hardware counts outstanding operations in a few counters, and an instruction that needs a
result must be preceded by a wait for the counter to fall. This pass tracks, for every register (and for every storage class, as a
register of its own, for barriers) and every counter, how many operations of the same kind were issued after the one that is
outstanding there: its age. Operations of one kind finish in order, so waiting until the counter is at most the age is enough;
scalar loads and FLAT finish in any order, so that their age stays zero. A register is entered when a load that writes it is issued
and leaves when a wait covers it.

Needs: hardware instructions and ``p_barrier``. Guarantees: every use is preceded by a sufficient wait; ``p_barrier`` is gone.
Blocks are visited until the states at their starts no longer change. Waits of the members of a coming memory clause are
put before the clause. Interpolation from registers (VINTERP) has a field for the wait that it needs.

A pixel shader that leaves its ordered section (POPS: waves of overlapping pixels take turns) lets the next wave in, which must find what it
wrote: on GFX9 to GFX10.3 with the message ``ordered_ps_done``, from GFX11 on with its last export, if it has waited for its turn
(``s_wait_event``). Sources: counters and ordering, AMD "Vega" and "RDNA" ISA documents, "Data dependency resolution";
memory model of barriers as in ACO (``aco_insert_waitcnt``), in workgroup-processor and compute-unit mode.
"""
from libc.stdint cimport uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from isa_opcodes cimport (
    op_ds_ordered_count, op_p_barrier, op_s_dcache_wb, op_s_sendmsg, op_s_sendmsg_rtn_b32, op_s_sendmsg_rtn_b64, op_s_sendmsghalt,
    op_s_setpc_b64, op_s_wait_bvhcnt, op_s_wait_dscnt, op_s_wait_event, op_s_wait_expcnt, op_s_wait_kmcnt, op_s_wait_loadcnt,
    op_s_wait_loadcnt_dscnt, op_s_wait_samplecnt, op_s_wait_storecnt, op_s_wait_storecnt_dscnt, op_s_waitcnt, op_s_waitcnt_vscnt,
)
from modifiers cimport (
    modifier_exp_done, modifier_gds, modifier_scope, modifier_semantics, modifier_set_wait_exp, modifier_storage, modifier_wait_exp,
)
from wait_tables cimport waitcnt_expcnt, waitcnt_lgkmcnt, waitcnt_vmcnt
from pyaco._core.aco.build cimport emit_0, emit_any
from pyaco._core.aco.dataflow cimport ForwardStates
from pyaco._core.aco.queries cimport form_clause, format_has_sync, memory_bvh, memory_sampler, memory_type
from pyaco._core.aco.registers cimport Range, definition_range, operand_range, range_of
from pyaco._core.common.bits cimport trailing_zeros64
from pyaco._core.common.table cimport RowRange
from pyaco._core.common.waitcnt cimport waitcnt_get, waitcnt_limit, waitcnt_none, waitcnt_set
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport (
    BlockId, DefinitionRow, InstructionId, Operand, OperandRow, Program, ProgramData, Rewrite, block_end_with_regs, class_s1,
    definitions_of, format_ds, format_exp, format_flat, format_is_flat_like, format_is_vmem, format_ldsdir, format_mimg, format_pseudo_barrier,
    format_smem, format_vinterp_inreg, gfx10, gfx11, gfx12, gfx7, operand_constant, operand_register, operand_undef, operands_of, register_none,
    register_null, rewrite_emit, scope_subgroup, scope_workgroup, semantic_acqrel, semantic_acquire, semantic_can_reorder,
    semantic_private, semantic_release,
)

cdef enum:
    counter_exp = 0
    counter_lgkm = 1                 # GFX12: dscnt
    counter_vm = 2                   # GFX12: loadcnt
    counter_vs = 3                   # GFX12: storecnt
    counter_sample = 4
    counter_bvh = 5
    counter_km = 6
    counter_count = 7
    counter_count_before_gfx12 = 4
    # kinds of operations; bits
    event_smem = 1
    event_lds = 2
    event_gds = 4
    event_message = 8
    event_flat = 0x10
    event_vmem = 0x20
    event_store = 0x40
    event_export = 0x80              # and whatever else reads its registers late
    event_ldsdir = 0x100
    event_scalar_store = 0x200       # in addition to event_smem
    tracked_count = 520              # 512 registers, 8 storage classes
    scalar_end = 128                 # no operation writes or reads late a register from here to the first VGPR
    storage_register = 512
    gds_register = 513
    none = 0xff
    message_mask = 0xf               # of the immediate of s_sendmsg, before GFX11
    message_ordered_ps_done = 7
    full_wait_exp = 7                # the field of VINTERP: no wait
    # bits of the immediate of s_wait_event; the first one says not to wait for its event
    event_export_not_awaited_gfx11 = 1
    event_export_awaited_gfx12 = 2

cdef struct State:
    int counters                     # that the generation has
    uint8_t[520] outstanding         # a bit for each counter in which something is
    # Of those: other rows hold nothing that is ever read.
    uint8_t[7][520] age
    uint16_t[7][520] events
    uint8_t[520] types
    uint16_t[8] pending              # kinds that may be outstanding at all; two words, the last part is 0


cdef struct Wait:
    uint8_t[8] count                 # none: do not wait; a word, the last byte is none


cdef cppclass Context:
    ProgramData *p
    uint32_t vgprs                   # the end of those at which anything has been outstanding so far
    bint logical_edges               # VGPRs follow them before GFX11: there only the lanes that wait for a load care about it
    int counters
    uint8_t[7] limit                 # highest count that can be waited for
    bint force                       # every instruction waits for all that is outstanding
    bint ordered_section             # GFX11 and later: the wave waits for its turn to enter one
    bint rewriting
    Rewrite rewrite
    vector[State *] entry            # by block
    vector[State *] spare
    ForwardStates[State] states
    vector[uint8_t] dirty


# --------------------------------------------------------------------------------------------------------------- the state
cdef inline void _no_wait(Wait *w) noexcept nogil:
    memset(w.count, none, sizeof(w.count))


cdef inline bint _is_empty(const Wait *w) noexcept nogil:
    cdef uint64_t counts
    memcpy(&counts, w.count, sizeof(counts))
    return counts == 0xffffffffffffffffULL


cdef inline void _need(Wait *w, uint32_t counter, uint8_t count) noexcept nogil:
    if count < w.count[counter]:
        w.count[counter] = count


cdef void _clear(const Context *c, State *s) noexcept nogil:
    s.counters = c.counters
    memset(s.outstanding, 0, sizeof(s.outstanding))
    memset(s.types, 0, sizeof(s.types))
    memset(s.pending, 0, sizeof(s.pending))


cdef void _copy(const Context *c, State *into, const State *other) noexcept nogil:
    """Copy what a state says."""
    cdef uint32_t registers = 256 + c.vgprs     # nothing is outstanding from here to the storage classes
    cdef int n
    into.counters = other.counters
    memcpy(into.outstanding, other.outstanding, sizeof(into.outstanding))
    for n in range(other.counters):
        memcpy(into.age[n], other.age[n], registers)
        memcpy(into.events[n], other.events[n], registers * sizeof(uint16_t))
        memcpy(into.age[n] + <int>storage_register, other.age[n] + <int>storage_register, tracked_count - storage_register)
        memcpy(into.events[n] + <int>storage_register, other.events[n] + <int>storage_register,
               (tracked_count - storage_register) * sizeof(uint16_t))
    memcpy(into.types, other.types, sizeof(into.types))
    memcpy(into.pending, other.pending, sizeof(into.pending))


cdef inline bint _is_outstanding(const State *s, uint32_t counter, uint32_t k) noexcept nogil:
    return s.outstanding[k] >> counter & 1


cdef inline uint32_t _next_outstanding(const Context *c, const State *s, uint32_t k) noexcept nogil:
    """The first register from `k` on that anything is outstanding at, or tracked_count."""
    cdef uint64_t word
    while k < tracked_count:
        memcpy(&word, s.outstanding + (k & ~<uint32_t>7), 8)
        word >>= 8 * (k & 7)
        if word:
            return k + (trailing_zeros64(word) >> 3)
        k = (k | 7) + 1
        # No operation writes or reads late a register in between.
        if k == scalar_end:
            k = 256
        elif k >= 256 + c.vgprs and k < storage_register:
            k = storage_register
    return tracked_count


cdef void _apply(const Context *c, State *s, const Wait *w) noexcept nogil:
    """What is known after a wait."""
    cdef uint8_t waits = 0
    cdef int n
    cdef uint32_t k
    for n in range(s.counters):
        if w.count[n] == none or not s.pending[n]:
            continue
        waits |= 1 << n
        if w.count[n] == 0:
            s.pending[n] = 0
    if not waits:
        return
    k = _next_outstanding(c, s, 0)
    while k < tracked_count:
        for n in range(s.counters):
            if s.outstanding[k] & waits & (1 << n) and s.age[n][k] >= w.count[n]:
                s.outstanding[k] &= ~(1 << n)
        k = _next_outstanding(c, s, k + 1)


cdef void _issue(Context *c, State *s, uint32_t counter, uint16_t event) noexcept nogil:
    """Everything of the same kind gets older; results of other kinds may arrive in any order."""
    cdef uint32_t k
    cdef uint8_t limit = c.limit[counter]
    s.pending[counter] |= event
    if event & (event_smem | event_flat):
        return
    k = _next_outstanding(c, s, 0)
    while k < tracked_count:
        if _is_outstanding(s, counter, k) and s.events[counter][k] == event and s.age[counter][k] < limit:
            s.age[counter][k] += 1
        k = _next_outstanding(c, s, k + 1)


cdef inline void _enter_register(State *s, uint32_t counter, uint16_t event, uint32_t k) noexcept nogil:
    """An operation just issued is outstanding at a register."""
    s.events[counter][k] = s.events[counter][k] | event if _is_outstanding(s, counter, k) else event
    s.age[counter][k] = 0
    s.outstanding[k] |= 1 << counter


cdef inline void _enter(Context *c, State *s, uint32_t counter, uint16_t event, uint16_t reg, uint8_t register_class, uint8_t types) noexcept nogil:
    """An operation just issued is outstanding at these registers."""
    # Inline: GCC 12.2 at -O1 takes the function for one without effects, and leaves out calls of it.
    cdef Range r = range_of(reg, register_class)
    cdef uint32_t k
    if r.end > 256 + c.vgprs:
        c.vgprs = r.end - 256
    for k in range(r.first, r.end):
        _enter_register(s, counter, event, k)
        s.types[k] |= types


cdef inline bint _join_register(State *into, const State *other, int n, uint32_t k) noexcept nogil:
    """Merge what is outstanding at a register in a counter; True when something changed."""
    if not _is_outstanding(into, n, k):
        into.outstanding[k] |= 1 << n
        into.age[n][k] = other.age[n][k]
        into.events[n][k] = other.events[n][k]
        return True
    if other.age[n][k] >= into.age[n][k] and not other.events[n][k] & ~into.events[n][k]:
        return False
    into.events[n][k] |= other.events[n][k]
    into.age[n][k] = min(into.age[n][k], other.age[n][k])
    return True


cdef inline bint _any_pending(const State *s) noexcept nogil:
    cdef uint64_t[2] kinds
    memcpy(kinds, s.pending, sizeof(kinds))
    return (kinds[0] | kinds[1]) != 0


cdef bint _join_registers(const Context *c, State *into, const State *other, uint32_t first, uint32_t end) noexcept nogil:
    """Merge the registers from `first` to `end`; True when something changed."""
    cdef bint changed = False
    cdef int n
    cdef uint32_t k
    for n in range(other.counters):
        if other.pending[n] & ~into.pending[n]:
            into.pending[n] |= other.pending[n]
            changed = True
    k = _next_outstanding(c, other, first)
    while k < end:
        for n in range(other.counters):
            if _is_outstanding(other, n, k):
                changed |= _join_register(into, other, n, k)
        if other.types[k] & ~into.types[k]:
            into.types[k] |= other.types[k]
            changed = True
        k = _next_outstanding(c, other, k + 1)
    return changed


cdef bint _join(Context *c, State *into, const State *other, bint logical) noexcept nogil:
    cdef bint changed
    if not _any_pending(other):
        return False
    if logical:
        return _join_registers(c, into, other, 256, 256 + c.vgprs)
    changed = _join_registers(c, into, other, 0, scalar_end)
    changed |= _join_registers(c, into, other, storage_register, tracked_count)
    if not c.logical_edges:
        changed |= _join_registers(c, into, other, 256, 256 + c.vgprs)
    return changed


# ------------------------------------------------------------------------------------------------------------ instructions
cdef uint16_t _event(const ProgramData *p, InstructionId i) noexcept nogil:
    """The kind of a memory operation; 0 for all other instructions."""
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    if format == format_smem:
        return event_smem if p.instructions.definition_count[i] or p.instructions.operand_count[i] > 1 else 0
    if format == format_ds:
        return event_gds if modifier_gds(p.instructions.modifiers[i]) else event_lds
    if format == format_flat:
        return event_flat
    if format == format_ldsdir:
        return event_ldsdir
    if format == format_exp:
        return event_export
    if format_is_vmem(format) or format_is_flat_like(format):
        return event_store if p.instructions.definition_count[i] == 0 and p.gfx_level >= gfx10 else event_vmem
    if opcode in (op_s_sendmsg, op_s_sendmsghalt, op_s_sendmsg_rtn_b32, op_s_sendmsg_rtn_b64):
        return event_message
    return 0


cdef uint32_t _counter(const ProgramData *p, uint16_t event, uint8_t type) noexcept nogil:
    """The counter that an operation of a kind is counted in (FLAT: the vector one)."""
    cdef bint split = p.gfx_level >= gfx12
    if event & (event_smem | event_message):
        return counter_km if split else counter_lgkm
    if event & (event_lds | event_gds):
        return counter_lgkm
    if event & (event_export | event_ldsdir):
        return counter_exp
    if event == event_store:
        return counter_vs
    if split and type == memory_sampler:
        return counter_sample
    return counter_bvh if split and type == memory_bvh else counter_vm


cdef void _check_operands(const ProgramData *p, const State *s, InstructionId i, Wait *w) noexcept nogil:
    cdef RowRange operands
    cdef OperandRow row
    cdef int c
    cdef uint32_t k
    cdef Range r
    operands = operands_of(p, i)
    for row in range(operands.first, operands.first + operands.count):
        r = operand_range(p, row)
        for k in range(r.first, r.end):
            if not s.outstanding[k]:
                continue
            for c in range(s.counters):
                # Exports read their registers: reading those again does no harm.
                if _is_outstanding(s, c, k) and s.events[c][k] != event_export:
                    _need(w, c, s.age[c][k])


cdef bint _in_order(const ProgramData *p, uint16_t outstanding, uint8_t outstanding_types, uint16_t event,
                    uint8_t type) noexcept nogil:
    """A write by `event` arrives after outstanding writes of the same kind."""
    if event & (event_lds | event_gds):
        return outstanding == event
    # On GFX12 loads count down in order, but may write their registers in another (LLVM pull request 105549).
    # A sample that may be of two types is in order with nothing.
    return type != 0 and not type & (type - 1) and outstanding == event_vmem and p.gfx_level < gfx12 and outstanding_types == type


cdef void _check_definitions(const ProgramData *p, const State *s, InstructionId i, Wait *w) noexcept nogil:
    cdef RowRange definitions
    cdef uint16_t event = _event(p, i)
    cdef uint8_t type = memory_type(p, i)
    cdef DefinitionRow row
    cdef int c
    cdef uint32_t k
    cdef Range r
    definitions = definitions_of(p, i)
    for row in range(definitions.first, definitions.first + definitions.count):
        r = definition_range(p, row)
        for k in range(r.first, r.end):
            if not s.outstanding[k]:
                continue
            for c in range(s.counters):
                if not _is_outstanding(s, c, k) or (event and _counter(p, event, type) == <uint32_t>c
                                                    and _in_order(p, s.events[c][k], s.types[k], event, type)):
                    continue
                _need(w, c, s.age[c][k])


cdef void _check_memory_order(const ProgramData *p, const State *s, uint64_t word, uint32_t semantics, Wait *w) noexcept nogil:
    """Wait for the operations that an acquire or release orders."""
    cdef uint32_t scope = modifier_scope(word)
    cdef uint32_t storage = modifier_storage(word)
    cdef uint32_t own = scope_workgroup if p.workgroup_size <= p.wave_size else scope_subgroup
    cdef uint16_t ignored = 0
    cdef uint32_t k
    cdef int c
    if not modifier_semantics(word) & semantics or scope <= own:
        return
    # LDS belongs to the workgroup: no larger scope sees it.
    if own == scope_workgroup:
        ignored |= event_lds
    # All waves of a workgroup in CU mode share one first-level cache, which keeps their operations in order before GFX12.
    if p.gfx_level < gfx12 and not p.wgp_mode and scope <= scope_workgroup:
        ignored |= event_vmem | event_store | event_smem
    for k in range(8):
        if not storage >> k & 1:
            continue
        for c in range(s.counters):
            if _is_outstanding(s, c, storage_register + k) and s.events[c][storage_register + k] & ~ignored:
                _need(w, c, s.age[c][storage_register + k])


cdef void _need_all(const State *s, Wait *w) noexcept nogil:
    cdef int c
    for c in range(s.counters):
        if s.pending[c]:
            _need(w, c, 0)


cdef void _need_gds(const State *s, Wait *w) noexcept nogil:
    cdef int c
    for c in range(s.counters):
        if _is_outstanding(s, c, gds_register):
            _need(w, c, s.age[c][gds_register])


cdef bint _releases_order(const ProgramData *p, InstructionId i) noexcept nogil:
    """Whether ds_ordered_count lets the next wave in: bit 0 of the second byte of its offset."""
    cdef uint32_t offset = p.instructions.immediate[i]
    return (offset >> 16 | offset >> 8) & 1


cdef bint _awaits_export(const ProgramData *p) noexcept nogil:
    """Whether the wave waits for the last exports of the waves before it: its turn in an ordered section (GFX11 and later)."""
    cdef InstructionId i
    cdef uint32_t events
    for i in range(1, p.instructions.table.count):
        if p.instructions.opcode[i] != op_s_wait_event:
            continue
        events = p.instructions.immediate[i]
        if p.gfx_level >= gfx12 and events & event_export_awaited_gfx12:
            return True
        if p.gfx_level < gfx12 and not events & event_export_not_awaited_gfx11:
            return True
    return False


cdef bint _leaves_ordered_section(const Context *c, InstructionId i) noexcept nogil:
    """Whether an instruction lets the next wave enter the ordered section."""
    cdef const ProgramData *p = c.p
    if p.gfx_level >= gfx11:
        return c.ordered_section and p.instructions.format[i] == format_exp and modifier_exp_done(p.instructions.modifiers[i])
    return p.instructions.opcode[i] == op_s_sendmsg and (p.instructions.immediate[i] & message_mask) == message_ordered_ps_done


cdef void _need_memory(const ProgramData *p, const State *s, Wait *w) noexcept nogil:
    """Wait for vector memory operations, and for scalar ones if any accesses storage: loads of descriptors do not."""
    cdef uint32_t scalar = _counter(p, event_smem, 0)
    cdef uint32_t k
    if s.pending[counter_vm]:
        _need(w, counter_vm, 0)
    if s.pending[counter_vs]:
        _need(w, counter_vs, 0)
    for k in range(8):
        if _is_outstanding(s, scalar, storage_register + k) and s.events[scalar][storage_register + k] & event_smem:
            _need(w, scalar, 0)


cdef void _check_other(const Context *c, const State *s, InstructionId i, Wait *w) noexcept nogil:
    """Instructions that need what is outstanding to be finished, whatever registers they name."""
    cdef const ProgramData *p = c.p
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t scalar = _counter(p, event_smem, 0)
    if opcode == op_s_setpc_b64 or c.force:
        _need_all(s, w)
    elif _leaves_ordered_section(c, i):
        _need_memory(p, s, w)
    elif opcode == op_s_dcache_wb:
        if s.pending[scalar]:
            _need(w, scalar, 0)
    elif opcode == op_ds_ordered_count:
        # The wave whose turn comes next must find what this one did.
        if _releases_order(p, i):
            _need_gds(s, w)
    elif p.instructions.format[i] == format_smem and p.gfx_level >= gfx10 and s.pending[scalar] & event_scalar_store \
            and p.instructions.definition_count[i] and not modifier_semantics(p.instructions.modifiers[i]) & semantic_can_reorder:
        # A scalar load does not see the store before it.
        _need(w, scalar, 0)


cdef void _check(const Context *c, const State *s, InstructionId i, Wait *w) noexcept nogil:
    cdef const ProgramData *p = c.p
    if not _any_pending(s):
        return
    _check_operands(p, s, i, w)
    _check_definitions(p, s, i, w)
    _check_other(c, s, i, w)
    if p.instructions.opcode[i] == op_p_barrier:
        _check_memory_order(p, s, p.instructions.modifiers[i], semantic_acqrel, w)
    elif format_has_sync(p.instructions.format[i]):
        _check_memory_order(p, s, p.instructions.modifiers[i], semantic_release, w)


cdef void _enter_storage(State *s, uint32_t counter, uint16_t event, uint64_t word) noexcept nogil:
    cdef uint32_t storage = modifier_storage(word)
    cdef uint32_t k
    if modifier_semantics(word) & semantic_private:
        return
    for k in range(8):
        if storage >> k & 1:
            _enter_register(s, counter, event, storage_register + k)


cdef void _account(Context *c, State *s, InstructionId i, uint32_t counter, uint16_t event, uint8_t type) noexcept nogil:
    cdef RowRange definitions
    cdef RowRange operands
    cdef ProgramData *p = c.p
    cdef uint32_t row
    _issue(c, s, counter, event)
    if format_has_sync(p.instructions.format[i]):
        _enter_storage(s, counter, event, p.instructions.modifiers[i])
    definitions = definitions_of(p, i)
    for row in range(definitions.first, definitions.first + definitions.count):
        if p.definitions.reg[row] != register_none:
            _enter(c, s, counter, event, p.definitions.reg[row], p.definitions.register_class[row], type)
    if event & (event_export | event_gds):
        # Data is read from the registers late: they must not be written until the operation is done.
        counter = counter_exp
        if event == event_gds:
            _issue(c, s, counter, event_export)
        operands = operands_of(p, i)
        for row in range(operands.first, operands.first + operands.count):
            if not p.operands.flags[row] & (operand_constant | operand_undef) and p.operands.reg[row] != register_none:
                _enter(c, s, counter, event_export, p.operands.reg[row], p.operands.register_class[row], 0)


cdef void _lock_data(Context *c, State *s, InstructionId i) noexcept nogil:
    """GFX6 reads what buffer and image instructions store, or operate with, late: expcnt says when."""
    cdef ProgramData *p = c.p
    cdef uint32_t place = 2 if p.instructions.format[i] == format_mimg else 3
    cdef OperandRow row = p.instructions.operand_first[i] + place
    if p.instructions.operand_count[i] <= place or p.operands.flags[row] & (operand_constant | operand_undef):
        return
    _issue(c, s, counter_exp, event_export)
    _enter(c, s, counter_exp, event_export, p.operands.reg[row], p.operands.register_class[row], 0)


cdef void _generate(Context *c, State *s, InstructionId i) noexcept nogil:
    """What an instruction leaves outstanding."""
    cdef ProgramData *p = c.p
    cdef uint16_t event = _event(p, i)
    cdef uint8_t type = memory_type(p, i)
    if event == 0:
        return
    _account(c, s, i, _counter(p, event, type), event, type)
    if event == event_smem and p.instructions.definition_count[i] == 0:
        s.pending[_counter(p, event, type)] |= event_scalar_store
    if event == event_vmem and p.gfx_level < gfx7:
        _lock_data(c, s, i)
    if event == event_flat:
        _account(c, s, i, counter_lgkm, event, type)
        if p.instructions.definition_count[i] == 0 and p.gfx_level >= gfx10:
            _account(c, s, i, counter_vs, event, type)


# ---------------------------------------------------------------------------------------------------------- existing waits
cdef bint _parse_wait12(const ProgramData *p, InstructionId i, Wait *w) noexcept nogil:
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t value = p.instructions.immediate[i]
    if opcode == op_s_wait_loadcnt_dscnt or opcode == op_s_wait_storecnt_dscnt:
        _need(w, counter_lgkm, value & 63)
        _need(w, counter_vm if opcode == op_s_wait_loadcnt_dscnt else counter_vs, value >> 8 & 63)
    elif opcode == op_s_wait_loadcnt:
        _need(w, counter_vm, value)
    elif opcode == op_s_wait_storecnt:
        _need(w, counter_vs, value)
    elif opcode == op_s_wait_samplecnt:
        _need(w, counter_sample, value)
    elif opcode == op_s_wait_bvhcnt:
        _need(w, counter_bvh, value)
    elif opcode == op_s_wait_expcnt:
        _need(w, counter_exp, value)
    elif opcode == op_s_wait_dscnt:
        _need(w, counter_lgkm, value)
    elif opcode == op_s_wait_kmcnt:
        _need(w, counter_km, value)
    else:
        return False
    return True


cdef void _need_below(Wait *w, uint32_t counter, uint32_t value, uint32_t full) noexcept nogil:
    if value != full:
        _need(w, counter, <uint8_t>value)


cdef void _need_field(Wait *w, uint32_t counter, uint32_t gfx_level, uint32_t field, uint32_t immediate) noexcept nogil:
    _need_below(w, counter, waitcnt_get(immediate, gfx_level, field), waitcnt_limit(gfx_level, field))


cdef bint _parse_wait(const ProgramData *p, InstructionId i, Wait *w) noexcept nogil:
    """Whether an instruction is a wait; its counts go to `w`."""
    cdef uint32_t value = p.instructions.immediate[i]
    if p.gfx_level >= gfx12:
        return _parse_wait12(p, i, w)
    if p.instructions.opcode[i] == op_s_waitcnt_vscnt:
        if p.instructions.definition_count[i] and p.definitions.reg[p.instructions.definition_first[i]] != register_null:
            return False
        if p.instructions.operand_count[i] and p.operands.reg[p.instructions.operand_first[i]] != register_null:
            return False
        _need_below(w, counter_vs, value & 63, 63)
        return True
    if p.instructions.opcode[i] != op_s_waitcnt:
        return False
    _need_field(w, counter_vm, p.gfx_level, waitcnt_vmcnt, value)
    _need_field(w, counter_lgkm, p.gfx_level, waitcnt_lgkmcnt, value)
    _need_field(w, counter_exp, p.gfx_level, waitcnt_expcnt, value)
    return True


# ---------------------------------------------------------------------------------------------------------- writing waits
cdef int _emit_wait12(Context *c, Wait w) except -1 nogil:
    if w.count[counter_exp] != none:
        emit_0(&c.rewrite, op_s_wait_expcnt, w.count[counter_exp])
    if w.count[counter_lgkm] != none and w.count[counter_vm] != none:
        emit_0(&c.rewrite, op_s_wait_loadcnt_dscnt, w.count[counter_vm] << 8 | w.count[counter_lgkm])
        w.count[counter_vm] = w.count[counter_lgkm] = none
    if w.count[counter_lgkm] != none and w.count[counter_vs] != none:
        emit_0(&c.rewrite, op_s_wait_storecnt_dscnt, w.count[counter_vs] << 8 | w.count[counter_lgkm])
        w.count[counter_vs] = w.count[counter_lgkm] = none
    if w.count[counter_lgkm] != none:
        emit_0(&c.rewrite, op_s_wait_dscnt, w.count[counter_lgkm])
    if w.count[counter_vm] != none:
        emit_0(&c.rewrite, op_s_wait_loadcnt, w.count[counter_vm])
    if w.count[counter_vs] != none:
        emit_0(&c.rewrite, op_s_wait_storecnt, w.count[counter_vs])
    if w.count[counter_sample] != none:
        emit_0(&c.rewrite, op_s_wait_samplecnt, w.count[counter_sample])
    if w.count[counter_bvh] != none:
        emit_0(&c.rewrite, op_s_wait_bvhcnt, w.count[counter_bvh])
    if w.count[counter_km] != none:
        emit_0(&c.rewrite, op_s_wait_kmcnt, w.count[counter_km])
    return 0


cdef uint32_t _pack(uint32_t gfx_level, const Wait *w) noexcept nogil:
    """The immediate of s_waitcnt."""
    cdef uint32_t immediate = waitcnt_none(gfx_level)
    immediate = _put_field(immediate, gfx_level, waitcnt_vmcnt, w.count[counter_vm])
    immediate = _put_field(immediate, gfx_level, waitcnt_lgkmcnt, w.count[counter_lgkm])
    return _put_field(immediate, gfx_level, waitcnt_expcnt, w.count[counter_exp])


cdef uint32_t _put_field(uint32_t immediate, uint32_t gfx_level, uint32_t field, uint32_t count) noexcept nogil:
    """Counts beyond what the counter can reach do not wait."""
    return waitcnt_set(immediate, gfx_level, field, min(count, waitcnt_limit(gfx_level, field)))


cdef int _emit_wait(Context *c, Wait w) except -1 nogil:
    cdef Operand nothing = operand_register(register_null, class_s1)
    cdef InstructionId i
    if c.p.gfx_level >= gfx12:
        return _emit_wait12(c, w)
    if w.count[counter_vs] != none:
        i = emit_any(&c.rewrite, op_s_waitcnt_vscnt, NULL, 0, &nothing, 1)
        c.p.instructions.immediate[i] = w.count[counter_vs]
        w.count[counter_vs] = none
    if not _is_empty(&w):
        emit_0(&c.rewrite, op_s_waitcnt, _pack(c.p.gfx_level, &w))
    return 0


# ------------------------------------------------------------------------------------------------------------------ blocks
cdef bint _reads_any(const ProgramData *p, InstructionId i, const uint64_t *written) noexcept nogil:
    """Whether an instruction reads one of a set of registers."""
    cdef RowRange operands
    cdef OperandRow row
    cdef uint32_t k
    cdef Range r
    operands = operands_of(p, i)
    for row in range(operands.first, operands.first + operands.count):
        r = operand_range(p, row)
        for k in range(r.first, r.end):
            if written[k >> 6] >> (k & 63) & 1:
                return True
    return False


cdef void _add_written(const ProgramData *p, InstructionId i, uint64_t *written) noexcept nogil:
    cdef RowRange definitions
    cdef DefinitionRow row
    cdef uint32_t k
    cdef Range r
    definitions = definitions_of(p, i)
    for row in range(definitions.first, definitions.first + definitions.count):
        r = definition_range(p, row)
        for k in range(r.first, r.end):
            written[k >> 6] |= <uint64_t>1 << (k & 63)


cdef uint32_t _check_clause(const Context *c, const State *s, BlockId block, uint32_t k, Wait *w) noexcept nogil:
    """Add what the further members of a clause beginning at `k` wait for; returns the position after the clause."""
    cdef const ProgramData *p = c.p
    cdef const uint32_t *order = p.order.instruction + p.blocks.order_first[block]
    cdef InstructionId head = order[k]
    cdef uint64_t[9] written
    cdef uint16_t format = p.instructions.format[head]
    k += 1
    if p.gfx_level < gfx10 or not (format == format_smem or format_is_vmem(format) or format_is_flat_like(format)):
        return k
    memset(written, 0, sizeof(written))
    _add_written(p, head, written)
    while k < p.blocks.order_count[block] and form_clause(p, head, order[k]) and not _reads_any(p, order[k], written):
        _check(c, s, order[k], w)
        _add_written(p, order[k], written)
        k += 1
    return k


cdef int _flush(Context *c, State *s, Wait *queued) except -1 nogil:
    """Write the wait that has been collected."""
    if _is_empty(queued):
        return 0
    if c.rewriting:
        _emit_wait(c, queued[0])
    _apply(c, s, queued)
    _no_wait(queued)
    return 0


cdef void _wait_in_field(Context *c, State *s, InstructionId i, Wait *queued) noexcept nogil:
    """Move the wait for exports and LDSDIR into the instruction, which may have one already."""
    cdef ProgramData *p = c.p
    cdef uint32_t count = modifier_wait_exp(p.instructions.modifiers[i])
    cdef Wait wait
    if queued.count[counter_exp] < count:
        count = queued.count[counter_exp]
        if c.rewriting:
            p.instructions.modifiers[i] = modifier_set_wait_exp(p.instructions.modifiers[i], count)
    queued.count[counter_exp] = none
    _no_wait(&wait)
    if count != full_wait_exp:
        wait.count[counter_exp] = <uint8_t>count
        _apply(c, s, &wait)


cdef int _block(Context *c, BlockId block, State *s) except -1 nogil:
    """Process a block; waits are written only when rewriting."""
    cdef ProgramData *p = c.p
    cdef const uint32_t *order = p.order.instruction + p.blocks.order_first[block]
    cdef uint32_t count = p.blocks.order_count[block]
    cdef uint32_t clause_end = 0
    cdef uint32_t k
    cdef InstructionId i
    cdef Wait queued
    _no_wait(&queued)
    for k in range(count):
        i = order[k]
        if _parse_wait(p, i, &queued):
            continue
        _check(c, s, i, &queued)
        if k >= clause_end:
            clause_end = _check_clause(c, s, block, k, &queued)
        if p.instructions.format[i] == format_pseudo_barrier:
            _apply(c, s, &queued)
            # The wait itself is written before the next instruction that exists.
            continue
        if p.instructions.format[i] == format_vinterp_inreg:
            _wait_in_field(c, s, i, &queued)
        _flush(c, s, &queued)
        if c.rewriting:
            rewrite_emit(&c.rewrite, i)
        _generate(c, s, i)
        if format_has_sync(p.instructions.format[i]):
            _check_memory_order(p, s, p.instructions.modifiers[i], semantic_acquire, &queued)
        if p.instructions.opcode[i] == op_ds_ordered_count and not _releases_order(p, i):
            # It returns when it is this wave's turn: what follows in GDS must not overtake it.
            _need_gds(s, &queued)
    if p.blocks.kind[block] & block_end_with_regs:
        # The part that follows knows nothing of what is outstanding.
        _need_all(s, &queued)
    return _flush(c, s, &queued)


cdef void _limits(Context *c) noexcept nogil:
    """The largest count that a wait can name: one below the full field."""
    cdef uint32_t gfx = c.p.gfx_level
    c.limit[counter_exp] = 6
    c.limit[counter_lgkm] = waitcnt_limit(gfx, waitcnt_lgkmcnt) - 1
    c.limit[counter_vm] = waitcnt_limit(gfx, waitcnt_vmcnt) - 1
    c.limit[counter_vs] = 62
    c.limit[counter_sample] = 62
    c.limit[counter_bvh] = 6
    c.limit[counter_km] = 30


include "forward_rewrite.pxi"


cdef int insert_waitcnt_run(ProgramData *p, bint force) except -1 nogil:
    cdef Context c
    c.p = p
    c.vgprs = 0
    c.logical_edges = p.gfx_level < gfx11
    c.force = force
    c.counters = counter_count if p.gfx_level >= gfx12 else <int>counter_count_before_gfx12
    c.ordered_section = p.gfx_level >= gfx11 and _awaits_export(p)
    _limits(&c)
    return solve_and_rewrite(&c, p)


cdef int _kernel(void *ir, int option) except -1 nogil:
    insert_waitcnt_run(<ProgramData *>ir, option)
    return 1


kernel = native_kernel(_kernel, lambda options, level: options["force"])


def run(Program program not None, options=None):
    """Insert waits for memory operations.

    Parameters
    ----------
    program : Program
        Hardware instructions and ``p_barrier``.
    options : mapping, optional
        ``force``: every instruction waits for all that is outstanding, to find waits that are missing (False).

    Returns
    -------
    bool
        Whether anything may have changed.
    """
    cdef bint force = (options or {}).get("force", False)
    with nogil:
        _kernel(&program.data, force)
    return True
