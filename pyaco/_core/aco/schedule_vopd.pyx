"""Pairing of vector instructions for dual issue (VOPD, GFX11 and later, wave32).

Needs machine instructions with registers. In each block, an instruction that VOPD can express looks up to 16 instructions ahead for
a partner that may move up to it: nothing in between writes what the partner reads, or touches what it writes. Instructions
that change exec or the mode, branches and messages end the search.

What hardware asks of a pair: one destination is even, the other odd; first sources in different banks of VGPRs (register modulo
4), second sources too, addends in different ones of two (register modulo 2); one common literal; at most two scalar values in
all; no modifiers. Operands are commuted, a move becomes an addition of zero or a bit reversal a move where that makes a pair possible.

Source: AMD "RDNA 3" ISA document, section on dual issue (VOPD).
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from isa_opcodes cimport *
from modifiers cimport modifier_set_vopd_opcode_y
from pyaco._core.ir.pass_runner cimport native_kernel
from pyaco._core.ir.program cimport *


cdef enum:
    window = 16
    side_both = 0
    side_y = 1                        # add_nc, lshlrev and and: second half only


cdef struct Half:
    uint16_t opcode                   # v_dual_*, op_invalid: not expressible
    uint8_t side
    uint8_t count
    bint commutes
    Definition definition
    Operand operands[3]


cdef struct Registers:                # a bit per dword register
    uint64_t bits[8]


cdef inline void _mark(Registers *r, uint32_t address, uint32_t size) noexcept nogil:
    cdef uint32_t k
    for k in range(address >> 2, (address + size + 3) >> 2):
        if k < 512:
            r.bits[k >> 6] |= <uint64_t>1 << (k & 63)


cdef inline bint _overlap(const Registers *a, const Registers *b) noexcept nogil:
    cdef uint32_t k
    for k in range(8):
        if a.bits[k] & b.bits[k]:
            return True
    return False


cdef void _collect(const ProgramData *p, InstructionId i, Registers *reads, Registers *writes) noexcept nogil:
    cdef uint32_t k
    cdef uint32_t row
    for k in range(p.instructions.operand_count[i]):
        row = p.instructions.operand_first[i] + k
        if not p.operands.flags[row] & (operand_constant | operand_undef):
            _mark(reads, p.operands.reg[row], class_bytes(p.operands.register_class[row]))
    for k in range(p.instructions.definition_count[i]):
        row = p.instructions.definition_first[i] + k
        _mark(writes, p.definitions.reg[row], class_bytes(p.definitions.register_class[row]))


cdef uint16_t _dual_opcode(uint16_t opcode, uint8_t *side, bint *commutes) noexcept nogil:
    side[0] = side_both
    commutes[0] = False
    if opcode == op_v_mov_b32:
        return op_v_dual_mov_b32
    if opcode == op_v_cndmask_b32:
        return op_v_dual_cndmask_b32
    if opcode == op_v_fmamk_f32:
        return op_v_dual_fmamk_f32
    if opcode == op_v_lshlrev_b32:
        side[0] = side_y
        return op_v_dual_lshlrev_b32
    commutes[0] = True
    if opcode == op_v_fmac_f32:
        return op_v_dual_fmac_f32
    if opcode == op_v_fmaak_f32:
        return op_v_dual_fmaak_f32
    if opcode == op_v_mul_f32:
        return op_v_dual_mul_f32
    if opcode == op_v_add_f32:
        return op_v_dual_add_f32
    if opcode == op_v_sub_f32:
        return op_v_dual_sub_f32
    if opcode == op_v_subrev_f32:
        return op_v_dual_subrev_f32
    if opcode == op_v_mul_legacy_f32:
        return op_v_dual_mul_dx9_zero_f32
    if opcode == op_v_max_f32:
        return op_v_dual_max_f32
    if opcode == op_v_min_f32:
        return op_v_dual_min_f32
    side[0] = side_y
    if opcode == op_v_add_u32:
        return op_v_dual_add_nc_u32
    if opcode == op_v_and_b32:
        return op_v_dual_and_b32
    return op_invalid


cdef uint32_t _reversed(uint32_t value) noexcept nogil:
    cdef uint32_t result = 0
    cdef uint32_t k
    for k in range(32):
        result |= ((value >> k) & 1) << (31 - k)
    return result


cdef inline bint _is_vgpr(const Operand *o) noexcept nogil:
    return not o.flags & operand_constant and o.reg >= register_vgpr0


cdef uint16_t _multiply_add_with_literal(const ProgramData *p, InstructionId i, Operand *operands) noexcept nogil:
    """The short opcode of a multiply-add with a constant, which a pair has room for, and its operands; op_invalid: there is none."""
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef uint32_t constant = 0
    if p.instructions.opcode[i] != op_v_fma_f32 or p.instructions.format[i] != format_vop3:
        return op_invalid
    while constant < 3 and not p.operands.flags[row + constant] & operand_constant:
        constant += 1
    if constant == 3:
        return op_invalid
    operands[0] = operand_at(p, row + (1 if constant == 0 else 0))
    operands[1] = operand_at(p, row + (1 if constant == 2 else 2))
    operands[2] = operand_literal32(<uint32_t>operand_constant_value(operand_at(p, row + constant)))
    if constant == 2 and not _is_vgpr(&operands[1]):
        operands[0] = operand_at(p, row + 1)
        operands[1] = operand_at(p, row)
    return op_v_fmaak_f32 if constant == 2 else op_v_fmamk_f32


cdef Half _half(const ProgramData *p, InstructionId i) noexcept nogil:
    """The instruction as one half of a pair."""
    cdef Half h
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef OperandRow row = p.instructions.operand_first[i]
    cdef uint32_t k
    h.opcode = op_invalid
    if p.instructions.modifiers[i] or p.instructions.definition_count[i] != 1:
        return h
    if format == format_vop3:
        opcode = _multiply_add_with_literal(p, i, h.operands)
        if opcode == op_invalid:
            return h
    elif format != format_vop1 and format != format_vop2:
        return h
    h.count = <uint8_t>p.instructions.operand_count[i]
    if h.count == 0 or h.count > 3:
        return h
    if format != format_vop3:
        for k in range(h.count):
            h.operands[k] = operand_at(p, row + k)
    h.definition = definition_at(p, p.instructions.definition_first[i])
    if opcode == op_v_bfrev_b32 and h.operands[0].flags & operand_constant:
        h.operands[0] = operand_c32(_reversed(h.operands[0].data))
        opcode = op_v_mov_b32
    h.opcode = _dual_opcode(opcode, &h.side, &h.commutes)
    if h.definition.register_class != class_v1 or h.definition.reg & 3:
        h.opcode = op_invalid
    for k in range(h.count):
        if class_is_subdword(h.operands[k].register_class) and not h.operands[k].flags & operand_constant \
                or h.operands[k].flags & operand_undef:
            h.opcode = op_invalid
    if opcode == op_v_cndmask_b32 and h.operands[2].reg != register_vcc:
        h.opcode = op_invalid
    if h.count > 1 and (h.operands[1].flags & operand_constant or h.operands[1].reg < register_vgpr0):
        h.opcode = op_invalid
    return h


cdef bint _swap(Half *h) noexcept nogil:
    """Exchange the first two sources; False where the instruction does not allow it."""
    cdef Operand o
    if not h.commutes or not _is_vgpr(&h.operands[0]):
        return False
    o = h.operands[0]
    h.operands[0] = h.operands[1]
    h.operands[1] = o
    if h.opcode == op_v_dual_sub_f32:
        h.opcode = op_v_dual_subrev_f32
    elif h.opcode == op_v_dual_subrev_f32:
        h.opcode = op_v_dual_sub_f32
    return True


cdef bint _move_to_addition(Half *h) noexcept nogil:
    """0 + x reads x as the second source."""
    if h.opcode != op_v_dual_mov_b32 or not _is_vgpr(&h.operands[0]):
        return False
    h.operands[1] = h.operands[0]
    h.operands[0] = operand_c32(0)
    h.count = 2
    h.opcode = op_v_dual_add_nc_u32
    h.side = side_y
    return True


cdef bint _add_scalar(uint32_t *scalars, uint32_t *count, uint32_t key) noexcept nogil:
    cdef uint32_t k
    for k in range(count[0]):
        if scalars[k] == key:
            return True
    if count[0] == 2:
        return False
    scalars[count[0]] = key
    count[0] += 1
    return True


cdef bint _literal_of(const Half *h, uint32_t *value) noexcept nogil:
    if h.opcode == op_v_dual_fmaak_f32 or h.opcode == op_v_dual_fmamk_f32:
        value[0] = h.operands[2].data
        return True
    value[0] = h.operands[0].data
    return operand_is_literal(h.operands[0])


cdef bint _scalars_fit(const Half *x, const Half *y) noexcept nogil:
    """At most two scalar values (SGPRs, VCC, the literal), and one literal."""
    cdef uint32_t[2] scalars
    cdef uint32_t count = 0
    cdef const Half *h
    cdef uint32_t value = 0
    cdef uint32_t literal = 0
    cdef bint has_literal = False
    cdef int k
    for k in range(2):
        h = x if k == 0 else y
        if _literal_of(h, &value):
            if has_literal and literal != value:
                return False
            literal = value
            has_literal = True
            if not _add_scalar(scalars, &count, 0xffffffffU):
                return False
            if operand_is_literal(h.operands[0]) and h.operands[0].data != literal:
                return False
        if not h.operands[0].flags & operand_constant and h.operands[0].reg < register_vgpr0 \
                and not _add_scalar(scalars, &count, h.operands[0].reg):
            return False
        if h.opcode == op_v_dual_cndmask_b32 and not _add_scalar(scalars, &count, register_vcc):
            return False
    return True


cdef inline int32_t _second_source(const Half *h) noexcept nogil:
    """The register that is read as the second source; -1: none."""
    return h.operands[1].reg if h.count > 1 and h.opcode != op_v_dual_fmamk_f32 else -1


cdef inline int32_t _addend(const Half *h) noexcept nogil:
    """The register that is read as the third source, of v_fmac and dot products the destination; -1: none."""
    if h.opcode == op_v_dual_fmamk_f32:
        return h.operands[1].reg
    return h.operands[2].reg if h.count == 3 and _is_vgpr(&h.operands[2]) else -1


cdef inline bint _differ(int32_t x, int32_t y, int32_t bank) noexcept nogil:
    """Whether registers lie in different banks, if both halves read one."""
    return x < 0 or y < 0 or ((x ^ y) & bank) != 0


cdef bint _compatible(const Half *x, const Half *y) noexcept nogil:
    if x.side == side_y and y.side == side_y:
        return False
    if not ((x.definition.reg ^ y.definition.reg) & 4):
        return False
    if _is_vgpr(&x.operands[0]) and _is_vgpr(&y.operands[0]) and not ((x.operands[0].reg ^ y.operands[0].reg) & 12):
        return False
    if not _differ(_second_source(x), _second_source(y), 12) or not _differ(_addend(x), _addend(y), 4):
        return False
    return _scalars_fit(x, y)


cdef bint _pair(Half *x, Half *y) noexcept nogil:
    """Make two halves fit, if need be by exchanging sources or by other opcodes."""
    cdef Half a
    cdef Half b
    cdef int k
    cdef int j
    for k in range(3):
        a = x[0]
        if k == 1 and not _swap(&a) or k == 2 and not _move_to_addition(&a):
            continue
        for j in range(3):
            b = y[0]
            if j == 1 and not _swap(&b) or j == 2 and not _move_to_addition(&b):
                continue
            if _compatible(&a, &b):
                x[0] = a
                y[0] = b
                return True
    return False


cdef bint _ends_search(const ProgramData *p, InstructionId i) noexcept nogil:
    cdef uint16_t format = p.instructions.format[i]
    cdef uint16_t opcode = p.instructions.opcode[i]
    cdef uint32_t k
    cdef uint16_t reg
    if format == format_sopp or format == format_pseudo_branch or format == format_pseudo or format == format_exp:
        return True
    if opcode == op_s_setreg_b32 or opcode == op_s_setreg_imm32_b32 or opcode == op_v_nop:
        return True
    for k in range(p.instructions.definition_count[i]):
        reg = p.definitions.reg[p.instructions.definition_first[i] + k]
        if reg == register_exec or reg == register_exec_hi:
            return True
    return False


cdef uint32_t _partner(ProgramData *p, const uint32_t *order, uint32_t count, uint32_t at, Half *first, Half *second,
                       const uint8_t *taken) noexcept nogil:
    """Position of an instruction that can be issued with the one at `at`, or 0."""
    cdef Registers between_reads
    cdef Registers between_writes
    cdef Registers reads
    cdef Registers writes
    cdef Registers own_reads
    cdef Registers own_writes
    cdef Half tried
    cdef uint32_t j
    cdef uint32_t k
    cdef InstructionId i
    for k in range(8):
        between_reads.bits[k] = 0
        between_writes.bits[k] = 0
        own_reads.bits[k] = 0
        own_writes.bits[k] = 0
    _collect(p, order[at], &own_reads, &own_writes)
    j = at + 1
    while j < count and j <= at + window:
        if taken[j]:
            j += 1
            continue
        i = order[j]
        if _ends_search(p, i):
            return 0
        for k in range(8):
            reads.bits[k] = 0
            writes.bits[k] = 0
        _collect(p, i, &reads, &writes)
        second[0] = _half(p, i)
        if second.opcode != op_invalid and not _overlap(&reads, &own_writes) and not _overlap(&writes, &own_writes) \
                and not _overlap(&reads, &between_writes) and not _overlap(&writes, &between_writes) \
                and not _overlap(&writes, &between_reads):
            tried = first[0]
            if _pair(&tried, second):
                first[0] = tried
                return j
        for k in range(8):
            between_reads.bits[k] |= reads.bits[k]
            between_writes.bits[k] |= writes.bits[k]
        j += 1
    return 0


cdef InstructionId _make(ProgramData *p, const Half *x, const Half *y) except 0 nogil:
    cdef Definition[2] d
    cdef Operand[6] o
    cdef uint32_t count = 0
    cdef uint32_t k
    cdef InstructionId i
    d[0] = x.definition
    d[1] = y.definition
    for k in range(x.count):
        o[count] = x.operands[k]
        count += 1
    for k in range(y.count):
        o[count] = y.operands[k]
        count += 1
    i = instruction_make(p, x.opcode, format_vopd, d, 2, o, count)
    p.instructions.modifiers[i] = modifier_set_vopd_opcode_y(0, y.opcode)
    return i


cdef int _block(ProgramData *p, Rewrite *out, const uint32_t *order, uint32_t count, vector[uint8_t] *taken) except -1 nogil:
    cdef uint32_t k
    cdef uint32_t j
    cdef Half first
    cdef Half second
    taken.assign(count + 1, 0)
    for k in range(count):
        if taken[0][k]:
            continue
        first = _half(p, order[k])
        j = 0
        if first.opcode != op_invalid:
            j = _partner(p, order, count, k, &first, &second, taken.data())
        if j == 0:
            rewrite_emit(out, order[k])
            continue
        taken[0][j] = 1
        if first.side == side_y:
            rewrite_emit(out, _make(p, &second, &first))
        else:
            rewrite_emit(out, _make(p, &first, &second))
    return 0


cdef int _schedule(ProgramData *p, vector[uint32_t] *order, vector[uint8_t] *taken) except -1 nogil:
    cdef Rewrite out
    cdef BlockId b
    cdef uint32_t k
    rewrite_begin(&out, p)
    for b in range(p.blocks.table.count):
        rewrite_block(&out, b)
        order.clear()
        for k in range(p.blocks.order_count[b]):
            order.push_back(p.order.instruction[p.blocks.order_first[b] + k])
        _block(p, &out, order.data(), <uint32_t>order.size(), taken)
    return rewrite_end(&out)


cdef int schedule_vopd_run(ProgramData *p) except -1 nogil:
    cdef vector[uint32_t] order
    cdef vector[uint8_t] taken
    if p.gfx_level < gfx11 or p.wave_size != 32:
        return 0
    return _schedule(p, &order, &taken)


cdef int _kernel(void *ir, int option) except -1 nogil:
    schedule_vopd_run(<ProgramData *>ir)
    return 1


kernel = native_kernel(_kernel)


def run(Program program not None, options=None):
    """Pair instructions for dual issue. Returns True."""
    with nogil:
        _kernel(&program.data, 0)
    return True
