"""Parallel copies to machine instructions.

Data structure. One ``Target`` per dword register that is written; for each of its bytes where it comes from (a byte address, or a
constant), and how many pending bytes read it. A byte that nobody reads any more may be overwritten.

Phases. (1) Every target none of whose pending bytes is read by another target is written at once, in as few instructions as its
sources allow; that frees its sources, which may make them ready. (2) When none is left, bytes of a target that are ready by
themselves are written alone. (3) When no byte is ready either, every pending byte is read exactly once by another pending byte:
only cycles are left. A swap puts one piece into place; its readers now find it where the swap left it.

Near-linear: each byte is written once, each write looks at one target.

Instructions: s_mov, v_mov; v_lshrrev_b64 for two VGPRs (GFX10); v_perm_b32 with a literal selector (GFX10+), v_mov_b16 (GFX11+),
v_pack_b32_f16 (GFX9+), SDWA (GFX8 to GFX10), v_alignbyte, shifts, masks. Before GFX8 bytes come in by v_alignbyte alone, and what is not
written of a register is lost. Swaps: v_swap_b32; SGPRs by a scratch register, else by three exclusive-ors that cost SCC; halves by SDWA
exclusive-ors, from GFX11 on by adding and subtracting, before GFX8 the whole registers; linear VGPRs once under exec and once under its complement.

Sources: the "Vega", "RDNA 1" to "RDNA 4" ISA documents; the worklist follows Boissinot et al., "Revisiting Out-of-SSA Translation".
"""
from libc.stdint cimport int16_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from isa_opcodes cimport *
from modifiers cimport modifier_set_opsel, modifier_set_sdwa_dst_sel, modifier_set_sdwa_sel0, modifier_set_sdwa_sel1
from pyaco._core.aco.build cimport *
from pyaco._core.aco.inline_constants cimport is_missing_constant
from pyaco._core.ir.program cimport *

from pyaco.errors import PyacoError, UnsupportedError


cdef enum:
    no_source = 0xffff


cdef void solver_init(CopySolver *s, Rewrite *out) noexcept nogil:
    s.out = out
    s.p = out.program
    s.targets.clear()
    memset(s.target_of, 0xff, sizeof(s.target_of))    # -1


cdef inline bint _is_vgpr(uint32_t reg) noexcept nogil:
    return reg >= 256


# ----------------------------------------------------------------------------------------------------------------- input
cdef int solver_add(CopySolver *s, uint32_t to, bint linear, Operand o, uint32_t offset, uint32_t size) except -1 nogil:
    cdef uint64_t value = 0
    cdef uint32_t k
    cdef uint32_t reg
    cdef uint32_t b
    cdef Target fresh
    cdef Target *t
    if o.flags & operand_undef:
        return 0
    if o.flags & operand_constant:
        value = operand_constant_value(o)
        value >>= 8 * offset
    for k in range(size):
        reg = (to + k) >> 2
        b = (to + k) & 3
        if not o.flags & operand_constant and o.reg + offset + k == to + k:
            continue
        if s.target_of[reg] < 0:
            memset(&fresh, 0, sizeof(Target))
            fresh.reg = <uint16_t>reg
            fresh.linear = linear
            s.target_of[reg] = <int16_t>s.targets.size()
            s.targets.push_back(fresh)
        t = &s.targets[s.target_of[reg]]
        t.pending |= 1 << b
        if o.flags & operand_constant:
            t.constant |= 1 << b
            t.source[b] = no_source
            t.value[b] = <uint8_t>(value >> (8 * k))
        else:
            t.source[b] = <uint16_t>(o.reg + offset + k)
    return 0


cdef void _count_uses(CopySolver *s) noexcept nogil:
    cdef size_t i
    cdef uint32_t b
    cdef Target *t
    cdef int16_t other
    for i in range(s.targets.size()):
        t = &s.targets[i]
        t.partial = t.pending != 15 or (t.constant != 0 and t.constant != 15)
        for b in range(4):
            if not (t.pending >> b) & 1 or (t.constant >> b) & 1:
                continue
            if t.constant == 0 and t.source[b] != (t.source[0] & ~3) + b:
                t.partial = 1
            other = s.target_of[t.source[b] >> 2]
            if other >= 0:
                s.targets[other].uses[t.source[b] & 3] += 1


# ---------------------------------------------------------------------------------------------------------- bookkeeping
cdef uint32_t _external_uses(CopySolver *s, Target *t) noexcept nogil:
    """Bytes that a write of a target takes away and that other targets still read: pending ones; before GFX8 all bytes of a VGPR."""
    cdef uint8_t[4] uses
    cdef uint32_t b
    cdef uint32_t lost = t.pending if s.p.gfx_level >= gfx8 or not _is_vgpr(t.reg) else 15
    cdef uint32_t mask = 0
    for b in range(4):
        uses[b] = t.uses[b]
    for b in range(4):
        if (t.pending >> b) & 1 and not (t.constant >> b) & 1 and (t.source[b] >> 2) == t.reg:
            uses[t.source[b] & 3] -= 1
    for b in range(4):
        if (lost >> b) & 1 and uses[b]:
            mask |= 1 << b
    return mask


