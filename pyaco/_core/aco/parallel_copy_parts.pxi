# Parts of registers before SDWA (GFX6, GFX7), for ``parallel_copy.pyx``. Source: AMD "Southern Islands" ISA document (V_ALIGNBYTE_B32).

cdef uint32_t _run(const Target *t, uint32_t b) noexcept nogil:
    """How many pending bytes from `b` on are constants, or follow each other in one register."""
    cdef uint32_t n = 1
    cdef bint is_constant = (t.constant >> b) & 1
    while b + n < 4 and (t.pending >> (b + n)) & 1 and ((t.constant >> (b + n)) & 1) == is_constant \
            and (is_constant or (t.source[b + n] == t.source[b] + n and t.source[b + n] >> 2 == t.source[b] >> 2)):
        n += 1
    return n


cdef int _one_run(CopySolver *s, const Target *t, uint32_t b, uint32_t size) except -1 nogil:
    """All that is wanted of a register is one run of bytes: what is around it is nobody's."""
    cdef uint32_t reg = t.source[b] >> 2
    cdef uint32_t offset = t.source[b] & 3
    cdef Definition d = vgpr_definition(t.reg * 4)
    if (t.constant >> b) & 1:
        return emit_constant(s.out, t.reg, _constant_of(t) & _byte_mask(t.constant))
    if offset == b:
        emit_1(s.out, op_v_mov_b32, d, _dword_operand(reg))
    elif _is_vgpr(reg):
        emit_2(s.out, op_v_lshrrev_b32 if offset > b else op_v_lshlrev_b32, d, operand_c32(8 * (offset - b if offset > b else b - offset)),
               _dword_operand(reg))
    else:
        _shift_scalar(s, d, op_v_lshrrev_b32 if offset > b else op_v_lshlrev_b32, 8 * (offset - b if offset > b else b - offset), reg)
    return 0


cdef int _shift_in(CopySolver *s, const Target *t, uint32_t b, uint32_t size) except -1 nogil:
    """The next bytes come in at the top of the register, and push down what is there. A run that does not begin its register is
    turned there for a moment; of an SGPR, a product brings it to the top, which leaves SCC alone."""
    cdef uint32_t source = t.source[b] >> 2
    cdef uint32_t offset = t.source[b] & 3
    cdef Operand low = vgpr_operand(t.reg * 4)
    cdef uint32_t value
    if (t.constant >> b) & 1:
        value = (_constant_of(t) & _byte_mask(t.constant)) >> (8 * b) & (0xffffffffU >> (32 - 8 * size))
        if operand_is_literal(operand_c32(value)):
            if s.scratch == register_none:
                with gil:
                    raise UnsupportedError("constant bytes in a part of a VGPR before GFX8: no SGPR is free")
            emit_1(s.out, op_s_mov_b32, sgpr_definition(s.scratch), operand_c32(value))
            emit_3(s.out, op_v_alignbyte_b32, vgpr_definition(t.reg * 4), sgpr_operand(s.scratch), low, operand_c32(size))
        else:
            emit_3(s.out, op_v_alignbyte_b32, vgpr_definition(t.reg * 4), operand_c32(value), low, operand_c32(size))
        return 0
    if source == t.reg:
        with gil:
            raise UnsupportedError("a byte that moves within its register before GFX8")
    if offset == 0:
        return _emit_alignbyte(s, t.reg, source, t.reg, size)
    if _is_vgpr(source):
        _turn(s, source, offset)
        _emit_alignbyte(s, t.reg, source, t.reg, size)
        return _turn(s, source, 4 - offset)
    if s.scratch == register_none:
        with gil:
            raise UnsupportedError("copy of a part of an SGPR into a part of a VGPR before GFX8: no SGPR is free")
    if offset + size < 4:
        emit_2(s.out, op_s_mul_i32, sgpr_definition(s.scratch), _dword_operand(source), operand_c32(1U << (8 * (4 - offset - size))))
        source = s.scratch >> 2
        offset = 4 - size
    # Its top bytes come in at the bottom; then the register is turned.
    _turn(s, t.reg, size)
    _emit_alignbyte(s, t.reg, t.reg, source, offset)
    return _turn(s, t.reg, size)


