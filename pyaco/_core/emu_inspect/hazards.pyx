"""Hazards of GFX10 to GFX13. The contract is in ``hazards.pxd``."""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memset, strncmp

from features cimport has_coexecution, has_idle_status_reads, has_sgpr_read_hazard
from isa_opcodes cimport *
from isa_tables cimport (
    hazard_branch, hazard_denorm_mode, hazard_float_atomic, hazard_lane_mask_read, hazard_permlane, hazard_transcendental, hazard_wave_matrix,
    implicit_exec, implicit_vcc, isa_hazards, opcode_implicit_definitions, opcode_implicit_operands, opcode_name,
)
from modifiers cimport modifier_vopd_opcode_y, modifier_wait_vdst, modifier_wait_vsrc
from wait_tables cimport depctr_sa_sdst, depctr_va_sdst, depctr_va_vcc, depctr_va_vdst, depctr_vm_vsrc, waitcnt_lgkmcnt, waitcnt_vmcnt
from pyaco._core.common.waitcnt cimport depctr_get, waitcnt_get
from pyaco._core.emu.wave cimport *
from pyaco._core.emu_inspect.coexecution cimport coexecution_account, coexecution_check
from pyaco._core.emu_inspect.history cimport register_count
from pyaco._core.emu_inspect.waits cimport Finding, register_limit
from pyaco._core.common.machine cimport (
    format_ds, format_exp, format_flat, format_is_flat_like, format_is_salu, format_is_valu, format_is_vmem, format_ldsdir, format_mimg,
    format_mtbuf, format_mubuf, format_smem, format_sopp, format_vopd,
)

cdef enum:
    memory_load = 1
    memory_store = 2
    memory_lds = 4
    memory_all = 7
    space_of_lds = 0
    space_of_memory = 1
    mask_read = 1
    mask_written = 2
    mask_written_by_valu = 4
    message_dealloc_vgprs = 3
    by_valu = 1
    by_salu = 2
    ordinary_sgprs = sgpr_m0          # those below it
    first_vgpr = 256
    longest_count = 15                # of results that a wait can leave open
    salu_expiry = 11                  # SALU instructions after which a result has certainly arrived
    restart = 1 << 30
    hwreg_status = 2
    hwreg_state_priv = 4
    hwreg_excp_flag_priv = 17
    hwreg_excp_flag_user = 18
    all_open = 0xffff                 # immediate of s_waitcnt_depctr that waits for nothing

# ---------------------------------------------------------------------------------------------------------------------- classes
cdef inline uint16_t _base_format(const Instruction *instruction) noexcept nogil:
    return instruction.decoded.format & 0x7f


cdef inline bint _is_valu(const Instruction *instruction) noexcept nogil:
    return format_is_valu(instruction.decoded.format)


cdef inline bint _is_salu(const Instruction *instruction) noexcept nogil:
    return not _is_valu(instruction) and format_is_salu(instruction.decoded.format) and _base_format(instruction) != format_sopp


cdef inline bint _is_vector_memory(const Instruction *instruction) noexcept nogil:
    return not _is_valu(instruction) and (format_is_vmem(_base_format(instruction)) or format_is_flat_like(_base_format(instruction)))


cdef inline bint _is_lds(const Instruction *instruction) noexcept nogil:
    return not _is_valu(instruction) and _base_format(instruction) == format_ds


cdef bint _is_call(uint32_t opcode) noexcept nogil:
    """Whether it is a call or return, across which compilers track nothing."""
    return opcode == <uint32_t>op_s_setpc_b64 or opcode == <uint32_t>op_s_swappc_b64 or opcode == <uint32_t>op_s_call_b64


cdef inline uint32_t _dependency_wait(const Instruction *instruction) noexcept nogil:
    """The counters that an instruction waits for, as the immediate of s_waitcnt_depctr."""
    return instruction.decoded.immediate if instruction.decoded.opcode == <uint16_t>op_s_waitcnt_depctr else <uint32_t>all_open


cdef bint _names_exec(const uint16_t *registers, uint32_t count) noexcept nogil:
    """Whether one of the operands is exec, or a half of it; addresses are in bytes."""
    cdef uint32_t slot
    for slot in range(count):
        if sgpr_exec <= registers[slot] >> 2 <= sgpr_exec + 1:
            return True
    return False


cdef inline bint _reads_exec(const Instruction *instruction) noexcept nogil:
    return (opcode_implicit_operands[instruction.decoded.opcode] & implicit_exec != 0
            or _names_exec(instruction.decoded.source, instruction.decoded.source_count))


cdef inline bint _writes_exec(const Instruction *instruction) noexcept nogil:
    return (opcode_implicit_definitions[instruction.decoded.opcode] & implicit_exec != 0
            or _names_exec(instruction.decoded.destination, instruction.decoded.destination_count))