cdef void _done(CopySolver *s, Target *t, uint32_t mask) noexcept nogil:
    """Bytes of a target are written: their sources have one reader less."""
    cdef uint32_t b
    cdef int16_t other
    for b in range(4):
        if not (mask >> b) & 1:
            continue
        if not (t.constant >> b) & 1:
            other = s.target_of[t.source[b] >> 2]
            if other >= 0:
                s.targets[other].uses[t.source[b] & 3] -= 1
                if s.targets[other].pending:
                    s.ready.push_back(<uint32_t>other)
    t.pending &= ~<uint8_t>mask
    t.constant &= ~<uint8_t>mask


# ------------------------------------------------------------------------------------------------------------- constants
cdef uint32_t _reversed(uint32_t value) noexcept nogil:
    cdef uint32_t result = 0
    cdef uint32_t k
    for k in range(32):
        result |= ((value >> k) & 1) << (31 - k)
    return result


cdef inline bint _is_inline_integer(uint32_t value) noexcept nogil:
    return value <= 64 or value >= 0xfffffff0U


cdef int emit_constant(Rewrite *out, uint16_t reg, uint32_t value) except -1 nogil:
    """The shortest instruction that loads a constant into an SGPR (file index below 256) or a VGPR; SCC survives."""
    cdef bint scalar = not _is_vgpr(reg)
    cdef uint16_t address = <uint16_t>(reg * 4)
    cdef Definition d = sgpr_definition(address) if scalar else vgpr_definition(address)
    cdef Operand o = operand_c32(value)
    cdef InstructionId i
    cdef uint32_t start = 0
    cdef uint32_t size
    if is_missing_constant(out.program.gfx_level, o):
        o = operand_literal32(value)
    if not operand_is_literal(o):
        emit_1(out, op_s_mov_b32 if scalar else op_v_mov_b32, d, o)
        return 0
    if scalar and (value <= 0x7fff or value >= 0xffff8000U):
        i = emit_any(out, op_s_movk_i32, &d, 1, NULL, 0)
        out.program.instructions.immediate[i] = value & 0xffff
        return 0
    if _is_inline_integer(_reversed(value)):
        emit_1(out, op_s_brev_b32 if scalar else op_v_bfrev_b32, d, operand_c32(_reversed(value)))
        return 0
    if scalar:
        while not (value >> start) & 1:
            start += 1
        size = 0
        while start + size < 32 and (value >> (start + size)) & 1:
            size += 1
        if size < 32 and value == ((<uint32_t>1 << size) - 1) << start:
            emit_2(out, op_s_bfm_b32, d, operand_c32(size), operand_c32(start))
            return 0
        if out.program.gfx_level >= gfx9 and _is_inline_integer(<uint32_t><int16_t>(value & 0xffff)) \
                and _is_inline_integer(<uint32_t><int16_t>(value >> 16)):
            emit_2(out, op_s_pack_ll_b32_b16, d, operand_c32(<uint32_t><int16_t>(value & 0xffff)),
                   operand_c32(<uint32_t><int16_t>(value >> 16)))
            return 0
    emit_1(out, op_s_mov_b32 if scalar else op_v_mov_b32, d, o)
    return 0


cdef uint32_t _constant_of(const Target *t) noexcept nogil:
    return t.value[0] | <uint32_t>t.value[1] << 8 | <uint32_t>t.value[2] << 16 | <uint32_t>t.value[3] << 24


cdef uint32_t _byte_mask(uint32_t bytes) noexcept nogil:
    cdef uint32_t mask = 0
    cdef uint32_t b
    for b in range(4):
        if (bytes >> b) & 1:
            mask |= <uint32_t>0xff << (8 * b)
    return mask


# --------------------------------------------------------------------------------------------------------- whole targets
cdef int _save_scc(CopySolver *s) except -1 nogil:
    if s.scratch == register_none:
        with gil:
            raise PyacoError("a parallel copy must keep SCC and has no scratch register")
    emit_1(s.out, op_s_mov_b32, sgpr_definition(s.scratch), scc_operand())
    return 0


cdef int _flip_exec(CopySolver *s) except -1 nogil:
    cdef uint8_t lane_mask = s.p.lane_mask
    emit_1d2(s.out, op_s_not_b64 if lane_mask == class_s2 else op_s_not_b32, definition_register(register_exec, lane_mask),
             scc_definition(), operand_register(register_exec, lane_mask))
    return 0


cdef int _restore_scc(CopySolver *s) except -1 nogil:
    emit_2(s.out, op_s_cmp_lg_i32, scc_definition(), sgpr_operand(s.scratch), operand_c32(0))
    return 0


