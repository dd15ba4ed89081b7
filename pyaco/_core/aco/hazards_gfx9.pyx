"""Hazards of GFX6 to GFX9 that the program must resolve with wait states (``s_nop``).

For every register the time of the last write of the kind that matters is kept; an instruction that comes too early is
preceded by as many wait states as are missing. At the end of a part of a program that another part follows, everything is resolved.
Source: AMD "Southern Islands", "Sea Islands", "Volcanic Islands" and "Vega" ISA documents, "Manually inserted wait states"; ACO
(``aco_insert_NOPs``) for what the documents leave out (SMEM clauses with XNACK; on GFX6, scalar loads by a descriptor that the scalar ALU
has just written, and lanes read of a VGPR that interpolation has just written).
"""
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memset
from libcpp.vector cimport vector

from isa_opcodes cimport op_p_constaddr, op_s_nop, op_s_setpc_b64, op_v_readfirstlane_b32, op_v_readlane_b32
from isa_tables cimport (
    hazard_div_fmas, hazard_getreg, hazard_lane_select, hazard_m0_read, hazard_setreg, hazard_wide_store, is_atomic, isa_hazards,
)
from modifiers cimport modifier_gds
from pyaco._core.aco.build cimport emit_0
from pyaco._core.aco.dataflow cimport ForwardStates
from pyaco._core.aco.queries cimport ends_without_leaving
from pyaco._core.aco.registers cimport Range, definition_range, operand_range, vgprs_named
from pyaco._core.common.table cimport RowRange
from pyaco._core.ir.program cimport (
    BlockId, DefinitionRow, InstructionId, OperandRow, OrderRow, ProgramData, Rewrite, class_dwords, definitions_of, format_dpp16,
    format_dpp8, format_ds, format_is_flat_like, format_is_salu, format_is_valu, format_is_vmem, format_mimg, format_mtbuf,
    format_mubuf, format_smem, format_vintrp, gfx7, operand_constant, register_exec, register_m0, register_vcc, rewrite_emit,
)

cdef enum:
    long_ago = -64

cdef struct State:
    int32_t now                      # wait states since the start of the block
    int32_t[512] valu_write          # time of the last write by the vector ALU
    int32_t[256] store_data          # VGPR: time of the last large store that reads it
    int32_t[128] salu_write          # GFX6: time of the last write by the scalar ALU
    int32_t[256] interpolated        # GFX6: time of the last write by an interpolation
    int32_t m0_write                 # by the scalar ALU
    int32_t setreg
    int32_t setreg_vskip
    bint smem_clause                 # the last instructions were scalar memory loads
    bint smem_write
    uint64_t[2] clause_writes        # SGPRs of that clause
    uint64_t[2] clause_accesses


cdef cppclass Context:
    ProgramData *p
    uint32_t vgprs                   # that the program names
    bint logical_edges               # never: the hardware runs along the linear CFG
    bint rewriting
    Rewrite rewrite
    vector[State *] entry            # by block
    vector[State *] spare
    ForwardStates[State] states
    vector[uint8_t] dirty


cdef void _clear(const Context *c, State *s) noexcept nogil:
    cdef uint32_t k
    memset(s, 0, sizeof(State))
    for k in range(512):
        s.valu_write[k] = long_ago
    for k in range(256):
        s.store_data[k] = s.interpolated[k] = long_ago
    for k in range(128):
        s.salu_write[k] = long_ago
    s.m0_write = s.setreg = s.setreg_vskip = long_ago


cdef inline void _copy(const Context *c, State *into, const State *other) noexcept nogil:
    into[0] = other[0]


cdef inline bint _later(int32_t *into, int32_t time) noexcept nogil:
    if time < long_ago:
        time = long_ago
    if time <= into[0]:
        return False
    into[0] = time
    return True


