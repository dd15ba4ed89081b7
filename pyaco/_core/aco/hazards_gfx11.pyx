"""Hazards of GFX11, GFX11.5 and GFX12, resolved with ``s_waitcnt_depctr``, ``v_nop`` and fields of LDSDIR instructions.

The state is kept per register and moves forward: which vector instruction (counted) last touched or wrote it, how many writes of
exec lay before that, whether memory operations or lane-mask reads are outstanding on it. Names in the code are AMD's as LLVM's
``GCNHazardRecognizer`` has them:

===========================  ===========  ==================================================================================
VcmpxPermlane                GFX11, 12    v_permlane after v_cmpx: ``v_nop``
LdsDirectVALU                GFX11, 12    LDSDIR writes a VGPR in use by the VALU: its field ``wait_vdst``
LdsDirectVMEM                GFX11, 12    the same by memory operations: ``vm_vsrc(0)``, on GFX12 the field ``wait_vsrc``
VALUTransUse                 GFX11.0      result of a transcendental read too early: ``va_vdst(0)``
VALUPartialForwarding        GFX11 w64    sources written on both sides of a SALU write of exec: ``va_vdst(0)``
VALUMaskWrite                GFX11 w64    lane mask read by the VALU, then written by the SALU, then read: ``sa_sdst(0)``; or
                                          written by the VALU, then read by the VALU: ``va_sdst(0)``, ``va_vcc(0)``
VALUReadSGPR                 GFX12        SGPR read by the VALU, then written, then read: ``sa_sdst(0)``, ``va_sdst(0)``, ``va_vcc(0)``;
                                          scalar, buffer and image accesses wait for all that too (global, scratch and LDS do not)
WMMA                         GFX11, 12    matrix sources that are the result of the matrix operation before: ``v_nop``
===========================  ===========  ==================================================================================

Where paths meet the state is the union, and distances are the shortest, so that a wait may be inserted that one path alone would
not need. With `previous_part`, another part of the shader has run before, and its VALU instructions may have read any SGPR: no wait at its
end settles that. Sources: AMD "RDNA 3" ISA document ("Manually inserted wait states"), LLVM, ACO (``aco_insert_NOPs``).
"""
from libc.stdint cimport int32_t, uint16_t, uint32_t, uint64_t, uint8_t
from libc.string cimport memcpy, memset
from libcpp.vector cimport vector

from isa_opcodes cimport (
    op_s_nop, op_s_setpc_b64, op_s_wait_bvhcnt, op_s_wait_dscnt, op_s_wait_loadcnt, op_s_wait_loadcnt_dscnt, op_s_wait_samplecnt,
    op_s_wait_storecnt, op_s_wait_storecnt_dscnt, op_s_waitcnt, op_s_waitcnt_depctr, op_s_waitcnt_vscnt, op_v_nop,
)
from isa_tables cimport hazard_lane_mask_read, hazard_permlane, hazard_transcendental, hazard_wave_matrix, isa_hazards
from modifiers cimport modifier_set_wait_vdst, modifier_set_wait_vsrc, modifier_wait_vdst
from wait_tables cimport depctr_sa_sdst, depctr_va_sdst, depctr_va_vcc, depctr_va_vdst, depctr_vm_vsrc, waitcnt_lgkmcnt, waitcnt_vmcnt
from pyaco._core.aco.build cimport emit_0
from pyaco._core.aco.dataflow cimport ForwardStates
from pyaco._core.aco.queries cimport ends_without_leaving, memory_bvh, memory_sampler, memory_type
from pyaco._core.aco.registers cimport Range, definition_range, operand_range
from pyaco._core.common.bits cimport trailing_zeros64
from pyaco._core.common.table cimport RowRange
from pyaco._core.common.waitcnt cimport depctr_get, depctr_set, waitcnt_get
from pyaco._core.ir.program cimport (
    BlockId, DefinitionRow, InstructionId, OperandRow, OrderRow, ProgramData, Rewrite, definitions_of, format_ds, format_exp,
    format_flat, format_is_flat_like, format_is_salu, format_is_valu, format_is_vmem, format_ldsdir, format_smem, format_sopp, format_vopc,
    gfx11, gfx12, operand_at, operand_is_literal, operands_of, register_exec, register_exec_hi, register_m0, register_vcc, register_vcc_hi,
    rewrite_emit,
)