cdef bint _scc_needed(CopySolver *s) noexcept nogil:
    """SCC must survive the next instruction: it is live, or one of the copies still reads it."""
    cdef size_t i
    if s.keep_scc:
        return True
    for i in range(s.targets.size()):
        if s.targets[i].pending and not s.targets[i].constant and s.targets[i].source[0] >> 2 == register_scc >> 2:
            return True
    # a copy into SCC that is already done must stay
    return s.target_of[register_scc >> 2] >= 0 and s.targets[s.target_of[register_scc >> 2]].pending == 0


cdef int _write_linear(CopySolver *s, const Target *t) except -1 nogil:
    """A linear VGPR holds data in lanes that are switched off: copy under exec and under its complement."""
    cdef bint keep = _scc_needed(s)
    if keep:
        _save_scc(s)
    for _ in range(2):
        if t.constant:
            emit_constant(s.out, t.reg, _constant_of(t))
        else:
            emit_1(s.out, op_v_mov_b32, vgpr_definition(t.reg * 4),
                   operand_register(t.source[0] & 0xfffc, class_v1 if _is_vgpr(t.source[0] >> 2) else class_s1))
        _flip_exec(s)
    if keep:
        _restore_scc(s)
    return 0


cdef bint _pairs(CopySolver *s, Target *low, Target **high) noexcept nogil:
    """Whether an even SGPR and the next one can be written by one 64-bit move."""
    cdef int16_t other
    if low.reg & 1 or low.reg > 126 or low.source[0] & 7 and not low.constant:
        return False
    other = s.target_of[low.reg + 1]
    if other < 0 or s.targets[other].pending != 15 or _external_uses(s, &s.targets[other]):
        return False
    high[0] = &s.targets[other]
    if low.constant != s.targets[other].constant:
        return False
    if low.constant:
        return operand_c64_fits(<uint64_t>_constant_of(&s.targets[other]) << 32 | _constant_of(low)) \
            and not operand_is_literal(operand_c64(<uint64_t>_constant_of(&s.targets[other]) << 32 | _constant_of(low)))
    # the first half of the move must not be what the second half reads (a swap within the pair)
    return s.targets[other].source[0] == low.source[0] + 4 and not _is_vgpr(low.source[0] >> 2)


cdef bint _vgprs_pair(CopySolver *s, uint32_t reg) noexcept nogil:
    """Whether a VGPR and the next one can be written by one shift of 64 bits by none, from VGPRs, an even SGPR pair or an inline constant."""
    cdef Target *low
    cdef Target *high
    if s.target_of[reg] < 0 or reg >= 511 or s.target_of[reg + 1] < 0:
        return False
    low = &s.targets[s.target_of[reg]]
    high = &s.targets[s.target_of[reg + 1]]
    if low.pending != 15 or high.pending != 15 or low.partial or high.partial or low.linear or high.linear or low.constant != high.constant:
        return False
    if _external_uses(s, low) or _external_uses(s, high):
        return False
    if low.constant:
        return operand_c64_fits(<uint64_t>_constant_of(high) << 32 | _constant_of(low)) \
            and not operand_is_literal(operand_c64(<uint64_t>_constant_of(high) << 32 | _constant_of(low)))
    if high.source[0] != low.source[0] + 4 or _is_vgpr(low.source[0] >> 2) != _is_vgpr(high.source[0] >> 2):
        return False
    # neither half of the result is a source of the other one
    return not low.source[0] & 7 if not _is_vgpr(low.source[0] >> 2) else low.source[0] >> 2 not in (reg - 1, reg + 1)


cdef bint _write_vgpr_pair(CopySolver *s, Target *t) except -1 nogil:
    """A VGPR with the one beside it. GFX10 takes as long for a shift of 64 bits as for two moves; earlier it is slow, later moves issue in pairs."""
    cdef uint32_t reg = t.reg
    cdef uint32_t before = 0                  # neighbours below that pair with the next one each: pairs are counted from the lowest
    cdef Target *low
    cdef Target *high
    cdef Operand o
    if not gfx10 <= s.p.gfx_level < gfx11 or t.linear:
        return False
    while before < reg - 256 and _vgprs_pair(s, reg - before - 1):
        before += 1
    if before & 1:
        reg -= 1
    elif not _vgprs_pair(s, reg):
        return False
    low = &s.targets[s.target_of[reg]]
    high = &s.targets[s.target_of[reg + 1]]
    if low.constant:
        o = operand_c64(<uint64_t>_constant_of(high) << 32 | _constant_of(low))
    else:
        o = operand_register(low.source[0], class_v2 if _is_vgpr(low.source[0] >> 2) else class_s2)
    emit_2(s.out, op_v_lshrrev_b64, definition_register(<uint16_t>(reg * 4), class_v2), operand_c32(0), o)
    _done(s, low, 15)
    _done(s, high, 15)
    return True