cdef bint _join(Context *c, State *into, const State *other, bint logical) noexcept nogil:
    """Merge a state at the end of a block into one at the start of another, whose time is zero."""
    cdef bint changed = False
    cdef uint32_t k
    for k in range(256 + c.vgprs):
        changed |= _later(&into.valu_write[k], other.valu_write[k] - other.now)
    for k in range(c.vgprs):
        changed |= _later(&into.store_data[k], other.store_data[k] - other.now)
        changed |= _later(&into.interpolated[k], other.interpolated[k] - other.now)
    for k in range(128):
        changed |= _later(&into.salu_write[k], other.salu_write[k] - other.now)
    changed |= _later(&into.m0_write, other.m0_write - other.now)
    changed |= _later(&into.setreg, other.setreg - other.now)
    changed |= _later(&into.setreg_vskip, other.setreg_vskip - other.now)
    if other.smem_clause and not into.smem_clause:
        into.smem_clause = changed = True
    if other.smem_write and not into.smem_write:
        into.smem_write = changed = True
    for k in range(2):
        if other.clause_writes[k] & ~into.clause_writes[k] or other.clause_accesses[k] & ~into.clause_accesses[k]:
            changed = True
            into.clause_writes[k] |= other.clause_writes[k]
            into.clause_accesses[k] |= other.clause_accesses[k]
    return changed


cdef inline void _require(const State *s, int32_t time, int32_t states, int32_t *missing) noexcept nogil:
    """`states` wait states must lie between an event and the coming instruction."""
    if states - (s.now - time) > missing[0]:
        missing[0] = states - (s.now - time)


cdef void _require_range(const State *s, Range r, int32_t states, int32_t *missing) noexcept nogil:
    cdef uint32_t k
    for k in range(r.first, r.end):
        _require(s, s.valu_write[k], states, missing)


cdef bint _in_clause(const uint64_t *registers, Range r) noexcept nogil:
    cdef uint32_t k
    for k in range(r.first, r.end if r.end < 128 else 128):
        if registers[k >> 6] >> (k & 63) & 1:
            return True
    return False


cdef void _add(uint64_t *registers, Range r) noexcept nogil:
    cdef uint32_t k
    for k in range(r.first, r.end if r.end < 128 else 128):
        registers[k >> 6] |= <uint64_t>1 << (k & 63)


cdef void _check_smem(const ProgramData *p, const State *s, InstructionId i, int32_t *missing) noexcept nogil:
    """Members of a clause of scalar loads may be replayed: none may overwrite what another reads, and stores stand alone."""
    cdef uint32_t k
    cdef uint32_t reg
    cdef Range r
    if p.gfx_level < gfx7:
        for k in range(p.instructions.operand_count[i]):
            r = operand_range(p, p.instructions.operand_first[i] + k)
            _require_range(s, r, 4, missing)
            if k == 0 and r.end - r.first > 2:
                for reg in range(r.first, r.end if r.end < 128 else 128):
                    _require(s, s.salu_write[reg], 4, missing)
    if missing[0] > 0 or not (s.smem_clause or s.smem_write):
        return
    if s.smem_write or p.instructions.definition_count[i] == 0 or is_atomic(p.instructions.opcode[i]):
        missing[0] = 1
        return
    if not p.device.xnack_enabled:
        return
    for k in range(p.instructions.operand_count[i]):
        if _in_clause(s.clause_writes, operand_range(p, p.instructions.operand_first[i] + k)):
            missing[0] = 1
    if _in_clause(s.clause_accesses, definition_range(p, p.instructions.definition_first[i])):
        missing[0] = 1


cdef void _check_valu(const ProgramData *p, const State *s, InstructionId i, uint32_t hazards, int32_t *missing) noexcept nogil:
    cdef uint32_t k
    cdef uint32_t v
    cdef Range r
    if p.instructions.format[i] & (format_dpp16 | format_dpp8):
        _require(s, s.valu_write[register_exec >> 2], 5, missing)
        _require(s, s.valu_write[(register_exec >> 2) + 1], 5, missing)
        _require_range(s, operand_range(p, p.instructions.operand_first[i]), 2, missing)
    for k in range(p.instructions.definition_count[i]):
        r = definition_range(p, p.instructions.definition_first[i] + k)
        if r.first >= 256:
            for v in range(r.first, r.end):
                _require(s, s.store_data[v - 256], 1, missing)
    if hazards & hazard_lane_select:
        _require_range(s, operand_range(p, p.instructions.operand_first[i] + 1), 4, missing)
    if p.gfx_level < gfx7 and p.instructions.opcode[i] in (op_v_readlane_b32, op_v_readfirstlane_b32):
        r = operand_range(p, p.instructions.operand_first[i])
        if r.first >= 256:
            _require(s, s.interpolated[r.first - 256], 1, missing)
    if hazards & hazard_div_fmas:
        _require(s, s.valu_write[register_vcc >> 2], 4, missing)
        _require(s, s.valu_write[(register_vcc >> 2) + 1], 4, missing)