cdef enum:
    # Times count from here at the start of a block; what was earlier than 32 instructions before is of no interest.
    long_ago = 0
    block_start = 32
    all_counters = 0xffff            # immediate of s_waitcnt_depctr that waits for nothing
    sgpr_writes = 0xf1fc             # ... that waits for all SGPRs: sa_sdst(0), va_sdst(0), va_vcc(0)
    m0 = register_m0 >> 2            # registers from here on are not followed
    # kinds of memory operations, each with a wait of its own
    memory_use_load = 1
    memory_use_store = 2
    memory_use_lds = 4
    memory_use_sampler = 8           # these two count as loads before GFX12
    memory_use_bvh = 0x10
    memory_use_any = 0x1f
    # after so many SALU instructions a result has arrived
    salu_expiry = 11
    # Writes of exec are counted up to here: a loop would need a round for each more. No more than four vector instructions lie between.
    most_epochs = 32

cdef struct State:
    uint32_t words                   # of 8 VGPRs, up to the last known one
    bint masks                       # whether lane masks and writes of exec are followed
    uint8_t memory_open              # bits that any VGPR may have in `memory`
    uint8_t mask_open                # bits that any SGPR may have in `mask`; 4, 8: one may be in `then_written_by_valu`, `then_written_by_salu`
    int32_t valu                     # the time in vector instructions
    int32_t salu                     # ... in scalar ones
    int32_t last_trans               # the time (in vector instructions) of the last transcendental
    int32_t last_use                 # of the last one that names a VGPR
    int32_t trans                    # the time in transcendentals
    uint64_t[4] known                # VGPRs of which anything is: the rows of others have no meaning
    int32_t[256] touched             # time of the last vector instruction that names the VGPR
    int32_t[256] written             # ... that writes it
    int32_t[256] trans_written       # ... that is a transcendental and wrote it, in vector instructions
    int32_t[256] trans_order         # the same in transcendentals
    uint8_t[256] epoch_low           # writes of exec by the SALU since it was written: fewest and most over all paths
    uint8_t[256] epoch_high
    uint8_t[256] merged              # the time of the write differs between paths
    uint8_t[256] memory              # memory_use_*: operations that name it may be outstanding
    uint8_t[128] mask                # SGPR: 1 read as a lane mask by the VALU, 2 and written by the SALU since
    uint8_t[64] read_by_valu         # GFX12, pairs of SGPRs
    uint8_t[128] then_written_by_valu  # GFX11: what was read as a lane mask
    int32_t[128] then_written_by_salu  # time in scalar instructions
    bint vcmpx
    bint wmma                        # the last vector instruction was a matrix operation
    uint32_t wmma_first
    uint32_t wmma_end


cdef cppclass Context:
    ProgramData *p
    bint logical_edges               # never: the hardware runs along the linear CFG
    bint masks
    bint previous_part
    bint force                       # every instruction waits for all dependency counters
    bint rewriting
    Rewrite rewrite
    vector[State *] entry            # by block
    vector[State *] spare
    ForwardStates[State] states
    vector[uint8_t] dirty


# --------------------------------------------------------------------------------------------------------------- the state
cdef void _clear(const Context *c, State *s) noexcept nogil:
    s.words = 0
    s.masks = c.masks
    s.memory_open = s.mask_open = 0
    s.valu = s.salu = s.trans = block_start
    s.last_trans = s.last_use = long_ago
    memset(s.known, 0, sizeof(s.known))
    memset(s.mask, 0, sizeof(s.mask))
    memset(s.read_by_valu, c.previous_part, sizeof(s.read_by_valu))
    memset(s.then_written_by_valu, 0, sizeof(s.then_written_by_valu))
    memset(s.then_written_by_salu, 0, sizeof(s.then_written_by_salu))
    s.vcmpx = s.wmma = False
    s.wmma_first = s.wmma_end = 0


cdef inline void _copy(const Context *c, State *into, const State *other) noexcept nogil:
    into[0] = other[0]


cdef inline uint64_t _word(const uint8_t *bytes, uint32_t k) noexcept nogil:
    cdef uint64_t word
    memcpy(&word, bytes + 8 * k, 8)
    return word


cdef inline void _set_word(uint8_t *bytes, uint32_t k, uint64_t word) noexcept nogil:
    memcpy(bytes + 8 * k, &word, 8)


cdef inline bint _is_known(const State *s, uint32_t v) noexcept nogil:
    return s.known[v >> 6] >> (v & 63) & 1