cdef int _write_plain(CopySolver *s, Target *t) except -1 nogil:
    """A whole register from one source; pairs where possible. Returns after marking what is done."""
    cdef Target *low = t
    cdef Target *high = NULL
    cdef Definition d
    cdef Operand o
    if t.linear:
        _write_linear(s, t)
        _done(s, t, 15)
        return 0
    if _is_vgpr(t.reg):
        if _write_vgpr_pair(s, t):
            return 0
        if t.constant:
            emit_constant(s.out, t.reg, _constant_of(t))
        else:
            o = operand_register(t.source[0], class_v1 if _is_vgpr(t.source[0] >> 2) else class_s1)
            emit_1(s.out, op_v_mov_b32, vgpr_definition(t.reg * 4), o)
        _done(s, t, 15)
        return 0
    if t.reg == register_scc >> 2:
        if t.constant:
            emit_2(s.out, op_s_cmp_lg_i32, scc_definition(), operand_c32(1 if _constant_of(t) else 0), operand_c32(0))
        else:
            emit_2(s.out, op_s_cmp_lg_i32, scc_definition(), sgpr_operand(t.source[0]), operand_c32(0))
        _done(s, t, 15)
        return 0
    if t.reg & 1 and s.target_of[t.reg - 1] >= 0:
        low = &s.targets[s.target_of[t.reg - 1]]
    if low.pending == 15 and (low == t or not _external_uses(s, low)) and _pairs(s, low, &high):
        d = definition_register(low.reg * 4, class_s2)
        if low.constant:
            o = operand_c64(<uint64_t>_constant_of(high) << 32 | _constant_of(low))
        else:
            o = operand_register(low.source[0], class_s2)
        emit_1(s.out, op_s_mov_b64, d, o)
        _done(s, low, 15)
        _done(s, high, 15)
        return 0
    if t.constant:
        emit_constant(s.out, t.reg, _constant_of(t))
    else:
        emit_1(s.out, op_s_mov_b32, sgpr_definition(t.reg * 4), sgpr_operand(t.source[0]))
    _done(s, t, 15)
    return 0


# ------------------------------------------------------------------------------------------------------ partial targets
cdef Operand _dword_operand(uint32_t reg) noexcept nogil:
    return operand_register(<uint16_t>(reg * 4), class_v1 if _is_vgpr(reg) else class_s1)


cdef int _emit_alignbyte(CopySolver *s, uint32_t reg, uint32_t high, uint32_t low, uint32_t bytes) except -1 nogil:
    emit_3(s.out, op_v_alignbyte_b32, vgpr_definition(<uint16_t>(reg * 4)), _dword_operand(high), _dword_operand(low),
           operand_c32(bytes))
    return 0


cdef bint _shifts(CopySolver *s, Target *t) except -1 nogil:
    """One source and zeros: shifts and masks. All four bytes are pending."""
    cdef uint32_t registers = 15 & ~t.constant
    cdef uint32_t b
    cdef uint32_t first = 0
    cdef uint32_t reg
    cdef uint32_t offset
    cdef Definition d = vgpr_definition(t.reg * 4)
    if t.pending != 15 or registers == 0 or t.constant == 0 or _constant_of(t):
        return False
    while not (registers >> first) & 1:
        first += 1
    reg = t.source[first] >> 2
    offset = t.source[first] & 3
    for b in range(first, 4):
        if (registers >> b) & 1:
            if b > first and (not (registers >> (b - 1)) & 1 or t.source[b] != t.source[first] + b - first):
                return False
            if t.source[b] >> 2 != reg:
                return False
    b = first
    while b < 4 and (registers >> b) & 1:
        b += 1
    if b == 4 and offset == 0:
        emit_2(s.out, op_v_lshlrev_b32, d, operand_c32(8 * first), vgpr_operand(<uint16_t>(reg * 4))) \
            if _is_vgpr(reg) else _shift_scalar(s, d, op_v_lshlrev_b32, 8 * first, reg)
        return True
    if first == 0 and offset + b == 4:
        emit_2(s.out, op_v_lshrrev_b32, d, operand_c32(8 * offset), vgpr_operand(<uint16_t>(reg * 4))) \
            if _is_vgpr(reg) else _shift_scalar(s, d, op_v_lshrrev_b32, 8 * offset, reg)
        return True
    if first == 0:
        emit_3(s.out, op_v_bfe_u32, d, _dword_operand(reg), operand_c32(8 * offset), operand_c32(8 * b))
        return True
    if first == offset and _is_vgpr(reg):
        emit_2(s.out, op_v_and_b32, d, operand_c32(_byte_mask(registers)), vgpr_operand(<uint16_t>(reg * 4)))
        return True
    return False


cdef InstructionId _shift_scalar(CopySolver *s, Definition d, uint16_t opcode, uint32_t bits, uint32_t reg) except 0 nogil:
    """The shifted operand of the two-operand encoding must be a VGPR."""
    cdef InstructionId i = emit_2(s.out, opcode, d, operand_c32(bits), _dword_operand(reg))
    s.p.instructions.format[i] |= format_vop3
    return i