cdef bint _reads_vcc_implicitly(const Instruction *instruction) noexcept nogil:
    """Whether a vector instruction reads vcc without naming it as an operand."""
    if not _is_valu(instruction):
        return False
    if instruction.decoded.format == format_vopd and (
            opcode_implicit_operands[modifier_vopd_opcode_y(instruction.decoded.modifiers)] & implicit_vcc):
        return True
    return opcode_implicit_operands[instruction.decoded.opcode] & implicit_vcc != 0


cdef bint _writes_sgpr(const Instruction *instruction) noexcept nogil:
    cdef uint32_t slot
    for slot in range(instruction.decoded.destination_count):
        if instruction.decoded.destination[slot] >> 2 < 128:
            return True
    return _writes_exec(instruction)


# ------------------------------------------------------------------------------------------------------------------- reporting
cdef bint _found(Finding *finding, uint8_t hazard, const Mark *mark, uint32_t reg, bint write) noexcept nogil:
    finding.hazard = hazard
    finding.reg = <uint16_t>reg
    finding.counters = 0
    finding.states = 0
    finding.write = write
    finding.opcode = mark.opcode
    finding.pc = mark.pc
    return True


cdef Mark _mark_of(const Instruction *instruction, uint8_t kind, int32_t time, int32_t order) noexcept nogil:
    cdef Mark mark
    mark.pc = instruction.pc
    mark.opcode = instruction.decoded.opcode
    mark.kind = kind
    mark.time = time
    mark.order = order
    return mark


cdef void hazards_clear(Hazards *hazards) noexcept nogil:
    memset(hazards, 0, sizeof(Hazards))


cdef bint has_hazards(uint32_t gfx_level) noexcept nogil:
    return gfx_level >= 100


# ------------------------------------------------------------------------------------------------------------------------ GFX10
cdef bint _scalar_write_check(const Hazards *hazards, const Wave *wave, const Instruction *instruction, Finding *finding) noexcept nogil:
    """VMEMtoScalarWrite; LLVM has none where EXEC is written beside another register, as by s_and_saveexec."""
    cdef uint32_t slot, first, i
    for slot in range(instruction.decoded.destination_count):
        first = instruction.decoded.destination[slot] >> 2
        if first >= 128:
            continue
        for i in range(first, min(<uint32_t>128, first + register_count(
                wave, instruction.decoded.destination[slot], instruction.decoded.destination_bytes[slot]))):
            if hazards.memory_read[i].kind and i != sgpr_null:
                return _found(finding, rule_vmem_to_scalar_write, &hazards.memory_read[i], i, True)
    return False


cdef bint _vector_write_check(const Hazards *hazards, const Wave *wave, const Instruction *instruction, Finding *finding) noexcept nogil:
    """SMEMtoVectorWrite and VcmpxExecWAR."""
    cdef uint32_t slot, first, i
    for slot in range(instruction.decoded.destination_count):
        first = instruction.decoded.destination[slot] >> 2
        if first >= 128:
            continue
        for i in range(first, min(<uint32_t>128, first + register_count(
                wave, instruction.decoded.destination[slot], instruction.decoded.destination_bytes[slot]))):
            if hazards.scalar_read[i].kind and i != sgpr_null:
                return _found(finding, rule_smem_to_vector_write, &hazards.scalar_read[i], i, True)
    if _writes_exec(instruction) and hazards.exec_read.kind:
        return _found(finding, rule_vcmpx_exec_war, &hazards.exec_read, sgpr_exec, True)
    return False


cdef bint _memory_order_check(const Hazards *hazards, const Instruction *instruction, Finding *finding) noexcept nogil:
    """LdsBranchVmemWAR, NSAtoVMEM and NSAClause."""
    cdef uint16_t format = _base_format(instruction)
    cdef uint32_t other = space_of_memory if _is_lds(instruction) else <uint32_t>space_of_lds
    if (_is_lds(instruction) or format != format_flat) and hazards.before_branch[other].kind:
        return _found(finding, rule_lds_branch_vmem_war, &hazards.before_branch[other], register_limit, False)
    if hazards.image.kind and (format == format_mubuf or format == format_mtbuf) and instruction.decoded.immediate & 6:
        return _found(finding, rule_nsa_to_vmem, &hazards.image, register_limit, False)
    return False


cdef bint _gfx10_check(const Hazards *hazards, const Wave *wave, const Instruction *instruction, Finding *finding) noexcept nogil:
    cdef Mark here
    if _is_valu(instruction):
        return _vector_write_check(hazards, wave, instruction, finding)
    if _is_salu(instruction) or _base_format(instruction) == format_smem:
        return _scalar_write_check(hazards, wave, instruction, finding)
    here = _mark_of(instruction, 1, 0, 0)
    if hazards.clause and _base_format(instruction) == format_mimg and instruction.decoded.dwords > 2:
        return _found(finding, rule_nsa_clause, &here, register_limit, False)
    if _is_vector_memory(instruction) or _is_lds(instruction):
        return _memory_order_check(hazards, instruction, finding)
    if _base_format(instruction) == format_sopp and instruction.decoded.immediate == 0x3f and (
            isa_hazards(100, instruction.decoded.opcode) & hazard_branch):
        return _found(finding, rule_offset_3f, &here, register_limit, False)
    return False