cdef void _check_vmem(const ProgramData *p, const State *s, InstructionId i, int32_t *missing) noexcept nogil:
    cdef uint32_t k
    cdef Range r
    for k in range(p.instructions.operand_count[i]):
        r = operand_range(p, p.instructions.operand_first[i] + k)
        if r.first < 256:
            _require_range(s, r, 5, missing)


cdef int32_t _missing(const ProgramData *p, const State *s, InstructionId i) noexcept nogil:
    """Wait states that must be inserted before an instruction."""
    cdef uint16_t format = p.instructions.format[i]
    cdef uint32_t hazards = isa_hazards(p.gfx_level, p.instructions.opcode[i])
    cdef int32_t missing = 0
    cdef bint vmem = format_is_vmem(format) or format_is_flat_like(format)
    if hazards & (hazard_setreg | hazard_getreg):
        _require(s, s.setreg, 2, &missing)
    if hazards & hazard_m0_read:
        _require(s, s.m0_write, 1, &missing)
    if format == format_smem:
        _check_smem(p, s, i, &missing)
    elif format_is_valu(format) or format == format_vintrp:
        _check_valu(p, s, i, hazards, &missing)
    elif vmem:
        _check_vmem(p, s, i, &missing)
    if format_is_valu(format) or format == format_vintrp or vmem or format == format_ds:
        _require(s, s.setreg_vskip, 2, &missing)
    if format == format_ds and modifier_gds(p.instructions.modifiers[i]):
        _require(s, s.m0_write, 1, &missing)
    return missing


cdef int32_t _wait_states(const ProgramData *p, InstructionId i) noexcept nogil:
    if p.instructions.opcode[i] == op_s_nop:
        return <int32_t>p.instructions.immediate[i] + 1
    return 3 if p.instructions.opcode[i] == op_p_constaddr else 1