cdef bint _align(CopySolver *s, Target *t) except -1 nogil:
    """All four bytes are four consecutive ones of two registers side by side."""
    cdef uint32_t k
    cdef uint32_t b
    cdef uint32_t low
    cdef uint32_t high
    cdef bint fits
    if t.pending != 15 or t.constant:
        return False
    k = t.source[0] & 3
    low = t.source[0] >> 2
    high = t.source[3] >> 2
    for b in range(4):
        fits = t.source[b] == low * 4 + k + b if b + k < 4 else t.source[b] == high * 4 + k + b - 4
        if not fits:
            return False
    if k == 0:
        emit_1(s.out, op_v_mov_b32, vgpr_definition(t.reg * 4), _dword_operand(low))
        return True
    if not _is_vgpr(low) and not _is_vgpr(high) and low != high and s.p.gfx_level < gfx10:
        return False                  # two SGPRs in one instruction
    _emit_alignbyte(s, t.reg, high, low, k)
    return True


cdef bint _permute(CopySolver *s, Target *t, uint32_t mask) except -1 nogil:
    """v_perm_b32: any bytes of two registers, 0x00 and 0xff; the selector is a literal (GFX10+)."""
    cdef uint32_t[2] sources
    cdef uint32_t count = 0
    cdef uint32_t selector = 0
    cdef uint32_t b
    cdef uint32_t k
    cdef uint32_t reg
    if s.p.gfx_level < gfx10:
        return False
    for b in range(4):
        if (t.constant >> b) & 1 and (mask >> b) & 1:
            if t.value[b] != 0 and t.value[b] != 0xff:
                return False
            selector |= (0x0c if t.value[b] == 0 else 0x0d) << (8 * b)
            continue
        reg = t.source[b] >> 2 if (mask >> b) & 1 else t.reg
        k = 0
        while k < count and sources[k] != reg:
            k += 1
        if k == count:
            if count == 2:
                return False
            sources[count] = reg
            count += 1
        # bytes 0-3 select the second source, 4-7 the first
        selector |= ((t.source[b] & 3 if (mask >> b) & 1 else b) + 4 * (1 - k)) << (8 * b)
    if count == 0:
        return False
    if count == 1:
        sources[1] = sources[0]
    elif not _is_vgpr(sources[0]) and not _is_vgpr(sources[1]):
        return False                  # two SGPRs and a literal
    emit_3(s.out, op_v_perm_b32, vgpr_definition(t.reg * 4), _dword_operand(sources[0]), _dword_operand(sources[1]),
           operand_c32(selector))
    return True


cdef uint32_t _piece(const Target *t, uint32_t b, uint32_t mask) noexcept nogil:
    """Bytes from `b` on that one move can write: an aligned half from an aligned half, or one byte."""
    if not b & 1 and (mask >> (b + 1)) & 1 and not (t.constant >> (b + 1)) & 1 and not t.source[b] & 1 \
            and t.source[b + 1] == t.source[b] + 1:
        return 2
    return 1


cdef int _turn(CopySolver *s, uint32_t reg, uint32_t bytes) except -1 nogil:
    return _emit_alignbyte(s, reg, reg, reg, bytes) if bytes & 3 else 0


cdef int _rotate_in(CopySolver *s, uint32_t reg, uint32_t b, uint32_t size, uint32_t source, uint32_t offset) except -1 nogil:
    """A half or a byte of an SGPR into part of a VGPR on GFX8, whose SDWA names VGPRs only: it is shifted in at one end of the register,
    which is turned before and after so that the part that it replaces goes out at the other."""
    if offset + size < 4 and offset:
        # A product leaves SCC alone.
        if s.scratch == register_none:
            with gil:
                raise UnsupportedError("copy of a byte of an SGPR into a part of a VGPR on GFX8: no SGPR is free")
        emit_2(s.out, op_s_mul_i32, sgpr_definition(s.scratch), _dword_operand(source), operand_c32(1U << (8 * (3 - offset))))
        source = s.scratch >> 2
        offset = 3
    if offset == 0:
        _turn(s, reg, b)
        _emit_alignbyte(s, reg, source, reg, size)
        return _turn(s, reg, 4 - size - b)
    _turn(s, reg, b + size)
    _emit_alignbyte(s, reg, reg, source, offset)
    return _turn(s, reg, 4 - b)