cdef void _note_reads(Mark *marks, const Wave *wave, const Instruction *instruction, uint8_t kind) noexcept nogil:
    """The SGPRs that an instruction reads."""
    cdef uint32_t slot, first, i
    for slot in range(instruction.decoded.source_count):
        first = instruction.decoded.source[slot] >> 2
        if first < 128:
            for i in range(first, min(<uint32_t>128, first + register_count(
                    wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot]))):
                marks[i] = _mark_of(instruction, kind | marks[i].kind, 0, 0)


cdef void _forget(Mark *marks, uint32_t count, uint8_t kinds) noexcept nogil:
    cdef uint32_t i
    for i in range(count):
        marks[i].kind &= ~kinds


cdef uint8_t _kinds_waited(const Wave *wave, const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    """The kinds of memory operations that a wait completes."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t value = instruction.decoded.immediate
    cdef uint8_t kinds = 0
    if opcode == <uint32_t>op_s_waitcnt and gfx_level < 120:
        if value == 0:
            return memory_all
        if waitcnt_get(value, gfx_level, waitcnt_vmcnt) == 0:
            kinds |= memory_load
        if waitcnt_get(value, gfx_level, waitcnt_lgkmcnt) == 0:
            kinds |= memory_lds
    elif value & 63 == 0:
        if opcode == <uint32_t>op_s_waitcnt_vscnt or opcode == <uint32_t>op_s_wait_storecnt:
            kinds = memory_store
        elif opcode == <uint32_t>op_s_waitcnt_vmcnt or opcode == <uint32_t>op_s_wait_loadcnt:
            kinds = memory_load
        elif opcode == <uint32_t>op_s_waitcnt_lgkmcnt or opcode == <uint32_t>op_s_wait_dscnt:
            kinds = memory_lds
    if opcode == <uint32_t>op_s_wait_loadcnt_dscnt or opcode == <uint32_t>op_s_wait_storecnt_dscnt:
        kinds = memory_lds if value & 63 == 0 else 0
        if value >> 8 & 63 == 0:
            kinds |= memory_load if opcode == <uint32_t>op_s_wait_loadcnt_dscnt else memory_store
    return kinds


cdef uint8_t _kinds_of(const Instruction *instruction) noexcept nogil:
    """The kinds of a memory instruction: memory_*."""
    cdef uint8_t kinds = 0
    if _is_vector_memory(instruction):
        kinds = memory_load if instruction.decoded.destination_count else memory_store
    if _is_lds(instruction) or (not _is_valu(instruction) and _base_format(instruction) == format_flat):
        kinds |= memory_lds
    return kinds


cdef void _note_scalars(Hazards *hazards, const Wave *wave, const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    """VMEMtoScalarWrite, SMEMtoVectorWrite, VcmpxExecWAR."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint8_t kinds = _kinds_of(instruction)
    cdef uint32_t wait = _dependency_wait(instruction)
    cdef uint8_t waited = _kinds_waited(wave, instruction, gfx_level)
    if kinds and instruction.decoded.source_count:
        _note_reads(hazards.memory_read, wave, instruction, kinds)
        hazards.memory_read[sgpr_exec] = _mark_of(instruction, kinds | hazards.memory_read[sgpr_exec].kind, 0, 0)
        hazards.memory_read[sgpr_exec + 1] = _mark_of(instruction, kinds | hazards.memory_read[sgpr_exec + 1].kind, 0, 0)
    elif _is_valu(instruction) or depctr_get(wait, depctr_vm_vsrc) == 0:
        _forget(hazards.memory_read, 128, memory_all)
    elif waited:
        _forget(hazards.memory_read, 128, waited)
    if _base_format(instruction) == format_smem and not _is_valu(instruction):
        _note_reads(hazards.scalar_read, wave, instruction, 1)
    elif waited & memory_lds or (_is_salu(instruction) and opcode != <uint32_t>op_s_version and strncmp(opcode_name[opcode], "s_waitcnt", 9) != 0):
        _forget(hazards.scalar_read, 128, 1)
    if _is_salu(instruction) and _reads_exec(instruction):
        hazards.exec_read = _mark_of(instruction, 1, 0, 0)
    elif (_is_valu(instruction) and _writes_sgpr(instruction)) or depctr_get(wait, depctr_sa_sdst) == 0:
        hazards.exec_read.kind = 0


cdef void _note_spaces(Hazards *hazards, const Wave *wave, const Instruction *instruction) noexcept nogil:
    """LdsBranchVmemWAR."""
    cdef uint32_t i, space
    if _is_lds(instruction) or _is_vector_memory(instruction):
        space = space_of_lds if _is_lds(instruction) else <uint32_t>space_of_memory
        hazards.spaces[space] = _mark_of(instruction, _is_lds(instruction) or _base_format(instruction) != format_flat, 0, 0)
        hazards.spaces[1 - space].kind = hazards.before_branch[0].kind = hazards.before_branch[1].kind = 0
    elif isa_hazards(100, instruction.decoded.opcode) & hazard_branch:
        for i in range(2):
            if hazards.spaces[i].kind:
                hazards.before_branch[i] = hazards.spaces[i]
                hazards.spaces[i].kind = 0
    elif _is_call(instruction.decoded.opcode) or (
            instruction.decoded.opcode == <uint16_t>op_s_waitcnt_vscnt and instruction.decoded.immediate == 0):
        for i in range(2):
            hazards.spaces[i].kind = hazards.before_branch[i].kind = 0


cdef void _gfx10_account(Hazards *hazards, const Wave *wave, const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    _note_scalars(hazards, wave, instruction, gfx_level)
    _note_spaces(hazards, wave, instruction)
    hazards.image = _mark_of(instruction, _base_format(instruction) == format_mimg and not _is_valu(instruction)
                             and instruction.decoded.dwords >= 4, 0, 0)
    if hazards.clause:
        hazards.clause -= 1
    if instruction.decoded.opcode == <uint16_t>op_s_clause:
        hazards.clause = (instruction.decoded.immediate & 63) + 1


# ------------------------------------------------------------------------------------------- GFX10: atomics of floats, and modes
cdef bint _denormal_check(const Hazards *hazards, uint32_t classes, Finding *finding) noexcept nogil:
    if not classes & hazard_denorm_mode or not hazards.float_atomic.kind:
        return False
    if hazards.now - hazards.float_atomic.time >= 3:
        return False
    return _found(finding, rule_fp_atomic_to_denorm_mode, &hazards.float_atomic, register_limit, False)


cdef void _note_float_atomic(Hazards *hazards, const Instruction *instruction, uint32_t classes) noexcept nogil:
    hazards.now += <int32_t>(instruction.decoded.immediate & 15) + 1 if instruction.decoded.opcode == <int>op_s_nop else 1
    if classes & hazard_float_atomic:
        hazards.float_atomic = _mark_of(instruction, 1, hazards.now, 0)
    elif _is_valu(instruction) or (strncmp(opcode_name[instruction.decoded.opcode], "s_wait", 6) == 0
                                   and instruction.decoded.opcode != <uint16_t>op_s_waitcnt_depctr):
        hazards.float_atomic.kind = 0


# ----------------------------------------------------------------------------------------------------------- v_cmpx, v_permlane
cdef void _note_vcmpx(Hazards *hazards, const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    if not _is_valu(instruction):
        return
    if _writes_exec(instruction):
        hazards.vcmpx = _mark_of(instruction, 1, 0, 0)
    elif gfx_level >= 110 or instruction.decoded.opcode != <uint16_t>op_v_nop:
        hazards.vcmpx.kind = 0


# ---------------------------------------------------------------------------------------------------------------- GFX11 and GFX12
cdef bint _direct_load_check(const Hazards *hazards, const Instruction *instruction, uint32_t gfx_level, Finding *finding) noexcept nogil:
    """LdsDirectVALU and LdsDirectVMEM."""
    cdef uint32_t first = instruction.decoded.destination[0] >> 2
    cdef uint32_t reg = first - first_vgpr
    cdef int32_t since
    if first < first_vgpr or reg >= 256:
        return False
    if hazards.touched[reg].kind:
        since = hazards.valu - hazards.touched[reg].time
        if hazards.last_transcendental >= hazards.touched[reg].time and since < longest_count:
            since = 0
        if <int32_t>modifier_wait_vdst(instruction.decoded.modifiers) > min(since, <int32_t>longest_count):
            return _found(finding, rule_lds_direct_valu, &hazards.touched[reg], first, True)
    if hazards.memory_use[reg].kind and not (gfx_level >= 120 and not modifier_wait_vsrc(instruction.decoded.modifiers)):
        return _found(finding, rule_lds_direct_vmem, &hazards.memory_use[reg], first, True)
    return False


cdef const Mark *_latest_write(const Hazards *hazards, const Wave *wave, const Instruction *instruction, uint32_t slot) noexcept nogil:
    """The vector instruction that last wrote a part of a source."""
    cdef uint32_t first = instruction.decoded.source[slot] >> 2
    cdef uint32_t i
    cdef const Mark *latest = NULL
    cdef const Mark *mark
    if first < first_vgpr:
        return NULL
    for i in range(register_count(wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot])):
        mark = &hazards.written[(first + i - first_vgpr) & 255]
        if mark.kind and (latest == NULL or mark.time > latest.time):
            latest = mark
    return latest


cdef bint _partial_forwarding_check(const Hazards *hazards, const Wave *wave, const Instruction *instruction, Finding *finding) noexcept nogil:
    """A source written at most four vector instructions ago, and one before the write of EXEC ahead of that, at most two further."""
    cdef const Mark *late = NULL
    cdef const Mark *early = NULL
    cdef const Mark *mark
    cdef uint32_t slot
    cdef uint32_t reg = first_vgpr
    for slot in range(instruction.decoded.source_count):
        mark = _latest_write(hazards, wave, instruction, slot)
        if mark != NULL and (late == NULL or mark.time > late.time):
            late = mark
    if late == NULL or hazards.valu - late.time > 4:
        return False
    for slot in range(instruction.decoded.source_count):
        mark = _latest_write(hazards, wave, instruction, slot)
        if mark != NULL and mark.order < late.order and (early == NULL or mark.time > early.time):
            early = mark
            reg = instruction.decoded.source[slot] >> 2
    if early == NULL or late.time - early.time > 3:
        return False
    return _found(finding, rule_valu_partial_forwarding, early, reg, False)


cdef bint _transcendental_check(const Hazards *hazards, const Wave *wave, const Instruction *instruction, Finding *finding) noexcept nogil:
    """VALUTransUse: at most five vector instructions between, of them at most one transcendental."""
    cdef uint32_t slot, first, i
    cdef const Mark *mark
    for slot in range(instruction.decoded.source_count):
        first = instruction.decoded.source[slot] >> 2
        if first < first_vgpr:
            continue
        for i in range(register_count(wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot])):
            mark = &hazards.written[(first + i - first_vgpr) & 255]
            if (mark.kind and isa_hazards(110, mark.opcode) & hazard_transcendental and hazards.valu - mark.time <= 5
                    and hazards.transcendentals - hazards.transcendental_order[(first + i - first_vgpr) & 255] <= 1):
                return _found(finding, rule_valu_trans_use, mark, first + i, False)
    return False


cdef bint _matrix_check(const Hazards *hazards, const Wave *wave, const Instruction *instruction, Finding *finding) noexcept nogil:
    cdef uint32_t slot, first, i
    cdef uint32_t sparse = strncmp(opcode_name[instruction.decoded.opcode], "v_swmmac", 8) == 0
    for slot in range(min(<uint32_t>instruction.decoded.source_count, 2 + sparse)):
        first = instruction.decoded.source[slot] >> 2
        if first < first_vgpr:
            continue
        for i in range(register_count(wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot])):
            if hazards.product[(first + i - first_vgpr) & 255].kind:
                return _found(finding, rule_wmma, &hazards.product[(first + i - first_vgpr) & 255], first + i, False)
    return False