cdef int _gather(CopySolver *s, Target *t) except -1 nogil:
    """A register of several parts, of which only the pending ones matter: byte runs come in one after the other.

    No two values share a register here (``register_constraints``), and a vector of parts stands in none of their registers
    (``live_variables``), so that nothing needs to be kept.
    """
    cdef uint32_t mask = t.pending
    cdef uint32_t b = _lowest(mask)
    cdef uint32_t size = _run(t, b)
    cdef uint32_t end = b + size
    cdef uint32_t source = t.source[b] >> 2
    if mask >> end == 0:
        _one_run(s, t, b, size)
        _done(s, t, mask)
        return 0
    if (t.constant >> b) & 1 == 0 and source == t.reg:
        with gil:
            raise UnsupportedError("a byte that moves within its register before GFX8")
    # the first run goes to the top
    if (t.constant >> b) & 1:
        emit_constant(s.out, t.reg, (_constant_of(t) & _byte_mask(((1 << size) - 1) << b)) << (8 * (4 - end)))
    elif (t.source[b] & 3) + size == 4:
        emit_1(s.out, op_v_mov_b32, vgpr_definition(t.reg * 4), _dword_operand(source))
    elif _is_vgpr(source):
        emit_2(s.out, op_v_lshlrev_b32, vgpr_definition(t.reg * 4), operand_c32(8 * (4 - (t.source[b] & 3) - size)), _dword_operand(source))
    else:
        _shift_scalar(s, vgpr_definition(t.reg * 4), op_v_lshlrev_b32, 8 * (4 - (t.source[b] & 3) - size), source)
    while mask >> end:
        b = end
        if not (mask >> b) & 1:
            size = 1
            _emit_alignbyte(s, t.reg, t.reg, t.reg, 1)
        else:
            size = _run(t, b)
            # with the last run comes what is above it, which is nobody's, so that all is where it belongs
            if mask >> (b + size) == 0 and ((t.constant >> b) & 1 or _is_vgpr(t.source[b] >> 2) or t.source[b] & 3 == 0):
                size = 4 - b
            _shift_in(s, t, b, size)
        end = b + size
    if end < 4:
        emit_2(s.out, op_v_lshrrev_b32, vgpr_definition(t.reg * 4), operand_c32(8 * (4 - end)), vgpr_operand(t.reg * 4))
    _done(s, t, mask)
    return 0


cdef int _swap_whole(CopySolver *s, uint32_t a, uint32_t b) except -1 nogil:
    """Exchange two VGPRs; whoever reads one of them now reads the other."""
    cdef size_t i
    cdef uint32_t k
    cdef uint32_t reg
    cdef Target *t
    _swap_vgprs(s, <uint16_t>(a * 4), <uint16_t>(b * 4), False)
    for i in range(s.targets.size()):
        memset(s.targets[i].uses, 0, sizeof(s.targets[i].uses))
    for i in range(s.targets.size()):
        t = &s.targets[i]
        for k in range(4):
            if not (t.pending >> k) & 1 or (t.constant >> k) & 1:
                continue
            reg = t.source[k] >> 2
            if reg == a or reg == b:
                t.source[k] = <uint16_t>((b if reg == a else a) * 4 + (t.source[k] & 3))
            if t.source[k] == t.reg * 4 + k:
                t.pending &= ~<uint8_t>(1 << k)     # where it belongs
                t.partial |= t.pending != 0
            elif s.target_of[t.source[k] >> 2] >= 0:
                s.targets[s.target_of[t.source[k] >> 2]].uses[t.source[k] & 3] += 1
    for i in range(s.targets.size()):
        if s.targets[i].pending:
            s.ready.push_back(<uint32_t>i)
    return 0


cdef int _break_cycle_of_wholes(CopySolver *s, size_t start) except -1 nogil:
    """Every pending target is read by another one, but not all of them are part of a cycle: a write takes away bytes that are not pending, too.

    From reader to reader, as many steps as there are targets end on a cycle.
    """
    cdef size_t i
    cdef size_t at = start
    cdef uint32_t b
    cdef int16_t source
    cdef Target *t
    cdef vector[size_t] reader
    reader.resize(s.targets.size())
    for i in range(s.targets.size()):
        t = &s.targets[i]
        for b in range(4):
            if (t.pending >> b) & 1 and not (t.constant >> b) & 1 and t.source[b] >> 2 != t.reg:
                source = s.target_of[t.source[b] >> 2]
                if source >= 0:
                    reader[source] = i
    for i in range(s.targets.size()):
        at = reader[at]
    t = &s.targets[reader[at]]
    if not _is_vgpr(t.reg) or t.linear:
        return _break_cycle(s, t)
    return _swap_whole(s, t.reg, s.targets[at].reg)