cdef int _move_piece(CopySolver *s, const Target *t, uint32_t b, uint32_t size) except -1 nogil:
    """Copy a half or a byte into part of a register, whose other bytes stay."""
    cdef InstructionId i
    cdef uint32_t source = t.source[b] >> 2
    cdef uint32_t offset = t.source[b] & 3
    cdef uint32_t selector = 0x07060504
    cdef uint32_t k
    if gfx11 <= s.p.gfx_level < gfx12 and size == 2 and (_is_vgpr(source) or offset == 0):
        i = emit_1(s.out, op_v_mov_b16, definition_register(<uint16_t>(t.reg * 4 + b), class_v2b),
                   operand_register(t.source[b], class_v2b if _is_vgpr(source) else class_s1))
        s.p.instructions.modifiers[i] = modifier_set_opsel(0, (8 if b else 0) | (1 if offset else 0))
        return 0
    if s.p.gfx_level >= gfx11:
        for k in range(size):
            selector = (selector & ~(<uint32_t>0xff << (8 * (b + k)))) | (offset + k) << (8 * (b + k))
        emit_3(s.out, op_v_perm_b32, vgpr_definition(t.reg * 4), _dword_operand(t.reg), _dword_operand(source),
               operand_c32(selector))
        return 0
    if s.p.gfx_level < gfx9 and not _is_vgpr(source):
        return _rotate_in(s, t.reg, b, size, source, offset)
    i = emit_1(s.out, op_v_mov_b32, definition_register(<uint16_t>(t.reg * 4 + b), class_v2b if size == 2 else class_v1b),
               operand_register(t.source[b], class_v2b if size == 2 else class_v1b) if _is_vgpr(source)
               else _dword_operand(source))
    s.p.instructions.format[i] |= format_sdwa
    # selections count from the byte address of the operand; SGPRs are named whole
    s.p.instructions.modifiers[i] = modifier_set_sdwa_dst_sel(
        modifier_set_sdwa_sel0(modifier_set_sdwa_sel1(0, 2), (size - 1) | (0 if _is_vgpr(source) else offset << 2)),
        (size - 1) | 0x10)
    return 0


include "parallel_copy_parts.pxi"
include "parallel_copy_halves.pxi"


cdef int _write_partial(CopySolver *s, Target *t) except -1 nogil:
    """A register gathered from several sources, none of whose pending bytes another target reads."""
    cdef uint32_t mask = t.pending
    cdef uint32_t registers = mask & ~t.constant
    if s.p.gfx_level < gfx8:
        if mask == 15 and (_align(s, t) or _shifts(s, t)):
            _done(s, t, mask)
            return 0
        return _gather(s, t)
    if registers == 0:
        _write_constants(s, t, mask)
        _done(s, t, mask)
        return 0
    if s.p.gfx_level >= gfx11 and t.constant == 0 and (mask == 3 or mask == 12) \
            and _piece(t, 0 if mask == 3 else 2, mask) == 2:
        _move_piece(s, t, 0 if mask == 3 else 2, 2)
        _done(s, t, mask)
        return 0
    if s.p.gfx_level < gfx11 and t.constant == 0 and mask != 15 \
            and (mask & (mask - 1) == 0 or (mask == 3 or mask == 12) and _piece(t, 0 if mask == 3 else 2, mask) == 2):
        _move_piece(s, t, _lowest(mask), 2 if mask & (mask - 1) else 1)
        _done(s, t, mask)
        return 0
    if _align(s, t) or _shifts(s, t) or _pack_halves(s, t) or _permute(s, t, mask):
        _done(s, t, mask)
        return 0
    if t.constant and mask == 15 and _permute_with_zeros(s, t):
        _done(s, t, 15)
        return 0
    if t.constant and _permute(s, t, registers):
        # the permutation read every byte that the constants are about to overwrite
        _done(s, t, registers)
        _write_constants(s, t, t.pending)
        _done(s, t, t.pending)
        return 0
    _write_pieces(s, t)
    return 0


cdef bint _permute_with_zeros(CopySolver *s, Target *t) except -1 nogil:
    """Gather with zeros instead of the constants, which one more instruction then sets."""
    cdef Target zeros = t[0]
    cdef uint32_t b
    for b in range(4):
        if (t.constant >> b) & 1:
            zeros.value[b] = 0
    if not _shifts(s, &zeros) and not _permute(s, &zeros, 15):
        return False
    emit_2(s.out, op_v_or_b32, vgpr_definition(t.reg * 4), operand_c32(_constant_of(t) & _byte_mask(t.constant)),
           vgpr_operand(t.reg * 4))
    return True


cdef inline uint32_t _lowest(uint32_t mask) noexcept nogil:
    cdef uint32_t b = 0
    while not (mask >> b) & 1:
        b += 1
    return b


cdef bint _write_pieces(CopySolver *s, Target *t) except -1 nogil:
    """Write the bytes of a target that no pending copy reads, piece by piece. True if there were some."""
    cdef uint32_t b = 0
    cdef uint32_t free
    cdef uint32_t size
    cdef bint progress = False
    while b < 4:
        free = 0
        for size in range(4):
            if t.uses[size] == 0:
                free |= 1 << size
        free &= t.pending
        if not (free >> b) & 1:
            b += 1
            continue
        t.partial = 1                 # also a plain copy, once it is done in parts
        if (t.constant >> b) & 1:
            _write_constants(s, t, free & t.constant)
            _done(s, t, free & t.constant)
            progress = True
            b = 0
            continue
        size = _piece(t, b, free)
        _move_piece(s, t, b, size)
        _done(s, t, ((1 << size) - 1) << b)
        progress = True
        b = 0                         # what was read may be free now
    return progress