cdef bint _scalar_source_check(const Hazards *hazards, uint32_t number, bint valu, Finding *finding) noexcept nogil:
    cdef const Mark *mark = &hazards.rewritten[number]
    if hazards.lane_mask[number].kind & (mask_written | mask_written_by_valu if valu else <int>mask_written):
        return _found(finding, rule_valu_mask_write, &hazards.lane_mask[number], number, False)
    if (mark.kind == by_salu and hazards.salu - mark.time < salu_expiry) or (mark.kind == by_valu and valu):
        return _found(finding, rule_valu_read_sgpr, mark, number, False)
    return False


cdef bint _scalar_sources_check(const Hazards *hazards, const Wave *wave, const Instruction *instruction, Finding *finding) noexcept nogil:
    """VALUMaskWrite and VALUReadSGPR."""
    cdef bint valu = _is_valu(instruction)
    cdef uint32_t slot, first, i
    for slot in range(instruction.decoded.source_count):
        first = instruction.decoded.source[slot] >> 2
        if first >= ordinary_sgprs:
            continue
        for i in range(first, min(<uint32_t>ordinary_sgprs, first + register_count(
                wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot]))):
            if _scalar_source_check(hazards, i, valu, finding):
                return True
    return _reads_vcc_implicitly(instruction) and (
        _scalar_source_check(hazards, sgpr_vcc, valu, finding) or _scalar_source_check(hazards, sgpr_vcc + 1, valu, finding))


