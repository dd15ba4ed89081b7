"""Hazards of GFX10.1 and GFX10.3, resolved with waits and with instructions that stand between.

All but the last are GFX10.1's alone. Names are AMD's as LLVM's ``GCNHazardRecognizer`` has them:

====================  =================================================================================================
VMEMtoScalarWrite     SGPR, EXEC or M0 that memory instructions read, then written by SALU or SMEM: ``vm_vsrc(0)``
SMEMtoVectorWrite     SGPR that SMEM reads, then written by VALU: ``s_mov_b32 null, 0``
VcmpxPermlane         v_permlane after v_cmpx: a move, as the hardware drops ``v_nop``
VcmpxExecWAR          EXEC that anything but VALU reads, then written by VALU: ``sa_sdst(0)``
LdsBranchVmemWAR      LDS, branch, memory, or memory, branch, LDS: ``s_waitcnt_vscnt null, 0``
NSAtoVMEM             image access with more than one dword of register numbers, then a buffer access whose offset has
                      bit 1 or 2 set: ``s_nop``
(no name)             image access with separate registers right after v_writelane: ``s_nop``
FPAtomicToDenormMode  atomic of floats on memory, then s_denorm_mode: wait states
====================  =================================================================================================

NSAClause is ``form_hard_clauses``'s, Offset3F the assembler's: only there is known what they depend on. Where paths meet the state is the union.
Sources: AMD "RDNA" ISA document; LLVM (``GCNHazardRecognizer``); ACO's README ("hardware bugs and hazards") and ``aco_insert_NOPs``, which alone
knows of the one without a name.
"""
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint8_t
from libc.string cimport memset
from libcpp.vector cimport vector

from isa_opcodes cimport (
    op_p_constaddr, op_s_mov_b32, op_s_nop, op_s_setpc_b64, op_s_waitcnt, op_s_waitcnt_depctr, op_s_waitcnt_expcnt, op_s_waitcnt_lgkmcnt,
    op_s_waitcnt_vmcnt, op_s_waitcnt_vscnt, op_v_mov_b32, op_v_nop, op_v_writelane_b32, op_v_writelane_b32_e64,
)
from isa_tables cimport hazard_branch, hazard_denorm_mode, hazard_float_atomic, hazard_permlane, isa_hazards
from wait_tables cimport depctr_sa_sdst, depctr_vm_vsrc, waitcnt_lgkmcnt, waitcnt_vmcnt
from pyaco._core.aco.build cimport emit_0, emit_1, emit_any, sgpr_definition, vgpr_definition, vgpr_operand
from pyaco._core.aco.dataflow cimport ForwardStates
from pyaco._core.aco.queries cimport ends_without_leaving, separate_address_dwords
from pyaco._core.aco.registers cimport Range, definition_range, operand_range
from pyaco._core.common.table cimport RowRange
from pyaco._core.common.waitcnt cimport depctr_get, depctr_set, waitcnt_get
from pyaco._core.ir.program cimport (
    BlockId, DefinitionRow, InstructionId, Operand, OperandRow, OrderRow, ProgramData, Rewrite, class_s1, definitions_of, format_ds, format_exp,
    format_flat, format_is_flat_like, format_is_valu, format_is_vmem, format_mimg, format_mtbuf, format_mubuf, format_smem,
    format_sopp, format_vopc, gfx10, operand_c32, operand_register, operands_of, register_exec, register_exec_hi, register_null, rewrite_emit,
)

cdef enum:
    all_counters = 0xffff            # immediate of s_waitcnt_depctr that waits for nothing
    exec_low = register_exec >> 2
    exec_high = register_exec_hi >> 2
    null = register_null >> 2
    sgprs = 128                      # with VCC, M0 and EXEC
    settled = 3                      # wait states after which an atomic of floats does not matter
    # what has read an SGPR: memory operations, each kind with a wait of its own, and SMEM
    by_load = 1
    by_store = 2
    by_lds = 4
    by_memory = 7
    by_smem = 8
    space_lds = 0
    space_memory = 1