# ----------------------------------------------------------------------------------------------------------------- swaps
cdef int _swap_sgprs(CopySolver *s, uint16_t a, uint16_t b) except -1 nogil:
    """Exchange two SGPRs (byte addresses); SCC itself may be one of them."""
    cdef Definition da = sgpr_definition(a)
    cdef Definition db = sgpr_definition(b)
    cdef uint16_t other
    if a == register_scc or b == register_scc:
        other = b if a == register_scc else a
        _save_scc(s)
        emit_2(s.out, op_s_cmp_lg_i32, scc_definition(), sgpr_operand(other), operand_c32(0))
        emit_1(s.out, op_s_mov_b32, sgpr_definition(other), sgpr_operand(s.scratch))
        return 0
    if s.scratch != register_none:
        emit_1(s.out, op_s_mov_b32, sgpr_definition(s.scratch), sgpr_operand(a))
        emit_1(s.out, op_s_mov_b32, da, sgpr_operand(b))
        emit_1(s.out, op_s_mov_b32, db, sgpr_operand(s.scratch))
        return 0
    if _scc_needed(s):
        _save_scc(s)                  # raises: there is no scratch register
    emit_2d2(s.out, op_s_xor_b32, db, scc_definition(), sgpr_operand(b), sgpr_operand(a))
    emit_2d2(s.out, op_s_xor_b32, da, scc_definition(), sgpr_operand(b), sgpr_operand(a))
    emit_2d2(s.out, op_s_xor_b32, db, scc_definition(), sgpr_operand(b), sgpr_operand(a))
    return 0


cdef int _emit_v_swap(CopySolver *s, uint16_t a, uint16_t b) except -1 nogil:
    cdef Definition[2] d
    cdef Operand[2] o
    if s.p.gfx_level < gfx9:
        emit_2(s.out, op_v_xor_b32, vgpr_definition(b), vgpr_operand(b), vgpr_operand(a))
        emit_2(s.out, op_v_xor_b32, vgpr_definition(a), vgpr_operand(b), vgpr_operand(a))
        emit_2(s.out, op_v_xor_b32, vgpr_definition(b), vgpr_operand(b), vgpr_operand(a))
        return 0
    d[0] = vgpr_definition(a)
    d[1] = vgpr_definition(b)
    o[0] = vgpr_operand(b)
    o[1] = vgpr_operand(a)
    emit_any(s.out, op_v_swap_b32, d, 2, o, 2)
    return 0


cdef int _swap_vgprs(CopySolver *s, uint16_t a, uint16_t b, bint linear) except -1 nogil:
    cdef bint keep
    if not linear:
        return _emit_v_swap(s, a, b)
    keep = _scc_needed(s)
    if keep:
        _save_scc(s)
    _emit_v_swap(s, a, b)
    _flip_exec(s)
    _emit_v_swap(s, a, b)
    _flip_exec(s)
    if keep:
        _restore_scc(s)
    return 0


cdef int _sdwa_xor(CopySolver *s, uint32_t to, uint32_t other, uint32_t size) except -1 nogil:
    """to ^= other, on bytes or halves of registers."""
    cdef uint8_t register_class = class_v2b if size == 2 else class_v1b
    cdef InstructionId i = emit_2(s.out, op_v_xor_b32, definition_register(<uint16_t>to, register_class),
                                  operand_register(<uint16_t>to, register_class), operand_register(<uint16_t>other, register_class))
    cdef uint64_t word = modifier_set_sdwa_sel0(0, size - 1)
    word = modifier_set_sdwa_sel1(word, size - 1)
    word = modifier_set_sdwa_dst_sel(word, (size - 1) | 0x10)
    s.p.instructions.format[i] |= format_sdwa
    s.p.instructions.modifiers[i] = word
    return 0


cdef int _add_halves(CopySolver *s, uint32_t to, uint32_t a, uint32_t b, bint subtract) except -1 nogil:
    cdef InstructionId i = emit_2(s.out, op_v_sub_u16_e64 if subtract else op_v_add_u16_e64, definition_register(<uint16_t>to, class_v2b),
                                  operand_register(<uint16_t>a, class_v2b), operand_register(<uint16_t>b, class_v2b))
    s.p.instructions.modifiers[i] = modifier_set_opsel(0, (1 if a & 2 else 0) | (2 if b & 2 else 0) | (8 if to & 2 else 0))
    return 0


cdef int _permute_within(CopySolver *s, uint32_t reg, uint32_t x, uint32_t y) except -1 nogil:
    """Exchange bytes x and y of one register (GFX10+)."""
    cdef uint32_t selector = 0x03020100
    selector &= ~((<uint32_t>0xff << (8 * x)) | (<uint32_t>0xff << (8 * y)))
    selector |= y << (8 * x) | x << (8 * y)
    emit_3(s.out, op_v_perm_b32, vgpr_definition(<uint16_t>(reg * 4)), _dword_operand(reg), _dword_operand(reg),
           operand_c32(selector))
    return 0