cdef bint _gfx11_check(const Hazards *hazards, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                       Finding *finding) noexcept nogil:
    cdef bint valu = _is_valu(instruction)
    cdef Mark here
    if not valu and _base_format(instruction) == format_ldsdir:
        return _direct_load_check(hazards, instruction, gfx_level, finding)
    if (gfx_level < 120 and instruction.decoded.opcode == <uint16_t>op_s_sendmsg and instruction.decoded.immediate & 0xff == message_dealloc_vgprs
            and not hazards.after_nop):
        here = _mark_of(instruction, 1, 0, 0)
        return _found(finding, rule_dealloc_vgprs, &here, register_limit, False)
    if not valu and not _is_salu(instruction):
        return False
    if _scalar_sources_check(hazards, wave, instruction, finding):
        return True
    if not valu:
        return False
    if isa_hazards(gfx_level, instruction.decoded.opcode) & hazard_wave_matrix and _matrix_check(hazards, wave, instruction, finding):
        return True
    if gfx_level == 110 and _transcendental_check(hazards, wave, instruction, finding):
        return True
    return gfx_level < 120 and wave.lanes == 64 and _partial_forwarding_check(hazards, wave, instruction, finding)


cdef void _forget_lane_masks(Hazards *hazards, const Instruction *instruction) noexcept nogil:
    """VALUMaskWrite: a vector instruction that reads any SGPR or a literal resolves earlier reads of masks."""
    cdef uint32_t slot
    for slot in range(instruction.decoded.source_count):
        if instruction.decoded.source[slot] >> 2 < 128 or instruction.decoded.has_literal:
            _forget(hazards.lane_mask, 128, mask_read)
            return