cdef inline void _know(State *s, uint32_t v) noexcept nogil:
    """Begin with a VGPR that nothing was known of."""
    if _is_known(s, v):
        return
    s.known[v >> 6] |= <uint64_t>1 << (v & 63)
    s.words = max(s.words, (v >> 3) + 1)
    s.touched[v] = s.written[v] = s.trans_written[v] = s.trans_order[v] = long_ago
    s.epoch_low[v] = s.epoch_high[v] = s.merged[v] = s.memory[v] = 0


cdef inline bint _later(int32_t *into, int32_t time) noexcept nogil:
    """Let the latest time at the end of a block, by that of the next, stand there; True on change."""
    if time < long_ago:
        time = long_ago
    if time <= into[0]:
        return False
    into[0] = time
    return True


cdef bint _join_vgpr(State *into, const State *other, uint32_t k) noexcept nogil:
    cdef bint changed
    cdef int32_t written = other.written[k] - other.valu + block_start
    _know(into, k)
    changed = _later(&into.touched[k], other.touched[k] - other.valu + block_start)
    changed |= _later(&into.trans_written[k], other.trans_written[k] - other.valu + block_start)
    changed |= _later(&into.trans_order[k], other.trans_order[k] - other.trans + block_start)
    if other.memory[k] & ~into.memory[k]:
        into.memory[k] |= other.memory[k]
        changed = True
    if written <= long_ago:
        return changed
    if into.written[k] == long_ago:
        into.written[k] = written
        into.epoch_low[k] = other.epoch_low[k]
        into.epoch_high[k] = other.epoch_high[k]
        into.merged[k] = other.merged[k]
        return True
    if not into.merged[k] and (other.merged[k] or written != into.written[k]):
        into.merged[k] = 1
        changed = True
    changed |= _later(&into.written[k], written)
    if other.epoch_low[k] < into.epoch_low[k]:
        into.epoch_low[k] = other.epoch_low[k]
        changed = True
    if other.epoch_high[k] > into.epoch_high[k]:
        into.epoch_high[k] = other.epoch_high[k]
        changed = True
    return changed


cdef inline bint _unite(uint8_t *into, const uint8_t *other, uint32_t words) noexcept nogil:
    """Give bytes the bits of others."""
    cdef uint32_t k
    cdef uint64_t fresh = 0
    for k in range(words):
        fresh |= _word(other, k) & ~_word(into, k)
        _set_word(into, k, _word(into, k) | _word(other, k))
    return fresh != 0


cdef inline bint _is_past(const State *s, uint32_t k) noexcept nogil:
    """Whether what is known of a VGPR is too long ago to matter behind the block."""
    return s.touched[k] - s.valu + block_start <= long_ago and s.trans_order[k] - s.trans + block_start <= long_ago and s.memory[k] == 0


cdef bint _join(Context *c, State *into, const State *other, bint logical) noexcept nogil:
    cdef bint changed
    cdef uint32_t k
    cdef uint32_t word
    cdef uint64_t known
    changed = _later(&into.last_trans, other.last_trans - other.valu + block_start)
    changed |= _later(&into.last_use, other.last_use - other.valu + block_start)
    for word in range(4):
        known = other.known[word]
        while known:
            k = word * 64 + trailing_zeros64(known)
            known &= known - 1
            if not _is_past(other, k):
                changed |= _join_vgpr(into, other, k)
    into.memory_open |= other.memory_open
    into.mask_open |= other.mask_open
    if c.masks:
        changed |= _unite(into.mask, other.mask, 16)
    if c.masks or c.p.gfx_level >= gfx12:
        changed |= _unite(into.then_written_by_valu, other.then_written_by_valu, 16)
    if c.p.gfx_level >= gfx12:
        for k in range(128):
            changed |= _later(&into.then_written_by_salu[k], other.then_written_by_salu[k] - other.salu + block_start)
        changed |= _unite(into.read_by_valu, other.read_by_valu, 8)
    if other.vcmpx and not into.vcmpx:
        into.vcmpx = changed = True
    if other.wmma and not into.wmma:
        into.wmma = changed = True
        into.wmma_first = other.wmma_first
        into.wmma_end = other.wmma_end
    elif other.wmma and (other.wmma_first < into.wmma_first or other.wmma_end > into.wmma_end):
        changed = True
        into.wmma_first = min(into.wmma_first, other.wmma_first)
        into.wmma_end = max(into.wmma_end, other.wmma_end)
    return changed


# ----------------------------------------------------------------------------------------------------------- observations
cdef inline uint32_t _hazards(const ProgramData *p, InstructionId i) noexcept nogil:
    return isa_hazards(p.gfx_level, p.instructions.opcode[i])