cdef int _swap_pieces(CopySolver *s, uint32_t a, uint32_t b, uint32_t size) except -1 nogil:
    """Exchange halves or bytes of VGPRs (byte addresses)."""
    cdef uint32_t other_half
    if s.p.gfx_level < gfx11:
        if size == 2 and a >> 2 == b >> 2:
            return _emit_alignbyte(s, a >> 2, a >> 2, a >> 2, 2)
        _sdwa_xor(s, b, a, size)
        _sdwa_xor(s, a, b, size)
        _sdwa_xor(s, b, a, size)
        return 0
    if a >> 2 == b >> 2:
        if size == 2:
            return _emit_alignbyte(s, a >> 2, a >> 2, a >> 2, 2)
        return _permute_within(s, a >> 2, a & 3, b & 3)
    if size == 2:
        _add_halves(s, a, a, b, False)
        _add_halves(s, b, a, b, True)
        _add_halves(s, a, a, b, True)
        return 0
    # Bring the half with b next to a, exchange the bytes there, bring it back.
    other_half = (a & ~<uint32_t>3) | ((a & 2) ^ 2)
    _swap_pieces(s, other_half, b & ~<uint32_t>1, 2)
    _permute_within(s, a >> 2, a & 3, (other_half & 2) | (b & 1))
    _swap_pieces(s, other_half, b & ~<uint32_t>1, 2)
    return 0


cdef void _redirect(CopySolver *s, uint32_t from_, uint32_t to, uint32_t size) noexcept nogil:
    """After a swap the old contents of `from_` are at `to`: change the one reader of each byte."""
    cdef size_t i
    cdef uint32_t b
    cdef uint32_t k
    cdef Target *t
    for i in range(s.targets.size()):
        t = &s.targets[i]
        for b in range(4):
            if not (t.pending >> b) & 1 or (t.constant >> b) & 1:
                continue
            k = t.source[b] - from_
            if k < size:
                s.targets[s.target_of[from_ >> 2]].uses[t.source[b] & 3] -= 1
                t.source[b] = <uint16_t>(to + k)
                t.partial |= size < 4
                if (to + k) >> 2 == t.reg and (to + k) & 3 == b:
                    t.pending &= ~<uint8_t>(1 << b)     # where it belongs
                elif s.target_of[(to + k) >> 2] >= 0:
                    s.targets[s.target_of[(to + k) >> 2]].uses[(to + k) & 3] += 1
    for i in range(s.targets.size()):
        if s.targets[i].pending:
            s.ready.push_back(<uint32_t>i)


cdef int _break_cycle(CopySolver *s, Target *t) except -1 nogil:
    """Only cycles are left: one swap brings a piece of `t` to its target."""
    cdef uint32_t b = _lowest(t.pending)
    cdef uint32_t size
    cdef uint32_t to = t.reg * 4
    cdef uint32_t source = t.source[b]
    if not _is_vgpr(t.reg):
        size = 4
        _swap_sgprs(s, <uint16_t>to, <uint16_t>source)
    elif t.pending == 15 and not source & 3 and t.source[1] == source + 1 and t.source[2] == source + 2 \
            and t.source[3] == source + 3:
        size = 4
        _swap_vgprs(s, <uint16_t>to, <uint16_t>source, t.linear != 0)
    else:
        size = _piece(t, b, t.pending)
        to += b
        _swap_pieces(s, to, source, size)
    _done(s, t, ((1 << size) - 1) << (to & 3))
    _redirect(s, to, source, size)
    return 0


# ------------------------------------------------------------------------------------------------------------------- run
cdef int _solve(CopySolver *s) except -1 nogil:
    cdef size_t i
    cdef size_t start = 0
    cdef uint32_t k
    cdef bint progress
    cdef Target *t
    i = s.targets.size()
    while i > 0:
        i -= 1
        s.ready.push_back(<uint32_t>i)
    while True:
        while s.ready.size():
            k = s.ready.back()
            s.ready.pop_back()
            t = &s.targets[k]
            if t.pending == 0 or _external_uses(s, t):
                continue
            if not t.partial:
                _write_plain(s, t)
            else:
                _write_partial(s, t)
        while start < s.targets.size() and s.targets[start].pending == 0:
            start += 1
        if start == s.targets.size():
            return 0
        progress = False
        for i in range(start, s.targets.size()):
            if s.p.gfx_level >= gfx8 and s.targets[i].pending and _is_vgpr(s.targets[i].reg) and not s.targets[i].linear \
                    and _write_pieces(s, &s.targets[i]):
                progress = True
                break
        if progress:
            continue
        if s.p.gfx_level < gfx8:
            _break_cycle_of_wholes(s, start)
        else:
            _break_cycle(s, &s.targets[start])


cdef int solver_run(CopySolver *s, uint16_t fp_mode, uint16_t scratch, bint keep_scc) except -1 nogil:
    cdef size_t i
    s.fp_mode = fp_mode
    s.scratch = scratch
    s.keep_scc = keep_scc
    s.ready.clear()
    _count_uses(s)
    _solve(s)
    for i in range(s.targets.size()):
        s.target_of[s.targets[i].reg] = -1
    s.targets.clear()
    return 0