cdef void _note_lane_mask(Hazards *hazards, const Instruction *instruction) noexcept nogil:
    """VALUMaskWrite: record which SGPRs a vector instruction reads as a lane mask."""
    cdef uint32_t opcode = instruction.decoded.opcode
    cdef uint32_t first = sgpr_vcc
    if not isa_hazards(110, opcode) & hazard_lane_mask_read:
        return
    if opcode != <uint32_t>op_v_div_fmas_f32 and opcode != <uint32_t>op_v_div_fmas_f64:
        first = instruction.decoded.source[instruction.decoded.source_count - 1] >> 2
    if first < ordinary_sgprs:
        hazards.lane_mask[first].kind |= mask_read
        hazards.lane_mask[first + 1].kind |= mask_read


cdef void _settle_vector_writes(Mark *masks, uint32_t count) noexcept nogil:
    """VALUMaskWrite: what the vector ALU wrote has been waited for, and with it that the mask before had been read."""
    cdef uint32_t i
    for i in range(count):
        if masks[i].kind & mask_written_by_valu:
            masks[i].kind &= ~<uint8_t>(mask_written_by_valu | mask_read)


cdef void _note_lane_mask_write(Mark *mask, const Instruction *instruction, uint8_t writer) noexcept nogil:
    """VALUMaskWrite: an SGPR is written. What one ALU writes over the other resolves nothing (LLVM waits behind the first, Mesa before a read)."""
    cdef uint8_t left = mask.kind & (mask_written if writer == by_valu else mask_written_by_valu if writer == by_salu else 0)
    if mask.kind & mask_read and writer:
        left |= <uint8_t>(mask_written if writer == by_salu else mask_read | mask_written_by_valu)
        mask[0] = _mark_of(instruction, left, 0, 0)
    else:
        mask.kind = left


cdef void _note_sgpr_write(Hazards *hazards, const Wave *wave, const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    """VALUMaskWrite and VALUReadSGPR: record writes of an SGPR that the vector ALU has read."""
    cdef uint8_t writer = by_valu if _is_valu(instruction) else (by_salu if _is_salu(instruction) else 0)
    cdef uint32_t slot, first, i
    for slot in range(instruction.decoded.destination_count):
        first = instruction.decoded.destination[slot] >> 2
        if first >= ordinary_sgprs:
            continue
        for i in range(first, min(<uint32_t>ordinary_sgprs, first + register_count(
                wave, instruction.decoded.destination[slot], instruction.decoded.destination_bytes[slot]))):
            if has_sgpr_read_hazard(gfx_level):
                hazards.rewritten[i] = _mark_of(instruction, writer if hazards.read_by_valu[i >> 1] else 0, hazards.salu, 0)
            else:
                _note_lane_mask_write(&hazards.lane_mask[i], instruction, writer)


cdef void _note_sgpr_reads(Hazards *hazards, const Wave *wave, const Instruction *instruction) noexcept nogil:
    """VALUReadSGPR: record what the vector ALU reads; the scalar ALU, reading any SGPR, waits for all that the vector ALU has written.

    LLVM relies on that for SGPRs that the vector ALU may have read, which after a call are all of them.
    """
    cdef uint32_t slot, first, i
    cdef bint vcc = False
    cdef bint other = False
    for slot in range(instruction.decoded.source_count):
        first = instruction.decoded.source[slot] >> 2
        if first >= ordinary_sgprs:
            continue
        for i in range(first, min(<uint32_t>ordinary_sgprs, first + register_count(
                wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot]))):
            if _is_valu(instruction):
                hazards.read_by_valu[i >> 1] = 1
            elif i >> 1 == sgpr_vcc >> 1:
                vcc = True
            else:
                other = True
    if _reads_vcc_implicitly(instruction):
        hazards.read_by_valu[sgpr_vcc >> 1] = 1
    if not vcc and not other:
        return
    for i in range(<uint32_t>ordinary_sgprs):
        if hazards.rewritten[i].kind == by_valu and (vcc if i >> 1 == sgpr_vcc >> 1 else other):
            hazards.rewritten[i].kind = 0