cdef bint _writes_exec(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint32_t k
    cdef Range r
    for k in range(p.instructions.definition_count[i]):
        r = definition_range(p, p.instructions.definition_first[i] + k)
        if r.first <= register_exec_hi >> 2 and r.end > register_exec >> 2:
            return True
    return False


cdef inline uint32_t _wait_for(uint32_t counter) noexcept nogil:
    """The immediate of s_waitcnt_depctr that waits until nothing is open of a counter."""
    return depctr_set(all_counters, counter, 0)


cdef inline bint _is_vcc(uint32_t sgpr) noexcept nogil:
    return sgpr == register_vcc >> 2 or sgpr == register_vcc_hi >> 2


cdef uint32_t _va_vdst(const ProgramData *p, InstructionId i) noexcept nogil:
    """How many vector results may be outstanding when the instruction is issued (15: it does not wait)."""
    cdef uint16_t format = p.instructions.format[i]
    if format_is_vmem(format) or format_is_flat_like(format) or format == format_ds or format == format_exp:
        return 0
    if format == format_ldsdir:
        return modifier_wait_vdst(p.instructions.modifiers[i])
    if p.instructions.opcode[i] == op_s_waitcnt_depctr:
        return depctr_get(p.instructions.immediate[i], depctr_va_vdst)
    return 15


# ------------------------------------------------------------------------------------------------------------------ checks
cdef uint32_t _lds_direct_wait(const ProgramData *p, const State *s, InstructionId i) noexcept nogil:
    """Vector instructions that may be outstanding so that the destination is free."""
    cdef uint32_t wait = modifier_wait_vdst(p.instructions.modifiers[i])
    cdef Range r = definition_range(p, p.instructions.definition_first[i])
    cdef int32_t since
    if r.first < 256 or not _is_known(s, r.first - 256) or s.touched[r.first - 256] == long_ago:
        return wait
    since = s.valu - s.touched[r.first - 256]
    # Transcendentals finish out of order with the rest: counting does not help any more.
    if s.last_trans >= s.touched[r.first - 256]:
        since = 0
    return <uint32_t>since if since < <int32_t>wait else wait


cdef bint _trans_use(const ProgramData *p, const State *s, InstructionId i) noexcept nogil:
    cdef uint32_t k
    cdef uint32_t v
    cdef int32_t valu = 15
    cdef int32_t trans = 15
    cdef Range r
    if s.valu - s.last_trans > 5:
        return False
    for k in range(p.instructions.operand_count[i]):
        r = operand_range(p, p.instructions.operand_first[i] + k)
        if r.first < 256:
            continue
        for v in range(r.first - 256, r.end - 256):
            if not _is_known(s, v) or s.trans_written[v] == long_ago:
                continue
            valu = min(valu, s.valu - s.trans_written[v])
            trans = min(trans, s.trans - s.trans_order[v])
    return trans <= 1 and valu <= 5


cdef bint _partial_forwarding(const ProgramData *p, const State *s, InstructionId i) noexcept nogil:
    """Two sources, written before and after a write of exec: at most two vector instructions between the writes and at most
    four between the second and here."""
    cdef uint8_t[64] registers
    cdef uint32_t count = 0
    cdef uint32_t k
    cdef uint32_t j
    cdef uint32_t v
    cdef Range r
    for k in range(p.instructions.operand_count[i]):
        r = operand_range(p, p.instructions.operand_first[i] + k)
        if r.first < 256:
            continue
        for v in range(r.first - 256, r.end - 256):
            if count < 64 and _is_known(s, v) and s.written[v] != long_ago and s.valu - s.written[v] <= 8:
                registers[count] = <uint8_t>v
                count += 1
    for k in range(count):
        for j in range(count):
            # registers[j] is the second write
            if s.valu - s.written[registers[j]] > 4:
                continue
            if s.epoch_high[registers[k]] <= s.epoch_low[registers[j]] < most_epochs:
                continue
            if s.merged[registers[k]] or s.merged[registers[j]] or s.written[registers[j]] - s.written[registers[k]] <= 3:
                return True
    return False


cdef uint32_t _mask_write(const ProgramData *p, const State *s, InstructionId i) noexcept nogil:
    """Counters to wait for before reading SGPRs (immediate of s_waitcnt_depctr)."""
    cdef uint32_t wait = all_counters
    cdef uint32_t k
    cdef uint32_t r
    cdef Range range_
    cdef bint valu = format_is_valu(p.instructions.format[i])
    if not s.mask_open & 0xe:
        return wait
    for k in range(p.instructions.operand_count[i]):
        range_ = operand_range(p, p.instructions.operand_first[i] + k)
        for r in range(range_.first, min(range_.end, <uint32_t>m0)):
            if s.mask[r] & 2:
                wait &= _wait_for(depctr_sa_sdst)
            if s.then_written_by_salu[r] != long_ago and s.salu - s.then_written_by_salu[r] < salu_expiry:
                wait &= _wait_for(depctr_sa_sdst)
            if valu and s.then_written_by_valu[r]:
                wait &= _wait_for(depctr_va_vcc if _is_vcc(r) else depctr_va_sdst)
    return wait


cdef bint _wmma_hazard(const ProgramData *p, const State *s, InstructionId i) noexcept nogil:
    cdef uint32_t k
    cdef Range r
    if not s.wmma or not _hazards(p, i) & hazard_wave_matrix:
        return False
    for k in range(min(2, <uint32_t>p.instructions.operand_count[i])):
        r = operand_range(p, p.instructions.operand_first[i] + k)
        if r.first < s.wmma_end and s.wmma_first < r.end:
            return True
    return False


# ----------------------------------------------------------------------------------------------------------------- updates
cdef void _drain_va_vdst(State *s) noexcept nogil:
    """All vector results have arrived."""
    cdef uint32_t word
    cdef uint32_t k
    cdef uint64_t known
    s.last_trans = s.last_use = long_ago
    for word in range(4):
        known = s.known[word]
        s.known[word] = 0
        while known:
            k = word * 64 + trailing_zeros64(known)
            known &= known - 1
            if s.memory[k]:
                s.known[word] |= <uint64_t>1 << (k & 63)
                s.touched[k] = s.written[k] = s.trans_written[k] = s.trans_order[k] = long_ago
                s.merged[k] = 0


cdef void _drain_memory(State *s, uint8_t bits) noexcept nogil:
    cdef uint32_t k
    if not s.memory_open & bits:
        return
    s.memory_open &= ~bits
    for k in range(s.words):
        _set_word(s.memory, k, _word(s.memory, k) & ~(bits * <uint64_t>0x0101010101010101))


cdef void _take_from_masks(State *s, uint8_t bit) noexcept nogil:
    cdef uint32_t k
    if not s.mask_open & bit:
        return
    s.mask_open &= ~bit
    for k in range(16):
        _set_word(s.mask, k, _word(s.mask, k) & ~(bit * <uint64_t>0x0101010101010101))


cdef void _drain_sa_sdst(State *s) noexcept nogil:
    _take_from_masks(s, 2)
    if s.mask_open & 8:
        memset(s.then_written_by_salu, 0, sizeof(s.then_written_by_salu))
        s.mask_open &= ~8


cdef void _drain(State *s, uint32_t immediate) noexcept nogil:
    """What a wait for dependency counters settles."""
    cdef uint32_t k
    if depctr_get(immediate, depctr_va_vdst) == 0:
        _drain_va_vdst(s)
    if depctr_get(immediate, depctr_vm_vsrc) == 0:
        _drain_memory(s, memory_use_any)
    if depctr_get(immediate, depctr_sa_sdst) == 0:
        _drain_sa_sdst(s)
    cdef bint vcc = depctr_get(immediate, depctr_va_vcc) == 0
    cdef bint sdst = depctr_get(immediate, depctr_va_sdst) == 0
    for k in range(128 if s.mask_open & 4 and (vcc or sdst) else 0):
        if vcc if _is_vcc(k) else sdst:
            s.then_written_by_valu[k] = 0


cdef void _after_exec_write(State *s) noexcept nogil:
    """Count a write of exec for each VGPR, up to `most_epochs`: bytes that have not got its bit."""
    cdef uint32_t k
    cdef uint64_t low, high
    for k in range(s.words):
        low, high = _word(s.epoch_low, k), _word(s.epoch_high, k)
        _set_word(s.epoch_low, k, low + (~low >> 5 & <uint64_t>0x0101010101010101))
        _set_word(s.epoch_high, k, high + (~high >> 5 & <uint64_t>0x0101010101010101))


cdef void _note_valu_write(State *s, uint32_t v, bint trans) noexcept nogil:
    _know(s, v)
    s.touched[v] = s.written[v] = s.valu
    s.epoch_low[v] = s.epoch_high[v] = 0
    s.merged[v] = 0
    s.trans_written[v] = s.valu if trans else long_ago
    s.trans_order[v] = s.trans if trans else long_ago


cdef void _forget_masks(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    """Reading any SGPR but exec, or a literal, waits for the scalar unit's earlier reads."""
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t k
    cdef Range range_
    if not s.mask_open & 1:
        return
    for k in range(p.instructions.operand_count[i]):
        range_ = operand_range(p, first + k)
        if operand_is_literal(operand_at(p, first + k)) or (range_.end > range_.first and range_.first < register_exec >> 2):
            _take_from_masks(s, 1)
            return


cdef void _note_scalar_sources(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    """GFX12: SGPRs that a vector instruction reads."""
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t k
    cdef uint32_t r
    cdef Range range_
    for k in range(p.instructions.operand_count[i]):
        range_ = operand_range(p, first + k)
        for r in range(range_.first, min(range_.end, <uint32_t>m0)):
            s.read_by_valu[r >> 1] = 1


cdef void _note_lane_mask(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    """Before GFX12: the SGPRs that a vector instruction reads as a lane mask."""
    cdef uint32_t count = p.instructions.operand_count[i]
    cdef Range range_
    if not _hazards(p, i) & hazard_lane_mask_read or count == 0:
        return
    range_ = operand_range(p, p.instructions.operand_first[i] + count - 1)
    if range_.end > range_.first and range_.first < <uint32_t>m0:
        s.mask[range_.first] |= 1
        s.mask[range_.first + 1] |= 1
        s.mask_open |= 1


cdef void _note_valu(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    cdef RowRange definitions
    cdef RowRange operands
    cdef uint32_t row
    cdef uint32_t v
    cdef Range r
    cdef uint32_t hazards = _hazards(p, i)
    cdef bint trans = hazards & hazard_transcendental
    s.valu += 1
    if trans:
        s.trans += 1
        s.last_trans = s.valu
    operands = operands_of(p, i)
    for row in range(operands.first, operands.first + operands.count):
        r = operand_range(p, row)
        if r.first >= 256:
            s.last_use = s.valu
            for v in range(r.first - 256, r.end - 256):
                _know(s, v)
                s.touched[v] = s.valu
    if p.gfx_level >= gfx12:                                # the same instruction may write what it reads
        _note_scalar_sources(p, s, i)
    elif s.masks:
        _forget_masks(p, s, i)
    definitions = definitions_of(p, i)
    for row in range(definitions.first, definitions.first + definitions.count):
        r = definition_range(p, row)
        if r.first >= 256:
            s.last_use = s.valu
            for v in range(r.first - 256, r.end - 256):
                _note_valu_write(s, v, trans)
        elif p.gfx_level >= gfx12:
            for v in range(r.first, min(r.end, <uint32_t>m0)):
                s.then_written_by_valu[v] = s.read_by_valu[v >> 1]
                s.mask_open |= 4
                s.then_written_by_salu[v] = long_ago
        elif s.masks:
            for v in range(r.first, min(r.end, <uint32_t>m0)):
                s.then_written_by_valu[v] |= s.mask[v] & 1
                s.mask_open |= 4
    if s.masks:
        _note_lane_mask(p, s, i)
    s.wmma = hazards & hazard_wave_matrix
    if s.wmma:
        r = definition_range(p, p.instructions.definition_first[i])
        s.wmma_first = r.first
        s.wmma_end = r.end
    if p.instructions.format[i] & format_vopc and _writes_exec(p, i):
        s.vcmpx = True
    elif p.instructions.opcode[i] != op_v_nop:
        s.vcmpx = False


cdef void _note_scalar_waits(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    """GFX12: the scalar ALU waits for the vector ALU's writes of the SGPRs that it reads."""
    cdef OperandRow first = p.instructions.operand_first[i]
    cdef uint32_t k
    cdef uint32_t v
    cdef Range r
    for k in range(p.instructions.operand_count[i]):
        r = operand_range(p, first + k)
        for v in range(r.first, min(r.end, <uint32_t>m0)):
            s.then_written_by_valu[v] = 0


cdef void _note_salu(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    cdef RowRange definitions
    cdef DefinitionRow row
    cdef uint32_t k
    cdef Range r
    s.salu += 1
    if p.gfx_level >= gfx12:
        _note_scalar_waits(p, s, i)
    definitions = definitions_of(p, i)
    for row in range(definitions.first, definitions.first + definitions.count):
        r = definition_range(p, row)
        for k in range(r.first, min(r.end, <uint32_t>m0)):
            if s.mask[k] & 1:
                s.mask[k] |= 2
                s.mask_open |= 2
            if p.gfx_level >= gfx12:
                s.then_written_by_salu[k] = s.salu if s.read_by_valu[k >> 1] else long_ago
                s.mask_open |= 8
                s.then_written_by_valu[k] = 0
    if s.masks and _writes_exec(p, i):
        _after_exec_write(s)


cdef void _touch_memory(const ProgramData *p, State *s, InstructionId i, uint8_t bits) noexcept nogil:
    cdef RowRange definitions
    cdef RowRange operands
    cdef uint32_t row
    cdef uint32_t k
    cdef Range r
    s.memory_open |= bits
    definitions = definitions_of(p, i)
    for row in range(definitions.first, definitions.first + definitions.count):
        r = definition_range(p, row)
        if r.first >= 256:
            for k in range(r.first - 256, r.end - 256):
                _know(s, k)
                s.memory[k] |= bits
    operands = operands_of(p, i)
    for row in range(operands.first, operands.first + operands.count):
        r = operand_range(p, row)
        if r.first >= 256:
            for k in range(r.first - 256, r.end - 256):
                _know(s, k)
                s.memory[k] |= bits


cdef void _note_waits(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    """Waits for memory also free the registers that the operations read."""
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t value = p.instructions.immediate[i]
    cdef uint8_t bits = 0
    if opcode == op_s_waitcnt and p.gfx_level < gfx12:
        bits |= memory_use_load if waitcnt_get(value, p.gfx_level, waitcnt_vmcnt) == 0 else 0
        bits |= memory_use_lds if waitcnt_get(value, p.gfx_level, waitcnt_lgkmcnt) == 0 else 0
    elif opcode == op_s_waitcnt_vscnt or opcode == op_s_wait_storecnt:
        bits = memory_use_store if value == 0 else 0
    elif opcode == op_s_wait_loadcnt:
        bits = memory_use_load if value == 0 else 0
    elif opcode == op_s_wait_samplecnt:
        bits = memory_use_sampler if value == 0 else 0
    elif opcode == op_s_wait_bvhcnt:
        bits = memory_use_bvh if value == 0 else 0
    elif opcode == op_s_wait_dscnt:
        bits = memory_use_lds if value == 0 else 0
    elif opcode == op_s_wait_loadcnt_dscnt or opcode == op_s_wait_storecnt_dscnt:
        bits = memory_use_lds if (value & 63) == 0 else 0
        if value >> 8 == 0:
            bits |= memory_use_load if opcode == op_s_wait_loadcnt_dscnt else memory_use_store
    if bits:
        _drain_memory(s, bits)


cdef uint8_t _memory_use(const ProgramData *p, InstructionId i) noexcept nogil:
    """How the registers of a vector memory operation are in use until it is done."""
    cdef uint8_t type = memory_type(p, i)
    if p.instructions.definition_count[i] == 0:
        return memory_use_store
    if p.gfx_level >= gfx12 and type == memory_sampler:
        return memory_use_sampler
    return memory_use_bvh if p.gfx_level >= gfx12 and type == memory_bvh else memory_use_load


cdef void _note(const ProgramData *p, State *s, InstructionId i) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    cdef bint vmem = format_is_vmem(format) or format_is_flat_like(format)
    if _va_vdst(p, i) == 0:
        _drain_va_vdst(s)
    if p.gfx_level >= gfx12 and (format == format_smem or format_is_vmem(format)):
        _drain(s, sgpr_writes)
    if p.instructions.opcode[i] == op_s_waitcnt_depctr:
        _drain(s, p.instructions.immediate[i])
    elif format == format_sopp or p.instructions.opcode[i] == op_s_waitcnt_vscnt:
        _note_waits(p, s, i)
    elif format_is_valu(format):
        _note_valu(p, s, i)
    elif format_is_salu(format):
        _note_salu(p, s, i)
    if vmem:
        _touch_memory(p, s, i, _memory_use(p, i))
    if format == format_ds or format == format_flat:
        _touch_memory(p, s, i, memory_use_lds)
    if format_is_valu(format) or format == format_exp:
        _drain_memory(s, memory_use_any)


# ------------------------------------------------------------------------------------------------------------------ blocks
cdef int _wait(Context *c, State *s, uint32_t immediate) except -1 nogil:
    if immediate == all_counters:
        return 0
    if c.rewriting:
        emit_0(&c.rewrite, op_s_waitcnt_depctr, immediate)
    _drain(s, immediate)
    return 0


cdef int _nop(Context *c, State *s) except -1 nogil:
    if c.rewriting:
        emit_0(&c.rewrite, op_v_nop, 0)
    s.valu += 1
    s.vcmpx = s.wmma = False
    _drain_memory(s, memory_use_any)
    return 0


cdef int _lds_direct(Context *c, State *s, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint32_t count = _lds_direct_wait(p, s, i)
    cdef Range r = definition_range(p, p.instructions.definition_first[i])
    cdef bint memory = r.first >= 256 and _is_known(s, r.first - 256) and s.memory[r.first - 256] != 0
    if c.rewriting and count < modifier_wait_vdst(p.instructions.modifiers[i]):
        p.instructions.modifiers[i] = modifier_set_wait_vdst(p.instructions.modifiers[i], count)
    if count == 0:
        _drain_va_vdst(s)
    if not memory:
        return 0
    if p.gfx_level < gfx12:
        return _wait(c, s, _wait_for(depctr_vm_vsrc))
    if c.rewriting:
        p.instructions.modifiers[i] = modifier_set_wait_vsrc(p.instructions.modifiers[i], 0)
    _drain_memory(s, memory_use_any)
    return 0


cdef int _resolve_all(Context *c, State *s) except -1 nogil:
    """Nothing is known of what follows."""
    cdef ProgramData *p = c.p
    cdef uint32_t wait = all_counters
    cdef uint32_t k
    if s.vcmpx or s.wmma:
        _nop(c, s)
    if s.last_use != long_ago:
        wait &= _wait_for(depctr_va_vdst)
    for k in range(128):
        if s.mask[k]:
            wait &= _wait_for(depctr_sa_sdst)
        if p.gfx_level < gfx12 and s.then_written_by_valu[k]:
            wait &= _wait_for(depctr_va_vcc if _is_vcc(k) else depctr_va_sdst)
        if p.gfx_level >= gfx12 and s.read_by_valu[k >> 1]:
            wait &= _wait_for(depctr_sa_sdst) & _wait_for(depctr_va_sdst) & _wait_for(depctr_va_vcc)
    for k in range(8 * s.words):
        if _is_known(s, k) and s.memory[k]:
            wait &= _wait_for(depctr_vm_vsrc)
    _wait(c, s, wait)
    _clear(c, s)
    return 0


cdef int _check(Context *c, State *s, InstructionId i) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef uint16_t format = p.instructions.format[i]
    cdef bint valu = format_is_valu(format)
    cdef uint32_t wait = all_counters
    if p.instructions.opcode[i] == op_s_setpc_b64:
        return _resolve_all(c, s)
    if format == format_ldsdir:
        return _lds_direct(c, s, i)
    if not valu and not format_is_salu(format):
        return 0
    if valu and ((s.vcmpx and _hazards(p, i) & hazard_permlane) or _wmma_hazard(p, s, i)):
        _nop(c, s)
    if valu and p.gfx_level == gfx11 and _trans_use(p, s, i):
        wait &= _wait_for(depctr_va_vdst)
    if valu and s.masks and _partial_forwarding(p, s, i):
        wait &= _wait_for(depctr_va_vdst)
    wait &= _mask_write(p, s, i)
    return _wait(c, s, wait)


cdef int _block(Context *c, BlockId block, State *s) except -1 nogil:
    cdef ProgramData *p = c.p
    cdef OrderRow first = p.blocks.order_first[block]
    cdef uint32_t k
    cdef InstructionId i
    cdef bint after_nop = False       # what s_nop stands in front of needs it there (MSG_DEALLOC_VGPRS), and all has been waited for
    for k in range(p.blocks.order_count[block]):
        i = p.order.instruction[first + k]
        if c.force and not after_nop:
            _wait(c, s, 0)
        _check(c, s, i)
        if c.rewriting:
            rewrite_emit(&c.rewrite, i)
        _note(p, s, i)
        after_nop = p.instructions.opcode[i] == op_s_nop
    if ends_without_leaving(p, block):
        _resolve_all(c, s)
    return 0


include "forward_rewrite.pxi"


cdef int hazards_gfx11_run(ProgramData *p, bint previous_part, bint force) except -1 nogil:
    cdef Context c
    c.logical_edges = False
    c.force = force
    c.masks = p.gfx_level < gfx12 and p.wave_size == 64
    c.previous_part = previous_part
    return solve_and_rewrite(&c, p)