cdef struct State:
    uint8_t[128] readers             # by SGPR: by_*
    bint vcmpx                       # a v_cmpx was the last vector instruction
    bint exec_read                   # by anything but VALU
    bint[2] used                     # space_*: the last accesses, which no branch followed
    bint[2] used_before_branch       # ... and one did
    bint wide_image                  # the last instruction
    bint writelane
    int32_t since_atomic             # wait states, up to `settled`


cdef cppclass Context:
    ProgramData *p
    bint logical_edges               # never: the hardware runs along the linear CFG
    bint force                       # every instruction waits for all dependency counters
    bint rewriting
    Rewrite rewrite
    vector[State *] entry            # by block
    vector[State *] spare
    ForwardStates[State] states
    vector[uint8_t] dirty


# ---------------------------------------------------------------------------------------------------------------- the state
cdef void _clear(const Context *c, State *s) noexcept nogil:
    memset(s, 0, sizeof(State))
    s.since_atomic = settled


cdef inline void _copy(const Context *c, State *into, const State *other) noexcept nogil:
    into[0] = other[0]


cdef bint _unite(bint *into, bint other) noexcept nogil:
    if into[0] or not other:
        return False
    into[0] = True
    return True


cdef bint _join(Context *c, State *into, const State *other, bint logical) noexcept nogil:
    cdef bint changed = False
    cdef uint32_t k
    for k in range(<uint32_t>sgprs):
        changed |= (other.readers[k] & ~into.readers[k]) != 0
        into.readers[k] |= other.readers[k]
    for k in range(2):
        changed |= _unite(&into.used[k], other.used[k])
        changed |= _unite(&into.used_before_branch[k], other.used_before_branch[k])
    changed |= _unite(&into.vcmpx, other.vcmpx)
    changed |= _unite(&into.exec_read, other.exec_read)
    changed |= _unite(&into.wide_image, other.wide_image)
    changed |= _unite(&into.writelane, other.writelane)
    if other.since_atomic < into.since_atomic:
        into.since_atomic = other.since_atomic
        changed = True
    return changed


# ------------------------------------------------------------------------------------------------------------------ questions
cdef inline bint _is_memory(uint16_t format) noexcept nogil:
    return format_is_vmem(format) or format_is_flat_like(format)


cdef inline bint _overlaps_exec(Range r) noexcept nogil:
    return r.first <= <uint32_t>exec_high and r.end > <uint32_t>exec_low