cdef void _note_vgprs(Hazards *hazards, const Wave *wave, const Instruction *instruction, uint32_t classes) noexcept nogil:
    """Record the VGPRs that a vector instruction reads and writes."""
    cdef uint32_t slot, first, i
    hazards.valu += 1
    if classes & hazard_transcendental:
        hazards.transcendentals += 1
        hazards.last_transcendental = hazards.valu
    _forget(hazards.product, 256, 1)
    for slot in range(instruction.decoded.source_count):
        first = instruction.decoded.source[slot] >> 2
        if first >= first_vgpr:
            for i in range(register_count(wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot])):
                hazards.touched[(first + i - first_vgpr) & 255] = _mark_of(instruction, 1, hazards.valu, 0)
    for slot in range(instruction.decoded.destination_count):
        first = instruction.decoded.destination[slot] >> 2
        if first < first_vgpr:
            continue
        for i in range(register_count(wave, instruction.decoded.destination[slot], instruction.decoded.destination_bytes[slot])):
            hazards.touched[(first + i - first_vgpr) & 255] = _mark_of(instruction, 1, hazards.valu, 0)
            hazards.written[(first + i - first_vgpr) & 255] = _mark_of(instruction, 1, hazards.valu, hazards.exec_writes)
            hazards.transcendental_order[(first + i - first_vgpr) & 255] = hazards.transcendentals
            if classes & hazard_wave_matrix:
                hazards.product[(first + i - first_vgpr) & 255] = _mark_of(instruction, 1, hazards.valu, 0)


cdef void _note_memory_use(Hazards *hazards, const Wave *wave, const Instruction *instruction, uint8_t kinds) noexcept nogil:
    cdef uint32_t slot, first, i, reg
    for slot in range(instruction.decoded.source_count):
        first = instruction.decoded.source[slot] >> 2
        if first >= first_vgpr:
            for i in range(register_count(wave, instruction.decoded.source[slot], instruction.decoded.source_bytes[slot])):
                reg = (first + i - first_vgpr) & 255
                hazards.memory_use[reg] = _mark_of(instruction, kinds | hazards.memory_use[reg].kind, 0, 0)
    for slot in range(instruction.decoded.destination_count):
        first = instruction.decoded.destination[slot] >> 2
        if first >= first_vgpr:
            for i in range(register_count(wave, instruction.decoded.destination[slot], instruction.decoded.destination_bytes[slot])):
                reg = (first + i - first_vgpr) & 255
                hazards.memory_use[reg] = _mark_of(instruction, kinds | hazards.memory_use[reg].kind, 0, 0)