cdef void _note_smem(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    cdef uint32_t k
    cdef Range r
    if p.instructions.definition_count[i] == 0 or is_atomic(p.instructions.opcode[i]):
        s.smem_write = True
        return
    s.smem_clause = True
    if not p.device.xnack_enabled:
        return
    for k in range(p.instructions.operand_count[i]):
        _add(s.clause_accesses, operand_range(p, p.instructions.operand_first[i] + k))
    r = definition_range(p, p.instructions.definition_first[i])
    _add(s.clause_accesses, r)
    _add(s.clause_writes, r)


cdef void _note_salu(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    cdef uint32_t immediate = p.instructions.immediate[i]
    cdef uint32_t offset = immediate >> 6 & 31
    cdef RowRange definitions = definitions_of(p, i)
    cdef DefinitionRow row
    cdef uint32_t k
    cdef Range r
    if p.gfx_level < gfx7:
        for row in range(definitions.first, definitions.first + definitions.count):
            r = definition_range(p, row)
            for k in range(r.first, r.end if r.end < 128 else 128):
                s.salu_write[k] = s.now
    if p.instructions.definition_count[i] and p.definitions.reg[p.instructions.definition_first[i]] == register_m0:
        s.m0_write = s.now
    if isa_hazards(p.gfx_level, p.instructions.opcode[i]) & hazard_setreg:
        s.setreg = s.now
        # MODE.vskip is bit 28.
        if immediate & 63 == 1 and offset <= 28 < offset + (immediate >> 11 & 31) + 1:
            s.setreg_vskip = s.now


cdef void _note_store(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    """A store of more than two dwords reads its data late (buffers: only with a constant offset; images: with a short descriptor)."""
    cdef uint16_t format = p.instructions.format[i]
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef OperandRow row = first + 2
    cdef uint32_t k
    cdef Range r
    if not isa_hazards(p.gfx_level, p.instructions.opcode[i]) & hazard_wide_store:
        return
    if format == format_mubuf or format == format_mtbuf:
        if not p.operands.flags[first + 2] & operand_constant:
            return
        row = first + 3
    elif format == format_mimg and class_dwords(p.operands.register_class[first]) != 4:
        return
    if row >= first + count:
        return
    r = operand_range(p, row)
    if r.end - r.first <= 2 or r.first < 256:
        return
    for k in range(r.first, r.end):
        s.store_data[k - 256] = s.now


cdef void _note(const ProgramData *p, State *s, InstructionId i, int32_t nops) noexcept nogil:
    """Account for an instruction that has just been issued."""
    cdef RowRange definitions
    cdef uint16_t format = p.instructions.format[i]
    cdef DefinitionRow row
    cdef uint32_t k
    cdef Range r
    s.now += nops
    if nops or format != format_smem:
        s.smem_clause = s.smem_write = False
        memset(s.clause_writes, 0, sizeof(s.clause_writes))
        memset(s.clause_accesses, 0, sizeof(s.clause_accesses))
    s.now += _wait_states(p, i)
    if format == format_smem and p.instructions.operand_count[i]:
        _note_smem(p, s, i)
    elif format_is_valu(format) or format == format_vintrp:
        definitions = definitions_of(p, i)
        for row in range(definitions.first, definitions.first + definitions.count):
            r = definition_range(p, row)
            for k in range(r.first, r.end):
                s.valu_write[k] = s.now
                if format == format_vintrp and k >= 256:
                    s.interpolated[k - 256] = s.now
    elif format_is_salu(format):
        _note_salu(p, s, i)
    elif format_is_vmem(format) or format_is_flat_like(format):
        _note_store(p, s, i)


cdef int32_t _missing_for_all(const State *s, bint jump) noexcept nogil:
    """Wait states after which anything may follow the end of this part; the jump there is one of them, and ends a clause of scalar loads."""
    cdef int32_t missing = 1 if s.smem_clause or s.smem_write else 0
    cdef uint32_t k
    for k in range(128):
        _require(s, s.valu_write[k], 5, &missing)
    for k in range(256):
        _require(s, s.valu_write[256 + k], 2, &missing)
        _require(s, s.store_data[k], 1, &missing)
        _require(s, s.interpolated[k], 1, &missing)
    for k in range(128):
        _require(s, s.salu_write[k], 4, &missing)
    _require(s, s.m0_write, 1, &missing)
    _require(s, s.setreg, 2, &missing)
    _require(s, s.setreg_vskip, 2, &missing)
    return missing - 1 if jump else missing


cdef int _wait(Context *c, int32_t states) except -1 nogil:
    if states > 0 and c.rewriting:
        emit_0(&c.rewrite, op_s_nop, <uint32_t>(states - 1))
    return 0


cdef int _block(Context *c, BlockId block, State *s) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef OrderRow first = p.blocks.order_first[block]
    cdef uint32_t k
    cdef InstructionId i
    cdef int32_t missing
    cdef bint jump
    for k in range(p.blocks.order_count[block]):
        i = p.order.instruction[first + k]
        jump = p.instructions.opcode[i] == op_s_setpc_b64
        missing = _missing_for_all(s, True) if jump else _missing(p, s, i)
        _wait(c, missing)
        if c.rewriting:
            rewrite_emit(&c.rewrite, i)
        _note(p, s, i, missing if missing > 0 else 0)
        if jump:
            _clear(c, s)
    if ends_without_leaving(p, block):
        _wait(c, _missing_for_all(s, False))
    return 0


include "forward_rewrite.pxi"


cdef int hazards_gfx9_run(ProgramData *p) except -1 nogil:
    cdef Context c
    c.vgprs = vgprs_named(p)
    c.logical_edges = False
    return solve_and_rewrite(&c, p)