cdef bint _writes_exec(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef RowRange definitions = definitions_of(p, i)
    cdef DefinitionRow row
    for row in range(definitions.first, definitions.first + definitions.count):
        if _overlaps_exec(definition_range(p, row)):
            return True
    return False


cdef bint _writes_sgpr(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef RowRange definitions = definitions_of(p, i)
    cdef DefinitionRow row
    for row in range(definitions.first, definitions.first + definitions.count):
        if definition_range(p, row).first < <uint32_t>sgprs:
            return True
    return False


cdef bint _reads_exec(const ProgramData *p, InstructionId i) noexcept nogil:
    """Memory instructions and exports take their lanes from EXEC."""
    cdef uint16_t format = p.instructions.format[i]
    cdef RowRange operands = operands_of(p, i)
    cdef OperandRow row
    if _is_memory(format) or format == format_ds or format == format_exp:
        return True
    for row in range(operands.first, operands.first + operands.count):
        if _overlaps_exec(operand_range(p, row)):
            return True
    return False


cdef bint _writes_what_was_read(const ProgramData *p, const State *s, InstructionId i, uint8_t by) noexcept nogil:
    cdef RowRange definitions = definitions_of(p, i)
    cdef DefinitionRow row
    cdef uint32_t k
    cdef Range r
    for row in range(definitions.first, definitions.first + definitions.count):
        r = definition_range(p, row)
        for k in range(r.first, min(r.end, <uint32_t>sgprs)):
            if s.readers[k] & by and k != <uint32_t>null:
                return True
    return False


cdef uint8_t _waited_for(const ProgramData *p, InstructionId i) noexcept nogil:
    """The kinds of memory operations of which none is left when an instruction has been issued."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t value = p.instructions.immediate[i]
    cdef uint8_t kinds = 0
    if opcode == op_s_waitcnt:
        kinds |= by_load if waitcnt_get(value, p.gfx_level, waitcnt_vmcnt) == 0 else 0
        kinds |= by_lds if waitcnt_get(value, p.gfx_level, waitcnt_lgkmcnt) == 0 else 0
    elif value == 0:
        if opcode == op_s_waitcnt_vscnt:
            kinds = by_store
        elif opcode == op_s_waitcnt_vmcnt:
            kinds = by_load
        elif opcode == op_s_waitcnt_lgkmcnt:
            kinds = by_lds
    return kinds


cdef inline bint _is_wait(uint16_t opcode) noexcept nogil:
    return (opcode == op_s_waitcnt or opcode == op_s_waitcnt_vscnt or opcode == op_s_waitcnt_vmcnt or opcode == op_s_waitcnt_expcnt
            or opcode == op_s_waitcnt_lgkmcnt)


# ------------------------------------------------------------------------------------------------------- what is put between
cdef int _wait_dependency(Context *c, uint32_t immediate) except -1 nogil:
    if c.rewriting and immediate != all_counters:
        emit_0(&c.rewrite, op_s_waitcnt_depctr, immediate)
    return 0


cdef int _wait_for_dependencies(Context *c, State *s) except -1 nogil:
    """All of them, as the option `force` wants it."""
    _wait_dependency(c, 0)
    _forget_reads(s, by_memory)
    s.exec_read = False
    s.since_atomic = min(<int32_t>settled, s.since_atomic + 1)
    s.wide_image = s.writelane = False
    return 0


cdef int _nop(Context *c, int32_t states) except -1 nogil:
    if c.rewriting:
        emit_0(&c.rewrite, op_s_nop, <uint32_t>(states - 1))
    return 0


cdef int _scalar_move(Context *c, State *s) except -1 nogil:
    if c.rewriting:
        emit_1(&c.rewrite, op_s_mov_b32, sgpr_definition(register_null), operand_c32(0))
    _forget_reads(s, by_smem)
    return 0


cdef int _vector_move(Context *c, State *s, uint16_t reg) except -1 nogil:
    """A VGPR to itself, which is all that a vector instruction settles."""
    if c.rewriting:
        emit_1(&c.rewrite, op_v_mov_b32, vgpr_definition(reg), vgpr_operand(reg))
    _forget_reads(s, by_memory)
    s.vcmpx = False
    return 0


cdef int _wait_for_stores(Context *c, State *s) except -1 nogil:
    cdef Operand counted = operand_register(register_null, class_s1)
    if c.rewriting:
        emit_any(&c.rewrite, op_s_waitcnt_vscnt, NULL, 0, &counted, 1)
    memset(s.used, 0, sizeof(s.used))
    memset(s.used_before_branch, 0, sizeof(s.used_before_branch))
    _forget_reads(s, by_store)
    return 0


cdef void _forget_reads(State *s, uint8_t kinds) noexcept nogil:
    cdef uint32_t k
    for k in range(<uint32_t>sgprs):
        s.readers[k] &= ~kinds


# ---------------------------------------------------------------------------------------------------------------------- checks
cdef int _check_memory(Context *c, State *s, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint16_t format = p.instructions.format[i]
    cdef uint32_t other = space_memory if format == format_ds else <uint32_t>space_lds
    if format != format_flat and s.used_before_branch[other]:
        _wait_for_stores(c, s)
    elif s.wide_image and (format == format_mubuf or format == format_mtbuf) and p.instructions.immediate[i] & 6:
        _nop(c, 1)
    elif s.writelane and format == format_mimg and separate_address_dwords(p, i):
        _nop(c, 1)
    return 0


cdef int _check_vector(Context *c, State *s, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    if s.vcmpx and isa_hazards(p.gfx_level, p.instructions.opcode[i]) & hazard_permlane:
        _vector_move(c, s, p.operands.reg[p.instructions.operand_first[i]])
    if _writes_what_was_read(p, s, i, by_smem):
        _scalar_move(c, s)
    if s.exec_read and _writes_exec(p, i):
        _wait_dependency(c, depctr_set(all_counters, depctr_sa_sdst, 0))
    return 0


cdef int _check_denormal_mode(Context *c, State *s, InstructionId i) except -1 nogil:
    if s.since_atomic < settled and isa_hazards(c.p.gfx_level, c.p.instructions.opcode[i]) & hazard_denorm_mode:
        _nop(c, settled - s.since_atomic)
        s.since_atomic = settled
    return 0


cdef int _check(Context *c, State *s, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint16_t format = p.instructions.format[i]
    _check_denormal_mode(c, s, i)
    if p.gfx_level != gfx10:
        return 0
    if format_is_valu(format):
        return _check_vector(c, s, i)
    if _is_memory(format) or format == format_ds:
        return _check_memory(c, s, i)
    if _writes_what_was_read(p, s, i, by_memory):
        _wait_dependency(c, depctr_set(all_counters, depctr_vm_vsrc, 0))
        _forget_reads(s, by_memory)
    return 0


cdef int _resolve_all(Context *c, State *s) except -1 nogil:
    """Nothing is known of what follows."""
    cdef uint32_t wait = all_counters
    cdef bint between = s.since_atomic < settled
    cdef uint8_t readers = 0
    cdef uint32_t k
    if between:
        _nop(c, settled - s.since_atomic)
    if s.vcmpx:
        _vector_move(c, s, 256 * 4)
        between = True
    for k in range(<uint32_t>sgprs):
        readers |= s.readers[k]
    if readers & by_memory:
        wait = depctr_set(wait, depctr_vm_vsrc, 0)
    if s.exec_read:
        wait = depctr_set(wait, depctr_sa_sdst, 0)
    _wait_dependency(c, wait)
    between |= wait != all_counters
    if readers & by_smem:
        _scalar_move(c, s)
        between = True
    for k in range(2):
        if s.used[k] or s.used_before_branch[k]:
            _wait_for_stores(c, s)
            between = True
    if (s.wide_image or s.writelane) and not between:
        _nop(c, 1)
    _clear(c, s)
    return 0


# ------------------------------------------------------------------------------------------------------------------- accounting
cdef void _note_reads(const ProgramData *p, State *s, InstructionId i, uint8_t by) noexcept nogil:
    cdef RowRange operands = operands_of(p, i)
    cdef OperandRow row
    cdef uint32_t k
    cdef Range r
    for row in range(operands.first, operands.first + operands.count):
        r = operand_range(p, row)
        for k in range(r.first, min(r.end, <uint32_t>sgprs)):
            s.readers[k] |= by


cdef void _note_memory(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    cdef uint8_t by = by_lds if format == format_ds or format == format_flat else 0
    if format != format_ds:
        by |= by_load if p.instructions.definition_count[i] else by_store
    _note_reads(p, s, i, by)
    s.readers[exec_low] |= by
    s.readers[exec_high] |= by
    if format != format_flat:
        _note_space(s, space_lds if format == format_ds else <uint32_t>space_memory)


cdef void _note_space(State *s, uint32_t space) noexcept nogil:
    memset(s.used_before_branch, 0, sizeof(s.used_before_branch))
    s.used[space] = True
    s.used[1 - space] = False


cdef void _note_branch(State *s) noexcept nogil:
    cdef uint32_t k
    for k in range(2):
        s.used_before_branch[k] |= s.used[k]
        s.used[k] = False


cdef void _note_vector(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    _forget_reads(s, by_memory)
    if p.instructions.format[i] & format_vopc and _writes_exec(p, i):
        s.vcmpx = True
    elif p.instructions.opcode[i] != op_v_nop:
        s.vcmpx = False
    if _writes_sgpr(p, i):
        s.exec_read = False


cdef void _note_scalar(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint8_t waited = _waited_for(p, i)
    if waited:
        _forget_reads(s, waited)
    if waited & by_lds or (p.instructions.format[i] != format_sopp and p.instructions.definition_count[i]):
        _forget_reads(s, by_smem)
    if opcode == op_s_waitcnt_vscnt and waited:
        memset(s.used, 0, sizeof(s.used))
        memset(s.used_before_branch, 0, sizeof(s.used_before_branch))
    elif opcode == op_s_waitcnt_depctr:
        if depctr_get(p.instructions.immediate[i], depctr_vm_vsrc) == 0:
            _forget_reads(s, by_memory)
        if depctr_get(p.instructions.immediate[i], depctr_sa_sdst) == 0:
            s.exec_read = False


cdef void _note_wait_states(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    """FPAtomicToDenormMode."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    if format_is_valu(p.instructions.format[i]) or _is_wait(opcode):
        s.since_atomic = settled
    elif isa_hazards(p.gfx_level, opcode) & hazard_float_atomic:
        s.since_atomic = 0
    elif opcode == op_s_nop:
        s.since_atomic = min(<int32_t>settled, s.since_atomic + <int32_t>p.instructions.immediate[i] + 1)
    else:
        s.since_atomic = min(<int32_t>settled, s.since_atomic + (3 if opcode == op_p_constaddr else 1))


cdef void _note(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef bint valu = format_is_valu(format)
    _note_wait_states(p, s, i)
    if p.gfx_level != gfx10:
        return
    if valu:
        _note_vector(p, s, i)
    elif _reads_exec(p, i):
        s.exec_read = True
    s.wide_image = not valu and format == format_mimg and separate_address_dwords(p, i) > 1
    s.writelane = opcode == op_v_writelane_b32 or opcode == op_v_writelane_b32_e64
    if valu:
        return
    if _is_memory(format) or format == format_ds:
        _note_memory(p, s, i)
    elif format == format_smem:
        _note_reads(p, s, i, by_smem)
    elif isa_hazards(p.gfx_level, opcode) & hazard_branch:
        _note_branch(s)
    else:
        _note_scalar(p, s, i)


# ------------------------------------------------------------------------------------------------------------------- blocks
cdef int _block(Context *c, BlockId block, State *s) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef OrderRow first = p.blocks.order_first[block]
    cdef uint32_t k
    cdef InstructionId i
    for k in range(p.blocks.order_count[block]):
        i = p.order.instruction[first + k]
        if c.force:
            _wait_for_dependencies(c, s)
        if p.instructions.opcode[i] == op_s_setpc_b64:
            _resolve_all(c, s)
        else:
            _check(c, s, i)
        if c.rewriting:
            rewrite_emit(&c.rewrite, i)
        _note(p, s, i)
    if ends_without_leaving(p, block):
        _resolve_all(c, s)
    return 0


include "forward_rewrite.pxi"


cdef bint _has_float_atomic(const ProgramData *p) noexcept nogil:
    cdef uint32_t k
    for k in range(p.order.table.count):
        if isa_hazards(p.gfx_level, p.instructions.opcode[p.order.instruction[k]]) & hazard_float_atomic:
            return True
    return False


cdef int hazards_gfx10_run(ProgramData *p, bint force) except -1 nogil:
    cdef Context c
    c.logical_edges = False
    c.force = force
    if not force and p.gfx_level != gfx10 and not _has_float_atomic(p):
        return 0
    return solve_and_rewrite(&c, p)