cdef void _resolve(Hazards *hazards, const Wave *wave, const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    """Resolve the hazards of everything that an instruction waits for, explicitly or not."""
    cdef uint16_t format = _base_format(instruction)
    cdef uint32_t wait = _dependency_wait(instruction)
    cdef bint direct = not _is_valu(instruction) and format == format_ldsdir
    cdef uint32_t i
    if (_is_vector_memory(instruction) or _is_lds(instruction) or (not _is_valu(instruction) and format == format_exp)
            or depctr_get(wait, depctr_va_vdst) == 0
            or (direct and modifier_wait_vdst(instruction.decoded.modifiers) == 0)):
        _forget(hazards.touched, 256, 1)
        _forget(hazards.written, 256, 1)
    if (_is_valu(instruction) or format == format_exp or depctr_get(wait, depctr_vm_vsrc) == 0
            or (direct and gfx_level >= 120 and not modifier_wait_vsrc(instruction.decoded.modifiers))):
        _forget(hazards.memory_use, 256, memory_all)
    else:
        _forget(hazards.memory_use, 256, _kinds_waited(wave, instruction, gfx_level))
    if depctr_get(wait, depctr_sa_sdst) == 0:
        _forget(hazards.lane_mask, 128, mask_read | mask_written)
    if depctr_get(wait, depctr_va_vdst) == 0 or depctr_get(wait, depctr_va_sdst) == 0:
        _settle_vector_writes(hazards.lane_mask, sgpr_vcc)
    if depctr_get(wait, depctr_va_vdst) == 0 or depctr_get(wait, depctr_va_vcc) == 0:
        _settle_vector_writes(&hazards.lane_mask[sgpr_vcc], 2)
    if not has_sgpr_read_hazard(gfx_level):
        return
    # buffer, image and scalar memory accesses wait for all of it
    direct = not _is_valu(instruction) and (format == format_smem or format_is_vmem(format))
    for i in range(<uint32_t>ordinary_sgprs):
        if direct or (hazards.rewritten[i].kind == by_salu and depctr_get(wait, depctr_sa_sdst) == 0) or (hazards.rewritten[i].kind == by_valu and (
                depctr_get(wait, depctr_va_vcc if i >> 1 == sgpr_vcc >> 1 else <uint32_t>depctr_va_sdst) == 0)):
            hazards.rewritten[i].kind = 0
    hazards.nops = hazards.nops + 1 if instruction.decoded.opcode == <uint16_t>op_ds_nop else 0
    if hazards.nops >= wave.lanes // 8:
        memset(hazards.read_by_valu, 0, sizeof(hazards.read_by_valu))


cdef void _gfx11_account(Hazards *hazards, const Wave *wave, const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    cdef uint8_t kinds = _kinds_of(instruction)
    cdef bint masks = gfx_level < 120 and wave.lanes == 64
    hazards.after_nop = instruction.decoded.opcode == <uint16_t>op_s_nop
    _resolve(hazards, wave, instruction, gfx_level)
    if kinds:
        _note_memory_use(hazards, wave, instruction, kinds)
        return
    if _is_valu(instruction):
        _note_vgprs(hazards, wave, instruction, isa_hazards(gfx_level, instruction.decoded.opcode))
        if masks:
            _forget_lane_masks(hazards, instruction)
    elif _is_salu(instruction):
        hazards.salu += 1
        hazards.exec_writes += _writes_exec(instruction)
    elif _base_format(instruction) != format_smem:
        return
    if has_sgpr_read_hazard(gfx_level):
        if _is_call(instruction.decoded.opcode):
            return
        _note_sgpr_reads(hazards, wave, instruction)
    _note_sgpr_write(hazards, wave, instruction, gfx_level)
    if masks and _is_valu(instruction):
        _note_lane_mask(hazards, instruction)


# ------------------------------------------------------------------------------------------------------------ GFX12.5 and GFX13
cdef bint _is_status_read(const Instruction *instruction) noexcept nogil:
    """S_GETREG of STATUS, STATE_PRIV, EXCP_FLAG_PRIV or EXCP_FLAG_USER."""
    cdef uint32_t number = instruction.decoded.immediate & 63
    return instruction.decoded.opcode == <uint16_t>op_s_getreg_b32 and (
        number == hwreg_status or number == hwreg_state_priv or number == hwreg_excp_flag_priv or number == hwreg_excp_flag_user)


cdef void _note_idle(Hazards *hazards, const Instruction *instruction) noexcept nogil:
    """GetRegIdle: waits and s_nop issue nothing."""
    if instruction.decoded.opcode == <uint16_t>op_s_waitcnt_depctr and instruction.decoded.immediate == 0:
        hazards.busy = False
    elif _is_valu(instruction) or _base_format(instruction) != format_sopp:
        hazards.busy = True


# ----------------------------------------------------------------------------------------------------------------------- all
cdef bint hazards_check(const Hazards *hazards, const Wave *wave, const Instruction *instruction, uint32_t gfx_level,
                        Finding *finding) noexcept nogil:
    cdef uint32_t classes = isa_hazards(gfx_level, instruction.decoded.opcode)
    cdef Mark here
    if gfx_level < 110 and _denormal_check(hazards, classes, finding):
        return True
    if 100 < gfx_level < 110:
        return False
    if hazards.vcmpx.kind and classes & hazard_permlane:
        return _found(finding, rule_vcmpx_permlane, &hazards.vcmpx, sgpr_exec, False)
    if has_idle_status_reads(gfx_level) and hazards.busy and _is_status_read(instruction):
        here = _mark_of(instruction, 1, 0, 0)
        return _found(finding, rule_get_reg_idle, &here, register_limit, False)
    if has_coexecution(gfx_level):
        return coexecution_check(&hazards.coexecution, wave, instruction, gfx_level, finding)
    if gfx_level == 100:
        return _gfx10_check(hazards, wave, instruction, finding)
    return _gfx11_check(hazards, wave, instruction, gfx_level, finding)


cdef void hazards_account(Hazards *hazards, const Wave *wave, const Instruction *instruction, uint32_t gfx_level) noexcept nogil:
    cdef uint32_t classes = isa_hazards(gfx_level, instruction.decoded.opcode)
    if max(max(hazards.now, hazards.valu, hazards.salu), hazards.coexecution.valu) > restart:
        hazards_clear(hazards)
    if gfx_level < 110:
        _note_float_atomic(hazards, instruction, classes)
    if 100 < gfx_level < 110:
        return
    _note_vcmpx(hazards, instruction, gfx_level)
    if has_idle_status_reads(gfx_level):
        _note_idle(hazards, instruction)
    if has_coexecution(gfx_level):
        coexecution_account(&hazards.coexecution, wave, instruction, gfx_level)
    elif gfx_level == 100:
        _gfx10_account(hazards, wave, instruction, gfx_level)
    else:
        _gfx11_account(hazards, wave, instruction, gfx_level)
